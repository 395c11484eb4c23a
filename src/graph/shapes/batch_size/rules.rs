//! The effect of each operator on the first dimension of its inputs.

use crate::formats::tflite::op_row::ShapeRule;
use crate::formats::tflite::{BuiltinOptions, dimension};
use crate::graph::shapes::inference::call::{self, OperatorCall};
use crate::graph::shapes::inference::{rules, values};

pub const JOINED: &str = "works across the first dimension";
const CONSTANT: &str = "meets the inputs with values whose first dimension does not grow";
pub const UNKNOWN: &str = "is not known to leave the first dimension alone";

/// One operator, with what is known about its inputs.
pub struct BatchedCall<'c, 'm> {
    pub call: OperatorCall<'c, 'm>,
    /// By tensor: whether its first dimension is the batch, or a multiple of it.
    pub batched: &'c [bool],
    /// By tensor: whether its values follow from sizes of tensors that grow.
    pub is_sized: &'c [bool],
    pub batch: u32,
}

/// What becomes of an operator's results.
#[derive(Default)]
pub struct Effect {
    /// The tensors whose first dimension grows with the batch size.
    pub enlarged: Vec<usize>,
    /// Whether the results' values follow from sizes, and by result the values.
    pub is_sized: bool,
    pub values: Vec<Vec<i64>>,
}

