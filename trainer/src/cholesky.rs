//! Linear systems of positive definite matrices.

/// Solves `A x = b` for a positive definite `A`, given by the rows of its lower triangle, by Cholesky's
/// decomposition. Cubic.
pub fn solve(mut rows: Vec<Vec<f64>>, b: &[f64]) -> Vec<f64> {
    let n = rows.len();
    for i in 0..n {
        let (before, rest) = rows.split_at_mut(i);
        let row = &mut rest[0];
        for j in 0..i {
            row[j] = (row[j] - dot(&row[..j], &before[j][..j])) / before[j][j];
        }
        let squares: f64 = row[..i].iter().map(|a| a * a).sum();
        row[i] = (row[i] - squares).max(f64::MIN_POSITIVE).sqrt();
    }
    let mut x = b.to_vec();
    for i in 0..n {
        x[i] = (x[i] - dot(&rows[i][..i], &x[..i])) / rows[i][i];
    }
    for i in (0..n).rev() {
        x[i] /= rows[i][i];
        let solved = x[i];
        for j in 0..i {
            x[j] -= rows[i][j] * solved;
        }
    }
    x
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_system_is_solved() {
        let rows = vec![vec![4.0], vec![2.0, 5.0], vec![0.0, 1.0, 3.0]];
        let x = solve(rows, &[8.0, 15.0, 11.0]);
        let product = [
            4.0 * x[0] + 2.0 * x[1],
            2.0 * x[0] + 5.0 * x[1] + x[2],
            x[1] + 3.0 * x[2],
        ];
        for (actual, expected) in product.iter().zip([8.0, 15.0, 11.0]) {
            assert!((actual - expected).abs() < 1e-9, "{actual} for {expected}");
        }
    }
}
