//! Measured latencies of boards with an Ethos-U, compared with the compiler's estimates.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::configuration::Configuration;
use crate::diagnostic::some_of;
use crate::fields;
use crate::provenance::checked_percent;
use crate::target::boards::{Board, by_id};

/// Made by `litecast-trainer fit-silicon`.
const SHIPPED: &[u8] = include_bytes!("silicon.json");

/// What `litecast-trainer fit-silicon` writes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Silicon {
    pub boards: Vec<MeasuredBoard>,
    pub elsewhere: UnmeasuredBoardFit,
}

/// What the NPU is assumed to take on a board where no network was measured, beyond a start as on the first board: between
/// the boards where some were.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct UnmeasuredBoardFit {
    /// Geometric mean of the boards' factors.
    pub factor: f64,
    /// The 90 % interval is the estimate divided by and multiplied with this factor: the 95 % quantile of Student's t times
    /// what the networks of each board are off by from the mean of the other boards.
    pub interval_factor: f64,
}

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
    /// Errors of each network with constants that are fitted to the others. Absent if too few networks were measured for
    /// constants of the board's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<LeftOut>,
    pub networks: Vec<MeasuredNetwork>,
    /// Who measured, and where it is published.
    pub source: String,
}

/// Errors of the fit on left-out networks.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
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

impl Silicon {
    pub fn shipped() -> &'static Self {
        static SILICON: LazyLock<Silicon> =
            LazyLock::new(|| fields::from_json(SHIPPED).expect("the file shipped is whole"));
        &SILICON
    }

    /// Names of the boards on which networks were measured.
    pub fn board_names(&self) -> String {
        let boards = self.boards.iter().filter_map(|one| by_id(&one.board));
        some_of(boards.map(|board| &board.name), ", ")
    }

    /// The least and the most that a network took of the latency by the rules.
    pub fn range_of_ratios(&self) -> [f64; 2] {
        let ratios = self.boards.iter().flat_map(|one| &one.networks);
        ratios.fold([f64::MAX, 0.0], |[least, most], one| {
            [one.ratio.min(least), one.ratio.max(most)]
        })
    }

    /// As [`MeasuredBoard::latency_ms`], for a board on which no network was measured.
    pub fn unmeasured_board_ms(&self, by_rules_ms: f64, n_starts: usize) -> [f64; 3] {
        let UnmeasuredBoardFit {
            factor,
            interval_factor,
        } = self.elsewhere;
        let first = self.boards.first();
        let start_ms = first.map_or(0.0, |board| board.start_ms);
        let range_ms = first.map_or([0.0; 2], |board| board.start_range_ms);
        let work_ms = factor * by_rules_ms;
        parts_ms(work_ms, interval_factor, n_starts, start_ms, range_ms)
    }

    pub fn unmeasured_board_in_words(&self) -> String {
        format!(
            "Vela's rules times {:.2}, assumed: the mean of the boards on which networks were measured, {}",
            self.elsewhere.factor,
            self.board_names()
        )
    }
}

/// An estimate and the ends of its interval: the work's interval and that of the starts are added.
fn parts_ms(
    work_ms: f64,
    width: f64,
    n_starts: usize,
    start_ms: f64,
    [lo_ms, hi_ms]: [f64; 2],
) -> [f64; 3] {
    let parts = [(start_ms, 1.0), (lo_ms, 1.0 / width), (hi_ms, width)];
    parts.map(|(start_ms, factor)| start_ms * n_starts as f64 + factor * work_ms)
}

impl MeasuredBoard {
    /// The measurements on a board whose NPU has this configuration; `None` if there are too few, or none in it.
    pub fn find(board: &Board, configuration: &Configuration) -> Option<&'static Self> {
        let mut boards = Silicon::shipped().boards.iter();
        let measured = boards.find(|one| one.board == board.id && one.left_out.is_some())?;
        (board.npu_configuration().ok().as_ref() == Some(configuration)).then_some(measured)
    }

    /// What the NPU takes on the board in ms if it is started `n_starts` times, and the ends of the interval.
    pub fn latency_ms(&self, by_rules_ms: f64, n_starts: usize) -> [f64; 3] {
        let work_ms = self.factor * by_rules_ms;
        let width = self.errors().interval_factor;
        parts_ms(work_ms, width, n_starts, self.start_ms, self.start_range_ms)
    }

    /// Those of [`Self::left_out`], for a board that [`Self::find`] gives.
    pub fn errors(&self) -> LeftOut {
        self.left_out.clone().unwrap_or_default()
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
            self.errors().median_percent,
            self.errors().worst_percent,
            self.source,
        )
    }
}
