//! Constants for a GPU on which only one kind of networks was measured: costs of another GPU, with one factor for
//! products and another for traffic.
//!
//! The factors start as the ratios of the data sheets and are fitted to the measurements. [`check`] measures the errors
//! of such constants on GPUs with measurements of many kinds, with factors from networks of that one kind.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use litecast::targets::gpu::bundle::{Correction, Position, position};
use litecast::targets::gpu::costs::{Amounts, NAMES};
use litecast::targets::gpu::specifications::Gpu;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::evaluate::{MeasuredSample, N_FOLDS};
use super::{kriging, roofline};

/// Families of timm that resemble Accel-NASBench's networks: inverted bottlenecks.
const INVERTED_BOTTLENECKS: [&str; 5] = [
    "efficientnet",
    "fbnetc",
    "mnasnet",
    "mobilenetv",
    "spnasnet",
];
/// Weight of the prior: a factor whose logarithm differs from the data sheets' ratio by x costs as much as a mean error
/// of [`PRIOR_WEIGHT`] · x².
const PRIOR_WEIGHT: f64 = 0.1;
/// Factors that are tried: 0.4 to 2.5 times the ratios of the data sheets, in steps of 2.5 %.
const MAX_MOVE: f64 = 0.92;
const STEP: f64 = 0.025;

/// A fitted GPU: its costs, and the data from which its correction is fitted again.
pub struct Source {
    pub costs_ms: Amounts,
    amounts: Vec<Amounts>,
    /// Logarithms of measured time over the roofline's time.
    residuals: Vec<f64>,
    variances: [f64; 2],
}

pub fn gpu(id: &str) -> Result<&'static Gpu> {
    Gpu::by_id(id).with_context(|| format!("expected a GPU `{id}`"))
}

/// The ratios of one GPU's times to another's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    pub products: f64,
    pub traffic: f64,
}

impl Factors {
    /// The ratios of peak rates and bandwidths.
    pub fn from_data_sheets(from: &Gpu, to: &Gpu) -> Self {
        Self {
            products: from.board.macs_per_s / to.board.macs_per_s,
            traffic: from.board.bytes_per_s / to.board.bytes_per_s
                * (to.precision.bytes_per_value() / from.precision.bytes_per_value()),
        }
    }

    /// The factor of a cost; launches depend on the host and stay the same.
    fn factor(self, cost: &str) -> f64 {
        match cost {
            "launches" => 1.0,
            _ if cost.ends_with("_macs") => self.products,
            _ => self.traffic,
        }
    }

    pub fn scaled(self, costs_ms: &Amounts) -> Amounts {
        std::array::from_fn(|idx| costs_ms[idx] * self.factor(NAMES[idx]))
    }
}

impl Source {
    pub fn new(samples: &[&MeasuredSample], variances: [f64; 2]) -> Self {
        let amounts: Vec<Amounts> = samples.iter().map(|sample| sample.amounts).collect();
        let times: Vec<f64> = samples.iter().map(|sample| sample.time_ms).collect();
        let costs_ms = roofline::fit(&amounts.iter().collect::<Vec<_>>(), &times);
        let residual = |(row, time): (&Amounts, &f64)| (time / roofline::dot(row, &costs_ms)).ln();
        let residuals = amounts.iter().zip(&times).map(residual).collect();
        Self {
            costs_ms,
            amounts,
            residuals,
            variances,
        }
    }

    /// The correction for scaled costs. Scaling changes the positions of networks; their residuals are those of this
    /// GPU.
    pub fn correction(&self, costs_ms: &Amounts) -> Correction {
        let positions: Vec<Position> = self
            .amounts
            .iter()
            .map(|row| position(row, costs_ms))
            .collect();
        kriging::fit(&positions, &self.residuals, self.variances)
    }

    /// Factors that minimise the errors of scaled costs on `measured`, once each network is corrected as on this GPU.
    pub fn factors(&self, data_sheets: Factors, measured: &[(&Amounts, f64)]) -> Factors {
        let correction = self.correction(&self.costs_ms);
        let corrected = measured.iter().map(|&(amounts, time_ms)| {
            let (log, _) = correction.at(&position(amounts, &self.costs_ms));
            (amounts, time_ms * (-log).exp())
        });
        factors(&self.costs_ms, data_sheets, &corrected.collect::<Vec<_>>())
    }
}

