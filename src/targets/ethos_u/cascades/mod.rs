//! Cascades: operations that run in turn, stripe by stripe, so that only some rows of the feature maps between them are
//! in memory at a time.
//!
//! Reproduces `CascadeBuilder::BuildCascades` of Vela's `cascade_builder.cpp`, and `ProposeMinimalSchedule`,
//! `OptimizeSubSchedule` and `ProposeScheduleStriping` of its `scheduler.cpp`, as described under "Cascades" in
//! `docs/ethos-u.md`. This file defines the stages of cascades; `spans` determines where cascades begin and end, and
//! `stripes` how many rows they compute at a time.

mod spans;
mod stripes;

pub use self::spans::{Span, spans};
pub use self::stripes::{Sram, cascades, lowest_rows};

use super::flow::Flow;
use super::geometry::{BRICK_CHANNELS, Hwc, IfmOfm, ceil_div, round_up};
use super::index::{OptionalIndex, Steps};
use super::layer::{Kind, Layer};
use super::live_ranges::aligned;
use super::order::Order;
use super::program::{Action, Alias, FeatureMap, Operation, Program};
use super::scheduled_operation::{Execution, ScheduledOperation};

/// The contents of SRAM while an operation runs with whole feature maps, before the compiler moves any there. The
/// default is empty: all feature maps are off chip.
#[derive(Clone, Copy, Debug, Default)]
pub struct InSram {
    /// Bytes of its IFM and its OFM.
    pub maps: IfmOfm<f64>,
    /// Bytes of everything that is alive: its feature maps and those that other operations need.
    pub alive_bytes: f64,
    /// Bytes of feature maps that only other operations need.
    pub beside_bytes: f64,
    /// The live range that holds its IFM.
    pub ifm_range: Option<RangeInSram>,
    /// The live range that holds its OFM.
    pub ofm_range: OptionalIndex,
    /// Whether other operations also read its IFM.
    pub is_ifm_shared: bool,
}

/// Memory that is alive over some steps.
#[derive(Clone, Copy, Debug)]
pub struct RangeInSram {
    pub range_idx: OptionalIndex,
    pub steps: Steps,
    pub bytes: f64,
}

/// Height, width and channels, in half the memory of [`Hwc`]: a large network has a hundred thousand stages.
pub type StageShape = [i32; 3];

/// `shape`, whose sizes are those of a feature map.
pub fn stage_shape(shape: Hwc) -> StageShape {
    shape.map(stage_size)
}

fn stage_size(size: i64) -> i32 {
    i32::try_from(size).unwrap_or(i32::MAX)
}

/// An operation as a stage of a cascade.
#[derive(Clone, Copy, Debug)]
pub struct CascadeStage {
    /// Index of the scheduled operation.
    pub step: usize,
    pub ifm: StageShape,
    pub ofm: StageShape,
    /// Bytes of an element of its IFM.
    pub element_bytes: i32,
    /// Rows of the IFM that one row of the OFM needs: height of the dilated kernel.
    pub kernel_rows: i32,
    pub stride_rows: i32,
    /// Factor by which the IFM is enlarged while it is read.
    pub upscale: i32,
    /// Bytes in memory.
    pub ifm_bytes: f64,
    pub ofm_bytes: f64,
    /// Bytes of its second input, 0 without one.
    pub ifm2_bytes: f64,
    pub can_be_striped: bool,
    /// Whether it is the only reader of the OFM of the stage before.
    pub follows: bool,
    /// Whether its OFM can overwrite its IFM.
    pub is_in_place: bool,
    pub in_sram: InSram,
    /// Stride of the operation after it, 1 if it is the last.
    pub next_stride_rows: i32,
    /// Index of the scheduled operation before it.
    pub before: OptionalIndex,
    /// Maximum of [`InSram::alive_bytes`] over the operations between it and the stage before it, which can be in no
    /// cascade.
    pub alive_before_bytes: f64,
}

impl CascadeStage {
    /// Rows of the IFM that this number of rows of the OFM needs.
    fn input_rows(&self, rows: i64) -> i64 {
        let seen = (rows - 1) * i64::from(self.stride_rows) + i64::from(self.kernel_rows);
        ceil_div(seen, self.upscale.into()).clamp(1, self.ifm[0].max(1).into())
    }

    /// Bytes of the rolling buffer between the stage `before`, which writes `rows_before` rows at a time, and
    /// this one, which computes `rows`.
    fn rolling_bytes(&self, before: &CascadeStage, rows_before: i64, rows: i64) -> f64 {
        let needed = self.input_rows(rows);
        let height = round_up(rows_before + needed, needed);
        let depth = round_up(before.ofm[2].into(), BRICK_CHANNELS);
        (height * i64::from(self.ifm[1]) * depth * i64::from(self.element_bytes)) as f64
    }

    /// Bytes of IFM and OFM without stripes, as if both were in SRAM.
    fn whole_bytes(&self) -> f64 {
        match self.is_in_place && self.ifm_bytes == self.ofm_bytes {
            true => self.ifm_bytes,
            false => self.ifm_bytes + self.ofm_bytes,
        }
    }
}

