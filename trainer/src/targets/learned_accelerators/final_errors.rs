//! Errors on the final families, by fits to all others → `trainer/results/final/accelerators.json`, which stated errors are
//! made of, and `accelerators.md`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use litecast::target::fitted::Errors;
use litecast::targets::learned_accelerators::devices::NumberFormat;
use serde::{Deserialize, Serialize};

use super::evaluate::{LeftOut, Widths, errors, estimated, with_widths};
use super::final_families::{is_final, rule};
use super::measured::{Measured, Measurement};
use super::source::Source;
use super::tables::{by_device, by_family, by_part};
use crate::commit::commit;

/// Fewer rows do not tell what is to be expected of others.
const MIN_ROWS: usize = 30;

/// The results of one evaluation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FinalErrors {
    /// Of the code that made them.
    pub commit: String,
    /// Which families are final.
    pub rule: String,
    pub parts: Vec<FinalPart>,
}

/// Errors of one number format on all devices of one source, where there are rows enough.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FinalPart {
    pub source: Source,
    /// Id of the number format.
    pub numbers: String,
    pub n_rows: usize,
    pub errors: Errors,
    pub errors_of_regression: Errors,
}

impl FinalErrors {
    pub fn new() -> Result<Self> {
        Ok(Self {
            commit: commit().context("expected a commit")?,
            rule: rule(),
            parts: Vec::new(),
        })
    }

    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read(path).with_context(|| {
            format!(
                "no {}: `litecast-trainer fit-accelerators --final` writes it",
                path.display()
            )
        })?;
        serde_json::from_slice(&text).with_context(|| path.display().to_string())
    }

    pub fn write(&self, path: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        fs::write(path, text).with_context(|| path.display().to_string())
    }

    /// Adds the errors of one source, and returns them as Markdown.
    pub fn evaluate(&mut self, source: Source, all: &Measured, widths: &Widths) -> String {
        let is_of_final = |row: &Measurement| is_final(all.family(row));
        let left = estimated(all, |row| !is_of_final(row), is_of_final);
        let left = with_widths(left, widths);
        for (idx, numbers) in NumberFormat::ALL.iter().enumerate() {
            let of_numbers: Vec<&LeftOut> =
                left.iter().filter(|one| one.row.numbers == idx).collect();
            if of_numbers.len() >= MIN_ROWS {
                let [ours, regression] = errors(&of_numbers);
                self.parts.push(FinalPart {
                    source,
                    numbers: numbers.id().to_owned(),
                    n_rows: of_numbers.len(),
                    errors: ours,
                    errors_of_regression: regression,
                });
            }
        }
        let asked = all.rows.iter().filter(|row| is_of_final(row)).count();
        format!(
            "`litecast-trainer fit-accelerators --final` on commit {}; {}. {:.1} % of {asked} rows are refused.\n\n{}\n{}\n{}",
            self.commit,
            self.rule,
            100.0 - 100.0 * left.len() as f64 / asked as f64,
            by_part(&left),
            by_family(&left),
            by_device(all, &left),
        )
    }

    /// What a report states of a run, and of the regression beside it: its errors with each family left out in turn, or those
    /// on the final families, whichever are larger in the mean.
    pub fn stated(&self, source: Source, numbers: NumberFormat, left: [Errors; 2]) -> [Errors; 2] {
        let mut parts = self.parts.iter();
        parts
            .find(|part| part.source == source && part.numbers == numbers.id())
            .filter(|part| part.errors.mean_percent > left[0].mean_percent)
            .map_or(left, |part| [part.errors, part.errors_of_regression])
    }
}
