//! Operations → scheduled operations: how the accelerator executes them, in which blocks, and what they read
//! and write. Reproduces `CreateSchedulerOpInfo` and `InitPerfQuery` of Vela's `scheduler.cpp`.

pub mod mat_mul;
mod output_stage;

use std::rc::Rc;

use self::mat_mul::mat_mul;
use self::output_stage::{chained_passes, output_stage};
use super::accelerator::Accelerator;
use super::blocks::{self, Block};
use super::cycles::{
    cycles_between, read_bytes, read_inflation, transpose_cycles, whole_cycles, write_inflation,
    written_bytes,
};
use super::flow::Flow;
use super::geometry::{IfmOfm, volume};
use super::index::OptionalIndex;
use super::layer::{Kind, Layer, UNCHANGED};
use super::order::Order;
use super::program::{
    Action, FeatureMap, INT32_BYTES, INT64_BYTES, MAX_DIMENSION, Operation, Program, Transposition,
    Window,
};
use super::scheduled_operation::{Execution, MAX_OTHERS, Read, ScheduledOperation, Stripe};
use super::weights::{encoded, encoded_bytes, is_same_stream};
use crate::graph::analysis::ByteHistogram;

/// Maximum side of a kernel that is planned; the learned correction accounts for larger ones.
const MAX_KERNEL: i64 = 4096;
/// Maximum area of a kernel that is planned.
const MAX_KERNEL_AREA: i64 = 64 * 64;

/// The scheduled operation of a step; `None` if it has no output, or if no block fits.
pub fn schedule<'a>(
    accelerator: &Accelerator,
    program: &'a Program,
    order: &Order,
    flow: &Flow,
    idx: usize,
) -> Option<ScheduledOperation<'a>> {
    let operation = &program.operations[order.operations[idx]];
    if operation.action == Action::Cpu {
        return Some(ScheduledOperation::new(
            Execution::Cpu,
            0.0,
            IfmOfm::both(0.0),
        ));
    }
    let command = CommandScheduler {
        accelerator,
        program,
        order,
        flow,
        idx,
        operation,
        chained: order.chained(program, idx).collect(),
    };
    if operation.action == Action::Gather {
        return command.gather();
    }
    command.schedule()
}

/// One command of the accelerator: an operation with the operations that are chained to it.
struct CommandScheduler<'a, 'c> {
    accelerator: &'c Accelerator,
    program: &'a Program,
    order: &'c Order,
    flow: &'c Flow,
    /// Step of the operation in `order`.
    idx: usize,
    operation: &'a Operation,
    chained: Vec<&'c Operation>,
}

