//! Parquet files → graphs in memory.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use arrow_array::types::{Float64Type, Int32Type, UInt32Type, UInt64Type};
use litecast::learned::features::{Features, N_COLUMNS};

use super::labels::OPERATOR_METRICS;
use super::provenance::Provenance;
use super::read::{self, Table, Tables};
use super::tables::operator_column;
use super::{Dataset, LabelKey, LabelledGraph, features};

/// Reads the dataset in `folder`, and makes missing features.
pub fn load(folder: &Path) -> Result<Dataset> {
    let tables = Tables::read(folder)?;
    let columns = features::load(folder, &tables)?;
    let features = read_features(&tables, &columns)?;
    with_operators(tables, features.into_iter().map(Some).collect())
}

/// Like [`load`], for the first graphs of these design spaces only, at most `n_each` of each: the rows of others are not
/// read, and features are made and not stored.
pub fn load_spaces(folder: &Path, spaces: &[&str], n_each: usize) -> Result<Dataset> {
    let tables = Tables::read_spaces(folder, spaces, n_each)?;
    let made = features::made(&tables)?;
    let graph_ids = tables.graphs.texts("graph_id")?;
    let features = graph_ids.iter().map(|id| made.get(*id).cloned()).collect();
    with_operators(tables, features)
}

/// Like [`load`], without features and labels of operators, which are most of the dataset.
pub fn load_labels(folder: &Path) -> Result<Dataset> {
    let (graphs, labels, provenance) = read::graphs_and_labels(folder)?;
    let operators = Operators {
        features: Features::default(),
        labels: vec![None; operator_keys(&provenance.target_ids()).len()],
    };
    let operators = vec![Some(operators); graphs.rows.num_rows()];
    assemble(&graphs, &labels, provenance, operators)
}

/// What is known of a graph's operators.
#[derive(Clone)]
struct Operators {
    features: Features,
    /// In the order of [`operator_keys`].
    labels: Vec<Option<Vec<f32>>>,
}

fn with_operators(tables: Tables, features: Vec<Option<Features>>) -> Result<Dataset> {
    let keys = operator_keys(&tables.provenance.target_ids());
    let labels = OperatorLabels::read(&tables.operators, &keys)?;
    let of_graph = |(features, range): (Option<Features>, Range<usize>)| {
        Some(Operators {
            features: features?,
            labels: labels.slice(range),
        })
    };
    let ranges = tables.operator_ranges()?;
    let operators = features.into_iter().zip(ranges).map(of_graph).collect();
    assemble(&tables.graphs, &tables.labels, tables.provenance, operators)
}

/// The graphs whose operators are there.
fn assemble(
    graphs: &Table,
    labels: &Table,
    provenance: Provenance,
    operators: Vec<Option<Operators>>,
) -> Result<Dataset> {
    let targets = provenance.target_ids();
    let (label_keys, labels) = read_labels(graphs, labels)?;
    let graph_ids = graphs.texts("graph_id")?;
    let spaces = graphs.texts("space")?;
    let hashes = graphs.texts("structure_hash")?;
    let parts = operators.into_iter().zip(labels).enumerate();
    let graph = |(row, (operators, labels)): (usize, (Option<Operators>, _))| {
        let operators = operators?;
        Some(LabelledGraph {
            graph_id: graph_ids[row].to_string(),
            space: spaces[row].to_string(),
            structure_hash: hashes[row].to_string(),
            features: operators.features,
            labels,
            operator_labels: operators.labels,
        })
    };
    Ok(Dataset {
        graphs: parts.filter_map(graph).collect(),
        provenance,
        operator_keys: operator_keys(&targets),
        targets,
        label_keys,
    })
}

fn operator_keys(targets: &[String]) -> Vec<LabelKey> {
    let key = |target: &String, metric: &str| LabelKey {
        target: target.clone(),
        metric: metric.to_string(),
    };
    targets
        .iter()
        .flat_map(|target| OPERATOR_METRICS.iter().map(|metric| key(target, metric.id)))
        .collect()
}

/// Labels of all operators, in the order of [`operator_keys`].
struct OperatorLabels(Vec<Vec<Option<u64>>>);

