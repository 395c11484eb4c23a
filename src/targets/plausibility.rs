//! Latencies against what the hardware can do at most.

use std::collections::BTreeSet;

use super::{Metric, MetricEstimate, Network, Outcome, Target, TargetEstimate, UnavailableReason};
use crate::diagnostic::{Diagnostic, Severity};
use crate::formats::tflite::BuiltinOptions;
use crate::graph::kinds::{BROADCASTING, REDUCING, SHAPE_KEEPING};
use crate::graph::{Graph, Node};

/// What a target reaches at most, from its maker's documents.
#[derive(Clone, Copy, Debug)]
pub struct PeakRates {
    /// Multiply-accumulates in a cycle times the clock, for the narrowest numbers.
    pub macs_per_s: f64,
    /// Width times rate of the memory that holds the weights.
    pub weight_bytes_per_s: f64,
    /// Weights that can stay beside the arithmetic from one inference to the next.
    pub cached_bytes: f64,
    /// Of all memories together, reading and writing, for feature maps; infinite where caches may hold them.
    pub map_bytes_per_s: f64,
    /// Feature maps that caches may hold.
    pub cached_map_bytes: f64,
}

impl PeakRates {
    /// Milliseconds that so many MACs and weights take at least.
    pub fn floor_ms(&self, macs: f64, weight_bytes: f64) -> f64 {
        let streamed_bytes = (weight_bytes - self.cached_bytes).max(0.0);
        1e3 * (macs / self.macs_per_s).max(streamed_bytes / self.weight_bytes_per_s)
    }

    /// Milliseconds that the network's inputs and outputs take at least.
    fn map_floor_ms(&self, map_bytes: f64) -> f64 {
        1e3 * (map_bytes - self.cached_map_bytes).max(0.0) / self.map_bytes_per_s
    }
}

/// Milliseconds that the work of a network takes at least on a target, without the operators that it does
/// not run; none for a target that states no peak. A peak is of one thread.
pub fn floor_ms(target: &dyn Target, network: &Network) -> Option<f64> {
    let peak = target.peak()?;
    let mut is_run = vec![true; network.graph.nodes.len()];
    for operator in target.unsupported(network) {
        is_run[operator.node_idx] = false;
    }
    let costs = network.analysis.costs.iter().zip(&is_run);
    let macs = costs.filter(|(_, is_run)| **is_run);
    let macs: f64 = macs.map(|(cost, _)| cost.macs as f64).sum();
    let weight_bytes = network.analysis.totals.weight_bytes as f64;
    let n_threads = f64::from(network.n_threads.get());
    let of_work = peak.floor_ms(macs, weight_bytes) / n_threads;
    let of_maps = peak.map_floor_ms(map_bytes(network.graph, &is_run));
    // The sum of parts may be less by rounding.
    Some(of_work.max(of_maps) * (1.0 - 1e-6))
}

/// Bytes of the network's inputs and outputs that its operators read and write to the last: not those of views, and of
/// what takes a part of its input.
fn map_bytes(graph: &Graph, is_run: &[bool]) -> f64 {
    let nodes = graph.nodes.iter().zip(is_run);
    let mut is_moved = vec![false; graph.subgraph.tensors.len()];
    for (node, _) in nodes.filter(|(node, is_run)| **is_run && reads_all(node)) {
        let operands = node.operator.inputs.iter().flatten();
        for &tensor_idx in operands.chain(&node.operator.outputs) {
            is_moved[tensor_idx] = true;
        }
    }
    let ends: BTreeSet<usize> = (graph.subgraph.inputs.iter())
        .chain(&graph.subgraph.outputs)
        .copied()
        .collect();
    let moved = ends.into_iter().filter(|&tensor_idx| is_moved[tensor_idx]);
    let bytes = moved.filter_map(|tensor_idx| graph.tensor(tensor_idx).byte_len());
    bytes.map(|bytes| bytes as f64).sum()
}

fn reads_all(node: &Node) -> bool {
    let kind = node.operator.code.kind;
    match node.operator.options {
        BuiltinOptions::Pool2D {
            stride_h,
            stride_w,
            filter_h,
            filter_w,
            ..
        } => stride_h <= filter_h && stride_w <= filter_w,
        _ => [BROADCASTING, REDUCING, SHAPE_KEEPING]
            .iter()
            .any(|kinds| kinds.contains(&kind)),
    }
}

