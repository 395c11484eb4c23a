//! TILE, MIRROR_PAD, PACK, GATHER, NEG, REVERSE_V2, SELECT, and the copies that remain of RESHAPE and similar
//! operators. Reproduces `RewriteTile`, `ConvertMirrorPad`, `RewritePack`, `ConvertGather`, `RewriteNegate`,
//! `ConvertReverse`, `RewriteSelect` and `RemoveReshape` of Vela.

use std::collections::BTreeMap;

use super::layout::is_deepened;
use super::lowering::{Copies, Lowering, n_elements};
use crate::formats::tflite::{BuiltinOptions, OpKind, dimension};
use crate::targets::ethos_u::geometry::{BRICK_CHANNELS, Hwc};
use crate::targets::ethos_u::program::{Action, Alias, Arithmetic, Operation, Program};

/// Adds one copy of the whole for each repetition, along one axis after the other. `None` if the multiples are unknown.
pub fn tile(lowering: &mut Lowering) -> Option<()> {
    let (input, multiples, output) = (lowering.input(0)?, lowering.input(1)?, lowering.output()?);
    let mut shape = lowering.tensor(input).shape.clone();
    let multiples = lowering.integers(multiples);
    if multiples.len() != shape.len() {
        return None;
    }
    let tiled: Vec<usize> = (0..shape.len())
        .filter(|&axis| multiples[axis] > 1)
        .collect();
    let Some(&last) = tiled.last() else {
        lowering.copy(input, output);
        return Some(());
    };
    let mut from = input;
    for axis in tiled {
        let (piece, n_pieces) = copied_pieces(&shape);
        let depth = shape[axis];
        shape[axis] = depth.checked_mul(multiples[axis])?;
        let element_bytes = lowering.element_bytes(output);
        let to = if axis == last {
            output
        } else {
            lowering.map(as_hwc(&shape), element_bytes)
        };
        let is_in_brick = axis + 1 == shape.len() && i64::from(depth) % BRICK_CHANNELS != 0;
        lowering.program.maps[to].is_linear |= is_in_brick;
        lowering.push(Operation {
            view_shapes: Some(Box::new([piece; 2])),
            repeats: n_pieces * f64::from(multiples[axis]),
            ..lowering.operation(Action::Copy, &[from], to)
        });
        from = to;
    }
    Some(())
}

/// Height, width and channels of what one operation copies of a shape, and the number of operations: one for each
/// position in the dimensions before them.
pub fn copied_pieces(shape: &[i32]) -> (Hwc, f64) {
    let (outer, piece) = shape.split_at(shape.len().saturating_sub(3));
    let n_pieces = outer.iter().map(|&size| f64::from(size.max(0))).product();
    (as_hwc(piece), n_pieces)
}

/// Stands for a dimension that is neither height, width nor channels.
const UNKNOWN_AXIS: u8 = 3;

/// Adds the input between copies of its rows and columns. `None` if the amounts are unknown, or if other dimensions are
/// padded.
pub fn mirror_pad(lowering: &mut Lowering) -> Option<()> {
    let (input, sides, output) = (lowering.input(0)?, lowering.input(1)?, lowering.output()?);
    let rank = lowering.tensor(output).shape.len();
    let sides: Vec<i64> = lowering
        .integers(sides)
        .into_iter()
        .map(i64::from)
        .collect();
    let &[.., top, bottom, left, right, 0, 0] = &sides[..] else {
        return None;
    };
    let (padded, others) = ([top, bottom, left, right], &sides[..sides.len() - 6]);
    let is_known = sides.len() == 2 * rank && others.iter().all(|&amount| amount == 0);
    if !is_known || padded.iter().any(|&amount| amount < 0) {
        return None;
    }
    let ([height, width, depth], [to_height, ..]) = (lowering.shape(input), lowering.shape(output));
    let part = |shape: Hwc, source: Source| CopiedPart {
        shape,
        piece: (shape, 1.0),
        source,
    };
    if padded == [0; 4] {
        lowering.push(lowering.operation(Action::Copy, &[input], output));
        return Some(());
    }
    // What nothing else reads may be written in place.
    let whole = if top == 0 && bottom == 0 {
        Source::InPlace(input)
    } else {
        Source::Map(input)
    };
    let rows = [top, bottom].map(|rows| part([rows, width, depth], Source::Map(input)));
    // Columns are copied from the rows that were already written.
    let columns = [left, right].map(|columns| part([to_height, columns, depth], Source::Output));
    let parts: Vec<CopiedPart> = [part([height, width, depth], whole)]
        .into_iter()
        .chain(rows)
        .chain(columns)
        .filter(|part| part.shape.iter().all(|&size| size > 0))
        .collect();
    // Ethos-U55 and U65 reverse by strides.
    lowering.program.maps[output].is_linear |= !lowering.accelerator.is_u85();
    add_copies_of_parts(lowering, &parts, output, false);
    Some(())
}

