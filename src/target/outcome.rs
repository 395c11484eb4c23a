//! An estimate with where it comes from, or the reason for none.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::formats::shown;
use crate::provenance::{Evidence, Provenance, Reference};

/// What is estimated. Its unit is the same for all targets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "schema", derive(ts_rs::TS))]
#[non_exhaustive]
pub enum Metric {
    /// Of one inference of the whole network, in ms: on an accelerator with its starts and with the operators that it
    /// leaves to the processor beside it, on a measured board with what that takes beyond a compiler's estimate.
    Latency,
    /// The part of [`Self::Latency`] that an NPU runs, as its compiler estimates it, in ms.
    NpuLatency,
    /// Of one inference, in mJ.
    Energy,
    /// Most bytes in SRAM at a time.
    SramPeak,
    /// Bytes moved to and from memory off the chip in one inference.
    OffchipTraffic,
    /// Bytes moved to and from SRAM in one inference.
    SramTraffic,
    /// Bytes that TensorFlow Lite Micro's `AllocateTensors` needs: activations, working buffers of kernels, and what the
    /// interpreter and the kernels keep.
    Arena,
    /// RAM of activations under ST Edge AI.
    ActivationRam,
    /// Flash of weights and biases, without code.
    WeightsFlash,
    /// Flash of the whole file under an interpreter, without code.
    FileFlash,
    /// Inferences a second.
    Throughput,
    /// Forward, backward and optimiser of one batch, in ms.
    TrainingStep,
    /// Bytes of a GPU's memory in inference.
    Memory,
    /// Bytes of a GPU's memory in training.
    TrainingMemory,
    /// Share of time in which a GPU's multiprocessors work, in percent.
    SmUtilization,
}

