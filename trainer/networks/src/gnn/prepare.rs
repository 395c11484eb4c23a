//! Features and labels of a graph → [`Example`]: categories as vocabulary indices, columns and
//! labels scaled by constants of the training graphs.

use burn::tensor::{Device, Tensor};
use litecast::learned::features::Features;
use serde::{Deserialize, Serialize};

use super::whole_graph::{Columns, N_GLOBALS, WholeGraph, amount};

/// Standardised columns are limited to this, so that a graph unlike any in training cannot lead to infinite values.
pub const MAX_DEVIATIONS: f32 = 10.0;

/// A column that varies less than this in training is ignored.
const MIN_STD: f32 = 1e-6;

/// The operator kinds that have their own weights. Index 0 represents all others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Vocabulary {
    /// `BuiltinOperator` number of each index; entry 0 is -1.
    pub codes: Vec<i32>,
}

impl Vocabulary {
    /// All kinds that occur in `graphs`, ascending.
    pub fn fit<'a>(graphs: impl Iterator<Item = &'a Features>) -> Self {
        let mut codes: Vec<i32> = graphs.flat_map(|g| g.categories.iter().copied()).collect();
        codes.push(-1);
        codes.sort_unstable();
        codes.dedup();
        Self { codes }
    }

    /// Number of categories, with that of unknown codes.
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there is no category.
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// Index of an operator code; that of unknown codes if it was not in training.
    pub fn index(&self, code: i32) -> usize {
        self.codes.binary_search(&code).unwrap_or(0)
    }
}

/// Mean and standard deviation of each column.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ColumnScaling {
    /// Mean of each column over the training nodes.
    pub mean: Vec<f32>,
    /// ColumnScaling deviation of each column; 1 where the column is constant.
    pub std: Vec<f32>,
}

/// `[1, n]`.
pub(super) fn row(values: &[f32], device: &Device) -> Tensor<2> {
    Tensor::<1>::from_floats(values, device).unsqueeze()
}

impl ColumnScaling {
    /// Fits to rows of `n_columns` values; NaN entries do not count.
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

    /// Replaces columns that do not vary by those of `other`.
    fn or_where_constant(self, other: &Self) -> Self {
        let varies: Vec<bool> = self.std.iter().map(|&std| std >= MIN_STD).collect();
        let choose = |value: Vec<f32>, other: &[f32]| {
            let values = value.into_iter().zip(other).zip(&varies);
            values
                .map(|((value, &other), &varies)| if varies { value } else { other })
                .collect()
        };
        Self {
            mean: choose(self.mean, &other.mean),
            std: choose(self.std, &other.std),
        }
    }

    /// Treats columns as if they did not vary in training.
    pub fn hide(&mut self, columns: &[usize]) {
        columns.iter().for_each(|&column| self.std[column] = 0.0);
    }

    /// Rows of values as deviations from the mean.
    pub fn standardise(&self, values: Tensor<2>) -> Tensor<2> {
        let device = values.device();
        (values - row(&self.mean, &device)) / row(&self.std, &device)
    }

    /// The inverse of [`Self::standardise`].
    pub fn restore(&self, deviations: Tensor<2>) -> Tensor<2> {
        let device = deviations.device();
        deviations * row(&self.std, &device) + row(&self.mean, &device)
    }

    /// Rows of deviations from the mean in row-major order, limited to [`MAX_DEVIATIONS`]; 0 in a column that did not
    /// vary in training.
    fn scaled(&self, rows: &[f32]) -> Vec<f32> {
        let inverse_std = self.inverse_std();
        let scale = |(column, value): (usize, &f32)| {
            let scaled = (value - self.mean[column]) * inverse_std[column];
            scaled.clamp(-MAX_DEVIATIONS, MAX_DEVIATIONS)
        };
        rows.chunks_exact(self.mean.len())
            .flat_map(|row| row.iter().enumerate().map(scale))
            .collect()
    }

    /// Factor of each column: 0 for a column that did not vary in training.
    pub fn inverse_std(&self) -> Vec<f32> {
        let inverse = |&std: &f32| if std < MIN_STD { 0.0 } else { 1.0 / std };
        self.std.iter().map(inverse).collect()
    }
}

/// The way in which a graph's estimate follows from its operators' estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Readout {
    /// The sum over operators.
    Sum,
    /// The largest operator.
    Max,
}

/// The properties of each output that are known before training.
#[derive(Clone, Debug)]
pub struct OutputRules {
    /// Readout of each output.
    pub readouts: Vec<Readout>,
    /// Upper limit of an operator's estimate.
    pub ceilings: Vec<f32>,
    /// Column of the features with the cost of each operator by the compiler's rules, as ln(1 + x); `None` without
    /// rules.
    pub planned_columns: Vec<Option<usize>>,
}

