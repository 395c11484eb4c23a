//! Which values of an operator are weights, and where they are stored.

use crate::formats::tflite::{Buffer, OpKind, Operator, Subgraph, Tensor, TensorType};

/// Operators that only unpack a constant. Their result counts as the same constant.
pub fn unpacks(kind: OpKind) -> bool {
    matches!(kind, OpKind::Dequantize | OpKind::Densify)
}

/// For each tensor the constant its values come from.
pub struct Constants {
    sources: Vec<Option<usize>>,
}

impl Constants {
    /// Linear in tensors and operators.
    pub fn new(subgraph: &Subgraph, buffers: &[Buffer]) -> Self {
        let is_constant = |tensor: &Tensor| {
            !tensor.is_variable
                && buffers
                    .get(tensor.buffer_idx)
                    .is_some_and(|b| !b.is_empty())
        };
        let mut sources: Vec<_> = (subgraph.tensors.iter().enumerate())
            .map(|(tensor_idx, tensor)| is_constant(tensor).then_some(tensor_idx))
            .collect();
        let operators = subgraph.operators.iter();
        for operator in operators.filter(|operator| unpacks(operator.code.kind)) {
            if let ([Some(packed)], [unpacked]) = (&operator.inputs[..], &operator.outputs[..]) {
                sources[*unpacked] = sources[*unpacked].or(sources[*packed]);
            }
        }
        Self { sources }
    }

    /// Whether the tensor holds constant values, stored or unpacked.
    pub fn contains(&self, tensor_idx: usize) -> bool {
        self.sources[tensor_idx].is_some()
    }

    /// Stored tensors whose values `operator` computes with, each once, in tensor order. None for
    /// an operator that unpacks a constant for others, or that computes with indices alone.
    pub fn parameters_of(&self, subgraph: &Subgraph, operator: &Operator) -> Vec<usize> {
        let roles = operator.code.kind.row().roles.as_bytes();
        let values = operator
            .inputs
            .iter()
            .enumerate()
            .filter(|(position, _)| roles.get(*position) != Some(&b'c'));
        let sources = values.filter_map(|(_, tensor_idx)| self.sources[(*tensor_idx)?]);
        let mut parameters: Vec<usize> = sources.collect();
        if unpacks(operator.code.kind)
            || parameters
                .iter()
                .all(|&source| is_index(&subgraph.tensors[source]))
        {
            return vec![];
        }
        parameters.sort_unstable();
        parameters.dedup();
        parameters
    }
}

/// Integers without a scale that are wider than weights: index arithmetic, or a bias, which never occurs without
/// weights.
fn is_index(tensor: &Tensor) -> bool {
    use TensorType::{Bool, Int32, Int64, String, UInt32, UInt64};
    let whole = matches!(
        tensor.tensor_type,
        Int32 | Int64 | UInt32 | UInt64 | Bool | String
    );
    whole && tensor.quantization.is_none()
}
