//! MEAN, SUM, ARG_MAX, REDUCE_MAX and REDUCE_MIN. Reproduces `ConvertMeanOps`, `RewriteReduceSum`, `RewriteArgmax`,
//! `ConvertReduceMinMaxAnyAll`, `RewriteReduceMin`, `DecomposeReduce`, `DecomposeMaxPool` and `NewOfmBlockShape` of Vela.

use std::collections::BTreeSet;

use super::lowering::{Lowering, n_elements, ones};
use super::node::shape as node_shape;
use super::transpose::Pass;
use crate::formats::tflite::{OpKind, dimension};
use crate::targets::ethos_u::blocks;
use crate::targets::ethos_u::geometry::IfmOfm;
use crate::targets::ethos_u::layer::{Kind, Layer};
use crate::targets::ethos_u::program::{
    Action, Alias, Arithmetic, INT16_BYTES, INT32_BYTES, MAX_DIMENSION, Operation, Window,
};

/// Maximum area and height of a kernel, which registers limit.
const MAX_KERNEL: i64 = 64 * 64;
const MAX_ROWS: i64 = 64;

/// Sums with a depthwise convolution of ones, in parts if the window is too large, and scales the sum. `None`
/// if the axes are unknown.
pub fn mean(lowering: &mut Lowering) -> Option<()> {
    let (input, output, axes) = (lowering.input(0)?, lowering.output()?, lowering.input(1)?);
    let dims = averaged_dimensions(lowering, input, axes)?;
    let [_, (mut height, is_high), (mut width, is_wide), (depth, _)] = dims[..] else {
        return None;
    };
    let rows = if is_high { height } else { 1 };
    let columns = if is_wide { width } else { 1 };
    let mut kernel = [rows, columns];
    if rows > MAX_ROWS && is_high && is_wide && rows * columns <= MAX_KERNEL {
        (height, width) = (1, rows * columns);
        kernel = [1, rows * columns];
    }
    if kernel[1] > MAX_KERNEL || kernel[0] * kernel[1] == 0 {
        return None;
    }
    let rows_at_once = (MAX_KERNEL / kernel[1]).min(kernel[0]).min(MAX_ROWS);
    let out_height = if is_high { 1 } else { height };
    let out_width = if is_wide { 1 } else { width };
    let sums = [out_height, out_width, depth];
    let mut so_far = None;
    for (rows, n_times) in row_parts(kernel[0], rows_at_once) {
        let read = [if is_high { rows } else { height }, width, depth];
        let sum = lowering.map(sums, INT32_BYTES);
        lowering.push(Operation {
            view_shapes: Some(Box::new([read, sums])),
            window: Some(Box::new(Window {
                kernel: [rows, kernel[1]],
                ..Window::POINT
            })),
            weights: Some(ones(rows * kernel[1] * depth)),
            repeats: n_times as f64,
            ..lowering.operation(Action::Layer(Kind::Depthwise), &[input], sum)
        });
        let n_additions = n_times - i64::from(so_far.is_none());
        let before = so_far.unwrap_or(sum);
        so_far = Some(sum);
        if n_additions > 0 {
            let all = lowering.map(sums, INT32_BYTES);
            lowering.push(Operation {
                repeats: n_additions as f64,
                ..lowering.operation(Action::Binary(Arithmetic::Sum), &[before, sum], all)
            });
            so_far = Some(all);
        }
    }
    multiply_by_constant(lowering, so_far?, output)
}

/// Sizes of four dimensions, each with whether it is averaged; channels are averaged as columns.
fn averaged_dimensions(lowering: &Lowering, input: usize, axes: usize) -> Option<Vec<(i64, bool)>> {
    let shape = &lowering.tensor(input).shape;
    let rank = shape.len();
    if rank > 4 {
        return None;
    }
    // Four dimensions, each with whether it is averaged.
    let mut dims: Vec<(i64, bool)> = vec![(1, false); 4 - rank];
    dims.extend(shape.iter().map(|&size| (i64::from(size).max(0), false)));
    for axis in lowering.integers(axes) {
        dims[4 - rank + dimension(axis, rank)?].1 = true;
    }
    if dims[3].1 && dims[3].0 > 1 {
        // Channels become columns, and the depth is 1.
        dims.remove(if dims[2].0 == 1 { 2 } else { 1 });
        dims.push((1, false));
    }
    Some(dims)
}

