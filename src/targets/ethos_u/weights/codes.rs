//! The codes of the symbols of a weight stream, and the bits of the rarer symbols in each.

/// Most values of a palette.
pub(super) const PALETTE_SIZE: usize = 32;
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

/// Those of Golomb-Rice, without and with truncation for each number of remainder bits.
pub(super) const GOLOMB_RICE: [Code; 2 * (MAX_REMAINDER_BITS + 1)] = {
    let mut codes = [Code::Fixed { bits: 0 }; 2 * (MAX_REMAINDER_BITS + 1)];
    let mut idx = 0;
    while idx < codes.len() {
        codes[idx] = Code::GolombRice {
            remainder_bits: idx / 2,
            is_truncated: idx % 2 == 1,
        };
        idx += 1;
    }
    codes
};

/// Symbols in a code.
#[derive(Clone, Copy, Default)]
pub(super) struct CodedBits {
    /// Bits of the symbols that the code can represent.
    pub bits: f64,
    /// Number of symbols that the code cannot represent.
    pub n_left: f64,
}

impl CodedBits {
    /// With `count` times this symbol.
    pub fn with(self, code: Code, symbol: usize, count: f64) -> Self {
        if code.can_code(symbol) {
            Self {
                bits: self.bits + f64::from(code.bits(symbol) as u32) * count,
                ..self
            }
        } else {
            Self {
                n_left: self.n_left + count,
                ..self
            }
        }
    }
}

/// Symbols in each Golomb-Rice code, by number of remainder bits, without and with truncation.
pub(super) type InEachCode = [[CodedBits; 2]; MAX_REMAINDER_BITS + 1];

/// Without and with truncation.
const MAX_QUOTIENTS: [usize; 2] = [MAX_QUOTIENT, MAX_TRUNCATED_QUOTIENT];

/// Symbols of a palette and, behind them, of values outside of it: distances of 9 bits.
const N_SYMBOLS: usize = PALETTE_SIZE + 512;

/// Counts of symbols, each added to those of all smaller symbols. The bits in a code follow from one of these sums for
/// each quotient, however many symbols have it.
///
/// Counts are whole numbers, so that sums of their multiples are exact in any order.
struct CumulativeCounts {
    /// By symbol, how many are smaller.
    below: [f64; N_SYMBOLS + 1],
    /// All symbols are smaller.
    end: usize,
}

impl CumulativeCounts {
    /// Of pairs (symbol, count). No symbol occurs twice.
    fn new(symbols: impl Iterator<Item = (usize, f64)>) -> Self {
        let mut below = [0.0; N_SYMBOLS + 1];
        let mut end = 0;
        for (symbol, count) in symbols {
            below[symbol + 1] = count;
            end = end.max(symbol + 1);
        }
        let mut sum = 0.0;
        for below in &mut below[..=end] {
            sum += *below;
            *below = sum;
        }
        Self { below, end }
    }

    /// Largest symbol; 0 where there are none.
    fn largest(&self) -> usize {
        self.end.saturating_sub(1)
    }

    fn coded(&self, remainder_bits: usize, max_quotient: usize) -> CodedBits {
        let below = |quotient: usize| self.below[(quotient << remainder_bits).min(self.end)];
        let n_coded = below(max_quotient + 1);
        // A quotient takes a bit for each smaller one, and an end mark unless it is the largest of a truncated code.
        let n_ends = match max_quotient {
            MAX_TRUNCATED_QUOTIENT => MAX_TRUNCATED_QUOTIENT,
            _ => (self.largest() >> remainder_bits).min(max_quotient) + 1,
        };
        let n_shorter = (1..n_ends).map(below).sum::<f64>();
        let most_bits = (n_ends + remainder_bits) as u32;
        CodedBits {
            bits: f64::from(most_bits) * n_coded - n_shorter,
            n_left: self.below[self.end] - n_coded,
        }
    }
}

/// How the values of a distribution become symbols.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Coding {
    /// StreamValues other than 0 in the palette.
    pub n_in_palette: usize,
    /// Symbol of the value 0, if there are zeros: among those of the palette, which it moves, or behind them.
    pub zero: Option<usize>,
    /// Added to the distance of a value outside of the palette.
    pub offset: isize,
}

/// The symbols of all values other than 0, however many zeros there are.
#[derive(Clone, Copy)]
pub(super) struct NonzeroSymbols {
    pub coding: Coding,
    /// Largest symbol; 0 where there are none.
    pub largest: usize,
    /// Largest distance of a value in the palette.
    pub largest_in_palette: Option<usize>,
    pub coded: InEachCode,
}

impl NonzeroSymbols {
    /// Of pairs (distance, count), of which those of the palette come first.
    pub fn new(values: &[(usize, f64)], coding: Coding) -> Self {
        let (in_palette, beside) = values.split_at(coding.n_in_palette);
        let symbol =
            |place: usize| place + usize::from(coding.zero.is_some_and(|zero| place >= zero));
        let in_order = in_palette.iter().enumerate();
        let in_order = in_order.map(|(place, &(_, count))| (symbol(place), count));
        let symbol_beside = |distance: usize| distance.wrapping_add_signed(coding.offset);
        let beside = beside.iter();
        let beside = beside.map(|&(distance, count)| (symbol_beside(distance), count));
        let cumulative = CumulativeCounts::new(in_order.chain(beside));
        Self {
            coding,
            largest: cumulative.largest(),
            largest_in_palette: in_palette.iter().map(|&(distance, _)| distance).max(),
            coded: std::array::from_fn(|remainder_bits| {
                MAX_QUOTIENTS.map(|max_quotient| cumulative.coded(remainder_bits, max_quotient))
            }),
        }
    }
}
