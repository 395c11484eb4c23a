//! The division of an operation's weights into slices of output channels: a first one that is fetched before the
//! operation runs, and equal ones that are each fetched while the previous one is computed.

use super::slices::Slices;
use crate::targets::ethos_u::geometry::{BRICK_CHANNELS, ceil_div, round_down, round_up};

/// Output channels of the slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slicing {
    /// All output channels.
    pub depth: i64,
    /// Output channels of the first slice.
    pub first: i64,
    /// Output channels of each other slice; the last one may have fewer.
    pub next: i64,
    /// Minimum number of channels of a slice after the first: a brick, or a micro block if that is deeper.
    pub granule: i64,
}

impl Slicing {
    pub fn whole(depth: i64) -> Self {
        Self {
            depth,
            first: depth,
            next: 0,
            granule: BRICK_CHANNELS,
        }
    }

    /// Slices of at most `max_channels` if that is possible: the larger kind is halved until they are, or until
    /// none can be. Slices wider than a block are whole blocks of `block_channels`.
    pub fn shrunk_to(self, max_channels: impl Fn(i64) -> bool, block_channels: i64) -> Self {
        let mut slicing = self.in_whole_blocks(block_channels);
        while !max_channels(slicing.widest()) {
            let smaller = slicing.halved().in_whole_blocks(block_channels);
            if smaller == slicing {
                break;
            }
            slicing = smaller;
        }
        slicing
    }

    fn in_whole_blocks(self, block_channels: i64) -> Self {
        let unit = if self.next > block_channels {
            block_channels
        } else {
            self.granule
        };
        Self {
            next: round_down(self.next, unit).max(self.granule),
            ..self
        }
    }

    /// Halves the larger kind of slice, rounded to whole granules, or bricks for the first slice. A single granule or
    /// brick is not halved.
    fn halved(self) -> Self {
        let half = |channels: i64, granule: i64| round_up(channels / 2, granule);
        if self.next > self.first {
            Self {
                next: half(self.next, self.granule),
                ..self
            }
        } else {
            Self {
                first: half(self.first, BRICK_CHANNELS),
                ..self
            }
        }
    }

    fn widest(&self) -> i64 {
        self.first.max(self.next.min(self.depth - self.first))
    }

    /// Output channels of each slice, in constant time.
    pub fn channels(&self) -> Slices<i64> {
        let first = self.first.min(self.depth);
        let behind = self.depth - first;
        let next = self.next.max(1);
        let n_between = (ceil_div(behind, next) - 1).max(0);
        Slices {
            first,
            between: (n_between > 0).then_some((next, n_between as usize)),
            last: (behind > 0).then_some(behind - n_between * next),
        }
    }

    /// The share of blocks of `block_channels` that slices after the first fill: 1 if they are whole blocks.
    pub fn block_fill(&self, block_channels: i64) -> f64 {
        self.next as f64 / round_up(self.next, block_channels) as f64
    }
}
