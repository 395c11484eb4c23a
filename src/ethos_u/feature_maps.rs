//! Feature maps in an NPU's memory: which share it, how large they are, and when they are alive.

use super::order::Order;
use crate::analysis::Analysis;
use crate::graph::{Graph, Node};
use crate::tflite::BuiltinOptions;

/// Channels that one fetch of a feature map holds (the NHCWB16 brick): a partly filled brick costs
/// as much as a full one.
pub const BRICK_CHANNELS: f64 = 16.0;

/// By tensor, whether a feature map lies as the file has it instead of in bricks: callers know of no
/// bricks, nor do views of another shape, nor tensors put together of parts that begin inside a brick.
pub fn linear(graph: &Graph) -> Vec<bool> {
    let subgraph = graph.subgraph;
    let mut is_linear = vec![false; subgraph.tensors.len()];
    let interface = subgraph.inputs.iter().chain(&subgraph.outputs);
    interface.for_each(|&t| is_linear[t] = true);
    let channels = |tensor_idx: usize| graph.tensor(tensor_idx).shape.last().copied();
    let is_whole = |channels: Option<i32>| channels.unwrap_or(1) % BRICK_CHANNELS as i32 == 0;
    for operator in graph.nodes.iter().map(|node| node.operator) {
        let inputs = operator.inputs.iter().flatten().copied();
        let mut first = inputs.clone().take(1);
        match operator.code.builtin_name().unwrap_or_default() {
            "RESHAPE" => {
                let of_view = first.chain(operator.outputs.iter().copied());
                of_view.for_each(|t| is_linear[t] = true);
            }
            "CONCATENATION" => {
                let [parts @ .., _] = operator.inputs.as_slice() else {
                    continue;
                };
                let output = operator.outputs.first().copied();
                let joins_channels =
                    |t: usize| parts.iter().flatten().any(|&p| channels(p) != channels(t));
                let is_split = parts.iter().flatten().any(|&t| !is_whole(channels(t)));
                if let Some(output) = output.filter(|&t| joins_channels(t) && is_split) {
                    is_linear[output] = true;
                }
            }
            // Zeros behind the channels are a part of their own.
            "PAD" => {
                let output = operator.outputs.first().copied();
                let is_split = first.any(|t| {
                    !is_whole(channels(t)) && output.is_some_and(|o| channels(o) != channels(t))
                });
                if let Some(output) = output.filter(|_| is_split) {
                    is_linear[output] = true;
                }
            }
            _ => {}
        }
    }
    is_linear
}

/// How much a feature map grows when its channels are padded to whole bricks.
pub fn brick_padding(channels: f64) -> f64 {
    if channels == 0.0 {
        1.0
    } else {
        (channels / BRICK_CHANNELS).ceil() * BRICK_CHANNELS / channels
    }
}

/// Where an operator's result lies, as compilers for NPUs place it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placing {
    /// Apart from what it reads.
    Apart,
    /// In the memory of its first input, which it only names anew, cuts or frames: no bytes move.
    View,
    /// The same for what the operator before or after it does: a frame around the input of a window, an
    /// activation that is looked up in a table.
    Fused,
    /// In memory into which the writers of all its inputs write their parts.
    Joined,
    /// Over an input of the same size that nothing else reads.
    InPlace,
}

impl Placing {
    /// Whether nothing runs, and the result is the first input by another name.
    pub fn is_of_input(self) -> bool {
        matches!(self, Placing::View | Placing::Fused)
    }
}

/// One for each node. Linear in nodes and edges.
pub fn placings(graph: &Graph) -> Vec<Placing> {
    let of_node = |node: &Node| match node.operator.code.builtin_name().unwrap_or_default() {
        "PAD" if pads_channels(graph, node) => Placing::Apart,
        "RESHAPE" | "SQUEEZE" | "EXPAND_DIMS" | "SLICE" | "STRIDED_SLICE" | "SPLIT" | "SPLIT_V"
        | "UNPACK" => Placing::View,
        "PAD" => Placing::Fused,
        "CONCATENATION" | "PACK" => Placing::Joined,
        "ABS" | "ELU" | "EXP" | "GELU" | "HARD_SWISH" | "LEAKY_RELU" | "LOGISTIC" | "QUANTIZE"
        | "RELU" | "RELU6" | "RELU_N1_TO_1" | "RSQRT" | "SQUARE" | "TANH" => Placing::InPlace,
        name if is_binary_elementwise(name) => Placing::InPlace,
        _ => Placing::Apart,
    };
    let mut placings: Vec<Placing> = graph.nodes.iter().map(of_node).collect();
    let n_readers = n_readers(graph);
    for (node_idx, placing) in placings.iter_mut().enumerate() {
        if is_fused(graph, node_idx, &n_readers) {
            *placing = Placing::Fused;
        }
    }
    for edge in &graph.edges {
        let is_pad = graph.nodes[edge.src].operator.code.builtin_name() == Some("PAD");
        if is_pad && !has_window(&graph.nodes[edge.dst]) {
            placings[edge.src] = Placing::Apart;
        }
    }
    placings
}

