//! Blocks of elementwise operations, which need no accumulators: as large as the memory for their inputs allows.
//!
//! Reproduces, for elementwise operations, `FindBlockConfig` of Vela's `ethos_u55.cpp` and
//! `FindElementwiseConfig` of its `ethos_u85.cpp`, as described under "Blocks of elementwise operations" in
//! `docs/method/ethos-u.md`.

use std::cell::RefCell;

use super::cache::BlockCache;
use super::search::{
    BANK_BYTES, Best, OUTPUT_BANKS, SMALL_SIDE, area_repeats, depths, input_unit, least_padded,
};
use super::units::units_and_limits_of;
use crate::targets::ethos_u::accelerator::{Accelerator, BlockMemory};
use crate::targets::ethos_u::configuration::Product;
use crate::targets::ethos_u::geometry::{BRICK_CHANNELS, Hwc, ceil_div, round_up, volume};
use crate::targets::ethos_u::program::INT32_BYTES;

/// Slots that Ethos-U85's chaining buffer is divided into (`CB_SLOTS` in Vela).
const CHAIN_SLOTS: i64 = 6;
/// Channels in which the SHRAM of Ethos-U55 and U65 pads a row, in bytes.
const ROW_BYTES: i64 = 8;

/// Shapes of an elementwise operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shapes {
    pub ofm: Hwc,
    pub ifm: Hwc,
    pub second: Option<Hwc>,
    /// Bytes of an element of the inputs.
    pub element_bytes: i64,
    /// The operation writes dimension `order[k]` of `ofm` as dimension `k`.
    pub order: [usize; 3],
    /// Whether the OFM is NHCWB16.
    pub is_brick: bool,
}

impl Shapes {
    fn has_scalar(&self) -> bool {
        let is_scalar = |shape: &Hwc| shape.iter().all(|&size| size == 1);
        is_scalar(&self.ifm) || self.second.as_ref().is_some_and(is_scalar)
    }

    /// The larger input.
    fn largest_input(&self) -> Hwc {
        match self.second {
            Some(second) if volume(second) > volume(self.ifm) => second,
            _ => self.ifm,
        }
    }

    /// Whether either input is repeated along an axis.
    fn is_broadcast(&self, axis: usize) -> bool {
        let ifm2 = self.second.unwrap_or(self.ifm);
        self.ifm[axis].min(ifm2[axis]) < self.ofm[axis]
    }
}

/// The output block. Shapes that were seen before on this thread take one look-up.
pub fn choose(accelerator: &Accelerator, shapes: &Shapes) -> Hwc {
    thread_local! {
        /// The key contains only the product, because the choice depends on nothing else of an accelerator.
        static CACHE: RefCell<BlockCache<(Product, Shapes), Hwc>> = RefCell::default();
    }
    match accelerator.memory {
        BlockMemory::Banks { .. } => {
            let key = (accelerator.product, *shapes);
            // The number of elementwise shapes of a plan is not limited.
            CACHE
                .with_borrow_mut(|cache| cache.get_or(key, || choose_anew(accelerator, shapes)))
                .unwrap_or_else(|| choose_anew(accelerator, shapes))
        }
        // The computation is as fast as a look-up.
        BlockMemory::Apart { .. } => choose_anew(accelerator, shapes),
    }
}

/// As [`choose`]. Looks at a few hundred blocks.
fn choose_anew(accelerator: &Accelerator, shapes: &Shapes) -> Hwc {
    match accelerator.memory {
        BlockMemory::Banks {
            n_banks,
            n_end_banks,
            input_granule,
            ..
        } => {
            let n_banks = n_banks - n_end_banks - OUTPUT_BANKS;
            let inputs = InputBanks::new(shapes, n_banks, input_granule);
            largest_in_banks(accelerator, shapes, inputs)
        }
        BlockMemory::Apart {
            output_buffer_bytes,
            chain_buffer_bytes,
            ..
        } => {
            let buffer_bytes = [output_buffer_bytes, chain_buffer_bytes];
            block_in_buffers(accelerator, shapes, buffer_bytes)
        }
    }
}

