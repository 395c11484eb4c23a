//! Minima of sums of losses and priors.

use crate::cholesky::solve;

/// Newton's method with the squares' part of the second derivative and Marquardt's damping.
pub struct Newton {
    pub max_rounds: usize,
    /// Relative decrease of the objective at which rounds end.
    pub converged: f64,
    /// A parameter moves by at most this in a round.
    pub max_step: f64,
    /// Bounds of the damping.
    pub damping: [f64; 2],
}

/// The gradient, and the lower triangle of the curvature.
pub type Derivatives = (Vec<f64>, Vec<Vec<f64>>);

impl Newton {
    /// Parameters near `start` where `objective`, which is positive, is least. Cubic in their number.
    pub fn minimise(
        &self,
        start: Vec<f64>,
        objective: impl Fn(&[f64]) -> f64,
        derivatives: impl Fn(&[f64]) -> Derivatives,
    ) -> Vec<f64> {
        let [min_damping, max_damping] = self.damping;
        let mut parameters = start;
        let mut value = objective(&parameters);
        let mut damping = 1e-3;
        for _ in 0..self.max_rounds {
            let (gradient, curvature) = derivatives(&parameters);
            let before = value;
            while damping < max_damping {
                let mut damped = curvature.clone();
                for (idx, row) in damped.iter_mut().enumerate() {
                    row[idx] *= 1.0 + damping;
                }
                let steps = solve(damped, &gradient);
                let moved: Vec<f64> = (parameters.iter().zip(steps))
                    .map(|(one, step)| one - step.clamp(-self.max_step, self.max_step))
                    .collect();
                let next = objective(&moved);
                if next <= value {
                    (parameters, value) = (moved, next);
                    damping = (damping / 5.0f64).max(min_damping);
                    break;
                }
                damping *= 8.0;
            }
            if before - value <= self.converged * before {
                break;
            }
        }
        parameters
    }
}
