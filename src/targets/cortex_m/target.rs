//! Microcontrollers as targets of the registry.

use std::borrow::Cow;
use std::num::NonZeroU32;

use super::activation_ram::{StRelease, StTool, activation_ram_bytes};
use super::constants::{Constants, Energy, Release, Target as Board};
use super::estimate::{InferenceEnergy, Latency, energy, latency};
use super::memory::weights_flash_bytes;
use super::support::{Refusal, st_refusal};
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::formats::tflite::Model;
use crate::graph::Graph;
use crate::graph::analysis::Analysis;
use crate::learned::manifest::Manifest;
use crate::provenance::{MAX_ERROR_PERCENT, Provenance, ProvenanceKind, Reference};
use crate::target::boards::Flash;
use crate::target::{
    Description, Durations, Family, MeasuredRange, Metric, MetricEstimate, MetricInfo, Network,
    Outcome, PeakRates, Settings, Target, TargetEstimate, TargetInfo, TargetOption,
    UnavailableReason, UnsupportedOperator, compiled, uncountable,
};
use crate::targets::tflite_micro;

/// Multiply-accumulates of 16-bit numbers per cycle, by core. `SMLAD` computes two (Arm's technical reference manuals
/// of the Cortex-M4, M7 and M33); a Cortex-M0+ does not have it. An LX6 computes one (Cadence's `MAC16` option). The
/// Neural-ART computes 600 Gop/s at 1 GHz (ST's data sheet of the STM32N6); two of these operations are one
/// multiply-accumulate.
const PEAK_MACS_PER_CYCLE: &[(&str, f64)] = &[
    ("cortex-m0plus", 1.0),
    ("cortex-m4", 2.0),
    ("cortex-m33", 2.0),
    ("cortex-m7", 2.0),
    ("xtensa-lx6", 1.0),
    ("neural-art", 300.0),
];

/// Bytes that one instruction stores: a pair of registers. The interpreter stores every feature map of a file.
const STORED_BYTES_PER_CYCLE: f64 = 8.0;

/// Minimum share of products that remain in a program without zero filters. A trained network does not have fewer.
const MIN_LIVE_SHARE: f64 = 0.25;

/// The family of these targets.
pub const FAMILY: Family = Family {
    id: "microcontrollers",
    label: "Microcontrollers",
    group: Some("Cortex-M and ESP32 boards"),
    is_accelerator: false,
    durations: Some(Durations::Hardware),
};

struct Microcontroller {
    /// As it was chosen, with the release.
    id: String,
    fitted: Cow<'static, Board>,
    /// The requested clock, if it differs from the target's own.
    clock_mhz: Option<f64>,
    /// The board that the estimate is for, where one was chosen.
    board: Option<ChosenBoard>,
    /// Present where the board's latency depends on where weights lie.
    flash: Option<Flash>,
}

/// A board with the core of a target.
pub struct ChosenBoard {
    /// Its name in words.
    pub name: String,
    /// The name of its chip, which begins with the series.
    pub chip: String,
    /// Whether it was not measured itself.
    pub is_transferred: bool,
}

impl Microcontroller {
    /// The target with this id, for example `cortex-m7-stm32h747`, or `cortex-m7-stm32h747@8` under another release.
    fn with_id(id: &str, clock_mhz: Option<f64>) -> Option<Self> {
        let (target, release) = split_release(id);
        let fitted = Constants::shipped().target(target)?;
        // Without a release, its own: the errors of all releases together are another question's.
        let fitted = match release.or(fitted.release.as_deref()) {
            None => Cow::Borrowed(fitted),
            Some(release) => {
                let mut releases = fitted.releases().iter();
                Cow::Owned(fitted.with_release(releases.find(|known| known.id == release)?))
            }
        };
        Some(Self {
            id: id.to_owned(),
            fitted,
            clock_mhz,
            board: None,
            flash: None,
        })
    }
}

/// The target of an id, and the release behind its `@`.
pub fn split_release(id: &str) -> (&str, Option<&str>) {
    match id.split_once('@') {
        Some((target, release)) => (target, Some(release)),
        None => (id, None),
    }
}

/// All fitted targets, at their own clocks. They are not in the registry, because most files are too large for all of
/// them; they are estimated only on request.
pub fn targets() -> Vec<Box<dyn Target>> {
    let boards = Constants::shipped().targets.iter();
    boards
        .filter_map(|board| target(&board.target, None))
        .collect()
}

/// The target with this id, at `clock_mhz` if given, otherwise at its own clock. Behind an `@`, the id may name a release
/// of its runtime.
pub fn target(id: &str, clock_mhz: Option<f64>) -> Option<Box<dyn Target>> {
    Some(Box::new(Microcontroller::with_id(id, clock_mhz)?))
}