fn multiply_by_constant(lowering: &mut Lowering, sum: usize, output: usize) -> Option<()> {
    let number = lowering.constant([1, 1, 1], INT32_BYTES);
    let view_shape = lowering.shape(sum);
    lowering.push(Operation {
        view_shapes: Some(Box::new([view_shape; 2])),
        ..lowering.operation(Action::Binary(Arithmetic::Product), &[sum, number], output)
    });
    Some(())
}

/// The maximum along axes by pooling, one axis after the other: REDUCE_MAX and REDUCE_MIN cost the same.
pub fn maximum(lowering: &mut Lowering) -> Option<()> {
    let (mut from, axes, output) = (lowering.input(0)?, lowering.input(1)?, lowering.output()?);
    let mut shape = lowering.tensor(from).shape.clone();
    let axes = lowering.integers(axes).into_iter();
    let axes: Option<BTreeSet<usize>> = axes.map(|axis| dimension(axis, shape.len())).collect();
    let axes = axes?;
    // Ethos-U85 pools along height as well as along width.
    let pools_height = lowering.accelerator.is_u85();
    let passes: Option<Vec<Reduction>> = axes
        .iter()
        .map(|&axis| {
            let whole = node_shape(&shape);
            let view_shapes = sizes_around_dimension(&shape, axis)?;
            let is_height = axis + 3 == shape.len() && shape[..axis].iter().all(|&size| size == 1);
            shape[axis] = 1;
            Some(if is_height && pools_height {
                Reduction {
                    view_shapes: [whole, node_shape(&shape)],
                    kernel: [whole[0], 1],
                    shapes: [whole, node_shape(&shape)],
                }
            } else {
                Reduction {
                    view_shapes,
                    kernel: [1, view_shapes[0][1]],
                    shapes: [whole, node_shape(&shape)],
                }
            })
        })
        .collect();
    let mut passes = passes?;
    if let (Some(last), Some(&axis)) = (passes.last_mut(), axes.last()) {
        // The compiler finds the axis in the shape that the file gives the output, which may lack it.
        let written = &lowering.tensor(output).shape;
        let n_added = |rank: usize| 4_usize.saturating_sub(rank);
        let place = (axis + n_added(shape.len())).saturating_sub(n_added(written.len()));
        let (rows, others) = written.split_at(place.min(written.len()));
        let (size, depth) = others.split_at(others.len().min(1));
        if written.len() < shape.len() && last.kernel[0] == 1 {
            last.view_shapes[1] = [rows, size, depth].map(n_elements);
        }
    }
    let (last, before) = passes.split_last()?;
    for pass in before {
        let element_bytes = lowering.element_bytes(output);
        let to = lowering.map(pass.shapes[1], element_bytes);
        pool_largest(lowering, [from, to], pass);
        from = to;
    }
    pool_largest(lowering, [from, output], last);
    Some(())
}

/// A maximum along one axis.
struct Reduction {
    /// Shapes in which pooling sees its input and its output.
    view_shapes: [[i64; 3]; 2],
    kernel: [i64; 2],
    /// Their own shapes.
    shapes: [[i64; 3]; 2],
}

/// The maximum along one axis. Ethos-U55 and U65 have no minimum: they subtract before and after the maximum.
fn pool_largest(lowering: &mut Lowering, [input, output]: [usize; 2], pass: &Reduction) {
    let &Reduction {
        view_shapes,
        kernel,
        shapes,
    } = pass;
    let is_least = lowering.operator().code.kind == OpKind::ReduceMin;
    if kernel[0] > 1 {
        return lowering.window(Kind::Maximum, [input, output], view_shapes, kernel);
    }
    if !is_least || lowering.accelerator.is_u85() {
        return max_pool_columns(lowering, [input, output], view_shapes);
    }
    let element_bytes = lowering.element_bytes(output);
    let number = lowering.constant([1; 3], element_bytes);
    let [inverted, largest] = shapes.map(|shape| lowering.map(shape, element_bytes));
    let subtract = |lowering: &mut Lowering, [input, output]: [usize; 2], shape: [i64; 3]| {
        lowering.push(Operation {
            view_shapes: Some(Box::new([[1; 3], shape])),
            alias: Alias::InPlace,
            ..lowering.operation(Action::Binary(Arithmetic::Sum), &[number, input], output)
        });
    };
    subtract(lowering, [input, inverted], shapes[0]);
    max_pool_columns(lowering, [inverted, largest], view_shapes);
    subtract(lowering, [largest, output], shapes[1]);
}

