//! The messages of `onnx.proto` that a network's shape depends on, borrowed from the file. Field numbers are those of
//! `onnx.proto`.

use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

use super::attributes::Attributes;
use super::functions::{Call, Function, Functions, Names};
use super::limits::*;
use super::names::{Name, NameTable, Scopes};
use super::opsets::{ONNX, UnknownOpset, opset_import, unknown};
pub(super) use super::tensors::{Tensor, tensor_type};
use super::tensors::{initializer_name, sparse_tensor, tensor};
use super::wire::{Failure, Field, Fields, Malformed, Read, at, packed_integers};
use crate::formats::shown;

/// `GraphProto` of a file, and the fields of its `ModelProto` that concern it.
#[derive(Debug, Default)]
pub(super) struct Graph<'a> {
    pub name: &'a str,
    /// Version of the operators of ONNX itself.
    pub opset: i64,
    /// The first of those that the file or a function imports.
    pub unknown_opset: Option<UnknownOpset>,
    pub nodes: Vec<Node<'a>>,
    pub initializers: Vec<Tensor<'a>>,
    pub inputs: Vec<ValueInfo<'a>>,
    pub outputs: Vec<ValueInfo<'a>>,
    pub value_infos: Vec<ValueInfo<'a>>,
    /// Bodies of `If` nodes, in the order in which these begin.
    pub branches: Vec<Branches<'a>>,
    /// Bodies of `Loop` and `Scan` nodes, in the order in which these begin.
    pub loops: Vec<LoopBody<'a>>,
    /// Number of nodes that call functions of the file and were not replaced by the nodes of these.
    pub n_opaque_calls: usize,
}

/// The two bodies of an `If`. Their nodes stand in [`Graph::nodes`] before the `If` itself, whose inputs are the
/// condition, the results of the first body and those of the second.
#[derive(Debug, Default)]
pub(super) struct Branches<'a> {
    pub condition: Name<'a>,
    /// The body in which this `If` is.
    pub body: Option<Body>,
    /// If the condition holds, and if it does not.
    pub sides: [Side<'a>; 2],
}

/// One body of an `If`.
#[derive(Debug, Default)]
pub(super) struct Side<'a> {
    pub n_bytes: usize,
    pub n_outputs: usize,
    pub initializers: Vec<Tensor<'a>>,
}

/// The body of a `Loop` or `Scan`. Its nodes stand in [`Graph::nodes`] before the node itself.
#[derive(Debug, Default)]
pub(super) struct LoopBody<'a> {
    /// What lies in it, at any depth: positions in [`Graph::nodes`], [`Graph::branches`] and [`Graph::loops`].
    pub nodes: Range<usize>,
    /// The body in which this loop is.
    pub body: Option<Body>,
    pub branches: Range<usize>,
    pub loops: Range<usize>,
    pub inputs: Vec<Name<'a>>,
    pub outputs: Vec<Name<'a>>,
    pub initializers: Vec<Tensor<'a>>,
}

/// The body in which a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Body {
    Side {
        /// Position in [`Graph::branches`].
        branch_idx: usize,
        /// 0 if the condition holds.
        side_idx: usize,
    },
    /// Position in [`Graph::loops`].
    Loop(usize),
}

/// The bodies that a node has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bodies {
    /// Of an `If`: position in [`Graph::branches`].
    Branches(usize),
    /// Of a `Loop` or `Scan`: position in [`Graph::loops`].
    Loop(usize),
}

/// `NodeProto`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NodeText<'a> {
    pub op_type: &'a str,
    pub domain: &'a str,
    /// Of a function that the file defines.
    pub overload: &'a str,
}

#[derive(Debug, Default)]
pub(super) struct Node<'a> {
    pub text: NodeText<'a>,
    /// An empty name is an optional input that is left out.
    pub inputs: Vec<Name<'a>>,
    pub outputs: Vec<Name<'a>>,
    pub body: Option<Body>,
    /// Number of bodies around it.
    pub depth: usize,
    /// Of an `If`, `Loop` or `Scan` whose bodies were read.
    pub bodies: Option<Bodies>,
    pub attributes: Attributes<'a>,
}

/// `ValueInfoProto` of a tensor.
#[derive(Debug, Default)]
pub(super) struct ValueInfo<'a> {
    pub name: Name<'a>,
    pub data_type: i64,
    /// Absent where the rank is unknown.
    pub shape: Option<Vec<Dimension<'a>>>,
    /// Its rank in the file. `shape` has the first [`MAX_RANK`] dimensions.
    n_dimensions: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Dimension<'a> {
    Size(i64),
    Named(&'a str),
    Unknown,
}

