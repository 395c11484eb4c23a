//! How an operator's output is cut into blocks that fit the accelerator's own memory.

mod area_fit;
pub mod elementwise;

use super::accelerator::{Accelerator, BlockMemory};
use super::geometry::{BRICK_CHANNELS, Hwc, ceil_div, round_up};
use super::layer::{Kind, Layer};

/// Kernels are applied in parts of so many positions at most, in height and width.
pub(super) const SUB_KERNEL: i64 = 8;
const BANK_BYTES: i64 = 1024;
/// Banks in front of the inputs that hold outputs.
const OUTPUT_BANKS: i64 = 2;
/// Banks that a table of activations takes at least.
const TABLE_BANKS: i64 = 1;
const ACCUMULATOR_BYTES: i64 = 4;
/// Of a block that may be preferred to an equally good one.
const SMALL_SIDE: i64 = 4;

/// What is computed at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    pub ofm: Hwc,
    pub ifm: Hwc,
    pub micro: Hwc,
    /// Whether all of a kernel's positions are gone through before the next input channels.
    pub is_part_kernel: bool,
}

impl Block {
    /// How often the weights are read: once for each block in height and width.
    pub fn weight_reads(&self, layer: &Layer) -> i64 {
        ceil_div(layer.ofm[0], self.ofm[0]) * ceil_div(layer.ofm[1], self.ofm[1])
    }
}

fn is_part_kernel(accelerator: &Accelerator, layer: &Layer) -> bool {
    let depth = layer.ifm[2];
    let k = layer.kernel[0] * layer.kernel[1];
    let share = |value: i64, to: i64| value as f64 / round_up(value, to) as f64;
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
            depth <= 8 || share(depth, 8) * share(k, 4) >= share(depth, 32)
        }
        _ => false,
    }
}

fn micro_block(accelerator: &Accelerator, layer: &Layer) -> Hwc {
    let is_narrow = layer.element_bytes[0] == 1;
    let blocks = &accelerator.micro_blocks;
    let candidates = match layer.kind {
        kind if kind.is_by_channel() => blocks.by_channel[usize::from(!is_narrow)],
        Kind::ReduceSum => blocks.sums,
        Kind::MatrixProduct => blocks.matrix_products,
        _ => blocks.products,
    };
    least_padded(candidates, layer.ofm)
}

/// The one of `candidates` that fills a shape up least, the first of equals.
fn least_padded(candidates: &[Hwc], shape: Hwc) -> Hwc {
    let volume = |micro: &Hwc| -> i64 {
        let whole = shape.iter().zip(micro);
        whole.map(|(&size, &step)| round_up(size, step)).product()
    };
    let least = candidates.iter().copied().min_by_key(volume);
    least.unwrap_or([1; 3])
}

/// Height and width of the input that an output block needs, in whole units.
fn input_area(layer: &Layer, ofm: [i64; 2], unit: Hwc) -> [i64; 2] {
    std::array::from_fn(|axis| {
        let kernel = layer.dilated_kernel(axis).min(SUB_KERNEL);
        let seen = (ofm[axis] - 1) * layer.stride[axis] + kernel;
        round_up(ceil_div(seen, layer.upscale), unit[axis])
    })
}

/// Height, width and channels in which inputs are allocated.
fn input_unit(accelerator: &Accelerator, micro: Hwc, depth: i64, element_bytes: i64) -> Hwc {
    if !accelerator.is_u85() {
        return [micro[0], micro[1], 8];
    }
    let is_row = micro[0] == 1 && micro[1] == 4;
    // For channels that take 16 bytes, 32 and more.
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
        ..=32 => (2, units[1]),
        _ => (4, units[2]),
    };
    // Ethos-U85 with 128 MACs has no unit of 4 words.
    let n_words = match accelerator.product.macs_per_cycle() {
        ..=128 => n_words.min(2),
        _ => n_words,
    };
    [height, width, n_words * 16 / element_bytes.max(1)]
}

