//! The operators that the accelerators run, a row each: what a row leaves out does not compile.

use std::ops::Range;

use super::npu::Npu;
use crate::formats::tflite::{OpKind, TensorType};
use crate::target::Place;
use crate::targets::ethos_u::program::Arithmetic;

/// What is decided of each operator of Vela's list.
#[derive(Clone, Debug)]
pub struct Listed {
    pub kind: ListedKind,
    pub on: On,
    pub types: Types,
    pub maps: Maps,
    pub scale: Scale,
    /// Positions of the inputs that have to be constants.
    pub constants: Range<usize>,
    pub size: Size,
    pub check: Check,
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

/// In which element types feature maps may be beside integers of 8 and 16 bits and, on Ethos-U85, integers of 32 bits and
/// truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Types {
    Narrow,
    /// Integers of 32 bits on Ethos-U55 and U65 as well.
    Wide,
    /// Integers of 64 bits on Ethos-U85, because they are only moved.
    Moved,
    /// What [`Wide`](Self::Wide) and [`Moved`](Self::Moved) add.
    WideMoved,
    /// Integers of 32 bits, and of 64 as results.
    Indices,
    /// Integers of 64 bits as results on Ethos-U85.
    Converted,
    /// Variables, on Ethos-U85.
    Variable,
    /// No others than these.
    Only(&'static [TensorType]),
}

impl Types {
    pub fn contain(self, tensor_type: TensorType, npu: Npu, place: Place) -> bool {
        use TensorType::*;
        let is_u85 = npu == Npu::EthosU85;
        let is_result = matches!(place, Place::Output(_));
        let (is_wide, is_long) = match self {
            Self::Only(types) => return types.contains(&tensor_type),
            Self::Narrow | Self::Variable => (is_u85, false),
            Self::Wide => (true, false),
            Self::Moved => (is_u85, is_u85),
            Self::WideMoved => (true, is_u85),
            Self::Indices => (true, is_result),
            Self::Converted => (is_u85, is_u85 && is_result),
        };
        match tensor_type {
            Int8 | UInt8 | Int16 => true,
            Int32 => is_wide,
            Int64 => is_long,
            Bool => is_u85,
            Resource => is_u85 && self == Self::Variable,
            _ => false,
        }
    }
}

/// Which inputs are feature maps, and no weights, bias or parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maps {
    First,
    Second,
    Third,
    Every,
}

/// What scales and zero points of feature maps have to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// There is a scale, and zero points are in range.
    Scaled,
    /// There is a scale, and zero points do not matter.
    AnyZero,
    /// There is a scale, and all are those of the output: stored values are compared.
    Alike,
    /// A scale may be missing where values are moved or chosen; zero points are in range.
    Free,
}

/// Which feature maps tell how often the operations of a shape beyond the limits of the registers run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    Output,
    /// It reads all of each input.
    AllInputs,
}

/// What is demanded of shapes and operands beyond what the options tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    Nothing,
    /// Weights, which are input 1, and the bias.
    Weights,
    /// The strides of a slice.
    Slice,
    Scatter,
    Recurrent,
    /// What a table that is made from the scales demands.
    Table,
    Resize,
    Gather,
    Softmax,
    Mean,
    ArgMax,
    Transpose,
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
    ($($kind:ident: $on:ident, $types:expr, $maps:ident, $scale:ident, $constants:expr, $size:ident, $check:ident,
       $operation:expr;)*) => {
        /// The kinds that have a row, for rules that decide each of them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ListedKind {
            $($kind,)*
        }

        /// The row of a kind; `None` if no accelerator runs it.
        pub fn listed(kind: OpKind) -> Option<Listed> {
            use OneOperation::*;
            use TensorType::{Int8, Int16, UInt8};
            use Types::*;
            match kind {
                $(OpKind::$kind => Some(Listed {
                    kind: ListedKind::$kind,
                    on: On::$on,
                    types: $types,
                    maps: Maps::$maps,
                    scale: Scale::$scale,
                    constants: $constants,
                    size: Size::$size,
                    check: Check::$check,
                    operation: $operation,
                }),)*
                _ => None,
            }
        }
    };
}

