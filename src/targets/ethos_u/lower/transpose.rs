//! TRANSPOSE. Reproduces `DecomposeTranspose` and `MergeTransposes` of Vela.

use super::lowering::{Lowering, n_elements, within_limits};
use crate::formats::tflite::{BuiltinOptions, OpKind};
use crate::targets::ethos_u::geometry::Hwc;
use crate::targets::ethos_u::program::{Action, Alias, Operation};

impl Lowering<'_> {
    /// One transposition of height, width and channels between feature maps that are seen in these shapes.
    /// Ethos-U85 transposes while it copies; the others are as fast as the memory. What is larger than registers hold is
    /// moved in as many parts as make the whole.
    pub fn transpose_pass(&mut self, [input, output]: [usize; 2], [read, written]: [Hwc; 2]) {
        let (written, repeats) = match self.accelerator.is_as_trained {
            true => (written, 1.0),
            false => (within_limits(written), n_parts(read)),
        };
        let operation = Operation {
            seen: Some([read; 2]),
            repeats,
            ..self.operation(Action::Transpose { written }, &[input], output)
        };
        self.push(operation);
    }
}

/// How many times what registers hold of a shape makes the whole: seldom a whole number, so that all bytes count once.
fn n_parts(shape: Hwc) -> f64 {
    let held = within_limits(shape);
    let of_sides = shape.iter().zip(held);
    of_sides
        .map(|(&size, held)| size as f64 / held.max(1) as f64)
        .product::<f64>()
        .max(1.0)
}

/// A permutation of dimensions, of which those that stay adjacent count as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    order: Vec<usize>,
    sizes: Vec<i64>,
}

impl Exchange {
    /// `order[k]` is the dimension that becomes dimension `k`. `None` if it is no permutation.
    fn of(order: &[i32], sizes: &[i32]) -> Option<Self> {
        let mut is_there = vec![false; sizes.len()];
        let mut kept: Vec<usize> = Vec::with_capacity(order.len());
        for &dimension in order {
            let dimension = usize::try_from(dimension)
                .ok()
                .filter(|&d| d < sizes.len())?;
            if std::mem::replace(&mut is_there[dimension], true) {
                return None;
            }
            if sizes[dimension] != 1 {
                kept.push(dimension);
            }
        }
        if is_there.contains(&false) {
            return None;
        }
        // Ranks among the dimensions with more than one element.
        let mut ranked = kept.clone();
        ranked.sort_unstable();
        let mut runs: Vec<(usize, usize)> = Vec::new();
        for &dimension in &kept {
            let rank = ranked.binary_search(&dimension).ok()?;
            match runs.last_mut() {
                Some((first, n)) if *first + *n == rank => *n += 1,
                _ => runs.push((rank, 1)),
            }
        }
        let mut firsts: Vec<(usize, usize)> = runs.clone();
        firsts.sort_unstable();
        let size = |&(first, n): &(usize, usize)| -> i64 {
            let sizes = ranked[first..first + n].iter().map(|&d| sizes[d]);
            n_elements(&sizes.collect::<Vec<_>>())
        };
        Some(Self {
            order: (runs.iter())
                .map(|run| firsts.binary_search(run))
                .collect::<Result<_, _>>()
                .ok()?,
            sizes: firsts.iter().map(size).collect(),
        })
    }

    pub fn is_nothing(&self) -> bool {
        self.order.is_sorted()
    }

    /// Transpositions that together make the permutation, each as the shapes of input and output: outer
    /// dimensions count as rows.
    fn passes(&self, can_rotate: bool) -> Vec<[Hwc; 2]> {
        let outer = |sizes: &[i64]| sizes.iter().fold(1, |n: i64, &size| n.saturating_mul(size));
        let permuted = |sizes: Hwc| [sizes, [0, 1, 2].map(|at| sizes[self.order[at]])];
        match (self.order.as_slice(), self.sizes.as_slice()) {
            ([1, 0], &[a, b]) => vec![[[1, a, b], [1, b, a]]],
            ([1, 0, 2] | [0, 2, 1] | [2, 1, 0], &[a, b, c]) => vec![permuted([a, b, c])],
            ([_, _, _], &[a, b, c]) if can_rotate => vec![permuted([a, b, c])],
            // Outer and inner dimensions are moved out of the way and back.
            ([0, 2, 1, 3], &[a, b, c, d]) => {
                let times = |one: i64, other: i64| one.saturating_mul(other);
                vec![
                    [[a, b, times(c, d)], [b, a, times(c, d)]],
                    [[times(b, a), c, d], [times(b, a), d, c]],
                    [[b, times(a, d), c], [c, times(a, d), b]],
                    [[times(c, a), d, b], [times(c, a), b, d]],
                    [[c, a, times(b, d)], [a, c, times(b, d)]],
                ]
            }
            _ => {
                let mut order = self.order.clone();
                let mut passes = Vec::new();
                // Sorting backwards: of what is to come first, neighbours in the wrong order.
                while let Some(at) = (1..order.len()).find(|&at| order[at - 1] > order[at]) {
                    let sizes: Vec<i64> = order.iter().map(|&d| self.sizes[d]).collect();
                    order.swap(at - 1, at);
                    let (first, second) = (sizes[at], sizes[at - 1]);
                    passes.push(match (outer(&sizes[..at - 1]), outer(&sizes[at + 1..])) {
                        (rows, 1) => [[rows, first, second], [rows, second, first]],
                        (_, behind) => [[first, second, behind], [second, first, behind]],
                    });
                }
                passes.reverse();
                passes
            }
        }
    }
}

