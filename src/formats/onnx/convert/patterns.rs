//! Activations and normalisations that exporters write as several nodes, between which values may be quantised or change
//! their type.

use std::collections::{HashMap, HashSet};

use super::value::Value;
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::{Graph, Node, tensor_type};

/// How many nodes that keep values may lie between two others.
const MAX_KEEPING: usize = 4;

/// Groups of nodes that together form one operator.
#[derive(Default)]
pub(super) struct Patterns<'a> {
    parts: HashSet<usize>,
    /// By the last node.
    wholes: HashMap<usize, Whole<'a>>,
}

/// What nodes are together.
#[derive(Clone)]
pub(super) struct Whole<'a> {
    pub kind: Kind,
    pub x: Name<'a>,
    /// All of its nodes but the last, in order.
    pub parts: Vec<usize>,
}

#[derive(Clone, Copy)]
pub(super) enum Kind {
    Gelu,
    HardSwish,
    /// `x`, or its differences to a mean, over their root mean square; the nodes are the means, that of squares first.
    Normalisation {
        means: [usize; 2],
        is_centred: bool,
    },
    /// A normalisation of groups of channels, by the node that normalises what was reshaped.
    OfGroups(usize),
}

impl<'a> Patterns<'a> {
    /// GELU around each `Erf`, hard swish around each `HardSigmoid` and each clip to 6, normalisations around
    /// each `Sqrt` and `InstanceNormalization`. Linear in nodes.
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
            let found = match node.text.op_type {
                "Erf" => search.gelu(node_idx, node),
                "Clip" if search.is_to_six(node) => search.hard_swish(node_idx, node, true),
                "HardSigmoid" => search.hard_swish(node_idx, node, false),
                "Sqrt" => search.normalisation(node_idx, node),
                "InstanceNormalization" => search.of_groups(node_idx, node),
                _ => continue,
            };
            if let Some((last, whole)) = found.and_then(|draft| search.closed(draft)) {
                let is_taken =
                    |idx: &usize| patterns.parts.contains(idx) || patterns.wholes.contains_key(idx);
                if !whole.parts.iter().chain([&last]).any(is_taken) {
                    patterns.parts.extend(&whole.parts);
                    patterns.wholes.insert(last, whole);
                }
            }
        }
        patterns
    }

    /// Whether this node is part of a group whose operator is added at a later node.
    pub(super) fn is_part(&self, node_idx: usize) -> bool {
        self.parts.contains(&node_idx)
    }

    pub(super) fn pattern_at(&self, node_idx: usize) -> Option<&Whole<'a>> {
        self.wholes.get(&node_idx)
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

/// Nodes that form a group, the last one last, if nothing else reads what lies between them.
struct Draft<'a> {
    kind: Kind,
    x: Name<'a>,
    nodes: Vec<usize>,
}

/// Whether a node's result has the values of what it reads, in another type or none.
fn keeps_values(node: &Node) -> bool {
    match node.text.op_type {
        "Identity" | "QuantizeLinear" | "DequantizeLinear" => true,
        "Cast" => (node.integer("to")).is_some_and(|to| tensor_type(to).is_float()),
        _ => false,
    }
}

