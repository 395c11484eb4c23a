//! Copies that remain of concatenations and slices. Reproduces `RewriteConcat`, `MoveConcatSliceToProducer` and
//! `MoveSplitSliceToConsumer` of Vela.

use std::collections::{BTreeMap, BTreeSet};

use super::lowering::Lowering;
use super::movement::copied_pieces;
use super::node::shape;
use crate::formats::tflite::{BuiltinOptions, OpKind};
use crate::graph::Graph;
use crate::targets::ethos_u::geometry::Hwc;
use crate::targets::ethos_u::layer::Kind;
use crate::targets::ethos_u::map_list::MapList;
use crate::targets::ethos_u::program::{Action, FeatureMap, Operation, Program};

/// Maximum number of copies that are added, each of which takes as much memory and work in later stages as an operator
/// does, on every accelerator. Networks have some hundreds; in a file made to exceed the limit, further parts count as
/// written in place.
const MAX_COPIES: usize = 1 << 13;

/// Adds copies of parts that their producer cannot write in place, or that a reader cannot read in place: the
/// MemoryCopy operations that Vela does not remove, [`MAX_COPIES`] at most. Linear in operations, maps and inputs.
pub fn copy_parts(program: &mut Program, graph: &Graph) {
    let n_readers = program.n_readers();
    let writers = program.writers();
    let parts = Parts::new(program, graph, &writers);
    let n_copied = |operation: &Operation| {
        let outputs = operation.outputs.iter();
        outputs.filter(|&&output| parts.is_copied[output]).count()
    };
    let n_parts = |operation: &Operation| match operation.action {
        Action::Slice => n_copied(operation),
        Action::Concat { .. } => operation.inputs.len(),
        _ => 0,
    };
    let n_parts: usize = program.operations.iter().map(n_parts).sum();
    if n_parts == 0 {
        see_strided_parts(program);
        return;
    }
    // Lists that double would take half as much again in the rest of the plan.
    let n_added = n_parts.min(MAX_COPIES);
    program.maps.reserve_exact(n_added);
    // The copies of a PACK are its own as well.
    let is_fill = |operation: &Operation| {
        let kind = graph.nodes[operation.node_idx].operator.code.kind;
        let is_own = kind == OpKind::Pack || program.activations(operation).next().is_none();
        operation.action == Action::Copy && is_own
    };
    let is_fill = program.operations.iter().map(is_fill).collect();
    let reads_variable = |operation: &Operation| {
        let mut inputs = operation.inputs.iter();
        inputs.any(|&input| program.maps[input].is_variable)
    };
    // What is divided into one operation for each input would write each part of a part, which Vela does not.
    let is_divided = |operation: &Operation| {
        let mut outputs = operation.outputs.iter();
        !is_elementwise(operation.action) && outputs.any(|&output| pieces(graph, output).is_some())
    };
    let can_write_part = (program.operations.iter())
        .map(|operation| {
            can_write_part(program, operation)
                && !reads_variable(operation)
                && !is_divided(operation)
        })
        .collect();
    let operations = std::mem::take(&mut program.operations);
    let mut copies = Copies {
        graph,
        n_readers,
        is_fill,
        can_write_part,
        writers,
        in_place: BTreeMap::new(),
        n_left: MAX_COPIES,
        operations: Vec::with_capacity(operations.len() + n_added),
        program,
    };
    for (idx, mut operation) in operations.into_iter().enumerate() {
        for (place, input) in operation.inputs.iter_mut().enumerate() {
            if parts.reads_in_place.contains(&(idx, place)) {
                *input = copies.in_place.get(input).copied().unwrap_or(*input);
            }
        }
        match operation.action {
            Action::Slice if n_copied(&operation) > 0 => copies.copy_slice(idx, operation, &parts),
            Action::Concat { .. } => copies.copy_concatenated(operation),
            _ => copies.operations.push(operation),
        }
    }
    let Copies {
        program,
        operations,
        ..
    } = copies;
    program.operations = operations;
    see_strided_parts(program);
}

