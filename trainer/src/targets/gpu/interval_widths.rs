//! Errors of left-out networks → widths of intervals, and what intervals of these widths hold.

use std::collections::BTreeMap;

use litecast::targets::gpu::bundle::Errors;

use super::evaluate::{Estimate, MeasuredSample};
use crate::metrics::errors_of_families;

/// Share of measurements that an interval should contain.
const COVERAGE: f64 = 0.9;
/// A network weighs as the number of its family's networks to the power of minus this, because networks of a family are
/// wrong together.
const FAMILY_POWER: f64 = 0.5;

/// How a network's time was estimated without it.
#[derive(Clone, Copy, Debug)]
pub struct LeftOut<'e> {
    pub sample: &'e MeasuredSample,
    pub estimate: Estimate,
    /// By a log-linear regression on multiply-accumulates, activations and parameters.
    pub regression_ms: f64,
    pub fold: usize,
}

/// Half width of an interval in logarithms: a fixed part, and a part that is proportional to the distance.
#[derive(Clone, Copy, Debug, Default)]
pub struct HalfWidth(pub [f64; 2]);

impl HalfWidth {
    pub fn at(&self, distance: f64) -> f64 {
        self.0[0] + self.0[1] * distance
    }

    /// The width that holds [`COVERAGE`] of these errors. Its growth with the distance follows from the mean errors of
    /// the nearer and of the farther half.
    pub fn new(left: &[LeftOut]) -> Self {
        let weights = weights(left);
        let mut distances: Vec<f64> = left.iter().map(|one| one.estimate.distance).collect();
        distances.sort_by(f64::total_cmp);
        let median = distances.get(distances.len() / 2).copied().unwrap_or(0.0);
        let mean = |is_far: bool, value: &dyn Fn(&LeftOut) -> f64| {
            let mut sums = [0.0, 1e-9];
            for (one, weight) in left.iter().zip(&weights) {
                if (one.estimate.distance > median) == is_far {
                    sums[0] += weight * value(one);
                    sums[1] += weight;
                }
            }
            sums[0] / sums[1]
        };
        let error = |one: &LeftOut| one.log_error().abs().min(0.5);
        let distance = |one: &LeftOut| one.estimate.distance;
        let near = mean(false, &error);
        let slope = (mean(true, &error) - near)
            / (mean(true, &distance) - mean(false, &distance)).max(1e-6);
        let slope = slope.max(0.0);
        let fixed = (near - slope * mean(false, &distance))
            .max(near / 4.0)
            .max(0.01);
        let mut scaled: Vec<(f64, f64)> = (left.iter().zip(weights))
            .map(|(one, weight)| {
                let width = fixed + slope * one.estimate.distance;
                (one.log_error().abs() / width, weight)
            })
            .collect();
        let quantile = quantile(&mut scaled, COVERAGE);
        Self([quantile * fixed, quantile * slope])
    }
}

impl LeftOut<'_> {
    /// log(measured time / estimate).
    pub fn log_error(&self) -> f64 {
        (self.sample.time_ms / self.estimate.time_ms).ln()
    }
}

fn weights(left: &[LeftOut]) -> Vec<f64> {
    let mut n_of_family: BTreeMap<&str, f64> = BTreeMap::new();
    for one in left {
        *n_of_family.entry(&one.sample.family).or_default() += 1.0;
    }
    let weight = |one: &LeftOut| n_of_family[one.sample.family.as_str()].powf(-FAMILY_POWER);
    left.iter().map(weight).collect()
}

/// The value that `share` of the weight does not exceed, as if one more pair of the largest weight exceeded all.
fn quantile(pairs: &mut [(f64, f64)], share: f64) -> f64 {
    pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let largest = pairs.iter().map(|(_, weight)| *weight).fold(0.0, f64::max);
    let total: f64 = pairs.iter().map(|(_, weight)| weight).sum::<f64>() + largest;
    let mut sum = 0.0;
    for (value, weight) in pairs.iter() {
        sum += weight;
        if sum >= share * total {
            return *value;
        }
    }
    pairs.last().map_or(0.0, |(value, _)| *value)
}

/// Errors of the estimates, and what intervals hold whose width is `width_of` the fold.
pub fn errors(left: &[LeftOut], width_of: impl Fn(usize) -> HalfWidth) -> Errors {
    let n_inside = left
        .iter()
        .filter(|one| one.log_error().abs() <= width_of(one.fold).at(one.estimate.distance));
    Errors {
        coverage_percent: 100.0 * n_inside.count() as f64 / left.len().max(1) as f64,
        ..summary(left, |one| one.estimate.time_ms)
    }
}

pub fn errors_of_regression(left: &[LeftOut]) -> Errors {
    summary(left, |one| one.regression_ms)
}

/// Uncapped errors in percent.
pub fn summary(left: &[LeftOut], estimate_ms: impl Fn(&LeftOut) -> f64) -> Errors {
    let mut by_family: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for one in left {
        let percent = 100.0 * (estimate_ms(one) / one.sample.time_ms - 1.0).abs();
        by_family
            .entry(&one.sample.family)
            .or_default()
            .push(percent);
    }
    errors_of_families(by_family)
}
