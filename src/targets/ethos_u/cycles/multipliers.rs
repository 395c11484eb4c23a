//! Cycles of a block on the multipliers.
//!
//! Reproduces `EstimateMacCyclesPerBlock` of Vela's `ethos_u55_performance.cpp` and
//! `ethos_u85_performance.cpp`, as described under "Multipliers" in `docs/method/ethos-u.md`.

use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::blocks::{Block, SUB_KERNEL, has_wide_accumulators};
use crate::targets::ethos_u::configuration::Product;
use crate::targets::ethos_u::geometry::{Hwc, ceil_div};
use crate::targets::ethos_u::layer::{Kind, Layer};

/// Cycles per position of a micro block, which the multipliers compute in quarters.
const POSITION_CYCLES: i64 = 4;
/// Input channels that are multiplied at a time.
const CHANNELS_AT_ONCE: i64 = 8;
/// Cycles in which a decoder delivers the weights of this many output channels.
const DECODE_CYCLES: i64 = 32;
const DECODED_CHANNELS: i64 = 8;

/// The order in which the multipliers process the inputs of a micro block's depth.
struct Traversal {
    /// Kernel positions of one step.
    positions_per_step: i64,
    /// Cycles of one step over all positions of the block, for as many channels as a micro block has.
    step_cycles: i64,
    /// Repetitions of all steps: one for each group of input channels or bytes of an element.
    n_passes: i64,
}

impl Traversal {
    fn new(accelerator: &Accelerator, layer: &Layer, block: &Block, micro: Hwc, area: i64) -> Self {
        let element_bytes = layer.element_bytes.ifm;
        let ifm_depth = held_depth(layer, block);
        let (positions_per_step, cycles_per_area, n_passes) = match layer.kind {
            Kind::Depthwise => (4, POSITION_CYCLES * element_bytes, 1),
            _ if block.is_part_kernel => {
                let positions = if element_bytes == 2 { 2 } else { 4 };
                (positions, POSITION_CYCLES, n_channel_groups(layer, block))
            }
            _ if accelerator.is_u85() => (1, ifm_depth / CHANNELS_AT_ONCE, element_bytes),
            _ => (1, POSITION_CYCLES, 1),
        };
        let n_decoders = if accelerator.is_u85() {
            accelerator.n_weight_streams
        } else {
            1
        };
        let decoding = DECODE_CYCLES * micro[2] / (DECODED_CHANNELS * n_decoders);
        Self {
            positions_per_step,
            step_cycles: decoding.max(cycles_per_area * area),
            n_passes,
        }
    }
}

/// Input channels that a block holds.
fn held_depth(layer: &Layer, block: &Block) -> i64 {
    block.ifm[2].min(layer.ifm[2])
}

fn n_channel_groups(layer: &Layer, block: &Block) -> i64 {
    ceil_div(held_depth(layer, block), CHANNELS_AT_ONCE)
}

/// Cycles of the output block `ofm` in micro blocks of `micro`. Constant time for any kernel.
pub fn multiplier_cycles(
    accelerator: &Accelerator,
    layer: &Layer,
    block: &Block,
    micro: Hwc,
    ofm: Hwc,
) -> i64 {
    let n_micro: Hwc = std::array::from_fn(|axis| ceil_div(ofm[axis], micro[axis]));
    let (area, n_depths) = (n_micro[0] * n_micro[1], n_micro[2]);
    let is_smallest = accelerator.product == Product::U55x32;
    let traversal = Traversal::new(accelerator, layer, block, micro, area);
    let is_wide = has_wide_accumulators(accelerator, layer);
    let wait_cycles = wait_cycles(accelerator, is_smallest, is_wide);
    // With wide accumulators, the smallest accelerator waits in a single row or column as well.
    let is_line = n_micro[0] == 1 || n_micro[1] == 1;
    let n_idle = if is_smallest && is_wide && is_line && n_depths > 1 {
        n_depths
    } else {
        0
    };
    // For a part of the kernel with this many positions: cycles of its steps, and waits of dependent ones.
    let part_cycles = |n_positions: i64| {
        let (n_steps, steps) = if layer.kind.is_pooling() {
            let bytes_cycles = if is_smallest {
                1
            } else {
                POSITION_CYCLES * layer.element_bytes.ifm
            };
            (
                1,
                n_positions.max(POSITION_CYCLES) * area * n_depths * bytes_cycles,
            )
        } else {
            let n_steps = ceil_div(n_positions, traversal.positions_per_step);
            let steps = n_steps * n_depths * traversal.n_passes * traversal.step_cycles;
            (n_steps, steps)
        };
        let n_groups = if block.is_part_kernel {
            n_channel_groups(layer, block)
        } else {
            1
        };
        let n_waits = n_dependent_steps(area, n_depths, n_steps) * n_groups;
        let steps = if layer.is_sparse { steps / 2 } else { steps };
        steps + (n_waits + n_idle * n_groups) * wait_cycles
    };
    let parts = kernel_parts(layer);
    let of_kernel: i64 = parts
        .map(|(n_parts, n_positions)| n_parts * part_cycles(n_positions))
        .sum();
    let n_ifm_blocks = if layer.kind.is_by_channel() {
        1
    } else {
        ceil_div(layer.ifm[2], held_depth(layer, block))
    };
    of_kernel * n_ifm_blocks / accelerator.n_cores
}

/// Cycles that a step waits for the one whose sums it continues.
fn wait_cycles(accelerator: &Accelerator, is_smallest: bool, is_wide: bool) -> i64 {
    match (is_smallest, is_wide) {
        (true, true) => 7,
        (true, false) => 3,
        (false, true) if accelerator.macs_per_cycle <= 128.0 => 3,
        (false, _) => 2,
    }
}

/// Steps that wait for the previous one. This happens only with a single micro block in height and width, because there
/// is no other one to compute meanwhile.
fn n_dependent_steps(area: i64, n_depths: i64, n_steps: i64) -> i64 {
    match (area, n_depths) {
        (1, 1) => n_steps,
        (1, _) => (n_steps - 1) * n_depths,
        _ => 0,
    }
}

/// The parts in which a kernel is applied: the number of equal parts, and the positions of each.
fn kernel_parts(layer: &Layer) -> impl Iterator<Item = (i64, i64)> {
    let limit = match layer.kind {
        Kind::VectorProduct | Kind::MatrixProduct | Kind::ReduceSum => 1,
        _ => SUB_KERNEL,
    };
    let along = move |size: i64| {
        let n_whole = size / limit;
        [(n_whole, limit), (1, size - n_whole * limit)]
            .into_iter()
            .filter(|&(n, size)| n > 0 && size > 0)
    };
    let [height, width] = layer.kernel;
    along(height).flat_map(move |(n_high, height)| {
        along(width).map(move |(n_wide, width)| (n_high * n_wide, height * width))
    })
}
