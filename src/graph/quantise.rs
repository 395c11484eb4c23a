//! A float [`Model`] → the same model in 8 bits, as quantisation after training would give it.
//!
//! Weights are quantised symmetrically with one scale for each tensor, which is enough for their compressed size.
//! Scales of activations need data to run on and are left at 1: no cost depends on them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use crate::formats::tflite::{Buffer, MAIN_SUBGRAPH, Model, OpKind, Quantization, TensorType};

/// The model has no float32 operators, or its weights are unpacked by separate operators.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a float32 network to quantise, found {found}")]
pub struct NotFloat {
    found: &'static str,
}

impl NotFloat {
    /// Stable kebab-case identifier for programs.
    pub fn kind(&self) -> &'static str {
        "not-float"
    }
}

/// Changes the types of the main subgraph: float32 becomes int8, biases become int32. Linear in tensors and weights.
pub fn quantise(model: &mut Model) -> Result<(), NotFloat> {
    let Model {
        subgraphs, buffers, ..
    } = model;
    let subgraph = &mut subgraphs[MAIN_SUBGRAPH];
    let found = |found| Err(NotFloat { found });
    let unpacks = |kind: OpKind| {
        matches!(
            kind,
            OpKind::Dequantize | OpKind::Quantize | OpKind::FakeQuant
        )
    };
    if (subgraph.operators.iter()).any(|operator| unpacks(operator.code.kind)) {
        return found("one with quantised parts");
    }
    let is_float =
        |tensor_idx: &usize| subgraph.tensors[*tensor_idx].tensor_type == TensorType::Float32;
    let mut outputs = subgraph
        .operators
        .iter()
        .flat_map(|operator| &operator.outputs);
    if !outputs.any(is_float) {
        return found("none of its results in float32");
    }
    let mut is_bias = vec![false; subgraph.tensors.len()];
    for operator in subgraph.operators.iter() {
        let place = match operator.code.kind {
            OpKind::Conv2d | OpKind::DepthwiseConv2d | OpKind::FullyConnected => 2,
            OpKind::TransposeConv => 3,
            _ => continue,
        };
        if let Some(&Some(bias)) = operator.inputs.get(place) {
            is_bias[bias] = true;
        }
    }
    let is_described = |buffer: &Buffer| matches!(buffer, Buffer::Described { .. });
    if buffers.iter().any(is_described) {
        return found("weights without values");
    }
    // Each buffer once, however many tensors share it.
    let mut known: HashMap<usize, (usize, f32)> = HashMap::new();
    for (tensor, is_bias) in subgraph.tensors.iter_mut().zip(is_bias) {
        if tensor.tensor_type != TensorType::Float32 {
            continue;
        }
        if is_bias {
            tensor.tensor_type = TensorType::Int32; // as wide as it was
            continue;
        }
        tensor.tensor_type = TensorType::Int8;
        let (buffer_idx, scale) = *known.entry(tensor.buffer_idx).or_insert_with_key(|&idx| {
            let stored = buffers.get(idx).map(Buffer::bytes);
            let (contents, scale) = quantised(stored.unwrap_or_default());
            if contents.is_empty() {
                return (idx, scale);
            }
            buffers.push(Buffer::Stored(Cow::Owned(contents)));
            (buffers.len() - 1, scale)
        });
        tensor.buffer_idx = buffer_idx;
        tensor.quantization = Some(Arc::new(Quantization {
            scale: vec![scale],
            zero_point: vec![0],
            quantized_dimension: 0,
        }));
    }
    Ok(())
}

/// With the scale, by which the largest magnitude becomes 127.
fn quantised(stored: &[u8]) -> (Vec<u8>, f32) {
    let (words, _) = stored.as_chunks::<4>();
    let values = || words.iter().map(|word| f32::from_le_bytes(*word));
    let finite = values().map(f32::abs).filter(|value| value.is_finite());
    let scale = finite.fold(0.0, f32::max) / 127.0;
    if scale == 0.0 {
        return (vec![0; words.len()], 1.0);
    }
    // The conversion saturates, and NaN becomes 0.
    let contents = values().map(|value| (value / scale).round() as i8 as u8);
    (contents.collect(), scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::analysis::fixtures::{model, operator, subgraph, tensor};

    #[test]
    fn weights_and_results_have_a_byte_each() {
        let shapes: [&[i32]; 4] = [&[1, 3], &[1, 3], &[1], &[1, 1]];
        let mut tensors: Vec<_> = shapes
            .map(|shape| tensor(TensorType::Float32, shape))
            .into();
        (tensors[1].buffer_idx, tensors[2].buffer_idx) = (2, 3);
        let layer = operator(OpKind::FullyConnected, &[0, 1, 2], &[3]);
        let mut network = model(vec![subgraph(tensors, vec![layer])]);
        let weights: Vec<u8> = [0.5f32, -2.0, f32::NAN]
            .iter()
            .flat_map(|w| w.to_le_bytes())
            .collect();
        network
            .buffers
            .extend([weights.as_slice(), &[0; 4]].map(Buffer::from));
        quantise(&mut network).unwrap();
        let tensors = &network.subgraphs[0].tensors;
        let types: Vec<_> = tensors.iter().map(|tensor| tensor.tensor_type).collect();
        use TensorType::{Int8, Int32};
        assert_eq!(types, [Int8, Int8, Int32, Int8]);
        let stored = network.buffers[tensors[1].buffer_idx].bytes();
        assert_eq!(stored, [32i8, -127, 0].map(|value| value as u8));
        assert_eq!(network.buffers[tensors[2].buffer_idx].n_bytes(), 4);
        let error = quantise(&mut network).unwrap_err();
        assert_eq!(error.kind(), "not-float");
    }
}
