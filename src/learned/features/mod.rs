//! [`Graph`] and [`Analysis`] → [`Features`]: the one featurizer, shared by trainer and browser.

mod columns;
mod compiler;
mod context;

pub use columns::{COLUMNS, Column, Group, N_COLUMNS};
pub use compiler::{CompilerPlan, N_ACCELERATORS, PlannedOperator};

use sha2::{Digest, Sha256};

use crate::graph::Graph;
use crate::graph::analysis::Analysis;
use context::{MacsAndBytes, ModelEnds, NodeContext};

/// The input of a predictor for one graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Features {
    /// Operator kind of each node: the `BuiltinOperator` number (32 for custom operators).
    pub categories: Vec<i32>,
    /// Row-major `[n_nodes, N_COLUMNS]`. Every value is finite and has the unit that [`COLUMNS`] states. Scaling of the
    /// values is part of the trained network.
    pub nodes: Vec<f32>,
    /// Node index of the writer of each edge, duplicates removed, sorted by reader, then writer.
    pub edge_src: Vec<u32>,
    /// Node index of the reader of each edge.
    pub edge_dst: Vec<u32>,
}

impl Features {
    pub fn n_nodes(&self) -> usize {
        self.categories.len()
    }
}

/// Identifies the meaning of [`Features::nodes`]: 16 hexadecimal digits of a SHA-256 over the table. A trained bundle
/// contains this id and is refused if it differs.
pub fn schema_id() -> String {
    let mut hash = Sha256::new();
    hash.update(columns::REVISION.to_le_bytes());
    for column in COLUMNS {
        for text in [column.name, column.group.name(), column.meaning] {
            hash.update(text);
            hash.update([0]);
        }
    }
    hash.finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// The predictor's input for one graph. Linear in nodes and edges.
///
/// `compiler` is the plan of the target's compiler for the same graph.
pub fn extract(graph: &Graph, analysis: &Analysis, compiler: &CompilerPlan) -> Features {
    let (edge_src, edge_dst) = distinct_edges(graph);
    let n_nodes = graph.nodes.len();
    let n_predecessors = degrees(&edge_dst, n_nodes);
    let n_successors = degrees(&edge_src, n_nodes);
    let mut nodes = Vec::with_capacity(n_nodes * N_COLUMNS);
    let ends = ModelEnds::new(graph.subgraph);
    let counts: Vec<MacsAndBytes> = (compiler.coded_weight_bytes.iter().enumerate())
        .map(|(node_idx, &coded_bytes)| MacsAndBytes::new(graph, analysis, coded_bytes, node_idx))
        .collect();
    let order = &compiler.execution_order;
    let mut step_of = vec![0; n_nodes];
    for (step, &node_idx) in order.iter().enumerate() {
        step_of[node_idx] = step;
    }
    let counts_at = |step: Option<usize>| {
        let node_idx = step.and_then(|step| order.get(step));
        node_idx.map(|&at| counts[at]).unwrap_or_default()
    };
    let mut so_far = MacsAndBytes::default();
    for (node_idx, &step) in step_of.iter().enumerate() {
        so_far += counts[node_idx];
        let context = NodeContext {
            counts: counts[node_idx],
            so_far,
            before: counts_at(step.checked_sub(1)),
            next: counts_at(Some(step + 1)),
            feature_map_bytes_alive: compiler.live_feature_map_bytes[step],
            planned: compiler.operators.each_ref().map(|plan| plan[node_idx]),
            n_predecessors: n_predecessors[node_idx],
            n_successors: n_successors[node_idx],
            ..NodeContext::new(graph, analysis, &ends, node_idx)
        };
        nodes.extend(COLUMNS.iter().map(|column| (column.value)(&context)));
    }
    let categories = graph
        .nodes
        .iter()
        .map(|node| node.operator.code.kind.number())
        .collect();
    Features {
        categories,
        nodes,
        edge_src,
        edge_dst,
    }
}

/// (writers, readers) of the edges. Each pair of nodes occurs once, however many tensors connect it.
fn distinct_edges(graph: &Graph) -> (Vec<u32>, Vec<u32>) {
    let mut pairs: Vec<(u32, u32)> = graph
        .edges
        .iter()
        .map(|edge| (edge.dst as u32, edge.src as u32))
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs.into_iter().map(|(dst, src)| (src, dst)).unzip()
}

fn degrees(ends: &[u32], n_nodes: usize) -> Vec<f32> {
    let mut degrees = vec![0.0; n_nodes];
    for &end in ends {
        degrees[end as usize] += 1.0;
    }
    degrees
}
