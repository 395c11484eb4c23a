//! Networks of one or two kinds of operators, in shapes of any size: each kind as a step from one feature map of
//! [`MAP`] to another, with what brings other shapes and types back.

use litecast::formats::tflite::schema::{BuiltinOperator as Op, BuiltinOptions as Table};

use crate::shapes::{FLOAT32, INT8, INT32, Network};
use litecast_tflite_files::File;
use litecast_tflite_files::options::{Options, Value};

/// Number of `TensorType`.
const BOOL: i8 = 6;
const INT16: i8 = 7;

/// The feature maps between steps.
pub const MAP: [i32; 4] = [1, 8, 8, 16];

/// How steps follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// One after the other.
    Chain,
    /// One after the other, each added to what it reads.
    Ladder,
    /// All read the same feature map, and one operator joins them.
    Fan,
    /// A chain of which each result is read once more behind it, the last one first.
    Mirror,
}

impl Arrangement {
    pub const ALL: [Self; 4] = [Self::Chain, Self::Ladder, Self::Fan, Self::Mirror];
}

/// How a step is made.
#[derive(Clone, Copy, Debug)]
enum Form {
    /// One input, the same shape and type.
    Unary,
    /// Of the step's input and the network's.
    Binary,
    /// A comparison, whose result is cast back.
    Compared,
    /// Of truth values, which a comparison gives and a cast takes back.
    Logical,
    /// Over height and width; the result is added to what was read.
    Reduced,
    /// The index of the largest or smallest channel.
    Index,
    /// Anything else.
    Own(fn(&mut Network, i32, Op) -> i32),
}

/// A kind of operator as a step.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub operator: Op,
    table: Table,
    form: Form,
    /// Whether kernels take floats alone.
    is_float: bool,
}

impl Kind {
    pub fn name(&self) -> &'static str {
        self.operator.variant_name().unwrap_or("UNKNOWN")
    }

    fn step(&self, network: &mut Network, input: i32) -> i32 {
        let options = || Options::zero(false, self.table.0);
        match self.form {
            Form::Unary => network.apply(self.operator, &[input], &MAP, options()),
            Form::Binary => network.apply(self.operator, &[input, 0], &MAP, options()),
            Form::Compared => {
                let truth = network.of_type(&MAP, BOOL);
                network.operator(self.operator, &[input, 0], &[truth], options());
                network.cast(truth)
            }
            Form::Logical => {
                let truth = network.of_type(&MAP, BOOL);
                let compare = Options::zero(false, Table::NotEqualOptions.0);
                network.operator(Op::NOT_EQUAL, &[input, 0], &[truth], compare);
                let output = network.of_type(&MAP, BOOL);
                let inputs: &[i32] = match self.operator {
                    Op::LOGICAL_NOT => &[truth],
                    _ => &[truth, truth],
                };
                network.operator(self.operator, inputs, &[output], options());
                network.cast(output)
            }
            Form::Reduced => {
                let axes = network.shared_integers(&[1, 2]);
                let keeps = Options::with(self.table, &[Value::Byte(1)]);
                let reduced = network.apply(self.operator, &[input, axes], &[1, 1, 1, 16], keeps);
                network.add([input, reduced], &MAP)
            }
            Form::Index => {
                let axis = network.shared_integers(&[3]);
                let index = network.of_type(&[1, 8, 8], INT32);
                let typed = Options::with(self.table, &[Value::Byte(INT32.cast_unsigned())]);
                network.operator(self.operator, &[input, axis], &[index], typed);
                let cast = network.tensor(&[1, 8, 8]);
                let to = Options::zero(false, Table::CastOptions.0);
                network.operator(Op::CAST, &[index], &[cast], to);
                let column = network.reshape(cast, &[1, 8, 8, 1]);
                network.add([input, column], &MAP)
            }
            Form::Own(step) => step(network, input, self.operator),
        }
    }
}

const fn kind(operator: Op, table: Table, form: Form) -> Kind {
    Kind {
        operator,
        table,
        form,
        is_float: false,
    }
}

const fn of_floats(operator: Op, table: Table, form: Form) -> Kind {
    Kind {
        is_float: true,
        ..kind(operator, table, form)
    }
}

