//! Errors on networks, families and boards that were left out of the fit, and the intervals that follow from them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use litecast::learned::intervals::COVERAGE;
use litecast::targets::cortex_m::{CoreErrors, Energy, Errors};

use super::columns::{MACS_ALONE, PRODUCTS};
use super::fit::{Factors, Fit, Model, Row, nearest};
use super::measured::{MeasuredEnergy, Measurement, Power};
use crate::metrics::conformal_quantile;

/// A measured latency with estimates by fits without it.
pub struct LeftOut<'r> {
    pub row: &'r Row,
    /// Estimate with the network left out on all boards.
    pub network_ms: f64,
    /// Estimate with the network's family left out on all boards.
    pub family_ms: f64,
    /// Estimate with the whole board left out, and the network on all boards; absent if no other board was measured.
    pub board_ms: Option<f64>,
    /// Estimate with the network left out, from multiply-accumulates alone.
    pub macs_alone_ms: f64,
    /// Estimate with the network left out, from all counts, even if the model with one cost of products was chosen.
    pub all_counts_ms: f64,
}

impl LeftOut<'_> {
    fn measured_ms(&self) -> f64 {
        self.row.measured.latency_ms
    }

    /// The error of an estimate as a factor of at least 1.
    fn factor(&self, estimate_ms: f64) -> f64 {
        let ratio = estimate_ms / self.measured_ms();
        ratio.max(1.0 / ratio)
    }
}

/// All left-out estimates of one runtime.
pub struct Evaluation<'r> {
    pub runtime: &'static str,
    /// Cores for which one cost of products is better than all counts; see [`Choice`].
    pub simple_cores: BTreeSet<&'static str>,
    pub factors: Factors,
    pub left_out: Vec<LeftOut<'r>>,
}

/// Estimates of each row by fits without it.
struct Estimates {
    network_ms: Vec<f64>,
    family_ms: Vec<f64>,
    board_ms: Vec<Option<f64>>,
}

impl Estimates {
    fn new(model: &Model, rows: &[&Row]) -> Result<Self> {
        Ok(Self {
            network_ms: all(without(model, rows, |a, b| a.network == b.network)?)?,
            family_ms: all(without(model, rows, |a, b| a.family == b.family)?)?,
            board_ms: without(model, rows, |a, b| {
                a.board == b.board || a.network == b.network
            })?,
        })
    }
}

/// The model with [`PRODUCTS`] as its columns, for cores of which few networks were measured.
pub fn products(model: &Model) -> Model {
    Model {
        columns: PRODUCTS,
        ..*model
    }
}

/// The choice between two models for each core: all counts, or one cost of products. The choice for a row is made
/// without its network, so that the measured error includes the error of the choice.
struct Choice {
    products: Estimates,
    is_simple: Vec<bool>,
    /// Cores for which one cost of products was chosen, with all rows.
    simple_cores: BTreeSet<&'static str>,
}

impl Choice {
    fn new(model: &Model, rows: &[&Row]) -> Result<Self> {
        let products = products(model);
        let mut is_simple = Vec::with_capacity(rows.len());
        for row in rows {
            let others: Vec<&Row> = rows
                .iter()
                .copied()
                .filter(|other| other.measured.network != row.measured.network)
                .collect();
            let core = row.measured.core;
            is_simple.push(is_better(&products, model, &others, core)?);
        }
        let mut simple_cores = BTreeSet::new();
        for row in rows {
            let core = row.measured.core;
            if !simple_cores.contains(core) && is_better(&products, model, rows, core)? {
                simple_cores.insert(core);
            }
        }
        Ok(Self {
            products: Estimates::new(&products, rows)?,
            is_simple,
            simple_cores,
        })
    }
}

/// Whether the mean error of `model` on latencies of a core and of its nearest core, with each network left out, is
/// below that of `other`.
fn is_better(model: &Model, other: &Model, rows: &[&Row], core: &str) -> Result<bool> {
    let cores = [Some(core), nearest(core)];
    let mean_error = |model: &Model| -> Result<f64> {
        let estimates = all(without(model, rows, |a, b| a.network == b.network)?)?;
        let of_core = rows.iter().zip(estimates).filter(|(row, _)| {
            row.measured.operator.is_none() && cores.contains(&Some(row.measured.core))
        });
        let errors: Vec<f64> = of_core
            .map(|(row, ms)| (ms / row.measured.latency_ms - 1.0).abs())
            .collect();
        Ok(errors.iter().sum::<f64>() / errors.len().max(1) as f64)
    };
    Ok(mean_error(model)? < mean_error(other)?)
}

