//! [`Graph`] and [`Analysis`] → what Vela plans for each operator on an accelerator. Combines all rules of this room.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use crate::graph::Graph;
use crate::graph::analysis::Analysis;
use crate::learned::features::PlannedOperator;

use super::accelerator::Accelerator;
use super::blocks::within_budget;
use super::configuration::MemoryArea;
use super::cost::{Cost, Placement};
use super::execution::{SOFTMAX_TABLE_BYTES, schedule, table_bytes};
use super::fast_storage::in_sram;
use super::flow::Flow;
use super::geometry::round_up;
use super::layer::Kind;
use super::live_ranges::LiveRanges;
use super::lower::lower;
use super::order::Order;
use super::plan_cache;
use super::program::{Action, Alias, Operation, Program, WeightSharing};
use super::schedule::Schedule;
use super::scheduled_operation::{MAX_OTHERS, Read, ScheduledOperation, SharedExecutions};
use super::staging::{stage_inputs, staged_inputs};
use super::task::Task;
use super::weight_buffers::Buffer;
use super::weights::{ALIGNMENT_BYTES, scale_bytes};

pub use super::task::Plan;

/// Bytes of a lookup table of 8-bit activations.
const TABLE_BYTES: f64 = 256.0;
/// Numbers that a softmax adds to, subtracts from or multiplies with, besides one. All softmaxes share them.
const N_SOFTMAX_NUMBERS: f64 = 6.0;
/// The same with 16 bits.
const N_SOFTMAX_NUMBERS_16_BITS: f64 = 5.0;

/// One planned operator for each node. If nothing else is known of an operator, its cost is that of writing its output.
/// An operator that only renames memory, or that the CPU runs, costs nothing. Linear in operations, except for the
/// choices of feature maps and of stripes, for which see [`in_sram`] and [`Schedule::new`].
pub fn plan(accelerator: &Accelerator, graph: &Graph, analysis: &Analysis) -> Vec<PlannedOperator> {
    Plan::new(accelerator, graph, analysis).operators
}

impl Plan {
    /// The plan of a graph by the accelerator's rules.
    pub fn new(accelerator: &Accelerator, graph: &Graph, analysis: &Analysis) -> Self {
        let (mut program, hit_limit) = within_budget(|| lower(accelerator, graph, analysis));
        program.hit_limit |= hit_limit;
        let task = Task {
            accelerator: *accelerator,
            program,
            n_nodes: graph.nodes.len(),
            n_tensors: graph.subgraph.tensors.len(),
        };
        plan_cache::get_or_plan(task, |task| {
            let Program {
                hit_limit: lowering_hit_limit,
                ..
            } = task.program;
            let ((operators, n_starts), hit_limit) = within_budget(|| plan_of(task));
            Self {
                operators,
                n_starts,
                hit_limit: lowering_hit_limit || hit_limit,
            }
        })
    }
}

/// The planned operators, and [`Plan::n_starts`].
fn plan_of(mut task: Cow<Task>) -> (Vec<PlannedOperator>, usize) {
    let (order, flow) = with_staged_inputs(&mut task);
    let Task {
        accelerator,
        program,
        n_nodes,
        n_tensors,
    } = task.as_ref();
    let steps = scheduled_operations(accelerator, program, &order, &flow);
    let n_tables = (flow.has_table.iter()).filter(|&&has_table| has_table);
    let n_tables = n_tables.count();
    let mut schedule = Schedule::new(accelerator, program, order, flow, steps);
    let constant_bytes = match accelerator.off_chip.area {
        MemoryArea::Sram => {
            let bytes = constant_bytes(accelerator, program, *n_tensors, n_tables, &schedule);
            bytes + table_correction(accelerator, program)
        }
        _ => 0.0,
    };
    let is_in_sram = in_sram(
        accelerator,
        program,
        &schedule.live_ranges,
        &schedule.order,
        &schedule.steps,
        &schedule.weights.buffer_bytes,
    );
    if accelerator.has_dedicated_sram {
        schedule.live_ranges = LiveRanges::from_placement(program, &schedule.order, &is_in_sram);
    }
    let n_steps = schedule.order.operations.len();
    let mut sram_bytes =
        (schedule.live_ranges).live_bytes(n_steps, |range_idx| is_in_sram[range_idx]);
    for (bytes, buffer_bytes) in sram_bytes.iter_mut().zip(&schedule.weights.buffer_bytes) {
        *bytes = *bytes + buffer_bytes + constant_bytes;
    }
    // As large as what is planned next.
    schedule.live_ranges = LiveRanges::default();
    let mut planned = vec![PlannedOperator::default(); *n_nodes];
    add_memory(&mut planned, program, &schedule, &sram_bytes);
    add_costs(&mut planned, accelerator, program, &schedule, &is_in_sram);
    (planned, n_npu_starts(program, &schedule.order))
}

