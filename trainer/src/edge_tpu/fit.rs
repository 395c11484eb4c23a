//! Least squares of a few constants, none of them negative.

/// Constants of a fit.
pub const N: usize = 4;

/// A measured value, and what it should be a sum of: each count times its constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    pub counted: [f64; N],
    pub measured: f64,
}

/// The constants that make the relative errors of the rows the least in sum of squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fit {
    pub constants: [f64; N],
}

impl Fit {
    pub fn estimate_ms(&self, row: &Row) -> f64 {
        let terms = self.constants.iter().zip(row.counted);
        terms.map(|(constant, counted)| constant * counted).sum()
    }

    fn loss(&self, rows: &[Row]) -> f64 {
        let error = |row: &Row| self.estimate_ms(row) / row.measured - 1.0;
        rows.iter().map(|row| error(row).powi(2)).sum()
    }
}

/// Relative errors, because latencies differ by two orders of magnitude and each counts alike.
///
/// Where constants would be negative, the best fit has some of them 0 and the others free: every such
/// choice is tried, of which there are 2 to the power of [`N`].
pub fn fit(rows: &[Row]) -> Fit {
    let choices = (0..1u32 << N).filter_map(|choice| {
        let is_free: [bool; N] = std::array::from_fn(|idx| choice >> idx & 1 == 1);
        let fit = Fit {
            constants: solve(rows, is_free)?,
        };
        let is_allowed = fit.constants.iter().all(|&constant| constant >= 0.0);
        is_allowed.then_some((fit.loss(rows), fit))
    });
    let best = choices.min_by(|a, b| a.0.total_cmp(&b.0));
    best.expect("all constants 0 is always a choice").1
}

/// The free constants by the normal equations, the others 0; `None` where the rows do not tell them
/// apart.
fn solve(rows: &[Row], is_free: [bool; N]) -> Option<[f64; N]> {
    let mut equations = [[0.0; N + 1]; N];
    for (idx, equation) in equations.iter_mut().enumerate() {
        if !is_free[idx] {
            equation[idx] = 1.0;
            continue;
        }
        for row in rows {
            let own = row.counted[idx] / row.measured;
            for other in 0..N {
                if is_free[other] {
                    equation[other] += own * row.counted[other] / row.measured;
                }
            }
            equation[N] += own;
        }
    }
    eliminate(&mut equations)
}

/// Gauss and Jordan, with the largest pivot of each column.
fn eliminate(equations: &mut [[f64; N + 1]; N]) -> Option<[f64; N]> {
    for column in 0..N {
        let size = |row: usize| equations[row][column].abs();
        let pivot = (column..N).max_by(|&a, &b| size(a).total_cmp(&size(b)))?;
        if size(pivot) == 0.0 {
            return None;
        }
        equations.swap(column, pivot);
        let own = equations[column];
        for (row, equation) in equations.iter_mut().enumerate() {
            if row != column {
                let factor = equation[column] / own[column];
                let pairs = equation.iter_mut().zip(own);
                pairs.for_each(|(value, pivot)| *value -= factor * pivot);
            }
        }
    }
    Some(std::array::from_fn(|idx| {
        equations[idx][N] / equations[idx][idx]
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: [[f64; N]; 6] = [
        [1.0, 2.0, 0.5, 0.0],
        [30.0, 1.0, 0.0, 2.0],
        [5.0, 70.0, 9.0, 0.0],
        [2.0, 3.0, 0.0, 40.0],
        [100.0, 3.0, 1.0, 0.0],
        [8.0, 8.0, 0.0, 1.0],
    ];

    fn rows(constants: [f64; N], noise: [f64; 6]) -> Vec<Row> {
        let exact = Fit { constants };
        let rows = COUNTS.iter().zip(noise).map(|(&counted, noise)| {
            let row = Row {
                counted,
                measured: 1.0,
            };
            Row {
                measured: noise * exact.estimate_ms(&row),
                ..row
            }
        });
        rows.collect()
    }

    #[test]
    fn constants_that_made_the_rows_are_found() {
        let made = [0.02, 1.3, 2.6, 2.1];
        let found = fit(&rows(made, [1.0; 6]));
        for (found, made) in found.constants.iter().zip(made) {
            assert!((found - made).abs() < 1e-9, "{found} instead of {made}");
        }
    }

    /// No step in any direction that keeps the constants above 0 makes the loss smaller.
    #[test]
    fn a_fit_is_the_best_one_without_negative_constants() {
        let noisy = rows([0.5, 0.0, 2.6, 0.1], [0.8, 1.3, 0.7, 1.1, 1.2, 0.6]);
        let found = fit(&noisy);
        println!("{found:?}");
        let least = found.loss(&noisy);
        assert!(found.constants.contains(&0.0), "the case has a bound");
        for idx in 0..N {
            for step in [1e-4, -1e-4] {
                let mut other = found;
                other.constants[idx] = (other.constants[idx] + step).max(0.0);
                assert!(other.loss(&noisy) >= least, "constant {idx}, step {step}");
            }
        }
    }
}
