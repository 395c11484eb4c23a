//! [`Model`] for one input at a time → the same model for several: what converting it with another
//! batch size would give.
//!
//! The batch is the first dimension of the main subgraph's inputs and of all that is computed from
//! them. LiteRT's `ResizeInputTensor` propagates it in the same way, but fails where a constant holds
//! a shape (`RESHAPE` to `[1, 1000]`, for example), which a converter would write anew.

use std::num::NonZeroU32;

use crate::graph::{Graph, Node};
use crate::tflite::{BuiltinOptions, Model, Operator, Subgraph, Tensor, TensorType};

/// Inputs at a time. None that is measured has more, and a thousand times as many values as a shape in
/// the file have 64 bits left for products.
pub const MAX_BATCH: u32 = 1024;

/// Why a model cannot be taken for several inputs at a time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BatchError {
    #[error("expected a batch of at most {MAX_BATCH}, found {batch}")]
    TooLarge { batch: u32 },
    #[error(
        "no batch of {batch}: input `{name}` has shape {shape:?}, expected a first dimension of 1"
    )]
    Input {
        batch: u32,
        name: String,
        shape: Vec<i32>,
    },
    #[error("no batch of {batch}: operator {operator_idx} ({operator}) {problem}")]
    Operator {
        batch: u32,
        operator_idx: usize,
        operator: String,
        problem: &'static str,
    },
}

/// Changes the shapes of the main subgraph. A batch of 1 is the model as it is, whatever its inputs.
/// Linear in operators.
///
/// # Errors
/// Where the inputs have another first dimension than 1, and where an operator joins, cuts or moves that
/// dimension, or is not known to leave it alone. `model` then holds shapes of both sizes.
pub fn set_batch(model: &mut Model, batch: NonZeroU32) -> Result<(), BatchError> {
    let n = batch.get();
    if n > MAX_BATCH {
        return Err(BatchError::TooLarge { batch: n });
    }
    if n == 1 {
        return Ok(());
    }
    let Model {
        subgraphs, buffers, ..
    } = model;
    let subgraph = &mut subgraphs[MAIN_SUBGRAPH];
    let mut batched = vec![false; subgraph.tensors.len()];
    for &input in &subgraph.inputs {
        let tensor = &mut subgraph.tensors[input];
        if tensor.shape.first() != Some(&1) || !enlarge(tensor, n) {
            return Err(BatchError::Input {
                batch: n,
                name: tensor.name.clone(),
                shape: tensor.shape.clone(),
            });
        }
        batched[input] = true;
    }
    for operator_idx in 0..subgraph.operators.len() {
        let call = Call {
            subgraph,
            buffers,
            batched: &batched,
            batch: n,
            operator: &subgraph.operators[operator_idx],
        };
        let grown = call.grown();
        let grown = grown.and_then(|tensors| {
            let fits = tensors.into_iter().all(|tensor_idx| {
                let is_grown = std::mem::replace(&mut batched[tensor_idx], true);
                is_grown || enlarge(&mut subgraph.tensors[tensor_idx], n)
            });
            require(fits, "has a result whose first dimension cannot grow")
        });
        grown.map_err(|problem| BatchError::Operator {
            batch: n,
            operator_idx,
            operator: subgraph.operators[operator_idx].code.name().to_owned(),
            problem,
        })?;
    }
    Ok(())
}

/// Why accelerators that run convolutions for one input at a time cannot run a graph, in words: their
/// compilers repeat such an operator for each input and lay out memory for all of them, or refuse it, and
/// no estimate here knows of that. `None` where it takes one.
pub fn refusal_of_several(graph: &Graph) -> Option<String> {
    let of_node = |node: &Node| {
        let takes_one = TAKING_ONE.contains(&node.operator.code.name());
        let output = node.operator.outputs.first().filter(|_| takes_one)?;
        graph.tensor(*output).shape.first().copied()
    };
    let most = graph.nodes.iter().filter_map(of_node).max()?;
    (most > 1).then(|| format!("takes one input at a time, found {most}"))
}

const TAKING_ONE: &[&str] = &[
    "AVERAGE_POOL_2D",
    "CONV_2D",
    "DEPTHWISE_CONV_2D",
    "MAX_POOL_2D",
    "TRANSPOSE_CONV",
    "UNIDIRECTIONAL_SEQUENCE_LSTM",
];

const MAIN_SUBGRAPH: usize = 0;

/// Whether the shape, and with it all sizes that follow, has room for it.
fn enlarge(tensor: &mut Tensor, n: u32) -> bool {
    let first = tensor.shape.first_mut();
    let grown = first.and_then(|first| Some((i32::try_from(n).ok()?.checked_mul(*first)?, first)));
    let Some((grown, first)) = grown else {
        return false;
    };
    *first = grown;
    // As the reader promises of every tensor.
    tensor.element_count().is_some() && tensor.byte_len().is_some()
        || tensor.tensor_type.bits_per_value().is_none()
}

