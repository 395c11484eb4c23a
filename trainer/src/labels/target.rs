//! The hardware of labels.

use litecast::provenance::ProvenanceKind;
use litecast::targets::cortex_a::Constants;
use litecast::targets::ethos_u::configuration::Product;
use serde::{Deserialize, Serialize};

/// The labelling tools by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum ToolChoice {
    /// Arm's compiler for Ethos-U NPUs.
    Vela,
    /// LiteRT under QEMU, for Cortex-A processors.
    LitertQemu,
}

/// Hardware in the format of the labelling tools.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Name of the target everywhere in this project.
    pub id: String,
    /// What the tool is told about the hardware.
    #[serde(flatten)]
    pub configuration: Configuration,
}

/// The description of a target for its labelling tool.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Configuration {
    /// One accelerator in one named system configuration and memory mode of Vela's `vela.ini`.
    EthosU {
        /// Vela's name of the accelerator.
        accelerator: String,
        /// Section of `vela.ini` for clock and memories.
        system_config: String,
        /// Section of `vela.ini` for the use of memories.
        memory_mode: String,
        /// Further options of the compiler's command line; empty in stored labels.
        #[serde(flatten)]
        options: VelaOptions,
    },
    /// One core of a processor, on the board whose measured latency scales the labels.
    CortexA {
        /// QEMU's name of the processor.
        processor: String,
        /// Id of the board whose core it is.
        board: String,
    },
    /// A device with imported measurements.
    Measured {
        /// The device in words.
        device: String,
        /// The runtime that it ran.
        runtime: String,
    },
}

/// Options of Vela's command line; absent if they have the default value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VelaOptions {
    /// Bytes of the arena's cache; `None` for that of the memory mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arena_cache_size: Option<i64>,
    /// `Performance` or `Size`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub optimise: Option<String>,
    /// Contents of a `vela.ini` that has both sections, instead of Vela's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vela_ini: Option<String>,
}

impl Target {
    /// The hardware in words.
    pub fn device(&self) -> String {
        match &self.configuration {
            Configuration::EthosU { accelerator, .. } => ethos_u_in_words(accelerator),
            Configuration::CortexA { processor, board } => {
                format!("{board}, one core ({})", cortex_a_in_words(processor))
            }
            Configuration::Measured { device, .. } => device.clone(),
        }
    }

    /// Further settings that the labels depend on, in the tool's words.
    pub fn settings(&self) -> String {
        match &self.configuration {
            Configuration::EthosU {
                system_config,
                memory_mode,
                ..
            } => format!("{system_config}, {memory_mode}"),
            Configuration::CortexA { .. } => {
                let board = Constants::shipped().board(&self.id);
                let fit = board.map(|board| format!("; {}", board.in_words()));
                format!("XNNPACK, one thread{}", fit.unwrap_or_default())
            }
            Configuration::Measured { runtime, .. } => runtime.clone(),
        }
    }

    /// Bytes of SRAM that the compiler may fill, if they are part of the memory mode's name (`Dedicated_Sram_384KB`);
    /// other modes have no strict limit.
    pub fn sram_limit_bytes(&self) -> Option<u64> {
        let Configuration::EthosU { memory_mode, .. } = &self.configuration else {
            return None;
        };
        let kib = memory_mode
            .strip_prefix("Dedicated_Sram_")?
            .strip_suffix("KB")?;
        Some(kib.parse::<u64>().ok()? * 1024)
    }

    /// The tool that makes its labels; `None` for a device with imported measurements.
    pub fn tool(&self) -> Option<ToolChoice> {
        match &self.configuration {
            Configuration::EthosU { .. } => Some(ToolChoice::Vela),
            Configuration::CortexA { .. } => Some(ToolChoice::LitertQemu),
            Configuration::Measured { .. } => None,
        }
    }

    /// The kind of an estimate that was learned from its labels.
    pub fn provenance_of_learned(&self) -> ProvenanceKind {
        match &self.configuration {
            Configuration::EthosU { .. } => ProvenanceKind::LearnedFromCompiler,
            Configuration::CortexA { .. } => ProvenanceKind::LearnedFromEmulator,
            Configuration::Measured { .. } => ProvenanceKind::LearnedFromMeasurements,
        }
    }

    /// The source of its labels, in words.
    pub fn provenance(&self) -> &'static str {
        match &self.configuration {
            Configuration::EthosU { .. } => "compiler estimate",
            Configuration::CortexA { .. } => "emulated",
            Configuration::Measured { .. } => "measured",
        }
    }
}

/// The processors that labels are made for, as QEMU and as their maker name them.
pub(super) const PROCESSORS: [(&str, &str); 5] = [
    ("cortex-a7", "Arm Cortex-A7"),
    ("cortex-a53", "Arm Cortex-A53"),
    ("cortex-a55", "Arm Cortex-A55"),
    ("cortex-a72", "Arm Cortex-A72"),
    ("cortex-a76", "Arm Cortex-A76"),
];

/// Vela's `ethos-u55-256` → `Arm Ethos-U55, 256 MACs/cycle`.
fn ethos_u_in_words(accelerator: &str) -> String {
    Product::by_name(accelerator).map_or_else(|| accelerator.to_owned(), Product::device)
}

/// QEMU's `cortex-a76` → `Arm Cortex-A76`.
fn cortex_a_in_words(processor: &str) -> String {
    let known = PROCESSORS.iter().find(|(qemu, _)| *qemu == processor);
    known.map_or(processor, |(_, words)| words).to_owned()
}
