//! Operators that take many times longer than their work, for which an estimate would be wrong by factors.
//!
//! `litecast-trainer fit-accelerators` prints how much longer the measurements with each of them are.

use super::devices::{NumberFormat, Runtime};
use super::work::{FAST, Group, multiplying_group, size};
use crate::formats::tflite::{BuiltinOptions, OpKind};
use crate::graph::analysis::Analysis;
use crate::graph::{Graph, Node};

/// Why an operator has no estimate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// A convolution in three dimensions whose windows overlap.
    Volume,
    /// An average of integers over a window that is neither 3 × 3 nor moves by its own size.
    AveragePooling,
    /// A maximum over a large window of few channels.
    LargeWindow,
    /// More values of 16 bits than the fast memory holds.
    LargeSoftmax,
    /// A sum of more integers than the fast memory holds.
    LargeSum,
    /// What most of a network consists of, matrix products of sequences in 8 bits; and under LiteRT, a product of a few vectors
    /// and an image's positions, as decoders of masks have it.
    Sequences,
    /// The work depends on the values.
    WorkOfValues,
    /// Multiplications of a kind that no measured network has.
    NeverMeasured,
}

/// Share of the multiply-accumulates of a network from which on it consists of these products.
const MOST: f64 = 0.5;
const LARGE_WINDOW: i32 = 25;
const FEW_CHANNELS: i32 = 8;
const FEW_VECTORS: f64 = 16.0;
const POSITIONS: f64 = 4096.0;
/// Operators of which only the inference tells how much they do.
const DEPENDING_ON_VALUES: [&str; 2] = ["ONNX:RoiAlign", "ONNX:NonZero"];

impl Refusal {
    /// Stable identifier for programs, kebab-case.
    pub fn code(self) -> &'static str {
        match self {
            Self::WorkOfValues => "work-of-values",
            Self::NeverMeasured => "never-measured-operator",
            Self::Volume
            | Self::AveragePooling
            | Self::LargeWindow
            | Self::LargeSoftmax
            | Self::LargeSum
            | Self::Sequences => "slow-operator",
        }
    }

    /// Why, as the end of a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Volume => "a convolution in three dimensions is emulated",
            Self::AveragePooling => "an average of integers over windows of this shape is emulated",
            Self::LargeWindow => "a maximum over a large window of few channels is emulated",
            Self::LargeSoftmax => "a softmax of this size leaves the fast memory",
            Self::LargeSum => "a sum of so many integers takes as long as one of floats",
            Self::Sequences => {
                "matrix products of sequences take 2 to 5 times longer in 8 bits than others tell"
            }
            Self::WorkOfValues => "its work depends on values that only an inference has",
            Self::NeverMeasured => "no network with such an operator was measured",
        }
    }
}

/// Values of a softmax from which on its measurements are many times longer.
fn large_softmax(runtime: Runtime) -> f64 {
    match runtime {
        Runtime::LiteRt => 32e6,
        _ => 16e6,
    }
}

/// The first operator that has no estimate under a runtime, with the reason.
pub fn refusal(
    graph: &Graph,
    analysis: &Analysis,
    runtime: Runtime,
    numbers: NumberFormat,
) -> Option<(usize, Refusal)> {
    let mut nodes = graph.nodes.iter().enumerate();
    let first = nodes.find_map(|(idx, node)| {
        let reason = node_refusal(graph, node, runtime, numbers)
            .or_else(|| is_unknown(graph, analysis, idx, node).then_some(Refusal::NeverMeasured))?;
        Some((idx, reason))
    });
    first.or_else(|| {
        let is_slow = runtime.is_of_hexagon() && numbers == NumberFormat::Int8;
        let idx = is_slow.then(|| most_sequences(graph, analysis))??;
        Some((idx, Refusal::Sequences))
    })
}

/// The first matrix product of a sequence, where most multiply-accumulates are in such products.
fn most_sequences(graph: &Graph, analysis: &Analysis) -> Option<usize> {
    let is_of_sequence = |node: &Node| {
        let output = node.operator.outputs.first();
        let shape = output.map_or(&[][..], |&output| graph.tensor(output).shape.as_slice());
        let is_sequence = shape.iter().rev().skip(1).any(|&side| side > 1);
        is_sequence && multiplying_group(graph, node) == Some(Group::Matrix)
    };
    let nodes = graph.nodes.iter().enumerate();
    let products: Vec<usize> = nodes
        .filter(|(_, node)| is_of_sequence(node))
        .map(|(idx, _)| idx)
        .collect();
    let macs = |idx: usize| analysis.costs[idx].macs as f64;
    let of_products: f64 = products.iter().map(|&idx| macs(idx)).sum();
    let is_most = of_products > MOST * analysis.totals.macs as f64;
    products.first().copied().filter(|_| is_most)
}