const JOINED: &str = "works across the first dimension";
const CONSTANT: &str = "meets the inputs with values whose first dimension does not grow";
const UNKNOWN: &str = "is not known to leave the first dimension alone";

/// One operator, with what is known of its inputs.
struct Call<'c, 'm> {
    subgraph: &'c Subgraph,
    buffers: &'c [&'m [u8]],
    /// By tensor: whether its first dimension is the batch, or a multiple of it.
    batched: &'c [bool],
    batch: u32,
    operator: &'c Operator,
}

impl Call<'_, '_> {
    /// The tensors whose first dimension grows with the batch, or why there is no saying.
    fn grown(&self) -> Result<Vec<usize>, &'static str> {
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
        match (self.operator.code.name(), &self.operator.options) {
            (name, _) if ONE_BY_ONE.contains(&name) => self.only_first_is_batched(),
            (name, _) if BROADCASTING.contains(&name) => self.all_grow_alike(),
            ("SOFTMAX" | "LOG_SOFTMAX" | "L2_NORMALIZATION", _) => self.keeps_first(2),
            ("FULLY_CONNECTED", _) => self.only_first_is_batched().and(self.result_of_rank(2)),
            ("TRANSPOSE_CONV", _) => require(self.is_batched(2) && !self.is_batched(1), UNKNOWN),
            ("BATCH_MATMUL", _) => self.matrix_product(),
            ("CONCATENATION", O::Concatenation { axis, .. }) => self.join(*axis),
            ("PACK", O::Pack { axis, .. }) => self.join(*axis),
            ("UNPACK", O::Unpack { axis, .. }) => self.off_axes(&[*axis]),
            ("SPLIT", _) => self.off_axes_of(0, 1),
            ("SPLIT_V", _) => self.off_axes_of(2, 0),
            ("ARG_MAX" | "ARG_MIN" | "CUMSUM" | "EXPAND_DIMS" | "REVERSE_V2", _) => {
                self.off_axes_of(1, 0)
            }
            (name, O::Reducer { .. }) if REDUCING.contains(&name) => self.off_axes_of(1, 0),
            ("TRANSPOSE", _) => require(self.integers(1)?.first() == Some(&0), JOINED),
            // In row-major order a block of values for each input stays one.
            ("RESHAPE", _) => require(!self.is_batched(1), UNKNOWN),
            ("SQUEEZE", _) => self.keeps_first(1),
            ("PAD" | "PADV2" | "MIRROR_PAD", _) => {
                require(self.integers(1)?.get(..2) == Some(&[0, 0]), JOINED)
            }
            ("TILE", _) => require(self.integers(1)?.first() == Some(&1), JOINED),
            ("SLICE", _) => self.slice(),
            (
                "STRIDED_SLICE",
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
            ("GATHER", O::Gather { axis, batch_dims }) => self.gather(*axis, *batch_dims),
            ("EMBEDDING_LOOKUP", _) => self.only_first_is_batched(),
            ("SVDF", _) => self.only_first_is_batched(),
            ("UNIDIRECTIONAL_SEQUENCE_LSTM", O::UnidirectionalSequenceLstm { time_major, .. })
            | ("UNIDIRECTIONAL_SEQUENCE_RNN", O::SequenceRnn { time_major, .. }) => {
                require(!time_major, JOINED).and(self.only_first_is_batched())
            }
            _ => Err(UNKNOWN),
        }
    }

    /// Positions of inputs that keep values from one inference to the next, for each input of the batch.
    fn states(&self) -> &'static [usize] {
        match self.operator.code.name() {
            "SVDF" => &[4],
            "UNIDIRECTIONAL_SEQUENCE_LSTM" => &[18, 19],
            "UNIDIRECTIONAL_SEQUENCE_RNN" => &[4],
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
        let bytes = self
            .buffers
            .get(tensor.buffer_idx)
            .copied()
            .unwrap_or_default();
        let (words, rest) = bytes.as_chunks::<4>();
        let is_known = tensor.tensor_type == TensorType::Int32 && !words.is_empty();
        require(is_known && rest.is_empty(), UNKNOWN)?;
        Ok(words.iter().map(|word| i32::from_le_bytes(*word)).collect())
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

    /// The result's first dimension is the first operand's, and is not the one that is worked along.
    fn keeps_first(&self, at_least: usize) -> Result<(), &'static str> {
        let is_kept = self.first(0) == self.result().first().copied();
        require(is_kept, JOINED).and(self.result_of_rank(at_least))
    }

