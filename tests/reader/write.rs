//! Files of `files.rs` as bytes, written with the generated builders.

use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, Vector, WIPOffset};
use litecast::formats::tflite::schema::{self, BuiltinOptions, BuiltinOptions2};

use crate::files::{Buffer, Code, Dimension, File, Operator, Options, Subgraph, Tensor};

type Builder = FlatBufferBuilder<'static>;

/// The FlatBuffer of a file whose tail will start at `tail_start`.
pub fn flatbuffer(file: &File, tail_start: u64) -> Vec<u8> {
    let mut builder = Builder::new();
    let b = &mut builder;
    let buffers = file.buffers.as_ref().map(|buffers| {
        let written: Vec<_> = buffers.iter().map(|x| buffer(b, x, tail_start)).collect();
        b.create_vector(&written)
    });
    let subgraphs: Vec<_> = file.subgraphs.iter().map(|x| subgraph(b, x)).collect();
    let codes: Vec<_> = file.codes.iter().map(|x| code(b, x)).collect();
    let metadata: Vec<_> = file.metadata.iter().map(|x| metadata(b, *x)).collect();
    let signatures: Vec<_> = file.signatures.iter().map(|x| signature(b, *x)).collect();
    let args = schema::ModelArgs {
        version: file.version,
        operator_codes: Some(b.create_vector(&codes)),
        subgraphs: Some(b.create_vector(&subgraphs)),
        description: Some(b.create_string("made by a test")),
        buffers,
        metadata: Some(b.create_vector(&metadata)),
        signature_defs: Some(b.create_vector(&signatures)),
        ..Default::default()
    };
    let model = schema::Model::create(b, &args);
    schema::finish_model_buffer(b, model);
    b.finished_data().to_vec()
}

fn buffer(b: &mut Builder, buffer: &Buffer, tail_start: u64) -> WIPOffset<schema::Buffer<'static>> {
    let (data, offset, size) = match buffer {
        Buffer::Data(bytes) => (Some(b.create_vector(bytes)), 0, 0),
        Buffer::Absent => (None, 0, 0),
        Buffer::Behind { offset, size } => (None, tail_start + offset, *size),
        Buffer::At { offset, size } => (None, *offset, *size),
    };
    // An offset of 0 would be left out, and change the length.
    b.force_defaults(matches!(buffer, Buffer::Behind { .. }));
    let written = schema::Buffer::create(b, &schema::BufferArgs { data, offset, size });
    b.force_defaults(false);
    written
}

fn code(b: &mut Builder, code: &Code) -> WIPOffset<schema::OperatorCode<'static>> {
    let args = schema::OperatorCodeArgs {
        deprecated_builtin_code: code.deprecated,
        custom_code: code.custom.map(|name| b.create_string(name)),
        builtin_code: schema::BuiltinOperator(code.builtin),
        ..Default::default()
    };
    schema::OperatorCode::create(b, &args)
}

fn subgraph(b: &mut Builder, subgraph: &Subgraph) -> WIPOffset<schema::SubGraph<'static>> {
    let mut tensors: Vec<_> = subgraph.tensors.iter().map(|x| tensor(b, x)).collect();
    let again = tensors
        .last()
        .copied()
        .into_iter()
        .cycle()
        .take(subgraph.last_tensor_again);
    tensors.extend(again.collect::<Vec<_>>());
    let operators: Vec<_> = subgraph.operators.iter().map(|x| operator(b, x)).collect();
    let args = schema::SubGraphArgs {
        tensors: Some(b.create_vector(&tensors)),
        operators: Some(b.create_vector(&operators)),
        inputs: Some(b.create_vector(&subgraph.inputs)),
        outputs: Some(b.create_vector(&subgraph.outputs)),
        name: Some(b.create_string(subgraph.name)),
        ..Default::default()
    };
    schema::SubGraph::create(b, &args)
}

