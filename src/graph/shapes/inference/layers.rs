//! Layers with weights or windows, and what works value by value.

use super::call::Unshaped::{Contradiction, Unknown};
use super::call::{Known, OperatorCall, Shape, exact_quotient, require};
use crate::formats::tflite::{BuiltinOptions, OpKind, Padding, Sliding};
use crate::graph::analysis::window::windows;

impl OperatorCall<'_, '_> {
    /// Dimensions of all inputs, from the last on: equal, or 1. The inputs of an `ADD_N` do not broadcast.
    pub fn broadcast(&self) -> Known<Shape> {
        let shapes = self.shapes()?;
        let mut pairs = shapes.iter().zip(shapes.iter().skip(1));
        require(
            self.operator.code.kind != OpKind::AddN || pairs.all(|(one, other)| one == other),
            "operands that do not broadcast",
        )?;
        if shapes.is_empty() {
            return Err(Unknown);
        }
        let mut from_last = Shape::new();
        for shape in shapes {
            from_last.resize(from_last.len().max(shape.len()), 1);
            for (size, &other) in from_last.iter_mut().zip(shape.iter().rev()) {
                *size = broadcast(*size, other.into())?;
            }
        }
        Ok(from_last.into_iter().rev().collect())
    }

    /// Filter `[out, h, w, in / groups]`.
    pub fn convolution(&self, options: &BuiltinOptions) -> Known<Shape> {
        let sliding = options.sliding().ok_or(Unknown)?;
        let ([n, h, w, c], [out, filter_h, filter_w, depth]) = (self.sizes(0)?, self.sizes(1)?);
        self.require_grouped(c, depth, out)?;
        self.require_n_values(2, out, BIAS)?;
        let [rows, columns] = positions(sliding, [h, w], [filter_h, filter_w])?;
        Ok(vec![n, rows, columns, out])
    }

    /// Filter `[1, h, w, out]`.
    pub fn depthwise(&self, options: &BuiltinOptions) -> Known<Shape> {
        let sliding = options.sliding().ok_or(Unknown)?;
        let ([n, h, w, c], [first, filter_h, filter_w, out]) = (self.sizes(0)?, self.sizes(1)?);
        require(first == 1, "the filter's first dimension is not 1")?;
        exact_quotient(
            out,
            c,
            "the filter's channels are no multiple of the input's",
        )?;
        self.require_n_values(2, out, BIAS)?;
        let [rows, columns] = positions(sliding, [h, w], [filter_h, filter_w])?;
        Ok(vec![n, rows, columns, out])
    }

    /// Filter `[d, h, w, in / groups, out]`.
    pub fn convolution_3d(&self, options: &BuiltinOptions) -> Known<Shape> {
        let sliding = options.sliding().ok_or(Unknown)?;
        let [n, d, h, w, c] = self.sizes(0)?;
        let [filter_d, filter_h, filter_w, depth, out] = self.sizes(1)?;
        self.require_grouped(c, depth, out)?;
        self.require_n_values(2, out, BIAS)?;
        let [planes, rows, columns] =
            positions(sliding, [d, h, w], [filter_d, filter_h, filter_w])?;
        Ok(vec![n, planes, rows, columns, out])
    }

    pub fn pooled(&self, options: &BuiltinOptions) -> Known<Shape> {
        let &BuiltinOptions::Pool2D {
            filter_h, filter_w, ..
        } = options
        else {
            return Err(Unknown);
        };
        let sliding = options.sliding().ok_or(Unknown)?;
        let [n, h, w, c] = self.sizes(0)?;
        let [rows, columns] = positions(sliding, [h, w], [filter_h, filter_w].map(i64::from))?;
        Ok(vec![n, rows, columns, c])
    }

    /// Filter `[units, depth]`; the input as rows of `depth`.
    pub fn dense(&self, keep_num_dims: bool) -> Known<Shape> {
        let [units, depth] = self.sizes(1)?;
        self.require_n_values(2, units, BIAS)?;
        if keep_num_dims {
            let mut shape = self.shape(0)?;
            let last = shape.last_mut().ok_or(Contradiction(DEPTH))?;
            require(*last == depth, DEPTH)?;
            *last = units;
            return Ok(shape);
        }
        Ok(vec![
            exact_quotient(self.n_values(0)?, depth, DEPTH)?,
            units,
        ])
    }

    /// Stacks of matrices, each of them transposed where `is_turned` says so.
    pub fn matrix_product(&self, is_turned: [bool; 2]) -> Known<Shape> {
        let [one, other] = [self.shape(0)?, self.shape(1)?];
        let (mut one, [rows, depth]) = split_matrix(one, is_turned[0])?;
        let (mut other, [other_depth, columns]) = split_matrix(other, is_turned[1])?;
        require(depth == other_depth, "the matrices' depths differ")?;
        let rank = one.len().max(other.len());
        for stack in [&mut one, &mut other] {
            stack.splice(..0, std::iter::repeat_n(1, rank - stack.len()));
        }
        let pairs = one.into_iter().zip(other);
        let mut shape: Shape = pairs
            .map(|(size, other)| broadcast(size, other))
            .collect::<Known<_>>()?;
        shape.extend([rows, columns]);
        Ok(shape)
    }

