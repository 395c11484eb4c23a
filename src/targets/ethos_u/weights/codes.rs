//! The codes of the symbols of a weight stream, and the bits of the rarer symbols in each.

/// Most bits of the remainder of a Golomb-Rice code.
pub(super) const MAX_REMAINDER_BITS: usize = 5;
/// Largest quotient of a truncated code, and of one that is not truncated.
const MAX_CUT_QUOTIENT: usize = 2;
const MAX_QUOTIENT: usize = 31;

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
}

/// The values of a distribution but for the most frequent ones: their symbols, and the bits of all of them in each code.
#[derive(Clone, Copy)]
pub(super) struct Tail {
    n_first: usize,
    offset: isize,
    /// Largest symbol; 0 where there are none.
    pub largest: usize,
    /// By number of remainder bits, without and with truncation; 0 where a code cannot code them.
    pub bits: [[f64; 2]; MAX_REMAINDER_BITS + 1],
}

impl Tail {
    /// Of all but the first of the pairs (distance, count), whose symbols are their distances and `offset`.
    pub fn new(values: &[(usize, f64)], n_first: usize, offset: isize) -> Self {
        let values = values.get(n_first..).unwrap_or_default();
        // Symbols have a few digits: their bits are computed in 32 of their own, which take a third of the time to become
        // numbers with fractions.
        let symbol = |distance: usize| distance.wrapping_add_signed(offset) as u32;
        let largest = values.iter().map(|&(distance, _)| symbol(distance)).max();
        let largest = largest.unwrap_or(0) as usize;
        let bits_of = |code: Code| {
            let bits = |&(distance, count): &(usize, f64)| {
                f64::from(code.bits(symbol(distance) as usize) as u32) * count
            };
            match code.can_code(largest) {
                true => values.iter().map(bits).sum(),
                false => 0.0,
            }
        };
        Self {
            n_first,
            offset,
            largest,
            bits: std::array::from_fn(|remainder_bits| {
                [false, true].map(|is_cut| {
                    bits_of(Code::GolombRice {
                        remainder_bits,
                        is_cut,
                    })
                })
            }),
        }
    }

    pub fn is_at(&self, n_first: usize, offset: isize) -> bool {
        (self.n_first, self.offset) == (n_first, offset)
    }
}
