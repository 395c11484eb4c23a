//! Constants for a GPU on which only one kind of networks was measured: costs of another GPU, with a factor for each
//! limit of the boards.
//!
//! The costs are those of the fit that all GPUs with the same software share. The factors start as the ratios of the data
//! sheets and are fitted to the measurements. [`check`] measures the errors of such constants on GPUs with measurements of
//! many kinds, which then have no part in the shared fit but for networks of that one kind.

use anyhow::{Context, Result};
use litecast::targets::gpu::bundle::{Correction, Position, position};
use litecast::targets::gpu::costs::{Amounts, NAMES};
use litecast::targets::gpu::specifications::{ComputePrecision, Gpu};

use super::evaluate::{Estimate, MeasuredSample, regression, regression_ms, spread};
use super::experiment::Experiment;
use super::interval_widths::LeftOut;
use super::kriging::{self, VARIANCES};
use super::priors::{Limit, limit};
use super::roofline;
use super::shared_fit::{self, Observed, SPREADS};

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
}

pub fn gpu(id: &str) -> Result<&'static Gpu> {
    Gpu::by_id(id).with_context(|| format!("expected a GPU `{id}`"))
}

/// The ratios of one GPU's times to another's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factors {
    pub products: f64,
    /// Of what the multiprocessors' ordinary units compute.
    pub units: f64,
    pub traffic: f64,
}

impl Factors {
    /// The ratios of peak rates, multiprocessors and bandwidths.
    pub fn from_data_sheets(from: &Gpu, to: &Gpu) -> Self {
        let ratio = |limit: Limit| limit.ratio(&from.board, &to.board);
        let bytes = [from, to].map(|gpu| gpu.precision.bytes_per_value());
        let products = ratio(Limit::TensorCores);
        Self {
            products,
            // In float32 the ordinary units compute all products. Pascal's multiprocessors have 64 of them, or 128, so that
            // their number does not tell the speed.
            units: match to.precision {
                ComputePrecision::Float32 => products,
                ComputePrecision::Amp | ComputePrecision::Bfloat16 => ratio(Limit::Multiprocessors),
            },
            traffic: ratio(Limit::Memory) * bytes[1] / bytes[0],
        }
    }

    /// Ordinary units move with the products, by the clock that both have.
    fn moved(self, products: f64, traffic: f64) -> Self {
        Self {
            products: self.products * products.exp(),
            units: self.units * products.exp(),
            traffic: self.traffic * traffic.exp(),
        }
    }

    /// The factor of what waits for the host is 1.
    fn factor(self, limit: Limit) -> f64 {
        match limit {
            Limit::TensorCores => self.products,
            Limit::Multiprocessors => self.units,
            Limit::Memory => self.traffic,
            Limit::Waiting => 1.0,
        }
    }

    pub fn scaled(self, costs_ms: &Amounts) -> Amounts {
        let limits = limits();
        std::array::from_fn(|idx| costs_ms[idx] * self.factor(limits[idx]))
    }
}

/// What limits each cost.
fn limits() -> [Limit; NAMES.len()] {
    NAMES.map(limit)
}

impl Source {
    pub fn new(costs_ms: Amounts, samples: &[&MeasuredSample]) -> Self {
        let amounts: Vec<Amounts> = samples.iter().map(|sample| sample.amounts).collect();
        let residual = |sample: &&MeasuredSample| {
            (sample.time_ms / roofline::dot(&sample.amounts, &costs_ms)).ln()
        };
        Self {
            costs_ms,
            amounts,
            residuals: samples.iter().map(residual).collect(),
        }
    }

    /// The first of `experiments`, by a fit that it shares with the others, to the samples that `is_used` names.
    pub fn shared(experiments: &[&Experiment], is_used: &dyn Fn(&MeasuredSample) -> bool) -> Self {
        let used = experiments
            .iter()
            .map(|experiment| experiment.observed(is_used));
        let observed: Vec<Observed> = used.collect();
        let costs_ms = shared_fit::fit(&observed, &SPREADS);
        Self::new(costs_ms[0], &spread(&observed[0].samples))
    }

