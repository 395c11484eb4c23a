//! Shapes, in checked arithmetic.

use crate::formats::tflite::Tensor;

/// Number of values of a shape or of a part of one; `None` where it does not fit 64 bits.
pub fn element_count(shape: &[i32]) -> Option<u64> {
    // A zero anywhere makes the product zero, whatever the other dimensions are.
    if shape.contains(&0) {
        return Some(0);
    }
    shape.iter().try_fold(1u64, |count, &dimension| {
        count.checked_mul(u64::try_from(dimension).ok()?)
    })
}

/// Which dimensions are known only at run time, according to the shape signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dynamic {
    Nothing,
    /// The first dimension alone: the batch, in most networks.
    FirstDimension,
    OtherDimensions,
}

/// The last dimension whose size is known only at run time.
pub fn open_axis(tensor: &Tensor) -> Option<usize> {
    let signature = tensor.shape_signature.as_ref()?;
    signature.iter().rposition(|&dimension| dimension < 0)
}

pub fn dynamic(tensor: &Tensor) -> Dynamic {
    match open_axis(tensor) {
        None => Dynamic::Nothing,
        Some(0) => Dynamic::FirstDimension,
        Some(_) => Dynamic::OtherDimensions,
    }
}
