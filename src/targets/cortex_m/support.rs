//! Whether a graph can be estimated for a microcontroller, and why not.

use std::collections::BTreeSet;

use super::operator_counts::{Kind, kind};
use crate::diagnostic::some_of;
use crate::formats::tflite::{OpKind, TensorType};
use crate::graph::analysis::Analysis;
use crate::graph::{Graph, Node};
use crate::target::Place;

/// Why there is no estimate.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    #[error("the model has no operators")]
    NoOperators,
    /// Custom operators, control flow, and operators that neither runtime supports.
    #[error("{n} of {of} operators are not modelled: {}", some_of(names.iter().map(String::as_str), ", "))]
    Operators {
        n: usize,
        of: usize,
        names: BTreeSet<String>,
    },
    /// A type that the runtime does not take.
    #[error(
        "ST Edge AI runs {}: {operator}, operator {operator_idx}, has {} ({place})",
        some_of(ST_TYPES.map(TensorType::name), ", "), found.name()
    )]
    RuntimeType {
        operator: String,
        operator_idx: usize,
        found: TensorType,
        place: Place,
    },
    /// Operators whose operands are not int8 by int8.
    #[error(
        "only int8 models were measured on this target; {n} of {of} operators compute in {}",
        some_of(numbers.iter().map(String::as_str), ", ")
    )]
    Precision {
        n: usize,
        of: usize,
        numbers: BTreeSet<String>,
    },
    #[error("the file does not store the shapes that {n} of {of} operators work on")]
    Shapes { n: usize, of: usize },
    /// All operators only rename tensors, or their tensors have no bytes.
    #[error("nothing that takes time could be counted in its {of} operators")]
    NothingCounted { of: usize },
    #[error("expected a clock of {MIN_CLOCK_MHZ} to {MAX_CLOCK_MHZ} MHz, found {found} MHz")]
    Clock { found: f64 },
    #[error("this target was measured at {measured} MHz alone, found {found} MHz")]
    OtherClock { measured: f64, found: f64 },
    /// On a board with slower flash than those that were measured.
    #[error(
        "the weights of an operator lie in external flash and are larger than its cache: every latency \
         was measured with weights in flash on the chip"
    )]
    ExternalWeights,
    /// There is a latency, but no measured power from which an energy could be computed.
    #[error("no published measurement of this target's power at {found} MHz")]
    Power { found: f64 },
}

impl Refusal {
    /// Stable identifier for programs, kebab-case.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoOperators => "no-operators",
            Self::Operators { .. } => "operators",
            Self::RuntimeType { .. } => "runtime-type",
            Self::Precision { .. } => "precision",
            Self::Shapes { .. } => "shapes",
            Self::NothingCounted { .. } => "nothing-counted",
            Self::Clock { .. } | Self::OtherClock { .. } => "clock",
            Self::ExternalWeights => "external-weights",
            Self::Power { .. } => "power",
        }
    }
}

/// Clocks of microcontrollers on the market, from that of a sleeping sensor to that of an i.MX RT1170.
pub const MIN_CLOCK_MHZ: f64 = 1.0;
pub const MAX_CLOCK_MHZ: f64 = 1200.0;

/// Types of activations and weights that ST Edge AI Core takes, by the common constraints of its documentation of TFLite.
const ST_TYPES: [TensorType; 3] = [TensorType::Float32, TensorType::Int8, TensorType::UInt8];

/// Types that it takes of indices, shapes, masks and biases.
const ST_OTHER_TYPES: [TensorType; 3] = [TensorType::Int32, TensorType::Int64, TensorType::Bool];

