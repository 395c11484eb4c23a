//! Valid networks of any size, by the shape of their graphs.

use litecast::formats::tflite::schema::{BuiltinOperator, BuiltinOptions};

use litecast_tflite_files::options::{Options, Value};
use litecast_tflite_files::{File, Operator, Quantization, Subgraph, Tensor};

/// Numbers of `TensorType`.
pub const FLOAT32: i8 = 0;
pub const INT8: i8 = 9;
pub const INT32: i8 = 2;
pub const INT64: i8 = 4;

/// Kinds of graphs, each of which can be made of so many operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// One after the other.
    Chain,
    /// All side by side, joined at the end.
    Wide,
    /// Blocks of attention and of two dense layers.
    Transformer,
    /// Each block adds what an earlier one computed.
    Skips,
    /// Each join reads a hundred results.
    ManyInputs,
    /// Each split writes a hundred results.
    ManyOutputs,
    /// Subgraphs that call each other, eight deep.
    Nested,
    /// Each result of the first half is read once more in the second half, the last one first.
    Mirrored,
    /// Feature maps of 256 kB, of which few are in SRAM at once.
    Large,
    /// As many inputs of floats, each converted to int8 and used once.
    Inputs,
}

impl Shape {
    pub const ALL: [Self; 10] = [
        Self::Chain,
        Self::Wide,
        Self::Transformer,
        Self::Skips,
        Self::ManyInputs,
        Self::ManyOutputs,
        Self::Nested,
        Self::Mirrored,
        Self::Large,
        Self::Inputs,
    ];

    /// A network of about so many operators.
    pub fn file(self, n_operators: usize) -> File {
        match self {
            Self::Chain => chain(n_operators),
            Self::Wide => wide(n_operators),
            Self::Transformer => transformer(n_operators),
            Self::Skips => skips(n_operators),
            Self::ManyInputs => many_inputs(n_operators),
            Self::ManyOutputs => many_outputs(n_operators),
            Self::Nested => nested(n_operators),
            Self::Mirrored => mirrored(n_operators),
            Self::Large => large(n_operators),
            Self::Inputs => inputs(n_operators),
        }
    }
}

/// A network while it is built: int8, one input, one subgraph.
pub struct Network {
    pub file: File,
    /// Filters by their shapes: networks of many operators would be large files otherwise.
    filters: Vec<(Vec<i32>, u32)>,
    /// Tensors of integers that several operators share, by their values.
    pub integers: Vec<(Vec<i32>, i32)>,
    /// Number of `TensorType` of the activations.
    pub element: i8,
}

impl Network {
    /// With an input of this shape, which is tensor 0.
    pub fn new(input: &[i32]) -> Self {
        let mut network = Self {
            file: File {
                buffers: vec![Vec::new()],
                subgraphs: vec![Subgraph::default()],
                ..File::default()
            },
            filters: Vec::new(),
            integers: Vec::new(),
            element: INT8,
        };
        let input = network.tensor(input);
        network.main().inputs.push(input);
        network
    }

    pub fn main(&mut self) -> &mut Subgraph {
        &mut self.file.subgraphs[0]
    }

    /// An activation.
    pub fn tensor(&mut self, shape: &[i32]) -> i32 {
        let element = self.element;
        let tensors = &mut self.main().tensors;
        tensors.push(Tensor {
            name: format!("t{}", tensors.len()),
            tensor_type: element,
            shape: shape.to_vec(),
            quantization: (element == INT8).then(|| Quantization {
                scale: vec![0.05],
                zero_point: vec![0],
                dimension: 0,
            }),
            ..Tensor::default()
        });
        tensors.len() as i32 - 1
    }

    /// A constant of such contents.
    pub fn constant(&mut self, tensor_type: i8, shape: &[i32], contents: Vec<u8>) -> i32 {
        self.file.buffers.push(contents);
        let buffer = self.file.buffers.len() as u32 - 1;
        let idx = self.tensor(shape);
        let tensor = &mut self.main().tensors[idx as usize];
        tensor.tensor_type = tensor_type;
        tensor.buffer = buffer;
        idx
    }

    pub fn integers(&mut self, values: &[i32]) -> i32 {
        let contents = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        self.constant(INT32, &[values.len() as i32], contents)
    }

    /// Weights of this shape, in a buffer that all of the shape share.
    pub fn filter(&mut self, shape: &[i32]) -> i32 {
        let known = self.filters.iter().find(|(known, _)| known == shape);
        if let Some(&(_, buffer)) = known {
            let idx = self.tensor(shape);
            self.main().tensors[idx as usize].buffer = buffer;
            return idx;
        }
        let n: i32 = shape.iter().product();
        let element_bytes = if self.element == FLOAT32 { 4 } else { 1 };
        let contents = (0..n * element_bytes).map(|i| (i * 37 % 251) as u8);
        let idx = self.constant(self.element, shape, contents.collect());
        let buffer = self.file.buffers.len() as u32 - 1;
        self.filters.push((shape.to_vec(), buffer));
        idx
    }

