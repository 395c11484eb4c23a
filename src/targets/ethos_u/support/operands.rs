//! Operands that have to be constants, and limits of what they hold.

use super::list::{Check, Types, listed};
use super::npu::Npu;
use crate::formats::tflite::{Buffer, BuiltinOptions, OpKind, Tensor, TensorType, integers};
use crate::graph::scan::ScanBudget;
use crate::graph::{Graph, Node};
use crate::target::{Place, UnsupportedReason};

/// Whether the operator multiplies two feature maps: Ethos-U55 and U65 do so with int8 only.
pub fn multiplies_maps(graph: &Graph, node: &Node, kind: OpKind) -> bool {
    let second = node.operator.inputs.get(1).copied().flatten();
    kind == OpKind::BatchMatmul
        || kind == OpKind::FullyConnected && second.is_some_and(|second| !graph.is_constant(second))
}

/// Why `npu` leaves an operator to the CPU whose types and shapes it runs: a constant that is computed, or what an operand
/// holds. Contents beyond the budget count as small and different, as those of networks from training are.
pub fn refused_operand(
    graph: &Graph,
    node: &Node,
    kind: OpKind,
    npu: Npu,
    budget: &mut ScanBudget,
) -> Option<UnsupportedReason> {
    let operand = |place: usize| node.operator.inputs.get(place).copied().flatten();
    let is_computed = |&input: &usize| operand(input).is_some_and(|t| !graph.is_constant(t));
    let mut listed = listed(kind)?;
    if let Some(input) = listed.constants.find(is_computed) {
        return Some(UnsupportedReason::OperandComputed { input });
    }
    let is_variable = listed.types == Types::Variable;
    let is_scalar =
        |t: usize| graph.tensor(t).shape.is_empty() && !graph.is_constant(t) && !is_variable;
    if let Some((place, _)) = Place::tensors_of(node.operator).find(|&(_, t)| is_scalar(t)) {
        return Some(UnsupportedReason::Scalar { place });
    }
    let broken = match listed.check {
        Check::Weights => broken_weights(graph, node, kind, npu, budget),
        Check::Slice => return refused_strides(graph, node),
        Check::Scatter => broken_scatter(graph, node),
        Check::Recurrent => broken_lstm(node),
        Check::Table => broken_table(graph, node),
        // Their shapes have limits.
        Check::ArgMax
        | Check::Gather
        | Check::Mean
        | Check::Resize
        | Check::Softmax
        | Check::Transpose => None,
        Check::Nothing => None,
    };
    let is_product = npu == Npu::EthosU55U65 && multiplies_maps(graph, node, kind);
    broken
        .map(UnsupportedReason::Rule)
        .or_else(|| is_product.then(|| refused_product(graph, node)).flatten())
}

/// Height and width alone may have strides, counted in the dimensions of the input.
fn refused_strides(graph: &Graph, node: &Node) -> Option<UnsupportedReason> {
    let BuiltinOptions::StridedSlice { ellipsis_mask, .. } = node.operator.options else {
        return None;
    };
    let operand = |place: usize| node.operator.inputs.get(place).copied().flatten();
    let rank = graph.tensor(operand(0)?).shape.len();
    let strides: Vec<i32> = integers(graph.constant(operand(3)?)).collect();
    let mut axis = 0;
    for (position, &stride) in strides.iter().enumerate() {
        if position < 32 && ellipsis_mask >> position & 1 == 1 {
            axis = (rank + position + 1).saturating_sub(strides.len());
            continue;
        }
        let is_side = rank.saturating_sub(axis) == 3 || rank.saturating_sub(axis) == 2;
        if stride < 0 || stride > 1 && !is_side {
            return Some(UnsupportedReason::SliceStrides(strides[..].into()));
        }
        axis += 1;
    }
    None
}

