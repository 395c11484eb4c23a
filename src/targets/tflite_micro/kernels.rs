//! The kernels of TensorFlow Lite Micro, one row each: what they run, and the memory that they take.

use crate::formats::tflite::{OpKind, OperatorCode};
use crate::target::ETHOS_U;

/// A kernel: the kind or the name of its operator, its call, types, [`Counts`], constant inputs, most dimensions of
/// input 0, [`Sizes`], what it asks for while it runs, and what it demands of options, shapes and constants, and of
/// scales and zero points.
///
/// Types are alternatives of inputs and outputs, a letter each: `f` float32, `i` int8, `h` int16, `w` int32, `l` int64,
/// `v` uint32, `x` uint64, `u` uint8, `b` bool, `4` int4, `.` any. Letters in brackets are alternatives, the last input
/// stands for all further ones, and an input that is left out has every type.
pub type Kernel = (
    Of,
    &'static str,
    &'static str,
    Counts,
    &'static [usize],
    usize,
    Sizes,
    Scratch,
    &'static [Demand],
    &'static [ScaleDemand],
);

#[derive(Clone, Copy)]
pub enum Of {
    Kind(OpKind),
    Custom(&'static str),
}

/// The lowest and highest number of inputs, and the highest of outputs. They are those that the interpreter of PyPI
/// `tflite-micro` runs; a kernel that does not count its operands takes any further ones.
pub type Counts = [u8; 3];

/// No limit of [`Counts`].
pub const MORE: u8 = u8::MAX;
const ANY_NUMBER: Counts = [0, MORE, MORE];
const ONE: Counts = [1, 1, 1];
const ONE_OR_MORE: Counts = [1, MORE, MORE];
const TWO: Counts = [2, 2, 1];
const TWO_OR_MORE: Counts = [2, MORE, MORE];

/// Bytes and alignment of the options that are read from the file, and bytes of the kernel's 64-bit structure. They are those
/// that the recorder of PyPI `tflite-micro` prints for files with one to four operators of a kind, and for real files.
pub type Sizes = [u64; 3];

/// Of a kernel that was not recorded: a value between the smallest and the largest.
pub const UNRECORDED: Sizes = [0, 1, 60];

/// Which working buffers a reference kernel requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scratch {
    Nothing,
    /// Sums as 32-bit numbers where the input is quantised, and [`Indices`](Self::Indices).
    Sums,
    /// An index for each dimension, and the axes.
    Indices,
    /// One for each gate of an LSTM.
    Gates,
    TransposedSums,
    /// Two numbers for each dimension.
    Dimensions,
    /// 32-bit sums of each filter and of each unit.
    Filters,
    /// A byte for each 4-bit value of the filter.
    UnpackedFilter,
    /// A copy of the input, as long as the transform.
    Transform,
    /// Scores, boxes, and candidates of each detection by each box.
    Detections,
}

