//! Which operators Coral's compiler maps to the Edge TPU, and why it leaves others to the CPU.
//!
//! The rules are those of coral.ai/docs/edgetpu/models-intro (model requirements, and the table of
//! supported operations for the newest runtime, 14), as far as operator kind, element types, shapes and
//! options decide. The compiler leaves further ones for reasons that it does not publish. It maps the
//! longest leading part: "at the first point in the model graph where an unsupported operation occurs, the
//! compiler partitions the graph into two parts", the second of which runs on the CPU.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::some_of;
use crate::formats::tflite::op_row::{Effect, ShapeRule};
use crate::formats::tflite::{Activation, BuiltinOptions, OpKind, TensorType, integers};
use crate::graph::{Graph, Node};
use crate::target::{Place, UnavailableReason, UnsupportedOperator, UnsupportedReason};

/// The partition of a graph by Coral's compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// Parallel to [`Graph::nodes`].
    pub is_mapped: Vec<bool>,
    /// Operators that end the mapped part, in topological order: those that are not supported and that
    /// read a mapped operator or an input.
    pub ends: Vec<UnsupportedOperator>,
}

/// The longest leading part of the graph. The first unsupported operator and everything that depends on it stays on the
/// CPU. Operators that convert the type of an input run on the CPU before the mapped part. Linear in edges.
///
/// # Errors
/// Why there is no estimate: no operator is mapped.
pub fn mapping(graph: &Graph) -> Result<Mapping, UnavailableReason> {
    let left: Vec<Option<UnsupportedReason>> = (graph.nodes.iter())
        .map(|node| reason_left_to_cpu(graph, node))
        .collect();
    let mut is_mapped = vec![false; graph.nodes.len()];
    // Tensors that an operator on the CPU writes after the mapped part.
    let mut is_behind = vec![false; graph.subgraph.tensors.len()];
    // Inputs, and the tensors that they are converted to.
    let mut is_input = vec![false; graph.subgraph.tensors.len()];
    (graph.subgraph.inputs.iter()).for_each(|&t| is_input[t] = true);
    let mut ends = Vec::new();
    for (node_idx, (node, reason)) in graph.nodes.iter().zip(left).enumerate() {
        let mut read = node.operator.inputs.iter().flatten();
        let reads_behind = read.any(|&t| is_behind.get(t) == Some(&true));
        if reads_behind {
            mark_outputs(&mut is_behind, node);
        } else if let Some(reason) = reason {
            if converts_input(node, &is_input) {
                mark_outputs(&mut is_input, node);
            } else {
                mark_outputs(&mut is_behind, node);
                ends.push(UnsupportedOperator { node_idx, reason });
            }
        } else {
            is_mapped[node_idx] = true;
        }
    }
    let takes_time = |(node, is_mapped): (&Node, &bool)| {
        *is_mapped && node.operator.code.kind.row().effect != Effect::Renames
    };
    if graph.nodes.iter().zip(&is_mapped).any(takes_time) {
        Ok(Mapping { is_mapped, ends })
    } else {
        Err(refusal(graph))
    }
}

/// Marks the outputs of a node.
fn mark_outputs(is_marked: &mut [bool], node: &Node) {
    for &t in &node.operator.outputs {
        if let Some(is_marked) = is_marked.get_mut(t) {
            *is_marked = true;
        }
    }
}

/// Whether a node converts an input. Exporters put a QUANTIZE, or a CAST to floats and a QUANTIZE, before a model whose
/// inputs are floats or integers of a different scale.
fn converts_input(node: &Node, is_input: &[bool]) -> bool {
    let first = node.operator.inputs.first().copied().flatten();
    let is_input = first.is_some_and(|t| is_input.get(t) == Some(&true));
    is_input && node.operator.code.kind.is_conversion()
}

/// Why no operator is mapped.
fn refusal(graph: &Graph) -> UnavailableReason {
    let left = unsupported(graph);
    let mut names: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for operator in &left {
        let name = graph.nodes[operator.node_idx].operator.code.name();
        let reason = operator.reason.to_string();
        names.entry(reason).or_default().insert(name);
    }
    let shown =
        |(reason, names): (&String, &BTreeSet<&str>)| format!("{}: {reason}", some_of(names, ", "));
    let is_float = left.iter().any(|operator| operator.reason.is_float());
    UnavailableReason::UnsupportedOperators {
        n_operators: left.len(),
        of: graph.nodes.len(),
        place: "on the Edge TPU, and none that it could run comes before them",
        reasons: some_of(names.iter().map(shown), "; "),
        advice: if is_float {
            "; quantise the whole model to int8"
        } else {
            ""
        },
    }
}

