//! How counts grow.

/// The exponent of a power of the size, from counts of three sizes, each twice the one before: the smaller one of the
/// counts' and of their differences'. Neither a constant nor what begins at some size looks like growth.
pub fn exponent([first, second, third]: [u64; 3]) -> f64 {
    let ratio = |of: u64, to: u64| (of.max(1) as f64 / to.max(1) as f64).log2();
    let steps = ratio(third.saturating_sub(second), second.saturating_sub(first));
    steps.min(ratio(third, second))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_have_their_exponents() {
        for (power, expected) in [(0_u32, 0.0), (1, 1.0), (2, 2.0), (3, 3.0)] {
            let counts = [100_u64, 200, 400].map(|n| 3 * n.pow(power));
            assert!((exponent(counts) - expected).abs() < 1e-9, "{power}");
        }
        // Beside a constant, and beside more work that is linear.
        let counts = [100_u64, 200, 400].map(|n| 1_000_000 + n);
        assert!(exponent(counts) < 0.1);
        let counts = [100_u64, 200, 400].map(|n| 50 * n + n * n);
        assert!(exponent(counts) > 1.7);
    }
}
