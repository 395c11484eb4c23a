//! Operators that move values, and reductions.

use super::super::reshape::reshaped;
use super::{ODD, OperatorCall, Outcome, PART, Shape, ShapePropagation, UNKNOWN, image};
use crate::formats::tflite::dimension;

impl ShapePropagation<'_> {
    /// Constants take the sizes of what they are joined with, but for the dimension along which they are.
    pub(super) fn joined(&mut self, call: OperatorCall, axis: i32) -> Outcome {
        let rank = self.old_shape(self.output(call)?).len();
        let axis = dimension(axis, rank).ok_or(ODD)?;
        let read = || call.operator.inputs.iter().flatten().copied();
        let fed = read().find(|&tensor_idx| !self.is_constant[tensor_idx]);
        let shape = self.shapes[fed.ok_or(UNKNOWN)?].clone();
        for tensor_idx in read() {
            if self.is_constant[tensor_idx] {
                let mut new_shape = shape.clone();
                let size = self.old_shape(tensor_idx).get(axis).ok_or(ODD)?;
                *new_shape.get_mut(axis).ok_or(ODD)? = *size;
                self.set_constant(tensor_idx, &new_shape)?;
            }
        }
        Ok(())
    }

    pub(super) fn reshaped(&mut self, call: OperatorCall) -> Outcome {
        let (input, output) = (self.input(call, 0)?, self.output(call)?);
        let shape = reshaped(
            self.old_shape(input),
            &self.shapes[input],
            self.old_shape(output),
        );
        self.set(call, shape.ok_or(UNKNOWN)?)
    }

    /// A dimension that changes is taken whole, or not at all.
    pub(super) fn sliced(&mut self, call: OperatorCall, shrink_axis_mask: i32) -> Outcome {
        let (input, output) = (self.input(call, 0)?, self.output(call)?);
        let (old, new) = (self.old_shape(input), self.shapes[input].clone());
        let mut results = self.old_shape(output).iter();
        let mut shape = Shape::new();
        for (at, (old, new)) in old.iter().zip(&new).enumerate() {
            let is_shrunk = at < 31 && shrink_axis_mask >> at & 1 == 1;
            if is_shrunk {
                if old != new {
                    return Err(PART);
                }
                continue;
            }
            let old_out = results.next().ok_or(ODD)?;
            if old == new {
                shape.push(*old_out);
            } else if old_out == old {
                shape.push(*new);
            } else {
                return Err(PART);
            }
        }
        if results.next().is_some() {
            return Err(ODD);
        }
        self.set(call, shape)
    }

    /// To the size of a feature map that was as large before, else by the same factor.
    pub(super) fn interpolated(&mut self, call: OperatorCall) -> Outcome {
        let [old, new] = self.image(call, 0)?;
        let old_out = image(self.old_shape(self.output(call)?))?;
        let area = match self.areas.get(&[old_out[1], old_out[2]]) {
            Some(area) => *area,
            None => {
                let scaled = |at: usize| {
                    let factor = f64::from(new[at]) / f64::from(old[at].max(1));
                    ((f64::from(old_out[at]) * factor).round() as i32).max(1)
                };
                [scaled(1), scaled(2)]
            }
        };
        self.set(call, [new[0], area[0], area[1], new[3]])
    }
}
