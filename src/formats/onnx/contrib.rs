//! Operators of ONNX Runtime (domain `com.microsoft`) that compute what operators of ONNX compute, in 8 bits or several at
//! once: they are read as these. ONNX Runtime's quantiser writes them (`QuantFormat.QOperator`), and so do its
//! optimisers.
//!
//! Order of operands and attributes: `docs/ContribOperators.md` of ONNX Runtime 1.23.

use super::names::Name;
use super::proto::{Node, NodeText};

pub(super) use super::proto::CONTRIB as DOMAIN;

/// An operator of ONNX and what it reads: operands of the node by position, or below 0 results of the steps before, the
/// last one first. Then the position of its result among the node's, where it is not the first.
type Step = (&'static str, &'static [isize], usize);

const fn step(op_type: &'static str, operands: &'static [isize]) -> Step {
    (op_type, operands, usize::MAX)
}

/// Operator, and what it does; scales and zero points, the operands that no step reads, belong to tensors in TFLite.
/// Sums leave out operands that the node does not have.
const STEPS: &[(&str, &[Step])] = &[
    ("QLinearAdd", &[step("Add", &[0, 3])]),
    ("QLinearMul", &[step("Mul", &[0, 3])]),
    ("QLinearWhere", &[step("Where", &[0, 1, 4])]),
    ("QLinearSigmoid", &[step("Sigmoid", &[0])]),
    ("QLinearLeakyRelu", &[step("LeakyRelu", &[0])]),
    ("QLinearSoftmax", &[step("Softmax", &[0])]),
    ("QLinearAveragePool", &[step("AveragePool", &[0])]),
    (
        "QLinearGlobalAveragePool",
        &[step("GlobalAveragePool", &[0])],
    ),
    ("QLinearReduceMean", &[step("ReduceMean", &[0])]),
    ("QGemm", &[step("Gemm", &[0, 3, 6])]),
    (
        "MatMulIntegerToFloat",
        &[step("MatMul", &[0, 1]), step("Add", &[-1, 6])],
    ),
    (
        "DynamicQuantizeMatMul",
        &[step("MatMul", &[0, 1]), step("Add", &[-1, 4])],
    ),
    ("FusedMatMul", &[step("MatMul", &[0, 1])]),
    (
        "FusedConv",
        &[step("Conv", &[0, 1, 2]), step("Add", &[-1, 3])],
    ),
    ("FusedGemm", &[step("Gemm", &[0, 1, 2])]),
    ("Gelu", &[step("Gelu", &[0])]),
    ("BiasGelu", &[step("Add", &[0, 1]), step("Gelu", &[-1])]),
    ("FastGelu", &[step("Add", &[0, 1]), step("Gelu", &[-1])]),
    ("QuickGelu", &[step("Swish", &[0])]),
    (
        "BiasSoftmax",
        &[step("Add", &[0, 1]), step("Softmax", &[-1])],
    ),
    (
        "DynamicQuantizeLSTM",
        &[step("LSTM", &[0, 1, 2, 3, 4, 5, 6, 7])],
    ),
    (
        "SkipLayerNormalization",
        &[
            step("Add", &[0, 4]),
            ("Add", &[-1, 1], 3),
            step("LayerNormalization", &[-1, 2, 3]),
        ],
    ),
    (
        "SkipSimplifiedLayerNormalization",
        &[
            step("Add", &[0, 3]),
            ("Add", &[-1, 1], 3),
            step("RMSNormalization", &[-1, 2]),
        ],
    ),
    // Positions have the shape of the words, whether they are an operand or not.
    (
        "EmbedLayerNormalization",
        &[
            step("Gather", &[4, 1]),
            step("Gather", &[3, 0]),
            step("Add", &[-1, -2]),
            step("Gather", &[2, 0]),
            ("Add", &[-1, -2], 2),
            step("LayerNormalization", &[-1, 5, 6]),
        ],
    ),
];

/// The nodes of ONNX's operators that do what a node does, or the node itself. `new_name` gives results between them
/// their names.
pub(super) fn replaced<'a>(
    mut node: Node<'a>,
    new_name: &mut dyn FnMut(usize) -> Name<'a>,
) -> Vec<Node<'a>> {
    let name = node.text.op_type;
    if name == "QLinearConcat" {
        // Scale and zero point of the result, then each operand with its own.
        node.inputs = node.inputs.iter().skip(2).step_by(3).copied().collect();
        node.text = standard("Concat");
        return vec![node];
    }
    let known = STEPS.iter().find(|(contrib, _)| *contrib == name);
    let Some(&(_, steps)) = known.filter(|_| node.integer("channels_last") != Some(1)) else {
        return vec![node];
    };
    let steps: &[(&str, &[isize], usize)] = steps;
    let activation = match node.text("activation") {
        None | Some("") => None,
        // Of any bounds; TFLite fuses both.
        Some("Clip" | "Relu6") => Some("Relu"),
        Some(name) => Some(name),
    };
    let activation = activation.map(|name| (name, [-1].as_slice(), usize::MAX));
    let mut results: Vec<Name> = Vec::new();
    let mut nodes: Vec<Node> = Vec::new();
    for (op_type, operands, place) in steps.iter().copied().chain(activation) {
        let operand = |&at: &isize| match usize::try_from(at) {
            Ok(at) => node.inputs.get(at).copied(),
            Err(_) => results
                .iter()
                .nth_back(at.unsigned_abs().wrapping_sub(1))
                .copied(),
        };
        let mut inputs: Vec<Name> = operands.iter().map_while(operand).collect();
        if matches!(op_type, "Add" | "Gather") {
            inputs.retain(|name| !name.is_empty());
            if inputs.len() < 2 {
                results.push(inputs.first().copied().unwrap_or_default());
                continue;
            }
        }
        let given = node.outputs.get_mut(place).map(std::mem::take);
        let output = given.filter(|name| !name.is_empty());
        let output = output.unwrap_or_else(|| new_name(results.len()));
        results.push(output);
        nodes.push(Node {
            text: standard(op_type),
            inputs,
            outputs: vec![output],
            body: node.body,
            depth: node.depth,
            // Sums have none.
            attributes: match op_type {
                "Add" | "Gather" => Default::default(),
                _ => std::mem::take(&mut node.attributes),
            },
            ..Node::default()
        });
    }
    match nodes.last_mut() {
        Some(last) => last.outputs = node.outputs,
        None => nodes.push(node),
    }
    nodes
}

fn standard(op_type: &str) -> NodeText<'_> {
    // The types of its operands are not those that ONNX asks for.
    NodeText {
        op_type,
        domain: "ai.onnx",
        ..NodeText::default()
    }
}
