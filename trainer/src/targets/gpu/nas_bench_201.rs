//! HELP's measurements of NAS-Bench-201 on GPUs, in float32: 15,625 networks for images of 32×32.
//!
//! The networks are those that PyTorch ran: edges whose results nothing reads were computed as well, and the operation
//! `none` is a product with 0.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use litecast::targets::gpu::bundle::Mode;
use litecast::targets::gpu::costs::Amounts;
use litecast::targets::gpu::estimate::sum_amounts;
use rayon::prelude::*;
use serde_json::json;

use super::graph_builder::Document;
use super::transfer::gpu;

/// Latencies by architecture.
const GPUS: &str = "gpu/help_nasbench201_gpu.csv.gz";
/// Architectures by index.
const ARCHITECTURES: &str = "nb201_help_latency_ms.csv.gz";
/// The batch size at which the GPU and not the host limits the speed.
pub const BATCH: f64 = 256.0;
/// All GPUs run the networks in the same way.
const GPU: &str = "titan-rtx-float32";
const CHANNELS: [i64; 3] = [16, 32, 64];
const CELLS: usize = 5;
const CLASSES: i64 = 10;
const SIDE: i64 = 32;

/// A network with its latencies divided by the batch size, by column of the table.
pub struct MeasuredArchitecture {
    pub amounts: Amounts,
    pub ms_by_gpu: BTreeMap<String, f64>,
}

/// `folder` is that of all measurements.
pub fn read(folder: &Path) -> Result<Vec<MeasuredArchitecture>> {
    let architectures = records(&folder.join(ARCHITECTURES))?;
    let text = |record: &BTreeMap<String, String>, name: &str| {
        record
            .get(name)
            .cloned()
            .with_context(|| format!("expected a column `{name}`"))
    };
    let mut by_idx = BTreeMap::new();
    for record in &architectures {
        by_idx.insert(text(record, "arch_idx")?, text(record, "arch_str")?);
    }
    let measured = records(&folder.join(GPUS))?;
    let suffix = format!("_{BATCH}");
    let row = |record: &BTreeMap<String, String>| {
        let idx = text(record, "idx")?;
        let architecture = by_idx
            .get(&idx)
            .with_context(|| format!("no architecture {idx}"))?;
        let mut ms_by_gpu = BTreeMap::new();
        for (name, value) in record {
            if let Some(gpu) = name.strip_suffix(&suffix) {
                ms_by_gpu.insert(gpu.to_owned(), value.parse::<f64>()? / BATCH);
            }
        }
        Ok(MeasuredArchitecture {
            amounts: network(architecture)?,
            ms_by_gpu,
        })
    };
    measured.par_iter().map(row).collect()
}

fn records(path: &Path) -> Result<Vec<BTreeMap<String, String>>> {
    ensure!(
        path.is_file(),
        "no {}: HELP's measurements are not part of this repository and lie in `shared/data` beside it",
        path.display()
    );
    let mut reader = csv::Reader::from_reader(GzDecoder::new(File::open(path)?));
    reader.deserialize().map(|record| Ok(record?)).collect()
}

/// Amounts of the network with this cell, `|op~0|+|op~0|op~1|+|op~0|op~1|op~2|`.
fn network(architecture: &str) -> Result<Amounts> {
    let mut graph = Document::default();
    graph.activation("x", &[1, SIDE, SIDE, 3]);
    let mut x = graph.convolution("x", 3, CHANNELS[0], 3, 1, SIDE, false);
    let mut side = SIDE;
    for (stage, channels) in CHANNELS.into_iter().enumerate() {
        if stage > 0 {
            x = reduction(&mut graph, &x, CHANNELS[stage - 1], channels, side);
            side /= 2;
        }
        for _ in 0..CELLS {
            x = cell(&mut graph, &x, architecture, channels, side)?;
        }
    }
    let shape = [1, side, side, CHANNELS[2]];
    let relu = graph.operator("RELU", json!([x]), &shape, json!({}));
    let axes = json!({"axes": [1, 2], "keep_dims": false});
    let mean = graph.operator("MEAN", json!([relu]), &[1, CHANNELS[2]], axes);
    let weights = graph.constant(&[CLASSES, CHANNELS[2]]);
    let bias = graph.constant(&[CLASSES]);
    let inputs = json!([mean, weights, bias]);
    let output = graph.operator("FULLY_CONNECTED", inputs, &[1, CLASSES], json!({}));
    let kernels = graph.kernels(&["x"], &[&output])?;
    Ok(sum_amounts(&kernels, BATCH, gpu(GPU)?, Mode::Inference))
}

/// The sum of the edges of each node, in their order.
fn cell(
    graph: &mut Document,
    input: &str,
    architecture: &str,
    channels: i64,
    side: i64,
) -> Result<String> {
    let shape = [1, side, side, channels];
    let mut nodes = vec![input.to_owned()];
    for edges in architecture.split('+') {
        let mut sum: Option<String> = None;
        for edge in edges.split('|').filter(|edge| !edge.is_empty()) {
            let (operation, from) = edge.split_once('~').context("expected `operation~node`")?;
            let from: usize = from.parse()?;
            let x = nodes.get(from).context("expected an earlier node")?.clone();
            let result = match operation {
                "skip_connect" => x,
                // A product with 0 reads and writes the whole map.
                "none" => graph.operator("ROLL", json!([x]), &shape, json!({})),
                "avg_pool_3x3" => pool(graph, &x, 3, 1, &shape),
                "nor_conv_1x1" => relu_conv_norm(graph, &x, channels, channels, 1, 1, side),
                "nor_conv_3x3" => relu_conv_norm(graph, &x, channels, channels, 3, 1, side),
                other => anyhow::bail!("expected an operation of NAS-Bench-201, found `{other}`"),
            };
            sum = Some(match sum {
                None => result,
                Some(sum) => graph.operator("ADD", json!([sum, result]), &shape, json!({})),
            });
        }
        nodes.push(sum.context("expected edges")?);
    }
    nodes.pop().context("expected nodes")
}

/// ReLU, convolution, batch norm.
fn relu_conv_norm(
    graph: &mut Document,
    x: &str,
    channels: i64,
    out: i64,
    window: i64,
    stride: i64,
    side: i64,
) -> String {
    let relu = graph.operator("RELU", json!([x]), &[1, side, side, channels], json!({}));
    graph.convolution(&relu, channels, out, window, stride, side, false)
}

fn pool(graph: &mut Document, x: &str, window: i64, stride: i64, shape: &[i64]) -> String {
    let attributes =
        json!({"filter": [window, window], "stride": [stride, stride], "padding": "SAME"});
    graph.operator("AVERAGE_POOL_2D", json!([x]), shape, attributes)
}

/// The residual block between stages.
fn reduction(graph: &mut Document, x: &str, channels: i64, out: i64, side: i64) -> String {
    let next = side / 2;
    let first = relu_conv_norm(graph, x, channels, out, 3, 2, side);
    let second = relu_conv_norm(graph, &first, out, out, 3, 1, next);
    let pooled = pool(graph, x, 2, 2, &[1, next, next, channels]);
    let weights = graph.constant(&[out, 1, 1, channels]);
    let shape = [1, next, next, out];
    let shortcut = graph.operator("CONV_2D", json!([pooled, weights]), &shape, json!({}));
    graph.operator("ADD", json!([second, shortcut]), &shape, json!({}))
}
