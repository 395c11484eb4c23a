//! The search over all blocks that fit, and the input and memory of a block.
//!
//! Reproduces `FindBlockConfig`, `TryBlockConfig`, `GetArchIFMBlockSize`, `FindUBlock` and the choice of the traversal
//! in Vela's `ethos_u55.cpp` and `ethos_u85.cpp`.

use super::units::units_and_limits;
use crate::targets::ethos_u::accelerator::{Accelerator, BlockMemory};
use crate::targets::ethos_u::geometry::{BRICK_CHANNELS, Hwc, IfmOfm, ceil_div, round_up, volume};
use crate::targets::ethos_u::layer::{Kind, Layer};
use crate::targets::ethos_u::program::{INT16_BYTES, INT32_BYTES};

/// Largest height and width of a part of a kernel that the multipliers apply at a time; larger kernels run as
/// several parts (`_subkernelMax` in Vela).
pub const SUB_KERNEL: i64 = 8;
/// Bytes of a bank of SHRAM, the memory inside an Ethos-U55 or U65.
pub const BANK_BYTES: i64 = 1024;
/// Banks reserved for outputs, before those of the IFM.
pub const OUTPUT_BANKS: i64 = 2;
/// Minimum number of banks reserved at the end of SHRAM for the lookup table of an activation.
const TABLE_BANKS: i64 = 1;
/// Bytes of a 32-bit accumulator.
const ACCUMULATOR_BYTES: i64 = 4;
/// Bytes of an accumulator for 16-bit inputs: of 40 bits on Ethos-U55 and U65, and of 48 bits, stored in 64, on Ethos-U85.
const WIDE_ACCUMULATOR_BYTES: [i64; 2] = [5, 8];
/// Maximum height and width of a block that may replace an equally good one: among small blocks, those that cover more
/// of the IFM are preferred.
pub const SMALL_SIDE: i64 = 4;

/// Whether accumulators have more than 32 bits: those of sums of products of 16-bit inputs, on Ethos-U55 and U65 of sums
/// over their channels, and on Ethos-U85 of elements of 64 bits.
pub fn has_wide_accumulators(accelerator: &Accelerator, layer: &Layer) -> bool {
    let sums = match layer.kind {
        Kind::ReduceSum => !accelerator.is_u85(),
        kind => !kind.is_pooling(),
    };
    let IfmOfm { ifm, ofm } = layer.element_bytes;
    ifm == INT16_BYTES && sums || accelerator.is_u85() && ifm.max(ofm) > INT32_BYTES
}

pub fn accumulator_bytes(accelerator: &Accelerator, layer: &Layer) -> i64 {
    if has_wide_accumulators(accelerator, layer) {
        WIDE_ACCUMULATOR_BYTES[usize::from(accelerator.is_u85())]
    } else {
        ACCUMULATOR_BYTES
    }
}

/// Whether the multipliers process all positions of the kernel before the next input channels (part-kernel-first
/// instead of depth-first traversal): the order that leaves fewer multipliers idle is used.
pub fn is_part_kernel(accelerator: &Accelerator, layer: &Layer) -> bool {
    let depth = layer.ifm[2];
    let k = layer.kernel[0] * layer.kernel[1];
    let share = |value: i64, to: i64| value as f64 / round_up(value, to) as f64;
    let is_wide = layer.element_bytes.ifm == INT16_BYTES;
    match (layer.kind, accelerator.is_u85()) {
        (Kind::Convolution | Kind::VectorProduct, true) => {
            let (at_once, least, whole) = if layer.is_sparse {
                (10, 4, 128)
            } else {
                (5, 2, 64)
            };
            let steps = k / at_once * at_once + (k % at_once).max(least);
            share(depth, 16) * k as f64 / steps as f64 >= share(depth, whole)
        }
        (Kind::Convolution, false) => {
            let [at_once, whole] = if is_wide { [2, 16] } else { [4, 32] };
            depth <= 8 || share(depth, 8) * share(k, at_once) >= share(depth, whole)
        }
        _ => false,
    }
}