/// The factor of an interval, and the share of left-out estimates inside it.
pub struct Interval {
    pub factor: f64,
    pub coverage_percent: f64,
}

/// With fewer left-out estimates, the factor that contains nine in ten is unknown. The interval then has [`FEW_ESTIMATES_FACTOR`]
/// times the largest factor.
const MIN_ESTIMATES: usize = 9;
const FEW_ESTIMATES_FACTOR: f64 = 1.25;

impl<'r> Evaluation<'r> {
    /// Evaluates a model by one fit for each network, family and board of `rows`.
    pub fn new(model: &Model, rows: Vec<&'r Row>) -> Result<Self> {
        let macs_alone = Model {
            columns: MACS_ALONE,
            known: &[],
            ..*model
        };
        let all_counts = Estimates::new(model, &rows)?;
        let macs_alone_ms = all(without(&macs_alone, &rows, |a, b| a.network == b.network)?)?;
        let choice = match model.factors {
            Factors::Board => Some(Choice::new(model, &rows)?),
            Factors::CoreAndRelease | Factors::None => None,
        };
        let left_out = rows.iter().enumerate().map(|(idx, row)| {
            let chosen = match &choice {
                Some(choice) if choice.is_simple[idx] => &choice.products,
                _ => &all_counts,
            };
            LeftOut {
                row,
                network_ms: chosen.network_ms[idx],
                family_ms: chosen.family_ms[idx],
                board_ms: chosen.board_ms[idx],
                macs_alone_ms: macs_alone_ms[idx],
                all_counts_ms: all_counts.network_ms[idx],
            }
        });
        Ok(Self {
            runtime: model.runtime,
            simple_cores: choice
                .as_ref()
                .map_or_else(BTreeSet::new, |choice| choice.simple_cores.clone()),
            factors: model.factors,
            left_out: left_out
                .filter(|left| left.row.measured.operator.is_none())
                .collect(),
        })
    }

    pub fn of_core(&self, core: &str) -> Vec<&LeftOut<'r>> {
        let left_out = self.left_out.iter();
        left_out
            .filter(|left| left.row.measured.core == core)
            .collect()
    }

    /// The interval of a core. Where cores and releases share the costs, it follows from estimates with a family left out,
    /// in which every family of the runtime counts once. If each board has its own factor, it follows from all cores of
    /// the runtime and also from estimates with the board left out, and otherwise from the core's own.
    pub fn interval(&self, core: &str) -> Interval {
        if self.factors == Factors::CoreAndRelease {
            return self.interval_of_families(core);
        }
        let rows: Vec<(&Measurement, f64)> = match self.factors {
            Factors::Board => self
                .left_out
                .iter()
                .map(|left| {
                    let factor = left.factor(left.network_ms);
                    let unseen = left.board_ms.map_or(1.0, |board_ms| left.factor(board_ms));
                    (&left.row.measured, factor.max(unseen))
                })
                .collect(),
            Factors::CoreAndRelease | Factors::None => self
                .of_core(core)
                .iter()
                .map(|left| {
                    let factor = left.factor(left.network_ms);
                    (&left.row.measured, factor.max(left.factor(left.family_ms)))
                })
                .collect(),
        };
        let held = rows.iter().filter(|(measured, factor)| {
            let others = rows
                .iter()
                .filter(|(other, _)| other.network != measured.network);
            *factor <= interval_factor(others.map(|(_, factor)| *factor).collect())
        });
        Interval {
            coverage_percent: 100.0 * held.count() as f64 / rows.len().max(1) as f64,
            factor: interval_factor(rows.iter().map(|(_, factor)| *factor).collect()),
        }
    }
}

