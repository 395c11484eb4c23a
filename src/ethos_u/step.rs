//! Operators as the compiler schedules them.

use crate::analysis::window::Window;
use crate::analysis::{Analysis, ByteHistogram};
use crate::graph::Graph;
use crate::tflite::BuiltinOptions;

use super::accelerator::Accelerator;
use super::blocks::{self, Block};
use super::cascades::Link;
use super::copies::Copy;
use super::cycles::{Conditions, Part, operator_cycles, read_bytes, written_bytes};
use super::feature_maps::is_binary_elementwise;
use super::flow::Flow;
use super::layer::{Kind, Layer};
use super::order::Order;
use super::shape::{MAX_DIMENSION, shape, stored_bytes};

/// A side of a kernel beyond this is left to the network.
const MAX_KERNEL: i64 = 256;

/// An operator with its block, in the order of execution.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    pub work: Work<'a>,
    /// Cycles it takes when nothing is buffered: the time to fetch weights for the next one.
    pub cycles: f64,
    /// Bytes of a feature map that it reads, and those that it writes.
    pub bytes: [f64; 2],
    /// Tensor and bytes of its second input, of an elementwise operator that has one.
    pub second: Option<(usize, f64)>,
    /// How many times it runs, for a part of its output each.
    pub pieces: f64,
    /// Whether its input may be moved into SRAM instead of its weights: where another operator
    /// computes it.
    pub can_move_input: bool,
    /// Index of the step that is first to read its output.
    pub reader: Option<usize>,
    /// Set where it is a part of a cascade.
    pub stripe: Option<Stripe>,
}

impl<'a> Step<'a> {
    /// One that runs once, apart from others, with one input.
    pub fn new(work: Work<'a>, cycles: f64, bytes: [f64; 2]) -> Self {
        Self {
            work,
            cycles,
            bytes,
            second: None,
            pieces: 1.0,
            can_move_input: false,
            reader: None,
            stripe: None,
        }
    }
}

/// Rows of an output that are computed at once, in turn with those of the operators before and after.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stripe {
    pub rows: i64,
    pub is_first: bool,
    /// Of its weights, as far as they were to be in SRAM when the height was chosen.
    pub planned_weight_bytes: f64,
}

impl Stripe {
    /// Of so many rows, with no weights in SRAM yet.
    pub fn of(rows: i64, is_first: bool) -> Self {
        Self {
            rows,
            is_first,
            planned_weight_bytes: 0.0,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub enum Work<'a> {
    /// Multiplies by weights.
    Weighted {
        layer: Layer,
        block: Block,
        /// Encoded, with scales.
        weight_bytes: f64,
        histogram: &'a ByteHistogram,
    },
    /// Goes through the multipliers without weights.
    Unweighted {
        layer: Layer,
        block: Block,
    },
    Other,
}

impl<'a> Work<'a> {
    fn histogram(&self) -> Option<&'a ByteHistogram> {
        match *self {
            Work::Weighted { histogram, .. } => Some(histogram),
            _ => None,
        }
    }

    pub fn layer(&self) -> Option<(Layer, Block)> {
        match *self {
            Work::Weighted { layer, block, .. } | Work::Unweighted { layer, block } => {
                Some((layer, block))
            }
            Work::Other => None,
        }
    }

    /// Encoded, with scales; 0 without weights.
    pub fn weight_bytes(&self) -> f64 {
        match *self {
            Work::Weighted { weight_bytes, .. } => weight_bytes,
            _ => 0.0,
        }
    }
}

/// Of an operator with everything off chip.
pub fn whole_cycles(accelerator: &Accelerator, layer: &Layer, block: &Block) -> f64 {
    let conditions = Conditions {
        feature_maps: [accelerator.planned_feature_maps(); 2],
        scale_latency_cycles: accelerator.weights_off_chip.latency_cycles,
        part: Part::WHOLE,
    };
    operator_cycles(accelerator, layer, block, conditions)
}

/// The operator of a node as one step; none where it has no output.
pub fn step<'a>(
    accelerator: &Accelerator,
    graph: &Graph,
    analysis: &'a Analysis,
    flow: &Flow,
    [idx, node_idx]: [usize; 2],
) -> Option<Step<'a>> {
    let weights = analysis.costs[node_idx].weights.as_ref();
    let histogram = weights.map(|weights| weights.histogram.as_ref());
    let layer = layer(accelerator, graph, flow, [idx, node_idx]).map(Layer::in_pieces);
    let chosen = layer.and_then(|(layer, n_pieces)| {
        let block = blocks::choose(accelerator, &layer)?;
        Some((layer, block, n_pieces))
    });
    let step = match chosen {
        Some((layer, block, n_pieces)) => Step {
            pieces: n_pieces as f64,
            ..of_layer(accelerator, layer, block, histogram)
        },
        None => output_stage(accelerator, graph, flow, [idx, node_idx])?,
    };
    Some(Step {
        can_move_input: flow.source[idx].is_some(),
        reader: flow.reader[idx],
        ..step
    })
}

