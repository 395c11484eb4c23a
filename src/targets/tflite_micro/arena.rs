//! What `AllocateTensors` needs, or why it fails.

use std::collections::BTreeSet;

use super::persistent::{Pointers, persistent_bytes};
use super::scratch::{Kernels, scratch};
use super::support::{Refused, refused};
use crate::diagnostic::some_of;
use crate::graph::Graph;
use crate::graph::analysis::Analysis;
use crate::graph::analysis::memory_plan::memory_plan;
use crate::graph::analysis::unplannable::Unplannable;
use crate::graph::shapes::inference::COMPUTED_SHAPES;
use crate::target::UnavailableReason;
use crate::target::countable::contradicting_shapes;

/// Bytes of the whole arena: activations and working buffers as the planner places them, and the
/// persistent part. Quadratic in activations, up to a limit.
pub fn arena_bytes(
    graph: &Graph,
    kernels: Kernels,
    pointers: Pointers,
) -> Result<u64, Unplannable> {
    let buffers = scratch(graph, kernels);
    let plan = memory_plan(graph, &buffers)?;
    let persistent = persistent_bytes(graph.model, buffers.len(), pointers);
    plan.arena_bytes
        .checked_add(persistent)
        .ok_or(Unplannable::Overflow)
}

/// What `AllocateTensors` needs on a microcontroller with CMSIS-NN, or why it fails. As [`arena_bytes`].
pub fn arena_or_reason(graph: &Graph, analysis: &Analysis) -> Result<u64, UnavailableReason> {
    if let Some(reason) = allocation_obstacle(graph, analysis, &refused(graph.model)) {
        return Err(reason);
    }
    arena_bytes(graph, Kernels::CmsisNnDsp, Pointers::Bits32)
        .map_err(|_| UnavailableReason::ShapeAtRunTime)
}

/// Why TensorFlow Lite Micro does not run a file: it has no operators, it does not store all shapes, or no kernel runs
/// `refused`.
pub fn obstacle(graph: &Graph, refused: &[Refused]) -> Option<UnavailableReason> {
    if graph.nodes.is_empty() {
        return Some(UnavailableReason::NoOperators);
    }
    if !refused.is_empty() {
        return Some(refusal(refused));
    }
    let diagnostics = &graph.model.diagnostics;
    let is_computed = diagnostics.iter().any(|one| one.code == COMPUTED_SHAPES);
    is_computed.then(|| UnavailableReason::OfTarget {
        code: "computed-shapes",
        words: "TensorFlow Lite Micro needs a file that stores the shape of every tensor".into(),
    })
}

/// Why `AllocateTensors` fails: an [`obstacle`], or operands that contradict each other.
pub fn allocation_obstacle(
    graph: &Graph,
    analysis: &Analysis,
    refused: &[Refused],
) -> Option<UnavailableReason> {
    obstacle(graph, refused).or_else(|| contradicting_shapes(graph, analysis))
}

fn refusal(refused: &[Refused]) -> UnavailableReason {
    let words: BTreeSet<String> = refused.iter().map(Refused::to_string).collect();
    UnavailableReason::OfTarget {
        code: "unsupported-operators",
        words: format!(
            "TensorFlow Lite Micro does not run {}",
            some_of(words.iter().map(String::as_str), "; ")
        ),
    }
}
