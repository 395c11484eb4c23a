//! Protobuf messages as trees, changed and written again with their lengths right: what a decoder lets through
//! is where the reader of ONNX files begins. And small networks to begin with.

use crate::random::Random;

/// The fields of a message: number and value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message(pub Vec<(u32, Value)>);

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    Bytes(Vec<u8>),
    Message(Message),
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Messages of ONNX nest eight deep in a network without control flow.
const MAX_DEPTH: usize = 10;

impl Message {
    /// None where the bytes are no message with the small field numbers that ONNX has.
    pub fn read(bytes: &[u8], depth: usize) -> Option<Self> {
        let mut rest = bytes;
        let mut fields = Vec::new();
        while !rest.is_empty() {
            let key = varint(&mut rest)?;
            let number = u32::try_from(key >> 3)
                .ok()
                .filter(|number| (1..=30).contains(number))?;
            let value = match key & 7 {
                0 => Value::Varint(varint(&mut rest)?),
                1 => {
                    let (first, others) = rest.split_first_chunk()?;
                    rest = others;
                    Value::Fixed64(*first)
                }
                5 => {
                    let (first, others) = rest.split_first_chunk()?;
                    rest = others;
                    Value::Fixed32(*first)
                }
                2 => {
                    let length = usize::try_from(varint(&mut rest)?).ok()?;
                    let (bytes, others) = rest.split_at_checked(length)?;
                    rest = others;
                    let message = (depth < MAX_DEPTH && bytes.len() > 1)
                        .then(|| Self::read(bytes, depth + 1));
                    message
                        .flatten()
                        .map_or_else(|| Value::Bytes(bytes.to_vec()), Value::Message)
                }
                _ => return None,
            };
            fields.push((number, value));
        }
        Some(Self(fields))
    }

    pub fn write(&self) -> Vec<u8> {
        let mut out = Vec::new();
        for (number, value) in &self.0 {
            let key = |wire_type: u64| u64::from(*number) << 3 | wire_type;
            let bytes = |bytes: &[u8], out: &mut Vec<u8>| {
                write_varint(key(2), out);
                write_varint(bytes.len() as u64, out);
                out.extend(bytes);
            };
            match value {
                Value::Varint(value) => {
                    write_varint(key(0), &mut out);
                    write_varint(*value, &mut out);
                }
                Value::Fixed64(value) => {
                    write_varint(key(1), &mut out);
                    out.extend(value);
                }
                Value::Fixed32(value) => {
                    write_varint(key(5), &mut out);
                    out.extend(value);
                }
                Value::Bytes(value) => bytes(value, &mut out),
                Value::Message(message) => bytes(&message.write(), &mut out),
            }
        }
        out
    }

    /// A few changes: numbers at the edges of types, names of others, fields twice, elsewhere or not at all.
    pub fn mutate(&mut self, random: &mut Random) {
        let texts = self.texts();
        for _ in 0..1 + random.below(4) {
            self.change(&texts, random);
        }
    }

    fn texts(&self) -> Vec<Vec<u8>> {
        let bytes = |(_, value): &(u32, Value)| match value {
            Value::Bytes(bytes) if bytes.len() < 64 => vec![bytes.clone()],
            Value::Message(message) => message.texts(),
            _ => vec![],
        };
        self.0.iter().flat_map(bytes).collect()
    }

    fn change(&mut self, texts: &[Vec<u8>], random: &mut Random) {
        let at = random.below(self.0.len());
        let goes_on = !random.one_in(6);
        if let Some((_, Value::Message(message))) = self.0.get_mut(at)
            && goes_on
        {
            return message.change(texts, random);
        }
        let Some((number, value)) = self.0.get_mut(at) else {
            return;
        };
        const NUMBERS: [u64; 14] = [
            0,
            1,
            2,
            3,
            7,
            127,
            128,
            1000,
            1 << 16,
            0x7fff_ffff,
            1 << 32,
            i64::MAX as u64,
            u64::MAX,
            u64::MAX - 1,
        ];
        match (random.below(8), value) {
            (0, _) => drop(self.0.remove(at)),
            (1, value) => {
                let copy = (*number, value.clone());
                self.0.insert(random.below(self.0.len()), copy);
            }
            (2, _) => *number = random.below(26) as u32 + 1,
            (3, _) => self.0.reverse(),
            (_, Value::Varint(value)) => *value = random.pick(&NUMBERS),
            (_, Value::Fixed64(bytes)) => *bytes = random.next_u64().to_le_bytes(),
            (_, Value::Fixed32(bytes)) => *bytes = (random.next_u64() as u32).to_le_bytes(),
            (4, Value::Bytes(bytes)) => bytes.truncate(random.below(bytes.len())),
            (5, Value::Bytes(bytes)) if bytes.len() >= 8 => {
                let at = random.below(bytes.len() / 8) * 8;
                bytes[at..at + 8].copy_from_slice(&random.pick(&NUMBERS).to_le_bytes());
            }
            (_, value) => {
                *value = Value::Bytes(
                    texts
                        .get(random.below(texts.len()))
                        .cloned()
                        .unwrap_or_default(),
                )
            }
        }
    }
}

