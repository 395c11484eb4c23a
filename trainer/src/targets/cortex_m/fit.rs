//! Costs of counts, and factors between cores and between releases, from measured latencies.
//!
//! Costs are a robust fit that is not negative; factors are medians of what it leaves. The two are made
//! in turn until they settle: their product is what is fitted, so that neither is a linear problem while
//! the other is free, which a library for linear least squares or deviations would need.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use litecast::targets::cortex_m::{Term, Work};

use super::measured::Measurement;
use crate::targets::cortex_a::fit::least_deviations;

/// A measured latency with its counts.
#[derive(Clone, Debug)]
pub struct Row {
    pub measured: Measurement,
    /// Of the operators that were timed.
    pub works: Vec<Work>,
}

impl Row {
    fn count(&self, term: Term) -> f64 {
        self.works.iter().map(|work| work.count(term)).sum()
    }
}

/// Counts that share one cost, each with its multiple of it.
pub type Column = &'static [(Term, f64)];

/// What is fitted for one runtime.
pub struct Model {
    pub runtime: &'static str,
    pub columns: &'static [Column],
    /// What latencies of equal counts differ by.
    pub factors: Factors,
    /// The core, or the board, whose factor is 1: the one with the most latencies, so that the costs do
    /// not have to follow another's first.
    pub reference: &'static str,
}

/// What a row's cycles are multiplied with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factors {
    /// One for its core, one for its release; that of [`REFERENCE`] is 1.
    CoreAndVersion,
    /// One for its board. Boards differ by how the runtime was built.
    Board,
    None,
}

/// The release that factors of releases are relative to.
pub const REFERENCE: &str = "8.1";

/// Cores that run the same instructions as another, which stands in where one was not measured.
const NEAREST: &[(&str, &str)] = &[("cortex-m7", "cortex-m33"), ("cortex-m33", "cortex-m7")];

pub fn nearest(core: &str) -> Option<&'static str> {
    let known = NEAREST.iter().find(|(of, _)| *of == core);
    known.map(|(_, nearest)| *nearest)
}

/// Costs and factors are made in turn until no factor changes by more than this, relative to itself.
const TOLERANCE: f64 = 1e-6;
/// Turns at most; the runtimes that are fitted settle in fewer.
const MAX_TURNS: usize = 1000;
/// Times of single operators beside those of whole networks.
const OPERATOR_WEIGHT: f64 = 0.5;

/// Fitted costs and factors.
#[derive(Clone, Debug, Default)]
pub struct Fit {
    /// Cycles by [`Term`].
    pub costs: BTreeMap<Term, f64>,
    cores: BTreeMap<String, f64>,
    versions: BTreeMap<String, f64>,
    boards: BTreeMap<String, Board>,
}

#[derive(Clone, Debug)]
struct Board {
    core: String,
    factor: f64,
}

impl Model {
    /// Fits to `rows`, which are all of this runtime.
    pub fn fit(&self, rows: &[&Row]) -> Result<Fit> {
        ensure!(!rows.is_empty(), "expected latencies, found none");
        let mut fit = Fit::default();
        for row in rows {
            let measured = &row.measured;
            fit.cores.insert(measured.core.to_owned(), 1.0);
            fit.versions.insert(measured.version.clone(), 1.0);
            let board = Board {
                core: measured.core.to_owned(),
                factor: 1.0,
            };
            fit.boards.insert(measured.board.clone(), board);
        }
        let weights = weights(rows);
        for _ in 0..MAX_TURNS {
            fit.costs = self.costs(&fit, rows, &weights)?;
            let change = match self.factors {
                Factors::CoreAndVersion => fit.refit_cores(self, rows, &weights),
                Factors::Board => fit.refit_boards(self, rows, &weights),
                Factors::None => 0.0,
            };
            if change < TOLERANCE {
                break;
            }
        }
        Ok(fit)
    }

