//! Quantised networks: `QuantizeLinear` and `DequantizeLinear` around operators become the types and scales of
//! the tensors between them.

use std::collections::HashMap;
use std::sync::Arc;

use super::Converter;
use super::value::{Place, Value};
use crate::formats::onnx::proto::Node;
use crate::formats::tflite::{BuiltinOptions, OpKind, Operator, Quantization, TensorType};

impl<'a> Converter<'a> {
    pub(super) fn quantized(&mut self, node: &'a Node<'a>) -> Option<()> {
        match node.text.op_type {
            "QuantizeLinear" => self.quantize(node),
            "DequantizeLinear" => self.dequantize(node),
            "DynamicQuantizeLinear" => self.quantize_within_operator(node),
            _ => None,
        }
    }

    /// TFLite's operators with floating-point activations and 8-bit weights quantise their input themselves: the values
    /// stay as they are, and their scale and zero point are numbers that TFLite does not see.
    fn quantize_within_operator(&mut self, node: &'a Node<'a>) -> Option<()> {
        let (output, (value, shape)) = (self.output(node)?, self.input_with_shape(node, 0)?);
        for (position, of_type) in [(1, TensorType::Float32), (2, TensorType::UInt8)] {
            if let Some(name) = node.outputs.get(position).filter(|name| !name.is_empty()) {
                self.constant(*name, of_type, Vec::new(), None)?;
            }
        }
        self.alias(output, &value, shape, value.perm()?)
    }

    /// Scales and zero points of a node's second and third input.
    fn quantization(&self, node: &Node<'a>) -> Option<Arc<Quantization>> {
        #[allow(clippy::as_conversions)]
        let scale: Option<Vec<f32>> = self.input(node, 1).and_then(|scale| {
            Some(
                scale
                    .floats()?
                    .into_iter()
                    .map(|scale| scale as f32)
                    .collect(),
            )
        });
        let scale = scale.filter(|scale| !scale.is_empty())?;
        let zero_point = self.input(node, 2).and_then(|zero| zero.integers());
        let zero_point = zero_point.filter(|zero| zero.len() == scale.len());
        Some(Arc::new(Quantization {
            zero_point: zero_point.unwrap_or_else(|| vec![0; scale.len()]),
            scale,
            quantized_dimension: 0,
        }))
    }

    fn quantize(&mut self, node: &'a Node<'a>) -> Option<()> {
        let (output, (value, shape)) = (self.output(node)?, self.input_with_shape(node, 0)?);
        let of_type = match self.input(node, 2) {
            Some(zero) => zero.tensor_type,
            None => TensorType::UInt8,
        };
        let quantization = self.quantization(node);
        if value.is_constant() {
            let mut packed = value.clone();
            packed.tensor_type = of_type;
            return self.alias(output, &packed, shape, Vec::new());
        }
        // What is computed for this node alone is computed in 8 bits.
        if self.only_writer(&value).is_some() {
            let row = value.tensor_idx()?;
            // The image that the row was belongs to the operator, too.
            let image = self.before_reshape(row);
            let image = image.filter(|image| !self.network.reads.contains_key(image));
            for tensor_idx in [Some(row), image].into_iter().flatten() {
                let tensor = self.network.builder.tensors.get_mut(tensor_idx)?;
                tensor.quantization = quantization.clone().or_else(|| tensor.quantization.take());
                tensor.tensor_type = of_type;
            }
            let packed = Value {
                tensor_type: of_type,
                ..value.clone()
            };
            return self.alias(output, &packed, shape, value.perm()?);
        }
        let (perm, tensor) = (value.perm()?, self.stored_tensor(&value)?);
        self.operator(
            OpKind::Quantize,
            vec![Some(tensor)],
            output,
            of_type,
            shape,
            perm,
            BuiltinOptions::Absent,
        )?;
        let idx = self.names.values.get(&output)?.tensor_idx()?;
        if let (Some(quantization), Some(tensor)) =
            (quantization, self.network.builder.tensors.get_mut(idx))
        {
            tensor.quantization = Some(quantization);
        }
        Some(())
    }

