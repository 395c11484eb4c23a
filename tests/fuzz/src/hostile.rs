//! Valid files that were made on purpose: each breaks a stage that is not linear in what the file has, or
//! that keeps too much for each operand.

use litecast::formats::tflite::schema::{BuiltinOperator, BuiltinOptions};

use crate::shapes::{INT8, INT32, INT64, Network, Shape};
use litecast_tflite_files::options::{Options, Value};
use litecast_tflite_files::{File, Quantization};

/// A file with its name in messages.
pub struct Case {
    pub name: &'static str,
    pub file: fn() -> File,
}

pub const CASES: &[Case] = &[
    Case {
        name: "20,000 graph outputs that name one tensor of 20,000 writers",
        file: outputs_of_one_tensor,
    },
    Case {
        name: "20,000 readers of one tensor of 20,000 writers",
        file: readers_of_one_tensor,
    },
    Case {
        name: "20,000 calls of a subgraph with 2,000 inputs and outputs",
        file: calls_with_many_ends,
    },
    Case {
        name: "one CONCATENATION of 100,000 inputs",
        file: || join(100_000, false),
    },
    Case {
        name: "one CONCATENATION of 250,000 inputs",
        file: || join(250_000, false),
    },
    Case {
        name: "five CONCATENATIONs that share one vector of 50,000 inputs",
        file: || shared_joins(50_000, 5),
    },
    Case {
        name: "one CONCATENATION of 450,000 inputs that are one tensor",
        file: || join(450_000, true),
    },
    Case {
        name: "one SPLIT of 100,000 outputs",
        file: || split(100_000),
    },
    Case {
        name: "one ADD of 100,000 inputs and 100,000 outputs",
        file: wide_add,
    },
    Case {
        name: "5,000 TRANSPOSEs whose order is one constant of a megabyte",
        file: large_orders,
    },
    Case {
        name: "5,000 MEANs whose axes are one constant of a megabyte",
        file: large_axes,
    },
    Case {
        name: "5,000 STRIDED_SLICEs whose strides are one constant of a megabyte",
        file: large_strides,
    },
    Case {
        name: "5,000 SCATTER_NDs whose indices are one constant of a megabyte",
        file: large_indices,
    },
    Case {
        name: "5,000 FULLY_CONNECTEDs of one output that share weights of a megabyte",
        file: || dense(5_000, None),
    },
    Case {
        name: "5,000 FULLY_CONNECTEDs that share a bias of a megabyte in 64 bits",
        file: || dense(5_000, Some(1 << 17)),
    },
    Case {
        name: "5,000 PRELUs that share slopes of a megabyte",
        file: shared_slopes,
    },
    Case {
        name: "5,000 RELUs that read the million channels of one CONV_2D",
        file: shared_channels,
    },
    Case {
        name: "5,000 CONV_2Ds of one tensor with a megabyte of zero points",
        file: shared_zero_points,
    },
    Case {
        name: "20,000 graph inputs that one operator each reads, all of them outputs too",
        file: many_ends,
    },
    Case {
        name: "8,000 LSTMs, each of which becomes some 70 operations",
        file: lstms,
    },
    Case {
        name: "16,000 operators that write one tensor with a name of half a megabyte",
        file: long_name_of_one_tensor,
    },
    Case {
        name: "16,000 operators of one kind with a name of half a megabyte",
        file: long_name_of_one_kind,
    },
    Case {
        name: "300,000 tensors that nothing uses",
        file: unused_tensors,
    },
    Case {
        name: "1,000 PACKs that share one vector of 400 inputs",
        file: shared_packs,
    },
    Case {
        name: "a chain of 8,000 operators",
        file: || Shape::Chain.file(8_000),
    },
];

const MAP: [i32; 4] = [1, 2, 2, 16];

const LONG_NAME_BYTES: usize = 500_000;

fn long_name_of_one_tensor() -> File {
    let mut network = Network::new(&MAP);
    let one = network.tensor(&MAP);
    (0..16_000).for_each(|_| relu(&mut network, 0, one));
    let mut file = network.finish(&[one]);
    file.subgraphs[0].tensors[one as usize].name = "n".repeat(LONG_NAME_BYTES);
    file
}

fn long_name_of_one_kind() -> File {
    let mut network = Network::new(&MAP);
    let one = network.tensor(&MAP);
    let none = Options::default();
    for _ in 0..16_000 {
        network.operator(BuiltinOperator::CUSTOM, &[0], &[one], none.clone());
    }
    let mut file = network.finish(&[one]);
    for code in &mut file.codes {
        code.custom = Some("n".repeat(LONG_NAME_BYTES));
    }
    file
}

fn unused_tensors() -> File {
    let mut network = Network::new(&MAP);
    let one = network.tensor(&MAP);
    relu(&mut network, 0, one);
    for _ in 0..300_000 {
        network.tensor(&MAP);
    }
    network.finish(&[one])
}

