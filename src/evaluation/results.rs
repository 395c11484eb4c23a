//! Results as a report lists them, and the diagnostics about them.

use std::collections::{BTreeMap, BTreeSet};

use super::answers::Answers;
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::formats::tflite::Model;
use crate::graph::Graph;
use crate::graph::analysis::Precision;
use crate::report::{LeftOperator, LeftOut, ReportDiagnostic, TargetResult};
use crate::target::measured_range::Beyond;
use crate::target::{HostInfo, Outcome, TargetEstimate, UnsupportedOperator};

/// A diagnostic for the subgraphs that estimates leave out.
pub fn other_subgraphs(model: &Model, graph: &Graph) -> Option<Diagnostic> {
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
            "the numbers are those of the main subgraph ({main} operator{}); not in them: {bodies} \
             further subgraph{} with {operators} operator{}",
            plural(main),
            plural(bodies),
            plural(operators)
        ),
        operator_idx: None,
    })
}

fn plural(n: usize) -> &'static str {
    if n == 1 { "" } else { "s" }
}

/// The results of all targets for a network.
#[derive(Default)]
pub struct Results {
    /// One for each target and metric.
    pub results: Vec<TargetResult>,
    pub left_out: Vec<LeftOut>,
    /// The diagnostics about the estimates. Each occurs once, however many targets share it.
    pub doubts: Vec<ReportDiagnostic>,
}

impl Results {
    fn add_doubt(&mut self, target: &str, diagnostic: Diagnostic) {
        let known = (self.doubts.iter_mut()).find(|doubt| doubt.diagnostic == diagnostic);
        match known {
            Some(doubt) => doubt.targets.push(target.to_owned()),
            None => self.doubts.push(ReportDiagnostic {
                diagnostic,
                targets: vec![target.to_owned()],
            }),
        }
    }
}

/// The results in the order of the targets, and what is to be said about them. `graph` is the network's.
pub fn results(graph: &Graph, answers: Answers) -> Results {
    let mut results = Results::default();
    let mut left: BTreeMap<Vec<UnsupportedOperator>, Vec<(&str, Option<HostInfo>)>> =
        BTreeMap::new();
    let mut converted: Vec<&str> = Vec::new();
    let mut outside: Vec<(&str, Beyond)> = Vec::new();
    for (target, answer) in answers.into_pairs() {
        if answer.is_converted {
            converted.push(target.id());
        }
        outside.extend(answer.beyond.map(|beyond| (target.id(), beyond)));
        if answer.is_estimated {
            left.entry(answer.unsupported)
                .or_default()
                .push((target.id(), answer.host));
        }
        let TargetEstimate {
            device,
            metrics,
            diagnostics,
        } = answer.estimate;
        for doubt in diagnostics {
            results.add_doubt(target.id(), doubt);
        }
        let is_set = !answer.settings.is_empty();
        results.results.extend(metrics.into_iter().map(|metric| {
            TargetResult {
                target: target.id().to_owned(),
                device: device.clone(),
                metric: metric.metric,
                evidence: metric.outcome.evidence(),
                estimated_as: answer.is_converted.then_some(Precision::Int8),
                settings: (is_set && metric.outcome.is_estimate() && !metric.metric.is_of_file())
                    .then(|| answer.settings.clone()),
                outcome: metric.outcome.in_whole_bytes(),
            }
        }));
    }
    results.doubts.extend(as_converted(&converted));
    results.doubts.extend(beyond_measured(&outside));
    for (operators, targets) in left.iter().filter(|(operators, _)| !operators.is_empty()) {
        let ids: Vec<&str> = targets.iter().map(|&(id, _)| id).collect();
        results.doubts.extend(cpu_fallback(graph, operators, &ids));
        results.left_out.extend(left_out(operators, targets));
    }
    results
}

fn to_strings(targets: &[&str]) -> Vec<String> {
    targets.iter().map(|&target| target.to_owned()).collect()
}

/// One for each processor, in the order of its first target.
fn left_out(
    operators: &[UnsupportedOperator],
    targets: &[(&str, Option<HostInfo>)],
) -> Vec<LeftOut> {
    let mut left_out: Vec<LeftOut> = Vec::new();
    for (target, host) in targets {
        match left_out.iter_mut().find(|left| left.host == *host) {
            Some(left) => left.targets.push((*target).to_owned()),
            None => left_out.push(LeftOut {
                targets: vec![(*target).to_owned()],
                host: host.clone(),
                operators: operators.iter().map(LeftOperator::from).collect(),
            }),
        }
    }
    left_out
}

/// Leaves out the parts of operators.
pub fn forget_parts(results: &mut [TargetResult]) {
    for result in results {
        if let Outcome::Estimate { operators, .. } = &mut result.outcome {
            *operators = None;
        }
    }
}

/// A diagnostic that names the targets whose estimates are for the converted model.
fn as_converted(targets: &[&str]) -> Option<ReportDiagnostic> {
    (!targets.is_empty()).then(|| ReportDiagnostic {
        diagnostic: Diagnostic {
            severity: Severity::Info,
            code: "as-int8-tflite",
            message: format!(
                "on {}, which run{} integers alone, the estimates are of this network quantised to int8, inputs and \
                 outputs included; whether it is accurate enough, only a test of it tells",
                targets.join(", "),
                if targets.len() == 1 { "s" } else { "" }
            ),
            operator_idx: None,
        },
        targets: to_strings(targets),
    })
}

/// A diagnostic that names the targets whose latency is outside of the measured range.
fn beyond_measured(targets: &[(&str, Beyond)]) -> Option<ReportDiagnostic> {
    let of_target = |(target, beyond): &(&str, Beyond)| {
        let than = if beyond.is_longer {
            "longer than the longest"
        } else {
            "shorter than the shortest"
        };
        let times = match beyond.factor {
            factor if factor < 10.0 => format!("{factor:.1}"),
            factor if factor < 1e4 => format!("{factor:.0}"),
            factor => format!("{factor:.0e}"),
        };
        format!("{target} ({times} times {than})")
    };
    (!targets.is_empty()).then(|| ReportDiagnostic {
        diagnostic: Diagnostic {
            severity: Severity::Warning,
            code: "beyond-measured",
            message: format!(
                "latencies far outside of the measured range, with wider intervals: {}",
                some_of(targets.iter().map(of_target), ", ")
            ),
            operator_idx: None,
        },
        targets: targets
            .iter()
            .map(|(target, _)| (*target).to_owned())
            .collect(),
    })
}

/// A diagnostic for operators that are left to the CPU, with all targets that leave the same ones.
fn cpu_fallback(
    graph: &Graph,
    operators: &[UnsupportedOperator],
    targets: &[&str],
) -> Option<ReportDiagnostic> {
    let first = &graph.nodes[operators.first()?.node_idx];
    let words = |operator: &UnsupportedOperator| {
        let name = graph.nodes[operator.node_idx].operator.code.name();
        format!("{name} ({})", operator.reason)
    };
    let kinds: BTreeSet<String> = operators.iter().map(words).collect();
    let stay = match operators.len() {
        1 => "1 operator stays".to_owned(),
        n => format!("{n} operators stay"),
    };
    Some(ReportDiagnostic {
        diagnostic: Diagnostic {
            severity: Severity::Warning,
            code: "cpu-fallback",
            message: format!(
                "on {}, {stay} on the CPU, whose time is in the latency of the network alone: {}",
                targets.join(" and "),
                some_of(kinds, ", ")
            ),
            operator_idx: Some(first.operator_idx),
        },
        targets: to_strings(targets),
    })
}
