//! An ONNX graph → the same network in TFLite's operators, as the usual converters make it: images with
//! channels last, batch normalisation folded into convolutions, activations fused, weights transposed.
//!
//! Transposes are not carried out where they stand: each value remembers in which order its dimensions lie,
//! axes are renamed, and a `TRANSPOSE` is added only where an operator needs another order.

mod arithmetic;
mod convolutions;
mod fold;
mod layouts;
mod matrices;
mod normalizations;
mod patterns;
mod quantization;
mod unknown;
mod value;
mod weights;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use self::patterns::Patterns;
use self::value::{
    Constant, Known, Perm, Place, Value, channels_last, identity, product, same_order, stored,
};
use super::Dimensions;
use super::error::ParseError;
use super::limits::*;
use super::proto::{Graph, Node, Tensor, ValueInfo, tensor_type};
use crate::diagnostic::{Diagnostic, Severity};
use crate::formats::builder::{self, Builder};
use crate::formats::distribution::{self, DEFAULT_ENTROPY_BITS, DEFAULT_ZERO_SHARE};
use crate::formats::shown;
use crate::formats::tflite::{Activation, BuiltinOptions, Format, Model, OpKind, TensorType};

/// The conversion in the making. Handlers of operators return `None` where they cannot tell a shape or have no
/// counterpart in TFLite; the node then becomes an operator of its own name.
struct Converter<'a> {
    graph: &'a Graph<'a>,
    dimensions: &'a Dimensions<'a>,
    builder: Builder<'static>,
    values: HashMap<&'a str, Value<'a>>,
    /// How often each name is read, the graph's outputs included.
    uses: HashMap<&'a str, usize>,
    /// Nodes that read a name, and the node that writes it.
    readers: HashMap<&'a str, Vec<usize>>,
    /// By tensor: how often its values are still read.
    reads: HashMap<usize, usize>,
    /// By tensor: the operator that writes it.
    writers: HashMap<usize, usize>,
    /// Tensors in another order than they were computed in.
    arranged: HashMap<(usize, Perm), usize>,
    /// Tensors of constants by name and stored shape.
    constants: HashMap<(&'a str, Vec<i32>), usize>,
    default_counts: Arc<[u64; 256]>,
    counts: HashMap<&'a str, Arc<[u64; 256]>>,
    layout_search_left: usize,
    known_left: usize,
    counted_bytes_left: usize,
    described: HashMap<&'a str, &'a ValueInfo<'a>>,
    /// Nodes without a shape.
    shapeless: Vec<&'a str>,
}

/// The network of a graph.
pub(super) fn convert(
    graph: &Graph,
    dimensions: &Dimensions,
    file_bytes: usize,
) -> Result<Model<'static>, ParseError> {
    let mut converter = Converter::new(graph, dimensions);
    converter.define_initializers()?;
    let inputs = converter.define_inputs()?;
    let patterns = Patterns::of(&converter);
    for (node_idx, node) in graph.nodes.iter().enumerate() {
        if patterns.is_part(node_idx) {
            continue;
        }
        converter.check_outputs(node, node_idx)?;
        match patterns.whole(node_idx) {
            Some((kind, value)) => converter.pattern(node, kind, value),
            None => {
                converter.check_inputs(node, node_idx)?;
                converter.node(node);
            }
        }
        converter.define_other_outputs(node);
        if converter.builder.operators.len() > MAX_OPERATORS {
            return Err(ParseError::LimitExceeded {
                place: "graph".into(),
                what: "operators after the conversion",
                limit: MAX_OPERATORS,
                found: "more".into(),
            });
        }
    }
    converter.finish(inputs, file_bytes)
}

/// Where a node is, for messages.
fn place(node: &Node, node_idx: usize) -> String {
    format!("node {node_idx} ({})", shown(node.text.op_type))
}

