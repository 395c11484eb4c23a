//! The limits of shapes, strides and axes of each operator.

use std::cmp::Reverse;

use super::list::{Check, listed};
use super::npu::Npu;
use crate::formats::tflite::{
    BuiltinOptions, OpKind, Padding, Sliding, Tensor, TensorType, dimension, integers,
};
use crate::graph::{Graph, Node};
use crate::target::UnsupportedReason;

/// A stride above [`MAX_STRIDE`] of a convolution or pooling that cannot be divided into one for each output position,
/// because it has padding or dilation.
fn refused_stride(graph: &Graph, node: &Node) -> Option<UnsupportedReason> {
    let operator = node.operator;
    let filter = match operator.options {
        BuiltinOptions::Conv2D { .. } => {
            let weights = operator.inputs.get(1).copied().flatten()?;
            height_width(graph.tensor(weights))?.into()
        }
        BuiltinOptions::Pool2D {
            filter_h, filter_w, ..
        } => [filter_h, filter_w],
        _ => return None,
    };
    let Sliding {
        padding,
        strides: [_, strides @ ..],
        dilations: [_, dilations @ ..],
    } = operator.options.sliding()?;
    let (in_h, in_w) = height_width(graph.tensor((*operator.inputs.first()?)?))?;
    let (out_h, out_w) = height_width(graph.tensor(*operator.outputs.first()?))?;
    let sizes = [(in_h, out_h), (in_w, out_w)];
    let is_large = |axis: usize| strides[axis] > MAX_STRIDE && sizes[axis].1 != 1;
    let is_padded = |axis: usize| {
        let [stride, dilation, filter] =
            [strides[axis], dilations[axis], filter[axis]].map(i64::from);
        let (read, written) = sizes[axis];
        let between = (i64::from(written) - 1).saturating_mul(stride);
        let reach = (filter - 1).saturating_mul(dilation).saturating_add(1);
        let covered = between.saturating_add(reach);
        padding == Padding::Same && covered > i64::from(read)
    };
    let is_whole = dilations == [1; 2] && !(0..2).any(is_padded);
    ((0..2).any(is_large) && !is_whole).then_some(UnsupportedReason::Stride {
        height: strides[0],
        width: strides[1],
        max: MAX_STRIDE,
    })
}

/// The output of a TRANSPOSE_CONV has the sides that the stride gives. Ethos-U55 and U65 upscale both sides or none; a
/// side of one row alone has no stride.
fn refused_upscaling(graph: &Graph, node: &Node, npu: Npu) -> Option<UnsupportedReason> {
    let BuiltinOptions::TransposeConv {
        padding,
        stride_h: height,
        stride_w: width,
        ..
    } = node.operator.options
    else {
        return None;
    };
    let size = |place: usize| {
        let tensor = node.operator.inputs.get(place).copied().flatten()?;
        height_width(graph.tensor(tensor))
    };
    let ((filter_h, filter_w), (in_h, in_w)) = (size(1)?, size(2)?);
    let (out_h, out_w) = height_width(graph.tensor(*node.operator.outputs.first()?))?;
    let upscaled = |size: i32, filter: i32, stride: i32| {
        let [size, filter, stride] = [size, filter, stride].map(i64::from);
        let beyond = match padding {
            Padding::Same => 0,
            Padding::Valid => (filter - stride).max(0),
        };
        size * stride + beyond
    };
    let expected = (
        upscaled(in_h, filter_h, height),
        upscaled(in_w, filter_w, width),
    );
    if expected != (out_h.into(), out_w.into()) {
        return Some(UnsupportedReason::UpscaledSize {
            found: (out_h, out_w),
            expected,
        });
    }
    let runs = npu == Npu::EthosU85
        || match (height, width) {
            (1, 1) | (2, 2) => true,
            (1, 2) => (in_h, filter_h) == (1, 1),
            (2, 1) => (in_w, filter_w) == (1, 1),
            _ => false,
        };
    (!runs).then_some(UnsupportedReason::UpscalingStride { height, width })
}

/// The rows of a SOFTMAX are those of one input.
fn refused_softmax(graph: &Graph, node: &Node) -> Option<UnsupportedReason> {
    let shape = &graph.tensor((*node.operator.inputs.first()?)?).shape;
    let rows = shape.iter().rev().skip(1).take(2);
    let n_rows = rows.fold(1, |n: i64, &size| n.saturating_mul(size.into()));
    (n_rows > SOFTMAX_MAX_ROWS).then_some(UnsupportedReason::TooManyRows {
        found: n_rows,
        max: SOFTMAX_MAX_ROWS,
    })
}