impl Evaluation<'_> {
    /// The factor of all families, and the share of the core's latencies inside the factor of the other families.
    fn interval_of_families(&self, core: &str) -> Interval {
        let factor_without = |family: &str| {
            let others = self.left_out.iter();
            let others = others.filter(|other| other.row.measured.family != family);
            factor_of_families(&others.collect::<Vec<_>>())
        };
        let rows_of_core = self.of_core(core);
        let held = rows_of_core.iter().filter(|left| {
            left.factor(left.family_ms) <= factor_without(&left.row.measured.family)
        });
        Interval {
            coverage_percent: 100.0 * held.count() as f64 / rows_of_core.len().max(1) as f64,
            factor: factor_of_families(&self.left_out.iter().collect::<Vec<_>>()),
        }
    }

    /// The interval factor for an unmeasured board with a measured core, from estimates with whole boards left out.
    /// `None` if each board has its own factor.
    pub fn transferred_factor(&self, core: &str) -> Option<f64> {
        if self.factors != Factors::CoreAndRelease {
            return None;
        }
        let factors_where = |is_core: &dyn Fn(&str) -> bool| -> Vec<f64> {
            let rows = self.left_out.iter();
            let rows = rows.filter(|left| is_core(left.row.measured.core));
            let shared = rows.filter(|left| self.has_other_board(left));
            shared
                .filter_map(|left| Some(left.factor(left.board_ms?)))
                .collect()
        };
        let factors_of_core = factors_where(&|other| other == core);
        let factors = if factors_of_core.is_empty() {
            factors_where(&|_| true)
        } else {
            factors_of_core
        };
        (!factors.is_empty()).then(|| interval_factor(factors))
    }

    fn has_other_board(&self, left: &LeftOut) -> bool {
        let measured = &left.row.measured;
        let mut others = self.left_out.iter().map(|other| &other.row.measured);
        others.any(|other| other.core == measured.core && other.board != measured.board)
    }
}

/// The factor that contains nine in ten of `factors`.
fn interval_factor(factors: Vec<f64>) -> f64 {
    let n = factors.len();
    let factor = conformal_quantile(factors.into_iter()).unwrap_or(1.0);
    if n < MIN_ESTIMATES {
        factor * FEW_ESTIMATES_FACTOR
    } else {
        factor
    }
}

/// Estimates of each row by a fit without the rows that `is_left_out` selects for it; `None` if no row remains.
fn without(
    model: &Model,
    rows: &[&Row],
    is_left_out: impl Fn(&Measurement, &Measurement) -> bool,
) -> Result<Vec<Option<f64>>> {
    let mut fits: Vec<(Vec<bool>, Option<Fit>)> = Vec::new();
    let mut estimates = Vec::with_capacity(rows.len());
    for row in rows {
        let is_out = |other: &&Row| is_left_out(&row.measured, &other.measured);
        let out: Vec<bool> = rows.iter().map(is_out).collect();
        let known = fits.iter().position(|(known, _)| *known == out);
        let idx = match known {
            Some(idx) => idx,
            None => {
                let others: Vec<&Row> = rows
                    .iter()
                    .copied()
                    .filter(|other| !is_out(other))
                    .collect();
                let fit = if others.is_empty() {
                    None
                } else {
                    Some(model.fit(&others)?)
                };
                fits.push((out, fit));
                fits.len() - 1
            }
        };
        let fit = fits[idx].1.as_ref();
        estimates.push(fit.map(|fit| model.estimate_ms(fit, row)));
    }
    Ok(estimates)
}

fn all(estimates: Vec<Option<f64>>) -> Result<Vec<f64>> {
    let estimates: Option<Vec<f64>> = estimates.into_iter().collect();
    estimates.context("expected several networks and families of each runtime, found one")
}

/// The factor that contains nine in ten estimates with a family left out, counting one more family, and every family
/// once: a network of a stranger is more likely of another family than of the one that was measured most.
fn factor_of_families(left_out: &[&LeftOut]) -> f64 {
    let mut n_latencies: BTreeMap<&str, f64> = BTreeMap::new();
    for left in left_out {
        *n_latencies.entry(&left.row.measured.family).or_default() += 1.0;
    }
    let weighted = left_out.iter().map(|left| {
        let weight = 1.0 / n_latencies[left.row.measured.family.as_str()];
        (left.factor(left.family_ms), weight)
    });
    let mut weighted: Vec<(f64, f64)> = weighted.collect();
    weighted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let wanted = COVERAGE * (n_latencies.len() + 1) as f64;
    let mut sum = 0.0;
    let quantile = weighted.iter().find(|(_, weight)| {
        sum += weight;
        sum >= wanted
    });
    let largest = weighted.last().map_or(1.0, |(factor, _)| *factor);
    quantile.map_or(FEW_ESTIMATES_FACTOR * largest, |(factor, _)| *factor)
}

