//! What a tool measured, as data.

/// What a tool measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The tool in words.
    pub tool: &'static str,
    /// Operators in the order in which they ran.
    pub operators: Vec<MeasuredOperator>,
    /// Whole inferences.
    pub inferences: Vec<MeasuredInference>,
    /// Lines of a table that have no duration, as `line 7: …`; at most twenty.
    pub unread: Vec<String>,
}

/// One operator of one inference.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MeasuredOperator {
    /// Name of the operator or of its output; empty where the tool prints none.
    pub name: String,
    /// What it computes, in the tool's words; empty where the tool prints none.
    pub kind: String,
    /// Sizes of its first output; empty where the tool prints none.
    pub output_shape: Vec<u32>,
    /// Its position in the file of the model, where the tool prints it.
    pub operator_idx: Option<usize>,
    /// In ms.
    pub duration_ms: f64,
}

/// One inference of a whole network.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredInference {
    /// Name of the model; empty where the tool prints none.
    pub name: String,
    /// In ms.
    pub duration_ms: f64,
}

impl MeasuredInference {
    /// Whether its name is that of a model's file, with or without folder and extension.
    pub fn is_of(&self, file: &str) -> bool {
        stem(&self.name) == stem(file)
    }
}

impl Profile {
    /// Whether it has a whole inference under the name of this model's file.
    pub fn names(&self, file: &str) -> bool {
        self.inferences
            .iter()
            .any(|inference| inference.is_of(file))
    }
}

/// Ends of the names of models' files.
const EXTENSIONS: [&str; 7] = [
    ".tflite", ".lite", ".onnx", ".json", ".mnn", ".param", ".pte",
];

fn stem(path: &str) -> String {
    let name = path
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let mut ends = EXTENSIONS.iter();
    let stem = ends
        .find_map(|end| name.strip_suffix(end))
        .map(str::to_owned);
    stem.unwrap_or(name)
}
