//! Examples → [`Batch`]: several graphs side by side as one graph of separate parts.

use std::sync::{Arc, OnceLock};

use burn::tensor::{Device, Int, Tensor, TensorData};
use rand::Rng;

use super::prepare::Example;

/// Who neighbours whom, and which rows belong to which graph.
#[derive(Debug)]
pub struct Topology {
    /// Neighbours of node i, both directions: `neighbours[offsets[i]..offsets[i + 1]]`.
    pub offsets: Vec<u32>,
    pub neighbours: Vec<u32>,
    /// Rows of graph g: `graph_offsets[g]..graph_offsets[g + 1]`.
    pub graph_offsets: Vec<u32>,
    indices: OnceLock<Indices>,
}

/// The same as index tensors, for devices that have no kernels of ours.
#[derive(Debug)]
pub struct Indices {
    /// `[2 * n_edges]`: node read, and node added to.
    pub from: Tensor<1, Int>,
    pub to: Tensor<1, Int>,
    /// `[n_graphs * longest]`: rows of each graph, padded with `n_nodes`.
    pub padded_rows: Tensor<1, Int>,
    pub longest: usize,
}

impl Topology {
    pub fn new(graph_offsets: Vec<u32>, edges: &[(u32, u32)]) -> Self {
        let n_nodes = graph_offsets.last().copied().unwrap_or(0) as usize;
        let both = || edges.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
        let mut offsets = vec![0u32; n_nodes + 1];
        both().for_each(|(node, _)| offsets[node as usize + 1] += 1);
        for i in 0..n_nodes {
            offsets[i + 1] += offsets[i];
        }
        let mut next = offsets.clone();
        let mut neighbours = vec![0u32; 2 * edges.len()];
        for (node, neighbour) in both() {
            neighbours[next[node as usize] as usize] = neighbour;
            next[node as usize] += 1;
        }
        Self {
            offsets,
            neighbours,
            graph_offsets,
            indices: OnceLock::new(),
        }
    }

    pub fn n_nodes(&self) -> usize {
        self.offsets.len() - 1
    }

    pub fn n_graphs(&self) -> usize {
        self.graph_offsets.len() - 1
    }

    pub fn neighbours_of(&self, node: usize) -> &[u32] {
        &self.neighbours[self.offsets[node] as usize..self.offsets[node + 1] as usize]
    }

    /// Row range of each graph.
    pub fn graphs(&self) -> impl Iterator<Item = std::ops::Range<usize>> + '_ {
        self.graph_offsets
            .windows(2)
            .map(|w| w[0] as usize..w[1] as usize)
    }

    /// Made on first use and kept.
    pub fn indices(&self, device: &Device) -> &Indices {
        self.indices.get_or_init(|| {
            let ends = (0..self.n_nodes())
                .flat_map(|i| self.neighbours_of(i).iter().map(move |_| i as u32));
            let longest = self.graphs().map(|rows| rows.len()).max().unwrap_or(0);
            let pad = self.n_nodes() as u32;
            let padded = self.graphs().flat_map(|rows| {
                let filler = longest - rows.len();
                rows.map(|r| r as u32)
                    .chain(std::iter::repeat_n(pad, filler))
            });
            Indices {
                from: int_tensor(self.neighbours.iter().copied(), device),
                to: int_tensor(ends, device),
                padded_rows: int_tensor(padded, device),
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
    pub category: usize,
    /// `[n, n_columns]`, standardised.
    pub features: Tensor<2>,
}

/// What one forward pass takes.
#[derive(Debug)]
pub struct Batch {
    /// Present categories only, ascending.
    pub categories: Vec<CategoryRows>,
    /// `[n_nodes]`: row of each node in the concatenation of `categories`.
    pub row_of_node: Tensor<1, Int>,
    pub topology: Arc<Topology>,
    /// `[n_graphs, n_outputs]` natural units; 1 where there is no label.
    pub labels: Tensor<2>,
    /// `[n_graphs, n_outputs]`: 1 where there is a label, else 0.
    pub has_label: Tensor<2>,
}

impl Batch {
    pub fn new(examples: &[&Example], n_columns: usize, device: &Device) -> Self {
        Self::with_categories(examples, &node_categories(examples), n_columns, device)
    }

    /// As [`Batch::new`], with each category of each graph treated as unknown with probability
    /// `rate`, so that index 0 learns to stand for operators that training never saw.
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
        let (labels, has_label) = label_tensors(examples, device);
        Self {
            categories: groups
                .map(|nodes| CategoryRows {
                    category: categories[nodes[0]],
                    features: gather_rows(&rows, nodes, n_columns, device),
                })
                .collect(),
            row_of_node: int_tensor(row_of_node.into_iter(), device),
            topology: Arc::new(topology(examples)),
            labels,
            has_label,
        }
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

fn label_tensors(examples: &[&Example], device: &Device) -> (Tensor<2>, Tensor<2>) {
    let shape = [
        examples.len(),
        examples.first().map_or(0, |e| e.labels.len()),
    ];
    let all = || examples.iter().flat_map(|e| e.labels.iter().copied());
    let labels: Vec<f32> = all().map(|y| if y.is_nan() { 1.0 } else { y }).collect();
    let has_label: Vec<f32> = all().map(|y| if y.is_nan() { 0.0 } else { 1.0 }).collect();
    (
        Tensor::from_data(TensorData::new(labels, shape), device),
        Tensor::from_data(TensorData::new(has_label, shape), device),
    )
}
