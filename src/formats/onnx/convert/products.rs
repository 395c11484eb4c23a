//! Operators that multiply their operands, and how many weights those in bodies read.

use std::collections::HashMap;

use super::value::product;
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::{Body, Graph, Node, Tensor};

/// Operators that multiply every value of their weights.
const PRODUCTS: &[&str] = &[
    "Conv",
    "ConvInteger",
    "ConvTranspose",
    "DeformConv",
    "Einsum",
    "GRU",
    "Gemm",
    "LSTM",
    "MatMul",
    "MatMulInteger",
    "QLinearConv",
    "QLinearMatMul",
    "RNN",
];

/// Whether a node multiplies its operands.
pub(super) fn is_product(node: &Node) -> bool {
    PRODUCTS.contains(&node.text.op_type)
}

/// By `If` and side: how many weights its products read, wherever these are defined. Linear in nodes, operands and the
/// depth of bodies.
pub(super) fn weights_by_side(graph: &Graph) -> Vec<[u64; 2]> {
    let mut weights = vec![[0u64; 2]; graph.branches.len()];
    if weights.is_empty() {
        return weights;
    }
    let n_values = |tensor: &Tensor| u64::try_from(product(&tensor.dims()?)?).ok();
    let of_sides = graph
        .branches
        .iter()
        .flat_map(|branch| &branch.sides)
        .flat_map(|side| &side.initializers);
    let of_loops = graph.loops.iter().flat_map(|body| &body.initializers);
    let tensors = graph.initializers.iter().chain(of_sides).chain(of_loops);
    let sizes = tensors.filter_map(|tensor| Some((tensor.name, n_values(tensor)?)));
    let mut sizes: HashMap<Name, u64> = sizes.collect();
    for node in &graph.nodes {
        let input_sizes = node.inputs.iter().filter_map(|name| sizes.get(name));
        let n_inputs = input_sizes.fold(0, |sum: u64, n| sum.saturating_add(*n));
        let n_outputs = match node.text.op_type {
            "Constant" => node.tensor("value").and_then(|tensor| n_values(&tensor)),
            // Of weights as they are stored.
            "Cast" | "DequantizeLinear" | "Identity" | "Transpose" => Some(n_inputs),
            _ => None,
        };
        sizes.extend(node.outputs.first().copied().zip(n_outputs));
        let mut around = node.body.filter(|_| is_product(node));
        while let Some(body) = around {
            around = match body {
                Body::Loop(loop_idx) => graph.loops.get(loop_idx).and_then(|body| body.body),
                Body::Side {
                    branch_idx,
                    side_idx,
                } => {
                    let of_branch = weights.get_mut(branch_idx);
                    if let Some(n) = of_branch.and_then(|sides| sides.get_mut(side_idx)) {
                        *n = n.saturating_add(n_inputs);
                    }
                    graph
                        .branches
                        .get(branch_idx)
                        .and_then(|branch| branch.body)
                }
            };
        }
    }
    weights
}
