//! Bytes of an operation's encoded weight stream: the length that Vela's encoder reaches, without encoding.
//! Reproduces `mlw_codec/mlw_encode.c` of Vela, as described under "Weights" in `docs/method/ethos-u.md`.

mod brick;
mod codes;
mod ranked;
mod symbols;
mod values;

use self::brick::{Brick, NO_ZERO_RUNS};
use self::symbols::PALETTE_BITS;
use self::values::StreamValues;
use super::accelerator::Accelerator;
use super::blocks::Block;
use super::geometry::{BRICK_CHANNELS, ceil_div, round_up};
use super::layer::{Kind, Layer, SCALE_BYTES};
use crate::graph::analysis::ByteHistogram;

/// Weight streams are padded to multiples of this.
pub(super) const ALIGNMENT_BYTES: i64 = 16;
/// Most weights of one slice of the stream, which has a header of its own.
const SLICE_VALUES: f64 = 32767.0;
/// Bits of the header of a slice, and of the end of the stream.
const SLICE_BITS: f64 = 23.0;
const END_BITS: f64 = 3.0;
/// Adjacent output channels that Ethos-U85 takes from the same stream.
const STREAM_CHANNELS: i64 = 4;
/// Symbols are written in groups that have this many bits of quotients.
const GROUP_BITS: i64 = 12;
/// Shares of zeros from which, and up to which, Ethos-U85 decodes more weights a cycle.
const ZERO_SHARES: [f64; 2] = [0.5, 0.9];
/// Weights that each stream decodes in a cycle at these shares.
const DECODED_PER_CYCLE: [f64; 2] = [8.0, 32.0];
/// Weights that the fast format decodes in a cycle, and those of few different values.
const FAST_PER_CYCLE: [f64; 2] = [32.0, 64.0];
const FAST_HEADER_BYTES: f64 = 32.0;

/// [`Encoded::bytes`] of a layer.
pub fn encoded_bytes(
    accelerator: &Accelerator,
    layer: &Layer,
    block: &Block,
    histogram: &ByteHistogram,
) -> f64 {
    encoded(accelerator, layer, block, histogram).bytes
}

/// The encoded weights of a layer.
#[derive(Clone, Copy, Debug)]
pub struct Encoded {
    /// Bytes with biases and scales of all output channels.
    pub bytes: f64,
    /// Cycles to decode or to transfer the weights, whichever take longer; 0 if there is only one format.
    pub cycles: f64,
}

/// The weights of a layer in the format that Vela takes for it. Constant time.
pub fn encoded(
    accelerator: &Accelerator,
    layer: &Layer,
    block: &Block,
    histogram: &ByteHistogram,
) -> Encoded {
    let n_streams = accelerator.n_weight_streams;
    let n_filled = n_filled_streams(accelerator, layer.ofm[2]);
    let brick = Brick::new(accelerator, layer, block, n_filled);
    // A file may store more bytes than the layer has weights.
    let n_weights = brick.n_weights().min(histogram.n_bytes as f64);
    let padding = brick.n_values() - n_weights;
    let values = StreamValues::cached(
        histogram,
        n_weights,
        padding,
        &brick.zero_runs(),
        true,
        brick.last_zero_runs(),
    );
    let n_cores = n_filled as f64;
    let n_slices = (brick.n_values() / n_cores / SLICE_VALUES).ceil();
    let front_bits = n_slices * SLICE_BITS + values.header_bits + END_BITS;
    let stream_bits = values.bits / n_cores + front_bits;
    let stream_bytes = round_up((stream_bits / 8.0).ceil() as i64, ALIGNMENT_BYTES) as f64;
    let n_values = brick.n_values() / n_cores * n_streams as f64;
    let empty_bytes = if accelerator.is_u85() {
        empty_stream_bytes(n_values / n_streams as f64)
    } else {
        0.0
    };
    let coded_bytes = stream_bytes * n_cores + (n_streams - n_filled) as f64 * empty_bytes;
    let stream = if accelerator.is_u85() && layer.kind != Kind::Depthwise {
        faster_format(accelerator, n_values, coded_bytes, &values)
    } else {
        Encoded {
            bytes: coded_bytes,
            cycles: 0.0,
        }
    };
    Encoded {
        bytes: stream.bytes + scale_bytes(accelerator, layer.ofm[2], block.micro[2]),
        ..stream
    }
}

