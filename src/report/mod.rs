//! The report that a person or a program reads: the same document for the page, the npm package and the command.
//! Besides the manifest, these are the only types of this crate that are serialised as JSON.

mod facts;
mod failure;
mod migrate;
#[cfg(feature = "schema")]
mod schema;
#[cfg(feature = "schema")]
mod typescript;

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

pub(crate) use facts::{edges, live_bytes, model_facts, operators, sha256, tensors};
#[cfg(feature = "schema")]
pub use schema::derived_schema;
#[cfg(feature = "schema")]
pub use typescript::derived_types;

pub use crate::provenance::INTERVAL_PERCENT;
pub use failure::{FailedReport, Failure};
pub use migrate::migrate;

use crate::boards::Fits;
use crate::diagnostic::Diagnostic;
use crate::formats::tflite::{BuiltinOptions, Format};
use crate::graph::analysis::Precision;
use crate::model_variants::EstimateAs;
use crate::provenance::Evidence;
use crate::target::{HostInfo, Metric, Outcome, Settings, UnsupportedOperator};

/// Stands in TypeScript for an id of a target, which `ids.d.ts` lists.
#[cfg(feature = "schema")]
#[derive(ts_rs::TS)]
#[expect(dead_code, reason = "names a type; nothing makes one")]
struct TargetId(String);

/// Raised when a field changes its meaning or goes away; new fields do not raise it.
pub const REPORT_VERSION: u32 = 2;

/// The oldest version that [`migrate`] reads.
pub const OLDEST_READ_VERSION: u32 = 1;

/// The JSON Schema, draft 2020-12, of one line that `litecast predict --json` prints: a [`Report`] or a
/// [`FailedReport`]. The trainer's tests compare it with what the types say.
pub const SCHEMA: &str = include_str!("report.schema.json");

/// The report of one file.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[non_exhaustive]
pub struct Report {
    /// Version of the report format, raised when a field changes its meaning or is removed.
    pub schema_version: u32,
    /// Version of this library.
    pub litecast_version: &'static str,
    /// Identifies the trained predictor. Absent where none was loaded.
    pub bundle: Option<String>,
    /// The level that intervals are made for, in percent. Whether that of a number was checked says its
    /// `provenance.interval_percent`.
    pub interval_percent: u32,
    /// Name of the file, as the caller gave it.
    pub file: String,
    /// SHA-256 of the file's contents, in 64 hexadecimal digits. Absent in a summary.
    pub sha256: Option<String>,
    /// Requested batch size; 1 for the file as it is.
    pub batch: u32,
    /// Requested sizes of dimensions that the file leaves open.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", ts(as = "Option<_>", optional))]
    pub dimensions: Vec<Dimension>,
    /// Requested precision of a network of floats; absent for `auto`.
    #[serde(skip_serializing_if = "EstimateAs::is_auto")]
    #[cfg_attr(feature = "schema", ts(as = "Option<_>", optional))]
    pub estimate_as: EstimateAs,
    /// Exact facts of the whole file.
    pub model: ModelFacts,
    /// One result for each target and metric.
    pub results: Vec<TargetResult>,
    /// Operators of the main subgraph in topological order.
    pub operators: Vec<OperatorFacts>,
    /// Tensors of the main subgraph by index.
    pub tensors: Vec<TensorFacts>,
    /// Tensors of the main subgraph that one operator writes and another reads.
    pub edges: Vec<EdgeFacts>,
    /// On which microcontroller boards the file has room under TensorFlow Lite Micro; absent where it does
    /// not tell how much memory it needs.
    pub fits: Option<Fits>,
    /// Operators that targets leave to a processor, whose time is in `latency` alone; absent in a summary.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", ts(as = "Option<_>", optional))]
    pub left_out: Vec<LeftOut>,
    /// Names of dimensions that a size was given for, and that the file does not leave open.
    #[serde(skip)]
    #[cfg_attr(feature = "schema", ts(skip))]
    pub unmatched_dimensions: Vec<String>,
    /// Diagnostics about the numbers and about what they leave out.
    pub diagnostics: Vec<ReportDiagnostic>,
}

/// A dimension that a file leaves open, with the size that it was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[non_exhaustive]
pub struct Dimension {
    /// Its name, as a request names it.
    pub name: String,
    /// Elements along it.
    pub size: u32,
}

/// A diagnostic, and what it is about.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema, ts_rs::TS),
    ts(rename = "Diagnostic")
)]
#[non_exhaustive]
pub struct ReportDiagnostic {
    /// The doubt itself.
    #[serde(flatten)]
    pub diagnostic: Diagnostic,
    /// Ids of the targets whose estimates it concerns; absent if it concerns the file.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "schema", ts(as = "Option<Vec<TargetId>>", optional))]
    pub targets: Vec<String>,
}

