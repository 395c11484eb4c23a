//! TILE, MIRROR_PAD, PACK, NEG, REVERSE_V2, SELECT, and the copies that remain of RESHAPE and similar operators.
//! Reproduces `RewriteTile`, `ConvertMirrorPad`, `RewritePack`, `RewriteNegate`, `ConvertReverse`, `RewriteSelect` and
//! `RemoveReshape` of Vela.

use std::collections::BTreeMap;

use super::lowering::{Copies, Lowering, n_elements};
use crate::formats::tflite::{BuiltinOptions, dimension};
use crate::targets::ethos_u::geometry::{BRICK_CHANNELS, Hwc};
use crate::targets::ethos_u::layer::Kind;
use crate::targets::ethos_u::program::{
    Action, Alias, Arithmetic, Operation, OptionalBytes, Program,
};

/// Maximum number of copies that replace a TILE; networks have two or three.
const MAX_TILES: i32 = 64;

/// Adds one copy of the whole for each repetition, along one axis after the other. `None` if the multiples are unknown.
pub fn tile(lowering: &mut Lowering) -> Option<()> {
    let (input, multiples, output) = (lowering.input(0)?, lowering.input(1)?, lowering.output()?);
    let mut shape = lowering.tensor(input).shape.clone();
    let multiples = lowering.integers(multiples);
    let n_copies = multiples
        .iter()
        .try_fold(0, |n: i32, &times| n.checked_add(times.max(0)))?;
    if multiples.len() != shape.len() || n_copies > MAX_TILES {
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
        let piece = seen(&shape);
        let depth = shape[axis];
        shape[axis] = depth.checked_mul(multiples[axis])?;
        let element_bytes = lowering.element_bytes(output);
        let to = match axis == last {
            true => output,
            false => lowering.map(seen(&shape), element_bytes),
        };
        let is_in_brick = axis + 1 == shape.len() && i64::from(depth) % BRICK_CHANNELS != 0;
        let pieces = vec![(piece, from); usize::try_from(multiples[axis]).ok()?];
        join(lowering, &pieces, to, is_in_brick);
        from = to;
    }
    Some(())
}

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
    let rows = [top, bottom].map(|rows| [rows, width, depth]);
    // Columns are copied from the rows that were already written.
    let columns = [left, right].map(|columns| [to_height, columns, depth]);
    let pieces: Vec<(Hwc, usize)> = [[height, width, depth]]
        .into_iter()
        .chain(rows)
        .chain(columns)
        .filter(|piece| piece.iter().all(|&size| size > 0))
        .map(|piece| (piece, input))
        .collect();
    // Ethos-U55 and U65 reverse by strides.
    lowering.program.maps[output].is_linear |= !lowering.accelerator.is_u85();
    join(lowering, &pieces, output, false);
    Some(())
}

