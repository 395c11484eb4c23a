//! Checks for combinations of operands that ONNX does not allow.

use super::Converter;
use super::einsum::against_equation;
use super::types::{BROADCASTING, has_unknown_word};
use super::value::{axes, axis, broadcast, product};
use crate::formats::onnx::contrib;
use crate::formats::onnx::proto::Node;

const OTHER_DEPTHS: &str = "the factors have other inner dimensions";
const NOT_BROADCAST: &str = "the operands' shapes do not broadcast";
const OTHER_GROUPS: &str = "the channels are no multiple of the groups";
const OTHER_HEADS: &str = "the heads do not divide a width";
const NO_WINDOW_FITS: &str = "the window is larger than the padded input";
const NO_AXIS: &str = "the axis is none of the dimensions";
const NO_IMAGE: &str = "the input is no image";
const NO_SIZE: &str = "a size or scale is no number above 0";

/// Tensors have fewer values than this along a side.
const MAX_SIDE: i64 = 0x7fff_ffff;

/// Operators whose shape follows from that of their first operand and from what attributes and further operands say.
const STATED: &[&str] = &[
    "CumSum",
    "Flatten",
    "OneHot",
    "Pad",
    "Split",
    "Tile",
    "Unsqueeze",
];

impl<'a> Converter<'a> {
    /// Why a node's operands contradict each other or its attributes, by the operator's definition in ONNX. Unknown
    /// shapes and operators contradict nothing. Linear in operands and their ranks.
    pub(super) fn contradiction(&self, node: &Node<'a>) -> Option<&'static str> {
        match node.text.domain {
            "" | "ai.onnx" => {}
            contrib::DOMAIN if node.text.op_type.ends_with("Attention") => {
                let width = self.attended_width(node);
                let heads = node.integer("num_heads");
                let is_other = is_no_part(node, "num_heads", width.as_ref())
                    || is_no_part(node, "kv_num_heads", heads.as_ref());
                return is_other.then_some(OTHER_HEADS);
            }
            contrib::DOMAIN if node.text.op_type == "MatMulNBits" => {
                return self.against_packed_product(node);
            }
            _ => return None,
        }
        if has_unknown_word(node) {
            return Some("an attribute has a word that ONNX does not have");
        }
        if let Some(why) = self.against_types(node) {
            return Some(why);
        }
        match node.text.op_type {
            "MatMul" | "MatMulInteger" => self.against_product(node, [0, 1]),
            "QLinearMatMul" => self.against_product(node, [0, 3]),
            "Gemm" => self.against_gemm(node),
            "Einsum" => self.against_einsum(node),
            "Attention" => self.against_attention(node),
            "GroupNormalization" => {
                let channels = self.shape(node, 0)?.get(1);
                is_no_part(node, "num_groups", channels).then_some(OTHER_GROUPS)
            }
            "LSTM" | "GRU" | "RNN" => {
                // The recurrent weights of ONNX Runtime's quantised one are transposed.
                let depth = self.shape(node, 0)?.last()?;
                let (&n_directions, sides) = self.shape(node, 1)?.split_first()?;
                if !sides.contains(depth) {
                    return Some(OTHER_DEPTHS);
                }
                let is_both = node.text("direction") == Some("bidirectional");
                if n_directions != i64::from(is_both).saturating_add(1) {
                    return Some("the weights are of another number of directions");
                }
                let sides = self.shape(node, 2)?.get(1..)?;
                let units = node.integer("hidden_size")?;
                (!sides.contains(&units)).then_some("hidden_size is not that of the weights")
            }
            "Split" => {
                let n = usize::try_from(node.integer("num_outputs")?).ok();
                (n != Some(node.outputs.len())).then_some("num_outputs is another number")
            }
            "Conv" | "ConvTranspose" => self.against_convolution(node, [0, 1, 2]),
            "ConvInteger" => self.against_convolution(node, [0, 1, usize::MAX]),
            "QLinearConv" => self.against_convolution(node, [0, 3, 8]),
            "MaxPool" | "AveragePool" | "LpPool" => {
                let kernel = node.integers("kernel_shape").unwrap_or_default();
                against_window(node, self.shape(node, 0)?, &kernel)
            }
            "Concat" => self.against_concat(node),
            "Reshape" => self.against_reshape(node),
            "Transpose" => {
                let perm = node.integers("perm")?;
                let rank = self.shape(node, 0)?.len();
                let is_permutation = perm.len() == rank
                    && perm.iter().all(|&at| at >= 0)
                    && axes(&perm, rank).is_some();
                (!is_permutation).then_some("perm is no permutation of the dimensions")
            }
            "Squeeze" => {
                let shape = self.shape(node, 0)?;
                let named = self.list(node, "axes", 1)?;
                let is_one =
                    |&at: &i64| axis(at, shape.len()).and_then(|at| shape.get(at)) == Some(&1);
                (!named.iter().all(is_one)).then_some("a dimension to leave out is not 1")
            }
            "Expand" => {
                let to = self.integers_of(node, 1)?;
                (broadcast(&[self.shape(node, 0)?, &to]).is_none()).then_some(NOT_BROADCAST)
            }
            "BatchNormalization" => {
                let channels = *self.shape(node, 0)?.get(1)?;
                let is_other = |at: usize| {
                    self.shape(node, at)
                        .is_some_and(|shape| shape != [channels])
                };
                (1..5)
                    .any(is_other)
                    .then_some("the parameters are not as many as the channels")
            }
            "PRelu" => {
                let (shape, slope) = (self.shape(node, 0)?, self.shape(node, 1)?);
                // Before opset 7, one slope for each channel.
                let is_of_channels = slope.len() == 1 && slope.first() == shape.get(1);
                (!is_of_channels && broadcast(&[shape, slope]).as_deref() != Some(shape))
                    .then_some(NOT_BROADCAST)
            }
            name if BROADCASTING.contains(&name) => {
                let shapes: Vec<&[i64]> = (0..node.inputs.len())
                    .filter_map(|at| self.shape(node, at))
                    .collect();
                (!shapes.is_empty() && broadcast(&shapes).is_none()).then_some(NOT_BROADCAST)
            }
            _ => self.against_attributes(node),
        }
    }

    /// Attributes that no operand fits.
    fn against_attributes(&self, node: &Node<'a>) -> Option<&'static str> {
        match node.text.op_type {
            "DepthToSpace" | "SpaceToDepth" => self.against_blocks(node),
            "Resize" => self.against_scales(node),
            "LRN" => (node.integer("size")? < 1).then_some(NO_SIZE),
            "Gather" | "GatherElements" | "ArgMax" | "ArgMin" | "Softmax" | "LogSoftmax"
            | "Hardmax" | "LayerNormalization" => {
                let rank = self.shape(node, 0)?.len();
                (axis(node.integer("axis")?, rank).is_none()).then_some(NO_AXIS)
            }
            "TopK" => {
                let shape = self.shape(node, 0)?;
                let along = axis(node.integer("axis").unwrap_or(-1), shape.len());
                let Some(side) = along.and_then(|along| shape.get(along)) else {
                    return Some(NO_AXIS);
                };
                let n = node
                    .integer("k")
                    .or_else(|| self.whole_number_of(node, 1))?;
                (!(0..=*side).contains(&n)).then_some("k is more than there are values")
            }
            "Slice" => {
                let rank = self.shape(node, 0)?.len();
                let named = self.list(node, "axes", 3);
                if named.is_some_and(|named| axes(&named, rank).is_none()) {
                    return Some(NO_AXIS);
                }
                let steps = self.integers_of(node, 4)?;
                steps.contains(&0).then_some("a step is 0")
            }
            "GlobalAveragePool" | "GlobalMaxPool" => {
                (self.shape(node, 0)?.len() < 3).then_some(NO_IMAGE)
            }
            _ => None,
        }
    }

    /// Whether a node that this reader could not convert has no shape although all that its shape follows from is known:
    /// the operands after the first of a listed operator are few numbers, such as axes, sizes, repetitions and paddings, and
    /// those of a window its weights. Of an empty operand some shapes are not known.
    pub(super) fn is_refused(&self, node: &Node<'a>) -> bool {
        let name = node.text.op_type;
        let is_window = matches!(
            name,
            "Conv" | "ConvTranspose" | "MaxPool" | "AveragePool" | "LpPool"
        );
        let is_listed = is_window || STATED.contains(&name) || name.starts_with("Reduce");
        let is_full = |shape: &[i64]| shape.iter().all(|side| *side > 0);
        let mut others = (1..node.inputs.len()).filter_map(|at| self.input(node, at));
        is_listed
            && matches!(node.text.domain, "" | "ai.onnx")
            && self.shape(node, 0).is_some_and(is_full)
            && self.output(node).is_some()
            && others.all(|other| {
                other.known().is_some() || is_window && other.shape.as_deref().is_some_and(is_full)
            })
            && self.inferred_shape(node, 0).is_none()
    }

    /// The dimension that an attention of ONNX Runtime divides among its heads, where it is known: of operands of three
    /// dimensions, not of packed ones.
    fn attended_width(&self, node: &Node<'a>) -> Option<i64> {
        let shape = self.shape(node, 0).filter(|shape| shape.len() == 3)?;
        match node.text.op_type {
            "MultiHeadAttention" => shape.last().copied(),
            "GroupQueryAttention" => {
                // Without keys, the queries are packed with them.
                self.input(node, 1)?;
                shape.last().copied()
            }
            // One matrix makes queries, keys and values, of equal width without an attribute.
            "Attention" | "QAttention" if node.integers("qkv_hidden_sizes").is_none() => {
                self.shape(node, 1)?.last()?.checked_div(3)
            }
            _ => None,
        }
    }

    /// Batches of matrices broadcast; a vector is a row on the left and a column on the right.
    fn against_product(&self, node: &Node<'a>, [left, right]: [usize; 2]) -> Option<&'static str> {
        let factor = |at: usize| match node.text.op_type {
            "MatMul" => self.factor(node, at)?.shape,
            _ => self.shape_of(node, at),
        };
        let (left, right) = (factor(left)?, factor(right)?);
        let (Some(inner), Some(&last)) = (left.last(), right.last()) else {
            return Some("a factor has no dimensions");
        };
        let depth = match right[..] {
            [.., depth, _] => depth,
            _ => last,
        };
        if *inner != depth {
            return Some(OTHER_DEPTHS);
        }
        let batches = [&left, &right].map(|shape| {
            let n = shape.len().saturating_sub(2);
            shape.get(..n).unwrap_or_default()
        });
        (broadcast(&batches).is_none()).then_some("the factors' batches do not broadcast")
    }

    fn against_gemm(&self, node: &Node<'a>) -> Option<&'static str> {
        let (left, right) = (self.shape(node, 0)?, self.shape(node, 1)?);
        let (&[mut rows, mut depth], &[mut other_depth, mut units]) = (left, right) else {
            return Some("a factor is no matrix");
        };
        if node.integer("transA") == Some(1) {
            std::mem::swap(&mut rows, &mut depth);
        }
        if node.integer("transB") == Some(1) {
            std::mem::swap(&mut other_depth, &mut units);
        }
        if depth != other_depth {
            return Some(OTHER_DEPTHS);
        }
        let result = [rows, units];
        let added = self.shape(node, 2)?;
        (broadcast(&[&result, added]).as_deref() != Some(&result))
            .then_some("what is added does not broadcast to the product")
    }

    /// Weights are `[units, channels / groups, ...]`, those of a transposed convolution `[channels, units / groups, ...]`.
    fn against_convolution(
        &self,
        node: &Node<'a>,
        [x, weights, bias]: [usize; 3],
    ) -> Option<&'static str> {
        let (x, weights) = (self.shape(node, x)?, self.shape(node, weights)?);
        let (Some((&[first, of_group], kernel)), Some(&channels)) =
            (weights.split_first_chunk::<2>(), x.get(1))
        else {
            return Some("the input or the weights have fewer than two dimensions");
        };
        if x.len() != weights.len() {
            return Some("input and weights have other numbers of dimensions");
        }
        let groups = node.integer("group").unwrap_or(1);
        if groups < 1 || first.checked_rem(groups) != Some(0) {
            return Some(OTHER_GROUPS);
        }
        let of_all = of_group.checked_mul(groups);
        let is_transposed = node.text.op_type == "ConvTranspose";
        let (depth, units) = if is_transposed {
            (Some(first), of_all)
        } else {
            (of_all, Some(first))
        };
        if depth != Some(channels) {
            return Some("the weights are for another number of input channels");
        }
        let is_other = |bias: &[i64]| bias.len() != 1 || bias.first() != units.as_ref();
        if self.shape(node, bias).is_some_and(is_other) {
            return Some("the bias has another length than the output has channels");
        }
        if (node.integers("kernel_shape")).is_some_and(|named| named != kernel) {
            return Some("kernel_shape is not that of the weights");
        }
        if is_transposed {
            against_sides(node, kernel)
        } else {
            against_window(node, x, kernel)
        }
    }

    /// The second operand has the weights of each of `N` units, in blocks that have all of `K` depths.
    fn against_packed_product(&self, node: &Node<'a>) -> Option<&'static str> {
        let bits = node.integer("bits").unwrap_or(4);
        let block = node.integer("block_size").unwrap_or(32);
        if ![2, 4, 8].contains(&bits) || block < 16 || block.count_ones() != 1 {
            return Some("there are no such bits or blocks");
        }
        let (depth, units) = (node.integer("K")?, node.integer("N")?);
        let is_other = |side: Option<&i64>, named| side.is_some_and(|side| *side != named);
        let last = self.shape(node, 0).and_then(<[i64]>::last);
        let first = self.shape(node, 1).and_then(<[i64]>::first);
        if is_other(last, depth) {
            return Some(OTHER_DEPTHS);
        }
        is_other(first, units).then_some("N is not that of the weights")
    }

    /// Blocks of `[batch, channels, rows, columns]`.
    fn against_blocks(&self, node: &Node<'a>) -> Option<&'static str> {
        let block = node.integer("blocksize")?;
        let &[_, channels, rows, columns] = self.shape(node, 0)? else {
            return Some(NO_IMAGE);
        };
        let (divisor, sides) = if node.text.op_type == "DepthToSpace" {
            (block.saturating_mul(block), [channels, channels])
        } else {
            (block, [rows, columns])
        };
        let divides = |side: i64| side.checked_rem(divisor) == Some(0);
        (block < 1 || !sides.into_iter().all(divides)).then_some("the blocks do not divide a side")
    }

    /// Since opset 11, the second operand is a region of the input and not the scales.
    fn against_scales(&self, node: &Node<'a>) -> Option<&'static str> {
        let position = if node.inputs.len() == 2 { 1 } else { 2 };
        let scales = self
            .input(node, position)
            .and_then(|scales| scales.floats());
        let is_scale = |scale: &f64| scale.is_finite() && *scale > 0.0;
        let scales = scales.unwrap_or_default();
        let sizes = self.integers_of(node, 3).unwrap_or_default();
        if !scales.is_empty() && !sizes.is_empty() {
            return Some("scales and sizes are both given");
        }
        let are_sizes = sizes.iter().all(|&size| size >= 0);
        (!are_sizes || !scales.iter().all(is_scale)).then_some(NO_SIZE)
    }

    fn against_concat(&self, node: &Node<'a>) -> Option<&'static str> {
        let mut shapes = (0..node.inputs.len()).filter_map(|at| self.shape(node, at));
        let first = shapes.next()?;
        let Some(along) = axis(node.integer("axis")?, first.len()) else {
            return Some(NO_AXIS);
        };
        let differs = |shape: &[i64]| {
            let mut sides = shape.iter().zip(first).enumerate();
            shape.len() != first.len() || sides.any(|(at, (a, b))| at != along && a != b)
        };
        shapes
            .any(differs)
            .then_some("the operands differ in another dimension than the axis")
    }

    /// Operands of three dimensions have as many heads as attributes say, beside each other in the last dimension.
    fn against_attention(&self, node: &Node<'a>) -> Option<&'static str> {
        let is_other = |(name, position): (&str, usize)| {
            let width = match self.shape(node, position)? {
                &[_, _, width] => width,
                _ => return None,
            };
            let heads = node.integer(name)?;
            Some(heads < 1 || width.checked_rem(heads) != Some(0))
        };
        let operands = [("q_num_heads", 0), ("kv_num_heads", 1), ("kv_num_heads", 2)];
        let mut others = operands.into_iter().filter_map(is_other);
        let heads = node.integer("q_num_heads");
        let is_other =
            others.any(|is_other| is_other) || is_no_part(node, "kv_num_heads", heads.as_ref());
        is_other.then_some(OTHER_HEADS)
    }

    /// 0 means the dimension of the input, and -1 the remaining size.
    fn against_reshape(&self, node: &Node<'a>) -> Option<&'static str> {
        let shape = self.shape(node, 0)?;
        let n = product(shape)?;
        let to = self.list(node, "shape", 1)?;
        if to.iter().filter(|&&side| side == -1).count() > 1 || to.iter().any(|&side| side < -1) {
            return Some("the new shape leaves more than one dimension open");
        }
        let allows_zero = node.integer("allowzero") == Some(1);
        let side = |(at, &side): (usize, &i64)| match side {
            0 if !allows_zero => shape.get(at).copied(),
            -1 => Some(1),
            _ => Some(side),
        };
        let sides: Option<Vec<i64>> = to.iter().enumerate().map(side).collect();
        let known = sides.and_then(|sides| product(&sides));
        let fits = if to.contains(&-1) {
            known.is_some_and(|known| n == 0 || n.checked_rem(known) == Some(0))
        } else {
            known == Some(n)
        };
        (!fits).then_some("the new shape has another number of elements")
    }

    /// Checks for labels of dimensions with different sizes, neither of which is 1.
    fn against_einsum(&self, node: &Node<'a>) -> Option<&'static str> {
        let shapes: Vec<&[i64]> = (0..node.inputs.len())
            .map(|at| self.shape(node, at))
            .collect::<Option<_>>()?;
        against_equation(node.text("equation")?, &shapes)
    }
}

/// Whether an attribute says a number of parts into which no dimension, or not this one, can be divided.
fn is_no_part(node: &Node, name: &str, side: Option<&i64>) -> bool {
    let of_side = |n: i64| n < 1 || side.is_some_and(|side| side.checked_rem(n) != Some(0));
    node.integer(name).is_some_and(of_side)
}

/// Checks for sizes of a window that are not possible.
fn against_sides(node: &Node, kernel: &[i64]) -> Option<&'static str> {
    let added = node.integers("output_padding").unwrap_or_default();
    if added.iter().any(|&size| size < 0) {
        return Some("output_padding is less than 0");
    }
    let lists = ["pads", "output_shape"].map(|name| node.integers(name));
    let mut sizes = lists.iter().flatten().flatten();
    if sizes.any(|size| !(-MAX_SIDE..=MAX_SIDE).contains(size)) {
        return Some("a padding or size is beyond 32 bits");
    }
    let lists = ["strides", "dilations"].map(|name| node.integers(name));
    let mut sides = lists.iter().flatten().flatten().chain(kernel);
    let side = sides.find(|side| !(1..=MAX_SIDE).contains(*side))?;
    Some(match *side {
        ..1 => "a size, stride or dilation of the window is less than 1",
        _ => "a size, stride or dilation of the window is beyond 32 bits",
    })
}

/// Windows over an input of the shape `[batch, channels, ...]`.
fn against_window(node: &Node, x: &[i64], kernel: &[i64]) -> Option<&'static str> {
    let sizes = x.get(2..)?;
    let n = sizes.len();
    let has = |name: &str, n: usize| node.integers(name).is_none_or(|values| values.len() == n);
    let has_all = kernel.len() == n
        && has("strides", n)
        && has("dilations", n)
        && has("pads", n.saturating_mul(2));
    if !has_all {
        return Some("a side of the window is missing or too many");
    }
    if let Some(why) = against_sides(node, kernel) {
        return Some(why);
    }
    if (node.integers("pads")).is_some_and(|pads| pads.iter().any(|&pad| pad < 0)) {
        return Some("a padding is less than 0");
    }
    // Rounded up, a pooling has a window that begins inside the input and ends beyond it.
    if node.integer("ceil_mode") == Some(1) {
        return None;
    }
    let pads = match node.text("auto_pad").unwrap_or("NOTSET") {
        "NOTSET" => node.integers("pads").unwrap_or_default(),
        "VALID" => Vec::new(),
        _ => return None,
    };
    let dilations = node.integers("dilations").unwrap_or_default();
    let does_not_fit = |at: usize| {
        let pad = |at: usize| pads.get(at).copied().unwrap_or(0);
        let padded = sizes
            .get(at)?
            .checked_add(pad(at))?
            .checked_add(pad(at.checked_add(n)?))?;
        let gaps = kernel.get(at)?.checked_sub(1)?;
        let dilation = dilations.get(at).copied().unwrap_or(1);
        let extent = gaps.checked_mul(dilation)?.checked_add(1)?;
        Some(extent > padded)
    };
    (0..n)
        .any(|at| does_not_fit(at) == Some(true))
        .then_some(NO_WINDOW_FITS)
}
