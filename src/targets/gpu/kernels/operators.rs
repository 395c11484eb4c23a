//! Groups of operators that become kernels in the same way.

use crate::formats::graph_json::FRAMEWORK_KINDS;
use crate::formats::tflite::OperatorCode;
use crate::formats::tflite::op_row::{GpuFunction, GpuWork};

/// Which kernel a framework launches for an operator.
pub fn work(code: &OperatorCode) -> GpuWork {
    let Some(name) = &code.custom else {
        return code.kind.row().gpu;
    };
    let mut known = FRAMEWORK_KINDS.iter();
    let known = known.find(|(_, names)| names.contains(&&**name));
    known.map_or(GpuWork::Other, |(work, _)| *work)
}

/// Normalisations of groups of channels over all positions, which are few and long.
pub const NORMALISATIONS_OF_MAPS: &[&str] = &["GROUP_NORMALIZATION", "INSTANCE_NORMALIZATION"];

/// Whether a decomposed normalisation may consist of it.
pub fn is_of_normalisation(code: &OperatorCode) -> bool {
    match work(code) {
        GpuWork::Binary | GpuWork::Power | GpuWork::Reduction => true,
        GpuWork::Unary(function) => match function {
            GpuFunction::Root => true,
            GpuFunction::Relu
            | GpuFunction::Relu6
            | GpuFunction::Gelu
            | GpuFunction::Gated
            | GpuFunction::Hard
            | GpuFunction::Other => false,
        },
        GpuWork::Concatenation
        | GpuWork::Convolution
        | GpuWork::Copy
        | GpuWork::Dense
        | GpuWork::Gather
        | GpuWork::Normalisation
        | GpuWork::Other
        | GpuWork::Pool
        | GpuWork::Product
        | GpuWork::Recurrent
        | GpuWork::Resize
        | GpuWork::Select
        | GpuWork::Softmax
        | GpuWork::View => false,
    }
}
