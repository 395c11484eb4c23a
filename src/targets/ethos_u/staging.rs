//! Staged inputs: copies in SRAM of inputs of the graph and of results of the CPU, made before a convolution reads
//! them. Reproduces `TryExplicitBuffering` of Vela's `scheduler.cpp`, as described under "Staged inputs" in
//! `docs/method/ethos-u.md`.

use std::collections::BTreeMap;

use super::accelerator::Accelerator;
use super::blocks::{self};
use super::cycles::{CycleContext, Part, operator_cycles};
use super::execution::schedule;
use super::flow::Flow;
use super::geometry::{BRICK_CHANNELS, IfmOfm, ceil_div};
use super::layer::{Kind, Layer};
use super::order::Order;
use super::program::{Action, FeatureMap, Operation, Program};
use super::scheduled_operation::{Execution, ScheduledOperation};
use super::weight_buffers::Unbuffered;

/// The copies of inputs of the graph, and of what the CPU alone writes, that convolutions read and nothing else, where
/// copying and reading takes less time than reading off chip: the node of the convolution, by the index of the operation
/// that reads the input, which is the convolution or the first view before it. Linear in operations.
pub fn staged_inputs(
    accelerator: &Accelerator,
    program: &Program,
    order: &Order,
    flow: &Flow,
) -> BTreeMap<usize, usize> {
    let mut staged = BTreeMap::new();
    if !accelerator.has_dedicated_sram {
        return staged;
    }
    let mut room_bytes = accelerator.staged_input_bytes as f64;
    let n_readers = program.n_readers();
    let writers = program.writers();
    // By map, the map that it shows and the operation that shows it.
    let mut shown: Vec<Option<(usize, usize)>> = vec![None; program.maps.len()];
    for (step_idx, &idx) in order.operations.iter().enumerate() {
        let operation = &program.operations[idx];
        if let (true, [input, ..], [output]) = (
            operation.alias.is_view_of_input(),
            &operation.inputs[..],
            &operation.outputs[..],
        ) {
            let is_alone = n_readers[*output] == 1;
            let whole = shown[*input].unwrap_or((*input, idx));
            shown[*output] = Some(whole).filter(|_| is_alone);
        }
        let is_convolution = matches!(
            operation.action,
            Action::Layer(Kind::Convolution | Kind::Depthwise)
        );
        let Some(&input) = operation.inputs.first().filter(|_| is_convolution) else {
            continue;
        };
        let (input, reader) = shown[input].unwrap_or((input, idx));
        let map = &program.maps[input];
        let is_of_cpu = || {
            let writer = writers[input].map(|writer| program.operations[writer].action);
            writer == Some(Action::Cpu)
        };
        let is_own = (map.is_input && !map.is_variable || is_of_cpu()) && n_readers[input] == 1;
        let bytes = map.n_elements() as f64 * map.element_bytes() as f64;
        if !is_own || bytes > room_bytes {
            continue;
        }
        let scheduled = schedule(accelerator, program, order, flow, step_idx);
        if scheduled.is_some_and(|scheduled| pays_off(accelerator, &scheduled)) {
            room_bytes -= bytes;
            staged.insert(reader, operation.node_idx);
        }
    }
    staged
}

/// Makes the operations read a copy of their first input for the nodes that `staged` has. Linear in operations.
pub fn stage_inputs(program: &mut Program, staged: &BTreeMap<usize, usize>) {
    let n_operations = program.operations.len() + staged.len();
    let operations = std::mem::replace(&mut program.operations, Vec::with_capacity(n_operations));
    program.maps.reserve_exact(staged.len());
    // The last operation's copy has the first index.
    let mut copy = program.maps.len() + staged.len();
    for &reader in staged.keys().rev() {
        let input = program.maps[operations[reader].inputs[0]];
        program.maps.push(staged_map(input));
    }
    for (idx, mut operation) in operations.into_iter().enumerate() {
        if let Some(&node_idx) = staged.get(&idx) {
            copy -= 1;
            let input = std::mem::replace(&mut operation.inputs[0], copy);
            let copying = Operation::new(node_idx, Action::Copy, input, copy);
            program.operations.push(copying);
        }
        program.operations.push(operation);
    }
}

/// The copy in SRAM of an input of the graph.
fn staged_map(input: FeatureMap) -> FeatureMap {
    FeatureMap {
        bytes: ((input.n_elements() * input.element_bytes()) as f64).into(),
        is_input: false,
        is_output: false,
        is_off_chip: false,
        is_linear: true,
        is_staged: true,
        ..input
    }
}

/// Whether copying the input and reading the copy takes less time than reading the input off chip.
fn pays_off(accelerator: &Accelerator, step: &ScheduledOperation) -> bool {
    let Execution::Weighted {
        divided,
        weight_bytes,
        ..
    } = &step.execution
    else {
        return false;
    };
    let ((layer, block), weight_bytes) = (**divided, *weight_bytes);
    let unbuffered = Unbuffered::new(accelerator, step);
    let read_bytes = step.bytes.ifm;
    let element_bytes = layer.element_bytes.ifm;
    let ifm_bytes = layer.ifm.iter().product::<i64>() * element_bytes;
    if unbuffered.is_computing_longest() || read_bytes <= ifm_bytes as f64 {
        return false;
    }
    let brick_bytes = weight_bytes / ceil_div(layer.ofm[2], BRICK_CHANNELS).max(1) as f64;
    let transfer = if unbuffered.weights > unbuffered.input {
        accelerator.buffering.cycles(brick_bytes)
    } else {
        0.0
    };
    let staged = &accelerator.weights_buffered;
    let weight_reads = staged.cycles(weight_bytes * block.weight_reads(&layer) as f64);
    if weight_reads > transfer + unbuffered.input {
        return false;
    }
    let element_bytes = IfmOfm::both(layer.element_bytes.ifm);
    let copy = Layer::single_positions(Kind::Copy, layer.ifm, layer.ifm, element_bytes);
    let conditions = CycleContext {
        feature_maps: IfmOfm {
            ifm: accelerator.off_chip,
            ofm: accelerator.sram,
        },
        scale_latency_cycles: 0.0,
        part: Part::WHOLE,
    };
    blocks::choose(accelerator, &copy).is_some_and(|block| {
        let copied = operator_cycles(accelerator, &copy, &block, conditions);
        copied + staged.cycles(read_bytes) < unbuffered.input
    })
}
