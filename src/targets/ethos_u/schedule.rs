//! Scheduled operations with whole feature maps → the schedule: whole feature maps, or cascades to fit the SRAM or to
//! save some of it.
//!
//! Reproduces `Scheduler::Process`, `OptimizeSchedule` and `ComputeNonLocalUsage` of Vela's `scheduler.cpp`, as
//! described under "Strategies" in `docs/method/ethos-u.md`.

use super::accelerator::Accelerator;
use super::cascades::{
    CascadeStage, InSram, RangeInSram, Sram, StagedCascade, Stages, cascades, staged_cascades,
};
use super::configuration::Strategy;
use super::execution::striped;
use super::flow::Flow;
use super::geometry::IfmOfm;
use super::index::OptionalIndex;
use super::live_ranges::{LiveRanges, aligned};
use super::order::Order;
use super::program::{Program, WeightSharing};
use super::scheduled_operation::{Cascade, ScheduledOperation};
use super::weight_buffers::{Buffer, Buffers, buffers};

type Steps<'a> = Vec<Option<ScheduledOperation<'a>>>;

/// Scheduled operations by step of their order, with the SRAM that they need besides feature maps.
pub struct Schedule<'a> {
    pub order: Order,
    pub live_ranges: LiveRanges,
    pub steps: Steps<'a>,
    pub weights: WeightMemory,
}

/// SRAM for weights, by step.
pub struct WeightMemory {
    pub buffers: Buffers,
    /// Bytes of SRAM for the step's weights and for those of the next one that are prefetched meanwhile.
    pub weight_buffer_bytes: Vec<f64>,
    /// The same, plus the rolling buffers and all weights of a cascade, which stay in SRAM while it runs.
    pub buffer_bytes: Vec<f64>,
}

impl<'a> Schedule<'a> {
    /// The schedule that the compiler chooses, from `steps` with whole feature maps. Linear in operations, except for
    /// the stripes that are tried, for which see [`cascades`].
    pub fn new(
        accelerator: &Accelerator,
        program: &Program,
        order: Order,
        flow: Flow,
        mut steps: Steps<'a>,
    ) -> Self {
        let planner = Planner {
            accelerator,
            program,
        };
        let cache_bytes = accelerator.sram_limit_bytes as f64;
        let is_for_size = accelerator.strategy == Strategy::Size;
        let mut memory = planner.memory(order, &[]);
        // If feature maps are always in SRAM, the purpose of cascades is to save some of it.
        let mut whole_bytes = f64::INFINITY;
        if !accelerator.has_dedicated_sram {
            let whole = planner.weights(&memory, &steps, &[], f64::INFINITY);
            whole_bytes = memory.peak_bytes(&whole);
            if whole_bytes < cache_bytes && !is_for_size {
                return memory.schedule(steps, whole);
            }
        }
        let guide_bytes = if is_for_size {
            memory.least_bytes(program, &steps)
        } else {
            cache_bytes
        };
        let cascaded_spans = staged_cascades(
            memory.stages(&planner, &flow, &steps),
            guide_bytes,
            accelerator.has_dedicated_sram,
        );
        drop(flow);
        let has_spans = !cascaded_spans.is_empty();
        if has_spans {
            let order = memory.into_order();
            memory = planner.memory(order, &cascades_of(&cascaded_spans));
        }
        let limit_bytes = memory.limit_bytes(accelerator);
        if whole_bytes < limit_bytes {
            if has_spans {
                memory = planner.memory(memory.into_order(), &[]);
            }
            let whole = planner.weights(&memory, &steps, &[], f64::INFINITY);
            return memory.schedule(steps, whole);
        }
        let sram = Sram {
            limit_bytes,
            used_bytes: &memory.alive_bytes,
        };
        let striped = |step: &_, stripe| striped(accelerator, step, stripe);
        let cascades = cascades(accelerator, cascaded_spans, sram, &mut steps, striped);
        if has_spans {
            memory = planner.memory(memory.into_order(), &cascades);
        }
        let weights = planner.weights(&memory, &steps, &cascades, limit_bytes);
        memory.schedule(steps, weights)
    }
}

/// The cascades with the lowest stripes.
fn cascades_of(cascaded: &[StagedCascade]) -> Vec<Cascade> {
    let of_span = |StagedCascade { span, stages }: &StagedCascade| Cascade {
        first: stages[span.first].step,
        last: stages[span.last].step,
        rolling_bytes: span.rolling_bytes,
        planned_weight_bytes: 0.0,
    };
    cascaded.iter().map(of_span).collect()
}

