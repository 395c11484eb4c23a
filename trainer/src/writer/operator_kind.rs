//! [`OperatorKind`]: what an operator computes.

use litecast::formats::tflite::{Activation, Padding};

/// The operator with its builtin options; pairs are `[height, width]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OperatorKind {
    Abs,
    Add {
        activation: Activation,
    },
    ArgMax,
    AveragePool2D {
        filter: [i32; 2],
        stride: [i32; 2],
        padding: Padding,
    },
    BatchMatMul {
        adj_y: bool,
    },
    Compare(Comparison),
    Concatenation {
        axis: i32,
    },
    Conv2D {
        stride: [i32; 2],
        padding: Padding,
        dilation: [i32; 2],
        activation: Activation,
    },
    DepthToSpace {
        block: i32,
    },
    DepthwiseConv2D {
        stride: [i32; 2],
        padding: Padding,
        dilation: [i32; 2],
        multiplier: i32,
        activation: Activation,
    },
    /// The custom operator that decodes boxes and suppresses all but the best ones.
    DetectionPostprocess,
    Elu,
    Exp,
    ExpandDims,
    FullyConnected {
        keep_num_dims: bool,
        activation: Activation,
    },
    Gather {
        axis: i32,
    },
    /// `approximate` selects the tanh formula.
    Gelu {
        approximate: bool,
    },
    /// CONV_2D whose filters read only a part of the channels.
    GroupedConv2D {
        stride: [i32; 2],
        padding: Padding,
        activation: Activation,
    },
    HardSwish,
    LeakyRelu {
        slope_permille: u32,
    },
    Log,
    Logical(Logic),
    LogicalNot,
    Logistic,
    Maximum,
    MaxPool2D {
        filter: [i32; 2],
        stride: [i32; 2],
        padding: Padding,
    },
    Mean {
        keep_dims: bool,
    },
    Minimum,
    MirrorPad {
        reflect: bool,
    },
    Mul,
    Neg,
    Pack {
        axis: i32,
        n: i32,
    },
    Pad,
    PadV2,
    Prelu,
    Quantize,
    ReduceAll {
        keep_dims: bool,
    },
    ReduceAny {
        keep_dims: bool,
    },
    ReduceMax {
        keep_dims: bool,
    },
    ReduceMin {
        keep_dims: bool,
    },
    Relu,
    Relu0To1,
    Relu6,
    ReluN1To1,
    Reshape {
        new_shape: Vec<i32>,
    },
    ResizeBilinear {
        sampling: Sampling,
    },
    ResizeNearestNeighbor {
        sampling: Sampling,
    },
    ReverseV2,
    Rsqrt,
    Select,
    SelectV2,
    Slice,
    Softmax,
    Split {
        n: i32,
    },
    SplitV {
        n: i32,
    },
    SquaredDifference,
    Squeeze {
        axis: i32,
    },
    StridedSlice {
        shrink_axis_mask: i32,
    },
    Sub,
    Sum {
        keep_dims: bool,
    },
    /// With a fused ReLU.
    Svdf {
        rank: i32,
    },
    Tanh,
    Tile,
    Transpose,
    TransposeConv {
        stride: [i32; 2],
        padding: Padding,
    },
    UnidirectionalSequenceLstm,
    Unpack {
        axis: i32,
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

    /// Whether integer kernels support any output scale, independent of the scales of the inputs.
    pub fn writes_any_scale(&self) -> bool {
        use OperatorKind as K;
        matches!(
            self,
            K::Add { .. }
                | K::Sub
                | K::Mul
                | K::SquaredDifference
                | K::BatchMatMul { .. }
                | K::Conv2D { .. }
                | K::GroupedConv2D { .. }
                | K::DepthwiseConv2D { .. }
                | K::TransposeConv { .. }
                | K::FullyConnected { .. }
                | K::Sum { .. }
                | K::LeakyRelu { .. }
                | K::Prelu
                | K::Elu
                | K::HardSwish
                | K::Gelu { .. }
                | K::Quantize
        )
    }
}

/// The position of a resized pixel's sources, as in TensorFlow 1 and 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sampling {
    Plain,
    HalfPixelCenters,
}

/// Which comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Comparison {
    Equal,
    NotEqual,
    Greater,
    GreaterEqual,
    Less,
    LessEqual,
}

/// Which logical operator of two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Logic {
    And,
    Or,
}
