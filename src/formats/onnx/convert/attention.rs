//! Shapes and multiply-accumulates of scaled dot-product attention, of ONNX and of ONNX Runtime.

use super::Converter;
use super::formulas::without_activation;
use super::value::{identity, product};
use crate::formats::onnx::contrib;
use crate::formats::onnx::proto::Node;
use crate::formats::tflite::{Activation, BuiltinOptions, OpKind, TensorType};

/// Dimensions of an attention: queries attend to all positions, those of earlier steps included.
struct Attention {
    batch: i64,
    /// Heads of queries, and of keys and values.
    heads: [i64; 2],
    queries: i64,
    positions: i64,
    /// Size of a key, and of a value, in each head.
    depths: [i64; 2],
    /// Whether the heads lie beside each other in the last dimension of three.
    is_packed: bool,
}

impl Attention {
    /// Scores of queries by keys, and their product with the values.
    fn macs(&self) -> Option<i64> {
        let [key, value] = self.depths;
        product(&[
            self.batch,
            self.heads[0],
            self.queries,
            self.positions,
            key.checked_add(value)?,
        ])
    }

    fn shape(&self, place: usize) -> Option<Vec<i64>> {
        let &Self {
            batch,
            heads: [query_heads, heads],
            queries,
            positions,
            depths: [key, value],
            is_packed,
        } = self;
        Some(match place {
            0 if is_packed => vec![batch, queries, query_heads.checked_mul(value)?],
            0 => vec![batch, query_heads, queries, value],
            // Keys and values of this and earlier steps, and the scores.
            1 => vec![batch, heads, positions, key],
            2 => vec![batch, heads, positions, value],
            _ => vec![batch, query_heads, queries, positions],
        })
    }
}

impl<'a> Converter<'a> {
    pub(super) fn attention_shape(&self, node: &Node<'a>, place: usize) -> Option<Vec<i64>> {
        self.attention(node)?.shape(place)
    }

    pub(super) fn attention_macs(&self, node: &Node<'a>) -> Option<i64> {
        self.attention(node)?.macs()
    }

    /// ONNX's `Attention`, and ONNX Runtime's `MultiHeadAttention` and `GroupQueryAttention`.
    fn attention(&self, node: &Node<'a>) -> Option<Attention> {
        let operand = |at: usize| self.shape(node, at);
        // Position of the keys of earlier steps, with which queries are multiplied too.
        let (past_at, name) = match node.text.op_type {
            "Attention" => (4, "q_num_heads"),
            "GroupQueryAttention" => (3, "num_heads"),
            _ => (6, "num_heads"),
        };
        let past = match operand(past_at) {
            Some(&[_, _, past, _]) => past,
            _ => 0,
        };
        let query_heads = || node.integer(name).filter(|heads| *heads >= 1);
        let heads = || match node.integer("kv_num_heads") {
            None if past_at > 4 => query_heads(),
            heads => heads.filter(|heads| *heads >= 1),
        };
        let per_head = |width: i64, heads: i64| width.checked_div(heads);
        let (batch, heads, queries, positions, depths) = match (operand(0)?, operand(1), operand(2))
        {
            // Queries, keys and values of each head, or of all heads, lie beside each other.
            (&[batch, steps, heads, 3, depth], ..) => (batch, [heads; 2], steps, steps, [depth; 2]),
            (&[batch, steps, width], None | Some([]), _) => {
                let heads = [query_heads()?, heads()?];
                let n = heads[1].checked_mul(2)?.checked_add(heads[0])?;
                (batch, heads, steps, steps, [per_head(width, n)?; 2])
            }
            (&[batch, steps, _], Some(&[_, positions, heads, 2, depth]), _) => {
                (batch, [heads; 2], steps, positions, [depth; 2])
            }
            (&[batch, steps, _], Some(&[_, heads, positions, depth]), Some(&[.., value_depth])) => {
                (batch, [heads; 2], steps, positions, [depth, value_depth])
            }
            (
                &[batch, query_heads, queries, depth],
                Some(&[_, heads, positions, _]),
                Some(&[_, _, _, value_depth]),
            ) => (
                batch,
                [query_heads, heads],
                queries,
                positions,
                [depth, value_depth],
            ),
            (&[batch, queries, width], Some(&[_, positions, _]), Some(&[_, _, value_width])) => {
                let heads = [query_heads()?, heads()?];
                let depths = [per_head(width, heads[0])?, per_head(value_width, heads[1])?];
                (batch, heads, queries, positions, depths)
            }
            _ => return None,
        };
        Some(Attention {
            batch,
            heads,
            queries,
            positions: positions.checked_add(past)?,
            depths,
            is_packed: operand(0)?.len() != 4,
        })
    }

