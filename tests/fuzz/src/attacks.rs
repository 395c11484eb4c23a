//! Files with a structure that somebody thought of, made from the description of the format alone: each strains one
//! dimension that a file may have (ranks, names, shared vectors, calls, scales, sparsity, ends, constants, loops,
//! sequences, nesting), by a random amount.

use litecast::formats::tflite::schema::{BuiltinOperator as Op, BuiltinOptions as Table};

use crate::attacks_json;
use crate::case::{Amounts, Case};
use crate::hostile_texts::{configurations, devices, profiles, reports};
use crate::kinds::{Arrangement, KINDS, MAP, network};
use crate::random::Random;
use crate::shapes::Network;
use crate::{hostile_graph, hostile_ncnn, hostile_onnx, hostile_tflite};
use litecast_tflite_files::options::{Options, Value};
use litecast_tflite_files::{File, Indices, Quantization, Sparsity, Subgraph, Tensor};

/// What is attacked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Tflite,
    Onnx,
    /// Graphs as JSON.
    Graph,
    Ncnn,
    /// What benchmark tools print.
    Profile,
    /// Measured devices.
    Device,
    /// `vela.ini`.
    Configuration,
    /// Stored reports.
    Report,
}

impl Format {
    pub const ALL: [Self; 8] = [
        Self::Tflite,
        Self::Onnx,
        Self::Graph,
        Self::Ncnn,
        Self::Profile,
        Self::Device,
        Self::Configuration,
        Self::Report,
    ];

    /// The format of the files of a call: two of three are networks of TFLite or ONNX.
    pub fn of_call(call: u64) -> Self {
        match call % 18 {
            0..7 => Self::Tflite,
            7..12 => Self::Onnx,
            at => Self::ALL[at as usize - 10],
        }
    }

    pub fn extension(self) -> &'static str {
        match self {
            Self::Tflite => "tflite",
            Self::Onnx => "onnx",
            Self::Graph | Self::Device | Self::Report => "json",
            Self::Ncnn => "param",
            Self::Profile => "csv",
            Self::Configuration => "ini",
        }
    }

    /// Kinds of short files that ask for much.
    pub fn cases(self) -> &'static [Case] {
        match self {
            Self::Tflite => hostile_tflite::CASES,
            Self::Onnx => hostile_onnx::CASES,
            Self::Graph => hostile_graph::CASES,
            Self::Ncnn => hostile_ncnn::CASES,
            Self::Profile => profiles::CASES,
            Self::Device => devices::CASES,
            Self::Configuration => configurations::CASES,
            Self::Report => reports::CASES,
        }
    }

    /// A structure in this format, as the bytes of a file.
    pub fn attack(self, random: &mut Random) -> Vec<u8> {
        match self {
            Self::Tflite if !random.one_in(4) => tflite(random).write(),
            Self::Graph if !random.one_in(2) => attacks_json::graph(random),
            _ => sized(self.cases(), random),
        }
    }
}

/// One of the short files that ask for much work, of any size up to that which tests use.
fn sized(cases: &[Case], random: &mut Random) -> Vec<u8> {
    let case = &cases[random.below(cases.len())];
    (case.file)(Amounts {
        n: random.amount().min(case.size),
        repeats: random.amount(),
    })
}

/// One of the structures of TFLite.
pub fn tflite(random: &mut Random) -> File {
    let attacks: [fn(&mut Random) -> File; 10] = [
        ranks,
        names,
        shared_operands,
        calls,
        scales,
        sparse,
        ends,
        writers,
        constants,
        kinds,
    ];
    random.pick(&attacks)(random)
}

fn small(random: &mut Random) -> File {
    let arrangement = random.pick(&Arrangement::ALL);
    let n = random.amount().min(12);
    network(&[random.pick(KINDS), random.pick(KINDS)], arrangement, n)
}

fn any_tensor<'f>(file: &'f mut File, random: &mut Random) -> &'f mut Tensor {
    let tensors = &mut file.subgraphs[0].tensors;
    let idx = random.below(tensors.len());
    &mut tensors[idx]
}

