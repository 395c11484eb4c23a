//! The learned predictor: [`Features`] → one number for each target and metric.

use std::sync::OnceLock;

#[cfg(feature = "tract")]
use sha2::{Digest, Sha256};

#[cfg(feature = "tract")]
use crate::fields;
use crate::learned::batch::Batch;
use crate::learned::features::Features;
use crate::learned::manifest::{FORMAT_VERSION, Manifest};
use crate::learned::network::{NetworkError, PredictorNetwork};

/// Number of hash bytes that identify a bundle.
#[cfg(feature = "tract")]
const ID_BYTES: usize = 8;

/// A trained network and its manifest. Without the feature `tract` this type has no values.
pub struct Predictor {
    network: PredictorNetwork,
    manifest: OnceLock<Manifest>,
    /// Source of `manifest`, which is parsed on first use; empty if it was parsed already.
    manifest_json: String,
    /// Named where a predictor is made alone, so that a module that makes none contains nothing of it.
    read_manifest: fn(&str) -> Result<Manifest, PredictorError>,
    id: String,
}

/// A network's estimates of one graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimates {
    /// One for each output.
    pub graph: Vec<f32>,
}

/// A bundle that cannot be used, or a network that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictorError {
    /// The manifest is not JSON of the expected form.
    #[error("predictor manifest: {0}")]
    Manifest(#[from] serde_json::Error),
    /// The manifest is of another version of its format.
    #[error("predictor manifest: expected format version {FORMAT_VERSION}, found {found}")]
    FormatVersion { found: u32 },
    /// The network was trained on other features than this version computes.
    #[error("predictor bundle: expected feature schema {expected}, found {found}")]
    FeatureSchema { expected: String, found: String },
    /// The network cannot be loaded, or its run failed.
    #[error("predictor network: {0}")]
    Network(#[from] NetworkError),
    /// The network does not have the outputs that its manifest declares.
    #[error("predictor network: expected {expected} values, found {found}")]
    Outputs { expected: usize, found: usize },
}

impl PredictorError {
    /// Stable identifier for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Manifest(_) | Self::FormatVersion { .. } => "predictor-manifest",
            Self::FeatureSchema { .. } => "predictor-feature-schema",
            Self::Network(_) | Self::Outputs { .. } => "predictor-network",
        }
    }
}

impl Predictor {
    /// Reads the network (`predictor.onnx`) and its manifest (`manifest.json`), as the trainer
    /// exported them, and prepares the network to run.
    #[cfg(feature = "tract")]
    pub fn load(onnx: &[u8], manifest_json: &str) -> Result<Self, PredictorError> {
        let manifest = read_manifest(manifest_json)?;
        let network = PredictorNetwork::load(onnx)?;
        let hash = Sha256::new()
            .chain_update(onnx)
            .chain_update(manifest_json)
            .finalize();
        let digits = hash.iter().take(ID_BYTES).map(|byte| format!("{byte:02x}"));
        let id = digits.collect();
        Ok(Self {
            network,
            manifest: manifest.into(),
            manifest_json: String::new(),
            read_manifest,
            id,
        })
    }

    /// A bundle that [`Predictor::load`] accepted before, with the [`Predictor::id`] that it had. Nothing is checked or
    /// hashed, and both files are read when a graph first needs the network, because many graphs never do.
    #[cfg(feature = "tract")]
    pub fn from_checked(onnx: Vec<u8>, manifest_json: String, id: String) -> Self {
        Self {
            network: PredictorNetwork::from_checked(onnx),
            manifest: OnceLock::new(),
            manifest_json,
            read_manifest,
            id,
        }
    }

    /// Identifies the trained bundle: 16 hexadecimal digits of a SHA-256 over network and manifest.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The predictor that comes with this version, as the trainer exported it.
    #[cfg(all(feature = "bundle", feature = "tract"))]
    pub fn shipped() -> Result<Self, PredictorError> {
        let network = include_bytes!("../../bundle/predictor.onnx");
        let manifest = include_str!("../../bundle/manifest.json");
        Self::load(network, manifest)
    }

