//! Weightless graphs that `trainer/python/export_timm.py` writes → kernels.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use litecast::formats::graph_json;
use litecast::graph::{self, Graph};
use litecast::targets::gpu::kernels::{Kernel, kernels};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use rayon::prelude::*;

/// The properties of a network that do not depend on its weights.
pub struct KernelNetwork {
    /// In the order in which they run.
    pub kernels: Vec<Kernel>,
    /// By kernel, the shape of its output.
    pub shapes: Vec<Vec<i32>>,
    /// Number of parameters.
    pub parameters: f64,
}

impl KernelNetwork {
    /// The kernels of a graph.
    pub fn new(graph: &Graph, parameters: f64) -> Self {
        let kernels = kernels(graph);
        let shape = |kernel: &Kernel| graph.tensor(kernel.output).shape.clone();
        Self {
            shapes: kernels.iter().map(shape).collect(),
            kernels,
            parameters,
        }
    }
}

/// By model and image size.
pub type Networks = BTreeMap<(String, u32), KernelNetwork>;

/// The networks of one file that come from `source` (`timm`, `torchvision`).
pub fn read(path: &Path, source: &str) -> Result<Networks> {
    ensure!(
        path.is_file(),
        "no {}: `python trainer/python/export_timm.py` writes it",
        path.display()
    );
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?.build()?;
    let mut rows = Vec::new();
    for batch in reader {
        let batch = batch?;
        let column = |name: &str| {
            let column = batch.column_by_name(name);
            column.with_context(|| format!("{}: expected a column `{name}`", path.display()))
        };
        let texts = |name: &str| -> Result<Vec<String>> {
            let column = column(name)?;
            // Writers choose between offsets of 32 and of 64 bits.
            let texts: Option<Vec<_>> = match column.as_string_opt::<i32>() {
                Some(short) => short.iter().map(|text| text.map(str::to_owned)).collect(),
                None => column.as_string_opt::<i64>().and_then(|long| {
                    let texts = long.iter().map(|text| text.map(str::to_owned));
                    texts.collect()
                }),
            };
            texts.with_context(|| format!("{}: expected texts in column `{name}`", path.display()))
        };
        let (sources, models, graphs) = (texts("source")?, texts("model")?, texts("graph")?);
        let sizes = column("image_size")?.as_primitive::<Int64Type>().clone();
        let parameters = column("parameters")?.as_primitive::<Int64Type>().clone();
        for (row, (model, graph)) in models.into_iter().zip(graphs).enumerate() {
            if sources[row] == source {
                let size = u32::try_from(sizes.value(row))?;
                rows.push(((model, size), parameters.value(row) as f64, graph));
            }
        }
    }
    let network = |(key, parameters, text): ((String, u32), f64, String)| {
        let model = graph_json::parse(text.as_bytes()).with_context(|| key.0.clone())?;
        let graph = graph::build(&model, 0)?;
        Ok((key, KernelNetwork::new(&graph, parameters)))
    };
    rows.into_par_iter().map(network).collect()
}
