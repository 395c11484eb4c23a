//! Sizes of tensors as floating-point numbers: shapes come from a file, and products of them need no exactness
//! here, only no overflow.

use crate::formats::tflite::Tensor;

/// Of dimensions; 1 for none.
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