/// What a kernel demands of options, shapes and constants; `demands.rs` checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Demand {
    /// These inputs may be left out; no others may.
    Optional(&'static [usize]),
    /// Any input may be left out.
    AnyOptional,
    /// These inputs have to be left out.
    Without(&'static [usize]),
    /// Input 0 has at least as many dimensions.
    MinDimensions(usize),
    /// Inputs have at most as many dimensions where the first is of floats.
    MaxFloatDimensions(usize),
    /// An input has this number of dimensions.
    RankOf { input: usize, rank: usize },
    /// Input 0 has one dimension more than the output.
    RankAboveOutput,
    /// Weights are in an order that the schema names.
    KnownWeights,
    /// The options name types that there are.
    KnownTypes,
    /// Input 1 has two numbers for each dimension of input 0, and input 2 has one value.
    Paddings,
    /// Input 0 has one value.
    OneValue,
    /// Input 1 has two values.
    TwoSizes,
    /// `half_pixel_centers` and `align_corners` are not both set.
    CentredOrAligned,
    /// Input 0 has the axis of the options.
    AxisOption,
    /// `batch_dims` is not above the axis.
    BatchDims,
    /// Input 0 has the shape of the output.
    ShapedAsOutput,
    /// All inputs have the shape of the output.
    AllShapedAsOutput,
    /// There is no fused activation.
    NoActivation,
    /// All dimensions are named, none is added, and ends are no offsets from starts.
    WholeSlice,
    /// Constant axes lie within the dimensions of input 0, where it is of floats.
    AxesOfFloats,
    /// A constant axis lies within the dimensions of input 0.
    Axis,
    /// Input 1 has no more values than input 0 has dimensions.
    FewAxes,
    /// Constant axes lie within the dimensions of input 0, and are next to each other.
    AdjacentAxes,
    /// Constant dimensions are counted from 0, and input 0 has them.
    Permutation,
    /// Constant indices lie within the dimension of the axis.
    IndicesOfAxis,
    /// Each constant row of indices lies within the first dimensions of input 0.
    IndexRows,
    /// Constant rows lie within a table of at least two dimensions.
    Rows,
    /// Input 1 has no dimension.
    ScalarValue,
    /// The file has options of the operator.
    Options,
    /// The file has options, of which these numbers are not below 0.
    Counts(&'static [&'static str]),
    /// The options are those of the detections: as many classes as input 1 has scores of, one of which may be of none, and
    /// a threshold above 0.
    DetectionOptions,
    /// The biases of an LSTM's gates have a number for each row of their weights.
    GateBiases,
    /// The last dimension of input 0 is a multiple of the step, and a frame is no shorter than it.
    Frames,
    /// The options name the type of input 0, and a transform of a length that the kernels split.
    TransformOfType,
    /// The last dimension of input 0 is not above the length of the transform.
    WithinTransform,
}

/// What a kernel demands of the scales and zero points of operands of 8 and 16 bits; `scales.rs` checks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScaleDemand {
    /// Scales become a multiplier: they are finite and above 0.
    Positive,
    PositiveInputs,
    /// Of inputs of int8 alone.
    PositiveInt8,
    /// Scales of int8 become a multiplier below 1.
    FractionInt8,
    /// Scales of the inputs before this one are multiplied first: they are not below 0.
    NotBelowZero(usize),
    /// Input 0 has a scale.
    Stated0,
    /// Input and output have scales.
    Stated,
    /// Twice the largest scale of the inputs, as the fixed-point sum has it, is below what the output's scale stands for.
    BelowOutput,
    /// Of int8: the scale of input 0 is below 128 of the output's.
    HardSwish,
    /// Where input 0 is int16, zero points of int16 are 0.
    SymmetricInt16,
    SymmetricInt16Inputs,
    /// The output has one scale.
    OneOutputScale,
    /// A result of int16 has the scale 2^-15.
    Int16Fraction,
    /// The zero point of a result of int8 is -128.
    Logistic,
    Softmax,
    LogSoftmax,
    /// Input and output have the same zero point, and scales that differ by 10^-6 at most.
    NearOutput,
    /// Of int8: the input has the output's scale and zero point.
    InputAsOutput,
    /// Of int8: all inputs have those of the output.
    AllAsOutput,
    /// Of int8: all inputs have those of the first.
    AllAsInput,
    /// Of int8: what fills has the output's.
    FillAsOutput,
    /// The scale of the bias is the product of those of weights and state.
    SvdfBias,
    /// A filter has one scale, or one for each output channel.
    Filter,
    /// The same of a fully connected layer, where a scale may lack.
    DenseFilter,
    /// The scale of the bias is the product of those of input and weights.
    SumsAsBias,
    /// A table of int8 that becomes floats has the zero point 0.
    SymmetricTable,
}

/// Inputs of an LSTM for peepholes, projection and layer normalisation.
const LSTM_OPTIONS: [usize; 9] = [9, 10, 11, 16, 17, 20, 21, 22, 23];
/// The input of an LSTM behind those whose scales the kernel multiplies.
const LSTM_CELL_STATE: usize = 19;

/// No limit.
pub const ANY: usize = usize::MAX;

