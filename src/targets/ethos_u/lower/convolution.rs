//! CONV_2D with groups or strides beyond the hardware's, and TRANSPOSE_CONV. Reproduces
//! `ConvertConvolutionGroup`, `DecomposeConv2D` and `DecomposeTransposeConv2D` of Vela.

use std::sync::Arc;

use super::lowering::Lowering;
use super::transpose::passes_of_four;
use crate::formats::tflite::BuiltinOptions;
use crate::graph::analysis::ByteHistogram;
use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::blocks;
use crate::targets::ethos_u::geometry::{BRICK_CHANNELS, Hwc, IfmOfm};
use crate::targets::ethos_u::layer::{Kind, Layer};
use crate::targets::ethos_u::program::{Action, Alias, Operation, Program, WeightSharing, Window};

/// Maximum number of positions inside a stride for which convolutions are added.
const MAX_PARTS: i64 = 16;
/// Largest stride that the address generator supports.
const MAX_STRIDE: i64 = 3;
/// Number of operations before a window among which its PAD is searched for.
const MAX_BEFORE: usize = 64;

/// For a stride above [`MAX_STRIDE`]: the operation for one position of the output, and a second operation that repeats
/// it for all other positions. `None` if the stride is within the limit.
pub fn in_pieces(
    accelerator: &Accelerator,
    program: &Program,
    operation: &Operation,
) -> Option<[Operation; 2]> {
    let Action::Layer(Kind::Convolution | Kind::Depthwise) = operation.action else {
        return None;
    };
    let window = operation.window();
    if window.stride.iter().all(|&stride| stride <= MAX_STRIDE) {
        return None;
    }
    let (&input, &output) = (operation.inputs.first()?, operation.outputs.first()?);
    let [ifm, ofm] = [input, output].map(|map_idx| program.maps[map_idx].shape());
    let saves_accumulators = accelerator.is_u85() && !accelerator.uses_trained_rules;
    if saves_accumulators && is_padded(program, input, [ifm, ofm], window) {
        return by_kernel_position(accelerator, program, operation);
    }
    let reach = |axis: usize| {
        let dilated = window.kernel[axis]
            .saturating_sub(1)
            .saturating_mul(window.dilation[axis]);
        dilated.saturating_add(1).min(ifm[axis])
    };
    let n_others = ofm[0].saturating_mul(ofm[1]) - 1;
    let first = Operation {
        seen: Some(Box::new([[reach(0), reach(1), ifm[2]], [1, 1, ofm[2]]])),
        window: Some(Box::new(Window {
            stride: [1; 2],
            ..window
        })),
        sharing: match n_others > 0 {
            true => WeightSharing::First,
            false => WeightSharing::None,
        },
        ..operation.clone()
    };
    let others = Operation {
        sharing: WeightSharing::Again,
        repeats: n_others.max(0) as f64,
        ..first.clone()
    };
    Some([first, others])
}

/// Whether a window reaches beyond its input, or a PAD before it is part of it.
fn is_padded(program: &Program, input: usize, [ifm, ofm]: [Hwc; 2], window: Window) -> bool {
    let needed = |axis: usize| {
        let dilated = window.kernel[axis]
            .saturating_sub(1)
            .saturating_mul(window.dilation[axis]);
        (ofm[axis] - 1)
            .saturating_mul(window.stride[axis])
            .saturating_add(dilated)
            .saturating_add(1)
    };
    let mut before = program.operations.iter().rev().take(MAX_BEFORE);
    let writer = before.find(|operation| operation.outputs.contains(&input));
    let has_pad =
        writer.is_some_and(|writer| writer.action == Action::Pad && writer.alias == Alias::Fused);
    has_pad || (0..2).any(|axis| needed(axis) > ifm[axis])
}