/// A network of nodes in the making: operator, with its domain and `:` where that is not ONNX's own, inputs, output,
/// lists of numbers.
type NodeEntry<'a> = (&'a str, &'a [&'a str], &'a str, &'a [(&'a str, &'a [i64])]);

pub(crate) fn text(number: u32, text: &str) -> (u32, Value) {
    (number, Value::Bytes(text.into()))
}

pub(crate) fn integer(number: u32, value: i64) -> (u32, Value) {
    (number, Value::Varint(value as u64))
}

pub(crate) fn message(number: u32, fields: Vec<(u32, Value)>) -> (u32, Value) {
    (number, Value::Message(Message(fields)))
}

fn node_fields((op_type, inputs, output, attributes): &NodeEntry) -> Vec<(u32, Value)> {
    let mut node: Vec<_> = inputs.iter().map(|name| text(1, name)).collect();
    let (domain, op_type) = op_type.split_once(':').unwrap_or(("", op_type));
    node.extend([text(2, output), text(4, op_type), text(7, domain)]);
    for (name, values) in *attributes {
        let mut attribute = vec![text(1, name)];
        match (*name, *values) {
            ("axis" | "group" | "keepdims" | "ceil_mode" | "to", &[value]) => {
                attribute.extend([integer(3, value), integer(20, 2)])
            }
            // That of the call.
            (name, []) => attribute.extend([text(21, name), integer(20, 7)]),
            _ => {
                attribute.extend(values.iter().map(|&value| integer(8, value)));
                attribute.push(integer(20, 7));
            }
        }
        node.push(message(5, attribute));
    }
    node
}

fn network(
    input: &[i64],
    weights: &[(&str, &[i64])],
    lists: &[(&str, &[i64])],
    nodes: &[NodeEntry],
) -> Message {
    let mut graph: Vec<_> = nodes
        .iter()
        .map(|entry| message(1, node_fields(entry)))
        .collect();
    let constant = |name: &str, data_type: i64, dims: &[i64], bytes: Vec<u8>| {
        let mut tensor: Vec<_> = dims.iter().map(|&side| integer(1, side)).collect();
        tensor.extend([
            integer(2, data_type),
            text(8, name),
            (9, Value::Bytes(bytes)),
        ]);
        message(5, tensor)
    };
    for (name, dims) in weights {
        let n: i64 = dims.iter().product();
        let bytes = (0..n)
            .flat_map(|at| ((at % 17) as f32 - 8.0).to_le_bytes())
            .collect();
        graph.push(constant(name, 1, dims, bytes));
    }
    for (name, values) in lists {
        let bytes = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        graph.push(constant(name, 7, &[values.len() as i64], bytes));
    }
    let dims = input
        .iter()
        .map(|&side| message(1, vec![integer(1, side)]))
        .collect();
    let tensor_type = message(1, vec![integer(1, 1), message(2, dims)]);
    graph.push(message(
        11,
        vec![text(1, "x"), message(2, vec![tensor_type])],
    ));
    let last = nodes.last().map_or("x", |(_, _, output, _)| output);
    graph.push(message(12, vec![text(1, last)]));
    Message(vec![
        integer(1, 8),
        message(7, graph),
        message(8, vec![text(1, ""), integer(2, 17)]),
    ])
}