/// The banks of SHRAM that hold blocks of the inputs.
struct InputBanks {
    n_banks: i64,
    /// Banks are allocated in multiples of this.
    granule: i64,
    /// Inputs that need banks of their own.
    n_inputs: i64,
    element_bytes: i64,
}

impl InputBanks {
    /// 32-bit elements are allocated in granules twice as large, and their second input has banks even if it
    /// is a scalar.
    fn new(shapes: &Shapes, n_banks: i64, granule: i64) -> Self {
        let is_wide = shapes.element_bytes >= INT32_BYTES;
        Self {
            n_banks,
            granule: if is_wide { 2 * granule } else { granule },
            n_inputs: if shapes.has_scalar() && !is_wide {
                1
            } else {
                2
            },
            element_bytes: shapes.element_bytes,
        }
    }

    /// Whether double-buffered blocks of each input fit: one is read while the other is computed.
    fn are_large_enough(&self, [height, width, depth]: Hwc) -> bool {
        let bytes = height * width * round_up(depth * self.element_bytes, ROW_BYTES);
        let n_banks = round_up(2 * ceil_div(bytes, BANK_BYTES), self.granule);
        n_banks * self.n_inputs <= self.n_banks
    }
}

/// The block with the largest volume, which needs the fewest blocks, in the order of [`Best`].
fn largest_in_banks(accelerator: &Accelerator, shapes: &Shapes, inputs: InputBanks) -> Hwc {
    let micro = accelerator.micro_blocks.elementwise[0];
    let end: Hwc = std::array::from_fn(|axis| {
        let most = shapes.ofm[axis].min(accelerator.max_block[axis]);
        round_up(most, micro[axis])
    });
    let sides = |axis: usize| (micro[axis]..=end[axis]).step_by(micro[axis] as usize);
    let input = shapes.largest_input();
    let mut best = Best::default();
    for depth in depths(micro[2], end[2], shapes.ofm[2]) {
        for height in sides(0) {
            let blocks = sides(1).map(|width| [height, width, depth]);
            for block in blocks.take_while(|&block| inputs.are_large_enough(block)) {
                let n_blocks = volume(shapes.ofm) as f32 / volume(block) as f32;
                // A block that holds more than half of the input is worth two.
                let holds_most = volume(input) < 2 * volume(block);
                let cost = if holds_most { n_blocks / 2.0 } else { n_blocks };
                let [height, width, _] = block;
                let is_small = height.max(width) <= SMALL_SIDE;
                best.consider(cost, area_repeats(input, [height, width]), is_small, block);
            }
        }
    }
    best.value.unwrap_or(micro)
}

/// The block that fills the output buffer, or the chaining buffer if an input is broadcast. It is as wide as needed to
/// divide the OFM evenly, and the rest of the buffer is used for depth or height. `buffer_bytes` are the sizes of the
/// output buffer and of the chaining buffer.
fn block_in_buffers(accelerator: &Accelerator, shapes: &Shapes, buffer_bytes: [i64; 2]) -> Hwc {
    let [output_bytes, chain_bytes] = buffer_bytes;
    let micro = least_padded(accelerator.micro_blocks.elementwise, shapes.ofm);
    let [granule, max_block] =
        units_and_limits_of(accelerator, micro, shapes.order, shapes.is_brick);
    let [unit_h, ..] = micro;
    let ofm: Hwc = std::array::from_fn(|axis| round_up(shapes.ofm[axis].max(1), granule[axis]));
    let limit: Hwc = std::array::from_fn(|axis| ofm[axis].min(max_block[axis]));
    let even = |axis: usize, most: i64| even_tile(ofm[axis], granule[axis], most);
    let brick_bytes = BRICK_CHANNELS * shapes.element_bytes;
    // Widths of one brick of channels: one row high in the output buffer, a micro block in the other.
    let output_width = output_bytes / shapes.element_bytes / BRICK_CHANNELS;
    let chain_width = chain_bytes / CHAIN_SLOTS / brick_bytes / unit_h;
    let needed_width = even(1, output_width.min(limit[1])).max(granule[1]);
    let height = even(0, limit[0]);
    let has_second = shapes.second.is_some() && !shapes.has_scalar();
    let [by_h, by_w, by_depth] =
        std::array::from_fn(|axis| has_second && shapes.is_broadcast(axis));
    let block = if by_depth {
        let depth = even(2, limit[2]);
        if by_h || by_w {
            [height, chain_width, depth]
        } else {
            let (width, times) = divided_width(chain_width, needed_width, limit[0] / unit_h);
            [unit_h * times, width, depth]
        }
    } else {
        let width = if by_h { chain_width } else { output_width };
        let (width, times) = divided_width(width, needed_width, limit[2] / BRICK_CHANNELS);
        [height, width, BRICK_CHANNELS * times]
    };
    std::array::from_fn(|axis| round_up(block[axis], granule[axis]))
}