/// A part of a map that is copied.
struct CopiedPart {
    shape: Hwc,
    /// What one operation copies of it, and the number of operations.
    piece: (Hwc, f64),
    source: Source,
}

/// Where a part is copied from.
enum Source {
    Map(usize),
    /// The map, whose producer writes the part itself if it can.
    InPlace(usize),
    /// Another part of the output.
    Output,
}

/// Adds copies of parts, which together form the output.
fn add_copies_of_parts(
    lowering: &mut Lowering,
    parts: &[CopiedPart],
    output: usize,
    is_in_brick: bool,
) {
    let element_bytes = lowering.element_bytes(output);
    let mut written = Vec::with_capacity(parts.len());
    for part in parts {
        if let Source::InPlace(map) = part.source {
            written.push(map);
            continue;
        }
        let map = lowering.map(part.shape, element_bytes);
        // It is in the memory of the output.
        lowering.program.maps[map].bytes = 0.0.into();
        let from = match part.source {
            Source::Map(from) | Source::InPlace(from) => from,
            Source::Output => map,
        };
        let (piece, n_pieces) = part.piece;
        lowering.push(Operation {
            view_shapes: Some(Box::new([piece; 2])),
            repeats: n_pieces,
            ..lowering.operation(Action::Copy, &[from], map)
        });
        written.push(map);
    }
    lowering.push(Operation {
        alias: Alias::Concat,
        ..lowering.operation(Action::Concat { is_in_brick }, &written, output)
    });
}

/// Adds copies of all inputs, because their producers write them in another shape. `None` if the axis is unknown.
pub fn pack(lowering: &mut Lowering) -> Option<()> {
    let output = lowering.output()?;
    let inputs: Vec<usize> = lowering
        .operator()
        .inputs
        .iter()
        .flatten()
        .copied()
        .collect();
    let mut shape = lowering.tensor(output).shape.clone();
    let BuiltinOptions::Pack { axis, .. } = lowering.operator().options else {
        return None;
    };
    let axis = dimension(axis, shape.len())?;
    let is_in_brick = axis + 1 == shape.len() && inputs.len() > 1;
    shape[axis] = 1;
    let parts: Vec<CopiedPart> = inputs
        .into_iter()
        .map(|from| CopiedPart {
            shape: as_hwc(&shape),
            piece: copied_pieces(&shape),
            source: Source::Map(from),
        })
        .collect();
    add_copies_of_parts(lowering, &parts, output, is_in_brick);
    Some(())
}

/// Copies the entries of the indices one by one, on Ethos-U85.
pub fn gather(lowering: &mut Lowering) -> Option<()> {
    let (input, indices, output) = (lowering.input(0)?, lowering.input(1)?, lowering.output()?);
    lowering.push(lowering.operation(Action::Gather, &[input, indices], output));
    Some(())
}

/// Writes all entries of the output one by one, on Ethos-U85.
pub fn scatter(lowering: &mut Lowering) -> Option<()> {
    let (updates, output) = (lowering.input(1)?, lowering.output()?);
    lowering.push(lowering.operation(Action::Gather, &[updates], output));
    Some(())
}

/// Copies a state variable, which is in the memory of feature maps.
pub fn read_variable(lowering: &mut Lowering) -> Option<()> {
    let output = lowering.output()?;
    let state = lowering.variable(output)?;
    lowering.push(lowering.operation(Action::Copy, &[state], output));
    Some(())
}

