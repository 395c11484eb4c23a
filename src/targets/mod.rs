//! The hardware that costs are estimated for: one folder each.

pub mod cortex_a;
pub mod edge_tpu;
pub mod ethos_u;