fn tensor(b: &mut Builder, tensor: &Tensor) -> WIPOffset<schema::Tensor<'static>> {
    let args = schema::TensorArgs {
        shape: tensor.shape.as_ref().map(|shape| b.create_vector(shape)),
        shape_signature: tensor
            .signature
            .as_ref()
            .map(|shape| b.create_vector(shape)),
        type_: schema::TensorType(tensor.tensor_type),
        buffer: tensor.buffer,
        name: (!tensor.name.is_empty()).then(|| b.create_string(tensor.name)),
        is_variable: tensor.is_variable,
        external_buffer: tensor.external_buffer,
        quantization: quantization(b, tensor),
        sparsity: tensor
            .sparsity
            .as_ref()
            .map(|dimensions| sparsity(b, dimensions)),
        ..Default::default()
    };
    schema::Tensor::create(b, &args)
}

fn quantization(
    b: &mut Builder,
    tensor: &Tensor,
) -> Option<WIPOffset<schema::QuantizationParameters<'static>>> {
    let scale = tensor.scale.as_ref().map(|scale| b.create_vector(scale))?;
    let args = schema::QuantizationParametersArgs {
        scale: Some(scale),
        zero_point: tensor
            .zero_point
            .as_ref()
            .map(|zero_point| b.create_vector(zero_point)),
        quantized_dimension: tensor.quantized_dimension,
        ..Default::default()
    };
    Some(schema::QuantizationParameters::create(b, &args))
}

fn sparsity(
    b: &mut Builder,
    dimensions: &[Dimension],
) -> WIPOffset<schema::SparsityParameters<'static>> {
    let order: Vec<i32> = (0..dimensions.len() as i32).collect();
    let written: Vec<_> = dimensions.iter().map(|x| dimension(b, x)).collect();
    let args = schema::SparsityParametersArgs {
        traversal_order: Some(b.create_vector(&order)),
        block_map: None,
        dim_metadata: Some(b.create_vector(&written)),
    };
    schema::SparsityParameters::create(b, &args)
}

fn dimension(
    b: &mut Builder,
    dimension: &Dimension,
) -> WIPOffset<schema::DimensionMetadata<'static>> {
    let args = match dimension {
        Dimension::Dense(size) => schema::DimensionMetadataArgs {
            dense_size: *size,
            ..Default::default()
        },
        Dimension::Sparse(indices) => {
            let values = Some(b.create_vector(indices));
            let vector = schema::Uint8Vector::create(b, &schema::Uint8VectorArgs { values });
            schema::DimensionMetadataArgs {
                format: schema::DimensionType::SPARSE_CSR,
                array_indices_type: schema::SparseIndexVector::Uint8Vector,
                array_indices: Some(vector.as_union_value()),
                ..Default::default()
            }
        }
    };
    schema::DimensionMetadata::create(b, &args)
}

fn operator(b: &mut Builder, operator: &Operator) -> WIPOffset<schema::Operator<'static>> {
    let (kind, value) = options(b, &operator.options);
    let (kind2, value2) = options2(b, &operator.options);
    let vector = |b: &mut Builder, indices: &[i32]| -> WIPOffset<Vector<'static, i32>> {
        b.create_vector(indices)
    };
    let args = schema::OperatorArgs {
        opcode_index: operator.code,
        inputs: Some(vector(b, &operator.inputs)),
        outputs: Some(vector(b, &operator.outputs)),
        intermediates: Some(vector(b, &operator.intermediates)),
        builtin_options_type: kind,
        builtin_options: value,
        builtin_options_2_type: kind2,
        builtin_options_2: value2,
        ..Default::default()
    };
    schema::Operator::create(b, &args)
}

