//! Blocks of depthwise convolutions, pooling, sums over channels and transpositions on Ethos-U85: the largest area in
//! the proportions of the OFM, reduced until one more row of the IFM can be read ahead.
//!
//! Reproduces `AreaFit` and `FindDepthwiseConfig` of Vela's `ethos_u85.cpp`, as described under
//! "Blocks by area" in `docs/method/ethos-u.md`.

use super::search::{self, input_area, input_unit};
use super::units::units_and_limits;
use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::geometry::{BRICK_CHANNELS, Hwc, round_down, round_up, volume};
use crate::targets::ethos_u::layer::{Kind, Layer};
use crate::targets::ethos_u::program::INT32_BYTES;

/// Rounding to granules can stall the shrinking of a block. After this many attempts of unchanged size the
/// block shrinks by a fixed ratio. Both values are Vela's.
const MAX_STALLED_ATTEMPTS: usize = 25;
const STALLED_RATIO: f64 = 0.9;
/// Divisor of the penalties for unused input channels and for a depth other than the limit, relative to uncovered area
/// (Vela's).
const MINOR_DIVISOR: f64 = 10.0;
/// Input channels of a block of a sum over channels, for elements narrower than 32 bits.
const SUM_DEPTH: i64 = 64;
/// Axes of a block that can be cut: depth, height and width.
const N_AXES: usize = 3;

/// The blocks of output and input. `memory_bytes`: sizes of the memories for inputs and for accumulators. There are at
/// most depth / 16 candidates, each found in a few dozen attempts.
pub fn choose(
    accelerator: &Accelerator,
    layer: &Layer,
    micro: Hwc,
    memory_bytes: [i64; 2],
) -> Option<(Hwc, Hwc)> {
    let [input_bytes, accumulator_bytes] = memory_bytes;
    let [granule, max_block] = units_and_limits(accelerator, micro, layer);
    let element_bytes = layer.element_bytes.ifm.max(1);
    let held_depth = (layer.kind == Kind::ReduceSum).then_some(match layer.element_bytes.ifm {
        INT32_BYTES => SUM_DEPTH / 2,
        _ => SUM_DEPTH,
    });
    let ofm: Hwc = std::array::from_fn(|axis| round_up(layer.ofm[axis], granule[axis]));
    let fit = AreaFit {
        accelerator,
        layer,
        micro,
        granule,
        ofm,
        limit: std::array::from_fn(|axis| ofm[axis].min(max_block[axis])),
        max_inputs: input_bytes / element_bytes,
        held_depth,
        n_accumulators: accumulator_bytes / search::accumulator_bytes(accelerator, layer),
    };
    let block = fit.with_room_for_a_row(fit.best()?);
    Some((block, fit.input(block)))
}

struct AreaFit<'a> {
    accelerator: &'a Accelerator,
    layer: &'a Layer,
    micro: Hwc,
    /// Unit of the sides of a block.
    granule: Hwc,
    /// The OFM in whole granules.
    ofm: Hwc,
    /// Largest block.
    limit: Hwc,
    /// Elements of the IFM that its memory holds.
    max_inputs: i64,
    /// Input channels of a block, if they differ from its output channels.
    held_depth: Option<i64>,
    n_accumulators: i64,
}

/// A block with the ratio of available to needed memory: below 1 the block does not fit.
#[derive(Clone, Copy)]
struct Attempt {
    block: Hwc,
    accumulator_ratio: f64,
    input_ratio: f64,
}

impl Attempt {
    fn fits(&self) -> bool {
        self.accumulator_ratio.min(self.input_ratio) >= 1.0
    }
}

/// Upper limit of the accumulators of a block during the search at one depth.
#[derive(Clone, Copy)]
struct AccumulatorBudget {
    n_accumulators: i64,
    n_stalled: usize,
    last_block: Option<Hwc>,
}

