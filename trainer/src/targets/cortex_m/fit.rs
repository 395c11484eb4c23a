//! Fits costs of counts, and factors of cores, releases and boards, to measured latencies.
//!
//! Costs are non-negative and fitted robustly. Factors are fitted robustly to the logarithms of the residuals. The two
//! fits alternate until they converge: cycles are the product of both, so that neither is a linear problem while the
//! other is unknown, as a library for linear least squares or deviations would require.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use litecast::targets::cortex_m::{OperatorCounts, Term};

use super::columns::{Column, MACS_ALONE, Prior};
use super::measured::Measurement;
use crate::metrics::mean;
use crate::priors::{Fitted, Problem};
use crate::targets::cortex_a::fit::least_deviations;

/// A measured latency with its counts.
#[derive(Clone, Debug)]
pub struct CountedRow {
    pub measured: Measurement,
    /// The counts of each operator that was timed.
    pub operators: Vec<OperatorCounts>,
    /// The sum of each count over the operators.
    totals: BTreeMap<Term, f64>,
}

impl CountedRow {
    pub fn new(measured: Measurement, operators: Vec<OperatorCounts>) -> Self {
        let mut totals = BTreeMap::new();
        for (term, count) in operators.iter().flat_map(|counts| &counts.terms) {
            *totals.entry(*term).or_default() += count;
        }
        Self {
            measured,
            operators,
            totals,
        }
    }

    fn count(&self, term: Term) -> f64 {
        self.totals.get(&term).copied().unwrap_or(0.0)
    }

    pub fn macs(&self) -> f64 {
        MACS_ALONE
            .iter()
            .map(|column| combined_count(self, column))
            .sum()
    }
}

/// The model of one runtime.
pub struct Model {
    pub runtime: &'static str,
    pub columns: &'static [Column],
    /// Known cycles per count, which are not fitted.
    pub known: &'static [(Term, f64)],
    /// What is known of each column's cost before the fit. Empty: costs are free, and fitted by least deviations.
    pub priors: &'static [Prior],
    /// The factors by which latencies of equal counts differ.
    pub factors: Factors,
    /// The core, or the board, whose factor is 1. It is the one with the most latencies, so that the costs follow it
    /// from the first iteration on.
    pub reference: &'static str,
}

/// The factors that a row's cycles are multiplied with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factors {
    /// One factor for the core, one for the release, and one for ST Edge AI's option `-O time`.
    CoreAndRelease,
    /// One factor for the board, because boards differ in how the runtime was built.
    Board,
    None,
}

/// One of the factors.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Factor {
    Core(&'static str),
    Release(Release),
    /// Programs compiled with `-O time` by [`Release::Since9`]; with earlier releases there are none.
    MadeForTime,
    Board {
        board: String,
        core: &'static str,
    },
}

/// Releases of ST Edge AI with the same performance. Factors are relative to those of 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Release {
    Before8,
    Of8,
    Since9,
}

impl Release {
    fn from_version(version: &str) -> Self {
        match version
            .split('.')
            .next()
            .and_then(|major| major.parse().ok())
        {
            Some(0..8_u32) => Self::Before8,
            Some(8) => Self::Of8,
            _ => Self::Since9,
        }
    }
}

/// CoreMark per MHz as published by Arm. A core's factor is drawn towards the inverse. The factor of an unmeasured core
/// follows from the ratio to its [`NEAREST_PIPELINE`].
const CORE_MARKS_PER_MHZ: &[(&str, f64)] = &[
    ("cortex-m4", 3.42),
    ("cortex-m33", 4.02),
    ("cortex-m7", 5.01),
];

/// Cores that issue one instruction per cycle and have no caches, with the measured core that they are derived from.
const NEAREST_PIPELINE: &[(&str, &str)] =
    &[("cortex-m4", "cortex-m33"), ("cortex-m33", "cortex-m4")];

/// Weight of the CoreMark prior relative to one latency.
const CORE_MARK_WEIGHT: f64 = 0.05;

/// Cores that run the same instructions as another core. The other one is used if no board with the core was measured.
const NEAREST: &[(&str, &str)] = &[("cortex-m7", "cortex-m33"), ("cortex-m33", "cortex-m7")];

pub fn nearest_core(core: &str) -> Option<&'static str> {
    look_up(NEAREST, core).copied()
}

fn look_up<'t, T>(table: &'t [(&str, T)], first: &str) -> Option<&'t T> {
    let row = table.iter().find(|(key, _)| *key == first);
    row.map(|(_, second)| second)
}

