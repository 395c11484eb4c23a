//! How Arm's compiler Vela runs a graph on its Ethos-U accelerators: blocks, cycles, encoded weights
//! and weight buffers, by rules that its published source states, without compiling anything.
//!
//! Not modelled: cascades, chains of operators, and what Vela makes of operators that it replaces by
//! several. A trained network corrects for them.

pub mod accelerator;
pub mod blocks;
pub mod cycles;
pub mod feature_maps;
pub mod layer;
pub mod plan;
pub mod schedule;
#[cfg(test)]
mod tests;
pub mod weights;
