//! The configuration of a board's Ethos-U.

use super::{Configuration, IniError, Product, VelaIni};
use crate::target::boards::{Board, EthosU};

/// Why a board has no estimate.
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
    /// Configuration of the board's Ethos-U: the most similar system configuration, at the board's clock.
    pub fn npu_configuration(&self) -> Result<Configuration, BoardError> {
        let npu = self.ethos_u.as_ref();
        self.configuration(npu.ok_or_else(|| self.not_modelled())?)
    }

    /// The error that nothing estimates this board.
    pub fn not_modelled(&self) -> BoardError {
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
    use crate::target::boards::shipped;

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
