//! Measured devices that run one runtime → the prior of another device that runs it: empirical Bayes with normal priors, whose
//! means and variances are those of the devices' parameters in turn with their fits.

use anyhow::{Context, Result};
use litecast::calibration::{ANY_RUNTIME, EstimatedNetwork, Prior};
use litecast::targets::measured_device::{Fit, Measured};

/// Rounds of fits; the means move by less than a hundredth afterwards.
const N_ROUNDS: usize = 4;
/// Devices that the variances before any measurement weigh as.
const PRIOR_DEVICES: f64 = 5.0;
/// Those variances, as parts of what holds for any runtime.
const PRIOR_VARIANCE: f64 = 0.25;
/// The first parameter is the common scale, which stays as free as it is.
const SCALE: usize = 0;

/// Whole latencies of one device.
pub fn whole_latencies<'n>(
    base: &str,
    latencies: impl Iterator<Item = (&'n EstimatedNetwork, f64)>,
) -> Result<Vec<Measured>> {
    let measured = latencies.map(|(network, measured_ms)| {
        let plan = network
            .plan(base)
            .with_context(|| format!("{}: expected parts on {base}", network.file))?;
        Ok(Measured::network(*plan.whole(), measured_ms))
    });
    measured.collect()
}

/// The prior that the devices have in common.
pub fn prior_of(devices: &[Vec<Measured>]) -> Prior {
    let n = devices.len() as f64;
    let mut prior = ANY_RUNTIME;
    for _ in 0..N_ROUNDS {
        let fits: Vec<Fit> = devices
            .iter()
            .map(|measured| Fit::new(measured, &prior))
            .collect();
        let n_parameters = prior.means.len();
        for idx in 0..n_parameters {
            let values = fits.iter().map(|fit| fit.parameters[idx]);
            let mean = values.clone().sum::<f64>() / n;
            let squares: f64 = values.map(|value| (value - mean).powi(2)).sum();
            let doubts = fits
                .iter()
                .map(|fit| fit.covariance[idx * n_parameters + idx]);
            let before = ANY_RUNTIME.deviations[idx].powi(2);
            let before = if idx == SCALE {
                before
            } else {
                PRIOR_VARIANCE * before
            };
            let sum = squares + doubts.sum::<f64>() + PRIOR_DEVICES * before;
            prior.means[idx] = mean;
            prior.deviations[idx] = (sum / (n + PRIOR_DEVICES)).sqrt();
        }
    }
    prior
}
