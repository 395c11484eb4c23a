//! The number of rows that the operations of a cascade compute at a time. Reproduces `ProposeMinimalSchedule`,
//! `OptimizeSubSchedule` and `ProposeScheduleStriping`.

use super::spans::{Span, StagedCascade, spans};
use super::{CascadeStage, InSram, RangeInSram, lowest_rows};
use crate::targets::ethos_u::accelerator::Accelerator;
use crate::targets::ethos_u::geometry::round_up;
use crate::targets::ethos_u::index::OptionalIndex;
use crate::targets::ethos_u::scheduled_operation::{
    Cascade, ScheduledOperation, SharedExecutions, Stripe,
};
use crate::targets::ethos_u::weight_buffers::{Buffer, Slack, choose};

/// Limit of operations times stripe heights that are tried for a graph, which take some tenths of a second. Sampled
/// networks need about a hundred; a file made to exceed the limit gets the highest stripes found so far.
const MAX_TRIES: usize = 1 << 14;

/// The SRAM of a schedule.
#[derive(Clone, Copy, Debug)]
pub struct Sram<'a> {
    /// Bytes that the schedule may fill.
    pub limit_bytes: f64,
    /// By step, bytes of feature maps and rolling buffers with the lowest stripes.
    pub used_bytes: &'a [f64],
}

impl Sram<'_> {
    fn free_bytes(&self, step: usize) -> f64 {
        (self.limit_bytes - self.used_bytes[step]).max(0.0)
    }
}

