//! A float [`Model`] → the same model in 8 bits, as quantisation after training would give it.
//!
//! Weights are quantised symmetrically with one scale for each tensor, which is enough for their compressed size.
//! Scales of activations need data to run on and are left at 1: [`Model::is_converted`] says that they are assumed.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::analysis::weights::float16;
use super::as_int8;
use super::sparse::dense_values;
use crate::formats::tflite::{
    Buffer, BuiltinOptions, MAIN_SUBGRAPH, Model, OpKind, Operator, Quantization, Subgraph, Tensor,
    TensorType,
};

/// No operator of the model computes floats.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a float network to quantise, found none of its results in floats")]
pub struct NotFloat;

impl NotFloat {
    /// Stable kebab-case identifier for programs.
    pub fn kind(&self) -> &'static str {
        "not-float"
    }
}

/// Changes the types of the main subgraph: floats become int8, biases become int32. What unpacks constants goes
/// ([`unpacking`]), because a converter writes them as they are read, and constants that are stored sparse become dense.
/// What converts between floats and integers becomes a requantisation. Linear in tensors and weights.
pub fn quantise(model: &mut Model) -> Result<(), NotFloat> {
    if !as_int8::is_float(model) {
        return Err(NotFloat);
    }
    model.is_converted = true;
    let dense = dense_constants(model);
    let unpacking = unpacking_with(model, &dense);
    make_dense(model, dense);
    if let Some(subgraph) = model.subgraphs.get_mut(MAIN_SUBGRAPH) {
        unpack_constants(subgraph, &unpacking);
        split_biases(subgraph, &model.buffers);
    }
    let is_described = |buffer: &Buffer| matches!(buffer, Buffer::Described { .. });
    if model.buffers.iter().any(is_described) {
        drop(as_int8::convert(model))
    } else {
        quantise_values(model)
    }
    if let Some(subgraph) = model.subgraphs.get_mut(MAIN_SUBGRAPH) {
        requantise(subgraph);
    }
    Ok(())
}

