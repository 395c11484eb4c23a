//! Operators that move, cut and join values, and those that reduce dimensions.

use super::Converter;
use super::fold::{range_of_slice, reshaped, squeezed, unsqueezed};
use super::value::{self, Perm, Value, axis, identity, product, stored, stored_axis};
use crate::formats::onnx::proto::Node;
use crate::formats::tflite::{Activation, BuiltinOptions, MirrorPadMode, OpKind, TensorType};

/// Reductions of ONNX and TFLite.
const REDUCTIONS: &[(&str, OpKind)] = &[
    ("ReduceMean", OpKind::Mean),
    ("ReduceSum", OpKind::Sum),
    ("ReduceMax", OpKind::ReduceMax),
    ("ReduceMin", OpKind::ReduceMin),
    ("ReduceProd", OpKind::ReduceProd),
];

fn narrow(value: i64) -> Option<i32> {
    i32::try_from(value).ok()
}

fn narrow_all(values: &[i64]) -> Option<Vec<i32>> {
    values.iter().map(|&value| narrow(value)).collect()
}

impl<'a> Converter<'a> {
    pub(super) fn layout(&mut self, node: &'a Node<'a>) -> Option<()> {
        let output = self.output(node)?;
        let (x, shape) = self.shaped(node, 0)?;
        match node.text.op_type {
            "Transpose" => self.transpose(node, output, &x, &shape),
            "Reshape" => {
                let to = self.list(node, "shape", 1)?;
                let to = reshaped(&shape, &to, node.integer("allowzero") == Some(1))?;
                self.reshape(output, &x, &shape, to)
            }
            "Flatten" => {
                let at = match node.integer("axis").unwrap_or(1) {
                    at if usize::try_from(at) == Ok(shape.len()) => shape.len(),
                    at => axis(at, shape.len())?,
                };
                let to = vec![product(shape.get(..at)?)?, product(shape.get(at..)?)?];
                self.reshape(output, &x, &shape, to)
            }
            "Squeeze" => {
                let axes = self.list(node, "axes", 1);
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
                self.widen(OpKind::BroadcastTo, output, &x, to)
            }
            "Tile" => {
                let repeats = self.input(node, 1)?.integers()?;
                (repeats.len() == shape.len()).then_some(())?;
                let to = shape
                    .iter()
                    .zip(&repeats)
                    .map(|(side, n)| side.checked_mul(*n));
                self.widen(OpKind::Tile, output, &x, to.collect::<Option<_>>()?)
            }
            "Pad" => self.pad(node, output, &x, shape),
            "Resize" | "Upsample" => self.resize(node, output, &x, &shape),
            "DepthToSpace" | "SpaceToDepth" => self.blocks(node, output, &x, &shape),
            "ArgMax" | "ArgMin" => self.arg(node, output, &x, shape),
            "CumSum" => {
                let axis = axis(self.input(node, 1)?.number().and_then(whole)?, shape.len())?;
                let (perm, tensor) = (x.perm()?, self.own(&x)?);
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
            "TopK" => self.top_k(node, &x, shape),
            name => {
                let &(_, kind) = REDUCTIONS
                    .iter()
                    .find(|(reduction, _)| *reduction == name)?;
                let axes = match self.list(node, "axes", 1) {
                    Some(axes) => axes
                        .iter()
                        .map(|&at| axis(at, shape.len()))
                        .collect::<Option<Vec<usize>>>()?,
                    None if node.integer("noop_with_empty_axes") == Some(1) => {
                        return self.alias(output, &x, shape, x.perm()?);
                    }
                    None => (0..shape.len()).collect(),
                };
                self.reduce(
                    kind,
                    &x,
                    output,
                    &axes,
                    node.integer("keepdims").unwrap_or(1) == 1,
                )
            }
        }
    }

    /// No values move: the dimensions get other places.
    fn transpose(
        &mut self,
        node: &'a Node<'a>,
        output: &'a str,
        x: &Value<'a>,
        shape: &[i64],
    ) -> Option<()> {
        let order = node.integers("perm");
        let order: Vec<usize> = match order {
            None => (0..shape.len()).rev().collect(),
            Some(order) => order
                .iter()
                .map(|&at| axis(at, shape.len()))
                .collect::<Option<_>>()?,
        };
        let mut sorted = order.clone();
        sorted.sort_unstable();
        (sorted == identity(shape.len())).then_some(())?;
        let to = stored(shape, &order)?;
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
        output: &'a str,
        x: &Value<'a>,
        shape: &[i64],
        to: Vec<i64>,
    ) -> Option<()> {
        if x.is_constant() {
            return self.alias(output, x, to, Perm::new());
        }
        let own = x.perm()?;
        // A mean over an image needs no second operator to lose its dimensions of 1.
        if let Some(operator_idx) = self.only_writer(x)
            && shape.len() == 4
            && let ([1, 1], [n, c]) = (shape.get(2..)?, to.as_slice())
            && shape.get(..2) == Some(&[*n, *c])
            && let Some(operator) = self.builder.operators.get_mut(operator_idx)
            && let BuiltinOptions::Reducer { keep_dims } = &mut operator.options
        {
            *keep_dims = false;
            let tensor = self.builder.tensors.get_mut(x.tensor_idx()?)?;
            tensor.name = output.to_owned();
            tensor.shape = vec![narrow(*n)?, narrow(*c)?];
            return self.alias(output, x, to, identity(2));
        }
        let (tensor, perm) = match value::reshaped(shape, &own, &to) {
            Some(perm) => (self.own(x)?, perm),
            None => (
                self.arranged(x, &identity(shape.len()))?,
                identity(to.len()),
            ),
        };
        let sides = stored(&to, &perm)?;
        let of_type = self.builder.tensors.get(tensor)?.tensor_type;
        if self.builder.tensors.get(tensor)?.shape == narrow_all(&sides)?
            && x.tensor_idx() == Some(tensor)
        {
            return self.alias(output, x, to, perm);
        }
        let reshaped = self.reshape_of(tensor, output, of_type, &sides)?;
        self.define(output, x.tensor_type, to, reshaped, perm);
        Some(())
    }

    fn concat(&mut self, node: &'a Node<'a>, output: &'a str) -> Option<()> {
        let values = (0..node.inputs.len()).map(|at| self.input(node, at));
        let values: Vec<Value> = values.collect::<Option<_>>()?;
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
        for value in &values {
            (value.rank() == Some(rank)).then_some(())?;
            let side = shape.get_mut(along)?;
            *side = side.checked_add(*value.shape.as_ref()?.get(along)?)?;
            inputs.push(Some(self.arranged(value, &perm)?));
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
        let sizes = match self.list(node, "split", 1) {
            Some(sizes) => sizes,
            None => {
                // Equal parts, the last one smaller where they do not fit.
                let each = side.checked_add(n)?.checked_sub(1)?.checked_div(n)?;
                let size = |part: i64| Some(each.min(side.checked_sub(part.checked_mul(each)?)?));
                (0..n).map(size).collect::<Option<_>>()?
            }
        };
        let sum = sizes.iter().try_fold(0i64, |sum, size| {
            sum.checked_add(*size).filter(|_| *size >= 0)
        })?;
        (sizes.len() == node.outputs.len() && sum == side && !x.is_constant()).then_some(())?;
        let (perm, tensor) = (x.perm()?, self.own(x)?);
        let place = stored_axis(along, &perm)?;
        let along_tensor = self.builder.integers("axis", vec![], &[place]);
        let is_equal = sizes.iter().all(|size| Some(size) == sizes.first());
        let num_splits = i32::try_from(sizes.len()).ok()?;
        let (kind, inputs, options) = match is_equal {
            true => (
                OpKind::Split,
                vec![Some(along_tensor), Some(tensor)],
                BuiltinOptions::Split { num_splits },
            ),
            false => {
                let sizes = self.integers("size_splits", &narrow_all(&sizes)?);
                let inputs = vec![Some(tensor), Some(sizes), Some(along_tensor)];
                (
                    OpKind::SplitV,
                    inputs,
                    BuiltinOptions::SplitV { num_splits },
                )
            }
        };
        let mut parts = Vec::new();
        for (&name, &size) in node.outputs.iter().zip(&sizes) {
            let mut part = shape.to_vec();
            *part.get_mut(along)? = size;
            parts.push((name, self.tensor(name, x.tensor_type, &part, &perm)?, part));
        }
        let outputs: Vec<usize> = parts.iter().map(|(_, tensor, _)| *tensor).collect();
        let operator_idx = self.builder.operator(kind, inputs, outputs, options);
        for (name, tensor, part) in parts {
            self.writers.insert(tensor, operator_idx);
            if !name.is_empty() {
                self.define(name, x.tensor_type, part, tensor, perm.clone());
            }
        }
        Some(())
    }

    fn slice(
        &mut self,
        node: &'a Node<'a>,
        output: &'a str,
        x: &Value<'a>,
        mut shape: Vec<i64>,
    ) -> Option<()> {
        let (starts, ends) = (self.list(node, "starts", 1)?, self.list(node, "ends", 2)?);
        let axes = match self.list(node, "axes", 3) {
            Some(axes) => axes
                .iter()
                .map(|&at| axis(at, shape.len()))
                .collect::<Option<Vec<usize>>>()?,
            None => (0..starts.len()).collect(),
        };
        let steps = self.input(node, 4).and_then(|steps| steps.integers());
        let steps = steps.unwrap_or_else(|| vec![1; starts.len()]);
        let mut cuts: Vec<[i64; 3]> = shape.iter().map(|&side| [0, side, 1]).collect();
        for (place, &at) in axes.iter().enumerate() {
            let (start, end, step) = (*starts.get(place)?, *ends.get(place)?, *steps.get(place)?);
            let side = shape.get_mut(at)?;
            let (first, n) = range_of_slice(*side, start, end, step)?;
            let last = first.checked_add(n.checked_mul(step)?)?;
            *cuts.get_mut(at)? = [first, last, step];
            *side = n;
        }
        if Some(&shape) == x.shape.as_ref() && cuts.iter().all(|[_, _, step]| *step == 1) {
            return self.alias(output, x, shape, x.perm()?);
        }
        self.strided_slice(output, x, &cuts, shape, None)
    }

    /// Begin, end and step of each dimension in ONNX's order; `dropped` is one that goes away.
    fn strided_slice(
        &mut self,
        output: &'a str,
        x: &Value<'a>,
        cuts: &[[i64; 3]],
        mut shape: Vec<i64>,
        dropped: Option<usize>,
    ) -> Option<()> {
        let mut perm = x.perm()?;
        let tensor = self.own(x)?;
        let list = |of: usize| {
            let values = perm.iter().map(|&axis| narrow(*cuts.get(axis)?.get(of)?));
            values.collect::<Option<Vec<i32>>>()
        };
        let (begin, end, strides) = (list(0)?, list(1)?, list(2)?);
        let place = dropped.map(|axis| stored_axis(axis, &perm));
        let shrink_axis_mask = match place {
            Some(place) => 1i32.checked_shl(u32::try_from(place?).ok()?)?,
            None => 0,
        };
        if let Some(dropped) = dropped {
            shape.remove(dropped);
            perm = without(&perm, &[dropped]);
        }
        let lists = [("begin", begin), ("end", end), ("strides", strides)];
        let lists = lists.map(|(name, values)| Some(self.integers(name, &values)));
        let inputs = [Some(tensor)].into_iter().chain(lists).collect();
        let options = BuiltinOptions::StridedSlice {
            begin_mask: 0,
            end_mask: 0,
            ellipsis_mask: 0,
            new_axis_mask: 0,
            shrink_axis_mask,
            offset: false,
        };
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
        output: &'a str,
        x: &Value<'a>,
        shape: &[i64],
    ) -> Option<()> {
        let along = axis(node.integer("axis").unwrap_or(0), shape.len())?;
        let (places, places_shape) = self.shaped(node, 1)?;
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
        let own = x.perm()?;
        let perm = if places_shape.len() == 1 {
            own
        } else {
            identity(shape.len())
        };
        let tensor = self.arranged(x, &perm)?;
        let place = stored_axis(along, &perm)?;
        let mut result = shape.to_vec();
        result.splice(along..=along, places_shape.iter().copied());
        let result_perm = if places_shape.len() == 1 {
            perm
        } else {
            identity(result.len())
        };
        let places = self.arranged(&places, &identity(places_shape.len()))?;
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
    fn widen(&mut self, kind: OpKind, output: &'a str, x: &Value<'a>, to: Vec<i64>) -> Option<()> {
        let shape = x.shape.clone()?;
        if to == shape {
            return self.alias(output, x, to, x.perm()?);
        }
        let perm = match shape.len() == to.len() {
            true => x.perm()?,
            false => identity(to.len()),
        };
        let own = if shape.len() == to.len() {
            perm.clone()
        } else {
            identity(shape.len())
        };
        let tensor = self.arranged(x, &own)?;
        let sides = narrow_all(&stored(&to, &perm)?)?;
        let from = self.builder.tensors.get(tensor)?.shape.clone();
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
        output: &'a str,
        x: &Value<'a>,
        mut shape: Vec<i64>,
    ) -> Option<()> {
        let pads = self.list(node, "pads", 1)?;
        let axes = match self.input(node, 3).and_then(|axes| axes.integers()) {
            Some(axes) => axes
                .iter()
                .map(|&at| axis(at, shape.len()))
                .collect::<Option<Vec<usize>>>()?,
            None => (0..shape.len()).collect(),
        };
        let (before, after) = pads.split_at_checked(axes.len())?;
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
        pairs.iter().flatten().all(|&pad| pad >= 0).then_some(())?;
        let pair = |&axis: &usize| {
            let [before, after] = *pairs.get(axis)?;
            Some([narrow(before)?, narrow(after)?])
        };
        let paddings: Vec<[i32; 2]> = perm.iter().map(pair).collect::<Option<_>>()?;
        let tensor = self.own(x)?;
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

    /// New sides of a `Resize`, from its sizes or scales.
    pub(super) fn resized(&self, node: &Node<'a>, shape: &[i64]) -> Option<Vec<i64>> {
        let sizes = self
            .input(node, 3)
            .and_then(|sizes| sizes.integers())
            .filter(|sizes| !sizes.is_empty());
        let scaled = |scales: Vec<f64>| {
            let side = |(side, scale): (&i64, f64)| {
                #[allow(clippy::as_conversions)]
                let scaled = (*side as f64 * scale).floor();
                whole(scaled)
            };
            shape
                .iter()
                .zip(scales)
                .map(side)
                .collect::<Option<Vec<i64>>>()
        };
        let floats = |position: usize| {
            self.input(node, position)
                .and_then(|scales| scales.floats())
                .filter(|scales| !scales.is_empty())
        };
        let to = match sizes {
            Some(sizes) => sizes,
            None => scaled(
                floats(2)
                    .or_else(|| floats(1))
                    .or_else(|| node.floats("scales"))?,
            )?,
        };
        match node.integers("axes") {
            Some(axes) => {
                let mut all = shape.to_vec();
                for (&at, &side) in axes.iter().zip(&to) {
                    *all.get_mut(axis(at, shape.len())?)? = side;
                }
                Some(all)
            }
            None => (to.len() == shape.len()).then_some(to),
        }
    }

    fn resize(
        &mut self,
        node: &'a Node<'a>,
        output: &'a str,
        x: &Value<'a>,
        shape: &[i64],
    ) -> Option<()> {
        let to = self.resized(node, shape)?;
        (shape.len() == 4 && to.get(..2) == shape.get(..2) && to.iter().all(|&side| side >= 1))
            .then_some(())?;
        if to == shape {
            return self.alias(output, x, to, x.perm()?);
        }
        let how = node
            .text("coordinate_transformation_mode")
            .unwrap_or("half_pixel");
        let (align_corners, half_pixel_centers) =
            (how == "align_corners", how.ends_with("half_pixel"));
        let (kind, options) = match node.text("mode").unwrap_or("nearest") {
            "nearest" => (
                OpKind::ResizeNearestNeighbor,
                BuiltinOptions::ResizeNearestNeighbor {
                    align_corners,
                    half_pixel_centers: half_pixel_centers
                        && node.text("nearest_mode") != Some("floor"),
                },
            ),
            "linear" | "bilinear" => (
                OpKind::ResizeBilinear,
                BuiltinOptions::ResizeBilinear {
                    align_corners,
                    half_pixel_centers,
                },
            ),
            _ => return None,
        };
        let perm = value::channels_last(4);
        let tensor = self.arranged(x, &perm)?;
        let size = self.integers("size", &narrow_all(to.get(2..)?)?);
        self.operator(
            kind,
            vec![Some(tensor), Some(size)],
            output,
            x.tensor_type,
            to,
            perm,
            options,
        )
    }

    fn blocks(
        &mut self,
        node: &'a Node<'a>,
        output: &'a str,
        x: &Value<'a>,
        shape: &[i64],
    ) -> Option<()> {
        let side = node.integer("blocksize").filter(|&side| side >= 1)?;
        let area = side.checked_mul(side)?;
        let &[n, c, h, w] = shape else {
            return None;
        };
        let block_size = narrow(side)?;
        let (kind, to, options) = match node.text.op_type {
            "DepthToSpace" => (
                OpKind::DepthToSpace,
                vec![
                    n,
                    c.checked_div(area)?,
                    h.checked_mul(side)?,
                    w.checked_mul(side)?,
                ],
                BuiltinOptions::DepthToSpace { block_size },
            ),
            _ => (
                OpKind::SpaceToDepth,
                vec![
                    n,
                    c.checked_mul(area)?,
                    h.checked_div(side)?,
                    w.checked_div(side)?,
                ],
                BuiltinOptions::SpaceToDepth { block_size },
            ),
        };
        (product(&to)? == product(shape)?).then_some(())?;
        let perm = value::channels_last(4);
        let tensor = self.arranged(x, &perm)?;
        self.operator(
            kind,
            vec![Some(tensor)],
            output,
            x.tensor_type,
            to,
            perm,
            options,
        )
    }

    fn arg(
        &mut self,
        node: &'a Node<'a>,
        output: &'a str,
        x: &Value<'a>,
        mut shape: Vec<i64>,
    ) -> Option<()> {
        let along = axis(node.integer("axis").unwrap_or(0), shape.len())?;
        let mut perm = x.perm()?;
        let tensor = self.own(x)?;
        let place = self
            .builder
            .integers("axis", vec![], &[stored_axis(along, &perm)?]);
        let keeps = node.integer("keepdims").unwrap_or(1) == 1;
        shape.remove(along);
        let whole_perm = perm.clone();
        perm = without(&perm, &[along]);
        let output_type = TensorType::Int64;
        let (kind, options) = match node.text.op_type {
            "ArgMax" => (OpKind::ArgMax, BuiltinOptions::ArgMax { output_type }),
            _ => (OpKind::ArgMin, BuiltinOptions::ArgMin { output_type }),
        };
        let inputs = vec![Some(tensor), Some(place)];
        if !keeps {
            return self.operator(kind, inputs, output, output_type, shape, perm, options);
        }
        let found = self.intermediate(
            kind,
            inputs,
            &format!("{output}/index"),
            output_type,
            &shape,
            &perm,
            options,
        )?;
        shape.insert(along, 1);
        let kept = self.reshape_of(found, output, output_type, &stored(&shape, &whole_perm)?)?;
        self.define(output, output_type, shape, kept, whole_perm);
        Some(())
    }

    /// Largest values along the last dimension, and where they are.
    fn top_k(&mut self, node: &'a Node<'a>, x: &Value<'a>, mut shape: Vec<i64>) -> Option<()> {
        let along = axis(node.integer("axis").unwrap_or(-1), shape.len())?;
        let k = self.input(node, 1)?.number().and_then(whole)?;
        (along == shape.len().checked_sub(1)? && k >= 0 && k <= *shape.last()?).then_some(())?;
        let perm = identity(shape.len());
        let tensor = self.arranged(x, &perm)?;
        let n = self.builder.integers("k", vec![], &[narrow(k)?]);
        *shape.last_mut()? = k;
        let mut outputs = Vec::new();
        for (at, of_type) in [x.tensor_type, TensorType::Int32].into_iter().enumerate() {
            let name = node.outputs.get(at).copied().unwrap_or_default();
            let result = self.tensor(name, of_type, &shape, &perm)?;
            if !name.is_empty() {
                self.define(name, of_type, shape.clone(), result, perm.clone());
            }
            outputs.push(result);
        }
        let code = OpKind::TopkV2;
        self.builder.operator(
            code,
            vec![Some(tensor), Some(n)],
            outputs,
            BuiltinOptions::Absent,
        );
        Some(())
    }

    pub(super) fn reduce(
        &mut self,
        kind: OpKind,
        x: &Value<'a>,
        output: &'a str,
        axes: &[usize],
        keep_dims: bool,
    ) -> Option<()> {
        let (shape, perm) = (x.shape.clone()?, x.perm()?);
        let tensor = self.own(x)?;
        let (inputs, shape, perm) = self.reduction(tensor, &shape, &perm, axes, keep_dims)?;
        let options = BuiltinOptions::Reducer { keep_dims };
        self.operator(kind, inputs, output, x.tensor_type, shape, perm, options)
    }

    /// Inputs of a reduction, and the shape and order of its result.
    pub(super) fn reduction(
        &mut self,
        tensor: usize,
        shape: &[i64],
        perm: &[usize],
        axes: &[usize],
        keep_dims: bool,
    ) -> Option<(Vec<Option<usize>>, Vec<i64>, Perm)> {
        let mut places: Vec<i32> = axes
            .iter()
            .map(|&axis| stored_axis(axis, perm))
            .collect::<Option<_>>()?;
        places.sort_unstable();
        let places = self.integers("axes", &places);
        let inputs = vec![Some(tensor), Some(places)];
        let sides = shape.iter().enumerate();
        if keep_dims {
            let sides = sides.map(|(at, &side)| if axes.contains(&at) { 1 } else { side });
            return Some((inputs, sides.collect(), perm.to_vec()));
        }
        let sides = sides
            .filter(|(at, _)| !axes.contains(at))
            .map(|(_, &side)| side);
        Some((inputs, sides.collect(), without(perm, axes)))
    }
}

/// The order of dimensions when some of them go away.
fn without(perm: &[usize], gone: &[usize]) -> Perm {
    let kept = perm.iter().filter(|axis| !gone.contains(axis));
    let lower = |axis: usize| gone.iter().filter(|&&gone| gone < axis).count();
    kept.map(|&axis| axis.saturating_sub(lower(axis))).collect()
}

/// A number without a fraction.
fn whole(number: f64) -> Option<i64> {
    #[allow(clippy::as_conversions)]
    (number.is_finite() && number.abs() < 9e15).then_some(number as i64)
}
