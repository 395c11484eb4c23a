//! An estimate with where it comes from, or the reason for none.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::provenance::Provenance;

/// What is estimated. Its unit is the same for all targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Metric {
    /// Of one inference, in ms.
    Latency,
    /// Of one inference, in mJ.
    Energy,
    /// Most bytes in SRAM at a time.
    SramPeak,
    /// Bytes moved to and from memory off the chip in one inference.
    OffchipTraffic,
    /// Bytes moved to and from SRAM in one inference.
    SramTraffic,
    /// Bytes of TensorFlow Lite Micro's arena for activations.
    Arena,
    /// RAM of activations under ST Edge AI.
    ActivationRam,
    /// Flash of weights, or of the file, without code.
    WeightsFlash,
}

impl Metric {
    /// Stable identifier, `snake_case`.
    pub fn id(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::Energy => "energy",
            Self::SramPeak => "sram_peak",
            Self::OffchipTraffic => "offchip_traffic",
            Self::SramTraffic => "sram_traffic",
            Self::Arena => "arena",
            Self::ActivationRam => "activation_ram",
            Self::WeightsFlash => "weights_flash",
        }
    }

    /// Unit of every value of this metric.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Latency => "ms",
            Self::Energy => "mJ",
            Self::SramPeak
            | Self::OffchipTraffic
            | Self::SramTraffic
            | Self::Arena
            | Self::ActivationRam
            | Self::WeightsFlash => "bytes",
        }
    }

    /// The metric that [`Self::id`] names.
    pub fn from_id(id: &str) -> Option<Self> {
        let all = [
            Self::Latency,
            Self::Energy,
            Self::SramPeak,
            Self::OffchipTraffic,
            Self::SramTraffic,
            Self::Arena,
            Self::ActivationRam,
            Self::WeightsFlash,
        ];
        all.into_iter().find(|metric| metric.id() == id)
    }
}

impl fmt::Display for Metric {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for Metric {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

/// One metric of one target.
#[derive(Clone, Debug)]
pub struct MetricEstimate {
    pub metric: Metric,
    pub outcome: Outcome,
}

/// An estimate, or the reason for none.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Outcome {
    Estimate {
        value: f64,
        /// Lower and upper end of an interval that was made to hold 90 % of labels; absent where nothing
        /// is known of the error, and for exact numbers.
        #[serde(skip_serializing_if = "Option::is_none")]
        lo: Option<f64>,
        #[serde(skip_serializing_if = "Option::is_none")]
        hi: Option<f64>,
        unit: &'static str,
        provenance: Provenance,
        /// Mean absolute percentage error on graphs held out of training or fit, single errors above
        /// 100 % counted as that; where it was measured.
        #[serde(skip_serializing_if = "Option::is_none")]
        expected_error_percent: Option<f64>,
        /// The part of each node of the graph, in the same unit: parts of a latency or a traffic add up
        /// to the value, the largest of a peak is the value. Absent where the estimate is of the whole
        /// graph only.
        #[serde(skip_serializing_if = "Option::is_none")]
        operators: Option<Vec<f64>>,
    },
    Unavailable {
        /// Why, in words.
        unavailable: UnavailableReason,
        /// [`UnavailableReason::code`] of the same.
        reason: &'static str,
    },
}

impl Outcome {
    /// No estimate, for a reason.
    pub fn unavailable(reason: UnavailableReason) -> Self {
        Self::Unavailable {
            reason: reason.code(),
            unavailable: reason,
        }
    }

