//! Which weights are moved from off-chip memory into SRAM before the multipliers read them, in how many slices, and
//! behind which operations the transfers hide.
//!
//! Reproduces `ProposeScheduleBuffering`, `ProposeWeightBuffering`, `ProposeSlicedWeightBuffering`,
//! `TryWeightBuffering`, `EstimateSlicedOpPerformance` and `PreferFutureOpPerformance` of Vela's
//! `scheduler.cpp`, as described under "Weight buffers" in `docs/method/ethos-u.md`.

mod buffer;
mod slices;
mod slicing;
mod unbuffered;

use self::slices::{Slices, sum_after_additions};
use self::slicing::Slicing;
use self::unbuffered::{n_stripes, striped};
use super::accelerator::{Accelerator, Transfer};
use super::blocks::Block;
use super::cycles::{CycleContext, Part, operator_cycles, read_bytes};
use super::geometry::{BRICK_CHANNELS, IfmOfm, round_down, round_up};
use super::layer::{Layer, UNCHANGED};
use super::program::WeightSharing;
use super::scheduled_operation::{Cascade, Execution, ScheduledOperation, Stripe};
use super::weights::{encoded_bytes, scale_bytes};
use crate::graph::analysis::ByteHistogram;

pub use self::buffer::{Buffer, Buffers, Slack};
pub use self::unbuffered::Unbuffered;

/// Start-up cycles of an operation: transfers that stay visible for less than this, and transfers before the first
/// operation, count as hidden (`STARTUP_DELAY_CYCLES` in Vela).
const STARTUP_CYCLES: f64 = 1000.0;
/// A whole buffer in a cascade counts as hidden if less than this share of its transfer is visible.
const MAX_VISIBLE_SHARE: f64 = 1.0 / 20.0;
/// Without a previous operation, weights are buffered only if the first slice arrives in less than this share
/// of the time that reading all of them off chip takes.
const MAX_INITIAL_SHARE: f64 = 1.0 / 10.0;
/// Slices that fill less than this share of a block leave too many multipliers idle.
const MIN_BLOCK_FILL: f64 = 0.3;

/// The buffer of each scheduled operation. `None` is an operation for which no command runs. `room_bytes` by operation:
/// SRAM that feature maps and rolling buffers leave.
pub fn buffers(
    accelerator: &Accelerator,
    operations: &[Option<ScheduledOperation>],
    cascades: &[Cascade],
    room_bytes: &[f64],
) -> Buffers {
    let mut before: Option<Slack> = None;
    let mut buffers = Buffers::none(operations.len());
    let mut cascades = cascades.iter().peekable();
    // Buffers of the current cascade: they stay in SRAM until it ends.
    let mut cascade_weight_bytes = 0.0;
    for (idx, operation) in operations.iter().enumerate() {
        let Some(operation) = operation else { continue };
        if operation.is_of_cpu() {
            before = None;
            continue;
        }
        if cascades.next_if(|cascade| cascade.last < idx).is_some() {
            cascade_weight_bytes = 0.0;
        }
        let cascade = cascades.peek().filter(|cascade| cascade.first <= idx);
        let taken_bytes = cascade.map_or(0.0, |cascade| {
            // Vela also counts what the cascade reserved for other operations and their buffers.
            let weight_bytes = operation.stripe.map_or(0.0, |one| one.planned_weight_bytes);
            let reserved = cascade.planned_weight_bytes - weight_bytes;
            (reserved + cascade_weight_bytes).max(0.0)
        });
        let room_bytes = (room_bytes[idx] - taken_bytes).max(0.0);
        let mut buffer = choose(accelerator, operations, operation, room_bytes, before);
        if buffer.is_shared && operation.pieces > 1.0 {
            let slack = Some(buffer.slack(operation, room_bytes));
            let behind = choose(accelerator, operations, operation, room_bytes, slack);
            buffer.alternates = behind.n_slices == 0;
            buffer.is_shared = !buffer.alternates;
        }
        if buffer.alternates {
            buffer.slack_cycles = before.map_or(0.0, |slack| slack.cycles);
        }
        before = Some(buffer.slack(operation, room_bytes));
        cascade_weight_bytes += buffer.bytes();
        buffers.set(idx, buffer);
    }
    buffers
}