    fn dequantize(&mut self, node: &'a Node<'a>) -> Option<()> {
        let (output, (value, shape)) = (self.output(node)?, self.input_with_shape(node, 0)?);
        let quantization = self.quantization(node);
        let unpacked_type = self.input(node, 1)?.tensor_type;
        if let Place::Constant(constant) = &value.place {
            let mut constant = constant.clone();
            constant.known = None;
            constant.stored = Some(Arc::new((value.tensor_type, quantization)));
            let unpacked = Value {
                tensor_type: unpacked_type,
                place: Place::Constant(constant),
                ..value.clone()
            };
            return self.alias(output, &unpacked, shape, Vec::new());
        }
        let perm = value.perm()?;
        if let (Some(quantization), Some(tensor)) = (
            quantization,
            self.network.builder.tensors.get_mut(value.tensor_idx()?),
        ) {
            tensor.quantization = Some(quantization);
        }
        if self.names.outputs.contains(&output) {
            let tensor = self.stored_tensor(&value)?;
            return self.operator(
                OpKind::Dequantize,
                vec![Some(tensor)],
                output,
                unpacked_type,
                shape,
                perm,
                BuiltinOptions::Absent,
            );
        }
        let unpacked = Value {
            tensor_type: unpacked_type,
            ..value.clone()
        };
        self.alias(output, &unpacked, shape, perm)
    }

    /// Operators whose result stayed a float read floats: tensors of 8 bits are unpacked for them.
    pub(super) fn unpack_mixed_operands(&mut self) {
        let type_of = |converter: &Self, tensor_idx: usize| {
            converter
                .network
                .builder
                .tensors
                .get(tensor_idx)
                .map(|tensor| tensor.tensor_type)
        };
        let is_packed = |of_type: Option<TensorType>| {
            matches!(of_type, Some(TensorType::Int8 | TensorType::UInt8))
        };
        let mut tensors = self.network.builder.tensors.iter();
        if !tensors.any(|tensor| is_packed(Some(tensor.tensor_type))) {
            return;
        }
        let operators = std::mem::take(&mut self.network.builder.operators);
        let mut unpacked: HashMap<usize, usize> = HashMap::new();
        for mut operator in operators {
            let result = operator
                .outputs
                .first()
                .and_then(|&output| type_of(self, output));
            let is_float = result.is_some_and(TensorType::is_float);
            if is_float && !operator.code.kind.is_conversion() {
                for input in operator.inputs.iter_mut().flatten() {
                    let is_mixed =
                        is_packed(type_of(self, *input)) && !self.is_constant_tensor(*input);
                    if is_mixed {
                        *input = *unpacked
                            .entry(*input)
                            .or_insert_with(|| self.unpack(*input, result));
                    }
                }
            }
            if is_packed(result) && !operator.code.kind.is_conversion() {
                self.pack_constants(&operator);
            }
            self.network.builder.operators.push(operator);
        }
    }

    /// Constants that stayed floats beside an operator on 8 bits: biases are words, others bytes.
    fn pack_constants(&mut self, operator: &Operator) {
        let row = operator.code.kind.row();
        for (position, input) in operator.inputs.iter().enumerate() {
            let Some(input) = *input else { continue };
            let of_type = self
                .network
                .builder
                .tensors
                .get(input)
                .map(|tensor| tensor.tensor_type);
            if of_type.is_some_and(TensorType::is_float) && self.is_constant_tensor(input) {
                let packed = if row.inputs_of(b'b').any(|bias| bias == position) {
                    TensorType::Int32
                } else {
                    TensorType::Int8
                };
                self.network.builder.retype(input, packed);
            }
        }
    }

    /// Adds a `DEQUANTIZE`: its result, or the tensor itself where there is no room for another operator.
    fn unpack(&mut self, tensor_idx: usize, of_type: Option<TensorType>) -> usize {
        let packed = self.network.builder.tensors.get(tensor_idx).cloned();
        let Some((packed, ())) = packed.zip(self.limits.spend_operator(1)) else {
            return tensor_idx;
        };
        let name = format!("{}/float", packed.name);
        let floats = self.network.builder.tensor(
            &name,
            of_type.unwrap_or(TensorType::Float32),
            packed.shape,
        );
        self.network.builder.operators.push(Operator {
            code: OpKind::Dequantize.into(),
            inputs: vec![Some(tensor_idx)],
            outputs: vec![floats],
            intermediates: Box::default(),
            options: BuiltinOptions::Absent,
            folded: Box::default(),
        });
        floats
    }
}
