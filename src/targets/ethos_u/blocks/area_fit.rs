//! Ethos-U85's choice for operators by channel: the block that covers most of the output's area, in
//! its proportions.

use super::{ACCUMULATOR_BYTES, input_area, input_unit};
use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::geometry::{BRICK_CHANNELS, Hwc, round_down, round_up};
use crate::targets::ethos_u::layer::Layer;

/// Attempts of equal size after which a block is made smaller whatever it is that does not fit.
const PATIENCE: i64 = 25;
/// How much smaller.
const IMPATIENT_RATIO: f64 = 0.9;

/// Blocks of output and input; bytes are those of the memories for inputs and for accumulators.
pub fn choose(
    accelerator: &Accelerator,
    layer: &Layer,
    micro: Hwc,
    [input_bytes, accumulator_bytes]: [i64; 2],
) -> Option<(Hwc, Hwc)> {
    let granule = [micro[0], micro[1], BRICK_CHANNELS];
    let ofm: Hwc = std::array::from_fn(|axis| round_up(layer.ofm[axis], granule[axis]));
    let fit = Fit {
        accelerator,
        layer,
        micro,
        granule,
        ofm,
        limit: std::array::from_fn(|axis| ofm[axis].min(accelerator.max_block[axis])),
        input_bytes,
        n_accumulators: accumulator_bytes / ACCUMULATOR_BYTES,
    };
    fit.best().map(|block| fit.with_next_row(block))
}

struct Fit<'a> {
    accelerator: &'a Accelerator,
    layer: &'a Layer,
    micro: Hwc,
    granule: Hwc,
    /// In whole granules.
    ofm: Hwc,
    limit: Hwc,
    input_bytes: i64,
    n_accumulators: i64,
}