struct Planner<'p> {
    accelerator: &'p Accelerator,
    program: &'p Program,
}

/// The contents of SRAM before the compiler moves anything there.
struct SramContents {
    order: Order,
    live_ranges: LiveRanges,
    /// By index of a live range.
    is_in_sram: Vec<bool>,
    /// By step, bytes of feature maps and rolling buffers.
    alive_bytes: Vec<f64>,
}

impl Planner<'_> {
    /// The memory with these cascades. `order` has none.
    fn memory(&self, order: Order, cascades: &[Cascade]) -> SramContents {
        let Self {
            accelerator,
            program,
        } = *self;
        let spans = cascades.iter().map(|cascade| (cascade.first, cascade.last));
        let order = order.with_cascades(spans);
        let live_ranges = LiveRanges::new(program, &order, accelerator.has_dedicated_sram);
        let mut is_in_sram = vec![!accelerator.has_dedicated_sram; program.maps.len()];
        for (map_idx, map) in program.maps.iter().enumerate() {
            is_in_sram[live_ranges.range_of(map_idx)] |= map.is_staged;
        }
        let n_steps = order.operations.len();
        let mut alive_bytes = live_ranges.live_bytes(n_steps, |range_idx| is_in_sram[range_idx]);
        for cascade in cascades {
            let during = &mut alive_bytes[cascade.first..=cascade.last];
            during
                .iter_mut()
                .for_each(|bytes| *bytes += cascade.rolling_bytes);
        }
        SramContents {
            alive_bytes,
            order,
            live_ranges,
            is_in_sram,
        }
    }

    /// Weight buffers where cascades and feature maps leave room for them.
    fn weights(
        &self,
        memory: &SramContents,
        steps: &[Option<ScheduledOperation>],
        cascades: &[Cascade],
        limit_bytes: f64,
    ) -> WeightMemory {
        let room_bytes: Vec<f64> = (memory.alive_bytes.iter())
            .map(|alive_bytes| (limit_bytes - alive_bytes).max(0.0))
            .collect();
        let buffers = buffers(self.accelerator, steps, cascades, &room_bytes);
        let fetches_for_itself = |step: usize| {
            let operation = &self.program.operations[memory.order.operations[step]];
            let has_own_weights = operation.sharing == WeightSharing::None;
            let mut outputs = operation.outputs.iter();
            let is_in_pieces =
                outputs.any(|&output| self.program.maps[output].n_pieces(operation.repeats) > 1.0);
            is_in_pieces && has_own_weights
        };
        let weight_buffer_bytes = weight_buffer_bytes(steps, &buffers, fetches_for_itself);
        WeightMemory {
            buffer_bytes: with_cascades(&weight_buffer_bytes, cascades, &buffers),
            buffers,
            weight_buffer_bytes,
        }
    }
}

impl SramContents {
    /// The order without cascades. Frees everything else, so that another memory takes its place.
    fn into_order(self) -> Order {
        self.order.without_cascades()
    }

    fn schedule(self, steps: Steps, weights: WeightMemory) -> Schedule {
        Schedule {
            order: self.order,
            live_ranges: self.live_ranges,
            steps,
            weights,
        }
    }

    /// SRAM that weights and cascades may fill together with the feature maps.
    fn limit_bytes(&self, accelerator: &Accelerator) -> f64 {
        let peak_bytes = self.alive_bytes.iter().copied().fold(0.0, f64::max);
        // If the SRAM is a cache, it may still be empty.
        if accelerator.strategy == Strategy::Size && peak_bytes > 0.0 {
            peak_bytes
        } else {
            accelerator.sram_limit_bytes as f64
        }
    }

    /// Peak SRAM in bytes of feature maps and of `weights`.
    fn peak_bytes(&self, weights: &WeightMemory) -> f64 {
        let at_once = self.alive_bytes.iter().zip(&weights.buffer_bytes);
        at_once
            .map(|(alive, buffers)| alive + buffers)
            .fold(0.0, f64::max)
    }

