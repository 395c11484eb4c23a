//! Measurements of boards → constants that turn counted instructions into milliseconds and millijoules. Their errors
//! are measured by leaving out one family of networks at a time.

pub mod args;
pub mod fit;
pub mod known;
pub mod measured;
pub mod measurements;
pub mod mobilenets;
pub mod rebuild;
pub mod samples;

use std::fs;

use anyhow::{Context, Result};
use litecast::targets::cortex_a::{Board, Constants, Energy, Fit};

pub use self::args::FitCpuArgs;
use self::fit::{BoardFit, errors, fit_proportion};
use self::known::BOARDS;
use self::measurements::RPI5_RAIL;
use self::samples::BoardSample;
use crate::{json, markdown};

const RPI5_TASKS: [&str; 3] = ["cifar100", "ninapro", "darcy"];
const RPI4_TASKS: [&str; 1] = ["cifar10"];

const TABLE_HEAD: [&str; 16] = [
    "board",
    "network",
    "family",
    "precision",
    "threads",
    "measured_ms",
    "left_out_ms",
    "lo_ms",
    "hi_ms",
    "matrix_minstr",
    "depthwise_minstr",
    "other_minstr",
    "interpreter_minstr",
    "serial_minstr",
    "uncached_megabytes",
    "count_log_error",
];

/// Builds, counts, fits, prints and writes.
pub fn run(args: &FitCpuArgs) -> Result<()> {
    if let Some(folder) = &args.write_older {
        return samples::write_networks_of_old_runtime(folder, args);
    }
    measurements::ensure_there(&args.measurements)?;
    let samples = samples::all(args)?;
    let mut table = csv::Writer::from_path(&args.table)?;
    table.write_record(TABLE_HEAD)?;
    let mut boards = Vec::new();
    let mut lines = Vec::new();
    for board in &BOARDS {
        let target = board.target;
        let mut fit_of = |is_int8: bool| -> Result<Option<Fit>> {
            let of_board = samples
                .iter()
                .filter(|s| s.board == target && s.is_int8 == is_int8);
            let of_board: Vec<&BoardSample> = of_board.collect();
            let Some(fitted) = fit::fit(&of_board, board) else {
                return Ok(None);
            };
            let numbers = if is_int8 { "int8" } else { "float32" };
            println!("{target}, {numbers}");
            fitted.print();
            lines.push(fitted.line(target, numbers));
            fitted.write(&mut table)?;
            Ok(Some(fitted.fit))
        };
        let float32 = fit_of(false)?;
        let int8 = fit_of(true)?;
        boards.push(Board {
            target: target.into(),
            device: board.device.into(),
            counted_as: board.counted_as.into(),
            n_cores: board.n_cores,
            cached_bytes: board.cached_bytes,
            only_threads: only_threads(target, &samples),
            float32,
            int8,
            energy: None,
        });
    }
    table.flush()?;
    let text = markdown::table(&BoardFit::heads(), lines);
    print!("{text}");
    let text = format!(
        "Made by `litecast-trainer fit-cpu`: errors on one thread with each kind of network left out in turn (each network \
         where one kind was measured), beside a regression on multiply-accumulates, bytes of activations and bytes of weights, \
         fitted to the same networks. Where one kind was measured, its interval is the widest of the Raspberry Pis'.\n\n{text}"
    );
    fs::write(&args.results, text)
        .with_context(|| format!("could not write {}", args.results.display()))?;
    for board in &mut boards {
        board.energy = energy(board, &samples);
    }
    fit::widen_single_kinds(&mut boards);
    let constants = Constants {
        command: format!(
            "litecast-trainer fit-cpu --graphs {} --seed {}",
            args.graphs, args.seed
        ),
        other_precision_factor: fit::other_precision_factor(&boards, &samples),
        operators: fit::operators_of_families(&samples),
        boards,
    };
    println!(
        "other precision: times and over {:.3}",
        constants.other_precision_factor
    );
    fs::write(&args.out, json(&constants)?)
        .with_context(|| format!("could not write {}", args.out.display()))
}

/// `constants.json`, with a line for each field of a board.
pub fn json(constants: &Constants) -> Result<String> {
    json::lines(constants, 3)
}

/// The smallest number of threads of a board on which no network was measured on one thread.
fn only_threads(target: &str, samples: &[BoardSample]) -> Option<u32> {
    let threads = samples
        .iter()
        .filter(|s| s.board == target)
        .map(|s| s.n_threads);
    threads.min().filter(|&n| n > 1)
}

/// Mean power and its error; `None` if no energy was measured.
fn energy(board: &Board, samples: &[BoardSample]) -> Option<Energy> {
    let fit = board.float32.as_ref()?;
    let of_board = samples.iter().filter(|s| s.board == board.target);
    let measured: Vec<(&BoardSample, f64)> =
        of_board.filter_map(|s| Some((s, s.energy_mj?))).collect();
    let pairs: Vec<fit::Pair> = (measured.iter())
        .map(|&(sample, energy_mj)| fit::Pair {
            counted: sample.measured_ms,
            measured: energy_mj,
        })
        .collect();
    let watts = (!pairs.is_empty()).then(|| fit_proportion(&pairs))?;
    let of_power = pairs
        .iter()
        .map(|p| (watts.value * p.counted / p.measured).ln().abs().exp());
    let estimates: Vec<(f64, f64)> = (measured.iter())
        .map(|(sample, mj)| {
            (
                watts.value * fit::estimate_ms(&fit.nanoseconds, &sample.counts),
                *mj,
            )
        })
        .collect();
    Some(Energy {
        watts,
        rail: RPI5_RAIL.to_owned(),
        error: errors(&estimates),
        interval_factor: crate::metrics::conformal_quantile(of_power)?,
    })
}
