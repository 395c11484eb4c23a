//! The size of the `.tflite` file that is written into flash.

use super::code::Bytes;
use super::structures::keeps_channels;
use crate::formats::tflite::{Model, Subgraph, Tensor, TensorType};

/// The tensors of a subgraph in the file: of one that a converter has yet to write, without constants that nothing reads,
/// which unpacking left behind.
pub fn written_tensors<'m>(
    model: &Model,
    subgraph: &'m Subgraph,
) -> impl Iterator<Item = &'m Tensor> {
    let is_left = |tensor: &Tensor| {
        let buffer = model.buffers.get(tensor.buffer_idx);
        model.is_converted && buffer.is_some_and(|buffer| !buffer.is_empty())
    };
    let mut is_written: Vec<bool> = subgraph.tensors.iter().map(|one| !is_left(one)).collect();
    let operands = subgraph.operators.iter().flat_map(|operator| {
        let inputs = operator.inputs.iter().copied().flatten();
        inputs.chain(operator.outputs.iter().copied())
    });
    let ends = subgraph.inputs.iter().chain(&subgraph.outputs).copied();
    for used in operands.chain(ends) {
        if let Some(is_written) = is_written.get_mut(used) {
            *is_written = true;
        }
    }
    let tensors = subgraph.tensors.iter().zip(is_written);
    tensors.filter_map(|(tensor, is_written)| is_written.then_some(tensor))
}

/// The file as it was read, or an estimate where the network was converted or changed since: then another file has to
/// be written first. Linear in tensors.
pub fn file_bytes(model: &Model) -> Bytes {
    if !model.is_converted && !model.is_reshaped {
        let value = model.file_bytes as u64;
        return Bytes {
            value,
            lo: value,
            hi: value,
        };
    }
    let mut is_counted = vec![false; model.buffers.len()];
    let (mut contents, mut structure) = (0u64, FILE_BYTES);
    let mut add = |n: usize, bytes: u64| structure = structure.saturating_add(n as u64 * bytes);
    for subgraph in &model.subgraphs {
        add(subgraph.operators.len(), OPERATOR_BYTES);
        for tensor in written_tensors(model, subgraph) {
            add(1, TENSOR_BYTES);
            let quantization = tensor.quantization.as_ref();
            add(quantization.map_or(0, |one| one.scale.len()), SCALE_BYTES);
            let buffer = model.buffers.get(tensor.buffer_idx);
            if let Some((buffer, is_counted)) = buffer.zip(is_counted.get_mut(tensor.buffer_idx))
                && !std::mem::replace(is_counted, true)
            {
                let bytes = buffer.n_bytes().checked_next_multiple_of(BUFFER_ALIGNMENT);
                contents = contents.saturating_add(bytes.unwrap_or(u64::MAX));
            }
        }
        // Filters and biases have a scale for each channel, of which a conversion here assumes one.
        for operator in subgraph.operators.iter() {
            let is_convolution = keeps_channels(operator.code.kind);
            let output = operator.outputs.first();
            let output = output.and_then(|&output| subgraph.tensors.get(output));
            let is_int8 = |one: &&Tensor| one.tensor_type == TensorType::Int8;
            let channels = output
                .filter(|_| is_convolution && model.is_converted)
                .filter(is_int8)
                .and_then(|output| usize::try_from(*output.shape.last()?).ok());
            add(channels.unwrap_or(0), 2 * SCALE_BYTES);
        }
    }
    let spread = (structure as f64 * STRUCTURE_SPREAD) as u64;
    let value = contents.saturating_add(structure);
    Bytes {
        value,
        lo: value.saturating_sub(spread),
        hi: value.saturating_add(spread),
    }
}

/// Of files with int8 tensors, fitted by least squares to 27 of them: what stands beside the contents of buffers, of
/// the file, of each operator, of each tensor, and of each scale with its zero point.
const FILE_BYTES: u64 = 343;
const OPERATOR_BYTES: u64 = 68;
const TENSOR_BYTES: u64 = 108;
const SCALE_BYTES: u64 = 14;
const BUFFER_ALIGNMENT: u64 = 16;
/// Names of tensors and metadata make the rest larger or smaller by this share.
const STRUCTURE_SPREAD: f64 = 0.4;
