//! What a sampled network is written as.

use serde::{Deserialize, Serialize};

use crate::writer::Precision;

/// What a sampled network is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct SampleForm {
    /// Type of its weights and activations.
    #[serde(default, skip_serializing_if = "Precision::is_int8")]
    pub precision: Precision,
    /// Batch size.
    #[serde(default = "batch_of_one", skip_serializing_if = "is_one")]
    pub batch: u32,
    /// What its weights are like.
    #[serde(default, skip_serializing_if = "Weights::are_drawn")]
    pub weights: Weights,
}

/// What the weights of samples are like.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    clap::ValueEnum,
    Serialize,
    Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Weights {
    /// Of a distribution that is drawn for each network: uniform, bell-shaped, sparse or clustered.
    #[default]
    Drawn,
    /// Uniform, as Keras draws weights before any training and as PerfSAGE's networks have them.
    Initial,
}

impl Weights {
    /// Whether each network has a distribution of its own.
    pub fn are_drawn(&self) -> bool {
        *self == Self::Drawn
    }
}

impl Default for SampleForm {
    fn default() -> Self {
        Self {
            precision: Precision::Int8,
            batch: 1,
            weights: Weights::Drawn,
        }
    }
}

/// Precedes the batch size in names.
const BATCH: &str = "batch";
/// Stands for initial weights in names.
const INITIAL: &str = "initial";

fn batch_of_one() -> u32 {
    1
}

fn is_one(batch: &u32) -> bool {
    *batch == 1
}

impl SampleForm {
    /// What names of files and ids of graphs end in, part by part: `float32` where the precision is not int8, `batch4`
    /// for several inputs at a time, `initial` for weights before any training.
    pub fn name_parts(&self) -> impl Iterator<Item = String> {
        let precision = (!self.precision.is_int8()).then(|| self.precision.to_string());
        let batch = (self.batch != 1).then(|| format!("{BATCH}{}", self.batch));
        let weights = (!self.weights.are_drawn()).then(|| INITIAL.to_owned());
        [precision, batch, weights].into_iter().flatten()
    }

    /// The form whose [`Self::name_parts`] are among these. Others are ignored.
    pub fn of_name_parts<'p>(parts: impl Iterator<Item = &'p str>) -> Self {
        let mut form = Self::default();
        for part in parts {
            if let Ok(precision) = part.parse() {
                form.precision = precision;
            } else if let Some(batch) = part.strip_prefix(BATCH).and_then(|n| n.parse().ok()) {
                form.batch = batch;
            } else if part == INITIAL {
                form.weights = Weights::Initial;
            }
        }
        form
    }
}
