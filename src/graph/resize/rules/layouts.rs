//! Operators that move values, and reductions.

use super::super::reshape::reshaped;
use super::{APART, ODD, OperatorCall, Outcome, PART, Shape, ShapePropagation, UNKNOWN, image};
use crate::formats::tflite::dimension;

impl ShapePropagation<'_> {
    pub(super) fn joined(&mut self, call: OperatorCall, axis: i32) -> Outcome {
        let output = self.output(call)?;
        let rank = self.old(output).len();
        let axis = dimension(axis, rank).ok_or(ODD)?;
        let read: Vec<usize> = call.operator.inputs.iter().flatten().copied().collect();
        let mut shape: Option<Shape> = None;
        for &tensor_idx in read.iter().filter(|&&t| !self.is_constant[t]) {
            let new = &self.shapes[tensor_idx];
            if new.len() != rank {
                return Err(ODD);
            }
            let others = |shape: &[i32]| {
                let sizes = shape.iter().enumerate();
                sizes
                    .filter(|(at, _)| *at != axis)
                    .map(|(_, size)| *size)
                    .collect::<Vec<_>>()
            };
            if shape
                .as_ref()
                .is_some_and(|first| others(first) != others(new))
            {
                return Err(APART);
            }
            shape.get_or_insert_with(|| new.clone());
        }
        let mut shape = shape.ok_or(UNKNOWN)?;
        let mut total = 0i32;
        for tensor_idx in read {
            let mut new_shape = shape.clone();
            let sizes = if self.is_constant[tensor_idx] {
                self.old(tensor_idx)
            } else {
                &self.shapes[tensor_idx]
            };
            let size = *sizes.get(axis).ok_or(ODD)?;
            total = total.checked_add(size).ok_or(ODD)?;
            new_shape[axis] = size;
            if self.is_constant[tensor_idx] {
                self.set_constant(tensor_idx, &new_shape)?;
            }
        }
        shape[axis] = total;
        self.set(call, shape)
    }

    pub(super) fn packed(&mut self, call: OperatorCall, axis: i32) -> Outcome {
        let first = self.shapes[self.input(call, 0)?].clone();
        let mut read = call.operator.inputs.iter().flatten();
        if read.any(|&tensor_idx| self.is_constant[tensor_idx] || self.shapes[tensor_idx] != first)
        {
            return Err(APART);
        }
        let axis = dimension(axis, first.len() + 1).ok_or(ODD)?;
        let mut shape = first;
        shape.insert(
            axis,
            i32::try_from(call.operator.inputs.len()).map_err(|_| ODD)?,
        );
        self.set(call, shape)
    }

    pub(super) fn unpacked(&mut self, call: OperatorCall, axis: i32) -> Outcome {
        let input = self.input(call, 0)?;
        let mut shape = self.shapes[input].clone();
        let axis = dimension(axis, shape.len()).ok_or(ODD)?;
        if shape.remove(axis) != self.old(input)[axis] {
            return Err(PART);
        }
        self.set_all(call, &shape);
        Ok(())
    }

    pub(super) fn split(&mut self, call: OperatorCall, n_parts: i32) -> Outcome {
        let axes = self.integers(call, 0)?;
        let mut shape = self.shapes[self.input(call, 1)?].clone();
        let axis = axes
            .first()
            .and_then(|&axis| dimension(axis, shape.len()))
            .ok_or(ODD)?;
        if n_parts < 1 || shape[axis] % n_parts != 0 {
            return Err(PART);
        }
        shape[axis] /= n_parts;
        self.set_all(call, &shape);
        Ok(())
    }

    pub(super) fn reshaped(&mut self, call: OperatorCall) -> Outcome {
        let (input, output) = (self.input(call, 0)?, self.output(call)?);
        let shape = reshaped(self.old(input), &self.shapes[input], self.old(output));
        self.set(call, shape.ok_or(UNKNOWN)?)
    }

    /// As many rows and columns are added as before.
    pub(super) fn padded(&mut self, call: OperatorCall) -> Outcome {
        let (input, output) = (self.input(call, 0)?, self.output(call)?);
        let (old, new, old_out) = (self.old(input), &self.shapes[input], self.old(output));
        if old.len() != old_out.len() {
            return Err(ODD);
        }
        let sizes = old.iter().zip(new).zip(old_out);
        let sizes = sizes.map(|((old, new), old_out)| (old_out - old).checked_add(*new).ok_or(ODD));
        let shape: Shape = sizes.collect::<Result<_, _>>()?;
        self.set(call, shape)
    }

    pub(super) fn tiled(&mut self, call: OperatorCall) -> Outcome {
        let multiples = self.integers(call, 1)?;
        let new = &self.shapes[self.input(call, 0)?];
        if new.len() != multiples.len() {
            return Err(ODD);
        }
        let sizes = new
            .iter()
            .zip(&multiples)
            .map(|(size, times)| size.checked_mul(*times).ok_or(ODD));
        let shape: Shape = sizes.collect::<Result<_, _>>()?;
        self.set(call, shape)
    }

    /// A dimension that changes is taken whole, or not at all.
    pub(super) fn sliced(&mut self, call: OperatorCall, shrink_axis_mask: i32) -> Outcome {
        let (input, output) = (self.input(call, 0)?, self.output(call)?);
        let (old, new) = (self.old(input), self.shapes[input].clone());
        let mut results = self.old(output).iter();
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

    pub(super) fn turned(&mut self, call: OperatorCall) -> Outcome {
        let order = self.integers(call, 1)?;
        let new = &self.shapes[self.input(call, 0)?];
        let sizes = order
            .iter()
            .map(|&at| dimension(at, new.len()).map(|at| new[at]).ok_or(ODD));
        let shape: Shape = sizes.collect::<Result<_, _>>()?;
        self.set(call, shape)
    }

    pub(super) fn reduced(&mut self, call: OperatorCall, keep_dims: bool) -> Outcome {
        let axes = self.integers(call, 1)?;
        let new = &self.shapes[self.input(call, 0)?];
        let axes = axes
            .iter()
            .map(|&axis| dimension(axis, new.len()).ok_or(ODD));
        let axes: Vec<usize> = axes.collect::<Result<_, _>>()?;
        let sizes = new.iter().enumerate();
        let shape: Shape = if keep_dims {
            sizes
                .map(|(at, &size)| if axes.contains(&at) { 1 } else { size })
                .collect()
        } else {
            sizes
                .filter(|(at, _)| !axes.contains(at))
                .map(|(_, &size)| size)
                .collect()
        };
        self.set(call, shape)
    }

    /// To the size of a feature map that was as large before, else by the same factor.
    pub(super) fn interpolated(&mut self, call: OperatorCall) -> Outcome {
        let [old, new] = self.image(call, 0)?;
        let old_out = image(self.old(self.output(call)?))?;
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

    pub(super) fn blocks(&mut self, call: OperatorCall, side: i32, to_space: bool) -> Outcome {
        let [_, [n, h, w, c]] = self.image(call, 0)?;
        let square = side
            .checked_mul(side)
            .filter(|&square| square > 0)
            .ok_or(ODD)?;
        let fits = if to_space {
            c % square == 0
        } else {
            h % side == 0 && w % side == 0
        };
        if !fits {
            return Err(APART);
        }
        let times = |size: i32, by: i32| size.checked_mul(by).ok_or(ODD);
        if to_space {
            self.set(call, [n, times(h, side)?, times(w, side)?, c / square])
        } else {
            self.set(call, [n, h / side, w / side, times(c, square)?])
        }
    }
}