// Kind: accelerators, types of maps, inputs that are maps, scale, constants, size, what is checked, operation.
list! {
    Abs:                        All, Narrow,                      First,  Scaled,  0..0, Output,    Nothing,   Unary;
    Add:                        All, Wide,                        Every,  Scaled,  0..0, Output,    Nothing,   Binary(Arithmetic::Sum);
    ArgMax:                     All, Indices,                     First,  Free,    0..0, AllInputs, ArgMax,    Other;
    AssignVariable:             U85, Variable,                    First,  Free,    0..0, AllInputs, Nothing,   Other;
    AveragePool2d:              All, Narrow,                      First,  AnyZero, 0..0, AllInputs, Nothing,   Layer;
    BatchMatmul:                All, Narrow,                      Every,  Scaled,  0..0, AllInputs, Nothing,   Other;
    Cast:                       U85, Converted,                   First,  Scaled,  0..0, Output,    Nothing,   Other;
    Concatenation:              All, Moved,                       Every,  Scaled,  0..0, Output,    Nothing,   Concat;
    Conv2d:                     All, Narrow,                      First,  Scaled,  2..3, AllInputs, Weights,   Layer;
    DepthwiseConv2d:            All, Narrow,                      First,  Scaled,  2..3, AllInputs, Weights,   Layer;
    Div:                        U85, Narrow,                      Every,  AnyZero, 0..0, Output,    Nothing,   Binary(Arithmetic::Other);
    Elu:                        All, Only(&[Int8]),               First,  Scaled,  0..0, Output,    Table,     Table;
    Equal:                      U85, Narrow,                      Every,  Scaled,  0..0, Output,    Nothing,   Binary(Arithmetic::Other);
    Exp:                        All, Narrow,                      First,  Scaled,  0..0, Output,    Nothing,   Table;
    ExpandDims:                 All, WideMoved,                   First,  Free,    0..0, Output,    Nothing,   View;
    FullyConnected:             All, Wide,                        First,  Scaled,  2..3, AllInputs, Weights,   Layer;
    Gather:                     U85, Narrow,                      Every,  Free,    0..0, Output,    Gather,    Other;
    Gelu:                       All, Only(&[Int8, UInt8]),        First,  Scaled,  0..0, Output,    Table,     Table;
    Greater:                    U85, Narrow,                      Every,  Scaled,  0..0, Output,    Nothing,   Binary(Arithmetic::Other);
    GreaterEqual:               U85, Narrow,                      Every,  Scaled,  0..0, Output,    Nothing,   Binary(Arithmetic::Other);
    HardSwish:                  All, Narrow,                      First,  Scaled,  0..0, Output,    Nothing,   Table;
    LeakyRelu:                  All, Narrow,                      First,  Scaled,  0..0, Output,    Nothing,   Table;
    Less:                       U85, Narrow,                      Every,  Scaled,  0..0, Output,    Nothing,   Binary(Arithmetic::Other);
    LessEqual:                  U85, Narrow,                      Every,  Scaled,  0..0, Output,    Nothing,   Binary(Arithmetic::Other);
    Log:                        All, Only(&[Int8, Int16]),        First,  Scaled,  0..0, Output,    Table,     Table;
    LogicalAnd:                 U85, Narrow,                      Every,  Scaled,  0..0, Output,    Nothing,   Binary(Arithmetic::Other);
    LogicalNot:                 U85, Narrow,                      First,  Scaled,  0..0, Output,    Nothing,   Unary;
    LogicalOr:                  U85, Narrow,                      Every,  Scaled,  0..0, Output,    Nothing,   Binary(Arithmetic::Other);
    Logistic:                   All, Narrow,                      First,  Scaled,  0..0, Output,    Nothing,   Table;
    MaxPool2d:                  All, Narrow,                      First,  Scaled,  0..0, AllInputs, Nothing,   Layer;
    Maximum:                    All, Narrow,                      Every,  Alike,   0..0, Output,    Nothing,   Binary(Arithmetic::Other);
    Mean:                       All, Only(&[Int8, UInt8, Int16]), First,  Scaled,  1..2, AllInputs, Mean,      Other;
    Minimum:                    All, Narrow,                      Every,  Alike,   0..0, Output,    Nothing,   Binary(Arithmetic::Other);
    MirrorPad:                  All, WideMoved,                   First,  Free,    1..2, Output,    Nothing,   Other;
    Mul:                        All, Wide,                        Every,  Scaled,  0..0, Output,    Nothing,   Binary(Arithmetic::Product);
    Neg:                        All, Wide,                        First,  Scaled,  0..0, Output,    Nothing,   Unary;
    NotEqual:                   U85, Narrow,                      Every,  Scaled,  0..0, Output,    Nothing,   Binary(Arithmetic::Other);
    Pack:                       All, Moved,                       Every,  Scaled,  0..0, Output,    Nothing,   Concat;
    Pad:                        All, Moved,                       First,  Free,    1..2, Output,    Nothing,   Pad;
    Padv2:                      All, Moved,                       First,  Free,    1..3, Output,    Nothing,   Other;
    Prelu:                      All, Narrow,                      First,  Scaled,  0..0, Output,    Nothing,   Binary(Arithmetic::Other);
    Quantize:                   All, Narrow,                      First,  Free,    0..0, Output,    Nothing,   Requantise;
    ReadVariable:               U85, Variable,                    First,  Free,    0..0, Output,    Nothing,   Other;
    ReduceAll:                  U85, Narrow,                      First,  Free,    0..0, AllInputs, Nothing,   Other;
    ReduceAny:                  U85, Narrow,                      First,  Free,    0..0, AllInputs, Nothing,   Other;
    ReduceMax:                  All, Narrow,                      First,  Scaled,  0..0, AllInputs, Nothing,   Other;
    ReduceMin:                  All, Narrow,                      First,  Scaled,  0..0, AllInputs, Nothing,   Other;
    Relu:                       All, Narrow,                      First,  Scaled,  0..0, Output,    Nothing,   Clamp;
    Relu0To1:                   All, Narrow,                      First,  Scaled,  0..0, Output,    Nothing,   Clamp;
    Relu6:                      All, Narrow,                      First,  Scaled,  0..0, Output,    Nothing,   Clamp;
    ReluN1To1:                  All, Narrow,                      First,  Scaled,  0..0, Output,    Nothing,   Clamp;
    Reshape:                    All, WideMoved,                   First,  Scaled,  0..0, Output,    Nothing,   View;
    ResizeBilinear:             All, Narrow,                      First,  AnyZero, 0..0, Output,    Resize,    Other;
    ResizeNearestNeighbor:      All, Narrow,                      First,  AnyZero, 0..0, Output,    Resize,    Other;
    ReverseV2:                  U85, Moved,                       First,  Scaled,  0..0, Output,    Nothing,   Other;
    Rsqrt:                      All, Only(&[Int8, Int16]),        First,  Scaled,  0..0, Output,    Nothing,   Table;
    ScatterNd:                  U85, Moved,                       First,  Free,    0..0, Output,    Scatter,   Other;
    Select:                     U85, Narrow,                      Every,  Free,    0..0, Output,    Nothing,   Other;
    SelectV2:                   U85, Narrow,                      Every,  Free,    0..0, Output,    Nothing,   Other;
    Slice:                      All, Moved,                       First,  Scaled,  1..3, Output,    Nothing,   Slice;
    Softmax:                    All, Narrow,                      First,  Scaled,  0..0, Output,    Softmax,   Other;
    Split:                      All, Moved,                       Second, Scaled,  0..0, Output,    Nothing,   Slice;
    SplitV:                     All, Moved,                       First,  Scaled,  0..0, Output,    Nothing,   Slice;
    SquaredDifference:          All, Narrow,                      Every,  Scaled,  0..0, Output,    Nothing,   Binary(Arithmetic::Other);
    Squeeze:                    All, WideMoved,                   First,  Scaled,  0..0, Output,    Nothing,   View;
    StridedSlice:               All, Moved,                       First,  Scaled,  1..4, Output,    Slice,     Slice;
    Sub:                        All, Wide,                        Every,  Scaled,  0..0, Output,    Nothing,   Binary(Arithmetic::Sum);
    Sum:                        All, Wide,                        First,  Scaled,  0..0, AllInputs, Nothing,   Other;
    Tanh:                       All, Narrow,                      First,  Scaled,  0..0, Output,    Nothing,   Table;
    Tile:                       All, Moved,                       First,  Scaled,  0..0, Output,    Nothing,   Other;
    Transpose:                  All, WideMoved,                   First,  Free,    1..2, Output,    Transpose, Other;
    TransposeConv:              All, Narrow,                      Third,  Scaled,  3..4, AllInputs, Weights,   Other;
    UnidirectionalSequenceLstm: All, Narrow,                      First,  AnyZero, 0..0, Output,    Recurrent, Other;
    Unpack:                     All, Moved,                       First,  Scaled,  0..0, Output,    Nothing,   Slice;
}
