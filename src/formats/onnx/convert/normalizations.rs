//! Normalisations, decomposed as TFLite's converters do, and softmax.

use super::Converter;
use super::fold::reshaped;
use super::formulas::without_activation;
use super::value::{Perm, Place, Value, axis, channels_last, identity, product, stored_shape};
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::Node;
use crate::formats::tflite::{Activation, BuiltinOptions, OpKind, TensorType};

impl<'a> Converter<'a> {
    pub(super) fn normalization(&mut self, node: &'a Node<'a>) -> Option<()> {
        let output = self.output(node)?;
        let (x, shape) = self.input_with_shape(node, 0)?;
        let rank = shape.len();
        match node.text.op_type {
            "Softmax" | "LogSoftmax" => self.softmax(node, output, &x, shape),
            "BatchNormalization" => self.batch_normalization(node, output, &x, &shape),
            "LayerNormalization" | "RMSNormalization" | "SimplifiedLayerNormalization" => {
                let first = axis(node.integer("axis").unwrap_or(-1), rank)?;
                let is_centred = node.text.op_type == "LayerNormalization";
                let affine = [self.input(node, 1), self.input(node, 2)];
                let axes: Vec<usize> = (first..rank).collect();
                self.normalized(&x, &axes, is_centred, affine, first, output)
            }
            "InstanceNormalization" => {
                let affine = [self.input(node, 1), self.input(node, 2)];
                let axes: Vec<usize> = (2..rank).collect();
                self.normalized(&x, &axes, true, affine, 1, output)
            }
            "GroupNormalization" => {
                let affine = [self.input(node, 1)?, self.input(node, 2)?];
                let n_groups = node.integer("num_groups")?;
                self.groups(&x, n_groups, Some(affine), output)
            }
            "LpNormalization" if node.integer("p").unwrap_or(2) == 2 => {
                let along = axis(node.integer("axis").unwrap_or(-1), rank)?;
                let options = BuiltinOptions::L2Norm {
                    activation: Activation::None,
                };
                self.normalize_along_last(
                    OpKind::L2Normalization,
                    along,
                    &x,
                    shape,
                    output,
                    options,
                )
            }
            "LRN" => {
                let options = BuiltinOptions::LocalResponseNormalization {
                    radius: i32::try_from(node.integer("size")? / 2).ok()?,
                    bias: node.float("bias").unwrap_or(1.0),
                    alpha: node.float("alpha").unwrap_or(1e-4),
                    beta: node.float("beta").unwrap_or(0.75),
                };
                let kind = OpKind::LocalResponseNormalization;
                self.normalize_along_last(kind, 1, &x, shape, output, options)
            }
            _ => None,
        }
    }

    fn batch_normalization(
        &mut self,
        node: &'a Node<'a>,
        output: Name<'a>,
        x: &Value<'a>,
        shape: &[i64],
    ) -> Option<()> {
        let [scale, bias] = [self.input(node, 1)?, self.input(node, 2)?];
        // A computed mean or variance would have to be joined with the scale first.
        let is_constant = |at: usize| {
            self.input(node, at)
                .is_some_and(|value| value.is_constant())
        };
        (is_constant(3) && is_constant(4)).then_some(())?;
        let is_folded = scale.is_constant() && bias.is_constant();
        let folded = is_folded.then(|| self.fuse_into_product(x, Some(&bias), output));
        match folded.flatten() {
            Some(()) => Some(()),
            None => self.scaled(x, shape, scale, bias, output),
        }
    }

    /// An operator that normalises along the last axis, which is `along` of the node.
    fn normalize_along_last(
        &mut self,
        kind: OpKind,
        along: usize,
        x: &Value<'a>,
        shape: Vec<i64>,
        output: Name<'a>,
        options: BuiltinOptions,
    ) -> Option<()> {
        let perm = self.order_with_last(x, along)?;
        let inputs = vec![Some(self.tensor_in_order(x, &perm)?)];
        self.operator(kind, inputs, output, x.tensor_type, shape, perm, options)
    }

