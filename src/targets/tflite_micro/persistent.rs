//! The arena's persistent part: what the interpreter and the kernels keep between inferences.
//!
//! The interpreter takes it piece by piece from the arena's end: a structure for each operator, its options, a
//! structure for each tensor, what each kernel keeps, two 32-bit numbers for each output channel of a
//! convolution, variables, a word for each working buffer, and the inputs and outputs. Each piece is rounded up
//! to the alignment of what it holds. Sizes were taken from what the recorder of PyPI `tflite-micro` prints
//! of 63 files, each of which they give to the byte. Buffers of resource variables (`VAR_HANDLE`) are not counted.

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
    fn bytes(self) -> u64 {
        match self {
            Self::Bits32 => 4,
            Self::Bits64 => 8,
        }
    }

    /// The allocator and the planner. That of 32 bits was not recorded: most of it is pointers.
    fn interpreter_bytes(self) -> u64 {
        match self {
            Self::Bits32 => 244,
            Self::Bits64 => 488,
        }
    }

    /// `NodeAndRegistration`: eight words.
    fn operator_bytes(self) -> u64 {
        8 * self.bytes()
    }

    /// `TfLiteEvalTensor`: two pointers and a type.
    fn tensor_bytes(self) -> u64 {
        3 * self.bytes()
    }

    /// `TfLiteTensor`, as which inputs and outputs are shown to the application.
    fn shown_tensor_bytes(self) -> u64 {
        match self {
            Self::Bits32 => 40,
            Self::Bits64 => 64,
        }
    }

    /// `TfLiteAffineQuantization` and its one zero point.
    fn quantisation_bytes(self) -> u64 {
        match self {
            Self::Bits32 => 20,
            Self::Bits64 => 32,
        }
    }
}

/// Of what kernels keep.
const KERNEL_ALIGNMENT: u64 = 16;

/// The arena's end, from which pieces are taken.
struct Tail {
    used_bytes: u64,
}

impl Tail {
    fn take(&mut self, bytes: u64, alignment: u64) {
        let used = self.used_bytes.saturating_add(bytes);
        self.used_bytes = used.checked_next_multiple_of(alignment).unwrap_or(u64::MAX);
    }

    fn take_each(&mut self, n: usize, bytes: u64, alignment: u64) {
        self.take((n as u64).saturating_mul(bytes), alignment);
    }
}

/// Bytes of the persistent part, rounded up to the arena's alignment, beside `n_buffers` working buffers. Linear.
pub fn persistent_bytes(model: &Model, n_buffers: usize, pointers: Pointers) -> u64 {
    let word = pointers.bytes();
    let mut tail = Tail {
        used_bytes: pointers.interpreter_bytes(),
    };
    for subgraph in &model.subgraphs {
        tail.take_each(subgraph.operators.len(), pointers.operator_bytes(), word);
        for operator in &subgraph.operators {
            let (bytes, alignment) = option_bytes(operator.code.kind);
            tail.take(bytes, alignment);
        }
        tail.take_each(subgraph.tensors.len(), pointers.tensor_bytes(), word);
    }
    for subgraph in &model.subgraphs {
        for operator in &subgraph.operators {
            take_kernel(&mut tail, operator, subgraph, pointers);
        }
        for tensor in subgraph.tensors.iter().filter(|tensor| tensor.is_variable) {
            tail.take(tensor.byte_len().unwrap_or(0), KERNEL_ALIGNMENT);
        }
    }
    tail.take_each(n_buffers, word, word);
    if let Some(subgraph) = model.subgraphs.first() {
        for shown in [&subgraph.inputs, &subgraph.outputs] {
            take_shown(&mut tail, shown, subgraph, pointers);
        }
    }
    tail.take(0, KERNEL_ALIGNMENT);
    tail.used_bytes
}

/// Inputs or outputs: a pointer to each, and the tensors.
fn take_shown(tail: &mut Tail, shown: &[usize], subgraph: &Subgraph, pointers: Pointers) {
    let word = pointers.bytes();
    tail.take_each(shown.len(), word, KERNEL_ALIGNMENT);
    tail.take_each(shown.len(), pointers.shown_tensor_bytes(), word);
    let tensors = shown.iter().filter_map(|&idx| subgraph.tensors.get(idx));
    let n_quantised = tensors.filter(|tensor| is_quantised(tensor)).count();
    tail.take_each(n_quantised, pointers.quantisation_bytes(), word);
}

