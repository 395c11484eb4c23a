//! Lifetimes of buffers, and which of them a layer may overwrite.

use super::schedule::{Layer, Schedule};

/// Working memory starts and ends at word boundaries.
pub const ALIGNMENT_BYTES: i128 = 4;

pub struct Liveness {
    /// First and last layer during which each buffer is alive. For a buffer that no layer uses, the last layer is
    /// before the first.
    lives: Vec<(usize, usize)>,
    /// By layer: the input that its output may overwrite, if any.
    pub overlaps: Vec<Option<Overlap>>,
}

/// A layer that may write its only output over an input that nothing reads later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Buffer of the largest such input.
    pub read: usize,
    /// Buffer of the output.
    pub written: usize,
    /// [`Layer::in_place_offset_bytes`].
    pub in_place_offset_bytes: i128,
}

impl Liveness {
    /// Linear in layers and what they read and write.
    pub fn new(schedule: &Schedule) -> Self {
        let lives = lives(schedule);
        let overlap = |(layer_idx, layer): (usize, &Layer)| {
            let is_last_read = |b: &&usize| lives[**b].1 == layer_idx;
            let last_read = layer.reads.iter().filter(is_last_read);
            let [written] = layer.writes.as_slice() else {
                return None;
            };
            Some(Overlap {
                read: *last_read.max_by_key(|&&b| schedule.buffer_bytes[b])?,
                written: *written,
                in_place_offset_bytes: i128::from(layer.in_place_offset_bytes?),
            })
        };
        let overlaps = schedule.layers.iter().enumerate().map(overlap).collect();
        Self { lives, overlaps }
    }

    /// Bytes alive during each layer, where a buffer takes `bytes` of its size.
    pub fn live_bytes(&self, schedule: &Schedule, bytes: impl Fn(u64) -> i128) -> Vec<i128> {
        let n_layers = schedule.layers.len();
        let mut change = vec![0_i128; n_layers + 1];
        for (&(first, last), &size) in self.lives.iter().zip(&schedule.buffer_bytes) {
            if first <= last && last < n_layers {
                change[first] += bytes(size);
                change[last + 1] -= bytes(size);
            }
        }
        let mut alive = 0;
        let live_bytes = change[..n_layers].iter().map(|change| {
            alive += change;
            alive
        });
        live_bytes.collect()
    }
}

/// Rounded up to a whole number of words.
pub fn aligned(bytes: i128) -> i128 {
    (bytes + ALIGNMENT_BYTES - 1).div_euclid(ALIGNMENT_BYTES) * ALIGNMENT_BYTES
}

/// Working memory of a layer, in whole words.
pub fn scratch_bytes(layer: &Layer) -> i128 {
    aligned(i128::from(layer.scratch_bytes))
}

fn lives(schedule: &Schedule) -> Vec<(usize, usize)> {
    let mut lives = vec![(usize::MAX, 0); schedule.buffer_bytes.len()];
    for (layer_idx, layer) in schedule.layers.iter().enumerate() {
        for &buffer in layer.reads.iter().chain(&layer.writes) {
            let (first, last) = &mut lives[buffer];
            *first = (*first).min(layer_idx);
            *last = layer_idx;
        }
    }
    for &buffer in &schedule.inputs {
        lives[buffer].0 = 0;
    }
    for &buffer in &schedule.outputs {
        if let Some(last_layer) = schedule.layers.len().checked_sub(1) {
            lives[buffer].1 = last_layer;
        }
    }
    lives
}
