//! Elementwise operators that the compiler puts together of several.

use super::lowering::Lowering;
use crate::ethos_u::program::{Arithmetic, WIDE_BYTES};

/// Both inputs in 32 bits and scaled, their difference squared and scaled.
pub fn squared_difference(lowering: &mut Lowering) -> Option<()> {
    let inputs = [lowering.input(0)?, lowering.input(1)?];
    let output = lowering.output()?;
    if lowering.element_bytes(output) != 1 {
        return None;
    }
    let number = lowering.constant([1, 1, 1], WIDE_BYTES);
    let [one, other] = inputs.map(|input| {
        let shape = lowering.shape(input);
        let wide = lowering.map(shape, WIDE_BYTES);
        // Only Ethos-U85 widens into bricks.
        lowering.program.maps[wide].is_linear = !lowering.accelerator.is_u85();
        lowering.copy(input, wide);
        let scaled = lowering.map(shape, WIDE_BYTES);
        lowering.binary(Arithmetic::Product, [wide, number], scaled)
    });
    let shape = lowering.shape(output);
    let difference = lowering.map(shape, WIDE_BYTES);
    lowering.binary(Arithmetic::Sum, [one, other], difference);
    let mut square = lowering.map(shape, WIDE_BYTES);
    lowering.binary(Arithmetic::Product, [difference, difference], square);
    let rank = lowering.tensor(output).shape.len();
    if !lowering.accelerator.is_u85() && rank < 4 {
        // The square has four dimensions whatever the output has: the compiler adds zeros of its shape.
        let zeros = lowering.constant(shape, WIDE_BYTES);
        let sum = lowering.map(shape, WIDE_BYTES);
        square = lowering.binary(Arithmetic::Sum, [zeros, square], sum);
    }
    lowering.binary(Arithmetic::Product, [square, number], output);
    Some(())
}

/// The larger of the input and its product with the slopes. None where there is a single slope: that is
/// looked up in a table.
pub fn prelu(lowering: &mut Lowering) -> Option<()> {
    let (input, slopes, output) = (lowering.input(0)?, lowering.input(1)?, lowering.output()?);
    let shape = lowering.shape(output);
    let is_one = lowering
        .graph
        .constant(slopes)
        .windows(2)
        .all(|pair| pair[0] == pair[1]);
    if is_one {
        return None;
    }
    let product = lowering.map(shape, 1);
    lowering.binary(Arithmetic::Product, [input, slopes], product);
    let number = lowering.constant([1, 1, 1], 1);
    let rescaled = lowering.map(shape, 1);
    lowering.binary(Arithmetic::Product, [input, number], rescaled);
    lowering.binary(Arithmetic::Other, [product, rescaled], output);
    Some(())
}

/// Where both inputs are broadcast, Ethos-U55 and U65 add the first to zeros of the output's shape.
pub fn broadcast(lowering: &mut Lowering, arithmetic: Arithmetic) -> Option<()> {
    let inputs = [lowering.input(0)?, lowering.input(1)?];
    let output = lowering.output()?;
    let of_output = &lowering.tensor(output).shape;
    let is_broadcast = |&input: &usize| {
        let own = &lowering.tensor(input).shape;
        let missing = of_output.len().saturating_sub(own.len());
        let own = std::iter::repeat_n(&1, missing).chain(own);
        !own.eq(of_output)
    };
    if lowering.accelerator.is_u85() || !inputs.iter().all(is_broadcast) {
        return None;
    }
    let shape = lowering.shape(output);
    let element_bytes = lowering.element_bytes(inputs[0]);
    let zeros = lowering.constant(shape, element_bytes);
    let whole = lowering.map(shape, element_bytes);
    lowering.binary(Arithmetic::Sum, [zeros, inputs[0]], whole);
    lowering.binary(arithmetic, [whole, inputs[1]], output);
    Some(())
}