/// Whether Coral's table lists a kind.
#[cfg(test)]
pub fn words_of(kind: OpKind) -> &'static str {
    match kind {
        RECURRENT => "listed, never measured",
        _ if SUPPORTED.contains(&kind) => "yes",
        _ => "no",
    }
}

/// The operators that the Edge TPU's compiler leaves to the CPU, in topological order.
pub fn unsupported(graph: &Graph) -> Vec<UnsupportedOperator> {
    let check = |(node_idx, node)| {
        let reason = reason_left_to_cpu(graph, node)?;
        Some(UnsupportedOperator { node_idx, reason })
    };
    graph.nodes.iter().enumerate().filter_map(check).collect()
}

/// Why an operator is left to the CPU.
fn reason_left_to_cpu(graph: &Graph, node: &Node) -> Option<UnsupportedReason> {
    // Nothing runs where the result is known.
    let outputs = &node.operator.outputs;
    if !outputs.is_empty() && outputs.iter().all(|&t| graph.is_constant(t)) {
        return None;
    }
    let kind = node.operator.code.kind;
    let is_supported = SUPPORTED.contains(&kind);
    match kind {
        RECURRENT => Some(UnsupportedReason::NeverMeasured),
        OpKind::Custom => Some(UnsupportedReason::CustomOperator),
        _ if !is_supported => Some(UnsupportedReason::NotListed {
            operator: kind.name(),
            on: "the Edge TPU",
            elsewhere: None,
        }),
        _ => refused_type(graph, node)
            .or_else(|| UnsupportedReason::open_dimension(graph, node))
            .or_else(|| refused_shape(graph, node, kind)),
    }
}

/// Tensors must be int8 or uint8. Biases, and constants that control an operator, have 32 bits.
fn refused_type(graph: &Graph, node: &Node) -> Option<UnsupportedReason> {
    let of_tensor = |(place, t): (Place, usize)| {
        let tensor_type = graph.tensor(t).tensor_type;
        let is_constant = graph.is_constant(t);
        let is_allowed = match tensor_type {
            TensorType::Int8 | TensorType::UInt8 => true,
            TensorType::Int32 => is_constant,
            _ => false,
        };
        let reason = match place {
            Place::Input(input) if is_constant => UnsupportedReason::ConstantType {
                found: tensor_type,
                input,
            },
            place => UnsupportedReason::ActivationType {
                found: tensor_type,
                place,
            },
        };
        (!is_allowed).then_some(reason)
    };
    Place::tensors_of(node.operator).find_map(of_tensor)
}

fn refused_shape(graph: &Graph, node: &Node, kind: OpKind) -> Option<UnsupportedReason> {
    let operator = node.operator;
    let output = &graph.tensor(*operator.outputs.first()?).shape;
    let innermost = output.len().saturating_sub(MAX_DIMENSIONS);
    if output[..innermost].iter().any(|&dimension| dimension > 1) {
        return Some(UnsupportedReason::MoreThanThreeDimensions(
            output.as_slice().into(),
        ));
    }
    let weights = operator.inputs.get(1).copied().flatten();
    let is_computed = weights.is_some_and(|t| !graph.is_constant(t));
    let is_parameter = matches!(kind.row().roles.as_bytes().get(1), Some(b'w' | b'v'));
    let rows = output.iter().rev().skip(1).any(|&dimension| dimension > 1);
    match operator.options {
        // Parameters must be constant.
        _ if is_parameter && is_computed => Some(UnsupportedReason::WeightsComputed { input: 1 }),
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
            Some(UnsupportedReason::FusedActivation(activation))
        }
        BuiltinOptions::StridedSlice {
            ellipsis_mask,
            new_axis_mask,
            ..
        } if ellipsis_mask != 0 || new_axis_mask != 0 => {
            Some(new_axes(ellipsis_mask, new_axis_mask))
        }
        _ if kind == OpKind::StridedSlice => refused_strides(graph, node),
        _ if kind.row().shape == ShapeRule::Resize => refused_resize(graph, node),
        _ if kind == OpKind::FullyConnected && rows => Some(UnsupportedReason::SeveralOutputRows(
            output.as_slice().into(),
        )),
        _ if kind == OpKind::Softmax && rows => Some(UnsupportedReason::SeveralInputRows(
            output.as_slice().into(),
        )),
        _ if kind == OpKind::Softmax => {
            let &found = output.last().filter(|&&n| n > MAX_SOFTMAX)?;
            Some(UnsupportedReason::TooManyValues {
                found,
                max: MAX_SOFTMAX,
            })
        }
        _ => None,
    }
}

