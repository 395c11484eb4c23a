//! The fields of a tensor's entry → those of a [`Tensor`], or what is wrong with one.

use std::sync::Arc;

use super::document::{Attribute, TensorEntry};
use super::error::ParseError;
use super::limits::MAX_RANK;
use crate::formats::builder::integers;
use crate::formats::distribution::{DEFAULT_ENTROPY_BITS, DEFAULT_ZERO_SHARE};
use crate::formats::shown;
use crate::formats::tflite::{Buffer, Quantization, Tensor, TensorType};

/// The distribution of a constant's values.
#[derive(Clone, Copy)]
pub(super) struct Distribution {
    pub zero_share: f32,
    pub entropy_bits: f32,
}

/// A field of tensor `tensor_idx` that is not as expected.
pub(super) fn invalid(
    entry: &TensorEntry,
    tensor_idx: usize,
    expected: &'static str,
    found: String,
) -> ParseError {
    ParseError::InvalidValue {
        place: format!("tensor `{}` ({tensor_idx})", shown(&entry.name)),
        expected,
        found,
    }
}

/// What was expected, and what was found instead.
type Invalid = (&'static str, String);

pub(super) fn tensor_type(entry: &TensorEntry) -> Result<TensorType, Invalid> {
    let tensor_type = TensorType::from_name(&entry.tensor_type);
    tensor_type.ok_or_else(|| {
        (
            "a type of TFLite, for example int8",
            shown(&entry.tensor_type),
        )
    })
}

pub(super) fn shape(entry: &TensorEntry) -> Result<Vec<i32>, Invalid> {
    (entry.shape.iter())
        .map(|&side| i32::try_from(side).ok().filter(|&side| side >= 0))
        .collect::<Option<Vec<i32>>>()
        .filter(|shape| shape.len() <= MAX_RANK)
        .ok_or_else(|| {
            (
                "at most 32 dimensions from 0 to 2147483647",
                format!("{:?}", &entry.shape.get(..MAX_RANK).unwrap_or(&entry.shape)),
            )
        })
}

/// Checks that the size of `tensor` can be counted.
pub(super) fn check_size(tensor: &Tensor) -> Result<(), Invalid> {
    let has_bytes = tensor.tensor_type.bits_per_value().is_none() || tensor.byte_len().is_some();
    match tensor.element_count() {
        Some(_) if has_bytes => Ok(()),
        _ => Err((
            "a size of less than 2^64 bits",
            format!("{:?}", tensor.shape),
        )),
    }
}

/// Quantisation of the whole tensor; `None` if the entry has no scale.
pub(super) fn quantization(entry: &TensorEntry) -> Result<Option<Arc<Quantization>>, Invalid> {
    let zero_point = entry.zero_point.unwrap_or(0);
    let (values, expected) = match &*entry.tensor_type {
        "int8" => (-128..=127, "a `zero_point` from -128 to 127"),
        "uint8" => (0..=255, "a `zero_point` from 0 to 255"),
        _ => (
            i64::from(i32::MIN)..=i64::from(i32::MAX),
            "a `zero_point` of 32 bits",
        ),
    };
    if !values.contains(&zero_point) {
        return Err((expected, zero_point.to_string()));
    }
    match entry.scale {
        None => Ok(None),
        Some(scale) if scale.is_finite() && scale > 0.0 => Ok(Some(Arc::new(Quantization {
            scale: vec![scale],
            zero_point: vec![zero_point],
            quantized_dimension: 0,
        }))),
        Some(scale) => Err(("a scale above 0", scale.to_string())),
    }
}

/// The stored `values` of an int32 tensor.
pub(super) fn values(values: &Attribute, tensor: &Tensor) -> Result<Buffer<'static>, Invalid> {
    let values = match values {
        Attribute::Integer(value) => std::slice::from_ref(value),
        Attribute::Integers(values) => values,
        other => return Err(("whole numbers as `values`", other.to_string())),
    };
    let narrow = values.iter().map(|&value| i32::try_from(value).ok());
    let narrow: Option<Vec<i32>> = narrow.collect();
    let is_whole = tensor.tensor_type == TensorType::Int32
        && tensor.element_count() == u64::try_from(values.len()).ok();
    match narrow.filter(|_| is_whole) {
        Some(values) => Ok(integers(&values)),
        None => Err((
            "as many int32 `values` as the shape has",
            format!("{values:?}"),
        )),
    }
}

pub(super) fn distribution(entry: &TensorEntry) -> Result<Distribution, Invalid> {
    let zero_share = entry.zero_share.unwrap_or(DEFAULT_ZERO_SHARE);
    let entropy_bits = entry.entropy_bits.unwrap_or(DEFAULT_ENTROPY_BITS);
    if !(0.0..=1.0).contains(&zero_share) {
        return Err(("a `zero_share` from 0 to 1", zero_share.to_string()));
    }
    if !(0.0..=8.0).contains(&entropy_bits) {
        return Err(("`entropy_bits` from 0 to 8", entropy_bits.to_string()));
    }
    Ok(Distribution {
        zero_share,
        entropy_bits,
    })
}