/// What was measured on one core under one release.
pub fn core_errors(left_out: &[&LeftOut]) -> CoreErrors {
    CoreErrors {
        n_networks: n_networks(left_out),
        network_left_out: errors(left_out, |left| Some(left.network_ms)),
        family_left_out: errors(left_out, |left| Some(left.family_ms)),
    }
}

pub fn n_networks(left_out: &[&LeftOut]) -> usize {
    let networks = left_out.iter().map(|left| &left.row.measured.network);
    networks.collect::<BTreeSet<_>>().len()
}

/// Uncapped errors of one of the estimates, over the latencies that have it.
pub fn errors(left_out: &[&LeftOut], estimate_ms: impl Fn(&LeftOut) -> Option<f64>) -> Errors {
    let error = |left: &&LeftOut| Some(100.0 * (estimate_ms(left)? / left.measured_ms() - 1.0));
    summary(left_out.iter().filter_map(error).collect())
}

/// Summarises signed errors in percent.
pub fn summary(signed: Vec<f64>) -> Errors {
    let n = signed.len();
    let bias = signed.iter().sum::<f64>() / n.max(1) as f64;
    let mut sorted: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
    sorted.sort_by(f64::total_cmp);
    let Some(&worst) = sorted.last() else {
        return Errors::default();
    };
    let at = |share: f64| {
        let position = share * (n - 1) as f64;
        let (low, high) = (
            sorted[position.floor() as usize],
            sorted[position.ceil() as usize],
        );
        low + (high - low) * position.fract()
    };
    Errors {
        n,
        mean_percent: rounded(sorted.iter().sum::<f64>() / n as f64),
        median_percent: rounded(at(0.5)),
        p95_percent: rounded(at(0.95)),
        worst_percent: rounded(worst),
        bias_percent: rounded(bias),
    }
}

/// The power of a board, and the error of power times latency with a network left out of both fits.
pub fn energy(left_out: &[&LeftOut], energies: &[MeasuredEnergy], power: &Power) -> Result<Energy> {
    let measured = energies.iter().filter_map(|energy| {
        let submission = power
            .submissions
            .iter()
            .find(|fitted| **fitted == energy.submission)?;
        let latency = left_out.iter().find(|left| {
            let measured = &left.row.measured;
            measured.board == power.board
                && measured.version == submission.version
                && measured.network == format!("tiny_{}", energy.task)
        })?;
        Some((energy, *latency, energy.energy_uj / latency.measured_ms()))
    });
    let measured: Vec<(&MeasuredEnergy, &LeftOut, f64)> = measured.collect();
    ensure!(
        !measured.is_empty(),
        "no measured energy of {}",
        power.board
    );
    let error_percent = |(energy, latency, _): &(&MeasuredEnergy, &LeftOut, f64)| {
        let others = measured
            .iter()
            .filter(|(other, ..)| other.task != energy.task);
        let power_mw = median(others.map(|(.., power_mw)| *power_mw).collect());
        100.0 * (power_mw * latency.network_ms / energy.energy_uj - 1.0)
    };
    let signed: Vec<f64> = measured.iter().map(error_percent).collect();
    let factors = signed.iter().map(|error| {
        let ratio = 1.0 + error / 100.0;
        ratio.max(1.0 / ratio)
    });
    let powers_mw = measured.iter().map(|(.., power_mw)| *power_mw);
    Ok(Energy {
        board: power.board.to_owned(),
        power_mw: rounded(median(powers_mw.collect())),
        clock_mhz: power.clock_mhz,
        supply_volts: power.supply_volts,
        interval_factor: rounded(interval_factor(factors.collect())),
        error: summary(signed),
    })
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    match n {
        0 => 0.0,
        _ => (values[n / 2] + values[(n - 1) / 2]) / 2.0,
    }
}

/// Five significant digits, which is more than the latencies have.
pub fn rounded(value: f64) -> f64 {
    format!("{value:.4e}")
        .parse()
        .expect("a printed number is one")
}
