//! The arena's persistent part: what the interpreter and the kernels keep between inferences.
//!
//! It holds a structure for each tensor and each operator, variables, two 32-bit numbers for each output
//! channel of a convolution, and what each kernel keeps. The last is not in any file: it was taken from
//! what the interpreter of PyPI `tflite-micro` records over real files, as so many bytes an operator.
//! Buffers of resource variables (`VAR_HANDLE`) are not counted.

use crate::formats::tflite::{Model, OpKind, Operator, Subgraph, Tensor};

/// Size of a pointer on the machine that runs the interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointers {
    /// Microcontrollers.
    Bits32,
    /// The recorder of PyPI `tflite-micro`.
    Bits64,
}

impl Pointers {
    /// `TfLiteEvalTensor`: two pointers and a type.
    fn tensor_bytes(self) -> u64 {
        match self {
            Self::Bits32 => 12,
            Self::Bits64 => 24,
        }
    }

    /// `NodeAndRegistration`: eight words.
    fn operator_bytes(self) -> u64 {
        match self {
            Self::Bits32 => 32,
            Self::Bits64 => 64,
        }
    }

    /// The allocator, the planner, the structures of inputs and outputs and their padding.
    fn interpreter_bytes(self) -> u64 {
        match self {
            Self::Bits32 => 500,
            Self::Bits64 => 752,
        }
    }

    /// By which the structures of a kernel with pointers to numbers of its channels are smaller.
    fn pointer_saving_bytes(self) -> u64 {
        match self {
            Self::Bits32 => 8,
            Self::Bits64 => 0,
        }
    }
}

/// Two 32-bit numbers, a multiplier and a shift.
const BYTES_PER_CHANNEL: u64 = 8;

/// Bytes of the persistent part, rounded up to the arena's alignment. Linear.
pub fn persistent_bytes(model: &Model, pointers: Pointers) -> u64 {
    let subgraphs = model.subgraphs.iter();
    let sizes = subgraphs.map(|subgraph| subgraph_bytes(subgraph, pointers));
    let all = sizes.fold(pointers.interpreter_bytes(), u64::saturating_add);
    all.checked_next_multiple_of(16).unwrap_or(u64::MAX)
}

fn subgraph_bytes(subgraph: &Subgraph, pointers: Pointers) -> u64 {
    let tensors = (subgraph.tensors.len() as u64).saturating_mul(pointers.tensor_bytes());
    let variables = subgraph.tensors.iter().map(variable_bytes);
    let operators = subgraph
        .operators
        .iter()
        .map(|operator| operator_bytes(operator, subgraph, pointers));
    variables
        .chain(operators)
        .fold(tensors, u64::saturating_add)
}

fn variable_bytes(tensor: &Tensor) -> u64 {
    let bytes = tensor.byte_len().filter(|_| tensor.is_variable);
    let padded = bytes.unwrap_or(0).checked_next_multiple_of(16);
    padded.unwrap_or(u64::MAX)
}

fn operator_bytes(operator: &Operator, subgraph: &Subgraph, pointers: Pointers) -> u64 {
    let kind = operator.code.kind;
    let kernel = KERNEL_BYTES.iter().find(|(kernel, _)| *kernel == kind);
    let kernel_bytes = kernel.map_or(UNRECORDED_BYTES, |(_, bytes)| *bytes);
    let channels = PER_CHANNEL
        .contains(&kind)
        .then(|| output_channels(operator, subgraph))
        .flatten();
    let saving = match channels {
        Some(_) => pointers.pointer_saving_bytes(),
        None => 0,
    };
    pointers
        .operator_bytes()
        .saturating_add(kernel_bytes.saturating_sub(saving))
        .saturating_add(channels.unwrap_or(0).saturating_mul(BYTES_PER_CHANNEL))
}

fn output_channels(operator: &Operator, subgraph: &Subgraph) -> Option<u64> {
    let output = subgraph.tensors.get(*operator.outputs.first()?)?;
    u64::try_from(*output.shape.last()?).ok()
}

/// Kernels that keep numbers of each output channel.
const PER_CHANNEL: &[OpKind] = &[
    OpKind::Conv2d,
    OpKind::DepthwiseConv2d,
    OpKind::TransposeConv,
];

/// Bytes of 64-bit structures by operator, a fit to what is recorded of 70 files.
const KERNEL_BYTES: &[(OpKind, u64)] = &[
    (OpKind::Add, 76),
    (OpKind::AveragePool2d, 78),
    (OpKind::Concatenation, 97),
    (OpKind::Conv2d, 106),
    (OpKind::DepthwiseConv2d, 110),
    (OpKind::Dequantize, 3),
    (OpKind::FullyConnected, 108),
    (OpKind::Logistic, 4),
    (OpKind::MaxPool2d, 72),
    (OpKind::Mean, 37),
    (OpKind::Mul, 48),
    (OpKind::Pad, 65),
    (OpKind::Quantize, 23),
    (OpKind::ReduceMax, 25),
    (OpKind::Reshape, 0),
    (OpKind::Shape, 0),
    (OpKind::Softmax, 84),
    (OpKind::StridedSlice, 60),
    (OpKind::Transpose, 0),
    (OpKind::TransposeConv, 151),
    (OpKind::UnidirectionalSequenceLstm, 748),
];

/// Of an operator that no recorded int8 file has: between the smallest and the largest above.
const UNRECORDED_BYTES: u64 = 60;