/// `AttributeProto.AttributeType` of one whole number.
const INT: i64 = 2;

/// A `ModelProto`. Limits are proportional to `file_bytes`. `names` takes the names of values in functions.
pub(super) fn read<'a>(
    file: &'a [u8],
    file_bytes: usize,
    names: &'a Names,
    replaced: Replaced<'a>,
) -> Result<Graph<'a>, Failure> {
    let (mut graph, mut opset, mut unknown_opset) = (None, 1, None);
    let mut functions = Functions::default();
    for field in Fields::new(file) {
        match field.map_err(at("model"))? {
            (7, Field::Bytes(message)) => graph = Some(message),
            (8, Field::Bytes(message)) => {
                let (domain, version) = opset_import(message).map_err(at("opset import"))?;
                if domain == ONNX {
                    opset = version;
                } else {
                    unknown_opset = unknown_opset.or(unknown(domain, version));
                }
            }
            (25, Field::Bytes(message)) => functions.add(message, names)?,
            _ => {}
        }
    }
    let reader = Reader {
        graph: Graph {
            opset,
            unknown_opset: unknown(ONNX, opset)
                .or(unknown_opset)
                .or(functions.unknown_opset),
            ..Graph::default()
        },
        file_bytes,
        operands_left: max_operands(file_bytes),
        attributes_left: max_attributes(file_bytes),
        dimensions_left: max_dimensions(file_bytes),
        n_initializers: 0,
        functions: &functions,
        call_bytes_left: MAX_CALL_BYTES,
        scope: None,
        names,
        replaced,
        n_names: 0,
        name_table: NameTable::default(),
        scopes: Scopes::default(),
    };
    reader.read(graph.ok_or(Failure::NoGraph)?)
}

/// The domain of ONNX Runtime's own operators.
pub(super) const CONTRIB: &str = "com.microsoft";

/// The nodes that do what a node of ONNX Runtime does. The names of results between them are given by their number.
type Replaced<'a> = fn(Node<'a>, &mut dyn FnMut(usize) -> Name<'a>) -> Vec<Node<'a>>;

/// Reads a graph, the bodies of its nodes and the functions that these call.
struct Reader<'a, 'f> {
    graph: Graph<'a>,
    file_bytes: usize,
    operands_left: usize,
    attributes_left: usize,
    dimensions_left: usize,
    n_initializers: usize,
    functions: &'f Functions<'a>,
    /// Sum of [`Call::cost`] that is still allowed.
    call_bytes_left: usize,
    /// Of the call whose function is being read.
    scope: Option<Scope<'a>>,
    names: &'a Names,
    replaced: Replaced<'a>,
    n_names: usize,
    name_table: NameTable<'a>,
    /// Of the bodies of `If` nodes around what is being read.
    scopes: Scopes<'a>,
}

/// A function under the names that one call gives to its values.
struct Scope<'a> {
    call: Rc<Call<'a>>,
    /// Of operands the caller's names, of all others new ones: by name in the function, the position in `names`.
    name_of: HashMap<&'a str, usize>,
    names: Vec<Name<'a>>,
}

