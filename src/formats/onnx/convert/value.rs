//! Values of an ONNX graph: the tensor or constant that represents each, and what is known about it.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use crate::formats::onnx::limits::{MAX_KNOWN_VALUES, MAX_RANK};
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::Tensor;
use crate::formats::tflite::{Quantization, TensorType};

/// Why a node has no result that could be a value.
pub const NO_SHAPE: &str = "the operands give the result no possible shape";

/// Order of a tensor's dimensions in memory: the stored dimension `j` is the ONNX dimension `perm[j]`.
pub type Perm = Vec<usize>;

/// The value of an ONNX name.
#[derive(Clone, Debug)]
pub struct Value<'a> {
    pub name: Name<'a>,
    /// Element type in ONNX; a tensor that a `DequantizeLinear` reads keeps its 8 bits in TFLite.
    pub tensor_type: TensorType,
    /// In ONNX's order; absent where it is unknown.
    pub shape: Option<Vec<i64>>,
    pub place: Place<'a>,
}

#[derive(Clone, Debug)]
pub enum Place<'a> {
    /// An activation: index of the tensor.
    Tensor { tensor_idx: usize, perm: Perm },
    /// A constant, which becomes a tensor only where an operator reads it.
    Constant(Constant<'a>),
    /// A sequence of values that are known while reading. Copies of a value share it.
    Sequence(Rc<Vec<Rc<Value<'a>>>>),
}

#[derive(Clone, Debug, Default)]
pub struct Constant<'a> {
    /// The values, of small constants; every use shares them.
    pub known: Option<Arc<Known>>,
    /// The tensor with the weights whose distribution is counted.
    pub source: Option<Arc<Tensor<'a>>>,
    /// How many values of the file it has, or was computed from at most.
    pub n_stored: u64,
    /// Type and scales as stored, where a `DequantizeLinear` unpacks it.
    pub stored: Option<Arc<(TensorType, Option<Arc<Quantization>>)>>,
}

/// Values of a small constant, in ONNX's order.
#[derive(Clone, Debug, PartialEq)]
pub enum Known {
    Integers(Vec<i64>),
    Floats(Vec<f64>),
}

impl Known {
    pub fn len(&self) -> usize {
        match self {
            Self::Integers(values) => values.len(),
            Self::Floats(values) => values.len(),
        }
    }
}

impl<'a> Value<'a> {
    pub fn rank(&self) -> Option<usize> {
        Some(self.shape.as_ref()?.len())
    }

    pub fn constant(&self) -> Option<&Constant<'a>> {
        match &self.place {
            Place::Constant(constant) => Some(constant),
            Place::Tensor { .. } | Place::Sequence(_) => None,
        }
    }

    /// The values of a small constant.
    pub fn known(&self) -> Option<&Known> {
        self.constant()?.known.as_deref()
    }

    pub fn is_constant(&self) -> bool {
        self.constant().is_some()
    }

    pub fn tensor_idx(&self) -> Option<usize> {
        match self.place {
            Place::Tensor { tensor_idx, .. } => Some(tensor_idx),
            Place::Constant(_) | Place::Sequence(_) => None,
        }
    }

    /// Of a constant the order of ONNX.
    pub fn perm(&self) -> Option<Perm> {
        match &self.place {
            Place::Tensor { perm, .. } => Some(perm.clone()),
            Place::Constant(_) => Some(identity(self.rank()?)),
            Place::Sequence(_) => None,
        }
    }

    pub fn integers(&self) -> Option<Vec<i64>> {
        match self.known()? {
            Known::Integers(values) => Some(values.clone()),
            Known::Floats(_) => None,
        }
    }

    pub fn floats(&self) -> Option<Vec<f64>> {
        match self.known()? {
            Known::Integers(_) => None,
            Known::Floats(values) => Some(values.clone()),
        }
    }

    /// The only value of a constant of one.
    pub fn number(&self) -> Option<f64> {
        #[allow(clippy::as_conversions)]
        match self.known()? {
            Known::Integers(values) => <[i64; 1]>::try_from(values.as_slice())
                .ok()
                .map(|[one]| one as f64),
            Known::Floats(values) => <[f64; 1]>::try_from(values.as_slice())
                .ok()
                .map(|[one]| one),
        }
    }

    /// The sequence of a value that is one.
    pub fn sequence(&self) -> Option<&Rc<Vec<Rc<Self>>>> {
        match &self.place {
            Place::Sequence(values) => Some(values),
            Place::Tensor { .. } | Place::Constant(_) => None,
        }
    }

    pub fn n_values(&self) -> Option<i64> {
        product(self.shape.as_ref()?)
    }
}

pub fn identity(rank: usize) -> Perm {
    (0..rank).collect()
}

