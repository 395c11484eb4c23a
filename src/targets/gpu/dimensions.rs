//! Sizes of tensors as floating-point numbers. Shapes come from an untrusted file: their products must not overflow,
//! but need not be exact.

use crate::formats::tflite::Tensor;

/// Product of the dimensions; 1 if there are none.
pub fn product(shape: &[i32]) -> f64 {
    shape.iter().map(|&d| f64::from(d.max(0))).product()
}

pub fn elements(tensor: &Tensor) -> f64 {
    product(&tensor.shape)
}

/// The last dimension; 1 for a scalar.
pub fn channels(shape: &[i32]) -> f64 {
    shape.last().map_or(1.0, |&d| f64::from(d.max(1)))
}

/// All dimensions but the last.
pub fn rows_of(shape: &[i32]) -> f64 {
    product(&shape[..shape.len().saturating_sub(1)])
}
