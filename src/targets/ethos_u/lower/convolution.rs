//! CONV_2D with groups or strides beyond the hardware's, and TRANSPOSE_CONV. Reproduces
//! `ConvertConvolutionGroup`, `DecomposeConv2D` and `DecomposeTransposeConv2D` of Vela.

use std::sync::Arc;

use super::lowering::Lowering;
use super::node::{has_group_of_each_channel, rows_as_area};
use super::transpose::passes_of_four;
use crate::formats::tflite::{BuiltinOptions, Padding};
use crate::graph::analysis::ByteHistogram;
use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::blocks;
use crate::targets::ethos_u::geometry::{BRICK_CHANNELS, Hwc, IfmOfm};
use crate::targets::ethos_u::layer::{Kind, Layer};
use crate::targets::ethos_u::program::{
    Action, Alias, Arithmetic, INT32_BYTES, MAX_DIMENSION, Operation, Program, WeightSharing,
    Window,
};

/// Maximum number of positions inside a stride for which convolutions are added.
const MAX_PARTS: i64 = 16;
/// Largest stride that the address generator supports.
const MAX_STRIDE: i64 = 3;
/// Number of operations before a window among which its PAD is searched for.
const MAX_BEFORE: usize = 64;

/// The operations that replace a window: the first one, and a second one that repeats it. A stride above [`MAX_STRIDE`]
/// takes one for each position of the output, and several inputs one for each input. `None` if the window stays one
/// operation. `has_pad` tells whether the window performs a PAD.
pub fn window_operations(
    accelerator: &Accelerator,
    program: &Program,
    operation: &Operation,
    has_pad: bool,
    n_inputs: i64,
) -> Option<Vec<Operation>> {
    let for_each_position = for_each_position(accelerator, program, operation, has_pad);
    if for_each_position.is_none() && n_inputs <= 1 {
        return None;
    }
    let n_inputs = n_inputs.max(1) as f64;
    let Some(RepeatedWindow::OfKernel(mut pieces)) = for_each_position else {
        let (one, n_positions) = match for_each_position {
            Some(RepeatedWindow::OfOutput(one, n_positions)) => (one, n_positions),
            _ => (operation.clone(), 1.0),
        };
        return Some(with_repeats(one, n_positions * n_inputs - 1.0));
    };
    // The first run has nothing before it.
    let first = Operation {
        repeats: 1.0,
        ..pieces.first()?.clone()
    };
    for piece in &mut pieces {
        piece.repeats *= n_inputs;
    }
    pieces[0].repeats -= 1.0;
    let others = pieces.into_iter().filter(|piece| piece.repeats > 0.0);
    Some(std::iter::once(first).chain(others).collect())
}

/// What is repeated for a large stride.
enum RepeatedWindow {
    /// An operation with the same weights, for so many positions of the output.
    OfOutput(Operation, f64),
    /// Operations with other weights for each position of the kernel.
    OfKernel(Vec<Operation>),
}

/// An operation, and another one that repeats it with the same weights.
fn with_repeats(operation: Operation, n_others: f64) -> Vec<Operation> {
    let sharing = |shared: WeightSharing| {
        if operation.weights.is_some() && n_others > 0.0 {
            shared
        } else {
            WeightSharing::None
        }
    };
    let first = Operation {
        sharing: sharing(WeightSharing::First),
        repeats: 1.0,
        ..operation.clone()
    };
    let others = Operation {
        sharing: sharing(WeightSharing::Again),
        repeats: n_others,
        ..operation
    };
    vec![first, others]
}

/// What replaces a stride above [`MAX_STRIDE`]; `None` if the stride is within the limit.
fn for_each_position(
    accelerator: &Accelerator,
    program: &Program,
    operation: &Operation,
    has_pad: bool,
) -> Option<RepeatedWindow> {
    let kind = match operation.action {
        Action::Layer(
            kind @ (Kind::Convolution | Kind::Depthwise | Kind::MaxPooling | Kind::Pooling),
        ) => kind,
        _ => return None,
    };
    let mut window = operation.window();
    let (&input, &output) = (operation.inputs.first()?, operation.outputs.first()?);
    let shapes = [input, output].map(|map_idx| program.maps[map_idx].shape());
    let [ifm, ofm] = operation.view_shapes().unwrap_or(shapes);
    window.stride = window.stride_towards(ofm);
    if window.stride.iter().all(|&stride| stride <= MAX_STRIDE) {
        return None;
    }
    let is_padded = has_pad || is_padded(program, input, [ifm, ofm], window);
    let keeps_accumulators = is_padded || kind == Kind::Depthwise;
    if accelerator.is_u85() && keeps_accumulators {
        return by_kernel_position(accelerator, program, operation).map(RepeatedWindow::OfKernel);
    }
    let reach = |axis: usize| {
        let dilated = window.kernel[axis]
            .saturating_sub(1)
            .saturating_mul(window.dilation[axis]);
        dilated.saturating_add(1).min(ifm[axis])
    };
    let n_positions = ofm[0].saturating_mul(ofm[1]).max(1);
    let one = Operation {
        view_shapes: Some(Box::new([[reach(0), reach(1), ifm[2]], [1, 1, ofm[2]]])),
        window: Some(Box::new(Window {
            stride: [1; 2],
            ..window
        })),
        ..operation.clone()
    };
    Some(RepeatedWindow::OfOutput(one, n_positions as f64))
}

