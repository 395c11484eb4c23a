//! The layers into which ST Edge AI Core converts operators, with the buffers of each.
//!
//! A convolution with `SAME` padding becomes a layer that pads and a layer that convolves, unless its input has fewer
//! channels than a word has bytes. A max pool is merged into the convolution before it. Reshapes disappear.

use std::collections::{HashMap, HashSet};

use super::precomputed;
use super::st_tool::StTool;
use crate::formats::tflite::{OpKind, Tensor, TensorType};
use crate::graph::analysis::window::Window;
use crate::graph::{Graph, Node};
use crate::targets::cortex_m::operator_counts::{Kind, kind};

/// Layers in order, with the sizes of the buffers between them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Steps {
    pub steps: Vec<Step>,
    /// By buffer.
    pub buffer_bytes: Vec<u64>,
    /// Buffers that hold values before the first step.
    pub inputs: Vec<usize>,
    /// Buffers that hold values after the last step.
    pub outputs: Vec<usize>,
    /// Bytes of the network's outputs that do not depend on its input. They are alive at every step and in none of
    /// the buffers.
    pub precomputed_bytes: u64,
}

/// One layer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Step {
    pub reads: Vec<usize>,
    pub writes: Vec<usize>,
    /// Working memory while it runs.
    pub scratch_bytes: u64,
    /// Minimum distance of an output that overwrites its input; absent if the kernel cannot overwrite its input.
    pub lag_bytes: Option<u64>,
}

/// Convolutions with fewer input channels pad in their own kernel.
const MIN_PADDED_CHANNELS: u64 = 4;
/// Pointwise convolutions that multiply the number of channels by more than this do not overwrite their input.
const MAX_OVERLAPPED_EXPANSION: u64 = 2;
/// Filters that a kernel unpacks to 16-bit values at a time, in bytes.
const MAX_UNPACKED_BYTES: u64 = 5120;

/// Input channels of a convolution that reads a colour image.
const COLOUR_CHANNELS: u64 = 3;

/// The layers of a graph; `None` if a size is not known. Linear in operators and inputs.
pub fn of(graph: &Graph, tool: StTool) -> Option<Steps> {
    let precomputed = precomputed::of(graph);
    let is_precomputed = |t: &usize| precomputed.contains(t);
    let runs = |node: &Node| !node.operator.outputs.iter().all(is_precomputed);
    let nodes = graph.nodes.iter().enumerate();
    let nodes: Vec<(usize, &Node)> = nodes.filter(|(_, node)| runs(node)).collect();
    let mut made = Maker {
        graph,
        tool,
        made: Steps::default(),
        buffers: HashMap::new(),
        quantised: HashSet::new(),
        readers: readers(graph, &nodes),
        precomputed,
    };
    for &tensor_idx in &graph.subgraph.inputs {
        let buffer = made.buffer(tensor_idx)?;
        made.made.inputs.push(buffer);
    }
    let mut is_joined = false;
    for (position, &(node_idx, node)) in nodes.iter().enumerate() {
        is_joined = match is_joined {
            true => false,
            false => made.node(node_idx, node, nodes.get(position + 1).copied())?,
        };
    }
    for &tensor_idx in &graph.subgraph.outputs {
        if made.is_constant(tensor_idx) {
            let bytes = graph.tensor(tensor_idx).byte_len()?;
            made.made.precomputed_bytes = made.made.precomputed_bytes.saturating_add(bytes);
            continue;
        }
        let buffer = made.buffer(tensor_idx)?;
        made.made.outputs.push(buffer);
    }
    Some(made.made)
}

/// Number of readers of each tensor; an output of the graph counts one more.
fn readers(graph: &Graph, nodes: &[(usize, &Node)]) -> HashMap<usize, usize> {
    let mut readers = HashMap::new();
    let read = nodes
        .iter()
        .flat_map(|(_, node)| node.operator.inputs.iter().flatten());
    for &tensor_idx in read.chain(&graph.subgraph.outputs) {
        *readers.entry(tensor_idx).or_insert(0) += 1;
    }
    readers
}

struct Maker<'a, 'm> {
    graph: &'a Graph<'m>,
    tool: StTool,
    made: Steps,
    /// By tensor.
    buffers: HashMap<usize, usize>,
    /// Buffers that `QUANTIZE` writes.
    quantised: HashSet<usize>,
    readers: HashMap<usize, usize>,
    /// Tensors without a buffer.
    precomputed: HashSet<usize>,
}

impl Maker<'_, '_> {
    fn buffer(&mut self, tensor_idx: usize) -> Option<usize> {
        if let Some(&buffer) = self.buffers.get(&tensor_idx) {
            return Some(buffer);
        }
        let tensor = self.graph.tensor(tensor_idx);
        let buffer = self.new_buffer(tensor.byte_len()?);
        if tensor.is_variable {
            self.made.inputs.push(buffer);
            self.made.outputs.push(buffer);
        }
        self.buffers.insert(tensor_idx, buffer);
        Some(buffer)
    }

