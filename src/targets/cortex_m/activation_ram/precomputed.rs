//! Tensors whose values do not depend on the input, such as the anchors of an SSD head. The tool computes them
//! beforehand and leaves out their operators.

use std::collections::HashSet;

use crate::formats::tflite::{OpKind, Operator};
use crate::graph::Graph;

/// Outputs of `SHAPE` and of operators whose inputs are all constant. Linear in operators and inputs.
pub fn tensors(graph: &Graph) -> HashSet<usize> {
    let mut precomputed = HashSet::new();
    for node in graph.nodes.iter() {
        let operator = node.operator;
        let is_constant = |t: &usize| graph.is_constant(*t) || precomputed.contains(t);
        let mut inputs = operator.inputs.iter().flatten().peekable();
        // An operator without inputs, such as VAR_HANDLE, reads a state that another operator keeps.
        let is_of_constants = inputs.peek().is_some() && inputs.all(is_constant);
        let is_known = operator.code.kind == OpKind::Shape || is_of_constants;
        if is_known && !is_random(operator) {
            let outputs = operator.outputs.iter().copied();
            precomputed.extend(outputs.filter(|&t| !graph.tensor(t).is_variable));
        }
    }
    precomputed
}

fn is_random(operator: &Operator) -> bool {
    matches!(
        operator.code.kind,
        OpKind::RandomStandardNormal | OpKind::RandomUniform | OpKind::Multinomial
    )
}
