//! A labelled dataset → scaled graphs on the three sides of the split.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail, ensure};
use litecast::learned::features::{COLUMNS, N_COLUMNS};
use litecast::learned::intervals::summary;
use litecast::learned::manifest::{FeatureRange, SpaceCount};
use litecast::targets::cortex_a;
use litecast_trainer::dataset::{Dataset, LabelKey, LabelledGraph};
use litecast_trainer::labels::sha256_hex;
use litecast_trainer::split::Side;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use crate::feature_columns::amounts;
use crate::gnn::prepare::{Example, Labels, OutputRules, Readout, Scaling};
use crate::gnn::whole_graph::Columns;
use crate::settings::Settings;
use crate::sizes::Sizes;

/// The metrics that the network estimates, for every target with such labels.
pub const METRICS: [Metric; 4] = [
    Metric {
        id: "latency",
        operators: CYCLES,
        planned: "cycles",
        readout: Readout::Sum,
    },
    Metric {
        id: "sram_peak",
        operators: "sram_live_bytes",
        planned: "sram_bytes",
        readout: Readout::Max,
    },
    Metric {
        id: "offchip_traffic",
        operators: "offchip_traffic_bytes",
        planned: "off_chip_bytes",
        readout: Readout::Sum,
    },
    Metric {
        id: "sram_traffic",
        operators: "sram_traffic_bytes",
        planned: "sram_traffic_bytes",
        readout: Readout::Sum,
    },
];

/// A metric, and how it follows from the costs of operators.
pub struct Metric {
    /// Name in settings and tables, such as `latency`.
    pub id: &'static str,
    /// The metric of operators that it follows from. If that has another unit, shares are used.
    pub operators: &'static str,
    /// The same metric in the feature columns of Vela's plan.
    planned: &'static str,
    /// How the values of operators make that of the graph.
    pub readout: Readout,
}

impl Metric {
    /// The metric with this id; `None` if there is no such metric.
    pub fn by_id(id: &str) -> Option<&'static Metric> {
        METRICS.iter().find(|metric| metric.id == id)
    }

    /// Feature column with the cost of each operator on a target by Vela's rules; `None` without rules.
    pub fn planned_column(&self, target: &str) -> Option<usize> {
        let name = format!("log1p_{}_{}", self.planned, target.replace('-', "_"));
        COLUMNS.iter().position(|column| column.name == name)
    }
}

/// Graphs of one side of the split.
#[derive(Clone, Debug, Default)]
pub struct Part {
    /// Ids of the graphs, parallel to `examples`.
    pub graph_ids: Vec<String>,
    /// The graphs as the network reads them.
    pub examples: Vec<Example>,
    /// Index into [`Data::spaces`].
    pub space_of: Vec<usize>,
    /// [Summaries](litecast::learned::intervals::summary) of the graphs.
    pub summaries: Vec<Vec<f32>>,
}

/// The data for the training of a run and for its measurement.
#[derive(Clone, Debug)]
pub struct Data {
    /// Label of each output of the network.
    pub outputs: Vec<LabelKey>,
    /// Design spaces of the graphs, in the order of their numbers.
    pub spaces: Vec<String>,
    /// How features and labels are scaled, from the training graphs alone.
    pub scaling: Scaling,
    /// Lowest and highest value of each feature column in training.
    pub feature_ranges: Vec<FeatureRange>,
    /// Graphs that the network is trained on.
    pub training: Part,
    /// Graphs that choose the best epoch.
    pub validation: Part,
    /// Graphs that errors are measured on.
    pub test: Part,
}