/// The micro block, which the multipliers compute at a time, that pads the OFM least.
pub fn micro_block(accelerator: &Accelerator, layer: &Layer) -> Hwc {
    // Values of 32 and 64 bits that only move pass the accumulators as if they were values of 8 bits.
    let is_narrow = match layer.element_bytes.ifm {
        1 => true,
        INT16_BYTES => false,
        _ => !layer.kind.is_maximum(),
    };
    let blocks = &accelerator.micro_blocks;
    let candidates = match layer.kind {
        kind if kind.is_by_channel() => blocks.by_channel[usize::from(!is_narrow)],
        Kind::ReduceSum => blocks.sums,
        Kind::MatrixProduct => blocks.matrix_products,
        _ if has_elementwise_micro_blocks(accelerator, layer) => blocks.elementwise,
        _ => blocks.products,
    };
    least_padded(candidates, layer.ofm)
}

/// Whether a convolution multiplies 16-bit inputs with a kernel of one position on one of the smaller Ethos-U85, which
/// support more micro blocks for it: those of elementwise operations.
fn has_elementwise_micro_blocks(accelerator: &Accelerator, layer: &Layer) -> bool {
    let sums_channels = matches!(layer.kind, Kind::Convolution | Kind::VectorProduct);
    accelerator.is_u85()
        && accelerator.product.macs_per_cycle() <= 256
        && layer.element_bytes.ifm == INT16_BYTES
        && sums_channels
        && layer.kernel == [1; 2]
        && !is_part_kernel(accelerator, layer)
}

/// Input channels of a block in depth-first traversal on Ethos-U85, except those of sparse weights.
pub fn depth_first_channels(accelerator: &Accelerator, micro: Hwc) -> i64 {
    if accelerator.product.macs_per_cycle() <= 256 && micro[2] == BRICK_CHANNELS {
        32
    } else {
        64
    }
}

/// The micro block that pads a shape least; the first of equals.
pub fn least_padded(candidates: &[Hwc], shape: Hwc) -> Hwc {
    let volume = |micro: &Hwc| -> i64 {
        let whole = shape.iter().zip(micro);
        whole.map(|(&size, &step)| round_up(size, step)).product()
    };
    let least = candidates.iter().copied().min_by_key(volume);
    least.unwrap_or([1; 3])
}

/// Height and width of the IFM that an output block needs, in whole allocation units.
pub fn input_area(layer: &Layer, ofm: [i64; 2], unit: Hwc) -> [i64; 2] {
    std::array::from_fn(|axis| {
        let kernel = layer.dilated_kernel(axis).min(SUB_KERNEL);
        let rounding = layer.rounding();
        let extent = (ofm[axis] - 1) * layer.stride[axis] + kernel + rounding;
        round_up(ceil_div(extent, layer.upscale), unit[axis])
    })
}

/// The allocation unit of IFM blocks with this number of channels: height, width, channels.
pub fn input_unit(accelerator: &Accelerator, micro: Hwc, depth: i64, element_bytes: i64) -> Hwc {
    if !accelerator.is_u85() {
        return [micro[0], micro[1], 8];
    }
    let is_row = micro[0] == 1 && micro[1] == 4;
    // For channels of 16 bytes, of 32 bytes, and of more.
    let units: [[i64; 2]; 3] = match (accelerator.product.macs_per_cycle(), is_row) {
        (..=128, _) => [[1, 2], [1, 1], [1, 1]],
        (..=512, true) => [[1, 4], [1, 2], [1, 1]],
        (..=512, false) => [[2, 2], [1, 2], [1, 1]],
        (..=1024, true) => [[2, 4], [1, 4], [1, 2]],
        (..=1024, false) => [[2, 4], [2, 2], [1, 2]],
        (_, true) => [[4, 4], [2, 4], [1, 4]],
        (_, false) => [[4, 4], [2, 4], [2, 2]],
    };
    let (n_words, [height, width]) = match depth * element_bytes {
        ..=16 => (1, units[0]),
        17..=32 => (2, units[1]),
        _ => (4, units[2]),
    };
    // Ethos-U85 with 128 MACs has no unit of 4 words.
    let n_words = match accelerator.product.macs_per_cycle() {
        ..=128 => n_words.min(2),
        _ => n_words,
    };
    [height, width, n_words * 16 / element_bytes.max(1)]
}

