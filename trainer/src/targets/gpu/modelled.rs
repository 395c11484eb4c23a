//! Compares what is modelled and not fitted — memory, power, and the times of small batches — with the measurements of the
//! H100.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use litecast::targets::gpu::bundle::{Bundle, Mode, Run};
use litecast::targets::gpu::estimate::{MIN_BUSY, time};
use litecast::targets::gpu::memory::{BASE_BYTES, GpuMemory, Optimiser, RANGE};
use litecast::targets::gpu::specifications::{Board, ComputePrecision};

use super::experiment::words;
use super::graphs::{KernelNetwork, Networks};
use super::h100::{ProfiledRow, TARGET};
use super::transfer::gpu;
use crate::metrics::nearest;

/// The sweeps over batch sizes end here; larger batches keep the GPU busy.
const MAX_SMALL_BATCH: f64 = 32.0;

/// Ratios of measured values to modelled ones, and whether the measured value is in the interval.
#[derive(Default)]
struct Ratios(BTreeMap<String, Vec<(f64, bool)>>);

impl Ratios {
    /// `interval` is lowest, value, highest.
    fn add(&mut self, what: String, measured: f64, [lo, value, hi]: [f64; 3]) {
        let ratios = self.0.entry(what).or_default();
        ratios.push((measured / value, (lo..=hi).contains(&measured)));
    }
}

/// Prints the ratios as Markdown.
pub fn compare(rows: &[ProfiledRow], networks: &Networks, bundle: &Bundle) -> Result<()> {
    let board = &gpu(TARGET)?.board;
    let run = bundle.run(TARGET, Mode::Inference);
    let run = run.context("expected a run of the H100")?;
    let mut ratios = Ratios::default();
    for row in rows {
        let Some(network) = networks.get(&(row.model.clone(), row.image_size)) else {
            eprintln!("no graph of {} at {}", row.model, row.image_size);
            continue;
        };
        let mode_and_precision = format!("{}, {}", words(row.mode()), row.precision);
        let bytes = memory(row, network).total_bytes();
        let interval = [RANGE[0] * bytes, bytes, RANGE[1] * bytes];
        let measured = row.reserved_bytes + BASE_BYTES;
        ratios.add(format!("memory, {mode_and_precision}"), measured, interval);
        if row.batch > MAX_SMALL_BATCH {
            let watts = row.energy_mj / row.ms;
            ratios.add(
                format!("power, {mode_and_precision}"),
                watts,
                board.watts(1.0),
            );
        }
        if let Some(kernel_ms) = row.kernel_ms {
            add_profiled(row, kernel_ms, network, run, board, &mut ratios)?;
        }
    }
    println!(
        "| measured over modelled | rows | 5th percentile | median | 95th | in the interval |"
    );
    println!("|---|---:|---:|---:|---:|---:|");
    for (what, ratios) in ratios.0 {
        let n_inside = ratios.iter().filter(|(_, is_inside)| *is_inside).count();
        let mut ratios: Vec<f64> = ratios.into_iter().map(|(ratio, _)| ratio).collect();
        ratios.sort_by(f64::total_cmp);
        let at = |share: f64| nearest(&ratios, share);
        println!(
            "| {what} | {} | {:.2} | {:.2} | {:.2} | {:.0} % |",
            ratios.len(),
            at(0.05),
            at(0.5),
            at(0.95),
            100.0 * n_inside as f64 / ratios.len() as f64
        );
    }
    Ok(())
}

fn memory(row: &ProfiledRow, network: &KernelNetwork) -> GpuMemory {
    let precision = match row.precision.as_str() {
        "amp" => ComputePrecision::Amp,
        "bfloat16" => ComputePrecision::Bfloat16,
        _ => ComputePrecision::Float32,
    };
    let (kernels, parameters) = (&network.kernels, network.parameters);
    match row.mode() {
        Mode::Inference => GpuMemory::inference(kernels, parameters, row.batch, precision),
        Mode::Training => {
            GpuMemory::training(kernels, parameters, row.batch, Optimiser::Sgd, precision)
        }
    }
}

/// Of a profiled row. The fit used the time of the network's largest batch alone.
fn add_profiled(
    row: &ProfiledRow,
    kernel_ms: f64,
    network: &KernelNetwork,
    run: &Run,
    board: &Board,
    ratios: &mut Ratios,
) -> Result<()> {
    let is_small = row.batch <= MAX_SMALL_BATCH;
    let batches = if is_small {
        format!("batch {}", row.batch)
    } else {
        format!("batch above {MAX_SMALL_BATCH}")
    };
    let estimate =
        time(run, &network.kernels, row.batch, gpu(TARGET)?).context("expected a time")?;
    let busy = estimate.busy_share;
    let interval = [MIN_BUSY * busy, busy, 1.0];
    ratios.add(
        format!("SM utilization, {batches}"),
        kernel_ms / row.ms,
        interval,
    );
    if is_small {
        let interval = [estimate.lo_ms, estimate.value_ms, estimate.hi_ms];
        ratios.add(format!("latency, {batches}"), row.ms, interval);
        let watts = row.energy_mj / row.ms;
        ratios.add(format!("power, {batches}"), watts, board.watts(busy));
    }
    Ok(())
}