/// Costs and factors are fitted in turn until no factor changes by more than this, relative to itself.
const TOLERANCE: f64 = 1e-6;
/// Maximum number of iterations; all fitted runtimes converge earlier.
const MAX_TURNS: usize = 1000;
/// Weight of latencies of single operators relative to those of whole networks.
const OPERATOR_WEIGHT: f64 = 0.5;
/// Standard deviations of the logarithms of factors that are fitted with priors.
const CORE_SPREAD: f64 = 0.2;
const RELEASE_SPREAD: f64 = 0.15;
/// Error of a latency, in logarithms, that a fit with priors assumes.
const LIKELY_ERROR: f64 = 0.06;
/// Huber threshold for logarithmic residuals: about the noise between networks.
const HUBER: f64 = 0.05;

/// Fitted costs and factors.
#[derive(Clone, Debug, Default)]
pub struct Fit {
    /// Cycles per count.
    pub costs: BTreeMap<Term, f64>,
    /// Logarithms of factors.
    factors: BTreeMap<Factor, f64>,
}

impl Model {
    /// Fits to `rows`, which must all be of this runtime.
    pub fn fit(&self, rows: &[&CountedRow]) -> Result<Fit> {
        ensure!(!rows.is_empty(), "expected latencies, found none");
        if !self.priors.is_empty() {
            return Ok(self.fit_with_priors(rows));
        }
        let of_rows: Vec<Vec<Factor>> = rows
            .iter()
            .map(|row| self.factors_of(&row.measured))
            .collect();
        let mut fit = Fit::default();
        for factor in of_rows.iter().flatten() {
            fit.factors
                .insert(factor.clone(), prior_of_factor(factor).unwrap_or(0.0));
        }
        let weights = weights(rows);
        for _ in 0..MAX_TURNS {
            fit.costs = self.costs(&fit, rows, &weights)?;
            if fit.descend_factors(self, rows, &of_rows, &weights) < TOLERANCE {
                break;
            }
        }
        Ok(fit)
    }

    /// Costs and factors in one fit, each drawn to what is known of it.
    fn fit_with_priors(&self, rows: &[&CountedRow]) -> Fit {
        let all_factors = rows.iter().flat_map(|row| self.factors_of(&row.measured));
        let all_factors: BTreeSet<Factor> = all_factors.collect();
        let (fixed, factors): (Vec<Factor>, Vec<Factor>) = all_factors
            .into_iter()
            .partition(|factor| self.is_reference(factor));
        let n_costs = self.columns.len();
        let mut priors: Vec<(f64, f64)> = self
            .priors
            .iter()
            .map(|prior| (prior.cycles.ln(), prior.spread))
            .collect();
        priors.extend(factors.iter().map(|factor| match prior_of_factor(factor) {
            Some(log) => (log, CORE_SPREAD),
            None => (0.0, RELEASE_SPREAD),
        }));
        // A network that a board ran under several releases, or with several sets of weights, counts once.
        let key = |row: &CountedRow| (row.measured.board.clone(), row.measured.network.clone());
        let mut n_of_network: BTreeMap<_, f64> = BTreeMap::new();
        for row in rows {
            *n_of_network.entry(key(row)).or_default() += 1.0;
        }
        let fitted = rows.iter().map(|row| {
            let of_row = self.factors_of(&row.measured).into_iter();
            Fitted {
                counts: self
                    .columns
                    .iter()
                    .map(|column| combined_count(row, column))
                    .collect(),
                log_total: row.measured.cycles().ln(),
                factors: of_row
                    .filter_map(|factor| Some(n_costs + factors.binary_search(&factor).ok()?))
                    .collect(),
                weight: 1.0 / n_of_network[&key(row)],
            }
        });
        let logs = Problem::new(fitted.collect(), n_costs, &priors, LIKELY_ERROR).minimise();
        let mut costs = BTreeMap::new();
        for (column, log) in self.columns.iter().zip(&logs) {
            for (term, times) in *column {
                *costs.entry(*term).or_default() += log.exp() * times;
            }
        }
        let fixed = fixed.into_iter().map(|factor| (factor, 0.0));
        let free = factors.into_iter().zip(logs[n_costs..].iter().copied());
        Fit {
            costs,
            factors: fixed.chain(free).collect(),
        }
    }

