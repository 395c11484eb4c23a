//! What each target makes of a graph, and the doubts about it.

use std::collections::{BTreeMap, BTreeSet};

use super::modelled::{arena, modelled, on_edge_tpu, on_processors};
use super::{Outcome, TargetResult};
use crate::diagnostic::{Diagnostic, Severity, do_not_run, some_of};
use crate::formats::tflite::{BuiltinOptions, CUSTOM, Model};
use crate::graph::analysis::{Analysis, Cost};
use crate::graph::{Graph, Node};
use crate::learned::familiarity::summary;
use crate::learned::features::{COLUMNS, Features, N_COLUMNS};
use crate::learned::manifest::{Manifest, Output};
use crate::learned::predictor::Estimates;
use crate::targets::ethos_u::energy::{Coefficients, coefficients};
use crate::targets::ethos_u::support::{self, Fallback, Npu};

/// What the estimates leave out by their scope: other subgraphs.
pub(crate) fn scope(model: &Model, graph: &Graph) -> Option<Diagnostic> {
    let bodies = model.subgraphs.len().checked_sub(1).filter(|&n| n > 0)?;
    let operators: usize = model
        .subgraphs
        .iter()
        .skip(1)
        .map(|s| s.operators.len())
        .sum();
    let main = graph.nodes.len();
    Some(Diagnostic {
        severity: if operators == 0 {
            Severity::Info
        } else {
            Severity::Warning
        },
        code: "other-subgraphs",
        message: format!(
            "the numbers are those of the main subgraph ({main} operators); {bodies} further \
             subgraphs with {operators} operators are not in them"
        ),
        operator_idx: None,
    })
}

/// What a predictor says of a graph, and what it says of itself.
pub(crate) struct Learned<'p> {
    pub manifest: &'p Manifest,
    pub estimates: Estimates,
}

/// One result for each target and metric, and what makes the estimates doubtful.
pub(crate) fn results(
    graph: &Graph,
    analysis: &Analysis,
    features: &Features,
    learned: Option<&Learned>,
) -> (Vec<TargetResult>, Vec<Diagnostic>) {
    let mut results = Vec::new();
    let mut doubts = Vec::new();
    if let Some(Learned {
        manifest,
        estimates,
    }) = learned
    {
        let unseen = never_trained(graph, manifest);
        let is_known = unseen.is_none();
        doubts.extend(unseen);
        doubts.extend(outside_range(features, manifest));
        let is_familiar = doubts.is_empty();
        let distance = manifest.landmarks.distance(&summary(features));
        doubts.extend(far_from_training(distance, manifest));
        for (idx, output) in manifest.outputs.iter().enumerate() {
            let refusal = refusal(graph, analysis, &output.target);
            let interval = manifest.interval(&output.target, &output.metric);
            let around = |value| interval.filter(|_| is_known)?.around(value, distance);
            let outcome = match (refusal, estimates.graph.get(idx)) {
                (Some(unavailable), _) => Outcome::Unavailable { unavailable },
                (None, Some(&value)) => Outcome::Estimate {
                    value: f64::from(value),
                    lo: around(f64::from(value)).map(|(low, _)| low),
                    hi: around(f64::from(value)).map(|(_, high)| high),
                    unit: output.unit.clone(),
                    provenance: output.provenance.clone(),
                    // Not promised for a graph unlike all of those it was measured on.
                    expected_error_percent: manifest
                        .expected_error_percent(&output.target, &output.metric)
                        .filter(|_| is_familiar),
                    operators: estimates.operators_of(idx),
                },
                (None, None) => Outcome::Unavailable {
                    unavailable: NO_OPERATORS.into(),
                },
            };
            results.push(target_result(output, outcome));
        }
        let energies = energies(&results, analysis);
        results.extend(energies);
        let is_available = |r: &TargetResult| matches!(r.outcome, Outcome::Estimate { .. });
        if !results.iter().any(is_available) {
            doubts.clear();
        }
        doubts.extend(cpu_fallbacks(graph, &results));
    }
    let (on_processors, uncounted) = on_processors(graph, analysis);
    results.extend(on_processors);
    doubts.extend(uncounted);
    results.push(on_edge_tpu(graph, analysis));
    results.push(arena(analysis));
    (results, doubts)
}

