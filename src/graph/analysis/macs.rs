//! Multiply-accumulates of one operator, from shapes and options.
//!
//! One MAC is one product added to a running sum in a convolution or matrix product. All products count, also those
//! with padding and with stored or pruned zeros. Biases, pooling, means, normalisations, elementwise operators,
//! activations, recurrent gates' elementwise products and table look-ups count 0. For convolutions, depthwise
//! convolutions and fully connected layers this is what Arm's Vela reports as `mac_count`; Vela also counts pooling and
//! the operations into which it decomposes other operators, which are not MACs here.

use super::shape::element_count;
use crate::formats::tflite::op_row::Work;
use crate::formats::tflite::{BuiltinOptions, OpKind, Operator, Tensor};

/// Why an operator's MACs are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Uncountable {
    /// The operator's work is not defined by the schema, or is not a matrix product.
    Operator,
    /// An operand is missing, or its shape is not one the operator can have.
    Shape,
    /// The count does not fit in 64 bits.
    Overflow,
}

/// MACs of one inference of `operator`.
///
/// Operators that run other subgraphs are not for this function.
pub fn macs(operator: &Operator, tensors: &[Tensor]) -> Result<u64, Uncountable> {
    if let BuiltinOptions::Foreign(foreign) = &operator.options {
        return foreign.macs.ok_or(Uncountable::Operator);
    }
    let operands = Operands { operator, tensors };
    match operator.code.kind.row().work {
        Work::Nothing => Ok(0),
        Work::Convolution => conv_2d(operands),
        Work::Depthwise => depthwise_conv_2d(operands),
        Work::TransposedConvolution => transpose_conv(operands),
        Work::Convolution3d => conv_3d(operands),
        Work::TransposedConvolution3d => conv_3d_transpose(operands),
        Work::Dense => fully_connected(operands),
        Work::Product => batch_matmul(operands),
        Work::Svdf | Work::Recurrent => recurrent(operands),
        Work::SparseLookup => embedding_lookup_sparse(operands),
        Work::Unknown => Err(Uncountable::Operator),
    }
}

/// `LSTMKernelType.BASIC` has data, previous activation, one weight matrix, biases and state.
const N_BASIC_LSTM_INPUTS: usize = 5;
/// Position of its weight matrix.
const BASIC_LSTM_WEIGHTS: usize = 2;

#[derive(Clone, Copy)]
struct Operands<'a> {
    operator: &'a Operator,
    tensors: &'a [Tensor],
}

impl<'a> Operands<'a> {
    fn optional_input(self, position: usize) -> Option<&'a [i32]> {
        let tensor_idx = self.operator.inputs.get(position).copied().flatten()?;
        Some(&self.tensors.get(tensor_idx)?.shape)
    }

    fn input(self, position: usize) -> Result<&'a [i32], Uncountable> {
        self.optional_input(position).ok_or(Uncountable::Shape)
    }

    fn output(self) -> Result<&'a [i32], Uncountable> {
        let tensor_idx = self.operator.outputs.first().ok_or(Uncountable::Shape)?;
        Ok(&self
            .tensors
            .get(*tensor_idx)
            .ok_or(Uncountable::Shape)?
            .shape)
    }
}

fn count(shape: &[i32]) -> Result<u64, Uncountable> {
    element_count(shape).ok_or(Uncountable::Overflow)
}

/// Number of values of a shape that must have `rank` dimensions. A shape that the file leaves out has no dimensions.
fn count_of_rank(rank: usize, shape: &[i32]) -> Result<u64, Uncountable> {
    if shape.len() == rank {
        count(shape)
    } else {
        Err(Uncountable::Shape)
    }
}

fn times(left: u64, right: u64) -> Result<u64, Uncountable> {
    left.checked_mul(right).ok_or(Uncountable::Overflow)
}

