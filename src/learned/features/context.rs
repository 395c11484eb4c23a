//! The values from which the columns of one node are computed.

use std::ops::AddAssign;

use super::compiler::{N_ACCELERATORS, PlannedOperator};
use crate::formats::tflite::{Activation, BuiltinOptions, Operator, Subgraph, Tensor, TensorType};
use crate::graph::Graph;
use crate::graph::analysis::window::Window;
use crate::graph::analysis::{Analysis, WeightStats};

/// A shape as four dimensions: missing leading ones are 1, surplus ones are multiplied into `n`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shape4 {
    pub n: f32,
    pub h: f32,
    pub w: f32,
    pub c: f32,
    pub rank: f32,
}

impl Shape4 {
    pub fn new(tensor: &Tensor) -> Self {
        let dim = |from_end: usize| {
            let at = tensor.shape.len().checked_sub(from_end);
            at.map_or(1.0, |at| tensor.shape[at] as f32)
        };
        let outer = tensor.shape.len().saturating_sub(3);
        let n = tensor.shape[..outer].iter().map(|&d| d as f32).product();
        Self {
            n,
            h: dim(3),
            w: dim(2),
            c: dim(1),
            rank: tensor.shape.len() as f32,
        }
    }

    /// Channels, rounded up to a multiple of [`CHANNEL_MULTIPLE`].
    pub fn c_padded(self) -> f32 {
        (f64::from(self.c) * self.channel_padding()) as f32
    }

    /// Factor by which the tensor grows when its channels are rounded up to a multiple of [`CHANNEL_MULTIPLE`].
    pub fn channel_padding(self) -> f64 {
        let channels = f64::from(self.c);
        if channels == 0.0 {
            1.0
        } else {
            (channels / CHANNEL_MULTIPLE).ceil() * CHANNEL_MULTIPLE / channels
        }
    }
}

/// Channels of one element of the NHCWB16 layout in which Ethos-U stores feature maps.
const CHANNEL_MULTIPLE: f64 = 16.0;

/// Multiply-accumulates and bytes of one node, or the sums over several nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MacsAndBytes {
    pub macs: f64,
    pub macs_padded: f64,
    pub weight_bytes: f64,
    pub weight_bytes_coded: f64,
    pub input_bytes: f64,
    pub output_bytes: f64,
    pub output_bytes_padded: f64,
}

impl MacsAndBytes {
    /// Those of a node whose largest constant has `coded_weight_bytes` in the compiler's weight encoding.
    pub fn new(
        graph: &Graph,
        analysis: &Analysis,
        coded_weight_bytes: f64,
        node_idx: usize,
    ) -> Self {
        let [input, output] = shapes(graph, graph.nodes[node_idx].operator);
        let cost = &analysis.costs[node_idx];
        let macs = cost.macs as f64;
        Self {
            macs,
            macs_padded: macs * input.channel_padding() * output.channel_padding(),
            weight_bytes: cost.weight_bytes as f64,
            weight_bytes_coded: coded_weight_bytes,
            input_bytes: cost.input_bytes as f64,
            output_bytes: cost.output_bytes as f64,
            output_bytes_padded: cost.output_bytes as f64 * output.channel_padding(),
        }
    }

    pub fn bytes_moved(&self) -> f64 {
        self.weight_bytes + self.input_bytes + self.output_bytes
    }
}

impl AddAssign for MacsAndBytes {
    fn add_assign(&mut self, more: Self) {
        self.macs += more.macs;
        self.macs_padded += more.macs_padded;
        self.weight_bytes += more.weight_bytes;
        self.weight_bytes_coded += more.weight_bytes_coded;
        self.input_bytes += more.input_bytes;
        self.output_bytes += more.output_bytes;
        self.output_bytes_padded += more.output_bytes_padded;
    }
}