/// Whether an activation is looked up in a table by the operator before it, which nothing else reads.
fn is_fused(graph: &Graph, node_idx: usize, n_readers: &[usize]) -> bool {
    let operator = graph.nodes[node_idx].operator;
    let name = operator.code.builtin_name().unwrap_or_default();
    let is_activation = matches!(
        name,
        "ELU"
            | "GELU"
            | "HARD_SWISH"
            | "LEAKY_RELU"
            | "LOGISTIC"
            | "RELU"
            | "RELU6"
            | "RELU_N1_TO_1"
            | "TANH"
    );
    let input = operator.inputs.first().copied().flatten();
    let Some(input) = input.filter(|&t| is_activation && n_readers[t] == 1) else {
        return false;
    };
    let edges = &graph.edges;
    let from = edges.partition_point(|edge| edge.dst < node_idx);
    edges[from..].first().is_some_and(|edge| {
        let before = &graph.nodes[edge.src];
        let name = before.operator.code.builtin_name().unwrap_or_default();
        let computes = is_binary_elementwise(name)
            || matches!(
                name,
                "CONV_2D" | "DEPTHWISE_CONV_2D" | "FULLY_CONNECTED" | "TRANSPOSE_CONV"
            );
        edge.dst == node_idx && edge.tensor_idx == input && computes
    })
}

/// By tensor, how many nodes read it, and the caller as one more.
fn n_readers(graph: &Graph) -> Vec<usize> {
    let mut n_readers = vec![0; graph.subgraph.tensors.len()];
    for node in &graph.nodes {
        let inputs = node.operator.inputs.iter().flatten();
        inputs.for_each(|&tensor_idx| n_readers[tensor_idx] += 1);
    }
    let outputs = graph.subgraph.outputs.iter();
    outputs.for_each(|&tensor_idx| n_readers[tensor_idx] += 1);
    n_readers
}

pub(super) fn is_binary_elementwise(name: &str) -> bool {
    matches!(
        name,
        "ADD" | "DIV" | "MAXIMUM" | "MINIMUM" | "MUL" | "PRELU" | "SQUARED_DIFFERENCE" | "SUB"
    )
}

/// Operators with a window read beyond the edge by themselves: what a PAD of height and width does
/// for them is not done.
fn has_window(node: &Node) -> bool {
    matches!(
        node.operator.options,
        BuiltinOptions::Conv2D { .. }
            | BuiltinOptions::DepthwiseConv2D { .. }
            | BuiltinOptions::Pool2D { .. }
    )
}

fn pads_channels(graph: &Graph, pad: &Node) -> bool {
    let (Some(&Some(input)), Some(&output)) =
        (pad.operator.inputs.first(), pad.operator.outputs.first())
    else {
        return true;
    };
    graph.tensor(input).shape.last() != graph.tensor(output).shape.last()
}

/// By tensor, first and last step that need it. Callers write inputs before the first step and read
/// outputs after the last one.
fn needed(graph: &Graph, order: &Order) -> Vec<Option<(usize, usize)>> {
    let subgraph = graph.subgraph;
    let mut needed: Vec<Option<(usize, usize)>> = vec![None; subgraph.tensors.len()];
    let mut mark = |tensor_idx: usize, step: usize| {
        let (first, last) = needed[tensor_idx].unwrap_or((step, step));
        needed[tensor_idx] = Some((first.min(step), last.max(step)));
    };
    for (step, &node_idx) in order.nodes.iter().enumerate() {
        let operator = graph.nodes[node_idx].operator;
        let (first, last) = order.span(step);
        for &tensor_idx in operator.inputs.iter().flatten().chain(&operator.outputs) {
            mark(tensor_idx, first);
            mark(tensor_idx, last);
        }
    }
    if let Some(last_step) = order.nodes.len().checked_sub(1) {
        subgraph.inputs.iter().for_each(|&t| mark(t, 0));
        subgraph.outputs.iter().for_each(|&t| mark(t, last_step));
        for (tensor_idx, tensor) in subgraph.tensors.iter().enumerate() {
            if tensor.is_variable {
                mark(tensor_idx, 0);
                mark(tensor_idx, last_step);
            }
        }
    }
    for (step, &node_idx) in order.nodes.iter().enumerate() {
        if order.is_passed_on(step) {
            let outputs = graph.nodes[node_idx].operator.outputs.iter();
            outputs.for_each(|&tensor_idx| needed[tensor_idx] = None);
        }
    }
    needed
}

