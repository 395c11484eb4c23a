//! The messages of `onnx.proto` that a network's shape depends on, borrowed from the file. Field numbers are those of
//! `onnx.proto`.

use super::limits::*;
use super::wire::{Field, Fields, Malformed, packed_integers};
use crate::formats::shown;
use crate::formats::tflite::TensorType;

/// `GraphProto` of a file, and the fields of its `ModelProto` that concern it.
#[derive(Debug, Default)]
pub(super) struct Graph<'a> {
    pub name: &'a str,
    /// Version of the operators of ONNX itself.
    pub opset: i64,
    pub nodes: Vec<Node<'a>>,
    pub initializers: Vec<Tensor<'a>>,
    pub inputs: Vec<ValueInfo<'a>>,
    pub outputs: Vec<ValueInfo<'a>>,
    pub value_infos: Vec<ValueInfo<'a>>,
    /// Number of functions that the file defines; the bodies of these functions are not analysed.
    pub n_functions: usize,
}

/// `NodeProto`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct NodeText<'a> {
    pub op_type: &'a str,
    pub domain: &'a str,
}

#[derive(Debug, Default)]
pub(super) struct Node<'a> {
    pub text: NodeText<'a>,
    /// An empty name is an optional input that is left out.
    pub inputs: Vec<&'a str>,
    pub outputs: Vec<&'a str>,
    /// The whole message, for its attributes.
    message: &'a [u8],
}

/// `TensorProto`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tensor<'a> {
    pub name: &'a str,
    pub data_type: i64,
    pub raw_data: &'a [u8],
    pub is_external: bool,
    message: &'a [u8],
}

/// `ValueInfoProto` of a tensor.
#[derive(Debug, Default)]
pub(super) struct ValueInfo<'a> {
    pub name: &'a str,
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

type Read<T> = Result<T, Malformed>;

/// Why reading failed: [`Malformed`], or a limit that was exceeded.
pub(super) enum Failure {
    Malformed(&'static str),
    TooMany(&'static str, usize),
    /// Dimensions of one value: where, and how many.
    TooManyDimensions(String, usize),
    NoGraph,
}

fn at(place: &'static str) -> impl Fn(Malformed) -> Failure {
    move |Malformed| Failure::Malformed(place)
}

/// A `ModelProto`.
pub(super) fn read(file: &[u8]) -> Result<Graph<'_>, Failure> {
    let mut graph = None;
    let (mut opset, mut n_functions) = (1, 0usize);
    for field in Fields::of(file) {
        match field.map_err(at("model"))? {
            (7, Field::Bytes(message)) => graph = Some(message),
            (8, Field::Bytes(message)) => {
                let (domain, version) = opset_import(message).map_err(at("opset import"))?;
                if domain.is_empty() || domain == "ai.onnx" {
                    opset = version;
                }
            }
            (25, Field::Bytes(_)) => n_functions = n_functions.saturating_add(1),
            _ => {}
        }
    }
    let mut graph = read_graph(graph.ok_or(Failure::NoGraph)?)?;
    graph.opset = opset;
    graph.n_functions = n_functions;
    Ok(graph)
}

fn opset_import(message: &[u8]) -> Read<(&str, i64)> {
    let mut found = ("", 1);
    for field in Fields::of(message) {
        match field? {
            (1, domain) => found.0 = domain.text().ok_or(Malformed)?,
            (2, version) => found.1 = version.integer().ok_or(Malformed)?,
            _ => {}
        }
    }
    Ok(found)
}

fn read_graph(message: &[u8]) -> Result<Graph<'_>, Failure> {
    let mut graph = Graph::default();
    let mut operands_left = MAX_OPERANDS;
    for field in Fields::of(message) {
        let (number, field) = field.map_err(at("graph"))?;
        let Field::Bytes(bytes) = field else { continue };
        match number {
            1 => {
                let node = node(bytes).map_err(at("node"))?;
                let n_operands = node.inputs.len().saturating_add(node.outputs.len());
                if n_operands > MAX_NODE_OPERANDS {
                    return Err(Failure::TooMany("operands of one node", MAX_NODE_OPERANDS));
                }
                operands_left = operands_left
                    .checked_sub(n_operands)
                    .ok_or(Failure::TooMany("operands", MAX_OPERANDS))?;
                push(&mut graph.nodes, node, "nodes", MAX_NODES)?;
            }
            2 => graph.name = field.text().unwrap_or_default(),
            5 => {
                let tensor = tensor(bytes).map_err(at("initializer"))?;
                push(
                    &mut graph.initializers,
                    tensor,
                    "initializers",
                    MAX_INITIALIZERS,
                )?;
            }
            11..=13 => {
                let value = value_info(bytes).map_err(at("value info"))?;
                let (values, one, what) = match number {
                    11 => (&mut graph.inputs, "input", "inputs"),
                    12 => (&mut graph.outputs, "output", "outputs"),
                    _ => (&mut graph.value_infos, "value info", "value infos"),
                };
                if value.n_dimensions > MAX_RANK {
                    let place = format!("{one} `{}`", shown(value.name));
                    return Err(Failure::TooManyDimensions(place, value.n_dimensions));
                }
                push(values, value, what, MAX_VALUE_INFOS)?;
            }
            _ => {}
        }
    }
    Ok(graph)
}

