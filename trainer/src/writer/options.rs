//! [`OperatorKind`] → options table of the schema.

use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, WIPOffset};
use litecast::formats::tflite::schema;
use litecast::formats::tflite::{Activation, Padding};
use schema::BuiltinOptions;

use super::operator_kind::{OperatorKind, Sampling};

/// An operator's entry in the union of builtin options.
type Options = (BuiltinOptions, Option<WIPOffset<UnionWIPOffset>>);

/// Creates an options table as a member of the union. Fields that are not named have the schema's defaults.
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
        OperatorKind::GroupedConv2D {
            stride,
            padding,
            activation,
        } => conv2d(*stride, *padding, [1, 1], *activation, fbb),
        OperatorKind::Conv2D {
            stride,
            padding,
            dilation,
            activation,
        } => conv2d(*stride, *padding, *dilation, *activation, fbb),
        OperatorKind::DepthwiseConv2D {
            stride,
            padding,
            dilation,
            multiplier,
            activation,
        } => table!(
            fbb,
            DepthwiseConv2DOptions,
            DepthwiseConv2DOptionsArgs {
                padding: padding_code(*padding),
                stride_h: stride[0],
                stride_w: stride[1],
                depth_multiplier: *multiplier,
                dilation_h_factor: dilation[0],
                dilation_w_factor: dilation[1],
                fused_activation_function: activation_code(*activation),
            }
        ),
        OperatorKind::AveragePool2D {
            filter,
            stride,
            padding,
        }
        | OperatorKind::MaxPool2D {
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
        OperatorKind::Mean { keep_dims }
        | OperatorKind::Sum { keep_dims }
        | OperatorKind::ReduceAll { keep_dims }
        | OperatorKind::ReduceAny { keep_dims }
        | OperatorKind::ReduceMax { keep_dims }
        | OperatorKind::ReduceMin { keep_dims } => table!(
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
        OperatorKind::ArgMax => table!(
            fbb,
            ArgMaxOptions,
            ArgMaxOptionsArgs {
                output_type: schema::TensorType::INT32
            }
        ),
        OperatorKind::DepthToSpace { block } => table!(
            fbb,
            DepthToSpaceOptions,
            DepthToSpaceOptionsArgs { block_size: *block }
        ),
        OperatorKind::Gather { axis } => {
            table!(fbb, GatherOptions, GatherOptionsArgs { axis: *axis })
        }
        OperatorKind::LeakyRelu { slope_permille } => table!(
            fbb,
            LeakyReluOptions,
            LeakyReluOptionsArgs {
                alpha: *slope_permille as f32 / 1000.0
            }
        ),
        OperatorKind::MirrorPad { reflect } => {
            let mode = if *reflect {
                schema::MirrorPadMode::REFLECT
            } else {
                schema::MirrorPadMode::SYMMETRIC
            };
            table!(fbb, MirrorPadOptions, MirrorPadOptionsArgs { mode: mode })
        }
        OperatorKind::Pack { axis, n } => table!(
            fbb,
            PackOptions,
            PackOptionsArgs {
                values_count: *n,
                axis: *axis
            }
        ),
        OperatorKind::Unpack { axis, n } => table!(
            fbb,
            UnpackOptions,
            UnpackOptionsArgs {
                num: *n,
                axis: *axis
            }
        ),
        OperatorKind::ResizeBilinear { sampling } => table!(
            fbb,
            ResizeBilinearOptions,
            ResizeBilinearOptionsArgs {
                half_pixel_centers: *sampling == Sampling::HalfPixelCenters,
            }
        ),
        OperatorKind::ResizeNearestNeighbor { sampling } => table!(
            fbb,
            ResizeNearestNeighborOptions,
            ResizeNearestNeighborOptionsArgs {
                half_pixel_centers: *sampling == Sampling::HalfPixelCenters,
            }
        ),
        OperatorKind::Split { n } => {
            table!(fbb, SplitOptions, SplitOptionsArgs { num_splits: *n })
        }
        OperatorKind::SplitV { n } => {
            table!(fbb, SplitVOptions, SplitVOptionsArgs { num_splits: *n })
        }
        OperatorKind::Squeeze { axis } => {
            let squeeze_dims = Some(fbb.create_vector(&[*axis]));
            table!(
                fbb,
                SqueezeOptions,
                SqueezeOptionsArgs {
                    squeeze_dims: squeeze_dims
                }
            )
        }
        OperatorKind::Svdf { rank } => table!(
            fbb,
            SVDFOptions,
            SVDFOptionsArgs {
                rank: *rank,
                fused_activation_function: schema::ActivationFunctionType::RELU,
            }
        ),
        OperatorKind::TransposeConv { stride, padding } => table!(
            fbb,
            TransposeConvOptions,
            TransposeConvOptionsArgs {
                padding: padding_code(*padding),
                stride_h: stride[0],
                stride_w: stride[1],
            }
        ),
        OperatorKind::UnidirectionalSequenceLstm => table!(
            fbb,
            UnidirectionalSequenceLSTMOptions,
            UnidirectionalSequenceLSTMOptionsArgs {
                fused_activation_function: schema::ActivationFunctionType::TANH,
                cell_clip: 10.0,
            }
        ),
        // No options, or an empty table.
        OperatorKind::Abs
        | OperatorKind::Compare(_)
        | OperatorKind::DetectionPostprocess
        | OperatorKind::Elu
        | OperatorKind::Exp
        | OperatorKind::ExpandDims
        | OperatorKind::HardSwish
        | OperatorKind::Log
        | OperatorKind::Logical(_)
        | OperatorKind::LogicalNot
        | OperatorKind::Logistic
        | OperatorKind::Maximum
        | OperatorKind::Minimum
        | OperatorKind::Neg
        | OperatorKind::PadV2
        | OperatorKind::Prelu
        | OperatorKind::Quantize
        | OperatorKind::Relu
        | OperatorKind::Relu0To1
        | OperatorKind::Relu6
        | OperatorKind::ReluN1To1
        | OperatorKind::ReverseV2
        | OperatorKind::Rsqrt
        | OperatorKind::Select
        | OperatorKind::SelectV2
        | OperatorKind::Slice
        | OperatorKind::Tanh
        | OperatorKind::Tile => (BuiltinOptions::NONE, None),
    }
}

fn conv2d(
    stride: [i32; 2],
    padding: Padding,
    dilation: [i32; 2],
    activation: Activation,
    fbb: &mut FlatBufferBuilder,
) -> Options {
    table!(
        fbb,
        Conv2DOptions,
        Conv2DOptionsArgs {
            padding: padding_code(padding),
            stride_h: stride[0],
            stride_w: stride[1],
            dilation_h_factor: dilation[0],
            dilation_w_factor: dilation[1],
            fused_activation_function: activation_code(activation),
        }
    )
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
