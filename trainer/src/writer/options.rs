//! [`OperatorKind`] → options table of the schema.

use Value::{Byte, Float, Int, Ints};
use litecast::formats::tflite::schema::{
    ActivationFunctionType, BuiltinOptions, MirrorPadMode, Padding as PaddingCode, TensorType,
};
use litecast::formats::tflite::{Activation, Padding};
use litecast_tflite_files::options::{Options, Value};

use super::operator_kind::{OperatorKind, Sampling};

/// The operator's table, if it has one. Fields are in the schema's order; those behind the last one that is named have the
/// schema's defaults.
pub fn options(kind: &OperatorKind) -> Options {
    let (table, fields) = match kind {
        OperatorKind::GroupedConv2D {
            stride,
            padding,
            activation,
        } => conv2d(*stride, *padding, [1, 1], *activation),
        OperatorKind::Conv2D {
            stride,
            padding,
            dilation,
            activation,
        } => conv2d(*stride, *padding, *dilation, *activation),
        OperatorKind::DepthwiseConv2D {
            stride,
            padding,
            dilation,
            multiplier,
            activation,
        } => {
            let mut fields = window(*padding, *stride);
            fields.extend([Int(*multiplier), activation_code(*activation)]);
            fields.extend(width_first(*dilation));
            (BuiltinOptions::DepthwiseConv2DOptions, fields)
        }
        OperatorKind::AveragePool2D {
            filter,
            stride,
            padding,
        }
        | OperatorKind::MaxPool2D {
            filter,
            stride,
            padding,
        } => {
            let mut fields = window(*padding, *stride);
            fields.extend(width_first(*filter));
            (BuiltinOptions::Pool2DOptions, fields)
        }
        OperatorKind::FullyConnected {
            keep_num_dims,
            activation,
        } => {
            let plain_weights = Byte(0);
            let keep_num_dims = Byte((*keep_num_dims).into());
            let fields = vec![activation_code(*activation), plain_weights, keep_num_dims];
            (BuiltinOptions::FullyConnectedOptions, fields)
        }
        OperatorKind::Reshape { new_shape } => (
            BuiltinOptions::ReshapeOptions,
            vec![Ints(new_shape.clone())],
        ),
        OperatorKind::BatchMatMul { adj_y } => {
            let adj_x = Byte(0);
            let fields = vec![adj_x, Byte((*adj_y).into())];
            (BuiltinOptions::BatchMatMulOptions, fields)
        }
        OperatorKind::Concatenation { axis } => {
            (BuiltinOptions::ConcatenationOptions, vec![Int(*axis)])
        }
        OperatorKind::Gelu { approximate } => (
            BuiltinOptions::GeluOptions,
            vec![Byte((*approximate).into())],
        ),
        OperatorKind::Mean { keep_dims }
        | OperatorKind::Sum { keep_dims }
        | OperatorKind::ReduceAll { keep_dims }
        | OperatorKind::ReduceAny { keep_dims }
        | OperatorKind::ReduceMax { keep_dims }
        | OperatorKind::ReduceMin { keep_dims } => (
            BuiltinOptions::ReducerOptions,
            vec![Byte((*keep_dims).into())],
        ),
        OperatorKind::StridedSlice { shrink_axis_mask } => {
            let masks_before = vec![Int(0); 4];
            let fields = [masks_before, vec![Int(*shrink_axis_mask)]].concat();
            (BuiltinOptions::StridedSliceOptions, fields)
        }
        OperatorKind::Softmax => (BuiltinOptions::SoftmaxOptions, vec![Float(1.0)]),
        OperatorKind::Add { activation } => (
            BuiltinOptions::AddOptions,
            vec![activation_code(*activation)],
        ),
        OperatorKind::Sub => (BuiltinOptions::SubOptions, vec![]),
        OperatorKind::Mul => (BuiltinOptions::MulOptions, vec![]),
        OperatorKind::Pad => (BuiltinOptions::PadOptions, vec![]),
        OperatorKind::SquaredDifference => (BuiltinOptions::SquaredDifferenceOptions, vec![]),
        OperatorKind::Transpose => (BuiltinOptions::TransposeOptions, vec![]),
        OperatorKind::ArgMax => {
            let fields = vec![Byte(TensorType::INT32.0 as u8)];
            (BuiltinOptions::ArgMaxOptions, fields)
        }
        OperatorKind::DepthToSpace { block } => {
            (BuiltinOptions::DepthToSpaceOptions, vec![Int(*block)])
        }
        OperatorKind::Gather { axis } => (BuiltinOptions::GatherOptions, vec![Int(*axis)]),
        OperatorKind::LeakyRelu { slope_permille } => {
            let slope = Float(*slope_permille as f32 / 1000.0);
            (BuiltinOptions::LeakyReluOptions, vec![slope])
        }
        OperatorKind::MirrorPad { reflect } => {
            let mode = if *reflect {
                MirrorPadMode::REFLECT
            } else {
                MirrorPadMode::SYMMETRIC
            };
            (BuiltinOptions::MirrorPadOptions, vec![Byte(mode.0 as u8)])
        }
        OperatorKind::Pack { axis, n } => (BuiltinOptions::PackOptions, vec![Int(*n), Int(*axis)]),
        OperatorKind::Unpack { axis, n } => {
            (BuiltinOptions::UnpackOptions, vec![Int(*n), Int(*axis)])
        }
        OperatorKind::ResizeBilinear { sampling } => {
            // The first two are not used any more.
            let fields = [vec![Int(0), Int(0)], resize(*sampling)].concat();
            (BuiltinOptions::ResizeBilinearOptions, fields)
        }
        OperatorKind::ResizeNearestNeighbor { sampling } => (
            BuiltinOptions::ResizeNearestNeighborOptions,
            resize(*sampling),
        ),
        OperatorKind::Split { n } => (BuiltinOptions::SplitOptions, vec![Int(*n)]),
        OperatorKind::SplitV { n } => (BuiltinOptions::SplitVOptions, vec![Int(*n)]),
        OperatorKind::Squeeze { axis } => (BuiltinOptions::SqueezeOptions, vec![Ints(vec![*axis])]),
        OperatorKind::Svdf { rank } => {
            let fields = vec![Int(*rank), activation_code(Activation::Relu)];
            (BuiltinOptions::SVDFOptions, fields)
        }
        OperatorKind::TransposeConv { stride, padding } => (
            BuiltinOptions::TransposeConvOptions,
            window(*padding, *stride),
        ),
        OperatorKind::UnidirectionalSequenceLstm => {
            let cell_clip = Float(10.0);
            let fields = vec![activation_code(Activation::Tanh), cell_clip];
            (BuiltinOptions::UnidirectionalSequenceLSTMOptions, fields)
        }
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
        | OperatorKind::Tile => (BuiltinOptions::NONE, vec![]),
    };
    Options {
        is_second: false,
        kind: table.0,
        fields,
    }
}

