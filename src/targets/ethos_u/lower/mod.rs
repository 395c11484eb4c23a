//! [`Graph`] and [`Analysis`] → [`Program`]: which operations the compiler makes of operators.

mod convolution;
mod elementwise;
mod layout;
mod lowering;
mod matmul;
mod pad;
mod parts;
mod recurrent;
mod reduce;
mod resize;
mod softmax;
mod transpose;

use self::layout::lay_out;
use self::lowering::Lowering;
use self::parts::copy_parts;
use super::accelerator::{Accelerator, Hwc};
use super::blocks::SPLIT_DEPTH;
use super::layer::Kind;
use super::program::{Action, Arithmetic, MAX_DIMENSION, Map, Operation, Placing, Program, Window};
use crate::formats::tflite::{BuiltinOptions, Tensor, TensorType};
use crate::graph::analysis::{self, Analysis};
use crate::graph::{Graph, Node};
use crate::targets::ethos_u::support::{Npu, unsupported};

/// Of rows of a matrix that are put beside and above each other, at most or a little more.
const MAX_AREA_HEIGHT: i64 = 16;

/// One operation for each node, as they stand in the file. Linear in nodes and tensors.
pub fn one_to_one(graph: &Graph, analysis: &Analysis) -> Program {
    let mut program = Program {
        maps: maps(graph, analysis),
        operations: Vec::with_capacity(graph.nodes.len()),
        outputs: graph.subgraph.outputs.clone(),
    };
    for node_idx in 0..graph.nodes.len() {
        program
            .operations
            .push(operation(graph, analysis, node_idx));
    }
    fuse(&mut program);
    lay_out(&mut program, false);
    program
}

/// The operations that the compiler makes of a graph for an accelerator. Linear in nodes and tensors.
pub fn lower(accelerator: &Accelerator, graph: &Graph, analysis: &Analysis) -> Program {
    let mut lowering = Lowering::new(accelerator, graph, analysis);
    let npu = match accelerator.is_u85() {
        true => Npu::EthosU85,
        false => Npu::EthosU55U65,
    };
    let mut is_left = vec![false; graph.nodes.len()];
    for operator in unsupported(graph, npu) {
        is_left[operator.node_idx] = true;
    }
    for (node_idx, is_left) in is_left.into_iter().enumerate() {
        lowering.node_idx = node_idx;
        if is_left {
            lowering.push_left_to_cpu();
            continue;
        }
        let n_before = lowering.program.operations.len();
        if replace(&mut lowering).is_none() {
            lowering.program.operations.truncate(n_before);
            lowering.push_node();
        }
    }
    let mut program = lowering.program;
    copy_parts(&mut program);
    fuse(&mut program);
    lay_out(&mut program, accelerator.is_u85());
    program
}

/// Adds what an operator is replaced by; none where it stays one operation.
fn replace(lowering: &mut Lowering) -> Option<()> {
    match lowering.operator().code.builtin_name()? {
        "ADD" | "SUB" => elementwise::broadcast(lowering, Arithmetic::Sum),
        "MUL" => elementwise::broadcast(lowering, Arithmetic::Product),
        "ARG_MAX" => reduce::arg_max(lowering),
        "BATCH_MATMUL" => matmul::batch_matmul(lowering),
        "MAXIMUM" | "MINIMUM" => elementwise::broadcast(lowering, Arithmetic::Other),
        "CONV_2D" => convolution::in_groups(lowering),
        "MEAN" => reduce::mean(lowering),
        "PAD" | "PADV2" => pad::pad(lowering),
        "PRELU" => elementwise::prelu(lowering),
        "REDUCE_ALL" | "REDUCE_ANY" | "REDUCE_MAX" | "REDUCE_MIN" => reduce::largest(lowering),
        "RESIZE_BILINEAR" | "RESIZE_NEAREST_NEIGHBOR" => resize::resize(lowering),
        "SOFTMAX" => softmax::softmax(lowering),
        "SQUARED_DIFFERENCE" => elementwise::squared_difference(lowering),
        "TRANSPOSE" => transpose::transpose(lowering),
        "TRANSPOSE_CONV" => convolution::transpose_conv(lowering),
        "UNIDIRECTIONAL_SEQUENCE_LSTM" => recurrent::lstm(lowering),
        _ => None,
    }
}

