//! PAD and PADV2. Reproduces `RewritePad` of Vela.

use super::lowering::{Lowering, n_elements};
use super::movement::copied_pieces;
use super::padded_windows::padding_amounts;
use crate::targets::ethos_u::geometry::BRICK_CHANNELS;
use crate::targets::ethos_u::program::{Action, Alias, Operation, OptionalBytes};

/// Adds copies of a constant to each padded side, and of the input between them. Adds nothing if all readers are windows,
/// which pad by themselves. `None` if the amounts are unknown.
pub fn pad(lowering: &mut Lowering) -> Option<()> {
    let (input, sides, output) = (lowering.input(0)?, lowering.input(1)?, lowering.output()?);
    let tensor = lowering.tensor(output);
    let rank = tensor.shape.len();
    let sides = padding_amounts(lowering.graph, sides, rank);
    if lowering.pads.is_absent(output) {
        return Some(());
    }
    let is_deep = rank > 4;
    if sides.len() != rank {
        return None;
    }
    let [h, w, c] = lowering.shape(output);
    let element_bytes = lowering.element_bytes(output);
    let mut parts = Vec::new();
    if is_deep {
        let part = copied_in_pieces(lowering, input, element_bytes);
        parts.push(part);
    }
    for (axis, amounts) in sides.iter().enumerate() {
        for &amount in amounts {
            if amount < 0 {
                return None;
            }
            // Outer dimensions count as height.
            let (outer, inner) = (&tensor.shape[..axis], &tensor.shape[axis + 1..]);
            let height = h / n_elements(&tensor.shape[axis..=axis]).max(1);
            let filled = match rank - axis {
                _ if is_deep => [n_elements(outer), amount, n_elements(inner)],
                1 => [h, w, amount],
                2 => [h, amount, c],
                3 => [amount, w, c],
                _ => [amount.saturating_mul(height), w, c],
            };
            if amount > 0 {
                let constant = lowering.constant(filled, element_bytes);
                let part = lowering.map(filled, element_bytes);
                // It is in memory that other operations write as well.
                lowering.program.maps[part].bytes = if is_deep {
                    0.0.into()
                } else {
                    OptionalBytes::default()
                };
                parts.push(lowering.copy(constant, part));
            }
        }
    }
    let &[before, _] = sides.last()?;
    let depth = lowering.shape(input)[2];
    let begins_in_brick = begins_within_brick([before, before.saturating_add(depth)]);
    let is_in_brick = begins_in_brick && depth != c;
    // The producer of the input runs before the constants are copied.
    parts.extend((!is_deep).then_some(input));
    lowering.push(Operation {
        alias: Alias::Concat,
        ..lowering.operation(Action::Concat { is_in_brick }, &parts, output)
    });
    Some(())
}

/// Whether some of these channels is not the first one of a brick.
fn begins_within_brick(channels: [i64; 2]) -> bool {
    channels.iter().any(|begin| begin % BRICK_CHANNELS != 0)
}

/// Copies a feature map of more than four dimensions three dimensions at a time, and returns the copy.
fn copied_in_pieces(lowering: &mut Lowering, input: usize, element_bytes: i64) -> usize {
    // The input is copied three dimensions at a time.
    let (piece, n_pieces) = copied_pieces(&lowering.tensor(input).shape);
    let part = lowering.map(lowering.shape(input), element_bytes);
    lowering.program.maps[part].bytes = 0.0.into();
    lowering.push(Operation {
        view_shapes: Some(Box::new([piece; 2])),
        repeats: n_pieces,
        ..lowering.operation(Action::Copy, &[input], part)
    });
    part
}
