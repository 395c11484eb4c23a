//! The assumed distribution of 8-bit weights whose values are not in the file.
//!
//! Compilers for NPUs compress weights, so the distribution of the weights changes an estimate by up to a fifth. Two
//! numbers describe it: the share of zeros and the entropy. The distribution is assumed to be Gaussian, cut at ±127,
//! with zeros added to it.

use std::f64::consts::LOG2_E;
use std::sync::{Arc, LazyLock};

/// Default share of zeros among int8 weights: the median over the convolutions and fully connected layers of real int8
/// files, which `tests/graph_json.rs` prints.
pub const DEFAULT_ZERO_SHARE: f32 = 0.012;

/// Default entropy of int8 weights in bits per value: the median over the same layers.
pub const DEFAULT_ENTROPY_BITS: f32 = 7.16;

/// [`counts`] of both.
pub fn default_counts() -> &'static Arc<[u64; 256]> {
    static COUNTS: LazyLock<Arc<[u64; 256]>> =
        LazyLock::new(|| counts(DEFAULT_ZERO_SHARE, DEFAULT_ENTROPY_BITS));
    &COUNTS
}

/// Number of values in a histogram: large enough that a value at the far end of the curve still occurs once.
const N_VALUES: f64 = 65_536.0;

/// Values from 1 to the largest 8-bit value.
const N_HEIGHTS: usize = 127;

/// Number of bisections of the curve's width, to a millionth of its range.
const N_STEPS: usize = 30;

/// Counts of each byte, in two's complement, among weights with this share of zeros (0 to 1) and entropy (0 to 8 bits).
/// If no distribution has both, the share of zeros is exact and the entropy is not.
pub fn counts(zero_share: f32, entropy_bits: f32) -> Arc<[u64; 256]> {
    let zero_share = f64::from(zero_share.clamp(0.0, 1.0));
    let wanted = f64::from(entropy_bits.clamp(0.0, 8.0));
    let of_zeros = entropy_of(zero_share) + entropy_of(1.0 - zero_share);
    // Logarithms of standard deviations in steps of the weights' scale.
    let (mut low, mut high) = (-2.0f64, 8.0f64);
    for _ in 0..N_STEPS {
        let middle = (low + high) / 2.0;
        let entropy = of_zeros + (1.0 - zero_share) * Bell::new(middle.exp()).entropy_bits();
        if entropy < wanted {
            low = middle
        } else {
            high = middle
        }
    }
    let bell = Bell::new(low.exp());
    let mut counts = [0u64; 256];
    let mut set = |value: i32, share: f64| {
        if let Some(count) = counts.get_mut(usize::from(value.to_le_bytes()[0])) {
            *count = number((share * N_VALUES).round());
        }
    };
    set(0, zero_share);
    for (value, share) in bell.shares() {
        set(value, share * (1.0 - zero_share));
        set(value.saturating_neg(), share * (1.0 - zero_share));
    }
    Arc::new(counts)
}

/// The same counts for weights whose zeros are stored as `zero_point`.
pub fn shifted_by_zero_point(counts: &[u64; 256], zero_point: u8) -> Arc<[u64; 256]> {
    let mut moved = *counts;
    moved.rotate_right(usize::from(zero_point));
    Arc::new(moved)
}

/// A bell curve over 1 to 127, and the same over −1 to −127.
struct Bell {
    deviation: f64,
    /// Of each value from 1 on, relative to the top of the curve.
    heights: [f64; N_HEIGHTS],
}

impl Bell {
    /// Computes the heights with multiplications only, because an architecture search needs a curve for every graph:
    /// the logarithm of a height is that of the first one times the square of the value, and squares are sums of odd
    /// numbers.
    fn new(deviation: f64) -> Self {
        let first = (-0.5 / (deviation * deviation)).exp();
        let (mut height, mut step) = (first, first * first * first);
        let heights = std::array::from_fn(|_| {
            let current = height;
            height *= step;
            step *= first * first;
            current
        });
        Self { deviation, heights }
    }

    fn sum(&self) -> f64 {
        2.0 * self.heights.iter().sum::<f64>().max(f64::MIN_POSITIVE)
    }

    /// Entropy of both sides together.
    fn entropy_bits(&self) -> f64 {
        let squares = (1i32..).map(|value| f64::from(value).powi(2));
        let weighted = self.heights.iter().zip(squares);
        let mean_square = 2.0
            * weighted
                .map(|(height, square)| height * square)
                .sum::<f64>()
            / self.sum();
        self.sum().log2() + 0.5 * mean_square / (self.deviation * self.deviation) * LOG2_E
    }

    /// Each value of one side with its share of both.
    fn shares(&self) -> impl Iterator<Item = (i32, f64)> {
        let sum = self.sum();
        (1i32..).zip(self.heights.map(|height| height / sum))
    }
}

/// The part of an entropy, in bits, that a value with this share contributes.
fn entropy_of(share: f64) -> f64 {
    if share > 0.0 {
        -share * share.log2()
    } else {
        0.0
    }
}

/// A whole number from 0 to [`N_VALUES`].
#[allow(clippy::as_conversions)]
fn number(n: f64) -> u64 {
    n as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entropy(shares: &[f64]) -> f64 {
        shares.iter().copied().map(entropy_of).sum()
    }

    #[test]
    fn a_distribution_has_the_share_of_zeros_and_the_entropy_asked_for() {
        let mut largest = [0.0f64; 2];
        for zero_share in [0.0, 0.02, 0.1, 0.3] {
            for entropy_bits in [3.0, 5.0, 6.5, 7.0] {
                let counts = counts(zero_share, entropy_bits);
                let sum = counts.iter().sum::<u64>() as f64;
                let shares: Vec<f64> = counts.iter().map(|&n| n as f64 / sum).collect();
                // The widest is flat.
                let share = f64::from(1.0 - zero_share) / 254.0;
                let widest = 254.0 * entropy_of(share) + entropy_of(f64::from(zero_share));
                let possible = f64::from(entropy_bits).min(widest);
                let differences = [
                    (shares[0] - f64::from(zero_share)).abs(),
                    (entropy(&shares) - possible).abs(),
                ];
                for (largest, difference) in largest.iter_mut().zip(differences) {
                    *largest = largest.max(difference);
                }
            }
        }
        println!(
            "largest differences: share of zeros {}, entropy {} bits",
            largest[0], largest[1]
        );
        assert!(largest[0] < 1e-3 && largest[1] < 0.01);
    }
}
