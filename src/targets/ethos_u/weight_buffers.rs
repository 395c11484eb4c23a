//! Which weights the compiler moves into SRAM before an operator reads them, and when.

use super::accelerator::{Accelerator, Transfer};
use super::blocks::Block;
use super::cycles::{Conditions, Part, operator_cycles, read_bytes, whole_cycles};
use super::geometry::{BRICK_CHANNELS, round_up};
use super::layer::Layer;
use super::program::WeightSharing;
use super::scheduled_operation::{Cascade, Execution, ScheduledOperation, Stripe};
use super::weights::encoded_bytes;
use crate::graph::analysis::ByteHistogram;

/// Cycles at the start that nobody misses.
const STARTUP_CYCLES: f64 = 1000.0;
/// Slices filled to less than this share of a block waste too much.
const LEAST_FILL: f64 = 0.3;

/// SRAM that holds weights of one operator.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Buffer {
    /// Two halves where weights come in slices, one piece otherwise, none where they are read off
    /// chip. Bytes.
    pub parts: [f64; 2],
    /// Whether the first part is filled while the operator before runs.
    pub is_prefetched: bool,
    /// Pieces that the weights come in; 0 where there is no buffer.
    pub n_slices: usize,
    /// Bytes of the first slice.
    pub first_bytes: f64,
    /// Cycles of the step before behind which its transfers can hide.
    pub slack_cycles: f64,
    /// Cycles of its last slice.
    pub last_slice_cycles: f64,
    /// Whether it is the one of the step before, with the same weights.
    pub is_shared: bool,
}

impl Buffer {
    pub fn bytes(&self) -> f64 {
        self.parts[0] + self.parts[1]
    }

    /// The part that the last slice is read from: with it alone the next operator's weights share
    /// the SRAM.
    fn last_part(&self) -> usize {
        let n_parts = if self.parts[1] > 0.0 { 2 } else { 1 };
        self.n_slices.saturating_sub(1) % n_parts
    }

    /// What is left beside it for the step after, where so much SRAM was there for it.
    pub fn slack(&self, step: &ScheduledOperation, room_bytes: f64) -> Slack {
        match self.n_slices {
            0 => Slack {
                cycles: step.cycles,
                bytes: room_bytes,
            },
            _ => Slack {
                cycles: self.last_slice_cycles,
                bytes: room_bytes - self.parts[self.last_part()],
            },
        }
    }

    /// Bytes in use at most, where so many are fetched for the operator after it.
    pub fn bytes_beside(&self, fetched_for_next: f64) -> f64 {
        let at_end = self.parts[self.last_part()] + fetched_for_next;
        self.bytes().max(at_end)
    }
}

/// Time and space that an operator leaves for fetching the next one's weights.
#[derive(Clone, Copy, Debug)]
pub struct Slack {
    pub cycles: f64,
    pub bytes: f64,
}

/// A buffer for each step, chosen as Vela 5.2.0 does: what shortens the operator, transfers being
/// hidden behind the operator before or behind its own slices. None is a node for which nothing runs.
pub fn buffers(
    accelerator: &Accelerator,
    steps: &[Option<ScheduledOperation>],
    cascades: &[Cascade],
) -> Vec<Buffer> {
    let mut before: Option<Slack> = None;
    let mut buffers = vec![Buffer::default(); steps.len()];
    let mut cascades = cascades.iter().peekable();
    // In SRAM while the current cascade runs.
    let mut weight_bytes = 0.0;
    for (idx, step) in steps.iter().enumerate() {
        let Some(step) = step else { continue };
        if step.is_of_cpu() {
            before = None;
            continue;
        }
        if cascades.next_if(|cascade| cascade.last < idx).is_some() {
            weight_bytes = 0.0;
        }
        let cascade = cascades.peek().filter(|cascade| cascade.first <= idx);
        let taken_bytes = cascade.map_or(0.0, |cascade| {
            // The compiler counts what it planned before beside what it has chosen by now.
            let own = step
                .stripe
                .map_or(0.0, |stripe| stripe.planned_weight_bytes);
            let planned = cascade.planned_weight_bytes - own;
            cascade.rolling_bytes + (planned + weight_bytes).max(0.0)
        });
        let room_bytes = (accelerator.sram_bytes() - taken_bytes).max(0.0);
        buffers[idx] = choose(accelerator, steps, step, room_bytes, before);
        before = Some(buffers[idx].slack(step, room_bytes));
        weight_bytes += buffers[idx].bytes();
    }
    buffers
}

