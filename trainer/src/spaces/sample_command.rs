//! `litecast-trainer sample`: writes sampled networks as files.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Args;

use super::{Sample, Space, sample};

#[derive(Args)]
pub struct SampleArgs {
    /// cnn-cifar10, cnn-imagenet, cnn-kws or vit-cifar100
    #[arg(long, value_parser = Space::from_str)]
    space: Space,
    /// Number of networks
    #[arg(long, default_value_t = 10)]
    count: u64,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Index of the first network
    #[arg(long, default_value_t = 0)]
    start: u64,
    /// Directory for the files, made if absent; without it nothing is kept
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Writes `SPACE-sSEED-iINDEX.tflite` for each network; prints a line on each, and the rate to
/// standard error.
pub fn run(args: &SampleArgs) -> Result<()> {
    if let Some(out) = &args.out {
        fs::create_dir_all(out).with_context(|| format!("make directory {}", out.display()))?;
    }
    let started = Instant::now();
    let mut total_bytes = 0;
    for index in args.start..args.start.saturating_add(args.count) {
        let sample = sample(args.space, args.seed, index);
        let bytes = sample.to_tflite();
        total_bytes += bytes.len();
        if let Some(out) = &args.out {
            write(&sample, &bytes, out)?;
        }
        println!("{}", line(&sample, bytes.len()));
    }
    eprintln!(
        "{}",
        rate(args.count, total_bytes, started.elapsed().as_secs_f64())
    );
    Ok(())
}

fn write(sample: &Sample, bytes: &[u8], out: &Path) -> Result<()> {
    let path = out.join(format!("{}.tflite", sample.network.name));
    fs::write(&path, bytes).with_context(|| format!("write {}", path.display()))
}

fn rate(count: u64, total_bytes: usize, seconds: f64) -> String {
    let megabytes = total_bytes as f64 / 1e6;
    format!(
        "{count} networks, {megabytes:.1} MB in {seconds:.2} s: {:.0} networks/s, {:.0} MB/s",
        count as f64 / seconds,
        megabytes / seconds
    )
}

fn line(sample: &Sample, n_bytes: usize) -> String {
    format!(
        "{} operators={} tensors={} bytes={n_bytes} structure={:016x} weights={}",
        sample.network.name,
        sample.network.operators.len(),
        sample.network.tensors.len(),
        sample.structure_hash(),
        sample.weight_distribution,
    )
}
