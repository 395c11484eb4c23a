//! [`OperatorKind`] → operator code and version of the schema.

use litecast::formats::tflite::schema::BuiltinOperator as Code;

use super::operator_kind::{Comparison, Logic, OperatorKind, Sampling};
use super::precision::Precision;

/// The operator's code and its first version that supports `precision` and the options that we use.
pub fn code(kind: &OperatorKind, precision: Precision) -> (Code, i32) {
    let (code, int8_version, _) = int8_code(kind);
    match precision {
        Precision::Int8 => (code, int8_version),
        Precision::Float32 => (code, float32_version(kind)),
    }
}

/// The name of the only custom operator that is written.
pub const CUSTOM_CODE: &str = "TFLite_Detection_PostProcess";

fn float32_version(kind: &OperatorKind) -> i32 {
    match kind {
        OperatorKind::FullyConnected {
            keep_num_dims: true,
            ..
        } => 5,
        OperatorKind::GroupedConv2D { .. } => 6,
        OperatorKind::DepthwiseConv2D { dilation, .. } if *dilation != [1, 1] => 2,
        OperatorKind::TransposeConv { .. } => 3,
        OperatorKind::ResizeBilinear { sampling }
        | OperatorKind::ResizeNearestNeighbor { sampling }
            if *sampling != Sampling::Plain =>
        {
            3
        }
        _ => 1,
    }
}

/// Which scale of the output integer kernels support.
#[derive(PartialEq, Eq)]
enum OutputScale {
    Any,
    /// That of the inputs, or one that the operator has.
    Kept,
}

