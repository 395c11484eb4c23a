//! One operator after the other, on shapes and constants of each test's own.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;
use crate::formats::tflite::op_row::ShapeRule;
use crate::formats::tflite::{
    Activation, BuiltinOptions, LstmKernelType, OpKind, Padding, TensorType,
};
use crate::graph::analysis::fixtures::{
    batch_matmul, calling, concatenation, for_each, model, subgraph, tensor,
};

const INT8: TensorType = TensorType::Int8;

/// An operand: its shape, or the values of a constant.
enum Operand<'o> {
    Of(&'o [i32]),
    Values(&'o [i32]),
    Scalar(i32),
    Absent,
}
use Operand::*;

fn missing() -> Tensor {
    Tensor {
        has_rank: false,
        ..tensor(INT8, &[])
    }
}

fn constant(shape: &[i32], values: &[i32], buffers: &mut Vec<Buffer<'static>>) -> Tensor {
    let bytes: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
    buffers.push(Buffer::Stored(bytes.into()));
    Tensor {
        buffer_idx: buffers.len() - 1,
        ..tensor(TensorType::Int32, shape)
    }
}

/// Shapes of so many results; none where one is unknown.
fn results(
    kind: OpKind,
    operands: &[Operand],
    options: BuiltinOptions,
    n_results: usize,
) -> Vec<Option<Vec<i32>>> {
    let mut buffers = vec![Buffer::EMPTY];
    let mut tensors = Vec::new();
    let mut inputs = Vec::new();
    for operand in operands {
        inputs.push((!matches!(operand, Absent)).then_some(tensors.len()));
        tensors.push(match operand {
            Of(shape) => tensor(INT8, shape),
            Values(values) => constant(&[values.len() as i32], values, &mut buffers),
            Scalar(value) => constant(&[], &[*value], &mut buffers),
            Absent => missing(),
        });
    }
    let outputs: Vec<usize> = (0..n_results).map(|n| tensors.len() + n).collect();
    tensors.extend(outputs.iter().map(|_| missing()));
    let mut operator = calling(kind, &[], &outputs, options);
    operator.inputs = inputs;
    let mut model = model(vec![subgraph(tensors, vec![operator])]);
    model.buffers = buffers;
    fill(&mut model);
    let tensors = &model.subgraphs[0].tensors;
    let shape = |&output: &usize| {
        tensors[output]
            .has_rank
            .then(|| tensors[output].shape.clone())
    };
    outputs.iter().map(shape).collect()
}

fn result(kind: OpKind, operands: &[Operand], options: BuiltinOptions) -> Option<Vec<i32>> {
    results(kind, operands, options, 1).remove(0)
}

fn plain(kind: OpKind, operands: &[Operand]) -> Option<Vec<i32>> {
    result(kind, operands, BuiltinOptions::Absent)
}

fn convolution(padding: Padding, stride: i32, dilation: i32) -> BuiltinOptions {
    BuiltinOptions::Conv2D {
        padding,
        stride_h: stride,
        stride_w: stride,
        dilation_h: dilation,
        dilation_w: dilation,
        activation: Activation::None,
    }
}

#[test]
fn windows_need_room_and_a_stride() {
    let result_of = |input: &[i32], filter: &[i32], options| {
        result(OpKind::Conv2d, &[Of(input), Of(filter)], options)
    };
    let (image, filter) = (&[1, 7, 8, 6], &[9, 3, 3, 6]);
    let same = |stride| convolution(Padding::Same, stride, 1);
    let valid = |stride, dilation| convolution(Padding::Valid, stride, dilation);
    assert_eq!(result_of(image, filter, same(2)), Some(vec![1, 4, 4, 9]));
    assert_eq!(
        result_of(image, filter, valid(2, 1)),
        Some(vec![1, 3, 3, 9])
    );
    assert_eq!(
        result_of(image, filter, valid(1, 3)),
        Some(vec![1, 1, 2, 9])
    );
    assert_eq!(result_of(image, filter, valid(1, 4)), None);
    assert_eq!(result_of(image, filter, valid(1, i32::MAX)), None);
    for stride in [0, -1, i32::MIN] {
        assert_eq!(result_of(image, filter, same(stride)), None);
        assert_eq!(
            result_of(image, filter, convolution(Padding::Same, 1, stride)),
            None
        );
    }
    assert_eq!(result_of(image, &[9, 3, 3, 4], same(1)), None);
    assert_eq!(result_of(image, &[9, 3, 3, 0], same(1)), None);
    assert_eq!(result_of(image, &[9, 0, 3, 6], same(1)), None);
    assert_eq!(result_of(&[7, 8, 6], filter, same(1)), None);
    assert_eq!(
        result_of(&[i32::MAX; 4], &[i32::MAX; 4], same(1)),
        None,
        "bytes beyond 64 bits"
    );
}

#[test]
fn layers_without_windows() {
    let dense = |keep_num_dims| BuiltinOptions::FullyConnected {
        has_unknown_weights: false,
        keep_num_dims,
        activation: Activation::None,
    };
    let result_of = |input: &[i32], keep| {
        result(
            OpKind::FullyConnected,
            &[Of(input), Of(&[5, 6]), Absent],
            dense(keep),
        )
    };
    assert_eq!(result_of(&[2, 3, 6], true), Some(vec![2, 3, 5]));
    assert_eq!(result_of(&[2, 3, 6], false), Some(vec![6, 5]));
    assert_eq!(result_of(&[2, 3, 2], false), Some(vec![2, 5]));
    assert_eq!(result_of(&[2, 3, 2], true), None);
    assert_eq!(result_of(&[2, 5], false), None);
    assert_eq!(result_of(&[i32::MAX; 4], false), None);
    let product = |one: &[i32], other: &[i32], adj_x, adj_y| {
        let options = batch_matmul(adj_x, adj_y);
        result(OpKind::BatchMatmul, &[Of(one), Of(other)], options)
    };
    assert_eq!(
        product(&[1, 4, 2, 3], &[5, 1, 3, 7], false, false),
        Some(vec![5, 4, 2, 7])
    );
    assert_eq!(
        product(&[3, 2], &[5, 7, 3], true, true),
        Some(vec![5, 2, 7])
    );
    assert_eq!(product(&[4, 2, 3], &[5, 3, 7], false, false), None);
    assert_eq!(product(&[2, 3], &[4, 7], false, false), None);
    assert_eq!(product(&[3], &[3, 7], false, false), None);
    let svdf = |rank| BuiltinOptions::Svdf {
        rank,
        activation: Activation::None,
    };
    let of_rank = |rank| result(OpKind::Svdf, &[Of(&[1, 8]), Of(&[6, 8])], svdf(rank));
    assert_eq!(of_rank(2), Some(vec![1, 3]));
    assert_eq!(of_rank(0), None);
    let lstm = |kernel_type| BuiltinOptions::Lstm {
        kernel_type,
        cell_clip: 0.0,
        proj_clip: 0.0,
        activation: Activation::Tanh,
    };
    let mut operands: Vec<Operand> = (0..8).map(|_| Absent).collect();
    operands[0] = Of(&[3, 20]);
    operands.push(Of(&[16, 12]));
    assert_eq!(
        result(OpKind::Lstm, &operands, lstm(LstmKernelType::Full)),
        Some(vec![3, 12])
    );
    assert_eq!(
        result(OpKind::Lstm, &operands, lstm(LstmKernelType::Basic)),
        None
    );
}

#[test]
fn values_broadcast() {
    assert_eq!(
        plain(OpKind::Mul, &[Of(&[4, 1]), Of(&[3, 1, 5])]),
        Some(vec![3, 4, 5])
    );
    assert_eq!(plain(OpKind::Add, &[Of(&[]), Of(&[])]), Some(vec![]));
    assert_eq!(plain(OpKind::Add, &[Of(&[0]), Of(&[1])]), Some(vec![0]));
    assert_eq!(plain(OpKind::Add, &[Of(&[2]), Of(&[3])]), None);
    // As LiteRT 2.3 allocates it.
    assert_eq!(
        plain(OpKind::ComplexAbs, &[Of(&[2, 3, 4])]),
        Some(vec![2, 3, 4])
    );
    assert_eq!(
        plain(OpKind::Select, &[Of(&[2]), Of(&[2, 3]), Of(&[2, 3])]),
        Some(vec![2, 3])
    );
    assert_eq!(
        plain(OpKind::SelectV2, &[Of(&[2, 1]), Of(&[3]), Of(&[1])]),
        Some(vec![2, 3])
    );
}

#[test]
fn reshapes() {
    let with = |new_shape: &[i32]| BuiltinOptions::Reshape {
        new_shape: new_shape.to_vec(),
    };
    let to = |wanted: &[i32]| {
        let listed = plain(OpKind::Reshape, &[Of(&[2, 3, 4]), Values(wanted)]);
        let stated = result(OpKind::Reshape, &[Of(&[2, 3, 4])], with(wanted));
        assert_eq!(listed, stated);
        listed
    };
    assert_eq!(to(&[6, 4]), Some(vec![6, 4]));
    assert_eq!(to(&[-1, 8]), Some(vec![3, 8]));
    for wanted in [
        &[5, 5][..],
        &[-1, 5],
        &[-1, -1],
        &[-2, 12],
        &[-1, 0],
        &[i32::MAX; 5],
    ] {
        assert_eq!(to(wanted), None, "{wanted:?}");
    }
    let scalar = result(OpKind::Reshape, &[Of(&[1, 1])], with(&[0]));
    assert_eq!(scalar, Some(vec![]));
    let computed = result(OpKind::Reshape, &[Of(&[2, 3, 4]), Of(&[2])], with(&[6, 4]));
    assert_eq!(computed, None, "the listed shape is no constant");
    let axes = |squeeze_dims: &[i32]| BuiltinOptions::Squeeze {
        squeeze_dims: squeeze_dims.to_vec(),
    };
    let squeezed = |dims: &[i32]| result(OpKind::Squeeze, &[Of(&[1, 3, 1])], axes(dims));
    assert_eq!(squeezed(&[]), Some(vec![3]));
    assert_eq!(squeezed(&[-1, 2]), Some(vec![1, 3]));
    assert_eq!(squeezed(&[1]), None);
    assert_eq!(squeezed(&[3]), None);
    let expanded = |axis| plain(OpKind::ExpandDims, &[Of(&[2, 3]), Scalar(axis)]);
    assert_eq!(expanded(-1), Some(vec![2, 3, 1]));
    assert_eq!(expanded(-3), Some(vec![1, 2, 3]));
    assert_eq!(expanded(3), None);
    assert_eq!(expanded(i32::MIN), None);
}

#[test]
fn parts_are_joined_and_split() {
    let joined = |one: &[i32], other: &[i32], axis| {
        let options = concatenation(axis);
        result(OpKind::Concatenation, &[Of(one), Of(other)], options)
    };
    assert_eq!(joined(&[2, 3], &[2, 4], -1), Some(vec![2, 7]));
    assert_eq!(joined(&[2, 3], &[3, 4], 1), None);
    assert_eq!(joined(&[2, 3], &[2, 3, 1], 1), None);
    assert_eq!(joined(&[2, 3], &[2, 4], 2), None);
    assert_eq!(joined(&[2, i32::MAX], &[2, 1], 1), None);
    let packed = |other: &[i32], axis| {
        let options = BuiltinOptions::Pack {
            values_count: 2,
            axis,
        };
        result(OpKind::Pack, &[Of(&[4, 5]), Of(other)], options)
    };
    assert_eq!(packed(&[4, 5], -1), Some(vec![4, 5, 2]));
    assert_eq!(packed(&[4, 6], 0), None);
    let unpacked = |axis, n| {
        let options = BuiltinOptions::Unpack { num: n, axis };
        results(OpKind::Unpack, &[Of(&[2, 5])], options, n as usize)
    };
    assert_eq!(unpacked(0, 2), [Some(vec![5]), Some(vec![5])]);
    assert_eq!(unpacked(1, 2), [None, None]);
    let split = |num_splits, n| {
        let options = BuiltinOptions::Split { num_splits };
        results(OpKind::Split, &[Scalar(-1), Of(&[2, 6])], options, n)
    };
    assert_eq!(split(2, 2), [Some(vec![2, 3]), Some(vec![2, 3])]);
    assert_eq!(split(4, 1), [None]);
    assert_eq!(split(0, 1), [None]);
    let by_sizes = |sizes: &[i32]| {
        let options = BuiltinOptions::SplitV { num_splits: 2 };
        let operands = [Of(&[2, 6]), Values(sizes), Scalar(1)];
        results(OpKind::SplitV, &operands, options, 2)
    };
    assert_eq!(by_sizes(&[-1, 2]), [Some(vec![2, 4]), Some(vec![2, 2])]);
    assert_eq!(by_sizes(&[5, 2]), [None, None]);
    assert_eq!(by_sizes(&[-1, 7]), [None, None]);
}

#[test]
fn slices() {
    let sliced = |begin: &[i32], size: &[i32]| {
        plain(OpKind::Slice, &[Of(&[4, 5]), Values(begin), Values(size)])
    };
    assert_eq!(sliced(&[1, 0], &[-1, 2]), Some(vec![3, 2]));
    assert_eq!(sliced(&[1, 0], &[4, 2]), None);
    assert_eq!(sliced(&[5, 0], &[-1, 2]), None);
    assert_eq!(sliced(&[-1, 0], &[1, 1]), None);
    assert_eq!(sliced(&[0], &[1]), None);
    let masks = |ellipsis_mask, new_axis_mask, shrink_axis_mask| BuiltinOptions::StridedSlice {
        begin_mask: 0,
        end_mask: 0b10,
        ellipsis_mask,
        new_axis_mask,
        shrink_axis_mask,
        offset: false,
    };
    let strided = |begin: &[i32], end: &[i32], strides: &[i32], options| {
        let operands = [Of(&[4, 5, 6]), Values(begin), Values(end), Values(strides)];
        result(OpKind::StridedSlice, &operands, options)
    };
    let none = || masks(0, 0, 0);
    assert_eq!(
        strided(&[1, 0], &[-1, 0], &[1, 2], none()),
        Some(vec![2, 3, 6])
    );
    assert_eq!(
        strided(&[-1, 9], &[i32::MIN, 0], &[-1, -2], none()),
        Some(vec![4, 3, 6])
    );
    assert_eq!(
        strided(&[3, 0], &[1, 0], &[1, 1], none()),
        Some(vec![0, 5, 6])
    );
    assert_eq!(strided(&[0, 0], &[1, 0], &[1, 0], none()), None);
    assert_eq!(strided(&[0; 4], &[1; 4], &[1; 4], none()), None);
    let extreme = [i32::MIN, i32::MAX];
    assert_eq!(
        strided(&extreme, &extreme, &extreme, none()),
        Some(vec![0, 0, 6])
    );
    let first = strided(&[0, 0], &[0, 0], &[1, 1], masks(0, 0, 0b01));
    assert_eq!(first, Some(vec![5, 6]));
    let last = strided(&[0, 2], &[0, 3], &[1, 1], masks(0b01, 0, 0));
    assert_eq!(last, Some(vec![4, 5, 4]));
    let grown = strided(&[0, 1], &[0, 0], &[1, 1], masks(0, 0b01, 0));
    assert_eq!(grown, Some(vec![1, 3, 5, 6]));
}

#[test]
fn dimensions_move_and_change() {
    let turned = |order: &[i32]| plain(OpKind::Transpose, &[Of(&[2, 3, 4]), Values(order)]);
    assert_eq!(turned(&[2, 0, -2]), Some(vec![4, 2, 3]));
    assert_eq!(turned(&[0, 0, 1]), None);
    assert_eq!(turned(&[0, 1]), None);
    let padded = |paddings: &[i32]| plain(OpKind::Pad, &[Of(&[2, 3]), Values(paddings)]);
    assert_eq!(padded(&[0, 1, 2, 3]), Some(vec![3, 8]));
    assert_eq!(padded(&[0, -1, 2, 3]), None);
    assert_eq!(padded(&[0, 1, 2]), None);
    assert_eq!(padded(&[0, i32::MAX, 0, 0]), None);
    let reduced = |axes: &[i32], keep_dims| {
        let options = BuiltinOptions::Reducer { keep_dims };
        result(OpKind::Mean, &[Of(&[2, 3, 4]), Values(axes)], options)
    };
    assert_eq!(reduced(&[-1, 1, 1], false), Some(vec![2]));
    assert_eq!(reduced(&[-1, 1], true), Some(vec![2, 1, 1]));
    assert_eq!(reduced(&[0, 1, 2], false), Some(vec![]));
    assert_eq!(reduced(&[3], false), None);
    assert_eq!(
        plain(OpKind::ArgMax, &[Of(&[2, 3]), Scalar(-1)]),
        Some(vec![2])
    );
    let resized = |size: &[i32]| plain(OpKind::ResizeBilinear, &[Of(&[1, 3, 4, 2]), Values(size)]);
    assert_eq!(resized(&[6, 8]), Some(vec![1, 6, 8, 2]));
    assert_eq!(resized(&[6, -8]), None);
    assert_eq!(resized(&[6]), None);
    let tiled = |times: &[i32]| plain(OpKind::Tile, &[Of(&[2, 3]), Values(times)]);
    assert_eq!(tiled(&[2, 0]), Some(vec![4, 0]));
    assert_eq!(tiled(&[2, -1]), None);
    assert_eq!(tiled(&[i32::MAX, 1]), None);
    let gathered = |axis, batch_dims| {
        let options = BuiltinOptions::Gather { axis, batch_dims };
        result(OpKind::Gather, &[Of(&[2, 3, 4]), Of(&[2, 9])], options)
    };
    assert_eq!(gathered(1, 0), Some(vec![2, 2, 9, 4]));
    assert_eq!(gathered(1, 1), Some(vec![2, 9, 4]));
    assert_eq!(gathered(1, -1), Some(vec![2, 9, 4]));
    assert_eq!(gathered(0, 1), None);
    assert_eq!(gathered(2, 3), None);
    assert_eq!(gathered(3, 0), None);
    assert_eq!(
        plain(OpKind::GatherNd, &[Of(&[2, 3, 4]), Of(&[7, 2])]),
        Some(vec![7, 4])
    );
    assert_eq!(plain(OpKind::GatherNd, &[Of(&[2, 3]), Of(&[7, 3])]), None);
}

#[test]
fn blocks_of_space_become_depth_and_batch() {
    let deep = |block_size| BuiltinOptions::SpaceToDepth { block_size };
    let wide = |block_size| BuiltinOptions::DepthToSpace { block_size };
    let to_depth = |size, b| result(OpKind::SpaceToDepth, &[Of(&[1, size, 4, 2])], deep(b));
    assert_eq!(to_depth(6, 2), Some(vec![1, 3, 2, 8]));
    assert_eq!(to_depth(5, 2), None);
    assert_eq!(to_depth(6, 0), None);
    let to_space = |b| result(OpKind::DepthToSpace, &[Of(&[1, 3, 2, 8])], wide(b));
    assert_eq!(to_space(2), Some(vec![1, 6, 4, 2]));
    assert_eq!(to_space(3), None);
    assert_eq!(to_space(i32::MAX), None);
    let batch = |kind, input: &[i32], sides: &[i32], pairs: &[i32]| {
        let mut buffers = vec![Buffer::EMPTY];
        let tensors = vec![
            tensor(INT8, input),
            constant(&[sides.len() as i32], sides, &mut buffers),
            constant(&[pairs.len() as i32 / 2, 2], pairs, &mut buffers),
            missing(),
        ];
        let operator = calling(kind, &[0, 1, 2], &[3], BuiltinOptions::Absent);
        let mut model = model(vec![subgraph(tensors, vec![operator])]);
        model.buffers = buffers;
        fill(&mut model);
        let output = model.subgraphs.remove(0).tensors.remove(3);
        output.has_rank.then_some(output.shape)
    };
    let to_batch =
        |sides: &[i32], pairs: &[i32]| batch(OpKind::SpaceToBatchNd, &[1, 5, 6, 3], sides, pairs);
    assert_eq!(to_batch(&[2, 2], &[0, 1, 0, 0]), Some(vec![4, 3, 3, 3]));
    assert_eq!(to_batch(&[2, 2], &[0, 0, 0, 0]), None);
    assert_eq!(to_batch(&[0, 2], &[0, 1, 0, 0]), None);
    let from_batch =
        |sides: &[i32], pairs: &[i32]| batch(OpKind::BatchToSpaceNd, &[4, 3, 3, 3], sides, pairs);
    assert_eq!(from_batch(&[2, 2], &[0, 1, 0, 0]), Some(vec![1, 5, 6, 3]));
    assert_eq!(from_batch(&[2, 2], &[9, 9, 0, 0]), None);
    assert_eq!(from_batch(&[3, 2], &[0, 0, 0, 0]), None);
}

/// Sizes of constants that no kernel takes.
#[test]
fn listed_shapes_are_checked() {
    let filled = |sizes: &[i32]| plain(OpKind::Fill, &[Values(sizes), Of(&[])]);
    assert_eq!(filled(&[2, 3]), Some(vec![2, 3]));
    assert_eq!(filled(&[2, -3]), None);
    assert_eq!(filled(&[i32::MAX; 3]), None);
    assert_eq!(
        filled(&[0, i32::MAX, i32::MAX, i32::MAX]),
        Some(vec![0, i32::MAX, i32::MAX, i32::MAX])
    );
    assert_eq!(
        filled(&[1; MAX_COMPUTED_RANK]),
        Some(vec![1; MAX_COMPUTED_RANK])
    );
    assert_eq!(filled(&[1; MAX_COMPUTED_RANK + 1]), None);
    assert_eq!(plain(OpKind::TransposeConv, &[Values(&[2, 3])]), None);
    assert_eq!(
        plain(OpKind::Conv3dTranspose, &[Values(&[1, 4, 8, 8, 3])]),
        Some(vec![1, 4, 8, 8, 3])
    );
    assert_eq!(
        plain(OpKind::Conv3dTranspose, &[Values(&[1, 8, 8, 3])]),
        None
    );
}

#[test]
fn operators_without_operands_leave_shapes_unknown() {
    for &kind in OpKind::ALL {
        for options in [BuiltinOptions::Absent, BuiltinOptions::Other] {
            assert_eq!(result(kind, &[], options.clone()), None, "{kind:?}");
            let absent = [const { Absent }; 9];
            assert_eq!(result(kind, &absent, options), None, "{kind:?}");
        }
    }
}

/// A batch by itself, as converters write a reshape that keeps it.
#[test]
fn shapes_are_computed_from_shapes() {
    let mut buffers = vec![Buffer::EMPTY];
    let mut tensors = vec![tensor(INT8, &[3, 4, 5])];
    let mut list = |values: &[i32]| constant(&[values.len() as i32], values, &mut buffers);
    tensors.extend([list(&[0]), list(&[1]), list(&[-1])]);
    tensors[3].shape.clear();
    let integer = || Tensor {
        tensor_type: TensorType::Int32,
        ..missing()
    };
    tensors.extend([integer(), integer(), integer(), missing()]);
    let first = BuiltinOptions::StridedSlice {
        begin_mask: 0,
        end_mask: 0,
        ellipsis_mask: 0,
        new_axis_mask: 0,
        shrink_axis_mask: 1,
        offset: false,
    };
    let pair = BuiltinOptions::Pack {
        values_count: 2,
        axis: 0,
    };
    let operators = vec![
        calling(OpKind::Shape, &[0], &[4], BuiltinOptions::Absent),
        calling(OpKind::StridedSlice, &[4, 1, 2, 2], &[5], first),
        calling(OpKind::Pack, &[5, 3], &[6], pair),
        calling(OpKind::Reshape, &[0, 6], &[7], BuiltinOptions::Absent),
    ];
    let mut model = model(vec![subgraph(tensors, operators)]);
    model.buffers = buffers;
    fill(&mut model);
    let shapes = model.subgraphs[0].tensors[4..].iter();
    let shapes: Vec<&[i32]> = shapes.map(|tensor| tensor.shape.as_slice()).collect();
    assert_eq!(shapes, [&[3][..], &[], &[2], &[3, 20]]);
}

/// LiteRT 2.3: `[4, 4, 4, 4]`. As TensorFlow pads to whole blocks: the rest of each side, behind it.
#[test]
fn paddings_are_computed_from_shapes() {
    let mut buffers = vec![Buffer::EMPTY];
    let mut tensors = vec![tensor(INT8, &[1, 7, 7, 4])];
    let mut list = |values: &[i32]| constant(&[values.len() as i32], values, &mut buffers);
    tensors.extend([list(&[2, 2]), list(&[0, 0]), list(&[2])]);
    tensors[3].shape.clear();
    let integer = || Tensor {
        tensor_type: TensorType::Int32,
        ..missing()
    };
    tensors.extend((4..13).map(|_| integer()));
    tensors.push(missing());
    let pack = |axis| BuiltinOptions::Pack {
        values_count: 2,
        axis,
    };
    let unpack = BuiltinOptions::Unpack { num: 4, axis: 0 };
    let absent = || BuiltinOptions::Absent;
    let operators = vec![
        calling(OpKind::Shape, &[0], &[4], absent()),
        calling(OpKind::Unpack, &[4], &[5, 6, 7, 8], unpack),
        calling(OpKind::FloorMod, &[6, 3], &[9], absent()),
        calling(OpKind::FloorMod, &[7, 3], &[10], absent()),
        calling(OpKind::Pack, &[9, 10], &[11], pack(0)),
        calling(OpKind::Pack, &[2, 11], &[12], pack(1)),
        calling(OpKind::SpaceToBatchNd, &[0, 1, 12], &[13], absent()),
    ];
    let mut model = model(vec![subgraph(tensors, operators)]);
    model.buffers = buffers;
    fill(&mut model);
    assert_eq!(model.subgraphs[0].tensors[13].shape, [4, 4, 4, 4]);
}

/// Options of every operator that a rule reads, with numbers from a file.
fn options(kind: OpKind, numbers: [i32; 6]) -> BuiltinOptions {
    use BuiltinOptions as O;
    let [one, two, three, four, five, six] = numbers;
    let activation = Activation::None;
    let padding = if one & 1 == 0 {
        Padding::Same
    } else {
        Padding::Valid
    };
    match kind {
        OpKind::Conv2d => O::Conv2D {
            padding,
            stride_h: two,
            stride_w: three,
            dilation_h: four,
            dilation_w: five,
            activation,
        },
        OpKind::DepthwiseConv2d => O::DepthwiseConv2D {
            padding,
            stride_h: two,
            stride_w: three,
            dilation_h: four,
            dilation_w: five,
            depth_multiplier: six,
            activation,
        },
        OpKind::Conv3d => O::Conv3D {
            padding,
            stride_d: one,
            stride_h: two,
            stride_w: three,
            dilation_d: six,
            dilation_h: four,
            dilation_w: five,
            activation,
        },
        OpKind::AveragePool2d => O::Pool2D {
            padding,
            stride_h: two,
            stride_w: three,
            filter_h: four,
            filter_w: five,
            activation,
        },
        OpKind::FullyConnected => O::FullyConnected {
            has_unknown_weights: false,
            keep_num_dims: one & 1 == 0,
            activation,
        },
        OpKind::BatchMatmul => O::BatchMatMul {
            adj_x: one & 1 == 0,
            adj_y: two & 1 == 0,
        },
        OpKind::Svdf => O::Svdf {
            rank: one,
            activation,
        },
        OpKind::Concatenation => O::Concatenation {
            axis: one,
            activation,
        },
        OpKind::Pack => O::Pack {
            values_count: one,
            axis: two,
        },
        OpKind::Unpack => O::Unpack {
            num: one,
            axis: two,
        },
        OpKind::Split => O::Split { num_splits: one },
        OpKind::Reshape => O::Reshape {
            new_shape: numbers[..3].to_vec(),
        },
        OpKind::Squeeze => O::Squeeze {
            squeeze_dims: numbers[..2].to_vec(),
        },
        OpKind::StridedSlice => O::StridedSlice {
            begin_mask: one,
            end_mask: two,
            ellipsis_mask: three,
            new_axis_mask: four,
            shrink_axis_mask: five,
            offset: six & 1 == 0,
        },
        OpKind::DepthToSpace => O::DepthToSpace { block_size: one },
        OpKind::SpaceToDepth => O::SpaceToDepth { block_size: one },
        OpKind::Gather => O::Gather {
            axis: one,
            batch_dims: two,
        },
        OpKind::OneHot => O::OneHot { axis: one },
        kind if kind.row().shape == ShapeRule::Reduce => O::Reducer {
            keep_dims: one & 1 == 0,
        },
        _ => O::Absent,
    }
}

/// Whatever the numbers are, nothing overflows, and what is computed is a shape that the reader would take, too.
#[test]
fn hostile_numbers_leave_shapes_unknown() {
    let sizes = select(vec![0, 1, 2, 3, 6, 1 << 16, i32::MAX]);
    let number = select(vec![i32::MIN, -2, -1, 0, 1, 2, 3, 1 << 16, i32::MAX]);
    let operand = prop_oneof![
        vec(sizes, 0..=9).prop_map(|shape| (false, shape)),
        vec(number.clone(), 1..=9).prop_map(|values| (true, values)),
    ];
    let strategy = (
        select(OpKind::ALL.to_vec()),
        vec(operand, 0..=4),
        [
            number.clone(),
            number.clone(),
            number.clone(),
            number.clone(),
            number.clone(),
            number,
        ],
        1..4usize,
    );
    let n_known = std::cell::Cell::new(0);
    for_each(100_000, strategy, |(kind, operands, numbers, n_results)| {
        let operands: Vec<Operand> = (operands.iter())
            .map(|(is_constant, list)| match &list[..] {
                _ if !is_constant => Of(list),
                [one] => Scalar(*one),
                _ => Values(list),
            })
            .collect();
        for shape in results(kind, &operands, options(kind, numbers), n_results) {
            let Some(shape) = shape else {
                continue;
            };
            n_known.set(n_known.get() + 1);
            let computed = tensor(INT8, &shape);
            assert!(shape.iter().all(|&size| size >= 0) && shape.len() <= MAX_COMPUTED_RANK);
            assert!(computed.byte_len().is_some(), "{kind:?}: {shape:?}");
        }
    });
    println!("{} shapes were computed", n_known.get());
    assert!(n_known.get() > 1_000);
}

/// Only what the file leaves out is computed, and what reads it follows.
#[test]
fn stored_shapes_stay() {
    let mut tensors = vec![
        tensor(INT8, &[2, 3]),
        missing(),
        tensor(INT8, &[7]),
        missing(),
    ];
    tensors.push(Tensor {
        is_variable: true,
        ..missing()
    });
    let relu = |from, to| calling(OpKind::Relu, &[from], &[to], BuiltinOptions::Absent);
    let operators = vec![relu(0, 1), relu(1, 2), relu(2, 3), relu(3, 4)];
    let mut model = model(vec![subgraph(tensors, operators)]);
    fill(&mut model);
    let shapes = model.subgraphs[0]
        .tensors
        .iter()
        .map(|tensor| tensor.shape.clone());
    let expected: [&[i32]; 5] = [&[2, 3], &[2, 3], &[7], &[7], &[]];
    assert_eq!(shapes.collect::<Vec<_>>(), expected);
    let [doubt] = model.diagnostics.as_slice() else {
        panic!("{:?}", model.diagnostics);
    };
    assert_eq!(
        (doubt.code, doubt.severity),
        ("computed-shapes", Severity::Info)
    );
    assert!(
        doubt.message.contains("no shape for 2 tensors"),
        "{}",
        doubt.message
    );
}

/// A scalar's shape is what old files store of it.
#[test]
fn scalars_are_no_doubt() {
    let tensors = vec![tensor(INT8, &[]), missing()];
    let relu = calling(OpKind::Relu, &[0], &[1], BuiltinOptions::Absent);
    let mut model = model(vec![subgraph(tensors, vec![relu])]);
    fill(&mut model);
    assert!(model.subgraphs[0].tensors[1].has_rank && model.diagnostics.is_empty());
}

/// Shapes are those of LiteRT, which refuses what has none here.
#[test]
fn kinds_of_their_own() {
    use OpKind as K;
    let reversed = |seq_dim, batch_dim| BuiltinOptions::ReverseSequence { seq_dim, batch_dim };
    let merged = |merge_outputs| BuiltinOptions::BidirectionalSequenceRnn {
        time_major: false,
        merge_outputs,
        activation: Activation::None,
    };
    let both = || {
        let forward = [Of(&[5, 4]), Of(&[5, 5]), Of(&[5]), Of(&[2, 5])];
        let backward = [Of(&[6, 4]), Of(&[6, 6]), Of(&[6]), Of(&[2, 6])];
        let mut operands = vec![Of(&[2, 3, 4])];
        operands.extend(forward.into_iter().chain(backward));
        operands
    };
    let absent = || BuiltinOptions::Absent;
    let (table, image) = (&[4, 3], &[2, 3, 4]);
    type Case<'c> = (OpKind, Vec<Operand<'c>>, BuiltinOptions, &'c [&'c [i32]]);
    let cases: Vec<Case> = vec![
        (
            K::Range,
            vec![Scalar(3), Scalar(10), Scalar(2)],
            absent(),
            &[&[4]],
        ),
        (
            K::Range,
            vec![Scalar(10), Scalar(3), Scalar(-2)],
            absent(),
            &[&[4]],
        ),
        (
            K::Range,
            vec![Scalar(3), Scalar(3), Scalar(2)],
            absent(),
            &[&[0]],
        ),
        (
            K::Range,
            vec![Scalar(i32::MIN), Scalar(i32::MAX), Scalar(3)],
            absent(),
            &[&[0x5555_5555]],
        ),
        (
            K::Range,
            vec![Scalar(10), Scalar(3), Scalar(2)],
            absent(),
            &[],
        ),
        (
            K::Range,
            vec![Scalar(3), Scalar(10), Scalar(0)],
            absent(),
            &[],
        ),
        (K::MatrixDiag, vec![Of(&[2, 3])], absent(), &[&[2, 3, 3]]),
        (K::MatrixDiag, vec![Of(&[])], absent(), &[]),
        (
            K::MatrixSetDiag,
            vec![Of(image), Of(&[2, 3])],
            absent(),
            &[&[2, 3, 4]],
        ),
        (K::MatrixSetDiag, vec![Of(&[3]), Of(&[3])], absent(), &[]),
        (
            K::Rfft2d,
            vec![Of(&[3, 4, 8]), Values(&[2, 16])],
            absent(),
            &[&[3, 2, 9]],
        ),
        (K::Rfft2d, vec![Of(&[3, 4, 8]), Values(&[2])], absent(), &[]),
        (
            K::ReverseSequence,
            vec![Of(image), Of(&[3])],
            reversed(0, 1),
            &[&[2, 3, 4]],
        ),
        (
            K::ReverseSequence,
            vec![Of(image), Of(&[4])],
            reversed(0, 1),
            &[],
        ),
        (
            K::ReverseSequence,
            vec![Of(image), Of(&[2])],
            reversed(0, 0),
            &[],
        ),
        (
            K::ReverseSequence,
            vec![Of(image), Of(&[4])],
            reversed(0, -1),
            &[],
        ),
        (
            K::SegmentSum,
            vec![Of(table), Values(&[0, 0, 1, 2])],
            absent(),
            &[&[3, 3]],
        ),
        (
            K::SegmentSum,
            vec![Of(table), Values(&[0, 0, 1])],
            absent(),
            &[],
        ),
        (
            K::UnsortedSegmentSum,
            vec![Of(table), Of(&[4]), Scalar(5)],
            absent(),
            &[&[5, 3]],
        ),
        (
            K::UnsortedSegmentMax,
            vec![Of(image), Of(&[2, 3]), Scalar(5)],
            absent(),
            &[&[5, 4]],
        ),
        (
            K::UnsortedSegmentMin,
            vec![Of(image), Of(&[3]), Scalar(5)],
            absent(),
            &[],
        ),
        (
            K::BroadcastArgs,
            vec![Of(&[3]), Of(&[2])],
            absent(),
            &[&[3]],
        ),
        (
            K::DynamicUpdateSlice,
            vec![Of(table), Of(&[1, 3]), Of(&[2])],
            absent(),
            &[&[4, 3]],
        ),
        (
            K::DynamicUpdateSlice,
            vec![Of(table), Of(&[1, 3]), Of(&[3])],
            absent(),
            &[],
        ),
        (
            K::Multinomial,
            vec![Of(&[2, 5]), Scalar(7)],
            absent(),
            &[&[2, 7]],
        ),
        (
            K::RandomUniform,
            vec![Values(&[2, 3])],
            absent(),
            &[&[2, 3]],
        ),
        (
            K::NonMaxSuppressionV4,
            vec![Of(&[6, 4]), Of(&[6]), Scalar(3)],
            absent(),
            &[&[3], &[]],
        ),
        (
            K::NonMaxSuppressionV5,
            vec![Of(&[6, 4]), Of(&[6]), Scalar(3)],
            absent(),
            &[&[3], &[3], &[]],
        ),
        (
            K::NonMaxSuppressionV5,
            vec![Of(&[6, 4]), Of(&[5]), Scalar(3)],
            absent(),
            &[],
        ),
        (
            K::HashtableLookup,
            vec![Of(&[5]), Of(&[3]), Of(&[3, 7])],
            absent(),
            &[&[5, 7], &[5]],
        ),
        (
            K::HashtableLookup,
            vec![Of(&[5]), Of(&[4]), Of(&[3, 7])],
            absent(),
            &[],
        ),
        (K::Bitcast, vec![Of(table)], absent(), &[&[4, 3]]),
        (
            K::BidirectionalSequenceRnn,
            both(),
            merged(true),
            &[&[2, 3, 11]],
        ),
        (
            K::BidirectionalSequenceRnn,
            both(),
            merged(false),
            &[&[2, 3, 5], &[2, 3, 6]],
        ),
    ];
    for (kind, operands, options, expected) in cases {
        let n_results = expected.len().max(1);
        let actual = results(kind, &operands, options, n_results);
        let actual: Option<Vec<Vec<i32>>> = actual.into_iter().collect();
        let expected: Vec<Vec<i32>> = expected.iter().map(|shape| shape.to_vec()).collect();
        assert_eq!(actual.unwrap_or_default(), expected, "{kind:?}");
    }
}
