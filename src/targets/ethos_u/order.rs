//! In which order the compiler has the operators run.

use super::accelerator::Hwc;
use super::program::{Action, Operation, Placing, Program};

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

    /// The same with elementwise operations chained to the operations before them, as Ethos-U85 runs them.
    pub fn with_chains(mut self, program: &Program) -> Self {
        let n_readers = program.n_readers();
        let mut chain: Option<Chain> = None;
        for step in 0..self.operations.len() {
            let operation = &program.operations[self.operations[step]];
            let before = chain.filter(|chain| n_readers[chain.end] == 1);
            chain = match (before, operation.placing) {
                // What the operation before it does by itself.
                (Some(before), Placing::Fused) if operation.inputs.first() == Some(&before.end) => {
                    operation
                        .outputs
                        .first()
                        .map(|&end| Chain { end, ..before })
                }
                (Some(before), _) => match before.with(program, operation) {
                    Some(longer) => {
                        self.chain_start[before.start + 1..=step].fill(before.start);
                        Some(longer)
                    }
                    None => Chain::starting(program, operation, step),
                },
                (None, _) => Chain::starting(program, operation, step),
            };
        }
        self
    }

    /// Steps that are chained to this one, but for what others do by themselves.
    pub fn chained<'a>(
        &'a self,
        program: &'a Program,
        step: usize,
    ) -> impl Iterator<Item = &'a Operation> {
        let behind = self.operations[step + 1..]
            .iter()
            .zip(&self.chain_start[step + 1..]);
        let chained = behind.take_while(move |&(_, &start)| start == step);
        let operations = chained.map(|(&idx, _)| &program.operations[idx]);
        operations.filter(|operation| !operation.placing.is_of_input())
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

/// Operations in a chain, and inputs of it that come from memory, at most.
const MAX_CHAIN: usize = 4;
const MAX_INPUTS: usize = 3;

/// Operations that run as one, as far as they are known.
#[derive(Clone, Copy, Debug)]
struct Chain {
    /// First step.
    start: usize,
    /// Map that the last one writes.
    end: usize,
    /// Shape in which the first one sees its output, and the last one.
    shapes: [Hwc; 2],
    n_operations: usize,
    n_inputs: usize,
}

impl Chain {
    /// None where nothing can follow.
    fn starting(program: &Program, operation: &Operation, step: usize) -> Option<Self> {
        let &end = operation.outputs.first()?;
        let can_start = matches!(operation.action, Action::Layer(_)) || operation.is_elementwise();
        let map = &program.maps[end];
        let is_free = map.is_internal() && !operation.placing.is_of_input();
        let shape = operation.seen.map_or(map.shape, |[_, ofm]| ofm);
        (can_start && is_free).then_some(Self {
            start: step,
            end,
            shapes: [shape; 2],
            n_operations: 1,
            n_inputs: n_inputs(program, operation),
        })
    }

    /// With one more operation; none where it does not go on with what the last one computes, as it is.
    fn with(self, program: &Program, operation: &Operation) -> Option<Self> {
        let is_elementwise = operation.is_binary() || operation.action == Action::Unary;
        let &output = operation.outputs.first().filter(|_| is_elementwise)?;
        let at = operation
            .inputs
            .iter()
            .position(|&input| input == self.end)?;
        let map = &program.maps[output];
        let shape = operation.seen.map_or(map.shape, |[_, ofm]| ofm);
        let other = operation
            .inputs
            .get(1 - at.min(1))
            .filter(|_| operation.inputs.len() > 1);
        let is_free = |&other: &usize| {
            let other = &program.maps[other];
            other.n_elements() == 1 || other.shape == map.shape || shape == self.shapes[0]
        };
        let n_inputs = self.n_inputs + n_inputs(program, operation) - 1;
        let goes_on = shape == self.shapes[1]
            && other.is_none_or(is_free)
            && self.n_operations < MAX_CHAIN
            && n_inputs <= MAX_INPUTS
            && !map.is_variable;
        goes_on.then_some(Self {
            end: output,
            shapes: [self.shapes[0], shape],
            n_operations: self.n_operations + 1,
            n_inputs,
            ..self
        })
    }
}

/// Inputs that come from memory: numbers come with the operation.
fn n_inputs(program: &Program, operation: &Operation) -> usize {
    let is_number = |&&input: &&usize| {
        let map = &program.maps[input];
        map.is_constant && map.n_elements() == 1
    };
    operation.inputs.len() - operation.inputs.iter().filter(is_number).count()
}

fn depth_first(program: &Program) -> Vec<usize> {
    let n_operations = program.operations.len();
    // By map, the operations that write it or parts of it, the last one first.
    let mut writers = vec![Vec::new(); program.maps.len()];
    for (idx, operation) in program.operations.iter().enumerate().rev() {
        operation
            .outputs
            .iter()
            .for_each(|&output| writers[output].push(idx));
    }
    let before = |idx: usize| -> Vec<usize> {
        let inputs = program.operations[idx].inputs.iter();
        inputs.flat_map(|&input| &writers[input]).copied().collect()
    };
    let needed = program
        .outputs
        .iter()
        .rev()
        .flat_map(|&output| writers[output].iter().rev());
    let mut order = Vec::with_capacity(n_operations);
    let mut is_seen = vec![false; n_operations];
    for root in needed.copied().chain(0..n_operations) {
        // Operations with those before them that are still to be looked at.
        let mut open = Vec::new();
        if !std::mem::replace(&mut is_seen[root], true) {
            open.push((root, before(root)));
        }
        while let Some((idx, left)) = open.last_mut() {
            let Some(next) = left.pop() else {
                order.push(*idx);
                open.pop();
                continue;
            };
            if !std::mem::replace(&mut is_seen[next], true) {
                open.push((next, before(next)));
            }
        }
    }
    order
}
