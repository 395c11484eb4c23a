//! The Edge TPU's model on small networks whose cycles and bytes are counted by hand.

use litecast::formats::tflite::{
    Activation, Buffer, BuiltinOptions, Format, Model, OpKind, Operator, Padding, Subgraph, Tensor,
    TensorType,
};
use litecast::graph::analysis::analyze;
use litecast::graph::build;
use litecast::targets::edge_tpu::{
    Coefficients, OperatorLoad, SRAM_BYTES, loads_if_all_mapped, mapping, operator_loads,
    unsupported,
};

/// A network under construction. Tensor 0 is its input.
struct Built {
    tensors: Vec<Tensor>,
    operators: Vec<Operator>,
    buffers: Vec<Vec<u8>>,
}

impl Built {
    fn new(input: &[i32]) -> Self {
        let mut built = Self {
            tensors: vec![],
            operators: vec![],
            buffers: vec![vec![]],
        };
        built.tensor(TensorType::Int8, input, 0);
        built
    }

    fn tensor(&mut self, tensor_type: TensorType, shape: &[i32], buffer_idx: usize) -> usize {
        self.tensors.push(Tensor {
            name: Box::default(),
            tensor_type,
            shape: shape.to_vec(),
            shape_signature: None,
            has_rank: true,
            buffer_idx,
            is_variable: false,
            quantization: None,
            sparsity: None,
        });
        self.tensors.len() - 1
    }

    /// With a buffer of its own.
    fn constant(&mut self, tensor_type: TensorType, shape: &[i32]) -> usize {
        let bytes = if tensor_type == TensorType::Int32 {
            4
        } else {
            1
        };
        let n = bytes * shape.iter().product::<i32>() as usize;
        self.buffers.push(vec![1; n]);
        self.tensor(tensor_type, shape, self.buffers.len() - 1)
    }

    /// Appends an operator; its output.
    fn operator(&mut self, kind: OpKind, inputs: &[usize], output: &[i32]) -> usize {
        let output = self.tensor(TensorType::Int8, output, 0);
        self.operators.push(Operator {
            code: kind.into(),
            inputs: inputs.iter().copied().map(Some).collect(),
            outputs: vec![output],
            intermediates: Box::default(),
            folded: Box::default(),
            options: BuiltinOptions::Absent,
        });
        output
    }

    /// An operator with weights and biases.
    fn layer(&mut self, kind: OpKind, input: usize, weights: &[i32], output: &[i32]) -> usize {
        let weights = self.constant(TensorType::Int8, weights);
        let bias = self.constant(TensorType::Int32, &[*output.last().unwrap()]);
        self.operator(kind, &[input, weights, bias], output)
    }

    /// What `measure` finds in the network whose output is the last tensor.
    fn with<T>(&self, measure: impl Fn(&litecast::graph::Graph) -> T) -> T {
        let model = Model {
            format: Format::Tflite,
            version: 3,
            description: String::new(),
            file_bytes: 0,
            subgraphs: vec![Subgraph {
                name: String::new(),
                tensors: self.tensors.clone(),
                operators: self.operators.clone(),
                inputs: vec![0],
                outputs: vec![self.tensors.len() - 1],
            }],
            buffers: (self.buffers.iter())
                .map(|bytes| Buffer::from(bytes.as_slice()))
                .collect(),
            metadata: vec![],
            signatures: vec![],
            is_converted: false,
            diagnostics: vec![],
            is_reshaped: false,
            unmatched_dimensions: None,
        };
        measure(&build(&model, 0).unwrap())
    }

    fn loads(&self) -> Vec<OperatorLoad> {
        self.with(|graph| loads_if_all_mapped(graph, &analyze(graph)))
    }

    /// Operators that are not mapped, with the reasons.
    fn refusal(&self) -> Option<String> {
        let words = self.with(|graph| {
            let left = unsupported(graph).into_iter();
            let name = |idx: usize| graph.nodes[idx].operator.code.name();
            let words: Vec<String> = left
                .map(|operator| format!("{}: {}", name(operator.node_idx), operator.reason))
                .collect();
            words.join("; ")
        });
        (!words.is_empty()).then_some(words)
    }
}

fn operator_load(
    operators: u64,
    array_cycles: u64,
    parameter_bytes: u64,
    link_bytes: u64,
) -> OperatorLoad {
    OperatorLoad {
        operators,
        array_cycles,
        parameter_bytes,
        link_bytes,
        streamed_bytes: 0,
    }
}

/// Convolution, depthwise convolution, reshape, dense layer.
fn small() -> Built {
    let mut built = Built::new(&[1, 16, 16, 3]);
    let x = built.layer(OpKind::Conv2d, 0, &[70, 3, 3, 3], &[1, 8, 8, 70]);
    let x = built.layer(OpKind::DepthwiseConv2d, x, &[1, 3, 3, 70], &[1, 8, 8, 70]);
    let x = built.operator(OpKind::Reshape, &[x], &[1, 4480]);
    built.layer(OpKind::FullyConnected, x, &[10, 4480], &[1, 10]);
    built
}

