//! TFLite files in which a few bytes ask for much, of any size. `hostile` has some of fixed size besides.

use litecast::formats::tflite::schema::{BuiltinOperator as Op, BuiltinOptions as Table};

use crate::case::{Amounts, cases};
use crate::shapes::{FLOAT32, INT8, INT32, INT64, Network};
use litecast_tflite_files::options::{Options, Value};
use litecast_tflite_files::{Code, File, Indices, Operator, Sparsity, Subgraph};

cases! {
    shared_integers 5_000,
    shared_weights 5_000,
    shared_sparse_weights 5_000,
    shared_float_weights 5_000,
    described_metadata 100_000,
    plans_of_the_arena 400_000,
    empty_subgraphs 20_000,
    calls_of_large_bodies 4_000,
    tree_of_calls 300,
    circle_of_calls 300,
    many_codes 100_000,
    chain_of_rank_32 8_000,
    doubled_joins 2_000,
    tiles 8_000,
    variables 8_000,
    recurrent_intermediates 4_000,
    huge_windows 4_000,
    joins_of_constants 400,
    splits_of_constants 200,
    packs_and_unpacks 2_000,
    lookups_of_one_table 5_000,
    slices_of_one_tensor 8_000,
    reshapes_of_one_constant 8_000,
    transposed_weights 4_000,
    converted_weights 4_000,
    attention_of_one_input 2_000,
}

/// Kinds of operators in the schema.
pub const N_KINDS: usize = 210;

const MAP: [i32; 4] = [1, 8, 8, 16];

/// As many operators of one kind, the number of which `repeats` is, that read one large constant in every place but the
/// first.
fn shared(Amounts { n, repeats }: Amounts, tensor_type: i8, element_bytes: usize) -> Vec<u8> {
    let mut network = Network::new(&MAP);
    let n_values = if n > 1_000 { 1 << 18 } else { n };
    let shape = [1, 1, 16, (n_values / 16).max(1) as i32];
    let bytes = vec![1; 16 * shape[3] as usize * element_bytes];
    let constant = network.constant(tensor_type, &shape, bytes);
    let output = network.tensor(&MAP);
    let kind = Op((repeats % N_KINDS) as i32);
    for _ in 0..n {
        let inputs = [0, constant, constant, constant];
        network.operator(kind, &inputs, &[output], Options::default());
    }
    network.finish(&[output]).write()
}

fn shared_integers(amounts: Amounts) -> Vec<u8> {
    shared(amounts, INT32, 4)
}

fn shared_weights(amounts: Amounts) -> Vec<u8> {
    shared(amounts, INT8, 1)
}

fn shared_float_weights(amounts: Amounts) -> Vec<u8> {
    shared(amounts, FLOAT32, 4)
}

/// A constant that is the first operand.
fn of_constant(Amounts { n, repeats }: Amounts, kind: Op, is_behind: bool) -> Vec<u8> {
    let mut network = Network::new(&MAP);
    let side = repeats.max(16) as i32;
    let constant = network.constant(INT8, &[side, 64], vec![1; 64 * side as usize]);
    let order = network.integers(&[1, 0]);
    let outputs: Vec<i32> = (0..n)
        .map(|_| {
            let output = network.tensor(&[64, side]);
            let inputs = if is_behind {
                [order, constant]
            } else {
                [constant, order]
            };
            network.operator(kind, &inputs, &[output], Options::default());
            output
        })
        .collect();
    network.finish(&outputs).write()
}

fn reshapes_of_one_constant(amounts: Amounts) -> Vec<u8> {
    of_constant(amounts, Op::RESHAPE, false)
}

fn transposed_weights(amounts: Amounts) -> Vec<u8> {
    of_constant(amounts, Op::TRANSPOSE, false)
}

fn converted_weights(amounts: Amounts) -> Vec<u8> {
    of_constant(amounts, Op::DEQUANTIZE, false)
}

fn splits_of_constants(amounts: Amounts) -> Vec<u8> {
    of_constant(amounts, Op::SPLIT, true)
}

fn lookups_of_one_table(amounts: Amounts) -> Vec<u8> {
    of_constant(amounts, Op::EMBEDDING_LOOKUP, true)
}

fn joins_of_constants(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut network = Network::new(&MAP);
    let constant = network.constant(INT8, &MAP, vec![1; 1024]);
    let outputs: Vec<i32> = (0..n)
        .map(|_| network.join(&vec![constant; repeats.min(1_000)], &[1, 8, 8, 16]))
        .collect();
    let mut file = network.finish(&outputs);
    file.shares_vectors = true;
    file.write()
}

