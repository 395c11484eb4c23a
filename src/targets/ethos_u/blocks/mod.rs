//! Block configurations: how the OFM of an operation is divided into blocks that fit the accelerator's internal memory,
//! and how much of the IFM each block needs.
//!
//! Reproduces `FindBlockConfig` of Vela's `ethos_u55.cpp` and `ethos_u85.cpp`, with three rules: `search` tries all
//! blocks that fit, `area_fit` finds the largest area for operations by channel on Ethos-U85, and [`elementwise`]
//! divides elementwise operations.

mod area_fit;
mod cache;
pub mod elementwise;
mod search;
mod units;

use std::cell::RefCell;

use self::cache::BlockCache;
use self::search::{Sizes, is_part_kernel, micro_block, search};
use super::accelerator::{Accelerator, BlockMemory};
use super::configuration::Product;
use super::geometry::{Hwc, ceil_div};
use super::layer::{Kind, Layer};

pub use self::search::{SUB_KERNEL, depth_first_channels, has_wide_accumulators};

/// Maximum number of different layers of a plan for which all blocks are searched, each in up to 0.2 ms. It is ten
/// times the number of any network in a wide collection, with the stripes of its cascades.
const MAX_SEARCHED: usize = 2048;

thread_local! {
    /// The key contains only the product, because the choice depends on nothing else of an accelerator.
    static CACHE: RefCell<BlockCache<(Product, Layer), Option<Block>>> = RefCell::default();
}

/// Makes a plan in which the blocks of up to `MAX_SEARCHED` different layers are searched. Returns whether the plan has
/// more layers; these get the best of a few blocks.
pub fn within_budget<T>(plan: impl FnOnce() -> T) -> (T, bool) {
    CACHE.with_borrow_mut(|cache| cache.begin(MAX_SEARCHED));
    let made = plan();
    (made, CACHE.with_borrow_mut(BlockCache::end))
}

/// The block configuration of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Block {
    /// Outputs of a block, which are accumulated together.
    pub ofm: Hwc,
    /// Inputs that the block needs.
    pub ifm: Hwc,
    /// Outputs that the multipliers compute in one step.
    pub micro: Hwc,
    /// Whether all positions of a kernel come before the next input channels.
    pub is_part_kernel: bool,
}

impl Block {
    /// How many times the weights are read: once for each block of the OFM in height and width.
    pub fn weight_reads(&self, layer: &Layer) -> i64 {
        ceil_div(layer.ofm[0], self.ofm[0]) * ceil_div(layer.ofm[1], self.ofm[1])
    }
}

/// The block configuration of an operation; `None` if no block fits. A layer that was seen before on this thread
/// takes one look-up.
pub fn choose(accelerator: &Accelerator, layer: &Layer) -> Option<Block> {
    let key = (accelerator.product, *layer);
    let searched = CACHE
        .with_borrow_mut(|cache| cache.get_or(key, || choose_anew(accelerator, layer, Sizes::All)));
    searched.unwrap_or_else(|| choose_anew(accelerator, layer, Sizes::Doubled))
}

/// As [`choose`]. Looks at a few hundred blocks, or at a few dozen of doubled sizes.
fn choose_anew(accelerator: &Accelerator, layer: &Layer, sizes: Sizes) -> Option<Block> {
    let is_part_kernel = is_part_kernel(accelerator, layer);
    let micro = micro_block(accelerator, layer);
    let fitted = match (accelerator.memory, layer.kind) {
        (
            BlockMemory::Apart {
                input_bytes,
                accumulator_bytes,
                ..
            },
            kind,
        ) if is_fitted_by_area(kind) => {
            area_fit::choose(accelerator, layer, micro, [input_bytes, accumulator_bytes])
        }
        // Two blocks at a time, so that one is read while the other is computed; one if two do not fit.
        (BlockMemory::Apart { .. }, _) => [2, 1]
            .into_iter()
            .find_map(|copies| search(accelerator, layer, micro, is_part_kernel, copies, sizes)),
        (BlockMemory::Banks { .. }, _) => {
            search(accelerator, layer, micro, is_part_kernel, 2, sizes)
        }
    };
    fitted.map(|(ofm, ifm)| Block {
        ofm,
        ifm,
        micro,
        is_part_kernel,
    })
}

/// Whether Ethos-U85 gives an operation the largest area that fits.
fn is_fitted_by_area(kind: Kind) -> bool {
    kind.is_maximum() || matches!(kind, Kind::Depthwise | Kind::Pooling | Kind::ReduceSum)
}

#[cfg(test)]
mod tests {
    use super::cache::MAX_CACHED_BLOCKS;
    use super::*;
    use crate::targets::ethos_u::accelerator::ACCELERATORS;
    use crate::targets::ethos_u::geometry::IfmOfm;
    use crate::targets::ethos_u::layer::UNCHANGED;

    fn layer(depth: i64) -> Layer {
        Layer {
            kind: Kind::Convolution,
            ifm: [14, 7, depth],
            ofm: [14, 7, 1 + depth % 97],
            kernel: [3, 1],
            stride: [1, 1],
            dilation: [1, 1],
            upscale: 1,
            is_sparse: false,
            n_chained_passes: 0,
            order: UNCHANGED,
            reversed: None,
            has_table: false,
            is_brick: IfmOfm::both(true),
            element_bytes: IfmOfm::both(1),
        }
    }

    /// More layers than the cache holds, alternating between three accelerators.
    #[test]
    fn cached_blocks_are_those_that_a_search_finds() {
        let mut n_compared = 0;
        for depth in 1..=3000 {
            let layer = layer(depth);
            for accelerator in ACCELERATORS.iter() {
                let expected = choose_anew(accelerator, &layer, Sizes::All);
                for _ in 0..2 {
                    assert_eq!(choose(accelerator, &layer), expected, "depth {depth}");
                    n_compared += 1;
                }
            }
        }
        println!("{n_compared} blocks compared, at most {MAX_CACHED_BLOCKS} cached");
    }

    #[test]
    fn a_plan_is_cut_by_its_own_layers_and_not_by_earlier_plans() {
        for accelerator in ACCELERATORS.iter() {
            let plan = |n_layers: usize| {
                let depths = (1..=n_layers as i64).chain(1..=100);
                within_budget(|| -> Vec<Option<Block>> {
                    depths
                        .map(|depth| choose(accelerator, &layer(depth)))
                        .collect()
                })
            };
            let (whole, hit_limit) = plan(MAX_SEARCHED);
            assert!(!hit_limit);
            for _ in 0..6 {
                let (blocks, hit_limit) = plan(MAX_SEARCHED + 100);
                assert!(hit_limit);
                assert_eq!(blocks[..MAX_SEARCHED], whole[..MAX_SEARCHED]);
                for (idx, block) in blocks[MAX_SEARCHED..][..100].iter().enumerate() {
                    let layer = layer((MAX_SEARCHED + idx + 1) as i64);
                    assert!(block.is_some(), "{layer:?}");
                    assert_eq!(*block, choose_anew(accelerator, &layer, Sizes::Doubled));
                }
            }
        }
    }
}
