//! Normalisations, as TFLite's converters spell them out, and softmax.

use super::Converter;
use super::value::{Value, axis, identity};
use crate::formats::onnx::proto::Node;
use crate::formats::tflite::{Activation, BuiltinOptions, OpKind};

impl<'a> Converter<'a> {
    pub(super) fn normalization(&mut self, node: &'a Node<'a>) -> Option<()> {
        let output = self.output(node)?;
        let (x, shape) = self.shaped(node, 0)?;
        let rank = shape.len();
        match node.text.op_type {
            "Softmax" | "LogSoftmax" => self.softmax(node, output, &x, shape),
            "BatchNormalization" => {
                let scale = self.input(node, 1)?;
                match self.take_in_channels(&x, Some(&self.input(node, 2)?), output) {
                    Some(()) => Some(()),
                    None => self.scaled(&x, &shape, scale, self.input(node, 2)?, output),
                }
            }
            "LayerNormalization" | "RMSNormalization" => {
                let first = axis(node.integer("axis").unwrap_or(-1), rank)?;
                let axes: Vec<usize> = (first..rank).collect();
                let is_centred = node.text.op_type == "LayerNormalization";
                self.normalized(
                    &x,
                    &axes,
                    is_centred,
                    [self.input(node, 1), self.input(node, 2)],
                    first,
                    output,
                )
            }
            "InstanceNormalization" => {
                let axes: Vec<usize> = (2..rank).collect();
                self.normalized(
                    &x,
                    &axes,
                    true,
                    [self.input(node, 1), self.input(node, 2)],
                    1,
                    output,
                )
            }
            "LpNormalization" if node.integer("p").unwrap_or(2) == 2 => {
                let along = axis(node.integer("axis").unwrap_or(-1), rank)?;
                let perm = self.with_last(&x, along)?;
                let tensor = self.arranged(&x, &perm)?;
                let options = BuiltinOptions::L2Norm {
                    activation: Activation::None,
                };
                self.operator(
                    OpKind::L2Normalization,
                    vec![Some(tensor)],
                    output,
                    x.tensor_type,
                    shape,
                    perm,
                    options,
                )
            }
            "LRN" => {
                let size = node.integer("size")?;
                let perm = self.with_last(&x, 1)?;
                let tensor = self.arranged(&x, &perm)?;
                let options = BuiltinOptions::LocalResponseNormalization {
                    radius: i32::try_from(size / 2).ok()?,
                    bias: node.float("bias").unwrap_or(1.0),
                    alpha: node.float("alpha").unwrap_or(1e-4),
                    beta: node.float("beta").unwrap_or(0.75),
                };
                self.operator(
                    OpKind::LocalResponseNormalization,
                    vec![Some(tensor)],
                    output,
                    x.tensor_type,
                    shape,
                    perm,
                    options,
                )
            }
            _ => None,
        }
    }

    /// The order of a value, or one with this dimension last.
    fn with_last(&self, x: &Value<'a>, along: usize) -> Option<Vec<usize>> {
        let own = x.perm()?;
        if own.last() == Some(&along) {
            return Some(own);
        }
        let mut perm: Vec<usize> = identity(own.len())
            .into_iter()
            .filter(|&axis| axis != along)
            .collect();
        perm.push(along);
        Some(perm)
    }

