//! Measured latencies of boards with an Ethos-U, compared with the compiler's estimates.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::configuration::Configuration;
use crate::fields;
use crate::provenance::checked_percent;
use crate::target::boards::Board;

/// Made by `litecast-trainer fit-silicon`.
const SHIPPED: &[u8] = include_bytes!("silicon.json");

/// Latency measured on a board: the NPU takes `start_ms` each time that it is started and `factor` · latency by the
/// compiler's rules, and the board's processor runs what the NPU leaves to it.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredBoard {
    /// Id of the board in `targets::boards`.
    pub board: String,
    /// Driver, command stream and interrupt of a start of the NPU.
    pub start_ms: f64,
    /// Ends of the interval of a start: what the small networks took beyond `factor` · latency by the rules.
    pub start_range_ms: [f64; 2],
    /// How much longer the accelerator's work takes than the compiler estimates.
    pub factor: f64,
    /// Errors of each network with constants that are fitted to the others.
    pub left_out: LeftOut,
    pub networks: Vec<MeasuredNetwork>,
    /// Who measured, and where it is published.
    pub source: String,
}

/// Errors of the fit on left-out networks.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct LeftOut {
    pub mean_percent: f64,
    pub median_percent: f64,
    pub worst_percent: f64,
    /// The 90 % interval of the work is its estimate divided by and multiplied with this factor: the 95 % quantile of
    /// Student's t times the root mean square of the logarithmic errors of the large networks, because a few networks are
    /// too few for an empirical one. The interval of the starts is added.
    pub interval_factor: f64,
    /// How many of the networks it holds.
    pub n_inside: usize,
}

/// One network on a board.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredNetwork {
    pub name: String,
    /// Measured latency over the one by the compiler's rules.
    pub ratio: f64,
}

impl LeftOut {
    /// The level of the interval of `n_networks`, if they tell it.
    pub fn checked_percent(&self, n_networks: usize) -> Option<u32> {
        let coverage_percent = 100.0 * self.n_inside as f64 / n_networks.max(1) as f64;
        checked_percent(n_networks, coverage_percent)
    }
}

impl MeasuredBoard {
    /// Every board on which networks were measured.
    pub fn shipped() -> &'static [Self] {
        static BOARDS: LazyLock<Vec<MeasuredBoard>> =
            LazyLock::new(|| fields::from_json(SHIPPED).expect("the file shipped is whole"));
        &BOARDS
    }

    /// The measurements on a board whose NPU has this configuration; `None` if there are none, or none in it.
    pub fn find(board: &Board, configuration: &Configuration) -> Option<&'static Self> {
        let measured = Self::shipped().iter().find(|one| one.board == board.id)?;
        (board.npu_configuration().ok().as_ref() == Some(configuration)).then_some(measured)
    }

    /// What the NPU takes on the board in ms if it is started `n_starts` times, and the ends of the interval.
    pub fn latency_ms(&self, by_rules_ms: f64, n_starts: usize) -> [f64; 3] {
        let work_ms = self.factor * by_rules_ms;
        let width = self.left_out.interval_factor;
        let [lo_ms, hi_ms] = self.start_range_ms;
        let parts = [(self.start_ms, 1.0), (lo_ms, 1.0 / width), (hi_ms, width)];
        parts.map(|(start_ms, factor)| start_ms * n_starts as f64 + factor * work_ms)
    }

    /// How the latency was made, and what it was checked against.
    pub fn in_words(&self) -> String {
        let ratios = || self.networks.iter().map(|network| network.ratio);
        let (least, most) = (
            ratios().fold(f64::MAX, f64::min),
            ratios().fold(0.0, f64::max),
        );
        format!(
            "Vela's rules times {:.2}, and {:.2} ms a start of the NPU; {} networks measured on it took {least:.2} to \
             {most:.2} times Vela's latency; error with each left out: median {:.0} %, worst {:.0} %; {}",
            self.factor,
            self.start_ms,
            self.networks.len(),
            self.left_out.median_percent,
            self.left_out.worst_percent,
            self.source,
        )
    }
}