/// The same target for a board, under the board's name.
pub fn target_on(
    id: &str,
    clock_mhz: Option<f64>,
    board: ChosenBoard,
    flash: Option<Flash>,
) -> Option<Box<dyn Target>> {
    let known = Microcontroller::with_id(id, clock_mhz)?;
    Some(Box::new(Microcontroller {
        clock_mhz: clock_mhz.filter(|_| known.fitted.has_other_clocks),
        board: Some(board),
        flash,
        ..known
    }))
}

impl Target for Microcontroller {
    fn id(&self) -> &str {
        &self.id
    }

    fn description(&self) -> Description {
        let runtime = Constants::shipped().runtime(&self.fitted);
        let runtime = runtime.map_or("", |runtime| &runtime.name);
        let releases = self.fitted.releases().iter();
        let in_words = |release: &Release| format!("{runtime} {}", release.version);
        Description {
            release: self.fitted.version.clone(),
            release_words: releases.clone().map(in_words).collect(),
            releases: releases.map(|release| release.id.as_str()).collect(),
            options: &[TargetOption::Clock],
            ..Description::new(&FAMILY, self.fitted.device.clone(), runtime)
        }
    }

    fn info(&self, _: Option<&Manifest>) -> Option<TargetInfo> {
        let metric = |metric: Metric, expected_error_percent| MetricInfo {
            metric,
            unit: metric.unit(),
            expected_error_percent,
        };
        let mut metrics = vec![metric(Metric::Latency, self.expected_error_percent())];
        metrics.extend(
            self.fitted
                .energy
                .as_ref()
                .map(|energy| metric(Metric::Energy, Some(energy.error.mean_percent))),
        );
        let memory: &[Metric] = if self.fitted.is_micro() {
            &[Metric::WeightsFlash, Metric::FileFlash, Metric::Arena]
        } else {
            &[Metric::ActivationRam, Metric::WeightsFlash]
        };
        metrics.extend(memory.iter().map(|&name| metric(name, None)));
        Some(TargetInfo {
            id: self.id.clone(),
            device: self.device(),
            metrics,
            learned_from: self.fitted.in_words(),
            provenance: modelled(self.fitted.in_words()),
        })
    }

    fn unsupported(&self, _: &Network) -> Vec<UnsupportedOperator> {
        Vec::new()
    }

    fn settings(&self, _: NonZeroU32) -> Settings {
        Settings {
            clock_mhz: Some(self.clock_mhz.unwrap_or(self.fitted.clock_mhz)),
            ..Settings::default()
        }
    }

    /// Peak rate of the core's multiply instructions. Zero filters may be dropped from the program, and weights may be
    /// in any memory, so neither sets a lower bound.
    fn peak(&self) -> Option<PeakRates> {
        let of_core = |(core, _): &&(&str, f64)| *core == self.fitted.core;
        let (_, macs_per_cycle) = PEAK_MACS_PER_CYCLE.iter().find(of_core)?;
        let clock_mhz = self.clock_mhz.unwrap_or(self.fitted.clock_mhz);
        let share_that_runs = if self.fitted.program.drops_dead_channels {
            MIN_LIVE_SHARE
        } else {
            1.0
        };
        let macs_per_s = macs_per_cycle * clock_mhz * 1e6 / share_that_runs;
        Some(PeakRates {
            map_bytes_per_s: if self.fitted.is_micro() {
                STORED_BYTES_PER_CYCLE * clock_mhz * 1e6
            } else {
                f64::INFINITY
            },
            ..PeakRates::from_arithmetic(macs_per_s)
        })
    }

    /// The range is stated at the target's own clock.
    fn measured_range(&self, _: &Network) -> Option<MeasuredRange> {
        let slower = self
            .clock_mhz
            .map_or(1.0, |mhz| self.fitted.clock_mhz / mhz);
        Some(self.fitted.measured_range.scaled(slower))
    }

