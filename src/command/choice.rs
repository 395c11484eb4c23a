//! The targets that the options of a command choose.

use std::collections::HashSet;
use std::error::Error;
use std::fs;
use std::io::Read;
use std::path::PathBuf;

use serde::Deserialize;

use litecast::calibration::MAX_DEVICE_BYTES;
use litecast::formats::shown;
use litecast::targets::choice::{Choice, ChoiceError};
use litecast::targets::ethos_u::configuration::vela_ini::MAX_INI_BYTES;
use litecast::targets::ethos_u::configuration::{Product, Strategy, VelaIni};
use litecast::targets::{FAMILIES, Target, cortex_m, gpu, known, learned_accelerators};

use super::inputs::contents;

/// Options that choose targets.
#[derive(clap::Args, Clone, Default)]
pub struct TargetArgs {
    /// A target that `litecast targets` lists, or any Ethos-U, for example ethos-u55-128. Can be repeated; the
    /// default is all listed targets except microcontrollers, GPUs, phones and NPU boards.
    #[arg(long = "target", value_name = "ID")]
    pub targets: Vec<String>,
    /// A board, for example imx93 or arduino-nano-33-ble: its Ethos-U or, if it has none, its core. Can be
    /// repeated.
    #[arg(long = "board", value_name = "ID")]
    pub boards: Vec<String>,
    /// A device of your own, a file that `litecast calibrate` wrote. Can be repeated.
    #[arg(long = "device", value_name = "JSON")]
    pub devices: Vec<PathBuf>,
    /// Runtime on the cores of the chosen boards, tflite-micro or st-edge-ai, instead of the one that their published
    /// latencies are of.
    #[arg(long, value_name = "ID", requires = "boards")]
    pub runtime: Option<String>,
    /// Release of ST Edge AI on the chosen STM32: 7, 8, 9, 10 or, with its option `-O time`, 10-time. `--target ID@RELEASE`
    /// chooses it for one of several.
    #[arg(long, value_name = "ID")]
    pub release: Option<String>,
    /// Estimate on every known GPU, with the batch size of `--batch`.
    #[arg(long)]
    pub gpu: bool,
    /// Estimate on every target of a group, for example phones-and-boards. Can be repeated.
    #[arg(long = "group", value_name = "ID")]
    pub groups: Vec<String>,
    #[command(flatten)]
    pub npu: NpuArgs,
    /// Processor that runs what the chosen Ethos-Us leave to it, for example cortex-a53-imx8mp or cortex-m33-tflm.
    #[arg(long, value_name = "ID")]
    pub host: Option<String>,
    /// Clock of the chosen microcontrollers and Ethos-Us, instead of their default.
    #[arg(long = "clock", value_name = "MHZ")]
    pub clock_mhz: Option<f64>,
    /// What the network took on another device of Qualcomm, for example galaxy-s24=12.3ms: its chosen ones are estimated by it.
    #[arg(long, value_name = "ID=MS", value_parser = measured)]
    pub measured: Option<(String, f64)>,
}

/// `ID=MS`, with or without a unit.
pub fn measured(text: &str) -> Result<(String, f64), String> {
    let split = text.rsplit_once('=');
    let ms = split.and_then(|(id, ms)| Some((id, ms.trim_end_matches("ms").trim().parse().ok()?)));
    let (id, ms) = ms.ok_or("expected ID=MS, for example galaxy-s24=12.3ms")?;
    Ok((id.to_owned(), ms))
}

/// Vela's options for the chosen Ethos-Us.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct NpuArgs {
    /// A vela.ini with system configurations and memory modes, instead of Vela's own.
    #[arg(long, value_name = "FILE")]
    pub vela_ini: Option<PathBuf>,
    /// System configuration of the chosen Ethos-Us.
    #[arg(long, value_name = "NAME")]
    pub system_config: Option<String>,
    /// Memory mode of the chosen Ethos-Us.
    #[arg(long, value_name = "NAME")]
    pub memory_mode: Option<String>,
    /// Bytes of SRAM that Vela may use (its option of the same name).
    #[arg(long, value_name = "BYTES")]
    pub arena_cache_size: Option<u32>,
    /// Whether Vela optimises for speed or for little SRAM (its option of the same name).
    #[arg(long, value_name = "STRATEGY")]
    pub optimise: Option<Optimise>,
}

impl NpuArgs {
    /// The options as a choice without targets.
    pub fn choice(&self) -> Result<Choice, Box<dyn Error>> {
        let read = |path: &PathBuf| -> Result<String, String> {
            let in_file = |error: &dyn Error| format!("{}: {error}", path.display());
            let file = fs::File::open(path).map_err(|error| in_file(&error))?;
            let mut bytes = Vec::new();
            // A device has bytes without end.
            (file.take(MAX_INI_BYTES as u64 + 1).read_to_end(&mut bytes))
                .map_err(|error| in_file(&error))?;
            let text = String::from_utf8(bytes).map_err(|error| {
                // Names the line.
                VelaIni::parse(error.as_bytes())
                    .map_or_else(|words| in_file(&words), |_| in_file(&error))
            })?;
            VelaIni::of_text(&text).map_err(|error| in_file(&error))?;
            Ok(text)
        };
        Ok(Choice {
            system_config: self.system_config.clone(),
            memory_mode: self.memory_mode.clone(),
            arena_cache_bytes: self.arena_cache_size,
            optimise: self.optimise.map(Optimise::strategy),
            vela_ini: self.vela_ini.as_ref().map(read).transpose()?,
            ..Choice::default()
        })
    }

