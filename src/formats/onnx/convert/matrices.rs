//! Matrix products.

use std::sync::Arc;

use super::Converter;
use super::value::{Constant, Place, Value, broadcast, identity};
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::Node;
use crate::formats::tflite::{Activation, BuiltinOptions, OpKind, TensorType};

impl<'a> Converter<'a> {
    pub(super) fn matrix(&mut self, node: &'a Node<'a>) -> Option<()> {
        match node.text.op_type {
            "MatMul" | "MatMulInteger" => {
                let [a, b] = [self.factor(node, 0)?, self.factor(node, 1)?];
                self.mat_mul(&a, &b, self.output(node)?)
            }
            "QLinearMatMul" => {
                let [a, b] = [self.input(node, 0)?, self.input(node, 3)?];
                self.mat_mul(&a, &b, self.output(node)?)
            }
            "Gemm" => self.gemm(node),
            _ => None,
        }
    }

    /// A factor as the attributes of ONNX Runtime's `FusedMatMul` turn it, which ONNX's `MatMul` does not have.
    pub(super) fn factor(&self, node: &Node<'a>, at: usize) -> Option<Value<'a>> {
        let names = [["transBatchA", "transA"], ["transBatchB", "transB"]];
        let [of_batch, of_matrix] = names.get(at)?.map(|name| node.integer(name) == Some(1));
        let mut value = self.input(node, at)?;
        let last = value.rank()?.checked_sub(1)?;
        if of_batch {
            // The first dimension becomes the rows.
            for axis in 1..last {
                value = swapped(value, [axis.checked_sub(1)?, axis])?;
            }
        }
        if of_matrix {
            value = swapped(value, [last.checked_sub(1)?, last])?;
        }
        Some(value)
    }

    fn mat_mul(&mut self, a: &Value<'a>, b: &Value<'a>, output: Name<'a>) -> Option<()> {
        let (left, right) = (a.shape.clone()?, b.shape.clone()?);
        let ([batch_right @ .., depth, units], [.., inner]) = (right.as_slice(), left.as_slice())
        else {
            return None;
        };
        let (batch_right, depth, units) = (batch_right.to_vec(), *depth, *units);
        (*inner == depth).then_some(())?;
        if b.is_constant()
            && !a.is_constant()
            && batch_right.iter().all(|&side| side == 1)
            && batch_right.len() < left.len()
        {
            return self.fully_connected(a, b, [units, depth], None, output);
        }
        let ([batch_left @ .., rows, _], true) = (left.as_slice(), left.len() >= 2) else {
            return None;
        };
        let mut shape = broadcast(&[batch_left, &batch_right])?;
        shape.extend([*rows, units]);
        let (x, adj_x) = self.matrix_operand(a)?;
        let (y, adj_y) = self.matrix_operand(b)?;
        let perm = identity(shape.len());
        let options = BuiltinOptions::BatchMatMul { adj_x, adj_y };
        self.operator(
            OpKind::BatchMatmul,
            vec![Some(x), Some(y)],
            output,
            a.tensor_type,
            shape,
            perm,
            options,
        )
    }

    /// A factor of a product of matrices, and whether its last two dimensions lie the other way round.
    fn matrix_operand(&mut self, value: &Value<'a>) -> Option<(usize, bool)> {
        let rank = value.rank()?;
        let perm_of_value = value.perm()?;
        let mut turned = identity(rank);
        let last = rank.checked_sub(1)?;
        turned.swap(last, rank.checked_sub(2)?);
        if !value.is_constant() && perm_of_value == turned {
            Some((self.tensor_in_order(value, &turned)?, true))
        } else {
            Some((self.tensor_in_order(value, &identity(rank))?, false))
        }
    }

    /// Weights `[depth, units]` or the other way round, stored as `[units, depth]`.
    fn fully_connected(
        &mut self,
        a: &Value<'a>,
        weights: &Value<'a>,
        [units, depth]: [i64; 2],
        bias: Option<&Value<'a>>,
        output: Name<'a>,
    ) -> Option<()> {
        let mut shape = a.shape.clone()?;
        let perm_of_a = a.perm()?;
        let perm = if perm_of_a.last() == Some(&shape.len().checked_sub(1)?) {
            perm_of_a
        } else {
            identity(shape.len())
        };
        let tensor = self.tensor_in_order(a, &perm)?;
        let filter = self.constant_tensor(weights, &[units, depth])?;
        *shape.last_mut()? = units;
        let mut inputs = vec![Some(tensor), Some(filter)];
        if let Some(bias) = bias {
            inputs.push(Some(self.constant_tensor(bias, &[units])?));
        }
        let options = BuiltinOptions::FullyConnected {
            has_unknown_weights: false,
            keep_num_dims: shape.len() > 2,
            activation: Activation::None,
        };
        self.operator(
            OpKind::FullyConnected,
            inputs,
            output,
            a.tensor_type,
            shape,
            perm,
            options,
        )
    }

    /// ONNX Runtime's product by weights of a few bits, which lie in blocks of bytes.
    pub(super) fn packed_product(&mut self, node: &'a Node<'a>) -> Option<()> {
        matches!(node.text.op_type, "MatMulNBits" | "MatMulBnb4").then_some(())?;
        let [a, mut weights] = [self.input(node, 0)?, self.input(node, 1)?];
        let (units, depth) = (node.integer("N")?, node.integer("K")?);
        let Place::Constant(bytes) = &weights.place else {
            return None;
        };
        let (of_type, n_each) = match node.integer("bits") {
            Some(8) => (TensorType::Int8, 1),
            _ => (TensorType::Int4, 2),
        };
        weights.place = Place::Constant(Constant {
            n_stored: bytes.n_stored.saturating_mul(n_each),
            stored: Some(Arc::new((of_type, None))),
            ..Constant::default()
        });
        let bias = self.input(node, 5);
        let output = self.output(node)?;
        self.fully_connected(&a, &weights, [units, depth], bias.as_ref(), output)
    }

    fn gemm(&mut self, node: &'a Node<'a>) -> Option<()> {
        let (output, mut a, b) = (
            self.output(node)?,
            self.input(node, 0)?,
            self.input(node, 1)?,
        );
        let is_turned = |name: &str| node.integer(name) == Some(1);
        let (&[mut rows, mut depth], &[mut depth_b, mut units]) =
            (a.shape.as_deref()?, b.shape.as_deref()?)
        else {
            return None;
        };
        if is_turned("transA") {
            std::mem::swap(&mut rows, &mut depth);
            a = swapped(a, [0, 1])?;
        }
        if is_turned("transB") {
            std::mem::swap(&mut depth_b, &mut units);
        }
        (depth == depth_b).then_some(())?;
        let bias = self.input(node, 2);
        let is_vector = |bias: &Value| bias.n_values() == Some(units) && bias.is_constant();
        if b.is_constant() && bias.as_ref().is_none_or(is_vector) {
            return self.fully_connected(&a, &b, [units, depth], bias.as_ref(), output);
        }
        let b = if is_turned("transB") {
            swapped(b, [0, 1])?
        } else {
            b
        };
        self.added_product([&a, &b], bias.as_ref(), vec![rows, units], output)
    }

    /// The product of two matrices, plus the bias if there is one.
    fn added_product(
        &mut self,
        [a, b]: [&Value<'a>; 2],
        bias: Option<&Value<'a>>,
        shape: Vec<i64>,
        output: Name<'a>,
    ) -> Option<()> {
        let (x, adj_x) = self.matrix_operand(a)?;
        let (y, adj_y) = self.matrix_operand(b)?;
        let options = BuiltinOptions::BatchMatMul { adj_x, adj_y };
        let (inputs, perm) = (vec![Some(x), Some(y)], identity(2));
        let Some(bias) = bias else {
            return self.operator(
                OpKind::BatchMatmul,
                inputs,
                output,
                a.tensor_type,
                shape,
                perm,
                options,
            );
        };
        let name = format!("{output}/product");
        let product = self.intermediate(
            OpKind::BatchMatmul,
            inputs,
            &name,
            a.tensor_type,
            &shape,
            &perm,
            options,
        )?;
        let bias = self.stored_tensor(bias)?;
        let options = BuiltinOptions::Add {
            activation: Activation::None,
        };
        self.operator(
            OpKind::Add,
            vec![Some(product), Some(bias)],
            output,
            a.tensor_type,
            shape,
            perm,
            options,
        )
    }
}

/// A value with two dimensions the other way round, where it lies.
fn swapped(mut value: Value, [one, other]: [usize; 2]) -> Option<Value> {
    let shape = value.shape.as_mut()?;
    (one.max(other) < shape.len()).then_some(())?;
    shape.swap(one, other);
    if let Place::Tensor { perm, .. } = &mut value.place {
        for axis in perm.iter_mut() {
            *axis = match *axis {
                axis if axis == one => other,
                axis if axis == other => one,
                axis => axis,
            };
        }
    }
    Some(value)
}
