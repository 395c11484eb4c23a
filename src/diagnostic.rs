//! Diagnostics that accompany the numbers.

use serde::Serialize;

/// How much a [`Diagnostic`] matters to the reader of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Information that does not affect the numbers.
    Info,
    /// The numbers may be wrong by more than their stated error.
    Warning,
}

/// One thing about a file that its numbers alone do not say.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema, ts_rs::TS),
    ts(rename = "DiagnosticOf")
)]
pub struct Diagnostic {
    /// How much it matters to the reader of the numbers.
    pub severity: Severity,
    /// Stable identifier for programs, kebab-case, for example `dynamic-shape`.
    pub code: &'static str,
    /// One sentence for people, lower case, no full stop.
    pub message: String,
    /// Index of the operator in its subgraph, if it concerns a single operator.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub operator_idx: Option<usize>,
}

/// Maximum number of items of a list that a message shows.
const SHOWN: usize = 4;

/// The first items of a list in words, with an ellipsis where there are more.
pub(crate) fn some_of<T: AsRef<str>>(
    items: impl IntoIterator<Item = T>,
    separator: &str,
) -> String {
    let items: Vec<T> = items.into_iter().take(SHOWN + 1).collect();
    let more = (items.len() > SHOWN).then_some("…");
    let shown = items.iter().take(SHOWN).map(T::as_ref).chain(more);
    shown.collect::<Vec<_>>().join(separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lists_end_in_an_ellipsis() {
        let names = ["a", "b", "c", "d", "e"];
        assert_eq!(some_of(&names[..0], ", "), "");
        assert_eq!(some_of(&names[..4], ", "), "a, b, c, d");
        assert_eq!(some_of(names, "; "), "a; b; c; d; …");
    }
}