/// The cascades of a schedule, from those that were found with the lowest stripes. They have stripes as high as possible.
/// Their scheduled operations are replaced by striped ones, which `stripe` makes. Linear in stages, except for the
/// heights that are tried.
pub fn cascades<'a>(
    accelerator: &Accelerator,
    cascaded: Vec<StagedCascade>,
    sram: Sram,
    steps: &mut [Option<ScheduledOperation<'a>>],
    stripe: impl Fn(&ScheduledOperation<'a>, Stripe) -> Option<ScheduledOperation<'a>>,
) -> Vec<Cascade> {
    let mut cascades = Vec::new();
    let mut tries_left = MAX_TRIES;
    let mut known = SharedExecutions::for_program(steps.len());
    for StagedCascade { span, stages } in cascaded {
        let lowest = &lowest_rows(&stages);
        let stripes = Stripes {
            accelerator,
            limit_bytes: sram.limit_bytes,
            free_bytes: sram.free_bytes(stages[0].step),
            stripe: &stripe,
            before: (stages[0].before.get())
                .and_then(|before| steps[before].as_ref())
                .map(|step| Buffer::default().slack(step, sram.limit_bytes)),
            stages: stages_of_cascade(&stages, &span, sram, accelerator.has_dedicated_sram),
        };
        let highest = stripes.highest_stripes(steps, lowest, &mut tries_left);
        let Striping {
            rows,
            spans,
            weight_bytes,
        } = highest.unwrap_or_else(|| Striping::with_lowest_stripes(lowest, span));
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
                if let Some(mut step) = stripes.step(steps, stage, stripe) {
                    step.share(&mut known);
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

/// The stages of a cascade, each with the contents of SRAM besides the whole cascade.
fn stages_of_cascade(
    stages: &[CascadeStage],
    span: &Span,
    sram: Sram,
    has_dedicated_sram: bool,
) -> Vec<CascadeStage> {
    let (Some(first), Some(last)) = (stages.first(), stages.last()) else {
        return Vec::new();
    };
    let parallel_bytes = (sram.used_bytes[first.step] - span.local_bytes).max(0.0);
    // If other operations also read the IFM, it stays in SRAM as a whole while all stages run.
    let kept_bytes = if !has_dedicated_sram && first.in_sram.is_ifm_shared {
        first.ifm_bytes
    } else {
        0.0
    };
    let whole_range = |range: RangeInSram| RangeInSram {
        steps: Some((first.step, last.step)).into(),
        bytes: kept_bytes,
        ..range
    };
    let stage_inside = |stage: &CascadeStage| {
        let is_first = stage.step == first.step;
        let beside_bytes = parallel_bytes + if is_first { 0.0 } else { kept_bytes };
        let InSram {
            maps, ifm_range, ..
        } = stage.in_sram;
        CascadeStage {
            in_sram: InSram {
                alive_bytes: maps.ifm + maps.ofm + beside_bytes,
                beside_bytes,
                ifm_range: ifm_range.filter(|_| is_first).map(whole_range),
                ofm_range: OptionalIndex::NONE,
                ..stage.in_sram
            },
            alive_before_bytes: 0.0,
            ..*stage
        }
    };
    stages.iter().map(stage_inside).collect()
}

/// A choice of stripes for the stages of one cascade, which may divide it into several cascades.
struct Striping {
    /// Rows of each stage.
    rows: Vec<i64>,
    spans: Vec<Span>,
    /// By stage, bytes of weights that are reserved in SRAM.
    weight_bytes: Vec<f64>,
}

impl Striping {
    /// All stages as one cascade, with the lowest stripes and no weights in SRAM.
    fn with_lowest_stripes(rows: &[i64], span: Span) -> Self {
        Self {
            rows: rows.to_vec(),
            spans: vec![span],
            weight_bytes: vec![0.0; rows.len()],
        }
    }
}

/// The choice of stripe heights for one cascade.
struct Stripes<'a, F> {
    accelerator: &'a Accelerator,
    stages: Vec<CascadeStage>,
    limit_bytes: f64,
    /// Bytes that are left for weights beside feature maps and the rolling buffers of the lowest stripes.
    free_bytes: f64,
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
    fn highest_stripes(
        &self,
        steps: &[Option<ScheduledOperation<'a>>],
        min_rows: &[i64],
        tries_left: &mut usize,
    ) -> Option<Striping> {
        let is_buffered = self.is_buffered(steps, min_rows);
        let last = self.stages.last()?;
        let granule = i64::from(last.upscale.max(1));
        let from = round_up(min_rows.last()? + 1, granule);
        let to = i64::from((last.ofm[0] + 1) / 2);
        let mut best = None;
        let mut max_spans = None;
        for height in (from..=to).step_by(usize::try_from(granule).unwrap_or(1)) {
            *tries_left = tries_left.saturating_sub(self.stages.len());
            if *tries_left == 0 {
                break;
            }
            let rows = self.rows(height);
            let weight_bytes: Vec<f64> = (self.stages.iter().zip(&rows).zip(&is_buffered).zip(0..))
                .map(|(((stage, &rows), &is_buffered), idx)| {
                    let stripe = Stripe::new(rows, idx == 0);
                    let step = is_buffered.then(|| self.step(steps, stage, stripe));
                    step.flatten()
                        .map_or(0.0, |step| step.execution.weight_bytes())
                })
                .collect();
            let spans = spans(
                &self.stages,
                &rows,
                &weight_bytes,
                self.limit_bytes,
                self.accelerator.has_dedicated_sram,
            );
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

    /// Rows of each stage if the last stage computes `last` rows.
    fn rows(&self, last: i64) -> Vec<i64> {
        let mut rows = vec![last; self.stages.len()];
        for idx in (1..rows.len()).rev() {
            // A stripe of all rows, or of more, is not a stripe.
            let all = i64::from(self.stages[idx - 1].ofm[0]);
            let stage = &self.stages[idx];
            let upscale = i64::from(stage.upscale);
            rows[idx] = round_up(rows[idx], upscale);
            rows[idx - 1] = (rows[idx] / upscale * i64::from(stage.stride_rows)).min(all);
        }
        rows
    }

    /// By stage, whether it has a weight buffer with the lowest stripes.
    fn is_buffered(&self, steps: &[Option<ScheduledOperation<'a>>], rows: &[i64]) -> Vec<bool> {
        let mut weight_bytes = 0.0;
        let mut before = self.before;
        let mut is_buffered = Vec::with_capacity(rows.len());
        for (stage, &rows) in self.stages.iter().zip(rows) {
            let is_first = is_buffered.is_empty();
            let step = self.step(steps, stage, Stripe::new(rows, is_first));
            let room_bytes = (self.free_bytes - weight_bytes).max(0.0);
            let buffer = step.map(|step| {
                let buffer = choose(self.accelerator, steps, &step, room_bytes, before);
                before = Some(buffer.slack(&step, room_bytes));
                buffer
            });
            let bytes = buffer.map_or(0.0, |buffer| buffer.bytes());
            weight_bytes += bytes;
            is_buffered.push(bytes > 0.0);
        }
        is_buffered
    }

    /// Peak SRAM in bytes if stages outside of cascades have their whole feature maps in SRAM.
    fn bytes(&self, spans: &[Span]) -> f64 {
        let is_apart = |idx: &usize| {
            !spans
                .iter()
                .any(|span| (span.first..=span.last).contains(idx))
        };
        let apart = (0..self.stages.len()).filter(is_apart);
        let whole = apart.map(|idx| {
            let stage = &self.stages[idx];
            stage.ifm_bytes + stage.ofm_bytes + stage.ifm2_bytes + stage.in_sram.beside_bytes
        });
        let cascaded = spans.iter().map(|span| span.bytes);
        whole.chain(cascaded).fold(0.0, f64::max)
    }
}