    /// The minimum of the live bytes over all operations and over the time after the last one, when outputs are left.
    fn least_bytes(&self, program: &Program, steps: &[Option<ScheduledOperation>]) -> f64 {
        let mut is_left = vec![false; program.maps.len()];
        for (map_idx, map) in program.maps.iter().enumerate() {
            is_left[self.live_ranges.range_of(map_idx)] |= map.is_output || map.is_variable;
        }
        let left = (self.live_ranges.ranges())
            .filter(|(range_idx, range)| {
                is_left[*range_idx] && self.is_in_sram[*range_idx] && !range.steps.is_none()
            })
            .map(|(_, range)| range.bytes_in_memory());
        let during = self.alive_bytes.iter().zip(steps);
        let during = during.filter_map(|(bytes, step)| step.as_ref().map(|_| *bytes));
        during.fold(left.sum(), f64::min)
    }

    fn stages<'s>(
        &'s self,
        planner: &Planner<'s>,
        flow: &'s Flow,
        steps: &'s [Option<ScheduledOperation<'s>>],
    ) -> impl Iterator<Item = CascadeStage> + 's {
        let program = planner.program;
        let n_readers = program.n_readers();
        let is_in_sram = |map_idx: usize| self.is_in_sram[self.live_ranges.range_of(map_idx)];
        let range = |map_idx: usize| {
            let range_idx = self.live_ranges.range_of(map_idx);
            let range = self.live_ranges.range(range_idx);
            let is_in = self.is_in_sram[range_idx] && !range.steps.is_none();
            is_in.then(|| RangeInSram {
                range_idx: range_idx.into(),
                steps: range.steps,
                bytes: range.bytes_in_memory(),
            })
        };
        let in_sram = move |step_idx: usize, maps: IfmOfm<usize>| {
            if (steps[step_idx].as_ref()).is_none_or(ScheduledOperation::is_of_cpu) {
                return InSram::default();
            }
            let is_one = self.live_ranges.range_of(maps.ifm) == self.live_ranges.range_of(maps.ofm);
            let bytes = maps.map(|map_idx| {
                if is_in_sram(map_idx) {
                    aligned(program.maps[map_idx].stored_bytes())
                } else {
                    0.0
                }
            });
            let own_bytes = bytes.ifm + if is_one { 0.0 } else { bytes.ofm };
            InSram {
                maps: bytes,
                alive_bytes: self.alive_bytes[step_idx],
                beside_bytes: self.alive_bytes[step_idx] - own_bytes,
                ifm_range: range(maps.ifm),
                ofm_range: range(maps.ofm).map_or(OptionalIndex::NONE, |range| range.range_idx),
                is_ifm_shared: match flow.source[step_idx].get() {
                    Some(source) => flow.n_readers[source] > 1,
                    None => n_readers[maps.ifm] > 1,
                },
            }
        };
        Stages {
            program,
            order: &self.order,
            flow,
            steps,
            in_sram,
            next_step: 0,
            latest: None,
        }
    }
}

/// By step, SRAM for its weights and for those of the next operation that are prefetched meanwhile. `fetches_for_itself`
/// tells of a step whether its operation runs in pieces that have weights of their own: each piece fetches those of the
/// next one.
fn weight_buffer_bytes(
    steps: &[Option<ScheduledOperation>],
    buffers: &Buffers,
    fetches_for_itself: impl Fn(usize) -> bool,
) -> Vec<f64> {
    let mut fetched_for_next: f64 = 0.0;
    let mut bytes = vec![0.0; steps.len()];
    for idx in (0..steps.len()).rev().filter(|&idx| steps[idx].is_some()) {
        if buffers[idx].is_prefetched && fetches_for_itself(idx) {
            fetched_for_next = fetched_for_next.max(buffers[idx].parts[0]);
        }
        bytes[idx] = buffers[idx].bytes_beside(fetched_for_next);
        let has_that_of_before = buffers[idx].is_shared || buffers[idx].is_filled_again;
        let is_new = buffers[idx].is_prefetched && !has_that_of_before;
        fetched_for_next = if is_new { buffers[idx].parts[0] } else { 0.0 };
    }
    bytes
}

/// The same, plus the rolling buffers of cascades. All weights of a cascade stay in SRAM while it runs.
fn with_cascades(bytes: &[f64], cascades: &[Cascade], buffers: &Buffers) -> Vec<f64> {
    let mut bytes = bytes.to_vec();
    for cascade in cascades {
        let steps = cascade.first..=cascade.last;
        // Includes weights that are prefetched for the operation after the cascade.
        let of_last = bytes[cascade.last] - buffers[cascade.last].bytes();
        let weights: f64 = buffers.at_steps(steps.clone()).map(Buffer::bytes).sum();
        bytes[steps].fill(cascade.rolling_bytes + weights + of_last);
    }
    bytes
}