impl Fit<'_> {
    fn input_unit(&self, depth: i64) -> Hwc {
        input_unit(
            self.accelerator,
            self.micro,
            depth,
            self.layer.element_bytes[0],
        )
    }

    /// The input that an output block needs.
    fn input(&self, ofm: Hwc) -> Hwc {
        let unit = self.input_unit(ofm[2]);
        let [height, width] = input_area(self.layer, [ofm[0], ofm[1]], unit);
        [height, width, round_up(ofm[2], unit[2])]
    }

    fn best(&self) -> Option<Hwc> {
        let least: i64 = self.granule.iter().product();
        // Blocks as deep as there are multipliers are looked at, whatever accumulators allow.
        let deepest = i64::from(self.accelerator.product.macs_per_cycle());
        let max_depth = (self.n_accumulators / least).max(deepest);
        let mut best = None;
        let mut best_metric = f64::INFINITY;
        for depth in
            (BRICK_CHANNELS..=self.limit[2].min(max_depth)).step_by(BRICK_CHANNELS as usize)
        {
            let Some(block) = self.of_depth(depth, least) else {
                break;
            };
            let metric = self.metric(block);
            if metric < best_metric {
                if (0..3).all(|axis| block[axis] >= self.ofm[axis]) {
                    return Some(self.ofm);
                }
                best = Some(block);
                best_metric = metric;
            }
        }
        best
    }

    /// The largest block of the output's proportions with this depth.
    fn of_depth(&self, depth: i64, least: i64) -> Option<Hwc> {
        let unit = self.input_unit(depth);
        let whole = |axis: usize| round_up(self.layer.ifm[axis], unit[axis]);
        let ifm_elements = whole(0) * whole(1) * whole(2);
        let mut n_fitting = self.n_accumulators;
        let mut before = None;
        let mut patience = PATIENCE;
        loop {
            let block = self.of_area(n_fitting / depth, depth);
            let accumulators: i64 = block.iter().product();
            let input_elements = self.input(block).iter().product::<i64>().min(ifm_elements);
            let accumulator_ratio = self.n_accumulators as f64 / accumulators as f64;
            let mut input_ratio = self.input_bytes as f64 / input_elements as f64;
            if accumulator_ratio >= 1.0 && input_ratio >= 1.0 {
                return Some(block);
            }
            if before == Some(accumulators) {
                patience -= 1;
                if patience <= 0 {
                    input_ratio = IMPATIENT_RATIO;
                }
            }
            before = Some(accumulators);
            if input_ratio < 1.0 && accumulator_ratio > 1.0 {
                n_fitting = n_fitting.min(accumulators);
            }
            let ratio = input_ratio.min(accumulator_ratio);
            let fewer = ((n_fitting / least) as f64 * ratio) as i64 * least;
            n_fitting = match fewer == n_fitting {
                true => n_fitting - least,
                false => fewer,
            };
            if n_fitting < least {
                return None;
            }
        }
    }

    /// Height and width in the output's proportions, for so many positions.
    fn of_area(&self, n_positions: i64, depth: i64) -> Hwc {
        let aspect = self.ofm[0] as f64 / self.ofm[1] as f64;
        let mut width = (n_positions as f64 / aspect).sqrt();
        let mut height = width * aspect;
        if height < 1.0 {
            width *= height;
            height = 1.0;
        } else if width < 1.0 {
            height *= width;
            width = 1.0;
        }
        let whole = |size: f64, axis: usize| {
            let granule = self.granule[axis];
            round_down((size as i64).max(granule), granule).min(self.limit[axis])
        };
        let (height, mut width) = (whole(height, 0), whole(width, 1));
        let area = width * height;
        if width < self.ofm[1] {
            width = best_tile(self.ofm[1], self.granule[1], width);
        }
        let height = round_down(area / width, self.granule[0]).max(self.granule[0]);
        [height, width, depth]
    }

    /// How far a block is from covering the output, 1 at least.
    fn metric(&self, [height, width, depth]: Hwc) -> f64 {
        let is_point = (0..2).all(|axis| self.layer.dilated_kernel(axis) == 1);
        let (area, covered) = match is_point {
            true => (self.ofm[1] * self.ofm[2], width * depth),
            false => (self.ofm[0] * self.ofm[1], width * height),
        };
        let unit = self.input_unit(depth)[2];
        let unused = (unit - depth % unit) % unit;
        let waste = 1.0 + unused as f64 / unit as f64 / 10.0;
        let fit = 1.0 + (1.0 - self.limit[2] as f64 / depth as f64).abs() / 10.0;
        let coverage = 1.0 + (1.0 - area as f64 / covered as f64).abs();
        coverage * fit * waste
    }

    /// Makes room for the next row of the input where more than one block runs. With its input.
    fn with_next_row(&self, mut block: Hwc) -> (Hwc, Hwc) {
        // Bits of the dimensions that may be cut although they cover the output's: depth, height,
        // width.
        let mut forced = 0b000;
        loop {
            let input = self.input(block);
            let [height, width, depth] = block;
            let row = self.input([self.granule[0], width, depth]);
            let free = self.input_bytes - input.iter().product::<i64>();
            let is_whole = (0..3).all(|axis| block[axis] >= self.ofm[axis]);
            if is_whole || free >= row.iter().product() {
                return (block, input);
            }
            let unit = self.input_unit(depth)[2];
            let may_cut = |bit: i32| forced & bit != 0;
            if (height != self.ofm[0] || may_cut(0b010)) && height > self.granule[0] {
                block[0] -= self.granule[0];
            } else if (depth > width || may_cut(0b001)) && depth > unit {
                block[2] -= unit;
            } else if (width != self.ofm[1] || may_cut(0b100)) && width > self.granule[1] {
                block[1] -= self.granule[1];
            } else if forced != 0b111 {
                forced = forced << 1 | 1;
            } else if depth > self.granule[2] {
                block[2] = (depth / 2).max(self.granule[2]);
            } else {
                return (block, input);
            }
        }
    }
}

/// Of the tiles up to `tile`, one that leaves most for the last.
fn best_tile(range: i64, granule: i64, tile: i64) -> i64 {
    if range % tile == 0 {
        return tile;
    }
    let even = round_up(range / (range / tile + 1), granule).max(granule);
    let first = (even - granule * 2).max((even + 1) / 2).max(granule);
    let (mut best, mut best_rest) = (tile, range % tile);
    let mut size = tile;
    while size >= first {
        let rest = match range % size {
            0 => size,
            rest => rest,
        };
        if rest > best_rest {
            (best, best_rest) = (size, rest);
        }
        size -= granule;
    }
    best
}
