//! Operators of ONNX Runtime (domain `com.microsoft`) that compute what an operator of ONNX computes, in 8 bits or with
//! an activation: they are read as that operator. ONNX Runtime's quantiser writes them (`QuantFormat.QOperator`), and so
//! does its optimiser.
//!
//! Order of operands and attributes: `docs/ContribOperators.md` of ONNX Runtime 1.23.

use super::proto::{Graph, Node};

pub(super) const DOMAIN: &str = "com.microsoft";

/// Operator, its counterpart in ONNX, and the positions of the counterpart's operands; scales and zero points, the
/// others, belong to tensors in TFLite.
const SAME: &[(&str, &str, &[usize])] = &[
    ("QLinearAdd", "Add", &[0, 3]),
    ("QLinearMul", "Mul", &[0, 3]),
    ("QLinearWhere", "Where", &[0, 1, 4]),
    ("QLinearSigmoid", "Sigmoid", &[0]),
    ("QLinearLeakyRelu", "LeakyRelu", &[0]),
    ("QLinearSoftmax", "Softmax", &[0]),
    ("QLinearAveragePool", "AveragePool", &[0]),
    ("QLinearGlobalAveragePool", "GlobalAveragePool", &[0]),
    ("QLinearReduceMean", "ReduceMean", &[0]),
    ("QGemm", "Gemm", &[0, 3, 6]),
    ("MatMulIntegerToFloat", "MatMul", &[0, 1]),
    ("DynamicQuantizeMatMul", "MatMul", &[0, 1]),
    ("FusedMatMul", "MatMul", &[0, 1]),
    ("FusedConv", "Conv", &[0, 1, 2]),
    ("FusedGemm", "Gemm", &[0, 1, 2]),
    ("Gelu", "Gelu", &[0]),
    ("DynamicQuantizeLSTM", "LSTM", &[0, 1, 2, 3, 4, 5, 6, 7]),
];

/// Replaces what has a counterpart. Linear in nodes and operands.
pub(super) fn replace(graph: &mut Graph) {
    for node in &mut graph.nodes {
        if node.text.domain == DOMAIN {
            replace_node(node);
        }
    }
}

fn replace_node(node: &mut Node) {
    let name = node.text.op_type;
    if name == "QLinearConcat" {
        // Scale and zero point of the result, then each operand with its own.
        node.inputs = node.inputs.iter().skip(2).step_by(3).copied().collect();
        become_standard(node, "Concat");
        return;
    }
    let Some(&(_, counterpart, positions)) = SAME.iter().find(|(contrib, ..)| *contrib == name)
    else {
        return;
    };
    if !is_replaceable(node) {
        return;
    }
    let at = |&position: &usize| node.inputs.get(position).copied();
    node.inputs = positions.iter().map_while(at).collect();
    become_standard(node, counterpart);
}

fn become_standard(node: &mut Node, op_type: &'static str) {
    node.text.op_type = op_type;
    node.text.domain = "";
}

/// Whether attributes leave the meaning of the counterpart: channels first, no transposition, and an activation, if any,
/// that TFLite fuses as well.
fn is_replaceable(node: &Node) -> bool {
    let is_0 = |name: &str| node.integer(name).unwrap_or(0) == 0;
    let is_fused = matches!(
        node.text("activation"),
        None | Some("" | "Relu" | "Relu6" | "Clip")
    );
    match node.text.op_type {
        "FusedMatMul" => {
            let swaps = ["transA", "transB", "transBatchA", "transBatchB"];
            swaps.into_iter().all(is_0)
        }
        // A fourth operand is added to the result.
        "FusedConv" => is_fused && node.inputs.len() <= 3,
        "FusedGemm" => is_fused,
        _ => is_0("channels_last"),
    }
}
