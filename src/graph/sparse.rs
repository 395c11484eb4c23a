//! Constants that are stored sparse → the same as dense ones.

use crate::formats::tflite::{Level, Sparsity, Tensor};

/// The values of a sparse tensor as a dense one has them: zeros where the file stores none. `None` for a tensor that is not
/// sparse, and for one whose lists contradict its shape. Linear in the values of a dense tensor, of which a small file may
/// name many; memory besides the result is in proportion to what is stored.
pub fn dense_values(tensor: &Tensor, stored: &[u8]) -> Option<Vec<u8>> {
    let sparsity = tensor.sparsity.as_ref()?;
    let n_bits = usize::try_from(tensor.tensor_type.bits_per_value()?).ok()?;
    let n_bytes = Some(n_bits / 8).filter(|_| n_bits.is_multiple_of(8))?;
    let n_values = usize::try_from(tensor.element_count()?).ok()?;
    if n_values == 0 {
        return None;
    }
    let n_stored = stored.len() / n_bytes;
    let places = places(sparsity, &tensor.shape, n_stored)?;
    let mut dense = vec![0; n_values.checked_mul(n_bytes)?];
    for (at, value) in places.iter().zip(stored.chunks_exact(n_bytes)) {
        let at = at * n_bytes;
        dense.get_mut(at..at + n_bytes)?.copy_from_slice(value);
    }
    (places.len() <= n_stored).then_some(dense)
}

/// Where the stored values are in a dense tensor, in their order. A dimension that is stored in blocks has two levels: one
/// of the blocks, and one within a block.
fn places(sparsity: &Sparsity, shape: &[i32], n_stored: usize) -> Option<Vec<usize>> {
    let Sparsity {
        traversal_order,
        block_map,
        levels,
        ..
    } = sparsity;
    let lengths: Vec<usize> = { shape.iter() }
        .map(|&length| usize::try_from(length).ok())
        .collect::<Option<_>>()?;
    let n_levels = shape.len() + block_map.len();
    if levels.len() != n_levels || traversal_order.len() != n_levels {
        return None;
    }
    let steps: Vec<usize> = (0..lengths.len())
        .map(|axis| lengths[axis + 1..].iter().product())
        .collect();
    // Length and step of each level's dimension, by the dimension.
    let mut sides: Vec<(usize, usize)> = lengths.into_iter().zip(steps).collect();
    for (block, axis) in block_map.iter().enumerate() {
        let of_block = |order: &i32| usize::try_from(*order) == Ok(shape.len() + block);
        let Level::Dense(length) = levels[traversal_order.iter().position(of_block)?] else {
            return None;
        };
        let (whole, step) = sides.get_mut(usize::try_from(*axis).ok()?)?;
        sides_of_block(whole, step, length).map(|side| sides.push(side))?;
    }
    // Outside of lists, a dense level has no more positions than one of them has segments, or than values are stored.
    let segments = levels.iter().map(|level| match level {
        Level::Dense(_) => 0,
        Level::Sparse { segments, .. } => segments.len(),
    });
    let max = segments.fold(n_stored, usize::max);
    let mut is_visited = vec![false; n_levels];
    let mut places = vec![0];
    for (level, order) in levels.iter().zip(traversal_order) {
        let dimension = usize::try_from(*order).ok()?;
        let (length, step) = *sides.get(dimension)?;
        if std::mem::replace(is_visited.get_mut(dimension)?, true) {
            return None;
        }
        places = within(level, &places, length, step, max)?;
    }
    Some(places)
}

/// A dimension becomes that of its blocks; the one within a block.
fn sides_of_block(whole: &mut usize, step: &mut usize, length: usize) -> Option<(usize, usize)> {
    let within = (length, *step);
    if length == 0 || !whole.is_multiple_of(length) {
        return None;
    }
    *whole /= length;
    *step = step.checked_mul(length)?;
    Some(within)
}

