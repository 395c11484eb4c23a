//! Cascades: operations that run in turn, stripe by stripe, so that only some rows of the feature maps between them are
//! in memory at a time.
//!
//! Reproduces `CascadeBuilder::BuildCascades` of Vela's `cascade_builder.cpp`, and `ProposeMinimalSchedule`,
//! `OptimizeSubSchedule` and `ProposeScheduleStriping` of its `scheduler.cpp`, as described under "Cascades" in
//! `docs/method/ethos-u.md`. This file defines the stages of cascades; `spans` determines where cascades begin and end, and
//! `stripes` how many rows they compute at a time.

mod spans;
mod stripes;

pub use self::spans::{Span, StagedCascade, staged_cascades};
pub use self::stripes::{Sram, cascades};

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
    /// Rows that this adds to those that the kernel needs, see [`Layer::rounding`].
    pub rounding_rows: i32,
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
        let extent = (rows - 1) * i64::from(self.stride_rows)
            + i64::from(self.kernel_rows)
            + i64::from(self.rounding_rows);
        ceil_div(extent, self.upscale.into()).clamp(1, self.ifm[0].max(1).into())
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
        if self.is_in_place && self.ifm_bytes == self.ofm_bytes {
            self.ifm_bytes
        } else {
            self.ifm_bytes + self.ofm_bytes
        }
    }
}

/// The scheduled operations that run as a command and that follow one another, as stages. Each is made when it is
/// needed: a large network has a hundred thousand.
pub struct Stages<'s, F> {
    pub program: &'s Program,
    pub order: &'s Order,
    pub flow: &'s Flow,
    pub steps: &'s [Option<ScheduledOperation<'s>>],
    /// The contents of SRAM at a step whose operation has this IFM and OFM.
    pub in_sram: F,
    /// The first step that has not been looked at.
    pub next_step: usize,
    /// The latest stage. If it follows none, it is left out unless the next one follows it.
    pub latest: Option<CascadeStage>,
}

impl<F: Fn(usize, IfmOfm<usize>) -> InSram> Iterator for Stages<'_, F> {
    type Item = CascadeStage;

    fn next(&mut self) -> Option<CascadeStage> {
        while self.next_step < self.steps.len() {
            let idx = self.next_step;
            self.next_step += 1;
            let Some(mut stage) = self.stage(idx) else {
                continue;
            };
            let before = self.latest.take().map(|before| CascadeStage {
                next_stride_rows: stage.stride_rows,
                ..before
            });
            let alone = before.filter(|before| !stage.follows && !before.follows);
            stage.before = before.map(|before| before.step).into();
            stage.alive_before_bytes = alone.map_or(0.0, |alone| {
                (alone.in_sram.alive_bytes).max(alone.alive_before_bytes)
            });
            self.latest = Some(stage);
            if alone.is_none() && before.is_some() {
                return before;
            }
        }
        self.latest.take().filter(|last| last.follows)
    }
}

impl<F: Fn(usize, IfmOfm<usize>) -> InSram> Stages<'_, F> {
    /// A step as a stage, without what depends on the stage before it, except whether it follows that one.
    fn stage(&self, idx: usize) -> Option<CascadeStage> {
        let (program, order, flow) = (self.program, self.order, self.flow);
        let step = self.steps[idx].as_ref()?;
        let operation = &program.operations[order.operations[idx]];
        let mut activations = program.activations(operation);
        let (input, &output) = (activations.next()?, operation.outputs.first()?);
        let maps = &program.maps;
        let input = flow.unpadded[input] as usize;
        let (ifm, ofm) = (&maps[input], &maps[output]);
        // For a part of a concatenation, the whole concatenation is in memory.
        let joined = flow.joined[order.map_behind_activation(program, idx).unwrap_or(output)].get();
        let stored = &maps[joined.unwrap_or(output)];
        let layer = step.execution.layer().map(|(layer, _)| layer);
        let [ifm_shape, ofm_shape] =
            self.stage_shapes(operation, input, [ifm, ofm], layer.is_none());
        let is_chained = order.is_read_by_next_only(idx) || order.chain_start[idx] < idx;
        let is_alone = |before: &CascadeStage| {
            let mut between = before.step + 1..idx;
            flow.source[idx].get() == Some(before.step)
                && flow.n_readers[before.step] == 1
                && flow.is_direct[idx]
                && between.all(|k| flow.source[k].get() == Some(before.step))
        };
        let has_rows = has_rows(operation, step, layer.as_ref(), [ifm, ofm]);
        let maps_of_stage = IfmOfm {
            ifm: input,
            ofm: output,
        };
        Some(CascadeStage {
            step: idx,
            ifm: stage_shape(ifm_shape),
            ofm: stage_shape(ofm_shape),
            element_bytes: stage_size(ifm.element_bytes().max(1)),
            kernel_rows: layer.map_or(1, |layer| stage_size(layer.dilated_kernel(0))),
            stride_rows: layer.map_or(1, |layer| stage_size(layer.stride[0])),
            upscale: layer.map_or(1, |layer| stage_size(layer.upscale)),
            rounding_rows: layer.map_or(0, |layer| stage_size(layer.rounding())),
            ifm_bytes: aligned(ifm.stored_bytes()),
            ofm_bytes: aligned(stored.stored_bytes()),
            ifm2_bytes: (activations.next())
                .map_or(0.0, |map_idx| aligned(maps[map_idx].stored_bytes())),
            can_be_striped: has_rows && !is_chained && step.pieces == 1.0,
            follows: !ifm.is_linear && self.latest.as_ref().is_some_and(is_alone),
            is_in_place: operation.alias == Alias::InPlace && ifm.shape == ofm.shape,
            in_sram: (self.in_sram)(idx, maps_of_stage),
            next_stride_rows: 1,
            before: OptionalIndex::NONE,
            alive_before_bytes: 0.0,
        })
    }

    /// The shapes in which an operation reads and writes its feature maps.
    fn stage_shapes(
        &self,
        operation: &Operation,
        input: usize,
        [ifm, ofm]: [&FeatureMap; 2],
        is_elementwise: bool,
    ) -> [Hwc; 2] {
        match operation.view_shapes() {
            Some([ifm, ofm]) if is_elementwise => {
                // The scalar before the first feature map has a shape of its own.
                let is_first = operation.inputs.first() == Some(&input);
                [if is_first { ifm } else { ofm }, ofm]
            }
            _ => [ifm.shape(), ofm.shape()],
        }
    }
}

/// Whether an operation can compute some rows of its OFM from some rows of its IFM.
fn has_rows(
    operation: &Operation,
    step: &ScheduledOperation,
    layer: Option<&Layer>,
    [ifm, ofm]: [&FeatureMap; 2],
) -> bool {
    if operation.fused_transpose.is_some() || operation.reversed_dimension() == Some(0) {
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
            // Neither activations of their own nor copies.
            Kind::Pooling | Kind::MaxPooling | Kind::Maximum | Kind::Copy => {
                matches!(operation.action, Action::Layer(_))
            }
        },
    }
}

/// Rows of each stage in the lowest stripes: the stride of the next stage.
fn lowest_rows(stages: &[CascadeStage]) -> Vec<i64> {
    let min_rows =
        |stage: &CascadeStage| round_up(stage.next_stride_rows.into(), stage.upscale.into());
    stages.iter().map(min_rows).collect()
}
