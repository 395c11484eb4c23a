//! Graphs of which both the compiler's answer and our estimates are known: what sets intervals, and what they
//! are measured on.

mod configurations;
mod held_out;
mod labelled;

use anyhow::Result;
use litecast::formats::tflite;
use litecast::graph::{self, analysis};
use litecast::learned::out_of_distribution::Learned;
use litecast::learned::predictor::Predictor;
use litecast::targets::ethos_u::accelerator::Accelerator;
use litecast::targets::ethos_u::configuration::Configuration;
use litecast::targets::ethos_u::signals::Signals;
use litecast::targets::ethos_u::totals::Totals;
use litecast::targets::ethos_u::{features, target};
use litecast::targets::{Metric, Network};

pub use configurations::{configurations, defaults, vela_target};
pub use held_out::of_dataset;
pub use labelled::of_labels;

/// What is estimated and labelled, in the order of a case's values.
pub const METRICS: [Metric; 4] = [
    Metric::Latency,
    Metric::SramPeak,
    Metric::OffchipTraffic,
    Metric::SramTraffic,
];

/// Values by [`METRICS`]: milliseconds and bytes.
pub type Values = [f64; METRICS.len()];

/// What a graph is, as far as errors are told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Sampled from a design space of networks.
    Network,
    /// A few random operators each.
    RandomOperators,
    /// A file that nobody here made.
    File,
}

/// Where a graph comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    pub kind: Kind,
    /// Design space, or what a file's name says of its architecture.
    pub family: String,
    /// Whether it may set widths. Others are reported on.
    pub calibrates: bool,
}

/// One graph in one configuration, where it is estimated.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    pub origin: Origin,
    /// Index of the configuration.
    pub configuration: usize,
    pub label: Values,
    pub rules: Values,
    /// Of the trained network, where it was trained for the configuration and knows such graphs.
    pub network: Option<Values>,
    pub signals: Signals,
}

/// The compiler's values in one configuration, by its index.
type Label = (usize, Values);

/// Cases of one graph.
fn of_graph(
    bytes: &[u8],
    origin: &Origin,
    labels: &[Label],
    configurations: &[Configuration],
    predictor: &Predictor,
) -> Result<Vec<Case>> {
    let Ok(model) = tflite::parse(bytes) else {
        return Ok(Vec::new());
    };
    let graph = graph::build(&model, 0)?;
    let analysis = analysis::analyze(&graph);
    let features = features(&graph, &analysis);
    let manifest = predictor.manifest()?;
    let learned = Learned::of(predictor, &graph, &features)?;
    let network = Network {
        predictor: Some(predictor),
        ..Network::new(&graph, &analysis)
    };
    let mut cases = Vec::new();
    for &(configuration_idx, label) in labels {
        let configuration = &configurations[configuration_idx];
        let target = target(configuration.clone());
        let estimated = target.estimate(&network).metrics;
        if !estimated.iter().any(|metric| metric.outcome.is_estimate()) {
            continue;
        }
        let totals = Totals::of(&Accelerator::of(configuration), &graph, &analysis);
        let is_partly_on_cpu = !target.unsupported(&network).is_empty();
        let of_network = |metric: Metric| {
            let idx = manifest.output_idx(target.id(), metric.id())?;
            Some(f64::from(*learned.estimates.graph.get(idx)?))
        };
        let is_corrected = defaults().contains(configuration) && learned.likeness.is_like_training;
        let corrected = METRICS.map(of_network);
        cases.push(Case {
            origin: origin.clone(),
            configuration: configuration_idx,
            label,
            rules: METRICS.map(|metric| totals.of_metric(metric)),
            network: is_corrected
                .then(|| corrected.into_iter().collect::<Option<Vec<f64>>>())
                .flatten()
                .and_then(|values| values.try_into().ok()),
            signals: Signals::of(&graph, &totals.operators, is_partly_on_cpu),
        });
    }
    Ok(cases)
}
