//! Tensors and operators that conversions add to the network.

use std::sync::Arc;

use super::Converter;
use super::value::{
    Constant, Known, Perm, Place, Value, identity, is_short, product, same_order, stored_axis,
    stored_shape,
};
use crate::formats::builder;
use crate::formats::onnx::limits::*;
use crate::formats::onnx::names::Name;
use crate::formats::shown;
use crate::formats::tflite::{Activation, BuiltinOptions, OpKind, TensorType};

impl<'a> Converter<'a> {
    /// Adds a tensor with this shape in ONNX's order. Returns its index, or `None` if the shape has no size.
    pub(super) fn tensor(
        &mut self,
        name: &str,
        of_type: TensorType,
        shape: &[i64],
        perm: &[usize],
    ) -> Option<usize> {
        let sides = stored_sides(shape, perm)?;
        Some(self.network.builder.tensor(name, of_type, sides))
    }

    pub(super) fn define(
        &mut self,
        name: Name<'a>,
        of_type: TensorType,
        shape: Vec<i64>,
        tensor_idx: usize,
        perm: Perm,
    ) {
        let n_uses = self.names.uses.get(&name).copied().unwrap_or(0);
        let reads = self.network.reads.entry(tensor_idx).or_default();
        *reads = reads.saturating_add(n_uses);
        let place = Place::Tensor { tensor_idx, perm };
        self.names.values.insert(
            name,
            Value {
                name,
                tensor_type: of_type,
                shape: Some(shape),
                place,
            },
        );
    }

    /// Another name, type or shape for the tensor that a node reads once here; none beyond [`MAX_RANK`] dimensions.
    pub(super) fn alias(
        &mut self,
        output: Name<'a>,
        value: &Value<'a>,
        shape: Vec<i64>,
        perm: Perm,
    ) -> Option<()> {
        (shape.len() <= MAX_RANK).then_some(())?;
        match &value.place {
            Place::Tensor { tensor_idx, .. } => {
                if let Some(reads) = self.network.reads.get_mut(tensor_idx) {
                    *reads = reads.saturating_sub(1);
                }
                self.define(output, value.tensor_type, shape, *tensor_idx, perm);
            }
            Place::Constant(constant) => {
                let constant = Constant {
                    known: constant.known.clone().filter(|_| is_short(&shape)),
                    ..constant.clone()
                };
                let value = Value {
                    name: output,
                    shape: Some(shape),
                    place: Place::Constant(constant),
                    ..value.clone()
                };
                self.names.values.insert(output, value);
            }
            Place::Sequence(_) => return None,
        }
        Some(())
    }

    /// Makes a constant of a node's result, with its values where there are few; none beyond [`MAX_RANK`] dimensions.
    pub(super) fn constant(
        &mut self,
        output: Name<'a>,
        of_type: TensorType,
        shape: Vec<i64>,
        known: Option<Known>,
    ) -> Option<()> {
        (shape.len() <= MAX_RANK).then_some(())?;
        let known = known.filter(|known| is_short(&shape) && self.limits.spend_known(known.len()));
        let value = Value {
            name: output,
            tensor_type: of_type,
            shape: Some(shape),
            place: Place::Constant(Constant {
                known: known.map(Arc::new),
                n_stored: self.n_stored,
                ..Constant::default()
            }),
        };
        self.names.values.insert(output, value);
        Some(())
    }

