//! Sizes of the structures that the interpreter keeps: its own structures and, for each kind of operator, the options
//! read from the file and the structure of the kernel.
//!
//! The sizes are those that the recorder of PyPI `tflite-micro` prints for files with one to four operators of a kind,
//! and for real files.

use crate::formats::tflite::OpKind;

/// Size of a pointer on the machine that runs the interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointers {
    /// Microcontrollers.
    Bits32,
    /// The recorder of PyPI `tflite-micro`.
    Bits64,
}

impl Pointers {
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Bits32 => 4,
            Self::Bits64 => 8,
        }
    }

    /// The allocator and the planner. The size on 32 bits was not recorded; most of it is pointers.
    pub(super) fn interpreter_bytes(self) -> u64 {
        match self {
            Self::Bits32 => 232,
            Self::Bits64 => 464,
        }
    }

    /// `MicroResourceVariables`: a pointer and two numbers.
    pub(super) fn resource_variables_bytes(self) -> u64 {
        self.bytes() + 8
    }

    /// One resource variable: its two names, its values, their size and what they are at first.
    pub(super) fn resource_variable_bytes(self) -> u64 {
        5 * self.bytes()
    }

    /// `SubgraphAllocations`: three words.
    pub(super) fn subgraph_bytes(self) -> u64 {
        3 * self.bytes()
    }

    /// `NodeAndRegistration`: eight words.
    pub(super) fn operator_bytes(self) -> u64 {
        8 * self.bytes()
    }

    /// `TfLiteEvalTensor`: two pointers and a type.
    pub(super) fn tensor_bytes(self) -> u64 {
        3 * self.bytes()
    }

    /// `TfLiteTensor`, as which inputs and outputs are shown to the application.
    pub(super) fn shown_tensor_bytes(self) -> u64 {
        match self {
            Self::Bits32 => 40,
            Self::Bits64 => 64,
        }
    }

    /// `TfLiteAffineQuantization` and its one zero point.
    pub(super) fn quantisation_bytes(self) -> u64 {
        match self {
            Self::Bits32 => 20,
            Self::Bits64 => 32,
        }
    }
}

/// Kernels that keep a 32-bit multiplier and a shift of each output channel.
pub const PER_CHANNEL: &[OpKind] = &[
    OpKind::Conv2d,
    OpKind::DepthwiseConv2d,
    OpKind::TransposeConv,
];

/// Bytes of an operator's options, and their alignment.
pub fn option_bytes(kind: OpKind, pointers: Pointers) -> (u64, u64) {
    match (kind, sizes(kind)) {
        // The names of its container and of itself.
        (OpKind::VarHandle, _) => (2 * pointers.bytes(), pointers.bytes()),
        (_, Some((_, bytes, alignment, _))) => (*bytes, *alignment),
        (_, None) => (0, 1),
    }
}

/// Bytes of the structure of an int8 kernel, what it keeps of each channel left out.
pub fn kernel_bytes(kind: OpKind, pointers: Pointers) -> u64 {
    let bytes = sizes(kind).map_or(UNRECORDED_BYTES, |(.., bytes)| *bytes);
    match (pointers, PER_CHANNEL.contains(&kind)) {
        // Two pointers to the numbers of its channels, and the gap before them.
        (Pointers::Bits32, true) => bytes - 12,
        _ => bytes,
    }
}

/// Bytes of the structure of a custom operator's kernel; `None` for others. Those of the signal library follow from what
/// the recorder prints for a file of each.
pub fn custom_kernel_bytes(name: &str) -> Option<u64> {
    let bytes = match name {
        "SignalDelay" | "SignalOverlapAdd" => 32,
        "SignalEnergy" | "SignalFilterBankLog" | "SignalPCAN" => 8,
        "SignalFftAutoScale" | "SignalFilterBankSquareRoot" => 0,
        "SignalFilterBank" | "SignalFilterBankSpectralSubtraction" => 64,
        "SignalFramer" | "SignalIrfft" | "SignalRfft" => 48,
        "SignalStacker" => 56,
        "SignalWindow" => 16,
        _ => return None,
    };
    Some(bytes)
}

/// Whether the sizes of a kind were recorded.
#[cfg(test)]
pub fn is_recorded(kind: OpKind) -> bool {
    sizes(kind).is_some()
}

fn sizes(kind: OpKind) -> Option<&'static Sizes> {
    SIZES.iter().find(|(recorded, ..)| *recorded == kind)
}

/// Bytes and alignment of options, and bytes of the kernel's 64-bit structure.
type Sizes = (OpKind, u64, u64, u64);

