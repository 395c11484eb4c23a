//! Why a target leaves an operator to the CPU, as data.

use std::fmt;

use crate::formats::tflite::{Operator, TensorType};
use crate::graph::analysis::shape;
use crate::graph::{Graph, Node};

/// An operator that a target does not run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnsupportedOperator {
    /// Index into [`Graph::nodes`](crate::graph::Graph::nodes).
    pub node_idx: usize,
    pub reason: UnsupportedReason,
}

/// Why. Displayed in lower case without a full stop, for example `FLOAT32 activations`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum UnsupportedReason {
    CustomOperator,
    /// The operator was compiled for an accelerator.
    Compiled,
    /// The operator is not among those that the NPU's compiler lists.
    NotListed,
    /// The operator is not among those that the Edge TPU's documentation lists.
    NotSupported,
    ActivationType(TensorType),
    ConstantType(TensorType),
    WeightType(TensorType),
    /// Sides of an average pooling window with SAME padding, and the largest side that runs.
    PoolingWindow {
        height: i32,
        width: i32,
        max: i32,
    },
    /// Sides of a pooling window, the largest height and the most positions that run.
    LargePoolingWindow {
        height: i32,
        width: i32,
        max_height: i32,
        max_positions: i64,
    },
    Stride {
        height: i32,
        width: i32,
        max: i32,
    },
    /// A stride of a TRANSPOSE_CONV.
    UpscalingStride {
        height: i32,
        width: i32,
    },
    /// The output of a TRANSPOSE_CONV has other sides than the stride gives.
    UpscaledSize,
    /// Height and width of the input and the output.
    ResizeFactor {
        input: (i32, i32),
        output: (i32, i32),
        /// The largest factor that runs, a power of two as all others; `None` if any power of two does.
        max: Option<i32>,
    },
    MeanOverChannels,
    /// The operator is supported only along the last dimension.
    OtherAxis,
    /// The operator is supported only along the first dimension, or the first one behind the batch dimensions.
    AxisNotFirst,
    MoreThanThreeDimensions,
    WeightsComputed,
    Dilation {
        height: i32,
        width: i32,
    },
    FusedActivation,
    NewAxes,
    SliceStrides,
    /// A side grows or shrinks by more than this factor.
    LargeResize {
        max: i32,
    },
    SeveralOutputRows,
    SeveralInputRows,
    /// Rows of an input.
    TooManyRows {
        max: i64,
    },
    TooManyValues {
        max: i32,
    },
    /// Elements of a dimension, or of the largest ones together where there are more than three.
    LargeDimensions {
        max: i64,
    },
    /// A dimension of an input or an output, other than the first, has a size that is known only at run time.
    OpenDimension {
        axis: usize,
    },
    /// No network with a published latency contains such an operator.
    NeverMeasured,
}

impl UnsupportedReason {
    /// [`Self::OpenDimension`] of an operator, where it has one. No compiler for an accelerator takes such an operator.
    pub fn open_dimension(graph: &Graph, node: &Node) -> Option<Self> {
        let Operator {
            inputs, outputs, ..
        } = node.operator;
        let tensors = inputs.iter().flatten().chain(outputs);
        let mut axes = tensors.filter_map(|&idx| shape::open_axis(graph.tensor(idx)));
        axes.find(|&axis| axis > 0)
            .map(|axis| Self::OpenDimension { axis })
    }