fn n_npu_starts(program: &Program, order: &Order) -> usize {
    let actions = (order.operations.iter()).map(|&idx| program.operations[idx].action);
    let (mut n, mut is_running) = (0, false);
    for action in actions {
        match action {
            Action::Cpu => is_running = false,
            Action::View => {}
            _ if is_running => {}
            _ => (n, is_running) = (n + 1, true),
        }
    }
    n
}

/// Copies inputs of the graph where that is faster, and returns the order of the program that results.
fn with_staged_inputs(task: &mut Cow<Task>) -> (Order, Flow) {
    let Task {
        accelerator,
        program,
        ..
    } = task.as_ref();
    let (order, flow) = order_and_flow(accelerator, program);
    let staged = staged_inputs(accelerator, program, &order, &flow);
    if staged.is_empty() {
        return (order, flow);
    }
    drop((order, flow));
    let Task {
        accelerator,
        program,
        ..
    } = task.to_mut();
    stage_inputs(program, &staged);
    order_and_flow(accelerator, program)
}

/// The order of execution, with chains on accelerators that have them, and the producers and consumers of feature maps.
fn order_and_flow(accelerator: &Accelerator, program: &Program) -> (Order, Flow) {
    let order = if accelerator.is_u85() {
        Order::new(program).with_chains(program)
    } else {
        Order::new(program)
    };
    let order = order.with_cpu_grouped(program);
    let flow = Flow::new(program, &order);
    (order, flow)
}

/// By step, the scheduled operation; `None` for an operation that takes no time or that another one includes.
fn scheduled_operations<'p>(
    accelerator: &Accelerator,
    program: &'p Program,
    order: &Order,
    flow: &Flow,
) -> Vec<Option<ScheduledOperation<'p>>> {
    let scheduled =
        |(idx, &operation_idx): (usize, &usize)| match program.operations[operation_idx].alias {
            Alias::View | Alias::Fused | Alias::Concat => None,
            _ if order.chain_start[idx] < idx => None,
            _ => schedule(accelerator, program, order, flow, idx),
        };
    let mut known = SharedExecutions::for_program(order.operations.len());
    let with_shared = |operation| {
        let mut step = scheduled(operation);
        if let Some(step) = &mut step {
            step.share(&mut known);
        }
        step
    };
    let operations = order.operations.iter().enumerate();
    operations.map(with_shared).collect()
}

/// Adds the SRAM of each step to the operator that it belongs to: the maximum over its steps.
fn add_memory(
    planned: &mut [PlannedOperator],
    program: &Program,
    schedule: &Schedule,
    sram_bytes: &[f64],
) {
    for (idx, &operation_idx) in schedule.order.operations.iter().enumerate() {
        let planned = &mut planned[program.operations[operation_idx].node_idx];
        let weight_buffer_bytes = schedule.weights.weight_buffer_bytes[idx];
        planned.weight_buffer_bytes = planned.weight_buffer_bytes.max(weight_buffer_bytes);
        planned.sram_bytes = planned.sram_bytes.max(sram_bytes[idx]);
    }
}