fn block_fits(
    accelerator: &Accelerator,
    layer: &Layer,
    ofm: Hwc,
    ifm: Hwc,
    unit: Hwc,
    copies: i64,
) -> bool {
    match accelerator.memory {
        BlockMemory::Banks {
            n_banks,
            n_end_banks,
            input_granule,
            accumulator_granules,
        } => {
            let ifm_bytes = ifm[0] * ifm[1] * round_up(ifm[2] * layer.element_bytes.ifm, 8);
            // Inputs of 32 bits have banks in granules twice as large.
            let is_of_32_bits = layer.element_bytes.ifm >= INT32_BYTES;
            let input_granule = input_granule << u8::from(is_of_32_bits);
            let ifm_banks = round_up(ceil_div(ifm_bytes, BANK_BYTES) * 2, input_granule);
            let is_wide = has_wide_accumulators(accelerator, layer);
            let accumulator_granule = accumulator_granules[usize::from(is_wide)];
            let acc_bytes =
                ofm[0] * ofm[1] * round_up(ofm[2], 8) * accumulator_bytes(accelerator, layer);
            let acc_banks = round_up(ceil_div(acc_bytes, BANK_BYTES) * 2, accumulator_granule);
            let n_table_banks = if layer.has_table { TABLE_BANKS } else { 0 };
            OUTPUT_BANKS + ifm_banks + acc_banks <= n_banks - n_end_banks.max(n_table_banks)
        }
        BlockMemory::Apart {
            input_bytes,
            accumulator_bytes,
            ..
        } => {
            let depth = if layer.kind.is_by_channel() {
                ofm[2]
            } else {
                ifm[2].min(layer.ifm[2])
            };
            let bytes_each = self::accumulator_bytes(accelerator, layer);
            let ifm_bytes =
                ifm[0] * ifm[1] * round_up(depth, unit[2]) * copies * layer.element_bytes.ifm;
            let acc_bytes =
                ofm[0] * ofm[1] * round_up(ofm[2], BRICK_CHANNELS) * bytes_each * copies;
            ifm_bytes <= input_bytes && acc_bytes <= accumulator_bytes
        }
    }
}

/// Input channels that a block holds, for an operation that sums over them.
fn input_depth(accelerator: &Accelerator, layer: &Layer, micro: Hwc, is_part_kernel: bool) -> i64 {
    let is_wide = layer.element_bytes.ifm == INT16_BYTES;
    match (accelerator.is_u85(), is_part_kernel) {
        (true, true) => 16,
        (true, false) if layer.is_sparse && !is_wide => 128,
        (true, false) if layer.is_sparse => 64,
        (true, false) if layer.kind == Kind::ReduceSum => 64,
        (true, false) => depth_first_channels(accelerator, micro),
        (false, _) if is_wide => round_up(layer.ifm[2].min(16), 4),
        (false, true) => round_up(layer.ifm[2].min(16), 8),
        (false, false) => round_up(layer.ifm[2].min(32), 8),
    }
}

/// The block sizes that a search tries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// Every size that fits, as in the compiler.
    All,
    /// Sides of a micro block times a power of two: an approximation for plans with too many layers to try all sizes.
    Doubled,
}