/// One node with everything that its columns need.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeContext {
    pub window: Window,
    pub fused_relu: f32,
    pub fused_other: f32,
    pub input: Shape4,
    pub output: Shape4,
    pub element_bytes_out: f32,
    pub n_activations_in: f32,
    pub n_out: f32,
    pub counts: MacsAndBytes,
    /// Sums up to and including this node, in topological order.
    pub so_far: MacsAndBytes,
    pub live_bytes: f64,
    pub feature_map_bytes_alive: f64,
    /// What the compiler plans on each accelerator.
    pub planned: [PlannedOperator; N_ACCELERATORS],
    /// Those of the previous node in the order of execution.
    pub before: MacsAndBytes,
    /// Those of the next node in the order of execution.
    pub next: MacsAndBytes,
    pub weight_std: f32,
    pub weight_zero_share: f32,
    pub weight_entropy_bits: f32,
    pub n_predecessors: f32,
    pub n_successors: f32,
    pub reads_graph_input: f32,
    pub writes_graph_output: f32,
    pub index: f32,
}

impl NodeContext {
    /// The values that follow from the node itself. The caller fills in its counts, degrees, running sums, neighbours
    /// and padded live bytes.
    pub fn new(graph: &Graph, analysis: &Analysis, ends: &ModelEnds, node_idx: usize) -> Self {
        let operator = graph.nodes[node_idx].operator;
        let cost = &analysis.costs[node_idx];
        let activations = || activations(graph, operator);
        let [input, output] = shapes(graph, operator);
        let first_out = operator.outputs.first().map(|&t| graph.tensor(t));
        let (fused_relu, fused_other) = relu_and_relu6(&operator.options);
        let spread = cost.weights.as_deref().map(WeightStats::spread);
        let plan = analysis.memory_plan.as_ref();
        Self {
            window: Window::new(graph, node_idx, input.c),
            fused_relu,
            fused_other,
            input,
            output,
            element_bytes_out: first_out.map_or(0.0, |t| element_bytes(t.tensor_type)),
            n_activations_in: activations().count() as f32,
            n_out: operator.outputs.len() as f32,
            live_bytes: plan.map_or(0.0, |p| p.live_bytes[node_idx] as f64),
            weight_std: spread.map_or(0.0, |spread| spread.std),
            weight_zero_share: spread.map_or(0.0, |spread| spread.zero_share),
            weight_entropy_bits: spread.map_or(0.0, |spread| spread.entropy_bits),
            reads_graph_input: any_of(activations(), &ends.is_input),
            writes_graph_output: any_of(operator.outputs.iter().copied(), &ends.is_output),
            index: node_idx as f32,
            ..Self::default()
        }
    }
}

fn element_bytes(tensor_type: TensorType) -> f32 {
    tensor_type
        .bits_per_value()
        .map_or(0.0, |bits| bits as f32 / 8.0)
}

fn any_of(mut tensors: impl Iterator<Item = usize>, is_one: &[bool]) -> f32 {
    f32::from(u8::from(tensors.any(|t| is_one[t])))
}

/// The inputs of an operator that are not constant.
fn activations<'g>(graph: &'g Graph, operator: &'g Operator) -> impl Iterator<Item = usize> {
    let read = operator.inputs.iter().flatten().copied();
    read.filter(|&t| !graph.is_constant(t))
}

/// Shapes of the first activation that an operator reads and of its first output.
fn shapes(graph: &Graph, operator: &Operator) -> [Shape4; 2] {
    let ends = [
        activations(graph, operator).next(),
        operator.outputs.first().copied(),
    ];
    ends.map(|end| end.map_or(Shape4::default(), |t| Shape4::new(graph.tensor(t))))
}

/// By tensor, whether callers write or read it.
pub(super) struct ModelEnds {
    is_input: Vec<bool>,
    is_output: Vec<bool>,
}

impl ModelEnds {
    pub fn new(subgraph: &Subgraph) -> Self {
        let among = |ends: &[usize]| {
            let mut is_end = vec![false; subgraph.tensors.len()];
            ends.iter().for_each(|&t| is_end[t] = true);
            is_end
        };
        Self {
            is_input: among(&subgraph.inputs),
            is_output: among(&subgraph.outputs),
        }
    }
}

fn relu_and_relu6(options: &BuiltinOptions) -> (f32, f32) {
    use BuiltinOptions::*;
    let (Conv2D { activation, .. }
    | DepthwiseConv2D { activation, .. }
    | Pool2D { activation, .. }
    | FullyConnected { activation, .. }) = options
    else {
        return (0.0, 0.0);
    };
    match activation {
        Activation::None => (0.0, 0.0),
        Activation::Relu | Activation::Relu6 | Activation::ReluN1To1 => (1.0, 0.0),
        _ => (0.0, 1.0),
    }
}