/// The costs of an output by the compiler's rules.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Index of the feature column.
    pub column: usize,
    /// Natural units of the output per unit of the column.
    pub unit: f32,
}

impl Plan {
    /// The unit is the median over the operators that have both values.
    fn fit(
        n_columns: usize,
        column: usize,
        output: usize,
        graphs: &[(&Features, &Labels)],
    ) -> Self {
        let ratios_of = |&(features, labels): &(&Features, &Labels)| {
            let rows = features.nodes.chunks_exact(n_columns);
            let n_outputs = labels.graph.len();
            let labels = labels.operators.iter().skip(output).step_by(n_outputs);
            let pairs = rows.map(move |row| row[column].exp_m1()).zip(labels);
            let is_there = |&(planned, &label): &(f32, &f32)| planned > 0.0 && label > 0.0;
            let ratio = |(planned, &label): (f32, &f32)| label / planned;
            pairs.filter(is_there).map(ratio).collect::<Vec<f32>>()
        };
        let mut ratios: Vec<f32> = graphs.iter().flat_map(ratios_of).collect();
        let middle = ratios.len() / 2;
        let unit = if ratios.is_empty() {
            0.0
        } else {
            *ratios.select_nth_unstable_by(middle, f32::total_cmp).1
        };
        Self { column, unit }
    }

    /// The cost of an operator with these features.
    fn cost(&self, row: &[f32]) -> f32 {
        amount(row[self.column]) * self.unit
    }
}

/// Constants that are fitted to the training graphs and belong to the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// Columns that the network reads.
    pub columns: Columns,
    /// Operator codes that have a category.
    pub vocabulary: Vocabulary,
    /// Mean and spread of the columns.
    pub features: ColumnScaling,
    /// Scaling of [`WholeGraph::globals`].
    pub globals: ColumnScaling,
    /// Scaling of the logarithms of the labels.
    pub log_labels: ColumnScaling,
    /// Scaling of the logarithms of the operators' labels that are not 0.
    pub operator_logs: ColumnScaling,
    /// By output.
    pub readouts: Vec<Readout>,
    /// By output, the upper limit of an operator's estimate, for example the size of the memory.
    pub ceilings: Vec<f32>,
    /// By output, the costs by the compiler's rules; `None` without rules.
    pub plans: Vec<Option<Plan>>,
    /// By output, the mean label: the unit of the loss's absolute term.
    pub mean_label: Vec<f32>,
    /// By output, the weight of a graph's label in the loss; larger if few graphs have one.
    pub label_weights: Vec<f32>,
}

/// Maximum weight of a label of a target for which few graphs were labelled.
const MAX_LABEL_WEIGHT: f32 = 8.0;

/// Weights by output; 1 for the outputs with the most labels.
fn label_weights(rows: &[Vec<f32>], n_outputs: usize) -> Vec<f32> {
    let count = |output: usize| rows.iter().filter(|row| !row[output].is_nan()).count();
    let counts: Vec<f32> = (0..n_outputs).map(|output| count(output) as f32).collect();
    let most = counts.iter().copied().fold(0.0, f32::max);
    let weight = |count: f32| (most / count.max(1.0)).clamp(1.0, MAX_LABEL_WEIGHT);
    counts.into_iter().map(weight).collect()
}

/// Labels of a graph in natural units; NaN without a label.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    /// By output.
    pub graph: Vec<f32>,
    /// Row-major `[n_nodes, n_outputs]`: each operator's part of the graph's label, or the memory that it uses.
    pub operators: Vec<f32>,
}

impl Labels {
    /// The labels of a graph without labels.
    pub fn none(n_nodes: usize, n_outputs: usize) -> Self {
        Self {
            graph: vec![f32::NAN; n_outputs],
            operators: vec![f32::NAN; n_nodes * n_outputs],
        }
    }
}