    /// Adds an operator with one output: the output's tensor. An operator on constants alone becomes one.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn operator(
        &mut self,
        kind: OpKind,
        inputs: Vec<Option<usize>>,
        output: Name<'a>,
        of_type: TensorType,
        shape: Vec<i64>,
        perm: Perm,
        options: BuiltinOptions,
    ) -> Option<()> {
        let tensor_idx =
            self.intermediate(kind, inputs, &output, of_type, &shape, &perm, options)?;
        if self.is_constant_tensor(tensor_idx) {
            return self.constant(output, of_type, shape, None);
        }
        self.define(output, of_type, shape, tensor_idx, perm);
        Some(())
    }

    /// [`Self::operator`] for an output without a name in ONNX. It is read once.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn intermediate(
        &mut self,
        kind: OpKind,
        inputs: Vec<Option<usize>>,
        name: &str,
        of_type: TensorType,
        shape: &[i64],
        perm: &[usize],
        options: BuiltinOptions,
    ) -> Option<usize> {
        let tensor_idx = self.tensor(name, of_type, shape, perm)?;
        // An operator that becomes a constant takes the same memory until the end of the conversion.
        self.limits.spend_operator(1)?;
        let is_constant = !inputs.is_empty()
            && inputs
                .iter()
                .flatten()
                .all(|&input| self.is_constant_tensor(input));
        if is_constant {
            let sources = inputs.iter().flatten();
            let sources = sources.map(|&input| self.network.builder.n_parameters(input));
            let n_parameters = sources.fold(0, u64::saturating_add);
            self.describe(tensor_idx);
            self.network
                .builder
                .limit_parameters(tensor_idx, n_parameters);
            return Some(tensor_idx);
        }
        let operator_idx = self
            .network
            .builder
            .operator(kind, inputs, vec![tensor_idx], options);
        self.network.writers.insert(tensor_idx, operator_idx);
        Some(tensor_idx)
    }

    /// Makes a tensor a constant of the default distribution.
    pub(super) fn describe(&mut self, tensor_idx: usize) {
        if let Some(tensor) = self.network.builder.tensors.get(tensor_idx) {
            let buffer = builder::described(tensor, &self.network.default_counts);
            self.network.builder.set_buffer(tensor_idx, buffer);
        }
    }

    pub(super) fn is_constant_tensor(&self, tensor_idx: usize) -> bool {
        !self.network.builder.buffer(tensor_idx).is_empty()
    }

    /// The tensor of a value with its dimensions in this order. Adds a `TRANSPOSE` if they are in a different order.
    pub(super) fn tensor_in_order(&mut self, value: &Value<'a>, perm: &[usize]) -> Option<usize> {
        let shape = value.shape.as_ref()?;
        let (tensor_idx, own_perm) = match &value.place {
            Place::Tensor { tensor_idx, perm } => (*tensor_idx, perm),
            Place::Constant(_) => return self.constant_tensor(value, &stored_shape(shape, perm)?),
            Place::Sequence(_) => return None,
        };
        if own_perm == perm {
            return Some(tensor_idx);
        }
        let key = (tensor_idx, perm.to_vec());
        if let Some(&known) = self.network.arranged.get(&key) {
            return Some(known);
        }
        let of_type = self.network.builder.tensors.get(tensor_idx)?.tensor_type;
        let order = perm.iter().map(|axis| stored_axis(*axis, own_perm));
        let order: Vec<i32> = order.collect::<Option<_>>()?;
        let name = format!("{}/transposed", shown(&value.name));
        let arranged = if same_order(shape, own_perm, perm) {
            self.reshaped_tensor(tensor_idx, &name, of_type, &stored_shape(shape, perm)?)?
        } else {
            let order = self.integers("perm", &order);
            let inputs = vec![Some(tensor_idx), Some(order)];
            self.intermediate(
                OpKind::Transpose,
                inputs,
                &name,
                of_type,
                shape,
                perm,
                BuiltinOptions::Absent,
            )?
        };
        self.copy_quantization(tensor_idx, arranged);
        self.network.arranged.insert(key, arranged);
        Some(arranged)
    }

    /// A `RESHAPE` of a tensor to a stored shape.
    pub(super) fn reshaped_tensor(
        &mut self,
        tensor_idx: usize,
        name: &str,
        of_type: TensorType,
        to: &[i64],
    ) -> Option<usize> {
        let sides = stored_sides(to, &identity(to.len()))?;
        // Of one reshape after another, the first is not needed.
        let tensor_idx = self.before_reshape(tensor_idx).unwrap_or(tensor_idx);
        if self.network.builder.tensors.get(tensor_idx)?.shape == sides {
            return Some(tensor_idx);
        }
        let shape = self.integers("shape", &sides);
        let options = BuiltinOptions::Reshape { new_shape: sides };
        let inputs = vec![Some(tensor_idx), Some(shape)];
        let reshaped = self.intermediate(
            OpKind::Reshape,
            inputs,
            name,
            of_type,
            to,
            &identity(to.len()),
            options,
        )?;
        self.copy_quantization(tensor_idx, reshaped);
        Some(reshaped)
    }

    /// The input of the `RESHAPE` that writes a tensor.
    pub(super) fn before_reshape(&self, tensor_idx: usize) -> Option<usize> {
        let operator = self
            .network
            .builder
            .operators
            .get(*self.network.writers.get(&tensor_idx)?)?;
        let is_reshape = operator.code.kind == OpKind::Reshape;
        is_reshape.then(|| operator.inputs.first().copied().flatten())?
    }

    /// Operators that only move values keep their scale.
    pub(super) fn copy_quantization(&mut self, from: usize, to: usize) {
        let quantization = self
            .network
            .builder
            .tensors
            .get(from)
            .and_then(|tensor| tensor.quantization.clone());
        if let (Some(quantization), Some(tensor)) =
            (quantization, self.network.builder.tensors.get_mut(to))
        {
            tensor.quantization = Some(quantization);
        }
    }

    pub(super) fn integers(&mut self, name: &str, values: &[i32]) -> usize {
        let n = i32::try_from(values.len()).unwrap_or(i32::MAX);
        self.network.builder.integers(name, vec![n], values)
    }

    /// Values per pair, as paddings have them.
    pub(super) fn pairs(&mut self, name: &str, values: &[[i32; 2]]) -> usize {
        let n = i32::try_from(values.len()).unwrap_or(i32::MAX);
        self.network
            .builder
            .integers(name, vec![n, 2], &values.concat())
    }

    /// A constant of one number of the type of an operand.
    pub(super) fn scalar(&mut self, name: &str, of_type: TensorType) -> usize {
        let tensor_idx = self.network.builder.tensor(name, of_type, Vec::new());
        self.describe(tensor_idx);
        tensor_idx
    }

    /// The tensor of a constant with this stored shape, each once.
    pub(super) fn constant_tensor(&mut self, value: &Value<'a>, sides: &[i64]) -> Option<usize> {
        let sides = stored_sides(sides, &identity(sides.len()))?;
        let key = (value.name, sides.clone());
        if let Some(&known) = self.network.constants.get(&key) {
            return Some(known);
        }
        let constant = value.constant()?;
        let (of_type, quantization) = match constant.stored.as_deref() {
            Some((of_type, quantization)) => (*of_type, quantization.clone()),
            None => (value.tensor_type, None),
        };
        let integers = match value.known() {
            Some(Known::Integers(values))
                if matches!(of_type, TensorType::Int64 | TensorType::Int32) =>
            {
                let narrow: Option<Vec<i32>> = values
                    .iter()
                    .map(|&value| i32::try_from(value).ok())
                    .collect();
                narrow.filter(|_| quantization.is_none())
            }
            _ => None,
        };
        let tensor_idx = match integers {
            Some(values) => self.network.builder.integers(&value.name, sides, &values),
            None => {
                let tensor_idx = self.network.builder.tensor(&value.name, of_type, sides);
                let counts = self.counts_of(value);
                let tensor = self.network.builder.tensors.get_mut(tensor_idx)?;
                if quantization.is_some() {
                    tensor.quantization = quantization;
                }
                let buffer = builder::described(tensor, &counts);
                self.network.builder.set_buffer(tensor_idx, buffer);
                self.network
                    .builder
                    .limit_parameters(tensor_idx, constant.n_stored);
                tensor_idx
            }
        };
        self.network.constants.insert(key, tensor_idx);
        Some(tensor_idx)
    }

    /// Whether a value is computed and has a single reader, so that this reader can be fused into its producer.
    pub(super) fn is_read_once(&self, value: &Value) -> bool {
        let reads = value
            .tensor_idx()
            .and_then(|tensor_idx| self.network.reads.get(&tensor_idx));
        reads == Some(&1)
    }

    /// The operator that writes a value that is read once.
    pub(super) fn only_writer(&self, value: &Value) -> Option<usize> {
        let tensor_idx = value.tensor_idx().filter(|_| self.is_read_once(value))?;
        let writer = |tensor_idx| self.network.writers.get(&tensor_idx).copied();
        // The row that an image of height 1 becomes belongs to the operator on the image.
        let image = self.before_reshape(tensor_idx);
        let image = image.filter(|image| !self.network.reads.contains_key(image));
        image.and_then(writer).or_else(|| writer(tensor_idx))
    }

    /// Fuses an activation into the operator that writes a value, and gives its result the node's name.
    pub(super) fn fuse(
        &mut self,
        value: &Value<'a>,
        output: Name<'a>,
        activation: Activation,
    ) -> Option<()> {
        let operator_idx = self.only_writer(value)?;
        let operator = self.network.builder.operators.get_mut(operator_idx)?;
        let fused =
            activation_of(&mut operator.options).filter(|fused| **fused == Activation::None)?;
        *fused = activation;
        self.rename_fused_result(value, output)
    }

    /// Gives the result of an operator the name of the node that was fused into it.
    pub(super) fn rename_fused_result(
        &mut self,
        value: &Value<'a>,
        output: Name<'a>,
    ) -> Option<()> {
        let tensor = self.network.builder.tensors.get_mut(value.tensor_idx()?)?;
        tensor.name = (*output).into();
        self.alias(output, value, value.shape.clone()?, value.perm()?)
    }
}

/// The activation of options that have one.
pub(super) fn activation_of(options: &mut BuiltinOptions) -> Option<&mut Activation> {
    use BuiltinOptions::*;
    match options {
        Conv2D { activation, .. }
        | Conv3D { activation, .. }
        | DepthwiseConv2D { activation, .. }
        | TransposeConv { activation, .. }
        | Pool2D { activation, .. }
        | FullyConnected { activation, .. }
        | Add { activation }
        | Sub { activation }
        | Mul { activation }
        | Div { activation } => Some(activation),
        _ => None,
    }
}

/// A shape in the order in which it is stored, as a tensor has it; none beyond what one may have.
pub(super) fn stored_sides(shape: &[i64], perm: &[usize]) -> Option<Vec<i32>> {
    let sides: Vec<i32> = (stored_shape(shape, perm)?.iter())
        .map(|&side| i32::try_from(side).ok().filter(|&side| side >= 0))
        .collect::<Option<_>>()?;
    // The widest type has 128 bits.
    let n_bits = product(shape)?.checked_mul(128)?;
    (sides.len() <= MAX_RANK && n_bits >= 0).then_some(sides)
}
