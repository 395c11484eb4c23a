//! SOFTMAX. Reproduces `compiler/softmax.cpp` of Vela.

use super::lowering::Lowering;
use crate::targets::ethos_u::geometry::Hwc;
use crate::targets::ethos_u::layer::Kind;
use crate::targets::ethos_u::program::{
    Action, Alias, Arithmetic, INT16_BYTES, INT32_BYTES, Operation, Transposition,
};

/// Minimum number of columns with which Ethos-U85 transposes before it takes the maximum of channels.
const MIN_TRANSPOSED_COLUMNS: i64 = 16;
/// Newton-Raphson steps of the reciprocal of the sum.
const N_STEPS: usize = 3;

/// Subtracts the maximum of each row, looks up exponentials, sums them and divides by the sum: about thirty operations
/// for 8 bits and about fifteen for 16 bits. `None` for other elements.
pub fn softmax(lowering: &mut Lowering) -> Option<()> {
    let (input, output) = (lowering.input(0)?, lowering.output()?);
    match lowering.element_bytes(input) {
        1 => {}
        INT16_BYTES => return softmax_of_16_bits(lowering, input, output),
        _ => return None,
    }
    let shape = lowering.shape(input);
    let [h, w, _] = shape;
    let by_row = [h, w, 1];
    let largest = row_maximum(lowering, input);
    let exponents = lowering.map(shape, INT32_BYTES);
    let difference = lowering.map(shape, 1);
    lowering.binary(Arithmetic::Sum, [input, largest], difference);
    lowering.push(Operation {
        alias: Alias::Fused,
        ..lowering.operation(Action::Table, &[difference], exponents)
    });
    let number = lowering.constant([1, 1, 1], INT32_BYTES);
    let rescaled = lowering.map(shape, INT32_BYTES);
    lowering.binary(Arithmetic::Other, [exponents, number], rescaled);
    let sum = lowering.map(by_row, INT32_BYTES);
    lowering.window(Kind::ReduceSum, [rescaled, sum], [shape, by_row], [1, 1]);
    let headroom = lowering.map(by_row, INT32_BYTES);
    let of_sum = lowering.operation(Action::Unary, &[sum], headroom);
    lowering.push(of_sum);
    let shift = lowering.map(by_row, INT32_BYTES);
    lowering.binary(Arithmetic::Sum, [number, headroom], shift);
    let one = row_sums(lowering, [headroom, number], by_row);
    let half = binary(lowering, Arithmetic::Other, [sum, one], by_row);
    let rescaled = products(lowering, [half, number], by_row);
    let mut reciprocal = row_sums(lowering, [rescaled, number], by_row);
    for _ in 0..N_STEPS {
        let product = products(lowering, [reciprocal, half], by_row);
        let error = row_sums(lowering, [number, product], by_row);
        let product = products(lowering, [reciprocal, error], by_row);
        let change = products(lowering, [product, number], by_row);
        reciprocal = row_sums(lowering, [reciprocal, change], by_row);
    }
    let scaled = products(lowering, [exponents, reciprocal], shape);
    let scaled = of_output_rank(lowering, scaled);
    lowering.binary(Arithmetic::Other, [scaled, shift], output);
    Some(())
}

