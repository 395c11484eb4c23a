//! The tables as Arrow schemas and record batches, each column with its unit and meaning.

use std::collections::HashMap;
use std::sync::Arc;

use anyhow::Result;
use arrow_array::builder::{ListBuilder, UInt32Builder};
use arrow_array::{
    ArrayRef, Float32Array, Float64Array, Int32Array, RecordBatch, StringArray, UInt32Array,
    UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use litecast::learned::features::{COLUMNS, N_COLUMNS};

use super::featurize::GraphRow;
use super::labels::{GraphLabels, METRICS, OPERATOR_METRICS, OperatorMetric, TargetLabels};
use super::read::Tables;
use crate::labels::record::Origin;
use crate::split::Split;

/// Column of the operators' table that holds one of [`OPERATOR_METRICS`] on one target.
pub fn operator_column(metric: &str, target: &str) -> String {
    format!("{metric}_{}", target.replace('-', "_"))
}

/// Key of a field's metadata: the meaning of the column, as Markdown.
pub const MEANING: &str = "meaning";
/// Key of a field's metadata: the unit of the column's values; empty if they have none.
pub const UNIT: &str = "unit";

/// Columns that a dataset has only if they are not empty.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// `seed` and `index`.
    pub has_samples: bool,
    /// `path`.
    pub has_files: bool,
    /// Labels of operators: target and metric, in the order of the targets.
    pub operator_labels: Vec<(String, &'static OperatorMetric)>,
}

impl Layout {
    /// The layout of tables with these graphs.
    pub fn from_graphs(graphs: &[GraphLabels], targets: &[String]) -> Self {
        let is_file = |graph: &GraphLabels| matches!(graph.origin, Origin::File(_));
        let has_operators = |target: &str, metric: &str| {
            let of_target = graphs.iter().filter_map(|graph| graph.targets.get(target));
            let mut operators = of_target.map(|labels| &labels.operators);
            operators.any(|operators| operators.contains_key(metric))
        };
        Self::new(
            graphs.iter().any(|graph| !is_file(graph)),
            graphs.iter().any(is_file),
            targets,
            has_operators,
        )
    }

    /// The layout of existing tables.
    pub fn from_tables(tables: &Tables) -> Self {
        let operators = tables.operators.rows.schema();
        let graphs = tables.graphs.rows.schema();
        let has_operators = |target: &str, metric: &str| {
            operators.index_of(&operator_column(metric, target)).is_ok()
        };
        Self::new(
            graphs.index_of("seed").is_ok(),
            graphs.index_of("path").is_ok(),
            &tables.provenance.target_ids(),
            has_operators,
        )
    }

    fn new(
        has_samples: bool,
        has_files: bool,
        targets: &[String],
        has_operators: impl Fn(&str, &str) -> bool,
    ) -> Self {
        let of_target = |target: &String| {
            let metrics = OPERATOR_METRICS.iter();
            let there = metrics.filter(|metric| has_operators(target, metric.id));
            let pairs = there.map(|metric| (target.clone(), metric));
            pairs.collect::<Vec<_>>()
        };
        Self {
            has_samples,
            has_files,
            operator_labels: targets.iter().flat_map(of_target).collect(),
        }
    }

    /// Schemas of the tables of graphs, operators and labels, with [`MEANING`] and [`UNIT`] in the
    /// metadata of every field.
    pub fn schemas(&self) -> Result<[SchemaRef; 3]> {
        Ok([
            graphs(&[], self)?.schema(),
            operators(&[], self)?.schema(),
            labels(&[])?.schema(),
        ])
    }
}

/// A column of a table that is written.
struct Column {
    name: String,
    unit: &'static str,
    meaning: String,
    is_nullable: bool,
    values: ArrayRef,
}

fn column(name: &str, meaning: &str, values: ArrayRef) -> Column {
    Column {
        name: name.to_string(),
        unit: "",
        meaning: meaning.to_string(),
        is_nullable: false,
        values,
    }
}

fn nullable(name: &str, meaning: &str, values: ArrayRef) -> Column {
    Column {
        is_nullable: true,
        ..column(name, meaning, values)
    }
}

impl Column {
    fn unit(self, unit: &'static str) -> Self {
        Self { unit, ..self }
    }

    fn field(&self) -> Field {
        let documentation = HashMap::from([
            (MEANING.to_string(), self.meaning.clone()),
            (UNIT.to_string(), self.unit.to_string()),
        ]);
        let data_type = self.values.data_type().clone();
        Field::new(&self.name, data_type, self.is_nullable).with_metadata(documentation)
    }
}

fn batch(columns: Vec<Column>) -> Result<RecordBatch> {
    let schema = Schema::new(columns.iter().map(Column::field).collect::<Vec<_>>());
    let arrays = columns.into_iter().map(|column| column.values).collect();
    Ok(RecordBatch::try_new(Arc::new(schema), arrays)?)
}

fn strings(values: impl Iterator<Item = String>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

/// One row for each graph.
pub fn graphs(rows: &[GraphRow], layout: &Layout) -> Result<RecordBatch> {
    let mut columns = Vec::from(keys_of_graphs(rows));
    columns.extend(origins(rows, layout));
    columns.extend(contents(rows));
    columns.extend(structures(rows));
    batch(columns)
}

/// Columns that identify a graph and its part of the dataset.
fn keys_of_graphs(rows: &[GraphRow]) -> [Column; 5] {
    [
        column(
            "graph_id",
            "key of all tables: `cnn-kws/1/17` (space, seed, index; `cnn-kws/1/17/float32` where it is not int8, `cnn-kws/1/17/batch4` for 4 inputs at a time, `cnn-kws/1/17/initial` for weights before any training) or `file/NAME`",
            strings(rows.iter().map(|row| row.labels.origin.graph_id())),
        ),
        column(
            "space",
            "design space, or `file`",
            strings(rows.iter().map(|row| row.labels.origin.space().to_string())),
        ),
        column(
            "split",
            "side of the split that the shipped network, the costs of processors and the baselines share: `training`, `validation` or `test`, decided by `structure_hash`",
            strings(rows.iter().map(split)),
        ),
        column(
            "precision",
            "element type of activations and weights; `file` for a file, which may have several",
            strings(
                rows.iter()
                    .map(|row| row.labels.origin.precision_in_words()),
            ),
        ),
        column(
            "batch",
            "inputs at a time; the labels are for this batch size",
            u32s(rows, |row| row.labels.origin.batch()),
        ),
    ]
}

/// Columns with the sample or the file that a graph was read from.
fn origins(rows: &[GraphRow], layout: &Layout) -> Vec<Column> {
    let sample = |value: fn(u64, u64) -> u64| -> ArrayRef {
        Arc::new(
            rows.iter()
                .map(|row| seed_and_index(row).map(|(s, i)| value(s, i)))
                .collect::<UInt64Array>(),
        )
    };
    let mut columns = Vec::new();
    if layout.has_samples {
        columns.extend([
            nullable(
                "seed",
                "argument of the sampler; null for a file",
                sample(|seed, _| seed),
            ),
            nullable(
                "index",
                "argument of the sampler; null for a file",
                sample(|_, index| index),
            ),
        ]);
    }
    if layout.has_files {
        let paths = Arc::new(rows.iter().map(path).collect::<StringArray>());
        columns.push(nullable("path", "path of a file; null for a sample", paths));
    }
    columns
}

/// Columns with the weights and the file of a graph.
fn contents(rows: &[GraphRow]) -> [Column; 4] {
    [
        column(
            "weight_distribution",
            "how the weights were drawn, for example `gaussian(sigma=12.5)`; empty for a file",
            strings(rows.iter().map(|row| row.weight_distribution.clone())),
        ),
        column(
            "structure_hash",
            "equal for graphs that differ only in weights and scales: keep them on one side of a split",
            strings(rows.iter().map(|row| row.structure_hash.clone())),
        ),
        column(
            "sha256",
            "SHA-256 of the `.tflite` file",
            strings(rows.iter().map(|row| row.labels.sha256.clone())),
        ),
        column(
            "file_bytes",
            "size of the `.tflite` file",
            Arc::new(UInt64Array::from_iter_values(
                rows.iter().map(|row| row.file_bytes),
            )),
        )
        .unit("bytes"),
    ]
}

/// Columns with the sizes and edges of a graph.
fn structures(rows: &[GraphRow]) -> [Column; 4] {
    [
        column(
            "n_operators",
            "operators of the main subgraph",
            u32s(rows, |row| row.features.n_nodes() as u32),
        ),
        column(
            "n_tensors",
            "tensors of the main subgraph",
            u32s(rows, |row| row.n_tensors),
        ),
        column(
            "edge_src",
            "for each edge, `node_idx` of the operator that writes the tensor",
            lists(rows.iter().map(|row| row.features.edge_src.as_slice())),
        ),
        column(
            "edge_dst",
            "for each edge, `node_idx` of the operator that reads the tensor",
            lists(rows.iter().map(|row| row.features.edge_dst.as_slice())),
        ),
    ]
}

fn u32s(rows: &[GraphRow], value: fn(&GraphRow) -> u32) -> ArrayRef {
    Arc::new(UInt32Array::from_iter_values(rows.iter().map(value)))
}

fn split(row: &GraphRow) -> String {
    let space = row.labels.origin.space();
    Split::default()
        .side(&row.structure_hash, space)
        .id()
        .to_owned()
}

fn seed_and_index(row: &GraphRow) -> Option<(u64, u64)> {
    match &row.labels.origin {
        Origin::Sampled { seed, index, .. } => Some((*seed, *index)),
        Origin::File(_) => None,
    }
}

fn path(row: &GraphRow) -> Option<String> {
    match &row.labels.origin {
        Origin::Sampled { .. } => None,
        Origin::File(path) => Some(path.display().to_string()),
    }
}

fn lists<'a>(values: impl Iterator<Item = &'a [u32]>) -> ArrayRef {
    let item = Field::new("item", DataType::UInt32, false);
    let mut builder = ListBuilder::new(UInt32Builder::new()).with_field(item);
    for value in values {
        builder.values().append_slice(value);
        builder.append(true);
    }
    Arc::new(builder.finish())
}

/// Columns that identify the operator of a row.
fn keys_of_operators(rows: &[GraphRow]) -> [Column; 2] {
    let ids = rows
        .iter()
        .flat_map(|row| repeat(row.labels.origin.graph_id(), row));
    let node_idx = rows.iter().flat_map(|row| 0..row.features.n_nodes() as u32);
    [
        column("graph_id", "as in the table of graphs", strings(ids)),
        column(
            "node_idx",
            "position in the graph, in topological order",
            Arc::new(UInt32Array::from_iter_values(node_idx)),
        ),
    ]
}

/// One row for each operator, graph by graph, in topological order.
pub fn features(rows: &[GraphRow]) -> Result<RecordBatch> {
    let mut columns = Vec::from(keys_of_operators(rows));
    columns.extend(
        (0..N_COLUMNS)
            .map(|idx| column(COLUMNS[idx].name, COLUMNS[idx].meaning, feature(rows, idx))),
    );
    batch(columns)
}

/// One row for each operator, graph by graph, in topological order.
pub fn operators(rows: &[GraphRow], layout: &Layout) -> Result<RecordBatch> {
    let operator_idx = rows.iter().flat_map(|row| row.operator_idx.iter().copied());
    let names = rows
        .iter()
        .flat_map(|row| row.operator_names.iter().cloned());
    let categories = rows
        .iter()
        .flat_map(|row| row.features.categories.iter().copied());
    let mut columns = Vec::from(keys_of_operators(rows));
    columns.extend([
        column(
            "operator_idx",
            "position in the file",
            Arc::new(UInt32Array::from_iter_values(operator_idx)),
        ),
        column(
            "operator",
            "name in TFLite's schema; a custom operator has its own name",
            strings(names),
        ),
        column(
            "category",
            "number of `BuiltinOperator` in TFLite's schema",
            Arc::new(Int32Array::from_iter_values(categories)),
        ),
    ]);
    columns.extend(layout.operator_labels.iter().map(|(target, metric)| {
        let name = operator_column(metric.id, target);
        let meaning = format!("{} on `{target}`", metric.meaning);
        let values = operator_values(rows, target, metric.id);
        nullable(&name, &meaning, values).unit(metric.unit)
    }));
    batch(columns)
}

fn repeat(text: String, row: &GraphRow) -> impl Iterator<Item = String> {
    std::iter::repeat_n(text, row.features.n_nodes())
}

fn feature(rows: &[GraphRow], column_idx: usize) -> ArrayRef {
    let of_row = |row: &GraphRow| -> Vec<f32> {
        row.features
            .nodes
            .chunks_exact(N_COLUMNS)
            .map(|node| node[column_idx])
            .collect()
    };
    Arc::new(Float32Array::from_iter_values(rows.iter().flat_map(of_row)))
}

fn operator_values(rows: &[GraphRow], target: &str, metric: &str) -> ArrayRef {
    let of_row = |row: &GraphRow| -> Vec<Option<u64>> {
        let labels = row.labels.targets.get(target);
        let values = labels.and_then(|labels| labels.operators.get(metric));
        let of_node = |idx: &u32| values.and_then(|values| values.get(*idx as usize).copied());
        row.operator_idx.iter().map(of_node).collect()
    };
    Arc::new(rows.iter().flat_map(of_row).collect::<UInt64Array>())
}

/// One row for each graph, target and metric. If a graph has no label on a target, there is one row without metric and
/// value.
pub fn labels(rows: &[GraphRow]) -> Result<RecordBatch> {
    let entries: Vec<Entry> = rows.iter().flat_map(entries_of_graph).collect();
    let metric = |entry: &Entry| entry.metric.map(|idx| METRICS[idx].id);
    let unit = |entry: &Entry| entry.metric.map(|idx| METRICS[idx].unit);
    let n_cpu = entries.iter().map(|entry| entry.labels.n_cpu_operators);
    batch(vec![
        column(
            "graph_id",
            "as in the table of graphs",
            strings(entries.iter().map(|entry| entry.graph_id.clone())),
        ),
        column(
            "target",
            "id of the hardware",
            strings(entries.iter().map(|entry| entry.target.to_string())),
        ),
        nullable(
            "metric",
            "what was labelled; null where there is no label",
            Arc::new(entries.iter().map(metric).collect::<StringArray>()),
        ),
        nullable(
            "value",
            "in the unit beside it; null where there is no label",
            Arc::new(entries.iter().map(Entry::value).collect::<Float64Array>()),
        ),
        nullable(
            "unit",
            "unit of the value; null where there is no label",
            Arc::new(entries.iter().map(unit).collect::<StringArray>()),
        ),
        column(
            "cpu_operators",
            "operators left to the CPU, which the values do not count",
            Arc::new(UInt32Array::from_iter_values(n_cpu)),
        ),
        column(
            "status",
            "`ok`, `rejected` by the tool, `crashed` or `timed_out`",
            strings(entries.iter().map(|entry| entry.labels.status.clone())),
        ),
        column(
            "reason",
            "why there is no label; empty where the status is `ok`",
            strings(entries.iter().map(|entry| entry.labels.reason.clone())),
        ),
    ])
}

struct Entry<'r> {
    graph_id: String,
    target: &'r str,
    labels: &'r TargetLabels,
    /// Index into [`METRICS`].
    metric: Option<usize>,
}

impl Entry<'_> {
    fn value(&self) -> Option<f64> {
        self.metric
            .and_then(|idx| self.labels.values.get(METRICS[idx].id).copied())
    }
}

fn entries_of_graph(row: &GraphRow) -> Vec<Entry<'_>> {
    let mut entries = Vec::new();
    for (target, labels) in &row.labels.targets {
        let mut push = |metric| {
            let graph_id = row.labels.origin.graph_id();
            entries.push(Entry {
                graph_id,
                target,
                labels,
                metric,
            });
        };
        if labels.values.is_empty() {
            push(None)
        } else {
            (0..METRICS.len())
                .filter(|idx| labels.values.contains_key(METRICS[*idx].id))
                .for_each(|idx| push(Some(idx)))
        }
    }
    entries
}
