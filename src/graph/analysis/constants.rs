//! Which values of an operator are weights, and where they are stored.

use crate::formats::tflite::{Buffer, OpKind, Operator, Subgraph, Tensor, TensorType};

/// Input positions that hold shapes, axes, paddings or indices. They control the operator and are not parameters,
/// whatever their type.
fn layout_inputs(kind: OpKind) -> &'static [usize] {
    match kind {
        OpKind::Split
        | OpKind::Fill
        | OpKind::TransposeConv
        | OpKind::Conv3dTranspose
        | OpKind::RandomUniform
        | OpKind::RandomStandardNormal => &[0],
        OpKind::Reshape
        | OpKind::Transpose
        | OpKind::Pad
        | OpKind::Padv2
        | OpKind::MirrorPad
        | OpKind::Mean
        | OpKind::Sum
        | OpKind::ReduceProd
        | OpKind::ReduceMax
        | OpKind::ReduceMin
        | OpKind::ReduceAny
        | OpKind::ReduceAll
        | OpKind::ExpandDims
        | OpKind::Tile
        | OpKind::ResizeBilinear
        | OpKind::ResizeNearestNeighbor
        | OpKind::BroadcastTo
        | OpKind::ArgMax
        | OpKind::ArgMin
        | OpKind::TopkV2
        | OpKind::OneHot
        | OpKind::Cumsum
        | OpKind::ReverseV2
        | OpKind::ReverseSequence
        | OpKind::Rfft2d
        | OpKind::Gather
        | OpKind::GatherNd
        | OpKind::SegmentSum
        | OpKind::Multinomial
        | OpKind::Dilate => &[1],
        OpKind::BatchToSpaceNd
        | OpKind::SpaceToBatchNd
        | OpKind::Slice
        | OpKind::SplitV
        | OpKind::UnsortedSegmentMax
        | OpKind::UnsortedSegmentMin
        | OpKind::UnsortedSegmentProd
        | OpKind::UnsortedSegmentSum => &[1, 2],
        OpKind::ScatterNd => &[0, 2],
        OpKind::DynamicUpdateSlice => &[2],
        OpKind::SparseToDense | OpKind::BroadcastArgs => &[0, 1],
        OpKind::StridedSlice => &[1, 2, 3],
        OpKind::Range => &[0, 1, 2],
        _ => &[],
    }
}

/// Operators that only unpack a constant. Their result counts as the same constant.
fn unpacks(kind: OpKind) -> bool {
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
        let layout = layout_inputs(operator.code.kind);
        let values = operator
            .inputs
            .iter()
            .enumerate()
            .filter(|(position, _)| !layout.contains(position));
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