/// The bias, and the weights of one output channel.
fn broken_weights(
    graph: &Graph,
    node: &Node,
    kind: OpKind,
    npu: Npu,
    budget: &mut ScanBudget,
) -> Option<&'static str> {
    let operand = |place: usize| node.operator.inputs.get(place).copied().flatten();
    let is_transposed = kind == OpKind::TransposeConv;
    if let Some(bias) = operand(2 + usize::from(is_transposed)) {
        let Tensor {
            tensor_type, shape, ..
        } = graph.tensor(bias);
        let max: i64 = (1 << if npu == Npu::EthosU55U65 { 40 } else { 48 }) - 1;
        match tensor_type {
            TensorType::Int32 => {}
            TensorType::Int64 => {
                let contents = budget.spend(graph.constant(bias)).unwrap_or_default();
                let is_large = |&bytes: &[u8; 8]| i64::from_le_bytes(bytes) > max;
                if contents.as_chunks().0.iter().any(is_large) {
                    return Some("a bias has more bits than the accumulators");
                }
            }
            _ => return Some("a bias has 32 or 64 bits"),
        }
        if shape.iter().rev().skip(1).any(|&size| size != 1) {
            return Some("a bias has one dimension");
        }
    }
    let weights_idx = operand(1)?;
    let weights = graph.tensor(weights_idx);
    let (&first, &last) = (weights.shape.first()?, weights.shape.last()?);
    let n_weights = weights.element_count()?;
    let [first, last] = [first, last].map(|size| u64::try_from(size).unwrap_or(0));
    let is_dense = kind == OpKind::FullyConnected;
    if is_dense && (weights.shape.len() < 2 || first.checked_mul(last) != Some(n_weights)) {
        return Some("weights have other dimensions than outputs and inputs");
    }
    let is_depthwise = kind == OpKind::DepthwiseConv2d;
    let n_outputs = if is_depthwise { last } else { first }.max(1);
    let n_each = n_weights / n_outputs;
    let input = graph.tensor(operand(2 * usize::from(is_transposed))?);
    let is_wide = npu == Npu::EthosU85 && input.tensor_type == TensorType::Int16;
    let max = 127 << if is_wide { 24 } else { 16 };
    (n_each.saturating_mul(255) > max
        && largest_sum(graph, weights_idx, n_outputs, is_depthwise, budget) > max)
        .then_some("the weights of an output channel overflow the accumulators")
}

/// The largest sum over the weights of an output channel, without their signs; 0 beyond the budget.
fn largest_sum(
    graph: &Graph,
    weights_idx: usize,
    n_outputs: u64,
    is_depthwise: bool,
    budget: &mut ScanBudget,
) -> u64 {
    let weights = graph.tensor(weights_idx);
    let is_unsigned = weights.tensor_type == TensorType::UInt8;
    let zero_points = weights.quantization.as_ref();
    let zero_points = zero_points.map_or(&[][..], |quantization| &quantization.zero_point[..]);
    let magnitude = |byte: u8, output: usize| {
        let zero_point = zero_points.get(output).or(zero_points.first());
        let value = if is_unsigned {
            i64::from(byte)
        } else {
            i64::from(byte.cast_signed())
        };
        value.abs_diff(zero_point.copied().unwrap_or(0))
    };
    let n_described = n_outputs;
    let n_outputs = usize::try_from(n_outputs).unwrap_or(usize::MAX);
    match graph.buffer(weights_idx) {
        Buffer::Described {
            n_bytes, counts, ..
        } => {
            let all = (counts.iter().zip(0..=u8::MAX)).fold(0, |sum: u128, (&n, byte)| {
                sum.saturating_add(u128::from(n) * u128::from(magnitude(byte, 0)))
            });
            let n_drawn: u128 = counts.iter().map(|&n| u128::from(n)).sum();
            let n_each = u128::from(*n_bytes / n_described.max(1));
            let sum = all.saturating_mul(n_each) / n_drawn.max(1);
            u64::try_from(sum).unwrap_or(u64::MAX)
        }
        Buffer::Stored(bytes) => {
            let bytes = budget.spend(bytes).unwrap_or_default();
            let n_each = (bytes.len() / n_outputs).max(1);
            let sum_of = |output: usize| -> u64 {
                let (from, step) = if is_depthwise {
                    (output, n_outputs)
                } else {
                    (output.saturating_mul(n_each), 1)
                };
                let weights = bytes.iter().skip(from).step_by(step).take(n_each);
                weights.fold(0, |sum: u64, &byte| {
                    sum.saturating_add(magnitude(byte, output))
                })
            };
            let n_sums = n_outputs.min(bytes.len());
            (0..n_sums).map(sum_of).max().unwrap_or(0)
        }
    }
}

/// The indices, of which the first are compared.
fn broken_scatter(graph: &Graph, node: &Node) -> Option<&'static str> {
    let operand = |place: usize| node.operator.inputs.get(place).copied().flatten();
    let indices = operand(0)?;
    if !graph.is_constant(indices) || !graph.is_constant(operand(2)?) {
        return Some("indices and shape are constants");
    }
    if graph.tensor(indices).shape.last() != Some(&1) {
        return Some("indices have one dimension");
    }
    let mut values: Vec<i32> = integers(graph.constant(indices)).collect();
    values.sort_unstable();
    let is_repeated = values.windows(2).any(|pair| pair[0] == pair[1]);
    is_repeated.then_some("an index occurs once")
}

