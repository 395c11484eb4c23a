//! Values of constants that have another shape.

use std::borrow::Cow;
use std::sync::Arc;

use super::{MAX_FACTOR, ResizeError};
use crate::formats::tflite::{Buffer, MAIN_SUBGRAPH, Model, Quantization, Tensor};

/// Most bytes of weights that are copied because they are larger than in the file: four times the width of a large
/// network. Tensors may share a buffer, and each has a copy.
const MAX_COPIED_BYTES: u64 = 1 << 29;

/// Takes the shapes for the tensors of the main subgraph. A smaller constant has the first of its old values, a
/// larger one repeats them.
pub fn apply(model: &mut Model, shapes: &[Vec<i32>]) -> Result<(), ResizeError> {
    let Model {
        subgraphs, buffers, ..
    } = model;
    let tensors = &mut subgraphs[MAIN_SUBGRAPH].tensors;
    let resized = resized_constants(tensors, shapes, buffers).ok_or(ResizeError::TooLarge {
        limit_bytes: MAX_COPIED_BYTES,
    })?;
    for (tensor_idx, n_bytes) in resized {
        let tensor = &mut tensors[tensor_idx];
        let contents = with_length(&buffers[tensor.buffer_idx], n_bytes);
        tensor.buffer_idx = buffers.len();
        buffers.push(contents);
    }
    for (tensor, shape) in tensors.iter_mut().zip(shapes) {
        if tensor.shape != *shape {
            set_shape(tensor, shape);
        }
    }
    Ok(())
}

/// The constants that have another shape, with their bytes. None where a size of the new network does not fit.
fn resized_constants(
    tensors: &[Tensor],
    shapes: &[Vec<i32>],
    buffers: &[Buffer],
) -> Option<Vec<(usize, u64)>> {
    let mut resized = Vec::new();
    let mut copied_bytes = 0u64;
    for (tensor_idx, (tensor, shape)) in tensors.iter().zip(shapes).enumerate() {
        if tensor.shape == *shape {
            continue;
        }
        let mut probe = tensor.clone();
        probe.shape.clone_from(shape);
        probe.element_count()?;
        if tensor.tensor_type.bits_per_value().is_none() {
            continue;
        }
        let n_bytes = probe.byte_len()?;
        let stored = buffers.get(tensor.buffer_idx);
        let Some(stored) = stored.filter(|stored| !stored.is_empty()) else {
            continue;
        };
        let is_borrowed = matches!(stored, Buffer::Stored(Cow::Borrowed(_)));
        if n_bytes > stored.n_bytes() || !is_borrowed {
            copied_bytes = copied_bytes.checked_add(n_bytes)?;
        }
        resized.push((tensor_idx, n_bytes));
    }
    (copied_bytes <= MAX_COPIED_BYTES).then_some(resized)
}

fn with_length<'m>(old: &Buffer<'m>, n_bytes: u64) -> Buffer<'m> {
    // Larger ones are refused before.
    let length = usize::try_from(n_bytes).unwrap_or(usize::MAX);
    match old {
        Buffer::Stored(Cow::Borrowed(bytes)) => match bytes.get(..length) {
            Some(first) => Buffer::from(first),
            None => repeated(bytes, length),
        },
        Buffer::Stored(Cow::Owned(bytes)) => repeated(bytes, length),
        Buffer::Described {
            n_bytes: old_bytes,
            counts,
            n_parameters,
        } => {
            let share = n_bytes as f64 / (*old_bytes).max(1) as f64;
            let counts = counts.map(|count| (count as f64 * share).round() as u64);
            Buffer::Described {
                n_bytes,
                counts: Arc::new(counts),
                n_parameters: (*n_parameters as f64 * share).round() as u64,
            }
        }
    }
}

fn repeated(bytes: &[u8], length: usize) -> Buffer<'static> {
    Buffer::Stored(Cow::Owned(
        bytes.iter().copied().cycle().take(length).collect(),
    ))
}

fn set_shape(tensor: &mut Tensor, shape: &[i32]) {
    if let Some(signature) = &mut tensor.shape_signature {
        let known = signature
            .iter_mut()
            .zip(shape)
            .filter(|(size, _)| **size >= 0);
        known.for_each(|(size, new)| *size = *new);
    }
    if let Some(quantization) = &mut tensor.quantization {
        let dimension = usize::try_from(quantization.quantized_dimension).ok();
        let n_channels = dimension.and_then(|dimension| shape.get(dimension));
        let n_channels = n_channels.and_then(|&size| usize::try_from(size).ok());
        let n_scales = quantization.scale.len();
        // A tensor that grows more than its factor allows has scales for another dimension.
        let most = n_scales.saturating_mul(2 * MAX_FACTOR as usize);
        if let Some(n_channels) = n_channels.filter(|&n| n_scales > 1 && n <= most) {
            set_channels(Arc::make_mut(quantization), n_channels);
        }
    }
    tensor.shape = shape.to_vec();
}

fn set_channels(quantization: &mut Quantization, n_channels: usize) {
    let Quantization {
        scale, zero_point, ..
    } = quantization;
    *scale = scale.iter().copied().cycle().take(n_channels).collect();
    *zero_point = zero_point
        .iter()
        .copied()
        .cycle()
        .take(n_channels)
        .collect();
}
