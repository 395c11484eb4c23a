//! Errors on the final families, by fits to all others.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::evaluate::{Widths, estimated, with_widths};
use super::final_families::{is_final, rule};
use super::measured::{Measured, Measurement};
use super::tables::{by_device, by_family, by_part};
use crate::commit::commit;

/// Evaluates one maker's, as Markdown.
pub fn evaluate(all: &Measured, widths: &Widths) -> Result<String> {
    let is_of_final = |row: &Measurement| is_final(all.family(row));
    let left = estimated(all, |row| !is_of_final(row), is_of_final);
    let left = with_widths(left, widths);
    let asked = all.rows.iter().filter(|row| is_of_final(row)).count();
    Ok(format!(
        "`litecast-trainer fit-accelerators --final` on commit {}; {}. {:.1} % of {asked} rows are refused.\n\n{}\n{}\n{}",
        commit().context("expected a commit")?,
        rule(),
        100.0 - 100.0 * left.len() as f64 / asked as f64,
        by_part(&left),
        by_family(&left),
        by_device(all, &left),
    ))
}

/// Prints and writes them.
pub fn write(of_makers: &[String], path: &Path) -> Result<()> {
    let text = of_makers.join("\n");
    print!("{text}");
    fs::write(path, text).with_context(|| path.display().to_string())
}
