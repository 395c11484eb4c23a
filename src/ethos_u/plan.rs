//! [`Graph`] and [`Analysis`] → what Vela plans for each operator on an accelerator.

use crate::analysis::window::Window;
use crate::analysis::{Analysis, ByteHistogram};
use crate::graph::Graph;
use crate::tflite::BuiltinOptions;

use super::accelerator::{Accelerator, Hwc, Memory};
use super::blocks::{self, Block, SPLIT_DEPTH, round_up};
use super::cycles::{Conditions, Part, operator_cycles, read_bytes, read_inflation, written_bytes};
use super::fast_storage::{self, Candidate};
use super::feature_maps::{FeatureMaps, LiveRange, Placing, is_binary_elementwise};
use super::layer::{Kind, Layer, SCALE_BYTES};
use super::order::Order;
use super::schedule::{Buffer, Step, Work, buffers};
use super::weights::ALIGNMENT_BYTES;

/// A dimension beyond this is left to the network: NPU registers hold 16 bits.
const MAX_DIMENSION: i64 = 1 << 16;
/// The same for a side of a kernel.
const MAX_KERNEL: i64 = 256;

/// What is planned for one operator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Planned {
    /// Cycles it takes: computing, or waiting for weights.
    pub cycles: f64,
    /// SRAM for its weights and for those of the operator after it, as far as they are fetched while
    /// it runs.
    pub weight_buffer_bytes: f64,
    /// The same and the feature maps alive, as far as they are kept in SRAM.
    pub sram_bytes: f64,
    /// Its weights and scales in the stream that the accelerator decodes.
    pub encoded_weight_bytes: f64,
    /// Read off chip and written there: feature maps that are not kept in SRAM, and weights as often
    /// as they are fetched.
    pub off_chip_bytes: f64,
    /// The same in SRAM.
    pub sram_traffic_bytes: f64,
}

/// One for each node. An operator that the accelerator's multipliers do not compute counts with its
/// output's elements; one that only names memory anew with nothing. Proportional to nodes, but for
/// the choice of feature maps, for which see [`fast_storage::kept`].
pub fn plan(accelerator: &Accelerator, graph: &Graph, analysis: &Analysis) -> Vec<Planned> {
    let order = match accelerator.is_u85() {
        true => Order::of(graph).with_chains(graph),
        false => Order::of(graph),
    };
    let is_interface_apart = accelerator.sram_limit_bytes.is_some();
    let feature_maps = FeatureMaps::of(graph, analysis, &order, is_interface_apart);
    let is_linear = linear(graph);
    let step = |(idx, &node_idx): (usize, &usize)| match feature_maps.placing(node_idx) {
        Placing::View | Placing::Joined => None,
        _ if order.chain_start[idx] < idx => None,
        _ => step(accelerator, graph, analysis, &is_linear, node_idx),
    };
    let steps: Vec<Option<Step>> = order.nodes.iter().enumerate().map(step).collect();
    let buffers = buffers(accelerator, &steps);
    let buffer_bytes = buffer_bytes(&steps, &buffers);
    let is_in_sram = in_sram(
        accelerator,
        graph,
        &feature_maps,
        &order.nodes,
        &steps,
        &buffer_bytes,
    );
    let alive = feature_maps.live_bytes(order.nodes.len(), |range_idx| is_in_sram[range_idx]);
    let mut planned = vec![Planned::default(); graph.nodes.len()];
    for (idx, &node_idx) in order.nodes.iter().enumerate() {
        let planned = &mut planned[node_idx];
        planned.weight_buffer_bytes = buffer_bytes[idx];
        planned.sram_bytes = alive[idx] + buffer_bytes[idx];
        if let Some(step) = &steps[idx] {
            let operator = graph.nodes[node_idx].operator;
            let is_in_sram = |tensor_idx: usize| is_in_sram[feature_maps.range_of(tensor_idx)];
            let memory = |tensor_idx: Option<usize>| match tensor_idx.is_none_or(is_in_sram) {
                true => accelerator.sram,
                false => accelerator.off_chip,
            };
            let memories = [
                memory(operator.inputs.first().copied().flatten()),
                memory(operator.outputs.first().copied()),
            ];
            of_step(accelerator, step, &buffers[idx], memories, planned);
        }
    }
    planned
}