impl<'a> Search<'_, 'a> {
    fn node(&self, node_idx: usize) -> Option<&'a Node<'a>> {
        self.reads.graph.nodes.get(node_idx)
    }

    /// Where a value comes from, through nodes that keep values, which are added to `between`.
    fn source(&self, mut name: Name<'a>, between: &mut Vec<usize>) -> Name<'a> {
        for _ in 0..MAX_KEEPING {
            let writer = self.writers.get(&name).copied();
            let keeping = writer.and_then(|idx| Some((idx, self.node(idx)?)));
            let Some((idx, node)) = keeping.filter(|(_, node)| keeps_values(node)) else {
                break;
            };
            let Some(&input) = node.inputs.first() else {
                break;
            };
            between.push(idx);
            name = input;
        }
        name
    }

    fn is_same(&self, one: Name<'a>, other: Name<'a>) -> bool {
        one == other || self.source(one, &mut Vec::new()) == self.source(other, &mut Vec::new())
    }

    /// The node that computes a value, which becomes one of `nodes` together with what lies between.
    fn computing(
        &self,
        name: Name<'a>,
        of_types: &[&str],
        nodes: &mut Vec<usize>,
    ) -> Option<&'a Node<'a>> {
        let source = self.source(name, nodes);
        let idx = *self.writers.get(&source)?;
        nodes.push(idx);
        (self.node(idx)).filter(|node| of_types.contains(&node.text.op_type))
    }

    fn is_constant(&self, name: Name<'a>) -> bool {
        let name = self.source(name, &mut Vec::new());
        let value = self.reads.values.get(&name);
        let writer = self
            .writers
            .get(&name)
            .and_then(|&writer| self.node(writer));
        value.is_some_and(|value| value.is_constant())
            || self.numbers.contains_key(&name)
            || writer.is_some_and(|writer| writer.text.op_type == "Constant")
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

    /// The only node that reads a value, or what nodes that keep it make of it, and the operand beside the value. It
    /// becomes one of `nodes` together with what lies between.
    fn reading(
        &self,
        mut name: Name<'a>,
        nodes: &mut Vec<usize>,
    ) -> Option<(&'a Node<'a>, Option<Name<'a>>)> {
        for _ in 0..=MAX_KEEPING {
            let [idx] = self.reads.readers.get(&name)?[..] else {
                return None;
            };
            let node = self.node(idx)?;
            nodes.push(idx);
            if !keeps_values(node) {
                let other = match node.inputs[..] {
                    [one, other] if one == name => Some(other),
                    [other, one] if one == name => Some(other),
                    _ => None,
                };
                return Some((node, other));
            }
            name = *node.outputs.first()?;
        }
        None
    }

    /// The group, if only its own nodes read what lies between them, and its last node.
    fn closed(&self, draft: Draft<'a>) -> Option<(usize, Whole<'a>)> {
        let Draft { kind, x, mut nodes } = draft;
        let last = *nodes.last()?;
        nodes.sort_unstable();
        nodes.dedup();
        // What a node reads is computed before it.
        (nodes.pop() == Some(last)).then_some(())?;
        let is_read_inside = |name: &Name<'a>| {
            let n_uses = self.reads.uses.get(name).copied().unwrap_or(0);
            let readers = self.reads.readers.get(name).map_or(&[][..], Vec::as_slice);
            let is_inside = |idx: &usize| *idx == last || nodes.binary_search(idx).is_ok();
            n_uses == readers.len() && readers.iter().all(is_inside)
        };
        let mut outputs = (nodes.iter())
            .filter_map(|&idx| self.node(idx))
            .flat_map(|node| &node.outputs);
        outputs.all(is_read_inside).then_some((
            last,
            Whole {
                kind,
                x,
                parts: nodes.clone(),
            },
        ))
    }

    /// `x` times constants.
    fn scaled(&self, name: Name<'a>, nodes: &mut Vec<usize>) -> Option<Name<'a>> {
        let node = self.computing(name, &["Mul", "Div", "Add"], nodes)?;
        let &[one, other] = node.inputs.as_slice() else {
            return None;
        };
        match (self.is_constant(one), self.is_constant(other)) {
            (false, true) => Some(one),
            (true, false) if node.text.op_type != "Div" => Some(other),
            _ => None,
        }
    }

    /// A function of `x` that is multiplied with `x`, in at most `n_steps` nodes after `name` was computed.
    fn gate(
        &self,
        kind: Kind,
        mut x: Name<'a>,
        mut name: Name<'a>,
        n_steps: usize,
        mut nodes: Vec<usize>,
    ) -> Option<Draft<'a>> {
        let mut is_gated = false;
        for _ in 0..n_steps {
            let mut step = Vec::new();
            let Some((node, Some(other))) = self.reading(name, &mut step) else {
                break;
            };
            match node.text.op_type {
                "Mul" if !is_gated && self.is_same(other, x) => {
                    x = other;
                    is_gated = true;
                }
                "Mul" | "Div" | "Add" if self.is_constant(other) => {}
                // `x` that is multiplied with a constant before.
                "Mul" if !is_gated => {
                    let mut scaling = Vec::new();
                    let factor = self.scaled(other, &mut scaling)?;
                    self.is_same(factor, x).then_some(())?;
                    x = factor;
                    nodes.extend(scaling);
                    nodes.extend(step);
                    is_gated = true;
                    break;
                }
                _ => break,
            }
            nodes.extend(step);
            name = *node.outputs.first()?;
        }
        is_gated.then_some(Draft { kind, x, nodes })
    }

    fn gelu(&self, centre: usize, node: &'a Node<'a>) -> Option<Draft<'a>> {
        let mut nodes = Vec::new();
        let x = self.scaled(*node.inputs.first()?, &mut nodes)?;
        nodes.push(centre);
        self.gate(Kind::Gelu, x, *node.outputs.first()?, 3, nodes)
    }

    /// A product or quotient after a `HardSigmoid`, both after a clip of a sum.
    fn hard_swish(&self, centre: usize, node: &'a Node<'a>, clips: bool) -> Option<Draft<'a>> {
        let mut nodes = Vec::new();
        let mut x = *node.inputs.first()?;
        if clips {
            x = self.scaled(x, &mut nodes)?;
        }
        nodes.push(centre);
        let n_steps = if clips { 2 } else { 1 };
        self.gate(Kind::HardSwish, x, *node.outputs.first()?, n_steps, nodes)
    }

    /// Values over the root of the mean of their squares and a number.
    fn normalisation(&self, centre: usize, node: &'a Node<'a>) -> Option<Draft<'a>> {
        let mut nodes = Vec::new();
        let variance = self.scaled(*node.inputs.first()?, &mut nodes)?;
        let mean_of = |name: Name<'a>, nodes: &mut Vec<usize>| {
            let mean = self.computing(name, &["ReduceMean"], nodes)?;
            let keeps = mean.integer("keepdims").unwrap_or(1) == 1;
            Some((*nodes.last()?, *mean.inputs.first().filter(|_| keeps)?))
        };
        let (mean_of_squares, squares) = mean_of(variance, &mut nodes)?;
        let square = self.computing(squares, &["Pow", "Mul"], &mut nodes)?;
        let (&values, &exponent) = (square.inputs.first()?, square.inputs.get(1)?);
        let is_square = match square.text.op_type {
            "Pow" => self.number(exponent) == Some(2.0),
            _ => self.is_same(values, exponent),
        };
        is_square.then_some(())?;
        nodes.push(centre);
        let mut root = *node.outputs.first()?;
        let (mut last, mut other) = self.reading(root, &mut nodes)?;
        let inverts = match last.text.op_type {
            "Reciprocal" => true,
            _ => last.text.op_type == "Div" && self.is_constant(*last.inputs.first()?),
        };
        if inverts {
            root = *last.outputs.first()?;
            (last, other) = self.reading(root, &mut nodes)?;
        }
        let is_over = match last.text.op_type {
            "Mul" => inverts,
            "Div" => !inverts && !self.is_same(*last.inputs.first()?, root),
            _ => false,
        };
        (is_over && self.is_same(other?, values)).then_some(())?;
        let last = nodes.pop()?;
        let mut of_mean = Vec::new();
        let (x, means, is_centred) = match self.difference(values, &mut of_mean, mean_of) {
            Some((x, mean)) => {
                // Both read the difference through nodes that keep values.
                self.source(values, &mut nodes);
                self.source(other?, &mut nodes);
                nodes.extend(of_mean);
                (x, [mean_of_squares, mean], true)
            }
            None => (other?, [mean_of_squares; 2], false),
        };
        nodes.push(last);
        let kind = Kind::Normalisation { means, is_centred };
        Some(Draft { kind, x, nodes })
    }

    /// Of differences of a value to its mean: the value, and the node of the mean.
    fn difference(
        &self,
        values: Name<'a>,
        nodes: &mut Vec<usize>,
        mean_of: impl Fn(Name<'a>, &mut Vec<usize>) -> Option<(usize, Name<'a>)>,
    ) -> Option<(Name<'a>, usize)> {
        let difference = self.computing(values, &["Sub"], nodes)?;
        let &[x, mean] = difference.inputs.as_slice() else {
            return None;
        };
        let (mean, of) = mean_of(mean, nodes)?;
        self.is_same(x, of).then_some((x, mean))
    }

    /// What is reshaped to groups, normalised and reshaped again.
    fn of_groups(&self, centre: usize, node: &'a Node<'a>) -> Option<Draft<'a>> {
        let mut nodes = Vec::new();
        let groups = self.computing(*node.inputs.first()?, &["Reshape"], &mut nodes)?;
        nodes.push(centre);
        let (last, _) = self.reading(*node.outputs.first()?, &mut nodes)?;
        (last.text.op_type == "Reshape").then_some(Draft {
            kind: Kind::OfGroups(centre),
            x: *groups.inputs.first()?,
            nodes,
        })
    }
}