    /// ONNX Runtime's `Attention` and `MultiHeadAttention` without masks and earlier steps: the operators that its
    /// optimisers made them of.
    pub(super) fn attention_of_operators(&mut self, node: &'a Node<'a>) -> Option<()> {
        (node.text.domain == contrib::DOMAIN).then_some(())?;
        let is_projecting = match node.text.op_type {
            "Attention" => true,
            "MultiHeadAttention" => false,
            _ => return None,
        };
        let further = node.inputs.iter().skip(if is_projecting { 3 } else { 4 });
        let results = node.outputs.iter().skip(1);
        let is_plain = node.integer("unidirectional").unwrap_or(0) == 0
            && node.integer("do_rotary").unwrap_or(0) == 0
            && further.chain(results).all(|name| name.is_empty());
        let n_heads = node.integer("num_heads").filter(|&n| is_plain && n > 0)?;
        let output = self.output(node)?;
        let (x, shape) = self.input_with_shape(node, 0)?;
        let (&[batch, steps, depth], of_type) = (shape.as_slice(), x.tensor_type) else {
            return None;
        };
        let bias = self.input(node, if is_projecting { 2 } else { 3 });
        let of_bias = bias.map(|bias| bias.tensor_type);
        let mut operands = Vec::new();
        if is_projecting {
            let weights = self
                .input(node, 1)
                .filter(|weights| weights.is_constant())?;
            let &[of_weights, all] = weights.shape.as_deref()? else {
                return None;
            };
            let width = all / 3;
            let sizes = node.integers("qkv_hidden_sizes").unwrap_or_default();
            let is_even = all % 3 == 0 && sizes.iter().all(|&size| size == width);
            (of_weights == depth && is_even).then_some(())?;
            let x = self.tensor_in_order(&x, &identity(3))?;
            for _ in 0..3 {
                let filter = self.drawn(weights.tensor_type, &[width, depth])?;
                let mut inputs = vec![Some(x), Some(filter)];
                if let Some(of_bias) = of_bias {
                    inputs.push(Some(self.drawn(of_bias, &[width])?));
                }
                let options = BuiltinOptions::FullyConnected {
                    has_unknown_weights: false,
                    keep_num_dims: true,
                    activation: Activation::None,
                };
                let (kind, shape) = (OpKind::FullyConnected, [batch, steps, width]);
                operands.push((self.part(kind, inputs, of_type, &shape, options)?, shape));
            }
        } else {
            for at in 0..3 {
                let (value, shape) = self.input_with_shape(node, at)?;
                let shape = <[i64; 3]>::try_from(shape).ok()?;
                let mut tensor = self.tensor_in_order(&value, &identity(3))?;
                if let Some(of_bias) = of_bias {
                    let inputs = vec![Some(tensor), Some(self.drawn(of_bias, &shape[2..])?)];
                    let options = without_activation(OpKind::Add);
                    tensor = self.part(OpKind::Add, inputs, of_type, &shape, options)?;
                }
                operands.push((tensor, shape));
            }
        }
        let mut heads = Vec::new();
        for (tensor, [batch, steps, width]) in operands {
            let depth = width.checked_div(n_heads)?;
            (depth.checked_mul(n_heads)? == width).then_some(())?;
            let each = [batch, steps, n_heads, depth];
            let split = self.reshaped_tensor(tensor, "heads", of_type, &each)?;
            heads.push(self.turned_heads(split, of_type, each)?);
        }
        let [
            (q, [.., depth]),
            (k, [_, _, positions, of_key]),
            (v, [.., from, of_value]),
        ] = heads[..]
        else {
            return None;
        };
        (depth == of_key && from == positions).then_some(())?;
        let scores = [batch, n_heads, steps, positions];
        let product = |adj_y: bool| BuiltinOptions::BatchMatMul {
            adj_x: false,
            adj_y,
        };
        let pair = |one: usize, other: usize| vec![Some(one), Some(other)];
        let kind = OpKind::BatchMatmul;
        let mut tensor = self.part(kind, pair(q, k), of_type, &scores, product(true))?;
        let scale = self.scalar("scale", of_type);
        let options = without_activation(OpKind::Mul);
        tensor = self.part(OpKind::Mul, pair(tensor, scale), of_type, &scores, options)?;
        let options = BuiltinOptions::Softmax { beta: 1.0 };
        tensor = self.part(
            OpKind::Softmax,
            vec![Some(tensor)],
            of_type,
            &scores,
            options,
        )?;
        let result = [batch, n_heads, steps, of_value];
        tensor = self.part(kind, pair(tensor, v), of_type, &result, product(false))?;
        let (tensor, _) = self.turned_heads(tensor, of_type, result)?;
        let shape = vec![batch, steps, n_heads.checked_mul(of_value)?];
        let tensor = self.reshaped_tensor(tensor, &output, of_type, &shape)?;
        self.define(output, of_type, shape, tensor, identity(3));
        Some(())
    }

    /// Steps and heads the other way round.
    fn turned_heads(
        &mut self,
        tensor: usize,
        of_type: TensorType,
        [batch, one, other, each]: [i64; 4],
    ) -> Option<(usize, [i64; 4])> {
        let shape = [batch, other, one, each];
        let order = self.integers("perm", &[0, 2, 1, 3]);
        let inputs = vec![Some(tensor), Some(order)];
        let options = BuiltinOptions::Absent;
        let turned = self.part(OpKind::Transpose, inputs, of_type, &shape, options)?;
        Some((turned, shape))
    }

    /// An operator of an attention, in ONNX's order of dimensions.
    fn part(
        &mut self,
        kind: OpKind,
        inputs: Vec<Option<usize>>,
        of_type: TensorType,
        shape: &[i64],
        options: BuiltinOptions,
    ) -> Option<usize> {
        let perm = identity(shape.len());
        self.intermediate(kind, inputs, kind.name(), of_type, shape, &perm, options)
    }

    /// A part of a constant.
    fn drawn(&mut self, of_type: TensorType, shape: &[i64]) -> Option<usize> {
        let tensor = self.tensor("part", of_type, shape, &identity(shape.len()))?;
        self.describe(tensor);
        Some(tensor)
    }
}
