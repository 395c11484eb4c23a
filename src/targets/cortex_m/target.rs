//! Microcontrollers as targets of the registry.

use super::activation_ram::{StTool, activation_ram_bytes};
use super::constants::{Constants, Energy, Target as Board};
use super::estimate::{InferenceEnergy, Latency, energy, latency};
use super::memory::weights_flash_bytes;
use super::support::Refusal;
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::graph::Graph;
use crate::graph::analysis::Analysis;
use crate::learned::manifest::Manifest;
use crate::provenance::{MAX_ERROR_PERCENT, Provenance, ProvenanceKind, Reference};
use crate::targets::{
    MeasuredRange, Metric, MetricEstimate, MetricInfo, Network, Outcome, PeakRates, Target,
    TargetEstimate, TargetInfo, UnavailableReason, UnsupportedOperator, tflite_micro, uncountable,
};

/// Multiply-accumulates of 16-bit numbers in a cycle, by core: `SMLAD` makes two (Arm's technical reference
/// manuals of the Cortex-M4, M7 and M33), which a Cortex-M0+ has not; an LX6 makes one (Cadence's `MAC16`
/// option). The Neural-ART makes 600 Gop/s at 1 GHz (ST's data sheet of the STM32N6), two of which are one
/// multiply-accumulate.
const PEAK_MACS_PER_CYCLE: &[(&str, f64)] = &[
    ("cortex-m0plus", 1.0),
    ("cortex-m4", 2.0),
    ("cortex-m33", 2.0),
    ("cortex-m7", 2.0),
    ("xtensa-lx6", 1.0),
    ("neural-art", 300.0),
];

/// What one instruction stores, a pair of registers; the interpreter keeps every feature map of a file.
const STORED_BYTES_PER_CYCLE: f64 = 8.0;

/// Share of products that run in a program without filters of zeros: fewer are no network that learned.
const MIN_LIVE_SHARE: f64 = 0.25;

struct Microcontroller {
    fitted: &'static Board,
    /// Where that is another than its own.
    clock_mhz: Option<f64>,
    /// Another board with the same core, by its name.
    transferred_to: Option<String>,
}

impl Microcontroller {
    fn of(fitted: &'static Board, clock_mhz: Option<f64>) -> Box<dyn Target> {
        Box::new(Self {
            fitted,
            clock_mhz,
            transferred_to: None,
        })
    }
}

/// All that were fitted, at their own clocks. They are no part of the registry: most files are too large
/// for any of them, so that they are shown where they are asked for.
pub fn targets() -> Vec<Box<dyn Target>> {
    let boards = Constants::shipped().targets.iter();
    boards
        .map(|board| Microcontroller::of(board, None))
        .collect()
}

/// The one with an identifier, at another clock than its own where that is given.
pub fn target(id: &str, clock_mhz: Option<f64>) -> Option<Box<dyn Target>> {
    Some(Microcontroller::of(
        Constants::shipped().target(id)?,
        clock_mhz,
    ))
}

/// The same on a board that is named, where `is_transferred` as the core of a board that nobody measured.
pub fn target_on(
    id: &str,
    clock_mhz: Option<f64>,
    board: &str,
    is_transferred: bool,
) -> Option<Box<dyn Target>> {
    let fitted = Constants::shipped().target(id)?;
    Some(Box::new(Microcontroller {
        fitted,
        clock_mhz: clock_mhz.filter(|_| fitted.has_other_clocks),
        transferred_to: is_transferred.then(|| board.to_owned()),
    }))
}

impl Target for Microcontroller {
    fn id(&self) -> &str {
        &self.fitted.target
    }

