//! Bytes of an operation's encoded weight stream: the length that Vela's encoder reaches, without encoding.
//! Reproduces `mlw_codec/mlw_encode.c` of Vela, as described under "Weights" in `docs/ethos-u.md`.

mod brick;
mod symbols;

use std::cell::RefCell;
use std::hash::BuildHasher;
use std::rc::Rc;
use std::sync::Arc;

use foldhash::fast::FixedState;

use self::brick::{Brick, ZeroRuns};
use self::symbols::{Symbols, by_count};
use super::accelerator::Accelerator;
use super::blocks::Block;
use super::geometry::{BRICK_CHANNELS, round_up};
use super::layer::{Kind, Layer, SCALE_BYTES};
use crate::graph::analysis::ByteHistogram;

/// Weight streams are padded to multiples of this.
pub(super) const ALIGNMENT_BYTES: i64 = 16;
/// Most weights of one slice of the stream, which has a header of its own.
const SLICE_VALUES: f64 = 32767.0;
/// Bits of the header of a slice, and of the end of the stream.
const SLICE_BITS: f64 = 23.0;
const END_BITS: f64 = 3.0;
/// Runs of zeros are coded if zeros are this many times as frequent as any other value.
const RUN_THRESHOLD: f64 = 5.0;
/// Most bits of the remainder of a run's length in its Golomb-Rice code.
const MAX_RUN_REMAINDER_BITS: i32 = 3;
/// Shares of zeros from which, and up to which, Ethos-U85 decodes more weights a cycle.
const ZERO_SHARES: [f64; 2] = [0.5, 0.9];
/// Weights that each stream decodes in a cycle at these shares.
const DECODED_PER_CYCLE: [f64; 2] = [8.0, 32.0];
/// Weights that the fast format decodes in a cycle, and those of few different values.
const FAST_PER_CYCLE: [f64; 2] = [32.0, 64.0];
const FAST_HEADER_BYTES: f64 = 32.0;

/// Encoded bytes of weights, with biases and scales of all output channels. Constant time.
pub fn encoded_bytes(
    accelerator: &Accelerator,
    layer: &Layer,
    block: &Block,
    histogram: &ByteHistogram,
) -> f64 {
    let brick = Brick::of(accelerator, layer, block);
    let padding = (brick.n_values() - histogram.n_bytes as f64).max(0.0);
    let values = Values::kept(histogram, padding, &brick.zero_runs());
    let n_cores = accelerator.n_weight_streams as f64;
    let n_slices = (brick.n_values() / n_cores / SLICE_VALUES).ceil();
    let front_bits = n_slices * SLICE_BITS + values.symbols.header_bits() + END_BITS;
    let stream_bits = values.bits / n_cores + front_bits;
    let stream_bytes = round_up((stream_bits / 8.0).ceil() as i64, ALIGNMENT_BYTES) as f64;
    if accelerator.is_as_trained {
        let scale_bytes = round_up(SCALE_BYTES * layer.ofm[2], ALIGNMENT_BYTES) as f64;
        return stream_bytes * n_cores + scale_bytes;
    }
    let coded_bytes = stream_bytes * n_cores;
    let stream_bytes = match accelerator.is_u85() && layer.kind != Kind::Depthwise {
        true => {
            fast_bytes(accelerator, brick.n_values(), coded_bytes, &values).unwrap_or(coded_bytes)
        }
        false => coded_bytes,
    };
    stream_bytes + scale_bytes(accelerator, layer.ofm[2], block.micro[2])
}

/// Bytes of biases and scales of so many output channels, of which `micro_depth` are computed at once: Ethos-U85 has
/// them for whole micro blocks.
pub(super) fn scale_bytes(accelerator: &Accelerator, depth: i64, micro_depth: i64) -> f64 {
    match accelerator.is_u85() {
        true => {
            let whole = round_up(depth, round_up(micro_depth, BRICK_CHANNELS));
            (SCALE_BYTES * whole) as f64
        }
        false => round_up(SCALE_BYTES * depth, ALIGNMENT_BYTES) as f64,
    }
}