    /// The factors of a measurement.
    fn factors_of(&self, measured: &Measurement) -> Vec<Factor> {
        match self.factors {
            Factors::None => Vec::new(),
            Factors::Board => vec![Factor::Board {
                board: measured.board.clone(),
                core: measured.core,
            }],
            Factors::CoreAndRelease => {
                let release = Release::from_version(&measured.version);
                let mut factors = vec![Factor::Core(measured.core), Factor::Release(release)];
                if measured.is_made_for_time && release == Release::Since9 {
                    factors.push(Factor::MadeForTime);
                }
                factors
            }
        }
    }

    /// Whether other factors are relative to this one, which is 1.
    fn is_reference(&self, factor: &Factor) -> bool {
        match factor {
            Factor::Core(core) => *core == self.reference,
            Factor::Board { board, .. } => board == self.reference,
            Factor::Release(release) => *release == Release::Of8,
            Factor::MadeForTime => false,
        }
    }

    fn costs(
        &self,
        fit: &Fit,
        rows: &[&CountedRow],
        weights: &[f64],
    ) -> Result<BTreeMap<Term, f64>> {
        let mut relative = Vec::with_capacity(rows.len());
        let mut share_weights = Vec::with_capacity(rows.len());
        for (row, weight) in rows.iter().zip(weights) {
            let cycles = row.measured.cycles() / self.factor(fit, &row.measured);
            let known: f64 = self
                .known
                .iter()
                .map(|(term, cost)| cost * row.count(*term))
                .sum();
            let left = (cycles - known).max(MIN_SHARE * cycles);
            let columns = self.columns.iter().enumerate();
            let counts = columns.map(|(idx, column)| (idx, combined_count(row, column) / left));
            relative.push(counts.filter(|(_, count)| *count > 0.0).collect());
            share_weights.push(weight * left / cycles);
        }
        let fitted = least_deviations(&relative, &share_weights, self.columns.len())?;
        let mut costs: BTreeMap<Term, f64> = self.known.iter().copied().collect();
        for (column, cost) in self.columns.iter().zip(fitted) {
            for (term, times) in *column {
                *costs.entry(*term).or_default() += cost * times;
            }
        }
        costs.retain(|_, cost| *cost > 0.0);
        Ok(costs)
    }

    /// Estimated cycles, on a core, board and release that need not have been fitted.
    pub fn cycles(&self, fit: &Fit, row: &CountedRow) -> f64 {
        fit.counted_cycles(row) * self.factor(fit, &row.measured)
    }

    pub fn estimate_ms(&self, fit: &Fit, row: &CountedRow) -> f64 {
        self.cycles(fit, row) / (1e3 * row.measured.clock_mhz)
    }

    /// The factor by which `measured` takes longer than the reference.
    pub fn factor(&self, fit: &Fit, measured: &Measurement) -> f64 {
        let factors = self.factors_of(measured).into_iter();
        factors.map(|factor| fit.log(&factor)).sum::<f64>().exp()
    }
}

/// Minimum share of a row's cycles that is left for the fitted costs, even if known costs explain all of them.
const MIN_SHARE: f64 = 0.05;

/// The prior of a factor's logarithm.
fn prior_of_factor(factor: &Factor) -> Option<f64> {
    let Factor::Core(core) = factor else {
        return None;
    };
    let reference = look_up(CORE_MARKS_PER_MHZ, "cortex-m7")?;
    Some((reference / look_up(CORE_MARKS_PER_MHZ, core)?).ln())
}

impl Fit {
    pub fn counted_cycles(&self, row: &CountedRow) -> f64 {
        let costs = self.costs.iter();
        costs.map(|(term, cost)| cost * row.count(*term)).sum()
    }

    /// The logarithm of a factor, fitted or derived.
    fn log(&self, factor: &Factor) -> f64 {
        if let Some(log) = self.factors.get(factor) {
            return *log;
        }
        match factor {
            Factor::Core(core) => self.log_of_unmeasured(core),
            Factor::Board { core, .. } => self.log_of_boards(core),
            // The same as for the newest release whose programs were fitted.
            Factor::Release(_) | Factor::MadeForTime => 0.0,
        }
    }

    /// The prior of an unmeasured core, corrected by the residual of the nearest measured core.
    fn log_of_unmeasured(&self, core: &'static str) -> f64 {
        let expected_of = |core| prior_of_factor(&Factor::Core(core)).unwrap_or(0.0);
        let near = look_up(NEAREST_PIPELINE, core).copied();
        let near = near.and_then(|near| Some((near, self.factors.get(&Factor::Core(near))?)));
        expected_of(core) + near.map_or(0.0, |(near, log)| log - expected_of(near))
    }