/// The shape of the part from which a STRIDED_SLICE takes every few rows or columns, and the shape of its output. What
/// reads it sees the former. Both are the part's own where the output lacks dimensions of the input. `None` if the slice
/// takes all rows and columns.
pub fn strided_part(lowering: &Lowering) -> Option<[Hwc; 2]> {
    let BuiltinOptions::StridedSlice {
        begin_mask,
        ellipsis_mask: 0,
        new_axis_mask: 0,
        shrink_axis_mask,
        ..
    } = lowering.operator().options
    else {
        return None;
    };
    let (input, output) = (lowering.input(0)?, lowering.output()?);
    let [begin, strides] = [1, 3].map(|place| lowering.input(place));
    let [begin, strides] = [begin?, strides?].map(|tensor_idx| lowering.integers(tensor_idx));
    let [read, written] =
        [input, output].map(|tensor_idx| lowering.tensor(tensor_idx).shape.as_slice());
    if shrink_axis_mask != 0 {
        let mut sizes = written.iter();
        let part = (0..read.len()).map(|axis| match shrink_axis_mask >> axis & 1 {
            1 => Some(1),
            _ => sizes.next().copied(),
        });
        let part: Option<Vec<i32>> = part.collect();
        let is_whole = strides.iter().all(|&stride| stride == 1) && read.len() <= 4;
        return part.filter(|_| is_whole).map(|part| [shape(&part); 2]);
    }
    let rank = read.len();
    let n_added = 4_usize.checked_sub(rank)?;
    if written.len() != rank || begin.len() != rank || strides.len() != rank {
        return None;
    }
    let of_axis = |list: &[i32], axis: usize, outside: i32| {
        let place = axis.checked_sub(n_added);
        place.map_or(outside, |place| list[place])
    };
    let [by_h, by_w] = [1, 2].map(|axis| of_axis(&strides, axis, 1));
    let [read, written] = [input, output].map(|map_idx| lowering.shape(map_idx));
    if of_axis(&strides, 3, 1) != 1 || by_h < 1 || by_w < 1 || by_h == 1 && by_w == 1 {
        return None;
    }
    let extent = |axis: usize, by: i32| {
        let from = of_axis(&begin, axis + 1, 0);
        let place = (axis + 1).saturating_sub(n_added);
        let from = if begin_mask >> place & 1 == 1 {
            0
        } else {
            from.max(0)
        };
        let behind = (read[axis] - i64::from(from)).max(1);
        behind.min(written[axis].saturating_mul(by.into()))
    };
    Some([[extent(0, by_h), extent(1, by_w), written[2]], written])
}

/// Lets operations see the part of which a slice takes every few rows or columns.
fn see_strided_parts(program: &mut Program) {
    let writers = program.writers();
    let part = |map_idx: usize, operations: &[Operation]| {
        let slice = &operations[writers[map_idx]?];
        slice
            .view_shapes()
            .filter(|_| slice.action == Action::Slice)
    };
    for idx in 0..program.operations.len() {
        let operation = &program.operations[idx];
        let (Some(&input), Some(&output)) = (operation.inputs.first(), operation.outputs.first())
        else {
            continue;
        };
        let Some([read, whole]) = part(input, &program.operations) else {
            continue;
        };
        let view_shapes = operation
            .view_shapes()
            .unwrap_or([whole, program.maps[output].shape()]);
        if view_shapes[0] == whole
            && !matches!(operation.action, Action::View | Action::Concat { .. })
        {
            program.operations[idx].view_shapes = Some(Box::new([read, view_shapes[1]]));
        }
    }
}

/// The operations of a program while copies are added.
struct Copies<'p> {
    graph: &'p Graph<'p>,
    /// The program, whose operations were moved out.
    program: &'p mut Program,
    operations: Vec<Operation>,
    /// Copies that may still be added.
    n_left: usize,
    /// Number of readers of each feature map.
    n_readers: Vec<usize>,
    writers: Vec<Option<usize>>,
    /// By operation: whether it fills a feature map with a constant, or copies an input of a PACK.
    is_fill: Vec<bool>,
    can_write_part: Vec<bool>,
    /// By part that is copied, the same part where operations read it in place.
    in_place: BTreeMap<usize, usize>,
}