    fn runs_integers_alone(&self) -> bool {
        self.fitted.core == "neural-art"
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        let (graph, analysis) = (network.graph, network.analysis);
        let reason = uncountable(graph, analysis).or_else(|| self.refusal(graph));
        if let Some(reason) = reason {
            return self.unavailable_estimate(network, &reason);
        }
        let latency_of_network = self.latency(graph, analysis);
        let mut metrics = vec![
            MetricEstimate {
                metric: Metric::Latency,
                outcome: match &latency_of_network {
                    Ok(latency) => self.latency_outcome(latency),
                    Err(refusal) => unavailable(refusal),
                },
            },
            MetricEstimate {
                metric: Metric::WeightsFlash,
                outcome: weights_flash(analysis),
            },
        ];
        if let (Some(power), Ok(latency)) = (&self.fitted.energy, &latency_of_network) {
            metrics.insert(
                1,
                MetricEstimate {
                    metric: Metric::Energy,
                    outcome: match energy(&self.fitted, latency) {
                        Ok(energy) => energy_outcome(power, energy, self.is_assumed()),
                        Err(refusal) => unavailable(&refusal),
                    },
                },
            );
        }
        if self.fitted.is_micro() {
            metrics.push(MetricEstimate {
                metric: Metric::FileFlash,
                outcome: file_flash(graph.model),
            });
            metrics.push(tflite_micro::arena(network));
        } else {
            metrics.push(MetricEstimate {
                metric: Metric::ActivationRam,
                outcome: self.activation_ram(network),
            });
        }
        TargetEstimate {
            device: self.device(),
            metrics,
            diagnostics: match &latency_of_network {
                Ok(latency) => (unmeasured(latency).into_iter())
                    .chain(self.fitted.few_networks())
                    .collect(),
                Err(_) => Vec::new(),
            },
        }
    }
}

impl Microcontroller {
    /// The interval is wider for a board that was not measured, or not under this release.
    fn latency(&self, graph: &Graph, analysis: &Analysis) -> Result<Latency, Refusal> {
        let file_bytes = tflite_micro::file_bytes(graph.model).value;
        let max_weight_bytes = analysis.costs.iter().map(|cost| cost.weight_bytes).max();
        let is_slow = |flash: Flash| flash.is_slow(file_bytes, max_weight_bytes.unwrap_or(0));
        if self.flash.is_some_and(is_slow) {
            return Err(Refusal::ExternalWeights);
        }
        let latency = latency(graph, analysis, &self.fitted, self.clock_mhz)?;
        let is_measured = !self.is_transferred() && self.fitted.is_release_measured();
        Ok(if is_measured {
            latency
        } else {
            latency.wider_by(self.fitted.transfer_factor())
        })
    }

    /// Why the runtime does not run the file.
    fn refusal(&self, graph: &Graph) -> Option<UnavailableReason> {
        compiled(graph).or_else(|| {
            if self.fitted.is_micro() {
                micro_refusal(graph)
            } else {
                st_refusal(graph).as_ref().map(reason)
            }
        })
    }

    fn activation_ram(&self, network: &Network) -> Outcome {
        let board = self.board.as_ref();
        let series = board.map_or(&self.fitted.device, |board| &board.chip);
        let release = self
            .fitted
            .release
            .as_deref()
            .and_then(StRelease::from_choice);
        let tool = StTool {
            release: release.unwrap_or_default(),
            ..StTool::newest_for(series)
        };
        match activation_ram_bytes(network.graph, network.analysis, tool) {
            Some(range) => Outcome::Estimate {
                value: range.value as f64,
                lo: Some(range.lo as f64),
                hi: Some(range.hi as f64),
                unit: Metric::ActivationRam.unit(),
                provenance: Provenance::own(
                    ProvenanceKind::Modelled,
                    "buffers of ST Edge AI Core's layers, written over their inputs where that saves memory".into(),
                )
                .against(Reference::Compiler),
                expected_error_percent: None,
                operators: None,
            },
            None => Outcome::unavailable(UnavailableReason::ShapeAtRunTime),
        }
    }

    /// The board, the runtime and its release.
    fn device(&self) -> String {
        let device = &self.fitted.device;
        let runtime = Constants::shipped().runtime(&self.fitted);
        let runtime = runtime.map_or("", |runtime| runtime.name.as_str());
        let version = &self.fitted.version;
        match &self.board {
            Some(board) if board.is_transferred => {
                format!(
                    "{}, {runtime} {version}, transferred from {device}",
                    board.name
                )
            }
            Some(board) if !board.name.ends_with(device.as_str()) => {
                format!(
                    "{}, {runtime} {version}, with the constants of {device}",
                    board.name
                )
            }
            _ => format!("{device}, {runtime} {version}"),
        }
    }

    /// Whether the constants come from other boards than the chosen one.
    fn is_transferred(&self) -> bool {
        self.board
            .as_ref()
            .is_some_and(|board| board.is_transferred)
    }

    /// Whether the constants are those of another core, of other boards with the same core, or of another release on
    /// the core.
    fn is_assumed(&self) -> bool {
        self.is_transferred()
            || self.fitted.core_conversion.is_some()
            || !self.fitted.is_release_measured()
    }

    /// `None` where nothing was measured, or too few networks to say anything about others.
    fn expected_error_percent(&self) -> Option<f64> {
        let error = self.fitted.stated_percent;
        let is_known = !self.is_assumed() && !self.fitted.has_few_networks();
        is_known.then_some(error.min(MAX_ERROR_PERCENT))
    }

