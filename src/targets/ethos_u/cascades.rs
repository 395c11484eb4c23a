//! Cascades: operations that span in turn, stripe by stripe, so that only some rows of the feature maps between
//! them are ever in memory.
//!
//! Reproduces `CascadeBuilder::BuildCascades` of Vela's `cascade_builder.cpp`, and `ProposeMinimalSchedule`,
//! `OptimizeSubSchedule` and `ProposeScheduleStriping` of its `scheduler.cpp`, as described under "Cascades" in
//! `docs/ethos-u.md`.

use super::accelerator::Accelerator;
use super::flow::Flow;
use super::geometry::{BRICK_CHANNELS, Hwc, ceil_div, round_up};
use super::layer::Kind;
use super::order::Order;
use super::program::Program;
use super::scheduled_operation::{Cascade, ScheduledOperation, Stripe};
use super::weight_buffers::{Buffer, Slack, choose};

/// Limit of operations times stripe heights that are tried for a graph, some tenths of a second's worth.
/// Sampled networks need about a hundred; a file made to exceed the limit gets the highest stripes found so far.
const MAX_TRIES: usize = 1 << 14;

/// An operation as a stage of a cascade.
#[derive(Clone, Copy, Debug)]
pub struct CascadeStage {
    /// Index of the scheduled operation.
    pub step: usize,
    pub ifm: Hwc,
    pub ofm: Hwc,
    /// Rows of the IFM that one row of the OFM needs: height of the dilated kernel.
    pub kernel_rows: i64,
    pub stride_rows: i64,
    /// Factor by which the IFM is enlarged while it is read.
    pub upscale: i64,
    /// Bytes in memory.
    pub ifm_bytes: f64,
    pub ofm_bytes: f64,
    /// Bytes of its second input, 0 without one.
    pub ifm2_bytes: f64,
    pub can_be_striped: bool,
    /// Whether it alone reads the OFM of the stage before.
    pub follows: bool,
    /// Whether its OFM can overwrite its IFM.
    pub is_in_place: bool,
}

impl CascadeStage {
    /// Rows of the IFM that so many rows of the OFM need.
    fn input_rows(&self, rows: i64) -> i64 {
        let seen = (rows - 1) * self.stride_rows + self.kernel_rows;
        ceil_div(seen, self.upscale).clamp(1, self.ifm[0].max(1))
    }

    /// Bytes of the rolling buffer between the stage `before`, which writes `rows_before` rows at a time, and
    /// this one, which computes `rows`.
    fn rolling_bytes(&self, before: &CascadeStage, rows_before: i64, rows: i64) -> f64 {
        let needed = self.input_rows(rows);
        let height = round_up(rows_before + needed, needed);
        (height * self.ifm[1] * round_up(before.ofm[2], BRICK_CHANNELS)) as f64
    }

    /// Bytes of IFM and OFM without stripes.
    fn whole_bytes(&self) -> f64 {
        match self.is_in_place && self.ifm_bytes == self.ofm_bytes {
            true => self.ifm_bytes,
            false => self.ifm_bytes + self.ofm_bytes,
        }
    }
}

/// The stages of all scheduled operations for which a command spans.
pub fn stages(
    program: &Program,
    order: &Order,
    flow: &Flow,
    steps: &[Option<ScheduledOperation>],
) -> Vec<CascadeStage> {
    let mut stages: Vec<CascadeStage> = Vec::new();
    for (idx, step) in steps.iter().enumerate() {
        let Some(step) = step else { continue };
        let operation = &program.operations[order.operations[idx]];
        let mut activations = program.activations(operation);
        let (Some(input), Some(&output)) = (activations.next(), operation.outputs.first()) else {
            continue;
        };
        let maps = &program.maps;
        let input = flow.unpadded[input];
        let (ifm, ofm) = (maps[input].shape, maps[output].shape);
        let is_elementwise = operation.is_binary() && ifm == ofm;
        let layer = step.execution.layer().map(|(layer, _)| layer);
        let has_rows = layer.map_or(is_elementwise, |layer| {
            !matches!(layer.kind, Kind::VectorProduct | Kind::MatrixProduct)
        });
        let is_chained = order.is_passed_on(idx) || order.chain_start[idx] < idx;
        let is_alone = |before: &CascadeStage| {
            let mut between = before.step + 1..idx;
            flow.source[idx] == Some(before.step)
                && flow.n_readers[before.step] == 1
                && flow.is_direct[idx]
                && between.all(|k| flow.source[k] == Some(before.step))
        };
        let is_brick = !maps[input].is_linear;
        let follows = is_brick && stages.last().is_some_and(is_alone);
        stages.push(CascadeStage {
            step: idx,
            ifm,
            ofm,
            kernel_rows: layer.map_or(1, |layer| layer.dilated_kernel(0)),
            stride_rows: layer.map_or(1, |layer| layer.stride[0]),
            upscale: layer.map_or(1, |layer| layer.upscale),
            ifm_bytes: maps[input].stored_bytes(),
            ofm_bytes: maps[output].stored_bytes(),
            ifm2_bytes: (activations.next()).map_or(0.0, |map_idx| maps[map_idx].stored_bytes()),
            can_be_striped: has_rows && !is_chained && step.pieces == 1.0,
            follows,
            is_in_place: is_elementwise,
        });
    }
    stages
}

