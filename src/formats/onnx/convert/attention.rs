//! Shapes and multiply-accumulates of scaled dot-product attention, of ONNX and of ONNX Runtime.

use super::Converter;
use super::value::product;
use crate::formats::onnx::proto::Node;

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
}
