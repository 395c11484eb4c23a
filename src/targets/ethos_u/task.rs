//! The input of a plan, and its result.

use super::accelerator::Accelerator;
use super::program::Program;
use crate::learned::features::PlannedOperator;

/// Everything that determines a plan.
#[derive(Clone, PartialEq)]
pub struct Task {
    pub accelerator: Accelerator,
    pub program: Program,
    /// Number of nodes of the graph.
    pub n_nodes: usize,
    pub n_tensors: usize,
}

/// A plan, and whether limits affected it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// As in [`plan`](super::plan::plan).
    pub operators: Vec<PlannedOperator>,
    /// Number of times that the CPU starts the NPU: sequences of commands without an operation of the CPU between them.
    pub n_starts: usize,
    /// Whether a limit left operators or parts unchanged, see [`Program::hit_limit`], or restricted the search to a few
    /// block sizes, see [`within_budget`](super::blocks::within_budget).
    pub hit_limit: bool,
}
