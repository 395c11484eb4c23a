//! The shapes of each operator's results, from the shapes of its inputs.

use super::call::Unshaped::Unknown;
use super::call::{Known, OperatorCall, Shape, require};
use crate::formats::tflite::{BuiltinOptions, LstmKernelType, OpKind};
use crate::graph::kinds::{BROADCASTING, REDUCING, SHAPE_KEEPING};

/// Shapes of an operator's results.
pub enum Outputs {
    /// All have the same.
    Alike(Shape),
    /// By position; later results have an unknown one.
    Each(Vec<Shape>),
}

impl Outputs {
    /// By position, as far as they are known.
    pub fn each(&self) -> impl Iterator<Item = &[i64]> {
        let (alike, each) = match self {
            Self::Alike(shape) => (Some(shape), [].as_slice()),
            Self::Each(shapes) => (None, shapes.as_slice()),
        };
        let alike = alike.into_iter().flat_map(std::iter::repeat);
        alike.chain(each).map(Vec::as_slice)
    }
}

pub fn outputs(call: &OperatorCall) -> Known<Outputs> {
    use BuiltinOptions as O;
    match (call.operator.code.kind, &call.operator.options) {
        (OpKind::Split, O::Split { num_splits }) => call.split(*num_splits).map(Outputs::Alike),
        (OpKind::SplitV, _) => call.split_by_sizes().map(Outputs::Each),
        (OpKind::TopkV2, _) => call.top_k().map(Outputs::Alike),
        (OpKind::Unpack, O::Unpack { axis, .. }) => call.unpacked(*axis).map(Outputs::Alike),
        _ => only(call).map(|shape| Outputs::Each(vec![shape])),
    }
}

/// The shape of the first result.
fn only(call: &OperatorCall) -> Known<Shape> {
    match call.operator.code.kind {
        OpKind::Select => call.shape(1),
        kind if BROADCASTING.contains(&kind) => call.broadcast(),
        kind if SHAPE_KEEPING.contains(&kind) => call.shape(0),
        kind if LIKE_FIRST_INPUT.contains(&kind) => call.shape(0),
        kind if REDUCING.contains(&kind) => call.reduced(),
        OpKind::DynamicUpdateSlice => call.updated(),
        _ => match layer_shape(call) {
            Err(Unknown) => layout_shape(call),
            of_layer => of_layer,
        },
    }
}

/// Operators whose results have the shape of the first input, whatever the other inputs are.
const LIKE_FIRST_INPUT: &[OpKind] = &[OpKind::Densify, OpKind::ReverseSequence, OpKind::ReverseV2];

fn layer_shape(call: &OperatorCall) -> Known<Shape> {
    use BuiltinOptions as O;
    match (call.operator.code.kind, &call.operator.options) {
        (OpKind::Conv2d, options) => call.convolution(options),
        (OpKind::DepthwiseConv2d, options) => call.depthwise(options),
        (OpKind::Conv3d, options) => call.convolution_3d(options),
        (OpKind::TransposeConv, _) => with_rank(call.values(0)?, 4),
        (OpKind::Conv3dTranspose, _) => with_rank(call.values(0)?, 5),
        (OpKind::AveragePool2d | OpKind::MaxPool2d | OpKind::L2Pool2d, options) => {
            call.pooled(options)
        }
        (OpKind::FullyConnected, O::FullyConnected { keep_num_dims, .. }) => {
            call.dense(*keep_num_dims)
        }
        (OpKind::FullyConnected, _) => call.dense(false),
        (OpKind::BatchMatmul, O::BatchMatMul { adj_x, adj_y }) => call.product([*adj_x, *adj_y]),
        (OpKind::Svdf, O::Svdf { rank, .. }) => call.svdf(*rank),
        (OpKind::Rnn | OpKind::UnidirectionalSequenceRnn, _) => call.rnn(),
        (
            OpKind::Lstm,
            O::Lstm {
                kernel_type: LstmKernelType::Full,
                ..
            },
        )
        | (OpKind::UnidirectionalSequenceLstm, _) => call.lstm(),
        _ => Err(Unknown),
    }
}

fn with_rank(shape: Shape, rank: usize) -> Known<Shape> {
    require(
        shape.len() == rank,
        "the stated shape has another number of dimensions",
    )?;
    Ok(shape)
}

fn vector_shape(n_values: usize) -> Known<Shape> {
    Ok(vec![i64::try_from(n_values).map_err(|_| Unknown)?])
}

fn layout_shape(call: &OperatorCall) -> Known<Shape> {
    use BuiltinOptions as O;
    match (call.operator.code.kind, &call.operator.options) {
        (OpKind::Concatenation, O::Concatenation { axis, .. }) => call.joined(*axis),
        (OpKind::Pack, O::Pack { axis, .. }) => call.packed(*axis),
        (OpKind::Reshape, options) => call.reshaped(options),
        (OpKind::Squeeze, O::Squeeze { squeeze_dims }) => call.squeezed(squeeze_dims),
        (OpKind::ExpandDims, _) => call.expanded(),
        (OpKind::Pad | OpKind::Padv2 | OpKind::MirrorPad, _) => call.padded(),
        (OpKind::Slice, _) => call.sliced(),
        (OpKind::StridedSlice, options) => call.strided(options),
        (OpKind::Transpose, _) => call.turned(),
        (OpKind::ArgMax | OpKind::ArgMin, _) => call.best(),
        (OpKind::ResizeBilinear | OpKind::ResizeNearestNeighbor, _) => call.interpolated(),
        (OpKind::DepthToSpace, O::DepthToSpace { block_size }) => {
            call.depth_to_space((*block_size).into())
        }
        (OpKind::SpaceToDepth, O::SpaceToDepth { block_size }) => {
            call.space_to_depth((*block_size).into())
        }
        (OpKind::BatchToSpaceNd, _) => call.batch_to_space(),
        (OpKind::SpaceToBatchNd, _) => call.space_to_batch(),
        (OpKind::Gather, O::Gather { axis, batch_dims }) => call.gathered(*axis, *batch_dims),
        (OpKind::GatherNd, _) => call.gathered_by_tuples(),
        (OpKind::EmbeddingLookup, _) => call.looked_up(),
        (OpKind::OneHot, O::OneHot { axis }) => call.one_hot(*axis),
        (OpKind::Tile, _) => call.tiled(),
        (OpKind::BroadcastTo | OpKind::SparseToDense, _) => call.values(1),
        (OpKind::Fill, _) => call.values(0),
        (OpKind::ScatterNd, _) => call.values(2),
        (OpKind::Shape, _) => vector_shape(call.shape(0)?.len()),
        (OpKind::Rank, _) => call.tensor(0).map(|_| Vec::new()),
        _ => Err(Unknown),
    }
}
