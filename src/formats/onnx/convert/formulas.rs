//! Functions of one value that TFLite has no operator for, as the operators that converters write.

use super::Converter;
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::Node;
use crate::formats::tflite::{Activation, BuiltinOptions, OpKind, TensorType};

/// What an operator of a formula reads.
#[derive(Clone, Copy)]
enum Operand {
    /// The value.
    X,
    /// The result of the operator before; of the first operator, the value.
    Last,
    /// A number, named for what it is.
    Number(&'static str),
}

use Operand::{Last, Number, X};

/// An operator with what it reads, and the activation that is fused into it.
#[derive(Clone, Copy)]
struct Step(OpKind, &'static [Operand], Activation);

const fn step(kind: OpKind, operands: &'static [Operand]) -> Step {
    Step(kind, operands, Activation::None)
}

/// Operators one after another.
type Formula = &'static [Step];

const SOFTPLUS: Formula = &[
    step(OpKind::Exp, &[Last]),
    step(OpKind::Add, &[Last, Number("one")]),
    step(OpKind::Log, &[Last]),
];
const MISH: Formula = &[
    step(OpKind::Exp, &[Last]),
    step(OpKind::Add, &[Last, Number("one")]),
    step(OpKind::Log, &[Last]),
    step(OpKind::Tanh, &[Last]),
    step(OpKind::Mul, &[X, Last]),
];
const SWISH: Formula = &[
    step(OpKind::Logistic, &[Last]),
    step(OpKind::Mul, &[X, Last]),
];
const SCALED_SWISH: Formula = &[
    step(OpKind::Mul, &[Last, Number("alpha")]),
    step(OpKind::Logistic, &[Last]),
    step(OpKind::Mul, &[X, Last]),
];
const SOFTSIGN: Formula = &[
    step(OpKind::Abs, &[Last]),
    step(OpKind::Add, &[Last, Number("one")]),
    step(OpKind::Div, &[X, Last]),
];
const HARD_SIGMOID: Formula = &[
    Step(OpKind::Add, &[Last, Number("three")], Activation::Relu6),
    step(OpKind::Mul, &[Last, Number("sixth")]),
];
const RECIPROCAL: Formula = &[step(OpKind::Div, &[Number("one"), X])];
const SQUARE: Formula = &[step(OpKind::Mul, &[X, X])];

impl<'a> Converter<'a> {
    /// A node whose operator is a formula.
    pub(super) fn formula(&mut self, node: &'a Node<'a>, output: Name<'a>) -> Option<()> {
        let formula = match node.text.op_type {
            "Softplus" => SOFTPLUS,
            "Mish" => MISH,
            "Swish" if node.float("alpha").unwrap_or(1.0) == 1.0 => SWISH,
            "Swish" => SCALED_SWISH,
            "Softsign" => SOFTSIGN,
            "HardSigmoid" => HARD_SIGMOID,
            "Reciprocal" => RECIPROCAL,
            "Pow" if self.input(node, 1)?.number() == Some(2.0) => SQUARE,
            _ => return None,
        };
        let value = self.input(node, 0)?;
        let (shape, perm, of_type) = (value.shape.clone()?, value.perm()?, value.tensor_type);
        let x = self.stored_tensor(&value)?;
        let (&last, before) = formula.split_last()?;
        let mut tensor = x;
        for &step in before {
            let (kind, inputs, options) = self.step(step, x, tensor, of_type);
            let name = kind.name();
            tensor = self.intermediate(kind, inputs, name, of_type, &shape, &perm, options)?;
        }
        let (kind, inputs, options) = self.step(last, x, tensor, of_type);
        self.operator(kind, inputs, output, of_type, shape, perm, options)
    }

    /// The operator of a step, what it reads, and its options.
    fn step(
        &mut self,
        Step(kind, operands, activation): Step,
        x: usize,
        last: usize,
        of_type: TensorType,
    ) -> (OpKind, Vec<Option<usize>>, BuiltinOptions) {
        let inputs = operands.iter().map(|operand| {
            Some(match operand {
                X => x,
                Last => last,
                Number(name) => self.scalar(name, of_type),
            })
        });
        (kind, inputs.collect(), with_activation(kind, activation))
    }
}

/// Options of an operator on elements, without an activation.
pub(super) fn without_activation(kind: OpKind) -> BuiltinOptions {
    with_activation(kind, Activation::None)
}

fn with_activation(kind: OpKind, activation: Activation) -> BuiltinOptions {
    match kind {
        OpKind::Add => BuiltinOptions::Add { activation },
        OpKind::Sub => BuiltinOptions::Sub { activation },
        OpKind::Mul => BuiltinOptions::Mul { activation },
        OpKind::Div => BuiltinOptions::Div { activation },
        _ => BuiltinOptions::Absent,
    }
}
