//! Matrix products, arithmetic and reductions.

use super::reader::{ParsedOptions, Reader};
use crate::formats::tflite::options::BuiltinOptions;
use crate::formats::tflite::schema::{self, BuiltinOptions as Kind};
use crate::formats::tflite::tensor_type::TensorType;

/// Matrix products.
pub(super) fn dense(reader: &mut Reader, kind: Kind) -> ParsedOptions {
    let operator = reader.operator;
    Ok(match kind {
        Kind::FullyConnectedOptions => {
            operator
                .builtin_options_as_fully_connected_options()
                .map(|o| BuiltinOptions::FullyConnected {
                    keep_num_dims: o.keep_num_dims(),
                    activation: reader.activation(o.fused_activation_function()),
                    has_unknown_weights: o.weights_format().variant_name().is_none(),
                })
        }
        Kind::BatchMatMulOptions => operator
            .builtin_options_as_batch_mat_mul_options()
            .map(|o| BuiltinOptions::BatchMatMul {
                adj_x: o.adj_x(),
                adj_y: o.adj_y(),
            }),
        _ => None,
    })
}

/// Arithmetic, activations and normalisation.
pub(super) fn elementwise(reader: &mut Reader, kind: Kind) -> ParsedOptions {
    let operator = reader.operator;
    let mut activation = |stored| reader.activation(stored);
    Ok(match kind {
        Kind::AddOptions => {
            operator
                .builtin_options_as_add_options()
                .map(|o| BuiltinOptions::Add {
                    activation: activation(o.fused_activation_function()),
                })
        }
        Kind::SubOptions => {
            operator
                .builtin_options_as_sub_options()
                .map(|o| BuiltinOptions::Sub {
                    activation: activation(o.fused_activation_function()),
                })
        }
        Kind::MulOptions => {
            operator
                .builtin_options_as_mul_options()
                .map(|o| BuiltinOptions::Mul {
                    activation: activation(o.fused_activation_function()),
                })
        }
        Kind::DivOptions => {
            operator
                .builtin_options_as_div_options()
                .map(|o| BuiltinOptions::Div {
                    activation: activation(o.fused_activation_function()),
                })
        }
        Kind::L2NormOptions => {
            operator
                .builtin_options_as_l2_norm_options()
                .map(|o| BuiltinOptions::L2Norm {
                    activation: activation(o.fused_activation_function()),
                })
        }
        Kind::LocalResponseNormalizationOptions => operator
            .builtin_options_as_local_response_normalization_options()
            .map(|o| BuiltinOptions::LocalResponseNormalization {
                radius: o.radius(),
                bias: o.bias(),
                alpha: o.alpha(),
                beta: o.beta(),
            }),
        Kind::SoftmaxOptions => operator
            .builtin_options_as_softmax_options()
            .map(|o| BuiltinOptions::Softmax { beta: o.beta() }),
        Kind::LeakyReluOptions => operator
            .builtin_options_as_leaky_relu_options()
            .map(|o| BuiltinOptions::LeakyRelu { alpha: o.alpha() }),
        Kind::GeluOptions => {
            operator
                .builtin_options_as_gelu_options()
                .map(|o| BuiltinOptions::Gelu {
                    approximate: o.approximate(),
                })
        }
        _ => None,
    })
}

/// Reductions, and operators whose options name a type.
pub(super) fn reductions(reader: &mut Reader, kind: Kind) -> ParsedOptions {
    let operator = reader.operator;
    let tensor_type = |stored: schema::TensorType| TensorType::from_number(stored.0);
    Ok(match kind {
        Kind::ReducerOptions => {
            operator
                .builtin_options_as_reducer_options()
                .map(|o| BuiltinOptions::Reducer {
                    keep_dims: o.keep_dims(),
                })
        }
        Kind::CumsumOptions => {
            operator
                .builtin_options_as_cumsum_options()
                .map(|o| BuiltinOptions::Cumsum {
                    exclusive: o.exclusive(),
                    reverse: o.reverse(),
                })
        }
        Kind::ArgMaxOptions => {
            operator
                .builtin_options_as_arg_max_options()
                .map(|o| BuiltinOptions::ArgMax {
                    output_type: tensor_type(o.output_type()),
                })
        }
        Kind::ArgMinOptions => {
            operator
                .builtin_options_as_arg_min_options()
                .map(|o| BuiltinOptions::ArgMin {
                    output_type: tensor_type(o.output_type()),
                })
        }
        Kind::UniqueOptions => {
            operator
                .builtin_options_as_unique_options()
                .map(|o| BuiltinOptions::Unique {
                    idx_out_type: tensor_type(o.idx_out_type()),
                })
        }
        Kind::ShapeOptions => {
            operator
                .builtin_options_as_shape_options()
                .map(|o| BuiltinOptions::Shape {
                    out_type: tensor_type(o.out_type()),
                })
        }
        Kind::CastOptions => {
            operator
                .builtin_options_as_cast_options()
                .map(|o| BuiltinOptions::Cast {
                    in_data_type: tensor_type(o.in_data_type()),
                    out_data_type: tensor_type(o.out_data_type()),
                })
        }
        Kind::FakeQuantOptions => {
            operator
                .builtin_options_as_fake_quant_options()
                .map(|o| BuiltinOptions::FakeQuant {
                    min: o.min(),
                    max: o.max(),
                    num_bits: o.num_bits(),
                    narrow_range: o.narrow_range(),
                })
        }
        _ => None,
    })
}
