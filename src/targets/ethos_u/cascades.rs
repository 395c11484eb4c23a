//! Operators that run in turn, a stripe of rows each, so that what passes between them never lies
//! anywhere whole.

use super::accelerator::Accelerator;
use super::flow::Flow;
use super::geometry::{BRICK_CHANNELS, Hwc, ceil_div, round_up};
use super::layer::Kind;
use super::order::Order;
use super::program::Program;
use super::scheduled_operation::{Cascade, ScheduledOperation, Stripe};
use super::weight_buffers::{Buffer, Slack, choose};

/// Operators times heights of their stripes that are tried in a graph, some tenths of a second's worth.
/// Beyond them the highest found so far stand. Sampled networks need a hundred; this bounds what a file
/// made for it can cost.
const MAX_TRIES: usize = 1 << 14;

/// What a step is to its neighbours.
#[derive(Clone, Copy, Debug)]
pub struct CascadeStage {
    /// Index of the step.
    pub step: usize,
    pub ifm: Hwc,
    pub ofm: Hwc,
    /// Rows that a row of the output needs, dilated.
    pub kernel_rows: i64,
    pub stride_rows: i64,
    /// Rows that each of the input counts as.
    pub upscale: i64,
    /// Of input and output in memory.
    pub bytes: [f64; 2],
    /// Of its other input.
    pub other_bytes: f64,
    pub can_be_striped: bool,
    /// Whether it alone reads the output of the link before.
    pub follows: bool,
    /// Whether its output can lie over its input.
    pub is_in_place: bool,
}

impl CascadeStage {
    /// Rows of the input for so many of the output.
    fn input_rows(&self, rows: i64) -> i64 {
        let seen = (rows - 1) * self.stride_rows + self.kernel_rows;
        ceil_div(seen, self.upscale).clamp(1, self.ifm[0].max(1))
    }

    /// Bytes that hold rows on their way from `before`, as it computes so many at once, to this link.
    fn rolling_bytes(&self, before: &CascadeStage, rows_before: i64, rows: i64) -> f64 {
        let needed = self.input_rows(rows);
        let height = round_up(rows_before + needed, needed);
        (height * self.ifm[1] * round_up(before.ofm[2], BRICK_CHANNELS)) as f64
    }

    /// Of the whole operator.
    fn whole_bytes(&self) -> f64 {
        match self.is_in_place && self.bytes[0] == self.bytes[1] {
            true => self.bytes[0],
            false => self.bytes[0] + self.bytes[1],
        }
    }
}

/// The steps for which something runs, as cascades see them.
pub fn links(
    program: &Program,
    order: &Order,
    flow: &Flow,
    steps: &[Option<ScheduledOperation>],
) -> Vec<CascadeStage> {
    let mut links: Vec<CascadeStage> = Vec::new();
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
        let follows = is_brick && links.last().is_some_and(is_alone);
        links.push(CascadeStage {
            step: idx,
            ifm,
            ofm,
            kernel_rows: layer.map_or(1, |layer| layer.dilated_kernel(0)),
            stride_rows: layer.map_or(1, |layer| layer.stride[0]),
            upscale: layer.map_or(1, |layer| layer.upscale),
            bytes: [maps[input].stored_bytes(), maps[output].stored_bytes()],
            other_bytes: (activations.next()).map_or(0.0, |map_idx| maps[map_idx].stored_bytes()),
            can_be_striped: has_rows && !is_chained && step.pieces == 1.0,
            follows,
            is_in_place: is_elementwise,
        });
    }
    links
}

/// Links `first..=last` of a list.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    first: usize,
    last: usize,
    /// What is on its way, and weights.
    bytes: f64,
    rolling_bytes: f64,
}