/// Stages `first..=last` of a list, as a cascade.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    first: usize,
    last: usize,
    /// Bytes of rolling buffers and weights.
    bytes: f64,
    rolling_bytes: f64,
}

/// The cascades of a schedule, if there is a limit of SRAM: of operations whose IFM and OFM do not fit together,
/// as long as their stripes do, with stripes as high as possible. Replaces their scheduled operations by striped
/// ones, which `stripe` makes. Linear in `stages`, but for the heights that are tried.
pub fn cascades<'a>(
    accelerator: &Accelerator,
    stages: &[CascadeStage],
    steps: &mut [Option<ScheduledOperation<'a>>],
    stripe: impl Fn(&ScheduledOperation<'a>, Stripe) -> Option<ScheduledOperation<'a>>,
) -> Vec<Cascade> {
    let Some(limit_bytes) = accelerator.sram_limit_bytes else {
        return Vec::new();
    };
    let min_rows = |idx: usize| {
        let rows = stages.get(idx + 1).map_or(1, |next| next.stride_rows);
        round_up(rows, stages[idx].upscale)
    };
    let rows: Vec<i64> = (0..stages.len()).map(min_rows).collect();
    let no_weights = vec![0.0; stages.len()];
    let limit_bytes = limit_bytes as f64;
    let mut cascades = Vec::new();
    let mut tries_left = MAX_TRIES;
    for span in spans(stages, &rows, &no_weights, limit_bytes) {
        let stripes = Stripes {
            accelerator,
            stages: &stages[span.first..=span.last],
            limit_bytes,
            stripe: &stripe,
            before: (span.first.checked_sub(1))
                .and_then(|before| steps[stages[before].step])
                .map(|step| Buffer::default().slack(&step, limit_bytes)),
        };
        let lowest = &rows[span.first..=span.last];
        let highest = stripes.highest(steps, lowest, span.rolling_bytes, &mut tries_left);
        let Striping {
            rows,
            spans,
            weight_bytes,
        } = highest.unwrap_or_else(|| Striping::lowest(lowest, span));
        for part in spans {
            let of_stages = part.first..=part.last;
            let stages = &stripes.stages[of_stages.clone()];
            for idx in of_stages.clone() {
                let stage = &stripes.stages[idx];
                let stripe = Stripe {
                    rows: rows[idx],
                    is_first: idx == part.first,
                    planned_weight_bytes: weight_bytes[idx],
                };
                if let Some(step) = stripes.step(steps, stage, stripe) {
                    steps[stage.step] = Some(step);
                }
            }
            cascades.push(Cascade {
                first: stages[0].step,
                last: stages[stages.len() - 1].step,
                rolling_bytes: part.rolling_bytes,
                planned_weight_bytes: weight_bytes[of_stages].iter().sum(),
            });
        }
    }
    cascades
}

/// Cascades of stages with so many `rows` per stripe, and so many bytes of weights in SRAM.
fn spans(
    stages: &[CascadeStage],
    rows: &[i64],
    weight_bytes: &[f64],
    limit_bytes: f64,
) -> Vec<Span> {
    let is_striped = |idx: usize| stages[idx].can_be_striped && rows[idx] < stages[idx].ofm[0];
    let mut spans = Vec::new();
    let mut first = 0;
    while first < stages.len() {
        let start = first;
        first += 1;
        if !is_striped(start) {
            continue;
        }
        let mut rolling_bytes = 0.0;
        let mut weights = weight_bytes[start];
        // Rolling buffer between the two stages before.
        let mut previous = None;
        let mut best: Option<Span> = None;
        for idx in start + 1..stages.len() {
            let stage = &stages[idx];
            if !stage.follows || !is_striped(idx) {
                break;
            }
            let before = &stages[idx - 1];
            let between = stage.rolling_bytes(before, rows[idx - 1], rows[idx]);
            let is_reused = before.is_in_place && previous == Some(between);
            rolling_bytes += if is_reused { 0.0 } else { between };
            previous = Some(between);
            weights += weight_bytes[idx];
            let bytes = rolling_bytes + weights;
            if stage.whole_bytes() < limit_bytes || bytes > limit_bytes {
                break;
            }
            best = Some(Span {
                first: start,
                last: idx,
                bytes,
                rolling_bytes,
            });
        }
        if let Some(span) = best {
            first = span.last + 1;
            spans.push(span);
        }
    }
    spans
}

/// Stripes of the stages of one cascade, which they may divide into several.
struct Striping {
    /// Rows of each stage.
    rows: Vec<i64>,
    spans: Vec<Span>,
    /// By stage, bytes of weights that are reserved in SRAM.
    weight_bytes: Vec<f64>,
}

impl Striping {
    /// All stages as one cascade, with the lowest stripes and no weights in SRAM.
    fn lowest(rows: &[i64], span: Span) -> Self {
        let whole = Span {
            first: 0,
            last: rows.len() - 1,
            ..span
        };
        Self {
            rows: rows.to_vec(),
            spans: vec![whole],
            weight_bytes: vec![0.0; rows.len()],
        }
    }
}

/// The choice of stripe heights for one cascade.
struct Stripes<'a, F> {
    accelerator: &'a Accelerator,
    stages: &'a [CascadeStage],
    limit_bytes: f64,
    stripe: &'a F,
    before: Option<Slack>,
}

