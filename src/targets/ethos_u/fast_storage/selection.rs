//! Selects the live ranges that stay in an SRAM of limited size, to save as many accesses as possible.

use crate::work;

/// Maximum number of live ranges of one search. Larger components of overlapping ranges are divided
/// (`MAX_COMPONENT_SIZE` in Vela), because the search is exponential in it.
const MAX_COMPONENT: usize = 20;
/// Limit of the steps of candidates that all searches together may visit, which take about ten milliseconds. Sampled
/// networks need far fewer; a file made to exceed it gets the best selection found so far.
const MAX_STEPS: usize = 1 << 24;

/// A live range that may be in SRAM.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Identifier of the caller.
    pub id: usize,
    /// First and last step of the order of execution in which it is alive.
    pub first: usize,
    pub last: usize,
    pub bytes: f64,
    /// Elements read and written.
    pub accesses: f64,
}

impl Candidate {
    fn n_steps(&self) -> usize {
        self.last - self.first + 1
    }

    /// Adds its bytes to a timeline, or subtracts them if `times` is -1.
    fn add(&self, timeline: &mut Timeline, times: f64) {
        timeline.add([self.first, self.last + 1], times * self.bytes);
    }

    /// Maximum of a timeline while it is alive.
    fn peak(&self, timeline: &Timeline) -> f64 {
        timeline.max([self.first, self.last + 1])
    }
}

/// Bytes by step, of which a range changes, and is asked for its maximum, in the logarithm of the number of steps. Bytes
/// are whole numbers, of which sums are exact in any order.
#[derive(Clone)]
struct Timeline {
    n_leaves: usize,
    /// By node of a binary tree, whose root is 1 and whose leaves are the steps: what was added to all steps below it.
    added: Vec<f64>,
    /// The maximum below it, with what was added to it, but not to the nodes above.
    largest: Vec<f64>,
}

impl Timeline {
    fn new(bytes: &[f64]) -> Self {
        let n_leaves = bytes.len().next_power_of_two();
        let mut largest = vec![0.0; 2 * n_leaves];
        largest[n_leaves..][..bytes.len()].copy_from_slice(bytes);
        for node in (1..n_leaves).rev() {
            largest[node] = f64::max(largest[2 * node], largest[2 * node + 1]);
        }
        Self {
            n_leaves,
            added: vec![0.0; 2 * n_leaves],
            largest,
        }
    }

    fn add_below(&mut self, node: usize, bytes: f64) {
        self.added[node] += bytes;
        self.largest[node] += bytes;
    }

    fn add(&mut self, [start, end]: [usize; 2], bytes: f64) {
        let (mut left, mut right) = (start + self.n_leaves, end + self.n_leaves);
        while left < right {
            if left % 2 == 1 {
                self.add_below(left, bytes);
                left += 1;
            }
            if right % 2 == 1 {
                right -= 1;
                self.add_below(right, bytes);
            }
            left /= 2;
            right /= 2;
        }
        for leaf in [start, end - 1] {
            let mut node = (leaf + self.n_leaves) / 2;
            while node > 0 {
                work::count(1);
                let below = f64::max(self.largest[2 * node], self.largest[2 * node + 1]);
                self.largest[node] = below + self.added[node];
                node /= 2;
            }
        }
    }

    /// Of a range of steps, at least 0.
    fn max(&self, [start, end]: [usize; 2]) -> f64 {
        let (mut left, mut right) = (start + self.n_leaves, end + self.n_leaves - 1);
        // The maxima so far on both sides, below the nodes at which they are.
        let mut sides = [self.largest[left], self.largest[right]];
        while left / 2 != right / 2 {
            if left % 2 == 0 {
                sides[0] = sides[0].max(self.largest[left + 1]);
            }
            if right % 2 == 1 {
                sides[1] = sides[1].max(self.largest[right - 1]);
            }
            left /= 2;
            right /= 2;
            sides[0] += self.added[left];
            sides[1] += self.added[right];
        }
        let mut largest = sides[0].max(sides[1]);
        let mut node = left / 2;
        while node > 0 {
            largest += self.added[node];
            node /= 2;
        }
        largest.max(0.0)
    }
}

/// Ids of the candidates that stay in SRAM. Candidates that fit regardless of the others stay. A search over the other
/// candidates finds the selection with the most accesses, one component of overlapping candidates after the other.
/// `buffer_bytes` is other SRAM in use, by step.
///
/// Linear in steps and candidates times the logarithm of the steps, except for the search, whose cost [`MAX_STEPS`]
/// limits.
pub fn select(
    mut candidates: Vec<Candidate>,
    limit_bytes: f64,
    buffer_bytes: &[f64],
) -> Vec<usize> {
    candidates.sort_by_key(|candidate| (candidate.first, candidate.id));
    let mut sram = Sram {
        limit_bytes,
        pinned: Timeline::new(buffer_bytes),
        possible: Timeline::new(buffer_bytes),
    };
    for candidate in &candidates {
        candidate.add(&mut sram.possible, 1.0);
    }
    candidates.retain(|candidate| {
        let fits = sram.fits(candidate);
        if !fits {
            sram.refuse(candidate);
        }
        fits
    });
    let (certain, competing): (Vec<_>, Vec<_>) = candidates
        .into_iter()
        .partition(|candidate| sram.always_fits(candidate));
    let mut kept = Vec::new();
    for candidate in &certain {
        sram.pin(candidate);
        kept.push(candidate.id);
    }
    let mut steps_left = MAX_STEPS;
    for component in overlapping_groups(&competing) {
        let selection = Search::new(component, &mut sram, &mut steps_left).run();
        for (candidate, decision) in component.iter().zip(selection) {
            match decision {
                Decision::Keep => {
                    sram.pin(candidate);
                    kept.push(candidate.id);
                }
                Decision::Evict => sram.refuse(candidate),
            }
        }
    }
    kept
}

