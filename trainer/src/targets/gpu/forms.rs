//! Compares `.onnx` files of networks with graphs of the same networks from `export_timm.py`: both must become the same
//! kernels.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use litecast::formats::onnx::{self, Dimensions};
use litecast::graph;
use litecast::targets::gpu::bundle::{Run, distance, position};
use litecast::targets::gpu::costs::{Amounts, NAMES};
use litecast::targets::gpu::estimate::{sum_amounts, time};
use litecast::targets::gpu::kernels::{Kernel, kernels};

use super::graphs::Networks;
use super::roofline::dot;
use super::transfer::gpu;

/// Batch size at which amounts are compared, a usual one of the measurements.
const BATCH: f64 = 256.0;
/// Relative tolerance, because amounts are sums of floating-point numbers in different orders.
const ROUNDING: f64 = 1e-9;
/// Number of differences that are printed for a network.
const N_SHOWN: usize = 3;

/// Prints the ratio of times and the distance of positions for each network in `folder` (`timm_NAME.onnx`) that has a
/// graph, then the number of networks with equal amounts.
pub fn compare(folder: &Path, networks: &Networks, run: &Run) -> Result<()> {
    let gpu = gpu(&run.target)?;
    let (mut n_equal, mut ratios) = (0, Vec::new());
    println!(
        "| network | time from ONNX over time from the graph | distance | amounts that differ most |"
    );
    println!("|---|---:|---:|---|");
    for (model, side, of_onnx) in read(folder)? {
        let Some(network) = networks.get(&(model.clone(), side)) else {
            continue;
        };
        let [a, b] =
            [&of_onnx, &network.kernels].map(|kernels| sum_amounts(kernels, BATCH, gpu, run.mode));
        let [Some(time_a), Some(time_b)] =
            [&of_onnx, &network.kernels].map(|kernels| time(run, kernels, BATCH, gpu))
        else {
            continue;
        };
        let differences = differences(&a, &b, run);
        n_equal += usize::from(differences.is_empty());
        let ratio = time_a.value_ms / time_b.value_ms;
        ratios.push(ratio);
        let [a, b] = [a, b].map(|amounts| position(&amounts, &run.costs_ms));
        println!(
            "| `{model}` {side} | {ratio:.4} | {:.3} | {} |",
            distance(&a, &b),
            differences.join(", ")
        );
    }
    ensure!(
        !ratios.is_empty(),
        "{}: expected timm_NAME.onnx of networks in the graphs",
        folder.display()
    );
    let n_near = ratios
        .iter()
        .filter(|ratio| (*ratio - 1.0).abs() < 0.01)
        .count();
    let mut errors: Vec<f64> = ratios
        .iter()
        .map(|ratio| 100.0 * (ratio - 1.0).abs())
        .collect();
    errors.sort_by(f64::total_cmp);
    println!(
        "\n{} networks: {n_equal} with equal amounts, {n_near} with times within 1 %; the times differ by {:.2} % in the \
         median, {:.1} % at most",
        ratios.len(),
        errors[errors.len() / 2],
        errors[errors.len() - 1]
    );
    Ok(())
}

/// Name, image size and kernels of each file.
fn read(folder: &Path) -> Result<Vec<(String, u32, Vec<Kernel>)>> {
    let mut paths = BTreeMap::new();
    for entry in
        fs::read_dir(folder).with_context(|| format!("could not list {}", folder.display()))?
    {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if let Some(model) = name
            .strip_prefix("timm_")
            .and_then(|name| name.strip_suffix(".onnx"))
        {
            paths.insert(model.to_owned(), path);
        }
    }
    let mut files = Vec::new();
    for (name, path) in paths {
        let dimensions = Dimensions {
            batch: 1,
            named: &[],
        };
        let model = onnx::parse(&fs::read(&path)?, &dimensions).with_context(|| name.clone())?;
        let graph = graph::build(&model, 0)?;
        // Images are stored with the channels last.
        let shape = graph
            .subgraph
            .inputs
            .first()
            .map(|&input| graph.tensor(input).shape.clone());
        let side = shape.and_then(|shape| u32::try_from(*shape.get(1)?).ok());
        files.push((name, side.unwrap_or(0), kernels(&graph)));
    }
    Ok(files)
}

/// The largest differences of amounts, by their share of the network's time, in words.
fn differences(a: &Amounts, b: &Amounts, run: &Run) -> Vec<String> {
    let total = dot(b, &run.costs_ms).max(f64::MIN_POSITIVE);
    let differs =
        |idx: &usize| (a[*idx] - b[*idx]).abs() > ROUNDING * a[*idx].abs().max(b[*idx].abs());
    let share = |idx: usize| (a[idx] - b[idx]) * run.costs_ms[idx] / total;
    let mut differing: Vec<usize> = (0..NAMES.len()).filter(differs).collect();
    differing.sort_by(|a, b| share(*b).abs().total_cmp(&share(*a).abs()));
    let words = |&idx: &usize| {
        format!(
            "{} {:.4} for {:.4} ({:+.2} %)",
            NAMES[idx],
            a[idx],
            b[idx],
            100.0 * share(idx)
        )
    };
    differing.iter().take(N_SHOWN).map(words).collect()
}
