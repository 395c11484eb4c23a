//! Boards on the market, with processor, memory and clock of each: `boards.json`.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::ethos_u::configuration::{Configuration, IniError, Product, VelaIni};

const SHIPPED: &str = include_str!("boards.json");

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
    pub memory: Option<Memory>,
    /// The neural accelerator in words, where the chip has one.
    pub npu: Option<String>,
    /// The accelerator in Vela's terms, if it is an Ethos-U.
    pub ethos_u: Option<EthosU>,
    /// The target that estimates its latency; absent if no board with its core was measured under a supported runtime.
    pub latency: Option<LatencyOf>,
    /// The documents that publish the figures.
    pub source: String,
    /// The source that memory, core and clock were compared with; absent if they were not compared.
    pub checked_with: Option<String>,
}

/// Sizes of a board's memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// All RAM on the chip, tightly coupled memory included.
    pub sram_kib: u64,
    /// Tightly coupled memory.
    pub tcm_kib: u64,
    /// Flash on the chip; 0 if programs are in external flash.
    pub flash_kib: u64,
    /// On the board beside the chip.
    pub external_ram_kib: u64,
    /// On the board beside the chip.
    pub external_flash_kib: u64,
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

/// The target that estimates a board's latency, at the board's clock.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LatencyOf {
    /// Id of the target.
    pub target: String,
    /// Whether the target's constants come from other boards with the same core.
    pub is_transferred: bool,
}

/// Every board, in the order of the file.
pub fn shipped() -> &'static [Board] {
    static BOARDS: LazyLock<Vec<Board>> = LazyLock::new(|| {
        serde_json::from_str(SHIPPED).expect("the shipped file is a table of boards")
    });
    &BOARDS
}

/// The board with an identifier.
pub fn by_id(id: &str) -> Option<&'static Board> {
    shipped().iter().find(|board| board.id == id)
}

/// Why there is no estimate for a board.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    /// Its id.
    #[error(
        "{0}: nobody published measurements of a model on its processor, and it has no Ethos-U"
    )]
    NotModelled(String),
    /// The board's id, and the error in its sections.
    #[error("{0}: {1}")]
    Configuration(String, IniError),
}

impl Board {
    /// Whether there are estimates for the board.
    pub fn is_modelled(&self) -> bool {
        self.ethos_u.is_some() || self.latency.is_some()
    }

    /// Configuration of the board's Ethos-U: the most similar system configuration, at the board's clock.
    pub fn npu_configuration(&self) -> Result<Configuration, BoardError> {
        let npu = self.ethos_u.as_ref();
        self.configuration(npu.ok_or_else(|| self.not_modelled())?)
    }

    pub(super) fn not_modelled(&self) -> BoardError {
        BoardError::NotModelled(self.id.clone())
    }

    fn configuration(&self, npu: &EthosU) -> Result<Configuration, BoardError> {
        let product = Product::by_name(&npu.accelerator).ok_or_else(|| self.not_modelled())?;
        let ini = VelaIni::shipped();
        let read = Configuration::read(product, ini, &npu.system_config, &npu.memory_mode);
        let mut configuration =
            read.map_err(|error| BoardError::Configuration(self.id.clone(), error))?;
        configuration.system.clock_hz = npu.clock_mhz * 1e6;
        Ok(configuration)
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
            }
            let clock_mhz = board.clock_mhz.unwrap_or(1.0);
            assert!((1.0..=2000.0).contains(&clock_mhz), "{id}");
            assert!(!board.source.is_empty(), "{id}");
            if let Some(latency) = &board.latency {
                let known = crate::targets::cortex_m::Constants::shipped();
                assert!(known.target(&latency.target).is_some(), "{id}");
            }
        }
        let checked = boards.iter().filter(|board| board.checked_with.is_some());
        println!(
            "{} of {} boards compared with a second source",
            checked.count(),
            boards.len()
        );
    }

    #[test]
    fn every_ethos_u_of_a_board_is_configured() {
        let mut n_npus = 0;
        for board in shipped() {
            if let Some(npu) = &board.ethos_u {
                let configuration = board.configuration(npu).unwrap();
                assert_eq!(configuration.product.name(), npu.accelerator);
                assert!(board.npu.is_some(), "{}", board.id);
                n_npus += 1;
            }
        }
        assert!(n_npus >= 4, "{n_npus}");
    }
}