fn conv2d(
    stride: [i32; 2],
    padding: Padding,
    dilation: [i32; 2],
    activation: Activation,
) -> (BuiltinOptions, Vec<Value>) {
    let mut fields = window(padding, stride);
    fields.push(activation_code(activation));
    fields.extend(width_first(dilation));
    (BuiltinOptions::Conv2DOptions, fields)
}

/// How the tables of all operators with windows begin.
fn window(padding: Padding, stride: [i32; 2]) -> Vec<Value> {
    let padding = match padding {
        Padding::Same => PaddingCode::SAME,
        Padding::Valid => PaddingCode::VALID,
    };
    let [width, height] = width_first(stride);
    vec![Byte(padding.0 as u8), width, height]
}

/// Of a height and a width.
fn width_first([height, width]: [i32; 2]) -> [Value; 2] {
    [Int(width), Int(height)]
}

fn resize(sampling: Sampling) -> Vec<Value> {
    let align_corners = Byte(0);
    let half_pixel_centers = Byte((sampling == Sampling::HalfPixelCenters).into());
    vec![align_corners, half_pixel_centers]
}

fn activation_code(activation: Activation) -> Value {
    let code = match activation {
        Activation::None => ActivationFunctionType::NONE,
        Activation::Relu => ActivationFunctionType::RELU,
        Activation::ReluN1To1 => ActivationFunctionType::RELU_N1_TO_1,
        Activation::Relu6 => ActivationFunctionType::RELU6,
        Activation::Tanh => ActivationFunctionType::TANH,
        Activation::SignBit => ActivationFunctionType::SIGN_BIT,
    };
    Byte(code.0 as u8)
}