/// The buffer of one of `steps`, where so much SRAM is left for it.
pub fn choose(
    accelerator: &Accelerator,
    steps: &[Option<ScheduledOperation>],
    step: &ScheduledOperation,
    room_bytes: f64,
    before: Option<Slack>,
) -> Buffer {
    let Execution::Weighted {
        layer,
        block,
        weight_bytes,
        histogram,
    } = step.execution
    else {
        return Buffer::default();
    };
    let reader = step.reader.and_then(|reader| steps[reader].as_ref());
    let weights = Weights {
        accelerator,
        layer,
        block,
        bytes: weight_bytes,
        histogram,
        room_bytes,
        unbuffered: Unbuffered::of(accelerator, step),
        reader: reader.map(|step| Unbuffered::of(accelerator, step)),
        can_move_input: step.can_move_input && accelerator.sram_limit_bytes.is_some(),
        stripe: step.stripe,
        sharing: step.sharing,
        before,
    };
    weights.buffer().unwrap_or_default()
}

/// What an operator waits for as long as no weights are buffered, in cycles.
#[derive(Clone, Copy, Debug)]
pub struct Unbuffered {
    pub computing: f64,
    pub weights: f64,
    pub input: f64,
    /// Of the input that is read at once.
    input_bytes: f64,
}

impl Unbuffered {
    pub fn of(accelerator: &Accelerator, step: &ScheduledOperation) -> Self {
        let Some((layer, block)) = step.execution.layer() else {
            return Self {
                computing: step.cycles,
                weights: 0.0,
                input: 0.0,
                input_bytes: step.bytes[0],
            };
        };
        let striped = striped(&layer, step.stripe);
        let repeats = repeats(&layer, step.stripe);
        let computing = match step.stripe {
            Some(_) => whole_cycles(accelerator, &striped, &block) * repeats,
            None => step.cycles,
        };
        let off_chip = &accelerator.weights_off_chip;
        let weights = match step.execution {
            Execution::Weighted { weight_bytes, .. } => {
                off_chip.cycles(weight_bytes) * block.weight_reads(&striped) as f64 * repeats
            }
            _ => 0.0,
        };
        Self {
            computing,
            weights,
            input: accelerator
                .input_off_chip
                .cycles(read_bytes(&striped, &block))
                * repeats,
            input_bytes: striped.ifm.iter().product::<i64>() as f64,
        }
    }

    pub fn is_computing_longest(&self) -> bool {
        self.computing > self.weights && self.computing > self.input
    }
}

/// The operator with the rows of one stripe only.
fn striped(layer: &Layer, stripe: Option<Stripe>) -> Layer {
    stripe.map_or(*layer, |stripe| layer.with_rows(stripe.rows))
}

/// How many stripes there are; the last may be a part of one.
fn repeats(layer: &Layer, stripe: Option<Stripe>) -> f64 {
    stripe.map_or(1.0, |stripe| {
        (layer.ofm[0] as f64 / stripe.rows.max(1) as f64).max(1.0)
    })
}

struct Weights<'a> {
    accelerator: &'a Accelerator,
    layer: Layer,
    block: Block,
    bytes: f64,
    histogram: &'a ByteHistogram,
    room_bytes: f64,
    unbuffered: Unbuffered,
    reader: Option<Unbuffered>,
    can_move_input: bool,
    stripe: Option<Stripe>,
    sharing: WeightSharing,
    before: Option<Slack>,
}

