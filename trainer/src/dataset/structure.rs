//! A hash that is equal for graphs that differ only in their weights.

use std::collections::HashMap;

use litecast::formats::tflite::Operator;
use litecast::graph::Graph;
use sha2::{Digest, Sha256};

/// Digits of the hash: 64 bits, so that a million structures collide with a chance of 3e-8.
const DIGITS: usize = 16;

/// Hash of operators, options, shapes, types and wiring, without weights, names and quantisation.
///
/// For a predictor, graphs with the same hash are copies of each other, so they must not be divided between training
/// and validation.
pub fn structure_hash(graph: &Graph) -> String {
    let mut hasher = Hasher {
        graph,
        renamed: HashMap::new(),
        digest: Sha256::new(),
    };
    hasher.tensors(graph.subgraph.inputs.iter().copied());
    for node in graph.nodes.iter() {
        hasher.operator(node.operator);
    }
    hasher.tensors(graph.subgraph.outputs.iter().copied());
    let digest = hasher.digest.finalize();
    let text: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    text[..DIGITS].to_string()
}

struct Hasher<'g, 'm> {
    graph: &'g Graph<'m>,
    /// Tensor index → order of first use, so that the hash does not depend on the file's numbering.
    renamed: HashMap<usize, usize>,
    digest: Sha256,
}

impl Hasher<'_, '_> {
    fn operator(&mut self, operator: &Operator) {
        let kind = (
            operator.code.kind.number(),
            &operator.code.custom,
            &operator.options,
        );
        self.text(&format!("{kind:?}"));
        for input in &operator.inputs {
            match input {
                Some(tensor_idx) => self.tensor(*tensor_idx),
                None => self.text("absent"),
            }
        }
        self.tensors(operator.outputs.iter().copied());
    }

    fn tensors(&mut self, tensors: impl Iterator<Item = usize>) {
        tensors.for_each(|tensor_idx| self.tensor(tensor_idx));
    }

    fn tensor(&mut self, tensor_idx: usize) {
        let next = self.renamed.len();
        let number = *self.renamed.entry(tensor_idx).or_insert(next);
        let tensor = self.graph.tensor(tensor_idx);
        self.text(&format!(
            "{number} {:?} {:?}",
            tensor.tensor_type, tensor.shape
        ));
    }

    fn text(&mut self, text: &str) {
        self.digest.update(text.as_bytes());
        self.digest.update([0]);
    }
}
