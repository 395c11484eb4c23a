//! The feature maps that are kept in an SRAM that is too small for all of them.
//!
//! Reproduces `FastStorageAllocator` of Vela's `faststorage_allocator.cpp`, as described under "Feature maps in SRAM"
//! in `docs/method/ethos-u.md`.

mod selection;

use self::selection::{Candidate, select};
use super::accelerator::Accelerator;
use super::geometry::IfmOfm;
use super::live_ranges::LiveRanges;
use super::order::Order;
use super::program::{Action, Operation, Program};
use super::scheduled_operation::ScheduledOperation;

/// Accesses of a feature map that must be in SRAM, larger than those of any other feature map.
const MAX_ACCESSES: f64 = 1e15;

/// By map, whether it is in SRAM; true for all if there is no other memory for them. `buffer_bytes` is the SRAM in use
/// for weights and cascades, by scheduled operation. Linear in operations, except for the selection, whose cost is
/// limited.
pub fn in_sram(
    accelerator: &Accelerator,
    program: &Program,
    live_ranges: &LiveRanges,
    order: &Order,
    operations: &[Option<ScheduledOperation>],
    buffer_bytes: &[f64],
) -> Vec<bool> {
    let n_maps = program.maps.len();
    if !accelerator.has_dedicated_sram {
        return vec![true; n_maps];
    }
    let accesses = accesses(accelerator, program, live_ranges, order, operations);
    let candidates = candidates(live_ranges, operations, &accesses);
    let mut is_kept = vec![false; n_maps];
    for id in select(
        candidates,
        accelerator.sram_limit_bytes as f64,
        buffer_bytes,
    ) {
        is_kept[id] = true;
    }
    // Feature maps inside a chain are in no memory.
    for (range_idx, range) in live_ranges.ranges() {
        is_kept[range_idx] |= range.steps.is_none();
    }
    let mut is_in_sram: Vec<bool> = (0..n_maps)
        .map(|map_idx| is_kept[live_ranges.range_of(map_idx)])
        .collect();
    inputs_in_same_memory(program, order, operations, &mut is_in_sram);
    is_in_sram
}

/// By live range, elements read and written: the off-chip accesses that are saved if it is kept in SRAM.
fn accesses(
    accelerator: &Accelerator,
    program: &Program,
    live_ranges: &LiveRanges,
    order: &Order,
    operations: &[Option<ScheduledOperation>],
) -> Vec<f64> {
    let counts_as_group = accelerator.is_u85();
    let mut accesses = vec![0.0; program.maps.len()];
    for (step, (&idx, scheduled)) in order.operations.iter().zip(operations).enumerate() {
        let Some(scheduled) = scheduled else { continue };
        let operation = &program.operations[idx];
        let IfmOfm {
            ifm: read,
            ofm: written,
        } = scheduled.accesses(program);
        let n_runs = |map_idx: usize| program.maps[map_idx].n_pieces(scheduled.pieces);
        let mut inputs = program.activations(operation);
        if let Some(first) = inputs.next() {
            accesses[live_ranges.range_of(first)] += read * n_runs(first);
        }
        // On Ethos-U85, the writes of an operation with others in its group do not count: either an activation is fused
        // into it, or a chained operation consumes its output.
        let is_first_of_group = counts_as_group
            && (scheduled.is_chained || order.map_behind_activation(program, step).is_some());
        for &output in operation.outputs.iter().filter(|_| !is_first_of_group) {
            accesses[live_ranges.range_of(output)] += written * n_runs(output);
        }
        if counts_as_group {
            for (map_idx, elements) in chained_accesses(program, order, step) {
                accesses[live_ranges.range_of(map_idx)] += elements;
            }
        }
        let Some(second) = inputs.next().filter(|_| operation.is_binary()) else {
            continue;
        };
        let read = read * n_runs(second);
        let second = live_ranges.range_of(second);
        let second_bytes = (scheduled.second.as_ref())
            .map_or(1, |second| program.maps[second.map_idx].element_bytes());
        accesses[second] += (scheduled.second.as_ref())
            .map_or(read, |second| second.bytes / second_bytes.max(1) as f64);
        // Both inputs of an elementwise operation must be in the same memory, and inside a cascade the other input is a
        // rolling buffer in SRAM.
        if scheduled.stripe.is_some_and(|stripe| !stripe.is_first) {
            accesses[second] = MAX_ACCESSES;
        }
    }
    for (map_idx, map) in program.maps.iter().enumerate() {
        if map.is_staged {
            accesses[live_ranges.range_of(map_idx)] = MAX_ACCESSES;
        }
    }
    accesses
}

