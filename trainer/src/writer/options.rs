//! [`OperatorKind`] → operator code, version and options table of the schema.

use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, WIPOffset};
use litecast::tflite::schema;
use litecast::tflite::{Activation, Padding};
use schema::{BuiltinOperator, BuiltinOptions};

use super::network::OperatorKind;
use super::precision::Precision;

/// An operator's entry in the union of builtin options.
type Options = (BuiltinOptions, Option<WIPOffset<UnionWIPOffset>>);

/// The operator's code and the first version of it that takes `precision` with what we use of it.
pub fn code(kind: &OperatorKind, precision: Precision) -> (BuiltinOperator, i32) {
    let (code, int8_version) = int8_code(kind);
    match (precision, kind) {
        (Precision::Int8, _) => (code, int8_version),
        (
            Precision::Float32,
            OperatorKind::FullyConnected {
                keep_num_dims: true,
                ..
            },
        ) => (code, 5),
        (Precision::Float32, _) => (code, 1),
    }
}

fn int8_code(kind: &OperatorKind) -> (BuiltinOperator, i32) {
    match kind {
        OperatorKind::Add { .. } => (BuiltinOperator::ADD, 2),
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
        OperatorKind::Relu => (BuiltinOperator::RELU, 2),
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

/// Creates an options table as a member of the union; fields that are not named keep the schema's
/// defaults.
macro_rules! table {
    ($fbb:ident, $table:ident, $args:ident { $($field:ident: $value:expr),* $(,)? }) => {{
        #[allow(clippy::needless_update)]
        let args = schema::$args { $($field: $value,)* ..Default::default() };
        let table = schema::$table::create($fbb, &args);
        (BuiltinOptions::$table, Some(table.as_union_value()))
    }};
}

/// Writes the operator's options table, if it has one.
pub fn write(kind: &OperatorKind, fbb: &mut FlatBufferBuilder) -> Options {
    match kind {
        OperatorKind::Conv2D {
            stride,
            padding,
            activation,
        } => table!(
            fbb,
            Conv2DOptions,
            Conv2DOptionsArgs {
                padding: padding_code(*padding),
                stride_h: stride[0],
                stride_w: stride[1],
                fused_activation_function: activation_code(*activation),
            }
        ),
        OperatorKind::DepthwiseConv2D {
            stride,
            padding,
            activation,
        } => table!(
            fbb,
            DepthwiseConv2DOptions,
            DepthwiseConv2DOptionsArgs {
                padding: padding_code(*padding),
                stride_h: stride[0],
                stride_w: stride[1],
                depth_multiplier: 1,
                fused_activation_function: activation_code(*activation),
            }
        ),
        OperatorKind::AveragePool2D {
            filter,
            stride,
            padding,
        } => table!(
            fbb,
            Pool2DOptions,
            Pool2DOptionsArgs {
                padding: padding_code(*padding),
                stride_h: stride[0],
                stride_w: stride[1],
                filter_height: filter[0],
                filter_width: filter[1],
            }
        ),
        OperatorKind::FullyConnected {
            keep_num_dims,
            activation,
        } => table!(
            fbb,
            FullyConnectedOptions,
            FullyConnectedOptionsArgs {
                keep_num_dims: *keep_num_dims,
                fused_activation_function: activation_code(*activation),
            }
        ),
        OperatorKind::Reshape { new_shape } => {
            let new_shape = Some(fbb.create_vector(new_shape));
            table!(
                fbb,
                ReshapeOptions,
                ReshapeOptionsArgs {
                    new_shape: new_shape
                }
            )
        }
        OperatorKind::BatchMatMul { adj_y } => table!(
            fbb,
            BatchMatMulOptions,
            BatchMatMulOptionsArgs { adj_y: *adj_y }
        ),
        OperatorKind::Concatenation { axis } => table!(
            fbb,
            ConcatenationOptions,
            ConcatenationOptionsArgs { axis: *axis }
        ),
        OperatorKind::Gelu { approximate } => table!(
            fbb,
            GeluOptions,
            GeluOptionsArgs {
                approximate: *approximate
            }
        ),
        OperatorKind::Mean { keep_dims } => table!(
            fbb,
            ReducerOptions,
            ReducerOptionsArgs {
                keep_dims: *keep_dims
            }
        ),
        OperatorKind::StridedSlice { shrink_axis_mask } => table!(
            fbb,
            StridedSliceOptions,
            StridedSliceOptionsArgs {
                shrink_axis_mask: *shrink_axis_mask
            }
        ),
        OperatorKind::Softmax => table!(fbb, SoftmaxOptions, SoftmaxOptionsArgs { beta: 1.0 }),
        OperatorKind::Add { activation } => table!(
            fbb,
            AddOptions,
            AddOptionsArgs {
                fused_activation_function: activation_code(*activation)
            }
        ),
        OperatorKind::Sub => table!(fbb, SubOptions, SubOptionsArgs {}),
        OperatorKind::Mul => table!(fbb, MulOptions, MulOptionsArgs {}),
        OperatorKind::Pad => table!(fbb, PadOptions, PadOptionsArgs {}),
        OperatorKind::SquaredDifference => {
            table!(
                fbb,
                SquaredDifferenceOptions,
                SquaredDifferenceOptionsArgs {}
            )
        }
        OperatorKind::Transpose => table!(fbb, TransposeOptions, TransposeOptionsArgs {}),
        OperatorKind::Relu | OperatorKind::Rsqrt | OperatorKind::Tanh => {
            (BuiltinOptions::NONE, None)
        }
    }
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
        int8_code(self)
            .0
            .variant_name()
            .expect("the schema names every code that is written")
    }
}
