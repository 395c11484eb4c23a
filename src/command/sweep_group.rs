//! `sweep --group` and `sweep --device`: the targets of a group and devices of one's own for one model, and which of them meet
//! a limit on latency.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;
use std::process::ExitCode;

use litecast::Metric;
use serde::Serialize;

use super::args::{SweepArgs, WorkerOutput};
use super::budget::Limit;
use super::choice::TargetArgs;
use super::document::{Document, Estimate, TargetResult};
use super::table::Table;
use super::terminal::{bold, dim, heading, wrapped};
use super::worker_request::Request;
use super::{csv, predict, print, quantity, terminal, words};

/// One target; what `--json` prints, a line for each.
#[derive(Serialize)]
struct GroupRow<'r> {
    file: &'r str,
    target: String,
    device: String,
    /// What the estimate rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<String>,
    /// The precision of the estimate, where it is not that of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    estimated_as: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_lo_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    latency_hi_ms: Option<f64>,
    /// Why there is no estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    unavailable: Option<String>,
    /// Whether the upper end of the interval is within the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    meets: Option<bool>,
}

const NOTE: &str = "a limit is held against the upper end of the interval";

pub fn run(args: &SweepArgs) -> Result<ExitCode, Box<dyn Error>> {
    if args.limits.sram.is_some() {
        return Err(
            "--max-sram: expected no --group and no --device, whose targets have no SRAM to compare"
                .into(),
        );
    }
    let targets = TargetArgs {
        groups: args.group.iter().cloned().collect(),
        devices: args.devices.clone(),
        measured: args.measured.clone(),
        ..TargetArgs::default()
    };
    let request = Request {
        are_dimensions_shared: false,
        targets: &targets,
        read: &args.read,
        tell: WorkerOutput::Report,
    };
    let limit_ms = args.limits.latency.map(|Limit(ms)| ms);
    let mut code = ExitCode::SUCCESS;
    request.each(std::slice::from_ref(&args.file), |file, document| {
        let file = file.to_string_lossy();
        match document {
            Ok(document) => {
                let latencies = document.results.iter();
                let latencies = latencies.filter(|result| result.metric == Metric::Latency.id());
                let row = |result: &TargetResult| row(&file, &document, result, limit_ms);
                let mut rows: Vec<GroupRow> = latencies.map(row).collect();
                let order = |row: &GroupRow| row.latency_ms.unwrap_or(f64::MAX);
                rows.sort_by(|a, b| order(a).total_cmp(&order(b)));
                // No target meets the limit. Scripts read this from the exit code.
                if limit_ms.is_some() && !rows.iter().any(|row| row.meets == Some(true)) {
                    code = ExitCode::FAILURE;
                }
                let doubts = predict::doubts(&document, terminal::width());
                print(&file, &rows, &doubts, limit_ms, args)
            }
            Err(failure) => {
                code = ExitCode::from(super::exit::TROUBLE);
                print::failure(&file, failure, args.format.json)
            }
        }
    })?;
    Ok(code)
}

fn row<'r>(
    file: &'r str,
    document: &Document,
    result: &TargetResult,
    limit_ms: Option<f64>,
) -> GroupRow<'r> {
    let estimate: Option<&Estimate> = result.estimate();
    let held = estimate.map(|estimate| estimate.hi.unwrap_or(estimate.value));
    GroupRow {
        file,
        target: result.target.clone(),
        device: result.device.clone(),
        evidence: result.evidence.clone(),
        estimated_as: document.estimated_as(&result.target).map(str::to_owned),
        latency_ms: estimate.map(|estimate| estimate.value),
        latency_lo_ms: estimate.and_then(|estimate| estimate.lo),
        latency_hi_ms: estimate.and_then(|estimate| estimate.hi),
        unavailable: result.unavailable().map(str::to_owned),
        meets: limit_ms.map(|limit_ms| held.is_some_and(|held| held <= limit_ms)),
    }
}