/// Bytes in the format that Ethos-U85 decodes faster, where it arrives and is decoded sooner than `coded_bytes`:
/// values as they are, or as indices of 2 or 4 bits if there are few of them.
fn fast_bytes(
    accelerator: &Accelerator,
    n_values: f64,
    coded_bytes: f64,
    values: &Values,
) -> Option<f64> {
    let ([from, to], [fewest, most]) = (ZERO_SHARES, DECODED_PER_CYCLE);
    let share = ((values.n_zeros / n_values).clamp(from, to) - from) / (to - from);
    let per_stream = (fewest + share * (most - fewest)).floor();
    let per_cycle = per_stream * accelerator.n_weight_streams as f64;
    let slow_cycles = [
        n_values / per_cycle,
        coded_bytes * accelerator.weights_off_chip.cycles_per_byte,
    ];
    let per_byte = match values.n_distinct {
        ..=4 => 4.0,
        5..=16 => 2.0,
        _ => 1.0,
    };
    let fast_bytes = FAST_HEADER_BYTES + n_values / per_byte;
    let per_cycle = FAST_PER_CYCLE[usize::from(values.n_distinct < 16)];
    let fast_cycles = [
        n_values / per_cycle,
        fast_bytes * accelerator.fast_weights_cycles_per_byte(),
    ];
    let longer = |cycles: [f64; 2]| cycles[0].max(cycles[1]);
    (longer(fast_cycles) < longer(slow_cycles)).then_some(fast_bytes)
}

/// Encoded bytes of a constant without headers, with `padding` times as many zeros added, no two of them
/// adjacent.
pub fn coded_bytes(histogram: &ByteHistogram, padding: f64) -> f64 {
    Values::kept(histogram, histogram.n_bytes as f64 * padding, &[]).bits / 8.0
}

/// Symbol of a stored byte: twice its distance from the zero point, plus 1 below it.
fn distance(byte: u8, histogram: &ByteHistogram) -> usize {
    let value = match histogram.is_signed {
        true => i32::from(byte as i8) - i32::from(histogram.zero as i8),
        false => i32::from(byte) - i32::from(histogram.zero),
    };
    2 * value.unsigned_abs() as usize + usize::from(value < 0)
}

/// The values of a distribution from the most frequent on, whatever the number of weights that have it: sorting them is
/// most of what a stream takes.
struct Ranked {
    counts: Arc<[u64; 256]>,
    zero: u8,
    is_signed: bool,
    n_sampled: f64,
    /// Pairs (distance, count in the sample), as [`by_count`] sorts them.
    by_count: Vec<(usize, f64)>,
}

impl Ranked {
    /// Of a histogram whose counts were seen a short time before on this thread, or anew.
    fn kept(histogram: &ByteHistogram) -> Rc<Self> {
        thread_local! {
            static KEPT: RefCell<[Option<Rc<Ranked>>; MAX_KEPT]> = const { RefCell::new([const { None }; MAX_KEPT]) };
        }
        let key = (
            Arc::as_ptr(&histogram.counts).addr(),
            histogram.zero,
            histogram.is_signed,
        );
        let place = (FixedState::default().hash_one(key) % MAX_KEPT as u64) as usize;
        KEPT.with_borrow_mut(|kept| {
            let kept = &mut kept[place];
            match kept.as_ref().filter(|kept| kept.is_of(histogram)) {
                Some(known) => known.clone(),
                None => kept.insert(Rc::new(Self::of(histogram))).clone(),
            }
        })
    }

