//! TRANSPOSE. Reproduces `DecomposeTranspose` and `MergeTransposes` of Vela.

use super::lowering::{Lowering, n_elements, within_limits};
use super::merged_transpose::Transpose;
use crate::formats::tflite::{BuiltinOptions, OpKind};
use crate::targets::ethos_u::geometry::Hwc;
use crate::targets::ethos_u::layer::UNCHANGED;
use crate::targets::ethos_u::order::Order;
use crate::targets::ethos_u::program::{
    Action, Alias, INT64_BYTES, Operation, Program, Transposition,
};

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
        let (written, repeats) = (within_limits(written), n_parts(read));
        let operation = Operation {
            view_shapes: Some(Box::new([read; 2])),
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
        // Maps of 64-bit values have twice their size: the last dimension of each pass counts halves.
        let element_bytes = self.element_bytes(input);
        let mut from = input;
        for (idx, &pass) in passes.iter().enumerate() {
            let to = match passes.get(idx + 1) {
                None => output,
                // Ethos-U85 has bricks between two passes that see the same shape.
                Some(next) if self.accelerator.is_u85() && next.read == pass.written => {
                    self.map(pass.written, element_bytes)
                }
                Some(_) => self.linear_map(pass.written, element_bytes),
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
    pub fn new(read: Hwc, order: [usize; 3]) -> Self {
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

/// Vela permutes at most this many dimensions.
const MAX_DIMENSIONS: usize = 8;

/// A permutation of dimensions, as Vela performs it: dimension `order[k]` becomes dimension `k`.
#[derive(Clone, Debug, PartialEq)]
struct Permutation {
    order: Vec<usize>,
    sizes: Vec<i64>,
}

impl Permutation {
    /// `None` for more dimensions than Vela permutes. `order` holds each dimension once.
    fn new(order: &[i32], sizes: &[i32]) -> Option<Self> {
        let order = order.iter().map(|&dimension| usize::try_from(dimension));
        Some(Self {
            order: order.collect::<Result<_, _>>().ok()?,
            sizes: sizes.iter().map(|&size| size.into()).collect(),
        })
        .filter(|permutation| permutation.order.len() <= MAX_DIMENSIONS)
    }

    /// The same for values of 64 bits, both halves of which stay beside each other in a dimension behind the others.
    fn of_halves(mut self) -> Self {
        self.order.push(self.order.len());
        self.sizes.push(2);
        self
    }

    fn n_outer(&self) -> usize {
        self.order.len().saturating_sub(3)
    }

    /// Whether one pass suffices if the dimensions before the last three are 1: a swap of two of the last three, or any
    /// permutation of these on Ethos-U85 (`can_rotate`).
    fn is_of_one_pass(&self, can_rotate: bool) -> bool {
        let (outer, inner) = self.order.split_at(self.n_outer());
        let n_moved = (inner.iter().zip(outer.len()..))
            .filter(|&(&from, to)| from != to)
            .count();
        outer.is_sorted()
            && outer.last().is_none_or(|&last| last < outer.len())
            && (can_rotate || n_moved <= 2)
    }

    /// A pass if one suffices, and otherwise a sequence of swaps of two positions that sorts the dimensions from the left.
    fn passes(&self, can_rotate: bool) -> Vec<Pass> {
        let n_outer = self.n_outer();
        let (outer, inner) = self.sizes.split_at(n_outer);
        let is_of_three = outer.iter().all(|&size| size == 1);
        let mut swaps = Swaps {
            sizes: self.sizes.clone(),
            passes: Vec::new(),
        };
        if is_of_three && self.is_of_one_pass(can_rotate) {
            let n_added = 3 - inner.len();
            let mut sizes = [1; 3];
            sizes[n_added..].copy_from_slice(inner);
            let mut order = UNCHANGED;
            for (to, from) in order[n_added..].iter_mut().zip(&self.order[n_outer..]) {
                *to = n_added + from - n_outer;
            }
            return vec![Pass::new(sizes, order)];
        }
        let mut order: Vec<usize> = (0..self.order.len()).collect();
        for at in 0..order.len() {
            let Some(from) = (at..order.len()).find(|&place| order[place] == self.order[at]) else {
                continue;
            };
            if from != at {
                order.swap(at, from);
                swaps.swap(at, from);
            }
        }
        swaps.passes
    }
}

/// The passes that swap dimensions, one pair after the other.
struct Swaps {
    /// Sizes after the passes.
    sizes: Vec<i64>,
    passes: Vec<Pass>,
}

impl Swaps {
    /// Swaps the dimensions at two positions. If the dimensions before the last three are 1, these three are swapped
    /// directly. Otherwise, the hardware swaps the first two positions, the last two, or the first and the last with
    /// everything between them as one; a position elsewhere is moved to an end and back.
    fn swap(&mut self, first: usize, second: usize) {
        let n = self.sizes.len();
        let n_outer = n.saturating_sub(3);
        let is_of_three = self.sizes[..n_outer].iter().all(|&size| size == 1);
        if first >= n_outer && is_of_three {
            let n_added = 3_usize.saturating_sub(n);
            let mut sizes = [1; 3];
            sizes[n_added..].copy_from_slice(&self.sizes[n_outer..]);
            let mut order = UNCHANGED;
            order.swap(first + n_added - n_outer, second + n_added - n_outer);
            self.passes.push(Pass::new(sizes, order));
            self.sizes.swap(first, second);
        } else if [first, second] == [0, 1] {
            self.push_pass([1, 1], [1, 0, 2]);
            self.sizes.swap(0, 1);
        } else if [first, second] == [n - 2, n - 1] {
            self.push_pass([n - 2, 1], [0, 2, 1]);
            self.sizes.swap(first, second);
        } else if first != 0 {
            self.push_pass([first, 1], [1, 0, 2]);
            self.sizes[..=first].rotate_right(1);
            self.swap(0, second);
            self.push_pass([1, first], [1, 0, 2]);
            self.sizes[..=first].rotate_left(1);
        } else if second != n - 1 {
            self.push_pass([second, 1], [0, 2, 1]);
            self.sizes[second..].rotate_left(1);
            self.swap(0, n - 1);
            self.push_pass([second, n - 1 - second], [0, 2, 1]);
            self.sizes[second..].rotate_right(1);
        } else {
            self.push_pass([1, n - 2], [2, 1, 0]);
            self.sizes.swap(first, second);
        }
    }

    /// Adds a pass that sees the first dimensions as one, as many after them as one, and the others as one.
    fn push_pass(&mut self, [n_first, n_second]: [usize; 2], order: [usize; 3]) {
        let (first, others) = self.sizes.split_at(n_first);
        let (second, third) = others.split_at(n_second);
        let sizes = [first, second, third]
            .map(|sizes| sizes.iter().fold(1, |n: i64, &size| n.saturating_mul(size)));
        self.passes.push(Pass::new(sizes, order));
    }
}

/// A permutation of dimensions; dimensions that stay adjacent count as one.
#[derive(Clone, Debug, PartialEq)]
pub struct MergedPermutation {
    order: Vec<usize>,
    sizes: Vec<i64>,
    /// The permutation without merged dimensions.
    separate: Option<Permutation>,
}

impl MergedPermutation {
    /// `order[k]` is the dimension that becomes dimension `k`. `None` if it is not a permutation.
    fn new(order: &[i32], sizes: &[i32]) -> Option<Self> {
        let separate = Permutation::new(order, sizes);
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

    pub fn is_identity(&self) -> bool {
        self.order.is_sorted()
    }

    /// Transpositions that together make the permutation, each with the shapes of input and output: outer dimensions
    /// count as rows.
    fn passes(&self, can_rotate: bool) -> Vec<Pass> {
        let outer = |sizes: &[i64]| sizes.iter().fold(1, |n: i64, &size| n.saturating_mul(size));
        match (self.order.as_slice(), self.sizes.as_slice()) {
            ([1, 0], &[a, b]) => vec![Pass::new([1, a, b], [0, 2, 1])],
            (&([1, 0, 2] | [0, 2, 1] | [2, 1, 0]), &[a, b, c]) => {
                vec![Pass::new([a, b, c], UNCHANGED.map(|at| self.order[at]))]
            }
            ([_, _, _], &[a, b, c]) if can_rotate => {
                vec![Pass::new([a, b, c], UNCHANGED.map(|at| self.order[at]))]
            }
            // Outer and inner dimensions are moved out of the way and back.
            ([0, 2, 1, 3], &[a, b, c, d]) => {
                let times = |one: i64, other: i64| one.saturating_mul(other);
                vec![
                    Pass::new([a, b, times(c, d)], [1, 0, 2]),
                    Pass::new([times(b, a), c, d], [0, 2, 1]),
                    Pass::new([b, times(a, d), c], [2, 1, 0]),
                    Pass::new([times(c, a), d, b], [0, 2, 1]),
                    Pass::new([c, a, times(b, d)], [1, 0, 2]),
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
                        (rows, 1) => Pass::new([rows, first, second], [0, 2, 1]),
                        (_, behind) => Pass::new([first, second, behind], [1, 0, 2]),
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
    let node_idx = lowering.node_idx;
    let is_alone =
        lowering.readers(tensor_idx) == [node_idx] && is_matrix_of_map(lowering, tensor_idx);
    let before = lowering.writer(node_idx, tensor_idx).filter(|_| is_alone);
    before.is_some_and(|before| merged_permutation(lowering, before).is_some())
        && !is_rearranged(lowering, node_idx, tensor_idx)
}

/// Whether the TRANSPOSE that writes a tensor runs before its RESHAPE and leaves another shape than the file's: both
/// transpositions remain, because the shapes between them differ.
fn is_rearranged(lowering: &Lowering, reader: usize, tensor_idx: usize) -> bool {
    let transpose = (lowering.writer(reader, tensor_idx))
        .and_then(|before| transpose_of(lowering, before))
        .filter(|transpose| transpose.is_before_reshape);
    transpose.is_some_and(|Transpose { input, order, .. }| {
        let sizes = &lowering.tensor(input).shape;
        let size = |&from: &i32| usize::try_from(from).ok().and_then(|from| sizes.get(from));
        !order
            .iter()
            .map(size)
            .eq(lowering.tensor(tensor_idx).shape.iter().map(Some))
    })
}

/// The permutation of the TRANSPOSE at a node, with that of a BATCH_MATMUL that alone reads it. `None` for other
/// operators, or if the order is unknown.
fn merged_permutation(lowering: &Lowering, node_idx: usize) -> Option<MergedPermutation> {
    permutation_before_reader(lowering, &transpose_of(lowering, node_idx)?)
}

/// The permutation of a TRANSPOSE, or of several that run as one, before their reader.
fn permutation_before_reader(
    lowering: &Lowering,
    transpose: &Transpose,
) -> Option<MergedPermutation> {
    let mut order = transpose.order.clone();
    if let ([.., last, before_last], true) =
        (&mut order[..], is_multiplied(lowering, transpose.output))
    {
        std::mem::swap(last, before_last);
    }
    MergedPermutation::new(&order, &lowering.tensor(transpose.input).shape)
}

/// The TRANSPOSE at a node, in the shape in which it runs; `None` for other operators.
fn transpose_of(lowering: &Lowering, node_idx: usize) -> Option<Transpose> {
    let transpose = transpose_in_file(lowering, node_idx)?;
    let before = lowering.writer(node_idx, transpose.input);
    Some(match before {
        Some(before) => before_reshape(lowering, [before, node_idx]).unwrap_or(transpose),
        None => transpose,
    })
}

fn transpose_in_file(lowering: &Lowering, node_idx: usize) -> Option<Transpose> {
    let operator = lowering.graph.nodes[node_idx].operator;
    match (
        operator.code.kind,
        &operator.inputs[..],
        &operator.outputs[..],
    ) {
        (OpKind::Transpose, &[Some(input), Some(order)], &[output]) => Some(Transpose {
            input,
            order: lowering.integers(order),
            output,
            is_before_reshape: false,
        }),
        _ => None,
    }
}

/// Whether the current operator is a RESHAPE behind which its only reader, a TRANSPOSE, runs first.
pub fn is_behind_transpose(lowering: &Lowering) -> bool {
    let readers = lowering.output().map(|output| lowering.readers(output));
    matches!(readers, Some(&[reader]) if before_reshape(lowering, [lowering.node_idx, reader]).is_some())
}

/// The TRANSPOSE behind a RESHAPE that only adds and drops dimensions of 1, in the shape before it: the other dimensions
/// move as they do in the file, those of 1 stay. `None` for other operators, if something else reads what is between
/// them, or if the order in memory stays the same.
fn before_reshape(lowering: &Lowering, [reshape, node_idx]: [usize; 2]) -> Option<Transpose> {
    let operator = lowering.graph.nodes[reshape].operator;
    let is_left = lowering.is_left[reshape] || lowering.is_left[node_idx];
    let is_reshape = operator.code.kind == OpKind::Reshape && !is_left;
    let &Some(input) = operator.inputs.first().filter(|_| is_reshape)? else {
        return None;
    };
    let transpose = transpose_in_file(lowering, node_idx).filter(Transpose::is_valid)?;
    let is_alone = lowering.readers(transpose.input) == [node_idx]
        && !lowering.program.maps[transpose.input].is_output;
    let [before, behind] = [input, transpose.input].map(|tensor_idx| {
        let sizes = lowering.tensor(tensor_idx).shape.iter().zip(0..);
        sizes.filter(|&(&size, _)| size != 1).collect::<Vec<_>>()
    });
    let is_same = before
        .iter()
        .map(|&(size, _)| size)
        .eq(behind.iter().map(|&(size, _)| size));
    let place = |dimension: &i32| {
        let rank = behind.iter().position(|(_, at)| at == dimension)?;
        before.get(rank).map(|&(_, at)| at)
    };
    let mut moved: Vec<i32> = transpose.order.iter().filter_map(place).collect();
    if !is_alone || !is_same || moved.is_sorted() {
        return None;
    }
    moved.reverse();
    let sizes = lowering.tensor(input).shape.iter().zip(0..);
    let order = sizes.map(|(&size, at)| if size == 1 { Some(at) } else { moved.pop() });
    Some(Transpose {
        input,
        order: order.collect::<Option<_>>()?,
        output: transpose.output,
        is_before_reshape: true,
    })
}

/// Whether the accelerator transposes at both nodes and nothing but the second one reads the result of the first one, so
/// that the second operation does both.
fn is_merged(lowering: &Lowering, [before, behind]: [usize; 2]) -> bool {
    let on_npu = |node_idx: usize| {
        transpose_of(lowering, node_idx)
            .filter(|transpose| !lowering.is_left[node_idx] && transpose.is_valid())
    };
    let (Some(before), Some(_)) = (on_npu(before), on_npu(behind)) else {
        return false;
    };
    lowering.readers(before.output) == [behind]
        && !before.is_before_reshape
        && !lowering.program.maps[before.output].is_output
}

/// The TRANSPOSE at the current node with those before it that it does too.
fn merged_transpose(lowering: &mut Lowering) -> Option<Transpose> {
    let transpose = transpose_of(lowering, lowering.node_idx)?;
    Some(match lowering.merged_transposes.remove(&transpose.input) {
        Some(before) => transpose.behind(before),
        None => transpose,
    })
}

/// Whether a BATCH_MATMUL sees a tensor in its own shape, which has four dimensions there. Transpositions of different
/// shapes do not become one.
fn is_matrix_of_map(lowering: &Lowering, tensor_idx: usize) -> bool {
    matches!(lowering.tensor(tensor_idx).shape[..], [1, _, _, _])
}

/// Whether the only reader of a tensor is a BATCH_MATMUL that multiplies by its columns.
fn is_multiplied(lowering: &Lowering, tensor_idx: usize) -> bool {
    let &[reader] = lowering.readers(tensor_idx) else {
        return false;
    };
    if !is_matrix_of_map(lowering, tensor_idx) {
        return false;
    }
    let operator = lowering.graph.nodes[reader].operator;
    let is_second = operator.inputs.get(1) == Some(&Some(tensor_idx))
        && operator.inputs.first() != Some(&Some(tensor_idx));
    is_second
        && matches!(
            operator.options,
            BuiltinOptions::BatchMatMul { adj_y: false, .. }
        )
        && !is_rearranged(lowering, reader, tensor_idx)
}

/// One operation for each transposition that the accelerator supports; none if the order in memory does not change, or
/// if another TRANSPOSE alone reads the result and permutes at once.
pub fn transpose(lowering: &mut Lowering) -> Option<()> {
    let transpose = merged_transpose(lowering)?;
    let exchange = permutation_before_reader(lowering, &transpose)?;
    let Transpose { input, output, .. } = transpose;
    if let &[reader] = lowering.readers(output)
        && is_merged(lowering, [lowering.node_idx, reader])
    {
        lowering.merged_transposes.insert(output, transpose);
        return Some(());
    }
    let is_merged = is_multiplied(lowering, output);
    if is_merged {
        lowering.program.maps[output].shape.swap(1, 2);
    }
    // The compiler does not look whether two transpositions that it merges change the order in memory.
    let separate = exchange.separate.as_ref();
    let separate = separate.filter(|one| is_merged && !one.order.is_sorted());
    let remaining = separate.map_or(Vec::new(), |one| one.passes(lowering.accelerator.is_u85()));
    if exchange.is_identity() && remaining.is_empty() {
        let is_own = lowering.input(0) == Some(input);
        if is_own && super::movement::reshape(lowering).is_some() {
            return Some(());
        }
        lowering.view(input, output);
        return Some(());
    }
    let can_rotate = lowering.accelerator.is_u85();
    let is_in_halves = lowering.element_bytes(input) == INT64_BYTES;
    let passes = match exchange.separate {
        Some(permutation) if is_in_halves => permutation.of_halves().passes(can_rotate),
        Some(permutation) => permutation.passes(can_rotate),
        None => exchange.passes(can_rotate),
    };
    lowering.transpose_passes([input, output], &passes);
    Some(())
}

/// Lets commands of Ethos-U85 write their results transposed, where nothing else reads the results. The activations that
/// other operations perform are known. Linear in operations, maps and inputs.
pub fn fuse_transposes(program: &mut Program) {
    let is_transpose = |operation: &Operation| matches!(operation.action, Action::Transpose(_));
    if !program.operations.iter().any(is_transpose) {
        return;
    }
    let n_readers = program.n_readers();
    let writers = program.writers();
    let is_behind_others = is_chained_by_operation(program);
    let mut is_fused = vec![false; program.operations.len()];
    for idx in 0..program.operations.len() {
        let fused = FusedTranspose::new(program, idx, &n_readers, &writers).filter(|fused| {
            !is_fused[fused.operation_idx] && !is_behind_others[fused.operation_idx]
        });
        if let Some(fused) = fused {
            fused.apply(program);
            is_fused[idx] = true;
        }
    }
    let mut is_fused = is_fused.into_iter();
    (program.operations).retain(|_| !is_fused.next().unwrap_or(false));
}

/// By operation, whether it is chained to another one before it.
fn is_chained_by_operation(program: &Program) -> Vec<bool> {
    let order = Order::new(program).with_chains(program);
    let mut is_behind = vec![false; program.operations.len()];
    for (step, &idx) in order.operations.iter().enumerate() {
        is_behind[idx] = order.chain_start[step] != step;
    }
    is_behind
}

/// A TRANSPOSE that a command before it performs.
struct FusedTranspose {
    transposition: Transposition,
    /// The operation whose command performs it, with the shapes in which it sees its first input and its output.
    operation_idx: usize,
    view_shapes: [Hwc; 2],
    /// The activation between both, which this command performs as well.
    activation_idx: Option<usize>,
    /// The output of the TRANSPOSE.
    output: usize,
}

impl FusedTranspose {
    /// `None` if the operation at `idx` is no TRANSPOSE, or needs a command of its own.
    fn new(
        program: &Program,
        idx: usize,
        n_readers: &[usize],
        writers: &[Option<usize>],
    ) -> Option<Self> {
        let operation = &program.operations[idx];
        let Action::Transpose(transposition) = operation.action else {
            return None;
        };
        let only_writer = |map_idx: usize| {
            let is_free = n_readers[map_idx] == 1 && program.maps[map_idx].is_internal();
            writers[map_idx].filter(|_| is_free)
        };
        let &input = operation.inputs.first()?;
        let &output = operation.outputs.first()?;
        let [read, _] = operation.view_shapes()?;
        let mut operation_idx = only_writer(input)?;
        let mut activation_idx = None;
        let before = &program.operations[operation_idx];
        let is_activation = matches!(before.action, Action::Table | Action::Clamp);
        if before.alias == Alias::Fused && is_activation {
            activation_idx = Some(operation_idx);
            operation_idx = only_writer(*before.inputs.first()?)?;
        }
        let before = &program.operations[operation_idx];
        let ifm = program.maps[*before.inputs.first()?].shape();
        let view_shapes = before.view_shapes().unwrap_or([ifm, read]);
        let order = transposition.order;
        let can_transpose = match before.action {
            Action::Layer(_) => true,
            Action::Table | Action::Clamp | Action::Requantise => before.alias != Alias::Fused,
            Action::Binary(_) | Action::Unary => [[0, 2, 1], [2, 0, 1]].contains(&order),
            _ => false,
        };
        let is_whole = program.maps[input].shape() == read
            && program.maps[output].shape() == transposition.written()
            && before.outputs.len() == 1
            && before.repeats == 1.0
            && before.transposition().is_none()
            && view_shapes[1] == read;
        (can_transpose && is_whole && operation.repeats == 1.0).then_some(Self {
            transposition,
            operation_idx,
            view_shapes,
            activation_idx,
            output,
        })
    }

    fn apply(self, program: &mut Program) {
        let operation = &mut program.operations[self.operation_idx];
        operation.view_shapes = Some(Box::new(self.view_shapes));
        operation.fused_transpose = Some(Box::new(self.transposition));
        if operation.alias == Alias::InPlace {
            operation.alias = Alias::Separate;
        }
        let Some(activation_idx) = self.activation_idx else {
            operation.outputs = self.output.into();
            return;
        };
        for &map_idx in &operation.outputs {
            program.maps[map_idx].shape = program.maps[self.output].shape;
        }
        let activation = &mut program.operations[activation_idx];
        activation.view_shapes = None;
        activation.outputs = self.output.into();
    }
}

/// The transpositions of four dimensions on Ethos-U85.
pub fn passes_of_four(order: [usize; 4], sizes: [i64; 4]) -> Vec<Pass> {
    let permutation = Permutation {
        order: order.into(),
        sizes: sizes.into(),
    };
    permutation.passes(true)
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
            let permutation = Permutation::new(&order, &[4, 16, 24, 32]).expect("four dimensions");
            for can_rotate in [false, true] {
                let passes = permutation.passes(can_rotate);
                assert_eq!(passes.len(), n_operations, "{order:?}");
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
            let of_three = Permutation::new(&order, &[16, 24, 32]).expect("three dimensions");
            let of_four = Permutation::new(&behind_one, &[1, 16, 24, 32]).expect("four dimensions");
            for permutation in [of_three, of_four] {
                let n_passes = [false, true].map(|can_rotate| permutation.passes(can_rotate).len());
                assert_eq!(n_passes, [n_operations, 1], "{order:?}");
            }
        }
    }

    #[test]
    fn passes_write_the_shapes_that_the_next_one_reads() {
        let permutation =
            Permutation::new(&[0, 2, 1, 3], &[4, 16, 24, 32]).expect("four dimensions");
        let passes = permutation.passes(true);
        assert_eq!(passes[0], Pass::new([4, 16, 24 * 32], [1, 0, 2]));
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