/// Every kind of operator of which a step can be made.
pub const KINDS: &[Kind] = &[
    kind(Op::ABS, Table::AbsOptions, Form::Unary),
    of_floats(Op::CEIL, Table::NONE, Form::Unary),
    of_floats(Op::COS, Table::CosOptions, Form::Unary),
    kind(Op::ELU, Table::NONE, Form::Unary),
    of_floats(Op::EXP, Table::ExpOptions, Form::Unary),
    of_floats(Op::FLOOR, Table::NONE, Form::Unary),
    kind(Op::GELU, Table::GeluOptions, Form::Unary),
    kind(Op::HARD_SWISH, Table::HardSwishOptions, Form::Unary),
    kind(Op::LEAKY_RELU, Table::LeakyReluOptions, Form::Unary),
    of_floats(Op::LOG, Table::NONE, Form::Unary),
    kind(Op::LOG_SOFTMAX, Table::LogSoftmaxOptions, Form::Unary),
    kind(Op::LOGISTIC, Table::NONE, Form::Unary),
    of_floats(Op::NEG, Table::NegOptions, Form::Unary),
    kind(Op::RELU, Table::NONE, Form::Unary),
    kind(Op::RELU6, Table::NONE, Form::Unary),
    kind(Op::RELU_N1_TO_1, Table::NONE, Form::Unary),
    kind(Op::RELU_0_TO_1, Table::NONE, Form::Unary),
    of_floats(Op::ROUND, Table::NONE, Form::Unary),
    kind(Op::RSQRT, Table::NONE, Form::Unary),
    of_floats(Op::SIGN, Table::SignOptions, Form::Unary),
    of_floats(Op::SIN, Table::NONE, Form::Unary),
    kind(Op::SOFTMAX, Table::SoftmaxOptions, Form::Unary),
    of_floats(Op::SQRT, Table::NONE, Form::Unary),
    of_floats(Op::SQUARE, Table::SquareOptions, Form::Unary),
    kind(Op::TANH, Table::NONE, Form::Unary),
    kind(Op::QUANTIZE, Table::QuantizeOptions, Form::Unary),
    kind(Op::ZEROS_LIKE, Table::ZerosLikeOptions, Form::Unary),
    kind(Op::L2_NORMALIZATION, Table::L2NormOptions, Form::Unary),
    of_floats(
        Op::LOCAL_RESPONSE_NORMALIZATION,
        Table::LocalResponseNormalizationOptions,
        Form::Unary,
    ),
    kind(Op::CUSTOM, Table::NONE, Form::Unary),
    kind(Op::ADD, Table::AddOptions, Form::Binary),
    kind(Op::SUB, Table::SubOptions, Form::Binary),
    kind(Op::MUL, Table::MulOptions, Form::Binary),
    kind(Op::DIV, Table::DivOptions, Form::Binary),
    kind(Op::MAXIMUM, Table::MaximumMinimumOptions, Form::Binary),
    kind(Op::MINIMUM, Table::MaximumMinimumOptions, Form::Binary),
    kind(
        Op::SQUARED_DIFFERENCE,
        Table::SquaredDifferenceOptions,
        Form::Binary,
    ),
    of_floats(Op::FLOOR_DIV, Table::FloorDivOptions, Form::Binary),
    of_floats(Op::FLOOR_MOD, Table::FloorModOptions, Form::Binary),
    of_floats(Op::POW, Table::PowOptions, Form::Binary),
    of_floats(Op::ATAN2, Table::ATan2Options, Form::Binary),
    of_floats(Op::ADD_N, Table::AddNOptions, Form::Binary),
    kind(Op::BITWISE_XOR, Table::BitwiseXorOptions, Form::Binary),
    kind(Op::RIGHT_SHIFT, Table::RightShiftOptions, Form::Binary),
    kind(Op::EQUAL, Table::EqualOptions, Form::Compared),
    kind(Op::NOT_EQUAL, Table::NotEqualOptions, Form::Compared),
    kind(Op::GREATER, Table::GreaterOptions, Form::Compared),
    kind(
        Op::GREATER_EQUAL,
        Table::GreaterEqualOptions,
        Form::Compared,
    ),
    kind(Op::LESS, Table::LessOptions, Form::Compared),
    kind(Op::LESS_EQUAL, Table::LessEqualOptions, Form::Compared),
    kind(Op::LOGICAL_AND, Table::LogicalAndOptions, Form::Logical),
    kind(Op::LOGICAL_OR, Table::LogicalOrOptions, Form::Logical),
    kind(Op::LOGICAL_NOT, Table::LogicalNotOptions, Form::Logical),
    kind(Op::MEAN, Table::ReducerOptions, Form::Reduced),
    kind(Op::SUM, Table::ReducerOptions, Form::Reduced),
    kind(Op::REDUCE_MAX, Table::ReducerOptions, Form::Reduced),
    kind(Op::REDUCE_MIN, Table::ReducerOptions, Form::Reduced),
    of_floats(Op::REDUCE_PROD, Table::ReducerOptions, Form::Reduced),
    kind(Op::ARG_MAX, Table::ArgMaxOptions, Form::Index),
    kind(Op::ARG_MIN, Table::ArgMinOptions, Form::Index),
    kind(Op::CONV_2D, Table::NONE, Form::Own(convolution)),
    kind(Op::DEPTHWISE_CONV_2D, Table::NONE, Form::Own(depthwise)),
    kind(Op::TRANSPOSE_CONV, Table::NONE, Form::Own(transpose_conv)),
    of_floats(Op::CONV_3D, Table::NONE, Form::Own(convolution_3d)),
    kind(Op::AVERAGE_POOL_2D, Table::NONE, Form::Own(pool)),
    kind(Op::MAX_POOL_2D, Table::NONE, Form::Own(pool)),
    of_floats(Op::L2_POOL_2D, Table::NONE, Form::Own(pool)),
    kind(Op::FULLY_CONNECTED, Table::NONE, Form::Own(dense)),
    kind(Op::BATCH_MATMUL, Table::NONE, Form::Own(batch_matmul)),
    kind(Op::PRELU, Table::NONE, Form::Own(prelu)),
    kind(Op::SVDF, Table::NONE, Form::Own(svdf)),
    kind(
        Op::UNIDIRECTIONAL_SEQUENCE_LSTM,
        Table::NONE,
        Form::Own(lstm),
    ),
    kind(Op::UNIDIRECTIONAL_SEQUENCE_RNN, Table::NONE, Form::Own(rnn)),
    kind(Op::DEQUANTIZE, Table::NONE, Form::Own(dequantize)),
    kind(Op::CAST, Table::NONE, Form::Own(cast_twice)),
    kind(Op::SELECT, Table::SelectOptions, Form::Own(select)),
    kind(Op::SELECT_V2, Table::SelectV2Options, Form::Own(select)),
    kind(Op::PAD, Table::PadOptions, Form::Own(pad)),
    kind(Op::PADV2, Table::PadV2Options, Form::Own(pad)),
    kind(Op::MIRROR_PAD, Table::MirrorPadOptions, Form::Own(pad)),
    kind(Op::RESHAPE, Table::NONE, Form::Own(reshapes)),
    kind(Op::SQUEEZE, Table::NONE, Form::Own(squeeze)),
    kind(Op::EXPAND_DIMS, Table::NONE, Form::Own(expand)),
    kind(Op::TRANSPOSE, Table::NONE, Form::Own(transpose)),
    kind(Op::REVERSE_V2, Table::NONE, Form::Own(along_rows)),
    kind(Op::CUMSUM, Table::CumsumOptions, Form::Own(along_rows)),
    kind(
        Op::REVERSE_SEQUENCE,
        Table::NONE,
        Form::Own(reverse_sequence),
    ),
    kind(Op::BROADCAST_TO, Table::NONE, Form::Own(broadcast)),
    kind(Op::TILE, Table::NONE, Form::Own(enlarged)),
    kind(Op::RESIZE_BILINEAR, Table::NONE, Form::Own(enlarged)),
    kind(
        Op::RESIZE_NEAREST_NEIGHBOR,
        Table::NONE,
        Form::Own(enlarged),
    ),
    kind(Op::SPACE_TO_DEPTH, Table::NONE, Form::Own(depth_and_back)),
    kind(Op::DEPTH_TO_SPACE, Table::NONE, Form::Own(depth_and_back)),
    kind(
        Op::SPACE_TO_BATCH_ND,
        Table::NONE,
        Form::Own(batch_and_back),
    ),
    kind(
        Op::BATCH_TO_SPACE_ND,
        Table::NONE,
        Form::Own(batch_and_back),
    ),
    kind(Op::SLICE, Table::NONE, Form::Own(halves)),
    kind(Op::STRIDED_SLICE, Table::NONE, Form::Own(halves)),
    kind(Op::SPLIT, Table::NONE, Form::Own(halves)),
    kind(Op::SPLIT_V, Table::NONE, Form::Own(halves)),
    kind(Op::CONCATENATION, Table::NONE, Form::Own(concatenate)),
    kind(Op::PACK, Table::NONE, Form::Own(pack)),
    kind(Op::UNPACK, Table::NONE, Form::Own(unpack)),
    kind(Op::GATHER, Table::NONE, Form::Own(gather)),
    kind(Op::GATHER_ND, Table::NONE, Form::Own(gather_nd)),
    kind(Op::SCATTER_ND, Table::NONE, Form::Own(scatter_nd)),
    kind(
        Op::DYNAMIC_UPDATE_SLICE,
        Table::NONE,
        Form::Own(update_slice),
    ),
    kind(Op::TOPK_V2, Table::NONE, Form::Own(top_k)),
    kind(Op::SHAPE, Table::NONE, Form::Own(by_shape)),
    kind(Op::FILL, Table::NONE, Form::Own(fill)),
    kind(Op::READ_VARIABLE, Table::NONE, Form::Own(variable)),
    kind(Op::CALL, Table::NONE, Form::Own(call)),
    kind(Op::IF, Table::NONE, Form::Own(call)),
    kind(Op::WHILE, Table::NONE, Form::Own(call)),
    kind(Op::CALL_ONCE, Table::NONE, Form::Own(call)),
];

