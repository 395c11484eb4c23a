//! Why a file has no report, as its line of JSON states it.

use std::{fmt, io};

use serde::{Deserialize, Serialize};

use super::REPORT_VERSION;

/// A file without a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FailedReport {
    /// [`REPORT_VERSION`].
    pub schema_version: u32,
    /// Name of the file, as the caller gave it.
    pub file: String,
    /// Why it has no report.
    pub error: Failure,
}

/// A stable word for programs, and a sentence for people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Failure {
    /// Kebab-case, for example `truncated`.
    pub kind: String,
    /// Lower case, no full stop.
    pub message: String,
}

impl Failure {
    /// Of a stable word and a sentence.
    pub fn new(kind: &str, message: impl Into<String>) -> Self {
        Self {
            kind: kind.to_owned(),
            message: message.into(),
        }
    }

    /// The line of a file that failed, in the place of its report.
    pub fn for_file(self, file: &str) -> FailedReport {
        FailedReport {
            schema_version: REPORT_VERSION,
            file: file.to_owned(),
            error: self,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let kind = match error.kind() {
            io::ErrorKind::NotFound => "file-not-found",
            _ => "file-unreadable",
        };
        Self::new(kind, error.to_string())
    }
}