    fn info(&self, _: Option<&Manifest>) -> Option<TargetInfo> {
        let metric = |metric: Metric, expected_error_percent| MetricInfo {
            metric,
            unit: metric.unit(),
            expected_error_percent,
        };
        let error = self
            .fitted
            .network_left_out
            .mean_percent
            .min(MAX_ERROR_PERCENT);
        let is_measured = self.fitted.carried_over.is_none();
        let mut metrics = vec![metric(Metric::Latency, is_measured.then_some(error))];
        metrics.extend(
            self.fitted
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
            id: self.fitted.target.clone(),
            device: self.device(),
            metrics,
            learned_from: self.fitted.in_words(),
            provenance: modelled(self.fitted.in_words()),
        })
    }

    fn unsupported(&self, _: &Network) -> Vec<UnsupportedOperator> {
        Vec::new()
    }

    /// What the instructions of the core multiply in a cycle. Filters of zeros may be left out of the
    /// program, and weights may lie in any memory, so that neither has a floor of its own.
    fn peak(&self) -> Option<PeakRates> {
        let of_core = |(core, _): &&(&str, f64)| *core == self.fitted.core;
        let (_, macs_per_cycle) = PEAK_MACS_PER_CYCLE.iter().find(of_core)?;
        let clock_mhz = self.clock_mhz.unwrap_or(self.fitted.clock_mhz);
        let share_that_runs = match self.fitted.program.drops_dead_channels {
            true => MIN_LIVE_SHARE,
            false => 1.0,
        };
        let macs_per_s = macs_per_cycle * clock_mhz * 1e6 / share_that_runs;
        Some(PeakRates {
            map_bytes_per_s: match self.is_micro() {
                true => STORED_BYTES_PER_CYCLE * clock_mhz * 1e6,
                false => f64::INFINITY,
            },
            ..PeakRates::of_arithmetic(macs_per_s)
        })
    }

    /// At its own clock.
    fn measured_range(&self, _: &Network) -> Option<MeasuredRange> {
        let slower = self
            .clock_mhz
            .map_or(1.0, |mhz| self.fitted.clock_mhz / mhz);
        Some(self.fitted.measured_range.scaled(slower))
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        let (graph, analysis) = (network.graph, network.analysis);
        if let Some(reason) = uncountable(graph, analysis) {
            return self.nothing(network, &reason);
        }
        let found = self.latency(graph, analysis);
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
        if let (Some(power), Ok(latency)) = (&self.fitted.energy, &found) {
            metrics.insert(
                1,
                MetricEstimate {
                    metric: Metric::Energy,
                    outcome: match energy(self.fitted, latency) {
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
                outcome: self.activation_ram(network),
            },
        });
        TargetEstimate {
            device: self.device(),
            metrics,
            diagnostics: found.iter().filter_map(unmeasured).collect(),
        }
    }
}

impl Microcontroller {
    /// With a wider interval where it is of a board that nobody measured.
    fn latency(&self, graph: &Graph, analysis: &Analysis) -> Result<Latency, Refusal> {
        let latency = latency(graph, analysis, self.fitted, self.clock_mhz)?;
        Ok(match self.transferred_to {
            Some(_) => latency.wider_by(self.fitted.transfer_factor()),
            None => latency,
        })
    }

    fn activation_ram(&self, network: &Network) -> Outcome {
        let board = self.transferred_to.as_ref().unwrap_or(&self.fitted.device);
        let tool = StTool::newest_for(board);
        match activation_ram_bytes(network.graph, network.analysis, tool) {
            Some(range) => Outcome::Estimate {
                value: range.value as f64,
                lo: Some(range.lo as f64),
                hi: Some(range.hi as f64),
                unit: Metric::ActivationRam.unit(),
                provenance: Provenance::own(
                    ProvenanceKind::Modelled,
                    "buffers of ST Edge AI Core's layers, written over their inputs where that saves memory".into(),
                ),
                expected_error_percent: None,
                operators: None,
            },
            None => Outcome::unavailable(UnavailableReason::ShapeAtRunTime),
        }
    }

    fn device(&self) -> String {
        let device = &self.fitted.device;
        match &self.transferred_to {
            Some(board) => format!("{board}, transferred from {device}"),
            None => device.clone(),
        }
    }

    /// Whether the interpreter of TensorFlow Lite Micro runs the file, with its arena.
    fn is_micro(&self) -> bool {
        matches!(
            self.fitted.runtime.as_str(),
            "tflite-micro" | "tflite-micro-products" | "esp-nn"
        )
    }

    /// A file that does not tell its work; the arena has reasons of its own.
    fn nothing(&self, network: &Network, reason: &UnavailableReason) -> TargetEstimate {
        let none = |metric| MetricEstimate {
            metric,
            outcome: Outcome::unavailable(reason.clone()),
        };
        TargetEstimate {
            device: self.device(),
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
        let clock = format!("{}, at {} MHz", self.fitted.in_words(), latency.clock_mhz);
        Outcome::Estimate {
            value: latency.value_ms,
            lo: Some(latency.lo_ms),
            hi: Some(latency.hi_ms),
            unit: Metric::Latency.unit(),
            provenance: modelled(clock),
            expected_error_percent: Some(
                self.fitted
                    .network_left_out
                    .mean_percent
                    .min(MAX_ERROR_PERCENT),
            ),
            operators: Some(latency.operators_ms.clone()),
        }
    }
}

/// Fitted to boards, and compared with networks that were left out.
fn modelled(configuration: String) -> Provenance {
    Provenance::own(ProvenanceKind::Modelled, configuration).against(Reference::Measured)
}

fn energy_outcome(power: &Energy, energy: InferenceEnergy) -> Outcome {
    Outcome::Estimate {
        value: energy.value_mj,
        lo: Some(energy.lo_mj),
        hi: Some(energy.hi_mj),
        unit: Metric::Energy.unit(),
        provenance: modelled(power.in_words()),
        expected_error_percent: Some(power.error.mean_percent.min(MAX_ERROR_PERCENT)),
        operators: Some(energy.operators_mj),
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
