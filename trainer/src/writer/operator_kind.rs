//! [`OperatorKind`]: what an operator computes.

use litecast::formats::tflite::{Activation, Padding};

/// The operator with its builtin options; pairs are `[height, width]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OperatorKind {
    /// ABS.
    Abs,
    /// ADD.
    Add {
        /// Activation fused into the operator.
        activation: Activation,
    },
    /// ARG_MAX.
    ArgMax,
    /// AVERAGE_POOL_2D.
    AveragePool2D {
        /// Rows and columns of the window.
        filter: [i32; 2],
        /// Rows and columns from one window to the next.
        stride: [i32; 2],
        /// How the sides of the input are filled.
        padding: Padding,
    },
    /// BATCH_MATMUL.
    BatchMatMul {
        /// Whether the second matrix is transposed.
        adj_y: bool,
    },
    /// One of the comparisons.
    Compare(Comparison),
    /// CONCATENATION.
    Concatenation {
        /// Axis of the input.
        axis: i32,
    },
    /// CONV_2D.
    Conv2D {
        /// Rows and columns from one window to the next.
        stride: [i32; 2],
        /// How the sides of the input are filled.
        padding: Padding,
        /// Rows and columns from one tap to the next.
        dilation: [i32; 2],
        /// Activation fused into the operator.
        activation: Activation,
    },
    /// DEPTH_TO_SPACE.
    DepthToSpace {
        /// Rows and columns that a depth is spread over.
        block: i32,
    },
    /// DEPTHWISE_CONV_2D.
    DepthwiseConv2D {
        /// Rows and columns from one window to the next.
        stride: [i32; 2],
        /// How the sides of the input are filled.
        padding: Padding,
        /// Rows and columns from one tap to the next.
        dilation: [i32; 2],
        /// Output channels for each input channel.
        multiplier: i32,
        /// Activation fused into the operator.
        activation: Activation,
    },
    /// The custom operator that decodes boxes and suppresses all but the best ones.
    DetectionPostprocess,
    /// ELU.
    Elu,
    /// EXP.
    Exp,
    /// EXPAND_DIMS.
    ExpandDims,
    /// FULLY_CONNECTED.
    FullyConnected {
        /// Whether the output has as many axes as the input.
        keep_num_dims: bool,
        /// Activation fused into the operator.
        activation: Activation,
    },
    /// GATHER.
    Gather {
        /// Axis of the input.
        axis: i32,
    },
    /// `approximate` selects the tanh formula.
    Gelu {
        /// Whether the formula with tanh is used.
        approximate: bool,
    },
    /// CONV_2D whose filters read only a part of the channels.
    GroupedConv2D {
        /// Rows and columns from one window to the next.
        stride: [i32; 2],
        /// How the sides of the input are filled.
        padding: Padding,
        /// Activation fused into the operator.
        activation: Activation,
    },
    /// HARD_SWISH.
    HardSwish,
    /// LEAKY_RELU.
    LeakyRelu {
        /// Slope below 0, in thousandths.
        slope_permille: u32,
    },
    /// LOG.
    Log,
    /// LOGICAL_AND or LOGICAL_OR.
    Logical(Logic),
    /// LOGICAL_NOT.
    LogicalNot,
    /// LOGISTIC.
    Logistic,
    /// MAXIMUM.
    Maximum,
    /// MAX_POOL_2D.
    MaxPool2D {
        /// Rows and columns of the window.
        filter: [i32; 2],
        /// Rows and columns from one window to the next.
        stride: [i32; 2],
        /// How the sides of the input are filled.
        padding: Padding,
    },
    /// MEAN.
    Mean {
        /// Whether reduced axes stay, with size 1.
        keep_dims: bool,
    },
    /// MINIMUM.
    Minimum,
    /// MIRROR_PAD.
    MirrorPad {
        /// Whether the edge itself is left out of the mirror image.
        reflect: bool,
    },
    /// MUL.
    Mul,
    /// NEG.
    Neg,
    /// PACK.
    Pack {
        /// Axis of the input.
        axis: i32,
        /// Number of parts.
        n: i32,
    },
    /// PAD.
    Pad,
    /// PADV2.
    PadV2,
    /// PRELU.
    Prelu,
    /// QUANTIZE.
    Quantize,
    /// REDUCE_ALL.
    ReduceAll {
        /// Whether reduced axes stay, with size 1.
        keep_dims: bool,
    },
    /// REDUCE_ANY.
    ReduceAny {
        /// Whether reduced axes stay, with size 1.
        keep_dims: bool,
    },
    /// REDUCE_MAX.
    ReduceMax {
        /// Whether reduced axes stay, with size 1.
        keep_dims: bool,
    },
    /// REDUCE_MIN.
    ReduceMin {
        /// Whether reduced axes stay, with size 1.
        keep_dims: bool,
    },
    /// RELU.
    Relu,
    /// RELU_0_TO_1.
    Relu0To1,
    /// RELU6.
    Relu6,
    /// RELU_N1_TO_1.
    ReluN1To1,
    /// RESHAPE.
    Reshape {
        /// Sizes of the output.
        new_shape: Vec<i32>,
    },
    /// RESIZE_BILINEAR.
    ResizeBilinear {
        /// Which points of the input are read.
        sampling: Sampling,
    },
    /// RESIZE_NEAREST_NEIGHBOR.
    ResizeNearestNeighbor {
        /// Which points of the input are read.
        sampling: Sampling,
    },
    /// REVERSE_V2.
    ReverseV2,
    /// RSQRT.
    Rsqrt,
    /// SELECT.
    Select,
    /// SELECT_V2.
    SelectV2,
    /// SLICE.
    Slice,
    /// SOFTMAX.
    Softmax,
    /// SPLIT.
    Split {
        /// Number of parts.
        n: i32,
    },
    /// SPLIT_V.
    SplitV {
        /// Number of parts.
        n: i32,
    },
    /// SQUARED_DIFFERENCE.
    SquaredDifference,
    /// SQUEEZE.
    Squeeze {
        /// Axis of the input.
        axis: i32,
    },
    /// STRIDED_SLICE.
    StridedSlice {
        /// A bit for each axis that is removed.
        shrink_axis_mask: i32,
    },
    /// SUB.
    Sub,
    /// SUM.
    Sum {
        /// Whether reduced axes stay, with size 1.
        keep_dims: bool,
    },
    /// With a fused ReLU.
    Svdf {
        /// Number of filters for each unit.
        rank: i32,
    },
    /// TANH.
    Tanh,
    /// TILE.
    Tile,
    /// TRANSPOSE.
    Transpose,
    /// TRANSPOSE_CONV.
    TransposeConv {
        /// Rows and columns from one window to the next.
        stride: [i32; 2],
        /// How the sides of the input are filled.
        padding: Padding,
    },
    /// UNIDIRECTIONAL_SEQUENCE_LSTM.
    UnidirectionalSequenceLstm,
    /// UNPACK.
    Unpack {
        /// Axis of the input.
        axis: i32,
        /// Number of parts.
        n: i32,
    },
}

/// Options with default values that were added after the hashes of stored graphs.
const UNKNOWN_DEFAULTS: [&str; 3] = [
    " { activation: None }",
    ", dilation: [1, 1]",
    ", multiplier: 1",
];

impl OperatorKind {
    /// Kind and options, for hashes.
    pub fn text(&self) -> String {
        UNKNOWN_DEFAULTS
            .iter()
            .fold(format!("{self:?}"), |text, default| {
                text.replace(default, "")
            })
    }
}

/// The position of a resized pixel's sources, as in TensorFlow 1 and 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sampling {
    /// Corners stand for areas: neither corners nor centres of pixels are aligned.
    Plain,
    /// Centres of pixels are aligned.
    HalfPixelCenters,
}

/// Which comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    /// EQUAL.
    Equal,
    /// NOT_EQUAL.
    NotEqual,
    /// GREATER.
    Greater,
    /// GREATER_EQUAL.
    GreaterEqual,
    /// LESS.
    Less,
    /// LESS_EQUAL.
    LessEqual,
}

/// Which logical operator of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Logic {
    /// LOGICAL_AND.
    And,
    /// LOGICAL_OR.
    Or,
}
