//! The constants of GPUs, and where networks lie among the measured ones.

#[cfg(feature = "bundle")]
use std::sync::{Arc, LazyLock};

#[cfg(feature = "bundle")]
use super::costs::NAMES;
use super::costs::{Amounts, N_COSTS};
pub use crate::target::fitted::{Bundle, BundleError, Correction, Errors, Mode, Run};

impl Bundle {
    /// The constants of GPUs of this version.
    ///
    /// # Panics
    /// Never: a test reads them.
    #[cfg(feature = "bundle")]
    pub fn shipped() -> &'static Arc<Self> {
        static SHIPPED: LazyLock<Arc<Bundle>> = LazyLock::new(|| {
            let text = include_bytes!("../../../bundle/gpu.json");
            let bundle = Bundle::parse(text, &NAMES);
            Arc::new(bundle.expect("the shipped constants are those of this version"))
        });
        &SHIPPED
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
pub fn distance(a: &[u8], b: &[u8]) -> f64 {
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
        let measured = self.positions.chunks_exact(POSITION_BYTES);
        for (measured, weight) in measured.zip(&self.weights) {
            let distance = distance(position, measured);
            nearest = nearest.min(distance);
            sum += f64::from(*weight) * self.covariance(distance);
        }
        (sum, nearest.min(std::f64::consts::SQRT_2))
    }

    pub fn covariance(&self, distance: f64) -> f64 {
        let terms = self.ranges.iter().zip(&self.variances);
        terms
            .map(|(range, variance)| variance * (-distance / range).exp())
            .sum()
    }
}