    /// What grows has the result's rank, and what does not is repeated along the first dimension.
    fn all_grow_alike(&self) -> Result<(), &'static str> {
        let rank = self.result().len();
        let fits = |position: usize| {
            let (shape, first) = (self.shape(position), self.first(position));
            match self.is_batched(position) {
                true => shape.len() == rank && first == self.result().first().copied(),
                false => shape.len() < rank || first == Some(1),
            }
        };
        require((0..self.operator.inputs.len()).all(fits), CONSTANT)
    }

    /// Stacks of matrices, each with its own or all with the same.
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
        require(from_front(axis, self.result().len()) != 0, JOINED)
    }

    /// The constant at `axes` names none that is the first of the operand.
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
        require(
            !axes.iter().any(|&axis| from_front(axis, rank) == 0),
            JOINED,
        )
    }

    fn off_axes(&self, axes: &[i32]) -> Result<(), &'static str> {
        let rank = self.shape(0).len();
        require(
            !axes.iter().any(|&axis| from_front(axis, rank) == 0),
            JOINED,
        )
    }

    fn slice(&self) -> Result<(), &'static str> {
        let (begin, size) = (self.integers(1)?, self.integers(2)?);
        let is_whole = size.first() == Some(&-1) || size.first().copied() == self.first(0);
        require(begin.first() == Some(&0) && is_whole, JOINED)
    }

    fn strided_slice(&self, from_start: bool, to_end: bool) -> Result<(), &'static str> {
        let (begin, end, strides) = (self.integers(1)?, self.integers(2)?, self.integers(3)?);
        let of = |values: &[i32]| values.first().copied();
        let starts = from_start || of(&begin) == Some(0);
        let ends = to_end || of(&end) >= self.first(0);
        require(starts && ends && of(&strides) == Some(1), JOINED)
    }

    /// Rows of a table for each input's indices, or a part of each input.
    fn gather(&self, axis: i32, batch_dims: i32) -> Result<(), &'static str> {
        require(batch_dims == 0, UNKNOWN)?;
        let axis = from_front(axis, self.shape(0).len());
        match (self.is_batched(0), self.is_batched(1)) {
            (false, true) => require(axis == 0, JOINED),
            (true, false) => require(axis != 0, JOINED),
            _ => Err(UNKNOWN),
        }
    }
}