    fn costs(&self, fit: &Fit, rows: &[&Row], weights: &[f64]) -> Result<BTreeMap<Term, f64>> {
        let relative = |row: &&Row| {
            let cycles = row.measured.cycles() / self.factor(fit, &row.measured);
            let columns = self.columns.iter().enumerate();
            let counts = columns.map(|(idx, column)| (idx, combined(row, column) / cycles));
            counts.filter(|(_, count)| *count > 0.0).collect()
        };
        let relative: Vec<BTreeMap<usize, f64>> = rows.iter().map(relative).collect();
        let fitted = least_deviations(&relative, weights, self.columns.len())?;
        let columns = self.columns.iter().zip(fitted);
        let terms = columns.flat_map(|(column, cost)| {
            column
                .iter()
                .map(move |(term, times)| (*term, cost * times))
        });
        Ok(terms.filter(|(_, cost)| *cost > 0.0).collect())
    }

    /// Estimated cycles, on a core, board and release that need not have been fitted.
    pub fn cycles(&self, fit: &Fit, row: &Row) -> f64 {
        fit.counted_cycles(row) * self.factor(fit, &row.measured)
    }

    pub fn estimate_ms(&self, fit: &Fit, row: &Row) -> f64 {
        self.cycles(fit, row) / (1e3 * row.measured.clock_mhz)
    }

    fn factor(&self, fit: &Fit, measured: &Measurement) -> f64 {
        match self.factors {
            Factors::CoreAndVersion => {
                let core = fit.core_factor(measured.core);
                core * fit.version_factor(&measured.version)
            }
            Factors::Board => {
                let board = fit.boards.get(&measured.board).map(|board| board.factor);
                board.unwrap_or_else(|| fit.factor_of_boards(measured.core))
            }
            Factors::None => 1.0,
        }
    }
}

impl Fit {
    pub fn counted_cycles(&self, row: &Row) -> f64 {
        let costs = self.costs.iter();
        costs.map(|(term, cost)| cost * row.count(*term)).sum()
    }

    /// The geometric mean of all cores where this one was not measured.
    pub fn core_factor(&self, core: &str) -> f64 {
        let known = self.cores.get(core).copied();
        known.unwrap_or_else(|| geometric_mean(self.cores.values().copied()))
    }

    /// That of the newest release fitted where this one was not.
    pub fn version_factor(&self, version: &str) -> f64 {
        self.versions.get(version).copied().unwrap_or(1.0)
    }

    /// The geometric mean of the boards with a core; where it was not measured, with the core that
    /// [`NEAREST`] names, or else of all.
    pub fn factor_of_boards(&self, core: &str) -> f64 {
        let cores = [Some(core), nearest(core)];
        let of_cores = cores.into_iter().flatten().map(|core| {
            let boards = self.boards.values().filter(|board| board.core == core);
            boards.map(|board| board.factor).collect::<Vec<f64>>()
        });
        let all = self.boards.values().map(|board| board.factor);
        let measured = of_cores.into_iter().find(|factors| !factors.is_empty());
        geometric_mean(measured.unwrap_or_else(|| all.collect()).into_iter())
    }

    pub fn board_factor(&self, board: &str) -> Option<f64> {
        self.boards.get(board).map(|board| board.factor)
    }

    /// The largest change of a factor, as [`TOLERANCE`].
    fn refit_cores(&mut self, model: &Model, rows: &[&Row], weights: &[f64]) -> f64 {
        let mut change = 0.0_f64;
        let cores: BTreeSet<String> = self.cores.keys().cloned().collect();
        for core in cores.iter().filter(|core| *core != model.reference) {
            let is_of = |measured: &Measurement| measured.core == core.as_str();
            let median = self.median_left(model, rows, weights, is_of);
            let factor = self.cores.entry(core.clone()).or_insert(1.0);
            *factor *= median;
            change = change.max((median - 1.0).abs());
        }
        let versions: BTreeSet<String> = self.versions.keys().cloned().collect();
        for version in versions.iter().filter(|version| *version != REFERENCE) {
            let is_of = |measured: &Measurement| measured.version == *version;
            let median = self.median_left(model, rows, weights, is_of);
            let factor = self.versions.entry(version.clone()).or_insert(1.0);
            *factor *= median;
            change = change.max((median - 1.0).abs());
        }
        change
    }