    /// The first option that was given.
    fn given(&self) -> Option<&'static str> {
        let options = [
            (self.vela_ini.is_some(), "--vela-ini"),
            (self.system_config.is_some(), "--system-config"),
            (self.memory_mode.is_some(), "--memory-mode"),
            (self.arena_cache_size.is_some(), "--arena-cache-size"),
            (self.optimise.is_some(), "--optimise"),
        ];
        let mut given = options.into_iter().filter(|(is_given, _)| *is_given);
        given.next().map(|(_, option)| option)
    }

    /// The same options as arguments of a command line.
    fn arguments(&self) -> impl Iterator<Item = String> {
        let ini = self.vela_ini.as_ref();
        let ini = ini.map(|path| format!("--vela-ini={}", path.display()));
        let system = self.system_config.as_ref();
        let system = system.map(|name| format!("--system-config={name}"));
        let mode = self.memory_mode.as_ref();
        let mode = mode.map(|name| format!("--memory-mode={name}"));
        let size = self.arena_cache_size;
        let size = size.map(|bytes| format!("--arena-cache-size={bytes}"));
        let optimise = self.optimise.map(Optimise::strategy);
        let optimise = optimise.map(|strategy| format!("--optimise={}", strategy.name()));
        [ini, system, mode, size, optimise].into_iter().flatten()
    }
}

/// Vela's `--optimise`, in its spelling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Deserialize)]
#[value(rename_all = "PascalCase")]
pub enum Optimise {
    /// As fast as possible within the arena cache
    Performance,
    /// In as little SRAM as possible
    Size,
}

impl Optimise {
    fn strategy(self) -> Strategy {
        match self {
            Self::Performance => Strategy::Performance,
            Self::Size => Strategy::Size,
        }
    }
}

fn is_learned(id: &str) -> bool {
    learned_accelerators::parse_id(id).is_some()
}

/// A target that takes the options of [`NpuArgs`].
const EXAMPLE: &str = "ethos-u55-128";

pub type Chosen = Vec<Box<dyn Target>>;

/// Every target of a family.
pub fn group(id: &str) -> Result<Chosen, Box<dyn Error>> {
    let chosen: Chosen = known()
        .filter(|target| target.description().family.id == id)
        .collect();
    if !chosen.is_empty() {
        return Ok(chosen);
    }
    let ids = FAMILIES.map(|family| family.id).join(", ");
    Err(format!("--group {}: expected one of {ids}", shown(id)).into())
}

impl TargetArgs {
    /// None where the command line chooses none.
    pub fn chosen(&self) -> Result<Option<Chosen>, Box<dyn Error>> {
        self.refuse_options_without_targets()?;
        if self.targets.is_empty()
            && self.boards.is_empty()
            && self.devices.is_empty()
            && self.groups.is_empty()
            && !self.gpu
        {
            self.refuse_options_of_boards()?;
            return Ok(None);
        }
        let options = Choice {
            clock_mhz: self.clock_mhz,
            release: self.release.clone(),
            host: self.host.clone(),
            measured_on: self.measured.as_ref().map(|(on, _)| on.clone()),
            measured_ms: self.measured.as_ref().map(|(_, ms)| *ms),
            ..self.npu.choice()?
        };
        let mut chosen = Chosen::new();
        for id in &self.targets {
            chosen.push(self.target(id, &options)?);
        }
        if self.gpu {
            chosen.extend(gpu::targets(gpu::bundle::Bundle::shipped()));
        }
        for id in &self.groups {
            chosen.extend(self.group(id, &options)?);
        }
        for id in &self.boards {
            let board = Choice {
                board: Some(id.clone()),
                runtime: self.runtime.clone(),
                release: self.release.clone(),
                host: self.host.clone(),
                ..Choice::default()
            };
            chosen.push(board.target()?);
        }
        for path in &self.devices {
            let in_file = |words: String| format!("{}: {words}", path.display());
            let bytes = contents(path, MAX_DEVICE_BYTES)?;
            let json = String::from_utf8(bytes).map_err(|error| in_file(error.to_string()))?;
            let device = Choice {
                measured_device: Some(json),
                ..Choice::default()
            };
            chosen.push(
                device
                    .target()
                    .map_err(|error| in_file(error.to_string()))?,
            );
        }
        // What was named twice is estimated once.
        let mut ids = HashSet::new();
        chosen.retain(|target| ids.insert(target.id().to_owned()));
        Ok(Some(chosen))
    }

