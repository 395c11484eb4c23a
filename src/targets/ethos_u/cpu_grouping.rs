//! The order of execution with operations of the CPU beside each other. Reproduces `SchedulerPacking::ReorderOperations`,
//! as described under "Operations left to the CPU" in `docs/method/ethos-u.md`.

use std::ops::Range;

use super::index::Steps;
use super::order::Order;
use super::program::{Action, Alias, Program};

impl Order {
    /// The same order with fewer changes between CPU and NPU. Operations of the CPU that need nothing from the NPU come
    /// first, and those whose results only callers read come last. The others move behind the commands of the NPU that
    /// do not read their results, up to the next operation of the CPU. Linear in operations, inputs and outputs.
    pub fn with_cpu_grouped(self, program: &Program) -> Self {
        let is_cpu = |idx: &usize| program.operations[*idx].action == Action::Cpu;
        if self.operations.iter().any(is_cpu) {
            self.in_order(&Grouping::new(&self, program).steps())
        } else {
            self
        }
    }

    /// The same steps in another order, in which chains stay together.
    fn in_order(&self, steps: &[usize]) -> Self {
        let mut place = vec![0; steps.len()];
        for (to, &from) in steps.iter().enumerate() {
            place[from] = to;
        }
        let start = |&step: &usize| place[self.chain_start[step]];
        Self {
            operations: steps.iter().map(|&step| self.operations[step]).collect(),
            chain_start: steps.iter().map(start).collect(),
            cascade: vec![Steps::NONE; steps.len()],
        }
    }
}

/// Commands of the NPU and operations of the CPU while they are grouped, each as a range of steps: a command has the
/// steps of its chain and of activations that it performs.
struct Grouping {
    first: Vec<Range<usize>>,
    /// By command of the NPU that is not among the first, its range and the operations of the CPU before it, the last one
    /// first.
    commands: Vec<(Range<usize>, Vec<usize>)>,
    /// Operations of the CPU after all commands, the last one first.
    behind: Vec<usize>,
    last: Vec<usize>,
}

impl Grouping {
    fn new(order: &Order, program: &Program) -> Self {
        let mut grouping = Self {
            first: Vec::new(),
            commands: Vec::new(),
            behind: Vec::new(),
            last: Vec::new(),
        };
        let mut n_writers = vec![0usize; program.maps.len()];
        for operation in &program.operations {
            operation
                .outputs
                .iter()
                .for_each(|&output| n_writers[output] += 1);
        }
        let n_readers = program.n_readers();
        let mut between = Vec::new();
        for steps in ranges(order, program) {
            let operation = &program.operations[order.operations[steps.start]];
            let needs_no_command = operation.inputs.iter().all(|&input| n_writers[input] == 0);
            let is_view = operation.action == Action::View && steps.len() == 1;
            let is_cpu = operation.action == Action::Cpu;
            let is_result =
                |&output: &usize| program.maps[output].is_output && n_readers[output] == 0;
            if needs_no_command && (is_cpu || is_view) {
                operation
                    .outputs
                    .iter()
                    .for_each(|&output| n_writers[output] -= 1);
                grouping.first.push(steps);
            } else if !is_cpu {
                grouping.commands.push((steps, Vec::new()));
            } else if operation.outputs.iter().all(is_result) {
                grouping.last.push(steps.start);
            } else {
                between.push(steps.start);
            }
        }
        grouping.place(order, program, &between);
        grouping
    }

    /// Places the operations of the CPU at the steps `between` commands, from the last one on: none moves past a later one.
    fn place(&mut self, order: &Order, program: &Program, between: &[usize]) {
        let n_commands = self.commands.len();
        let mut first_reader = vec![n_commands; program.maps.len()];
        for (command_idx, (steps, _)) in self.commands.iter().enumerate().rev() {
            for &idx in &order.operations[steps.clone()] {
                let inputs = &program.operations[idx].inputs;
                inputs
                    .iter()
                    .for_each(|&input| first_reader[input] = command_idx);
            }
        }
        let mut next = n_commands;
        for &step in between.iter().rev() {
            let outputs = &program.operations[order.operations[step]].outputs;
            let reader = outputs.iter().map(|&output| first_reader[output]).min();
            next = next.min(reader.unwrap_or(n_commands));
            match self.commands.get_mut(next) {
                Some((_, before)) => before.push(step),
                None => self.behind.push(step),
            }
        }
    }

    fn steps(self) -> Vec<usize> {
        let mut steps: Vec<usize> = self.first.into_iter().flatten().collect();
        for (command, before) in self.commands {
            steps.extend(before.into_iter().rev());
            steps.extend(command);
        }
        steps.extend(self.behind.into_iter().rev());
        steps.extend(self.last);
        steps
    }
}

