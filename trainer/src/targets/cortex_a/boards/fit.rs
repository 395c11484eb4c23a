//! One positive constant with its standard error, and the error on other networks.

use litecast::targets::cortex_a::{Constant, Errors};

use crate::least_squares;

/// One measured value and what should be proportional to it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    pub counted: f64,
    pub measured: f64,
}

/// The constant c that makes the relative errors of c · counted the least in sum of squares.
///
/// Relative, because networks differ by orders of magnitude and every one of them counts alike.
pub fn proportion(samples: &[Sample]) -> Constant {
    let ratios: Vec<f64> = samples
        .iter()
        .map(|sample| sample.counted / sample.measured)
        .collect();
    let squares: f64 = ratios.iter().map(|ratio| ratio * ratio).sum();
    let rows: Vec<[f64; 1]> = ratios.iter().map(|&ratio| [ratio]).collect();
    let [value] = least_squares::non_negative(&rows);
    let residual: f64 = ratios
        .iter()
        .map(|ratio| (value * ratio - 1.0).powi(2))
        .sum();
    let freedom = samples.len().saturating_sub(1).max(1) as f64;
    Constant {
        value,
        standard_error: (residual / freedom / squares).sqrt(),
    }
}

/// Of pairs (estimate, measured).
pub fn errors(pairs: &[(f64, f64)]) -> Errors {
    let signed: Vec<f64> = pairs
        .iter()
        .map(|(estimate, measured)| 100.0 * (estimate / measured - 1.0))
        .collect();
    let mut sizes: Vec<f64> = signed.iter().map(|error| error.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let n = pairs.len();
    let rank = (0.95 * n as f64).ceil() as usize;
    Errors {
        n,
        mean_percent: sizes.iter().sum::<f64>() / n as f64,
        p95_percent: sizes.get(rank.saturating_sub(1)).copied().unwrap_or(0.0),
        bias_percent: signed.iter().sum::<f64>() / n as f64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(pairs: &[(f64, f64)]) -> Vec<Sample> {
        let sample = |&(counted, measured): &(f64, f64)| Sample { counted, measured };
        pairs.iter().map(sample).collect()
    }

    #[test]
    fn a_proportion_is_found_whatever_the_sizes() {
        let constant = proportion(&samples(&[(1.0, 2.5), (100.0, 250.0), (1e6, 2.5e6)]));
        assert!((constant.value - 2.5).abs() < 1e-12);
        assert!(constant.standard_error < 1e-9);
    }

    /// No other constant has a smaller sum of squared relative errors.
    #[test]
    fn a_proportion_is_the_best_one() {
        let noisy = samples(&[(1.0, 2.0), (10.0, 22.0), (100.0, 190.0), (7.0, 15.0)]);
        let loss = |constant: f64| -> f64 {
            let error = |s: &Sample| (constant * s.counted / s.measured - 1.0).powi(2);
            noisy.iter().map(error).sum()
        };
        let found = proportion(&noisy).value;
        assert!(loss(found) < loss(found * 1.001) && loss(found) < loss(found * 0.999));
    }

    /// By hand: +10 %, −20 %, 0 %.
    #[test]
    fn errors_are_relative() {
        let found = errors(&[(110.0, 100.0), (8.0, 10.0), (3.0, 3.0)]);
        assert_eq!(found.n, 3);
        assert!((found.mean_percent - 10.0).abs() < 1e-9);
        assert!((found.p95_percent - 20.0).abs() < 1e-9);
        assert!((found.bias_percent + 10.0 / 3.0).abs() < 1e-9);
    }
}
