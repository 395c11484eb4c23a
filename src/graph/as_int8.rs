//! A [`Model`] of floats → the same model as full-integer quantisation converts it: int8 activations, inputs and
//! outputs, int8 weights, int32 biases. Estimates for integer-only hardware use it.

use std::sync::Arc;

use crate::formats::builder::{self, N_QUANTIZATIONS};
use crate::formats::tflite::op_row::ShapeRule;
use crate::formats::tflite::{
    Buffer, BuiltinOptions, Format, MAIN_SUBGRAPH, Model, OpKind, Operator, OperatorCode,
    Quantization, Subgraph, Tensor, TensorType,
};

/// The operands that are biases, which stay wider: one number for each output channel.
pub fn biases(operator: &Operator) -> impl Iterator<Item = usize> {
    let positions = operator.code.kind.row().inputs_of(b'b');
    positions.filter_map(|position| operator.inputs.get(position).copied().flatten())
}

/// For each tensor the index of the one whose scale it has. Quantisers give a padded tensor that of its input: compilers
/// fuse a padding only then.
fn scale_sources(subgraph: &Subgraph) -> Vec<usize> {
    let mut scaled_as: Vec<usize> = (0..subgraph.tensors.len()).collect();
    for operator in &subgraph.operators {
        let read = operator.inputs.iter().flatten();
        let n_others = match operator.code.kind {
            kind if kind.row().shape == ShapeRule::Pad => 0,
            kind if builder::COMPARES_STORED.contains(&kind) => 1,
            _ => continue,
        };
        let others = read.clone().skip(1).take(n_others);
        if let Some(&from) = read.clone().next() {
            for &to in others.chain(&operator.outputs) {
                scaled_as[to] = scaled_as[from];
            }
        }
    }
    scaled_as
}

/// Whether a model computes floats, which hardware for integers runs as int8.
pub fn is_float(model: &Model) -> bool {
    let Some(subgraph) = model.subgraphs.get(MAIN_SUBGRAPH) else {
        return false;
    };
    // A quantised network may have floats at its ends.
    let computing =
        (subgraph.operators.iter()).filter(|operator| !operator.code.kind.is_conversion());
    let mut results = computing
        .flat_map(|operator| &operator.outputs)
        .filter_map(|&tensor_idx| subgraph.tensors.get(tensor_idx));
    results.any(|tensor| tensor.tensor_type.is_float())
}

/// Whether activations have been quantised: what computes floats in such a file is what its converter left, and runs so.
pub fn is_quantised(model: &Model) -> bool {
    let Some(subgraph) = model.subgraphs.get(MAIN_SUBGRAPH) else {
        return false;
    };
    let written = subgraph
        .operators
        .iter()
        .flat_map(|operator| &operator.outputs);
    let mut activations = subgraph.inputs.iter().chain(written);
    activations.any(|&tensor_idx| {
        let tensor = subgraph.tensors.get(tensor_idx);
        tensor.is_some_and(|tensor| {
            matches!(
                tensor.tensor_type,
                TensorType::Int8 | TensorType::UInt8 | TensorType::Int16
            ) && tensor.quantization.is_some()
        })
    })
}

/// What [`convert`] replaced in a model.
#[derive(Debug, Default)]
pub struct ReplacedFloats {
    /// By tensor.
    types: Vec<TensorType>,
    /// By tensor index, of those that had one.
    quantizations: Vec<(usize, Arc<Quantization>)>,
    /// Sizes in bytes by buffer index, in the order in which they were replaced.
    n_bytes: Vec<(usize, u64)>,
    /// By operator index.
    operators: Vec<(usize, OperatorCode, BuiltinOptions)>,
}

/// Quantises a model in place: a large network is held once. Linear in tensors and operators.
pub fn convert(model: &mut Model) -> ReplacedFloats {
    let mut floats = ReplacedFloats::default();
    let Some(subgraph) = model.subgraphs.get_mut(MAIN_SUBGRAPH) else {
        return floats;
    };
    let types = |tensor: &Tensor| tensor.tensor_type;
    floats.types = subgraph.tensors.iter().map(types).collect();
    let int8 = subgraph.tensors.iter().map(|tensor| {
        let is_described = || {
            let buffer = model.buffers.get(tensor.buffer_idx);
            matches!(buffer, Some(Buffer::Described { .. }))
        };
        match tensor.tensor_type {
            // Of floats, a quantiser unpacks them first.
            TensorType::Int4 | TensorType::UInt4 if is_described() => TensorType::Int8,
            of_type => quantised(of_type),
        }
    });
    let mut types: Vec<TensorType> = int8.collect();
    for operator in &subgraph.operators {
        for bias in biases(operator) {
            if let Some(of_type) = types
                .get_mut(bias)
                .filter(|of_type| **of_type == TensorType::Int8)
            {
                *of_type = TensorType::Int32;
            }
        }
    }
    let mut known = vec![None; N_QUANTIZATIONS];
    let scaled_as = scale_sources(subgraph);
    for (tensor_idx, (tensor, of_type)) in subgraph.tensors.iter_mut().zip(types).enumerate() {
        let scale_idx = scaled_as[tensor_idx];
        if of_type != tensor.tensor_type {
            tensor.tensor_type = of_type;
            let quantization = match of_type {
                TensorType::Int8 => known[scale_idx % N_QUANTIZATIONS]
                    .get_or_insert_with(|| builder::quantization(of_type, scale_idx))
                    .clone(),
                _ => None,
            };
            let before = std::mem::replace(&mut tensor.quantization, quantization);
            (floats.quantizations).extend(before.map(|quantization| (tensor_idx, quantization)));
            if let Some(Buffer::Described { n_bytes, .. }) = model.buffers.get(tensor.buffer_idx) {
                floats.n_bytes.push((tensor.buffer_idx, *n_bytes));
            }
            builder::resize(&mut model.buffers, tensor);
        }
    }
    for (operator_idx, operator) in subgraph.operators.iter_mut().enumerate() {
        let becomes = match operator.options {
            BuiltinOptions::Cast {
                in_data_type,
                out_data_type,
            } => Some(quantised_cast(&operator.code, in_data_type, out_data_type)),
            // TensorFlow's converter multiplies a float with the reciprocal of a constant. What it left in a file of its own
            // is something else.
            BuiltinOptions::Div { activation } if model.format != Format::Tflite => {
                let divisor = operator.inputs.get(1).copied().flatten();
                let is_constant = divisor.is_some_and(|divisor| {
                    let tensor = subgraph.tensors.get(divisor);
                    let buffer = tensor.and_then(|tensor| model.buffers.get(tensor.buffer_idx));
                    let of_type = floats.types.get(divisor);
                    of_type.is_some_and(|of_type| of_type.is_float())
                        && buffer.is_some_and(|buffer| !buffer.is_empty())
                });
                is_constant.then(|| (OpKind::Mul.into(), BuiltinOptions::Mul { activation }))
            }
            _ => None,
        };
        if let Some((code, options)) = becomes {
            let code = std::mem::replace(&mut operator.code, code);
            let options = std::mem::replace(&mut operator.options, options);
            floats.operators.push((operator_idx, code, options));
        }
    }
    floats
}

