//! TRANSPOSE. Reproduces `DecomposeTranspose` and `MergeTransposes` of Vela.

use super::lowering::{Lowering, n_elements, within_limits};
use crate::formats::tflite::{BuiltinOptions, OpKind};
use crate::targets::ethos_u::geometry::Hwc;
use crate::targets::ethos_u::layer::UNCHANGED;
use crate::targets::ethos_u::program::{Action, Alias, Operation, Transposition};

impl Lowering<'_> {
    /// Adds one transposition of height, width and channels between feature maps that are seen in these shapes.
    /// Ethos-U85 transposes while it copies; the others are as fast as the memory. Shapes beyond the limits of
    /// registers are moved in several parts.
    pub fn transpose_pass(&mut self, [input, output]: [usize; 2], pass: Pass) {
        let Pass {
            read,
            written,
            order,
        } = pass;
        let (written, repeats) = match self.accelerator.uses_trained_rules {
            true => (written, 1.0),
            false => (within_limits(written), n_parts(read)),
        };
        let operation = Operation {
            seen: Some(Box::new([read; 2])),
            repeats,
            ..self.operation(
                Action::Transpose(Transposition::new(written, order)),
                &[input],
                output,
            )
        };
        self.push(operation);
    }

    /// Adds one transposition after the other.
    pub fn transpose_passes(&mut self, [input, output]: [usize; 2], passes: &[Pass]) {
        let element_bytes = self.element_bytes(input);
        let mut from = input;
        for (idx, &pass) in passes.iter().enumerate() {
            let to = match idx + 1 == passes.len() {
                true => output,
                false => self.linear_map(pass.written, element_bytes),
            };
            self.transpose_pass([from, to], pass);
            from = to;
        }
    }
}

/// A transposition of height, width and channels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pass {
    pub read: Hwc,
    pub written: Hwc,
    /// Dimension `order[k]` becomes dimension `k`.
    pub order: [usize; 3],
}

impl Pass {
    pub fn of(read: Hwc, order: [usize; 3]) -> Self {
        Self {
            read,
            written: order.map(|dimension| read[dimension]),
            order,
        }
    }
}

/// The size of a shape relative to the largest shape that registers allow. It need not be a whole number, because each
/// byte counts once.
fn n_parts(shape: Hwc) -> f64 {
    let held = within_limits(shape);
    let of_sides = shape.iter().zip(held);
    of_sides
        .map(|(&size, held)| size as f64 / held.max(1) as f64)
        .product::<f64>()
        .max(1.0)
}

/// A permutation of up to four dimensions, as Vela performs it: dimension `order[k]` becomes dimension `k`.
#[derive(Clone, Debug, PartialEq)]
struct Permutation {
    order: [usize; 4],
    sizes: [i64; 4],
}

impl Permutation {
    /// `None` for more than four dimensions. `order` holds each dimension once.
    fn of(order: &[i32], sizes: &[i32]) -> Option<Self> {
        let n_added = 4_usize.checked_sub(order.len())?;
        let mut permutation = Self {
            order: [0, 1, 2, 3],
            sizes: [1; 4],
        };
        for (at, (&dimension, &size)) in order.iter().zip(sizes).enumerate() {
            permutation.order[n_added + at] = n_added + usize::try_from(dimension).ok()?;
            permutation.sizes[n_added + at] = size.into();
        }
        Some(permutation)
    }

    /// A sequence of swaps of two positions that sorts the dimensions from the left. If the first of four dimensions is
    /// 1 and stays in place, the other three are swapped directly, and Ethos-U85 (`can_rotate`) permutes them in one
    /// pass. With four dimensions, the hardware swaps the first two, the last two, or the first and the last with the
    /// two between them as one; all other swaps are composed of these.
    fn passes(&self, can_rotate: bool) -> Vec<Pass> {
        let mut sizes = self.sizes;
        let is_of_three = self.order[0] == 0 && sizes[0] == 1;
        if is_of_three && can_rotate {
            let [_, h, w, c] = self.order;
            let [_, read @ ..] = sizes;
            return vec![Pass::of(read, [h - 1, w - 1, c - 1])];
        }
        let mut order = [0, 1, 2, 3];
        let mut passes = Vec::new();
        for at in 0..4 {
            let Some(from) = (at..4).find(|&place| order[place] == self.order[at]) else {
                continue;
            };
            if from == at {
                continue;
            }
            order.swap(at, from);
            let swaps: &[[usize; 2]] = match [at, from] {
                swap if is_of_three => &[swap],
                [0, 2] => &[[2, 3], [0, 3], [2, 3]],
                [1, 3] => &[[0, 1], [0, 3], [0, 1]],
                [1, 2] => &[[0, 1], [2, 3], [0, 3], [2, 3], [0, 1]],
                swap => &[swap],
            };
            for &[first, second] in swaps {
                let [a, b, c, d] = sizes;
                sizes.swap(first, second);
                passes.push(match [first, second] {
                    _ if is_of_three => {
                        let mut order = UNCHANGED;
                        order.swap(first - 1, second - 1);
                        Pass::of([b, c, d], order)
                    }
                    [0, 1] => Pass::of([a, b, c.saturating_mul(d)], [1, 0, 2]),
                    [2, 3] => Pass::of([a.saturating_mul(b), c, d], [0, 2, 1]),
                    _ => Pass::of([a, b.saturating_mul(c), d], [2, 1, 0]),
                });
            }
        }
        passes
    }
}

