//! A report read from JSON: from a worker process, or from the output of an earlier `predict --json`.
//!
//! The types are not those of [`litecast::report`]: they have only the fields that the command shows, and strings
//! instead of enums, because a report of a newer version may have more fields and values.

use std::collections::{HashMap, HashSet};

use litecast::boards::Need;
use litecast::estimate::EstimateAs;
use litecast::formats::shown;
use litecast::provenance::{Evidence, Reference};
use litecast::report::{Dimension, Failure, REPORT_VERSION, migrate};
use litecast::target::boards;
use litecast::targets::registry;
use litecast::{Metric, Settings};
use serde::{Deserialize, Serialize};

use super::bounded_json;
use super::bounded_list::{self, list, list_or_null};

#[derive(Clone, Debug, Deserialize)]
pub struct Document {
    pub file: String,
    pub batch: u32,
    #[serde(default, deserialize_with = "list")]
    pub dimensions: Vec<Dimension>,
    #[serde(default)]
    pub estimate_as: EstimateAs,
    pub model: Model,
    #[serde(deserialize_with = "list")]
    pub results: Vec<TargetResult>,
    #[serde(deserialize_with = "list")]
    pub operators: Vec<Operator>,
    #[serde(deserialize_with = "list")]
    pub tensors: Vec<Tensor>,
    #[serde(default)]
    pub fits: Option<Fits>,
    #[serde(default, deserialize_with = "list")]
    left_out: Vec<LeftOut>,
    #[serde(deserialize_with = "list")]
    pub diagnostics: Vec<Diagnostic>,
}

/// Results, diagnostics and sizes of a report: twice as many as those of all targets, each of which is looked up in all others.
const MAX_RESULTS: usize = 8192;

/// What tells how to read the rest of a report.
#[derive(Deserialize)]
struct Version {
    schema_version: u32,
}

/// Operators that some targets do not run.
#[derive(Clone, Debug, Deserialize)]
struct LeftOut {
    #[serde(deserialize_with = "list")]
    targets: Vec<String>,
    #[serde(deserialize_with = "list")]
    operators: Vec<LeftOperator>,
}

#[derive(Clone, Debug, Deserialize)]
struct LeftOperator {
    operator: usize,
    #[serde(default)]
    reason: String,
}

/// On which microcontroller boards the model has room.
#[derive(Clone, Debug, Deserialize)]
pub struct Fits {
    #[serde(default)]
    pub need: Option<Need>,
    #[serde(deserialize_with = "list")]
    pub boards: Vec<OnBoard>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct OnBoard {
    #[serde(default)]
    id: String,
    /// `yes`, `close` or `no`.
    pub fits: String,
    #[serde(default)]
    ram: Option<Room>,
    #[serde(default)]
    flash: Option<Room>,
}

/// The memory that a part of a model is in.
#[derive(Clone, Debug, Deserialize)]
struct Room {
    /// Absent where there is room.
    #[serde(default)]
    missing_bytes: Option<u64>,
}

/// A memory of a board that has too little room for a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Shortage {
    /// Id, as that of a metric.
    pub memory: &'static str,
    pub needed_bytes: f64,
    /// Of the larger of the memories on and beside the chip, or of its largest piece for an arena.
    pub board_bytes: f64,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Model {
    pub file_bytes: u64,
    pub format: String,
    pub schema_version: u32,
    pub description: String,
    pub n_subgraphs: u64,
    pub n_tensors: u64,
    #[serde(deserialize_with = "list")]
    pub signatures: Vec<String>,
    pub precision: String,
    pub n_operators: u64,
    pub macs: u64,
    pub parameters: u64,
    pub weight_bytes: u64,
    pub arena_bytes: Option<u64>,
    #[serde(default)]
    pub activation_bytes: Option<u64>,
    pub peak_operator: Option<usize>,
    #[serde(deserialize_with = "list")]
    pub inputs: Vec<usize>,
    #[serde(deserialize_with = "list")]
    pub outputs: Vec<usize>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "WrittenResult")]