/// By step, SRAM for its weights and for those of the next one, as far as they are fetched meanwhile.
fn buffer_bytes(steps: &[Option<Step>], buffers: &[Buffer]) -> Vec<f64> {
    let mut fetched_for_next = 0.0;
    let mut bytes = vec![0.0; steps.len()];
    for idx in (0..steps.len()).rev().filter(|&idx| steps[idx].is_some()) {
        bytes[idx] = buffers[idx].bytes_beside(fetched_for_next);
        fetched_for_next = match buffers[idx].is_prefetched {
            true => buffers[idx].parts[0],
            false => 0.0,
        };
    }
    bytes
}

/// By range of `feature_maps`, whether it lies in SRAM.
fn in_sram(
    accelerator: &Accelerator,
    graph: &Graph,
    feature_maps: &FeatureMaps,
    nodes: &[usize],
    steps: &[Option<Step>],
    buffer_bytes: &[f64],
) -> Vec<bool> {
    let n_tensors = graph.subgraph.tensors.len();
    let Some(limit_bytes) = accelerator.sram_limit_bytes else {
        return vec![true; n_tensors];
    };
    let mut accesses = vec![0.0; n_tensors];
    let mut pairs = Vec::new();
    for (&node_idx, step) in nodes.iter().zip(steps) {
        let Some(step) = step else { continue };
        let operator = graph.nodes[node_idx].operator;
        let is_activation = |&tensor_idx: &usize| graph.constant(tensor_idx).is_empty();
        let inputs = operator.inputs.iter().flatten().copied();
        let mut inputs = inputs
            .filter(is_activation)
            .map(|t| feature_maps.range_of(t));
        let (first, second) = (inputs.next(), inputs.next());
        if let Some(first) = first {
            accesses[first] += step.bytes[0];
        }
        for &output in &operator.outputs {
            accesses[feature_maps.range_of(output)] += step.bytes[1];
        }
        let name = operator.code.builtin_name().unwrap_or_default();
        if let (Some(first), Some(second)) = (first, second)
            && is_binary_elementwise(name)
        {
            accesses[second] += step.bytes[0];
            pairs.push([first, second]);
        }
    }
    let candidate = |(id, range): (usize, &LiveRange)| {
        let (first, last) = range.steps.filter(|_| !range.is_interface)?;
        Some(Candidate {
            id,
            first,
            last,
            bytes: range.bytes_in_memory(),
            accesses: accesses[id],
        })
    };
    let candidates = feature_maps.ranges().filter_map(candidate).collect();
    let mut kept = vec![false; n_tensors];
    for id in fast_storage::kept(candidates, limit_bytes as f64, buffer_bytes) {
        kept[id] = true;
    }
    // Both inputs of an elementwise operator come from the same memory.
    for pair in pairs {
        let both = kept[pair[0]] && kept[pair[1]];
        pair.iter().for_each(|&range_idx| kept[range_idx] = both);
    }
    // What is passed on inside a chain comes by no memory.
    for (range_idx, range) in feature_maps.ranges() {
        kept[range_idx] |= range.steps.is_none();
    }
    kept
}

/// Biases and scales of so many output channels.
fn scale_bytes(accelerator: &Accelerator, depth: i64) -> f64 {
    match accelerator.is_u85() {
        true => (SCALE_BYTES * round_up(depth, SPLIT_DEPTH)) as f64,
        false => round_up(SCALE_BYTES * depth, ALIGNMENT_BYTES) as f64,
    }
}

