//! Estimates of left-out networks → one table of errors with all methods on the same folds.

use std::collections::BTreeMap;

use anyhow::Result;
use litecast::targets::gpu::bundle::{Errors, position};
use litecast::targets::gpu::costs::{Amounts, N_COSTS};
use litecast_trainer::targets::gpu::evaluate::{
    MeasuredSample, NEVER_LEFT_OUT, Split, chosen_variances, left_out, summary,
};
use litecast_trainer::targets::gpu::roofline::{self, dot};

use super::methods::{METHODS, Method};
use super::problem::{Folds, OUTPUTS, Place, Problem, SPLITS};
use super::trained::Trained;
use crate::forest::{Columns, Forest, Growth};

/// Number of trees of the forest on the roofline's shares.
const N_TREES: usize = 100;
/// The network whose estimates are averaged with the shipped estimate.
const AVERAGED: &str = "per-operator";

/// Milliseconds by case, for one method, one split and one seed.
type Estimates = BTreeMap<usize, f64>;

/// Errors of a method as a mean over seeds, with its inputs in words.
struct MethodErrors {
    method: String,
    made_from: String,
    by_seed: Vec<Errors>,
}

pub fn print(
    problem: &Problem,
    trainings: &[(&'static Method, Split, u64, Trained)],
    n_seeds: u64,
    folds_of: impl Fn(Split, u64) -> Folds,
) -> Result<()> {
    println!("| RTX 3090 | split | method | made from | mean % | median % | 95th percentile % |");
    println!("|---|---|---|---|---:|---:|---:|");
    for (output, name) in OUTPUTS.iter().enumerate() {
        let (of_timm, _) = problem.used(output, &folds_of(Split::Models, 0));
        let variances = chosen_variances(&of_timm);
        for split in SPLITS {
            let mut rows: Vec<MethodErrors> = Vec::new();
            for seed in 0..n_seeds {
                let folds = folds_of(split, seed);
                let of_seed = seed_table(problem, trainings, output, &folds, variances)?;
                for (method, made_from, errors) in of_seed {
                    match rows.iter_mut().find(|row| row.method == method) {
                        Some(row) => row.by_seed.push(errors),
                        None => rows.push(MethodErrors {
                            method,
                            made_from,
                            by_seed: vec![errors],
                        }),
                    }
                }
            }
            for row in rows {
                row.print(name, split);
            }
        }
    }
    Ok(())
}

impl MethodErrors {
    fn print(&self, output: &str, split: Split) {
        let mean = |statistic: fn(&Errors) -> f64| {
            self.by_seed.iter().map(statistic).sum::<f64>() / self.by_seed.len() as f64
        };
        println!(
            "| {output} | {} | {} | {} | {:.2} | {:.2} | {:.1} |",
            split.words(),
            self.method,
            self.made_from,
            mean(|errors| errors.mean_percent),
            mean(|errors| errors.median_percent),
            mean(|errors| errors.p95_percent),
        );
    }
}

/// Method, its inputs in words, and its errors.
type MethodRow = (String, String, Errors);

/// Errors on the cases that are left out.
struct LeftOutRows {
    samples: Vec<MeasuredSample>,
    split: Split,
    rows: Vec<MethodRow>,
}

impl LeftOutRows {
    fn add(&mut self, method: &str, made_from: String, times_ms: &[f64]) {
        // Another laboratory's conditions are unknown: one factor stands for them.
        let factor = match self.split {
            Split::Laboratory => median_ratio(&self.samples, times_ms),
            Split::Models | Split::Families => 1.0,
        };
        let errors = summary(&self.samples, times_ms.iter().map(|ms| factor * ms));
        self.rows.push((method.to_owned(), made_from, errors));
    }
}

/// The rows of one seed; nothing if no case is left out.
fn seed_table(
    problem: &Problem,
    trainings: &[(&'static Method, Split, u64, Trained)],
    output: usize,
    folds: &Folds,
    variances: [f64; 2],
) -> Result<Vec<MethodRow>> {
    let (samples, fold_of_sample) = problem.used(output, folds);
    let samples = samples.as_slice();
    let left_out_idxs: Vec<usize> = (0..samples.len())
        .filter(|&idx| fold_of_sample[idx] != NEVER_LEFT_OUT)
        .collect();
    if left_out_idxs.is_empty() {
        return Ok(Vec::new());
    }
    let mut table = LeftOutRows {
        samples: left_out_idxs
            .iter()
            .map(|&idx| samples[idx].clone())
            .collect(),
        split: folds.split,
        rows: Vec::new(),
    };
    let of_left_out =
        |times: Vec<f64>| -> Vec<f64> { left_out_idxs.iter().map(|&idx| times[idx]).collect() };
    let ours = left_out(samples, fold_of_sample.clone(), variances);
    let n_graphs = n_trained(folds, samples.len(), left_out_idxs.len());
    table.add(
        "log-linear regression",
        format!("{n_graphs} graphs, 3 sums"),
        &of_left_out(ours.regression_ms.clone()),
    );
    let times =
        |time_of: fn(&litecast_trainer::targets::gpu::evaluate::Estimate) -> f64| -> Vec<f64> {
            of_left_out(ours.estimates.iter().map(time_of).collect())
        };
    let made_from = format!("{n_graphs} graphs, {N_COSTS} sums");
    let roofline = times(|one| one.roofline_ms);
    table.add("roofline", made_from.clone(), &roofline);
    let forest = of_left_out(forest(samples, &fold_of_sample, folds.n)?);
    table.add("roofline and random forest", made_from.clone(), &forest);
    let shipped = times(|one| one.time_ms);
    table.add("roofline and kriging (ships)", made_from, &shipped);
    let cases = left_out_cases(problem, output, folds);
    for method in &METHODS {
        let (trained, times) = trained_times(trainings, method, folds, output, &cases);
        let Some(times) = times else {
            eprintln!("{}: not all folds are trained", method.id);
            continue;
        };
        table.add(method.words, made_from_words(&trained), &times);
        if method.id == AVERAGED {
            let mean = geometric_means(&times, &shipped);
            let words = "geometric mean of what ships and the network before";
            table.add(words, "both".to_owned(), &mean);
        }
    }
    Ok(table.rows)
}

fn left_out_cases(problem: &Problem, output: usize, folds: &Folds) -> Vec<usize> {
    let idxs = problem.samples[output].iter().map(|(idx, _)| *idx);
    idxs.filter(|&idx| matches!(folds.of_case[idx], Place::Fold(_)))
        .collect()
}

fn geometric_means(left: &[f64], right: &[f64]) -> Vec<f64> {
    let pairs = left.iter().zip(right);
    pairs.map(|(a, b)| (a * b).sqrt()).collect()
}

/// What was trained by a method on these folds, and its milliseconds by case, if all folds are trained.
fn trained_times<'t>(
    trainings: &'t [(&'static Method, Split, u64, Trained)],
    method: &Method,
    folds: &Folds,
    output: usize,
    cases: &[usize],
) -> (Vec<&'t Trained>, Option<Vec<f64>>) {
    let of_method = trainings.iter().filter(|(other_method, split, seed, _)| {
        other_method.id == method.id && *split == folds.split && *seed == folds.seed
    });
    let with_output = of_method.filter(|(.., trained)| {
        let mut outputs = trained.estimates.iter().map(|(_, output, _)| output);
        outputs.next().is_some()
            && trained
                .estimates
                .iter()
                .any(|(_, other_output, _)| *other_output == output)
    });
    let trained: Vec<&Trained> = with_output.map(|(.., trained)| trained).collect();
    let estimates: Estimates = trained
        .iter()
        .flat_map(|trained| &trained.estimates)
        .filter(|(_, other_output, _)| *other_output == output)
        .map(|(case, _, ms)| (*case, *ms))
        .collect();
    let times: Option<Vec<f64>> = cases
        .iter()
        .map(|case| estimates.get(case).copied())
        .collect();
    (trained, times)
}

/// Graphs that a method is trained on while one fold is left out.
fn n_trained(folds: &Folds, n_samples: usize, n_measured: usize) -> usize {
    match folds.split {
        Split::Laboratory => n_samples - n_measured,
        Split::Models | Split::Families => n_samples - n_samples / folds.n,
    }
}

/// Median of measured over estimated time.
fn median_ratio(samples: &[MeasuredSample], times: &[f64]) -> f64 {
    let mut ratios: Vec<f64> = (samples.iter().zip(times))
        .map(|(sample, ms)| sample.time_ms / ms)
        .collect();
    ratios.sort_by(f64::total_cmp);
    ratios[ratios.len() / 2]
}

fn made_from_words(trained: &[&Trained]) -> String {
    let mean = |statistic: &dyn Fn(&Trained) -> f64| {
        trained.iter().map(|one| statistic(one)).sum::<f64>() / trained.len().max(1) as f64
    };
    format!(
        "{:.0} graphs, {} columns a kernel, {:.0}k weights, best after {:.0} epochs",
        mean(&|one| one.n_graphs as f64),
        trained.first().map_or(0, |one| one.n_columns),
        mean(&|one| one.n_weights as f64) / 1e3,
        mean(&|one| one.best_epoch as f64),
    )
}

/// Estimates of a forest that corrects the roofline from the shares of its costs in the time.
fn forest(samples: &[MeasuredSample], folds: &[usize], n_folds: usize) -> Result<Vec<f64>> {
    let growth = Growth {
        columns: Columns::All,
        n_trees: N_TREES,
        seed: 0,
    };
    let mut times = vec![0.0; samples.len()];
    for fold in 0..n_folds {
        let on_side = |is_left_out: bool| {
            (0..samples.len()).filter(move |&idx| (folds[idx] == fold) == is_left_out)
        };
        let others: Vec<&MeasuredSample> = on_side(false).map(|idx| &samples[idx]).collect();
        let amounts: Vec<&Amounts> = others.iter().map(|sample| &sample.amounts).collect();
        let times_ms: Vec<f64> = others.iter().map(|sample| sample.time_ms).collect();
        let costs = roofline::fit(&amounts, &times_ms);
        let row = |amounts: &Amounts| position(amounts, &costs).map(f64::from).to_vec();
        let residuals = others
            .iter()
            .map(|sample| (sample.time_ms / dot(&sample.amounts, &costs)).ln());
        let rows: Vec<Vec<f64>> = amounts.iter().map(|amounts| row(amounts)).collect();
        let forest = Forest::fit(&rows, residuals.collect(), growth)?;
        let left: Vec<usize> = on_side(true).collect();
        let rows = left.iter().map(|&idx| row(&samples[idx].amounts)).collect();
        for (&idx, residual) in left.iter().zip(forest.predict(rows)?) {
            times[idx] = dot(&samples[idx].amounts, &costs) * residual.exp();
        }
    }
    Ok(times)
}