impl BatchedCall<'_, '_> {
    /// What becomes of the results, or why this is unknown.
    pub fn effect(&self) -> Result<Effect, &'static str> {
        let operator = self.call.operator;
        let reads = |are: &[bool]| operator.inputs.iter().flatten().any(|&idx| are[idx]);
        let (reads_batched, reads_sizes) = (reads(self.batched), reads(self.is_sized));
        if !reads_batched && !reads_sizes {
            return Ok(Effect::default());
        }
        if operator.code.kind.row().shape == ShapeRule::ShapeOf || !reads_batched {
            let values = values::computed(&self.call);
            if let Some(values) = values.filter(|values| self.fill_results(values)) {
                return Ok(Effect {
                    is_sized: true,
                    values,
                    ..Effect::default()
                });
            }
            return self.effect_of_sizes();
        }
        self.check()?;
        if reads_sizes {
            let grown = self.results()?.iter().all(|&(_, grows)| grows);
            require(grown, UNKNOWN)?;
        }
        // What is kept from one inference to the next is kept for each input of the batch.
        let states = operator.code.kind.row().inputs_of(b's');
        let states = states.filter_map(|position| self.input(position));
        Ok(Effect {
            enlarged: states.chain(operator.outputs.iter().copied()).collect(),
            ..Effect::default()
        })
    }

    /// Whether each result has so many values.
    fn fill_results(&self, values: &[Vec<i64>]) -> bool {
        let results = self.call.operator.outputs.iter().zip(values);
        let mut counts = results.map(|(&idx, values)| {
            self.call.tensors[idx].element_count() == u64::try_from(values.len()).ok()
        });
        counts.all(|fits| fits)
    }

    /// Of an operator that reads sizes alone: each result is as large as it was, or grows.
    fn effect_of_sizes(&self) -> Result<Effect, &'static str> {
        let grown = self.results()?.into_iter().filter(|(_, grows)| *grows);
        Ok(Effect {
            enlarged: grown.map(|(tensor_idx, _)| tensor_idx).collect(),
            is_sized: true,
            ..Effect::default()
        })
    }

    /// The results, each with whether its first dimension grows, as its rule says from the sizes that are there.
    fn results(&self) -> Result<Vec<(usize, bool)>, &'static str> {
        let shapes = rules::outputs(&self.call).map_err(|_| UNKNOWN)?;
        let outputs = &self.call.operator.outputs;
        let results = outputs.iter().zip(shapes.each());
        let results = results.map(|(&tensor_idx, found)| {
            let stored = self.call.tensors[tensor_idx]
                .shape
                .iter()
                .copied()
                .map(i64::from);
            let batch = [i64::from(self.batch)]
                .into_iter()
                .chain(std::iter::repeat(1));
            let grows = found
                .iter()
                .copied()
                .eq(stored.clone().zip(batch).map(|(size, n)| size * n));
            require(grows || found.iter().copied().eq(stored), UNKNOWN)?;
            Ok((tensor_idx, grows))
        });
        let results: Vec<_> = results.collect::<Result<_, &'static str>>()?;
        require(results.len() == outputs.len(), UNKNOWN)?;
        Ok(results)
    }

    fn check(&self) -> Result<(), &'static str> {
        use BuiltinOptions as O;
        use ShapeRule as R;
        match (
            self.call.operator.code.kind.row().shape,
            &self.call.operator.options,
        ) {
            // Each input of the batch is processed separately; other operands are constants.
            (
                R::BatchToSpace
                | R::Convolution
                | R::Convolution3d
                | R::DepthToSpace
                | R::Depthwise
                | R::LookUp
                | R::Pool
                | R::Resize
                | R::SpaceToBatch
                | R::SpaceToDepth
                | R::Svdf,
                _,
            ) => self.require_only_first_batched(),
            (R::Broadcast | R::Select, _) => self.require_all_grow_alike(),
            (R::AlongLast, _) => self.require_first_dimension_kept(2),
            (R::Dense, _) => self
                .require_only_first_batched()
                .and(self.require_output_rank(2)),
            (R::TransposedConvolution | R::TransposedConvolution3d, _) => {
                require(self.is_batched(2) && !self.is_batched(1), UNKNOWN)
            }
            (R::Product, _) => self.check_matrix_product(),
            (R::Concatenate, O::Concatenation { axis, .. }) => self.require_join_off_batch(*axis),
            (R::Pack, O::Pack { axis, .. }) => self.require_join_off_batch(*axis),
            (R::Unpack, O::Unpack { axis, .. }) => self.require_off_batch(&[i64::from(*axis)]),
            (R::Split, _) => self.require_constant_off_batch(0, 1),
            (R::SplitBySizes, _) => self.require_constant_off_batch(2, 0),
            (R::AlongAxes | R::Best | R::ExpandDims, _) => self.require_constant_off_batch(1, 0),
            (R::Reduce, O::Reducer { .. }) => self.require_constant_off_batch(1, 0),
            (R::Transpose, _) => require(self.integers(1)?.first() == Some(&0), JOINED),
            // In row-major order a block of values for each input stays one.
            (R::Reshape, _) => require(!self.is_batched(1), UNKNOWN),
            (R::Squeeze, _) => self.require_first_dimension_kept(1),
            (R::Pad, _) => require(self.integers(1)?.get(..2) == Some(&[0, 0]), JOINED),
            (R::Tile, _) => require(self.integers(1)?.first() == Some(&1), JOINED),
            (R::BroadcastTo, _) => {
                let is_alike = self.shape(0).len() == self.output_shape().len();
                require(is_alike && !self.is_batched(1), UNKNOWN)?;
                self.require_first_dimension_kept(1)
            }
            (R::Slice, _) => self.slice(),
            (
                R::StridedSlice,
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
                self.check_strided_slice(begin_mask & 1 != 0, end_mask & 1 != 0)
            }
            (R::Gather, O::Gather { axis, batch_dims }) => self.check_gather(*axis, *batch_dims),
            (R::Lstm, O::UnidirectionalSequenceLstm { time_major, .. })
            | (R::Rnn, O::SequenceRnn { time_major, .. }) => {
                require(!time_major, JOINED).and(self.require_only_first_batched())
            }
            (
                R::Concatenate
                | R::Gather
                | R::GatherByTuples
                | R::LikeFirst
                | R::Lstm
                | R::OneHot
                | R::Own
                | R::Pack
                | R::RankOf
                | R::Reduce
                | R::Rnn
                | R::ShapeOf
                | R::Stated(_)
                | R::StridedSlice
                | R::TopK
                | R::Unknown
                | R::Unpack
                | R::Update,
                _,
            ) => Err(UNKNOWN),
        }
    }

    fn input(&self, position: usize) -> Option<usize> {
        self.call.operator.inputs.get(position).copied().flatten()
    }

    fn n_inputs(&self) -> usize {
        self.call.operator.inputs.len()
    }

    fn is_batched(&self, position: usize) -> bool {
        self.input(position)
            .is_some_and(|tensor_idx| self.batched[tensor_idx])
    }

    fn shape(&self, position: usize) -> &[i32] {
        self.call.dimensions(position).unwrap_or_default()
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
    fn output_shape(&self) -> &[i32] {
        let tensor_idx = self.call.operator.outputs.first();
        tensor_idx.map_or(&[], |&tensor_idx| &self.call.tensors[tensor_idx].shape)
    }

    /// The values of a constant input.
    fn integers(&self, position: usize) -> Result<Vec<i64>, &'static str> {
        self.call.values(position).map_err(|_| UNKNOWN)
    }

    fn require_only_first_batched(&self) -> Result<(), &'static str> {
        let mut others = 1..self.n_inputs();
        require(
            self.is_batched(0) && !others.any(|position| self.is_batched(position)),
            UNKNOWN,
        )
    }

    fn require_output_rank(&self, at_least: usize) -> Result<(), &'static str> {
        require(self.output_shape().len() >= at_least, JOINED)
    }

    /// Requires that the result keeps the first dimension of the first operand, and that the operator does not work
    /// along it.
    fn require_first_dimension_kept(&self, at_least: usize) -> Result<(), &'static str> {
        let is_kept = self.first(0) == self.output_shape().first().copied();
        require(is_kept, JOINED).and(self.require_output_rank(at_least))
    }

    /// Requires that operands that grow have the rank of the result, and that the others are repeated along the first
    /// dimension.
    fn require_all_grow_alike(&self) -> Result<(), &'static str> {
        let rank = self.output_shape().len();
        let fits = |position: usize| {
            let (shape, first) = (self.shape(position), self.first(position));
            if self.is_batched(position) {
                shape.len() == rank && first == self.output_shape().first().copied()
            } else {
                shape.len() < rank || first == Some(1)
            }
        };
        require((0..self.n_inputs()).all(fits), CONSTANT)
    }

    /// Requires a product of stacks of matrices, pair by pair or all with the same matrix.
    fn check_matrix_product(&self) -> Result<(), &'static str> {
        let stacked =
            |position: usize| !self.is_batched(position) || self.shape(position).len() > 2;
        require(stacked(0) && stacked(1), JOINED).and(self.require_all_grow_alike())
    }

    fn require_join_off_batch(&self, axis: i32) -> Result<(), &'static str> {
        let mut positions = 0..self.n_inputs();
        require(
            positions.all(|position| self.is_batched(position)),
            CONSTANT,
        )?;
        require(
            is_not_first_axis(axis.into(), self.output_shape().len()),
            JOINED,
        )
    }

    /// Requires that the constant at `axes` does not contain the first axis of the operand.
    fn require_constant_off_batch(&self, axes: usize, operand: usize) -> Result<(), &'static str> {
        let others = (0..self.n_inputs()).filter(|&position| position != operand);
        require(
            !others.into_iter().any(|position| self.is_batched(position)),
            UNKNOWN,
        )?;
        let axes = self.integers(axes)?;
        let rank = self.shape(operand).len();
        // A negative axis of EXPAND_DIMS counts in the result, which has one more.
        let rank = rank.max(self.output_shape().len());
        require(
            axes.iter().all(|&axis| is_not_first_axis(axis, rank)),
            JOINED,
        )
    }

    fn require_off_batch(&self, axes: &[i64]) -> Result<(), &'static str> {
        let rank = self.shape(0).len();
        require(
            axes.iter().all(|&axis| is_not_first_axis(axis, rank)),
            JOINED,
        )
    }

    fn slice(&self) -> Result<(), &'static str> {
        let (begin, size) = (self.integers(1)?, self.integers(2)?);
        let size = size.first().copied();
        let whole = [self.first(0), self.shape(0).first().copied()];
        let is_whole = size == Some(-1) || whole.map(|first| first.map(i64::from)).contains(&size);
        require(begin.first() == Some(&0) && is_whole, JOINED)
    }

    fn check_strided_slice(&self, from_start: bool, to_end: bool) -> Result<(), &'static str> {
        let (begin, end, strides) = (self.integers(1)?, self.integers(2)?, self.integers(3)?);
        let first_of = |values: &[i64]| values.first().copied();
        let starts = from_start || first_of(&begin) == Some(0);
        let ends = to_end || first_of(&end) >= self.first(0).map(i64::from);
        require(starts && ends && first_of(&strides) == Some(1), JOINED)
    }

    /// Rows of a table for each input's indices, or a part of each input.
    fn check_gather(&self, axis: i32, batch_dims: i32) -> Result<(), &'static str> {
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
fn is_not_first_axis(axis: i64, rank: usize) -> bool {
    call::axis(axis, rank).is_ok_and(|dimension| dimension > 0)
}