impl Copies<'_> {
    /// Replaces those outputs of the slice at `idx` that are copied by a copy each, beside which some operations may read
    /// the same part in place.
    fn copy_slice(&mut self, idx: usize, mut operation: Operation, parts: &Parts) {
        let (copied, mut in_place): (Vec<usize>, Vec<usize>) =
            (operation.outputs.iter()).partition(|&&output| parts.is_copied[output]);
        let Some(n_left) = self.n_left.checked_sub(copied.len()) else {
            self.program.hit_limit = true;
            self.operations.push(operation);
            return;
        };
        self.n_left = n_left;
        for &output in copied.iter().filter(|&&output| parts.is_in_place[output]) {
            let read = self.internal_map_like(output);
            self.n_readers.resize(read, 0);
            self.n_readers.push(1);
            self.writers.resize(read, None);
            self.writers.push(Some(idx));
            self.in_place.insert(output, read);
            in_place.push(read);
        }
        let input = operation.inputs.first().copied();
        for output in copied {
            // The copy reads as much as it writes, or the rows and columns between as well.
            let shape = self.program.maps[output].shape();
            self.operations.push(Operation {
                view_shapes: Some(Box::new(operation.view_shapes().unwrap_or([shape; 2]))),
                ..Operation::new(
                    operation.node_idx,
                    Action::Copy,
                    input.into_iter().collect::<MapList>(),
                    output,
                )
            });
        }
        if !in_place.is_empty() {
            operation.outputs = in_place.into_iter().collect();
            self.operations.push(operation);
        }
    }

    /// Adds copies of the parts that are not written in place, followed by the concatenation.
    fn copy_concatenated(&mut self, mut operation: Operation) {
        let mut copied = Vec::new();
        let mut direct = Vec::new();
        for &input in &operation.inputs {
            match self.writer_in_place(input) {
                Some(writer) if self.is_fill[writer] => copied.push(input),
                Some(_) => direct.push(input),
                None => match self.copy(operation.node_idx, input) {
                    Some(part) => copied.push(part),
                    None => direct.push(input),
                },
            }
        }
        // Vela places copies first, then direct parts from the last one on.
        operation.inputs = copied.into_iter().chain(direct.into_iter().rev()).collect();
        self.operations.push(operation);
    }

    /// The operation that can write a feature map as a part of another one.
    fn writer_in_place(&self, map_idx: usize) -> Option<usize> {
        let is_free = self.n_readers[map_idx] == 1 && self.program.maps[map_idx].is_internal();
        self.writers[map_idx].filter(|&writer| is_free && self.can_write_part[writer])
    }

    /// Adds a copy of a feature map and returns its output; `None` at the limit.
    fn copy(&mut self, node_idx: usize, input: usize) -> Option<usize> {
        let Some(n_left) = self.n_left.checked_sub(1) else {
            self.program.hit_limit = true;
            return None;
        };
        self.n_left = n_left;
        let output = self.internal_map_like(input);
        let copy = Operation::new(node_idx, Action::Copy, input, output);
        self.operations.push(match pieces(self.graph, input) {
            Some((piece, n_pieces)) => Operation {
                view_shapes: Some(Box::new([piece; 2])),
                repeats: n_pieces,
                ..copy
            },
            None => copy,
        });
        Some(output)
    }

    /// Adds a map of the same shape that only operations of the accelerator see.
    fn internal_map_like(&mut self, map_idx: usize) -> usize {
        let map = self.program.maps[map_idx];
        self.program.maps.push(FeatureMap {
            bytes: ((map.n_elements() * map.element_bytes()) as f64).into(),
            is_constant: false,
            is_input: false,
            is_output: false,
            is_variable: false,
            is_off_chip: false,
            ..map
        });
        self.program.maps.len() - 1
    }
}

/// Height, width and channels of one input, and the number of inputs, of a tensor that has several.
pub fn pieces(graph: &Graph, map_idx: usize) -> Option<(Hwc, f64)> {
    let tensor = graph.subgraph.tensors.get(map_idx)?;
    Some(copied_pieces(&tensor.shape)).filter(|&(_, n_pieces)| n_pieces > 1.0)
}

fn is_elementwise(action: Action) -> bool {
    matches!(action, Action::Binary(_) | Action::Unary)
}

/// Whether an operation can write a part of a feature map, if it reads no variable. A FULLY_CONNECTED of several rows
/// cannot; the activation that the file fuses into it can, if both see the map in its own shape.
fn can_write_part(program: &Program, operation: &Operation) -> bool {
    let is_area = |ofm: Hwc| {
        let mut outputs = operation.outputs.iter();
        outputs.any(|&output| program.maps[output].shape() != ofm)
    };
    let has_rows = operation
        .view_shapes()
        .is_some_and(|[_, ofm]| ofm[0] * ofm[1] > 1 && (!operation.has_activation || is_area(ofm)));
    let is_rows = operation.action == Action::Layer(Kind::VectorProduct) && has_rows;
    !is_rows
        && !matches!(
            operation.action,
            Action::Cpu
                | Action::Gather
                | Action::Pad
                | Action::Slice
                | Action::View
                | Action::Concat { .. }
                | Action::MatMul { .. }
                | Action::Transpose(_)
        )
}

