//! A target chosen by name, with changes to its configuration.

use serde::{Deserialize, Serialize};

#[cfg(not(target_arch = "wasm32"))]
use super::calibrated::{self, Device};
use super::ethos_u::configuration::{
    BoardError, Configuration, Family, IniError, MemoryArea, Product, Strategy, VelaIni,
};
use super::gpu::specifications::{GPUS, Gpu};
use super::host::Host;
use super::on_board::MICRO;
use super::suggestions::{self, Candidate};
use super::{Loaded, cortex_m, ethos_u, gpu, known, learned};
use crate::learned::manifest::Manifest;
use crate::target::boards;
use crate::target::{
    Description, HostInfo, MeasuredRange, Network, PeakRates, Target, TargetEstimate, TargetInfo,
    UnsupportedOperator,
};

/// Range of clocks that are accepted; no processor or accelerator is clocked lower or higher.
pub const MIN_CLOCK_MHZ: f64 = 0.01;
pub const MAX_CLOCK_MHZ: f64 = 10_000.0;
/// Range of off-chip bandwidths that are accepted, in bytes per second.
const MIN_BANDWIDTH: f64 = 1e5;
const MAX_BANDWIDTH: f64 = 1e12;

/// What to estimate on: a target by its id, or the NPU of a board.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Id of a target of the registry, of a microcontroller, or Vela's name of an Ethos-U.
    #[serde(default)]
    pub target: Option<String>,
    /// Id of a board of [`boards`], in the place of `target`.
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
    /// Processor that runs what an Ethos-U leaves to it, by its id among the hosts of [`Host::ids`].
    #[serde(default)]
    pub host: Option<String>,
    /// The document of a measured device, in the place of `target`. Only natively: the browser's module has no room for
    /// what reads it.
    #[cfg(not(target_arch = "wasm32"))]
    #[serde(default)]
    pub measured_device: Option<String>,
    /// Id that the report has for it, instead of its own: that of the target, behind `BOARD/` where a board is chosen.
    #[serde(default)]
    pub name: Option<String>,
    /// Words that the report has for it, instead of its own.
    #[serde(default)]
    pub device: Option<String>,
}

/// Clock and SRAM that a choice has, by its own options or by default.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct InForce {
    /// Of a microcontroller or an Ethos-U, in MHz; `None` for others, whose clock cannot be chosen.
    pub clock_mhz: Option<f64>,
    /// SRAM that Vela may fill; `None` for others than an Ethos-U.
    pub arena_cache_bytes: Option<i64>,
}