/// Ethos-U85 keeps accumulators between operations: one operation for each position of the kernel and each block of the
/// OFM. `None` if no block fits.
fn by_kernel_position(
    accelerator: &Accelerator,
    program: &Program,
    operation: &Operation,
) -> Option<[Operation; 2]> {
    let (&input, &output) = (operation.inputs.first()?, operation.outputs.first()?);
    let [from, to] = [input, output].map(|map_idx| &program.maps[map_idx]);
    let [ifm, ofm] = [from.shape(), to.shape()];
    let Action::Layer(kind) = operation.action else {
        return None;
    };
    let element_bytes = IfmOfm {
        ifm: from.element_bytes(),
        ofm: to.element_bytes(),
    };
    let point = Layer::of_positions(kind, ifm, ofm, element_bytes);
    let block = blocks::choose(accelerator, &point)?.ofm;
    let written: Hwc = std::array::from_fn(|axis| block[axis].min(ofm[axis]));
    let n_blocks: f64 = (0..3)
        .map(|axis| ofm[axis] as f64 / written[axis].max(1) as f64)
        .product();
    let Window { kernel, stride, .. } = operation.window();
    let n_positions = kernel[0].saturating_mul(kernel[1]).max(1);
    let read = |axis: usize| {
        let between = (written[axis] - 1).saturating_mul(stride[axis]);
        between.saturating_add(kernel[axis]).min(ifm[axis])
    };
    let weights = operation.weights.as_ref()?;
    let share = n_positions as f64 * ofm[2] as f64 / written[2].max(1) as f64;
    let piece = Operation {
        seen: Some(Box::new([[read(0), read(1), ifm[2]], written])),
        window: None,
        weights: Some(ByteHistogram::resized(
            weights,
            (weights.n_bytes as f64 / share) as u64,
        )),
        ..operation.clone()
    };
    let n_others = (n_blocks * n_positions as f64 - 1.0).max(0.0);
    Some([
        piece.clone(),
        Operation {
            repeats: n_others,
            ..piece
        },
    ])
}

/// A depthwise convolution with several outputs for each input channel, where the hardware supports one: the results of
/// the convolutions for the first, second and further outputs are transposed (`DecomposeDepthwiseConv2D`). `None` if
/// there is one output for each channel.
pub fn multiplied(lowering: &mut Lowering) -> Option<()> {
    let (input, output) = (lowering.input(0)?, lowering.output()?);
    let ([_, _, depth], [height, width, units]) = (lowering.shape(input), lowering.shape(output));
    let operation = lowering.whole_node();
    let times = units / depth.max(1);
    let is_one = depth <= 1 || times <= 1 || units % depth != 0;
    let is_large = operation
        .window()
        .stride
        .iter()
        .any(|&stride| stride > MAX_STRIDE);
    if is_one || is_large {
        return None;
    }
    let weights = operation.weights.as_ref()?;
    let n_bytes = weights.n_bytes as u64 / times.unsigned_abs();
    let apart = lowering.linear_map(
        [times * height, width, depth],
        lowering.element_bytes(output),
    );
    lowering.push(Operation {
        weights: Some(ByteHistogram::resized(weights, n_bytes)),
        outputs: apart.into(),
        seen: Some(Box::new([lowering.shape(input), [height, width, depth]])),
        repeats: times as f64,
        ..operation
    });
    let passes = passes_of_four([1, 2, 3, 0], [times, height, width, depth]);
    lowering.transpose_passes([apart, output], &passes);
    Some(())
}