/// The code, its first version that has int8 kernels with our options, and the scales of their outputs.
fn int8_code(kind: &OperatorKind) -> (Code, i32, OutputScale) {
    use OutputScale::{Any, Kept};
    match kind {
        OperatorKind::Abs => (Code::ABS, 2, Kept),
        OperatorKind::Add { .. } => (Code::ADD, 2, Any),
        OperatorKind::ArgMax => (Code::ARG_MAX, 2, Kept),
        OperatorKind::AveragePool2D { .. } => (Code::AVERAGE_POOL_2D, 2, Kept),
        OperatorKind::BatchMatMul { .. } => (Code::BATCH_MATMUL, 2, Any),
        OperatorKind::Compare(comparison) => (comparison_code(*comparison), 2, Kept),
        OperatorKind::Concatenation { .. } => (Code::CONCATENATION, 2, Kept),
        OperatorKind::Conv2D { .. } => (Code::CONV_2D, 3, Any),
        OperatorKind::GroupedConv2D { .. } => (Code::CONV_2D, 6, Any),
        OperatorKind::DepthToSpace { .. } => (Code::DEPTH_TO_SPACE, 1, Kept),
        OperatorKind::DepthwiseConv2D { .. } => (Code::DEPTHWISE_CONV_2D, 3, Any),
        OperatorKind::DetectionPostprocess => (Code::CUSTOM, 1, Kept),
        OperatorKind::Elu => (Code::ELU, 1, Any),
        OperatorKind::Exp => (Code::EXP, 2, Kept),
        OperatorKind::ExpandDims => (Code::EXPAND_DIMS, 1, Kept),
        OperatorKind::FullyConnected { .. } => (Code::FULLY_CONNECTED, 5, Any),
        OperatorKind::Gather { .. } => (Code::GATHER, 2, Kept),
        OperatorKind::Gelu { .. } => (Code::GELU, 2, Any),
        OperatorKind::HardSwish => (Code::HARD_SWISH, 1, Any),
        OperatorKind::LeakyRelu { .. } => (Code::LEAKY_RELU, 1, Any),
        OperatorKind::Log => (Code::LOG, 2, Kept),
        OperatorKind::Logical(Logic::And) => (Code::LOGICAL_AND, 1, Kept),
        OperatorKind::Logical(Logic::Or) => (Code::LOGICAL_OR, 1, Kept),
        OperatorKind::LogicalNot => (Code::LOGICAL_NOT, 1, Kept),
        OperatorKind::Logistic => (Code::LOGISTIC, 2, Kept),
        OperatorKind::Maximum => (Code::MAXIMUM, 2, Kept),
        OperatorKind::MaxPool2D { .. } => (Code::MAX_POOL_2D, 2, Kept),
        OperatorKind::Mean { .. } => (Code::MEAN, 2, Kept),
        OperatorKind::Minimum => (Code::MINIMUM, 2, Kept),
        OperatorKind::MirrorPad { .. } => (Code::MIRROR_PAD, 2, Kept),
        OperatorKind::Mul => (Code::MUL, 2, Any),
        OperatorKind::Neg => (Code::NEG, 1, Kept),
        OperatorKind::Pack { .. } => (Code::PACK, 2, Kept),
        OperatorKind::Pad => (Code::PAD, 2, Kept),
        OperatorKind::PadV2 => (Code::PADV2, 2, Kept),
        OperatorKind::Prelu => (Code::PRELU, 1, Any),
        OperatorKind::Quantize => (Code::QUANTIZE, 2, Any),
        OperatorKind::ReduceAll { .. } => (Code::REDUCE_ALL, 1, Kept),
        OperatorKind::ReduceAny { .. } => (Code::REDUCE_ANY, 1, Kept),
        OperatorKind::ReduceMax { .. } => (Code::REDUCE_MAX, 2, Kept),
        OperatorKind::ReduceMin { .. } => (Code::REDUCE_MIN, 2, Kept),
        OperatorKind::Relu => (Code::RELU, 2, Kept),
        OperatorKind::Relu0To1 => (Code::RELU_0_TO_1, 1, Kept),
        OperatorKind::Relu6 => (Code::RELU6, 2, Kept),
        OperatorKind::ReluN1To1 => (Code::RELU_N1_TO_1, 1, Kept),
        OperatorKind::Reshape { .. } => (Code::RESHAPE, 1, Kept),
        OperatorKind::ResizeBilinear { sampling } => {
            (Code::RESIZE_BILINEAR, resize_version(*sampling), Kept)
        }
        OperatorKind::ResizeNearestNeighbor { sampling } => (
            Code::RESIZE_NEAREST_NEIGHBOR,
            resize_version(*sampling),
            Kept,
        ),
        OperatorKind::ReverseV2 => (Code::REVERSE_V2, 1, Kept),
        OperatorKind::Rsqrt => (Code::RSQRT, 2, Kept),
        OperatorKind::Select => (Code::SELECT, 2, Kept),
        OperatorKind::SelectV2 => (Code::SELECT_V2, 1, Kept),
        OperatorKind::Slice => (Code::SLICE, 2, Kept),
        OperatorKind::Softmax => (Code::SOFTMAX, 2, Kept),
        OperatorKind::Split { .. } => (Code::SPLIT, 2, Kept),
        OperatorKind::SplitV { .. } => (Code::SPLIT_V, 2, Kept),
        OperatorKind::SquaredDifference => (Code::SQUARED_DIFFERENCE, 2, Any),
        OperatorKind::Squeeze { .. } => (Code::SQUEEZE, 1, Kept),
        OperatorKind::StridedSlice { .. } => (Code::STRIDED_SLICE, 2, Kept),
        OperatorKind::Sub => (Code::SUB, 2, Any),
        OperatorKind::Sum { .. } => (Code::SUM, 2, Any),
        OperatorKind::Svdf { .. } => (Code::SVDF, 3, Kept),
        OperatorKind::Tanh => (Code::TANH, 2, Kept),
        OperatorKind::Tile => (Code::TILE, 1, Kept),
        OperatorKind::Transpose => (Code::TRANSPOSE, 2, Kept),
        OperatorKind::TransposeConv { .. } => (Code::TRANSPOSE_CONV, 3, Any),
        OperatorKind::UnidirectionalSequenceLstm => (Code::UNIDIRECTIONAL_SEQUENCE_LSTM, 1, Kept),
        OperatorKind::Unpack { .. } => (Code::UNPACK, 2, Kept),
    }
}

fn resize_version(sampling: Sampling) -> i32 {
    match sampling {
        Sampling::Plain => 2,
        Sampling::HalfPixelCenters => 3,
    }
}

fn comparison_code(comparison: Comparison) -> Code {
    match comparison {
        Comparison::Equal => Code::EQUAL,
        Comparison::NotEqual => Code::NOT_EQUAL,
        Comparison::Greater => Code::GREATER,
        Comparison::GreaterEqual => Code::GREATER_EQUAL,
        Comparison::Less => Code::LESS,
        Comparison::LessEqual => Code::LESS_EQUAL,
    }
}

impl OperatorKind {
    /// Whether integer kernels support any output scale, independent of the scales of the inputs.
    pub fn writes_any_scale(&self) -> bool {
        int8_code(self).2 == OutputScale::Any
    }

    /// The schema's name, such as `CONV_2D`.
    pub fn name(&self) -> &'static str {
        int8_code(self)
            .0
            .variant_name()
            .expect("the schema names every code that is written")
    }
}
