//! The learned predictor: [`Features`] → one number for each target and metric. The only file that
//! names tract.

use tract_onnx::prelude::*;

use crate::features::{self, Features, N_COLUMNS};
use crate::manifest::{FORMAT_VERSION, Manifest};

/// A trained network, ready to run, with what it says of itself.
pub struct Predictor {
    network: Arc<TypedRunnableModel>,
    manifest: Manifest,
}

/// What a network says of one graph.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimates {
    /// One for each output.
    pub graph: Vec<f32>,
    /// Row-major `[n_nodes, n_outputs]`: each operator's part. Absent where the network estimates
    /// whole graphs only.
    pub operators: Option<Vec<f32>>,
}

impl Estimates {
    /// The parts of one output, by node.
    pub fn operators_of(&self, output_idx: usize) -> Option<Vec<f64>> {
        let values = self.operators.as_ref()?.iter().skip(output_idx);
        let parts = values.step_by(self.graph.len().max(1));
        Some(parts.map(|&value| f64::from(value)).collect())
    }
}

/// A bundle that cannot be used, or a network that failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PredictorError {
    #[error("predictor manifest: {0}")]
    Manifest(#[from] serde_json::Error),
    #[error("predictor manifest: expected format version {FORMAT_VERSION}, found {found}")]
    FormatVersion { found: u32 },
    #[error("predictor bundle: expected feature schema {expected}, found {found}")]
    FeatureSchema { expected: String, found: String },
    #[error("predictor network: {0:#}")]
    Network(TractError),
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
    pub fn load(onnx: &[u8], manifest_json: &str) -> Result<Self, PredictorError> {
        let manifest: Manifest = serde_json::from_str(manifest_json)?;
        if manifest.format_version != FORMAT_VERSION {
            let found = manifest.format_version;
            return Err(PredictorError::FormatVersion { found });
        }
        let expected = features::schema_id();
        if manifest.feature_schema_id != expected {
            let found = manifest.feature_schema_id;
            return Err(PredictorError::FeatureSchema { expected, found });
        }
        let network = runnable(onnx).map_err(PredictorError::Network)?;
        Ok(Self { network, manifest })
    }

    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// Estimates in the order and units of the manifest's outputs.
    ///
    /// A graph without nodes has no estimate: the result is empty. Linear in nodes and edges.
    pub fn predict(&self, features: &Features) -> Result<Estimates, PredictorError> {
        let n_nodes = features.n_nodes();
        if n_nodes == 0 {
            return Ok(Estimates::default());
        }
        let mut outputs = self
            .run(features)
            .map_err(PredictorError::Network)?
            .into_iter();
        let mut take = |n_values: usize| {
            let values = outputs.next()?;
            Some(match values.len() {
                found if found == n_values => Ok(values),
                found => Err(PredictorError::Outputs {
                    expected: n_values,
                    found,
                }),
            })
        };
        let n_outputs = self.manifest.outputs.len();
        Ok(Estimates {
            graph: take(n_outputs).transpose()?.unwrap_or_default(),
            operators: take(n_nodes * n_outputs).transpose()?,
        })
    }

    fn run(&self, features: &Features) -> TractResult<Vec<Vec<f32>>> {
        let n_nodes = features.n_nodes();
        let index = |&builtin: &i32| self.manifest.category_index(builtin);
        let category: Vec<i64> = features.categories.iter().map(index).collect();
        let inputs = tvec![
            Tensor::from_shape(&[n_nodes, N_COLUMNS], &features.nodes)?.into_tvalue(),
            tensor1(&category).into_tvalue(),
            tensor1(&indices(&features.edge_src)).into_tvalue(),
            tensor1(&indices(&features.edge_dst)).into_tvalue(),
        ];
        let values = |output: &TValue| -> TractResult<Vec<f32>> {
            Ok(output
                .to_plain_array_view::<f32>()?
                .iter()
                .copied()
                .collect())
        };
        self.network.run(inputs)?.iter().map(values).collect()
    }
}

fn indices(ends: &[u32]) -> Vec<i64> {
    ends.iter().map(|&end| i64::from(end)).collect()
}

fn runnable(onnx: &[u8]) -> TractResult<Arc<TypedRunnableModel>> {
    let model = tract_onnx::onnx().model_for_read(&mut &*onnx)?;
    model.into_optimized()?.into_runnable()
}