fn maps(graph: &Graph, analysis: &Analysis) -> Vec<Map> {
    let tensors = &graph.subgraph.tensors;
    let map = |(tensor_idx, tensor): (usize, &Tensor)| Map {
        shape: shape(&tensor.shape),
        element_bytes: element_bytes(tensor.tensor_type),
        is_constant: !graph.constant(tensor_idx).is_empty(),
        is_variable: tensor.is_variable,
        ..Map::default()
    };
    let mut maps: Vec<Map> = tensors.iter().enumerate().map(map).collect();
    let plan = analysis.memory_plan.iter();
    for place in plan.flat_map(|plan| &plan.placements) {
        if place.subgraph_idx == graph.subgraph_idx {
            maps[place.tensor_idx].bytes = Some(place.size_bytes as f64);
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

/// Bytes of an element, 1 where it has fewer bits.
fn element_bytes(tensor_type: TensorType) -> i64 {
    let bits = tensor_type.bits_per_value().unwrap_or(8);
    i64::from(bits.div_ceil(8))
}

/// Height, width and channels; 1 where there are fewer dimensions, outer ones multiplied into the
/// height, 2^16 at most.
fn shape(shape: &[i32]) -> Hwc {
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
fn operation(graph: &Graph, analysis: &Analysis, node_idx: usize) -> Operation {
    let node = &graph.nodes[node_idx];
    let operator = node.operator;
    let name = operator.code.builtin_name().unwrap_or_default();
    let (action, placing) = match name {
        "RESHAPE" | "SQUEEZE" | "EXPAND_DIMS" => (Action::View, Placing::View),
        "SLICE" | "STRIDED_SLICE" | "SPLIT" | "SPLIT_V" | "UNPACK" => {
            (Action::Slice, Placing::View)
        }
        "PAD" => (Action::Frame, Placing::Fused),
        "CONCATENATION" | "PACK" => {
            let is_in_brick = joins_in_brick(graph, node);
            (Action::Join { is_in_brick }, Placing::Joined)
        }
        "ELU" | "EXP" | "GELU" | "HARD_SWISH" | "LEAKY_RELU" | "LOG" | "LOGISTIC" | "RSQRT"
        | "TANH" => (Action::Table, Placing::InPlace),
        "RELU" | "RELU6" | "RELU_0_TO_1" | "RELU_N1_TO_1" => (Action::Limit, Placing::InPlace),
        "QUANTIZE" => (Action::Rescale, Placing::InPlace),
        "ABS" | "LOGICAL_NOT" | "NEG" => (Action::Unary, Placing::InPlace),
        "ADD" | "SUB" => (Action::Binary(Arithmetic::Sum), Placing::InPlace),
        "MUL" => (Action::Binary(Arithmetic::Product), Placing::InPlace),
        "DIV" | "EQUAL" | "GREATER" | "GREATER_EQUAL" | "LESS" | "LESS_EQUAL" | "LOGICAL_AND"
        | "LOGICAL_OR" | "MAXIMUM" | "MINIMUM" | "NOT_EQUAL" | "PRELU" | "SQUARED_DIFFERENCE" => {
            (Action::Binary(Arithmetic::Other), Placing::InPlace)
        }
        _ => match layer(graph, analysis, node_idx) {
            Some(operation) => return operation,
            None => (Action::Other, Placing::Apart),
        },
    };
    let inputs = operator.inputs.iter().flatten().copied().collect();
    Operation {
        placing,
        ..Operation::new(node_idx, action, inputs, operator.outputs.clone())
    }
}

/// A node as the multipliers compute it; none where they do not.
fn layer(graph: &Graph, analysis: &Analysis, node_idx: usize) -> Option<Operation> {
    let operator = graph.nodes[node_idx].operator;
    let input = operator.inputs.first().copied().flatten()?;
    let &output = operator.outputs.first()?;
    let ifm = shape(&graph.tensor(input).shape);
    let window = window(graph, node_idx);
    let (kind, seen, window) = match operator.options {
        // Vela makes an ordinary convolution of one that has a single input channel.
        BuiltinOptions::DepthwiseConv2D { .. } if ifm[2] != 1 => (Kind::Depthwise, None, window),
        BuiltinOptions::Conv2D { .. } | BuiltinOptions::DepthwiseConv2D { .. } => {
            (Kind::Convolution, None, window)
        }
        BuiltinOptions::Pool2D { .. } => match operator.code.builtin_name() {
            Some("MAX_POOL_2D") => (Kind::MaxPooling, None, window),
            _ => (Kind::Pooling, None, window),
        },
        BuiltinOptions::FullyConnected { .. } => {
            let filter = operator.inputs.get(1).copied().flatten()?;
            let &[out_depth, depth] = graph.tensor(filter).shape.as_slice() else {
                return None;
            };
            let (out_depth, depth) = (i64::from(out_depth), i64::from(depth));
            let rows = ifm.iter().product::<i64>() / depth.max(1);
            let rows = rows.clamp(1, MAX_DIMENSION);
            let [height, width] = rows_as_area(rows);
            let seen = [[height, width, depth], [height, width, out_depth]];
            (Kind::VectorProduct, Some(seen), Window::POINT)
        }
        _ => return None,
    };
    let weights = analysis.costs[node_idx].weights.as_ref();
    Some(Operation {
        seen,
        window,
        weights: weights.map(|weights| weights.histogram.clone()),
        ..Operation::new(node_idx, Action::Layer(kind), vec![input], vec![output])
    })
}

/// Rows of a matrix that is multiplied by weights, as height and width: as square as its divisors allow, 16
/// high or a little more at most.
fn rows_as_area(rows: i64) -> [i64; 2] {
    let side = (rows as f64).sqrt().ceil() as i64;
    let least_width = side.max(rows / MAX_AREA_HEIGHT);
    let divides = |height: &i64| rows % height == 0;
    let height = (1..=rows / least_width).rev().find(divides).unwrap_or(1);
    [height, rows / height]
}

fn window(graph: &Graph, node_idx: usize) -> Window {
    let window = analysis::window::Window::of(graph, node_idx, 1.0);
    let pair = |h: i32, w: i32| [i64::from(h), i64::from(w)];
    Window {
        kernel: pair(window.filter_h, window.filter_w),
        stride: pair(window.stride_h, window.stride_w),
        dilation: pair(window.dilation_h, window.dilation_w),
        ..Window::POINT
    }
    .with_zeros_in_gaps()
}

/// Whether parts are put behind each other's channels, and one begins inside a brick of them.
fn joins_in_brick(graph: &Graph, node: &Node) -> bool {
    let channels = |tensor_idx: usize| shape(&graph.tensor(tensor_idx).shape)[2];
    let operator = node.operator;
    let ([parts @ .., _], Some(&output)) = (operator.inputs.as_slice(), operator.outputs.first())
    else {
        return false;
    };
    let mut parts = parts.iter().flatten().map(|&part| channels(part));
    parts.clone().any(|depth| depth != channels(output))
        && parts.any(|depth| depth % SPLIT_DEPTH != 0)
}

/// Marks what operations before or after do by themselves: activations behind a computation that nothing
/// else reads, frames around what has a window.
fn fuse(program: &mut Program) {
    let n_readers = program.n_readers();
    let writers = program.writers();
    let mut is_fused = vec![false; program.operations.len()];
    for (idx, operation) in program.operations.iter().enumerate() {
        let is_activation = matches!(operation.action, Action::Table | Action::Limit);
        let input = operation.inputs.first().copied();
        let input = input.filter(|&map_idx| is_activation && n_readers[map_idx] == 1);
        let before = input.and_then(|map_idx| writers[map_idx]);
        is_fused[idx] = before.is_some_and(|before| {
            matches!(
                program.operations[before].action,
                Action::Binary(_)
                    | Action::Unary
                    | Action::Rescale
                    | Action::Layer(
                        Kind::Convolution
                            | Kind::Depthwise
                            | Kind::VectorProduct
                            | Kind::MaxPooling
                            | Kind::ReduceSum
                    )
            )
        });
    }
    for (operation, is_fused) in program.operations.iter_mut().zip(is_fused) {
        if is_fused {
            operation.placing = Placing::Fused;
        }
    }
    let has_window = |operation: &Operation| matches!(operation.action, Action::Layer(kind) if !matches!(kind, Kind::VectorProduct | Kind::MatrixProduct));
    let apart: Vec<usize> = (program.operations.iter())
        .filter(|operation| !has_window(operation))
        .flat_map(|operation| &operation.inputs)
        .filter_map(|&map_idx| writers[map_idx])
        .filter(|&before| program.operations[before].action == Action::Frame)
        .collect();
    for idx in apart {
        program.operations[idx].placing = Placing::Apart;
    }
}