/// Copies a value to a state variable.
pub fn assign_variable(lowering: &mut Lowering) -> Option<()> {
    let value = lowering.input(1)?;
    let state = lowering.variable(value)?;
    lowering.push(lowering.operation(Action::Copy, &[value], state));
    Some(())
}

/// Subtracts the input from zero.
pub fn negate(lowering: &mut Lowering) -> Option<()> {
    let (input, output) = (lowering.input(0)?, lowering.output()?);
    let number = lowering.constant([1; 3], lowering.element_bytes(input));
    lowering.binary(Arithmetic::Sum, [number, input], output);
    Some(())
}

/// Adds a pass over all elements for each axis. With more than three dimensions, outer dimensions count as rows and
/// inner ones as channels. `None` if the axes are unknown.
pub fn reverse(lowering: &mut Lowering) -> Option<()> {
    let (input, axes, output) = (lowering.input(0)?, lowering.input(1)?, lowering.output()?);
    let shape = lowering.tensor(input).shape.clone();
    let axes = lowering.integers(axes);
    // The compiler takes a dimension that is counted from the end for none of the three.
    let axes: Option<Vec<(usize, bool)>> = axes
        .into_iter()
        .map(|axis| Some((dimension(axis, shape.len())?, axis < 0)))
        .collect();
    let axes = axes.filter(|axes| !axes.is_empty())?;
    let last = axes.len() - 1;
    let mut from = input;
    for (place, (axis, is_from_end)) in axes.into_iter().enumerate() {
        let is_around = shape.len() > 4 || shape.len() == 4 && (shape[0] > 1 || axis == 0);
        let whole = if is_around {
            [
                n_elements(&shape[..axis]),
                n_elements(&shape[axis..=axis]),
                n_elements(&shape[axis + 1..]),
            ]
        } else {
            lowering.shape(input)
        };
        let element_bytes = lowering.element_bytes(output);
        let to = if place == last {
            output
        } else {
            lowering.map(whole, element_bytes)
        };
        lowering.program.maps[to].is_linear |= axis + 1 == shape.len() && !is_from_end;
        // Counted from the last dimension: channels, columns and rows.
        let reversed_axis = if is_around {
            1
        } else if is_from_end {
            UNKNOWN_AXIS
        } else {
            (axis + 3).saturating_sub(shape.len()).min(2) as u8
        };
        lowering.push(Operation {
            view_shapes: Some(Box::new([whole; 2])),
            ..lowering.operation(Action::Reverse(reversed_axis), &[from], to)
        });
        from = to;
    }
    Some(())
}

/// The values where the condition holds, the values elsewhere, and the combination of both.
pub fn select(lowering: &mut Lowering) -> Option<()> {
    let inputs = [lowering.input(0)?, lowering.input(1)?, lowering.input(2)?];
    let [condition, one, other] = inputs;
    let output = lowering.output()?;
    let (shape, element_bytes) = (lowering.shape(output), lowering.element_bytes(output));
    let condition = if lowering.element_bytes(condition) == element_bytes {
        condition
    } else {
        let shape = lowering.shape(condition);
        let (number, wide) = (
            lowering.constant([1; 3], 1),
            lowering.map(shape, element_bytes),
        );
        lowering.binary(Arithmetic::Sum, [condition, number], wide)
    };
    let [one, other] = [one, other].map(|chosen| {
        let map = lowering.map(shape, element_bytes);
        lowering.binary(Arithmetic::Other, [chosen, condition], map)
    });
    lowering.binary(Arithmetic::Other, [one, other], output);
    Some(())
}

