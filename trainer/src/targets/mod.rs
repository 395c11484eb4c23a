//! What is fitted for each target, in folders of the same names as in the engine.

pub mod cortex_a;
pub mod cortex_m;
pub mod edge_tpu;
pub mod ethos_u;
pub mod gpu;
