//! Networks of 70 operators in int8, as a search makes them: each as a file and as a graph without weights.

use std::collections::BTreeMap;

use litecast::formats::tflite::schema::{BuiltinOperator, BuiltinOptions, TensorType};
use litecast_fuzz::file::{self, File, Subgraph};
use litecast_fuzz::options::{Options, Value as Field};
use serde_json::{Value, json};

pub const N_OPERATORS: usize = 70;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Add,
    Convolution,
    Depthwise,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Add => "ADD",
            Self::Convolution => "CONV_2D",
            Self::Depthwise => "DEPTHWISE_CONV_2D",
        }
    }

    fn code(self) -> BuiltinOperator {
        match self {
            Self::Add => BuiltinOperator::ADD,
            Self::Convolution => BuiltinOperator::CONV_2D,
            Self::Depthwise => BuiltinOperator::DEPTHWISE_CONV_2D,
        }
    }

    /// Strides and dilations of 1, padding `SAME`, and `RELU6` after what has weights.
    fn options(self) -> Options {
        const SAME: Field = Field::Byte(0);
        const RELU6: Field = Field::Byte(3);
        const ONE: Field = Field::Int(1);
        match self {
            Self::Add => Options::with(BuiltinOptions::AddOptions, &[]),
            Self::Convolution => Options::with(
                BuiltinOptions::Conv2DOptions,
                &[SAME, ONE, ONE, RELU6, ONE, ONE],
            ),
            Self::Depthwise => Options::with(
                BuiltinOptions::DepthwiseConv2DOptions,
                &[SAME, ONE, ONE, ONE, RELU6, ONE, ONE],
            ),
        }
    }
}

struct TensorOf {
    shape: Vec<usize>,
    is_bias: bool,
    /// Number of its contents, from 1 on; absent for activations.
    contents: Option<usize>,
}

struct OperatorOf {
    kind: Kind,
    inputs: Vec<usize>,
    output: usize,
}

/// A network from tensor 0 to the output of its last operator.
pub struct BenchNetwork {
    tensors: Vec<TensorOf>,
    operators: Vec<OperatorOf>,
    /// Tensors with constants by what they are for, where layers share them.
    shared: Option<BTreeMap<(Kind, Vec<usize>), [usize; 2]>>,
    n_contents: usize,
}

/// Inverted bottlenecks with weights of their own, whose widths follow from `seed`.
pub fn bottlenecks(seed: usize) -> BenchNetwork {
    const N_BLOCKS: usize = 22;
    let width = 8 * (1 + seed % 4);
    let mut network = BenchNetwork::new([1, 32, 32, 3], false);
    let mut x = network.convolution(0, width, 3);
    for block in 0..N_BLOCKS {
        let before = x;
        let hidden = 8 * (2 + (seed / 4 + 5 * block) % 23);
        x = network.convolution(x, hidden, 1);
        x = network.depthwise(x, 3);
        x = network.convolution(x, width, 1);
        if network.operators.len() + 3 * (N_BLOCKS - block - 1) < N_OPERATORS {
            x = network.add(before, x);
        }
    }
    network
}

/// As `residualModel` of `tests/page/model.mjs` without its long skips: blocks that share their weights.
pub fn residual(seed: usize) -> BenchNetwork {
    const WIDTH: usize = 8;
    let mut network = BenchNetwork::new([1, 16, 16, WIDTH], true);
    let mut x = 0;
    while network.operators.len() < N_OPERATORS {
        if N_OPERATORS - network.operators.len() < 4 {
            x = network.convolution(x, WIDTH, 1);
            continue;
        }
        let before = x;
        x = network.convolution(x, WIDTH + 1 + seed, 1);
        x = network.depthwise(x, 3);
        x = network.convolution(x, WIDTH, 1);
        x = network.add(before, x);
    }
    network
}

impl BenchNetwork {
    fn new(input: [usize; 4], shares_weights: bool) -> Self {
        let input = TensorOf {
            shape: input.into(),
            is_bias: false,
            contents: None,
        };
        Self {
            tensors: vec![input],
            operators: Vec::new(),
            shared: shares_weights.then(BTreeMap::new),
            n_contents: 0,
        }
    }

    fn convolution(&mut self, x: usize, channels: usize, kernel: usize) -> usize {
        let filter = vec![channels, kernel, kernel, self.tensors[x].shape[3]];
        self.weighted(Kind::Convolution, x, filter, channels)
    }

    fn depthwise(&mut self, x: usize, kernel: usize) -> usize {
        let channels = self.tensors[x].shape[3];
        self.weighted(
            Kind::Depthwise,
            x,
            vec![1, kernel, kernel, channels],
            channels,
        )
    }

