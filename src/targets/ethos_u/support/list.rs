//! The operators that the accelerators run, a row each: what a row leaves out does not compile.

use std::ops::Range;

use super::npu::Npu;
use crate::formats::tflite::OpKind;
use crate::targets::ethos_u::program::Arithmetic;

/// What is decided of each operator of Vela's list.
#[derive(Clone, Debug)]
pub struct Listed {
    pub on: On,
    pub width: Width,
    pub maps: Maps,
    pub scale: Scale,
    /// Positions of the inputs that have to be constants.
    pub constants: Range<usize>,
    pub size: Size,
    pub operation: OneOperation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    All,
    U85,
}

impl On {
    pub fn contains(self, npu: Npu) -> bool {
        match self {
            Self::All => true,
            Self::U85 => npu == Npu::EthosU85,
        }
    }
}

/// Whether Ethos-U55 and U65 run it on feature maps of 32 bits, as Ethos-U85 does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    Narrow,
    Wide,
}

/// Which inputs are feature maps, and no weights, bias or parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maps {
    First,
    Second,
    Third,
    Every,
}

/// Whether feature maps need a scale; it does not matter where values are moved or chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Scaled,
    Free,
}

/// Which feature maps tell how often the operations of a shape beyond the limits of the registers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Output,
    /// It reads all of each input.
    AllInputs,
}

/// What the operator is where no others replace it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OneOperation {
    /// On the multipliers, with a window, weights or both.
    Layer,
    Binary(Arithmetic),
    Unary,
    /// Looks up each element in a table.
    Table,
    Clamp,
    Requantise,
    Pad,
    Concat,
    View,
    Slice,
    /// Others replace it, or only the size of its output is known.
    Other,
}

macro_rules! list {
    ($($kind:ident: $on:ident, $width:ident, $maps:ident, $scale:ident, $constants:expr, $size:ident,
       $operation:expr;)*) => {
        /// The row of a kind; `None` if no accelerator runs it.
        pub fn listed(kind: OpKind) -> Option<Listed> {
            use OneOperation::*;
            match kind {
                $(OpKind::$kind => Some(Listed {
                    on: On::$on,
                    width: Width::$width,
                    maps: Maps::$maps,
                    scale: Scale::$scale,
                    constants: $constants,
                    size: Size::$size,
                    operation: $operation,
                }),)*
                _ => None,
            }
        }
    };
}

