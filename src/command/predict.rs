//! `predict`: reports as tables, JSON, CSV or HTML.

use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;

use super::args::{PredictArgs, Tell};
use super::document::{Document, Estimate, TargetResult};
use super::source::Request;
use super::table::Table;
use super::terminal::{bold, dim, plain, wrapped, yellow};
use super::{inputs, print, quantity, sections, terminal, words};

pub fn run(args: &PredictArgs) -> Result<ExitCode, Box<dyn Error>> {
    let request = Request {
        targets: &args.targets,
        read: &args.read,
        tell: Tell::Report,
    };
    let width = terminal::width();
    let text = |document: &Document| report(document, args.details, args.operators, width);
    print::reports(&inputs::expand(&args.files)?, &request, &args.format, text)
}

/// The report of one file, ending with an empty line.
fn report(document: &Document, with_details: bool, with_operators: bool, width: usize) -> String {
    let mut text = sections::heading(document, width);
    match with_details {
        true => text += &details(document, width),
        false => text += &overview(document, width),
    }
    text += &unavailable(document, width);
    text += &fits(document, width);
    if with_operators {
        text += &format!("\n{}", sections::operators(document, width));
    }
    text += &diagnostics(document, width);
    text.push('\n');
    text
}

/// On how many microcontroller boards the model has room.
fn fits(document: &Document, width: usize) -> String {
    let Some(fits) = &document.fits else {
        return String::new();
    };
    let n_fitting = fits.boards.iter().filter(|on| on.fits == "yes").count();
    let words = format!(
        "fits on {n_fitting} of {} microcontroller boards (litecast boards FILE)",
        fits.boards.len()
    );
    format!("{}\n", dim(wrapped(&words, width, "  ")))
}

/// One line for each target that has an estimate.
fn overview(document: &Document, width: usize) -> String {
    let mut table = Table::default()
        .text("target")
        .number("latency")
        .number("90 % interval")
        .number("memory")
        .number("energy")
        .optional_text("basis");
    for target in document.targets() {
        let estimate = |metric: &str| document.result(target, metric)?.estimate();
        // That of the accelerator alone is among the details.
        let latency = document.latencies(target).find_map(TargetResult::estimate);
        let memory = words::MEMORY_METRICS
            .iter()
            .find_map(|metric| estimate(metric));
        let energy = estimate("energy");
        let Some(first) = latency.or(memory).or(energy) else {
            continue;
        };
        let value = |estimate: Option<&Estimate>| {
            let value = |estimate: &Estimate| quantity::measure(estimate.value, &estimate.unit);
            estimate.map_or("–".to_owned(), |estimate| value(estimate).to_string())
        };
        table.row([
            target.to_owned(),
            value(latency),
            latency.and_then(sections::interval).unwrap_or_default(),
            value(memory),
            value(energy),
            words::basis(&first.provenance).to_owned(),
        ]);
    }
    match table.is_empty() {
        true => String::new(),
        false => table.lines_of(width),
    }
}

/// Each target with all its metrics, and where they come from.
fn details(document: &Document, width: usize) -> String {
    let mut text = String::new();
    for target in document.targets() {
        let mut results: Vec<(&TargetResult, &Estimate)> = document
            .estimates()
            .filter(|(result, _)| result.target == target)
            .collect();
        let Some((first, _)) = results.first() else {
            continue;
        };
        let device = wrapped(&plain(&format!("{target}  {}", first.device)), width, "  ");
        let _ = writeln!(text, "{}", device.replacen(target, &bold(target), 1));
        results.sort_by_key(|(result, _)| words::metric_rank(&result.metric));
        let mut table = Table::default()
            .text("metric")
            .number("estimate")
            .number("90 % interval")
            .number("error");
        let mut sources: Vec<(String, Vec<&str>)> = Vec::new();
        for (result, estimate) in results {
            let metric = words::metric(&result.metric);
            let error = estimate.expected_error_percent;
            table.row([
                metric.to_owned(),
                quantity::measure(estimate.value, &estimate.unit).to_string(),
                sections::interval(estimate).unwrap_or_default(),
                error.map_or(String::new(), |error| {
                    format!("±{}", quantity::percent(error))
                }),
            ]);
            group(&mut sources, words::source(&estimate.provenance), metric);
        }
        text += &table.lines_of(width);
        for (source, metrics) in sources {
            let line = format!("{}: {}", metrics.join(", "), plain(&source));
            let _ = writeln!(text, "{}", dim(wrapped(&line, width, "  ")));
        }
        text.push('\n');
    }
    text
}

/// Adds a name to those that share a text, in the order in which texts come first.
fn group<'n>(groups: &mut Vec<(String, Vec<&'n str>)>, text: String, name: &'n str) {
    match groups.iter_mut().find(|(known, _)| *known == text) {
        Some((_, names)) => names.push(name),
        None => groups.push((text, vec![name])),
    }
}

/// Each reason once, with the targets that have no estimate for this reason.
fn unavailable(document: &Document, width: usize) -> String {
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for (target, metric, words) in document.unavailable() {
        let is_wholly = !document
            .estimates()
            .any(|(other, _)| other.target == target);
        let name = match is_wholly {
            true => target.to_owned(),
            false => format!("{target} ({})", words::metric(metric)),
        };
        match reasons.iter_mut().find(|(known, _)| known == words) {
            Some((_, names)) if names.contains(&name) => {}
            Some((_, names)) => names.push(name),
            None => reasons.push((words.to_owned(), vec![name])),
        }
    }
    let mut text = String::new();
    for (reason, names) in reasons {
        let line = format!("no estimate for {}: {reason}", names.join(", "));
        let _ = writeln!(text, "{}", wrapped(&plain(&line), width, "  "));
    }
    text
}

fn diagnostics(document: &Document, width: usize) -> String {
    let mut text = String::new();
    for diagnostic in &document.diagnostics {
        let place = diagnostic
            .operator_idx
            .map(|idx| format!(" (operator {idx})"));
        let line = format!("{}{}", diagnostic.message, place.unwrap_or_default());
        let line = wrapped(&format!("         {}", plain(&line)), width, "  ");
        let line = line.trim_start();
        let word = match diagnostic.severity.as_str() {
            "warning" => yellow("warning:"),
            _ => bold("note:"),
        };
        let _ = writeln!(text, "{word} {line}");
    }
    text
}