/// Adds copies of parts of these maps with these shapes, which together form the output.
fn join(lowering: &mut Lowering, pieces: &[(Hwc, usize)], output: usize, is_in_brick: bool) {
    let element_bytes = lowering.element_bytes(output);
    let mut parts = Vec::with_capacity(pieces.len());
    for &(piece, from) in pieces {
        let part = lowering.map(piece, element_bytes);
        // It is in the memory of the output.
        lowering.program.maps[part].bytes = OptionalBytes::default();
        lowering.push(Operation {
            seen: Some(Box::new([piece; 2])),
            ..lowering.operation(Action::Copy, &[from], part)
        });
        parts.push(part);
    }
    lowering.push(Operation {
        alias: Alias::Concat,
        ..lowering.operation(Action::Concat { is_in_brick }, &parts, output)
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
    let pieces: Vec<(Hwc, usize)> = inputs
        .into_iter()
        .map(|input| (seen(&shape), input))
        .collect();
    join(lowering, &pieces, output, is_in_brick);
    Some(())
}

/// Copies a state variable, which is in the memory of feature maps.
pub fn read_variable(lowering: &mut Lowering) -> Option<()> {
    let output = lowering.output()?;
    let state = lowering.state_map(lowering.shape(output), lowering.element_bytes(output));
    lowering.push(lowering.operation(Action::Copy, &[state], output));
    Some(())
}

/// Copies a value to a state variable.
pub fn assign_variable(lowering: &mut Lowering) -> Option<()> {
    let value = lowering.input(1)?;
    let state = lowering.state_map(lowering.shape(value), lowering.element_bytes(value));
    lowering.push(lowering.operation(Action::Copy, &[value], state));
    Some(())
}

/// Subtracts the input from zero.
pub fn negate(lowering: &mut Lowering) -> Option<()> {
    let (input, output) = (lowering.input(0)?, lowering.output()?);
    let number = lowering.constant([1; 3], lowering.element_bytes(input));
    lowering.binary(Arithmetic::Sum, [input, number], output);
    Some(())
}

/// Adds a pass over all elements for each axis. With more than three dimensions, outer dimensions count as rows and
/// inner ones as channels. `None` if the axes are unknown.
pub fn reverse(lowering: &mut Lowering) -> Option<()> {
    let (input, axes, output) = (lowering.input(0)?, lowering.input(1)?, lowering.output()?);
    let shape = lowering.tensor(input).shape.clone();
    let axes = lowering.integers(axes);
    let axes: Option<Vec<usize>> = axes
        .into_iter()
        .map(|axis| dimension(axis, shape.len()))
        .collect();
    let axes = axes.filter(|axes| !axes.is_empty())?;
    let last = axes.len() - 1;
    let mut from = input;
    for (place, axis) in axes.into_iter().enumerate() {
        let is_around = shape.len() > 4 || shape.len() == 4 && (shape[0] > 1 || axis == 0);
        let whole = match is_around {
            true => [
                n_elements(&shape[..axis]),
                n_elements(&shape[axis..=axis]),
                n_elements(&shape[axis + 1..]),
            ],
            false => lowering.shape(input),
        };
        let element_bytes = lowering.element_bytes(output);
        let to = match place == last {
            true => output,
            false => lowering.map(whole, element_bytes),
        };
        lowering.program.maps[to].is_linear |= axis + 1 == shape.len();
        lowering.window(Kind::Pooling, [from, to], [whole; 2], [1; 2]);
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
    let condition = match lowering.element_bytes(condition) == element_bytes {
        true => condition,
        false => {
            let shape = lowering.shape(condition);
            let (number, wide) = (
                lowering.constant([1; 3], 1),
                lowering.map(shape, element_bytes),
            );
            lowering.binary(Arithmetic::Sum, [condition, number], wide)
        }
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
    if lowering
        .pads
        .as_ref()
        .is_some_and(|pads| pads.is_absent(output))
    {
        return Some(());
    }
    let [from, to] = [input, output].map(|map_idx| lowering.program.maps[map_idx]);
    let is_fixed = from.is_input || from.is_output || from.is_constant || from.is_variable;
    let is_bound =
        (is_fixed || from.is_off_chip) && (to.is_output || to.is_variable || to.is_off_chip);
    let before = lowering.copies.get(&input);
    let (source, shaped) = before.map_or((input, input), |copies| (copies.last, copies.shaped));
    let is_shared = lowering.readers(input).len() > 1
        && lowering.tensor(shaped).shape != lowering.tensor(output).shape;
    if !(is_bound || is_shared) {
        return None;
    }
    let copy = lowering.map(from.shape(), from.element_bytes());
    let copying = Operation {
        seen: Some(Box::new([lowering.shape(copy); 2])),
        ..lowering.operation(Action::Copy, &[source], copy)
    };
    let copies = lowering.copies.entry(input).or_default();
    copies.operations.push(copying);
    (copies.last, copies.shaped) = (copy, output);
    lowering.push(Operation {
        alias: Alias::View,
        ..lowering.operation(Action::View, &[input], output)
    });
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

/// Height, width and channels of a shape; outer dimensions count as height.
fn seen(shape: &[i32]) -> Hwc {
    super::node::shape(shape)
}
