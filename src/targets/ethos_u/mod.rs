//! How Arm's compiler Vela runs a graph on its Ethos-U accelerators, by rules that its published source
//! states, without compiling anything.
//!
//! [`lower`] makes a [`program`] of the graph: the operations that Vela makes of its operators, some thirty
//! of a SOFTMAX for example, and the feature maps between them. [`order`] says when they run and which run
//! as one, [`cascades`] which run a few rows at a time, [`blocks`] how they are cut up, [`cycles`] how long a
//! block takes, [`weight_buffers`] and [`weights`] which encoded weights are fetched ahead, [`staging`] which inputs are, [`live_ranges`] and
//! [`fast_storage`] what lies in SRAM. [`plan`] puts it together, by operator of the graph.
//!
//! What is left out, a trained network corrects for.

pub mod accelerator;
pub mod blocks;
pub mod cascades;
pub mod configuration;
pub mod cost;
pub mod cycles;
pub mod energy;
pub mod fast_storage;
pub mod features;
pub mod flow;
pub mod geometry;
pub mod layer;
pub mod live_ranges;
pub mod lower;
pub mod order;
pub mod plan;
pub mod program;
pub mod rule_errors;
pub mod scheduled_operation;
pub mod scheduling;
pub mod staging;
pub mod support;
mod target;
#[cfg(test)]
mod tests;
pub mod totals;
pub mod weight_buffers;
pub mod weights;

pub use features::features;
pub use target::{target, targets};

/// Name of the custom operator that Vela writes in the place of what it compiled.
pub const COMPILED: &str = "ethos-u";