impl<'a> CommandScheduler<'a, '_> {
    fn schedule(&self) -> Option<ScheduledOperation<'a>> {
        let layer = layer(
            self.accelerator,
            self.program,
            self.flow,
            self.operation,
            self.has_table(),
        );
        let layer = layer.map(|layer| self.with_chained(layer));
        match (self.operation.action, layer) {
            (Action::MatMul { n_columns }, Some(layer)) => self.mat_mul(layer, n_columns as f64),
            _ => self.on_multipliers_or_output_stage(layer),
        }
    }

    /// One element of each entry counts as read, and each index. A SCATTER_ND, which has no indices here, only writes.
    fn gather(&self) -> Option<ScheduledOperation<'a>> {
        let (&[input], indices) = self.operation.inputs.split_first_chunk()?;
        let &output = self.operation.outputs.first()?;
        let indices = indices.first().copied();
        let maps = &self.program.maps;
        let element_bytes =
            [input, indices.unwrap_or(input), output].map(|map| maps[map].element_bytes());
        let n_indices = indices.map_or(0, |indices| maps[indices].n_elements());
        let bytes = IfmOfm {
            ifm: (n_indices * element_bytes[0]) as f64,
            ofm: maps[output].stored_bytes(),
        };
        Some(ScheduledOperation {
            second: indices.map(|indices| Box::new(Read::whole(self.program, indices))),
            maps: IfmOfm {
                ifm: Some(input).into(),
                ofm: Some(output).into(),
            },
            reader: self.reader(),
            ..ScheduledOperation::new(Execution::Gather(element_bytes), 0.0, bytes)
        })
    }

    fn mat_mul(&self, layer: Layer, n_columns: f64) -> Option<ScheduledOperation<'a>> {
        let Self {
            accelerator,
            program,
            operation,
            ..
        } = self;
        let step = mat_mul(accelerator, program, operation, layer, n_columns)?;
        Some(ScheduledOperation {
            maps: IfmOfm {
                ifm: operation.inputs.first().copied().into(),
                ofm: operation.outputs.first().copied().into(),
            },
            can_move_input: self.can_move_input(),
            reader: self.reader(),
            ..step
        })
    }

    /// On the multipliers if there is a layer and a block fits, and with the output stage alone otherwise.
    fn on_multipliers_or_output_stage(
        &self,
        layer: Option<Layer>,
    ) -> Option<ScheduledOperation<'a>> {
        let Self {
            accelerator,
            program,
            operation,
            chained,
            ..
        } = self;
        let chosen = layer.and_then(|layer| self.with_block(layer));
        let activated = self
            .order
            .map_behind_activation(program, self.idx)
            .filter(|_| chosen.is_none() && chained.is_empty());
        let step = match chosen {
            Some((layer, block)) => self.on_multipliers(layer, block),
            None => output_stage(
                accelerator,
                program,
                operation,
                chained,
                self.has_table(),
                activated.map(|map_idx| &program.maps[map_idx]),
            )?,
        };
        let last = chained.last().map_or(*operation, |last| *last);
        Some(ScheduledOperation {
            bytes: self.counted_bytes(&step),
            others: inputs_of_chained(program, operation, chained, &self.maps_within_chain()),
            maps: IfmOfm {
                ifm: operation.inputs.first().copied().into(),
                // It has the elements that are written; a table may make them larger.
                ofm: activated.or(last.outputs.first().copied()).into(),
            },
            table_bytes: table_bytes(program, operation),
            sharing: operation.sharing,
            is_chained: !chained.is_empty(),
            chain_writes_linear: (chained.last().and_then(|last| last.outputs.first()))
                .is_some_and(|&output| program.maps[output].is_linear),
            joined_channels: self.concatenation().map_or(0, |whole| whole.shape()[2]),
            pieces: operation.repeats,
            can_move_input: self.can_move_input(),
            reader: self.reader(),
            ..step
        })
    }

    /// The layer, changed by the operations that are chained to it.
    fn with_chained(&self, mut layer: Layer) -> Layer {
        let Self {
            accelerator,
            program,
            operation,
            chained,
            ..
        } = self;
        if chained.last().is_none_or(|last| last.outputs.is_empty()) {
            return layer;
        }
        let alone = accelerator.output.pass();
        layer.n_chained_passes = chained_passes(accelerator, program, operation, chained, alone);
        layer
    }

    /// The layer with its block; `None` if no block fits. Where at most two of four input channels have weights, Ethos-U85
    /// can skip the others: it does so if neither the multipliers nor these and the decoding together take longer
    /// (`EncodeBestWeightFormat`).
    fn with_block(&self, layer: Layer) -> Option<(Layer, Block)> {
        let chosen = |layer| Some((layer, blocks::choose(self.accelerator, &layer)?));
        let dense = chosen(layer)?;
        let Some(histogram) = self
            .weights(&layer)
            .filter(|_| self.can_skip_sparse_channels(&layer))
        else {
            return Some(dense);
        };
        let cycles = |(layer, block): &(Layer, Block)| {
            let computing =
                whole_cycles(self.accelerator, &self.with_transposed_ofm(*layer), block);
            let decoding = encoded(self.accelerator, layer, block, histogram).cycles;
            [computing, computing + decoding.floor()]
        };
        let is_no_slower = |sparse: &(Layer, Block)| {
            let [sparse, dense] = [cycles(sparse), cycles(&dense)];
            // With at most two channels the estimated bytes are too near each other to tell which are decoded sooner.
            sparse[0] <= dense[0] && (sparse[1] <= dense[1] || layer.ifm[2] <= 2)
        };
        let sparse = chosen(Layer {
            is_sparse: true,
            ..layer
        });
        Some(sparse.filter(is_no_slower).unwrap_or(dense))
    }

    /// Whether the multipliers can skip half of the input channels: those of 2:4 sparse weights.
    fn can_skip_sparse_channels(&self, layer: &Layer) -> bool {
        let sums_channels = matches!(layer.kind, Kind::Convolution | Kind::VectorProduct);
        let n_weights = layer.kernel[0] * layer.kernel[1] * layer.ifm[2] * layer.ofm[2];
        // The histogram of an operator is that of its largest constant, which may be its input.
        let is_of_weights = |one: &ByteHistogram| one.n_bytes as i64 <= n_weights;
        let is_sparse = || {
            let histogram = self.weights(layer);
            histogram.is_some_and(|one| one.is_sparse && is_of_weights(one))
        };
        self.accelerator.is_u85() && sums_channels && (layer.ifm[2] <= 2 || is_sparse())
    }

    fn weights(&self, layer: &Layer) -> Option<&'a ByteHistogram> {
        let histogram = self.operation.weights.as_deref();
        histogram.filter(|_| layer.kind.has_weights())
    }

    /// The layer as its cycles are counted: for the OFM after a transposition, while the block is chosen for the OFM
    /// before it.
    fn with_transposed_ofm(&self, layer: Layer) -> Layer {
        match self.operation.transposition() {
            Some(transposition) if layer.order != UNCHANGED => Layer {
                ofm: transposition.written(),
                ..layer
            },
            _ => layer,
        }
    }

    fn on_multipliers(&self, layer: Layer, block: Block) -> ScheduledOperation<'a> {
        let Self {
            accelerator,
            program,
            operation,
            ..
        } = self;
        let exchanged = self.with_transposed_ofm(layer);
        let weights = self.weights(&layer);
        let weights = weights.map(|histogram| EncodedWeights {
            histogram,
            bytes: encoded_bytes(accelerator, &layer, &block, histogram),
        });
        let step = match operation.action {
            Action::Transpose(transposition) if !accelerator.is_u85() => {
                scheduled_move(accelerator, transposition, layer, block)
            }
            _ => scheduled_layer(accelerator, exchanged, block, weights),
        };
        let reads_constant =
            (operation.inputs.first()).is_some_and(|&input| program.maps[input].is_constant);
        let step = if reads_constant {
            let feature_maps = IfmOfm {
                ifm: accelerator.off_chip,
                ofm: accelerator.planned_feature_maps(),
            };
            let cycles = cycles_between(accelerator, &exchanged, &block, feature_maps);
            ScheduledOperation { cycles, ..step }
        } else {
            step
        };
        ScheduledOperation {
            second: (operation.inputs.get(1))
                .map(|&map_idx| Read::whole(program, map_idx).one_of_parts(operation.repeats))
                .map(Box::new),
            ..step
        }
    }

    /// Bytes of the first input and of the last output, as the compiler counts them.
    fn counted_bytes(&self, step: &ScheduledOperation) -> IfmOfm<f64> {
        let whole = self.concatenation().map(FeatureMap::stored_bytes);
        IfmOfm {
            ifm: self.transposed_bytes(step).unwrap_or(step.bytes.ifm),
            ofm: (whole.or_else(|| self.chained_output_bytes())).unwrap_or(step.bytes.ofm),
        }
    }

    /// Bytes of the IFM of a transposition on Ethos-U85: Vela counts the blocks of the IFM as if they divided the OFM.
    fn transposed_bytes(&self, step: &ScheduledOperation) -> Option<f64> {
        let (Action::Transpose(transposition), Execution::Unweighted(divided)) =
            (self.operation.action, &step.execution)
        else {
            return None;
        };
        let (layer, block) = divided.as_ref();
        let exchanged = Layer {
            ofm: transposition.written(),
            ..*layer
        };
        Some(read_bytes(&exchanged, block))
    }

    /// Bytes of the output of a chain, `None` without chained operations. The compiler counts one memory access of each
    /// chained operation: if the last one reads from memory, its write does not count, unless an activation performs
    /// it.
    fn chained_output_bytes(&self) -> Option<f64> {
        let last = self.chained.last()?;
        let output = &self.program.maps[*last.outputs.first()?];
        let within = self.maps_within_chain();
        let is_of_chain = |input: &usize| {
            let mut operations =
                std::iter::once(self.operation).chain(self.chained.iter().copied());
            within.contains(input) || operations.any(|one| one.outputs.contains(input))
        };
        let reads_memory = !last.inputs.iter().all(is_of_chain);
        let is_hidden = reads_memory
            && self
                .order
                .map_behind_activation(self.program, self.idx)
                .is_none();
        Some(if is_hidden {
            0.0
        } else {
            output.bytes_in_shape(last.view_shapes().map_or(output.shape(), |[_, ofm]| ofm))
        })
    }

    /// The whole concatenation of which an activation on Ethos-U85 writes a part; it counts as its output.
    fn concatenation(&self) -> Option<&FeatureMap> {
        if !self.accelerator.is_u85() {
            return None;
        }
        let activated = self.order.map_behind_activation(self.program, self.idx)?;
        let whole = self.flow.joined[activated].get()?;
        Some(&self.program.maps[whole])
    }

    fn has_table(&self) -> bool {
        self.flow.has_table[self.idx]
    }

    /// The maps that the command writes.
    fn maps_within_chain(&self) -> Vec<usize> {
        if self.chained.is_empty() {
            Vec::new()
        } else {
            self.order.maps_within_chain(self.program, self.idx)
        }
    }

    fn can_move_input(&self) -> bool {
        self.flow.is_computed[self.idx]
    }

    fn reader(&self) -> OptionalIndex {
        self.flow.reader_of_whole[self.idx]
    }
}

