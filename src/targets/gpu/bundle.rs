//! The fitted constants of GPUs. They are in a file of their own, which is read only when a GPU is asked for.

#[cfg(feature = "bundle")]
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Serialize};

use super::costs::{Amounts, N_COSTS, NAMES};
use crate::fields;
use crate::provenance::{Reference, checked_percent};
use crate::target::MeasuredRange;

/// What `litecast-trainer fit-gpu` writes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Bundle {
    /// [`NAMES`], in order. A bundle with a different list cannot be used.
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

/// The fit for one GPU and one version of a framework, and the networks that were measured on it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Run {
    /// Id of the target.
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
    /// Milliseconds for each amount, in the order of [`NAMES`].
    pub costs_ms: Vec<f64>,
    pub correction: Correction,
    /// Errors on families of networks that no one looked at while the fit was made.
    pub errors: Errors,
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
    /// Position of each measured network: [`position`], as hexadecimal digits, two a byte.
    pub positions: String,
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
    #[error("constants of GPUs: {0}")]
    Malformed(String),
    #[error("constants of GPUs: made for another list of costs than this version has")]
    OtherCosts,
}

impl Run {
    /// What its errors were measured against.
    pub fn reference(&self) -> Reference {
        match self.n_networks {
            0 => Reference::MeasuredParts,
            _ => Reference::Measured,
        }
    }

    /// The level of the interval, if the networks that were left out tell it.
    pub fn checked_percent(&self) -> Option<u32> {
        checked_percent(self.n_networks, self.errors.coverage_percent)
    }
}

impl Bundle {
    /// # Errors
    /// If the text is not a bundle, or is a bundle of another version.
    pub fn parse(text: &[u8]) -> Result<Self, BundleError> {
        let malformed = |words: String| BundleError::Malformed(words);
        let bundle: Self = fields::from_json(text).map_err(|error| malformed(error.to_string()))?;
        if bundle.costs != NAMES {
            return Err(BundleError::OtherCosts);
        }
        for run in &bundle.runs {
            let n = run.correction.weights.len();
            if run.costs_ms.len() != N_COSTS
                || run.correction.positions.len() != n * POSITION_BYTES * 2
            {
                return Err(malformed(format!("{}: lists of other lengths", run.target)));
            }
        }
        Ok(bundle)
    }

    /// The constants of this version.
    ///
    /// # Panics
    /// Never: a test reads them.
    #[cfg(feature = "bundle")]
    pub fn shipped() -> &'static Arc<Self> {
        static SHIPPED: LazyLock<Arc<Bundle>> = LazyLock::new(|| {
            let text = include_bytes!("../../../bundle/gpu.json");
            let bundle = Bundle::parse(text);
            Arc::new(bundle.expect("the shipped constants are those of this version"))
        });
        &SHIPPED
    }

    pub fn run(&self, target: &str, mode: Mode) -> Option<&Run> {
        let mut runs = self.runs.iter();
        runs.find(|run| run.target == target && run.mode == mode)
    }
}

/// A network's position: the square root of the share that each cost has in its time, quantised to 255 steps. The
/// distance of two positions is the Hellinger distance.
pub type Position = [u8; N_COSTS];

pub const POSITION_BYTES: usize = N_COSTS;

/// The position of a network with these `amounts` and the costs of a run; all 0 if the network takes no time.
pub fn position(amounts: &Amounts, costs_ms: &[f64]) -> Position {
    let parts: Vec<f64> = amounts.iter().zip(costs_ms).map(|(a, c)| a * c).collect();
    let total: f64 = parts.iter().sum();
    std::array::from_fn(|idx| {
        let share = if total > 0.0 { parts[idx] / total } else { 0.0 };
        (share.clamp(0.0, 1.0).sqrt() * 255.0).round() as u8
    })
}

/// Distance between two positions, from 0 to the square root of 2.
pub fn distance(a: &Position, b: &Position) -> f64 {
    let squares = a.iter().zip(b).map(|(a, b)| {
        let difference = i32::from(*a) - i32::from(*b);
        difference * difference
    });
    f64::from(squares.sum::<i32>()).sqrt() / 255.0
}

impl Correction {
    /// The correction that is added to the logarithm of the roofline's time at this position, and the distance to the
    /// nearest measured network.
    pub fn at(&self, position: &Position) -> (f64, f64) {
        let mut sum = 0.0;
        let mut nearest = f64::MAX;
        for (idx, weight) in self.weights.iter().enumerate() {
            let Some(measured) = self.position(idx) else {
                continue;
            };
            let distance = distance(position, &measured);
            nearest = nearest.min(distance);
            sum += f64::from(*weight) * self.covariance(distance);
        }
        (sum, nearest.min(std::f64::consts::SQRT_2))
    }

    /// Half width of the interval of a network at this distance, in logarithms.
    pub fn half_width_at(&self, distance: f64) -> f64 {
        let half_width = self.half_width[0] + self.half_width[1] * distance;
        half_width.min(self.max_half_width.unwrap_or(f64::MAX))
    }

    pub fn covariance(&self, distance: f64) -> f64 {
        let terms = self.ranges.iter().zip(&self.variances);
        terms
            .map(|(range, variance)| variance * (-distance / range).exp())
            .sum()
    }

    fn position(&self, idx: usize) -> Option<Position> {
        let start = idx * POSITION_BYTES * 2;
        let digits = self
            .positions
            .as_bytes()
            .get(start..start + POSITION_BYTES * 2)?;
        let digit = |byte: u8| char::from(byte).to_digit(16);
        let mut position = [0; N_COSTS];
        for (value, pair) in position.iter_mut().zip(digits.chunks_exact(2)) {
            *value = u8::try_from(digit(pair[0])? * 16 + digit(pair[1])?).ok()?;
        }
        Some(position)
    }
}

/// Encodes positions as [`Correction::positions`] stores them.
pub fn to_digits(positions: &[Position]) -> String {
    let bytes = positions.iter().flatten();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}
