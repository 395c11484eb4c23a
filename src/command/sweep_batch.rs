//! `sweep-batch`: throughput and memory by batch on a GPU.

use std::collections::BTreeSet;
use std::error::Error;
use std::fmt::Write;
use std::fs;
use std::process::ExitCode;

use litecast::changes::Changes;
use litecast::estimate::{self, ModelFile};
use litecast::targets::choice::did_you_mean;
use litecast::targets::gpu::bundle::Bundle;
use litecast::targets::gpu::specifications::Gpu;
use litecast::targets::gpu::sweep::Sweep;

use super::args::SweepBatchArgs;
use super::quantity::{bytes, digits, measure};
use super::table::Table;
use super::terminal;

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
        let similar = did_you_mean(&args.target, false);
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
    let swept = estimate::sweep_batch(file, &Changes::default(), gpu, bundle);
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
    let mut table = Table::default()
        .number("batch")
        .number("latency")
        .number("inferences/s")
        .number("memory")
        .optional_number("training step")
        .optional_number("Adam memory")
        .optional_number("SGD memory")
        .text("");
    for point in &sweep.points {
        let mut notes = Vec::new();
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
            digits(point.throughput),
            bytes(point.memory_bytes).to_string(),
            step.unwrap_or_else(|| "not measured".to_owned()),
            bytes(point.training_memory_bytes).to_string(),
            bytes(point.sgd_memory_bytes).to_string(),
            notes.join(", "),
        ]);
    }
    let mut text = format!("{}\n\n{}\n", gpu.device, table.lines_of(terminal::width()));
    let _ = writeln!(text, "largest batch by memory (modelled):");
    for fits in &sweep.fits {
        let _ = writeln!(
            text,
            "  {:>2} GB  inference {}, training with Adam {}, with SGD {}",
            fits.memory_gib, fits.inference_batch, fits.training_batch, fits.sgd_batch
        );
    }
    text
}
