//! Activations that exporters write as several nodes.

use std::collections::{HashMap, HashSet};

use super::value::Value;
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::{Graph, Node};
use crate::formats::tflite::OpKind;

/// Groups of nodes that together form one operator.
#[derive(Default)]
pub(super) struct Patterns<'a> {
    parts: HashSet<usize>,
    /// By the last node: the operator, and what it reads.
    wholes: HashMap<usize, (OpKind, Name<'a>)>,
}

/// What surrounds a gate: `x` multiplied with a function of itself.
struct Gate<'a> {
    x: Name<'a>,
    parts: Vec<usize>,
    last: usize,
}

impl<'a> Patterns<'a> {
    /// GELU around each `Erf`, hard swish around each `HardSigmoid` and each clip to 6. Linear in nodes.
    pub(super) fn new(reads: Reads<'_, 'a>) -> Self {
        let graph = reads.graph;
        let mut writers: HashMap<Name, usize> = HashMap::new();
        for (node_idx, node) in graph.nodes.iter().enumerate() {
            writers.extend(node.outputs.iter().map(|&output| (output, node_idx)));
        }
        let search = Search {
            reads,
            writers,
            numbers: numbers(&graph.nodes),
        };
        let mut patterns = Self::default();
        for (node_idx, node) in graph.nodes.iter().enumerate() {
            // How many nodes follow: a sum and two products, a product and a quotient, a product.
            let (kind, has_step_before, n_steps) = match node.text.op_type {
                "Erf" => (OpKind::Gelu, true, 3),
                "Clip" if search.is_to_six(node) => (OpKind::HardSwish, true, 2),
                "HardSigmoid" => (OpKind::HardSwish, false, 1),
                _ => continue,
            };
            let Some(gate) = search.gate(node_idx, node, has_step_before, n_steps) else {
                continue;
            };
            patterns.parts.extend(gate.parts);
            patterns.wholes.insert(gate.last, (kind, gate.x));
        }
        patterns
    }

    /// Whether this node is part of a group whose operator is added at a later node.
    pub(super) fn is_part(&self, node_idx: usize) -> bool {
        self.parts.contains(&node_idx)
    }

    pub(super) fn pattern_at(&self, node_idx: usize) -> Option<(OpKind, Name<'a>)> {
        self.wholes.get(&node_idx).copied()
    }
}

