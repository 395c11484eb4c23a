//! Operators that move values without changing them.

use super::reader::{ParsedOptions, Reader};
use crate::formats::tflite::options::BuiltinOptions;
use crate::formats::tflite::schema::BuiltinOptions as Kind;

/// Operators that join, cut or rename dimensions.
pub(super) fn layouts(reader: &mut Reader, kind: Kind) -> ParsedOptions {
    let operator = reader.operator;
    Ok(match kind {
        Kind::ConcatenationOptions => {
            operator
                .builtin_options_as_concatenation_options()
                .map(|o| BuiltinOptions::Concatenation {
                    axis: o.axis(),
                    activation: reader.activation(o.fused_activation_function()),
                })
        }
        Kind::SplitOptions => {
            operator
                .builtin_options_as_split_options()
                .map(|o| BuiltinOptions::Split {
                    num_splits: o.num_splits(),
                })
        }
        Kind::SplitVOptions => {
            operator
                .builtin_options_as_split_voptions()
                .map(|o| BuiltinOptions::SplitV {
                    num_splits: o.num_splits(),
                })
        }
        Kind::PackOptions => {
            operator
                .builtin_options_as_pack_options()
                .map(|o| BuiltinOptions::Pack {
                    values_count: o.values_count(),
                    axis: o.axis(),
                })
        }
        Kind::UnpackOptions => {
            operator
                .builtin_options_as_unpack_options()
                .map(|o| BuiltinOptions::Unpack {
                    num: o.num(),
                    axis: o.axis(),
                })
        }
        Kind::ReshapeOptions => {
            let o = operator.builtin_options_as_reshape_options();
            let new_shape = reader.context.copy(o.and_then(|o| o.new_shape()))?;
            Some(BuiltinOptions::Reshape { new_shape })
        }
        Kind::SqueezeOptions => {
            let o = operator.builtin_options_as_squeeze_options();
            let squeeze_dims = reader.context.copy(o.and_then(|o| o.squeeze_dims()))?;
            Some(BuiltinOptions::Squeeze { squeeze_dims })
        }
        _ => None,
    })
}

/// Operators that pick values by position.
pub(super) fn picks(reader: &mut Reader, kind: Kind) -> ParsedOptions {
    let operator = reader.operator;
    Ok(match kind {
        Kind::GatherOptions => {
            operator
                .builtin_options_as_gather_options()
                .map(|o| BuiltinOptions::Gather {
                    axis: o.axis(),
                    batch_dims: o.batch_dims(),
                })
        }
        Kind::OneHotOptions => operator
            .builtin_options_as_one_hot_options()
            .map(|o| BuiltinOptions::OneHot { axis: o.axis() }),
        Kind::ReverseSequenceOptions => {
            operator
                .builtin_options_as_reverse_sequence_options()
                .map(|o| BuiltinOptions::ReverseSequence {
                    seq_dim: o.seq_dim(),
                    batch_dim: o.batch_dim(),
                })
        }
        Kind::StridedSliceOptions => operator
            .builtin_options_as_strided_slice_options()
            .map(|o| BuiltinOptions::StridedSlice {
                begin_mask: o.begin_mask(),
                end_mask: o.end_mask(),
                ellipsis_mask: o.ellipsis_mask(),
                new_axis_mask: o.new_axis_mask(),
                shrink_axis_mask: o.shrink_axis_mask(),
                offset: o.offset(),
            }),
        Kind::MirrorPadOptions => match operator.builtin_options_as_mirror_pad_options() {
            Some(o) => Some(BuiltinOptions::MirrorPad {
                mode: reader.mirror_pad_mode(o.mode())?,
            }),
            None => None,
        },
        _ => None,
    })
}

/// Operators that move pixels.
pub(super) fn images(reader: &mut Reader, kind: Kind) -> ParsedOptions {
    let operator = reader.operator;
    let block_size = |stored| reader.positive("block_size", stored);
    Ok(match kind {
        Kind::SpaceToDepthOptions => match operator.builtin_options_as_space_to_depth_options() {
            Some(o) => Some(BuiltinOptions::SpaceToDepth {
                block_size: block_size(o.block_size())?,
            }),
            None => None,
        },
        Kind::DepthToSpaceOptions => match operator.builtin_options_as_depth_to_space_options() {
            Some(o) => Some(BuiltinOptions::DepthToSpace {
                block_size: block_size(o.block_size())?,
            }),
            None => None,
        },
        Kind::ResizeBilinearOptions => {
            operator
                .builtin_options_as_resize_bilinear_options()
                .map(|o| BuiltinOptions::ResizeBilinear {
                    align_corners: o.align_corners(),
                    half_pixel_centers: o.half_pixel_centers(),
                })
        }
        Kind::ResizeNearestNeighborOptions => operator
            .builtin_options_as_resize_nearest_neighbor_options()
            .map(|o| BuiltinOptions::ResizeNearestNeighbor {
                align_corners: o.align_corners(),
                half_pixel_centers: o.half_pixel_centers(),
            }),
        _ => None,
    })
}
