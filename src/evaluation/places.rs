//! Where the operators of a network as int8 are in the network that it was made from.

use std::collections::HashMap;

use crate::graph::Graph;
use crate::target::{Outcome, TargetEstimate, UnsupportedOperator};

/// The tensor that an operator writes, or, of one that writes none, its number among these.
type Key = Result<usize, usize>;

/// In the order of nodes.
fn keys(graph: &Graph) -> impl Iterator<Item = Key> {
    let mut n_without = 0;
    graph.nodes.iter().map(move |node| {
        let written = node.operator.outputs.first().copied();
        written.ok_or_else(|| {
            n_without += 1;
            n_without
        })
    })
}

/// The places of one network's operators in another's, which has some more.
pub(crate) struct Places {
    /// By node index, the other network's node index.
    nodes: Vec<Option<usize>>,
    /// By index in the subgraph, the other network's.
    operators: HashMap<usize, usize>,
    n_nodes: usize,
}

impl Places {
    /// Those of `graph` in `before`, told by the tensor that an operator writes: both number tensors alike, but may have
    /// their operators in another order. Linear in operators.
    pub fn new(graph: &Graph, before: &Graph) -> Self {
        let by_key: HashMap<Key, usize> = keys(before).zip(0..).collect();
        let nodes: Vec<Option<usize>> = keys(graph).map(|key| by_key.get(&key).copied()).collect();
        let operators = graph.nodes.iter().zip(&nodes);
        Self {
            operators: operators
                .filter_map(|(node, at)| {
                    Some((node.operator_idx, before.nodes[(*at)?].operator_idx))
                })
                .collect(),
            nodes,
            n_nodes: before.nodes.len(),
        }
    }

    /// Parts and diagnostics of an estimate get the other network's places; its other operators take nothing.
    pub fn move_estimate(&self, estimate: &mut TargetEstimate) {
        for metric in &mut estimate.metrics {
            if let Outcome::Estimate {
                operators: Some(parts),
                ..
            } = &mut metric.outcome
            {
                let mut moved = vec![0.0; self.n_nodes];
                for (part, node_idx) in parts.iter().zip(&self.nodes) {
                    if let Some(node_idx) = *node_idx {
                        moved[node_idx] = *part;
                    }
                }
                *parts = moved;
            }
        }
        for doubt in &mut estimate.diagnostics {
            let place = doubt.operator_idx;
            doubt.operator_idx = place.and_then(|idx| self.operators.get(&idx).copied());
        }
    }

    /// The same of operators that a target does not run.
    pub fn move_operators(&self, operators: &mut Vec<UnsupportedOperator>) {
        operators.retain_mut(|operator| match self.nodes[operator.node_idx] {
            Some(node_idx) => {
                operator.node_idx = node_idx;
                true
            }
            None => false,
        });
        operators.sort_by_key(|operator| operator.node_idx);
    }
}
