//! The fits of each target, in folders with the names of the engine's folders.

pub mod cortex_a;
pub mod cortex_m;
pub mod edge_tpu;
pub mod ethos_u;
pub mod gpu;
pub mod learned_accelerators;
