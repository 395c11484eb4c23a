//! Which operators Coral's compiler maps to the Edge TPU, and why it leaves others to the CPU.
//!
//! The rules are those of coral.ai/docs/edgetpu/models-intro (model requirements, and the table of
//! supported operations for the newest runtime, 14), as far as operator kind, element types, shapes and
//! options decide. The compiler leaves further ones for reasons that it does not publish, large
//! resizes for example.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::{do_not_run, some_of};
use crate::formats::tflite::{Activation, BuiltinOptions, TensorType, integers};
use crate::graph::{Graph, Node};

/// Why there is no estimate, in words: an operator left to the CPU leaves all after it there too, and
/// their time is not modelled. `None` where every operator is mapped.
pub fn refusal(graph: &Graph) -> Option<String> {
    let is_compiled = |node: &Node| node.operator.code.custom.as_deref() == Some(COMPILED);
    if graph.nodes.iter().any(is_compiled) {
        return Some(
            "the file is already compiled for an Edge TPU; give the model before its compiler"
                .into(),
        );
    }
    let mut n_left = 0;
    let mut reasons: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for node in &graph.nodes {
        if let Some(reason) = left(graph, node) {
            n_left += 1;
            let name = node.operator.code.name();
            reasons.entry(reason).or_default().insert(name);
        }
    }
    if n_left == 0 {
        return None;
    }
    let is_float = reasons.keys().any(|reason| reason.contains("FLOAT"));
    let shown =
        |(reason, names): (&String, &BTreeSet<&str>)| format!("{}: {reason}", some_of(names, ", "));
    let advice = if is_float {
        "; quantise the whole model to int8"
    } else {
        ""
    };
    Some(format!(
        "{} on the Edge TPU as modelled ({}){advice}",
        do_not_run(n_left, graph.nodes.len()),
        some_of(reasons.iter().map(shown), "; "),
    ))
}

/// Name of the operator that Coral's compiler writes.
const COMPILED: &str = "edgetpu-custom-op";

/// Why an operator is left to the CPU.
fn left(graph: &Graph, node: &Node) -> Option<String> {
    let name = node.operator.code.name();
    let is_supported = !node.operator.code.is_custom() && SUPPORTED.contains(&name);
    match name {
        RECURRENT => Some("no published latency tells its time".to_owned()),
        _ if !is_supported => Some("not supported".to_owned()),
        _ => refused_type(graph, node).or_else(|| refused_shape(graph, node, name)),
    }
}

/// Tensors are int8 or uint8; biases and what only shapes an operator are constants of 32 bits.
fn refused_type(graph: &Graph, node: &Node) -> Option<String> {
    let of_tensor = |&t: &usize| {
        let tensor_type = graph.tensor(t).tensor_type;
        let is_constant = !graph.constant(t).is_empty();
        let is_allowed = match tensor_type {
            TensorType::Int8 | TensorType::UInt8 => true,
            TensorType::Int32 => is_constant,
            _ => false,
        };
        let kind = if is_constant {
            "constants"
        } else {
            "activations"
        };
        (!is_allowed).then(|| format!("{} {kind}", tensor_type.name()))
    };
    let tensors = node.operator.inputs.iter().flatten();
    tensors.chain(&node.operator.outputs).find_map(of_tensor)
}

fn refused_shape(graph: &Graph, node: &Node, name: &str) -> Option<String> {
    let operator = node.operator;
    let output = &graph.tensor(*operator.outputs.first()?).shape;
    let innermost = output.len().saturating_sub(MAX_DIMENSIONS);
    if output[..innermost].iter().any(|&dimension| dimension > 1) {
        return Some("more than three dimensions, or several inputs at once".into());
    }
    let weights = operator.inputs.get(1).copied().flatten();
    let is_computed = weights.is_some_and(|t| graph.constant(t).is_empty());
    let rows = output.iter().rev().skip(1).any(|&dimension| dimension > 1);
    match operator.options {
        _ if WEIGHTED.contains(&name) && is_computed => Some("weights computed at run time".into()),
        BuiltinOptions::Conv2D {
            dilation_h,
            dilation_w,
            ..
        }
        | BuiltinOptions::DepthwiseConv2D {
            dilation_h,
            dilation_w,
            ..
        } if dilation_h != dilation_w => Some(format!("dilation {dilation_h}x{dilation_w}")),
        BuiltinOptions::Pool2D { activation, .. }
        | BuiltinOptions::Concatenation { activation, .. }
            if activation != Activation::None =>
        {
            Some("fused activation".into())
        }
        BuiltinOptions::StridedSlice {
            ellipsis_mask,
            new_axis_mask,
            ..
        } if ellipsis_mask != 0 || new_axis_mask != 0 => Some("new axes".into()),
        _ if name == "STRIDED_SLICE" && has_strides(graph, node) => {
            Some("strides other than 1".into())
        }
        _ if name == "FULLY_CONNECTED" && rows => Some("output of several rows".into()),
        _ if name == "SOFTMAX" && rows => Some("input of several rows".into()),
        _ if name == "SOFTMAX" && output.last().is_some_and(|&n| n > MAX_SOFTMAX) => {
            Some(format!("more than {MAX_SOFTMAX} values"))
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
