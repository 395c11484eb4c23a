//! [`Graph`] → exact facts: what can be counted without running or learning anything.
//!
//! MACs follow the convention of [`macs`]. The arena is that of TensorFlow Lite Micro; [`MemoryPlan`] says what a real
//! arena holds in addition.

pub mod calls;
mod constants;
pub mod contradictions;
mod counts;
mod doubts;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod greedy;
mod histogram;
mod lifetimes;
pub mod macs;
pub mod memory_plan;
mod precision;
pub mod shape;
#[cfg(test)]
mod tests;
pub mod unplannable;
pub mod weights;
pub mod window;

pub use counts::{Cost, Totals};
pub use histogram::ByteHistogram;
pub use memory_plan::{MemoryPlan, Placement};
pub use precision::{Precision, precision};
pub use weights::WeightStats;

use std::collections::HashMap;
use std::sync::Arc;

use crate::diagnostic::Diagnostic;
use crate::graph::Graph;
use contradictions::Contradiction;
use counts::{Counter, SubgraphCounts};

/// Exact facts of one graph.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// Parallel to [`Graph::nodes`].
    pub costs: Vec<Cost>,
    pub totals: Totals,
    /// Absent if a shape is known only at run time (except for the first dimension, the batch), or if a limit is
    /// exceeded; a diagnostic then says which.
    pub memory_plan: Option<MemoryPlan>,
    /// Operators with a combination of operands that no kernel supports. If there is one, nothing that depends on
    /// shapes is known.
    pub contradictions: Vec<Contradiction>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Maximum number of weight units that are sampled in one graph, to bound the time. Operators beyond it have no
/// [`WeightStats`], and a diagnostic says so. Ordinary files of up to 500 layers stay below it.
pub const MAX_SAMPLES: usize = 500 * weights::MAX_SAMPLES_PER_TENSOR;

/// Counts everything [`Analysis`] holds. Linear in operators and (up to a limit) weight bytes; the memory plan, up to a
/// limit, takes the logarithm of their number for each activation.
pub fn analyze(graph: &Graph) -> Analysis {
    let counter = Counter::count(graph.model, graph.subgraph_idx);
    let counts = &counter.subgraphs()[&graph.subgraph_idx];
    let mut diagnostics = doubts::count_doubts(graph, counter.subgraphs());
    let (memory_plan, doubt) = match memory_plan::memory_plan(graph, &[]) {
        Ok(plan) => (Some(plan), None),
        Err(reason) => (None, Some(doubts::missing_plan(&reason))),
    };
    diagnostics.extend(doubt);
    diagnostics.extend(memory_plan.as_ref().and_then(doubts::unused_tensors));
    let contradictions = contradictions::contradictions(graph);
    diagnostics.extend(contradictions::doubt(graph, &contradictions));
    let mut sampler = Sampler {
        graph,
        known: HashMap::new(),
        samples_left: MAX_SAMPLES,
    };
    let costs = graph
        .nodes
        .iter()
        .map(|node| sampler.complete(counts, node.operator_idx))
        .collect();
    diagnostics.extend((sampler.samples_left == 0).then(doubts::unsampled_weights));
    let totals = counter.totals(graph.subgraph_idx);
    diagnostics.extend(doubts::overflowed_totals(&totals));
    Analysis {
        costs,
        totals,
        memory_plan,
        contradictions,
        diagnostics,
    }
}

/// Adds weight statistics, computed once for each constant.
struct Sampler<'g, 'm> {
    graph: &'g Graph<'m>,
    known: HashMap<weights::WeightStatsKey, Option<Arc<WeightStats>>>,
    samples_left: usize,
}

impl Sampler<'_, '_> {
    fn complete(&mut self, counts: &SubgraphCounts, operator_idx: usize) -> Cost {
        let stored_bytes = |tensor_idx: &&usize| self.graph.buffer(**tensor_idx).n_bytes();
        let largest = counts.parameters[operator_idx]
            .iter()
            .rev()
            .max_by_key(stored_bytes);
        let weights = largest.and_then(|&tensor_idx| self.stats(tensor_idx));
        Cost {
            weights,
            ..counts.costs[operator_idx].clone()
        }
    }

    fn stats(&mut self, tensor_idx: usize) -> Option<Arc<WeightStats>> {
        let buffer = self.graph.buffer(tensor_idx);
        let stored = weights::WeightStatsKey::new(buffer, self.graph.tensor(tensor_idx));
        if let Some(known) = self.known.get(&stored) {
            return known.as_ref().map(|stats| stats.resized(buffer.n_bytes()));
        }
        let n_samples = weights::n_samples(buffer);
        self.samples_left = self.samples_left.saturating_sub(n_samples);
        let stats = match self.samples_left {
            0 => None,
            _ => weights::weight_stats(buffer, self.graph.tensor(tensor_idx)).map(Arc::new),
        };
        self.known.insert(stored, stats.clone());
        stats
    }
}