    fn is_constant(&self, tensor_idx: usize) -> bool {
        self.graph.is_constant(tensor_idx) || self.precomputed.contains(&tensor_idx)
    }

    fn new_buffer(&mut self, bytes: u64) -> usize {
        self.made.buffer_bytes.push(bytes);
        self.made.buffer_bytes.len() - 1
    }

    /// Whether the node `next` is part of the same layer.
    fn node(&mut self, node_idx: usize, node: &Node, next: Option<(usize, &Node)>) -> Option<bool> {
        let operator = node.operator;
        let is_activation = |t: &usize| !self.is_constant(*t);
        let mut read: Vec<usize> = operator
            .inputs
            .iter()
            .flatten()
            .copied()
            .filter(is_activation)
            .collect();
        read.sort_unstable();
        read.dedup();
        let kind = kind(operator.code.kind);
        let (Some(&written), false) = (operator.outputs.first(), read.is_empty()) else {
            return Some(false);
        };
        let output = self.graph.tensor(written);
        if kind == Kind::Free || output.tensor_type == TensorType::Int32 {
            // A shape, or the same values under another shape.
            if let Some(&first) = operator.inputs.first().and_then(Option::as_ref)
                && operator.code.kind != OpKind::Shape
                && !self.is_constant(first)
            {
                let buffer = self.buffer(first)?;
                self.buffers.insert(written, buffer);
            }
            return Some(false);
        }
        let reads: Option<Vec<usize>> = read.iter().map(|&t| self.buffer(t)).collect();
        let writes: Option<Vec<usize>> = operator.outputs.iter().map(|&t| self.buffer(t)).collect();
        let mut step = Step {
            reads: reads?,
            writes: writes?,
            ..Step::default()
        };
        let is_joined = match kind {
            Kind::Convolution => self.convolution(node_idx, node, next, &mut step)?,
            Kind::Depthwise => {
                self.depthwise(node_idx, node, &mut step);
                false
            }
            Kind::Dense => {
                let bytes = step.reads.first().map_or(0, |&b| self.made.buffer_bytes[b]);
                step.scratch_bytes = bytes.saturating_mul(2);
                false
            }
            Kind::Pool => {
                step.lag_bytes = Some(row_bytes(output));
                false
            }
            Kind::Elementwise => {
                step.lag_bytes = Some(0);
                false
            }
            Kind::Conversion | Kind::Move
                if matches!(
                    operator.code.kind,
                    OpKind::Quantize | OpKind::Pad | OpKind::Padv2
                ) =>
            {
                if operator.code.kind == OpKind::Quantize {
                    self.quantised.extend(&step.writes);
                }
                step.lag_bytes = Some(0);
                false
            }
            _ => false,
        };
        self.made.steps.push(step);
        Some(is_joined)
    }

    /// Working memory of a convolution: two rows of the window as 16-bit values, the filters unpacked to 16-bit values
    /// as far as they fit, and some bytes for each output channel.
    fn convolution(
        &mut self,
        node_idx: usize,
        node: &Node,
        next: Option<(usize, &Node)>,
        step: &mut Step,
    ) -> Option<bool> {
        let operator = node.operator;
        let written = *operator.outputs.first()?;
        let output = self.graph.tensor(written);
        let filters = operator.inputs.get(1).copied().flatten();
        let in_c = last(self.graph.tensor(filters?));
        let out_c = last(output);
        let window = Window::of(self.graph, node_idx, in_c as f32);
        let taps = side(window.filter_h).saturating_mul(side(window.filter_w));
        let row = taps.saturating_mul(in_c);
        let copied = row.saturating_mul(4);
        if taps == 1 {
            step.scratch_bytes = copied.saturating_add(out_c.saturating_mul(10));
            let is_small = out_c <= in_c.saturating_mul(MAX_OVERLAPPED_EXPANSION);
            step.lag_bytes = is_small.then(|| row_bytes(output));
            return Some(false);
        }
        let unpacked = row.saturating_mul(out_c).saturating_mul(2);
        step.scratch_bytes = copied
            .saturating_add(out_c.saturating_mul(14))
            .saturating_add(unpacked.min(MAX_UNPACKED_BYTES));
        step.lag_bytes = Some(row_bytes(output));
        if window.padding_same > 0.0 && in_c >= MIN_PADDED_CHANNELS {
            self.pad(node, &window, step);
        }
        let is_joined = self.join_pool(next, written, step);
        let is_column = window.filter_w == 1 && window.filter_h > 1;
        if is_column && self.tool.has_other_kernels() {
            step.lag_bytes = None;
        }
        if self.tool.is_planned_by_prefix() {
            self.lag_behind_image(in_c, out_c, step);
        }
        Some(is_joined)
    }

