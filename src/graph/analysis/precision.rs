//! What the operators of a graph compute in.

use std::collections::HashMap;

use serde::Serialize;

use super::Analysis;
use super::constants::unpacks;
use crate::formats::tflite::TensorType;
use crate::graph::{Graph, Node};

/// The element types in which operators that multiply compute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Precision {
    Int8,
    Uint8,
    /// 16-bit activations with 8-bit weights.
    Int16x8,
    Float32,
    /// Weights stored as float16.
    Float16,
    /// Float activations with 8-bit or narrower weights.
    DynamicRange,
    Mixed,
    /// No operator multiplies.
    None,
}

/// The one precision that all operators that multiply share, or `Mixed`.
pub fn precision(graph: &Graph, analysis: &Analysis) -> Precision {
    let unpacked = unpacked_from(graph);
    let multiplying = graph
        .nodes
        .iter()
        .zip(&analysis.costs)
        .filter(|(_, cost)| cost.macs > 0);
    let mut precisions = multiplying.filter_map(|(node, _)| node_precision(graph, node, &unpacked));
    let Some(first) = precisions.next() else {
        return Precision::None;
    };
    if precisions.all(|other| other == first) {
        first
    } else {
        Precision::Mixed
    }
}

/// Tensor that an operator unpacks → tensor that the file stores.
fn unpacked_from(graph: &Graph) -> HashMap<usize, usize> {
    let unpacks = |node: &&Node| unpacks(node.operator.code.kind);
    let ends = |node: &Node| {
        Some((
            *node.operator.outputs.first()?,
            (*node.operator.inputs.first()?)?,
        ))
    };
    graph
        .nodes
        .iter()
        .filter(unpacks)
        .filter_map(ends)
        .collect()
}

fn node_precision(
    graph: &Graph,
    node: &Node,
    unpacked: &HashMap<usize, usize>,
) -> Option<Precision> {
    let output = graph.tensor(*node.operator.outputs.first()?).tensor_type;
    let weights = node.operator.inputs.get(1).copied().flatten();
    let stored = weights.map(|t| graph.tensor(*unpacked.get(&t).unwrap_or(&t)).tensor_type);
    Some(match (output, stored) {
        (TensorType::Int8, _) => Precision::Int8,
        (TensorType::UInt8, _) => Precision::Uint8,
        (TensorType::Int16, _) => Precision::Int16x8,
        (TensorType::Float32, Some(TensorType::Float16)) => Precision::Float16,
        (TensorType::Float32, Some(TensorType::Float32) | None) => Precision::Float32,
        (TensorType::Float32, Some(_)) => Precision::DynamicRange,
        (TensorType::Float16, _) => Precision::Float16,
        _ => Precision::Mixed,
    })
}
