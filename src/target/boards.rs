//! Boards on the market, with processor, memory and clock of each: `boards.json`.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use crate::fields;

const SHIPPED: &[u8] = include_bytes!("boards.json");

/// One board, or a chip that several boards use.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Stable identifier, kebab-case.
    pub id: String,
    /// The name that its maker uses.
    pub name: String,
    /// The microcontroller or processor.
    pub chip: String,
    /// The core that runs models.
    pub core: String,
    /// Clock of that core; absent if no source states it.
    pub clock_mhz: Option<f64>,
    /// The memories; absent for processors that run Linux from external memory.
    pub memory: Option<BoardMemory>,
    /// The neural accelerator in words, where the chip has one.
    pub npu: Option<String>,
    /// The accelerator in Vela's terms, if it is an Ethos-U.
    pub ethos_u: Option<EthosU>,
    /// Ids of Ethos-U whose compiled files the board runs, beside that of [`Self::ethos_u`].
    #[serde(default)]
    pub accelerators: Vec<String>,
    /// The target that estimates its latency; absent if no board with its core was measured under a supported runtime.
    pub latency: Option<LatencySource>,
    /// The target under TensorFlow Lite Micro, where that of [`Self::latency`] is of another runtime.
    pub micro_latency: Option<LatencySource>,
    /// The documents that publish the figures.
    pub source: String,
    /// The memory map that [`BoardMemory::contiguous_ram_kib`] is from, where it is not [`Self::checked_with`].
    pub contiguous_ram_source: Option<String>,
    /// The source that memory, core and clock were compared with; absent if they were not compared.
    pub checked_with: Option<String>,
}

/// Sizes of a board's memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoardMemory {
    /// All RAM on the chip, tightly coupled memory included.
    pub sram_kib: u64,
    /// The largest part of it that has addresses without a gap and that programs may use for data; absent where no
    /// source states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contiguous_ram_kib: Option<u64>,
    /// Tightly coupled memory.
    pub tcm_kib: u64,
    /// Flash on the chip; 0 if programs are in external flash.
    pub flash_kib: u64,
    /// On the board beside the chip.
    pub external_ram_kib: u64,
    /// What kind of memory that is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_ram: Option<ExternalRam>,
    /// On the board beside the chip.
    pub external_flash_kib: u64,
    /// Cache through which the core reads external flash, where a document states it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flash_cache_kib: Option<u64>,
}

/// RAM beside the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ExternalRam {
    /// On a parallel bus.
    Sdram,
    /// On a serial bus of four or eight lines.
    Psram,
}

/// An Ethos-U and the sections of Vela's configuration file that resemble it most. The bandwidths in these sections are
/// relative to the clock of this accelerator.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EthosU {
    /// Name of the accelerator in Vela.
    pub accelerator: String,
    /// Of the accelerator.
    pub clock_mhz: f64,
    /// Section of Vela's configuration file.
    pub system_config: String,
    /// Section of Vela's configuration file for the memory mode.
    pub memory_mode: String,
}

/// Flash of a board, as far as it decides on latencies that were measured with weights in flash on the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flash {
    /// A larger file lies in external flash.
    pub on_chip_bytes: u64,
    /// Weights of an operator that fit are read from external flash once.
    pub cache_bytes: u64,
}

impl Flash {
    /// Whether a file's weights are read from external flash again and again: nobody measured how long that takes.
    pub fn is_slow(&self, file_bytes: u64, max_weight_bytes: u64) -> bool {
        file_bytes > self.on_chip_bytes && max_weight_bytes > self.cache_bytes
    }
}

/// The target that estimates a board's latency, at the board's clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencySource {
    /// Id of the target.
    pub target: String,
    /// Whether the target's constants come from other boards with the same core.
    pub is_transferred: bool,
}

/// Every board, in the order of the file.
pub fn shipped() -> &'static [Board] {
    static BOARDS: LazyLock<Vec<Board>> = LazyLock::new(|| {
        fields::from_json(SHIPPED).expect("the shipped file is a table of boards")
    });
    &BOARDS
}

/// The board with an identifier.
pub fn by_id(id: &str) -> Option<&'static Board> {
    shipped().iter().find(|board| board.id == id)
}

impl Board {
    /// Whether the board has an Ethos-U that runs a file which Vela compiled for `accelerator`, for example
    /// `ethos-u55-128`. `None` where the file does not tell which.
    pub fn runs_compiled(&self, accelerator: Option<&str>) -> bool {
        let of_choice = self.ethos_u.iter().map(|npu| npu.accelerator.as_str());
        let mut ids = of_choice.chain(self.accelerators.iter().map(String::as_str));
        match accelerator {
            Some(accelerator) => ids.any(|id| id == accelerator),
            None => ids.next().is_some(),
        }
    }

    /// The target under TensorFlow Lite Micro.
    pub fn latency_under_micro(&self) -> Option<&LatencySource> {
        self.micro_latency.as_ref().or(self.latency.as_ref())
    }

    /// The flash that a latency of `of` depends on; `None` where the board itself was measured.
    pub fn flash(&self, latency_of: &LatencySource) -> Option<Flash> {
        let memory = self.memory.filter(|_| latency_of.is_transferred)?;
        // What the chip has no room for is nowhere else.
        if memory.external_flash_kib == 0 {
            return None;
        }
        let is_measured = |board: &&Board| {
            let latency = board.latency.as_ref();
            latency.is_some_and(|latency| {
                latency.target == latency_of.target && !latency.is_transferred
            })
        };
        let mut measured = shipped().iter().filter(is_measured).peekable();
        let is_in_external =
            |board: &Board| board.memory.is_some_and(|memory| memory.flash_kib == 0);
        let is_known = measured.peek().is_some() && measured.all(is_in_external);
        (!is_known).then_some(Flash {
            on_chip_bytes: memory.flash_kib << 10,
            cache_bytes: memory.flash_cache_kib.unwrap_or(0) << 10,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_table_is_sound() {
        let boards = shipped();
        assert!(boards.len() >= 40, "{} boards", boards.len());
        let ids: BTreeSet<&str> = boards.iter().map(|board| board.id.as_str()).collect();
        assert_eq!(ids.len(), boards.len(), "identifiers are unique");
        for board in boards {
            let id = &board.id;
            if let Some(memory) = &board.memory {
                assert!(
                    memory.sram_kib > 0 && memory.tcm_kib <= memory.sram_kib,
                    "{id}"
                );
                assert!(memory.flash_kib + memory.external_flash_kib > 0, "{id}");
                let contiguous_kib = memory.contiguous_ram_kib;
                assert!(
                    contiguous_kib.is_none_or(|kib| 0 < kib && kib <= memory.sram_kib),
                    "{id}"
                );
                let source = board.contiguous_ram_source.as_ref();
                let has_source = source.or(board.checked_with.as_ref()).is_some();
                assert!(contiguous_kib.is_none() || has_source, "{id}");
            }
            let clock_mhz = board.clock_mhz.unwrap_or(1.0);
            assert!((1.0..=2000.0).contains(&clock_mhz), "{id}");
            assert!(!board.source.is_empty(), "{id}");
        }
        let checked = boards.iter().filter(|board| board.checked_with.is_some());
        println!(
            "{} of {} boards compared with a second source",
            checked.count(),
            boards.len()
        );
    }
}