const NO_OPERATORS: &str = "the main subgraph has no operators";

fn target_result(output: &Output, outcome: Outcome) -> TargetResult {
    TargetResult {
        target: output.target.clone(),
        device: output.device.clone(),
        metric: output.metric.clone(),
        outcome,
    }
}

/// What follows for each target whose traffic is estimated.
fn energies(results: &[TargetResult], analysis: &Analysis) -> Vec<TargetResult> {
    let targets: BTreeSet<&str> = results.iter().map(|r| r.target.as_str()).collect();
    targets
        .into_iter()
        .filter_map(|target| energy(target, results, analysis))
        .collect()
}

fn energy(target: &str, results: &[TargetResult], analysis: &Analysis) -> Option<TargetResult> {
    let coefficients = coefficients(target)?;
    let of_metric = |metric: &str| {
        let mut of_target = results.iter().filter(|r| r.target == target);
        of_target.find(|r| r.metric == metric)
    };
    let (sram, offchip) = (of_metric("sram_traffic")?, of_metric("offchip_traffic")?);
    let outcome = match (&sram.outcome, &offchip.outcome) {
        (Outcome::Estimate { .. }, Outcome::Estimate { .. }) => {
            energy_outcome(&coefficients, &sram.outcome, &offchip.outcome, analysis)?
        }
        (unavailable, _) => unavailable.clone(),
    };
    Some(TargetResult {
        target: target.to_owned(),
        device: sram.device.clone(),
        metric: "energy".into(),
        outcome,
    })
}

/// The ends of the interval are those of both traffics together: wider than needed where one errs
/// to the other side.
fn energy_outcome(
    coefficients: &Coefficients,
    sram: &Outcome,
    offchip: &Outcome,
    analysis: &Analysis,
) -> Option<Outcome> {
    let (sram, offchip) = (Traffic::of(sram)?, Traffic::of(offchip)?);
    let macs: Vec<f64> = analysis.costs.iter().map(|cost| cost.macs as f64).collect();
    let all_macs = macs.iter().sum();
    let end = |sram: Option<f64>, offchip: Option<f64>| {
        Some(coefficients.energy_mj(all_macs, sram?, offchip?))
    };
    let parts = sram.operators.zip(offchip.operators);
    let operators = parts.map(|(sram, offchip)| {
        let bytes = sram.iter().zip(offchip);
        let parts = macs.iter().zip(bytes);
        parts
            .map(|(&macs, (&sram, &offchip))| coefficients.energy_mj(macs, sram, offchip))
            .collect()
    });
    Some(Outcome::Estimate {
        value: coefficients.energy_mj(all_macs, sram.value, offchip.value),
        lo: end(sram.lo, offchip.lo),
        hi: end(sram.hi, offchip.hi),
        unit: "mJ".into(),
        provenance: modelled(coefficients.in_words()),
        expected_error_percent: None,
        operators,
    })
}

/// Bytes of an estimate.
struct Traffic<'r> {
    value: f64,
    lo: Option<f64>,
    hi: Option<f64>,
    operators: Option<&'r Vec<f64>>,
}

impl<'r> Traffic<'r> {
    fn of(outcome: &'r Outcome) -> Option<Self> {
        match outcome {
            Outcome::Estimate {
                value,
                lo,
                hi,
                operators,
                ..
            } => Some(Self {
                value: *value,
                lo: *lo,
                hi: *hi,
                operators: operators.as_ref(),
            }),
            Outcome::Unavailable { .. } => None,
        }
    }
}

/// Why a target of the predictor cannot run a graph at all, in words.
fn refusal(graph: &Graph, analysis: &Analysis, target: &str) -> Option<String> {
    if let Some(words) = unknowable(graph, analysis) {
        return Some(words);
    }
    let npu = Npu::of_target(target)?;
    if let Some(words) = support::refusal_of_several(graph) {
        return Some(words);
    }
    let fallbacks = support::fallbacks(graph, npu);
    is_mostly_cpu(graph, analysis, &fallbacks).then(|| mostly_cpu_words(graph, &fallbacks))
}