/// Why ST Edge AI does not import a network, by its types. Which operators it imports is not declared here: those of no
/// measured network are named beside the latency. Linear in operators.
pub fn st_refusal(graph: &Graph) -> Option<Refusal> {
    graph.nodes.iter().find_map(|node| {
        let code = &node.operator.code;
        let copies = matches!(code.kind, OpKind::Select | OpKind::SelectV2);
        let runs = |tensor_type: &TensorType| {
            let is_copied = copies && *tensor_type == TensorType::Int16;
            ST_TYPES.contains(tensor_type) || ST_OTHER_TYPES.contains(tensor_type) || is_copied
        };
        let tensors = Place::tensors_of(node.operator);
        let mut types = tensors.map(|(place, t)| (place, graph.tensor(t).tensor_type));
        let (place, tensor_type) = types.find(|(_, tensor_type)| !runs(tensor_type))?;
        Some(Refusal::RuntimeType {
            operator: code.name().to_owned(),
            operator_idx: node.operator_idx,
            found: tensor_type,
            place,
        })
    })
}

/// Linear in operators.
pub fn check(graph: &Graph, analysis: &Analysis) -> Result<(), Refusal> {
    let n_operators = graph.nodes.len();
    if n_operators == 0 {
        return Err(Refusal::NoOperators);
    }
    let unknown: Vec<&Node> = graph.nodes.iter().filter(|node| !is_known(node)).collect();
    if !unknown.is_empty() {
        let names = unknown
            .iter()
            .map(|node| node.operator.code.name().to_owned());
        return Err(Refusal::Operators {
            n: unknown.len(),
            of: n_operators,
            names: names.collect(),
        });
    }
    let multiplying: Vec<&Node> = graph.nodes.iter().filter(|node| multiplies(node)).collect();
    let costs = graph.nodes.iter().zip(&analysis.costs);
    let without_shapes = costs
        .filter(|(node, cost)| multiplies(node) && cost.macs == 0)
        .count();
    if without_shapes > 0 {
        return Err(Refusal::Shapes {
            n: without_shapes,
            of: n_operators,
        });
    }
    let mut numbers: Vec<String> = multiplying
        .iter()
        .filter_map(|node| other_operand_types(graph, node))
        .collect();
    if multiplying.is_empty() {
        numbers = without_int8(graph);
    }
    if !numbers.is_empty() {
        return Err(Refusal::Precision {
            n: numbers.len(),
            of: n_operators,
            numbers: numbers.into_iter().collect(),
        });
    }
    Ok(())
}

/// Whether an operator has a cost.
pub fn is_known(node: &Node) -> bool {
    kind(node.operator.code.kind) != Kind::Unknown
}

pub(super) fn multiplies(node: &Node) -> bool {
    matches!(
        kind(node.operator.code.kind),
        Kind::Convolution | Kind::TransposedConvolution | Kind::Depthwise | Kind::Dense
    )
}

/// The types that a network without products computes in, one for each operator, if none of them is int8.
fn without_int8(graph: &Graph) -> Vec<String> {
    let computing = (graph.nodes.iter()).filter(|node| !node.operator.code.kind.is_conversion());
    let types = computing.filter_map(|node| node.operator.outputs.first());
    let types: Vec<TensorType> = types.map(|&idx| graph.tensor(idx).tensor_type).collect();
    if types.contains(&TensorType::Int8) {
        Vec::new()
    } else {
        types.iter().map(|one| one.name().to_lowercase()).collect()
    }
}

/// The operand types of an operator, if they are not int8 by int8.
pub(super) fn other_operand_types(graph: &Graph, node: &Node) -> Option<String> {
    let type_of = |t: Option<&usize>| t.map(|&t| graph.tensor(t).tensor_type);
    let input = |position: usize| node.operator.inputs.get(position).and_then(Option::as_ref);
    let weights = type_of(input(1)).unwrap_or(TensorType::Int8);
    let written = type_of(node.operator.outputs.first()).unwrap_or(TensorType::Int8);
    match (written, weights) {
        (TensorType::Int8, TensorType::Int8) => None,
        (written, weights) if written == weights => Some(written.name().to_lowercase()),
        (written, weights) => Some(format!(
            "{} by {}",
            written.name().to_lowercase(),
            weights.name().to_lowercase()
        )),
    }
}
