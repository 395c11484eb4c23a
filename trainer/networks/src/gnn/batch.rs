//! Examples → [`Batch`]: several graphs as separate parts of one graph.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::Rng;

use super::prepare::Example;
use super::whole_graph::{N_AMOUNTS, N_GLOBALS};

/// Lists of nodes, one for each node: `nodes[offsets[i]..offsets[i + 1]]` is that of node i.
#[derive(Debug)]
pub struct NodeLists {
    offsets: Vec<u32>,
    nodes: Vec<u32>,
    indices: OnceLock<[Tensor<1, Int>; 2]>,
}

impl NodeLists {
    /// Built from pairs of a node and an entry of its list.
    fn new(n_nodes: usize, pairs: impl Iterator<Item = (u32, u32)> + Clone) -> Self {
        let mut offsets = vec![0u32; n_nodes + 1];
        let count = |(node, _): (u32, u32)| offsets[node as usize + 1] += 1;
        pairs.clone().for_each(count);
        for i in 0..n_nodes {
            offsets[i + 1] += offsets[i];
        }
        let mut next = offsets.clone();
        let mut nodes = vec![0u32; offsets[n_nodes] as usize];
        for (node, other) in pairs {
            nodes[next[node as usize] as usize] = other;
            next[node as usize] += 1;
        }
        Self {
            offsets,
            nodes,
            indices: OnceLock::new(),
        }
    }

