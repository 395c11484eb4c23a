//! What a target is set to.

use serde::{Deserialize, Serialize};

/// What a target is set to where that can be chosen, by choice or by default: its numbers in other settings differ as much
/// as those of another network. Fields are named as those of a choice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema, ts_rs::TS))]
#[serde(default)]
#[non_exhaustive]
pub struct Settings {
    /// Clock in MHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub clock_mhz: Option<f64>,
    /// System configuration of an Ethos-U, as Vela names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub system_config: Option<String>,
    /// Memory mode of an Ethos-U, as Vela names it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub memory_mode: Option<String>,
    /// Bytes of SRAM that the compiler may fill.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub arena_cache_bytes: Option<i64>,
    /// What Vela optimises for: `Performance` or `Size`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub optimise: Option<String>,
    /// Bytes per second off the chip, where they were chosen.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub off_chip_bytes_per_s: Option<f64>,
    /// Id of the processor that runs what the target leaves to it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub host: Option<String>,
    /// Threads of a processor, at most one for each core.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub threads: Option<u32>,
    /// Id of the device that the network took `measured_ms` on, by which this estimate was corrected.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub measured_on: Option<String>,
    /// Milliseconds of the network on `measured_on`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", ts(optional))]
    pub measured_ms: Option<f64>,
}

impl Settings {
    /// Whether nothing can be chosen.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
