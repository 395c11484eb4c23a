//! What a tool measured, as data.

use std::collections::HashMap;

/// What a tool measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The tool in words.
    pub tool: &'static str,
    /// Operators in the order in which they ran.
    pub operators: Vec<MeasuredOperator>,
    /// Whole inferences.
    pub inferences: Vec<MeasuredInference>,
    /// Whether an accelerator ran the network or parts of it, as far as the tool names what ran them.
    pub is_of_accelerator: bool,
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

/// Parts of the names of what compiles a part of a network for an accelerator, in lower case: ONNX Runtime's execution
/// providers and TensorFlow Lite's delegates.
const ACCELERATORS: [&str; 6] = [
    "qnn",
    "rknpu",
    "tensorrt",
    "nnapi",
    "hexagon",
    "dispatchdelegate",
];

/// Whether a provider or a delegate is that of an accelerator.
pub(super) fn is_of_accelerator(name: &str) -> bool {
    let name = name.to_lowercase();
    ACCELERATORS.iter().any(|part| name.contains(part))
}

impl MeasuredOperator {
    /// Whether it is a part of the network that was compiled for an accelerator as a whole: any number of the model's operators.
    pub fn is_partition(&self) -> bool {
        is_of_accelerator(&self.kind)
    }
}

impl MeasuredInference {
    /// Whether its name is that of a model's file, with or without folder and extension.
    pub fn is_of(&self, file: &str) -> bool {
        stem(&self.name) == stem(file)
    }
}

impl Profile {
    /// Its inferences by the models that they name; `None` where it is of one model, whose name it does not tell.
    pub fn by_model(&self) -> Option<InferencesByModel<'_>> {
        let mut inferences = self.inferences.iter();
        let is_of_models =
            self.operators.is_empty() && inferences.any(|inference| !inference.name.is_empty());
        is_of_models.then(|| InferencesByModel::new(self))
    }
}

/// Whole inferences of many models, each of which is found without a look at those of others.
pub struct InferencesByModel<'p> {
    profile: &'p Profile,
    /// The last of each name, by what is compared of it.
    last_by_stem: HashMap<String, usize>,
    last_unnamed: Option<usize>,
}

impl<'p> InferencesByModel<'p> {
    fn new(profile: &'p Profile) -> Self {
        let mut last_by_stem = HashMap::new();
        let mut last_unnamed = None;
        for (idx, inference) in profile.inferences.iter().enumerate() {
            if inference.name.is_empty() {
                last_unnamed = Some(idx);
            } else {
                last_by_stem.insert(stem(&inference.name), idx);
            }
        }
        Self {
            profile,
            last_by_stem,
            last_unnamed,
        }
    }

    /// The last inference of the model of this file, as a profile of its own.
    pub fn of_model(&self, file: &str) -> Option<Profile> {
        let named = *self.last_by_stem.get(&stem(file))?;
        let inference = &self.profile.inferences[self.last_unnamed.unwrap_or(0).max(named)];
        Some(Profile {
            tool: self.profile.tool,
            inferences: vec![inference.clone()],
            ..Profile::default()
        })
    }
}

/// Ends of the names of models' files.
const EXTENSIONS: [&str; 7] = [
    ".tflite", ".lite", ".onnx", ".json", ".mnn", ".param", ".pte",
];

/// What is compared of a model's name: without folder and ending, and as converters write it, of which ncnn's puts an underscore
/// in the place of a hyphen and adds an ending of its own.
fn stem(path: &str) -> String {
    let name = path
        .rsplit(['/', '\\'])
        .next()
        .unwrap_or_default()
        .to_lowercase();
    let mut ends = EXTENSIONS.iter();
    let stem = ends.find_map(|end| name.strip_suffix(end));
    let stem = stem.unwrap_or(&name);
    let stem = stem.strip_suffix(".ncnn").unwrap_or(stem);
    stem.replace('-', "_")
}