/// The cascades that Vela 5.2.0 makes where the SRAM does not hold all feature maps: of operators
/// whose input and output do not fit together, as long as stripes of them do, with stripes as high as
/// fit. Replaces the steps of their operators by striped ones, which `stripe` makes of a step. Linear in
/// `links`, but for the heights that are tried.
pub fn cascades<'a>(
    accelerator: &Accelerator,
    links: &[CascadeStage],
    steps: &mut [Option<ScheduledOperation<'a>>],
    stripe: impl Fn(&ScheduledOperation<'a>, Stripe) -> Option<ScheduledOperation<'a>>,
) -> Vec<Cascade> {
    let Some(limit_bytes) = accelerator.sram_limit_bytes else {
        return Vec::new();
    };
    let least_rows = |idx: usize| {
        let rows = links.get(idx + 1).map_or(1, |next| next.stride_rows);
        round_up(rows, links[idx].upscale)
    };
    let rows: Vec<i64> = (0..links.len()).map(least_rows).collect();
    let no_weights = vec![0.0; links.len()];
    let limit_bytes = limit_bytes as f64;
    let mut cascades = Vec::new();
    let mut tries_left = MAX_TRIES;
    for run in runs(links, &rows, &no_weights, limit_bytes) {
        let stripes = Stripes {
            accelerator,
            links: &links[run.first..=run.last],
            limit_bytes,
            stripe: &stripe,
            before: (run.first.checked_sub(1))
                .and_then(|before| steps[links[before].step])
                .map(|step| Buffer::default().slack(&step, limit_bytes)),
        };
        let least = &rows[run.first..=run.last];
        let (rows, found, planned) =
            (stripes.highest(steps, least, run.rolling_bytes, &mut tries_left)).unwrap_or_else(
                || {
                    let whole = Run {
                        first: 0,
                        last: least.len() - 1,
                        ..run
                    };
                    (least.to_vec(), vec![whole], vec![0.0; least.len()])
                },
            );
        for part in found {
            let of_links = part.first..=part.last;
            let links = &stripes.links[of_links.clone()];
            for idx in of_links.clone() {
                let link = &stripes.links[idx];
                let stripe = Stripe {
                    rows: rows[idx],
                    is_first: idx == part.first,
                    planned_weight_bytes: planned[idx],
                };
                if let Some(step) = stripes.step(steps, link, stripe) {
                    steps[link.step] = Some(step);
                }
            }
            cascades.push(Cascade {
                first: links[0].step,
                last: links[links.len() - 1].step,
                rolling_bytes: part.rolling_bytes,
                planned_weight_bytes: planned[of_links].iter().sum(),
            });
        }
    }
    cascades
}

/// Cascades of stripes with so many `rows`, and so many bytes of weights in SRAM.
fn runs(links: &[CascadeStage], rows: &[i64], weight_bytes: &[f64], limit_bytes: f64) -> Vec<Run> {
    let is_striped = |idx: usize| links[idx].can_be_striped && rows[idx] < links[idx].ofm[0];
    let mut runs = Vec::new();
    let mut first = 0;
    while first < links.len() {
        let start = first;
        first += 1;
        if !is_striped(start) {
            continue;
        }
        let mut rolling_bytes = 0.0;
        let mut weights = weight_bytes[start];
        // Bytes between the two links before.
        let mut previous = None;
        let mut best: Option<Run> = None;
        for idx in start + 1..links.len() {
            let link = &links[idx];
            if !link.follows || !is_striped(idx) {
                break;
            }
            let before = &links[idx - 1];
            let between = link.rolling_bytes(before, rows[idx - 1], rows[idx]);
            let is_reused = before.is_in_place && previous == Some(between);
            rolling_bytes += if is_reused { 0.0 } else { between };
            previous = Some(between);
            weights += weight_bytes[idx];
            let bytes = rolling_bytes + weights;
            if link.whole_bytes() < limit_bytes || bytes > limit_bytes {
                break;
            }
            best = Some(Run {
                first: start,
                last: idx,
                bytes,
                rolling_bytes,
            });
        }
        if let Some(run) = best {
            first = run.last + 1;
            runs.push(run);
        }
    }
    runs
}

/// The choice of stripes for one cascade.
struct Stripes<'a, F> {
    accelerator: &'a Accelerator,
    links: &'a [CascadeStage],
    limit_bytes: f64,
    stripe: &'a F,
    before: Option<Slack>,
}

