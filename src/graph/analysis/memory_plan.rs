//! Activations in one arena, as TensorFlow Lite Micro lays them out.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use super::greedy::{self, Request};
use super::lifetimes::{self, Lifetimes};
use super::macs::{Uncountable, macs};
use super::shape::{self, Dynamic};
use super::unplannable::{MAX_PLANNED_TENSORS, OFFLINE_PLAN, Unplannable};
use crate::formats::tflite::{Buffer, Model, OpKind, Operator, Subgraph, Tensor, TensorType};
use crate::graph::Graph;

/// Every tensor starts at a multiple of this (`MicroArenaBufferAlignment`).
const ALIGNMENT_BYTES: u64 = 16;

/// Activations laid out in one arena by the rules of TensorFlow Lite Micro's greedy planner, in the file's order of
/// operators. Offsets that a compiler prescribes in the file are respected.
///
/// A real arena holds more: working buffers that kernels ask for (which depend on the kernel
/// library), and its persistent part (variables, and the interpreter's and kernels' own
/// structures).
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryPlan {
    /// Bytes of the arena's activation part (its head): the highest end of any tensor.
    pub arena_bytes: u64,
    /// First node at which the number of live activation bytes is largest; absent in an empty graph.
    pub peak_node_idx: Option<usize>,
    /// Activation bytes alive while each node runs, each tensor rounded up to the arena's
    /// alignment of 16 bytes, parallel to [`Graph::nodes`].
    pub live_bytes: Vec<u64>,
    /// In the order of the file. Tensors of all subgraphs have a place.
    pub placements: Vec<Placement>,
}

/// One tensor's place in the arena.
#[derive(Clone, Debug, PartialEq)]
pub struct Placement {
    pub subgraph_idx: usize,
    pub tensor_idx: usize,
    pub offset_bytes: u64,
    pub size_bytes: u64,
    /// First and last node of the graph during which the tensor is needed; absent if no operator needs it (its space is
    /// reserved nevertheless).
    pub nodes: Option<RangeInclusive<usize>>,
}

/// A working buffer that a kernel library asks for while one operator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scratch {
    /// Index into [`Graph::nodes`].
    pub node_idx: usize,
    pub size_bytes: u64,
}

/// The plan for the subgraph of `graph` as the root, with every tensor of its model, and after
/// them `scratch`, in the order in which the kernels ask. Takes what [`greedy::place`] takes.
pub fn memory_plan(graph: &Graph, scratch: &[Scratch]) -> Result<MemoryPlan, Unplannable> {
    check_operand_shapes(graph.model)?;
    let lifetimes = lifetimes::lifetimes(graph.model, graph.subgraph_idx)?;
    let buffers = arena_buffers(graph.model, &lifetimes)?;
    let n_buffers = buffers.len().saturating_add(scratch.len());
    if n_buffers > MAX_PLANNED_TENSORS {
        return Err(Unplannable::TooManyTensors { found: n_buffers });
    }
    let node_steps = node_steps(graph, &lifetimes);
    let mut requests: Vec<Request> = buffers.iter().map(|buffer| buffer.request).collect();
    for buffer in scratch {
        requests.push(
            scratch_request(buffer, &node_steps[buffer.node_idx]).ok_or(Unplannable::Overflow)?,
        );
    }
    let offsets = greedy::place(&requests).ok_or(Unplannable::Overflow)?;
    let live_bytes = live_bytes(&requests, &node_steps).ok_or(Unplannable::Overflow)?;
    let ends = requests
        .iter()
        .zip(&offsets)
        .map(|(request, offset)| offset + request.size_bytes);
    Ok(MemoryPlan {
        arena_bytes: ends.max().unwrap_or(0),
        peak_node_idx: peak_node_idx(&live_bytes),
        live_bytes,
        placements: placements(&buffers, &offsets, &node_steps),
    })
}

/// [`MemoryPlan::live_bytes`] alone, which needs no plan: absent for the reasons of a plan but its limit. Linear.
pub fn live_bytes_of(graph: &Graph) -> Option<Vec<u64>> {
    check_operand_shapes(graph.model).ok()?;
    let lifetimes = lifetimes::lifetimes(graph.model, graph.subgraph_idx).ok()?;
    let buffers = arena_buffers(graph.model, &lifetimes).ok()?;
    let requests: Vec<Request> = buffers.iter().map(|buffer| buffer.request).collect();
    live_bytes(&requests, &node_steps(graph, &lifetimes))
}

/// The first node at which the most bytes are alive.
pub fn peak_node_idx(live_bytes: &[u64]) -> Option<usize> {
    (0..live_bytes.len())
        .rev()
        .max_by_key(|&node_idx| live_bytes[node_idx])
}