impl Data {
    /// Splits and scales a dataset. Fails if it lacks a label that the settings name.
    pub fn new(dataset: &Dataset, settings: &Settings) -> Result<Self> {
        let outputs = outputs(dataset, settings)?;
        let columns = OutputColumns::new(dataset, &outputs)?;
        let labels: Vec<Labels> = dataset.graphs.iter().map(|g| columns.labels(g)).collect();
        let spaces = spaces(dataset, settings)?;
        let unknown = settings
            .leave_out
            .iter()
            .find(|space| !spaces.contains(space));
        if let Some(space) = unknown {
            bail!("expected one of {spaces:?} to leave out, found {space}");
        }
        let macs =
            |graph: &LabelledGraph| amounts(&graph.features, "log1p_macs").iter().sum::<f64>();
        let sizes = settings.hold_out_large.then(|| {
            Sizes::new(
                dataset
                    .graphs
                    .iter()
                    .map(|graph| (graph.space.as_str(), macs(graph))),
            )
        });
        let split = settings.split();
        let side_of = |g: &LabelledGraph| match &sizes {
            Some(sizes) => sizes.side(&g.space, macs(g), &g.structure_hash, &split),
            None => Some(split.side(&g.structure_hash, &g.space)),
        };
        let on_side = |wanted: Side| {
            let pairs = dataset.graphs.iter().zip(&labels);
            let here = |g: &LabelledGraph| spaces.contains(&g.space) && side_of(g) == Some(wanted);
            // A graph without any label is useless for training.
            let is_labelled = |labels: &Labels| labels.graph.iter().any(|y| !y.is_nan());
            pairs
                .filter(move |(graph, labels)| here(graph) && is_labelled(labels))
                .collect::<Vec<_>>()
        };
        let mut training = on_side(Side::Training);
        if let Some(n) = settings.training_graphs {
            let mut n_of_space: BTreeMap<&str, usize> = BTreeMap::new();
            training.retain(|(graph, _)| {
                let n_before = n_of_space.entry(&graph.space).or_default();
                *n_before += 1;
                *n_before <= n
            });
        }
        ensure!(!training.is_empty(), "the dataset has no graph to train on");
        let pairs: Vec<_> = training
            .iter()
            .map(|(graph, labels)| (&graph.features, *labels))
            .collect();
        let hidden = hidden_columns(settings)?;
        let outputs_of = output_rules(dataset, &outputs, &columns, &hidden);
        let mut scaling = Scaling::fit(Columns::from_table(), outputs_of, &pairs);
        scaling.features.hide(&hidden);
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

    /// Hash of all data that a network learns from. Linear in the values of the training graphs.
    pub fn training_sha256(&self) -> String {
        let of_example = |example: &Example| {
            let mut hash = Sha256::new();
            for values in [&example.nodes, &example.labels, &example.operator_labels] {
                let bytes: Vec<u8> = values
                    .iter()
                    .flat_map(|value| value.to_le_bytes())
                    .collect();
                hash.update(bytes);
            }
            hash.finalize()
        };
        let examples = self.training.examples.par_iter();
        let hashes: Vec<_> = examples.map(of_example).collect();
        sha256_hex(&hashes.concat())
    }

    /// Name of each output, as the manifest has it.
    pub fn output_names(&self) -> Vec<String> {
        self.outputs
            .iter()
            .map(|key| format!("{} {}", key.target, key.metric))
            .collect()
    }

    /// The tasks of PCGrad, as in PerfSeer: one for each metric, on all targets.
    pub fn tasks(&self) -> Vec<Scaling> {
        let mut metrics: Vec<&str> = Vec::new();
        for key in &self.outputs {
            if !metrics.contains(&key.metric.as_str()) {
                metrics.push(&key.metric);
            }
        }
        let of_metric = |metric: &str| -> Vec<usize> {
            let outputs = self.outputs.iter().enumerate();
            let is_it = |(_, key): &(usize, &LabelKey)| key.metric == metric;
            outputs.filter(is_it).map(|(k, _)| k).collect()
        };
        let tasks = metrics.into_iter().map(of_metric);
        tasks.map(|task| self.scaling.with_outputs(&task)).collect()
    }

    /// Number of graphs of each design space in each part.
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

/// Outputs for the targets in the settings. Processors are estimated without a network
/// ([`litecast::targets::cortex_a`]), so they are included only if they are named.
fn outputs(dataset: &Dataset, settings: &Settings) -> Result<Vec<LabelKey>> {
    let targets = &dataset.targets;
    for target in &settings.targets {
        ensure!(
            targets.contains(target),
            "expected targets of {targets:?}, found {target}"
        );
    }
    for metric in &settings.metrics {
        let ids = METRICS.map(|metric| metric.id);
        ensure!(
            ids.contains(&metric.as_str()),
            "expected metrics of {ids:?}, found {metric}"
        );
    }
    let is_metric_wanted =
        |key: &LabelKey| settings.metrics.is_empty() || settings.metrics.contains(&key.metric);
    let is_wanted = |target: &&String| {
        if settings.targets.is_empty() {
            !cortex_a::is_modelled(target)
        } else {
            settings.targets.contains(target)
        }
    };
    let key = |target: &String, metric: &Metric| LabelKey {
        target: target.clone(),
        metric: metric.id.to_owned(),
    };
    Ok(targets
        .iter()
        .filter(is_wanted)
        .flat_map(|target| METRICS.iter().map(move |metric| key(target, metric)))
        .filter(is_metric_wanted)
        .filter(|key| dataset.label_idx(&key.target, &key.metric).is_some())
        .collect())
}

/// How outputs are read out, bounded and compared with what is planned; hidden columns are not compared with.
fn output_rules(
    dataset: &Dataset,
    outputs: &[LabelKey],
    columns: &OutputColumns,
    hidden: &[usize],
) -> OutputRules {
    let readouts = columns.metrics.iter().map(|metric| metric.readout);
    let planned = outputs.iter().zip(&columns.metrics);
    let planned = planned.map(|(output, metric)| metric.planned_column(&output.target));
    let planned = planned.map(|column| column.filter(|column| !hidden.contains(column)));
    OutputRules {
        readouts: readouts.collect(),
        ceilings: ceilings(dataset, outputs),
        planned_columns: planned.collect(),
    }
}

/// By output, the maximum of an operator's memory or cost.
fn ceilings(dataset: &Dataset, outputs: &[LabelKey]) -> Vec<f32> {
    let targets = dataset.provenance.targets();
    let ceiling = |output: &LabelKey| {
        let target = targets.iter().find(|target| target.id == output.target)?;
        let is_sram = output.metric == "sram_peak";
        is_sram.then(|| target.sram_limit_bytes()).flatten()
    };
    let or_none = |output| ceiling(output).map_or(f32::MAX, |bytes| bytes as f32);
    outputs.iter().map(or_none).collect()
}

/// The positions of each output's labels in a dataset.
struct OutputColumns {
    metrics: Vec<&'static Metric>,
    /// Index into [`LabelledGraph::labels`].
    graph: Vec<usize>,
    /// Index into [`LabelledGraph::operator_labels`].
    operators: Vec<Option<usize>>,
    /// Index into [`LabelledGraph::labels`] of the total of which the operators' labels are parts.
    whole: Vec<Option<usize>>,
    /// Total cycles of the output's target, and the cycles of operators.
    cycles: Vec<Option<(usize, usize)>>,
}

impl OutputColumns {
    fn new(dataset: &Dataset, outputs: &[LabelKey]) -> Result<Self> {
        let mut columns = Self {
            metrics: Vec::new(),
            graph: Vec::new(),
            operators: Vec::new(),
            whole: Vec::new(),
            cycles: Vec::new(),
        };
        for LabelKey { target, metric } in outputs {
            let idx = dataset.label_idx(target, metric);
            let missing = || format!("expected labels of {target} {metric}, found none");
            let idx = idx.with_context(missing)?;
            columns.graph.push(idx);
            let metric = Metric::by_id(metric).context("outputs are made of METRICS")?;
            let of_operators = |id: &str| {
                let mut keys = dataset.operator_keys.iter();
                keys.position(|key| key.target == *target && key.metric == id)
            };
            columns.operators.push(of_operators(metric.operators));
            let total_cycles = dataset.label_idx(target, CYCLES);
            columns.whole.push(match metric.operators {
                CYCLES => total_cycles,
                _ => Some(idx),
            });
            columns.cycles.push(total_cycles.zip(of_operators(CYCLES)));
            columns.metrics.push(metric);
        }
        Ok(columns)
    }

    /// A label of 0 has no relative error and counts as absent.
    fn labels(&self, graph: &LabelledGraph) -> Labels {
        let n_outputs = self.graph.len();
        let mut labels = Labels::none(graph.features.n_nodes(), n_outputs);
        for (output, &column) in self.graph.iter().enumerate() {
            let Some(total) = graph.labels[column].filter(|&value| value > 0.0) else {
                continue;
            };
            labels.graph[output] = total;
            let values = self.operators[output].and_then(|k| graph.operator_labels[k].as_ref());
            let Some(values) = values else { continue };
            let unit = match self.metrics[output].readout {
                Readout::Sum => {
                    let whole = self.whole[output].and_then(|k| graph.labels[k]);
                    total / whole.unwrap_or_else(|| values.iter().sum())
                }
                Readout::Max => 1.0,
            };
            let is_all = self.attributes_all(graph, output);
            let rows = labels.operators.iter_mut().skip(output).step_by(n_outputs);
            for (label, &value) in rows.zip(values) {
                *label = if is_all || value > 0.0 {
                    value * unit
                } else {
                    f32::NAN
                };
            }
        }
        labels
    }

    /// Whether the costs of a graph are completely attributed to operators. Vela names no source for some of the
    /// operations that it makes, among them those of an ARG_MAX on Ethos-U55 and U65. If an operator's label is 0, its
    /// cost may be in such operations.
    fn attributes_all(&self, graph: &LabelledGraph, output: usize) -> bool {
        let Some((total, operators)) = self.cycles[output] else {
            return true;
        };
        let (Some(total), Some(cycles)) = (graph.labels[total], &graph.operator_labels[operators])
        else {
            return true;
        };
        let sum: f64 = cycles.iter().map(|&cycles| f64::from(cycles)).sum();
        sum >= f64::from(total) * (1.0 - ROUNDING)
    }
}

/// Metric of operators and label of graphs.
const CYCLES: &str = "cycles";
/// Relative rounding error of cycles in single precision.
const ROUNDING: f64 = 1e-5;

/// Indices of the feature columns that the settings hide from the network.
fn hidden_columns(settings: &Settings) -> Result<Vec<usize>> {
    let groups: BTreeSet<&str> = COLUMNS.iter().map(|column| column.group.name()).collect();
    for group in &settings.without_columns {
        ensure!(
            groups.contains(group.as_str()),
            "expected one of the groups of columns {groups:?}, found {group}"
        );
    }
    let is_hidden = |column: &litecast::learned::features::Column| {
        let mut without = settings.without_columns.iter();
        without.any(|group| group == column.group.name())
    };
    let columns = COLUMNS.iter().enumerate();
    Ok(columns
        .filter(|(_, column)| is_hidden(column))
        .map(|(idx, _)| idx)
        .collect())
}

/// The design spaces in the settings that the dataset contains, sorted.
fn spaces(dataset: &Dataset, settings: &Settings) -> Result<Vec<String>> {
    let all: BTreeSet<&String> = dataset.graphs.iter().map(|graph| &graph.space).collect();
    for space in &settings.spaces {
        ensure!(
            all.contains(space),
            "expected one of {all:?}, found {space}"
        );
    }
    let is_wanted = |space: &&String| settings.spaces.is_empty() || settings.spaces.contains(space);
    let spaces: Vec<String> = all.into_iter().filter(is_wanted).cloned().collect();
    let least_share = settings.min_space_share * spaces.len() as f64;
    ensure!(
        least_share < 1.0,
        "{} spaces cannot make up {} of an epoch each",
        spaces.len(),
        settings.min_space_share
    );
    Ok(spaces)
}

fn part(graphs: &[(&LabelledGraph, &Labels)], scaling: &Scaling, spaces: &[String]) -> Part {
    let mut part = Part::default();
    for (graph, labels) in graphs {
        part.graph_ids.push(graph.graph_id.clone());
        part.examples.push(scaling.example(&graph.features, labels));
        part.summaries.push(summary(&graph.features));
        part.space_of
            .push(spaces.partition_point(|space| *space < graph.space));
    }
    part
}

fn feature_ranges(graphs: &[(&LabelledGraph, &Labels)]) -> Vec<FeatureRange> {
    let range = |(idx, column): (usize, &litecast::learned::features::Column)| {
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
