//! Elementwise operations, which use the output stage only.

use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::blocks::elementwise;
use crate::targets::ethos_u::cycles::Elementwise;
use crate::targets::ethos_u::geometry::{Hwc, IfmOfm};
use crate::targets::ethos_u::program::{Action, FeatureMap, INT32_BYTES, Operation, Program};
use crate::targets::ethos_u::scheduled_operation::{Execution, Read, ScheduledOperation};

/// A scheduled elementwise operation; `None` if it has no output.
pub fn output_stage<'a>(
    accelerator: &Accelerator,
    program: &Program,
    operation: &Operation,
    chained: &[&Operation],
    has_table: bool,
) -> Option<ScheduledOperation<'a>> {
    let output = &program.maps[*operation.outputs.first()?];
    let input = operation.inputs.first().map(|&idx| &program.maps[idx]);
    let input = input.unwrap_or(output);
    let second = (operation.inputs.get(1).copied()).filter(|_| operation.is_binary());
    let second = second.map(|map_idx| {
        let shape = program.seen_beside_output(operation, map_idx);
        (map_idx, &program.maps[map_idx], shape)
    });
    let [ifm, ofm] = operation.seen.unwrap_or([input.shape, output.shape]);
    let is_resize = operation.action == Action::Resize;
    let shapes = elementwise::Shapes {
        ofm,
        ifm,
        second: second.map(|(.., shape)| shape),
        element_bytes: input.element_bytes.max(1),
    };
    let arithmetic = match operation.action {
        Action::Binary(arithmetic) => Some(arithmetic),
        _ => None,
    };
    let ends = IfmOfm {
        ifm: input,
        ofm: output,
    };
    let element_bytes = ends.map(|map| map.element_bytes);
    let cycles_per_element = match is_resize {
        true => {
            let ratio = |axis: usize| (ofm[axis] + ifm[axis] / 2) / ifm[axis].max(1);
            let ratio = ratio(0).min(ratio(1));
            accelerator.output.of_resize(input.element_bytes, ratio)
        }
        false => accelerator.output.of_elementwise(
            arithmetic,
            [element_bytes.ifm, element_bytes.ofm],
            has_table,
        ),
    };
    let passes = chained_passes(program, operation, chained) as f64;
    let cycles_per_element = cycles_per_element + accelerator.output.pass() * passes;
    let own = Elementwise {
        block: elementwise::choose(accelerator, &shapes),
        shapes: IfmOfm { ifm, ofm },
        element_bytes,
        is_brick: ends.map(|map| !map.is_linear),
        second: second.map(|(_, map, shape)| (shape, !map.is_linear)),
        cycles_per_element,
    };
    let like_input = |map: &FeatureMap, shape: Hwc| {
        let seen = FeatureMap {
            is_linear: input.is_linear,
            ..*map
        };
        seen.seen_bytes(shape)
    };
    // Ethos-U55 and U65 fetch a broadcast input for each element. Only an 8-bit scalar is part of the command.
    let read = |map: &FeatureMap, shape: Hwc| match map.n_elements() == 1 {
        true if map.element_bytes == 1 || accelerator.is_u85() => 0.0,
        true => like_input(map, shape),
        false if accelerator.is_u85() || is_resize => map.seen_bytes(shape),
        false => like_input(map, ofm),
    };
    let is_number = input.n_elements() == 1 && input.element_bytes > 1;
    let second = second.map(|(map_idx, map, shape)| Read {
        map_idx,
        shape,
        bytes: if is_number { 0.0 } else { read(map, shape) },
    });
    let planned = accelerator.planned_feature_maps();
    let of_second = second.map(|read| match program.maps[read.map_idx].is_constant {
        true => accelerator.off_chip,
        false => planned,
    });
    let cycles = own.cycles(accelerator, &IfmOfm::both(planned), of_second);
    let bytes = IfmOfm {
        ifm: read(input, ifm),
        ofm: output.seen_bytes(ofm),
    };
    Some(ScheduledOperation {
        second,
        ..ScheduledOperation::new(Execution::Elementwise(Box::new(own)), cycles, bytes)
    })
}

/// Passes over 8-bit elements that the output stage adds for chained operations: two for 32 bits.
pub fn chained_passes(program: &Program, operation: &Operation, chained: &[&Operation]) -> i64 {
    let is_wide = |map: Option<&usize>| {
        map.is_some_and(|&map_idx| program.maps[map_idx].element_bytes >= INT32_BYTES)
    };
    let passes = |operation: &&Operation| {
        let wide = is_wide(operation.outputs.first()) || is_wide(operation.inputs.first());
        1 + i64::from(wide)
    };
    let [reads_wide, writes_wide] =
        [&operation.inputs, &operation.outputs].map(|maps| is_wide(maps.first()));
    // With two 32-bit inputs it is part of the operation's own pass.
    let passes_wide = (reads_wide || writes_wide) && !(operation.is_binary() && reads_wide);
    let own = i64::from(!chained.is_empty() && passes_wide);
    own + chained.iter().map(passes).sum::<i64>()
}
