//! Parts of a report as text that more than one verb prints.

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write;

use super::document::{Diagnostic, Document, Estimate, TargetResult};
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
        words::precision(&model.precision).to_owned() + &others.collect::<String>(),
        words::plural(
            usize::try_from(model.n_operators).unwrap_or(usize::MAX),
            "operator",
        ),
        format!("{} MACs", quantity::count(model.macs)),
        match model.parameters {
            1 => "1 parameter".to_owned(),
            n => format!("{} parameters", quantity::count(n)),
        },
        format!(
            "{} file{}",
            quantity::bytes(model.file_bytes as f64),
            before_quantisation(document)
        ),
    ];
    if document.batch > 1 {
        parts.push(format!("{} inputs at a time", document.batch));
    }
    let facts = wrapped(&plain(&parts.join(", ")), width, "  ");
    format!("{}\n{facts}\n", terminal::heading(&document.file, width))
}

/// What the size of the file does not include where all other numbers are those of a network quantised by `--int8`.
pub fn before_quantisation(document: &Document) -> &'static str {
    let mut diagnostics = document.diagnostics.iter();
    if diagnostics.any(|diagnostic| diagnostic.code == "quantised") {
        " before it is quantised"
    } else {
        ""
    }
}

/// The interval of an estimate, where it has one.
pub fn interval(estimate: &Estimate) -> Option<String> {
    let (lo, hi) = estimate.lo.zip(estimate.hi)?;
    Some(quantity::interval(lo, hi, &estimate.unit, estimate.value))
}

/// Operators or other places that a line names at most.
const MAX_NAMED_PLACES: usize = 8;

/// Targets that a doubt names at most.
const MAX_NAMED_TARGETS: usize = 4;

/// Doubts and notes in words, those that differ in their place alone as one, with the targets that they concern where
/// these are not all.
pub fn diagnostics(document: &Document) -> Vec<(&Diagnostic, String)> {
    let mut groups: Vec<Vec<&Diagnostic>> = Vec::new();
    let mut places: HashMap<(&str, String), usize> = HashMap::new();
    for diagnostic in &document.diagnostics {
        let key = (&*diagnostic.code, without_place(&diagnostic.message));
        let group = *places.entry(key).or_insert(groups.len());
        match groups.get_mut(group) {
            Some(group) => group.push(diagnostic),
            None => groups.push(vec![diagnostic]),
        }
    }
    let n_targets = document.targets().len();
    let lines = groups.iter().map(|group| {
        let targets = concerned_targets(group, n_targets);
        (
            group[0],
            group_words(group) + &dimension_option_words(group[0]) + &targets,
        )
    });
    lines.collect()
}

/// What chosen boards lack, a line for each.
pub fn shortages(document: &Document) -> Vec<String> {
    let line = |target: &str| {
        let shortages = document.shortages(target);
        let parts = shortages.iter().map(|short| {
            let [needed, has] = [
                (short.needed_bytes, short.board_bytes),
                (short.board_bytes, short.needed_bytes),
            ]
            .map(|(bytes, other)| quantity::measure_beside(bytes, "bytes", other));
            format!("{}, {needed} of {has}", words::metric(short.memory))
        });
        let parts: Vec<String> = parts.collect();
        (!parts.is_empty()).then(|| {
            format!(
                "{target}: the board has too little memory: {}",
                parts.join("; ")
            )
        })
    };
    document.targets().into_iter().filter_map(line).collect()
}

/// What to type where a message names a dimension that the file leaves open.
fn dimension_option_words(diagnostic: &Diagnostic) -> String {
    let name = diagnostic.message.split('`').nth(1);
    match name.filter(|_| diagnostic.code == "dynamic-shape") {
        Some(name) => format!(" ({})", words::dimension_option(name)),
        None => String::new(),
    }
}

/// ` [ethos-u55-256, ethos-u65-256]`; empty where all targets are concerned, the file is, or the words name them.
fn concerned_targets(group: &[&Diagnostic], n_targets: usize) -> String {
    let targets: BTreeSet<&str> = (group.iter().flat_map(|diagnostic| &diagnostic.targets))
        .map(String::as_str)
        .collect();
    let is_named = |target: &&str| group[0].message.contains(*target);
    if targets.is_empty() || targets.len() == n_targets || targets.iter().any(is_named) {
        return String::new();
    }
    let n_more = targets.len().saturating_sub(MAX_NAMED_TARGETS);
    let named: Vec<&str> = targets.into_iter().take(MAX_NAMED_TARGETS).collect();
    let more = match n_more {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!(" [{}{more}]", named.join(", "))
}

fn group_words(group: &[&Diagnostic]) -> String {
    let message = &group[0].message;
    let are_equal = group.iter().all(|doubt| doubt.message == *message);
    let operators: Vec<usize> = group
        .iter()
        .filter_map(|doubt| doubt.operator_idx)
        .collect();
    let n_more = group.len() - 1;
    match (are_equal && operators.len() == group.len(), n_more) {
        (true, 0) => format!("{message} (operator {})", operators[0]),
        (true, _) => {
            let named = operators.iter().take(MAX_NAMED_PLACES);
            let named: Vec<String> = named.map(usize::to_string).collect();
            let n_more = operators.len().saturating_sub(MAX_NAMED_PLACES);
            let more = match n_more {
                0 => String::new(),
                n => format!(" and {n} more"),
            };
            format!("{message} (operators {}{more})", named.join(", "))
        }
        (false, 0) => message.clone(),
        (false, n) => format!(
            "{message} (and {} elsewhere)",
            words::plural(n, "more time")
        ),
    }
}

/// A message without the names in backquotes and the numbers of what it is about.
fn without_place(message: &str) -> String {
    let outside_quotes: String = message.split('`').step_by(2).collect();
    let mut words: Vec<&str> = Vec::new();
    for word in outside_quotes.split(' ') {
        let is_number = word
            .trim_matches(|c: char| !c.is_ascii_digit())
            .parse::<u64>()
            .is_ok();
        let is_place = ["tensor", "operator", "subgraph", "buffer", "node", "input"];
        let is_of_place = words.last().is_some_and(|last| is_place.contains(last));
        words.push(if is_number && is_of_place { "#" } else { word });
    }
    words.join(" ")
}

/// Operators in the order in which they run, with the latencies for which there is room.
pub fn operators(document: &Document, width: usize) -> String {
    let latencies: Vec<(&TargetResult, &[f64], &Estimate)> = document.by_operator().collect();
    let mut table = Table::default()
        .number("#")
        .text("operator")
        .text("output")
        .number("MACs")
        .number("weights")
        .number("alive");
    for (result, ..) in &latencies {
        table = table.optional_number(&result.target);
    }
    let left_out: Vec<HashMap<usize, &str>> = latencies
        .iter()
        .map(|(result, ..)| document.left_to_processor(&result.target))
        .collect();
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
            alive.unwrap_or_else(|| words::UNKNOWN.into()),
        ];
        let of_targets = latencies.iter().zip(&left_out);
        row.extend(of_targets.map(|((_, parts, whole), left_out)| {
            let part = parts.get(operator.index);
            let part = part.map(|&part| quantity::measure(part, &whole.unit).to_string());
            // An estimate of the accelerator alone has nothing of what it leaves out.
            match (part, left_out.contains_key(&operator.index)) {
                (Some(part), true) if part.starts_with("0 ") => "on CPU".to_owned(),
                (Some(part), true) => format!("{part} on CPU"),
                (part, _) => part.unwrap_or_default(),
            }
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