/// The buffer of one of `operations`, if `room_bytes` of SRAM are left for it. `before` is `None` if no operation of
/// the accelerator runs before it. Thousands of slices take as long as three.
pub fn choose(
    accelerator: &Accelerator,
    operations: &[Option<ScheduledOperation>],
    operation: &ScheduledOperation,
    room_bytes: f64,
    before: Option<Slack>,
) -> Buffer {
    let choice = BufferChoice::new(accelerator, operations, operation, room_bytes, before);
    choice
        .and_then(|choice| choice.buffer())
        .unwrap_or_default()
}

/// The weights of an operation, and the operation that reads them.
struct Weights<'a> {
    accelerator: &'a Accelerator,
    layer: Layer,
    block: Block,
    /// Encoded bytes.
    bytes: f64,
    histogram: &'a ByteHistogram,
    stripe: Option<Stripe>,
    sharing: WeightSharing,
}

impl Weights<'_> {
    fn n_stripes(&self) -> f64 {
        n_stripes(&self.layer, self.stripe)
    }

    /// Minimum number of output channels of a slice after the first: Ethos-U85 computes whole micro blocks.
    fn granule(&self) -> i64 {
        let is_micro = self.accelerator.is_u85();
        if is_micro {
            self.block.micro[2].max(BRICK_CHANNELS)
        } else {
            BRICK_CHANNELS
        }
    }

    fn is_inside_cascade(&self) -> bool {
        self.stripe.is_some_and(|stripe| !stripe.is_first)
    }

    /// How many times all weights are read.
    fn n_reads(&self) -> f64 {
        self.block.weight_reads(&self.layer) as f64 * self.n_stripes().ceil()
    }

    /// How many times the stripes read all weights, as the compiler counts when it compares an operation with and
    /// without a buffer.
    fn n_reads_of_stripes(&self) -> f64 {
        let layer = striped(&self.layer, self.stripe);
        self.block.weight_reads(&layer) as f64 * self.n_stripes()
    }

    /// Cycles of all reads of `bytes` of weights.
    fn read_cycles(&self, from: &Transfer, bytes: f64) -> f64 {
        from.cycles(bytes) * self.n_reads()
    }

    /// Cycles of one slice of the operation, with its weights and scales in SRAM.
    fn slice_cycles(&self, layer: &Layer, part: Part) -> f64 {
        let mut feature_maps = IfmOfm::both(self.accelerator.planned_feature_maps());
        if self.is_inside_cascade() {
            feature_maps.ifm = self.accelerator.sram;
        }
        let conditions = CycleContext {
            feature_maps,
            scale_latency_cycles: self.accelerator.weights_buffered.latency_cycles,
            part,
        };
        operator_cycles(self.accelerator, layer, &self.block, conditions)
    }

    /// Bytes of scales and biases of all slices.
    fn scale_bytes(&self, slicing: Slicing) -> f64 {
        let channels = slicing.channels();
        let bytes = channels.map(|n| scale_bytes(self.accelerator, n, self.block.micro[2]));
        bytes.sum()
    }

    /// Encoded bytes of each slice, which is a weight stream of its own.
    fn slice_bytes(&self, slicing: Slicing) -> Slices<f64> {
        let of_slice = |channels: i64| {
            let share = channels as f64 / slicing.depth as f64;
            let histogram = ByteHistogram {
                n_bytes: (self.histogram.n_bytes as f64 * share) as usize,
                ..self.histogram.clone()
            };
            let layer = self.layer.with_depth(channels);
            encoded_bytes(self.accelerator, &layer, &self.block, &histogram)
        };
        let channels = slicing.channels();
        match channels.n() {
            1 => Slices::one(self.bytes),
            _ => channels.map(of_slice),
        }
    }
}

/// Cycles that decide whether a buffer is worth trying.
#[derive(Clone, Copy)]
struct TrialCycles {
    /// Fetching all weights once.
    transfer: f64,
    /// Fetching one brick of output channels.
    brick_transfer: f64,
    /// The part of the transfer that the previous operation does not hide.
    visible: f64,
    /// Reading all weights for all blocks, off chip and from SRAM.
    reads_off_chip: f64,
    reads_buffered: f64,
}

