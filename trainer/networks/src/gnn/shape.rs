//! The architecture of a network, and its sizes.

use serde::{Deserialize, Serialize};

/// The architecture of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Architecture {
    /// PerfSAGE as its paper has it (§4): one estimate for the whole graph.
    Perfsage,
    /// An estimate for every operator, added up.
    PerOperator,
    /// DIPPM's GraphSAGE with features of the whole graph.
    Dippm,
    /// NNLP's, which is shallower and sees neighbours on either side.
    Nnlp,
    /// PerfSeer's, with features of nodes, edges and the whole graph.
    Seernet,
    /// BRP-NAS's graph convolutions over operator kinds alone.
    Eagle,
}

impl Architecture {
    /// Its name on the command line.
    pub fn id(self) -> &'static str {
        match self {
            Self::Perfsage => "perfsage",
            Self::PerOperator => "per-operator",
            Self::Dippm => "dippm",
            Self::Nnlp => "nnlp",
            Self::Seernet => "seernet",
            Self::Eagle => "eagle",
        }
    }
}

/// Sizes of a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    /// Kind of network.
    pub architecture: Architecture,
    /// Number of feature columns.
    pub n_columns: usize,
    /// Number of operator categories.
    pub n_categories: usize,
    /// First layers: one for each category, or one for all.
    pub n_encoders: usize,
    /// Number of outputs.
    pub n_outputs: usize,
    /// Width of the embedding of a category.
    pub embedding: usize,
    /// Width of hidden layers.
    pub hidden: usize,
    /// Width of the layers after the readout, if there are any.
    pub head: usize,
    /// Blocks of `seernet`.
    pub blocks: usize,
}