/// Networks with what exporters write: a classifier, attention, shapes that are computed, operators that keep their
/// names, bodies of `If`, `Loop` and `Scan`, and functions.
pub fn seeds() -> Vec<Message> {
    let classifier = network(
        &[1, 3, 16, 16],
        &[
            ("w0", &[8, 3, 3, 3]),
            ("s", &[8]),
            ("w1", &[8, 1, 3, 3]),
            ("w2", &[8, 10]),
            ("w3", &[8, 8, 2, 2]),
        ],
        &[("sizes", &[1, 8, 16, 16])],
        &[
            (
                "Conv",
                &["x", "w0", "s"],
                "a",
                &[("strides", &[2, 2]), ("pads", &[1, 1, 1, 1])],
            ),
            ("BatchNormalization", &["a", "s", "s", "s", "s"], "b", &[]),
            ("Relu", &["b"], "c", &[]),
            (
                "Conv",
                &["c", "w1"],
                "d",
                &[("group", &[8]), ("pads", &[1, 1, 1, 1])],
            ),
            ("HardSigmoid", &["d"], "e", &[]),
            ("Mul", &["d", "e"], "f", &[]),
            (
                "MaxPool",
                &["f"],
                "g",
                &[
                    ("kernel_shape", &[3, 3]),
                    ("strides", &[2, 2]),
                    ("ceil_mode", &[1]),
                ],
            ),
            ("ConvTranspose", &["g", "w3"], "h", &[("strides", &[2, 2])]),
            ("Concat", &["h", "f"], "i", &[("axis", &[1])]),
            ("Resize", &["h", "", "", "sizes"], "j", &[]),
            ("Add", &["j", "j"], "k", &[]),
            ("GlobalAveragePool", &["k"], "l", &[]),
            ("Flatten", &["l"], "m", &[]),
            ("MatMul", &["m", "w2"], "y", &[]),
        ],
    );
    let attention = network(
        &[1, 8, 16],
        &[("v", &[16, 48]), ("s", &[16]), ("root", &[])],
        &[
            ("heads", &[0, 0, 3, 4, 4]),
            ("back", &[1, -1, 16]),
            ("zero", &[0]),
            ("one", &[1]),
            ("last", &[2]),
        ],
        &[
            (
                "LayerNormalization",
                &["x", "s", "s"],
                "a",
                &[("axis", &[-1])],
            ),
            ("MatMul", &["a", "v"], "b", &[]),
            ("Reshape", &["b", "heads"], "c", &[]),
            ("Transpose", &["c"], "d", &[("perm", &[2, 0, 3, 1, 4])]),
            ("Split", &["d"], "e", &[("axis", &[0])]),
            ("Slice", &["d", "zero", "one", "zero"], "q", &[]),
            ("Gather", &["d", "last"], "k", &[("axis", &[0])]),
            ("Transpose", &["k"], "l", &[("perm", &[0, 1, 2, 4, 3])]),
            ("MatMul", &["q", "l"], "m", &[]),
            ("Div", &["m", "root"], "n", &[]),
            ("Softmax", &["n"], "o", &[("axis", &[-1])]),
            ("MatMul", &["o", "k"], "p", &[]),
            ("Reshape", &["p", "back"], "r", &[]),
            ("Erf", &["r"], "t", &[]),
            ("ReduceMean", &["t", "one"], "u", &[("keepdims", &[0])]),
            ("Mish", &["u"], "y", &[]),
        ],
    );
    let shapes = network(
        &[2, 3, 4],
        &[("w", &[4, 4])],
        &[
            ("two", &[2]),
            ("zero", &[0]),
            ("rest", &[-1]),
            ("axes", &[0, 1]),
            ("pads", &[0, 0, 1, 0, 0, 1]),
        ],
        &[
            ("Shape", &["x"], "a", &[]),
            ("Gather", &["a", "two"], "b", &[("axis", &[0])]),
            ("Concat", &["rest", "b"], "c", &[("axis", &[0])]),
            ("Reshape", &["x", "c"], "d", &[]),
            ("Gemm", &["d", "w"], "e", &[]),
            ("Unsqueeze", &["e", "axes"], "f", &[]),
            ("Squeeze", &["f", "zero"], "g", &[]),
            ("Pad", &["g", "pads"], "h", &[]),
            ("Expand", &["h", "two"], "i", &[]),
            ("Tile", &["g", "pads"], "j", &[]),
            ("TopK", &["h", "two"], "y", &[("axis", &[-1])]),
        ],
    );
    vec![
        classifier,
        attention,
        shapes,
        named(),
        branches(),
        loops(),
        functions(),
    ]
}