/// Holds the latency of an estimate against [`floor_ms`]. Where its interval reaches that far, it is raised
/// to it; where not, nothing is known of such a network, and no estimate of the target stands but that of
/// the arena.
pub fn check(target: &dyn Target, network: &Network, estimate: &mut TargetEstimate) {
    let Some(floor_ms) = floor_ms(target, network) else {
        return;
    };
    let mut of_latency = (estimate.metrics.iter_mut()).filter(|one| one.metric == Metric::Latency);
    let is_possible = of_latency.all(|one| raise(&mut one.outcome, floor_ms));
    if is_possible {
        return;
    }
    let depends = |one: &&mut MetricEstimate| one.metric != Metric::Arena;
    for one in estimate.metrics.iter_mut().filter(depends) {
        one.outcome = Outcome::unavailable(UnavailableReason::BeyondPeakRate);
    }
    estimate.diagnostics.push(Diagnostic {
        severity: Severity::Warning,
        code: "beyond-peak-rate",
        message: format!(
            "on {}, this work takes {floor_ms:.3} ms at the peak rate, and the estimate was less: it is withheld",
            target.id()
        ),
        operator_idx: None,
    });
}

/// Raises a latency to `floor_ms`, parts in proportion. Whether its interval reaches that far.
fn raise(outcome: &mut Outcome, floor_ms: f64) -> bool {
    let Outcome::Estimate {
        value,
        lo,
        hi,
        operators,
        ..
    } = outcome
    else {
        return true;
    };
    *lo = lo.map(|lo| lo.max(floor_ms.min(*value)));
    if *value >= floor_ms {
        return true;
    }
    if hi.is_none_or(|hi| hi < floor_ms) {
        return false;
    }
    let factor = floor_ms / *value;
    for part in operators.iter_mut().flatten() {
        *part *= factor;
    }
    *lo = lo.map(|_| floor_ms);
    *value = floor_ms;
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::{Provenance, ProvenanceKind};

    fn latency(value: f64, hi: Option<f64>) -> Outcome {
        Outcome::Estimate {
            value,
            lo: hi.map(|_| value / 2.0),
            hi,
            unit: "ms",
            provenance: Provenance::own(ProvenanceKind::Modelled, String::new()),
            expected_error_percent: None,
            operators: Some(vec![value / 4.0, 3.0 * value / 4.0]),
        }
    }

    #[test]
    fn floors_are_as_by_hand() {
        let peak = PeakRates {
            macs_per_s: 1e9,
            weight_bytes_per_s: 1e6,
            cached_bytes: 500.0,
            map_bytes_per_s: 1e3,
            cached_map_bytes: 10.0,
        };
        assert_eq!(peak.map_floor_ms(5.0), 0.0);
        assert_eq!(peak.map_floor_ms(12.0), 2.0);
        assert_eq!(peak.floor_ms(2e6, 0.0), 2.0);
        assert_eq!(peak.floor_ms(2e6, 500.0), 2.0);
        assert_eq!(peak.floor_ms(2e6, 5500.0), 5.0);
    }

    #[test]
    fn no_latency_is_less_than_the_floor() {
        let mut possible = latency(4.0, Some(8.0));
        assert!(raise(&mut possible, 3.0));
        let Outcome::Estimate { value, lo, .. } = possible else {
            panic!()
        };
        assert_eq!((value, lo), (4.0, Some(3.0)));
        let mut raised = latency(4.0, Some(8.0));
        assert!(raise(&mut raised, 6.0));
        let Outcome::Estimate {
            value,
            lo,
            operators,
            ..
        } = raised
        else {
            panic!()
        };
        assert_eq!((value, lo), (6.0, Some(6.0)));
        assert_eq!(operators, Some(vec![1.5, 4.5]));
        assert!(!raise(&mut latency(4.0, Some(8.0)), 9.0));
        assert!(!raise(&mut latency(4.0, None), 4.5));
    }
}