/// How the parts that slices take are read.
struct Parts {
    /// By map, whether it is a part that callers or some operation cannot read in place.
    is_copied: Vec<bool>,
    /// By map, whether some operation reads the part in place.
    is_in_place: Vec<bool>,
    /// Operations that read a part in place, each with the place among its inputs.
    reads_in_place: BTreeSet<(usize, usize)>,
}

impl Parts {
    fn new(program: &Program, graph: &Graph, writers: &[Option<usize>]) -> Self {
        let n_maps = program.maps.len();
        let mut parts = Self {
            is_copied: vec![false; n_maps],
            is_in_place: vec![false; n_maps],
            reads_in_place: BTreeSet::new(),
        };
        let mut is_part = vec![false; n_maps];
        for output in slices(program).flat_map(|operation| &operation.outputs) {
            is_part[*output] = true;
            parts.is_copied[*output] = program.maps[*output].is_output;
        }
        // Once an operation is reached that reads copies alone, so do those behind it.
        let mut is_closed = vec![false; n_maps];
        for slice in slices(program).filter(|slice| drops_inner_dimension(graph, slice)) {
            (slice.outputs.iter()).for_each(|&output| is_closed[output] = true);
        }
        for (idx, operation) in program.operations.iter().enumerate() {
            let reading = Reading::from_operation(program, operation);
            for (place, &input) in operation.inputs.iter().enumerate() {
                if !is_part[input] || writers[input].is_none_or(|writer| writer >= idx) {
                    continue;
                }
                is_closed[input] |= reading == Reading::CopiesAlone;
                let is_in_place = !is_closed[input]
                    && reading == Reading::InPlace
                    && !(place == 0 && sees_other_shape(program, graph, operation, input));
                if is_in_place {
                    parts.is_in_place[input] = true;
                    parts.reads_in_place.insert((idx, place));
                } else {
                    parts.is_copied[input] = true;
                }
            }
        }
        parts
    }
}

fn slices(program: &Program) -> impl Iterator<Item = &Operation> {
    let operations = program.operations.iter();
    operations.filter(|operation| operation.action == Action::Slice)
}

/// How an operation reads parts that slices take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    InPlace,
    Copy,
    /// A copy, and so do the readers after it.
    CopiesAlone,
}

impl Reading {
    fn from_operation(program: &Program, operation: &Operation) -> Self {
        let shape =
            |map: Option<&usize>| map.map(|&map_idx| without_ones(program.maps[map_idx].shape()));
        let is_seen = |&output: &usize| program.maps[output].is_output;
        match operation.action {
            Action::View if operation.outputs.iter().any(is_seen) => Self::CopiesAlone,
            Action::View if shape(operation.inputs.first()) == shape(operation.outputs.first()) => {
                Self::InPlace
            }
            Action::Cpu | Action::Gather | Action::View => Self::CopiesAlone,
            Action::MatMul { .. } | Action::Transpose(_) | Action::Slice => Self::Copy,
            _ => Self::InPlace,
        }
    }
}

/// Whether an operation sees an input in another shape than its own, and than that of one of several inputs.
fn sees_other_shape(program: &Program, graph: &Graph, operation: &Operation, input: usize) -> bool {
    operation.view_shapes().is_some_and(|[view_shape, _]| {
        without_ones(view_shape) != without_ones(program.maps[input].shape())
            && pieces(graph, input).is_none_or(|(piece, _)| piece != view_shape)
    })
}

/// Whether a slice drops a dimension behind one that is larger than 1.
fn drops_inner_dimension(graph: &Graph, slice: &Operation) -> bool {
    let operator = graph.nodes[slice.node_idx].operator;
    let sizes = slice
        .inputs
        .first()
        .and_then(|&input| graph.subgraph.tensors.get(input));
    let sizes = sizes.map_or(&[][..], |tensor| tensor.shape.as_slice());
    let is_dropped = |axis: usize| match operator.options {
        BuiltinOptions::StridedSlice {
            shrink_axis_mask, ..
        } => axis < 32 && shrink_axis_mask >> axis & 1 == 1,
        BuiltinOptions::Unpack { axis: dropped, .. } => {
            i64::from(dropped).rem_euclid((sizes.len() as i64).max(1)) == axis as i64
        }
        _ => false,
    };
    let last = (0..sizes.len()).rev().find(|&axis| is_dropped(axis));
    last.is_some_and(|last| sizes[..last].iter().any(|&size| size > 1))
}

/// The sizes other than 1, in order, followed by ones.
fn without_ones(shape: Hwc) -> Hwc {
    let mut sizes = shape.into_iter().filter(|&size| size != 1);
    std::array::from_fn(|_| sizes.next().unwrap_or(1))
}
