//! Transpositions that a framework executes as a copy: those after which no strides can describe the shape that is
//! read.

use crate::formats::tflite::{OpKind, integers};
use crate::graph::Graph;

/// Minimum rank of a transposition that is executed. Below it, a transposition may be one between channels first and
/// last, or of attention heads, which frameworks do not execute.
const MIN_RANK: usize = 5;

/// By node: whether it is a `TRANSPOSE` whose reader is a `RESHAPE` that cannot be a view of its result, or a product with
/// weights along another dimension. Windows of attention, shuffled channels and mixed tokens are made in this way. Linear in operators and their inputs.
pub(super) fn is_moving_transpose(graph: &Graph) -> Vec<bool> {
    let mut writers = vec![None; graph.subgraph.tensors.len()];
    let mut is_moved = vec![false; graph.nodes.len()];
    for (node_idx, node) in graph.nodes.iter().enumerate() {
        let operator = node.operator;
        let input = operator.inputs.first().copied().flatten();
        let (Some(input), Some(&output)) = (input, operator.outputs.first()) else {
            continue;
        };
        match operator.code.kind {
            OpKind::Transpose => writers[output] = Some(node_idx),
            OpKind::FullyConnected => {
                if let Some(writer) = writers[input] {
                    is_moved[writer] |= !keeps_last(graph, writer);
                }
            }
            OpKind::Reshape => {
                if let Some(writer) = writers[input] {
                    is_moved[writer] |= !is_view(graph, writer, &graph.tensor(output).shape);
                }
            }
            _ => {}
        }
    }
    is_moved
}

/// Whether a transposition leaves the last dimension where it is; true if this is not known. A product reads rows whose
/// values lie one after another.
fn keeps_last(graph: &Graph, transposition: usize) -> bool {
    let inputs = &graph.nodes[transposition].operator.inputs;
    let Some(&Some(order)) = inputs.get(1) else {
        return true;
    };
    let rank = graph.tensor(order).shape.first().copied().unwrap_or(0);
    let last = integers(graph.constant(order)).last();
    last.is_none_or(|axis| rank.checked_sub(1) == Some(axis))
}

/// Whether the result of a transposition can be viewed in another shape without a copy; true if this is not known.
fn is_view(graph: &Graph, transposition: usize, shape: &[i32]) -> bool {
    let inputs = &graph.nodes[transposition].operator.inputs;
    let (Some(&Some(source)), Some(&Some(order))) = (inputs.first(), inputs.get(1)) else {
        return true;
    };
    let sizes = &graph.tensor(source).shape;
    let order = integers(graph.constant(order)).map(|axis| usize::try_from(axis).ok());
    let Some(order) = order.collect::<Option<Vec<usize>>>() else {
        return true;
    };
    if sizes.len() < MIN_RANK || order.len() != sizes.len() {
        return true;
    }
    let mut strides = vec![1i64; sizes.len()];
    for axis in (1..sizes.len()).rev() {
        strides[axis - 1] = strides[axis].saturating_mul(i64::from(sizes[axis].max(1)));
    }
    let turned = order
        .iter()
        .map(|&axis| Some((i64::from(*sizes.get(axis)?), *strides.get(axis)?)));
    let Some(turned) = turned.collect::<Option<Vec<(i64, i64)>>>() else {
        return true;
    };
    has_strides(&turned, shape)
}

/// Whether strides can describe `shape` over the values that `dimensions` (sizes and strides) describe. `shape` may
/// split dimensions, and join dimensions that are contiguous in memory.
fn has_strides(dimensions: &[(i64, i64)], shape: &[i32]) -> bool {
    let mut left = shape.iter().rev().map(|&size| i64::from(size)).peekable();
    let (mut n_joined, mut stride) = (1i64, dimensions.last().map_or(1, |last| last.1));
    for (axis, &(size, _)) in dimensions.iter().enumerate().rev() {
        n_joined = n_joined.saturating_mul(size);
        let outer = axis.checked_sub(1).map(|outer| dimensions[outer]);
        let goes_on =
            |(size, outer): (i64, i64)| size == 1 || outer == n_joined.saturating_mul(stride);
        if outer.is_some_and(goes_on) {
            continue;
        }
        let mut n_taken = 1i64;
        while let Some(&size) = left.peek() {
            if n_taken >= n_joined && size != 1 {
                break;
            }
            n_taken = n_taken.saturating_mul(size);
            left.next();
        }
        if n_taken != n_joined {
            return false;
        }
        (n_joined, stride) = (1, outer.map_or(1, |outer| outer.1));
    }
    true
}

#[cfg(test)]
mod tests {
    use super::has_strides;

    /// Windows of 2 × 2 in a map of 4 × 4 with 3 channels, compared with PyTorch's `view`.
    #[test]
    fn joined_dimensions_have_to_lie_one_after_another() {
        // [2, 2, 2, 2, 3] in its own order, and with the second and third swapped.
        let sizes = [(2, 24), (2, 12), (2, 6), (2, 3), (3, 1)];
        let swapped = [(2, 24), (2, 6), (2, 12), (2, 3), (3, 1)];
        assert!(has_strides(&sizes, &[4, 4, 3]));
        assert!(has_strides(&sizes, &[48]));
        assert!(!has_strides(&swapped, &[4, 4, 3]));
        assert!(has_strides(&swapped, &[2, 2, 2, 6]));
        assert!(has_strides(&swapped, &[2, 1, 2, 2, 2, 3]));
        assert!(!has_strides(&swapped, &[48]));
    }
}