/// Why `npu` leaves an operator to the CPU whose kind and element types it runs.
pub fn refused_shape(
    graph: &Graph,
    node: &Node,
    kind: OpKind,
    npu: Npu,
) -> Option<UnsupportedReason> {
    match &node.operator.options {
        BuiltinOptions::Pool2D {
            padding: Padding::Same,
            filter_h,
            filter_w,
            ..
        } if kind == OpKind::AveragePool2d && *filter_h.max(filter_w) > AVERAGE_POOL_MAX_SAME => {
            Some(UnsupportedReason::PoolingWindow {
                height: *filter_h,
                width: *filter_w,
                max: AVERAGE_POOL_MAX_SAME,
            })
        }
        BuiltinOptions::Pool2D {
            filter_h, filter_w, ..
        } if *filter_h > POOL_MAX_HEIGHT
            || i64::from(*filter_h).saturating_mul((*filter_w).into()) > POOL_MAX_POSITIONS =>
        {
            Some(UnsupportedReason::LargePoolingWindow {
                height: *filter_h,
                width: *filter_w,
                max_height: POOL_MAX_HEIGHT,
                max_positions: POOL_MAX_POSITIONS,
            })
        }
        BuiltinOptions::DepthwiseConv2D {
            stride_h, stride_w, ..
        } if npu == Npu::EthosU55U65 && *stride_h.max(stride_w) > MAX_STRIDE => {
            Some(UnsupportedReason::Stride {
                height: *stride_h,
                width: *stride_w,
                max: MAX_STRIDE,
            })
        }
        BuiltinOptions::Conv2D { .. } | BuiltinOptions::Pool2D { .. }
            if npu == Npu::EthosU55U65 =>
        {
            refused_stride(graph, node)
        }
        BuiltinOptions::TransposeConv { .. } => refused_upscaling(graph, node, npu),
        _ => refused_by_kind(graph, node, kind, npu),
    }
}

fn refused_by_kind(
    graph: &Graph,
    node: &Node,
    kind: OpKind,
    npu: Npu,
) -> Option<UnsupportedReason> {
    let is_u85 = npu == Npu::EthosU85;
    match listed(kind)?.check {
        Check::Resize => refused_resize(graph, node, kind, npu),
        Check::Gather => refused_gather(graph, node),
        Check::Softmax => refused_softmax(graph, node),
        Check::Mean => refused_mean(graph, node),
        Check::ArgMax if is_u85 => None,
        Check::ArgMax => refused_arg_max(graph, node),
        Check::Transpose if is_u85 => None,
        Check::Transpose => refused_transpose(graph, node),
        // Their operands have limits.
        Check::Recurrent | Check::Scatter | Check::Slice | Check::Table | Check::Weights => None,
        Check::Nothing => None,
    }
}

/// A mean takes one input at a time, over a limited number of values of each dimension. Over channels, it runs only where
/// height, width or channels are 1.
fn refused_mean(graph: &Graph, node: &Node) -> Option<UnsupportedReason> {
    let input = (*node.operator.inputs.first()?)?;
    let axes = (*node.operator.inputs.get(1)?)?;
    let shape = &graph.tensor(input).shape;
    let last_axis = i32::try_from(shape.len()).ok()? - 1;
    let axes: Vec<i32> = integers(graph.constant(axes)).collect();
    let mut axes = axes.into_iter();
    if shape.iter().rev().nth(3).is_some_and(|&batch| batch > 1) {
        return Some(UnsupportedReason::MoreThanThreeDimensions(
            shape.as_slice().into(),
        ));
    }
    let size = |axis: i32| dimension(axis, shape.len()).map_or(0, |axis| shape[axis]);
    if let Some(size) = axes.clone().map(size).find(|&size| size > MEAN_MAX_SIZE) {
        return Some(UnsupportedReason::LargeDimensions {
            found: size.into(),
            max: MEAN_MAX_SIZE.into(),
        });
    }
    let n_summed = axes
        .clone()
        .map(size)
        .fold(1, |n: i64, size| n.saturating_mul(size.into()));
    let max_summed = match graph.tensor(input).tensor_type {
        TensorType::UInt8 => 1 << 23,
        TensorType::Int16 => 1 << 16,
        _ => 1 << 24,
    };
    if n_summed > max_summed {
        return Some(UnsupportedReason::LargeDimensions {
            found: n_summed,
            max: max_summed,
        });
    }
    let is_image = shape.len() >= 3 && shape.iter().rev().take(3).all(|&dim| dim > 1);
    (is_image && axes.any(|axis| [-1, last_axis].contains(&axis)))
        .then(|| UnsupportedReason::MeanOverChannels(shape.as_slice().into()))
}