/// Weights of four gates, without peepholes, projection and normalisation.
fn broken_lstm(node: &Node) -> Option<&'static str> {
    let inputs = &node.operator.inputs;
    let has = |input: usize| inputs.get(input).copied().flatten().is_some();
    if !(1..9).all(has) {
        return Some("an LSTM has all four gates");
    }
    let extra = (9..12).chain(16..18).chain(20..24);
    (extra.into_iter().any(has)).then_some("peepholes, projection and normalisation do not run")
}

/// An operator that looks up its values in a table keeps shape and type.
fn broken_table(graph: &Graph, node: &Node) -> Option<&'static str> {
    let read = graph.tensor(node.operator.inputs.first().copied().flatten()?);
    let written = graph.tensor(*node.operator.outputs.first()?);
    (read.shape != written.shape || read.tensor_type != written.tensor_type)
        .then_some("the output has another shape or type than the input")
}

/// A product of two feature maps, by the values that it adds up and its columns.
fn refused_product(graph: &Graph, node: &Node) -> Option<UnsupportedReason> {
    let read = graph.tensor(node.operator.inputs.first().copied().flatten()?);
    let written = graph.tensor(*node.operator.outputs.first()?);
    let from_end = match node.operator.options {
        BuiltinOptions::BatchMatMul { adj_x: true, .. } => 1,
        _ => 0,
    };
    let n_summed = read.shape.iter().rev().nth(from_end).copied();
    let size = n_summed.max(written.shape.last().copied())?;
    (size > PRODUCT_MAX_SIZE).then_some(UnsupportedReason::LargeDimensions {
        found: size.into(),
        max: PRODUCT_MAX_SIZE.into(),
    })
}