#[test]
fn loads_are_as_by_hand() {
    let expected = [
        // 27 products of 70 filters: 1 × 2 tiles of 64 × 64, 64 positions; 70 biases of 4 bytes; the
        // input of 16 × 16 × 3 bytes arrives.
        operator_load(1, 2 * 64, 2 * 4096 + 280, 768),
        // 9 taps of 70 channels in 2 diagonals of 64.
        operator_load(1, 9 * 2 * 64, 9 * 2 * 64 + 280, 0),
        operator_load(0, 0, 0, 0),
        // 4480 products are 70 tiles, 10 units one; 1 position; 10 bytes leave.
        operator_load(1, 70, 70 * 4096 + 40, 10),
    ];
    assert_eq!(small().loads(), expected);
    let total = OperatorLoad::total(&expected);
    assert_eq!(
        total,
        operator_load(3, 128 + 1152 + 70, 8472 + 1432 + 286_760, 778)
    );
    let coefficients = Coefficients {
        ms_per_operator: 0.5,
        cycles_per_array_cycle: 2.0,
        ms_per_link_megabyte: 3.0,
    };
    // 1350 cycles at 480 MHz take 2.8125 µs.
    let by_hand = 3.0 * 0.5 + 2.0 * 0.0028125 + 3.0 * 0.000778;
    assert!((coefficients.latency_ms(&total) - by_hand).abs() < 1e-12);
}

#[test]
fn a_transposed_convolution_works_at_the_positions_of_its_input() {
    let mut built = Built::new(&[1, 5, 5, 70]);
    let shape = built.constant(TensorType::Int32, &[4]);
    let weights = built.constant(TensorType::Int8, &[6, 2, 2, 70]);
    built.operator(OpKind::TransposeConv, &[shape, weights, 0], &[1, 10, 10, 6]);
    // 70 channels are 2 tiles, 6 × 2 × 2 columns one; 25 positions; 1750 bytes in, 600 out.
    assert_eq!(built.loads(), [operator_load(1, 50, 2 * 4096, 1750 + 600)]);
}

/// Dense layers of 4096 units in a row.
fn dense_layers(units: &[i32]) -> Built {
    let mut built = Built::new(&[1, 64]);
    let mut x = 0;
    let mut depth = 64;
    for &units in units {
        x = built.layer(OpKind::FullyConnected, x, &[units, depth], &[1, units]);
        depth = units;
    }
    built
}

#[test]
fn parameters_that_do_not_fit_on_the_chip_come_over_the_link() {
    // By hand: 1 × 64 tiles with 4096 biases, 64 × 33 with 2112, 33 × 1 with 64. The second alone is
    // larger than the cache; the third still fits beside the first.
    let loads = dense_layers(&[4096, 2112, 64]).loads();
    let bytes = [
        64 * 4096 + 4 * 4096,
        64 * 33 * 4096 + 4 * 2112,
        33 * 4096 + 4 * 64,
    ];
    assert!(bytes[1] > SRAM_BYTES && bytes[0] + bytes[2] < SRAM_BYTES);
    let actual: Vec<_> = loads
        .iter()
        .map(|w| (w.parameter_bytes, w.link_bytes, w.streamed_bytes))
        .collect();
    assert_eq!(
        actual,
        [
            (bytes[0], 64, 0),
            (bytes[1], bytes[1], bytes[1]),
            (bytes[2], 64, 0)
        ]
    );
}

#[test]
fn shared_parameters_lie_on_the_chip_once() {
    // 36 × 36 tiles: 5.3 MB, of which only one has room.
    let mut built = dense_layers(&[2304, 2304, 2304]);
    let streamed = |built: &Built| built.loads()[2].link_bytes;
    assert_eq!(streamed(&built), 36 * 36 * 4096 + 4 * 2304 + 2304);
    built.operators[2].inputs[1] = built.operators[1].inputs[1];
    assert_eq!(streamed(&built), 2304);
}

#[test]
fn a_network_that_coral_supports_is_not_refused() {
    assert_eq!(small().refusal(), None);
}

