//! Costs and factors in one fit, each drawn to what is known of it before anything is measured: for runtimes that were
//! measured on networks of many kinds, of which a fit without priors would learn what those networks happen to share.
//!
//! Logarithms of costs and factors have normal priors. The logarithm of a row's total is that of the sum of its counts
//! times costs, plus those of its factors. Errors below [`Problem::error`] count by their square, larger ones linearly.

use crate::newton::{Derivatives, Newton};

const NEWTON: Newton = Newton {
    max_rounds: 60,
    converged: 1e-9,
    max_step: f64::INFINITY,
    damping: [1e-9, 1e9],
};

/// A row of a fit.
pub struct Fitted {
    /// By cost.
    pub counts: Vec<f64>,
    /// Of the measurement.
    pub log_total: f64,
    /// Indices of its factors among the parameters.
    pub factors: Vec<usize>,
    pub weight: f64,
}

/// Parameters are the logarithms of costs, and behind them those of factors.
pub struct Problem {
    rows: Vec<Fitted>,
    n_costs: usize,
    /// Error of a total, in logarithms, that the likelihood assumes.
    error: f64,
    /// By parameter, mean and precision.
    priors: Vec<(f64, f64)>,
}

impl Problem {
    /// `priors` has the mean and the standard deviation of each parameter.
    pub fn new(rows: Vec<Fitted>, n_costs: usize, priors: &[(f64, f64)], error: f64) -> Self {
        let priors = priors.iter();
        Self {
            rows,
            n_costs,
            error,
            priors: priors
                .map(|(mean, spread)| (*mean, spread.powi(-2)))
                .collect(),
        }
    }

    /// The parameters that are likeliest.
    pub fn minimise(&self) -> Vec<f64> {
        let means = self.priors.iter().map(|(mean, _)| *mean).collect();
        NEWTON.minimise(
            means,
            |parameters| self.objective(parameters),
            |parameters| self.derivatives(parameters),
        )
    }

    /// The error of a row as a multiple of [`Self::error`], and the share of each column in its counted total.
    fn error_of(&self, parameters: &[f64], row: &Fitted) -> (f64, Vec<f64>) {
        let costs = parameters.iter().take(self.n_costs);
        let cycles: Vec<f64> = row
            .counts
            .iter()
            .zip(costs)
            .map(|(n, log)| n * log.exp())
            .collect();
        let total: f64 = cycles.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let factors: f64 = row.factors.iter().map(|&idx| parameters[idx]).sum();
        let shares = cycles.into_iter().map(|one| one / total).collect();
        ((total.ln() + factors - row.log_total) / self.error, shares)
    }

    fn objective(&self, parameters: &[f64]) -> f64 {
        let priors = self.priors.iter().zip(parameters);
        let of_priors = priors.map(|((mean, precision), p)| 0.5 * precision * (p - mean).powi(2));
        let of_rows = self.rows.iter().map(|row| {
            let (error, _) = self.error_of(parameters, row);
            row.weight * ((1.0 + error * error).sqrt() - 1.0)
        });
        of_priors.sum::<f64>() + of_rows.sum::<f64>()
    }

    fn derivatives(&self, parameters: &[f64]) -> Derivatives {
        let priors = self.priors.iter().zip(parameters);
        let mut gradient: Vec<f64> = priors.map(|((mean, k), p)| k * (p - mean)).collect();
        let diagonal = |(idx, (_, precision)): (usize, &(f64, f64))| {
            let mut row = vec![0.0; idx + 1];
            row[idx] = *precision;
            row
        };
        let mut curvature: Vec<Vec<f64>> = self.priors.iter().enumerate().map(diagonal).collect();
        for row in &self.rows {
            let (error, shares) = self.error_of(parameters, row);
            let weight = row.weight / (1.0 + error * error).sqrt();
            let mut slopes = vec![0.0; self.priors.len()];
            for (slope, share) in slopes.iter_mut().zip(shares) {
                *slope = share / self.error;
            }
            for &place in &row.factors {
                slopes[place] = 1.0 / self.error;
            }
            for (i, slope) in slopes.iter().enumerate() {
                gradient[i] += weight * error * slope;
                for (j, other) in slopes.iter().enumerate().take(i + 1) {
                    curvature[i][j] += weight * slope * other;
                }
            }
        }
        (gradient, curvature)
    }
}
