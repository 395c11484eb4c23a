//! A TFLite file as plain data that can hold what no converter writes, and its bytes.

use std::collections::HashMap;

use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, Vector, WIPOffset};
use litecast::formats::tflite::schema;

use crate::options::{Options, Value};

#[derive(Clone, Debug, Default)]
pub struct File {
    pub codes: Vec<Code>,
    /// Contents of buffers 0, 1, ...
    pub buffers: Vec<Vec<u8>>,
    /// The first one is the main subgraph.
    pub subgraphs: Vec<Subgraph>,
    /// Names with buffer indices.
    pub metadata: Vec<(String, u32)>,
    /// Whether vectors of indices that are equal are stored once and named by all who have them, which
    /// FlatBuffers allow and no converter does.
    pub shares_vectors: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Code {
    pub builtin: i32,
    pub custom: Option<String>,
}

#[derive(Clone, Debug, Default)]
pub struct Subgraph {
    pub tensors: Vec<Tensor>,
    pub operators: Vec<Operator>,
    pub inputs: Vec<i32>,
    pub outputs: Vec<i32>,
}

#[derive(Clone, Debug, Default)]
pub struct Tensor {
    pub name: String,
    pub tensor_type: i8,
    pub shape: Vec<i32>,
    pub signature: Option<Vec<i32>>,
    pub buffer: u32,
    pub is_variable: bool,
    pub quantization: Option<Quantization>,
    pub sparsity: Option<Sparsity>,
}

#[derive(Clone, Debug, Default)]
pub struct Sparsity {
    pub traversal_order: Vec<i32>,
    pub block_map: Vec<i32>,
    /// Dense size of each, and of a compressed one its segments and indices.
    pub dimensions: Vec<(i32, Option<[Vec<i32>; 2]>)>,
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
                custom: None,
            });
            self.codes.len() - 1
        });
        idx as u32
    }

    pub fn write(&self) -> Vec<u8> {
        let mut writer = Writer {
            builder: FlatBufferBuilder::new(),
            shared: self.shares_vectors.then(HashMap::new),
        };
        writer.file(self)
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
            custom: code.custom_code().map(str::to_owned),
        };
        let buffer = |buffer: schema::Buffer| {
            let data = buffer.data().map(|data| data.bytes().to_vec());
            data.unwrap_or_default()
        };
        Some(Self {
            codes: model.operator_codes()?.iter().map(code).collect(),
            buffers: model.buffers()?.iter().map(buffer).collect(),
            subgraphs: model.subgraphs()?.iter().map(read_subgraph).collect(),
            metadata: Vec::new(),
            shares_vectors: false,
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
        sparsity: None,
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

type Indices = WIPOffset<Vector<'static, i32>>;

struct Writer {
    builder: FlatBufferBuilder<'static>,
    /// By contents, where vectors of indices are stored once.
    shared: Option<HashMap<Vec<i32>, Indices>>,
}

impl Writer {
    fn file(&mut self, file: &File) -> Vec<u8> {
        let buffers: Vec<_> = (file.buffers.iter())
            .map(|contents| {
                let data = (!contents.is_empty()).then(|| {
                    // Where converters have them: kernels read weights in place.
                    self.builder.start_vector::<u8>(0);
                    self.builder.end_vector::<u8>(0);
                    self.builder.create_vector(contents)
                });
                let args = schema::BufferArgs {
                    data,
                    ..Default::default()
                };
                schema::Buffer::create(&mut self.builder, &args)
            })
            .collect();
        let buffers = self.builder.create_vector(&buffers);
        let subgraphs: Vec<_> = file.subgraphs.iter().map(|s| self.subgraph(s)).collect();
        let subgraphs = self.builder.create_vector(&subgraphs);
        let codes: Vec<_> = file.codes.iter().map(|code| self.code(code)).collect();
        let codes = self.builder.create_vector(&codes);
        let metadata: Vec<_> = (file.metadata.iter())
            .map(|(name, buffer)| {
                let name = Some(self.builder.create_string(name));
                let buffer = *buffer;
                schema::Metadata::create(&mut self.builder, &schema::MetadataArgs { name, buffer })
            })
            .collect();
        let metadata = self.builder.create_vector(&metadata);
        let args = schema::ModelArgs {
            version: 3,
            operator_codes: Some(codes),
            subgraphs: Some(subgraphs),
            buffers: Some(buffers),
            metadata: Some(metadata),
            ..Default::default()
        };
        let model = schema::Model::create(&mut self.builder, &args);
        schema::finish_model_buffer(&mut self.builder, model);
        self.builder.finished_data().to_vec()
    }

    fn code(&mut self, code: &Code) -> WIPOffset<schema::OperatorCode<'static>> {
        let custom = code.custom.as_deref();
        let args = schema::OperatorCodeArgs {
            deprecated_builtin_code: code.builtin.clamp(0, 127) as i8,
            builtin_code: schema::BuiltinOperator(code.builtin),
            custom_code: custom.map(|name| self.builder.create_string(name)),
            version: 1,
        };
        schema::OperatorCode::create(&mut self.builder, &args)
    }

    fn subgraph(&mut self, subgraph: &Subgraph) -> WIPOffset<schema::SubGraph<'static>> {
        let tensors: Vec<_> = subgraph.tensors.iter().map(|t| self.tensor(t)).collect();
        let operators: Vec<_> = (subgraph.operators.iter())
            .map(|operator| self.operator(operator))
            .collect();
        let args = schema::SubGraphArgs {
            tensors: Some(self.builder.create_vector(&tensors)),
            operators: Some(self.builder.create_vector(&operators)),
            inputs: Some(self.indices(&subgraph.inputs)),
            outputs: Some(self.indices(&subgraph.outputs)),
            ..Default::default()
        };
        schema::SubGraph::create(&mut self.builder, &args)
    }

    fn indices(&mut self, indices: &[i32]) -> Indices {
        let known = self.shared.as_ref().and_then(|shared| shared.get(indices));
        if let Some(&written) = known {
            return written;
        }
        let written = self.builder.create_vector(indices);
        if let Some(shared) = &mut self.shared {
            shared.insert(indices.to_vec(), written);
        }
        written
    }

    fn tensor(&mut self, tensor: &Tensor) -> WIPOffset<schema::Tensor<'static>> {
        let quantization = tensor.quantization.as_ref().map(|quantization| {
            let args = schema::QuantizationParametersArgs {
                scale: Some(self.builder.create_vector(&quantization.scale)),
                zero_point: Some(self.builder.create_vector(&quantization.zero_point)),
                quantized_dimension: quantization.dimension,
                ..Default::default()
            };
            schema::QuantizationParameters::create(&mut self.builder, &args)
        });
        let sparsity = tensor.sparsity.as_ref().map(|one| self.sparsity(one));
        let args = schema::TensorArgs {
            sparsity,
            shape: Some(self.indices(&tensor.shape)),
            shape_signature: tensor.signature.as_ref().map(|s| self.indices(s)),
            type_: schema::TensorType(tensor.tensor_type),
            buffer: tensor.buffer,
            name: (!tensor.name.is_empty()).then(|| self.builder.create_string(&tensor.name)),
            is_variable: tensor.is_variable,
            quantization,
            has_rank: true,
            ..Default::default()
        };
        schema::Tensor::create(&mut self.builder, &args)
    }

    fn sparsity(&mut self, sparsity: &Sparsity) -> WIPOffset<schema::SparsityParameters<'static>> {
        let builder = &mut self.builder;
        let mut dimensions = Vec::new();
        for (dense_size, compressed) in &sparsity.dimensions {
            let [segments, indices] = match compressed {
                None => [None, None],
                Some(lists) => lists.each_ref().map(|list| {
                    let values = Some(builder.create_vector(list));
                    let args = schema::Int32VectorArgs { values };
                    Some(schema::Int32Vector::create(builder, &args).as_union_value())
                }),
            };
            let items = |list: Option<_>| match list {
                Some(_) => schema::SparseIndexVector::Int32Vector,
                None => schema::SparseIndexVector::NONE,
            };
            let args = schema::DimensionMetadataArgs {
                format: match compressed {
                    Some(_) => schema::DimensionType::SPARSE_CSR,
                    None => schema::DimensionType::DENSE,
                },
                dense_size: *dense_size,
                array_segments_type: items(segments),
                array_segments: segments,
                array_indices_type: items(indices),
                array_indices: indices,
            };
            dimensions.push(schema::DimensionMetadata::create(builder, &args));
        }
        let args = schema::SparsityParametersArgs {
            traversal_order: Some(builder.create_vector(&sparsity.traversal_order)),
            block_map: Some(builder.create_vector(&sparsity.block_map)),
            dim_metadata: Some(builder.create_vector(&dimensions)),
        };
        schema::SparsityParameters::create(builder, &args)
    }

    fn operator(&mut self, operator: &Operator) -> WIPOffset<schema::Operator<'static>> {
        let written = self.options(&operator.options);
        let intermediates = &operator.intermediates;
        let mut args = schema::OperatorArgs {
            opcode_index: operator.code,
            inputs: Some(self.indices(&operator.inputs)),
            outputs: Some(self.indices(&operator.outputs)),
            intermediates: (!intermediates.is_empty()).then(|| self.indices(intermediates)),
            ..Default::default()
        };
        if operator.options.is_second {
            args.builtin_options_2_type = schema::BuiltinOptions2(operator.options.kind);
            args.builtin_options_2 = written;
        } else {
            args.builtin_options_type = schema::BuiltinOptions(operator.options.kind);
            args.builtin_options = written;
        }
        schema::Operator::create(&mut self.builder, &args)
    }

    fn options(&mut self, options: &Options) -> Option<WIPOffset<UnionWIPOffset>> {
        if options.kind == 0 {
            return None;
        }
        // What lies outside the table has to be written before it.
        let outside: Vec<Option<u32>> = (options.fields.iter())
            .map(|field| match field {
                Value::Text(text) => Some(self.builder.create_string(text).value()),
                Value::Bytes(values) => Some(self.builder.create_vector(values).value()),
                Value::Ints(values) => Some(self.builder.create_vector(values).value()),
                Value::Longs(values) => Some(self.builder.create_vector(values).value()),
                Value::Floats(values) => Some(self.builder.create_vector(values).value()),
                _ => None,
            })
            .collect();
        let table = self.builder.start_table();
        for (idx, (field, outside)) in options.fields.iter().zip(outside).enumerate() {
            let slot = 4 + 2 * idx as u16;
            match (field, outside) {
                (_, Some(offset)) => {
                    let offset = WIPOffset::<UnionWIPOffset>::new(offset);
                    self.builder.push_slot_always(slot, offset);
                }
                (Value::Byte(value), _) => self.builder.push_slot_always(slot, *value),
                (Value::Int(value), _) => self.builder.push_slot_always(slot, *value),
                (Value::Long(value), _) => self.builder.push_slot_always(slot, *value),
                (Value::Float(value), _) => self.builder.push_slot_always(slot, *value),
                _ => {}
            }
        }
        let table = self.builder.end_table(table);
        Some(WIPOffset::new(table.value()))
    }
}
