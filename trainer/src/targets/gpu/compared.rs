//! A fit and its errors on left-out networks → the run of the bundle. Prints the errors of three methods as rows of
//! Markdown.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use litecast::targets::MeasuredRange;
use litecast::targets::gpu::bundle::{Errors, Mode, Run};

use super::evaluate::{Fit, LeftOut, Sample, Split, errors, folds, half_width, summary};
use super::measured::Measured;

/// What was measured on one GPU in one mode.
pub struct Measurements<'m> {
    pub target: &'m str,
    pub mode: Mode,
    pub framework: &'m str,
    pub laboratory: &'m str,
    pub rows: &'m [Measured],
    /// The rows whose networks have a graph.
    pub samples: &'m [Sample],
}

impl Measurements<'_> {
    /// The run with the constants of `fit`. Its errors and its interval are those of `left_out_of`, which takes the unit
    /// that is left out and the fold of each sample.
    pub fn run(
        &self,
        fit: Fit,
        n_seeds: u64,
        left_out_of: impl Fn(Split, Vec<usize>) -> LeftOut,
    ) -> Result<Run> {
        let samples = self.samples;
        let name = format!("{} {}, {}", self.target, words(self.mode), self.framework);
        let [random_errors, errors] = [Split::Models, Split::Families].map(|split| {
            compare(&name, samples, split, n_seeds, |folds| {
                left_out_of(split, folds)
            })
        });
        let of_families = left_out_of(Split::Families, folds(samples, Split::Families, 0));
        let mut correction = fit.correction;
        correction.half_width = half_width(&of_families.pairs(samples));
        let families: BTreeSet<&str> = samples
            .iter()
            .map(|sample| sample.family.as_str())
            .collect();
        let mut batches: Vec<f64> = self.rows.iter().map(|row| row.batch).collect();
        batches.sort_by(f64::total_cmp);
        Ok(Run {
            target: self.target.to_owned(),
            mode: self.mode,
            framework: self.framework.to_owned(),
            laboratory: self.laboratory.to_owned(),
            scaled_by: None,
            n_networks: samples.len(),
            n_families: families.len(),
            measured_range: MeasuredRange::of(self.rows.iter().map(|row| row.ms_per_input))
                .context("expected latencies")?,
            batches: [batches[0], batches[batches.len() / 2]],
            costs_ms: fit.costs.to_vec(),
            correction,
            errors,
            random_errors,
        })
    }
}

/// In the words of the tables.
pub fn words(mode: Mode) -> &'static str {
    match mode {
        Mode::Inference => "inference",
        Mode::Training => "training",
    }
}

/// Errors of three methods on left-out networks as means over seeds. Returns the errors of the last method.
fn compare(
    name: &str,
    samples: &[Sample],
    split: Split,
    n_seeds: u64,
    left_out_of: impl Fn(Vec<usize>) -> LeftOut,
) -> Errors {
    let mut by_method = [Errors::default(); 3];
    let mut by_family = BTreeMap::new();
    for seed in 0..n_seeds {
        let left = left_out_of(folds(samples, split, seed));
        for (sample, estimate) in samples.iter().zip(&left.estimates) {
            let ratio = (estimate.time_ms / sample.time_ms).ln();
            let of = by_family
                .entry(sample.family.as_str())
                .or_insert_with(Vec::new);
            of.push((100.0 * (ratio.exp() - 1.0).abs(), ratio));
        }
        let roofline = left.estimates.iter().map(|estimate| estimate.roofline_ms);
        let of_seed = [
            summary(samples, left.regression_ms.iter().copied()),
            summary(samples, roofline),
            errors(samples, &left),
        ];
        for (sum, one) in by_method.iter_mut().zip(of_seed) {
            sum.mean_percent += one.mean_percent / n_seeds as f64;
            sum.median_percent += one.median_percent / n_seeds as f64;
            sum.p95_percent += one.p95_percent / n_seeds as f64;
            sum.coverage_percent += one.coverage_percent / n_seeds as f64;
        }
    }
    let families: BTreeSet<&str> = samples
        .iter()
        .map(|sample| sample.family.as_str())
        .collect();
    let is_of_families = split == Split::Families;
    let split = split.words();
    let methods = ["log-linear regression", "roofline", "roofline and kriging"];
    for (method, errors) in methods.iter().zip(&by_method) {
        let coverage = match errors.coverage_percent {
            0.0 => "–".to_owned(),
            percent => format!("{percent:.1} %"),
        };
        println!(
            "| {name} | {} ({}) | {split} | {method} | {:.2} | {:.2} | {:.1} | {coverage} |",
            samples.len(),
            families.len(),
            errors.mean_percent,
            errors.median_percent,
            errors.p95_percent,
        );
    }
    if is_of_families {
        print_worst(name, &by_family);
    }
    by_method[2]
}

/// Number of families printed to standard error: those that contribute most to the mean.
const N_WORST: usize = 12;

/// Errors in percent and logarithms of estimate over measurement, by family.
type ByFamily<'s> = BTreeMap<&'s str, Vec<(f64, f64)>>;

fn print_worst(name: &str, by_family: &ByFamily) {
    let n: usize = by_family.values().map(Vec::len).sum();
    let mut sums: Vec<(f64, &str, usize, f64)> = by_family
        .iter()
        .map(|(family, errors)| {
            let sum: f64 = errors.iter().map(|(percent, _)| percent).sum();
            let signed: f64 = errors.iter().map(|(_, ratio)| ratio).sum();
            (sum, *family, errors.len(), signed / errors.len() as f64)
        })
        .collect();
    sums.sort_by(|a, b| b.0.total_cmp(&a.0));
    eprintln!("{name}: families that add most to the mean");
    for (sum, family, n_errors, signed) in sums.iter().take(N_WORST) {
        eprintln!(
            "  {family}: {:.2} of the mean's percent, {:.1} % on average, estimates {:+.0} %",
            sum / n as f64,
            sum / *n_errors as f64,
            100.0 * (signed.exp() - 1.0)
        );
    }
}
