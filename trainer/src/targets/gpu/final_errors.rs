//! Errors on the final families → `trainer/results/final/gpu.json` and `gpu.md`, from which documents and the stated errors
//! of targets are made.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use litecast::targets::gpu::bundle::{Errors, Mode};
use serde::{Deserialize, Serialize};

use super::experiment::{Experiment, left_out, n_families, words};
use super::final_families::{is_final, rule};
use super::interval_widths::{HalfWidth, LeftOut, errors, errors_of_regression};
use crate::commit::commit;
use crate::markdown::{heads, table};

/// The results of one evaluation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FinalErrors {
    /// Of the code that made them.
    pub commit: String,
    /// Which families are final.
    pub rule: String,
    pub runs: Vec<FinalRun>,
}

/// Errors of one run on the final families.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FinalRun {
    pub target: String,
    pub mode: Mode,
    pub n_networks: usize,
    pub n_families: usize,
    pub errors: Errors,
    pub errors_of_regression: Errors,
    /// Median factor by which an interval is wider than the value at each side.
    pub interval_factor: f64,
}

/// A run is offered if its mean error is at most this share of that of the regression on three sums.
const MAX_SHARE_OF_REGRESSION: f64 = 0.9;

impl FinalErrors {
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).with_context(|| {
            format!(
                "no {}: `litecast-trainer fit-gpu --final` writes it",
                path.display()
            )
        })?;
        serde_json::from_slice(&text).with_context(|| path.display().to_string())
    }

    /// The errors of a run. The run has to be worth offering: a regression on three sums must be clearly worse.
    pub fn errors(&self, target: &str, mode: Mode) -> Result<Errors> {
        let mut runs = self.runs.iter();
        let run = runs.find(|run| run.target == target && run.mode == mode);
        let run = run.with_context(|| format!("{target}: expected errors on final families"))?;
        let [ours, regression] =
            [run.errors, run.errors_of_regression].map(|errors| errors.mean_percent);
        ensure!(
            ours <= MAX_SHARE_OF_REGRESSION * regression,
            "{target} {}: off by {ours:.1} %, and a regression on three sums by {regression:.1} %: do not offer it",
            words(mode)
        );
        Ok(run.errors)
    }
}

/// Evaluates the final families with fits to all others, and writes the results.
pub fn evaluate(
    experiments: &[Experiment],
    widths: &[HalfWidth],
    of_a100: FinalRun,
    path: &Path,
) -> Result<()> {
    let left = left_out(experiments, 1, &|sample| {
        is_final(&sample.family).then_some(0)
    });
    let runs = experiments.iter().zip(&left).zip(widths);
    let runs = runs.map(|((experiment, left), width)| final_run(experiment, left, width));
    let results = FinalErrors {
        commit: commit().context("expected a commit")?,
        rule: rule(),
        runs: runs.chain([of_a100]).collect(),
    };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let text = serde_json::to_string_pretty(&results)? + "\n";
    fs::write(path, text).with_context(|| path.display().to_string())?;
    let text = results.markdown();
    print!("{text}");
    fs::write(path.with_extension("md"), text).with_context(|| path.display().to_string())
}

fn final_run(experiment: &Experiment, left: &[LeftOut], width: &HalfWidth) -> FinalRun {
    FinalRun {
        mode: experiment.mode,
        ..of_transfer(experiment.target, left, width)
    }
}

/// The errors of a target that other GPUs' networks stand for.
pub fn of_transfer(target: &str, left: &[LeftOut], width: &HalfWidth) -> FinalRun {
    let mut factors: Vec<f64> = left
        .iter()
        .map(|one| width.at(one.estimate.distance).exp())
        .collect();
    factors.sort_by(f64::total_cmp);
    FinalRun {
        target: target.to_owned(),
        mode: Mode::Inference,
        n_networks: left.len(),
        n_families: n_families(left.iter().map(|one| one.sample)),
        errors: errors(left, |_| *width),
        errors_of_regression: errors_of_regression(left),
        interval_factor: factors.get(factors.len() / 2).copied().unwrap_or(1.0),
    }
}

impl FinalErrors {
    fn markdown(&self) -> String {
        let heads = heads(
            "run",
            "networks (families) | mean over networks % | mean over families % | median % | \
             95th percentile % | in 90 % interval | median interval | \
             regression: mean, over families, median %",
        );
        let row = |run: &FinalRun| {
            let [ours, regression] = [&run.errors, &run.errors_of_regression];
            vec![
                format!("{} {}", run.target, words(run.mode)),
                format!("{} ({})", run.n_networks, run.n_families),
                format!("{:.1}", ours.mean_percent),
                format!("{:.1}", ours.family_mean_percent),
                format!("{:.1}", ours.median_percent),
                format!("{:.1}", ours.p95_percent),
                format!("{:.1} %", ours.coverage_percent),
                format!("× {:.2}", run.interval_factor),
                format!(
                    "{:.1}, {:.1}, {:.1}",
                    regression.mean_percent,
                    regression.family_mean_percent,
                    regression.median_percent
                ),
            ]
        };
        format!(
            "`litecast-trainer fit-gpu --final` on commit {}; {}.\n\n{}",
            self.commit,
            self.rule,
            table(&heads, self.runs.iter().map(row))
        )
    }
}