    /// Rule of 8.1 and 10.0 on an STM32H7: the output of a convolution of a grey or colour image needs a larger
    /// distance to its input, and `QUANTIZE` writes one byte more for a colour image.
    fn lag_behind_image(&mut self, in_c: u64, out_c: u64, step: &mut Step) {
        let further = match in_c {
            1 => 1,
            COLOUR_CHANNELS => out_c.saturating_add(1),
            _ => return,
        };
        step.lag_bytes = step.lag_bytes.map(|lag| lag.saturating_add(further));
        let image = step.reads.first();
        if let (COLOUR_CHANNELS, Some(image)) = (in_c, image)
            && self.quantised.remove(image)
            && let Some(bytes) = self.made.buffer_bytes.get_mut(*image)
            && *bytes % 4 == 0
        {
            *bytes = bytes.saturating_add(1);
        }
    }

    /// A depthwise convolution keeps two copies of its window of 16-bit values.
    fn depthwise(&mut self, node_idx: usize, node: &Node, step: &mut Step) {
        let Some(&written) = node.operator.outputs.first() else {
            return;
        };
        let output = self.graph.tensor(written);
        let channels = last(output);
        let window = Window::of(self.graph, node_idx, channels as f32);
        let taps = side(window.filter_h).saturating_mul(side(window.filter_w));
        step.scratch_bytes = taps
            .saturating_mul(4)
            .saturating_add(1)
            .saturating_mul(channels)
            .saturating_add(1);
        step.lag_bytes = Some(row_bytes(output));
        if window.padding_same > 0.0 && taps > 1 {
            self.pad(node, &window, step);
        }
    }

    /// Adds a step before `step` that writes the padded input of `step`.
    fn pad(&mut self, node: &Node, window: &Window, step: &mut Step) {
        let read = node.operator.inputs.first().copied().flatten();
        let Some(tensor_idx) = read.filter(|t| !self.is_constant(*t)) else {
            return;
        };
        let tensor = self.graph.tensor(tensor_idx);
        let Ok([n, h, w, c]) = <[i32; 4]>::try_from(tensor.shape.as_slice()) else {
            return;
        };
        let padded =
            |length: i32, filter: i32| side(length).saturating_add(side(filter)).saturating_sub(1);
        let bytes = side(n)
            .saturating_mul(padded(h, window.filter_h))
            .saturating_mul(padded(w, window.filter_w))
            .saturating_mul(side(c));
        let padded = self.new_buffer(bytes);
        let read = std::mem::replace(&mut step.reads, vec![padded]);
        self.made.steps.push(Step {
            reads: read,
            writes: vec![padded],
            scratch_bytes: 0,
            lag_bytes: Some(0),
        });
    }

    /// Merges a max pool that is the only reader of the output of `step`. Returns whether there is one.
    fn join_pool(&mut self, next: Option<(usize, &Node)>, written: usize, step: &mut Step) -> bool {
        let Some((next_idx, next)) = next else {
            return false;
        };
        let is_pool = next.operator.code.kind == OpKind::MaxPool2d
            && next.operator.inputs.first() == Some(&Some(written))
            && self.readers.get(&written) == Some(&1);
        let (true, Some(&pooled)) = (is_pool, next.operator.outputs.first()) else {
            return false;
        };
        let Some(buffer) = self.buffer(pooled) else {
            return false;
        };
        let channels = last(self.graph.tensor(written));
        let window = Window::of(self.graph, next_idx, channels as f32);
        let rows = side(window.filter_h).saturating_mul(row_bytes(self.graph.tensor(written)));
        step.scratch_bytes = step.scratch_bytes.saturating_add(rows);
        step.lag_bytes = Some(row_bytes(self.graph.tensor(pooled)));
        step.writes = vec![buffer];
        true
    }
}

/// Bytes of one row of a feature map; all bytes of a tensor that is not a feature map.
fn row_bytes(tensor: &Tensor) -> u64 {
    let bytes = tensor.byte_len().unwrap_or(0);
    let rows = match tensor.shape.as_slice() {
        [rest @ .., _, _] if !rest.is_empty() => {
            rest.iter().map(|&d| side(d)).fold(1, u64::saturating_mul)
        }
        _ => 1,
    };
    bytes / rows.max(1)
}

fn last(tensor: &Tensor) -> u64 {
    tensor.shape.last().map_or(1, |&c| side(c))
}

fn side(length: i32) -> u64 {
    u64::try_from(length).unwrap_or(0)
}
