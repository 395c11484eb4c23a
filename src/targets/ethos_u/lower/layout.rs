//! The shapes in which elementwise operations see feature maps, and the layout of feature maps in memory.
//! Reproduces `UpdateSchedulerTensor` and `ReshapeElementwise` of Vela, as described under "Layout of feature
//! maps" in `docs/method/ethos-u.md`.

use crate::targets::ethos_u::geometry::{BRICK_CHANNELS, Hwc, volume};
use crate::targets::ethos_u::layer::Kind;
use crate::targets::ethos_u::program::{
    Action, Alias, FeatureMap, INT32_BYTES, Operation, Program,
};

/// Elementwise operations see feature maps with fewer channels in a deeper shape, if the feature maps have more
/// elements.
const MIN_DEPTH: i64 = 8;
const MIN_ELEMENTS: i64 = 16;
/// Largest prime factor that is searched for, because shapes in a file may have huge prime factors.
const MAX_FACTOR: i64 = 1 << 10;

/// Lets elementwise operations see shallow feature maps in deeper shapes, and marks feature maps that must be NHWC.
/// `transposes_bricks` tells whether NHCWB16 can be transposed. Linear in operations, maps and inputs.
pub fn lay_out(program: &mut Program, transposes_bricks: bool) {
    let mut tensors = SharedMaps::new(program, transposes_bricks);
    deepen_elementwise(program, &tensors);
    tensors.mark_linear(program);
    for (map_idx, map) in program.maps.iter_mut().enumerate() {
        map.is_linear = tensors.is_linear[tensors.of_map[map_idx]];
    }
}

/// By map, whether it is only a part of another one. Linear in operations, maps and inputs.
pub fn parts(program: &Program) -> Vec<bool> {
    SharedMaps::new(program, false).is_part
}

/// Groups of feature maps that share memory as views or parts; one map represents each group.
struct SharedMaps {
    of_map: Vec<usize>,
    /// By map, whether it is only a part of the map that represents it.
    is_part: Vec<bool>,
    /// By map, its shape without padding.
    shape: Vec<Hwc>,
    /// By representing map, the width and depth in which operations have seen it so far.
    width_and_depth: Vec<Option<[i64; 2]>>,
    is_linear: Vec<bool>,
    transposes_bricks: bool,
}

impl SharedMaps {
    fn new(program: &Program, transposes_bricks: bool) -> Self {
        let n_maps = program.maps.len();
        let n_readers = program.n_readers();
        let mut tensors = Self {
            of_map: (0..n_maps).collect(),
            is_part: vec![false; n_maps],
            shape: program.maps.iter().map(|map| map.shape()).collect(),
            width_and_depth: vec![None; n_maps],
            is_linear: vec![false; n_maps],
            transposes_bricks,
        };
        // Backwards, because the output of a concatenation represents its parts, which may be concatenations
        // themselves.
        for operation in program.operations.iter().rev() {
            let Some(&output) = operation.outputs.first() else {
                continue;
            };
            if operation.alias == Alias::Concat {
                for input in program.activations(operation) {
                    if n_readers[input] == 1 && program.maps[input].is_internal() {
                        tensors.of_map[input] = tensors.of_map[output];
                        tensors.is_part[input] = true;
                    }
                }
            }
        }
        for operation in &program.operations {
            let is_slice = operation.action == Action::Slice;
            let input = program.activations(operation).next();
            if let Some(input) = input.filter(|_| operation.alias.is_view_of_input()) {
                for &output in &operation.outputs {
                    if operation.action == Action::Pad {
                        tensors.shape[output] = tensors.shape[input];
                    }
                    // What an activation writes into a part, the operation before it does.
                    let is_activation =
                        operation.alias == Alias::Fused && operation.action != Action::Pad;
                    if is_activation && tensors.is_part[output] && n_readers[input] == 1 {
                        tensors.of_map[input] = tensors.of_map[output];
                        tensors.is_part[input] = true;
                    }
                    let is_free = tensors.of_map[output] == output;
                    if is_free {
                        tensors.of_map[output] = tensors.of_map[input];
                        tensors.is_part[output] = is_slice || tensors.is_part[input];
                    }
                }
            }
        }
        tensors
    }

    fn mark_linear(&mut self, program: &Program) {
        for (map_idx, map) in program.maps.iter().enumerate() {
            let is_seen_outside = map.is_input || map.is_output || map.is_variable;
            self.is_linear[self.of_map[map_idx]] |=
                map.is_linear || map.is_constant || is_seen_outside;
        }
        for operation in &program.operations {
            self.mark_operation(program, operation);
        }
    }

    /// Records the shape in which an operation sees a map. NHCWB16 requires that all operations see the same width and
    /// depth.
    fn note_shape(&mut self, map_idx: usize, shape: Hwc) {
        let tensor = self.of_map[map_idx];
        let [_, width, depth] = shape;
        let agreed = self.width_and_depth[tensor].get_or_insert([width, depth]);
        self.is_linear[tensor] |= *agreed != [width, depth];
    }