/// Adds a view, and a copy if the compiler adds one: between inputs, outputs, constants of the network and the CPU, and
/// if others read the input in its own shape. They read the copy too, which then has the shape of the output. `None` if
/// a view is sufficient.
pub fn reshape(lowering: &mut Lowering) -> Option<()> {
    let (input, output) = (lowering.input(0)?, lowering.output()?);
    if lowering.pads.is_absent(output) {
        return Some(());
    }
    let [from, to] = [input, output].map(|map_idx| lowering.program.maps[map_idx]);
    let is_fixed = from.is_input || from.is_output || from.is_constant || from.is_variable;
    let is_read_by_cpu = lowering
        .readers(output)
        .iter()
        .any(|&reader| lowering.is_left[reader]);
    let is_bound = (is_fixed || from.is_off_chip)
        && (to.is_output || to.is_variable || to.is_off_chip || is_read_by_cpu);
    let before = lowering.copies.get(&input);
    let (source, shaped) = before.map_or((input, input), |copies| (copies.last, copies.shaped));
    let is_shared = lowering.readers(input).len() > 1
        && lowering.tensor(shaped).shape != lowering.tensor(output).shape;
    if !(is_bound || is_shared) {
        return None;
    }
    let copy = lowering.map(from.shape(), from.element_bytes());
    // A copy that only loses leading dimensions, or that permutes nothing, may be written over its input.
    let [rank, new_rank] = [input, output].map(|map| lowering.tensor(map).shape.len());
    let is_same = lowering.operator().code.kind == OpKind::Transpose
        && lowering.tensor(input).shape == lowering.tensor(output).shape;
    let is_alike = from.shape == to.shape && (new_rank < rank || is_same);
    let copying = Operation {
        view_shapes: Some(Box::new([lowering.shape(copy); 2])),
        alias: if is_alike {
            Alias::InPlace
        } else {
            Alias::Separate
        },
        ..lowering.operation(Action::Copy, &[source], copy)
    };
    let copies = lowering.copies.entry(input).or_default();
    copies.operations.push(copying);
    (copies.last, copies.shaped) = (copy, output);
    lowering.view(input, output);
    Some(())
}

/// Adds copies before the first operation that reads the tensor; all that read it read the last copy instead.
pub fn add_copies(program: &mut Program, mut copies: BTreeMap<usize, Copies>) {
    if copies.is_empty() {
        return;
    }
    for mut operation in std::mem::take(&mut program.operations) {
        for input in operation.inputs.iter_mut() {
            if let Some(copies) = copies.get_mut(input) {
                program.operations.append(&mut copies.operations);
                program.maps[copies.last].is_off_chip |= operation.action == Action::Cpu;
                *input = copies.last;
            }
        }
        program.operations.push(operation);
    }
}

/// Lets commands of Ethos-U85 on the multipliers write their results in reverse, where nothing else reads the results.
/// Linear in operations, maps and inputs.
pub fn fuse_reverses(program: &mut Program) {
    let is_reverse = |operation: &Operation| matches!(operation.action, Action::Reverse(_));
    if !program.operations.iter().any(is_reverse) {
        return;
    }
    let n_readers = program.n_readers();
    let writers = program.writers();
    for idx in 0..program.operations.len() {
        let operation = &program.operations[idx];
        let (Action::Reverse(axis), Some(&input)) = (operation.action, operation.inputs.first())
        else {
            continue;
        };
        let is_free = n_readers[input] == 1 && program.maps[input].is_internal();
        let before = writers[input].filter(|&before| is_free && before < idx);
        let Some(before) = before else {
            continue;
        };
        let of_map = program.maps[input].shape();
        let operation_sees = operation.view_shapes().map_or(of_map, |[ifm, _]| ifm);
        let writer = &mut program.operations[before];
        let can_reverse = matches!(
            writer.action,
            Action::Layer(_) | Action::Clamp | Action::Table
        ) && writer.alias != Alias::Fused
            && writer.reversed_dimension().is_none()
            && writer.transposition().is_none()
            && writer.repeats == 1.0
            && operation_sees == of_map
            && !(writer.is_elementwise() && is_deepened(&program.maps[input]))
            && writer.view_shapes().is_none_or(|[_, ofm]| ofm == of_map);
        if can_reverse {
            writer.fused_reverse = Some(axis);
            if writer.alias == Alias::InPlace {
                writer.alias = Alias::Separate;
            }
            program.operations[idx].alias = Alias::Fused;
        }
    }
}

/// Height, width and channels of a shape; outer dimensions count as height.
fn as_hwc(shape: &[i32]) -> Hwc {
    super::node::shape(shape)
}
