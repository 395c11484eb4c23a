//! The target that makes the estimates for a board.

use super::ethos_u::configuration::BoardError;
use super::{cortex_m, ethos_u, known};
use crate::target::Target;
use crate::target::boards::{Board, LatencySource};

/// Id of TensorFlow Lite Micro among the runtimes of a board.
pub const MICRO: &str = "tflite-micro";
/// Id of ST Edge AI Core among them, on an NPU too.
const ST_EDGE_AI: &str = "st-edge-ai";

impl Board {
    /// The board's Ethos-U if it has one, otherwise its core, at the board's clock. A core that nobody measured has counts of
    /// memory and no latency.
    pub fn target(&'static self) -> Result<Box<dyn Target>, BoardError> {
        match &self.ethos_u {
            Some(_) => {
                let configuration = self.npu_configuration()?;
                let family = configuration.product.family();
                let host = ethos_u::usual_host(family, self.clock_mhz);
                Ok(ethos_u::target_on(Some(self), configuration, host))
            }
            None => self.target_at(None, None),
        }
    }

    /// The board's core, at `clock_mhz` if given, otherwise at the board's clock, and under a release of its runtime, if
    /// one is given that the runtime has.
    pub fn target_at(
        &'static self,
        clock_mhz: Option<f64>,
        release: Option<&str>,
    ) -> Result<Box<dyn Target>, BoardError> {
        self.target_of(self.latency.as_ref(), clock_mhz, release)
    }

    /// Ids of the runtimes on the board's core that there are estimates for.
    pub fn runtimes(&self) -> impl Iterator<Item = &'static str> {
        let target =
            |latency_of: &LatencySource| cortex_m::Constants::shipped().target(&latency_of.target);
        let measured = self.latency.as_ref().and_then(target);
        let micro = self.micro_latency.as_ref().and_then(target);
        let of_measured = measured.into_iter().chain(micro);
        of_measured
            .map(|target| if target.is_micro() { MICRO } else { ST_EDGE_AI })
            .chain(self.latency.is_none().then_some(MICRO))
    }

    /// As [`Self::target_at`], under TensorFlow Lite Micro.
    pub fn micro_target_at(
        &'static self,
        clock_mhz: Option<f64>,
    ) -> Result<Box<dyn Target>, BoardError> {
        let latency_of = self.latency_under_micro();
        let is_micro = |latency_of: &&LatencySource| {
            let target = cortex_m::Constants::shipped().target(&latency_of.target);
            target.is_some_and(|target| target.is_micro())
        };
        self.target_of(latency_of.filter(is_micro), clock_mhz, None)
    }

    fn target_of(
        &'static self,
        latency_of: Option<&LatencySource>,
        clock_mhz: Option<f64>,
        release: Option<&str>,
    ) -> Result<Box<dyn Target>, BoardError> {
        if self.latency.is_none() && self.memory.is_some() {
            return Ok(Box::new(cortex_m::UnmeasuredBoard(self)));
        }
        let target = latency_of.and_then(|latency_of| {
            if cortex_m::Constants::shipped()
                .target(&latency_of.target)
                .is_none()
            {
                // A target of another kind has one configuration.
                let is_changed = clock_mhz.is_some() || release.is_some();
                let mut targets = known().filter(|_| !is_changed);
                return targets.find(|target| target.id() == latency_of.target);
            }
            let board = cortex_m::ChosenBoard {
                name: self.name.clone(),
                chip: self.chip.clone(),
                is_transferred: latency_of.is_transferred,
            };
            let id = match release {
                Some(release) => &format!("{}@{release}", latency_of.target),
                None => &latency_of.target,
            };
            let clock_mhz = clock_mhz.or(self.clock_mhz);
            cortex_m::target_on(id, clock_mhz, board, self.flash(latency_of))
        });
        target.ok_or_else(|| self.not_modelled())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::boards::by_id;
    use crate::targets::example;

    /// Of a kind that only the list of kinds names.
    #[test]
    fn a_board_may_name_a_target_of_any_kind() {
        let [example] = &example::targets()[..] else {
            panic!("expected one target");
        };
        let board = Board {
            memory: None,
            ethos_u: None,
            micro_latency: None,
            latency: Some(LatencySource {
                target: example.id().to_owned(),
                is_transferred: false,
            }),
            ..by_id("portenta-h7").unwrap().clone()
        };
        let board: &'static Board = Box::leak(Box::new(board));
        assert_eq!(board.target().unwrap().id(), example.id());
        assert!(board.target_at(Some(5.0), None).is_err());
        let unknown = Board {
            latency: Some(LatencySource {
                target: "nonesuch".into(),
                is_transferred: false,
            }),
            ..board.clone()
        };
        let unknown: &'static Board = Box::leak(Box::new(unknown));
        assert!(unknown.target().is_err());
    }

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
        // Nobody measured its core.
        assert_eq!(
            by_id("ek-ra8m1").unwrap().target().unwrap().id(),
            "tflite-micro"
        );
    }
}
