//! The interface of all hardware: [`Target`], its input [`Network`] and its result [`TargetEstimate`].
//!
//! Nothing here imports a kind of hardware: `targets` implements the interface, and `evaluation` calls it.

pub mod boards;
mod cache;
mod compiled;
pub(crate) mod countable;
mod description;
pub mod fitted;
pub mod measured_range;
mod outcome;
mod peak_rates;
mod settings;
mod support;

use std::num::NonZeroU32;
use std::sync::OnceLock;

use serde::Serialize;

pub use cache::Cache;
#[cfg(test)]
pub(crate) use compiled::STREAM_PRODUCTS;
pub use compiled::{ETHOS_U, compiled, compiled_for, ethos_u_of, is_compiled};
pub use countable::{is_vendors, uncountable};
pub use description::{Advice, Description, Durations, Family, TargetOption};
pub use measured_range::MeasuredRange;
pub use outcome::{Metric, MetricEstimate, Outcome, UnavailableReason};
pub use peak_rates::PeakRates;
pub use settings::Settings;
pub use support::{Place, UnsupportedOperator, UnsupportedReason};

use crate::diagnostic::Diagnostic;
use crate::graph::Graph;
use crate::graph::analysis::Analysis;
use crate::learned::features::Features;
use crate::learned::manifest::Manifest;
use crate::learned::out_of_distribution::Learned;
use crate::learned::predictor::{Predictor, PredictorError};
use crate::provenance::Provenance;

/// The input of a target: one network with the requested batch size and threads.
pub struct Network<'n> {
    pub graph: &'n Graph<'n>,
    pub analysis: &'n Analysis,
    /// Absent where no trained network is loaded.
    pub predictor: Option<&'n Predictor>,
    /// Number of threads on a processor, at most one per core.
    pub n_threads: NonZeroU32,
    /// Requested batch size. The graph already has it, unless only targets that accept any batch size are asked
    /// ([`Target::takes_any_batch`]).
    pub batch: NonZeroU32,
    /// Results that targets share, computed when the first target needs them.
    pub shared: Shared<'n>,
}

/// Results that several targets need for one network, computed once.
#[derive(Default)]
pub struct Shared<'n> {
    cache: Cache,
    learned: OnceLock<Result<Learned<'n>, PredictorError>>,
}

impl<'n> Network<'n> {
    /// A network with batch size 1 on one thread, without a trained predictor.
    pub fn new(graph: &'n Graph<'n>, analysis: &'n Analysis) -> Self {
        Self {
            graph,
            analysis,
            predictor: None,
            n_threads: NonZeroU32::MIN,
            batch: NonZeroU32::MIN,
            shared: Shared::default(),
        }
    }

    /// The same network, for targets that run apart from the others: it shares nothing with them, so that what they
    /// share is freed with it.
    pub fn without_shared(&self) -> Self {
        Self {
            shared: Shared::default(),
            ..*self
        }
    }

    /// The value of type `T` that targets share for this network.
    pub fn shared<T: std::any::Any + Send + Sync>(&self, compute: impl FnOnce() -> T) -> &T {
        self.shared.cache.get_or_init(compute)
    }

    /// A loaded network's estimates. It runs when the first target needs it; `None` if it is not loaded or fails.
    pub fn learned(&self, features: impl FnOnce() -> Features) -> Option<&Learned<'n>> {
        let predictor = self.predictor?;
        let learned =
            (self.shared.learned).get_or_init(|| Learned::new(predictor, self.graph, &features()));
        learned.as_ref().ok()
    }

    /// The error of the trained network, if a target needed it and it failed.
    pub fn into_failure(self) -> Option<PredictorError> {
        self.shared.learned.into_inner()?.err()
    }
}

/// One kind of hardware, or one way to run a network.
pub trait Target: Send + Sync {
    /// Stable identifier, kebab-case, for example `ethos-u55-256`.
    fn id(&self) -> &str;

    /// What the target is.
    fn description(&self) -> Description;

    /// The metrics that are estimated for the target. A target that only a trained network supports needs its manifest.
    fn info(&self, manifest: Option<&Manifest>) -> Option<TargetInfo>;

    /// The operators that the target does not run, in topological order. Empty if it runs all of them, or if support
    /// does not depend on single operators.
    fn unsupported(&self, network: &Network) -> Vec<UnsupportedOperator>;

    /// The processor that is assumed to run those operators; `None` for targets that leave none.
    fn host(&self) -> Option<HostInfo> {
        None
    }

    /// What the target is set to, of a processor with this number of threads at most. Empty where nothing can be chosen.
    fn settings(&self, _n_threads: NonZeroU32) -> Settings {
        Settings::default()
    }

    /// Peak rates of the hardware, with which latencies are checked; `None` if no document states them.
    fn peak(&self) -> Option<PeakRates> {
        None
    }

    /// The range of latencies that the constants were fitted to, scaled to this network's batch size; `None` if they
    /// were not fitted to latencies.
    fn measured_range(&self, _: &Network) -> Option<MeasuredRange> {
        None
    }

    /// Whether the target estimates any batch size from a graph of batch size 1, so that the file's shapes need not be
    /// changed.
    fn takes_any_batch(&self) -> bool {
        false
    }

    /// Whether the hardware runs integers alone, so that networks of floats are estimated as int8 on it.
    fn runs_integers_alone(&self) -> bool {
        false
    }

    /// Whether an estimate keeps a plan of all operators in memory while it is made, about 1.5 kB for each. For a large
    /// graph, such targets run one after another.
    fn plans_operators(&self) -> bool {
        false
    }

    /// An estimate, or the reason for having none, for each metric. Where rules suffice, a target estimates without the
    /// trained network.
    fn estimate(&self, network: &Network) -> TargetEstimate;
}

/// The result of one target for one network.
#[derive(Clone, Debug, Default)]
pub struct TargetEstimate {
    /// The hardware in words.
    pub device: String,
    pub metrics: Vec<MetricEstimate>,
    /// Doubts about these estimates.
    pub diagnostics: Vec<Diagnostic>,
}

/// A processor beside an accelerator.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema, ts_rs::TS),
    ts(rename = "Host")
)]
pub struct HostInfo {
    /// Id, as a choice's `host` takes it.
    #[cfg_attr(feature = "schema", ts(type = "TargetId"))]
    pub id: &'static str,
    /// The hardware in words, a microcontroller with its clock.
    pub device: String,
}

/// A target with its metrics, as the first screen of the page and `litecast targets` list it.
#[derive(Clone, Debug, Serialize)]
pub struct TargetInfo {
    pub id: String,
    /// The hardware in words.
    pub device: String,
    pub metrics: Vec<MetricInfo>,
    /// Tool, version and configuration whose results were learned, or the data that a model was fitted to.
    pub learned_from: String,
    /// Provenance of the first metric.
    pub provenance: Provenance,
}

#[derive(Clone, Debug, Serialize)]
pub struct MetricInfo {
    pub metric: Metric,
    pub unit: &'static str,
    /// Mean absolute percentage error on graphs that nothing was fitted to; null where it was not
    /// measured.
    pub expected_error_percent: Option<f64>,
}