/// An operator that goes through the multipliers.
fn of_layer<'a>(
    accelerator: &Accelerator,
    layer: Layer,
    block: Block,
    histogram: Option<&'a ByteHistogram>,
) -> Step<'a> {
    let bytes = [read_bytes(&layer, &block), written_bytes(&layer)];
    let cycles = whole_cycles(accelerator, &layer, &block);
    Step::new(work(accelerator, layer, block, histogram), cycles, bytes)
}

/// An operator that goes through the output stage only.
fn output_stage<'a>(
    accelerator: &Accelerator,
    graph: &Graph,
    flow: &Flow,
    [idx, node_idx]: [usize; 2],
) -> Option<Step<'a>> {
    let operator = graph.nodes[node_idx].operator;
    let bytes = |tensor_idx: usize| stored_bytes(graph, tensor_idx, &flow.is_linear);
    let written = bytes(*operator.outputs.first()?);
    let name = operator.code.builtin_name().unwrap_or_default();
    let second = operator.inputs.get(1).copied().flatten();
    let is_map = |&t: &usize| {
        is_binary_elementwise(name) && graph.tensor(t).shape.iter().any(|&size| size > 1)
    };
    let second = second.filter(is_map).map(|tensor_idx| {
        // Ethos-U55 and U65 fetch what they broadcast for each element.
        let bytes = match accelerator.is_u85() {
            true => bytes(tensor_idx),
            false => written,
        };
        (tensor_idx, bytes)
    });
    let table_cycles = match flow.has_table[idx] {
        true => accelerator.table_cycles,
        false => 0.0,
    };
    let cycles = written * element_cycles(accelerator, name).max(table_cycles);
    Some(Step {
        second,
        ..Step::new(Work::Other, cycles, [written; 2])
    })
}

fn work<'a>(
    accelerator: &Accelerator,
    layer: Layer,
    block: Block,
    histogram: Option<&'a ByteHistogram>,
) -> Work<'a> {
    match histogram.filter(|_| layer.kind.has_weights()) {
        Some(histogram) => Work::Weighted {
            layer,
            block,
            histogram,
            weight_bytes: super::weights::encoded_bytes(accelerator, &layer, &block, histogram),
        },
        None => Work::Unweighted { layer, block },
    }
}

/// Cycles for an element of the output of an operator that goes through the output stage only.
fn element_cycles(accelerator: &Accelerator, name: &str) -> f64 {
    let more = match name {
        _ if accelerator.is_u85() => 1.0,
        "ADD" | "SUB" => 3.0,
        "MUL" => 1.5,
        _ => 1.0,
    };
    more * accelerator.output_cycles
}

