//! What a tool measured, as data.

use std::borrow::Cow;
use std::collections::HashMap;

/// What a tool measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Profile {
    /// The tool in words.
    pub tool: &'static str,
    /// The tool's version; empty where it prints none.
    pub tool_version: String,
    /// Operators in the order in which they ran, or in another one.
    pub operators: Vec<MeasuredOperator>,
    /// Whether the order is another one.
    pub is_sorted: bool,
    /// Whole inferences.
    pub inferences: Vec<MeasuredInference>,
    /// Whether an accelerator ran the network or parts of it, as far as the tool names what ran them.
    pub is_of_accelerator: bool,
    /// Lines of a table that have no duration, as `line 7: …`; at most twenty.
    pub unread: Vec<String>,
}

/// Of the sum of all operators of a kind.
pub const ALL_OF_KIND: usize = usize::MAX;

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
    /// Operators of one inference that it is the sum of: at least 1, [`ALL_OF_KIND`], or 0 where the tool does not tell.
    pub n_calls: usize,
    /// In ms; 0 where it is shorter than what a tool prints that prints all operators.
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

/// What a person wrote, in the words of devices.
pub(super) const A_TABLE: &str = "a table";

pub(super) fn median(values: &mut [f64]) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let upper = values.get(values.len() / 2).copied().unwrap_or_default();
    let lower = values
        .get(values.len().saturating_sub(1) / 2)
        .copied()
        .unwrap_or_default();
    (lower + upper) / 2.0
}

/// Whether a kind is that of a part of a network that a delegate of TensorFlow Lite runs as a whole.
pub(super) fn is_delegate(kind: &str) -> bool {
    kind.to_lowercase().contains("delegate")
}

impl MeasuredOperator {
    /// Whether it is a part of the network that was run as a whole: any number of the model's operators.
    pub fn is_partition(&self) -> bool {
        is_of_accelerator(&self.kind) || is_delegate(&self.kind)
    }
}

impl MeasuredInference {
    /// Whether its name is that of a model's file, with or without folder and extension.
    pub fn is_of(&self, file: &str) -> bool {
        stem(&self.name) == stem(file)
    }
}

impl Profile {
    /// The same of one run, in the medians of them, where a tool printed the operators of several runs one after the other.
    /// The first operator of the next run is told by its name or, where a tool prints no names, by the number of operators that
    /// the network has.
    pub fn of_one_run(&self, n_operators: usize) -> Cow<'_, Self> {
        let all = &*self.operators;
        let is_same = |a: &MeasuredOperator, b: &MeasuredOperator| {
            (&a.kind, &a.name, a.operator_idx) == (&b.kind, &b.name, b.operator_idx)
        };
        let n_of_run = match all {
            [first, rest @ ..] if !first.name.is_empty() => {
                let next = rest.iter().position(|one| is_same(one, first));
                next.map_or(all.len(), |idx| idx + 1)
            }
            _ => n_operators.max(1),
        };
        let is_run = n_of_run < all.len()
            && (n_of_run..all.len()).all(|idx| is_same(&all[idx], &all[idx - n_of_run]));
        if self.tool == A_TABLE || !is_run {
            return Cow::Borrowed(self);
        }
        let mut profile = self.clone();
        profile.operators.truncate(n_of_run);
        for (idx, operator) in profile.operators.iter_mut().enumerate() {
            let of_runs = all[idx..].iter().step_by(n_of_run);
            let mut durations_ms: Vec<f64> = of_runs.map(|one| one.duration_ms).collect();
            operator.duration_ms = median(&mut durations_ms);
        }
        Cow::Owned(profile)
    }

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
            tool_version: self.profile.tool_version.clone(),
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