impl<'a> Reader<'a, '_> {
    fn read(mut self, message: &'a [u8]) -> Result<Graph<'a>, Failure> {
        for field in Fields::new(message) {
            let (number, field) = field.map_err(at("graph"))?;
            let Field::Bytes(bytes) = field else { continue };
            match number {
                1 => self.node(bytes, None, 0)?,
                2 => self.graph.name = field.text().unwrap_or_default(),
                5 | 15 => {
                    let tensor = self.initializer(number, bytes)?;
                    self.graph.initializers.push(tensor);
                }
                11..=13 => self.value(number, bytes)?,
                _ => {}
            }
        }
        self.graph.nodes.shrink_to_fit();
        Ok(self.graph)
    }

    /// A `TensorProto` or, as field 15 of a graph, a `SparseTensorProto`.
    fn initializer(&mut self, number: u32, bytes: &'a [u8]) -> Result<Tensor<'a>, Failure> {
        self.n_initializers = self.n_initializers.saturating_add(1);
        if self.n_initializers > MAX_INITIALIZERS {
            return Err(Failure::TooMany("initializers", MAX_INITIALIZERS));
        }
        let read = match number {
            15 => sparse_tensor(bytes),
            _ => tensor(bytes),
        };
        let (name, mut tensor) = read.map_err(at("initializer"))?;
        // More than any value may have are refused with their place.
        self.spend_dimensions(tensor.rank().min(MAX_RANK))?;
        tensor.name = self.name(name);
        Ok(tensor)
    }

    fn spend_dimensions(&mut self, n: usize) -> Result<(), Failure> {
        let limit = max_dimensions(self.file_bytes);
        let left = self.dimensions_left.checked_sub(n);
        self.dimensions_left = left.ok_or(Failure::TooMany("dimensions", limit))?;
        Ok(())
    }

    /// Adds an input, an output or the description of a value of the graph.
    fn value(&mut self, number: u32, message: &'a [u8]) -> Result<(), Failure> {
        let (name, mut value) = value_info(message).map_err(at("value info"))?;
        self.spend_dimensions(value.shape.as_ref().map_or(0, Vec::len))?;
        value.name = self.name_table.name(name);
        let graph = &mut self.graph;
        let (values, one, many) = match number {
            11 => (&mut graph.inputs, "input", "inputs"),
            12 => (&mut graph.outputs, "output", "outputs"),
            _ => (&mut graph.value_infos, "value info", "value infos"),
        };
        if value.n_dimensions > MAX_RANK {
            let place = format!("{one} `{}`", shown(name));
            return Err(Failure::TooManyDimensions(place, value.n_dimensions));
        }
        push(values, value, many, MAX_VALUE_INFOS)
    }

    /// The name of a value in the whole file.
    fn name(&mut self, name: &'a str) -> Name<'a> {
        if let Some(name) = self.scopes.get(name) {
            return name;
        }
        let Some(scope) = self.scope.as_mut().filter(|_| !name.is_empty()) else {
            return self.name_table.name(name);
        };
        let known = *scope.name_of.entry(name).or_insert(scope.names.len());
        if let Some(known) = scope.names.get(known) {
            return *known;
        }
        self.n_names = self.n_names.saturating_add(1);
        let new = new_name(self.names, name, self.n_names);
        scope.names.push(new);
        new
    }

    /// What a body's nodes and initializers define, before any of them is read: they may come in any order.
    fn define_results(&mut self, body: &'a [u8]) -> Result<(), Failure> {
        for field in Fields::new(body) {
            match field.map_err(at("body of a node"))? {
                (1, Field::Bytes(node)) => {
                    for field in Fields::new(node) {
                        if let (2, output) = field.map_err(at("node"))? {
                            self.define(output.text().ok_or(Failure::Malformed("node"))?)?;
                        }
                    }
                }
                (number @ (5 | 15), Field::Bytes(message)) => {
                    let name = initializer_name(number, message).map_err(at("initializer"))?;
                    self.define(name)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// A name of its own for a value of the body that is being read.
    fn define(&mut self, text: &'a str) -> Result<(), Failure> {
        let limit = max_operands(self.file_bytes);
        if self.scopes.len() >= limit {
            return Err(Failure::TooMany("results in bodies", limit));
        }
        let name = if text.is_empty() {
            return Ok(());
        } else if self.scope.is_some() {
            // The same text is read once for each call of its function.
            self.n_names = self.n_names.saturating_add(1);
            new_name(self.names, text, self.n_names)
        } else {
            Name::unique(text)
        };
        self.scopes.define(text, name);
        Ok(())
    }

    /// Adds a node that is `depth` bodies deep, after the nodes of its own bodies, or those of the function that it calls.
    fn node(&mut self, bytes: &'a [u8], body: Option<Body>, depth: usize) -> Result<(), Failure> {
        let [mut inputs, mut outputs] = [Vec::new(), Vec::new()];
        let mut text = NodeText::default();
        for field in Fields::new(bytes) {
            let (number, field) = field.map_err(at("node"))?;
            let field_text = || field.text().ok_or(Failure::Malformed("node"));
            match number {
                1 => inputs.push(self.name(field_text()?)),
                2 => outputs.push(self.name(field_text()?)),
                4 => text.op_type = field_text()?,
                7 => text.domain = field_text()?,
                8 => text.overload = field_text()?,
                _ => {}
            }
        }
        // As long as the graph lives, which may have very many.
        inputs.shrink_to_fit();
        outputs.shrink_to_fit();
        let call = self.scope.as_ref().map(|scope| &*scope.call);
        let attributes = match call {
            None => Attributes::read(bytes, None),
            Some(call) => Attributes::read(bytes, Some(&|name| call.attribute(name))),
        };
        let left = self.attributes_left.checked_sub(attributes.len());
        let limit = max_attributes(self.file_bytes);
        self.attributes_left = left.ok_or(Failure::TooMany("attributes", limit))?;
        let mut node = Node {
            text,
            inputs,
            outputs,
            body,
            depth,
            bodies: None,
            attributes,
        };
        let NodeText {
            op_type,
            domain,
            overload,
        } = node.text;
        if let Some(function) = self.functions.get(domain, op_type, overload) {
            return self.call(node, function.clone(), depth);
        }
        if depth < MAX_BODY_DEPTH && matches!(node.text.domain, "" | "ai.onnx") {
            match node.text.op_type {
                "If" => self.branches(&mut node, depth)?,
                "Loop" | "Scan" => self.loop_body(&mut node, depth)?,
                _ => {}
            }
        }
        if domain != CONTRIB {
            return self.push_node(node);
        }
        let (names, text) = (
            self.names,
            node.outputs.first().copied().unwrap_or_default(),
        );
        let nodes = (self.replaced)(node, &mut |n| new_name(names, &text, n));
        nodes.into_iter().try_for_each(|node| self.push_node(node))
    }

    fn push_node(&mut self, node: Node<'a>) -> Result<(), Failure> {
        let n_operands = node.inputs.len().saturating_add(node.outputs.len());
        if n_operands > MAX_NODE_OPERANDS {
            return Err(Failure::TooMany("operands of one node", MAX_NODE_OPERANDS));
        }
        let left = self.operands_left.checked_sub(n_operands);
        self.operands_left =
            left.ok_or(Failure::TooMany("operands", max_operands(self.file_bytes)))?;
        push(&mut self.graph.nodes, node, "nodes", MAX_NODES)
    }

    /// Adds the nodes of the function that a node calls in its place, or the node itself if they are too many.
    fn call(
        &mut self,
        node: Node<'a>,
        function: Rc<Function<'a>>,
        depth: usize,
    ) -> Result<(), Failure> {
        let around = self.scope.as_ref().map(|scope| &*scope.call);
        let call = Call::new(node.attributes.clone(), function.clone(), around);
        let left = call
            .as_ref()
            .and_then(|call| self.call_bytes_left.checked_sub(call.cost()));
        let (Some(call), Some(left)) = (call, left) else {
            self.graph.n_opaque_calls = self.graph.n_opaque_calls.saturating_add(1);
            return self.push_node(node);
        };
        self.call_bytes_left = left;
        let mut scope = Scope {
            call: Rc::new(call),
            name_of: HashMap::new(),
            names: Vec::new(),
        };
        for (at, &name) in function.inputs.iter().enumerate() {
            let given = node.inputs.get(at).copied().unwrap_or_default();
            scope.name_of.entry(name).or_insert(scope.names.len());
            scope.names.push(given);
        }
        // A result may be an operand, or another result.
        let mut same = Vec::new();
        let results = function.outputs.iter().zip(&node.outputs);
        for (&name, &output) in results.filter(|(_, output)| !output.is_empty()) {
            let known = *scope.name_of.entry(name).or_insert(scope.names.len());
            match scope.names.get(known) {
                Some(known) => same.push([*known, output]),
                None => scope.names.push(output),
            }
        }
        let around = self.scope.replace(scope);
        let scopes = std::mem::take(&mut self.scopes);
        for message in &function.nodes {
            self.node(message, node.body, depth)?;
        }
        self.scope = around;
        self.scopes = scopes;
        same.into_iter().try_for_each(|[input, output]| {
            self.push_node(Node {
                text: NodeText {
                    op_type: "Identity",
                    ..NodeText::default()
                },
                inputs: vec![input],
                outputs: vec![output],
                body: node.body,
                depth,
                ..Node::default()
            })
        })
    }

    /// Adds the nodes of an `If`'s bodies, and the results of these to its inputs.
    fn branches(&mut self, node: &mut Node<'a>, depth: usize) -> Result<(), Failure> {
        let body = |name: &str| node.attribute_field(name, 6)?.bytes();
        let (&[condition], Some(first), Some(second)) = (
            node.inputs.as_slice(),
            body("then_branch"),
            body("else_branch"),
        ) else {
            return Ok(());
        };
        let branch_idx = self.graph.branches.len();
        self.graph.branches.push(Branches {
            condition,
            body: node.body,
            ..Branches::default()
        });
        for (side_idx, message) in [first, second].into_iter().enumerate() {
            let body = Body::Side {
                branch_idx,
                side_idx,
            };
            let n_around = self.scopes.len();
            self.define_results(message)?;
            let body = self.body(message, body, depth.saturating_add(1))?;
            self.scopes.leave(n_around);
            let side = Side {
                n_bytes: message.len(),
                n_outputs: body.outputs.len(),
                initializers: body.initializers,
            };
            node.inputs.extend(body.outputs);
            let branches = self.graph.branches.get_mut(branch_idx);
            if let Some(place) = branches.and_then(|branch| branch.sides.get_mut(side_idx)) {
                *place = side;
            }
        }
        node.bodies = Some(Bodies::Branches(branch_idx));
        Ok(())
    }

    /// Adds the nodes of the body of a `Loop` or `Scan`.
    fn loop_body(&mut self, node: &mut Node<'a>, depth: usize) -> Result<(), Failure> {
        let Some(message) = (node.attribute_field("body", 6)).and_then(|field| field.bytes())
        else {
            return Ok(());
        };
        let loop_idx = self.graph.loops.len();
        self.graph.loops.push(LoopBody::default());
        let (nodes, branches, loops) = (
            self.graph.nodes.len(),
            self.graph.branches.len(),
            self.graph.loops.len(),
        );
        let loop_body = self.body(message, Body::Loop(loop_idx), depth.saturating_add(1))?;
        let graph = &mut self.graph;
        let loop_body = LoopBody {
            nodes: nodes..graph.nodes.len(),
            body: node.body,
            branches: branches..graph.branches.len(),
            loops: loops..graph.loops.len(),
            ..loop_body
        };
        if let Some(place) = graph.loops.get_mut(loop_idx) {
            *place = loop_body;
        }
        node.bodies = Some(Bodies::Loop(loop_idx));
        Ok(())
    }

    /// Adds the nodes of a body. Returns its inputs, outputs and initializers.
    fn body(
        &mut self,
        message: &'a [u8],
        body: Body,
        depth: usize,
    ) -> Result<LoopBody<'a>, Failure> {
        let mut loop_body = LoopBody::default();
        for field in Fields::new(message) {
            let (number, field) = field.map_err(at("body of a node"))?;
            let Field::Bytes(bytes) = field else { continue };
            let names = match number {
                1 => {
                    self.node(bytes, Some(body), depth)?;
                    continue;
                }
                5 | 15 => {
                    let tensor = self.initializer(number, bytes)?;
                    loop_body.initializers.push(tensor);
                    continue;
                }
                11 => &mut loop_body.inputs,
                12 => &mut loop_body.outputs,
                _ => continue,
            };
            let (name, _) = value_info(bytes).map_err(at("value info"))?;
            let name = self.name(name);
            push(names, name, "operands of one node", MAX_NODE_OPERANDS)?;
        }
        Ok(loop_body)
    }
}

/// A name that no other value has, after its text in the file.
fn new_name<'a>(names: &'a Names, text: &str, n: usize) -> Name<'a> {
    Name::unique(names.push_get(format!("{}/{n}", shown(text))))
}

fn push<T>(list: &mut Vec<T>, entry: T, what: &'static str, limit: usize) -> Result<(), Failure> {
    if list.len() >= limit {
        return Err(Failure::TooMany(what, limit));
    }
    list.push(entry);
    Ok(())
}

/// A value's name as text, and all else about it.
fn value_info(message: &[u8]) -> Read<(&str, ValueInfo<'_>)> {
    let (mut name, mut value) = ("", ValueInfo::default());
    for field in Fields::new(message) {
        match field? {
            (1, text) => name = text.text().ok_or(Malformed)?,
            (2, Field::Bytes(of_type)) => {
                for field in Fields::new(of_type) {
                    if let (1, Field::Bytes(tensor_type)) = field? {
                        read_tensor_type(tensor_type, &mut value)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok((name, value))
}

/// `TypeProto.Tensor` of a value.
fn read_tensor_type<'a>(message: &'a [u8], value: &mut ValueInfo<'a>) -> Read<()> {
    (value.data_type, value.shape, value.n_dimensions) = (0, None, 0);
    for field in Fields::new(message) {
        match field? {
            (1, number) => value.data_type = number.integer().ok_or(Malformed)?,
            (2, Field::Bytes(dimensions)) => {
                let (mut sizes, mut n_dimensions) = (Vec::new(), 0usize);
                for field in Fields::new(dimensions) {
                    let (1, Field::Bytes(one)) = field? else {
                        continue;
                    };
                    let size = dimension(one)?;
                    if sizes.len() < MAX_RANK {
                        sizes.push(size);
                    }
                    n_dimensions = n_dimensions.saturating_add(1);
                }
                (value.shape, value.n_dimensions) = (Some(sizes), n_dimensions);
            }
            _ => {}
        }
    }
    Ok(())
}

fn dimension(message: &[u8]) -> Read<Dimension<'_>> {
    let mut dimension = Dimension::Unknown;
    for field in Fields::new(message) {
        dimension = match field? {
            (1, size) => Dimension::Size(size.integer().ok_or(Malformed)?),
            (2, name) => match name.text().ok_or(Malformed)? {
                // Some exporters write a question mark for every open dimension.
                "" | "?" => Dimension::Unknown,
                name => Dimension::Named(name),
            },
            _ => dimension,
        };
    }
    Ok(dimension)
}

impl<'a> Node<'a> {
    /// The inputs that are more than a shape or a type to it.
    pub fn inputs_with_values(&self) -> &[Name<'a>] {
        let n = match (self.text.domain, self.text.op_type) {
            ("" | "ai.onnx", "Shape" | "Size") => 0,
            ("" | "ai.onnx", "CastLike") => 1,
            _ => usize::MAX,
        };
        self.inputs.get(..n).unwrap_or(&self.inputs)
    }

    fn attribute(&self, name: &str) -> Option<Fields<'a>> {
        Some(Fields::new(self.attributes.get(name)?))
    }

    #[inline(never)]
    fn attribute_field(&self, name: &str, wanted: u32) -> Option<Field<'a>> {
        let mut fields = self.attribute(name)?.flatten();
        fields.find_map(|(number, field)| (number == wanted).then_some(field))
    }

    /// Some writers leave out the field of a number that is 0.
    #[inline(never)]
    pub fn integer(&self, name: &str) -> Option<i64> {
        let is_integer = || {
            self.attribute_field(name, 20)?
                .integer()
                .filter(|kind| *kind == INT)
        };
        match self.attribute_field(name, 3) {
            Some(field) => field.integer(),
            None => is_integer().map(|_| 0),
        }
    }

    pub fn float(&self, name: &str) -> Option<f32> {
        self.attribute_field(name, 2)?.float()
    }

    #[inline(never)]
    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.attribute_field(name, 4)?.text()
    }

    pub fn texts(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let fields = self.attribute(name).into_iter().flatten().flatten();
        fields.filter_map(|(number, field)| field.text().filter(|_| number == 9))
    }

    pub fn tensor(&self, name: &str) -> Option<Tensor<'a>> {
        let (_, tensor) = tensor(self.attribute_field(name, 5)?.bytes()?).ok()?;
        Some(tensor)
    }

    pub fn sparse_tensor(&self, name: &str) -> Option<Tensor<'a>> {
        let (_, tensor) = sparse_tensor(self.attribute_field(name, 22)?.bytes()?).ok()?;
        Some(tensor)
    }

    /// A list of numbers, packed or not.
    #[inline(never)]
    pub fn integers(&self, name: &str) -> Option<Vec<i64>> {
        let mut values = Vec::new();
        for (number, field) in self.attribute(name)?.flatten() {
            match field {
                _ if number != 8 || values.len() >= MAX_ATTRIBUTE_VALUES => {}
                Field::Bytes(bytes) => {
                    values.extend(packed_integers(bytes, MAX_ATTRIBUTE_VALUES).ok()?)
                }
                field => values.push(field.integer()?),
            }
        }
        Some(values)
    }

    pub fn floats(&self, name: &str) -> Option<Vec<f64>> {
        let mut values = Vec::new();
        for (number, field) in self.attribute(name)?.flatten() {
            match field {
                _ if number != 7 || values.len() >= MAX_ATTRIBUTE_VALUES => {}
                Field::Bytes(bytes) => {
                    let (chunks, _) = bytes.as_chunks::<4>();
                    let chunks = chunks.iter().take(MAX_ATTRIBUTE_VALUES);
                    values.extend(chunks.map(|b| f64::from(f32::from_le_bytes(*b))));
                }
                field => values.push(f64::from(field.float()?)),
            }
        }
        Some(values)
    }
}