fn fits(
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
            accumulator_granule,
        } => {
            let ifm_bytes = ifm[0] * ifm[1] * round_up(ifm[2] * layer.element_bytes[0], 8);
            let ifm_banks = round_up(ceil_div(ifm_bytes, BANK_BYTES) * 2, input_granule);
            let acc_bytes = ofm[0] * ofm[1] * round_up(ofm[2], 8) * ACCUMULATOR_BYTES;
            let acc_banks = round_up(ceil_div(acc_bytes, BANK_BYTES) * 2, accumulator_granule);
            let n_table_banks = if layer.has_table { TABLE_BANKS } else { 0 };
            OUTPUT_BANKS + ifm_banks + acc_banks <= n_banks - n_end_banks.max(n_table_banks)
        }
        BlockMemory::Apart {
            input_bytes,
            accumulator_bytes,
            ..
        } => {
            let depth = match layer.kind.is_by_channel() {
                true => ofm[2],
                false => ifm[2].min(layer.ifm[2]),
            };
            let ifm_bytes =
                ifm[0] * ifm[1] * round_up(depth, unit[2]) * copies * layer.element_bytes[0];
            let acc_bytes =
                ofm[0] * ofm[1] * round_up(ofm[2], BRICK_CHANNELS) * ACCUMULATOR_BYTES * copies;
            ifm_bytes <= input_bytes && acc_bytes <= accumulator_bytes
        }
    }
}

/// Vela's choice: of the blocks that fit, the one for which least is fetched for each output
/// element. `None` where none fits. A few hundred candidates.
pub fn choose(accelerator: &Accelerator, layer: &Layer) -> Option<Block> {
    let is_part_kernel = is_part_kernel(accelerator, layer);
    let micro = micro_block(accelerator, layer);
    let fitted = match (accelerator.memory, layer.kind) {
        (
            BlockMemory::Apart {
                input_bytes,
                accumulator_bytes,
                ..
            },
            Kind::Depthwise | Kind::Pooling | Kind::MaxPooling,
        ) => area_fit::choose(accelerator, layer, micro, [input_bytes, accumulator_bytes]),
        // Two blocks in memory, so that one is read while the other is computed, or else one.
        (BlockMemory::Apart { .. }, _) => [2, 1]
            .into_iter()
            .find_map(|copies| search(accelerator, layer, micro, is_part_kernel, copies)),
        (BlockMemory::Banks { .. }, _) => search(accelerator, layer, micro, is_part_kernel, 2),
    };
    fitted.map(|(ofm, ifm)| Block {
        ofm,
        ifm,
        micro,
        is_part_kernel,
    })
}

/// Input channels that a block holds, of an operator that sums over them.
fn input_depth(accelerator: &Accelerator, layer: &Layer, is_part_kernel: bool) -> i64 {
    match (accelerator.is_u85(), is_part_kernel) {
        (true, true) => 16,
        (true, false) if layer.is_sparse => 128,
        (true, false) => 64,
        (false, true) => round_up(layer.ifm[2].min(16), 8),
        (false, false) => round_up(layer.ifm[2].min(32), 8),
    }
}

