//! Layers with weights or windows.

use super::super::reshape::product;
use super::{
    APART, NOTHING_LEFT, ODD, OperatorCall, Outcome, Problem, ShapePropagation, UNKNOWN, image,
};
use crate::formats::tflite::{BuiltinOptions, Padding};
use crate::graph::analysis::window::windows;

impl ShapePropagation<'_> {
    /// Filter `[out, h, w, in / groups]`.
    pub(super) fn convolution(&mut self, call: OperatorCall, options: &BuiltinOptions) -> Outcome {
        let &BuiltinOptions::Conv2D {
            padding,
            stride_h,
            stride_w,
            dilation_h,
            dilation_w,
            ..
        } = options
        else {
            return Err(UNKNOWN);
        };
        let filter = self.filter(call)?;
        let [out, filter_h, filter_w, depth] = image(self.old(filter))?;
        let [old, new] = self.image(call, 0)?;
        if depth < 1 || old[3] % depth != 0 {
            return Err(ODD);
        }
        let groups = old[3] / depth;
        let window = [
            [filter_h, stride_h, dilation_h],
            [filter_w, stride_w, dilation_w],
        ];
        let area = self.slid(call, [old, new], window, padding)?;
        let units = self.units(call, out);
        if groups < 1 || new[3] % groups != 0 || units % groups != 0 {
            return Err(APART);
        }
        self.set_constant(filter, &[units, filter_h, filter_w, new[3] / groups])?;
        self.set_bias(call, 2, units)?;
        self.set(call, [new[0], area[0], area[1], units])
    }

    /// Filter `[1, h, w, out]`.
    pub(super) fn depthwise(&mut self, call: OperatorCall, options: &BuiltinOptions) -> Outcome {
        let &BuiltinOptions::DepthwiseConv2D {
            padding,
            stride_h,
            stride_w,
            dilation_h,
            dilation_w,
            ..
        } = options
        else {
            return Err(UNKNOWN);
        };
        let filter = self.filter(call)?;
        let [one, filter_h, filter_w, out] = image(self.old(filter))?;
        let [old, new] = self.image(call, 0)?;
        if old[3] < 1 || out % old[3] != 0 {
            return Err(ODD);
        }
        let window = [
            [filter_h, stride_h, dilation_h],
            [filter_w, stride_w, dilation_w],
        ];
        let area = self.slid(call, [old, new], window, padding)?;
        let channels = (out / old[3]).checked_mul(new[3]).ok_or(ODD)?;
        self.set_constant(filter, &[one, filter_h, filter_w, channels])?;
        self.set_bias(call, 2, channels)?;
        self.set(call, [new[0], area[0], area[1], channels])
    }

    pub(super) fn pooled(&mut self, call: OperatorCall, options: &BuiltinOptions) -> Outcome {
        let &BuiltinOptions::Pool2D {
            padding,
            stride_h,
            stride_w,
            filter_h,
            filter_w,
            ..
        } = options
        else {
            return Err(UNKNOWN);
        };
        let [old, new] = self.image(call, 0)?;
        // A window over the whole feature map is a global pooling, and stays one.
        if [filter_h, filter_w] == old[1..3] && padding == Padding::Valid {
            self.pooling_windows
                .push((call.operator_idx, [new[1], new[2]]));
            return self.set(call, [new[0], 1, 1, new[3]]);
        }
        let window = [[filter_h, stride_h, 1], [filter_w, stride_w, 1]];
        let area = self.slid(call, [old, new], window, padding)?;
        self.set(call, [new[0], area[0], area[1], new[3]])
    }

    /// New height and width behind a window `[size, stride, dilation]`.
    pub(super) fn slid(
        &self,
        call: OperatorCall,
        [old, new]: [[i32; 4]; 2],
        window: [[i32; 3]; 2],
        padding: Padding,
    ) -> Result<[i32; 2], Problem> {
        let old_image = image(self.old(self.output(call)?))?;
        let mut area = [0; 2];
        for (side, [size, stride, dilation]) in window.into_iter().enumerate() {
            let over = |input: i32| windows(input, size, stride, dilation, padding);
            if over(old[side + 1]) != i64::from(old_image[side + 1]) {
                return Err(ODD);
            }
            area[side] = i32::try_from(over(new[side + 1])).map_err(|_| ODD)?;
        }
        if area.contains(&0) {
            Err(NOTHING_LEFT)
        } else {
            Ok(area)
        }
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
        let [out, filter_h, filter_w, depth] = image(self.old(filter))?;
        let [old, new] = self.image(call, 2)?;
        let old_out = image(self.old(self.output(call)?))?;
        if depth != old[3] {
            return Err(ODD);
        }
        let grown = |side: usize, stride: i32| {
            let step = (new[side] - old[side]).checked_mul(stride)?;
            old_out[side].checked_add(step)
        };
        let height = grown(1, stride_h).ok_or(ODD)?;
        let width = grown(2, stride_w).ok_or(ODD)?;
        let units = self.units(call, out);
        self.set_constant(filter, &[units, filter_h, filter_w, new[3]])?;
        self.set_bias(call, 3, units)?;
        self.set(call, [new[0], height, width, units])
    }

    /// Filter `[units, depth]`; the input as rows of `depth`.
    pub(super) fn dense(&mut self, call: OperatorCall, keep_num_dims: bool) -> Outcome {
        let filter = self.filter(call)?;
        let &[units, depth] = self.old(filter) else {
            return Err(UNKNOWN);
        };
        let input = self.input(call, 0)?;
        let (old, new) = (self.old(input), self.shapes[input].clone());
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
        let new_units = self.units(call, units);
        self.set_constant(filter, &[new_units, new_depth])?;
        self.set_bias(call, 2, new_units)?;
        let old_out = self.old(self.output(call)?);
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

    pub(super) fn product(&mut self, call: OperatorCall, adj_x: bool, adj_y: bool) -> Outcome {
        let places = [(self.input(call, 0)?, adj_x), (self.input(call, 1)?, adj_y)];
        let output = self.output(call)?;
        let rank = self.old(output).len();
        let mut matrices = [[0; 2]; 2];
        let mut shape = self.old(output).to_vec();
        for (matrix, (tensor_idx, is_turned)) in matrices.iter_mut().zip(places) {
            let new = &self.shapes[tensor_idx];
            let (&[.., rows, columns], true) = (new.as_slice(), new.len() == rank) else {
                return Err(UNKNOWN);
            };
            *matrix = if is_turned {
                [columns, rows]
            } else {
                [rows, columns]
            };
            for at in 0..rank - 2 {
                if self.old(tensor_idx)[at] == self.old(output)[at] {
                    shape[at] = new[at];
                }
            }
        }
        let [[rows, depth], [other_depth, columns]] = matrices;
        if depth != other_depth {
            return Err(APART);
        }
        shape[rank - 2] = rows;
        shape[rank - 1] = columns;
        self.set(call, shape)
    }
}