fn options(
    b: &mut Builder,
    options: &Options,
) -> (BuiltinOptions, Option<WIPOffset<UnionWIPOffset>>) {
    use schema::*;
    let (kind, value) = match *options {
        Options::Conv2D {
            padding,
            stride,
            dilation,
            activation,
        } => {
            let args = Conv2DOptionsArgs {
                padding: Padding(padding),
                stride_w: stride,
                stride_h: stride,
                dilation_w_factor: dilation,
                dilation_h_factor: dilation,
                fused_activation_function: ActivationFunctionType(activation),
                ..Default::default()
            };
            (
                BuiltinOptions::Conv2DOptions,
                Conv2DOptions::create(b, &args).as_union_value(),
            )
        }
        Options::If { then, or_else } => {
            let args = IfOptionsArgs {
                then_subgraph_index: then,
                else_subgraph_index: or_else,
            };
            (
                BuiltinOptions::IfOptions,
                IfOptions::create(b, &args).as_union_value(),
            )
        }
        Options::While { cond, body } => {
            let args = WhileOptionsArgs {
                cond_subgraph_index: cond,
                body_subgraph_index: body,
            };
            (
                BuiltinOptions::WhileOptions,
                WhileOptions::create(b, &args).as_union_value(),
            )
        }
        Options::Call { subgraph } => {
            let args = CallOptionsArgs { subgraph };
            (
                BuiltinOptions::CallOptions,
                CallOptions::create(b, &args).as_union_value(),
            )
        }
        Options::CallOnce { init } => {
            let args = CallOnceOptionsArgs {
                init_subgraph_index: init,
            };
            (
                BuiltinOptions::CallOnceOptions,
                CallOnceOptions::create(b, &args).as_union_value(),
            )
        }
        Options::SpaceToDepth { block_size } => {
            let written = SpaceToDepthOptions::create(b, &SpaceToDepthOptionsArgs { block_size });
            (
                BuiltinOptions::SpaceToDepthOptions,
                written.as_union_value(),
            )
        }
        Options::MirrorPad { mode } => {
            let args = MirrorPadOptionsArgs {
                mode: MirrorPadMode(mode),
            };
            (
                BuiltinOptions::MirrorPadOptions,
                MirrorPadOptions::create(b, &args).as_union_value(),
            )
        }
        Options::Lstm { kernel_type } => {
            let kernel_type = LSTMKernelType(kernel_type);
            let args = LSTMOptionsArgs {
                kernel_type,
                ..Default::default()
            };
            (
                BuiltinOptions::LSTMOptions,
                LSTMOptions::create(b, &args).as_union_value(),
            )
        }
        Options::None | Options::Composite { .. } | Options::Case { .. } => {
            return (BuiltinOptions::NONE, None);
        }
    };
    (kind, Some(value))
}

fn options2(
    b: &mut Builder,
    options: &Options,
) -> (BuiltinOptions2, Option<WIPOffset<UnionWIPOffset>>) {
    match options {
        Options::Composite {
            name,
            decomposition,
        } => {
            let args = schema::StableHLOCompositeOptionsArgs {
                name: Some(b.create_string(name)),
                decomposition_subgraph_index: *decomposition,
                ..Default::default()
            };
            let written = schema::StableHLOCompositeOptions::create(b, &args);
            (
                BuiltinOptions2::StableHLOCompositeOptions,
                Some(written.as_union_value()),
            )
        }
        Options::Case { branches } => {
            let branch_subgraph_indices = Some(b.create_vector(branches));
            let args = schema::StablehloCaseOptionsArgs {
                branch_subgraph_indices,
            };
            let written = schema::StablehloCaseOptions::create(b, &args);
            (
                BuiltinOptions2::StablehloCaseOptions,
                Some(written.as_union_value()),
            )
        }
        _ => (BuiltinOptions2::NONE, None),
    }
}

fn metadata(b: &mut Builder, (name, buffer): (&str, u32)) -> WIPOffset<schema::Metadata<'static>> {
    let name = Some(b.create_string(name));
    schema::Metadata::create(b, &schema::MetadataArgs { name, buffer })
}

fn signature(
    b: &mut Builder,
    (key, subgraph_index): (&str, u32),
) -> WIPOffset<schema::SignatureDef<'static>> {
    let signature_key = Some(b.create_string(key));
    let args = schema::SignatureDefArgs {
        signature_key,
        subgraph_index,
        ..Default::default()
    };
    schema::SignatureDef::create(b, &args)
}
