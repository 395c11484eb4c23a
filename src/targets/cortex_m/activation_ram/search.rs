//! The planner that overlaps buffers only where memory is short: an output that may overwrite its input does so if the
//! network would not fit otherwise.
//!
//! An output that overwrites its input ends at the end of the input or before it, and starts some bytes before the
//! input, so that the kernel never overwrites values that it has yet to read. Consecutive layers of which each
//! overwrites the output of the previous one form a region, in which the distances of the buffers are fixed. Working
//! memory is placed where the region is free while its layer runs, or extends the region.

use super::liveness::{Liveness, Overlap, scratch_bytes};
use super::schedule::Schedule;

/// Bytes of the smallest memory in which all layers run. Linear in layers times the bits of a size.
pub fn peak_bytes(schedule: &Schedule) -> u64 {
    let plan = Plan::new(schedule);
    let mut hi = plan.separate_bytes.iter().copied().max().unwrap_or(0);
    let mut lo = 0;
    while lo < hi {
        let middle = lo + (hi - lo) / 2;
        if plan.fits(middle) {
            hi = middle
        } else {
            lo = middle + 1
        }
    }
    u64::try_from(hi).unwrap_or(u64::MAX)
}

struct Plan<'p> {
    schedule: &'p Schedule,
    overlaps: Vec<Option<Overlap>>,
    /// Bytes alive during each layer.
    live_bytes: Vec<i128>,
    /// Bytes alive during each layer plus its working memory, if nothing overlaps.
    separate_bytes: Vec<i128>,
}

impl<'p> Plan<'p> {
    fn new(schedule: &'p Schedule) -> Self {
        let liveness = Liveness::new(schedule);
        let live_bytes = liveness.live_bytes(schedule, i128::from);
        let scratches = schedule.layers.iter().map(scratch_bytes);
        Self {
            schedule,
            overlaps: liveness.overlaps,
            separate_bytes: live_bytes
                .iter()
                .zip(scratches)
                .map(|(a, b)| a + b)
                .collect(),
            live_bytes,
        }
    }

    fn fits(&self, bytes: i128) -> bool {
        let mut layer_idx = 0;
        while layer_idx < self.schedule.layers.len() {
            if self.separate_bytes[layer_idx] <= bytes {
                layer_idx += 1;
                continue;
            }
            let mut end = layer_idx + 1;
            while end < self.schedule.layers.len()
                && self.separate_bytes[end] > bytes
                && self.overwrites_chain(end)
            {
                end += 1;
            }
            match self.region_bytes(layer_idx, end) {
                Some(needed) if needed <= bytes => layer_idx = end,
                _ => return false,
            }
        }
        true
    }

    /// Whether a layer may overwrite the output of the previous layer, which itself may overwrite its input.
    fn overwrites_chain(&self, layer_idx: usize) -> bool {
        let before = layer_idx.checked_sub(1).and_then(|idx| self.overlaps[idx]);
        match (before, self.overlaps[layer_idx]) {
            (Some(before), Some(overlap)) => before.written == overlap.read,
            _ => false,
        }
    }

    /// Bytes of the layers `start..end`, each of which overwrites its input, with everything that is alive beside them.
    fn region_bytes(&self, start: usize, end: usize) -> Option<i128> {
        let size = |b: usize| i128::from(self.schedule.buffer_bytes[b]);
        let mut read_at = 0;
        let (mut lo, mut hi) = (0, size(self.overlaps[start]?.read));
        let mut spans = Vec::with_capacity(end - start);
        let mut beside = 0;
        for layer_idx in start..end {
            let Overlap {
                read,
                written,
                in_place_offset_bytes,
            } = self.overlaps[layer_idx]?;
            let written_at = read_at - (size(written) - size(read)).max(0) - in_place_offset_bytes;
            let top = (read_at + size(read)).max(written_at + size(written));
            lo = lo.min(written_at);
            hi = hi.max(top);
            spans.push((written_at, top));
            beside = beside.max(self.live_bytes[layer_idx] - size(read) - size(written));
            read_at = written_at;
        }
        for (layer, (bottom, top)) in self.schedule.layers[start..end].iter().zip(spans) {
            let scratch = scratch_bytes(layer);
            if bottom - lo >= scratch || hi - top >= scratch {
                continue;
            }
            if top + scratch - hi <= lo - (bottom - scratch) {
                hi = top + scratch
            } else {
                lo = bottom - scratch
            }
        }
        Some(beside + hi - lo)
    }
}

#[cfg(test)]
mod tests {
    use super::super::schedule::Layer;
    use super::*;

    fn layer(
        read: usize,
        written: usize,
        scratch_bytes: u64,
        in_place_offset_bytes: Option<u64>,
    ) -> Layer {
        Layer {
            reads: vec![read],
            writes: vec![written],
            scratch_bytes,
            in_place_offset_bytes,
        }
    }

    /// As ST Edge AI Core 7.3 places five layers of a Yamnet: its report says 112,196 bytes, and that the
    /// padded feature map of 108,800 bytes starts 1,024 bytes above the output of 24,576 bytes that is
    /// written over it, with 2,369 bytes of working memory above.
    #[test]
    fn a_chain_of_overlaps_is_as_in_a_report() {
        let schedule = Schedule {
            buffer_bytes: vec![49_152, 98_304, 108_800, 24_576, 49_152],
            layers: vec![
                layer(0, 1, 768, Some(2_048)),
                layer(1, 2, 0, Some(0)),
                layer(2, 3, 2_369, Some(1_024)),
                layer(3, 4, 1_536, Some(2_048)),
            ],
            inputs: vec![0],
            outputs: vec![4],
            precomputed_bytes: 0,
        };
        assert_eq!(peak_bytes(&schedule), 112_196);
    }

    #[test]
    fn what_cannot_overlap_adds_up() {
        let schedule = Schedule {
            buffer_bytes: vec![100, 60],
            layers: vec![layer(0, 1, 5, None)],
            inputs: vec![0],
            outputs: vec![1],
            precomputed_bytes: 0,
        };
        assert_eq!(peak_bytes(&schedule), 168);
        assert_eq!(peak_bytes(&Schedule::default()), 0);
    }
}