impl<'a> Converter<'a> {
    fn new(graph: &'a Graph<'a>, dimensions: &'a Dimensions<'a>) -> Self {
        let mut uses: HashMap<&str, usize> = HashMap::new();
        let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
        for (node_idx, node) in graph.nodes.iter().enumerate() {
            for &name in &node.inputs {
                let n = uses.entry(name).or_default();
                *n = n.saturating_add(1);
                readers.entry(name).or_default().push(node_idx);
            }
        }
        for output in &graph.outputs {
            let n = uses.entry(output.name).or_default();
            *n = n.saturating_add(1);
        }
        Self {
            graph,
            dimensions,
            builder: Builder::new(),
            values: HashMap::new(),
            uses,
            readers,
            reads: HashMap::new(),
            writers: HashMap::new(),
            arranged: HashMap::new(),
            constants: HashMap::new(),
            default_counts: distribution::counts(DEFAULT_ZERO_SHARE, DEFAULT_ENTROPY_BITS),
            counts: HashMap::new(),
            layout_search_left: MAX_LAYOUT_SEARCH,
            known_left: MAX_KNOWN_TOTAL,
            counted_bytes_left: MAX_COUNTED_BYTES,
            described: graph
                .value_infos
                .iter()
                .chain(&graph.outputs)
                .map(|info| (info.name, info))
                .collect(),
            shapeless: Vec::new(),
        }
    }

    fn define_initializers(&mut self) -> Result<(), ParseError> {
        let graph = self.graph;
        for (idx, tensor) in graph.initializers.iter().enumerate() {
            let place = || format!("initializer {idx}");
            let value = self.constant_value(tensor.name, *tensor).ok_or_else(|| {
                ParseError::ShapeOverflow {
                    place: place(),
                    shape: format!("{:?}", tensor.dims()),
                }
            })?;
            if self.values.insert(tensor.name, value).is_some() {
                return Err(ParseError::DuplicateValue {
                    place: place(),
                    name: shown(tensor.name),
                });
            }
        }
        Ok(())
    }

