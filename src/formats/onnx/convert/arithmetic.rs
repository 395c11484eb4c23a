//! Activations, arithmetic and comparisons: value by value.

use super::Converter;
use super::formulas::without_activation;
use super::value::{Perm, Place, Value, broadcast, extended_shape, identity, stored_shape};
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::{Node, tensor_type};
use crate::formats::tflite::{Activation, BuiltinOptions, Folded, OpKind, Operator, TensorType};

/// Operators with one operand and no options.
const UNARY: &[(&str, OpKind)] = &[
    ("Relu", OpKind::Relu),
    ("Sigmoid", OpKind::Logistic),
    ("Tanh", OpKind::Tanh),
    ("Exp", OpKind::Exp),
    ("Log", OpKind::Log),
    ("Sqrt", OpKind::Sqrt),
    ("Neg", OpKind::Neg),
    ("Abs", OpKind::Abs),
    ("Floor", OpKind::Floor),
    ("Ceil", OpKind::Ceil),
    ("Round", OpKind::Round),
    ("Sin", OpKind::Sin),
    ("Cos", OpKind::Cos),
    ("Sign", OpKind::Sign),
    ("Not", OpKind::LogicalNot),
    ("HardSwish", OpKind::HardSwish),
    ("Elu", OpKind::Elu),
];

/// Operators of operands that are broadcast to one shape.
const BROADCAST: &[(&str, OpKind)] = &[
    ("Add", OpKind::Add),
    ("Sum", OpKind::Add),
    ("Sub", OpKind::Sub),
    ("Mul", OpKind::Mul),
    ("Div", OpKind::Div),
    ("Max", OpKind::Maximum),
    ("Min", OpKind::Minimum),
    ("Pow", OpKind::Pow),
    ("Mod", OpKind::FloorMod),
    ("PRelu", OpKind::Prelu),
];

/// The same, with truth values as results.
const COMPARISONS: &[(&str, OpKind)] = &[
    ("Equal", OpKind::Equal),
    ("Greater", OpKind::Greater),
    ("Less", OpKind::Less),
    ("GreaterOrEqual", OpKind::GreaterEqual),
    ("LessOrEqual", OpKind::LessEqual),
    ("And", OpKind::LogicalAnd),
    ("Or", OpKind::LogicalOr),
];

impl<'a> Converter<'a> {
    pub(super) fn arithmetic(&mut self, node: &'a Node<'a>) -> Option<()> {
        let output = self.output(node)?;
        let op_type = node.text.op_type;
        if let Some(&(_, kind)) = UNARY.iter().find(|(name, _)| *name == op_type) {
            let value = self.input(node, 0)?;
            if op_type == "Relu" && self.fuse(&value, output, Activation::Relu).is_some() {
                return Some(());
            }
            return self.unary(kind, &value, output, BuiltinOptions::Absent);
        }
        match op_type {
            "Identity" | "Dropout" | "Optional" | "OptionalGetElement" => {
                let (value, shape) = self.input_with_shape(node, 0)?;
                self.alias(output, &value, shape, value.perm()?)
            }
            "Cast" => self.cast(node, output, tensor_type(node.integer("to")?)),
            "CastLike" => self.cast(node, output, self.input(node, 1)?.tensor_type),
            "Clip" => self.clip(node, output),
            "LeakyRelu" => {
                let alpha = node.float("alpha").unwrap_or(0.01);
                let value = self.input(node, 0)?;
                self.unary(
                    OpKind::LeakyRelu,
                    &value,
                    output,
                    BuiltinOptions::LeakyRelu { alpha },
                )
            }
            "Gelu" => {
                let approximate = node.text("approximate") == Some("tanh");
                let value = self.input(node, 0)?;
                self.unary(
                    OpKind::Gelu,
                    &value,
                    output,
                    BuiltinOptions::Gelu { approximate },
                )
            }
            "Pow" if self.input(node, 1)?.number() == Some(0.5) => {
                let value = self.input(node, 0)?;
                self.unary(OpKind::Sqrt, &value, output, BuiltinOptions::Absent)
            }
            "Where" => {
                let values = [0, 1, 2].map(|at| self.input(node, at));
                let values: Vec<Value> = values.into_iter().collect::<Option<_>>()?;
                let of_type = values.get(1)?.tensor_type;
                self.broadcast(
                    OpKind::SelectV2,
                    &values,
                    output,
                    of_type,
                    BuiltinOptions::Absent,
                )
            }
            _ => (self.formula(node, output)).or_else(|| self.broadcast_node(node, output)),
        }
    }

