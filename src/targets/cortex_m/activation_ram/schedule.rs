//! The layers into which ST Edge AI Core converts operators, with the buffers of each.
//!
//! A convolution with `SAME` padding becomes a layer that pads and a layer that convolves, unless its input has fewer
//! channels than a word has bytes. A max pool is merged into the convolution before it. Reshapes disappear.

use std::collections::{HashMap, HashSet};

use super::precomputed;
use super::st_tool::StTool;
use crate::formats::tflite::{OpKind, Operator, Tensor, TensorType};
use crate::graph::analysis::window::Window;
use crate::graph::{Graph, Node};
use crate::targets::cortex_m::operator_counts::{Kind, kind};

/// The layers in order of execution, with the sizes of the buffers that they read and write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Schedule {
    pub layers: Vec<Layer>,
    /// Size of each buffer.
    pub buffer_bytes: Vec<u64>,
    /// Buffers that hold values before the first layer.
    pub inputs: Vec<usize>,
    /// Buffers that hold values after the last layer.
    pub outputs: Vec<usize>,
    /// Bytes of the network's outputs that do not depend on its input. They are alive during every layer and in none
    /// of the buffers.
    pub precomputed_bytes: u64,
}

/// One layer, with indices of the buffers that it reads and writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layer {
    pub reads: Vec<usize>,
    pub writes: Vec<usize>,
    /// Working memory while it runs.
    pub scratch_bytes: u64,
    /// An output that overwrites its input must start and end at least this many bytes before it, so that the kernel
    /// never overwrites values that it has yet to read. `None` if the kernel cannot run in place.
    pub in_place_offset_bytes: Option<u64>,
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
pub fn build(graph: &Graph, tool: StTool) -> Option<Schedule> {
    let precomputed = precomputed::tensors(graph);
    let is_precomputed = |t: &usize| precomputed.contains(t);
    let runs = |node: &Node| !node.operator.outputs.iter().all(is_precomputed);
    let nodes = graph.nodes.iter().enumerate();
    let nodes: Vec<(usize, &Node)> = nodes.filter(|(_, node)| runs(node)).collect();
    let mut builder = Builder {
        graph,
        tool,
        schedule: Schedule::default(),
        buffers: HashMap::new(),
        quantised: HashSet::new(),
        readers: readers(graph, &nodes),
        precomputed,
    };
    for &tensor_idx in &graph.subgraph.inputs {
        let buffer = builder.buffer(tensor_idx)?;
        builder.schedule.inputs.push(buffer);
    }
    let mut is_merged = false;
    for (position, &(node_idx, node)) in nodes.iter().enumerate() {
        is_merged = if is_merged {
            false
        } else {
            builder.node(node_idx, node, nodes.get(position + 1).copied())?
        };
    }
    for &tensor_idx in &graph.subgraph.outputs {
        if builder.is_constant(tensor_idx) {
            let bytes = graph.tensor(tensor_idx).byte_len()?;
            builder.schedule.precomputed_bytes =
                builder.schedule.precomputed_bytes.saturating_add(bytes);
            continue;
        }
        let buffer = builder.buffer(tensor_idx)?;
        builder.schedule.outputs.push(buffer);
    }
    Some(builder.schedule)
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

struct Builder<'a, 'm> {
    graph: &'a Graph<'m>,
    tool: StTool,
    schedule: Schedule,
    /// By tensor.
    buffers: HashMap<usize, usize>,
    /// Buffers that `QUANTIZE` writes.
    quantised: HashSet<usize>,
    readers: HashMap<usize, usize>,
    /// Tensors without a buffer.
    precomputed: HashSet<usize>,
}

impl Builder<'_, '_> {
    fn buffer(&mut self, tensor_idx: usize) -> Option<usize> {
        if let Some(&buffer) = self.buffers.get(&tensor_idx) {
            return Some(buffer);
        }
        let tensor = self.graph.tensor(tensor_idx);
        let buffer = self.new_buffer(tensor.byte_len()?);
        if tensor.is_variable {
            self.schedule.inputs.push(buffer);
            self.schedule.outputs.push(buffer);
        }
        self.buffers.insert(tensor_idx, buffer);
        Some(buffer)
    }

    fn is_constant(&self, tensor_idx: usize) -> bool {
        self.graph.is_constant(tensor_idx) || self.precomputed.contains(&tensor_idx)
    }

    fn new_buffer(&mut self, bytes: u64) -> usize {
        self.schedule.buffer_bytes.push(bytes);
        self.schedule.buffer_bytes.len() - 1
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
        if kind == Kind::Free || self.graph.tensor(written).tensor_type == TensorType::Int32 {
            self.share_buffer_of_input(operator, written)?;
            return Some(false);
        }
        let reads: Option<Vec<usize>> = read.iter().map(|&t| self.buffer(t)).collect();
        let writes: Option<Vec<usize>> = operator.outputs.iter().map(|&t| self.buffer(t)).collect();
        let mut layer = Layer {
            reads: reads?,
            writes: writes?,
            ..Layer::default()
        };
        let is_merged = match kind {
            Kind::Convolution => self.convolution(node_idx, node, next, &mut layer)?,
            _ => {
                self.other_layer(node_idx, node, written, &mut layer);
                false
            }
        };
        self.schedule.layers.push(layer);
        Some(is_merged)
    }

    /// Gives an output with the values of the first input the buffer of this input. Shapes have no buffer.
    fn share_buffer_of_input(&mut self, operator: &Operator, written: usize) -> Option<()> {
        if let Some(&first) = operator.inputs.first().and_then(Option::as_ref)
            && operator.code.kind != OpKind::Shape
            && !self.is_constant(first)
        {
            let buffer = self.buffer(first)?;
            self.buffers.insert(written, buffer);
        }
        Some(())
    }

    /// Working memory and in-place offset of a layer that merges with no other one.
    fn other_layer(&mut self, node_idx: usize, node: &Node, written: usize, layer: &mut Layer) {
        let operator = node.operator.code.kind;
        match kind(operator) {
            Kind::Depthwise => self.depthwise(node_idx, node, layer),
            Kind::Dense => {
                let read = layer.reads.first();
                let bytes = read.map_or(0, |&b| self.schedule.buffer_bytes[b]);
                layer.scratch_bytes = bytes.saturating_mul(2);
            }
            Kind::Pool => {
                layer.in_place_offset_bytes = Some(row_bytes(self.graph.tensor(written)));
            }
            Kind::Elementwise => layer.in_place_offset_bytes = Some(0),
            Kind::Conversion if operator == OpKind::Quantize => {
                self.quantised.extend(&layer.writes);
                layer.in_place_offset_bytes = Some(0);
            }
            Kind::Move if matches!(operator, OpKind::Pad | OpKind::Padv2) => {
                layer.in_place_offset_bytes = Some(0);
            }
            Kind::Conversion
            | Kind::Convolution
            | Kind::Free
            | Kind::Move
            | Kind::Reduction
            | Kind::TransposedConvolution
            | Kind::Unknown => {}
        }
    }

    /// Working memory of a convolution: two rows of the window as 16-bit values, the filters unpacked to 16-bit values
    /// as far as they fit, and some bytes for each output channel.
    fn convolution(
        &mut self,
        node_idx: usize,
        node: &Node,
        next: Option<(usize, &Node)>,
        layer: &mut Layer,
    ) -> Option<bool> {
        let operator = node.operator;
        let written = *operator.outputs.first()?;
        let output = self.graph.tensor(written);
        let filters = operator.inputs.get(1).copied().flatten();
        let in_c = n_channels(self.graph.tensor(filters?));
        let out_c = n_channels(output);
        let window = Window::new(self.graph, node_idx, in_c as f32);
        let taps = side(window.filter_h).saturating_mul(side(window.filter_w));
        let row = taps.saturating_mul(in_c);
        let copied = row.saturating_mul(4);
        if taps == 1 {
            layer.scratch_bytes = copied.saturating_add(out_c.saturating_mul(10));
            let is_small = out_c <= in_c.saturating_mul(MAX_OVERLAPPED_EXPANSION);
            layer.in_place_offset_bytes = is_small.then(|| row_bytes(output));
            return Some(false);
        }
        let unpacked = row.saturating_mul(out_c).saturating_mul(2);
        layer.scratch_bytes = copied
            .saturating_add(out_c.saturating_mul(14))
            .saturating_add(unpacked.min(MAX_UNPACKED_BYTES));
        layer.in_place_offset_bytes = Some(row_bytes(output));
        if window.padding_same > 0.0 && in_c >= MIN_PADDED_CHANNELS {
            self.pad(node, &window, layer);
        }
        let is_merged = self.merge_pool(next, written, layer);
        let is_column = window.filter_w == 1 && window.filter_h > 1;
        if is_column && self.tool.has_other_kernels() {
            layer.in_place_offset_bytes = None;
        }
        if self.tool.is_planned_by_prefix() {
            self.extend_offset_for_image(in_c, out_c, layer);
        }
        Some(is_merged)
    }

    /// Rule of 8.1 and 10.0 on an STM32H7: the output of a convolution of a grey or colour image needs a larger
    /// distance to its input, and `QUANTIZE` writes one byte more for a colour image.
    fn extend_offset_for_image(&mut self, in_c: u64, out_c: u64, layer: &mut Layer) {
        let further = match in_c {
            1 => 1,
            COLOUR_CHANNELS => out_c.saturating_add(1),
            _ => return,
        };
        layer.in_place_offset_bytes = layer
            .in_place_offset_bytes
            .map(|offset| offset.saturating_add(further));
        let image = layer.reads.first();
        if let (COLOUR_CHANNELS, Some(image)) = (in_c, image)
            && self.quantised.remove(image)
            && let Some(bytes) = self.schedule.buffer_bytes.get_mut(*image)
            && *bytes % 4 == 0
        {
            *bytes = bytes.saturating_add(1);
        }
    }

    /// A depthwise convolution keeps two copies of its window of 16-bit values.
    fn depthwise(&mut self, node_idx: usize, node: &Node, layer: &mut Layer) {
        let Some(&written) = node.operator.outputs.first() else {
            return;
        };
        let output = self.graph.tensor(written);
        let channels = n_channels(output);
        let window = Window::new(self.graph, node_idx, channels as f32);
        let taps = side(window.filter_h).saturating_mul(side(window.filter_w));
        layer.scratch_bytes = taps
            .saturating_mul(4)
            .saturating_add(1)
            .saturating_mul(channels)
            .saturating_add(1);
        layer.in_place_offset_bytes = Some(row_bytes(output));
        if window.padding_same > 0.0 && taps > 1 {
            self.pad(node, &window, layer);
        }
    }

    /// Adds a layer before `layer` that writes the padded input of `layer`.
    fn pad(&mut self, node: &Node, window: &Window, layer: &mut Layer) {
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
        let read = std::mem::replace(&mut layer.reads, vec![padded]);
        self.schedule.layers.push(Layer {
            reads: read,
            writes: vec![padded],
            scratch_bytes: 0,
            in_place_offset_bytes: Some(0),
        });
    }

    /// Merges a max pool that is the only reader of the output of `layer`. Returns whether there is one.
    fn merge_pool(
        &mut self,
        next: Option<(usize, &Node)>,
        written: usize,
        layer: &mut Layer,
    ) -> bool {
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
        let channels = n_channels(self.graph.tensor(written));
        let window = Window::new(self.graph, next_idx, channels as f32);
        let rows = side(window.filter_h).saturating_mul(row_bytes(self.graph.tensor(written)));
        layer.scratch_bytes = layer.scratch_bytes.saturating_add(rows);
        layer.in_place_offset_bytes = Some(row_bytes(self.graph.tensor(pooled)));
        layer.writes = vec![buffer];
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

fn n_channels(tensor: &Tensor) -> u64 {
    tensor.shape.last().map_or(1, |&c| side(c))
}

fn side(length: i32) -> u64 {
    u64::try_from(length).unwrap_or(0)
}
