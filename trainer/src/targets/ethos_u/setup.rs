//! One configuration that is compared.

use litecast::targets::ethos_u::configuration::Configuration;

use crate::labels::target::{self, Target, VelaOptions};

/// A configuration, with its file if that is not Vela's own.
pub struct Setup {
    /// The accelerator with its clock and memories.
    pub configuration: Configuration,
    /// Text of its `vela.ini`; `None` for that of Vela.
    pub vela_ini: Option<String>,
}

impl Setup {
    /// The target in the format of the labelling tool.
    pub fn vela_target(&self) -> Target {
        let configuration = &self.configuration;
        let product = configuration.product.name();
        Target {
            id: format!("{product} {}", configuration.in_words()),
            configuration: target::Configuration::EthosU {
                accelerator: product.into(),
                system_config: configuration.system.name.clone(),
                memory_mode: configuration.memory_mode.name.clone(),
                options: VelaOptions {
                    arena_cache_size: configuration.arena_cache_bytes,
                    optimise: Some(configuration.strategy.name().into()),
                    vela_ini: self.vela_ini.clone(),
                },
            },
        }
    }
}