fn shared_sparse_weights(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut network = Network::new(&[1, 64]);
    let weights = network.constant(INT8, &[1 << 20, 64], vec![1; repeats]);
    network.main().tensors[weights as usize].sparsity = Some(Sparsity {
        traversal_order: vec![0, 1],
        block_map: Vec::new(),
        dimensions: vec![
            (1 << 20, None),
            (
                64,
                Some([0, 63].map(|idx| Indices::Ints(vec![idx; repeats]))),
            ),
        ],
    });
    let output = network.tensor(&[1, 1 << 20]);
    for _ in 0..n {
        let options = Options::zero(false, Table::FullyConnectedOptions.0);
        network.operator(Op::FULLY_CONNECTED, &[0, weights, -1], &[output], options);
    }
    network.finish(&[output]).write()
}

fn relu(network: &mut Network, input: i32) -> i32 {
    let output = network.tensor(&MAP);
    network.operator(Op::RELU, &[input], &[output], Options::default());
    output
}

fn small() -> File {
    let mut network = Network::new(&MAP);
    let output = relu(&mut network, 0);
    network.finish(&[output])
}

fn described_metadata(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut file = small();
    file.buffers.push(vec![7; repeats]);
    let buffer = file.buffers.len() as u32 - 1;
    let names = [
        "min_runtime_version",
        "TFLITE_METADATA",
        "",
        "OfflineMemoryAllocation",
    ];
    file.metadata = (0..n)
        .map(|at| (names[at % names.len()].to_owned(), buffer))
        .collect();
    file.write()
}

fn plans_of_the_arena(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut file = small();
    let words = [1, 0, n as i32]
        .into_iter()
        .chain((0..n).map(|at| at as i32 * 16));
    file.buffers
        .push(words.flat_map(i32::to_le_bytes).collect());
    let buffer = file.buffers.len() as u32 - 1;
    file.metadata = vec![("OfflineMemoryAllocation".to_owned(), buffer); repeats];
    file.write()
}

fn empty_subgraphs(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let mut file = small();
    file.subgraphs.extend(vec![Subgraph::default(); n]);
    file.write()
}

/// Operators that call the next subgraph, in each of them.
fn called(n_subgraphs: usize, n_calls: usize, callee: impl Fn(usize) -> usize) -> Vec<u8> {
    let mut file = small();
    let code = file.code(Op::CALL);
    let first = file.subgraphs[0].clone();
    for at in 0..n_subgraphs {
        let mut subgraph = first.clone();
        let to = Value::Int(callee(at) as i32);
        let call = Operator {
            code,
            inputs: vec![0],
            outputs: vec![1],
            options: Options::with(Table::CallOptions, &[to]),
            ..Operator::default()
        };
        if at + 1 < n_subgraphs {
            subgraph.operators = vec![call; n_calls];
        }
        match at {
            0 => file.subgraphs[0] = subgraph,
            _ => file.subgraphs.push(subgraph),
        }
    }
    file.write()
}

fn tree_of_calls(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    called(n, 2 + repeats % 3, |at| at + 1)
}

fn circle_of_calls(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    called(n, 1 + repeats % 3, |at| (at + 1) % n)
}

fn calls_of_large_bodies(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut file = small();
    let code = file.code(Op::CALL);
    let mut body = file.subgraphs[0].clone();
    body.operators = vec![body.operators[0].clone(); repeats];
    let call = Operator {
        code,
        inputs: vec![0],
        outputs: vec![1],
        options: Options::with(Table::CallOptions, &[Value::Int(1)]),
        ..Operator::default()
    };
    file.subgraphs[0].operators = vec![call; n];
    file.subgraphs.push(body);
    file.write()
}

fn many_codes(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut file = small();
    let code = Code {
        builtin: Op::CUSTOM.0,
        custom: Some("c".repeat(repeats % 16)),
        ..Code::default()
    };
    file.codes.extend(vec![code; n]);
    file.write()
}

fn chain_of_rank_32(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let shape = [1; 32];
    let mut network = Network::new(&shape);
    let mut last = 0;
    for at in 0..n {
        let next = network.tensor(&shape);
        let kind = [Op::RELU, Op::ADD, Op::TRANSPOSE, Op::SOFTMAX][at % 4];
        network.operator(kind, &[last, last], &[next], Options::default());
        last = next;
    }
    network.finish(&[last]).write()
}

/// Each twice as large as the one before.
fn doubled_joins(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let mut network = Network::new(&MAP);
    let (mut last, mut channels) = (0, 16_i32);
    for _ in 0..n {
        channels = channels.saturating_mul(2);
        last = network.join(&[last, last], &[1, 8, 8, channels]);
    }
    network.finish(&[last]).write()
}

