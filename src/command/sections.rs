//! Parts of a report as text that more than one verb prints.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::document::{Document, Estimate};
use super::table::Table;
use super::terminal::{dim, plain, wrapped};
use super::{quantity, terminal, words};

/// The name of the file, and its facts in one sentence.
pub fn heading(document: &Document, width: usize) -> String {
    let model = &document.model;
    let others: BTreeSet<&str> = (document.results.iter())
        .filter_map(|result| result.estimated_as.as_deref())
        .collect();
    let others = others
        .iter()
        .map(|other| format!(" (as {other} where the table says so)"));
    let mut parts = vec![
        model.precision.clone() + &others.collect::<String>(),
        words::plural(
            usize::try_from(model.n_operators).unwrap_or(usize::MAX),
            "operator",
        ),
        format!("{} MACs", quantity::count(model.macs)),
        format!("{} parameters", quantity::count(model.parameters)),
        format!("{} file", quantity::bytes(model.file_bytes as f64)),
    ];
    if document.batch > 1 {
        parts.push(format!("{} inputs at a time", document.batch));
    }
    let facts = wrapped(&plain(&parts.join(", ")), width, "  ");
    format!("{}\n{facts}\n", terminal::heading(&document.file, width))
}

/// The interval of an estimate, where it has one.
pub fn interval(estimate: &Estimate) -> Option<String> {
    let (lo, hi) = estimate.lo.zip(estimate.hi)?;
    Some(quantity::interval(lo, hi, &estimate.unit, estimate.value))
}

/// Operators in the order in which they run, with the latencies for which there is room.
pub fn operators(document: &Document, width: usize) -> String {
    let latencies: Vec<(&str, &[f64], &Estimate)> = document.by_operator().collect();
    let mut table = Table::default()
        .number("#")
        .text("operator")
        .text("output")
        .number("MACs")
        .number("weights")
        .number("alive");
    for (target, ..) in &latencies {
        table = table.optional_number(target);
    }
    for operator in &document.operators {
        let alive = operator
            .live_bytes
            .map(|bytes| quantity::bytes(bytes as f64).to_string());
        let mut row = vec![
            operator.index.to_string(),
            operator.name.clone(),
            document.output_shape(operator),
            quantity::count(operator.macs).to_string(),
            quantity::bytes(operator.weight_bytes as f64).to_string(),
            alive.unwrap_or_else(|| "?".into()),
        ];
        row.extend(latencies.iter().map(|(_, parts, whole)| {
            let part = parts.get(operator.index);
            part.map_or(String::new(), |&part| {
                quantity::measure(part, &whole.unit).to_string()
            })
        }));
        table.row(row);
    }
    let (mut text, left_out) = table.render(width);
    if !left_out.is_empty() {
        let n = words::plural(left_out.len(), "target");
        let line = format!("no room for the latencies of {n}; --target chooses one");
        let _ = writeln!(text, "{}", dim(wrapped(&line, width, "")));
    }
    text
}
