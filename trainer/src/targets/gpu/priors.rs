//! What data sheets say about each cost, before any network is measured.

use litecast::targets::gpu::costs::NAMES;
use litecast::targets::gpu::specifications::Board;

/// What limits the speed of an amount, and so how its cost changes from board to board.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// Tensor cores, at [`Board::macs_per_s`].
    TensorCores,
    /// The multiprocessors' ordinary units.
    Multiprocessors,
    /// The bandwidth of the memory.
    Memory,
    /// The host, or the time that a thread waits.
    Waiting,
}

impl Limit {
    pub const ALL: [Self; 4] = [
        Self::TensorCores,
        Self::Multiprocessors,
        Self::Memory,
        Self::Waiting,
    ];

    /// How much longer than on `from` an amount takes on `to` by the data sheets.
    pub fn ratio(self, from: &Board, to: &Board) -> f64 {
        match self {
            Self::TensorCores => from.macs_per_s / to.macs_per_s,
            // Multiprocessors of these boards have equally many units at similar clocks.
            Self::Multiprocessors => {
                f64::from(from.multiprocessors) / f64::from(to.multiprocessors)
            }
            Self::Memory => from.bytes_per_s / to.bytes_per_s,
            Self::Waiting => 1.0,
        }
    }
}

/// The expected cost and how far a fit may move it.
#[derive(Clone, Copy, Debug)]
pub struct Prior {
    /// Logarithm of milliseconds for each amount.
    pub log_ms: f64,
    /// Standard deviation of that logarithm.
    pub spread: f64,
    pub limit: Limit,
}

/// Share of a data sheet's rate that kernels reach where nothing else limits them.
const REACHED: [f64; 2] = [0.75, 0.85];

/// The cost of one amount relative to what its unit takes at the data sheet's rate, and the spread of its logarithm.
enum Unit {
    /// 10⁹ multiply-accumulates on tensor cores.
    Products(f64),
    /// 10⁹ multiply-accumulates on ordinary units.
    Slow(f64),
    /// 10⁶ values of two bytes that are read or written.
    Values(f64, f64),
    /// Milliseconds, because no data sheet tells.
    Milliseconds(f64, f64, Limit),
}

/// What an additional cost for unfavourable shapes is expected to add: half of what the amount itself takes.
const SURCHARGE: f64 = 0.5;
const KNOWN: f64 = 0.4;
const UNCERTAIN: f64 = 0.7;

fn unit(name: &str) -> Unit {
    use Unit::{Milliseconds, Products, Slow, Values};
    match name {
        "stem_macs" | "recurrent_macs" => Products(3.0),
        "grouped_macs" | "attention_macs" => Products(1.5),
        "matrix_product_macs" => Products(2.0),
        "grouped_thin_macs" | "attention_thin_macs" => Products(1.0),
        "convolution_small_map_macs" | "pointwise_small_map_macs" => Products(0.2),
        "depthwise_macs" | "depthwise_permuted_macs" => Slow(8.0),
        "depthwise_permuted_vast_macs" => Slow(4.0),
        "convolution_unpadded_macs" => Products(4.0),
        "depthwise_wide_macs"
        | "depthwise_huge_macs"
        | "depthwise_permuted_wide_macs"
        | "depthwise_permuted_huge_macs" => Slow(SURCHARGE),
        "depthwise_strided_reads"
        | "depthwise_unaligned_reads"
        | "normalisation_unaligned_elements"
        | "pool_window_elements"
        | "attention_scores"
        | "attention_unaligned_masked_scores"
        | "first_values" => Values(SURCHARGE, UNCERTAIN),
        "grouped_odd_values" => Values(2.0, UNCERTAIN),
        // A kernel without tensor cores.
        "grouped_narrow_values" => Values(10.0, UNCERTAIN),
        "attention_masked_scores" | "biased_convolution_writes" => Values(1.0, UNCERTAIN),
        "normalisation_elements" | "softmax_elements" | "other_elements" => Values(1.5, KNOWN),
        "casts" => Values(3.0, UNCERTAIN),
        "matrix_product_matrices" | "attention_matrices" => Milliseconds(0.01, 1.2, Limit::Memory),
        "normalisation_rows" => Milliseconds(0.001, 1.2, Limit::Memory),
        // A row writes one value of two bytes, which takes 2e-6 ms a thousand at the bandwidth of an RTX 3090.
        "reduction_rows" => Milliseconds(3e-6, 1.2, Limit::Memory),
        "attention_rows" => Milliseconds(0.05, 1.2, Limit::Memory),
        // Each thread reads all channels one after another, at about 300 ns.
        "resize_planes" => Milliseconds(0.3, 0.1, Limit::Waiting),
        // One run has it, and no data sheet tells: ten times the time of the values.
        "grouped_slow_values" => Milliseconds(0.05, 1.5, Limit::Memory),
        "launches" => Milliseconds(0.01, 1.0, Limit::Waiting),
        name if name.ends_with("unaligned_macs") || name.ends_with("padding_macs") => {
            Products(SURCHARGE)
        }
        name if name.ends_with("_macs") => Products(1.0),
        _ => Values(1.2, KNOWN),
    }
}

/// What limits the speed of a cost's amount.
pub fn limit(name: &str) -> Limit {
    match unit(name) {
        Unit::Products(_) => Limit::TensorCores,
        Unit::Slow(_) => Limit::Multiprocessors,
        Unit::Values(..) => Limit::Memory,
        Unit::Milliseconds(_, _, limit) => limit,
    }
}

/// The prior of each cost on `board`, in the order of [`NAMES`].
pub fn priors(board: &Board) -> Vec<Prior> {
    let product_ms = 1e12 / board.macs_per_s / REACHED[0];
    let value_ms = 1e6 * 2.0 * 1e3 / board.bytes_per_s / REACHED[1];
    let prior = |name: &&str| {
        let (ms, spread) = match unit(name) {
            Unit::Products(factor) | Unit::Slow(factor) => (factor * product_ms, UNCERTAIN),
            Unit::Values(factor, spread) => (factor * value_ms, spread),
            Unit::Milliseconds(ms, spread, _) => (ms, spread),
        };
        Prior {
            log_ms: ms.ln(),
            spread,
            limit: limit(name),
        }
    };
    NAMES.iter().map(prior).collect()
}
