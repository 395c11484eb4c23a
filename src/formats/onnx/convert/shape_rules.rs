//! Shapes and multiply-accumulates of operators that keep their ONNX name, as ONNX's operator specifications (opset 25)
//! and ONNX Runtime's `ContribOperators.md` define them.

use super::Converter;
use super::convolutions::{Side, sides, transposed_sides};
use super::types::BROADCASTING;
use super::unknown::is_plugin;
use super::value::{axis, broadcast, product};
use crate::formats::onnx::contrib;
use crate::formats::onnx::proto::Node;

/// Operators without products of matrices, whose result has the shape of their first input.
const ELEMENTWISE: &[&str] = &[
    "Acos",
    "Acosh",
    "Asin",
    "Asinh",
    "Atan",
    "Atanh",
    "BatchNormalization",
    "Bernoulli",
    "BitwiseNot",
    "CastLike",
    "Celu",
    "CumProd",
    "Cosh",
    "Erf",
    "EyeLike",
    "GroupNormalization",
    "Hardmax",
    "IsInf",
    "IsNaN",
    "LRN",
    "LpNormalization",
    "MeanVarianceNormalization",
    "Mish",
    "RMSNormalization",
    "RandomNormalLike",
    "RandomUniformLike",
    "ReverseSequence",
    "RotaryEmbedding",
    "Scatter",
    "ScatterElements",
    "ScatterND",
    "Selu",
    "Shrink",
    "Sinh",
    "Softsign",
    "SwiGLU",
    "Swish",
    "Tan",
    "TensorScatter",
    "ThresholdedRelu",
    "Trilu",
];

/// Operators of ONNX Runtime whose first result has the shape of their first input.
const CONTRIB_ELEMENTWISE: &[&str] = &["BiasAdd", "GroupNorm", "RotaryEmbedding", "SkipGroupNorm"];

/// Operators of classical learning (`ai.onnx.ml`) that change each value.
const ML_ELEMENTWISE: &[&str] = &["Binarizer", "Imputer", "Normalizer", "Scaler"];

/// Operators of ONNX whose results have as many entries as the values of their inputs decide.
const SIZED_BY_VALUES: &[&str] = &["Compress", "NonMaxSuppression", "NonZero", "Unique"];

/// Operators whose multiply-accumulates, if they have any, this reader cannot count.
const UNCOUNTED: &[&str] = &[
    "CausalConvWithState",
    "DFT",
    "Det",
    "Gemm",
    "If",
    "LinearAttention",
    "Loop",
    "MatMulInteger",
    "MelWeightMatrix",
    "QLinearMatMul",
    "STFT",
    "Scan",
    "SequenceMap",
];

impl<'a> Converter<'a> {
    /// Whether only values that are known at inference decide how many entries a node's results have.
    pub(super) fn is_sized_by_values(node: &Node) -> bool {
        matches!(node.text.domain, "" | "ai.onnx") && SIZED_BY_VALUES.contains(&node.text.op_type)
    }

    /// Shape of one of a node's results, for [`SIZED_BY_VALUES`] the largest that it can have; `None` if there is no
    /// rule, or if the shape depends on values in another way.
    pub(super) fn inferred_shape(&self, node: &Node<'a>, place: usize) -> Option<Vec<i64>> {
        match node.text.domain {
            "" | "ai.onnx" => self.onnx_shape(node, place),
            contrib::DOMAIN => self.contrib_shape(node, place),
            "ai.onnx.ml" if ML_ELEMENTWISE.contains(&node.text.op_type) => self.shape_of(node, 0),
            _ => None,
        }
    }

