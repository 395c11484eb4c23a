//! Reports as text for a terminal.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};
use litecast::boards::Room;
use litecast::diagnostic::Severity;
use litecast::estimate::{OnBoard, OnBoards};
use litecast::provenance::Provenance;
use litecast::provenance::ProvenanceKind;
use litecast::report::{OperatorFacts, Report, TargetResult};
use litecast::targets::{Metric, Outcome, TargetInfo};

/// The report of one file, ending with an empty line.
pub fn report(report: &Report, with_operators: bool) -> String {
    let mut text = format!("{}\n{}\n", report.file, facts(report));
    let _ = writeln!(text, "{}", results(&report.results));
    if with_operators {
        let _ = writeln!(text, "{}", operators(report));
    }
    for diagnostic in &report.diagnostics {
        let word = match diagnostic.severity {
            Severity::Info => "note",
            Severity::Warning => "warning",
        };
        let place = diagnostic
            .operator_idx
            .map(|idx| format!(" (operator {idx})"));
        let _ = writeln!(
            text,
            "{word}: {}{}",
            diagnostic.message,
            place.unwrap_or_default()
        );
    }
    text.push('\n');
    text
}

fn facts(report: &Report) -> String {
    let model = &report.model;
    let batch = match report.batch {
        1 => String::new(),
        n => format!(", {n} inputs at a time"),
    };
    format!(
        "{} operators, {} MACs, {} parameters, {} file{batch}",
        model.n_operators,
        count(model.macs),
        count(model.parameters),
        bytes(model.file_bytes as f64),
    )
}

fn results(results: &[TargetResult]) -> Table {
    let mut table = table(&[
        "target",
        "metric",
        "estimate",
        "90 % interval",
        "± held-out",
        "provenance",
    ]);
    for result in results {
        let [estimate, interval, error, provenance] = outcome(&result.outcome);
        table.add_row([
            result.target.as_str(),
            result.metric.id(),
            &estimate,
            &interval,
            &error,
            &provenance,
        ]);
    }
    align_right(&mut table, &[2, 3, 4]);
    table
}

fn outcome(outcome: &Outcome) -> [String; 4] {
    match outcome {
        Outcome::Estimate {
            value,
            lo,
            hi,
            unit,
            provenance,
            expected_error_percent,
            ..
        } => {
            let error = expected_error_percent.map(|percent| format!("{percent:.1} %"));
            let ends = lo.zip(*hi);
            let interval =
                ends.map(|(lo, hi)| format!("{} … {}", quantity(lo, unit), quantity(hi, unit)));
            [
                quantity(*value, unit),
                interval.unwrap_or_default(),
                error.unwrap_or_default(),
                self::provenance(provenance),
            ]
        }
        Outcome::Unavailable { unavailable, .. } => [
            "–".into(),
            String::new(),
            String::new(),
            format!("unavailable: {unavailable}"),
        ],
    }
}

fn provenance(provenance: &Provenance) -> String {
    match provenance.kind {
        ProvenanceKind::Exact => format!("exact ({})", provenance.configuration),
        kind => format!(
            "{} ({} {})",
            kind.words(),
            provenance.tool,
            provenance.version
        ),
    }
}

fn operators(report: &Report) -> Table {
    let latencies: Vec<_> = report.results.iter().filter_map(latency_parts).collect();
    let mut header = vec![
        "#", "operator", "output", "MACs", "weights", "read", "written", "alive",
    ];
    header.extend(latencies.iter().map(|(target, ..)| *target));
    let mut table = table(&header);
    for operator in &report.operators {
        let mut row = vec![
            operator.index.to_string(),
            operator.name.clone(),
            output_shape(report, operator),
            count(operator.macs),
            bytes(operator.weight_bytes as f64),
            bytes(operator.input_bytes as f64),
            bytes(operator.output_bytes as f64),
            operator
                .live_bytes
                .map_or("?".into(), |live| bytes(live as f64)),
        ];
        let part = |(_, parts, unit): &(_, &[f64], &str)| quantity(parts[operator.index], unit);
        row.extend(latencies.iter().map(part));
        table.add_row(row);
    }
    let numbers: Vec<usize> = (0..header.len())
        .filter(|idx| ![1, 2].contains(idx))
        .collect();
    align_right(&mut table, &numbers);
    table
}

/// Target, each operator's part and its unit, of a latency that is known by operator.
fn latency_parts(result: &TargetResult) -> Option<(&str, &[f64], &str)> {
    match &result.outcome {
        Outcome::Estimate {
            operators: Some(parts),
            unit,
            ..
        } if result.metric == Metric::Latency => Some((&result.target, parts, unit)),
        _ => None,
    }
}