/// Adds the cycles and the traffic of each step to the operator that it belongs to.
fn add_costs(
    planned: &mut [PlannedOperator],
    accelerator: &Accelerator,
    program: &Program,
    schedule: &Schedule,
    is_in_sram: &[bool],
) {
    let mut slack_cycles = 0.0;
    for (idx, &operation_idx) in schedule.order.operations.iter().enumerate() {
        let Some(step) = schedule.steps[idx].as_ref() else {
            continue;
        };
        if step.is_of_cpu() {
            // Nothing is fetched while the CPU runs.
            slack_cycles = 0.0;
            continue;
        }
        let buffer = &schedule.weights.buffers[idx];
        let places = memory_placement(accelerator, program, step, is_in_sram);
        let n_buffered = if buffer.alternates {
            (step.pieces / 2.0).ceil()
        } else {
            step.pieces
        };
        let planned = &mut planned[program.operations[operation_idx].node_idx];
        planned.encoded_weight_bytes += step.execution.weight_bytes();
        // The first run hides its transfer behind the step before, and each other one behind itself.
        let n_first = f64::from(u8::from(buffer.is_shared && step.pieces > 1.0));
        let first = Buffer {
            slack_cycles,
            ..*buffer
        };
        let runs = [
            (&first, n_first),
            (buffer, n_buffered - n_first),
            (&Buffer::NONE, step.pieces - n_buffered),
        ];
        for (buffer, n_runs) in runs.into_iter().filter(|&(_, n_runs)| n_runs > 0.0) {
            let cost = Cost::new(accelerator, step, buffer, &places, slack_cycles, n_runs);
            planned.cycles += cost.cycles;
            planned.off_chip_bytes += cost.off_chip_bytes;
            planned.sram_traffic_bytes += cost.sram_bytes;
            planned.counted_off_chip_bytes += cost.off_chip_bytes + cost.recounted.off_chip_bytes;
            planned.counted_sram_traffic_bytes += cost.sram_bytes + cost.recounted.sram_bytes;
        }
        slack_cycles = buffer.slack(step, 0.0).cycles;
    }
}

/// Bytes of all constants: encoded weights, lookup tables of activations, and other constants.
fn constant_bytes(
    accelerator: &Accelerator,
    program: &Program,
    n_graph_tensors: usize,
    n_tables: usize,
    schedule: &Schedule,
) -> f64 {
    let aligned = |bytes: i64| round_up(bytes, ALIGNMENT_BYTES) as f64;
    // Networks that are unrolled over time multiply with the same matrix in each step, and twin networks share their
    // windows: equal weights are stored once, and scales for each further pair of scales of the maps. The operations of
    // one operator read different parts of its weights.
    let mut stored: BTreeMap<_, BTreeSet<[u16; 2]>> = BTreeMap::new();
    let mut n_parts = BTreeMap::new();
    let mut weights = 0.0;
    for (&operation_idx, step) in schedule.order.operations.iter().zip(&schedule.steps) {
        let step = step
            .as_ref()
            .filter(|step| step.sharing != WeightSharing::Again);
        let Some((step, (layer, block), histogram)) = step.and_then(|step| {
            let execution = &step.execution;
            Some((step, execution.layer()?, execution.histogram()?))
        }) else {
            continue;
        };
        let part = n_parts
            .entry(program.operations[operation_idx].node_idx)
            .or_insert(0);
        *part += 1;
        let depths = [layer.ofm[2], layer.ifm[2]];
        let scales = [step.maps.ifm, step.maps.ofm]
            .map(|map| map.get().map_or(0, |map| program.maps[map].scale));
        let scales = if scales.contains(&0) { [0; 2] } else { scales };
        let of_weights = stored.entry((*part, depths, layer.kernel, &histogram.counts));
        let of_weights = of_weights.or_default();
        let is_first = of_weights.is_empty();
        if of_weights.insert(scales) {
            // Repeated operations of compiled maps read the same weights.
            let n_streams = if scales == [0; 2] { 1.0 } else { step.pieces };
            weights += if is_first {
                step.execution.weight_bytes() * n_streams
            } else {
                scale_bytes(accelerator, layer.computed_channels(), block.micro[2])
            };
        }
    }
    let mut is_read = vec![false; program.maps.len()];
    for operation in &program.operations {
        // The other inputs of what moves memory are shapes, which the command contains.
        let n_read = match operation.action {
            Action::View | Action::Slice | Action::Copy | Action::Transpose(_) => 1,
            _ => operation.inputs.len(),
        };
        let read = operation.inputs.iter().take(n_read);
        read.for_each(|&input| is_read[input] = true);
    }
    // Constants that the compiler adds are zeros; those of the same shape and type are stored once.
    let mut zeros = BTreeSet::new();
    let read = program.maps.iter().zip(is_read).enumerate();
    let constants: f64 = read
        .filter(|(_, (map, is_read))| map.is_constant && *is_read)
        .filter(|(map_idx, (map, _))| {
            *map_idx < n_graph_tensors || zeros.insert((map.shape, map.element_bytes))
        })
        .map(|(_, (map, _))| aligned(map.n_elements().saturating_mul(map.element_bytes())))
        .sum();
    weights + constants + n_tables as f64 * TABLE_BYTES
}