impl From<Diagnostic> for ReportDiagnostic {
    /// About the file.
    fn from(diagnostic: Diagnostic) -> Self {
        Self {
            diagnostic,
            targets: Vec::new(),
        }
    }
}

/// Operators that some targets leave to a processor: all of these targets leave them, and no others, to the same one.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema, ts_rs::TS),
    ts(rename = "LeftOutOf")
)]
#[non_exhaustive]
pub struct LeftOut {
    /// Ids of the targets.
    #[cfg_attr(feature = "schema", ts(as = "Vec<TargetId>"))]
    pub targets: Vec<String>,
    /// The processor that is assumed to run them, whose time is in `latency`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub host: Option<HostInfo>,
    /// In topological order.
    pub operators: Vec<LeftOperator>,
}

/// An operator that a target leaves to a processor.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema, ts_rs::TS),
    ts(rename = "LeftOut")
)]
#[non_exhaustive]
pub struct LeftOperator {
    /// Index into [`Report::operators`].
    pub operator: usize,
    /// Why, as a stable identifier for programs, kebab-case.
    pub code: &'static str,
    /// The reason in words, lower case.
    pub reason: String,
}

impl From<&UnsupportedOperator> for LeftOperator {
    fn from(operator: &UnsupportedOperator) -> Self {
        Self {
            operator: operator.node_idx,
            code: operator.reason.code(),
            reason: operator.reason.to_string(),
        }
    }
}

/// What a search reads of a report: as [`Report`], without what [`Detail::Summary`] leaves empty.
///
/// [`Detail::Summary`]: crate::estimate::Detail::Summary
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(extend("not" = {"anyOf": [{"required": ["operators"]}, {"required": ["tensors"]}, {"required": ["edges"]}, {"required": ["fits"]}, {"required": ["left_out"]}]}))
)]
pub struct Summary<'r> {
    /// As of a report.
    schema_version: u32,
    /// As of a report.
    litecast_version: &'static str,
    /// As of a report.
    bundle: Option<&'r str>,
    /// As of a report.
    interval_percent: u32,
    /// As of a report.
    file: &'r str,
    /// Absent: a search would compute it for each change.
    sha256: Option<&'r str>,
    /// As of a report.
    batch: u32,
    /// As of a report.
    #[serde(skip_serializing_if = "<[Dimension]>::is_empty")]
    dimensions: &'r [Dimension],
    /// As of a report.
    #[serde(skip_serializing_if = "EstimateAs::is_auto")]
    estimate_as: EstimateAs,
    /// As of a report, with empty lists of subgraphs and signatures.
    model: &'r ModelFacts,
    /// As of a report, without parts by operator.
    results: &'r [TargetResult],
    /// As of a report.
    diagnostics: &'r [ReportDiagnostic],
}

impl<'r> Summary<'r> {
    /// Of a report.
    pub fn new(report: &'r Report) -> Self {
        Self {
            schema_version: report.schema_version,
            litecast_version: report.litecast_version,
            bundle: report.bundle.as_deref(),
            interval_percent: report.interval_percent,
            file: &report.file,
            sha256: report.sha256.as_deref(),
            batch: report.batch,
            dimensions: &report.dimensions,
            estimate_as: report.estimate_as,
            model: &report.model,
            results: &report.results,
            diagnostics: &report.diagnostics,
        }
    }
}

/// Exact facts of the whole model.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[non_exhaustive]
pub struct ModelFacts {
    /// Size of the file.
    pub file_bytes: usize,
    /// What the file is.
    pub format: Format,
    /// Version of the format: 3 for TFLite.
    pub schema_version: u32,
    /// Description in the file; empty if it has none.
    pub description: String,
    /// Element types of its operators.
    pub precision: Precision,
    /// Subgraphs of the file.
    pub n_subgraphs: usize,
    /// Operators of the main subgraph.
    pub n_operators: usize,
    /// Tensors of the main subgraph.
    pub n_tensors: usize,
    /// Multiply-accumulates of one inference.
    pub macs: u64,
    /// Elements of constant tensors that operators multiply or add.
    pub parameters: u64,
    /// Bytes of those constants in the file.
    pub weight_bytes: u64,
    /// What TensorFlow Lite Micro's `AllocateTensors` needs on a microcontroller. Absent where a shape is known only at
    /// run time, or where the interpreter does not run an operator.
    pub arena_bytes: Option<u64>,
    /// The part of such an arena that activations take, as the greedy planner lays them out. Absent where a shape is
    /// known only at run time.
    pub activation_bytes: Option<u64>,
    /// Index into [`Report::operators`] at which the most activation bytes are alive.
    pub peak_operator: Option<usize>,
    /// Indices into [`Report::tensors`].
    pub inputs: Vec<usize>,
    /// Indices into [`Report::tensors`].
    pub outputs: Vec<usize>,
    /// Names of the signatures of the file.
    pub signatures: Vec<String>,
    /// All subgraphs, the main one first.
    pub subgraphs: Vec<SubgraphFacts>,
}