/// Why the file does not tell what a graph costs, whatever runs it.
pub(super) fn unknowable(graph: &Graph, analysis: &Analysis) -> Option<String> {
    if graph.nodes.is_empty() {
        return Some(NO_OPERATORS.into());
    }
    if graph
        .nodes
        .iter()
        .any(|node| node.operator.code.custom.as_deref() == Some("ethos-u"))
    {
        return Some(
            "the file is already compiled for an Ethos-U; give the model before Vela".into(),
        );
    }
    missing_shapes(graph, analysis)
}

/// Operators whose work nobody can count would look free.
fn missing_shapes(graph: &Graph, analysis: &Analysis) -> Option<String> {
    use BuiltinOptions::{Conv2D, DepthwiseConv2D, FullyConnected};
    let has_no_work = |(node, cost): &(&Node, &Cost)| {
        let options = &node.operator.options;
        let multiplies = matches!(
            options,
            Conv2D { .. } | DepthwiseConv2D { .. } | FullyConnected { .. }
        );
        multiplies && cost.macs == 0
    };
    let nodes = graph.nodes.iter().zip(&analysis.costs);
    let n = nodes.filter(has_no_work).count();
    (n > 0).then(|| {
        format!(
            "the file does not tell the shapes that {n} of {} operators work on",
            graph.nodes.len()
        )
    })
}

/// An NPU number says little where most of the work stays on the CPU.
fn is_mostly_cpu(graph: &Graph, analysis: &Analysis, fallbacks: &[Fallback]) -> bool {
    let cpu_macs: u64 = fallbacks
        .iter()
        .map(|f| analysis.costs[f.node_idx].macs)
        .sum();
    let all_macs: u64 = analysis.costs.iter().map(|cost| cost.macs).sum();
    if all_macs == 0 {
        return 2 * fallbacks.len() > graph.nodes.len();
    }
    cpu_macs > all_macs / 2
}

fn mostly_cpu_words(graph: &Graph, fallbacks: &[Fallback]) -> String {
    let reasons: BTreeSet<&str> = fallbacks.iter().map(|f| f.reason.as_str()).collect();
    let is_float = reasons.iter().any(|r| r.starts_with("FLOAT"));
    let advice = if is_float {
        "; quantise the model to int8"
    } else {
        ""
    };
    let left = do_not_run(fallbacks.len(), graph.nodes.len());
    format!("{left} on the NPU ({}){advice}", some_of(reasons, ", "))
}

/// Operators left to the CPU: a doubt for all targets with an estimate that leave the same ones.
fn cpu_fallbacks(graph: &Graph, results: &[TargetResult]) -> Vec<Diagnostic> {
    let estimated = results
        .iter()
        .filter(|r| matches!(r.outcome, Outcome::Estimate { .. }));
    let targets: BTreeSet<&str> = estimated.map(|r| r.target.as_str()).collect();
    let mut left: BTreeMap<Vec<Fallback>, Vec<&str>> = BTreeMap::new();
    for target in targets {
        if let Some(npu) = Npu::of_target(target) {
            let fallbacks = support::fallbacks(graph, npu);
            left.entry(fallbacks).or_default().push(target);
        }
    }
    let doubt = |(fallbacks, targets): (Vec<Fallback>, Vec<&str>)| {
        let first = &graph.nodes[fallbacks.first()?.node_idx];
        let words = |f: &Fallback| {
            let name = graph.nodes[f.node_idx].operator.code.name();
            format!("{name} ({})", f.reason)
        };
        let kinds: BTreeSet<String> = fallbacks.iter().map(words).collect();
        let stay = match fallbacks.len() {
            1 => "1 operator stays".to_owned(),
            n => format!("{n} operators stay"),
        };
        Some(Diagnostic {
            severity: Severity::Warning,
            code: "cpu-fallback",
            message: format!(
                "on {}, {stay} on the CPU, whose time is not in the estimate: {}",
                targets.join(" and "),
                some_of(kinds, ", ")
            ),
            operator_idx: Some(first.operator_idx),
        })
    };
    left.into_iter().filter_map(doubt).collect()
}

