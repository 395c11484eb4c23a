//! Lifetimes of buffers, and which of them a step may overwrite.

use super::steps::{Step, Steps};

/// Working memory starts and ends at word boundaries.
pub const ALIGNMENT_BYTES: i128 = 4;

pub struct Liveness {
    /// First and last step at which each buffer is alive. For a buffer that no step uses, the last step is before the
    /// first.
    lives: Vec<(usize, usize)>,
    /// By step: which input its output may overwrite, if any.
    pub overlaps: Vec<Option<Overlap>>,
}

/// A step that may write its only output over an input that nothing reads later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overlap {
    /// Buffer of the largest such input.
    pub read: usize,
    /// Buffer of the output.
    pub written: usize,
    /// As in [`Step`].
    pub lag_bytes: i128,
}

impl Liveness {
    /// Linear in steps and what they read and write.
    pub fn of(program: &Steps) -> Self {
        let lives = lives(program);
        let overlap = |(step_idx, step): (usize, &Step)| {
            let is_last_read = |b: &&usize| lives[**b].1 == step_idx;
            let last_read = step.reads.iter().filter(is_last_read);
            let [written] = step.writes.as_slice() else {
                return None;
            };
            Some(Overlap {
                read: *last_read.max_by_key(|&&b| program.buffer_bytes[b])?,
                written: *written,
                lag_bytes: i128::from(step.lag_bytes?),
            })
        };
        let overlaps = program.steps.iter().enumerate().map(overlap).collect();
        Self { lives, overlaps }
    }

    /// Bytes alive at each step, where a buffer takes `bytes` of its size.
    pub fn live_bytes(&self, program: &Steps, bytes: impl Fn(u64) -> i128) -> Vec<i128> {
        let n_steps = program.steps.len();
        let mut change = vec![0_i128; n_steps + 1];
        for (&(first, last), &size) in self.lives.iter().zip(&program.buffer_bytes) {
            if first <= last && last < n_steps {
                change[first] += bytes(size);
                change[last + 1] -= bytes(size);
            }
        }
        let mut alive = 0;
        let live_bytes = change[..n_steps].iter().map(|change| {
            alive += change;
            alive
        });
        live_bytes.collect()
    }
}

/// Rounded up to a whole number of words.
pub fn aligned(bytes: i128) -> i128 {
    (bytes + ALIGNMENT_BYTES - 1).div_euclid(ALIGNMENT_BYTES) * ALIGNMENT_BYTES
}

/// Working memory of a step, in whole words.
pub fn scratch_bytes(step: &Step) -> i128 {
    aligned(i128::from(step.scratch_bytes))
}

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
