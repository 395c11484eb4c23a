//! Why a file has no report.

use crate::formats::{ReadError, UnmatchedDimensions, ncnn, onnx};
use crate::graph::CycleError;
use crate::graph::shapes::batch_size::BatchError;
use crate::graph::shapes::inference::InputSizeError;
use crate::learned::predictor::PredictorError;
use crate::model_variants::ChangeError;
use crate::report::Failure;

/// Why a file has no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EstimateError {
    /// The bytes are not a model that can be read.
    #[error(transparent)]
    Parse(#[from] ReadError),
    /// The model cannot have the batch size that was asked for.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The model cannot be changed as was asked for.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// An input of a TFLite file cannot have the size that was asked for.
    #[error(transparent)]
    InputSize(#[from] InputSizeError),
    /// Sizes were given for dimensions that the file does not leave open.
    #[error(transparent)]
    UnmatchedDimensions(#[from] UnmatchedDimensions),
    /// The operators form a cycle of dependencies.
    #[error(transparent)]
    Cycle(#[from] CycleError),
    /// The trained network failed.
    #[error(transparent)]
    Predictor(#[from] PredictorError),
}

impl EstimateError {
    /// Stable kebab-case identifier for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Parse(error) => error.kind(),
            Self::Batch(_) => "batch",
            Self::InputSize(error) => error.kind(),
            Self::UnmatchedDimensions(_) => "unmatched-dimension",
            Self::Change(error) => error.kind(),
            Self::Cycle(_) => "cycle",
            Self::Predictor(error) => error.kind(),
        }
    }

    /// Names of the dimensions that the file leaves open and [`Request::dimensions`](super::Request::dimensions) has no size for, of the kind
    /// `unknown-dimension`; empty for all others.
    pub fn unknown_dimensions(&self) -> &[String] {
        match self {
            Self::Parse(
                ReadError::Onnx(onnx::ParseError::UnknownDimension { names, .. })
                | ReadError::Ncnn(ncnn::ParseError::Network(onnx::ParseError::UnknownDimension {
                    names,
                    ..
                })),
            ) => names,
            _ => &[],
        }
    }
}

impl From<&EstimateError> for Failure {
    fn from(error: &EstimateError) -> Self {
        Self::new(error.kind(), error.to_string())
    }
}
