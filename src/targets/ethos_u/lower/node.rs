//! A node of the graph as one operation, and tensors as feature maps. Reproduces `RewriteDepthwise`,
//! `RewriteFullyConnected` and `DilateWeights` of Vela.

use std::hash::BuildHasher;

use foldhash::fast::FixedState;

use crate::formats::tflite::{BuiltinOptions, OpKind, Operator, Tensor, TensorType};
use crate::graph::analysis::{self, Analysis};
use crate::graph::{Graph, Node};
use crate::targets::ethos_u::geometry::{BRICK_CHANNELS, Hwc};
use crate::targets::ethos_u::layer::Kind;
use crate::targets::ethos_u::map_list::MapList;
use crate::targets::ethos_u::program::{
    Action, Alias, FeatureMap, MAX_DIMENSION, Operation, Window, compact_shape,
};
use crate::targets::ethos_u::support::{OneOperation, listed};

/// Maximum height when rows of a matrix are laid out as an area; divisors may exceed it a little.
const MAX_AREA_HEIGHT: i64 = 16;

/// Largest dilation that the address generator supports.
const MAX_DILATION: i64 = 2;

fn scale_hash(tensor: &Tensor) -> u16 {
    let scale = (tensor.quantization.as_ref()).and_then(|quantization| quantization.scale.first());
    scale.map_or(0, |scale| (scale.to_bits() ^ scale.to_bits() >> 16) as u16)
}

/// [`Operation::table`] of an activation: its function, and scales and zero points of input and output.
fn table_hash(graph: &Graph, operator: &Operator) -> u16 {
    let ends = [
        operator.inputs.first().copied().flatten(),
        operator.outputs.first().copied(),
    ];
    let quantizations = ends.map(|end| {
        let quantization = graph.tensor(end?).quantization.as_ref()?;
        let zero_point = quantization.zero_point.first().copied();
        Some((quantization.scale.first()?.to_bits(), zero_point))
    });
    let option = match operator.options {
        BuiltinOptions::LeakyRelu { alpha } => alpha.to_bits(),
        BuiltinOptions::Gelu { approximate } => approximate.into(),
        _ => 0,
    };
    if quantizations.contains(&None) {
        return 0;
    }
    FixedState::default().hash_one((operator.code.kind, option, quantizations)) as u16
}

pub fn maps(graph: &Graph, analysis: &Analysis) -> Vec<FeatureMap> {
    let tensors = &graph.subgraph.tensors;
    let map = |(tensor_idx, tensor): (usize, &Tensor)| FeatureMap {
        shape: compact_shape(shape(&tensor.shape)),
        element_bytes: element_bytes(tensor.tensor_type),
        scale: scale_hash(tensor),
        is_constant: graph.is_constant(tensor_idx),
        is_variable: tensor.is_variable,
        is_truth: tensor.tensor_type == TensorType::Bool,
        ..FeatureMap::default()
    };
    let mut maps: Vec<FeatureMap> = tensors.iter().enumerate().map(map).collect();
    let plan = analysis.memory_plan.iter();
    for place in plan.flat_map(|plan| &plan.placements) {
        if place.subgraph_idx == graph.subgraph_idx {
            // The place itself is rounded up.
            let tensor = &tensors[place.tensor_idx];
            let sizes = tensor.shape.iter().map(|&size| f64::from(size.max(0)));
            let element_bytes = f64::from(element_bytes(tensor.tensor_type));
            maps[place.tensor_idx].bytes = (sizes.product::<f64>() * element_bytes).into();
        }
    }
    for &input in &graph.subgraph.inputs {
        maps[input].is_input = true;
    }
    for &output in &graph.subgraph.outputs {
        maps[output].is_output = true;
    }
    maps
}

/// Bytes of an element; 1 if it has fewer than 8 bits.
fn element_bytes(tensor_type: TensorType) -> u8 {
    let bits = tensor_type.bits_per_value().unwrap_or(8);
    bits.div_ceil(8) as u8
}

/// Height, width and channels. Missing dimensions are 1; outer ones are multiplied into the height.
pub fn shape(shape: &[i32]) -> Hwc {
    let dimension = |from_end: usize| {
        let at = shape.len().checked_sub(from_end);
        at.map_or(1, |at| i64::from(shape[at]).clamp(0, MAX_DIMENSION))
    };
    let outer = &shape[..shape.len().saturating_sub(3)];
    let rows = outer.iter().fold(dimension(3), |rows, &size| {
        (rows * i64::from(size).max(0)).min(MAX_DIMENSION)
    });
    [rows, dimension(2), dimension(1)]
}

/// A node as one operation.
pub fn operation(graph: &Graph, analysis: &Analysis, node_idx: usize) -> Operation {
    let node = &graph.nodes[node_idx];
    let operator = node.operator;
    let (action, alias) = match listed(operator.code.kind).map(|one| one.operation) {
        Some(OneOperation::View) => (Action::View, Alias::View),
        Some(OneOperation::Slice) => (Action::Slice, Alias::View),
        Some(OneOperation::Pad) => (Action::Pad, Alias::Fused),
        Some(OneOperation::Concat) => {
            let is_in_brick = joins_in_brick(graph, node);
            (Action::Concat { is_in_brick }, Alias::Concat)
        }
        Some(OneOperation::Table) => (Action::Table, Alias::InPlace),
        Some(OneOperation::Clamp) => (Action::Clamp, Alias::InPlace),
        Some(OneOperation::Requantise) => (Action::Requantise, Alias::InPlace),
        Some(OneOperation::Unary) => (Action::Unary, Alias::InPlace),
        Some(OneOperation::Binary(arithmetic)) => (Action::Binary(arithmetic), Alias::InPlace),
        Some(OneOperation::Other) => (Action::Other, Alias::Separate),
        Some(OneOperation::Layer) | None => match layer(graph, analysis, node_idx) {
            Some(operation) => return operation,
            None => (Action::Other, Alias::Separate),
        },
    };
    let inputs: MapList = operator.inputs.iter().flatten().copied().collect();
    let table = if action == Action::Table {
        table_hash(graph, operator)
    } else {
        0
    };
    Operation {
        alias,
        table,
        ..Operation::new(node_idx, action, inputs, operator.outputs.as_slice())
    }
}

