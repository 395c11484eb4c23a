//! Parquet files → graphs in memory.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use arrow::datatypes::{Float32Type, Float64Type, Int32Type, UInt32Type, UInt64Type};
use litecast::features::{COLUMNS, Features, N_COLUMNS, schema_id};

use super::labels::OPERATOR_METRICS;
use super::read::{Table, Tables};
use super::tables::operator_column;
use super::{Dataset, LabelKey, LabelledGraph};

/// Reads the dataset in `folder`.
///
/// Refuses one whose features mean something else than [`litecast::features::COLUMNS`] does now.
pub fn load(folder: &Path) -> Result<Dataset> {
    let tables = Tables::read(folder)?;
    ensure_current_features(folder, &tables.provenance.feature_schema_id)?;
    let targets = tables.provenance.target_ids();
    let (label_keys, labels) = read_labels(&tables)?;
    let operator_keys = operator_keys(&targets);
    let nodes = Nodes::read(&tables.operators, &operator_keys)?;
    let features = read_features(&tables, &nodes)?;
    let ranges = tables.operator_ranges()?;
    let mut graphs = read_graphs(&tables, features, labels)?;
    for (graph, range) in graphs.iter_mut().zip(ranges) {
        graph.operator_labels = nodes.labels_of(range);
    }
    Ok(Dataset {
        provenance: tables.provenance,
        targets,
        label_keys,
        operator_keys,
        graphs,
    })
}

pub(super) fn ensure_current_features(folder: &Path, found: &str) -> Result<()> {
    let expected = schema_id();
    let folder = folder.display();
    ensure!(
        found == expected,
        "{folder}: expected features of schema {expected}, found {found}; remake them with \
         `litecast-trainer dataset remake {folder}`",
    );
    Ok(())
}

/// The graphs but for the labels of their operators.
fn read_graphs(
    tables: &Tables,
    features: Vec<Features>,
    labels: Vec<Vec<Option<f32>>>,
) -> Result<Vec<LabelledGraph>> {
    let graph_ids = tables.graphs.texts("graph_id")?;
    let spaces = tables.graphs.texts("space")?;
    let hashes = tables.graphs.texts("structure_hash")?;
    let parts = features.into_iter().zip(labels).enumerate();
    let graph = |(row, (features, labels)): (usize, (Features, _))| LabelledGraph {
        graph_id: graph_ids[row].to_string(),
        space: spaces[row].to_string(),
        structure_hash: hashes[row].to_string(),
        features,
        labels,
        operator_labels: Vec::new(),
    };
    Ok(parts.map(graph).collect())
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

/// Columns of the operators' table.
struct Nodes {
    categories: Vec<i32>,
    features: Vec<Vec<f32>>,
    /// In the order of [`operator_keys`].
    labels: Vec<Vec<Option<u64>>>,
}

impl Nodes {
    fn read(operators: &Table, keys: &[LabelKey]) -> Result<Self> {
        let feature =
            |column: &litecast::features::Column| operators.values::<Float32Type>(column.name);
        let labels = |key: &LabelKey| {
            operators.values_if_present::<UInt64Type>(&operator_column(&key.metric, &key.target))
        };
        Ok(Self {
            categories: operators.values::<Int32Type>("category")?,
            features: COLUMNS.iter().map(feature).collect::<Result<_>>()?,
            labels: keys.iter().map(labels).collect::<Result<_>>()?,
        })
    }

    fn rows_of(&self, range: Range<usize>) -> Vec<f32> {
        let mut rows = Vec::with_capacity(range.len() * N_COLUMNS);
        for row in range {
            rows.extend(self.features.iter().map(|column| column[row]));
        }
        rows
    }

    fn labels_of(&self, range: Range<usize>) -> Vec<Option<Vec<f32>>> {
        let of_key = |values: &Vec<Option<u64>>| {
            values[range.clone()]
                .iter()
                .map(|value| value.map(|n| n as f32))
                .collect()
        };
        self.labels.iter().map(of_key).collect()
    }
}

fn read_features(tables: &Tables, nodes: &Nodes) -> Result<Vec<Features>> {
    let edge_src = tables.graphs.lists("edge_src")?;
    let edge_dst = tables.graphs.lists("edge_dst")?;
    let rows = tables
        .operator_ranges()?
        .into_iter()
        .zip(edge_src)
        .zip(edge_dst);
    let features = |((range, edge_src), edge_dst): ((Range<usize>, _), _)| Features {
        categories: nodes.categories[range.clone()].to_vec(),
        nodes: nodes.rows_of(range),
        edge_src,
        edge_dst,
    };
    Ok(rows.map(features).collect())
}

type Labels = (Vec<LabelKey>, Vec<Vec<Option<f32>>>);

/// Which labels there are, and their values for each graph.
fn read_labels(tables: &Tables) -> Result<Labels> {
    let rows = LabelRow::read(&tables.labels)?;
    let keys: BTreeSet<LabelKey> = rows.iter().map(|row| row.key.clone()).collect();
    let keys: Vec<_> = keys.into_iter().collect();
    let graph_ids = tables.graphs.texts("graph_id")?;
    let graph_idx: HashMap<_, _> = graph_ids
        .iter()
        .zip(0..)
        .map(|(id, idx)| (*id, idx))
        .collect();
    let mut labels = vec![vec![None; keys.len()]; graph_ids.len()];
    for row in rows {
        let idx: usize = *graph_idx.get(row.graph_id).with_context(|| {
            format!(
                "{}: expected a graph of the table of graphs, found {}",
                tables.labels.name, row.graph_id
            )
        })?;
        // The keys are those of the rows, so that the search finds each.
        if let Ok(key_idx) = keys.binary_search(&row.key) {
            labels[idx][key_idx] = row.value;
        }
    }
    Ok((keys, labels))
}

struct LabelRow<'t> {
    graph_id: &'t str,
    key: LabelKey,
    /// Absent where operators were left to the CPU: the value would not count them.
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
            let Some(metric) = metric else { continue };
            let key = LabelKey {
                target: targets[row].to_string(),
                metric: metric.to_string(),
            };
            let value = values[row]
                .filter(|_| n_cpu[row] == 0)
                .map(|value| value as f32);
            rows.push(Self {
                graph_id: graph_ids[row],
                key,
                value,
            });
        }
        Ok(rows)
    }
}