/// A permutation of dimensions; dimensions that stay adjacent count as one.
#[derive(Clone, Debug, PartialEq)]
pub struct Exchange {
    order: Vec<usize>,
    sizes: Vec<i64>,
    /// The permutation without merged dimensions, for up to four.
    separate: Option<Permutation>,
}

impl Exchange {
    /// `order[k]` is the dimension that becomes dimension `k`. `None` if it is not a permutation.
    fn of(order: &[i32], sizes: &[i32]) -> Option<Self> {
        let separate = Permutation::of(order, sizes);
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
            separate,
        })
    }

    pub fn is_nothing(&self) -> bool {
        self.order.is_sorted()
    }

    /// Transpositions that together make the permutation, each with the shapes of input and output: outer dimensions
    /// count as rows.
    fn passes(&self, can_rotate: bool) -> Vec<Pass> {
        let outer = |sizes: &[i64]| sizes.iter().fold(1, |n: i64, &size| n.saturating_mul(size));
        match (self.order.as_slice(), self.sizes.as_slice()) {
            ([1, 0], &[a, b]) => vec![Pass::of([1, a, b], [0, 2, 1])],
            (&([1, 0, 2] | [0, 2, 1] | [2, 1, 0]), &[a, b, c]) => {
                vec![Pass::of([a, b, c], UNCHANGED.map(|at| self.order[at]))]
            }
            ([_, _, _], &[a, b, c]) if can_rotate => {
                vec![Pass::of([a, b, c], UNCHANGED.map(|at| self.order[at]))]
            }
            // Outer and inner dimensions are moved out of the way and back.
            ([0, 2, 1, 3], &[a, b, c, d]) => {
                let times = |one: i64, other: i64| one.saturating_mul(other);
                vec![
                    Pass::of([a, b, times(c, d)], [1, 0, 2]),
                    Pass::of([times(b, a), c, d], [0, 2, 1]),
                    Pass::of([b, times(a, d), c], [2, 1, 0]),
                    Pass::of([times(c, a), d, b], [0, 2, 1]),
                    Pass::of([c, a, times(b, d)], [1, 0, 2]),
                ]
            }
            _ => {
                let mut order = self.order.clone();
                let mut passes = Vec::new();
                // Sorts backwards: swaps neighbours that are in the wrong order in the result.
                while let Some(at) = (1..order.len()).find(|&at| order[at - 1] > order[at]) {
                    let sizes: Vec<i64> = order.iter().map(|&d| self.sizes[d]).collect();
                    order.swap(at - 1, at);
                    let (first, second) = (sizes[at], sizes[at - 1]);
                    passes.push(match (outer(&sizes[..at - 1]), outer(&sizes[at + 1..])) {
                        (rows, 1) => Pass::of([rows, first, second], [0, 2, 1]),
                        (_, behind) => Pass::of([first, second, behind], [1, 0, 2]),
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

/// One operation for each transposition that the accelerator supports; none if the order in memory does not change.
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
    let can_rotate = lowering.accelerator.is_u85();
    let trained_passes = exchange.passes(can_rotate);
    let passes = match &exchange.separate {
        Some(permutation) if !lowering.accelerator.uses_trained_rules => {
            permutation.passes(can_rotate)
        }
        _ => trained_passes.clone(),
    };
    lowering.program.differs_from_trained_rules |= passes != trained_passes;
    if let ([pass], true) = (
        &passes[..],
        can_rotate && !lowering.accelerator.uses_trained_rules,
    ) && fuse(lowering, [input, output], *pass).is_some()
    {
        return Some(());
    }
    lowering.transpose_passes([input, output], &passes);
    Some(())
}

/// Lets the command that computes `input` on the multipliers write it transposed, if nothing else reads it. `None` if
/// another command has to.
fn fuse(lowering: &mut Lowering, [input, output]: [usize; 2], pass: Pass) -> Option<()> {
    let own = lowering.node_idx;
    let maps = &lowering.program.maps;
    let is_as_stored = [maps[input].shape(), maps[output].shape()] == [pass.read, pass.written];
    if lowering.readers(input) != [own] || maps[input].is_output || !is_as_stored {
        return None;
    }
    let edges = &lowering.graph.edges;
    let of_node = edges[edges.partition_point(|edge| edge.dst < own)..].iter();
    let mut of_node = of_node.take_while(|edge| edge.dst == own);
    let writer = of_node.find(|edge| edge.tensor_idx == input)?.src;
    let operations = &mut lowering.program.operations;
    let behind = operations.partition_point(|operation| operation.node_idx <= writer);
    let operation = operations[..behind].last_mut()?;
    let ifm = maps[*operation.inputs.first()?].shape();
    let [ifm, ofm] = operation.seen().unwrap_or([ifm, pass.read]);
    let can_transpose = matches!(operation.action, Action::Layer(_))
        && operation.outputs[..] == [input]
        && operation.alias == Alias::Separate
        && operation.repeats == 1.0
        && ofm == pass.read;
    if !can_transpose {
        return None;
    }
    operation.seen = Some(Box::new([ifm, ofm]));
    operation.outputs = output.into();
    operation.fused_transpose = Some(Box::new(Transposition::new(pass.written, pass.order)));
    Some(())
}

/// The transpositions of four dimensions on Ethos-U85.
pub fn passes_of_four(order: [usize; 4], sizes: [i64; 4]) -> Vec<Pass> {
    Permutation { order, sizes }.passes(true)
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

    #[test]
    fn permutations_take_as_many_operations_as_vela_prints() {
        // "NPU operators" of Vela 5.2.0 for [4, 16, 24, 32] on Ethos-U55 and Ethos-U85 alike.
        let of_four = [
            ([0, 1, 3, 2], 1),
            ([0, 2, 1, 3], 5),
            ([0, 2, 3, 1], 6),
            ([0, 3, 1, 2], 4),
            ([0, 3, 2, 1], 3),
            ([1, 0, 2, 3], 1),
            ([1, 0, 3, 2], 2),
            ([1, 2, 0, 3], 6),
            ([1, 2, 3, 0], 7),
            ([1, 3, 0, 2], 5),
            ([1, 3, 2, 0], 4),
            ([2, 0, 1, 3], 8),
            ([2, 0, 3, 1], 9),
            ([2, 1, 0, 3], 3),
            ([2, 1, 3, 0], 4),
            ([2, 3, 0, 1], 6),
            ([2, 3, 1, 0], 7),
            ([3, 0, 1, 2], 5),
            ([3, 0, 2, 1], 4),
            ([3, 1, 0, 2], 2),
            ([3, 1, 2, 0], 1),
            ([3, 2, 0, 1], 7),
            ([3, 2, 1, 0], 6),
        ];
        for (order, n_operations) in of_four {
            let permutation = Permutation::of(&order, &[4, 16, 24, 32]).expect("four dimensions");
            for can_rotate in [false, true] {
                assert_eq!(
                    permutation.passes(can_rotate).len(),
                    n_operations,
                    "{order:?}"
                );
            }
        }
        // [16, 24, 32] and [1, 16, 24, 32] on Ethos-U55: one for each swap; Ethos-U85 rotates at once.
        for (order, n_operations) in [
            ([0, 2, 1], 1),
            ([1, 0, 2], 1),
            ([1, 2, 0], 2),
            ([2, 0, 1], 2),
            ([2, 1, 0], 1),
        ] {
            let behind_one = [0, order[0] + 1, order[1] + 1, order[2] + 1];
            let of_three = Permutation::of(&order, &[16, 24, 32]).expect("three dimensions");
            let of_four = Permutation::of(&behind_one, &[1, 16, 24, 32]).expect("four dimensions");
            assert_eq!(of_three, of_four);
            assert_eq!(of_three.passes(false).len(), n_operations, "{order:?}");
            assert_eq!(of_three.passes(true).len(), 1, "{order:?}");
        }
    }

    #[test]
    fn passes_write_the_shapes_that_the_next_one_reads() {
        let permutation =
            Permutation::of(&[0, 2, 1, 3], &[4, 16, 24, 32]).expect("four dimensions");
        let passes = permutation.passes(true);
        assert_eq!(passes[0], Pass::of([4, 16, 24 * 32], [1, 0, 2]));
        assert_eq!(passes[0].written, [16, 4, 24 * 32]);
        assert_eq!(passes[4].read, [24, 4, 16 * 32]);
        assert_eq!(passes[4].written, [4, 24, 16 * 32]);
        let n_elements = |shape: Hwc| shape.iter().product::<i64>();
        for Pass { read, written, .. } in passes {
            assert_eq!(n_elements(read), 4 * 16 * 24 * 32);
            assert_eq!(n_elements(written), 4 * 16 * 24 * 32);
        }
    }
}