/// Adds what follows from where an operator's feature maps lie.
fn of_step(
    accelerator: &Accelerator,
    step: &Step,
    buffer: &Buffer,
    memories: [Memory; 2],
    planned: &mut Planned,
) {
    let mut sram_bytes = 0.0;
    let mut off_chip_bytes = 0.0;
    let [mut read_bytes, written_bytes] = step.bytes;
    let mut own = step.cycles;
    if let Some((layer, block)) = step.work.layer() {
        read_bytes *= read_inflation(&memories[0], &layer, &block);
        let scales_from = match buffer.bytes() > 0.0 {
            true => accelerator.weights_buffered,
            false => accelerator.weights_off_chip,
        };
        let conditions = Conditions {
            feature_maps: memories,
            scale_latency_cycles: scales_from.latency_cycles,
            part: Part::WHOLE,
        };
        own = operator_cycles(accelerator, &layer, &block, conditions);
    }
    for (memory, bytes) in memories.iter().zip([read_bytes, written_bytes]) {
        match memory.is_off_chip {
            true => off_chip_bytes += bytes,
            false => sram_bytes += bytes,
        }
    }
    let mut off_chip_cycles = off_chip_bytes * accelerator.weights_off_chip.cycles_per_byte;
    if let Work::Weighted {
        layer,
        block,
        weight_bytes,
    } = step.work
    {
        let is_buffered = buffer.bytes() > 0.0;
        let all_reads_bytes = weight_bytes * block.weight_reads(&layer) as f64;
        let off_chip_weight_bytes = match is_buffered {
            true => weight_bytes,
            false => all_reads_bytes,
        };
        let fetched_before = match buffer.is_prefetched {
            true => buffer.first_bytes,
            false => 0.0,
        };
        let fetched_during = off_chip_weight_bytes - fetched_before;
        if is_buffered {
            let transfer = |bytes: f64| accelerator.buffering.cycles(bytes) - buffer.slack_cycles;
            let computing = own + transfer(buffer.first_bytes).max(0.0);
            own = computing.max(transfer(weight_bytes) + buffer.last_slice_cycles);
            sram_bytes += fetched_during + all_reads_bytes;
        }
        let scale_bytes =
            scale_bytes(accelerator, layer.ofm[2]) * block.weight_reads(&layer) as f64;
        let scales = scale_bytes * accelerator.scale_cycles_per_byte;
        // What comes from a buffer was moved there with the scales, what does not comes without.
        let stream_bytes = match is_buffered {
            true => fetched_during,
            false => (fetched_during - scale_bytes).max(0.0),
        };
        let weights = stream_bytes * accelerator.weights_off_chip.cycles_per_byte;
        off_chip_cycles = match accelerator.is_u85() {
            true => off_chip_cycles.max(weights).max(scales),
            false => off_chip_cycles + weights + scales,
        };
        planned.encoded_weight_bytes = weight_bytes;
        off_chip_bytes += off_chip_weight_bytes;
    }
    planned.off_chip_bytes = off_chip_bytes;
    planned.sram_traffic_bytes = sram_bytes;
    planned.cycles = own
        .max(off_chip_cycles)
        .max(sram_bytes / accelerator.sram.bytes_per_cycle);
}

fn step(
    accelerator: &Accelerator,
    graph: &Graph,
    analysis: &Analysis,
    is_linear: &[bool],
    node_idx: usize,
) -> Option<Step> {
    let node = &graph.nodes[node_idx];
    let output = node.operator.outputs.first().map(|&t| shape(graph, t))?;
    let weights = analysis.costs[node_idx].weights.as_ref();
    let histogram = weights.map(|weights| weights.histogram.as_ref());
    let layer = layer(accelerator, graph, is_linear, node_idx);
    let chosen = layer.and_then(|layer| Some((layer, blocks::choose(accelerator, &layer)?)));
    let Some((layer, block)) = chosen else {
        let elements = output.iter().product::<i64>() as f64;
        return Some(Step {
            work: Work::Other,
            cycles: elements * element_cycles(accelerator, graph, node_idx),
            bytes: [elements; 2],
        });
    };
    let conditions = Conditions {
        feature_maps: [accelerator.planned_feature_maps(); 2],
        scale_latency_cycles: accelerator.weights_off_chip.latency_cycles,
        part: Part::WHOLE,
    };
    Some(Step {
        cycles: operator_cycles(accelerator, &layer, &block, conditions),
        work: work(accelerator, layer, block, histogram),
        bytes: [read_bytes(&layer, &block), written_bytes(&layer)],
    })
}

fn work(
    accelerator: &Accelerator,
    layer: Layer,
    block: Block,
    histogram: Option<&ByteHistogram>,
) -> Work {
    match histogram.filter(|_| layer.kind.has_weights()) {
        Some(histogram) => Work::Weighted {
            layer,
            block,
            weight_bytes: super::weights::encoded_bytes(accelerator, &layer, &block, histogram),
        },
        None => Work::Unweighted { layer, block },
    }
}

/// Cycles for an element of the output of an operator that goes through the output stage only.
fn element_cycles(accelerator: &Accelerator, graph: &Graph, node_idx: usize) -> f64 {
    let name = graph.nodes[node_idx].operator.code.builtin_name();
    let more = match name.unwrap_or_default() {
        _ if accelerator.is_u85() => 1.0,
        "ADD" | "SUB" => 3.0,
        "MUL" => 1.5,
        _ => 1.0,
    };
    more * accelerator.output_cycles
}

