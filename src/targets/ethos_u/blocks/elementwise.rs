//! Blocks of elementwise operations: as large as both inputs fit.

use super::{BANK_BYTES, BlockMemory, OUTPUT_BANKS, SMALL_SIDE, least_padded};
use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::geometry::{BRICK_CHANNELS, Hwc, ceil_div, round_up};
use crate::targets::ethos_u::program::INT32_BYTES;

/// Parts of Ethos-U85's buffer for what is chained or broadcast.
const CHAIN_SLOTS: i64 = 6;

/// Shapes of one elementwise operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shapes {
    pub ofm: Hwc,
    pub ifm: Hwc,
    pub second: Option<Hwc>,
    /// Of an element of the inputs.
    pub element_bytes: i64,
}

impl Shapes {
    fn has_scalar(&self) -> bool {
        let is_scalar = |shape: &Hwc| shape.iter().all(|&size| size == 1);
        is_scalar(&self.ifm) || self.second.as_ref().is_some_and(is_scalar)
    }

    /// The larger input.
    fn largest_input(&self) -> Hwc {
        let volume = |shape: &Hwc| shape.iter().product::<i64>();
        match self.second {
            Some(second) if volume(&second) > volume(&self.ifm) => second,
            _ => self.ifm,
        }
    }
}

/// Vela's choice of an output block. A few hundred candidates.
pub fn choose(accelerator: &Accelerator, shapes: &Shapes) -> Hwc {
    match accelerator.memory {
        BlockMemory::Banks {
            n_banks,
            n_end_banks,
            input_granule,
            ..
        } => {
            // For elements this wide banks come in granules twice as large.
            let granule = match shapes.element_bytes {
                INT32_BYTES.. => 2 * input_granule,
                _ => input_granule,
            };
            in_banks(accelerator, shapes, n_banks - n_end_banks, granule)
        }
        BlockMemory::Apart {
            output_buffer_bytes,
            chain_buffer_bytes,
            ..
        } => in_buffers(
            accelerator,
            shapes,
            [output_buffer_bytes, chain_buffer_bytes],
        ),
    }
}

/// Of the blocks that fit, the largest.
fn in_banks(accelerator: &Accelerator, shapes: &Shapes, n_banks: i64, granule: i64) -> Hwc {
    let micro = accelerator.micro_blocks.elementwise[0];
    let end: Hwc = std::array::from_fn(|axis| {
        round_up(
            shapes.ofm[axis].min(accelerator.max_block[axis]),
            micro[axis],
        )
    });
    // 32 bits leave room for a second input even where it is a number.
    let n_inputs = match shapes.has_scalar() && shapes.element_bytes < INT32_BYTES {
        true => 1,
        false => 2,
    };
    let room = n_banks - OUTPUT_BANKS;
    let fits = |[h, w, d]: Hwc| {
        let bytes = h * w * round_up(d * shapes.element_bytes, 8);
        let banks = round_up(ceil_div(bytes, BANK_BYTES) * 2, granule);
        banks * n_inputs <= room
    };
    let input = shapes.largest_input();
    let n_input = input.iter().product::<i64>();
    let n_output = shapes.ofm.iter().product::<i64>() as f32;
    let cut_depth = |depth: i64| match depth < shapes.ofm[2] {
        true => round_up(depth, BRICK_CHANNELS),
        false => depth,
    };
    let mut best = micro;
    let mut best_cost = f32::INFINITY;
    let mut best_coverage = f32::INFINITY;
    let mut depth = cut_depth(micro[2].max(end[2].min(BRICK_CHANNELS)));
    while depth <= end[2] {
        for height in (micro[0]..=end[0]).step_by(micro[0] as usize) {
            let widths = (micro[1]..=end[1]).step_by(micro[1] as usize);
            for width in widths.take_while(|&width| fits([height, width, depth])) {
                let volume = height * width * depth;
                let mut cost = n_output / volume as f32;
                if n_input < volume * 2 {
                    cost /= 2.0;
                }
                let covered = input[0].min(height) * input[1].min(width);
                let coverage = (input[0] * input[1]) as f32 / covered.max(1) as f32;
                let is_small = height <= SMALL_SIDE && width <= SMALL_SIDE;
                if cost < best_cost {
                    best_coverage = f32::INFINITY;
                } else if cost == best_cost && coverage <= best_coverage && is_small {
                    best_coverage = coverage;
                } else {
                    continue;
                }
                best_cost = cost;
                best = [height, width, depth];
            }
        }
        depth = cut_depth(depth + micro[2]);
    }
    best
}

/// Rows of a block in Ethos-U85's buffer, widened or deepened where there is room.
fn in_buffers(
    accelerator: &Accelerator,
    shapes: &Shapes,
    [output_buffer_bytes, chain_buffer_bytes]: [i64; 2],
) -> Hwc {
    let [unit_h, unit_w, _] = least_padded(accelerator.micro_blocks.elementwise, shapes.ofm);
    let granule = [unit_h, unit_w, BRICK_CHANNELS];
    let ofm: Hwc = std::array::from_fn(|axis| round_up(shapes.ofm[axis].max(1), granule[axis]));
    let limit: Hwc = std::array::from_fn(|axis| ofm[axis].min(accelerator.max_block[axis]));
    let chain_bricks = chain_buffer_bytes / CHAIN_SLOTS / (BRICK_CHANNELS * shapes.element_bytes);
    let output_width = output_buffer_bytes / shapes.element_bytes / granule[2];
    let chain_width = chain_bricks / unit_h;
    let mut height = tile(ofm[0], granule[0], limit[0]);
    let required = tile(ofm[1], granule[1], output_width.min(limit[1])).max(granule[1]);
    let mut width = output_width;
    let mut depth = reapportion(granule[2], limit[2], &mut width, required);
    if let Some(second) = shapes.second.filter(|_| !shapes.has_scalar()) {
        let is_broadcast = |axis: usize| shapes.ifm[axis].min(second[axis]) < shapes.ofm[axis];
        if is_broadcast(2) {
            depth = tile(ofm[2], granule[2], limit[2]);
            width = chain_width;
            if !is_broadcast(0) && !is_broadcast(1) {
                height = reapportion(unit_h, limit[0], &mut width, required);
            }
        } else if is_broadcast(0) {
            width = chain_width;
            depth = reapportion(BRICK_CHANNELS, limit[2], &mut width, required);
        }
    }
    let block = [height, width, depth];
    std::array::from_fn(|axis| round_up(block[axis], granule[axis]))
}

/// A tile of about this size that cuts the range into as many as equal ones.
fn tile(range: i64, granule: i64, size: i64) -> i64 {
    if size < 1 || range % size == 0 {
        return size.max(granule);
    }
    round_up(range / (range / size + 1), granule).max(granule)
}

/// As many times `value` as there is more `available` than `required`, up to a limit.
fn reapportion(value: i64, limit: i64, available: &mut i64, required: i64) -> i64 {
    let excess = (*available / required).min(limit / value);
    if excess < 2 {
        return value;
    }
    *available /= excess;
    value * excess
}