fn is_quantised(tensor: &Tensor) -> bool {
    tensor.quantization.is_some()
}

fn take_kernel(tail: &mut Tail, operator: &Operator, subgraph: &Subgraph, pointers: Pointers) {
    let kind = operator.code.kind;
    let kernel = KERNEL_BYTES.iter().find(|(kernel, _)| *kernel == kind);
    let bytes = kernel.map_or(UNRECORDED_BYTES, |(_, bytes)| *bytes);
    if !PER_CHANNEL.contains(&kind) {
        return tail.take(bytes, KERNEL_ALIGNMENT);
    }
    // Two pointers to the numbers of its channels, and the gap before them.
    let saved = match pointers {
        Pointers::Bits32 => 12,
        Pointers::Bits64 => 0,
    };
    tail.take(bytes - saved, KERNEL_ALIGNMENT);
    let channels = output_channels(operator, subgraph).unwrap_or(0);
    for _multiplier_or_shift in 0..2 {
        tail.take(channels.saturating_mul(4), KERNEL_ALIGNMENT);
    }
}

fn output_channels(operator: &Operator, subgraph: &Subgraph) -> Option<u64> {
    let output = subgraph.tensors.get(*operator.outputs.first()?)?;
    u64::try_from(*output.shape.last()?).ok()
}

/// Bytes and alignment of an operator's options, as the interpreter reads them from the file.
fn option_bytes(kind: OpKind) -> (u64, u64) {
    match kind {
        OpKind::AveragePool2d | OpKind::MaxPool2d | OpKind::L2Pool2d => (40, 4),
        OpKind::Reshape => (36, 4),
        OpKind::FullyConnected => (32, 4),
        OpKind::Conv2d | OpKind::DepthwiseConv2d => (28, 4),
        OpKind::TransposeConv | OpKind::StridedSlice | OpKind::UnidirectionalSequenceLstm => {
            (20, 4)
        }
        OpKind::Softmax => (8, 8),
        OpKind::Add
        | OpKind::Sub
        | OpKind::Concatenation
        | OpKind::Pack
        | OpKind::Unpack
        | OpKind::Cast => (8, 4),
        OpKind::Mul | OpKind::Div | OpKind::Shape | OpKind::ArgMax | OpKind::ArgMin => (4, 4),
        OpKind::Mean | OpKind::Sum | OpKind::ReduceMax | OpKind::ReduceMin => (1, 1),
        _ => (0, 1),
    }
}

/// Kernels that keep numbers of each output channel.
const PER_CHANNEL: &[OpKind] = &[
    OpKind::Conv2d,
    OpKind::DepthwiseConv2d,
    OpKind::TransposeConv,
];

/// Bytes of 64-bit structures by operator.
const KERNEL_BYTES: &[(OpKind, u64)] = &[
    (OpKind::Add, 60),
    (OpKind::AveragePool2d, 32),
    (OpKind::Concatenation, 80),
    (OpKind::Conv2d, 80),
    (OpKind::DepthwiseConv2d, 80),
    (OpKind::Dequantize, 32),
    (OpKind::FullyConnected, 72),
    (OpKind::Logistic, 16),
    (OpKind::MaxPool2d, 32),
    (OpKind::Mean, 44),
    (OpKind::Mul, 36),
    (OpKind::Pack, 0),
    (OpKind::Pad, 56),
    (OpKind::Quantize, 32),
    (OpKind::ReduceMax, 44),
    (OpKind::Reshape, 0),
    (OpKind::Shape, 0),
    (OpKind::Softmax, 80),
    (OpKind::StridedSlice, 84),
    (OpKind::Transpose, 0),
    (OpKind::TransposeConv, 96),
    (OpKind::UnidirectionalSequenceLstm, 688),
];

/// Of an operator that no recorded int8 file has: between the smallest and the largest above.
const UNRECORDED_BYTES: u64 = 60;
