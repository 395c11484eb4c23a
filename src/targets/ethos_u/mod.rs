//! What Arm's compiler Vela 5.2.0 plans for a graph on an Ethos-U, without compiling it.
//!
//! `docs/method/ethos-u.md` describes every rule that is reproduced here, names the function of Vela that it comes from,
//! and has the full glossary.
//!
//! In the order of the data: [`support`] says which operators fall back to the CPU; [`lower`] replaces operators by
//! a [`program`] of operations on feature maps; [`staging`] adds copies of inputs; [`order`] and [`flow`] say when
//! operations run and who reads what; [`execution`] makes a [`scheduled_operation`] of each, with its [`blocks`] and
//! [`cycles`]; [`cascades`] run some of them stripe by stripe; [`weight_buffers`] fetch encoded [`weights`] ahead;
//! [`live_ranges`] and [`fast_storage`] decide which feature maps are in SRAM; [`cost`] adds up cycles and bytes, and
//! [`plan`] puts everything together, and `plan_cache` stores the latest plans. [`accelerator`] and
//! [`configuration`] hold the figures of products and memories, [`geometry`] shapes and rounding, `index` and `map_list`
//! indices in little memory.
//!
//! | word | meaning |
//! |---|---|
//! | operator, operation | a node of the graph; what the accelerator executes for it |
//! | IFM, OFM, IFM2 | feature maps that an operation reads and writes, and its second input |
//! | brick | 16 channels of a position, as the layout NHCWB16 stores them |
//! | block | the part of an OFM that is computed at a time; the multipliers compute micro blocks |
//! | stripe, cascade | rows of an OFM; operations that run in turn, stripe by stripe |
//! | chain | operations fused into one command (Ethos-U85) |
//! | slice | the weights of some output channels, fetched together |
//! | slack | time and SRAM that an operation leaves for fetching the next one's weights |
//! | step | a position in the order of execution |
//! | alias | a feature map in the memory of another one |

pub mod accelerator;
pub mod blocks;
pub mod cascades;
pub mod configuration;
pub mod cost;
mod cpu_grouping;
pub mod cycles;
pub mod energy;
pub mod error_indicators;
pub mod errors;
pub mod execution;
pub mod fast_storage;
pub mod features;
pub mod flow;
pub mod geometry;
mod index;
pub mod layer;
pub mod live_ranges;
pub mod lower;
mod map_list;
pub mod order;
pub mod plan;
mod plan_cache;
pub mod program;
pub mod schedule;
pub mod scheduled_operation;
pub mod silicon;
pub mod staging;
pub mod support;
mod target;
mod task;
#[cfg(test)]
mod tests;
pub mod totals;
pub mod weight_buffers;
pub mod weights;

pub use features::features;
pub use target::{FAMILY, all_targets, target, target_beside, target_on, targets, usual_host};

/// What the targets of one network share.
pub use support::left_to_cpu;
