//! Distributions of int8 weight values. They affect labels: a compiler for an NPU compresses weights, so the latencies
//! of two networks of the same shape differ by a factor of up to two.

use std::fmt;

use super::random::SplitMix64;

/// How the weights of a whole network are drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum WeightDistribution {
    /// One distribution for all layers.
    SameInEveryLayer(LayerDistribution),
    /// Every layer has a different [`LayerDistribution`].
    DrawnPerLayer,
}

/// The distribution of the weights of one layer. Values are rounded and clipped to −127..=127; `sigma` and `scale` are
/// in int8 steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LayerDistribution {
    /// −127..=127, all equally likely, as with random bytes.
    Uniform,
    /// A normal distribution.
    Gaussian {
        /// Standard deviation, in steps of the quantisation.
        sigma: f64,
    },
    /// Density ∝ exp(−|x| / scale): the heavy tail of trained networks.
    Laplacian {
        /// Mean distance from zero, in steps of the quantisation.
        scale: f64,
    },
    /// Gaussian, with some of the values pruned to zero.
    Sparse {
        /// Share of zeros, 0 to 1.
        zero_share: f64,
        /// Standard deviation, in steps of the quantisation.
        sigma: f64,
    },
    /// Gaussian, rounded to evenly spaced levels (weight clustering).
    Clustered {
        /// Number of different values.
        levels: u32,
        /// Standard deviation, in steps of the quantisation.
        sigma: f64,
    },
}

/// A 16-bit weight is a drawn int8 value times this.
pub const INT16_STEPS: f64 = 256.0;
/// Largest absolute value of a symmetric int8 weight.
const LARGEST: i32 = 127;
/// Entries of a lookup table from random bits to weights: 12 bits, so that the table stays in the
/// first-level cache and one 64-bit number gives five weights.
const TABLE_BITS: u32 = 12;
const TABLE_LEN: usize = 1 << TABLE_BITS;
const PER_WORD: usize = 5;

impl WeightDistribution {
    /// Each kind is equally likely.
    pub fn draw(random: &mut SplitMix64) -> Self {
        match random.below(6) {
            0 => WeightDistribution::DrawnPerLayer,
            kind => {
                WeightDistribution::SameInEveryLayer(LayerDistribution::from_kind(kind, random))
            }
        }
    }

    /// The distribution of the next layer.
    pub fn for_layer(&self, random: &mut SplitMix64) -> LayerDistribution {
        match self {
            WeightDistribution::SameInEveryLayer(layer) => *layer,
            WeightDistribution::DrawnPerLayer => LayerDistribution::draw(random),
        }
    }

    /// `uniform`, `gaussian`, `laplacian`, `sparse`, `clustered` or `per-layer`.
    pub fn id(&self) -> &'static str {
        match self {
            WeightDistribution::SameInEveryLayer(layer) => layer.id(),
            WeightDistribution::DrawnPerLayer => "per-layer",
        }
    }

    /// Names and values, empty for `uniform` and `per-layer`.
    pub fn parameters(&self) -> Vec<(&'static str, f64)> {
        match self {
            WeightDistribution::SameInEveryLayer(layer) => layer.parameters(),
            WeightDistribution::DrawnPerLayer => Vec::new(),
        }
    }
}

impl fmt::Display for WeightDistribution {
    /// `gaussian(sigma=12.5)`: id and parameters in one word, for records.
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let parameters: Vec<String> = self
            .parameters()
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        if parameters.is_empty() {
            f.write_str(self.id())
        } else {
            write!(f, "{}({})", self.id(), parameters.join(","))
        }
    }
}

impl LayerDistribution {
    /// Draws a kind and its parameters.
    pub fn draw(random: &mut SplitMix64) -> Self {
        let kind = 1 + random.below(5);
        Self::from_kind(kind, random)
    }

