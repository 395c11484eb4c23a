//! Checks latencies against the peak rates of the hardware.

use std::collections::BTreeSet;

use crate::diagnostic::{Diagnostic, Severity};
use crate::formats::tflite::BuiltinOptions;
use crate::formats::tflite::op_row::{Effect, ShapeRule};
use crate::graph::{Graph, Node};
use crate::target::{
    Metric, MetricEstimate, Network, Outcome, Target, TargetEstimate, UnavailableReason,
};

/// Lower bound in milliseconds of the time that a network takes on a target, without the operators that the target does
/// not run; `None` if the target states no peak rates. Peak rates are those of one thread.
pub fn floor_ms(target: &dyn Target, network: &Network) -> Option<f64> {
    let peak = target.peak()?;
    let mut is_run = vec![true; network.graph.nodes.len()];
    for operator in target.unsupported(network) {
        is_run[operator.node_idx] = false;
    }
    let graph = network.graph;
    let n_threads = f64::from(network.n_threads.get());
    let minimum = MinimumWork::new(network, &is_run, peak.bytes_per_value);
    let of_work = peak.floor_ms(minimum.macs, minimum.weight_bytes) / n_threads;
    let of_maps = if peak.map_bytes_per_s.is_finite() {
        peak.map_floor_ms(map_bytes(graph, &is_run, peak.bytes_per_value))
    } else {
        0.0
    };
    // Rounding may make a sum of parts slightly smaller.
    Some(of_work.max(of_maps) * (1.0 - 1e-6))
}

/// Multiply-accumulates and weight bytes of a network that no implementation can avoid.
struct MinimumWork {
    /// Multiply-accumulates, and the values in the windows of poolings.
    macs: f64,
    /// Bytes of the weights of operators that multiply, each constant counted once. Tables are left out, because only
    /// some of their rows are read.
    weight_bytes: f64,
}

impl MinimumWork {
    fn new(network: &Network, is_run: &[bool], bytes_per_value: Option<f64>) -> Self {
        let analysis = network.analysis;
        let (mut macs, mut parameters, mut weight_bytes) = (0.0, 0u64, 0u64);
        let costs = analysis
            .costs
            .iter()
            .zip(network.graph.nodes.iter())
            .zip(is_run);
        for ((cost, node), _) in costs.filter(|(_, is_run)| **is_run) {
            macs += cost.macs as f64 + pooled_values(network.graph, node);
            if cost.macs > 0 {
                parameters = parameters.saturating_add(cost.parameters);
                weight_bytes = weight_bytes.saturating_add(cost.weight_bytes);
            }
        }
        let totals = &analysis.totals;
        Self {
            macs,
            weight_bytes: match bytes_per_value {
                Some(bytes) => bytes * parameters.min(totals.parameters) as f64,
                None => weight_bytes.min(totals.weight_bytes) as f64,
            },
        }
    }
}

/// Number of values in all windows of a pooling.
fn pooled_values(graph: &Graph, node: &Node) -> f64 {
    let BuiltinOptions::Pool2D {
        filter_h, filter_w, ..
    } = node.operator.options
    else {
        return 0.0;
    };
    let tensor = |idx: Option<usize>| idx.map(|idx| graph.tensor(idx));
    let input = tensor(node.operator.inputs.first().copied().flatten());
    let output = tensor(node.operator.outputs.first().copied());
    let (Some(input), Some(output)) = (input, output) else {
        return 0.0;
    };
    let &[_, rows, columns, _] = input.shape.as_slice() else {
        return 0.0;
    };
    // With any padding, at least half of a window at an edge is inside of the input, and a quarter at a corner.
    let mean_taps = |filter: i32, size: i32| f64::from(filter.clamp(0, size.max(0))) / 2.0;
    let outputs = output.element_count().unwrap_or(0) as f64;
    match (filter_h, filter_w) {
        (1, 1) => 0.0,
        _ => outputs * mean_taps(filter_h, rows) * mean_taps(filter_w, columns),
    }
}

/// Bytes of the network's inputs that operators read completely, and of its outputs that they write completely. Views,
/// and operators that read only a part of their input, are left out.
fn map_bytes(graph: &Graph, is_run: &[bool], bytes_per_value: Option<f64>) -> f64 {
    let nodes = graph.nodes.iter().zip(is_run);
    let mut is_moved = vec![false; graph.subgraph.tensors.len()];
    for (node, _) in nodes.filter(|(_, is_run)| **is_run) {
        let operator = &node.operator;
        if reads_all(graph, node) {
            for &tensor_idx in operator.inputs.iter().flatten() {
                is_moved[tensor_idx] = true;
            }
        }
        let is_constant = |&tensor_idx: &usize| graph.is_constant(tensor_idx);
        if writes_all(node) && !operator.inputs.iter().flatten().all(is_constant) {
            for &tensor_idx in &operator.outputs {
                is_moved[tensor_idx] = true;
            }
        }
    }
    let ends: BTreeSet<usize> = (graph.subgraph.inputs.iter())
        .chain(&graph.subgraph.outputs)
        .copied()
        .collect();
    let moved = ends.into_iter().filter(|&tensor_idx| is_moved[tensor_idx]);
    let bytes = moved.filter_map(|tensor_idx| {
        let tensor = graph.tensor(tensor_idx);
        match bytes_per_value {
            Some(bytes) => Some(bytes * tensor.element_count()? as f64),
            None => Some(tensor.byte_len()? as f64),
        }
    });
    bytes.sum()
}

fn writes_all(node: &Node) -> bool {
    match node.operator.code.kind.row().effect {
        Effect::Computes | Effect::Converts | Effect::Moves => true,
        Effect::Renames | Effect::Views | Effect::Runs => false,
    }
}

fn reads_all(graph: &Graph, node: &Node) -> bool {
    let filter = || {
        let filter = node.operator.inputs.get(1).copied().flatten()?;
        graph.tensor(filter).shape.get(1..3)?.try_into().ok()
    };
    let options = &node.operator.options;
    let covers = |[filter_h, filter_w]: [i32; 2]| {
        options.sliding().is_some_and(|sliding| {
            let [_, stride_h, stride_w] = sliding.strides;
            stride_h <= filter_h && stride_w <= filter_w && sliding.dilations == [1; 3]
        })
    };
    match *options {
        BuiltinOptions::Pool2D {
            filter_h, filter_w, ..
        } => covers([filter_h, filter_w]),
        BuiltinOptions::Conv2D { .. } | BuiltinOptions::DepthwiseConv2D { .. } => {
            filter().is_some_and(covers)
        }
        _ => {
            use ShapeRule::{AlongLast, Best, Broadcast, Dense, Product, Reduce, Select};
            matches!(
                node.operator.code.kind.row().shape,
                AlongLast | Best | Broadcast | Dense | Product | Reduce | Select
            )
        }
    }
}

/// Compares the latency of an estimate with [`floor_ms`]. If the latency is below this bound and its interval reaches
/// the bound, it is raised to the bound. If the interval does not reach it, the model does not apply to this network,
/// and all estimates of the target except the arena are withdrawn.
pub fn check(target: &dyn Target, network: &Network, estimate: &mut TargetEstimate) {
    let Some(floor_ms) = floor_ms(target, network) else {
        return;
    };
    let is_latency = |metric| matches!(metric, Metric::Latency | Metric::NpuLatency);
    let mut of_latency = (estimate.metrics.iter_mut()).filter(|one| is_latency(one.metric));
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

/// Raises a latency to `floor_ms`, and its parts in proportion. Returns whether its interval reaches this bound.
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
    use crate::target::PeakRates;

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
            bytes_per_value: None,
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