    /// As [`Self::refit_cores`].
    fn refit_boards(&mut self, model: &Model, rows: &[&Row], weights: &[f64]) -> f64 {
        let mut change = 0.0_f64;
        let boards: BTreeSet<String> = self.boards.keys().cloned().collect();
        for board in boards.iter().filter(|board| *board != model.reference) {
            let is_of = |measured: &Measurement| measured.board == *board;
            let median = self.median_left(model, rows, weights, is_of);
            if let Some(board) = self.boards.get_mut(board) {
                board.factor *= median;
                change = change.max((median - 1.0).abs());
            }
        }
        change
    }

    /// Weighted median of measured over estimated cycles of some rows.
    fn median_left(
        &self,
        model: &Model,
        rows: &[&Row],
        weights: &[f64],
        is_of: impl Fn(&Measurement) -> bool,
    ) -> f64 {
        let rows = rows.iter().zip(weights);
        let mut left: Vec<(f64, f64)> = rows
            .filter(|(row, _)| is_of(&row.measured))
            .map(|(row, weight)| {
                let estimated = model.cycles(self, row);
                (row.measured.cycles() / estimated.max(1.0), *weight)
            })
            .collect();
        left.sort_by(|a, b| a.0.total_cmp(&b.0));
        let half: f64 = left.iter().map(|(_, weight)| weight).sum::<f64>() / 2.0;
        let mut sum = 0.0;
        let at_half = left.iter().find(|(_, weight)| {
            sum += weight;
            sum >= half
        });
        at_half.map_or(1.0, |(ratio, _)| *ratio)
    }
}

fn combined(row: &Row, column: Column) -> f64 {
    column
        .iter()
        .map(|(term, times)| times * row.count(*term))
        .sum()
}

/// A network that a board ran under several releases, or with several sets of weights, counts less each
/// time.
fn weights(rows: &[&Row]) -> Vec<f64> {
    let key = |row: &Row| {
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
    let weight = |row: &&Row| {
        let of_kind = match row.measured.operator {
            Some(_) => OPERATOR_WEIGHT,
            None => 1.0,
        };
        of_kind / n.get(&key(row)).copied().unwrap_or(1.0).sqrt()
    };
    rows.iter().map(weight).collect()
}

fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = values.map(f64::ln).collect();
    match logs.is_empty() {
        true => 1.0,
        false => (logs.iter().sum::<f64>() / logs.len() as f64).exp(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use litecast::formats::tflite::OpKind;
    use litecast::targets::cortex_m::Program;

    use super::*;

    const COLUMNS: &[Column] = &[
        &[(Term::ConvolutionProducts, 1.0), (Term::DenseProducts, 2.0)],
        &[(Term::ConvolutionOutputs, 1.0)],
    ];

    fn row(core: &'static str, version: &str, counts: [f64; 3], cycles: f64) -> Row {
        let terms = [
            Term::ConvolutionProducts,
            Term::DenseProducts,
            Term::ConvolutionOutputs,
        ];
        Row {
            measured: Measurement {
                runtime: "st-edge-ai",
                core,
                board: core.to_owned(),
                version: version.to_owned(),
                network: format!("{counts:?}"),
                family: String::new(),
                file: PathBuf::new(),
                operator: None,
                clock_mhz: 100.0,
                latency_ms: cycles / 1e5,
                program: Program::default(),
            },
            works: vec![Work {
                operator: OpKind::Conv2d,
                terms: terms.into_iter().zip(counts).collect(),
            }],
        }
    }

    /// Cycles made of costs, cores and releases are taken apart again.
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
        let model = Model {
            runtime: "st-edge-ai",
            columns: COLUMNS,
            factors: Factors::CoreAndVersion,
            reference: "cortex-m7",
        };
        let fit = model.fit(&rows.iter().collect::<Vec<_>>()).unwrap();
        println!("{fit:?}");
        assert!((fit.core_factor("cortex-m4") / 1.8 - 1.0).abs() < 2e-3);
        assert!((fit.version_factor("10.0") / 0.7 - 1.0).abs() < 2e-3);
        for row in &rows {
            let ratio = model.estimate_ms(&fit, row) / row.measured.latency_ms;
            assert!((ratio - 1.0).abs() < 2e-3, "{ratio}");
        }
        let between = fit.core_factor("cortex-m33");
        assert!(
            (between / 1.8f64.sqrt() - 1.0).abs() < 2e-3,
            "a core nobody measured"
        );
    }
}
