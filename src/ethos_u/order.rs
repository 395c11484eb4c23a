//! In which order the compiler has the operators run.

use super::feature_maps::is_binary_elementwise;
use crate::graph::Graph;
use crate::tflite::BuiltinOptions;

/// The steps of a graph, one for each node.
#[derive(Clone, Debug)]
pub struct Order {
    /// Node that runs in each step.
    pub nodes: Vec<usize>,
    /// First step of the chain to which each belongs: operators that run as one, block by block,
    /// and keep nothing between them. Mostly the step itself.
    pub chain_start: Vec<usize>,
    /// First and last step of the cascade to which each belongs.
    pub cascade: Vec<Option<(usize, usize)>>,
}

impl Order {
    /// As Vela 5.2.0 runs them: an operator after all that it reads, its last input's producers first;
    /// at the end what no output of the graph needs, as the file has it. No chains. Linear in nodes
    /// and in the inputs of their operators.
    pub fn of(graph: &Graph) -> Self {
        let nodes = nodes_in_order(graph);
        Self {
            chain_start: (0..nodes.len()).collect(),
            cascade: vec![None; nodes.len()],
            nodes,
        }
    }

    /// The same with elementwise operators chained to the convolution or elementwise operator before
    /// them, as Ethos-U85 runs them.
    pub fn with_chains(mut self, graph: &Graph) -> Self {
        let producer = producers(graph);
        let mut n_readers = vec![0; graph.nodes.len()];
        graph.edges.iter().for_each(|edge| n_readers[edge.src] += 1);
        for step in 1..self.nodes.len() {
            let before = self.nodes[step - 1];
            let inputs = &graph.nodes[self.nodes[step]].operator.inputs;
            let mut inputs = inputs.iter().flatten();
            let reads_it = inputs.any(|&tensor_idx| producer[tensor_idx] == Some(before));
            let is_kept = (graph.nodes[before].operator.outputs.iter())
                .any(|output| graph.subgraph.outputs.contains(output));
            let is_chained = reads_it
                && n_readers[before] == 1
                && !is_kept
                && is_sum(graph, self.nodes[step])
                && (is_sum(graph, before) || is_convolution(graph, before));
            if is_chained {
                self.chain_start[step] = self.chain_start[step - 1];
            }
        }
        self
    }

    /// The same with steps that run as cascades, each given by its first and last step.
    pub fn with_cascades(mut self, cascades: impl Iterator<Item = (usize, usize)>) -> Self {
        for (first, last) in cascades {
            self.cascade[first..=last].fill(Some((first, last)));
        }
        self
    }

    /// First and last of the steps that run together with this one.
    pub fn span(&self, step: usize) -> (usize, usize) {
        self.cascade[step].unwrap_or((self.chain_start[step], step))
    }

    /// Whether the result of a step goes no further than to the next one of its chain or cascade.
    pub fn is_passed_on(&self, step: usize) -> bool {
        step + 1 < self.nodes.len() && self.span(step + 1).0 <= step
    }
}

/// Of two feature maps of one shape.
fn is_sum(graph: &Graph, node_idx: usize) -> bool {
    let operator = graph.nodes[node_idx].operator;
    let name = operator.code.builtin_name().unwrap_or_default();
    let shape = |tensor_idx: usize| &graph.tensor(tensor_idx).shape;
    let [Some(one), Some(other)] = operator.inputs[..] else {
        return false;
    };
    is_binary_elementwise(name)
        && graph.constant(one).is_empty()
        && graph.constant(other).is_empty()
        && shape(one) == shape(other)
}

fn is_convolution(graph: &Graph, node_idx: usize) -> bool {
    matches!(
        graph.nodes[node_idx].operator.options,
        BuiltinOptions::Conv2D { .. } | BuiltinOptions::DepthwiseConv2D { .. }
    )
}

/// By tensor, the node that writes it.
fn producers(graph: &Graph) -> Vec<Option<usize>> {
    let mut producer = vec![None; graph.subgraph.tensors.len()];
    for (node_idx, node) in graph.nodes.iter().enumerate() {
        for &output in &node.operator.outputs {
            producer[output] = Some(node_idx);
        }
    }
    producer
}

fn nodes_in_order(graph: &Graph) -> Vec<usize> {
    let n_nodes = graph.nodes.len();
    let producer = producers(graph);
    let outputs = graph.subgraph.outputs.iter().rev();
    let needed = outputs.filter_map(|&tensor_idx| producer[tensor_idx]);
    let mut order = Vec::with_capacity(n_nodes);
    let mut is_seen = vec![false; n_nodes];
    for root in needed.chain(0..n_nodes) {
        // Nodes with how many of their inputs are still to be looked at.
        let mut open = Vec::new();
        if !std::mem::replace(&mut is_seen[root], true) {
            open.push((root, graph.nodes[root].operator.inputs.len()));
        }
        while let Some((node_idx, n_left)) = open.last_mut() {
            if *n_left == 0 {
                order.push(*node_idx);
                open.pop();
                continue;
            }
            *n_left -= 1;
            let input = graph.nodes[*node_idx].operator.inputs[*n_left];
            if let Some(next) = input.and_then(|tensor_idx| producer[tensor_idx])
                && !std::mem::replace(&mut is_seen[next], true)
            {
                open.push((next, graph.nodes[next].operator.inputs.len()));
            }
        }
    }
    order
}