// Kind: accelerators, maps of 32 bits, inputs that are maps, scale, constants, size, operation.
list! {
    Abs:                        All, Narrow, First,  Scaled, 0..0, Output,    Unary;
    Add:                        All, Wide,   Every,  Scaled, 0..0, Output,    Binary(Arithmetic::Sum);
    ArgMax:                     All, Wide,   First,  Free,   0..0, AllInputs, Other;
    AssignVariable:             U85, Narrow, First,  Free,   0..0, AllInputs, Other;
    AveragePool2d:              All, Narrow, First,  Scaled, 0..0, AllInputs, Layer;
    BatchMatmul:                All, Narrow, Every,  Scaled, 0..0, AllInputs, Other;
    Cast:                       U85, Narrow, First,  Scaled, 0..0, Output,    Other;
    Concatenation:              All, Narrow, Every,  Scaled, 0..0, Output,    Concat;
    Conv2d:                     All, Narrow, First,  Scaled, 2..3, AllInputs, Layer;
    DepthwiseConv2d:            All, Narrow, First,  Scaled, 2..3, AllInputs, Layer;
    Div:                        U85, Narrow, Every,  Scaled, 0..0, Output,    Binary(Arithmetic::Other);
    Elu:                        All, Narrow, First,  Scaled, 0..0, Output,    Table;
    Equal:                      U85, Narrow, Every,  Scaled, 0..0, Output,    Binary(Arithmetic::Other);
    Exp:                        All, Narrow, First,  Scaled, 0..0, Output,    Table;
    ExpandDims:                 All, Wide,   First,  Free,   0..0, Output,    View;
    FullyConnected:             All, Wide,   First,  Scaled, 2..3, AllInputs, Layer;
    Gather:                     U85, Narrow, Every,  Free,   0..0, Output,    Other;
    Gelu:                       All, Narrow, First,  Scaled, 0..0, Output,    Table;
    Greater:                    U85, Narrow, Every,  Scaled, 0..0, Output,    Binary(Arithmetic::Other);
    GreaterEqual:               U85, Narrow, Every,  Scaled, 0..0, Output,    Binary(Arithmetic::Other);
    HardSwish:                  All, Narrow, First,  Scaled, 0..0, Output,    Table;
    LeakyRelu:                  All, Narrow, First,  Scaled, 0..0, Output,    Table;
    Less:                       U85, Narrow, Every,  Scaled, 0..0, Output,    Binary(Arithmetic::Other);
    LessEqual:                  U85, Narrow, Every,  Scaled, 0..0, Output,    Binary(Arithmetic::Other);
    Log:                        All, Narrow, First,  Scaled, 0..0, Output,    Table;
    LogicalAnd:                 U85, Narrow, Every,  Scaled, 0..0, Output,    Binary(Arithmetic::Other);
    LogicalNot:                 U85, Narrow, First,  Scaled, 0..0, Output,    Unary;
    LogicalOr:                  U85, Narrow, Every,  Scaled, 0..0, Output,    Binary(Arithmetic::Other);
    Logistic:                   All, Narrow, First,  Scaled, 0..0, Output,    Table;
    MaxPool2d:                  All, Narrow, First,  Scaled, 0..0, AllInputs, Layer;
    Maximum:                    All, Narrow, Every,  Scaled, 0..0, Output,    Binary(Arithmetic::Other);
    Mean:                       All, Narrow, First,  Scaled, 1..2, AllInputs, Other;
    Minimum:                    All, Narrow, Every,  Scaled, 0..0, Output,    Binary(Arithmetic::Other);
    MirrorPad:                  All, Wide,   First,  Free,   1..2, Output,    Other;
    Mul:                        All, Wide,   Every,  Scaled, 0..0, Output,    Binary(Arithmetic::Product);
    Neg:                        All, Wide,   First,  Scaled, 0..0, Output,    Unary;
    NotEqual:                   U85, Narrow, Every,  Scaled, 0..0, Output,    Binary(Arithmetic::Other);
    Pack:                       All, Narrow, Every,  Scaled, 0..0, Output,    Concat;
    Pad:                        All, Narrow, First,  Free,   1..2, Output,    Pad;
    Padv2:                      All, Narrow, First,  Free,   1..3, Output,    Other;
    Prelu:                      All, Narrow, First,  Scaled, 0..0, Output,    Binary(Arithmetic::Other);
    Quantize:                   All, Narrow, First,  Free,   0..0, Output,    Requantise;
    ReadVariable:               U85, Narrow, First,  Free,   0..0, Output,    Other;
    ReduceAll:                  U85, Narrow, First,  Free,   0..0, AllInputs, Other;
    ReduceAny:                  U85, Narrow, First,  Free,   0..0, AllInputs, Other;
    ReduceMax:                  All, Narrow, First,  Scaled, 0..0, AllInputs, Other;
    ReduceMin:                  All, Narrow, First,  Scaled, 0..0, AllInputs, Other;
    Relu:                       All, Narrow, First,  Scaled, 0..0, Output,    Clamp;
    Relu0To1:                   All, Narrow, First,  Scaled, 0..0, Output,    Clamp;
    Relu6:                      All, Narrow, First,  Scaled, 0..0, Output,    Clamp;
    ReluN1To1:                  All, Narrow, First,  Scaled, 0..0, Output,    Clamp;
    Reshape:                    All, Wide,   First,  Scaled, 0..0, Output,    View;
    ResizeBilinear:             All, Narrow, First,  Scaled, 0..0, Output,    Other;
    ResizeNearestNeighbor:      All, Narrow, First,  Scaled, 0..0, Output,    Other;
    ReverseV2:                  U85, Narrow, First,  Scaled, 0..0, Output,    Other;
    Rsqrt:                      All, Narrow, First,  Scaled, 0..0, Output,    Table;
    ScatterNd:                  U85, Narrow, First,  Free,   0..0, Output,    Other;
    Select:                     U85, Narrow, Every,  Free,   0..0, Output,    Other;
    SelectV2:                   U85, Narrow, Every,  Free,   0..0, Output,    Other;
    Slice:                      All, Narrow, First,  Scaled, 1..3, Output,    Slice;
    Softmax:                    All, Narrow, First,  Scaled, 0..0, Output,    Other;
    Split:                      All, Narrow, Second, Scaled, 0..0, Output,    Slice;
    SplitV:                     All, Narrow, First,  Scaled, 0..0, Output,    Slice;
    SquaredDifference:          All, Narrow, Every,  Scaled, 0..0, Output,    Binary(Arithmetic::Other);
    Squeeze:                    All, Wide,   First,  Scaled, 0..0, Output,    View;
    StridedSlice:               All, Narrow, First,  Scaled, 1..4, Output,    Slice;
    Sub:                        All, Wide,   Every,  Scaled, 0..0, Output,    Binary(Arithmetic::Sum);
    Sum:                        All, Wide,   First,  Scaled, 0..0, AllInputs, Other;
    Tanh:                       All, Narrow, First,  Scaled, 0..0, Output,    Table;
    Tile:                       All, Narrow, First,  Scaled, 0..0, Output,    Other;
    Transpose:                  All, Wide,   First,  Free,   1..2, Output,    Other;
    TransposeConv:              All, Narrow, Third,  Scaled, 3..4, AllInputs, Other;
    UnidirectionalSequenceLstm: All, Narrow, First,  Scaled, 0..0, Output,    Other;
    Unpack:                     All, Narrow, First,  Scaled, 0..0, Output,    Slice;
}