/// Maximum number of values that a product of feature maps adds up, and of its columns.
const PRODUCT_MAX_SIZE: i32 = 1 << 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::builder::integers as words;
    use crate::formats::tflite::{Model, Operator, Padding};
    use crate::graph::analysis::fixtures::{calling, conv_2d, graph_of, model, subgraph, tensor};

    fn is_refused(model: &Model) -> [bool; 2] {
        let graph = graph_of(model);
        let node = &graph.nodes[0];
        let kind = node.operator.code.kind;
        [Npu::EthosU55U65, Npu::EthosU85].map(|npu| {
            let mut budget = ScanBudget::new(model);
            let refusal = refused_operand(&graph, node, kind, npu, &mut budget);
            refusal.is_some()
        })
    }

    /// Adds constants of these contents, in the order of the tensors.
    fn with_constants(
        tensors: &[Tensor],
        constants: &[(usize, Buffer<'static>)],
        operator: Operator,
    ) -> Model<'static> {
        let mut tensors = tensors.to_vec();
        for (place, &(tensor_idx, _)) in constants.iter().enumerate() {
            // The buffers of the fixture come before.
            tensors[tensor_idx].buffer_idx = 2 + place;
        }
        let mut model = model(vec![subgraph(tensors, vec![operator])]);
        model
            .buffers
            .extend(constants.iter().map(|(_, buffer)| buffer.clone()));
        model
    }

    /// As Vela 5.2.0 compiles such files or leaves them to the CPU.
    #[test]
    fn slices_have_strides_along_height_and_width() {
        let cases: [(&[i32], &[i32], i32, bool); 10] = [
            (&[1, 8, 8, 16], &[1, 2, 1, 1], 0, false),
            (&[1, 8, 8, 16], &[1, 4, 2, 1], 0, false),
            (&[1, 8, 8, 16], &[1, 1, 1, 2], 0, true),
            (&[1, 8, 8, 16], &[1, -1, 1, 1], 0, true),
            (&[1, 8, 8, 16], &[1, 2], 1, true),
            (&[1, 32, 16], &[1, 2, 1], 0, false),
            (&[1, 32, 16], &[1, 1, 2], 0, true),
            (&[1, 32], &[1, 2], 0, true),
            (&[1, 4, 6, 6, 8], &[1, 2, 1, 1, 1], 0, true),
            (&[1, 4, 6, 6, 8], &[1, 1, 2, 2, 1], 0, false),
        ];
        for (shape, strides, ellipsis_mask, expected) in cases {
            let options = BuiltinOptions::StridedSlice {
                begin_mask: 0,
                end_mask: 0,
                ellipsis_mask,
                new_axis_mask: 0,
                shrink_axis_mask: 0,
                offset: false,
            };
            let list = || tensor(TensorType::Int32, &[strides.len() as i32]);
            let map = || tensor(TensorType::Int8, shape);
            let operator = calling(OpKind::StridedSlice, &[0, 1, 2, 3], &[4], options);
            let constants = [1, 2, 3].map(|place| (place, words(strides)));
            let model = with_constants(
                &[map(), list(), list(), list(), map()],
                &constants,
                operator,
            );
            assert_eq!(is_refused(&model), [expected; 2], "{shape:?} {strides:?}");
        }
    }

    /// As Vela 5.2.0 compiles such files or leaves them to the CPU.
    #[test]
    fn bounds_and_axes_are_constants() {
        use OpKind::*;
        for (kind, expected) in [
            (Mean, true),
            (Transpose, true),
            (Padv2, true),
            (MirrorPad, true),
            (Slice, true),
            (Tile, false),
            (ReduceMax, false),
        ] {
            let maps = [4; 3].map(|size| tensor(TensorType::Int8, &[1, size, 4, 4]));
            let operator = calling(kind, &[0, 1], &[2], BuiltinOptions::Absent);
            let model = with_constants(&maps, &[], operator);
            assert_eq!(is_refused(&model), [expected; 2], "{kind:?}");
        }
    }

    /// As Vela 5.2.0 compiles such files or leaves them to the CPU: the bias, and weights of one output channel.
    #[test]
    fn biases_and_weights_fit_the_accumulators() {
        use TensorType::{Int8, Int16, Int32, Int64};
        let long = |value: i64| Buffer::Stored(value.to_le_bytes().repeat(2).into());
        let bytes = |byte: u8, n: usize| Buffer::Stored(vec![byte; n].into());
        type Case = (
            i32,
            Buffer<'static>,
            TensorType,
            &'static [i32],
            Buffer<'static>,
            [bool; 2],
        );
        let cases: [Case; 9] = [
            (16, bytes(1, 32), Int32, &[2], words(&[1, 1]), [false; 2]),
            (
                16,
                bytes(1, 32),
                Int32,
                &[1, 1, 1, 2],
                words(&[1, 1]),
                [false; 2],
            ),
            (16, bytes(1, 32), Int32, &[2, 1], words(&[1, 1]), [true; 2]),
            (16, bytes(1, 32), Int16, &[2], bytes(0, 4), [true; 2]),
            (16, bytes(1, 32), Int8, &[2], bytes(0, 2), [true; 2]),
            (16, bytes(1, 32), Int64, &[2], long(1 << 41), [true, false]),
            (16, bytes(1, 32), Int64, &[2], long(1 << 50), [true; 2]),
            (
                63_000,
                bytes(127, 126_000),
                Int32,
                &[2],
                words(&[1, 1]),
                [false; 2],
            ),
            (
                73_728,
                bytes(0x81, 147_456),
                Int32,
                &[2],
                words(&[1, 1]),
                [true; 2],
            ),
        ];
        for (depth, weights, bias_type, bias_shape, bias, expected) in cases {
            let options = conv_2d(Padding::Valid, [1; 2]);
            let tensors = [
                tensor(Int8, &[1, 4, 4, depth]),
                tensor(Int8, &[2, 1, 1, depth]),
                tensor(bias_type, bias_shape),
                tensor(Int8, &[1, 4, 4, 2]),
            ];
            let operator = calling(OpKind::Conv2d, &[0, 1, 2], &[3], options);
            let model = with_constants(&tensors, &[(1, weights), (2, bias)], operator);
            assert_eq!(
                is_refused(&model),
                expected,
                "{bias_type:?} {bias_shape:?} {depth}"
            );
        }
    }

    /// As Vela 5.2.0 compiles such files or leaves them to the CPU.
    #[test]
    fn entries_are_scattered_to_different_places() {
        let cases: [(&[i32], &[i32], bool); 3] = [
            (&[2, 1], &[1, 3], false),
            (&[2, 1], &[1, 1], true),
            (&[2, 2], &[1, 2, 3, 4], true),
        ];
        for (shape, indices, expected) in cases {
            let tensors = [
                tensor(TensorType::Int32, shape),
                tensor(TensorType::Int8, &[2, 16]),
                tensor(TensorType::Int32, &[2]),
                tensor(TensorType::Int8, &[8, 16]),
            ];
            let operator = calling(OpKind::ScatterNd, &[0, 1, 2], &[3], BuiltinOptions::Absent);
            let constants = [(0, words(indices)), (2, words(&[8, 16]))];
            let model = with_constants(&tensors, &constants, operator);
            assert_eq!(is_refused(&model), [expected; 2], "{shape:?} {indices:?}");
        }
    }

    /// As Vela 5.2.0 leaves such a file to the CPU.
    #[test]
    fn scalars_stay_with_the_cpu() {
        let tensors = [
            tensor(TensorType::Int8, &[16]),
            tensor(TensorType::Int8, &[]),
        ];
        let operator = calling(OpKind::ReduceMax, &[0], &[1], BuiltinOptions::Absent);
        assert_eq!(
            is_refused(&with_constants(&tensors, &[], operator)),
            [true; 2]
        );
    }
}