impl TrialCycles {
    fn new(weights: &Weights, before: Option<Slack>) -> Self {
        let accelerator = weights.accelerator;
        let depth = weights.layer.computed_channels();
        let transfer = accelerator.buffering.cycles(weights.bytes);
        let slack_cycles = before.map_or(0.0, |slack| slack.cycles);
        Self {
            transfer,
            brick_transfer: transfer * depth.min(BRICK_CHANNELS) as f64 / depth as f64,
            visible: (transfer - slack_cycles).max(0.0),
            reads_off_chip: weights.read_cycles(&accelerator.weights_off_chip, weights.bytes),
            reads_buffered: weights.read_cycles(&accelerator.weights_buffered, weights.bytes),
        }
    }

    fn is_whole_buffer_faster(&self) -> bool {
        self.reads_buffered + self.visible < self.reads_off_chip
    }
}

/// How a buffer holds the weights.
#[derive(Clone, Copy, PartialEq)]
enum Buffering {
    /// All of them, because the next operation also reads them.
    WholeForNext,
    /// All of them: a cascade keeps its weights in SRAM between stripes, and an operation whose OFM is transposed
    /// has no slices.
    Whole,
    /// Slice by slice.
    Sliced,
}

/// Cycles of an operation with a buffer.
struct BufferedCycles {
    computing: f64,
    /// Transfers that are not hidden.
    visible: f64,
    last_slice: f64,
}

/// The choice of a buffer for one operation.
struct BufferChoice<'a> {
    weights: Weights<'a>,
    times: TrialCycles,
    room_bytes: f64,
    unbuffered: Unbuffered,
    /// The next operation that reads the OFM.
    reader: Option<Unbuffered>,
    can_move_input: bool,
    before: Option<Slack>,
}

impl<'a> BufferChoice<'a> {
    /// As [`choose`]; `None` if the operation has no weights.
    fn new(
        accelerator: &'a Accelerator,
        operations: &[Option<ScheduledOperation<'a>>],
        operation: &ScheduledOperation<'a>,
        room_bytes: f64,
        before: Option<Slack>,
    ) -> Option<Self> {
        let Execution::Weighted {
            ref divided,
            weight_bytes,
            histogram,
        } = operation.execution
        else {
            return None;
        };
        let (layer, block) = **divided;
        let reader = operation
            .reader
            .get()
            .and_then(|idx| operations[idx].as_ref());
        let weights = Weights {
            accelerator,
            layer,
            block,
            bytes: weight_bytes,
            histogram,
            stripe: operation.stripe,
            sharing: operation.sharing,
        };
        Some(Self {
            times: TrialCycles::new(&weights, before),
            room_bytes,
            unbuffered: Unbuffered::new(accelerator, operation),
            reader: reader.map(|reader| Unbuffered::new(accelerator, reader)),
            can_move_input: operation.can_move_input && accelerator.has_dedicated_sram,
            before,
            weights,
        })
    }
}

impl BufferChoice<'_> {
    fn slack_cycles(&self) -> f64 {
        self.before.map_or(0.0, |slack| slack.cycles)
    }

    fn slack_bytes(&self) -> f64 {
        self.before.map_or(self.room_bytes, |slack| slack.bytes)
    }

    /// Whether the multipliers take longer than reading the weights off chip.
    fn is_compute_bound(&self) -> bool {
        self.unbuffered.computing > self.times.reads_off_chip
    }

    fn reads_again(&self) -> bool {
        self.weights.n_reads() > 1.0
    }

    /// Whether weights can be fetched while the previous operation runs.
    fn can_prefetch(&self) -> bool {
        self.before.is_some() && !self.weights.is_inside_cascade()
    }

    /// Whether weights are fetched before the first operation of the accelerator.
    fn is_initial(&self) -> bool {
        let brick = self.times.brick_transfer;
        let is_cheap =
            brick < self.times.reads_off_chip * MAX_INITIAL_SHARE || brick <= STARTUP_CYCLES;
        self.before.is_none() && self.reads_again() && is_cheap
    }

