//! Shapes of an operator's operands against each other.

use super::window::windows;
use crate::diagnostic::{Diagnostic, Severity, some_of};
use crate::formats::tflite::{BuiltinOptions, OpKind, Tensor};
use crate::graph::missing_shapes::Rules;
use crate::graph::{Graph, Node};

/// An operator whose operands no kernel takes together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// Index into [`Graph::nodes`].
    pub node_idx: usize,
    /// In words.
    pub why: &'static str,
}

/// In topological order, each operator once. Operands without a shape, or with one that is known only at
/// run time, contradict nothing. Linear in operators.
pub fn contradictions(graph: &Graph) -> Vec<Contradiction> {
    let rules = Rules::new(graph);
    let of_node = |(node_idx, node)| {
        let why = contradiction(graph, node).or_else(|| against_rule(graph, &rules, node))?;
        Some(Contradiction { node_idx, why })
    };
    graph.nodes.iter().enumerate().filter_map(of_node).collect()
}

/// The same as a doubt about every number that follows from shapes.
pub fn doubt(graph: &Graph, contradictions: &[Contradiction]) -> Option<Diagnostic> {
    let node = |one: &Contradiction| &graph.nodes[one.node_idx];
    let first = node(contradictions.first()?);
    let each = contradictions.iter().map(|one| {
        let (name, idx) = (node(one).operator.code.name(), node(one).operator_idx);
        format!("{name} {idx}: {}", one.why)
    });
    Some(Diagnostic {
        severity: Severity::Warning,
        code: "contradicting-shapes",
        message: format!(
            "operands of {} of {} operators contradict each other ({})",
            contradictions.len(),
            graph.nodes.len(),
            some_of(each, "; ")
        ),
        operator_idx: Some(first.operator_idx),
    })
}

/// Why operands of an operator cannot be those of one: their shapes, as far as all of them are known.
fn contradiction(graph: &Graph, node: &Node) -> Option<&'static str> {
    let operator = node.operator;
    let known = |tensor_idx: usize| {
        let tensor: &Tensor = graph.tensor(tensor_idx);
        (!tensor.shape.is_empty() && !tensor.is_dynamic()).then_some(tensor.shape.as_slice())
    };
    let input = |place: usize| known(operator.inputs.get(place).copied().flatten()?);
    let output = known(*operator.outputs.first()?)?;
    match (operator.code.kind, &operator.options) {
        (OpKind::Conv2d, options) => convolution(input(0)?, input(1)?, output, options),
        (OpKind::DepthwiseConv2d, options) => depthwise(input(0)?, input(1)?, output, options),
        (OpKind::FullyConnected, _) => dense(input(0)?, input(1)?, output),
        (OpKind::TransposeConv, _) => transposed(input(2)?, input(1)?, output),
        (OpKind::AveragePool2d | OpKind::MaxPool2d, options) => pooled(input(0)?, output, options),
        (
            OpKind::Add
            | OpKind::Sub
            | OpKind::Mul
            | OpKind::Div
            | OpKind::Maximum
            | OpKind::Minimum
            | OpKind::SquaredDifference,
            _,
        ) => broadcast(input(0)?, input(1)?, output),
        (
            OpKind::Relu
            | OpKind::Relu6
            | OpKind::Logistic
            | OpKind::Tanh
            | OpKind::HardSwish
            | OpKind::Softmax
            | OpKind::Quantize,
            _,
        ) => (input(0)? != output).then_some("input and output differ in shape"),
        (OpKind::Reshape, _) => {
            let count = |shape: &[i32]| shape.iter().map(|&d| f64::from(d)).product::<f64>();
            (count(input(0)?) != count(output)).then_some("input and output differ in size")
        }
        _ => None,
    }
}

/// Kinds whose result is as large as a constant says: where the network is changed, that constant may be the old one.
const SHAPED_BY_VALUES: &[OpKind] = &[
    OpKind::BroadcastTo,
    OpKind::Fill,
    OpKind::Reshape,
    OpKind::ResizeBilinear,
    OpKind::ResizeNearestNeighbor,
    OpKind::ScatterNd,
    OpKind::Slice,
    OpKind::SparseToDense,
    OpKind::StridedSlice,
    OpKind::TransposeConv,
];

