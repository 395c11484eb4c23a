//! Microcontrollers as targets of the registry.

use super::constants::{Constants, Energy, Target as Board};
use super::estimate::{InferenceEnergy, Latency, energy, latency};
use super::memory::{activation_ram_bytes, weights_flash_bytes};
use super::support::Refusal;
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::learned::manifest::Manifest;
use crate::provenance::{MAX_ERROR_PERCENT, Provenance, ProvenanceKind};
use crate::targets::{
    Metric, MetricEstimate, MetricInfo, Network, Outcome, Target, TargetEstimate, TargetInfo,
    UnavailableReason, UnsupportedOperator, tflite_micro, uncountable,
};

struct Microcontroller(&'static Board, Option<f64>);

/// All that were fitted, at their own clocks. They are no part of the registry: most files are too large
/// for any of them, so that they are shown where they are asked for.
pub fn targets() -> Vec<Box<dyn Target>> {
    let boards = Constants::shipped().targets.iter();
    boards
        .map(|board| Box::new(Microcontroller(board, None)) as Box<dyn Target>)
        .collect()
}

/// The one with an identifier, at another clock than its own where that is given.
pub fn target(id: &str, clock_mhz: Option<f64>) -> Option<Box<dyn Target>> {
    let board = Constants::shipped().target(id)?;
    Some(Box::new(Microcontroller(board, clock_mhz)))
}

impl Target for Microcontroller {
    fn id(&self) -> &str {
        &self.0.target
    }

    fn info(&self, _: Option<&Manifest>) -> Option<TargetInfo> {
        let metric = |metric: Metric, expected_error_percent| MetricInfo {
            metric,
            unit: metric.unit(),
            expected_error_percent,
        };
        let error = self.0.network_left_out.mean_percent;
        let mut metrics = vec![metric(Metric::Latency, Some(error.min(MAX_ERROR_PERCENT)))];
        metrics.extend(
            self.0
                .energy
                .as_ref()
                .map(|energy| metric(Metric::Energy, Some(energy.error.mean_percent))),
        );
        let memory: &[Metric] = match self.is_micro() {
            true => &[Metric::WeightsFlash, Metric::Arena],
            false => &[Metric::ActivationRam, Metric::WeightsFlash],
        };
        metrics.extend(memory.iter().map(|&of| metric(of, None)));
        Some(TargetInfo {
            id: self.0.target.clone(),
            device: self.0.device.clone(),
            metrics,
            learned_from: self.0.in_words(),
        })
    }

    fn unsupported(&self, _: &Network) -> Vec<UnsupportedOperator> {
        Vec::new()
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        let (graph, analysis) = (network.graph, network.analysis);
        if let Some(reason) = uncountable(graph, analysis) {
            return self.nothing(network, &reason);
        }
        let found = latency(graph, analysis, self.0, self.1);
        let mut metrics = vec![
            MetricEstimate {
                metric: Metric::Latency,
                outcome: match &found {
                    Ok(latency) => self.latency_outcome(latency),
                    Err(refusal) => unavailable(refusal),
                },
            },
            MetricEstimate {
                metric: Metric::WeightsFlash,
                outcome: counted(
                    Metric::WeightsFlash,
                    self.flash_bytes(network),
                    self.flash_words(),
                ),
            },
        ];
        if let (Some(power), Ok(latency)) = (&self.0.energy, &found) {
            metrics.insert(
                1,
                MetricEstimate {
                    metric: Metric::Energy,
                    outcome: match energy(self.0, latency) {
                        Ok(energy) => energy_outcome(power, energy),
                        Err(refusal) => unavailable(&refusal),
                    },
                },
            );
        }
        metrics.push(match self.is_micro() {
            true => tflite_micro::arena(network),
            false => MetricEstimate {
                metric: Metric::ActivationRam,
                outcome: activation_ram(network),
            },
        });
        TargetEstimate {
            device: self.0.device.clone(),
            metrics,
            diagnostics: found.iter().filter_map(unmeasured).collect(),
        }
    }
}

impl Microcontroller {
    /// Whether the interpreter of TensorFlow Lite Micro runs the file, with its arena.
    fn is_micro(&self) -> bool {
        matches!(self.0.runtime.as_str(), "tflite-micro" | "esp-nn")
    }

    /// A file that does not tell its work; the arena has reasons of its own.
    fn nothing(&self, network: &Network, reason: &UnavailableReason) -> TargetEstimate {
        let none = |metric| MetricEstimate {
            metric,
            outcome: Outcome::unavailable(reason.clone()),
        };
        TargetEstimate {
            device: self.0.device.clone(),
            metrics: vec![
                none(Metric::Latency),
                none(Metric::WeightsFlash),
                match self.is_micro() {
                    true => tflite_micro::arena(network),
                    false => none(Metric::ActivationRam),
                },
            ],
            diagnostics: Vec::new(),
        }
    }

    /// The interpreter reads the file as it is; ST Edge AI makes a program of it.
    fn flash_bytes(&self, network: &Network) -> u64 {
        match self.is_micro() {
            true => network.graph.model.file_bytes as u64,
            false => weights_flash_bytes(network.analysis),
        }
    }

    fn flash_words(&self) -> &'static str {
        match self.is_micro() {
            true => "the whole file, which the interpreter reads in flash; code not included",
            false => "weights and biases, each once; code not included",
        }
    }

    fn latency_outcome(&self, latency: &Latency) -> Outcome {
        let clock = format!("{}, at {} MHz", self.0.in_words(), latency.clock_mhz);
        Outcome::Estimate {
            value: latency.value_ms,
            lo: Some(latency.lo_ms),
            hi: Some(latency.hi_ms),
            unit: Metric::Latency.unit(),
            provenance: Provenance::own(ProvenanceKind::Modelled, clock),
            expected_error_percent: Some(
                self.0.network_left_out.mean_percent.min(MAX_ERROR_PERCENT),
            ),
            operators: Some(latency.operators_ms.clone()),
        }
    }
}

