//! The effect of each operator on the first dimension of its inputs.

use crate::formats::tflite::{
    Buffer, BuiltinOptions, OpKind, Operator, Subgraph, TensorType, dimension, integers,
};
use crate::graph::kinds::{BROADCASTING, REDUCING};

pub const JOINED: &str = "works across the first dimension";
const CONSTANT: &str = "meets the inputs with values whose first dimension does not grow";
pub const UNKNOWN: &str = "is not known to leave the first dimension alone";

/// One operator, with what is known about its inputs.
pub struct OperatorCall<'c, 'm> {
    pub subgraph: &'c Subgraph,
    pub buffers: &'c [Buffer<'m>],
    /// By tensor: whether its first dimension is the batch, or a multiple of it.
    pub batched: &'c [bool],
    pub batch: u32,
    pub operator: &'c Operator,
}

impl OperatorCall<'_, '_> {
    /// The tensors whose first dimension grows with the batch size, or why this is unknown.
    pub fn grown(&self) -> Result<Vec<usize>, &'static str> {
        let mut read = self.operator.inputs.iter().flatten();
        if !read.any(|&tensor_idx| self.batched[tensor_idx]) {
            return Ok(Vec::new());
        }
        self.check()?;
        let states = self.states().iter();
        let states = states.filter_map(|&position| self.input(position));
        Ok(states
            .chain(self.operator.outputs.iter().copied())
            .collect())
    }

    fn check(&self) -> Result<(), &'static str> {
        use BuiltinOptions as O;
        match (self.operator.code.kind, &self.operator.options) {
            (kind, _) if ONE_BY_ONE.contains(&kind) => self.only_first_is_batched(),
            (kind, _) if BROADCASTING.contains(&kind) => self.all_grow_alike(),
            (OpKind::Softmax | OpKind::LogSoftmax | OpKind::L2Normalization, _) => {
                self.keeps_first(2)
            }
            (OpKind::FullyConnected, _) => self.only_first_is_batched().and(self.result_of_rank(2)),
            (OpKind::TransposeConv, _) => {
                require(self.is_batched(2) && !self.is_batched(1), UNKNOWN)
            }
            (OpKind::BatchMatmul, _) => self.matrix_product(),
            (OpKind::Concatenation, O::Concatenation { axis, .. }) => self.join(*axis),
            (OpKind::Pack, O::Pack { axis, .. }) => self.join(*axis),
            (OpKind::Unpack, O::Unpack { axis, .. }) => self.off_axes(&[*axis]),
            (OpKind::Split, _) => self.off_axes_of(0, 1),
            (OpKind::SplitV, _) => self.off_axes_of(2, 0),
            (
                OpKind::ArgMax
                | OpKind::ArgMin
                | OpKind::Cumsum
                | OpKind::ExpandDims
                | OpKind::ReverseV2,
                _,
            ) => self.off_axes_of(1, 0),
            (kind, O::Reducer { .. }) if REDUCING.contains(&kind) => self.off_axes_of(1, 0),
            (OpKind::Transpose, _) => require(self.integers(1)?.first() == Some(&0), JOINED),
            // In row-major order a block of values for each input stays one.
            (OpKind::Reshape, _) => require(!self.is_batched(1), UNKNOWN),
            (OpKind::Squeeze, _) => self.keeps_first(1),
            (OpKind::Pad | OpKind::Padv2 | OpKind::MirrorPad, _) => {
                require(self.integers(1)?.get(..2) == Some(&[0, 0]), JOINED)
            }
            (OpKind::Tile, _) => require(self.integers(1)?.first() == Some(&1), JOINED),
            (OpKind::Slice, _) => self.slice(),
            (
                OpKind::StridedSlice,
                O::StridedSlice {
                    begin_mask,
                    end_mask,
                    ellipsis_mask,
                    new_axis_mask,
                    shrink_axis_mask,
                    ..
                },
            ) => {
                require(
                    *ellipsis_mask == 0 && (new_axis_mask | shrink_axis_mask) & 1 == 0,
                    JOINED,
                )?;
                self.strided_slice(begin_mask & 1 != 0, end_mask & 1 != 0)
            }
            (OpKind::Gather, O::Gather { axis, batch_dims }) => self.gather(*axis, *batch_dims),
            (OpKind::EmbeddingLookup, _) => self.only_first_is_batched(),
            (OpKind::Svdf, _) => self.only_first_is_batched(),
            (
                OpKind::UnidirectionalSequenceLstm,
                O::UnidirectionalSequenceLstm { time_major, .. },
            )
            | (OpKind::UnidirectionalSequenceRnn, O::SequenceRnn { time_major, .. }) => {
                require(!time_major, JOINED).and(self.only_first_is_batched())
            }
            _ => Err(UNKNOWN),
        }
    }

    /// Positions of inputs that keep values from one inference to the next, for each input of the batch.
    fn states(&self) -> &'static [usize] {
        match self.operator.code.kind {
            OpKind::Svdf => &[4],
            OpKind::UnidirectionalSequenceLstm => &[18, 19],
            OpKind::UnidirectionalSequenceRnn => &[4],
            _ => &[],
        }
    }

    fn input(&self, position: usize) -> Option<usize> {
        self.operator.inputs.get(position).copied().flatten()
    }

    fn is_batched(&self, position: usize) -> bool {
        self.input(position)
            .is_some_and(|tensor_idx| self.batched[tensor_idx])
    }

    fn shape(&self, position: usize) -> &[i32] {
        let tensor_idx = self.input(position);
        tensor_idx.map_or(&[], |tensor_idx| &self.subgraph.tensors[tensor_idx].shape)
    }

    /// Of one input of the batch.
    fn first(&self, position: usize) -> Option<i32> {
        let first = self.shape(position).first().copied()?;
        let batch = i32::try_from(self.batch).ok()?;
        Some(if self.is_batched(position) {
            first / batch
        } else {
            first
        })
    }

    /// Of one input of the batch.
    fn result(&self) -> &[i32] {
        let tensor_idx = self.operator.outputs.first();
        tensor_idx.map_or(&[], |&tensor_idx| &self.subgraph.tensors[tensor_idx].shape)
    }

    /// The values of a constant input.
    fn integers(&self, position: usize) -> Result<Vec<i32>, &'static str> {
        let tensor = &self.subgraph.tensors[self.input(position).ok_or(UNKNOWN)?];
        let contents = self.buffers.get(tensor.buffer_idx).map(Buffer::bytes);
        let values: Vec<i32> = integers(contents.unwrap_or_default()).collect();
        let is_known = tensor.tensor_type == TensorType::Int32 && !values.is_empty();
        require(is_known, UNKNOWN).map(|()| values)
    }

    fn only_first_is_batched(&self) -> Result<(), &'static str> {
        let mut others = 1..self.operator.inputs.len();
        require(
            self.is_batched(0) && !others.any(|position| self.is_batched(position)),
            UNKNOWN,
        )
    }

    fn result_of_rank(&self, at_least: usize) -> Result<(), &'static str> {
        require(self.result().len() >= at_least, JOINED)
    }

    /// Requires that the result keeps the first dimension of the first operand, and that the operator does not work
    /// along it.
    fn keeps_first(&self, at_least: usize) -> Result<(), &'static str> {
        let is_kept = self.first(0) == self.result().first().copied();
        require(is_kept, JOINED).and(self.result_of_rank(at_least))
    }

    /// Requires that operands that grow have the rank of the result, and that the others are repeated along the first
    /// dimension.
    fn all_grow_alike(&self) -> Result<(), &'static str> {
        let rank = self.result().len();
        let fits = |position: usize| {
            let (shape, first) = (self.shape(position), self.first(position));
            if self.is_batched(position) {
                shape.len() == rank && first == self.result().first().copied()
            } else {
                shape.len() < rank || first == Some(1)
            }
        };
        require((0..self.operator.inputs.len()).all(fits), CONSTANT)
    }

    /// Requires a product of stacks of matrices, pair by pair or all with the same matrix.
    fn matrix_product(&self) -> Result<(), &'static str> {
        let stacked =
            |position: usize| !self.is_batched(position) || self.shape(position).len() > 2;
        require(stacked(0) && stacked(1), JOINED).and(self.all_grow_alike())
    }

    fn join(&self, axis: i32) -> Result<(), &'static str> {
        let mut positions = 0..self.operator.inputs.len();
        require(
            positions.all(|position| self.is_batched(position)),
            CONSTANT,
        )?;
        require(is_later(axis, self.result().len()), JOINED)
    }

    /// Requires that the constant at `axes` does not contain the first axis of the operand.
    fn off_axes_of(&self, axes: usize, operand: usize) -> Result<(), &'static str> {
        let others = (0..self.operator.inputs.len()).filter(|&position| position != operand);
        require(
            !others.into_iter().any(|position| self.is_batched(position)),
            UNKNOWN,
        )?;
        let axes = self.integers(axes)?;
        let rank = self.shape(operand).len();
        // A negative axis of EXPAND_DIMS counts in the result, which has one more.
        let rank = rank.max(self.result().len());
        require(axes.iter().all(|&axis| is_later(axis, rank)), JOINED)
    }

    fn off_axes(&self, axes: &[i32]) -> Result<(), &'static str> {
        let rank = self.shape(0).len();
        require(axes.iter().all(|&axis| is_later(axis, rank)), JOINED)
    }

    fn slice(&self) -> Result<(), &'static str> {
        let (begin, size) = (self.integers(1)?, self.integers(2)?);
        let is_whole = size.first() == Some(&-1) || size.first().copied() == self.first(0);
        require(begin.first() == Some(&0) && is_whole, JOINED)
    }

    fn strided_slice(&self, from_start: bool, to_end: bool) -> Result<(), &'static str> {
        let (begin, end, strides) = (self.integers(1)?, self.integers(2)?, self.integers(3)?);
        let first_of = |values: &[i32]| values.first().copied();
        let starts = from_start || first_of(&begin) == Some(0);
        let ends = to_end || first_of(&end) >= self.first(0);
        require(starts && ends && first_of(&strides) == Some(1), JOINED)
    }

    /// Rows of a table for each input's indices, or a part of each input.
    fn gather(&self, axis: i32, batch_dims: i32) -> Result<(), &'static str> {
        require(batch_dims == 0, UNKNOWN)?;
        let axis = dimension(axis, self.shape(0).len());
        match (self.is_batched(0), self.is_batched(1)) {
            (false, true) => require(axis == Some(0), JOINED),
            (true, false) => require(axis > Some(0), JOINED),
            _ => Err(UNKNOWN),
        }
    }
}

pub fn require(holds: bool, problem: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(problem) }
}

/// Whether an axis is another one than the first.
fn is_later(axis: i32, rank: usize) -> bool {
    dimension(axis, rank).is_some_and(|dimension| dimension > 0)
}

/// Operators that process each input of the batch separately; their other operands are constants.
const ONE_BY_ONE: &[OpKind] = &[
    OpKind::AveragePool2d,
    OpKind::BatchToSpaceNd,
    OpKind::Conv2d,
    OpKind::Conv3d,
    OpKind::DepthwiseConv2d,
    OpKind::DepthToSpace,
    OpKind::L2Pool2d,
    OpKind::LocalResponseNormalization,
    OpKind::MaxPool2d,
    OpKind::ResizeBilinear,
    OpKind::ResizeNearestNeighbor,
    OpKind::SpaceToBatchNd,
    OpKind::SpaceToDepth,
];