/// Height, width and channels; 1 where there are fewer dimensions, outer ones multiplied into the
/// height, 2^16 at most.
fn shape(graph: &Graph, tensor_idx: usize) -> Hwc {
    let shape = &graph.tensor(tensor_idx).shape;
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

/// The operator as multipliers compute it; none where they do not, or with a shape that no
/// accelerator takes.
fn layer(
    accelerator: &Accelerator,
    graph: &Graph,
    is_linear: &[bool],
    node_idx: usize,
) -> Option<Layer> {
    let operator = graph.nodes[node_idx].operator;
    let (&input, &output) = (
        operator.inputs.first()?.as_ref()?,
        operator.outputs.first()?,
    );
    let (mut ifm, mut ofm) = (shape(graph, input), shape(graph, output));
    let window = Window::of(graph, node_idx, ifm[2] as f32);
    let (kind, window) = match operator.options {
        // Vela makes an ordinary convolution of one that has a single input channel.
        BuiltinOptions::DepthwiseConv2D { .. } if ifm[2] != 1 => (Kind::Depthwise, window),
        BuiltinOptions::Conv2D { .. } | BuiltinOptions::DepthwiseConv2D { .. } => {
            (Kind::Convolution, window)
        }
        BuiltinOptions::Pool2D { .. } => (Kind::Pooling, window),
        BuiltinOptions::FullyConnected { .. } => {
            let filter = operator.inputs.get(1).copied().flatten()?;
            let &[out_depth, depth] = graph.tensor(filter).shape.as_slice() else {
                return None;
            };
            let (out_depth, depth) = (i64::from(out_depth), i64::from(depth));
            let rows = ifm.iter().product::<i64>() / depth.max(1);
            let [h, w] = rows_as_area(accelerator, rows);
            (ifm, ofm) = ([h, w, depth], [h, w, out_depth]);
            (Kind::VectorProduct, Window::POINT)
        }
        _ => return None,
    };
    let pair = |h: i32, w: i32| [i64::from(h), i64::from(w)];
    let kernel = pair(window.filter_h, window.filter_w);
    let stride = pair(window.stride_h, window.stride_w);
    let dilation = pair(window.dilation_h, window.dilation_w);
    let is_sane = |sizes: &[i64], limit: i64| sizes.iter().all(|size| (1..=limit).contains(size));
    let stride = match kind {
        // A window that is nowhere else has no stride.
        Kind::Pooling => std::array::from_fn(|axis| if ofm[axis] == 1 { 1 } else { stride[axis] }),
        _ => stride,
    };
    let is_whole = is_sane(&ifm, MAX_DIMENSION)
        && is_sane(&ofm, MAX_DIMENSION)
        && is_sane(&kernel, MAX_KERNEL)
        && is_sane(&stride, MAX_KERNEL)
        && is_sane(&dilation, MAX_KERNEL);
    is_whole.then_some(Layer {
        kind,
        ifm,
        ofm,
        kernel,
        stride,
        dilation,
        is_sparse: accelerator.is_u85() && kind == Kind::Convolution && ifm[2] <= 2,
        is_brick: [!is_linear[input], !is_linear[output]],
    })
}

/// By tensor, whether a feature map lies as the file has it: callers know of no bricks, nor do views.
fn linear(graph: &Graph) -> Vec<bool> {
    let subgraph = graph.subgraph;
    let mut is_linear = vec![false; subgraph.tensors.len()];
    let views = graph.nodes.iter().map(|node| node.operator);
    let views = views.filter(|operator| operator.code.builtin_name() == Some("RESHAPE"));
    let of_views = views.flat_map(|view| view.inputs.iter().flatten().chain(&view.outputs));
    let interface = subgraph.inputs.iter().chain(&subgraph.outputs);
    of_views.chain(interface).for_each(|&t| is_linear[t] = true);
    is_linear
}

/// Rows of a matrix as height and width: as square as its divisors allow, but on Ethos-U85 as one
/// row.
fn rows_as_area(accelerator: &Accelerator, rows: i64) -> [i64; 2] {
    let rows = rows.clamp(1, MAX_DIMENSION);
    let divides = |height: &i64| !accelerator.is_u85() && rows % height == 0;
    let side = (rows as f64).sqrt() as i64;
    let height = (1..=side).rev().find(divides).unwrap_or(1);
    [height, rows / height]
}