impl OperatorLabels {
    fn read(operators: &Table, keys: &[LabelKey]) -> Result<Self> {
        let labels = |key: &LabelKey| {
            operators.values_if_present::<UInt64Type>(&operator_column(&key.metric, &key.target))
        };
        Ok(Self(keys.iter().map(labels).collect::<Result<_>>()?))
    }

    /// Labels of one graph's operators; `None` if one is missing.
    fn slice(&self, range: Range<usize>) -> Vec<Option<Vec<f32>>> {
        let of_key = |values: &Vec<Option<u64>>| {
            values[range.clone()]
                .iter()
                .map(|value| value.map(|n| n as f32))
                .collect()
        };
        self.0.iter().map(of_key).collect()
    }
}

/// Features of all graphs from the columns of all operators.
fn read_features(tables: &Tables, columns: &[Vec<f32>]) -> Result<Vec<Features>> {
    let categories = tables.operators.values::<Int32Type>("category")?;
    let edge_src = tables.graphs.lists("edge_src")?;
    let edge_dst = tables.graphs.lists("edge_dst")?;
    let rows = tables
        .operator_ranges()?
        .into_iter()
        .zip(edge_src)
        .zip(edge_dst);
    let nodes = |range: Range<usize>| {
        let mut rows = Vec::with_capacity(range.len() * N_COLUMNS);
        for row in range {
            rows.extend(columns.iter().map(|column| column[row]));
        }
        rows
    };
    let features = |((range, edge_src), edge_dst): ((Range<usize>, _), _)| Features {
        categories: categories[range.clone()].to_vec(),
        nodes: nodes(range),
        edge_src,
        edge_dst,
    };
    Ok(rows.map(features).collect())
}

type Labels = (Vec<LabelKey>, Vec<Vec<Option<f32>>>);

/// The keys of all labels, and their values for each graph.
fn read_labels(graphs: &Table, labels: &Table) -> Result<Labels> {
    let rows = LabelRow::read(labels)?;
    let keys: BTreeSet<(&str, &str)> = rows.iter().map(|row| row.target_and_metric).collect();
    let keys: Vec<_> = keys.into_iter().collect();
    let graph_ids = graphs.texts("graph_id")?;
    let graph_idx: HashMap<_, _> = graph_ids
        .iter()
        .zip(0..)
        .map(|(id, idx)| (*id, idx))
        .collect();
    let mut values = vec![vec![None; keys.len()]; graph_ids.len()];
    for row in rows {
        let idx: usize = *graph_idx.get(row.graph_id).with_context(|| {
            format!(
                "{}: expected a graph of the table of graphs, found {}",
                labels.name, row.graph_id
            )
        })?;
        // The keys contain those of all rows, so the search succeeds.
        if let Ok(key_idx) = keys.binary_search(&row.target_and_metric) {
            values[idx][key_idx] = row.value;
        }
    }
    let key = |(target, metric): (&str, &str)| LabelKey {
        target: target.to_string(),
        metric: metric.to_string(),
    };
    Ok((keys.into_iter().map(key).collect(), values))
}

struct LabelRow<'t> {
    graph_id: &'t str,
    target_and_metric: (&'t str, &'t str),
    /// Absent if operators were left to the CPU, because the value would not include them.
    value: Option<f32>,
}

impl<'t> LabelRow<'t> {
    /// The rows that have a metric.
    fn read(labels: &'t Table) -> Result<Vec<Self>> {
        let graph_ids = labels.texts("graph_id")?;
        let targets = labels.texts("target")?;
        let metrics = labels.optional_texts("metric")?;
        let values = labels.optional_values::<Float64Type>("value")?;
        let n_cpu = labels.values::<UInt32Type>("cpu_operators")?;
        let mut rows = Vec::new();
        for (row, metric) in metrics.iter().enumerate() {
            let Some(metric) = *metric else { continue };
            let value = values[row]
                .filter(|_| n_cpu[row] == 0)
                .map(|value| value as f32);
            rows.push(Self {
                graph_id: graph_ids[row],
                target_and_metric: (targets[row], metric),
                value,
            });
        }
        Ok(rows)
    }
}