    /// The mean over boards with a core; if there are none, over boards with the core that [`NEAREST`] names, or over
    /// all boards.
    fn log_of_boards(&self, core: &str) -> f64 {
        let boards = self
            .factors
            .iter()
            .filter_map(|(factor, log)| match factor {
                Factor::Board { core, .. } => Some((*core, *log)),
                _ => None,
            });
        let boards: Vec<(&str, f64)> = boards.collect();
        let of_cores = [Some(core), nearest_core(core)]
            .into_iter()
            .flatten()
            .map(|core| {
                let logs = boards.iter().filter(|(board_core, _)| *board_core == core);
                logs.map(|(_, log)| *log).collect::<Vec<f64>>()
            });
        let nearest_logs = of_cores.into_iter().find(|logs| !logs.is_empty());
        mean(&nearest_logs.unwrap_or_else(|| boards.iter().map(|(_, log)| *log).collect()))
    }

    /// The geometric mean of the factors of measured boards.
    pub fn factor_of(&self, boards: &[&str]) -> Option<f64> {
        let logs = boards.iter().map(|name| {
            let mut all = self.factors.iter();
            let of_board =
                |factor: &Factor| matches!(factor, Factor::Board { board, .. } if board == name);
            all.find(|(factor, _)| of_board(factor))
                .map(|(_, log)| *log)
        });
        Some(mean(&logs.collect::<Option<Vec<f64>>>()?).exp())
    }

    /// Coordinate descent: sets one factor after the other to its optimum with the others fixed. It finds the global
    /// optimum, because the loss is convex and smooth. Returns the largest change of a factor, for [`TOLERANCE`].
    fn descend_factors(
        &mut self,
        model: &Model,
        rows: &[&CountedRow],
        of_rows: &[Vec<Factor>],
        weights: &[f64],
    ) -> f64 {
        let before = self.factors.clone();
        let counted: Vec<f64> = rows
            .iter()
            .map(|row| (row.measured.cycles() / self.counted_cycles(row).max(1.0)).ln())
            .collect();
        for _ in 0..MAX_TURNS {
            let mut largest: f64 = 0.0;
            let free = |factor: &&Factor| !model.is_reference(factor);
            for factor in before.keys().filter(free) {
                let step = self.step(factor, &counted, of_rows, weights);
                *self.factors.entry(factor.clone()).or_default() += step;
                largest = largest.max(step.abs());
            }
            if largest < TOLERANCE {
                break;
            }
        }
        let changes = before
            .iter()
            .map(|(factor, log)| (self.factors[factor] - log).abs());
        changes.fold(0.0, f64::max)
    }

    /// The change of one logarithm: the mean of the residuals, in which large residuals have less weight, drawn towards
    /// the prior. For a board it is the median, because few networks were measured on each board, and no other factor
    /// shares them.
    fn step(
        &self,
        factor: &Factor,
        counted: &[f64],
        of_rows: &[Vec<Factor>],
        weights: &[f64],
    ) -> f64 {
        if matches!(factor, Factor::Board { .. }) {
            let of_board = counted.iter().zip(of_rows).zip(weights);
            let of_board = of_board.filter(|((_, factors), _)| factors.contains(factor));
            let left =
                of_board.map(|((counted, _), weight)| (counted - self.factors[factor], *weight));
            return weighted_median(left.collect());
        }
        let (mut sum, mut total) = match prior_of_factor(factor) {
            Some(log) => (
                CORE_MARK_WEIGHT * (log - self.factors[factor]),
                CORE_MARK_WEIGHT,
            ),
            None => (0.0, 0.0),
        };
        for ((counted, factors), weight) in counted.iter().zip(of_rows).zip(weights) {
            if !factors.contains(factor) {
                continue;
            }
            let left = counted
                - factors
                    .iter()
                    .map(|factor| self.factors[factor])
                    .sum::<f64>();
            let weight = weight * (HUBER / left.abs()).min(1.0);
            sum += weight * left;
            total += weight;
        }
        sum / total
    }
}

fn combined_count(row: &CountedRow, column: Column) -> f64 {
    column
        .iter()
        .map(|(term, times)| times * row.count(*term))
        .sum()
}

