//! One operator, with what is known of its inputs.

use std::collections::HashMap;

use self::Unshaped::{Contradiction, Unknown};
use crate::formats::tflite::limits::MAX_LAYOUT_VALUES;
use crate::formats::tflite::{
    Buffer, Operator, Tensor, TensorType, dimension, integers, long_integers,
};
use crate::graph::analysis::shape::element_count;

/// Sizes of dimensions. Those of inputs and the values of constants fit 32 bits, so that sums and products of two of
/// them cannot overflow.
pub type Shape = Vec<i64>;

/// Why the shapes of an operator's results do not follow from its inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unshaped {
    /// The operator has no rule, or its inputs do not determine the shape.
    Unknown,
    /// No kernel supports this combination of inputs; why, in words.
    Contradiction(&'static str),
}

pub type Known<T> = Result<T, Unshaped>;

pub struct OperatorCall<'c, 'm> {
    pub tensors: &'c [Tensor],
    /// By tensor: shapes that replace those of `tensors`; empty where none do.
    pub shapes: &'c [Vec<i32>],
    pub buffers: &'c [Buffer<'m>],
    /// By tensor: values that were computed from shapes.
    pub computed: &'c HashMap<usize, Vec<i64>>,
    pub operator: &'c Operator,
}

impl<'c> OperatorCall<'c, '_> {
    /// The shape of a tensor, where it is known.
    fn known(&self, tensor_idx: usize) -> Option<&'c [i32]> {
        let tensor = &self.tensors[tensor_idx];
        let replaced = self.shapes.get(tensor_idx).unwrap_or(&tensor.shape);
        tensor.has_rank.then_some(replaced)
    }

    /// The shape of an input, as the file has sizes.
    pub fn dimensions(&self, place: usize) -> Known<&'c [i32]> {
        let tensor_idx = self.operator.inputs.get(place).copied().flatten();
        tensor_idx.and_then(|idx| self.known(idx)).ok_or(Unknown)
    }

    pub fn shape(&self, place: usize) -> Known<Shape> {
        let sizes = self.dimensions(place)?.iter();
        Ok(sizes.copied().map(i64::from).collect())
    }

    /// The shape of an input that has so many dimensions in every kernel.
    pub fn sizes<const RANK: usize>(&self, place: usize) -> Known<[i64; RANK]> {
        let sizes = <[i32; RANK]>::try_from(self.dimensions(place)?);
        let sizes = sizes.map_err(|_| Contradiction("an operand's number of dimensions"))?;
        Ok(sizes.map(i64::from))
    }

    /// The number of values of an input.
    pub fn n_values(&self, place: usize) -> Known<i64> {
        let n_values = element_count(self.dimensions(place)?);
        let n_values = n_values.and_then(|n_values| i64::try_from(n_values).ok());
        n_values.ok_or(Unknown)
    }

    /// Refuses an input with another number of values; one that is absent or unknown has none.
    pub fn require_n_values(&self, place: usize, n_values: i64, why: &'static str) -> Known<()> {
        let Ok(sizes) = self.dimensions(place) else {
            return Ok(());
        };
        require(element_count(sizes) == u64::try_from(n_values).ok(), why)
    }

    /// The same for the shape of an input.
    pub fn require_sizes(&self, place: usize, sizes: &[i64], why: &'static str) -> Known<()> {
        match self.shape(place) {
            Ok(inferred) => require(inferred == sizes, why),
            Err(_) => Ok(()),
        }
    }

    /// Shapes of all inputs that are there; none where one is unknown.
    pub fn shapes(&self) -> Known<Vec<&'c [i32]>> {
        let inputs = self.operator.inputs.iter().flatten();
        let shapes = inputs.map(|&tensor_idx| self.known(tensor_idx).ok_or(Unknown));
        shapes.collect()
    }

    /// The values of an input that says how the operator works, a constant or computed from shapes. All of them fit 32
    /// bits. A constant of more than [`MAX_LAYOUT_VALUES`] is no such input.
    pub fn values(&self, place: usize) -> Known<Vec<i64>> {
        let tensor_idx = self.operator.inputs.get(place).copied().flatten();
        if let Some(values) = tensor_idx.and_then(|tensor_idx| self.computed.get(&tensor_idx)) {
            return Ok(values.clone());
        }
        let tensor = &self.tensors[tensor_idx.ok_or(Unknown)?];
        let buffer = self.buffers.get(tensor.buffer_idx).ok_or(Unknown)?;
        if buffer.n_bytes() > (MAX_LAYOUT_VALUES * size_of::<i64>()) as u64 {
            return Err(Unknown);
        }
        let values: Vec<i64> = match tensor.tensor_type {
            TensorType::Int32 => integers(buffer.bytes()).map(i64::from).collect(),
            TensorType::Int64 => long_integers(buffer.bytes()).collect(),
            _ => return Err(Unknown),
        };
        let is_whole = u64::try_from(values.len()).ok() == tensor.element_count();
        let fit = values.iter().all(|&value| i32::try_from(value).is_ok());
        let is_known = is_whole && fit && !values.is_empty();
        is_known.then_some(values).ok_or(Unknown)
    }

    /// The value of an input that has one.
    pub fn value(&self, place: usize) -> Known<i64> {
        match self.values(place)?.as_slice() {
            &[value] => Ok(value),
            _ => Err(Unknown),
        }
    }

    /// Pairs of an input `[n, 2]`: what is added or cut in front of a dimension and behind it.
    pub fn pairs(&self, place: usize) -> Known<Vec<[i64; 2]>> {
        let values = self.values(place)?;
        let (pairs, rest) = values.as_chunks::<2>();
        require(rest.is_empty(), "paddings that are no pairs")?;
        Ok(pairs.to_vec())
    }
}

/// Place of a dimension that may be counted from the end.
pub fn axis(axis: i64, rank: usize) -> Known<usize> {
    let axis = i32::try_from(axis).map_err(|_| Unknown)?;
    dimension(axis, rank).ok_or(Contradiction("an axis beyond the dimensions"))
}

/// The quotient of two sizes; a contradiction where something is left.
pub fn exact_quotient(size: i64, parts: i64, why: &'static str) -> Known<i64> {
    require(parts > 0 && size % parts == 0, why)?;
    Ok(size / parts)
}

pub fn require(holds: bool, why: &'static str) -> Known<()> {
    holds.then_some(()).ok_or(Contradiction(why))
}
