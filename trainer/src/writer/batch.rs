//! A network for one image, sound or text → the same network for several.

use super::network::{Content, TensorIdx, WriterNetwork};
use super::operator_kind::OperatorKind;

impl WriterNetwork {
    /// The same network for `n` inputs: the first dimension of all activations is `n` instead of 1. `None` if an
    /// activation has another first dimension, or an operator changes it.
    pub fn in_batches_of(&self, n: i32) -> Option<WriterNetwork> {
        let mut batched = self.clone();
        for tensor in &mut batched.tensors {
            if tensor.is_constant() {
                continue;
            }
            match tensor.shape.first_mut() {
                Some(first) if *first == 1 => *first = n,
                _ => return None,
            }
        }
        for operator_idx in 0..batched.operators.len() {
            batched.batch_operator(operator_idx, n)?;
        }
        Some(batched)
    }

    fn batch_operator(&mut self, operator_idx: usize, n: i32) -> Option<()> {
        use OperatorKind as K;
        let operator = &mut self.operators[operator_idx];
        let inputs = operator.inputs.clone();
        match &mut operator.kind {
            K::Abs
            | K::Add { .. }
            | K::AveragePool2D { .. }
            | K::Conv2D { .. }
            | K::DepthToSpace { .. }
            | K::DepthwiseConv2D { .. }
            | K::Elu
            | K::Exp
            | K::FullyConnected { .. }
            | K::Gelu { .. }
            | K::GroupedConv2D { .. }
            | K::HardSwish
            | K::LeakyRelu { .. }
            | K::Log
            | K::Logistic
            | K::Maximum
            | K::MaxPool2D { .. }
            | K::Minimum
            | K::MirrorPad { .. }
            | K::Mul
            | K::Neg
            | K::Pad
            | K::PadV2
            | K::Prelu
            | K::Quantize
            | K::Relu
            | K::Relu0To1
            | K::Relu6
            | K::ReluN1To1
            | K::ResizeBilinear { .. }
            | K::ResizeNearestNeighbor { .. }
            | K::Rsqrt
            | K::Softmax
            | K::SquaredDifference
            | K::Sub
            | K::Svdf { .. }
            | K::Tanh => {}
            K::Concatenation { axis } if *axis != 0 => {}
            K::Mean { .. } | K::ReduceMax { .. } | K::ReduceMin { .. } | K::Sum { .. } => {
                self.integers(*inputs.get(1)?)?
                    .iter()
                    .all(|&axis| axis > 0)
                    .then_some(())?;
            }
            K::Transpose => {
                (self.integers(*inputs.get(1)?)?.first() == Some(&0)).then_some(())?;
            }
            K::Reshape { new_shape } => {
                *first_of_one(new_shape)? = n;
                let batched = new_shape.clone();
                self.operators[operator_idx].inputs[1] = self.with_integers(inputs[1], batched);
            }
            K::TransposeConv { .. } => {
                let mut batched = self.integers(inputs[0])?.to_vec();
                *first_of_one(&mut batched)? = n;
                self.operators[operator_idx].inputs[0] = self.with_integers(inputs[0], batched);
            }
            _ => return None,
        }
        Some(())
    }

    fn integers(&self, tensor: TensorIdx) -> Option<&[i32]> {
        match &self.tensors.get(tensor)?.content {
            Content::Int32(values) => Some(values),
            _ => None,
        }
    }

    /// A copy of a constant with other values, because other operators may read the original.
    fn with_integers(&mut self, tensor: TensorIdx, values: Vec<i32>) -> TensorIdx {
        let mut batched = self.tensors[tensor].clone();
        batched.content = Content::Int32(values);
        if self.tensors[tensor].content == batched.content {
            tensor
        } else {
            self.tensors.push(batched);
            self.tensors.len() - 1
        }
    }
}

/// The first of several dimensions, if it is 1.
fn first_of_one(shape: &mut [i32]) -> Option<&mut i32> {
    let (first, rest) = shape.split_first_mut()?;
    (*first == 1 && !rest.is_empty()).then_some(first)
}
