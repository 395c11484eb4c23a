//! The planner of 8.1 and 10.0 on an STM32H7: every output that may overwrite its input does so up to a certain layer,
//! and none does after it. The planner chooses the layer that minimises the RAM.
//!
//! Consecutive layers of which each overwrites the output of the previous one form a region, as in `search`. Working
//! memory is placed above the buffers of its layer, never in free space below them.

use super::liveness::{ALIGNMENT_BYTES, Liveness, Overlap, aligned, scratch_bytes};
use super::schedule::{Layer, Schedule};

/// 10.0 places larger buffers separately, presumably because they do not fit in an STM32H7's AXI SRAM of 512 KiB. Any
/// limit from 400 to 587 KiB gives the same estimates for the networks for which ST publishes figures.
const LARGE_BUFFER_BYTES: u64 = 440 * 1024;

/// Bytes under 8.1. Linear in layers.
pub fn peak_bytes(schedule: &Schedule) -> u64 {
    let liveness = Liveness::new(schedule);
    let live_bytes = liveness.live_bytes(schedule, |bytes| aligned(i128::from(bytes)));
    let scratches = schedule.layers.iter().map(scratch_bytes);
    let separate_bytes: Vec<i128> = live_bytes
        .iter()
        .zip(scratches)
        .map(|(a, b)| a + b)
        .collect();
    let from = maxima_from_each_on(&separate_bytes);
    let mut least = from.first().copied().unwrap_or(0);
    // The largest size of a region, or of a layer that cannot overlap, so far.
    let mut until = 0;
    let mut region: Option<Region> = None;
    for (layer_idx, layer) in schedule.layers.iter().enumerate() {
        region = liveness.overlaps[layer_idx].map(|overlap| {
            let open = region.take().filter(|region| region.last == overlap.read);
            let mut grown = open.unwrap_or_else(|| Region::new(overlap.read, schedule));
            grown.add(schedule, layer, overlap, live_bytes[layer_idx]);
            grown
        });
        // A region never shrinks, so the largest size so far is that of all regions up to this layer.
        until = until.max(match &region {
            Some(region) => region.bytes(),
            None => separate_bytes[layer_idx],
        });
        least = least.min(until.max(from.get(layer_idx + 1).copied().unwrap_or(0)));
    }
    u64::try_from(least).unwrap_or(u64::MAX)
}

/// Bytes under 10.0: those of 8.1 without working memory, plus 1.25 times the largest working memory of a layer.
/// Buffers larger than [`LARGE_BUFFER_BYTES`] share memory only with each other.
///
/// The factor is fitted to 22 of ST's figures; with any factor from 1.1 to 1.5, their median error is below 2 %.
pub fn peak_bytes_with_reserve(schedule: &Schedule) -> u64 {
    let largest = schedule
        .layers
        .iter()
        .map(|layer| layer.scratch_bytes)
        .max();
    let largest = aligned(i128::from(largest.unwrap_or(0)));
    let reserve = u64::try_from(largest + largest / 4).unwrap_or(u64::MAX);
    let mut rest = schedule.clone();
    for layer in &mut rest.layers {
        layer.scratch_bytes = 0;
    }
    let apart = set_large_buffers_apart(&mut rest);
    peak_bytes(&rest)
        .saturating_add(apart)
        .saturating_add(reserve)
}

/// Bytes of the largest buffer above [`LARGE_BUFFER_BYTES`]; all of them are empty in `schedule` afterwards, and
/// no layer overlaps them.
fn set_large_buffers_apart(schedule: &mut Schedule) -> u64 {
    let Schedule {
        layers,
        buffer_bytes,
        ..
    } = schedule;
    let mut apart = 0;
    for layer in layers {
        let touched = layer.reads.iter().chain(&layer.writes);
        let largest = touched.map(|&b| buffer_bytes[b]).max().unwrap_or(0);
        if largest > LARGE_BUFFER_BYTES {
            apart = apart.max(largest);
            layer.in_place_offset_bytes = None;
        }
    }
    for bytes in buffer_bytes
        .iter_mut()
        .filter(|bytes| **bytes > LARGE_BUFFER_BYTES)
    {
        *bytes = 0;
    }
    apart
}

/// By layer, the maximum of its bytes and those of all later layers.
fn maxima_from_each_on(bytes: &[i128]) -> Vec<i128> {
    let mut most = 0;
    let mut from: Vec<i128> = bytes
        .iter()
        .rev()
        .map(|&bytes| {
            most = bytes.max(most);
            most
        })
        .collect();
    from.reverse();
    from
}

/// Consecutive layers of which each overwrites the output of the previous one. Offsets are relative to the first input.
struct Region {
    /// Buffer that the last layer wrote or, without a layer, that the first one reads.
    last: usize,
    last_at: i128,
    lo: i128,
    hi: i128,
    /// Maximum number of live bytes outside of the region, over its layers.
    beside: i128,
}

impl Region {
    fn new(read: usize, schedule: &Schedule) -> Self {
        Self {
            last: read,
            last_at: 0,
            lo: 0,
            hi: aligned(i128::from(schedule.buffer_bytes[read])),
            beside: 0,
        }
    }

