//! Why a graph cannot be read.

use std::fmt::{self, Display};

use super::limits::MAX_FILE_BYTES;
use crate::formats::shown;

/// The document is not a graph, contradicts itself, or exceeds the limits of this reader.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    #[error("expected a graph of at most {MAX_FILE_BYTES} bytes, found {file_bytes} bytes")]
    TooLarge { file_bytes: usize },
    #[error("graph: {problem}")]
    Malformed { problem: String },
    #[error("expected `format` `litecast-graph`, found `{found}`")]
    NotAGraph { found: String },
    #[error("expected version 1 of litecast-graph, found {found}")]
    UnsupportedVersion { found: u32 },
    #[error("graph: expected at most {limit} {what}, found {found}")]
    LimitExceeded {
        what: &'static str,
        limit: usize,
        found: usize,
    },
    #[error("{place}: expected a tensor of this graph, found `{name}`")]
    UnknownTensor { place: String, name: String },
    #[error("tensor {tensor_idx}: expected a name of its own, found `{name}` again")]
    DuplicateTensor { tensor_idx: usize, name: String },
    #[error("{place}: expected {expected}, found {found}")]
    InvalidValue {
        place: String,
        expected: &'static str,
        found: String,
    },
    #[error(
        "{place}: expected `{meant}` or the name of a custom operator, which has `macs` if its name is as close to this one"
    )]
    UnknownKind { place: String, meant: &'static str },
    #[error("{place}: attribute `{name}` is none of this kind of operator")]
    UnknownAttribute { place: String, name: String },
}

impl ParseError {
    /// Stable identifier for programs, kebab-case.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "too-large",
            Self::Malformed { .. } => "malformed",
            Self::NotAGraph { .. } => "not-a-graph",
            Self::UnsupportedVersion { .. } => "unsupported-version",
            Self::LimitExceeded { .. } => "limit-exceeded",
            Self::UnknownTensor { .. } => "unknown-tensor",
            Self::DuplicateTensor { .. } => "duplicate-tensor",
            Self::InvalidValue { .. } => "invalid-value",
            Self::UnknownKind { .. } => "unknown-kind",
            Self::UnknownAttribute { .. } => "unknown-attribute",
        }
    }
}

/// The place of an operator, which is formatted only for an error message.
#[derive(Clone, Copy)]
pub(super) struct Place<'d> {
    pub kind: &'d str,
    pub operator_idx: usize,
}

impl Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "operator {} ({})", shown(self.kind), self.operator_idx)
    }
}