    /// The correction for scaled costs. Scaling changes the positions of networks; their residuals are those of this
    /// GPU.
    pub fn correction(&self, costs_ms: &Amounts) -> Correction {
        let positions: Vec<Position> = self
            .amounts
            .iter()
            .map(|row| position(row, costs_ms))
            .collect();
        kriging::fit(&positions, &self.residuals, VARIANCES)
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
    let limits = limits();
    let parts: Vec<([f64; 4], f64)> = measured
        .iter()
        .map(|(amounts, time_ms)| {
            let mut parts = [0.0; 4];
            for (idx, amount) in amounts.iter().enumerate() {
                let place = Limit::ALL.iter().position(|limit| *limit == limits[idx]);
                parts[place.unwrap_or(0)] += amount * costs_ms[idx];
            }
            (parts, time_ms.ln())
        })
        .collect();
    let moves = || {
        (0..)
            .map(|n| STEP * f64::from(n) - MAX_MOVE)
            .take_while(|m| *m <= MAX_MOVE)
    };
    let error = |products: f64, traffic: f64| {
        let factors = data_sheets.moved(products, traffic);
        let factors = Limit::ALL.map(|limit| factors.factor(limit));
        let errors = parts.iter().map(|(parts, log_ms)| {
            let ms: f64 = parts.iter().zip(factors).map(|(part, f)| part * f).sum();
            (ms.ln() - log_ms).abs()
        });
        let mean = errors.sum::<f64>() / parts.len().max(1) as f64;
        mean + PRIOR_WEIGHT * (products * products + traffic * traffic)
    };
    let pairs = moves().flat_map(|products| moves().map(move |traffic| (products, traffic)));
    let errors = pairs.map(|(products, traffic)| (error(products, traffic), products, traffic));
    let least = errors.min_by(|a, b| a.0.total_cmp(&b.0));
    let (_, products, traffic) = least.unwrap_or((0.0, 0.0, 0.0));
    data_sheets.moved(products, traffic)
}

/// A GPU's networks of other kinds, estimated with the costs of the first of `experiments`, none of which is of this GPU,
/// scaled by the GPU's networks of one kind. `fold_of` gives the fold that leaves a network's family out on all GPUs, or
/// `None` for networks that are not estimated.
pub fn check<'e>(
    experiments: &[&Experiment],
    target: &'e Experiment,
    data_sheets: Factors,
    n_folds: usize,
    fold_of: &dyn Fn(&MeasuredSample) -> Option<usize>,
) -> Vec<LeftOut<'e>> {
    let is_inverted_bottleneck =
        |sample: &MeasuredSample| INVERTED_BOTTLENECKS.contains(&sample.family.as_str());
    let mut left = Vec::new();
    for fold in 0..n_folds {
        let is_inside = |sample: &MeasuredSample| fold_of(sample) == Some(fold);
        let source = Source::shared(experiments, &|sample| !is_inside(sample));
        let alike: Vec<&MeasuredSample> = target
            .samples
            .iter()
            .filter(|sample| is_inverted_bottleneck(sample) && !is_inside(sample))
            .collect();
        let measured: Vec<(&Amounts, f64)> = alike
            .iter()
            .map(|sample| (&sample.amounts, sample.time_ms))
            .collect();
        let factors = source.factors(data_sheets, &measured);
        let costs_ms = factors.scaled(&source.costs_ms);
        let correction = source.correction(&costs_ms);
        let regression = regression(&alike);
        let others = target.samples.iter();
        let others = others.filter(|sample| !is_inverted_bottleneck(sample) && is_inside(sample));
        left.extend(others.map(|sample| {
            let (log, distance) = correction.at(&position(&sample.amounts, &costs_ms));
            let roofline_ms = roofline::dot(&sample.amounts, &costs_ms);
            LeftOut {
                sample,
                estimate: Estimate {
                    roofline_ms,
                    time_ms: roofline_ms * log.exp(),
                    distance,
                },
                regression_ms: regression_ms(sample, &regression),
                fold,
            }
        }));
    }
    left
}
