//! [`Graph`] and [`Analysis`] → what Vela plans for each operator on an accelerator.

use crate::analysis::Analysis;
use crate::graph::Graph;

use super::accelerator::{Accelerator, Memory};
use super::blocks::{SPLIT_DEPTH, round_up};
use super::cascades::{Cascade, cascades};
use super::cycles::{
    Conditions, Part, move_cycles, operator_cycles, read_inflation, write_inflation,
};
use super::fast_storage::{self, Candidate};
use super::feature_maps::{FeatureMaps, LiveRange};
use super::flow::Flow;
use super::layer::SCALE_BYTES;
use super::lower::lower;
use super::order::Order;
use super::program::{Map, Operation, Placing, Program};
use super::schedule::{Buffer, buffers};
use super::step::{Step, Work, links, mat_mul_cycles, step, striped};
use super::weights::ALIGNMENT_BYTES;

/// More than any feature map is read and written.
const MOST_ACCESSES: f64 = 1e15;

/// What is planned for one operator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Planned {
    /// Cycles it takes: computing, or waiting for weights.
    pub cycles: f64,
    /// SRAM for its weights and for those of the operator after it, as far as they are fetched while
    /// it runs.
    pub weight_buffer_bytes: f64,
    /// The same and the feature maps alive, as far as they are kept in SRAM.
    pub sram_bytes: f64,
    /// Its weights and scales in the stream that the accelerator decodes.
    pub encoded_weight_bytes: f64,
    /// Read off chip and written there: feature maps that are not kept in SRAM, and weights as often
    /// as they are fetched.
    pub off_chip_bytes: f64,
    /// The same in SRAM.
    pub sram_traffic_bytes: f64,
}

/// One for each node. An operator of which nothing else is known counts with its output's
/// elements; one that only names memory anew, or that the CPU runs, with nothing. Proportional to operations, but for
/// the choices of feature maps and of stripes, for which see [`fast_storage::kept`] and [`cascades`].
pub fn plan(accelerator: &Accelerator, graph: &Graph, analysis: &Analysis) -> Vec<Planned> {
    let program = lower(accelerator, graph, analysis);
    let order = match accelerator.is_u85() {
        true => Order::of(&program).with_chains(&program),
        false => Order::of(&program),
    };
    let flow = Flow::of(&program, &order);
    let step = |(step_idx, &idx): (usize, &usize)| match program.operations[idx].placing {
        Placing::View | Placing::Fused | Placing::Joined => None,
        _ if order.chain_start[step_idx] < step_idx => None,
        _ => step(accelerator, &program, &order, &flow, [step_idx, idx]),
    };
    let mut steps: Vec<Option<Step>> = order.operations.iter().enumerate().map(step).collect();
    let links = links(&program, &order, &flow, &steps);
    let cascades = cascades(accelerator, &links, &mut steps, |step, stripe| {
        striped(accelerator, step, stripe)
    });
    let spans = cascades.iter().map(|cascade| (cascade.first, cascade.last));
    let order = order.with_cascades(spans);
    let is_interface_apart = accelerator.sram_limit_bytes.is_some();
    let feature_maps = FeatureMaps::of(&program, &order, is_interface_apart);
    let buffers = buffers(accelerator, &steps, &cascades);
    let weight_buffer_bytes = weight_buffer_bytes(&steps, &buffers);
    let buffer_bytes = with_cascades(&weight_buffer_bytes, &cascades, &buffers);
    let is_in_sram = in_sram(
        accelerator,
        &program,
        &feature_maps,
        &order,
        &steps,
        &buffer_bytes,
    );
    let n_steps = order.operations.len();
    let alive = feature_maps.live_bytes(n_steps, |range_idx| is_in_sram[range_idx]);
    let mut planned = vec![Planned::default(); graph.nodes.len()];
    for (idx, &operation_idx) in order.operations.iter().enumerate() {
        let operation = &program.operations[operation_idx];
        let planned = &mut planned[operation.node_idx];
        planned.weight_buffer_bytes = planned.weight_buffer_bytes.max(weight_buffer_bytes[idx]);
        planned.sram_bytes = planned.sram_bytes.max(alive[idx] + buffer_bytes[idx]);
        if let Some(step) = steps[idx].as_ref().filter(|step| !step.is_of_cpu()) {
            let memory = |map_idx: Option<usize>| {
                let is_constant = map_idx.is_some_and(|map_idx| program.maps[map_idx].is_constant);
                let is_there = map_idx.is_none_or(|map_idx| is_in_sram[map_idx]);
                match !is_constant && is_there {
                    true => accelerator.sram,
                    false => accelerator.off_chip,
                }
            };
            let second = step.second.map(|(map_idx, _)| map_idx);
            let memories = [step.maps[0], step.maps[1], second].map(memory);
            let second = second.map(|map_idx| &program.maps[map_idx]);
            let mut other_bytes = [0.0; 2];
            for &(map_idx, bytes) in step.others.iter().flatten() {
                let is_off_chip = memory(Some(map_idx)).is_off_chip;
                other_bytes[usize::from(is_off_chip)] += bytes;
            }
            of_step(
                accelerator,
                step,
                &buffers[idx],
                memories,
                second,
                other_bytes,
                planned,
            );
        }
    }
    planned
}

