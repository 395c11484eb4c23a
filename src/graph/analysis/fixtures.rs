//! Small models and numbers for the tests of this stage.

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::formats::tflite::{
    Buffer, BuiltinOptions, Format, Model, OpKind, Operator, Subgraph, Tensor, TensorType,
};

/// Checks so many values that `strategy` makes, the same ones in every run. One that fails is made smaller
/// before it is reported.
pub fn for_each<S: Strategy>(n_cases: u32, strategy: S, check: impl Fn(S::Value)) {
    let config = Config {
        cases: n_cases,
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let outcome = TestRunner::new_with_rng(config, rng).run(&strategy, |value| {
        check(value);
        Ok(())
    });
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

/// An activation without a name; constants get a buffer later.
pub fn tensor(tensor_type: TensorType, shape: &[i32]) -> Tensor {
    Tensor {
        name: Box::default(),
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
        intermediates: Box::default(),
        folded: Box::default(),
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
        is_converted: false,
        is_reshaped: false,
        unmatched_dimensions: None,
    }
}

/// The main subgraph, in file order.
pub fn graph_of<'m>(model: &'m Model<'m>) -> crate::graph::Graph<'m> {
    crate::graph::build(model, 0).unwrap()
}