    fn onnx_shape(&self, node: &Node<'a>, place: usize) -> Option<Vec<i64>> {
        match (node.text.op_type, place) {
            ("LSTM" | "GRU" | "RNN", _) => self.recurrent(node, place),
            ("Attention", _) => self.attention_shape(node, place),
            // Indices of the largest values beside them.
            ("AveragePool" | "LpPool" | "MaxPool", 0 | 1) => self.pooled_shape(node),
            ("Unique", _) => self.unique_shape(node, place),
            (_, 1..) => None,
            ("Conv" | "ConvInteger" | "DeformConv", _) => self.convolved_shape(node, 1),
            ("QLinearConv", _) => self.convolved_shape(node, 3),
            ("ConvTranspose", _) => self.conv_transposed_shape(node),
            ("Resize" | "Upsample", _) => self.resized(node, &self.shape_of(node, 0)?),
            ("Einsum", _) => Some(self.einsum(node)?.0),
            ("MatMul", _) => self.product_with_vector(node),
            (name, _) if ELEMENTWISE.contains(&name) => self.shape_of(node, 0),
            (name, _) if BROADCASTING.contains(&name) => {
                let shapes = (0..node.inputs.len()).map(|at| self.shape_of(node, at));
                let shapes: Vec<Vec<i64>> = shapes.collect::<Option<_>>()?;
                broadcast(&shapes.iter().map(Vec::as_slice).collect::<Vec<_>>())
            }
            (name, _) if name.starts_with("Reduce") => self.reduced_shape(node),
            (name, _) => self
                .place_shape(name, node)
                .or_else(|| self.image_shape(name, node))
                .or_else(|| self.signal_shape(name, node)),
        }
    }

    fn contrib_shape(&self, node: &Node<'a>, place: usize) -> Option<Vec<i64>> {
        match (node.text.op_type, place) {
            ("MultiHeadAttention" | "GroupQueryAttention", _) => self.attention_shape(node, place),
            ("Attention" | "QAttention", 0) => {
                let mut shape = self.shape_of(node, 0)?;
                // Queries, keys and values are projected by one matrix.
                *shape.last_mut()? = self.shape(node, 1)?.last()?.checked_div(3)?;
                Some(shape)
            }
            (name, 0) if CONTRIB_ELEMENTWISE.contains(&name) => self.shape_of(node, 0),
            _ => None,
        }
    }

    #[inline(never)]
    pub(super) fn shape_of(&self, node: &Node<'a>, position: usize) -> Option<Vec<i64>> {
        self.shape(node, position).map(<[i64]>::to_vec)
    }

    #[inline(never)]
    fn n_values_of(&self, node: &Node<'a>, position: usize) -> Option<i64> {
        product(self.shape(node, position)?)
    }

    /// Sequence, final state and final cell: `[steps, directions, batch, hidden]`, of the states without steps, with the
    /// batch in front in the layout 1.
    fn recurrent(&self, node: &Node<'a>, place: usize) -> Option<Vec<i64>> {
        let input = self.shape_of(node, 0)?;
        let recurrent = self.shape_of(node, 2)?;
        let (&[first, second, _], &[directions, rows, columns]) =
            (input.as_slice(), recurrent.as_slice())
        else {
            return None;
        };
        // The gates lie behind one another; ONNX Runtime's quantiser transposes the matrices.
        let hidden = rows.min(columns);
        let is_batch_first = node.integer("layout") == Some(1);
        Some(match (place, is_batch_first) {
            (0, false) => vec![first, directions, second, hidden],
            (0, true) => vec![first, second, directions, hidden],
            (_, false) => vec![directions, second, hidden],
            (_, true) => vec![first, directions, hidden],
        })
    }

    /// Of a vector by matrices or the other way round, whose dimension goes away.
    fn product_with_vector(&self, node: &Node<'a>) -> Option<Vec<i64>> {
        let (left, right) = (self.shape_of(node, 0)?, self.shape_of(node, 1)?);
        match (left.as_slice(), right.as_slice()) {
            ([_], [_]) => Some(Vec::new()),
            ([_], [front @ .., _, units]) => Some([front, &[*units]].concat()),
            ([front @ .., _], [_]) => Some(front.to_vec()),
            _ => None,
        }
    }

    fn pooled_shape(&self, node: &Node<'a>) -> Option<Vec<i64>> {
        let input = self.shape_of(node, 0)?;
        let (front, sizes) = input.split_first_chunk::<2>()?;
        let windows = sides(node, sizes, &node.integers("kernel_shape")?)?;
        Some(with_window_sides(front, &windows))
    }