    /// A tensor of the file as a constant.
    fn constant_value(&mut self, name: &'a str, tensor: Tensor<'a>) -> Option<Value<'a>> {
        let shape = tensor.dims()?;
        let n = product(&shape).filter(|_| shape.iter().all(|&side| side >= 0))?;
        let n = usize::try_from(n).ok()?;
        let known = match n <= MAX_KNOWN_VALUES {
            true => {
                let integers = tensor.integers(n).map(Known::Integers);
                integers.or_else(|| tensor.floats(n).map(Known::Floats))
            }
            false => None,
        };
        Some(Value {
            name,
            tensor_type: tensor_type(tensor.data_type),
            place: Place::Constant(Constant {
                known: known.filter(|known| self.spend_known(known.len())),
                source: Some(tensor),
                stored: None,
            }),
            shape: Some(shape),
        })
    }

    /// Whether there is room for so many more known values.
    fn spend_known(&mut self, n: usize) -> bool {
        match self.known_left.checked_sub(n) {
            Some(left) => {
                self.known_left = left;
                n <= MAX_KNOWN_VALUES
            }
            None => false,
        }
    }

    fn define_inputs(&mut self) -> Result<Vec<usize>, ParseError> {
        let graph = self.graph;
        let mut inputs = Vec::new();
        let mut unknown: Vec<String> = Vec::new();
        for input in &graph.inputs {
            // Older files list their initializers as inputs too.
            if self.values.contains_key(input.name) {
                continue;
            }
            let invalid = |found: &str| ParseError::InvalidInput {
                input: shown(input.name),
                found: found.into(),
            };
            let shape = input.shape.as_ref().ok_or_else(|| invalid("no shape"))?;
            let sizes = shape.iter().enumerate().map(|(axis, dimension)| {
                let size = self.dimensions.size(input.name, axis, *dimension);
                size.map_err(|name| {
                    if !unknown.contains(&name) && unknown.len() < 20 {
                        unknown.push(name);
                    }
                    1
                })
                .unwrap_or_else(|one| one)
            });
            let sizes: Vec<i64> = sizes.collect();
            let perm = match self.is_image(input.name, sizes.len()) {
                true => channels_last(sizes.len()),
                false => identity(sizes.len()),
            };
            let of_type = tensor_type(input.data_type);
            let Some(tensor_idx) = self.tensor(input.name, of_type, &sizes, &perm) else {
                return Err(ParseError::ShapeOverflow {
                    place: format!("input `{}`", shown(input.name)),
                    shape: format!("{sizes:?}"),
                });
            };
            self.define(input.name, of_type, sizes, tensor_idx, perm);
            inputs.push(tensor_idx);
        }
        match unknown.is_empty() {
            true => Ok(inputs),
            false => Err(ParseError::UnknownDimension { names: unknown }),
        }
    }

    /// Whether an input reaches an operator on images before anything that depends on its order.
    fn is_image(&mut self, input: &'a str, rank: usize) -> bool {
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
        const ELEMENTWISE: &[&str] = &[
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
            "Sigmoid",
            "LeakyRelu",
            "PRelu",
            "Concat",
            "Slice",
            "Split",
            "Gather",
            "Unsqueeze",
        ];
        if !(3..=5).contains(&rank) {
            return false;
        }
        let mut pending = vec![input];
        while let Some(name) = pending.pop() {
            for &node_idx in self.readers.get(name).into_iter().flatten() {
                let Some(node) = self.graph.nodes.get(node_idx) else {
                    continue;
                };
                self.layout_search_left = match self.layout_search_left.checked_sub(1) {
                    Some(left) => left,
                    None => return false,
                };
                if ON_IMAGES.contains(&node.text.op_type) {
                    return true;
                }
                if ELEMENTWISE.contains(&node.text.op_type) {
                    pending.extend(&node.outputs);
                }
            }
        }
        false
    }

    fn check_inputs(&self, node: &Node, node_idx: usize) -> Result<(), ParseError> {
        let is_missing = |name: &&&str| !name.is_empty() && !self.values.contains_key(**name);
        match node.inputs.iter().find(is_missing) {
            None => Ok(()),
            Some(name) => Err(ParseError::UndefinedValue {
                place: place(node, node_idx),
                name: shown(name),
            }),
        }
    }

    fn check_outputs(&self, node: &Node, node_idx: usize) -> Result<(), ParseError> {
        let is_known = |name: &&&str| !name.is_empty() && self.values.contains_key(**name);
        match node.outputs.iter().find(is_known) {
            None => Ok(()),
            Some(name) => Err(ParseError::DuplicateValue {
                place: place(node, node_idx),
                name: shown(name),
            }),
        }
    }

    /// Results beside the first that TFLite's operators do not have: masks, indices, statistics for training.
    fn define_other_outputs(&mut self, node: &'a Node<'a>) {
        for &name in &node.outputs {
            if name.is_empty() || self.values.contains_key(name) {
                continue;
            }
            let value = Value {
                name,
                tensor_type: TensorType::Float32,
                shape: None,
                place: Place::Constant(Constant::default()),
            };
            self.values.insert(name, value);
        }
    }

    /// Converts one node, as an operator of its own name where TFLite has none.
    fn node(&mut self, node: &'a Node<'a>) {
        if self.fold(node).is_none() && self.known_operator(node).is_none() {
            self.unknown_operator(node);
        }
    }

    fn known_operator(&mut self, node: &'a Node<'a>) -> Option<()> {
        match node.text.domain {
            "" | "ai.onnx" => {}
            "com.microsoft" => return self.quantized(node),
            _ => return None,
        }
        self.arithmetic(node)
            .or_else(|| self.convolution(node))
            .or_else(|| self.matrix(node))
            .or_else(|| self.layout(node))
            .or_else(|| self.normalization(node))
            .or_else(|| self.quantized(node))
    }

    /// Adds a tensor of this shape in ONNX's order: its index, or none where the shape has no size.
    fn tensor(
        &mut self,
        name: &str,
        of_type: TensorType,
        shape: &[i64],
        perm: &[usize],
    ) -> Option<usize> {
        let sides = stored_sides(shape, perm)?;
        Some(self.builder.tensor(name, of_type, sides))
    }

    fn define(
        &mut self,
        name: &'a str,
        of_type: TensorType,
        shape: Vec<i64>,
        tensor_idx: usize,
        perm: Perm,
    ) {
        let n_uses = self.uses.get(name).copied().unwrap_or(0);
        let reads = self.reads.entry(tensor_idx).or_default();
        *reads = reads.saturating_add(n_uses);
        let place = Place::Tensor { tensor_idx, perm };
        self.values.insert(
            name,
            Value {
                name,
                tensor_type: of_type,
                shape: Some(shape),
                place,
            },
        );
    }

    /// Another name, type or shape for the tensor that a node reads once here.
    fn alias(
        &mut self,
        output: &'a str,
        of: &Value<'a>,
        shape: Vec<i64>,
        perm: Perm,
    ) -> Option<()> {
        match &of.place {
            Place::Tensor { tensor_idx, .. } => {
                if let Some(reads) = self.reads.get_mut(tensor_idx) {
                    *reads = reads.saturating_sub(1);
                }
                self.define(output, of.tensor_type, shape, *tensor_idx, perm);
            }
            Place::Constant(constant) => {
                let value = Value {
                    name: output,
                    shape: Some(shape),
                    place: Place::Constant(constant.clone()),
                    ..of.clone()
                };
                self.values.insert(output, value);
            }
        }
        Some(())
    }

    fn constant(
        &mut self,
        output: &'a str,
        of_type: TensorType,
        shape: Vec<i64>,
        known: Option<Known>,
    ) -> Option<()> {
        let known = known.filter(|known| self.spend_known(known.len()));
        let value = Value {
            name: output,
            tensor_type: of_type,
            shape: Some(shape),
            place: Place::Constant(Constant {
                known,
                ..Constant::default()
            }),
        };
        self.values.insert(output, value);
        Some(())
    }

    fn input(&self, node: &Node<'a>, position: usize) -> Option<Value<'a>> {
        let name = node.inputs.get(position).filter(|name| !name.is_empty())?;
        self.values.get(name).cloned()
    }

    /// An input that has a shape.
    fn shaped(&self, node: &Node<'a>, position: usize) -> Option<(Value<'a>, Vec<i64>)> {
        let value = self.input(node, position)?;
        let shape = value.shape.clone()?;
        Some((value, shape))
    }

    /// Integers of an attribute or, in later opsets, of a constant input.
    fn list(&self, node: &Node<'a>, attribute: &str, position: usize) -> Option<Vec<i64>> {
        node.integers(attribute)
            .or_else(|| self.input(node, position)?.integers())
    }

    fn output(&self, node: &Node<'a>) -> Option<&'a str> {
        node.outputs
            .first()
            .copied()
            .filter(|name| !name.is_empty())
    }

    /// Adds an operator with one output: the output's tensor. An operator on constants alone becomes one.
    #[allow(clippy::too_many_arguments)]
    fn operator(
        &mut self,
        kind: OpKind,
        inputs: Vec<Option<usize>>,
        output: &'a str,
        of_type: TensorType,
        shape: Vec<i64>,
        perm: Perm,
        options: BuiltinOptions,
    ) -> Option<()> {
        let tensor_idx =
            self.intermediate(kind, inputs, output, of_type, &shape, &perm, options)?;
        if self.is_constant_tensor(tensor_idx) {
            return self.constant(output, of_type, shape, None);
        }
        self.define(output, of_type, shape, tensor_idx, perm);
        Some(())
    }

    /// The same for a tensor that no name of ONNX stands for. Its values are read once.
    #[allow(clippy::too_many_arguments)]
    fn intermediate(
        &mut self,
        kind: OpKind,
        inputs: Vec<Option<usize>>,
        name: &str,
        of_type: TensorType,
        shape: &[i64],
        perm: &[usize],
        options: BuiltinOptions,
    ) -> Option<usize> {
        let tensor_idx = self.tensor(name, of_type, shape, perm)?;
        let is_constant = !inputs.is_empty()
            && inputs
                .iter()
                .flatten()
                .all(|&input| self.is_constant_tensor(input));
        if is_constant {
            self.describe(tensor_idx);
            return Some(tensor_idx);
        }
        let operator_idx = self
            .builder
            .operator(kind, inputs, vec![tensor_idx], options);
        self.writers.insert(tensor_idx, operator_idx);
        Some(tensor_idx)
    }

    /// Makes a tensor a constant of the default distribution.
    fn describe(&mut self, tensor_idx: usize) {
        if let Some(tensor) = self.builder.tensors.get(tensor_idx) {
            let buffer = builder::described(tensor, &self.default_counts);
            self.builder.set_buffer(tensor_idx, buffer);
        }
    }

    fn is_constant_tensor(&self, tensor_idx: usize) -> bool {
        !self.builder.buffer(tensor_idx).is_empty()
    }

    /// The tensor of a value with its dimensions in this order, by an operator where they are in another.
    fn arranged(&mut self, value: &Value<'a>, perm: &[usize]) -> Option<usize> {
        let shape = value.shape.as_ref()?;
        let (tensor_idx, own) = match &value.place {
            Place::Tensor { tensor_idx, perm } => (*tensor_idx, perm),
            Place::Constant(_) => return self.constant_tensor(value, &stored(shape, perm)?),
        };
        if own == perm {
            return Some(tensor_idx);
        }
        let key = (tensor_idx, perm.to_vec());
        if let Some(&known) = self.arranged.get(&key) {
            return Some(known);
        }
        let of_type = self.builder.tensors.get(tensor_idx)?.tensor_type;
        let order = perm.iter().map(|axis| value::stored_axis(*axis, own));
        let order: Vec<i32> = order.collect::<Option<_>>()?;
        let name = format!("{}/transposed", shown(value.name));
        let arranged = match same_order(shape, own, perm) {
            true => self.reshape_of(tensor_idx, &name, of_type, &stored(shape, perm)?)?,
            false => {
                let order = self.integers("perm", &order);
                let inputs = vec![Some(tensor_idx), Some(order)];
                self.intermediate(
                    OpKind::Transpose,
                    inputs,
                    &name,
                    of_type,
                    shape,
                    perm,
                    BuiltinOptions::Absent,
                )?
            }
        };
        self.copy_quantization(tensor_idx, arranged);
        self.arranged.insert(key, arranged);
        Some(arranged)
    }

    /// A `RESHAPE` of a tensor to a stored shape.
    fn reshape_of(
        &mut self,
        tensor_idx: usize,
        name: &str,
        of_type: TensorType,
        to: &[i64],
    ) -> Option<usize> {
        let sides = stored_sides(to, &identity(to.len()))?;
        // Of one reshape after another, the first is not needed.
        let tensor_idx = self.before_reshape(tensor_idx).unwrap_or(tensor_idx);
        if self.builder.tensors.get(tensor_idx)?.shape == sides {
            return Some(tensor_idx);
        }
        let shape = self.integers("shape", &sides);
        let options = BuiltinOptions::Reshape { new_shape: sides };
        let inputs = vec![Some(tensor_idx), Some(shape)];
        let reshaped = self.intermediate(
            OpKind::Reshape,
            inputs,
            name,
            of_type,
            to,
            &identity(to.len()),
            options,
        )?;
        self.copy_quantization(tensor_idx, reshaped);
        Some(reshaped)
    }

    /// What the `RESHAPE` read that wrote a tensor.
    fn before_reshape(&self, tensor_idx: usize) -> Option<usize> {
        let operator = self
            .builder
            .operators
            .get(*self.writers.get(&tensor_idx)?)?;
        let is_reshape = operator.code.kind == OpKind::Reshape;
        is_reshape.then(|| operator.inputs.first().copied().flatten())?
    }

    /// Operators that only move values keep their scale.
    fn copy_quantization(&mut self, from: usize, to: usize) {
        let quantization = self
            .builder
            .tensors
            .get(from)
            .and_then(|tensor| tensor.quantization.clone());
        if let (Some(quantization), Some(tensor)) = (quantization, self.builder.tensors.get_mut(to))
        {
            tensor.quantization = Some(quantization);
        }
    }

    fn integers(&mut self, name: &str, values: &[i32]) -> usize {
        let n = i32::try_from(values.len()).unwrap_or(i32::MAX);
        self.builder.integers(name, vec![n], values)
    }

    /// Values per pair, as paddings have them.
    fn pairs(&mut self, name: &str, values: &[[i32; 2]]) -> usize {
        let n = i32::try_from(values.len()).unwrap_or(i32::MAX);
        self.builder.integers(name, vec![n, 2], &values.concat())
    }

    /// A constant of one number of the type of an operand.
    fn scalar(&mut self, name: &str, of_type: TensorType) -> usize {
        let tensor_idx = self.builder.tensor(name, of_type, Vec::new());
        self.describe(tensor_idx);
        tensor_idx
    }

    /// The tensor of a constant with this stored shape, each once.
    fn constant_tensor(&mut self, value: &Value<'a>, sides: &[i64]) -> Option<usize> {
        let sides = stored_sides(sides, &identity(sides.len()))?;
        let key = (value.name, sides.clone());
        if let Some(&known) = self.constants.get(&key) {
            return Some(known);
        }
        let constant = value.constant()?;
        let (of_type, quantization) = constant.stored.clone().unwrap_or((value.tensor_type, None));
        let integers = match &constant.known {
            Some(Known::Integers(values))
                if matches!(of_type, TensorType::Int64 | TensorType::Int32) =>
            {
                let narrow: Option<Vec<i32>> = values
                    .iter()
                    .map(|&value| i32::try_from(value).ok())
                    .collect();
                narrow.filter(|_| quantization.is_none())
            }
            _ => None,
        };
        let tensor_idx = match integers {
            Some(values) => self.builder.integers(value.name, sides, &values),
            None => {
                let tensor_idx = self.builder.tensor(value.name, of_type, sides);
                let counts = self.counts_of(value);
                let tensor = self.builder.tensors.get_mut(tensor_idx)?;
                if quantization.is_some() {
                    tensor.quantization = quantization;
                }
                let buffer = builder::described(tensor, &counts);
                self.builder.set_buffer(tensor_idx, buffer);
                tensor_idx
            }
        };
        self.constants.insert(key, tensor_idx);
        Some(tensor_idx)
    }

    /// Whether a value is computed, and read by one node alone: what writes it may take that node in.
    fn is_read_once(&self, value: &Value) -> bool {
        let reads = value
            .tensor_idx()
            .and_then(|tensor_idx| self.reads.get(&tensor_idx));
        reads == Some(&1)
    }

    /// The operator that writes a value that is read once.
    fn only_writer(&self, value: &Value) -> Option<usize> {
        let tensor_idx = value.tensor_idx().filter(|_| self.is_read_once(value))?;
        self.writers.get(&tensor_idx).copied()
    }

    /// Fuses an activation into the operator that writes a value, and gives its result the node's name.
    fn fuse(&mut self, value: &Value<'a>, output: &'a str, activation: Activation) -> Option<()> {
        let operator_idx = self.only_writer(value)?;
        let operator = self.builder.operators.get_mut(operator_idx)?;
        let fused =
            activation_of(&mut operator.options).filter(|fused| **fused == Activation::None)?;
        *fused = activation;
        self.rename(value, output)
    }

    /// Gives the result of an operator that took a node in the node's name.
    fn rename(&mut self, value: &Value<'a>, output: &'a str) -> Option<()> {
        let tensor = self.builder.tensors.get_mut(value.tensor_idx()?)?;
        tensor.name = output.to_owned();
        self.alias(output, value, value.shape.clone()?, value.perm()?)
    }

    fn finish(
        mut self,
        inputs: Vec<usize>,
        file_bytes: usize,
    ) -> Result<Model<'static>, ParseError> {
        let graph = self.graph;
        let mut outputs = Vec::new();
        for output in &graph.outputs {
            let Some(value) = self.values.get(output.name).cloned() else {
                return Err(ParseError::UndefinedValue {
                    place: "outputs of the graph".into(),
                    name: shown(output.name),
                });
            };
            let tensor_idx = match value.tensor_idx() {
                Some(tensor_idx) => Some(tensor_idx),
                None => value
                    .shape
                    .clone()
                    .and_then(|shape| self.constant_tensor(&value, &shape)),
            };
            let of_graph = tensor_idx.filter(|tensor_idx| !inputs.contains(tensor_idx));
            if let Some(tensor) = of_graph.and_then(|idx| self.builder.tensors.get_mut(idx)) {
                tensor.name = output.name.to_owned();
            }
            outputs.extend(tensor_idx);
        }
        self.unpack_mixed_operands();
        let diagnostics = self.diagnostics();
        let version = u32::try_from(graph.opset).unwrap_or(0);
        let ends = self.drop_unused([inputs, outputs]);
        Ok(self.builder.model(
            Format::Onnx,
            version,
            file_bytes,
            graph.name.to_owned(),
            ends,
            diagnostics,
        ))
    }

    fn diagnostics(&self) -> Vec<Diagnostic> {
        let diagnostic = |severity, code, message| Diagnostic {
            severity,
            code,
            message,
            operator_idx: None,
        };
        let mut diagnostics = Vec::new();
        if !self.shapeless.is_empty() {
            let mut names: BTreeMap<&str, usize> = BTreeMap::new();
            for name in &self.shapeless {
                let n = names.entry(name).or_default();
                *n = n.saturating_add(1);
            }
            let list = crate::diagnostic::some_of(
                names
                    .iter()
                    .map(|(name, n)| format!("{} ({n})", shown(name))),
                ", ",
            );
            diagnostics.push(diagnostic(
                Severity::Warning,
                "unknown-shape",
                format!(
                    "the file does not tell the results' shapes of {} nodes: {list}",
                    self.shapeless.len()
                ),
            ));
        }
        if self.graph.n_functions > 0 {
            diagnostics.push(diagnostic(
                Severity::Warning,
                "functions",
                format!("{} functions of the file are not looked into: nodes that call them cost nothing", self.graph.n_functions),
            ));
        }
        let assumed = self.dimensions.assumed(&self.graph.inputs);
        if !assumed.is_empty() {
            diagnostics.push(diagnostic(
                Severity::Info,
                "dynamic-batch",
                format!(
                    "the first dimension is open ({}): counted as {}",
                    assumed.join(", "),
                    self.dimensions.batch
                ),
            ));
        }
        diagnostics
    }

    /// Leaves out operators whose results nothing reads, and tensors that no operator has: constants that were
    /// folded.
    fn drop_unused(&mut self, mut ends: [Vec<usize>; 2]) -> [Vec<usize>; 2] {
        let mut is_read = vec![false; self.builder.tensors.len()];
        for &output in ends.iter().skip(1).flatten() {
            if let Some(is_read) = is_read.get_mut(output) {
                *is_read = true;
            }
        }
        let mut kept = Vec::with_capacity(self.builder.operators.len());
        for operator in std::mem::take(&mut self.builder.operators)
            .into_iter()
            .rev()
        {
            if operator
                .outputs
                .iter()
                .any(|&output| is_read.get(output) == Some(&true))
            {
                for input in operator.inputs.iter().flatten() {
                    if let Some(is_read) = is_read.get_mut(*input) {
                        *is_read = true;
                    }
                }
                kept.push(operator);
            }
        }
        kept.reverse();
        self.builder.operators = kept;
        let mut is_used = vec![false; self.builder.tensors.len()];
        let operands = self.builder.operators.iter().flat_map(|operator| {
            let inputs = operator.inputs.iter().flatten();
            inputs.chain(&operator.outputs).copied()
        });
        for tensor_idx in operands.chain(ends.iter().flatten().copied()) {
            if let Some(is_used) = is_used.get_mut(tensor_idx) {
                *is_used = true;
            }
        }
        let mut next = 0usize;
        let new: Vec<usize> = (is_used.iter())
            .map(|&is_used| {
                let idx = next;
                next = next.saturating_add(usize::from(is_used));
                idx
            })
            .collect();
        let renumber =
            |tensor_idx: &mut usize| *tensor_idx = new.get(*tensor_idx).copied().unwrap_or(0);
        for operator in &mut self.builder.operators {
            operator.inputs.iter_mut().flatten().for_each(renumber);
            operator.outputs.iter_mut().for_each(renumber);
        }
        ends.iter_mut().flatten().for_each(renumber);
        let mut is_used = is_used.into_iter();
        self.builder
            .tensors
            .retain(|_| is_used.next().unwrap_or(true));
        ends
    }
}

/// The activation of options that have one.
fn activation_of(options: &mut BuiltinOptions) -> Option<&mut Activation> {
    use BuiltinOptions::*;
    match options {
        Conv2D { activation, .. }
        | Conv3D { activation, .. }
        | DepthwiseConv2D { activation, .. }
        | TransposeConv { activation, .. }
        | Pool2D { activation, .. }
        | FullyConnected { activation, .. }
        | Add { activation }
        | Sub { activation }
        | Mul { activation }
        | Div { activation } => Some(activation),
        _ => None,
    }
}

/// A shape in the order in which it is stored, as a tensor has it; none beyond what one may have.
fn stored_sides(shape: &[i64], perm: &[usize]) -> Option<Vec<i32>> {
    let sides: Vec<i32> = (stored(shape, perm)?.iter())
        .map(|&side| i32::try_from(side).ok().filter(|&side| side >= 0))
        .collect::<Option<_>>()?;
    // The widest type has 128 bits.
    let n_bits = product(shape)?.checked_mul(128)?;
    (sides.len() <= MAX_RANK && n_bits >= 0).then_some(sides)
}
