//! Activation RAM under ST Edge AI Core (Cube.AI).
//!
//! The tool's planner is not public. Its rules were read from what it publishes: the reports that it
//! generates beside a network list every buffer with its size and offset, and ST's model zoo lists the
//! RAM of whole networks. `steps` says which buffers a program has, `plan` how they share memory.

mod plan;
mod steps;

use crate::graph::Graph;
use crate::graph::analysis::Analysis;

/// Bytes of activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivationRam {
    pub value: u64,
    /// Nine of ten of ST's own figures lie between this and [`Self::hi`].
    pub lo: u64,
    pub hi: u64,
}

/// ST's own figures over ours: nine of ten of those that `tests/mcu.rs` lists lie between these. Planners
/// of some releases overlap fewer buffers, so that the interval reaches up.
const LO_FACTOR: f64 = 0.9;
const HI_FACTOR: f64 = 1.5;

/// `None` where shapes are known only at run time. Linear in operators times the bits of a size.
pub fn activation_ram_bytes(graph: &Graph, analysis: &Analysis) -> Option<ActivationRam> {
    analysis.memory_plan.as_ref()?;
    let value = plan::peak_bytes(&steps::of(graph)?);
    Some(ActivationRam {
        value,
        lo: (value as f64 * LO_FACTOR) as u64,
        hi: (value as f64 * HI_FACTOR).ceil() as u64,
    })
}