/// Operators that no training graph had.
fn never_trained(graph: &Graph, manifest: &Manifest) -> Option<Diagnostic> {
    let is_new = |builtin| builtin == CUSTOM || manifest.category_index(builtin) == 0;
    let new = graph
        .nodes
        .iter()
        .filter(|node| is_new(node.operator.code.builtin));
    let first = new.clone().next()?;
    let names: BTreeSet<_> = new.map(|node| node.operator.code.name()).collect();
    let names = some_of(names, ", ");
    Some(Diagnostic {
        severity: Severity::Warning,
        code: "operator-never-trained",
        message: format!("the predictor never saw {names}; its error here is unknown"),
        operator_idx: Some(first.operator_idx),
    })
}

/// Columns whose values leave what training graphs had, most extreme first.
fn outside_range(features: &Features, manifest: &Manifest) -> Option<Diagnostic> {
    let ranges = &manifest.feature_ranges;
    let mut outside: Vec<(f32, usize)> = Vec::new();
    for (column_idx, range) in ranges.iter().enumerate().take(N_COLUMNS) {
        let values = features.nodes.iter().skip(column_idx).step_by(N_COLUMNS);
        let width = (range.max - range.min).max(f32::MIN_POSITIVE);
        let excess = |&v: &f32| (v - range.max).max(range.min - v) / width;
        let worst = values.map(excess).fold(0.0, f32::max);
        if worst > RANGE_SLACK {
            outside.push((worst, column_idx));
        }
    }
    outside.sort_by(|a, b| b.0.total_cmp(&a.0));
    let meanings = outside.iter().map(|&(_, idx)| COLUMNS[idx].meaning);
    let listed = some_of(meanings, "; ");
    (!outside.is_empty()).then(|| Diagnostic {
        severity: Severity::Warning,
        code: "outside-training-range",
        message: format!("outside what the predictor was trained on: {listed}"),
        operator_idx: None,
    })
}

/// A graph farther from all of training than those that the intervals were calibrated on.
fn far_from_training(distance: f32, manifest: &Manifest) -> Option<Diagnostic> {
    let intervals = &manifest.intervals;
    let calibrated = intervals
        .iter()
        .map(|i| i.max_distance())
        .fold(0.0, f32::max);
    (calibrated > 0.0 && distance > calibrated).then(|| Diagnostic {
        severity: Severity::Warning,
        code: "unlike-training",
        message: format!(
            "{:.1} times as far from the networks of training as any that the intervals were \
             calibrated on; they are as much wider",
            distance / calibrated
        ),
        operator_idx: None,
    })
}

/// Share of a column's range by which a value may leave it without a word.
const RANGE_SLACK: f32 = 0.05;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tflite::TensorType;
    use crate::graph::analysis::fixtures::{graph_of, model, operator, subgraph, tensor};

    #[test]
    fn targets_that_leave_the_same_operators_are_named_together() {
        let tensors = vec![tensor(TensorType::Int8, &[1, 4, 4, 8]); 4];
        let operators = vec![
            operator("SIN", &[0], &[1]),
            operator("SIN", &[1], &[2]),
            operator("LESS", &[2, 2], &[3]),
        ];
        let model = model(vec![subgraph(tensors, operators)]);
        let results = ["ethos-u55-256", "ethos-u65-512", "ethos-u85-256"].map(|target| {
            let outcome = Outcome::Estimate {
                value: 1.0,
                lo: None,
                hi: None,
                unit: "ms".into(),
                provenance: modelled(String::new()),
                expected_error_percent: None,
                operators: None,
            };
            TargetResult {
                target: target.into(),
                device: String::new(),
                metric: "latency".into(),
                outcome,
            }
        });
        let found = cpu_fallbacks(&graph_of(&model), &results);
        let messages: Vec<&str> = found.iter().map(|doubt| doubt.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "on ethos-u85-256, 2 operators stay on the CPU, whose time is not in the estimate: SIN \
                 (operator not on the NPU's list)",
                "on ethos-u55-256 and ethos-u65-512, 3 operators stay on the CPU, whose time is not in the \
                 estimate: LESS (operator not on the NPU's list), SIN (operator not on the NPU's list)",
            ]
        );
    }
}
