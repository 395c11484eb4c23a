//! [`OperatorKind`] → operator code, version and options table of the schema.

use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, WIPOffset};
use litecast::tflite::schema;
use litecast::tflite::{Activation, Padding};
use schema::{BuiltinOperator, BuiltinOptions};

use super::network::OperatorKind;

/// An operator's entry in the union of builtin options.
type Options = (BuiltinOptions, Option<WIPOffset<UnionWIPOffset>>);

/// The operator's code and the first version of it that takes int8 with what we use of it.
pub fn code(kind: &OperatorKind) -> (BuiltinOperator, i32) {
    match kind {
        OperatorKind::Add => (BuiltinOperator::ADD, 2),
        OperatorKind::AveragePool2D { .. } => (BuiltinOperator::AVERAGE_POOL_2D, 2),
        OperatorKind::BatchMatMul { .. } => (BuiltinOperator::BATCH_MATMUL, 2),
        OperatorKind::Concatenation { .. } => (BuiltinOperator::CONCATENATION, 2),
        OperatorKind::Conv2D { .. } => (BuiltinOperator::CONV_2D, 3),
        OperatorKind::DepthwiseConv2D { .. } => (BuiltinOperator::DEPTHWISE_CONV_2D, 3),
        OperatorKind::FullyConnected { .. } => (BuiltinOperator::FULLY_CONNECTED, 5),
        OperatorKind::Gelu { .. } => (BuiltinOperator::GELU, 2),
        OperatorKind::Mean { .. } => (BuiltinOperator::MEAN, 2),
        OperatorKind::Mul => (BuiltinOperator::MUL, 2),
        OperatorKind::Pad => (BuiltinOperator::PAD, 2),
        OperatorKind::Reshape { .. } => (BuiltinOperator::RESHAPE, 1),
        OperatorKind::Rsqrt => (BuiltinOperator::RSQRT, 2),
        OperatorKind::Softmax => (BuiltinOperator::SOFTMAX, 2),
        OperatorKind::SquaredDifference => (BuiltinOperator::SQUARED_DIFFERENCE, 2),
        OperatorKind::StridedSlice { .. } => (BuiltinOperator::STRIDED_SLICE, 2),
        OperatorKind::Sub => (BuiltinOperator::SUB, 2),
        OperatorKind::Tanh => (BuiltinOperator::TANH, 2),
        OperatorKind::Transpose => (BuiltinOperator::TRANSPOSE, 2),
    }
}

/// Writes the operator's options table, if it has one.
pub fn write(kind: &OperatorKind, fbb: &mut FlatBufferBuilder) -> Options {
    match kind {
        OperatorKind::Conv2D {
            stride,
            padding,
            activation,
        } => conv2d(*stride, *padding, *activation, fbb),
        OperatorKind::DepthwiseConv2D {
            stride,
            padding,
            activation,
        } => depthwise_conv2d(*stride, *padding, *activation, fbb),
        OperatorKind::AveragePool2D {
            filter,
            stride,
            padding,
        } => pool2d(*filter, *stride, *padding, fbb),
        OperatorKind::FullyConnected {
            keep_num_dims,
            activation,
        } => fully_connected(*keep_num_dims, *activation, fbb),
        OperatorKind::Reshape { new_shape } => reshape(new_shape, fbb),
        OperatorKind::BatchMatMul { adj_y } => {
            let args = schema::BatchMatMulOptionsArgs {
                adj_y: *adj_y,
                ..Default::default()
            };
            let table = schema::BatchMatMulOptions::create(fbb, &args);
            (
                BuiltinOptions::BatchMatMulOptions,
                Some(table.as_union_value()),
            )
        }
        OperatorKind::Concatenation { axis } => {
            let args = schema::ConcatenationOptionsArgs {
                axis: *axis,
                ..Default::default()
            };
            let table = schema::ConcatenationOptions::create(fbb, &args);
            (
                BuiltinOptions::ConcatenationOptions,
                Some(table.as_union_value()),
            )
        }
        OperatorKind::Gelu { approximate } => {
            let table = schema::GeluOptions::create(
                fbb,
                &schema::GeluOptionsArgs {
                    approximate: *approximate,
                },
            );
            (BuiltinOptions::GeluOptions, Some(table.as_union_value()))
        }
        OperatorKind::Mean { keep_dims } => {
            let table = schema::ReducerOptions::create(
                fbb,
                &schema::ReducerOptionsArgs {
                    keep_dims: *keep_dims,
                },
            );
            (BuiltinOptions::ReducerOptions, Some(table.as_union_value()))
        }
        OperatorKind::StridedSlice { shrink_axis_mask } => {
            let args = schema::StridedSliceOptionsArgs {
                shrink_axis_mask: *shrink_axis_mask,
                ..Default::default()
            };
            let table = schema::StridedSliceOptions::create(fbb, &args);
            (
                BuiltinOptions::StridedSliceOptions,
                Some(table.as_union_value()),
            )
        }
        OperatorKind::Softmax => {
            let table =
                schema::SoftmaxOptions::create(fbb, &schema::SoftmaxOptionsArgs { beta: 1.0 });
            (BuiltinOptions::SoftmaxOptions, Some(table.as_union_value()))
        }
        OperatorKind::Add => {
            let table = schema::AddOptions::create(fbb, &Default::default());
            (BuiltinOptions::AddOptions, Some(table.as_union_value()))
        }
        OperatorKind::Sub => {
            let table = schema::SubOptions::create(fbb, &Default::default());
            (BuiltinOptions::SubOptions, Some(table.as_union_value()))
        }
        OperatorKind::Mul => {
            let table = schema::MulOptions::create(fbb, &Default::default());
            (BuiltinOptions::MulOptions, Some(table.as_union_value()))
        }
        OperatorKind::Pad => {
            let table = schema::PadOptions::create(fbb, &Default::default());
            (BuiltinOptions::PadOptions, Some(table.as_union_value()))
        }
        OperatorKind::SquaredDifference => {
            let table = schema::SquaredDifferenceOptions::create(fbb, &Default::default());
            (
                BuiltinOptions::SquaredDifferenceOptions,
                Some(table.as_union_value()),
            )
        }
        OperatorKind::Transpose => {
            let table = schema::TransposeOptions::create(fbb, &Default::default());
            (
                BuiltinOptions::TransposeOptions,
                Some(table.as_union_value()),
            )
        }
        OperatorKind::Rsqrt | OperatorKind::Tanh => (BuiltinOptions::NONE, None),
    }
}

