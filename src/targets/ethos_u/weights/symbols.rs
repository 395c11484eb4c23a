//! The values of weights as the symbols that stand for them in a stream, and codes for these.

use super::brick::ZeroRuns;

const PALETTE_SIZE: usize = 32;
/// In front of a palette.
const PALETTE_BITS: f64 = 13.0;
/// Symbols of a palette and of values beside it.
const MAX_SYMBOL: usize = 511;
/// Of the distance from zero that is coded as 0.
const MAX_DIRECT_OFFSET: usize = 31;
/// Bits of a code's remainder at most.
const MAX_REMAINDER_BITS: usize = 5;
/// Quotient at most, of a code that is cut off and of one that is not.
const MAX_CUT_QUOTIENT: usize = 2;
const MAX_QUOTIENT: usize = 31;

/// Bits that another code must have saved before the encoder changes to it.
const CHANGE_BITS: usize = 40;
/// Bits that a run of zeros in a code of their own costs: the encoder finds back from it in several
/// steps. Fitted to the sizes of Vela's streams, which `trainer/tests/ethos_u.rs` compares with.
const RETURN_BITS: f64 = 150.0;

/// How a symbol is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// Golomb-Rice: a unary quotient, and a remainder of so many bits. Cut off, it has quotients of 2
    /// at most, of which the largest needs no mark for its end.
    GolombRice {
        remainder_bits: usize,
        is_cut: bool,
    },
    Fixed {
        bits: usize,
    },
}

impl Code {
    pub fn can_code(self, symbol: usize) -> bool {
        match self {
            Code::GolombRice {
                remainder_bits,
                is_cut,
            } => {
                let most = if is_cut {
                    MAX_CUT_QUOTIENT
                } else {
                    MAX_QUOTIENT
                };
                symbol >> remainder_bits <= most
            }
            Code::Fixed { .. } => true,
        }
    }

    pub fn bits(self, symbol: usize) -> usize {
        match self {
            Code::GolombRice {
                remainder_bits,
                is_cut,
            } => {
                let most = if is_cut { MAX_CUT_QUOTIENT } else { usize::MAX };
                ((symbol >> remainder_bits) + 1).min(most) + remainder_bits
            }
            Code::Fixed { bits } => bits,
        }
    }
}

/// Values with how often they are there, as symbols: their rank among the most frequent ones, or
/// their distance from zero.
pub(super) struct Symbols {
    /// Symbol and count.
    counts: Vec<(usize, f64)>,
    /// Of the value 0.
    zero: Option<usize>,
    n_palette: usize,
    palette_bits: usize,
    fixed_bits: Option<usize>,
}

impl Symbols {
    /// Of pairs (distance, count), each distance once: twice the distance from zero, and one more
    /// below it.
    pub fn new(mut values: Vec<(usize, f64)>) -> Self {
        let all: f64 = values.iter().map(|&(_, count)| count).sum();
        let distances = || values.iter().map(|&(value, _)| value);
        let largest = distances().max().unwrap_or(0);
        let direct_offset = distances().min().unwrap_or(0).min(MAX_DIRECT_OFFSET);
        let by_count = |(value, count): &(usize, f64), (other, other_count): &(usize, f64)| {
            other_count.total_cmp(count).then(other.cmp(value))
        };
        // Only what may be in a palette needs its rank.
        if values.len() > PALETTE_SIZE {
            values.select_nth_unstable_by(PALETTE_SIZE, by_count);
        }
        let n_ranked = values.len().min(PALETTE_SIZE);
        values[..n_ranked].sort_unstable_by(by_count);
        let is_whole = values.len() <= PALETTE_SIZE;
        let room = match is_whole {
            true => PALETTE_SIZE,
            false => MAX_SYMBOL.saturating_sub(largest),
        };
        let n_candidates = values.len().min(PALETTE_SIZE).min(room);
        let in_palette: f64 = values[..n_candidates].iter().map(|&(_, count)| count).sum();
        let has_palette = in_palette >= (all / 2.0).floor();
        let n_palette = if has_palette { n_candidates } else { 0 };
        let beside = n_palette.max(if has_palette { 2 } else { 0 });
        let symbol = |(rank, &(value, _)): (usize, &(usize, f64))| match rank < n_palette {
            true => rank,
            false => beside + value - direct_offset,
        };
        let zero = values.iter().position(|&(value, _)| value == 0);
        let palette = values[..n_palette].iter();
        let palette_largest = palette.map(|&(value, _)| value).max();
        let palette_bits = bits_of(palette_largest.unwrap_or(largest)).max(2);
        Self {
            counts: (values.iter().enumerate())
                .map(|ranked| (symbol(ranked), ranked.1.1))
                .collect(),
            zero: zero.map(|rank| symbol((rank, &values[rank]))),
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
        let golomb_rice = (0..=MAX_REMAINDER_BITS).flat_map(|remainder_bits| {
            [false, true].map(|is_cut| Code::GolombRice {
                remainder_bits,
                is_cut,
            })
        });
        golomb_rice.chain(self.fixed_bits.map(|bits| Code::Fixed { bits }))
    }

    /// Of the one code for all values that takes least, but for such runs of zeros, some of which are
    /// in a code of their own.
    pub fn bits(&self, zero_runs: &[ZeroRuns]) -> f64 {
        let can_code = |code: &Code| self.counts.iter().all(|&(symbol, _)| code.can_code(symbol));
        let bits = |code: Code| -> f64 {
            let bits = |&(symbol, count): &(usize, f64)| code.bits(symbol) as f64 * count;
            self.counts.iter().map(bits).sum()
        };
        let all = self.codes().filter(can_code);
        let all = all.map(|code| (bits(code), code));
        let Some((least, code)) = all.min_by(|one, other| one.0.total_cmp(&other.0)) else {
            return 0.0;
        };
        let saved = zero_runs.iter().map(|runs| self.saved_bits(code, runs));
        least - saved.sum::<f64>()
    }

    /// By a code for runs of zeros between the values in `code`.
    fn saved_bits(&self, code: Code, runs: &ZeroRuns) -> f64 {
        let Some(zero) = self.zero.filter(|_| self.n_palette > 0) else {
            return 0.0;
        };
        let is_own = |own: &Code| {
            let codes_all = self.counts.iter().all(|&(symbol, _)| own.can_code(symbol));
            own.can_code(zero) && !codes_all
        };
        let least = self.codes().filter(is_own).map(|own| own.bits(zero)).min();
        let gain = least.map_or(0, |least| code.bits(zero).saturating_sub(least));
        let Some(before_change) = CHANGE_BITS.checked_div(gain) else {
            return 0.0;
        };
        let each = (runs.length - 1.0 - before_change as f64) * gain as f64 - RETURN_BITS;
        runs.count * each.max(0.0)
    }
}

/// Bits of a binary number.
fn bits_of(value: usize) -> usize {
    (usize::BITS - value.leading_zeros()) as usize
}