impl<'a, F: Fn(&ScheduledOperation<'a>, Stripe) -> Option<ScheduledOperation<'a>>> Stripes<'_, F> {
    fn step(
        &self,
        steps: &[Option<ScheduledOperation<'a>>],
        link: &CascadeStage,
        stripe: Stripe,
    ) -> Option<ScheduledOperation<'a>> {
        (self.stripe)(steps[link.step].as_ref()?, stripe)
    }

    /// Rows of each link, the cascades they make and the bytes of weights they count with, for the
    /// highest stripes that fit; none where none but the least do.
    fn highest(
        &self,
        steps: &[Option<ScheduledOperation<'a>>],
        least_rows: &[i64],
        rolling_bytes: f64,
        tries_left: &mut usize,
    ) -> Option<(Vec<i64>, Vec<Run>, Vec<f64>)> {
        let is_buffered = self.is_buffered(steps, least_rows, rolling_bytes);
        let last = self.links.last()?;
        let from = least_rows.last()? + 1;
        let to = (last.ofm[0] + 1) / 2;
        let mut best = None;
        let mut most_runs = None;
        for height in from..=to {
            *tries_left = tries_left.saturating_sub(self.links.len());
            if *tries_left == 0 {
                break;
            }
            let rows = self.rows(height);
            let weight_bytes: Vec<f64> = (self.links.iter().zip(&rows).zip(&is_buffered).zip(0..))
                .map(|(((link, &rows), &is_buffered), idx)| {
                    let stripe = Stripe::of(rows, idx == 0);
                    let step = is_buffered.then(|| self.step(steps, link, stripe));
                    step.flatten()
                        .map_or(0.0, |step| step.execution.weight_bytes())
                })
                .collect();
            let runs = runs(self.links, &rows, &weight_bytes, self.limit_bytes);
            let most = *most_runs.get_or_insert(runs.len());
            if runs.len() > most || self.bytes(&runs) > self.limit_bytes {
                break;
            }
            let is_empty = runs.is_empty();
            best = Some((rows, runs, weight_bytes));
            if is_empty {
                break;
            }
        }
        best
    }

    /// Rows of each link where the last computes so many.
    fn rows(&self, last: i64) -> Vec<i64> {
        let mut rows = vec![last; self.links.len()];
        for idx in (1..rows.len()).rev() {
            // Rows of a whole operator are no stripe, nor are more.
            let most = self.links[idx - 1].ofm[0];
            let link = &self.links[idx];
            rows[idx] = round_up(rows[idx], link.upscale);
            rows[idx - 1] = (rows[idx] / link.upscale * link.stride_rows).min(most);
        }
        rows
    }

    /// Whose weights are in SRAM while stripes are lowest.
    fn is_buffered(
        &self,
        steps: &[Option<ScheduledOperation<'a>>],
        rows: &[i64],
        rolling_bytes: f64,
    ) -> Vec<bool> {
        let mut taken_bytes = rolling_bytes;
        let mut before = self.before;
        let mut is_buffered = Vec::with_capacity(rows.len());
        for (link, &rows) in self.links.iter().zip(rows) {
            let is_first = is_buffered.is_empty();
            let step = self.step(steps, link, Stripe::of(rows, is_first));
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

    /// SRAM in use at most, if what is in no cascade lay there whole.
    fn bytes(&self, runs: &[Run]) -> f64 {
        let is_apart = |idx: &usize| !runs.iter().any(|run| (run.first..=run.last).contains(idx));
        let apart = (0..self.links.len()).filter(is_apart);
        let whole = apart.map(|idx| {
            let link = &self.links[idx];
            link.bytes[0] + link.bytes[1] + link.other_bytes
        });
        let cascaded = runs.iter().map(|run| run.bytes);
        whole.chain(cascaded).fold(0.0, f64::max)
    }
}
