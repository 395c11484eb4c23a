//! The shape of each operator's result after the shapes of its inputs changed.

mod layers;
mod layouts;

use std::collections::HashMap;

use super::{Channels, Resized};
use crate::formats::tflite::op_row::ShapeRule;
use crate::formats::tflite::{Buffer, BuiltinOptions, Operator, Subgraph};
use crate::graph::shapes::inference::{self, Unshaped};

/// Why an operator has no new shape, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Problem(pub &'static str);

const UNKNOWN: Problem =
    Problem("its result is not known to follow from the sizes of what it reads");
const APART: Problem = Problem("it reads tensors that no longer fit each other");
const ODD: Problem = Problem("its shape does not follow from what it reads");
const NOTHING_LEFT: Problem = Problem("nothing would be left to compute");
const PART: Problem = Problem("it takes a part of a dimension whose size changes");
const SHARED: Problem = Problem("it shares weights with a layer of another size");

impl From<Unshaped> for Problem {
    fn from(unshaped: Unshaped) -> Self {
        match unshaped {
            Unshaped::Unknown => UNKNOWN,
            Unshaped::Contradiction(why) => Self(why),
        }
    }
}

pub type Shape = Vec<i32>;
type Outcome = Result<(), Problem>;

/// The new sizes.
pub struct PropagatedShapes {
    /// By tensor.
    pub shapes: Vec<Shape>,
    /// By operator.
    pub pooling_windows: Vec<(usize, [i32; 2])>,
    pub resized: Resized,
}

/// The shapes of one round.
pub struct ShapePropagation<'f> {
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

