//! Why an ONNX file cannot be read.

use super::limits::{MAX_FILE_BYTES, MAX_OPSET, MAX_RANK};
use crate::formats::UnmatchedDimensions;

/// The file is not an ONNX file, is damaged, leaves sizes open, or exceeds the limits of this reader.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    #[error("expected a file of at most {MAX_FILE_BYTES} bytes (2 GiB), found {file_bytes} bytes")]
    TooLarge { file_bytes: usize },
    /// Bytes that are not a protobuf message of ONNX.
    #[error("{place}: {problem}; the file is truncated or damaged")]
    Malformed { place: String, problem: String },
    #[error("expected an ONNX file with a graph, found none")]
    NoGraph,
    #[error("{place}: expected at most {limit} {what}, found {found}")]
    LimitExceeded {
        place: String,
        what: &'static str,
        limit: usize,
        found: String,
    },
    #[error("expected an opset of ONNX from 1 to {MAX_OPSET}, found {found}")]
    UnsupportedOpset { found: i64 },
    #[error(
        "{place}: expected inputs that an earlier node, an initializer or the graph gives, found `{name}`"
    )]
    UndefinedValue { place: String, name: String },
    #[error("{place}: expected a name of its own, found `{name}` again")]
    DuplicateValue { place: String, name: String },
    #[error("input `{input}`: expected a tensor with a shape, found {found}")]
    InvalidInput { input: String, found: String },
    /// Sizes that the file leaves open.
    #[error(
        "expected sizes of the dimensions that the file leaves open, found none for {}{}",
        .names.join(", "),
        .unmatched.as_ref().map_or(String::new(), |unmatched| format!(
            ", and one for {}, which is none of them",
            unmatched.found_words()
        ))
    )]
    UnknownDimension {
        names: Vec<String>,
        /// Sizes under other names.
        unmatched: Option<UnmatchedDimensions>,
    },
    #[error(
        "{place}: expected a size of less than 2^31 along each dimension and 2^64 bits in all, found shape {shape}"
    )]
    ShapeOverflow { place: String, shape: String },
}

impl ParseError {
    /// The error for a value whose rank exceeds [`MAX_RANK`].
    pub(super) fn too_many_dimensions(place: String, found: usize) -> Self {
        Self::LimitExceeded {
            place,
            what: "dimensions",
            limit: MAX_RANK,
            found: found.to_string(),
        }
    }

    /// Stable identifier for programs, kebab-case.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "too-large",
            Self::Malformed { .. } => "malformed",
            Self::NoGraph => "no-graph",
            Self::LimitExceeded { .. } => "limit-exceeded",
            Self::UnsupportedOpset { .. } => "unsupported-opset",
            Self::UndefinedValue { .. } => "undefined-value",
            Self::DuplicateValue { .. } => "duplicate-value",
            Self::InvalidInput { .. } => "invalid-input",
            Self::UnknownDimension { .. } => "unknown-dimension",
            Self::ShapeOverflow { .. } => "shape-overflow",
        }
    }
}
