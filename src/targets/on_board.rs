//! The target that makes the estimates for a board.

use super::boards::{Board, BoardError};
use super::host::Host;
use super::{Target, cortex_m, ethos_u};

impl Board {
    /// The board's Ethos-U if it has one, otherwise its core, at the board's clock.
    pub fn target(&'static self) -> Result<Box<dyn Target>, BoardError> {
        match &self.ethos_u {
            Some(_) => {
                let configuration = self.npu_configuration()?;
                let family = configuration.product.family();
                let host = Host::of_ethos_u(family, self.clock_mhz);
                Ok(ethos_u::target_on(Some(self), configuration, host))
            }
            None => self.target_at(None),
        }
    }

    /// The board's core, at `clock_mhz` if given, otherwise at the board's clock.
    pub fn target_at(&self, clock_mhz: Option<f64>) -> Result<Box<dyn Target>, BoardError> {
        let clock_mhz = clock_mhz.or(self.clock_mhz);
        let of = self.latency.as_ref();
        let target = of.and_then(|of| {
            cortex_m::target_on(&of.target, clock_mhz, &self.name, of.is_transferred)
        });
        target.ok_or_else(|| self.not_modelled())
    }
}

#[cfg(test)]
mod tests {
    use crate::targets::boards::by_id;

    #[test]
    fn a_board_is_its_npu_or_else_its_core() {
        assert_eq!(
            by_id("imx93").unwrap().target().unwrap().id(),
            "ethos-u65-256"
        );
        assert_eq!(
            by_id("portenta-h7").unwrap().target().unwrap().id(),
            "cortex-m7-stm32h747"
        );
        assert!(by_id("ek-ra8m1").unwrap().target().is_err());
    }
}
