//! SOFTMAX. Reproduces `compiler/softmax.cpp` of Vela.

use super::lowering::Lowering;
use crate::targets::ethos_u::geometry::Hwc;
use crate::targets::ethos_u::layer::Kind;
use crate::targets::ethos_u::program::{
    Action, Alias, Arithmetic, INT32_BYTES, Operation, Transposition,
};

/// Minimum number of columns with which Ethos-U85 transposes before it takes the maximum of channels.
const MIN_TRANSPOSED_COLUMNS: i64 = 16;
/// Newton-Raphson steps of the reciprocal of the sum.
const N_STEPS: usize = 3;

/// Subtracts the maximum of each row, looks up exponentials, sums them and divides by the sum: about thirty operations.
/// `None` unless elements have 8 bits.
pub fn softmax(lowering: &mut Lowering) -> Option<()> {
    let (input, output) = (lowering.input(0)?, lowering.output()?);
    if lowering.element_bytes(input) != 1 {
        return None;
    }
    let shape = lowering.shape(input);
    let [h, w, _] = shape;
    let by_row = [h, w, 1];
    let largest = largest(lowering, input);
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
    let one = sums(lowering, [headroom, number], by_row);
    let half = binary(lowering, Arithmetic::Other, [sum, one], by_row);
    let rescaled = products(lowering, [half, number], by_row);
    let mut reciprocal = sums(lowering, [rescaled, number], by_row);
    for _ in 0..N_STEPS {
        let product = products(lowering, [reciprocal, half], by_row);
        let error = sums(lowering, [number, product], by_row);
        let product = products(lowering, [reciprocal, error], by_row);
        let change = products(lowering, [product, number], by_row);
        reciprocal = sums(lowering, [reciprocal, change], by_row);
    }
    let scaled = products(lowering, [exponents, reciprocal], shape);
    let scaled = match lowering.accelerator.is_u85() {
        true => scaled,
        // The ranks of the next operation's inputs differ, so Vela adds zeros of the output's shape.
        false => {
            let zeros = lowering.constant(shape, INT32_BYTES);
            sums(lowering, [zeros, scaled], shape)
        }
    };
    lowering.binary(Arithmetic::Other, [scaled, shift], output);
    Some(())
}

/// The maximum of each row.
fn largest(lowering: &mut Lowering, input: usize) -> usize {
    let [h, w, c] = lowering.shape(input);
    let largest = lowering.map([h, w, 1], 1);
    let (order, [rows, columns]) = match w > 1 {
        true => ([2, 0, 1], [h, w]),
        false => ([2, 1, 0], [w, h]),
    };
    if lowering.accelerator.is_u85() && columns >= MIN_TRANSPOSED_COLUMNS && c > 1 {
        let transposed = lowering.map([c, rows, columns], 1);
        lowering.push(Operation {
            seen: Some(Box::new([[h, w, c]; 2])),
            ..lowering.operation(
                Action::Transpose(Transposition::new([c, rows, columns], order)),
                &[input],
                transposed,
            )
        });
        let seen = [[c, rows, columns], [1, rows, columns]];
        lowering.window(Kind::MaxPooling, [transposed, largest], seen, [c, 1]);
    } else {
        let seen = [[h * w, c, 1], [h * w, 1, 1]];
        lowering.window(Kind::MaxPooling, [input, largest], seen, [1, c]);
    }
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

fn sums(lowering: &mut Lowering, inputs: [usize; 2], shape: Hwc) -> usize {
    binary(lowering, Arithmetic::Sum, inputs, shape)
}

fn products(lowering: &mut Lowering, inputs: [usize; 2], shape: Hwc) -> usize {
    binary(lowering, Arithmetic::Product, inputs, shape)
}