/// Functions that call each other, with an attribute that one call leaves out.
fn functions() -> Message {
    let function = |name: &str, nodes: &[NodeEntry]| {
        let mut fields = vec![text(1, name), text(10, "own"), text(4, "x"), text(4, "w")];
        fields.push(text(5, "y"));
        fields.extend(nodes.iter().map(|entry| message(7, node_fields(entry))));
        fields.push(message(
            11,
            vec![text(1, "strides"), integer(8, 1), integer(8, 1)],
        ));
        message(25, fields)
    };
    let mut model = network(
        &[1, 4, 8, 8],
        &[("w", &[4, 4, 3, 3])],
        &[],
        &[
            ("own:Block", &["x", "w"], "a", &[("strides", &[2, 2])]),
            ("own:Twice", &["a", "w"], "b", &[]),
            ("Relu", &["b"], "y", &[]),
        ],
    );
    model.0.push(function(
        "Block",
        &[
            ("Conv", &["x", "w"], "a", &[("strides", &[])]),
            ("Sigmoid", &["a"], "y", &[]),
        ],
    ));
    model.0.push(function(
        "Twice",
        &[
            ("own:Block", &["x", "w"], "a", &[("strides", &[])]),
            ("own:Block", &["a", "w"], "y", &[]),
        ],
    ));
    model
}

/// Operators that TFLite does not have, and those of ONNX Runtime.
fn named() -> Message {
    network(
        &[1, 4, 8, 8],
        &[("w", &[4, 4, 3, 3]), ("r", &[2, 5]), ("scale", &[])],
        &[
            ("two", &[2]),
            ("sizes", &[1, 4, 6, 6]),
            ("sides", &[6, 6]),
            ("block", &[2, 2]),
            ("pads", &[0, 0, 1, 1, 0, 0, 1, 1]),
        ],
        &[
            (
                "MaxPool",
                &["x"],
                "a",
                &[("kernel_shape", &[2, 2]), ("dilations", &[2, 2])],
            ),
            (
                "LpPool",
                &["a"],
                "b",
                &[("kernel_shape", &[2, 2]), ("axis", &[0])],
            ),
            (
                "ConvTranspose",
                &["b", "w"],
                "c",
                &[("dilations", &[2, 2]), ("strides", &[2, 2])],
            ),
            (
                "DeformConv",
                &["x", "w", "x"],
                "d",
                &[("pads", &[1, 1, 1, 1])],
            ),
            ("RoiAlign", &["d", "r", "two"], "e", &[]),
            ("GridSample", &["d", "x"], "f", &[]),
            ("AffineGrid", &["x", "sizes"], "g", &[]),
            ("Resize", &["x", "", "", "sides"], "h", &[("axes", &[2, 3])]),
            ("CenterCropPad", &["h", "sides"], "i", &[("axes", &[2, 3])]),
            ("Col2Im", &["g", "sides", "block"], "j", &[]),
            ("OneHot", &["r", "two", "scale"], "k", &[("axis", &[0])]),
            ("DFT", &["x", "two"], "l", &[("axis", &[1])]),
            ("STFT", &["r", "two", "block"], "m", &[]),
            ("Attention", &["x", "x", "x"], "n", &[]),
            ("LSTM", &["g", "w", "w"], "o", &[]),
            ("DynamicQuantizeLinear", &["x"], "p", &[]),
            ("ConvInteger", &["p", "w"], "q", &[]),
            (
                "com.microsoft:QLinearAdd",
                &["q", "scale", "two", "q", "scale"],
                "s",
                &[],
            ),
            (
                "com.microsoft:QLinearConcat",
                &["scale", "two", "s", "scale", "two"],
                "t",
                &[("axis", &[1])],
            ),
            ("com.microsoft:Attention", &["t", "w"], "u", &[]),
            ("com.microsoft:MatMulNBits", &["u", "w"], "v", &[]),
            ("Mean", &["s", "t", "v"], "y", &[]),
        ],
    )
}

type NodeFields = Vec<(u32, Value)>;

fn node(op_type: &str, inputs: &[&str], outputs: &[&str]) -> NodeFields {
    let inputs = inputs.iter().map(|name| text(1, name));
    let outputs = outputs.iter().map(|name| text(2, name));
    inputs.chain(outputs).chain([text(4, op_type)]).collect()
}