/// Whether a window reaches beyond its input, or a PAD before it is part of it.
fn is_padded(program: &Program, input: usize, [ifm, ofm]: [Hwc; 2], window: Window) -> bool {
    let mut before = program.operations.iter().rev().take(MAX_BEFORE);
    let writer = before.find(|operation| operation.outputs.contains(&input));
    let has_pad =
        writer.is_some_and(|writer| writer.action == Action::Pad && writer.alias == Alias::Fused);
    has_pad || (0..2).any(|axis| input_size_read(window, ofm, axis) > ifm[axis])
}

/// Rows or columns that a window reads, its padding included.
fn input_size_read(window: Window, ofm: Hwc, axis: usize) -> i64 {
    let dilated = window.kernel[axis]
        .saturating_sub(1)
        .saturating_mul(window.dilation[axis]);
    (ofm[axis] - 1)
        .saturating_mul(window.stride[axis])
        .saturating_add(dilated)
        .saturating_add(1)
}

/// Ethos-U85 keeps accumulators between operations: one operation for each position of the kernel and each block of the
/// OFM. `None` if no block fits.
fn by_kernel_position(
    accelerator: &Accelerator,
    program: &Program,
    operation: &Operation,
) -> Option<Vec<Operation>> {
    let (&input, &output) = (operation.inputs.first()?, operation.outputs.first()?);
    let [from, to] = [input, output].map(|map_idx| &program.maps[map_idx]);
    let [ifm, ofm] = operation
        .view_shapes()
        .unwrap_or([from.shape(), to.shape()]);
    let Action::Layer(kind) = operation.action else {
        return None;
    };
    let element_bytes = IfmOfm {
        ifm: from.element_bytes(),
        ofm: to.element_bytes(),
    };
    let point = Layer::single_positions(kind, ifm, ofm, element_bytes);
    let block = blocks::choose(accelerator, &point)?.ofm;
    let Window { kernel, .. } = operation.window();
    let stride = operation.window().stride_towards(ofm);
    let n_positions = kernel[0].saturating_mul(kernel[1]).max(1) as f64;
    let weights = operation.weights.as_ref();
    let piece = |written: Hwc, n_blocks: i64| {
        let read = |axis: usize| {
            let between = (written[axis] - 1).saturating_mul(stride[axis]);
            between.saturating_add(kernel[axis]).min(ifm[axis])
        };
        let share = n_positions * ofm[2] as f64 / written[2].max(1) as f64;
        Operation {
            view_shapes: Some(Box::new([[read(0), read(1), ifm[2]], written])),
            window: None,
            weights: weights.map(|weights| {
                ByteHistogram::resized(weights, (weights.n_bytes as f64 / share) as u64)
            }),
            repeats: operation.repeats * n_positions * n_blocks as f64,
            ..operation.clone()
        }
    };
    // Whole blocks along each side, and the rest.
    let parts = [0, 1, 2].map(|axis| {
        let size = block[axis].clamp(1, ofm[axis].max(1));
        [(size, ofm[axis] / size), (ofm[axis] % size, 1)]
    });
    let mut pieces = Vec::new();
    for (height, n_rows) in parts[0] {
        for (width, n_columns) in parts[1] {
            for (depth, n_deep) in parts[2] {
                if height * width * depth * n_rows * n_columns * n_deep > 0 {
                    let n_blocks = n_rows.saturating_mul(n_columns).saturating_mul(n_deep);
                    pieces.push(piece([height, width, depth], n_blocks));
                }
            }
        }
    }
    Some(pieces).filter(|pieces| !pieces.is_empty())
}