/// By map, elements of the memory accesses of operations chained to a step. Each operation has one access: its input in
/// memory or, if there is none, its output.
fn chained_accesses(program: &Program, order: &Order, step: usize) -> Vec<(usize, f64)> {
    let mut within = order.maps_within_chain(program, step);
    let mut accesses = Vec::new();
    for operation in order.chained(program, step) {
        let mut from_memory = operation
            .inputs
            .iter()
            .filter(|input| !within.contains(input));
        let map_idx = from_memory.next().or(operation.outputs.first());
        if let Some(&map_idx) = map_idx.filter(|&&map_idx| program.maps[map_idx].n_elements() > 1) {
            let map = &program.maps[map_idx];
            let bytes = map.bytes_in_shape(program.shape_beside_output(operation, map_idx));
            accesses.push((map_idx, bytes / map.element_bytes().max(1) as f64));
        }
        within.extend(&operation.outputs);
    }
    accesses
}

/// The live ranges that may be in SRAM. Ranges that callers see, that a cascade writes, or that are alive while the CPU
/// runs may not, because the CPU may use the SRAM itself.
fn candidates(
    live_ranges: &LiveRanges,
    operations: &[Option<ScheduledOperation>],
    accesses: &[f64],
) -> Vec<Candidate> {
    let is_cpu = |scheduled: &Option<ScheduledOperation>| {
        scheduled
            .as_ref()
            .is_some_and(ScheduledOperation::is_of_cpu)
    };
    let n_cpu_before: Vec<usize> = std::iter::once(0)
        .chain(operations.iter().scan(0, |n, scheduled| {
            *n += usize::from(is_cpu(scheduled));
            Some(*n)
        }))
        .collect();
    let ranges = live_ranges.ranges().filter_map(|(id, range)| {
        let (first, last) = range.steps.get()?;
        let is_internal = !range.is_interface && !range.is_of_cascade;
        let is_without_cpu = n_cpu_before[first] == n_cpu_before[last + 1];
        (is_internal && is_without_cpu).then(|| Candidate {
            id,
            first,
            last,
            bytes: range.bytes_in_memory(),
            accesses: accesses[id],
        })
    });
    ranges.collect()
}

/// Moves an input of an elementwise operation, or of a chain with one, off chip if another input is there and only
/// elementwise operations read it.
fn inputs_in_same_memory(
    program: &Program,
    order: &Order,
    steps: &[Option<ScheduledOperation>],
    is_in_sram: &mut [bool],
) {
    let maps = &program.maps;
    // By map, the map of which it is a view.
    let mut named: Vec<usize> = (0..maps.len()).collect();
    let mut is_read_whole = vec![false; maps.len()];
    // By map, the last step whose group wrote it, counted from 1.
    let mut written_in = vec![0; maps.len()];
    for &idx in &order.operations {
        let operation = &program.operations[idx];
        if operation.alias.is_view_of_input() {
            if let Some(input) = program.activations(operation).next() {
                let input = named[input];
                operation
                    .outputs
                    .iter()
                    .for_each(|&output| named[output] = input);
            }
        } else if !operation.is_binary() && operation.action != Action::Unary {
            let inputs = operation.inputs.iter();
            inputs.for_each(|&input| is_read_whole[named[input]] = true);
        }
    }
    for (step_idx, (&idx, step)) in order.operations.iter().zip(steps).enumerate() {
        let is_inside = (step.as_ref().and_then(|step| step.stripe)).is_some_and(|s| !s.is_first);
        let group: Vec<&Operation> = std::iter::once(&program.operations[idx])
            .chain(order.chained(program, step_idx))
            .collect();
        if step.is_none() || is_inside || !group.iter().any(|operation| operation.is_binary()) {
            continue;
        }
        for &output in group.iter().flat_map(|operation| &operation.outputs) {
            written_in[named[output]] = step_idx + 1;
        }
        let inputs: Vec<usize> = (group
            .iter()
            .flat_map(|operation| program.activations(operation)))
        .map(|input| named[input])
        .filter(|&input| written_in[input] != step_idx + 1)
        .collect();
        if inputs.iter().any(|&input| !is_in_sram[input]) {
            for &input in inputs.iter().filter(|&&input| !is_read_whole[input]) {
                is_in_sram[input] = false;
            }
        }
    }
    for map_idx in 0..maps.len() {
        is_in_sram[map_idx] = is_in_sram[named[map_idx]];
    }
}
