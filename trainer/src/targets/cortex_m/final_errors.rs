//! Errors on families that no one evaluates while costs, columns, priors and factors are chosen →
//! `trainer/results/final/mcu.json` and `mcu.md`, from which the stated errors of targets are made.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use litecast::targets::cortex_m::Errors;
use serde::{Deserialize, Serialize};

use super::columns::THREE_SUMS;
use super::evaluate::{Evaluation, LeftOut, errors, family_mean_percent, with_product_columns};
use super::fit::{CountedRow, Factors, Model};
use super::nested;
use crate::commit::commit;
use crate::json;
use crate::markdown::{heads, table};
use crate::metrics::five_digits;
use crate::targets::gpu::final_families::{is_drawn, rule_of};

/// Decides which families are final. Families that a seed drew become ordinary ones once rules are chosen with their errors
/// in view; then the next number is taken.
const SEED: &str = "litecast final microcontrollers 2";
/// Errors of fewer families say less about a target than those of each family left out.
const MIN_FAMILIES: usize = 3;
/// Latencies of final families from which they decide whether a runtime is offered.
const MIN_LATENCIES: usize = 30;

fn is_final(row: &CountedRow) -> bool {
    is_drawn(SEED, &row.measured.family)
}

/// The results of one evaluation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FinalErrors {
    /// Of the code that made them.
    pub commit: String,
    /// Which families are final.
    pub rule: String,
    pub runtimes: Vec<FinalRuntime>,
}

/// Errors of one runtime on its final families.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FinalRuntime {
    pub runtime: String,
    pub families: BTreeSet<String>,
    pub errors: Errors,
    /// Mean over families of each family's mean error.
    pub family_mean_percent: f64,
    pub coverage_percent: f64,
    pub interval_factor: f64,
    pub errors_of_regression: Errors,
    pub family_mean_of_regression_percent: f64,
}

impl FinalErrors {
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).with_context(|| {
            format!(
                "no {}: `litecast-trainer fit-mcu --final` writes it",
                path.display()
            )
        })?;
        serde_json::from_slice(&text).with_context(|| path.display().to_string())
    }

    /// Mean errors on the final families of a runtime, and those of the regression; `None` if there are too few.
    pub fn beside_regression(&self, runtime: &str) -> Option<[f64; 2]> {
        let mut runtimes = self.runtimes.iter();
        let runtime = runtimes.find(|errors| errors.runtime == runtime)?;
        (runtime.errors.n >= MIN_LATENCIES).then_some([
            runtime.errors.mean_percent,
            runtime.errors_of_regression.mean_percent,
        ])
    }

    /// Mean error over the final families of a runtime; `None` if there are too few.
    pub fn mean_percent(&self, runtime: &str) -> Option<f64> {
        let mut runtimes = self.runtimes.iter();
        let errors = runtimes.find(|errors| errors.runtime == runtime)?;
        (errors.families.len() >= MIN_FAMILIES).then_some(errors.family_mean_percent)
    }
}

/// Evaluates the final families with fits to all others, and writes the results.
pub fn evaluate(models: &[&Model], rows: &[CountedRow], path: &Path) -> Result<()> {
    let mut runtimes = Vec::new();
    let mut choices = String::new();
    for model in models {
        let of_model = rows
            .iter()
            .filter(|row| row.measured.runtime == model.runtime);
        let (last, open): (Vec<&CountedRow>, Vec<&CountedRow>) =
            of_model.partition(|row| is_final(row));
        if model.factors == Factors::CoreAndRelease {
            choices += &nested::compare(model, &open)?;
        }
        if last.iter().any(|row| row.measured.operator.is_none()) {
            runtimes.push(final_errors_of_runtime(model, &last, open)?);
        }
    }
    let results = FinalErrors {
        commit: commit().context("expected a commit")?,
        rule: rule_of(SEED),
        runtimes,
    };
    let text = results.markdown(&choices);
    print!("{text}");
    fs::write(path, json::lines(&results, 2)?).with_context(|| path.display().to_string())?;
    fs::write(path.with_extension("md"), text).with_context(|| path.display().to_string())
}