/// A node on the multipliers; `None` if it does not run there.
fn layer(graph: &Graph, analysis: &Analysis, node_idx: usize) -> Option<Operation> {
    let operator = graph.nodes[node_idx].operator;
    let input = operator.inputs.first().copied().flatten()?;
    let &output = operator.outputs.first()?;
    let ifm = shape(&graph.tensor(input).shape);
    let window = window(graph, node_idx);
    let (kind, view_shapes, window) = match operator.options {
        // With a single input channel it is an ordinary convolution, which uses more multipliers.
        BuiltinOptions::DepthwiseConv2D { .. } if ifm[2] != 1 => (Kind::Depthwise, None, window),
        BuiltinOptions::Conv2D { .. } if has_group_of_each_channel(graph, operator) => {
            (Kind::Depthwise, None, window)
        }
        BuiltinOptions::Conv2D { .. } | BuiltinOptions::DepthwiseConv2D { .. } => {
            (Kind::Convolution, None, window)
        }
        BuiltinOptions::Pool2D { .. } => match operator.code.kind {
            OpKind::MaxPool2d => (Kind::MaxPooling, None, window),
            _ => (Kind::Pooling, None, window),
        },
        BuiltinOptions::FullyConnected { .. } => {
            let filter = operator.inputs.get(1).copied().flatten()?;
            let &[out_depth, .., depth] = graph.tensor(filter).shape.as_slice() else {
                return None;
            };
            let (out_depth, depth) = (i64::from(out_depth), i64::from(depth));
            let rows = ifm.iter().product::<i64>() / depth.max(1);
            let rows = rows.clamp(1, MAX_DIMENSION);
            let [height, width] = rows_as_area(rows);
            let view_shapes = [[height, width, depth], [height, width, out_depth]];
            (Kind::VectorProduct, Some(view_shapes), Window::POINT)
        }
        _ => return None,
    };
    let weights = analysis.costs[node_idx].weights.as_ref();
    Some(Operation {
        view_shapes: view_shapes.map(Box::new),
        window: (window != Window::POINT).then(|| Box::new(window)),
        weights: weights.map(|weights| weights.histogram.clone()),
        ..Operation::new(node_idx, Action::Layer(kind), input, output)
    })
}

/// Whether a convolution computes each output channel from one input channel, as a depthwise convolution does.
pub fn has_group_of_each_channel(graph: &Graph, operator: &Operator) -> bool {
    let depth = |tensor: usize| graph.tensor(tensor).shape.last().copied();
    let inputs = [0, 1].map(|idx| operator.inputs.get(idx).copied().flatten().and_then(depth));
    let output = operator.outputs.first().copied().and_then(depth);
    matches!((inputs, output), ([Some(channels), Some(1)], Some(units)) if channels == units && channels > 1)
}

/// Rows of a matrix as height and width: as square as their divisors allow, and not much higher than
/// [`MAX_AREA_HEIGHT`].
pub fn rows_as_area(rows: i64) -> [i64; 2] {
    let side = (rows as f64).sqrt().ceil() as i64;
    let min_width = side.max(rows / MAX_AREA_HEIGHT);
    let divides = |height: &i64| rows % height == 0;
    let height = (1..=rows / min_width).rev().find(divides).unwrap_or(1);
    [height, rows / height]
}

fn window(graph: &Graph, node_idx: usize) -> Window {
    let window = analysis::window::Window::new(graph, node_idx, 1.0);
    let pair = |h: i32, w: i32| [i64::from(h), i64::from(w)];
    Window {
        kernel: pair(window.filter_h, window.filter_w),
        stride: pair(window.stride_h, window.stride_w),
        dilation: pair(window.dilation_h, window.dilation_w),
        ..Window::POINT
    }
    .with_zeros_in_gaps()
}

/// Whether a concatenation is along channels and one of its parts starts inside a brick.
fn joins_in_brick(graph: &Graph, node: &Node) -> bool {
    let channels = |tensor_idx: usize| shape(&graph.tensor(tensor_idx).shape)[2];
    let operator = node.operator;
    let ([parts @ .., _], Some(&output)) = (operator.inputs.as_slice(), operator.outputs.first())
    else {
        return false;
    };
    let mut parts = parts.iter().flatten().map(|&part| channels(part));
    parts.clone().any(|depth| depth != channels(output))
        && parts.any(|depth| depth % BRICK_CHANNELS != 0)
}

impl Window {
    /// The window with a dilation that the hardware supports: wider gaps become zeros of the kernel.
    pub fn with_zeros_in_gaps(mut self) -> Self {
        if self
            .dilation
            .iter()
            .all(|&dilation| dilation <= MAX_DILATION)
        {
            return self;
        }
        for axis in 0..2 {
            let dilation = self.dilation[axis];
            let remaining = if dilation % 2 == 0 { 2 } else { 1 };
            let filled = dilation / remaining;
            self.kernel[axis] = (self.kernel[axis] - 1).saturating_mul(filled) + 1;
            self.dilation[axis] = remaining;
        }
        self
    }
}