#[rustfmt::skip]
const KERNELS: &[Kernel] = {
    use Demand::*;
    use Of::{Custom, Kind};
    use OpKind::*;
    use ScaleDemand as By;
    use Scratch::{Detections, Dimensions, Filters, Gates, Indices, Nothing, Sums, Transform, TransposedSums, UnpackedFilter};
    &[
        (Kind(Abs), "Abs", "f>f i>i h>h", ONE, &[], ANY, [0, 1, 28], Nothing, &[], &[By::Stated, By::SymmetricInt16]),
        (Kind(Add), "Add", "ff>f ii>i hh>h ww>w", TWO_OR_MORE, &[], ANY, [8, 4, 60], Nothing, &[], &[By::Positive, By::BelowOutput]),
        (Kind(AddN), "AddN", "f>f i>i", [2, MORE, 1], &[], ANY, UNRECORDED, Nothing, &[AllShapedAsOutput], &[By::AllAsInput, By::Positive, By::BelowOutput]),
        (Kind(ArgMax), "ArgMax", "fw>w iw>w", TWO_OR_MORE, &[], ANY, [4, 4, 0], Nothing, &[], &[]),
        (Kind(ArgMin), "ArgMin", "fw>w iw>w", TWO_OR_MORE, &[], ANY, [4, 4, 0], Nothing, &[], &[]),
        (Kind(AssignVariable), "AssignVariable", ".", ANY_NUMBER, &[], ANY, [0, 1, 4], Nothing, &[], &[]),
        (Kind(AveragePool2d), "AveragePool2D", "f>f i>i h>h", ONE_OR_MORE, &[], 4, [40, 4, 32], Nothing, &[MinDimensions(4)], &[By::NearOutput]),
        (Kind(BatchMatmul), "BatchMatMul", "f>f i>i h>h", TWO, &[], 5, [3, 1, 27], Nothing, &[MinDimensions(2)], &[By::NotBelowZero(ANY), By::SymmetricInt16]),
        (Kind(BatchToSpaceNd), "BatchToSpaceNd", "fw>f iw>i", [3, 3, 1], &[1], 4, [0, 1, 0], Nothing, &[MinDimensions(3)], &[]),
        (Kind(BroadcastArgs), "BroadcastArgs", "w>w l>l", TWO, &[], ANY, UNRECORDED, Nothing, &[], &[]),
        (Kind(BroadcastTo), "BroadcastTo", ".[wl]>=", TWO, &[1], 5, [0, 1, 0], Nothing, &[RankOf { input: 1, rank: 1 }], &[]),
        (Kind(CallOnce), "CallOnce", ".", ANY_NUMBER, &[], ANY, [4, 4, 8], Nothing, &[], &[]),
        (Kind(Cast), "Cast", "[bfhiwv]>[bfhivw]", ONE, &[], ANY, [8, 4, 0], Nothing, &[KnownTypes], &[]),
        (Kind(Ceil), "Ceil", "f>f", ONE, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(Concatenation), "Concatenation", "b>b f>f h>h i>i l>l w>w", [1, 10, MORE], &[], ANY, [8, 4, 80], Nothing, &[NoActivation], &[By::AllAsOutput, By::SymmetricInt16]),
        (Kind(Conv2d), "Conv2D", "ff.>f ii.>i i4.>i hi[wl]>h", [2, 3, 1], &[], ANY, [28, 4, 80], UnpackedFilter, &[Optional(&[2])], &[By::Stated0, By::Filter]),
        (Kind(Cos), "Cos", "f>f", ONE, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(Cumsum), "CumSum", "fw>f iw>i", TWO, &[], ANY, [2, 1, 36], Nothing, &[ShapedAsOutput, Axis], &[By::Positive, By::BelowOutput]),
        (Kind(DepthToSpace), "DepthToSpace", "f>f i>i", ONE, &[], 4, [4, 4, 20], Nothing, &[MinDimensions(4)], &[]),
        (Kind(DepthwiseConv2d), "DepthwiseConv2D", "ff.>f ii.>i i4.>i hi.>h", [2, 3, 1], &[], ANY, [28, 4, 80], UnpackedFilter, &[], &[By::Stated0, By::Filter]),
        (Kind(Dequantize), "Dequantize", "[hiu]>f", ONE, &[], ANY, [0, 1, 32], Nothing, &[], &[]),
        (Kind(Div), "Div", "ff>f ii>i ww>w", TWO_OR_MORE, &[], ANY, [4, 4, 28], Nothing, &[], &[]),
        (Kind(DynamicUpdateSlice), "DynamicUpdateSlice", "ff[wl]>f hh[wl]>h ii[wl]>i ww[wl]>w", [3, 3, 1], &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(Elu), "Elu", "f>f i>i", ONE, &[], ANY, [0, 1, 256], Nothing, &[], &[]),
        (Kind(EmbeddingLookup), "EmbeddingLookup", "wf>f wi>[fi]", TWO, &[], ANY, UNRECORDED, Nothing, &[Rows], &[By::SymmetricTable]),
        (Kind(Equal), "Equal", "b>b f>b i>b l>b w>b", TWO_OR_MORE, &[], ANY, [0, 1, 32], Nothing, &[], &[By::FractionInt8]),
        (Kind(Exp), "Exp", "f>f", ONE, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(ExpandDims), "ExpandDims", "fw>f hw>h iw>i", TWO, &[1], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(Fill), "Fill", "[wl]f>f [wl]i>i [wl]w>w", TWO_OR_MORE, &[0], ANY, [0, 1, 0], Nothing, &[ScalarValue], &[]),
        (Kind(Floor), "Floor", "f>f", ONE_OR_MORE, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(FloorDiv), "FloorDiv", "f>f", TWO, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(FloorMod), "FloorMod", "f>f", TWO, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(FullyConnected), "FullyConnected", "ff.>f ii.>i i4.>i hi.>h", TWO_OR_MORE, &[], ANY, [32, 8, 72], UnpackedFilter, &[Optional(&[2]), KnownWeights], &[By::NotBelowZero(ANY), By::DenseFilter, By::SumsAsBias]),
        (Kind(Gather), "Gather", "fw>f iw>i", TWO, &[], ANY, [8, 4, 20], Nothing, &[AxisOption, BatchDims, IndicesOfAxis], &[]),
        (Kind(GatherNd), "GatherNd", "fw>f iw>i", TWO, &[], ANY, [0, 1, 12], Nothing, &[IndexRows], &[]),
        (Kind(Greater), "Greater", "f>b h>b i>b l>b w>b", TWO_OR_MORE, &[], ANY, [0, 1, 32], Nothing, &[], &[By::FractionInt8]),
        (Kind(GreaterEqual), "GreaterEqual", "f>b i>b l>b w>b", TWO_OR_MORE, &[], ANY, [0, 1, 32], Nothing, &[], &[By::FractionInt8]),
        (Kind(HardSwish), "HardSwish", "f>f i>i", ONE, &[], ANY, [0, 1, 20], Nothing, &[], &[By::HardSwish]),
        (Kind(If), "If", "b.>.", ONE_OR_MORE, &[], ANY, UNRECORDED, Nothing, &[OneValue], &[]),
        (Kind(L2Normalization), "L2Normalization", "f>f i>i", ONE, &[], 4, [4, 4, 4], Nothing, &[NoActivation], &[]),
        (Kind(L2Pool2d), "L2Pool2D", "f>f", ONE, &[], 4, [40, 4, 20], Nothing, &[MinDimensions(4)], &[]),
        (Kind(LeakyRelu), "LeakyRelu", "f>f h>h i>i", ONE, &[], ANY, [4, 4, 24], Nothing, &[], &[]),
        (Kind(Less), "Less", "f>b i>b l>b w>b", TWO_OR_MORE, &[], ANY, [0, 1, 32], Nothing, &[], &[By::FractionInt8]),
        (Kind(LessEqual), "LessEqual", "f>b i>b l>b w>b", TWO_OR_MORE, &[], ANY, [0, 1, 32], Nothing, &[], &[By::FractionInt8]),
        (Kind(Log), "Log", "f>f", ONE, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(LogSoftmax), "LogSoftmax", "f>f i>i", ONE, &[], ANY, [0, 1, 40], Nothing, &[ShapedAsOutput], &[By::Positive, By::LogSoftmax]),
        (Kind(LogicalAnd), "LogicalAnd", "b>b", TWO_OR_MORE, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(LogicalNot), "LogicalNot", "b>b", ONE, &[], ANY, UNRECORDED, Nothing, &[], &[]),
        (Kind(LogicalOr), "LogicalOr", "b>b", TWO_OR_MORE, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(Logistic), "Logistic", "f>f h>h i>i", ONE_OR_MORE, &[], ANY, [0, 1, 16], Nothing, &[], &[By::SymmetricInt16, By::Logistic, By::Int16Fraction]),
        (Kind(MaxPool2d), "MaxPool2D", "f>f i>i h>h", ONE_OR_MORE, &[], 4, [40, 4, 32], Nothing, &[MinDimensions(4)], &[By::NearOutput]),
        (Kind(Maximum), "Maximum", "f>f h>h i>i l>l w>w", TWO_OR_MORE, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(Mean), "Mean", "fw>f hw>h iw>i", TWO, &[], ANY, [1, 1, 44], Sums, &[AxesOfFloats], &[]),
        (Kind(Minimum), "Minimum", "f>f h>h i>i l>l w>w", TWO_OR_MORE, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(MirrorPad), "MirrorPad", "f[wl]>f i[wl]>i", TWO_OR_MORE, &[], ANY, [4, 4, 20], Dimensions, &[Paddings], &[]),
        (Kind(Mul), "Mul", "f>f h>h i>i w>w", TWO, &[], ANY, [4, 4, 36], Nothing, &[], &[By::SymmetricInt16]),
        (Kind(Neg), "Neg", "f>f", ONE_OR_MORE, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(NotEqual), "NotEqual", "b>b f>b i>b l>b w>b", TWO_OR_MORE, &[], ANY, [0, 1, 32], Nothing, &[], &[By::FractionInt8]),
        (Kind(Pack), "Pack", "f>f h>h i>i l>l w>w", ONE_OR_MORE, &[], ANY, [8, 4, 0], Nothing, &[], &[]),
        (Kind(Pad), "Pad", "fw>f hw>h iw>i ww>w", TWO, &[1], 5, [0, 1, 56], Nothing, &[Paddings], &[]),
        (Kind(Padv2), "PadV2", "fwf>f hwh>h iwi>i www>w", [2, 3, 1], &[1], 5, UNRECORDED, Nothing, &[Paddings], &[By::FillAsOutput]),
        (Kind(Prelu), "Prelu", "ff>f hi>h ii>i", TWO_OR_MORE, &[], ANY, [0, 1, 28], Nothing, &[MaxFloatDimensions(4)], &[]),
        (Kind(Quantize), "Quantize", "f>[hi] h>[hiw] i>[hiuw] u>i w>[hi]", ONE, &[], ANY, [0, 1, 32], Nothing, &[], &[By::OneOutputScale]),
        (Kind(ReadVariable), "ReadVariable", ".", ANY_NUMBER, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(ReduceAll), "ReduceAll", "bw>b", TWO, &[], ANY, [1, 1, 44], Indices, &[], &[]),
        (Kind(ReduceMax), "ReduceMax", "fw>f iw>i", TWO, &[], ANY, [1, 1, 44], Indices, &[], &[By::InputAsOutput]),
        (Kind(ReduceMin), "ReduceMin", "fw>f iw>i", TWO, &[], ANY, [1, 1, 44], Indices, &[], &[By::InputAsOutput]),
        (Kind(Relu), "Relu", "f>f h>h i>i", ONE_OR_MORE, &[], ANY, [0, 1, 28], Nothing, &[], &[By::SymmetricInt16]),
        (Kind(Relu6), "Relu6", "f>f h>h i>i", ONE_OR_MORE, &[], ANY, [0, 1, 8], Nothing, &[], &[]),
        (Kind(Reshape), "Reshape", "..>=", [1, 2, 1], &[], ANY, [36, 4, 0], Nothing, &[], &[]),
        (Kind(ResizeBilinear), "ResizeBilinear", "fw>f iw>i", TWO, &[1], 4, [2, 1, 0], Nothing, &[MinDimensions(4), TwoSizes, CentredOrAligned], &[]),
        (Kind(ResizeNearestNeighbor), "ResizeNearestNeighbor", "fw>f hw>h iw>i", TWO, &[1], 4, [2, 1, 0], Nothing, &[MinDimensions(4), TwoSizes], &[]),
        (Kind(ReverseV2), "ReverseV2", "[bfhiluw]w>=", TWO, &[], 8, [0, 1, 0], Nothing, &[RankOf { input: 1, rank: 1 }, FewAxes, AdjacentAxes], &[]),
        (Kind(Round), "Round", "f>f", ONE, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(Rsqrt), "Rsqrt", "f>f i>i h>h", ONE, &[], ANY, [0, 1, 28], Nothing, &[], &[By::Stated]),
        (Kind(SelectV2), "SelectV2", "bf>f bh>h bi>i", [3, 3, 1], &[], ANY, [0, 1, 1], Nothing, &[], &[]),
        (Kind(Shape), "Shape", ".>w", ONE, &[], ANY, [4, 4, 0], Nothing, &[KnownTypes], &[]),
        (Kind(Sin), "Sin", "f>f", ONE, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(Slice), "Slice", "[bfhiw][wl]>=", [3, 3, 1], &[], 5, [0, 1, 0], Nothing, &[], &[]),
        (Kind(Softmax), "Softmax", "f>f h>h i>[hi]", ONE, &[], ANY, [4, 4, 80], Nothing, &[MinDimensions(1)], &[By::PositiveInt8, By::SymmetricInt16Inputs, By::Softmax]),
        (Kind(SpaceToBatchNd), "SpaceToBatchNd", "fw>f iw>i", [3, 3, 1], &[1], 4, [0, 1, 4], Nothing, &[MinDimensions(3)], &[]),
        (Kind(SpaceToDepth), "SpaceToDepth", "f>f i>i", ONE, &[], 4, [4, 4, 20], Nothing, &[MinDimensions(4)], &[]),
        (Kind(Split), "Split", ".f>f .h>h .i>i .w>w", TWO_OR_MORE, &[0], ANY, [4, 4, 0], Nothing, &[], &[]),
        (Kind(SplitV), "SplitV", "f.>f h.>h i.>i w.>w", [3, 3, MORE], &[2], ANY, [4, 4, 0], Nothing, &[], &[]),
        (Kind(Sqrt), "Sqrt", "f>f", ONE, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(Square), "Square", "f>f", ONE, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Kind(SquaredDifference), "SquaredDifference", "f>f h>h i>i w>w", TWO, &[], ANY, [0, 1, 112], Nothing, &[], &[By::PositiveInputs, By::SymmetricInt16]),
        (Kind(Squeeze), "Squeeze", ".>=", ONE, &[], 8, [36, 4, 0], Nothing, &[], &[]),
        (Kind(StridedSlice), "StridedSlice", "[bfhiw]w>=", [4, 4, 1], &[1, 2, 3], 4, [24, 4, 84], Nothing, &[WholeSlice], &[]),
        (Kind(Sub), "Sub", "f>f h>h i>i w>w", TWO_OR_MORE, &[], ANY, [8, 4, 52], Nothing, &[], &[By::Positive, By::BelowOutput]),
        (Kind(Sum), "Sum", "fw>f hw>h iw>i", TWO, &[], ANY, [1, 1, 44], Sums, &[AxesOfFloats], &[]),
        (Kind(Svdf), "Svdf", "f>f ii[hi]w[hi]>i", [5, 5, 1], &[], 2, [12, 4, 36], Filters, &[], &[By::SvdfBias]),
        (Kind(Tanh), "Tanh", "f>f h>h i>i", ONE, &[], ANY, [0, 1, 16], Nothing, &[], &[By::SymmetricInt16, By::Int16Fraction]),
        (Kind(Transpose), "Transpose", "f.>f h.>h i.>i", TWO, &[1], 5, [0, 1, 0], Nothing, &[RankOf { input: 1, rank: 1 }, Permutation], &[]),
        (Kind(TransposeConv), "TransposeConv", ".ff.>f .ii.>i .ih.>h", [3, 4, 1], &[], ANY, [20, 4, 88], TransposedSums, &[Optional(&[3])], &[By::Filter]),
        (Kind(UnidirectionalSequenceLstm), "UnidirectionalSequenceLSTM", "fffffffff.>f iiiiiiiii.>i hiiiiiiii.>h", [24, 24, 1], &[], 3, [16, 4, 688], Gates, &[Without(&LSTM_OPTIONS), GateBiases], &[By::NotBelowZero(LSTM_CELL_STATE)]),
        (Kind(Unpack), "Unpack", "f>f h>h i>i w>w", ONE_OR_MORE, &[], ANY, [8, 4, 0], Nothing, &[AxisOption], &[]),
        (Kind(VarHandle), "VarHandle", ".", ANY_NUMBER, &[], ANY, [16, 8, 4], Nothing, &[], &[]),
        (Kind(While), "While", ".", ANY_NUMBER, &[], ANY, [8, 4, 8], Nothing, &[], &[]),
        (Kind(ZerosLike), "ZerosLike", "f>f i>i l>l w>w", ONE, &[], ANY, [0, 1, 0], Nothing, &[], &[]),
        (Custom("CIRCULAR_BUFFER"), "CircularBuffer", "i>i", ANY_NUMBER, &[], ANY, UNRECORDED, Nothing, &[AnyOptional, MinDimensions(4)], &[]),
        (Custom("TFLM_DECODE"), "Decode", ".", ANY_NUMBER, &[], ANY, UNRECORDED, Nothing, &[AnyOptional], &[]),
        (Custom("TFLite_Detection_PostProcess"), "DetectionPostprocess", "f>.", [3, 3, 4], &[], ANY, UNRECORDED, Detections, &[AnyOptional, RankOf { input: 0, rank: 3 }, RankOf { input: 1, rank: 3 }, DetectionOptions], &[]),
        (Custom(ETHOS_U), "EthosU", ".", ANY_NUMBER, &[], ANY, UNRECORDED, Nothing, &[AnyOptional], &[]),
        (Custom("SignalDelay"), "Delay", "h>h", ANY_NUMBER, &[], ANY, [0, 1, 32], Nothing, &[AnyOptional, Counts(&["delay_length"])], &[]),
        (Custom("SignalEnergy"), "Energy", "h>v", ANY_NUMBER, &[], 1, [0, 1, 8], Nothing, &[AnyOptional, Options], &[]),
        (Custom("SignalFftAutoScale"), "FftAutoScale", "h>h", ANY_NUMBER, &[], 1, [0, 1, 0], Nothing, &[AnyOptional], &[]),
        (Custom("SignalFilterBank"), "FilterBank", "vh>x", ANY_NUMBER, &[], 1, [0, 1, 64], Nothing, &[AnyOptional, Options], &[]),
        (Custom("SignalFilterBankLog"), "FilterBankLog", "v>h", ANY_NUMBER, &[], 1, [0, 1, 8], Nothing, &[AnyOptional, Options], &[]),
        (Custom("SignalFilterBankSpectralSubtraction"), "FilterBankSpectralSubtraction", "v>v", ANY_NUMBER, &[], 1, [0, 1, 64], Nothing, &[AnyOptional, Counts(&["num_channels"])], &[]),
        (Custom("SignalFilterBankSquareRoot"), "FilterBankSquareRoot", "xw>v", ANY_NUMBER, &[], 1, [0, 1, 0], Nothing, &[AnyOptional], &[]),
        (Custom("SignalFramer"), "Framer", "h>h", ANY_NUMBER, &[], ANY, [0, 1, 48], Nothing, &[AnyOptional, Frames], &[]),
        (Custom("SignalIrfft"), "Irfft", "f>f h>h w>w", ANY_NUMBER, &[], ANY, [0, 1, 48], Nothing, &[AnyOptional, TransformOfType], &[]),
        (Custom("SignalOverlapAdd"), "OverlapAdd", "f>f h>h", ANY_NUMBER, &[], ANY, [0, 1, 32], Nothing, &[AnyOptional, RankAboveOutput, Counts(&["frame_step"])], &[]),
        (Custom("SignalPCAN"), "PCAN", "vvh>v", ANY_NUMBER, &[], 1, [0, 1, 8], Nothing, &[AnyOptional, Options], &[]),
        (Custom("SignalRfft"), "Rfft", "f>f h>h w>w", ANY_NUMBER, &[], ANY, [0, 1, 48], Transform, &[AnyOptional, TransformOfType, WithinTransform], &[]),
        (Custom("SignalStacker"), "Stacker", "h>h", ANY_NUMBER, &[], 1, [0, 1, 56], Nothing, &[AnyOptional, Counts(&["num_channels"])], &[]),
        (Custom("SignalWindow"), "Window", "hh>h", ANY_NUMBER, &[], ANY, [0, 1, 16], Nothing, &[AnyOptional, Options], &[]),
    ]
};

/// The kernel that runs an operator.
pub fn kernel_of(code: &OperatorCode) -> Option<&'static Kernel> {
    KERNELS.iter().find(|(kind, ..)| match kind {
        Of::Kind(kind) => code.kind == *kind,
        Of::Custom(name) => code.custom.as_deref() == Some(name),
    })
}
