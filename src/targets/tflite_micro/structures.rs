//! Sizes of the structures that the interpreter keeps: its own structures and, for each operator, the options read from the
//! file and the structure of the kernel.

use super::kernels::{Sizes, UNRECORDED, kernel_of};
use crate::formats::tflite::op_row::Work;
use crate::formats::tflite::{OpKind, OperatorCode};

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

/// Whether a kernel keeps a 32-bit multiplier and a shift of each output channel, however its weights are quantised.
pub fn keeps_channels(kind: OpKind) -> bool {
    match kind.row().work {
        Work::Convolution | Work::Depthwise | Work::TransposedConvolution => true,
        Work::Convolution3d
        | Work::Dense
        | Work::Nothing
        | Work::Product
        | Work::Recurrent
        | Work::SparseLookup
        | Work::Svdf
        | Work::TransposedConvolution3d
        | Work::Unknown => false,
    }
}

/// Bytes of an operator's options, and their alignment.
pub fn option_bytes(code: &OperatorCode, pointers: Pointers) -> (u64, u64) {
    // The names of its container and of itself.
    if code.kind == OpKind::VarHandle {
        return (2 * pointers.bytes(), pointers.bytes());
    }
    let [bytes, alignment, _] = sizes(code);
    (bytes, alignment)
}

/// Bytes of the structure of an int8 kernel, what it keeps of each channel left out.
pub fn kernel_bytes(code: &OperatorCode, pointers: Pointers) -> u64 {
    let [.., bytes] = sizes(code);
    // Two pointers to the numbers of its channels and the gap before them, or three pointers.
    let has_pointers = keeps_channels(code.kind) || code.kind == OpKind::BatchMatmul;
    match pointers {
        Pointers::Bits32 if has_pointers => bytes - 12,
        _ => bytes,
    }
}

fn sizes(code: &OperatorCode) -> Sizes {
    kernel_of(code).map_or(UNRECORDED, |kernel| kernel.6)
}
