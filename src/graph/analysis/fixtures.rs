//! Small models and numbers for the tests of this stage.

use crate::formats::tflite::{
    Buffer, BuiltinOptions, Format, Model, OpKind, Operator, Subgraph, Tensor, TensorType,
};

/// A reproducible stream of numbers (xorshift64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) % limit
    }
}

/// An activation without a name; constants get a buffer later.
pub fn tensor(tensor_type: TensorType, shape: &[i32]) -> Tensor {
    Tensor {
        name: String::new(),
        tensor_type,
        shape: shape.to_vec(),
        shape_signature: None,
        has_rank: true,
        buffer_idx: 0,
        is_variable: false,
        quantization: None,
        sparsity: None,
    }
}

pub fn operator(kind: OpKind, inputs: &[usize], outputs: &[usize]) -> Operator {
    Operator {
        code: kind.into(),
        inputs: inputs.iter().copied().map(Some).collect(),
        outputs: outputs.to_vec(),
        intermediates: vec![],
        options: BuiltinOptions::Absent,
    }
}

pub fn calling(
    kind: OpKind,
    inputs: &[usize],
    outputs: &[usize],
    options: BuiltinOptions,
) -> Operator {
    Operator {
        options,
        ..operator(kind, inputs, outputs)
    }
}

/// The first tensor is the input, the last one the output.
pub fn subgraph(tensors: Vec<Tensor>, operators: Vec<Operator>) -> Subgraph {
    let outputs = vec![tensors.len() - 1];
    Subgraph {
        name: String::new(),
        tensors,
        operators,
        inputs: vec![0],
        outputs,
    }
}

/// Buffer 0 is empty, buffer 1 holds four bytes.
pub fn model(subgraphs: Vec<Subgraph>) -> Model<'static> {
    Model {
        format: Format::Tflite,
        version: 3,
        description: String::new(),
        file_bytes: 0,
        subgraphs,
        buffers: vec![Buffer::EMPTY, Buffer::from(&[1, 2, 3, 4][..])],
        metadata: vec![],
        signatures: vec![],
        diagnostics: vec![],
    }
}

/// The main subgraph, in file order.
pub fn graph_of<'m>(model: &'m Model<'m>) -> crate::graph::Graph<'m> {
    crate::graph::build(model, 0).unwrap()
}
