//! Readers of model files. Nothing after them knows a file format.

pub(crate) mod builder;
pub mod distribution;
pub mod graph_json;
pub mod onnx;
pub mod tflite;

pub use tflite::shown;

/// Operators of any file, however short.
const MIN_ALLOWED_OPERATORS: usize = 16_384;
/// Bytes that an operator takes in a file at least, beyond so many: one with names, shapes and a tensor of its own takes
/// 150 and more, one that shares all of them with others takes 16, so that a file of 2 MB could ask for the memory of a
/// file of 20.
const MIN_BYTES_PER_OPERATOR: usize = 100;

/// Operators that a file of so many bytes may have or become.
pub fn max_operators(file_bytes: usize) -> usize {
    MIN_ALLOWED_OPERATORS.saturating_add(file_bytes / MIN_BYTES_PER_OPERATOR)
}

/// Why a file cannot be read, whichever format it has.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    #[error(transparent)]
    Tflite(#[from] tflite::ParseError),
    #[error(transparent)]
    GraphJson(#[from] graph_json::ParseError),
    #[error(transparent)]
    Onnx(#[from] onnx::ParseError),
}

impl ReadError {
    /// Stable identifier for programs, kebab-case.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Tflite(error) => error.kind(),
            Self::GraphJson(error) => error.kind(),
            Self::Onnx(error) => error.kind(),
        }
    }
}

/// Reads a file of any format that there is a reader for, told by its first bytes. `dimensions` are sizes that
/// ONNX files may leave open.
///
/// # Errors
/// Those of the format's reader; of a file of no format known here, those of TFLite's, which say what the
/// file seems to be.
pub fn read<'f>(
    file: &'f [u8],
    dimensions: &onnx::Dimensions,
) -> Result<tflite::Model<'f>, ReadError> {
    if tflite::is_tflite(file) {
        return Ok(tflite::parse(file)?);
    }
    if onnx::is_onnx(file) {
        return Ok(onnx::parse(file, dimensions)?);
    }
    if graph_json::is_graph(file) {
        return Ok(graph_json::parse(file)?);
    }
    Ok(tflite::parse(file)?)
}
