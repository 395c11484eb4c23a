//! What may be chosen, as data.

use serde::Deserialize;

use super::error::ChoiceError;
use super::limits::{
    MAX_BANDWIDTH, MAX_CLOCK_MHZ, MAX_LATENCY_MS, MIN_BANDWIDTH, MIN_CLOCK_MHZ, MIN_LATENCY_MS,
};
use crate::targets::ethos_u::configuration::Strategy;

/// What to estimate on: a target by its id, or the NPU of a board.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Id of a target of the registry, of a microcontroller, or Vela's name of an Ethos-U.
    #[serde(default)]
    pub target: Option<String>,
    /// Id of a board of [`boards`](crate::target::boards), in the place of `target`.
    #[serde(default)]
    pub board: Option<String>,
    /// Runtime on the core of a board: `tflite-micro` or `st-edge-ai`. Without it the one that its published latencies
    /// are of.
    #[serde(default)]
    pub runtime: Option<String>,
    /// Release of ST Edge AI on a microcontroller: `7` to `10`, `10-time` with its option `-O time`. The id of a target may
    /// name it as well, behind an `@`.
    #[serde(default)]
    pub release: Option<String>,
    /// System configuration of an Ethos-U, as Vela names it.
    #[serde(default)]
    pub system_config: Option<String>,
    /// Memory mode of an Ethos-U, as Vela names it.
    #[serde(default)]
    pub memory_mode: Option<String>,
    /// SRAM in bytes that Vela may fill where an Ethos-U has an SRAM of its own.
    #[serde(default)]
    pub arena_cache_bytes: Option<u32>,
    /// Vela's optimiser: `Performance`, which it is without this, or `Size`.
    #[serde(default)]
    pub optimise: Option<Strategy>,
    /// Contents of a `vela.ini` with both sections, instead of those that Vela knows.
    #[serde(default)]
    pub vela_ini: Option<String>,
    /// Clock of a microcontroller or an Ethos-U, in MHz.
    #[serde(default)]
    pub clock_mhz: Option<f64>,
    /// Bandwidth of an Ethos-U's memory outside the chip. Without it that memory keeps pace with the clock, as Vela
    /// has it.
    #[serde(default)]
    pub off_chip_bytes_per_s: Option<f64>,
    /// Processor that runs what an Ethos-U leaves to it, by its id among the hosts of [`Host::ids`](crate::targets::host::Host::ids).
    #[serde(default)]
    pub host: Option<String>,
    /// A device with a Hexagon NPU of which a measurement of the network is known, for another such device: its id, as `target` takes
    /// it.
    #[serde(default)]
    pub measured_on: Option<String>,
    /// What the network took there, in milliseconds.
    #[serde(default)]
    pub measured_ms: Option<f64>,
    /// The document of a measured device, in the place of `target`.
    #[serde(default)]
    pub measured_device: Option<String>,
    /// Id that the report has for it, instead of its own: that of the target, behind `BOARD/` where a board is chosen.
    #[serde(default)]
    pub name: Option<String>,
    /// Words that the report has for it, instead of its own.
    #[serde(default)]
    pub device: Option<String>,
}

impl Choice {
    pub(super) fn check_rates(&self, id: &str) -> Result<(), ChoiceError> {
        let target = || id.to_owned();
        let is_clock = |mhz: &f64| (MIN_CLOCK_MHZ..=MAX_CLOCK_MHZ).contains(mhz);
        if let Some(found) = self.clock_mhz.filter(|mhz| !is_clock(mhz)) {
            return Err(ChoiceError::Clock {
                target: target(),
                found,
            });
        }
        let is_bandwidth = |rate: &f64| (MIN_BANDWIDTH..=MAX_BANDWIDTH).contains(rate);
        match self.off_chip_bytes_per_s.filter(|rate| !is_bandwidth(rate)) {
            Some(found) => Err(ChoiceError::Bandwidth {
                target: target(),
                found,
            }),
            None => Ok(()),
        }
    }

    /// Device and milliseconds of a measurement elsewhere.
    pub(super) fn measured_elsewhere(&self, id: &str) -> Result<Option<(&str, f64)>, ChoiceError> {
        match (&self.measured_on, self.measured_ms) {
            (None, None) => Ok(None),
            (Some(on), Some(ms)) if (MIN_LATENCY_MS..=MAX_LATENCY_MS).contains(&ms) => {
                Ok(Some((on, ms)))
            }
            (_, found) => Err(ChoiceError::Measured {
                target: id.to_owned(),
                found,
            }),
        }
    }

    pub(super) fn refuse_measurement(&self, id: &str) -> Result<(), ChoiceError> {
        let is_given = self.measured_on.is_some() || self.measured_ms.is_some();
        self.refuse(id, is_given, "measured_on", "phones and NPU boards")
    }

    pub(super) fn refuse(
        &self,
        target: &str,
        is_given: bool,
        option: &'static str,
        of: &'static str,
    ) -> Result<(), ChoiceError> {
        if is_given {
            Err(ChoiceError::OptionOfOthers {
                target: target.to_owned(),
                option,
                of,
            })
        } else {
            Ok(())
        }
    }
}
