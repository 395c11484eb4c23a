//! `litecast-trainer evaluate-devices`: errors of the shipped predictor on networks that others measured on boards and
//! phones, uncalibrated and calibrated with a few of the measurements.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use litecast::calibration::{Calibration, Measurement};
use litecast::estimate::{ModelFile, estimate};
use litecast::learned::predictor::Predictor;
use litecast::report::Report;
use litecast::targets::{Metric, Outcome};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use super::files::load_bundle;
use crate::markdown::{Head, table};
use crate::metrics::summarise_pairs;
use crate::targets::cortex_a::boards::measurements::{self, RPI4, RPI5, Source};
use crate::targets::cortex_a::boards::rebuild::{self, DEPLOYMENTS, Deployment};

/// Compares the bundle's estimates with measured boards and phones, after 0, 3, 10 and 30 measurements.
#[derive(Clone, Debug, clap::Args)]
pub struct EvaluateDevicesArgs {
    /// Folder of the bundle: `predictor.onnx` and `manifest.json`.
    #[arg(long, default_value = "bundle")]
    pub bundle: PathBuf,
    /// Folder of the published measurements.
    #[arg(long, default_value = "../shared/data")]
    pub measurements: PathBuf,
    /// Graphs of NAS-Bench-201 to draw for each device.
    #[arg(long, default_value_t = 200)]
    pub graphs: usize,
    /// Seed of the networks that are drawn for calibration.
    #[arg(long, default_value_t = 4)]
    pub seed: u64,
    /// File that the Markdown is written to.
    #[arg(long, default_value = "trainer/results/devices.md")]
    pub out: PathBuf,
}

/// Name of the device, source of its latencies, and measured task.
const DEVICES: [(&str, Source, &str); 10] = [
    ("Raspberry Pi 5, 32×32", RPI5, "cifar100"),
    ("Raspberry Pi 5, 52×16", RPI5, "ninapro"),
    ("Raspberry Pi 5, 88×88", RPI5, "darcy"),
    (
        "Pixel phone, 32×32",
        Source::HwNasBench360("pixel"),
        "cifar100",
    ),
    ("Raspberry Pi 4", RPI4, "cifar10"),
    ("Pixel 2", Source::Help("pixel2"), "cifar10"),
    ("Pixel 3", Source::Help("pixel3"), "cifar10"),
    ("Galaxy A50", Source::Help("samsung_a50"), "cifar10"),
    ("Galaxy S7", Source::Help("samsung_s7"), "cifar10"),
    ("Essential PH-1", Source::Help("essential_ph_1"), "cifar10"),
];

/// The target whose estimate is used without calibration: the board's own target, or, for phones, the target whose fit
/// contains networks of this kind.
fn uncalibrated(device: &str) -> &'static str {
    match device {
        "Raspberry Pi 4" => "cortex-a72-rpi4",
        _ => "cortex-a76-rpi5",
    }
}

const N_MEASURED: [usize; 3] = [3, 10, 30];
/// Number of networks that measure the error; none of them is used for calibration.
const N_TEST: usize = 100;
/// Number of draws of the calibrating networks; the error depends strongly on a single draw of three.
const N_DRAWS: u64 = 50;

/// Runs the subcommand. Fails if a file that it needs cannot be read, or a result cannot be written.
pub fn run(args: &EvaluateDevicesArgs) -> Result<()> {
    measurements::ensure_there(&args.measurements)?;
    let most = N_TEST + N_MEASURED[N_MEASURED.len() - 1];
    ensure!(
        args.graphs >= most,
        "expected at least {most} graphs, found {}",
        args.graphs
    );
    let predictor = load_bundle(&args.bundle)?;
    let mut rows = Vec::new();
    for (name, source, task) in DEVICES {
        let measurements = measurements_of(args, &predictor, source, task)?;
        rows.push(row(name, &measurements, args.seed)?);
    }
    let text = text(&rows, args);
    fs::write(&args.out, &text).with_context(|| args.out.display().to_string())?;
    print!("{text}");
    Ok(())
}