impl Metric {
    /// Stable identifier, `snake_case`.
    pub fn id(self) -> &'static str {
        match self {
            Self::Latency => "latency",
            Self::NpuLatency => "npu_latency",
            Self::Energy => "energy",
            Self::SramPeak => "sram_peak",
            Self::OffchipTraffic => "offchip_traffic",
            Self::SramTraffic => "sram_traffic",
            Self::Arena => "arena",
            Self::ActivationRam => "activation_ram",
            Self::WeightsFlash => "weights_flash",
            Self::FileFlash => "file_flash",
            Self::Throughput => "throughput",
            Self::TrainingStep => "training_step",
            Self::Memory => "memory",
            Self::TrainingMemory => "training_memory",
            Self::SmUtilization => "sm_utilization",
        }
    }

    /// Whether it is a memory that follows from the file and the runtime, whatever the hardware is set to.
    pub fn is_of_file(self) -> bool {
        use Metric::{ActivationRam, Arena, FileFlash, WeightsFlash};
        matches!(self, WeightsFlash | FileFlash | Arena | ActivationRam)
    }

    /// Unit of every value of this metric.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Latency | Self::NpuLatency | Self::TrainingStep => "ms",
            Self::Throughput => "inferences/s",
            Self::SmUtilization => "%",
            Self::Energy => "mJ",
            Self::SramPeak
            | Self::OffchipTraffic
            | Self::SramTraffic
            | Self::Arena
            | Self::ActivationRam
            | Self::WeightsFlash
            | Self::FileFlash
            | Self::Memory
            | Self::TrainingMemory => "bytes",
        }
    }

    /// Every metric in the order in which reports are read: first what a person decides on.
    pub const ALL: [Self; 15] = [
        Self::Latency,
        Self::NpuLatency,
        Self::Throughput,
        Self::TrainingStep,
        Self::Energy,
        Self::SramPeak,
        Self::Arena,
        Self::ActivationRam,
        Self::WeightsFlash,
        Self::FileFlash,
        Self::Memory,
        Self::TrainingMemory,
        Self::SmUtilization,
        Self::OffchipTraffic,
        Self::SramTraffic,
    ];

    /// Name in tables.
    pub fn label(self) -> &'static str {
        match self {
            Self::Latency => "Latency",
            Self::NpuLatency => "NPU part, by its compiler",
            Self::Throughput => "Throughput",
            Self::TrainingStep => "Training step",
            Self::Energy => "Energy",
            Self::SramPeak => "SRAM peak",
            Self::Arena => "Tensor arena",
            Self::ActivationRam => "Activation RAM",
            Self::WeightsFlash => "Weights in flash",
            Self::FileFlash => "File in flash",
            Self::Memory => "Memory",
            Self::TrainingMemory => "Training memory",
            Self::SmUtilization => "GPU busy",
            Self::OffchipTraffic => "Off-chip traffic",
            Self::SramTraffic => "SRAM traffic",
        }
    }

    /// What it is, without full stop.
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Latency => {
                "Time of one inference of the whole network, with the operators that stay on the CPU"
            }
            Self::NpuLatency => "The NPU's part of the latency, as its compiler estimates it",
            Self::Throughput => "Inferences a second at this batch",
            Self::TrainingStep => {
                "Time of one training step of a batch: forward, backward and optimiser"
            }
            Self::Energy => "Energy of one inference",
            Self::SramPeak => "Most on-chip memory in use at once",
            Self::Arena => {
                "Memory that AllocateTensors of TensorFlow Lite Micro needs: activations, working buffers of kernels, \
                 and what the interpreter keeps"
            }
            Self::ActivationRam => {
                "RAM of the program that ST Edge AI makes of the network, for its activations"
            }
            Self::WeightsFlash => "Flash for weights and biases, each once; without code",
            Self::FileFlash => {
                "Flash for the whole file, which an interpreter reads there; without code"
            }
            Self::Memory => {
                "Memory of the process on the GPU for inference at this batch, counted by rules"
            }
            Self::TrainingMemory => "The same for training with Adam",
            Self::SmUtilization => "Share of the latency in which a kernel runs",
            Self::OffchipTraffic => "Bytes that one inference moves to and from off-chip memory",
            Self::SramTraffic => "Bytes that one inference moves to and from on-chip memory",
        }
    }

    /// The metric that [`Self::id`] names, or named in the last version.
    pub fn from_id(id: &str) -> Option<Self> {
        let id = match id {
            "board_latency" | "end_to_end_latency" => Self::Latency.id(),
            id => id,
        };
        Self::ALL.into_iter().find(|metric| metric.id() == id)
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

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Metric {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Metric".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let ids = Self::ALL.map(Self::id);
        schemars::json_schema!({
            "description": "What is estimated; newer versions may have more.",
            "type": "string",
            "enum": ids,
        })
    }
}

/// One metric of one target.
#[derive(Clone, Debug)]
pub struct MetricEstimate {
    pub metric: Metric,
    pub outcome: Outcome,
}

impl MetricEstimate {
    fn with(mut self, change: impl FnOnce(Provenance) -> Provenance) -> Self {
        if let Outcome::Estimate { provenance, .. } = &mut self.outcome {
            *provenance = change(provenance.clone());
        }
        self
    }

    /// As [`Provenance::with_scope`].
    pub fn with_scope(self, scope: &str) -> Self {
        self.with(|provenance| provenance.with_scope(scope.to_owned()))
    }

    /// As [`Provenance::against`].
    pub fn against(self, reference: Reference) -> Self {
        self.with(|provenance| provenance.against(reference))
    }
}

