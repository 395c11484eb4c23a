//! Features of a whole graph, and the share of each operator in them, computed from the features of the operators. They
//! are inputs of PerfSeer's network.

use litecast::learned::features::{COLUMNS, Features};
use serde::{Deserialize, Serialize};

/// Amounts of an operator of which its share in the graph is a feature: multiply-accumulates, bytes moved (read,
/// written and weights), bytes of weights.
pub const N_AMOUNTS: usize = 3;

/// Nodes, edges, and edges relative to all pairs; the sum, mean, median and maximum of each amount over operators; mean
/// bytes of an edge; multiply-accumulates per byte moved.
pub const N_GLOBALS: usize = 3 + 4 * N_AMOUNTS + 2;

/// Features of an edge: bytes and shape.
pub const N_EDGE_COLUMNS: usize = 5;

/// Upper limit of an amount's logarithm; the exponential of more would overflow.
pub const MAX_LOG_AMOUNT: f32 = 60.0;

/// The columns of a feature table that are used by their meaning.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Columns {
    /// Number of columns of the table.
    pub n: usize,
    /// Columns of amounts, as ln(1 + x).
    pub macs: usize,
    /// Column with the bytes of weights.
    pub weight_bytes: usize,
    /// Column with the bytes of inputs.
    pub input_bytes: usize,
    /// Column with the bytes of outputs.
    pub output_bytes: usize,
    /// Columns of the first output's shape: outermost dimensions, height, width, channels.
    pub output_shape: [usize; 4],
}

impl Columns {
    /// The columns of [`COLUMNS`].
    pub fn from_table() -> Self {
        let named = |name: &str| {
            let column = COLUMNS.iter().position(|column| column.name == name);
            column.expect("the table has the columns that are named here")
        };
        Self {
            n: COLUMNS.len(),
            macs: named("log1p_macs"),
            weight_bytes: named("log1p_weight_bytes"),
            input_bytes: named("log1p_input_bytes"),
            output_bytes: named("log1p_output_bytes"),
            output_shape: ["n", "h", "w", "c"].map(|dim| named(&format!("log1p_out_{dim}"))),
        }
    }

    /// Columns that describe the tensor between an operator and its readers.
    pub fn edge_columns(&self) -> [usize; N_EDGE_COLUMNS] {
        let [n, h, w, c] = self.output_shape;
        [self.output_bytes, n, h, w, c]
    }

    /// The amounts of an operator with these features.
    fn amounts(&self, row: &[f32]) -> [f32; N_AMOUNTS] {
        let [macs, weights, read, written] = [
            self.macs,
            self.weight_bytes,
            self.input_bytes,
            self.output_bytes,
        ]
        .map(|column| amount(row[column]));
        [macs, read + written + weights, weights]
    }
}

/// ln(1 + amount) → amount.
pub fn amount(log1p: f32) -> f32 {
    log1p.clamp(0.0, MAX_LOG_AMOUNT).exp_m1()
}

/// The features of one graph as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WholeGraph {
    /// Row-major `[n_nodes, N_AMOUNTS]`: each operator's share of its graph's amounts, 0 if the graph's amount is 0.
    pub shares: Vec<f32>,
    /// [`N_GLOBALS`] values: counts and density unchanged, amounts as ln(1 + x).
    pub globals: Vec<f32>,
}

impl WholeGraph {
    /// Linear in nodes and edges, except for sorting.
    pub fn new(features: &Features, columns: &Columns) -> Self {
        let rows = features.nodes.chunks_exact(columns.n);
        let amounts: Vec<[f32; N_AMOUNTS]> = rows.map(|row| columns.amounts(row)).collect();
        let totals: [f32; N_AMOUNTS] =
            std::array::from_fn(|k| amounts.iter().map(|amounts| amounts[k]).sum());
        let share = |amounts: &[f32; N_AMOUNTS]| {
            let share = |k: usize| amounts[k] / totals[k].max(1.0);
            std::array::from_fn::<f32, N_AMOUNTS, _>(share)
        };
        Self {
            shares: amounts.iter().flat_map(share).collect(),
            globals: globals(features, columns, &amounts, totals),
        }
    }
}

fn globals(
    features: &Features,
    columns: &Columns,
    amounts: &[[f32; N_AMOUNTS]],
    totals: [f32; N_AMOUNTS],
) -> Vec<f32> {
    let n_nodes = features.n_nodes() as f32;
    let n_edges = features.edge_src.len() as f32;
    let mut sorted: [Vec<f32>; N_AMOUNTS] =
        std::array::from_fn(|k| amounts.iter().map(|amounts| amounts[k]).collect());
    sorted.iter_mut().for_each(|v| v.sort_by(f32::total_cmp));
    // If the number is even, the smaller of the two middle values.
    let median = |values: &Vec<f32>| values.get(values.len().saturating_sub(1) / 2).copied();
    let written =
        |&src: &u32| amount(features.nodes[src as usize * columns.n + columns.output_bytes]);
    let edge_bytes: f32 = features.edge_src.iter().map(written).sum();

    let mut globals = vec![
        n_nodes,
        n_edges,
        n_edges / (n_nodes * (n_nodes - 1.0)).max(1.0),
    ];
    let mut tell = |amounts: &[f32]| globals.extend(amounts.iter().map(|amount| amount.ln_1p()));
    tell(&totals);
    tell(&totals.map(|total| total / n_nodes.max(1.0)));
    tell(&sorted.each_ref().map(|v| median(v).unwrap_or(0.0)));
    tell(&sorted.each_ref().map(|v| v.last().copied().unwrap_or(0.0)));
    tell(&[edge_bytes / n_edges.max(1.0)]);
    tell(&[totals[0] / totals[1].max(1.0)]);
    globals
}
