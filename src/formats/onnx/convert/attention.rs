//! Shapes and multiply-accumulates of scaled dot-product attention, of ONNX and of ONNX Runtime.

use super::Converter;
use super::value::product;
use crate::formats::onnx::proto::Node;

/// Position of the keys of earlier steps, with which queries are multiplied too.
const PAST_KEY: usize = 4;

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

    /// ONNX's `Attention`.
    fn attention(&self, node: &Node<'a>) -> Option<Attention> {
        let operand = |at: usize| self.shape(node, at);
        let past = match operand(PAST_KEY) {
            Some(&[_, _, past, _]) => past,
            _ => 0,
        };
        match (operand(0)?, operand(1)?, operand(2)?) {
            (
                &[batch, query_heads, queries, depth],
                &[_, heads, positions, _],
                &[_, _, _, value_depth],
            ) => Some(Attention {
                batch,
                heads: [query_heads, heads],
                queries,
                positions: positions.checked_add(past)?,
                depths: [depth, value_depth],
                is_packed: false,
            }),
            (&[batch, queries, query_width], &[_, positions, _], &[_, _, value_width]) => {
                let query_heads = node.integer("q_num_heads")?;
                let heads = node.integer("kv_num_heads")?;
                (query_heads >= 1 && heads >= 1).then_some(Attention {
                    batch,
                    heads: [query_heads, heads],
                    queries,
                    positions: positions.checked_add(past)?,
                    depths: [
                        query_width.checked_div(query_heads)?,
                        value_width.checked_div(heads)?,
                    ],
                    is_packed: true,
                })
            }
            _ => None,
        }
    }

    /// Multiply-accumulates of ONNX Runtime's `MultiHeadAttention`, whose operands have three dimensions.
    pub(super) fn multi_head_attention_macs(&self, node: &Node<'a>) -> Option<i64> {
        let (&[batch, queries, width], &[_, positions, _]) =
            (self.shape(node, 0)?, self.shape(node, 1)?)
        else {
            return None;
        };
        product(&[batch, queries, positions, width, 2])
    }
}
