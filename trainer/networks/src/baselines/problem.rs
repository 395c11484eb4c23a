//! The data of a baseline: the graphs of the network's split, with features in natural units.

use std::collections::HashMap;

use anyhow::{Context, Result};
use litecast::learned::features::Features;
use litecast_trainer::dataset::Dataset;
use litecast_trainer::targets::cortex_a::Sums;

use crate::gnn::prepare::Example;
use crate::training_data::{Data, Part};

/// One graph with the featurizer's features and the network's labels.
#[derive(Clone, Copy, Debug)]
pub struct Graph<'d> {
    /// Features of the graph.
    pub features: &'d Features,
    /// The same graph as the network reads it, with its labels.
    pub example: &'d Example,
}

impl Graph<'_> {
    /// The label in natural units; `None` if there is none.
    pub fn label(&self, output: usize) -> Option<f64> {
        let label = self.example.labels[output];
        (!label.is_nan()).then_some(f64::from(label))
    }

    /// The parts of the graph's label by node; `None` if an operator has none.
    pub fn operator_labels(&self, output: usize) -> Option<Vec<f64>> {
        let n_outputs = self.example.labels.len();
        let values = self.example.operator_labels.iter().skip(output);
        let values = values.step_by(n_outputs).map(|&v| f64::from(v));
        values.map(|v| (!v.is_nan()).then_some(v)).collect()
    }
}

/// The training and the test side of a split.
#[derive(Clone, Debug)]
pub struct Problem<'d> {
    /// Graphs that methods are fitted to.
    pub training: Vec<Graph<'d>>,
    /// Graphs that errors are measured on.
    pub test: Vec<Graph<'d>>,
    /// Latencies of test graphs by the sum over operators that ships for processors; empty on other targets.
    pub sums: Sums,
}

impl<'d> Problem<'d> {
    /// The training and test graphs of `data`, in its order. Validation graphs are not used: a baseline does not choose
    /// among epochs, and is fitted to no more graphs than the network.
    pub fn new(dataset: &'d Dataset, data: &'d Data) -> Result<Self> {
        let graphs = dataset.graphs.iter();
        let features: HashMap<&str, &Features> = graphs
            .map(|graph| (graph.graph_id.as_str(), &graph.features))
            .collect();
        let graphs = |part: &'d Part| {
            let pairs = part.graph_ids.iter().zip(&part.examples);
            let graph = |(id, example): (&String, &'d Example)| {
                let features = features.get(id.as_str()).copied();
                let features = features.with_context(|| format!("{id} is not in the dataset"))?;
                Ok(Graph { features, example })
            };
            pairs.map(graph).collect::<Result<Vec<_>>>()
        };
        Ok(Self {
            training: graphs(&data.training)?,
            test: graphs(&data.test)?,
            sums: Sums::default(),
        })
    }
}
