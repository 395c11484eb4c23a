//! What a trained network says of a graph, and how far that graph is from those it was trained on.

use std::collections::BTreeSet;

use super::features::{COLUMNS, Features, N_COLUMNS};
use super::intervals::summary;
use super::manifest::Manifest;
use super::predictor::{Estimates, Predictor, PredictorError};
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::formats::tflite::OpKind;
use crate::graph::Graph;

/// What a trained network says of one graph.
pub struct Learned<'p> {
    pub manifest: &'p Manifest,
    /// Empty where the graph is unlike those of training: then the network does not run.
    pub estimates: Estimates,
    pub likeness: Likeness,
}

impl<'p> Learned<'p> {
    /// Of `graph`, whose features are `features`. Linear in nodes and edges.
    pub fn of(
        predictor: &'p Predictor,
        graph: &Graph,
        features: &Features,
    ) -> Result<Self, PredictorError> {
        let manifest = predictor.manifest()?;
        let likeness = Likeness::of(manifest, graph, features);
        Ok(Self {
            manifest,
            estimates: match likeness.is_like_training {
                true => predictor.predict(features)?,
                false => Estimates::default(),
            },
            likeness,
        })
    }
}

/// How far a graph is from those of training.
pub struct Likeness {
    /// Whether training had every operator kind of the graph and every feature within its range, and the
    /// nearest landmark is no farther than those of held-out graphs.
    pub is_like_training: bool,
    /// The operator kinds that training did not have.
    pub never_trained: Option<Diagnostic>,
    /// What else makes the graph unlike those of training.
    pub diagnostics: Vec<Diagnostic>,
}

impl Likeness {
    /// Of `graph`, whose features are `features`. Linear in nodes and landmarks.
    pub fn of(manifest: &Manifest, graph: &Graph, features: &Features) -> Self {
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

/// Operators that no training graph had.
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
        message: format!(
            "the trained network never saw {names}: Ethos-U estimates are those of the compiler's rules alone"
        ),
        operator_idx: Some(first.operator_idx),
    })
}

/// Columns whose values leave what training graphs had, most extreme first.
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
        message: format!(
            "outside what the trained network saw: {listed}; Ethos-U estimates are those of the compiler's \
             rules alone"
        ),
        operator_idx: None,
    })
}

/// A graph farther from all of training than held-out ones.
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
            "{:.1} times as far from the networks of training as any held-out one: Ethos-U estimates are those \
             of the compiler's rules alone",
            distance / calibrated
        ),
        operator_idx: None,
    })
}

/// Share of a column's range by which a value may leave it without a word.
const RANGE_SLACK: f32 = 0.05;
