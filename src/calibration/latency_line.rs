//! A few measured latencies → a line from the estimates of the most
//! similar target to the latencies of the device, in closed form.
//!
//! Over networks, the logarithm of one device's latency is close to a line in the logarithm of another's: the intercept
//! is the ratio of their speeds, the slope how the ratio changes with the size of the network. Networks of similar size
//! do not determine the slope, so a prior keeps it near 1.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Minimum number of measurements: with fewer, the error of the calibration cannot be estimated.
pub const MIN_MEASUREMENTS: usize = 3;

/// Maximum number of measurements: a hundred times those of any device that this was tested with.
pub const MAX_MEASUREMENTS: usize = 1000;

/// Accepted latencies in ms, from a nanosecond to eleven days: others are not measurements of hardware.
const LATENCIES_MS: std::ops::RangeInclusive<f64> = 1e-6..=1e9;

/// Weight of the prior that the slope is 1, as a ratio of variances of ln: measurements scatter by 0.1 around the line,
/// and slopes of devices by 0.2 around 1.
const SLOPE_PRIOR: f64 = 0.1 * 0.1 / (0.2 * 0.2);

/// One network on the device.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Measurement {
    /// Estimated latencies of known targets by target id, in ms.
    pub estimates_ms: BTreeMap<String, f64>,
    /// Measured latency on the device, in ms.
    pub measured_ms: f64,
}

/// A calibrated device. It can be serialised, to be stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Id of the target whose scaled estimates are nearest to the measurements.
    pub target: String,
    /// Mean of the logarithms of its estimates.
    center: f64,
    intercept: f64,
    slope: f64,
    /// Number of measured networks that it was fitted to.
    pub n_measurements: usize,
    /// Mean absolute error in percent, of each measurement estimated from the others.
    pub left_out_percent: f64,
    /// Largest factor between an estimate and its measurement in that test, in either direction, at least 1.
    pub left_out_worst_factor: f64,
}

/// The latency of one network on a calibrated device.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Calibrated {
    /// Estimated latency in ms.
    pub latency_ms: f64,
    /// Lower end of the interval, see [`Calibration::around`].
    pub lo_ms: f64,
    /// Upper end of the interval, see [`Calibration::around`].
    pub hi_ms: f64,
    /// See [`Calibration::target`].
    pub target: String,
    /// See [`Calibration::n_measurements`].
    pub n_measurements: usize,
    /// See [`Calibration::left_out_percent`].
    pub left_out_percent: f64,
}

/// Why there is no calibration.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CalibrationError {
    /// Less than [`MIN_MEASUREMENTS`] measurements.
    #[error("expected at least {MIN_MEASUREMENTS} measurements, found {0}")]
    TooFew(usize),
    /// More than [`MAX_MEASUREMENTS`] measurements.
    #[error("expected at most {MAX_MEASUREMENTS} measurements, found {0}")]
    TooMany(usize),
    /// A measured latency of 0, below 0 or not a number.
    #[error("measurement {index}: expected a latency above 0 ms, found {value}")]
    NotPositive {
        /// Position in the list of measurements.
        index: usize,
        /// In ms.
        value: f64,
    },
    /// A measured latency outside of the accepted range.
    #[error(
        "measurement {index}: expected a latency from {} to {} ms, found {value}",
        LATENCIES_MS.start(),
        LATENCIES_MS.end()
    )]
    OutOfRange {
        /// Position in the list of measurements.
        index: usize,
        /// In ms.
        value: f64,
    },
    /// The estimate is outside of the range of `f64`: the measurements are too far from a line.
    #[error("the measurements are too far from each other for an estimate of this network")]
    TooFar,
    /// No target has an estimate of every measured network.
    #[error("no target has an estimate of each measured network")]
    NoCommonTarget,
    /// The target of the calibration has no estimate of the given network.
    #[error("{target} has no estimate of this network")]
    NoEstimate {
        /// Id of the calibrated target.
        target: String,
    },
}

