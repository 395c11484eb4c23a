//! A buffer for weights in SRAM, and what it leaves for the next operation.

use std::ops::Index;

use crate::targets::ethos_u::scheduled_operation::ScheduledOperation;

/// SRAM that holds the weights of one operation while it runs. The default is no buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Buffer {
    /// Bytes: two parts for double buffering, one for a single buffer, none if weights are read off chip.
    pub parts: [f64; 2],
    /// Whether the first part is filled while the previous operation runs.
    pub is_prefetched: bool,
    /// Number of slices of the weights; 0 without a buffer.
    pub n_slices: usize,
    /// Bytes of all slices, with scales and biases.
    pub stream_bytes: f64,
    /// Bytes of scales and biases in them: each slice has whole micro blocks of them.
    pub scale_bytes: f64,
    /// Bytes of the first slice.
    pub first_bytes: f64,
    /// Cycles of the previous operation behind which DMA can hide.
    pub slack_cycles: f64,
    /// Cycles that the operation takes for the last slice.
    pub last_slice_cycles: f64,
    /// Whether it is the buffer of the previous operation, with the same weights.
    pub is_shared: bool,
    /// Whether it is the buffer of the previous operation, filled again with the same weights.
    pub is_filled_again: bool,
    /// Whether only every other one of equal operations in turn has it: behind itself, no transfer would be hidden.
    pub alternates: bool,
}

/// The buffer of each scheduled operation, by step. One that has none takes the memory of a pointer, because it may be
/// one of a hundred thousand.
pub struct Buffers(Vec<Option<Box<Buffer>>>);

impl Buffers {
    /// No buffers, for as many steps.
    pub fn none(n_steps: usize) -> Self {
        Self(vec![None; n_steps])
    }

    pub fn set(&mut self, step: usize, buffer: Buffer) {
        self.0[step] = (buffer != Buffer::NONE).then(|| Box::new(buffer));
    }

    pub fn at_steps(&self, steps: impl Iterator<Item = usize>) -> impl Iterator<Item = &Buffer> {
        steps.map(|step| &self[step])
    }
}

impl Index<usize> for Buffers {
    type Output = Buffer;

    fn index(&self, step: usize) -> &Buffer {
        self.0[step].as_deref().unwrap_or(&Buffer::NONE)
    }
}

impl Buffer {
    pub const NONE: Self = Self {
        parts: [0.0; 2],
        is_prefetched: false,
        n_slices: 0,
        stream_bytes: 0.0,
        scale_bytes: 0.0,
        first_bytes: 0.0,
        slack_cycles: 0.0,
        last_slice_cycles: 0.0,
        is_shared: false,
        is_filled_again: false,
        alternates: false,
    };

    pub fn bytes(&self) -> f64 {
        self.parts[0] + self.parts[1]
    }

    /// The part that holds the last slice. While it is read, the other part is free for the next operation.
    fn last_part(&self) -> usize {
        let n_parts = if self.parts[1] > 0.0 { 2 } else { 1 };
        self.n_slices.saturating_sub(1) % n_parts
    }

    /// The slack for fetching the next operation's weights, if `room_bytes` of SRAM are available.
    pub fn slack(&self, operation: &ScheduledOperation, room_bytes: f64) -> Slack {
        match self.n_slices {
            0 => Slack {
                cycles: operation.cycles,
                bytes: room_bytes,
                is_sliced: false,
            },
            _ => Slack {
                cycles: self.last_slice_cycles,
                bytes: room_bytes - self.parts[self.last_part()],
                is_sliced: self.n_slices > 1,
            },
        }
    }

    /// Peak bytes of weights in SRAM, if `fetched_for_next` bytes are prefetched for the next operation.
    pub fn bytes_beside(&self, fetched_for_next: f64) -> f64 {
        let at_end = self.parts[self.last_part()] + fetched_for_next;
        self.bytes().max(at_end)
    }
}

/// The time and the SRAM that an operation leaves for fetching the next one's weights.
#[derive(Clone, Copy, Debug)]
pub struct Slack {
    pub cycles: f64,
    pub bytes: f64,
    /// Whether its weights are in slices, so that an operation with the same weights does not find them as a whole.
    pub is_sliced: bool,
}