fn new_axes(ellipsis_mask: i32, new_axis_mask: i32) -> UnsupportedReason {
    let (option, mask) = if new_axis_mask == 0 {
        ("ellipsis_mask", ellipsis_mask)
    } else {
        ("new_axis_mask", new_axis_mask)
    };
    UnsupportedReason::NewAxes { option, mask }
}

fn refused_resize(graph: &Graph, node: &Node) -> Option<UnsupportedReason> {
    let sides = |t: Option<usize>| match t.map(|t| graph.tensor(t).shape.as_slice()) {
        Some(&[_, height, width, _]) => Some([height, width]),
        _ => None,
    };
    let input = sides(node.operator.inputs.first().copied().flatten());
    let output = sides(node.operator.outputs.first().copied());
    let (input, output) = input.zip(output)?;
    let mut pairs = input.into_iter().zip(output);
    let is_large = pairs.any(|(from, to)| {
        to > from.saturating_mul(MAX_RESIZE) || from > to.saturating_mul(MAX_RESIZE)
    });
    is_large.then_some(UnsupportedReason::LargeResize {
        input: input.into(),
        output: output.into(),
        max: MAX_RESIZE,
    })
}

fn refused_strides(graph: &Graph, node: &Node) -> Option<UnsupportedReason> {
    let strides = node.operator.inputs.get(3).copied().flatten();
    let bytes = strides.map(|t| graph.constant(t)).unwrap_or_default();
    let strides: Vec<i32> = integers(bytes).take(MAX_LISTED_STRIDES).collect();
    (strides.iter().any(|&stride| stride != 1))
        .then(|| UnsupportedReason::SliceStrides(strides.as_slice().into()))
}

/// No kernel slices more dimensions.
const MAX_LISTED_STRIDES: usize = 8;

/// "If a tensor has more than 3 dimensions, then only the 3 innermost dimensions may have a size
/// greater than 1."
const MAX_DIMENSIONS: usize = 3;
/// "Depending on input/output size, this operation might not be mapped to the Edge TPU to avoid loss in
/// precision"; sizes are not published. Coral's compiled DeepLab has factors of 15 and 33 on the CPU.
const MAX_RESIZE: i32 = 8;
/// "1-D input tensor with a max of 16,000 elements".
const MAX_SOFTMAX: i32 = 16_000;

/// An operator of Coral's table that occurs in no network of the fit.
const RECURRENT: OpKind = OpKind::UnidirectionalSequenceLstm;

/// Coral's table without [`RECURRENT`].
const SUPPORTED: &[OpKind] = &[
    OpKind::Add,
    OpKind::AveragePool2d,
    OpKind::Concatenation,
    OpKind::Conv2d,
    OpKind::DepthwiseConv2d,
    OpKind::ExpandDims,
    OpKind::FullyConnected,
    OpKind::L2Normalization,
    OpKind::Logistic,
    OpKind::Maximum,
    OpKind::MaxPool2d,
    OpKind::Mean,
    OpKind::Minimum,
    OpKind::Mul,
    OpKind::Pack,
    OpKind::Pad,
    OpKind::Prelu,
    OpKind::Quantize,
    OpKind::ReduceMax,
    OpKind::ReduceMin,
    OpKind::Relu,
    OpKind::Relu6,
    OpKind::ReluN1To1,
    OpKind::Reshape,
    OpKind::ResizeBilinear,
    OpKind::ResizeNearestNeighbor,
    OpKind::Rsqrt,
    OpKind::Slice,
    OpKind::Softmax,
    OpKind::SpaceToDepth,
    OpKind::Split,
    OpKind::SquaredDifference,
    OpKind::Squeeze,
    OpKind::StridedSlice,
    OpKind::Sub,
    OpKind::Sum,
    OpKind::Tanh,
    OpKind::Transpose,
    OpKind::TransposeConv,
];
