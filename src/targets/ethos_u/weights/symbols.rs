//! The symbols of a weight stream, and the bits of these.

use super::brick::ZeroRuns;
use super::codes::{Code, CodedBits, Coding, GOLOMB_RICE, NonzeroSymbols, PALETTE_SIZE};
use super::ranked::Ranked;

/// Bits of the header of a palette.
pub(super) const PALETTE_BITS: f64 = 13.0;
/// Largest symbol.
const MAX_SYMBOL: usize = 511;
/// Largest distance from zero that is subtracted from all values outside of the palette.
const MAX_DIRECT_OFFSET: usize = 31;

/// Bits that another code must have saved before the encoder changes to it (fitted, see [`RETURN_BITS`]).
const CHANGE_BITS: usize = 40;
/// Bits that changing to another code for a run of zeros and back costs. Fitted to the sizes of Vela's streams,
/// which `trainer/tests/ethos_u.rs` compares with.
const RETURN_BITS: f64 = 150.0;

/// The values of a stream as symbols: ranks in the palette of the most frequent ones, or distances from zero.
///
/// Counts of zeros have few binary digits behind the point, so that sums of their multiples are exact in any order.
pub(super) struct Symbols {
    others: NonzeroSymbols,
    n_all: f64,
    n_zeros: f64,
    /// Symbol of the value 0.
    zero: Option<usize>,
    /// Largest of all symbols: a code that can represent it can represent the others.
    largest: usize,
    n_palette: usize,
    palette_bits: usize,
    fixed_bits: Option<usize>,
}

impl Symbols {
    /// The symbols of `n_zeros` zeros and of the other values of a distribution.
    pub fn new(ranked: &Ranked, n_zeros: f64) -> Self {
        let zero_rank = ranked.rank_of_zeros(n_zeros);
        let n_values = ranked.others.len() + usize::from(zero_rank.is_some());
        let n_all = ranked.n_others + n_zeros;
        let [largest, least] = ranked.distances.unwrap_or_default();
        let direct_offset = match zero_rank {
            Some(_) => 0,
            None => least.min(MAX_DIRECT_OFFSET),
        };
        let is_whole = n_values <= PALETTE_SIZE;
        let room = if is_whole {
            PALETTE_SIZE
        } else {
            MAX_SYMBOL.saturating_sub(largest)
        };
        let has_zero = |n_first: usize| zero_rank.is_some_and(|rank| rank < n_first);
        let n_others = |n_first: usize| n_first - usize::from(has_zero(n_first));
        let n_candidates = n_values.min(PALETTE_SIZE).min(room);
        let zeros_among_them = if has_zero(n_candidates) { n_zeros } else { 0.0 };
        let n_in_palette = ranked.n_first[n_others(n_candidates)] + zeros_among_them;
        let has_palette = n_in_palette >= (n_all / 2.0).floor();
        let n_palette = if has_palette { n_candidates } else { 0 };
        let beside = n_palette.max(if has_palette { 2 } else { 0 });
        let zero = zero_rank.map(|rank| if rank < n_palette { rank } else { beside });
        let others = ranked.nonzero_symbols(Coding {
            n_in_palette: n_others(n_palette),
            zero,
            offset: beside as isize - direct_offset as isize,
        });
        let palette_bits = bits_of(match (others.largest_in_palette, n_palette) {
            (Some(palette_largest), _) => palette_largest,
            (None, 0) => largest,
            (None, _) => 0,
        })
        .max(2);
        Self {
            n_all,
            n_zeros,
            zero,
            largest: (n_palette.saturating_sub(1))
                .max(others.largest)
                .max(zero.unwrap_or(0)),
            others,
            n_palette,
            palette_bits,
            fixed_bits: match (has_palette, is_whole) {
                (true, true) => Some(bits_of(n_palette.saturating_sub(1).max(1))),
                (true, false) => None,
                (false, _) => Some(palette_bits),
            },
        }
    }

