//! Fits non-negative costs of kernels to measured times.

use litecast::targets::gpu::costs::{Amounts, N_COSTS, PRIOR_MS};

/// Rounds of reweighting. The weights make errors count linearly instead of by their square, so that a few unusual
/// networks do not change all costs.
const N_REWEIGHTINGS: usize = 5;
/// Errors below this relative size count by their square.
const SMALL_ERROR: f64 = 0.03;
/// Strength of the penalty that draws costs towards 0, as a share of the measurements. It prevents a cost that few
/// networks have from explaining other properties that these networks share. Chosen among 0.0003, 0.001 and 0.003 by
/// left-out families, with folds that no stated error uses.
pub(super) const RIDGE: f64 = 3e-3;
/// Strength of the penalty of the cost of [`PRIOR_MS`], so large that the fit does not change it.
const PRIOR_STRENGTH: f64 = 1e6;
/// Rounds of coordinate descent. The problem is convex; changes are below 1e-9 long before the last round.
const N_ROUNDS: usize = 3000;
const CONVERGED: f64 = 1e-10;

/// Costs that minimise the relative errors of `amounts · costs` to `times_ms`.
pub fn fit(amounts: &[&Amounts], times_ms: &[f64]) -> Amounts {
    let mut near = [0.0; N_COSTS];
    let (idx, cost_ms) = PRIOR_MS;
    near[idx] = cost_ms;
    fit_near(amounts, times_ms, &near, RIDGE)
}

/// Like [`fit`], but drawn with the strength `ridge` towards the costs `near_ms` instead of 0; a cost that no
/// measurement has keeps that value.
pub(super) fn fit_near(
    amounts: &[&Amounts],
    times_ms: &[f64],
    near_ms: &Amounts,
    ridge: f64,
) -> Amounts {
    let scales = scales(amounts, times_ms);
    let rows: Vec<Vec<f64>> = amounts
        .iter()
        .zip(times_ms)
        .map(|(row, time)| {
            let scaled = row.iter().zip(&scales);
            scaled
                .map(|(amount, scale)| amount / scale / time)
                .collect()
        })
        .collect();
    let prior: Vec<f64> = near_ms
        .iter()
        .zip(&scales)
        .map(|(cost, scale)| cost * scale)
        .collect();
    let mut weights = vec![1.0; rows.len()];
    let mut solution = vec![0.0; N_COSTS];
    for _ in 0..N_REWEIGHTINGS {
        solution = solve(&rows, &weights, &prior, ridge, solution);
        for (row, weight) in rows.iter().zip(&mut weights) {
            let error = (dot(row, &solution) - 1.0).abs();
            *weight = 1.0 / error.max(SMALL_ERROR);
        }
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        weights.iter_mut().for_each(|weight| *weight /= mean);
    }
    std::array::from_fn(|idx| solution[idx] / scales[idx])
}

/// The dot product, accumulated in several independent sums, because a processor otherwise waits for each addition.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<8>(), b.as_chunks::<8>());
    let mut sums = [0.0; 8];
    for (a, b) in a.iter().zip(b) {
        for ((sum, a), b) in sums.iter_mut().zip(a).zip(b) {
            *sum += a * b;
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

/// Root mean squares of the columns over the networks that have them, by which columns are scaled to equal size.
fn scales(amounts: &[&Amounts], times_ms: &[f64]) -> Amounts {
    std::array::from_fn(|idx| {
        let rows = amounts.iter().zip(times_ms);
        let having = rows.filter(|(row, _)| row[idx] > 0.0);
        let squares = having.clone().map(|(row, time)| (row[idx] / time).powi(2));
        let mean = squares.sum::<f64>() / having.count().max(1) as f64;
        mean.sqrt().max(1e-12)
    })
}

/// Non-negative least squares of `rows · x = 1` by coordinate descent.
fn solve(
    rows: &[Vec<f64>],
    weights: &[f64],
    prior: &[f64],
    ridge: f64,
    mut x: Vec<f64>,
) -> Vec<f64> {
    let n = x.len();
    let mut gram = vec![vec![0.0; n]; n];
    let mut target = vec![0.0; n];
    for (row, weight) in rows.iter().zip(weights) {
        let filled: Vec<(usize, f64)> = row
            .iter()
            .copied()
            .enumerate()
            .filter(|(_, v)| *v != 0.0)
            .collect();
        for &(i, a) in &filled {
            target[i] += weight * a;
            for &(j, b) in &filled {
                gram[i][j] += weight * a * b;
            }
        }
    }
    let ridge = ridge * rows.len() as f64;
    for (idx, row) in gram.iter_mut().enumerate() {
        let strength = if idx == PRIOR_MS.0 {
            PRIOR_STRENGTH
        } else {
            ridge
        };
        row[idx] += strength;
        target[idx] += strength * prior[idx];
    }
    for _ in 0..N_ROUNDS {
        let mut largest = 0.0f64;
        for idx in 0..n {
            let gradient = target[idx] - dot(&gram[idx], &x);
            let moved = (x[idx] + gradient / gram[idx][idx]).max(0.0);
            largest = largest.max((moved - x[idx]).abs());
            x[idx] = moved;
        }
        if largest < CONVERGED {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times that were made from costs: the fit recovers the costs; absent ones are 0 or their prior.
    #[test]
    fn costs_are_found_again() {
        let (taken_idx, taken_ms) = PRIOR_MS;
        let absent = |idx: usize| if idx == taken_idx { taken_ms } else { 0.0 };
        let costs = |idx: usize| {
            let present = [2.0, 0.5, 0.0, 3.0].get(idx).copied();
            present.unwrap_or_else(|| absent(idx))
        };
        let row = |seed: usize| -> Amounts {
            std::array::from_fn(|idx| {
                if idx < 4 {
                    ((seed * 7 + idx * 13) % 11) as f64 + 1.0
                } else {
                    0.0
                }
            })
        };
        let rows: Vec<Amounts> = (0..40).map(row).collect();
        let times: Vec<f64> = rows
            .iter()
            .map(|row| (0..4).map(|idx| row[idx] * costs(idx)).sum())
            .collect();
        let actual = fit(&rows.iter().collect::<Vec<_>>(), &times);
        for (idx, actual) in actual.iter().enumerate() {
            assert!(
                (actual - costs(idx)).abs() < 0.1,
                "{idx}: {actual} for {}",
                costs(idx)
            );
        }
    }
}