    /// Whether there is an estimate.
    pub fn is_estimate(&self) -> bool {
        matches!(self, Self::Estimate { .. })
    }
}

/// Why a target has no estimate. Displayed as one sentence, lower case, no full stop.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum UnavailableReason {
    /// The main subgraph has no operators.
    NoOperators,
    CompiledForEthosU,
    CompiledForEdgeTpu,
    /// Operators that multiply, but whose shapes the file does not tell.
    MissingShapes {
        n_operators: usize,
        of: usize,
    },
    /// Operators whose operands no kernel takes together.
    ContradictingShapes {
        n_operators: usize,
        of: usize,
    },
    /// The estimate was less than the work takes at the hardware's peak rate.
    BeyondPeakRate,
    /// The NPU takes one input at a time.
    SeveralInputs {
        found: i32,
    },
    /// Operators that the target does not run, with the reasons in words.
    UnsupportedOperators {
        n_operators: usize,
        of: usize,
        /// Where they do not run, for example `on the NPU`.
        place: &'static str,
        reasons: String,
        /// Whether quantising the model would help, and how to say so.
        advice: &'static str,
    },
    /// Operators that a compiler made for an accelerator, which no processor runs.
    CompiledForAccelerator {
        /// Of the custom operator.
        name: String,
        n_operators: usize,
        /// Operators beside them.
        n_outside: usize,
        /// What those take: the estimate, and the ends of its interval.
        outside_ms: [f64; 3],
    },
    /// Neither int8 nor float32 was measured on the board.
    NeverMeasured,
    /// A tensor's shape is known only at run time.
    ShapeAtRunTime,
    /// Of a target that words its own reasons.
    OfTarget {
        /// As [`Self::code`].
        code: &'static str,
        /// One sentence, lower case, no full stop.
        words: String,
    },
}

impl UnavailableReason {
    /// Stable identifier for programs, kebab-case.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoOperators => "no-operators",
            Self::CompiledForEthosU => "compiled-for-ethos-u",
            Self::CompiledForEdgeTpu => "compiled-for-edge-tpu",
            Self::MissingShapes { .. } => "missing-shapes",
            Self::ContradictingShapes { .. } => "contradicting-shapes",
            Self::BeyondPeakRate => "beyond-peak-rate",
            Self::SeveralInputs { .. } => "several-inputs",
            Self::UnsupportedOperators { .. } => "unsupported-operators",
            Self::CompiledForAccelerator { .. } => "compiled-for-accelerator",
            Self::NeverMeasured => "never-measured",
            Self::ShapeAtRunTime => "shape-at-run-time",
            Self::OfTarget { code, .. } => code,
        }
    }
}

impl fmt::Display for UnavailableReason {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::NoOperators => f.write_str("the main subgraph has no operators"),
            Self::CompiledForEthosU => f.write_str(
                "the file is already compiled for an Ethos-U; give the model before Vela",
            ),
            Self::CompiledForEdgeTpu => f.write_str(
                "the file is already compiled for an Edge TPU; give the model before its compiler",
            ),
            Self::MissingShapes { n_operators, of } => write!(
                f,
                "the file does not tell the shapes that {n_operators} of {of} operators work on"
            ),
            Self::ContradictingShapes { n_operators, of } => write!(
                f,
                "operands of {n_operators} of {of} operators contradict each other in shape"
            ),
            Self::BeyondPeakRate => f.write_str(
                "the estimate was less than this work takes at the peak rate: the network is too far from \
                 those that were measured",
            ),
            Self::SeveralInputs { found } => write!(f, "takes one input at a time, found {found}"),
            Self::UnsupportedOperators {
                n_operators,
                of,
                place,
                reasons,
                advice,
            } => {
                let verb = if *n_operators == 1 { "does" } else { "do" };
                write!(
                    f,
                    "{n_operators} of {of} operators {verb} not run {place} ({reasons}){advice}"
                )
            }
            Self::CompiledForAccelerator {
                name,
                n_operators,
                n_outside,
                outside_ms: [value_ms, lo_ms, hi_ms],
            } => {
                let accelerator = match name.as_str() {
                    "ethos-u" => "an Ethos-U, by Vela",
                    _ => "an Edge TPU, by Coral's compiler",
                };
                let verb = if *n_operators == 1 { "is" } else { "are" };
                write!(
                    f,
                    "{n_operators} `{name}` {verb} compiled for {accelerator}, and no processor runs what is \
                     inside; "
                )?;
                match n_outside {
                    0 => f.write_str("no operator is outside")?,
                    n => write!(
                        f,
                        "the {n} operators outside take {value_ms:.3} ms here ({lo_ms:.3} to {hi_ms:.3})"
                    )?,
                }
                f.write_str("; give the model before the compiler")
            }
            Self::NeverMeasured => f.write_str("no network was measured on this board"),
            Self::ShapeAtRunTime => f.write_str("a tensor's shape is known only at run time"),
            Self::OfTarget { words, .. } => f.write_str(words),
        }
    }
}

impl Serialize for UnavailableReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