impl CalibrationError {
    /// Stable kebab-case identifier for programs.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::TooFew(_) => "too-few-measurements",
            Self::TooMany(_) => "limit-exceeded",
            Self::NotPositive { .. } => "not-positive",
            Self::OutOfRange { .. } => "latency-out-of-range",
            Self::TooFar => "too-far",
            Self::NoCommonTarget => "no-common-target",
            Self::NoEstimate { .. } => "no-estimate",
        }
    }
}

impl Calibration {
    /// The best of all targets that have a positive estimate of every measured network; linear in measurements and
    /// their estimates.
    pub fn fit(measurements: &[Measurement]) -> Result<Self, CalibrationError> {
        let first = measurements.first();
        let targets: Vec<&str> = first
            .iter()
            .flat_map(|one| one.estimates_ms.keys().map(String::as_str))
            .collect();
        let measured_ms: Vec<f64> = measurements.iter().map(|one| one.measured_ms).collect();
        let estimate_ms = |idx: usize, target: usize| {
            let estimate = measurements[idx].estimates_ms.get(targets[target]);
            estimate.copied().unwrap_or_default()
        };
        let mut best = Self::fit_nearest(&measured_ms, targets.len(), &estimate_ms)?;
        best.1.target = targets[best.0].to_owned();
        Ok(best.1)
    }

    /// As [`Self::fit`], of `n_targets` whose estimate of a measured network `estimate_ms` gives: 0 where there is none. With the
    /// position of the target, whose id is left empty.
    pub(crate) fn fit_nearest(
        measured_ms: &[f64],
        n_targets: usize,
        estimate_ms: &dyn Fn(usize, usize) -> f64,
    ) -> Result<(usize, Self), CalibrationError> {
        let n = measured_ms.len();
        if n < MIN_MEASUREMENTS {
            return Err(CalibrationError::TooFew(n));
        }
        if n > MAX_MEASUREMENTS {
            return Err(CalibrationError::TooMany(n));
        }
        for (index, &value) in measured_ms.iter().enumerate() {
            if !is_latency(value) {
                return Err(if value > 0.0 {
                    CalibrationError::OutOfRange { index, value }
                } else {
                    CalibrationError::NotPositive { index, value }
                });
            }
        }
        let mut best: Option<(usize, Self)> = None;
        for target in 0..n_targets {
            let mut pairs = Vec::with_capacity(n);
            for (idx, measured) in measured_ms.iter().enumerate() {
                let estimate = estimate_ms(idx, target);
                if is_latency(estimate) {
                    pairs.push([estimate.ln(), measured.ln()]);
                }
            }
            if pairs.len() < n {
                continue;
            }
            let fit = Self::from_pairs(&pairs);
            let is_better = best
                .as_ref()
                .is_none_or(|(_, best)| fit.left_out_percent < best.left_out_percent);
            if fit.left_out_percent.is_finite() && is_better {
                best = Some((target, fit));
            }
        }
        best.ok_or(CalibrationError::NoCommonTarget)
    }

    fn from_pairs(pairs: &[[f64; 2]]) -> Self {
        let sums = Sums::new(pairs);
        let line = sums.line();
        let left_out = |&[x, y]: &[f64; 2]| sums.without([x, y]).line().at(x) - y;
        let errors: Vec<f64> = pairs.iter().map(left_out).collect();
        let percent = |error: &f64| 100.0 * (error.exp() - 1.0).abs();
        let worst = errors.iter().map(|error| error.abs()).fold(0.0, f64::max);
        Self {
            target: String::new(),
            center: line.center,
            intercept: line.intercept,
            slope: line.slope,
            n_measurements: pairs.len(),
            left_out_percent: errors.iter().map(percent).sum::<f64>() / errors.len() as f64,
            left_out_worst_factor: worst.exp(),
        }
    }

    /// Latency on the device of a network that takes `estimate_ms` on [`Self::target`].
    pub fn latency_ms(&self, estimate_ms: f64) -> f64 {
        let line = Line {
            center: self.center,
            intercept: self.intercept,
            slope: self.slope,
        };
        line.at(estimate_ms.ln()).exp()
    }

