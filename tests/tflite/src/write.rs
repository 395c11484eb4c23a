//! [`File`] → bytes, with the generated builders.

use std::collections::HashMap;

use flatbuffers::{FlatBufferBuilder, ForwardsUOffset, UnionWIPOffset, Vector, WIPOffset};
use litecast::formats::tflite::schema;

use super::{Code, File, Indices, Instead, Operator, Options, Sparsity, Subgraph, Tensor, Value};

type Integers = WIPOffset<Vector<'static, i32>>;
type Tables<T> = WIPOffset<Vector<'static, ForwardsUOffset<T>>>;

struct Writer {
    builder: FlatBufferBuilder<'static>,
    /// By contents, where vectors of indices are stored once.
    shared: Option<HashMap<Vec<i32>, Integers>>,
}

impl File {
    pub fn write(&self) -> Vec<u8> {
        let mut writer = Writer {
            builder: FlatBufferBuilder::new(),
            shared: self.shares_vectors.then(HashMap::new),
        };
        writer.file(self)
    }
}

impl Writer {
    fn file(&mut self, file: &File) -> Vec<u8> {
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
        let metadata = self.builder.create_vector(&metadata);
        let args = schema::ModelArgs {
            version: file.version,
            operator_codes: Some(codes),
            subgraphs: Some(subgraphs),
            buffers,
            metadata: Some(metadata),
            signature_defs: self.signatures(&file.signatures),
            ..Default::default()
        };
        let model = schema::Model::create(&mut self.builder, &args);
        schema::finish_model_buffer(&mut self.builder, model);
        self.builder.finished_data().to_vec()
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
            None => {
                // Where converters have them: kernels read weights in place.
                self.builder.start_vector::<u8>(0);
                self.builder.end_vector::<u8>(0);
                args.data = Some(self.builder.create_vector(contents));
            }
        }
        // An offset of 0 would be left out, and change the length.
        self.builder.force_defaults(instead.is_some());
        let written = schema::Buffer::create(&mut self.builder, &args);
        self.builder.force_defaults(false);
        written
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
            version: 1,
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
