//! The targets that a command line chooses.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use litecast::targets::choice::{Choice, ChoiceError};
use litecast::targets::ethos_u::configuration::{Product, VelaIni};
use litecast::targets::{Target, cortex_m, gpu};

/// Options that choose targets.
#[derive(clap::Args, Clone, Default)]
pub struct TargetArgs {
    /// A target that `litecast targets` lists, or any Ethos-U, for example ethos-u55-128. Give it again for
    /// several; without it, all that are listed but GPUs.
    #[arg(long = "target", value_name = "ID")]
    pub targets: Vec<String>,
    /// The Ethos-U or, where it has none, the core of a board, for example imx93 or arduino-nano-33-ble. Give
    /// it again for several.
    #[arg(long = "board", value_name = "ID")]
    pub boards: Vec<String>,
    /// Estimate on every GPU that is known, for as many inputs at a time as `--batch` says.
    #[arg(long)]
    pub gpu: bool,
    /// System configurations and memory modes as Vela reads them, instead of those that it knows.
    #[arg(long, value_name = "FILE", requires = "targets")]
    pub vela_ini: Option<PathBuf>,
    /// System configuration of every Ethos-U that is chosen.
    #[arg(long, value_name = "NAME", requires = "targets")]
    pub system_config: Option<String>,
    /// Memory mode of every Ethos-U that is chosen.
    #[arg(long, value_name = "NAME", requires = "targets")]
    pub memory_mode: Option<String>,
    /// SRAM in bytes that Vela may fill where it has an SRAM of its own.
    #[arg(long, value_name = "BYTES", requires = "targets")]
    pub arena_cache_size: Option<u32>,
    /// Clock of every microcontroller and Ethos-U that is chosen, instead of its own.
    #[arg(long = "clock", value_name = "MHZ", requires = "targets")]
    pub clock_mhz: Option<f64>,
}

type Chosen = Vec<Box<dyn Target>>;

impl TargetArgs {
    /// None where the command line chooses none.
    pub fn chosen(&self) -> Result<Option<Chosen>, Box<dyn Error>> {
        if self.targets.is_empty() && self.boards.is_empty() && !self.gpu {
            return Ok(None);
        }
        let options = self.options()?;
        let mut chosen = Chosen::new();
        for id in &self.targets {
            chosen.push(self.target(id, &options)?);
        }
        if self.gpu {
            chosen.extend(gpu::targets(gpu::bundle::Bundle::shipped()));
        }
        for id in &self.boards {
            let board = Choice {
                board: Some(id.clone()),
                ..Choice::default()
            };
            chosen.push(board.target()?);
        }
        Ok(Some(chosen))
    }

    /// The same choice as arguments of a command line.
    pub fn arguments(&self) -> Vec<String> {
        let targets = self.targets.iter().map(|id| format!("--target={id}"));
        let boards = self.boards.iter().map(|id| format!("--board={id}"));
        let gpu = self.gpu.then(|| "--gpu".to_owned());
        let ini = self.vela_ini.iter();
        let ini = ini.map(|path| format!("--vela-ini={}", path.display()));
        let system = self.system_config.iter();
        let system = system.map(|name| format!("--system-config={name}"));
        let mode = self.memory_mode.iter();
        let mode = mode.map(|name| format!("--memory-mode={name}"));
        let size = self.arena_cache_size.iter();
        let size = size.map(|bytes| format!("--arena-cache-size={bytes}"));
        let clock = self.clock_mhz.iter();
        let clock = clock.map(|clock_mhz| format!("--clock={clock_mhz}"));
        (targets.chain(boards).chain(gpu).chain(ini))
            .chain(system.chain(mode).chain(size).chain(clock))
            .collect()
    }

    /// What the options say of every target that takes them.
    fn options(&self) -> Result<Choice, Box<dyn Error>> {
        let read = |path: &PathBuf| {
            let in_file = |error: &dyn Error| format!("{}: {error}", path.display());
            let bytes = fs::read(path).map_err(|error| in_file(&error))?;
            VelaIni::parse(&bytes).map_err(|error| in_file(&error))?;
            String::from_utf8(bytes).map_err(|error| in_file(&error))
        };
        Ok(Choice {
            system_config: self.system_config.clone(),
            memory_mode: self.memory_mode.clone(),
            arena_cache_bytes: self.arena_cache_size,
            vela_ini: self.vela_ini.as_ref().map(read).transpose()?,
            clock_mhz: self.clock_mhz,
            ..Choice::default()
        })
    }

    /// An option is for the chosen targets that take it; where none does, the first one refuses it.
    fn target(&self, id: &str, options: &Choice) -> Result<Box<dyn Target>, Box<dyn Error>> {
        let is_npu = |id: &String| Product::by_name(id).is_some();
        let has_clock = |id: &String| is_npu(id) || cortex_m::target(id, None).is_some();
        let target = id.to_owned();
        let takes_npu_options = is_npu(&target) || !self.targets.iter().any(is_npu);
        let takes_clock = has_clock(&target) || !self.targets.iter().any(has_clock);
        let of_npus = match takes_npu_options {
            true => options.clone(),
            false => Choice::default(),
        };
        let choice = Choice {
            target: Some(target),
            clock_mhz: options.clock_mhz.filter(|_| takes_clock),
            ..of_npus
        };
        let in_file = |error| match (&self.vela_ini, &error) {
            (Some(path), ChoiceError::Configuration { .. }) => {
                format!("{}: {error}", path.display())
            }
            _ => error.to_string(),
        };
        Ok(choice.target().map_err(in_file)?)
    }
}
