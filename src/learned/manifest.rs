//! The contents of `manifest.json` beside `predictor.onnx`. The trainer writes it and the predictor reads it; both use
//! this type, so that neither can misread the other.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::learned::intervals::{Interval, Landmarks};
use crate::provenance::{ErrorSummary, Provenance};

/// Raised whenever a field changes its meaning; a reader refuses any other number.
pub const FORMAT_VERSION: u32 = 3;

/// The symbol for the number of nodes in the ONNX file.
pub const N_NODES: &str = "n_nodes";

/// Names of the exported network's inputs and outputs in the ONNX file. The graphs of a run form one graph with
/// separate parts, so node indices continue from one graph to the next.
pub mod tensor_names {
    /// f32 `[n_nodes, n_columns]`, raw features of [`crate::learned::features`].
    pub const NODE_FEATURES: &str = "node_features";
    /// i64 `[n_nodes]`, from [`super::Manifest::category_index`].
    pub const CATEGORY: &str = "category";
    /// i64 `[n_edges]`, node index of each edge's writer.
    pub const EDGE_SRC: &str = "edge_src";
    /// i64 `[n_edges]`, node index of each edge's reader.
    pub const EDGE_DST: &str = "edge_dst";
    /// i64 `[n_groups]`, category of the nodes of each group, from [`super::Manifest::category_index`].
    pub const GROUP_CATEGORY: &str = "group_category";
    /// i64 `[n_groups, group_size]`, node indices. Each node is in one group of its category, and may be repeated to
    /// fill the group.
    pub const GROUP_NODES: &str = "group_nodes";
    /// i64 `[n_nodes]`, flat (row-major) index of each node in [`GROUP_NODES`].
    pub const PLACE_OF_NODE: &str = "place_of_node";
    /// i64 `[n_nodes]`, index of the graph that each node belongs to, ascending.
    pub const GRAPH_OF_NODE: &str = "graph_of_node";
    /// i64 `[n_graphs]`, node index of each graph's first node.
    pub const FIRST_NODE: &str = "first_node";
    /// f32 `[n_graphs, n_outputs]`, natural units, in the order of [`super::Manifest::outputs`].
    pub const ESTIMATES: &str = "estimates";
    /// f32 `[n_nodes, n_outputs]`, natural units: each operator's part of the estimates. The second
    /// output, absent where a network estimates whole graphs only.
    pub const OPERATOR_ESTIMATES: &str = "operator_estimates";
}

/// The trained bundle's description.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub format_version: u32,
    /// Must equal the featurizer's own id; otherwise the columns have a different meaning.
    pub feature_schema_id: String,
    /// `BuiltinOperator` number of each category index; entry 0 is -1 and means any other operator.
    pub categories: Vec<i32>,
    /// Name of each category, for people.
    pub operator_names: Vec<String>,
    /// What each column of the network's output estimates.
    pub outputs: Vec<Output>,
    pub training: Training,
    /// Errors on held-out graphs, measured with the shipped weights.
    pub errors: Vec<OutputError>,
    /// Smallest and largest value of each feature column over the training graphs.
    pub feature_ranges: Vec<FeatureRange>,
    /// A selection of training graphs, to measure how far a graph is from the training set.
    pub landmarks: Landmarks,
    /// One interval for each calibrated output.
    pub intervals: Vec<Interval>,
}

impl Manifest {
    /// The category index of a `BuiltinOperator` number; 0 if it did not occur in training.
    pub fn category_index(&self, builtin_code: i32) -> i64 {
        let known = self.categories.iter().skip(1);
        known
            .zip(1..)
            .find(|(code, _)| **code == builtin_code)
            .map_or(0, |(_, index)| index)
    }

    /// Column of the network's estimates.
    pub fn output_idx(&self, target: &str, metric: &str) -> Option<usize> {
        let is_it = |output: &Output| output.target == target && output.metric == metric;
        self.outputs.iter().position(is_it)
    }
}

/// Value of [`OutputError::space`] for all spaces together.
pub const ALL: &str = "all";

/// Value of [`OutputError::space`] for all spaces except those of random operators.
pub const NETWORKS: &str = "networks";

/// Value of [`OutputError::space`] for the four design spaces of PerfSAGE §3.2 together.
pub const PERFSAGE_SPACES: &str = "perfsage-spaces";

/// One estimate: what it is and where its labels come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Output {
    pub target: String,
    /// The hardware in words.
    pub device: String,
    pub metric: String,
    pub unit: String,
    pub provenance: Provenance,
}

/// How the bundle was trained.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Training {
    /// The trainer's settings by name, as its command line takes them.
    pub settings: BTreeMap<String, String>,
    pub seed: u64,
    /// Number of graphs for training, early stopping and testing, by design space.
    pub n_graphs: Vec<SpaceCount>,
    /// The command that remakes the bundle.
    pub command: String,
    pub wall_time_s: f64,
    /// The data and the code of the training; absent in a bundle whose training did not record them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_from: Option<MadeFrom>,
}

/// Hashes and commit of the data and the code that a network was made from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeFrom {
    /// SHA-256 of the dataset's files, one after the other: graphs, operators, labels.
    pub dataset_sha256: String,
    /// SHA-256 of the features and labels of the training graphs, as the network learns them.
    pub training_sha256: String,
    /// SHA-256 of the code that makes features.
    pub featurizer_sha256: String,
    /// Commit of the working tree, with `-dirty` if files differed from it; absent outside of a repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// Graphs of one design space on each side of the split.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpaceCount {
    pub space: String,
    pub training: usize,
    pub validation: usize,
    pub test: usize,
}

/// Error of one output on the held-out graphs of one design space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputError {
    pub target: String,
    pub metric: String,
    /// A design space, [`PERFSAGE_SPACES`], [`NETWORKS`] or [`ALL`].
    pub space: String,
    #[serde(flatten)]
    pub error: ErrorSummary,
}

/// Range of one feature column over the training graphs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FeatureRange {
    pub column: String,
    pub min: f32,
    pub max: f32,
}
