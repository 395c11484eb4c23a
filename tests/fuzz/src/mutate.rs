//! Changes to a file that leave it a valid FlatBuffer: what the verifier lets through is where the stages
//! behind it begin.

use crate::random::Random;
use litecast_tflite_files::options::{Options, Value, n_kinds};
use litecast_tflite_files::{File, Operator, Quantization, Subgraph};

/// Numbers at the edges of types, of registers and of usual sizes.
const NUMBERS: [i32; 26] = [
    i32::MIN,
    -65_536,
    -5,
    -2,
    -1,
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    15,
    16,
    17,
    127,
    128,
    255,
    256,
    1000,
    4095,
    65_535,
    65_536,
    1 << 20,
    i32::MAX - 1,
    i32::MAX,
];

/// Operators in a mutant at most: larger ones have benchmarks and tests of their own.
const MAX_OPERATORS: usize = 2000;

/// Makes some changes.
pub fn mutate(file: &mut File, random: &mut Random) {
    for _ in 0..1 + random.below(6) {
        change(file, random);
    }
}

/// Flips or overwrites some bytes, which mostly ends in the verifier.
pub fn corrupt(bytes: &mut [u8], random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len());
        if let Some(byte) = bytes.get_mut(at) {
            let flipped = *byte ^ (1 << random.below(8));
            *byte = random.pick(&[0, 1, 0x7f, 0x80, 0xff, flipped]);
        }
    }
}

fn change(file: &mut File, random: &mut Random) {
    let n_subgraphs = file.subgraphs.len();
    let n_buffers = file.buffers.len();
    let n_codes = file.codes.len();
    if random.one_in(24) {
        return change_whole(file, random);
    }
    let subgraph_idx = random.below(n_subgraphs);
    let Some(subgraph) = file.subgraphs.get_mut(subgraph_idx) else {
        return;
    };
    match random.below(10) {
        0..=3 => change_tensor(subgraph, n_buffers, random),
        4..=7 => change_operator(subgraph, n_codes, random),
        8 => change_ends(subgraph, random),
        _ => change_order(subgraph, random),
    }
}

fn change_whole(file: &mut File, random: &mut Random) {
    match random.below(6) {
        0 => file.shares_vectors = true,
        1 => {
            let builtin = random.below(212) as i32;
            let custom = (builtin == 32).then(|| "Custom".to_owned());
            let at = random.below(file.codes.len());
            if let Some(code) = file.codes.get_mut(at) {
                (code.builtin, code.custom) = (builtin, custom);
            }
        }
        2 => {
            let n_operators = file.n_operators();
            if let Some(again) = file.subgraphs.first().cloned()
                && n_operators < MAX_OPERATORS
            {
                file.subgraphs.push(again);
            }
        }
        3 => {
            let words = [1, 0, random.below(9) as i32]
                .into_iter()
                .chain((0..random.below(40)).map(|_| 16 * random.below(1 << 20) as i32 - 1));
            file.buffers
                .push(words.flat_map(i32::to_le_bytes).collect());
            let plan = "OfflineMemoryAllocation".to_owned();
            file.metadata.push((plan, file.buffers.len() as u32 - 1));
        }
        _ => {
            let at = random.below(file.buffers.len());
            let Some(buffer) = file.buffers.get_mut(at) else {
                return;
            };
            match random.below(3) {
                0 => buffer.truncate(random.below(64)),
                1 => buffer.resize(random.below(4096), random.next_u64() as u8),
                _ => {
                    for word in buffer.chunks_exact_mut(4).take(16) {
                        word.copy_from_slice(&random.pick(&NUMBERS).to_le_bytes());
                    }
                }
            }
        }
    }
}