/// Average pooling that Ethos-U85 divides into one operation for each position of the window: 32-bit sums, a
/// multiplication and a shift, both by a number for each row and column that is padded (`DecomposeAvgPool`). `None` if
/// it is not divided so.
pub fn divided_average_pool(lowering: &mut Lowering) -> Option<()> {
    let (accelerator, output) = (lowering.accelerator, lowering.output()?);
    let whole = lowering.whole_node();
    let &input = whole.inputs.first()?;
    let [ifm, ofm] = [input, output].map(|map_idx| lowering.shape(map_idx));
    let window = Window {
        stride: whole.window().stride_towards(ofm),
        ..whole.window()
    };
    let is_large = window.stride.iter().any(|&stride| stride > MAX_STRIDE);
    if !accelerator.is_u85()
        || !is_large
        || lowering.n_inputs() > 1
        || !is_padded(&lowering.program, input, [ifm, ofm], window)
    {
        return None;
    }
    let sums = lowering.map(ofm, INT32_BYTES);
    let summing = Operation {
        outputs: sums.into(),
        ..whole
    };
    for piece in by_kernel_position(accelerator, &lowering.program, &summing)? {
        lowering.push(piece);
    }
    let [by_row, by_column] = [0, 1].map(|axis| {
        if input_size_read(window, ofm, axis) > ifm[axis] {
            ofm[axis]
        } else {
            1
        }
    });
    let [factors, shifts] = [0; 2].map(|_| lowering.constant([by_row, by_column, 1], INT32_BYTES));
    let scaled = lowering.map(ofm, INT32_BYTES);
    lowering.binary(Arithmetic::Product, [sums, factors], scaled);
    lowering.binary(Arithmetic::Other, [scaled, shifts], output);
    Some(())
}

/// A depthwise convolution with several outputs for each input channel, where the hardware supports one: the results of
/// the convolutions for the first, second and further outputs are transposed (`DecomposeDepthwiseConv2D`). `None` if
/// there is one output for each channel.
pub fn depthwise_with_multiplier(lowering: &mut Lowering) -> Option<()> {
    let (operation, output) = (lowering.whole_node(), lowering.output()?);
    let &input = operation.inputs.first()?;
    let ([_, _, depth], [height, width, units]) = (lowering.shape(input), lowering.shape(output));
    let times = units / depth.max(1);
    let is_one = depth <= 1 || times <= 1 || units % depth != 0 || lowering.n_inputs() > 1;
    let strides = operation.window().stride_towards([height, width, units]);
    let is_large = strides.iter().any(|&stride| stride > MAX_STRIDE);
    if is_one || is_large && !lowering.accelerator.is_u85() {
        return None;
    }
    let weights = operation.weights.as_ref()?;
    let n_bytes = weights.n_bytes as u64 / times.unsigned_abs();
    let apart = lowering.linear_map(
        [times * height, width, depth],
        lowering.element_bytes(output),
    );
    let written = [height, width, depth];
    let one = Operation {
        weights: Some(ByteHistogram::resized(weights, n_bytes)),
        outputs: apart.into(),
        view_shapes: Some(Box::new([lowering.shape(input), written])),
        repeats: times as f64,
        ..operation
    };
    let pieces = if is_large {
        by_kernel_position(lowering.accelerator, &lowering.program, &one)?
    } else {
        vec![one]
    };
    for piece in pieces {
        lowering.push(piece);
    }
    let passes = passes_of_four([1, 2, 3, 0], [times, height, width, depth]);
    lowering.transpose_passes([apart, output], &passes);
    Some(())
}

