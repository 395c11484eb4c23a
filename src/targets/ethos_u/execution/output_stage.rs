//! Elementwise operations, which use the output stage only.

use std::rc::Rc;

use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::blocks::elementwise;
use crate::targets::ethos_u::cycles::Elementwise;
use crate::targets::ethos_u::geometry::{Hwc, IfmOfm, volume};
use crate::targets::ethos_u::layer::UNCHANGED;
use crate::targets::ethos_u::program::{Action, FeatureMap, Operation, Program};
use crate::targets::ethos_u::scheduled_operation::{Execution, Read, ScheduledOperation};

/// A scheduled elementwise operation; `None` if it has no output. `activated` is what it writes through an activation.
pub fn output_stage<'a>(
    accelerator: &Accelerator,
    program: &Program,
    operation: &Operation,
    chained: &[&Operation],
    has_table: bool,
    activated: Option<&FeatureMap>,
) -> Option<ScheduledOperation<'a>> {
    let maps = Maps::new(program, operation)?;
    // A table may have elements of another size.
    let output = FeatureMap {
        element_bytes: activated.map_or(maps.output.element_bytes, |map| map.element_bytes),
        ..*maps.output
    };
    let ends = IfmOfm {
        ofm: &output,
        ..maps.ends()
    };
    let alone = maps.cycles_per_element(accelerator, operation, has_table);
    let passes = chained_passes(accelerator, program, operation, chained, alone) as f64;
    let [block, read_block] = match operation.action {
        Action::Resize(scale) => elementwise::resize_blocks(accelerator, &maps.shapes(), scale),
        _ => [elementwise::choose(accelerator, &maps.shapes()); 2],
    };
    let elementwise = Elementwise {
        block,
        read_block,
        shapes: IfmOfm {
            ifm: maps.ifm,
            ofm: maps.written,
        },
        element_bytes: ends.map(|map| map.element_bytes()),
        is_brick: ends.map(|map| !map.is_linear),
        second: (maps.second).map(|(_, map, shape)| (shape, !map.is_linear)),
        cycles_per_element: alone + accelerator.output.pass() * passes,
    };
    let is_resize = matches!(operation.action, Action::Resize(_));
    let read_bytes =
        |map: &FeatureMap, shape: Hwc| maps.read_bytes(accelerator, map, shape, is_resize);
    let second = maps.second_read(accelerator, is_resize);
    let planned = accelerator.planned_feature_maps();
    let of_second = second.map(|read| {
        if program.maps[read.map_idx].is_constant {
            accelerator.off_chip
        } else {
            planned
        }
    });
    let cycles = elementwise.cycles(accelerator, &IfmOfm::both(planned), of_second);
    let bytes = IfmOfm {
        ifm: read_bytes(maps.input, maps.ifm),
        ofm: output.bytes_in_shape(maps.written),
    };
    Some(ScheduledOperation {
        second: second.map(Box::new),
        ..ScheduledOperation::new(Execution::Elementwise(Rc::new(elementwise)), cycles, bytes)
    })
}

impl Maps<'_> {
    /// What is read of the second input of a binary operation.
    fn second_read(&self, accelerator: &Accelerator, is_resize: bool) -> Option<Read> {
        let is_beside_scalar = volume(self.ifm) == 1;
        self.second.map(|(map_idx, map, shape)| Read {
            map_idx,
            shape,
            bytes: match (is_beside_scalar, accelerator.is_u85()) {
                // A command of Ethos-U85 holds one scalar: the other one is read.
                (true, true) => self.bytes_like_input(map, shape),
                // Ethos-U55 and U65 do not count the second input beside a scalar of more than 8 bits, and beside one of
                // 8 bits they count it for each element, even if it is a scalar as well.
                (true, false) if self.input.element_bytes > 1 => 0.0,
                (true, false) => self.bytes_like_input(map, self.ofm),
                (false, _) => self.read_bytes(accelerator, map, shape, is_resize),
            },
        })
    }
}

/// The feature maps of an elementwise operation, with their shapes as the operation sees them.
struct Maps<'p> {
    /// The output, for an operation without inputs.
    input: &'p FeatureMap,
    output: &'p FeatureMap,
    ifm: Hwc,
    ofm: Hwc,
    /// Shape of the OFM after a transposition, which the block does not depend on.
    written: Hwc,
    /// Dimension `order[k]` of the OFM before the transposition is dimension `k` after it.
    order: [usize; 3],
    /// Index, feature map and shape of the second input of a binary operation.
    second: Option<(usize, &'p FeatureMap, Hwc)>,
}

