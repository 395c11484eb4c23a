//! The units of which a block consists, and its limits.

use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::geometry::{BRICK_CHANNELS, Hwc};

/// Units and limits of the sides of a block on Ethos-U85, which writes dimension `order[k]` as dimension `k`: the
/// dimension that becomes channels has whole bricks in NHCWB16, and the limits follow the dimensions.
pub fn units_and_limits(
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