/// Bytes of lookup tables beyond [`TABLE_BYTES`] each, and of the numbers of softmaxes, which all of them share: a softmax
/// of 8 bits has a table of 32-bit values, and all softmaxes of 16 bits have the same two tables. Ethos-U55 and U65 compute
/// 16-bit activations of LSTMs without a table.
fn table_correction(accelerator: &Accelerator, program: &Program) -> f64 {
    let is_sum = |one: &&Operation| one.action == Action::Layer(Kind::ReduceSum);
    // No other node both sums channels and looks up 16 bits.
    let sums: BTreeSet<usize> = (program.operations.iter().filter(is_sum))
        .map(|one| one.node_idx)
        .collect();
    let is_pooling = |one: &&Operation| one.action == Action::Layer(Kind::MaxPooling);
    // Those of ARG_MAX, which nothing else looks up behind pooling.
    let indices: BTreeSet<usize> = (program.operations.iter().filter(is_pooling))
        .map(|one| one.node_idx)
        .collect();
    let (mut beyond, mut numbers, mut tables_16_bits) = (0.0, 0.0, 0.0);
    let mut tables = BTreeSet::new();
    for one in &program.operations {
        let bytes = table_bytes(program, one);
        if bytes > 0.0 && one.table != 0 && !tables.insert(one.table) {
            // Equal activations between equal scales and zero points have the same table.
            if one.alias == Alias::Fused {
                beyond -= TABLE_BYTES;
            }
            continue;
        }
        // Only tables of activations that another operation performs count so far.
        if one.alias != Alias::Fused {
            beyond += bytes;
        } else if bytes > SOFTMAX_TABLE_BYTES {
            if sums.contains(&one.node_idx) {
                tables_16_bits = 2.0 * bytes + N_SOFTMAX_NUMBERS_16_BITS * ALIGNMENT_BYTES as f64;
                beyond -= TABLE_BYTES;
            } else if indices.contains(&one.node_idx) {
                beyond += bytes - TABLE_BYTES;
            } else if !accelerator.is_u85() {
                beyond -= TABLE_BYTES;
            }
        } else if bytes > 0.0 {
            if bytes == SOFTMAX_TABLE_BYTES {
                numbers = N_SOFTMAX_NUMBERS * ALIGNMENT_BYTES as f64;
            }
            beyond += bytes - TABLE_BYTES;
        }
    }
    beyond + numbers + tables_16_bits
}

/// The memories of what a scheduled operation reads and writes: constants are off chip, feature maps as
/// `is_in_sram` says.
fn memory_placement<'a>(
    accelerator: &Accelerator,
    program: &'a Program,
    step: &ScheduledOperation,
    is_in_sram: &[bool],
) -> Placement<'a> {
    let memory = |map_idx: usize| {
        if is_in_sram[map_idx] && !program.maps[map_idx].is_constant {
            accelerator.sram
        } else {
            accelerator.off_chip
        }
    };
    let place = |read: Read| (memory(read.map_idx), &program.maps[read.map_idx]);
    Placement {
        maps: (step.maps).map(|map_idx| map_idx.get().map_or(accelerator.sram, memory)),
        second: step.second.as_deref().copied().map(place),
        others: (step.others.as_deref()).map_or([None; MAX_OTHERS], |others| {
            others.map(|other| other.map(place))
        }),
    }
}
