//! How buffers share memory: a buffer that a kernel may write over its input is written over it where
//! the program would not fit otherwise.
//!
//! An output that is written over its input ends where the input ends, or before, and starts some bytes
//! before it, so that the kernel never overwrites what it has yet to read. Steps in a row of which each
//! writes over the output of the one before make one region, whose buffers have fixed distances. Working
//! memory lies where the region is free while its step runs, or extends it.

use super::steps::{Step, Steps};

/// Working memory starts and ends at words.
const ALIGNMENT_BYTES: i128 = 4;

/// Bytes of the smallest memory in which all steps run. Linear in steps times the bits of a size.
pub fn peak_bytes(program: &Steps) -> u64 {
    let plan = Plan::of(program);
    let mut hi = plan.separate_bytes.iter().copied().max().unwrap_or(0);
    let mut lo = 0;
    while lo < hi {
        let middle = lo + (hi - lo) / 2;
        match plan.fits(middle) {
            true => hi = middle,
            false => lo = middle + 1,
        }
    }
    u64::try_from(hi).unwrap_or(u64::MAX)
}

struct Plan<'p> {
    program: &'p Steps,
    /// Bytes alive at each step.
    live_bytes: Vec<i128>,
    /// Bytes alive at each step and its working memory, where nothing overlaps.
    separate_bytes: Vec<i128>,
    /// The buffer that each step may write over.
    overwritten: Vec<Option<usize>>,
}

impl<'p> Plan<'p> {
    fn of(program: &'p Steps) -> Self {
        let n_steps = program.steps.len();
        let lives = lives(program);
        let mut change = vec![0_i128; n_steps + 1];
        for (&(first, last), &bytes) in lives.iter().zip(&program.buffer_bytes) {
            if first <= last && last < n_steps {
                change[first] += i128::from(bytes);
                change[last + 1] -= i128::from(bytes);
            }
        }
        let mut alive = 0;
        let live_bytes: Vec<i128> = change[..n_steps]
            .iter()
            .map(|change| {
                alive += change;
                alive
            })
            .collect();
        let scratches = program.steps.iter().map(scratch_bytes);
        let separate_bytes = live_bytes.iter().zip(scratches).map(|(a, b)| a + b);
        let overwritten = |(step_idx, step): (usize, &Step)| {
            let is_last_read = |b: &&usize| lives[**b].1 == step_idx;
            let largest = step.reads.iter().filter(is_last_read);
            let largest = largest.max_by_key(|&&b| program.buffer_bytes[b]).copied();
            let is_single = step.lag_bytes.is_some() && step.writes.len() == 1;
            largest.filter(|_| is_single)
        };
        Self {
            program,
            separate_bytes: separate_bytes.collect(),
            live_bytes,
            overwritten: program.steps.iter().enumerate().map(overwritten).collect(),
        }
    }

    fn fits(&self, bytes: i128) -> bool {
        let mut step_idx = 0;
        while step_idx < self.program.steps.len() {
            if self.separate_bytes[step_idx] <= bytes {
                step_idx += 1;
                continue;
            }
            let mut end = step_idx + 1;
            while end < self.program.steps.len()
                && self.separate_bytes[end] > bytes
                && self.overwritten[end].is_some()
                && self.overwritten[end] == self.written(end - 1)
            {
                end += 1;
            }
            match self.region_bytes(step_idx, end) {
                Some(needed) if needed <= bytes => step_idx = end,
                _ => return false,
            }
        }
        true
    }

    /// Of the steps `start..end`, each written over its input, with all that lives beside them.
    fn region_bytes(&self, start: usize, end: usize) -> Option<i128> {
        let size = |b: usize| i128::from(self.program.buffer_bytes[b]);
        let mut read = self.overwritten[start]?;
        let mut read_at = 0;
        let (mut lo, mut hi) = (0, size(read));
        let mut spans = Vec::with_capacity(end - start);
        let mut beside = 0;
        for step_idx in start..end {
            let written = self.written(step_idx)?;
            let lag = i128::from(self.program.steps[step_idx].lag_bytes?);
            let written_at = read_at - (size(written) - size(read)).max(0) - lag;
            let top = (read_at + size(read)).max(written_at + size(written));
            lo = lo.min(written_at);
            hi = hi.max(top);
            spans.push((written_at, top));
            beside = beside.max(self.live_bytes[step_idx] - size(read) - size(written));
            (read, read_at) = (written, written_at);
        }
        for (step, (bottom, top)) in self.program.steps[start..end].iter().zip(spans) {
            let scratch = scratch_bytes(step);
            if bottom - lo >= scratch || hi - top >= scratch {
                continue;
            }
            match top + scratch - hi <= lo - (bottom - scratch) {
                true => hi = top + scratch,
                false => lo = bottom - scratch,
            }
        }
        Some(beside + hi - lo)
    }

    fn written(&self, step_idx: usize) -> Option<usize> {
        match self.program.steps[step_idx].writes.as_slice() {
            [written] => Some(*written),
            _ => None,
        }
    }
}

fn scratch_bytes(step: &Step) -> i128 {
    (i128::from(step.scratch_bytes) + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES
}

/// First and last step at which each buffer is alive; one that no step touches ends before it begins.
fn lives(program: &Steps) -> Vec<(usize, usize)> {
    let mut lives = vec![(usize::MAX, 0); program.buffer_bytes.len()];
    for (step_idx, step) in program.steps.iter().enumerate() {
        for &buffer in step.reads.iter().chain(&step.writes) {
            let (first, last) = &mut lives[buffer];
            *first = (*first).min(step_idx);
            *last = step_idx;
        }
    }
    for &buffer in &program.inputs {
        lives[buffer].0 = 0;
    }
    for &buffer in &program.outputs {
        if let Some(last_step) = program.steps.len().checked_sub(1) {
            lives[buffer].1 = last_step;
        }
    }
    lives
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(read: usize, written: usize, scratch_bytes: u64, lag_bytes: Option<u64>) -> Step {
        Step {
            reads: vec![read],
            writes: vec![written],
            scratch_bytes,
            lag_bytes,
        }
    }

    /// As ST Edge AI Core 7.3 places five layers of a Yamnet: its report says 112,196 bytes, and that the
    /// padded feature map of 108,800 bytes starts 1,024 bytes above the output of 24,576 bytes that is
    /// written over it, with 2,369 bytes of working memory above.
    #[test]
    fn a_chain_of_overlaps_is_as_in_a_report() {
        let program = Steps {
            buffer_bytes: vec![49_152, 98_304, 108_800, 24_576, 49_152],
            steps: vec![
                step(0, 1, 768, Some(2_048)),
                step(1, 2, 0, Some(0)),
                step(2, 3, 2_369, Some(1_024)),
                step(3, 4, 1_536, Some(2_048)),
            ],
            inputs: vec![0],
            outputs: vec![4],
        };
        assert_eq!(peak_bytes(&program), 112_196);
    }

    #[test]
    fn what_cannot_overlap_adds_up() {
        let program = Steps {
            buffer_bytes: vec![100, 60],
            steps: vec![step(0, 1, 5, None)],
            inputs: vec![0],
            outputs: vec![1],
        };
        assert_eq!(peak_bytes(&program), 168);
        assert_eq!(peak_bytes(&Steps::default()), 0);
    }
}