fn energy_outcome(power: &Energy, energy: InferenceEnergy) -> Outcome {
    Outcome::Estimate {
        value: energy.value_mj,
        lo: Some(energy.lo_mj),
        hi: Some(energy.hi_mj),
        unit: Metric::Energy.unit(),
        provenance: Provenance::own(ProvenanceKind::Modelled, power.in_words()),
        expected_error_percent: Some(power.error.mean_percent.min(MAX_ERROR_PERCENT)),
        operators: Some(energy.operators_mj),
    }
}

/// The runtime's planner is not public: it lets some operators write over their inputs, and gives
/// others working buffers.
fn activation_ram(network: &Network) -> Outcome {
    match activation_ram_bytes(network.graph, network.analysis) {
        Some(range) => Outcome::Estimate {
            value: range.value as f64,
            lo: Some(range.lo as f64),
            hi: Some(range.hi as f64),
            unit: Metric::ActivationRam.unit(),
            provenance: Provenance::own(
                ProvenanceKind::Modelled,
                "activations placed by a greedy planner at most, those of the largest operator that has \
                 to hold two tensors at least"
                    .into(),
            ),
            expected_error_percent: None,
            operators: None,
        },
        None => Outcome::unavailable(UnavailableReason::ShapeAtRunTime),
    }
}

fn counted(metric: Metric, bytes: u64, configuration: &str) -> Outcome {
    Outcome::Estimate {
        value: bytes as f64,
        lo: None,
        hi: None,
        unit: metric.unit(),
        provenance: Provenance::own(ProvenanceKind::Exact, configuration.into()),
        expected_error_percent: None,
        operators: None,
    }
}

fn unavailable(refusal: &Refusal) -> Outcome {
    Outcome::unavailable(UnavailableReason::OfTarget {
        code: refusal.kind(),
        words: refusal.to_string(),
    })
}

/// Operators that no measured network has.
fn unmeasured(latency: &Latency) -> Option<Diagnostic> {
    (!latency.unmeasured.is_empty()).then(|| Diagnostic {
        severity: Severity::Warning,
        code: "operator-never-measured",
        message: format!(
            "no network measured on microcontrollers has {}; its cycles are counted like those of \
             operators of its kind, and the interval is wider for it",
            some_of(&latency.unmeasured, ", ")
        ),
        operator_idx: None,
    })
}