/// Changes the types of a model whose weights have values.
fn quantise_values(model: &mut Model) {
    let Model {
        subgraphs, buffers, ..
    } = model;
    let Some(subgraph) = subgraphs.get_mut(MAIN_SUBGRAPH) else {
        return;
    };
    let mut is_bias = vec![false; subgraph.tensors.len()];
    for operator in subgraph.operators.iter() {
        for bias in as_int8::biases(operator) {
            if let Some(bias) = is_bias.get_mut(bias) {
                *bias = true;
            }
        }
    }
    // Each buffer once, however many tensors share it.
    let mut known: HashMap<usize, (usize, f32)> = HashMap::new();
    let mut widened: HashMap<usize, usize> = HashMap::new();
    for (tensor, is_bias) in subgraph.tensors.iter_mut().zip(is_bias) {
        let of_type = tensor.tensor_type;
        if !of_type.is_float() {
            continue;
        }
        if is_bias && of_type == TensorType::Float32 {
            tensor.tensor_type = TensorType::Int32; // as wide as it was
            continue;
        }
        if is_bias && of_type == TensorType::Float16 {
            tensor.tensor_type = TensorType::Int32;
            tensor.buffer_idx = *widened.entry(tensor.buffer_idx).or_insert_with_key(|&idx| {
                let halves = buffers
                    .get(idx)
                    .map_or(&[][..], Buffer::bytes)
                    .chunks_exact(2);
                let words = halves.flat_map(|half| float16([half[0], half[1]]).to_le_bytes());
                let words: Vec<u8> = words.collect();
                buffers.push(Buffer::Stored(Cow::Owned(words)));
                buffers.len() - 1
            });
            continue;
        }
        tensor.tensor_type = TensorType::Int8;
        let (buffer_idx, scale) = *known.entry(tensor.buffer_idx).or_insert_with_key(|&idx| {
            let stored = buffers.get(idx).map(Buffer::bytes);
            let (contents, scale) = quantised(of_type, stored.unwrap_or_default());
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
}

/// Bytes of dense constants beyond those that are stored. Networks are pruned by half to 98 %, and those for small devices
/// have fewer weights than this.
const MAX_DENSE_BYTES: u64 = 32 << 20;

/// By tensor.
type DenseConstants = BTreeMap<usize, Vec<u8>>;

/// The constants of the main subgraph that are stored sparse, as dense ones, by tensor: those whose lists tell all places.
fn dense_constants(model: &Model) -> DenseConstants {
    let stored = model.buffers.iter().map(Buffer::n_bytes);
    let stored_bytes = stored.fold(0, u64::saturating_add);
    let mut bytes_left = stored_bytes.saturating_add(MAX_DENSE_BYTES);
    let mut dense = |tensor: &Tensor| {
        tensor.sparsity.as_ref()?;
        bytes_left = bytes_left.checked_sub(tensor.byte_len()?)?;
        dense_values(tensor, model.buffers.get(tensor.buffer_idx)?.bytes())
    };
    let tensors = model.subgraphs.get(MAIN_SUBGRAPH);
    let tensors = tensors.into_iter().flat_map(|one| one.tensors.iter());
    (tensors.enumerate())
        .filter_map(|(tensor_idx, tensor)| Some((tensor_idx, dense(tensor)?)))
        .collect()
}

/// Constants that are stored sparse are stored dense.
fn make_dense(model: &mut Model, dense: DenseConstants) {
    for (tensor_idx, contents) in dense {
        model.buffers.push(Buffer::Stored(Cow::Owned(contents)));
        let tensor = &mut model.subgraphs[MAIN_SUBGRAPH].tensors[tensor_idx];
        tensor.buffer_idx = model.buffers.len() - 1;
        tensor.sparsity = None;
    }
}

/// By operator of the main subgraph, whether it unpacks a constant for others, and goes when the network is quantised.
pub fn unpacking(model: &Model) -> Vec<bool> {
    unpacking_with(model, &dense_constants(model))
}

fn unpacking_with(model: &Model, dense: &DenseConstants) -> Vec<bool> {
    let Some(subgraph) = model.subgraphs.get(MAIN_SUBGRAPH) else {
        return Vec::new();
    };
    let results: HashSet<usize> = subgraph.outputs.iter().copied().collect();
    let is_stored = |tensor: &Tensor| {
        let buffer = model.buffers.get(tensor.buffer_idx);
        buffer.is_some_and(|buffer| !buffer.is_empty())
    };
    // What one operator unpacks, the next may unpack once more.
    let mut constants: HashSet<usize> = HashSet::new();
    let mut goes = |operator: &Operator| {
        let ends = operator.inputs.first().copied().flatten();
        let Some((packed, &unpacked)) = ends.zip(operator.outputs.first()) else {
            return false;
        };
        let is_constant =
            || constants.contains(&packed) || subgraph.tensors.get(packed).is_some_and(is_stored);
        let is_unpacked = match operator.code.kind {
            OpKind::Dequantize => is_constant(),
            OpKind::Densify => dense.contains_key(&packed),
            _ => false,
        };
        let goes = is_unpacked && !results.contains(&unpacked);
        if goes {
            constants.insert(unpacked);
        }
        goes
    };
    subgraph.operators.iter().map(&mut goes).collect()
}

/// The results of operators that unpack constants become those constants.
fn unpack_constants(subgraph: &mut Subgraph, unpacking: &[bool]) {
    let Subgraph {
        tensors, operators, ..
    } = subgraph;
    let going = operators.iter().zip(unpacking).filter(|(_, goes)| **goes);
    for (operator, _) in going {
        let (Some(packed), Some(&unpacked)) = (
            operator.inputs.first().copied().flatten(),
            operator.outputs.first(),
        ) else {
            continue;
        };
        let Tensor {
            tensor_type,
            buffer_idx,
            ref quantization,
            ..
        } = tensors[packed];
        let quantization = quantization.clone();
        let unpacked = &mut tensors[unpacked];
        (unpacked.tensor_type, unpacked.buffer_idx) = (tensor_type, buffer_idx);
        unpacked.quantization = quantization;
    }
    let mut goes = unpacking.iter();
    operators.retain(|_| goes.next() != Some(&true));
}

/// A constant that is a bias of one operator and an ordinary operand of another becomes two: only the bias stays wide.
fn split_biases(subgraph: &mut Subgraph, buffers: &[Buffer]) {
    let Subgraph {
        tensors, operators, ..
    } = subgraph;
    let biases: HashSet<usize> = operators.iter().flat_map(as_int8::biases).collect();
    let mut copies: HashMap<usize, usize> = HashMap::new();
    for operator in operators {
        let mut is_bias = vec![false; operator.inputs.len()];
        for position in operator.code.kind.row().inputs_of(b'b') {
            if let Some(is_bias) = is_bias.get_mut(position) {
                *is_bias = true;
            }
        }
        for (input, is_bias) in operator.inputs.iter_mut().zip(is_bias) {
            let Some(tensor_idx) = input.filter(|idx| !is_bias && biases.contains(idx)) else {
                continue;
            };
            let is_constant = |buffer: &Buffer| !buffer.is_empty();
            if buffers
                .get(tensors[tensor_idx].buffer_idx)
                .is_some_and(is_constant)
            {
                let copy = copies.entry(tensor_idx).or_insert_with(|| {
                    tensors.push(tensors[tensor_idx].clone());
                    tensors.len() - 1
                });
                *input = Some(*copy);
            }
        }
    }
}

/// What converted between floats and integers converts between scales.
fn requantise(subgraph: &mut Subgraph) {
    for operator in &mut subgraph.operators {
        let converts = matches!(
            operator.code.kind,
            OpKind::Dequantize | OpKind::Quantize | OpKind::FakeQuant
        );
        let ends = (operator.inputs.first().copied().flatten()).zip(operator.outputs.first());
        let is_int8 = |idx: usize| subgraph.tensors[idx].tensor_type == TensorType::Int8;
        if converts && ends.is_some_and(|(from, &to)| is_int8(from) && is_int8(to)) {
            operator.code = OpKind::Quantize.into();
            operator.options = BuiltinOptions::Absent;
        }
    }
}

/// With the scale, by which the largest magnitude becomes 127. Other floats than of 16 and 32 bits count as zeros.
fn quantised(of_type: TensorType, stored: &[u8]) -> (Vec<u8>, f32) {
    let n_bytes = match of_type {
        TensorType::Float32 => 4,
        TensorType::Float16 => 2,
        _ => return (vec![0; stored.len() / 2], 1.0),
    };
    let words = stored.chunks_exact(n_bytes);
    let values = || {
        words.clone().map(|word| match *word {
            [a, b] => float16([a, b]),
            [a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
            _ => 0.0,
        })
    };
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

    /// A bias that another operator subtracts from its result.
    #[test]
    fn a_constant_that_is_a_bias_too_has_both_types() {
        use TensorType::{Float32, Int8, Int32};
        let shapes: [&[i32]; 5] = [&[1, 3], &[3, 3], &[3], &[1, 3], &[1, 3]];
        let mut tensors: Vec<_> = shapes.map(|shape| tensor(Float32, shape)).into();
        (tensors[1].buffer_idx, tensors[2].buffer_idx) = (1, 2);
        let layer = operator(OpKind::FullyConnected, &[0, 1, 2], &[3]);
        let subtract = operator(OpKind::Sub, &[3, 2], &[4]);
        let mut network = model(vec![subgraph(tensors, vec![layer, subtract])]);
        network.buffers = vec![
            Buffer::EMPTY,
            Buffer::from(&[0; 36][..]),
            Buffer::from(&[0; 12][..]),
        ];
        quantise(&mut network).unwrap();
        let Subgraph {
            tensors, operators, ..
        } = &network.subgraphs[0];
        let types = |operator: &Operator| -> Vec<TensorType> {
            let inputs = operator.inputs.iter().flatten();
            inputs.map(|&idx| tensors[idx].tensor_type).collect()
        };
        assert_eq!(types(&operators[0]), [Int8, Int8, Int32]);
        assert_eq!(types(&operators[1]), [Int8, Int8]);
    }

    /// Weights and a bias of float16, each behind a `DEQUANTIZE`, become what the same values of float32 become.
    #[test]
    fn unpacked_constants_are_read_as_they_are_stored() {
        use TensorType::{Float16, Float32};
        let values = [0.5f32, -2.0, 1.0];
        let halves: [u16; 3] = [0x3800, 0xC000, 0x3C00];
        let words: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let packed: Vec<u8> = halves.iter().flat_map(|half| half.to_le_bytes()).collect();
        let tensors_of = |types: &[(TensorType, &[i32])]| -> Vec<_> {
            let tensors = types.iter();
            tensors
                .map(|(of_type, shape)| tensor(*of_type, shape))
                .collect()
        };
        let layer = operator(OpKind::FullyConnected, &[0, 1, 2], &[3]);
        let shapes: [&[i32]; 4] = [&[1, 3], &[1, 3], &[3], &[1, 1]];
        let mut tensors = tensors_of(&shapes.map(|shape| (Float32, shape)));
        (tensors[1].buffer_idx, tensors[2].buffer_idx) = (1, 1);
        let mut plain = model(vec![subgraph(tensors.clone(), vec![layer.clone()])]);
        plain.buffers = vec![Buffer::EMPTY, Buffer::from(words.as_slice())];

        (tensors[1].buffer_idx, tensors[2].buffer_idx) = (0, 0);
        tensors.extend(tensors_of(&[(Float16, &[1, 3]), (Float16, &[3])]));
        (tensors[4].buffer_idx, tensors[5].buffer_idx) = (1, 1);
        let unpack = |from, to| operator(OpKind::Dequantize, &[from], &[to]);
        let operators = vec![unpack(4, 1), unpack(5, 2), layer];
        let mut unpacked = model(vec![subgraph(tensors, operators)]);
        unpacked.buffers = vec![Buffer::EMPTY, Buffer::from(packed.as_slice())];
        assert_eq!(unpacking(&unpacked), [true, true, false]);
        quantise(&mut plain).unwrap();
        quantise(&mut unpacked).unwrap();
        let said = |network: &Model| {
            let Subgraph {
                tensors, operators, ..
            } = &network.subgraphs[0];
            assert_eq!(operators.len(), 1);
            let of_layer = operators[0]
                .inputs
                .iter()
                .flatten()
                .chain(&operators[0].outputs);
            let of_tensor = |&idx: &usize| {
                let tensor = &tensors[idx];
                let contents = network.buffers[tensor.buffer_idx].bytes().to_vec();
                (tensor.tensor_type, contents, tensor.quantization.clone())
            };
            of_layer.map(of_tensor).collect::<Vec<_>>()
        };
        assert_eq!(said(&unpacked), said(&plain));
    }
}
