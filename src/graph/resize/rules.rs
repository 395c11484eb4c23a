//! What each operator makes of inputs that have another shape.

use std::collections::HashMap;

use super::reshape::{product, reshaped};
use super::{Channels, Resized};
use crate::formats::tflite::{
    Buffer, BuiltinOptions, OpKind, Operator, Padding, Subgraph, TensorType, dimension, integers,
};
use crate::graph::analysis::contradictions::windows;
use crate::graph::kinds::{BROADCASTING, REDUCING};

/// Why an operator has no new shape, in words that follow its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem(pub &'static str);

const UNKNOWN: Problem = Problem("is not known to follow from the sizes of what it reads");
const APART: Problem = Problem("meets tensors that no longer fit each other");
const ODD: Problem = Problem("has a shape that does not follow from what it reads");
const NOTHING_LEFT: Problem = Problem("would have nothing left to compute");
const PART: Problem = Problem("takes a part of a dimension whose size changes");
const SHARED: Problem = Problem("shares weights with a layer of another size");

pub type Shape = Vec<i32>;
type Outcome = Result<(), Problem>;

/// Whether the operator's weights decide how many channels it gives.
pub fn has_units(operator: &Operator) -> bool {
    matches!(
        operator.code.kind,
        OpKind::Conv2d | OpKind::FullyConnected | OpKind::TransposeConv
    )
}

/// What has another size.
pub struct Followed {
    /// By tensor.
    pub shapes: Vec<Shape>,
    /// By operator.
    pub pooling_windows: Vec<(usize, [i32; 2])>,
    pub resized: Resized,
}

/// The shapes of one round.
pub struct Follow<'f> {
    subgraph: &'f Subgraph,
    buffers: &'f [Buffer<'f>],
    channels: Channels,
    /// By tensor, the operator that writes it.
    writers: &'f [Option<usize>],
    /// By operator: whether its number of channels stays.
    keeps_channels: &'f [bool],
    shapes: Vec<Shape>,
    /// By tensor: contents are constant, or computed from constants alone.
    is_constant: Vec<bool>,
    /// By tensor: a constant that has its new shape.
    is_set: Vec<bool>,
    /// New height and width of feature maps, by the old ones.
    areas: HashMap<[i32; 2], [i32; 2]>,
    /// New windows of poolings over whole feature maps, by operator.
    pooling_windows: Vec<(usize, [i32; 2])>,
    resized: Resized,
}