fn print(
    file: &str,
    rows: &[GroupRow],
    doubts: &str,
    limit_ms: Option<f64>,
    args: &SweepArgs,
) -> std::io::Result<()> {
    if args.format.json {
        let lines = rows
            .iter()
            .map(|row| Ok(serde_json::to_string(row)? + "\n"));
        return terminal::print_json(lines.collect::<std::io::Result<String>>()?);
    }
    if args.format.csv {
        return terminal::print_raw(&csv_of(rows));
    }
    let width = terminal::width();
    let mut text = heading(file, width) + "\n";
    let mut table = Table::default()
        .text("target")
        .text("device")
        .number("latency")
        .optional_number("interval")
        .text("evidence");
    if limit_ms.is_some() {
        table = table.text("meets");
    }
    let n_common = n_common_parts(rows);
    for row in rows {
        table.row(cells(row, n_common));
    }
    text += &table.lines_of(width);
    if let Some(limit_ms) = limit_ms {
        let n = rows.iter().filter(|row| row.meets == Some(true)).count();
        let limit = quantity::measure(limit_ms, "ms");
        let verdict = format!("{n} of {} run it within {limit}", rows.len());
        let _ = writeln!(text, "\n{}", bold(wrapped(&verdict, width, "  ")));
    }
    let reasons = rows.iter().filter_map(|row| row.unavailable.as_deref());
    for reason in reasons.collect::<BTreeSet<_>>() {
        let _ = writeln!(
            text,
            "\n{}",
            wrapped(&format!("no estimate: {reason}"), width, "  ")
        );
    }
    let _ = write!(text, "\n{doubts}");
    let _ = writeln!(text, "{}", dim(wrapped(words::EVIDENCE, width, "  ")));
    if limit_ms.is_some() {
        let _ = writeln!(text, "{}", dim(wrapped(NOTE, width, "  ")));
    }
    terminal::print(&text)
}

/// Parts of a device's name: the hardware, then what runs on it.
fn parts<'r>(row: &'r GroupRow) -> Vec<&'r str> {
    row.device.split(", ").collect()
}

/// How many parts at the end of their names all devices have in common.
fn n_common_parts(rows: &[GroupRow]) -> usize {
    let Some(first) = rows.first().map(parts) else {
        return 0;
    };
    let of_row = |row: &GroupRow| {
        let others = parts(row);
        let ends = others.iter().rev().zip(first.iter().rev());
        let n_alike = ends.take_while(|(one, other)| one == other).count();
        n_alike.min(others.len() - 1)
    };
    rows.iter().map(of_row).min().unwrap_or_default()
}

/// The cells of one target, with whether it meets the limit, if there is one.
fn cells(row: &GroupRow, n_common: usize) -> Vec<String> {
    let device = parts(row);
    let latency = row
        .latency_ms
        .map(|ms| quantity::measure(ms, "ms").to_string());
    let interval = (row.latency_lo_ms.zip(row.latency_hi_ms).zip(row.latency_ms))
        .map(|((lo, hi), ms)| quantity::interval(lo, hi, "ms", ms));
    let mut cells = vec![
        match &row.estimated_as {
            Some(precision) => format!("{} as {precision}", row.target),
            None => row.target.clone(),
        },
        device[..device.len() - n_common].join(", "),
        latency.unwrap_or_else(|| words::UNKNOWN.to_owned()),
        interval.unwrap_or_else(|| "none".to_owned()),
        row.evidence.clone().unwrap_or_default(),
    ];
    cells.extend(
        row.meets
            .map(|meets| if meets { "yes" } else { "no" }.to_owned()),
    );
    cells
}

/// Latencies in ms.
fn csv_of(rows: &[GroupRow]) -> String {
    let names = [
        "file",
        "target",
        "device",
        "evidence",
        "estimated_as",
        "latency_ms",
        "latency_lo_ms",
        "latency_hi_ms",
        "meets",
        "unavailable",
    ];
    let word = |word: &Option<String>| csv::text(word.as_deref().unwrap_or_default());
    let row = |row: &GroupRow| {
        vec![
            csv::text(row.file),
            row.target.clone(),
            csv::text(&row.device),
            word(&row.evidence),
            word(&row.estimated_as),
            csv::number(row.latency_ms),
            csv::number(row.latency_lo_ms),
            csv::number(row.latency_hi_ms),
            csv::number(row.meets),
            word(&row.unavailable),
        ]
    };
    let header: Vec<String> = names.map(str::to_owned).into();
    csv::lines(std::iter::once(header).chain(rows.iter().map(row)))
}
