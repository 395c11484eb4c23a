//! An accelerator and its memories, as a [`vela.ini`](vela_ini) and a command line of Vela describe them.
//!
//! [`product`] lists the accelerators, [`system`] is a clock with memories, [`memory_mode`] says which data is in which
//! memory, and [`vela_ini`] reads both from a file.

pub mod board;
mod known;
pub mod listing;
pub mod memory_mode;
pub mod product;
pub mod strategy;
pub mod system;
pub mod vela_ini;

use std::sync::LazyLock;

pub use board::BoardError;
pub use listing::Accelerators;
pub use memory_mode::{MemoryMode, Placement};
pub use product::{Family, Product};
pub use strategy::Strategy;
pub use system::{MemoryArea, MemoryParameters, SystemConfiguration};
pub use vela_ini::{IniError, VelaIni};

use crate::target::Settings;

static KNOWN: LazyLock<VelaIni> = LazyLock::new(|| {
    VelaIni::parse(known::vela_ini().as_bytes()).expect("a test reads every section of the table")
});

/// One accelerator in one system configuration and memory mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    pub product: Product,
    pub system: SystemConfiguration,
    pub memory_mode: MemoryMode,
    /// Vela's `--arena-cache-size`: SRAM that the compiler may fill, in bytes, instead of what the memory
    /// mode says.
    pub arena_cache_bytes: Option<i64>,
    pub strategy: Strategy,
    /// Instead of the clock of the system configuration.
    pub chosen_clock_hz: Option<f64>,
    /// Instead of what the system configuration moves off chip.
    pub chosen_off_chip_bytes_per_s: Option<f64>,
}

impl Configuration {
    /// A product in the default system configuration and memory mode of its family.
    pub fn new(product: Product) -> Self {
        let [system, memory_mode] = product.default_sections();
        Self::read(product, VelaIni::shipped(), system, memory_mode)
            .expect("a test reads every default")
    }

    /// A product in the given sections of a `vela.ini`.
    pub fn read(
        product: Product,
        ini: &VelaIni,
        system: &str,
        memory_mode: &str,
    ) -> Result<Self, IniError> {
        let system = ini.system_configuration(system)?;
        let memory_mode = ini.memory_mode(memory_mode, &system)?;
        ini.check_arena_cache(&memory_mode, product.max_address_bytes())?;
        Ok(Self {
            product,
            system,
            memory_mode,
            arena_cache_bytes: None,
            strategy: Strategy::default(),
            chosen_clock_hz: None,
            chosen_off_chip_bytes_per_s: None,
        })
    }

    /// SRAM that the compiler may fill, in bytes.
    pub fn arena_cache_bytes(&self) -> i64 {
        let most = self.product.max_address_bytes();
        (self.arena_cache_bytes)
            .or(self.memory_mode.arena_cache_bytes)
            .unwrap_or(most)
            .clamp(0, most)
    }

    /// The configuration without the accelerator, in the words of `vela.ini`.
    pub fn in_words(&self) -> String {
        let mut words = format!("{}, {}", self.system.name, self.memory_mode.name);
        if let Some(bytes) = self.arena_cache_bytes {
            words += &format!(", arena cache of {bytes} bytes");
        }
        if self.strategy == Strategy::Size {
            words += ", optimised for size";
        }
        words
    }

    /// What can be chosen of it.
    pub fn settings(&self) -> Settings {
        Settings {
            clock_mhz: Some(self.system.clock_hz / 1e6),
            system_config: Some(self.system.name.clone()),
            memory_mode: Some(self.memory_mode.name.clone()),
            arena_cache_bytes: Some(self.arena_cache_bytes()),
            optimise: Some(self.strategy.name().to_owned()),
            off_chip_bytes_per_s: self.chosen_off_chip_bytes_per_s,
            ..Settings::default()
        }
    }

    /// The same with the clock and the memory rate that were chosen beside it.
    pub fn in_words_with_rates(&self) -> String {
        let mut words = self.in_words();
        if let Some(clock_hz) = self.chosen_clock_hz {
            words += &format!(", at {} MHz", clock_hz / 1e6);
        }
        if let Some(bytes_per_s) = self.chosen_off_chip_bytes_per_s {
            words += &format!(", {} MB/s off chip", bytes_per_s / 1e6);
        }
        words
    }
}

impl VelaIni {
    /// System configurations and memory modes that Vela 5.2.0 knows by name.
    pub fn shipped() -> &'static Self {
        &KNOWN
    }
}

#[cfg(test)]
mod tests;
