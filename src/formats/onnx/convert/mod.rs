//! An ONNX graph → the same network in TFLite's operators, as common converters write it: images with channels last,
//! batch normalisation folded into convolutions, activations fused, weights transposed.
//!
//! Transposes are not executed where they occur. Each value records the order of its dimensions in memory, axes are
//! renumbered, and a `TRANSPOSE` is added only where an operator needs a different order.

mod arithmetic;
mod attention;
mod bodies;
mod contradictions;
mod convolutions;
mod einsum;
mod emit;
mod finish;
mod fold;
mod formulas;
mod layouts;
mod loops;
mod matrices;
mod normalizations;
mod patterns;
mod products;
mod quantization;
mod reductions;
mod resizing;
mod sequences;
mod shape_rules;
mod state;
mod types;
mod unknown;
mod value;
mod weight_histogram;

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use self::patterns::{Kind, Patterns, Reads, Whole};
use self::state::{Branches, Limits, Loops, Names, OnnxNetwork};
use self::value::{
    Constant, Known, NO_SHAPE, Perm, Place, Value, axes, channels_last, exact_integer, identity,
    is_short, product,
};
use super::Dimensions;
use super::contrib;
use super::error::ParseError;
use super::limits::*;
use super::names::Name;
use super::proto::{Bodies, Dimension, Graph, Node, Tensor, ValueInfo, tensor_type};
use crate::diagnostic::Diagnostic;
use crate::formats::builder::Builder;
use crate::formats::tflite::{BuiltinOptions, OpKind, TensorType};
use crate::formats::{UnmatchedDimensions, max_operators, shown};

/// A converted graph. It borrows nothing of the file and still has the operators and tensors that nothing uses.
pub(super) struct Converted {
    builder: Builder<'static>,
    version: u32,
    file_bytes: usize,
    name: String,
    /// Inputs and outputs.
    ends: [Vec<usize>; 2],
    /// Tensors that nothing of the network reads, but whoever runs it.
    conditions: Vec<usize>,
    diagnostics: Vec<Diagnostic>,
    unmatched_dimensions: Option<UnmatchedDimensions>,
}

/// State of the conversion. Handlers of operators return `None` if they cannot determine a shape, or if TFLite has no
/// counterpart; the node then becomes an operator with its ONNX name.
struct Converter<'a> {
    graph: &'a Graph<'a>,
    dimensions: &'a Dimensions<'a>,
    names: Names<'a>,
    limits: Limits,
    branches: Branches,
    loops: Loops<'a>,
    network: OnnxNetwork<'a>,
    /// Nodes without a shape.
    shapeless: Vec<&'a str>,
    /// Nodes of which the most results that they can have are counted.
    sized_by_values: Vec<&'a str>,
    /// Of the node that is being converted: how many values of the file its constant operands have, on which a constant
    /// result depends.
    n_stored: u64,
}

/// The network of a graph. Much less memory is needed once the graph is freed than beside it.
pub(super) fn convert(
    graph: &Graph,
    dimensions: &Dimensions,
    file_bytes: usize,
) -> Result<Converted, ParseError> {
    let mut converter = Converter::new(graph, dimensions, file_bytes);
    converter.define_initializers()?;
    let inputs = converter.define_inputs()?;
    let patterns = Patterns::new(Reads {
        graph,
        values: &converter.names.values,
        uses: &converter.names.uses,
        readers: &converter.names.readers,
    });
    converter.names.readers = HashMap::new();
    converter.run(&patterns, 0..graph.nodes.len())?;
    converter.finish(inputs, file_bytes)
}

/// Where a node is, for messages.
fn place(node: &Node, node_idx: usize) -> String {
    format!("node {node_idx} ({})", shown(node.text.op_type))
}

/// Nodes whose first input is an image.
const ON_IMAGES: &[&str] = &[
    "Conv",
    "ConvTranspose",
    "MaxPool",
    "AveragePool",
    "GlobalAveragePool",
    "GlobalMaxPool",
    "BatchNormalization",
    "InstanceNormalization",
    "Resize",
    "Upsample",
    "DepthToSpace",
    "SpaceToDepth",
    "QLinearConv",
    "ConvInteger",
    "LRN",
];