impl<'f> ShapePropagation<'f> {
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
        for operator in subgraph.operators.iter() {
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
    pub fn propagate_all(&mut self) -> Result<(), (usize, Problem)> {
        for operator_idx in 0..self.subgraph.operators.len() {
            self.operator(operator_idx)
                .map_err(|problem| (operator_idx, problem))?;
        }
        Ok(())
    }

    pub fn finish(self) -> PropagatedShapes {
        let tensors = self
            .subgraph
            .tensors
            .iter()
            .zip(&self.shapes)
            .zip(&self.is_set);
        let is_changed = tensors.filter(|((tensor, shape), is_set)| {
            **is_set && tensor.shape != **shape && is_stored(self.buffers, tensor.buffer_idx)
        });
        PropagatedShapes {
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
        let call = OperatorCall {
            operator,
            operator_idx,
        };
        let has_units = operator.code.kind.row().shape.has_units();
        if has_units {
            self.resized.of_layers += 1;
        }
        let mut read = operator.inputs.iter().flatten();
        let is_fed = read.any(|&tensor_idx| self.has_changed(tensor_idx));
        let is_layer = has_units && !self.keeps_channels[operator_idx];
        if !is_fed && !is_layer {
            for &output in &operator.outputs {
                self.remember_area(output);
            }
            return Ok(());
        }
        self.shape_of(call)?;
        for &output in &operator.outputs {
            let is_empty = self.shapes[output].iter().any(|&size| size < 1);
            if is_empty && !self.old_shape(output).contains(&0) {
                return Err(NOTHING_LEFT);
            }
            self.remember_area(output);
        }
        Ok(())
    }

    /// Changes what does not follow from the shapes of inputs alone, and infers the rest as for a file without shapes.
    fn shape_of(&mut self, call: OperatorCall) -> Outcome {
        use BuiltinOptions as O;
        use ShapeRule as R;
        match (call.operator.code.kind.row().shape, &call.operator.options) {
            (R::Convolution, _) => self.convolution(call)?,
            (R::Depthwise, _) => self.depthwise(call)?,
            (R::Dense, O::FullyConnected { keep_num_dims, .. }) => {
                return self.dense(call, *keep_num_dims);
            }
            (R::Dense, _) => return self.dense(call, false),
            (R::TransposedConvolution, options) => return self.transposed(call, options),
            (R::Pool, options) => {
                if self.pools_whole_map(call, options)? {
                    return Ok(());
                }
            }
            (R::Concatenate, O::Concatenation { axis, .. }) => self.joined(call, *axis)?,
            (R::Reshape | R::Squeeze | R::ExpandDims, _) => return self.reshaped(call),
            (R::Slice, _) => return self.sliced(call, 0),
            (
                R::StridedSlice,
                O::StridedSlice {
                    ellipsis_mask: 0,
                    new_axis_mask: 0,
                    shrink_axis_mask,
                    ..
                },
            ) => return self.sliced(call, *shrink_axis_mask),
            (R::Resize, _) => return self.interpolated(call),
            (R::ShapeOf | R::RankOf, _) => return Ok(()),
            (R::AlongLast | R::Broadcast | R::Select, _) => return self.broadcast(call),
            // Sizes that a constant states are those of the file.
            (
                R::BroadcastTo
                | R::Concatenate
                | R::Own
                | R::Stated(_)
                | R::StridedSlice
                | R::TransposedConvolution3d
                | R::Unknown,
                _,
            ) => return Err(UNKNOWN),
            (
                R::AlongAxes
                | R::BatchToSpace
                | R::Best
                | R::Convolution3d
                | R::DepthToSpace
                | R::Gather
                | R::GatherByTuples
                | R::LikeFirst
                | R::LookUp
                | R::Lstm
                | R::OneHot
                | R::Pack
                | R::Pad
                | R::Product
                | R::Reduce
                | R::Rnn
                | R::SpaceToBatch
                | R::SpaceToDepth
                | R::Split
                | R::SplitBySizes
                | R::Svdf
                | R::Tile
                | R::TopK
                | R::Transpose
                | R::Unpack
                | R::Update,
                _,
            ) => {}
        }
        self.infer(call)
    }

    /// Shapes of all results by the rule of the operator, which has to hold for the sizes of the file.
    fn infer(&mut self, call: OperatorCall) -> Outcome {
        let computed = HashMap::new();
        let inferred = |shapes| {
            inference::rules::outputs(&inference::call::OperatorCall {
                tensors: &self.subgraph.tensors,
                shapes,
                buffers: self.buffers,
                computed: &computed,
                operator: call.operator,
            })
        };
        let (old, new) = (inferred(&[])?, inferred(&self.shapes)?);
        let mut results = Vec::new();
        let pairs = old.each().zip(new.each());
        for (&output, (old, new)) in call.operator.outputs.iter().zip(pairs) {
            let stored = self.old_shape(output).iter().copied().map(i64::from);
            if !stored.eq(old.iter().copied()) {
                return Err(ODD);
            }
            let sizes = new.iter().map(|&size| i32::try_from(size));
            let shape = sizes.collect::<Result<Shape, _>>().map_err(|_| ODD)?;
            results.push((output, shape));
        }
        for (output, shape) in results {
            self.shapes[output] = shape;
        }
        Ok(())
    }

    fn old_shape(&self, tensor_idx: usize) -> &'f [i32] {
        &self.subgraph.tensors[tensor_idx].shape
    }

    fn has_changed(&self, tensor_idx: usize) -> bool {
        self.shapes[tensor_idx] != self.old_shape(tensor_idx)
    }

    fn input(&self, call: OperatorCall, place: usize) -> Result<usize, Problem> {
        call.operator
            .inputs
            .get(place)
            .copied()
            .flatten()
            .ok_or(UNKNOWN)
    }

    fn output(&self, call: OperatorCall) -> Result<usize, Problem> {
        call.operator.outputs.first().copied().ok_or(UNKNOWN)
    }

    /// Old and new shape of an input that is four-dimensional, NHWC.
    fn image(&self, call: OperatorCall, place: usize) -> Result<[[i32; 4]; 2], Problem> {
        let tensor_idx = self.input(call, place)?;
        Ok([
            image(self.old_shape(tensor_idx))?,
            image(&self.shapes[tensor_idx])?,
        ])
    }

    fn set(&mut self, call: OperatorCall, shape: impl Into<Shape>) -> Outcome {
        let output = self.output(call)?;
        self.shapes[output] = shape.into();
        Ok(())
    }

    /// A constant takes a shape, with the constant that it is unpacked from.
    fn set_constant(&mut self, tensor_idx: usize, shape: &[i32]) -> Outcome {
        if self.subgraph.tensors[tensor_idx].sparsity.is_some()
            && self.old_shape(tensor_idx) != shape
        {
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
        if is_stored(self.buffers, stored) || self.old_shape(tensor_idx) == shape {
            return Ok(());
        }
        let unpacks = self.writers[tensor_idx].map(|idx| &self.subgraph.operators[idx]);
        let source = unpacks
            .filter(|operator| operator.code.kind.is_conversion())
            .and_then(|operator| operator.inputs.first().copied().flatten());
        match source {
            Some(source) => self.set_constant(source, shape),
            None => Err(UNKNOWN),
        }
    }

    fn set_bias(&mut self, call: OperatorCall, place: usize, n_channels: i32) -> Outcome {
        let bias = call.operator.inputs.get(place).copied().flatten();
        match bias {
            Some(bias) if self.is_constant[bias] && self.old_shape(bias).len() == 1 => {
                self.set_constant(bias, &[n_channels])
            }
            Some(bias) if !self.is_constant[bias] => Err(UNKNOWN),
            _ => Ok(()),
        }
    }

    /// Constant weights.
    fn filter(&self, call: OperatorCall) -> Result<usize, Problem> {
        let filter = self.input(call, 1)?;
        if self.is_constant[filter] {
            Ok(filter)
        } else {
            Err(UNKNOWN)
        }
    }

    /// Channels of a layer that had `old`.
    fn resized_units(&mut self, call: OperatorCall, old: i32) -> i32 {
        let units = if self.keeps_channels[call.operator_idx] {
            old
        } else {
            self.channels.resized(old)
        };
        self.resized.n_layers += usize::from(units != old);
        units
    }

    /// Dimensions of all operands and the result, from the last on: equal, or 1 in an operand.
    fn broadcast(&mut self, call: OperatorCall) -> Outcome {
        let read: Vec<usize> = call.operator.inputs.iter().flatten().copied().collect();
        let output = self.output(call)?;
        let old_out = self.old_shape(output);
        let mut shape = old_out.to_vec();
        for (from_end, size) in shape.iter_mut().rev().enumerate() {
            let old_size = *size;
            let mut is_told = false;
            for &tensor_idx in read.iter().filter(|&&t| !self.is_constant[t]) {
                let size_of =
                    |shape: &[i32]| shape.len().checked_sub(from_end + 1).map(|at| shape[at]);
                let (Some(old), Some(new)) = (
                    size_of(self.old_shape(tensor_idx)),
                    size_of(&self.shapes[tensor_idx]),
                ) else {
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
            let old = self.old_shape(tensor_idx);
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

    fn remember_area(&mut self, tensor_idx: usize) {
        if let (&[_, h, w, _], &[_, new_h, new_w, _]) = (
            self.old_shape(tensor_idx),
            self.shapes[tensor_idx].as_slice(),
        ) && !self.is_constant[tensor_idx]
        {
            self.areas.insert([h, w], [new_h, new_w]);
        }
    }
}

#[derive(Clone, Copy)]
struct OperatorCall<'f> {
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
