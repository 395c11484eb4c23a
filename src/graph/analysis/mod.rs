//! [`Graph`] → exact facts: what can be counted without running or learning anything.
//!
//! MACs follow the convention of [`macs`]; the arena is that of TensorFlow Lite Micro, see
//! [`MemoryPlan`] for what a real one holds besides.

pub mod calls;
mod constants;
pub mod contradictions;
mod counts;
mod doubts;
#[cfg(test)]
pub(crate) mod fixtures;
pub mod greedy;
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

pub use precision::{Precision, precision};

use std::collections::HashMap;
use std::ops::RangeInclusive;
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
    /// Absent where a shape is known only at run time, the first dimension of each (the batch)
    /// excepted, and where a limit is exceeded; a diagnostic then says which.
    pub memory_plan: Option<MemoryPlan>,
    /// Operators whose operands no kernel takes together: nothing that depends on shapes is known.
    pub contradictions: Vec<Contradiction>,
    pub diagnostics: Vec<Diagnostic>,
}

/// What one operator does for one inference, subgraphs that it runs included.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cost {
    /// Multiply-accumulates, see [`macs`]. Of the two subgraphs of an `IF` the costlier one, of
    /// a `WHILE` condition and body once; 0 with a diagnostic where unknown.
    pub macs: u64,
    /// Constant values that the operator computes with, as many as the file stores; shapes,
    /// axes, paddings and index arithmetic excluded. Constants that reach it through `DEQUANTIZE` or
    /// `DENSIFY` are its parameters, not those of the operator that unpacks them.
    pub parameters: u64,
    /// Bytes of those constants as the file stores them.
    pub weight_bytes: u64,
    /// Bytes of activations read, each tensor once. Constants, unpacked ones too, are none.
    pub input_bytes: u64,
    /// Bytes of activations written.
    pub output_bytes: u64,
    /// Values of the largest constant; absent where the operator has none.
    pub weights: Option<WeightStats>,
}

/// How the values of a weight tensor are distributed: compilers compress them.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightStats {
    /// Standard deviation in stored units (int8 steps), or in real units for floats.
    pub std: f32,
    /// Share of values equal to the zero point, 0 to 1.
    pub zero_share: f32,
    /// Entropy of the stored bytes' histogram, 0 to 8 bits per byte.
    pub entropy_bits: f32,
    pub histogram: Arc<ByteHistogram>,
}

/// How often each byte is stored in a constant.
#[derive(Clone, Debug)]
pub struct ByteHistogram {
    /// Of a sample where the constant is large. Parts of a constant, and constants of another zero point in the same
    /// buffer, share them: 2 kB.
    pub counts: Arc<[u64; 256]>,
    /// The byte that stands for 0.
    pub zero: u8,
    /// Whether bytes are in two's complement.
    pub is_signed: bool,
    /// Bytes of the whole constant.
    pub n_bytes: usize,
}

impl ByteHistogram {
    /// Of a constant of another size whose values have the same distribution.
    pub fn resized(this: &Arc<Self>, n_bytes: u64) -> Arc<Self> {
        let n_bytes = usize::try_from(n_bytes).unwrap_or(usize::MAX);
        match this.n_bytes == n_bytes {
            true => this.clone(),
            false => Arc::new(Self {
                n_bytes,
                ..this.as_ref().clone()
            }),
        }
    }
}

impl PartialEq for ByteHistogram {
    fn eq(&self, other: &Self) -> bool {
        let rest = |of: &Self| (of.zero, of.is_signed, of.n_bytes);
        if rest(self) != rest(other) || Arc::ptr_eq(&self.counts, &other.counts) {
            return rest(self) == rest(other);
        }
        let pairs = self.counts.iter().zip(other.counts.iter());
        // Number by number: WebAssembly compares memory byte by byte, and histograms are compared at every layer.
        let differs = pairs.fold(0, |differs, (one, other)| differs | (one ^ other));
        differs == 0
    }
}

