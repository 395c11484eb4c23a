//! NeuSight's measurements of single operators in float32 → costs of kernels on GPUs on which no network was measured.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use litecast::targets::gpu::bundle::Mode;
use litecast::targets::gpu::costs::{Amounts, LAUNCHES};
use litecast::targets::gpu::estimate::sum_amounts;
use rayon::prelude::*;
use serde_json::json;

use super::graph_builder::Document;
use super::transfer;

/// Shorter measurements are mostly the time that the host takes to launch a kernel, some 40 µs here. Longer ones do not
/// tell it, so that launches cost what they do elsewhere.
const MIN_MS: f64 = 0.2;
/// Measurements of each operator that are used: every n-th of longer tables.
const MAX_ROWS: usize = 1500;
/// All GPUs run the operators in the same way.
const GPU: &str = "v100-float32";

/// One operator with its time, divided by the first dimension of its input.
pub struct MeasuredKernel {
    pub amounts: Amounts,
    pub time_ms: f64,
}

/// The measurements of one GPU that take at least [`MIN_MS`].
pub fn read(folder: &Path, gpu: &str) -> Result<Vec<MeasuredKernel>> {
    let path = folder.join(format!("neusight_ops_{gpu}.csv.gz"));
    ensure!(
        path.is_file(),
        "no {}: NeuSight's measurements are not part of this repository and lie in `shared/data` beside it",
        path.display()
    );
    let mut reader = csv::Reader::from_reader(GzDecoder::new(File::open(&path)?));
    let headers = reader.headers()?.clone();
    let column = |name: &str| {
        let position = headers.iter().position(|header| header == name);
        position.with_context(|| format!("{}: expected a column `{name}`", path.display()))
    };
    let [operator, latency, dimensions] = [column("op")?, column("latency_ms")?, column("dims")?];
    let mut by_operator: BTreeMap<String, Vec<(String, f64)>> = BTreeMap::new();
    for record in reader.records() {
        let record = record?;
        let text = |column: usize| record.get(column).unwrap_or_default().to_owned();
        let time_ms: f64 = text(latency).parse()?;
        if time_ms >= MIN_MS {
            let rows = by_operator.entry(text(operator)).or_default();
            rows.push((text(dimensions), time_ms));
        }
    }
    let chosen = by_operator.iter().flat_map(|(operator, rows)| {
        let step = rows.len().div_ceil(MAX_ROWS).max(1);
        rows.iter()
            .step_by(step)
            .map(move |(dimensions, time_ms)| (operator, dimensions, *time_ms))
    });
    let chosen: Vec<_> = chosen.collect();
    let rows = chosen
        .into_par_iter()
        .map(|(operator, dimensions, time_ms)| {
            let (document, output, first) = document(operator, dimensions)
                .with_context(|| format!("{}: {operator} {dimensions}", path.display()))?;
            let inputs = ["x", "y"];
            let n_inputs = if is_of_two(operator) { 2 } else { 1 };
            let kernels = document.kernels(&inputs[..n_inputs], &[&output])?;
            let mut amounts = sum_amounts(&kernels, first, transfer::gpu(GPU)?, Mode::Inference);
            amounts[LAUNCHES] = 0.0;
            Ok(MeasuredKernel {
                amounts,
                time_ms: time_ms / first,
            })
        });
    rows.collect()
}

fn is_of_two(operator: &str) -> bool {
    matches!(operator, "add" | "mul" | "div" | "pow" | "bmm")
}

/// A graph of one operator, the name of its output, and the first dimension of its input.
fn document(operator: &str, dimensions: &str) -> Result<(Document, String, f64)> {
    let integer = |name: &str| -> Result<i64> {
        let mut pairs = dimensions
            .split_whitespace()
            .filter_map(|pair| pair.split_once('='));
        let pair = pairs.find(|(key, _)| *key == name);
        let (_, value) = pair.with_context(|| format!("expected a dimension `{name}`"))?;
        Ok(value.parse()?)
    };
    let mut graph = Document::default();
    let none = json!({});
    let first = integer("B")?;
    let (output, first) = match operator {
        "conv" => {
            let [channels, out] = [integer("Input_Channel")?, integer("Output_Channel")?];
            // The table's header has this spelling.
            let [window, size] = [integer("Kernel_Szie")?, integer("Input_Size")?];
            let [stride, padding] = [integer("Stride")?, integer("Padding")?];
            let side = (size + 2 * padding - window) / stride + 1;
            graph.activation("x", &[first, size, size, channels]);
            let weights = graph.constant(&[out, window, window, channels]);
            let padding = if padding == 0 { "VALID" } else { "SAME" };
            let attributes = json!({"stride": [stride, stride], "padding": padding});
            let shape = [first, side, side, out];
            (
                graph.operator("CONV_2D", json!(["x", weights]), &shape, attributes),
                first,
            )
        }
        "linear" => {
            let [rows, columns, depth] = [integer("M")? * first, integer("N")?, integer("K")?];
            graph.activation("x", &[rows, depth]);
            let weights = graph.constant(&[columns, depth]);
            (
                graph.operator(
                    "FULLY_CONNECTED",
                    json!(["x", weights]),
                    &[rows, columns],
                    none,
                ),
                rows,
            )
        }
        "bmm" => {
            let [rows, columns, depth] = [integer("M")?, integer("N")?, integer("K")?];
            graph.activation("x", &[first, rows, depth]);
            graph.activation("y", &[first, depth, columns]);
            let shape = [first, rows, columns];
            (
                graph.operator("BATCH_MATMUL", json!(["x", "y"]), &shape, none),
                first,
            )
        }
        _ => {
            let shape = [first, integer("H")?];
            (elementwise(&mut graph, operator, &shape)?, first)
        }
    };
    Ok((graph, output, first as f64))
}

/// Adds an operator whose output has the shape of its input; returns the name of its output.
fn elementwise(graph: &mut Document, operator: &str, shape: &[i64; 2]) -> Result<String> {
    graph.activation("x", shape);
    let kind = match operator {
        "add" | "addu" => "ADD",
        "mul" | "mulu" => "MUL",
        "div" | "divu" => "DIV",
        "pow" | "powu" => "POW",
        "relu" => "RELU",
        "gelu" => "GELU",
        "tanh" => "TANH",
        "softmax" => "SOFTMAX",
        "ln" => "LAYER_NORMALIZATION",
        other => anyhow::bail!("expected an operator that is known here, found `{other}`"),
    };
    let mut inputs = vec!["x".to_owned()];
    match operator {
        "ln" => inputs.extend([graph.constant(&shape[1..]), graph.constant(&shape[1..])]),
        "addu" | "mulu" | "divu" | "powu" => inputs.push(graph.constant(&[])),
        _ if is_of_two(operator) => {
            graph.activation("y", shape);
            inputs.push("y".to_owned());
        }
        _ => {}
    }
    Ok(graph.operator(kind, json!(inputs), shape, json!({})))
}
