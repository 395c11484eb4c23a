//! Random directed acyclic graphs of single operators with unusual shapes: one channel, channels next to multiples of
//! 16, very wide or very flat feature maps, strides larger than kernels. They show each operator, and each jump of its
//! cost, separately.

mod arithmetic;
mod graph;
mod movement;
mod truth;
mod windows;

use self::graph::{Dims, Graph, Step};
use super::Choices;
use crate::writer::{NetworkBuilder, WriterNetwork};

const ODD: Dims = Dims {
    sides: &[1, 1, 2, 3, 5, 7, 8, 13, 16, 31, 32, 48, 64, 100],
    channels: &[1, 2, 3, 4, 8, 15, 16, 17, 24, 32, 33, 64, 100, 257],
};
const EXTREME: Dims = Dims {
    sides: &[1, 1, 1, 2, 3, 9, 150, 255, 256, 400, 1000, 4000],
    channels: &[1, 1, 3, 16, 48, 127, 128, 129, 320, 512, 1024, 1280, 2049],
};
const MAX_OPERATORS: usize = 12;

/// Operators that all targets of the compiler support.
pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let steps = [windows::STEPS, arithmetic::STEPS, movement::STEPS].concat();
    graph_of(&steps, ODD, choices, builder)
}

/// The same with very wide, flat and deep tensors.
pub fn with_extremes(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let steps = [windows::STEPS, arithmetic::STEPS, movement::STEPS].concat();
    graph_of(&steps, EXTREME, choices, builder)
}

/// These operators together with truth values, selections and other operators that only Ethos-U85 supports.
pub fn with_truth(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut steps = [windows::STEPS, arithmetic::STEPS, movement::STEPS].concat();
    let n_others = steps.len();
    while steps.len() < 2 * n_others {
        steps.extend(truth::STEPS);
    }
    graph_of(&steps, ODD, choices, builder)
}

fn graph_of(
    steps: &[Step],
    dims: Dims,
    choices: &mut Choices,
    builder: NetworkBuilder,
) -> WriterNetwork {
    let mut graph = Graph {
        dims,
        choices,
        builder,
        values: Vec::new(),
        results: Vec::new(),
        n_named: 0,
    };
    let n_operators = graph.choices.between(1, MAX_OPERATORS);
    graph.input();
    while graph.builder.n_operators() < n_operators {
        // Adds a second input occasionally, and whenever no operator fits the existing tensors.
        if graph.choices.between(1, 8) == 1 {
            graph.input();
        }
        let step = graph.choices.pick(steps);
        let operand = graph.operand();
        if let Some(output) = step(&mut graph, operand) {
            graph.values.push(output);
        }
    }
    graph.finish()
}
