//! The costs of all runs in one fit.
//!
//! The logarithm of a cost is a sum: what the amount takes on the first board in inference; what each property of a run
//! (training, channels last, compiled) changes; a scale of the run for each [`Limit`]; and a deviation of the run. Each
//! part is drawn to what data sheets say, or to nothing, so that a cost which few networks have stays near those of other
//! runs and never explains what these networks share besides it.

use litecast::targets::gpu::costs::{Amounts, N_COSTS};
use rayon::prelude::*;

use super::evaluate::MeasuredSample;
use super::priors::{Limit, Prior, priors};
use super::roofline::dot;
use super::setting::{Property, Setting};
use crate::newton::{Derivatives, Newton};

const N_PROPERTIES: usize = 4;

/// Chosen by left-out families that are not final.
pub const SPREADS: Spreads = Spreads {
    base: 1.0,
    properties: [0.5, 0.4, 0.5, 0.3],
    scale: 0.4,
    deviation: 0.25,
    error: 0.06,
    family_power: 0.75,
};

/// One run of a fit.
pub struct Observed<'s> {
    pub setting: Setting,
    pub samples: Vec<&'s MeasuredSample>,
}

/// How far the parts of a cost's logarithm may move: standard deviations. Chosen by left-out families.
#[derive(Clone, Copy, Debug)]
pub struct Spreads {
    /// Factor of the spreads of [`priors`].
    pub base: f64,
    pub properties: [f64; N_PROPERTIES],
    pub scale: f64,
    pub deviation: f64,
    /// Mean absolute error of a network, in logarithms, that the likelihood assumes.
    pub error: f64,
    /// A network weighs as the number of its family's networks to the power of minus this.
    pub family_power: f64,
}

/// A training step reads and writes about three times as much as inference.
const TRAINING_FACTOR: f64 = 3.0;
/// Errors below this size, in logarithms, count by their square, larger ones linearly.
const SMALL_ERROR: f64 = 0.03;
const NEWTON: Newton = Newton {
    max_rounds: 25,
    converged: 1e-4,
    max_step: 1.5,
    damping: [1e-6, 1e6],
};

/// By run, the costs in ms.
pub fn fit(runs: &[Observed], spreads: &Spreads) -> Vec<Amounts> {
    let problem = Problem::new(runs, spreads);
    let parameters = problem.minimise();
    let costs = |run: usize| -> Amounts {
        let costs = problem.costs(&parameters, run);
        std::array::from_fn(|idx| match runs[run].setting.lacks(idx) {
            true => 0.0,
            false => costs[idx],
        })
    };
    (0..runs.len()).map(costs).collect()
}

/// The rows of one run: amounts, the logarithm of the measured time, and weight.
type Rows = Vec<(Amounts, f64, f64)>;

struct Problem {
    rows_by_run: Vec<Rows>,
    /// By run and cost, the parameters whose sum is the logarithm of the cost.
    parts: Vec<Vec<Vec<usize>>>,
    /// By parameter, mean and precision of its prior.
    priors: Vec<(f64, f64)>,
}

impl Problem {
    fn new(runs: &[Observed], spreads: &Spreads) -> Self {
        let first = runs[0].setting.board;
        let of_costs = priors(first);
        let mut parameters: Vec<(f64, f64)> = of_costs
            .iter()
            .map(|prior| (prior.log_ms, prior.spread * spreads.base))
            .collect();
        for spread in spreads.properties {
            parameters.extend([(0.0, spread); N_COSTS]);
        }
        let mut parts = Vec::new();
        for run in runs {
            let scales = parameters.len();
            let log = |limit: Limit| -> f64 {
                let is_training = run.setting.properties.contains(&Property::Training);
                let training = if is_training { TRAINING_FACTOR } else { 1.0 };
                (limit.ratio(first, run.setting.board) * training).ln()
            };
            parameters.extend(Limit::ALL.map(|limit| (log(limit), spreads.scale)));
            let deviations = parameters.len();
            parameters.extend([(0.0, spreads.deviation); N_COSTS]);
            let part = |(cost, prior): (usize, &Prior)| {
                let limit = Limit::ALL.iter().position(|one| *one == prior.limit);
                let properties = run.setting.properties.iter();
                let mut part = vec![cost, scales + limit.unwrap_or(0), deviations + cost];
                part.extend(properties.map(|one| (1 + *one as usize) * N_COSTS + cost));
                part
            };
            parts.push(of_costs.iter().enumerate().map(part).collect());
        }
        Self {
            rows_by_run: runs.iter().map(|run| rows(run, spreads)).collect(),
            parts,
            priors: parameters
                .into_iter()
                .map(|(mean, spread)| (mean, spread.powi(-2)))
                .collect(),
        }
    }