/// Images with the channels last, of this rank.
pub fn channels_last(rank: usize) -> Perm {
    let spatial = 2..rank;
    [0].into_iter()
        .chain(spatial)
        .chain([1])
        .take(rank)
        .collect()
}

/// A shape in the order in which it is stored.
pub fn stored_shape(shape: &[i64], perm: &[usize]) -> Option<Vec<i64>> {
    perm.iter().map(|&axis| shape.get(axis).copied()).collect()
}

pub fn product(shape: &[i64]) -> Option<i64> {
    shape
        .iter()
        .try_fold(1i64, |product, &side| product.checked_mul(side))
}

/// An axis that may be counted from the end.
pub fn axis(axis: i64, rank: usize) -> Option<usize> {
    let rank_wide = i64::try_from(rank).ok()?;
    let from_first = if axis < 0 {
        axis.checked_add(rank_wide)?
    } else {
        axis
    };
    usize::try_from(from_first).ok().filter(|&axis| axis < rank)
}

/// Axes that may be counted from the end; none where one is named twice, which ONNX forbids: a list of axes is then
/// no longer than the rank.
pub fn axes(axes: &[i64], rank: usize) -> Option<Vec<usize>> {
    let mut is_named = vec![false; rank];
    let place = |&at: &i64| {
        let at = axis(at, rank)?;
        let was_named = std::mem::replace(is_named.get_mut(at)?, true);
        (!was_named).then_some(at)
    };
    axes.iter().map(place).collect()
}

/// Whether the values of a tensor of this shape are few enough to be kept. A dimension of 0 counts as 1: there are no
/// values, but loops over the other dimensions still run.
pub fn is_short(shape: &[i64]) -> bool {
    let n = (shape.iter()).try_fold(1i64, |n, &side| n.checked_mul(side.max(1)));
    let n = n.and_then(|n| usize::try_from(n).ok());
    shape.len() <= MAX_RANK && n.is_some_and(|n| n <= MAX_KNOWN_VALUES)
}

/// Position of an ONNX axis among the stored ones.
pub fn stored_axis(axis: usize, perm: &[usize]) -> Option<i32> {
    let position = perm.iter().position(|&other| other == axis)?;
    i32::try_from(position).ok()
}

/// Whether two orders of dimensions give the same order of values. Dimensions of 1 may be at any place.
pub fn same_order(shape: &[i64], one: &[usize], other: &[usize]) -> bool {
    let is_long = |axis: &&usize| shape.get(**axis) != Some(&1);
    one.iter().filter(is_long).eq(other.iter().filter(is_long))
}

/// The broadcast shape of several.
pub fn broadcast(shapes: &[&[i64]]) -> Option<Vec<i64>> {
    let rank = shapes.iter().map(|shape| shape.len()).max()?;
    let mut result = vec![1i64; rank];
    for shape in shapes {
        for (side, result) in shape.iter().rev().zip(result.iter_mut().rev()) {
            match (*side, *result) {
                (one, other) if one == other => {}
                (1, _) => {}
                (_, 1) => *result = *side,
                _ => return None,
            }
        }
    }
    Some(result)
}

/// With dimensions of 1 in front.
pub fn extended_shape(shape: &[i64], rank: usize) -> Vec<i64> {
    let missing = rank.saturating_sub(shape.len());
    std::iter::repeat_n(1, missing)
        .chain(shape.iter().copied())
        .collect()
}

/// The order of dimensions of a reshaped tensor if its values stay in place; `None` if they would have to move. Merging
/// and splitting adjacent dimensions keeps any order.
pub fn reshaped(from: &[i64], perm: &[usize], to: &[i64]) -> Option<Perm> {
    if same_order(from, perm, &identity(from.len())) {
        return Some(identity(to.len()));
    }
    let groups = groups(from, to)?;
    let order: Vec<usize> = perm
        .iter()
        .copied()
        .filter(|&axis| from.get(axis) != Some(&1))
        .collect();
    let mut placed = BTreeMap::new();
    for (group_idx, (old, new)) in groups.into_iter().enumerate() {
        let mut long = old.clone().filter(|&axis| from.get(axis) != Some(&1));
        let Some(first) = long.next() else {
            // Dimensions of 1 alone: the batch stays in front, others behind.
            placed.insert(
                (if group_idx == 0 { 0 } else { usize::MAX }, group_idx),
                new,
            );
            continue;
        };
        let start = order.iter().position(|&axis| axis == first)?;
        let expected = order.iter().skip(start.saturating_add(1)).copied();
        if !long.clone().eq(expected.take(long.count())) {
            return None;
        }
        placed.insert((start.saturating_add(1), group_idx), new);
    }
    Some(placed.into_values().flatten().collect())
}

