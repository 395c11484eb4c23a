//! Boards and chips by name, as data with sources.

use std::sync::LazyLock;

use serde::Deserialize;

use super::ethos_u::configuration::{Configuration, IniError, Product, VelaIni};

const SHIPPED: &str = include_str!("boards.json");

/// A board, or a chip that boards have. What its source does not say is absent.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Board {
    /// Stable identifier, kebab-case.
    pub id: String,
    pub name: String,
    pub npu: Option<Npu>,
    pub host: Host,
    /// SRAM on the chip.
    pub sram_bytes: Option<u64>,
    /// Where these figures are published.
    pub source: String,
}

/// Its neural processor.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Npu {
    /// Vela's name of it.
    pub accelerator: String,
    pub clock_hz: Option<f64>,
    /// Sections of Vela's configuration file that are nearest to it. Their bandwidths count in cycles of
    /// its own clock.
    pub system_config: String,
    pub memory_mode: String,
}

/// The processor that runs what is left.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    pub core: String,
    pub clock_hz: Option<f64>,
}

/// Every board, as listed.
pub fn shipped() -> &'static [Board] {
    static BOARDS: LazyLock<Vec<Board>> =
        LazyLock::new(|| serde_json::from_str(SHIPPED).expect("the file shipped is whole"));
    &BOARDS
}

pub fn by_id(id: &str) -> Option<&'static Board> {
    shipped().iter().find(|board| board.id == id)
}

/// Why a board has no NPU to estimate on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BoardError {
    #[error("{0} has no NPU of a known kind")]
    NoNpu(String),
    #[error("{0}: {1}")]
    Configuration(String, IniError),
}

impl Board {
    /// Its NPU in the nearest system configuration, at its own clock.
    pub fn npu_configuration(&self) -> Result<Configuration, BoardError> {
        let no_npu = || BoardError::NoNpu(self.id.clone());
        let npu = self.npu.as_ref().ok_or_else(no_npu)?;
        let product = Product::by_name(&npu.accelerator).ok_or_else(no_npu)?;
        let ini = VelaIni::shipped();
        let read = Configuration::read(product, ini, &npu.system_config, &npu.memory_mode);
        let mut configuration =
            read.map_err(|error| BoardError::Configuration(self.id.clone(), error))?;
        if let Some(clock_hz) = npu.clock_hz {
            configuration.system.clock_hz = clock_hz;
        }
        Ok(configuration)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_npu_of_a_board_is_configured() {
        let mut n_npus = 0;
        for board in shipped() {
            assert!(!board.source.is_empty(), "{}", board.id);
            if let Some(npu) = &board.npu {
                let configuration = board.npu_configuration().unwrap();
                assert_eq!(configuration.product.name(), npu.accelerator);
                n_npus += 1;
            }
        }
        assert!(n_npus >= 4, "{n_npus}");
        assert!(by_id("imx93").is_some());
    }
}
