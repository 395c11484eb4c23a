//! A requested change of resolution or channels, what it changed in the network, or why it is not possible.

use crate::diagnostic::{Diagnostic, Severity};

/// Factors outside of this range give networks that are not built in practice.
pub const MIN_FACTOR: f64 = 1.0 / 16.0;
pub const MAX_FACTOR: f64 = 4.0;
/// Hidden channel counts of common architectures are multiples of this, and stay so.
const CHANNEL_STEP: i32 = 8;

/// The requested change.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resize {
    /// Factor on height and width of the inputs, or on the length of sequences.
    pub resolution: f64,
    pub channels: Channels,
}

impl Default for Resize {
    fn default() -> Self {
        Self {
            resolution: 1.0,
            channels: Channels::Times(1.0),
        }
    }
}

/// Output channels of convolutions and units of dense layers, those of the network's outputs excepted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Channels {
    /// Width multiplier. Multiples of 8 become the nearest multiple of 8.
    Times(f64),
    /// Every layer with `from` channels has `to` instead.
    Replace { from: i32, to: i32 },
}

impl Channels {
    /// A single channel stays one: broadcasting depends on it.
    pub(super) fn resized(self, count: i32) -> i32 {
        match self {
            Self::Times(factor) if count > 1 => {
                let step = if count % CHANNEL_STEP == 0 {
                    CHANNEL_STEP
                } else {
                    1
                };
                let steps = (f64::from(count) * factor / f64::from(step))
                    .round()
                    .max(1.0);
                (steps as i32).saturating_mul(step)
            }
            Self::Replace { from, to } if count == from => to.max(1),
            _ => count,
        }
    }

    pub(super) fn changes_nothing(self) -> bool {
        match self {
            Self::Times(factor) => factor == 1.0,
            Self::Replace { from, to } => from == to,
        }
    }
}

/// Why a network cannot be resized.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ResizeError {
    #[error("expected a factor from {MIN_FACTOR} to {MAX_FACTOR}, found {factor}")]
    Factor { factor: f64 },
    #[error("no other resolution: expected an input with rows or columns, found shapes {shapes:?}")]
    NoResolution { shapes: Vec<Vec<i32>> },
    #[error("no other width: every layer is tied to the network's inputs or outputs")]
    NoWidth,
    #[error("no other size: operator {operator_idx} ({operator}): {problem}")]
    Operator {
        operator_idx: usize,
        operator: String,
        problem: &'static str,
    },
    #[error(
        "no other size: the resized network's tensors do not fit 64 bits, or its weights {limit_bytes} bytes"
    )]
    TooLarge { limit_bytes: u64 },
}

impl ResizeError {
    /// Stable kebab-case identifier for programs.
    pub fn kind(&self) -> &'static str {
        "resize"
    }
}

/// What changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resized {
    /// Layers with another number of output channels, and all that have weights.
    pub n_layers: usize,
    pub of_layers: usize,
    /// Number of constants with another shape, which have to be trained again.
    pub n_constants: usize,
}

impl Resized {
    /// A diagnostic that the network must be trained again; `None` if the trained network can be used as it is.
    pub fn diagnostic(&self) -> Option<Diagnostic> {
        let layers = match self.n_layers {
            0 => String::new(),
            n => format!(
                "; {n} of {} layers have other channel counts",
                self.of_layers
            ),
        };
        (self.n_constants > 0).then(|| Diagnostic {
            severity: Severity::Info,
            code: "resized",
            message: format!(
                "the estimates are of a changed network: {} constants have another shape, so that it has to be \
                 trained anew{layers}",
                self.n_constants
            ),
            operator_idx: None,
        })
    }
}
