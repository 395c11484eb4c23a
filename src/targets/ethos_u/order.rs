//! The order of execution, and the chains of Ethos-U85. Reproduces `Graph::TraverseGraphFromEnd` as
//! `SchedulerPacking::Process` uses it, and `EthosU85OpGroup`, as described under "Order of execution" and
//! "Chains on Ethos-U85" in `docs/method/ethos-u.md`.

use std::cmp::Reverse;

use super::geometry::Hwc;
use super::index::Steps;
use super::lower::shape_of_activation;
use super::program::{Action, Alias, Operation, Program};
use crate::work;

/// The steps of a program: one for each operation, in the order of execution.
#[derive(Clone, Debug)]
pub struct Order {
    /// By step, the index of the operation.
    pub operations: Vec<usize>,
    /// By step, the first step of its chain: operations that are fused into one command and keep nothing in memory
    /// between them. A step without a chain is its own first step.
    pub chain_start: Vec<usize>,
    /// By step, the first and last step of its cascade.
    pub cascade: Vec<Steps>,
}

impl Order {
    /// A topological order in which the producers of an operation's last input come first. Operations that no output
    /// needs come at the end. There are no chains yet. Linear in operations and their inputs.
    pub fn new(program: &Program) -> Self {
        let operations = depth_first(program);
        Self {
            chain_start: (0..operations.len()).collect(),
            cascade: vec![Steps::NONE; operations.len()],
            operations,
        }
    }

    /// The same order with elementwise operations chained to the operations before them, as on Ethos-U85.
    pub fn with_chains(mut self, program: &Program) -> Self {
        let n_readers = program.n_readers();
        // By map, how many commands write it: a chain begins with one that does so alone.
        let mut n_writers = vec![0.0; program.maps.len()];
        for operation in &program.operations {
            for &output in &operation.outputs {
                n_writers[output] += program.maps[output].n_pieces(operation.repeats);
            }
        }
        let is_whole = |map_idx: usize| n_writers[map_idx] <= 1.0;
        let mut chain: Option<Chain> = None;
        for step in 0..self.operations.len() {
            let operation = &program.operations[self.operations[step]];
            let before = chain.filter(|chain| n_readers[chain.end] == 1 && is_whole(chain.end));
            chain = match (before, operation.alias) {
                // An activation that the previous operation performs.
                (Some(before), Alias::Fused) if operation.inputs.first() == Some(&before.end) => {
                    // Nothing is chained to what writes in reverse.
                    let outputs = operation.outputs.first();
                    let outputs = outputs.filter(|_| operation.reversed_dimension().is_none());
                    outputs.map(|&end| before.through_activation(program, end))
                }
                (Some(before), _) => match before.with(program, operation) {
                    Some(longer) => {
                        work::count(step - before.start);
                        self.chain_start[before.start + 1..=step].fill(before.start);
                        Some(longer)
                    }
                    None => Chain::started_by(program, operation, step),
                },
                (None, _) => Chain::started_by(program, operation, step),
            };
        }
        self
    }