    /// The tensor of a value as it lies.
    pub(super) fn stored_tensor(&mut self, value: &Value<'a>) -> Option<usize> {
        let perm = value.perm()?;
        self.tensor_in_order(value, &perm)
    }

    pub(super) fn unary(
        &mut self,
        kind: OpKind,
        value: &Value<'a>,
        output: Name<'a>,
        options: BuiltinOptions,
    ) -> Option<()> {
        let (shape, perm) = (value.shape.clone()?, value.perm()?);
        let tensor = self.stored_tensor(value)?;
        self.operator(
            kind,
            vec![Some(tensor)],
            output,
            value.tensor_type,
            shape,
            perm,
            options,
        )
    }

    fn cast(&mut self, node: &'a Node<'a>, output: Name<'a>, to: TensorType) -> Option<()> {
        let (value, shape) = self.input_with_shape(node, 0)?;
        if to == value.tensor_type {
            return self.alias(output, &value, shape, value.perm()?);
        }
        if value.is_constant() {
            let cast = Value {
                tensor_type: to,
                ..value
            };
            return self.alias(output, &cast, shape, Perm::new());
        }
        let options = BuiltinOptions::Cast {
            in_data_type: value.tensor_type,
            out_data_type: to,
        };
        let tensor = self.stored_tensor(&value)?;
        self.operator(
            OpKind::Cast,
            vec![Some(tensor)],
            output,
            to,
            shape,
            value.perm()?,
            options,
        )
    }

    fn clip(&mut self, node: &'a Node<'a>, output: Name<'a>) -> Option<()> {
        let value = self.input(node, 0)?;
        let bounds = [1, 2].map(|position| self.input(node, position));
        if bounds.iter().flatten().any(|bound| !bound.is_constant()) {
            return self.clip_by_values(value, bounds, output);
        }
        // Beyond what activations reach, exporters write the type's largest number.
        let bounded = |bound: Option<f64>| bound.filter(|bound| bound.abs() < 1e30);
        let [min, max] = self.clip_bounds(node).map(bounded);
        // A least value of 1e-12 is no ReLU: it keeps a length from being 0.
        let is = |bound: Option<f64>, number: f64| {
            bound.is_some_and(|bound| (bound - number).abs() <= 1e-6 * number.abs())
        };
        let (fused, kind) = match (min, max) {
            _ if is(min, 0.0) && is(max, 6.0) => (Activation::Relu6, OpKind::Relu6),
            _ if is(min, -1.0) && is(max, 1.0) => (Activation::ReluN1To1, OpKind::ReluN1To1),
            (_, None) if is(min, 0.0) => (Activation::Relu, OpKind::Relu),
            (None, None) => {
                let (shape, perm) = (value.shape.clone()?, value.perm()?);
                return self.alias(output, &value, shape, perm);
            }
            _ => return self.clip_by_constants(&value, output, [min.is_some(), max.is_some()]),
        };
        match self.fuse(&value, output, fused) {
            Some(()) => Some(()),
            None => self.unary(kind, &value, output, BuiltinOptions::Absent),
        }
    }

