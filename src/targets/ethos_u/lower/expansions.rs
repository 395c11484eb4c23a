//! SQUARED_DIFFERENCE, PRELU, LEAKY_RELU, CAST and broadcasts, which take several operations. Reproduces
//! `RewriteSquaredDifference`, `ConvertPrelu`, `ConvertLeakyRelu16bit`, `RewriteCast` and `ReplaceBroadcastWithAdd` of Vela.

use super::lowering::Lowering;
use crate::formats::tflite::{BuiltinOptions, TensorType};
use crate::targets::ethos_u::program::{
    Action, Alias, Arithmetic, INT16_BYTES, INT32_BYTES, Operation,
};

/// Scales both inputs in 32 bits, squares their difference and scales it back.
pub fn squared_difference(lowering: &mut Lowering) -> Option<()> {
    let inputs = [lowering.input(0)?, lowering.input(1)?];
    let output = lowering.output()?;
    let number = lowering.constant([1, 1, 1], INT32_BYTES);
    let [one, other] = inputs.map(|input| {
        let shape = lowering.shape(input);
        let wide = lowering.map(shape, INT32_BYTES);
        // Only Ethos-U85 writes 32-bit copies in NHCWB16.
        lowering.program.maps[wide].is_linear = !lowering.accelerator.is_u85();
        lowering.copy(input, wide);
        let scaled = lowering.map(shape, INT32_BYTES);
        lowering.binary(Arithmetic::Product, [wide, number], scaled)
    });
    let shape = lowering.shape(output);
    let difference = lowering.map(shape, INT32_BYTES);
    lowering.binary(Arithmetic::Sum, [one, other], difference);
    let mut square = lowering.map(shape, INT32_BYTES);
    lowering.binary(Arithmetic::Product, [difference, difference], square);
    let rank = lowering.tensor(output).shape.len();
    if !lowering.accelerator.is_u85() && rank < 4 {
        // The square always has four dimensions. If the output has another rank, Vela adds zeros of the output's shape.
        let zeros = lowering.constant(shape, INT32_BYTES);
        let sum = lowering.map(shape, INT32_BYTES);
        square = lowering.binary(Arithmetic::Sum, [zeros, square], sum);
    }
    lowering.binary(Arithmetic::Product, [square, number], output);
    Some(())
}

/// The maximum of the input and its product with the slopes, if no slope exceeds 1; otherwise products of the negative
/// part, added to the positive part, also for slopes that are computed. A single slope becomes a lookup table. `None`
/// if constant slopes cannot be read.
pub fn prelu(lowering: &mut Lowering) -> Option<()> {
    let (input, slopes, output) = (lowering.input(0)?, lowering.input(1)?, lowering.output()?);
    let slope = slopes_of(lowering, slopes);
    if slope.is_none() && lowering.graph.is_constant(slopes) {
        return None;
    }
    let element_bytes = lowering.element_bytes(output);
    if let Some(slope) = slope.as_ref().filter(|slope| slope.is_one) {
        // Without a slope it is a RELU.
        let action = if slope.max != 0.0 {
            Action::Table
        } else if lowering.is_scaled() {
            Action::Requantise
        } else {
            Action::Clamp
        };
        lowering.push(Operation {
            alias: Alias::InPlace,
            ..lowering.operation(action, &[input], output)
        });
        return Some(());
    }
    let number = lowering.constant([1, 1, 1], element_bytes);
    let are_small = slope.is_some_and(|slope| slope.max <= 1.0);
    multiply_negative(lowering, [input, slopes, number], output, are_small);
    Some(())
}

/// A LEAKY_RELU of 16 bits that the output stage cannot compute: with a negative slope or, on Ethos-U55 and U65, another
/// scale than that of the input. `None` for any other.
pub fn leaky_relu(lowering: &mut Lowering) -> Option<()> {
    let (input, output) = (lowering.input(0)?, lowering.output()?);
    let BuiltinOptions::LeakyRelu { alpha } = lowering.operator().options else {
        return None;
    };
    let is_wide = lowering.tensor(input).tensor_type == TensorType::Int16;
    let is_supported =
        alpha >= 0.0 && (lowering.accelerator.is_u85() || keeps_scale(lowering, [input, output]));
    if !is_wide || is_supported || alpha == 0.0 || alpha == -1.0 {
        return None;
    }
    let number = lowering.constant([1, 1, 1], INT16_BYTES);
    let is_small = (0.0..=1.0).contains(&alpha);
    multiply_negative(lowering, [input, number, number], output, is_small);
    Some(())
}

fn keeps_scale(lowering: &Lowering, maps: [usize; 2]) -> bool {
    let [from, to] = maps.map(|map| lowering.tensor(map).quantization.as_ref());
    from == to
}