/// A network of `n` steps, which take turns where there are two kinds.
pub fn network(kinds: &[Kind], arrangement: Arrangement, n: usize) -> File {
    let is_float = kinds.iter().any(|kind| kind.is_float);
    let mut network = Network::of_elements(&MAP, if is_float { FLOAT32 } else { INT8 });
    let mut of_turn = kinds.iter().cycle().take(n);
    let mut last = 0;
    match arrangement {
        Arrangement::Chain => {
            last = of_turn.fold(last, |last, kind| kind.step(&mut network, last));
        }
        Arrangement::Ladder => {
            for kind in of_turn {
                let stepped = kind.step(&mut network, last);
                last = network.add([stepped, last], &MAP);
            }
        }
        Arrangement::Fan => {
            let [b, h, w, c] = MAP;
            let parts: Vec<i32> = of_turn.map(|kind| kind.step(&mut network, 0)).collect();
            last = network.join(&parts, &[b, h, w, c * parts.len() as i32]);
        }
        Arrangement::Mirror => {
            let n_first = n / 2;
            let mut results = vec![last];
            for kind in of_turn.by_ref().take(n_first) {
                last = kind.step(&mut network, last);
                results.push(last);
            }
            for (kind, earlier) in of_turn.zip(results.into_iter().rev()) {
                let stepped = kind.step(&mut network, last);
                last = network.add([stepped, earlier], &MAP);
            }
        }
    }
    let mut file = network.finish(&[last]);
    add_callee(&mut file);
    file
}

