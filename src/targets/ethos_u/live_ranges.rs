//! Live ranges of feature maps: the memory that they share, its size, and the steps in which they are alive. Reproduces
//! `LiveRangeGraph` of Vela's `live_range.cpp`, as described under "Live ranges" in `docs/method/ethos-u.md`.

use super::index::{Steps, compact, compact_up_to};
use super::order::Order;
use super::program::{Action, Alias, FeatureMap, Operation, Program};

/// Feature maps are allocated in multiples of this (`AllocationQuantum` of Vela's architectures).
const ALIGNMENT_BYTES: f64 = 16.0;

/// Bytes that a feature map takes in memory.
pub fn aligned(bytes: f64) -> f64 {
    (bytes / ALIGNMENT_BYTES).ceil() * ALIGNMENT_BYTES
}

/// By map, the first and last step that needs it. Callers write inputs before the first step and read outputs
/// after the last one.
fn steps_of_maps(program: &Program, order: &Order) -> Vec<Steps> {
    let mut needed = vec![Steps::NONE; program.maps.len()];
    let mut mark = |map_idx: usize, step: usize| {
        let (first, last) = needed[map_idx].get().unwrap_or((step, step));
        needed[map_idx] = Some((first.min(step), last.max(step))).into();
    };
    for (step, &idx) in order.operations.iter().enumerate() {
        let operation = &program.operations[idx];
        let (first, last) = order.span(step);
        for &map_idx in operation.inputs.iter().chain(&operation.outputs) {
            mark(map_idx, first);
            mark(map_idx, last);
        }
    }
    mark_time_steps(program, order, &mut mark);
    if let Some(last_step) = order.operations.len().checked_sub(1) {
        for (map_idx, map) in program.maps.iter().enumerate() {
            if map.is_input || map.is_variable {
                mark(map_idx, 0);
            }
            if map.is_output || map.is_variable {
                mark(map_idx, last_step);
            }
        }
    }
    for (step, &idx) in order.operations.iter().enumerate() {
        if order.is_read_by_next_only(step) {
            let outputs = program.operations[idx].outputs.iter();
            outputs.for_each(|&map_idx| needed[map_idx] = Steps::NONE);
        }
    }
    needed
}

/// Calls `mark` for each map that many time steps read and the last operation of a time step: only the last time step of
/// all can do without the map before it ends.
fn mark_time_steps(program: &Program, order: &Order, mark: &mut impl FnMut(usize, usize)) {
    let mut last = None;
    for (step, &idx) in order.operations.iter().enumerate().rev() {
        let operation = &program.operations[idx];
        let is_own = |&map_idx: &usize| program.maps[map_idx].is_of_time_step;
        if operation.repeats == 1.0 || !operation.outputs.iter().any(is_own) {
            continue;
        }
        let (_, last_step) = *last.insert(
            last.filter(|&(node_idx, _)| node_idx == operation.node_idx)
                .unwrap_or((operation.node_idx, step)),
        );
        for &input in operation.inputs.iter().filter(|input| !is_own(input)) {
            mark(input, last_step);
        }
    }
}

/// Memory of one feature map, or of several that share it.
#[derive(Clone, Copy, Debug)]
pub struct LiveRange {
    /// Bytes in NHWC.
    bytes: f64,
    /// Bytes in the layout of the feature map.
    bytes_padded: f64,
    /// Whether a caller sees it, so that its layout is NHWC.
    pub is_interface: bool,
    /// Whether a cascade writes it. Such a feature map stays off chip.
    pub is_of_cascade: bool,
    /// The steps of the order of execution from the first to the last one that needs it.
    pub steps: Steps,
}

impl LiveRange {
    pub fn bytes_in_memory(&self) -> f64 {
        let bytes = if self.is_interface {
            self.bytes
        } else {
            self.bytes_padded
        };
        aligned(bytes)
    }

    fn with(self, other: Self) -> Self {
        let both = |(first, last): (usize, usize), (other_first, other_last)| {
            (first.min(other_first), last.max(other_last))
        };
        Self {
            bytes: self.bytes.max(other.bytes),
            bytes_padded: self.bytes_padded.max(other.bytes_padded),
            is_interface: self.is_interface || other.is_interface,
            is_of_cascade: self.is_of_cascade || other.is_of_cascade,
            steps: match (self.steps.get(), other.steps.get()) {
                (Some(one), Some(other)) => Some(both(one, other)).into(),
                (own, other) => own.or(other).into(),
            },
        }
    }
}

/// Writers and readers of memory, by the map that represents it.
struct Uses {
    of_map: Vec<u32>,
    n_writers: Vec<u32>,
    n_readers: Vec<u32>,
}