    /// The buffer; `None` if the weights are better read off chip.
    fn buffer(&self) -> Option<Buffer> {
        let method = self.method()?;
        let slicing = match method {
            Buffering::Sliced => self.slicing()?,
            Buffering::Whole | Buffering::WholeForNext => {
                Slicing::whole(self.weights.layer.computed_channels())
            }
        };
        let slice_bytes = self.weights.slice_bytes(slicing);
        let parts = self.parts(&slice_bytes)?;
        let is_prefetched = self.can_prefetch() && parts[0] < self.slack_bytes();
        let hidden_cycles = match (is_prefetched, self.is_initial()) {
            (true, _) => self.slack_cycles(),
            (false, true) => STARTUP_CYCLES,
            (false, false) => 0.0,
        };
        let buffered = self.buffered(slicing, &slice_bytes, hidden_cycles, parts[1] > 0.0);
        let is_shared =
            method == Buffering::WholeForNext && self.weights.sharing == WeightSharing::Again;
        let buffer = Buffer {
            parts,
            is_prefetched,
            n_slices: slice_bytes.n(),
            stream_bytes: slice_bytes.sum(),
            scale_bytes: self.weights.scale_bytes(slicing),
            first_bytes: slice_bytes.first,
            // The operation before a shared buffer is usually a repetition of this one.
            slack_cycles: if is_shared {
                buffered.last_slice
            } else {
                self.slack_cycles()
            },
            last_slice_cycles: buffered.last_slice,
            is_shared,
            is_filled_again: method == Buffering::WholeForNext
                && self.weights.sharing == WeightSharing::AsBefore,
            alternates: false,
        };
        let pays = method == Buffering::WholeForNext
            || self.pays_off(slicing, &slice_bytes, &buffer, &buffered);
        pays.then_some(buffer)
    }

    /// The method by which a buffer would hold the weights; `None` if no buffer can be better than reading them off
    /// chip.
    fn method(&self) -> Option<Buffering> {
        let times = &self.times;
        if times.reads_buffered >= times.reads_off_chip {
            return None;
        }
        let is_faster = times.is_whole_buffer_faster();
        let can_be_whole =
            self.weights.bytes <= self.room_bytes && (is_faster || !self.is_compute_bound());
        // Vela compares an operation with the one before it, and only the first one with the next.
        let is_shared = match self.weights.sharing {
            WeightSharing::None => false,
            WeightSharing::First => self.before.is_none(),
            WeightSharing::Again | WeightSharing::AsBefore => {
                self.before.is_none_or(|before| !before.is_sliced)
            }
        };
        if is_shared && can_be_whole {
            return Some(Buffering::WholeForNext);
        }
        if self.weights.stripe.is_some() || self.weights.layer.order != UNCHANGED {
            let visible_per_stripe = times.visible / self.weights.n_stripes().ceil();
            // Vela counts whole cycles, so at most one less than the delay.
            let is_hidden = times.visible < times.transfer * MAX_VISIBLE_SHARE
                || visible_per_stripe <= STARTUP_CYCLES - 1.0;
            return (can_be_whole && (is_hidden || self.is_initial())).then_some(Buffering::Whole);
        }
        let n_blocks = self.weights.layer.ofm[2] / self.weights.block.ofm[2];
        let hides_first = self.can_prefetch() && times.brick_transfer < self.slack_cycles();
        let is_promising =
            self.is_initial() || is_faster || n_blocks > 2 || hides_first && self.reads_again();
        is_promising.then_some(Buffering::Sliced)
    }

