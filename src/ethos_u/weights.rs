//! How many bytes an operator's weights take in the stream that the accelerator decodes.

use super::accelerator::Accelerator;
use super::blocks::{Block, round_up};
use super::layer::{Kind, Layer, SCALE_BYTES};
use crate::analysis::ByteHistogram;

/// Values that the palette of a weight decoder holds at most.
const PALETTE_SIZE: usize = 32;
/// Bits of a Golomb-Rice code's remainder at most.
const MAX_REMAINDER_BITS: u32 = 5;
/// Streams are moved in such pieces.
const ALIGNMENT_BYTES: i64 = 16;
/// Of a stream: its palette and parameters.
const HEADER_BYTES: f64 = 24.0;
/// What Vela's streams are longer by than such a code where values are neither ranks in a palette
/// nor have so many remainder bits as there can be: fitted to the sizes of Vela's streams, which
/// `trainer/tests/ethos_u.rs` compares with.
const STREAM_OVERHEAD: f64 = 1.055;
/// Bits of a zero of the padding beside a palette without zero, which it takes out of step: fitted
/// likewise.
const PADDING_BITS: f64 = 4.0;

/// Weights and, beside them, biases and scales of all output channels. Proportional to 256.
pub fn encoded_bytes(
    accelerator: &Accelerator,
    layer: &Layer,
    block: &Block,
    histogram: &ByteHistogram,
) -> f64 {
    let n_weights = match layer.kind {
        Kind::Depthwise => layer.ofm[2],
        _ => layer.ofm[2] * layer.ifm[2],
    } * layer.kernel[0]
        * layer.kernel[1];
    let n_padded = padded_weights(accelerator, layer, block);
    let padding = n_padded as f64 / n_weights.max(1) as f64 - 1.0;
    let coded = coded_bytes(histogram, padding.max(0.0));
    let cores = accelerator.n_cores as f64;
    let stream = round_up((coded / cores + HEADER_BYTES) as i64, ALIGNMENT_BYTES) as f64 * cores;
    stream + round_up(SCALE_BYTES * layer.ofm[2], ALIGNMENT_BYTES) as f64
}

/// Bytes of a constant in such a code, with `padding` times as many zeros more.
pub fn coded_bytes(histogram: &ByteHistogram, padding: f64) -> f64 {
    histogram.n_bytes as f64 * coded_bits(histogram, padding) / 8.0
}

/// Weights with the zeros that fill up channels and kernels to what the multipliers take at once.
fn padded_weights(accelerator: &Accelerator, layer: &Layer, block: &Block) -> i64 {
    let kernel = layer.kernel[0] * layer.kernel[1];
    let ofm = round_up(layer.ofm[2], 8 * accelerator.n_cores);
    let (kernel_step, ifm_step) = match (layer.kind, block.is_part_kernel, accelerator.is_u85()) {
        (Kind::Depthwise, _, true) => {
            return round_up(layer.ofm[2], 16) * round_up(kernel, 10);
        }
        (Kind::Depthwise, _, false) => return ofm * round_up(kernel, 4),
        (_, true, true) => (if layer.is_sparse { 10 } else { 5 }, 16),
        (_, true, false) => (4, 8),
        (_, false, true) => (1, if layer.is_sparse { 128 } else { 64 }),
        (_, false, false) => (1, 32),
    };
    ofm * round_up(kernel, kernel_step) * round_up(layer.ifm[2], ifm_step)
}

/// Code bits for each stored byte, with `padding` times as many zeros more: all values in one
/// code, or what is not zero in one and the runs of zeros between in another.
fn coded_bits(histogram: &ByteHistogram, padding: f64) -> f64 {
    let zero = histogram.zero;
    let count = |byte: u8| histogram.counts[usize::from(byte)] as f64;
    let n_bytes = histogram.counts.iter().sum::<u64>() as f64;
    if n_bytes == 0.0 {
        return 0.0;
    }
    let distance = |byte: u8| {
        let offset = byte.wrapping_sub(zero) as i8;
        2 * usize::from(offset.unsigned_abs()) - usize::from(offset > 0)
    };
    let present = (0..=u8::MAX).filter(|&byte| byte != zero && count(byte) > 0.0);
    let mut counts: Vec<(usize, f64)> = present
        .map(|byte| (distance(byte) - 1, count(byte)))
        .collect();
    let n_zeros = count(zero) + padding * n_bytes;
    let n_others = n_bytes - count(zero);
    let own = golomb_bits(counts.clone());
    let with_runs = own + n_others * run_bits(n_zeros / n_others.max(1.0));
    let beside_palette = match counts.len() <= PALETTE_SIZE && count(zero) == 0.0 {
        true => own + PADDING_BITS * n_zeros,
        false => f64::INFINITY,
    };
    counts.iter_mut().for_each(|(symbol, _)| *symbol += 1);
    counts.extend((n_zeros > 0.0).then_some((0, n_zeros)));
    golomb_bits(counts).min(with_runs).min(beside_palette) / n_bytes
}

/// Bits of the code of all values, each with its symbol and how often it is there: with a unary
/// quotient and a remainder of so many bits, whichever number gives least, or of fixed length. Few
/// values are ranks in a palette instead, the most frequent one first.
fn golomb_bits(mut counts: Vec<(usize, f64)>) -> f64 {
    let mut fixed_bits = 8;
    if counts.len() <= PALETTE_SIZE {
        counts.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let ranked = counts.iter_mut().enumerate();
        ranked.for_each(|(rank, (symbol, _))| *symbol = rank);
        fixed_bits = counts.len().next_power_of_two().ilog2();
    }
    let coded = |remainder_bits: u32| -> f64 {
        let bits = |symbol: usize| 1 + remainder_bits as usize + (symbol >> remainder_bits);
        let bits = |&(symbol, count): &(usize, f64)| bits(symbol) as f64 * count;
        counts.iter().map(bits).sum()
    };
    let n_values: f64 = counts.iter().map(|(_, count)| count).sum();
    let fixed = f64::from(fixed_bits) * n_values;
    let (least, remainder_bits) = (0..=MAX_REMAINDER_BITS)
        .map(|remainder_bits| (coded(remainder_bits), remainder_bits))
        .fold((f64::INFINITY, 0), |best, next| {
            if next.0 < best.0 { next } else { best }
        });
    let is_direct = counts.len() > PALETTE_SIZE && remainder_bits < MAX_REMAINDER_BITS;
    fixed.min(least * if is_direct { STREAM_OVERHEAD } else { 1.0 })
}

/// Bits of the code of a run of zeros, if runs are this long in the mean and each zero comes by
/// chance: their lengths then have a geometric distribution.
fn run_bits(mean_run: f64) -> f64 {
    let share = mean_run / (1.0 + mean_run);
    let coded = |remainder_bits: u32| {
        let whole = share.powi(1 << remainder_bits);
        1.0 + f64::from(remainder_bits) + whole / (1.0 - whole).max(f64::EPSILON)
    };
    (0..=MAX_REMAINDER_BITS)
        .map(coded)
        .fold(f64::INFINITY, f64::min)
}