    /// Stable identifier for programs, kebab-case.
    pub fn code(&self) -> &'static str {
        match self {
            Self::CustomOperator => "custom-operator",
            Self::Compiled => "compiled",
            Self::NotListed | Self::NotSupported => "operator",
            Self::ActivationType(_) => "activation-type",
            Self::ConstantType(_) => "constant-type",
            Self::WeightType(_) => "weight-type",
            Self::PoolingWindow { .. } | Self::LargePoolingWindow { .. } => "pooling-window",
            Self::Stride { .. } | Self::UpscalingStride { .. } | Self::UpscaledSize => "stride",
            Self::ResizeFactor { .. } => "resize-factor",
            Self::MeanOverChannels => "mean-over-channels",
            Self::OtherAxis | Self::AxisNotFirst => "axis",
            Self::MoreThanThreeDimensions => "dimensions",
            Self::WeightsComputed => "weights-computed",
            Self::Dilation { .. } => "dilation",
            Self::FusedActivation => "fused-activation",
            Self::NewAxes => "new-axes",
            Self::SliceStrides => "slice-strides",
            Self::LargeResize { .. } => "resize-factor",
            Self::SeveralOutputRows | Self::SeveralInputRows | Self::TooManyRows { .. } => "rows",
            Self::TooManyValues { .. } => "values",
            Self::LargeDimensions { .. } => "dimensions",
            Self::OpenDimension { .. } => "dynamic-shape",
            Self::NeverMeasured => "never-measured",
        }
    }

    /// Whether quantising the model would remove the reason.
    pub fn is_float(&self) -> bool {
        match self {
            Self::ActivationType(found) | Self::ConstantType(found) | Self::WeightType(found) => {
                found.is_float()
            }
            _ => false,
        }
    }
}

impl fmt::Display for UnsupportedReason {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::CustomOperator => f.write_str("custom operator"),
            Self::Compiled => f.write_str("compiled for an accelerator"),
            Self::NotListed => f.write_str("operator not on the NPU's list"),
            Self::NotSupported => f.write_str("not supported"),
            Self::ActivationType(found) => write!(f, "{} activations", found.name()),
            Self::ConstantType(found) => write!(f, "{} constants", found.name()),
            Self::WeightType(found) => write!(f, "{} weights", found.name()),
            Self::PoolingWindow { height, width, max } => write!(
                f,
                "pooling window {height}x{width} with SAME padding, at most {max}x{max}"
            ),
            Self::LargePoolingWindow {
                height,
                width,
                max_height,
                max_positions,
            } => write!(
                f,
                "pooling window {height}x{width}, at most {max_height} high and {max_positions} positions"
            ),
            Self::Stride { height, width, max } => {
                write!(f, "stride {height}x{width}, at most {max}x{max}")
            }
            Self::UpscalingStride { height, width } => {
                write!(f, "stride {height}x{width}, 1x1 and 2x2 run")
            }
            Self::UpscaledSize => f.write_str("output of another size than the stride gives"),
            Self::ResizeFactor { input, output, max } => write!(
                f,
                "resize from {}x{} to {}x{}, {} runs",
                input.0,
                input.1,
                output.0,
                output.1,
                match max {
                    Some(max) => format!("a factor of 2, 4 or {max}"),
                    None => "a power of two".to_owned(),
                }
            ),
            Self::MeanOverChannels => f.write_str("mean over channels of an image"),
            Self::AxisNotFirst => f.write_str("along another dimension than the first"),
            Self::OtherAxis => f.write_str("along another dimension than the last"),
            Self::MoreThanThreeDimensions => {
                f.write_str("more than three dimensions, or several inputs at once")
            }
            Self::WeightsComputed => f.write_str("weights computed at run time"),
            Self::Dilation { height, width } => write!(f, "dilation {height}x{width}"),
            Self::FusedActivation => f.write_str("fused activation"),
            Self::NewAxes => f.write_str("new axes"),
            Self::SliceStrides => f.write_str("strides other than 1"),
            Self::LargeResize { max } => write!(f, "resize by more than {max}"),
            Self::SeveralOutputRows => f.write_str("output of several rows"),
            Self::SeveralInputRows => f.write_str("input of several rows"),
            Self::TooManyRows { max } => write!(f, "more than {max} rows"),
            Self::TooManyValues { max } => write!(f, "more than {max} values"),
            Self::LargeDimensions { max } => {
                write!(f, "more than {max} elements in the largest dimensions")
            }
            Self::OpenDimension { axis } => {
                write!(f, "the size of dimension {axis} is known only at run time")
            }
            Self::NeverMeasured => f.write_str("no published latency includes it"),
        }
    }
}