    fn convolved_shape(&self, node: &Node<'a>, weights_position: usize) -> Option<Vec<i64>> {
        let (input, weights) = (
            self.shape_of(node, 0)?,
            self.shape_of(node, weights_position)?,
        );
        let (&[batch, _], sizes) = input.split_first_chunk::<2>()?;
        let (&[units, _], kernel) = weights.split_first_chunk::<2>()?;
        (sizes.len() == kernel.len()).then_some(())?;
        Some(with_window_sides(
            &[batch, units],
            &sides(node, sizes, kernel)?,
        ))
    }

    fn conv_transposed_shape(&self, node: &Node<'a>) -> Option<Vec<i64>> {
        let (input, weights) = (self.shape_of(node, 0)?, self.shape_of(node, 1)?);
        let (&[batch, _], sizes) = input.split_first_chunk::<2>()?;
        let (&[_, units], kernel) = weights.split_first_chunk::<2>()?;
        (sizes.len() == kernel.len()).then_some(())?;
        let units = units.checked_mul(node.integer("group").unwrap_or(1))?;
        let strides = (node.integers("strides")).unwrap_or_else(|| vec![1; sizes.len()]);
        let mut shape = vec![batch, units];
        shape.extend(transposed_sides(node, sizes, kernel, &strides)?);
        Some(shape)
    }

    fn reduced_shape(&self, node: &Node<'a>) -> Option<Vec<i64>> {
        let shape = self.shape_of(node, 0)?;
        let axes = self.reduced_axes(node, shape.len())?;
        let keeps = node.integer("keepdims").unwrap_or(1) == 1;
        let sides = shape.iter().enumerate();
        let left = sides.filter(|(at, _)| keeps || !axes.contains(at));
        Some(
            left.map(|(at, &side)| if axes.contains(&at) { 1 } else { side })
                .collect(),
        )
    }

    /// Operators that choose, place or pad values.
    fn place_shape(&self, name: &str, node: &Node<'a>) -> Option<Vec<i64>> {
        let shape = self.shape_of(node, 0)?;
        match name {
            "GatherElements" => self.shape_of(node, 1),
            "GatherND" => {
                let places = self.shape_of(node, 1)?;
                let (&depth, front) = places.split_last()?;
                let batch = usize::try_from(node.integer("batch_dims").unwrap_or(0)).ok()?;
                let from = batch.checked_add(usize::try_from(depth).ok()?)?;
                Some(front.iter().chain(shape.get(from..)?).copied().collect())
            }
            // One column of indices for each value.
            "NonZero" => Some(vec![i64::try_from(shape.len()).ok()?, product(&shape)?]),
            "Compress" => {
                let n_conditions = *self.shape_of(node, 1)?.first()?;
                let Some(along) = node.integer("axis") else {
                    return Some(vec![product(&shape)?.min(n_conditions)]);
                };
                let mut shape = shape;
                let along = axis(along, shape.len())?;
                let side = shape.get_mut(along)?;
                *side = n_conditions.min(*side);
                Some(shape)
            }
            // Boxes `[batch, boxes, 4]` and scores `[batch, classes, boxes]`; of each selected box, its three indices.
            "NonMaxSuppression" => {
                let &[batch, classes, boxes] = self.shape(node, 1)? else {
                    return None;
                };
                let of_class = if node.inputs.get(2).is_some_and(|name| !name.is_empty()) {
                    self.whole_number_of(node, 2)
                        .map_or(boxes, |most| most.clamp(0, boxes))
                } else {
                    0
                };
                Some(vec![product(&[batch, classes, of_class])?, 3])
            }
            "OneHot" => {
                let depth = self.whole_number_of(node, 1)?;
                let rank = shape.len().checked_add(1)?;
                let at = axis(node.integer("axis").unwrap_or(-1), rank)?;
                let mut shape = shape;
                shape.insert(at, depth);
                Some(shape)
            }
            "Pad" => {
                let pads = self.list(node, "pads", 1)?;
                let axes = self.axes_of(node, 3, shape.len())?;
                let (before, after) = pads.split_at_checked(axes.len())?;
                (before.len() == after.len()).then_some(())?;
                let mut shape = shape;
                for ((&at, &before), &after) in axes.iter().zip(before).zip(after) {
                    let side = shape.get_mut(at)?;
                    *side = side.checked_add(before)?.checked_add(after)?;
                }
                Some(shape)
            }
            "CenterCropPad" => {
                let sizes = self.integers_of(node, 1)?;
                let axes = self.axes_of(node, usize::MAX, shape.len())?;
                let mut shape = shape;
                for (&at, &size) in axes.iter().zip(&sizes) {
                    *shape.get_mut(at)? = size;
                }
                Some(shape)
            }
            // Of types of one size.
            "BitCast" => Some(shape),
            "Det" => Some(shape.get(..shape.len().checked_sub(2)?)?.to_vec()),
            _ => None,
        }
    }

