//! SeerNet, the network of PerfSeer (2025), by its equations 1 to 8 as the re-implementation at
//! <https://github.com/JustinLinKK/PerfSeer-predictor> has them:
//! features of nodes, of edges and of the whole graph, which see one another in every block.
//!
//! A block gives each edge a new row from its own, its ends' and the graph's; each node one from the mean
//! of its incoming edges', its own beside what attention pools of all nodes (the paper's Global-Node
//! Perspective Boost), and the graph's; the graph one from the maximum and the mean over its nodes (SynMM),
//! the pooled row and its own. All are added to the rows before. The graph's row → a dense layer → one value
//! per output, as in SeerNet-Multi, whose outputs share all but their last weights.
//!
//! Different, so that the networks here are compared and not their inputs: the feature table of the others
//! beside a node's kind and its shares of the graph's amounts, the standardised log outputs and the loss.
//! Edges have what that table tells of the tensor's writer; multiply-accumulates stand for FLOPs; a TFLite
//! graph has no batch of its own.

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::activation::relu;
use burn::tensor::{Device, IndexingUpdateOp, Int, Tensor};

use super::aggregate::{
    Neighbours, broadcast_to_nodes, max_per_graph, mean_per_graph, sum_per_graph,
};
use super::batch::{Batch, Topology};
use super::encoder::linear;
use super::shape::Shape;
use super::whole_graph::{Columns, N_AMOUNTS, N_EDGE_COLUMNS, N_GLOBALS};

/// All weights.
#[derive(Module, Debug)]
pub struct SeerNet {
    /// Features ‖ operator kind ‖ shares → a node's row.
    pub nodes: Linear,
    /// [`Columns::edge_columns`] of the writer → an edge's row.
    pub edges: Linear,
    /// Features of the whole graph → its row.
    pub graph: Linear,
    /// Attention over the nodes' features.
    pub attention: Attention,
    /// Blocks of attention and pooling, in order.
    pub blocks: Vec<Block>,
    /// Hidden layer.
    pub head: Linear,
    /// Last linear layer.
    pub output: Linear,
}

/// One round; inputs in the order in which they are joined.
#[derive(Module, Debug)]
pub struct Block {
    /// Edge ‖ writer ‖ reader ‖ graph.
    pub edges: Mlp,
    /// Mean of incoming edges ‖ node with what was pooled ‖ graph.
    pub nodes: Mlp,
    /// Attention over the nodes.
    pub attention: Attention,
    /// Layers after the pooling.
    pub pooled: Mlp,
    /// Maximum ‖ mean over nodes.
    pub max_and_mean: Linear,
    /// What that gives ‖ pooled ‖ graph.
    pub graph: Mlp,
}

/// Linear layers with a relu between any two.
#[derive(Module, Debug)]
pub struct Mlp {
    /// Linear layers, in order.
    pub layers: Vec<Linear>,
}

impl Mlp {
    fn new(n_inputs: usize, hidden: usize, n_layers: usize, device: &Device) -> Self {
        let n_inputs = |k| if k == 0 { n_inputs } else { hidden };
        let gain = |k| if k + 1 == n_layers { 1.0 } else { 2f64.sqrt() };
        let layer = |k| linear(n_inputs(k), hidden, gain(k), device);
        Self {
            layers: (0..n_layers).map(layer).collect(),
        }
    }

    fn forward(&self, parts: Vec<Tensor<2>>) -> Tensor<2> {
        let inputs = self.layers[0].forward(Tensor::cat(parts, 1));
        let deeper = self.layers[1..].iter();
        deeper.fold(inputs, |rows, layer| layer.forward(relu(rows)))
    }
}

/// A mean over each graph's nodes, weighted by the softmax of their scores.
#[derive(Module, Debug)]
pub struct Attention {
    /// `[hidden, 1]`, without a bias, which would not change the softmax.
    pub score: Param<Tensor<2>>,
}

impl Attention {
    fn new(hidden: usize, device: &Device) -> Self {
        Self {
            score: linear(hidden, 1, 1.0, device).weight,
        }
    }

    /// `[n_nodes, hidden]` → `[n_graphs, hidden]`.
    fn pool(&self, nodes: Tensor<2>, batch: &Batch) -> Tensor<2> {
        let topology = &batch.topology;
        let scores = nodes.clone().matmul(self.score.val());
        // The softmax does not change if the same number is subtracted from all scores of a graph.
        let largest = max_per_graph(scores.clone().detach(), topology);
        let weights = (scores - broadcast_to_nodes(largest, topology)).exp();
        let sums = sum_per_graph(nodes * weights.clone(), topology);
        sums / sum_per_graph(weights, topology)
    }
}

/// Rows of a batch between blocks, each `hidden` wide.
struct Rows {
    nodes: Tensor<2>,
    /// `None` if no graph of the batch has an edge.
    edges: Option<Tensor<2>>,
    /// Of the graphs.
    graphs: Tensor<2>,
    /// The result of the attention for each graph.
    pooled: Tensor<2>,
}