/// Nodes whose results are images if their inputs are.
const KEEPING_IMAGES: &[&str] = &[
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Relu",
    "Clip",
    "Cast",
    "Pad",
    "Identity",
    "QuantizeLinear",
    "DequantizeLinear",
    "DynamicQuantizeLinear",
    "Sigmoid",
    "LeakyRelu",
    "PRelu",
    "Concat",
    "Slice",
    "Split",
    "Gather",
    "Unsqueeze",
];

impl<'a> Converter<'a> {
    fn new(graph: &'a Graph<'a>, dimensions: &'a Dimensions<'a>, file_bytes: usize) -> Self {
        let max_operators = max_operators(file_bytes).min(MAX_OPERATORS);
        Self {
            graph,
            dimensions,
            names: Names::new(graph, Self::further_uses(graph)),
            limits: Limits::new(file_bytes, max_operators),
            branches: Branches::new(graph),
            loops: Loops {
                running: Vec::new(),
                iteration_bytes: Self::bytes_by_loop(graph),
                paid_bytes: 0,
                partly_counted: Vec::new(),
            },
            network: OnnxNetwork::with_capacity(graph.nodes.len().min(max_operators)),
            shapeless: Vec::new(),
            sized_by_values: Vec::new(),
            n_stored: 0,
        }
    }

    /// Converts the nodes in this part of [`Graph::nodes`] that count.
    fn run(&mut self, patterns: &Patterns<'a>, nodes: Range<usize>) -> Result<(), ParseError> {
        let graph = self.graph;
        let numbered = graph.nodes.iter().enumerate();
        for (node_idx, node) in numbered.take(nodes.end).skip(nodes.start) {
            if patterns.is_part(node_idx) || !self.is_counted(node.body)? {
                continue;
            }
            self.check_outputs(node, node_idx)?;
            match (patterns.pattern_at(node_idx), node.bodies) {
                (Some(whole), _) => self.define_pattern(node, whole),
                (None, Some(Bodies::Branches(branch_idx))) => {
                    self.define_branch_results(node, branch_idx)?
                }
                (None, Some(Bodies::Loop(loop_idx))) => {
                    self.check_inputs(node, node_idx)?;
                    self.repeat(patterns, node, loop_idx)?;
                }
                (None, None) => {
                    self.check_inputs(node, node_idx)?;
                    self.node(node);
                }
            }
            self.define_other_outputs(node);
            if !self.loops.running.is_empty() {
                self.spend_added_bytes();
            }
            self.limits.check(|| place(node, node_idx))?;
        }
        Ok(())
    }

    fn define_initializers(&mut self) -> Result<(), ParseError> {
        let graph = self.graph;
        for (idx, tensor) in graph.initializers.iter().enumerate() {
            self.define_initializer(*tensor, || format!("initializer {idx}"))?;
        }
        Ok(())
    }

    fn define_initializer(
        &mut self,
        tensor: Tensor<'a>,
        place: impl Fn() -> String,
    ) -> Result<(), ParseError> {
        let rank = tensor.rank();
        if rank > MAX_RANK {
            return Err(ParseError::too_many_dimensions(place(), rank));
        }
        let value =
            self.constant_value(tensor.name, tensor)
                .ok_or_else(|| ParseError::ShapeOverflow {
                    place: place(),
                    shape: format!("{:?}", tensor.dims().unwrap_or_default()),
                })?;
        if let Some(problem) = tensor.wrong_length() {
            return Err(ParseError::Malformed {
                place: place(),
                problem,
            });
        }
        match self.names.values.insert(tensor.name, value) {
            None => Ok(()),
            Some(_) => Err(ParseError::DuplicateValue {
                place: place(),
                name: shown(&tensor.name),
            }),
        }
    }