/// An estimate, or the reason for none.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
pub enum Outcome {
    Estimate {
        /// The estimate; a whole number if the unit is bytes.
        #[serde(serialize_with = "number")]
        value: f64,
        /// The lower end of an interval around the value; absent where nothing is known of the error, and for exact
        /// numbers. Its level is `provenance.interval_percent`, where that was checked.
        #[serde(
            skip_serializing_if = "Option::is_none",
            serialize_with = "optional_number"
        )]
        #[cfg_attr(feature = "schema", ts(optional))]
        lo: Option<f64>,
        /// The upper end of that interval.
        #[serde(
            skip_serializing_if = "Option::is_none",
            serialize_with = "optional_number"
        )]
        #[cfg_attr(feature = "schema", ts(optional))]
        hi: Option<f64>,
        unit: &'static str,
        provenance: Provenance,
        /// Mean absolute percentage error on graphs held out of training or fit, single errors above
        /// 100 % counted as that; where it was measured.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "schema", ts(optional))]
        expected_error_percent: Option<f64>,
        /// The part of each node of the graph, in the same unit: parts of a latency or a traffic add up
        /// to the value, the largest of a peak is the value. Absent where the estimate is of the whole
        /// graph only.
        #[serde(
            skip_serializing_if = "Option::is_none",
            serialize_with = "optional_numbers"
        )]
        #[cfg_attr(feature = "schema", ts(optional))]
        operators: Option<Vec<f64>>,
    },
    Unavailable {
        /// The reason, in words.
        #[cfg_attr(feature = "schema", schemars(with = "String"), ts(type = "string"))]
        unavailable: UnavailableReason,
        /// The reason as a stable word for programs, for example `several-inputs`.
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

    /// The same in whole bytes, where it is in bytes: the value to the nearest, its interval outwards, and
    /// parts so that they still add up to the value, or the largest is the value.
    pub(crate) fn in_whole_bytes(mut self) -> Self {
        let Self::Estimate {
            value,
            lo,
            hi,
            unit: "bytes",
            operators,
            ..
        } = &mut self
        else {
            return self;
        };
        if let Some(parts) = operators {
            let sum: f64 = parts.iter().sum();
            let is_sum = (sum - *value).abs() <= PARTS_TOLERANCE * value.abs();
            if is_sum {
                round_sum(parts)
            } else {
                parts.iter_mut().for_each(|part| *part = part.round())
            }
        }
        *value = value.round();
        *lo = lo.map(|lo| lo.floor().min(*value));
        *hi = hi.map(|hi| hi.ceil().max(*value));
        self
    }

    /// What the estimate rests on; `None` where there is none.
    pub fn evidence(&self) -> Option<Evidence> {
        match self {
            Self::Estimate { provenance, .. } => Some(provenance.evidence()),
            Self::Unavailable { .. } => None,
        }
    }

    /// Whether there is an estimate.
    pub fn is_estimate(&self) -> bool {
        matches!(self, Self::Estimate { .. })
    }
}

/// By how much a sum of parts, of 32-bit floats, differs from the whole, relative to it.
const PARTS_TOLERANCE: f64 = 1e-4;

/// Rounds the sums of the first parts, and has each part be what the next sum adds.
fn round_sum(parts: &mut [f64]) {
    let [mut sum, mut whole_sum] = [0.0_f64; 2];
    for part in parts {
        sum += *part;
        *part = sum.round() - whole_sum;
        whole_sum = sum.round();
    }
}

/// Whole numbers up to this are exact in an f64.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// A whole number without a point: 34560 instead of 34560.0.
fn number<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    match *value {
        value if value.fract() == 0.0 && (0.0..=MAX_WHOLE).contains(&value) => {
            serializer.serialize_u64(value as u64)
        }
        value => serializer.serialize_f64(value),
    }
}

/// [`number`] by reference.
struct Number<'n>(&'n f64);

impl Serialize for Number<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        number(self.0, serializer)
    }
}

fn optional_number<S: Serializer>(value: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(Number).serialize(serializer)
}

fn optional_numbers<S: Serializer>(
    values: &Option<Vec<f64>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match values {
        Some(values) => serializer.collect_seq(values.iter().map(Number)),
        None => serializer.serialize_none(),
    }
}