/// What CALL, IF and WHILE run: subgraph 1 has a body and subgraph 2 a condition.
fn add_callee(file: &mut File) {
    let calls = [Op::CALL, Op::IF, Op::WHILE, Op::CALL_ONCE];
    let is_call = |builtin: i32| calls.iter().any(|call| call.0 == builtin);
    if !file.codes.iter().any(|code| is_call(code.builtin)) {
        return;
    }
    let mut body = Network::of_elements(&MAP, file.subgraphs[0].tensors[0].tensor_type);
    body.apply(Op::RELU, &[0], &MAP, Options::default());
    let mut condition = Network::new(&MAP);
    condition.of_type(&[1], BOOL);
    let relu = file.code(Op::RELU);
    for network in [body, condition] {
        let mut subgraph = network.finish(&[1]).subgraphs.remove(0);
        (subgraph.operators.iter_mut()).for_each(|operator| operator.code = relu);
        file.subgraphs.push(subgraph);
    }
}

impl Network {
    fn of_elements(input: &[i32], element: i8) -> Self {
        let mut network = Self::new(input);
        network.element = element;
        let tensor = &mut network.main().tensors[0];
        tensor.tensor_type = element;
        if element != INT8 {
            tensor.quantization = None;
        }
        network
    }

    /// An activation of another type than the network's.
    fn of_type(&mut self, shape: &[i32], tensor_type: i8) -> i32 {
        let idx = self.tensor(shape);
        let tensor = &mut self.main().tensors[idx as usize];
        tensor.tensor_type = tensor_type;
        if tensor_type != INT8 && tensor_type != INT16 {
            tensor.quantization = None;
        }
        idx
    }

    /// The result of an operator that writes one tensor.
    fn apply(&mut self, name: Op, inputs: &[i32], shape: &[i32], options: Options) -> i32 {
        let output = self.tensor(shape);
        self.operator(name, inputs, &[output], options);
        output
    }

    fn cast(&mut self, input: i32) -> i32 {
        self.apply(
            Op::CAST,
            &[input],
            &MAP,
            Options::zero(false, Table::CastOptions.0),
        )
    }

    fn reshape(&mut self, input: i32, shape: &[i32]) -> i32 {
        let options = Options::with(Table::ReshapeOptions, &[Value::Ints(shape.to_vec())]);
        let stored = self.shared_integers(shape);
        self.apply(Op::RESHAPE, &[input, stored], shape, options)
    }

    /// Integers in a tensor that all operators share that read the same.
    fn shared_integers(&mut self, values: &[i32]) -> i32 {
        let known = self.integers.iter().find(|(known, _)| known == values);
        if let Some(&(_, idx)) = known {
            return idx;
        }
        let idx = self.integers(values);
        self.main().tensors[idx as usize].quantization = None;
        self.integers.push((values.to_vec(), idx));
        idx
    }

    /// A constant of these 32-bit integers in another shape.
    fn shaped_integers(&mut self, values: &[i32], shape: &[i32]) -> i32 {
        let contents = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let idx = self.constant(INT32, shape, contents);
        self.main().tensors[idx as usize].quantization = None;
        idx
    }