    /// Between bounds that are computed.
    fn clip_by_values(
        &mut self,
        value: Value<'a>,
        [min, max]: [Option<Value<'a>>; 2],
        output: Name<'a>,
    ) -> Option<()> {
        let of_type = value.tensor_type;
        let options = BuiltinOptions::Absent;
        let bounds = [(OpKind::Maximum, min), (OpKind::Minimum, max)];
        let bounds = bounds
            .into_iter()
            .filter_map(|(kind, bound)| Some((kind, bound?)));
        let mut bounds: Vec<(OpKind, Value)> = bounds.collect();
        let (last_kind, last) = bounds.pop()?;
        let mut bounded = value;
        for (kind, bound) in bounds {
            bounded = self.intermediate_of_operands(kind, &[bounded, bound], of_type, &options)?;
        }
        self.broadcast(last_kind, &[bounded, last], output, of_type, options)
    }

    /// Least and largest value of a `Clip`, as attributes or as inputs; none where it has none or computes it.
    pub(super) fn clip_bounds(&self, node: &'a Node<'a>) -> [Option<f64>; 2] {
        [("min", 1), ("max", 2)].map(|(name, position)| {
            match node.inputs.get(position).filter(|input| !input.is_empty()) {
                Some(_) => self.input(node, position)?.number(),
                None => node.float(name).map(f64::from),
            }
        })
    }

    /// Between bounds that no activation of TFLite has.
    fn clip_by_constants(
        &mut self,
        value: &Value<'a>,
        output: Name<'a>,
        [has_min, has_max]: [bool; 2],
    ) -> Option<()> {
        let (shape, perm) = (value.shape.clone()?, value.perm()?);
        let bound = self.scalar("bound", value.tensor_type);
        let mut tensor = self.stored_tensor(value)?;
        if has_min && has_max {
            let inputs = vec![Some(tensor), Some(bound)];
            tensor = self.intermediate(
                OpKind::Maximum,
                inputs,
                "bounded",
                value.tensor_type,
                &shape,
                &perm,
                BuiltinOptions::Absent,
            )?;
        }
        let kind = if has_max {
            OpKind::Minimum
        } else {
            OpKind::Maximum
        };
        let inputs = vec![Some(tensor), Some(bound)];
        self.operator(
            kind,
            inputs,
            output,
            value.tensor_type,
            shape,
            perm,
            BuiltinOptions::Absent,
        )
    }

    fn broadcast_node(&mut self, node: &'a Node<'a>, output: Name<'a>) -> Option<()> {
        let op_type = node.text.op_type;
        let of_name = |rows: &[(&str, OpKind)]| {
            let row = rows.iter().find(|(name, _)| *name == op_type)?;
            Some(row.1)
        };
        let comparison = of_name(COMPARISONS);
        let kind = comparison.or_else(|| of_name(BROADCAST))?;
        let values = (0..node.inputs.len()).map(|at| self.input(node, at));
        let mut values: Vec<Value> = values.collect::<Option<_>>()?;
        let of_type = match comparison {
            Some(_) => TensorType::Bool,
            None => values.first()?.tensor_type,
        };
        if let [one, other] = &values[..]
            && matches!(op_type, "Add" | "Sub" | "Mul" | "Div")
        {
            let taken_in = self.fuse_constant(op_type, one, other, output);
            let taken_in = taken_in.or_else(|| match op_type {
                "Add" | "Mul" => self.fuse_constant(op_type, other, one, output),
                _ => None,
            });
            if taken_in.is_some() {
                return taken_in;
            }
        }
        if op_type == "PRelu" {
            // The slopes are broadcast to the input alone.
            let rank = values.first()?.rank()?;
            let slopes = values.get_mut(1)?;
            if slopes.is_constant() {
                slopes.shape = Some(extended_shape(slopes.shape.as_ref()?, rank));
            }
        }
        let options = without_activation(kind);
        // Of many constants not one tensor is needed.
        if values.len() > 1 && values.iter().all(Value::is_constant) {
            return self.constant(output, of_type, broadcast_shape(&values)?, None);
        }
        let last = values.pop()?;
        let mut sum = match values.len() {
            0 => return self.alias(output, &last, last.shape.clone()?, last.perm()?),
            _ => values.remove(0),
        };
        for value in values {
            sum = self.intermediate_of_operands(kind, &[sum, value], of_type, &options)?;
        }
        self.broadcast(kind, &[sum, last], output, of_type, options)
    }

    /// One of the sums of a `Sum` of more than two.
    fn intermediate_of_operands(
        &mut self,
        kind: OpKind,
        values: &[Value<'a>],
        of_type: TensorType,
        options: &BuiltinOptions,
    ) -> Option<Value<'a>> {
        let (inputs, shape, perm) = self.broadcast_operands(values)?;
        let tensor_idx = self.intermediate(
            kind,
            inputs,
            kind.name(),
            of_type,
            &shape,
            &perm,
            options.clone(),
        )?;
        Some(Value {
            name: Name::default(),
            tensor_type: of_type,
            shape: Some(shape),
            place: Place::Tensor { tensor_idx, perm },
        })
    }

    pub(super) fn broadcast(
        &mut self,
        kind: OpKind,
        values: &[Value<'a>],
        output: Name<'a>,
        of_type: TensorType,
        options: BuiltinOptions,
    ) -> Option<()> {
        let (inputs, shape, perm) = self.broadcast_operands(values)?;
        self.operator(kind, inputs, output, of_type, shape, perm, options)
    }

    /// Tensors of operands in one order, with the shape and order of the result.
    fn broadcast_operands(
        &mut self,
        values: &[Value<'a>],
    ) -> Option<(Vec<Option<usize>>, Vec<i64>, Perm)> {
        let shape = broadcast_shape(values)?;
        let rank = shape.len();
        // That of the largest activation, so that the least moves.
        let widest = values
            .iter()
            .filter(|value| !value.is_constant() && value.rank() == Some(rank));
        let widest = widest.max_by_key(|value| value.n_values());
        let perm = widest
            .and_then(Value::perm)
            .unwrap_or_else(|| identity(rank));
        let mut inputs = Vec::with_capacity(values.len());
        for value in values {
            inputs.push(Some(self.broadcast_operand(
                value,
                &perm,
                widest.is_some(),
            )?));
        }
        Some((inputs, shape, perm))
    }

    /// The tensor of an operand. A constant leaves out its dimensions of 1 in front if another operand has all
    /// dimensions of the result.
    fn broadcast_operand(
        &mut self,
        value: &Value<'a>,
        perm: &[usize],
        has_widest: bool,
    ) -> Option<usize> {
        let value_shape = value.shape.as_ref()?;
        let shape = extended_shape(value_shape, perm.len());
        if value.is_constant() {
            let sides = stored_shape(&shape, perm)?;
            let is_spare = |side: &&i64| has_widest && **side == 1;
            let n_ones = sides.iter().take_while(is_spare).count();
            return self.constant_tensor(value, sides.get(n_ones..)?);
        }
        if value_shape.len() == perm.len() {
            return self.tensor_in_order(value, perm);
        }
        let tensor = self.tensor_in_order(value, &identity(value_shape.len()))?;
        if perm == identity(perm.len()) {
            return Some(tensor);
        }
        let of_type = self.network.builder.tensors.get(tensor)?.tensor_type;
        let place = Place::Tensor {
            tensor_idx: self.reshaped_tensor(tensor, &value.name, of_type, &shape)?,
            perm: identity(perm.len()),
        };
        let widened = Value {
            shape: Some(shape),
            place,
            ..value.clone()
        };
        self.tensor_in_order(&widened, perm)
    }

    /// A constant for each channel that is added to the result of a convolution or matrix product, or
    /// multiplied with it, becomes part of its bias and weights.
    fn fuse_constant(
        &mut self,
        op_type: &str,
        value: &Value<'a>,
        constant: &Value<'a>,
        output: Name<'a>,
    ) -> Option<()> {
        let shape = value.shape.as_ref()?;
        let per_channel = constant.constant().and(constant.shape.as_ref())?;
        (per_channel.len() <= shape.len()).then_some(())?;
        let perm = value.perm()?;
        let sides = stored_shape(&extended_shape(per_channel, shape.len()), &perm)?;
        let (channels, others) = sides.split_last()?;
        let own_channels = shape.get(*perm.last()?)?;
        (others.iter().all(|&side| side == 1) && (*channels == 1 || channels == own_channels))
            .then_some(())?;
        let is_scalar = *channels == 1;
        let (kind, bias) = match op_type {
            "Add" => (OpKind::Add, Some(constant)),
            "Sub" => (OpKind::Sub, Some(constant)),
            "Mul" => (OpKind::Mul, None),
            _ => (OpKind::Div, None),
        };
        let operator_idx = self.product_that_writes(value)?;
        let folded = Folded { kind, is_scalar };
        let operator = self.network.builder.operators.get(operator_idx)?;
        // The first sum is the bias, which is no step of its own.
        let is_bias = bias.is_some() && operator.folded.is_empty() && !has_bias(operator);
        self.fuse_into_product(value, bias, output)?;
        if !is_bias {
            let operator = self.network.builder.operators.get_mut(operator_idx)?;
            let before = operator.folded.iter().copied();
            operator.folded = before.chain([folded]).collect();
        }
        Some(())
    }

    /// The same for the operator that writes `value`: `bias` where there is one to add.
    pub(super) fn fuse_into_product(
        &mut self,
        value: &Value<'a>,
        bias: Option<&Value<'a>>,
        output: Name<'a>,
    ) -> Option<()> {
        let operator_idx = self.product_that_writes(value)?;
        let operator = self.network.builder.operators.get(operator_idx)?;
        let position = bias_position(operator)?;
        let units = self
            .network
            .builder
            .tensors
            .get(*operator.outputs.first()?)?
            .shape
            .last()
            .copied()?;
        if let (Some(bias), false) = (bias, has_bias(operator)) {
            let of_type = bias.tensor_type;
            let tensor = self
                .network
                .builder
                .tensor(&bias.name, of_type, vec![units]);
            self.describe(tensor);
            let inputs = &mut self.network.builder.operators.get_mut(operator_idx)?.inputs;
            inputs.truncate(position);
            inputs.resize(position, None);
            inputs.push(Some(tensor));
        }
        self.rename_fused_result(value, output)
    }

    /// The convolution or matrix product whose result, without an activation, is `value` and nothing else.
    fn product_that_writes(&mut self, value: &Value<'a>) -> Option<usize> {
        let operator_idx = self.only_writer(value)?;
        let operator = self.network.builder.operators.get_mut(operator_idx)?;
        let is_product = matches!(
            operator.code.kind,
            OpKind::Conv2d
                | OpKind::DepthwiseConv2d
                | OpKind::TransposeConv
                | OpKind::Conv3d
                | OpKind::FullyConnected
        );
        let activation = super::emit::activation_of(&mut operator.options)?;
        (is_product && *activation == Activation::None).then_some(operator_idx)
    }
}

/// Which input of a convolution or matrix product is its bias.
fn bias_position(operator: &Operator) -> Option<usize> {
    operator.code.kind.row().inputs_of(b'b').next()
}

fn has_bias(operator: &Operator) -> bool {
    let bias = bias_position(operator).and_then(|position| operator.inputs.get(position));
    bias.is_some_and(Option::is_some)
}

fn broadcast_shape(values: &[Value]) -> Option<Vec<i64>> {
    let shapes = values.iter().map(|value| value.shape.as_deref());
    broadcast(&shapes.collect::<Option<Vec<&[i64]>>>()?)
}
