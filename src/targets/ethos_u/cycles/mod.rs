//! Cycles of operations without waiting for memory.
//!
//! Reproduces `EstimateMacOpCycles` of Vela's `ethos_u55_performance.cpp` and `ethos_u85_performance.cpp`, as described
//! under "Cycles" in `docs/method/ethos-u.md`.

mod elementwise;
mod multipliers;
mod transfers;

use self::multipliers::multiplier_cycles;
use self::transfers::{block_transfer, clipped_block};
use super::accelerator::{Accelerator, MemoryPort};
use super::blocks::Block;
use super::geometry::{Hwc, IfmOfm, ceil_div, volume};
use super::layer::{Kind, Layer, SCALE_BYTES};

pub use self::elementwise::Elementwise;
pub use self::transfers::{
    Blocks, inflation, read_bytes, read_inflation, stride_bytes, write_inflation, written_bytes,
};

/// Bytes of scales that are fetched in the time of one latency.
const SCALE_BYTES_PER_LATENCY: f64 = 256.0;
/// Issuing the commands of a block takes at least a quarter of the sum of its times.
const ISSUE_DIVISOR: f64 = 4.0;

/// The slice of an operation: the first slice waits for the IFM, and the last one for the OFM.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    pub is_first: bool,
    pub is_last: bool,
}

impl Part {
    pub const WHOLE: Part = Part {
        is_first: true,
        is_last: true,
    };
}

/// The context of a cycle estimate.
#[derive(Clone, Copy, Debug)]
pub struct CycleContext {
    /// Memories of IFM and OFM.
    pub feature_maps: IfmOfm<MemoryPort>,
    /// Latency of the memory that holds its scales.
    pub scale_latency_cycles: f64,
    pub part: Part,
}

/// Cycles to read and write these numbers of bytes at the same time.
pub fn transpose_cycles(memories: &IfmOfm<MemoryPort>, bytes: IfmOfm<f64>) -> f64 {
    let IfmOfm { ifm: from, ofm: to } = memories;
    let read = from.read_latency_cycles + bytes.ifm / from.bytes_per_cycle;
    read.max(to.write_latency_cycles + bytes.ofm / to.bytes_per_cycle)
}

/// The micro block and the output block of the computation: if the OFM is a row of even width, an Ethos-U55 or U65 with
/// micro blocks of 2x2 computes four positions side by side.
fn computed_blocks(accelerator: &Accelerator, layer: &Layer, block: &Block) -> [Hwc; 2] {
    let ofm = clipped_block(block.ofm, layer.ofm);
    let is_even_row = layer.is_row() && layer.ofm[1] % 2 == 0;
    let sums_channels = layer.kind.has_weights() && layer.kind != Kind::Depthwise;
    let has_rows = !accelerator.is_u85() && block.micro[0] == 2;
    if has_rows && is_even_row && sums_channels {
        [[1, 4, block.micro[2]], [1, ofm[1], ofm[2]]]
    } else {
        [block.micro, ofm]
    }
}

/// Cycles of a block in each unit.
struct BlockCycles {
    multipliers: f64,
    output_stage: f64,
    read: f64,
    write: f64,
}

impl BlockCycles {
    fn new(
        accelerator: &Accelerator,
        layer: &Layer,
        block: &Block,
        [micro, ofm]: [Hwc; 2],
        conditions: &CycleContext,
    ) -> Self {
        let IfmOfm { ifm: from, ofm: to } = &conditions.feature_maps;
        let scales = if layer.kind.has_weights() {
            let bytes = (SCALE_BYTES * ofm[2]) as f64;
            bytes * conditions.scale_latency_cycles / SCALE_BYTES_PER_LATENCY
        } else {
            0.0
        };
        let output = accelerator.output.for_layer(layer) * volume(ofm) as f64;
        Self {
            multipliers: multiplier_cycles(accelerator, layer, block, micro, ofm) as f64,
            output_stage: output.ceil().max(scales),
            read: block_transfer(
                from,
                from.read_latency_cycles,
                volume(clipped_block(block.ifm, layer.ifm)) * layer.element_bytes.ifm,
                Blocks::ifm_blocks(layer, block).read_burst(),
            ),
            write: block_transfer(
                to,
                to.write_latency_cycles,
                volume(ofm) * layer.element_bytes.ofm,
                Blocks::ofm_blocks(layer, block).write_burst(accelerator),
            ),
        }
    }

    /// Raises the cycles to the time of issuing commands, if that is longer. Reads and writes overlap if there are
    /// several blocks.
    fn at_least_issue_time(self, n_blocks: f64) -> Self {
        let apart = if n_blocks > 1.0 {
            (self.write - self.read).abs()
        } else {
            0.0
        };
        let issue = (apart + self.multipliers + self.output_stage) / ISSUE_DIVISOR;
        Self {
            multipliers: self.multipliers.max(issue),
            output_stage: self.output_stage.max(issue),
            ..self
        }
    }

    /// Cycles of all blocks: multipliers and output stage work on different blocks at the same time.
    fn total(&self, n_blocks: f64, part: Part) -> f64 {
        let at_end = |cycles: f64| if part.is_last { cycles } else { 0.0 };
        let computing = if self.multipliers > self.output_stage {
            (self.multipliers * n_blocks).floor() + at_end(self.output_stage.floor())
        } else {
            (self.output_stage * n_blocks + self.multipliers).floor()
        };
        let read = if part.is_first { self.read } else { 0.0 };
        computing + read + at_end(self.write)
    }
}

/// Cycles of one slice of an operation on the multipliers.
pub fn operator_cycles(
    accelerator: &Accelerator,
    layer: &Layer,
    block: &Block,
    conditions: CycleContext,
) -> f64 {
    let blocks = computed_blocks(accelerator, layer, block);
    let [micro, ofm] = blocks;
    let n_micro = |shape: Hwc| -> f64 {
        let along = |axis: usize| ceil_div(shape[axis], micro[axis]) as f64;
        (0..3).map(along).product()
    };
    let n_blocks = n_micro(layer.ofm) / n_micro(ofm);
    BlockCycles::new(accelerator, layer, block, blocks, &conditions)
        .at_least_issue_time(n_blocks)
        .total(n_blocks, conditions.part)
}

/// Cycles of a whole operation, without weight buffers or staged inputs.
pub fn whole_cycles(accelerator: &Accelerator, layer: &Layer, block: &Block) -> f64 {
    let memory = accelerator.planned_feature_maps();
    cycles_between(accelerator, layer, block, IfmOfm::both(memory))
}

/// The same with IFM and OFM in these memories.
pub fn cycles_between(
    accelerator: &Accelerator,
    layer: &Layer,
    block: &Block,
    feature_maps: IfmOfm<MemoryPort>,
) -> f64 {
    let conditions = CycleContext {
        feature_maps,
        scale_latency_cycles: accelerator.weights_off_chip.latency_cycles,
        part: Part::WHOLE,
    };
    operator_cycles(accelerator, layer, block, conditions)
}