    /// The operations chained to this step, except for those that other operations perform.
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
        operations.filter(|operation| !operation.alias.is_view_of_input())
    }

    /// The maps that the command beginning with this step writes, those of activations inside of it included.
    pub fn maps_within_chain(&self, program: &Program, step: usize) -> Vec<usize> {
        let steps = &self.operations[step..=self.last_chained(step)];
        let outputs = steps
            .iter()
            .flat_map(|&idx| &program.operations[idx].outputs);
        outputs.copied().collect()
    }

    /// The last step of the command that begins with this one, except for activations.
    fn last_chained(&self, step: usize) -> usize {
        let behind = self.chain_start.iter().skip(step + 1);
        step + behind.take_while(|&&start| start == step).count()
    }

    /// The map that the command beginning with this step writes through an activation: one that the file fuses into the
    /// last operator, or one that follows. `None` if it ends without an activation.
    pub fn map_behind_activation(&self, program: &Program, step: usize) -> Option<usize> {
        let last = self.last_chained(step);
        let operation = &program.operations[self.operations[last]];
        let next = self
            .operations
            .get(last + 1)
            .map(|&idx| &program.operations[idx]);
        let follows = next.filter(|next| {
            let is_activation = matches!(next.action, Action::Table | Action::Clamp);
            let reads = next.inputs.first() == operation.outputs.first();
            next.alias == Alias::Fused && is_activation && reads
        });
        let writer = Some(operation).filter(|operation| operation.has_activation);
        follows.or(writer)?.outputs.first().copied()
    }

    /// The same order with cascades, each given by its first and last step.
    pub fn with_cascades(mut self, cascades: impl Iterator<Item = (usize, usize)>) -> Self {
        for (first, last) in cascades {
            self.cascade[first..=last].fill(Some((first, last)).into());
        }
        self
    }

    pub fn without_cascades(mut self) -> Self {
        self.cascade.fill(Steps::NONE);
        self
    }

    /// First and last of the steps that run together with this one.
    pub fn span(&self, step: usize) -> (usize, usize) {
        self.cascade[step]
            .get()
            .unwrap_or((self.chain_start[step], step))
    }

    /// Whether only the next step of its chain or cascade reads the output of this step.
    pub fn is_read_by_next_only(&self, step: usize) -> bool {
        step + 1 < self.operations.len() && self.span(step + 1).0 <= step
    }
}

/// Maximum number of operations in a chain, and of inputs that a chain reads from memory (`EthosU85OpGroup` has as many
/// slots).
const MAX_CHAIN: usize = 4;
const MAX_INPUTS: usize = 3;

/// The operations of a chain so far, which are fused into one NPU command.
#[derive(Clone, Copy, Debug)]
struct Chain {
    /// First step of the chain.
    start: usize,
    /// Index of the map that its last operation writes.
    end: usize,
    /// OFM shapes of the first and the last operation, as these operations see them.
    shapes: [Hwc; 2],
    /// Whether the first operation is a window, behind which no operation sees another shape.
    has_window: bool,
    n_operations: usize,
    n_inputs: usize,
}

impl Chain {
    /// `None` if no operation can follow this one in a chain.
    fn started_by(program: &Program, operation: &Operation, step: usize) -> Option<Self> {
        let &end = operation.outputs.first()?;
        let can_start = matches!(operation.action, Action::Layer(_)) || operation.is_elementwise();
        let map = &program.maps[end];
        let is_free = map.is_internal()
            && !operation.alias.is_view_of_input()
            && operation.reversed_dimension().is_none();
        let shape = operation.view_shapes().map_or(map.shape(), |[_, ofm]| ofm);
        let chain = Self {
            start: step,
            end,
            shapes: [shape; 2],
            has_window: operation.has_window(),
            n_operations: 1,
            n_inputs: n_inputs(program, operation),
        };
        let has_activation = operation.has_activation;
        let chain = Some(chain).filter(|_| can_start && is_free);
        chain.map(|chain| {
            if has_activation {
                chain.through_activation(program, end)
            } else {
                chain
            }
        })
    }

    /// The chain behind an activation, which the last operation performs and which sees its output in a shape of its own.
    fn through_activation(self, program: &Program, end: usize) -> Self {
        let seen = shape_of_activation(&program.maps[end]);
        let last = if self.has_window {
            self.shapes[1]
        } else {
            seen
        };
        Self {
            end,
            shapes: [self.shapes[0], last],
            ..self
        }
    }

