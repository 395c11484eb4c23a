//! The targets that a command line chooses.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use litecast::targets::ethos_u::configuration::{Configuration, Product, VelaIni};
use litecast::targets::{Target, boards, cortex_m, ethos_u, registry};

/// Options that choose targets.
#[derive(clap::Args)]
pub struct TargetArgs {
    /// Estimate on this target alone: one that `litecast targets` lists, or any Ethos-U by Vela's name
    /// (`ethos-u55-128`). Give it again for several.
    #[arg(long = "target", value_name = "ID")]
    targets: Vec<String>,
    /// Estimate on the NPU of this board (`imx93`). Give it again for several.
    #[arg(long = "board", value_name = "ID")]
    boards: Vec<String>,
    /// System configurations and memory modes as Vela reads them, instead of those that it knows.
    #[arg(long, value_name = "FILE", requires = "targets")]
    vela_ini: Option<PathBuf>,
    /// System configuration of every Ethos-U that is chosen.
    #[arg(long, value_name = "NAME", requires = "targets")]
    system_config: Option<String>,
    /// Memory mode of every Ethos-U that is chosen.
    #[arg(long, value_name = "NAME", requires = "targets")]
    memory_mode: Option<String>,
    /// SRAM in bytes that Vela may fill where it has an SRAM of its own.
    #[arg(long, value_name = "BYTES", requires = "targets")]
    arena_cache_size: Option<i64>,
    /// Clock of every microcontroller that is chosen, instead of its own.
    #[arg(long = "clock", value_name = "MHZ", requires = "targets")]
    clock_mhz: Option<f64>,
}

type Chosen = Vec<Box<dyn Target>>;

impl TargetArgs {
    /// None where the command line chooses none.
    pub fn chosen(&self) -> Result<Option<Chosen>, Box<dyn Error>> {
        if self.targets.is_empty() && self.boards.is_empty() {
            return Ok(None);
        }
        let shipped = VelaIni::shipped();
        let own = match &self.vela_ini {
            Some(path) => {
                let in_file = |error: &dyn Error| format!("{}: {error}", path.display());
                let bytes = fs::read(path).map_err(|error| in_file(&error))?;
                Some(VelaIni::parse(&bytes).map_err(|error| in_file(&error))?)
            }
            None => None,
        };
        let ini = own.as_ref().unwrap_or(shipped);
        let mut chosen = Chosen::new();
        for id in &self.targets {
            chosen.push(self.target(id, ini)?);
        }
        for id in &self.boards {
            let board = boards::by_id(id).ok_or_else(|| {
                let known: Vec<&str> = boards::shipped().iter().map(|board| &*board.id).collect();
                format!("--board {id}: expected one of {}", known.join(", "))
            })?;
            chosen.push(ethos_u::target(board.npu_configuration()?));
        }
        Ok(Some(chosen))
    }

    /// The same choice as arguments of a command line.
    pub fn arguments(&self) -> Vec<String> {
        let targets = self.targets.iter().map(|id| format!("--target={id}"));
        let boards = self.boards.iter().map(|id| format!("--board={id}"));
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
        (targets.chain(boards).chain(ini))
            .chain(system.chain(mode).chain(size).chain(clock))
            .collect()
    }

    fn target(&self, id: &str, ini: &VelaIni) -> Result<Box<dyn Target>, Box<dyn Error>> {
        if let Some(product) = Product::by_name(id) {
            return Ok(ethos_u::target(self.configuration(product, ini)?));
        }
        if let Some(target) = cortex_m::target(id, self.clock_mhz) {
            return Ok(target);
        }
        let found = registry().iter().position(|target| target.id() == id);
        let targets = found.map(|idx| litecast::targets::registered().swap_remove(idx));
        targets.ok_or_else(|| {
            let registered = registry().iter().map(|target| target.id());
            let npus = Product::ALL.map(Product::name);
            let microcontrollers = cortex_m::Constants::shipped().targets.iter();
            let microcontrollers = microcontrollers.map(|target| target.target.as_str());
            let mut known: Vec<&str> = registered.chain(npus).chain(microcontrollers).collect();
            known.sort_unstable();
            known.dedup();
            format!("--target {id}: expected one of {}", known.join(", ")).into()
        })
    }

    fn configuration(
        &self,
        product: Product,
        ini: &VelaIni,
    ) -> Result<Configuration, Box<dyn Error>> {
        let [system, memory_mode] = product.default_sections();
        let system = self.system_config.as_deref().unwrap_or(system);
        let memory_mode = self.memory_mode.as_deref().unwrap_or(memory_mode);
        let place = match &self.vela_ini {
            Some(path) => path.display().to_string(),
            None => product.name().to_owned(),
        };
        let configuration = Configuration::read(product, ini, system, memory_mode);
        let configuration = configuration.map_err(|error| format!("{place}: {error}"))?;
        if self.arena_cache_size.is_some_and(|bytes| bytes < 0) {
            return Err("--arena-cache-size: expected 0 or more bytes".into());
        }
        Ok(Configuration {
            arena_cache_bytes: self.arena_cache_size,
            ..configuration
        })
    }
}