#[rustfmt::skip]
const SIZES: &[Sizes] = &[
    (OpKind::Abs, 0, 1, 28),
    (OpKind::Add, 8, 4, 60),
    (OpKind::ArgMax, 4, 4, 0),
    (OpKind::ArgMin, 4, 4, 0),
    (OpKind::AssignVariable, 0, 1, 4),
    (OpKind::AveragePool2d, 40, 4, 32),
    (OpKind::BatchToSpaceNd, 0, 1, 0),
    (OpKind::BroadcastTo, 0, 1, 0),
    (OpKind::CallOnce, 4, 4, 8),
    (OpKind::Cast, 8, 4, 0),
    (OpKind::Ceil, 0, 1, 0),
    (OpKind::Concatenation, 8, 4, 80),
    (OpKind::Conv2d, 28, 4, 80),
    (OpKind::Cos, 0, 1, 0),
    (OpKind::Cumsum, 2, 1, 36),
    (OpKind::DepthToSpace, 4, 4, 20),
    (OpKind::DepthwiseConv2d, 28, 4, 80),
    (OpKind::Dequantize, 0, 1, 32),
    (OpKind::Div, 4, 4, 28),
    (OpKind::DynamicUpdateSlice, 0, 1, 0),
    (OpKind::Elu, 0, 1, 256),
    (OpKind::Equal, 0, 1, 32),
    (OpKind::Exp, 0, 1, 0),
    (OpKind::ExpandDims, 0, 1, 0),
    (OpKind::Fill, 0, 1, 0),
    (OpKind::Floor, 0, 1, 0),
    (OpKind::FloorDiv, 0, 1, 0),
    (OpKind::FloorMod, 0, 1, 0),
    (OpKind::FullyConnected, 32, 8, 72),
    (OpKind::Gather, 8, 4, 20),
    (OpKind::GatherNd, 0, 1, 12),
    (OpKind::Greater, 0, 1, 32),
    (OpKind::GreaterEqual, 0, 1, 32),
    (OpKind::HardSwish, 0, 1, 20),
    (OpKind::L2Normalization, 4, 4, 4),
    (OpKind::L2Pool2d, 40, 4, 20),
    (OpKind::LeakyRelu, 4, 4, 24),
    (OpKind::Less, 0, 1, 32),
    (OpKind::LessEqual, 0, 1, 32),
    (OpKind::Log, 0, 1, 0),
    (OpKind::LogSoftmax, 0, 1, 40),
    (OpKind::LogicalAnd, 0, 1, 0),
    (OpKind::LogicalOr, 0, 1, 0),
    (OpKind::Logistic, 0, 1, 16),
    (OpKind::MaxPool2d, 40, 4, 32),
    (OpKind::Maximum, 0, 1, 0),
    (OpKind::Mean, 1, 1, 44),
    (OpKind::Minimum, 0, 1, 0),
    (OpKind::MirrorPad, 4, 4, 20),
    (OpKind::Mul, 4, 4, 36),
    (OpKind::Neg, 0, 1, 0),
    (OpKind::NotEqual, 0, 1, 32),
    (OpKind::Pack, 8, 4, 0),
    (OpKind::Pad, 0, 1, 56),
    (OpKind::Prelu, 0, 1, 28),
    (OpKind::Quantize, 0, 1, 32),
    (OpKind::ReadVariable, 0, 1, 0),
    (OpKind::ReduceAll, 1, 1, 44),
    (OpKind::ReduceMax, 1, 1, 44),
    (OpKind::ReduceMin, 1, 1, 44),
    (OpKind::Relu, 0, 1, 28),
    (OpKind::Relu6, 0, 1, 8),
    (OpKind::Reshape, 36, 4, 0),
    (OpKind::ResizeBilinear, 2, 1, 0),
    (OpKind::ResizeNearestNeighbor, 2, 1, 0),
    (OpKind::ReverseV2, 0, 1, 0),
    (OpKind::Round, 0, 1, 0),
    (OpKind::Rsqrt, 0, 1, 28),
    (OpKind::SelectV2, 0, 1, 1),
    (OpKind::Shape, 4, 4, 0),
    (OpKind::Sin, 0, 1, 0),
    (OpKind::Slice, 0, 1, 0),
    (OpKind::Softmax, 4, 4, 80),
    (OpKind::SpaceToBatchNd, 0, 1, 4),
    (OpKind::SpaceToDepth, 4, 4, 20),
    (OpKind::Split, 4, 4, 0),
    (OpKind::SplitV, 4, 4, 0),
    (OpKind::Sqrt, 0, 1, 0),
    (OpKind::Square, 0, 1, 0),
    (OpKind::SquaredDifference, 0, 1, 112),
    (OpKind::Squeeze, 36, 4, 0),
    (OpKind::StridedSlice, 24, 4, 84),
    (OpKind::Sub, 8, 4, 52),
    (OpKind::Sum, 1, 1, 44),
    (OpKind::Svdf, 12, 4, 36),
    (OpKind::Tanh, 0, 1, 16),
    (OpKind::Transpose, 0, 1, 0),
    (OpKind::TransposeConv, 20, 4, 88),
    (OpKind::UnidirectionalSequenceLstm, 16, 4, 688),
    (OpKind::Unpack, 8, 4, 0),
    (OpKind::VarHandle, 16, 8, 4),
    (OpKind::While, 8, 4, 8),
    (OpKind::ZerosLike, 0, 1, 0),
];

/// Size for an operator that is not in the table: a value between its smallest and its largest.
const UNRECORDED_BYTES: u64 = 60;
