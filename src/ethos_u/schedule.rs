//! Which weights the compiler moves into SRAM before an operator reads them, and when.

use super::accelerator::{Accelerator, Transfer};
use super::blocks::{Block, SPLIT_DEPTH, round_up};
use super::cycles::{Conditions, Part, operator_cycles, read_bytes};
use super::layer::Layer;

/// Cycles at the start that nobody misses.
const STARTUP_CYCLES: f64 = 1000.0;
/// Slices filled to less than this share of a block waste too much.
const LEAST_FILL: f64 = 0.3;

/// An operator with its block, in the order of execution.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    pub work: Work,
    /// Cycles it takes when nothing is buffered: the time to fetch weights for the next one.
    pub cycles: f64,
    /// Bytes of a feature map that it reads, and those that it writes.
    pub bytes: [f64; 2],
}

#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// Multiplies by weights.
    Weighted {
        layer: Layer,
        block: Block,
        /// Encoded, with scales.
        weight_bytes: f64,
    },
    /// Goes through the multipliers without weights.
    Unweighted {
        layer: Layer,
        block: Block,
    },
    Other,
}

impl Work {
    pub fn layer(&self) -> Option<(Layer, Block)> {
        match *self {
            Work::Weighted { layer, block, .. } | Work::Unweighted { layer, block } => {
                Some((layer, block))
            }
            Work::Other => None,
        }
    }
}

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

    /// Bytes in use at most, where so many are fetched for the operator after it.
    pub fn bytes_beside(&self, fetched_for_next: f64) -> f64 {
        let at_end = self.parts[self.last_part()] + fetched_for_next;
        self.bytes().max(at_end)
    }
}

/// Time and space that an operator leaves for fetching the next one's weights.
#[derive(Clone, Copy)]
struct Slack {
    cycles: f64,
    bytes: f64,
}

/// A buffer for each step, chosen as Vela 5.2.0 does where nothing is cascaded: what shortens the
/// operator, transfers being hidden behind the operator before or behind its own slices. None is a
/// node for which nothing runs.
pub fn buffers(accelerator: &Accelerator, steps: &[Option<Step>]) -> Vec<Buffer> {
    let limit = accelerator
        .sram_limit_bytes
        .map_or(f64::INFINITY, |bytes| bytes as f64);
    let mut before: Option<Slack> = None;
    let choose = |step: &Option<Step>| {
        let Some(step) = step else {
            return Buffer::default();
        };
        let mut slack = Slack {
            cycles: step.cycles,
            bytes: limit,
        };
        let mut buffer = Buffer::default();
        if let Work::Weighted {
            layer,
            block,
            weight_bytes,
        } = step.work
        {
            let weights = Weights {
                accelerator,
                layer,
                block,
                bytes: weight_bytes,
                limit,
                cycles: step.cycles,
                before,
            };
            if let Some(chosen) = weights.buffer() {
                buffer = chosen;
                slack.cycles = chosen.last_slice_cycles;
                slack.bytes = limit - chosen.parts[chosen.last_part()];
            }
        }
        before = Some(slack);
        buffer
    };
    steps.iter().map(choose).collect()
}

struct Weights<'a> {
    accelerator: &'a Accelerator,
    layer: Layer,
    block: Block,
    bytes: f64,
    limit: f64,
    cycles: f64,
    before: Option<Slack>,
}

