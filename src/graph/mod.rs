//! [`Model`] → [`Graph`]: operators as nodes in topological order, tensors as edges.

pub mod analysis;
pub mod as_int8;
pub mod quantise;
pub mod reorder;
pub mod scan;
pub mod shapes;
mod sparse;

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::formats::tflite::{Buffer, Model, Operator, Subgraph, Tensor};
use crate::work;

/// One subgraph, borrowed from its model.
#[derive(Clone, Debug)]
pub struct Graph<'m> {
    /// The model that the subgraph is part of, because operators may call other subgraphs.
    pub model: &'m Model<'m>,
    /// Index of `subgraph` in its model.
    pub subgraph_idx: usize,
    pub subgraph: &'m Subgraph,
    /// Buffers of the model, for constant tensors.
    pub buffers: &'m [Buffer<'m>],
    /// In topological order; ties keep file order.
    pub nodes: Vec<Node<'m>>,
    /// One for each (producer, consumer, tensor), sorted by (dst, src, tensor).
    pub edges: Vec<Edge>,
}

#[derive(Clone, Debug)]
pub struct Node<'m> {
    /// Index of the operator in its subgraph.
    pub operator_idx: usize,
    pub operator: &'m Operator,
}

/// A tensor that one operator writes and another reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// Node index of the reader.
    pub dst: usize,
    /// Node index of the writer.
    pub src: usize,
    /// Tensor index in the subgraph.
    pub tensor_idx: usize,
}

impl<'m> Graph<'m> {
    /// What is left without the model.
    pub fn into_topology(self) -> Topology {
        let operator_idx = |node: &Node| node.operator_idx;
        Topology {
            subgraph_idx: self.subgraph_idx,
            order: self.nodes.iter().map(operator_idx).collect(),
            edges: self.edges,
        }
    }

    /// The tensor with this index in the subgraph.
    ///
    /// # Panics
    /// Where there is none; the indices in operators and edges always have one.
    #[cfg_attr(feature = "work", track_caller)]
    pub fn tensor(&self, tensor_idx: usize) -> &'m Tensor {
        work::count(1);
        &self.subgraph.tensors[tensor_idx]
    }

    /// What a constant tensor holds; [`Buffer::EMPTY`] for others.
    ///
    /// # Panics
    /// Where there is no such tensor.
    #[cfg_attr(feature = "work", track_caller)]
    pub fn buffer(&self, tensor_idx: usize) -> &'m Buffer<'m> {
        let buffer_idx = self.tensor(tensor_idx).buffer_idx;
        self.buffers.get(buffer_idx).unwrap_or(&Buffer::EMPTY)
    }

    /// Whether a tensor is a constant, its values stored or only described.
    ///
    /// # Panics
    /// Where there is no such tensor.
    #[cfg_attr(feature = "work", track_caller)]
    pub fn is_constant(&self, tensor_idx: usize) -> bool {
        !self.buffer(tensor_idx).is_empty()
    }

    /// Contents of a constant tensor, or an empty slice where there are none.
    ///
    /// # Panics
    /// Where there is no such tensor.
    #[cfg_attr(feature = "work", track_caller)]
    pub fn constant(&self, tensor_idx: usize) -> &'m [u8] {
        self.buffer(tensor_idx).bytes()
    }
}

/// Which operators run in which order, and what they read from one another. It borrows no model, so that types and
/// options can be changed before the graph is made again.
#[derive(Clone, Debug)]
pub struct Topology {
    subgraph_idx: usize,
    /// By node, the index of its operator.
    order: Vec<usize>,
    edges: Vec<Edge>,
}

impl Topology {
    pub fn n_nodes(&self) -> usize {
        self.order.len()
    }

    /// The graph of `model`, whose operators have the operands of those that the topology is of.
    ///
    /// # Panics
    /// Where `model` has no such operators.
    pub fn into_graph<'m>(self, model: &'m Model<'m>) -> Graph<'m> {
        let subgraph = &model.subgraphs[self.subgraph_idx];
        let node = |operator_idx: usize| Node {
            operator_idx,
            operator: &subgraph.operators[operator_idx],
        };
        Graph {
            model,
            subgraph_idx: self.subgraph_idx,
            subgraph,
            buffers: &model.buffers,
            nodes: self.order.into_iter().map(node).collect(),
            edges: self.edges,
        }
    }
}

/// A subgraph whose operators form a cycle of dependencies.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "subgraph {subgraph_idx}: expected operators in an order that can run, found a cycle through operator {operator_idx}"
)]
pub struct CycleError {
    pub subgraph_idx: usize,
    pub operator_idx: usize,
}

impl CycleError {
    /// Stable identifier for programs, kebab-case.
    pub fn kind(&self) -> &'static str {
        "cycle"
    }
}

