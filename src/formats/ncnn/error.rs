//! Why an ncnn file cannot be read.

use super::limits::MAX_FILE_BYTES;
use crate::formats::onnx;

/// The text is not that of a network, contradicts itself, leaves sizes open, or exceeds the limits of this reader.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    #[error("expected a network of at most {MAX_FILE_BYTES} bytes, found {file_bytes} bytes")]
    TooLarge { file_bytes: usize },
    /// `.param.bin`, in which the names of blobs and layers are missing.
    #[error(
        "expected the text of a network (`.param`), found its binary form (`.param.bin`), which `ncnn2mem` makes of the text"
    )]
    Binary,
    #[error("{place}: expected {expected}, found {found}")]
    Malformed {
        place: String,
        expected: &'static str,
        found: String,
    },
    #[error("{place}: expected at most {limit} {what}, found {found}")]
    LimitExceeded {
        place: String,
        what: &'static str,
        limit: usize,
        found: usize,
    },
    #[error("{place}: expected blobs that an earlier layer writes, found `{name}`")]
    UndefinedBlob { place: String, name: String },
    #[error("{place}: expected a blob of its own, found `{name}` again")]
    DuplicateBlob { place: String, name: String },
    /// What its layers compute cannot be read, or sizes are open.
    #[error(transparent)]
    Network(#[from] onnx::ParseError),
}

impl ParseError {
    /// Stable identifier for programs, kebab-case.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "too-large",
            Self::Binary => "binary-form",
            Self::Malformed { .. } => "malformed",
            Self::LimitExceeded { .. } => "limit-exceeded",
            Self::UndefinedBlob { .. } => "undefined-value",
            Self::DuplicateBlob { .. } => "duplicate-value",
            Self::Network(error) => error.kind(),
        }
    }
}