/// Bytes of the lookup table of a softmax: a 32-bit exponential for each 8-bit value.
pub(super) const SOFTMAX_TABLE_BYTES: f64 = 1024.0;

/// Bytes of the lookup table of an operation: an output for each 8-bit value, or 512 points with slopes for 16
/// bits.
pub(super) fn table_bytes(program: &Program, operation: &Operation) -> f64 {
    let (Action::Table, Some(&input), Some(&output)) = (
        operation.action,
        operation.inputs.first(),
        operation.outputs.first(),
    ) else {
        return 0.0;
    };
    let element_bytes = [input, output].map(|map_idx| program.maps[map_idx].element_bytes());
    match element_bytes {
        [(..=1), output] => (256 * output) as f64,
        _ => 2048.0,
    }
}

/// The inputs that chained operations read from memory.
fn inputs_of_chained(
    program: &Program,
    operation: &Operation,
    chained: &[&Operation],
    written: &[usize],
) -> Option<Box<[Option<Read>; MAX_OTHERS]>> {
    let mut others = [None; MAX_OTHERS];
    let mut within = [&operation.outputs[..], written].concat();
    let mut free = others.iter_mut();
    for operation in chained {
        // If an activation is part of the chain, its output counts as that of the previous operation.
        let from_memory = operation
            .inputs
            .iter()
            .filter(|&&input| program.maps[input].n_elements() > 1 && !within.contains(&input));
        for &map_idx in from_memory.take(1) {
            if let Some(other) = free.next() {
                let shape = program.shape_beside_output(operation, map_idx);
                *other = Some(Read {
                    map_idx,
                    shape,
                    bytes: program.maps[map_idx].bytes_in_shape(shape),
                });
            }
        }
        within.extend(&operation.outputs);
    }
    others[0].is_some().then(|| Box::new(others))
}

