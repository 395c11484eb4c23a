//! The hardware that labels are made for.

use serde::{Deserialize, Serialize};

/// One accelerator in one named system configuration and memory mode of Vela's `vela.ini`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Name of the target everywhere in this project.
    pub id: String,
    /// Vela's name of the accelerator.
    pub accelerator: String,
    pub system_config: String,
    pub memory_mode: String,
}

impl Target {
    fn new(accelerator: &str, system_config: &str, memory_mode: &str) -> Self {
        Self {
            id: accelerator.into(),
            accelerator: accelerator.into(),
            system_config: system_config.into(),
            memory_mode: memory_mode.into(),
        }
    }
}

/// The targets that labels are made for unless others are asked for. Ethos-U55-256 in this
/// configuration is Vela's default, hence that of the PerfSAGE paper.
pub fn default_targets() -> Vec<Target> {
    vec![
        Target::new(
            "ethos-u55-256",
            "Ethos_U55_High_End_Embedded",
            "Shared_Sram",
        ),
        Target::new(
            "ethos-u65-512",
            "Ethos_U65_High_End",
            "Dedicated_Sram_384KB",
        ),
        Target::new(
            "ethos-u85-256",
            "Ethos_U85_SYS_DRAM_Mid",
            "Dedicated_Sram_384KB",
        ),
    ]
}