/// Why a target has no estimate. Displayed as one sentence, lower case, no full stop.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum UnavailableReason {
    /// The main subgraph has no operators.
    NoOperators,
    /// An operator is compiled for an accelerator.
    Compiled {
        /// As [`Self::code`].
        code: &'static str,
        /// The accelerator and the compiler in words.
        accelerator: String,
    },
    /// Operators that multiply, but whose shapes the file does not store.
    MissingShapes { n_operators: usize, of: usize },
    /// Operators whose operands no kernel takes together.
    ContradictingShapes { n_operators: usize, of: usize },
    /// The estimate was less than the work takes at the hardware's peak rate.
    BeyondPeakRate,
    /// The NPU runs batch size 1.
    SeveralInputs { found: i32 },
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
    /// Custom operators that have no cost on processors.
    CustomOperators {
        /// Of the first one.
        name: String,
        /// The accelerator and the compiler in words, if a compiler made them; otherwise only their vendor knows what they
        /// compute.
        accelerator: Option<String>,
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
            Self::Compiled { code, .. } => code,
            Self::MissingShapes { .. } => "missing-shapes",
            Self::ContradictingShapes { .. } => "contradicting-shapes",
            Self::BeyondPeakRate => "beyond-peak-rate",
            Self::SeveralInputs { .. } => "several-inputs",
            Self::UnsupportedOperators { .. } => "unsupported-operators",
            Self::CustomOperators {
                accelerator: None, ..
            } => "unknown-work",
            Self::CustomOperators { .. } => "compiled-for-accelerator",
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
            Self::Compiled { accelerator, .. } => write!(
                f,
                "the file is already compiled for {accelerator}; give the model before the compiler"
            ),
            Self::MissingShapes { n_operators, of } => write!(
                f,
                "the file does not store the shapes that {n_operators} of {of} operators work on"
            ),
            Self::ContradictingShapes { n_operators, of } => write!(
                f,
                "operands of {n_operators} of {of} operators contradict each other"
            ),
            Self::BeyondPeakRate => f.write_str(
                "the estimate was less than this work takes at the peak rate: the network is too far from \
                 those that were measured",
            ),
            Self::SeveralInputs { found } => write!(f, "runs batch size 1 only, found {found}"),
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
            Self::CustomOperators {
                name,
                accelerator,
                n_operators,
                n_outside,
                outside_ms: [value_ms, lo_ms, hi_ms],
            } => {
                let verb = if *n_operators == 1 { "is" } else { "are" };
                match accelerator {
                    Some(accelerator) => write!(
                        f,
                        "{n_operators} `{name}` {verb} compiled for {accelerator}, and no processor runs what is \
                         inside; "
                    )?,
                    None => {
                        let of = n_operators.saturating_add(*n_outside);
                        write!(
                            f,
                            "the file does not tell how much work {n_operators} of {of} operators do, for example \
                             `{}`; ",
                            shown(name)
                        )?;
                    }
                }
                match n_outside {
                    0 => f.write_str("there are no others")?,
                    n => write!(
                        f,
                        "the {n} other operators take {value_ms:.3} ms here ({lo_ms:.3} to {hi_ms:.3})"
                    )?,
                }
                match accelerator {
                    Some(_) => f.write_str("; give the model before the compiler"),
                    None => Ok(()),
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provenance::{Provenance, ProvenanceKind};

    fn estimate(value: f64, parts: &[f64]) -> Outcome {
        let outcome = Outcome::Estimate {
            value,
            lo: Some(value - 0.7),
            hi: Some(value + 0.2),
            unit: "bytes",
            provenance: Provenance::own(ProvenanceKind::Modelled, String::new()),
            expected_error_percent: None,
            operators: Some(parts.to_vec()),
        };
        outcome.in_whole_bytes()
    }

    #[test]
    fn bytes_are_whole_and_parts_still_add_up() {
        let json = |outcome: &Outcome| serde_json::to_value(outcome).unwrap();
        let sum = json(&estimate(10.5, &[3.5, 3.5, 3.5]));
        assert_eq!(sum["value"].to_string(), "11");
        assert_eq!(
            (sum["lo"].to_string(), sum["hi"].to_string()),
            ("9".into(), "11".into())
        );
        assert_eq!(sum["operators"].to_string(), "[4,3,4]");
        let peak = json(&estimate(7.4, &[3.6, 7.4, 0.0]));
        assert_eq!(peak["value"].to_string(), "7");
        assert_eq!(peak["operators"].to_string(), "[4,7,0]");
    }
}