    pub fn operator(
        &mut self,
        name: BuiltinOperator,
        inputs: &[i32],
        outputs: &[i32],
        options: Options,
    ) {
        let code = self.file.code(name);
        self.main().operators.push(Operator {
            code,
            inputs: inputs.to_vec(),
            outputs: outputs.to_vec(),
            options,
            ..Operator::default()
        });
    }

    /// A convolution of 1×1 to as many channels.
    pub fn convolution(&mut self, input: i32, shape: &[i32; 4]) -> i32 {
        let channels = shape[3];
        let filter = self.filter(&[channels, 1, 1, channels]);
        let output = self.tensor(shape);
        let one = Value::Int(1);
        let fields = [
            Value::Byte(0),
            one.clone(),
            one.clone(),
            Value::Byte(1),
            one.clone(),
            one,
        ];
        self.operator(
            BuiltinOperator::CONV_2D,
            &[input, filter],
            &[output],
            Options::with(BuiltinOptions::Conv2DOptions, &fields),
        );
        output
    }

    pub fn add(&mut self, inputs: [i32; 2], shape: &[i32]) -> i32 {
        let output = self.tensor(shape);
        let options = Options::zero(false, BuiltinOptions::AddOptions.0);
        self.operator(BuiltinOperator::ADD, &inputs, &[output], options);
        output
    }

    /// Rows of `shape` times weights to `units`.
    pub fn dense(&mut self, input: i32, shape: &[i32], units: i32) -> i32 {
        let depth = shape[shape.len() - 1];
        let filter = self.filter(&[units, depth]);
        let mut written = shape.to_vec();
        *written.last_mut().expect("shapes here have a channel") = units;
        let output = self.tensor(&written);
        let options = Options::zero(false, BuiltinOptions::FullyConnectedOptions.0);
        let name = BuiltinOperator::FULLY_CONNECTED;
        self.operator(name, &[input, filter], &[output], options);
        output
    }

    pub fn join(&mut self, inputs: &[i32], shape: &[i32]) -> i32 {
        let output = self.tensor(shape);
        let fields = [Value::Int(shape.len() as i32 - 1)];
        self.operator(
            BuiltinOperator::CONCATENATION,
            inputs,
            &[output],
            Options::with(BuiltinOptions::ConcatenationOptions, &fields),
        );
        output
    }

    pub fn split(&mut self, input: i32, n: usize, shape: &[i32]) -> Vec<i32> {
        let axis = self.integers(&[shape.len() as i32 - 1]);
        let outputs: Vec<i32> = (0..n).map(|_| self.tensor(shape)).collect();
        self.operator(
            BuiltinOperator::SPLIT,
            &[axis, input],
            &outputs,
            Options::with(BuiltinOptions::SplitOptions, &[Value::Int(n as i32)]),
        );
        outputs
    }

    pub fn n_operators(&mut self) -> usize {
        self.main().operators.len()
    }

    pub fn finish(mut self, outputs: &[i32]) -> File {
        self.main().outputs = outputs.to_vec();
        self.file
    }
}

const MAP: [i32; 4] = [1, 8, 8, 16];

fn chain(n_operators: usize) -> File {
    let mut network = Network::new(&MAP);
    let mut last = 0;
    while network.n_operators() < n_operators {
        last = network.convolution(last, &MAP);
    }
    network.finish(&[last])
}

fn wide(n_operators: usize) -> File {
    let mut network = Network::new(&MAP);
    let outputs: Vec<i32> = (1..n_operators.max(2))
        .map(|_| network.convolution(0, &MAP))
        .collect();
    let [n, h, w, c] = MAP;
    let joined = network.join(&outputs, &[n, h, w, c * outputs.len() as i32]);
    network.finish(&[joined])
}

fn transformer(n_operators: usize) -> File {
    const TOKENS: [i32; 3] = [1, 16, 32];
    const SCORES: [i32; 3] = [1, 16, 16];
    let mut network = Network::new(&TOKENS);
    let order = network.integers(&[0, 2, 1]);
    let mut last = 0;
    let zero = |kind: BuiltinOptions| Options::zero(false, kind.0);
    while network.n_operators() < n_operators {
        let [q, k, v] = [0; 3].map(|_| network.dense(last, &TOKENS, TOKENS[2]));
        let turned = network.tensor(&[1, 32, 16]);
        network.operator(
            BuiltinOperator::TRANSPOSE,
            &[k, order],
            &[turned],
            zero(BuiltinOptions::TransposeOptions),
        );
        let scores = network.tensor(&SCORES);
        network.operator(
            BuiltinOperator::BATCH_MATMUL,
            &[q, turned],
            &[scores],
            zero(BuiltinOptions::BatchMatMulOptions),
        );
        let shares = network.tensor(&SCORES);
        network.operator(
            BuiltinOperator::SOFTMAX,
            &[scores],
            &[shares],
            Options::with(BuiltinOptions::SoftmaxOptions, &[Value::Float(1.0)]),
        );
        let mixed = network.tensor(&TOKENS);
        network.operator(
            BuiltinOperator::BATCH_MATMUL,
            &[shares, v],
            &[mixed],
            zero(BuiltinOptions::BatchMatMulOptions),
        );
        let added = network.add([mixed, last], &TOKENS);
        let inner = network.dense(added, &TOKENS, 64);
        let outer = network.dense(inner, &[1, 16, 64], TOKENS[2]);
        last = network.add([outer, added], &TOKENS);
    }
    network.finish(&[last])
}