    /// Input `[batch, in]`, weights of features `[units × rank, in]` and of time `[units × rank, memory]`.
    pub fn svdf(&self, rank: i32) -> Known<Shape> {
        let ([n, depth], [n_filters, filter_depth]) = (self.sizes(0)?, self.sizes(1)?);
        require(depth == filter_depth, DEPTH)?;
        let units = exact_quotient(
            n_filters,
            rank.into(),
            "the filters are no multiple of the rank",
        )?;
        if self.dimensions(2).is_ok() {
            let [n_in_time, memory] = self.sizes(2)?;
            require(
                n_in_time == n_filters,
                "the filters of features and time differ in number",
            )?;
            let n_state = n.checked_mul(n_filters).and_then(|n| n.checked_mul(memory));
            self.require_n_values(4, n_state.ok_or(Unknown)?, STATE)?;
        }
        self.require_n_values(3, units, BIAS)?;
        Ok(vec![n, units])
    }

    /// Weights `[units, in]` and `[units, units]`.
    pub fn rnn(&self) -> Known<Shape> {
        let (input, [units, depth]) = (self.shape(0)?, self.sizes(1)?);
        require(input.last() == Some(&depth), DEPTH)?;
        self.require_sizes(2, &[units, units], RECURRENT)?;
        self.require_n_values(3, units, BIAS)?;
        self.recurrent(units)
    }

    /// Weights of four gates `[cells, in]` from input 1 on, and recurrent ones `[cells, outputs]` from input 5 on; those
    /// of the first gate may be absent.
    pub fn lstm(&self) -> Known<Shape> {
        let (input, [cells, outputs]) = (self.shape(0)?, self.sizes(8)?);
        let depth = *input.last().ok_or(Contradiction(DEPTH))?;
        for gate in 0..4 {
            self.require_sizes(1 + gate, &[cells, depth], DEPTH)?;
            self.require_sizes(5 + gate, &[cells, outputs], RECURRENT)?;
        }
        self.recurrent(outputs)
    }

    /// `n_outputs` at each step of the input.
    fn recurrent(&self, n_outputs: i64) -> Known<Shape> {
        let mut shape = self.shape(0)?;
        *shape.last_mut().ok_or(Contradiction(DEPTH))? = n_outputs;
        Ok(shape)
    }

    /// Filters of `depth` channels, as many in each group.
    fn require_grouped(&self, channels: i64, depth: i64, out: i64) -> Known<()> {
        let n_groups = exact_quotient(channels, depth, DEPTH)?;
        require(
            n_groups == 0 || out % n_groups == 0,
            "the output's channels are no multiple of the groups",
        )
    }
}

const DEPTH: &str = "the filter's depth is not that of the input";
const BIAS: &str = "the bias has another length than the filter has outputs";
const RECURRENT: &str = "the recurrent weights have another shape than the state";
const STATE: &str = "the state has another size than the filters";

fn broadcast(size: i64, other: i64) -> Known<i64> {
    match (size, other) {
        (1, size) | (size, 1) => Ok(size),
        _ if size == other => Ok(size),
        _ => Err(Contradiction("operands that do not broadcast")),
    }
}

/// The dimensions before the last two, and those two.
fn split_matrix(mut shape: Shape, is_turned: bool) -> Known<(Shape, [i64; 2])> {
    let (Some(columns), Some(rows)) = (shape.pop(), shape.pop()) else {
        return Err(Contradiction("an operand is no matrix"));
    };
    let sizes = if is_turned {
        [columns, rows]
    } else {
        [rows, columns]
    };
    Ok((shape, sizes))
}

/// Positions of a window along the last `N` of depth, height and width.
fn positions<const N: usize>(
    sliding: Sliding,
    input: [i64; N],
    window: [i64; N],
) -> Known<[i64; N]> {
    let mut positions = [0; N];
    for (axis, n) in positions.iter_mut().enumerate() {
        let of = sliding.strides.len() - N + axis;
        let steps = [sliding.strides[of], sliding.dilations[of]];
        *n = n_window_positions(input[axis], window[axis], steps, sliding.padding)?;
    }
    Ok(positions)
}

/// Positions of a window of `size` values along one dimension; none where it does not fit, because a layer without
/// results would look as if it cost nothing.
fn n_window_positions(
    input: i64,
    size: i64,
    [stride, dilation]: [i32; 2],
    padding: Padding,
) -> Known<i64> {
    let [input, size] = [input, size].map(|size| i32::try_from(size).map_err(|_| Unknown));
    let (input, size) = (input?, size?);
    let is_window = size > 0 && stride > 0 && dilation > 0;
    require(is_window, "a window without a size or stride")?;
    let n = windows(input, size, stride, dilation, padding);
    match input {
        0 => Err(Unknown),
        _ => require(n > 0, "the window is larger than the input").map(|()| n),
    }
}