/// Old files leave out shapes, which then look like scalars. This is detected at an operator that cannot work on
/// scalars.
fn check_operand_shapes(model: &Model) -> Result<(), Unplannable> {
    for (subgraph_idx, subgraph) in model.subgraphs.iter().enumerate() {
        for (operator_idx, operator) in subgraph.operators.iter().enumerate() {
            if lacks_shapes(operator, &subgraph.tensors) {
                let name = operator.code.kind.name().to_owned();
                return Err(Unplannable::OperandShapes {
                    name,
                    subgraph_idx,
                    operator_idx,
                });
            }
        }
    }
    Ok(())
}

/// Whether an operand lacks its shape: the result of a matrix product or convolution is never a scalar.
fn lacks_shapes(operator: &Operator, tensors: &[Tensor]) -> bool {
    let writes_scalar = operator
        .outputs
        .iter()
        .any(|&tensor_idx| tensors[tensor_idx].shape.is_empty());
    match macs(operator, tensors) {
        Ok(n_macs) => n_macs > 0 && writes_scalar,
        Err(reason) => reason == Uncountable::Shape,
    }
}

/// A tensor that must be placed.
struct ArenaBuffer {
    subgraph_idx: usize,
    tensor_idx: usize,
    request: Request,
}

fn arena_buffers(model: &Model, lifetimes: &Lifetimes) -> Result<Vec<ArenaBuffer>, Unplannable> {
    let fixed_offsets = offline_offsets(model)?;
    let mut flat_idx = 0;
    let n_tensors = model.subgraphs.iter().map(|one| one.tensors.len()).sum();
    let mut buffers = Vec::with_capacity(n_tensors);
    for (subgraph_idx, subgraph) in model.subgraphs.iter().enumerate() {
        let handles = resource_handles(subgraph);
        for (tensor_idx, tensor) in subgraph.tensors.iter().enumerate() {
            let fixed_offset_bytes = fixed_offsets.as_ref().and_then(|offsets| offsets[flat_idx]);
            flat_idx += 1;
            let lies_elsewhere =
                handles.contains(&tensor_idx) || !is_in_arena(model, tensor, fixed_offset_bytes);
            if lies_elsewhere {
                continue;
            }
            let size_bytes = aligned_bytes(tensor, subgraph_idx, tensor_idx)?;
            let (first_step, last_step) = lifetimes.steps[subgraph_idx][tensor_idx];
            let request = Request {
                size_bytes,
                first_step,
                last_step,
                fixed_offset_bytes,
            };
            buffers.push(ArenaBuffer {
                subgraph_idx,
                tensor_idx,
                request,
            });
        }
    }
    buffers.retain(|buffer| buffer.request.size_bytes > 0);
    Ok(buffers)
}

/// Handles of resource variables. They refer to memory that the kernel owns.
fn resource_handles(subgraph: &Subgraph) -> HashSet<usize> {
    let makers = subgraph
        .operators
        .iter()
        .filter(|operator| operator.code.kind == OpKind::VarHandle);
    makers
        .flat_map(|operator| operator.outputs.iter().copied())
        .collect()
}

/// Whether a tensor is in the arena's head: constants stay in the file, and variables are in the persistent part unless
/// a compiler gave them an offset.
fn is_in_arena(model: &Model, tensor: &Tensor, fixed_offset_bytes: Option<u64>) -> bool {
    if tensor.is_variable {
        return fixed_offset_bytes.is_some();
    }
    model
        .buffers
        .get(tensor.buffer_idx)
        .is_none_or(|buffer| buffer.is_empty())
}

fn aligned_bytes(
    tensor: &Tensor,
    subgraph_idx: usize,
    tensor_idx: usize,
) -> Result<u64, Unplannable> {
    let name = || tensor.name.to_string();
    if shape::dynamic(tensor) == Dynamic::OtherDimensions {
        let signature = tensor
            .shape_signature
            .as_deref()
            .unwrap_or_default()
            .to_vec();
        return Err(Unplannable::RunTimeShape {
            name: name(),
            subgraph_idx,
            tensor_idx,
            signature,
        });
    }
    let tensor_type = tensor.tensor_type;
    let value_bytes =
        micro_bytes_per_value(tensor_type).ok_or_else(|| Unplannable::UnknownSize {
            name: name(),
            subgraph_idx,
            tensor_idx,
            tensor_type,
        })?;
    tensor
        .element_count()
        .and_then(|count| {
            count
                .checked_mul(value_bytes)?
                .checked_next_multiple_of(ALIGNMENT_BYTES)
        })
        .ok_or_else(|| Unplannable::TooLarge {
            name: name(),
            subgraph_idx,
            tensor_idx,
            shape: tensor.shape.clone(),
        })
}

/// `TfLiteTypeSizeOf` there: four-bit activations take a byte each, resources a handle.
fn micro_bytes_per_value(tensor_type: TensorType) -> Option<u64> {
    match tensor_type {
        TensorType::Resource => Some(4),
        TensorType::Int4 => Some(1),
        TensorType::Int2 | TensorType::UInt4 => None,
        other => other.bits_per_value().map(|bits| u64::from(bits) / 8),
    }
}

