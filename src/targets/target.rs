//! The interface of all hardware: [`Target`], what it is asked with, and what it answers.

use std::num::NonZeroU32;
use std::sync::OnceLock;

use serde::Serialize;

use super::measured_range::MeasuredRange;
use super::outcome::{Metric, MetricEstimate};
use super::peak_rates::PeakRates;
use super::support::UnsupportedOperator;
use super::{cortex_a, ethos_u};
use crate::diagnostic::Diagnostic;
use crate::graph::Graph;
use crate::graph::analysis::Analysis;
use crate::learned::manifest::Manifest;
use crate::learned::out_of_distribution::Learned;
use crate::learned::predictor::{Predictor, PredictorError};
use crate::provenance::Provenance;

/// One network, as every target is asked about it.
pub struct Network<'n> {
    pub graph: &'n Graph<'n>,
    pub analysis: &'n Analysis,
    /// Absent where no trained network is loaded.
    pub predictor: Option<&'n Predictor>,
    /// Threads that a processor runs it on, at most one a core.
    pub n_threads: NonZeroU32,
    /// Inputs at a time that were asked for. The graph has them already, unless it is for
    /// targets alone that take any batch ([`Target::takes_any_batch`]).
    pub batch: NonZeroU32,
    /// What targets share, once one of them has asked for it.
    pub shared: Shared<'n>,
}

/// What several targets ask of one network, computed once: see [`Network::processor_work`],
/// [`Network::processor_counts`], [`Network::left_to_cpu`] and [`Network::learned`].
#[derive(Default)]
pub struct Shared<'n> {
    processor_work: OnceLock<Vec<cortex_a::Work>>,
    /// By index of the processor in [`cortex_a::Costs`].
    processor_counts: OnceLock<Vec<OnceLock<Vec<cortex_a::Counted>>>>,
    left_to_cpu: ethos_u::support::LeftToCpu,
    learned: OnceLock<Result<Learned<'n>, PredictorError>>,
}

impl<'n> Network<'n> {
    /// One input on one thread, without a trained network.
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

    /// The same to ask apart from this one, with nothing shared: what targets share goes with it.
    pub fn apart(&self) -> Self {
        Self {
            shared: Shared::default(),
            ..*self
        }
    }

    /// Each operator's work on a processor, which is the same on all of them.
    pub fn processor_work(&self) -> &[cortex_a::Work] {
        let work = &self.shared.processor_work;
        work.get_or_init(|| cortex_a::work(self.graph, self.analysis))
    }

    /// Instructions of each of these on a processor whose kernels were counted, which several boards have.
    pub fn processor_counts(&self, processor: &str) -> Option<&[cortex_a::Counted]> {
        let processors = &cortex_a::Costs::shipped().targets;
        let idx = (processors.iter()).position(|costs| costs.target == processor)?;
        let of_all =
            (self.shared.processor_counts).get_or_init(|| vec![OnceLock::new(); processors.len()]);
        let counted = || cortex_a::count(&processors[idx], self.processor_work());
        Some(of_all.get(idx)?.get_or_init(counted))
    }

    /// The operators that an Ethos-U leaves to the CPU, in topological order.
    pub fn left_to_cpu(&self, npu: ethos_u::support::Npu) -> &[UnsupportedOperator] {
        self.shared.left_to_cpu.of(self.graph, npu)
    }

    /// What the trained network says, which runs when the first target asks; none where it is not loaded or fails.
    pub fn learned(&self) -> Option<&Learned<'n>> {
        let predictor = self.predictor?;
        let learned = self.shared.learned.get_or_init(|| {
            let features = ethos_u::features(self.graph, self.analysis);
            Learned::of(predictor, self.graph, &features)
        });
        learned.as_ref().ok()
    }

    /// Why the trained network failed, where a target asked it and it did.
    pub fn into_failure(self) -> Option<PredictorError> {
        self.shared.learned.into_inner()?.err()
    }
}

/// One kind of hardware, or one way to run a network.
pub trait Target: Send + Sync {
    /// Stable identifier, kebab-case, for example `ethos-u55-256`.
    fn id(&self) -> &str;

    /// What is estimated for it. Targets that only a trained network knows need its manifest.
    fn info(&self, manifest: Option<&Manifest>) -> Option<TargetInfo>;

    /// The operators that it does not run, in topological order; empty where it runs all of them, or
    /// where running the file as a whole is no question of operators.
    fn unsupported(&self, network: &Network) -> Vec<UnsupportedOperator>;

    /// What the hardware reaches at most, by which latencies are checked; none where no document tells.
    fn peak(&self) -> Option<PeakRates> {
        None
    }

    /// The latencies that its constants were fitted to, as this network's batch would have them; none where they were
    /// not fitted to latencies.
    fn measured_range(&self, _: &Network) -> Option<MeasuredRange> {
        None
    }

    /// Whether it estimates any batch from the graph of one input, so that the file's shapes need not tell what
    /// each operator does with the first dimension.
    fn takes_any_batch(&self) -> bool {
        false
    }

    /// Whether an estimate holds a plan of all operators while it is made, of some 1.5 kB each: of a large graph, such
    /// targets are asked one after another.
    fn plans_operators(&self) -> bool {
        false
    }

    /// One estimate, or the reason for none, by metric. Empty where the target needs a trained network
    /// and none is loaded.
    fn estimate(&self, network: &Network) -> TargetEstimate;
}

/// What one target makes of one network.
#[derive(Clone, Debug, Default)]
pub struct TargetEstimate {
    /// The hardware in words.
    pub device: String,
    pub metrics: Vec<MetricEstimate>,
    /// Doubts about these estimates.
    pub diagnostics: Vec<Diagnostic>,
}

/// A target and what is estimated for it, as the first screen and `litecast targets` list it.
#[derive(Clone, Debug, Serialize)]
pub struct TargetInfo {
    pub id: String,
    /// The hardware in words.
    pub device: String,
    pub metrics: Vec<MetricInfo>,
    /// Tool, version and configuration whose numbers were learned, or what a model was fitted to.
    pub learned_from: String,
    /// Of the first metric.
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
