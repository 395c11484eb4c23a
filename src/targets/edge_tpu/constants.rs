//! The model's fitted constants: `constants.json`, which `litecast-trainer edgetpu-fit` writes.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

use super::{CLOCK_HZ, OperatorLoad};
use crate::fields;
use crate::target::MeasuredRange;

/// The result of the fit, with its origin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Constants {
    /// The command that writes the file.
    pub command: String,
    /// Source of the latencies.
    pub source: String,
    /// Number of published latencies that the constants were fitted to; a network that was measured on two devices
    /// counts twice.
    pub n_latencies: usize,
    pub measured_range: MeasuredRange,
    pub coefficients: Coefficients,
    pub leave_one_out: LeaveOneOut,
}

/// Milliseconds of each kind of work on the Coral Dev Board.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Coefficients {
    /// Time of an operator of any kind.
    pub ms_per_operator: f64,
    /// Clock cycles per cycle of [`OperatorLoad::array_cycles`]; 1 if the array never stalled.
    pub cycles_per_array_cycle: f64,
    /// Time of 10⁶ bytes over the link.
    pub ms_per_link_megabyte: f64,
}

/// Errors on left-out networks: each was left out in turn, on all devices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeaveOneOut {
    /// Number of networks with a latency on the Coral Dev Board.
    pub n: usize,
    /// Mean absolute percentage error over them; errors above 100 count as 100.
    pub mean_percent: f64,
    pub median_percent: f64,
    /// The largest, and its netload.
    pub worst_percent: f64,
    pub worst: String,
    /// Number of networks with a latency on any device, each counted once.
    pub n_networks: usize,
    /// Largest factor between estimate and published latency over those, in either direction. Of n
    /// networks, a further one of their kind lies within the widest with a chance of n in n + 1: split
    /// conformal prediction with nine networks gives this for 90 %.
    pub interval_factor: f64,
}

impl Constants {
    /// Those of this version.
    pub fn shipped() -> &'static Self {
        static SHIPPED: LazyLock<Constants> = LazyLock::new(|| {
            fields::from_json(include_bytes!("constants.json"))
                .expect("the shipped file is what the fit wrote")
        });
        &SHIPPED
    }

    /// The model in words.
    pub fn in_words(&self) -> String {
        let Coefficients {
            ms_per_operator,
            cycles_per_array_cycle,
            ms_per_link_megabyte,
        } = self.coefficients;
        let LeaveOneOut {
            n,
            mean_percent,
            worst_percent,
            worst,
            n_networks,
            interval_factor,
            ..
        } = &self.leave_one_out;
        format!(
            "{:.0} µs an operator, {cycles_per_array_cycle:.2} cycles at {:.0} MHz for one of the array, \
             {:.0} MB/s over the link; fitted to {} published latencies of {n_networks} networks on two devices, each \
             left out in turn: the {n} on this one were off by {mean_percent:.1} % in the mean, {worst_percent:.0} % \
             at worst ({worst}), and no latency by more than a factor of {interval_factor:.2}, which is the interval",
            1e3 * ms_per_operator,
            CLOCK_HZ / 1e6,
            1e3 / ms_per_link_megabyte,
            self.n_latencies,
        )
    }
}

impl Coefficients {
    /// Milliseconds of an operator, or of a sum of operators.
    pub fn latency_ms(&self, load: &OperatorLoad) -> f64 {
        self.ms_per_operator * load.operators as f64
            + self.cycles_per_array_cycle * array_ms(load)
            + self.ms_per_link_megabyte * link_megabytes(load)
    }
}

/// Milliseconds of the array when nothing stalls it.
pub fn array_ms(load: &OperatorLoad) -> f64 {
    load.array_cycles as f64 / CLOCK_HZ * 1e3
}

/// 10⁶ bytes over the link.
pub fn link_megabytes(load: &OperatorLoad) -> f64 {
    load.link_bytes as f64 / 1e6
}

impl LeaveOneOut {
    /// Lower and upper end of the interval around an estimate.
    pub fn around(&self, estimate: f64) -> (f64, f64) {
        (
            estimate / self.interval_factor,
            estimate * self.interval_factor,
        )
    }
}
