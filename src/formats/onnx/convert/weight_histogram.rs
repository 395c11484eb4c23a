//! The distribution of a file's weights as int8, computed without copying them.

use std::sync::Arc;

use super::Converter;
use super::value::Value;
use crate::formats::onnx::limits::MAX_SAMPLES;
use crate::formats::onnx::proto::{Tensor, tensor_type};
use crate::formats::tflite::TensorType;

impl<'a> Converter<'a> {
    /// Counts of each byte among a constant's weights. Floats are quantised symmetrically to int8, with a scale for
    /// each slice of the first dimension. The default distribution if the file does not have the values.
    pub(super) fn counts_of(&mut self, value: &Value<'a>) -> Arc<[u64; 256]> {
        let source = value
            .constant()
            .and_then(|constant| constant.source.as_deref());
        let Some((source, n_slices)) = source.zip(n_slices(value)) else {
            return self.network.default_counts.clone();
        };
        // The same weights may have many names, and are counted once.
        let key = (source.address(), n_slices);
        if let Some(known) = self.network.counts.get(&key) {
            return known.clone();
        }
        let counts = self
            .float_counts(source, n_slices)
            .unwrap_or_else(|| self.network.default_counts.clone());
        self.network.counts.insert(key, counts.clone());
        counts
    }

    fn float_counts(&mut self, source: &Tensor<'a>, n_slices: usize) -> Option<Arc<[u64; 256]>> {
        let bytes = source.float_bytes();
        if source.is_external || bytes.is_empty() {
            return None;
        }
        self.limits.spend_counted(bytes.len())?;
        let counts = match tensor_type(source.data_type) {
            TensorType::Int8 | TensorType::UInt8 => count_bytes(bytes),
            TensorType::Float32 => count_floats::<4>(bytes, n_slices, f32::from_le_bytes),
            TensorType::Float16 => {
                count_floats::<2>(bytes, n_slices, |b| half::f16::from_le_bytes(b).to_f32())
            }
            TensorType::BFloat16 => {
                count_floats::<2>(bytes, n_slices, |b| half::bf16::from_le_bytes(b).to_f32())
            }
            _ => return None,
        };
        (counts.iter().any(|&n| n > 0)).then(|| Arc::new(counts))
    }
}

/// Slices of a constant that have a scale each; `None` without values.
fn n_slices(value: &Value) -> Option<usize> {
    let shape = value.shape.as_ref()?;
    (value.n_values()? > 0).then_some(())?;
    match shape.len() {
        3.. => usize::try_from(*shape.first()?).ok(),
        _ => Some(1),
    }
}

/// An odd stride, so that a sample covers all channels if their number is even.
fn stride(n_values: usize) -> usize {
    n_values.div_ceil(MAX_SAMPLES).max(1) | 1
}

fn add(counts: &mut [u64; 256], byte: u8) {
    if let Some(count) = counts.get_mut(usize::from(byte)) {
        *count = count.saturating_add(1);
    }
}

fn count_bytes(bytes: &[u8]) -> [u64; 256] {
    let mut counts = [0; 256];
    bytes
        .iter()
        .step_by(stride(bytes.len()))
        .for_each(|&byte| add(&mut counts, byte));
    counts
}

fn count_floats<const N: usize>(
    bytes: &[u8],
    n_slices: usize,
    value: impl Fn([u8; N]) -> f32,
) -> [u64; 256] {
    let mut counts = [0; 256];
    let (values, _) = bytes.as_chunks::<N>();
    let per_slice = values.len().checked_div(n_slices).unwrap_or(0).max(1);
    let stride = stride(values.len());
    let mut offset = 0usize;
    for slice in values.chunks(per_slice) {
        let largest = slice
            .iter()
            .map(|bytes| value(*bytes).abs())
            .fold(0.0, f32::max);
        let scale = if largest > 0.0 && largest.is_finite() {
            127.0 / largest
        } else {
            0.0
        };
        for bytes in slice.iter().skip(offset).step_by(stride) {
            #[allow(clippy::as_conversions)]
            let quantised = (value(*bytes) * scale).round().clamp(-127.0, 127.0) as i8;
            add(&mut counts, quantised.to_le_bytes()[0]);
        }
        // The next slice goes on where the stride leaves this one.
        let rest = slice.len().saturating_sub(offset);
        let left = rest.checked_rem(stride).unwrap_or(0);
        offset = if left == 0 {
            0
        } else {
            stride.saturating_sub(left)
        };
        offset = offset.checked_rem(per_slice).unwrap_or(0);
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_quantised_slice_by_slice() {
        let values = [1.0f32, -0.5, 0.0, 0.25, 100.0, -50.0, 0.0, 25.0];
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let counts = count_floats::<4>(&bytes, 2, f32::from_le_bytes);
        let count_of = |value: i8| counts.get(usize::from(value.to_le_bytes()[0])).copied();
        let actual = [127, -64, 0, 32].map(count_of);
        assert_eq!(actual, [Some(2); 4]);
    }
}
