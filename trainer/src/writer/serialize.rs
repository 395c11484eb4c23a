//! [`WriterNetwork`] → the bytes of a `.tflite` file.

use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, Push, PushAlignment, Vector, WIPOffset};
use litecast::formats::tflite::schema;
use schema::{BuiltinOperator, TensorType};

use super::network::{
    ABSENT, Content, ElementType, Operator, Quantization, Tensor, TensorIdx, WriterNetwork,
};
use super::precision::{Precision, in_float32, without_quantize};
use super::random::SplitMix64;
use super::weights::INT16_STEPS;
use super::{codes, options};

/// Schema version of every `.tflite` file in use.
const SCHEMA_VERSION: u32 = 3;
/// Alignment of buffers that the schema requires (`force_align: 16`), so that kernels can read them in place.
const BUFFER_ALIGNMENT: usize = 16;
/// Reserved bytes for tables, names and scales, so that the builder's buffer rarely grows: files need 700 to 900 bytes
/// per operator, and 12 bytes per channel.
const METADATA_BYTES_PER_OPERATOR: usize = 1200;

type Tables<'a, T> = Option<WIPOffset<Vector<'a, ForwardsUOffset<T>>>>;

/// Writes `network` with weights that are drawn from `values_seed`. The same arguments give the same bytes on every
/// platform.
pub fn to_tflite(network: &WriterNetwork, values_seed: u64, precision: Precision) -> Vec<u8> {
    match precision {
        Precision::Int8 => write_model(network, values_seed, precision),
        Precision::Float32 => write_model(&without_quantize(network), values_seed, precision),
    }
}

fn write_model(network: &WriterNetwork, values_seed: u64, precision: Precision) -> Vec<u8> {
    let mut fbb = FlatBufferBuilder::with_capacity(expected_bytes(network, precision));
    let buffers = write_buffers(network, values_seed, precision, &mut fbb);
    let codes = operator_codes(network, precision);
    let subgraph = write_subgraph(network, precision, &codes, &mut fbb);
    let subgraphs = Some(fbb.create_vector(&[subgraph]));
    let operator_codes = write_operator_codes(&codes, &mut fbb);
    let description = Some(fbb.create_string(&network.name));
    let args = schema::ModelArgs {
        version: SCHEMA_VERSION,
        operator_codes,
        subgraphs,
        description,
        buffers,
        ..Default::default()
    };
    let model = schema::Model::create(&mut fbb, &args);
    schema::finish_model_buffer(&mut fbb, model);
    let (mut bytes, start) = fbb.collapse();
    bytes.drain(..start);
    bytes
}

fn expected_bytes(network: &WriterNetwork, precision: Precision) -> usize {
    let channels: usize = network
        .tensors
        .iter()
        .filter_map(|tensor| tensor.quantization.as_ref())
        .map(|quantization| quantization.scales.len())
        .sum();
    network.constant_bytes() * precision.bytes_per_weight()
        + 12 * channels
        + METADATA_BYTES_PER_OPERATOR * (network.operators.len() + 4)
}

/// Buffer 0 is empty and used by all activations; constants follow in the order of tensors.
fn write_buffers<'a>(
    network: &WriterNetwork,
    values_seed: u64,
    precision: Precision,
    fbb: &mut FlatBufferBuilder<'a>,
) -> Tables<'a, schema::Buffer<'a>> {
    let mut buffers = vec![schema::Buffer::create(fbb, &Default::default())];
    let mut bytes = Vec::new();
    for (idx, tensor) in network
        .tensors
        .iter()
        .enumerate()
        .filter(|(_, t)| t.is_constant())
    {
        bytes.clear();
        let random = &mut SplitMix64::for_part(values_seed, idx as u64);
        append_content(tensor, random, &mut bytes);
        if precision == Precision::Float32 {
            bytes = in_float32(tensor, &bytes);
        }
        align_next_vector(bytes.len(), fbb);
        let data = Some(write_bytes(&bytes, fbb));
        buffers.push(schema::Buffer::create(
            fbb,
            &schema::BufferArgs {
                data,
                ..Default::default()
            },
        ));
    }
    Some(fbb.create_vector(&buffers))
}

