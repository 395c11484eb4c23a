//! Small TFLite files, described in plain data.

use litecast::formats::tflite::schema;

use crate::write::flatbuffer;

pub struct File {
    pub version: u32,
    pub codes: Vec<Code>,
    pub subgraphs: Vec<Subgraph>,
    pub buffers: Option<Vec<Buffer>>,
    /// Name and buffer index.
    pub metadata: Vec<(&'static str, u32)>,
    /// Key and subgraph index.
    pub signatures: Vec<(&'static str, u32)>,
    /// Written behind the FlatBuffer; buffers name it by its offset in the file.
    pub tail: Vec<u8>,
}

#[derive(Clone, Default)]
pub struct Code {
    pub deprecated: i8,
    pub builtin: i32,
    pub custom: Option<&'static str>,
}

#[derive(Clone, Default)]
pub struct Subgraph {
    pub name: &'static str,
    pub tensors: Vec<Tensor>,
    pub operators: Vec<Operator>,
    pub inputs: Vec<i32>,
    pub outputs: Vec<i32>,
    /// How often the vector of tensors names its last one besides the first time.
    pub last_tensor_again: usize,
}

#[derive(Clone, Default)]
pub struct Tensor {
    pub name: &'static str,
    pub shape: Option<Vec<i32>>,
    pub signature: Option<Vec<i32>>,
    pub tensor_type: i8,
    pub buffer: u32,
    pub is_variable: bool,
    pub external_buffer: u32,
    pub scale: Option<Vec<f32>>,
    pub zero_point: Option<Vec<i64>>,
    pub quantized_dimension: i32,
    /// For each dimension its dense size or its indices.
    pub sparsity: Option<Vec<Dimension>>,
}

#[derive(Clone)]
pub enum Dimension {
    Dense(i32),
    Sparse(Vec<u8>),
}

#[derive(Clone)]
pub struct Operator {
    pub code: u32,
    pub inputs: Vec<i32>,
    pub outputs: Vec<i32>,
    pub intermediates: Vec<i32>,
    pub options: Options,
}

#[derive(Clone)]
pub enum Options {
    None,
    Conv2D {
        padding: i8,
        stride: i32,
        dilation: i32,
        activation: i8,
    },
    If {
        then: i32,
        or_else: i32,
    },
    While {
        cond: i32,
        body: i32,
    },
    Call {
        subgraph: u32,
    },
    CallOnce {
        init: i32,
    },
    Composite {
        name: &'static str,
        decomposition: i32,
    },
    Case {
        branches: Vec<i32>,
    },
    SpaceToDepth {
        block_size: i32,
    },
    MirrorPad {
        mode: i8,
    },
    Lstm {
        kernel_type: i8,
    },
}

#[derive(Clone)]
pub enum Buffer {
    Data(Vec<u8>),
    /// No vector at all.
    Absent,
    /// `offset` counts from the start of [`File::tail`].
    Behind {
        offset: u64,
        size: u64,
    },
    /// `offset` as written.
    At {
        offset: u64,
        size: u64,
    },
}

impl Default for File {
    /// One convolution, 3 × 3 × 2 → 3 × 3 × 4, of int8.
    fn default() -> Self {
        let int8 = |name, shape: &[i32], buffer| Tensor {
            name,
            shape: Some(shape.to_vec()),
            tensor_type: schema::TensorType::INT8.0,
            buffer,
            scale: Some(vec![0.5]),
            zero_point: Some(vec![3]),
            ..Tensor::default()
        };
        let bias = Tensor {
            tensor_type: schema::TensorType::INT32.0,
            ..int8("conv/bias", &[4], 2)
        };
        let conv = Operator {
            code: 0,
            inputs: vec![0, 1, 2],
            outputs: vec![3],
            intermediates: Vec::new(),
            options: Options::Conv2D {
                padding: 0,
                stride: 1,
                dilation: 1,
                activation: 1,
            },
        };
        let main = Subgraph {
            name: "main",
            tensors: vec![
                int8("input", &[1, 3, 3, 2], 0),
                int8("conv/weights", &[4, 3, 3, 2], 1),
                bias,
                int8("output", &[1, 3, 3, 4], 0),
            ],
            operators: vec![conv],
            inputs: vec![0],
            outputs: vec![3],
            last_tensor_again: 0,
        };
        Self {
            version: 3,
            codes: vec![Code {
                deprecated: 3,
                builtin: 3,
                custom: None,
            }],
            subgraphs: vec![main],
            buffers: Some(vec![
                Buffer::Absent,
                Buffer::Data((0..72).collect()),
                Buffer::Data(vec![0; 16]),
            ]),
            metadata: vec![("min_runtime_version", 2)],
            signatures: vec![("serving_default", 0)],
            tail: Vec::new(),
        }
    }
}

impl File {
    /// The default file after `change`.
    pub fn with(change: impl FnOnce(&mut Self)) -> Vec<u8> {
        let mut file = Self::default();
        change(&mut file);
        file.bytes()
    }

    pub fn main(&mut self) -> &mut Subgraph {
        &mut self.subgraphs[0]
    }

    pub fn tensor(&mut self, tensor_idx: usize) -> &mut Tensor {
        &mut self.subgraphs[0].tensors[tensor_idx]
    }

    pub fn operator(&mut self) -> &mut Operator {
        &mut self.subgraphs[0].operators[0]
    }

    pub fn buffer(&mut self, buffer_idx: usize) -> &mut Buffer {
        &mut self.buffers.as_mut().unwrap()[buffer_idx]
    }

    /// The file. Offsets of the tail depend on the length before it, so that it is written twice.
    pub fn bytes(&self) -> Vec<u8> {
        let tail_start = flatbuffer(self, 0).len() as u64;
        let mut bytes = flatbuffer(self, tail_start);
        assert_eq!(tail_start, bytes.len() as u64);
        bytes.extend(&self.tail);
        bytes
    }
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
