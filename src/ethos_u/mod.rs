//! How Arm's compiler Vela runs a graph on its Ethos-U accelerators: the order of execution, blocks,
//! cascades, cycles, encoded weights, weight buffers and the feature maps that lie in SRAM, by rules
//! that its published source states, without compiling anything.
//!
//! Not modelled: what Vela makes of operators that it replaces by several. A trained network corrects
//! for that.

pub mod accelerator;
pub mod blocks;
pub mod cascades;
pub mod cycles;
pub mod fast_storage;
pub mod feature_maps;
pub mod flow;
pub mod layer;
pub mod lower;
pub mod order;
pub mod plan;
pub mod program;
pub mod schedule;
pub mod step;
#[cfg(test)]
mod tests;
pub mod weights;
