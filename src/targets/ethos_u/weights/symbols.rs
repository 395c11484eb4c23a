//! The symbols of a weight stream, and the codes of these.

use std::cmp::Ordering;

use super::brick::ZeroRuns;

const PALETTE_SIZE: usize = 32;
/// Bits of the header of a palette.
const PALETTE_BITS: f64 = 13.0;
/// Largest symbol.
const MAX_SYMBOL: usize = 511;
/// Largest distance from zero that is subtracted from all values outside of the palette.
const MAX_DIRECT_OFFSET: usize = 31;
/// Most bits of the remainder of a Golomb-Rice code.
const MAX_REMAINDER_BITS: usize = 5;
/// Largest quotient of a truncated code, and of one that is not truncated.
const MAX_CUT_QUOTIENT: usize = 2;
const MAX_QUOTIENT: usize = 31;

/// Bits that another code must have saved before the encoder changes to it (fitted, see [`RETURN_BITS`]).
const CHANGE_BITS: usize = 40;
/// Bits that changing to another code for a run of zeros and back costs. Fitted to the sizes of Vela's streams,
/// which `trainer/tests/ethos_u.rs` compares with.
const RETURN_BITS: f64 = 150.0;

/// The code of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// Golomb-Rice: a unary quotient and a remainder of so many bits. Truncated, quotients are at most 2, and
    /// the largest has no end mark.
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

    /// [`Self::bits`] of each symbol as often as it occurs. Symbols have a few digits: their bits are computed in 32 of
    /// their own, which take a third of the time to become numbers with fractions.
    fn bits_of_all(self, counts: &[(usize, f64)]) -> f64 {
        match self {
            Code::GolombRice {
                remainder_bits,
                is_cut,
            } => {
                let remainder_bits = remainder_bits as u32;
                let most = if is_cut {
                    MAX_CUT_QUOTIENT as u32
                } else {
                    u32::MAX
                };
                let bits = |&(symbol, count): &(usize, f64)| {
                    let quotient = ((symbol as u32 >> remainder_bits) + 1).min(most);
                    f64::from(quotient + remainder_bits) * count
                };
                counts.iter().map(bits).sum()
            }
            Code::Fixed { bits } => {
                let bits = bits as f64;
                counts.iter().map(|&(_, count)| bits * count).sum()
            }
        }
    }
}

/// The values of a stream as symbols with their counts: ranks in the palette of the most frequent ones, or
/// distances from zero.
pub(super) struct Symbols {
    /// Symbols and their counts.
    counts: Vec<(usize, f64)>,
    /// Of all symbols: a code that can code it can code the others.
    largest: usize,
    /// Symbol of the value 0.
    zero: Option<usize>,
    n_palette: usize,
    palette_bits: usize,
    fixed_bits: Option<usize>,
}

/// The more frequent first; of as frequent ones the larger.
pub(super) fn by_count(
    (value, count): &(usize, f64),
    (other, other_count): &(usize, f64),
) -> Ordering {
    other_count.total_cmp(count).then(other.cmp(value))
}

impl Symbols {
    /// From pairs (distance, count) as [`by_count`] sorts them, each distance once: twice the distance from zero, plus 1
    /// below it.
    pub fn new(values: &[(usize, f64)]) -> Self {
        let (mut all, mut largest, mut least) = (0.0, 0, usize::MAX);
        let mut zero_rank = None;
        for (rank, &(value, count)) in values.iter().enumerate() {
            all += count;
            largest = largest.max(value);
            least = least.min(value);
            if value == 0 {
                zero_rank = Some(rank);
            }
        }
        let direct_offset = if values.is_empty() {
            0
        } else {
            least.min(MAX_DIRECT_OFFSET)
        };
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
        let palette = values[..n_palette].iter();
        let palette_largest = palette.map(|&(value, _)| value).max();
        let palette_bits = bits_of(palette_largest.unwrap_or(largest)).max(2);
        let counts: Vec<(usize, f64)> = (values.iter().enumerate())
            .map(|ranked| (symbol(ranked), ranked.1.1))
            .collect();
        Self {
            largest: counts.iter().map(|&(symbol, _)| symbol).max().unwrap_or(0),
            counts,
            zero: zero_rank.map(|rank| symbol((rank, &values[rank]))),
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

    /// Bits of the code that takes least, less what another code saves in runs of zeros. With `leaves_rare`, it need not
    /// code the values that are so rare that changing to another code for each of them costs less.
    pub fn bits(&self, zero_runs: &[ZeroRuns], leaves_rare: bool) -> f64 {
        let whole = self.codes().filter(|code| code.can_code(self.largest));
        let whole = whole.map(|code| (code.bits_of_all(&self.counts), code));
        let Some(whole) = whole.min_by(|one, other| one.0.total_cmp(&other.0)) else {
            return 0.0;
        };
        let (least, code) = match leaves_rare {
            true => self.without_rare(whole),
            false => whole,
        };
        let saved = zero_runs.iter().map(|runs| self.saved_bits(code, runs));
        least - saved.sum::<f64>()
    }

    /// Bits and code that take less than these, with a change to another code and back for each value that the code cannot
    /// code; these if there are none.
    fn without_rare(&self, mut best: (f64, Code)) -> (f64, Code) {
        for code in self.codes().filter(|code| !code.can_code(self.largest)) {
            let rare = self
                .counts
                .iter()
                .filter(|&&(symbol, _)| !code.can_code(symbol));
            let n_rare: f64 = rare.map(|&(_, count)| count).sum();
            let changes = n_rare * RETURN_BITS;
            // Most codes leave too much to others.
            if changes >= best.0 {
                continue;
            }
            let coded = self
                .counts
                .iter()
                .filter(|&&(symbol, _)| code.can_code(symbol));
            let coded = coded.map(|&(symbol, count)| code.bits(symbol) as f64 * count);
            let bits = coded.sum::<f64>() + changes;
            if bits < best.0 {
                best = (bits, code);
            }
        }
        best
    }

    /// Bits that a code of their own saves for runs of zeros between the values in `code`.
    fn saved_bits(&self, code: Code, runs: &ZeroRuns) -> f64 {
        let Some(zero) = self.zero.filter(|_| self.n_palette > 0) else {
            return 0.0;
        };
        let is_own = |own: &Code| own.can_code(zero) && !own.can_code(self.largest);
        let least = self.codes().filter(is_own).map(|own| own.bits(zero)).min();
        let gain = least.map_or(0, |least| code.bits(zero).saturating_sub(least));
        let Some(before_change) = CHANGE_BITS.checked_div(gain) else {
            return 0.0;
        };
        let each = (runs.length - 1.0 - before_change as f64) * gain as f64 - RETURN_BITS;
        runs.count * each.max(0.0)
    }
}

/// Bits of the binary form of a number.
fn bits_of(value: usize) -> usize {
    (usize::BITS - value.leading_zeros()) as usize
}
