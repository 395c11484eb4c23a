//! Operators as the compiler schedules them.

pub mod mat_mul;
mod output_stage;

use crate::graph::analysis::ByteHistogram;

use self::mat_mul::mat_mul;
use self::output_stage::{chained_passes, output_stage};
use super::accelerator::{Accelerator, Hwc};
use super::blocks::{self, Block};
use super::cycles::{Conditions, Elementwise, Part, operator_cycles, read_bytes, written_bytes};
use super::flow::Flow;
use super::layer::{Kind, Layer};
use super::order::Order;
use super::program::{Action, MAX_DIMENSION, Operation, Program, Sharing, Window};

/// A side of a kernel beyond this is left to the network.
const MAX_KERNEL: i64 = 4096;
/// Kernels of more positions are left to the network too.
const MAX_KERNEL_AREA: i64 = 64 * 64;
/// Inputs of operations that are chained to another one, at most.
pub const MAX_OTHERS: usize = 3;

/// An operator with its block, in the order of execution.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    pub work: Work<'a>,
    /// Cycles it takes when nothing is buffered: the time to fetch weights for the next one.
    pub cycles: f64,
    /// Bytes of a feature map that it reads, and those that it writes.
    pub bytes: [f64; 2],
    /// Its second input, if it has one.
    pub second: Option<Read>,
    /// What operations chained to it read besides.
    pub others: [Option<Read>; MAX_OTHERS],
    /// Of its first input and its output: maps of the program.
    pub maps: [Option<usize>; 2],
    pub sharing: Sharing,
    /// Whether operations are chained to it.
    pub is_chained: bool,
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

/// What an operation reads besides its first input.
#[derive(Clone, Copy, Debug)]
pub struct Read {
    /// Map of the program.
    pub map_idx: usize,
    /// As it is seen.
    pub shape: Hwc,
    /// Before what memories add.
    pub bytes: f64,
}

impl Read {
    /// All of a map.
    fn whole(program: &Program, map_idx: usize) -> Self {
        let map = &program.maps[map_idx];
        Self {
            map_idx,
            shape: map.shape,
            bytes: map.stored_bytes(),
        }
    }

    /// The same in pieces, one after the other.
    fn in_pieces(self, n: f64) -> Self {
        Self {
            bytes: self.bytes / n,
            ..self
        }
    }
}

impl<'a> Step<'a> {
    /// One that runs once, apart from others, with one input.
    pub fn new(work: Work<'a>, cycles: f64, bytes: [f64; 2]) -> Self {
        Self {
            work,
            cycles,
            bytes,
            second: None,
            others: [None; MAX_OTHERS],
            maps: [None; 2],
            sharing: Sharing::None,
            is_chained: false,
            pieces: 1.0,
            can_move_input: false,
            reader: None,
            stripe: None,
        }
    }
}

impl Step<'_> {
    /// Elements of input and output that are read and written.
    pub fn accesses(&self, program: &Program) -> [f64; 2] {
        std::array::from_fn(|at| {
            let map = self.maps[at].map(|map_idx| &program.maps[map_idx]);
            let element_bytes = map.map_or(1, |map| map.element_bytes.max(1));
            self.bytes[at] * self.pieces / element_bytes as f64
        })
    }

    pub fn is_of_cpu(&self) -> bool {
        matches!(self.work, Work::Cpu)
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
    /// Goes through no multiplier; blocks as if it did.
    Move {
        layer: Layer,
        block: Block,
    },
    Elementwise(Elementwise),
    /// Products of each row with a column, and their sum, for so many columns.
    MatMul {
        product: Elementwise,
        sum: (Layer, Block),
        n_columns: f64,
    },
    /// Nothing that the accelerator does, nor does it fetch anything meanwhile.
    Cpu,
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
            Work::Weighted { layer, block, .. }
            | Work::Unweighted { layer, block }
            | Work::Move { layer, block } => Some((layer, block)),
            Work::Elementwise(_) | Work::MatMul { .. } | Work::Cpu => None,
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

/// An operation as a step; none where it has no output.
pub fn step<'a>(
    accelerator: &Accelerator,
    program: &'a Program,
    order: &Order,
    flow: &Flow,
    [idx, operation_idx]: [usize; 2],
) -> Option<Step<'a>> {
    let operation = &program.operations[operation_idx];
    if operation.action == Action::Cpu {
        return Some(Step::new(Work::Cpu, 0.0, [0.0; 2]));
    }
    let has_table = flow.has_table[idx];
    let chained: Vec<&Operation> = order.chained(program, idx).collect();
    let layer = layer(accelerator, program, flow, operation, has_table);
    let layer = layer.map(|layer| with_chained(program, operation, layer, &chained));
    if let (Action::MatMul { n_columns }, Some(layer)) = (operation.action, layer) {
        let step = mat_mul(accelerator, program, operation, layer, n_columns as f64)?;
        return Some(Step {
            maps: [operation.inputs.first(), operation.outputs.first()].map(|map| map.copied()),
            can_move_input: flow.source[idx].is_some(),
            reader: flow.reader[idx],
            ..step
        });
    }
    let chosen = layer.and_then(|layer| Some((layer, blocks::choose(accelerator, &layer)?)));
    let step = match chosen {
        Some((layer, block)) => {
            let step = of_layer(accelerator, layer, block, operation.weights.as_deref());
            Step {
                work: match operation.action {
                    Action::Move { .. } if !accelerator.is_u85() => Work::Move { layer, block },
                    _ => step.work,
                },
                second: (operation.inputs.get(1))
                    .map(|&map_idx| Read::whole(program, map_idx).in_pieces(operation.repeats)),
                ..step
            }
        }
        None => output_stage(accelerator, program, operation, &chained, has_table)?,
    };
    let last = chained.last().map_or(operation, |last| *last);
    let mut bytes = step.bytes;
    if let (Action::Move { written }, Work::Unweighted { layer, block }) =
        (operation.action, &step.work)
    {
        // Blocks of the input are counted as if it were the output that is cut into them.
        let exchanged = Layer {
            ofm: written,
            ..*layer
        };
        bytes[0] = read_bytes(&exchanged, block);
    }
    if let Some(&output) = last.outputs.first().filter(|_| !chained.is_empty()) {
        let output = &program.maps[output];
        bytes[1] = output.seen_bytes(last.seen.map_or(output.shape, |[_, ofm]| ofm));
    }
    Some(Step {
        bytes,
        others: others(program, operation, &chained),
        maps: [operation.inputs.first(), last.outputs.first()].map(|map| map.copied()),
        sharing: operation.sharing,
        is_chained: !chained.is_empty(),
        pieces: operation.repeats,
        can_move_input: flow.source[idx].is_some(),
        reader: flow.reader[idx],
        ..step
    })
}