/// One convolution per group of channels: the first one, and a second operation that repeats it for all other
/// groups. `None` if there is a single group, or one for each channel, which is a depthwise convolution.
pub fn grouped_convolution(lowering: &mut Lowering) -> Option<()> {
    if has_group_of_each_channel(lowering.graph, lowering.operator()) {
        return None;
    }
    let (filter, output) = (lowering.input(1)?, lowering.output()?);
    let whole = lowering.whole_node();
    let &input = whole.inputs.first()?;
    let &[_, _, _, depth] = lowering.tensor(filter).shape.as_slice() else {
        return None;
    };
    let [[h, w, c], [to_h, to_w, units]] = [input, output].map(|map| lowering.shape_of_one(map));
    let depth = i64::from(depth);
    if depth < 1 || c <= depth || c % depth != 0 || units % (c / depth) != 0 {
        return None;
    }
    let n_groups = c / depth;
    let units = units / n_groups;
    let weights = whole.weights.as_ref().map(|histogram| {
        Arc::new(ByteHistogram {
            n_bytes: histogram.n_bytes / n_groups as usize,
            ..histogram.as_ref().clone()
        })
    });
    // If several operations replace the operator, its activation becomes an operation of its own.
    let has_activation = lowering.has_activation();
    let joined = if has_activation {
        lowering.map(lowering.shape(output), lowering.element_bytes(output))
    } else {
        output
    };
    lowering.program.maps[joined].is_linear |= units % BRICK_CHANNELS != 0;
    let n_inputs = lowering.n_inputs();
    let is_point = n_inputs > 1 && whole.window() == Window::POINT;
    let [read, written] = if is_point {
        let rows = to_h.saturating_mul(to_w).saturating_mul(n_inputs);
        let [height, width] = rows_as_area(rows.min(MAX_DIMENSION));
        [[height, width, depth], [height, width, units]]
    } else {
        [[h, w, depth], [to_h, to_w, units]]
    };
    for repeats in [1, n_groups - 1] {
        // Results of several inputs are copied to the place of their group.
        let of_group = if n_inputs > 1 {
            let [rows, ..] = lowering.shape(output);
            lowering.map([rows, to_w, units], lowering.element_bytes(output))
        } else {
            joined
        };
        let group = Operation {
            view_shapes: Some(Box::new([read, written])),
            weights: weights.clone(),
            outputs: of_group.into(),
            ..whole.clone()
        };
        let mut pieces = if n_inputs == 1 || is_point {
            vec![group]
        } else {
            with_repeats(group, (n_inputs - 1) as f64)
        };
        if of_group != joined {
            pieces.push(Operation {
                view_shapes: Some(Box::new([[to_h, to_w, units]; 2])),
                repeats: n_inputs as f64,
                ..lowering.operation(Action::Copy, &[of_group], joined)
            });
        }
        for piece in pieces {
            lowering.push(Operation {
                repeats: piece.repeats * repeats as f64,
                ..piece
            });
        }
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
    let (weights, input, output) = (lowering.input(1)?, lowering.input(2)?, lowering.output()?);
    let window = TransposedWindow::new(lowering, weights, [input, output])?;
    let TransposedWindow { ifm, ofm, .. } = window;
    let histogram = lowering.histogram(weights)?;
    let n_inputs = lowering.n_inputs();
    // An activation of several operations is an operation of its own.
    let is_apart = lowering.has_activation() && (n_inputs > 1 || lowering.accelerator.is_u85());
    let computed = if is_apart {
        let map = lowering.program.maps[output];
        lowering.map(map.shape(), map.element_bytes())
    } else {
        output
    };
    let operation = Operation {
        view_shapes: (n_inputs > 1).then(|| Box::new([ifm, ofm])),
        ..lowering.operation(Action::Layer(Kind::Convolution), &[input], computed)
    };
    let n_others = (n_inputs - 1) as f64;
    let pieces = if lowering.accelerator.is_u85() {
        // Each convolution writes every other column.
        lowering.program.maps[computed].is_linear |= window.stride[1] > 1;
        window.residue_convolutions(&operation, &histogram, n_others)
    } else {
        window.upscaled(operation, histogram, n_others)?
    };
    for piece in pieces {
        lowering.push(piece);
    }
    if is_apart {
        lowering.push(Operation {
            alias: Alias::InPlace,
            ..lowering.operation(Action::Requantise, &[computed], output)
        });
    }
    Some(())
}

/// The window of a transposed convolution, with the feature maps that one input of it reads and writes.
struct TransposedWindow {
    kernel: [i64; 2],
    stride: [i64; 2],
    padding: Padding,
    ifm: Hwc,
    ofm: Hwc,
}

impl TransposedWindow {
    fn new(lowering: &Lowering, weights: usize, maps: [usize; 2]) -> Option<Self> {
        let BuiltinOptions::TransposeConv {
            padding,
            stride_h,
            stride_w,
            ..
        } = lowering.operator().options
        else {
            return None;
        };
        let &[_, kernel_h, kernel_w, _] = lowering.tensor(weights).shape.as_slice() else {
            return None;
        };
        let [ifm, ofm] = maps.map(|map| lowering.shape_of_one(map));
        Some(Self {
            kernel: [kernel_h, kernel_w].map(i64::from),
            stride: [stride_h, stride_w].map(|stride| i64::from(stride).max(1)),
            padding,
            ifm,
            ofm,
        })
    }

    /// One convolution that writes zeros between the inputs, which Ethos-U55 and U65 run up to a stride of 2.
    fn upscaled(
        &self,
        operation: Operation,
        histogram: Arc<ByteHistogram>,
        n_others: f64,
    ) -> Option<Vec<Operation>> {
        let upscale = self.stride[0].max(self.stride[1]);
        let one = Operation {
            window: Some(Box::new(Window {
                kernel: self.kernel,
                upscale,
                ..Window::POINT
            })),
            weights: Some(histogram),
            ..operation
        };
        let pieces = if n_others == 0.0 {
            vec![one]
        } else {
            with_repeats(one, n_others)
        };
        (upscale <= 2).then_some(pieces)
    }

    /// A convolution for each residue of rows and columns by the stride, which Ethos-U85 runs.
    fn residue_convolutions(
        &self,
        operation: &Operation,
        histogram: &ByteHistogram,
        n_others: f64,
    ) -> Vec<Operation> {
        let Self {
            kernel,
            stride,
            padding,
            ifm: [h, w, c],
            ofm: [.., units],
        } = *self;
        let mut pieces = Vec::new();
        let sides = [0, 1].map(|axis| {
            let (kernel, stride) = (kernel[axis], stride[axis]);
            Residue::all(kernel, stride, padding, [h, w][axis])
        });
        let is_partly_unwritten = (0..2).any(|axis| stride[axis] > kernel[axis]);
        if is_partly_unwritten {
            // Biases everywhere, because some positions are written by none of the others.
            pieces.push(Operation {
                weights: Some(zeros(units.saturating_mul(c))),
                ..operation.clone()
            });
        }
        for row in &sides[0] {
            for column in &sides[1] {
                pieces.push(self.residue_convolution(operation, histogram, row, column));
            }
        }
        let others = pieces.clone().into_iter().map(|piece| Operation {
            repeats: n_others,
            ..piece
        });
        let others = others.filter(|piece| piece.repeats > 0.0);
        pieces.extend(others.collect::<Vec<_>>());
        pieces
    }

    /// The convolution that writes the positions of one residue in rows and one in columns.
    fn residue_convolution(
        &self,
        operation: &Operation,
        histogram: &ByteHistogram,
        row: &Residue,
        column: &Residue,
    ) -> Operation {
        let kernel = [row.kernel, column.kernel];
        let n_positions = self.kernel[0].saturating_mul(self.kernel[1]).max(1) as f64;
        let share = (kernel[0] * kernel[1]) as f64 / n_positions;
        let histogram = ByteHistogram {
            n_bytes: (histogram.n_bytes as f64 * share) as usize,
            ..histogram.clone()
        };
        let ([.., c], [to_h, to_w, units]) = (self.ifm, self.ofm);
        // Vela counts all rows and columns between the first and the last one as written.
        let written = [(to_h - row.from).max(1), (to_w - column.from).max(1), units];
        Operation {
            view_shapes: Some(Box::new([[row.read, column.read, c], written])),
            window: Some(Box::new(Window {
                kernel,
                ..Window::POINT
            })),
            weights: Some(Arc::new(histogram)),
            ..operation.clone()
        }
    }
}

/// The positions of an output side that leave the same rest when divided by the stride of a TRANSPOSE_CONV.
struct Residue {
    /// The first of them.
    from: i64,
    /// Rows or columns of the kernel that meet no zeros there.
    kernel: i64,
    /// Rows or columns of the input that they read.
    read: i64,
}

impl Residue {
    /// Those that any part of the kernel reaches, at most [`MAX_PARTS`] of them.
    fn all(kernel: i64, stride: i64, padding: Padding, size: i64) -> Vec<Self> {
        // Added before the output; what SAME cuts off is negative.
        let added = match padding {
            Padding::Same => (stride - kernel) / 2,
            Padding::Valid => 0,
        };
        let shift = stride - added.max(0) % stride;
        let residue = |place: i64| {
            let first = (place + shift) % stride;
            let n_more = (kernel - 1 - first) / stride;
            let n_cut = (added.abs() - place + stride - 1) / stride;
            let from = if added < 0 {
                place + n_cut * stride + added
            } else {
                place
            };
            let n_skipped = -n_more - if added < 0 { -n_cut } else { n_cut };
            (first < kernel).then_some(Self {
                from,
                kernel: n_more + 1,
                read: (size - n_skipped.max(0)).max(1),
            })
        };
        let n = kernel.saturating_add(added.max(0)).min(stride);
        (0..n.min(MAX_PARTS)).filter_map(residue).collect()
    }
}

/// Histogram of weights that are all zero.
fn zeros(n_bytes: i64) -> Arc<ByteHistogram> {
    let mut counts = [0; 256];
    counts[0] = 1;
    Arc::new(ByteHistogram {
        counts: Arc::new(counts),
        zero: 0,
        is_signed: true,
        n_bytes: n_bytes.max(0) as usize,
        is_sparse: true,
    })
}
