//! Weights that a file does not have: how their 8-bit values are distributed.
//!
//! A compiler for an NPU compresses weights, so their distribution moves an estimate by up to a fifth. Two
//! numbers describe it: the share of zeros and the entropy. The distribution with them is taken to be a bell
//! curve, cut at ±127, with zeros added to it.

use std::sync::Arc;

/// Share of int8 weights that are zero where nothing says another: the median over the convolutions and fully
/// connected layers of the real int8 files that `tests/graph_json.rs` goes over, which prints it.
pub const DEFAULT_ZERO_SHARE: f32 = 0.012;

/// Entropy of int8 weights in bits a value, likewise.
pub const DEFAULT_ENTROPY_BITS: f32 = 7.16;

/// Values that a histogram counts: enough that a value of the curve's far end is still there once.
const N_VALUES: f64 = 65_536.0;

const LARGEST: i32 = 127;

/// Halvings of the range of the curve's width: to a millionth of it.
const N_STEPS: usize = 30;

/// How often each byte, in two's complement, occurs among weights with this share of zeros (0 to 1) and
/// entropy (0 to 8 bits). Where no distribution has both, the share of zeros is met.
pub fn counts(zero_share: f32, entropy_bits: f32) -> Arc<[u64; 256]> {
    let zero_share = f64::from(zero_share.clamp(0.0, 1.0));
    let wanted = f64::from(entropy_bits.clamp(0.0, 8.0));
    // Logarithms of standard deviations in steps of the weights' scale.
    let (mut low, mut high) = (-2.0f64, 8.0f64);
    for _ in 0..N_STEPS {
        let middle = (low + high) / 2.0;
        match entropy(&shares(zero_share, middle.exp())) < wanted {
            true => low = middle,
            false => high = middle,
        }
    }
    let shares = shares(zero_share, low.exp());
    let mut counts = [0u64; 256];
    for (value, share) in (-LARGEST..=LARGEST).zip(shares) {
        let n = (share * N_VALUES).round();
        if let Some(count) = counts.get_mut(usize::from(value.to_le_bytes()[0])) {
            *count = number(n);
        }
    }
    Arc::new(counts)
}

/// The same for weights whose zeros are stored as `zero_point`.
pub fn moved(counts: &[u64; 256], zero_point: i64) -> Arc<[u64; 256]> {
    let mut moved = *counts;
    moved.rotate_right(usize::from(zero_point.to_le_bytes()[0]));
    Arc::new(moved)
}

/// Shares of −127 to 127, whose sum is 1: zeros as asked, the others as a bell curve of this deviation.
fn shares(zero_share: f64, deviation: f64) -> Vec<f64> {
    let curve = |value: i32| match value {
        0 => 0.0,
        _ => (-0.5 * (f64::from(value) / deviation).powi(2)).exp(),
    };
    let shares: Vec<f64> = (-LARGEST..=LARGEST).map(curve).collect();
    let sum: f64 = shares.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    let of_value = |(value, share): (i32, f64)| match value {
        0 => zero_share,
        _ => share / sum * (1.0 - zero_share),
    };
    (-LARGEST..=LARGEST).zip(shares).map(of_value).collect()
}

fn entropy(shares: &[f64]) -> f64 {
    let terms = shares.iter().filter(|share| **share > 0.0);
    terms.map(|share| -share * share.log2()).sum()
}

/// A whole number from 0 to [`N_VALUES`].
#[allow(clippy::as_conversions)]
fn number(n: f64) -> u64 {
    n as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_has_the_share_of_zeros_and_the_entropy_asked_for() {
        let mut largest = [0.0f64; 2];
        for zero_share in [0.0, 0.02, 0.1, 0.3] {
            for entropy_bits in [3.0, 5.0, 6.5, 7.0] {
                let counts = counts(zero_share, entropy_bits);
                let sum = counts.iter().sum::<u64>() as f64;
                let shares: Vec<f64> = counts.iter().map(|&n| n as f64 / sum).collect();
                let possible = f64::from(entropy_bits)
                    .min(entropy(&super::shares(f64::from(zero_share), 8f64.exp())));
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