    pub fn header_bits(&self) -> f64 {
        PALETTE_BITS + (self.n_palette * self.palette_bits) as f64
    }

    fn codes(&self) -> impl Iterator<Item = Code> {
        let fixed = self.fixed_bits.map(|bits| Code::Fixed { bits });
        GOLOMB_RICE.into_iter().chain(fixed)
    }

    /// All symbols in a code.
    fn coded(&self, code: Code) -> CodedBits {
        match code {
            Code::GolombRice {
                remainder_bits,
                is_truncated,
            } => {
                let others = self.others.coded[remainder_bits][usize::from(is_truncated)];
                (self.zero).map_or(others, |zero| others.with(code, zero, self.n_zeros))
            }
            Code::Fixed { bits } => CodedBits {
                bits: bits as f64 * self.n_all,
                n_left: 0.0,
            },
        }
    }

    /// Bits with the shortest code, minus the bits that another code saves in runs of zeros. With `leaves_rare`, the
    /// code need not represent values that are so rare that changing to another code for each of them costs less.
    pub fn bits(&self, zero_runs: &[ZeroRuns], leaves_rare: bool) -> f64 {
        let codes = self.codes();
        let codes = codes.filter(|code| leaves_rare || code.can_code(self.largest));
        let bits = codes.map(|code| {
            let CodedBits { bits, n_left } = self.coded(code);
            (bits + n_left * RETURN_BITS, code)
        });
        let Some((least, code)) = bits.min_by(|one, other| one.0.total_cmp(&other.0)) else {
            return 0.0;
        };
        least - self.saved_bits(code, zero_runs)
    }

    /// Bits that a separate code for runs of zeros saves, between values in `code`.
    fn saved_bits(&self, code: Code, zero_runs: &[ZeroRuns]) -> f64 {
        let gain = (self.zero)
            .filter(|_| self.n_palette > 0 && !zero_runs.is_empty())
            .map_or(0, |zero| self.zero_gain_bits(code, zero));
        let Some(before_change) = CHANGE_BITS.checked_div(gain) else {
            return 0.0;
        };
        let saved = |runs: &ZeroRuns| {
            let each = (runs.length - 1.0 - before_change as f64) * gain as f64 - RETURN_BITS;
            runs.count * each.max(0.0)
        };
        zero_runs.iter().map(saved).sum()
    }

    /// Bits by which a zero is shorter in a code that cannot represent all symbols than in `code`.
    fn zero_gain_bits(&self, code: Code, zero: usize) -> usize {
        let is_own = |code: &Code| code.can_code(zero) && !code.can_code(self.largest);
        let least = self
            .codes()
            .filter(is_own)
            .map(|code| code.bits(zero))
            .min();
        least.map_or(0, |least| code.bits(zero).saturating_sub(least))
    }
}