/// Why a choice names nothing that can be estimated on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ChoiceError {
    /// Neither a target, a board nor a measured device, or several.
    #[error("expected either a target or a board")]
    NotOne,
    /// No target has this id.
    #[error("target {found}: no target has this id{}", did_you_mean(found, false))]
    UnknownTarget {
        /// As it was asked for.
        found: String,
    },
    /// No board has this id.
    #[error("board {found}: no board has this id{}", did_you_mean(found, true))]
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
    #[error("board {board}, runtime {found}: expected one of {}", expected.join(", "))]
    UnknownRuntime {
        /// Id of the board.
        board: String,
        /// As it was asked for.
        found: String,
        /// Runtimes of the board.
        expected: Vec<&'static str>,
    },
    /// The runtime has no such release, or none that can be chosen.
    #[error("{target}, release {found}: expected {}", releases_in_words(expected))]
    UnknownRelease {
        /// Id of the target or board.
        target: String,
        /// As it was asked for.
        found: String,
        /// Releases of the target's runtime.
        expected: Vec<&'static str>,
    },
    /// No processor that can stand beside an accelerator has this id.
    #[error("host {found}: expected one of {}", Host::ids().collect::<Vec<_>>().join(", "))]
    UnknownHost {
        /// As it was asked for.
        found: String,
    },
    /// The option does not apply to this kind of target.
    #[error("target {target}: `{option}` is an option of {of}")]
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
        "target {target}: expected a clock of {MIN_CLOCK_MHZ} to {MAX_CLOCK_MHZ} MHz, found {found}"
    )]
    Clock {
        /// Id of the target.
        target: String,
        /// In MHz.
        found: f64,
    },
    /// The bandwidth is outside of the accepted range.
    #[error(
        "target {target}: expected {MIN_BANDWIDTH} to {MAX_BANDWIDTH} bytes a second, found {found}"
    )]
    Bandwidth {
        /// Id of the target.
        target: String,
        /// In bytes a second.
        found: f64,
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

impl Choice {
    /// The target in that configuration. GPUs and accelerators that were learned are available if the library contains
    /// their constants.
    pub fn target(&self) -> Result<Box<dyn Target>, ChoiceError> {
        self.target_among(&Loaded::shipped())
    }

    /// As [`Self::target`], with constants that the caller provides.
    pub fn target_among(&self, loaded: &Loaded) -> Result<Box<dyn Target>, ChoiceError> {
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(json) = &self.measured_device {
            if self.target.is_some() || self.board.is_some() {
                return Err(ChoiceError::NotOne);
            }
            return self.measured(json, loaded);
        }
        let target = match (&self.target, &self.board) {
            (Some(id), None) => self.by_id(id, loaded)?,
            (None, Some(id)) => self.board_target(id)?,
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
                Some(self.adjusted(board.npu_configuration()?))
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
            let configuration = self.npu_configuration(product)?;
            let host = self.host_beside(product.family(), None)?;
            return Ok(ethos_u::target_beside(configuration, host));
        }
        self.check_rates(id)?;
        self.refuse_options_of_npus(id)?;
        self.refuse_memories(id)?;
        self.refuse(id, self.runtime.is_some(), "runtime", "boards")?;
        if let Some(target) = self.microcontroller(id)? {
            return Ok(target);
        }
        self.refuse(id, self.release.is_some(), "release", "ST Edge AI")?;
        self.refuse(
            id,
            self.clock_mhz.is_some(),
            "clock_mhz",
            "microcontrollers and Ethos-U accelerators",
        )?;
        if Gpu::by_id(id).is_some() {
            let gpus = loaded.gpus.as_ref();
            let gpus = gpus.ok_or_else(|| not_loaded(id, "loadGpus"))?;
            return gpu::target(id, gpus).ok_or_else(|| unknown(id));
        }
        if let Some(parsed) = learned::parsed(id) {
            let constants = loaded.learned.as_ref();
            let constants = constants.ok_or_else(|| not_loaded(id, "loadAccelerators"))?;
            let target = parsed.target(constants).ok_or_else(|| unknown(id))?;
            return target.map_err(|expected| ChoiceError::UnknownRelease {
                target: parsed.device.id.to_owned(),
                found: parsed.way.unwrap_or_default().to_owned(),
                expected,
            });
        }
        let target = known().find(|target| target.id() == id);
        target.ok_or_else(|| unknown(id))
    }

    /// On the base that the document names.
    #[cfg(not(target_arch = "wasm32"))]
    fn measured(&self, json: &str, loaded: &Loaded) -> Result<Box<dyn Target>, ChoiceError> {
        let device = Device::parse(json.as_bytes()).map_err(|error| ChoiceError::Device {
            words: error.to_string(),
        })?;
        let base = Self {
            target: Some(device.base.clone()),
            ..Self::default()
        };
        Ok(calibrated::target(device, base.target_among(loaded)?))
    }

    /// Under the release that the id or the choice names.
    fn microcontroller(&self, id: &str) -> Result<Option<Box<dyn Target>>, ChoiceError> {
        let (target, of_id) = cortex_m::split_release(id);
        let Some(fitted) = cortex_m::Constants::shipped().target(target) else {
            return Ok(None);
        };
        let release = of_id.or(self.release.as_deref());
        check_release(id, fitted, release)?;
        let id = match release {
            Some(release) => &format!("{target}@{release}"),
            None => target,
        };
        Ok(cortex_m::target(id, self.clock_mhz))
    }

    fn board_target(&self, id: &str) -> Result<Box<dyn Target>, ChoiceError> {
        self.check_rates(id)?;
        self.refuse_options_of_npus(id)?;
        let board = boards::by_id(id).ok_or_else(|| ChoiceError::UnknownBoard { found: id.into() });
        let board = board?;
        if board.ethos_u.is_some() {
            self.refuse(id, self.release.is_some(), "release", "ST Edge AI")?;
            let configuration = self.adjusted(board.npu_configuration()?);
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
        match expected.contains(&runtime.as_str()) {
            true if is_st => Ok(board.target_at(self.clock_mhz, release)?),
            true => Ok(board.micro_target_at(self.clock_mhz)?),
            false => Err(ChoiceError::UnknownRuntime {
                board: id.to_owned(),
                found: runtime.clone(),
                expected,
            }),
        }
    }

    /// The chosen host, or the usual one of these accelerators; a microcontroller at its board's clock, if that is known.
    fn host_beside(
        &self,
        family: Family,
        clock_mhz: Option<f64>,
    ) -> Result<Option<Host>, ChoiceError> {
        let Some(id) = &self.host else {
            return Ok(ethos_u::usual_host(family, clock_mhz));
        };
        let found = || ChoiceError::UnknownHost { found: id.clone() };
        Host::by_id(id, clock_mhz).map(Some).ok_or_else(found)
    }

    /// The configuration with the chosen clock and memories.
    fn adjusted(&self, mut configuration: Configuration) -> Configuration {
        let system = &mut configuration.system;
        if let Some(clock_mhz) = self.clock_mhz {
            system.clock_hz = clock_mhz * 1e6;
        }
        if let Some(bytes_per_s) = self.off_chip_bytes_per_s {
            let bus_bytes = system.bus_bytes() as f64;
            let off_chip = MemoryArea::ALL
                .into_iter()
                .filter(|area| area.is_off_chip());
            for area in off_chip {
                if let Some(memory) = &mut system.memories[area as usize] {
                    let n_ports = memory.ports_used.max(1) as f64;
                    memory.clock_scale = bytes_per_s / (system.clock_hz * bus_bytes * n_ports);
                }
            }
        }
        if let Some(bytes) = self.arena_cache_bytes {
            configuration.arena_cache_bytes = Some(i64::from(bytes));
        }
        if let Some(strategy) = self.optimise {
            configuration.strategy = strategy;
        }
        configuration
    }

    fn check_rates(&self, id: &str) -> Result<(), ChoiceError> {
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

    fn refuse_memories(&self, id: &str) -> Result<(), ChoiceError> {
        let is_given = self.arena_cache_bytes.is_some();
        self.refuse(id, is_given, "arena_cache_bytes", "Ethos-U accelerators")?;
        self.refuse(id, self.host.is_some(), "host", "Ethos-U accelerators")?;
        self.refuse(
            id,
            self.optimise.is_some(),
            "optimise",
            "Ethos-U accelerators",
        )?;
        let is_given = self.off_chip_bytes_per_s.is_some();
        self.refuse(id, is_given, "off_chip_bytes_per_s", "Ethos-U accelerators")
    }

    /// Memories and clock of the chosen Ethos-U.
    pub fn npu_configuration(&self, product: Product) -> Result<Configuration, ChoiceError> {
        let id = product.name();
        self.check_rates(id)?;
        Ok(self.adjusted(self.configuration(product, id)?))
    }

    fn configuration(&self, product: Product, id: &str) -> Result<Configuration, ChoiceError> {
        let wrong = |error| ChoiceError::Configuration {
            target: id.to_owned(),
            error,
        };
        let vela_ini = self
            .vela_ini
            .as_ref()
            .map(|text| VelaIni::parse(text.as_bytes()));
        let vela_ini = vela_ini.transpose().map_err(wrong)?;
        let [system, memory_mode] = product.default_sections();
        let configuration = Configuration::read(
            product,
            vela_ini.as_ref().unwrap_or(VelaIni::shipped()),
            self.system_config.as_deref().unwrap_or(system),
            self.memory_mode.as_deref().unwrap_or(memory_mode),
        );
        configuration.map_err(wrong)
    }

    fn refuse_options_of_npus(&self, id: &str) -> Result<(), ChoiceError> {
        let options = [
            (self.system_config.is_some(), "system_config"),
            (self.memory_mode.is_some(), "memory_mode"),
            (self.vela_ini.is_some(), "vela_ini"),
        ];
        let mut options = options.into_iter();
        options.try_for_each(|(is_given, option)| {
            self.refuse(id, is_given, option, "an Ethos-U chosen as target")
        })
    }

    fn refuse(
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

fn unknown(id: &str) -> ChoiceError {
    ChoiceError::UnknownTarget { found: id.into() }
}

fn not_loaded(id: &str, by: &'static str) -> ChoiceError {
    ChoiceError::NotLoaded {
        found: id.into(),
        by,
    }
}

/// Refuses a release that the runtime of `fitted` does not have.
fn check_release(
    target: &str,
    fitted: &cortex_m::Target,
    release: Option<&str>,
) -> Result<(), ChoiceError> {
    let expected: Vec<&str> = fitted
        .releases()
        .iter()
        .map(|release| release.id.as_str())
        .collect();
    match release.filter(|id| !expected.contains(id)) {
        Some(found) => Err(ChoiceError::UnknownRelease {
            target: target.to_owned(),
            found: found.to_owned(),
            expected,
        }),
        None => Ok(()),
    }
}

fn releases_in_words(releases: &[&str]) -> String {
    match releases {
        [] => "none, because this runtime was measured in one release".to_owned(),
        _ => format!("one of {}", releases.join(", ")),
    }
}

/// A target under another name.
struct Named {
    id: String,
    device: Option<String>,
    target: Box<dyn Target>,
}

impl Target for Named {
    fn id(&self) -> &str {
        &self.id
    }

    fn description(&self) -> Description {
        self.target.description()
    }

    fn info(&self, manifest: Option<&Manifest>) -> Option<TargetInfo> {
        let info = self.target.info(manifest)?;
        Some(TargetInfo {
            id: self.id.clone(),
            device: self.device.clone().unwrap_or(info.device),
            ..info
        })
    }

    fn unsupported(&self, network: &Network) -> Vec<UnsupportedOperator> {
        self.target.unsupported(network)
    }

    fn host(&self) -> Option<HostInfo> {
        self.target.host()
    }

    fn peak(&self) -> Option<PeakRates> {
        self.target.peak()
    }

    fn measured_range(&self, network: &Network) -> Option<MeasuredRange> {
        self.target.measured_range(network)
    }

    fn takes_any_batch(&self) -> bool {
        self.target.takes_any_batch()
    }

    fn runs_integers_alone(&self) -> bool {
        self.target.runs_integers_alone()
    }

    fn plans_operators(&self) -> bool {
        self.target.plans_operators()
    }

    fn estimate(&self, network: &Network) -> TargetEstimate {
        let estimate = self.target.estimate(network);
        TargetEstimate {
            device: self.device.clone().unwrap_or(estimate.device),
            ..estimate
        }
    }
}

/// Every id that [`Choice::target`] takes, sorted.
pub fn known_targets() -> Vec<String> {
    let mut ids: Vec<String> = known().map(|target| target.id().to_owned()).collect();
    ids.sort_unstable();
    ids
}

/// The end of an error about a name that no target and no board has, from what was typed for one: `; did you mean …?`,
/// or empty where nothing is similar.
pub fn did_you_mean(typed: &str, is_board: bool) -> String {
    // Those whose constants are not loaded are found as well.
    let gpus = GPUS.iter();
    let gpus = gpus.map(|gpu| Candidate::target(gpu.id, gpu.device, &[]));
    let others = known().filter(|target| Gpu::by_id(target.id()).is_none());
    let targets = others.map(|target| {
        let device = target.info(None).map(|info| info.device);
        let Description {
            short_label,
            aliases,
            ..
        } = target.description();
        Candidate::target(target.id(), &device.unwrap_or(short_label), aliases)
    });
    let boards = boards::shipped().iter();
    suggestions::did_you_mean(
        typed,
        is_board,
        targets.chain(gpus).chain(boards.map(Candidate::board)),
    )
}

/// The available metrics of each of [`known_targets`] that needs no trained network.
pub fn known_infos() -> Vec<TargetInfo> {
    known().filter_map(|target| target.info(None)).collect()
}

/// Every id that [`Choice::board`] may be, in the order of the table.
pub fn known_boards() -> Vec<&'static str> {
    let boards = boards::shipped().iter();
    boards.map(|board| board.id.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(json: &str) -> Result<String, String> {
        let choice: Choice = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let target = choice
            .target()
            .map_err(|error| format!("{}: {error}", error.kind()))?;
        let info = target.info(None).ok_or("only with a predictor")?;
        Ok(format!("{} {}", target.id(), info.learned_from))
    }

    #[test]
    fn every_known_id_is_a_target() {
        for id in known_targets() {
            let choice = Choice {
                target: Some(id.clone()),
                ..Choice::default()
            };
            assert_eq!(choice.target().unwrap().id(), id);
        }
        for id in known_boards() {
            let choice = Choice {
                board: Some(id.to_owned()),
                ..Choice::default()
            };
            let target = choice.target().unwrap();
            let (board, target) = target.id().split_once('/').unwrap();
            assert_eq!(board, id);
            assert!(known_targets().contains(&target.to_owned()), "{id}");
        }
    }

    #[test]
    fn configurations_are_velas() {
        let json =
            r#"{"target": "ethos-u55-128", "memory_mode": "Sram_Only", "arena_cache_bytes": 4096}"#;
        let actual = chosen(json).unwrap();
        assert!(
            actual.contains("Sram_Only, arena cache of 4096 bytes"),
            "{actual}"
        );
        let ini = "[System_Config.Mine]\\ncore_clock=1e8\\naxi0_port=Sram\\naxi1_port=OffChipFlash\\n\
                   Sram_clock_scale=1\\nOffChipFlash_clock_scale=0.1\\n[Memory_Mode.Mine]\\nconst_mem_area=Axi1\\n\
                   arena_mem_area=Axi0\\ncache_mem_area=Axi0\\n";
        let json = format!(
            r#"{{"target": "ethos-u55-64", "vela_ini": "{ini}", "system_config": "Mine", "memory_mode": "Mine"}}"#
        );
        let actual = chosen(&json).unwrap();
        assert!(actual.contains("Mine"), "{actual}");
    }

    /// A given bandwidth does not change with the clock.
    #[test]
    fn clocks_and_memories_are_those_that_were_typed() {
        let json = r#"{"clock_mhz": 250, "off_chip_bytes_per_s": 1e9, "arena_cache_bytes": 4096}"#;
        let choice: Choice = serde_json::from_str(json).unwrap();
        let actual = choice.adjusted(Configuration::new(Product::U55x128));
        assert_eq!(actual.system.clock_hz, 250e6);
        assert_eq!(actual.arena_cache_bytes(), 4096);
        let per_cycle = actual.system.bytes_per_cycle(MemoryArea::OffChipFlash);
        let bytes_per_s = per_cycle * actual.system.clock_hz;
        assert!((bytes_per_s - 1e9).abs() < 1.0, "{bytes_per_s}");
        let json = r#"{"board": "imx93", "name": "mine", "device": "Our board", "clock_mhz": 800}"#;
        let actual = chosen(json).unwrap();
        assert!(actual.starts_with("mine "), "{actual}");
    }

    #[test]
    fn what_is_in_force_is_that_of_the_estimate() {
        let in_force = |json: &str| {
            let choice: Choice = serde_json::from_str(json).unwrap();
            let InForce {
                clock_mhz,
                arena_cache_bytes,
            } = choice.in_force().unwrap();
            (clock_mhz, arena_cache_bytes)
        };
        for (json, expected) in [
            (r#"{"board": "imx93"}"#, (Some(1000.0), Some(384 << 10))),
            (
                r#"{"board": "imx93", "clock_mhz": 800, "arena_cache_bytes": 4096}"#,
                (Some(800.0), Some(4096)),
            ),
            (
                r#"{"target": "ethos-u65-256", "memory_mode": "Dedicated_Sram_256KB"}"#,
                (Some(1000.0), Some(256 << 10)),
            ),
            (
                r#"{"target": "ethos-u55-128"}"#,
                (Some(500.0), Some(1 << 32)),
            ),
            (r#"{"board": "arduino-nano-33-ble"}"#, (Some(64.0), None)),
            (r#"{"target": "cortex-a76-rpi5"}"#, (None, None)),
        ] {
            assert_eq!(in_force(json), expected, "{json}");
        }
    }

    #[test]
    fn what_names_no_target_is_refused() {
        for (json, expected) in [
            ("{}", "wrong-argument: expected either"),
            (
                r#"{"target": "ethos-u55-128", "board": "imx93"}"#,
                "wrong-argument: expected either",
            ),
            (
                r#"{"target": "ethos-u55"}"#,
                "unknown-target: target ethos-u55: no target has this id; did you mean ethos-u55-",
            ),
            (r#"{"board": "nowhere"}"#, "unknown-board: board nowhere"),
            (
                r#"{"target": "edge-tpu", "memory_mode": "Sram_Only"}"#,
                "wrong-argument: target edge-tpu: `memory_mode`",
            ),
            (
                r#"{"target": "ethos-u55-128", "clock_mhz": -5.0}"#,
                "wrong-argument: target ethos-u55-128: expected a clock",
            ),
            (
                r#"{"target": "ethos-u55-128", "off_chip_bytes_per_s": 0.0}"#,
                "wrong-argument: target ethos-u55-128: expected 100000",
            ),
            (
                r#"{"target": "cortex-a76-rpi5", "clock_mhz": 5.0}"#,
                "wrong-argument: target cortex-a76-rpi5: `clock_mhz`",
            ),
            (
                r#"{"target": "cortex-a76-rpi5", "off_chip_bytes_per_s": 1e9}"#,
                "wrong-argument: target cortex-a76-rpi5: `off_chip_bytes_per_s`",
            ),
            (
                r#"{"target": "ethos-u55-128", "memory_mode": "None"}"#,
                "configuration: target ethos-u55-128",
            ),
            (r#"{"targets": "ethos-u55-128"}"#, "unknown field"),
        ] {
            let actual = chosen(json).unwrap_err();
            assert!(actual.starts_with(expected), "{json}: {actual}");
        }
    }

    /// What people type, and what has to be among what is offered.
    #[test]
    fn names_that_people_type_lead_to_targets_and_boards() {
        for (typed, is_board, expected) in [
            ("raspberry-pi-5", false, "cortex-a76-rpi5"),
            ("Raspberry Pi 4", false, "cortex-a72-rpi4"),
            ("rpi5", false, "cortex-a76-rpi5"),
            ("rasberry-pi-5", false, "cortex-a76-rpi5"),
            ("h743", true, "nucleo-h743zi"),
            ("h743", false, "the board nucleo-h743zi"),
            ("STM32H743", true, "nucleo-h743zi"),
            ("stm32h743zi", false, "nucleo-h743zi"),
            ("rp2040", true, "raspberry-pi-pico"),
            ("pico2", true, "raspberry-pi-pico-2"),
            ("nrf52840", true, "nrf52840-dk"),
            ("imx8mp", false, "cortex-a53-imx8mp"),
            ("i.MX93", true, "imx93"),
            ("ethos-u55", false, "ethos-u55-128"),
            ("u85-256", false, "ethos-u85-256"),
            ("etos-u55-128", false, "ethos-u55-128"),
            ("cortex-m7", false, "cortex-m7-stm32h747"),
            ("cortex-m7", false, "cortex-m7-tflm"),
            ("cortex-m33", false, "cortex-m33-stm32u585"),
            ("m7", false, "cortex-m7-stm32h747"),
            ("cortex-m7", true, "stm32h747i-disco"),
            ("nano33ble", true, "arduino-nano-33-ble"),
            ("teensy41", true, "teensy-4-1"),
            ("coral", false, "edgetpu"),
            ("esp32", true, "esp32-devkitc"),
            ("alif-e7", true, "alif-e7-devkit"),
        ] {
            let actual = did_you_mean(typed, is_board);
            println!("{typed}{actual}");
            assert!(actual.contains(expected), "{typed}: {actual}");
        }
        for typed in ["", "x", "quantum-computer", "🦀🦀🦀"] {
            assert_eq!(did_you_mean(typed, false), "", "{typed}");
        }
    }
}
