//! Diagnostics about what the counts leave out.

use std::collections::BTreeMap;

use super::calls::Calls;
use super::counts::{SubgraphCounts, Totals};
use super::macs::Uncountable;
use super::memory_plan::MemoryPlan;
use super::shape::{self, Dynamic};
use super::unplannable::Unplannable;
use crate::diagnostic::{Diagnostic, Severity};
use crate::formats::tflite::TensorType;
use crate::graph::Graph;

/// Maximum number of names in one message, so that people can read it.
const MAX_NAMES: usize = 10;

/// Doubts about MACs and bytes of the graph and the subgraphs it calls.
pub fn count_doubts(graph: &Graph, counted: &BTreeMap<usize, SubgraphCounts>) -> Vec<Diagnostic> {
    let mut doubts = uncounted_operators(graph, counted);
    doubts.extend(control_flow(graph));
    doubts.extend(dynamic_shapes(graph));
    doubts.extend(sparse_weights(graph, counted));
    doubts.extend(impossible_scales(graph));
    doubts
}

fn diagnostic(severity: Severity, code: &'static str, message: String) -> Diagnostic {
    Diagnostic {
        severity,
        code,
        message,
        operator_idx: None,
    }
}

fn uncounted_operators(
    graph: &Graph,
    counted: &BTreeMap<usize, SubgraphCounts>,
) -> Vec<Diagnostic> {
    let mut by_reason: BTreeMap<Uncountable, BTreeMap<&str, usize>> = BTreeMap::new();
    for counts in counted.values() {
        for ((reason, name), operators) in &counts.uncounted {
            let names = by_reason.entry(*reason).or_default();
            *names.entry(name).or_default() += operators.len();
        }
    }
    let only = only_uncounted_operator(graph, counted);
    let doubt = |(reason, names): (&Uncountable, &BTreeMap<&str, usize>)| Diagnostic {
        operator_idx: only,
        ..diagnostic(
            Severity::Warning,
            "uncounted-operator",
            uncounted_message(*reason, names),
        )
    };
    by_reason.iter().map(doubt).collect()
}

/// The uncounted operator, if there is only one and it is in the graph itself.
fn only_uncounted_operator(
    graph: &Graph,
    counted: &BTreeMap<usize, SubgraphCounts>,
) -> Option<usize> {
    let mut all = counted.iter().flat_map(|(subgraph_idx, counts)| {
        counts
            .uncounted
            .values()
            .flatten()
            .map(move |operator_idx| (*subgraph_idx, *operator_idx))
    });
    let (subgraph_idx, operator_idx) = all.next()?;
    (all.next().is_none() && subgraph_idx == graph.subgraph_idx).then_some(operator_idx)
}

fn uncounted_message(reason: Uncountable, names: &BTreeMap<&str, usize>) -> String {
    let why = match reason {
        Uncountable::Operator => "what they compute is not known",
        Uncountable::Shape => "their operands do not have the shapes they need",
        Uncountable::Overflow => "there are more than 64 bits can hold",
    };
    let n_operators: usize = names.values().sum();
    let mut list: Vec<_> = names
        .iter()
        .take(MAX_NAMES)
        .map(|(name, n)| format!("{name} ({n})"))
        .collect();
    if names.len() > MAX_NAMES {
        list.push(format!("{} other kinds", names.len() - MAX_NAMES));
    }
    let operators = if n_operators == 1 {
        "operator"
    } else {
        "operators"
    };
    format!(
        "MACs of {n_operators} {operators} are missing, {why}: {}",
        list.join(", ")
    )
}

fn control_flow(graph: &Graph) -> Vec<Diagnostic> {
    let calls = || {
        graph
            .nodes
            .iter()
            .map(|node| Calls::from_options(&node.operator.options))
    };
    let n_loops = calls()
        .filter(|calls| matches!(calls, Calls::Loop(..)))
        .count();
    let n_branches = calls()
        .filter(|calls| matches!(calls, Calls::OneOf(_)))
        .count();
    let loops = (n_loops > 0).then(|| {
        let message = match n_loops {
            1 => {
                "one loop runs as often as the input says: its MACs are counted for one turn".into()
            }
            n => format!(
                "{n} loops run as often as the input says: their MACs are counted for one turn"
            ),
        };
        diagnostic(Severity::Warning, "loop-counted-once", message)
    });
    let branches = (n_branches > 0).then(|| {
        let branches = if n_branches == 1 {
            "branch"
        } else {
            "branches"
        };
        let message = format!("{n_branches} {branches}: the MACs of the costlier side are counted");
        diagnostic(Severity::Info, "costlier-branch-counted", message)
    });
    loops.into_iter().chain(branches).collect()
}

/// "1 tensor has", "2 tensors have".
fn having(n: usize, noun: &str) -> String {
    match n {
        1 => format!("1 {noun} has"),
        _ => format!("{n} {noun}s have"),
    }
}

