//! An operator as the accelerator executes it.

use super::geometry::Hwc;

/// Bias and scale of an output channel.
pub(super) const SCALE_BYTES: i64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Convolution,
    Depthwise,
    /// FULLY_CONNECTED.
    VectorProduct,
    /// Of two feature maps, BATCH_MATMUL.
    MatrixProduct,
    /// Of averages, or of single positions.
    Pooling,
    MaxPooling,
    /// From one place to another: pooling of single positions, in blocks of its own.
    Copy,
    /// Over the channels.
    ReduceSum,
}

impl Kind {
    /// Whether a channel of the output depends on the same channel of the input only.
    pub fn is_by_channel(self) -> bool {
        self == Kind::Depthwise || self.is_pooling()
    }

    pub fn is_pooling(self) -> bool {
        matches!(self, Kind::Pooling | Kind::MaxPooling | Kind::Copy)
    }

    pub fn has_weights(self) -> bool {
        matches!(
            self,
            Kind::Convolution | Kind::Depthwise | Kind::VectorProduct
        )
    }
}

/// Shapes and window of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layer {
    pub kind: Kind,
    pub ifm: Hwc,
    pub ofm: Hwc,
    /// Height and width.
    pub kernel: [i64; 2],
    pub stride: [i64; 2],
    pub dilation: [i64; 2],
    /// Rows and columns that each of the input counts as.
    pub upscale: i64,
    /// Whether the accelerator skips half of the weights: of 4 input channels 2 at most have any.
    pub is_sparse: bool,
    /// What the output stage does besides for operations chained to it, in passes over 8-bit elements.
    pub n_chained_passes: i64,
    /// Whether its output is looked up in a table of activations.
    pub has_table: bool,
    /// Whether input and output lie in bricks of 16 channels, as they do inside a graph.
    pub is_brick: [bool; 2],
    /// Bytes of an element of input and output.
    pub element_bytes: [i64; 2],
}

impl Layer {
    pub fn dilated_kernel(&self, axis: usize) -> i64 {
        (self.kernel[axis] - 1) * self.dilation[axis] + 1
    }

    /// Whether a 256-MAC array can put four positions of a row beside each other.
    pub fn is_row(&self) -> bool {
        self.ofm[0] == 1 && self.kernel[0] == 1
    }

    /// The same for some rows of the output and what they need of the input.
    pub fn with_rows(mut self, rows: i64) -> Self {
        let needed = (rows - 1) * self.stride[0] + self.dilated_kernel(0);
        let needed = (needed + self.upscale - 1) / self.upscale;
        self.ofm[0] = rows;
        self.ifm[0] = needed.min(self.ifm[0]);
        self
    }

    /// The same for some of the output channels.
    pub fn with_depth(mut self, depth: i64) -> Self {
        self.ofm[2] = depth;
        if self.kind.is_by_channel() {
            self.ifm[2] = depth;
        }
        self
    }
}
