//! Choices of an Ethos-U: its memories, clock and host.

use super::error::ChoiceError;
use super::options::Choice;
use crate::targets::ethos_u;
use crate::targets::ethos_u::configuration::{Configuration, Family, MemoryArea, Product, VelaIni};
use crate::targets::host::Host;

impl Choice {
    /// Memories and clock of the chosen Ethos-U.
    pub fn npu_configuration(&self, product: Product) -> Result<Configuration, ChoiceError> {
        let id = product.name();
        self.check_rates(id)?;
        Ok(self.with_chosen_rates(self.configuration(product, id)?))
    }

    fn configuration(&self, product: Product, id: &str) -> Result<Configuration, ChoiceError> {
        let wrong = |error| ChoiceError::Configuration {
            target: id.to_owned(),
            error,
        };
        let vela_ini = self.vela_ini.as_deref().map(VelaIni::of_text);
        let vela_ini = vela_ini.transpose().map_err(wrong)?;
        let [system, memory_mode] = product.default_sections();
        let configuration = Configuration::read(
            product,
            vela_ini.as_deref().unwrap_or(VelaIni::shipped()),
            self.system_config.as_deref().unwrap_or(system),
            self.memory_mode.as_deref().unwrap_or(memory_mode),
        );
        configuration.map_err(wrong)
    }

    /// The configuration with the chosen clock and memories.
    pub(super) fn with_chosen_rates(&self, mut configuration: Configuration) -> Configuration {
        let system = &mut configuration.system;
        if let Some(clock_mhz) = self.clock_mhz {
            system.clock_hz = clock_mhz * 1e6;
            configuration.chosen_clock_hz = Some(system.clock_hz);
        }
        if let Some(bytes_per_s) = self.off_chip_bytes_per_s {
            configuration.chosen_off_chip_bytes_per_s = Some(bytes_per_s);
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

    /// The chosen host, or the usual one of these accelerators; a microcontroller at its board's clock, if that is known.
    pub(super) fn host_beside(
        &self,
        family: Family,
        clock_mhz: Option<f64>,
    ) -> Result<Option<Host>, ChoiceError> {
        let Some(id) = &self.host else {
            return Ok(ethos_u::usual_host(family, clock_mhz));
        };
        let unknown = || ChoiceError::UnknownHost { found: id.clone() };
        Host::by_id(id, clock_mhz).map(Some).ok_or_else(unknown)
    }

    pub(super) fn refuse_options_of_npus(&self, id: &str) -> Result<(), ChoiceError> {
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

    pub(super) fn refuse_memories(&self, id: &str) -> Result<(), ChoiceError> {
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
}
