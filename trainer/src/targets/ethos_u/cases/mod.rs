//! Graphs with labels of the compiler and with our estimates. They set the widths of intervals and measure them.

mod configurations;
mod held_out;
mod labelled;

use anyhow::Result;
use litecast::formats::tflite;
use litecast::graph::{self, analysis};
use litecast::targets::ethos_u::accelerator::Accelerator;
use litecast::targets::ethos_u::configuration::Configuration;
use litecast::targets::ethos_u::error_indicators::ErrorIndicators;
use litecast::targets::ethos_u::target;
use litecast::targets::ethos_u::totals::Totals;
use litecast::targets::{Metric, Network};

pub use configurations::{configurations, defaults, vela_target};
pub use held_out::held_out_cases;
pub use labelled::labelled_cases;

/// The metrics that are estimated and labelled, in the order of a case's values.
pub const METRICS: [Metric; 4] = [
    Metric::Latency,
    Metric::SramPeak,
    Metric::OffchipTraffic,
    Metric::SramTraffic,
];

/// Values by [`METRICS`]: milliseconds and bytes.
pub type Values = [f64; METRICS.len()];

/// The kind of a graph. Errors are listed separately for each kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Sampled from a design space of networks.
    Network,
    /// A few random operators each.
    RandomOperators,
    /// A file from outside of this project.
    File,
    /// A file of one layer or operator, which this project made.
    Layer,
}

impl Kind {
    /// Whether it was labelled from a file, in each configuration by itself.
    pub fn is_file(self) -> bool {
        matches!(self, Self::File | Self::Layer)
    }
}

/// Where a graph comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// Whether the network was drawn or is a real file.
    pub kind: Kind,
    /// Design space, or the architecture that a file's name states.
    pub family: String,
    /// Whether it sets widths; otherwise errors are measured on it.
    pub calibrates: bool,
}

/// One graph with its label and estimates in one configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Case {
    /// Where the network comes from.
    pub origin: Origin,
    /// Index of the configuration.
    pub configuration: usize,
    /// Vela's figures.
    pub label: Values,
    /// Figures of the rules.
    pub rules: Values,
    /// What tells how far rules may be off.
    pub signals: ErrorIndicators,
}

/// The compiler's values in one configuration, by its index.
type Label = (usize, Values);

/// Cases of one graph.
fn graph_cases(
    bytes: &[u8],
    origin: &Origin,
    labels: &[Label],
    configurations: &[Configuration],
) -> Result<Vec<Case>> {
    let Ok(model) = tflite::parse(bytes) else {
        return Ok(Vec::new());
    };
    let graph = graph::build(&model, 0)?;
    let analysis = analysis::analyze(&graph);
    let network = Network::new(&graph, &analysis);
    let mut cases = Vec::new();
    for &(configuration_idx, label) in labels {
        let configuration = &configurations[configuration_idx];
        let target = target(configuration.clone());
        let estimated = target.estimate(&network).metrics;
        if !estimated.iter().any(|metric| metric.outcome.is_estimate()) {
            continue;
        }
        let totals = Totals::new(&Accelerator::new(configuration), &graph, &analysis);
        let is_partly_on_cpu = !target.unsupported(&network).is_empty();
        cases.push(Case {
            origin: origin.clone(),
            configuration: configuration_idx,
            label,
            rules: METRICS.map(|metric| totals.metric(metric)),
            signals: ErrorIndicators::new(&graph, &totals.operators, is_partly_on_cpu),
        });
    }
    Ok(cases)
}