    /// A slicing whose slices arrive in time and of which two fit; `None` if the slices leave too much of each block
    /// unused.
    fn slicing(&self) -> Option<Slicing> {
        let depth = self.weights.layer.computed_channels();
        let block_channels = self.weights.block.ofm[2];
        let whole = Slicing::whole(depth);
        let half_room = self.room_bytes / 2.0;
        let share = self.first_share(half_room);
        let granule = self.weights.granule();
        let first = round_down((depth as f64 * share) as i64, granule).max(BRICK_CHANNELS);
        if share >= 1.0 || first >= depth {
            return Some(whole);
        }
        // As many channels as can be fetched while the first slice is computed.
        let part = Part {
            is_first: true,
            is_last: false,
        };
        let first_layer = self.weights.layer.with_depth(first);
        let computing = self.weights.slice_cycles(&first_layer, part);
        let fetched = (depth as f64 * computing / self.times.transfer) as i64;
        let mut next = round_up(fetched.max(BRICK_CHANNELS), block_channels);
        let bytes = |channels: i64| channels as f64 / depth as f64 * self.weights.bytes;
        if bytes(next) > half_room {
            next = (half_room / self.weights.bytes * depth as f64) as i64;
        }
        if next == 0 {
            return Some(whole);
        }
        let tried = Slicing {
            depth,
            first,
            next,
            granule,
        };
        let slicing = tried.shrunk_to(|channels| bytes(channels) <= half_room, block_channels);
        let is_wasteful = slicing.channels().n() > 2
            && self.is_compute_bound()
            && slicing.block_fill(block_channels) < MIN_BLOCK_FILL;
        (!is_wasteful).then_some(slicing)
    }

    /// The share of the weights in the first slice: what can be fetched while the previous operation runs,
    /// at least one brick, and at most what fits half of the SRAM.
    fn first_share(&self, half_room: f64) -> f64 {
        let depth = self.weights.layer.computed_channels();
        let brick = (BRICK_CHANNELS as f64 / depth as f64).min(1.0);
        let hidden = (self.slack_cycles() / self.times.transfer).min(1.0);
        let whole_bricks = (hidden / brick).floor() * brick;
        let is_nearly_all = 1.0 - whole_bricks < brick / 2.0;
        let wanted = match hidden {
            _ if is_nearly_all => 1.0,
            // If the multipliers are the limit, half is enough.
            0.5..1.0 if hidden > 0.5 && self.is_compute_bound() => {
                let half = round_up((depth as f64 * 0.5) as i64, BRICK_CHANNELS);
                (half as f64 / depth as f64).clamp(0.5, 1.0)
            }
            _ => hidden,
        };
        wanted
            .max(brick)
            .min((half_room / self.weights.bytes).min(1.0))
    }

    /// Two parts that hold alternate slices, if there are several slices and both parts fit; one part otherwise. `None`
    /// if one part does not fit.
    fn parts(&self, slice_bytes: &Slices<f64>) -> Option<[f64; 2]> {
        let [even, odd] = slice_bytes.largest_of_alternate_slices();
        let widest = even.max(odd);
        let is_double = even + odd <= self.room_bytes && widest < self.weights.bytes;
        let parts = if is_double {
            [even, odd]
        } else {
            [widest, 0.0]
        };
        (is_double || widest <= self.room_bytes).then_some(parts)
    }

    /// Cycles of the operation with sliced weights. With two parts, the transfer of a slice hides behind the slice
    /// before it; that of the first slice hides behind `hidden_cycles`.
    fn buffered(
        &self,
        slicing: Slicing,
        slice_bytes: &Slices<f64>,
        hidden_cycles: f64,
        is_double: bool,
    ) -> BufferedCycles {
        let layer = striped(&self.weights.layer, self.weights.stripe);
        let slice_cycles = slicing.channels().map_parts(|channels, part| {
            self.weights.slice_cycles(&layer.with_depth(channels), part)
        });
        let behind = slice_cycles.map(|cycles| if is_double { cycles } else { 0.0 });
        let transfers = slice_bytes.map(|bytes| self.weights.accelerator.buffering.cycles(bytes));
        BufferedCycles {
            computing: slice_cycles.sum() * self.weights.n_stripes(),
            visible: visible_cycles(&transfers, &behind, hidden_cycles),
            last_slice: slice_cycles.last(),
        }
    }

