//! Labels and the bytes of their graph → the rows of the tables.

use anyhow::{Context, Result};
use litecast::learned::features::Features;
use litecast::{
    formats::tflite,
    graph::{self, analysis},
    targets::ethos_u,
};

use super::labels::GraphLabels;
use super::structure::structure_hash;
use crate::labels::{bytes_of, sha256_hex};

/// One graph, ready to be written.
#[derive(Clone, Debug)]
pub struct GraphRow {
    pub labels: GraphLabels,
    /// Distribution of its weights, for example `gaussian(sigma=12.5)`; empty for a file.
    pub weight_distribution: String,
    pub structure_hash: String,
    pub file_bytes: u64,
    pub n_tensors: u32,
    pub features: Features,
    /// Index in the file of each node's operator.
    pub operator_idx: Vec<u32>,
    pub operator_names: Vec<String>,
}

/// The reason why a labelled graph is not in the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SkipReason {
    /// Its origin gives other bytes today than at the time of labelling.
    Stale,
}

/// Makes the graph's bytes again and computes the features from them.
pub fn featurize(labels: GraphLabels) -> Result<Result<GraphRow, SkipReason>> {
    let bytes = bytes_of(&labels.origin)?;
    if sha256_hex(&bytes) != labels.sha256 {
        return Ok(Err(SkipReason::Stale));
    }
    let graph_id = labels.origin.graph_id();
    let weight_distribution = crate::labels::weight_distribution(&labels.origin)?;
    let row = read(labels, weight_distribution, &bytes).with_context(|| graph_id)?;
    Ok(Ok(row))
}

fn read(labels: GraphLabels, weight_distribution: String, bytes: &[u8]) -> Result<GraphRow> {
    let model = tflite::parse(bytes)?;
    let graph = graph::build(&model, 0)?;
    let analysis = analysis::analyze(&graph);
    let index = |node: &graph::Node| node.operator_idx as u32;
    let name = |node: &graph::Node| node.operator.code.name().to_string();
    Ok(GraphRow {
        labels,
        weight_distribution,
        structure_hash: structure_hash(&graph),
        file_bytes: bytes.len() as u64,
        n_tensors: graph.subgraph.tensors.len() as u32,
        features: ethos_u::features(&graph, &analysis),
        operator_idx: graph.nodes.iter().map(index).collect(),
        operator_names: graph.nodes.iter().map(name).collect(),
    })
}