/// Shapes of many dimensions, of huge and negative ones, and signatures of another rank.
fn ranks(random: &mut Random) -> File {
    let mut file = small(random);
    let sides = [0, 1, 1, 1, 2, 8, -1, i32::MAX, i32::MIN, 1 << 16, 46_341];
    for _ in 0..1 + random.below(4) {
        let rank = random.pick(&[0, 1, 3, 4, 5, 8, 9, 64, 1000]);
        let shape: Vec<i32> = (0..rank).map(|_| random.pick(&sides)).collect();
        let is_signed = random.one_in(3);
        let tensor = any_tensor(&mut file, random);
        tensor.signature = is_signed.then(|| vec![-1; shape.len() / 2]);
        tensor.shape = shape;
    }
    file
}

/// Long names, names with characters of every kind, and the same name on all.
fn names(random: &mut Random) -> File {
    let mut file = small(random);
    let parts = [
        "a",
        "\u{0}",
        "\u{202e}",
        "\n",
        "|",
        "<b>",
        "é",
        "\u{1f600}",
        "\"",
        "%s",
    ];
    let name = random.pick(&parts).repeat(random.amount());
    match random.below(3) {
        0 => any_tensor(&mut file, random).name = name,
        1 => {
            let tensors = &mut file.subgraphs[0].tensors;
            (tensors.iter_mut().take(64)).for_each(|tensor| tensor.name.clone_from(&name));
        }
        _ => {
            let idx = random.below(file.codes.len());
            file.codes[idx].builtin = Op::CUSTOM.0;
            file.codes[idx].custom = Some(name);
        }
    }
    file
}

/// Many operators of one vector of operands, which the file stores once.
fn shared_operands(random: &mut Random) -> File {
    let mut network = Network::new(&MAP);
    let output = network.tensor(&MAP);
    let (n, n_operands) = (random.amount(), random.amount());
    let kind = random.pick(&[
        Op::CONCATENATION,
        Op::ADD_N,
        Op::PACK,
        Op::CUSTOM,
        Op::CALL_ONCE,
    ]);
    let operands = vec![0; n_operands];
    for _ in 0..n {
        let outputs = if random.one_in(2) {
            vec![output]
        } else {
            vec![output; n_operands]
        };
        network.operator(kind, &operands, &outputs, Options::default());
    }
    let mut file = network.finish(&[output]);
    file.shares_vectors = true;
    file
}

/// Subgraphs that call each other: in circles, in a chain, each the next one twice, or one that is not there.
fn calls(random: &mut Random) -> File {
    let mut file = small(random);
    let n = random.amount().min(300);
    let code = file.code(random.pick(&[Op::CALL, Op::IF, Op::WHILE, Op::CALL_ONCE]));
    let to = random.below(4);
    file.subgraphs = (0..n as i32)
        .map(|idx| {
            let callee = match to {
                0 => idx + 1,
                1 => (idx + 1) % n as i32,
                2 => 0,
                _ => n as i32 + 7,
            };
            let mut subgraph = file.subgraphs[0].clone();
            let tables = [Table::CallOptions, Table::IfOptions, Table::WhileOptions];
            for operator in subgraph.operators.iter_mut().take(2) {
                operator.code = code;
                operator.options = Options::zero(false, random.pick(&tables).0);
                let fields = operator.options.fields.iter_mut();
                fields.for_each(|field| *field = Value::Int(callee));
            }
            subgraph
        })
        .collect();
    file
}

