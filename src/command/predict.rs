//! `predict`: reports as tables, JSON, CSV or HTML.

use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;

use super::args::{PredictArgs, WorkerOutput};
use super::document::{Document, Estimate, TargetResult};
use super::table::Table;
use super::terminal::{bold, dim, plain, wrapped, yellow};
use super::worker_request::Request;
use super::{csv, inputs, print, quantity, sections, terminal, words};

pub fn run(args: &PredictArgs) -> Result<ExitCode, Box<dyn Error>> {
    let files = inputs::expand(&args.files)?;
    let request = Request {
        are_dimensions_shared: files.len() > 1,
        targets: &args.targets,
        read: &args.read,
        tell: WorkerOutput::Report,
    };
    let width = terminal::width();
    let text = |document: &Document| report(document, args.details, args.operators, width);
    let rows = if args.operators {
        csv::Rows::Operators
    } else {
        csv::Rows::Results
    };
    print::reports(&files, &request, &args.format, rows, text)
}

/// The report of one file, ending with an empty line.
fn report(document: &Document, with_details: bool, with_operators: bool, width: usize) -> String {
    let mut text = sections::heading(document, width);
    // Doubts stand at the headline, notes behind the numbers.
    text += &shortages(document, width);
    text += &diagnostics(document, true, width);
    if with_details {
        text += &details(document, width)
    } else {
        text += &overview(document, width)
    }
    text += &unavailable(document, width);
    text += &fits(document, width);
    if with_operators {
        text += &format!("\n{}", sections::operators(document, width));
    }
    text += &diagnostics(document, false, width);
    text.push('\n');
    text
}

/// On how many microcontroller boards the model has room.
fn fits(document: &Document, width: usize) -> String {
    let Some(fits) = &document.fits else {
        return String::new();
    };
    let count = |verdict: &str| fits.boards.iter().filter(|on| on.fits == verdict).count();
    let close = match count("close") {
        0 => String::new(),
        n => format!(", close on {n}"),
    };
    let words = format!(
        "under TensorFlow Lite Micro: fits on {} of {} microcontroller boards{close} (litecast boards FILE)",
        count("yes"),
        fits.boards.len()
    );
    format!("{}\n", dim(wrapped(&words, width, "  ")))
}

/// A mean error above this, in percent, is a doubt that stands at the headline.
const DOUBTFUL_PERCENT: f64 = 25.0;

/// The table of targets that have an estimate, and what is said below it, each once with the targets that it is said of.
struct Overview<'d> {
    table: Table,
    remarks: Vec<(String, Vec<&'d str>)>,
    energies: Vec<(String, Vec<&'d str>)>,
    /// By what they were compared with: which targets are far off, and by how much.
    doubts: Vec<(String, Vec<String>)>,
}

/// What speaks against the numbers of a report: its warnings, and the targets whose mean error is large.
pub fn doubts(document: &Document, width: usize) -> String {
    diagnostics(document, true, width) + &far_off_warning(&gather_overview(document).doubts, width)
}

fn far_off_warning(doubts: &[(String, Vec<String>)], width: usize) -> String {
    let doubts = doubts.iter().map(|(against, far)| {
        let line = format!(
            "         off in the mean, against {against}: {}",
            far.join(", ")
        );
        let line = wrapped(&line, width, "  ");
        format!("{} {}\n", yellow("warning:"), line.trim_start())
    });
    doubts.collect()
}

fn gather_overview(document: &Document) -> Overview<'_> {
    let mut overview = Overview {
        table: Table::default()
            .text("target")
            .number("latency")
            .number("interval")
            .number("memory")
            .optional_text("evidence")
            .optional_number("energy"),
        remarks: Vec::new(),
        energies: Vec::new(),
        doubts: Vec::new(),
    };
    for target in document.targets() {
        overview.add(document, target);
    }
    overview
}