    fn of(histogram: &ByteHistogram) -> Self {
        let pairs = (0..=u8::MAX).zip(histogram.counts.iter());
        let present = pairs.filter(|&(_, &count)| count > 0);
        let mut values: Vec<(usize, f64)> = present
            .map(|(byte, &count)| (distance(byte, histogram), count as f64))
            .collect();
        values.sort_unstable_by(by_count);
        Self {
            counts: histogram.counts.clone(),
            zero: histogram.zero,
            is_signed: histogram.is_signed,
            n_sampled: histogram.counts.iter().sum::<u64>() as f64,
            by_count: values,
        }
    }

    fn is_of(&self, histogram: &ByteHistogram) -> bool {
        Arc::ptr_eq(&self.counts, &histogram.counts)
            && self.zero == histogram.zero
            && self.is_signed == histogram.is_signed
    }

    /// As many as a constant of so many bytes has.
    fn values(&self, n_bytes: usize) -> Vec<(usize, f64)> {
        let scale = n_bytes as f64 / self.n_sampled.max(1.0);
        let values = self.by_count.iter();
        let scaled = values.map(|&(value, count)| (value, count * scale));
        match n_bytes {
            0 => Vec::new(),
            _ => scaled.collect(),
        }
    }
}

/// Adds zeros to ranked values, and moves 0 to its new rank: the number of zeros.
fn add_zeros(values: &mut Vec<(usize, f64)>, n_zeros: f64) -> f64 {
    let place = values.iter().position(|&(value, _)| value == 0);
    let n_before = place.map_or(0.0, |place| values[place].1);
    if n_zeros <= 0.0 {
        return n_before;
    }
    if let Some(place) = place {
        values.remove(place);
    }
    let zero = (0, n_before + n_zeros);
    let place = values.partition_point(|other| by_count(other, &zero).is_lt());
    values.insert(place, zero);
    zero.1
}

/// The values of a weight stream.
struct Values {
    symbols: Symbols,
    /// Whether zeros are coded as runs between the other values.
    has_runs: bool,
    /// Zeros with another zero beside them, by how the stream is padded.
    n_zeros_in_runs: f64,
    n_zeros: f64,
    n_others: f64,
    n_distinct: usize,
    /// Of all values in their code, without headers.
    bits: f64,
}

/// Distributions, and streams, that are kept, of some 6 kB each: those of operators that share their weights, or of which only the
/// distribution is known.
const MAX_KEPT: usize = 64;

/// A stream that was computed before, and what it follows from.
struct Kept {
    histogram: ByteHistogram,
    padding: f64,
    zero_runs: Vec<ZeroRuns>,
    values: Rc<Values>,
}

impl Values {
    /// As [`Self::of`]. A stream that was seen a short time before on this thread takes one comparison.
    fn kept(histogram: &ByteHistogram, padding: f64, zero_runs: &[ZeroRuns]) -> Rc<Self> {
        thread_local! {
            static KEPT: RefCell<[Option<Kept>; MAX_KEPT]> = const { RefCell::new([const { None }; MAX_KEPT]) };
        }
        let key = (&histogram.counts[..8], histogram.n_bytes, padding.to_bits());
        let place = (FixedState::default().hash_one(key) % MAX_KEPT as u64) as usize;
        KEPT.with_borrow_mut(|kept| {
            let kept = &mut kept[place];
            let known = kept.as_ref().filter(|kept| {
                kept.padding == padding
                    && kept.zero_runs == zero_runs
                    && kept.histogram == *histogram
            });
            if let Some(known) = known {
                return known.values.clone();
            }
            let values = Rc::new(Self::of(histogram, padding, zero_runs));
            *kept = Some(Kept {
                histogram: histogram.clone(),
                padding,
                zero_runs: zero_runs.to_vec(),
                values: values.clone(),
            });
            values
        })
    }

