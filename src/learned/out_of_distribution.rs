//! The trained network's estimates for a graph, and the distance of that graph from the training set.

use std::collections::BTreeSet;

use super::features::{COLUMNS, Features, N_COLUMNS};
use super::intervals::summary;
use super::manifest::Manifest;
use super::predictor::{Estimates, Predictor, PredictorError};
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::formats::tflite::OpKind;
use crate::graph::Graph;

/// The trained network's estimates for one graph.
pub struct Learned<'p> {
    pub manifest: &'p Manifest,
    /// Empty if the graph is out of distribution, because the network then does not run.
    pub estimates: Estimates,
    pub likeness: TrainingSimilarity,
}

impl<'p> Learned<'p> {
    /// Of `graph`, whose features are `features`. Linear in nodes and edges.
    pub fn new(
        predictor: &'p Predictor,
        graph: &Graph,
        features: &Features,
    ) -> Result<Self, PredictorError> {
        let manifest = predictor.manifest()?;
        let likeness = TrainingSimilarity::new(manifest, graph, features);
        Ok(Self {
            manifest,
            estimates: if likeness.is_like_training {
                predictor.predict(features)?
            } else {
                Estimates::default()
            },
            likeness,
        })
    }
}

/// Whether a graph resembles the training graphs.
pub struct TrainingSimilarity {
    /// Whether every operator kind of the graph occurred in training, every feature is within its range in training,
    /// and the nearest landmark is no farther away than for held-out graphs.
    pub is_like_training: bool,
    /// Names the operator kinds that did not occur in training.
    pub never_trained: Option<Diagnostic>,
    /// The other reasons why the graph is out of distribution.
    pub diagnostics: Vec<Diagnostic>,
}

impl TrainingSimilarity {
    /// Of `graph`, whose features are `features`. Linear in nodes and landmarks.
    pub fn new(manifest: &Manifest, graph: &Graph, features: &Features) -> Self {
        let distance = manifest.landmarks.distance(&summary(features));
        let never_trained = never_trained(graph, manifest);
        let doubts = [
            outside_range(features, manifest),
            far_from_training(distance, manifest),
        ];
        let diagnostics: Vec<Diagnostic> = doubts.into_iter().flatten().collect();
        Self {
            is_like_training: never_trained.is_none() && diagnostics.is_empty(),
            diagnostics,
            never_trained,
        }
    }
}

/// Operators that occur in no training graph.
fn never_trained(graph: &Graph, manifest: &Manifest) -> Option<Diagnostic> {
    let is_new =
        |kind: OpKind| kind == OpKind::Custom || manifest.category_index(kind.number()) == 0;
    let new = graph
        .nodes
        .iter()
        .filter(|node| is_new(node.operator.code.kind));
    let first = new.clone().next()?;
    let names: BTreeSet<_> = new.map(|node| node.operator.code.name()).collect();
    let names = some_of(names, ", ");
    Some(Diagnostic {
        severity: Severity::Info,
        code: "operator-never-trained",
        message: format!("the trained network never saw {names} and makes no estimate"),
        operator_idx: Some(first.operator_idx),
    })
}

/// Columns whose values are outside of their range in training, most extreme first.
fn outside_range(features: &Features, manifest: &Manifest) -> Option<Diagnostic> {
    let ranges = &manifest.feature_ranges;
    let mut outside: Vec<(f32, usize)> = Vec::new();
    for (column_idx, range) in ranges.iter().enumerate().take(N_COLUMNS) {
        let values = features.nodes.iter().skip(column_idx).step_by(N_COLUMNS);
        let width = (range.max - range.min).max(f32::MIN_POSITIVE);
        let excess = |&v: &f32| (v - range.max).max(range.min - v) / width;
        let worst = values.map(excess).fold(0.0, f32::max);
        if worst > RANGE_SLACK {
            outside.push((worst, column_idx));
        }
    }
    outside.sort_by(|a, b| b.0.total_cmp(&a.0));
    let meanings = outside.iter().map(|&(_, idx)| COLUMNS[idx].meaning);
    let listed = some_of(meanings, "; ");
    (!outside.is_empty()).then(|| Diagnostic {
        severity: Severity::Warning,
        code: "outside-training-range",
        message: format!("outside what the trained network saw, which makes no estimate: {listed}"),
        operator_idx: None,
    })
}

/// A graph that is farther from the training set than held-out graphs are.
fn far_from_training(distance: f32, manifest: &Manifest) -> Option<Diagnostic> {
    let intervals = &manifest.intervals;
    let calibrated = intervals
        .iter()
        .map(|i| i.max_distance())
        .fold(0.0, f32::max);
    (calibrated > 0.0 && distance > calibrated).then(|| Diagnostic {
        severity: Severity::Warning,
        code: "unlike-training",
        message: format!(
            "{:.1} times as far from the networks of training as any held-out one: the trained network makes no \
             estimate",
            distance / calibrated
        ),
        operator_idx: None,
    })
}

/// Share of a column's range by which a value may be outside of it without a diagnostic.
const RANGE_SLACK: f32 = 0.05;
