//! Variants of a model: another resolution, other channel counts, quantised to int8, or another order of operators.

use serde::{Deserialize, Serialize};

use crate::diagnostic::{Diagnostic, Severity};
use crate::formats::tflite::Model;
use crate::graph::CycleError;
use crate::graph::quantise::{NotFloat, quantise};
use crate::graph::reorder::reorder;
use crate::graph::shapes::resize::{Channels, Resize, ResizeError, resize};

/// In which precision a network of floats is estimated, whatever the format of its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EstimateAs {
    /// As int8 on NPUs that run integers alone, as it is on all other targets.
    #[default]
    Auto,
    /// As int8 on all targets.
    Int8,
    /// As it is: NPUs that run integers alone have no estimate.
    AsIs,
}

impl EstimateAs {
    pub(crate) fn is_auto(&self) -> bool {
        *self == Self::Auto
    }
}

/// The changes to a model. The default changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Changes {
    /// Factor on height and width of the inputs.
    pub resolution: Option<f64>,
    /// Factor on the channels of hidden layers.
    pub width: Option<f64>,
    /// Layers with `from` channels have `to` instead.
    pub channels: Option<Replaced>,
    /// Quantise a float network.
    pub int8: bool,
    /// Run the operators in the order with the lowest peak that is found.
    pub low_memory_order: bool,
}

/// Another number of channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replaced {
    /// Output channels of the layers.
    pub from: i32,
    /// Channels that they have instead.
    pub to: i32,
}

/// Why a model cannot be changed as asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChangeError {
    /// Its shapes do not allow another resolution or other channels.
    #[error(transparent)]
    Resize(#[from] ResizeError),
    /// It is not a float model.
    #[error(transparent)]
    NotFloat(#[from] NotFloat),
    /// Its operators form a cycle of dependencies.
    #[error(transparent)]
    Cycle(#[from] CycleError),
}

impl ChangeError {
    /// Stable kebab-case identifier for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Resize(error) => error.kind(),
            Self::NotFloat(error) => error.kind(),
            Self::Cycle(error) => error.kind(),
        }
    }
}

impl Changes {
    /// Changes the main subgraph of `model`.
    ///
    /// # Errors
    /// If the changed network does not exist.
    pub fn apply(&self, model: &mut Model) -> Result<(), ChangeError> {
        if self.int8 {
            quantise(model)?;
            model.diagnostics.push(Diagnostic {
                severity: Severity::Info,
                code: "quantised",
                message:
                    "the estimates are of the network quantised to int8: whether it is accurate \
                          enough, only a test of it tells"
                        .into(),
                operator_idx: None,
            });
        }
        let times = Resize {
            resolution: self.resolution.unwrap_or(1.0),
            channels: Channels::Times(self.width.unwrap_or(1.0)),
        };
        let replaced = self.channels.map(|Replaced { from, to }| Resize {
            resolution: 1.0,
            channels: Channels::Replace { from, to },
        });
        for change in [Some(times), replaced].into_iter().flatten() {
            let resized = resize(model, change)?;
            model.diagnostics.extend(resized.diagnostic());
        }
        if self.low_memory_order {
            reorder(model)?;
        }
        Ok(())
    }
}
