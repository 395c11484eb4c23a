//! A [`Model`] of floats → the same model as full-integer quantisation converts it: int8 activations, inputs and
//! outputs, int8 weights, int32 biases. Estimates for integer-only hardware use it.

use std::sync::Arc;

use crate::formats::builder::{self, N_QUANTIZATIONS};
use crate::formats::tflite::{
    BuiltinOptions, Format, MAIN_SUBGRAPH, Model, OpKind, Operator, Subgraph, Tensor, TensorType,
};

/// Inputs with biases, which stay wider, by operator: one for each output channel.
fn bias_input(kind: OpKind) -> Option<usize> {
    match kind {
        OpKind::Conv2d | OpKind::DepthwiseConv2d | OpKind::FullyConnected | OpKind::Conv3d => {
            Some(2)
        }
        OpKind::TransposeConv => Some(3),
        _ => None,
    }
}

/// The quantised model; `None` if `model` computes no floats, or if it is a TFLite file, which is estimated as it is.
/// Linear in tensors and operators.
pub fn as_int8<'m>(model: &Model<'m>) -> Option<Model<'m>> {
    let subgraph = model.subgraphs.get(MAIN_SUBGRAPH)?;
    // A quantised network may have floats at its ends.
    let between_types = [OpKind::Quantize, OpKind::Dequantize, OpKind::Cast];
    let computing =
        (subgraph.operators.iter()).filter(|operator| !between_types.contains(&operator.code.kind));
    let mut results = computing
        .flat_map(|operator| &operator.outputs)
        .filter_map(|&tensor_idx| subgraph.tensors.get(tensor_idx));
    if model.format == Format::Tflite || !results.any(|tensor| tensor.tensor_type.is_float()) {
        return None;
    }
    let mut model = unnamed(model);
    let subgraph = model.subgraphs.get_mut(MAIN_SUBGRAPH)?;
    let mut types: Vec<TensorType> = subgraph
        .tensors
        .iter()
        .map(|tensor| quantised(tensor.tensor_type))
        .collect();
    for operator in subgraph.operators.iter() {
        let bias =
            bias_input(operator.code.kind).and_then(|position| *operator.inputs.get(position)?);
        if let Some(of_type) = bias
            .and_then(|bias| types.get_mut(bias))
            .filter(|of_type| **of_type == TensorType::Int8)
        {
            *of_type = TensorType::Int32;
        }
    }
    let mut known = vec![None; N_QUANTIZATIONS];
    for (tensor_idx, (tensor, of_type)) in subgraph.tensors.iter_mut().zip(types).enumerate() {
        if of_type != tensor.tensor_type {
            tensor.tensor_type = of_type;
            tensor.quantization = match of_type {
                TensorType::Int8 => known[tensor_idx % N_QUANTIZATIONS]
                    .get_or_insert_with(|| builder::quantization(of_type, tensor_idx))
                    .clone(),
                _ => None,
            };
            builder::resize(&mut model.buffers, tensor);
        }
    }
    let is_cast = |operator: &Operator| matches!(operator.options, BuiltinOptions::Cast { .. });
    if subgraph.operators.iter().any(is_cast) {
        for operator in Arc::make_mut(&mut subgraph.operators) {
            quantise_cast(&mut operator.options);
        }
    }
    Some(model)
}

/// A copy in which tensors have no names: estimates do not depend on them, and reports use those of the file.
fn unnamed<'m>(model: &Model<'m>) -> Model<'m> {
    let of_tensor = |tensor: &Tensor| Tensor {
        name: Box::default(),
        shape: tensor.shape.clone(),
        shape_signature: tensor.shape_signature.clone(),
        quantization: tensor.quantization.clone(),
        sparsity: tensor.sparsity.clone(),
        ..*tensor
    };
    let of_subgraph = |subgraph: &Subgraph| Subgraph {
        name: subgraph.name.clone(),
        tensors: subgraph.tensors.iter().map(of_tensor).collect(),
        operators: subgraph.operators.clone(),
        inputs: subgraph.inputs.clone(),
        outputs: subgraph.outputs.clone(),
    };
    Model {
        description: model.description.clone(),
        subgraphs: model.subgraphs.iter().map(of_subgraph).collect(),
        buffers: model.buffers.clone(),
        metadata: model.metadata.clone(),
        signatures: model.signatures.clone(),
        diagnostics: model.diagnostics.clone(),
        ..*model
    }
}

/// Other options name no types.
fn quantise_cast(options: &mut BuiltinOptions) {
    if let BuiltinOptions::Cast {
        in_data_type,
        out_data_type,
    } = options
    {
        (*in_data_type, *out_data_type) = (quantised(*in_data_type), quantised(*out_data_type));
    }
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
    use crate::formats::tflite::Buffer;
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
        };
        floats.buffers = vec![Buffer::EMPTY, described(128), described(32)];
        assert!(as_int8(&floats).is_none(), "a TFLite file is what it says");
        floats.format = Format::Onnx;
        let int8 = as_int8(&floats).unwrap();
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
    }
}
