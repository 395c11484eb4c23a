//! What passes from operator to operator.

use super::feature_maps::{Placing, linear};
use super::order::Order;
use crate::graph::Graph;

/// What passes between steps, with views of a tensor taken for the tensor.
pub struct Flow {
    /// By step, the one that computes its first input.
    pub source: Vec<Option<usize>>,
    /// By step, the one that is first to read its output.
    pub reader: Vec<Option<usize>>,
    /// By step, how many read its output, the caller among them.
    pub n_readers: Vec<usize>,
    /// By tensor, the step that computes it.
    writer: Vec<Option<usize>>,
    /// By step, whether between it and its source are only frames and activations, which the
    /// operators do by themselves.
    pub is_direct: Vec<bool>,
    /// By step, whether the activation after it is looked up in a table.
    pub has_table: Vec<bool>,
    /// By tensor, the one without the frame that is put around it for an operator with a window.
    pub unframed: Vec<usize>,
    /// See [`linear`].
    pub is_linear: Vec<bool>,
}

impl Flow {
    /// Linear in nodes, tensors and edges.
    pub fn of(graph: &Graph, order: &Order, placings: &[Placing]) -> Self {
        let n_steps = order.nodes.len();
        let n_tensors = graph.subgraph.tensors.len();
        let mut flow = Self {
            source: vec![None; n_steps],
            reader: vec![None; n_steps],
            n_readers: vec![0; n_steps],
            writer: vec![None; n_tensors],
            is_direct: vec![true; n_steps],
            has_table: vec![false; n_steps],
            unframed: (0..n_tensors).collect(),
            is_linear: linear(graph),
        };
        // By tensor, the step that computes it, and whether directly.
        let mut writer: Vec<Option<(usize, bool)>> = vec![None; n_tensors];
        for (idx, &node_idx) in order.nodes.iter().enumerate() {
            let operator = graph.nodes[node_idx].operator;
            let name = operator.code.builtin_name().unwrap_or_default();
            let inputs = operator.inputs.iter().flatten().copied();
            let mut activations = inputs.clone().filter(|&t| graph.constant(t).is_empty());
            let first = activations.next();
            let from = first.and_then(|input| writer[input]);
            flow.source[idx] = from.map(|(step, _)| step);
            flow.is_direct[idx] = from.is_none_or(|(_, is_direct)| is_direct);
            let is_of_input = placings[node_idx].is_of_input();
            let written = match placings[node_idx] {
                Placing::View => from.map(|(step, _)| (step, false)),
                Placing::Fused => {
                    if let Some((step, _)) = from.filter(|_| is_table(name)) {
                        flow.has_table[step] = true;
                    }
                    from
                }
                Placing::Joined => None,
                _ => Some((idx, true)),
            };
            for input in inputs {
                if let Some((step, _)) = writer[input].filter(|_| !is_of_input) {
                    flow.reader[step].get_or_insert(idx);
                    flow.n_readers[step] += 1;
                }
            }
            for &output in &operator.outputs {
                writer[output] = written;
                if let Some(first) = first.filter(|_| is_of_input && name == "PAD") {
                    flow.unframed[output] = flow.unframed[first];
                }
            }
        }
        for &output in &graph.subgraph.outputs {
            if let Some((step, _)) = writer[output] {
                flow.n_readers[step] += 1;
            }
        }
        flow.writer = writer
            .iter()
            .map(|from| from.map(|(step, _)| step))
            .collect();
        flow
    }

    /// Whether a step alone reads what another has computed for it.
    pub fn is_only_reader(&self, step: usize, tensor_idx: usize) -> bool {
        self.writer[tensor_idx]
            .is_some_and(|from| self.n_readers[from] == 1 && self.reader[from] == Some(step))
    }
}

/// An activation that is no mere limit.
fn is_table(name: &str) -> bool {
    matches!(
        name,
        "ELU" | "GELU" | "HARD_SWISH" | "LEAKY_RELU" | "LOGISTIC" | "TANH"
    )
}
