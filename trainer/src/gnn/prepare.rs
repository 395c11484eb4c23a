//! Features and labels of a graph → [`Example`]: categories as vocabulary indices, columns and
//! labels scaled by constants of the training graphs.

use litecast::features::Features;
use serde::{Deserialize, Serialize};

/// Standardised columns are cut off here, so that a graph unlike any in training cannot drive
/// the network to infinity.
pub const MAX_DEVIATIONS: f32 = 10.0;

/// A column that varies less than this in training is ignored.
const MIN_STD: f32 = 1e-6;

/// The operator kinds that have weights of their own. Index 0 stands for every other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vocabulary {
    /// `BuiltinOperator` number of each index; entry 0 is -1.
    pub codes: Vec<i32>,
}

impl Vocabulary {
    /// Every kind that occurs in `graphs`, ascending.
    pub fn fit<'a>(graphs: impl Iterator<Item = &'a Features>) -> Self {
        let mut codes: Vec<i32> = graphs.flat_map(|g| g.categories.iter().copied()).collect();
        codes.push(-1);
        codes.sort_unstable();
        codes.dedup();
        Self { codes }
    }

    pub fn len(&self) -> usize {
        self.codes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    pub fn index(&self, code: i32) -> usize {
        self.codes.binary_search(&code).unwrap_or(0)
    }
}

/// Mean and standard deviation of each column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standard {
    pub mean: Vec<f32>,
    pub std: Vec<f32>,
}

impl Standard {
    /// Over rows of `n_columns` values; NaN entries do not count.
    pub fn fit<'a>(n_columns: usize, rows: impl Iterator<Item = &'a [f32]>) -> Self {
        let mut count = vec![0f64; n_columns];
        let mut sum = vec![0f64; n_columns];
        let mut square = vec![0f64; n_columns];
        for row in rows {
            for (column, &value) in row.iter().enumerate().filter(|(_, v)| !v.is_nan()) {
                count[column] += 1.0;
                sum[column] += f64::from(value);
                square[column] += f64::from(value) * f64::from(value);
            }
        }
        let mean: Vec<f64> = sum
            .iter()
            .zip(&count)
            .map(|(s, n)| s / n.max(1.0))
            .collect();
        let spread = |column: usize| {
            let variance = square[column] / count[column].max(1.0) - mean[column] * mean[column];
            variance.max(0.0).sqrt() as f32
        };
        let std = (0..n_columns).map(spread).collect();
        Self {
            mean: mean.iter().map(|&m| m as f32).collect(),
            std,
        }
    }

    /// Factor of each column: 0 for a column that did not vary in training.
    pub fn inverse_std(&self) -> Vec<f32> {
        let inverse = |&std: &f32| if std < MIN_STD { 0.0 } else { 1.0 / std };
        self.std.iter().map(inverse).collect()
    }
}

/// Constants of the training graphs that belong to the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    pub vocabulary: Vocabulary,
    pub features: Standard,
    /// Of the logarithm of the labels.
    pub log_labels: Standard,
    /// Mean label of each output: the unit of the loss's absolute term.
    pub mean_label: Vec<f32>,
}

/// Labels of a graph in natural units, one per output; NaN where there is none.
pub type Labels = Vec<f32>;

impl Scaling {
    /// Fits to the training graphs. All labels must be positive or NaN.
    pub fn fit(n_columns: usize, graphs: &[(&Features, &Labels)]) -> Self {
        let n_outputs = graphs.first().map_or(0, |(_, labels)| labels.len());
        let rows = graphs
            .iter()
            .flat_map(|(f, _)| f.nodes.chunks_exact(n_columns));
        let logs: Vec<Vec<f32>> = graphs
            .iter()
            .map(|(_, labels)| labels.iter().map(|y| y.ln()).collect())
            .collect();
        let labels = Standard::fit(
            n_outputs,
            graphs.iter().map(|(_, labels)| labels.as_slice()),
        );
        Self {
            vocabulary: Vocabulary::fit(graphs.iter().map(|(f, _)| *f)),
            features: Standard::fit(n_columns, rows),
            log_labels: Standard::fit(n_outputs, logs.iter().map(Vec::as_slice)),
            mean_label: labels.mean,
        }
    }

    pub fn n_columns(&self) -> usize {
        self.features.mean.len()
    }

    pub fn n_outputs(&self) -> usize {
        self.mean_label.len()
    }

    /// A graph as the network takes it.
    pub fn example(&self, features: &Features, labels: &[f32]) -> Example {
        let inverse_std = self.features.inverse_std();
        let scale = |(column, value): (usize, &f32)| {
            let scaled = (value - self.features.mean[column]) * inverse_std[column];
            scaled.clamp(-MAX_DEVIATIONS, MAX_DEVIATIONS)
        };
        let rows = features.nodes.chunks_exact(self.n_columns());
        Example {
            categories: features
                .categories
                .iter()
                .map(|&c| self.vocabulary.index(c))
                .collect(),
            nodes: rows
                .flat_map(|row| row.iter().enumerate().map(scale))
                .collect(),
            edge_src: features.edge_src.clone(),
            edge_dst: features.edge_dst.clone(),
            labels: labels.to_vec(),
        }
    }

    /// The network's output of one graph in natural units.
    pub fn estimate(&self, output: usize, standardised: f32) -> f32 {
        (self.log_labels.mean[output] + self.log_labels.std[output] * standardised).exp()
    }
}

/// One graph, scaled.
#[derive(Clone, Debug)]
pub struct Example {
    /// Vocabulary index of each node.
    pub categories: Vec<usize>,
    /// Row-major `[n_nodes, n_columns]`, standardised.
    pub nodes: Vec<f32>,
    pub edge_src: Vec<u32>,
    pub edge_dst: Vec<u32>,
    /// Natural units; NaN where there is none.
    pub labels: Labels,
}

impl Example {
    pub fn n_nodes(&self) -> usize {
        self.categories.len()
    }
}
