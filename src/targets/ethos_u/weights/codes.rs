//! The codes of the symbols of a weight stream, and the bits of the rarer symbols in each.

/// Most bits of the remainder of a Golomb-Rice code.
pub(super) const MAX_REMAINDER_BITS: usize = 5;
/// Largest quotient of a truncated code, and of one that is not truncated.
const MAX_TRUNCATED_QUOTIENT: usize = 2;
const MAX_QUOTIENT: usize = 31;

/// The code of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    /// Golomb-Rice: a unary quotient and a remainder of this many bits. A truncated quotient is at most 2, and the
    /// largest one has no end mark.
    GolombRice {
        remainder_bits: usize,
        is_truncated: bool,
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
                is_truncated,
            } => {
                let most = if is_truncated {
                    MAX_TRUNCATED_QUOTIENT
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
                is_truncated,
            } => {
                let most = if is_truncated {
                    MAX_TRUNCATED_QUOTIENT
                } else {
                    usize::MAX
                };
                ((symbol >> remainder_bits) + 1).min(most) + remainder_bits
            }
            Code::Fixed { bits } => bits,
        }
    }
}

/// Symbols in a code.
#[derive(Clone, Copy, Default)]
pub(super) struct Coded {
    /// Bits of the symbols that the code can represent.
    pub bits: f64,
    /// Number of symbols that the code cannot represent.
    pub n_left: f64,
}

impl Coded {
    /// With `count` times this symbol.
    pub fn with(self, code: Code, symbol: usize, count: f64) -> Self {
        match code.can_code(symbol) {
            // Symbols have a few digits: their bits are computed in 32 of their own, which take a third of the time to
            // become numbers with fractions.
            true => Self {
                bits: self.bits + f64::from(code.bits(symbol) as u32) * count,
                ..self
            },
            false => Self {
                n_left: self.n_left + count,
                ..self
            },
        }
    }
}

/// The values of a distribution except for the most frequent ones: their symbols, and all of them in each code.
#[derive(Clone, Copy)]
pub(super) struct Tail {
    n_first: usize,
    offset: isize,
    /// Largest symbol; 0 where there are none.
    pub largest: usize,
    /// By number of remainder bits, without and with truncation.
    pub coded: [[Coded; 2]; MAX_REMAINDER_BITS + 1],
}

impl Tail {
    /// Of all but the first of the pairs (distance, count), whose symbols are their distances and `offset`.
    pub fn new(values: &[(usize, f64)], n_first: usize, offset: isize) -> Self {
        let values = values.get(n_first..).unwrap_or_default();
        let symbol = |distance: usize| distance.wrapping_add_signed(offset);
        let largest = values.iter().map(|&(distance, _)| symbol(distance)).max();
        let coded = |code: Code| {
            let all = values.iter();
            all.fold(Coded::default(), |coded, &(distance, count)| {
                coded.with(code, symbol(distance), count)
            })
        };
        Self {
            n_first,
            offset,
            largest: largest.unwrap_or(0),
            coded: std::array::from_fn(|remainder_bits| {
                [false, true].map(|is_truncated| {
                    coded(Code::GolombRice {
                        remainder_bits,
                        is_truncated,
                    })
                })
            }),
        }
    }

    pub fn is_at(&self, n_first: usize, offset: isize) -> bool {
        (self.n_first, self.offset) == (n_first, offset)
    }
}