    /// Back to [`MAP`] from twice its height and width.
    fn pool_back(&mut self, input: i32) -> i32 {
        let options = pool_options(1, 2);
        self.apply(Op::MAX_POOL_2D, &[input], &MAP, options)
    }
}

fn pool_options(padding: u8, size: i32) -> Options {
    let size = Value::Int(size);
    let fields = [
        Value::Byte(padding),
        size.clone(),
        size.clone(),
        size.clone(),
        size,
    ];
    Options::with(Table::Pool2DOptions, &fields)
}

/// Padding, strides of this size, no activation, no dilation.
fn window_options(table: Table, padding: u8, stride: i32) -> Options {
    let (stride, one) = (Value::Int(stride), Value::Int(1));
    let mut fields = vec![Value::Byte(padding), stride.clone(), stride];
    match table {
        Table::DepthwiseConv2DOptions => {
            fields.extend([one.clone(), Value::Byte(0), one.clone(), one]);
        }
        Table::Conv2DOptions => fields.extend([Value::Byte(0), one.clone(), one]),
        _ => {}
    }
    Options::with(table, &fields)
}

fn convolution(network: &mut Network, input: i32, _: Op) -> i32 {
    let filter = network.filter(&[16, 3, 3, 16]);
    let options = window_options(Table::Conv2DOptions, 0, 1);
    network.apply(Op::CONV_2D, &[input, filter], &MAP, options)
}

fn depthwise(network: &mut Network, input: i32, operator: Op) -> i32 {
    let filter = network.filter(&[1, 3, 3, 16]);
    let options = window_options(Table::DepthwiseConv2DOptions, 0, 1);
    network.apply(operator, &[input, filter], &MAP, options)
}

fn transpose_conv(network: &mut Network, input: i32, operator: Op) -> i32 {
    let wide = [1, 16, 16, 16];
    let shape = network.shared_integers(&wide);
    let filter = network.filter(&[16, 2, 2, 16]);
    let options = window_options(Table::TransposeConvOptions, 0, 2);
    let enlarged = network.apply(operator, &[shape, filter, input], &wide, options);
    network.pool_back(enlarged)
}

fn convolution_3d(network: &mut Network, input: i32, operator: Op) -> i32 {
    let deep = [1, 1, 8, 8, 16];
    let input = network.reshape(input, &deep);
    let filter = network.filter(&[1, 1, 1, 16, 16]);
    let one = Value::Int(1);
    let [a, b, c] = [one.clone(), one.clone(), one.clone()];
    let fields = [
        Value::Byte(0),
        a,
        b,
        c,
        Value::Byte(0),
        one.clone(),
        one.clone(),
        one,
    ];
    let options = Options::with(Table::Conv3DOptions, &fields);
    let output = network.apply(operator, &[input, filter], &deep, options);
    network.reshape(output, &MAP)
}

fn pool(network: &mut Network, input: i32, operator: Op) -> i32 {
    let (one, three) = (Value::Int(1), Value::Int(3));
    let fields = [Value::Byte(0), one.clone(), one, three.clone(), three];
    let options = Options::with(Table::Pool2DOptions, &fields);
    network.apply(operator, &[input], &MAP, options)
}

fn dense(network: &mut Network, input: i32, _: Op) -> i32 {
    let rows = network.reshape(input, &[64, 16]);
    let output = network.dense(rows, &[64, 16], 16);
    network.reshape(output, &MAP)
}

fn batch_matmul(network: &mut Network, input: i32, operator: Op) -> i32 {
    let order = network.shared_integers(&[0, 1, 3, 2]);
    let turns = Options::zero(false, Table::TransposeOptions.0);
    let turned = network.apply(Op::TRANSPOSE, &[input, order], &[1, 8, 16, 8], turns);
    let options = || Options::zero(false, Table::BatchMatMulOptions.0);
    let scores = network.apply(operator, &[input, turned], &[1, 8, 8, 8], options());
    network.apply(operator, &[scores, input], &MAP, options())
}

fn prelu(network: &mut Network, input: i32, operator: Op) -> i32 {
    let slopes = network.filter(&[1, 1, 16]);
    network.apply(operator, &[input, slopes], &MAP, Options::default())
}

fn svdf(network: &mut Network, input: i32, operator: Op) -> i32 {
    let rows = network.reshape(input, &[64, 16]);
    let (features, times) = (network.filter(&[32, 16]), network.filter(&[32, 4]));
    let state = network.of_type(&[64, 128], INT16);
    network.main().tensors[state as usize].is_variable = true;
    let options = Options::with(Table::SVDFOptions, &[Value::Int(2)]);
    let output = network.apply(
        operator,
        &[rows, features, times, -1, state],
        &[64, 16],
        options,
    );
    network.reshape(output, &MAP)
}

