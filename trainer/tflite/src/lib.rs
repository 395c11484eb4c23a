//! A TFLite file as plain data that can hold what no converter writes, and its bytes.

pub mod options;
mod write;

use flatbuffers::Vector;
use litecast::formats::tflite::schema;

pub use options::{Options, Value};

#[derive(Clone, Debug)]
pub struct File {
    /// Of the schema.
    pub version: u32,
    pub description: String,
    pub codes: Vec<Code>,
    /// Contents of buffers 0, 1, ...; an empty one has no vector, and a file without buffers no list of them.
    pub buffers: Vec<Vec<u8>>,
    /// Buffers, by index, that have something else in the place of contents.
    pub instead: Vec<(usize, Instead)>,
    /// The first one is the main subgraph.
    pub subgraphs: Vec<Subgraph>,
    /// Names with buffer indices.
    pub metadata: Vec<(String, u32)>,
    /// Keys with subgraph indices.
    pub signatures: Vec<(String, u32)>,
    /// Whether vectors of indices that are equal are stored once and named by all who have them, which
    /// FlatBuffers allow and no converter does.
    pub shares_vectors: bool,
}

#[derive(Clone, Copy, Debug)]
pub enum Instead {
    /// A vector of length 0.
    Empty,
    /// Bytes of the file that are not in the FlatBuffer.
    Outside { offset: u64, size: u64 },
}

#[derive(Clone, Debug)]
pub struct Code {
    pub builtin: i32,
    pub version: i32,
    /// The field of old files; where None, what converters write there.
    pub deprecated: Option<i8>,
    pub custom: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Subgraph {
    pub name: String,
    pub tensors: Vec<Tensor>,
    /// How often the vector of tensors names its last one besides the first time.
    pub last_tensor_again: usize,
    pub operators: Vec<Operator>,
    pub inputs: Vec<i32>,
    pub outputs: Vec<i32>,
}

#[derive(Clone, Debug, Default)]
pub struct Tensor {
    pub name: String,
    pub tensor_type: i8,
    pub shape: Vec<i32>,
    /// Whether the file says nothing of the shape, not even its rank.
    pub has_no_shape: bool,
    pub signature: Option<Vec<i32>>,
    pub buffer: u32,
    /// Index of a buffer in another file; 0 for none.
    pub external_buffer: u32,
    pub is_variable: bool,
    pub quantization: Option<Quantization>,
    pub sparsity: Option<Sparsity>,
}

#[derive(Clone, Debug, Default)]
pub struct Sparsity {
    pub traversal_order: Vec<i32>,
    pub block_map: Vec<i32>,
    /// Dense size of each, and of a compressed one its segments and indices.
    pub dimensions: Vec<(i32, Option<[Indices; 2]>)>,
}

#[derive(Clone, Debug)]
pub enum Indices {
    Absent,
    Bytes(Vec<u8>),
    Ints(Vec<i32>),
}

#[derive(Clone, Debug, Default)]
pub struct Quantization {
    pub scale: Vec<f32>,
    pub zero_point: Vec<i64>,
    pub dimension: i32,
}

#[derive(Clone, Debug, Default)]
pub struct Operator {
    pub code: u32,
    pub inputs: Vec<i32>,
    pub outputs: Vec<i32>,
    pub intermediates: Vec<i32>,
    pub options: Options,
}

impl Default for Code {
    fn default() -> Self {
        Self {
            builtin: 0,
            version: 1,
            deprecated: None,
            custom: None,
        }
    }
}

impl Default for File {
    fn default() -> Self {
        Self {
            version: 3,
            description: String::new(),
            codes: Vec::new(),
            buffers: Vec::new(),
            instead: Vec::new(),
            subgraphs: Vec::new(),
            metadata: Vec::new(),
            signatures: Vec::new(),
            shares_vectors: false,
        }
    }
}

impl File {
    /// Operators of all subgraphs.
    pub fn n_operators(&self) -> usize {
        self.subgraphs.iter().map(|s| s.operators.len()).sum()
    }

    /// Index of the operator code with this `BuiltinOperator` number.
    pub fn code(&mut self, builtin: schema::BuiltinOperator) -> u32 {
        let known = self.codes.iter().position(|code| code.builtin == builtin.0);
        let idx = known.unwrap_or_else(|| {
            self.codes.push(Code {
                builtin: builtin.0,
                ..Code::default()
            });
            self.codes.len() - 1
        });
        idx as u32
    }

    /// What a file that the reader takes holds, as far as this type can. None for another file.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        litecast::formats::tflite::parse(bytes).ok()?;
        let model = schema::root_as_model(bytes).ok()?;
        let code = |code: schema::OperatorCode| Code {
            builtin: code
                .builtin_code()
                .0
                .max(i32::from(code.deprecated_builtin_code())),
            version: code.version(),
            custom: code.custom_code().map(str::to_owned),
            deprecated: None,
        };
        let buffer = |buffer: schema::Buffer| {
            let data = buffer.data().map(|data| data.bytes().to_vec());
            data.unwrap_or_default()
        };
        Some(Self {
            codes: model.operator_codes()?.iter().map(code).collect(),
            buffers: model.buffers()?.iter().map(buffer).collect(),
            subgraphs: model.subgraphs()?.iter().map(read_subgraph).collect(),
            ..Self::default()
        })
    }
}

fn read_subgraph(subgraph: schema::SubGraph) -> Subgraph {
    Subgraph {
        tensors: (subgraph.tensors().into_iter().flatten())
            .map(read_tensor)
            .collect(),
        operators: (subgraph.operators().into_iter().flatten())
            .map(read_operator)
            .collect(),
        inputs: read_indices(subgraph.inputs()),
        outputs: read_indices(subgraph.outputs()),
        ..Subgraph::default()
    }
}

fn read_tensor(tensor: schema::Tensor) -> Tensor {
    let quantization = tensor.quantization().and_then(|quantization| {
        Some(Quantization {
            scale: quantization.scale()?.iter().collect(),
            zero_point: (quantization.zero_point().into_iter().flatten()).collect(),
            dimension: quantization.quantized_dimension(),
        })
    });
    Tensor {
        name: tensor.name().unwrap_or_default().to_owned(),
        tensor_type: tensor.type_().0,
        shape: read_indices(tensor.shape()),
        signature: tensor.shape_signature().map(|s| s.iter().collect()),
        buffer: tensor.buffer(),
        is_variable: tensor.is_variable(),
        quantization,
        ..Tensor::default()
    }
}

fn read_operator(operator: schema::Operator) -> Operator {
    Operator {
        code: operator.opcode_index(),
        inputs: read_indices(operator.inputs()),
        outputs: read_indices(operator.outputs()),
        intermediates: read_indices(operator.intermediates()),
        options: Options::read(operator),
    }
}

fn read_indices(stored: Option<Vector<i32>>) -> Vec<i32> {
    stored.into_iter().flatten().collect()
}