/// By step, SRAM for its weights and for those of the next one, as far as they are fetched meanwhile.
fn weight_buffer_bytes(steps: &[Option<Step>], buffers: &[Buffer]) -> Vec<f64> {
    let mut fetched_for_next = 0.0;
    let mut bytes = vec![0.0; steps.len()];
    for idx in (0..steps.len()).rev().filter(|&idx| steps[idx].is_some()) {
        bytes[idx] = buffers[idx].bytes_beside(fetched_for_next);
        fetched_for_next = match buffers[idx].is_prefetched {
            true => buffers[idx].parts[0],
            false => 0.0,
        };
    }
    bytes
}

/// The same with what passes between the operators of cascades; those of a cascade run at once.
fn with_cascades(bytes: &[f64], cascades: &[Cascade], buffers: &[Buffer]) -> Vec<f64> {
    let mut bytes = bytes.to_vec();
    for cascade in cascades {
        let steps = cascade.first..=cascade.last;
        // With what is fetched for the operator after it.
        let of_last = bytes[cascade.last] - buffers[cascade.last].bytes();
        let weights: f64 = buffers[steps.clone()].iter().map(Buffer::bytes).sum();
        bytes[steps].fill(cascade.rolling_bytes + weights + of_last);
    }
    bytes
}

/// By map, whether it lies in SRAM.
fn in_sram(
    accelerator: &Accelerator,
    program: &Program,
    feature_maps: &FeatureMaps,
    order: &Order,
    steps: &[Option<Step>],
    buffer_bytes: &[f64],
) -> Vec<bool> {
    let n_maps = program.maps.len();
    let Some(limit_bytes) = accelerator.sram_limit_bytes else {
        return vec![true; n_maps];
    };
    let mut accesses = vec![0.0; n_maps];
    for (&idx, step) in order.operations.iter().zip(steps) {
        let Some(step) = step else { continue };
        let is_inside = step.stripe.is_some_and(|stripe| !stripe.is_first);
        let operation = &program.operations[idx];
        let inputs = program.activations(operation);
        let mut inputs = inputs.map(|map_idx| feature_maps.range_of(map_idx));
        let (first, second) = (inputs.next(), inputs.next());
        let [read, written] = step.accesses(program);
        if let Some(first) = first {
            accesses[first] += read;
        }
        for &output in &operation.outputs {
            accesses[feature_maps.range_of(output)] += written;
        }
        if let Some(second) = second.filter(|_| operation.is_binary()) {
            accesses[second] += step.second.map_or(read, |(_, bytes)| bytes);
            if is_inside {
                // Its other input is in SRAM anyway.
                accesses[second] = MOST_ACCESSES;
            }
        }
    }
    // What is there before the CPU runs may not be there after it.
    let is_cpu = |step: &Option<Step>| step.as_ref().is_some_and(Step::is_of_cpu);
    let n_cpu_before: Vec<usize> = std::iter::once(0)
        .chain(steps.iter().scan(0, |n, step| {
            *n += usize::from(is_cpu(step));
            Some(*n)
        }))
        .collect();
    let candidate = |(id, range): (usize, &LiveRange)| {
        let (first, last) = range
            .steps
            .filter(|_| !range.is_interface && !range.is_of_cascade)?;
        let is_whole = n_cpu_before[first] == n_cpu_before[last + 1];
        is_whole.then_some(Candidate {
            id,
            first,
            last,
            bytes: range.bytes_in_memory(),
            accesses: accesses[id],
        })
    };
    let candidates = feature_maps.ranges().filter_map(candidate).collect();
    let mut kept = vec![false; n_maps];
    for id in fast_storage::kept(candidates, limit_bytes as f64, buffer_bytes) {
        kept[id] = true;
    }
    // What is passed on inside a chain comes by no memory.
    for (range_idx, range) in feature_maps.ranges() {
        kept[range_idx] |= range.steps.is_none();
    }
    let mut is_in_sram: Vec<bool> = (0..n_maps)
        .map(|map_idx| kept[feature_maps.range_of(map_idx)])
        .collect();
    same_memory(program, order, steps, &mut is_in_sram);
    is_in_sram
}