/// Bytes in use by step: those of candidates that stay in any case, and those of all candidates that are not refused.
struct Sram {
    limit_bytes: f64,
    pinned: Timeline,
    possible: Timeline,
}

impl Sram {
    fn fits(&self, candidate: &Candidate) -> bool {
        candidate.peak(&self.pinned) + candidate.bytes <= self.limit_bytes
    }

    /// Whether it fits even if all candidates that are not refused stay.
    fn always_fits(&self, candidate: &Candidate) -> bool {
        candidate.peak(&self.possible) <= self.limit_bytes
    }

    fn pin(&mut self, candidate: &Candidate) {
        candidate.add(&mut self.pinned, 1.0);
    }

    fn refuse(&mut self, candidate: &Candidate) {
        candidate.add(&mut self.possible, -1.0);
    }

    fn decide(&mut self, candidate: &Candidate, decision: Decision) {
        match decision {
            Decision::Keep => self.pin(candidate),
            Decision::Evict => self.refuse(candidate),
        }
    }

    fn undo(&mut self, candidate: &Candidate, decision: Decision) {
        match decision {
            Decision::Keep => candidate.add(&mut self.pinned, -1.0),
            Decision::Evict => candidate.add(&mut self.possible, 1.0),
        }
    }
}

/// Groups of candidates that overlap in time, in the order of their first steps.
fn overlapping_groups(candidates: &[Candidate]) -> Vec<&[Candidate]> {
    let mut components = Vec::new();
    let (mut start, mut end) = (0, 0);
    for (idx, candidate) in candidates.iter().enumerate() {
        if idx > start && (candidate.first > end || idx - start > MAX_COMPONENT) {
            components.push(&candidates[start..idx]);
            start = idx;
            end = 0;
        }
        end = end.max(candidate.last);
    }
    if start < candidates.len() {
        components.push(&candidates[start..]);
    }
    components
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Keep,
    Evict,
}

/// A branch-and-bound search for the selection with the most accesses. It decides about one candidate after the other,
/// tries keeping before evicting, and backtracks if no remaining selection can exceed the best one. Among equal
/// selections the first remains the best.
struct Search<'a> {
    candidates: &'a [Candidate],
    sram: &'a mut Sram,
    steps_left: &'a mut usize,
    /// By candidate, the accesses of it and of all later candidates; 0 at the end.
    accesses_ahead: Vec<f64>,
    /// Decisions so far, about the first candidates.
    path: Vec<Decision>,
    /// Accesses of the kept candidates after each decision; starts with 0.
    accesses: Vec<f64>,
    best: Vec<Decision>,
    best_accesses: f64,
}

impl<'a> Search<'a> {
    fn new(candidates: &'a [Candidate], sram: &'a mut Sram, steps_left: &'a mut usize) -> Self {
        let mut accesses_ahead = vec![0.0; candidates.len() + 1];
        for (idx, candidate) in candidates.iter().enumerate().rev() {
            accesses_ahead[idx] = accesses_ahead[idx + 1] + candidate.accesses;
        }
        Self {
            candidates,
            sram,
            steps_left,
            accesses_ahead,
            path: Vec::with_capacity(candidates.len()),
            accesses: vec![0.0],
            best: vec![Decision::Evict; candidates.len()],
            best_accesses: 0.0,
        }
    }

    /// Returns a decision about each candidate.
    fn run(mut self) -> Vec<Decision> {
        let mut next = self.first_decision();
        loop {
            match next {
                Some(decision) => {
                    self.advance(decision);
                    next = self.first_decision();
                }
                None => match self.turn_back() {
                    Some(candidate) => next = self.second_decision(candidate),
                    None => return self.best,
                },
            }
        }
    }

    fn accesses(&self) -> f64 {
        self.accesses.last().copied().unwrap_or(0.0)
    }

    /// The first decision about the candidate at the end of the path. `None` after the last candidate, if no remaining
    /// selection exceeds the best one, or if the budget is exhausted.
    fn first_decision(&mut self) -> Option<Decision> {
        let idx = self.path.len();
        let reachable = self.accesses() + self.accesses_ahead[idx];
        let is_hopeless = self.best_accesses > 0.0 && reachable <= self.best_accesses;
        if is_hopeless || *self.steps_left == 0 {
            return None;
        }
        let Some(candidate) = self.candidates.get(idx) else {
            if self.accesses() > self.best_accesses || self.best_accesses == 0.0 {
                self.best_accesses = self.accesses();
                self.best.clone_from(&self.path);
            }
            return None;
        };
        work::count(1);
        *self.steps_left = self.steps_left.saturating_sub(candidate.n_steps());
        Some(if self.sram.fits(candidate) {
            Decision::Keep
        } else {
            Decision::Evict
        })
    }

