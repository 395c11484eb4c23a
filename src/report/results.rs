//! The results of all targets for a network, and the diagnostics about them.

use std::collections::{BTreeMap, BTreeSet};

use super::{LeftOperator, LeftOut, ReportDiagnostic, TargetResult};
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::formats::tflite::Model;
use crate::graph::Graph;
use crate::graph::analysis::Precision;
use crate::targets::measured_range::{Beyond, MIN_REPORTED_FACTOR};
use crate::targets::{
    HostInfo, Metric, Network, Outcome, Target, TargetEstimate, UnsupportedOperator, plausibility,
    widening,
};

/// A diagnostic for the subgraphs that estimates leave out.
pub(crate) fn other_subgraphs(model: &Model, graph: &Graph) -> Option<Diagnostic> {
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
pub(crate) struct Results {
    /// One for each target and metric.
    pub results: Vec<TargetResult>,
    pub left_out: Vec<LeftOut>,
    /// The diagnostics about the estimates. Each occurs once, however many targets share it.
    pub doubts: Vec<ReportDiagnostic>,
}

impl Results {
    fn doubt(&mut self, target: &str, diagnostic: Diagnostic) {
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

/// The result of one target for a network.
struct Answer {
    estimate: TargetEstimate,
    /// Whether the result is for the network as int8.
    is_converted: bool,
    is_estimated: bool,
    /// How far its latency is outside of the measured range, if it is.
    beyond: Option<Beyond>,
    /// The operators that the target does not run, if it has an estimate.
    unsupported: Vec<UnsupportedOperator>,
    /// The processor that runs them.
    host: Option<HostInfo>,
}

impl Answer {
    fn of(target: &dyn Target, network: &Network) -> Self {
        let mut estimate = target.estimate(network);
        let beyond = widening::widen(target, network, &mut estimate);
        plausibility::check(target, network, &mut estimate);
        // A memory that needs no kernel is no answer of hardware that runs integers alone.
        let of_memory = [Metric::WeightsFlash, Metric::Arena, Metric::ActivationRam];
        let is_answer =
            |metric: Metric| !(target.runs_integers_alone() && of_memory.contains(&metric));
        let mut metrics = estimate.metrics.iter();
        let is_estimated = metrics.any(|one| one.outcome.is_estimate() && is_answer(one.metric));
        Self {
            host: target.host(),
            unsupported: match is_estimated {
                true => target.unsupported(network),
                false => Vec::new(),
            },
            estimate,
            is_converted: false,
            is_estimated,
            beyond: beyond.filter(|beyond| is_estimated && beyond.factor >= MIN_REPORTED_FACTOR),
        }
    }
}

/// Minimum number of operators from which targets that plan operators and other targets run in parallel. Below it, a
/// thread costs as much as it saves.
const MIN_PARALLEL_OPERATORS: usize = 4096;
/// Maximum number of operators of a network for which they do. Beyond it, one after the other takes a fifth less memory
/// and up to a third more time; no network of use has so many.
const MAX_PARALLEL_OPERATORS: usize = 1 << 16;

fn answers(network: &Network, targets: &[&dyn Target]) -> Vec<Answer> {
    let answer = |target: &&dyn Target| Answer::of(*target, network);
    // Only targets that plan ask the trained network, whose failure is looked for in `network`. Targets share large
    // results, which are freed after the last target.
    let answers_apart = |targets: Vec<&dyn Target>| -> Vec<Answer> {
        let network = network.apart();
        let answer = |target: &&dyn Target| Answer::of(*target, &network);
        targets.iter().map(answer).collect()
    };
    let n_operators = network.graph.nodes.len();
    if n_operators < MIN_PARALLEL_OPERATORS {
        return targets.iter().map(answer).collect();
    }
    let (planning, others): (Vec<_>, Vec<_>) =
        (targets.iter()).partition(|target| target.plans_operators());
    let answers_planned = || -> Vec<Answer> { planning.iter().map(answer).collect() };
    let has_threads = || std::thread::available_parallelism().is_ok_and(|n| n.get() > 1);
    let (planned, others) = match n_operators <= MAX_PARALLEL_OPERATORS && has_threads() {
        true => std::thread::scope(|scope| {
            let others = scope.spawn(|| answers_apart(others));
            let planned = answers_planned();
            match others.join() {
                Ok(others) => (planned, others),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }),
        false => {
            let planned = answers_planned();
            (planned, answers_apart(others))
        }
    };
    let (mut planned, mut others) = (planned.into_iter(), others.into_iter());
    let next = |target: &&dyn Target| match target.plans_operators() {
        true => planned.next(),
        false => others.next(),
    };
    targets.iter().filter_map(next).collect()
}

/// Targets that are asked one after the other, of the network and of its int8 form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    All,
    /// Those that plan operators.
    Planning,
    Others,
}

impl Group {
    /// All targets are asked together, except about a large network: the results of some are then not held while others
    /// plan.
    pub fn of_network(n_operators: usize) -> &'static [Self] {
        match n_operators > MAX_PARALLEL_OPERATORS {
            true => &[Self::Planning, Self::Others],
            false => &[Self::All],
        }
    }

    fn contains(self, target: &dyn Target) -> bool {
        match self {
            Self::All => true,
            Self::Planning => target.plans_operators(),
            Self::Others => !target.plans_operators(),
        }
    }
}

/// The results of each of some targets.
pub(crate) struct Answers<'t> {
    targets: &'t [Box<dyn Target>],
    /// Parallel to the targets; absent before they are asked.
    answers: Vec<Option<Answer>>,
}

impl<'t> Answers<'t> {
    /// Of targets that have not been asked.
    pub fn none(targets: &'t [Box<dyn Target>]) -> Self {
        Self {
            targets,
            answers: targets.iter().map(|_| None).collect(),
        }
    }

    /// Whether a target of a group that runs integers alone has no estimate.
    pub fn lack_int8(&mut self, group: Group) -> bool {
        let mut without = self.without_estimate(group);
        without.any(|(target, _)| target.runs_integers_alone())
    }

    /// Asks the targets of a group about a network.
    pub fn ask(&mut self, group: Group, network: &Network) {
        self.set(group, network, false);
    }

    /// Asks those of its targets that run integers alone, and have no estimate, about the same network as int8.
    pub fn ask_as_int8(&mut self, group: Group, as_int8: &Network) {
        self.set(group, as_int8, true);
    }

    fn set(&mut self, group: Group, network: &Network, is_converted: bool) {
        let asked = self.without_estimate(group);
        let asked = asked.filter(|(target, _)| !is_converted || target.runs_integers_alone());
        let (targets, without): (Vec<&dyn Target>, Vec<_>) = asked.unzip();
        for (without, answer) in without.into_iter().zip(answers(network, &targets)) {
            *without = Some(Answer {
                is_converted: is_converted && answer.is_estimated,
                ..answer
            });
        }
    }

    fn without_estimate(
        &mut self,
        group: Group,
    ) -> impl Iterator<Item = (&'t dyn Target, &mut Option<Answer>)> {
        let of_targets = self.targets.iter().map(Box::as_ref).zip(&mut self.answers);
        of_targets.filter(move |(target, answer)| {
            let is_estimated = |answer: &Answer| answer.is_estimated;
            group.contains(*target) && !answer.as_ref().is_some_and(is_estimated)
        })
    }

    /// The results in the order of the targets, which were all asked, and what is to be said about them. `graph` is the
    /// network's.
    pub fn into_results(self, graph: &Graph) -> Results {
        results(graph, self.targets, self.answers.into_iter().flatten())
    }
}

fn results(
    graph: &Graph,
    targets: &[Box<dyn Target>],
    answers: impl Iterator<Item = Answer>,
) -> Results {
    let mut found = Results::default();
    let mut left: BTreeMap<Vec<UnsupportedOperator>, Vec<(&str, Option<HostInfo>)>> =
        BTreeMap::new();
    let mut converted: Vec<&str> = Vec::new();
    let mut outside: Vec<(&str, Beyond)> = Vec::new();
    for (target, answer) in targets.iter().zip(answers) {
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
            found.doubt(target.id(), doubt);
        }
        found
            .results
            .extend(metrics.into_iter().map(|metric| TargetResult {
                target: target.id().to_owned(),
                device: device.clone(),
                metric: metric.metric,
                evidence: metric.outcome.evidence(),
                estimated_as: answer.is_converted.then_some(Precision::Int8),
                outcome: metric.outcome.in_whole_bytes(),
            }));
    }
    found.doubts.extend(as_converted(&converted));
    found.doubts.extend(beyond_measured(&outside));
    for (operators, targets) in left.iter().filter(|(operators, _)| !operators.is_empty()) {
        let ids: Vec<&str> = targets.iter().map(|&(id, _)| id).collect();
        found.doubts.extend(cpu_fallback(graph, operators, &ids));
        found.left_out.extend(left_out(operators, targets));
    }
    found
}

