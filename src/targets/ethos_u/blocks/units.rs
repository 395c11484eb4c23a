//! The units of which a block consists, and its limits.

use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::geometry::{BRICK_CHANNELS, Hwc};
use crate::targets::ethos_u::layer::Layer;

/// Units and limits of the sides of a block on Ethos-U85, which writes dimension `order[k]` as dimension `k`: the
/// dimension that becomes channels has whole bricks in NHCWB16, and the limits follow the dimensions. Channels that are
/// written in reverse are divided into bricks.
pub fn units_and_limits(accelerator: &Accelerator, micro: Hwc, layer: &Layer) -> [Hwc; 2] {
    let [units, mut limits] =
        units_and_limits_of(accelerator, micro, layer.order, layer.is_brick.ofm);
    if layer.reversed == Some(2) {
        limits[2] = BRICK_CHANNELS;
    }
    [units, limits]
}

/// The same for an order of dimensions alone.
pub fn units_and_limits_of(
    accelerator: &Accelerator,
    micro: Hwc,
    order: [usize; 3],
    is_brick: bool,
) -> [Hwc; 2] {
    let mut units = [micro[0], micro[1], BRICK_CHANNELS];
    if let ([.., side @ (0 | 1)], true) = (order, is_brick) {
        units[side] = BRICK_CHANNELS;
    }
    let mut limits = accelerator.max_block;
    for (place, &dimension) in order.iter().enumerate() {
        limits[dimension] = accelerator.max_block[place];
    }
    [units, limits]
}