/// Values of the `Constant` nodes that hold one number, and of their casts, by name. Each node's attributes are read
/// once, however many nodes read its value.
fn numbers<'a>(nodes: &'a [Node<'a>]) -> HashMap<Name<'a>, f64> {
    let mut numbers: HashMap<Name, f64> = HashMap::new();
    for node in nodes {
        let number = match node.text.op_type {
            "Constant" => {
                let tensor = node.tensor("value");
                let of_tensor = tensor.and_then(|tensor| tensor.floats(1)?.first().copied());
                of_tensor.or_else(|| node.float("value_float").map(f64::from))
            }
            "Cast" | "CastLike" => {
                let input = node.inputs.first();
                input.and_then(|input| numbers.get(input).copied())
            }
            _ => None,
        };
        numbers.extend(node.outputs.first().copied().zip(number));
    }
    numbers
}

/// A graph with its initial values, and the number of readers and the reading nodes of each name.
#[derive(Clone, Copy)]
pub(super) struct Reads<'c, 'a> {
    pub graph: &'a Graph<'a>,
    pub values: &'c HashMap<Name<'a>, Value<'a>>,
    pub uses: &'c HashMap<Name<'a>, usize>,
    pub readers: &'c HashMap<Name<'a>, Vec<usize>>,
}

struct Search<'c, 'a> {
    reads: Reads<'c, 'a>,
    writers: HashMap<Name<'a>, usize>,
    /// Of `Constant` nodes.
    numbers: HashMap<Name<'a>, f64>,
}

impl<'a> Search<'_, 'a> {
    fn node(&self, node_idx: usize) -> Option<&'a Node<'a>> {
        self.reads.graph.nodes.get(node_idx)
    }

    fn is_constant(&self, name: Name<'a>) -> bool {
        let is_initializer = self
            .reads
            .values
            .get(&name)
            .is_some_and(|value| value.is_constant());
        let writer = self
            .writers
            .get(&name)
            .and_then(|&writer| self.node(writer));
        let is_constant = |writer: &Node| writer.text.op_type == "Constant";
        is_initializer || self.numbers.contains_key(&name) || writer.is_some_and(is_constant)
    }

    fn number(&self, name: Name<'a>) -> Option<f64> {
        match self.reads.values.get(&name) {
            Some(value) => value.number(),
            None => self.numbers.get(&name).copied(),
        }
    }

    fn is_to_six(&self, node: &Node<'a>) -> bool {
        let bound = |name: &str, position: usize| {
            let input = node
                .inputs
                .get(position)
                .and_then(|&name| self.number(name));
            input.or_else(|| node.float(name).map(f64::from))
        };
        bound("min", 1) == Some(0.0) && bound("max", 2) == Some(6.0)
    }

    /// The only node that reads a name.
    fn only_reader(&self, name: Name<'a>) -> Option<usize> {
        let is_read_once = self.reads.uses.get(&name) == Some(&1);
        let readers = self.reads.readers.get(&name).filter(|_| is_read_once)?;
        readers.first().copied()
    }

    /// The other operand of a node with two, one of which is `name`.
    fn other_operand(&self, node: &Node<'a>, name: Name<'a>) -> Option<Name<'a>> {
        match node.inputs[..] {
            [one, other] if one == name => Some(other),
            [other, one] if one == name => Some(other),
            _ => None,
        }
    }

    /// `x` times constants: its first node and `x`.
    fn scaled_by_constant(&self, name: Name<'a>) -> Option<(usize, Name<'a>)> {
        let writer = *self.writers.get(&name)?;
        let node = self.node(writer)?;
        if !matches!(node.text.op_type, "Mul" | "Div" | "Add") {
            return None;
        }
        let &[one, other] = node.inputs.as_slice() else {
            return None;
        };
        match (self.is_constant(one), self.is_constant(other)) {
            (false, true) => Some((writer, one)),
            (true, false) if node.text.op_type != "Div" => Some((writer, other)),
            _ => None,
        }
    }

    fn gate(
        &self,
        centre: usize,
        node: &'a Node<'a>,
        has_step_before: bool,
        n_steps: usize,
    ) -> Option<Gate<'a>> {
        let input = *node.inputs.first()?;
        let mut parts = vec![centre];
        let x = if has_step_before {
            let (before, x) = self.scaled_by_constant(input)?;
            self.only_reader(input)?;
            parts.push(before);
            x
        } else {
            input
        };
        let mut name = *node.outputs.first()?;
        let mut is_gated = false;
        let mut last = centre;
        for _ in 0..n_steps {
            let Some(reader) = self.only_reader(name) else {
                break;
            };
            let node = self.node(reader)?;
            let Some(other) = self.other_operand(node, name) else {
                break;
            };
            match node.text.op_type {
                "Mul" if other == x && !is_gated => is_gated = true,
                "Mul" | "Div" | "Add" if self.is_constant(other) => {}
                // `x` that is multiplied with a constant before.
                "Mul" if !is_gated => {
                    let (scaled, factor) = self.scaled_by_constant(other)?;
                    if factor != x || self.only_reader(other).is_none() {
                        break;
                    }
                    parts.extend([scaled, reader]);
                    last = reader;
                    is_gated = true;
                    break;
                }
                _ => break,
            }
            parts.push(reader);
            last = reader;
            name = *node.outputs.first()?;
        }
        parts.retain(|&part| part != last);
        is_gated.then_some(Gate { x, parts, last })
    }
}
