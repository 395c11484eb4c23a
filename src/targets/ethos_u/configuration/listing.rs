//! The names that a choice of an Ethos-U may use, for programs that offer this choice.

use serde::Serialize;

use super::{Configuration, IniError, Product, VelaIni};
use crate::target::HostInfo;
use crate::targets::host::Host;

/// Products, and the sections of a `vela.ini`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Accelerators {
    pub npus: Vec<Npu>,
    pub system_configs: Vec<System>,
    pub memory_modes: Vec<String>,
    /// Processors that can run what an Ethos-U leaves to them.
    pub hosts: Vec<HostInfo>,
}

/// A product in its default configuration.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Npu {
    pub id: &'static str,
    pub device: String,
    pub system_config: &'static str,
    pub memory_mode: &'static str,
    pub clock_mhz: f64,
    /// `None` for all memory that the product can address.
    pub arena_cache_bytes: Option<i64>,
}

/// A section of memories and their clock.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct System {
    pub name: String,
    pub clock_mhz: f64,
}

impl Accelerators {
    /// Lists the products with the sections of a `vela.ini`, or with Vela's own sections.
    pub fn list(vela_ini: Option<&str>) -> Result<Self, IniError> {
        let users_ini = vela_ini.map(|text| VelaIni::parse(text.as_bytes()));
        let users_ini = users_ini.transpose()?;
        let ini = users_ini.as_ref().unwrap_or(VelaIni::shipped());
        let system = |name: &str| {
            Ok(System {
                name: name.to_owned(),
                clock_mhz: ini.system_configuration(name)?.clock_hz / 1e6,
            })
        };
        Ok(Self {
            npus: Product::ALL.map(Npu::new).into(),
            system_configs: ini
                .system_configurations()
                .map(system)
                .collect::<Result<_, _>>()?,
            memory_modes: ini.memory_modes().map(str::to_owned).collect(),
            hosts: Host::all().map(|host| host.info()).collect(),
        })
    }
}

impl Npu {
    fn new(product: Product) -> Self {
        let [system_config, memory_mode] = product.default_sections();
        let configuration = Configuration::new(product);
        Self {
            id: product.name(),
            device: product.device(),
            system_config,
            memory_mode,
            clock_mhz: configuration.system.clock_hz / 1e6,
            arena_cache_bytes: configuration.memory_mode.arena_cache_bytes,
        }
    }
}