fn push<T>(list: &mut Vec<T>, entry: T, what: &'static str, limit: usize) -> Result<(), Failure> {
    if list.len() >= limit {
        return Err(Failure::TooMany(what, limit));
    }
    list.push(entry);
    Ok(())
}

fn node(message: &[u8]) -> Read<Node<'_>> {
    let mut node = Node {
        message,
        ..Node::default()
    };
    for field in Fields::of(message) {
        match field? {
            (1, name) => node.inputs.push(name.text().ok_or(Malformed)?),
            (2, name) => node.outputs.push(name.text().ok_or(Malformed)?),
            (4, op_type) => node.text.op_type = op_type.text().ok_or(Malformed)?,
            (7, domain) => node.text.domain = domain.text().ok_or(Malformed)?,
            _ => {}
        }
    }
    Ok(node)
}

fn value_info(message: &[u8]) -> Read<ValueInfo<'_>> {
    let mut value = ValueInfo::default();
    for field in Fields::of(message) {
        match field? {
            (1, name) => value.name = name.text().ok_or(Malformed)?,
            (2, Field::Bytes(of_type)) => {
                for field in Fields::of(of_type) {
                    if let (1, Field::Bytes(tensor_type)) = field? {
                        typed(tensor_type, &mut value)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(value)
}

/// `TypeProto.Tensor` of a value.
fn typed<'a>(message: &'a [u8], value: &mut ValueInfo<'a>) -> Read<()> {
    (value.data_type, value.shape, value.n_dimensions) = (0, None, 0);
    for field in Fields::of(message) {
        match field? {
            (1, number) => value.data_type = number.integer().ok_or(Malformed)?,
            (2, Field::Bytes(dimensions)) => {
                let (mut sizes, mut n_dimensions) = (Vec::new(), 0usize);
                for field in Fields::of(dimensions) {
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
    for field in Fields::of(message) {
        dimension = match field? {
            (1, size) => Dimension::Size(size.integer().ok_or(Malformed)?),
            (2, name) => match name.text().ok_or(Malformed)? {
                "" => Dimension::Unknown,
                name => Dimension::Named(name),
            },
            _ => dimension,
        };
    }
    Ok(dimension)
}

fn tensor(message: &[u8]) -> Read<Tensor<'_>> {
    let mut tensor = Tensor {
        message,
        ..Tensor::default()
    };
    for field in Fields::of(message) {
        match field? {
            (2, number) => tensor.data_type = number.integer().ok_or(Malformed)?,
            (8, name) => tensor.name = name.text().ok_or(Malformed)?,
            (9, bytes) => tensor.raw_data = bytes.bytes().ok_or(Malformed)?,
            (14, place) => tensor.is_external = place.integer() == Some(1),
            _ => {}
        }
    }
    Ok(tensor)
}

impl<'a> Tensor<'a> {
    /// Sizes along each dimension; none where there are more than [`MAX_RANK`].
    pub fn dims(&self) -> Option<Vec<i64>> {
        self.integers_of(1, MAX_RANK.saturating_add(1))
            .filter(|dims| dims.len() <= MAX_RANK)
    }

    /// Dimensions in the file, of which `dims` tells no more than [`MAX_RANK`].
    pub fn rank(&self) -> usize {
        let dims = Fields::of(self.message).flatten();
        let counts = dims.map(|(number, field)| match field {
            _ if number != 1 => 0,
            // The last byte of each number is below 128.
            Field::Bytes(packed) => packed.iter().filter(|byte| **byte < 0x80).count(),
            _ => 1,
        });
        counts.fold(0, usize::saturating_add)
    }

    /// Values of a field of integers, packed or not, at most `limit`.
    fn integers_of(&self, number: u32, limit: usize) -> Option<Vec<i64>> {
        let mut values = Vec::new();
        for field in Fields::of(self.message) {
            match field.ok()? {
                (found, Field::Bytes(bytes)) if found == number => {
                    let left = limit.saturating_sub(values.len());
                    values.extend(packed_integers(bytes, left).ok()?);
                }
                (found, field) if found == number && values.len() < limit => {
                    values.push(field.integer()?)
                }
                _ => {}
            }
        }
        Some(values)
    }

    fn floats_of(&self, number: u32, limit: usize) -> Option<Vec<f64>> {
        let mut values = Vec::new();
        for field in Fields::of(self.message) {
            match field.ok()? {
                (found, Field::Bytes(bytes)) if found == number => {
                    let (chunks, _) = bytes.as_chunks::<4>();
                    let left = limit.saturating_sub(values.len());
                    values.extend(
                        chunks
                            .iter()
                            .take(left)
                            .map(|b| f64::from(f32::from_le_bytes(*b))),
                    );
                }
                (found, field) if found == number && values.len() < limit => {
                    values.push(f64::from(field.float()?));
                }
                _ => {}
            }
        }
        Some(values)
    }

    /// The bytes of values that are stored as floats, in whichever field they are.
    pub fn float_bytes(&self) -> &'a [u8] {
        if !self.raw_data.is_empty() || self.data_type != FLOAT {
            return self.raw_data;
        }
        let mut fields = Fields::of(self.message).flatten();
        let found = fields.find_map(|(number, field)| field.bytes().filter(|_| number == 4));
        found.unwrap_or_default()
    }

    /// The raw bytes of a small tensor of `n` values; empty if another field has the values. `None` if they are not `n`
    /// values, so that a long list is never decoded for a short tensor.
    fn raw_of(&self, n: usize) -> Option<&'a [u8]> {
        let value_bytes = match self.data_type {
            INT64 | DOUBLE => 8,
            INT32 | FLOAT => 4,
            FLOAT16 => 2,
            _ => 1,
        };
        let n_raw = self.raw_data.len().checked_div(value_bytes)?;
        let is_small = n <= MAX_KNOWN_VALUES && !self.is_external;
        (is_small && (self.raw_data.is_empty() || n_raw == n)).then_some(self.raw_data)
    }

    /// All values of a small tensor of integers or truths.
    pub fn integers(&self, n: usize) -> Option<Vec<i64>> {
        let raw = self.raw_of(n)?;
        let values: Vec<i64> = match (self.data_type, raw.is_empty()) {
            (INT64, false) => raw
                .as_chunks::<8>()
                .0
                .iter()
                .map(|b| i64::from_le_bytes(*b))
                .collect(),
            (INT32, false) => raw
                .as_chunks::<4>()
                .0
                .iter()
                .map(|b| i32::from_le_bytes(*b).into())
                .collect(),
            (INT8, false) => raw
                .iter()
                .map(|&b| i64::from(i8::from_le_bytes([b])))
                .collect(),
            (UINT8 | BOOL, false) => raw.iter().map(|&b| i64::from(b)).collect(),
            (INT64, true) => self.integers_of(7, n)?,
            (INT32 | INT8 | UINT8 | BOOL, true) => self.integers_of(5, n)?,
            _ => return None,
        };
        (values.len() == n).then_some(values)
    }

    /// All values of a small tensor of floats.
    pub fn floats(&self, n: usize) -> Option<Vec<f64>> {
        let raw = self.raw_of(n)?;
        let values: Vec<f64> = match (self.data_type, raw.is_empty()) {
            (FLOAT, false) => raw
                .as_chunks::<4>()
                .0
                .iter()
                .map(|b| f32::from_le_bytes(*b).into())
                .collect(),
            (FLOAT16, false) => raw
                .as_chunks::<2>()
                .0
                .iter()
                .map(|b| half::f16::from_le_bytes(*b).into())
                .collect(),
            (DOUBLE, false) => raw
                .as_chunks::<8>()
                .0
                .iter()
                .map(|b| f64::from_le_bytes(*b))
                .collect(),
            (FLOAT, true) => self.floats_of(4, n)?,
            _ => return None,
        };
        (values.len() == n).then_some(values)
    }
}

/// `TensorProto.DataType`.
const FLOAT: i64 = 1;
const UINT8: i64 = 2;
const INT8: i64 = 3;
const INT32: i64 = 6;
const INT64: i64 = 7;
const BOOL: i64 = 9;
const FLOAT16: i64 = 10;
const DOUBLE: i64 = 11;

/// TFLite's type for a `TensorProto.DataType`.
pub(super) fn tensor_type(data_type: i64) -> TensorType {
    use TensorType::*;
    match data_type {
        FLOAT => Float32,
        UINT8 => UInt8,
        INT8 => Int8,
        4 => UInt16,
        5 => Int16,
        INT32 => Int32,
        INT64 => Int64,
        8 => String,
        BOOL => Bool,
        FLOAT16 => Float16,
        DOUBLE => Float64,
        12 => UInt32,
        13 => UInt64,
        14 => Complex64,
        15 => Complex128,
        16 => BFloat16,
        17 => Float8E4M3FN,
        19 => Float8E5M2,
        21 => UInt4,
        22 => Int4,
        _ => Unknown(-1),
    }
}

impl<'a> Node<'a> {
    /// The operator's name, with its domain where that is not ONNX's own.
    pub fn name(&self) -> String {
        match self.text.domain {
            "" | "ai.onnx" => self.text.op_type.to_owned(),
            domain => format!("{domain}.{}", self.text.op_type),
        }
    }

    /// Fields of the attribute with this name. Linear in the node's bytes, without those of values.
    fn attribute(&self, name: &str) -> Option<Fields<'a>> {
        let mut attributes = Fields::of(self.message).flatten();
        attributes.find_map(|(number, field)| {
            let message = field.bytes().filter(|_| number == 5)?;
            let mut fields = Fields::of(message).flatten();
            let is_named = fields.any(|(number, field)| number == 1 && field.text() == Some(name));
            is_named.then(|| Fields::of(message))
        })
    }

    fn attribute_field(&self, name: &str, wanted: u32) -> Option<Field<'a>> {
        let mut fields = self.attribute(name)?.flatten();
        fields.find_map(|(number, field)| (number == wanted).then_some(field))
    }

    pub fn integer(&self, name: &str) -> Option<i64> {
        self.attribute_field(name, 3)?.integer()
    }

    pub fn float(&self, name: &str) -> Option<f32> {
        self.attribute_field(name, 2)?.float()
    }

    pub fn text(&self, name: &str) -> Option<&'a str> {
        self.attribute_field(name, 4)?.text()
    }

    pub fn tensor(&self, name: &str) -> Option<Tensor<'a>> {
        tensor(self.attribute_field(name, 5)?.bytes()?).ok()
    }

    /// A list of numbers, packed or not.
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