impl Weights<'_> {
    /// Of the whole operator.
    fn reads(&self) -> f64 {
        self.block.weight_reads(&self.layer) as f64 * repeats(&self.layer, self.stripe).ceil()
    }

    fn read(&self, from: &Transfer) -> f64 {
        from.cycles(self.bytes) * self.reads()
    }

    /// With weights and scales in a buffer.
    fn part_cycles(&self, layer: &Layer, part: Part) -> f64 {
        let conditions = Conditions {
            feature_maps: [self.accelerator.planned_feature_maps(); 2],
            scale_latency_cycles: self.accelerator.weights_buffered.latency_cycles,
            part,
        };
        operator_cycles(self.accelerator, layer, &self.block, conditions)
    }

    /// None where reading weights off chip is better.
    fn buffer(&self) -> Option<Buffer> {
        let accelerator = self.accelerator;
        let depth = self.layer.ofm[2];
        let transfer = accelerator.buffering.cycles(self.bytes);
        let unmoved = self.read(&accelerator.weights_off_chip);
        let buffered = self.read(&accelerator.weights_buffered);
        if buffered >= unmoved {
            return None;
        }
        let slack_cycles = self.before.map_or(0.0, |slack| slack.cycles);
        let slack_bytes = self.before.map_or(self.room_bytes, |slack| slack.bytes);
        let least_transfer = transfer * depth.min(BRICK_CHANNELS) as f64 / depth as f64;
        let many_reads = self.reads() > 1.0;
        let forced = self.before.is_none()
            && many_reads
            && (least_transfer < unmoved / 10.0 || least_transfer <= STARTUP_CYCLES);
        let can_prefetch =
            self.before.is_some() && self.stripe.is_none_or(|stripe| stripe.is_first);
        let is_bound = self.unbuffered.computing > unmoved;
        let visible = (transfer - slack_cycles).max(0.0);
        let is_shorter = buffered + visible < unmoved;
        let fits = self.bytes <= self.room_bytes;
        let is_whole = self.sharing != WeightSharing::None && fits && (is_shorter || !is_bound);
        let slices = match self.stripe {
            // Who has the same weights finds them there.
            _ if is_whole => vec![0, depth],
            None => {
                let is_promising = forced
                    || is_shorter
                    || depth / self.block.ofm[2] > 2
                    || can_prefetch && least_transfer < slack_cycles && many_reads;
                if !is_promising {
                    return None;
                }
                self.slices(slack_cycles, transfer, is_bound)?
            }
            // Stripes have no slices: all weights stay in SRAM while the cascade runs.
            Some(_) => {
                let n_stripes = repeats(&self.layer, self.stripe).ceil();
                let is_hidden =
                    visible < transfer / 20.0 || visible / n_stripes <= STARTUP_CYCLES - 1.0;
                if !(fits && (is_hidden || forced) && (is_shorter || !is_bound)) {
                    return None;
                }
                vec![0, depth]
            }
        };
        let slice_bytes = self.slice_bytes(&slices);
        let parts = self.parts(&slice_bytes)?;
        let is_prefetched = can_prefetch && parts[0] < slack_bytes;
        let usable = match (is_prefetched, forced) {
            (true, _) => slack_cycles,
            (false, true) => STARTUP_CYCLES,
            (false, false) => 0.0,
        };
        let run = self.run(&slices, &slice_bytes, usable, parts[1] > 0.0);
        let buffer = Buffer {
            parts,
            is_prefetched,
            n_slices: slice_bytes.len(),
            first_bytes: slice_bytes[0],
            slack_cycles,
            last_slice_cycles: run.last,
            is_shared: is_whole && self.sharing == WeightSharing::Again,
        };
        if is_whole {
            // The operation before it is mostly one of its own repeats.
            return Some(match buffer.is_shared {
                true => Buffer {
                    slack_cycles: run.last,
                    ..buffer
                },
                false => buffer,
            });
        }
        let weight_reads: f64 = (slice_bytes.iter())
            .map(|&bytes| accelerator.weights_buffered.cycles(bytes) * self.reads())
            .sum();
        let full = run.own + run.visible;
        let input = self.input(&slices, &parts, full.max(weight_reads), slack_bytes)?;
        let original = self.unbuffered.computing.max(unmoved).max(input);
        let mut new = full.max(weight_reads).max(input);
        let n_slices = slice_bytes.len();
        if is_bound {
            if run.visible / (n_slices as f64) < STARTUP_CYCLES {
                new -= run.visible;
            }
            if n_slices > 1 && full == new && forced {
                new -= n_slices as f64 * STARTUP_CYCLES / 2.0;
            }
        }
        let costs_more = original < new || !many_reads && transfer + weight_reads > original;
        (!costs_more).then_some(buffer)
    }

    /// Cycles to read the input beside weights that are buffered in such `parts`; none where the SRAM
    /// is better used for the input, or for that of the next operator. `buffered` is how long
    /// computing takes with these buffers.
    fn input(
        &self,
        slices: &[i64],
        parts: &[f64; 2],
        buffered: f64,
        slack_bytes: f64,
    ) -> Option<f64> {
        let accelerator = self.accelerator;
        let layer = striped(&self.layer, self.stripe);
        let repeats = repeats(&self.layer, self.stripe);
        let of_slice = |cut: &[i64]| read_bytes(&layer.with_depth(cut[1] - cut[0]), &self.block);
        let bytes: f64 = slices.windows(2).map(of_slice).sum();
        let is_in_sram = self.stripe.is_some_and(|stripe| !stripe.is_first)
            || accelerator.sram_limit_bytes.is_none();
        let staged = &accelerator.input_in_sram;
        if is_in_sram {
            return Some(staged.cycles(bytes) * repeats);
        }
        let off_chip = accelerator.input_off_chip.cycles(bytes) * repeats;
        if !self.can_move_input || self.stripe.is_some_and(|stripe| !stripe.is_first) {
            return Some(off_chip);
        }
        let own = &self.unbuffered;
        let buffer_bytes = parts[0] + parts[1];
        let both_fit = own.input_bytes + buffer_bytes <= self.room_bytes;
        let old_bytes = read_bytes(&layer, &self.block);
        let with_input = own.computing.max(own.weights).max(staged.cycles(old_bytes));
        let with_weights = buffered.max(off_chip);
        let is_better_moved = !both_fit
            && own.input_bytes < slack_bytes
            && with_input < with_weights
            && with_input < off_chip;
        if is_better_moved || self.leaves_room(off_chip, buffer_bytes, slack_bytes) {
            return None;
        }
        Some(match both_fit {
            true => staged.cycles(bytes),
            false => off_chip,
        })
    }

    /// Whether the next operator waits for its input, which has no room beside the buffer.
    fn leaves_room(&self, input_cycles: f64, buffer_bytes: f64, slack_bytes: f64) -> bool {
        self.reader.is_some_and(|reader| {
            let waits = !reader.is_computing_longest()
                && reader.weights > 0.0
                && reader.input > 2.0 * reader.weights
                && reader.input_bytes < self.room_bytes;
            let in_use = reader.input_bytes + self.unbuffered.input_bytes + buffer_bytes;
            let matters = self.unbuffered.is_computing_longest() || reader.input > input_cycles;
            waits && in_use > slack_bytes && matters
        })
    }

    /// Encoded bytes of the weights between such cuts: each slice is a stream of its own.
    fn slice_bytes(&self, cuts: &[i64]) -> Vec<f64> {
        if cuts.len() == 2 {
            return vec![self.bytes];
        }
        let of_slice = |cut: &[i64]| {
            let depth = cut[1] - cut[0];
            let share = depth as f64 / self.layer.ofm[2] as f64;
            let histogram = ByteHistogram {
                n_bytes: (self.histogram.n_bytes as f64 * share) as usize,
                ..self.histogram.clone()
            };
            let layer = self.layer.with_depth(depth);
            encoded_bytes(self.accelerator, &layer, &self.block, &histogram)
        };
        cuts.windows(2).map(of_slice).collect()
    }

    /// Output channels at which the weights are cut, from 0 to all of them.
    fn slices(&self, slack_cycles: f64, transfer: f64, is_bound: bool) -> Option<Vec<i64>> {
        let depth = self.layer.ofm[2];
        let half_room = self.room_bytes / 2.0;
        let least = (BRICK_CHANNELS as f64 / depth as f64).min(1.0);
        let hidden = (slack_cycles / transfer).min(1.0);
        let aligned = (hidden / least).floor() * least;
        let mut share = if 1.0 - aligned < least / 2.0 {
            1.0
        } else {
            hidden
        };
        if is_bound && share > 0.5 && share < 1.0 {
            share = round_up((depth as f64 * 0.5) as i64, BRICK_CHANNELS) as f64 / depth as f64;
            share = share.clamp(0.5, 1.0);
        }
        share = share.max(least).min((half_room / self.bytes).min(1.0));
        let mut first = (depth as f64 * share) as i64;
        let granule = self.block.ofm[2];
        first = (first / BRICK_CHANNELS * BRICK_CHANNELS).max(BRICK_CHANNELS);
        if share >= 1.0 || first >= depth {
            return Some(vec![0, depth]);
        }
        let part = Part {
            is_first: true,
            is_last: false,
        };
        let first_layer = self.layer.with_depth(first);
        let cycles = self.part_cycles(&first_layer, part);
        let mut next = (depth as f64 * cycles / transfer) as i64;
        next = round_up(next.max(BRICK_CHANNELS), granule);
        if next as f64 / depth as f64 * self.bytes > half_room {
            next = (half_room / self.bytes * depth as f64) as i64;
        }
        let mut cuts = vec![0, depth];
        while next != 0 {
            let to = if next > granule {
                granule
            } else {
                BRICK_CHANNELS
            };
            next = (next / to * to).max(BRICK_CHANNELS);
            cuts = vec![0];
            let mut cut = first;
            while cut < depth {
                cuts.push(cut);
                cut += next;
            }
            cuts.push(depth);
            let widest = cuts
                .windows(2)
                .map(|cut| cut[1] - cut[0])
                .max()
                .unwrap_or(0);
            let fits = widest as f64 / depth as f64 * self.bytes <= half_room;
            if fits || first == BRICK_CHANNELS && next == BRICK_CHANNELS {
                break;
            }
            let before = (first, next);
            match next > first {
                true => next = round_up(next / 2, BRICK_CHANNELS),
                false => first = round_up(first / 2, BRICK_CHANNELS),
            }
            if before == (first, next) {
                break;
            }
        }
        let filled = next as f64 / round_up(next, granule) as f64;
        (cuts.len() <= 3 || !is_bound || filled >= LEAST_FILL).then_some(cuts)
    }

    /// Two halves if there are slices and both fit, else one piece.
    fn parts(&self, slice_bytes: &[f64]) -> Option<[f64; 2]> {
        let largest = |offset: usize| {
            let every_other = slice_bytes.iter().skip(offset).step_by(2);
            every_other.copied().fold(0.0, f64::max)
        };
        let [even, odd] = [largest(0), largest(1)];
        let widest = even.max(odd);
        if even + odd <= self.room_bytes && widest < self.bytes {
            return Some([even, odd]);
        }
        (widest <= self.room_bytes).then_some([widest, 0.0])
    }

    fn run(&self, slices: &[i64], slice_bytes: &[f64], usable: f64, is_double: bool) -> Run {
        let mut run = Run {
            own: 0.0,
            visible: 0.0,
            last: 0.0,
        };
        let mut slack = usable;
        let n_slices = slice_bytes.len();
        for (idx, &bytes) in slice_bytes.iter().enumerate() {
            let layer = striped(&self.layer, self.stripe).with_depth(slices[idx + 1] - slices[idx]);
            let part = Part {
                is_first: idx == 0,
                is_last: idx + 1 == n_slices,
            };
            run.last = self.part_cycles(&layer, part);
            let transfer = self.accelerator.buffering.cycles(bytes);
            run.visible += (transfer - slack).max(0.0);
            run.own += run.last;
            slack = if is_double { run.last } else { 0.0 };
        }
        run.own *= repeats(&self.layer, self.stripe);
        run
    }
}

struct Run {
    own: f64,
    /// Transfers that nothing hides.
    visible: f64,
    /// Of the last slice.
    last: f64,
}
