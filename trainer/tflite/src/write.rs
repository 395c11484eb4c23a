//! [`File`] → bytes, with the generated builders.

use std::collections::HashMap;

use flatbuffers::{
    FlatBufferBuilder, ForwardsUOffset, Push, PushAlignment, UnionWIPOffset, Vector, WIPOffset,
};
use litecast::formats::tflite::schema;

use super::{Code, File, Indices, Instead, Operator, Options, Sparsity, Subgraph, Tensor, Value};

type Integers = WIPOffset<Vector<'static, i32>>;
type Tables<T> = WIPOffset<Vector<'static, ForwardsUOffset<T>>>;

/// Alignment of buffers that the schema requires (`force_align: 16`), so that kernels can read them in place.
const BUFFER_ALIGNMENT: usize = 16;
/// Reserved bytes for tables, names and scales, so that the builder's buffer rarely grows: files need 700 to 900 bytes
/// per operator, and 12 bytes per channel.
const METADATA_BYTES_PER_OPERATOR: usize = 1200;

struct Writer {
    builder: FlatBufferBuilder<'static>,
    /// By contents, where vectors of indices are stored once.
    shared: Option<HashMap<Vec<i32>, Integers>>,
}

impl File {
    /// Its bytes, which are the same on every platform.
    pub fn write(&self) -> Vec<u8> {
        let mut writer = Writer {
            builder: FlatBufferBuilder::with_capacity(self.expected_bytes()),
            shared: self.shares_vectors.then(HashMap::new),
        };
        writer.file(self);
        let (mut bytes, start) = writer.builder.collapse();
        bytes.drain(..start);
        bytes
    }

    fn expected_bytes(&self) -> usize {
        let quantizations = (self.subgraphs.iter())
            .flat_map(|subgraph| &subgraph.tensors)
            .filter_map(|tensor| tensor.quantization.as_ref());
        let n_scales: usize = quantizations.map(|q| q.scale.len()).sum();
        self.buffers.iter().map(Vec::len).sum::<usize>()
            + 12 * n_scales
            + METADATA_BYTES_PER_OPERATOR * (self.n_operators() + 4)
    }
}

impl Writer {
    fn file(&mut self, file: &File) {
        let buffers: Vec<_> = (file.buffers.iter().enumerate())
            .map(|(idx, contents)| self.buffer(idx, contents, file))
            .collect();
        let buffers = (!buffers.is_empty()).then(|| self.builder.create_vector(&buffers));
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
        let metadata = (!metadata.is_empty()).then(|| self.builder.create_vector(&metadata));
        let args = schema::ModelArgs {
            version: file.version,
            description: self.name(&file.description),
            operator_codes: Some(codes),
            subgraphs: Some(subgraphs),
            buffers,
            metadata,
            signature_defs: self.signatures(&file.signatures),
            ..Default::default()
        };
        let model = schema::Model::create(&mut self.builder, &args);
        schema::finish_model_buffer(&mut self.builder, model);
    }

