//! Non-negative least squares for a few constants.

/// The `x ≥ 0` that minimises `Σ (row · x − 1)²`. With rows of counts divided by measured values, it minimises relative
/// errors, so that every measurement has the same weight although they differ by orders of magnitude.
///
/// If constants would be negative, some of them are 0 in the optimum. All 2 to the power of `N` choices of the
/// constants that are 0 are tried.
pub fn non_negative<const N: usize>(rows: &[[f64; N]]) -> [f64; N] {
    let rows: Vec<_> = rows.iter().map(|&counts| Equation::new(counts)).collect();
    non_negative_weighted(&rows, [0.0; N])
}

/// One equation: `counts · x = sum`.
pub struct Equation<const N: usize> {
    /// Amount of each cost.
    pub counts: [f64; N],
    /// The measured sum.
    pub sum: f64,
    /// Weight of the row; above 0.
    pub weight: f64,
}

impl<const N: usize> Equation<N> {
    /// `counts · x = 1`, of weight 1.
    pub fn new(counts: [f64; N]) -> Self {
        Self {
            counts,
            sum: 1.0,
            weight: 1.0,
        }
    }
}

/// Like [`non_negative`], with a sum and a weight for each row. A penalty `p` draws a constant towards 0 with the strength
/// of `p` times the sum of squares of its column.
pub fn non_negative_weighted<const N: usize>(
    rows: &[Equation<N>],
    penalties: [f64; N],
) -> [f64; N] {
    let squares = |idx: usize| {
        rows.iter()
            .map(|row| row.weight * row.counts[idx].powi(2))
            .sum::<f64>()
    };
    let ridge: [f64; N] = std::array::from_fn(|idx| penalties[idx] * squares(idx));
    let choices = (0..1u32 << N).filter_map(|choice| {
        let is_free: [bool; N] = std::array::from_fn(|idx| choice >> idx & 1 == 1);
        let constants = solve(rows, &ridge, is_free)?;
        Some((loss(rows, &ridge, &constants), constants))
    });
    let choices = choices.filter(|(_, constants)| constants.iter().all(|&c| c >= 0.0));
    let best = choices.min_by(|a, b| a.0.total_cmp(&b.0));
    best.expect("all constants 0 is always a choice").1
}

fn loss<const N: usize>(rows: &[Equation<N>], ridge: &[f64; N], constants: &[f64; N]) -> f64 {
    let residuals = rows
        .iter()
        .map(|row| row.weight * (dot(&row.counts, constants) - row.sum).powi(2));
    let held = ridge.iter().zip(constants).map(|(p, c)| p * c * c);
    residuals.sum::<f64>() + held.sum::<f64>()
}

/// A measured total beside the sums of a network: multiply-accumulates, bytes of activations, bytes of weights.
pub struct ThreeSums<'g> {
    /// Of all operators.
    pub sums: [f64; 3],
    /// The measured value.
    pub total: f64,
    /// Rows that are left out together.
    pub group: &'g str,
}

/// Estimates of each row by a regression on the sums that is fitted without its group: what any model should beat. Groups
/// have the same weight.
pub fn three_sums_left_out(rows: &[ThreeSums]) -> Vec<f64> {
    let estimate = |row: &ThreeSums| {
        let others = rows.iter().filter(|other| other.group != row.group);
        let n_like = |row: &ThreeSums| rows.iter().filter(|o| o.group == row.group).count();
        let equations: Vec<Equation<3>> = others
            .map(|other| Equation {
                counts: other.sums.map(|sum| sum / other.total),
                sum: 1.0,
                weight: 1.0 / n_like(other) as f64,
            })
            .collect();
        dot(&row.sums, &non_negative_weighted(&equations, [0.0; 3]))
    };
    rows.iter().map(estimate).collect()
}

/// The `x` that minimises `Σ weight · (row · x − value)²`, by the normal equations.
pub fn weighted_least_squares<const N: usize>(
    rows: impl Iterator<Item = ([f64; N], f64, f64)>,
) -> [f64; N] {
    let mut left = [[0.0; N]; N];
    let mut right = [0.0; N];
    for (row, value, weight) in rows {
        for i in 0..N {
            for j in 0..N {
                left[i][j] += weight * row[i] * row[j];
            }
            right[i] += weight * row[i] * value;
        }
    }
    for pivot in 0..N {
        for row in 0..N {
            if row != pivot && left[pivot][pivot] != 0.0 {
                let factor = left[row][pivot] / left[pivot][pivot];
                let (subtracted, value) = (left[pivot], right[pivot]);
                for (value, other) in left[row].iter_mut().zip(subtracted) {
                    *value -= factor * other;
                }
                right[row] -= factor * value;
            }
        }
    }
    std::array::from_fn(|idx| match left[idx][idx] {
        0.0 => 0.0,
        pivot => right[idx] / pivot,
    })
}

/// The value of a row with these constants.
pub fn dot<const N: usize>(row: &[f64; N], constants: &[f64; N]) -> f64 {
    row.iter().zip(constants).map(|(x, c)| x * c).sum()
}

