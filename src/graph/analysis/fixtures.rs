//! Small models and numbers for the tests of this stage.

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::formats::tflite::{
    Activation, Buffer, BuiltinOptions, Format, Model, OpKind, Operator, Padding, Subgraph, Tensor,
    TensorType,
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

/// Without dilation and activation.
pub const fn conv_2d(padding: Padding, strides: [i32; 2]) -> BuiltinOptions {
    conv_2d_with(padding, strides, Activation::None)
}

pub const fn conv_2d_with(
    padding: Padding,
    [stride_h, stride_w]: [i32; 2],
    activation: Activation,
) -> BuiltinOptions {
    BuiltinOptions::Conv2D {
        padding,
        stride_h,
        stride_w,
        dilation_h: 1,
        dilation_w: 1,
        activation,
    }
}

pub const fn transpose_conv(padding: Padding, [stride_h, stride_w]: [i32; 2]) -> BuiltinOptions {
    BuiltinOptions::TransposeConv {
        padding,
        stride_h,
        stride_w,
        activation: Activation::None,
    }
}

pub const fn pool_2d(
    padding: Padding,
    [filter_h, filter_w]: [i32; 2],
    [stride_h, stride_w]: [i32; 2],
) -> BuiltinOptions {
    BuiltinOptions::Pool2D {
        padding,
        stride_h,
        stride_w,
        filter_h,
        filter_w,
        activation: Activation::None,
    }
}

pub const fn fully_connected(activation: Activation) -> BuiltinOptions {
    BuiltinOptions::FullyConnected {
        has_unknown_weights: false,
        keep_num_dims: false,
        activation,
    }
}

pub const fn batch_matmul(adj_x: bool, adj_y: bool) -> BuiltinOptions {
    BuiltinOptions::BatchMatMul { adj_x, adj_y }
}

pub const fn concatenation(axis: i32) -> BuiltinOptions {
    BuiltinOptions::Concatenation {
        axis,
        activation: Activation::None,
    }
}

pub const ADD: BuiltinOptions = BuiltinOptions::Add {
    activation: Activation::None,
};
pub const SUB: BuiltinOptions = BuiltinOptions::Sub {
    activation: Activation::None,
};
pub const MUL: BuiltinOptions = BuiltinOptions::Mul {
    activation: Activation::None,
};

/// All of its bounds count.
pub const STRIDED_SLICE: BuiltinOptions = BuiltinOptions::StridedSlice {
    begin_mask: 0,
    end_mask: 0,
    ellipsis_mask: 0,
    new_axis_mask: 0,
    shrink_axis_mask: 0,
    offset: false,
};