impl<'f> Follow<'f> {
    pub fn new(
        subgraph: &'f Subgraph,
        buffers: &'f [Buffer<'f>],
        inputs: &[(usize, Shape)],
        channels: Channels,
        writers: &'f [Option<usize>],
        keeps_channels: &'f [bool],
    ) -> Self {
        let tensors = &subgraph.tensors;
        let mut shapes: Vec<Shape> = tensors.iter().map(|tensor| tensor.shape.clone()).collect();
        for (tensor_idx, shape) in inputs {
            shapes[*tensor_idx].clone_from(shape);
        }
        let mut is_constant: Vec<bool> = tensors
            .iter()
            .map(|tensor| is_stored(buffers, tensor.buffer_idx))
            .collect();
        for operator in &subgraph.operators {
            let mut read = operator.inputs.iter().flatten();
            if !operator.inputs.is_empty() && read.all(|&tensor_idx| is_constant[tensor_idx]) {
                for &output in &operator.outputs {
                    is_constant[output] = true;
                }
            }
        }
        let mut follow = Self {
            subgraph,
            buffers,
            channels,
            writers,
            keeps_channels,
            shapes,
            is_set: vec![false; is_constant.len()],
            is_constant,
            areas: HashMap::new(),
            pooling_windows: Vec::new(),
            resized: Resized::default(),
        };
        for (tensor_idx, _) in inputs {
            follow.remember_area(*tensor_idx);
        }
        follow
    }

    /// Shapes of all operators' results. The error has the operator's index.
    pub fn all(&mut self) -> Result<(), (usize, Problem)> {
        for operator_idx in 0..self.subgraph.operators.len() {
            self.operator(operator_idx)
                .map_err(|problem| (operator_idx, problem))?;
        }
        Ok(())
    }

    pub fn finish(self) -> Followed {
        let tensors = self
            .subgraph
            .tensors
            .iter()
            .zip(&self.shapes)
            .zip(&self.is_set);
        let is_changed = tensors.filter(|((tensor, shape), is_set)| {
            **is_set && tensor.shape != **shape && is_stored(self.buffers, tensor.buffer_idx)
        });
        Followed {
            resized: Resized {
                n_constants: is_changed.count(),
                ..self.resized
            },
            shapes: self.shapes,
            pooling_windows: self.pooling_windows,
        }
    }

    fn operator(&mut self, operator_idx: usize) -> Outcome {
        let subgraph = self.subgraph;
        let operator = &subgraph.operators[operator_idx];
        let call = Call {
            operator,
            operator_idx,
        };
        if has_units(operator) {
            self.resized.of_layers += 1;
        }
        let mut read = operator.inputs.iter().flatten();
        let is_fed = read.any(|&tensor_idx| self.has_changed(tensor_idx));
        let is_layer = has_units(operator) && !self.keeps_channels[operator_idx];
        if !is_fed && !is_layer {
            for &output in &operator.outputs {
                self.remember_area(output);
            }
            return Ok(());
        }
        self.shape_of(call)?;
        for &output in &operator.outputs {
            let is_empty = self.shapes[output].iter().any(|&size| size < 1);
            if is_empty && !self.old(output).contains(&0) {
                return Err(NOTHING_LEFT);
            }
            self.remember_area(output);
        }
        Ok(())
    }

    fn shape_of(&mut self, call: Call) -> Outcome {
        use BuiltinOptions as O;
        match (call.operator.code.kind, &call.operator.options) {
            (OpKind::Conv2d, options) => self.convolution(call, options),
            (OpKind::DepthwiseConv2d, options) => self.depthwise(call, options),
            (OpKind::FullyConnected, O::FullyConnected { keep_num_dims, .. }) => {
                self.dense(call, *keep_num_dims)
            }
            (OpKind::FullyConnected, _) => self.dense(call, false),
            (OpKind::TransposeConv, options) => self.transposed(call, options),
            (OpKind::AveragePool2d | OpKind::MaxPool2d | OpKind::L2Pool2d, options) => {
                self.pooled(call, options)
            }
            (OpKind::BatchMatmul, O::BatchMatMul { adj_x, adj_y }) => {
                self.product(call, *adj_x, *adj_y)
            }
            (OpKind::Concatenation, O::Concatenation { axis, .. }) => self.joined(call, *axis),
            (OpKind::Pack, O::Pack { axis, .. }) => self.packed(call, *axis),
            (OpKind::Unpack, O::Unpack { axis, .. }) => self.unpacked(call, *axis),
            (OpKind::Split, O::Split { num_splits }) => self.split(call, *num_splits),
            (OpKind::Reshape | OpKind::Squeeze | OpKind::ExpandDims, _) => self.reshaped(call),
            (OpKind::Pad | OpKind::Padv2 | OpKind::MirrorPad, _) => self.padded(call),
            (OpKind::Tile, _) => self.tiled(call),
            (OpKind::Slice, _) => self.sliced(call, 0),
            (
                OpKind::StridedSlice,
                O::StridedSlice {
                    ellipsis_mask: 0,
                    new_axis_mask: 0,
                    shrink_axis_mask,
                    ..
                },
            ) => self.sliced(call, *shrink_axis_mask),
            (OpKind::Transpose, _) => self.turned(call),
            (OpKind::ArgMax | OpKind::ArgMin, _) => self.reduced(call, false),
            (kind, O::Reducer { keep_dims }) if REDUCING.contains(&kind) => {
                self.reduced(call, *keep_dims)
            }
            (OpKind::ResizeBilinear | OpKind::ResizeNearestNeighbor, _) => self.interpolated(call),
            (OpKind::DepthToSpace, O::DepthToSpace { block_size }) => {
                self.blocks(call, *block_size, true)
            }
            (OpKind::SpaceToDepth, O::SpaceToDepth { block_size }) => {
                self.blocks(call, *block_size, false)
            }
            (OpKind::Shape | OpKind::Rank, _) => Ok(()),
            (kind, _) if BROADCASTING.contains(&kind) || SHAPE_KEEPING.contains(&kind) => {
                self.broadcast(call)
            }
            _ => Err(UNKNOWN),
        }
    }

    fn old(&self, tensor_idx: usize) -> &'f [i32] {
        &self.subgraph.tensors[tensor_idx].shape
    }

    fn has_changed(&self, tensor_idx: usize) -> bool {
        self.shapes[tensor_idx] != self.old(tensor_idx)
    }

    fn input(&self, call: Call, place: usize) -> Result<usize, Problem> {
        call.operator
            .inputs
            .get(place)
            .copied()
            .flatten()
            .ok_or(UNKNOWN)
    }

    fn output(&self, call: Call) -> Result<usize, Problem> {
        call.operator.outputs.first().copied().ok_or(UNKNOWN)
    }

    /// Old and new shape of an input that is four-dimensional, NHWC.
    fn image(&self, call: Call, place: usize) -> Result<[[i32; 4]; 2], Problem> {
        let tensor_idx = self.input(call, place)?;
        Ok([
            image(self.old(tensor_idx))?,
            image(&self.shapes[tensor_idx])?,
        ])
    }

    fn integers(&self, call: Call, place: usize) -> Result<Vec<i32>, Problem> {
        let tensor = &self.subgraph.tensors[self.input(call, place)?];
        let contents = self.buffers.get(tensor.buffer_idx).map(Buffer::bytes);
        let values: Vec<i32> = integers(contents.unwrap_or_default()).collect();
        let is_known = tensor.tensor_type == TensorType::Int32 && !values.is_empty();
        if is_known { Ok(values) } else { Err(UNKNOWN) }
    }

    fn set(&mut self, call: Call, shape: impl Into<Shape>) -> Outcome {
        let output = self.output(call)?;
        self.shapes[output] = shape.into();
        Ok(())
    }

    /// A constant takes a shape, with the constant that it is unpacked from.
    fn set_constant(&mut self, tensor_idx: usize, shape: &[i32]) -> Outcome {
        if self.subgraph.tensors[tensor_idx].sparsity.is_some() && self.old(tensor_idx) != shape {
            return Err(UNKNOWN);
        }
        if std::mem::replace(&mut self.is_set[tensor_idx], true) {
            return if self.shapes[tensor_idx] == shape {
                Ok(())
            } else {
                Err(SHARED)
            };
        }
        self.shapes[tensor_idx] = shape.to_vec();
        let stored = self.subgraph.tensors[tensor_idx].buffer_idx;
        if is_stored(self.buffers, stored) || self.old(tensor_idx) == shape {
            return Ok(());
        }
        let unpacks = self.writers[tensor_idx].map(|idx| &self.subgraph.operators[idx]);
        let source = unpacks.and_then(|operator| match operator.code.kind {
            OpKind::Dequantize | OpKind::Quantize | OpKind::Cast => {
                operator.inputs.first().copied().flatten()
            }
            _ => None,
        });
        match source {
            Some(source) => self.set_constant(source, shape),
            None => Err(UNKNOWN),
        }
    }

    fn set_bias(&mut self, call: Call, place: usize, n_channels: i32) -> Outcome {
        let bias = call.operator.inputs.get(place).copied().flatten();
        match bias {
            Some(bias) if self.is_constant[bias] && self.old(bias).len() == 1 => {
                self.set_constant(bias, &[n_channels])
            }
            Some(bias) if !self.is_constant[bias] => Err(UNKNOWN),
            _ => Ok(()),
        }
    }

    /// Constant weights.
    fn filter(&self, call: Call) -> Result<usize, Problem> {
        let filter = self.input(call, 1)?;
        if self.is_constant[filter] {
            Ok(filter)
        } else {
            Err(UNKNOWN)
        }
    }

    /// Channels of a layer that had `old`.
    fn units(&mut self, call: Call, old: i32) -> i32 {
        let units = match self.keeps_channels[call.operator_idx] {
            true => old,
            false => self.channels.resized(old),
        };
        self.resized.n_layers += usize::from(units != old);
        units
    }

    /// Filter `[out, h, w, in / groups]`.
    fn convolution(&mut self, call: Call, options: &BuiltinOptions) -> Outcome {
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
    fn depthwise(&mut self, call: Call, options: &BuiltinOptions) -> Outcome {
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

    fn pooled(&mut self, call: Call, options: &BuiltinOptions) -> Outcome {
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
    fn slid(
        &self,
        call: Call,
        [old, new]: [[i32; 4]; 2],
        window: [[i32; 3]; 2],
        padding: Padding,
    ) -> Result<[i32; 2], Problem> {
        let found = image(self.old(self.output(call)?))?;
        let mut area = [0; 2];
        for (side, [size, stride, dilation]) in window.into_iter().enumerate() {
            let over = |input: i32| windows(input, size, stride, dilation, padding);
            if over(old[side + 1]) != i64::from(found[side + 1]) {
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
    fn transposed(&mut self, call: Call, options: &BuiltinOptions) -> Outcome {
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
    fn dense(&mut self, call: Call, keep_num_dims: bool) -> Outcome {
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

    fn product(&mut self, call: Call, adj_x: bool, adj_y: bool) -> Outcome {
        let places = [(self.input(call, 0)?, adj_x), (self.input(call, 1)?, adj_y)];
        let output = self.output(call)?;
        let rank = self.old(output).len();
        let mut matrices = [[0; 2]; 2];
        let mut shape = self.old(output).to_vec();
        for (found, (tensor_idx, is_turned)) in matrices.iter_mut().zip(places) {
            let new = &self.shapes[tensor_idx];
            let (&[.., rows, columns], true) = (new.as_slice(), new.len() == rank) else {
                return Err(UNKNOWN);
            };
            *found = if is_turned {
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

    /// Dimensions of all operands and the result, from the last on: equal, or 1 in an operand.
    fn broadcast(&mut self, call: Call) -> Outcome {
        let read: Vec<usize> = call.operator.inputs.iter().flatten().copied().collect();
        let output = self.output(call)?;
        let old_out = self.old(output);
        let mut shape = old_out.to_vec();
        for (from_end, size) in shape.iter_mut().rev().enumerate() {
            let old_size = *size;
            let mut is_told = false;
            for &tensor_idx in read.iter().filter(|&&t| !self.is_constant[t]) {
                let of = |shape: &[i32]| shape.len().checked_sub(from_end + 1).map(|at| shape[at]);
                let (Some(old), Some(new)) =
                    (of(self.old(tensor_idx)), of(&self.shapes[tensor_idx]))
                else {
                    continue;
                };
                if old == old_size {
                    if is_told && new != *size {
                        return Err(APART);
                    }
                    (*size, is_told) = (new, true);
                } else if old != 1 {
                    return Err(ODD);
                } else if new != 1 {
                    return Err(APART);
                }
            }
        }
        let constants: Vec<usize> = read.into_iter().filter(|&t| self.is_constant[t]).collect();
        for tensor_idx in constants {
            let old = self.old(tensor_idx);
            let skipped = old_out.len().checked_sub(old.len()).ok_or(ODD)?;
            let pairs = old.iter().zip(old_out.iter().zip(&shape).skip(skipped));
            let fitted = pairs.map(|(&size, (&old_size, &new_size))| match size {
                1 => Ok(1),
                size if size == old_size => Ok(new_size),
                _ => Err(ODD),
            });
            let fitted: Shape = fitted.collect::<Result<_, _>>()?;
            self.set_constant(tensor_idx, &fitted)?;
        }
        self.set(call, shape)
    }

    fn joined(&mut self, call: Call, axis: i32) -> Outcome {
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
            let mut own = shape.clone();
            let of = if self.is_constant[tensor_idx] {
                self.old(tensor_idx)
            } else {
                &self.shapes[tensor_idx]
            };
            let size = *of.get(axis).ok_or(ODD)?;
            total = total.checked_add(size).ok_or(ODD)?;
            own[axis] = size;
            if self.is_constant[tensor_idx] {
                self.set_constant(tensor_idx, &own)?;
            }
        }
        shape[axis] = total;
        self.set(call, shape)
    }

    fn packed(&mut self, call: Call, axis: i32) -> Outcome {
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

    fn unpacked(&mut self, call: Call, axis: i32) -> Outcome {
        let input = self.input(call, 0)?;
        let mut shape = self.shapes[input].clone();
        let axis = dimension(axis, shape.len()).ok_or(ODD)?;
        if shape.remove(axis) != self.old(input)[axis] {
            return Err(PART);
        }
        self.set_all(call, &shape);
        Ok(())
    }

    fn set_all(&mut self, call: Call, shape: &[i32]) {
        for &output in &call.operator.outputs {
            self.shapes[output] = shape.to_vec();
        }
    }

    fn split(&mut self, call: Call, n_parts: i32) -> Outcome {
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

    fn reshaped(&mut self, call: Call) -> Outcome {
        let (input, output) = (self.input(call, 0)?, self.output(call)?);
        let shape = reshaped(self.old(input), &self.shapes[input], self.old(output));
        self.set(call, shape.ok_or(UNKNOWN)?)
    }

    /// As many rows and columns are added as before.
    fn padded(&mut self, call: Call) -> Outcome {
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

    fn tiled(&mut self, call: Call) -> Outcome {
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
    fn sliced(&mut self, call: Call, shrink_axis_mask: i32) -> Outcome {
        let (input, output) = (self.input(call, 0)?, self.output(call)?);
        let (old, new) = (self.old(input), self.shapes[input].clone());
        let mut results = self.old(output).iter();
        let mut shape = Shape::new();
        for (at, (old, new)) in old.iter().zip(&new).enumerate() {
            let is_shrunk = at < 31 && shrink_axis_mask >> at & 1 == 1;
            match is_shrunk {
                true if old == new => {}
                true => return Err(PART),
                false => {
                    let old_out = results.next().ok_or(ODD)?;
                    match old == new {
                        true => shape.push(*old_out),
                        false if old_out == old => shape.push(*new),
                        false => return Err(PART),
                    }
                }
            }
        }
        if results.next().is_some() {
            return Err(ODD);
        }
        self.set(call, shape)
    }

    fn turned(&mut self, call: Call) -> Outcome {
        let order = self.integers(call, 1)?;
        let new = &self.shapes[self.input(call, 0)?];
        let sizes = order
            .iter()
            .map(|&at| dimension(at, new.len()).map(|at| new[at]).ok_or(ODD));
        let shape: Shape = sizes.collect::<Result<_, _>>()?;
        self.set(call, shape)
    }

    fn reduced(&mut self, call: Call, keep_dims: bool) -> Outcome {
        let axes = self.integers(call, 1)?;
        let new = &self.shapes[self.input(call, 0)?];
        let axes = axes
            .iter()
            .map(|&axis| dimension(axis, new.len()).ok_or(ODD));
        let axes: Vec<usize> = axes.collect::<Result<_, _>>()?;
        let sizes = new.iter().enumerate();
        let shape: Shape = match keep_dims {
            true => sizes
                .map(|(at, &size)| if axes.contains(&at) { 1 } else { size })
                .collect(),
            false => sizes
                .filter(|(at, _)| !axes.contains(at))
                .map(|(_, &size)| size)
                .collect(),
        };
        self.set(call, shape)
    }

    /// To the size of a feature map that was as large before, else by the same factor.
    fn interpolated(&mut self, call: Call) -> Outcome {
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

    fn blocks(&mut self, call: Call, side: i32, to_space: bool) -> Outcome {
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
        match to_space {
            true => self.set(call, [n, times(h, side)?, times(w, side)?, c / square]),
            false => self.set(call, [n, h / side, w / side, times(c, square)?]),
        }
    }

    fn remember_area(&mut self, tensor_idx: usize) {
        if let (&[_, h, w, _], &[_, new_h, new_w, _]) =
            (self.old(tensor_idx), self.shapes[tensor_idx].as_slice())
            && !self.is_constant[tensor_idx]
        {
            self.areas.insert([h, w], [new_h, new_w]);
        }
    }
}

#[derive(Clone, Copy)]
struct Call<'f> {
    operator: &'f Operator,
    operator_idx: usize,
}

fn is_stored(buffers: &[Buffer], buffer_idx: usize) -> bool {
    buffers
        .get(buffer_idx)
        .is_some_and(|contents| !contents.is_empty())
}

fn image(shape: &[i32]) -> Result<[i32; 4], Problem> {
    shape.try_into().map_err(|_| UNKNOWN)
}

/// What works along the last dimension and keeps shapes.
const SHAPE_KEEPING: &[OpKind] = &[
    OpKind::Cumsum,
    OpKind::L2Normalization,
    OpKind::LocalResponseNormalization,
    OpKind::LogSoftmax,
    OpKind::Softmax,
];