    /// The result for a file whose work cannot be counted. The arena has reasons of its own.
    fn unavailable_estimate(
        &self,
        network: &Network,
        reason: &UnavailableReason,
    ) -> TargetEstimate {
        let none = |metric| MetricEstimate {
            metric,
            outcome: Outcome::unavailable(reason.clone()),
        };
        let mut metrics = vec![none(Metric::Latency), none(Metric::WeightsFlash)];
        if self.fitted.is_micro() {
            metrics.push(none(Metric::FileFlash));
            metrics.push(arena(network));
        } else {
            metrics.push(none(Metric::ActivationRam));
        }
        TargetEstimate {
            device: self.device(),
            metrics,
            diagnostics: Vec::new(),
        }
    }

    fn latency_outcome(&self, latency: &Latency) -> Outcome {
        let clock = format!("{}, at {} MHz", self.fitted.in_words(), latency.clock_mhz);
        Outcome::Estimate {
            value: latency.value_ms,
            lo: Some(latency.lo_ms),
            hi: Some(latency.hi_ms),
            unit: Metric::Latency.unit(),
            provenance: if self.is_assumed() {
                Provenance::own(ProvenanceKind::Modelled, clock)
            } else {
                modelled(clock).checked(self.fitted.checked_percent())
            },
            expected_error_percent: self.expected_error_percent(),
            operators: Some(latency.operators_ms.clone()),
        }
    }
}

/// Provenance of a model that is fitted to boards and compared with left-out networks.
fn modelled(configuration: String) -> Provenance {
    Provenance::own(ProvenanceKind::Modelled, configuration).against(Reference::Measured)
}

/// A product is no surer than its factors, power and latency.
fn energy_outcome(power: &Energy, energy: InferenceEnergy, is_latency_assumed: bool) -> Outcome {
    let is_assumed = power.is_assumed() || is_latency_assumed;
    Outcome::Estimate {
        value: energy.value_mj,
        lo: Some(energy.lo_mj),
        hi: Some(energy.hi_mj),
        unit: Metric::Energy.unit(),
        provenance: if is_assumed {
            Provenance::own(ProvenanceKind::Modelled, power.in_words())
        } else {
            modelled(power.in_words())
        }
        .with_scope(format!(
            "the supply of the {} at {} V, without peripherals and the rest of the board",
            power.board,
            power.stated_volts()
        )),
        expected_error_percent: (!is_assumed)
            .then_some(power.error.mean_percent.min(MAX_ERROR_PERCENT)),
        operators: Some(energy.operators_mj),
    }
}

/// Why TensorFlow Lite Micro does not run the file.
/// The arena of a network that the core runs: none of one that was compiled for an accelerator, which it does not have.
pub(super) fn arena(network: &Network) -> MetricEstimate {
    match compiled(network.graph) {
        Some(reason) => MetricEstimate {
            metric: Metric::Arena,
            outcome: Outcome::unavailable(reason),
        },
        None => tflite_micro::arena(network),
    }
}

pub(super) fn micro_refusal(graph: &Graph) -> Option<UnavailableReason> {
    tflite_micro::obstacle(graph, &tflite_micro::refused(graph.model))
}

pub(super) fn weights_flash(analysis: &Analysis) -> Outcome {
    byte_estimate(
        Metric::WeightsFlash,
        weights_flash_bytes(analysis),
        "weights and biases, each once; code not included",
    )
}

/// The file itself is counted; one that has yet to be written is estimated.
pub(super) fn file_flash(model: &Model) -> Outcome {
    let file = tflite_micro::file_bytes(model);
    let words = "the whole file, which the interpreter reads in flash; code not included";
    if file.lo == file.hi {
        return byte_estimate(Metric::FileFlash, file.value, words);
    }
    Outcome::Estimate {
        value: file.value as f64,
        lo: Some(file.lo as f64),
        hi: Some(file.hi as f64),
        unit: Metric::FileFlash.unit(),
        provenance: Provenance::own(
            ProvenanceKind::Modelled,
            format!("{words}; the .tflite file has yet to be written"),
        ),
        expected_error_percent: None,
        operators: None,
    }
}

fn byte_estimate(metric: Metric, bytes: u64, configuration: &str) -> Outcome {
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
    Outcome::unavailable(reason(refusal))
}

fn reason(refusal: &Refusal) -> UnavailableReason {
    UnavailableReason::OfTarget {
        code: refusal.kind(),
        words: refusal.to_string(),
    }
}

/// A diagnostic that names the operators that no measured network contains.
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
