//! Random graphs without meaning, for tests and for measurements of speed.

use litecast::learned::features::Features;
use rand::Rng;
use rand_distr::{Distribution, Normal};

use super::prepare::Labels;
use super::whole_graph::Columns;

/// Assigns the first columns of `n_columns` to the columns with a meaning.
pub fn columns(n_columns: usize) -> Columns {
    Columns {
        n: n_columns,
        macs: 0,
        weight_bytes: 1,
        input_bytes: 2,
        output_bytes: 3,
        output_shape: [1, 2, 4, 5],
    }
}

/// A chain of `n_nodes` operators with a skip edge every few nodes, `n_columns` normal columns
/// and categories below `n_categories`.
pub fn features(
    n_nodes: usize,
    n_columns: usize,
    n_categories: usize,
    rng: &mut impl Rng,
) -> Features {
    let normal = Normal::new(0.0f32, 1.0).expect("a deviation of 1 is valid");
    let mut edges: Vec<(u32, u32)> = (1..n_nodes as u32).map(|i| (i - 1, i)).collect();
    edges.extend((4..n_nodes as u32).step_by(4).map(|i| (i - 3, i)));
    Features {
        categories: (0..n_nodes)
            .map(|_| rng.random_range(0..n_categories as i32))
            .collect(),
        nodes: (0..n_nodes * n_columns)
            .map(|_| normal.sample(rng))
            .collect(),
        edge_src: edges.iter().map(|e| e.0).collect(),
        edge_dst: edges.iter().map(|e| e.1).collect(),
    }
}

/// Positive labels that depend on the graph: an operator's label is the exponential of one of its columns, and the
/// graph's label is their sum.
pub fn labels(features: &Features, n_columns: usize, n_outputs: usize) -> Labels {
    let rows = features.nodes.chunks_exact(n_columns);
    let operators: Vec<f32> = rows
        .flat_map(|row| (0..n_outputs).map(|output| row[output % n_columns].exp()))
        .collect();
    let total = |output| operators.iter().skip(output).step_by(n_outputs).sum();
    Labels {
        graph: (0..n_outputs).map(total).collect(),
        operators,
    }
}