/// The weights of a layer.
#[derive(Clone, Copy)]
struct EncodedWeights<'a> {
    histogram: &'a ByteHistogram,
    /// Bytes of the encoded stream with biases and scales.
    bytes: f64,
}

/// A scheduled operation on the multipliers.
fn scheduled_layer<'a>(
    accelerator: &Accelerator,
    layer: Layer,
    block: Block,
    weights: Option<EncodedWeights<'a>>,
) -> ScheduledOperation<'a> {
    let bytes = IfmOfm {
        ifm: read_bytes(&layer, &block),
        ofm: written_bytes(&layer),
    };
    let cycles = whole_cycles(accelerator, &layer, &block);
    let divided = Rc::new((layer, block));
    let execution = match weights {
        Some(EncodedWeights { histogram, bytes }) => Execution::Weighted {
            divided,
            weight_bytes: bytes,
            histogram,
        },
        None => Execution::Unweighted(divided),
    };
    ScheduledOperation::new(execution, cycles, bytes)
}

/// The operation on the multipliers; `None` if it does not run there, or if its shape exceeds the limits.
fn layer(
    accelerator: &Accelerator,
    program: &Program,
    flow: &Flow,
    operation: &Operation,
    has_table: bool,
) -> Option<Layer> {
    let kind = layer_kind(accelerator, &operation.action)?;
    let (&input, &output) = (operation.inputs.first()?, operation.outputs.first()?);
    let input = flow.unpadded[input] as usize;
    let maps = &program.maps;
    let [ifm, ofm] = operation
        .view_shapes()
        .unwrap_or([maps[input].shape(), maps[output].shape()]);
    let window = operation.window();
    let Window {
        kernel,
        dilation,
        upscale,
        ..
    } = window;
    let stride = window.stride_towards(ofm);
    let is_whole = has_sane_sizes([&ifm, &ofm], kernel, [stride, dilation]);
    // A transposition moves both halves of 64 bits, which its shapes count.
    let is_halved = matches!(operation.action, Action::Transpose(_));
    let element_bytes = |map: &FeatureMap| match map.element_bytes() {
        INT64_BYTES if is_halved => INT32_BYTES,
        bytes => bytes,
    };
    let ends = IfmOfm {
        ifm: &maps[input],
        ofm: &maps[output],
    };
    is_whole.then_some(Layer {
        kind,
        ifm,
        ofm,
        kernel,
        stride,
        dilation,
        upscale,
        n_chained_passes: 0,
        order: match operation.transposition() {
            Some(Transposition { order, .. }) if accelerator.is_u85() => order.map(usize::from),
            _ => UNCHANGED,
        },
        reversed: operation.reversed_dimension(),
        has_table,
        is_sparse: false,
        is_brick: ends.map(|map| !map.is_linear),
        element_bytes: ends.map(element_bytes),
    })
}

