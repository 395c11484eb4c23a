//! RESIZE_BILINEAR and RESIZE_NEAREST_NEIGHBOR. Reproduces `ConvertResize`, `RewriteResize` and
//! `LegaliseResize` of Vela.

use super::lowering::{Lowering, ones};
use super::movement::copied_pieces;
use crate::formats::tflite::BuiltinOptions;
use crate::targets::ethos_u::layer::Kind;
use crate::targets::ethos_u::program::{Action, Alias, Arithmetic, Operation, Window};

/// Maximum factor that is composed of doublings.
const MAX_FACTOR: i64 = 8;

/// Ethos-U85 has an operation for it. On the others, poolings double height and width, and the last pooling averages;
/// half-pixel centres need four depthwise convolutions.
pub fn resize(lowering: &mut Lowering) -> Option<()> {
    let (is_bilinear, align_corners, half_pixel_centers) = match lowering.operator().options {
        BuiltinOptions::ResizeBilinear {
            align_corners,
            half_pixel_centers,
        } => (true, align_corners, half_pixel_centers),
        BuiltinOptions::ResizeNearestNeighbor { align_corners, .. } => {
            (false, align_corners, !align_corners)
        }
        _ => return None,
    };
    let (input, output) = (lowering.input(0)?, lowering.output()?);
    let [ifm, ofm] = [input, output].map(|map_idx| lowering.shape_of_one(map_idx));
    if ifm[0] * ifm[1] == 1 {
        // Vela counts no bytes of the zeros on Ethos-U85.
        let shape = if lowering.accelerator.is_u85() {
            [1; 3]
        } else {
            ofm
        };
        let zeros = lowering.constant(shape, lowering.element_bytes(output));
        match copied_pieces(&lowering.tensor(output).shape) {
            (_, n_inputs) if n_inputs > 1.0 => lowering.push(Operation {
                view_shapes: Some(Box::new([ifm, ofm])),
                second_part: Some(Box::new(shape)),
                repeats: n_inputs,
                ..lowering.operation(Action::Binary(Arithmetic::Sum), &[input, zeros], output)
            }),
            _ => {
                lowering.binary(Arithmetic::Sum, [input, zeros], output);
            }
        }
        return Some(());
    }
    let ([h, w, _], [to_h, to_w, _]) = (lowering.shape(input), lowering.shape(output));
    let is_between = is_bilinear && half_pixel_centers;
    if [h, w] == [to_h, to_w] && !is_between {
        lowering.push(Operation {
            alias: Alias::InPlace,
            ..lowering.operation(Action::Copy, &[input], output)
        });
        return Some(());
    }
    if lowering.accelerator.is_u85() {
        let is_half = half_pixel_centers || !is_bilinear && !align_corners;
        let scale = size_ratio([w, to_w], align_corners, is_half);
        let operation = lowering.operation(Action::Resize(scale), &[input], output);
        lowering.push(operation);
        return Some(());
    }
    enlarge_by_powers_of_two(
        lowering,
        [input, output],
        is_bilinear,
        align_corners,
        is_between,
    )
}

/// Enlarges a feature map by doubling it, which Ethos-U55 and U65 do up to a factor.
fn enlarge_by_powers_of_two(
    lowering: &mut Lowering,
    [input, output]: [usize; 2],
    is_bilinear: bool,
    align_corners: bool,
    is_between: bool,
) -> Option<()> {
    let ([h, w, c], [to_h, to_w, _]) = (lowering.shape(input), lowering.shape(output));
    let factor = |from: i64, to: i64| {
        if align_corners && from > 1 && to > 1 {
            (to - 1) / (from - 1)
        } else {
            to / from.max(1)
        }
    };
    let factor = factor(h, to_h).max(factor(w, to_w));
    if !(2..=MAX_FACTOR).contains(&factor) || factor.count_ones() != 1 {
        return None;
    }
    if is_between {
        return resize_between_pixels(lowering, [input, output]);
    }
    let mut from = input;
    let mut left = factor;
    while left > 2 {
        let [h, w, _] = lowering.shape(from);
        let doubled = [(2 * h).min(to_h), (2 * w).min(to_w), c];
        let to = lowering.map(doubled, lowering.element_bytes(output));
        double_size(lowering, Kind::Pooling, [from, to], 1);
        from = to;
        left /= 2;
    }
    match (is_bilinear, align_corners) {
        (true, _) => double_size(lowering, Kind::Pooling, [from, output], factor),
        (false, true) => double_size(lowering, Kind::Depthwise, [from, output], factor),
        (false, false) => double_size(lowering, Kind::Pooling, [from, output], 1),
    }
    Some(())
}

/// The factor between two sizes, reduced, with an even numerator and denominator between pixel centres.
fn size_ratio([from, to]: [i64; 2], align_corners: bool, is_half: bool) -> [u32; 2] {
    let less = i64::from(align_corners && from > 1);
    let (from, to) = (from - less, to - less);
    let (mut one, mut other) = (from, to);
    while other != 0 {
        (one, other) = (other, one % other);
    }
    let times = if is_half { 2 } else { 1 };
    [to, from].map(|size| u32::try_from(size / one.max(1) * times).unwrap_or(1))
}

/// Doubles height and width with a square window of this side.
fn double_size(lowering: &mut Lowering, kind: Kind, [from, to]: [usize; 2], kernel: i64) {
    let depth = lowering.shape(to)[2];
    lowering.push(Operation {
        window: Some(Box::new(Window {
            kernel: [kernel; 2],
            upscale: 2,
            ..Window::POINT
        })),
        weights: (kind == Kind::Depthwise).then(|| ones(kernel * kernel * depth)),
        ..lowering.operation(Action::Layer(kind), &[from], to)
    });
}

/// Pads the input, and adds four convolutions, each of which writes every other row and column.
fn resize_between_pixels(lowering: &mut Lowering, [input, output]: [usize; 2]) -> Option<()> {
    let [h, w, c] = lowering.shape(input);
    let [to_h, to_w, _] = lowering.shape(output);
    let element_bytes = lowering.element_bytes(input);
    // Each convolution writes every other column.
    lowering.program.maps[output].is_linear = true;
    let framed = lowering.linear_map([h + 2, w + 2, c], element_bytes);
    // The columns at the sides are copied from the rows of the frame.
    for (view_shape, from) in [
        ([h, w, c], input),
        ([1, w, c], input),
        ([1, w, c], input),
        ([h + 2, 1, c], framed),
        ([h + 2, 1, c], framed),
    ] {
        lowering.push(Operation {
            view_shapes: Some(Box::new([view_shape; 2])),
            ..lowering.operation(Action::Layer(Kind::Pooling), &[from], framed)
        });
    }
    // The weights of all but the first one are fetched while the one before it runs.
    let repeats = &[1.0, 3.0];
    for &repeats in repeats {
        lowering.push(Operation {
            view_shapes: Some(Box::new([[h + 1, w + 1, c], [to_h - 1, to_w - 1, c]])),
            window: Some(Box::new(Window {
                kernel: [2; 2],
                ..Window::POINT
            })),
            weights: Some(ones(4 * c)),
            repeats,
            ..lowering.operation(Action::Layer(Kind::Depthwise), &[framed], output)
        });
    }
    Some(())
}