fn change_tensor(subgraph: &mut Subgraph, n_buffers: usize, random: &mut Random) {
    let at = random.below(subgraph.tensors.len());
    let Some(tensor) = subgraph.tensors.get_mut(at) else {
        return;
    };
    match random.below(10) {
        0..=3 => {
            let at = random.below(tensor.shape.len());
            if let Some(dimension) = tensor.shape.get_mut(at) {
                *dimension = random.pick(&NUMBERS);
            }
        }
        4 => tensor.shape.truncate(random.below(4)),
        5 => {
            for _ in 0..1 + random.below(5) {
                tensor.shape.push(random.pick(&NUMBERS));
            }
        }
        6 => tensor.tensor_type = random.below(22) as i8,
        7 => tensor.buffer = random.below(n_buffers) as u32,
        8 => {
            let mut signature = tensor.shape.clone();
            let at = random.below(signature.len());
            if let Some(dimension) = signature.get_mut(at) {
                *dimension = -1;
            }
            tensor.signature = Some(signature);
            tensor.is_variable = random.one_in(3);
        }
        _ => {
            let n_channels = [0, 1, 1, 16, 300][random.below(5)];
            let scale = random.pick(&[0.0, 1.0, 0.05, -1.0, f32::NAN, f32::INFINITY, 1e-38]);
            let zero_point = random.pick(&[0, -128, i64::MIN, i64::MAX, 1 << 53]);
            tensor.quantization = Some(Quantization {
                scale: vec![scale; n_channels],
                zero_point: vec![zero_point; n_channels],
                dimension: random.pick(&NUMBERS),
            });
        }
    }
}

fn change_operator(subgraph: &mut Subgraph, n_codes: usize, random: &mut Random) {
    let n_tensors = subgraph.tensors.len();
    let n_operators = subgraph.operators.len();
    let at = random.below(n_operators);
    let Some(operator) = subgraph.operators.get_mut(at) else {
        return;
    };
    match random.below(12) {
        0..=4 => change_field(&mut operator.options, random),
        5..=6 => change_indices(&mut operator.inputs, n_tensors, random),
        7 => change_indices(&mut operator.outputs, n_tensors, random),
        8 => operator.code = random.below(n_codes) as u32,
        9 => {
            let is_second = random.one_in(5);
            let kind = random.below(n_kinds(is_second)) as u8;
            operator.options = Options::zero(is_second, kind);
            (0..4).for_each(|_| change_field(&mut operator.options, random));
        }
        10 => {
            subgraph.operators.remove(at);
        }
        _ => {
            let again: Operator = operator.clone();
            let n = match random.below(64) {
                0 => 300,
                1..=3 => 30,
                few => 1 + few % 3,
            };
            if n_operators + n < MAX_OPERATORS {
                let at = random.below(n_operators);
                let copies = std::iter::repeat_n(again, n);
                subgraph.operators.splice(at..at, copies);
            }
        }
    }
}

fn some(random: &mut Random) -> Vec<i32> {
    let n = random.below(6);
    (0..n).map(|_| random.pick(&NUMBERS)).collect()
}

fn change_field(options: &mut Options, random: &mut Random) {
    let at = random.below(options.fields.len());
    let Some(field) = options.fields.get_mut(at) else {
        return;
    };
    match field {
        Value::Byte(value) => *value = random.pick(&[0, 1, 2, 3, 4, 5, 9, 17, 127, 128, 255]),
        Value::Int(value) => *value = random.pick(&NUMBERS),
        Value::Long(value) => *value = random.pick(&[0, 1, -1, i64::MIN, i64::MAX, 1 << 53]),
        Value::Float(value) => *value = random.pick(&[0.0, 1.0, -1.0, f32::NAN, f32::INFINITY]),
        Value::Text(value) => *value = "x".repeat(random.below(300)),
        Value::Bytes(values) => *values = some(random).into_iter().map(|v| v as u8).collect(),
        Value::Ints(values) => *values = some(random),
        Value::Longs(values) => *values = some(random).into_iter().map(i64::from).collect(),
        Value::Floats(values) => *values = some(random).into_iter().map(|v| v as f32).collect(),
    }
}

fn change_indices(indices: &mut Vec<i32>, n_tensors: usize, random: &mut Random) {
    let one = random.below(n_tensors) as i32;
    let at = random.below(indices.len());
    match random.below(8) {
        0..=3 if !indices.is_empty() => indices[at] = one,
        4 if !indices.is_empty() => indices[at] = -1,
        5 if !indices.is_empty() => {
            indices.remove(at);
        }
        6 => indices.extend(std::iter::repeat_n(one, random.pick(&[2, 10, 1000]))),
        _ => indices.push(one),
    }
}

fn change_ends(subgraph: &mut Subgraph, random: &mut Random) {
    let n_tensors = subgraph.tensors.len();
    if random.one_in(2) {
        change_indices(&mut subgraph.inputs, n_tensors, random)
    } else {
        change_indices(&mut subgraph.outputs, n_tensors, random)
    }
}

fn change_order(subgraph: &mut Subgraph, random: &mut Random) {
    let n = subgraph.operators.len();
    if n > 1 {
        subgraph.operators.swap(random.below(n), random.below(n));
    }
}
