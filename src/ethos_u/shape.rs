//! Feature maps as accelerators see them.

use super::accelerator::Hwc;
use super::blocks::{SPLIT_DEPTH, round_up};
use crate::graph::Graph;

/// A dimension beyond this is left to the network: NPU registers hold 16 bits.
pub(super) const MAX_DIMENSION: i64 = 1 << 16;

/// Height, width and channels; 1 where there are fewer dimensions, outer ones multiplied into the
/// height, 2^16 at most.
pub(super) fn shape(graph: &Graph, tensor_idx: usize) -> Hwc {
    let shape = &graph.tensor(tensor_idx).shape;
    let dimension = |from_end: usize| {
        let at = shape.len().checked_sub(from_end);
        at.map_or(1, |at| i64::from(shape[at]).clamp(0, MAX_DIMENSION))
    };
    let outer = &shape[..shape.len().saturating_sub(3)];
    let rows = outer.iter().fold(dimension(3), |rows, &size| {
        (rows * i64::from(size).max(0)).min(MAX_DIMENSION)
    });
    [rows, dimension(2), dimension(1)]
}

/// Bytes of an 8-bit feature map in memory: in bricks its channels are whole ones.
pub(super) fn stored_bytes(graph: &Graph, tensor_idx: usize, is_linear: &[bool]) -> f64 {
    let [h, w, c] = shape(graph, tensor_idx);
    let depth = match is_linear[tensor_idx] {
        true => c,
        false => round_up(c, SPLIT_DEPTH),
    };
    (h * w * depth) as f64
}