fn dynamic_shapes(graph: &Graph) -> Option<Diagnostic> {
    let tensors = &graph.subgraph.tensors;
    let count = |kind| {
        tensors
            .iter()
            .filter(|tensor| shape::dynamic(tensor) == kind)
            .count()
    };
    match (
        count(Dynamic::OtherDimensions),
        count(Dynamic::FirstDimension),
    ) {
        (0, 0) => None,
        (0, n) => Some(diagnostic(
            Severity::Info,
            "dynamic-batch",
            format!(
                "{} a first dimension known only at run time: counted with the size that the file stores",
                having(n, "tensor")
            ),
        )),
        (n, _) => Some(diagnostic(
            Severity::Warning,
            "dynamic-shape",
            format!(
                "{} dimensions known only at run time: MACs and bytes are counted with the sizes that the file stores, and are too small{}",
                having(n, "tensor"),
                open_dimension(graph).map_or(String::new(), |name| format!(
                    ": give the sizes of its inputs, for example of `{name}`"
                ))
            ),
        )),
    }
}

/// `0.1`: the first dimension of an input that the file leaves open, by the numbers of both.
fn open_dimension(graph: &Graph) -> Option<String> {
    let inputs = graph.subgraph.inputs.iter().enumerate();
    let mut open = inputs.filter_map(|(idx, &input)| {
        let mut signature = graph.tensor(input).shape_signature.iter().flatten();
        Some(format!("{idx}.{}", signature.position(|&size| size < 0)?))
    });
    open.next()
}

fn sparse_weights(graph: &Graph, counted: &BTreeMap<usize, SubgraphCounts>) -> Option<Diagnostic> {
    let is_sparse = |tensor_idx: &&usize| graph.tensor(**tensor_idx).sparsity.is_some();
    let parameters = &counted.get(&graph.subgraph_idx)?.parameters;
    let n_operators = parameters
        .iter()
        .filter(|used| used.iter().any(|t| is_sparse(&t)))
        .count();
    let message = format!(
        "{} sparse weights: their MACs are counted as if dense, and as int8 they are estimated dense",
        having(n_operators, "operator")
    );
    (n_operators > 0).then(|| diagnostic(Severity::Info, "sparse-weights", message))
}

/// Compilers and kernels divide by scales of activations, of which each has one.
fn impossible_scales(graph: &Graph) -> Option<Diagnostic> {
    use TensorType::{Int8, Int16, UInt8};
    let is_impossible = |tensor_idx: &usize| {
        let tensor = graph.tensor(*tensor_idx);
        let scale = tensor.quantization.as_ref().map(|one| one.scale[0]);
        matches!(tensor.tensor_type, Int8 | Int16 | UInt8)
            && scale.is_some_and(|scale| !(scale > 0.0 && scale < f32::INFINITY))
            && !graph.is_constant(*tensor_idx)
    };
    let mut impossible = (0..graph.subgraph.tensors.len()).filter(is_impossible);
    let first = impossible.next()?;
    let message = format!(
        "{} a scale that is no positive number, for example tensor {first}: kernels refuse it",
        having(1 + impossible.count(), "tensor")
    );
    Some(diagnostic(
        Severity::Warning,
        "quantization-values",
        message,
    ))
}

/// A diagnostic for sums that do not fit in 64 bits.
pub fn overflowed_totals(totals: &Totals) -> Option<Diagnostic> {
    let Totals {
        macs,
        parameters,
        weight_bytes,
    } = *totals;
    [macs, parameters, weight_bytes]
        .contains(&u64::MAX)
        .then(|| {
            let message = format!(
                "a total is more than 64 bits can hold: it is at least {}",
                u64::MAX
            );
            diagnostic(Severity::Warning, "count-overflow", message)
        })
}

pub fn missing_plan(reason: &Unplannable) -> Diagnostic {
    diagnostic(
        Severity::Warning,
        "no-memory-plan",
        format!("no arena size: {reason}"),
    )
}

/// A diagnostic for tensors that no operator uses: they still take space in the arena, which is unexpected.
pub fn unused_tensors(plan: &MemoryPlan) -> Option<Diagnostic> {
    let ends = |used: bool| {
        let placements = plan
            .placements
            .iter()
            .filter(move |placement| placement.nodes.is_some() == used);
        placements
            .map(|placement| placement.offset_bytes + placement.size_bytes)
            .max()
            .unwrap_or(0)
    };
    let (used, unused) = (ends(true), ends(false));
    let message = format!(
        "the arena would be {used} bytes instead of {unused} without tensors that no operator of this subgraph needs"
    );
    (unused > used).then(|| diagnostic(Severity::Info, "unused-tensors", message))
}

pub fn unsampled_weights() -> Diagnostic {
    let message =
        "the file has more weights than are looked at: some operators have no weight statistics";
    diagnostic(Severity::Info, "weights-not-sampled", message.to_owned())
}