    fn softmax(
        &mut self,
        node: &'a Node<'a>,
        output: &'a str,
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
        let perm = self.with_last(x, along)?;
        let tensor = self.arranged(x, &perm)?;
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
        output: &'a str,
    ) -> Option<()> {
        let (perm, tensor, of_type) = (x.perm()?, self.own(x)?, x.tensor_type);
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

    /// A constant that is broadcast from dimension `first` on, in the order of what it meets.
    fn per_channel(
        &mut self,
        constant: &Value<'a>,
        first: usize,
        rank: usize,
        perm: &[usize],
    ) -> Option<usize> {
        let own = constant.shape.as_ref()?;
        constant.is_constant().then_some(())?;
        let behind = rank.checked_sub(first)?.checked_sub(own.len())?;
        let whole = std::iter::repeat_n(1, first)
            .chain(own.iter().copied())
            .chain(std::iter::repeat_n(1, behind));
        let whole: Vec<i64> = whole.collect();
        let sides = super::value::stored(&whole, perm)?;
        let n_ones = sides.iter().take_while(|side| **side == 1).count();
        self.constant_tensor(constant, sides.get(n_ones..)?)
    }

    /// Mean and variance over `axes`, then scale and bias, broadcast from dimension `first` on.
    fn normalized(
        &mut self,
        x: &Value<'a>,
        axes: &[usize],
        is_centred: bool,
        [scale, bias]: [Option<Value<'a>>; 2],
        first: usize,
        output: &'a str,
    ) -> Option<()> {
        let (shape, perm, of_type) = (x.shape.clone()?, x.perm()?, x.tensor_type);
        let mut factors = Vec::new();
        for constant in [scale, bias] {
            let constant =
                constant.map(|constant| self.per_channel(&constant, first, shape.len(), &perm));
            factors.push(match constant {
                Some(constant) => Some(constant?),
                None => None,
            });
        }
        let tensor = self.own(x)?;
        let name = |what: &str| format!("{output}/{what}");
        let reducer = BuiltinOptions::Reducer { keep_dims: true };
        let arithmetic = |kind: OpKind| match kind {
            OpKind::Add => BuiltinOptions::Add {
                activation: Activation::None,
            },
            OpKind::Sub => BuiltinOptions::Sub {
                activation: Activation::None,
            },
            _ => BuiltinOptions::Mul {
                activation: Activation::None,
            },
        };
        let mut centred = tensor;
        let squares = match is_centred {
            true => {
                let (inputs, small, order) = self.reduction(tensor, &shape, &perm, axes, true)?;
                let mean = self.intermediate(
                    OpKind::Mean,
                    inputs,
                    &name("mean"),
                    of_type,
                    &small,
                    &order,
                    reducer.clone(),
                )?;
                let pair = vec![Some(tensor), Some(mean)];
                centred = self.intermediate(
                    OpKind::Sub,
                    pair.clone(),
                    &name("centred"),
                    of_type,
                    &shape,
                    &perm,
                    arithmetic(OpKind::Sub),
                )?;
                self.intermediate(
                    OpKind::SquaredDifference,
                    pair,
                    &name("squares"),
                    of_type,
                    &shape,
                    &perm,
                    BuiltinOptions::Absent,
                )?
            }
            false => {
                let pair = vec![Some(tensor), Some(tensor)];
                self.intermediate(
                    OpKind::Mul,
                    pair,
                    &name("squares"),
                    of_type,
                    &shape,
                    &perm,
                    arithmetic(OpKind::Mul),
                )?
            }
        };
        let (inputs, small, order) = self.reduction(squares, &shape, &perm, axes, true)?;
        let variance = self.intermediate(
            OpKind::Mean,
            inputs,
            &name("variance"),
            of_type,
            &small,
            &order,
            reducer,
        )?;
        let epsilon = self.scalar("epsilon", of_type);
        let inputs = vec![Some(variance), Some(epsilon)];
        let sum = self.intermediate(
            OpKind::Add,
            inputs,
            &name("sum"),
            of_type,
            &small,
            &order,
            arithmetic(OpKind::Add),
        )?;
        let root = self.intermediate(
            OpKind::Rsqrt,
            vec![Some(sum)],
            &name("root"),
            of_type,
            &small,
            &order,
            BuiltinOptions::Absent,
        )?;
        let mut steps: Vec<(OpKind, usize)> = vec![(OpKind::Mul, root)];
        if let Some(&Some(scale)) = factors.first() {
            steps.push((OpKind::Mul, scale));
        }
        if let Some(&Some(bias)) = factors.get(1) {
            steps.push((OpKind::Add, bias));
        }
        let (last_kind, last_factor) = steps.pop()?;
        for (kind, factor) in steps {
            let inputs = vec![Some(centred), Some(factor)];
            centred = self.intermediate(
                kind,
                inputs,
                &name("normalized"),
                of_type,
                &shape,
                &perm,
                arithmetic(kind),
            )?;
        }
        let inputs = vec![Some(centred), Some(last_factor)];
        self.operator(
            last_kind,
            inputs,
            output,
            of_type,
            shape,
            perm,
            arithmetic(last_kind),
        )
    }
}
