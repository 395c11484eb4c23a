//! `sweep-batch`: throughput and memory by batch on a GPU.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::process::ExitCode;

use litecast::batch_sweep;
use litecast::diagnostic::Severity;
use litecast::estimate::ModelFile;
use litecast::model_variants::Changes;
use litecast::provenance::Evidence;
use litecast::targets::choice::{did_you_mean, known_targets};
use litecast::targets::gpu::bundle::Bundle;
use litecast::targets::gpu::specifications::Gpu;
use litecast::targets::gpu::sweep::Sweep;

use super::args::SweepBatchArgs;
use super::quantity::{bytes, digits, grouped, interval, measure, percent};
use super::table::Table;
use super::terminal::{self, dim, wrapped};
use super::words;

/// Larger files are not networks: the largest `.tflite` files have 2 GiB.
const MAX_FILE_BYTES: u64 = 2 << 30;

pub fn run(args: &SweepBatchArgs) -> Result<ExitCode, Box<dyn Error>> {
    let bundle = Bundle::shipped();
    let known = || {
        let runs = bundle.runs.iter().map(|run| run.target.as_str());
        let known: BTreeSet<&str> = runs.collect();
        known.into_iter().collect::<Vec<_>>().join(", ")
    };
    let gpu = Gpu::by_id(&args.target).ok_or_else(|| {
        let is_other = known_targets().contains(&args.target);
        let similar = if is_other {
            String::new()
        } else {
            did_you_mean(&args.target, false)
        };
        format!(
            "--target {}: expected a GPU of {}{similar}",
            args.target,
            known()
        )
    })?;
    let place = args.file.display();
    let file_bytes = fs::metadata(&args.file)
        .map_err(|error| format!("{place}: {error}"))?
        .len();
    if file_bytes > MAX_FILE_BYTES {
        return Err(format!(
            "{place}: expected at most {MAX_FILE_BYTES} bytes, found {file_bytes}"
        )
        .into());
    }
    let contents = fs::read(&args.file).map_err(|error| format!("{place}: {error}"))?;
    let name = args.file.to_string_lossy();
    let file = ModelFile::new(&name, &contents);
    let swept = batch_sweep::sweep_batch(file, &Changes::default(), gpu, bundle);
    let swept = swept.map_err(|error| format!("{place}: {error}"))?;
    let swept = swept.ok_or_else(|| format!("{place}: no time is known on {}", args.target))?;
    if args.json {
        terminal::print_json(serde_json::to_string(&swept)? + "\n")?
    } else {
        terminal::print(&shown(&swept, gpu))?
    }
    Ok(ExitCode::SUCCESS)
}

fn shown(sweep: &Sweep, gpu: &Gpu) -> String {
    let width = terminal::width();
    let mut text = format!("{}\n\n{}", gpu.device, points_table(sweep).lines_of(width));
    if !sweep
        .points
        .iter()
        .any(|point| point.training_step_ms.is_some())
    {
        text += "? no training was measured on this GPU\n";
    }
    let _ = writeln!(
        text,
        "{}",
        dim(wrapped(&grade_in_words(sweep), width, "  "))
    );
    if sweep.points.iter().any(|point| point.is_launch_bound) {
        let host = "host: the time in which the host starts the kernels, assumed";
        let _ = writeln!(text, "{}", dim(wrapped(host, width, "  ")));
    }
    for doubt in &sweep.diagnostics {
        let is_warning = doubt.severity == Severity::Warning;
        let word = if is_warning { "warning" } else { "note" };
        let _ = writeln!(
            text,
            "{}",
            wrapped(&format!("{word}: {}", doubt.message), width, "  ")
        );
    }
    text.push('\n');
    let _ = writeln!(text, "largest batch by memory (modelled):");
    for fits in &sweep.fits {
        let _ = writeln!(
            text,
            "  {:>2} GB  inference {}, training with Adam {}, with SGD {}",
            fits.memory_gib,
            grouped(f64::from(fits.inference_batch)),
            grouped(f64::from(fits.training_batch)),
            grouped(f64::from(fits.sgd_batch))
        );
    }
    text
}

fn points_table(sweep: &Sweep) -> Table {
    let mut table = Table::default()
        .number("batch")
        .number("latency")
        .number("interval")
        .number("inferences/s")
        .number("memory")
        .optional_number("training step")
        .optional_number("Adam memory")
        .optional_number("SGD memory")
        .text("");
    for point in &sweep.points {
        let mut notes = Vec::new();
        if point.is_launch_bound {
            notes.push("host");
        }
        if point.batch == sweep.knee_batch {
            notes.push("knee");
        }
        if !point.fits {
            notes.push("does not fit");
        }
        let step = point
            .training_step_ms
            .map(|ms| measure(ms, "ms").to_string());
        table.row([
            point.batch.to_string(),
            measure(point.latency_ms, "ms").to_string(),
            interval(
                point.latency_lo_ms,
                point.latency_hi_ms,
                "ms",
                point.latency_ms,
            ),
            digits(point.throughput),
            bytes(point.memory_bytes).to_string(),
            step.unwrap_or_else(|| words::UNKNOWN.to_owned()),
            bytes(point.training_memory_bytes).to_string(),
            bytes(point.sgd_memory_bytes).to_string(),
            notes.join(", "),
        ]);
    }
    table
}

/// What the latencies rest on.
fn grade_in_words(sweep: &Sweep) -> String {
    let mut grade = if sweep.evidence == Evidence::Measured {
        "latencies are fitted to measurements on this GPU".to_owned()
    } else {
        "latencies are assumed: no network that was measured on this GPU tells their error"
            .to_owned()
    };
    if let Some(error) = sweep.expected_error_percent {
        let _ = write!(
            grade,
            ", off by {} in the mean on networks that nothing was fitted to",
            percent(error)
        );
    }
    grade
}
