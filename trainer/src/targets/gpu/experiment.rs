//! Measured runs → fits, and estimates of networks by fits that have never seen their families.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use litecast::targets::MeasuredRange;
use litecast::targets::gpu::bundle::{Errors, Mode, Run};
use rayon::prelude::*;

use super::evaluate::{Fit, MeasuredSample, folds_of, regression, regression_ms, spread};
use super::final_families::is_final;
use super::interval_widths::{HalfWidth, LeftOut, errors, errors_of_regression, summary};
use super::kriging::VARIANCES;
use super::measured::Measured;
use super::setting::Setting;
use super::shared_fit::{self, Observed, SPREADS};

/// What was measured on one GPU in one mode, as far as the networks have graphs.
#[derive(Clone)]
pub struct Experiment {
    pub target: &'static str,
    pub mode: Mode,
    pub framework: &'static str,
    pub laboratory: &'static str,
    pub setting: Setting,
    /// Smallest and median batch.
    pub batches: [f64; 2],
    pub measured_range: MeasuredRange,
    pub samples: Vec<MeasuredSample>,
}

impl Experiment {
    pub fn name(&self) -> String {
        format!("{} {}", self.target, words(self.mode))
    }

    /// The samples that `is_used` names, as a shared fit takes them.
    pub fn observed(&self, is_used: &dyn Fn(&MeasuredSample) -> bool) -> Observed<'_> {
        Observed {
            setting: self.setting,
            samples: self
                .samples
                .iter()
                .filter(|sample| is_used(sample))
                .collect(),
        }
    }

    /// Without the families that only the final evaluation looks at.
    pub fn without_final(&self) -> Self {
        let mut open = self.clone();
        open.samples.retain(|sample| !is_final(&sample.family));
        open
    }

    /// The run of the bundle.
    pub fn run(&self, fit: Fit, errors: Errors) -> Run {
        Run {
            target: self.target.to_owned(),
            mode: self.mode,
            framework: self.framework.to_owned(),
            laboratory: self.laboratory.to_owned(),
            scaled_by: None,
            n_networks: self.samples.len(),
            n_families: n_families(self.samples.iter()),
            measured_range: self.measured_range,
            batches: self.batches,
            costs_ms: fit.costs.to_vec(),
            correction: fit.correction,
            errors,
            are_errors_of_others: false,
            regression_percent: None,
            refused_percent: None,
            max_shares: Vec::new(),
            elsewhere: Vec::new(),
        }
    }
}

pub fn n_families<'s>(samples: impl Iterator<Item = &'s MeasuredSample>) -> usize {
    let families: BTreeSet<&str> = samples.map(|sample| sample.family.as_str()).collect();
    families.len()
}

/// Smallest and median batch of rows, and the range of their times.
pub fn ranges(rows: &[Measured]) -> Result<([f64; 2], MeasuredRange)> {
    let mut batches: Vec<f64> = rows.iter().map(|row| row.batch).collect();
    batches.sort_by(f64::total_cmp);
    let range = MeasuredRange::from_latencies(rows.iter().map(|row| row.ms_per_input));
    let range = range.context("expected latencies")?;
    Ok(([batches[0], batches[batches.len() / 2]], range))
}

/// In the words of the tables.
pub fn words(mode: Mode) -> &'static str {
    match mode {
        Mode::Inference => "inference",
        Mode::Training => "training",
    }
}

/// The fit of every run to the samples that `is_used` names.
pub fn fits(experiments: &[Experiment], is_used: &dyn Fn(&MeasuredSample) -> bool) -> Vec<Fit> {
    let used = experiments
        .iter()
        .map(|experiment| experiment.observed(is_used));
    let observed: Vec<Observed> = used.collect();
    let costs = shared_fit::fit(&observed, &SPREADS);
    let runs = costs.into_par_iter().zip(&observed);
    runs.map(|(costs, run)| Fit::with_costs(costs, &spread(&run.samples), VARIANCES))
        .collect()
}