    /// The order of a value, or one with this dimension last.
    pub(super) fn order_with_last(&self, x: &Value<'a>, along: usize) -> Option<Vec<usize>> {
        let perm_of_x = x.perm()?;
        if perm_of_x.last() == Some(&along) {
            return Some(perm_of_x);
        }
        let mut perm: Vec<usize> = identity(perm_of_x.len())
            .into_iter()
            .filter(|&axis| axis != along)
            .collect();
        perm.push(along);
        Some(perm)
    }

    fn softmax(
        &mut self,
        node: &'a Node<'a>,
        output: Name<'a>,
        x: &Value<'a>,
        shape: Vec<i64>,
    ) -> Option<()> {
        let default = if self.graph.opset < 13 { 1 } else { -1 };
        let along = axis(node.integer("axis").unwrap_or(default), shape.len())?;
        // Before opset 13 all dimensions from there on are one; exporters give the last one.
        let along = if self.graph.opset < 13 {
            shape.len().checked_sub(1)?
        } else {
            along
        };
        let perm = self.order_with_last(x, along)?;
        let tensor = self.tensor_in_order(x, &perm)?;
        let (kind, options) = match node.text.op_type {
            "Softmax" => (OpKind::Softmax, BuiltinOptions::Softmax { beta: 1.0 }),
            _ => (OpKind::LogSoftmax, BuiltinOptions::Absent),
        };
        self.operator(
            kind,
            vec![Some(tensor)],
            output,
            x.tensor_type,
            shape,
            perm,
            options,
        )
    }

    /// `x * scale + bias` for each channel, the second dimension.
    fn scaled(
        &mut self,
        x: &Value<'a>,
        shape: &[i64],
        scale: Value<'a>,
        bias: Value<'a>,
        output: Name<'a>,
    ) -> Option<()> {
        let (perm, tensor, of_type) = (x.perm()?, self.stored_tensor(x)?, x.tensor_type);
        let scale = self.per_channel(&scale, 1, shape.len(), &perm)?;
        let bias = self.per_channel(&bias, 1, shape.len(), &perm)?;
        let options = BuiltinOptions::Mul {
            activation: Activation::None,
        };
        let name = format!("{output}/scaled");
        let product = self.intermediate(
            OpKind::Mul,
            vec![Some(tensor), Some(scale)],
            &name,
            of_type,
            shape,
            &perm,
            options,
        )?;
        let options = BuiltinOptions::Add {
            activation: Activation::None,
        };
        self.operator(
            OpKind::Add,
            vec![Some(product), Some(bias)],
            output,
            of_type,
            shape.to_vec(),
            perm,
            options,
        )
    }

    /// A scale or bias that is broadcast from dimension `first` on, in the order of what it meets.
    fn per_channel(
        &mut self,
        factor: &Value<'a>,
        first: usize,
        rank: usize,
        perm: &[usize],
    ) -> Option<usize> {
        let shape = factor.shape.as_ref()?;
        let behind = rank.checked_sub(first)?.checked_sub(shape.len())?;
        let whole = std::iter::repeat_n(1, first)
            .chain(shape.iter().copied())
            .chain(std::iter::repeat_n(1, behind));
        let whole: Vec<i64> = whole.collect();
        if !factor.is_constant() {
            let tensor = self.tensor_in_order(factor, &identity(shape.len()))?;
            let of_type = self.network.builder.tensors.get(tensor)?.tensor_type;
            let place = Place::Tensor {
                tensor_idx: self.reshaped_tensor(tensor, &factor.name, of_type, &whole)?,
                perm: identity(rank),
            };
            let widened = Value {
                shape: Some(whole),
                place,
                ..factor.clone()
            };
            return self.tensor_in_order(&widened, perm);
        }
        let sides = super::value::stored_shape(&whole, perm)?;
        let n_ones = sides.iter().take_while(|side| **side == 1).count();
        self.constant_tensor(factor, sides.get(n_ones..)?)
    }

