//! Operators that move, slice and concatenate values, and those that remove dimensions.

use std::iter;

use super::Converter;
use super::fold::{range_of_slice, reshaped, squeezed, unsqueezed};
use super::reductions::reduction;
use super::value::{
    self, Constant, Perm, Place, Value, axes, axis, exact_integer, identity, narrow, narrow_all,
    order_without, product, stored_axis, stored_shape,
};
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::Node;
use crate::formats::tflite::{Activation, BuiltinOptions, MirrorPadMode, OpKind};

impl<'a> Converter<'a> {
    pub(super) fn layout(&mut self, node: &'a Node<'a>) -> Option<()> {
        let output = self.output(node)?;
        let (x, shape) = self.input_with_shape(node, 0)?;
        match node.text.op_type {
            "Transpose" => self.transpose(node, output, &x, &shape),
            "Reshape" => {
                let to = self.list(node, "shape", 1)?;
                let to = reshaped(&shape, &to, node.integer("allowzero") == Some(1))?;
                self.reshape(output, &x, &shape, to)
            }
            "Flatten" => self.reshape(output, &x, &shape, flattened(node, &shape)?),
            "Squeeze" => {
                let axes = self.optional_list(node, "axes", 1)?;
                let to = squeezed(&shape, axes.as_deref())?;
                self.reshape(output, &x, &shape, to)
            }
            "Unsqueeze" => {
                let to = unsqueezed(&shape, &self.list(node, "axes", 1)?)?;
                self.reshape(output, &x, &shape, to)
            }
            "Concat" => self.concat(node, output),
            "Split" => self.split(node, &x, &shape),
            "Slice" => self.slice(node, output, &x, shape),
            "Gather" => self.gather(node, output, &x, &shape),
            "Expand" => {
                let to = value::broadcast(&[&shape, &self.input(node, 1)?.integers()?])?;
                self.repeat_to_shape(OpKind::BroadcastTo, output, &x, to)
            }
            "Tile" => {
                let to = tiled(&shape, &self.input(node, 1)?.integers()?)?;
                self.repeat_to_shape(OpKind::Tile, output, &x, to)
            }
            "Pad" => self.pad(node, output, &x, shape),
            "Resize" | "Upsample" => self.resize(node, output, &x, &shape),
            "DepthToSpace" | "SpaceToDepth" => {
                self.depth_to_space_or_back(node, output, &x, &shape)
            }
            "ArgMax" | "ArgMin" => self.arg_extreme(node, output, &x, shape),
            "CumSum" => self.cumulative_sum(node, output, &x, shape),
            "TopK" => self.top_k(node, &x, shape),
            _ => self.reduced(node, output, &x, shape),
        }
    }

    fn cumulative_sum(
        &mut self,
        node: &'a Node<'a>,
        output: Name<'a>,
        x: &Value<'a>,
        shape: Vec<i64>,
    ) -> Option<()> {
        let axis = axis(
            self.input(node, 1)?.number().and_then(exact_integer)?,
            shape.len(),
        )?;
        let (perm, tensor) = (x.perm()?, self.stored_tensor(x)?);
        let along = self.integers("axis", &[stored_axis(axis, &perm)?]);
        let options = BuiltinOptions::Cumsum {
            exclusive: node.integer("exclusive") == Some(1),
            reverse: node.integer("reverse") == Some(1),
        };
        self.operator(
            OpKind::Cumsum,
            vec![Some(tensor), Some(along)],
            output,
            x.tensor_type,
            shape,
            perm,
            options,
        )
    }

    /// A [`reduction`].
    fn reduced(
        &mut self,
        node: &'a Node<'a>,
        output: Name<'a>,
        x: &Value<'a>,
        shape: Vec<i64>,
    ) -> Option<()> {
        let reduction = reduction(node.text.op_type)?;
        let axes = self.reduced_axes(node, shape.len())?;
        if axes.is_empty() {
            reduction.is_plain().then_some(())?;
            return self.alias(output, x, shape, x.perm()?);
        }
        let keeps_dimensions = node.integer("keepdims").unwrap_or(1) == 1;
        self.reduce(reduction, x, output, &axes, keeps_dimensions)
    }