pub struct TargetResult {
    pub target: String,
    pub device: String,
    pub metric: String,
    pub evidence: Option<String>,
    pub estimated_as: Option<String>,
    pub settings: Option<Settings>,
    pub outcome: Outcome,
}

/// A result as it is written: fields of one of two kinds beside those of both. Serde's own way to tell them apart keeps a
/// tree of all values of the result.
#[derive(Deserialize)]
struct WrittenResult {
    target: String,
    device: String,
    metric: String,
    evidence: Option<String>,
    estimated_as: Option<String>,
    settings: Option<Settings>,
    value: Option<f64>,
    unit: Option<String>,
    lo: Option<f64>,
    hi: Option<f64>,
    provenance: Option<Provenance>,
    expected_error_percent: Option<f64>,
    #[serde(default, deserialize_with = "list_or_null")]
    operators: Option<Vec<f64>>,
    unavailable: Option<String>,
    reason: Option<String>,
}

impl TryFrom<WrittenResult> for TargetResult {
    type Error = &'static str;

    fn try_from(written: WrittenResult) -> Result<Self, Self::Error> {
        let outcome = match (written.value, written.unit, written.provenance) {
            (Some(value), Some(unit), Some(provenance)) => Outcome::Estimate(Box::new(Estimate {
                value,
                unit,
                lo: written.lo,
                hi: written.hi,
                provenance,
                expected_error_percent: written.expected_error_percent,
                operators: written.operators,
            })),
            _ => Outcome::Unavailable {
                unavailable: (written.unavailable)
                    .ok_or("expected a result with an estimate or the reason why there is none")?,
                reason: written.reason.unwrap_or_default(),
            },
        };
        Ok(Self {
            target: written.target,
            device: written.device,
            metric: written.metric,
            evidence: written.evidence,
            estimated_as: written.estimated_as,
            settings: written.settings,
            outcome,
        })
    }
}

#[derive(Clone, Debug)]
pub enum Outcome {
    Estimate(Box<Estimate>),
    Unavailable { unavailable: String, reason: String },
}