    /// The chain with one more operation; `None` if this does not read the output of the last one in the same shape.
    fn with(self, program: &Program, operation: &Operation) -> Option<Self> {
        let is_elementwise = operation.is_binary() || operation.action == Action::Unary;
        let &output = operation.outputs.first().filter(|_| is_elementwise)?;
        let at = operation
            .inputs
            .iter()
            .position(|&input| input == self.end)?;
        let map = &program.maps[output];
        let shape = operation.view_shapes().map_or(map.shape(), |[_, ofm]| ofm);
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

/// Number of inputs from memory. Scalars are part of the command, except for truth values.
fn n_inputs(program: &Program, operation: &Operation) -> usize {
    let is_number = |&&input: &&usize| {
        let map = &program.maps[input];
        map.is_constant && map.n_elements() == 1 && !map.is_truth
    };
    operation.inputs.len() - operation.inputs.iter().filter(is_number).count()
}

/// Operations in the order of [`Order::new`]. Linear in operations, inputs, outputs and writers: each writer of a map is
/// visited once, even if many operations read the map and it is an output many times.
fn depth_first(program: &Program) -> Vec<usize> {
    let mut walk = DepthFirstWalk::new(program, program.is_first_writer_first);
    assigning(program)
        .into_iter()
        .for_each(|idx| walk.visit(idx));
    for &output in program.outputs.iter().rev() {
        while let Some(writer) = walk.writers.next(output) {
            walk.visit(writer);
        }
    }
    (0..program.operations.len()).for_each(|idx| walk.visit(idx));
    walk.order
}

/// What assigns a variable: it has no result that a caller reads, and counts as a further output. The compiler adds these
/// outputs variable by variable, as a first walk from the last assignment on reaches them, and visits the last one first.
fn assigning(program: &Program) -> Vec<usize> {
    let is_state = |&output: &usize| program.maps[output].is_variable;
    let assigns = |idx: &usize| program.operations[*idx].outputs.iter().all(is_state);
    let n_operations = program.operations.len();
    let all = (0..n_operations).rev().filter(|_| program.has_state);
    let mut assigning: Vec<usize> = all.filter(assigns).collect();
    if assigning.len() < 2 {
        return assigning;
    }
    let mut walk = DepthFirstWalk::new(program, false);
    assigning.iter().for_each(|&idx| walk.visit(idx));
    let mut reached = vec![None; program.maps.len()];
    for (place, &idx) in walk.order.iter().enumerate() {
        let operation = &program.operations[idx];
        for &map_idx in operation.inputs.iter().chain(&operation.outputs) {
            reached[map_idx].get_or_insert(place);
        }
    }
    let of_variable = |idx: &usize| {
        program.operations[*idx]
            .outputs
            .first()
            .map(|&map| reached[map])
    };
    assigning.sort_by_key(|idx| Reverse(of_variable(idx)));
    assigning
}

struct DepthFirstWalk<'p> {
    program: &'p Program,
    /// Whether the parts of a concatenation are visited from the first to the last one.
    is_forward: bool,
    writers: Writers,
    order: Vec<usize>,
    is_seen: Vec<bool>,
    /// Operations that wait for earlier ones, each with the number of inputs whose writers were not visited yet.
    open: Vec<(usize, usize)>,
}

impl<'p> DepthFirstWalk<'p> {
    fn new(program: &'p Program, is_forward: bool) -> Self {
        let n_operations = program.operations.len();
        Self {
            program,
            is_forward,
            writers: Writers::new(program),
            order: Vec::with_capacity(n_operations),
            is_seen: vec![false; n_operations],
            open: Vec::new(),
        }
    }

    /// Visits everything that `root` needs and then `root`.
    fn visit(&mut self, root: usize) {
        self.open_operation(root);
        while let Some((idx, n_left)) = self.open.last_mut() {
            let operation = &self.program.operations[*idx];
            let inputs = &operation.inputs;
            let is_forward = self.is_forward && matches!(operation.action, Action::Concat { .. });
            let at = |last: usize| {
                if is_forward {
                    inputs.len() - 1 - last
                } else {
                    last
                }
            };
            let Some(&input) = n_left.checked_sub(1).and_then(|last| inputs.get(at(last))) else {
                self.order.push(*idx);
                self.open.pop();
                continue;
            };
            match self.writers.next(input) {
                Some(writer) => self.open_operation(writer),
                None => *n_left -= 1,
            }
        }
    }

