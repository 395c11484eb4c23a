//! Which operators the kernels of TensorFlow Lite Micro run, by types and options, and the calls that register them.
//!
//! The rules are those of the kernels' `Prepare` and `Invoke`; `tests/analysis.rs` compares them with the interpreter of
//! PyPI `tflite-micro` on a file of each operator in each type.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::kernels::{ANY, Counts, MORE, kernel_of};
use crate::formats::tflite::{
    Activation, BuiltinOptions, Model, OpKind, Operator, Quantization, Tensor, TensorType,
    dimension, integers,
};
use crate::graph::{Graph, Node};
use crate::target::{ETHOS_U, compiled_for, ethos_u_of};

/// Operators of one name that no kernel runs, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema, ts_rs::TS),
    ts(rename = "RefusedOperators")
)]
pub struct Refused {
    /// The operator's name.
    pub name: String,
    /// The reason as a stable word for programs, for example `input-type`.
    pub code: Cow<'static, str>,
    /// The reason in words.
    pub reason: String,
    /// How many operators of all subgraphs.
    pub n_operators: usize,
    /// Subgraph of the first of them.
    pub subgraph: usize,
    /// Index of the first of them in its subgraph.
    pub operator: usize,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self {
            name,
            reason,
            n_operators,
            operator,
            ..
        } = self;
        write!(f, "{name}, operator {operator}")?;
        if *n_operators > 1 {
            write!(f, " and {} more", n_operators - 1)?;
        }
        write!(f, ": {reason}")
    }
}

/// Why. Displayed in lower case without a full stop, for example `input 0 is UINT8`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// TensorFlow Lite Micro has no kernel of that name.
    NoKernel,
    /// A compiler made the operator for this accelerator, which TensorFlow Lite Micro does not call.
    Compiled { accelerator: String },
    /// The kernel takes other types of this input.
    InputType { input: usize, found: TensorType },
    /// The kernel writes other types from these inputs.
    OutputType { found: TensorType },
    /// An input that the kernel reads while it prepares is not a constant.
    Computed { input: usize },
    /// Dimensions of an input, and the numbers of dimensions that the kernel runs.
    Dimensions {
        input: usize,
        found: usize,
        min: usize,
        max: usize,
    },
    /// An optional input that the kernel does not take.
    OptionalInput { input: usize },
    /// An input that the kernel needs.
    AbsentInput { input: usize },
    /// Inputs, and the lowest and highest number that the kernel takes.
    InputCount {
        found: usize,
        min: usize,
        max: usize,
    },
    /// Outputs, and the highest number that the kernel takes.
    OutputCount { found: usize, max: usize },
    /// An axis that the input does not have.
    Axis(i32),
    /// An input has another shape or another number of values than the kernel takes.
    InputShape { input: usize },
    /// The interpreter takes a result without values for one whose shape is open.
    EmptyOutput { output: usize },
    /// The product of `beta` and the input's scale is below what the kernel's fixed-point arithmetic represents.
    SoftmaxScale,
    /// An axis or index that the dimension it counts along does not have.
    OutOfRange { input: usize, found: i32 },
    /// Options of which the kernel runs one alone.
    CentersAndCorners,
    /// The kernel runs the operator without a fused activation only.
    FusedActivation(Activation),
    /// A slice that adds dimensions, or that leaves some of them out: its masks, and how many of the dimensions it names.
    SliceMasks {
        new_axis_mask: i32,
        ellipsis_mask: i32,
        n_named: u64,
        n_dimensions: u64,
    },
    /// Scale and zero point of an input do not fit the kernel's arithmetic.
    InputQuantization { input: usize },
    /// Scale and zero point of the output do not fit the kernel's arithmetic.
    OutputQuantization,
}