fn require(holds: bool, problem: &'static str) -> Result<(), &'static str> {
    if holds { Ok(()) } else { Err(problem) }
}

/// An axis counted from the first dimension; 0 for one before it, too.
fn from_front(axis: i32, rank: usize) -> usize {
    match usize::try_from(axis) {
        Ok(axis) => axis,
        Err(_) => rank.saturating_sub(axis.unsigned_abs() as usize),
    }
}

/// Each input of the batch by itself; other operands are constants.
const ONE_BY_ONE: &[&str] = &[
    "AVERAGE_POOL_2D",
    "BATCH_TO_SPACE_ND",
    "CONV_2D",
    "CONV_3D",
    "DEPTHWISE_CONV_2D",
    "DEPTH_TO_SPACE",
    "L2_POOL_2D",
    "LOCAL_RESPONSE_NORMALIZATION",
    "MAX_POOL_2D",
    "RESIZE_BILINEAR",
    "RESIZE_NEAREST_NEIGHBOR",
    "SPACE_TO_BATCH_ND",
    "SPACE_TO_DEPTH",
];

/// Each value by itself, or with those at its place.
const BROADCASTING: &[&str] = &[
    "ABS",
    "ADD",
    "ADD_N",
    "CAST",
    "CEIL",
    "COS",
    "DEQUANTIZE",
    "DIV",
    "ELU",
    "EQUAL",
    "EXP",
    "FAKE_QUANT",
    "FLOOR",
    "FLOOR_DIV",
    "FLOOR_MOD",
    "GELU",
    "GREATER",
    "GREATER_EQUAL",
    "HARD_SWISH",
    "LEAKY_RELU",
    "LESS",
    "LESS_EQUAL",
    "LOG",
    "LOGICAL_AND",
    "LOGICAL_NOT",
    "LOGICAL_OR",
    "LOGISTIC",
    "MAXIMUM",
    "MINIMUM",
    "MUL",
    "NEG",
    "NOT_EQUAL",
    "POW",
    "PRELU",
    "QUANTIZE",
    "RELU",
    "RELU6",
    "RELU_0_TO_1",
    "RELU_N1_TO_1",
    "ROUND",
    "RSQRT",
    "SELECT",
    "SELECT_V2",
    "SIGN",
    "SIN",
    "SQRT",
    "SQUARE",
    "SQUARED_DIFFERENCE",
    "SUB",
    "TANH",
    "ZEROS_LIKE",
];

const REDUCING: &[&str] = &[
    "MEAN",
    "REDUCE_ALL",
    "REDUCE_ANY",
    "REDUCE_MAX",
    "REDUCE_MIN",
    "REDUCE_PROD",
    "SUM",
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::fixtures::{calling, model, operator, subgraph, tensor};
    use crate::tflite::BuiltinOptions;

    const INT8: TensorType = TensorType::Int8;

    /// An operator from a tensor of one shape to one of another, and the constants in buffers.
    fn batched(
        shapes: [&[i32]; 2],
        name: &str,
        options: BuiltinOptions,
        constants: &[&'static [u8]],
    ) -> Result<Vec<i32>, BatchError> {
        let mut tensors = vec![tensor(INT8, shapes[0])];
        for (buffer_idx, constant) in constants.iter().enumerate() {
            tensors.push(Tensor {
                buffer_idx: buffer_idx + 1,
                ..tensor(TensorType::Int32, &[constant.len() as i32 / 4])
            });
        }
        tensors.push(tensor(INT8, shapes[1]));
        let inputs: Vec<usize> = (0..=constants.len()).collect();
        let call = calling(name, &inputs, &[constants.len() + 1], options);
        let mut model = model(vec![subgraph(tensors, vec![call])]);
        model.buffers = [&[][..]]
            .into_iter()
            .chain(constants.iter().copied())
            .collect();
        set_batch(&mut model, NonZeroU32::new(4).unwrap())?;
        Ok(model.subgraphs[0].tensors.last().unwrap().shape.clone())
    }

    fn problem(found: Result<Vec<i32>, BatchError>) -> &'static str {
        match found.unwrap_err() {
            BatchError::Operator { problem, .. } => problem,
            error => panic!("{error}"),
        }
    }

    #[test]
    fn the_first_dimension_grows() {
        let none = BuiltinOptions::Absent;
        let found = batched([&[1, 5, 5, 2], &[1, 50]], "RESHAPE", none.clone(), &[]);
        assert_eq!(found, Ok(vec![4, 50]));
        let last = &[3, 0, 0, 0];
        let found = batched(
            [&[1, 5, 5, 2], &[1, 5, 5]],
            "ARG_MAX",
            none.clone(),
            &[last],
        );
        assert_eq!(found, Ok(vec![4, 5, 5]));
        let heads = batched([&[1, 6, 8], &[2, 6, 4]], "RESHAPE", none, &[]);
        assert_eq!(heads, Ok(vec![8, 6, 4]));
    }

    #[test]
    fn what_works_across_inputs_is_refused() {
        let none = BuiltinOptions::Absent;
        let reducer = BuiltinOptions::Reducer { keep_dims: false };
        let first = &[0, 0, 0, 0];
        let found = batched([&[1, 6], &[6]], "MEAN", reducer.clone(), &[first]);
        assert_eq!(problem(found), JOINED);
        // Counted from the last dimension it is the first, too.
        let found = batched([&[1, 6], &[6]], "MEAN", reducer, &[&[254, 255, 255, 255]]);
        assert_eq!(problem(found), JOINED);
        let turned = &[1, 0, 0, 0, 0, 0, 0, 0];
        let found = batched([&[1, 6], &[6, 1]], "TRANSPOSE", none.clone(), &[turned]);
        assert_eq!(problem(found), JOINED);
        let found = batched([&[1, 6], &[1, 6]], "WHERE", none.clone(), &[]);
        assert_eq!(problem(found), UNKNOWN);
        let found = batched([&[1, 6], &[]], "RESHAPE", none, &[]);
        assert!(problem(found).contains("cannot grow"));
    }

    #[test]
    fn an_addition_needs_operands_that_grow_alike() {
        let shapes: [&[i32]; 3] = [&[1, 6], &[3, 6], &[3, 6]];
        let mut tensors: Vec<_> = shapes.map(|shape| tensor(INT8, shape)).into();
        tensors[1].buffer_idx = 1;
        let graph = subgraph(tensors, vec![operator("ADD", &[0, 1], &[2])]);
        let found = set_batch(&mut model(vec![graph]), NonZeroU32::new(2).unwrap());
        let words = "no batch of 2: operator 0 (ADD) meets the inputs with values whose first \
                     dimension does not grow";
        assert_eq!(found.unwrap_err().to_string(), words);
    }

    #[test]
    fn inputs_have_to_be_single_and_batches_small() {
        let graph = || subgraph(vec![tensor(INT8, &[2, 6])], vec![]);
        let set = |n: u32| set_batch(&mut model(vec![graph()]), NonZeroU32::new(n).unwrap());
        assert_eq!(set(1), Ok(()));
        assert!(matches!(set(2), Err(BatchError::Input { batch: 2, .. })));
        assert_eq!(set(1025), Err(BatchError::TooLarge { batch: 1025 }));
    }
}