/// The operator as multipliers compute it; none where they do not, or with a shape that no
/// accelerator takes.
fn layer(
    accelerator: &Accelerator,
    graph: &Graph,
    flow: &Flow,
    [idx, node_idx]: [usize; 2],
) -> Option<Layer> {
    let operator = graph.nodes[node_idx].operator;
    let (&input, &output) = (
        operator.inputs.first()?.as_ref()?,
        operator.outputs.first()?,
    );
    let input = flow.unframed[input];
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
        has_table: flow.has_table[idx],
        is_sparse: accelerator.is_u85() && kind == Kind::Convolution && ifm[2] <= 2,
        is_brick: [!flow.is_linear[input], !flow.is_linear[output]],
    })
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

/// The copies as one step: while the last of them runs, the next one's weights can be fetched.
pub fn copying<'a>(accelerator: &Accelerator, copies: &[Copy]) -> Step<'a> {
    let memories = [accelerator.planned_feature_maps(); 2];
    let last = copies.last();
    let cycles = last.and_then(|copy| copy.own_cycles(accelerator, memories));
    Step::new(Work::Other, cycles.unwrap_or(0.0), [0.0; 2])
}

/// The steps for which something runs, as cascades see them.
pub fn links(graph: &Graph, order: &Order, flow: &Flow, steps: &[Option<Step>]) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    for (idx, step) in steps.iter().enumerate() {
        let Some(step) = step else { continue };
        let operator = graph.nodes[order.nodes[idx]].operator;
        let name = operator.code.builtin_name().unwrap_or_default();
        let inputs = operator.inputs.iter().flatten().copied();
        let mut activations = inputs.filter(|&t| graph.constant(t).is_empty());
        let (Some(input), Some(&output)) = (activations.next(), operator.outputs.first()) else {
            continue;
        };
        let input = flow.unframed[input];
        let bytes = |tensor_idx: usize| stored_bytes(graph, tensor_idx, &flow.is_linear);
        let (ifm, ofm) = (shape(graph, input), shape(graph, output));
        let is_elementwise = is_binary_elementwise(name) && ifm == ofm;
        let layer = step.work.layer().map(|(layer, _)| layer);
        let has_rows = layer.map_or(is_elementwise, |layer| layer.kind != Kind::VectorProduct);
        let is_chained = order.is_passed_on(idx) || order.chain_start[idx] < idx;
        let is_alone = |before: &Link| {
            let between = before.step + 1..idx;
            flow.source[idx] == Some(before.step)
                && flow.n_readers[before.step] == 1
                && flow.is_direct[idx]
                && between
                    .into_iter()
                    .all(|k| flow.source[k] == Some(before.step))
        };
        let is_brick = !flow.is_linear[input];
        let follows = is_brick && links.last().is_some_and(is_alone);
        links.push(Link {
            step: idx,
            ifm,
            ofm,
            kernel_rows: layer.map_or(1, |layer| layer.dilated_kernel(0)),
            stride_rows: layer.map_or(1, |layer| layer.stride[0]),
            bytes: [bytes(input), bytes(output)],
            other_bytes: activations.next().map_or(0.0, bytes),
            can_be_striped: has_rows && !is_chained && step.pieces == 1.0,
            follows,
            is_in_place: is_elementwise,
        });
    }
    links
}

/// A step with the block that its stripes are cut into; none where none fits.
pub fn striped<'a>(accelerator: &Accelerator, step: &Step<'a>, stripe: Stripe) -> Option<Step<'a>> {
    let Some((layer, _)) = step.work.layer() else {
        return Some(Step {
            stripe: Some(stripe),
            ..*step
        });
    };
    let block = blocks::choose(accelerator, &layer.with_rows(stripe.rows))?;
    let histogram = step.work.histogram();
    let Step {
        work,
        cycles,
        bytes,
        ..
    } = of_layer(accelerator, layer, block, histogram);
    Some(Step {
        work,
        cycles,
        bytes,
        stripe: Some(stripe),
        ..*step
    })
}