/// Multiplies the negative values of the input by the slopes: with slopes of at most 1, the maximum of the input and its
/// products, and otherwise the sum of the products of its negative part and its positive part.
fn multiply_negative(
    lowering: &mut Lowering,
    [input, slopes, number]: [usize; 3],
    output: usize,
    are_small: bool,
) {
    let shape = lowering.shape(output);
    let element_bytes = lowering.element_bytes(output);
    let product = lowering.map(shape, element_bytes);
    if are_small {
        lowering.binary(Arithmetic::Product, [input, slopes], product);
        let same = if keeps_scale(lowering, [input, output]) {
            input
        } else {
            let rescaled = lowering.map(shape, element_bytes);
            lowering.binary(Arithmetic::Product, [input, number], rescaled)
        };
        lowering.binary(Arithmetic::Other, [product, same], output);
        return;
    }
    let negative = lowering.map(shape, element_bytes);
    lowering.binary(Arithmetic::Other, [input, number], negative);
    lowering.binary(Arithmetic::Product, [negative, slopes], product);
    let positive = lowering.map(shape, element_bytes);
    lowering.push(Operation {
        alias: Alias::InPlace,
        ..lowering.operation(Action::Clamp, &[input], positive)
    });
    lowering.binary(Arithmetic::Sum, [product, positive], output);
}

/// Properties of the slopes of a PRELU that decide how it is lowered.
struct Slopes {
    /// Whether all slopes are equal.
    is_one: bool,
    max: f32,
}

fn slopes_of(lowering: &mut Lowering, slopes: usize) -> Option<Slopes> {
    let tensor = lowering.tensor(slopes);
    let contents = lowering.graph.constant(slopes);
    // Beyond the budget, the first slope stands for all.
    let contents = (lowering.scan_budget.spend(contents)).or(contents.get(..1))?;
    let to_integer = |byte: &u8| match tensor.tensor_type {
        TensorType::Int8 => Some(i32::from(byte.cast_signed())),
        TensorType::UInt8 => Some(i32::from(*byte)),
        _ => None,
    };
    let values = || contents.iter().map(to_integer);
    let (min, max) = (values().min()??, values().max()??);
    let quantization = tensor.quantization.as_ref()?;
    let scale = *quantization.scale.first()?;
    let zero_point = quantization.zero_point.first().copied().unwrap_or(0);
    Some(Slopes {
        is_one: min == max,
        max: i64::from(max).saturating_sub(zero_point) as f32 * scale,
    })
}

/// The sum of the input and zero, or a comparison with zero where one of both types is that of truth values. What gets 64
/// bits is made in 32 bits, read as twice as many channels of 16 bits, and each of these gets 32 bits.
pub fn cast(lowering: &mut Lowering) -> Option<()> {
    let (input, output) = (lowering.input(0)?, lowering.output()?);
    let types = [input, output].map(|tensor_idx| lowering.tensor(tensor_idx).tensor_type);
    let arithmetic = match types {
        [TensorType::Bool, _] | [_, TensorType::Bool] => Arithmetic::Other,
        _ => Arithmetic::Sum,
    };
    let number = lowering.constant([1; 3], lowering.element_bytes(input));
    if types[1] != TensorType::Int64 {
        lowering.binary(arithmetic, [input, number], output);
        return Some(());
    }
    let shape = lowering.shape(input);
    let halved = [shape[0], shape[1], 2 * shape[2]];
    let narrow = lowering.linear_map(shape, INT32_BYTES);
    lowering.binary(arithmetic, [input, number], narrow);
    let halves = lowering.linear_map(halved, INT16_BYTES);
    lowering.view(narrow, halves);
    let number = lowering.constant([1; 3], INT16_BYTES);
    let wide = lowering.linear_map(halved, INT32_BYTES);
    lowering.binary(Arithmetic::Sum, [halves, number], wide);
    lowering.view(wide, output);
    Some(())
}

/// Ethos-U55 and U65 broadcast one input only. If both are broadcast, the first one is added to zeros of the
/// output's shape.
pub fn broadcast(lowering: &mut Lowering, arithmetic: Arithmetic) -> Option<()> {
    let inputs = [lowering.input(0)?, lowering.input(1)?];
    let output = lowering.output()?;
    let of_output = &lowering.tensor(output).shape;
    let is_broadcast = |&input: &usize| {
        let input_shape = &lowering.tensor(input).shape;
        let missing = of_output.len().saturating_sub(input_shape.len());
        let input_shape = std::iter::repeat_n(&1, missing).chain(input_shape);
        !input_shape.eq(of_output)
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