impl Uses {
    /// `live_ranges` must already have merged views and concatenations.
    fn new(program: &Program, live_ranges: &mut LiveRanges) -> Self {
        let n_maps = program.maps.len();
        let mut uses = Self {
            of_map: (0..n_maps)
                .map(|idx| compact(live_ranges.root(idx)))
                .collect(),
            n_writers: vec![0; n_maps],
            n_readers: vec![0; n_maps],
        };
        let names = |operation: &&Operation| {
            operation.alias.is_view_of_input() || operation.alias == Alias::Concat
        };
        for operation in program.operations.iter().filter(|one| !names(one)) {
            for &input in &operation.inputs {
                uses.n_readers[uses.of_map[input] as usize] += 1;
            }
            for &output in &operation.outputs {
                uses.n_writers[uses.of_map[output] as usize] += 1;
            }
        }
        // Callers read the outputs at the end.
        for &output in &program.outputs {
            uses.n_readers[uses.of_map[output] as usize] += 1;
        }
        uses
    }

    fn is_written_once(&self, map_idx: usize) -> bool {
        self.n_writers[self.of_map[map_idx] as usize] <= 1
    }

    fn is_read_once(&self, map_idx: usize) -> bool {
        self.n_readers[self.of_map[map_idx] as usize] == 1
    }
}

/// By map, the map whose shape its memory has: the last view of it.
fn stored_as(program: &Program) -> Vec<u32> {
    let mut stored = compact_up_to(program.maps.len());
    for operation in program.operations.iter().rev() {
        let is_view = operation.action == Action::View && operation.alias == Alias::View;
        if let ([input, ..], [output, ..], true) =
            (&operation.inputs[..], &operation.outputs[..], is_view)
        {
            stored[*input] = stored[*output];
        }
    }
    stored
}

/// The live ranges of a program: feature maps that share memory are one range.
#[derive(Clone, Debug, Default)]
pub struct LiveRanges {
    /// By map, the parent in a union-find forest: the root stands for all maps that share its memory.
    parent: Vec<u32>,
    /// By map. Only the ranges of roots are up to date.
    ranges: Vec<LiveRange>,
    /// Whether feature maps are off chip at first. Those that callers see, and those that a cascade writes, then stay
    /// there.
    has_dedicated_sram: bool,
}

impl LiveRanges {
    /// The live ranges of a program that runs in this `order`. Without a memory plan none is alive. Linear in
    /// operations, maps and inputs.
    pub fn new(program: &Program, order: &Order, has_dedicated_sram: bool) -> Self {
        Self::with_merged_ranges(program, order, has_dedicated_sram, None)
    }

    /// The live ranges once it is known which feature maps are in SRAM, by map: an output is only written over an input
    /// that is there as well. Linear like [`Self::new`].
    pub fn from_placement(program: &Program, order: &Order, is_in_sram: &[bool]) -> Self {
        Self::with_merged_ranges(program, order, true, Some(is_in_sram))
    }

    fn with_merged_ranges(
        program: &Program,
        order: &Order,
        has_dedicated_sram: bool,
        is_in_sram: Option<&[bool]>,
    ) -> Self {
        let mut live_ranges = Self::one_per_map(program, order, has_dedicated_sram);
        for operation in &program.operations {
            live_ranges.merge_views(program, operation);
        }
        let uses = Uses::new(program, &mut live_ranges);
        let stored = stored_as(program);
        for step in 0..order.operations.len() {
            // The feature maps inside of a cascade are never in memory as a whole.
            if order.cascade[step].is_none() && !order.is_read_by_next_only(step) {
                live_ranges.overwrite_inputs(program, order, step, (&uses, &stored), is_in_sram);
            }
        }
        for map_idx in 0..live_ranges.parent.len() {
            live_ranges.parent[map_idx] = compact(live_ranges.root(map_idx));
        }
        live_ranges
    }

    /// One range for each map, before any are merged.
    fn one_per_map(program: &Program, order: &Order, has_dedicated_sram: bool) -> Self {
        let needed = steps_of_maps(program, order);
        let range = |(map, steps): (&FeatureMap, Steps)| LiveRange {
            bytes: map.bytes.get().unwrap_or(0.0),
            bytes_padded: map.bytes.get().unwrap_or(0.0) * map.padding(),
            is_interface: map.is_visible_to_cpu(),
            is_of_cascade: false,
            steps: map.bytes.get().map_or(Steps::NONE, |_| steps),
        };
        let mut ranges: Vec<LiveRange> = program.maps.iter().zip(needed).map(range).collect();
        for (step, &idx) in order.operations.iter().enumerate() {
            if has_dedicated_sram
                && !order.cascade[step].is_none()
                && !order.is_read_by_next_only(step)
            {
                let outputs = program.operations[idx].outputs.iter();
                outputs.for_each(|&map_idx| ranges[map_idx].is_of_cascade = true);
            }
        }
        for operation in &program.operations {
            // The padding is not in memory: readers beyond the edge add it.
            if operation.action == Action::Pad && operation.alias == Alias::Fused {
                for &output in &operation.outputs {
                    ranges[output].bytes = 0.0;
                    ranges[output].bytes_padded = 0.0;
                }
            }
        }
        Self {
            parent: compact_up_to(ranges.len()),
            ranges,
            has_dedicated_sram,
        }
    }