    /// The trainer's description of the network: outputs, errors, intervals, training.
    ///
    /// # Errors
    /// If a bundle that counts as checked is damaged.
    pub fn manifest(&self) -> Result<&Manifest, PredictorError> {
        if let Some(manifest) = self.manifest.get() {
            return Ok(manifest);
        }
        let manifest = (self.read_manifest)(&self.manifest_json)?;
        Ok(self.manifest.get_or_init(|| manifest))
    }

    /// Estimates in the order and units of the manifest's outputs.
    ///
    /// A graph without nodes has no estimate: the result is empty. Linear in nodes and edges.
    pub fn predict(&self, features: &Features) -> Result<Estimates, PredictorError> {
        let mut estimates = self.predict_many(&[features])?;
        Ok(estimates.pop().unwrap_or_default())
    }

    /// [`Predictor::predict`] for each graph. This takes less time if graphs are small, because several share a run of
    /// the network.
    pub fn predict_many(&self, graphs: &[&Features]) -> Result<Vec<Estimates>, PredictorError> {
        let mut estimates = Vec::with_capacity(graphs.len());
        let mut pending = graphs;
        while !pending.is_empty() {
            let (of_a_run, rest) = pending.split_at(n_graphs_in_run(pending));
            estimates.extend(self.run(of_a_run)?);
            pending = rest;
        }
        Ok(estimates)
    }

    /// One run of the network.
    fn run(&self, graphs: &[&Features]) -> Result<Vec<Estimates>, PredictorError> {
        let with_nodes: Vec<&Features> = graphs.iter().copied().filter(has_nodes).collect();
        if with_nodes.is_empty() {
            return Ok(vec![Estimates::default(); graphs.len()]);
        }
        let manifest = self.manifest()?;
        let batch = Batch::new(&with_nodes, |builtin| manifest.category_index(builtin));
        let n_outputs = manifest.outputs.len();
        let mut outputs = self.network.run(&batch)?.into_iter();
        let mut take = |n_rows: usize| {
            let values = outputs.next()?;
            Some(match values.len() {
                found if found == n_rows * n_outputs => Ok(values),
                found => Err(PredictorError::Outputs {
                    expected: n_rows * n_outputs,
                    found,
                }),
            })
        };
        let of_graphs = take(batch.n_graphs()).transpose()?.unwrap_or_default();
        // Where the network has them, the parts of operators.
        take(batch.n_nodes()).transpose()?;
        let mut rows = of_graphs.chunks_exact(n_outputs.max(1));
        let estimates = |graph: &&Features| match has_nodes(graph) {
            true => Estimates {
                graph: rows.next().unwrap_or_default().to_vec(),
            },
            false => Estimates::default(),
        };
        Ok(graphs.iter().map(estimates).collect())
    }
}

#[cfg(feature = "tract")]
fn read_manifest(json: &str) -> Result<Manifest, PredictorError> {
    let manifest: Manifest = fields::from_json(json.as_bytes())?;
    if manifest.format_version != FORMAT_VERSION {
        let version = manifest.format_version;
        return Err(PredictorError::FormatVersion { found: version });
    }
    let expected = crate::learned::features::schema_id();
    if manifest.feature_schema_id != expected {
        let schema_id = manifest.feature_schema_id;
        return Err(PredictorError::FeatureSchema {
            expected,
            found: schema_id,
        });
    }
    Ok(manifest)
}

/// Maximum number of nodes of one run: large enough that the fixed cost of a run is small, and small enough that the
/// rows of a layer stay in a core's cache.
const MAX_NODES: usize = 640;

/// Number of graphs at the start of `graphs` that share a run: as many as fit, and at least one.
fn n_graphs_in_run(graphs: &[&Features]) -> usize {
    let mut n_nodes = 0;
    let fits = |graph: &&&Features| {
        n_nodes += graph.n_nodes();
        n_nodes <= MAX_NODES
    };
    graphs.iter().take_while(fits).count().max(1)
}

fn has_nodes(graph: &&Features) -> bool {
    graph.n_nodes() > 0
}