    /// Latency on the device of a network with these estimates of known targets, in ms.
    pub fn apply(
        &self,
        estimates_ms: &BTreeMap<String, f64>,
    ) -> Result<Calibrated, CalibrationError> {
        let [latency_ms, lo_ms, hi_ms] =
            self.latency_and_interval_ms(estimates_ms.get(&self.target).copied())?;
        Ok(Calibrated {
            latency_ms,
            lo_ms,
            hi_ms,
            target: self.target.clone(),
            n_measurements: self.n_measurements,
            left_out_percent: self.left_out_percent,
        })
    }

    /// The latency of a network with this estimate on [`Self::target`], and both ends of its interval.
    pub(crate) fn latency_and_interval_ms(
        &self,
        estimate_ms: Option<f64>,
    ) -> Result<[f64; 3], CalibrationError> {
        let missing = || CalibrationError::NoEstimate {
            target: self.target.clone(),
        };
        let estimate_ms = estimate_ms.filter(|ms| is_latency(*ms));
        let latency_ms = self.latency_ms(estimate_ms.ok_or_else(missing)?);
        let (lo_ms, hi_ms) = self.around(latency_ms);
        let ends = [latency_ms, lo_ms, hi_ms];
        if ends.into_iter().all(is_latency) {
            Ok(ends)
        } else {
            Err(CalibrationError::TooFar)
        }
    }

    /// The numbers that it consists of: center, intercept, slope, mean and worst error.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn to_numbers(&self) -> [f64; 5] {
        [
            self.center,
            self.intercept,
            self.slope,
            self.left_out_percent,
            self.left_out_worst_factor,
        ]
    }

    /// Of [`Self::to_numbers`].
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn from_numbers(target: String, numbers: [f64; 5]) -> Self {
        let [
            center,
            intercept,
            slope,
            left_out_percent,
            left_out_worst_factor,
        ] = numbers;
        Self {
            target,
            center,
            intercept,
            slope,
            n_measurements: 0,
            left_out_percent,
            left_out_worst_factor,
        }
    }

    /// Lower and upper end of the interval around a latency of [`Self::latency_ms`]: as wide as the
    /// worst of the measurements that were left out. A further network of their kind lies within with
    /// a chance of n in n + 1.
    pub fn around(&self, latency_ms: f64) -> (f64, f64) {
        let factor = self.left_out_worst_factor;
        (latency_ms / factor, latency_ms * factor)
    }
}

fn is_latency(ms: f64) -> bool {
    LATENCIES_MS.contains(&ms)
}

/// `y = x + intercept + (slope − 1) (x − center)`, which is a device that is faster by a factor where
/// the slope is 1.
#[derive(Clone, Copy, Debug)]
struct Line {
    center: f64,
    intercept: f64,
    slope: f64,
}

/// What a line follows from.
#[derive(Clone, Copy, Debug)]
struct Sums {
    n: f64,
    /// Means of `x` and of `y − x`.
    center: f64,
    intercept: f64,
    /// Around these means.
    spread: f64,
    tilt: f64,
}

impl Sums {
    fn new(pairs: &[[f64; 2]]) -> Self {
        let n = pairs.len().max(1) as f64;
        let center = pairs.iter().map(|[x, _]| x).sum::<f64>() / n;
        let intercept = pairs.iter().map(|[x, y]| y - x).sum::<f64>() / n;
        let tilt = |[x, y]: &[f64; 2]| (x - center) * (y - x - intercept);
        Self {
            n,
            center,
            intercept,
            spread: pairs.iter().map(|[x, _]| (x - center).powi(2)).sum(),
            tilt: pairs.iter().map(tilt).sum(),
        }
    }

    /// The same without one of several pairs.
    fn without(&self, [x, y]: [f64; 2]) -> Self {
        let n = self.n - 1.0;
        let (dx, dy) = (x - self.center, y - x - self.intercept);
        let share = self.n / n;
        Self {
            n,
            center: self.center - dx / n,
            intercept: self.intercept - dy / n,
            // Not below 0 by rounding.
            spread: (self.spread - dx * dx * share).max(0.0),
            tilt: self.tilt - dx * dy * share,
        }
    }

