//! The shapes of each operator's results, from the shapes of its inputs.

use super::call::Unshaped::Unknown;
use super::call::{Known, OperatorCall, Shape, require};
use crate::formats::tflite::op_row::ShapeRule;
use crate::formats::tflite::{BuiltinOptions, LstmKernelType};

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
    use ShapeRule as R;
    let shape = match (call.operator.code.kind.row().shape, &call.operator.options) {
        (R::Split, O::Split { num_splits }) => {
            return call.split(*num_splits).map(Outputs::Alike);
        }
        (R::Own, _) => return call.own(),
        (R::SplitBySizes, _) => return call.split_by_sizes().map(Outputs::Each),
        (R::TopK, _) => return call.top_k().map(Outputs::Alike),
        (R::Unpack, O::Unpack { axis, .. }) => return call.unpacked(*axis).map(Outputs::Alike),
        (R::Broadcast, _) => call.broadcast(),
        (R::Select, _) => call.shape(1),
        (R::AlongLast, _) => call.shape(0),
        (R::LikeFirst, _) => call.like_first(),
        (R::AlongAxes, _) => call.along_axes(),
        (R::Update, _) => call.with_replaced_part(),
        (R::Reduce, _) => call.reduced(),
        (R::Best, _) => call.arg_extreme(),
        (R::Convolution, options) => call.convolution(options),
        (R::Depthwise, options) => call.depthwise(options),
        (R::Convolution3d, options) => call.convolution_3d(options),
        (R::TransposedConvolution, _) => with_rank(call.values(0)?, 4),
        (R::TransposedConvolution3d, _) => with_rank(call.values(0)?, 5),
        (R::Pool, options) => call.pooled(options),
        (R::Dense, O::FullyConnected { keep_num_dims, .. }) => call.dense(*keep_num_dims),
        (R::Dense, _) => call.dense(false),
        (R::Product, O::BatchMatMul { adj_x, adj_y }) => call.matrix_product([*adj_x, *adj_y]),
        (R::Svdf, O::Svdf { rank, .. }) => call.svdf(*rank),
        (R::Rnn, _) => call.rnn(),
        (
            R::Lstm,
            O::Lstm {
                kernel_type: LstmKernelType::Full,
                ..
            }
            | O::UnidirectionalSequenceLstm { .. },
        ) => call.lstm(),
        (R::Concatenate, O::Concatenation { axis, .. }) => call.concatenated(*axis),
        (R::Pack, O::Pack { axis, .. }) => call.packed(*axis),
        (R::Reshape, options) => call.reshaped(options),
        (R::Squeeze, O::Squeeze { squeeze_dims }) => call.squeezed(squeeze_dims),
        (R::ExpandDims, _) => call.expanded(),
        (R::Pad, _) => call.padded(),
        (R::Tile, _) => call.tiled(),
        (R::Slice, _) => call.sliced(),
        (R::StridedSlice, options) => call.strided(options),
        (R::Transpose, _) => call.transposed(),
        (R::Resize, _) => call.resized_image(),
        (R::DepthToSpace, O::DepthToSpace { block_size }) => {
            call.depth_to_space((*block_size).into())
        }
        (R::SpaceToDepth, O::SpaceToDepth { block_size }) => {
            call.space_to_depth((*block_size).into())
        }
        (R::BatchToSpace, _) => call.batch_to_space(),
        (R::SpaceToBatch, _) => call.space_to_batch(),
        (R::Gather, O::Gather { axis, batch_dims }) => call.gathered(*axis, *batch_dims),
        (R::GatherByTuples, _) => call.gathered_by_tuples(),
        (R::LookUp, _) => call.embedding_lookup(),
        (R::OneHot, O::OneHot { axis }) => call.one_hot(*axis),
        (R::BroadcastTo, _) => call.values(1),
        (R::Stated(place), _) => call.values(place.into()),
        (R::ShapeOf, _) => with_length(call.shape(0)?.len()),
        (R::RankOf, _) => call.dimensions(0).map(|_| Vec::new()),
        // Without the options that tell.
        (
            R::Concatenate
            | R::DepthToSpace
            | R::Gather
            | R::Lstm
            | R::OneHot
            | R::Pack
            | R::Product
            | R::SpaceToDepth
            | R::Split
            | R::Squeeze
            | R::Svdf
            | R::Unknown
            | R::Unpack,
            _,
        ) => Err(Unknown),
    };
    shape.map(|shape| Outputs::Each(vec![shape]))
}

fn with_rank(shape: Shape, rank: usize) -> Known<Shape> {
    require(
        shape.len() == rank,
        "the stated shape has another number of dimensions",
    )?;
    Ok(shape)
}

fn with_length(n_values: usize) -> Known<Shape> {
    Ok(vec![i64::try_from(n_values).map_err(|_| Unknown)?])
}