/// Scales for each channel of any number and value.
fn scales(random: &mut Random) -> File {
    let mut file = small(random);
    let values = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::NAN,
        f32::INFINITY,
        f32::MIN_POSITIVE,
        f32::MAX,
        1e-45,
    ];
    let points = [0, -128, 255, i64::MIN, i64::MAX, 1 << 40];
    for _ in 0..1 + random.below(4) {
        let n = random.amount();
        let quantization = Quantization {
            scale: (0..n).map(|_| random.pick(&values)).collect(),
            zero_point: (0..random.pick(&[0, 1, n]))
                .map(|_| random.pick(&points))
                .collect(),
            dimension: random.pick(&[0, 1, 3, -1, 64, i32::MAX]),
        };
        any_tensor(&mut file, random).quantization = Some(quantization);
    }
    file
}

/// Sparse tensors whose orders, blocks, segments and indices fit nothing.
fn sparse(random: &mut Random) -> File {
    let mut file = small(random);
    let values = [0, 1, 2, 3, 8, 16, -1, i32::MAX, i32::MIN];
    for _ in 0..1 + random.below(4) {
        let list = |random: &mut Random, n: usize| -> Vec<i32> {
            (0..n).map(|_| random.pick(&values)).collect()
        };
        let n = random.amount().min(500);
        let sparsity = Sparsity {
            traversal_order: list(random, n),
            block_map: list(random, 4),
            dimensions: (0..n)
                .map(|_| {
                    let is_compressed = random.one_in(2);
                    let n_indices = random.below(20);
                    let indices = is_compressed
                        .then(|| [5, n_indices].map(|n| Indices::Ints(list(random, n))));
                    (random.pick(&values), indices)
                })
                .collect(),
        };
        any_tensor(&mut file, random).sparsity = Some(sparsity);
    }
    file
}

/// Inputs and outputs of the graph: many, the same, constants, none.
fn ends(random: &mut Random) -> File {
    let mut file = small(random);
    let n_tensors = file.subgraphs[0].tensors.len();
    let mut list = || -> Vec<i32> {
        let n = random.amount();
        let same = random.below(n_tensors) as i32;
        match random.below(3) {
            0 => vec![same; n],
            1 => (0..n).map(|idx| (idx % n_tensors) as i32).collect(),
            _ => Vec::new(),
        }
    };
    let (inputs, outputs) = (list(), list());
    let main = &mut file.subgraphs[0];
    (main.inputs, main.outputs) = (inputs, outputs);
    file
}

/// Operators that write what others write, and read what they write themselves.
fn writers(random: &mut Random) -> File {
    let mut file = small(random);
    let Subgraph {
        operators, tensors, ..
    } = &mut file.subgraphs[0];
    let copies: Vec<_> = operators
        .iter()
        .cycle()
        .take(random.amount())
        .cloned()
        .collect();
    operators.extend(copies);
    let n_tensors = tensors.len();
    for _ in 0..random.amount() {
        let idx = random.below(operators.len());
        let operator = &mut operators[idx];
        let tensor = random.below(n_tensors) as i32;
        let operands = if random.one_in(2) {
            &mut operator.inputs
        } else {
            &mut operator.outputs
        };
        match random.below(operands.len() + 1) {
            at if at < operands.len() => operands[at] = tensor,
            _ => operands.push(tensor),
        }
    }
    file
}

/// Constants of another length than their shape, shared by tensors of other types, and a plan of the arena.
fn constants(random: &mut Random) -> File {
    let mut file = small(random);
    let n = random.amount();
    file.buffers
        .push((0..4 * n).map(|_| random.next_u64() as u8).collect());
    let buffer = file.buffers.len() as u32 - 1;
    for _ in 0..1 + random.below(6) {
        let tensor_type = random.below(20) as i8;
        let tensor = any_tensor(&mut file, random);
        tensor.buffer = buffer;
        tensor.tensor_type = tensor_type;
    }
    if random.one_in(2) {
        file.metadata
            .push(("OfflineMemoryAllocation".into(), buffer));
    }
    file
}

/// Two kinds of operators as they should be, many of them.
fn kinds(random: &mut Random) -> File {
    let arrangement = random.pick(&Arrangement::ALL);
    let n = random.amount().min(400);
    network(&[random.pick(KINDS), random.pick(KINDS)], arrangement, n)
}
