//! A labelled dataset → scaled graphs on the three sides of the split.

use anyhow::{Context, Result, ensure};
use litecast::features::{COLUMNS, N_COLUMNS};
use litecast::manifest::{FeatureRange, SpaceCount};

use crate::dataset::{Dataset, LabelKey, LabelledGraph};
use crate::gnn::prepare::{Example, Labels, Scaling};
use crate::settings::Settings;
use crate::split::{Side, side};

/// Metrics that the network estimates for every target.
pub const METRICS: [&str; 3] = ["latency", "sram_peak", "offchip_traffic"];

/// Graphs of one side of the split.
#[derive(Clone, Debug, Default)]
pub struct Part {
    pub graph_ids: Vec<String>,
    pub examples: Vec<Example>,
    /// Index into [`Data::spaces`].
    pub space_of: Vec<usize>,
}

/// Everything a run trains on and is measured on.
#[derive(Clone, Debug)]
pub struct Data {
    pub outputs: Vec<LabelKey>,
    pub spaces: Vec<String>,
    pub scaling: Scaling,
    pub feature_ranges: Vec<FeatureRange>,
    pub training: Part,
    pub validation: Part,
    pub test: Part,
}

impl Data {
    pub fn new(dataset: &Dataset, settings: &Settings) -> Result<Self> {
        let outputs = outputs(dataset);
        let labels = labels(dataset, &outputs)?;
        let spaces = spaces(dataset);
        if let Some(space) = &settings.leave_out {
            ensure!(
                spaces.contains(space),
                "expected one of {spaces:?} to leave out, found {space}"
            );
        }
        let on_side = |wanted: Side| {
            let pairs = dataset.graphs.iter().zip(&labels);
            let here =
                move |g: &LabelledGraph| side(&g.structure_hash, &g.space, settings) == wanted;
            pairs
                .filter(move |(graph, _)| here(graph))
                .collect::<Vec<_>>()
        };
        let training = on_side(Side::Training);
        ensure!(!training.is_empty(), "the dataset has no graph to train on");
        let pairs: Vec<_> = training
            .iter()
            .map(|(graph, labels)| (&graph.features, *labels))
            .collect();
        let scaling = Scaling::fit(N_COLUMNS, &pairs);
        Ok(Self {
            feature_ranges: feature_ranges(&training),
            training: part(&training, &scaling, &spaces),
            validation: part(&on_side(Side::Validation), &scaling, &spaces),
            test: part(&on_side(Side::Test), &scaling, &spaces),
            outputs,
            spaces,
            scaling,
        })
    }

    pub fn output_names(&self) -> Vec<String> {
        self.outputs
            .iter()
            .map(|key| format!("{} {}", key.target, key.metric))
            .collect()
    }

    pub fn counts(&self) -> Vec<SpaceCount> {
        let count = |part: &Part, space| part.space_of.iter().filter(|&&s| s == space).count();
        let spaces = self.spaces.iter().enumerate();
        spaces
            .map(|(idx, space)| SpaceCount {
                space: space.clone(),
                training: count(&self.training, idx),
                validation: count(&self.validation, idx),
                test: count(&self.test, idx),
            })
            .collect()
    }
}

fn outputs(dataset: &Dataset) -> Vec<LabelKey> {
    let key = |target: &String, metric: &str| LabelKey {
        target: target.clone(),
        metric: metric.to_owned(),
    };
    dataset
        .targets
        .iter()
        .flat_map(|target| METRICS.map(|metric| key(target, metric)))
        .collect()
}

/// Labels of each graph in the order of `outputs`. A label of 0 has no relative error and counts
/// as absent.
fn labels(dataset: &Dataset, outputs: &[LabelKey]) -> Result<Vec<Labels>> {
    let idx = |key: &LabelKey| {
        let found = dataset.label_idx(&key.target, &key.metric);
        found.with_context(|| {
            format!(
                "expected labels of {} {}, found none",
                key.target, key.metric
            )
        })
    };
    let columns: Vec<usize> = outputs.iter().map(idx).collect::<Result<_>>()?;
    let label = |graph: &LabelledGraph, column: usize| {
        graph.labels[column]
            .filter(|&value| value > 0.0)
            .unwrap_or(f32::NAN)
    };
    let row = |graph| columns.iter().map(|&column| label(graph, column)).collect();
    Ok(dataset.graphs.iter().map(row).collect())
}

fn spaces(dataset: &Dataset) -> Vec<String> {
    let mut spaces: Vec<String> = dataset
        .graphs
        .iter()
        .map(|graph| graph.space.clone())
        .collect();
    spaces.sort_unstable();
    spaces.dedup();
    spaces
}

fn part(graphs: &[(&LabelledGraph, &Labels)], scaling: &Scaling, spaces: &[String]) -> Part {
    let mut part = Part::default();
    // A graph that no target could compile teaches nothing.
    for (graph, labels) in graphs
        .iter()
        .filter(|(_, labels)| labels.iter().any(|y| !y.is_nan()))
    {
        part.graph_ids.push(graph.graph_id.clone());
        part.examples.push(scaling.example(&graph.features, labels));
        part.space_of
            .push(spaces.partition_point(|space| *space < graph.space));
    }
    part
}

fn feature_ranges(graphs: &[(&LabelledGraph, &Labels)]) -> Vec<FeatureRange> {
    let range = |(idx, column): (usize, &litecast::features::Column)| {
        let values = graphs
            .iter()
            .flat_map(|(g, _)| g.features.nodes.iter().skip(idx).step_by(N_COLUMNS));
        FeatureRange {
            column: column.name.to_owned(),
            min: values.clone().copied().fold(f32::INFINITY, f32::min),
            max: values.copied().fold(f32::NEG_INFINITY, f32::max),
        }
    };
    COLUMNS.iter().enumerate().map(range).collect()
}