fn measurements_of(
    args: &EvaluateDevicesArgs,
    predictor: &Predictor,
    source: Source,
    task: &str,
) -> Result<Vec<Measurement>> {
    let measured = measurements::read_device(Path::new(&args.measurements), source)?;
    let deployment: &Deployment = DEPLOYMENTS
        .iter()
        .find(|deployment| deployment.task == task)
        .context("every task is deployed")?;
    let graphs = rebuild::draw(&measured, args.graphs, args.seed);
    let measurement = |graph: &rebuild::Graph| {
        let bytes = graph.to_tflite(deployment);
        let report = estimate(ModelFile::new(&graph.arch, &bytes), Some(predictor))?;
        let key = (graph.arch.clone(), task.to_owned());
        let value = measured.get(&key).context("a drawn graph was measured")?;
        Ok(Measurement {
            estimates_ms: latencies_ms(&report),
            measured_ms: value.latency_ms,
        })
    };
    graphs.par_iter().map(measurement).collect()
}

/// Latency by target, for targets that the predictor estimates.
fn latencies_ms(report: &Report) -> BTreeMap<String, f64> {
    let latencies = report
        .results
        .iter()
        .filter(|r| r.metric == Metric::Latency);
    let pair = |result: &litecast::report::TargetResult| match &result.outcome {
        Outcome::Estimate { value, .. } => Some((result.target.clone(), *value)),
        Outcome::Unavailable { .. } => None,
    };
    latencies.filter_map(pair).collect()
}

/// Mean and median error in percent, uncalibrated and by the number of calibrating measurements.
struct DeviceRow {
    name: &'static str,
    errors: Vec<[f64; 2]>,
}

fn row(name: &'static str, measurements: &[Measurement], seed: u64) -> Result<DeviceRow> {
    let target = uncalibrated(name);
    let as_is = |m: &Measurement| m.estimates_ms.get(target).copied();
    let missing = || format!("expected estimates of {target}, found none");
    let estimates: Option<Vec<f64>> = measurements.iter().map(as_is).collect();
    let errors = |pairs: Vec<(f64, f64)>| {
        let summary = summarise_pairs(&pairs);
        [summary.mape, summary.median_ape]
    };
    let pairs = estimates
        .with_context(missing)?
        .into_iter()
        .zip(measurements);
    let mut all = vec![errors(pairs.map(|(e, m)| (e, m.measured_ms)).collect())];
    for n in N_MEASURED {
        let mut sums = [0.0; 2];
        for draw in 0..N_DRAWS {
            let mut shuffled = measurements.to_vec();
            shuffled.shuffle(&mut ChaCha8Rng::seed_from_u64(seed + draw));
            let (test, others) = shuffled.split_at(N_TEST);
            let calibration = Calibration::fit(&others[..n])?;
            let pair = |m: &Measurement| {
                let estimate_ms = m.estimates_ms[&calibration.target];
                (calibration.latency_ms(estimate_ms), m.measured_ms)
            };
            let test_errors = errors(test.iter().map(pair).collect());
            sums.iter_mut()
                .zip(test_errors)
                .for_each(|(sum, e)| *sum += e);
        }
        all.push(sums.map(|sum| sum / N_DRAWS as f64));
    }
    Ok(DeviceRow { name, errors: all })
}

fn text(rows: &[DeviceRow], args: &EvaluateDevicesArgs) -> String {
    let mut heads = Vec::from(["device", "estimate of"].map(Head::text));
    heads.push(Head::number("none"));
    heads.extend(N_MEASURED.map(|n| Head::number(format!("{n} measurements"))));
    let row = |row: &DeviceRow| {
        let errors = row.errors.iter();
        let errors = errors.map(|[mean, median]| format!("{mean:.1} % ({median:.1} %)"));
        let words = [row.name.to_owned(), format!("`{}`", uncalibrated(row.name))];
        words.into_iter().chain(errors).collect()
    };
    format!(
        "# Measured boards and phones\n\n\
         Mean (median) absolute percentage error of latency on float32 networks of NAS-Bench-201 that others \
         measured, {} of each device, drawn anew. Without measurements: the estimate of the board's own target \
         as it is, for phones that of `cortex-a76-rpi5`. With {} of them: `litecast::calibration`, which chooses \
         among all targets, the error on {N_TEST} others, mean of {N_DRAWS} draws. The Raspberry Pi 5's constants \
         were fitted to 40 of these networks on each of its three tasks, those of the Raspberry Pi 4 to none: its \
         table is of a runtime more than twice as slow as LiteRT. Written by `litecast-trainer evaluate-devices`.\n\n{}\n\
         Latencies of Pixel 2, Galaxy A50, Galaxy S7 and Essential PH-1 were published in whole \
         milliseconds; their runtime, and the Raspberry Pi 4's, is not told.\n",
        args.graphs,
        N_MEASURED.map(|n| n.to_string()).join(", "),
        table(&heads, rows.iter().map(row)),
    )
}