    fn weighted(&mut self, kind: Kind, x: usize, filter: Vec<usize>, channels: usize) -> usize {
        let key = (kind, filter.clone());
        let known = self
            .shared
            .as_ref()
            .and_then(|shared| shared.get(&key))
            .copied();
        let constants = known.unwrap_or_else(|| {
            let constants = [(filter, false), (vec![channels], true)].map(|(shape, is_bias)| {
                self.n_contents += 1;
                self.tensor(shape, is_bias, Some(self.n_contents))
            });
            if let Some(shared) = &mut self.shared {
                shared.insert(key, constants);
            }
            constants
        });
        let [_, height, width, _] = self.tensors[x].shape[..] else {
            unreachable!("feature maps have four dimensions")
        };
        self.operator(
            kind,
            vec![x, constants[0], constants[1]],
            vec![1, height, width, channels],
        )
    }

    fn add(&mut self, one: usize, other: usize) -> usize {
        let shape = self.tensors[one].shape.clone();
        self.operator(Kind::Add, vec![one, other], shape)
    }

    fn operator(&mut self, kind: Kind, inputs: Vec<usize>, shape: Vec<usize>) -> usize {
        let output = self.tensor(shape, false, None);
        self.operators.push(OperatorOf {
            kind,
            inputs,
            output,
        });
        output
    }

    fn tensor(&mut self, shape: Vec<usize>, is_bias: bool, contents: Option<usize>) -> usize {
        self.tensors.push(TensorOf {
            shape,
            is_bias,
            contents,
        });
        self.tensors.len() - 1
    }

    fn output(&self) -> usize {
        self.operators.last().map_or(0, |operator| operator.output)
    }

    /// As a graph without weights (`docs/guide/graph-json.md`).
    pub fn graph(&self) -> Vec<u8> {
        let name = |tensor: usize| format!("t{tensor}");
        let tensors = self.tensors.iter().enumerate().map(|(idx, tensor)| {
            let type_name = if tensor.is_bias { "int32" } else { "int8" };
            json!({"name": name(idx), "shape": tensor.shape, "type": type_name, "constant": tensor.contents.is_some()})
        });
        let operators = self.operators.iter().map(|operator| {
            let inputs: Vec<String> = operator.inputs.iter().copied().map(name).collect();
            let attributes = match operator.kind {
                Kind::Add => json!({}),
                _ => json!({"padding": "SAME", "activation": "RELU6"}),
            };
            json!({
                "kind": operator.kind.name(), "inputs": inputs, "outputs": [name(operator.output)],
                "attributes": attributes,
            })
        });
        let document = json!({
            "format": "litecast-graph", "version": 1, "inputs": [name(0)], "outputs": [name(self.output())],
            "tensors": tensors.collect::<Vec<Value>>(), "operators": operators.collect::<Vec<Value>>(),
        });
        document.to_string().into_bytes()
    }

    /// As a file, with weights around 0 that differ from layer to layer.
    pub fn file(&self) -> Vec<u8> {
        let mut file = File {
            buffers: vec![Vec::new(); 1 + self.n_contents],
            ..File::default()
        };
        for tensor in &self.tensors {
            if let Some(idx) = tensor.contents {
                let n_values: usize = tensor.shape.iter().product();
                file.buffers[idx] = if tensor.is_bias {
vec![0; 4 * n_values]
                } else {
weights(idx as u64, n_values)
                };
            }
        }
        let operators = self.operators.iter().map(|operator| file::Operator {
            code: file.code(operator.kind.code()),
            inputs: indices(&operator.inputs),
            outputs: indices(&[operator.output]),
            options: operator.kind.options(),
            ..file::Operator::default()
        });
        let operators = operators.collect();
        let tensors = self.tensors.iter().enumerate().map(TensorOf::in_file);
        file.subgraphs = vec![Subgraph {
            tensors: tensors.collect(),
            operators,
            inputs: vec![0],
            outputs: indices(&[self.output()]),
        }];
        file.write()
    }
}

impl TensorOf {
    fn in_file((idx, tensor): (usize, &Self)) -> file::Tensor {
        let tensor_type = if tensor.is_bias {
TensorType::INT32
        } else {
TensorType::INT8
        };
        file::Tensor {
            name: format!("t{idx}"),
            tensor_type: tensor_type.0,
            shape: indices(&tensor.shape),
            buffer: tensor.contents.unwrap_or(0) as u32,
            quantization: Some(file::Quantization {
                scale: vec![0.05],
                zero_point: vec![0],
                dimension: 0,
            }),
            ..file::Tensor::default()
        }
    }
}

/// As files have numbers of tensors and sides of shapes.
fn indices(indices_of: &[usize]) -> Vec<i32> {
    indices_of.iter().map(|&idx| idx as i32).collect()
}

/// Sums of four random numbers, of a generator that starts at `seed`: a bell, as trained weights are.
fn weights(seed: u64, n_values: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let spread = 16 + seed as i32 % 40;
    let mut value = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let sum: i32 = state.to_le_bytes()[..4]
            .iter()
            .map(|&byte| i32::from(byte) % spread)
            .sum();
        (sum - 2 * spread).clamp(-127, 127) as i8 as u8
    };
    (0..n_values).map(|_| value()).collect()
}
