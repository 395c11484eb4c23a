//! [`WriterNetwork`] → the bytes of a `.tflite` file.

use litecast::formats::tflite::schema;
use litecast_tflite_files::{self as files, File};
use schema::{BuiltinOperator, TensorType};

use super::network::{ABSENT, Content, ElementType, Operator, Tensor, TensorIdx, WriterNetwork};
use super::precision::{Precision, in_float32, without_quantize};
use super::random::SplitMix64;
use super::weights::INT16_STEPS;
use super::{codes, options};

/// Writes `network` with weights that are drawn from `values_seed`. The same arguments give the same bytes on every
/// platform.
pub fn to_tflite(network: &WriterNetwork, values_seed: u64, precision: Precision) -> Vec<u8> {
    match precision {
        Precision::Int8 => file(network, values_seed, precision),
        Precision::Float32 => file(&without_quantize(network), values_seed, precision),
    }
    .write()
}

fn file(network: &WriterNetwork, values_seed: u64, precision: Precision) -> File {
    let mut file = File {
        description: network.name.clone(),
        // Buffer 0 is empty and used by all activations; constants follow in the order of tensors.
        buffers: vec![Vec::new()],
        ..File::default()
    };
    let mut subgraph = files::Subgraph {
        name: String::from("main"),
        inputs: indices(&network.inputs),
        outputs: indices(&network.outputs),
        ..files::Subgraph::default()
    };
    for (idx, tensor) in network.tensors.iter().enumerate() {
        let mut written = tensor_of_file(tensor, precision);
        if tensor.is_constant() {
            written.buffer = file.buffers.len() as u32;
            let random = &mut SplitMix64::for_part(values_seed, idx as u64);
            file.buffers.push(contents(tensor, random, precision));
        }
        subgraph.tensors.push(written);
    }
    for operator in &network.operators {
        let (builtin, version) = codes::code(&operator.kind, precision);
        let written = operator_of_file(operator, code_idx(&mut file, builtin, version));
        subgraph.operators.push(written);
    }
    file.subgraphs.push(subgraph);
    file
}

fn contents(tensor: &Tensor, random: &mut SplitMix64, precision: Precision) -> Vec<u8> {
    let mut bytes = Vec::new();
    append_content(tensor, random, &mut bytes);
    match precision {
        Precision::Int8 => bytes,
        Precision::Float32 => in_float32(tensor, &bytes),
    }
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

/// Codes are listed once, in the order of first use.
fn code_idx(file: &mut File, builtin: BuiltinOperator, version: i32) -> u32 {
    let is_same = |code: &files::Code| (code.builtin, code.version) == (builtin.0, version);
    let known = file.codes.iter().position(is_same);
    let idx = known.unwrap_or_else(|| {
        let is_custom = builtin == BuiltinOperator::CUSTOM;
        file.codes.push(files::Code {
            builtin: builtin.0,
            version,
            custom: is_custom.then(|| String::from(codes::CUSTOM_CODE)),
            ..files::Code::default()
        });
        file.codes.len() - 1
    });
    idx as u32
}

fn tensor_of_file(tensor: &Tensor, precision: Precision) -> files::Tensor {
    let quantization = tensor.quantization.as_ref().filter(|_| precision.is_int8());
    let tensor_type = match (precision, tensor.element) {
        (Precision::Float32, _) if tensor.quantization.is_some() => TensorType::FLOAT32,
        (_, ElementType::Int8) => TensorType::INT8,
        (_, ElementType::Int16) => TensorType::INT16,
        (_, ElementType::Int32) => TensorType::INT32,
        (_, ElementType::Float32) => TensorType::FLOAT32,
        (_, ElementType::Bool) => TensorType::BOOL,
    };
    files::Tensor {
        name: tensor.name.clone(),
        tensor_type: tensor_type.0,
        shape: tensor.shape.clone(),
        is_variable: tensor.content == Content::Variable,
        quantization: quantization.map(|quantization| files::Quantization {
            scale: quantization.scales.clone(),
            zero_point: vec![i64::from(quantization.zero_point); quantization.scales.len()],
            dimension: quantization.axis as i32,
        }),
        ..files::Tensor::default()
    }
}

fn operator_of_file(operator: &Operator, code: u32) -> files::Operator {
    files::Operator {
        code,
        inputs: indices(&operator.inputs),
        outputs: indices(&operator.outputs),
        intermediates: indices(&operator.intermediates),
        options: options::options(&operator.kind),
    }
}

/// [`ABSENT`] becomes −1.
fn indices(tensors: &[TensorIdx]) -> Vec<i32> {
    let index = |&tensor: &TensorIdx| if tensor == ABSENT { -1 } else { tensor as i32 };
    tensors.iter().map(index).collect()
}
