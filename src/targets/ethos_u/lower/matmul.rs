//! BATCH_MATMUL.

use super::lowering::{Lowering, n_elements};
use super::transpose::{Pass, is_exchanged_before};
use crate::formats::tflite::BuiltinOptions;
use crate::targets::ethos_u::geometry::Hwc;
use crate::targets::ethos_u::layer::{Kind, UNCHANGED};
use crate::targets::ethos_u::program::{Action, INT32_BYTES, Operation};

/// Ethos-U85 multiplies two feature maps, one batch after the other. On the others, elementwise products of each column
/// of the second matrix with all rows of the first one are summed.
pub fn batch_matmul(lowering: &mut Lowering) -> Option<()> {
    let BuiltinOptions::BatchMatMul { adj_x, adj_y } = lowering.operator().options else {
        return None;
    };
    multiply(lowering, adj_x, adj_y)
}

/// A FULLY_CONNECTED whose weights are a feature map: the product of all rows with its rows. `None` for constant weights.
pub fn product_with_map(lowering: &mut Lowering) -> Option<()> {
    let weights = lowering.input(1)?;
    if lowering.graph.is_constant(weights) || lowering.tensor(weights).shape.len() != 2 {
        return None;
    }
    multiply(lowering, false, true)
}

fn multiply(lowering: &mut Lowering, adj_x: bool, adj_y: bool) -> Option<()> {
    let (first, second, output) = (lowering.input(0)?, lowering.input(1)?, lowering.output()?);
    let is_wide = lowering.element_bytes(output) != 1;
    if is_wide && !lowering.accelerator.is_u85() {
        return None;
    }
    // Both inputs may be one feature map, which then stays in its own order for the first.
    let is_square = first == second;
    let [mut n, mut rows, columns] = matrices(&lowering.tensor(output).shape)?;
    let [_, one, other] = matrices(&lowering.tensor(first).shape)?;
    let options = &lowering.operator().options;
    if !matches!(options, BuiltinOptions::BatchMatMul { .. }) {
        (n, rows) = (1, n.saturating_mul(rows));
    }
    let inner = if adj_x { one } else { other };
    // A vector has the same order in memory either way, which the compiler knows of transpositions in the file, but not
    // of its own.
    let is_vector = |one: i64, other: i64| one.min(other) == 1;
    let first = if !adj_x {
        first
    } else if is_vector(inner, rows) {
        view_of(lowering, first, [n, rows, inner])
    } else {
        transposed(lowering, first, [n, inner, rows])
    };
    // A TRANSPOSE before it may already perform this transposition.
    let is_kept = adj_y && !is_vector(inner, columns);
    let is_done = is_kept || is_exchanged_before(lowering, second);
    let stays = is_kept && stays_in_place(lowering, second, is_square);
    let second = if !is_done {
        transposed(lowering, second, [n, inner, columns])
    } else if stays {
        transposed_map(lowering, second, [n, columns, inner], UNCHANGED)
    } else {
        second
    };
    if lowering.accelerator.is_u85() {
        lowering.push(Operation {
            view_shapes: Some(Box::new([[1, rows, inner], [1, rows, columns]])),
            repeats: n as f64,
            ..lowering.operation(Action::Layer(Kind::MatrixProduct), &[first, second], output)
        });
        return Some(());
    }
    let products = lowering.linear_map([n, rows, inner], 1);
    let map = &mut lowering.program.maps[products];
    map.is_off_chip = true;
    if let Some(bytes) = map.bytes.get() {
        map.bytes = (bytes * INT32_BYTES as f64).into();
    }
    lowering.push(Operation {
        outputs: [output, products].as_slice().into(),
        view_shapes: Some(Box::new([[n, rows, inner], [n, rows, 1]])),
        ..lowering.operation(
            Action::MatMul { n_columns: columns },
            &[first, second],
            output,
        )
    });
    Some(())
}

/// Number, rows and columns of the matrices in a tensor; `None` if it has none.
fn matrices(shape: &[i32]) -> Option<[i64; 3]> {
    let [outer @ .., rows, columns] = shape else {
        return None;
    };
    let sizes = [
        n_elements(outer),
        n_elements(&[*rows]),
        n_elements(&[*columns]),
    ];
    sizes.iter().all(|&size| size > 0).then_some(sizes)
}

/// Whether both transpositions of the second matrix, which cancel each other, leave a copy: the operation before cannot
/// write their result, because there is none or its result is read elsewhere.
fn stays_in_place(lowering: &Lowering, second: usize, is_square: bool) -> bool {
    let is_shared = is_square || lowering.readers(second).len() != 1;
    let map = &lowering.program.maps[second];
    map.is_input || map.is_output || is_shared
}

fn view_of(lowering: &mut Lowering, input: usize, shape: Hwc) -> usize {
    let output = lowering.map(shape, lowering.element_bytes(input));
    lowering.view(input, output);
    output
}

fn transposed(lowering: &mut Lowering, input: usize, shape: Hwc) -> usize {
    transposed_map(lowering, input, shape, [0, 2, 1])
}

fn transposed_map(lowering: &mut Lowering, input: usize, shape: Hwc, order: [usize; 3]) -> usize {
    let pass = Pass::new(shape, order);
    let element_bytes = lowering.element_bytes(input);
    let output = if lowering.accelerator.is_u85() {
        lowering.map(pass.written, element_bytes)
    } else {
        lowering.linear_map(pass.written, element_bytes)
    };
    lowering.transpose_pass([input, output], pass);
    output
}
