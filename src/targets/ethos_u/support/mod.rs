//! Which operators an Ethos-U runs, and why it leaves others to the CPU.
//!
//! The rules are those of Vela 5.2.0's own list (`vela --supported-ops-report`) that concern operator kind, element
//! types, strides, shapes, quantisation and constants. `list.rs` has the operators, `shapes.rs` the limits of shapes and strides,
//! `quantization.rs` those of scales and zero points, and `operands.rs` what has to be constant.

mod dilated;
mod list;
mod npu;
mod operands;
mod quantization;
mod shapes;

use std::sync::OnceLock;

pub use self::dilated::{DilatedParts, DilatedWindow, dilated_windows};
use self::list::{Check, Types};
pub use self::list::{ListedKind, OneOperation, Size, listed};
pub use self::npu::Npu;
use self::operands::{multiplies_maps, refused_operand};
use self::quantization::refused_quantization;
use self::shapes::refused_shape;
use crate::formats::tflite::{BuiltinOptions, OpKind, TensorType};
use crate::graph::scan::ScanBudget;
use crate::graph::{Graph, Node};
use crate::target::{Network, Place, UnsupportedOperator, UnsupportedReason};

/// The operators of one graph that each [`Npu`] leaves to the CPU, found when they are first asked for.
#[derive(Default)]
struct LeftToCpu {
    ethos_u55_u65: OnceLock<Vec<UnsupportedOperator>>,
    ethos_u85: OnceLock<Vec<UnsupportedOperator>>,
}

/// [`unsupported`] for a network, found once for all accelerators.
pub fn left_to_cpu<'n>(network: &'n Network, npu: Npu) -> &'n [UnsupportedOperator] {
    let left: &LeftToCpu = network.shared(LeftToCpu::default);
    let left = match npu {
        Npu::EthosU55U65 => &left.ethos_u55_u65,
        Npu::EthosU85 => &left.ethos_u85,
    };
    left.get_or_init(|| unsupported(network.graph, npu))
}

/// The operators of `graph` that `npu` leaves to the CPU, in topological order.
pub fn unsupported(graph: &Graph, npu: Npu) -> Vec<UnsupportedOperator> {
    let has_scales = graph
        .subgraph
        .tensors
        .iter()
        .any(|tensor| tensor.quantization.is_some());
    let mut budget = ScanBudget::new(graph.model);
    let mut refusals: Vec<_> = (graph.nodes.iter())
        .map(|node| refusal(graph, node, npu, has_scales, &mut budget))
        .collect();
    for dilated in dilated_windows(graph) {
        if refusals[dilated.window].is_none() {
            for node_idx in dilated.around {
                refusals[node_idx] = None;
            }
        }
    }
    let refused = |(node_idx, reason): (usize, Option<_>)| {
        let reason = reason?;
        Some(UnsupportedOperator { node_idx, reason })
    };
    refusals
        .into_iter()
        .enumerate()
        .filter_map(refused)
        .collect()
}

/// The largest batch size of an LSTM, which the estimates do not model.
pub fn largest_recurrent_batch(graph: &Graph) -> i32 {
    let is_recurrent = |node: &&Node| {
        matches!(
            node.operator.options,
            BuiltinOptions::UnidirectionalSequenceLstm { .. }
        )
    };
    let recurrent = graph.nodes.iter().filter(is_recurrent);
    let batches = recurrent.map(|node| inputs_at_a_time(graph, node));
    batches.max().unwrap_or(1)
}

/// The batch size of an operator that processes inputs one after another, and 1 for other operators.
pub fn inputs_at_a_time(graph: &Graph, node: &Node) -> i32 {
    let batch = |axis: usize| {
        let output = node.operator.outputs.first();
        output.and_then(|&output| graph.tensor(output).shape.get(axis).copied())
    };
    let n_inputs = match node.operator.options {
        BuiltinOptions::Conv2D { .. }
        | BuiltinOptions::DepthwiseConv2D { .. }
        | BuiltinOptions::TransposeConv { .. }
        | BuiltinOptions::Pool2D { .. } => batch(0),
        // The input has three dimensions, the first two of which are time and batch.
        BuiltinOptions::UnidirectionalSequenceLstm { time_major, .. } => {
            batch(usize::from(time_major))
        }
        _ => None,
    };
    n_inputs.unwrap_or(1)
}

fn refusal(
    graph: &Graph,
    node: &Node,
    npu: Npu,
    has_scales: bool,
    budget: &mut ScanBudget,
) -> Option<UnsupportedReason> {
    let kind = node.operator.code.kind;
    if node.operator.code.kind == OpKind::Custom {
        return Some(UnsupportedReason::CustomOperator);
    }
    if !is_listed(kind, npu) {
        return Some(UnsupportedReason::NotListed {
            operator: kind.name(),
            on: match npu {
                Npu::EthosU55U65 => "Ethos-U55 and U65",
                Npu::EthosU85 => "Ethos-U85",
            },
            elsewhere: is_listed(kind, Npu::EthosU85).then_some("Ethos-U85"),
        });
    }
    refused_type(graph, node, kind, npu)
        .or_else(|| UnsupportedReason::open_dimension(graph, node))
        .or_else(|| refused_shape(graph, node, kind, npu))
        .or_else(|| refused_operand(graph, node, kind, npu, budget))
        .or_else(|| refused_quantization(graph, node, kind, npu, has_scales, budget))
}

fn is_listed(kind: OpKind, npu: Npu) -> bool {
    listed(kind).is_some_and(|one| one.on.contains(npu))
}

