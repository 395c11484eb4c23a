//! Feature maps in an NPU's memory: what is alive while each operator runs.

use crate::analysis::Analysis;
use crate::graph::{Graph, Node};

/// Channels that one fetch of a feature map holds (the NHCWB16 brick): a partly filled brick costs
/// as much as a full one.
pub const BRICK_CHANNELS: f64 = 16.0;

/// How much a feature map grows when its channels are padded to whole bricks.
pub fn brick_padding(channels: f64) -> f64 {
    if channels == 0.0 {
        1.0
    } else {
        (channels / BRICK_CHANNELS).ceil() * BRICK_CHANNELS / channels
    }
}

/// Where an operator's result lies, as compilers for NPUs place it.
pub(super) enum Placing {
    /// Apart from what it reads.
    Apart,
    /// In the memory of its first input, which it only names anew, cuts or frames: no bytes move.
    View,
    /// In memory into which the writers of all its inputs write their parts.
    Joined,
    /// Over an input of the same size that nothing reads afterwards.
    InPlace,
}

pub(super) fn placing(node: &Node) -> Placing {
    match node.operator.code.builtin_name().unwrap_or_default() {
        "RESHAPE" | "SQUEEZE" | "EXPAND_DIMS" | "SLICE" | "STRIDED_SLICE" | "SPLIT" | "SPLIT_V"
        | "UNPACK" | "PAD" => Placing::View,
        "CONCATENATION" | "PACK" => Placing::Joined,
        "ABS" | "ADD" | "DIV" | "ELU" | "EXP" | "GELU" | "HARD_SWISH" | "LEAKY_RELU"
        | "LOGISTIC" | "MAXIMUM" | "MINIMUM" | "MUL" | "PRELU" | "QUANTIZE" | "RELU" | "RELU6"
        | "RELU_N1_TO_1" | "RSQRT" | "SQUARE" | "SQUARED_DIFFERENCE" | "SUB" | "TANH" => {
            Placing::InPlace
        }
        _ => Placing::Apart,
    }
}

/// A piece of memory, for one tensor or for several that share it.
#[derive(Clone, Copy)]
struct Piece {
    /// As the file has it.
    bytes: f64,
    /// With channels in whole bricks.
    bytes_padded: f64,
    /// Whether an input or output of the graph lies here: callers know of no bricks.
    is_interface: bool,
    /// First and last node that need it.
    nodes: Option<(usize, usize)>,
}

impl Piece {
    fn bytes_in_memory(self) -> f64 {
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
            nodes: match (self.nodes, other.nodes) {
                (Some(own), Some(other)) => Some(both(own, other)),
                (own, other) => own.or(other),
            },
        }
    }
}

/// Pieces of memory by tensor; tensors that share one have a common root.
struct Pieces {
    parent: Vec<usize>,
    /// Of roots; of others it is out of date.
    pieces: Vec<Piece>,
}

impl Pieces {
    fn root(&mut self, mut tensor_idx: usize) -> usize {
        while self.parent[tensor_idx] != tensor_idx {
            self.parent[tensor_idx] = self.parent[self.parent[tensor_idx]];
            tensor_idx = self.parent[tensor_idx];
        }
        tensor_idx
    }

    fn piece(&mut self, tensor_idx: usize) -> Piece {
        let root = self.root(tensor_idx);
        self.pieces[root]
    }

    fn share(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.pieces[one] = self.pieces[one].with(self.pieces[other]);
        self.parent[other] = one;
    }

    /// Lets the results of `node` lie where a compiler would place them.
    fn place(&mut self, graph: &Graph, node_idx: usize) {
        let operator = graph.nodes[node_idx].operator;
        let activations = operator.inputs.iter().flatten().copied();
        let mut activations = activations.filter(|&t| graph.constant(t).is_empty());
        let Some(&output) = operator.outputs.first() else {
            return;
        };
        match placing(&graph.nodes[node_idx]) {
            Placing::Apart => {}
            Placing::View => {
                if let Some(input) = activations.next() {
                    operator.outputs.iter().for_each(|&t| self.share(input, t));
                }
            }
            Placing::Joined => activations.for_each(|input| self.share(output, input)),
            Placing::InPlace => {
                let bytes = self.piece(output).bytes;
                let dies_here = |piece: Piece| piece.nodes.is_some_and(|(_, end)| end == node_idx);
                let input = activations.find(|&t| {
                    let piece = self.piece(t);
                    piece.bytes == bytes && dies_here(piece)
                });
                if let Some(input) = input {
                    self.share(input, output);
                }
            }
        }
    }
}

/// Bytes of feature maps alive while each node runs, channels padded to whole bricks but for the
/// graph's inputs and outputs; 0 where there is no memory plan. Linear in nodes and tensors.
pub fn live_bytes(graph: &Graph, analysis: &Analysis) -> Vec<f64> {
    let n_nodes = graph.nodes.len();
    let mut pieces = pieces(graph, analysis);
    (0..n_nodes).for_each(|node_idx| pieces.place(graph, node_idx));
    let mut change = vec![0.0; n_nodes + 1];
    for tensor_idx in 0..pieces.parent.len() {
        let piece = pieces.pieces[tensor_idx];
        if let (true, Some((first, last))) = (pieces.parent[tensor_idx] == tensor_idx, piece.nodes)
        {
            change[first] += piece.bytes_in_memory();
            change[last + 1] -= piece.bytes_in_memory();
        }
    }
    let mut alive = 0.0;
    let sum = |change: &f64| {
        alive += change;
        f64::max(alive, 0.0)
    };
    change.iter().take(n_nodes).map(sum).collect()
}

/// One piece for each tensor of the graph that the memory plan places.
fn pieces(graph: &Graph, analysis: &Analysis) -> Pieces {
    let nothing = Piece {
        bytes: 0.0,
        bytes_padded: 0.0,
        is_interface: false,
        nodes: None,
    };
    let subgraph = graph.subgraph;
    let mut pieces = vec![nothing; subgraph.tensors.len()];
    let plan = analysis.memory_plan.iter();
    let placements = plan.flat_map(|plan| &plan.placements);
    for place in placements.filter(|place| place.subgraph_idx == graph.subgraph_idx) {
        let bytes = place.size_bytes as f64;
        let channels = graph.tensor(place.tensor_idx).shape.last().copied();
        let nodes = place.nodes.as_ref();
        pieces[place.tensor_idx] = Piece {
            bytes,
            bytes_padded: bytes * brick_padding(f64::from(channels.unwrap_or(1))),
            is_interface: false,
            nodes: nodes.map(|nodes| (*nodes.start(), *nodes.end())),
        };
    }
    let interface = subgraph.inputs.iter().chain(&subgraph.outputs);
    interface.for_each(|&tensor_idx| pieces[tensor_idx].is_interface = true);
    Pieces {
        parent: (0..pieces.len()).collect(),
        pieces,
    }
}