    /// Whether the operation is at least as fast with the buffer as without, and no feature map needs the SRAM
    /// more.
    fn pays_off(
        &self,
        slicing: Slicing,
        slice_bytes: &Slices<f64>,
        buffer: &Buffer,
        buffered: &BufferedCycles,
    ) -> bool {
        let from_sram = &self.weights.accelerator.weights_buffered;
        let n_reads = self.weights.n_reads_of_stripes();
        let reads = slice_bytes.map(|bytes| from_sram.cycles(bytes) * n_reads);
        let reads = reads.sum();
        let run = buffered.computing + buffered.visible;
        let Some(input) = self.input_cycles(slicing, buffer.bytes(), run.max(reads)) else {
            return false;
        };
        let reads_off_chip = self.unbuffered.weights;
        let without = self.unbuffered.computing.max(reads_off_chip).max(input);
        let mut with = run.max(reads).max(input);
        if self.is_compute_bound() {
            // Differences below the delay of a start are within the error of the estimate.
            let n_slices = slice_bytes.n() as f64;
            if buffered.visible / n_slices < STARTUP_CYCLES {
                with -= buffered.visible;
            }
            if n_slices > 1.0 && run == with && self.is_initial() {
                with -= n_slices * STARTUP_CYCLES / 2.0;
            }
        }
        // Weights that are read once gain nothing from a buffer unless both fetching and reading them stay hidden.
        let is_read_once_in_vain = !self.reads_again() && self.times.transfer + reads > without;
        without >= with && !is_read_once_in_vain
    }

    /// Cycles to read the IFM if `buffer_bytes` of SRAM are used for the weights and the rest of the operation takes
    /// `run_cycles`. `None` if the SRAM is better used for the IFM, or for that of the next operation.
    fn input_cycles(&self, slicing: Slicing, buffer_bytes: f64, run_cycles: f64) -> Option<f64> {
        let accelerator = self.weights.accelerator;
        let (from_sram, off_chip) = (&accelerator.input_in_sram, &accelerator.input_off_chip);
        let layer = striped(&self.weights.layer, self.weights.stripe);
        let n_stripes = self.weights.n_stripes();
        let of_slice = |channels| read_bytes(&layer.with_depth(channels), &self.weights.block);
        let bytes = slicing.channels().map(of_slice).sum();
        if self.weights.is_inside_cascade() || !accelerator.has_dedicated_sram {
            return Some(from_sram.cycles(bytes) * n_stripes);
        }
        let off_chip = off_chip.cycles(bytes) * n_stripes;
        if !self.can_move_input {
            return Some(off_chip);
        }
        let unbuffered = &self.unbuffered;
        let both_fit = unbuffered.input_bytes + buffer_bytes <= self.room_bytes;
        let undivided = from_sram.cycles(read_bytes(&layer, &self.weights.block));
        let with_input = unbuffered.computing.max(unbuffered.weights).max(undivided);
        let is_input_better = !both_fit
            && unbuffered.input_bytes < self.slack_bytes()
            && with_input < run_cycles.max(off_chip)
            && with_input < off_chip;
        if is_input_better || self.is_next_better(off_chip, buffer_bytes) {
            return None;
        }
        Some(if both_fit {
            from_sram.cycles(bytes)
        } else {
            off_chip
        })
    }

    /// Whether the next operation waits longer for its IFM than for its weights, and the buffer would use the SRAM that
    /// this IFM needs.
    fn is_next_better(&self, input_cycles: f64, buffer_bytes: f64) -> bool {
        self.reader.is_some_and(|reader| {
            let waits = !reader.is_computing_longest()
                && reader.weights > 0.0
                && reader.input > 2.0 * reader.weights
                && reader.input_bytes < self.room_bytes;
            let in_use = reader.input_bytes + self.unbuffered.input_bytes + buffer_bytes;
            let matters = self.unbuffered.is_computing_longest() || reader.input > input_cycles;
            waits && in_use > self.slack_bytes() && matters
        })
    }
}

/// Cycles of visible transfers. The transfer of the first slice hides behind `hidden_cycles`, that of any other slice
/// behind the cycles in `behind` of the previous slice.
fn visible_cycles(transfers: &Slices<f64>, behind: &Slices<f64>, hidden_cycles: f64) -> f64 {
    let visible = |transfer: f64, hidden: f64| (transfer - hidden).max(0.0);
    let mut total = visible(transfers.first, hidden_cycles);
    let mut before = behind.first;
    if let Some(((transfer, n), (hidden, _))) = transfers.between.zip(behind.between) {
        total += visible(transfer, before);
        total = sum_after_additions(total, visible(transfer, hidden), n - 1);
        before = hidden;
    }
    let last = transfers.last.map(|transfer| visible(transfer, before));
    total + last.unwrap_or(0.0)
}

#[cfg(test)]
mod tests;