    /// No values move: the dimensions get other places.
    fn transpose(
        &mut self,
        node: &'a Node<'a>,
        output: Name<'a>,
        x: &Value<'a>,
        shape: &[i64],
    ) -> Option<()> {
        let order = node.integers("perm");
        let order: Vec<usize> = match order {
            None => (0..shape.len()).rev().collect(),
            Some(order) => axes(&order, shape.len())?,
        };
        (order.len() == shape.len()).then_some(())?;
        let to = stored_shape(shape, &order)?;
        if x.is_constant() {
            let mut turned = x.clone();
            if let (super::Place::Constant(constant), false) = (
                &mut turned.place,
                value::same_order(shape, &order, &identity(shape.len())),
            ) {
                constant.known = None;
            }
            return self.alias(output, &turned, to, Perm::new());
        }
        let perm = x.perm()?;
        let moved = perm
            .iter()
            .map(|axis| order.iter().position(|from| from == axis));
        self.alias(output, x, to, moved.collect::<Option<_>>()?)
    }

    pub(super) fn reshape(
        &mut self,
        output: Name<'a>,
        x: &Value<'a>,
        shape: &[i64],
        to: Vec<i64>,
    ) -> Option<()> {
        if x.is_constant() {
            return self.alias(output, x, to, Perm::new());
        }
        let perm = x.perm()?;
        // A mean over an image needs no second operator to lose its dimensions of 1.
        if let Some(operator_idx) = self.only_writer(x)
            && shape.len() == 4
            && let ([1, 1], [n, c]) = (shape.get(2..)?, to.as_slice())
            && shape.get(..2) == Some(&[*n, *c])
            && let Some(operator) = self.network.builder.operators.get_mut(operator_idx)
            && let BuiltinOptions::Reducer { keep_dims } = &mut operator.options
        {
            *keep_dims = false;
            let tensor = self.network.builder.tensors.get_mut(x.tensor_idx()?)?;
            tensor.name = (*output).into();
            tensor.shape = vec![narrow(*n)?, narrow(*c)?];
            return self.alias(output, x, to, identity(2));
        }
        let (tensor, perm) = match value::reshaped(shape, &perm, &to) {
            Some(perm) => (self.stored_tensor(x)?, perm),
            None => (
                self.tensor_in_order(x, &identity(shape.len()))?,
                identity(to.len()),
            ),
        };
        let sides = stored_shape(&to, &perm)?;
        let of_type = self.network.builder.tensors.get(tensor)?.tensor_type;
        if self.network.builder.tensors.get(tensor)?.shape == narrow_all(&sides)?
            && x.tensor_idx() == Some(tensor)
        {
            return self.alias(output, x, to, perm);
        }
        let reshaped = self.reshaped_tensor(tensor, &output, of_type, &sides)?;
        self.define(output, x.tensor_type, to, reshaped, perm);
        Some(())
    }

    fn concat(&mut self, node: &'a Node<'a>, output: Name<'a>) -> Option<()> {
        let values = (0..node.inputs.len()).map(|at| self.input(node, at));
        let values: Vec<Value> = values.collect::<Option<_>>()?;
        self.concat_values(node, output, &values)
    }

