//! In which order the compiler has the operators run.

use super::layer::Kind;
use super::program::{Action, Program};

/// The steps of a program, one for each operation.
#[derive(Clone, Debug)]
pub struct Order {
    /// Operation that runs in each step.
    pub operations: Vec<usize>,
    /// First step of the chain to which each belongs: operations that run as one, block by block,
    /// and keep nothing between them. Mostly the step itself.
    pub chain_start: Vec<usize>,
    /// First and last step of the cascade to which each belongs.
    pub cascade: Vec<Option<(usize, usize)>>,
}

impl Order {
    /// As Vela 5.2.0 runs them: an operation after all that it reads, its last input's producers first;
    /// at the end what no output needs, as the program has it. No chains. Linear in operations and their
    /// inputs.
    pub fn of(program: &Program) -> Self {
        let operations = depth_first(program);
        Self {
            chain_start: (0..operations.len()).collect(),
            cascade: vec![None; operations.len()],
            operations,
        }
    }

    /// The same with elementwise operations chained to the convolution or elementwise operation before
    /// them, as Ethos-U85 runs them.
    pub fn with_chains(mut self, program: &Program) -> Self {
        let writers = program.writers();
        let n_readers = program.n_readers();
        for step in 1..self.operations.len() {
            let [before, own] = [step - 1, step].map(|step| self.operations[step]);
            let [before_idx, own_idx] = [before, own];
            let [before, own] = [before, own].map(|idx| &program.operations[idx]);
            let reads_it = (own.inputs.iter()).any(|&map_idx| writers[map_idx] == Some(before_idx));
            let is_read_once = (before.outputs.iter()).all(|&output| n_readers[output] == 1);
            let can_follow = is_sum(program, before_idx)
                || matches!(
                    before.action,
                    Action::Layer(Kind::Convolution | Kind::Depthwise)
                );
            if reads_it && is_read_once && is_sum(program, own_idx) && can_follow {
                self.chain_start[step] = self.chain_start[step - 1];
            }
        }
        self
    }

    /// The same with steps that run as cascades, each given by its first and last step.
    pub fn with_cascades(mut self, cascades: impl Iterator<Item = (usize, usize)>) -> Self {
        for (first, last) in cascades {
            self.cascade[first..=last].fill(Some((first, last)));
        }
        self
    }

    /// First and last of the steps that run together with this one.
    pub fn span(&self, step: usize) -> (usize, usize) {
        self.cascade[step].unwrap_or((self.chain_start[step], step))
    }

    /// Whether the result of a step goes no further than to the next one of its chain or cascade.
    pub fn is_passed_on(&self, step: usize) -> bool {
        step + 1 < self.operations.len() && self.span(step + 1).0 <= step
    }
}

/// Of two feature maps of one shape.
fn is_sum(program: &Program, idx: usize) -> bool {
    let operation = &program.operations[idx];
    let [one, other] = operation.inputs[..] else {
        return false;
    };
    let [one, other] = [one, other].map(|map_idx| &program.maps[map_idx]);
    operation.is_binary() && !one.is_constant && !other.is_constant && one.shape == other.shape
}

fn depth_first(program: &Program) -> Vec<usize> {
    let n_operations = program.operations.len();
    let writers = program.writers();
    let needed = (program.outputs.iter().rev()).filter_map(|&map_idx| writers[map_idx]);
    let mut order = Vec::with_capacity(n_operations);
    let mut is_seen = vec![false; n_operations];
    for root in needed.chain(0..n_operations) {
        // Operations with how many of their inputs are still to be looked at.
        let mut open = Vec::new();
        if !std::mem::replace(&mut is_seen[root], true) {
            open.push((root, program.operations[root].inputs.len()));
        }
        while let Some((idx, n_left)) = open.last_mut() {
            if *n_left == 0 {
                order.push(*idx);
                open.pop();
                continue;
            }
            *n_left -= 1;
            let input = program.operations[*idx].inputs[*n_left];
            if let Some(next) = writers[input]
                && !std::mem::replace(&mut is_seen[next], true)
            {
                open.push((next, program.operations[next].inputs.len()));
            }
        }
    }
    order
}