impl Sizes {
    /// Sides from the `first` to the `end`.
    fn sides(self, first: i64, end: i64) -> impl Iterator<Item = i64> {
        let next = move |&size: &i64| {
            Some(match self {
                Sizes::All => size + first,
                Sizes::Doubled => size * 2,
            })
        };
        std::iter::successors(Some(first), next).take_while(move |&size| size <= end)
    }

    /// Depths of at most `end` in the same way.
    fn depths(self, micro: i64, end: i64, ofm_depth: i64) -> impl Iterator<Item = i64> {
        let mut least = 0;
        depths(micro, end, ofm_depth).filter(move |&depth| {
            let is_chosen = depth >= least;
            if is_chosen && self == Sizes::Doubled {
                least = 2 * depth;
            }
            is_chosen
        })
    }
}

/// The OFM and IFM block with the lowest cost, see [`Best`]. Sizes increase by `micro`, with depth as the outermost
/// loop; if a block does not fit, wider ones are skipped. Only `sizes` are tried. `copies` blocks must fit at the same
/// time.
pub fn search(
    accelerator: &Accelerator,
    layer: &Layer,
    micro: Hwc,
    is_part_kernel: bool,
    copies: i64,
    sizes: Sizes,
) -> Option<(Hwc, Hwc)> {
    let input_depth = input_depth(accelerator, layer, micro, is_part_kernel);
    let [least, most] = if accelerator.is_u85() {
        units_and_limits(accelerator, micro, layer)
    } else {
        [micro, accelerator.max_block]
    };
    let step: Hwc = std::array::from_fn(|axis| micro[axis].max(least[axis]));
    let end: Hwc = std::array::from_fn(|axis| {
        let size = layer.ofm[axis].min(most[axis]);
        round_up(size.max(least[axis]), micro[axis])
    });
    let mut best = Best::default();
    for depth in sizes.depths(micro[2], end[2], layer.ofm[2]) {
        let ifm_depth = if layer.kind.is_by_channel() {
            depth
        } else {
            input_depth
        };
        let unit = input_unit(accelerator, micro, ifm_depth, layer.element_bytes.ifm);
        for height in sizes.sides(step[0], end[0]) {
            for width in sizes.sides(step[1], end[1]) {
                let ofm = [height, width, depth];
                let [ifm_height, ifm_width] = input_area(layer, [height, width], unit);
                let ifm = [ifm_height, ifm_width, ifm_depth];
                let fitted = if layer.is_row() && micro[0] == 2 && !accelerator.is_u85() {
                    [height.min(layer.ofm[0]), width, depth]
                } else {
                    ofm
                };
                if !block_fits(accelerator, layer, fitted, ifm, unit, copies) {
                    break;
                }
                let is_held_whole = accelerator.is_u85();
                let depth = if is_held_whole {
                    round_up(ifm_depth, unit[2])
                } else {
                    ifm_depth
                };
                let cost = cost(accelerator, layer, [ofm, fitted, ifm], depth);
                let is_small = height.max(width) <= SMALL_SIDE || layer.kind == Kind::MatrixProduct;
                let repeats = area_repeats(layer.ifm, [ifm_height, ifm_width]);
                best.consider(cost, repeats, is_small, (ofm, ifm));
            }
        }
    }
    best.value
}

/// Depths of blocks up to `end`: multiples of the micro block, in whole bricks if the OFM is divided in depth.
pub fn depths(micro: i64, end: i64, ofm_depth: i64) -> impl Iterator<Item = i64> {
    let whole = move |depth: i64| {
        if depth < ofm_depth {
            round_up(depth, BRICK_CHANNELS)
        } else {
            depth
        }
    };
    let first = whole(micro.max(end.min(BRICK_CHANNELS)));
    let all = std::iter::successors(Some(first), move |&depth| Some(whole(depth + micro)));
    all.take_while(move |&depth| depth <= end)
}

/// The cheapest of the blocks considered so far. Among equally cheap ones the first is chosen, unless later ones are
/// small: then the small one that needs the fewest repeats to cover the IFM.
pub struct Best<T> {
    cost: f32,
    repeats: f32,
    pub value: Option<T>,
}

