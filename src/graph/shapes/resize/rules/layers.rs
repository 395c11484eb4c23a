//! Layers with weights or windows.

use super::super::reshape::product;
use super::{
    APART, NOTHING_LEFT, ODD, OperatorCall, Outcome, Problem, ShapePropagation, UNKNOWN, image,
};
use crate::formats::tflite::{BuiltinOptions, Padding};

impl ShapePropagation<'_> {
    /// Filter `[out, h, w, in / groups]`.
    pub(super) fn convolution(&mut self, call: OperatorCall) -> Outcome {
        let filter = self.filter(call)?;
        let [out, filter_h, filter_w, depth] = image(self.old_shape(filter))?;
        let [old, new] = self.image(call, 0)?;
        if depth < 1 || old[3] % depth != 0 {
            return Err(ODD);
        }
        let groups = old[3] / depth;
        let units = self.resized_units(call, out);
        if groups < 1 || new[3] % groups != 0 || units % groups != 0 {
            return Err(APART);
        }
        self.set_constant(filter, &[units, filter_h, filter_w, new[3] / groups])?;
        self.set_bias(call, 2, units)
    }

    /// Filter `[1, h, w, out]`.
    pub(super) fn depthwise(&mut self, call: OperatorCall) -> Outcome {
        let filter = self.filter(call)?;
        let [one, filter_h, filter_w, out] = image(self.old_shape(filter))?;
        let [old, new] = self.image(call, 0)?;
        if old[3] < 1 || out % old[3] != 0 {
            return Err(ODD);
        }
        let channels = (out / old[3]).checked_mul(new[3]).ok_or(ODD)?;
        self.set_constant(filter, &[one, filter_h, filter_w, channels])?;
        self.set_bias(call, 2, channels)
    }

    /// A window over the whole feature map is a global pooling, and stays one. Returns whether it is one.
    pub(super) fn pools_whole_map(
        &mut self,
        call: OperatorCall,
        options: &BuiltinOptions,
    ) -> Result<bool, Problem> {
        let &BuiltinOptions::Pool2D {
            padding,
            filter_h,
            filter_w,
            ..
        } = options
        else {
            return Err(UNKNOWN);
        };
        let [old, new] = self.image(call, 0)?;
        let is_whole = [filter_h, filter_w] == old[1..3] && padding == Padding::Valid;
        if is_whole {
            self.pooling_windows
                .push((call.operator_idx, [new[1], new[2]]));
            self.set(call, [new[0], 1, 1, new[3]])?;
        }
        Ok(is_whole)
    }

    /// Filter `[out, h, w, in]`; the third input is the feature map.
    pub(super) fn transposed(&mut self, call: OperatorCall, options: &BuiltinOptions) -> Outcome {
        let &BuiltinOptions::TransposeConv {
            stride_h, stride_w, ..
        } = options
        else {
            return Err(UNKNOWN);
        };
        let filter = self.filter(call)?;
        let [out, filter_h, filter_w, depth] = image(self.old_shape(filter))?;
        let [old, new] = self.image(call, 2)?;
        let old_out = image(self.old_shape(self.output(call)?))?;
        if depth != old[3] {
            return Err(ODD);
        }
        let grown = |side: usize, stride: i32| {
            let step = (new[side] - old[side]).checked_mul(stride)?;
            old_out[side].checked_add(step)
        };
        let height = grown(1, stride_h).ok_or(ODD)?;
        let width = grown(2, stride_w).ok_or(ODD)?;
        let units = self.resized_units(call, out);
        self.set_constant(filter, &[units, filter_h, filter_w, new[3]])?;
        self.set_bias(call, 3, units)?;
        self.set(call, [new[0], height, width, units])
    }

    /// Filter `[units, depth]`; the input as rows of `depth`.
    pub(super) fn dense(&mut self, call: OperatorCall, keep_num_dims: bool) -> Outcome {
        let filter = self.filter(call)?;
        let &[units, depth] = self.old_shape(filter) else {
            return Err(UNKNOWN);
        };
        let input = self.input(call, 0)?;
        let (old, new) = (self.old_shape(input), self.shapes[input].clone());
        let new_depth = match old {
            [.., last] if *last == depth => *new.last().ok_or(ODD)?,
            [_, rest @ ..] if product(rest.iter().copied()) == Some(depth.into()) => {
                let size = product(new.iter().skip(1).copied()).ok_or(NOTHING_LEFT)?;
                i32::try_from(size).map_err(|_| ODD)?
            }
            _ => return Err(UNKNOWN),
        };
        let size = product(new.iter().copied()).ok_or(NOTHING_LEFT)?;
        let rows = i32::try_from(size / i64::from(new_depth)).map_err(|_| ODD)?;
        let new_units = self.resized_units(call, units);
        self.set_constant(filter, &[new_units, new_depth])?;
        self.set_bias(call, 2, new_units)?;
        let old_out = self.old_shape(self.output(call)?);
        let shape = match old_out {
            [_, last] if *last == units && !(keep_num_dims && old.len() != 2) => {
                vec![rows, new_units]
            }
            [.., last]
                if *last == units && old_out.len() == old.len() && old.last() == Some(&depth) =>
            {
                let mut shape = new.clone();
                *shape.last_mut().ok_or(ODD)? = new_units;
                shape
            }
            [first @ .., last]
                if *last == units && first.iter().all(|&size| size == 1) && rows == 1 =>
            {
                let mut shape = old_out.to_vec();
                *shape.last_mut().ok_or(ODD)? = new_units;
                shape
            }
            _ => return Err(UNKNOWN),
        };
        self.set(call, shape)
    }
}
