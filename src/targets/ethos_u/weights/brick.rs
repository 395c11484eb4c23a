//! The order of weights in the stream, and the zeros that pad it. Reproduces the weight orderings of Vela's
//! `ethos_u55_weight_encoder.cpp` and `ethos_u85_weight_encoder.cpp`.

use super::super::accelerator::Accelerator;
use super::super::blocks::{Block, depth_first_channels};
use super::super::layer::{Kind, Layer};
use super::super::program::INT16_BYTES;
use crate::targets::ethos_u::geometry::{ceil_div, round_up};

/// Runs of zeros: their length, and how many there are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ZeroRuns {
    pub length: f64,
    pub count: f64,
}

impl ZeroRuns {
    pub fn with_count(self, convert: impl Fn(f64) -> f64) -> Self {
        Self {
            count: convert(self.count),
            ..self
        }
    }
}

/// Of a stream without them.
pub(super) const NO_ZERO_RUNS: [ZeroRuns; 4] = [ZeroRuns {
    length: 0.0,
    count: 0.0,
}; 4];

/// The order in which the multipliers take weights: through some output channels, kernel positions and input
/// channels, the last ones fastest, each padded with zeros to what one step takes.
pub(super) struct Brick {
    kernel: i64,
    ofm: i64,
    ifm: i64,
    kernel_step: i64,
    /// Positions with zeros beside each group of `kernel_step`.
    n_idle: i64,
    /// Output channels that each of `n_streams` streams has in one step.
    ofm_step: i64,
    n_streams: i64,
    /// Input channels of one kernel position.
    ifm_step: i64,
    /// How many of these are adjacent in the stream.
    ifm_together: i64,
}

impl Brick {
    /// The first `n_streams` streams: others have zeros alone.
    pub fn new(accelerator: &Accelerator, layer: &Layer, block: &Block, n_streams: i64) -> Self {
        let is_u85 = accelerator.is_u85();
        let is_depthwise = layer.kind == Kind::Depthwise;
        let is_wide = layer.element_bytes.ifm == INT16_BYTES;
        let (kernel_step, ifm_step) = match (is_depthwise, block.is_part_kernel, is_u85) {
            (true, _, true) => (10, 1),
            (true, _, false) => (4, 1),
            (_, true, true) if layer.is_sparse => (10, 16),
            (_, true, true) => {
                if is_wide {
                    (10, 8)
                } else {
                    (5, 16)
                }
            }
            (_, true, false) => (if is_wide { 2 } else { 4 }, 8),
            (_, false, true) if layer.is_sparse => (1, if is_wide { 64 } else { 128 }),
            (_, false, true) => (1, depth_first_channels(accelerator, block.micro)),
            (_, false, false) => (1, if is_wide { 16 } else { 32 }),
        };
        Self {
            kernel: layer.kernel[0] * layer.kernel[1],
            ofm: layer.ofm[2],
            ifm: if is_depthwise { 1 } else { layer.ifm[2] },
            kernel_step,
            n_idle: match accelerator.macs_per_cycle as i64 {
                512 if is_depthwise && is_u85 => 2,
                1024.. if is_depthwise && is_u85 => 6,
                _ if is_depthwise && is_u85 && is_wide => 2,
                _ => 0,
            },
            ofm_step: if is_u85 {
                block.micro[2] / accelerator.n_weight_streams
            } else {
                block.micro[2]
            },
            n_streams,
            ifm_step,
            ifm_together: if is_depthwise { 1 } else { 8 },
        }
    }

    fn whole_kernel(&self) -> i64 {
        ceil_div(self.kernel, self.kernel_step) * (self.kernel_step + self.n_idle)
    }

    /// Weights of the layer.
    pub fn n_weights(&self) -> f64 {
        (self.kernel * self.ofm * self.ifm) as f64
    }

    /// Weights and zeros of the stream.
    pub fn n_values(&self) -> f64 {
        let kernel = self.whole_kernel();
        let ofm = round_up(self.ofm, self.ofm_step * self.n_streams);
        (kernel * ofm * round_up(self.ifm, self.ifm_step)) as f64
    }

    /// Zeros beside a whole step: after the positions of a kernel, after the output channels of a stream, after the input
    /// channels of a position, and after those of a group.
    fn padding_zeros(&self) -> [i64; 4] {
        let ofm_at_once = self.ofm_step * self.n_streams;
        let ifm_whole = ceil_div(self.ifm, self.ifm_together) * self.ifm_together;
        [
            self.whole_kernel() - self.kernel,
            (round_up(self.ofm, ofm_at_once) - self.ofm) / self.n_streams,
            round_up(self.ifm, self.ifm_step) - ifm_whole,
            ifm_whole - self.ifm,
        ]
    }

    /// The zeros after the last weight of each stream.
    pub fn last_zero_runs(&self) -> ZeroRuns {
        let [kernel_fill, ofm_fill, ifm_fill, rest] = self.padding_zeros();
        let beside = kernel_fill * self.ifm_step + ifm_fill;
        let length = beside * self.ofm_step + ofm_fill * self.ifm_together + rest;
        ZeroRuns {
            length: length as f64,
            count: self.n_streams as f64,
        }
    }

    pub fn zero_runs(&self) -> [ZeroRuns; 4] {
        let ofm_at_once = self.ofm_step * self.n_streams;
        let n_ofm = ceil_div(self.ofm, ofm_at_once) * self.n_streams;
        let n_ifm = ceil_div(self.ifm, self.ifm_together);
        let [kernel_fill, ofm_fill, ifm_fill, rest] = self.padding_zeros();
        let runs = [
            (
                kernel_fill * self.ofm_step * self.ifm_together,
                n_ofm * n_ifm,
            ),
            (
                ofm_fill * self.ifm_together,
                self.kernel * n_ifm * self.n_streams,
            ),
            (ifm_fill * self.ofm_step, n_ofm * self.kernel),
            (rest, self.ofm * self.kernel),
        ];
        runs.map(|(length, count)| ZeroRuns {
            length: length as f64,
            count: if length > 0 { count as f64 } else { 0.0 },
        })
    }
}