    fn mark_operation(&mut self, program: &Program, operation: &Operation) {
        let maps = &program.maps;
        let (first, output) = (operation.inputs.first(), operation.outputs.first());
        match operation.action {
            // Neither the CPU nor operations that move memory support NHCWB16.
            Action::Transpose(_) if self.transposes_bricks => {}
            Action::Cpu | Action::Gather | Action::Transpose(_) | Action::MatMul { .. } => {
                for &map_idx in operation.inputs.iter().chain(&operation.outputs) {
                    self.is_linear[self.of_map[map_idx]] = true;
                }
                return;
            }
            Action::Concat { is_in_brick } => {
                if let Some(&output) = output {
                    self.is_linear[self.of_map[output]] |= is_in_brick;
                }
                return;
            }
            _ => {}
        }
        if operation.alias == Alias::View {
            // A slice is read in its own shape.
            if operation.action == Action::Slice {
                for &map_idx in first.into_iter().chain(&operation.outputs) {
                    self.note_shape(map_idx, self.shape[map_idx]);
                }
            }
            return;
        }
        if operation.alias == Alias::Fused {
            return;
        }
        let [ifm, ofm] = operation
            .view_shapes()
            .map_or([None; 2], |shapes| shapes.map(Some));
        if let Some(&first) = first {
            self.note_shape(first, ifm.unwrap_or(self.shape[first]));
        }
        if let Some(&second) = operation.inputs.get(1) {
            let shape = maps[second].shape();
            let is_like_output = output.is_some_and(|&output| maps[output].shape() == shape);
            self.note_shape(second, ofm.filter(|_| is_like_output).unwrap_or(shape));
        }
        if let Some(&output) = output {
            self.note_output_shape(output, ofm, operation.transposition().is_some());
        }
        let is_wide_sum = operation.action == Action::Layer(Kind::ReduceSum)
            && first.is_some_and(|&first| maps[first].element_bytes() == INT32_BYTES);
        if let Some(&first) = first.filter(|_| is_wide_sum) {
            self.is_linear[self.of_map[first]] = true;
        }
    }

    /// Notes the shape in which an operation writes its output.
    fn note_output_shape(&mut self, output: usize, ofm: Option<Hwc>, is_exchanged: bool) {
        // A feature map that is written in pieces, or as a part of a concatenation, counts as a whole.
        let whole = self.shape[if self.is_part[output] {
            self.of_map[output]
        } else {
            output
        }];
        let is_whole = |view_shape: &Hwc| volume(*view_shape) == volume(whole);
        let ofm = ofm.filter(|view_shape| is_whole(view_shape) && !is_exchanged);
        self.note_shape(output, ofm.unwrap_or(whole));
    }
}

/// Whether an elementwise operation sees such an output in a deeper shape.
pub fn is_deepened(output: &FeatureMap) -> bool {
    output.n_elements() > MIN_ELEMENTS && output.shape()[2] < MIN_DEPTH
}

/// The shape in which an activation sees its output, if that is no part of another map.
pub fn shape_of_activation(output: &FeatureMap) -> Hwc {
    if is_deepened(output) {
        shape_with_depth(output.n_elements(), BRICK_CHANNELS)
    } else {
        output.shape()
    }
}

fn deepen_elementwise(program: &mut Program, tensors: &SharedMaps) {
    let maps = &program.maps;
    for operation in &mut program.operations {
        let is_own = operation.is_elementwise() && operation.alias != Alias::Fused;
        let Some(&output) = operation.outputs.first().filter(|_| is_own) else {
            continue;
        };
        let [ifm, ofm] = operation.view_shapes().unwrap_or_else(|| {
            let first = operation.inputs.first().unwrap_or(&output);
            [maps[*first].shape(), maps[output].shape()]
        });
        let is_number = |map_idx: usize| maps[map_idx].n_elements() == 1;
        let second = operation
            .inputs
            .get(1)
            .copied()
            .filter(|&second| !is_number(second));
        let is_broadcast = volume(ifm) != 1
            && (ifm != ofm
                || second.is_some_and(|second| maps[second].shape != maps[output].shape));
        let has_part = (operation.inputs.iter().chain([&output])).any(|&idx| tensors.is_part[idx]);
        // One of the equal pieces of a larger output, or a copy of a part of its input.
        let is_piece = (operation.repeats > 1.0 || operation.action == Action::Copy)
            && (operation.inputs.first())
                .is_some_and(|&input| maps[input].n_elements() != maps[output].n_elements());
        if is_broadcast
            || has_part
            || is_piece
            || volume(ofm) <= MIN_ELEMENTS
            || ofm[2] >= MIN_DEPTH
        {
            continue;
        }
        let deeper = |shape: Hwc| match volume(shape) {
            1 => shape,
            n_elements => shape_with_depth(n_elements, BRICK_CHANNELS),
        };
        operation.view_shapes = Some(Box::new([deeper(ifm), deeper(ofm)]));
    }
}

/// A shape with this many elements and at least this depth. Prime factors are assigned to the depth first, then to the
/// smaller side.
fn shape_with_depth(n_elements: i64, min_depth: i64) -> Hwc {
    let [mut height, mut width, mut depth] = [1; 3];
    let mut place = |factor: i64| {
        if depth < min_depth {
            depth *= factor;
        } else if width < height {
            width *= factor;
        } else {
            height *= factor;
        }
    };
    let mut left = n_elements;
    let mut factor = 2;
    while factor * factor <= left && factor <= MAX_FACTOR {
        while left % factor == 0 {
            place(factor);
            left /= factor;
        }
        factor += if factor == 2 { 1 } else { 2 };
    }
    if left > 1 {
        place(left);
    }
    [height.max(width), height.min(width), depth]
}