/// Whether a TRANSPOSE writes the tensor and only the current operator reads it: Vela then merges both
/// transpositions.
pub fn is_exchanged_before(lowering: &Lowering, tensor_idx: usize) -> bool {
    let own = lowering.node_idx;
    let is_alone = lowering.readers(tensor_idx) == [own];
    let edges = &lowering.graph.edges;
    let of_node = edges[edges.partition_point(|edge| edge.dst < own)..].iter();
    let mut of_node = of_node.take_while(|edge| edge.dst == own);
    let before = of_node.find(|edge| is_alone && edge.tensor_idx == tensor_idx);
    before.is_some_and(|edge| exchange(lowering, edge.src).is_some())
}

/// The permutation of a TRANSPOSE, with that of a BATCH_MATMUL that alone reads it. `None` for other operators,
/// or if the order is unknown.
fn exchange(lowering: &Lowering, node_idx: usize) -> Option<Exchange> {
    let operator = lowering.graph.nodes[node_idx].operator;
    if operator.code.kind != OpKind::Transpose {
        return None;
    }
    let ([Some(input), Some(order)], &[output]) = (&operator.inputs[..], &operator.outputs[..])
    else {
        return None;
    };
    let mut order = lowering.integers(*order);
    if let ([.., last, before_last], true) = (&mut order[..], is_multiplied(lowering, output)) {
        std::mem::swap(last, before_last);
    }
    Exchange::of(&order, &lowering.tensor(*input).shape)
}

/// Whether the only reader of a tensor is a BATCH_MATMUL that multiplies by its columns.
fn is_multiplied(lowering: &Lowering, tensor_idx: usize) -> bool {
    let &[reader] = lowering.readers(tensor_idx) else {
        return false;
    };
    let operator = lowering.graph.nodes[reader].operator;
    let is_second = operator.inputs.get(1) == Some(&Some(tensor_idx))
        && operator.inputs.first() != Some(&Some(tensor_idx));
    is_second
        && matches!(
            operator.options,
            BuiltinOptions::BatchMatMul { adj_y: false, .. }
        )
}

/// One operation for each transposition that the accelerator has; none if memory stays as it is.
pub fn transpose(lowering: &mut Lowering) -> Option<()> {
    let exchange = exchange(lowering, lowering.node_idx)?;
    let (input, output) = (lowering.input(0)?, lowering.output()?);
    if is_multiplied(lowering, output) {
        lowering.program.maps[output].shape.swap(1, 2);
    }
    if exchange.is_nothing() {
        lowering.push(Operation {
            alias: Alias::View,
            ..lowering.operation(Action::View, &[input], output)
        });
        return Some(());
    }
    let passes = exchange.passes(lowering.accelerator.is_u85());
    let element_bytes = lowering.element_bytes(input);
    let mut from = input;
    for (idx, &[read, written]) in passes.iter().enumerate() {
        let to = match idx + 1 == passes.len() {
            true => output,
            false => lowering.linear_map(written, element_bytes),
        };
        lowering.transpose_pass([from, to], [read, written]);
        from = to;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_what_registers_do_not_hold_make_the_whole() {
        assert_eq!(n_parts([1, 128, 32]), 1.0);
        assert_eq!(n_parts([0, 128, 32]), 1.0);
        // [1000, 128, 128, 32] in the order [3, 0, 1, 2].
        assert_eq!(n_parts([1, 1000 * 128 * 128, 32]), 250.0);
    }
}
