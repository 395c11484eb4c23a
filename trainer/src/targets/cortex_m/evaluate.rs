//! Errors on networks, families and boards that were left out of the fit, and the intervals that follow from them.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use litecast::targets::cortex_m::{CoreErrors, Errors, ShortLatencies};

use rayon::prelude::*;

use super::columns::{MACS_ALONE, PRODUCTS, THREE_SUMS};
use super::fit::{CountedRow, Factors, Fit, Model, nearest_core};
use super::measured::{FEW_LAYERS, Measurement};
use crate::metrics::{conformal_quantile, factor_of_groups, five_digits, quantile};

/// A measured latency with estimates by fits without it.
pub struct LeftOut<'r> {
    pub row: &'r CountedRow,
    /// Estimate with the network left out on all boards.
    pub network_ms: f64,
    /// Estimate with the network's family left out on all boards.
    pub family_ms: f64,
    /// Estimate with the whole board left out, and the network on all boards; absent if no other board was measured.
    pub board_ms: Option<f64>,
    /// Estimate with the family left out, by a regression on three sums.
    pub three_sums_ms: f64,
    /// Estimate with the network left out, from multiply-accumulates alone.
    pub macs_alone_ms: f64,
    /// Estimate with the network left out, from all counts, even if the model with one cost of products was chosen.
    pub all_counts_ms: f64,
}

impl LeftOut<'_> {
    fn measured_ms(&self) -> f64 {
        self.row.measured.latency_ms
    }

    fn has_few_layers(&self) -> bool {
        self.row.measured.family == FEW_LAYERS
    }

    /// What its error is like those of: its family, or the network itself if it has few layers.
    fn group(&self) -> &str {
        let measured = &self.row.measured;
        if self.has_few_layers() {
            &measured.network
        } else {
            &measured.family
        }
    }

    /// The error of an estimate as a factor of at least 1.
    pub fn factor(&self, estimate_ms: f64) -> f64 {
        let ratio = estimate_ms / self.measured_ms();
        ratio.max(1.0 / ratio)
    }
}

/// All left-out estimates of one runtime.
pub struct Evaluation<'r> {
    pub runtime: &'static str,
    /// Cores for which one cost of products is better than all counts; see [`ModelChoice`].
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
    fn new(model: &Model, rows: &[&CountedRow]) -> Result<Self> {
        Ok(Self {
            network_ms: require_all(left_out_estimates(model, rows, |a, b| {
                a.network == b.network
            })?)?,
            family_ms: require_all(left_out_estimates(model, rows, |a, b| {
                a.family == b.family
            })?)?,
            board_ms: left_out_estimates(model, rows, |a, b| {
                a.board == b.board || a.network == b.network
            })?,
        })
    }
}

/// The model with [`PRODUCTS`] as its columns, for cores of which few networks were measured.
pub fn with_product_columns(model: &Model) -> Model {
    Model {
        columns: PRODUCTS,
        priors: &[],
        ..*model
    }
}

/// The choice between two models for each core: all counts, or one cost of products. The choice for a row is made
/// without its network, so that the measured error includes the error of the choice.
struct ModelChoice {
    products: Estimates,
    is_simple: Vec<bool>,
    /// Cores for which one cost of products was chosen, with all rows.
    simple_cores: BTreeSet<&'static str>,
}

