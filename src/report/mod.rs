//! What a person or a program reads: the same document for the page, the npm package and the
//! command. The only types of this crate that are written out as JSON, besides the manifest.

mod facts;
mod results;

use serde::Serialize;

pub(crate) use facts::{edges, model_facts, operators, tensors};
pub(crate) use results::{other_subgraphs, results};

use crate::diagnostic::Diagnostic;
use crate::formats::tflite::BuiltinOptions;
use crate::graph::analysis::Precision;
use crate::targets::{Metric, Outcome};

/// Raised when a field changes its meaning or goes away; new fields do not raise it.
pub const REPORT_VERSION: u32 = 1;

/// Everything there is to say about one file.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    pub schema_version: u32,
    /// Name of the file, as the caller gave it.
    pub file: String,
    /// Inputs at a time that were asked for; 1 for the file as it is.
    pub batch: u32,
    pub model: ModelFacts,
    /// One for each target and metric.
    pub results: Vec<TargetResult>,
    /// Operators of the main subgraph in topological order.
    pub operators: Vec<OperatorFacts>,
    /// Tensors of the main subgraph by index.
    pub tensors: Vec<TensorFacts>,
    pub edges: Vec<EdgeFacts>,
    pub diagnostics: Vec<Diagnostic>,
}

/// Exact facts of the whole model.
#[derive(Clone, Debug, Serialize)]
pub struct ModelFacts {
    pub file_bytes: usize,
    /// Version of the TFLite schema, 3.
    pub schema_version: u32,
    pub description: String,
    pub precision: Precision,
    pub n_subgraphs: usize,
    pub n_operators: usize,
    pub n_tensors: usize,
    pub macs: u64,
    pub parameters: u64,
    pub weight_bytes: u64,
    /// Absent where a shape is known only at run time.
    pub arena_bytes: Option<u64>,
    /// Index into [`Report::operators`] at which the most activation bytes are alive.
    pub peak_operator: Option<usize>,
    pub inputs: Vec<usize>,
    pub outputs: Vec<usize>,
    pub signatures: Vec<String>,
    pub subgraphs: Vec<SubgraphFacts>,
}

#[derive(Clone, Debug, Serialize)]
pub struct SubgraphFacts {
    pub name: String,
    pub n_operators: usize,
    pub n_tensors: usize,
}

/// One metric on one target.
#[derive(Clone, Debug, Serialize)]
pub struct TargetResult {
    pub target: String,
    /// The target in words.
    pub device: String,
    pub metric: Metric,
    #[serde(flatten)]
    pub outcome: Outcome,
}

#[derive(Clone, Debug, Serialize)]
pub struct OperatorFacts {
    /// Position in topological order.
    pub index: usize,
    /// Position in the file.
    pub operator_idx: usize,
    /// `BuiltinOperator` name, or the custom operator's own.
    pub name: String,
    pub custom: bool,
    pub inputs: Vec<Option<usize>>,
    pub outputs: Vec<usize>,
    pub macs: u64,
    pub parameters: u64,
    pub weight_bytes: u64,
    pub input_bytes: u64,
    pub output_bytes: u64,
    /// Activation bytes alive while it runs.
    pub live_bytes: Option<u64>,
    /// Builtin options by their names in the schema, or null.
    pub attributes: BuiltinOptions,
}

#[derive(Clone, Debug, Serialize)]
pub struct TensorFacts {
    pub index: usize,
    pub name: String,
    #[serde(rename = "type")]
    pub tensor_type: String,
    pub shape: Vec<i32>,
    pub shape_signature: Option<Vec<i32>>,
    /// Bytes of its contents; absent for strings and resources.
    pub bytes: Option<u64>,
    pub constant: bool,
    pub variable: bool,
    pub quantization: Option<QuantizationFacts>,
}

/// The first scale and zero point (at most one of each), and how many channels have their own.
#[derive(Clone, Debug, Serialize)]
pub struct QuantizationFacts {
    pub scale: Vec<f32>,
    pub zero_point: Vec<i64>,
    /// Number of channels with a scale of their own.
    pub per_channel: Option<usize>,
}

/// A tensor between two operators, as indices into [`Report::operators`] and
/// [`Report::tensors`].
#[derive(Clone, Copy, Debug, Serialize)]
pub struct EdgeFacts {
    pub src: usize,
    pub dst: usize,
    pub tensor: usize,
}