    fn open_operation(&mut self, idx: usize) {
        if !std::mem::replace(&mut self.is_seen[idx], true) {
            let operation = &self.program.operations[idx];
            let is_state = |&input: &usize| self.program.maps[input].is_variable;
            // What reads a variable does not wait for what assigns it.
            let reads_state = self.program.has_state
                && operation.action == Action::Copy
                && operation.inputs.iter().any(is_state);
            let n_inputs = if reads_state {
                0
            } else {
                operation.inputs.len()
            };
            self.open.push((idx, n_inputs));
        }
    }
}

/// By map, the operations that write it or parts of it. Each is returned once: the next caller continues after those
/// that were already visited.
struct Writers {
    /// Operations, map by map, in the order of the program.
    operations: Vec<usize>,
    /// By map, the next place in `operations` and the end of its part.
    parts: Vec<(usize, usize)>,
}

impl Writers {
    fn new(program: &Program) -> Self {
        let mut parts = vec![(0, 0); program.maps.len()];
        let outputs = || {
            let operations = program.operations.iter().enumerate();
            operations.flat_map(|(idx, operation)| {
                operation.outputs.iter().map(move |&output| (idx, output))
            })
        };
        outputs().for_each(|(_, output)| parts[output].1 += 1);
        let mut start = 0;
        for part in &mut parts {
            let n_writers = part.1;
            *part = (start, start);
            start += n_writers;
        }
        let mut operations = vec![0; start];
        for (idx, output) in outputs() {
            operations[parts[output].1] = idx;
            parts[output].1 += 1;
        }
        Self { operations, parts }
    }

    fn next(&mut self, map_idx: usize) -> Option<usize> {
        let (next, end) = &mut self.parts[map_idx];
        let writer = *self.operations[..*end].get(*next)?;
        *next += 1;
        Some(writer)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::analysis::fixtures::for_each;
    use crate::targets::ethos_u::program::FeatureMap;

    /// The same order by a simple algorithm that visits every writer of every input again for each reader.
    fn naively(program: &Program) -> Vec<usize> {
        fn visit(program: &Program, idx: usize, is_seen: &mut [bool], order: &mut Vec<usize>) {
            if std::mem::replace(&mut is_seen[idx], true) {
                return;
            }
            for input in program.operations[idx].inputs.iter().rev() {
                for writer in writers(program, *input) {
                    visit(program, writer, is_seen, order);
                }
            }
            order.push(idx);
        }
        fn writers(program: &Program, map_idx: usize) -> impl Iterator<Item = usize> {
            let operations = program.operations.iter().enumerate();
            let writes = operations.filter(move |(_, one)| one.outputs.contains(&map_idx));
            writes.map(|(idx, _)| idx)
        }
        let mut is_seen = vec![false; program.operations.len()];
        let mut order = Vec::new();
        for &output in program.outputs.iter().rev() {
            for writer in writers(program, output) {
                visit(program, writer, &mut is_seen, &mut order);
            }
        }
        for idx in 0..program.operations.len() {
            visit(program, idx, &mut is_seen, &mut order);
        }
        order
    }

    fn program(operations: Vec<[Vec<usize>; 2]>, n_maps: usize, outputs: Vec<usize>) -> Program {
        let operation = |(idx, [inputs, outputs]): (usize, [Vec<usize>; 2])| {
            Operation::new(idx, Action::Other, inputs, outputs)
        };
        Program {
            maps: vec![FeatureMap::default(); n_maps],
            operations: operations.into_iter().enumerate().map(operation).collect(),
            outputs,
            ..Program::default()
        }
    }

    /// Operations that read and write some of up to nine maps, some of which are outputs of the network.
    fn programs() -> impl Strategy<Value = Program> {
        (2..10_usize).prop_flat_map(|n_maps| {
            let maps = |most: usize| proptest::collection::vec(0..n_maps, 0..=most);
            let operations = proptest::collection::vec([maps(4), maps(3)], 1..=10);
            (operations, maps(4))
                .prop_map(move |(operations, outputs)| program(operations, n_maps, outputs))
        })
    }

    #[test]
    fn orders_are_those_of_the_naive_walk() {
        for_each(2000, programs(), |program| {
            assert_eq!(depth_first(&program), naively(&program), "{program:?}");
        });
    }

    /// Each of many operations writes and reads the same map, which is an output as many times. Visiting its writers
    /// for each reader would take hours.
    #[test]
    fn one_map_of_many_writers_readers_and_outputs() {
        const N: usize = 300_000;
        let program = program(vec![[vec![0], vec![0]]; N], 1, vec![0; N]);
        let order = depth_first(&program);
        assert_eq!(order.len(), N);
        assert_eq!(order[N - 1], 0, "the first one waits for all others");
    }
}
