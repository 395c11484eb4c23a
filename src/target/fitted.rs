//! Constants that were fitted to measurements of whole networks. They are in files of their own, which are read only when a
//! target of theirs is asked for.

use serde::{Deserialize, Serialize};

use super::MeasuredRange;
use crate::fields;
use crate::provenance::{Reference, checked_percent};

/// What a fit of the trainer writes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bundle {
    /// Names of the costs, in order. A bundle with a different list than this version's cannot be used.
    pub costs: Vec<String>,
    pub runs: Vec<Run>,
}

/// Whether a run is inference or training.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    Inference,
    Training,
}

/// The fit for one device under one version of a runtime, and the networks that were measured on it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Id of the target, with what else the kind of hardware tells its runs by.
    pub target: String,
    pub mode: Mode,
    /// Framework, version, precision and layout in words.
    pub framework: String,
    /// Who measured.
    pub laboratory: String,
    /// A description of the scaling where the costs are scaled from another GPU, because most kinds of networks were
    /// not measured on this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaled_by: Option<String>,
    /// Number of measured pairs of network and image size.
    pub n_networks: usize,
    pub n_families: usize,
    /// Range of the measured latencies, or training steps, divided by the batch size.
    pub measured_range: MeasuredRange,
    /// Smallest and median batch of the measurements.
    pub batches: [f64; 2],
    /// Milliseconds for each amount, in the order of [`Bundle::costs`].
    pub costs_ms: Vec<f64>,
    pub correction: Correction,
    /// Errors on families of networks that nothing was fitted to.
    pub errors: Errors,
    /// Whether these errors are those of the same method on other devices, because no network that tells them was measured
    /// on this one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub are_errors_of_others: bool,
    /// Median error of a regression on three sums on the same networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regression_percent: Option<f64>,
    /// Share of the measured networks that are refused, because an operator takes many times longer than its work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_percent: Option<f64>,
    /// The largest share of the time that each cost has in a measured network.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub max_shares: Vec<f64>,
    /// What one measurement of the same network on another device of the same maker is worth: under the same runtime, and
    /// under another one. Empty where too few kinds of networks tell it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub elsewhere: Vec<Elsewhere>,
}

/// Errors of estimates that are multiplied by a power of measured time / estimate on another device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Elsewhere {
    /// The power: 0 is no trust.
    pub trust: f64,
    /// Half width of the interval, as that of [`Correction`].
    pub half_width: [f64; 2],
    pub mean_percent: f64,
    /// Share of networks whose interval held the measurement.
    pub coverage_percent: f64,
}

/// Uncapped absolute errors in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Errors {
    pub mean_percent: f64,
    /// Mean over families of the mean over a family's networks.
    #[serde(default)]
    pub family_mean_percent: f64,
    pub median_percent: f64,
    pub p95_percent: f64,
    /// Share of networks whose 90 % interval held the measurement.
    pub coverage_percent: f64,
}

/// Kriging over the measured networks: corrects the roofline by its errors on networks that spend their time in the
/// same kernels.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Correction {
    /// Positions of the measured networks, one behind the other; empty where nothing is corrected. In files, each byte is
    /// two hexadecimal digits.
    #[serde(with = "digits")]
    pub positions: Vec<u8>,
    /// Kriging weight of each measured network.
    pub weights: Vec<f32>,
    /// Ranges and variances of the two covariances, in units of the position and of the logarithm.
    pub ranges: [f64; 2],
    pub variances: [f64; 2],
    /// Half width of the interval, in logarithms: a fixed part, and a part per unit of distance to the nearest measured
    /// network.
    pub half_width: [f64; 2],
    /// Largest half width, where other GPUs tell the errors of far networks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_half_width: Option<f64>,
}

/// Why the constants cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    #[error("fitted constants: {0}")]
    Malformed(String),
    #[error("fitted constants: made for another list of costs than this version has")]
    OtherCosts,
}

impl Run {
    /// What the error of an estimate was measured against; none where nothing tells it. `is_far`: no measured network is
    /// made of the same kernels.
    pub fn reference(&self, is_far: bool) -> Option<Reference> {
        let is_transferred = self.scaled_by.is_some() && is_far;
        match self.n_networks {
            0 => Some(Reference::MeasuredParts),
            _ if self.are_errors_of_others || is_transferred => None,
            _ => Some(Reference::Measured),
        }
    }

    /// Mean error on networks that were measured on this device and left out. None where all are of one family: it would be
    /// that of networks whose relatives were fitted, which says nothing of any other.
    pub fn mean_error_percent(&self) -> Option<f64> {
        (self.n_families > 1 && !self.are_errors_of_others).then_some(self.errors.mean_percent)
    }

    /// The level of the interval, if the networks that were left out tell it.
    pub fn checked_percent(&self) -> Option<u32> {
        checked_percent(self.n_networks, self.errors.coverage_percent)
            .filter(|_| !self.are_errors_of_others)
    }
}

impl Bundle {
    /// A bundle with costs of these names.
    ///
    /// # Errors
    /// If the text is not a bundle, or is a bundle of other costs.
    pub fn parse(text: &[u8], names: &[&str]) -> Result<Self, BundleError> {
        let malformed = |words: String| BundleError::Malformed(words);
        let bundle: Self = fields::from_json(text).map_err(|error| malformed(error.to_string()))?;
        if bundle.costs != names {
            return Err(BundleError::OtherCosts);
        }
        for run in &bundle.runs {
            let n = run.correction.weights.len();
            let n_shares = run.max_shares.len();
            if run.costs_ms.len() != names.len()
                || run.correction.positions.len() != n * names.len()
                || (n_shares != 0 && n_shares != names.len())
            {
                return Err(malformed(format!("{}: lists of other lengths", run.target)));
            }
        }
        Ok(bundle)
    }

    pub fn run(&self, target: &str, mode: Mode) -> Option<&Run> {
        let mut runs = self.runs.iter();
        runs.find(|run| run.target == target && run.mode == mode)
    }
}

impl Correction {
    /// Half width of the interval of a network at this distance, in logarithms.
    pub fn half_width_at(&self, distance: f64) -> f64 {
        let half_width = self.half_width[0] + self.half_width[1] * distance;
        half_width.min(self.max_half_width.unwrap_or(f64::MAX))
    }
}

/// Bytes as hexadecimal digits, two each.
mod digits {
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        let digits = bytes.iter().map(|byte| format!("{byte:02x}"));
        serializer.serialize_str(&digits.collect::<String>())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let digits = String::deserialize(deserializer)?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let byte = |pair: &[u8]| Some((digit(pair[0])? * 16 + digit(*pair.get(1)?)?) as u8);
        let bytes = digits.as_bytes().chunks(2).map(byte);
        let bytes: Option<Vec<u8>> = bytes.collect();
        bytes.ok_or_else(|| D::Error::custom("expected hexadecimal digits"))
    }
}