fn scratch_request(scratch: &Scratch, steps: &RangeInclusive<i64>) -> Option<Request> {
    Some(Request {
        size_bytes: scratch
            .size_bytes
            .checked_next_multiple_of(ALIGNMENT_BYTES)?,
        first_step: *steps.start(),
        last_step: *steps.end(),
        fixed_offset_bytes: None,
    })
}

/// Offsets that a compiler prescribes for the tensors of all subgraphs, −1 where it leaves the
/// choice open. Little-endian 32-bit words: version, subgraph, count, offsets.
fn offline_offsets(model: &Model) -> Result<Option<Vec<Option<u64>>>, Unplannable> {
    let Some(entry) = model
        .metadata
        .iter()
        .find(|entry| entry.name == OFFLINE_PLAN)
    else {
        return Ok(None);
    };
    let expected = model
        .subgraphs
        .iter()
        .map(|subgraph| subgraph.tensors.len())
        .sum();
    let error = |found: String| Unplannable::OfflinePlan { expected, found };
    let (words, _) = model
        .buffers
        .get(entry.buffer_idx)
        .map_or(&[][..], Buffer::bytes)
        .as_chunks::<4>();
    let [_version, _subgraph, count, offsets @ ..] = words else {
        return Err(error(format!("{} words", words.len())));
    };
    let count = u32::from_le_bytes(*count) as usize;
    if count != expected || offsets.len() < expected {
        return Err(error(format!(
            "a count of {count} and {} offsets",
            offsets.len()
        )));
    }
    let offsets = offsets[..expected]
        .iter()
        .map(|word| match i32::from_le_bytes(*word) {
            -1 => Ok(None),
            offset => u64::try_from(offset)
                .map(Some)
                .map_err(|_| error(format!("the offset {offset}"))),
        });
    offsets.collect::<Result<_, _>>().map(Some)
}

/// Steps of each node, parallel to [`Graph::nodes`].
fn node_steps(graph: &Graph, lifetimes: &Lifetimes) -> Vec<RangeInclusive<i64>> {
    let steps = |node: &crate::graph::Node| lifetimes.operator_steps[node.operator_idx].clone();
    graph.nodes.iter().map(steps).collect()
}

/// Live bytes while each node runs: the maximum over its steps. Linear.
fn live_bytes(requests: &[Request], node_steps: &[RangeInclusive<i64>]) -> Option<Vec<u64>> {
    let n_steps = node_steps
        .iter()
        .map(|steps| *steps.end())
        .max()
        .map_or(0, |last| last as usize + 1);
    let (mut born, mut died) = (vec![0u64; n_steps], vec![0u64; n_steps + 1]);
    for request in requests.iter().filter(|request| request.last_step >= 0) {
        let first = request.first_step.max(0) as usize;
        let after = request.last_step as usize + 1;
        if first < n_steps {
            born[first] = born[first].checked_add(request.size_bytes)?;
            died[after.min(n_steps)] = died[after.min(n_steps)].checked_add(request.size_bytes)?;
        }
    }
    let mut alive = 0u64;
    let mut live = Vec::with_capacity(n_steps);
    for step in 0..n_steps {
        alive = (alive - died[step]).checked_add(born[step])?;
        live.push(alive);
    }
    let most = |steps: &RangeInclusive<i64>| {
        live[*steps.start() as usize..=*steps.end() as usize]
            .iter()
            .max()
            .copied()
    };
    Some(
        node_steps
            .iter()
            .map(|steps| most(steps).unwrap_or(0))
            .collect(),
    )
}

fn placements(
    buffers: &[ArenaBuffer],
    offsets: &[u64],
    node_steps: &[RangeInclusive<i64>],
) -> Vec<Placement> {
    let mut by_step: Vec<(&RangeInclusive<i64>, usize)> = node_steps.iter().zip(0..).collect();
    by_step.sort_unstable_by_key(|(steps, _)| *steps.start());
    let placement = |(buffer, &offset_bytes): (&ArenaBuffer, &u64)| Placement {
        subgraph_idx: buffer.subgraph_idx,
        tensor_idx: buffer.tensor_idx,
        offset_bytes,
        size_bytes: buffer.request.size_bytes,
        nodes: nodes_during(&by_step, &buffer.request),
    };
    buffers.iter().zip(offsets).map(placement).collect()
}

/// The first and the last node, in execution order, whose steps overlap the lifetime. `by_step` is sorted, and its
/// ranges do not overlap.
fn nodes_during(
    by_step: &[(&RangeInclusive<i64>, usize)],
    request: &Request,
) -> Option<RangeInclusive<usize>> {
    let from = by_step.partition_point(|(steps, _)| *steps.end() < request.first_step);
    let to = by_step.partition_point(|(steps, _)| *steps.start() <= request.last_step);
    let nodes = by_step.get(from..to)?;
    Some(nodes.first()?.1..=nodes.last()?.1)
}