/// ARG_MAX is supported only along the last dimension, and only up to a number of values.
fn refused_arg_max(graph: &Graph, node: &Node) -> Option<UnsupportedReason> {
    let operand = |place: usize| node.operator.inputs.get(place).copied().flatten();
    let shape = &graph.tensor(operand(0)?).shape;
    let last_axis = i32::try_from(shape.len()).ok()? - 1;
    let mut axes = integers(graph.constant(operand(1)?));
    let other_axis = axes.next().filter(|axis| ![-1, last_axis].contains(axis));
    if let Some(axis) = other_axis {
        let rank = shape.len();
        return Some(UnsupportedReason::OtherAxis { axis, rank });
    }
    let n_values = *shape.last()?;
    (n_values > ARG_MAX_MAX_DEPTH).then_some(UnsupportedReason::TooManyValues {
        found: n_values,
        max: ARG_MAX_MAX_DEPTH,
    })
}

/// With three dimensions, the largest is limited; with more, the product of all but the two smallest. Leading
/// dimensions of 1 that stay in place do not count if three others remain. A permutation that changes nothing is
/// supported at any size.
fn refused_transpose(graph: &Graph, node: &Node) -> Option<UnsupportedReason> {
    let operand = |place: usize| node.operator.inputs.get(place).copied().flatten();
    let shape = &graph.tensor(operand(0)?).shape;
    let order: Vec<i32> = integers(graph.constant(operand(1)?)).collect();
    let stays = |place: usize| order.get(place).copied() == i32::try_from(place).ok();
    if order.len() != shape.len() || (0..shape.len()).all(stays) {
        return None;
    }
    if graph.tensor(operand(0)?).tensor_type == TensorType::Int32 {
        return refused_wide_transpose(shape, &order);
    }
    let n_leading = shape.len().saturating_sub(TRANSPOSED_DIMENSIONS);
    let is_leading = |place: usize| shape[place] == 1 && stays(place);
    let mut sizes: Vec<i64> = if (0..n_leading).all(is_leading) {
        &shape[n_leading..]
    } else {
        &shape[..]
    }
    .iter()
    .map(|&size| i64::from(size))
    .collect();
    sizes.sort_unstable_by_key(|&size| Reverse(size));
    let n_together = sizes.len().saturating_sub(TRANSPOSED_DIMENSIONS - 1).max(1);
    let together =
        (sizes.iter().take(n_together)).fold(1, |all: i64, &size| all.saturating_mul(size));
    (together > TRANSPOSE_MAX_ELEMENTS).then_some(UnsupportedReason::LargeDimensions {
        found: together,
        max: TRANSPOSE_MAX_ELEMENTS,
    })
}

/// Elements of 32 bits: Ethos-U55 and U65 swap width and channels, or height and width of one input.
fn refused_wide_transpose(shape: &[i32], order: &[i32]) -> Option<UnsupportedReason> {
    let from_end = |from_end: usize| {
        shape
            .iter()
            .rev()
            .nth(from_end)
            .map_or(1, |&size| i64::from(size))
    };
    let rank = i32::try_from(order.len()).unwrap_or(i32::MAX);
    let last: Vec<i32> = order.iter().rev().map(|axis| rank - 1 - axis).collect();
    let keeps_rest = |n: usize| {
        last.iter()
            .skip(n)
            .zip(n..)
            .all(|(&axis, place)| usize::try_from(axis) == Ok(place))
    };
    let swaps_columns = last.get(..2) == Some(&[1, 0]) && keeps_rest(2);
    let swaps_rows = last.get(..3) == Some(&[0, 2, 1]) && keeps_rest(3) && from_end(3) == 1;
    let (found, max) = if swaps_columns {
        let largest_side = from_end(0).max(from_end(1));
        (
            largest_side.max(from_end(2).saturating_mul(from_end(3))),
            TRANSPOSE_MAX_ELEMENTS,
        )
    } else {
        (from_end(0), TRANSPOSE_MAX_ELEMENTS / 4)
    };
    if shape.len() > 4 || !(swaps_columns || swaps_rows) {
        return Some(UnsupportedReason::Rule(
            "32-bit elements are transposed in height and width, or width and channels",
        ));
    }
    (found > max).then_some(UnsupportedReason::LargeDimensions { found, max })
}

