//! Which feature maps the compiler keeps in an SRAM too small for all of them.

use super::accelerator::Accelerator;
use super::live_ranges::{LiveRange, LiveRanges};
use super::order::Order;
use super::program::{Operation, Program};
use super::scheduled_operation::ScheduledOperation;

/// More than any feature map is read and written.
const MOST_ACCESSES: f64 = 1e15;
/// Feature maps that are weighed against each other at once.
const MAX_COMPONENT: usize = 20;
/// Steps of candidates that are looked at in all searches together, some ten milliseconds' worth:
/// beyond them the best choices so far stand. Searches of sampled networks end far below; this bounds
/// what a file made for it can cost.
const MAX_STEPS: usize = 1 << 24;

/// By map, whether it lies in SRAM: all do where there is no other memory for them. `buffer_bytes` are those
/// of weights, by step. Proportional to operations, but for the choice between feature maps: see [`best`].
pub fn in_sram(
    accelerator: &Accelerator,
    program: &Program,
    live_ranges: &LiveRanges,
    order: &Order,
    steps: &[Option<ScheduledOperation>],
    buffer_bytes: &[f64],
) -> Vec<bool> {
    let n_maps = program.maps.len();
    let Some(limit_bytes) = accelerator.sram_limit_bytes else {
        return vec![true; n_maps];
    };
    let mut accesses = vec![0.0; n_maps];
    for (&idx, step) in order.operations.iter().zip(steps) {
        let Some(step) = step else { continue };
        let is_inside = step.stripe.is_some_and(|stripe| !stripe.is_first);
        let operation = &program.operations[idx];
        let inputs = program.activations(operation);
        let mut inputs = inputs.map(|map_idx| live_ranges.range_of(map_idx));
        let (first, second) = (inputs.next(), inputs.next());
        let [read, written] = step.accesses(program);
        if let Some(first) = first {
            accesses[first] += read;
        }
        for &output in &operation.outputs {
            accesses[live_ranges.range_of(output)] += written;
        }
        if let Some(second) = second.filter(|_| operation.is_binary()) {
            accesses[second] += step.second.map_or(read, |second| second.bytes);
            if is_inside {
                // Its other input is in SRAM anyway.
                accesses[second] = MOST_ACCESSES;
            }
        }
    }
    for (map_idx, map) in program.maps.iter().enumerate() {
        if map.is_staged {
            accesses[live_ranges.range_of(map_idx)] = MOST_ACCESSES;
        }
    }
    // What is there before the CPU runs may not be there after it.
    let is_cpu = |step: &Option<ScheduledOperation>| {
        step.as_ref().is_some_and(ScheduledOperation::is_of_cpu)
    };
    let n_cpu_before: Vec<usize> = std::iter::once(0)
        .chain(steps.iter().scan(0, |n, step| {
            *n += usize::from(is_cpu(step));
            Some(*n)
        }))
        .collect();
    let candidate = |(id, range): (usize, &LiveRange)| {
        let (first, last) = range
            .steps
            .filter(|_| !range.is_interface && !range.is_of_cascade)?;
        let is_whole = n_cpu_before[first] == n_cpu_before[last + 1];
        is_whole.then_some(Candidate {
            id,
            first,
            last,
            bytes: range.bytes_in_memory(),
            accesses: accesses[id],
        })
    };
    let candidates = live_ranges.ranges().filter_map(candidate).collect();
    let mut kept = vec![false; n_maps];
    for id in best(candidates, limit_bytes as f64, buffer_bytes) {
        kept[id] = true;
    }
    // What is passed on inside a chain comes by no memory.
    for (range_idx, range) in live_ranges.ranges() {
        kept[range_idx] |= range.steps.is_none();
    }
    let mut is_in_sram: Vec<bool> = (0..n_maps)
        .map(|map_idx| kept[live_ranges.range_of(map_idx)])
        .collect();
    same_memory(program, order, steps, &mut is_in_sram);
    is_in_sram
}

