//! Which operators Coral's compiler maps to the Edge TPU, and why it leaves others to the CPU.
//!
//! The rules are those of coral.ai/docs/edgetpu/models-intro (model requirements, and the table of
//! supported operations for the newest runtime, 14), as far as operator kind, element types, shapes and
//! options decide. The compiler leaves further ones for reasons that it does not publish, large
//! resizes for example.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::some_of;
use crate::formats::tflite::{Activation, BuiltinOptions, TensorType, integers};
use crate::graph::{Graph, Node};
use crate::targets::{UnavailableReason, UnsupportedOperator, UnsupportedReason};

/// Why there is no estimate: an operator left to the CPU leaves all after it there too, and their time
/// is not modelled. `None` where every operator is mapped.
pub fn refusal(graph: &Graph) -> Option<UnavailableReason> {
    let is_compiled = |node: &Node| node.operator.code.custom.as_deref() == Some(COMPILED);
    if graph.nodes.iter().any(is_compiled) {
        return Some(UnavailableReason::CompiledForEdgeTpu);
    }
    let left = unsupported(graph);
    if left.is_empty() {
        return None;
    }
    let mut names: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for operator in &left {
        let name = graph.nodes[operator.node_idx].operator.code.name();
        let reason = operator.reason.to_string();
        names.entry(reason).or_default().insert(name);
    }
    let shown =
        |(reason, names): (&String, &BTreeSet<&str>)| format!("{}: {reason}", some_of(names, ", "));
    let is_float = left.iter().any(|operator| operator.reason.is_float());
    Some(UnavailableReason::UnsupportedOperators {
        n_operators: left.len(),
        of: graph.nodes.len(),
        place: "on the Edge TPU as modelled",
        reasons: some_of(names.iter().map(shown), "; "),
        advice: match is_float {
            true => "; quantise the whole model to int8",
            false => "",
        },
    })
}

/// The operators that the Edge TPU's compiler leaves to the CPU, in topological order.
pub fn unsupported(graph: &Graph) -> Vec<UnsupportedOperator> {
    let check = |(node_idx, node)| {
        let reason = left(graph, node)?;
        Some(UnsupportedOperator { node_idx, reason })
    };
    graph.nodes.iter().enumerate().filter_map(check).collect()
}

/// Name of the operator that Coral's compiler writes.
const COMPILED: &str = "edgetpu-custom-op";

/// Why an operator is left to the CPU.
fn left(graph: &Graph, node: &Node) -> Option<UnsupportedReason> {
    let name = node.operator.code.name();
    let is_supported = !node.operator.code.is_custom() && SUPPORTED.contains(&name);
    match name {
        RECURRENT => Some(UnsupportedReason::NeverMeasured),
        _ if !is_supported => Some(UnsupportedReason::NotSupported),
        _ => refused_type(graph, node).or_else(|| refused_shape(graph, node, name)),
    }
}

/// Tensors are int8 or uint8; biases and what only shapes an operator are constants of 32 bits.
fn refused_type(graph: &Graph, node: &Node) -> Option<UnsupportedReason> {
    let of_tensor = |&t: &usize| {
        let tensor_type = graph.tensor(t).tensor_type;
        let is_constant = !graph.constant(t).is_empty();
        let is_allowed = match tensor_type {
            TensorType::Int8 | TensorType::UInt8 => true,
            TensorType::Int32 => is_constant,
            _ => false,
        };
        let reason = match is_constant {
            true => UnsupportedReason::ConstantType(tensor_type),
            false => UnsupportedReason::ActivationType(tensor_type),
        };
        (!is_allowed).then_some(reason)
    };
    let tensors = node.operator.inputs.iter().flatten();
    tensors.chain(&node.operator.outputs).find_map(of_tensor)
}