/// Bits of the binary form of a number.
fn bits_of(value: usize) -> usize {
    (usize::BITS - value.leading_zeros()) as usize
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use proptest::prelude::*;

    use super::super::codes::MAX_REMAINDER_BITS;
    use super::super::ranked::by_count;
    use super::*;
    use crate::graph::analysis::ByteHistogram;
    use crate::graph::analysis::fixtures::for_each;

    /// Bits of the header and of all symbols, from a list of all values, each with its symbol.
    fn one_by_one(histogram: &ByteHistogram, n_zeros: f64, leaves_rare: bool) -> [f64; 2] {
        let ranked = Ranked::scaled(histogram, 1.0);
        let mut values = ranked.others.clone();
        values.extend((n_zeros > 0.0).then_some((0, n_zeros)));
        values.sort_by(by_count);
        let all: f64 = values.iter().map(|&(_, count)| count).sum();
        let largest = values.iter().map(|&(value, _)| value).max().unwrap_or(0);
        let least = values.iter().map(|&(value, _)| value).min().unwrap_or(0);
        let room = if values.len() > PALETTE_SIZE {
            MAX_SYMBOL - largest
        } else {
            PALETTE_SIZE
        };
        let n_candidates = values.len().min(PALETTE_SIZE).min(room);
        let in_palette: f64 = values[..n_candidates].iter().map(|&(_, count)| count).sum();
        let has_palette = in_palette >= (all / 2.0).floor();
        let n_palette = if has_palette { n_candidates } else { 0 };
        let beside = if has_palette { n_palette.max(2) } else { 0 };
        let symbols: Vec<(usize, f64)> = (values.iter().enumerate())
            .map(|(rank, &(value, count))| {
                if rank < n_palette {
                    (rank, count)
                } else {
                    (beside + value - least.min(MAX_DIRECT_OFFSET), count)
                }
            })
            .collect();
        let coded = values[..n_palette].iter().map(|&(value, _)| value).max();
        let palette_bits = bits_of(coded.unwrap_or(largest)).max(2);
        let mut codes: Vec<Code> = (0..=MAX_REMAINDER_BITS)
            .flat_map(|remainder_bits| {
                [false, true].map(|is_truncated| Code::GolombRice {
                    remainder_bits,
                    is_truncated,
                })
            })
            .collect();
        if !has_palette {
            codes.push(Code::Fixed { bits: palette_bits });
        } else if values.len() <= PALETTE_SIZE {
            let bits = bits_of(n_palette.saturating_sub(1).max(1));
            codes.push(Code::Fixed { bits });
        }
        let bits = codes.iter().filter_map(|code| {
            let bits = |&(symbol, count): &(usize, f64)| {
                if code.can_code(symbol) {
                    Some(code.bits(symbol) as f64 * count)
                } else {
                    leaves_rare.then_some(RETURN_BITS * count)
                }
            };
            symbols.iter().map(bits).sum::<Option<f64>>()
        });
        let least = bits.min_by(f64::total_cmp).unwrap_or(0.0);
        [PALETTE_BITS + (n_palette * palette_bits) as f64, least]
    }

    #[test]
    fn bits_of_parts_are_those_of_all_values() {
        // Few or many values, spread or around the zero point, and zeros of padding.
        let counts = proptest::collection::vec(0u64..2000, 256);
        let shape = (1usize..=256, 0u32..12, any::<u8>(), any::<bool>());
        let n_compared = std::cell::Cell::new(0);
        for_each(
            512,
            (counts, shape, 0u64..1 << 30),
            |(mut counts, shape, zeros)| {
                let (n_values, fall, zero, is_signed) = shape;
                for (byte, count) in counts.iter_mut().enumerate() {
                    let from_zero = (byte as u8).wrapping_sub(zero) as i8;
                    let steps = from_zero.unsigned_abs() as usize;
                    *count = if steps * 2 < n_values {
                        *count >> (steps as u32 * fall / 64).min(20)
                    } else {
                        0
                    };
                }
                let histogram = ByteHistogram {
                    counts: Arc::new(counts.try_into().unwrap()),
                    zero,
                    is_signed,
                    n_bytes: 4096,
                    is_sparse: false,
                };
                let ranked = Ranked::cached(&histogram);
                for padding in [0.0, f64::from(zeros as u32) / 1_048_576.0] {
                    for n_zeros in [0.0, ranked.n_zeros + padding] {
                        let symbols = Symbols::new(&ranked, n_zeros);
                        for leaves_rare in [false, true] {
                            let actual = [symbols.header_bits(), symbols.bits(&[], leaves_rare)];
                            assert_eq!(actual, one_by_one(&histogram, n_zeros, leaves_rare));
                            n_compared.set(n_compared.get() + 1);
                        }
                    }
                }
            },
        );
        println!("{} streams, no difference", n_compared.get());
        assert!(n_compared.get() > 1000);
    }
}