/// The scheduled operations that run as a command and that follow one another, as stages. `in_sram` returns the contents of SRAM at a step whose
/// operation has this IFM and OFM.
pub fn stages(
    program: &Program,
    order: &Order,
    flow: &Flow,
    steps: &[Option<ScheduledOperation>],
    uses_trained_rules: bool,
    in_sram: impl Fn(usize, IfmOfm<usize>) -> InSram,
) -> Vec<CascadeStage> {
    // With its final capacity: a vector that grows holds its contents twice for a while.
    let mut stages: Vec<CascadeStage> = Vec::with_capacity(max_stages(flow, steps));
    for (idx, step) in steps.iter().enumerate() {
        let Some(step) = step else { continue };
        let operation = &program.operations[order.operations[idx]];
        let mut activations = program.activations(operation);
        let (Some(input), Some(&output)) = (activations.next(), operation.outputs.first()) else {
            continue;
        };
        let maps = &program.maps;
        let input = flow.unpadded[input] as usize;
        let (ifm, ofm) = (&maps[input], &maps[output]);
        // For a part of a concatenation, the whole concatenation is in memory.
        let joined = flow.joined[order.activated(program, idx).unwrap_or(output)].get();
        let stored = &maps[joined.filter(|_| !uses_trained_rules).unwrap_or(output)];
        let layer = step.execution.layer().map(|(layer, _)| layer);
        let is_chained = order.is_passed_on(idx) || order.chain_start[idx] < idx;
        let is_alone = |before: &CascadeStage| {
            let mut between = before.step + 1..idx;
            flow.source[idx].get() == Some(before.step)
                && flow.n_readers[before.step] == 1
                && flow.is_direct[idx]
                && between.all(|k| flow.source[k].get() == Some(before.step))
        };
        let follows = !ifm.is_linear && stages.last().is_some_and(is_alone);
        let has_rows = has_rows(operation, step, layer.as_ref(), [ifm, ofm]);
        let stride_rows = layer.map_or(1, |layer| stage_size(layer.stride[0]));
        let before = stages.last_mut().map(|before| {
            before.next_stride_rows = stride_rows;
            before.step
        });
        let alive_before_bytes = match follows {
            true => 0.0,
            false => pop_alone(&mut stages),
        };
        stages.push(CascadeStage {
            step: idx,
            ifm: stage_shape(ifm.shape()),
            ofm: stage_shape(ofm.shape()),
            element_bytes: stage_size(ifm.element_bytes().max(1)),
            kernel_rows: layer.map_or(1, |layer| stage_size(layer.dilated_kernel(0))),
            stride_rows,
            upscale: layer.map_or(1, |layer| stage_size(layer.upscale)),
            ifm_bytes: aligned(ifm.stored_bytes()),
            ofm_bytes: aligned(stored.stored_bytes()),
            ifm2_bytes: (activations.next())
                .map_or(0.0, |map_idx| aligned(maps[map_idx].stored_bytes())),
            can_be_striped: has_rows && !is_chained && step.pieces == 1.0,
            follows,
            is_in_place: operation.alias == Alias::InPlace && ifm.shape == ofm.shape,
            in_sram: in_sram(
                idx,
                IfmOfm {
                    ifm: input,
                    ofm: output,
                },
            ),
            next_stride_rows: 1,
            before: before.into(),
            alive_before_bytes,
        });
    }
    pop_alone(&mut stages);
    stages
}

/// An upper bound of the stages: operations that follow another one, and those that they follow.
fn max_stages(flow: &Flow, steps: &[Option<ScheduledOperation>]) -> usize {
    let is_follower = |idx: usize| {
        let source = flow.source[idx].get();
        steps[idx].is_some()
            && source.is_some_and(|source| flow.n_readers[source] == 1)
            && flow.is_direct[idx]
    };
    let mut before = None;
    let mut n_stages = 0;
    for idx in (0..steps.len()).filter(|&idx| steps[idx].is_some()) {
        if is_follower(idx) {
            // The first of a cascade counts with its follower.
            n_stages += if before == Some(true) { 1 } else { 2 };
        }
        before = Some(is_follower(idx));
    }
    // The last one stays until it is known that none follows it.
    n_stages + 1
}

/// Removes the last stage if it follows none: it is in no cascade. Returns the bytes that are alive while it runs, or in
/// operations before it that were removed.
fn pop_alone(stages: &mut Vec<CascadeStage>) -> f64 {
    let alone = stages.pop_if(|last| !last.follows);
    alone.map_or(0.0, |alone| {
        (alone.in_sram.alive_bytes).max(alone.alive_before_bytes)
    })
}

/// Whether an operation can compute some rows of its OFM from some rows of its IFM.
fn has_rows(
    operation: &Operation,
    step: &ScheduledOperation,
    layer: Option<&Layer>,
    [ifm, ofm]: [&FeatureMap; 2],
) -> bool {
    if operation.fused_transpose.is_some() {
        return false;
    }
    match (&step.execution, layer) {
        (Execution::Elementwise(_), _) => {
            let is_binary_or_unary = operation.is_binary() || operation.action == Action::Unary;
            is_binary_or_unary && ifm.shape == ofm.shape
        }
        (Execution::Transpose(_), _) | (_, None) => false,
        (_, Some(layer)) => match layer.kind {
            Kind::VectorProduct | Kind::MatrixProduct | Kind::ReduceSum => false,
            // An enlarged input has rows that the rolling buffer lacks.
            Kind::Convolution | Kind::Depthwise => layer.upscale == 1,
            Kind::Pooling | Kind::MaxPooling | Kind::Copy => {
                !matches!(operation.action, Action::Transpose(_))
            }
        },
    }
}