/// The places below each of `outer`, along a dimension of this length and step; at most `max`.
fn within(
    level: &Level,
    outer: &[usize],
    length: usize,
    step: usize,
    max: usize,
) -> Option<Vec<usize>> {
    match level {
        Level::Dense(size) => {
            let is_few = outer.len().checked_mul(length)? <= max;
            let below = |&place: &usize| (0..length).map(move |idx| place + idx * step);
            (*size == length && is_few).then(|| outer.iter().flat_map(below).collect())
        }
        Level::Sparse { segments, indices } => {
            let mut places = Vec::with_capacity(indices.len().min(max));
            for (place, ends) in outer.iter().zip(segments.windows(2)) {
                for &idx in indices.get(ends[0] as usize..ends[1] as usize)? {
                    let idx = idx as usize;
                    if idx >= length || places.len() == max {
                        return None;
                    }
                    places.push(place + idx * step);
                }
            }
            (segments.len() == outer.len() + 1).then_some(places)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tflite::TensorType;
    use crate::graph::analysis::fixtures::tensor;

    fn sparse(shape: &[i32], order: &[i32], blocks: &[i32], levels: Vec<Level>) -> Tensor {
        Tensor {
            sparsity: Some(Box::new(Sparsity {
                traversal_order: order.into(),
                block_map: blocks.into(),
                stored_values: None,
                levels,
            })),
            ..tensor(TensorType::Int8, shape)
        }
    }

    /// One matrix by rows, by columns, and in blocks of two by two.
    #[test]
    fn stored_values_are_where_their_lists_say() {
        let dense = [1, 0, 2, 3, 0, 4, 0, 0, 0, 0, 5, 0, 0, 0, 0, 6];
        let rows = Level::Sparse {
            segments: vec![0, 3, 4, 5, 6],
            indices: vec![0, 2, 3, 1, 2, 3],
        };
        let by_rows = sparse(&[4, 4], &[0, 1], &[], vec![Level::Dense(4), rows.clone()]);
        assert_eq!(dense_values(&by_rows, &[1, 2, 3, 4, 5, 6]).unwrap(), dense);
        let blocks = Level::Sparse {
            segments: vec![0, 2, 3],
            indices: vec![0, 1, 1],
        };
        let levels = vec![Level::Dense(2), blocks, Level::Dense(2), Level::Dense(2)];
        let in_blocks = sparse(&[4, 4], &[0, 1, 2, 3], &[0, 1], levels);
        let stored = [1, 0, 0, 4, 2, 3, 0, 0, 5, 0, 0, 6];
        assert_eq!(dense_values(&in_blocks, &stored).unwrap(), dense);
        // By columns: places of one level need not rise.
        let by_columns = sparse(&[4, 4], &[1, 0], &[], vec![Level::Dense(4), rows]);
        let transposed: Vec<u8> = (0..16).map(|idx| dense[idx % 4 * 4 + idx / 4]).collect();
        assert_eq!(
            dense_values(&by_columns, &[1, 2, 3, 4, 5, 6]).unwrap(),
            transposed
        );
    }

    #[test]
    fn lists_that_contradict_the_shape_are_refused() {
        let rows = |segments: &[u32], indices: &[u32]| Level::Sparse {
            segments: segments.into(),
            indices: indices.into(),
        };
        for (levels, order) in [
            (vec![Level::Dense(2), rows(&[0, 1, 2], &[0, 3])], [0, 1]),
            (vec![Level::Dense(2), rows(&[0, 1], &[0])], [0, 1]),
            (vec![Level::Dense(2), rows(&[0, 2, 1], &[0, 1])], [0, 1]),
            (vec![Level::Dense(2), rows(&[0, 1, 9], &[0, 1])], [0, 1]),
            (vec![Level::Dense(9), rows(&[0, 1, 2], &[0, 1])], [0, 1]),
            (vec![Level::Dense(2), rows(&[0, 1, 2], &[0, 1])], [0, 0]),
            (vec![Level::Dense(2), rows(&[0, 1, 2], &[0, 1])], [0, 7]),
            (vec![Level::Dense(2)], [0, 1]),
            // Six values, of which two are stored.
            (vec![Level::Dense(2), Level::Dense(3)], [0, 1]),
        ] {
            let dense = dense_values(&sparse(&[2, 3], &order, &[], levels.clone()), &[1, 2]);
            assert_eq!(dense, None, "{levels:?} {order:?}");
        }
    }
}