/// Sums over the graph and the subgraphs that it runs. They stop at the largest number instead
/// of overflowing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Totals {
    pub macs: u64,
    /// Each constant tensor once, however many operators read it.
    pub parameters: u64,
    /// Each buffer once, however many tensors share it.
    pub weight_bytes: u64,
}

/// Activations laid out in one arena as the TensorFlow Lite Micro greedy planner does, in the
/// file's order of operators, offsets that a compiler prescribes in the file respected.
///
/// A real arena holds more: working buffers that kernels ask for (which depend on the kernel
/// library), and its persistent part (variables, and the interpreter's and kernels' own
/// structures).
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryPlan {
    /// Bytes of the arena's activation part (its head): the highest end of any tensor.
    pub arena_bytes: u64,
    /// First node at which the most activation bytes are alive; absent in an empty graph.
    pub peak_node_idx: Option<usize>,
    /// Activation bytes alive while each node runs, each tensor rounded up to the arena's
    /// alignment of 16 bytes, parallel to [`Graph::nodes`].
    pub live_bytes: Vec<u64>,
    /// In the order of the file. Tensors of all subgraphs have a place.
    pub placements: Vec<Placement>,
}

/// One tensor's place in the arena.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    pub subgraph_idx: usize,
    pub tensor_idx: usize,
    pub offset_bytes: u64,
    pub size_bytes: u64,
    /// First and last node of the graph while which the tensor is needed; absent where no
    /// operator needs it (its place is reserved nevertheless).
    pub nodes: Option<RangeInclusive<usize>>,
}

/// Weight units looked at in one graph, a bound on time: beyond it operators have no
/// [`WeightStats`], and a diagnostic says so. Ordinary files of up to 500 layers stay below.
pub const MAX_SAMPLES: usize = 500 * weights::MAX_SAMPLES_PER_TENSOR;

/// Counts everything [`Analysis`] holds. Linear in operators and (up to a limit) weight bytes;
/// the memory plan is quadratic in activations (up to a limit).
pub fn analyze(graph: &Graph) -> Analysis {
    let counter = Counter::count(graph.model, graph.subgraph_idx);
    let counts = &counter.subgraphs()[&graph.subgraph_idx];
    let mut diagnostics = doubts::of_counts(graph, counter.subgraphs());
    let (memory_plan, doubt) = match memory_plan::memory_plan(graph, &[]) {
        Ok(plan) => (Some(plan), None),
        Err(reason) => (None, Some(doubts::of_missing_plan(&reason))),
    };
    diagnostics.extend(doubt);
    diagnostics.extend(memory_plan.as_ref().and_then(doubts::of_plan));
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
    diagnostics.extend((sampler.samples_left == 0).then(doubts::of_unsampled_weights));
    Analysis {
        costs,
        totals: counter.totals(graph.subgraph_idx),
        memory_plan,
        contradictions,
        diagnostics,
    }
}

/// Adds weight statistics, each constant's once.
struct Sampler<'g, 'm> {
    graph: &'g Graph<'m>,
    known: HashMap<weights::Stored, Option<WeightStats>>,
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

    fn stats(&mut self, tensor_idx: usize) -> Option<WeightStats> {
        let buffer = self.graph.buffer(tensor_idx);
        let stored = weights::Stored::of(buffer, self.graph.tensor(tensor_idx));
        if let Some(known) = self.known.get(&stored) {
            let stats = known.clone()?;
            return Some(WeightStats {
                histogram: ByteHistogram::resized(&stats.histogram, buffer.n_bytes()),
                ..stats
            });
        }
        let n_samples = weights::n_samples(buffer);
        self.samples_left = self.samples_left.saturating_sub(n_samples);
        let stats = match self.samples_left {
            0 => None,
            _ => weights::weight_stats(buffer, self.graph.tensor(tensor_idx)),
        };
        self.known.insert(stored, stats.clone());
        stats
    }
}