impl Refusal {
    /// Stable identifier for programs, kebab-case.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NoKernel => "operator",
            Self::Compiled { .. } => "compiled",
            Self::InputType { .. } => "input-type",
            Self::OutputType { .. } => "output-type",
            Self::Computed { .. } => "input-computed",
            Self::Dimensions { .. } => "dimensions",
            Self::OptionalInput { .. } | Self::AbsentInput { .. } | Self::InputCount { .. } => {
                "inputs"
            }
            Self::OutputCount { .. } => "outputs",
            Self::InputShape { .. } => "input-shape",
            Self::EmptyOutput { .. } => "empty-output",
            Self::OutOfRange { .. } | Self::Axis(_) => "out-of-range",
            Self::CentersAndCorners => "sampling",
            Self::FusedActivation(_) => "fused-activation",
            Self::SliceMasks { .. } => "slice-masks",
            Self::InputQuantization { .. } | Self::OutputQuantization | Self::SoftmaxScale => {
                "quantization"
            }
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::NoKernel => f.write_str("no kernel"),
            Self::Compiled { accelerator } => write!(f, "compiled for {accelerator}"),
            Self::InputType { input, found } => write!(f, "input {input} is {}", found.name()),
            Self::OutputType { found } => write!(f, "the output is {}", found.name()),
            Self::Computed { input } => write!(f, "input {input} is not a constant"),
            Self::Dimensions {
                input,
                found,
                min,
                max,
            } => {
                write!(f, "input {input} has {found} dimensions, ")?;
                match *max {
                    ANY => write!(f, "at least {min} run"),
                    max if max == *min => write!(f, "{min} run"),
                    max => write!(f, "{min} to {max} run"),
                }
            }
            Self::OptionalInput { input } => write!(f, "input {input} is given"),
            Self::AbsentInput { input } => write!(f, "input {input} is left out"),
            Self::InputCount { found: 1, min, .. } => write!(f, "1 input, at least {min} run"),
            Self::InputCount { found, min, .. } if found < min => {
                write!(f, "{found} inputs, at least {min} run")
            }
            Self::InputCount { found, max, .. } => write!(f, "{found} inputs, at most {max} run"),
            Self::OutputCount { found, max } => write!(f, "{found} outputs, at most {max} run"),
            Self::Axis(axis) => write!(f, "input 0 has no axis {axis}"),
            Self::InputShape { input } => write!(f, "the shape of input {input}"),
            Self::EmptyOutput { output } => write!(f, "output {output} has no values"),
            Self::SoftmaxScale => f.write_str("beta times the scale of input 0 is below 2^-26"),
            Self::OutOfRange { input, found } => {
                write!(f, "input {input} counts to {found}, which is out of range")
            }
            Self::CentersAndCorners => f.write_str("half_pixel_centers with align_corners"),
            Self::FusedActivation(activation) => {
                let name = format!("{activation:?}").to_uppercase();
                write!(f, "fused activation {name}")
            }
            Self::SliceMasks {
                new_axis_mask: 0,
                ellipsis_mask: 0,
                n_named,
                n_dimensions,
            } => write!(f, "a slice of {n_named} of {n_dimensions} dimensions"),
            Self::SliceMasks {
                new_axis_mask,
                ellipsis_mask,
                ..
            } => write!(
                f,
                "new_axis_mask {new_axis_mask}, ellipsis_mask {ellipsis_mask}, only 0 runs"
            ),
            Self::InputQuantization { input } => write!(f, "the quantisation of input {input}"),
            Self::OutputQuantization => f.write_str("the quantisation of the output"),
        }
    }
}

/// Why no kernel runs a node of the graph, in words; `None` where one does.
pub fn refusal_of(graph: &Graph, node: &Node) -> Option<String> {
    let operands = Operands {
        model: graph.model,
        operator: node.operator,
        tensors: &graph.subgraph.tensors,
    };
    Some(operands.refusal()?.to_string())
}

/// The operators of all subgraphs that no kernel runs, by the first of each name and reason. Linear.
pub fn refused(model: &Model) -> Vec<Refused> {
    let mut refused: Vec<Refused> = Vec::new();
    let mut known: HashMap<(String, String), usize> = HashMap::new();
    for (subgraph_idx, subgraph) in model.subgraphs.iter().enumerate() {
        for (operator_idx, operator) in subgraph.operators.iter().enumerate() {
            let operands = Operands {
                model,
                operator,
                tensors: &subgraph.tensors,
            };
            let Some(refusal) = operands.refusal() else {
                continue;
            };
            let (name, reason) = (operator.code.name().to_owned(), refusal.to_string());
            let key = (name.clone(), reason.clone());
            let idx = *known.entry(key).or_insert_with(|| {
                refused.push(Refused {
                    name,
                    code: refusal.code().into(),
                    reason,
                    n_operators: 0,
                    subgraph: subgraph_idx,
                    operator: operator_idx,
                });
                refused.len() - 1
            });
            refused[idx].n_operators += 1;
        }
    }
    refused
}

