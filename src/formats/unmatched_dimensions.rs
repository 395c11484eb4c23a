//! Sizes that were given for dimensions that a file does not leave open.

use crate::diagnostic::{Diagnostic, Severity};
use crate::formats::shown;

/// Names that an error lists at most.
const MAX_NAMED: usize = 8;

/// Names under which sizes were given, none of which is an open dimension of the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected sizes of dimensions that the file leaves open ({}), found a size of {}", self.open_words(), self.found_words())]
pub struct UnmatchedDimensions {
    /// As they were given.
    pub names: Vec<String>,
    /// The first dimensions that the file leaves open, as the sizes are to be named.
    open: Vec<String>,
}

impl UnmatchedDimensions {
    /// None where every name is one of `open`, or was used.
    pub fn new<'n>(
        names: impl Iterator<Item = &'n str>,
        open: impl Iterator<Item = String>,
    ) -> Option<Self> {
        let names: Vec<String> = names.map(str::to_owned).collect();
        let mut listed: Vec<String> = Vec::new();
        if !names.is_empty() {
            for name in open.filter(|name| !name.is_empty()) {
                if listed.len() < MAX_NAMED && !listed.contains(&name) {
                    listed.push(name);
                }
            }
        }
        (!names.is_empty()).then_some(Self {
            names,
            open: listed,
        })
    }

    /// The names, in backquotes.
    pub fn found_words(&self) -> String {
        quoted(&self.names)
    }

    fn open_words(&self) -> String {
        if self.open.is_empty() {
            "it leaves none open".to_owned()
        } else {
            quoted(&self.open)
        }
    }

    /// Where the sizes are for many files, some of which may have no such dimension.
    pub fn diagnostic(&self) -> Diagnostic {
        Diagnostic {
            severity: Severity::Warning,
            code: "unmatched-dimension",
            message: self.to_string(),
            operator_idx: None,
        }
    }
}

fn quoted(names: &[String]) -> String {
    let names = names.iter().take(MAX_NAMED);
    let names: Vec<String> = names.map(|name| format!("`{}`", shown(name))).collect();
    names.join(", ")
}