fn output_shape(report: &Report, operator: &OperatorFacts) -> String {
    let tensor = operator
        .outputs
        .first()
        .and_then(|&idx| report.tensors.get(idx));
    tensor.map_or(String::new(), |tensor| {
        let dims: Vec<String> = tensor.shape.iter().map(i32::to_string).collect();
        dims.join("×")
    })
}

/// Where a file has room, and how fast it runs there.
pub fn boards(file: &str, placed: &OnBoards) -> String {
    let mut table = table(&["board", "core", "MHz", "fits", "RAM", "flash", "latency"]);
    for OnBoard { fit, latency } in &placed.boards {
        let board = fit.board;
        let is_transferred = board.latency.as_ref().is_some_and(|of| of.is_transferred);
        let latency = match latency {
            Some(Ok(latency)) => format!(
                "{}{}",
                quantity(latency.value_ms, "ms"),
                if is_transferred { " *" } else { "" }
            ),
            Some(Err(_)) | None => "-".to_owned(),
        };
        table.add_row([
            board.name.clone(),
            board.core.clone(),
            board.clock_mhz.to_string(),
            if fit.is_fitting() { "yes" } else { "no" }.to_owned(),
            room(&fit.ram),
            room(&fit.flash),
            latency,
        ]);
    }
    align_right(&mut table, &[2, 6]);
    let refusal = placed
        .boards
        .iter()
        .find_map(|on| Some(on.latency.as_ref()?.as_ref().err()?.to_string()));
    let note = refusal.map_or(
        "* from other boards with the same core; - where no board with its core was measured"
            .to_owned(),
        |refusal| format!("no latency: {refusal}"),
    );
    format!(
        "{file}\narena {}, file {}\n{table}\n{note}\n",
        bytes(placed.need.ram_bytes as f64),
        bytes(placed.need.flash_bytes as f64)
    )
}

fn room(room: &Room) -> String {
    match room {
        Room::OnChip { left_bytes } => format!("{} left", bytes(*left_bytes as f64)),
        Room::External { left_bytes } => format!("external, {} left", bytes(*left_bytes as f64)),
        Room::Short { missing_bytes } => format!("{} short", bytes(*missing_bytes as f64)),
    }
}

/// What is estimated.
pub fn targets(targets: &[TargetInfo]) -> Table {
    let mut table = table(&["target", "device", "metric", "± held-out", "source"]);
    for target in targets {
        for metric in &target.metrics {
            let error = metric
                .expected_error_percent
                .map(|percent| format!("{percent:.1} %"));
            let name = format!("{} ({})", metric.metric, metric.unit);
            let error = error.unwrap_or_default();
            table.add_row([
                &target.id,
                &target.device,
                &name,
                &error,
                &target.learned_from,
            ]);
        }
    }
    align_right(&mut table, &[3]);
    table
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_header(header);
    table
}

fn align_right(table: &mut Table, columns: &[usize]) {
    for &idx in columns {
        if let Some(column) = table.column_mut(idx) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "bytes" => bytes(value),
        unit => format!("{} {unit}", three_digits(value)),
    }
}

fn bytes(value: f64) -> String {
    const UNITS: [&str; 4] = ["B", "KiB", "MiB", "GiB"];
    let (value, unit) = scaled(value, 1024.0, &UNITS);
    format!("{} {unit}", three_digits(value))
}

fn count(value: u64) -> String {
    const UNITS: [&str; 5] = ["", " k", " M", " G", " T"];
    let (value, unit) = scaled(value as f64, 1000.0, &UNITS);
    format!("{}{unit}", three_digits(value))
}

fn scaled<'u>(mut value: f64, base: f64, units: &[&'u str]) -> (f64, &'u str) {
    let mut idx = 0;
    while value >= base && idx + 1 < units.len() {
        value /= base;
        idx += 1;
    }
    (value, units[idx])
}

/// Digits behind the point at most: less than a nanosecond is nothing.
const MAX_DECIMALS: i32 = 9;

/// Three significant digits, whole numbers without a point.
fn three_digits(value: f64) -> String {
    let digits = match value.abs() {
        v if v >= 100.0 || v.fract() == 0.0 => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        // As many zeros behind the point, and three digits more.
        v => (2 - v.log10().floor() as i32).clamp(3, MAX_DECIMALS) as usize,
    };
    format!("{value:.digits$}")
}
