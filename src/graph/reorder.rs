//! A [`Model`] → the same model with its operators in an order that needs less peak memory for live tensors.
//!
//! A beam search over the orders that the operators' dependencies allow, as eliberis/tflite-tools reorders networks for
//! microcontrollers (Liberis and Lane, 2019). The planner of the arena then says how much memory an order saves.

use std::collections::HashSet;

use super::{CycleError, build};
use crate::formats::tflite::{MAIN_SUBGRAPH, Model, OpKind, Subgraph};

/// Larger graphs keep their order: the search is quadratic in operators.
const MAX_OPERATORS: usize = 1500;
/// Number of partial orders that the beam search follows.
const BEAM_WIDTH: usize = 24;

/// Changes the order of the main subgraph's operators. Returns whether an order with a lower peak of live activations
/// was found. `model` is unchanged if there is none, or if operators keep values between inferences, because the order
/// could change these values.
pub fn reorder(model: &mut Model) -> Result<bool, CycleError> {
    let Some(order) = lower_order(model)? else {
        return Ok(false);
    };
    let operators = &mut model.subgraphs[MAIN_SUBGRAPH].operators;
    let mut slots: Vec<_> = std::mem::take(operators).into_iter().map(Some).collect();
    *operators = order
        .iter()
        .filter_map(|&idx| slots.get_mut(idx)?.take())
        .collect();
    Ok(true)
}

/// Operator indices in the new order; `None` if no order with a lower peak was found.
fn lower_order(model: &Model) -> Result<Option<Vec<usize>>, CycleError> {
    let graph = build(model, MAIN_SUBGRAPH)?;
    let n = graph.nodes.len();
    let subgraph = graph.subgraph;
    if !(3..=MAX_OPERATORS).contains(&n) || keeps_state(subgraph) {
        return Ok(None);
    }
    let Some(problem) = Problem::of(&graph) else {
        return Ok(None);
    };
    let now = problem.peak_of(0..n);
    let Some(found) = problem.search() else {
        return Ok(None);
    };
    let is_lower = problem.peak_of(found.iter().copied()) < now;
    let order = found.iter().map(|&node| graph.nodes[node].operator_idx);
    Ok(is_lower.then(|| order.collect()))
}

fn keeps_state(subgraph: &Subgraph) -> bool {
    let mut is_written = vec![false; subgraph.tensors.len()];
    let mut outputs = subgraph
        .operators
        .iter()
        .flat_map(|operator| &operator.outputs);
    let is_written_twice =
        outputs.any(|&tensor_idx| std::mem::replace(&mut is_written[tensor_idx], true));
    let stateful = |kind: OpKind| {
        matches!(
            kind,
            OpKind::VarHandle
                | OpKind::ReadVariable
                | OpKind::AssignVariable
                | OpKind::Call
                | OpKind::CallOnce
                | OpKind::If
                | OpKind::While
        )
    };
    is_written_twice
        || subgraph.tensors.iter().any(|tensor| tensor.is_variable)
        || subgraph
            .operators
            .iter()
            .any(|operator| stateful(operator.code.kind))
}

/// Nodes, and the bytes of the activations between them.
struct Problem {
    /// By activation.
    bytes: Vec<u64>,
    n_readers: Vec<u32>,
    /// By node: activations read and written, each once.
    reads: Vec<Vec<usize>>,
    writes: Vec<Vec<usize>>,
    n_writers: Vec<u32>,
    readers: Vec<Vec<usize>>,
    /// Alive from the start: the inputs of the network.
    live_bytes: u64,
}

/// A partial order.
#[derive(Clone)]
struct State {
    order: Vec<usize>,
    ready: Vec<usize>,
    waits_for: Vec<u32>,
    n_readers: Vec<u32>,
    live_bytes: u64,
    peak_bytes: u64,
    /// Hash of the set of nodes that have run, independent of their order.
    hash: u64,
}

impl Problem {
    /// None where a size is unknown.
    fn of(graph: &super::Graph) -> Option<Self> {
        let subgraph = graph.subgraph;
        let n_tensors = subgraph.tensors.len();
        let mut bytes = Vec::with_capacity(n_tensors);
        for tensor in &subgraph.tensors {
            let is_constant = graph
                .buffers
                .get(tensor.buffer_idx)
                .is_some_and(|b| !b.is_empty());
            bytes.push(if is_constant { 0 } else { tensor.byte_len()? });
        }
        let mut n_readers = vec![0u32; n_tensors];
        // What the network gives stays alive to its end.
        for &output in &subgraph.outputs {
            n_readers[output] += 1;
        }
        let mut reads = Vec::new();
        let mut writes = Vec::new();
        for node in graph.nodes.iter() {
            let mut read: Vec<usize> = node.operator.inputs.iter().flatten().copied().collect();
            read.sort_unstable();
            read.dedup();
            for &tensor_idx in &read {
                n_readers[tensor_idx] += 1;
            }
            reads.push(read);
            writes.push(node.operator.outputs.clone());
        }
        let n = graph.nodes.len();
        let (mut n_writers, mut readers) = (vec![0; n], vec![Vec::new(); n]);
        for edge in graph.edges.iter() {
            n_writers[edge.dst] += 1;
            readers[edge.src].push(edge.dst);
        }
        let live = subgraph.inputs.iter().map(|&t| bytes[t]);
        Some(Self {
            live_bytes: live.fold(0, u64::saturating_add),
            bytes,
            n_readers,
            reads,
            writes,
            n_writers,
            readers,
        })
    }