/// Weight streams that have weights, of a layer with this many output channels.
fn n_filled_streams(accelerator: &Accelerator, n_channels: i64) -> i64 {
    let n_streams = accelerator.n_weight_streams;
    // A core of Ethos-U65 without channels has no stream.
    n_streams.min(if accelerator.is_u85() {
        ceil_div(n_channels, STREAM_CHANNELS)
    } else {
        n_channels
    })
}

/// Whether the streams of a layer's weights for two blocks are the same.
pub fn is_same_stream(one: &Block, other: &Block) -> bool {
    let order = |block: &Block| (block.is_part_kernel, block.micro[2]);
    order(one) == order(other)
}

/// Bytes of a stream of zeros alone: one of them is a value without palette, the others a run with one bit for each.
fn empty_stream_bytes(n_values: f64) -> f64 {
    let groups = GROUP_BITS + round_up(n_values as i64 + 1, GROUP_BITS);
    let bits = SLICE_BITS + PALETTE_BITS + groups as f64 + END_BITS;
    round_up((bits / 8.0).ceil() as i64, ALIGNMENT_BYTES) as f64
}

/// Bytes of biases and scales of `depth` output channels. Ethos-U85 stores them for whole micro blocks of `micro_depth`
/// channels.
pub(super) fn scale_bytes(accelerator: &Accelerator, depth: i64, micro_depth: i64) -> f64 {
    if accelerator.is_u85() {
        let whole = round_up(depth, round_up(micro_depth, BRICK_CHANNELS));
        return (SCALE_BYTES * whole) as f64;
    }
    // Each core has a stream of its own.
    (0..accelerator.n_cores)
        .map(|core| {
            let channels = (depth - core + accelerator.n_cores - 1) / accelerator.n_cores;
            round_up(SCALE_BYTES * channels.max(0), ALIGNMENT_BYTES) as f64
        })
        .sum()
}

/// The fast format of Ethos-U85, if transfer and decoding are faster than for `coded_bytes`. This format stores
/// uncompressed values, or indices of 2 or 4 bits if there are few different values.
fn faster_format(
    accelerator: &Accelerator,
    n_values: f64,
    coded_bytes: f64,
    values: &StreamValues,
) -> Encoded {
    let ([from, to], [fewest, most]) = (ZERO_SHARES, DECODED_PER_CYCLE);
    let share = (values.n_zeros / n_values).clamp(from, to);
    // A share of 0.9 of 32 bits is a little lower.
    let share = f64::from(share as f32);
    let per_stream = (fewest + (share - from) * (most - fewest) / (to - from)).floor();
    let per_cycle = per_stream * accelerator.n_weight_streams as f64;
    // Bytes arrive after the latency of their memory.
    let transfer = |bytes: f64, cycles_per_byte: f64| {
        (bytes * cycles_per_byte).floor() + accelerator.weights_off_chip.latency_cycles
    };
    let decoding = |per_cycle: f64| (n_values / per_cycle).floor();
    let slow_cycles = [
        decoding(per_cycle),
        transfer(coded_bytes, accelerator.weights_off_chip.cycles_per_byte),
    ];
    let per_byte = match values.n_distinct {
        ..=4 => 4.0,
        5..=16 => 2.0,
        _ => 1.0,
    };
    let fast_bytes = FAST_HEADER_BYTES + n_values / per_byte;
    let per_cycle = FAST_PER_CYCLE[usize::from(values.n_distinct < 16)];
    let fast_cycles = [
        decoding(per_cycle),
        transfer(fast_bytes, accelerator.fast_weights_cycles_per_byte()),
    ];
    let format = |bytes: f64, [decoding, transfer]: [f64; 2]| Encoded {
        bytes,
        cycles: decoding.max(transfer),
    };
    let slow = format(coded_bytes, slow_cycles);
    let fast = format(fast_bytes, fast_cycles);
    if fast.cycles < slow.cycles {
        fast
    } else {
        slow
    }
}

/// Encoded bytes of a constant without headers, with `padding` times as many zeros added, no two of them
/// adjacent.
pub fn coded_bytes(histogram: &ByteHistogram, zeros_per_weight: f64) -> f64 {
    let n_weights = histogram.n_bytes as f64;
    StreamValues::cached(
        histogram,
        n_weights,
        n_weights * zeros_per_weight,
        &NO_ZERO_RUNS,
        false,
        NO_ZERO_RUNS[0],
    )
    .bits
        / 8.0
}
