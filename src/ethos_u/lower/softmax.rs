//! SOFTMAX.

use super::lowering::Lowering;
use crate::ethos_u::accelerator::Hwc;
use crate::ethos_u::layer::Kind;
use crate::ethos_u::program::{Action, Arithmetic, Operation, Placing, WIDE_BYTES};

/// Channels from which on Ethos-U85 transposes before it looks for the largest of them.
const LEAST_TRANSPOSED: i64 = 16;
/// Newton's steps towards the reciprocal of the sum.
const N_STEPS: usize = 3;

/// The largest of each row is taken away, exponents are looked up, summed and divided by the sum: some
/// thirty operations. None for numbers of more than 8 bits.
pub fn softmax(lowering: &mut Lowering) -> Option<()> {
    let (input, output) = (lowering.input(0)?, lowering.output()?);
    if lowering.element_bytes(input) != 1 {
        return None;
    }
    let shape = lowering.shape(input);
    let [h, w, _] = shape;
    let by_row = [h, w, 1];
    let of_rows = flat([h, w, 1]);
    let largest = largest(lowering, input);
    let exponents = lowering.map(shape, WIDE_BYTES);
    let difference = lowering.map(shape, 1);
    lowering.binary(Arithmetic::Sum, [input, largest], difference);
    lowering.push(Operation {
        placing: Placing::Fused,
        ..lowering.operation(Action::Table, &[difference], exponents)
    });
    let number = lowering.constant([1, 1, 1], WIDE_BYTES);
    let rescaled = lowering.linear_map(shape, WIDE_BYTES);
    lowering.binary(Arithmetic::Other, [exponents, number], rescaled);
    let sum = lowering.linear_map(by_row, WIDE_BYTES);
    lowering.window(Kind::ReduceSum, [rescaled, sum], [shape, by_row], [1, 1]);
    let sum = view(lowering, sum, of_rows);
    let headroom = wide(lowering, of_rows);
    let of_sum = lowering.operation(Action::Unary, &[sum], headroom);
    lowering.push(of_sum);
    let shift = lowering.linear_map(of_rows, WIDE_BYTES);
    lowering.binary(Arithmetic::Sum, [number, headroom], shift);
    let one = sums(lowering, [headroom, number], of_rows);
    let half = binary(lowering, Arithmetic::Other, [sum, one], of_rows);
    let rescaled = products(lowering, [half, number], of_rows);
    let mut reciprocal = sums(lowering, [rescaled, number], of_rows);
    for _ in 0..N_STEPS {
        let product = products(lowering, [reciprocal, half], of_rows);
        let error = sums(lowering, [number, product], of_rows);
        let product = products(lowering, [reciprocal, error], of_rows);
        let change = products(lowering, [product, number], of_rows);
        reciprocal = sums(lowering, [reciprocal, change], of_rows);
    }
    let reciprocal = view(lowering, reciprocal, by_row);
    let scaled = products(lowering, [exponents, reciprocal], shape);
    let scaled = match lowering.accelerator.is_u85() {
        true => scaled,
        // The shapes of what comes next do not agree in rank: the compiler adds zeros of the output's.
        false => {
            let zeros = lowering.constant(shape, WIDE_BYTES);
            sums(lowering, [zeros, scaled], shape)
        }
    };
    let shift = view(lowering, shift, by_row);
    lowering.binary(Arithmetic::Other, [scaled, shift], output);
    Some(())
}

/// The largest of each row.
fn largest(lowering: &mut Lowering, input: usize) -> usize {
    let [h, w, c] = lowering.shape(input);
    let largest = lowering.linear_map([h, w, 1], 1);
    let [rows, columns] = if w > 1 { [h, w] } else { [w, h] };
    if lowering.accelerator.is_u85() && columns >= LEAST_TRANSPOSED && c > 1 {
        let transposed = lowering.map([c, rows, columns], 1);
        lowering.push(Operation {
            seen: Some([[h, w, c]; 2]),
            ..lowering.operation(Action::Move, &[input], transposed)
        });
        let seen = [[c, rows, columns], [1, rows, columns]];
        lowering.window(Kind::MaxPooling, [transposed, largest], seen, [c, 1]);
    } else {
        let seen = [[h * w, c, 1], [h * w, 1, 1]];
        lowering.window(Kind::MaxPooling, [input, largest], seen, [1, c]);
    }
    largest
}

/// As many elements in whole bricks, where they fill some.
fn flat([h, w, c]: Hwc) -> Hwc {
    let n_elements = h * w * c;
    match n_elements % 16 {
        0 => [1, n_elements / 16, 16],
        _ => [h, w, c],
    }
}

fn wide(lowering: &mut Lowering, shape: Hwc) -> usize {
    lowering.map(shape, WIDE_BYTES)
}

/// The same map in another shape.
fn view(lowering: &mut Lowering, map: usize, shape: Hwc) -> usize {
    if lowering.shape(map) == shape {
        return map;
    }
    let seen = lowering.linear_map(shape, WIDE_BYTES);
    lowering.push(Operation {
        placing: Placing::View,
        ..lowering.operation(Action::View, &[map], seen)
    });
    seen
}

fn binary(
    lowering: &mut Lowering,
    arithmetic: Arithmetic,
    inputs: [usize; 2],
    shape: Hwc,
) -> usize {
    let output = wide(lowering, shape);
    lowering.binary(arithmetic, inputs, output)
}

fn sums(lowering: &mut Lowering, inputs: [usize; 2], shape: Hwc) -> usize {
    binary(lowering, Arithmetic::Sum, inputs, shape)
}

fn products(lowering: &mut Lowering, inputs: [usize; 2], shape: Hwc) -> usize {
    binary(lowering, Arithmetic::Product, inputs, shape)
}
