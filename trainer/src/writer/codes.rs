//! [`OperatorKind`] → operator code and version of the schema.

use litecast::formats::tflite::schema::BuiltinOperator as Code;

use super::operator_kind::{Comparison, Logic, OperatorKind, Sampling};
use super::precision::Precision;

/// The operator's code and its first version that supports `precision` and the options that we use.
pub fn code(kind: &OperatorKind, precision: Precision) -> (Code, i32) {
    let (code, int8_version) = int8_code(kind);
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

fn int8_code(kind: &OperatorKind) -> (Code, i32) {
    match kind {
        OperatorKind::Abs => (Code::ABS, 2),
        OperatorKind::Add { .. } => (Code::ADD, 2),
        OperatorKind::ArgMax => (Code::ARG_MAX, 2),
        OperatorKind::AveragePool2D { .. } => (Code::AVERAGE_POOL_2D, 2),
        OperatorKind::BatchMatMul { .. } => (Code::BATCH_MATMUL, 2),
        OperatorKind::Compare(comparison) => (comparison_code(*comparison), 2),
        OperatorKind::Concatenation { .. } => (Code::CONCATENATION, 2),
        OperatorKind::Conv2D { .. } => (Code::CONV_2D, 3),
        OperatorKind::GroupedConv2D { .. } => (Code::CONV_2D, 6),
        OperatorKind::DepthToSpace { .. } => (Code::DEPTH_TO_SPACE, 1),
        OperatorKind::DepthwiseConv2D { .. } => (Code::DEPTHWISE_CONV_2D, 3),
        OperatorKind::DetectionPostprocess => (Code::CUSTOM, 1),
        OperatorKind::Elu => (Code::ELU, 1),
        OperatorKind::Exp => (Code::EXP, 2),
        OperatorKind::ExpandDims => (Code::EXPAND_DIMS, 1),
        OperatorKind::FullyConnected { .. } => (Code::FULLY_CONNECTED, 5),
        OperatorKind::Gather { .. } => (Code::GATHER, 2),
        OperatorKind::Gelu { .. } => (Code::GELU, 2),
        OperatorKind::HardSwish => (Code::HARD_SWISH, 1),
        OperatorKind::LeakyRelu { .. } => (Code::LEAKY_RELU, 1),
        OperatorKind::Log => (Code::LOG, 2),
        OperatorKind::Logical(Logic::And) => (Code::LOGICAL_AND, 1),
        OperatorKind::Logical(Logic::Or) => (Code::LOGICAL_OR, 1),
        OperatorKind::LogicalNot => (Code::LOGICAL_NOT, 1),
        OperatorKind::Logistic => (Code::LOGISTIC, 2),
        OperatorKind::Maximum => (Code::MAXIMUM, 2),
        OperatorKind::MaxPool2D { .. } => (Code::MAX_POOL_2D, 2),
        OperatorKind::Mean { .. } => (Code::MEAN, 2),
        OperatorKind::Minimum => (Code::MINIMUM, 2),
        OperatorKind::MirrorPad { .. } => (Code::MIRROR_PAD, 2),
        OperatorKind::Mul => (Code::MUL, 2),
        OperatorKind::Neg => (Code::NEG, 1),
        OperatorKind::Pack { .. } => (Code::PACK, 2),
        OperatorKind::Pad => (Code::PAD, 2),
        OperatorKind::PadV2 => (Code::PADV2, 2),
        OperatorKind::Prelu => (Code::PRELU, 1),
        OperatorKind::Quantize => (Code::QUANTIZE, 2),
        OperatorKind::ReduceAll { .. } => (Code::REDUCE_ALL, 1),
        OperatorKind::ReduceAny { .. } => (Code::REDUCE_ANY, 1),
        OperatorKind::ReduceMax { .. } => (Code::REDUCE_MAX, 2),
        OperatorKind::ReduceMin { .. } => (Code::REDUCE_MIN, 2),
        OperatorKind::Relu => (Code::RELU, 2),
        OperatorKind::Relu0To1 => (Code::RELU_0_TO_1, 1),
        OperatorKind::Relu6 => (Code::RELU6, 2),
        OperatorKind::ReluN1To1 => (Code::RELU_N1_TO_1, 1),
        OperatorKind::Reshape { .. } => (Code::RESHAPE, 1),
        OperatorKind::ResizeBilinear { sampling } => {
            (Code::RESIZE_BILINEAR, resize_version(*sampling))
        }
        OperatorKind::ResizeNearestNeighbor { sampling } => {
            (Code::RESIZE_NEAREST_NEIGHBOR, resize_version(*sampling))
        }
        OperatorKind::ReverseV2 => (Code::REVERSE_V2, 1),
        OperatorKind::Rsqrt => (Code::RSQRT, 2),
        OperatorKind::Select => (Code::SELECT, 2),
        OperatorKind::SelectV2 => (Code::SELECT_V2, 1),
        OperatorKind::Slice => (Code::SLICE, 2),
        OperatorKind::Softmax => (Code::SOFTMAX, 2),
        OperatorKind::Split { .. } => (Code::SPLIT, 2),
        OperatorKind::SplitV { .. } => (Code::SPLIT_V, 2),
        OperatorKind::SquaredDifference => (Code::SQUARED_DIFFERENCE, 2),
        OperatorKind::Squeeze { .. } => (Code::SQUEEZE, 1),
        OperatorKind::StridedSlice { .. } => (Code::STRIDED_SLICE, 2),
        OperatorKind::Sub => (Code::SUB, 2),
        OperatorKind::Sum { .. } => (Code::SUM, 2),
        OperatorKind::Svdf { .. } => (Code::SVDF, 3),
        OperatorKind::Tanh => (Code::TANH, 2),
        OperatorKind::Tile => (Code::TILE, 1),
        OperatorKind::Transpose => (Code::TRANSPOSE, 2),
        OperatorKind::TransposeConv { .. } => (Code::TRANSPOSE_CONV, 3),
        OperatorKind::UnidirectionalSequenceLstm => (Code::UNIDIRECTIONAL_SEQUENCE_LSTM, 1),
        OperatorKind::Unpack { .. } => (Code::UNPACK, 2),
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
    /// The schema's name, such as `CONV_2D`.
    pub fn name(&self) -> &'static str {
        int8_code(self)
            .0
            .variant_name()
            .expect("the schema names every code that is written")
    }
}