    /// The different values or slices, which are all of them at most; then, for each of these, where it occurs first,
    /// for each value of the input, which one it is, and how often each occurs.
    fn unique_shape(&self, node: &Node<'a>, place: usize) -> Option<Vec<i64>> {
        let shape = self.shape_of(node, 0)?;
        match (node.integer("axis"), place) {
            (Some(_), 0) => Some(shape),
            (Some(along), _) => Some(vec![*shape.get(axis(along, shape.len())?)?]),
            (None, _) => Some(vec![product(&shape)?]),
        }
    }

    /// Operators on images that sample them elsewhere or take them apart.
    fn image_shape(&self, name: &str, node: &Node<'a>) -> Option<Vec<i64>> {
        let shape = self.shape_of(node, 0)?;
        let after = |front: &[i64], sides: &[i64]| Some([front, sides].concat());
        match name {
            "GridSample" => {
                let grid = self.shape_of(node, 1)?;
                after(shape.get(..2)?, grid.get(1..grid.len().checked_sub(1)?)?)
            }
            "AffineGrid" => {
                let size = self.integers_of(node, 1)?;
                let n_axes = i64::try_from(size.len()).ok()?.checked_sub(2)?;
                after(&[*size.first()?], &[size.get(2..)?, &[n_axes]].concat())
            }
            "RoiAlign" => {
                let side = |name: &str| node.integer(name).unwrap_or(1);
                let regions = *self.shape_of(node, 1)?.first()?;
                let sides = [side("output_height"), side("output_width")];
                after(&[regions, *shape.get(1)?], &sides)
            }
            "MaxRoiPool" => {
                let regions = *self.shape_of(node, 1)?.first()?;
                after(&[regions, *shape.get(1)?], &node.integers("pooled_shape")?)
            }
            "GlobalLpPool" => after(shape.get(..2)?, &vec![1; shape.len().checked_sub(2)?]),
            "MaxUnpool" => match self.integers_of(node, 2) {
                Some(shape) => Some(shape),
                None => {
                    let kernel = node.integers("kernel_shape")?;
                    let sizes = shape.get(2..)?;
                    let strides =
                        (node.integers("strides")).unwrap_or_else(|| vec![1; sizes.len()]);
                    after(
                        shape.get(..2)?,
                        &transposed_sides(node, sizes, &kernel, &strides)?,
                    )
                }
            },
            "Col2Im" => {
                let image = self.integers_of(node, 1)?;
                let block = product(&self.integers_of(node, 2)?)?;
                let channels = shape.get(1)?.checked_div(block)?;
                after(&[*shape.first()?, channels], &image)
            }
            _ => None,
        }
    }