/// Filter `[out, h, w, in / groups]`.
fn conv_2d(operands: Operands) -> Result<u64, Uncountable> {
    let &[_, h, w, depth] = operands.input(1)? else {
        return Err(Uncountable::Shape);
    };
    times(
        count_of_rank(4, operands.output()?)?,
        count(&[h, w, depth])?,
    )
}

/// Filter `[1, h, w, out]`.
fn depthwise_conv_2d(operands: Operands) -> Result<u64, Uncountable> {
    let &[_, h, w, _] = operands.input(1)? else {
        return Err(Uncountable::Shape);
    };
    times(count_of_rank(4, operands.output()?)?, count(&[h, w])?)
}

/// Inputs: output shape, filter `[out, h, w, in]`, activations `[n, h, w, in]`. Every input
/// value meets the whole window of every output channel.
fn transpose_conv(operands: Operands) -> Result<u64, Uncountable> {
    let &[out, h, w, _] = operands.input(1)? else {
        return Err(Uncountable::Shape);
    };
    times(count_of_rank(4, operands.input(2)?)?, count(&[out, h, w])?)
}

/// Filter `[d, h, w, in / groups, out]`.
fn conv_3d(operands: Operands) -> Result<u64, Uncountable> {
    let &[d, h, w, depth, _] = operands.input(1)? else {
        return Err(Uncountable::Shape);
    };
    times(
        count_of_rank(5, operands.output()?)?,
        count(&[d, h, w, depth])?,
    )
}

/// Inputs: output shape, filter `[d, h, w, out, in]`, activations.
fn conv_3d_transpose(operands: Operands) -> Result<u64, Uncountable> {
    let &[d, h, w, out, _] = operands.input(1)? else {
        return Err(Uncountable::Shape);
    };
    times(
        count_of_rank(5, operands.input(2)?)?,
        count(&[d, h, w, out])?,
    )
}

/// Weights `[units, depth]`; every input value meets every unit once.
fn fully_connected(operands: Operands) -> Result<u64, Uncountable> {
    match (operands.input(0)?, operands.input(1)?) {
        ([], _) => Err(Uncountable::Shape),
        (activations, &[units, _]) => times(count(activations)?, count(&[units])?),
        _ => Err(Uncountable::Shape),
    }
}

/// `[.., m, k] × [.., k, n]`, batches broadcast into the output; `adj_x` swaps `m` and `k`.
fn batch_matmul(operands: Operands) -> Result<u64, Uncountable> {
    let adj_x = matches!(
        operands.operator.options,
        BuiltinOptions::BatchMatMul { adj_x: true, .. }
    );
    let (&[.., rows, columns], products @ [.., _, _]) = (operands.input(0)?, operands.output()?)
    else {
        return Err(Uncountable::Shape);
    };
    let depth = if adj_x { rows } else { columns };
    times(count(products)?, count(&[depth])?)
}

/// Each time step of each batch multiplies the input, whose last dimension is the depth, and
/// the state by every weight once.
fn recurrent(operands: Operands) -> Result<u64, Uncountable> {
    let Operator { code, inputs, .. } = operands.operator;
    let is_basic = code.kind == OpKind::Lstm && inputs.len() == N_BASIC_LSTM_INPUTS;
    let weights = code.kind.row().inputs_of(b'w');
    let weights = weights.filter(|&position| !is_basic || position == BASIC_LSTM_WEIGHTS);
    let [steps_and_batch @ .., _] = operands.input(0)? else {
        return Err(Uncountable::Shape);
    };
    let mut n_weights = 0u64;
    // Coupled gates, absent projections and absent auxiliary inputs have no weights.
    for shape in weights.filter_map(|position| operands.optional_input(position)) {
        n_weights = n_weights
            .checked_add(count(shape)?)
            .ok_or(Uncountable::Overflow)?;
    }
    times(count(steps_and_batch)?, n_weights)
}