/// The same with tables of 16 bits for the exponential and for the reciprocal.
fn softmax_of_16_bits(lowering: &mut Lowering, input: usize, output: usize) -> Option<()> {
    let shape = lowering.shape(input);
    let [h, w, _] = shape;
    let by_row = [h, w, 1];
    let number = lowering.constant([1, 1, 1], INT32_BYTES);
    let largest = row_maximum_in_place(lowering, input);
    let difference = row_sums(lowering, [input, largest], shape);
    let scaled = products(lowering, [difference, number], shape);
    let index = lowering.map(shape, INT16_BYTES);
    lowering.binary(Arithmetic::Sum, [scaled, number], index);
    let exponents = table_lookup(lowering, index, shape);
    let sum = lowering.map(by_row, INT32_BYTES);
    lowering.window(Kind::ReduceSum, [exponents, sum], [shape, by_row], [1, 1]);
    let headroom = lowering.map(by_row, INT32_BYTES);
    let of_sum = lowering.operation(Action::Unary, &[sum], headroom);
    lowering.push(of_sum);
    let shift = row_sums(lowering, [number, headroom], by_row);
    let one = binary(lowering, Arithmetic::Other, [number, shift], by_row);
    let fraction = row_sums(lowering, [sum, one], by_row);
    let fraction = binary(lowering, Arithmetic::Other, [fraction, headroom], by_row);
    let fraction = binary(lowering, Arithmetic::Other, [fraction, number], by_row);
    let index = lowering.map(by_row, INT16_BYTES);
    lowering.binary(Arithmetic::Sum, [fraction, number], index);
    let reciprocal = table_lookup(lowering, index, by_row);
    let scaled = products(lowering, [exponents, reciprocal], shape);
    let scaled = of_output_rank(lowering, scaled);
    lowering.binary(Arithmetic::Other, [scaled, shift], output);
    Some(())
}

/// A map that the next operation reads beside one value of each row. On Ethos-U55 and U65 the ranks of its inputs differ, so
/// Vela adds zeros of the output's shape.
fn of_output_rank(lowering: &mut Lowering, map: usize) -> usize {
    if lowering.accelerator.is_u85() {
        return map;
    }
    let shape = lowering.shape(map);
    let zeros = lowering.constant(shape, INT32_BYTES);
    row_sums(lowering, [zeros, map], shape)
}

/// What a table of 16 bits has for each element.
fn table_lookup(lowering: &mut Lowering, index: usize, shape: Hwc) -> usize {
    let output = lowering.map(shape, INT16_BYTES);
    lowering.push(Operation {
        alias: Alias::Fused,
        ..lowering.operation(Action::Table, &[index], output)
    });
    output
}

/// The maximum of each row.
fn row_maximum(lowering: &mut Lowering, input: usize) -> usize {
    let [h, w, c] = lowering.shape(input);
    let (order, [rows, columns]) = if w > 1 {
        ([2, 0, 1], [h, w])
    } else {
        ([2, 1, 0], [w, h])
    };
    if lowering.accelerator.is_u85() && columns >= MIN_TRANSPOSED_COLUMNS && c > 1 {
        let [transposed, largest] = [[c, rows, columns], [h, w, 1]].map(|map| lowering.map(map, 1));
        lowering.push(Operation {
            view_shapes: Some(Box::new([[h, w, c]; 2])),
            ..lowering.operation(
                Action::Transpose(Transposition::new([c, rows, columns], order)),
                &[input],
                transposed,
            )
        });
        let view_shapes = [[c, rows, columns], [1, rows, columns]];
        lowering.window(Kind::MaxPooling, [transposed, largest], view_shapes, [c, 1]);
        return largest;
    }
    row_maximum_in_place(lowering, input)
}

/// The maximum of each row, whose elements are read as columns.
fn row_maximum_in_place(lowering: &mut Lowering, input: usize) -> usize {
    let [h, w, c] = lowering.shape(input);
    let largest = lowering.map([h, w, 1], lowering.element_bytes(input));
    let view_shapes = [[h * w, c, 1], [h * w, 1, 1]];
    lowering.window(Kind::MaxPooling, [input, largest], view_shapes, [1, c]);
    largest
}

fn binary(
    lowering: &mut Lowering,
    arithmetic: Arithmetic,
    inputs: [usize; 2],
    shape: Hwc,
) -> usize {
    let output = lowering.map(shape, INT32_BYTES);
    lowering.binary(arithmetic, inputs, output)
}

fn row_sums(lowering: &mut Lowering, inputs: [usize; 2], shape: Hwc) -> usize {
    binary(lowering, Arithmetic::Sum, inputs, shape)
}

fn products(lowering: &mut Lowering, inputs: [usize; 2], shape: Hwc) -> usize {
    binary(lowering, Arithmetic::Product, inputs, shape)
}