/// One line for each target that has an estimate.
fn overview(document: &Document, width: usize) -> String {
    let Overview {
        table,
        mut remarks,
        energies,
        doubts,
    } = gather_overview(document);
    if table.is_empty() {
        return String::new();
    }
    let lines = table.lines_of(width);
    let is_unknown = lines.split_whitespace().any(|word| word == words::UNKNOWN);
    let mut text = far_off_warning(&doubts, width) + &lines;
    if is_unknown {
        let _ = writeln!(text, "{}", dim("? no estimate"));
    }
    // A narrow terminal has no column for it.
    let mut heads = lines.lines().take(1);
    if heads.any(|head| head.contains("energy")) {
        remarks.extend(energies);
    } else if !energies.is_empty() {
        let words = "energy has no room here; --details lists it";
        let _ = writeln!(text, "{}", dim(wrapped(words, width, "  ")));
    }
    for (words, targets) in remarks {
        // What holds for each row names none.
        let line = match targets.len() {
            1 => format!("{}: {words}", targets[0]),
            n if n == table.len() => words,
            _ => format!("{}: {words}", targets.join(", ")),
        };
        let _ = writeln!(text, "{}", dim(wrapped(&plain(&line), width, "  ")));
    }
    text + &format!("{}\n", dim(wrapped(words::EVIDENCE, width, "  ")))
}

type Estimated<'d> = (&'d TargetResult, &'d Estimate);

/// What the table shows of one target.
struct OverviewRow<'d> {
    first: Estimated<'d>,
    latency: Option<Estimated<'d>>,
    memory: Option<Estimated<'d>>,
    energy: Option<Estimated<'d>>,
    is_microcontroller: bool,
}

impl<'d> Overview<'d> {
    fn add(&mut self, document: &'d Document, target: &'d str) {
        let estimate = |metric: &str| {
            let result = document.result(target, metric)?;
            Some((result, result.estimate()?))
        };
        let latency = estimate("latency");
        let mut memories = words::MEMORY_METRICS.iter();
        let memory = memories.find_map(|metric| estimate(metric));
        let energy = estimate("energy");
        let Some(first) = latency.or(memory).or(energy) else {
            return;
        };
        let row = OverviewRow {
            first,
            latency,
            memory,
            energy,
            is_microcontroller: estimate("weights_flash").is_some(),
        };
        self.add_remarks(target, &row);
        let value = |estimate: Option<(&TargetResult, &Estimate)>| {
            estimate.map_or(words::UNKNOWN.to_owned(), |(_, estimate)| {
                quantity::measure(estimate.value, &estimate.unit).to_string()
            })
        };
        // In the unit of the latency beside it.
        let interval = row
            .latency
            .and_then(|(_, latency)| sections::interval(latency));
        let interval = interval.unwrap_or_default();
        let interval = interval.rsplit_once(' ').map_or("", |(ends, _)| ends);
        let precision = document.estimated_as(target);
        let precision = precision.map_or(String::new(), |precision| format!(" as {precision}"));
        let grade = row.first.0.evidence.as_deref().unwrap_or("not said");
        self.table.row([
            format!("{target}{precision}"),
            value(row.latency),
            interval.to_owned(),
            value(row.memory),
            grade.to_owned(),
            value(row.energy),
        ]);
    }