/// Moves inputs of elementwise operations, and of chains with such, off chip that have another one there, if
/// nothing but elementwise operations reads them.
fn same_memory(
    program: &Program,
    order: &Order,
    steps: &[Option<ScheduledOperation>],
    is_in_sram: &mut [bool],
) {
    let maps = &program.maps;
    // By map, the one that it names anew.
    let mut named: Vec<usize> = (0..maps.len()).collect();
    let mut is_read_whole = vec![false; maps.len()];
    // By map, the last step whose group wrote it, counted from 1.
    let mut written_in = vec![0; maps.len()];
    for &idx in &order.operations {
        let operation = &program.operations[idx];
        if operation.alias.is_view_of_input() {
            if let Some(input) = program.activations(operation).next() {
                let input = named[input];
                operation
                    .outputs
                    .iter()
                    .for_each(|&output| named[output] = input);
            }
        } else if !operation.is_binary() {
            let inputs = operation.inputs.iter();
            inputs.for_each(|&input| is_read_whole[named[input]] = true);
        }
    }
    for (step_idx, (&idx, step)) in order.operations.iter().zip(steps).enumerate() {
        let is_inside = (step.as_ref().and_then(|step| step.stripe)).is_some_and(|s| !s.is_first);
        let group: Vec<&Operation> = std::iter::once(&program.operations[idx])
            .chain(order.chained(program, step_idx))
            .collect();
        if step.is_none() || is_inside || !group.iter().any(|operation| operation.is_binary()) {
            continue;
        }
        for &output in group.iter().flat_map(|operation| &operation.outputs) {
            written_in[named[output]] = step_idx + 1;
        }
        let inputs: Vec<usize> = (group
            .iter()
            .flat_map(|operation| program.activations(operation)))
        .map(|input| named[input])
        .filter(|&input| written_in[input] != step_idx + 1)
        .collect();
        if inputs.iter().any(|&input| !is_in_sram[input]) {
            for &input in inputs.iter().filter(|&&input| !is_read_whole[input]) {
                is_in_sram[input] = false;
            }
        }
    }
    for map_idx in 0..maps.len() {
        is_in_sram[map_idx] = is_in_sram[named[map_idx]];
    }
}

/// A feature map that may lie in SRAM.
#[derive(Clone, Debug)]
struct Candidate {
    /// What the caller knows it by.
    id: usize,
    /// Steps in which it is needed.
    first: usize,
    last: usize,
    bytes: f64,
    /// Bytes read and written.
    accesses: f64,
}

/// Ids of those that lie in SRAM, as Vela 5.2.0 chooses: whatever fits beside the weights' buffers,
/// and of those that compete for room the ones with most accesses. `buffer_bytes` are the buffers by
/// step. Proportional to the steps that the candidates span, and [`MAX_STEPS`] at worst: where they
/// span more than that, nothing is kept.
fn best(mut candidates: Vec<Candidate>, limit_bytes: f64, buffer_bytes: &[f64]) -> Vec<usize> {
    let n_steps: usize = candidates.iter().map(Candidate::n_steps).sum();
    if n_steps > MAX_STEPS {
        return Vec::new();
    }
    candidates.sort_by_key(|candidate| (candidate.first, candidate.id));
    let mut usage = Usage {
        limit_bytes,
        steps_left: MAX_STEPS,
        least: buffer_bytes.to_vec(),
        most: buffer_bytes.to_vec(),
    };
    for candidate in &candidates {
        candidate.add(&mut usage.most, 1.0);
    }
    candidates.retain(|candidate| {
        let can_fit = usage.can_keep(candidate);
        if !can_fit {
            candidate.add(&mut usage.most, -1.0);
        }
        can_fit
    });
    let fits_anyway = |candidate: &Candidate| usage.always_fits(candidate);
    let (sure, competing): (Vec<_>, Vec<_>) = candidates.into_iter().partition(fits_anyway);
    let mut kept: Vec<usize> = sure.iter().map(|candidate| candidate.id).collect();
    for candidate in &sure {
        candidate.add(&mut usage.least, 1.0);
    }
    for component in components(&competing) {
        let is_kept = Search::new(component, &mut usage).best();
        for (candidate, is_kept) in component.iter().zip(is_kept) {
            match is_kept {
                true => {
                    candidate.add(&mut usage.least, 1.0);
                    kept.push(candidate.id);
                }
                false => candidate.add(&mut usage.most, -1.0),
            }
        }
    }
    kept
}

impl Candidate {
    fn n_steps(&self) -> usize {
        self.last - self.first + 1
    }

    fn add(&self, usage: &mut [f64], times: f64) {
        for bytes in &mut usage[self.first..=self.last] {
            *bytes += times * self.bytes;
        }
    }

    fn peak(&self, usage: &[f64]) -> f64 {
        let own = &usage[self.first..=self.last];
        own.iter().copied().fold(0.0, f64::max)
    }
}

