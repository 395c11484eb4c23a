//! An operation on the multipliers: kind, shapes and window.

use super::geometry::{Hwc, IfmOfm};

/// Bytes of bias and scale of an output channel in the weight stream.
pub(super) const SCALE_BYTES: i64 = 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    Convolution,
    Depthwise,
    /// FULLY_CONNECTED.
    VectorProduct,
    /// Product of two feature maps (BATCH_MATMUL).
    MatrixProduct,
    /// Average pooling, or a pass over single positions.
    Pooling,
    MaxPooling,
    /// Max pooling of REDUCE_MAX and similar operators, which is written as slowly as average pooling.
    Maximum,
    /// A copy: pooling of single positions, with different blocks.
    Copy,
    /// Sum over the channels.
    ReduceSum,
}

impl Kind {
    /// Whether each output channel depends on one input channel only.
    pub fn is_by_channel(self) -> bool {
        self == Kind::Depthwise || self.is_pooling()
    }

    pub fn is_maximum(self) -> bool {
        matches!(self, Kind::MaxPooling | Kind::Maximum)
    }

    pub fn is_pooling(self) -> bool {
        self.is_maximum() || matches!(self, Kind::Pooling | Kind::Copy)
    }

    pub fn has_weights(self) -> bool {
        matches!(
            self,
            Kind::Convolution | Kind::Depthwise | Kind::VectorProduct
        )
    }
}

/// The order of height, width and channels if they are not permuted.
pub const UNCHANGED: [usize; 3] = [0, 1, 2];

/// Shapes and window of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Layer {
    pub kind: Kind,
    pub ifm: Hwc,
    pub ofm: Hwc,
    /// Height and width of the kernel.
    pub kernel: [i64; 2],
    pub stride: [i64; 2],
    pub dilation: [i64; 2],
    /// Factor by which the IFM is enlarged while it is read.
    pub upscale: i64,
    /// Whether the 2:4 sparsity of Ethos-U85 applies: at most 2 of 4 input channels have weights.
    pub is_sparse: bool,
    /// Passes of the output stage over 8-bit elements for operations that are chained to it.
    pub n_chained_passes: i64,
    /// The dimension (height, width or channels) that comes first, second and third in memory.
    pub order: [usize; 3],
    /// The dimension along which the OFM is written in reverse.
    pub reversed: Option<u8>,
    /// Whether its output goes through a lookup table.
    pub has_table: bool,
    /// Whether IFM and OFM are NHCWB16.
    pub is_brick: IfmOfm<bool>,
    /// Bytes of an element of IFM and OFM.
    pub element_bytes: IfmOfm<i64>,
}

impl Layer {
    /// A pass over single positions of feature maps that are not NHCWB16.
    pub fn single_positions(kind: Kind, ifm: Hwc, ofm: Hwc, element_bytes: IfmOfm<i64>) -> Self {
        Self {
            kind,
            ifm,
            ofm,
            kernel: [1; 2],
            stride: [1; 2],
            dilation: [1; 2],
            upscale: 1,
            is_sparse: false,
            n_chained_passes: 0,
            order: UNCHANGED,
            reversed: None,
            has_table: false,
            is_brick: IfmOfm::both(false),
            element_bytes,
        }
    }

    /// Positions that an IFM enlarged by its nearest values adds to each side of a block before it is divided by the
    /// factor. TRANSPOSE_CONV, the only convolution that enlarges its IFM, does so with zeros.
    pub fn rounding(&self) -> i64 {
        i64::from(self.upscale > 1 && self.kind.is_by_channel())
    }

    pub fn dilated_kernel(&self, axis: usize) -> i64 {
        (self.kernel[axis] - 1) * self.dilation[axis] + 1
    }

    /// Whether height and width change their order, which the output stage does at half its rate.
    pub fn exchanges_height_and_width(&self) -> bool {
        let place = |dimension: usize| self.order.iter().position(|&one| one == dimension);
        place(0) > place(1)
    }

    /// Whether a transposition of the OFM moves the channels, so that the operation cannot be divided into slices of them.
    pub fn moves_channels(&self) -> bool {
        self.order[2] != 2
    }

    /// Number of channels that are computed, if `ofm` is the shape after the transposition.
    pub fn computed_channels(&self) -> i64 {
        let place = self.order.iter().position(|&dimension| dimension == 2);
        self.ofm[place.unwrap_or(2)]
    }

    /// Whether the OFM is a single row, for which the multipliers can compute four positions at a time.
    pub fn is_row(&self) -> bool {
        self.ofm[0] == 1 && self.kernel[0] == 1
    }

    /// Whether the output stage writes at half its rate: with height and width in the other order, or with reversed
    /// columns.
    pub fn is_written_slowly(&self) -> bool {
        self.exchanges_height_and_width() || self.reversed == Some(1)
    }

    /// The layer for some rows of the OFM and the IFM rows that they need.
    pub fn with_rows(mut self, rows: i64) -> Self {
        let needed = (rows - 1) * self.stride[0] + self.dilated_kernel(0);
        let needed = (needed + self.upscale - 1) / self.upscale;
        self.ofm[0] = rows;
        self.ifm[0] = needed.min(self.ifm[0]);
        self
    }

    /// The layer for some of the output channels. Also where each of them has one input channel, all of these count.
    pub fn with_depth(mut self, depth: i64) -> Self {
        self.ofm[2] = depth;
        self
    }
}
