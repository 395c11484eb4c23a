//! Why a target leaves an operator to the CPU, as data.

use std::fmt;

use crate::formats::tflite::{Activation, Operator, TensorType};
use crate::graph::analysis::shape;
use crate::graph::{Graph, Node};

/// An operator that a target does not run.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnsupportedOperator {
    /// Index into [`Graph::nodes`](crate::graph::Graph::nodes).
    pub node_idx: usize,
    pub reason: UnsupportedReason,
}

/// Sizes along each axis, displayed as `1x8x8x16`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape(Vec<i32>);

impl From<&[i32]> for Shape {
    fn from(sizes: &[i32]) -> Self {
        Self(sizes.to_owned())
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for (axis, size) in self.0.iter().enumerate() {
            let between = if axis == 0 { "" } else { "x" };
            write!(f, "{between}{size}")?;
        }
        Ok(())
    }
}

/// Why. Displayed in lower case without a full stop, for example `FLOAT32 activations`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum UnsupportedReason {
    CustomOperator,
    /// The operator was compiled for an accelerator.
    Compiled,
    /// The operator is not among those that the accelerator's compiler lists: its name, the accelerators, and similar
    /// ones that have it.
    NotListed {
        operator: &'static str,
        on: &'static str,
        elsewhere: Option<&'static str>,
    },
    ActivationType {
        found: TensorType,
        place: Place,
    },
    /// Position of the constant among the inputs.
    ConstantType {
        found: TensorType,
        input: usize,
    },
    /// Of input 1.
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
    /// Height and width of a TRANSPOSE_CONV's output, and those that the stride gives.
    UpscaledSize {
        found: (i32, i32),
        expected: (i64, i64),
    },
    /// Height and width of the input and the output.
    ResizeFactor {
        input: (i32, i32),
        output: (i32, i32),
        /// The largest factor that runs, a power of two as all others; `None` if any power of two does.
        max: Option<i32>,
    },
    /// Shape of the image.
    MeanOverChannels(Shape),
    /// The operator is supported only along the last dimension of a tensor of this rank.
    OtherAxis {
        axis: i32,
        rank: usize,
    },
    /// The operator is supported only along the first dimension, or the first one behind the batch dimensions.
    AxisNotFirst {
        axis: usize,
        first: i32,
    },
    /// Of an output.
    MoreThanThreeDimensions(Shape),
    /// Position of the weights among the inputs.
    WeightsComputed {
        input: usize,
    },
    Dilation {
        height: i32,
        width: i32,
    },
    FusedActivation(Activation),
    /// The option that adds axes, and its bits.
    NewAxes {
        option: &'static str,
        mask: i32,
    },
    SliceStrides(Shape),
    /// A side grows or shrinks by more than this factor.
    LargeResize {
        input: (i32, i32),
        output: (i32, i32),
        max: i32,
    },
    /// Of an output.
    SeveralOutputRows(Shape),
    SeveralInputRows(Shape),
    /// Rows of an input.
    TooManyRows {
        found: i64,
        max: i64,
    },
    /// Along the axis that is worked on.
    TooManyValues {
        found: i32,
        max: i32,
    },
    /// Elements of a dimension, or of the largest ones together where there are more than three.
    LargeDimensions {
        found: i64,
        max: i64,
    },
    /// A dimension of an input or an output, other than the first, has a size that is known only at run time.
    OpenDimension {
        axis: usize,
    },
    /// What is wrong with the scale or zero point of a tensor.
    Quantization {
        place: Place,
        fault: &'static str,
    },
    /// A rule that has no numbers worth naming, in words.
    Rule(&'static str),
    /// A feature map without dimensions.
    Scalar {
        place: Place,
    },
    /// An operand that has to be a constant.
    OperandComputed {
        input: usize,
    },
    /// No network with a published latency contains such an operator.
    NeverMeasured,
}

/// Where an operator names a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    Input(usize),
    Output(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Input(position) => write!(f, "input {position}"),
            Self::Output(position) => write!(f, "output {position}"),
        }
    }
}

