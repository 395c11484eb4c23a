//! `litecast-trainer bench-predictor`: graphs per second on one thread.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use litecast::estimate::{ModelFile, estimate_many};
use litecast::learned::features::Features;
use litecast::targets::ethos_u;
use litecast::{
    formats::tflite,
    graph::{self, analysis},
};

use crate::evaluate::files::load_bundle;
use crate::spaces::{Space, sample};

const SEED: u64 = 0;
/// Numbers of graphs per call.
const BATCH_SIZES: [usize; 3] = [1, 8, 64];
const N_GRAPHS: usize = 64;
/// Passes over all graphs in a run, because the system counts processor time in steps of milliseconds.
const N_PASSES: usize = 8;

/// Times a bundle on networks of all design spaces with a given number of operators.
#[derive(Clone, Debug, clap::Args)]
pub struct BenchPredictorArgs {
    /// Folder of the bundle: `predictor.onnx` and `manifest.json`.
    #[arg(long, default_value = "bundle")]
    pub bundle: PathBuf,
    /// Of each network.
    #[arg(long, default_value_t = 70)]
    pub operators: usize,
    /// Measured runs, of which the median, the slowest and the fastest are printed.
    #[arg(long, default_value_t = 5)]
    pub runs: usize,
}

/// Prints how many graphs a second of processor time the network estimates from their features, and
/// how many go from files to features, and from files to reports.
pub fn run(args: &BenchPredictorArgs) -> Result<()> {
    let predictor = load_bundle(&args.bundle)?;
    let files = networks(args.operators);
    let features: Vec<Features> = files
        .iter()
        .map(|f| features_of(f))
        .collect::<Result<_>>()?;
    let features: Vec<&Features> = features.iter().collect();
    println!("{N_GRAPHS} networks of {} operators", args.operators);
    for batch_size in BATCH_SIZES {
        let rates = rates(args.runs, || {
            for graphs in features.chunks(batch_size) {
                predictor.predict_many(graphs)?;
            }
            Ok(())
        })?;
        print_rates(&format!("network, {batch_size} at a time"), &rates);
    }
    let read = || {
        files
            .iter()
            .try_for_each(|file| features_of(file).map(drop))
    };
    print_rates("files to features", &rates(args.runs, read)?);
    let files: Vec<ModelFile> = files
        .iter()
        .map(|bytes| ModelFile::new("", bytes))
        .collect();
    let report = || Ok(estimate_many(&files, Some(&predictor)).map(drop)?);
    print_rates("files to reports", &rates(args.runs, report)?);
    Ok(())
}

/// The files of the first networks that have this number of operators, alternating between the design spaces.
fn networks(n_operators: usize) -> Vec<Vec<u8>> {
    let samples = (0..).flat_map(|index| Space::all().map(move |space| sample(space, SEED, index)));
    let fitting = samples.filter(|sample| sample.network.operators.len() == n_operators);
    fitting
        .take(N_GRAPHS)
        .map(|sample| sample.to_tflite())
        .collect()
}

fn features_of(file: &[u8]) -> Result<Features> {
    let model = tflite::parse(file)?;
    let graph = graph::build(&model, 0)?;
    Ok(ethos_u::features(&graph, &analysis::analyze(&graph)))
}

/// Graphs per second of processor time of each run, ascending. The first pass does not count.
fn rates(n_runs: usize, mut run: impl FnMut() -> Result<()>) -> Result<Vec<f64>> {
    run()?;
    let mut rates = Vec::new();
    for _ in 0..n_runs {
        let started = thread_seconds()?;
        for _ in 0..N_PASSES {
            run()?;
        }
        let seconds = thread_seconds()? - started;
        rates.push((N_PASSES * N_GRAPHS) as f64 / seconds);
    }
    rates.sort_by(f64::total_cmp);
    Ok(rates)
}

/// Seconds of processor time of this thread, without other programs on the machine.
fn thread_seconds() -> Result<f64> {
    const FILE: &str = "/proc/thread-self/schedstat";
    let text = fs::read_to_string(FILE).context(FILE)?;
    let nanoseconds = text.split(' ').next().context(FILE)?;
    Ok(nanoseconds.parse::<f64>()? / 1e9)
}

fn print_rates(what: &str, rates: &[f64]) {
    if let [slowest, .., fastest] = rates {
        let median = rates[rates.len() / 2];
        println!("{what:<22} {median:6.0} graphs/s ({slowest:.0} to {fastest:.0})");
    }
}