#[test]
fn each_limitation_of_corals_list_is_a_reason() {
    type Change = fn(&mut Built);
    let conv = |dilation_w, activation| BuiltinOptions::Conv2D {
        padding: Padding::Same,
        stride_h: 2,
        stride_w: 2,
        dilation_h: 1,
        dilation_w,
        activation,
    };
    let plain = conv(1, Activation::Relu6);
    let mut allowed = small();
    allowed.operators[0].options = plain;
    assert_eq!(allowed.refusal(), None);
    allowed.operators[0].options = conv(2, Activation::Relu6);
    assert!(allowed.refusal().unwrap().contains("CONV_2D: dilation 1x2"));
    let changes: [(&str, Change); 8] = [
        ("FLOAT32 activations (input 0)", |b| {
            b.tensors[0].tensor_type = TensorType::Float32
        }),
        ("INT16 activations (input 0)", |b| {
            b.tensors[0].tensor_type = TensorType::Int16
        }),
        ("INT4 constants (input 1)", |b| {
            b.tensors[1].tensor_type = TensorType::Int4
        }),
        ("CONV_2D: weights (input 1) computed at run time", |b| {
            b.tensors[1].buffer_idx = 0
        }),
        ("HARD_SWISH: the Edge TPU cannot run HARD_SWISH", |b| {
            b.operators[2].code.kind = OpKind::HardSwish
        }),
        ("FULLY_CONNECTED: output of several rows, 2x10", |b| {
            b.tensors.last_mut().unwrap().shape = vec![2, 10]
        }),
        ("CONV_2D: shape 2x", |b| b.tensors[3].shape[0] = 2),
        ("Magic: custom operator", |b| {
            b.operators[2].code.kind = OpKind::Custom;
            b.operators[2].code.custom = Some("Magic".into());
        }),
    ];
    for (words, change) in changes {
        let mut built = small();
        change(&mut built);
        let actual = built.refusal();
        println!("{actual:?}");
        assert!(
            actual.is_some_and(|actual| actual.contains(words)),
            "{words}"
        );
    }
}

#[test]
fn a_pool_or_sum_is_one_operator_without_products() {
    let mut built = Built::new(&[1, 8, 8, 5]);
    let pooled = built.operator(OpKind::MaxPool2d, &[0], &[1, 4, 4, 5]);
    built.operator(OpKind::Add, &[pooled, pooled], &[1, 4, 4, 5]);
    assert_eq!(
        built.loads(),
        [operator_load(1, 0, 0, 320), operator_load(1, 0, 0, 80)]
    );
    built.operators[0].options = BuiltinOptions::Pool2D {
        padding: Padding::Same,
        stride_h: 2,
        stride_w: 2,
        filter_h: 2,
        filter_w: 2,
        activation: Activation::Relu,
    };
    assert!(
        built
            .refusal()
            .unwrap()
            .contains("MAX_POOL_2D: fused activation")
    );
}

/// HARD_SWISH ends the mapped part: the dense layer behind it stays on the CPU too, and the depthwise
/// convolution's 8 × 8 × 70 bytes leave over the link.
#[test]
fn the_longest_leading_part_is_mapped() {
    let mut built = small();
    built.operators[2].code.kind = OpKind::HardSwish;
    let actual = built.with(|graph| mapping(graph).unwrap());
    assert_eq!(actual.is_mapped, [true, true, false, false]);
    assert_eq!(actual.ends.len(), 1);
    assert_eq!(actual.ends[0].node_idx, 2);
    let loads = built.with(|graph| operator_loads(graph, &analyze(graph), &actual.is_mapped));
    assert_eq!(
        loads[1],
        operator_load(1, 9 * 2 * 64, 9 * 2 * 64 + 280, 4480)
    );
    assert_eq!(loads[2..], [OperatorLoad::default(); 2]);
    assert_eq!(built.loads()[..1], loads[..1]);
}

/// A CAST to floats and a QUANTIZE stay on the host, and what they write comes over the link. A float multiplication
/// between them is no conversion: everything behind it is on the host, and nothing is mapped.
#[test]
fn inputs_are_converted_on_the_host() {
    let network = |between: &[OpKind]| {
        let mut built = Built::new(&[1, 16, 16, 3]);
        let mut x = 0;
        for kind in [&[OpKind::Cast], between].concat() {
            x = built.operator(kind, &[x], &[1, 16, 16, 3]);
            built.tensors[x].tensor_type = TensorType::Float32;
        }
        let x = built.operator(OpKind::Quantize, &[x], &[1, 16, 16, 3]);
        built.layer(OpKind::Conv2d, x, &[70, 3, 3, 3], &[1, 8, 8, 70]);
        built
    };
    let built = network(&[]);
    let actual = built.with(|graph| mapping(graph).unwrap());
    assert_eq!(actual.is_mapped, [false, false, true]);
    assert_eq!(actual.ends, []);
    let loads = built.with(|graph| operator_loads(graph, &analyze(graph), &actual.is_mapped));
    assert_eq!(loads[2].link_bytes, 16 * 16 * 3 + 8 * 8 * 70);
    let words = network(&[OpKind::Mul]).with(|graph| mapping(graph).unwrap_err().to_string());
    println!("{words}");
    assert!(words.contains("MUL"), "{words}");
}

#[test]
fn a_network_whose_first_operator_is_not_supported_is_refused_whole() {
    let mut built = small();
    built.tensors[0].tensor_type = TensorType::Float32;
    let words = built.with(|graph| mapping(graph).unwrap_err().to_string());
    println!("{words}");
    assert!(
        words.contains("CONV_2D: FLOAT32 activations (input 0)"),
        "{words}"
    );
}
