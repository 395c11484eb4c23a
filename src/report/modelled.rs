//! Results without a trained network: processors, the Edge TPU and the arena.

use std::collections::BTreeSet;

use super::facts::precision;
use super::results::unknowable;
use super::{Outcome, Precision, TargetResult};
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::graph::Graph;
use crate::graph::analysis::Analysis;
use crate::learned::manifest::Provenance;
use crate::targets::cortex_a;
use crate::targets::edge_tpu;

/// Of this program's own model.
pub fn modelled(configuration: String) -> Provenance {
    Provenance {
        kind: "modelled".into(),
        tool: "litecast".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        configuration,
    }
}

/// Modelled, whether there is a predictor or not: latency on each processor, energy where its power was
/// measured; and the operators whose cost is not known.
pub fn on_processors(
    graph: &Graph,
    analysis: &Analysis,
) -> (Vec<TargetResult>, Option<Diagnostic>) {
    let refusal = unknowable(graph, analysis).or_else(|| uncounted_precision(graph, analysis));
    let works = cortex_a::work(graph, analysis);
    let mut results = Vec::new();
    let mut uncounted = BTreeSet::new();
    for costs in &cortex_a::Costs::shipped().targets {
        let Some(board) = cortex_a::Constants::shipped().board(&costs.target) else {
            continue;
        };
        let instructions = costs.by_operator(&works);
        let unknown = instructions.iter().zip(&works).zip(&graph.nodes);
        let unknown = unknown.filter(|((n, _), _)| n.is_none());
        uncounted.extend(unknown.map(|((_, work), node)| (&work.kernel, node.operator_idx)));
        let outcome = match &refusal {
            Some(words) => Outcome::Unavailable {
                unavailable: words.clone(),
            },
            None => processor_outcome(costs, board, &works, &instructions),
        };
        let result = |metric: &str, outcome| TargetResult {
            target: board.target.clone(),
            device: board.device.clone(),
            metric: metric.into(),
            outcome,
        };
        let energy = board.energy.as_ref();
        let energy = energy.map(|energy| result("energy", energy_of(&outcome, energy)));
        results.push(result("latency", outcome));
        results.extend(energy);
    }
    let first = uncounted.first().filter(|_| refusal.is_none());
    let diagnostic = first.map(|&(_, operator_idx)| {
        let names: BTreeSet<&str> = uncounted.iter().map(|(name, _)| name.as_str()).collect();
        Diagnostic {
            severity: Severity::Warning,
            code: "operator-never-counted",
            message: format!(
                "the estimate on processors leaves out what was never counted: {}",
                some_of(names, ", ")
            ),
            operator_idx: Some(operator_idx),
        }
    });
    (results, diagnostic)
}

fn processor_outcome(
    costs: &cortex_a::TargetCosts,
    board: &cortex_a::Board,
    works: &[cortex_a::Work],
    instructions: &[Option<f64>],
) -> Outcome {
    let is_known = instructions.iter().all(Option::is_some);
    let instructions: Vec<f64> = instructions.iter().map(|n| n.unwrap_or(0.0)).collect();
    let pairs = works.iter().zip(&instructions);
    let parts: Vec<f64> = pairs
        .map(|(work, &n)| board.latency_ms(n, work.is_int8))
        .collect();
    let value: f64 = parts.iter().sum();
    let class = costs.class(works, &instructions);
    let factor = class.interval_factor;
    let end = |end: f64| is_known.then_some(end);
    Outcome::Estimate {
        value,
        lo: end(value / factor),
        hi: end(value * factor),
        unit: "ms".into(),
        provenance: modelled(format!("{}; {}", costs.in_words(), board.in_words())),
        expected_error_percent: end(class.error.capped_mape),
        operators: Some(parts),
    }
}

/// A latency times the power that a board was measured at.
fn energy_of(latency: &Outcome, energy: &cortex_a::Energy) -> Outcome {
    let watts = energy.watts.value;
    match latency {
        Outcome::Estimate {
            value,
            lo,
            hi,
            operators,
            ..
        } => Outcome::Estimate {
            value: watts * value,
            lo: lo.map(|lo| watts * lo),
            hi: hi.map(|hi| watts * hi),
            unit: "mJ".into(),
            provenance: modelled(energy.in_words()),
            expected_error_percent: None,
            operators: operators
                .as_ref()
                .map(|parts| parts.iter().map(|part| watts * part).collect()),
        },
        unavailable => unavailable.clone(),
    }
}

/// Other numbers run by other kernels, none of which was counted.
fn uncounted_precision(graph: &Graph, analysis: &Analysis) -> Option<String> {
    let numbers = match precision(graph, analysis) {
        Precision::Int16x8 => "16-bit activations",
        Precision::Float16 => "float16 weights",
        Precision::DynamicRange => "float activations with integer weights",
        _ => return None,
    };
    Some(format!(
        "int8 and float32 networks are known of this processor, not {numbers}"
    ))
}

/// Modelled, whether there is a predictor or not.
pub fn on_edge_tpu(graph: &Graph, analysis: &Analysis) -> TargetResult {
    let refusal = unknowable(graph, analysis).or_else(|| edge_tpu::refusal(graph));
    let outcome = match refusal {
        Some(unavailable) => Outcome::Unavailable { unavailable },
        None => edge_tpu_outcome(&edge_tpu::work(graph, analysis)),
    };
    TargetResult {
        target: edge_tpu::TARGET.into(),
        device: edge_tpu::DEVICE.into(),
        metric: edge_tpu::METRIC.into(),
        outcome,
    }
}

fn edge_tpu_outcome(work: &[edge_tpu::Work]) -> Outcome {
    let constants = edge_tpu::Constants::shipped();
    let latency_ms = |work: &edge_tpu::Work| constants.coefficients.latency_ms(work);
    let value = latency_ms(&edge_tpu::Work::total(work));
    let (lo, hi) = constants.leave_one_out.around(value);
    Outcome::Estimate {
        value,
        lo: Some(lo),
        hi: Some(hi),
        unit: edge_tpu::UNIT.into(),
        provenance: modelled(constants.in_words()),
        expected_error_percent: Some(constants.leave_one_out.mean_percent),
        operators: Some(work.iter().map(latency_ms).collect()),
    }
}

pub fn arena(analysis: &Analysis) -> TargetResult {
    let outcome = match &analysis.memory_plan {
        Some(plan) => Outcome::Estimate {
            value: plan.arena_bytes as f64,
            lo: None,
            hi: None,
            unit: "bytes".into(),
            provenance: Provenance {
                kind: "exact".into(),
                tool: "litecast".into(),
                version: env!("CARGO_PKG_VERSION").into(),
                configuration: "greedy memory planner, activations only".into(),
            },
            expected_error_percent: None,
            operators: None,
        },
        None => Outcome::Unavailable {
            unavailable: "a tensor's shape is known only at run time".into(),
        },
    };
    TargetResult {
        target: "tflite-micro".into(),
        device: "TensorFlow Lite Micro, any microcontroller".into(),
        metric: "arena".into(),
        outcome,
    }
}