/// Inputs: ids, indices, dense shape, weights, table. Each id adds one weighted row.
fn embedding_lookup_sparse(operands: Operands) -> Result<u64, Uncountable> {
    match operands.input(4)? {
        [_, row @ ..] => times(count(operands.input(0)?)?, count(row)?),
        _ => Err(Uncountable::Shape),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tflite::TensorType;
    use crate::graph::analysis::fixtures::{batch_matmul, operator, tensor};

    /// The last shape is the output's. `&[-1]` stands for an optional input that is absent.
    fn count_of(kind: OpKind, shapes: &[&[i32]]) -> Result<u64, Uncountable> {
        let tensors: Vec<_> = shapes
            .iter()
            .map(|shape| tensor(TensorType::Int8, shape))
            .collect();
        let inputs: Vec<_> = (0..shapes.len() - 1).collect();
        let mut operator = operator(kind, &inputs, &[shapes.len() - 1]);
        for (input, shape) in operator.inputs.iter_mut().zip(shapes) {
            *input = input.filter(|_| **shape != [-1]);
        }
        macs(&operator, &tensors)
    }

    #[test]
    fn convolutions() {
        // 8 × 8 outputs of 16 channels, each 3 × 3 × 4 products.
        let grouped: &[&[i32]] = &[&[1, 8, 8, 8], &[16, 3, 3, 4], &[16], &[1, 8, 8, 16]];
        assert_eq!(count_of(OpKind::Conv2d, grouped), Ok(8 * 8 * 16 * 36));
        let depthwise: &[&[i32]] = &[&[1, 8, 8, 4], &[1, 5, 3, 8], &[8], &[1, 4, 4, 8]];
        assert_eq!(
            count_of(OpKind::DepthwiseConv2d, depthwise),
            Ok(4 * 4 * 8 * 15)
        );
        let transposed: &[&[i32]] = &[&[4], &[6, 2, 2, 3], &[1, 5, 5, 3], &[1, 10, 10, 6]];
        assert_eq!(
            count_of(OpKind::TransposeConv, transposed),
            Ok(5 * 5 * 3 * 2 * 2 * 6)
        );
        let volume: &[&[i32]] = &[&[1, 4, 4, 4, 2], &[3, 3, 3, 2, 5], &[5], &[1, 2, 2, 2, 5]];
        assert_eq!(count_of(OpKind::Conv3d, volume), Ok(8 * 5 * 27 * 2));
        let volume_transposed: &[&[i32]] =
            &[&[5], &[2, 2, 2, 5, 3], &[1, 2, 2, 2, 3], &[1, 4, 4, 4, 5]];
        assert_eq!(
            count_of(OpKind::Conv3dTranspose, volume_transposed),
            Ok(8 * 3 * 8 * 5)
        );
    }

    #[test]
    fn matrix_products() {
        assert_eq!(
            count_of(
                OpKind::FullyConnected,
                &[&[2, 7, 10], &[30, 10], &[2, 7, 30]]
            ),
            Ok(14 * 10 * 30)
        );
        assert_eq!(
            count_of(
                OpKind::BatchMatmul,
                &[&[4, 1, 5, 6], &[3, 6, 7], &[4, 3, 5, 7]]
            ),
            Ok(12 * 5 * 6 * 7)
        );
        let tensors =
            [&[4, 6, 5], &[4, 6, 7], &[4, 5, 7]].map(|shape| tensor(TensorType::Float32, shape));
        let mut adjoint = operator(OpKind::BatchMatmul, &[0, 1], &[2]);
        adjoint.options = batch_matmul(true, false);
        assert_eq!(macs(&adjoint, &tensors), Ok(4 * 5 * 6 * 7));
        assert_eq!(
            count_of(
                OpKind::EmbeddingLookupSparse,
                &[&[9], &[9, 1], &[1], &[9], &[100, 8], &[1, 8]]
            ),
            Ok(72)
        );
    }

    #[test]
    fn recurrent_operators_by_time_step() {
        let absent: &[i32] = &[-1];
        // 7 steps of batch 2, depth 3, 5 cells, projected to 4.
        let mut lstm = vec![absent; 24];
        lstm[0] = &[7, 2, 3];
        lstm[2..5].fill(&[5, 3]);
        lstm[6..9].fill(&[5, 4]);
        lstm[10..12].fill(&[5]);
        lstm[13..16].fill(&[5]);
        lstm[16] = &[4, 5];
        lstm.push(&[7, 2, 4]);
        let coupled = 7 * 2 * (3 * 5 * 3 + 3 * 5 * 4 + 4 * 5);
        assert_eq!(
            count_of(OpKind::UnidirectionalSequenceLstm, &lstm),
            Ok(coupled)
        );
        let basic: &[&[i32]] = &[&[2, 3], &[2, 5], &[20, 8], &[20], &[2, 5], &[2, 5]];
        assert_eq!(count_of(OpKind::Lstm, basic), Ok(2 * 20 * 8));
        let mut both = vec![absent; 48];
        both[0] = &[7, 2, 3];
        both[1..5].fill(&[5, 3]);
        both[5..9].fill(&[5, 5]);
        both[18..22].fill(&[6, 3]);
        both[22..26].fill(&[6, 6]);
        both.push(&[7, 2, 5]);
        let cells = 4 * (5 * 3 + 5 * 5) + 4 * (6 * 3 + 6 * 6);
        assert_eq!(
            count_of(OpKind::BidirectionalSequenceLstm, &both),
            Ok(7 * 2 * cells)
        );
        let rnn: &[&[i32]] = &[&[7, 2, 3], &[5, 3], &[5, 5], &[5], &[2, 5], &[7, 2, 5]];
        assert_eq!(
            count_of(OpKind::UnidirectionalSequenceRnn, rnn),
            Ok(7 * 2 * (15 + 25))
        );
        let svdf: &[&[i32]] = &[&[2, 3], &[8, 3], &[8, 10], &[4], &[2, 80], &[2, 4]];
        assert_eq!(count_of(OpKind::Svdf, svdf), Ok(2 * (24 + 80)));
    }

    #[test]
    fn no_products_and_unknown_work_differ() {
        assert_eq!(count_of(OpKind::Add, &[&[9], &[9], &[9]]), Ok(0));
        assert_eq!(
            count_of(OpKind::AveragePool2d, &[&[1, 9, 9, 4], &[1, 1, 1, 4]]),
            Ok(0)
        );
        assert_eq!(
            count_of(OpKind::Custom, &[&[9], &[9]]),
            Err(Uncountable::Operator)
        );
        assert_eq!(
            count_of(OpKind::StablehloDotGeneral, &[&[9], &[9], &[9]]),
            Err(Uncountable::Operator)
        );
    }

    #[test]
    fn hostile_shapes_are_refused() {
        let huge: &[i32] = &[i32::MAX, i32::MAX, i32::MAX, i32::MAX];
        assert_eq!(
            count_of(OpKind::Conv2d, &[huge, huge, huge]),
            Err(Uncountable::Overflow)
        );
        assert_eq!(
            count_of(OpKind::FullyConnected, &[huge, &[3, 3], huge]),
            Err(Uncountable::Overflow)
        );
        assert_eq!(
            count_of(OpKind::Conv2d, &[&[], &[1, 3, 3, 4], &[]]),
            Err(Uncountable::Shape)
        );
        assert_eq!(
            count_of(OpKind::Conv2d, &[&[1, 3, 3, 4], &[1]]),
            Err(Uncountable::Shape)
        );
        assert_eq!(
            count_of(OpKind::Svdf, &[&[], &[1, 3], &[1, 3], &[1]]),
            Err(Uncountable::Shape)
        );
        let missing = operator(OpKind::Conv2d, &[], &[]);
        assert_eq!(macs(&missing, &[]), Err(Uncountable::Shape));
    }
}
