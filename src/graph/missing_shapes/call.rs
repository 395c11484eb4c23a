//! One operator, with what is known of its inputs.

use std::collections::HashMap;

use crate::formats::tflite::{
    Buffer, Operator, Tensor, TensorType, dimension, integers, long_integers,
};

/// Sizes of dimensions. Those of inputs and the values of constants fit 32 bits, so that sums and products of two of
/// them cannot overflow.
pub type Shape = Vec<i64>;

pub struct Call<'c, 'm> {
    pub tensors: &'c [Tensor],
    pub buffers: &'c [Buffer<'m>],
    /// By tensor: values that were computed from shapes.
    pub computed: &'c HashMap<usize, Vec<i64>>,
    pub operator: &'c Operator,
}

impl<'c> Call<'c, '_> {
    /// An input whose shape is known.
    pub fn tensor(&self, place: usize) -> Option<&'c Tensor> {
        let tensor_idx = self.operator.inputs.get(place).copied().flatten()?;
        let tensor = &self.tensors[tensor_idx];
        tensor.has_rank.then_some(tensor)
    }

    pub fn shape(&self, place: usize) -> Option<Shape> {
        let tensor = self.tensor(place)?;
        Some(tensor.shape.iter().copied().map(i64::from).collect())
    }

    /// The shape of an input with so many dimensions.
    pub fn sizes<const RANK: usize>(&self, place: usize) -> Option<[i64; RANK]> {
        let sizes: &[i32; RANK] = self.tensor(place)?.shape.as_slice().try_into().ok()?;
        Some(sizes.map(i64::from))
    }

    /// Shapes of all inputs that are there; none where one is unknown.
    pub fn shapes(&self) -> Option<Vec<&'c [i32]>> {
        let inputs = self.operator.inputs.iter().flatten();
        let shape = |&tensor_idx: &usize| {
            let tensor = &self.tensors[tensor_idx];
            tensor.has_rank.then_some(tensor.shape.as_slice())
        };
        inputs.map(shape).collect()
    }

    /// The values of an input that says how the operator works, a constant or computed from shapes. All of them fit 32
    /// bits.
    pub fn values(&self, place: usize) -> Option<Vec<i64>> {
        let tensor_idx = self.operator.inputs.get(place).copied().flatten()?;
        if let Some(values) = self.computed.get(&tensor_idx) {
            return Some(values.clone());
        }
        let tensor = self.tensor(place)?;
        let contents = self.buffers.get(tensor.buffer_idx)?.bytes();
        let values: Vec<i64> = match tensor.tensor_type {
            TensorType::Int32 => integers(contents).map(i64::from).collect(),
            TensorType::Int64 => long_integers(contents).collect(),
            _ => return None,
        };
        let is_whole = u64::try_from(values.len()).ok() == tensor.element_count();
        let fit = values.iter().all(|&value| i32::try_from(value).is_ok());
        (is_whole && fit && !values.is_empty()).then_some(values)
    }

    /// The value of an input that has one.
    pub fn value(&self, place: usize) -> Option<i64> {
        match self.values(place)?.as_slice() {
            &[value] => Some(value),
            _ => None,
        }
    }

    /// Pairs of an input `[n, 2]`: what is added or cut in front of a dimension and behind it.
    pub fn pairs(&self, place: usize) -> Option<Vec<[i64; 2]>> {
        let values = self.values(place)?;
        let (pairs, rest) = values.as_chunks::<2>();
        rest.is_empty().then(|| pairs.to_vec())
    }
}

/// Place of a dimension that may be counted from the end.
pub fn axis(axis: i64, rank: usize) -> Option<usize> {
    dimension(i32::try_from(axis).ok()?, rank)
}

/// The quotient of two sizes; none where something is left.
pub fn whole(size: i64, parts: i64) -> Option<i64> {
    (parts > 0 && size % parts == 0).then(|| size / parts)
}

pub fn require(holds: bool) -> Option<()> {
    holds.then_some(())
}