/// Bytes in use by step: of what is sure to stay, and if all that is not refused yet stayed.
struct Usage {
    limit_bytes: f64,
    steps_left: usize,
    least: Vec<f64>,
    most: Vec<f64>,
}

impl Usage {
    fn can_keep(&self, candidate: &Candidate) -> bool {
        candidate.peak(&self.least) + candidate.bytes <= self.limit_bytes
    }

    fn always_fits(&self, candidate: &Candidate) -> bool {
        candidate.peak(&self.most) <= self.limit_bytes
    }
}

/// Neighbours that overlap in time.
fn components(candidates: &[Candidate]) -> Vec<&[Candidate]> {
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

struct Search<'a> {
    component: &'a [Candidate],
    usage: &'a mut Usage,
    current: Vec<bool>,
    best: Vec<bool>,
    best_score: f64,
}

impl<'a> Search<'a> {
    fn new(component: &'a [Candidate], usage: &'a mut Usage) -> Self {
        Self {
            component,
            usage,
            current: vec![false; component.len()],
            best: vec![false; component.len()],
            best_score: 0.0,
        }
    }

    /// Whether each is kept.
    fn best(mut self) -> Vec<bool> {
        let all = self.component.iter().map(|candidate| candidate.accesses);
        self.branch(0, 0.0, all.sum());
        self.best
    }

    /// Decides about the candidate at `idx` and those after it; `score` is of those before,
    /// `open_score` what the rest would add if all stayed.
    fn branch(&mut self, idx: usize, score: f64, open_score: f64) {
        let is_hopeless = self.best_score > 0.0 && score + open_score <= self.best_score;
        if is_hopeless || self.usage.steps_left == 0 {
            return;
        }
        let component = self.component;
        let Some(candidate) = component.get(idx) else {
            if score > self.best_score || self.best_score == 0.0 {
                self.best_score = score;
                self.best.copy_from_slice(&self.current);
            }
            return;
        };
        self.usage.steps_left = self.usage.steps_left.saturating_sub(candidate.n_steps());
        let open_score = open_score - candidate.accesses;
        let can_keep = self.usage.can_keep(candidate);
        if can_keep {
            self.current[idx] = true;
            candidate.add(&mut self.usage.least, 1.0);
            self.branch(idx + 1, score + candidate.accesses, open_score);
            candidate.add(&mut self.usage.least, -1.0);
        }
        if !can_keep || !self.usage.always_fits(candidate) {
            self.current[idx] = false;
            candidate.add(&mut self.usage.most, -1.0);
            self.branch(idx + 1, score, open_score);
            candidate.add(&mut self.usage.most, 1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::analysis::fixtures::Random;

    /// Every choice, the best one found by looking at all.
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

    /// Where all that compete overlap, no other choice has more accesses.
    #[test]
    fn what_is_kept_in_sram_has_most_accesses() {
        const LIMIT: f64 = 100.0;
        let mut random = Random::new(5);
        let mut n_evicted = 0;
        for _ in 0..300 {
            let n_steps = 6;
            let buffers: Vec<f64> = (0..n_steps).map(|_| random.below(60) as f64).collect();
            let candidates: Vec<Candidate> = (0..8)
                .map(|id| {
                    let first = random.below(3) as usize;
                    Candidate {
                        id,
                        first,
                        last: 2 + random.below(4) as usize,
                        bytes: 1.0 + random.below(70) as f64,
                        accesses: 1.0 + random.below(1000) as f64,
                    }
                })
                .collect();
            let kept = best(candidates.clone(), LIMIT, &buffers);
            n_evicted += candidates.len() - kept.len();
            let score: f64 = kept.iter().map(|&id| candidates[id].accesses).sum();
            let most = best_choice(&candidates, LIMIT, &buffers);
            for (step, buffer) in buffers.iter().enumerate() {
                let here = kept.iter().map(|&id| &candidates[id]);
                let here = here.filter(|one| (one.first..=one.last).contains(&step));
                assert!(buffer + here.map(|one| one.bytes).sum::<f64>() <= LIMIT);
            }
            // What always fits is kept first, whatever it displaces.
            assert!(score <= most && score >= 0.8 * most, "{score} of {most}");
        }
        println!("{n_evicted} of 2400 evicted");
        assert!(n_evicted > 300);
    }
}