impl SeerNet {
    /// Random weights; [`Device::seed`] beforehand makes them repeatable.
    pub fn new(shape: &Shape, device: &Device) -> Self {
        let Shape { hidden, .. } = *shape;
        let n_inputs = shape.n_columns + shape.n_categories + N_AMOUNTS;
        Self {
            nodes: linear(n_inputs, hidden, 1.0, device),
            edges: linear(N_EDGE_COLUMNS, hidden, 1.0, device),
            graph: linear(N_GLOBALS, hidden, 1.0, device),
            attention: Attention::new(hidden, device),
            blocks: (0..shape.blocks)
                .map(|_| Block::new(hidden, device))
                .collect(),
            head: linear(hidden, hidden, 2f64.sqrt(), device),
            output: linear(hidden, shape.n_outputs, 0.1, device),
        }
    }

    /// `[n_graphs, n_outputs]`: standardised logarithms of the estimates.
    pub fn forward(&self, batch: &Batch, columns: &Columns) -> Tensor<2> {
        let ends = ends(&batch.topology, &batch.globals.device());
        let mut rows = self.first_rows(batch, columns, ends.as_ref());
        for block in &self.blocks {
            rows = block.forward(rows, batch, ends.as_ref());
        }
        self.output.forward(relu(self.head.forward(rows.graphs)))
    }

    fn first_rows(&self, batch: &Batch, columns: &Columns, ends: Option<&Ends>) -> Rows {
        let features = batch.features();
        let [n_inputs, _] = self.nodes.weight.dims();
        let kinds = batch.kinds(n_inputs - columns.n - N_AMOUNTS);
        let edges = ends.map(|ends| {
            let told = columns.edge_columns().map(|column| column as i32);
            let told = Tensor::<1, Int>::from_data(told, &features.device());
            let told = features.clone().select(1, told);
            self.edges.forward(told.select(0, ends.writers.clone()))
        });
        let inputs = vec![features, kinds, batch.shares.clone()];
        let nodes = self.nodes.forward(Tensor::cat(inputs, 1));
        Rows {
            pooled: self.attention.pool(nodes.clone(), batch),
            nodes,
            edges,
            graphs: self.graph.forward(batch.globals.clone()),
        }
    }
}

impl Block {
    fn new(hidden: usize, device: &Device) -> Self {
        let mlp = |n_parts, n_layers| Mlp::new(n_parts * hidden, hidden, n_layers, device);
        Self {
            edges: mlp(4, 2),
            nodes: mlp(3, 2),
            attention: Attention::new(hidden, device),
            pooled: mlp(1, 3),
            max_and_mean: linear(2 * hidden, hidden, 1.0, device),
            graph: mlp(3, 2),
        }
    }

    fn forward(&self, rows: Rows, batch: &Batch, ends: Option<&Ends>) -> Rows {
        let topology = &batch.topology;
        let graph_of_node = broadcast_to_nodes(rows.graphs.clone(), topology);
        let edges = rows.edges.zip(ends).map(|(edges, ends)| {
            let inputs = vec![
                edges.clone(),
                rows.nodes.clone().select(0, ends.writers.clone()),
                rows.nodes.clone().select(0, ends.readers.clone()),
                graph_of_node.clone().select(0, ends.readers.clone()),
            ];
            (self.edges.forward(inputs), edges, ends)
        });
        let incoming = match &edges {
            Some((edges, _, ends)) => ends.mean_at_readers(edges.clone(), topology),
            None => rows.nodes.zeros_like(),
        };
        let boosted = rows.nodes.clone() + broadcast_to_nodes(rows.pooled.clone(), topology);
        let nodes = self.nodes.forward(vec![incoming, boosted, graph_of_node]);
        let pooled = self.attention.pool(nodes.clone(), batch) + rows.pooled.clone();
        let pooled = self.pooled.forward(vec![pooled]);
        let max_and_mean = vec![
            max_per_graph(nodes.clone(), topology),
            mean_per_graph(nodes.clone(), topology),
        ];
        let max_and_mean = self.max_and_mean.forward(Tensor::cat(max_and_mean, 1));
        let inputs = vec![max_and_mean, pooled.clone(), rows.graphs.clone()];
        let graphs = self.graph.forward(inputs);
        Rows {
            nodes: rows.nodes + nodes,
            edges: edges.map(|(change, edges, _)| edges + change),
            graphs: rows.graphs + graphs,
            pooled: rows.pooled + pooled,
        }
    }
}

/// Of every edge, sorted by reader.
struct Ends {
    /// `[n_edges]`: rows of nodes.
    writers: Tensor<1, Int>,
    readers: Tensor<1, Int>,
}

/// `None` if there is no edge.
fn ends(topology: &Topology, device: &Device) -> Option<Ends> {
    if topology.predecessors.is_empty() {
        return None;
    }
    let [writers, readers] = topology.predecessors.indices(device).clone();
    Some(Ends { writers, readers })
}

impl Ends {
    /// `[n_edges, w]` → `[n_nodes, w]`: mean over the edges that a node reads, 0 if it reads none.
    fn mean_at_readers(&self, edges: Tensor<2>, topology: &Topology) -> Tensor<2> {
        let device = edges.device();
        let [_, width] = edges.dims();
        let sums = Tensor::zeros([topology.n_nodes(), width], &device);
        let sums = sums.select_assign(0, self.readers.clone(), edges, IndexingUpdateOp::Add);
        sums / Neighbours::Predecessors.n_summed(topology, &device)
    }
}
