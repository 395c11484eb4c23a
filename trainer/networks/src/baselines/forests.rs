//! nn-Meter (MobiSys 2021): a random forest for each kind of kernel; a graph's latency is the sum over its kernels.
//!
//! As in nn-Meter, the inputs of a forest are hyperparameters, shapes, multiply-accumulates and parameters of a
//! kernel's main operator, each split considers most of the columns, and kernels of a kind that does not occur in
//! training cost nothing. The differences: rectangular windows and maps have both sides, kinds of operators that
//! nn-Meter does not know have the columns of a convolution, the number of fused operators is a column, and no further
//! kernels are sampled where the error is large, because the graphs are those of the network.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, ensure};
use litecast::learned::features::{Features, N_COLUMNS};

use super::floors;
use super::kernels::{FusionRules, Kernel};
use super::problem::Graph;
use crate::feature_columns::column;
use crate::forest::{FeatureRow, Forest, Growth};

/// A forest for each kind of kernel.
pub struct KernelForests {
    rules: FusionRules,
    columns: Vec<usize>,
    /// By `BuiltinOperator` number of the main operator.
    forests: BTreeMap<i32, Forest>,
}

impl KernelForests {
    /// Fits `output` of the graphs whose operators have labels. `is_needed` selects the kinds of kernels that get a
    /// forest; the others cost nothing.
    pub fn fit(
        graphs: &[Graph],
        output: usize,
        growth: Growth,
        is_needed: impl Fn(i32) -> bool,
    ) -> Result<Self> {
        let mut fitted = Self {
            rules: FusionRules::detect(graphs, output),
            columns: growth.columns.indices(),
            forests: BTreeMap::new(),
        };
        let mut kinds: BTreeMap<i32, (Vec<FeatureRow>, Vec<f64>)> = BTreeMap::new();
        for graph in graphs {
            let Some(costs) = graph.operator_labels(output) else {
                continue;
            };
            for kernel in fitted.rules.kernels(graph.features) {
                let kind = graph.features.categories[kernel.main];
                if is_needed(kind) {
                    let (rows, labels) = kinds.entry(kind).or_default();
                    rows.push(fitted.row(graph.features, &kernel));
                    labels.push(kernel.operators.iter().map(|&node| costs[node]).sum());
                }
            }
        }
        for (kind, (rows, costs)) in kinds {
            let forest = Forest::fit(&rows, costs, growth);
            let forest = forest.with_context(|| format!("kernels of operator kind {kind}"))?;
            fitted.forests.insert(kind, forest);
        }
        Ok(fitted)
    }

    /// Number of pairs of operator kinds that are fused.
    pub fn n_fused_pairs(&self) -> usize {
        self.rules.joins_writer.len() + self.rules.joins_reader.len()
    }

    /// Number of features of a kernel.
    pub fn n_features(&self) -> usize {
        self.columns.len() + 1
    }

    /// Number of forests, one for each kind of kernel.
    pub fn n_forests(&self) -> usize {
        self.forests.len()
    }

    fn row(&self, features: &Features, kernel: &Kernel) -> FeatureRow {
        let main = &features.nodes[kernel.main * N_COLUMNS..][..N_COLUMNS];
        let features = self.columns.iter().map(|&column| f64::from(main[column]));
        features.chain([kernel.operators.len() as f64]).collect()
    }

    /// The kernels of each graph with their estimated costs, in the unit of the labels.
    pub fn kernels(&self, graphs: &[&Features]) -> Result<Vec<Vec<(Kernel, f64)>>> {
        let mut kernels: Vec<Vec<(Kernel, f64)>> = graphs
            .iter()
            .map(|features| {
                let kernels = self.rules.kernels(features).into_iter();
                kernels.map(|kernel| (kernel, 0.0)).collect()
            })
            .collect();
        for (&kind, forest) in &self.forests {
            let mut of_kind = Vec::new();
            let mut rows = Vec::new();
            for (features, kernels) in graphs.iter().zip(&mut kernels) {
                for (kernel, cost) in kernels {
                    if features.categories[kernel.main] == kind {
                        rows.push(self.row(features, kernel));
                        of_kind.push(cost);
                    }
                }
            }
            let costs = forest.predict(rows)?;
            of_kind
                .into_iter()
                .zip(costs)
                .for_each(|(cost, estimate)| *cost = estimate);
        }
        Ok(kernels)
    }

    /// The sum over the kernels of each graph.
    pub fn estimates(&self, graphs: &[&Features]) -> Result<Vec<f32>> {
        let sum = |kernels: Vec<(Kernel, f64)>| kernels.iter().map(|k| k.1).sum::<f64>() as f32;
        Ok(self.kernels(graphs)?.into_iter().map(sum).collect())
    }
}

/// A forest on whole graphs: on their totals, the sizes of their values and the number of operators of each kind. It is
/// used for outputs that have labels of graphs only.
pub struct GraphForest {
    kinds: Vec<i32>,
    forest: Forest,
}

impl GraphForest {
    /// Fits the logarithms of an output's labels, because graphs differ by orders of magnitude.
    pub fn fit(graphs: &[Graph], output: usize, growth: Growth) -> Result<Self> {
        let labelled = || {
            graphs
                .iter()
                .filter_map(move |g| Some((g.features, g.label(output)?)))
        };
        let kinds: BTreeSet<i32> = labelled()
            .flat_map(|(features, _)| features.categories.iter().copied())
            .collect();
        let kinds: Vec<i32> = kinds.into_iter().collect();
        let rows: Vec<FeatureRow> = labelled()
            .map(|(features, _)| graph_row(features, &kinds))
            .collect();
        let logs: Vec<f64> = labelled().map(|(_, label)| label.ln()).collect();
        ensure!(!rows.is_empty(), "no training graph has a label");
        Ok(Self {
            forest: Forest::fit(&rows, logs, growth)?,
            kinds,
        })
    }

    /// Number of columns that the forest reads.
    pub fn n_features(&self) -> usize {
        self.forest.n_columns()
    }

    /// One estimate for each graph, in the unit of the label.
    pub fn estimates(&self, graphs: &[&Features]) -> Result<Vec<f32>> {
        let rows = graphs
            .iter()
            .map(|features| graph_row(features, &self.kinds));
        let logs = self.forest.predict(rows.collect())?;
        Ok(logs.into_iter().map(|log| log.exp() as f32).collect())
    }
}

fn graph_row(features: &Features, kinds: &[i32]) -> FeatureRow {
    let totals = floors::graph_totals(features).map(f64::ln_1p);
    let column = column("element_bytes_out");
    let element_bytes = features.nodes.iter().skip(column).step_by(N_COLUMNS);
    let element_bytes = element_bytes.map(|&bytes| f64::from(bytes)).sum::<f64>();
    let count = |kind: &i32| {
        let categories = features.categories.iter();
        categories.filter(|&category| category == kind).count() as f64
    };
    let summed = totals
        .into_iter()
        .chain([element_bytes / features.n_nodes().max(1) as f64]);
    summed.chain(kinds.iter().map(count)).collect()
}