/// Sums over channels; another dimension is transposed to their place first. Of several axes, Vela 5.2.0 reads the first
/// one alone. `None` if the axis is unknown.
pub fn sum(lowering: &mut Lowering) -> Option<()> {
    let (input, axes, output) = (lowering.input(0)?, lowering.input(1)?, lowering.output()?);
    let &axis = lowering.integers(axes).first()?;
    let shape = &lowering.tensor(input).shape;
    let axis = dimension(axis, shape.len())?;
    let n = i64::from(shape[axis]);
    let [height, width, _] = lowering.shape(input);
    let (read, [height, width]) = if axis + 1 < shape.len() {
        let (rows, depth) = (n_elements(&shape[..axis]), n_elements(&shape[axis + 1..]));
        let moved = lowering.map([rows, depth, n], lowering.element_bytes(input));
        lowering.transpose_pass([input, moved], Pass::new([rows, n, depth], [0, 2, 1]));
        (moved, [rows, depth])
    } else {
        (input, [height, width])
    };
    let view_shapes = [[height, width, n], [height, width, 1]];
    let quantization = lowering.tensor(input).quantization.as_ref();
    let zero_point = quantization.and_then(|quantization| quantization.zero_point.first());
    if zero_point.is_none_or(|&zero_point| zero_point == 0) {
        lowering.window(Kind::ReduceSum, [read, output], view_shapes, [1; 2]);
        return Some(());
    }
    if !lowering.accelerator.is_u85() {
        // They cannot subtract 32-bit numbers and change the scale at once.
        lowering.push(Operation {
            view_shapes: Some(Box::new(view_shapes)),
            weights: Some(ones(n)),
            ..lowering.operation(Action::Layer(Kind::Convolution), &[read], output)
        });
        return Some(());
    }
    let sum = lowering.map(view_shapes[1], INT32_BYTES);
    lowering.window(Kind::ReduceSum, [read, sum], view_shapes, [1; 2]);
    let number = lowering.constant([1; 3], INT32_BYTES);
    lowering.push(Operation {
        view_shapes: Some(Box::new([view_shapes[1]; 2])),
        ..lowering.operation(Action::Binary(Arithmetic::Sum), &[sum, number], output)
    });
    Some(())
}

/// The number of parts of `at_once` rows, and the remaining part.
fn row_parts(n_rows: i64, at_once: i64) -> impl Iterator<Item = (i64, i64)> {
    let parts = [(at_once, n_rows / at_once), (n_rows % at_once, 1)];
    let is_there = |&(rows, n_times): &(i64, i64)| rows > 0 && n_times > 0;
    parts.into_iter().filter(is_there)
}

/// Pools columns to one, in parts if there are more rows than an operation can have.
fn max_pool_columns(
    lowering: &mut Lowering,
    [input, output]: [usize; 2],
    view_shapes: [[i64; 3]; 2],
) {
    let [whole @ [rows, n, depth], _] = view_shapes;
    let [most_rows, most_depth] = if lowering.operator().code.kind == OpKind::ArgMax {
        pooled_at_once(lowering, [input, output], view_shapes)
    } else {
        [MAX_DIMENSION, i64::MAX]
    };
    let kind = match lowering.operator().code.kind {
        OpKind::ArgMax => Kind::MaxPooling,
        _ => Kind::Maximum,
    };
    for (rows, n_of_rows) in row_parts(rows, most_rows) {
        for (depth, n_of_depth) in row_parts(depth, most_depth) {
            let is_whole = [rows, n, depth] == whole;
            let in_part = [[rows, n, depth], [rows, 1, depth]];
            lowering.push(Operation {
                view_shapes: Some(Box::new(if is_whole { view_shapes } else { in_part })),
                window: Some(Box::new(Window {
                    kernel: [1, n],
                    ..Window::POINT
                })),
                repeats: n_of_rows as f64 * n_of_depth as f64,
                // A single value is its own maximum, which may take its place.
                alias: if is_whole && n == 1 {
                    Alias::InPlace
                } else {
                    Alias::Separate
                },
                ..lowering.operation(Action::Layer(kind), &[input], output)
            });
        }
    }
}

/// Elements of a map whose block is searched for: with padding and cycles for each of them, counts do not overflow.
const MAX_SEARCHED: i64 = 1 << 40;