    fn start(&self) -> State {
        let nodes = 0..self.reads.len();
        State {
            order: Vec::new(),
            ready: nodes.filter(|&node| self.n_writers[node] == 0).collect(),
            waits_for: self.n_writers.clone(),
            n_readers: self.n_readers.clone(),
            live_bytes: self.live_bytes,
            peak_bytes: self.live_bytes,
            hash: 0,
        }
    }

    fn run(&self, state: &mut State, node: usize) {
        let written = self.writes[node].iter().map(|&t| self.bytes[t]);
        state.live_bytes = written.fold(state.live_bytes, u64::saturating_add);
        state.peak_bytes = state.peak_bytes.max(state.live_bytes);
        for &tensor_idx in self.reads[node].iter().chain(&self.writes[node]) {
            let is_read = self.reads[node].binary_search(&tensor_idx).is_ok();
            state.n_readers[tensor_idx] -= u32::from(is_read && state.n_readers[tensor_idx] > 0);
            if state.n_readers[tensor_idx] == 0 {
                state.live_bytes = state.live_bytes.saturating_sub(self.bytes[tensor_idx]);
            }
        }
        state.ready.retain(|&other| other != node);
        for &reader in &self.readers[node] {
            state.waits_for[reader] -= 1;
            if state.waits_for[reader] == 0 {
                state.ready.push(reader);
            }
        }
        state.order.push(node);
        // A random number for each node (splitmix64), joined without order.
        let mut mixed = (node as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        state.hash ^= mixed ^ (mixed >> 31);
    }

    fn peak_of(&self, order: impl Iterator<Item = usize>) -> u64 {
        let mut state = self.start();
        order.for_each(|node| self.run(&mut state, node));
        state.peak_bytes
    }

    fn search(&self) -> Option<Vec<usize>> {
        let mut beam = vec![self.start()];
        for _ in 0..self.reads.len() {
            let mut next: Vec<State> = Vec::new();
            let mut seen = HashSet::new();
            for state in beam {
                // In a chain there is only one choice, and nothing needs to be copied.
                if let [only] = state.ready[..] {
                    let mut state = state;
                    self.run(&mut state, only);
                    next.push(state);
                    continue;
                }
                for &node in state.ready.iter().take(BEAM_WIDTH) {
                    let mut follower = state.clone();
                    self.run(&mut follower, node);
                    next.push(follower);
                }
            }
            next.sort_by_key(|state| (state.peak_bytes, state.live_bytes));
            next.retain(|state| seen.insert(state.hash));
            next.truncate(BEAM_WIDTH);
            beam = next;
        }
        beam.into_iter().next().map(|state| state.order)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tflite::TensorType;
    use crate::graph::analysis::fixtures::{model, operator, subgraph, tensor};

    /// Two branches that begin with 100 bytes and end with 1: one after the other needs less than both at once.
    #[test]
    fn one_branch_after_the_other() {
        let sizes = [10, 100, 100, 1, 1, 2];
        let tensors = sizes.map(|size| tensor(TensorType::Int8, &[size])).into();
        let operators = vec![
            operator(OpKind::Relu, &[0], &[1]),
            operator(OpKind::Relu, &[0], &[2]),
            operator(OpKind::Mean, &[1], &[3]),
            operator(OpKind::Mean, &[2], &[4]),
            operator(OpKind::Concatenation, &[3, 4], &[5]),
        ];
        let mut network = model(vec![subgraph(tensors, operators)]);
        let arena = |network: &Model| {
            let graph = build(network, 0).unwrap();
            crate::graph::analysis::analyze(&graph)
                .memory_plan
                .unwrap()
                .arena_bytes
        };
        let before = arena(&network);
        assert!(reorder(&mut network).unwrap());
        let outputs: Vec<usize> = network.subgraphs[0]
            .operators
            .iter()
            .map(|o| o.outputs[0])
            .collect();
        assert!(
            outputs == [1, 3, 2, 4, 5] || outputs == [2, 4, 1, 3, 5],
            "{outputs:?}"
        );
        println!("{before} -> {}", arena(&network));
        assert!(arena(&network) < before);
        assert!(!reorder(&mut network).unwrap(), "there is no better one");
    }

    #[test]
    fn a_chain_stays() {
        let tensors = (0..4).map(|_| tensor(TensorType::Int8, &[8])).collect();
        let operators = (0..3)
            .map(|i| operator(OpKind::Relu, &[i], &[i + 1]))
            .collect();
        assert!(!reorder(&mut model(vec![subgraph(tensors, operators)])).unwrap());
    }
}