/// The graph of one subgraph of `model`. Linear in operators and inputs, except for a logarithmic factor that keeps
/// file order.
///
/// An operator reads a tensor from the operator that wrote it; where several write it, from the
/// last of them before it in the file. Variable tensors keep their values between inferences and
/// make no edges.
///
/// # Errors
/// [`CycleError`] where no order can run.
///
/// # Panics
/// Where `subgraph_idx` is not a subgraph of `model`.
pub fn build<'m>(model: &'m Model<'m>, subgraph_idx: usize) -> Result<Graph<'m>, CycleError> {
    let subgraph = &model.subgraphs[subgraph_idx];
    let dependencies = dependencies(subgraph);
    let order =
        topological_order(subgraph.operators.len(), &dependencies).map_err(|operator_idx| {
            CycleError {
                subgraph_idx,
                operator_idx,
            }
        })?;
    let topology = Topology {
        subgraph_idx,
        edges: edges_between_nodes(dependencies, &order),
        order,
    };
    Ok(topology.into_graph(model))
}

/// `src` and `dst` are operator indices here. Sorted, each once.
fn dependencies(subgraph: &Subgraph) -> Vec<Edge> {
    let writers = writers_by_tensor(subgraph);
    let mut dependencies = Vec::new();
    for (dst, operator) in subgraph.operators.iter().enumerate() {
        for &tensor_idx in operator.inputs.iter().flatten() {
            if let Some(src) = writer_for(dst, writers.get(tensor_idx)) {
                dependencies.push(Edge {
                    dst,
                    src,
                    tensor_idx,
                });
            }
        }
    }
    dependencies.sort_unstable();
    dependencies.dedup();
    dependencies
}

/// For each tensor the operators that write it, in file order. None for variable tensors.
fn writers_by_tensor(subgraph: &Subgraph) -> Vec<Vec<usize>> {
    let mut writers = vec![Vec::new(); subgraph.tensors.len()];
    for (operator_idx, operator) in subgraph.operators.iter().enumerate() {
        for &tensor_idx in &operator.outputs {
            let is_variable = subgraph
                .tensors
                .get(tensor_idx)
                .is_none_or(|t| t.is_variable);
            if let (false, Some(writers)) = (is_variable, writers.get_mut(tensor_idx)) {
                writers.push(operator_idx);
            }
        }
    }
    writers
}

/// The operator whose result `reader` reads.
fn writer_for(reader: usize, writers: Option<&Vec<usize>>) -> Option<usize> {
    match writers?.as_slice() {
        [] => None,
        [only] => Some(*only),
        several => {
            let n_before = several.partition_point(|&writer| writer < reader);
            several.get(n_before.checked_sub(1)?).copied()
        }
    }
}

/// Among the operators that can run next, the first one in the file runs. The error is an operator on a cycle.
fn topological_order(n_operators: usize, dependencies: &[Edge]) -> Result<Vec<usize>, usize> {
    if dependencies.iter().all(|edge| edge.src < edge.dst) {
        return Ok((0..n_operators).collect());
    }
    let mut waits_for = vec![0usize; n_operators];
    let mut readers = vec![Vec::new(); n_operators];
    for dependency in dependencies {
        waits_for[dependency.dst] += 1;
        readers[dependency.src].push(dependency.dst);
    }
    let mut ready: BinaryHeap<_> = (0..n_operators)
        .filter(|&idx| waits_for[idx] == 0)
        .map(Reverse)
        .collect();
    let mut order = Vec::with_capacity(n_operators);
    while let Some(Reverse(operator_idx)) = ready.pop() {
        order.push(operator_idx);
        for &reader in &readers[operator_idx] {
            waits_for[reader] -= 1;
            if waits_for[reader] == 0 {
                ready.push(Reverse(reader));
            }
        }
    }
    match waits_for.iter().position(|&n| n > 0) {
        None => Ok(order),
        Some(stuck) => Err(node_on_cycle(stuck, &waits_for, dependencies)),
    }
}

/// Each operator that could not run waits for another one that could not run, so following these dependencies backwards
/// ends on a cycle.
fn node_on_cycle(stuck: usize, waits_for: &[usize], dependencies: &[Edge]) -> usize {
    let mut source = vec![None; waits_for.len()];
    for dependency in dependencies
        .iter()
        .filter(|dependency| waits_for[dependency.src] > 0)
    {
        source[dependency.dst] = Some(dependency.src);
    }
    let mut visited = vec![false; waits_for.len()];
    let mut operator_idx = stuck;
    while !std::mem::replace(&mut visited[operator_idx], true) {
        operator_idx = source[operator_idx].unwrap_or(operator_idx);
    }
    operator_idx
}

fn edges_between_nodes(dependencies: Vec<Edge>, order: &[usize]) -> Vec<Edge> {
    let mut node_of_operator = vec![0; order.len()];
    for (node_idx, &operator_idx) in order.iter().enumerate() {
        node_of_operator[operator_idx] = node_idx;
    }
    let edge = |Edge {
                    dst,
                    src,
                    tensor_idx,
                }: Edge| Edge {
        dst: node_of_operator[dst],
        src: node_of_operator[src],
        tensor_idx,
    };
    let mut edges: Vec<_> = dependencies.into_iter().map(edge).collect();
    edges.sort_unstable();
    edges.shrink_to_fit();
    edges
}