fn append_content(tensor: &Tensor, random: &mut SplitMix64, bytes: &mut Vec<u8>) {
    match &tensor.content {
        Content::Activation | Content::Variable => {}
        Content::Weights(layer) => {
            layer.append(tensor.n_values(), random, bytes);
            if tensor.element == ElementType::Int16 {
                *bytes = widened(bytes);
            }
        }
        Content::Bias { standard_deviation } => {
            let values =
                (0..tensor.n_values()).map(|_| (random.bell() * standard_deviation).round() as i32);
            bytes.extend(values.flat_map(i32::to_le_bytes));
        }
        Content::Int8(values) => bytes.extend(values.iter().map(|&value| value as u8)),
        Content::Int32(values) => bytes.extend(values.iter().flat_map(|value| value.to_le_bytes())),
    }
}

/// Int8 values as int16 ones.
fn widened(bytes: &[u8]) -> Vec<u8> {
    let values = bytes.iter().map(|&byte| i16::from(byte as i8));
    values
        .flat_map(|value| (value * INT16_STEPS as i16).to_le_bytes())
        .collect()
}

/// A flat buffer is built from its end. After this, a vector of `n_bytes` starts at a multiple of [`BUFFER_ALIGNMENT`]
/// from the end, and the builder pads the whole file to such a multiple.
fn align_next_vector(n_bytes: usize, fbb: &mut FlatBufferBuilder) {
    fbb.push(AlignedBlock);
    let padding = n_bytes.wrapping_neg() % BUFFER_ALIGNMENT;
    for _ in 0..padding {
        fbb.push(0u8);
    }
}

/// What [`FlatBufferBuilder::create_vector`] writes byte by byte, which takes most of the time of a file with weights in a
/// build that is not optimised.
fn write_bytes<'a>(bytes: &[u8], fbb: &mut FlatBufferBuilder<'a>) -> WIPOffset<Vector<'a, u8>> {
    fbb.start_vector::<u8>(bytes.len());
    let (blocks, rest) = bytes.as_chunks();
    for &byte in rest.iter().rev() {
        fbb.push(byte);
    }
    for block in blocks.iter().rev() {
        fbb.push(Block(block));
    }
    fbb.end_vector(bytes.len())
}

const BLOCK_BYTES: usize = 256;

/// Bytes that are copied at once.
struct Block<'b>(&'b [u8; BLOCK_BYTES]);

impl Push for Block<'_> {
    type Output = [u8; BLOCK_BYTES];

    unsafe fn push(&self, dst: &mut [u8], _written_len: usize) {
        dst.copy_from_slice(self.0);
    }

    fn alignment() -> PushAlignment {
        PushAlignment::new(1)
    }
}

/// Sixteen zero bytes that the builder aligns.
struct AlignedBlock;

impl Push for AlignedBlock {
    type Output = [u8; BUFFER_ALIGNMENT];

    unsafe fn push(&self, dst: &mut [u8], _written_len: usize) {
        dst.fill(0);
    }

    fn alignment() -> PushAlignment {
        PushAlignment::new(BUFFER_ALIGNMENT)
    }
}

/// Each distinct operator code, in the order of first use.
fn operator_codes(network: &WriterNetwork, precision: Precision) -> Vec<(BuiltinOperator, i32)> {
    let mut codes = Vec::new();
    for operator in &network.operators {
        let code = codes::code(&operator.kind, precision);
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    codes
}

fn write_operator_codes<'a>(
    codes: &[(BuiltinOperator, i32)],
    fbb: &mut FlatBufferBuilder<'a>,
) -> Tables<'a, schema::OperatorCode<'a>> {
    let mut written = Vec::new();
    for &(builtin_code, version) in codes {
        // Codes above 127 do not fit into the older field, which then has the value 127.
        let deprecated_builtin_code = builtin_code.0.min(127) as i8;
        let is_custom = builtin_code == BuiltinOperator::CUSTOM;
        let custom_code = is_custom.then(|| fbb.create_string(codes::CUSTOM_CODE));
        let args = schema::OperatorCodeArgs {
            deprecated_builtin_code,
            builtin_code,
            version,
            custom_code,
        };
        written.push(schema::OperatorCode::create(fbb, &args));
    }
    Some(fbb.create_vector(&written))
}