fn shared_packs() -> File {
    let mut network = Network::new(&MAP);
    let one = network.tensor(&MAP);
    let none = Options::default();
    for _ in 0..1_000 {
        network.operator(BuiltinOperator::PACK, &[0; 400], &[one], none.clone());
    }
    let mut file = network.finish(&[one]);
    file.shares_vectors = true;
    file
}

fn relu(network: &mut Network, input: i32, output: i32) {
    let none = Options::default();
    network.operator(BuiltinOperator::RELU, &[input], &[output], none);
}

fn outputs_of_one_tensor() -> File {
    let mut network = Network::new(&MAP);
    let one = network.tensor(&MAP);
    (0..20_000).for_each(|_| relu(&mut network, 0, one));
    network.finish(&vec![one; 20_000])
}

fn readers_of_one_tensor() -> File {
    let mut network = Network::new(&MAP);
    let one = network.tensor(&MAP);
    (0..20_000).for_each(|_| relu(&mut network, 0, one));
    let other = network.tensor(&MAP);
    (0..20_000).for_each(|_| relu(&mut network, one, other));
    network.finish(&[other])
}

fn calls_with_many_ends() -> File {
    let mut network = Network::new(&MAP);
    let callee = Options::with(BuiltinOptions::IfOptions, &[Value::Int(1), Value::Int(1)]);
    for _ in 0..20_000 {
        network.operator(BuiltinOperator::IF, &[0], &[0], callee.clone());
    }
    let mut file = network.finish(&[0]);
    let mut called = file.subgraphs[0].clone();
    called.operators.clear();
    called.inputs = vec![0; 2000];
    called.outputs = vec![0; 2000];
    file.subgraphs.push(called);
    file
}

fn join(n: usize, is_one: bool) -> File {
    let mut network = Network::new(&MAP);
    let part = network.tensor(&MAP);
    relu(&mut network, 0, part);
    let parts: Vec<i32> = if is_one {
        vec![part; n]
    } else {
        (0..n).map(|idx| [0, part][idx % 2]).collect()
    };
    let [b, h, w, c] = MAP;
    let joined = network.join(&parts, &[b, h, w, c.saturating_mul(n as i32)]);
    network.finish(&[joined])
}

fn shared_joins(n: usize, n_joins: usize) -> File {
    let mut network = Network::new(&MAP);
    let parts = vec![0; n];
    let [b, h, w, c] = MAP;
    let joined: Vec<i32> = (0..n_joins)
        .map(|_| network.join(&parts, &[b, h, w, c * n as i32]))
        .collect();
    let mut file = network.finish(&joined);
    file.shares_vectors = true;
    file
}

fn split(n: usize) -> File {
    let [b, h, w, c] = MAP;
    let mut network = Network::new(&[b, h, w, c * n as i32]);
    let part = network.tensor(&MAP);
    let axis = network.integers(&[3]);
    network.operator(
        BuiltinOperator::SPLIT,
        &[axis, 0],
        &vec![part; n],
        Options::with(BuiltinOptions::SplitOptions, &[Value::Int(n as i32)]),
    );
    let last = network.tensor(&MAP);
    relu(&mut network, part, last);
    let outputs = vec![last; n];
    network.finish(&outputs)
}

fn wide_add() -> File {
    let mut network = Network::new(&MAP);
    let n = 100_000;
    let options = Options::zero(false, BuiltinOptions::AddOptions.0);
    let sum = network.tensor(&MAP);
    network.operator(BuiltinOperator::ADD, &vec![0; n], &vec![sum; n], options);
    network.finish(&[sum])
}

fn with_large_constant(name: BuiltinOperator, kind: BuiltinOptions) -> File {
    let mut network = Network::new(&MAP);
    let layout = network.integers(&vec![1; 1 << 18]);
    let output = network.tensor(&MAP);
    for _ in 0..5000 {
        let options = Options::zero(false, kind.0);
        network.operator(name, &[0, layout], &[output], options);
    }
    network.finish(&[output])
}

fn large_orders() -> File {
    with_large_constant(BuiltinOperator::TRANSPOSE, BuiltinOptions::TransposeOptions)
}

fn large_axes() -> File {
    with_large_constant(BuiltinOperator::MEAN, BuiltinOptions::ReducerOptions)
}

fn large_strides() -> File {
    let mut network = Network::new(&MAP);
    let layout = network.integers(&vec![1; 1 << 18]);
    let output = network.tensor(&MAP);
    for _ in 0..5000 {
        let options = Options::zero(false, BuiltinOptions::StridedSliceOptions.0);
        let inputs = [0, layout, layout, layout];
        network.operator(BuiltinOperator::STRIDED_SLICE, &inputs, &[output], options);
    }
    network.finish(&[output])
}