impl<T> Default for Best<T> {
    fn default() -> Self {
        Self {
            cost: f32::INFINITY,
            repeats: f32::INFINITY,
            value: None,
        }
    }
}

impl<T> Best<T> {
    /// `repeats` is the area of the IFM divided by the area that the block covers.
    pub fn consider(&mut self, cost: f32, repeats: f32, is_small: bool, value: T) {
        let is_cheaper = cost < self.cost;
        let is_as_cheap = cost == self.cost && repeats <= self.repeats && is_small;
        if !(is_cheaper || is_as_cheap) {
            return;
        }
        *self = Self {
            cost,
            repeats: if is_cheaper { f32::INFINITY } else { repeats },
            value: Some(value),
        };
    }
}

/// The area of the IFM divided by the part of it that `height` x `width` covers.
pub fn area_repeats(ifm: Hwc, [height, width]: [i64; 2]) -> f32 {
    let covered = ifm[0].min(height) * ifm[1].min(width);
    (ifm[0] * ifm[1]) as f32 / covered.max(1) as f32
}

/// The cost of an output block per element of the output: elements fetched, or number of blocks. It is halved if the
/// block covers more than half of the IFM, of which `held_depth` channels are in memory.
fn cost(
    accelerator: &Accelerator,
    layer: &Layer,
    [ofm, fitted, ifm]: [Hwc; 3],
    held_depth: i64,
) -> f32 {
    let cost = if counts_volume(accelerator, layer) {
        volume(layer.ofm) as f32 / volume(ofm) as f32
    } else {
        fetched_per_output(accelerator, layer, fitted, ifm)
    };
    if volume(layer.ifm) < ifm[0] * ifm[1] * held_depth * 2 {
        cost / 2.0
    } else {
        cost
    }
}

/// Whether the cost of a block is the number of blocks instead of the elements it fetches.
fn counts_volume(accelerator: &Accelerator, layer: &Layer) -> bool {
    let [height, width, _] = layer.ifm;
    let is_one_position = [layer.dilated_kernel(0), layer.dilated_kernel(1)] == [height, width]
        && layer.ofm[0] * layer.ofm[1] == 1;
    accelerator.is_u85()
        && (layer.kind == Kind::MatrixProduct || layer.kind.has_weights() && is_one_position)
}

/// Input and weight elements fetched per element of the output. Single precision and the order of the factors decide
/// between blocks that cost the same except for rounding.
fn fetched_per_output(accelerator: &Accelerator, layer: &Layer, ofm: Hwc, ifm: Hwc) -> f32 {
    let full: Hwc = std::array::from_fn(|axis| ceil_div(layer.ofm[axis], ofm[axis]));
    let blocks: [f32; 3] = std::array::from_fn(|axis| layer.ofm[axis] as f32 / ofm[axis] as f32);
    let mut weights = 0.0;
    if layer.kind.has_weights() || layer.kind == Kind::MatrixProduct {
        let kernel = layer.kernel[0] * layer.kernel[1];
        weights = (kernel * layer.ifm[2] * full[0] * full[1]) as f32;
        if layer.kind != Kind::Depthwise {
            weights *= blocks[2] * ofm[2] as f32;
        }
    }
    let n_parts = |axis: usize| ceil_div(layer.dilated_kernel(axis), SUB_KERNEL);
    let elements = (ifm[0] * ifm[1] * layer.ifm[2] * n_parts(0) * n_parts(1)) as f32;
    let mut input = if accelerator.is_u85() {
        elements * (blocks[1] * blocks[0])
    } else {
        elements * blocks[1] * blocks[0]
    };
    if !layer.kind.is_by_channel() {
        input *= full[2] as f32;
    }
    (input + weights) / layer.ofm.iter().product::<i64>() as f32
}
