//! Why a text is no profile.

use std::fmt;

use super::formats::FORMATS;

/// Larger than profiles of a thousand runs of a network with a thousand operators.
pub const MAX_PROFILE_BYTES: usize = 256 << 20;

/// Operators of the largest network that has a report with parts by operator, some of them run in several pieces.
pub const MAX_ROWS: usize = 1 << 17;

/// Why a text is no profile.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ProfileError {
    /// More than [`MAX_PROFILE_BYTES`].
    #[error("expected at most {MAX_PROFILE_BYTES} bytes, found {found}")]
    TooLarge {
        /// Bytes of the text.
        found: usize,
    },
    /// Bytes that are not text.
    #[error("expected text in UTF-8, found other bytes at {at}")]
    NotText {
        /// Offset of the first of them.
        at: usize,
    },
    /// More operators than any network has.
    #[error("expected at most {MAX_ROWS} operators, found more")]
    TooManyOperators,
    /// JSON that is not ONNX Runtime's.
    #[error("expected a profile of ONNX Runtime, found {0}")]
    Json(String),
    /// The tool counts cycles or ticks.
    #[error("line {line}: {tool} counts cycles: expected their clock in MHz, found none")]
    NoClock {
        /// Of the head.
        line: usize,
        /// In words.
        tool: &'static str,
    },
    /// A row of operators could not be read, so that the others are not the whole network.
    #[error("{0}; a sum without this row is not the network's latency")]
    Incomplete(String),
    /// No duration in the whole text.
    #[error("expected durations that {} prints, or a table with a head such as `name,ms`, found none{}", Tools, Shown(.unread))]
    NoDurations {
        /// The first lines that are no duration.
        unread: Vec<String>,
    },
}

impl ProfileError {
    /// Stable kebab-case identifier for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } | Self::TooManyOperators => "limit-exceeded",
            Self::NoClock { .. } => "no-clock",
            Self::NotText { .. }
            | Self::Json(_)
            | Self::Incomplete(_)
            | Self::NoDurations { .. } => "wrong-profile",
        }
    }
}

struct Tools;

impl fmt::Display for Tools {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("ONNX Runtime")?;
        let mut last = "";
        for format in FORMATS {
            if !["", last].contains(&format.tool) {
                write!(f, ", {}", format.tool)?;
            }
            last = format.tool;
        }
        Ok(())
    }
}

struct Shown<'u>(&'u [String]);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.0.first() {
            Some(line) => write!(f, "; {line}"),
            None => Ok(()),
        }
    }
}