    /// Mean and variance over `axes`, then scale and bias, broadcast from dimension `first` on.
    pub(super) fn normalized(
        &mut self,
        x: &Value<'a>,
        axes: &[usize],
        is_centred: bool,
        [scale, bias]: [Option<Value<'a>>; 2],
        first: usize,
        output: Name<'a>,
    ) -> Option<()> {
        let form = TensorForm {
            of_type: x.tensor_type,
            shape: x.shape.clone()?,
            perm: x.perm()?,
        };
        let scale = self.broadcast_factor(scale, first, &form)?;
        let bias = self.broadcast_factor(bias, first, &form)?;
        let tensor = self.stored_tensor(x)?;
        let name = |what: &str| format!("{output}/{what}");
        let (centred, root) = self.over_root(tensor, axes, is_centred, &output, &form)?;
        let steps = [
            Some((OpKind::Mul, root)),
            scale.map(|scale| (OpKind::Mul, scale)),
            bias.map(|bias| (OpKind::Add, bias)),
        ];
        let mut steps: Vec<(OpKind, usize)> = steps.into_iter().flatten().collect();
        let (last_kind, last_factor) = steps.pop()?;
        let mut values = centred;
        for (kind, factor) in steps {
            values =
                self.intermediate_in_form(kind, &[values, factor], &name("normalized"), &form)?;
        }
        let inputs = vec![Some(values), Some(last_factor)];
        let options = without_activation(last_kind);
        let TensorForm {
            of_type,
            shape,
            perm,
        } = form;
        self.operator(last_kind, inputs, output, of_type, shape, perm, options)
    }

    /// What is normalised over `axes`, and what it is multiplied with.
    fn over_root(
        &mut self,
        tensor: usize,
        axes: &[usize],
        is_centred: bool,
        output: &str,
        form: &TensorForm,
    ) -> Option<(usize, usize)> {
        let name = |what: &str| format!("{output}/{what}");
        let (centred, squares) = if is_centred {
            let (mean, _) = self.mean(tensor, axes, &name("mean"), form)?;
            let pair = [tensor, mean];
            let centred = self.intermediate_in_form(OpKind::Sub, &pair, &name("centred"), form)?;
            let squares = self.intermediate_in_form(
                OpKind::SquaredDifference,
                &pair,
                &name("squares"),
                form,
            )?;
            (centred, squares)
        } else {
            let squares =
                self.intermediate_in_form(OpKind::Mul, &[tensor; 2], &name("squares"), form)?;
            (tensor, squares)
        };
        let (variance, small) = self.mean(squares, axes, &name("variance"), form)?;
        let epsilon = self.scalar("epsilon", form.of_type);
        let sum =
            self.intermediate_in_form(OpKind::Add, &[variance, epsilon], &name("sum"), &small)?;
        let root = self.intermediate_in_form(OpKind::Rsqrt, &[sum], &name("root"), &small)?;
        Some((centred, root))
    }

    /// A reshape to groups of channels, their normalisation without scale and bias, and a reshape back.
    pub(super) fn reshaped_groups(
        &mut self,
        [to_groups, norm, back]: [&'a Node<'a>; 3],
        x: &Value<'a>,
        output: Name<'a>,
    ) -> Option<()> {
        let shape = x.shape.as_deref()?;
        let target = |converter: &Self, node: &Node<'a>, from: &[i64]| {
            let to = converter.list(node, "shape", 1)?;
            reshaped(from, &to, node.integer("allowzero") == Some(1))
        };
        let grouped = target(self, to_groups, shape)?;
        let &[n, n_groups, _] = grouped.as_slice() else {
            return None;
        };
        let is_back = target(self, back, &grouped)? == shape && shape.first() == Some(&n);
        // A quantised scale of ones has no known values.
        let may_be = |at: usize, number: f64| {
            let factor = self.input(norm, at)?;
            let values = factor.floats().unwrap_or_default();
            Some(factor.is_constant() && values.iter().all(|&value| value == number))
        };
        (is_back && may_be(1, 1.0)? && may_be(2, 0.0)?).then_some(())?;
        self.groups(x, n_groups, None, output)
    }