    /// Least squares, with the slope drawn to 1.
    fn line(&self) -> Line {
        Line {
            center: self.center,
            intercept: self.intercept,
            slope: 1.0 + self.tilt / (self.spread + SLOPE_PRIOR),
        }
    }
}

impl Line {
    fn at(&self, x: f64) -> f64 {
        x + self.intercept + (self.slope - 1.0) * (x - self.center)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measurement(estimates: [f64; 2], measured_ms: f64) -> Measurement {
        let names = ["near", "far"].map(str::to_owned);
        Measurement {
            estimates_ms: names.into_iter().zip(estimates).collect(),
            measured_ms,
        }
    }

    /// A device that takes 2.5 times as long as one target, whatever the network.
    #[test]
    fn a_factor_is_found() {
        let on = |ms: f64, other: f64| measurement([ms, other], 2.5 * ms);
        let actual = Calibration::fit(&[on(1.0, 3.0), on(20.0, 1.0), on(7.0, 50.0)]).unwrap();
        println!("{actual:?}");
        assert_eq!(actual.target, "near");
        assert!((actual.latency_ms(4.0) - 10.0).abs() < 1e-9);
        assert!(actual.left_out_percent < 1e-9);
        let applied = actual.apply(&on(4.0, 1.0).estimates_ms).unwrap();
        assert!((applied.latency_ms - 10.0).abs() < 1e-9 && applied.n_measurements == 3);
        let error = actual.apply(&BTreeMap::new()).unwrap_err();
        assert_eq!(error.to_string(), "near has no estimate of this network");
        let (low, high) = actual.around(10.0);
        assert!((low - 10.0).abs() < 1e-6 && (high - 10.0).abs() < 1e-6);
    }

    /// By hand: ln x of 0, ln 10 and ln 100 against y = x^1.2, whose tilt 0.4 (ln 10)² is drawn
    /// to 1 by the prior of 1/4.
    #[test]
    fn slopes_are_drawn_to_one() {
        let on = |ms: f64| measurement([ms, 1.0], ms.powf(1.2));
        let actual = Calibration::fit(&[on(1.0), on(10.0), on(100.0)]).unwrap();
        let square = 10f64.ln().powi(2);
        let expected = 1.0 + 0.4 * square / (2.0 * square + 0.25);
        assert!((actual.slope - expected).abs() < 1e-12, "{actual:?}");
        // Networks of one size say nothing about the slope.
        let same = Calibration::fit(&[on(10.0), on(10.0), on(10.0)]).unwrap();
        assert_eq!(same.slope, 1.0);
    }

    /// Against sums over the others.
    #[test]
    fn sums_without_a_pair_are_those_of_the_others() {
        let pairs: Vec<[f64; 2]> = (0..50_u32)
            .map(|idx| [f64::from(idx * idx % 17), f64::from(idx * 7 % 23)])
            .collect();
        let sums = Sums::new(&pairs);
        for idx in 0..pairs.len() {
            let mut others = pairs.clone();
            let left_out = others.remove(idx);
            let [actual, expected] = [sums.without(left_out), Sums::new(&others)]
                .map(|sums| [sums.n, sums.center, sums.intercept, sums.spread, sums.tilt]);
            for (actual, expected) in actual.into_iter().zip(expected) {
                let difference = (actual - expected).abs();
                assert!(
                    difference <= 1e-9 * expected.abs().max(1.0),
                    "{difference:e}"
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_calibrated_is_refused() {
        let on = |ms: f64| measurement([ms, ms], ms);
        assert_eq!(
            Calibration::fit(&[on(1.0), on(2.0)]),
            Err(CalibrationError::TooFew(2))
        );
        let zero = Calibration::fit(&[on(1.0), on(2.0), measurement([1.0, 1.0], 0.0)]);
        let expected = CalibrationError::NotPositive {
            index: 2,
            value: 0.0,
        };
        assert_eq!(zero, Err(expected));
        let none = Measurement {
            estimates_ms: BTreeMap::new(),
            measured_ms: 1.0,
        };
        assert_eq!(
            Calibration::fit(&[none, on(1.0), on(2.0)]),
            Err(CalibrationError::NoCommonTarget)
        );
    }
}