#[derive(Clone, Debug)]
pub struct Estimate {
    pub value: f64,
    pub unit: String,
    pub lo: Option<f64>,
    pub hi: Option<f64>,
    pub provenance: Provenance,
    pub expected_error_percent: Option<f64>,
    pub operators: Option<Vec<f64>>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Provenance {
    pub kind: String,
    pub tool: String,
    pub version: String,
    pub configuration: String,
    #[serde(default)]
    pub reference: Option<String>,
    #[serde(default)]
    pub interval_percent: Option<u32>,
    #[serde(default)]
    pub scope: Option<String>,
}

impl From<litecast::provenance::Provenance> for Provenance {
    fn from(known: litecast::provenance::Provenance) -> Self {
        let reference = known.reference.map(Reference::id);
        Self {
            kind: known.kind.words().to_owned(),
            tool: known.tool,
            version: known.version,
            configuration: known.configuration,
            reference: reference.map(str::to_owned),
            interval_percent: known.interval_percent,
            scope: known.scope,
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
pub struct Operator {
    pub index: usize,
    pub operator_idx: usize,
    pub name: String,
    #[serde(deserialize_with = "list")]
    pub outputs: Vec<usize>,
    pub macs: u64,
    pub parameters: u64,
    pub weight_bytes: u64,
    pub input_bytes: u64,
    pub output_bytes: u64,
    pub live_bytes: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Tensor {
    pub name: String,
    #[serde(rename = "type")]
    pub tensor_type: String,
    #[serde(deserialize_with = "list")]
    pub shape: Vec<i32>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Diagnostic {
    pub severity: String,
    pub code: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_idx: Option<usize>,
    #[serde(
        default,
        deserialize_with = "list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub targets: Vec<String>,
}

/// Cores of the largest board that is offered: a latency may be of as many threads.
const MAX_CORES: f64 = 8.0;

/// Numbers of a report are rounded to their last digits.
const ROUNDING: f64 = 1e-6;

impl Document {
    /// Parses the JSON of one report, of this version or an older one.
    ///
    /// # Errors
    /// `wrong-report` for other text and other versions, `impossible-report` for numbers that no estimate has.
    pub fn parse(json: &str) -> Result<Self, Failure> {
        let wrong = |words: String| Failure::new("wrong-report", words);
        let beyond = |words: String| Failure::new("limit-exceeded", words);
        let not_a_report = |error: serde_json::Error| {
            let words = format!("expected a report of litecast: {error}");
            if bounded_list::is_exhausted() {
                beyond(words)
            } else {
                wrong(words)
            }
        };
        bounded_list::begin(json.len());
        let version: Version = serde_json::from_str(json).map_err(not_a_report)?;
        let document: Self = match version.schema_version {
            // A report of this version never becomes a tree of values, which takes several times its memory.
            REPORT_VERSION => serde_json::from_str(json),
            _ => {
                let mut report = bounded_json::parse(json).map_err(not_a_report)?;
                migrate(&mut report)?;
                serde_json::from_value(report)
            }
        }
        .map_err(not_a_report)?;
        for (what, n) in [
            ("dimensions", document.dimensions.len()),
            ("results", document.results.len()),
            ("diagnostics", document.diagnostics.len()),
        ] {
            if n > MAX_RESULTS {
                let words = format!("expected at most {MAX_RESULTS} {what}, found {n}");
                return Err(beyond(words));
            }
        }
        match document.impossible_number() {
            None => Ok(document),
            Some(words) => Err(Failure::new("impossible-report", words)),
        }
    }

    /// The first number that no estimate of the library can have, in words.
    fn impossible_number(&self) -> Option<String> {
        let mut described = HashSet::new();
        for result in &self.results {
            let whose = format!("{} of {}", result.metric, result.target);
            if !described.insert((&result.target, &result.metric)) {
                return Some(format!("{whose}: expected one result, found two"));
            }
            let impossible = result.estimate().and_then(|estimate| {
                let unit = Metric::from_id(&result.metric).map(Metric::unit);
                let other_unit = unit.filter(|unit| *unit != estimate.unit);
                let other_unit = other_unit.map(|unit| {
                    format!(
                        "expected a number of {unit}, found {}",
                        shown(&estimate.unit)
                    )
                });
                other_unit
                    .or_else(|| estimate.impossible_number(self.operators.len()))
                    .or_else(|| self.beyond_peak(result, estimate))
            });
            if let Some(words) = impossible {
                return Some(format!("{whose}: {words}"));
            }
        }
        None
    }

    /// A latency in which the target cannot multiply as often as its operators do.
    fn beyond_peak(&self, result: &TargetResult, estimate: &Estimate) -> Option<String> {
        let of_latency = [Metric::Latency, Metric::NpuLatency].map(Metric::id);
        if !of_latency.contains(&result.metric.as_str()) {
            return None;
        }
        // Behind the board's id, where a board was chosen.
        let id = result.target.rsplit('/').next()?;
        let mut targets = registry().iter();
        let peak = targets.find(|target| target.id() == id)?.peak()?;
        let of_target = |left: &&LeftOut| left.targets.contains(&result.target);
        let left_out: HashSet<usize> = (self.left_out.iter().filter(of_target))
            .flat_map(|left| &left.operators)
            .map(|left| left.operator)
            .collect();
        let is_run = |operator: &&Operator| !left_out.contains(&operator.index);
        let macs = self.operators.iter().filter(is_run);
        let macs: f64 = macs.map(|operator| operator.macs as f64).sum();
        let floor_ms = peak.floor_ms(macs, 0.0) / MAX_CORES;
        (estimate.value < floor_ms * (1.0 - ROUNDING)).then(|| {
            format!(
                "expected {floor_ms:.3} ms at least, which {macs:.0} MACs take at the peak rate, found {}",
                estimate.value
            )
        })
    }

    /// The estimates, each with its target's id and its metric.
    pub fn estimates(&self) -> impl Iterator<Item = (&TargetResult, &Estimate)> {
        self.results
            .iter()
            .filter_map(|result| Some((result, result.estimate()?)))
    }

    /// Target, metric and reason of what has no estimate.
    pub fn unavailable(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.results
            .iter()
            .filter_map(|result| match &result.outcome {
                Outcome::Unavailable { unavailable, .. } => {
                    Some((&*result.target, &*result.metric, &**unavailable))
                }
                Outcome::Estimate(_) => None,
            })
    }

    /// Why TensorFlow Lite Micro does not run the file.
    pub fn micro_obstacle(&self) -> Option<&str> {
        self.fits.as_ref()?.need.as_ref()?.obstacle.as_deref()
    }

    /// The precision in which a target is estimated, where it is not the file's.
    pub fn estimated_as(&self, target: &str) -> Option<&str> {
        let mut results = self.results.iter();
        results
            .find(|result| result.target == target)?
            .estimated_as
            .as_deref()
    }

    /// The memories of a chosen board that have too little room, under the runtime that its estimates are of.
    pub fn shortages(&self, target: &str) -> Vec<Shortage> {
        let board = target.split_once('/').and_then(|(id, _)| boards::by_id(id));
        let Some((board, memory)) = board.and_then(|board| Some((board, board.memory?))) else {
            return Vec::new();
        };
        let value = |metric: Metric| Some(self.result(target, metric.id())?.estimate()?.value);
        let on_board = |kib: [u64; 2]| (kib[0].max(kib[1]) << 10) as f64;
        let ram_bytes = on_board([memory.sram_kib, memory.external_ram_kib]);
        let piece_kib = memory.contiguous_ram_kib.unwrap_or(memory.sram_kib);
        let piece_bytes = on_board([piece_kib, memory.external_ram_kib]);
        let flash_bytes = on_board([memory.flash_kib, memory.external_flash_kib]);
        let boards = self.fits.iter().flat_map(|fits| &fits.boards);
        let mut under_micro = boards.filter(|on| on.id == board.id);
        let missing = |room: &Option<Room>| room.as_ref().and_then(|room| room.missing_bytes);
        let [ram, flash] = match (value(Metric::Arena), under_micro.next()) {
            (Some(arena_bytes), Some(on)) => {
                let is_piece = piece_bytes < ram_bytes
                    && missing(&on.ram)
                        .is_some_and(|bytes| piece_bytes + bytes as f64 == arena_bytes);
                let ram = if is_piece {
                    ("board_ram_piece", piece_bytes)
                } else {
                    ("board_ram", ram_bytes)
                };
                [(ram, &on.ram), (("board_flash", flash_bytes), &on.flash)].map(
                    |((memory, has), room)| {
                        (memory, missing(room).map(|bytes| has + bytes as f64), has)
                    },
                )
            }
            _ => {
                let ram = value(Metric::ActivationRam).or_else(|| value(Metric::SramPeak));
                [
                    ("board_ram", ram, ram_bytes),
                    ("board_flash", value(Metric::WeightsFlash), flash_bytes),
                ]
            }
        };
        [ram, flash]
            .into_iter()
            .filter_map(|(memory, needed, board_bytes)| {
                Some(Shortage {
                    memory,
                    needed_bytes: needed.filter(|needed| *needed > board_bytes)?,
                    board_bytes,
                })
            })
            .collect()
    }

    pub fn result(&self, target: &str, metric: &str) -> Option<&TargetResult> {
        let mut results = self.results.iter();
        results.find(|result| result.target == target && result.metric == metric)
    }

    /// The latency on each target that has one by operator, with its parts.
    pub fn by_operator(&self) -> impl Iterator<Item = (&TargetResult, &[f64], &Estimate)> {
        self.targets().into_iter().filter_map(|target| {
            let result = self.result(target, Metric::Latency.id())?;
            let estimate = result.estimate()?;
            Some((result, estimate.operators.as_deref()?, estimate))
        })
    }

    /// The operators that a target leaves to a processor, by index, and why.
    pub fn left_to_processor(&self, target: &str) -> HashMap<usize, &str> {
        let of_target = |left: &&LeftOut| left.targets.iter().any(|id| id == target);
        let left_out = self.left_out.iter().filter(of_target);
        let operators = left_out.flat_map(|left| &left.operators);
        let reasons = operators.map(|left| (left.operator, left.reason.as_str()));
        reasons.collect()
    }

    /// Ids of the targets, each once, in the order of the results.
    pub fn targets(&self) -> Vec<&str> {
        let mut targets: Vec<&str> = Vec::new();
        for result in &self.results {
            if !targets.contains(&result.target.as_str()) {
                targets.push(&result.target);
            }
        }
        targets
    }

    /// Elements along each axis of a tensor, and its type, for example `1×49×10×8 INT8`.
    pub fn tensor_words(&self, tensor_idx: usize) -> Option<String> {
        let tensor = self.tensors.get(tensor_idx)?;
        Some(format!(
            "{} {}",
            shape_words(&tensor.shape),
            tensor.tensor_type
        ))
    }

    /// The shape of an operator's first output.
    pub fn output_shape(&self, operator: &Operator) -> String {
        let first = operator.outputs.first();
        let tensor = first.and_then(|&idx| self.tensors.get(idx));
        tensor.map_or(String::new(), |tensor| shape_words(&tensor.shape))
    }
}

impl Estimate {
    /// A number that no quantity can have, or parts that do not match the operators.
    fn impossible_number(&self, n_operators: usize) -> Option<String> {
        let Self {
            value,
            lo,
            hi,
            operators,
            ..
        } = self;
        let is_number = |number: f64| number.is_finite() && number >= 0.0;
        let mut ends = [Some(*value), *lo, *hi].into_iter().flatten();
        if let Some(end) = ends.find(|&number| !is_number(number)) {
            return Some(format!("expected a number of 0 or more, found {end}"));
        }
        let [least, most] = [*lo, *hi].map(|end| end.unwrap_or(*value));
        let slack = ROUNDING * value;
        if least > value + slack || most < value - slack {
            let words = format!("expected an interval around {value}, found {least} to {most}");
            return Some(words);
        }
        let parts = operators.as_ref()?;
        if parts.len() != n_operators {
            return Some(format!(
                "expected {n_operators} parts, one of each operator, found {}",
                parts.len()
            ));
        }
        let wrong = parts.iter().find(|part| !part.is_finite())?;
        Some(format!("expected parts that are numbers, found {wrong}"))
    }
}

impl TargetResult {
    /// What the number rests on, where that is known.
    pub fn grade(&self) -> Option<Evidence> {
        let id = self.evidence.as_deref()?;
        serde_json::from_value(id.into()).ok()
    }

    pub fn estimate(&self) -> Option<&Estimate> {
        match &self.outcome {
            Outcome::Estimate(estimate) => Some(estimate),
            Outcome::Unavailable { .. } => None,
        }
    }

    /// Why there is no estimate.
    pub fn unavailable(&self) -> Option<&str> {
        match &self.outcome {
            Outcome::Estimate(_) => None,
            Outcome::Unavailable { unavailable, .. } => Some(unavailable),
        }
    }
}

fn shape_words(shape: &[i32]) -> String {
    if shape.is_empty() {
        return "scalar".into();
    }
    let word = |&elements: &i32| match elements {
        elements if elements < 0 => "?".to_owned(),
        elements => elements.to_string(),
    };
    shape.iter().map(word).collect::<Vec<_>>().join("×")
}
