//! Which values of an operator are weights, and where they are stored.

use crate::formats::tflite::{Buffer, Operator, Subgraph, Tensor, TensorType};

/// Input positions that hold shapes, axes, paddings or indices: they say how an operator works
/// and are no parameters, whatever their type.
fn layout_inputs(name: &str) -> &'static [usize] {
    match name {
        "SPLIT"
        | "FILL"
        | "TRANSPOSE_CONV"
        | "CONV_3D_TRANSPOSE"
        | "RANDOM_UNIFORM"
        | "RANDOM_STANDARD_NORMAL" => &[0],
        "RESHAPE"
        | "TRANSPOSE"
        | "PAD"
        | "PADV2"
        | "MIRROR_PAD"
        | "MEAN"
        | "SUM"
        | "REDUCE_PROD"
        | "REDUCE_MAX"
        | "REDUCE_MIN"
        | "REDUCE_ANY"
        | "REDUCE_ALL"
        | "EXPAND_DIMS"
        | "TILE"
        | "RESIZE_BILINEAR"
        | "RESIZE_NEAREST_NEIGHBOR"
        | "BROADCAST_TO"
        | "ARG_MAX"
        | "ARG_MIN"
        | "TOPK_V2"
        | "ONE_HOT"
        | "CUMSUM"
        | "REVERSE_V2"
        | "REVERSE_SEQUENCE"
        | "RFFT2D"
        | "GATHER"
        | "GATHER_ND"
        | "SEGMENT_SUM"
        | "MULTINOMIAL"
        | "DILATE" => &[1],
        "BATCH_TO_SPACE_ND"
        | "SPACE_TO_BATCH_ND"
        | "SLICE"
        | "SPLIT_V"
        | "UNSORTED_SEGMENT_MAX"
        | "UNSORTED_SEGMENT_MIN"
        | "UNSORTED_SEGMENT_PROD"
        | "UNSORTED_SEGMENT_SUM" => &[1, 2],
        "SCATTER_ND" => &[0, 2],
        "DYNAMIC_UPDATE_SLICE" => &[2],
        "SPARSE_TO_DENSE" | "BROADCAST_ARGS" => &[0, 1],
        "STRIDED_SLICE" => &[1, 2, 3],
        "RANGE" => &[0, 1, 2],
        _ => &[],
    }
}

/// Operators that only unpack a constant; what they make of one is still that constant.
fn unpacks(name: &str) -> bool {
    matches!(name, "DEQUANTIZE" | "DENSIFY")
}

/// For each tensor the constant its values come from.
pub struct Constants {
    sources: Vec<Option<usize>>,
}

impl Constants {
    /// `names` are those of the operators. Linear in tensors and operators.
    pub fn of(subgraph: &Subgraph, buffers: &[Buffer], names: &[&str]) -> Self {
        let is_constant = |tensor: &Tensor| {
            !tensor.is_variable
                && buffers
                    .get(tensor.buffer_idx)
                    .is_some_and(|b| !b.is_empty())
        };
        let mut sources: Vec<_> = (subgraph.tensors.iter().enumerate())
            .map(|(tensor_idx, tensor)| is_constant(tensor).then_some(tensor_idx))
            .collect();
        for (operator, _) in subgraph
            .operators
            .iter()
            .zip(names)
            .filter(|(_, name)| unpacks(name))
        {
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
    pub fn parameters_of(
        &self,
        subgraph: &Subgraph,
        name: &str,
        operator: &Operator,
    ) -> Vec<usize> {
        let layout = layout_inputs(name);
        let values = operator
            .inputs
            .iter()
            .enumerate()
            .filter(|(position, _)| !layout.contains(position));
        let sources = values.filter_map(|(_, tensor_idx)| self.sources[(*tensor_idx)?]);
        let mut found: Vec<usize> = sources.collect();
        if unpacks(name)
            || found
                .iter()
                .all(|&source| is_index(&subgraph.tensors[source]))
        {
            return vec![];
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// Whole numbers without a scale, and wider than weights are: index arithmetic, or a bias, which
/// never comes alone.
fn is_index(tensor: &Tensor) -> bool {
    use TensorType::{Bool, Int32, Int64, String, UInt32, UInt64};
    let whole = matches!(
        tensor.tensor_type,
        Int32 | Int64 | UInt32 | UInt64 | Bool | String
    );
    whole && tensor.quantization.is_none()
}