fn final_errors_of_runtime(
    model: &Model,
    last: &[&CountedRow],
    open: Vec<&CountedRow>,
) -> Result<FinalRuntime> {
    let three_sums = Model {
        columns: THREE_SUMS,
        known: &[],
        priors: &[],
        ..*model
    };
    let simple = with_product_columns(model);
    let [all_counts, regression, products] =
        [model, &three_sums, &simple].map(|model| model.fit(&open).map(|fit| (model, fit)));
    let (all_counts, regression, products) = (all_counts?, regression?, products?);
    let evaluation = Evaluation::new(model, open)?;
    let left_out = last.iter().filter(|row| row.measured.operator.is_none());
    let left_out = left_out.map(|row| {
        let is_simple = evaluation.simple_cores.contains(row.measured.core);
        let (chosen, fit) = if is_simple { &products } else { &all_counts };
        let ms = chosen.estimate_ms(fit, row);
        let three_sums_ms = regression.0.estimate_ms(&regression.1, row);
        LeftOut {
            row,
            network_ms: ms,
            family_ms: ms,
            board_ms: None,
            three_sums_ms,
            macs_alone_ms: three_sums_ms,
            all_counts_ms: ms,
        }
    });
    let left_out: Vec<LeftOut> = left_out.collect();
    let left_out: Vec<&LeftOut> = left_out.iter().collect();
    let factor = |left: &LeftOut| evaluation.interval(left.row.measured.core).factor;
    let held = left_out
        .iter()
        .filter(|left| left.factor(left.family_ms) <= factor(left));
    let mean =
        |estimate_ms: fn(&LeftOut) -> f64| five_digits(family_mean_percent(&left_out, estimate_ms));
    Ok(FinalRuntime {
        runtime: model.runtime.to_owned(),
        families: left_out
            .iter()
            .map(|left| left.row.measured.family.clone())
            .collect(),
        errors: errors(&left_out, |left| Some(left.family_ms)),
        family_mean_percent: mean(|left| left.family_ms),
        coverage_percent: five_digits(100.0 * held.count() as f64 / left_out.len() as f64),
        interval_factor: left_out
            .first()
            .map_or(1.0, |left| five_digits(factor(left))),
        errors_of_regression: errors(&left_out, |left| Some(left.three_sums_ms)),
        family_mean_of_regression_percent: mean(|left| left.three_sums_ms),
    })
}

impl FinalErrors {
    fn markdown(&self, choices: &str) -> String {
        let heads = [
            heads("runtime", "latencies"),
            heads(
                "final families",
                "mean over latencies % | mean over families % | median % | \
                 95th percentile % | in 90 % interval | interval | \
                 regression: mean, over families, median %",
            ),
        ]
        .concat();
        let line = |runtime: &FinalRuntime| {
            let (ours, regression) = (&runtime.errors, &runtime.errors_of_regression);
            let families: Vec<&str> = runtime.families.iter().map(String::as_str).collect();
            vec![
                runtime.runtime.clone(),
                ours.n.to_string(),
                families.join(", "),
                format!("{:.1}", ours.mean_percent),
                format!("{:.1}", runtime.family_mean_percent),
                format!("{:.1}", ours.median_percent),
                format!("{:.1}", ours.p95_percent),
                format!("{:.0} %", runtime.coverage_percent),
                format!("× {:.2}", runtime.interval_factor),
                format!(
                    "{:.1}, {:.1}, {:.1}",
                    regression.mean_percent,
                    runtime.family_mean_of_regression_percent,
                    regression.median_percent
                ),
            ]
        };
        format!(
            "`litecast-trainer fit-mcu --final` on commit {}; {}.\n\nWhat was in view: earlier versions were fitted and \
             refined with the errors of all families in view, and with a summary of errors on networks that this project \
             does not have (Cortex-M7: 14.1 % in the mean, 55 % within the interval), which is why costs now have priors. \
             Seed 1 drew families whose errors were then seen. The rule that compares a runtime with the regression was \
             chosen after its result had been seen. The families of seed 2 were evaluated once before, by costs \
             without a term of external flash. The centres of the priors of the first terms are near to the costs that a fit \
             to all families gave. What was chosen for this evaluation (columns, spreads of priors, the families left out \
             for intervals) was chosen on families that are not final.\n\n{}\n\"Regression\" is one on \
             multiply-accumulates, bytes of activations and bytes of weights, fitted to the same rows. Runtimes without a \
             row have no final family. Targets of ST Edge AI state the mean over these families, or that with each family \
             left out in turn, whichever is larger; the other runtimes, with fewer than {MIN_FAMILIES} final families, state \
             the latter.\n\nWhich families to leave out for intervals, by nested folds on the families of ST Edge AI that \
             are not final; the rule that holds nearest to 90 % is used:\n\n{choices}",
            self.commit,
            self.rule,
            table(&heads, self.runtimes.iter().map(line)),
        )
    }
}