/// The types of a first input in which `npu` runs a kind of operators.
#[cfg(test)]
pub fn types_of(kind: OpKind, npu: Npu) -> impl Iterator<Item = TensorType> {
    use TensorType::{Bool, Int8, Int16, Int32, Int64, Resource, UInt8};
    let listed = listed(kind).filter(|one| one.on.contains(npu));
    let types = [Bool, Int8, Int16, Int32, Int64, Resource, UInt8].into_iter();
    types.filter(move |&one| {
        (listed.as_ref()).is_some_and(|listed| listed.types.contain(one, npu, Place::Input(0)))
    })
}

/// Feature maps are 8-, 16- or, where the operator allows it, 32-bit integers; weights 8-bit.
fn refused_type(graph: &Graph, node: &Node, kind: OpKind, npu: Npu) -> Option<UnsupportedReason> {
    let operator = node.operator;
    let listed = listed(kind)?;
    for (place, t) in Place::tensors_of(operator) {
        let tensor_type = graph.tensor(t).tensor_type;
        // What a variable gets has a type that it may have, also where it is a constant.
        let is_checked = matches!(place, Place::Output(_))
            || !graph.is_constant(t)
            || listed.types == Types::Variable;
        if is_checked && !listed.types.contain(tensor_type, npu, place) {
            return Some(UnsupportedReason::ActivationType {
                found: tensor_type,
                place,
            });
        }
    }
    let first = operator.inputs.first().copied().flatten();
    let first = first.map(|first| graph.tensor(first).tensor_type);
    if npu == Npu::EthosU55U65 && multiplies_maps(graph, node, kind) {
        let is_other = |&one: &TensorType| one != TensorType::Int8;
        if let Some(tensor_type) = first.filter(is_other) {
            let place = Place::Input(0);
            return Some(UnsupportedReason::ActivationType {
                found: tensor_type,
                place,
            });
        }
    }
    let weights = operator
        .inputs
        .get(1)
        .copied()
        .flatten()
        .map(|t| graph.tensor(t))?;
    let is_wide = !matches!(weights.tensor_type, TensorType::Int8 | TensorType::UInt8);
    (listed.check == Check::Weights && is_wide)
        .then_some(UnsupportedReason::WeightType(weights.tensor_type))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::tflite::Activation;
    use crate::graph::analysis::fixtures::{
        batch_matmul, calling, graph_of, model, subgraph, tensor,
    };

    /// Vela 5.2.0 leaves products of other types to the CPU.
    #[test]
    fn ethos_u55_multiplies_maps_of_int8_alone() {
        for (tensor_type, is_refused) in [
            (TensorType::Int8, false),
            (TensorType::UInt8, true),
            (TensorType::Int16, true),
        ] {
            let options = batch_matmul(false, false);
            let map = || tensor(tensor_type, &[1, 8, 8]);
            let operator = calling(OpKind::BatchMatmul, &[0, 1], &[2], options);
            let model = model(vec![subgraph(vec![map(), map(), map()], vec![operator])]);
            let graph = graph_of(&model);
            let refusals =
                [Npu::EthosU55U65, Npu::EthosU85].map(|npu| !unsupported(&graph, npu).is_empty());
            assert_eq!(refusals, [is_refused, false], "{tensor_type:?}");
        }
    }

    /// Vela 5.2.0 compiles no ARG_MAX of 64-bit values, and those with 64-bit indices.
    #[test]
    fn only_indices_have_64_bits() {
        use TensorType::{Int8, Int32, Int64};
        for (compared, index, is_refused) in [
            (Int8, Int32, false),
            (Int8, Int64, false),
            (Int64, Int32, true),
        ] {
            let axis = tensor(Int32, &[1]);
            let tensors = vec![tensor(compared, &[1, 8, 8]), axis, tensor(index, &[1, 8])];
            let options = BuiltinOptions::Absent;
            let operator = calling(OpKind::ArgMax, &[0, 1], &[2], options);
            let model = model(vec![subgraph(tensors, vec![operator])]);
            let graph = graph_of(&model);
            let node = &graph.nodes[0];
            for npu in [Npu::EthosU55U65, Npu::EthosU85] {
                let refusal = refused_type(&graph, node, OpKind::ArgMax, npu);
                assert_eq!(
                    refusal.is_some(),
                    is_refused,
                    "{compared:?} {index:?}: {refusal:?}"
                );
            }
        }
    }

    /// Of three steps or three inputs, by which dimension comes first.
    #[test]
    fn inputs_of_an_lstm_are_told_from_its_steps() {
        for (time_major, shape, expected) in [
            (true, [3, 1, 8], 1),
            (true, [1, 3, 8], 3),
            (false, [3, 1, 8], 3),
            (false, [1, 3, 8], 1),
        ] {
            let options = BuiltinOptions::UnidirectionalSequenceLstm {
                time_major,
                diagonal_recurrent_tensors: false,
                cell_clip: 0.0,
                proj_clip: 0.0,
                activation: Activation::Tanh,
            };
            let lstm = calling(OpKind::UnidirectionalSequenceLstm, &[0], &[1], options);
            let tensors = [shape, shape].map(|shape| tensor(TensorType::Int8, &shape));
            let model = model(vec![subgraph(tensors.to_vec(), vec![lstm])]);
            let batch = largest_recurrent_batch(&graph_of(&model));
            assert_eq!(batch, expected, "{time_major} {shape:?}");
        }
    }
}