/// By experiment, its networks with estimates of fits to the other folds. A fold leaves a family out of every run.
/// `fold_of` gives `None` for networks that are not estimated.
pub fn left_out<'e>(
    experiments: &'e [Experiment],
    n_folds: usize,
    fold_of: &dyn Fn(&MeasuredSample) -> Option<usize>,
) -> Vec<Vec<LeftOut<'e>>> {
    let mut by_experiment: Vec<Vec<LeftOut>> = experiments.iter().map(|_| Vec::new()).collect();
    for fold in 0..n_folds {
        let is_inside = |sample: &MeasuredSample| fold_of(sample) == Some(fold);
        let fits = fits(experiments, &|sample| !is_inside(sample));
        for ((experiment, fit), left) in experiments.iter().zip(fits).zip(&mut by_experiment) {
            let (inside, others): (Vec<&MeasuredSample>, Vec<&MeasuredSample>) = experiment
                .samples
                .iter()
                .partition(|sample| is_inside(sample));
            let regression = regression(&others);
            left.extend(inside.into_iter().map(|sample| LeftOut {
                sample,
                estimate: fit.estimate(&sample.amounts),
                regression_ms: regression_ms(sample, &regression),
                fold,
            }));
        }
    }
    by_experiment
}

/// The fold of each family, the same in every run.
pub fn folds(experiments: &[Experiment]) -> impl Fn(&MeasuredSample) -> Option<usize> + use<> {
    let samples = experiments
        .iter()
        .flat_map(|experiment| &experiment.samples);
    folds_of_families(samples.map(|sample| sample.family.clone()).collect())
}

/// The fold of each of these families.
pub fn folds_of_families(
    families: BTreeSet<String>,
) -> impl Fn(&MeasuredSample) -> Option<usize> + use<> {
    let families: Vec<String> = families.into_iter().collect();
    let names: Vec<&str> = families.iter().map(String::as_str).collect();
    let folds = folds_of(&names, N_FOLDS, FOLD_SEED);
    move |sample| {
        let idx = families.binary_search(&sample.family).ok()?;
        Some(folds[idx])
    }
}

pub const N_FOLDS: usize = 5;
const FOLD_SEED: u64 = 0;

/// Prints the errors of three methods on left-out families as rows of Markdown, and returns the widths of the intervals
/// that these errors ask for.
pub fn compare(experiments: &[Experiment]) -> Vec<HalfWidth> {
    println!(
        "| run | networks (families) | method | mean % | mean over families % | median % | 95th percentile % | in 90 % \
         interval |"
    );
    println!("|---|---|---|---:|---:|---:|---:|---:|");
    let left = left_out(experiments, N_FOLDS, &folds(experiments));
    for (experiment, left) in experiments.iter().zip(&left) {
        print(experiment, left);
    }
    left.iter().map(|left| HalfWidth::new(left)).collect()
}

fn print(experiment: &Experiment, left: &[LeftOut]) {
    let of_others: Vec<HalfWidth> = (0..N_FOLDS)
        .map(|fold| {
            let others = left.iter().filter(|one| one.fold != fold);
            HalfWidth::new(&others.copied().collect::<Vec<_>>())
        })
        .collect();
    let methods = [
        ("log-linear regression", errors_of_regression(left)),
        ("roofline", summary(left, |one| one.estimate.roofline_ms)),
        ("roofline and kriging", errors(left, |fold| of_others[fold])),
    ];
    for (method, errors) in methods {
        let coverage = match errors.coverage_percent {
            0.0 => "–".to_owned(),
            percent => format!("{percent:.1} %"),
        };
        println!(
            "| {} | {} ({}) | {method} | {:.2} | {:.2} | {:.2} | {:.1} | {coverage} |",
            experiment.name(),
            left.len(),
            n_families(left.iter().map(|one| one.sample)),
            errors.mean_percent,
            errors.family_mean_percent,
            errors.median_percent,
            errors.p95_percent,
        );
    }
}