/// The steps of each command, and of each operation of the CPU.
fn ranges(order: &Order, program: &Program) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for step in 0..order.operations.len() {
        let operation = &program.operations[order.operations[step]];
        let is_performed_before = |last: &Range<usize>| {
            let before = &program.operations[order.operations[last.end - 1]];
            let is_activation = matches!(operation.action, Action::Table | Action::Clamp);
            // An operation of the CPU performs nothing but itself.
            before.action != Action::Cpu
                && operation.alias == Alias::Fused
                && is_activation
                && operation.inputs.first() == before.outputs.first()
        };
        match ranges.last_mut() {
            Some(last) if order.chain_start[step] < step || is_performed_before(last) => {
                last.end = step + 1;
            }
            _ => ranges.push(step..step + 1),
        }
    }
    ranges
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::analysis::fixtures::for_each;
    use crate::targets::ethos_u::program::{FeatureMap, Operation};

    /// Operations in order, each of which writes a map of its own and reads some earlier ones; map 0 is an input.
    fn programs() -> impl Strategy<Value = Program> {
        let operation = (
            any::<bool>(),
            any::<bool>(),
            proptest::collection::vec(any::<prop::sample::Index>(), 0..3),
        );
        proptest::collection::vec(operation, 1..12).prop_map(|drawn| {
            let mut program = Program {
                maps: vec![FeatureMap {
                    is_input: true,
                    ..FeatureMap::default()
                }],
                ..Program::default()
            };
            for (idx, (is_cpu, is_output, read)) in drawn.into_iter().enumerate() {
                let mut inputs: Vec<usize> = read.iter().map(|read| read.index(idx + 1)).collect();
                inputs.sort_unstable();
                inputs.dedup();
                let action = if is_cpu { Action::Cpu } else { Action::Other };
                program
                    .operations
                    .push(Operation::new(idx, action, inputs, vec![idx + 1]));
                program.maps.push(FeatureMap {
                    is_output,
                    ..FeatureMap::default()
                });
            }
            program
        })
    }

    /// The same by moving one operation of the CPU after another, a place at a time.
    fn one_place_at_a_time(program: &Program) -> Vec<usize> {
        let operation = |idx: usize| &program.operations[idx];
        let is_cpu = |idx: usize| operation(idx).action == Action::Cpu;
        let n_readers = program.n_readers();
        let (mut first, mut others, mut last) = (Vec::new(), Vec::new(), Vec::new());
        for idx in 0..program.operations.len() {
            // Operation `idx` writes map `idx + 1`.
            let is_early = |&input: &usize| input == 0 || first.contains(&(input - 1));
            let is_result =
                |&output: &usize| program.maps[output].is_output && n_readers[output] == 0;
            if is_cpu(idx) && operation(idx).inputs.iter().all(is_early) {
                first.push(idx);
            } else if is_cpu(idx) && operation(idx).outputs.iter().all(is_result) {
                last.push(idx);
            } else {
                others.push(idx);
            }
        }
        for place in (0..others.len()).rev() {
            let mut at = place;
            while at + 1 < others.len() && is_cpu(others[at]) {
                let next = operation(others[at + 1]);
                if is_cpu(others[at + 1]) || next.inputs.contains(&operation(others[at]).outputs[0])
                {
                    break;
                }
                others.swap(at, at + 1);
                at += 1;
            }
        }
        [first, others, last].concat()
    }

    #[test]
    fn operations_of_the_cpu_move_as_one_place_at_a_time() {
        for_each(2000, programs(), |program| {
            let n = program.operations.len();
            let order = Order {
                operations: (0..n).collect(),
                chain_start: (0..n).collect(),
                cascade: vec![Steps::NONE; n],
            };
            let actual = order.with_cpu_grouped(&program).operations;
            assert_eq!(actual, one_place_at_a_time(&program), "{program:?}");
        });
    }

    /// A variable that the CPU reads, a command of the NPU before and after it, and the assignment: the CPU interrupts
    /// no command.
    #[test]
    fn chains_stay_together() {
        let operation = |idx, action, inputs: &[usize], outputs: &[usize]| {
            Operation::new(idx, action, inputs.to_vec(), outputs.to_vec())
        };
        let activation = Operation {
            alias: Alias::Fused,
            ..operation(2, Action::Clamp, &[2], &[3])
        };
        let program = Program {
            maps: vec![FeatureMap::default(); 5],
            operations: vec![
                operation(0, Action::Other, &[0], &[1]),
                operation(1, Action::Other, &[1], &[2]),
                activation,
                operation(3, Action::Cpu, &[], &[4]),
                operation(4, Action::Other, &[3, 4], &[]),
                operation(5, Action::Cpu, &[1], &[]),
            ],
            ..Program::default()
        };
        let order = Order {
            operations: vec![0, 5, 1, 2, 3, 4],
            chain_start: vec![0, 1, 2, 3, 4, 5],
            cascade: vec![Steps::NONE; 6],
        };
        assert_eq!(
            order.with_cpu_grouped(&program).operations,
            [3, 0, 1, 2, 4, 5]
        );
    }

    /// Files made on purpose have what looks like an activation of an operation that stays on the CPU.
    #[test]
    fn an_activation_behind_an_operation_of_the_cpu_keeps_its_step() {
        let mut program = Program {
            maps: vec![FeatureMap::default(); 4],
            ..Program::default()
        };
        let activation = Operation {
            alias: Alias::Fused,
            ..Operation::new(1, Action::Table, vec![1], vec![2])
        };
        program.operations = vec![
            Operation::new(0, Action::Cpu, vec![0], vec![1]),
            activation,
            Operation::new(2, Action::Cpu, vec![2], vec![3]),
        ];
        let order = Order {
            operations: vec![0, 1, 2],
            chain_start: vec![0, 1, 2],
            cascade: vec![Steps::NONE; 3],
        };
        let grouped = order.with_cpu_grouped(&program);
        assert_eq!(grouped.operations, [0, 1, 2]);
    }
}