/// The blocks of the OFM and of the IFM of a RESIZE on Ethos-U85 that enlarges the width by `n / d`: one row of one
/// brick, as wide as the part of the IFM in the chaining buffer allows. The block does not depend on the width of the
/// OFM.
pub fn resize_blocks(accelerator: &Accelerator, shapes: &Shapes, [n, d]: [u32; 2]) -> [Hwc; 2] {
    let micro = least_padded(accelerator.micro_blocks.elementwise, shapes.ofm);
    let chain_bytes = match accelerator.memory {
        BlockMemory::Apart {
            chain_buffer_bytes, ..
        } => chain_buffer_bytes,
        BlockMemory::Banks { .. } => 0,
    };
    let n_bricks = chain_bytes / CHAIN_SLOTS / (BRICK_CHANNELS * shapes.element_bytes);
    let enlarged = (n_bricks - 2).max(0) * i64::from(n) + 1;
    let max_width = ceil_div(enlarged, i64::from(d).max(1)).clamp(1, accelerator.max_block[1]);
    let step = micro[1].min(max_width);
    let width = max_width / step * step;
    let [unit_h, unit_w, _] = input_unit(accelerator, micro, BRICK_CHANNELS, shapes.element_bytes);
    let read = [unit_h, round_up(width, unit_w), BRICK_CHANNELS];
    [[1, width, BRICK_CHANNELS], read]
}

/// The largest equal tiles of `range` that are at most `most` wide, in whole granules; one tile more if `most`
/// does not divide the range.
fn even_tile(range: i64, granule: i64, most: i64) -> i64 {
    let is_even = most < 1 || range % most == 0;
    let tile = if is_even {
        most
    } else {
        round_up(range / (range / most + 1), granule)
    };
    tile.max(granule)
}

/// Divides a width that is several times the needed one by at most `most`. Returns the divided width and the divisor.
fn divided_width(width: i64, needed: i64, most: i64) -> (i64, i64) {
    let times = (width / needed).min(most).max(1);
    (width / times, times)
}

#[cfg(test)]
mod tests {
    use super::super::cache::MAX_CACHED_BLOCKS;
    use super::*;
    use crate::targets::ethos_u::accelerator::ACCELERATORS;
    use crate::targets::ethos_u::layer::UNCHANGED;

    /// More shapes than the cache holds, alternating between three accelerators.
    #[test]
    fn cached_blocks_are_those_that_a_search_finds() {
        let mut n_compared = 0;
        for depth in 1..=5000 {
            let ofm = [1 + depth % 61, 1 + depth % 89, depth];
            let scalar = [1; 3];
            let shapes = Shapes {
                ofm,
                ifm: ofm,
                second: [None, Some(ofm), Some(scalar)][depth as usize % 3],
                element_bytes: [1, 2, 4][depth as usize / 3 % 3],
                order: UNCHANGED,
                is_brick: true,
            };
            for accelerator in ACCELERATORS.iter() {
                let expected = choose_anew(accelerator, &shapes);
                for _ in 0..2 {
                    assert_eq!(choose(accelerator, &shapes), expected, "{shapes:?}");
                    n_compared += 1;
                }
            }
        }
        println!("{n_compared} blocks compared, at most {MAX_CACHED_BLOCKS} cached");
    }
}