/// Work that no term is of.
fn is_unknown(graph: &Graph, analysis: &Analysis, idx: usize, node: &Node) -> bool {
    analysis.costs[idx].macs > 0 && multiplying_group(graph, node).is_none()
}

fn node_refusal(
    graph: &Graph,
    node: &Node,
    runtime: Runtime,
    numbers: NumberFormat,
) -> Option<Refusal> {
    let operator = node.operator;
    let output = operator.outputs.first();
    let shape = output.map_or(&[][..], |&output| graph.tensor(output).shape.as_slice());
    let values_of = |shape: &[i32]| -> f64 { shape.iter().map(|&side| f64::from(side)).product() };
    let is_integer = numbers != NumberFormat::Float;
    match (operator.code.kind, &operator.options) {
        (OpKind::Custom, _) if DEPENDING_ON_VALUES.contains(&operator.code.name()) => {
            Some(Refusal::WorkOfValues)
        }
        // Which operators are slow is known of Hexagon's compilers alone.
        _ if !runtime.is_of_hexagon() => None,
        (OpKind::Conv3d, options) if runtime == Runtime::LiteRt => {
            has_overlapping_windows(graph, node, options).then_some(Refusal::Volume)
        }
        (
            OpKind::AveragePool2d,
            &BuiltinOptions::Pool2D {
                filter_h,
                filter_w,
                stride_h,
                stride_w,
                ..
            },
        ) if is_integer => {
            let positions = shape.get(1..shape.len().saturating_sub(1));
            let is_whole = positions.is_some_and(|sides| sides.iter().all(|&side| side == 1));
            let sides = [filter_h, filter_w];
            let is_known = is_whole || sides == [3, 3] || sides == [stride_h, stride_w];
            (!is_known).then_some(Refusal::AveragePooling)
        }
        (
            OpKind::MaxPool2d,
            &BuiltinOptions::Pool2D {
                filter_h, filter_w, ..
            },
        ) => {
            let is_large = filter_h.saturating_mul(filter_w) > LARGE_WINDOW;
            let is_narrow = shape
                .last()
                .is_some_and(|&channels| channels < FEW_CHANNELS);
            (is_large && is_narrow).then_some(Refusal::LargeWindow)
        }
        (OpKind::Sum, _) if is_integer => {
            let input = operator.inputs.first().copied().flatten();
            let summed = input.map_or(&[][..], |input| graph.tensor(input).shape.as_slice());
            (values_of(summed) > FAST * 1e6).then_some(Refusal::LargeSum)
        }
        (OpKind::BatchMatmul, _) if runtime == Runtime::LiteRt && numbers == NumberFormat::Int8 => {
            let sides = [1, 2].map(|from_end| size(shape, from_end));
            let [few, many] = [sides[0].min(sides[1]), sides[0].max(sides[1])];
            (few <= FEW_VECTORS && many >= POSITIONS).then_some(Refusal::Sequences)
        }
        (OpKind::Softmax, _) if numbers != NumberFormat::Int8 => {
            (values_of(shape) > large_softmax(runtime)).then_some(Refusal::LargeSoftmax)
        }
        _ => None,
    }
}

/// Whether a value is read for several positions of a convolution in three dimensions. Where none is, as in an embedding of
/// patches, it is a matrix product.
fn has_overlapping_windows(graph: &Graph, node: &Node, options: &BuiltinOptions) -> bool {
    let &BuiltinOptions::Conv3D {
        stride_d,
        stride_h,
        stride_w,
        ..
    } = options
    else {
        return true;
    };
    let window = node.operator.inputs.get(1).copied().flatten();
    let window = window.map(|tensor_idx| graph.tensor(tensor_idx).shape.as_slice());
    let strides = [stride_d, stride_h, stride_w];
    !window.is_some_and(|window| window.len() == 5 && window[..3] == strides)
}
