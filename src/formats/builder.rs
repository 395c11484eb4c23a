//! Builds a [`Model`] tensor by tensor, for formats whose files are not FlatBuffers.

use std::borrow::Cow;
use std::sync::Arc;

use super::tflite::{
    Buffer, BuiltinOptions, Format, Model, OpKind, Operator, OperatorCode, Quantization, Subgraph,
    Tensor, TensorType,
};
use crate::diagnostic::Diagnostic;

/// Scale of 8-bit activations without a scale in the file. No cost depends on its value, but costs depend on whether
/// the scales of tensors differ, and after calibration they nearly always do.
const SCALE: f32 = 1.0 / 32.0;

/// A subgraph that is being built. Tensor indices are those that its methods returned.
#[derive(Default)]
pub struct Builder<'a> {
    pub tensors: Vec<Tensor>,
    pub operators: Vec<Operator>,
    buffers: Vec<Buffer<'a>>,
    n_bytes: usize,
}

/// Bytes of memory for an operator, a tensor, one operand, one dimension and one byte of a name, over all stages up to a
/// report, about as much as a report on every target takes for networks of many operators.
const OPERATOR_BYTES: usize = 1200;
const TENSOR_BYTES: usize = 400;
pub const OPERAND_BYTES: usize = 120;
pub const DIMENSION_BYTES: usize = 16;
const NAME_BYTES: usize = 4;

impl<'a> Builder<'a> {
    pub fn new() -> Self {
        Self {
            buffers: vec![Buffer::EMPTY],
            ..Self::default()
        }
    }

    /// For this many operators, with as many results.
    pub fn with_capacity(n_operators: usize) -> Self {
        Self {
            tensors: Vec::with_capacity(n_operators),
            operators: Vec::with_capacity(n_operators),
            ..Self::new()
        }
    }

    /// Memory for everything added so far, over all stages up to a report.
    pub fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    fn add_bytes(&mut self, counts: [usize; 2], bytes_each: [usize; 2], once: usize) {
        let bytes = counts.into_iter().zip(bytes_each);
        let bytes = bytes.map(|(n, each)| n.saturating_mul(each));
        self.n_bytes = bytes
            .chain([once])
            .fold(self.n_bytes, usize::saturating_add);
    }

    /// Adds an activation. Returns its index.
    pub fn tensor(&mut self, name: &str, tensor_type: TensorType, shape: Vec<i32>) -> usize {
        let tensor_idx = self.tensors.len();
        let counts = [name.len(), shape.len()];
        self.add_bytes(counts, [NAME_BYTES, DIMENSION_BYTES], TENSOR_BYTES);
        if tensor_idx == self.tensors.capacity() {
            // By less than twice: there may be very many.
            self.tensors.reserve_exact(tensor_idx / 4 + 16);
        }
        self.tensors.push(Tensor {
            name: name.into(),
            tensor_type,
            shape,
            shape_signature: None,
            has_rank: true,
            buffer_idx: 0,
            is_variable: false,
            quantization: quantization(tensor_type, tensor_idx),
            sparsity: None,
        });
        tensor_idx
    }

    /// Adds a constant. Returns the index of its tensor.
    pub fn constant(
        &mut self,
        name: &str,
        tensor_type: TensorType,
        shape: Vec<i32>,
        buffer: Buffer<'a>,
    ) -> usize {
        let tensor_idx = self.tensor(name, tensor_type, shape);
        self.set_buffer(tensor_idx, buffer);
        tensor_idx
    }

    /// Makes a tensor a constant.
    pub fn set_buffer(&mut self, tensor_idx: usize, buffer: Buffer<'a>) {
        let buffer_idx = self.buffers.len();
        if let Some(tensor) = self.tensors.get_mut(tensor_idx) {
            tensor.buffer_idx = buffer_idx;
            let n_stored = buffer.bytes().len();
            self.buffers.push(buffer);
            self.n_bytes = self.n_bytes.saturating_add(n_stored);
        }
    }

    /// Number of values of a constant that the file has.
    pub fn n_parameters(&self, tensor_idx: usize) -> u64 {
        match self.buffer(tensor_idx) {
            Buffer::Described { n_parameters, .. } => *n_parameters,
            Buffer::Stored(bytes) => u64::try_from(bytes.len()).unwrap_or(u64::MAX),
        }
    }

    /// Says that the file has no more than `n` values of a described constant.
    pub fn limit_parameters(&mut self, tensor_idx: usize, max_parameters: u64) {
        let tensor = self.tensors.get(tensor_idx);
        let buffer = tensor.and_then(|tensor| self.buffers.get_mut(tensor.buffer_idx));
        if let Some(Buffer::Described { n_parameters, .. }) = buffer {
            *n_parameters = max_parameters.min(*n_parameters);
        }
    }