impl ReplacedFloats {
    /// Makes the model that [`convert`] changed what it was before.
    pub fn restore(self, model: &mut Model) {
        let Some(subgraph) = model.subgraphs.get_mut(MAIN_SUBGRAPH) else {
            return;
        };
        for (tensor, of_type) in subgraph.tensors.iter_mut().zip(self.types) {
            if tensor.tensor_type != of_type {
                tensor.tensor_type = of_type;
                tensor.quantization = None;
            }
        }
        for (tensor_idx, quantization) in self.quantizations {
            subgraph.tensors[tensor_idx].quantization = Some(quantization);
        }
        // Tensors may share a buffer.
        for (buffer_idx, before) in self.n_bytes.into_iter().rev() {
            if let Buffer::Described { n_bytes, .. } = &mut model.buffers[buffer_idx] {
                *n_bytes = before;
            }
        }
        for (operator_idx, code, options) in self.operators {
            let operator = &mut subgraph.operators[operator_idx];
            (operator.code, operator.options) = (code, options);
        }
    }
}

/// What a cast becomes; other options name no types. Between floats, a cast only renames what is one type then.
fn quantised_cast(
    code: &OperatorCode,
    from: TensorType,
    to: TensorType,
) -> (OperatorCode, BuiltinOptions) {
    let (in_data_type, out_data_type) = (quantised(from), quantised(to));
    if in_data_type == out_data_type {
        return (OpKind::Reshape.into(), BuiltinOptions::Absent);
    }
    let options = BuiltinOptions::Cast {
        in_data_type,
        out_data_type,
    };
    (code.clone(), options)
}

fn quantised(of_type: TensorType) -> TensorType {
    match of_type {
        of_type if of_type.is_float() => TensorType::Int8,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::distribution;
    use crate::graph::analysis::fixtures::{model, operator, subgraph, tensor};

    #[test]
    fn weights_become_bytes_and_biases_words() {
        let shapes: [&[i32]; 4] = [&[1, 4], &[8, 4], &[8], &[1, 8]];
        let mut tensors: Vec<Tensor> = shapes
            .iter()
            .map(|shape| tensor(TensorType::Float32, shape))
            .collect();
        (tensors[1].buffer_idx, tensors[2].buffer_idx) = (1, 2);
        let layer = operator(OpKind::FullyConnected, &[0, 1, 2], &[3]);
        let mut floats = model(vec![subgraph(tensors, vec![layer])]);
        let counts = distribution::counts(0.01, 7.0);
        let described = |n_bytes| Buffer::Described {
            n_bytes,
            counts: counts.clone(),
            n_parameters: n_bytes,
        };
        floats.buffers = vec![Buffer::EMPTY, described(128), described(32)];
        assert!(is_float(&floats));
        let quantization = Arc::new(Quantization {
            scale: vec![0.5],
            zero_point: vec![3],
            quantized_dimension: 0,
        });
        floats.subgraphs[0].tensors[0].quantization = Some(quantization);
        let cast = BuiltinOptions::Cast {
            in_data_type: TensorType::Float16,
            out_data_type: TensorType::Float32,
        };
        floats.subgraphs[0].operators[0].options = cast;
        let before = format!("{floats:?}");
        let mut int8 = floats;
        let replaced = convert(&mut int8);
        let types: Vec<TensorType> = int8.subgraphs[0]
            .tensors
            .iter()
            .map(|tensor| tensor.tensor_type)
            .collect();
        assert_eq!(
            types,
            [
                TensorType::Int8,
                TensorType::Int8,
                TensorType::Int32,
                TensorType::Int8
            ]
        );
        let n_bytes: Vec<u64> = int8.buffers.iter().map(Buffer::n_bytes).collect();
        assert_eq!(n_bytes, [0, 32, 32]);
        let kind = int8.subgraphs[0].operators[0].code.kind;
        assert_eq!(kind, OpKind::Reshape, "a cast between floats");
        replaced.restore(&mut int8);
        assert_eq!(format!("{int8:?}"), before);
    }
}