    /// Fourier transforms, and windows for them.
    fn signal_shape(&self, name: &str, node: &Node<'a>) -> Option<Vec<i64>> {
        let number = |at: usize| self.whole_number_of(node, at);
        let half = |n: i64| (n / 2).checked_add(1);
        match name {
            "BlackmanWindow" | "HammingWindow" | "HannWindow" => Some(vec![number(0)?]),
            "MelWeightMatrix" => Some(vec![half(number(1)?)?, number(0)?]),
            "DFT" => {
                let mut shape = self.shape_of(node, 0)?;
                let default = if self.graph.opset < 20 { 1 } else { -2 };
                let named = (node.integer("axis"))
                    .or_else(|| number(2))
                    .unwrap_or(default);
                let at = axis(named, shape.len())?;
                let is_half = node.integer("onesided") == Some(1);
                let is_inverse = node.integer("inverse") == Some(1);
                let side = shape.get_mut(at)?;
                // One half of a spectrum of n values has n / 2 + 1.
                *side = match number(1) {
                    Some(n) => n,
                    None if is_half && is_inverse => side.checked_sub(1)?.checked_mul(2)?,
                    None => *side,
                };
                if is_half && !is_inverse {
                    *side = half(*side)?;
                }
                *shape.last_mut()? = if is_half && is_inverse { 1 } else { 2 };
                Some(shape)
            }
            "STFT" => {
                let shape = self.shape_of(node, 0)?;
                let &[batch, samples, ..] = shape.as_slice() else {
                    return None;
                };
                let of_window = || self.shape_of(node, 2)?.first().copied();
                let (step, length) = (number(1)?, number(3).or_else(of_window)?);
                let frames = (samples.checked_sub(length)?.checked_div(step)?).checked_add(1)?;
                let is_half = node.integer("onesided").unwrap_or(1) == 1;
                let bins = if is_half { half(length)? } else { length };
                Some(vec![batch, frames.max(0), bins, 2])
            }
            _ => None,
        }
    }

    /// Multiply-accumulates of a node; `None` if they are unknown.
    pub(super) fn foreign_macs(&self, node: &Node<'a>) -> Option<u64> {
        let macs = match (node.text.domain, node.text.op_type) {
            ("" | "ai.onnx", name) => match name {
                "Einsum" => self.einsum(node)?.1,
                "LSTM" | "GRU" | "RNN" => {
                    // Every step multiplies its input and the state by all weights.
                    let steps = product(self.shape_of(node, 0)?.get(..2)?)?;
                    let weights = |at: usize| self.n_values_of(node, at);
                    steps.checked_mul(weights(1)?.checked_add(weights(2)?)?)?
                }
                "ConvTranspose" => {
                    // Every input value meets the window of every output channel of its group.
                    let weights = self.shape_of(node, 1)?;
                    let per_input = product(weights.get(1..)?)?;
                    self.n_values_of(node, 0)?.checked_mul(per_input)?
                }
                "Attention" => self.attention_macs(node)?,
                "MatMul" => {
                    // A vector meets every value of the other factor once.
                    self.product_with_vector(node)?;
                    self.n_values_of(node, 0)?.max(self.n_values_of(node, 1)?)
                }
                "Conv" | "ConvInteger" | "DeformConv" => self.convolution_macs(node, 1)?,
                "QLinearConv" => self.convolution_macs(node, 3)?,
                name if UNCOUNTED.contains(&name) || is_plugin(name) => return None,
                _ => 0,
            },
            ("ai.onnx.ml", name) if ML_ELEMENTWISE.contains(&name) => 0,
            (contrib::DOMAIN, "Attention" | "QAttention") => {
                let &[batch, steps, depth] = self.shape(node, 0)? else {
                    return None;
                };
                let projected = *self.shape(node, 1)?.last()?;
                let past = match (self.shape(node, 4), self.shape(node, 8)) {
                    (Some(&[_, _, _, past, _]), _) | (_, Some(&[_, _, _, past, _])) => past,
                    _ => 0,
                };
                let scores = product(&[2, steps.checked_add(past)?, projected.checked_div(3)?])?;
                let each = product(&[depth, projected])?.checked_add(scores)?;
                product(&[batch, steps, each])?
            }
            (contrib::DOMAIN, "MultiHeadAttention" | "GroupQueryAttention") => {
                self.attention_macs(node)?
            }
            (contrib::DOMAIN, name) if CONTRIB_ELEMENTWISE.contains(&name) => 0,
            _ => return None,
        };
        u64::try_from(macs).ok()
    }

    /// Every output value of a convolution takes one filter.
    fn convolution_macs(&self, node: &Node<'a>, weights_position: usize) -> Option<i64> {
        let weights = self.shape_of(node, weights_position)?;
        let outputs = product(&self.convolved_shape(node, weights_position)?)?;
        outputs.checked_mul(product(weights.get(1..)?)?)
    }
}

fn with_window_sides(front: &[i64], windows: &[Side]) -> Vec<i64> {
    let sides = windows.iter().map(|side| side.out);
    front.iter().copied().chain(sides).collect()
}