    /// Every target of a family, by the measurement elsewhere where they take one.
    fn group(&self, id: &str, options: &Choice) -> Result<Chosen, Box<dyn Error>> {
        let targets = group(id)?;
        if self.measured.is_none() || id != learned_accelerators::FAMILY.id {
            return Ok(targets);
        }
        let ids = targets.iter().map(|target| target.id());
        ids.map(|id| self.target(id, options)).collect()
    }

    /// Refuses options of targets and boards where neither is chosen.
    fn refuse_options_of_boards(&self) -> Result<(), Box<dyn Error>> {
        if self.host.is_some() {
            let example =
                format!("expected --target or --board with an Ethos-U, for example {EXAMPLE}");
            return Err(format!("--host: {example}").into());
        }
        if self.release.is_some() {
            let example =
                "expected --target or --board with an STM32, for example cortex-m7-stm32h747";
            return Err(format!("--release: {example}").into());
        }
        Ok(())
    }

    /// Refuses options of targets where none is chosen.
    fn refuse_options_without_targets(&self) -> Result<(), Box<dyn Error>> {
        if self.runtime.is_some() && self.boards.is_empty() {
            return Err("--runtime: expected --board, for example stm32h747i-disco".into());
        }
        if let Some(option) = self.npu.given().filter(|_| self.targets.is_empty()) {
            let example = format!("expected --target with an Ethos-U, for example {EXAMPLE}");
            return Err(format!("{option}: {example}").into());
        }
        let has_learned = self.targets.iter().any(|id| is_learned(id))
            || self
                .groups
                .contains(&learned_accelerators::FAMILY.id.to_owned());
        if self.measured.is_some() && !has_learned {
            let example =
                "expected --target or --group with a phone or an NPU board, for example galaxy-s25";
            return Err(format!("--measured: {example}").into());
        }
        if self.clock_mhz.is_some() && self.targets.is_empty() {
            let example = "expected --target with a microcontroller or an Ethos-U, for example cortex-m4-tflm";
            return Err(format!("--clock: {example}; a board has a clock of its own").into());
        }
        Ok(())
    }

    /// The same choice as arguments of a command line.
    pub fn arguments(&self) -> Vec<String> {
        let targets = self.targets.iter().map(|id| format!("--target={id}"));
        let boards = self.boards.iter().map(|id| format!("--board={id}"));
        let devices = self.devices.iter();
        let devices = devices.map(|path| format!("--device={}", path.display()));
        let gpu = self.gpu.then(|| "--gpu".to_owned());
        let groups = self.groups.iter().map(|id| format!("--group={id}"));
        let clock = self.clock_mhz.iter();
        let clock = clock.map(|clock_mhz| format!("--clock={clock_mhz}"));
        let host = self.host.as_ref().map(|id| format!("--host={id}"));
        let runtime = self.runtime.as_ref();
        let runtime = runtime.map(|id| format!("--runtime={id}"));
        let release = self.release.as_ref();
        let release = release.map(|id| format!("--release={id}"));
        (targets
            .chain(boards)
            .chain(devices)
            .chain(gpu)
            .chain(groups)
            .chain(host)
            .chain(runtime)
            .chain(release))
        .chain(self.npu.arguments())
        .chain(clock)
        .chain(
            self.measured
                .iter()
                .map(|(on, ms)| format!("--measured={on}={ms}")),
        )
        .collect()
    }

    /// An option is for the chosen targets that take it; where none does, the first one refuses it.
    fn target(&self, id: &str, options: &Choice) -> Result<Box<dyn Target>, Box<dyn Error>> {
        let is_npu = |id: &String| Product::by_name(id).is_some();
        let has_clock = |id: &String| is_npu(id) || cortex_m::target(id, None).is_some();
        let target = id.to_owned();
        let takes_npu_options = is_npu(&target) || !self.targets.iter().any(is_npu);
        let takes_clock = has_clock(&target) || !self.targets.iter().any(has_clock);
        let has_releases = |id: &String| {
            let (id, _) = cortex_m::split_release(id);
            let fitted = cortex_m::Constants::shipped().target(id);
            fitted.is_some_and(|fitted| fitted.release.is_some())
        };
        let takes_release = has_releases(&target) || !self.targets.iter().any(has_releases);
        let of_npus = if takes_npu_options {
            options.clone()
        } else {
            Choice::default()
        };
        let choice = Choice {
            target: Some(target),
            clock_mhz: options.clock_mhz.filter(|_| takes_clock),
            release: options.release.clone().filter(|_| takes_release),
            measured_on: options.measured_on.clone().filter(|_| is_learned(id)),
            measured_ms: options.measured_ms.filter(|_| is_learned(id)),
            ..of_npus
        };
        let in_file = |error| match (&self.npu.vela_ini, &error) {
            (Some(path), ChoiceError::Configuration { .. }) => {
                format!("{}: {error}", path.display())
            }
            _ => error.to_string(),
        };
        Ok(choice.target().map_err(in_file)?)
    }
}