    fn add(&mut self, schedule: &Schedule, layer: &Layer, overlap: Overlap, live_bytes: i128) {
        let size = |b: usize| i128::from(schedule.buffer_bytes[b]);
        let (read, written) = (size(overlap.read), size(overlap.written));
        let start = self.last_at - (written - read).max(0) - overlap.in_place_offset_bytes;
        // An input whose size is not a multiple of a word is placed up to 3 bytes higher.
        let start = match read % ALIGNMENT_BYTES {
            0 => start,
            _ => start - (ALIGNMENT_BYTES - 1),
        };
        let start = start.div_euclid(ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
        let top = (self.last_at + aligned(read)).max(start + written);
        self.lo = self.lo.min(start);
        self.hi = self.hi.max(aligned(top) + scratch_bytes(layer));
        let beside = live_bytes - aligned(read) - aligned(written);
        self.beside = self.beside.max(beside);
        (self.last, self.last_at) = (overlap.written, start);
    }

    fn bytes(&self) -> i128 {
        self.hi - self.lo + self.beside
    }
}

#[cfg(test)]
mod tests {
    use super::super::search;
    use super::super::tests::chain;
    use super::*;
    use crate::graph::analysis::fixtures::for_each;

    fn layer(read: usize, scratch_bytes: u64, in_place_offset_bytes: Option<u64>) -> Layer {
        Layer {
            reads: vec![read],
            writes: vec![read + 1],
            scratch_bytes,
            in_place_offset_bytes,
        }
    }

    fn schedule_of(buffer_bytes: &[u64], layers: Vec<Layer>) -> Schedule {
        Schedule {
            outputs: vec![buffer_bytes.len() - 1],
            buffer_bytes: buffer_bytes.to_vec(),
            layers,
            inputs: vec![0],
            precomputed_bytes: 0,
        }
    }

    /// The first layer alone is written over its input: its output starts at -10, rounded down to -12, and
    /// working memory ends at 100 + 32. With the second, the region would reach down to -72.
    #[test]
    fn outputs_are_written_over_inputs_up_to_the_best_step() {
        let layers = vec![
            layer(0, 30, Some(10)),
            layer(1, 0, Some(60)),
            layer(2, 0, Some(60)),
        ];
        let schedule = schedule_of(&[100, 100, 20, 20], layers);
        assert_eq!(peak_bytes(&schedule), 12 + 100 + 32);
        assert_eq!(search::peak_bytes(&schedule), 10 + 100 + 32);
        // The second layer takes 120 bytes, the first 112 without working memory, a quarter more of which is 40.
        assert_eq!(peak_bytes_with_reserve(&schedule), 120 + 40);
    }

    /// The input takes 49 bytes in 52, so that the output starts 20 bytes and 3 more below it.
    #[test]
    fn an_input_that_does_not_end_at_a_word_takes_three_bytes_more() {
        let schedule = schedule_of(&[49, 49], vec![layer(0, 0, Some(20))]);
        assert_eq!(peak_bytes(&schedule), 24 + 52);
    }

    /// The two large buffers share their memory; the last layer reads the second of them and writes 1,000 bytes.
    #[test]
    fn the_largest_buffer_above_440_kib_is_counted_by_itself_under_10_0() {
        let layers = vec![
            layer(0, 0, Some(0)),
            layer(1, 100, Some(0)),
            layer(2, 0, Some(0)),
        ];
        let schedule = schedule_of(&[451_584, 460_000, 1_000, 600], layers);
        assert_eq!(
            peak_bytes_with_reserve(&schedule),
            460_000 + 1_000 + 100 * 5 / 4
        );
        assert_eq!(peak_bytes(&schedule), 460_000 + 100);
    }

    /// Compares with regions that are computed again for every last layer.
    #[test]
    fn growing_a_region_equals_computing_it_again() {
        let any = proptest::arbitrary::any::<(u16, u16, Option<u8>, u8)>();
        for_each(300, proptest::collection::vec(any, 1..20), |layers| {
            let schedule = chain(&layers);
            let liveness = Liveness::new(&schedule);
            let live = liveness.live_bytes(&schedule, |bytes| aligned(i128::from(bytes)));
            let separate = |idx: usize| live[idx] + scratch_bytes(&schedule.layers[idx]);
            let region = |start: usize, end: usize| {
                let mut region = Region::new(liveness.overlaps[start].unwrap().read, &schedule);
                for (idx, &live_bytes) in live.iter().enumerate().take(end).skip(start) {
                    let overlap = liveness.overlaps[idx].unwrap();
                    region.add(&schedule, &schedule.layers[idx], overlap, live_bytes);
                }
                region.bytes()
            };
            let continues = |idx: usize| match (liveness.overlaps[idx - 1], liveness.overlaps[idx])
            {
                (Some(before), Some(overlap)) => before.written == overlap.read,
                _ => false,
            };
            let bytes_until = |n_overlapped: usize| {
                let mut most = (n_overlapped..layers.len())
                    .map(separate)
                    .max()
                    .unwrap_or(0);
                let mut start = 0;
                while start < n_overlapped {
                    let mut end = start + 1;
                    while end < n_overlapped && continues(end) {
                        end += 1;
                    }
                    most = most.max(match liveness.overlaps[start] {
                        Some(_) => region(start, end),
                        None => separate(start),
                    });
                    start = end;
                }
                most
            };
            let least = (0..=layers.len()).map(bytes_until).min();
            assert_eq!(least, Some(peak_bytes(&schedule).into()));
        });
    }

    /// 100,000 layers, each of which could be written over its input, 8 bytes further down.
    #[test]
    fn long_programs_take_linear_time() {
        let n_layers = 100_000;
        let layers = (0..n_layers).map(|idx| layer(idx, 0, Some(8)));
        let schedule = schedule_of(&vec![64; n_layers + 1], layers.collect());
        assert_eq!(peak_bytes(&schedule), 128);
        assert_eq!(peak_bytes(&Schedule::default()), 0);
    }
}