    fn log_cost(&self, parameters: &[f64], run: usize, cost: usize) -> f64 {
        let part = &self.parts[run][cost];
        part.iter().map(|&idx| parameters[idx]).sum()
    }

    /// The parameters that are likeliest; absolute errors become squares by weights.
    fn minimise(&self) -> Vec<f64> {
        let means = self.priors.iter().map(|(mean, _)| *mean).collect();
        NEWTON.minimise(
            means,
            |parameters| self.objective(parameters),
            |parameters| self.derivatives(parameters),
        )
    }

    fn costs(&self, parameters: &[f64], run: usize) -> Amounts {
        std::array::from_fn(|cost| self.log_cost(parameters, run, cost).exp())
    }

    fn objective(&self, parameters: &[f64]) -> f64 {
        let priors = self.priors.iter().zip(parameters);
        let of_priors: f64 = priors
            .map(|((mean, precision), value)| 0.5 * precision * (value - mean).powi(2))
            .sum();
        let of_rows = self.rows_by_run.iter().enumerate().map(|(run, rows)| {
            let costs = self.costs(parameters, run);
            let loss = |(amounts, log_ms, weight): &(Amounts, f64, f64)| {
                let error = (dot(amounts, &costs).ln() - log_ms).abs();
                weight
                    * if error < SMALL_ERROR {
                        0.5 * (error * error / SMALL_ERROR + SMALL_ERROR)
                    } else {
                        error
                    }
            };
            rows.iter().map(loss).sum::<f64>()
        });
        of_priors + of_rows.sum::<f64>()
    }

    fn derivatives(&self, parameters: &[f64]) -> Derivatives {
        let priors = self.priors.iter().zip(parameters);
        let mut gradient: Vec<f64> = priors
            .map(|((mean, precision), value)| precision * (value - mean))
            .collect();
        let mut curvature: Vec<Vec<f64>> = self
            .priors
            .iter()
            .enumerate()
            .map(|(idx, (_, precision))| {
                let mut row = vec![0.0; idx + 1];
                row[idx] = *precision;
                row
            })
            .collect();
        let by_run: Vec<(Amounts, Vec<Amounts>)> = (0..self.rows_by_run.len())
            .into_par_iter()
            .map(|run| self.derivatives_of(parameters, run))
            .collect();
        for (parts, (slopes, squares)) in self.parts.iter().zip(by_run) {
            for (i, part) in parts.iter().enumerate() {
                for &a in part {
                    gradient[a] += slopes[i];
                    for (j, other) in parts.iter().enumerate() {
                        for &b in other.iter().filter(|b| **b <= a) {
                            curvature[a][b] += squares[i][j];
                        }
                    }
                }
            }
        }
        (gradient, curvature)
    }

    /// With respect to the logarithms of one run's costs.
    fn derivatives_of(&self, parameters: &[f64], run: usize) -> (Amounts, Vec<Amounts>) {
        let costs = self.costs(parameters, run);
        let mut slopes = [0.0; N_COSTS];
        let mut squares = vec![[0.0; N_COSTS]; N_COSTS];
        for (amounts, log_ms, weight) in &self.rows_by_run[run] {
            let total = dot(amounts, &costs);
            let error = total.ln() - log_ms;
            let weight = weight / error.abs().max(SMALL_ERROR);
            let shares = amounts.iter().zip(&costs).enumerate();
            let shares = shares.map(|(idx, (amount, cost))| (idx, amount * cost / total));
            let shares: Vec<(usize, f64)> = shares.filter(|(_, share)| *share > 0.0).collect();
            for &(i, a) in &shares {
                slopes[i] += weight * error * a;
                for &(j, b) in &shares {
                    squares[i][j] += weight * a * b;
                }
            }
        }
        (slopes, squares)
    }
}

fn rows(run: &Observed, spreads: &Spreads) -> Rows {
    let mut n_of_family = std::collections::BTreeMap::new();
    for sample in &run.samples {
        *n_of_family.entry(sample.family.as_str()).or_insert(0u32) += 1;
    }
    let row = |sample: &&MeasuredSample| {
        let n = f64::from(n_of_family[sample.family.as_str()]);
        let weight = n.powf(-spreads.family_power) / spreads.error;
        let amounts = std::array::from_fn(|idx| match run.setting.lacks(idx) {
            true => 0.0,
            false => sample.amounts[idx],
        });
        (amounts, sample.time_ms.ln(), weight)
    };
    run.samples.iter().map(row).collect()
}
