//! The model's fitted constants: `constants.json`, which `litecast-trainer fit-edgetpu` writes.

use std::collections::BTreeSet;
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
    /// Names of the operators of the fitted networks.
    pub operators: BTreeSet<String>,
    pub leave_one_out: LeaveOneOut,
    pub left_out: Vec<LeftOutNetwork>,
}

/// Constants without one network, and what they are off by on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LeftOutNetwork {
    pub network: String,
    pub coefficients: Coefficients,
    /// Largest factor between estimate and published latency over its devices, in either direction.
    pub factor: f64,
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
    /// The largest, and its network.
    pub worst_percent: f64,
    pub worst: String,
    /// Number of networks with a latency on any device, each counted once.
    pub n_networks: usize,
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

    /// Ends of the interval of a load: the least and the most that the fits without one network give, each wider by what it
    /// is off on that network (jackknife+). Of n networks, a further one of their kind is inside with a chance of about n in
    /// n + 1, and a mix of work that the fits disagree about has a wider interval.
    pub fn interval_ms(&self, load: &OperatorLoad) -> [f64; 2] {
        let value = self.coefficients.latency_ms(load);
        let ends = self.left_out.iter().map(|one| {
            let ms = one.coefficients.latency_ms(load);
            [ms / one.factor, ms * one.factor]
        });
        ends.fold([value; 2], |[lo, hi], end| [lo.min(end[0]), hi.max(end[1])])
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
            ..
        } = &self.leave_one_out;
        format!(
            "{:.0} µs an operator, {cycles_per_array_cycle:.2} cycles at {:.0} MHz for one of the array, \
             {:.0} MB/s over the link; fitted to {} published latencies of {n_networks} networks on two devices, each \
             left out in turn: the {n} on this one were off by {mean_percent:.1} % in the mean, {worst_percent:.0} % \
             at worst ({worst}); the interval holds what each of these fits gives, as wide as it was off",
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