    fn parent(&self, map_idx: usize) -> usize {
        self.parent[map_idx] as usize
    }

    fn root(&mut self, mut map_idx: usize) -> usize {
        while self.parent(map_idx) != map_idx {
            let parent = self.parent(map_idx);
            self.parent[map_idx] = self.parent[parent];
            map_idx = self.parent(map_idx);
        }
        map_idx
    }

    fn range_of_map(&mut self, map_idx: usize) -> LiveRange {
        let root = self.root(map_idx);
        self.ranges[root]
    }

    fn merge_ranges(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.ranges[one] = self.ranges[one].with(self.ranges[other]);
        self.parent[other] = compact(one);
    }

    /// Merges the ranges of feature maps that are views or parts of each other.
    fn merge_views(&mut self, program: &Program, operation: &Operation) {
        let mut activations = program.activations(operation);
        match operation.alias {
            Alias::Separate | Alias::InPlace => {}
            Alias::View | Alias::Fused => {
                let Some(input) = activations.next() else {
                    return;
                };
                for &output in &operation.outputs {
                    let [from, to] = [input, output].map(|map_idx| self.range_of_map(map_idx));
                    self.merge_ranges(input, output);
                    // The memory of what has another shape is as large as the latter takes.
                    if operation.action == Action::View && from.bytes == to.bytes {
                        let root = self.root(input);
                        self.ranges[root].bytes_padded = to.bytes_padded;
                    }
                }
            }
            Alias::Concat => {
                if let Some(&output) = operation.outputs.first() {
                    activations.for_each(|input| self.merge_ranges(output, input));
                }
            }
        }
    }

    /// Lets elementwise operations up to `step` write their output over an input that no other operation reads.
    fn overwrite_inputs(
        &mut self,
        program: &Program,
        order: &Order,
        step: usize,
        (uses, stored): (&Uses, &[u32]),
        is_in_sram: Option<&[bool]>,
    ) {
        let is_placed = |map_idx: usize| is_in_sram.is_none_or(|is_in_sram| is_in_sram[map_idx]);
        let (start, _) = order.span(step);
        let [first, last] = [start, step].map(|step| &program.operations[order.operations[step]]);
        let Some(&output) = last.outputs.first() else {
            return;
        };
        let to = program.maps[output];
        let output_range = self.range_of_map(output);
        if first.alias != Alias::InPlace || to.is_variable || !uses.is_written_once(output) {
            return;
        }
        let input = program.activations(first).find(|&input| {
            let from = program.maps[input];
            let range = self.range_of_map(input);
            let is_interface = range.is_interface || output_range.is_interface;
            let is_apart = self.has_dedicated_sram && is_interface || range.is_of_cascade;
            let stored_shape = |map_idx: usize| program.maps[stored[map_idx] as usize].shape;
            let is_alike = (
                stored_shape(input),
                from.element_bytes,
                from.is_linear,
                from.is_truth,
            ) == (
                stored_shape(output),
                to.element_bytes,
                to.is_linear,
                to.is_truth,
            );
            let is_placed = is_placed(input) && is_placed(output);
            is_alike && is_placed && !is_apart && !from.is_variable && uses.is_read_once(input)
        });
        if let Some(input) = input {
            self.merge_ranges(input, output);
        }
    }

    /// Index of the range that contains a map.
    pub fn range_of(&self, map_idx: usize) -> usize {
        self.parent(map_idx)
    }

    /// A range by its index.
    pub fn range(&self, range_idx: usize) -> &LiveRange {
        &self.ranges[range_idx]
    }

    /// All ranges with their indices.
    pub fn ranges(&self) -> impl Iterator<Item = (usize, &LiveRange)> {
        let is_root = |&(map_idx, _): &(usize, &LiveRange)| self.parent(map_idx) == map_idx;
        self.ranges.iter().enumerate().filter(is_root)
    }

    /// Live bytes in each of `n_steps` steps, of the ranges for which `is_in` holds.
    pub fn live_bytes(&self, n_steps: usize, is_in: impl Fn(usize) -> bool) -> Vec<f64> {
        let mut change = vec![0.0; n_steps + 1];
        for (_, range) in self.ranges().filter(|&(range_idx, _)| is_in(range_idx)) {
            if let Some((first, last)) = range.steps.get() {
                change[first] += range.bytes_in_memory();
                change[last + 1] -= range.bytes_in_memory();
            }
        }
        let mut alive = 0.0;
        let sum = |change: &f64| {
            alive += change;
            f64::max(alive, 0.0)
        };
        change.iter().take(n_steps).map(sum).collect()
    }
}