fn owned(targets: &[&str]) -> Vec<String> {
    targets.iter().map(|&target| target.to_owned()).collect()
}

/// One for each processor, in the order of its first target.
fn left_out(
    operators: &[UnsupportedOperator],
    targets: &[(&str, Option<HostInfo>)],
) -> Vec<LeftOut> {
    let mut found: Vec<LeftOut> = Vec::new();
    for (target, host) in targets {
        match found.iter_mut().find(|left| left.host == *host) {
            Some(left) => left.targets.push((*target).to_owned()),
            None => found.push(LeftOut {
                targets: vec![(*target).to_owned()],
                host: host.clone(),
                operators: operators.iter().map(LeftOperator::from).collect(),
            }),
        }
    }
    found
}

/// Leaves out the parts of operators.
pub(crate) fn forget_parts(results: &mut [TargetResult]) {
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
                "on {}, which run integers alone, the estimates are of this network quantised to int8, inputs and \
                 outputs included; whether it is accurate enough, only a test of it tells",
                targets.join(", ")
            ),
            operator_idx: None,
        },
        targets: owned(targets),
    })
}

/// A diagnostic that names the targets whose latency is outside of the measured range.
fn beyond_measured(targets: &[(&str, Beyond)]) -> Option<ReportDiagnostic> {
    let of_target = |(target, beyond): &(&str, Beyond)| {
        let than = match beyond.is_longer {
            true => "longer than the longest",
            false => "shorter than the shortest",
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
        targets: owned(targets),
    })
}