/// Ethos-U55 and U65 resize by the same power of two in height and width, up to 8; an average between pixel centres
/// only by 2. Ethos-U85 averages for any power of two.
fn refused_resize(graph: &Graph, node: &Node, kind: OpKind, npu: Npu) -> Option<UnsupportedReason> {
    use BuiltinOptions::{ResizeBilinear, ResizeNearestNeighbor};
    let (ResizeBilinear {
        align_corners,
        half_pixel_centers,
    }
    | ResizeNearestNeighbor {
        align_corners,
        half_pixel_centers,
    }) = node.operator.options
    else {
        return None;
    };
    let input = graph.tensor(node.operator.inputs.first().copied().flatten()?);
    let output = graph.tensor(*node.operator.outputs.first()?);
    let (from, to) = (height_width(input)?, height_width(output)?);
    let is_bilinear = kind == OpKind::ResizeBilinear;
    let refused = |is_refused: bool| {
        is_refused.then_some(UnsupportedReason::ResizeFactor {
            input: from,
            output: to,
            max: Some(RESIZE_MAX_FACTOR),
        })
    };
    if npu == Npu::EthosU85 {
        return refused_resize_on_u85([from, to], is_bilinear, align_corners, half_pixel_centers);
    }
    let is_between = half_pixel_centers && is_bilinear;
    if from == (1, 1) {
        return None;
    }
    if from == to {
        return refused(is_between);
    }
    let less = i32::from(align_corners);
    let scale = |input: i32, output: i32| {
        if align_corners && output == 1 {
            1.0
        } else {
            f64::from(output.saturating_sub(less)) / f64::from(input.saturating_sub(less))
        }
    };
    let (scale_h, scale_w) = (scale(from.0, to.0), scale(from.1, to.1));
    let is_row = to.0 == 1 && scale_h == 1.0 || to.1 == 1 && scale_w == 1.0;
    let is_square = scale_h == scale_w || is_row && !is_between;
    let is_allowed = |scale: f64| {
        scale == 2.0 || !is_between && (scale == 4.0 || scale == f64::from(RESIZE_MAX_FACTOR))
    };
    refused(!is_square || !is_allowed(scale_h.max(scale_w)))
}

/// Ethos-U85 enlarges by any factor that its counters hold; bilinear by powers of two alone.
fn refused_resize_on_u85(
    [from, to]: [(i32, i32); 2],
    is_bilinear: bool,
    align_corners: bool,
    half_pixel_centers: bool,
) -> Option<UnsupportedReason> {
    let refused = |is_refused: bool| {
        is_refused.then_some(UnsupportedReason::ResizeFactor {
            input: from,
            output: to,
            max: None,
        })
    };
    let is_half = half_pixel_centers || !is_bilinear && !align_corners;
    let less = |input: i32| i32::from(align_corners && input > 1);
    let sides = [(from.0, to.0), (from.1, to.1)]
        .map(|(from, to)| (from - less(from), to.saturating_sub(less(from))));
    if align_corners && is_half || sides.iter().any(|&(from, to)| from < 1 || to < 1) {
        return refused(true);
    }
    let max = if is_half { 1024 } else { 2048 };
    if sides.iter().any(|&(from, to)| to / from > max) {
        return Some(UnsupportedReason::LargeResize {
            input: from,
            output: to,
            max,
        });
    }
    let is_power = |&(from, to): &(i32, i32)| to % from == 0 && (to / from).count_ones() == 1;
    refused(is_bilinear && from != (1, 1) && !sides.iter().all(is_power))
}

/// GATHER reads whole entries: it runs only along the first dimension behind its batch dimensions.
fn refused_gather(graph: &Graph, node: &Node) -> Option<UnsupportedReason> {
    let BuiltinOptions::Gather { axis, batch_dims } = node.operator.options else {
        return None;
    };
    let input = node.operator.inputs.first().copied().flatten()?;
    let rank = graph.tensor(input).shape.len();
    let axis = dimension(axis, rank)?;
    (i64::try_from(axis) != Ok(batch_dims.into())).then_some(UnsupportedReason::AxisNotFirst {
        axis,
        first: batch_dims,
    })
}