/// Goes through blocks in steps of `micro`, shallow ones first. A block that does not fit rules out
/// all wider ones.
fn search(
    accelerator: &Accelerator,
    layer: &Layer,
    micro: Hwc,
    is_part_kernel: bool,
    copies: i64,
) -> Option<(Hwc, Hwc)> {
    let input_depth = input_depth(accelerator, layer, is_part_kernel);
    let least = match accelerator.is_u85() {
        true => [micro[0], micro[1], BRICK_CHANNELS],
        false => micro,
    };
    let end: Hwc = std::array::from_fn(|axis| {
        let size = layer.ofm[axis].min(accelerator.max_block[axis]);
        round_up(size.max(least[axis]), micro[axis])
    });
    let cut_depth = |depth: i64| match depth < layer.ofm[2] {
        true => round_up(depth, BRICK_CHANNELS),
        false => depth,
    };
    let mut best = Best::default();
    let mut depth = cut_depth(micro[2].max(end[2].min(BRICK_CHANNELS)));
    while depth <= end[2] {
        let ifm_depth = match layer.kind.is_by_channel() {
            true => depth,
            false => input_depth,
        };
        let unit = input_unit(accelerator, micro, ifm_depth, layer.element_bytes[0]);
        for height in (micro[0]..=end[0]).step_by(micro[0] as usize) {
            for width in (micro[1]..=end[1]).step_by(micro[1] as usize) {
                let ofm = [height, width, depth];
                let [ifm_height, ifm_width] = input_area(layer, [height, width], unit);
                let ifm = [ifm_height, ifm_width, ifm_depth];
                let fitted = match layer.is_row() && micro[0] == 2 && !accelerator.is_u85() {
                    true => [height.min(layer.ofm[0]), width, depth],
                    false => ofm,
                };
                if !fits(accelerator, layer, fitted, ifm, unit, copies) {
                    break;
                }
                let depth = round_up(ifm_depth, unit[2]);
                best.consider(accelerator, layer, [ofm, fitted, ifm], depth);
            }
        }
        depth = cut_depth(depth + micro[2]);
    }
    best.blocks
}

struct Best {
    cost: f32,
    coverage: f32,
    /// Of output and input.
    blocks: Option<(Hwc, Hwc)>,
}

impl Default for Best {
    fn default() -> Self {
        Self {
            cost: f32::INFINITY,
            coverage: f32::INFINITY,
            blocks: None,
        }
    }
}

impl Best {
    /// Takes the cheaper block; of equals a small one that covers more of the input. Blocks of the output, of
    /// what is computed of it and of the input, of which so many channels are held.
    fn consider(
        &mut self,
        accelerator: &Accelerator,
        layer: &Layer,
        [ofm, fitted, ifm]: [Hwc; 3],
        held_depth: i64,
    ) {
        let elements = |shape: &Hwc| shape.iter().product::<i64>();
        let mut cost = match counts_volume(accelerator, layer) {
            true => elements(&layer.ofm) as f32 / elements(&ofm) as f32,
            false => fetched(accelerator, layer, fitted, ifm),
        };
        if elements(&layer.ifm) < ifm[0] * ifm[1] * held_depth * 2 {
            cost /= 2.0;
        }
        let covered = layer.ifm[0].min(ifm[0]) * layer.ifm[1].min(ifm[1]);
        let coverage = (layer.ifm[0] * layer.ifm[1]) as f32 / covered.max(1) as f32;
        let is_small =
            ofm[0] <= SMALL_SIDE && ofm[1] <= SMALL_SIDE || layer.kind == Kind::MatrixProduct;
        if cost < self.cost {
            self.coverage = f32::INFINITY;
        } else if cost == self.cost && coverage <= self.coverage && is_small {
            self.coverage = coverage;
        } else {
            return;
        }
        self.cost = cost;
        self.blocks = Some((ofm, ifm));
    }
}

/// Whether a larger block is cheaper whatever it fetches.
fn counts_volume(accelerator: &Accelerator, layer: &Layer) -> bool {
    let [height, width, _] = layer.ifm;
    let is_one_position = [layer.dilated_kernel(0), layer.dilated_kernel(1)] == [height, width]
        && layer.ofm[0] * layer.ofm[1] == 1;
    accelerator.is_u85()
        && (layer.kind == Kind::MatrixProduct || layer.kind.has_weights() && is_one_position)
}

/// Input and weight elements fetched for each element of the output. Where blocks cost the same but for
/// rounding, rounding decides: operations are in the compiler's order.
fn fetched(accelerator: &Accelerator, layer: &Layer, ofm: Hwc, ifm: Hwc) -> f32 {
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
    let mut input = match accelerator.is_u85() {
        true => elements * (blocks[1] * blocks[0]),
        false => elements * blocks[1] * blocks[0],
    };
    if !layer.kind.is_by_channel() {
        input *= full[2] as f32;
    }
    (input + weights) / layer.ofm.iter().product::<i64>() as f32
}