/// An attribute that is a graph.
fn body(name: &str, inputs: &[&str], nodes: Vec<NodeFields>, outputs: &[&str]) -> (u32, Value) {
    let value = |number: u32, name: &str| message(number, vec![text(1, name)]);
    let nodes = nodes.into_iter().map(|node| message(1, node));
    let inputs = inputs.iter().map(|name| value(11, name));
    let outputs = outputs.iter().map(|name| value(12, name));
    let graph = nodes.chain(inputs).chain(outputs).collect();
    message(5, vec![text(1, name), message(6, graph), integer(20, 5)])
}

/// Adds nodes behind those of a network, the last of which writes `y`.
fn extended(mut network: Message, nodes: Vec<NodeFields>) -> Message {
    let mut fields = network.0.iter_mut();
    let graph = fields.find_map(|(number, value)| match value {
        Value::Message(graph) if *number == 7 => Some(graph),
        _ => None,
    });
    let graph = &mut graph.expect("a graph").0;
    graph.extend(nodes.into_iter().map(|node| message(1, node)));
    graph.push(message(12, vec![text(1, "y")]));
    network
}

/// A `Loop` that makes a sequence with another `Loop` in it, and a `Scan`; and results whose sizes depend on values.
fn loops() -> Message {
    let inner = body(
        "body",
        &["j", "inner_goes_on", "s"],
        vec![
            node("MatMul", &["s", "w"], &["s1"]),
            node("Less", &["j", "two"], &["inner_less"]),
        ],
        &["inner_less", "s1"],
    );
    let mut repeated = node("Loop", &["two", "", "part"], &["t"]);
    repeated.push(inner);
    let outer = body(
        "body",
        &["i", "goes_on", "list", "sum"],
        vec![
            node("Gather", &["x", "i"], &["part"]),
            repeated,
            node("SequenceInsert", &["list", "t"], &["longer"]),
            node("Add", &["sum", "t"], &["sum1"]),
        ],
        &["goes_on", "longer", "sum1", "t"],
    );
    let mut growing = node("Loop", &["two", "", "empty", "x"], &["all", "last", "kept"]);
    growing.push(outer);
    let step = body(
        "body",
        &["state", "row"],
        vec![node("Add", &["state", "row"], &["state1"])],
        &["state1", "state1"],
    );
    let mut scan = node("Scan", &["w", "kept"], &["end", "rows"]);
    scan.extend([
        step,
        message(
            5,
            vec![text(1, "num_scan_inputs"), integer(3, 1), integer(20, 2)],
        ),
    ]);
    let network = network(
        &[2, 8],
        &[("w", &[8, 8])],
        &[("two", &[2])],
        &[
            ("SequenceEmpty", &[], "empty", &[]),
            ("NonZero", &["x"], "found", &[]),
        ],
    );
    let nodes = vec![
        growing,
        scan,
        node("SequenceAt", &["all", "two"], &["one"]),
        node("ConcatFromSequence", &["all"], &["whole"]),
        node("NonMaxSuppression", &["rows", "rows", "two"], &["boxes"]),
        node("Unique", &["boxes"], &["u", "v"]),
        node("Compress", &["rows", "found"], &["y"]),
    ];
    extended(network, nodes)
}

/// An `If` in the body of another.
fn branches() -> Message {
    let body = |name: &str, nodes: Vec<NodeFields>, output: &str| body(name, &[], nodes, &[output]);
    let choice = |condition: &str, bodies: [(u32, Value); 2], output: &str| {
        let mut node = node("If", &[condition], &[output]);
        node.extend(bodies);
        node
    };
    let inner = [
        body("then_branch", vec![node("Relu", &["x"], &["a"])], "a"),
        body(
            "else_branch",
            vec![node("Tanh", &["x"], &["b"]), node("Exp", &["b"], &["c"])],
            "c",
        ),
    ];
    let inner = choice("zero", inner, "d");
    let outer = [
        body(
            "then_branch",
            vec![inner, node("Sqrt", &["d"], &["e"])],
            "e",
        ),
        body("else_branch", vec![node("Neg", &["x"], &["f"])], "f"),
    ];
    let network = network(
        &[1, 8],
        &[("w", &[8, 8])],
        &[("zero", &[0])],
        &[("Cast", &["zero"], "condition", &[("to", &[9])])],
    );
    let nodes = vec![
        choice("condition", outer, "g"),
        node("MatMul", &["g", "w"], &["y"]),
    ];
    extended(network, nodes)
}