/// What a layer does for operations that are chained to it.
fn with_chained(
    program: &Program,
    operation: &Operation,
    mut layer: Layer,
    chained: &[&Operation],
) -> Layer {
    let Some(&last) = chained.last().and_then(|last| last.outputs.first()) else {
        return layer;
    };
    layer.n_chained_passes = chained_passes(program, operation, chained);
    let last = &program.maps[last];
    layer.element_bytes[1] = last.element_bytes;
    layer.is_brick[1] = !last.is_linear;
    layer
}

/// What chained operations read from memory.
fn others(
    program: &Program,
    operation: &Operation,
    chained: &[&Operation],
) -> [Option<Read>; MAX_OTHERS] {
    let mut others = [None; MAX_OTHERS];
    let mut within: Vec<usize> = operation.outputs.clone();
    let mut free = others.iter_mut();
    for operation in chained {
        // What an activation between them writes counts as what the last one wrote.
        let from_memory = operation
            .inputs
            .iter()
            .filter(|&&input| program.maps[input].n_elements() > 1 && !within.contains(&input));
        for &map_idx in from_memory.take(1) {
            if let Some(other) = free.next() {
                let shape = seen_beside_output(program, operation, map_idx);
                *other = Some(Read {
                    map_idx,
                    shape,
                    bytes: program.maps[map_idx].seen_bytes(shape),
                });
            }
        }
        within.extend(&operation.outputs);
    }
    others
}

/// Shape of an input of an elementwise operation as it sees that: as it sees its output, where they are
/// alike.
fn seen_beside_output(program: &Program, operation: &Operation, map_idx: usize) -> Hwc {
    let shape = program.maps[map_idx].shape;
    let is_like_output = |&output: &usize| program.maps[output].shape == shape;
    let seen = operation
        .seen
        .filter(|_| operation.outputs.first().is_some_and(is_like_output));
    seen.map_or(shape, |[_, ofm]| ofm)
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

/// The operation as multipliers compute it; none where they do not, or with a shape that no
/// accelerator takes.
fn layer(
    accelerator: &Accelerator,
    program: &Program,
    flow: &Flow,
    operation: &Operation,
    has_table: bool,
) -> Option<Layer> {
    let kind = match operation.action {
        Action::Layer(kind) => kind,
        Action::Copy => Kind::Copy,
        Action::Limit | Action::Move { .. } | Action::Rescale | Action::Table => Kind::Pooling,
        Action::MatMul { .. } => Kind::ReduceSum,
        _ => return None,
    };
    let (&input, &output) = (operation.inputs.first()?, operation.outputs.first()?);
    let input = flow.unframed[input];
    let maps = &program.maps;
    let [ifm, ofm] = (operation.seen).unwrap_or([maps[input].shape, maps[output].shape]);
    let Window {
        kernel,
        mut stride,
        dilation,
        upscale,
    } = operation.window;
    if kind.is_pooling() {
        // A window that is nowhere else has no stride.
        stride = std::array::from_fn(|axis| if ofm[axis] == 1 { 1 } else { stride[axis] });
    }
    let is_sane = |sizes: &[i64], limit: i64| sizes.iter().all(|size| (1..=limit).contains(size));
    let is_whole = is_sane(&ifm, MAX_DIMENSION)
        && is_sane(&ofm, MAX_DIMENSION)
        && is_sane(&kernel, MAX_KERNEL)
        && kernel[0] * kernel[1] <= MAX_KERNEL_AREA
        && is_sane(&stride, MAX_KERNEL)
        && is_sane(&dilation, MAX_KERNEL);
    is_whole.then_some(Layer {
        kind,
        ifm,
        ofm,
        kernel,
        stride,
        dilation,
        upscale,
        n_chained_passes: 0,
        has_table,
        is_sparse: accelerator.is_u85() && kind == Kind::Convolution && ifm[2] <= 2,
        is_brick: [!maps[input].is_linear, !maps[output].is_linear],
        element_bytes: [maps[input].element_bytes, maps[output].element_bytes],
    })
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