fn conv2d(
    stride: [i32; 2],
    padding: Padding,
    activation: Activation,
    fbb: &mut FlatBufferBuilder,
) -> Options {
    let args = schema::Conv2DOptionsArgs {
        padding: padding_code(padding),
        stride_h: stride[0],
        stride_w: stride[1],
        fused_activation_function: activation_code(activation),
        ..Default::default()
    };
    let table = schema::Conv2DOptions::create(fbb, &args);
    (BuiltinOptions::Conv2DOptions, Some(table.as_union_value()))
}

fn depthwise_conv2d(
    stride: [i32; 2],
    padding: Padding,
    activation: Activation,
    fbb: &mut FlatBufferBuilder,
) -> Options {
    let args = schema::DepthwiseConv2DOptionsArgs {
        padding: padding_code(padding),
        stride_h: stride[0],
        stride_w: stride[1],
        depth_multiplier: 1,
        fused_activation_function: activation_code(activation),
        ..Default::default()
    };
    let table = schema::DepthwiseConv2DOptions::create(fbb, &args);
    (
        BuiltinOptions::DepthwiseConv2DOptions,
        Some(table.as_union_value()),
    )
}

fn pool2d(
    filter: [i32; 2],
    stride: [i32; 2],
    padding: Padding,
    fbb: &mut FlatBufferBuilder,
) -> Options {
    let args = schema::Pool2DOptionsArgs {
        padding: padding_code(padding),
        stride_h: stride[0],
        stride_w: stride[1],
        filter_height: filter[0],
        filter_width: filter[1],
        ..Default::default()
    };
    let table = schema::Pool2DOptions::create(fbb, &args);
    (BuiltinOptions::Pool2DOptions, Some(table.as_union_value()))
}

fn fully_connected(
    keep_num_dims: bool,
    activation: Activation,
    fbb: &mut FlatBufferBuilder,
) -> Options {
    let args = schema::FullyConnectedOptionsArgs {
        keep_num_dims,
        fused_activation_function: activation_code(activation),
        ..Default::default()
    };
    let table = schema::FullyConnectedOptions::create(fbb, &args);
    (
        BuiltinOptions::FullyConnectedOptions,
        Some(table.as_union_value()),
    )
}

fn reshape(new_shape: &[i32], fbb: &mut FlatBufferBuilder) -> Options {
    let new_shape = Some(fbb.create_vector(new_shape));
    let table = schema::ReshapeOptions::create(fbb, &schema::ReshapeOptionsArgs { new_shape });
    (BuiltinOptions::ReshapeOptions, Some(table.as_union_value()))
}

fn padding_code(padding: Padding) -> schema::Padding {
    match padding {
        Padding::Same => schema::Padding::SAME,
        Padding::Valid => schema::Padding::VALID,
    }
}

fn activation_code(activation: Activation) -> schema::ActivationFunctionType {
    match activation {
        Activation::None => schema::ActivationFunctionType::NONE,
        Activation::Relu => schema::ActivationFunctionType::RELU,
        Activation::ReluN1To1 => schema::ActivationFunctionType::RELU_N1_TO_1,
        Activation::Relu6 => schema::ActivationFunctionType::RELU6,
        Activation::Tanh => schema::ActivationFunctionType::TANH,
        Activation::SignBit => schema::ActivationFunctionType::SIGN_BIT,
    }
}

impl OperatorKind {
    /// The schema's name, such as `CONV_2D`.
    pub fn name(&self) -> &'static str {
        code(self)
            .0
            .variant_name()
            .expect("the schema names every code that is written")
    }
}
