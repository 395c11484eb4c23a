//! Measured devices that run one runtime → the prior of another device that runs it: empirical Bayes with normal priors, whose
//! means and covariance are those of the devices' parameters in turn with their fits.

use anyhow::{Context, Result};
use litecast::calibration::{ANY_RUNTIME, EstimatedNetwork, Prior};
use litecast::targets::measured_device::{Fit, Measured};

/// Rounds of fits; the means move by less than a hundredth afterwards.
const N_ROUNDS: usize = 4;
/// Devices that the covariance before any measurement weighs as.
const PRIOR_DEVICES: f64 = 5.0;
/// Its variances, as parts of what holds for any runtime.
const PRIOR_VARIANCE: f64 = 0.25;
/// Share of the covariance of two parameters that counts: all of it estimates families worse that no device ran.
const SHARED: f64 = 0.5;
/// The first parameter is the common scale, which stays as free as it is.
const SCALE: usize = 0;

/// Whole latencies of one device.
pub fn whole_latencies<'n>(
    base: &str,
    latencies: impl Iterator<Item = (&'n EstimatedNetwork, f64)>,
) -> Result<Vec<Measured>> {
    let measured = latencies.map(|(network, measured_ms)| {
        let plan = network
            .plan(base, Prior::kernels("ncnn", base))
            .with_context(|| format!("{}: expected parts on {base}", network.file))?;
        Ok(Measured::network(*plan.whole(), measured_ms))
    });
    measured.collect()
}

/// The prior that the devices have in common.
pub fn prior_of(devices: &[Vec<Measured>]) -> Prior {
    let n = devices.len() as f64;
    // Devices tell which parameters change together.
    let mut before = ANY_RUNTIME;
    for (row, variances) in before.covariance.iter_mut().enumerate() {
        let others = variances.iter_mut().enumerate();
        let others = others.filter(|(column, _)| *column != row);
        others.for_each(|(_, covariance)| *covariance = 0.0);
    }
    let mut prior = before;
    for _ in 0..N_ROUNDS {
        let fits: Vec<Fit> = devices
            .iter()
            .map(|measured| Fit::new(measured, &prior))
            .collect();
        let n_parameters = prior.means.len();
        let means: Vec<f64> = (0..n_parameters)
            .map(|idx| fits.iter().map(|fit| fit.parameters[idx]).sum::<f64>() / n)
            .collect();
        for row in 0..n_parameters {
            for column in 0..n_parameters {
                let of_devices = fits.iter().map(|fit| {
                    let [a, b] = [row, column].map(|idx| fit.parameters[idx] - means[idx]);
                    a * b + fit.covariance[row * n_parameters + column]
                });
                let expected = before.covariance[row][column];
                let expected = if row == SCALE {
                    expected
                } else {
                    PRIOR_VARIANCE * expected
                };
                let sum = of_devices.sum::<f64>() + PRIOR_DEVICES * expected;
                let share = if row == column { 1.0 } else { SHARED };
                prior.covariance[row][column] = share * sum / (n + PRIOR_DEVICES);
            }
        }
        prior.means.copy_from_slice(&means);
    }
    prior
}
