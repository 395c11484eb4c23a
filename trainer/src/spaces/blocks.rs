//! Blocks of layers, which several families use.

use super::layers::{Layers, Nonlinearity, Nonlinearity as N};
use crate::writer::TensorIdx;

/// A depthwise convolution between two 1×1 convolutions, the first of which increases the number of channels.
#[derive(Clone, Copy, Debug)]
pub struct InvertedResidual {
    pub channels: i32,
    /// Channels of the depthwise convolution. If they equal those of the input, there is no first 1×1 convolution.
    pub expanded: i32,
    pub kernel: i32,
    pub stride: i32,
    pub nonlinearity: Nonlinearity,
    /// Channels of the bottleneck of the squeeze-and-excite block.
    pub squeezed: Option<i32>,
}

impl Layers<'_> {
    /// Multiplies each channel with a gate that depends on all pixels; `hard` selects the hard sigmoid.
    pub fn squeeze_excite(&mut self, x: TensorIdx, squeezed: i32, hard: bool) -> TensorIdx {
        let channels = self.channels(x);
        let pooled = self.global_pool(x);
        let hidden = self.pointwise(pooled, squeezed, N::Relu);
        let scores = self.pointwise(hidden, channels, N::None);
        let name = self.name("gate");
        let gate = if hard {
            self.hard_sigmoid(&name, scores)
        } else {
            self.builder.logistic(&name, scores)
        };
        self.mul(x, gate)
    }

    /// `relu6(x + 3) / 6`, as in Keras.
    fn hard_sigmoid(&mut self, name: &str, x: TensorIdx) -> TensorIdx {
        let builder = &mut self.builder;
        let three = builder.scalar("three", 3.0);
        let shifted = builder.add(&format!("{name}/shifted"), x, three);
        let clipped = builder.relu6(&format!("{name}/relu6"), shifted);
        let sixth = builder.scalar("sixth", 1.0 / 6.0);
        builder.mul(name, clipped, sixth)
    }

    pub fn inverted_residual(&mut self, x: TensorIdx, block: InvertedResidual) -> TensorIdx {
        let n = block.nonlinearity;
        let mut y = x;
        if block.expanded != self.channels(x) {
            y = self.pointwise(y, block.expanded, n);
        }
        y = self.depthwise(y, block.kernel, block.stride, n);
        if let Some(squeezed) = block.squeezed {
            y = self.squeeze_excite(y, squeezed, n == N::HardSwish || n == N::Relu);
        }
        y = self.pointwise(y, block.channels, N::None);
        if block.stride == 1 && block.channels == self.channels(x) {
            self.add(x, y)
        } else {
            y
        }
    }
}