impl Place {
    /// The tensors of an operator, each with its place.
    pub fn tensors_of(operator: &Operator) -> impl Iterator<Item = (Self, usize)> {
        let inputs = operator.inputs.iter().enumerate();
        let inputs = inputs.filter_map(|(position, &t)| Some((Self::Input(position), t?)));
        let outputs = operator.outputs.iter().enumerate();
        inputs.chain(outputs.map(|(position, &t)| (Self::Output(position), t)))
    }
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
            Self::NotListed { .. } => "operator",
            Self::ActivationType { .. } => "activation-type",
            Self::ConstantType { .. } => "constant-type",
            Self::WeightType(_) => "weight-type",
            Self::PoolingWindow { .. } | Self::LargePoolingWindow { .. } => "pooling-window",
            Self::Stride { .. } | Self::UpscalingStride { .. } | Self::UpscaledSize { .. } => {
                "stride"
            }
            Self::ResizeFactor { .. } => "resize-factor",
            Self::MeanOverChannels(_) => "mean-over-channels",
            Self::OtherAxis { .. } | Self::AxisNotFirst { .. } => "axis",
            Self::MoreThanThreeDimensions(_) => "dimensions",
            Self::WeightsComputed { .. } => "weights-computed",
            Self::Dilation { .. } => "dilation",
            Self::FusedActivation(_) => "fused-activation",
            Self::NewAxes { .. } => "new-axes",
            Self::SliceStrides(_) => "slice-strides",
            Self::LargeResize { .. } => "resize-factor",
            Self::SeveralOutputRows(_) | Self::SeveralInputRows(_) | Self::TooManyRows { .. } => {
                "rows"
            }
            Self::TooManyValues { .. } => "values",
            Self::LargeDimensions { .. } => "dimensions",
            Self::OpenDimension { .. } => "dynamic-shape",
            Self::Quantization { .. } => "quantization",
            Self::Rule(_) => "operand",
            Self::Scalar { .. } => "dimensions",
            Self::OperandComputed { .. } => "input-computed",
            Self::NeverMeasured => "never-measured",
        }
    }

    /// Whether quantising the model would remove the reason.
    pub fn is_float(&self) -> bool {
        match self {
            Self::ActivationType { found, .. }
            | Self::ConstantType { found, .. }
            | Self::WeightType(found) => found.is_float(),
            _ => false,
        }
    }
}

impl fmt::Display for UnsupportedReason {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::CustomOperator => f.write_str("custom operator"),
            Self::Compiled => f.write_str("compiled for an accelerator"),
            Self::NotListed {
                operator,
                on,
                elsewhere: Some(elsewhere),
            } => write!(f, "{on} cannot run {operator}, {elsewhere} can"),
            Self::NotListed { operator, on, .. } => write!(f, "{on} cannot run {operator}"),
            Self::ActivationType { found, place } => {
                write!(f, "{} activations ({place})", found.name())
            }
            Self::ConstantType { found, input } => {
                write!(f, "{} constants (input {input})", found.name())
            }
            Self::WeightType(found) => write!(f, "{} weights (input 1)", found.name()),
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
            Self::UpscaledSize { found, expected } => write!(
                f,
                "output of {}x{}, where the stride gives {}x{}",
                found.0, found.1, expected.0, expected.1
            ),
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
            Self::MeanOverChannels(shape) => {
                write!(
                    f,
                    "mean over the channels of a {shape} image, one side of which must be 1"
                )
            }
            Self::AxisNotFirst { axis, first } => {
                write!(f, "along axis {axis}, only axis {first} runs")
            }
            Self::OtherAxis { axis, rank } => {
                let last = rank.saturating_sub(1);
                write!(f, "along axis {axis}, only axis {last}, the last, runs")
            }
            Self::MoreThanThreeDimensions(shape) => {
                write!(
                    f,
                    "shape {shape}, at most three dimensions may be larger than 1"
                )
            }
            Self::WeightsComputed { input } => {
                write!(f, "weights (input {input}) computed at run time")
            }
            Self::Dilation { height, width } => write!(f, "dilation {height}x{width}"),
            Self::FusedActivation(activation) => {
                let name = format!("{activation:?}").to_uppercase();
                write!(f, "fused activation {name}")
            }
            Self::NewAxes { option, mask } => write!(f, "{option} {mask}, only 0 runs"),
            Self::SliceStrides(strides) => write!(f, "strides {strides}, only 1 runs"),
            Self::LargeResize { input, output, max } => write!(
                f,
                "resize from {}x{} to {}x{}, by at most {max}",
                input.0, input.1, output.0, output.1
            ),
            Self::SeveralOutputRows(shape) => write!(f, "output of several rows, {shape}"),
            Self::SeveralInputRows(shape) => write!(f, "input of several rows, {shape}"),
            Self::TooManyRows { found, max } => write!(f, "{found} rows, at most {max}"),
            Self::TooManyValues { found, max } => {
                write!(f, "{found} values along the axis, at most {max}")
            }
            Self::LargeDimensions { found, max } => {
                write!(
                    f,
                    "{found} elements in the largest dimensions, at most {max}"
                )
            }
            Self::OpenDimension { axis } => {
                write!(f, "the size of dimension {axis} is known only at run time")
            }
            Self::Quantization { place, fault } => write!(f, "{place} has {fault}"),
            Self::Rule(rule) => f.write_str(rule),
            Self::Scalar { place } => write!(f, "{place} is a scalar"),
            Self::OperandComputed { input } => write!(f, "input {input} is computed at run time"),
            Self::NeverMeasured => f.write_str("no published latency includes it"),
        }
    }
}