impl<'p> Maps<'p> {
    /// `None` if the operation has no output.
    fn new(program: &'p Program, operation: &Operation) -> Option<Self> {
        let output = &program.maps[*operation.outputs.first()?];
        let input = operation.inputs.first().map(|&idx| &program.maps[idx]);
        let input = input.unwrap_or(output);
        let second = (operation.inputs.get(1).copied()).filter(|_| operation.is_binary());
        let [ifm, ofm] = operation
            .view_shapes()
            .unwrap_or([input.shape(), output.shape()]);
        Some(Self {
            input,
            output,
            ifm,
            ofm,
            order: (operation.transposition()).map_or(UNCHANGED, |transposition| {
                transposition.order.map(usize::from)
            }),
            written: (operation.transposition())
                .map_or(ofm, |transposition| transposition.written()),
            second: second.map(|map_idx| {
                let shape = program.shape_beside_output(operation, map_idx);
                (map_idx, &program.maps[map_idx], shape)
            }),
        })
    }

    fn ends(&self) -> IfmOfm<&'p FeatureMap> {
        IfmOfm {
            ifm: self.input,
            ofm: self.output,
        }
    }

    fn shapes(&self) -> elementwise::Shapes {
        elementwise::Shapes {
            ofm: self.ofm,
            ifm: self.ifm,
            second: self.second.map(|(.., shape)| shape),
            element_bytes: self.input.element_bytes().max(1),
            order: self.order,
            is_brick: !self.output.is_linear,
        }
    }

    /// Cycles per element of the operation itself, without those of chained operations.
    fn cycles_per_element(
        &self,
        accelerator: &Accelerator,
        operation: &Operation,
        has_table: bool,
    ) -> f64 {
        let arithmetic = match operation.action {
            Action::Resize(_) => {
                let Self { ifm, ofm, .. } = self;
                let ratio = |axis: usize| (ofm[axis] + ifm[axis] / 2) / ifm[axis].max(1);
                let ratio = ratio(0).min(ratio(1));
                return accelerator
                    .output
                    .for_resize(self.input.element_bytes(), ratio);
            }
            Action::Binary(arithmetic) => Some(arithmetic),
            _ => None,
        };
        let element_bytes = [self.input.element_bytes(), self.output.element_bytes()];
        accelerator
            .output
            .for_elementwise(arithmetic, element_bytes, has_table)
    }

    /// Bytes read of an input, whose channels are padded as in the layout of the first one. Ethos-U55 and U65 fetch a
    /// broadcast input for each element. Only an 8-bit scalar is part of the command.
    fn read_bytes(
        &self,
        accelerator: &Accelerator,
        map: &FeatureMap,
        shape: Hwc,
        is_resize: bool,
    ) -> f64 {
        let is_u85 = accelerator.is_u85();
        if volume(shape) == 1 {
            if map.element_bytes == 1 || is_u85 {
                0.0
            } else {
                self.bytes_like_input(map, shape)
            }
        } else if is_u85 {
            self.bytes_like_input(map, shape)
        } else if is_resize {
            map.bytes_in_shape(shape)
        } else {
            self.bytes_like_input(map, self.ofm)
        }
    }

    /// Bytes of an input of this shape with the padding of the layout of the first one.
    fn bytes_like_input(&self, map: &FeatureMap, shape: Hwc) -> f64 {
        let viewed = FeatureMap {
            is_linear: self.input.is_linear,
            ..*map
        };
        viewed.bytes_in_shape(shape)
    }
}

/// Passes over 8-bit elements that the output stage adds for chained operations, besides the `alone` cycles of the
/// operation without them: what all of them take, one after the other.
pub fn chained_passes(
    accelerator: &Accelerator,
    program: &Program,
    operation: &Operation,
    chained: &[&Operation],
    alone: f64,
) -> i64 {
    let Some((last, inner)) = chained.split_last() else {
        return 0;
    };
    let output = &accelerator.output;
    let cycles = |operation: &Operation, is_passed_on: bool| {
        let bytes = [&operation.inputs, &operation.outputs].map(|maps| {
            maps.first()
                .map_or(1, |&map_idx| program.maps[map_idx].element_bytes())
        });
        let arithmetic = match operation.action {
            Action::Binary(arithmetic) => Some(arithmetic),
            _ => None,
        };
        output.in_chain(arithmetic, bytes, is_passed_on)
    };
    let passed_on = std::iter::once(operation).chain(inner.iter().copied());
    let together = passed_on.map(|one| cycles(one, true)).sum::<f64>() + cycles(last, false);
    ((together - alone) / output.pass()) as i64
}