/// A piece of memory, for one tensor or for several that share it.
#[derive(Clone, Copy, Debug)]
pub struct LiveRange {
    /// As the file has it.
    bytes: f64,
    /// With channels in whole bricks, where it lies in bricks.
    bytes_padded: f64,
    /// Whether an input or output of the graph lies here: callers know of no bricks.
    pub is_interface: bool,
    /// Whether a cascade writes it: the compiler leaves that off chip.
    pub is_of_cascade: bool,
    /// First and last step of the order of execution in which it is needed; none for what no operator
    /// needs.
    pub steps: Option<(usize, usize)>,
}

impl LiveRange {
    pub fn bytes_in_memory(&self) -> f64 {
        match self.is_interface {
            true => self.bytes,
            false => self.bytes_padded,
        }
    }

    fn with(self, other: Self) -> Self {
        let both = |(first, last): (usize, usize), (other_first, other_last)| {
            (first.min(other_first), last.max(other_last))
        };
        Self {
            bytes: self.bytes.max(other.bytes),
            bytes_padded: self.bytes_padded.max(other.bytes_padded),
            is_interface: self.is_interface || other.is_interface,
            is_of_cascade: self.is_of_cascade || other.is_of_cascade,
            steps: match (self.steps, other.steps) {
                (Some(own), Some(other)) => Some(both(own, other)),
                (own, other) => own.or(other),
            },
        }
    }
}

/// The feature maps of a graph, tensors that share memory as one.
#[derive(Debug)]
pub struct FeatureMaps {
    /// By node.
    placings: Vec<Placing>,
    /// By tensor, one that stands for all with which it shares memory.
    parent: Vec<usize>,
    /// By tensor. Of those that stand for others; of the rest it is out of date.
    ranges: Vec<LiveRange>,
    /// Whether inputs and outputs of the graph lie in another memory than what is between.
    is_interface_apart: bool,
}

impl FeatureMaps {
    /// Those of a graph that runs in such an `order`. Without a memory plan, none is alive.
    /// Linear in nodes, tensors and edges.
    pub fn of(graph: &Graph, analysis: &Analysis, order: &Order, is_interface_apart: bool) -> Self {
        let mut feature_maps = Self::apart(graph, analysis, order, is_interface_apart);
        for (step, &node_idx) in order.nodes.iter().enumerate() {
            // What is chained or cascaded has no result of the step before to lie over.
            let is_apart = order.span(step) == (step, step);
            if is_apart || feature_maps.placings[node_idx].is_of_input() {
                feature_maps.place(graph, node_idx, step);
            }
        }
        for tensor_idx in 0..feature_maps.parent.len() {
            feature_maps.parent[tensor_idx] = feature_maps.root(tensor_idx);
        }
        feature_maps
    }

