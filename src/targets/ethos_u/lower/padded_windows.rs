//! Windows that pad by themselves in the place of a PAD before them. Reproduces `ReplacePadByExplicitPadding` of Vela.

use std::rc::Rc;

use crate::formats::tflite::op_row::Effect;
use crate::formats::tflite::{
    BuiltinOptions, OpKind, Padding, Tensor, TensorType, integers, long_integers,
};
use crate::graph::analysis::weights::zero_byte;
use crate::graph::{Graph, Node};
use crate::targets::ethos_u::index::OptionalIndex;
use crate::targets::ethos_u::support::{DilatedParts, DilatedWindow};

/// Which windows pad by themselves.
pub struct Pads {
    /// By tensor, the node of the PAD that it shows, perhaps in another shape.
    shown: Vec<OptionalIndex>,
    /// By node, whether it is a PAD that others than such windows read.
    is_kept: Vec<bool>,
}

impl Pads {
    /// Linear in nodes and tensors.
    pub fn new(
        graph: &Graph,
        is_left: &[bool],
        dilated: &DilatedParts,
        n_readers: impl Fn(usize) -> usize,
    ) -> Self {
        let mut pads = Self {
            shown: vec![OptionalIndex::NONE; graph.subgraph.tensors.len()],
            is_kept: vec![false; graph.nodes.len()],
        };
        for (node_idx, node) in graph.nodes.iter().enumerate() {
            let operator = node.operator;
            let input = operator.inputs.first().copied().flatten();
            let shown = input.and_then(|input| pads.shown[input].get());
            let kind = if is_left[node_idx] {
                OpKind::Custom
            } else {
                operator.code.kind
            };
            // A RESHAPE copies what others read as well.
            let is_view = kind.row().effect == Effect::Renames
                && input.is_some_and(|input| n_readers(input) == 1);
            let of_dilated = dilated.get(&node_idx).map(Rc::as_ref);
            let pads_alone = shown
                .is_some_and(|pad| is_absorbed(graph, &graph.nodes[pad], node, of_dilated))
                && !is_left[node_idx];
            let n_free = usize::from(is_view || pads_alone);
            for other in operator.inputs.iter().skip(n_free).flatten() {
                pads.keep_pad_of(*other);
            }
            let pad = match kind {
                OpKind::Pad | OpKind::Padv2 => Some(node_idx),
                _ => shown.filter(|_| is_view),
            };
            if let Some(&output) = operator.outputs.first() {
                pads.shown[output] = pad.into();
            }
        }
        for &output in &graph.subgraph.outputs {
            pads.keep_pad_of(output);
        }
        pads
    }

    fn keep_pad_of(&mut self, tensor_idx: usize) {
        if let Some(pad) = self.shown[tensor_idx].get() {
            self.is_kept[pad] = true;
        }
    }

    /// Whether a tensor shows a PAD that nothing but such windows reads, and so is never in memory.
    pub fn is_absent(&self, tensor_idx: usize) -> bool {
        let pad = self.shown[tensor_idx].get();
        pad.is_some_and(|pad| !self.is_kept[pad])
    }

    /// What the PAD reads behind which a window is, if the window pads by itself.
    pub fn input_of_absorbed_pad(
        &self,
        graph: &Graph,
        node: &Node,
        dilated: Option<&DilatedWindow>,
    ) -> Option<usize> {
        let read = node.operator.inputs.first().copied().flatten();
        let input = dilated.map_or(read, |dilated| Some(dilated.input))?;
        let pad = &graph.nodes[self.shown[input].get()?];
        is_absorbed(graph, pad, node, dilated)
            .then(|| pad.operator.inputs.first().copied().flatten())
            .flatten()
    }
}

