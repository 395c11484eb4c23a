//! Least absolute deviations with many non-negative costs, some of which occur in few networks only. Solved by
//! iteratively reweighted least squares.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

/// Rounds of reweighting. Further rounds change the estimates by less than their error.
const N_ROUNDS: usize = 9;
/// Relative deviations below this have the weight of this one.
const MIN_DEVIATION: f64 = 0.02;
/// Coordinate descent in a round ends after this many sweeps, or when no cost changes by more than the tolerance,
/// relative to its largest part of a network.
const MAX_SWEEPS: usize = 20_000;
const TOLERANCE: f64 = 1e-7;

/// Minimises `Σ weight · |row · x − 1|` over `x ≥ 0`. Rows are sparse: value by column.
pub fn least_deviations(
    rows: &[BTreeMap<usize, f64>],
    row_weights: &[f64],
    n_columns: usize,
) -> Result<Vec<f64>> {
    ensure!(!rows.is_empty(), "expected networks to fit to, found none");
    let mut scales = vec![0.0; n_columns];
    for (column, value) in rows.iter().flatten() {
        scales[*column] = f64::max(scales[*column], *value);
    }
    let mut weights = row_weights.to_vec();
    let mut x = vec![0.0; n_columns];
    for _ in 0..N_ROUNDS {
        x = coordinate_descent(&NormalEquations::new(rows, &weights, &scales), x);
        for ((weight, row), row_weight) in weights.iter_mut().zip(rows).zip(row_weights) {
            let estimate: f64 = row.iter().map(|(c, v)| x[*c] * v / scales[*c]).sum();
            *weight = row_weight / (estimate - 1.0).abs().max(MIN_DEVIATION);
        }
    }
    let unscaled = x.iter().zip(&scales);
    Ok(unscaled
        .map(|(x, scale)| if *scale > 0.0 { x / scale } else { 0.0 })
        .collect())
}

/// NormalEquations equations of weighted least squares.
struct NormalEquations {
    gram: Vec<Vec<f64>>,
    right: Vec<f64>,
}

impl NormalEquations {
    fn new(rows: &[BTreeMap<usize, f64>], weights: &[f64], scales: &[f64]) -> Self {
        let n = scales.len();
        let mut gram = vec![vec![0.0; n]; n];
        let mut right = vec![0.0; n];
        for (row, weight) in rows.iter().zip(weights) {
            for (&i, a) in row {
                let a = weight * a / scales[i];
                right[i] += a;
                for (&j, b) in row {
                    gram[i][j] += a * b / scales[j];
                }
            }
        }
        Self { gram, right }
    }
}

/// Coordinate descent: sets one cost after the other to its optimum with the others fixed. It converges because the
/// problem is convex.
fn coordinate_descent(normal: &NormalEquations, mut x: Vec<f64>) -> Vec<f64> {
    let mut residual: Vec<f64> = (normal.gram.iter().zip(&normal.right))
        .map(|(row, right)| right - row.iter().zip(&x).map(|(g, x)| g * x).sum::<f64>())
        .collect();
    for _ in 0..MAX_SWEEPS {
        let mut largest: f64 = 0.0;
        for i in 0..x.len() {
            let curvature = normal.gram[i][i];
            if curvature <= 0.0 {
                continue;
            }
            let next = f64::max(0.0, x[i] + residual[i] / curvature);
            let step = next - x[i];
            if step != 0.0 {
                x[i] = next;
                largest = largest.max(step.abs());
                let pairs = residual.iter_mut().zip(&normal.gram[i]);
                pairs.for_each(|(residual, g)| *residual -= step * g);
            }
        }
        if largest < TOLERANCE {
            break;
        }
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: [f64; 3]) -> BTreeMap<usize, f64> {
        let made = 2.0 * values[0] + 5.0 * values[2];
        let values = values.into_iter().enumerate();
        values
            .filter(|(_, v)| *v > 0.0)
            .map(|(column, v)| (column, v / made))
            .collect()
    }

    /// Two positive costs and one of 0 that fit all rows exactly, and one outlier that would move a least squares fit.
    #[test]
    fn costs_are_found_beside_an_outlier() {
        let mut rows: Vec<_> = [
            [1.0, 0.0, 3.0],
            [4.0, 2.0, 1.0],
            [10.0, 1.0, 2.0],
            [3.0, 7.0, 9.0],
            [1.0, 1.0, 1.0],
            [8.0, 3.0, 0.5],
        ]
        .map(row)
        .into();
        let exact = least_deviations(&rows, &[1.0; 7][..rows.len()], 3).unwrap();
        println!("{exact:?}");
        assert!((exact[0] - 2.0).abs() < 1e-3 && exact[1] < 1e-3);
        assert!((exact[2] - 5.0).abs() < 1e-3);
        rows.push(BTreeMap::from([(0, 0.05), (2, 0.06)]));
        let actual = least_deviations(&rows, &[1.0; 7][..rows.len()], 3).unwrap();
        println!("with an outlier: {actual:?}");
        assert!((actual[0] - 2.0).abs() < 0.1 && (actual[2] - 5.0).abs() < 0.25);
    }

    #[test]
    fn nothing_to_fit_is_an_error() {
        assert!(least_deviations(&[], &[], 3).is_err());
    }
}