fn lstm(network: &mut Network, input: i32, operator: Op) -> i32 {
    let rows = network.reshape(input, &[1, 64, 16]);
    let matrix = network.filter(&[16, 16]);
    let bias = network.shared_integers(&[0; 16]);
    let states = [network.tensor(&[1, 16]), network.of_type(&[1, 16], INT16)];
    for state in states {
        network.main().tensors[state as usize].is_variable = true;
    }
    let mut inputs = vec![rows];
    inputs.extend([matrix; 8]);
    inputs.extend([-1; 3]);
    inputs.extend([bias; 4]);
    inputs.extend([-1, -1]);
    inputs.extend(states);
    let fields = [Value::Byte(4)];
    let options = Options::with(Table::UnidirectionalSequenceLSTMOptions, &fields);
    let output = network.apply(operator, &inputs, &[1, 64, 16], options);
    network.reshape(output, &MAP)
}

fn rnn(network: &mut Network, input: i32, operator: Op) -> i32 {
    let rows = network.reshape(input, &[1, 64, 16]);
    let matrix = network.filter(&[16, 16]);
    let bias = network.shared_integers(&[0; 16]);
    let state = network.tensor(&[1, 16]);
    network.main().tensors[state as usize].is_variable = true;
    let options = Options::zero(false, Table::SequenceRNNOptions.0);
    let inputs = [rows, matrix, matrix, bias, state];
    let output = network.apply(operator, &inputs, &[1, 64, 16], options);
    network.reshape(output, &MAP)
}

fn dequantize(network: &mut Network, input: i32, operator: Op) -> i32 {
    let floats = network.of_type(&MAP, FLOAT32);
    network.operator(operator, &[input], &[floats], Options::default());
    network.apply(Op::QUANTIZE, &[floats], &MAP, Options::default())
}

fn cast_twice(network: &mut Network, input: i32, operator: Op) -> i32 {
    let wide = network.of_type(&MAP, INT32);
    let options = Options::zero(false, Table::CastOptions.0);
    network.operator(operator, &[input], &[wide], options);
    network.cast(wide)
}

fn select(network: &mut Network, input: i32, operator: Op) -> i32 {
    let truth = network.of_type(&MAP, BOOL);
    let compare = Options::zero(false, Table::GreaterOptions.0);
    network.operator(Op::GREATER, &[input, 0], &[truth], compare);
    network.apply(operator, &[truth, input, 0], &MAP, Options::default())
}

fn pad(network: &mut Network, input: i32, operator: Op) -> i32 {
    let known = network
        .integers
        .iter()
        .position(|(values, _)| values[..] == PADS);
    let pads = match known {
        Some(at) => network.integers[at].1,
        None => {
            let idx = network.shaped_integers(&PADS, &[4, 2]);
            network.integers.push((PADS.to_vec(), idx));
            idx
        }
    };
    let padded = network.apply(
        operator,
        &[input, pads],
        &[1, 10, 10, 16],
        Options::default(),
    );
    let filter = network.filter(&[16, 3, 3, 16]);
    let options = window_options(Table::Conv2DOptions, 1, 1);
    network.apply(Op::CONV_2D, &[padded, filter], &MAP, options)
}

const PADS: [i32; 8] = [0, 0, 1, 1, 1, 1, 0, 0];

fn reshapes(network: &mut Network, input: i32, _: Op) -> i32 {
    let rows = network.reshape(input, &[1, 64, 16]);
    network.reshape(rows, &MAP)
}

fn squeeze(network: &mut Network, input: i32, operator: Op) -> i32 {
    let options = Options::with(Table::SqueezeOptions, &[Value::Ints(vec![0])]);
    let squeezed = network.apply(operator, &[input], &MAP[1..], options);
    network.reshape(squeezed, &MAP)
}

fn expand(network: &mut Network, input: i32, operator: Op) -> i32 {
    let axis = network.shared_integers(&[0]);
    let options = Options::zero(false, Table::ExpandDimsOptions.0);
    let expanded = network.apply(operator, &[input, axis], &[1, 1, 8, 8, 16], options);
    network.reshape(expanded, &MAP)
}

fn transpose(network: &mut Network, input: i32, operator: Op) -> i32 {
    let order = network.shared_integers(&[0, 2, 1, 3]);
    let options = Options::zero(false, Table::TransposeOptions.0);
    network.apply(operator, &[input, order], &MAP, options)
}

fn along_rows(network: &mut Network, input: i32, operator: Op) -> i32 {
    let axis = network.shared_integers(&[1]);
    network.apply(operator, &[input, axis], &MAP, Options::default())
}

fn reverse_sequence(network: &mut Network, input: i32, operator: Op) -> i32 {
    let lengths = network.shared_integers(&[8]);
    let options = Options::with(Table::ReverseSequenceOptions, &[Value::Int(1)]);
    network.apply(operator, &[input, lengths], &MAP, options)
}