    /// The values of a histogram and `padding` zeros, some of which form `zero_runs`.
    fn of(histogram: &ByteHistogram, padding: f64, zero_runs: &[ZeroRuns]) -> Self {
        let mut present = Ranked::kept(histogram).values(histogram.n_bytes);
        let n_zeros = add_zeros(&mut present, padding);
        let n_distinct = present.len();
        let n_all: f64 = present.iter().map(|&(_, count)| count).sum();
        let mut others = present.iter().filter(|&&(value, _)| value > 0);
        let most_frequent = others.next().map_or(0.0, |&(_, count)| count);
        let runs = zero_runs.iter().filter(|runs| runs.length > 1.0);
        let n_zeros_in_runs = runs.map(|runs| runs.length * runs.count).sum::<f64>();
        let n_zeros_in_runs = n_zeros_in_runs.min(padding);
        // Among the other zeros, this many have a zero beside them by chance.
        let n_scattered = n_zeros - n_zeros_in_runs;
        let alone = (1.0 - n_scattered / (n_all - n_zeros_in_runs).max(1.0)).powi(2);
        let n_beside = n_zeros_in_runs + n_scattered * (1.0 - alone);
        let has_runs = n_zeros > RUN_THRESHOLD * most_frequent && n_beside >= n_zeros / 2.0;
        if has_runs {
            present.retain(|&(value, _)| value > 0);
        }
        let mut values = Self {
            symbols: Symbols::new(&present),
            has_runs,
            n_zeros_in_runs,
            n_zeros,
            n_others: n_all - n_zeros,
            n_distinct,
            bits: 0.0,
        };
        values.bits = values.coded_bits(zero_runs);
        values
    }

    fn coded_bits(&self, zero_runs: &[ZeroRuns]) -> f64 {
        match self.has_runs {
            true => self.symbols.bits(&[]) + self.run_bits(zero_runs),
            false => self.symbols.bits(zero_runs),
        }
    }

    /// Bits of the runs of zeros: those that padding makes, and others whose lengths have a geometric
    /// distribution, as they do by chance.
    fn run_bits(&self, zero_runs: &[ZeroRuns]) -> f64 {
        let mean = (self.n_zeros - self.n_zeros_in_runs) / self.n_others.max(1.0);
        let share = mean / (1.0 + mean);
        let coded = |remainder_bits: i32| {
            let step = f64::from(1 << remainder_bits);
            let whole = share.powf(step);
            let quotient = whole / (1.0 - whole).max(f64::EPSILON);
            let by_chance = 1.0 + f64::from(remainder_bits) + quotient;
            let filled = |runs: &ZeroRuns| (runs.length / step).floor() * runs.count;
            let filled = zero_runs.iter().map(filled).sum::<f64>();
            by_chance * (self.n_others + 1.0) + filled.min(self.n_zeros_in_runs)
        };
        (0..=MAX_RUN_REMAINDER_BITS)
            .map(coded)
            .fold(f64::INFINITY, f64::min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// More streams than are kept, each twice, and twice in a row.
    #[test]
    fn kept_streams_are_those_that_are_computed_anew() {
        let mut n_compared = 0;
        for seed in (0..400_u64).chain(0..400) {
            let mut counts: [u64; 256] =
                std::array::from_fn(|byte| (byte as u64 * 37 + 1) * (seed / 8) % 251);
            counts[200] = seed;
            let histogram = ByteHistogram {
                counts: Arc::new(counts),
                zero: 0,
                is_signed: seed % 2 == 0,
                n_bytes: 4096,
            };
            let zero_runs = [ZeroRuns {
                length: (seed % 5) as f64,
                count: 100.0,
            }];
            for padding in [0.0, 512.0, 512.0] {
                let anew = Values::of(&histogram, padding, &zero_runs);
                let kept = Values::kept(&histogram, padding, &zero_runs);
                assert_eq!(kept.bits, anew.bits, "stream {seed}");
                assert_eq!(kept.n_distinct, anew.n_distinct, "stream {seed}");
                n_compared += 1;
            }
        }
        println!("{n_compared} streams compared, at most {MAX_KEPT} kept");
    }
}