fn tiles(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut network = Network::new(&MAP);
    let multiples = network.integers(&[1, 1, 1, repeats as i32]);
    let mut last = 0;
    for _ in 0..n {
        let next = network.tensor(&[1, 8, 8, i32::MAX]);
        let options = Options::zero(false, Table::TileOptions.0);
        network.operator(Op::TILE, &[last, multiples], &[next], options);
        last = next;
    }
    network.finish(&[last]).write()
}

fn variables(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let mut network = Network::new(&MAP);
    let mut last = 0;
    for at in 0..n {
        let handle = network.tensor(&[1]);
        let next = network.tensor(&MAP);
        network.main().tensors[handle as usize].is_variable = at % 2 == 0;
        network.operator(Op::VAR_HANDLE, &[], &[handle], Options::default());
        network.operator(
            Op::ASSIGN_VARIABLE,
            &[handle, last],
            &[],
            Options::default(),
        );
        network.operator(Op::READ_VARIABLE, &[handle], &[next], Options::default());
        last = next;
    }
    network.finish(&[last]).write()
}

fn recurrent_intermediates(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut network = Network::new(&[1, 4, 16]);
    let output = network.tensor(&[1, 4, 16]);
    for _ in 0..n {
        let options = Options::zero(false, Table::UnidirectionalSequenceLSTMOptions.0);
        network.operator(
            Op::UNIDIRECTIONAL_SEQUENCE_LSTM,
            &[0; 24],
            &[output],
            options,
        );
    }
    let mut file = network.finish(&[output]);
    file.shares_vectors = true;
    let operators = &mut file.subgraphs[0].operators;
    operators
        .iter_mut()
        .for_each(|operator| operator.intermediates = vec![0; repeats.min(100)]);
    file.write()
}

fn huge_windows(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let mut network = Network::new(&[1, 1 << 15, 1 << 15, 1]);
    let side = Value::Int([1, 7, 32_767, i32::MAX][repeats % 4]);
    let fields = [
        Value::Byte(0),
        side.clone(),
        side.clone(),
        side.clone(),
        side,
    ];
    let mut last = 0;
    for _ in 0..n {
        let next = network.tensor(&[1, 1 << 15, 1 << 15, 1]);
        let options = Options::with(Table::Pool2DOptions, &fields);
        network.operator(Op::MAX_POOL_2D, &[last], &[next], options);
        last = next;
    }
    network.finish(&[last]).write()
}

fn packs_and_unpacks(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let width = repeats.clamp(1, 60);
    let mut network = Network::new(&MAP);
    let mut last = vec![0; width];
    for _ in 0..n.min(300) {
        let packed = network.tensor(&[width as i32, 1, 8, 8, 16]);
        network.operator(Op::PACK, &last, &[packed], Options::default());
        last = (0..width).map(|_| network.tensor(&MAP)).collect();
        network.operator(Op::UNPACK, &[packed], &last, Options::default());
    }
    let outputs = [last[0]];
    network.finish(&outputs).write()
}

fn slices_of_one_tensor(Amounts { n, .. }: Amounts) -> Vec<u8> {
    let mut network = Network::new(&MAP);
    let begin = network.integers(&[0, 0, 0, 0]);
    let size = network.integers(&[1, 1, 1, 1]);
    let outputs: Vec<i32> = (0..n)
        .map(|_| {
            let output = network.tensor(&[1, 1, 1, 1]);
            let options = Options::zero(false, Table::SliceOptions.0);
            network.operator(Op::SLICE, &[0, begin, size], &[output], options);
            output
        })
        .collect();
    let joined = network.join(&outputs, &[1, 1, 1, n as i32]);
    network.finish(&[joined]).write()
}

fn attention_of_one_input(Amounts { n, repeats }: Amounts) -> Vec<u8> {
    let side = 1 + (repeats % 512) as i32;
    let mut network = Network::new(&[1, side, 64]);
    network.element = if repeats % 2 == 0 { INT8 } else { INT64 };
    let mut last = 0;
    for _ in 0..n {
        let scores = network.tensor(&[1, side, side]);
        let options = Options::with(Table::BatchMatMulOptions, &[Value::Byte(0), Value::Byte(1)]);
        network.operator(Op::BATCH_MATMUL, &[last, 0], &[scores], options);
        let shares = network.tensor(&[1, side, side]);
        let options = Options::zero(false, Table::SoftmaxOptions.0);
        network.operator(Op::SOFTMAX, &[scores], &[shares], options);
        let next = network.tensor(&[1, side, 64]);
        let options = Options::zero(false, Table::BatchMatMulOptions.0);
        network.operator(Op::BATCH_MATMUL, &[shares, 0], &[next], options);
        last = next;
    }
    network.finish(&[last]).write()
}