/// The calls that register the kernels with a `MicroMutableOpResolver`, sorted: `AddConv2D` and so on. Operators without
/// a kernel are left out. Linear.
pub fn resolver_calls(model: &Model) -> Vec<String> {
    let operators = model.subgraphs.iter().flat_map(|one| one.operators.iter());
    let calls: BTreeSet<&str> = operators
        .filter_map(|operator| Some(kernel_of(&operator.code)?.1))
        .collect();
    calls.iter().map(|call| format!("Add{call}")).collect()
}

/// The types of a kind's kernel, as its row has them.
#[cfg(test)]
pub fn kernel_types(kind: OpKind) -> Option<&'static str> {
    Some(kernel_of(&kind.into())?.2)
}

/// The Ethos-U that Vela compiled operators of a file for: its id where the command stream tells it. `None` for files
/// without such operators.
pub fn ethos_u_of_file(model: &Model) -> Option<Option<&'static str>> {
    let subgraphs = model.subgraphs.iter();
    let mut operators = subgraphs.flat_map(|one| {
        one.operators
            .iter()
            .map(|operator| (operator, &one.tensors))
    });
    let is_compiled =
        |(operator, _): &(&Operator, _)| operator.code.custom.as_deref() == Some(ETHOS_U);
    let (operator, tensors) = operators.find(is_compiled)?;
    Some(ethos_u_of(model, operator, tensors))
}

fn letter(tensor_type: TensorType) -> u8 {
    match tensor_type {
        TensorType::Float32 => b'f',
        TensorType::Int8 => b'i',
        TensorType::Int16 => b'h',
        TensorType::Int32 => b'w',
        TensorType::Int64 => b'l',
        TensorType::UInt32 => b'v',
        TensorType::UInt64 => b'x',
        TensorType::UInt8 => b'u',
        TensorType::Bool => b'b',
        TensorType::Int4 => b'4',
        _ => b'?',
    }
}

/// The letters of one operand at the front of `letters`, and what follows them.
fn split_first(letters: &str) -> (&str, &str) {
    match letters
        .strip_prefix('[')
        .and_then(|rest| rest.split_once(']'))
    {
        Some(alternatives) => alternatives,
        None => letters.split_at(letters.len().min(1)),
    }
}

fn accepts_type(letters: &str, tensor_type: TensorType) -> bool {
    // The interpreter gives strings no place in its arena.
    letters == "." && tensor_type != TensorType::String
        || letters.bytes().any(|one| one == letter(tensor_type))
}

struct Operands<'m> {
    model: &'m Model<'m>,
    operator: &'m Operator,
    tensors: &'m [Tensor],
}