    /// Neighbours of a node.
    pub fn members(&self, node: usize) -> &[u32] {
        &self.nodes[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    /// Whether no node has a neighbour.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The pairs as two index tensors, for devices without our own kernels: the node that is read, and the node whose
    /// list contains it. Made on first use and cached.
    pub fn indices(&self, device: &Device) -> &[Tensor<1, Int>; 2] {
        self.indices.get_or_init(|| {
            let n_nodes = self.offsets.len() - 1;
            let owners = (0..n_nodes).flat_map(|i| self.members(i).iter().map(move |_| i as u32));
            [
                int_tensor(self.nodes.iter().copied(), device),
                int_tensor(owners, device),
            ]
        })
    }
}

/// The neighbours of each node, and the rows of each graph.
#[derive(Debug)]
pub struct Topology {
    /// Neighbours of each node, in both directions of the edges.
    pub neighbours: NodeLists,
    /// Nodes that each node reads from.
    pub predecessors: NodeLists,
    /// Nodes that read each node.
    pub successors: NodeLists,
    /// Rows of graph g: `graph_offsets[g]..graph_offsets[g + 1]`.
    pub graph_offsets: Vec<u32>,
    membership: OnceLock<Tensor<2>>,
    padded_rows: OnceLock<PaddedRows>,
}

/// Rows of every graph, padded to the same number.
#[derive(Debug)]
pub struct PaddedRows {
    /// `[n_graphs * longest]`: rows of each graph, padded with `n_nodes`.
    pub rows: Tensor<1, Int>,
    /// Nodes of the largest graph of the batch.
    pub longest: usize,
}

impl Topology {
    /// Built from `edges` of writer and reader.
    pub fn new(graph_offsets: Vec<u32>, edges: &[(u32, u32)]) -> Self {
        let n_nodes = graph_offsets.last().copied().unwrap_or(0) as usize;
        let forward = edges.iter().copied();
        let backward = edges.iter().map(|&(src, dst)| (dst, src));
        let both = edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
        Self {
            neighbours: NodeLists::new(n_nodes, both),
            predecessors: NodeLists::new(n_nodes, backward),
            successors: NodeLists::new(n_nodes, forward),
            graph_offsets,
            membership: OnceLock::new(),
            padded_rows: OnceLock::new(),
        }
    }

    /// Number of nodes of all graphs together.
    pub fn n_nodes(&self) -> usize {
        self.graph_offsets.last().copied().unwrap_or(0) as usize
    }

    /// Number of graphs.
    pub fn n_graphs(&self) -> usize {
        self.graph_offsets.len() - 1
    }

    /// Row range of each graph.
    pub fn graphs(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.graph_offsets
            .windows(2)
            .map(|w| w[0] as usize..w[1] as usize)
    }

    /// `[n_graphs, n_nodes]`: 1 if the node belongs to the graph. Made on first use and cached.
    pub fn membership(&self, device: &Device) -> &Tensor<2> {
        self.membership.get_or_init(|| {
            let shape = [self.n_graphs(), self.n_nodes()];
            let mut values = vec![0f32; shape[0] * shape[1]];
            for (graph, rows) in self.graphs().enumerate() {
                values[graph * shape[1]..][rows].fill(1.0);
            }
            Tensor::from_data(TensorData::new(values, shape), device)
        })
    }

    /// Made on first use and cached.
    pub fn padded_rows(&self, device: &Device) -> &PaddedRows {
        self.padded_rows.get_or_init(|| {
            let longest = self.graphs().map(|rows| rows.len()).max().unwrap_or(0);
            let pad = self.n_nodes() as u32;
            let padded = self.graphs().flat_map(|rows| {
                let filler = longest - rows.len();
                rows.map(|r| r as u32)
                    .chain(std::iter::repeat_n(pad, filler))
            });
            PaddedRows {
                rows: int_tensor(padded, device),
                longest,
            }
        })
    }
}

fn int_tensor(values: impl Iterator<Item = u32>, device: &Device) -> Tensor<1, Int> {
    let values: Vec<i32> = values.map(|v| v as i32).collect();
    let n = values.len();
    Tensor::from_data(TensorData::new(values, [n]), device)
}

/// Nodes of one category in a [`Batch`].
#[derive(Debug)]
pub struct CategoryRows {
    /// Index of the category in the vocabulary.
    pub category: usize,
    /// `[n, n_columns]`, standardised.
    pub features: Tensor<2>,
}

/// The input of one forward pass.
#[derive(Debug)]
pub struct Batch {
    /// Present categories only, ascending.
    pub categories: Vec<CategoryRows>,
    /// `[n_nodes]`: row of each node in the concatenation of `categories`.
    pub row_of_node: Tensor<1, Int>,
    /// Edges of all graphs.
    pub topology: Arc<Topology>,
    /// `[n_nodes, N_AMOUNTS]`: [`WholeGraph::shares`](super::whole_graph::WholeGraph::shares).
    pub shares: Tensor<2>,
    /// `[n_graphs, N_GLOBALS]`: [`WholeGraph::globals`](super::whole_graph::WholeGraph::globals), standardised.
    pub globals: Tensor<2>,
    /// `[n_nodes, n_outputs]` in natural units: the costs by the compiler's rules, 0 without rules.
    pub planned: Tensor<2>,
    /// `[n_graphs, n_outputs]` in natural units; 1 without a label.
    pub labels: Tensor<2>,
    /// `[n_graphs, n_outputs]`: 1 with a label, 0 without.
    pub has_label: Tensor<2>,
    /// `[n_nodes, n_outputs]`: the same for labels of operators.
    pub operator_labels: Tensor<2>,
    /// `[n_nodes, n_outputs]`: 1 with such a label, 0 without.
    pub has_operator_label: Tensor<2>,
    /// `[n_nodes, n_outputs]`: the label of each node's graph; 1 without a label.
    pub graph_label_of_node: Tensor<2>,
}

impl Batch {
    /// Joins examples into one graph without edges between them. Linear in nodes and edges.
    pub fn new(examples: &[&Example], n_columns: usize, device: &Device) -> Self {
        Self::with_categories(examples, &node_categories(examples), n_columns, device)
    }

    /// Like [`Batch::new`], but each category of each graph is treated as unknown with probability `rate`, so that
    /// index 0 learns to represent operators that do not occur in training.
    pub fn with_dropout(
        examples: &[&Example],
        rate: f64,
        rng: &mut impl Rng,
        n_columns: usize,
        device: &Device,
    ) -> Self {
        let mut categories = Vec::new();
        for example in examples {
            let n_categories = example.categories.iter().max().map_or(0, |c| c + 1);
            let dropped: Vec<bool> = (0..n_categories).map(|_| rng.random_bool(rate)).collect();
            let keep = |&c: &usize| if dropped[c] { 0 } else { c };
            categories.extend(example.categories.iter().map(keep));
        }
        Self::with_categories(examples, &categories, n_columns, device)
    }

    fn with_categories(
        examples: &[&Example],
        categories: &[usize],
        n_columns: usize,
        device: &Device,
    ) -> Self {
        let n_nodes = categories.len();
        let mut order: Vec<usize> = (0..n_nodes).collect();
        order.sort_by_key(|&node| categories[node]);
        let mut row_of_node = vec![0u32; n_nodes];
        order
            .iter()
            .zip(0..)
            .for_each(|(&node, row)| row_of_node[node] = row);
        let rows: Vec<&[f32]> = examples
            .iter()
            .flat_map(|e| e.nodes.chunks_exact(n_columns))
            .collect();
        let groups = order.chunk_by(|&a, &b| categories[a] == categories[b]);
        let n_outputs = examples.first().map_or(0, |e| e.labels.len());
        let rows_of = |values: fn(&Example) -> &[f32]| {
            let values = examples.iter().flat_map(move |e| values(e).iter().copied());
            label_tensors(values, n_outputs, device)
        };
        let (planned, _) = rows_of(|e| &e.planned);
        let (labels, has_label) = rows_of(|e| &e.labels);
        let (operator_labels, has_operator_label) = rows_of(|e| &e.operator_labels);
        let repeated = examples.iter().flat_map(|e| {
            let rows = std::iter::repeat_n(&e.labels, e.n_nodes());
            rows.flatten().copied()
        });
        let (graph_label_of_node, _) = label_tensors(repeated, n_outputs, device);
        Self {
            categories: groups
                .map(|nodes| CategoryRows {
                    category: categories[nodes[0]],
                    features: gather_rows(&rows, nodes, n_columns, device),
                })
                .collect(),
            row_of_node: int_tensor(row_of_node.into_iter(), device),
            topology: Arc::new(topology(examples)),
            shares: side_by_side(examples, N_AMOUNTS, |e| &e.whole.shares, device),
            globals: side_by_side(examples, N_GLOBALS, |e| &e.whole.globals, device),
            planned,
            labels,
            has_label,
            operator_labels,
            has_operator_label,
            graph_label_of_node,
        }
    }

    /// `[n_nodes, n_columns]`, standardised.
    pub fn features(&self) -> Tensor<2> {
        let rows = self.categories.iter().map(|rows| rows.features.clone());
        Tensor::cat(rows.collect(), 0).select(0, self.row_of_node.clone())
    }

    /// `[n_nodes, n_kinds]`: 1 in the column of each node's category, all of which are below `n_kinds`.
    pub fn kinds(&self, n_kinds: usize) -> Tensor<2> {
        let one_hot = self.categories.iter().flat_map(|rows| {
            let [n, _] = rows.features.dims();
            let row = (0..n_kinds).map(move |kind| f32::from(u8::from(kind == rows.category)));
            std::iter::repeat_n(row, n).flatten()
        });
        let shape = [self.topology.n_nodes(), n_kinds];
        let one_hot = TensorData::new(one_hot.collect(), shape);
        let one_hot = Tensor::from_data(one_hot, &self.row_of_node.device());
        one_hot.select(0, self.row_of_node.clone())
    }
}

fn node_categories(examples: &[&Example]) -> Vec<usize> {
    examples
        .iter()
        .flat_map(|e| e.categories.iter().copied())
        .collect()
}

fn gather_rows(rows: &[&[f32]], nodes: &[usize], n_columns: usize, device: &Device) -> Tensor<2> {
    let values: Vec<f32> = nodes
        .iter()
        .flat_map(|&node| rows[node].iter().copied())
        .collect();
    Tensor::from_data(TensorData::new(values, [nodes.len(), n_columns]), device)
}

/// `[rows, width]`: the rows of all examples, one example after the other.
fn side_by_side(
    examples: &[&Example],
    width: usize,
    rows: fn(&Example) -> &[f32],
    device: &Device,
) -> Tensor<2> {
    let values: Vec<f32> = examples.iter().flat_map(|e| rows(e)).copied().collect();
    let shape = [values.len() / width, width];
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn topology(examples: &[&Example]) -> Topology {
    let mut graph_offsets = vec![0u32];
    let mut edges = Vec::new();
    let mut first = 0u32;
    for example in examples {
        let ends = example.edge_src.iter().zip(&example.edge_dst);
        edges.extend(ends.map(|(src, dst)| (first + src, first + dst)));
        first += example.n_nodes() as u32;
        graph_offsets.push(first);
    }
    Topology::new(graph_offsets, &edges)
}

/// Labels, and whether there is one; NaN in `rows` means that there is none.
fn label_tensors(
    values: impl Iterator<Item = f32>,
    n_outputs: usize,
    device: &Device,
) -> (Tensor<2>, Tensor<2>) {
    let values: Vec<f32> = values.collect();
    let shape = [values.len() / n_outputs.max(1), n_outputs];
    let labels: Vec<f32> = values
        .iter()
        .map(|&y| if y.is_nan() { 1.0 } else { y })
        .collect();
    let has_label: Vec<f32> = values
        .iter()
        .map(|y| if y.is_nan() { 0.0 } else { 1.0 })
        .collect();
    (
        Tensor::from_data(TensorData::new(labels, shape), device),
        Tensor::from_data(TensorData::new(has_label, shape), device),
    )
}