impl Weights<'_> {
    fn reads(&self) -> f64 {
        self.block.weight_reads(&self.layer) as f64
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
        let slack_bytes = self.before.map_or(self.limit, |slack| slack.bytes);
        let least_transfer = transfer * depth.min(SPLIT_DEPTH) as f64 / depth as f64;
        let many_reads = self.reads() > 1.0;
        let forced = self.before.is_none()
            && many_reads
            && (least_transfer < unmoved / 10.0 || least_transfer <= STARTUP_CYCLES);
        let can_prefetch = self.before.is_some();
        let is_bound = self.cycles > unmoved;
        let visible = (transfer - slack_cycles).max(0.0);
        let is_promising = forced
            || buffered + visible < unmoved
            || depth / self.block.ofm[2] > 2
            || can_prefetch && least_transfer < slack_cycles && many_reads;
        if !is_promising {
            return None;
        }
        let slices = self.slices(slack_cycles, transfer, is_bound)?;
        let bytes = |depths: &[i64]| (depths[1] - depths[0]) as f64 / depth as f64 * self.bytes;
        let slice_bytes: Vec<f64> = slices.windows(2).map(bytes).collect();
        let parts = self.parts(&slice_bytes)?;
        let is_prefetched = can_prefetch && parts[0] < slack_bytes;
        let usable = match (is_prefetched, forced) {
            (true, _) => slack_cycles,
            (false, true) => STARTUP_CYCLES,
            (false, false) => 0.0,
        };
        let run = self.run(&slices, &slice_bytes, usable, parts[1] > 0.0);
        let weight_reads: f64 = (slice_bytes.iter())
            .map(|&bytes| accelerator.weights_buffered.cycles(bytes) * self.reads())
            .sum();
        // In SRAM: where weights and input do not both fit, the compiler weighs them against each other.
        let ifm_bytes = read_bytes(&self.layer, &self.block);
        let ifm = accelerator.weights_buffered.cycles(ifm_bytes);
        let original = self.cycles.max(unmoved).max(ifm);
        let full = run.own + run.visible;
        let mut new = full.max(weight_reads).max(ifm);
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
        let buffer = Buffer {
            parts,
            is_prefetched,
            n_slices,
            first_bytes: slice_bytes[0],
            slack_cycles,
            last_slice_cycles: run.last,
        };
        (!costs_more).then_some(buffer)
    }

    /// Output channels at which the weights are cut, from 0 to all of them.
    fn slices(&self, slack_cycles: f64, transfer: f64, is_bound: bool) -> Option<Vec<i64>> {
        let depth = self.layer.ofm[2];
        let half_limit = self.limit / 2.0;
        let least = (SPLIT_DEPTH as f64 / depth as f64).min(1.0);
        let hidden = (slack_cycles / transfer).min(1.0);
        let aligned = (hidden / least).floor() * least;
        let mut share = if 1.0 - aligned < least / 2.0 {
            1.0
        } else {
            hidden
        };
        if is_bound && share > 0.5 && share < 1.0 {
            share = round_up((depth as f64 * 0.5) as i64, SPLIT_DEPTH) as f64 / depth as f64;
            share = share.clamp(0.5, 1.0);
        }
        share = share.max(least).min((half_limit / self.bytes).min(1.0));
        let mut first = (depth as f64 * share) as i64;
        let granule = self.block.ofm[2];
        first = (first / SPLIT_DEPTH * SPLIT_DEPTH).max(SPLIT_DEPTH);
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
        next = round_up(next.max(SPLIT_DEPTH), granule);
        if next as f64 / depth as f64 * self.bytes > half_limit {
            next = (half_limit / self.bytes * depth as f64) as i64;
        }
        let mut cuts = vec![0, depth];
        while next != 0 {
            let to = if next > granule { granule } else { SPLIT_DEPTH };
            next = (next / to * to).max(SPLIT_DEPTH);
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
            let fits = widest as f64 / depth as f64 * self.bytes <= half_limit;
            if fits || first == SPLIT_DEPTH && next == SPLIT_DEPTH {
                break;
            }
            let before = (first, next);
            match next > first {
                true => next = round_up(next / 2, SPLIT_DEPTH),
                false => first = round_up(first / 2, SPLIT_DEPTH),
            }
            if before == (first, next) {
                break;
            }
        }
        let filled = next as f64 / round_up(next, granule) as f64;
        (cuts.len() <= 3 || filled >= LEAST_FILL).then_some(cuts)
    }

    /// Two halves if there are slices and both fit, else one piece.
    fn parts(&self, slice_bytes: &[f64]) -> Option<[f64; 2]> {
        let largest = |offset: usize| {
            let every_other = slice_bytes.iter().skip(offset).step_by(2);
            every_other.copied().fold(0.0, f64::max)
        };
        let [even, odd] = [largest(0), largest(1)];
        let widest = even.max(odd);
        if even + odd <= self.limit && widest < self.bytes {
            return Some([even, odd]);
        }
        (widest <= self.limit).then_some([widest, 0.0])
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
            let layer = self.layer.with_depth(slices[idx + 1] - slices[idx]);
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
