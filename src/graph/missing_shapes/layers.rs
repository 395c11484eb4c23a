//! Layers with weights or windows, and what works value by value.

use super::call::{Call, Shape, require, whole};
use crate::formats::tflite::{BuiltinOptions, Padding};
use crate::graph::analysis::window::windows;

impl Call<'_, '_> {
    /// Dimensions of all inputs, from the last on: equal, or 1.
    pub fn broadcast(&self) -> Option<Shape> {
        let shapes = self.shapes()?;
        require(!shapes.is_empty())?;
        let mut from_last = Shape::new();
        for shape in shapes {
            from_last.resize(from_last.len().max(shape.len()), 1);
            for (size, &other) in from_last.iter_mut().zip(shape.iter().rev()) {
                *size = broadcast(*size, other.into())?;
            }
        }
        Some(from_last.into_iter().rev().collect())
    }

    /// Filter `[out, h, w, in / groups]`.
    pub fn convolution(&self, options: &BuiltinOptions) -> Option<Shape> {
        let &BuiltinOptions::Conv2D {
            padding,
            stride_h,
            stride_w,
            dilation_h,
            dilation_w,
            ..
        } = options
        else {
            return None;
        };
        let ([n, h, w, c], [out, filter_h, filter_w, depth]) = (self.sizes(0)?, self.sizes(1)?);
        whole(c, depth)?;
        let rows = slid(h, filter_h, [stride_h, dilation_h], padding)?;
        let columns = slid(w, filter_w, [stride_w, dilation_w], padding)?;
        Some(vec![n, rows, columns, out])
    }

    /// Filter `[1, h, w, out]`.
    pub fn depthwise(&self, options: &BuiltinOptions) -> Option<Shape> {
        let &BuiltinOptions::DepthwiseConv2D {
            padding,
            stride_h,
            stride_w,
            dilation_h,
            dilation_w,
            ..
        } = options
        else {
            return None;
        };
        let ([n, h, w, c], [_, filter_h, filter_w, out]) = (self.sizes(0)?, self.sizes(1)?);
        whole(out, c)?;
        let rows = slid(h, filter_h, [stride_h, dilation_h], padding)?;
        let columns = slid(w, filter_w, [stride_w, dilation_w], padding)?;
        Some(vec![n, rows, columns, out])
    }

    /// Filter `[d, h, w, in / groups, out]`.
    pub fn convolution_3d(&self, options: &BuiltinOptions) -> Option<Shape> {
        let &BuiltinOptions::Conv3D {
            padding,
            stride_d,
            stride_h,
            stride_w,
            dilation_d,
            dilation_h,
            dilation_w,
            ..
        } = options
        else {
            return None;
        };
        let [n, d, h, w, c] = self.sizes(0)?;
        let [filter_d, filter_h, filter_w, depth, out] = self.sizes(1)?;
        whole(c, depth)?;
        let planes = slid(d, filter_d, [stride_d, dilation_d], padding)?;
        let rows = slid(h, filter_h, [stride_h, dilation_h], padding)?;
        let columns = slid(w, filter_w, [stride_w, dilation_w], padding)?;
        Some(vec![n, planes, rows, columns, out])
    }

    pub fn pooled(&self, options: &BuiltinOptions) -> Option<Shape> {
        let &BuiltinOptions::Pool2D {
            padding,
            stride_h,
            stride_w,
            filter_h,
            filter_w,
            ..
        } = options
        else {
            return None;
        };
        let [n, h, w, c] = self.sizes(0)?;
        let rows = slid(h, filter_h.into(), [stride_h, 1], padding)?;
        let columns = slid(w, filter_w.into(), [stride_w, 1], padding)?;
        Some(vec![n, rows, columns, c])
    }

    /// Filter `[units, depth]`; the input as rows of `depth`.
    pub fn dense(&self, keep_num_dims: bool) -> Option<Shape> {
        let [units, depth] = self.sizes(1)?;
        if keep_num_dims {
            let mut shape = self.shape(0)?;
            let last = shape.last_mut()?;
            require(*last == depth)?;
            *last = units;
            return Some(shape);
        }
        let n_values = i64::try_from(self.tensor(0)?.element_count()?).ok()?;
        Some(vec![whole(n_values, depth)?, units])
    }

    /// Stacks of matrices, each of them transposed where `is_turned` says so.
    pub fn product(&self, is_turned: [bool; 2]) -> Option<Shape> {
        let [one, other] = [self.shape(0)?, self.shape(1)?];
        let (mut one, [rows, depth]) = matrix(one, is_turned[0])?;
        let (mut other, [other_depth, columns]) = matrix(other, is_turned[1])?;
        require(depth == other_depth)?;
        let rank = one.len().max(other.len());
        for stack in [&mut one, &mut other] {
            stack.splice(..0, std::iter::repeat_n(1, rank - stack.len()));
        }
        let pairs = one.into_iter().zip(other);
        let mut shape: Shape = pairs
            .map(|(size, other)| broadcast(size, other))
            .collect::<Option<_>>()?;
        shape.extend([rows, columns]);
        Some(shape)
    }

    /// Input `[batch, in]`, filter `[units × rank, in]`.
    pub fn svdf(&self, rank: i32) -> Option<Shape> {
        let ([n, _], [n_filters, _]) = (self.sizes(0)?, self.sizes(1)?);
        Some(vec![n, whole(n_filters, rank.into())?])
    }

    /// So many outputs at each step of the input.
    pub fn recurrent(&self, n_outputs: i64) -> Option<Shape> {
        let mut shape = self.shape(0)?;
        *shape.last_mut()? = n_outputs;
        Some(shape)
    }
}

fn broadcast(size: i64, other: i64) -> Option<i64> {
    match (size, other) {
        (1, size) | (size, 1) => Some(size),
        _ => (size == other).then_some(size),
    }
}

/// The dimensions before the last two, and those two.
fn matrix(mut shape: Shape, is_turned: bool) -> Option<(Shape, [i64; 2])> {
    let (columns, rows) = (shape.pop()?, shape.pop()?);
    let sizes = if is_turned {
        [columns, rows]
    } else {
        [rows, columns]
    };
    Some((shape, sizes))
}

/// Positions of a window of `size` values along one dimension; none where it does not fit, because a layer without
/// results would look as if it cost nothing.
fn slid(input: i64, size: i64, [stride, dilation]: [i32; 2], padding: Padding) -> Option<i64> {
    let [input, size] = [input, size].map(|size| i32::try_from(size).ok());
    let (input, size) = (input?, size?);
    require(size > 0 && stride > 0 && dilation > 0)?;
    let n = windows(input, size, stride, dilation, padding);
    (n > 0).then_some(n)
}
