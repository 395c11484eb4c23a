//! Groups of operators that become kernels in the same way.

use crate::formats::graph_json::FRAMEWORK_KINDS;
use crate::formats::tflite::op_row::{GpuWork, ShapeRule};
use crate::formats::tflite::{OpKind, OperatorCode};

/// Which kernel a framework launches for an operator.
pub fn work(code: &OperatorCode) -> GpuWork {
    let Some(name) = &code.custom else {
        return code.kind.row().gpu;
    };
    let mut known = FRAMEWORK_KINDS.iter();
    let known = known.find(|(_, names)| names.contains(&&**name));
    known.map_or(GpuWork::Other, |(work, _)| *work)
}

/// Whether the kernel in a framework pads its input itself. TFLite can express only some paddings; others become a `PAD`.
pub fn pads(kind: OpKind) -> bool {
    use ShapeRule::{Convolution, Convolution3d, Depthwise, Pool};
    matches!(
        kind.row().shape,
        Convolution | Convolution3d | Depthwise | Pool
    )
}

/// Normalisations of groups of channels over all positions, which are few and long.
pub const NORMALISATIONS_OF_MAPS: &[&str] = &["GROUP_NORMALIZATION", "INSTANCE_NORMALIZATION"];

/// Operators that a decomposed normalisation consists of.
pub const OF_NORMALISATIONS: Operators = Operators {
    builtin: &[
        OpKind::Abs,
        OpKind::Add,
        OpKind::Div,
        OpKind::Maximum,
        OpKind::Mean,
        OpKind::Mul,
        OpKind::Pow,
        OpKind::ReduceMax,
        OpKind::Rsqrt,
        OpKind::Sqrt,
        OpKind::Square,
        OpKind::SquaredDifference,
        OpKind::Sub,
        OpKind::Sum,
    ],
    custom: &["L2_NORM", "ONNX:ReduceL2", "RECIPROCAL", "VARIANCE"],
};

/// A set of operators.
pub struct Operators {
    builtin: &'static [OpKind],
    custom: &'static [&'static str],
}

impl Operators {
    pub fn contains(&self, code: &OperatorCode) -> bool {
        match &code.custom {
            Some(name) => self.custom.contains(&&**name),
            None => self.builtin.contains(&code.kind),
        }
    }
}
