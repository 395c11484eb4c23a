//! How counts grow.

/// The exponent of a power of the size, from counts of sizes of which each is twice the one before: the smallest of the
/// counts' and of their differences', from size to size. Neither a constant nor what begins at some size looks like
/// growth. Of more sizes it is never larger.
pub fn exponent(counts: &[u64]) -> f64 {
    let log_ratio = |pair: &[u64]| (pair[1].max(1) as f64 / pair[0].max(1) as f64).log2();
    let steps: Vec<u64> = counts
        .windows(2)
        .map(|pair| pair[1].saturating_sub(pair[0]))
        .collect();
    let of_counts = counts[1..].windows(2).map(log_ratio);
    let of_steps = steps.windows(2).map(log_ratio);
    of_counts.chain(of_steps).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_have_their_exponents() {
        for (power, expected) in [(0_u32, 0.0), (1, 1.0), (2, 2.0), (3, 3.0)] {
            let counts = [100_u64, 200, 400, 800].map(|n| 3 * n.pow(power));
            assert!((exponent(&counts) - expected).abs() < 1e-9, "{power}");
        }
        // Beside a constant, beside more work that is linear, and from some size on.
        let counts = [100_u64, 200, 400, 800].map(|n| 1_000_000 + n);
        assert!(exponent(&counts) < 0.1);
        let counts = [100_u64, 200, 400, 800].map(|n| 50 * n + n * n);
        assert!(exponent(&counts) > 1.7);
        assert_eq!(exponent(&[0, 0, 500, 1000]), 0.0);
        for counts in [[0, 0, 500, 1000], [1, 4, 16, 20], [3, 9, 50, 700]] {
            assert!(exponent(&counts) <= exponent(&counts[..3]));
        }
    }
}