    /// What is said below the table.
    fn add_remarks(&mut self, target: &'d str, row: &OverviewRow<'d>) {
        let (_, first) = row.first;
        // Board, runtime and release of a microcontroller, which its id does not tell, and whose estimate a board's is.
        if row.is_microcontroller || target.contains('/') {
            group(&mut self.remarks, row.first.0.device.clone(), target);
        }
        if let Some((result, estimate)) = row.memory {
            let name = words::metric(&result.metric);
            let grade = words::evidence(result, estimate);
            let name = if name == "memory" {
                "that of the GPU"
            } else {
                name
            };
            group(
                &mut self.remarks,
                format!("memory is {name}, {grade}"),
                target,
            );
        }
        if let Some((result, energy)) = row.energy {
            let scope = energy
                .provenance
                .scope
                .as_deref()
                .unwrap_or("what is not said");
            let grade = words::evidence(result, energy);
            group(
                &mut self.energies,
                format!("energy of {scope}, {grade}"),
                target,
            );
        }
        if let (Some(_), Some(percent)) = (first.lo, first.provenance.interval_percent) {
            let against = words::reference_words(&first.provenance);
            let words = format!("interval held {percent} % of other networks, against {against}");
            group(&mut self.remarks, words, target);
        }
        let far = (first.expected_error_percent).filter(|&percent| percent > DOUBTFUL_PERCENT);
        if let Some(percent) = far {
            let against = words::reference_words(&first.provenance);
            let far = format!("{target} by {}", quantity::percent(percent));
            match self.doubts.iter_mut().find(|(known, _)| *known == against) {
                Some((_, all)) => all.push(far),
                None => self.doubts.push((against, vec![far])),
            }
        }
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
        let precision = document.estimated_as(target);
        let precision = precision.map_or(String::new(), |one| format!(", estimated as {one}"));
        let device = format!("{target}  {}{precision}", first.device);
        let device = wrapped(&plain(&device), width, "  ");
        let _ = writeln!(text, "{}", device.replacen(target, &bold(target), 1));
        results.sort_by_key(|(result, _)| words::metric_rank(&result.metric));
        let mut table = Table::default()
            .text("metric")
            .number("estimate")
            .number("interval")
            .text("evidence")
            .number("error")
            .text("against");
        let mut sources: Vec<(String, Vec<&str>)> = Vec::new();
        for (result, estimate) in results {
            let metric = words::metric(&result.metric);
            let (error, against) = error_in_words(result, estimate);
            table.row([
                words::metric_of(result, estimate),
                quantity::measure(estimate.value, &estimate.unit).to_string(),
                sections::interval(estimate).unwrap_or_default(),
                words::evidence(result, estimate),
                error,
                against,
            ]);
            group(&mut sources, words::source(&estimate.provenance), metric);
        }
        let lines = table.lines_of(width);
        text += &lines;
        if lines.split_whitespace().any(|word| word == words::UNKNOWN) {
            let _ = writeln!(text, "{}", dim("? no mean error was measured"));
        }
        for (source, metrics) in sources {
            let line = format!("{}: {}", metrics.join(", "), plain(&source));
            let _ = writeln!(text, "{}", dim(wrapped(&line, width, "  ")));
        }
        text.push('\n');
    }
    text
}

/// The error of an estimate, and what it was compared with.
fn error_in_words(result: &TargetResult, estimate: &Estimate) -> (String, String) {
    // What was counted in the file has no error; of other numbers it may never have been measured.
    match estimate.expected_error_percent {
        Some(error) => (
            format!("±{}", quantity::percent(error)),
            words::reference_words(&estimate.provenance),
        ),
        None if result.evidence.as_deref() == Some("counted") && estimate.lo.is_none() => {
            ("exact".to_owned(), "the file".to_owned())
        }
        None => (
            words::UNKNOWN.to_owned(),
            words::reference_words(&estimate.provenance),
        ),
    }
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
        let name = if is_wholly {
            target.to_owned()
        } else {
            format!("{target} ({})", words::metric(metric))
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

fn shortages(document: &Document, width: usize) -> String {
    let lines = sections::shortages(document).into_iter().map(|line| {
        let line = wrapped(&format!("         {}", plain(&line)), width, "  ");
        format!("{} {}\n", yellow("warning:"), line.trim_start())
    });
    lines.collect()
}

/// Warnings or notes, each on lines of its own.
fn diagnostics(document: &Document, are_warnings: bool, width: usize) -> String {
    let mut text = String::new();
    for (diagnostic, line) in sections::diagnostics(document) {
        if (diagnostic.severity == "warning") != are_warnings {
            continue;
        }
        let line = wrapped(&format!("         {}", plain(&line)), width, "  ");
        let line = line.trim_start();
        let word = if are_warnings {
            yellow("warning:")
        } else {
            bold("note:")
        };
        let _ = writeln!(text, "{word} {line}");
    }
    text
}