impl<'a, F: Fn(&ScheduledOperation<'a>, Stripe) -> Option<ScheduledOperation<'a>>> Stripes<'_, F> {
    fn step(
        &self,
        steps: &[Option<ScheduledOperation<'a>>],
        stage: &CascadeStage,
        stripe: Stripe,
    ) -> Option<ScheduledOperation<'a>> {
        (self.stripe)(steps[stage.step].as_ref()?, stripe)
    }

    /// The highest stripes that fit; `None` if only the lowest do.
    fn highest(
        &self,
        steps: &[Option<ScheduledOperation<'a>>],
        min_rows: &[i64],
        rolling_bytes: f64,
        tries_left: &mut usize,
    ) -> Option<Striping> {
        let is_buffered = self.is_buffered(steps, min_rows, rolling_bytes);
        let last = self.stages.last()?;
        let from = min_rows.last()? + 1;
        let to = (last.ofm[0] + 1) / 2;
        let mut best = None;
        let mut max_spans = None;
        for height in from..=to {
            *tries_left = tries_left.saturating_sub(self.stages.len());
            if *tries_left == 0 {
                break;
            }
            let rows = self.rows(height);
            let weight_bytes: Vec<f64> = (self.stages.iter().zip(&rows).zip(&is_buffered).zip(0..))
                .map(|(((stage, &rows), &is_buffered), idx)| {
                    let stripe = Stripe::of(rows, idx == 0);
                    let step = is_buffered.then(|| self.step(steps, stage, stripe));
                    step.flatten()
                        .map_or(0.0, |step| step.execution.weight_bytes())
                })
                .collect();
            let spans = spans(self.stages, &rows, &weight_bytes, self.limit_bytes);
            let max = *max_spans.get_or_insert(spans.len());
            if spans.len() > max || self.bytes(&spans) > self.limit_bytes {
                break;
            }
            let is_empty = spans.is_empty();
            best = Some(Striping {
                rows,
                spans,
                weight_bytes,
            });
            if is_empty {
                break;
            }
        }
        best
    }

    /// Rows of each stage if the last one computes so many.
    fn rows(&self, last: i64) -> Vec<i64> {
        let mut rows = vec![last; self.stages.len()];
        for idx in (1..rows.len()).rev() {
            // All rows of an OFM are no stripe, nor are more.
            let all = self.stages[idx - 1].ofm[0];
            let stage = &self.stages[idx];
            rows[idx] = round_up(rows[idx], stage.upscale);
            rows[idx - 1] = (rows[idx] / stage.upscale * stage.stride_rows).min(all);
        }
        rows
    }

    /// Which stages have a weight buffer with the lowest stripes.
    fn is_buffered(
        &self,
        steps: &[Option<ScheduledOperation<'a>>],
        rows: &[i64],
        rolling_bytes: f64,
    ) -> Vec<bool> {
        let mut taken_bytes = rolling_bytes;
        let mut before = self.before;
        let mut is_buffered = Vec::with_capacity(rows.len());
        for (stage, &rows) in self.stages.iter().zip(rows) {
            let is_first = is_buffered.is_empty();
            let step = self.step(steps, stage, Stripe::of(rows, is_first));
            let room_bytes = (self.limit_bytes - taken_bytes).max(0.0);
            let buffer = step.map(|step| {
                let buffer = choose(self.accelerator, steps, &step, room_bytes, before);
                before = Some(buffer.slack(&step, room_bytes));
                buffer
            });
            let bytes = buffer.map_or(0.0, |buffer| buffer.bytes());
            taken_bytes += bytes;
            is_buffered.push(bytes > 0.0);
        }
        is_buffered
    }

    /// Peak bytes of SRAM if stages outside of cascades have their whole feature maps there.
    fn bytes(&self, spans: &[Span]) -> f64 {
        let is_apart = |idx: &usize| {
            !spans
                .iter()
                .any(|span| (span.first..=span.last).contains(idx))
        };
        let apart = (0..self.stages.len()).filter(is_apart);
        let whole = apart.map(|idx| {
            let stage = &self.stages[idx];
            stage.ifm_bytes + stage.ofm_bytes + stage.ifm2_bytes
        });
        let cascaded = spans.iter().map(|span| span.bytes);
        whole.chain(cascaded).fold(0.0, f64::max)
    }
}