    /// Mean and variance of groups of channels, then scale and bias of each channel.
    fn groups(
        &mut self,
        x: &Value<'a>,
        n_groups: i64,
        affine: Option<[Value<'a>; 2]>,
        output: Name<'a>,
    ) -> Option<()> {
        let shape = x.shape.clone()?;
        let (&[n, channels], sides) = shape.split_first_chunk()?;
        let each = channels.checked_div(n_groups)?;
        (each.checked_mul(n_groups)? == channels).then_some(())?;
        let positions = product(sides)?;
        let mut perm = x.perm()?;
        let (grouped, axes) = if perm == channels_last(shape.len()) {
            (vec![n, positions, n_groups, each], [1, 3])
        } else {
            perm = identity(shape.len());
            (vec![n, n_groups, each, positions], [2, 3])
        };
        let of_type = x.tensor_type;
        let tensor = self.tensor_in_order(x, &perm)?;
        let tensor =
            self.reshaped_tensor(tensor, &format!("{output}/groups"), of_type, &grouped)?;
        let form = TensorForm {
            of_type,
            perm: identity(grouped.len()),
            shape: grouped,
        };
        let (centred, root) = self.over_root(tensor, &axes, true, &output, &form)?;
        let name = format!("{output}/normalized");
        let values = self.intermediate_in_form(OpKind::Mul, &[centred, root], &name, &form)?;
        let whole = stored_shape(&shape, &perm)?;
        let tensor_idx = self.reshaped_tensor(values, &output, of_type, &whole)?;
        let Some([scale, bias]) = affine else {
            self.define(output, of_type, shape, tensor_idx, perm);
            return Some(());
        };
        let is_each = |factor: &Value| factor.shape.as_deref() == Some(&[channels]);
        (is_each(&scale) && is_each(&bias)).then_some(())?;
        let place = Place::Tensor { tensor_idx, perm };
        let values = Value {
            name: output,
            tensor_type: of_type,
            shape: Some(shape.clone()),
            place,
        };
        self.scaled(&values, &shape, scale, bias, output)
    }

    /// The tensor of a scale or bias, as the normalised values of this form broadcast it. `Some(None)` where there is
    /// none.
    fn broadcast_factor(
        &mut self,
        constant: Option<Value<'a>>,
        first: usize,
        form: &TensorForm,
    ) -> Option<Option<usize>> {
        let Some(constant) = constant else {
            return Some(None);
        };
        let tensor = self.per_channel(&constant, first, form.shape.len(), &form.perm)?;
        Some(Some(tensor))
    }

    /// Mean over `axes` of a tensor of this form, and the form of the mean.
    fn mean(
        &mut self,
        tensor: usize,
        axes: &[usize],
        name: &str,
        form: &TensorForm,
    ) -> Option<(usize, TensorForm)> {
        let (inputs, shape, perm) = self.reduction(tensor, &form.shape, &form.perm, axes, true)?;
        let options = BuiltinOptions::Reducer { keep_dims: true };
        let of_type = form.of_type;
        let mean =
            self.intermediate(OpKind::Mean, inputs, name, of_type, &shape, &perm, options)?;
        let form = TensorForm {
            of_type,
            shape,
            perm,
        };
        Some((mean, form))
    }

    /// Adds an operator whose result has this form.
    fn intermediate_in_form(
        &mut self,
        kind: OpKind,
        inputs: &[usize],
        name: &str,
        form: &TensorForm,
    ) -> Option<usize> {
        let inputs = inputs.iter().copied().map(Some).collect();
        let options = without_activation(kind);
        self.intermediate(
            kind,
            inputs,
            name,
            form.of_type,
            &form.shape,
            &form.perm,
            options,
        )
    }
}

/// A tensor's element type, its shape in ONNX's order of dimensions, and the order in which it is stored.
struct TensorForm {
    of_type: TensorType,
    shape: Vec<i64>,
    perm: Perm,
}