/// Whether no size overflows the cycles that are computed from it.
fn has_sane_sizes(maps: [&[i64; 3]; 2], kernel: [i64; 2], steps: [[i64; 2]; 2]) -> bool {
    let is_sane = |sizes: &[i64], limit: i64| sizes.iter().all(|size| (1..=limit).contains(size));
    maps.iter().all(|map| is_sane(&map[..], MAX_DIMENSION))
        && is_sane(&kernel, MAX_KERNEL)
        && kernel[0] * kernel[1] <= MAX_KERNEL_AREA
        && steps.iter().all(|step| is_sane(step, MAX_KERNEL))
}

/// The kind of the layer that an operation is planned as.
fn layer_kind(accelerator: &Accelerator, action: &Action) -> Option<Kind> {
    let kind = match *action {
        Action::Layer(kind) => kind,
        Action::Copy => Kind::Copy,
        // Ethos-U55 and U65 choose the block of a transposition as if it had no kernel.
        Action::Transpose(_) if !accelerator.is_u85() => Kind::ReduceSum,
        Action::Clamp
        | Action::Reverse(_)
        | Action::Transpose(_)
        | Action::Requantise
        | Action::Table => Kind::Pooling,
        Action::MatMul { .. } => Kind::ReduceSum,
        _ => return None,
    };
    Some(kind)
}

/// A transposition on Ethos-U55 or U65, which only moves memory.
fn scheduled_move<'a>(
    accelerator: &Accelerator,
    transposition: Transposition,
    layer: Layer,
    block: Block,
) -> ScheduledOperation<'a> {
    let written = Layer {
        ofm: transposition.written(),
        ..layer
    };
    let bytes = IfmOfm {
        ifm: (volume(layer.ifm) * layer.element_bytes.ifm) as f64,
        ofm: written_bytes(&written),
    };
    let memory = accelerator.planned_feature_maps();
    let moved = IfmOfm {
        ifm: bytes.ifm * read_inflation(&memory, &written, &block),
        ofm: bytes.ofm * write_inflation(accelerator, &memory, &written, &block),
    };
    let cycles = transpose_cycles(&IfmOfm::both(memory), moved);
    ScheduledOperation::new(
        Execution::Transpose(Rc::new((written, block))),
        cycles,
        bytes,
    )
}

/// A scheduled operation with the block of its stripes; `None` if no block fits.
pub fn striped<'a>(
    accelerator: &Accelerator,
    step: &ScheduledOperation<'a>,
    stripe: Stripe,
) -> Option<ScheduledOperation<'a>> {
    let Some((layer, whole_block)) = step.execution.layer() else {
        return Some(ScheduledOperation {
            stripe: Some(stripe),
            ..step.clone()
        });
    };
    let block = blocks::choose(accelerator, &layer.with_rows(stripe.rows))?;
    let histogram = step.execution.histogram();
    let weights = histogram.map(|histogram| EncodedWeights {
        histogram,
        bytes: if is_same_stream(&whole_block, &block) {
            step.execution.weight_bytes()
        } else {
            encoded_bytes(accelerator, &layer, &block, histogram)
        },
    });
    let ScheduledOperation {
        execution,
        cycles,
        bytes,
        ..
    } = scheduled_layer(accelerator, layer, block, weights);
    Some(ScheduledOperation {
        execution,
        cycles,
        bytes,
        stripe: Some(stripe),
        ..step.clone()
    })
}
