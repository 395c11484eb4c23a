//! Operators whose rule no other kind shares.

use super::call::Unshaped::{Contradiction, Unknown};
use super::call::{Known, OperatorCall, Shape, axis, require};
use super::rules::Outputs;
use crate::formats::tflite::{BuiltinOptions, OpKind};

impl OperatorCall<'_, '_> {
    pub fn own(&self) -> Known<Outputs> {
        use OpKind as K;
        let shape = match self.operator.code.kind {
            K::BidirectionalSequenceLstm => return self.in_both_directions([8, 25]),
            K::BidirectionalSequenceRnn => return self.in_both_directions([2, 6]),
            K::Bitcast => self.of_other_width()?,
            K::BroadcastArgs => {
                let ([one], [other]) = (self.sizes(0)?, self.sizes(1)?);
                vec![one.max(other)]
            }
            K::HashtableLookup => {
                let ([n], [n_keys], mut table) = (self.sizes(0)?, self.sizes(1)?, self.shape(2)?);
                let n_rows = table.first_mut().ok_or(Contradiction(ROWS))?;
                require(*n_rows == n_keys, ROWS)?;
                *n_rows = n;
                return Ok(Outputs::Each(vec![table, vec![n]]));
            }
            K::MatrixDiag => {
                let mut shape = self.shape(0)?;
                shape.push(*shape.last().ok_or(Contradiction(MATRIX))?);
                shape
            }
            K::Multinomial => {
                let [n, _] = self.sizes(0)?;
                vec![n, self.value(1)?]
            }
            K::NonMaxSuppressionV4 | K::NonMaxSuppressionV5 => {
                let ([n, sides], [n_scores]) = (self.sizes(0)?, self.sizes(1)?);
                require(sides == 4 && n == n_scores, ROWS)?;
                let kept = vec![self.value(2)?];
                let n_lists = usize::from(self.operator.code.kind == K::NonMaxSuppressionV5) + 1;
                let mut shapes = vec![kept; n_lists];
                shapes.push(Vec::new());
                return Ok(Outputs::Each(shapes));
            }
            K::Range => {
                let (from, to, step) = (self.value(0)?, self.value(1)?, self.value(2)?);
                let is_range = step != 0 && (to - from).signum() * step.signum() >= 0;
                require(is_range, "the step does not lead to the end")?;
                vec![
                    (to - from)
                        .unsigned_abs()
                        .div_ceil(step.unsigned_abs())
                        .cast_signed(),
                ]
            }
            K::Rfft2d => {
                let (mut shape, sides) = (self.shape(0)?, self.values(1)?);
                let [.., rows, columns] = shape.as_mut_slice() else {
                    return Err(Contradiction(MATRIX));
                };
                let [to_rows, to_columns] = sides[..] else {
                    return Err(Contradiction(MATRIX));
                };
                (*rows, *columns) = (to_rows, to_columns / 2 + 1);
                shape
            }
            K::SegmentSum => {
                let (mut shape, [n]) = (self.shape(0)?, self.sizes(1)?);
                let rows = shape.first_mut().ok_or(Contradiction(ROWS))?;
                require(*rows == n, ROWS)?;
                // Segments are sorted.
                *rows = self.values(1)?.last().ok_or(Unknown)? + 1;
                shape
            }
            K::UnsortedSegmentMax
            | K::UnsortedSegmentMin
            | K::UnsortedSegmentProd
            | K::UnsortedSegmentSum => {
                let (shape, segments) = (self.shape(0)?, self.shape(1)?);
                let of_each = shape.strip_prefix(&*segments).ok_or(Contradiction(ROWS))?;
                [&[self.value(2)?], of_each].concat()
            }
            _ => return Err(Unknown),
        };
        Ok(Outputs::Each(vec![shape]))
    }

    /// The shape of the first input, which the others fit.
    pub fn like_first(&self) -> Known<Shape> {
        let shape = self.shape(0)?;
        match (self.operator.code.kind, &self.operator.options) {
            (OpKind::MatrixSetDiag, _) => {
                let Some((front, &[rows, columns])) = shape.split_last_chunk() else {
                    return Err(Contradiction(MATRIX));
                };
                self.require_sizes(1, &[front, &[rows.min(columns)]].concat(), MATRIX)?;
            }
            (_, &BuiltinOptions::ReverseSequence { seq_dim, batch_dim }) => {
                let along = axis(seq_dim.into(), shape.len())?;
                let batch = axis(batch_dim.into(), shape.len())?;
                require(seq_dim >= 0 && batch_dim >= 0 && along != batch, ROWS)?;
                self.require_sizes(1, &[shape[batch]], ROWS)?;
            }
            _ => {}
        }
        Ok(shape)
    }

    /// The results of both directions at each step, beside each other or each on its own. `weights`: the places of
    /// recurrent weights `[cells, outputs]`.
    fn in_both_directions(&self, weights: [usize; 2]) -> Known<Outputs> {
        let (BuiltinOptions::BidirectionalSequenceRnn { merge_outputs, .. }
        | BuiltinOptions::BidirectionalSequenceLstm { merge_outputs, .. }) = self.operator.options
        else {
            return Err(Unknown);
        };
        let [n, steps, _] = self.sizes(0)?;
        let ([_, forward], [_, backward]) = (self.sizes(weights[0])?, self.sizes(weights[1])?);
        let with = |units: i64| vec![n, steps, units];
        Ok(Outputs::Each(if merge_outputs {
            vec![with(forward + backward)]
        } else {
            vec![with(forward), with(backward)]
        }))
    }

    /// The same bits as values of another width, of which several become one along the last dimension, or one several.
    fn of_other_width(&self) -> Known<Shape> {
        let mut shape = self.shape(0)?;
        let width =
            |tensor_idx: Option<usize>| self.tensors[tensor_idx?].tensor_type.bits_per_value();
        let from = width(self.operator.inputs.first().copied().flatten()).ok_or(Unknown)?;
        let to = width(self.operator.outputs.first().copied()).ok_or(Unknown)?;
        if from < to {
            require(
                shape.pop() == Some((to / from).into()),
                "the bits are not those of a value",
            )?;
        } else if from > to {
            shape.push((from / to).into());
        }
        Ok(shape)
    }
}

const ROWS: &str = "the operands differ in the rows that they have in common";
const MATRIX: &str = "an operand is no matrix, or not the one that fits";