    fn from_kind(kind: u64, random: &mut SplitMix64) -> Self {
        // Post-training quantisation maps the largest weight of a channel to 127. A freshly initialised layer then has
        // a sigma of 35 to 50, a trained one with outliers a much smaller one.
        let sigma = tenths(random.log_between(8.0, 60.0));
        match kind {
            1 => LayerDistribution::Uniform,
            2 => LayerDistribution::Gaussian { sigma },
            3 => LayerDistribution::Laplacian {
                scale: tenths(random.log_between(4.0, 40.0)),
            },
            4 => LayerDistribution::Sparse {
                zero_share: hundredths(random.between(0.2, 0.9)),
                sigma,
            },
            _ => LayerDistribution::Clustered {
                levels: 4 << random.below(4),
                sigma,
            },
        }
    }

    fn id(&self) -> &'static str {
        match self {
            LayerDistribution::Uniform => "uniform",
            LayerDistribution::Gaussian { .. } => "gaussian",
            LayerDistribution::Laplacian { .. } => "laplacian",
            LayerDistribution::Sparse { .. } => "sparse",
            LayerDistribution::Clustered { .. } => "clustered",
        }
    }

    fn parameters(&self) -> Vec<(&'static str, f64)> {
        match *self {
            LayerDistribution::Uniform => vec![],
            LayerDistribution::Gaussian { sigma } => vec![("sigma", sigma)],
            LayerDistribution::Laplacian { scale } => vec![("scale", scale)],
            LayerDistribution::Sparse { zero_share, sigma } => {
                vec![("zero_share", zero_share), ("sigma", sigma)]
            }
            LayerDistribution::Clustered { levels, sigma } => {
                vec![("levels", f64::from(levels)), ("sigma", sigma)]
            }
        }
    }

    /// Root mean square of the values before rounding and clipping, in int8 steps, which is exact enough to plan
    /// scales.
    pub fn root_mean_square(&self) -> f64 {
        match *self {
            LayerDistribution::Uniform => f64::from(LARGEST) / 3f64.sqrt(),
            LayerDistribution::Gaussian { sigma } | LayerDistribution::Clustered { sigma, .. } => {
                sigma
            }
            LayerDistribution::Laplacian { scale } => scale * 2f64.sqrt(),
            LayerDistribution::Sparse { zero_share, sigma } => sigma * (1.0 - zero_share).sqrt(),
        }
    }

    /// Appends `n` drawn values as bytes.
    pub fn append(&self, n: usize, random: &mut SplitMix64, bytes: &mut Vec<u8>) {
        let table = self.table();
        let start = bytes.len();
        bytes.resize(start + n, 0);
        let (groups, rest) = bytes[start..].as_chunks_mut();
        for group in groups {
            *group = look_up(&table, random.next_u64());
        }
        let last = look_up(&table, random.next_u64());
        rest.copy_from_slice(&last[..rest.len()]);
    }

    /// Entry `k` is the quantile `(k + ½) / TABLE_LEN` of the distribution.
    fn table(&self) -> [u8; TABLE_LEN] {
        let mut table = [0; TABLE_LEN];
        let mut start = 0;
        for value in -LARGEST..=LARGEST {
            let share_up_to = if value == LARGEST {
                1.0
            } else {
                self.share_below(f64::from(value) + 0.5)
            };
            let end = (share_up_to * TABLE_LEN as f64).round() as usize;
            table[start..end.max(start)].fill(self.level_of(value) as i8 as u8);
            start = end.max(start);
        }
        table
    }

    /// The cumulative distribution function at `x`.
    fn share_below(&self, x: f64) -> f64 {
        let gaussian = |sigma: f64| 0.5 * libm::erfc(-x / (sigma * 2f64.sqrt()));
        match *self {
            LayerDistribution::Uniform => (x + 127.5) / 255.0,
            LayerDistribution::Gaussian { sigma } | LayerDistribution::Clustered { sigma, .. } => {
                gaussian(sigma)
            }
            LayerDistribution::Laplacian { scale } if x < 0.0 => 0.5 * libm::exp(x / scale),
            LayerDistribution::Laplacian { scale } => 1.0 - 0.5 * libm::exp(-x / scale),
            LayerDistribution::Sparse { zero_share, sigma } => {
                let zeros = if x > 0.0 { zero_share } else { 0.0 };
                zeros + (1.0 - zero_share) * gaussian(sigma)
            }
        }
    }

    /// The level that `value` is rounded to; itself unless the distribution is clustered.
    fn level_of(&self, value: i32) -> i32 {
        let LayerDistribution::Clustered { levels, sigma } = *self else {
            return value;
        };
        let reach = (3.0 * sigma).min(f64::from(LARGEST));
        let step = 2.0 * reach / f64::from(levels);
        let idx = (f64::from(value) / step)
            .floor()
            .clamp(-f64::from(levels / 2), f64::from(levels / 2 - 1));
        ((idx + 0.5) * step).round() as i32
    }
}

