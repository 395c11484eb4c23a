//! How many families to leave out for the intervals: nested folds on the families that are not final.
//!
//! Families are divided into parts. Each part is estimated by a fit to the others, with intervals that these others give
//! by a rule: one family left out of them at a time, a third of them, or half of them. The rule whose intervals hold
//! nearest to nine in ten is used.

use std::collections::BTreeSet;

use anyhow::Result;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::fit::{CountedRow, Model};
use crate::markdown::{heads, table};
use crate::metrics::factor_of_groups;

/// Divisions of the families that are tried.
const N_DIVISIONS: u64 = 10;
/// Parts of a division: half or a quarter of the families are estimated by the others.
const N_PARTS: [usize; 2] = [2, 4];
/// Rules in words, and the number of parts that each leaves out in turn; `None` for each family by itself.
const RULES: [(&str, Option<usize>); 3] = [
    ("one family", None),
    ("a third of the families", Some(3)),
    ("half of the families", Some(2)),
];

type Families<'r> = BTreeSet<&'r str>;

/// A table with what the intervals of each rule hold.
pub fn compare(model: &Model, rows: &[&CountedRow]) -> Result<String> {
    let mut lines = Vec::new();
    for n_parts in N_PARTS {
        for (words, rule) in RULES {
            let (mut n_inside, mut n) = (0.0, 0.0);
            let mut factors = Vec::new();
            for seed in 0..N_DIVISIONS {
                for part in random_parts(rows, Some(n_parts), seed) {
                    let (inner, outer): (Vec<&CountedRow>, Vec<&CountedRow>) = rows
                        .iter()
                        .partition(|row| !part.contains(row.measured.family.as_str()));
                    let errors = left_out(model, &inner, &random_parts(&inner, rule, seed))?;
                    let factor = factor_of_groups(&errors);
                    let errors = log_errors(model, &inner, &outer)?;
                    n += errors.len() as f64;
                    n_inside += errors
                        .iter()
                        .filter(|(log, _)| log.abs() <= factor.ln())
                        .count() as f64;
                    factors.push(factor);
                }
            }
            factors.sort_by(f64::total_cmp);
            lines.push(vec![
                format!("1 in {n_parts}"),
                words.to_owned(),
                format!("{:.1} %", 100.0 * n_inside / n),
                format!("× {:.2}", factors[factors.len() / 2]),
            ]);
        }
    }
    let heads = heads(
        "families estimated | left out of the others in turn",
        "in 90 % interval | median interval",
    );
    Ok(table(&heads, lines))
}

/// The families of `rows` in parts at random, or each by itself.
fn random_parts<'r>(
    rows: &[&'r CountedRow],
    n_parts: Option<usize>,
    seed: u64,
) -> Vec<Families<'r>> {
    let families: Families = rows
        .iter()
        .map(|row| row.measured.family.as_str())
        .collect();
    let mut families: Vec<&str> = families.into_iter().collect();
    families.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    let n_parts = n_parts.unwrap_or(families.len());
    let part = |idx| {
        families
            .iter()
            .skip(idx)
            .step_by(n_parts)
            .copied()
            .collect()
    };
    (0..n_parts).map(part).collect()
}

/// Logarithmic errors of all rows, each by a fit without its part, with their families.
fn left_out<'r>(
    model: &Model,
    rows: &[&'r CountedRow],
    parts: &[Families],
) -> Result<Vec<(f64, &'r str)>> {
    let mut errors = Vec::new();
    for part in parts {
        let is_inside = |row: &&&CountedRow| part.contains(row.measured.family.as_str());
        let (inside, others): (Vec<&CountedRow>, Vec<&CountedRow>) =
            rows.iter().partition(is_inside);
        errors.extend(log_errors(model, &others, &inside)?);
    }
    Ok(errors)
}

/// Logarithmic errors of `asked` by a fit to `fitted`.
fn log_errors<'r>(
    model: &Model,
    fitted: &[&CountedRow],
    asked: &[&'r CountedRow],
) -> Result<Vec<(f64, &'r str)>> {
    let fit = model.fit(fitted)?;
    let error = |row: &&'r CountedRow| {
        let ratio = model.estimate_ms(&fit, row) / row.measured.latency_ms;
        (ratio.ln(), row.measured.family.as_str())
    };
    Ok(asked.iter().map(error).collect())
}
