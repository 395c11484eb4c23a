//! Exact facts of a model, its operators and its tensors, in the form of the report.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use super::{EdgeFacts, ModelFacts, OperatorFacts, QuantizationFacts, SubgraphFacts, TensorFacts};
use crate::formats::tflite::{MAIN_SUBGRAPH, Model, OpKind, Quantization, Tensor};
use crate::graph::analysis::memory_plan::{live_bytes_of, peak_node_idx};
use crate::graph::analysis::{Analysis, precision};
use crate::graph::{Graph, Node};

/// `live_bytes` as of [`live_bytes`], `arena_bytes` as of [`boards::arena_bytes`](crate::boards::arena_bytes).
pub(crate) fn model_facts(
    model: &Model,
    graph: &Graph,
    analysis: &Analysis,
    live_bytes: Option<&[u64]>,
    arena_bytes: Option<u64>,
) -> ModelFacts {
    let plan = analysis.memory_plan.as_ref();
    ModelFacts {
        file_bytes: model.file_bytes,
        format: model.format,
        schema_version: model.version,
        description: model.description.clone(),
        precision: precision(graph, analysis),
        n_subgraphs: model.subgraphs.len(),
        n_operators: graph.nodes.len(),
        n_tensors: graph.subgraph.tensors.len(),
        macs: analysis.totals.macs,
        parameters: analysis.totals.parameters,
        weight_bytes: analysis.totals.weight_bytes,
        arena_bytes,
        activation_bytes: plan.map(|plan| plan.arena_bytes),
        peak_operator: live_bytes.and_then(peak_node_idx),
        inputs: graph.subgraph.inputs.clone(),
        outputs: graph.subgraph.outputs.clone(),
        signatures: model.signatures.iter().map(|s| s.key.clone()).collect(),
        subgraphs: model.subgraphs.iter().map(subgraph_facts).collect(),
    }
}

/// Live bytes at each operator, of the plan or of a graph that is too large for one.
pub(crate) fn live_bytes<'a>(graph: &Graph, analysis: &'a Analysis) -> Option<Cow<'a, [u64]>> {
    match &analysis.memory_plan {
        Some(plan) => Some(Cow::Borrowed(plan.live_bytes.as_slice())),
        None => live_bytes_of(graph).map(Cow::Owned),
    }
}

fn subgraph_facts(subgraph: &crate::formats::tflite::Subgraph) -> SubgraphFacts {
    SubgraphFacts {
        name: subgraph.name.clone(),
        n_operators: subgraph.operators.len(),
        n_tensors: subgraph.tensors.len(),
    }
}

/// `live_bytes` as of [`live_bytes`].
pub(crate) fn operators(
    graph: &Graph,
    analysis: &Analysis,
    live_bytes: Option<&[u64]>,
) -> Vec<OperatorFacts> {
    let facts = |(index, node): (usize, &Node)| {
        let operator = node.operator;
        let cost = &analysis.costs[index];
        OperatorFacts {
            index,
            operator_idx: node.operator_idx,
            name: match &operator.code.custom {
                Some(_) => operator.code.name().to_owned().into(),
                None => operator.code.kind.name().into(),
            },
            custom: operator.code.kind == OpKind::Custom,
            inputs: operator.inputs.clone(),
            outputs: operator.outputs.clone(),
            macs: cost.macs,
            parameters: cost.parameters,
            weight_bytes: cost.weight_bytes,
            input_bytes: cost.input_bytes,
            output_bytes: cost.output_bytes,
            live_bytes: live_bytes.map(|bytes| bytes[index]),
            attributes: operator.options.clone(),
        }
    };
    graph.nodes.iter().enumerate().map(facts).collect()
}

/// Those of the main subgraph. They take over the names and shapes of `model`.
pub(crate) fn tensors(mut model: Model) -> Vec<TensorFacts> {
    let subgraph = model.subgraphs.swap_remove(MAIN_SUBGRAPH);
    drop(subgraph.operators);
    let buffers = &model.buffers;
    let is_constant = |tensor: &Tensor| {
        let buffer = buffers.get(tensor.buffer_idx);
        buffer.is_some_and(|buffer| !buffer.is_empty())
    };
    let facts = |(index, tensor): (usize, Tensor)| TensorFacts {
        index,
        tensor_type: tensor.tensor_type.name(),
        bytes: tensor.byte_len(),
        constant: is_constant(&tensor),
        variable: tensor.is_variable,
        quantization: tensor.quantization.as_deref().and_then(quantization_facts),
        name: tensor.name.into_string(),
        shape: tensor.shape,
        shape_signature: tensor.shape_signature.map(<[i32]>::into_vec),
    };
    subgraph
        .tensors
        .into_iter()
        .enumerate()
        .map(facts)
        .collect()
}

fn quantization_facts(quantization: &Quantization) -> Option<QuantizationFacts> {
    let n = quantization.scale.len();
    Some(QuantizationFacts {
        scale: [*quantization.scale.first()?],
        zero_point: [*quantization.zero_point.first()?],
        per_channel: (n > 1).then_some(n),
    })
}

/// Of a file's contents, in hexadecimal digits. Linear in bytes.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn edges(graph: &Graph) -> Vec<EdgeFacts> {
    let facts = |edge: &crate::graph::Edge| EdgeFacts {
        src: edge.src,
        dst: edge.dst,
        tensor: edge.tensor_idx,
    };
    graph.edges.iter().map(facts).collect()
}