    /// A tensor of the file as a constant.
    fn constant_value(&mut self, name: Name<'a>, tensor: Tensor<'a>) -> Option<Value<'a>> {
        let shape = tensor.dims()?;
        let n = product(&shape).filter(|_| shape.iter().all(|&side| side >= 0))?;
        let n = usize::try_from(n).ok()?;
        let known = if is_short(&shape) {
            let integers = tensor.integers(n).map(Known::Integers);
            integers.or_else(|| tensor.floats(n).map(Known::Floats))
        } else {
            None
        };
        Some(Value {
            name,
            tensor_type: tensor_type(tensor.data_type),
            place: Place::Constant(Constant {
                known: (known.filter(|known| self.limits.spend_known(known.len()))).map(Arc::new),
                source: Some(Arc::new(tensor)),
                n_stored: u64::try_from(n).unwrap_or(u64::MAX),
                stored: None,
            }),
            shape: Some(shape),
        })
    }

    /// Spends the bytes of what was added since it was called last.
    fn spend_added_bytes(&mut self) {
        let n_bytes = self.network.builder.n_bytes();
        self.limits
            .spend_bytes(n_bytes.saturating_sub(self.loops.paid_bytes));
        self.loops.paid_bytes = n_bytes;
    }

    /// Adds what replaces several nodes, the last of which is `node`, or each of them where their shapes do not fit.
    fn define_pattern(&mut self, node: &'a Node<'a>, whole: &Whole<'a>) {
        if self.whole(node, whole).is_none() {
            let graph = self.graph;
            for part in whole.parts.iter().filter_map(|&idx| graph.nodes.get(idx)) {
                self.node(part);
            }
            self.node(node);
        }
    }

    fn whole(&mut self, node: &'a Node<'a>, whole: &Whole<'a>) -> Option<()> {
        let (x, output) = (
            self.names.values.get(&whole.x).cloned()?,
            self.output(node)?,
        );
        let graph = self.graph;
        match whole.kind {
            Kind::Gelu => {
                let options = BuiltinOptions::Gelu { approximate: false };
                self.unary(OpKind::Gelu, &x, output, options)
            }
            Kind::HardSwish => self.unary(OpKind::HardSwish, &x, output, BuiltinOptions::Absent),
            Kind::Normalisation { means, is_centred } => {
                let axes = means.map(|idx| self.reduced_axes(graph.nodes.get(idx)?, x.rank()?));
                let [Some(axes), Some(same)] = axes else {
                    return None;
                };
                (axes == same).then_some(())?;
                self.normalized(&x, &axes, is_centred, [None, None], 0, output)
            }
            Kind::OfGroups(norm) => {
                let norm = graph.nodes.get(norm)?;
                let reshaped = whole.parts.first().and_then(|&idx| graph.nodes.get(idx))?;
                self.reshaped_groups([reshaped, norm, node], &x, output)
            }
        }
    }

    fn define_inputs(&mut self) -> Result<Vec<usize>, ParseError> {
        let graph = self.graph;
        let mut inputs = Vec::new();
        let mut unknown: Vec<String> = Vec::new();
        let first = graph.inputs.iter().filter_map(first_name);
        let first: HashSet<&str> = first.collect();
        for (position, input) in graph.inputs.iter().enumerate() {
            // Older files list their initializers as inputs too.
            if self.names.values.contains_key(&input.name) {
                continue;
            }
            let invalid = |found: &str| ParseError::InvalidInput {
                input: shown(&input.name),
                found: found.into(),
            };
            let shape = input.shape.as_ref().ok_or_else(|| invalid("no shape"))?;
            let sizes = shape.iter().enumerate().map(|(axis, dimension)| {
                let is_batch =
                    |name: Option<&str>| axis == 0 || name.is_some_and(|name| first.contains(name));
                let size =
                    (self.dimensions).size(&input.name, Some(position), axis, *dimension, is_batch);
                size.unwrap_or_else(|| {
                    let name = Dimensions::wanted(&input.name, axis, *dimension);
                    if unknown.len() < 20 && !unknown.contains(&name) {
                        unknown.push(name);
                    }
                    1
                })
            });
            let sizes: Vec<i64> = sizes.collect();
            let perm = if self.is_image(input.name, sizes.len()) {
                channels_last(sizes.len())
            } else {
                identity(sizes.len())
            };
            // Each takes the memory of an operator.
            self.limits.spend_operator(1);
            self.limits.check(|| format!("input {position}"))?;
            let of_type = tensor_type(input.data_type);
            let Some(tensor_idx) = self.tensor(&input.name, of_type, &sizes, &perm) else {
                return Err(ParseError::ShapeOverflow {
                    place: format!("input `{}`", shown(&input.name)),
                    shape: format!("{sizes:?}"),
                });
            };
            self.define(input.name, of_type, sizes, tensor_idx, perm);
            inputs.push(tensor_idx);
        }
        if unknown.is_empty() {
            Ok(inputs)
        } else {
            Err(ParseError::UnknownDimension {
                names: unknown,
                unmatched: self.unmatched_dimensions(),
            })
        }
    }

    fn unmatched_dimensions(&self) -> Option<UnmatchedDimensions> {
        let graph = self.graph;
        let described = graph.value_infos.iter().chain(&graph.outputs);
        self.dimensions.unmatched(&graph.inputs, described)
    }

    /// Whether an input reaches an operator on images before anything that depends on its order.
    fn is_image(&mut self, input: Name<'a>, rank: usize) -> bool {
        if !(3..=5).contains(&rank) {
            return false;
        }
        let own = identity(rank);
        // Names, and which of the input's dimensions each of theirs is.
        let mut pending = vec![(input, own.clone())];
        let mut visited: HashSet<usize> = HashSet::new();
        while let Some((name, order)) = pending.pop() {
            for &node_idx in self.names.readers.get(&name).into_iter().flatten() {
                let Some(node) = self.graph.nodes.get(node_idx) else {
                    continue;
                };
                // A node may read several of the names, or one several times.
                let is_new = visited.insert(node_idx);
                let results: &[Name] = if is_new { &node.outputs } else { &[] };
                let n_looked_at = results.len().saturating_add(1);
                if !self.limits.spend_layout_search(n_looked_at) {
                    return false;
                }
                let turned: Option<Perm> = match node.text.op_type {
                    op_type if ON_IMAGES.contains(&op_type) && order == own => return true,
                    op_type if KEEPING_IMAGES.contains(&op_type) => Some(order.clone()),
                    "Transpose" if is_new => node.integers("perm").and_then(|perm| {
                        let at = perm.iter().map(|&at| order.get(usize::try_from(at).ok()?));
                        at.map(Option::<&usize>::copied).collect()
                    }),
                    _ => None,
                };
                if let Some(order) = turned.filter(|order| order.len() == rank) {
                    pending.extend(results.iter().map(|&result| (result, order.clone())));
                }
            }
        }
        false
    }

    fn check_inputs(&self, node: &Node, node_idx: usize) -> Result<(), ParseError> {
        let is_missing = |name: &&Name| !name.is_empty() && !self.names.values.contains_key(*name);
        match node.inputs.iter().find(is_missing) {
            None => Ok(()),
            Some(name) => Err(ParseError::UndefinedValue {
                place: place(node, node_idx),
                name: shown(name),
            }),
        }
    }

    fn check_outputs(&self, node: &Node, node_idx: usize) -> Result<(), ParseError> {
        let is_known = |name: &&Name| !name.is_empty() && self.names.values.contains_key(*name);
        match node.outputs.iter().find(is_known) {
            None => Ok(()),
            Some(name) => Err(ParseError::DuplicateValue {
                place: place(node, node_idx),
                name: shown(name),
            }),
        }
    }

    /// Defines the further results that TFLite's operators do not have: masks, indices, statistics for training.
    fn define_other_outputs(&mut self, node: &'a Node<'a>) {
        for &name in &node.outputs {
            if name.is_empty() || self.names.values.contains_key(&name) {
                continue;
            }
            let value = Value {
                name,
                tensor_type: TensorType::Float32,
                shape: None,
                place: Place::Constant(Constant::default()),
            };
            self.names.values.insert(name, value);
        }
    }

    /// Converts one node. It keeps its ONNX name if TFLite has no counterpart, or if its operands contradict each
    /// other. Where sizes are the largest possible ones, their contradictions say nothing about the file.
    fn node(&mut self, node: &'a Node<'a>) {
        self.n_stored = self.stored_operands(node);
        let is_sure = self.sized_by_values.is_empty();
        if let Some(why) = self.contradiction(node).filter(|_| is_sure) {
            self.unknown_operator(node, Some(why));
        } else if self.fold(node).is_none() && self.known_operator(node).is_none() {
            let is_refused = is_sure && self.is_refused(node);
            self.unknown_operator(node, is_refused.then_some(NO_SHAPE));
        }
        let guessed = &mut self.names.of_guessed_type;
        if node.inputs.iter().any(|name| guessed.contains(name)) {
            guessed.extend(&node.outputs);
        }
    }

    /// How many values of the file a constant result of a node depends on. Integers beside other numbers are shapes,
    /// paddings or indices, which tell what becomes of those.
    fn stored_operands(&self, node: &Node<'a>) -> u64 {
        match node.text.op_type {
            "Constant" => u64::MAX,
            "ConstantOfShape" | "EyeLike" | "Range" | "Shape" | "Size" => 0,
            _ => {
                let values = node
                    .inputs
                    .iter()
                    .filter_map(|name| self.names.values.get(name));
                let is_number = |value: &&Value| value.tensor_type != TensorType::Int64;
                let has_numbers = values.clone().any(|value| is_number(&value));
                let values = values.filter(|value| !has_numbers || is_number(value));
                let constants = values.filter_map(Value::constant);
                let counts = constants.map(|constant| constant.n_stored);
                counts.fold(0, u64::saturating_add)
            }
        }
    }

    fn known_operator(&mut self, node: &'a Node<'a>) -> Option<()> {
        match node.text.domain {
            "" | "ai.onnx" => {}
            contrib::DOMAIN => {
                return (self.quantized(node))
                    .or_else(|| self.packed_product(node))
                    .or_else(|| self.attention_of_operators(node));
            }
            _ => return None,
        }
        self.arithmetic(node)
            .or_else(|| self.convolution(node))
            .or_else(|| self.matrix(node))
            .or_else(|| self.layout(node))
            .or_else(|| self.sequence(node))
            .or_else(|| self.normalization(node))
            .or_else(|| self.quantized(node))
    }

    // Called at some hundred places: a copy at each of them would make the browser's module larger.
    #[inline(never)]
    fn input(&self, node: &Node<'a>, position: usize) -> Option<Value<'a>> {
        let name = node.inputs.get(position).filter(|name| !name.is_empty())?;
        self.names.values.get(name).cloned()
    }

    /// An input that has a shape.
    fn input_with_shape(&self, node: &Node<'a>, position: usize) -> Option<(Value<'a>, Vec<i64>)> {
        let value = self.input(node, position)?;
        let shape = value.shape.clone()?;
        Some((value, shape))
    }

    /// Shape of an input.
    fn shape(&self, node: &Node<'a>, position: usize) -> Option<&[i64]> {
        let name = node.inputs.get(position)?;
        self.names.values.get(name)?.shape.as_deref()
    }

    /// Integers of a constant input.
    #[inline(never)]
    fn integers_of(&self, node: &Node<'a>, position: usize) -> Option<Vec<i64>> {
        self.names
            .values
            .get(node.inputs.get(position)?)?
            .integers()
    }

    /// The only value of a constant input, without a fraction.
    #[inline(never)]
    fn whole_number_of(&self, node: &Node<'a>, position: usize) -> Option<i64> {
        let value = self.names.values.get(node.inputs.get(position)?)?;
        value.number().and_then(exact_integer)
    }

    /// Integers of an attribute or, in later opsets, of a constant input.
    fn list(&self, node: &Node<'a>, attribute: &str, position: usize) -> Option<Vec<i64>> {
        node.integers(attribute)
            .or_else(|| self.integers_of(node, position))
    }

    /// [`Self::list`] for an optional list: `Some(None)` if it is left out, `None` if it is known only at inference.
    fn optional_list(
        &self,
        node: &Node<'a>,
        attribute: &str,
        position: usize,
    ) -> Option<Option<Vec<i64>>> {
        let is_given = node
            .inputs
            .get(position)
            .is_some_and(|name| !name.is_empty());
        match self.list(node, attribute, position) {
            None if is_given => None,
            list => Some(list),
        }
    }

    /// Axes of an attribute or an input, all of them by default; `None` if they are known only at inference.
    fn axes_of(&self, node: &Node<'a>, position: usize, rank: usize) -> Option<Vec<usize>> {
        match self.optional_list(node, "axes", position)? {
            Some(named) => axes(&named, rank),
            None => Some((0..rank).collect()),
        }
    }

    /// Axes of a reduction, for which an empty list means all of them or, with `noop_with_empty_axes`, none.
    fn reduced_axes(&self, node: &Node<'a>, rank: usize) -> Option<Vec<usize>> {
        let named = self.optional_list(node, "axes", 1)?;
        match named.filter(|named| !named.is_empty()) {
            Some(named) => axes(&named, rank),
            None if node.integer("noop_with_empty_axes") == Some(1) => Some(Vec::new()),
            None => Some((0..rank).collect()),
        }
    }

    fn output(&self, node: &Node<'a>) -> Option<Name<'a>> {
        node.outputs
            .first()
            .copied()
            .filter(|name| !name.is_empty())
    }
}

/// The name of an input's first dimension, if it has one.
fn first_name<'a>(input: &ValueInfo<'a>) -> Option<&'a str> {
    match input.shape.as_ref()?.first()? {
        Dimension::Named(name) => Some(*name),
        _ => None,
    }
}
