//! Reads the labels of existing tables, to make the tables again with other features.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use arrow_array::types::{Float64Type, UInt32Type, UInt64Type};

use super::labels::{GraphLabels, OPERATOR_METRICS, TargetLabels};
use super::provenance::Provenance;
use super::read::{Table, Tables};
use super::tables::operator_column;
use crate::labels::record::{Origin, form_of_id};

/// The labels of the dataset in `folder`, independent of its features.
pub fn read_labels(folder: &Path) -> Result<(Vec<GraphLabels>, Provenance)> {
    let tables = Tables::read(folder)?;
    Ok((labels_of(&tables)?, tables.provenance))
}

/// The labels of the graphs of `tables`.
pub fn labels_of(tables: &Tables) -> Result<Vec<GraphLabels>> {
    let mut graphs = read_graphs(&tables.graphs)?;
    read_values(tables, &mut graphs)?;
    let ranges = tables.operator_ranges()?;
    let operator_idx = tables.operators.values::<UInt32Type>("operator_idx")?;
    for target in tables.provenance.target_ids() {
        for metric in &OPERATOR_METRICS {
            let column = operator_column(metric.id, &target);
            let values = tables.operators.values_if_present::<UInt64Type>(&column)?;
            for (graph, range) in graphs.iter_mut().zip(&ranges) {
                let Some(labels) = graph.targets.get_mut(&target) else {
                    continue;
                };
                let (idx, values) = (&operator_idx[range.clone()], &values[range.clone()]);
                if let Some(values) = in_file_order(idx, values) {
                    labels.operators.insert(metric.id.to_string(), values);
                }
            }
        }
    }
    Ok(graphs)
}

fn read_graphs(table: &Table) -> Result<Vec<GraphLabels>> {
    let spaces = table.texts("space")?;
    let seeds = table.values_if_present::<UInt64Type>("seed")?;
    let indices = table.values_if_present::<UInt64Type>("index")?;
    let paths = table.texts_if_present("path")?;
    let mut graphs = Vec::new();
    let graph_ids = table.texts("graph_id")?;
    for (row, sha256) in table.texts("sha256")?.into_iter().enumerate() {
        let origin = origin(
            graph_ids[row],
            spaces[row],
            seeds[row],
            indices[row],
            paths[row],
        );
        let origin = origin.with_context(|| format!("{}: row {row} has no origin", table.name))?;
        graphs.push(GraphLabels {
            origin,
            sha256: sha256.to_string(),
            targets: Default::default(),
        });
    }
    Ok(graphs)
}

fn origin(
    graph_id: &str,
    space: &str,
    seed: Option<u64>,
    index: Option<u64>,
    path: Option<&str>,
) -> Option<Origin> {
    match (seed, index, path) {
        (Some(seed), Some(index), None) => Some(Origin::Sampled {
            space: space.into(),
            seed,
            index,
            form: form_of_id(graph_id),
        }),
        (None, None, Some(path)) => Some(Origin::File(PathBuf::from(path))),
        _ => None,
    }
}

fn read_values(tables: &Tables, graphs: &mut [GraphLabels]) -> Result<()> {
    let table = &tables.labels;
    let graph_ids = tables.graphs.texts("graph_id")?;
    let graph_idx: HashMap<_, _> = graph_ids.into_iter().zip(0..).collect();
    let targets = table.texts("target")?;
    let metrics = table.optional_texts("metric")?;
    let values = table.optional_values::<Float64Type>("value")?;
    let n_cpu = table.values::<UInt32Type>("cpu_operators")?;
    let statuses = table.texts("status")?;
    let reasons = table.texts("reason")?;
    for (row, graph_id) in table.texts("graph_id")?.into_iter().enumerate() {
        let idx: &usize = graph_idx
            .get(graph_id)
            .with_context(|| format!("{}: {graph_id}", table.name))?;
        let labels = graphs[*idx]
            .targets
            .entry(targets[row].to_string())
            .or_insert(TargetLabels {
                status: statuses[row].to_string(),
                reason: reasons[row].to_string(),
                n_cpu_operators: n_cpu[row],
                ..TargetLabels::default()
            });
        if let (Some(metric), Some(value)) = (metrics[row], values[row]) {
            labels.values.insert(metric.to_string(), value);
        }
    }
    // Modelled values follow from today's constants.
    for graph in graphs {
        let targets = graph.targets.iter_mut();
        targets.for_each(|(target, labels)| labels.fill_modelled(&graph.origin, target));
    }
    Ok(())
}

/// Values by operator index in the file; `None` if one is missing.
fn in_file_order(operator_idx: &[u32], values: &[Option<u64>]) -> Option<Vec<u64>> {
    let mut pairs = Vec::new();
    for (operator_idx, value) in operator_idx.iter().zip(values) {
        pairs.push((*operator_idx, (*value)?));
    }
    pairs.sort_unstable();
    Some(pairs.into_iter().map(|(_, value)| value).collect())
}
