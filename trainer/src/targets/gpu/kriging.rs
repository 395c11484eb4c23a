//! Errors of the roofline on measured networks → [`Correction`]: kriging with the sum of two exponential covariances of
//! the distance between networks.

use litecast::targets::gpu::bundle::{Correction, Position, distance};
use rayon::prelude::*;

use crate::cholesky::solve;

/// Ranges of the covariances: one for networks of the same family and one for networks of the same kind. They were set
/// by hand after a few trials on the RTX 3090's tables, without a search: larger ranges lower the errors of networks whose
/// family was measured, and raise those of families left out.
const RANGES: [f64; 2] = [0.25, 0.7];
/// Candidates for the variances of the covariances, chosen for each table. The second variance transfers corrections
/// between families, which increases errors on some GPUs.
pub const CANDIDATES: [[f64; 2]; 3] = [[0.02, 0.01], [0.02, 0.002], [0.02, 0.0]];
/// Those of the constants that ship.
pub const VARIANCES: [f64; 2] = [0.02, 0.002];
/// Variance of a measurement's logarithm: two versions of PyTorch differ by 2 to 3 %.
const NOISE: f64 = 4e-4;

/// The correction that fits `residuals`, the logarithms of measured time over the roofline's time.
pub fn fit(positions: &[Position], residuals: &[f64], variances: [f64; 2]) -> Correction {
    let mut correction = Correction {
        ranges: RANGES,
        variances,
        ..Correction::default()
    };
    let covariances = |idx: usize| -> Vec<f64> {
        let row = positions[..=idx].iter();
        row.map(|other| correction.covariance(distance(&positions[idx], other)))
            .collect()
    };
    let mut rows: Vec<Vec<f64>> = (0..positions.len())
        .into_par_iter()
        .map(covariances)
        .collect();
    for (idx, row) in rows.iter_mut().enumerate() {
        row[idx] += NOISE;
    }
    let weights = solve(rows, residuals);
    correction.positions = positions.as_flattened().to_vec();
    correction.weights = weights.into_iter().map(|weight| weight as f32).collect();
    correction
}
