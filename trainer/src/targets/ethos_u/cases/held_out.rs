//! Graphs of the dataset that were used neither to train the exported network nor to stop its training.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use litecast::targets::ethos_u::configuration::Configuration;
use rayon::prelude::*;
use sha2::{Digest, Sha256};

use super::{Case, Kind, Label, METRICS, Origin, Values, graph_cases};
use crate::dataset::{self, Dataset, LabelledGraph};
use crate::labels::bytes_of;
use crate::labels::record;
use crate::spaces::has_networks;
use crate::split::{Side, Split};

/// Files in memory at a time.
const CHUNK: usize = 64;

/// Cases of at most `most` held-out graphs of each design space, in the default configurations, which are the first
/// ones. Only graphs that the compiler maps completely to the NPU are used.
pub fn held_out_cases(
    folder: &Path,
    most: usize,
    configurations: &[Configuration],
    split: &Split,
) -> Result<Vec<Case>> {
    let dataset = dataset::load_labels(folder)?;
    let mut by_space: BTreeMap<&str, Vec<(&LabelledGraph, Vec<Label>)>> = BTreeMap::new();
    for graph in &dataset.graphs {
        let labels = labels_of(&dataset, graph, configurations);
        let is_held_out = split.side(&graph.structure_hash, &graph.space) == Side::Test;
        if is_held_out && !labels.is_empty() && origin(&graph.graph_id).is_some() {
            by_space
                .entry(&graph.space)
                .or_default()
                .push((graph, labels));
        }
    }
    let spread = by_space.into_values().flat_map(|graphs| {
        let step = graphs.len().div_ceil(most).max(1);
        graphs.into_iter().step_by(step)
    });
    let graphs: Vec<_> = spread.collect();
    let bar = ProgressBar::new(graphs.len() as u64);
    let mut cases = Vec::new();
    for chunk in graphs.chunks(CHUNK) {
        let files: Vec<Vec<u8>> = (chunk.par_iter())
            .map(|(graph, _)| {
                let origin =
                    origin(&graph.graph_id).context("graphs without origin are left out")?;
                bytes_of(&origin)
            })
            .collect::<Result<_>>()?;
        for ((graph, labels), bytes) in chunk.iter().zip(&files) {
            let origin = Origin {
                kind: if has_networks(&graph.space) {
                    Kind::Network
                } else {
                    Kind::RandomOperators
                },
                family: graph.space.clone(),
                calibrates: calibrates(&graph.structure_hash),
            };
            cases.extend(graph_cases(bytes, &origin, labels, configurations)?);
        }
        bar.inc(chunk.len() as u64);
    }
    bar.finish_and_clear();
    Ok(cases)
}

/// Whether a structure is in the half that sets the widths.
fn calibrates(structure_hash: &str) -> bool {
    Sha256::digest(format!("calibration {structure_hash}"))[0] % 2 == 0
}

/// Labels in the default configurations. A graph has labels if no operator is left to the CPU.
fn labels_of(
    dataset: &Dataset,
    graph: &LabelledGraph,
    configurations: &[Configuration],
) -> Vec<Label> {
    let label = |(idx, configuration): (usize, &Configuration)| {
        let mut values = Values::default();
        for (value, metric) in values.iter_mut().zip(METRICS) {
            let column = dataset.label_idx(configuration.product.name(), metric.id())?;
            *value = f64::from(graph.labels[column]?);
        }
        Some((idx, values))
    };
    let defaults = super::defaults().len();
    let configurations = configurations.iter().enumerate().take(defaults);
    configurations.filter_map(label).collect()
}

/// The origin of an int8 sample with batch size 1; `None` for other graphs.
fn origin(graph_id: &str) -> Option<record::Origin> {
    let mut parts = graph_id.split('/');
    let origin = record::Origin::Sampled {
        space: parts.next()?.into(),
        seed: parts.next()?.parse().ok()?,
        index: parts.next()?.parse().ok()?,
        form: record::form_of_id(graph_id),
    };
    (origin.is_int8() && origin.batch() == 1).then_some(origin)
}