    /// Adds a constant list or table of integers that controls an operator.
    pub fn integers(&mut self, name: &str, shape: Vec<i32>, values: &[i32]) -> usize {
        self.constant(name, TensorType::Int32, shape, integers(values))
    }

    /// Changes the type of a constant whose values are not used.
    pub fn retype(&mut self, tensor_idx: usize, tensor_type: TensorType) {
        if let Some(tensor) = self.tensors.get_mut(tensor_idx) {
            tensor.tensor_type = tensor_type;
            tensor.quantization = quantization(tensor_type, tensor_idx);
            resize(&mut self.buffers, tensor);
        }
    }

    /// The buffer of a tensor.
    pub fn buffer(&self, tensor_idx: usize) -> &Buffer<'a> {
        let tensor = self.tensors.get(tensor_idx);
        let buffer = tensor.and_then(|tensor| self.buffers.get(tensor.buffer_idx));
        buffer.unwrap_or(&Buffer::EMPTY)
    }

    /// Adds an operator. Returns its index.
    pub fn operator(
        &mut self,
        code: impl Into<OperatorCode>,
        inputs: Vec<Option<usize>>,
        outputs: Vec<usize>,
        options: BuiltinOptions,
    ) -> usize {
        let counts = [inputs.len(), outputs.len()];
        self.add_bytes(counts, [OPERAND_BYTES; 2], OPERATOR_BYTES);
        self.operators.push(Operator {
            code: code.into(),
            inputs,
            outputs,
            intermediates: Box::default(),
            options,
            folded: Box::default(),
        });
        self.operators.len().saturating_sub(1)
    }

    /// The model, with what was added as its only subgraph.
    pub fn model(
        mut self,
        format: Format,
        version: u32,
        file_bytes: usize,
        name: String,
        ends: [Vec<usize>; 2],
        diagnostics: Vec<Diagnostic>,
    ) -> Model<'a> {
        let [inputs, outputs] = ends;
        for operator in &self.operators {
            if COMPARES_STORED.contains(&operator.code.kind)
                && let Some(&output) = operator.outputs.first()
            {
                let scale = self.tensors[output].quantization.clone();
                for &input in operator.inputs.iter().flatten() {
                    let tensor = &mut self.tensors[input];
                    if tensor.quantization == quantization(tensor.tensor_type, input) {
                        tensor.quantization = scale.clone();
                    }
                }
            }
        }
        // As long as the model lives, which may have very many.
        self.tensors.shrink_to_fit();
        self.operators.shrink_to_fit();
        self.buffers.shrink_to_fit();
        Model {
            format,
            version,
            description: String::new(),
            file_bytes,
            subgraphs: vec![Subgraph {
                name,
                tensors: self.tensors,
                operators: self.operators,
                inputs,
                outputs,
            }],
            buffers: self.buffers,
            metadata: Vec::new(),
            signatures: Vec::new(),
            diagnostics,
            is_converted: true,
            is_reshaped: false,
            unmatched_dimensions: None,
        }
    }
}

/// A buffer of 32-bit integers.
pub fn integers(values: &[i32]) -> Buffer<'static> {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    Buffer::Stored(Cow::Owned(bytes))
}

/// Weights of 8-bit types with this distribution, or constants of other types, whose values are not used.
pub fn described(tensor: &Tensor, counts: &Arc<[u64; 256]>) -> Buffer<'static> {
    Buffer::Described {
        n_bytes: tensor.byte_len().unwrap_or(0),
        counts: counts.clone(),
        n_parameters: tensor.element_count().unwrap_or(u64::MAX),
    }
}

/// Changes the size of a described constant to that of its tensor; the distribution stays the same.
pub fn resize(buffers: &mut [Buffer], tensor: &Tensor) {
    if let Some(Buffer::Described { n_bytes, .. }) = buffers.get_mut(tensor.buffer_idx)
        && *n_bytes > 0
    {
        *n_bytes = tensor.byte_len().unwrap_or(0);
    }
}

/// Number of different [`quantization`]s: the index counts modulo this.
pub const N_QUANTIZATIONS: usize = 4096;

/// Kinds that compare stored values, so that quantisers give inputs and output the same scale.
pub const COMPARES_STORED: [OpKind; 2] = [OpKind::Maximum, OpKind::Minimum];

/// Quantisation of the tensor with this index; `None` for types without quantisation.
pub fn quantization(tensor_type: TensorType, tensor_idx: usize) -> Option<Arc<Quantization>> {
    use TensorType::{Int4, Int8, Int16, UInt8};
    let step = f32::from(u16::try_from(tensor_idx % N_QUANTIZATIONS).unwrap_or(0));
    matches!(tensor_type, Int4 | Int8 | Int16 | UInt8).then(|| {
        Arc::new(Quantization {
            scale: vec![SCALE * (1.0 + step / 65_536.0)],
            zero_point: vec![0],
            quantized_dimension: 0,
        })
    })
}
