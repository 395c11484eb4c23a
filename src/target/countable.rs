//! Whether the cost of a graph can be counted from its file, independent of the target.

use super::compiled::is_compiled;
use super::outcome::UnavailableReason;
use crate::formats::shown;
use crate::formats::tflite::{BuiltinOptions, Meaning, OpKind, Operator};
use crate::graph::analysis::{Analysis, Cost};
use crate::graph::{Graph, Node};

/// Why the cost of a graph cannot be counted on any target.
pub fn uncountable(graph: &Graph, analysis: &Analysis) -> Option<UnavailableReason> {
    if graph.nodes.is_empty() {
        return Some(UnavailableReason::NoOperators);
    }
    missing_shapes(graph, analysis)
        .or_else(|| contradicting_shapes(graph, analysis))
        .or_else(|| unknown_work(graph))
}

/// The reason if the file does not tell how much work operators do: trees, what was compiled for an accelerator, and
/// custom operators of a file that has no others.
fn unknown_work(graph: &Graph) -> Option<UnavailableReason> {
    let is_custom = |node: &Node| {
        let code = &node.operator.code;
        let is_counted = matches!(
            &node.operator.options,
            BuiltinOptions::Foreign(foreign) if foreign.macs.is_some()
        );
        code.kind == OpKind::Custom && !is_compiled(code) && !is_counted
    };
    let are_all_custom = graph.nodes.iter().all(is_custom);
    let name = |node: &Node| match &node.operator.options {
        BuiltinOptions::Foreign(foreign) if foreign.meaning == Meaning::Opaque => {
            Some(shown(node.operator.code.name()))
        }
        _ => are_all_custom.then(|| shown(node.operator.code.name())),
    };
    let names: Vec<String> = graph.nodes.iter().filter_map(name).collect();
    let first = names.first()?;
    let (n, n_operators) = (names.len(), graph.nodes.len());
    Some(UnavailableReason::OfTarget {
        code: "unknown-work",
        words: format!(
            "the file does not tell how much work {n} of {n_operators} operators do, for example `{first}`"
        ),
    })
}

/// Whether only its vendor knows what an operator computes.
pub fn is_vendors(operator: &Operator) -> bool {
    operator.code.kind == OpKind::Custom
        && match &operator.options {
            BuiltinOptions::Foreign(foreign) => foreign.meaning == Meaning::Vendors,
            _ => true,
        }
}

/// The reason if shapes contradict each other, so that counts from them would mean nothing.
pub fn contradicting_shapes(graph: &Graph, analysis: &Analysis) -> Option<UnavailableReason> {
    let n_operators = analysis.contradictions.len();
    (n_operators > 0).then_some(UnavailableReason::ContradictingShapes {
        n_operators,
        of: graph.nodes.len(),
    })
}

/// The reason if the work of operators cannot be counted; they would otherwise count as free.
fn missing_shapes(graph: &Graph, analysis: &Analysis) -> Option<UnavailableReason> {
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
    let n_operators = nodes.filter(has_no_work).count();
    (n_operators > 0).then_some(UnavailableReason::MissingShapes {
        n_operators,
        of: graph.nodes.len(),
    })
}