    pub(super) fn concat_values(
        &mut self,
        node: &Node<'a>,
        output: Name<'a>,
        values: &[Value<'a>],
    ) -> Option<()> {
        let first = values.first()?;
        let rank = first.rank()?;
        let along = axis(node.integer("axis")?, rank)?;
        let widest = values
            .iter()
            .filter(|value| !value.is_constant())
            .max_by_key(|value| value.n_values());
        let perm = widest
            .and_then(Value::perm)
            .unwrap_or_else(|| identity(rank));
        let mut shape = first.shape.clone()?;
        *shape.get_mut(along)? = 0;
        let mut inputs = Vec::with_capacity(values.len());
        for value in values {
            (value.rank() == Some(rank)).then_some(())?;
            let side = shape.get_mut(along)?;
            *side = side.checked_add(*value.shape.as_ref()?.get(along)?)?;
            inputs.push(Some(self.tensor_in_order(value, &perm)?));
        }
        let options = BuiltinOptions::Concatenation {
            axis: stored_axis(along, &perm)?,
            activation: Activation::None,
        };
        self.operator(
            OpKind::Concatenation,
            inputs,
            output,
            first.tensor_type,
            shape,
            perm,
            options,
        )
    }

    fn split(&mut self, node: &'a Node<'a>, x: &Value<'a>, shape: &[i64]) -> Option<()> {
        let along = axis(node.integer("axis").unwrap_or(0), shape.len())?;
        let side = *shape.get(along)?;
        let n = i64::try_from(node.outputs.len()).ok()?;
        let sizes = match self.optional_list(node, "split", 1)? {
            Some(sizes) => sizes,
            None => {
                let each = side.checked_add(n)?.checked_sub(1)?.checked_div(n)?;
                equal_sizes(side, each, n)?
            }
        };
        (sizes.len() == node.outputs.len()).then_some(())?;
        let parts = self.undefined_parts(x, shape, along, &sizes, &node.outputs)?;
        for part in parts.into_iter().filter(|part| !part.name.is_empty()) {
            match part.place {
                Place::Tensor { tensor_idx, perm } => {
                    self.define(part.name, part.tensor_type, part.shape?, tensor_idx, perm);
                }
                Place::Constant(_) | Place::Sequence(_) => {
                    self.names.values.insert(part.name, part);
                }
            }
        }
        Some(())
    }

    /// Parts of these sizes along a dimension, none of which is defined yet. `names` may be fewer.
    pub(super) fn undefined_parts(
        &mut self,
        x: &Value<'a>,
        shape: &[i64],
        along: usize,
        sizes: &[i64],
        names: &[Name<'a>],
    ) -> Option<Vec<Value<'a>>> {
        let sum = sizes.iter().try_fold(0i64, |sum, size| {
            sum.checked_add(*size).filter(|_| *size >= 0)
        })?;
        (sum == *shape.get(along)?).then_some(())?;
        self.limits.spend_operator(sizes.len())?;
        let perm = x.perm();
        let names = names.iter().copied().chain(iter::repeat(Name::default()));
        let mut parts = Vec::with_capacity(sizes.len());
        for (&size, name) in sizes.iter().zip(names) {
            let mut part = shape.to_vec();
            *part.get_mut(along)? = size;
            let place = match &perm {
                _ if x.is_constant() => Place::Constant(Constant {
                    n_stored: x.constant()?.n_stored,
                    ..Constant::default()
                }),
                perm => Place::Tensor {
                    tensor_idx: self.tensor(&name, x.tensor_type, &part, perm.as_ref()?)?,
                    perm: perm.clone()?,
                },
            };
            parts.push(Value {
                name,
                tensor_type: x.tensor_type,
                shape: Some(part),
                place,
            });
        }
        if x.is_constant() {
            return Some(parts);
        }
        self.split_operator(x, stored_axis(along, &perm?)?, sizes, &parts)?;
        Some(parts)
    }

    /// The operator that writes `parts` of a computed value, along an axis of its tensor.
    fn split_operator(
        &mut self,
        x: &Value<'a>,
        axis: i32,
        sizes: &[i64],
        parts: &[Value<'a>],
    ) -> Option<()> {
        let tensor = self.stored_tensor(x)?;
        let axis = self.network.builder.integers("axis", vec![], &[axis]);
        let is_equal = sizes.iter().all(|size| Some(size) == sizes.first());
        let num_splits = i32::try_from(sizes.len()).ok()?;
        let (kind, inputs, options) = if is_equal {
            (
                OpKind::Split,
                vec![Some(axis), Some(tensor)],
                BuiltinOptions::Split { num_splits },
            )
        } else {
            let sizes = self.integers("size_splits", &narrow_all(sizes)?);
            let inputs = vec![Some(tensor), Some(sizes), Some(axis)];
            (
                OpKind::SplitV,
                inputs,
                BuiltinOptions::SplitV { num_splits },
            )
        };
        let outputs: Vec<usize> = parts.iter().filter_map(Value::tensor_idx).collect();
        let operator_idx = self
            .network
            .builder
            .operator(kind, inputs, outputs.clone(), options);
        self.network.writers.extend(
            outputs
                .into_iter()
                .map(|tensor_idx| (tensor_idx, operator_idx)),
        );
        Some(())
    }

    fn slice(
        &mut self,
        node: &'a Node<'a>,
        output: Name<'a>,
        x: &Value<'a>,
        mut shape: Vec<i64>,
    ) -> Option<()> {
        let (starts, ends) = (self.list(node, "starts", 1)?, self.list(node, "ends", 2)?);
        let axes = match self.optional_list(node, "axes", 3)? {
            Some(named) => axes(&named, shape.len())?,
            None => (0..starts.len()).collect(),
        };
        let steps = self.optional_list(node, "steps", 4)?;
        let steps = steps.unwrap_or_else(|| vec![1; starts.len()]);
        let mut cuts: Vec<[i64; 3]> = shape.iter().map(|&side| [0, side, 1]).collect();
        for (place, &at) in axes.iter().enumerate() {
            let (start, end, step) = (*starts.get(place)?, *ends.get(place)?, *steps.get(place)?);
            let side = shape.get_mut(at)?;
            let (first, n) = range_of_slice(*side, start, end, step)?;
            let last = first.checked_add(n.checked_mul(step)?)?;
            // Backwards to the first value, the end lies before it, and TFLite counts negative ends from the last one.
            let end = if last < 0 {
                last.checked_sub(*side)?
            } else {
                last
            };
            *cuts.get_mut(at)? = [first, end, step];
            *side = n;
        }
        if Some(&shape) == x.shape.as_ref() && cuts.iter().all(|[_, _, step]| *step == 1) {
            return self.alias(output, x, shape, x.perm()?);
        }
        self.strided_slice(output, x, &cuts, shape, None)
    }

    /// The part that remains after a crop by negative paddings.
    fn crop_by_negative_paddings(&mut self, x: &Value<'a>, pads: &[[i64; 2]]) -> Option<usize> {
        let shape = x.shape.as_ref()?;
        let perm = x.perm()?;
        let cut = |(&side, pads): (&i64, &[i64; 2])| {
            let [first, behind] = pads.map(|pad| pad.min(0).saturating_neg());
            let last = side.checked_sub(behind)?;
            (first <= last).then_some([first, last, 1])
        };
        let cuts = shape.iter().zip(pads).map(cut);
        let cuts: Vec<[i64; 3]> = cuts.collect::<Option<_>>()?;
        let left: Vec<i64> = cuts
            .iter()
            .map(|[first, last, _]| last.saturating_sub(*first))
            .collect();
        let inputs = self.slice_inputs(x, &perm, &cuts)?;
        let name = format!("{}/cropped", x.name);
        let options = slice_options(0);
        let kind = OpKind::StridedSlice;
        self.intermediate(kind, inputs, &name, x.tensor_type, &left, &perm, options)
    }

    /// The inputs of a slice: what is cut, and begin, end and step of each dimension in ONNX's order.
    fn slice_inputs(
        &mut self,
        x: &Value<'a>,
        perm: &[usize],
        cuts: &[[i64; 3]],
    ) -> Option<Vec<Option<usize>>> {
        let tensor = self.stored_tensor(x)?;
        let list = |column: usize| {
            let values = perm
                .iter()
                .map(|&axis| narrow(*cuts.get(axis)?.get(column)?));
            values.collect::<Option<Vec<i32>>>()
        };
        let lists = [
            ("begin", list(0)?),
            ("end", list(1)?),
            ("strides", list(2)?),
        ];
        let lists = lists.map(|(name, values)| Some(self.integers(name, &values)));
        Some([Some(tensor)].into_iter().chain(lists).collect())
    }

    /// Begin, end and step of each dimension in ONNX's order; `dropped` is one that goes away.
    pub(super) fn strided_slice(
        &mut self,
        output: Name<'a>,
        x: &Value<'a>,
        cuts: &[[i64; 3]],
        mut shape: Vec<i64>,
        dropped: Option<usize>,
    ) -> Option<()> {
        let mut perm = x.perm()?;
        let inputs = self.slice_inputs(x, &perm, cuts)?;
        let place = dropped.map(|axis| stored_axis(axis, &perm));
        let shrink_axis_mask = match place {
            Some(place) => 1i32.checked_shl(u32::try_from(place?).ok()?)?,
            None => 0,
        };
        if let Some(dropped) = dropped {
            shape.remove(dropped);
            perm = order_without(&perm, &[dropped]);
        }
        let options = slice_options(shrink_axis_mask);
        self.operator(
            OpKind::StridedSlice,
            inputs,
            output,
            x.tensor_type,
            shape,
            perm,
            options,
        )
    }

    fn gather(
        &mut self,
        node: &'a Node<'a>,
        output: Name<'a>,
        x: &Value<'a>,
        shape: &[i64],
    ) -> Option<()> {
        let along = axis(node.integer("axis").unwrap_or(0), shape.len())?;
        let (places, places_shape) = self.input_with_shape(node, 1)?;
        let side = *shape.get(along)?;
        // One place along a dimension, which goes away.
        if let (true, false, Some(&[at])) = (
            places_shape.is_empty(),
            x.is_constant(),
            places.integers().as_deref(),
        ) {
            let (first, n) = range_of_slice(
                side,
                at,
                at.checked_add(1).filter(|&end| end != 0).unwrap_or(side),
                1,
            )?;
            (n == 1).then_some(())?;
            let mut cuts: Vec<[i64; 3]> = shape.iter().map(|&side| [0, side, 1]).collect();
            *cuts.get_mut(along)? = [first, first.checked_add(1)?, 1];
            return self.strided_slice(output, x, &cuts, shape.to_vec(), Some(along));
        }
        let perm = x.perm()?;
        let perm = if places_shape.len() == 1 {
            perm
        } else {
            identity(shape.len())
        };
        let tensor = self.tensor_in_order(x, &perm)?;
        let place = stored_axis(along, &perm)?;
        let mut result = shape.to_vec();
        result.splice(along..=along, places_shape.iter().copied());
        let result_perm = if places_shape.len() == 1 {
            perm
        } else {
            identity(result.len())
        };
        let places = self.tensor_in_order(&places, &identity(places_shape.len()))?;
        let options = BuiltinOptions::Gather {
            axis: place,
            batch_dims: 0,
        };
        self.operator(
            OpKind::Gather,
            vec![Some(tensor), Some(places)],
            output,
            x.tensor_type,
            result,
            result_perm,
            options,
        )
    }

    /// To a larger shape, which repeats values.
    fn repeat_to_shape(
        &mut self,
        kind: OpKind,
        output: Name<'a>,
        x: &Value<'a>,
        to: Vec<i64>,
    ) -> Option<()> {
        let shape = x.shape.clone()?;
        if to == shape {
            return self.alias(output, x, to, x.perm()?);
        }
        let perm = if shape.len() == to.len() {
            x.perm()?
        } else {
            identity(to.len())
        };
        let x_perm = if shape.len() == to.len() {
            perm.clone()
        } else {
            identity(shape.len())
        };
        let tensor = self.tensor_in_order(x, &x_perm)?;
        let sides = narrow_all(&stored_shape(&to, &perm)?)?;
        let from = self.network.builder.tensors.get(tensor)?.shape.clone();
        let list = match kind {
            OpKind::Tile => sides
                .iter()
                .zip(&from)
                .map(|(to, from)| to.checked_div(*from))
                .collect::<Option<Vec<i32>>>()?,
            _ => sides,
        };
        let list = self.integers("shape", &list);
        self.operator(
            kind,
            vec![Some(tensor), Some(list)],
            output,
            x.tensor_type,
            to,
            perm,
            BuiltinOptions::Absent,
        )
    }

    fn pad(
        &mut self,
        node: &'a Node<'a>,
        output: Name<'a>,
        x: &Value<'a>,
        mut shape: Vec<i64>,
    ) -> Option<()> {
        let pads = self.list(node, "pads", 1)?;
        let axes = self.axes_of(node, 3, shape.len())?;
        let (before, after) = pads.split_at_checked(axes.len())?;
        (before.len() == after.len()).then_some(())?;
        let mut pairs = vec![[0i64; 2]; shape.len()];
        for ((&at, &before), &after) in axes.iter().zip(before).zip(after) {
            *pairs.get_mut(at)? = [before, after];
            let side = shape.get_mut(at)?;
            *side = side.checked_add(before)?.checked_add(after)?;
        }
        if pairs.iter().flatten().all(|&pad| pad == 0) {
            return self.alias(output, x, shape, x.perm()?);
        }
        let perm = x.perm()?;
        let (kind, options) = match node.text("mode").unwrap_or("constant") {
            "constant" => (OpKind::Pad, BuiltinOptions::Absent),
            "reflect" => (
                OpKind::MirrorPad,
                BuiltinOptions::MirrorPad {
                    mode: MirrorPadMode::Reflect,
                },
            ),
            _ => return None,
        };
        let cropped = if pairs.iter().flatten().any(|&pad| pad < 0) {
            Some(self.crop_by_negative_paddings(x, &pairs)?)
        } else {
            None
        };
        let added = |pads: &mut [i64; 2]| *pads = pads.map(|pad| pad.max(0));
        pairs.iter_mut().for_each(added);
        let pair = |&axis: &usize| {
            let [before, after] = *pairs.get(axis)?;
            Some([narrow(before)?, narrow(after)?])
        };
        let paddings: Vec<[i32; 2]> = perm.iter().map(pair).collect::<Option<_>>()?;
        let tensor = match cropped {
            Some(cropped) => cropped,
            None => self.stored_tensor(x)?,
        };
        let paddings = self.pairs("paddings", &paddings);
        self.operator(
            kind,
            vec![Some(tensor), Some(paddings)],
            output,
            x.tensor_type,
            shape,
            perm,
            options,
        )
    }
}

/// The two sides of `Flatten`: all dimensions before its axis, and all others.
fn flattened(node: &Node, shape: &[i64]) -> Option<Vec<i64>> {
    let at = match node.integer("axis").unwrap_or(1) {
        at if usize::try_from(at) == Ok(shape.len()) => shape.len(),
        at => axis(at, shape.len())?,
    };
    Some(vec![product(shape.get(..at)?)?, product(shape.get(at..)?)?])
}

/// Each dimension times its number of repeats.
fn tiled(shape: &[i64], repeats: &[i64]) -> Option<Vec<i64>> {
    (repeats.len() == shape.len()).then_some(())?;
    let sides = shape.iter().zip(repeats);
    sides.map(|(side, n)| side.checked_mul(*n)).collect()
}

fn slice_options(shrink_axis_mask: i32) -> BuiltinOptions {
    BuiltinOptions::StridedSlice {
        begin_mask: 0,
        end_mask: 0,
        ellipsis_mask: 0,
        new_axis_mask: 0,
        shrink_axis_mask,
        offset: false,
    }
}

/// `n` parts of a side, the last one smaller where they do not fit.
pub(super) fn equal_sizes(side: i64, each: i64, n_parts: i64) -> Option<Vec<i64>> {
    let size = |part: i64| Some(each.min(side.checked_sub(part.checked_mul(each)?)?));
    (0..n_parts).map(size).collect()
}