/// Solves the normal equations for the free constants, with the others 0; `None` if the rows do not determine them.
fn solve<const N: usize>(
    rows: &[Equation<N>],
    ridge: &[f64; N],
    is_free: [bool; N],
) -> Option<[f64; N]> {
    let mut left = [[0.0; N]; N];
    let mut right = [0.0; N];
    for (idx, (equation, right)) in left.iter_mut().zip(&mut right).enumerate() {
        if !is_free[idx] {
            equation[idx] = 1.0;
            continue;
        }
        equation[idx] = ridge[idx];
        for row in rows {
            let weighted = row.weight * row.counts[idx];
            for other in (0..N).filter(|&other| is_free[other]) {
                equation[other] += weighted * row.counts[other];
            }
            *right += weighted * row.sum;
        }
    }
    eliminate(left, right)
}

/// Gauss-Jordan elimination with the largest pivot of each column.
fn eliminate<const N: usize>(mut left: [[f64; N]; N], mut right: [f64; N]) -> Option<[f64; N]> {
    for column in 0..N {
        let size = |row: usize| left[row][column].abs();
        let pivot = (column..N).max_by(|&a, &b| size(a).total_cmp(&size(b)))?;
        if size(pivot) == 0.0 {
            return None;
        }
        left.swap(column, pivot);
        right.swap(column, pivot);
        let (pivot_row, own_right) = (left[column], right[column]);
        for (row, equation) in left.iter_mut().enumerate() {
            if row != column {
                let factor = equation[column] / pivot_row[column];
                let pairs = equation.iter_mut().zip(pivot_row);
                pairs.for_each(|(value, pivot)| *value -= factor * pivot);
                right[row] -= factor * own_right;
            }
        }
    }
    Some(std::array::from_fn(|idx| right[idx] / left[idx][idx]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: [[f64; 4]; 6] = [
        [1.0, 2.0, 0.5, 0.0],
        [30.0, 1.0, 0.0, 2.0],
        [5.0, 70.0, 9.0, 0.0],
        [2.0, 3.0, 0.0, 40.0],
        [100.0, 3.0, 1.0, 0.0],
        [8.0, 8.0, 0.0, 1.0],
    ];

    fn rows(constants: [f64; 4], noise: [f64; 6]) -> Vec<[f64; 4]> {
        let rows = COUNTS.iter().zip(noise);
        rows.map(|(counts, noise)| counts.map(|n| n / (noise * dot(counts, &constants))))
            .collect()
    }

    #[test]
    fn constants_that_made_the_rows_are_found() {
        let made = [0.02, 1.3, 2.6, 2.1];
        let actual = non_negative(&rows(made, [1.0; 6]));
        for (actual, made) in actual.iter().zip(made) {
            assert!((actual - made).abs() < 1e-9, "{actual} instead of {made}");
        }
    }

    /// No small change that keeps the constants non-negative decreases the loss.
    #[test]
    fn a_fit_is_the_best_one_without_negative_constants() {
        let noisy = rows([0.5, 0.0, 2.6, 0.1], [0.8, 1.3, 0.7, 1.1, 1.2, 0.6]);
        let actual = non_negative(&noisy);
        let noisy: Vec<_> = noisy.into_iter().map(Equation::new).collect();
        let free = [0.0; 4];
        println!("{actual:?}");
        assert!(actual.contains(&0.0), "the case has a bound");
        for idx in 0..4 {
            for step in [1e-4, -1e-4] {
                let mut other = actual;
                other[idx] = (other[idx] + step).max(0.0);
                assert!(
                    loss(&noisy, &free, &other) >= loss(&noisy, &free, &actual),
                    "constant {idx}, step {step}"
                );
            }
        }
    }

    #[test]
    fn small_cases_are_as_by_hand() {
        // Without the bound the constants are 2 and -1; with the second at 0, the first is (1 + 2) / (1 + 4).
        let actual = non_negative(&[[1.0, 1.0], [2.0, 3.0]]);
        assert!((actual[0] - 0.6).abs() < 1e-12, "{actual:?}");
        assert_eq!(actual[1], 0.0);
        // One column and two rows that contradict each other: their optima are 1 and 2, and the fit is (1 + 1/2) / (1 +
        // 1/4).
        let [actual] = non_negative(&[[1.0], [0.5]]);
        assert!((actual - 1.2).abs() < 1e-12);
    }

    /// 2 x = 3 and x = 1, the second of twice the weight: (2 · 3 + 2 · 1) / (4 + 2).
    #[test]
    fn rows_have_sums_and_weights() {
        let row = |count, sum, weight| Equation {
            counts: [count],
            sum,
            weight,
        };
        let [actual] = non_negative_weighted(&[row(2.0, 3.0, 1.0), row(1.0, 1.0, 2.0)], [0.0]);
        assert!((actual - 8.0 / 6.0).abs() < 1e-12, "{actual}");
    }
}
