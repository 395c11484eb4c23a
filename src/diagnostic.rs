//! Doubts that travel beside the numbers.

use serde::Serialize;

/// How much a [`Diagnostic`] matters to the reader of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; the numbers stand.
    Info,
    /// The numbers may be wrong by more than their stated error.
    Warning,
}

/// One thing about a file that its numbers alone do not say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Diagnostic {
    pub severity: Severity,
    /// Stable identifier for programs, kebab-case, for example `dynamic-shape`.
    pub code: &'static str,
    /// One sentence for people, lower case, no full stop.
    pub message: String,
    /// Index of the operator in its subgraph, where one operator is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator_idx: Option<usize>,
}
