//! A [`Model`] with batch size 1 → the same model with a larger batch size, as converting it with that batch size would
//! give it.
//!
//! The batch is the first dimension of the main subgraph's inputs and of all that is computed from them. LiteRT's
//! `ResizeInputTensor` propagates it in the same way, but fails if a constant holds a shape (`RESHAPE` to `[1, 1000]`,
//! for example), which a converter would change. Where a file computes shapes from those of other tensors, they have to
//! be those that follow from the batch.

mod rules;

use std::collections::HashMap;
use std::num::NonZeroU32;

use self::rules::{BatchedCall, require};
use super::inference::call::OperatorCall;
use crate::formats::tflite::{MAIN_SUBGRAPH, Model, Tensor};

/// Largest batch size. No measurement has a larger one, and with a thousand times the values of a shape in the file,
/// products still fit in 64 bits.
pub const MAX_BATCH: u32 = 1024;

/// Why the batch size of a model cannot be changed.
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
        subgraphs,
        buffers,
        is_reshaped,
        ..
    } = model;
    *is_reshaped = true;
    let subgraph = &mut subgraphs[MAIN_SUBGRAPH];
    let mut batched = vec![false; subgraph.tensors.len()];
    // Whether values follow from sizes, and what these are, where they are known.
    let mut is_sized = vec![false; subgraph.tensors.len()];
    let mut computed = HashMap::new();
    for &input in &subgraph.inputs {
        let tensor = &mut subgraph.tensors[input];
        if tensor.shape.first() != Some(&1) || !enlarge(tensor, n) {
            return Err(BatchError::Input {
                batch: n,
                name: tensor.name.to_string(),
                shape: tensor.shape.clone(),
            });
        }
        batched[input] = true;
    }
    for operator_idx in 0..subgraph.operators.len() {
        let call = OperatorCall {
            tensors: &subgraph.tensors,
            shapes: &[],
            buffers,
            computed: &computed,
            operator: &subgraph.operators[operator_idx],
        };
        let call = BatchedCall {
            call,
            batched: &batched,
            is_sized: &is_sized,
            batch: n,
        };
        let grown = call.effect().and_then(|effect| {
            let outputs = || subgraph.operators[operator_idx].outputs.iter().copied();
            // Another operator may have written it before.
            outputs().for_each(|output| {
                is_sized[output] = effect.is_sized;
                computed.remove(&output);
            });
            computed.extend(outputs().zip(effect.values));
            let fits = effect.enlarged.into_iter().all(|tensor_idx| {
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

/// Whether the shape, and with it all sizes that follow, has room for it.
fn enlarge(tensor: &mut Tensor, factor: u32) -> bool {
    let first = tensor.shape.first_mut();
    let grown =
        first.and_then(|first| Some((i32::try_from(factor).ok()?.checked_mul(*first)?, first)));
    let Some((grown, first)) = grown else {
        return false;
    };
    *first = grown;
    // As the reader promises of every tensor.
    tensor.has_countable_size()
}

#[cfg(test)]
mod tests {
    use super::rules::{JOINED, UNKNOWN};
    use super::*;
    use crate::formats::tflite::OpKind;
    use crate::formats::tflite::{Buffer, BuiltinOptions, TensorType};
    use crate::graph::analysis::fixtures::{calling, model, operator, subgraph, tensor};

    const INT8: TensorType = TensorType::Int8;

    /// An operator from a tensor of one shape to one of another, and the constants in buffers.
    fn batched(
        shapes: [&[i32]; 2],
        kind: OpKind,
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
        let call = calling(kind, &inputs, &[constants.len() + 1], options);
        let mut model = model(vec![subgraph(tensors, vec![call])]);
        model.buffers = [&[][..]]
            .into_iter()
            .chain(constants.iter().copied())
            .map(Buffer::from)
            .collect();
        set_batch(&mut model, NonZeroU32::new(4).unwrap())?;
        Ok(model.subgraphs[0].tensors.last().unwrap().shape.clone())
    }

    fn problem(result: Result<Vec<i32>, BatchError>) -> &'static str {
        match result.unwrap_err() {
            BatchError::Operator { problem, .. } => problem,
            error => panic!("{error}"),
        }
    }

    /// Also of a type without a known length, whose values are counted.
    #[test]
    fn sizes_stay_within_64_bits() {
        for tensor_type in [INT8, TensorType::Unknown(23)] {
            let mut tensor = tensor(tensor_type, &[1, 385_875_969, i32::MAX]);
            assert!(enlarge(&mut tensor, 2), "{tensor_type:?}");
            assert!(!enlarge(&mut tensor, 255), "{tensor_type:?}");
        }
    }

    #[test]
    fn the_first_dimension_grows() {
        let none = BuiltinOptions::Absent;
        let actual = batched(
            [&[1, 5, 5, 2], &[1, 50]],
            OpKind::Reshape,
            none.clone(),
            &[],
        );
        assert_eq!(actual, Ok(vec![4, 50]));
        let last = &[3, 0, 0, 0];
        let actual = batched(
            [&[1, 5, 5, 2], &[1, 5, 5]],
            OpKind::ArgMax,
            none.clone(),
            &[last],
        );
        assert_eq!(actual, Ok(vec![4, 5, 5]));
        let heads = batched([&[1, 6, 8], &[2, 6, 4]], OpKind::Reshape, none, &[]);
        assert_eq!(heads, Ok(vec![8, 6, 4]));
    }

    #[test]
    fn what_works_across_inputs_is_refused() {
        let none = BuiltinOptions::Absent;
        let reducer = BuiltinOptions::Reducer { keep_dims: false };
        let first = &[0, 0, 0, 0];
        let actual = batched([&[1, 6], &[6]], OpKind::Mean, reducer.clone(), &[first]);
        assert_eq!(problem(actual), JOINED);
        // Counted from the last dimension it is the first, too.
        let actual = batched(
            [&[1, 6], &[6]],
            OpKind::Mean,
            reducer,
            &[&[254, 255, 255, 255]],
        );
        assert_eq!(problem(actual), JOINED);
        let turned = &[1, 0, 0, 0, 0, 0, 0, 0];
        let actual = batched(
            [&[1, 6], &[6, 1]],
            OpKind::Transpose,
            none.clone(),
            &[turned],
        );
        assert_eq!(problem(actual), JOINED);
        let actual = batched([&[1, 6], &[1, 6]], OpKind::Where, none.clone(), &[]);
        assert_eq!(problem(actual), UNKNOWN);
        let actual = batched([&[1, 6], &[]], OpKind::Reshape, none, &[]);
        assert!(problem(actual).contains("cannot grow"));
    }

    #[test]
    fn an_addition_needs_operands_that_grow_alike() {
        let shapes: [&[i32]; 3] = [&[1, 6], &[3, 6], &[3, 6]];
        let mut tensors: Vec<_> = shapes.map(|shape| tensor(INT8, shape)).into();
        tensors[1].buffer_idx = 1;
        let graph = subgraph(tensors, vec![operator(OpKind::Add, &[0, 1], &[2])]);
        let actual = set_batch(&mut model(vec![graph]), NonZeroU32::new(2).unwrap());
        let words = "no batch of 2: operator 0 (ADD) meets the inputs with values whose first \
                     dimension does not grow";
        assert_eq!(actual.unwrap_err().to_string(), words);
    }

    /// Rows of a constant table for each input's indices; of no axis that the table has not.
    #[test]
    fn a_table_is_gathered_from_along_its_first_axis() {
        let gathered = |axis| {
            let shapes: [&[i32]; 3] = [&[1, 6], &[9, 4], &[1, 6, 4]];
            let mut tensors: Vec<_> = shapes.map(|shape| tensor(INT8, shape)).into();
            tensors[1].buffer_idx = 1;
            let options = BuiltinOptions::Gather {
                axis,
                batch_dims: 0,
            };
            let gather = calling(OpKind::Gather, &[1, 0], &[2], options);
            set_batch(
                &mut model(vec![subgraph(tensors, vec![gather])]),
                NonZeroU32::new(2).unwrap(),
            )
        };
        for (axis, is_first) in [(0, true), (-2, true), (1, false), (7, false), (-3, false)] {
            assert_eq!(gathered(axis).is_ok(), is_first, "axis {axis}");
        }
    }

    /// As Keras writes a `Reshape` and the first state of a recurrent layer: the first size of the input, and others that
    /// are constants.
    fn with_computed_shapes(order: [usize; 2]) -> Result<Model<'static>, BatchError> {
        const ONE: &[u8] = &[1, 0, 0, 0];
        let sizes = |shape: &[i32]| tensor(TensorType::Int32, shape);
        let constant = |buffer_idx: usize| Tensor {
            buffer_idx,
            ..sizes(&[1])
        };
        let scalar = Tensor {
            buffer_idx: 3,
            ..sizes(&[])
        };
        let tensors = vec![
            tensor(INT8, &[1, 2, 3]),
            sizes(&[3]),
            constant(1),
            constant(2),
            sizes(&[]),
            scalar,
            sizes(&[2]),
            tensor(INT8, &[1, 6]),
            tensor(INT8, &[1, 6]),
            tensor(INT8, &[1, 6]),
        ];
        let first = BuiltinOptions::StridedSlice {
            begin_mask: 0,
            end_mask: 0,
            ellipsis_mask: 0,
            new_axis_mask: 0,
            shrink_axis_mask: 1,
            offset: false,
        };
        let pack = BuiltinOptions::Pack {
            axis: 0,
            values_count: 2,
        };
        let operators = vec![
            operator(OpKind::Shape, &[0], &[1]),
            calling(OpKind::StridedSlice, &[1, 2, 3, 3], &[4], first),
            calling(OpKind::Pack, &order, &[6], pack),
            operator(OpKind::Reshape, &[0, 6], &[7]),
            operator(OpKind::Fill, &[6, 5], &[8]),
            operator(OpKind::Add, &[7, 8], &[9]),
        ];
        let mut model = model(vec![subgraph(tensors, operators)]);
        let buffers = [&[0, 0, 0, 0][..], ONE, &[6, 0, 0, 0]].map(Buffer::from);
        model.buffers = [Buffer::from(&[][..])].into_iter().chain(buffers).collect();
        set_batch(&mut model, NonZeroU32::new(4).unwrap())?;
        Ok(model)
    }

    #[test]
    fn computed_shapes_follow_the_batch() {
        let model = with_computed_shapes([4, 5]).unwrap();
        let tensors = &model.subgraphs[0].tensors;
        let shapes: Vec<&[i32]> = tensors[6..].iter().map(|tensor| &*tensor.shape).collect();
        assert_eq!(shapes, [&[2][..], &[4, 6], &[4, 6], &[4, 6]]);
        // Not as many values, with the batch in the place of another dimension.
        let words = with_computed_shapes([5, 4]).unwrap_err().to_string();
        assert!(
            words.contains("RESHAPE") && words.contains(UNKNOWN),
            "{words}"
        );
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