/// Factors of `costs_ms` that minimise the errors on `measured`, starting from the ratios of the data sheets.
pub fn factors(costs_ms: &Amounts, data_sheets: Factors, measured: &[(&Amounts, f64)]) -> Factors {
    let parts: Vec<[f64; 4]> = measured
        .iter()
        .map(|(amounts, time_ms)| {
            let mut parts = [0.0, 0.0, 0.0, time_ms.ln()];
            for (idx, amount) in amounts.iter().enumerate() {
                let kind = match NAMES[idx] {
                    "launches" => 2,
                    name => usize::from(!name.ends_with("_macs")),
                };
                parts[kind] += amount * costs_ms[idx];
            }
            parts
        })
        .collect();
    let moves = || {
        (0..)
            .map(|n| STEP * f64::from(n) - MAX_MOVE)
            .take_while(|m| *m <= MAX_MOVE)
    };
    let error = |products: f64, traffic: f64| {
        let factors = [
            data_sheets.products * products.exp(),
            data_sheets.traffic * traffic.exp(),
        ];
        let errors = parts.iter().map(|[p, t, launches, log_ms]| {
            ((p * factors[0] + t * factors[1] + launches).ln() - log_ms).abs()
        });
        let mean = errors.sum::<f64>() / parts.len().max(1) as f64;
        mean + PRIOR_WEIGHT * (products * products + traffic * traffic)
    };
    let pairs = moves().flat_map(|products| moves().map(move |traffic| (products, traffic)));
    let errors = pairs.map(|(products, traffic)| (error(products, traffic), products, traffic));
    let least = errors.min_by(|a, b| a.0.total_cmp(&b.0));
    let (_, products, traffic) = least.unwrap_or((0.0, 0.0, 0.0));
    Factors {
        products: data_sheets.products * products.exp(),
        traffic: data_sheets.traffic * traffic.exp(),
    }
}

/// Pairs of log(measured time / estimate) and distance for a GPU's networks of other kinds, with costs of `source` that
/// are scaled by the GPU's networks of one kind. Each family is estimated without its measurements on both GPUs.
pub fn check(
    source: &[MeasuredSample],
    target: &[MeasuredSample],
    data_sheets: Factors,
    variances: [f64; 2],
) -> Vec<(f64, f64)> {
    let families: BTreeSet<&str> = target.iter().map(|sample| sample.family.as_str()).collect();
    let mut families: Vec<&str> = families.into_iter().collect();
    families.shuffle(&mut ChaCha8Rng::seed_from_u64(0));
    let fold = |sample: &MeasuredSample| {
        let place = families.iter().position(|family| *family == sample.family);
        place.unwrap_or(0) % N_FOLDS
    };
    let is_inverted_bottleneck =
        |sample: &MeasuredSample| INVERTED_BOTTLENECKS.contains(&sample.family.as_str());
    let mut errors = Vec::new();
    for left_out in 0..N_FOLDS {
        let others: Vec<&MeasuredSample> = source
            .iter()
            .filter(|sample| fold(sample) != left_out)
            .collect();
        let source = Source::new(&others, variances);
        let alike = target
            .iter()
            .filter(|sample| is_inverted_bottleneck(sample) && fold(sample) != left_out);
        let measured: Vec<(&Amounts, f64)> = alike
            .map(|sample| (&sample.amounts, sample.time_ms))
            .collect();
        let factors = source.factors(data_sheets, &measured);
        let costs_ms = factors.scaled(&source.costs_ms);
        let correction = source.correction(&costs_ms);
        for sample in target
            .iter()
            .filter(|sample| !is_inverted_bottleneck(sample) && fold(sample) == left_out)
        {
            let (log, distance) = correction.at(&position(&sample.amounts, &costs_ms));
            let estimate_ms = roofline::dot(&sample.amounts, &costs_ms) * log.exp();
            errors.push(((sample.time_ms / estimate_ms).ln(), distance));
        }
    }
    errors
}
