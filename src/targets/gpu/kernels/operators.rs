//! Groups of operators that become kernels in the same way.

use crate::formats::tflite::{OpKind, OperatorCode};

/// A set of operators. Operators of frameworks that TFLite does not have are custom operators here.
pub struct Operators {
    builtin: &'static [OpKind],
    custom: &'static [&'static str],
}

impl Operators {
    pub fn contains(&self, code: &OperatorCode) -> bool {
        match &code.custom {
            Some(name) => self.custom.contains(&&**name),
            None => self.builtin.contains(&code.kind),
        }
    }
}

/// Operators whose output is their first input under another name or in another order. A framework copies
/// only where the next kernel needs it.
pub const VIEWS: Operators = Operators {
    builtin: &[
        OpKind::Reshape,
        OpKind::Transpose,
        OpKind::StridedSlice,
        OpKind::Slice,
        OpKind::Split,
        OpKind::SplitV,
        OpKind::Unpack,
        OpKind::Squeeze,
        OpKind::ExpandDims,
        OpKind::Shape,
        OpKind::Cast,
        OpKind::BroadcastTo,
        OpKind::Quantize,
        OpKind::Dequantize,
    ],
    custom: &["IDENTITY"],
};

/// Operators whose kernels in a framework pad their input themselves. TFLite can express only some paddings; others
/// become a `PAD`.
pub const PADDING: &[OpKind] = &[
    OpKind::AveragePool2d,
    OpKind::Conv2d,
    OpKind::Conv3d,
    OpKind::DepthwiseConv2d,
    OpKind::MaxPool2d,
];

pub const UNARY: Operators = Operators {
    builtin: &[
        OpKind::Abs,
        OpKind::Cos,
        OpKind::Elu,
        OpKind::Exp,
        OpKind::Floor,
        OpKind::Gelu,
        OpKind::HardSwish,
        OpKind::LeakyRelu,
        OpKind::Log,
        OpKind::Logistic,
        OpKind::Neg,
        OpKind::Prelu,
        OpKind::Relu,
        OpKind::Relu6,
        OpKind::Relu0To1,
        OpKind::ReluN1To1,
        OpKind::Round,
        OpKind::Rsqrt,
        OpKind::Sign,
        OpKind::Sin,
        OpKind::Sqrt,
        OpKind::Square,
        OpKind::Tanh,
    ],
    custom: &["ERF", "HARD_SIGMOID", "MISH", "RECIPROCAL", "SOFTPLUS"],
};

pub const BINARY: Operators = Operators {
    builtin: &[
        OpKind::Add,
        OpKind::Div,
        OpKind::Maximum,
        OpKind::Minimum,
        OpKind::Mul,
        OpKind::Pow,
        OpKind::Select,
        OpKind::SelectV2,
        OpKind::SquaredDifference,
        OpKind::Sub,
    ],
    custom: &["ADDCMUL"],
};

pub const REDUCTIONS: Operators = Operators {
    builtin: &[
        OpKind::Mean,
        OpKind::ReduceMax,
        OpKind::ReduceMin,
        OpKind::ReduceProd,
        OpKind::Sum,
    ],
    custom: &["L2_NORM", "VARIANCE", "ONNX:ReduceL2"],
};

pub const NORMALISATIONS: Operators = Operators {
    builtin: &[OpKind::L2Normalization],
    custom: &[
        "GROUP_NORMALIZATION",
        "INSTANCE_NORMALIZATION",
        "LAYER_NORMALIZATION",
        "RMS_NORMALIZATION",
    ],
};

/// Normalisations of groups of channels over all positions, which are few and long.
pub const NORMALISATIONS_OF_MAPS: &[&str] = &["GROUP_NORMALIZATION", "INSTANCE_NORMALIZATION"];

/// Operators that a decomposed normalisation consists of.
pub const OF_NORMALISATIONS: Operators = Operators {
    builtin: &[
        OpKind::Abs,
        OpKind::Add,
        OpKind::Div,
        OpKind::Maximum,
        OpKind::Mean,
        OpKind::Mul,
        OpKind::Pow,
        OpKind::ReduceMax,
        OpKind::Rsqrt,
        OpKind::Sqrt,
        OpKind::Square,
        OpKind::SquaredDifference,
        OpKind::Sub,
        OpKind::Sum,
    ],
    custom: &["L2_NORM", "ONNX:ReduceL2", "RECIPROCAL", "VARIANCE"],
};