impl ModelChoice {
    fn new(model: &Model, rows: &[&CountedRow]) -> Result<Self> {
        let products = with_product_columns(model);
        let mut is_simple = Vec::with_capacity(rows.len());
        for row in rows {
            let others: Vec<&CountedRow> = rows
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
fn is_better(model: &Model, other: &Model, rows: &[&CountedRow], core: &str) -> Result<bool> {
    let cores = [Some(core), nearest_core(core)];
    let mean_error = |model: &Model| -> Result<f64> {
        let estimates = require_all(left_out_estimates(model, rows, |a, b| {
            a.network == b.network
        })?)?;
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
    /// That of networks of [`FEW_LAYERS`], and the latency below which it holds; absent if none was measured.
    pub short: Option<ShortLatencies>,
    pub coverage_percent: f64,
}

/// With fewer left-out estimates, the factor that contains nine in ten is unknown. The interval then has [`FEW_ESTIMATES_FACTOR`]
/// times the largest factor.
const MIN_ESTIMATES: usize = 9;
const FEW_ESTIMATES_FACTOR: f64 = 1.25;
/// With fewer families than this, even a heavy tail of their errors is too narrow by as much.
const MIN_FAMILIES: usize = 6;

impl<'r> Evaluation<'r> {
    /// Evaluates a model by one fit for each network, family and board of `rows`.
    pub fn new(model: &Model, rows: Vec<&'r CountedRow>) -> Result<Self> {
        let simpler = |columns| Model {
            columns,
            known: &[],
            priors: &[],
            ..*model
        };
        let (macs_alone, three_sums) = (simpler(MACS_ALONE), simpler(THREE_SUMS));
        let all_counts = Estimates::new(model, &rows)?;
        let macs_alone_ms = require_all(left_out_estimates(&macs_alone, &rows, |a, b| {
            a.network == b.network
        })?)?;
        let three_sums_ms = require_all(left_out_estimates(&three_sums, &rows, |a, b| {
            a.family == b.family
        })?)?;
        let choice = match model.factors {
            Factors::Board => Some(ModelChoice::new(model, &rows)?),
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
                three_sums_ms: three_sums_ms[idx],
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

    pub fn core_errors(&self, core: &str) -> Vec<&LeftOut<'r>> {
        let left_out = self.left_out.iter();
        left_out
            .filter(|left| left.row.measured.core == core)
            .collect()
    }

    /// The interval of a core, from estimates with a family left out, with a heavy tail for the few families: of all cores
    /// of the runtime, because few families were measured on each.
    pub fn interval(&self, core: &str) -> Interval {
        let rows: Vec<&LeftOut> = match self.factors {
            Factors::CoreAndRelease | Factors::Board => self.left_out.iter().collect(),
            Factors::None => self.core_errors(core),
        };
        let checked: Vec<&&LeftOut> = (rows.iter())
            .filter(|left| left.row.measured.core == core)
            .collect();
        let held = checked.iter().filter(|left| {
            let others: Vec<&LeftOut> = (rows.iter().copied())
                .filter(|other| other.group() != left.group())
                .collect();
            let factor = if left.has_few_layers() {
                interval_factor_of_few_layers(&others)
            } else {
                Some(interval_factor_of_families(&others))
            };
            factor.is_some_and(|factor| left.factor(left.family_ms) <= factor)
        });
        let whole = rows.iter().filter(|left| !left.has_few_layers());
        let shortest_ms = whole
            .map(|left| left.measured_ms())
            .fold(f64::MAX, f64::min);
        let of_few_layers = interval_factor_of_few_layers(&rows);
        Interval {
            coverage_percent: 100.0 * held.count() as f64 / checked.len().max(1) as f64,
            factor: interval_factor_of_families(&rows),
            short: of_few_layers.map(|factor| ShortLatencies {
                below_ms: five_digits(shortest_ms),
                interval_factor: five_digits(factor),
            }),
        }
    }
}

/// The mean over families of each family's mean error.
pub fn family_mean_percent(left_out: &[&LeftOut], estimate_ms: impl Fn(&LeftOut) -> f64) -> f64 {
    let mut by_family: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for left in left_out {
        let error = 100.0 * (estimate_ms(left) / left.measured_ms() - 1.0).abs();
        let family = &left.row.measured.family;
        by_family.entry(family).or_default().push(error);
    }
    let n = by_family.len().max(1) as f64;
    let means = by_family
        .values()
        .map(|errors| errors.iter().sum::<f64>() / errors.len() as f64);
    means.sum::<f64>() / n
}

/// The factor that should contain nine in ten latencies of other families of whole networks: see [`factor_of_groups`].
pub fn interval_factor_of_families(rows: &[&LeftOut]) -> f64 {
    let whole = rows.iter().filter(|left| !left.has_few_layers());
    factor_with_tail(whole.map(|left| (left.factor(left.family_ms), left)))
}

/// The same for other networks of few layers; `None` if there are none.
fn interval_factor_of_few_layers(rows: &[&LeftOut]) -> Option<f64> {
    let short = rows.iter().filter(|left| left.has_few_layers());
    let mut short = short
        .map(|left| (left.factor(left.family_ms), left))
        .peekable();
    short.peek()?;
    Some(factor_with_tail(short))
}

fn factor_with_tail<'l, 'r: 'l>(factors: impl Iterator<Item = (f64, &'l &'l LeftOut<'r>)>) -> f64 {
    let logs = factors.map(|(factor, left)| (factor.ln(), left.group()));
    let logs: Vec<(f64, &str)> = logs.collect();
    let n_families = logs
        .iter()
        .map(|(_, family)| family)
        .collect::<BTreeSet<_>>();
    let few = if n_families.len() < MIN_FAMILIES {
        FEW_ESTIMATES_FACTOR
    } else {
        1.0
    };
    few * factor_of_groups(&logs)
}

impl Evaluation<'_> {
    /// The interval factor for an unmeasured board with a measured core, from estimates with whole boards left out. `None`
    /// if one device alone was measured.
    pub fn transferred_factor(&self, core: &str) -> Option<f64> {
        let rows_where = |is_core: &dyn Fn(&str) -> bool| -> Vec<&LeftOut> {
            let rows = self.left_out.iter();
            rows.filter(|left| is_core(left.row.measured.core) && left.board_ms.is_some())
                .collect()
        };
        let factors = |rows: &[&LeftOut]| -> Vec<f64> {
            let boards_ms = rows.iter().filter_map(|left| Some((left, left.board_ms?)));
            boards_ms.map(|(left, ms)| left.factor(ms)).collect()
        };
        match self.factors {
            Factors::None => None,
            Factors::Board => {
                let rows = rows_where(&|_| true);
                (!rows.is_empty()).then(|| factor_with_tail(factors(&rows).into_iter().zip(&rows)))
            }
            Factors::CoreAndRelease => {
                let with_other = |rows: Vec<&'_ LeftOut>| -> Vec<f64> {
                    let rows = rows.into_iter().filter(|left| self.has_other_board(left));
                    factors(&rows.collect::<Vec<_>>())
                };
                let of_core = with_other(rows_where(&|other| other == core));
                let factors = if of_core.is_empty() {
                    with_other(rows_where(&|_| true))
                } else {
                    of_core
                };
                let at_least = self.interval(core).factor;
                (!factors.is_empty()).then(|| interval_factor(factors).max(at_least))
            }
        }
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
fn left_out_estimates(
    model: &Model,
    rows: &[&CountedRow],
    is_left_out: impl Fn(&Measurement, &Measurement) -> bool + Sync,
) -> Result<Vec<Option<f64>>> {
    let left_out = |row: &&CountedRow| -> Vec<bool> {
        let is_out = |other: &&CountedRow| is_left_out(&row.measured, &other.measured);
        rows.iter().map(is_out).collect()
    };
    let sets: Vec<Vec<bool>> = rows.iter().map(left_out).collect();
    let distinct: BTreeSet<&Vec<bool>> = sets.iter().collect();
    let fit = |out: &Vec<bool>| -> Result<Option<Fit>> {
        let others = rows.iter().zip(out).filter(|(_, is_out)| !**is_out);
        let others: Vec<&CountedRow> = others.map(|(row, _)| *row).collect();
        (!others.is_empty()).then(|| model.fit(&others)).transpose()
    };
    let fits = distinct
        .into_par_iter()
        .map(|out| Ok((out, fit(out)?)))
        .collect::<Result<BTreeMap<_, _>>>()?;
    let estimates = rows.iter().zip(&sets).map(|(row, out)| {
        let fit = fits.get(out)?.as_ref()?;
        Some(model.estimate_ms(fit, row))
    });
    Ok(estimates.collect())
}

fn require_all(estimates: Vec<Option<f64>>) -> Result<Vec<f64>> {
    let estimates: Option<Vec<f64>> = estimates.into_iter().collect();
    estimates.context("expected several networks and families of each runtime, found one")
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
    summarise_errors(left_out.iter().filter_map(error).collect())
}

/// Summarises signed errors in percent.
pub fn summarise_errors(signed: Vec<f64>) -> Errors {
    let n = signed.len();
    let bias = signed.iter().sum::<f64>() / n.max(1) as f64;
    let mut sorted: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
    sorted.sort_by(f64::total_cmp);
    let Some(&worst) = sorted.last() else {
        return Errors::default();
    };
    Errors {
        n,
        mean_percent: five_digits(sorted.iter().sum::<f64>() / n as f64),
        median_percent: five_digits(quantile(&sorted, 0.5)),
        p95_percent: five_digits(quantile(&sorted, 0.95)),
        worst_percent: five_digits(worst),
        bias_percent: five_digits(bias),
    }
}