impl Scaling {
    /// Fits to the training graphs. Labels of graphs must be positive or NaN, labels of operators not negative or NaN.
    pub fn fit(columns: Columns, rules: OutputRules, graphs: &[(&Features, &Labels)]) -> Self {
        let n_outputs = rules.readouts.len();
        let n_columns = columns.n;
        let rows = graphs
            .iter()
            .flat_map(|(f, _)| f.nodes.chunks_exact(n_columns));
        let logs: Vec<Vec<f32>> = graphs
            .iter()
            .map(|(_, labels)| labels.graph.iter().map(|y| y.ln()).collect())
            .collect();
        let labels = ColumnScaling::fit(
            n_outputs,
            graphs.iter().map(|(_, labels)| labels.graph.as_slice()),
        );
        // The logarithm of 0 cannot be averaged.
        let log = |&y: &f32| if y > 0.0 { y.ln() } else { f32::NAN };
        let operator_logs: Vec<f32> = graphs
            .iter()
            .flat_map(|(_, labels)| labels.operators.iter().map(log))
            .collect();
        let log_labels = ColumnScaling::fit(n_outputs, logs.iter().map(Vec::as_slice));
        let even = graphs.iter().zip(&logs).map(|((features, _), logs)| {
            let n_nodes = features.n_nodes().max(1) as f32;
            let part = |(log, readout): (&f32, &Readout)| match readout {
                Readout::Sum => log - n_nodes.ln(),
                Readout::Max => *log,
            };
            logs.iter().zip(&rules.readouts).map(part).collect()
        });
        let even: Vec<Vec<f32>> = even.collect();
        let even = ColumnScaling::fit(n_outputs, even.iter().map(Vec::as_slice));
        let globals = graphs
            .iter()
            .map(|(f, _)| WholeGraph::new(f, &columns).globals);
        let globals: Vec<Vec<f32>> = globals.collect();
        let operator_logs = ColumnScaling::fit(n_outputs, operator_logs.chunks_exact(n_outputs));
        Self {
            vocabulary: Vocabulary::fit(graphs.iter().map(|(f, _)| *f)),
            features: ColumnScaling::fit(n_columns, rows),
            globals: ColumnScaling::fit(N_GLOBALS, globals.iter().map(Vec::as_slice)),
            // Outputs without labels of operators are trained on the graphs' labels only, and start with even parts of
            // them.
            operator_logs: operator_logs.or_where_constant(&even),
            label_weights: label_weights(&logs, n_outputs),
            log_labels,
            readouts: rules.readouts,
            ceilings: rules.ceilings,
            plans: (rules.planned_columns.iter().enumerate())
                .map(|(output, &column)| Some(Plan::fit(n_columns, column?, output, graphs)))
                .collect(),
            mean_label: labels.mean,
            columns,
        }
    }

    /// Number of columns that the network reads.
    pub fn n_columns(&self) -> usize {
        self.columns.n
    }

    /// Columns that varied in training and are not hidden.
    pub fn n_features(&self) -> usize {
        let factors = self.features.inverse_std().into_iter();
        factors.filter(|&factor| factor != 0.0).count()
    }

    /// Number of outputs.
    pub fn n_outputs(&self) -> usize {
        self.mean_label.len()
    }

    /// The input of the network for a graph.
    pub fn example(&self, features: &Features, labels: &Labels) -> Example {
        let rows = features.nodes.chunks_exact(self.n_columns());
        let whole = WholeGraph::new(features, &self.columns);
        Example {
            categories: features
                .categories
                .iter()
                .map(|&c| self.vocabulary.index(c))
                .collect(),
            nodes: self.features.scaled(&features.nodes),
            whole: WholeGraph {
                globals: self.globals.scaled(&whole.globals),
                ..whole
            },
            planned: rows.flat_map(|row| self.rule_costs(row)).collect(),
            edge_src: features.edge_src.clone(),
            edge_dst: features.edge_dst.clone(),
            labels: labels.graph.clone(),
            operator_labels: labels.operators.clone(),
        }
    }

    /// The same scaling with a loss in which only labels of these outputs count.
    pub fn with_outputs(&self, outputs: &[usize]) -> Self {
        let mut scaling = self.clone();
        let weights = scaling.label_weights.iter_mut().enumerate();
        weights
            .filter(|(output, _)| !outputs.contains(output))
            .for_each(|(_, weight)| *weight = 0.0);
        scaling
    }

    /// By output, the cost of an operator with these features by the compiler's rules; 0 without rules.
    fn rule_costs(&self, row: &[f32]) -> impl Iterator<Item = f32> {
        let plans = self.plans.iter();
        plans.map(|plan| plan.map_or(0.0, |plan| plan.cost(row)))
    }

    /// The estimate of one graph in natural units, from the network's output.
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
    /// Its globals are standardised.
    pub whole: WholeGraph,
    /// Row-major `[n_nodes, n_outputs]` in natural units: costs by the compiler's rules, 0 without rules.
    pub planned: Vec<f32>,
    /// Node that each edge starts from.
    pub edge_src: Vec<u32>,
    /// Node that each edge ends at, parallel to `edge_src`.
    pub edge_dst: Vec<u32>,
    /// By output, in natural units; NaN without a label.
    pub labels: Vec<f32>,
    /// Row-major `[n_nodes, n_outputs]`, like the labels.
    pub operator_labels: Vec<f32>,
}

impl Example {
    /// Number of nodes.
    pub fn n_nodes(&self) -> usize {
        self.categories.len()
    }
}
