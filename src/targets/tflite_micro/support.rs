//! Which operators the kernels of TensorFlow Lite Micro run, by types and options, and the calls that register them.
//!
//! The rules are those of the kernels' `Prepare` and `Invoke`; `tests/analysis.rs` compares them with the interpreter of
//! PyPI `tflite-micro` on a file of each operator in each type.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::kernels::{ANY, Counts, MORE, kernel_of};
#[cfg(test)]
use crate::formats::tflite::OpKind;
use crate::formats::tflite::{Activation, BuiltinOptions, Model, Operator, Tensor, TensorType};
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
#[derive(Clone, Debug, PartialEq)]
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
    /// A slice whose ends are offsets from its starts, which the kernel takes for places.
    SliceOffset,
    /// A `GATHER` shares more dimensions than lie before its axis.
    BatchDims { batch_dims: i32, axis: i32 },
    /// Axes that are not next to each other.
    AxesApart,
    /// Scale and zero point of an input do not fit the kernel's arithmetic.
    InputQuantization { input: usize },
    /// Scale and zero point of the output do not fit the kernel's arithmetic.
    OutputQuantization,
    /// The options name an order of weights that there is not.
    WeightsFormat,
    /// The file has no options of a custom operator, or too long ones.
    NoOptions,
    /// An option of a custom operator that the kernel does not run with, or that is absent.
    Option {
        name: &'static str,
        found: Option<f64>,
    },
}

impl Refusal {
    pub(super) fn option(name: &'static str, found: f64) -> Self {
        Self::Option {
            name,
            found: Some(found),
        }
    }

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
            Self::OutOfRange { .. } | Self::Axis(_) | Self::BatchDims { .. } => "out-of-range",
            Self::AxesApart => "axis",
            Self::CentersAndCorners => "sampling",
            Self::FusedActivation(_) => "fused-activation",
            Self::SliceMasks { .. } | Self::SliceOffset => "slice-masks",
            Self::InputQuantization { .. } | Self::OutputQuantization | Self::SoftmaxScale => {
                "quantization"
            }
            Self::NoOptions | Self::Option { .. } | Self::WeightsFormat => "options",
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
                let plural = if *found == 1 { "" } else { "s" };
                write!(f, "input {input} has {found} dimension{plural}, ")?;
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
            Self::SliceOffset => f.write_str("ends that are offsets from the starts"),
            Self::BatchDims { batch_dims, axis } => {
                write!(f, "batch_dims {batch_dims} is above axis {axis}")
            }
            Self::AxesApart => f.write_str("axes that are not next to each other"),
            Self::InputQuantization { input } => write!(f, "the quantisation of input {input}"),
            Self::OutputQuantization => f.write_str("the quantisation of the output"),
            Self::WeightsFormat => f.write_str("an unknown order of weights"),
            Self::NoOptions => f.write_str("no options"),
            Self::Option { name, found: None } => write!(f, "no option {name}"),
            Self::Option {
                name,
                found: Some(found),
            } => write!(f, "option {name} is {found}"),
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

/// An operator with what it reads and writes.
pub(super) struct Operands<'m> {
    pub model: &'m Model<'m>,
    pub operator: &'m Operator,
    pub tensors: &'m [Tensor],
}

impl Operands<'_> {
    pub fn input(&self, input: usize) -> Option<&Tensor> {
        let tensor_idx = self.operator.inputs.get(input).copied().flatten()?;
        self.tensors.get(tensor_idx)
    }

    pub fn output(&self) -> Option<&Tensor> {
        self.tensors.get(*self.operator.outputs.first()?)
    }

    fn is_constant(&self, tensor: &Tensor) -> bool {
        let buffer = self.model.buffers.get(tensor.buffer_idx);
        buffer.is_some_and(|buffer| !buffer.is_empty())
    }

    fn refusal(&self) -> Option<Refusal> {
        let Some((_, _, types, counts, constants, max_dimensions, _, _, demands, scales)) =
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
            .or_else(|| self.absent_input(demands))
            .or_else(|| {
                let computed = |&&input: &&usize| {
                    (self.input(input)).is_some_and(|tensor| !self.is_constant(tensor))
                };
                let input = *constants.iter().find(computed)?;
                Some(Refusal::Computed { input })
            })
            .or_else(|| self.dimensions_refusal(demands, *max_dimensions))
            .or_else(|| self.demand_refusal(demands))
            .or_else(|| self.scale_refusal(scales))
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
}