/// Maximum rows and channels of one operation of an ARG_MAX. If registers cannot count all rows, Ethos-U55 and Ethos-U65
/// compute one block after the other, with the block size of the whole with a kernel of one position.
fn pooled_at_once(lowering: &Lowering, maps: [usize; 2], view_shapes: [[i64; 3]; 2]) -> [i64; 2] {
    let accelerator = lowering.accelerator;
    let [ifm, ofm] = view_shapes;
    let whole = [MAX_DIMENSION, i64::MAX];
    let n_elements = ifm.iter().fold(1i64, |n, &size| n.saturating_mul(size));
    if ofm[0] <= MAX_DIMENSION || accelerator.is_u85() || n_elements > MAX_SEARCHED {
        return whole;
    }
    let [ifm_bytes, ofm_bytes] = maps.map(|map| lowering.program.maps[map].element_bytes());
    let element_bytes = IfmOfm {
        ifm: ifm_bytes,
        ofm: ofm_bytes,
    };
    let layer = Layer::single_positions(Kind::MaxPooling, ifm, ofm, element_bytes);
    let block = blocks::choose(accelerator, &layer);
    block.map_or(whole, |block| [block.ofm[0], block.ofm[2]])
}

/// Shapes of input and output for the reduction of one axis: outer dimensions are rows, inner ones channels.
fn sizes_around_axis(lowering: &Lowering, input: usize, axis: i32) -> Option<[[i64; 3]; 2]> {
    let shape = &lowering.tensor(input).shape;
    sizes_around_dimension(shape, dimension(axis, shape.len())?)
}

/// The same for a shape and one of its dimensions. Of a dimension beyond [`MAX_DIMENSION`], that many count here: the
/// totals of the operator count the others.
fn sizes_around_dimension(shape: &[i32], axis: usize) -> Option<[[i64; 3]; 2]> {
    let shape: Vec<i32> = (shape.iter())
        .map(|&size| size.min(MAX_DIMENSION as i32))
        .collect();
    let (rows, depth) = (n_elements(&shape[..axis]), n_elements(&shape[axis + 1..]));
    let n = i64::from(shape[axis]);
    (1..=MAX_KERNEL)
        .contains(&n)
        .then_some([[rows, n, depth], [rows, 1, depth]])
}

/// Ethos-U85 has an operation for it. On the others, the index of each channel is put into the lower bits of 16-bit
/// values, pooling finds the maximum, and a table extracts the index.
pub fn arg_max(lowering: &mut Lowering) -> Option<()> {
    let (input, axis, output) = (lowering.input(0)?, lowering.input(1)?, lowering.output()?);
    let [axis] = lowering.integers(axis)[..] else {
        return None;
    };
    let view_shapes = sizes_around_axis(lowering, input, axis)?;
    if lowering.accelerator.is_u85() {
        max_pool_columns(lowering, [input, output], view_shapes);
        return Some(());
    }
    let shape = lowering.shape(input);
    let placed = lowering.map(shape, INT16_BYTES);
    lowering.push(Operation {
        weights: Some(ones(shape[2])),
        ..lowering.operation(Action::Layer(Kind::Depthwise), &[input], placed)
    });
    let is_single_value = view_shapes[0][1] == 1;
    let [largest, place] = [view_shapes[1], [shape[0], shape[1], 1]].map(|pooled| {
        let map = lowering.map(if is_single_value { shape } else { pooled }, INT16_BYTES);
        // All rows count, even if an operation sees fewer.
        let n_elements = view_shapes[1]
            .map(|size| size as f64)
            .iter()
            .product::<f64>();
        lowering.program.maps[map].bytes = (n_elements * INT16_BYTES as f64).into();
        map
    });
    max_pool_columns(lowering, [placed, largest], view_shapes);
    let number = lowering.constant([1, 1, 1], INT16_BYTES);
    let sum = Action::Binary(Arithmetic::Sum);
    let looking_up = (Action::Table, &[largest][..], place);
    for (action, inputs, output) in [looking_up, (sum, &[place, number], output)] {
        for (rows, n_times) in row_parts(shape[0], MAX_DIMENSION) {
            lowering.push(Operation {
                view_shapes: Some(Box::new([[rows, shape[1], 1]; 2])),
                repeats: n_times as f64,
                ..lowering.operation(action, inputs, output)
            });
        }
    }
    Some(())
}