impl Operands<'_> {
    fn input(&self, input: usize) -> Option<&Tensor> {
        let tensor_idx = self.operator.inputs.get(input).copied().flatten()?;
        self.tensors.get(tensor_idx)
    }

    fn output(&self) -> Option<&Tensor> {
        self.tensors.get(*self.operator.outputs.first()?)
    }

    fn is_constant(&self, tensor: &Tensor) -> bool {
        let buffer = self.model.buffers.get(tensor.buffer_idx);
        buffer.is_some_and(|buffer| !buffer.is_empty())
    }

    fn refusal(&self) -> Option<Refusal> {
        let Some((_, _, types, counts, constants, max_dimensions, ..)) =
            kernel_of(&self.operator.code)
        else {
            let accelerator = compiled_for(self.model, self.operator, self.tensors);
            return Some(
                accelerator.map_or(Refusal::NoKernel, |accelerator| Refusal::Compiled {
                    accelerator,
                }),
            );
        };
        self.type_refusal(types)
            .or_else(|| self.count_refusal(counts))
            .or_else(|| self.absent_input())
            .or_else(|| {
                let computed = |&&input: &&usize| {
                    (self.input(input)).is_some_and(|tensor| !self.is_constant(tensor))
                };
                let input = *constants.iter().find(computed)?;
                Some(Refusal::Computed { input })
            })
            .or_else(|| self.dimensions_refusal(*max_dimensions))
            .or_else(|| self.option_refusal())
            .or_else(|| self.range_refusal())
            .or_else(|| self.quantization_refusal())
            .or_else(|| self.empty_output())
    }

    /// The first operand that no alternative takes behind the operands before it.
    fn type_refusal(&self, types: &str) -> Option<Refusal> {
        let refusals = types.split(' ').map(|alternative| {
            let (inputs, outputs) = alternative.split_once('>').unwrap_or((alternative, "."));
            self.first_type_refusal(inputs, outputs)
        });
        // The alternative that fits furthest tells what is wrong.
        let depth = |refusal: &Option<Refusal>| match refusal {
            None => usize::MAX,
            Some(Refusal::InputType { input, .. }) => *input,
            Some(_) => usize::MAX - 1,
        };
        refusals.max_by_key(depth).flatten()
    }

    fn first_type_refusal(&self, inputs: &str, outputs: &str) -> Option<Refusal> {
        let (mut letters, mut rest) = split_first(inputs);
        for input in 0..self.operator.inputs.len() {
            if let Some(tensor) = self.input(input) {
                let tensor_type = tensor.tensor_type;
                if !accepts_type(letters, tensor_type) {
                    return Some(Refusal::InputType {
                        input,
                        found: tensor_type,
                    });
                }
            }
            if !rest.is_empty() {
                (letters, rest) = split_first(rest);
            }
        }
        let tensor_type = self.output()?.tensor_type;
        let is_taken = match outputs {
            "=" => self
                .input(0)
                .is_none_or(|input| input.tensor_type == tensor_type),
            _ => accepts_type(split_first(outputs).0, tensor_type),
        };
        (!is_taken).then_some(Refusal::OutputType { found: tensor_type })
    }

    fn count_refusal(&self, [min, max, max_outputs]: &Counts) -> Option<Refusal> {
        let limit = |count: u8| if count == MORE { ANY } else { count.into() };
        let [min, max, max_outputs] = [*min, *max, *max_outputs].map(limit);
        let [found, n_outputs] = [self.operator.inputs.len(), self.operator.outputs.len()];
        let min = match self.operator.options {
            BuiltinOptions::Pack { values_count, .. } => {
                usize::try_from(values_count).unwrap_or(min)
            }
            _ => min,
        };
        if found < min || found > max {
            return Some(Refusal::InputCount { found, min, max });
        }
        (n_outputs > max_outputs).then_some(Refusal::OutputCount {
            found: n_outputs,
            max: max_outputs,
        })
    }

    /// An input without a tensor, where the kernel does not ask whether there is one.
    fn absent_input(&self) -> Option<Refusal> {
        let is_optional = |input: usize| match self.operator.code.kind {
            OpKind::Conv2d | OpKind::FullyConnected => input == 2,
            OpKind::TransposeConv => input == 3,
            OpKind::UnidirectionalSequenceLstm | OpKind::Custom => true,
            _ => false,
        };
        let mut inputs = self.operator.inputs.iter().enumerate();
        let (input, _) = inputs.find(|(input, one)| one.is_none() && !is_optional(*input))?;
        Some(Refusal::AbsentInput { input })
    }

    fn dimensions_refusal(&self, max: usize) -> Option<Refusal> {
        let read = self.input(0)?;
        let (rank, is_float) = (read.shape.len(), read.tensor_type.is_float());
        let min = match self.operator.code.kind {
            OpKind::BatchMatmul => 2,
            OpKind::BatchToSpaceNd | OpKind::SpaceToBatchNd => 3,
            OpKind::DepthToSpace
            | OpKind::SpaceToDepth
            | OpKind::ResizeBilinear
            | OpKind::ResizeNearestNeighbor
            | OpKind::AveragePool2d
            | OpKind::MaxPool2d
            | OpKind::L2Pool2d => 4,
            OpKind::Softmax => 1,
            _ => 0,
        };
        let max = match self.operator.code.kind {
            OpKind::Prelu if is_float => 4,
            _ => max,
        };
        (!(min..=max).contains(&rank)).then_some(Refusal::Dimensions {
            input: 0,
            found: rank,
            min,
            max,
        })
    }

    fn option_refusal(&self) -> Option<Refusal> {
        let is_given = |input: &usize| self.input(*input).is_some();
        match (self.operator.code.kind, &self.operator.options) {
            (OpKind::UnidirectionalSequenceLstm, _) => {
                let input = LSTM_OPTIONS.into_iter().find(is_given)?;
                Some(Refusal::OptionalInput { input })
            }
            (
                OpKind::ResizeBilinear,
                BuiltinOptions::ResizeBilinear {
                    align_corners: true,
                    half_pixel_centers: true,
                },
            ) => Some(Refusal::CentersAndCorners),
            (OpKind::Pad | OpKind::Padv2, _) => {
                let n_values = |input: usize| self.input(input)?.element_count();
                let rank = self.input(0)?.shape.len() as u64;
                if n_values(1) != Some(2 * rank) {
                    return Some(Refusal::InputShape { input: 1 });
                }
                (n_values(2).is_some_and(|n| n != 1)).then_some(Refusal::InputShape { input: 2 })
            }
            (OpKind::ResizeBilinear | OpKind::ResizeNearestNeighbor, _) => {
                let n_sizes = self.input(1)?.element_count();
                (n_sizes != Some(2)).then_some(Refusal::InputShape { input: 1 })
            }
            (
                OpKind::Gather | OpKind::Unpack,
                BuiltinOptions::Gather { axis, .. } | BuiltinOptions::Unpack { axis, .. },
            ) => {
                let rank = self.input(0)?.shape.len();
                (dimension(*axis, rank).is_none()).then_some(Refusal::Axis(*axis))
            }
            (OpKind::Cumsum | OpKind::LogSoftmax | OpKind::AddN, _) => {
                let shape = &self.output()?.shape;
                let is_other = |&input: &usize| {
                    let tensor = self.input(input);
                    tensor.is_some_and(|one| one.shape != *shape)
                };
                let n_shaped = match self.operator.code.kind {
                    OpKind::AddN => self.operator.inputs.len(),
                    _ => 1,
                };
                let input = (0..n_shaped).find(is_other)?;
                Some(Refusal::InputShape { input })
            }
            (
                _,
                BuiltinOptions::Concatenation { activation, .. }
                | BuiltinOptions::L2Norm { activation },
            ) if *activation != Activation::None => Some(Refusal::FusedActivation(*activation)),
            (
                OpKind::StridedSlice,
                BuiltinOptions::StridedSlice {
                    new_axis_mask,
                    ellipsis_mask,
                    ..
                },
            ) => {
                let n_named = self.input(1).and_then(Tensor::element_count);
                let n_dimensions = self.input(0).map(|input| input.shape.len() as u64);
                let is_other = n_named != n_dimensions;
                (*new_axis_mask != 0 || *ellipsis_mask != 0 || is_other).then_some(
                    Refusal::SliceMasks {
                        new_axis_mask: *new_axis_mask,
                        ellipsis_mask: *ellipsis_mask,
                        n_named: n_named.unwrap_or(0),
                        n_dimensions: n_dimensions.unwrap_or(0),
                    },
                )
            }
            _ => None,
        }
    }

    /// Constant axes of reductions of floats, and constant indices, which the kernels compare with the shape.
    fn range_refusal(&self) -> Option<Refusal> {
        let read = self.input(0)?;
        let rank = i32::try_from(read.shape.len()).ok()?;
        let values = self.input(1)?;
        let buffer = self.model.buffers.get(values.buffer_idx)?;
        let range = match (self.operator.code.kind, &self.operator.options) {
            (OpKind::Mean | OpKind::Sum, _) if read.tensor_type.is_float() => -rank..rank,
            (OpKind::Gather, BuiltinOptions::Gather { axis, .. }) => {
                0..*read.shape.get(dimension(*axis, read.shape.len())?)?
            }
            _ => return None,
        };
        let found = integers(buffer.bytes()).find(|value| !range.contains(value))?;
        Some(Refusal::OutOfRange { input: 1, found })
    }

    /// Where a kernel's arithmetic needs a certain scale or zero point.
    fn quantization_refusal(&self) -> Option<Refusal> {
        use TensorType::{Float32, Int8, Int16, Int32};
        // The file that is written of it has scales that its kernels take.
        if self.model.is_converted {
            return None;
        }
        let input = |input| Refusal::InputQuantization { input };
        let output = Refusal::OutputQuantization;
        let read = self.input(0)?;
        let written = self.output()?;
        let (scale, zero_point) = scale_of(written);
        let kind = self.operator.code.kind;
        if let Some(refusal) = self.scale_refusal(kind) {
            return Some(refusal);
        }
        let is_scaled_from_int16 = (32_768.0 * scale - 1.0).abs() < 0.001;
        match (self.operator.code.kind, written.tensor_type) {
            (OpKind::Quantize, _) => {
                let n_scales = written.quantization.as_ref().map(|one| one.scale.len());
                (n_scales != Some(1)).then_some(output)
            }
            (OpKind::Logistic, Int8) => (zero_point != -128).then_some(output),
            (OpKind::Logistic | OpKind::Tanh, Int16) => (!is_scaled_from_int16).then_some(output),
            (OpKind::Softmax, Int16) if read.tensor_type == Int16 => {
                (zero_point != 0 || !is_scaled_from_int16).then_some(output)
            }
            (OpKind::Softmax, Int8 | Int16) if self.is_softmax_below_fixed_point(read) => {
                Some(Refusal::SoftmaxScale)
            }
            (OpKind::Softmax, Int16) if read.tensor_type == Int8 => {
                (zero_point != -32_768).then_some(output)
            }
            (OpKind::Softmax, Int8) => {
                (zero_point != -128 || scale != 1.0 / 256.0).then_some(output)
            }
            (OpKind::LogSoftmax, Int8) => {
                (zero_point != 127 || scale != 16.0 / 256.0).then_some(output)
            }
            (OpKind::AveragePool2d | OpKind::MaxPool2d, Int8 | Int16) => {
                let (read_scale, read_zero_point) = scale_of(read);
                let is_same = (read_scale - scale).abs() <= 1e-6 && read_zero_point == zero_point;
                (!is_same).then_some(output)
            }
            (OpKind::Concatenation, Int8) => {
                let other = |&idx: &usize| {
                    self.input(idx)
                        .is_some_and(|one| scale_of(one) != scale_of(written))
                };
                (0..self.operator.inputs.len()).find(other).map(input)
            }
            (OpKind::ReduceMax | OpKind::ReduceMin, Int8) => {
                (scale_of(read) != scale_of(written)).then_some(output)
            }
            (OpKind::Padv2, Int8) => {
                let filled_with = scale_of(self.input(2)?);
                (filled_with != scale_of(written)).then_some(output)
            }
            (OpKind::AddN, Int8) => {
                let other = |&idx: &usize| {
                    self.input(idx)
                        .is_some_and(|one| scale_of(one) != scale_of(read))
                };
                (0..self.operator.inputs.len()).find(other).map(input)
            }
            (OpKind::Svdf, Int8) => {
                let [weights, bias, state] = [2, 3, 4].map(|idx| self.input(idx));
                let bias = bias.filter(|bias| bias.tensor_type == Int32)?;
                let sums_scale = scale_of(weights?).0 * scale_of(state?).0;
                let is_near = (scale_of(bias).0 - sums_scale).abs() <= 1e-5;
                (!is_near).then_some(input(3))
            }
            (OpKind::Rsqrt | OpKind::Abs, Int8 | Int16) => {
                let is_read = read.tensor_type == Int16 || stated(read).is_some();
                (!is_read || stated(written).is_none()).then_some(output)
            }
            (OpKind::Conv2d | OpKind::DepthwiseConv2d | OpKind::TransposeConv, Int8 | Int16) => {
                self.filter_refusal()
            }
            (OpKind::FullyConnected, Int8 | Int16) => self.filter_refusal().or_else(|| {
                let (bias, weights) = (self.input(2)?, self.input(1)?);
                let is_whole =
                    (weights.quantization.as_ref()).is_none_or(|one| one.scale.len() == 1);
                let sums_scale = scale_of(read).0 * scale_of(weights).0;
                let is_other = (sums_scale - scale_of(bias).0).abs() > 0.02 * scale;
                (is_whole && is_other).then_some(input(2))
            }),
            (OpKind::EmbeddingLookup, Float32) => {
                let values = self.input(1)?;
                let is_other = values.tensor_type == Int8 && scale_of(values).1 != 0;
                is_other.then_some(input(1))
            }
            _ => None,
        }
    }

    /// An operand of 8 or 16 bits whose scale or zero point the kernel cannot compute with, whatever the others have.
    fn scale_refusal(&self, kind: OpKind) -> Option<Refusal> {
        use OpKind::*;
        let n_inputs = self.operator.inputs.len();
        let inputs = (0..n_inputs).filter_map(|idx| Some((Some(idx), self.input(idx)?)));
        let operands = inputs.chain(self.output().map(|output| (None, output)));
        let read_type = self.input(0)?.tensor_type;
        let is_wrong = |(idx, one): &(Option<usize>, &Tensor)| {
            let is_wide = one.tensor_type == TensorType::Int16;
            if !is_wide && one.tensor_type != TensorType::Int8 {
                return false;
            }
            let (scale, zero_point) = scale_of(one);
            let is_positive = scale.is_finite() && scale > 0.0;
            let is_below_zero = scale.is_nan() || scale < 0.0;
            let is_input = idx.is_some();
            // Scales that become a multiplier have to be above 0, those that are multiplied first not below.
            let is_low = match kind {
                Add | Sub | AddN | Cumsum | LogSoftmax => !is_positive,
                Equal | NotEqual | Less | LessEqual | Greater | GreaterEqual => {
                    !is_wide && !is_positive
                }
                SquaredDifference => is_input && !is_positive,
                BatchMatmul | FullyConnected => is_input && is_below_zero,
                UnidirectionalSequenceLstm => {
                    is_input && *idx < Some(LSTM_CELL_STATE) && is_below_zero
                }
                Conv2d | DepthwiseConv2d => *idx == Some(0) && stated(one).is_none(),
                Softmax => is_input && !is_wide && !is_positive,
                _ => false,
            };
            let is_symmetric = match kind {
                Abs | BatchMatmul | Concatenation | Logistic | Mul | Relu | SquaredDifference
                | Tanh => is_wide,
                Softmax => is_wide && is_input,
                _ => false,
            };
            is_low || is_symmetric && read_type == TensorType::Int16 && zero_point != 0
        };
        let (idx, _) = { operands }.find(is_wrong)?;
        Some(idx.map_or(Refusal::OutputQuantization, |input| {
            Refusal::InputQuantization { input }
        }))
    }

    /// Of int8 inputs alone: the kernel's multiplier in units of 2^-26 must be above 1.
    fn is_softmax_below_fixed_point(&self, read: &Tensor) -> bool {
        let beta = match self.operator.options {
            BuiltinOptions::Softmax { beta } => beta,
            _ => 0.0,
        };
        let multiplier = f64::from(beta) * f64::from(scale_of(read).0) * f64::from(1 << 26);
        read.tensor_type == TensorType::Int8 && multiplier <= 1.0
    }

    /// A shape of one dimension may be 0: old files store scalars so.
    fn empty_output(&self) -> Option<Refusal> {
        let shapes = self.operator.outputs.iter().map(|&output| {
            let tensor = self.tensors.get(output);
            tensor.map_or(&[][..], |tensor| &tensor.shape)
        });
        let is_empty = |shape: &[i32]| shape.len() > 1 && shape.contains(&0);
        let output = { shapes }.position(is_empty)?;
        Some(Refusal::EmptyOutput { output })
    }

    /// A filter has one scale, or one for each output channel.
    fn filter_refusal(&self) -> Option<Refusal> {
        let filter = self.input(1)?;
        let channels = *self.output()?.shape.last()?;
        let kind = self.operator.code.kind;
        let is_wrong = match stated(filter) {
            None => kind != OpKind::FullyConnected,
            Some(Quantization {
                scale,
                quantized_dimension,
                ..
            }) => {
                let described = usize::try_from(*quantized_dimension).ok();
                let described = described.and_then(|axis| filter.shape.get(axis));
                let is_four_bits = filter.tensor_type == TensorType::Int4;
                scale.len() > 1
                    && (i32::try_from(scale.len()) != Ok(channels)
                        || kind != OpKind::FullyConnected && described != Some(&channels)
                        || kind == OpKind::FullyConnected && is_four_bits)
            }
        };
        is_wrong.then_some(Refusal::InputQuantization { input: 1 })
    }
}

/// Inputs of an LSTM for peepholes, projection and layer normalisation.
const LSTM_OPTIONS: [usize; 9] = [9, 10, 11, 16, 17, 20, 21, 22, 23];
/// The input of an LSTM behind those whose scales the kernel multiplies.
const LSTM_CELL_STATE: usize = 19;

/// The first scale and zero point; 0 where there is none.
fn scale_of(tensor: &Tensor) -> (f32, i64) {
    let first = |stated: &Quantization| Some((*stated.scale.first()?, *stated.zero_point.first()?));
    stated(tensor).and_then(first).unwrap_or((0.0, 0))
}

/// The interpreter takes a tensor without scales or without zero points for one that is not quantised.
fn stated(tensor: &Tensor) -> Option<&Quantization> {
    let quantization = tensor.quantization.as_deref();
    quantization.filter(|stated| !stated.scale.is_empty() && !stated.zero_point.is_empty())
}