/// One convolution per group of channels: the first one, and a second operation that repeats it for all other
/// groups. `None` if there is a single group.
pub fn in_groups(lowering: &mut Lowering) -> Option<()> {
    let (input, filter, output) = (lowering.input(0)?, lowering.input(1)?, lowering.output()?);
    let &[_, _, _, depth] = lowering.tensor(filter).shape.as_slice() else {
        return None;
    };
    let ([h, w, c], [to_h, to_w, units]) = (lowering.shape(input), lowering.shape(output));
    let depth = i64::from(depth);
    if depth < 1 || c <= depth || c % depth != 0 || units % (c / depth) != 0 {
        return None;
    }
    let n_groups = c / depth;
    let whole = lowering.whole_node();
    let units = units / n_groups;
    let weights = whole.weights.as_ref().map(|histogram| {
        Arc::new(ByteHistogram {
            n_bytes: histogram.n_bytes / n_groups as usize,
            ..histogram.as_ref().clone()
        })
    });
    // If several operations replace the operator, its activation becomes an operation of its own.
    let has_activation = lowering.has_activation() && !lowering.accelerator.uses_trained_rules;
    let joined = match has_activation {
        true => lowering.map(
            [to_h, to_w, units * n_groups],
            lowering.element_bytes(output),
        ),
        false => output,
    };
    lowering.program.maps[joined].is_linear |= units % BRICK_CHANNELS != 0;
    for repeats in [1, n_groups - 1] {
        lowering.push(Operation {
            seen: Some(Box::new([[h, w, depth], [to_h, to_w, units]])),
            weights: weights.clone(),
            repeats: repeats as f64,
            outputs: joined.into(),
            ..whole.clone()
        });
    }
    if has_activation {
        // As an [`Action::Clamp`], only the last group would perform it.
        lowering.push(Operation {
            alias: Alias::InPlace,
            ..lowering.operation(Action::Requantise, &[joined], output)
        });
    }
    Some(())
}

/// Ethos-U55 and U65: a convolution over the input with zeros between its rows and columns. Ethos-U85: one convolution
/// for each position inside the stride, with the part of the kernel that is not multiplied by zeros.
pub fn transpose_conv(lowering: &mut Lowering) -> Option<()> {
    let BuiltinOptions::TransposeConv {
        stride_h, stride_w, ..
    } = lowering.operator().options
    else {
        return None;
    };
    let (weights, input, output) = (lowering.input(1)?, lowering.input(2)?, lowering.output()?);
    let &[_, kernel_h, kernel_w, _] = lowering.tensor(weights).shape.as_slice() else {
        return None;
    };
    let kernel = [i64::from(kernel_h), i64::from(kernel_w)];
    let stride = [i64::from(stride_h).max(1), i64::from(stride_w).max(1)];
    let histogram = lowering.histogram(weights)?;
    let upscale = stride[0].max(stride[1]);
    let ([h, w, c], [to_h, to_w, units]) = (lowering.shape(input), lowering.shape(output));
    let operation = lowering.operation(Action::Layer(Kind::Convolution), &[input], output);
    if !lowering.accelerator.is_u85() {
        if upscale > 2 {
            return None;
        }
        lowering.push(Operation {
            window: Some(Box::new(Window {
                kernel,
                upscale,
                ..Window::POINT
            })),
            weights: Some(histogram),
            ..operation
        });
        return Some(());
    }
    // Each convolution writes every other column.
    lowering.program.maps[output].is_linear |= stride[1] > 1;
    let part = |size: i64, from: i64, by: i64| ((size - from + by - 1) / by).max(1);
    let n_positions = (kernel[0] * kernel[1]).max(1) as f64;
    for from_h in 0..stride[0].min(MAX_PARTS) {
        for from_w in 0..stride[1].min(MAX_PARTS) {
            let own = [
                part(kernel[0], from_h, stride[0]),
                part(kernel[1], from_w, stride[1]),
            ];
            let share = (own[0] * own[1]) as f64 / n_positions;
            let histogram = ByteHistogram {
                n_bytes: (histogram.n_bytes as f64 * share) as usize,
                ..histogram.as_ref().clone()
            };
            // Vela counts all rows and columns between the first and the last one as written.
            let written = [(to_h - from_h).max(1), (to_w - from_w).max(1), units];
            lowering.push(Operation {
                seen: Some(Box::new([[h, w, c], written])),
                window: Some(Box::new(Window {
                    kernel: own,
                    ..Window::POINT
                })),
                weights: Some(Arc::new(histogram)),
                ..operation.clone()
            });
        }
    }
    Some(())
}
