//! A small TFLite file, changed.

use litecast::formats::tflite::schema::{BuiltinOptions, TensorType};
use litecast_tflite_files::{
    Code, File, Instead, Operator, Options, Quantization, Subgraph, Tensor, Value,
};

/// One convolution, 3 × 3 × 2 → 3 × 3 × 4, of int8.
pub fn convolution() -> File {
    let int8 = |name: &str, shape: &[i32], buffer| Tensor {
        name: name.to_owned(),
        shape: shape.to_vec(),
        tensor_type: TensorType::INT8.0,
        buffer,
        quantization: Some(Quantization {
            scale: vec![0.5],
            zero_point: vec![3],
            dimension: 0,
        }),
        ..Tensor::default()
    };
    let bias = Tensor {
        tensor_type: TensorType::INT32.0,
        ..int8("conv/bias", &[4], 2)
    };
    let conv = Operator {
        inputs: vec![0, 1, 2],
        outputs: vec![3],
        options: conv_2d(0, 1, 1, 1),
        ..Operator::default()
    };
    let main = Subgraph {
        name: "main".to_owned(),
        tensors: vec![
            int8("input", &[1, 3, 3, 2], 0),
            int8("conv/weights", &[4, 3, 3, 2], 1),
            bias,
            int8("output", &[1, 3, 3, 4], 0),
        ],
        operators: vec![conv],
        inputs: vec![0],
        outputs: vec![3],
        ..Subgraph::default()
    };
    File {
        codes: vec![code(3, 3)],
        subgraphs: vec![main],
        buffers: vec![Vec::new(), (0..72).collect(), vec![0; 16]],
        metadata: vec![("min_runtime_version".to_owned(), 2)],
        signatures: vec![("serving_default".to_owned(), 0)],
        ..File::default()
    }
}

/// The convolution after `change`.
pub fn with(change: impl FnOnce(&mut File)) -> Vec<u8> {
    let mut file = convolution();
    change(&mut file);
    file.write()
}

/// The convolution with this operator code.
pub fn with_code(code: Code) -> Vec<u8> {
    with(|f| f.codes[0] = code)
}

/// The convolution with these options.
pub fn with_options(options: Options) -> Vec<u8> {
    with(|f| operator(f).options = options)
}

/// The convolution with weights of `size` bytes from `offset` on, outside of the FlatBuffer.
pub fn with_weights_at(offset: u64, size: u64) -> Vec<u8> {
    with(|f| f.instead = vec![(1, Instead::Outside { offset, size })])
}

/// The convolution with 72 bytes of weights behind the FlatBuffer, of which `tail` is there.
pub fn with_weights_behind(tail: &[u8]) -> Vec<u8> {
    let start = with_weights_at(0, 72).len() as u64;
    [&with_weights_at(start, 72), tail].concat()
}

pub fn code(deprecated: i8, builtin: i32) -> Code {
    Code {
        deprecated: Some(deprecated),
        builtin,
        ..Code::default()
    }
}

pub fn conv_2d(padding: u8, stride: i32, dilation: i32, activation: u8) -> Options {
    let [stride, dilation] = [stride, dilation].map(Value::Int);
    let fields = [
        Value::Byte(padding),
        stride.clone(),
        stride,
        Value::Byte(activation),
        dilation.clone(),
        dilation,
    ];
    Options::with(BuiltinOptions::Conv2DOptions, &fields)
}

pub fn tensor(file: &mut File, tensor_idx: usize) -> &mut Tensor {
    &mut file.subgraphs[0].tensors[tensor_idx]
}

pub fn quantization(file: &mut File, tensor_idx: usize) -> &mut Quantization {
    tensor(file, tensor_idx).quantization.as_mut().unwrap()
}

pub fn operator(file: &mut File) -> &mut Operator {
    &mut file.subgraphs[0].operators[0]
}

/// Bytes at `position` overwritten.
pub fn patched(mut bytes: Vec<u8>, position: usize, with: &[u8]) -> Vec<u8> {
    bytes[position..position + with.len()].copy_from_slice(with);
    bytes
}

/// Where `needle` is; panics where it is not there once.
pub fn position(bytes: &[u8], needle: &[u8]) -> usize {
    let mut matches = bytes
        .windows(needle.len())
        .enumerate()
        .filter(|(_, w)| *w == needle);
    let (position, _) = matches.next().expect("needle in file");
    assert!(matches.next().is_none(), "needle twice in file");
    position
}
