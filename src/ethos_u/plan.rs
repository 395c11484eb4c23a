//! [`Graph`] and [`Analysis`] → what Vela plans for each operator on an accelerator.

use crate::analysis::window::Window;
use crate::analysis::{Analysis, ByteHistogram};
use crate::graph::Graph;
use crate::tflite::BuiltinOptions;

use super::accelerator::{Accelerator, Hwc};
use super::blocks::{self, Block};
use super::cycles::{Conditions, Part, operator_cycles, read_bytes, written_bytes};
use super::feature_maps::{Placing, placing};
use super::layer::{Kind, Layer};
use super::schedule::{Buffer, Step, Work, buffers};

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
    /// Its weights and scales in the stream that the accelerator decodes.
    pub encoded_weight_bytes: f64,
    /// The same as often as they are read from off chip.
    pub off_chip_weight_bytes: f64,
}

/// One for each node. An operator that the accelerator's multipliers do not compute counts with its
/// output's elements; one that only names memory anew with nothing. Proportional to nodes.
pub fn plan(accelerator: &Accelerator, graph: &Graph, analysis: &Analysis) -> Vec<Planned> {
    let is_linear = linear(graph);
    let mut nodes = Vec::new();
    let mut steps = Vec::new();
    for node_idx in 0..graph.nodes.len() {
        if let Some(step) = step(accelerator, graph, analysis, &is_linear, node_idx) {
            nodes.push(node_idx);
            steps.push(step);
        }
    }
    let buffers = buffers(accelerator, &steps);
    let mut planned = vec![Planned::default(); graph.nodes.len()];
    for (idx, &node_idx) in nodes.iter().enumerate() {
        let next = buffers.get(idx + 1).filter(|next| next.is_prefetched);
        planned[node_idx] = of_step(accelerator, &steps[idx], &buffers[idx]);
        planned[node_idx].weight_buffer_bytes += next.map_or(0.0, |next| next.parts[0]);
    }
    planned
}

fn of_step(accelerator: &Accelerator, step: &Step, buffer: &Buffer) -> Planned {
    let Work::Weighted {
        layer,
        block,
        weight_bytes,
    } = step.work
    else {
        return Planned {
            cycles: step.cycles,
            ..Planned::default()
        };
    };
    let is_buffered = buffer.bytes() > 0.0;
    let all_reads_bytes = weight_bytes * block.weight_reads(&layer) as f64;
    let (off_chip_weight_bytes, read_from) = match is_buffered {
        true => (weight_bytes, accelerator.weights_buffered),
        false => (all_reads_bytes, accelerator.weights_off_chip),
    };
    let fetched_before = match buffer.is_prefetched {
        true => buffer.first_bytes,
        false => 0.0,
    };
    let fetched_during = off_chip_weight_bytes - fetched_before;
    let conditions = Conditions {
        feature_maps: accelerator.sram,
        scale_latency_cycles: read_from.latency_cycles,
        part: Part::WHOLE,
    };
    let own = operator_cycles(accelerator, &layer, &block, conditions);
    let mut sram_bytes = read_bytes(&layer, &block) + written_bytes(&layer);
    if is_buffered {
        sram_bytes += fetched_during + all_reads_bytes;
    }
    Planned {
        cycles: own
            .max(fetched_during * accelerator.weights_off_chip.cycles_per_byte)
            .max(sram_bytes / accelerator.sram.bytes_per_cycle),
        weight_buffer_bytes: buffer.bytes(),
        encoded_weight_bytes: weight_bytes,
        off_chip_weight_bytes,
    }
}

fn step(
    accelerator: &Accelerator,
    graph: &Graph,
    analysis: &Analysis,
    is_linear: &[bool],
    node_idx: usize,
) -> Option<Step> {
    let node = &graph.nodes[node_idx];
    if matches!(placing(node), Placing::View | Placing::Joined) {
        return None;
    }
    let output = node.operator.outputs.first().map(|&t| shape(graph, t))?;
    let weights = analysis.costs[node_idx].weights.as_ref();
    let histogram = weights.map(|weights| weights.histogram.as_ref());
    let layer = layer(accelerator, graph, is_linear, node_idx);
    let chosen = layer.and_then(|layer| Some((layer, blocks::choose(accelerator, &layer)?)));
    let Some((layer, block)) = chosen else {
        let elements: i64 = output.iter().product();
        return Some(Step {
            work: Work::Other,
            cycles: elements as f64 * element_cycles(accelerator, graph, node_idx),
        });
    };
    let conditions = Conditions {
        feature_maps: accelerator.planned_feature_maps(),
        scale_latency_cycles: accelerator.weights_off_chip.latency_cycles,
        part: Part::WHOLE,
    };
    Some(Step {
        cycles: operator_cycles(accelerator, &layer, &block, conditions),
        work: work(accelerator, layer, block, histogram),
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
        None => Work::Other,
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