fn write_subgraph<'a>(
    network: &WriterNetwork,
    precision: Precision,
    codes: &[(BuiltinOperator, i32)],
    fbb: &mut FlatBufferBuilder<'a>,
) -> WIPOffset<schema::SubGraph<'a>> {
    let tensors = write_tensors(network, precision, fbb);
    let mut operators = Vec::new();
    for operator in &network.operators {
        let code = codes::code(&operator.kind, precision);
        let opcode_index = codes
            .iter()
            .position(|&known| known == code)
            .expect("every code is listed");
        operators.push(write_operator(operator, opcode_index as u32, fbb));
    }
    let operators = Some(fbb.create_vector(&operators));
    let inputs = Some(fbb.create_vector(&indices(&network.inputs)));
    let outputs = Some(fbb.create_vector(&indices(&network.outputs)));
    let name = Some(fbb.create_string("main"));
    let args = schema::SubGraphArgs {
        tensors,
        inputs,
        outputs,
        operators,
        name,
        ..Default::default()
    };
    schema::SubGraph::create(fbb, &args)
}

fn write_tensors<'a>(
    network: &WriterNetwork,
    precision: Precision,
    fbb: &mut FlatBufferBuilder<'a>,
) -> Tables<'a, schema::Tensor<'a>> {
    let mut written = Vec::new();
    let mut n_constants = 0;
    for tensor in &network.tensors {
        n_constants += u32::from(tensor.is_constant());
        let buffer = if tensor.is_constant() { n_constants } else { 0 };
        written.push(write_tensor(tensor, buffer, precision, fbb));
    }
    Some(fbb.create_vector(&written))
}

fn write_tensor<'a>(
    tensor: &Tensor,
    buffer: u32,
    precision: Precision,
    fbb: &mut FlatBufferBuilder<'a>,
) -> WIPOffset<schema::Tensor<'a>> {
    let shape = Some(fbb.create_vector(&tensor.shape));
    let name = Some(fbb.create_string(&tensor.name));
    let quantization = tensor
        .quantization
        .as_ref()
        .filter(|_| precision.is_int8())
        .map(|quantization| write_quantization(quantization, fbb));
    let type_ = match (precision, tensor.element) {
        (Precision::Float32, _) if tensor.quantization.is_some() => TensorType::FLOAT32,
        (_, ElementType::Int8) => TensorType::INT8,
        (_, ElementType::Int16) => TensorType::INT16,
        (_, ElementType::Int32) => TensorType::INT32,
        (_, ElementType::Float32) => TensorType::FLOAT32,
        (_, ElementType::Bool) => TensorType::BOOL,
    };
    let args = schema::TensorArgs {
        shape,
        type_,
        buffer,
        name,
        quantization,
        is_variable: tensor.content == Content::Variable,
        has_rank: true,
        ..Default::default()
    };
    schema::Tensor::create(fbb, &args)
}

fn write_quantization<'a>(
    quantization: &Quantization,
    fbb: &mut FlatBufferBuilder<'a>,
) -> WIPOffset<schema::QuantizationParameters<'a>> {
    let zero_points = vec![i64::from(quantization.zero_point); quantization.scales.len()];
    let scale = Some(fbb.create_vector(&quantization.scales));
    let zero_point = Some(fbb.create_vector(&zero_points));
    let args = schema::QuantizationParametersArgs {
        scale,
        zero_point,
        quantized_dimension: quantization.axis as i32,
        ..Default::default()
    };
    schema::QuantizationParameters::create(fbb, &args)
}

fn write_operator<'a>(
    operator: &Operator,
    opcode_index: u32,
    fbb: &mut FlatBufferBuilder<'a>,
) -> WIPOffset<schema::Operator<'a>> {
    let (builtin_options_type, builtin_options) = options::write(&operator.kind, fbb);
    let inputs = Some(fbb.create_vector(&indices(&operator.inputs)));
    let outputs = Some(fbb.create_vector(&indices(&operator.outputs)));
    let intermediates = if operator.intermediates.is_empty() {
        None
    } else {
        Some(fbb.create_vector(&indices(&operator.intermediates)))
    };
    let args = schema::OperatorArgs {
        opcode_index,
        inputs,
        outputs,
        intermediates,
        builtin_options_type,
        builtin_options,
        ..Default::default()
    };
    schema::Operator::create(fbb, &args)
}

/// [`ABSENT`] becomes −1.
fn indices(tensors: &[TensorIdx]) -> Vec<i32> {
    let index = |&tensor: &TensorIdx| if tensor == ABSENT { -1 } else { tensor as i32 };
    tensors.iter().map(index).collect()
}