/// Moves inputs of elementwise operations, and of chains with such, off chip that have another one there, if
/// nothing but elementwise operations reads them.
fn same_memory(program: &Program, order: &Order, steps: &[Option<Step>], is_in_sram: &mut [bool]) {
    let maps = &program.maps;
    // By map, the one that it names anew.
    let mut named: Vec<usize> = (0..maps.len()).collect();
    let mut is_read_whole = vec![false; maps.len()];
    for &idx in &order.operations {
        let operation = &program.operations[idx];
        if operation.placing.is_of_input() {
            if let Some(input) = program.activations(operation).next() {
                let input = named[input];
                operation
                    .outputs
                    .iter()
                    .for_each(|&output| named[output] = input);
            }
        } else if !operation.is_binary() {
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
        let inside: Vec<usize> = (group.iter().flat_map(|operation| &operation.outputs))
            .map(|&map| named[map])
            .collect();
        let inputs: Vec<usize> = (group
            .iter()
            .flat_map(|operation| program.activations(operation)))
        .map(|input| named[input])
        .filter(|input| !inside.contains(input))
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

/// Biases and scales of so many output channels.
fn scale_bytes(accelerator: &Accelerator, depth: i64) -> f64 {
    match accelerator.is_u85() {
        true => (SCALE_BYTES * round_up(depth, SPLIT_DEPTH)) as f64,
        false => round_up(SCALE_BYTES * depth, ALIGNMENT_BYTES) as f64,
    }
}

/// Adds what follows from where an operator's feature maps lie: input, output and second input, and of what
/// is chained to it, bytes in SRAM and off chip.
fn of_step(
    accelerator: &Accelerator,
    step: &Step,
    buffer: &Buffer,
    memories: [Memory; 3],
    second: Option<&Map>,
    [sram_others, off_chip_others]: [f64; 2],
    planned: &mut Planned,
) {
    let [mut read_bytes, mut written_bytes] = step.bytes;
    let mut own = step.cycles;
    if let Some((layer, block)) = step.work.layer() {
        read_bytes *= read_inflation(&memories[0], &layer, &block);
        written_bytes *= write_inflation(accelerator, &memories[1], &layer, &block);
        let scales_from = match buffer.bytes() > 0.0 {
            true => accelerator.weights_buffered,
            false => accelerator.weights_off_chip,
        };
        let conditions = Conditions {
            feature_maps: [memories[0], memories[1]],
            scale_latency_cycles: scales_from.latency_cycles,
            part: Part::WHOLE,
        };
        own = match step.work {
            Work::Move { .. } => {
                move_cycles([memories[0], memories[1]], [read_bytes, written_bytes])
            }
            _ => operator_cycles(accelerator, &layer, &block, conditions),
        };
    }
    let mut second_bytes = step.second.map_or(0.0, |(_, bytes)| bytes);
    if let Work::Elementwise(elementwise) = &step.work {
        own = elementwise.cycles(accelerator, [memories[0], memories[1]]);
        let [ifm, _] = elementwise.shapes;
        let [ifm_bytes, _] = elementwise.element_bytes;
        read_bytes *=
            elementwise.read_inflation(&memories[0], ifm, ifm_bytes, elementwise.is_brick[0]);
        written_bytes *= elementwise.write_inflation(accelerator, &memories[1]);
        if let Some(second) = second {
            second_bytes *= elementwise.read_inflation(
                &memories[2],
                second.shape,
                second.element_bytes,
                !second.is_linear,
            );
        }
    }
    let mut between_bytes = 0.0;
    if let Work::MatMul {
        product,
        sum: (sum, block),
        n_columns,
    } = &step.work
    {
        let parts = (product, sum, block, *n_columns);
        own = mat_mul_cycles(accelerator, parts, [memories[0], memories[1]]);
        between_bytes = 2.0 * read_bytes;
        read_bytes *= read_inflation(&memories[0], sum, block);
        written_bytes *= write_inflation(accelerator, &memories[1], sum, block);
        second_bytes *= read_inflation(&memories[2], sum, block);
    }
    let moved = [read_bytes, written_bytes, second_bytes];
    let [read, written, second] = std::array::from_fn(|idx| match memories[idx].is_off_chip {
        true => moved[idx],
        false => 0.0,
    });
    let mut off_chip_bytes = read + written + second;
    let mut sram_bytes = moved.iter().sum::<f64>() - off_chip_bytes + sram_others;
    off_chip_bytes += off_chip_others;
    let (fetched, streamed) = match step.work {
        Work::Elementwise(_) => (0.0, read + second + off_chip_others),
        _ => (read, second + off_chip_others),
    };
    let mut off_chip_cycles = accelerator.off_chip_cycles(fetched, streamed, written);
    match accelerator.planned_feature_maps().is_off_chip {
        true => {
            off_chip_bytes += between_bytes;
            off_chip_cycles += accelerator.off_chip_cycles(between_bytes, 0.0, 0.0);
        }
        false => sram_bytes += between_bytes,
    }
    if let Work::Weighted {
        layer,
        block,
        weight_bytes,
        ..
    } = step.work
    {
        let is_buffered = buffer.bytes() > 0.0;
        let all_reads_bytes = weight_bytes * block.weight_reads(&layer) as f64;
        let off_chip_weight_bytes = match is_buffered {
            true => weight_bytes,
            false => all_reads_bytes,
        };
        let fetched_before = match buffer.is_prefetched {
            true => buffer.first_bytes,
            false => 0.0,
        };
        let fetched_during = off_chip_weight_bytes - fetched_before;
        if is_buffered {
            let transfer = |bytes: f64| accelerator.buffering.cycles(bytes) - buffer.slack_cycles;
            let computing = own + transfer(buffer.first_bytes).max(0.0);
            own = computing.max(transfer(weight_bytes) + buffer.last_slice_cycles);
            sram_bytes += fetched_during + all_reads_bytes;
        }
        let scale_bytes =
            scale_bytes(accelerator, layer.ofm[2]) * block.weight_reads(&layer) as f64;
        let scales = scale_bytes * accelerator.scale_cycles_per_byte;
        // What comes from a buffer was moved there with the scales, what does not comes without.
        let stream_bytes = match is_buffered {
            true => fetched_during,
            false => (fetched_during - scale_bytes).max(0.0),
        };
        let weights = stream_bytes * accelerator.weights_off_chip.cycles_per_byte;
        off_chip_cycles = match accelerator.is_u85() {
            true => off_chip_cycles.max(weights).max(scales),
            false => off_chip_cycles + weights + scales,
        };
        planned.encoded_weight_bytes += weight_bytes;
        off_chip_bytes += off_chip_weight_bytes;
    }
    let cycles = own
        .max(off_chip_cycles)
        .max(sram_bytes / accelerator.sram.bytes_per_cycle);
    planned.off_chip_bytes += off_chip_bytes * step.pieces;
    planned.sram_traffic_bytes += sram_bytes * step.pieces;
    planned.cycles += cycles * step.pieces;
}
