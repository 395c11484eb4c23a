//! Memory under ST Edge AI: weights in flash, which are counted, and activations in RAM, which its
//! planner places in a way that is not public.

use super::work::{Kind, kind};
use crate::graph::Graph;
use crate::graph::analysis::Analysis;

/// Bytes of activations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivationRam {
    pub value: u64,
    /// The largest tensor.
    pub lo: u64,
    /// With working buffers, and nothing written over its input.
    pub hi: u64,
}

/// Bytes of the constants that operators compute with, each once: weights and biases. Linear.
pub fn weights_flash_bytes(analysis: &Analysis) -> u64 {
    analysis.totals.weight_bytes
}

/// `None` where shapes are known only at run time. A greedy plan of all activations, and the row of
/// 16-bit values into which dense layers copy their inputs.
pub fn activation_ram_bytes(graph: &Graph, analysis: &Analysis) -> Option<ActivationRam> {
    let plan = analysis.memory_plan.as_ref()?;
    let largest = plan.placements.iter().map(|place| place.size_bytes).max();
    let nodes = graph.nodes.iter().zip(&analysis.costs);
    let rows = nodes
        .filter(|(node, _)| kind(node.operator.code.name()) == Kind::Dense)
        .map(|(_, cost)| cost.input_bytes.saturating_mul(2));
    let value = plan.arena_bytes.saturating_add(rows.max().unwrap_or(0));
    Some(ActivationRam {
        value,
        lo: largest.unwrap_or(0).min(value),
        hi: value.saturating_add(value / HI_MARGIN),
    })
}

/// Working buffers of convolutions take up to a seventh of the plan in ST's own figures.
const HI_MARGIN: u64 = 4;