    /// The second decision about a candidate that was kept: evicting it, unless it displaces no other candidate.
    fn second_decision(&self, kept: &Candidate) -> Option<Decision> {
        (!self.sram.always_fits(kept)).then_some(Decision::Evict)
    }

    fn advance(&mut self, decision: Decision) {
        let candidate = &self.candidates[self.path.len()];
        self.sram.decide(candidate, decision);
        let kept_accesses = match decision {
            Decision::Keep => candidate.accesses,
            Decision::Evict => 0.0,
        };
        self.accesses.push(self.accesses() + kept_accesses);
        self.path.push(decision);
    }

    /// Removes decisions from the path up to the last candidate that was kept, and returns this candidate; `None` at
    /// the start.
    fn turn_back(&mut self) -> Option<&'a Candidate> {
        while let Some(decision) = self.path.pop() {
            self.accesses.pop();
            let candidate = &self.candidates[self.path.len()];
            self.sram.undo(candidate, decision);
            if decision == Decision::Keep {
                return Some(candidate);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::graph::analysis::fixtures::for_each;

    /// The maximum number of accesses of any selection that fits, by brute force.
    fn best_choice(candidates: &[Candidate], limit: f64, buffers: &[f64]) -> f64 {
        let fits = |choice: u32| {
            (0..buffers.len()).all(|step| {
                let there = candidates.iter().enumerate().filter(|(idx, candidate)| {
                    choice >> idx & 1 == 1 && (candidate.first..=candidate.last).contains(&step)
                });
                buffers[step] + there.map(|(_, one)| one.bytes).sum::<f64>() <= limit
            })
        };
        let score = |choice: u32| {
            let kept = candidates.iter().enumerate();
            let kept = kept.filter(|(idx, _)| choice >> idx & 1 == 1);
            kept.map(|(_, one)| one.accesses).sum::<f64>()
        };
        let choices = (0..1u32 << candidates.len()).filter(|&choice| fits(choice));
        choices.map(score).fold(0.0, f64::max)
    }

    #[test]
    fn a_timeline_is_a_list_of_numbers() {
        let change = (0..40_usize, 0..40_usize, -9..=9_i32);
        let changes = proptest::collection::vec(change, 1..60);
        for_each(300, (1..=40_usize, changes), |(n, changes)| {
            let mut list = vec![0.0; n];
            let mut timeline = Timeline::new(&list);
            for (one, other, bytes) in changes {
                let [one, other] = [one % n, other % n];
                let range = [one.min(other), one.max(other) + 1];
                timeline.add(range, f64::from(bytes));
                list[range[0]..range[1]]
                    .iter_mut()
                    .for_each(|it| *it += f64::from(bytes));
                for end in 1..=n {
                    for start in 0..end {
                        let expected = list[start..end].iter().copied().fold(0.0, f64::max);
                        assert_eq!(timeline.max([start, end]), expected);
                    }
                }
            }
        });
    }

    /// If all candidates overlap, the selection has the maximum number of accesses.
    #[test]
    fn what_is_kept_in_sram_has_most_accesses() {
        const LIMIT: f64 = 100.0;
        let candidate = (0..3_usize, 2..6_usize, 1..=70_u32, 1..=1000_u32);
        let candidates = proptest::collection::vec(candidate, 8);
        let buffers = proptest::collection::vec(0..60_u32, 6);
        let n_evicted = Cell::new(0);
        for_each(300, (candidates, buffers), |(candidates, buffers)| {
            let buffers: Vec<f64> = buffers.into_iter().map(f64::from).collect();
            let candidates: Vec<Candidate> = (candidates.into_iter().enumerate())
                .map(|(id, (first, last, bytes, accesses))| Candidate {
                    id,
                    first,
                    last,
                    bytes: f64::from(bytes),
                    accesses: f64::from(accesses),
                })
                .collect();
            let kept = select(candidates.clone(), LIMIT, &buffers);
            n_evicted.set(n_evicted.get() + candidates.len() - kept.len());
            let score: f64 = kept.iter().map(|&id| candidates[id].accesses).sum();
            let most = best_choice(&candidates, LIMIT, &buffers);
            for (step, buffer) in buffers.iter().enumerate() {
                let here = kept.iter().map(|&id| &candidates[id]);
                let here = here.filter(|one| (one.first..=one.last).contains(&step));
                assert!(buffer + here.map(|one| one.bytes).sum::<f64>() <= LIMIT);
            }
            // Candidates that fit under every choice are kept before the search, so the result may be below the
            // maximum.
            assert!(score <= most && score >= 0.8 * most, "{score} of {most}");
        });
        println!("{} of 2400 evicted", n_evicted.get());
        assert!(n_evicted.get() > 300);
    }
}