fn broadcast(network: &mut Network, input: i32, operator: Op) -> i32 {
    let shape = network.shared_integers(&MAP);
    network.apply(operator, &[input, shape], &MAP, Options::default())
}

fn enlarged(network: &mut Network, input: i32, operator: Op) -> i32 {
    let (times, table) = match operator {
        Op::RESIZE_BILINEAR => (vec![16, 16], Table::ResizeBilinearOptions),
        Op::RESIZE_NEAREST_NEIGHBOR => (vec![16, 16], Table::ResizeNearestNeighborOptions),
        _ => (vec![1, 2, 2, 1], Table::TileOptions),
    };
    let times = network.shared_integers(&times);
    let options = Options::zero(false, table.0);
    let wide = network.apply(operator, &[input, times], &[1, 16, 16, 16], options);
    network.pool_back(wide)
}

fn depth_and_back(network: &mut Network, input: i32, operator: Op) -> i32 {
    let there = |network: &mut Network, input: i32| {
        let options = Options::with(Table::SpaceToDepthOptions, &[Value::Int(2)]);
        network.apply(Op::SPACE_TO_DEPTH, &[input], &[1, 4, 4, 64], options)
    };
    let back = |network: &mut Network, input: i32, shape: &[i32]| {
        let options = Options::with(Table::DepthToSpaceOptions, &[Value::Int(2)]);
        network.apply(Op::DEPTH_TO_SPACE, &[input], shape, options)
    };
    match operator {
        Op::SPACE_TO_DEPTH => {
            let deep = there(network, input);
            back(network, deep, &MAP)
        }
        _ => {
            let flat = back(network, input, &[1, 16, 16, 4]);
            let options = Options::with(Table::SpaceToDepthOptions, &[Value::Int(2)]);
            network.apply(Op::SPACE_TO_DEPTH, &[flat], &MAP, options)
        }
    }
}

fn batch_and_back(network: &mut Network, input: i32, _: Op) -> i32 {
    let block = network.shared_integers(&[2, 2]);
    let crops = network.shaped_integers(&[0; 4], &[2, 2]);
    let options = || Options::default();
    let there = [input, block, crops];
    let batched = network.apply(Op::SPACE_TO_BATCH_ND, &there, &[4, 4, 4, 16], options());
    network.apply(
        Op::BATCH_TO_SPACE_ND,
        &[batched, block, crops],
        &MAP,
        options(),
    )
}

const HALF: [i32; 4] = [1, 4, 8, 16];

fn halves(network: &mut Network, input: i32, operator: Op) -> i32 {
    let parts = match operator {
        Op::SPLIT | Op::SPLIT_V => {
            let axis = network.shared_integers(&[1]);
            let parts = [network.tensor(&HALF), network.tensor(&HALF)];
            let two = [Value::Int(2)];
            let (inputs, table) = match operator {
                Op::SPLIT => (vec![axis, input], Table::SplitOptions),
                _ => {
                    let sizes = network.shared_integers(&[4, 4]);
                    (vec![input, sizes, axis], Table::SplitVOptions)
                }
            };
            network.operator(operator, &inputs, &parts, Options::with(table, &two));
            parts
        }
        _ => [[0; 4], [0, 4, 0, 0]].map(|begin| {
            let is_slice = operator == Op::SLICE;
            let mut end = HALF;
            if !is_slice {
                end[1] += begin[1];
            }
            let mut inputs = vec![input];
            inputs.push(network.shared_integers(&begin));
            inputs.push(network.shared_integers(&end));
            if !is_slice {
                inputs.push(network.shared_integers(&[1; 4]));
            }
            let table = if is_slice {
                Table::SliceOptions
            } else {
                Table::StridedSliceOptions
            };
            network.apply(operator, &inputs, &HALF, Options::zero(false, table.0))
        }),
    };
    let options = Options::with(Table::ConcatenationOptions, &[Value::Int(1)]);
    network.apply(Op::CONCATENATION, &parts, &MAP, options)
}

fn concatenate(network: &mut Network, input: i32, _: Op) -> i32 {
    let joined = network.join(&[input, 0], &[1, 8, 8, 32]);
    let filter = network.filter(&[16, 1, 1, 32]);
    let options = window_options(Table::Conv2DOptions, 0, 1);
    network.apply(Op::CONV_2D, &[joined, filter], &MAP, options)
}

fn pack(network: &mut Network, input: i32, operator: Op) -> i32 {
    let row = network.reshape(input, &[64, 16]);
    let options = Options::with(Table::PackOptions, &[Value::Int(2), Value::Int(0)]);
    let packed = network.apply(operator, &[row, row], &[2, 64, 16], options);
    let wide = network.reshape(packed, &[1, 16, 8, 16]);
    let two = Value::Int(2);
    let fields = [
        Value::Byte(1),
        Value::Int(1),
        two.clone(),
        Value::Int(1),
        two,
    ];
    let options = Options::with(Table::Pool2DOptions, &fields);
    network.apply(Op::MAX_POOL_2D, &[wide], &MAP, options)
}

