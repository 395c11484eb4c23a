//! Copies that concatenations and slices leave. Reproduces `RewriteConcat`, `MoveConcatSliceToProducer` and
//! `MoveSplitSliceToConsumer` of Vela.

use crate::targets::ethos_u::geometry::Hwc;
use crate::targets::ethos_u::layer::Kind;
use crate::targets::ethos_u::program::{Action, FeatureMap, Operation, Program};

/// Most copies that are added, which take about 50 MB in later stages. Networks have some hundreds; in a file made
/// to exceed the limit, further parts count as written in place.
const MAX_COPIES: usize = 1 << 15;

/// Adds copies of parts that their producer cannot write in place, or that a reader cannot read in place: the
/// MemoryCopy operations that Vela does not remove, [`MAX_COPIES`] at most. Linear in operations, maps and inputs.
pub fn copy_parts(program: &mut Program) {
    let n_readers = program.n_readers();
    let writers = program.writers();
    let is_copied = slices_to_copy(program, &writers);
    let is_fill: Vec<bool> = (program.operations.iter())
        .map(|operation| {
            let is_copy = operation.action == Action::Copy;
            is_copy && program.activations(operation).next().is_none()
        })
        .collect();
    let can_write_part: Vec<bool> = program.operations.iter().map(can_write_part).collect();
    let mut copies_left = MAX_COPIES;
    let mut operations = Vec::with_capacity(program.operations.len());
    for (idx, mut operation) in std::mem::take(&mut program.operations)
        .into_iter()
        .enumerate()
    {
        match operation.action {
            Action::Slice if is_copied[idx] && operation.outputs.len() > copies_left => {
                program.hit_limit = true;
                operations.push(operation);
            }
            Action::Slice if is_copied[idx] => {
                copies_left -= operation.outputs.len();
                let input = operation.inputs.first().copied();
                for &output in &operation.outputs {
                    // What is read is as much as what is written.
                    let shape = program.maps[output].shape;
                    operations.push(Operation {
                        seen: Some([shape; 2]),
                        ..Operation::new(
                            operation.node_idx,
                            Action::Copy,
                            input.into_iter().collect(),
                            vec![output],
                        )
                    });
                }
            }
            Action::Concat { .. } => {
                let mut copied = Vec::new();
                let mut direct = Vec::new();
                for &input in &operation.inputs {
                    let map = program.maps[input];
                    let is_free = n_readers[input] == 1 && map.is_internal();
                    let can_write = writers[input].is_some_and(|writer| can_write_part[writer]);
                    if is_free && can_write {
                        match writers[input].is_some_and(|writer| is_fill[writer]) {
                            true => copied.push(input),
                            false => direct.push(input),
                        }
                        continue;
                    }
                    if copies_left == 0 {
                        program.hit_limit = true;
                        direct.push(input);
                        continue;
                    }
                    copies_left -= 1;
                    let part = program.maps.len();
                    program.maps.push(FeatureMap {
                        bytes: Some((map.n_elements() * map.element_bytes) as f64),
                        is_constant: false,
                        is_input: false,
                        is_output: false,
                        is_variable: false,
                        is_off_chip: false,
                        ..map
                    });
                    let node_idx = operation.node_idx;
                    operations.push(Operation::new(
                        node_idx,
                        Action::Copy,
                        vec![input],
                        vec![part],
                    ));
                    copied.push(part);
                }
                // Vela places copies first, then direct parts from the last one on.
                operation.inputs = copied.into_iter().chain(direct.into_iter().rev()).collect();
                operations.push(operation);
            }
            _ => operations.push(operation),
        }
    }
    program.operations = operations;
}

/// Whether an operation can write a part of a feature map. A FULLY_CONNECTED that sees its rows as an area
/// cannot.
fn can_write_part(operation: &Operation) -> bool {
    let has_rows = operation.seen.is_some_and(|[_, ofm]| ofm[0] * ofm[1] > 1);
    let is_rows = operation.action == Action::Layer(Kind::VectorProduct) && has_rows;
    !is_rows
        && !matches!(
            operation.action,
            Action::Cpu
                | Action::Pad
                | Action::Slice
                | Action::View
                | Action::Concat { .. }
                | Action::MatMul { .. }
                | Action::Transpose { .. }
        )
}

/// By operation, whether it is a slice that some reader cannot read in place.
fn slices_to_copy(program: &Program, writers: &[Option<usize>]) -> Vec<bool> {
    let mut is_copied: Vec<bool> = (program.operations.iter())
        .map(|operation| {
            let is_output = |&output: &usize| program.maps[output].is_output;
            operation.action == Action::Slice && operation.outputs.iter().any(is_output)
        })
        .collect();
    for operation in &program.operations {
        let shape = |map: Option<&usize>| map.map(|&map_idx| reduced(program.maps[map_idx].shape));
        let names_anew = operation.action == Action::View
            && shape(operation.inputs.first()) == shape(operation.outputs.first());
        let cannot_read = !names_anew
            && matches!(
                operation.action,
                Action::Cpu
                    | Action::MatMul { .. }
                    | Action::Transpose { .. }
                    | Action::Slice
                    | Action::View
            );
        for (place, &input) in operation.inputs.iter().enumerate() {
            let Some(writer) = writers[input] else {
                continue;
            };
            let seen = operation.seen.filter(|_| place == 0).map(|[ifm, _]| ifm);
            let sees_other =
                seen.is_some_and(|seen| reduced(seen) != reduced(program.maps[input].shape));
            let is_slice = program.operations[writer].action == Action::Slice;
            is_copied[writer] |= is_slice && (cannot_read || sees_other);
        }
    }
    is_copied
}

/// Sizes other than 1, in order, filled with 1.
fn reduced(shape: Hwc) -> Hwc {
    let mut sizes = shape.into_iter().filter(|&size| size != 1);
    std::array::from_fn(|_| sizes.next().unwrap_or(1))
}