#[inline(always)]
fn look_up(table: &[u8; TABLE_LEN], bits: u64) -> [u8; PER_WORD] {
    let at = |entry: u64| table[entry as usize & (TABLE_LEN - 1)];
    [
        at(bits),
        at(bits >> TABLE_BITS),
        at(bits >> (2 * TABLE_BITS)),
        at(bits >> (3 * TABLE_BITS)),
        at(bits >> (4 * TABLE_BITS)),
    ]
}

/// Rounds, so that the record of a distribution is exact and short.
fn tenths(value: f64) -> f64 {
    (value * 10.0).round() / 10.0
}

fn hundredths(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: usize = 1 << 20;

    fn drawn(layer: LayerDistribution) -> Vec<f64> {
        let mut bytes = Vec::new();
        layer.append(N, &mut SplitMix64::new(7), &mut bytes);
        bytes.iter().map(|&byte| f64::from(byte as i8)).collect()
    }

    fn share_of_zeros(values: &[f64]) -> f64 {
        values.iter().filter(|&&value| value == 0.0).count() as f64 / values.len() as f64
    }

    /// Sample moments against the closed forms of each distribution (clipping is negligible at
    /// these parameters).
    #[test]
    fn moments_match_the_closed_forms() {
        for layer in [
            LayerDistribution::Uniform,
            LayerDistribution::Gaussian { sigma: 25.0 },
            LayerDistribution::Laplacian { scale: 10.0 },
            LayerDistribution::Sparse {
                zero_share: 0.6,
                sigma: 30.0,
            },
            LayerDistribution::Clustered {
                levels: 16,
                sigma: 30.0,
            },
        ] {
            let values = drawn(layer);
            let mean = values.iter().sum::<f64>() / N as f64;
            let rms = (values.iter().map(|value| value * value).sum::<f64>() / N as f64).sqrt();
            let expected = layer.root_mean_square();
            println!("{layer:?}: mean {mean:.3}, rms {rms:.3}, expected {expected:.3}");
            assert!(mean.abs() < 0.2, "{layer:?}: mean {mean}");
            assert!(
                (rms / expected - 1.0).abs() < 0.03,
                "{layer:?}: rms {rms}, expected {expected}"
            );
            assert!(values.iter().all(|value| value.abs() <= 127.0));
        }
    }

    #[test]
    fn sparse_has_its_share_of_zeros() {
        let share = share_of_zeros(&drawn(LayerDistribution::Sparse {
            zero_share: 0.5,
            sigma: 40.0,
        }));
        // Of the unpruned half, one value in a hundred rounds to zero: 1 / (40 √(2π)).
        assert!((share - 0.505).abs() < 0.003, "zero share {share}");
    }

    #[test]
    fn clustered_has_its_number_of_levels() {
        for levels in [4, 8, 16, 32] {
            let mut values = drawn(LayerDistribution::Clustered {
                levels,
                sigma: 30.0,
            });
            values.sort_by(f64::total_cmp);
            values.dedup();
            assert_eq!(values.len(), levels as usize, "{values:?}");
        }
    }

    #[test]
    fn the_record_names_id_and_parameters() {
        let sparse = LayerDistribution::Sparse {
            zero_share: 0.25,
            sigma: 12.5,
        };
        let record = WeightDistribution::SameInEveryLayer(sparse).to_string();
        assert_eq!(record, "sparse(zero_share=0.25,sigma=12.5)");
        assert_eq!(WeightDistribution::DrawnPerLayer.to_string(), "per-layer");
    }
}
