//! Why a choice names nothing that can be estimated on.

use super::limits::{
    MAX_BANDWIDTH, MAX_CLOCK_MHZ, MAX_LATENCY_MS, MIN_BANDWIDTH, MIN_CLOCK_MHZ, MIN_LATENCY_MS,
};
use super::listing::did_you_mean;
use crate::formats::shown;
use crate::targets::ethos_u::configuration::{BoardError, IniError};
use crate::targets::host::Host;

/// Why a choice names nothing that can be estimated on. Of what was asked for, messages show the beginning.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// Neither a target, a board nor a measured device, or several.
    #[error("expected either a target or a board")]
    NotOne,
    /// No target has this id.
    #[error(
        "target {}: no target has this id{}",
        shown(found),
        did_you_mean(found, false)
    )]
    UnknownTarget {
        /// As it was asked for.
        found: String,
    },
    /// No board has this id.
    #[error(
        "board {}: no board has this id{}",
        shown(found),
        did_you_mean(found, true)
    )]
    UnknownBoard {
        /// As it was asked for.
        found: String,
    },
    /// A target whose constants are in a file that the caller has not loaded.
    #[error("target {found}: its constants are not loaded; {by}() loads them")]
    NotLoaded {
        /// As it was asked for.
        found: String,
        /// The function of the package that loads them.
        by: &'static str,
    },
    /// There are no estimates for the board under this runtime.
    #[error("board {board}, runtime {}: expected one of {}", shown(found), expected.join(", "))]
    UnknownRuntime {
        /// Id of the board.
        board: String,
        /// As it was asked for.
        found: String,
        /// Runtimes of the board.
        expected: Vec<&'static str>,
    },
    /// The runtime has no such release, or none that can be chosen.
    #[error(
        "{}, release {}: expected {}",
        shown(target),
        shown(found),
        releases_in_words(expected)
    )]
    UnknownRelease {
        /// Id of the target or board.
        target: String,
        /// As it was asked for.
        found: String,
        /// Releases of the target's runtime.
        expected: Vec<&'static str>,
    },
    /// No processor that can stand beside an accelerator has this id.
    #[error("host {}: expected one of {}", shown(found), Host::ids().collect::<Vec<_>>().join(", "))]
    UnknownHost {
        /// As it was asked for.
        found: String,
    },
    /// The option does not apply to this kind of target.
    #[error("target {}: `{option}` is an option of {of}", shown(target))]
    OptionOfOthers {
        /// Id of the target, or of the board.
        target: String,
        /// Name of the option.
        option: &'static str,
        /// The targets that the option applies to.
        of: &'static str,
    },
    /// The clock is outside of the accepted range.
    #[error(
        "target {}: expected a clock of {MIN_CLOCK_MHZ} to {MAX_CLOCK_MHZ} MHz, found {found}",
        shown(target)
    )]
    Clock {
        /// Id of the target.
        target: String,
        /// In MHz.
        found: f64,
    },
    /// The bandwidth is outside of the accepted range.
    #[error(
        "target {}: expected {MIN_BANDWIDTH} to {MAX_BANDWIDTH} bytes a second, found {found}",
        shown(target)
    )]
    Bandwidth {
        /// Id of the target.
        target: String,
        /// In bytes a second.
        found: f64,
    },
    /// A measurement elsewhere without its device, or without a time that an inference may take.
    #[error(
        "target {}: expected `measured_on` with `measured_ms` of {MIN_LATENCY_MS} to {MAX_LATENCY_MS}, found {}",
        shown(target),
        found.map_or("none".to_owned(), |ms| ms.to_string())
    )]
    Measured {
        /// Id of the target.
        target: String,
        /// In milliseconds.
        found: Option<f64>,
    },
    /// A section is missing from the configuration, or cannot be read.
    #[error("target {target}: {error}")]
    Configuration {
        /// Id of the target.
        target: String,
        /// What is wrong with it.
        error: IniError,
    },
    /// A document that is no measured device.
    #[error("measured device: {words}")]
    Device {
        /// What is wrong with it.
        words: String,
    },
    /// A board without an NPU of a known kind.
    #[error(transparent)]
    Board(#[from] BoardError),
}

impl ChoiceError {
    /// Stable kebab-case identifier for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NotOne
            | Self::OptionOfOthers { .. }
            | Self::Clock { .. }
            | Self::Measured { .. }
            | Self::Bandwidth { .. } => "wrong-argument",
            Self::UnknownTarget { .. } | Self::NotLoaded { .. } => "unknown-target",
            Self::UnknownBoard { .. } => "unknown-board",
            Self::UnknownHost { .. } => "unknown-host",
            Self::UnknownRuntime { .. } => "unknown-runtime",
            Self::UnknownRelease { .. } => "unknown-release",
            Self::Configuration { .. } | Self::Board(_) => "configuration",
            Self::Device { .. } => "wrong-device",
        }
    }
}

pub(super) fn unknown(id: &str) -> ChoiceError {
    ChoiceError::UnknownTarget { found: id.into() }
}

pub(super) fn not_loaded(id: &str, by: &'static str) -> ChoiceError {
    ChoiceError::NotLoaded {
        found: id.into(),
        by,
    }
}

fn releases_in_words(releases: &[&str]) -> String {
    match releases {
        [] => "none, because this runtime was measured in one release".to_owned(),
        _ => format!("one of {}", releases.join(", ")),
    }
}