/// Whether a convolution pads its input as the PAD before it does: by zeros, with fewer rows and columns than its kernel
/// has, and without padding of its own. A RESHAPE between them leaves height and width as they are. A dilated window reads
/// what is divided into blocks.
fn is_absorbed(graph: &Graph, pad: &Node, node: &Node, dilated: Option<&DilatedWindow>) -> bool {
    let node = dilated.map_or(node, |dilated| &graph.nodes[dilated.window]);
    let options = &node.operator.options;
    let is_convolution = matches!(
        options,
        BuiltinOptions::Conv2D { .. } | BuiltinOptions::DepthwiseConv2D { .. }
    );
    let Some(sliding) = options.sliding().filter(|_| is_convolution) else {
        return false;
    };
    let operand = |node: &Node, place: usize| {
        let tensor_idx = node.operator.inputs.get(place).copied().flatten();
        tensor_idx.map(|tensor_idx| (tensor_idx, graph.tensor(tensor_idx)))
    };
    let tensors = (operand(pad, 0), operand(node, 0), operand(node, 1));
    let (Some((_, from)), Some((_, read)), Some((_, filter))) = tensors else {
        return false;
    };
    let read = dilated.map_or(read, |dilated| graph.tensor(dilated.input));
    let (Some((amounts_idx, _)), Some(&to)) = (operand(pad, 1), pad.operator.outputs.first())
    else {
        return false;
    };
    let to = graph.tensor(to);
    let rank = from.shape.len();
    let amounts = padding_amounts(graph, amounts_idx, rank);
    let [unpadded, padded, read_sides] = [from, to, read].map(|one| height_and_width(&one.shape));
    let is_same = has_same_values(from, to) && padded == read_sides;
    if !is_same || amounts.len() != rank || !is_padded_by_zeros(graph, pad) {
        return false;
    }
    let amount = |from_end: usize| rank.checked_sub(from_end).map_or([0; 2], |at| amounts[at]);
    let filter = height_and_width(&filter.shape);
    let [[_, stride @ ..], [_, own_dilation @ ..]] =
        [sliding.strides, sliding.dilations].map(|steps| steps.map(i64::from));
    let dilation = dilated.map_or(own_dilation, |dilated| dilated.dilation);
    let is_short = |axis: usize| {
        let side = PaddedSide {
            unpadded: unpadded[axis],
            padded: read_sides[axis],
            filter: filter[axis],
            amounts: amount(3 - axis),
            stride: stride[axis],
            dilation: dilation[axis],
        };
        side.is_short(sliding.padding)
    };
    let is_inner = |axis: usize| (2..=3).contains(&(rank - axis));
    let mut others = amounts.iter().enumerate();
    others.all(|(axis, amount)| is_inner(axis) || *amount == [0; 2])
        && (0..2).all(|axis| is_short(axis) == Some(true))
}

/// Whether equal bytes are equal numbers in both.
fn has_same_values(a: &Tensor, b: &Tensor) -> bool {
    let zero = |tensor: &Tensor| {
        let quantization = tensor.quantization.as_ref();
        quantization.map(|one| (one.scale.first().copied(), one.zero_point.first().copied()))
    };
    a.tensor_type == b.tensor_type && zero(a) == zero(b)
}

/// Height or width that a PAD enlarges before a window reads it.
struct PaddedSide {
    unpadded: i64,
    padded: i64,
    filter: i64,
    /// Rows or columns before and behind.
    amounts: [i64; 2],
    stride: i64,
    dilation: i64,
}

impl PaddedSide {
    /// Whether every position of the window reads a part of the input; `None` if the sizes overflow.
    fn is_short(&self, padding: Padding) -> Option<bool> {
        let Self {
            stride,
            amounts: [before, after],
            ..
        } = *self;
        let reach = (self.filter - 1)
            .checked_mul(self.dilation)?
            .checked_add(1)?;
        let missing = |size: i64| {
            let n = size
                .checked_add(stride)?
                .checked_sub(1)?
                .checked_div(stride)?;
            let covered = (n - 1).checked_mul(stride)?.checked_add(reach)?;
            Some(covered.checked_sub(size)?.max(0))
        };
        // No position of the window reaches some of the rows behind the input.
        let needed = missing(self.unpadded)?.checked_sub(before)?;
        let unused = after.checked_rem(stride)? - needed.checked_rem(stride)?;
        let unused = unused + if unused < 0 { stride } else { 0 };
        let has_own = padding == Padding::Same && missing(self.padded)? > 0;
        let is_known = before >= 0 && after >= 0;
        Some(is_known && !has_own && before < reach && after.checked_sub(unused)? < reach)
    }
}

/// By dimension, what is added before and behind it; as many as are known, and at most one more than `rank`.
pub fn padding_amounts(graph: &Graph, tensor_idx: usize, rank: usize) -> Vec<[i64; 2]> {
    let contents = graph.constant(tensor_idx);
    let limit = 2 * rank + 2;
    let amounts: Vec<i64> = match graph.tensor(tensor_idx).tensor_type {
        TensorType::Int64 => long_integers(contents).take(limit).collect(),
        _ => integers(contents).take(limit).map(i64::from).collect(),
    };
    amounts.as_chunks::<2>().0.into()
}

/// Whether what a PAD adds stands for the number 0.
fn is_padded_by_zeros(graph: &Graph, pad: &Node) -> bool {
    let operator = pad.operator;
    let value = operator.inputs.get(2).copied().flatten();
    let Some((value, &output)) = value.zip(operator.outputs.first()) else {
        return true;
    };
    let zero = zero_byte(graph.tensor(output));
    graph.constant(value).first() == Some(&zero)
}

/// The second and the third dimension from the last one; 1 where there are fewer.
fn height_and_width(shape: &[i32]) -> [i64; 2] {
    let dimension = |from_end: usize| {
        let at = shape.len().checked_sub(from_end);
        at.map_or(1, |at| i64::from(shape[at]))
    };
    [dimension(3), dimension(2)]
}