fn large_indices() -> File {
    let n = 1 << 18;
    let mut network = Network::new(&[n, 16]);
    let contents = (0..n).flat_map(i32::to_le_bytes).collect();
    let indices = network.constant(INT32, &[n, 1], contents);
    let shape = network.integers(&[n, 16]);
    let output = network.tensor(&[n, 16]);
    for _ in 0..5000 {
        let options = Options::zero(false, BuiltinOptions::ScatterNdOptions.0);
        let inputs = [indices, 0, shape];
        network.operator(BuiltinOperator::SCATTER_ND, &inputs, &[output], options);
    }
    network.finish(&[output])
}

/// Products of one vector, each with a bias of so many values in 64 bits.
fn dense(n: usize, n_biases: Option<i32>) -> File {
    let (n_in, n_out) = match n_biases {
        None => (1 << 20, 1),
        Some(n_biases) => (1, n_biases),
    };
    let mut network = Network::new(&[1, n_in]);
    let weights = network.constant(INT8, &[n_out, n_in], vec![1; (n_in * n_out) as usize]);
    let bias = n_biases.map_or(-1, |n| {
        network.constant(INT64, &[n], vec![0; 8 * n as usize])
    });
    let output = network.tensor(&[1, n_out]);
    for _ in 0..n {
        let options = Options::zero(false, BuiltinOptions::FullyConnectedOptions.0);
        let inputs = [0, weights, bias];
        network.operator(
            BuiltinOperator::FULLY_CONNECTED,
            &inputs,
            &[output],
            options,
        );
    }
    network.finish(&[output])
}

fn shared_slopes() -> File {
    let shape = [1, 1, 1, 1 << 20];
    let mut network = Network::new(&shape);
    let slopes = network.constant(INT8, &shape[1..], (0..1 << 20).map(|n| n as u8).collect());
    let output = network.tensor(&shape);
    for _ in 0..5000 {
        let inputs = [0, slopes];
        network.operator(
            BuiltinOperator::PRELU,
            &inputs,
            &[output],
            Options::default(),
        );
    }
    network.finish(&[output])
}

fn shared_channels() -> File {
    let n = 1 << 20;
    let mut network = Network::new(&[1, 1, 1, 1]);
    let weights = network.constant(INT8, &[n, 1, 1, 1], vec![0; n as usize]);
    let channels = network.tensor(&[1, 1, 1, n]);
    let inputs = [0, weights, -1];
    network.operator(
        BuiltinOperator::CONV_2D,
        &inputs,
        &[channels],
        unit_strides(),
    );
    let outputs: Vec<i32> = (0..5000)
        .map(|_| {
            let output = network.tensor(&[1, 1, 1, n]);
            relu(&mut network, channels, output);
            output
        })
        .collect();
    network.finish(&outputs)
}

fn unit_strides() -> Options {
    let one = Value::Int(1);
    let fields = [
        Value::Byte(0),
        one.clone(),
        one.clone(),
        Value::Byte(0),
        one.clone(),
        one,
    ];
    Options::with(BuiltinOptions::Conv2DOptions, &fields)
}

fn shared_zero_points() -> File {
    let n = 1 << 17;
    let mut network = Network::new(&[1, 1, 1, n]);
    network.main().tensors[0].quantization = Some(Quantization {
        scale: vec![0.05; n as usize],
        zero_point: vec![0; n as usize],
        dimension: 3,
    });
    let weights = network.constant(INT8, &[1, 1, 1, n], vec![1; n as usize]);
    let output = network.tensor(&[1, 1, 1, 1]);
    for _ in 0..5000 {
        let inputs = [0, weights, -1];
        network.operator(BuiltinOperator::CONV_2D, &inputs, &[output], unit_strides());
    }
    network.finish(&[output])
}

fn lstms() -> File {
    let mut network = Network::new(&[1, 4, 16]);
    let matrix = network.filter(&[16, 16]);
    let bias = network.constant(2, &[16], vec![0; 64]);
    let output_state = network.tensor(&[1, 16]);
    let cell_state = network.tensor(&[1, 16]);
    for state in [output_state, cell_state] {
        network.main().tensors[state as usize].is_variable = true;
    }
    let output = network.tensor(&[1, 4, 16]);
    let mut inputs = vec![0];
    inputs.extend([matrix; 8]);
    inputs.extend([-1; 3]);
    inputs.extend([bias; 4]);
    inputs.extend([-1, -1, output_state, cell_state]);
    let options = BuiltinOptions::UnidirectionalSequenceLSTMOptions;
    for _ in 0..8000 {
        let name = BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM;
        network.operator(name, &inputs, &[output], Options::zero(false, options.0));
    }
    network.finish(&[output])
}

fn many_ends() -> File {
    let mut network = Network::new(&MAP);
    let inputs: Vec<i32> = (0..20_000).map(|_| network.tensor(&MAP)).collect();
    let output = network.tensor(&MAP);
    inputs
        .iter()
        .for_each(|&input| relu(&mut network, input, output));
    network.main().inputs = inputs.clone();
    network.finish(&inputs)
}