/// Results of another shape than the operator gives them when LiteRT loads the file.
fn against_rule(graph: &Graph, rules: &Rules, node: &Node) -> Option<&'static str> {
    let operator = node.operator;
    if SHAPED_BY_VALUES.contains(&operator.code.kind) {
        return None;
    }
    let mut operands = operator.inputs.iter().flatten().chain(&operator.outputs);
    if operands.any(|&tensor_idx| graph.tensor(tensor_idx).is_dynamic()) {
        return None;
    }
    let differs = |(&output, shape): (&usize, &[i64])| {
        let tensor = graph.tensor(output);
        let found = tensor.shape.iter().copied().map(i64::from);
        tensor.has_rank && !found.eq(shape.iter().copied())
    };
    let shapes = rules.outputs(operator)?;
    let mut pairs = operator.outputs.iter().zip(shapes.each());
    pairs
        .any(differs)
        .then_some("the output has another shape than the inputs give it")
}

/// Filter `[out, h, w, in / groups]`.
fn convolution(
    input: &[i32],
    filter: &[i32],
    output: &[i32],
    options: &BuiltinOptions,
) -> Option<&'static str> {
    let (&[_, h, w, c], &[out, fh, fw, depth], &[_, oh, ow, oc]) = (input, filter, output) else {
        return None;
    };
    if depth < 1 || c % depth != 0 {
        return Some("the filter's depth is not that of the input");
    }
    if out != oc {
        return Some("the filter has another number of channels than the output");
    }
    let BuiltinOptions::Conv2D {
        padding,
        stride_h,
        stride_w,
        dilation_h,
        dilation_w,
        ..
    } = *options
    else {
        return None;
    };
    let rows = windows(h, fh, stride_h, dilation_h, padding);
    let columns = windows(w, fw, stride_w, dilation_w, padding);
    area([rows, columns], [oh, ow])
}

/// Filter `[1, h, w, out]`.
fn depthwise(
    input: &[i32],
    filter: &[i32],
    output: &[i32],
    options: &BuiltinOptions,
) -> Option<&'static str> {
    let (&[_, h, w, c], &[_, fh, fw, depth], &[_, oh, ow, oc]) = (input, filter, output) else {
        return None;
    };
    if depth != oc {
        return Some("the filter has another number of channels than the output");
    }
    if c < 1 || oc % c != 0 {
        return Some("the output's channels are no multiple of the input's");
    }
    let BuiltinOptions::DepthwiseConv2D {
        padding,
        stride_h,
        stride_w,
        dilation_h,
        dilation_w,
        ..
    } = *options
    else {
        return None;
    };
    let rows = windows(h, fh, stride_h, dilation_h, padding);
    let columns = windows(w, fw, stride_w, dilation_w, padding);
    area([rows, columns], [oh, ow])
}

fn pooled(input: &[i32], output: &[i32], options: &BuiltinOptions) -> Option<&'static str> {
    let (&[_, h, w, c], &[_, oh, ow, oc]) = (input, output) else {
        return None;
    };
    if c != oc {
        return Some("input and output differ in channels");
    }
    let BuiltinOptions::Pool2D {
        padding,
        stride_h,
        stride_w,
        filter_h,
        filter_w,
        ..
    } = *options
    else {
        return None;
    };
    let rows = windows(h, filter_h, stride_h, 1, padding);
    let columns = windows(w, filter_w, stride_w, 1, padding);
    area([rows, columns], [oh, ow])
}

fn area(expected: [i64; 2], found: [i32; 2]) -> Option<&'static str> {
    (expected != found.map(i64::from))
        .then_some("the output's rows or columns are not those of the window")
}

/// Filter `[units, depth]`; the input as rows of `depth`.
fn dense(input: &[i32], filter: &[i32], output: &[i32]) -> Option<&'static str> {
    let &[units, depth] = filter else {
        return None;
    };
    let size = input
        .iter()
        .map(|&d| i128::from(d))
        .try_fold(1, i128::checked_mul)?;
    if depth < 1 || size % i128::from(depth) != 0 {
        return Some("the filter's depth does not divide the input");
    }
    (output.last() != Some(&units))
        .then_some("the filter has another number of units than the output")
}