fn unpack(network: &mut Network, input: i32, operator: Op) -> i32 {
    let rows: Vec<i32> = (0..8).map(|_| network.tensor(&[1, 8, 16])).collect();
    let eight = [Value::Int(8), Value::Int(1)];
    let options = Options::with(Table::UnpackOptions, &eight);
    network.operator(operator, &[input], &rows, options);
    let options = Options::with(Table::PackOptions, &eight);
    network.apply(Op::PACK, &rows, &MAP, options)
}

fn gather(network: &mut Network, input: i32, operator: Op) -> i32 {
    let rows = network.shared_integers(&[7, 6, 5, 4, 3, 2, 1, 0]);
    let options = Options::with(Table::GatherOptions, &[Value::Int(1)]);
    network.apply(operator, &[input, rows], &MAP, options)
}

fn gather_nd(network: &mut Network, input: i32, operator: Op) -> i32 {
    let place = network.shared_integers(&[0]);
    let options = Options::zero(false, Table::GatherNdOptions.0);
    let gathered = network.apply(operator, &[input, place], &MAP[1..], options);
    network.reshape(gathered, &MAP)
}

fn scatter_nd(network: &mut Network, input: i32, operator: Op) -> i32 {
    let places = network.shaped_integers(&[0], &[1, 1]);
    let shape = network.shared_integers(&MAP);
    let options = Options::zero(false, Table::ScatterNdOptions.0);
    network.apply(operator, &[places, input, shape], &MAP, options)
}

fn update_slice(network: &mut Network, input: i32, operator: Op) -> i32 {
    let start = network.shared_integers(&[0; 4]);
    let part = network.filter(&HALF);
    network.apply(operator, &[input, part, start], &MAP, Options::default())
}

fn top_k(network: &mut Network, input: i32, operator: Op) -> i32 {
    let k = network.shared_integers(&[16]);
    let (values, places) = (network.tensor(&MAP), network.of_type(&MAP, INT32));
    let options = Options::zero(false, Table::TopKV2Options.0);
    network.operator(operator, &[input, k], &[values, places], options);
    values
}

fn by_shape(network: &mut Network, input: i32, operator: Op) -> i32 {
    let shape = network.of_type(&[4], INT32);
    let options = Options::with(Table::ShapeOptions, &[Value::Byte(INT32.cast_unsigned())]);
    network.operator(operator, &[input], &[shape], options);
    let options = Options::zero(false, Table::ReshapeOptions.0);
    network.apply(Op::RESHAPE, &[input, shape], &MAP, options)
}

fn fill(network: &mut Network, input: i32, operator: Op) -> i32 {
    let (shape, value) = (network.shared_integers(&MAP), network.filter(&[1]));
    let options = Options::zero(false, Table::FillOptions.0);
    let filled = network.apply(operator, &[shape, value], &MAP, options);
    network.add([input, filled], &MAP)
}

fn variable(network: &mut Network, input: i32, operator: Op) -> i32 {
    const RESOURCE: i8 = 13;
    let handle = network.of_type(&[1], RESOURCE);
    let name = Value::Text(format!("v{handle}"));
    let options = Options::with(Table::VarHandleOptions, &[Value::Text(String::new()), name]);
    network.operator(Op::VAR_HANDLE, &[], &[handle], options);
    let read = network.apply(operator, &[handle], &MAP, Options::default());
    network.operator(
        Op::ASSIGN_VARIABLE,
        &[handle, input],
        &[],
        Options::default(),
    );
    network.add([input, read], &MAP)
}

fn call(network: &mut Network, input: i32, operator: Op) -> i32 {
    let (body, condition) = (Value::Int(1), Value::Int(2));
    match operator {
        Op::CALL => {
            let options = Options::with(Table::CallOptions, &[body]);
            network.apply(operator, &[input], &MAP, options)
        }
        Op::IF => {
            let truth = network.of_type(&[1], BOOL);
            let contents = vec![1];
            network.file.buffers.push(contents);
            let buffer = network.file.buffers.len() as u32 - 1;
            network.main().tensors[truth as usize].buffer = buffer;
            let options = Options::with(Table::IfOptions, &[body.clone(), body]);
            network.apply(operator, &[truth, input], &MAP, options)
        }
        Op::WHILE => {
            let options = Options::with(Table::WhileOptions, &[condition, body]);
            network.apply(operator, &[input], &MAP, options)
        }
        _ => {
            let options = Options::with(Table::CallOnceOptions, &[body]);
            network.operator(operator, &[], &[], options);
            network.apply(Op::RELU, &[input], &MAP, Options::default())
        }
    }
}
