//! A target chosen by name, with changes to its configuration.

mod error;
mod limits;
mod listing;
mod microcontroller;
mod named;
mod npu;
mod options;

use serde::Serialize;

pub use self::error::ChoiceError;
use self::error::{not_loaded, unknown};
pub use self::limits::{MAX_CLOCK_MHZ, MIN_CLOCK_MHZ};
pub use self::listing::{did_you_mean, known_boards, known_infos, known_targets};
use self::microcontroller::check_release;
use self::named::Named;
pub use self::options::Choice;
use super::ethos_u::configuration::Product;
use super::gpu::specifications::Gpu;
use super::learned_accelerators::Parsed;
use super::measured_device::{self, Estimable};
use super::on_board::MICRO;
use super::{Loaded, cortex_m, ethos_u, gpu, known, learned_accelerators};
use crate::target::Target;
use crate::target::boards;

/// Clock and SRAM that a choice has, by its own options or by default.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct InForce {
    /// Of a microcontroller or an Ethos-U, in MHz; `None` for others, whose clock cannot be chosen.
    pub clock_mhz: Option<f64>,
    /// SRAM that Vela may fill; `None` for others than an Ethos-U.
    pub arena_cache_bytes: Option<i64>,
}

impl Choice {
    /// The target in that configuration. GPUs and accelerators that were learned are available if the library contains
    /// their constants.
    pub fn target(&self) -> Result<Box<dyn Target>, ChoiceError> {
        self.target_among(&Loaded::shipped())
    }

    /// As [`Self::target`], with constants that the caller provides.
    pub fn target_among(&self, loaded: &Loaded) -> Result<Box<dyn Target>, ChoiceError> {
        let target = match (&self.target, &self.board, &self.measured_device) {
            (Some(id), None, None) => self.by_id(id, loaded)?,
            (None, Some(id), None) => self.board_target(id)?,
            (None, None, Some(json)) => self.measured_target(json, loaded)?,
            _ => return Err(ChoiceError::NotOne),
        };
        // What is estimated for a board is another number than the compiler's or another board's.
        let of_board = || Some(format!("{}/{}", self.board.as_ref()?, target.id()));
        let id = self.name.clone().or_else(of_board);
        if id.is_none() && self.device.is_none() {
            return Ok(target);
        }
        Ok(Box::new(Named {
            id: id.unwrap_or_else(|| target.id().to_owned()),
            device: self.device.clone(),
            target,
        }))
    }

    /// Clock and SRAM of the chosen hardware.
    pub fn in_force(&self) -> Result<InForce, ChoiceError> {
        match self.target() {
            // It has a name, and nothing in force.
            Ok(_) | Err(ChoiceError::NotLoaded { .. }) => {}
            Err(error) => return Err(error),
        }
        let board = self.board.as_deref().and_then(boards::by_id);
        let product = self.target.as_deref().and_then(Product::by_name);
        let configuration = match (product, board) {
            (Some(product), _) => Some(self.npu_configuration(product)?),
            (None, Some(board)) if board.ethos_u.is_some() => {
                Some(self.with_chosen_rates(board.npu_configuration()?))
            }
            _ => None,
        };
        if let Some(configuration) = configuration {
            return Ok(InForce {
                clock_mhz: Some(configuration.system.clock_hz / 1e6),
                arena_cache_bytes: Some(configuration.arena_cache_bytes()),
            });
        }
        let of_board = board.and_then(|board| Some(&*board.latency.as_ref()?.target));
        let core = of_board.or(self.target.as_deref());
        let core = core.map(|id| cortex_m::split_release(id).0);
        let core = core.and_then(|id| cortex_m::Constants::shipped().target(id));
        let clock_mhz = core.map(|core| {
            let of_board = board.and_then(|board| board.clock_mhz);
            let chosen = self
                .clock_mhz
                .or(of_board)
                .filter(|_| core.has_other_clocks);
            chosen.unwrap_or(core.clock_mhz)
        });
        Ok(InForce {
            clock_mhz,
            arena_cache_bytes: None,
        })
    }

    fn by_id(&self, id: &str, loaded: &Loaded) -> Result<Box<dyn Target>, ChoiceError> {
        if let Some(product) = Product::by_name(id) {
            self.refuse(id, self.release.is_some(), "release", "ST Edge AI")?;
            self.refuse_measurement(id)?;
            let configuration = self.npu_configuration(product)?;
            let host = self.host_beside(product.family(), None)?;
            return Ok(ethos_u::target_beside(configuration, host));
        }
        self.check_rates(id)?;
        self.refuse_options_of_npus(id)?;
        self.refuse_memories(id)?;
        self.refuse(id, self.runtime.is_some(), "runtime", "boards")?;
        if let Some(parsed) = learned_accelerators::parse_id(id) {
            return self.learned(id, &parsed, loaded);
        }
        self.refuse_measurement(id)?;
        if let Some(target) = self.microcontroller(id)? {
            return Ok(target);
        }
        self.refuse_release_and_clock(id)?;
        if Gpu::by_id(id).is_some() {
            let gpus = loaded.gpus.as_ref();
            let gpus = gpus.ok_or_else(|| not_loaded(id, "loadGpus"))?;
            return gpu::target(id, gpus).ok_or_else(|| unknown(id));
        }
        let target = known().find(|target| target.id() == id);
        target.ok_or_else(|| unknown(id))
    }