fn skips(n_operators: usize) -> File {
    /// Results back to which a block reaches.
    const REACH: usize = 32;
    let mut network = Network::new(&MAP);
    let mut results = vec![0];
    while network.n_operators() < n_operators {
        let last = results[results.len() - 1];
        let convolved = network.convolution(last, &MAP);
        let earlier = results[results.len().saturating_sub(REACH)];
        results.push(network.add([convolved, earlier], &MAP));
    }
    network.finish(&results[results.len() - 1..])
}

const PARTS: usize = 100;

fn many_inputs(n_operators: usize) -> File {
    let mut network = Network::new(&MAP);
    let mut last = 0;
    let [n, h, w, c] = MAP;
    while network.n_operators() < n_operators {
        let parts: Vec<i32> = (0..PARTS)
            .map(|_| network.convolution(last, &MAP))
            .collect();
        let joined = network.join(&parts, &[n, h, w, c * PARTS as i32]);
        let output = network.tensor(&MAP);
        let filter = network.filter(&[c, 1, 1, c * PARTS as i32]);
        let one = Value::Int(1);
        network.operator(
            BuiltinOperator::CONV_2D,
            &[joined, filter],
            &[output],
            Options::with(
                BuiltinOptions::Conv2DOptions,
                &[
                    Value::Byte(0),
                    one.clone(),
                    one.clone(),
                    Value::Byte(0),
                    one.clone(),
                    one,
                ],
            ),
        );
        last = output;
    }
    network.finish(&[last])
}

fn many_outputs(n_operators: usize) -> File {
    let [n, h, w, c] = MAP;
    let whole = [n, h, w, c * PARTS as i32];
    let mut network = Network::new(&whole);
    let mut last = 0;
    while network.n_operators() < n_operators {
        let parts = network.split(last, PARTS, &MAP);
        let parts: Vec<i32> = (parts.into_iter())
            .map(|part| network.convolution(part, &MAP))
            .collect();
        last = network.join(&parts, &whole);
    }
    network.finish(&[last])
}

fn nested(n_operators: usize) -> File {
    const DEPTH: usize = 8;
    let per_subgraph = (n_operators / DEPTH).max(2);
    let mut file = chain(per_subgraph);
    let call = file.code(BuiltinOperator::CALL);
    file.subgraphs = vec![file.subgraphs[0].clone(); DEPTH];
    for (callee, caller) in (1..DEPTH as i32).zip(&mut file.subgraphs) {
        if let Some(operator) = caller.operators.last_mut() {
            operator.code = call;
            operator.inputs.truncate(1);
            operator.options = Options::with(BuiltinOptions::CallOptions, &[Value::Int(callee)]);
        }
    }
    file
}

fn mirrored(n_operators: usize) -> File {
    let mut network = Network::new(&MAP);
    let mut results = vec![0];
    while results.len() < (n_operators / 2).max(2) {
        let last = results[results.len() - 1];
        results.push(network.convolution(last, &MAP));
    }
    let mut last = results[results.len() - 1];
    for &earlier in results.iter().rev() {
        last = network.add([last, earlier], &MAP);
    }
    network.finish(&[last])
}

fn large(n_operators: usize) -> File {
    const LARGE_MAP: [i32; 4] = [1, 64, 64, 64];
    let mut network = Network::new(&LARGE_MAP);
    let mut last = 0;
    while network.n_operators() < n_operators {
        last = network.convolution(last, &LARGE_MAP);
    }
    network.finish(&[last])
}

fn inputs(n_operators: usize) -> File {
    let mut network = Network::new(&MAP);
    let mut last = 0;
    while network.n_operators() < n_operators {
        let input = network.tensor(&MAP);
        let tensor = &mut network.main().tensors[input as usize];
        (tensor.tensor_type, tensor.quantization) = (FLOAT32, None);
        network.main().inputs.push(input);
        let converted = network.tensor(&MAP);
        let name = BuiltinOperator::QUANTIZE;
        network.operator(name, &[input], &[converted], Options::default());
        last = network.add([last, converted], &MAP);
    }
    network.finish(&[last])
}