impl AccumulatorBudget {
    /// The budget after an attempt that did not fit; `None` below `granule` accumulators.
    fn shrunk(self, failed: &Attempt, granule: i64) -> Option<Self> {
        let is_stalled = self.last_block.map(volume) == Some(volume(failed.block));
        let n_stalled = self.n_stalled + usize::from(is_stalled);
        let input_ratio = if is_stalled && n_stalled >= MAX_STALLED_ATTEMPTS {
            STALLED_RATIO
        } else {
            failed.input_ratio
        };
        // If only the input is too large, no block with more accumulators than this one can fit.
        let is_input_alone = input_ratio < 1.0 && failed.accumulator_ratio > 1.0;
        let in_use = if is_input_alone {
            self.n_accumulators.min(volume(failed.block))
        } else {
            self.n_accumulators
        };
        let ratio = input_ratio.min(failed.accumulator_ratio);
        let scaled = ((in_use / granule) as f64 * ratio) as i64 * granule;
        let n_accumulators = if scaled == in_use {
            in_use - granule
        } else {
            scaled
        };
        (n_accumulators >= granule).then_some(Self {
            n_accumulators,
            n_stalled,
            last_block: Some(failed.block),
        })
    }
}

impl AreaFit<'_> {
    fn input_unit(&self, depth: i64) -> Hwc {
        let element_bytes = self.layer.element_bytes.ifm;
        let depth = self.held_depth.unwrap_or(depth);
        input_unit(self.accelerator, self.micro, depth, element_bytes)
    }

    /// Accumulators of a micro block of one brick.
    fn accumulator_unit(&self) -> i64 {
        self.micro[0] * self.micro[1] * BRICK_CHANNELS
    }

    /// The block of the IFM that an output block needs.
    fn input(&self, ofm: Hwc) -> Hwc {
        let unit = self.input_unit(ofm[2]);
        let [height, width] = input_area(self.layer, [ofm[0], ofm[1]], unit);
        [
            height,
            width,
            round_up(self.held_depth.unwrap_or(ofm[2]), unit[2]),
        ]
    }

    fn covers_ofm(&self, block: Hwc) -> bool {
        block
            .iter()
            .zip(self.ofm)
            .all(|(&side, of_ofm)| side >= of_ofm)
    }

    /// The block with the smallest penalty among the largest blocks of each depth. The search ends at the first depth
    /// at which no block fits, or when the best block so far covers the OFM.
    fn best(&self) -> Option<Hwc> {
        // Blocks up to a depth equal to the number of multipliers are tried even if the accumulators do not allow them.
        let n_multipliers = i64::from(self.accelerator.product.macs_per_cycle());
        let max_depth = (self.n_accumulators / self.accumulator_unit()).max(n_multipliers);
        let n_depths = self.limit[2].min(max_depth) / BRICK_CHANNELS;
        let blocks = (1..=n_depths).map_while(|n| self.largest_of_depth(n * BRICK_CHANNELS));
        let mut best: Option<(f64, Hwc)> = None;
        for block in blocks {
            let penalty = self.penalty(block);
            if best.is_none_or(|(least, _)| penalty < least) {
                if self.covers_ofm(block) {
                    return Some(self.ofm);
                }
                best = Some((penalty, block));
            }
        }
        best.map(|(_, block)| block)
    }

    /// The largest block of this depth that fits.
    fn largest_of_depth(&self, depth: i64) -> Option<Hwc> {
        let mut budget = Some(AccumulatorBudget {
            n_accumulators: self.n_accumulators,
            n_stalled: 0,
            last_block: None,
        });
        while let Some(current) = budget {
            let attempt = self.attempt(current.n_accumulators / depth, depth);
            if attempt.fits() {
                return Some(attempt.block);
            }
            budget = current.shrunk(&attempt, self.accumulator_unit());
        }
        None
    }

    fn attempt(&self, area: i64, depth: i64) -> Attempt {
        let [height, width] = self.evenly_tiled_area(self.proportional(area as f64));
        let block = [height, width, depth];
        let unit = self.input_unit(depth);
        // A block never holds more than the whole IFM.
        let whole: Hwc = std::array::from_fn(|axis| round_up(self.layer.ifm[axis], unit[axis]));
        let n_inputs = volume(self.input(block)).min(volume(whole));
        Attempt {
            block,
            accumulator_ratio: self.n_accumulators as f64 / volume(block) as f64,
            input_ratio: self.max_inputs as f64 / n_inputs as f64,
        }
    }

    /// Height and width of this area in the proportions of the OFM, in whole granules.
    fn proportional(&self, area: f64) -> [i64; 2] {
        let aspect = self.ofm[0] as f64 / self.ofm[1] as f64;
        let width = (area / aspect).sqrt();
        let height = width * aspect;
        // A side below 1 becomes 1, and the other side shrinks by the same factor.
        let sides = match (height < 1.0, width < 1.0) {
            (true, _) => [1.0, width * height],
            (false, true) => [height * width, 1.0],
            (false, false) => [height, width],
        };
        std::array::from_fn(|axis| {
            let granule = self.granule[axis];
            round_down((sides[axis] as i64).max(granule), granule).min(self.limit[axis])
        })
    }

    /// The same area with a width that divides the OFM well.
    fn evenly_tiled_area(&self, [height, width]: [i64; 2]) -> [i64; 2] {
        let tiled = if width < self.ofm[1] {
            even_tile(self.ofm[1], self.granule[1], width)
        } else {
            width
        };
        let height = round_down(height * width / tiled, self.granule[0]);
        [height.max(self.granule[0]), tiled]
    }

    /// Measures how far a block is from covering the OFM in one plane, with small terms for a depth other than the
    /// limit and for unused input channels; 1 is best. For a 1x1 kernel the plane is width and depth, because its
    /// blocks share no input rows.
    fn penalty(&self, block: Hwc) -> f64 {
        let is_point = (0..2).all(|axis| self.layer.dilated_kernel(axis) == 1);
        let plane = |[height, width, depth]: Hwc| width * if is_point { depth } else { height };
        let beside_1 = |ratio: f64| (1.0 - ratio).abs();
        let uncovered = beside_1(plane(self.ofm) as f64 / plane(block) as f64);
        let unit = self.input_unit(block[2])[2];
        let n_unused = (unit - block[2] % unit) % unit;
        let unused = n_unused as f64 / unit as f64;
        let off_limit = beside_1(self.limit[2] as f64 / block[2] as f64);
        let minor = |term: f64| 1.0 + term / MINOR_DIVISOR;
        (1.0 + uncovered) * minor(off_limit) * minor(unused)
    }

    /// Reduces a block until the memory for inputs also has room for the next row, which is read while the block is
    /// computed. Axes that cover the OFM are reduced last, because that adds blocks.
    fn with_room_for_a_row(&self, mut block: Hwc) -> Hwc {
        for n_free_axes in 0..=N_AXES {
            while !self.has_room_for_a_row(block) {
                match self.shrunk_block(block, n_free_axes) {
                    Some(smaller) => block = smaller,
                    None => break,
                }
            }
        }
        block
    }

    fn has_room_for_a_row(&self, block: Hwc) -> bool {
        let [_, width, depth] = block;
        let row = self.input([self.granule[0], width, depth]);
        let free = self.max_inputs - volume(self.input(block));
        self.covers_ofm(block) || free >= volume(row)
    }

    /// A block smaller by one granule; `None` if no axis may be cut. Of depth, height and width the first
    /// `n_free_axes` may be cut even if they cover the OFM, all other ones only if they do not (depth: only
    /// if it exceeds the width).
    fn shrunk_block(&self, block: Hwc, n_free_axes: usize) -> Option<Hwc> {
        let [height, width, depth] = block;
        let unit = self.granule[2];
        let [depth_is_free, height_is_free, width_is_free] =
            std::array::from_fn(|axis| axis < n_free_axes);
        let may_cut_height = height != self.ofm[0] || height_is_free;
        let may_cut_depth = depth > width || depth_is_free;
        let may_cut_width = width != self.ofm[1] || width_is_free;
        let smaller = [
            (may_cut_height && height > self.granule[0])
                .then(|| [height - self.granule[0], width, depth]),
            (may_cut_depth && depth > unit).then(|| [height, width, depth - unit]),
            (may_cut_width && width > self.granule[1])
                .then(|| [height, width - self.granule[1], depth]),
        ];
        smaller.into_iter().flatten().next()
    }
}

/// The width, between about half of `most` and `most`, whose last tile of `range` is widest; `most` itself if it
/// divides the range.
fn even_tile(range: i64, granule: i64, most: i64) -> i64 {
    let last_tile = |tile: i64| match range % tile {
        0 => tile,
        rest => rest,
    };
    let even = round_up(range / (range / most + 1), granule).max(granule);
    let least = (even - granule * 2).max((even + 1) / 2).max(granule);
    if range % most == 0 {
        return most;
    }
    // If several are equal, the widest is chosen: `max_by_key` returns the last one.
    let n_smaller = ((most - least) / granule).max(0);
    let tiles = (0..=n_smaller).rev().map(|n| most - n * granule);
    tiles.max_by_key(|&tile| last_tile(tile)).unwrap_or(most)
}