fn refused_shape(graph: &Graph, node: &Node, name: &str) -> Option<UnsupportedReason> {
    let operator = node.operator;
    let output = &graph.tensor(*operator.outputs.first()?).shape;
    let innermost = output.len().saturating_sub(MAX_DIMENSIONS);
    if output[..innermost].iter().any(|&dimension| dimension > 1) {
        return Some(UnsupportedReason::MoreThanThreeDimensions);
    }
    let weights = operator.inputs.get(1).copied().flatten();
    let is_computed = weights.is_some_and(|t| graph.constant(t).is_empty());
    let rows = output.iter().rev().skip(1).any(|&dimension| dimension > 1);
    match operator.options {
        _ if WEIGHTED.contains(&name) && is_computed => Some(UnsupportedReason::WeightsComputed),
        BuiltinOptions::Conv2D {
            dilation_h,
            dilation_w,
            ..
        }
        | BuiltinOptions::DepthwiseConv2D {
            dilation_h,
            dilation_w,
            ..
        } if dilation_h != dilation_w => Some(UnsupportedReason::Dilation {
            height: dilation_h,
            width: dilation_w,
        }),
        BuiltinOptions::Pool2D { activation, .. }
        | BuiltinOptions::Concatenation { activation, .. }
            if activation != Activation::None =>
        {
            Some(UnsupportedReason::FusedActivation)
        }
        BuiltinOptions::StridedSlice {
            ellipsis_mask,
            new_axis_mask,
            ..
        } if ellipsis_mask != 0 || new_axis_mask != 0 => Some(UnsupportedReason::NewAxes),
        _ if name == "STRIDED_SLICE" && has_strides(graph, node) => {
            Some(UnsupportedReason::SliceStrides)
        }
        _ if name == "FULLY_CONNECTED" && rows => Some(UnsupportedReason::SeveralOutputRows),
        _ if name == "SOFTMAX" && rows => Some(UnsupportedReason::SeveralInputRows),
        _ if name == "SOFTMAX" && output.last().is_some_and(|&n| n > MAX_SOFTMAX) => {
            Some(UnsupportedReason::TooManyValues { max: MAX_SOFTMAX })
        }
        _ => None,
    }
}

fn has_strides(graph: &Graph, node: &Node) -> bool {
    let strides = node.operator.inputs.get(3).copied().flatten();
    let bytes = strides.map(|t| graph.constant(t)).unwrap_or_default();
    integers(bytes).any(|stride| stride != 1)
}

/// "If a tensor has more than 3 dimensions, then only the 3 innermost dimensions may have a size
/// greater than 1."
const MAX_DIMENSIONS: usize = 3;
/// "1-D input tensor with a max of 16,000 elements".
const MAX_SOFTMAX: i32 = 16_000;

/// Parameters have to be constant.
const WEIGHTED: &[&str] = &[
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "FULLY_CONNECTED",
    "PRELU",
    "TRANSPOSE_CONV",
];

/// In Coral's table, but nothing that was fitted to had it.
const RECURRENT: &str = "UNIDIRECTIONAL_SEQUENCE_LSTM";

/// Coral's table without [`RECURRENT`].
const SUPPORTED: &[&str] = &[
    "ADD",
    "AVERAGE_POOL_2D",
    "CONCATENATION",
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "EXPAND_DIMS",
    "FULLY_CONNECTED",
    "L2_NORMALIZATION",
    "LOGISTIC",
    "MAXIMUM",
    "MAX_POOL_2D",
    "MEAN",
    "MINIMUM",
    "MUL",
    "PACK",
    "PAD",
    "PRELU",
    "QUANTIZE",
    "REDUCE_MAX",
    "REDUCE_MIN",
    "RELU",
    "RELU6",
    "RELU_N1_TO_1",
    "RESHAPE",
    "RESIZE_BILINEAR",
    "RESIZE_NEAREST_NEIGHBOR",
    "RSQRT",
    "SLICE",
    "SOFTMAX",
    "SPACE_TO_DEPTH",
    "SPLIT",
    "SQUARED_DIFFERENCE",
    "SQUEEZE",
    "STRIDED_SLICE",
    "SUB",
    "SUM",
    "TANH",
    "TRANSPOSE",
    "TRANSPOSE_CONV",
];
