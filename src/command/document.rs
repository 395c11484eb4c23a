//! A report as its JSON says it: what a worker sends, and what `predict --json` printed another day.

use litecast::report::REPORT_VERSION;
use serde::Deserialize;

use litecast::report::Failure;

#[derive(Clone, Debug, Deserialize)]
pub struct Document {
    pub schema_version: u32,
    pub file: String,
    pub batch: u32,
    pub model: Model,
    pub results: Vec<TargetResult>,
    pub operators: Vec<Operator>,
    pub tensors: Vec<Tensor>,
    #[serde(default)]
    pub fits: Option<Fits>,
    pub diagnostics: Vec<Diagnostic>,
}

/// On which microcontroller boards the model has room.
#[derive(Clone, Debug, Deserialize)]
pub struct Fits {
    pub boards: Vec<OnBoard>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct OnBoard {
    /// `yes`, `close` or `no`.
    pub fits: String,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Model {
    pub file_bytes: u64,
    pub precision: String,
    pub n_operators: u64,
    pub macs: u64,
    pub parameters: u64,
    pub weight_bytes: u64,
    pub arena_bytes: Option<u64>,
    pub peak_operator: Option<usize>,
    pub inputs: Vec<usize>,
    pub outputs: Vec<usize>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct TargetResult {
    pub target: String,
    pub device: String,
    pub metric: String,
    #[serde(flatten)]
    pub outcome: Outcome,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Outcome {
    Estimate(Estimate),
    Unavailable {
        unavailable: String,
        #[serde(default)]
        reason: String,
    },
}

#[derive(Clone, Debug, Deserialize)]
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
}

#[derive(Clone, Debug, Deserialize)]
pub struct Operator {
    pub index: usize,
    pub name: String,
    pub outputs: Vec<usize>,
    pub macs: u64,
    pub weight_bytes: u64,
    pub live_bytes: Option<u64>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Tensor {
    #[serde(rename = "type")]
    pub tensor_type: String,
    pub shape: Vec<i32>,
}

#[derive(Clone, Debug, Deserialize)]
pub struct Diagnostic {
    pub severity: String,
    pub message: String,
    pub operator_idx: Option<usize>,
}

impl Document {
    /// Of the JSON of one report.
    pub fn parse(json: &str) -> Result<Self, Failure> {
        let wrong = |words: String| Failure::new("wrong-report", words);
        let document: Self = serde_json::from_str(json)
            .map_err(|error| wrong(format!("expected a report of litecast: {error}")))?;
        match document.schema_version {
            REPORT_VERSION => Ok(document),
            found => Err(wrong(format!(
                "expected a report of version {REPORT_VERSION}, found {found}"
            ))),
        }
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

    pub fn result(&self, target: &str, metric: &str) -> Option<&TargetResult> {
        let mut results = self.results.iter();
        results.find(|result| result.target == target && result.metric == metric)
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

impl TargetResult {
    pub fn estimate(&self) -> Option<&Estimate> {
        match &self.outcome {
            Outcome::Estimate(estimate) => Some(estimate),
            Outcome::Unavailable { .. } => None,
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