/// Size of one subgraph.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[non_exhaustive]
pub struct SubgraphFacts {
    /// Name in the file.
    pub name: String,
    /// Operators of the subgraph.
    pub n_operators: usize,
    /// Tensors of the subgraph.
    pub n_tensors: usize,
}

/// The result for one metric on one target.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema, ts_rs::TS),
    ts(rename = "Result")
)]
#[non_exhaustive]
pub struct TargetResult {
    /// Id of the target.
    #[cfg_attr(feature = "schema", ts(as = "TargetId"))]
    pub target: String,
    /// The target in words.
    pub device: String,
    /// What is estimated.
    pub metric: Metric,
    /// What the estimate rests on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub evidence: Option<Evidence>,
    /// The precision of the estimate, where it is not that of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub estimated_as: Option<Precision>,
    /// What the target is set to, where an estimate depends on it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub settings: Option<Settings>,
    /// The estimate, or the reason for none.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// Exact facts of one operator.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema, ts_rs::TS),
    ts(rename = "Operator")
)]
#[non_exhaustive]
pub struct OperatorFacts {
    /// Position in topological order.
    pub index: usize,
    /// Position in the file.
    pub operator_idx: usize,
    /// `BuiltinOperator` name, or the custom operator's own.
    pub name: Cow<'static, str>,
    /// Whether the operator is not one of TFLite.
    pub custom: bool,
    /// Indices into [`Report::tensors`]; absent for an optional input that is left out.
    pub inputs: Vec<Option<usize>>,
    /// Indices into [`Report::tensors`].
    pub outputs: Vec<usize>,
    /// Multiply-accumulates of one inference.
    pub macs: u64,
    /// Elements of its constant inputs that it multiplies or adds.
    pub parameters: u64,
    /// Bytes of those constants in the file.
    pub weight_bytes: u64,
    /// Bytes of the activations that it reads.
    pub input_bytes: u64,
    /// Bytes of the activations that it writes.
    pub output_bytes: u64,
    /// Bytes of live activations while it runs.
    pub live_bytes: Option<u64>,
    /// Builtin options by their names in the schema, or null.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<serde_json::Map<String, serde_json::Value>>"),
        ts(type = "Record<string, unknown> | null")
    )]
    pub attributes: BuiltinOptions,
}

/// Exact facts of one tensor.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema, ts_rs::TS),
    ts(rename = "Tensor")
)]
#[non_exhaustive]
pub struct TensorFacts {
    /// Position in the subgraph.
    pub index: usize,
    /// Name in the file.
    pub name: String,
    /// Name of its element type in the schema, for example `INT8`.
    #[serde(rename = "type")]
    pub tensor_type: &'static str,
    /// Elements along each axis.
    pub shape: Vec<i32>,
    /// The shape with -1 for sizes that are known only at run time; absent if all are known.
    pub shape_signature: Option<Vec<i32>>,
    /// Bytes of its contents; absent for strings and resources.
    pub bytes: Option<u64>,
    /// Whether the file has its values.
    pub constant: bool,
    /// Whether it keeps its values from one inference to the next.
    pub variable: bool,
    /// Absent for a tensor without scales.
    pub quantization: Option<QuantizationFacts>,
}

/// The first scale and zero point (at most one of each), and how many channels have their own.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema, ts_rs::TS),
    ts(rename = "Quantization")
)]
#[non_exhaustive]
pub struct QuantizationFacts {
    /// At most one; null where the file has no finite number.
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Vec<Option<f32>>"),
        ts(as = "Vec<f32>")
    )]
    pub scale: [f32; 1],
    /// At most one.
    #[cfg_attr(feature = "schema", schemars(with = "Vec<i64>"), ts(as = "Vec<i64>"))]
    pub zero_point: [i64; 1],
    /// Number of channels with a scale of their own.
    pub per_channel: Option<usize>,
}

/// A tensor between two operators, as indices into [`Report::operators`] and
/// [`Report::tensors`].
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema, ts_rs::TS),
    ts(rename = "Edge")
)]
#[non_exhaustive]
pub struct EdgeFacts {
    /// The operator that writes the tensor.
    pub src: usize,
    /// The operator that reads it.
    pub dst: usize,
    /// The tensor.
    pub tensor: usize,
}