/// Filter `[out, h, w, in]`.
fn transposed(input: &[i32], filter: &[i32], output: &[i32]) -> Option<&'static str> {
    let (&[_, _, _, c], &[out, _, _, depth], &[_, _, _, oc]) = (input, filter, output) else {
        return None;
    };
    if depth != c {
        return Some("the filter's depth is not that of the input");
    }
    (out != oc).then_some("the filter has another number of channels than the output")
}

/// Dimensions of two operands and their result, from the last on: equal, or 1 in one operand.
fn broadcast(one: &[i32], other: &[i32], output: &[i32]) -> Option<&'static str> {
    let from_end = |shape: &[i32], at: usize| {
        let at = shape.len().checked_sub(at + 1);
        at.map_or(1, |at| shape[at])
    };
    let rank = one.len().max(other.len()).max(output.len());
    let fits = |at: usize| match (from_end(one, at), from_end(other, at)) {
        (1, size) | (size, 1) => size == from_end(output, at),
        (size, other) => size == other && size == from_end(output, at),
    };
    (!(0..rank).all(fits)).then_some("operands and output do not broadcast")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tflite::Padding;
    use crate::formats::tflite::{Activation, TensorType};
    use crate::graph::analysis::fixtures::{calling, graph_of, model, subgraph, tensor};

    fn options() -> BuiltinOptions {
        BuiltinOptions::Conv2D {
            padding: Padding::Same,
            stride_h: 2,
            stride_w: 2,
            dilation_h: 1,
            dilation_w: 1,
            activation: Activation::None,
        }
    }

    fn of_convolution(input: &[i32], filter: &[i32], output: &[i32]) -> Option<&'static str> {
        convolution(input, filter, output, &options())
    }

    #[test]
    fn shapes_of_a_convolution() {
        assert_eq!(
            of_convolution(&[1, 7, 8, 6], &[9, 3, 3, 6], &[1, 4, 4, 9]),
            None
        );
        assert_eq!(
            of_convolution(&[1, 7, 8, 6], &[9, 3, 3, 2], &[1, 4, 4, 9]),
            None,
            "three groups"
        );
        for (input, filter, output) in [
            ([1, 7, 8, 6], [9, 3, 3, 4], [1, 4, 4, 9]),
            ([1, 7, 8, 6], [1, 3, 3, 6], [1, 4, 4, 9]),
            ([1, 7, 8, 6], [9, 3, 3, 6], [1, 7, 8, 9]),
            ([1, 7, 8, 6], [9, 3, 3, 0], [1, 4, 4, 9]),
        ] {
            assert!(
                of_convolution(&input, &filter, &output).is_some(),
                "{filter:?}"
            );
        }
    }

    #[test]
    fn operands_that_broadcast() {
        assert_eq!(broadcast(&[1, 4, 4, 8], &[8], &[1, 4, 4, 8]), None);
        assert_eq!(broadcast(&[4, 1], &[1, 5], &[4, 5]), None);
        assert!(broadcast(&[4, 2], &[1, 5], &[4, 5]).is_some());
        assert!(broadcast(&[4, 1], &[1, 5], &[4, 1]).is_some());
    }

    /// The file says 97 million weights for one channel, and eight channels of output.
    #[test]
    fn operands_that_contradict_each_other_leave_no_estimate() {
        let tensors = vec![
            tensor(TensorType::Int8, &[1, 8, 8, 1]),
            tensor(TensorType::Int8, &[1, 3024, 4032, 1]),
            tensor(TensorType::Int8, &[1, 4, 4, 8]),
        ];
        let operator = calling(OpKind::Conv2d, &[0, 1], &[2], options());
        let model = model(vec![subgraph(tensors, vec![operator])]);
        let graph = graph_of(&model);
        let analysis = crate::graph::analysis::analyze(&graph);
        let doubt =
            (analysis.diagnostics.iter()).find(|doubt| doubt.code == "contradicting-shapes");
        println!("{}", doubt.unwrap().message);
        let network = crate::targets::Network::new(&graph, &analysis);
        for target in crate::targets::registry() {
            for metric in target.estimate(&network).metrics {
                let is_arena = metric.metric == crate::targets::Metric::Arena;
                assert_eq!(metric.outcome.is_estimate(), is_arena, "{metric:?}");
            }
        }
    }
}