    /// One range for each tensor of the graph that the memory plan places.
    fn apart(graph: &Graph, analysis: &Analysis, order: &Order, is_interface_apart: bool) -> Self {
        let needed = needed(graph, order);
        let nothing = LiveRange {
            bytes: 0.0,
            bytes_padded: 0.0,
            is_interface: false,
            is_of_cascade: false,
            steps: None,
        };
        let subgraph = graph.subgraph;
        let mut ranges = vec![nothing; subgraph.tensors.len()];
        let is_linear = linear(graph);
        let plan = analysis.memory_plan.iter();
        let placements = plan.flat_map(|plan| &plan.placements);
        for place in placements.filter(|place| place.subgraph_idx == graph.subgraph_idx) {
            let bytes = place.size_bytes as f64;
            let channels = graph.tensor(place.tensor_idx).shape.last().copied();
            let padding = match is_linear[place.tensor_idx] {
                true => 1.0,
                false => brick_padding(f64::from(channels.unwrap_or(1))),
            };
            ranges[place.tensor_idx] = LiveRange {
                bytes,
                bytes_padded: bytes * padding,
                is_interface: false,
                is_of_cascade: false,
                steps: needed[place.tensor_idx],
            };
        }
        let interface = subgraph.inputs.iter().chain(&subgraph.outputs);
        interface.for_each(|&tensor_idx| ranges[tensor_idx].is_interface = true);
        for (step, &node_idx) in order.nodes.iter().enumerate() {
            if order.cascade[step].is_some() && !order.is_passed_on(step) {
                let outputs = graph.nodes[node_idx].operator.outputs.iter();
                outputs.for_each(|&tensor_idx| ranges[tensor_idx].is_of_cascade = true);
            }
        }
        let placings = placings(graph);
        for (node, placing) in graph.nodes.iter().zip(&placings) {
            // The frame is not in memory: who reads beyond the edge adds it.
            let is_frame = node.operator.code.builtin_name() == Some("PAD");
            for &output in node
                .operator
                .outputs
                .iter()
                .filter(|_| is_frame && *placing == Placing::Fused)
            {
                ranges[output].bytes = 0.0;
                ranges[output].bytes_padded = 0.0;
            }
        }
        Self {
            placings,
            parent: (0..ranges.len()).collect(),
            ranges,
            is_interface_apart,
        }
    }

    fn root(&mut self, mut tensor_idx: usize) -> usize {
        while self.parent[tensor_idx] != tensor_idx {
            self.parent[tensor_idx] = self.parent[self.parent[tensor_idx]];
            tensor_idx = self.parent[tensor_idx];
        }
        tensor_idx
    }

    fn range(&mut self, tensor_idx: usize) -> LiveRange {
        let root = self.root(tensor_idx);
        self.ranges[root]
    }

    fn share(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.ranges[one] = self.ranges[one].with(self.ranges[other]);
        self.parent[other] = one;
    }

    /// Lets the results of a node lie where a compiler would place them.
    fn place(&mut self, graph: &Graph, node_idx: usize, step: usize) {
        let operator = graph.nodes[node_idx].operator;
        let activations = operator.inputs.iter().flatten().copied();
        let mut activations = activations.filter(|&t| graph.constant(t).is_empty());
        let Some(&output) = operator.outputs.first() else {
            return;
        };
        match self.placings[node_idx] {
            Placing::Apart => {}
            Placing::View | Placing::Fused => {
                if let Some(input) = activations.next() {
                    operator.outputs.iter().for_each(|&t| self.share(input, t));
                }
            }
            Placing::Joined => activations.for_each(|input| self.share(output, input)),
            Placing::InPlace => {
                let own = self.range(output);
                let input = activations.find(|&input| {
                    let range = self.range(input);
                    let dies_here = range.steps.is_some_and(|(_, end)| end == step);
                    let is_interface = range.is_interface || own.is_interface;
                    let is_apart = self.is_interface_apart && is_interface || range.is_of_cascade;
                    range.bytes == own.bytes && dies_here && !is_apart
                });
                if let Some(input) = input {
                    self.share(input, output);
                }
            }
        }
    }

    /// Index of the range in which a tensor lies.
    pub fn range_of(&self, tensor_idx: usize) -> usize {
        self.parent[tensor_idx]
    }

    /// Each with its index.
    pub fn ranges(&self) -> impl Iterator<Item = (usize, &LiveRange)> {
        let is_root =
            |&(tensor_idx, _): &(usize, &LiveRange)| self.parent[tensor_idx] == tensor_idx;
        self.ranges.iter().enumerate().filter(is_root)
    }

    /// Bytes alive in each of `n_steps`, of the ranges that are in this memory.
    pub fn live_bytes(&self, n_steps: usize, is_in: impl Fn(usize) -> bool) -> Vec<f64> {
        let mut change = vec![0.0; n_steps + 1];
        for (_, range) in self.ranges().filter(|&(range_idx, _)| is_in(range_idx)) {
            if let Some((first, last)) = range.steps {
                change[first] += range.bytes_in_memory();
                change[last + 1] -= range.bytes_in_memory();
            }
        }
        let mut alive = 0.0;
        let sum = |change: &f64| {
            alive += change;
            f64::max(alive, 0.0)
        };
        change.iter().take(n_steps).map(sum).collect()
    }
}