type Group = (std::ops::Range<usize>, std::ops::Range<usize>);

/// Dimensions of two shapes in groups of equal size.
fn groups(from: &[i64], to: &[i64]) -> Option<Vec<Group>> {
    let (mut groups, mut i, mut j) = (Vec::new(), 0usize, 0usize);
    while i < from.len() || j < to.len() {
        let (start_i, start_j) = (i, j);
        let (mut left, mut right) = (1i64, 1i64);
        loop {
            match left.cmp(&right) {
                _ if i == start_i && i < from.len() => {
                    (left, i) = (left.checked_mul(*from.get(i)?)?, i.checked_add(1)?)
                }
                _ if j == start_j && j < to.len() => {
                    (right, j) = (right.checked_mul(*to.get(j)?)?, j.checked_add(1)?)
                }
                std::cmp::Ordering::Equal => break,
                std::cmp::Ordering::Less => {
                    (left, i) = (left.checked_mul(*from.get(i)?)?, i.checked_add(1)?)
                }
                std::cmp::Ordering::Greater => {
                    (right, j) = (right.checked_mul(*to.get(j)?)?, j.checked_add(1)?)
                }
            }
            if left == 0 || right == 0 {
                return None;
            }
        }
        groups.push((start_i..i, start_j..j));
    }
    Some(groups)
}

pub(super) fn narrow(value: i64) -> Option<i32> {
    i32::try_from(value).ok()
}

pub(super) fn narrow_all(values: &[i64]) -> Option<Vec<i32>> {
    values.iter().map(|&value| narrow(value)).collect()
}

/// A number without a fraction.
pub(super) fn exact_integer(number: f64) -> Option<i64> {
    #[allow(clippy::as_conversions)]
    (number.is_finite() && number.abs() < 9e15).then_some(number as i64)
}

/// The order of dimensions when some of them go away.
pub(super) fn order_without(perm: &[usize], gone: &[usize]) -> Perm {
    let kept = perm.iter().filter(|axis| !gone.contains(axis));
    let lower = |axis: usize| gone.iter().filter(|&&gone| gone < axis).count();
    kept.map(|&axis| axis.saturating_sub(lower(axis))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reshape_keeps_the_order_of_an_image() {
        let nhwc = channels_last(4);
        assert_eq!(nhwc, [0, 2, 3, 1]);
        // To tokens: [n, c, h, w] to [n, c, h * w].
        assert_eq!(
            reshaped(&[2, 8, 4, 4], &nhwc, &[2, 8, 16]),
            Some(vec![0, 2, 1])
        );
        // Channels cut into groups.
        assert_eq!(
            reshaped(&[2, 8, 4, 4], &nhwc, &[2, 2, 4, 4, 4]),
            Some(vec![0, 3, 4, 1, 2])
        );
        // Flattened, values have to move.
        assert_eq!(reshaped(&[2, 8, 4, 4], &nhwc, &[2, 128]), None);
        assert_eq!(reshaped(&[2, 8, 1, 1], &nhwc, &[2, 8]), Some(vec![0, 1]));
        assert_eq!(reshaped(&[1, 8, 4, 4], &nhwc, &[8, 16]), Some(vec![1, 0]));
    }

    #[test]
    fn axes_are_named_once() {
        assert_eq!(axes(&[-1, 0], 4), Some(vec![3, 0]));
        assert_eq!(axes(&[], 0), Some(vec![]));
        for refused in [&[1, -3][..], &[4], &[0; 256]] {
            assert_eq!(axes(refused, 4), None, "{refused:?}");
        }
    }

    #[test]
    fn a_dimension_of_0_does_not_hide_a_long_one() {
        for short in [&[][..], &[0], &[256], &[0, 16, 16], &[1; MAX_RANK]] {
            assert!(is_short(short), "{short:?}");
        }
        for long in [&[257][..], &[0, 257], &[1 << 40, 0], &[i64::MAX; 3]] {
            assert!(!is_short(long), "{long:?}");
        }
        assert!(!is_short(&[1; MAX_RANK + 1]));
    }

    #[test]
    fn axes_and_shapes() {
        assert_eq!(
            (axis(-1, 4), axis(4, 4), axis(-5, 4)),
            (Some(3), None, None)
        );
        assert_eq!(broadcast(&[&[8, 1, 6], &[7, 1]]), Some(vec![8, 7, 6]));
        assert_eq!(broadcast(&[&[2], &[3]]), None);
        assert!(same_order(&[1, 8, 1, 1], &[0, 2, 3, 1], &[0, 1, 2, 3]));
        assert_eq!(stored_axis(1, &[0, 2, 3, 1]), Some(3));
    }
}