fn height_width(tensor: &Tensor) -> Option<(i32, i32)> {
    match tensor.shape.as_slice() {
        &[_, h, w, _] => Some((h, w)),
        _ => None,
    }
}

/// Maximum number of values along the axis of an ARG_MAX on Ethos-U55 and U65.
const ARG_MAX_MAX_DEPTH: i32 = 127;
/// Maximum number of values of a dimension over which a mean is taken.
const MEAN_MAX_SIZE: i32 = 64 * 64;
/// Number of dimensions of a single transposition on Ethos-U55 and U65.
const TRANSPOSED_DIMENSIONS: usize = 3;
/// Largest dimension, or product of the largest ones, that Ethos-U55 and U65 transpose.
const TRANSPOSE_MAX_ELEMENTS: i64 = 1 << 16;
/// Largest side of an average pooling window with SAME padding.
const AVERAGE_POOL_MAX_SAME: i32 = 8;
/// Largest height of any pooling window, and its most positions.
const POOL_MAX_HEIGHT: i32 = 256;
const POOL_MAX_POSITIONS: i64 = 256 * 256;
/// Maximum number of rows of a SOFTMAX.
const SOFTMAX_MAX_ROWS: i64 = 1 << 16;
/// Largest factor of a resize on Ethos-U55 and U65.
const RESIZE_MAX_FACTOR: i32 = 8;
/// Largest stride of a window on Ethos-U55 and U65.
const MAX_STRIDE: i32 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tflite::Model;
    use crate::graph::analysis::fixtures::{
        calling, graph_of, model, pool_2d, subgraph, tensor, transpose_conv,
    };

    /// An operator that reads a feature map of such a shape, and these constants.
    fn with_integers(kind: OpKind, shape: &[i32], values: &[i32]) -> Model<'static> {
        let n_values = i32::try_from(values.len()).unwrap();
        let tensors = vec![
            tensor(TensorType::Int8, shape),
            Tensor {
                buffer_idx: 2,
                ..tensor(TensorType::Int32, &[n_values])
            },
            tensor(TensorType::Int8, shape),
        ];
        let operator = calling(kind, &[0, 1], &[2], BuiltinOptions::Absent);
        let mut model = model(vec![subgraph(tensors, vec![operator])]);
        model
            .buffers
            .push(crate::formats::builder::integers(values));
        model
    }

    /// As Vela 5.2.0 compiles such files or leaves them to the CPU.
    #[test]
    fn the_largest_of_many_values_is_found_on_ethos_u85_alone() {
        let cases: [(&[i32], i32, bool); 5] = [
            (&[1, 127], 1, false),
            (&[1, 127], -1, false),
            (&[1, 128], 1, true),
            (&[1, 1000], 1, true),
            (&[1, 16, 4, 8], 1, true),
        ];
        for (shape, axis, is_refused) in cases {
            let model = with_integers(OpKind::ArgMax, shape, &[axis]);
            let graph = graph_of(&model);
            let refused = |npu| refused_shape(&graph, &graph.nodes[0], OpKind::ArgMax, npu);
            let refusal = refused(Npu::EthosU55U65);
            assert_eq!(
                refusal.is_some(),
                is_refused,
                "{shape:?} {axis}: {refusal:?}"
            );
            assert_eq!(refused(Npu::EthosU85), None);
        }
    }

    /// As Vela 5.2.0 compiles such files or leaves them to the CPU.
    #[test]
    fn large_dimensions_are_transposed_on_ethos_u85_alone() {
        let cases: [(&[i32], &[i32], bool); 18] = [
            (&[1, 65_536, 4], &[0, 2, 1], false),
            (&[1, 65_537, 4], &[0, 2, 1], true),
            (&[65_537, 4], &[1, 0], true),
            (&[1, 70_000, 4], &[0, 1, 2], false),
            (&[70_000, 1, 4], &[1, 0, 2], true),
            (&[1, 300, 300, 8], &[0, 3, 1, 2], false),
            (&[300, 300, 8], &[1, 2, 0], false),
            (&[2, 256, 256, 3], &[0, 3, 1, 2], false),
            (&[2, 256, 257, 3], &[0, 3, 1, 2], true),
            (&[256, 2, 3, 257], &[0, 1, 3, 2], true),
            (&[2, 256, 257, 1], &[0, 2, 1, 3], true),
            (&[65, 33, 31, 9], &[3, 0, 2, 1], false),
            (&[1, 1, 256, 257, 3], &[0, 1, 4, 3, 2], false),
            (&[1, 1, 256, 257, 3], &[1, 0, 2, 3, 4], true),
            (&[1, 2, 256, 257, 3], &[0, 1, 2, 3, 4], false),
            (&[16, 257, 16, 3, 1], &[1, 0, 2, 3, 4], true),
            (&[1, 3, 200, 1, 254], &[0, 2, 1, 4, 3], true),
            (&[2, 3, 4, 5, 6], &[4, 3, 2, 1, 0], false),
        ];
        for (shape, order, is_refused) in cases {
            let model = with_integers(OpKind::Transpose, shape, order);
            let graph = graph_of(&model);
            let refused = |npu| refused_shape(&graph, &graph.nodes[0], OpKind::Transpose, npu);
            let refusal = refused(Npu::EthosU55U65);
            assert_eq!(
                refusal.is_some(),
                is_refused,
                "{shape:?} {order:?}: {refusal:?}"
            );
            assert_eq!(refused(Npu::EthosU85), None);
        }
    }

    /// As Vela 5.2.0 compiles such files or leaves them to the CPU.
    #[test]
    fn words_are_transposed_in_two_dimensions() {
        let cases: [(&[i32], &[i32], bool); 8] = [
            (&[1, 8, 8, 16], &[0, 2, 1, 3], false),
            (&[1, 8, 8, 16], &[0, 1, 3, 2], false),
            (&[1, 8, 8, 16], &[0, 3, 1, 2], true),
            (&[1, 8, 8, 16], &[1, 0, 2, 3], true),
            (&[1, 8, 8, 16], &[0, 1, 2, 3], false),
            (&[8, 16], &[1, 0], false),
            (&[4, 8, 16], &[1, 0, 2], false),
            (&[2, 8, 8, 16], &[0, 2, 1, 3], true),
        ];
        for (shape, order, is_refused) in cases {
            let mut model = with_integers(OpKind::Transpose, shape, order);
            model.subgraphs[0].tensors[0].tensor_type = TensorType::Int32;
            let graph = graph_of(&model);
            let refused = |npu| refused_shape(&graph, &graph.nodes[0], OpKind::Transpose, npu);
            let refusal = refused(Npu::EthosU55U65);
            assert_eq!(
                refusal.is_some(),
                is_refused,
                "{shape:?} {order:?}: {refusal:?}"
            );
            assert_eq!(refused(Npu::EthosU85), None);
        }
    }

    /// As Vela 5.2.0 compiles such files or leaves them to the CPU: from, to, and whether Ethos-U55 and U85 refuse.
    #[test]
    fn resizes_run_by_powers_of_two() {
        let resized = |bilinear: bool, align_corners: bool, half_pixel_centers: bool| {
            if bilinear {
                BuiltinOptions::ResizeBilinear {
                    align_corners,
                    half_pixel_centers,
                }
            } else {
                BuiltinOptions::ResizeNearestNeighbor {
                    align_corners,
                    half_pixel_centers,
                }
            }
        };
        let plain = [false, false];
        let aligned = [true, false];
        let between = [false, true];
        type Case = (bool, [bool; 2], [i32; 2], [i32; 2], [bool; 2]);
        let cases: [Case; 19] = [
            (true, plain, [8, 8], [16, 16], [false, false]),
            (true, plain, [16, 16], [48, 48], [true, true]),
            (true, between, [18, 18], [54, 54], [true, true]),
            (true, between, [8, 8], [32, 32], [true, false]),
            (true, between, [8, 8], [16, 16], [false, false]),
            (true, plain, [8, 8], [64, 64], [false, false]),
            (true, plain, [8, 8], [128, 128], [true, false]),
            (true, plain, [8, 8], [16, 32], [true, false]),
            (true, aligned, [5, 5], [9, 9], [false, false]),
            (true, plain, [5, 5], [9, 9], [true, true]),
            (true, plain, [1, 1], [8, 8], [false, false]),
            (true, between, [6, 6], [6, 6], [true, false]),
            (true, plain, [6, 6], [6, 6], [false, false]),
            (true, plain, [8, 1], [16, 1], [false, false]),
            (true, between, [8, 1], [16, 1], [true, false]),
            (true, aligned, [8, 1], [16, 1], [true, true]),
            (false, plain, [16, 16], [8, 8], [true, false]),
            (false, aligned, [8, 1], [16, 1], [true, false]),
            (false, [true, true], [8, 8], [15, 15], [false, true]),
        ];
        for (bilinear, [align, half], from, to, is_refused) in cases {
            let map = |[h, w]: [i32; 2]| tensor(TensorType::Int8, &[1, h, w, 8]);
            let kind = if bilinear {
                OpKind::ResizeBilinear
            } else {
                OpKind::ResizeNearestNeighbor
            };
            let operator = calling(kind, &[0], &[1], resized(bilinear, align, half));
            let model = model(vec![subgraph(vec![map(from), map(to)], vec![operator])]);
            let graph = graph_of(&model);
            let refusals = [Npu::EthosU55U65, Npu::EthosU85]
                .map(|npu| refused_shape(&graph, &graph.nodes[0], kind, npu).is_some());
            assert_eq!(
                refusals, is_refused,
                "{kind:?} {align} {half} {from:?} {to:?}"
            );
        }
    }

    /// As Vela 5.2.0 compiles such files or leaves them to the CPU.
    #[test]
    fn entries_are_gathered_along_the_first_dimension_behind_the_batch() {
        for (axis, batch_dims, is_refused) in [
            (0, 0, false),
            (1, 1, false),
            (1, 0, true),
            (3, 0, true),
            (-4, 0, false),
        ] {
            let options = BuiltinOptions::Gather { axis, batch_dims };
            let map = || tensor(TensorType::Int8, &[2, 3, 4, 5]);
            let operator = calling(OpKind::Gather, &[0, 1], &[2], options);
            let model = model(vec![subgraph(vec![map(), map(), map()], vec![operator])]);
            let graph = graph_of(&model);
            let refusal = refused_shape(&graph, &graph.nodes[0], OpKind::Gather, Npu::EthosU85);
            assert_eq!(refusal.is_some(), is_refused, "{axis} {batch_dims}");
        }
    }

    /// As `vela --supported-ops-report` of 5.2.0 lists them, on both families.
    #[test]
    fn pooling_windows_have_a_largest_size() {
        for (kind, filter, is_refused) in [
            (OpKind::MaxPool2d, [256, 256], false),
            (OpKind::MaxPool2d, [1, 65_536], false),
            (OpKind::MaxPool2d, [257, 1], true),
            (OpKind::MaxPool2d, [256, 257], true),
            (OpKind::MaxPool2d, [i32::MAX, i32::MAX], true),
            (OpKind::AveragePool2d, [256, 256], false),
            (OpKind::AveragePool2d, [2, i32::MAX], true),
        ] {
            let [filter_h, filter_w] = filter;
            let options = pool_2d(Padding::Valid, [filter_h, filter_w], [1; 2]);
            let image = || tensor(TensorType::Int8, &[1, 8, 8, 8]);
            let pool = calling(kind, &[0], &[1], options);
            let model = model(vec![subgraph(vec![image(), image()], vec![pool])]);
            let graph = graph_of(&model);
            for npu in [Npu::EthosU55U65, Npu::EthosU85] {
                let refused = refused_shape(&graph, &graph.nodes[0], kind, npu);
                assert_eq!(refused.is_some(), is_refused, "{kind:?} {filter:?}");
            }
        }
    }

    /// Where Vela 5.2.0 leaves such files to the CPU: on Ethos-U55 and U65, and on Ethos-U85.
    #[test]
    fn strides_run_where_vela_runs_them() {
        let pool = |padding, stride: i32, filter: i32| pool_2d(padding, [filter; 2], [stride; 2]);
        let upscale = |padding, stride: [i32; 2]| transpose_conv(padding, [stride[0], stride[1]]);
        use Padding::{Same, Valid};
        type Case<'a> = (OpKind, BuiltinOptions, [&'a [i32]; 3], [bool; 2]);
        let cases: [Case; 12] = [
            (
                OpKind::MaxPool2d,
                pool(Same, 4, 3),
                [&[1, 33, 17, 10], &[1, 9, 5, 10], &[]],
                [true, false],
            ),
            (
                OpKind::MaxPool2d,
                pool(Valid, 4, 3),
                [&[1, 33, 17, 10], &[1, 8, 4, 10], &[]],
                [false, false],
            ),
            (
                OpKind::MaxPool2d,
                pool(Same, 4, 4),
                [&[1, 16, 16, 8], &[1, 4, 4, 8], &[]],
                [false, false],
            ),
            (
                OpKind::AveragePool2d,
                pool(Same, 8, 7),
                [&[1, 5, 5, 8], &[1, 1, 1, 8], &[]],
                [false, false],
            ),
            (
                OpKind::TransposeConv,
                upscale(Same, [2, 2]),
                [&[1, 8, 8, 16], &[1, 16, 16, 8], &[8, 3, 3, 16]],
                [false, false],
            ),
            (
                OpKind::TransposeConv,
                upscale(Same, [3, 3]),
                [&[1, 8, 8, 16], &[1, 24, 24, 8], &[8, 3, 3, 16]],
                [true, false],
            ),
            (
                OpKind::TransposeConv,
                upscale(Same, [1, 2]),
                [&[1, 8, 8, 16], &[1, 8, 16, 8], &[8, 3, 3, 16]],
                [true, false],
            ),
            (
                OpKind::TransposeConv,
                upscale(Same, [1, 2]),
                [&[1, 1, 8, 16], &[1, 1, 16, 8], &[8, 1, 4, 16]],
                [false, false],
            ),
            (
                OpKind::TransposeConv,
                upscale(Same, [2, 1]),
                [&[1, 8, 1, 16], &[1, 16, 1, 8], &[8, 4, 1, 16]],
                [false, false],
            ),
            (
                OpKind::TransposeConv,
                upscale(Same, [2, 1]),
                [&[1, 8, 1, 16], &[1, 16, 1, 8], &[8, 4, 3, 16]],
                [true, false],
            ),
            (
                OpKind::TransposeConv,
                upscale(Valid, [3, 3]),
                [&[1, 8, 8, 16], &[1, 23, 23, 8], &[8, 2, 2, 16]],
                [true, true],
            ),
            (
                OpKind::TransposeConv,
                upscale(Valid, [2, 2]),
                [&[1, 8, 8, 16], &[1, 17, 17, 8], &[8, 3, 3, 16]],
                [false, false],
            ),
        ];
        for (kind, options, [read, written, filter], expected) in cases {
            let maps = [written, filter, read].map(|shape| tensor(TensorType::Int8, shape));
            let inputs: &[usize] = if filter.is_empty() { &[2] } else { &[0, 1, 2] };
            let outputs = maps.len();
            let mut tensors = Vec::from(maps);
            tensors.push(tensor(TensorType::Int8, written));
            let operator = calling(kind, inputs, &[outputs], options);
            let model = model(vec![subgraph(tensors, vec![operator])]);
            let graph = graph_of(&model);
            let refused = |npu| refused_shape(&graph, &graph.nodes[0], kind, npu).is_some();
            let refusals = [Npu::EthosU55U65, Npu::EthosU85].map(refused);
            assert_eq!(refusals, expected, "{kind:?} {read:?} to {written:?}");
        }
    }

    /// As Vela 5.2.0 compiles such files or leaves them to the CPU.
    #[test]
    fn rows_and_batches_have_limits() {
        let cases: [(OpKind, &[i32], &[i32], bool); 8] = [
            (OpKind::Softmax, &[65_536, 2], &[], false),
            (OpKind::Softmax, &[70_000, 2], &[], true),
            (OpKind::Softmax, &[1, 257, 256, 2], &[], true),
            (OpKind::Softmax, &[2, 32_768, 3], &[], false),
            (OpKind::Mean, &[1, 16, 16, 8], &[1, 2], false),
            (OpKind::Mean, &[3, 16, 16, 8], &[1, 2], true),
            (OpKind::Mean, &[1, 1, 4096, 8], &[1, 2], false),
            (OpKind::Mean, &[1, 1, 4097, 8], &[1, 2], true),
        ];
        for (kind, shape, axes, is_refused) in cases {
            let model = with_integers(kind, shape, axes);
            let graph = graph_of(&model);
            for npu in [Npu::EthosU55U65, Npu::EthosU85] {
                let refusal = refused_shape(&graph, &graph.nodes[0], kind, npu);
                assert_eq!(
                    refusal.is_some(),
                    is_refused,
                    "{kind:?} {shape:?}: {refusal:?}"
                );
            }
        }
    }
}