    fn buffer(
        &mut self,
        idx: usize,
        contents: &[u8],
        file: &File,
    ) -> WIPOffset<schema::Buffer<'static>> {
        let instead = file.instead.iter().find(|(buffer, _)| *buffer == idx);
        let mut args = schema::BufferArgs::default();
        match instead {
            Some((_, Instead::Empty)) => args.data = Some(self.builder.create_vector::<u8>(&[])),
            Some(&(_, Instead::Outside { offset, size })) => {
                (args.offset, args.size) = (offset, size);
            }
            None if contents.is_empty() => {}
            None => args.data = Some(self.contents(contents)),
        }
        // An offset of 0 would be left out, and change the length.
        self.builder.force_defaults(instead.is_some());
        let written = schema::Buffer::create(&mut self.builder, &args);
        self.builder.force_defaults(false);
        written
    }

    /// What [`FlatBufferBuilder::create_vector`] writes byte by byte, which takes most of the time of a file with weights
    /// in a build that is not optimised.
    fn contents(&mut self, contents: &[u8]) -> WIPOffset<Vector<'static, u8>> {
        // A flat buffer is built from its end. After this, a vector of so many bytes starts at a multiple of the
        // alignment from the end, and the builder pads the whole file to such a multiple.
        self.builder.push(AlignedBlock);
        for _ in 0..contents.len().wrapping_neg() % BUFFER_ALIGNMENT {
            self.builder.push(0u8);
        }
        self.builder.start_vector::<u8>(contents.len());
        let (blocks, rest) = contents.as_chunks();
        for &byte in rest.iter().rev() {
            self.builder.push(byte);
        }
        for block in blocks.iter().rev() {
            self.builder.push(Block(block));
        }
        self.builder.end_vector(contents.len())
    }

    fn signatures(
        &mut self,
        signatures: &[(String, u32)],
    ) -> Option<Tables<schema::SignatureDef<'static>>> {
        let written: Vec<_> = (signatures.iter())
            .map(|(key, subgraph_index)| {
                let args = schema::SignatureDefArgs {
                    signature_key: Some(self.builder.create_string(key)),
                    subgraph_index: *subgraph_index,
                    ..Default::default()
                };
                schema::SignatureDef::create(&mut self.builder, &args)
            })
            .collect();
        (!written.is_empty()).then(|| self.builder.create_vector(&written))
    }

    fn code(&mut self, code: &Code) -> WIPOffset<schema::OperatorCode<'static>> {
        let custom = code.custom.as_deref();
        let args = schema::OperatorCodeArgs {
            deprecated_builtin_code: (code.deprecated)
                .unwrap_or_else(|| code.builtin.clamp(0, 127) as i8),
            builtin_code: schema::BuiltinOperator(code.builtin),
            custom_code: custom.map(|name| self.builder.create_string(name)),
            version: code.version,
        };
        schema::OperatorCode::create(&mut self.builder, &args)
    }

    fn subgraph(&mut self, subgraph: &Subgraph) -> WIPOffset<schema::SubGraph<'static>> {
        let mut tensors: Vec<_> = subgraph.tensors.iter().map(|t| self.tensor(t)).collect();
        if let Some(&last) = tensors.last() {
            tensors.extend(vec![last; subgraph.last_tensor_again]);
        }
        let operators: Vec<_> = (subgraph.operators.iter())
            .map(|operator| self.operator(operator))
            .collect();
        let args = schema::SubGraphArgs {
            tensors: Some(self.builder.create_vector(&tensors)),
            operators: Some(self.builder.create_vector(&operators)),
            inputs: Some(self.indices(&subgraph.inputs)),
            outputs: Some(self.indices(&subgraph.outputs)),
            name: self.name(&subgraph.name),
            ..Default::default()
        };
        schema::SubGraph::create(&mut self.builder, &args)
    }

    fn name(&mut self, name: &str) -> Option<WIPOffset<&'static str>> {
        (!name.is_empty()).then(|| self.builder.create_string(name))
    }

    fn indices(&mut self, indices: &[i32]) -> Integers {
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
            shape: (!tensor.has_no_shape).then(|| self.indices(&tensor.shape)),
            shape_signature: tensor.signature.as_ref().map(|s| self.indices(s)),
            type_: schema::TensorType(tensor.tensor_type),
            buffer: tensor.buffer,
            name: self.name(&tensor.name),
            is_variable: tensor.is_variable,
            quantization,
            external_buffer: tensor.external_buffer,
            has_rank: !tensor.has_no_shape,
            ..Default::default()
        };
        schema::Tensor::create(&mut self.builder, &args)
    }

    fn sparsity(&mut self, sparsity: &Sparsity) -> WIPOffset<schema::SparsityParameters<'static>> {
        let mut dimensions = Vec::new();
        for (dense_size, compressed) in &sparsity.dimensions {
            let [segments, indices] = match compressed {
                None => [(schema::SparseIndexVector::NONE, None); 2],
                Some(lists) => lists.each_ref().map(|list| self.sparse_indices(list)),
            };
            let args = schema::DimensionMetadataArgs {
                format: match compressed {
                    Some(_) => schema::DimensionType::SPARSE_CSR,
                    None => schema::DimensionType::DENSE,
                },
                dense_size: *dense_size,
                array_segments_type: segments.0,
                array_segments: segments.1,
                array_indices_type: indices.0,
                array_indices: indices.1,
            };
            dimensions.push(schema::DimensionMetadata::create(&mut self.builder, &args));
        }
        let builder = &mut self.builder;
        let args = schema::SparsityParametersArgs {
            traversal_order: Some(builder.create_vector(&sparsity.traversal_order)),
            block_map: Some(builder.create_vector(&sparsity.block_map)),
            dim_metadata: Some(builder.create_vector(&dimensions)),
        };
        schema::SparsityParameters::create(builder, &args)
    }

    fn sparse_indices(
        &mut self,
        indices: &Indices,
    ) -> (schema::SparseIndexVector, Option<WIPOffset<UnionWIPOffset>>) {
        let builder = &mut self.builder;
        match indices {
            Indices::Absent => (schema::SparseIndexVector::NONE, None),
            Indices::Bytes(values) => {
                let values = Some(builder.create_vector(values));
                let vector =
                    schema::Uint8Vector::create(builder, &schema::Uint8VectorArgs { values });
                (
                    schema::SparseIndexVector::Uint8Vector,
                    Some(vector.as_union_value()),
                )
            }
            Indices::Ints(values) => {
                let values = Some(builder.create_vector(values));
                let vector =
                    schema::Int32Vector::create(builder, &schema::Int32VectorArgs { values });
                (
                    schema::SparseIndexVector::Int32Vector,
                    Some(vector.as_union_value()),
                )
            }
        }
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