    fn learned(
        &self,
        id: &str,
        here: &Parsed,
        loaded: &Loaded,
    ) -> Result<Box<dyn Target>, ChoiceError> {
        self.refuse_release_and_clock(id)?;
        let constants = loaded.learned.as_ref();
        let constants = constants.ok_or_else(|| not_loaded(id, "loadAccelerators"))?;
        let of_device = |parsed: &Parsed, id: &str| {
            let target = parsed.target(constants).ok_or_else(|| unknown(id))?;
            target.map_err(|expected| ChoiceError::UnknownRelease {
                target: parsed.device.id.to_owned(),
                found: parsed.way.unwrap_or_default().to_owned(),
                expected,
            })
        };
        let target = of_device(here, id)?;
        let Some((on, ms)) = self.measured_elsewhere(id)? else {
            return Ok(target);
        };
        let there = learned_accelerators::parse_id(on).ok_or_else(|| unknown(on))?;
        of_device(&there, on)?;
        let beside = here.target_beside(&there, ms, constants);
        beside.and_then(Result::ok).ok_or_else(|| unknown(on))
    }

    fn refuse_release_and_clock(&self, id: &str) -> Result<(), ChoiceError> {
        self.refuse(id, self.release.is_some(), "release", "ST Edge AI")?;
        self.refuse(
            id,
            self.clock_mhz.is_some(),
            "clock_mhz",
            "microcontrollers and Ethos-U accelerators",
        )
    }

    /// On the base that the document names.
    fn measured_target(&self, json: &str, loaded: &Loaded) -> Result<Box<dyn Target>, ChoiceError> {
        // It was measured in one configuration.
        let id = "measured_device";
        self.refuse_measurement(id)?;
        self.refuse_options_of_npus(id)?;
        self.refuse_memories(id)?;
        self.refuse(id, self.runtime.is_some(), "runtime", "boards")?;
        self.refuse_release_and_clock(id)?;
        let device = Estimable::parse(json).map_err(|error| ChoiceError::Device {
            words: error.to_string(),
        })?;
        let base = Self {
            target: Some(device.base.clone()),
            ..Self::default()
        };
        Ok(measured_device::target(device, base.target_among(loaded)?))
    }

    fn board_target(&self, id: &str) -> Result<Box<dyn Target>, ChoiceError> {
        self.refuse_measurement(id)?;
        self.check_rates(id)?;
        self.refuse_options_of_npus(id)?;
        let board = boards::by_id(id).ok_or_else(|| ChoiceError::UnknownBoard { found: id.into() });
        let board = board?;
        if board.ethos_u.is_some() {
            self.refuse(id, self.release.is_some(), "release", "ST Edge AI")?;
            self.refuse(
                id,
                self.runtime.is_some(),
                "runtime",
                "boards without an Ethos-U",
            )?;
            let configuration = self.with_chosen_rates(board.npu_configuration()?);
            let host = self.host_beside(configuration.product.family(), board.clock_mhz)?;
            return Ok(ethos_u::target_on(Some(board), configuration, host));
        }
        self.refuse_memories(id)?;
        let release = self.release.as_deref();
        let of_latency = board.latency.as_ref();
        let fitted = of_latency
            .and_then(|latency_of| cortex_m::Constants::shipped().target(&latency_of.target));
        if let Some(fitted) = fitted {
            check_release(id, fitted, release)?;
        } else {
            self.refuse(id, release.is_some(), "release", "ST Edge AI")?;
        }
        let Some(runtime) = &self.runtime else {
            return Ok(board.target_at(self.clock_mhz, release)?);
        };
        let is_st = runtime != MICRO;
        self.refuse(id, release.is_some() && !is_st, "release", "ST Edge AI")?;
        let expected: Vec<&str> = board.runtimes().collect();
        if !expected.contains(&runtime.as_str()) {
            return Err(ChoiceError::UnknownRuntime {
                board: id.to_owned(),
                found: runtime.clone(),
                expected,
            });
        }
        let target = if is_st {
            board.target_at(self.clock_mhz, release)
        } else {
            board.micro_target_at(self.clock_mhz)
        };
        Ok(target?)
    }
}

#[cfg(test)]
mod tests;