/// A network that a board ran under several releases, or with several sets of weights, has less weight each time.
fn weights(rows: &[&CountedRow]) -> Vec<f64> {
    let key = |row: &CountedRow| {
        let measured = &row.measured;
        (
            measured.board.clone(),
            measured.network.clone(),
            measured.operator.clone(),
        )
    };
    let mut n: BTreeMap<_, f64> = BTreeMap::new();
    for row in rows {
        *n.entry(key(row)).or_default() += 1.0;
    }
    let weight = |row: &&CountedRow| {
        let of_kind = match row.measured.operator {
            Some(_) => OPERATOR_WEIGHT,
            None => 1.0,
        };
        of_kind / n.get(&key(row)).copied().unwrap_or(1.0).sqrt()
    };
    rows.iter().map(weight).collect()
}

fn weighted_median(mut values: Vec<(f64, f64)>) -> f64 {
    values.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half: f64 = values.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    let at_half = values.iter().find(|(_, weight)| {
        sum += weight;
        sum >= half
    });
    at_half.map_or(0.0, |(value, _)| *value)
}

#[cfg(test)]
mod tests {
    use litecast::formats::tflite::OpKind;

    use super::*;

    const COLUMNS: &[Column] = &[
        &[(Term::ConvolutionProducts, 1.0), (Term::DenseProducts, 2.0)],
        &[(Term::ConvolutionOutputs, 1.0)],
    ];

    const PRIORS: &[Prior] = &[
        Prior {
            cycles: 0.25,
            spread: 2.0,
        },
        Prior {
            cycles: 3.0,
            spread: 2.0,
        },
    ];

    fn row(core: &'static str, version: &str, counts: [f64; 3], cycles: f64) -> CountedRow {
        let terms = [
            Term::ConvolutionProducts,
            Term::DenseProducts,
            Term::ConvolutionOutputs,
        ];
        let measured = Measurement {
            core,
            board: core.to_owned(),
            version: version.to_owned(),
            network: format!("{counts:?}"),
            clock_mhz: 100.0,
            latency_ms: cycles / 1e5,
            ..Measurement::unmeasured("st-edge-ai")
        };
        let operators = vec![OperatorCounts {
            operator: OpKind::Conv2d,
            terms: terms.into_iter().zip(counts).collect(),
        }];
        CountedRow::new(measured, operators)
    }

    /// Rows that are made from costs, cores and releases: the fit recovers these.
    #[test]
    fn costs_and_factors_that_made_the_rows_are_found() {
        let cycles = |counts: [f64; 3]| 0.5 * counts[0] + counts[1] + 9.0 * counts[2];
        let counts = [
            [1e6, 0.0, 1e4],
            [2e5, 3e4, 3e4],
            [5e5, 1e5, 1e3],
            [8e4, 2e5, 2e4],
        ];
        let mut rows = Vec::new();
        for (core, core_factor) in [("cortex-m7", 1.0), ("cortex-m4", 1.8)] {
            for (version, version_factor) in [("8.1", 1.0), ("10.0", 0.7)] {
                let made = |counts| {
                    let cycles = cycles(counts) * core_factor * version_factor;
                    row(core, version, counts, cycles)
                };
                rows.extend(counts.map(made));
            }
        }
        // Without priors, and with priors that are two and three times too low, which draw.
        for (priors, tolerance) in [(&[][..], 0.02), (PRIORS, 0.08)] {
            costs_and_factors_are_found(&rows, priors, tolerance);
        }
    }

    fn costs_and_factors_are_found(rows: &[CountedRow], priors: &'static [Prior], tolerance: f64) {
        let model = Model {
            runtime: "st-edge-ai",
            columns: COLUMNS,
            known: &[],
            priors,
            factors: Factors::CoreAndRelease,
            reference: "cortex-m7",
        };
        let fit = model.fit(&rows.iter().collect::<Vec<_>>()).unwrap();
        println!("{fit:?}");
        let is = |factor: &Factor, expected: f64| {
            (fit.factors[factor].exp() / expected - 1.0).abs() < tolerance
        };
        assert!(is(&Factor::Core("cortex-m4"), 1.8));
        assert!(is(&Factor::Release(Release::Since9), 0.7));
        for row in rows {
            let ratio = model.estimate_ms(&fit, row) / row.measured.latency_ms;
            assert!((ratio - 1.0).abs() < tolerance, "{ratio}");
        }
        let near = fit.log(&Factor::Core("cortex-m33")).exp();
        let told = 1.8 * 3.42 / 4.02;
        assert!(
            (near / told - 1.0).abs() < tolerance,
            "a core nobody measured: {near}, not {told}"
        );
    }
}
