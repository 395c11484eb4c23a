//! Readers of model files. No later stage depends on a file format.

pub(crate) mod builder;
pub mod distribution;
pub mod graph_json;
mod limits;
pub mod ncnn;
pub mod onnx;
pub mod tflite;
mod unmatched_dimensions;

pub use limits::max_operators;
pub use tflite::shown;
pub use unmatched_dimensions::UnmatchedDimensions;

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
    #[error(transparent)]
    Ncnn(#[from] ncnn::ParseError),
}

impl ReadError {
    /// Stable identifier for programs, kebab-case.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Tflite(error) => error.kind(),
            Self::GraphJson(error) => error.kind(),
            Self::Onnx(error) => error.kind(),
            Self::Ncnn(error) => error.kind(),
        }
    }
}

/// Whether a file's first bytes are those of a supported format.
pub fn is_model(file: &[u8]) -> bool {
    tflite::is_tflite(file)
        || onnx::is_onnx(file)
        || ncnn::is_ncnn(file)
        || graph_json::is_graph(file)
}

/// Reads a file of any supported format, which is recognised by its first bytes. `dimensions` are sizes that ONNX
/// and ncnn files may leave open.
///
/// # Errors
/// The errors of the format's reader. For a file of an unknown format, those of the TFLite reader, which say what the
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
    if ncnn::is_ncnn(file) {
        return Ok(ncnn::parse(file, dimensions)?);
    }
    if graph_json::is_graph(file) {
        let mut model = graph_json::parse(file)?;
        // Every size of a graph is stated.
        let names = dimensions.named.iter().map(|(name, _)| name.as_str());
        model.unmatched_dimensions = UnmatchedDimensions::new(names, std::iter::empty());
        return Ok(model);
    }
    Ok(tflite::parse(file)?)
}
