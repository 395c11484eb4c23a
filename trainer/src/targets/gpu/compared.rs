//! Prints the errors of three methods on left-out networks as rows of Markdown.

use std::collections::{BTreeMap, BTreeSet};

use litecast::targets::gpu::bundle::{Errors, Mode};

use super::evaluate::{LeftOut, Sample, Split, errors, folds, summary};

/// In the words of the tables.
pub fn words(mode: Mode) -> &'static str {
    match mode {
        Mode::Inference => "inference",
        Mode::Training => "training",
    }
}

/// Errors of three methods on left-out networks as means over seeds. Returns the errors of the last method.
pub fn compare(
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
