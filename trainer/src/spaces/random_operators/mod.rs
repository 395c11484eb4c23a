//! Random directed acyclic graphs of single operators with odd shapes: one channel, channels beside
//! multiples of 16, very wide, very flat, strides larger than kernels. Here every operator and every
//! cliff is seen by itself.

mod arithmetic;
mod movement;
mod truth;
mod windows;

use super::Choices;
use crate::writer::{Network, NetworkBuilder, TensorIdx};

/// What shapes are drawn from.
struct Dims {
    sides: &'static [i32],
    channels: &'static [i32],
}

const ODD: Dims = Dims {
    sides: &[1, 1, 2, 3, 5, 7, 8, 13, 16, 31, 32, 48, 64, 100],
    channels: &[1, 2, 3, 4, 8, 15, 16, 17, 24, 32, 33, 64, 100, 257],
};
const EXTREME: Dims = Dims {
    sides: &[1, 1, 1, 2, 3, 9, 150, 255, 256, 400, 1000, 4000],
    channels: &[1, 1, 3, 16, 48, 127, 128, 129, 320, 512, 1024, 1280, 2049],
};
/// Few enough that a graph of the largest tensors stays cheap to compile.
const MAX_VALUES: i64 = 1 << 18;
const MAX_OPERATORS: usize = 12;

/// Adds one operator on a tensor, if the tensor suits it.
type Step = fn(&mut Graph, TensorIdx) -> Option<TensorIdx>;

/// A graph under construction.
struct Graph<'a> {
    dims: Dims,
    choices: &'a mut Choices,
    builder: NetworkBuilder,
    /// Everything of int8 that an operator may read.
    values: Vec<TensorIdx>,
    /// What no operator of int8 reads on: results of other types, and truth values.
    results: Vec<TensorIdx>,
    n_named: usize,
}

/// Operators that all targets of the compiler run.
pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> Network {
    let steps = [windows::STEPS, arithmetic::STEPS, movement::STEPS].concat();
    graph_of(&steps, ODD, choices, builder)
}

/// The same with very wide, flat and deep tensors.
pub fn with_extremes(choices: &mut Choices, builder: NetworkBuilder) -> Network {
    let steps = [windows::STEPS, arithmetic::STEPS, movement::STEPS].concat();
    graph_of(&steps, EXTREME, choices, builder)
}

/// Truth values, selections and other operators that only Ethos-U85 has, among the rest.
pub fn with_truth(choices: &mut Choices, builder: NetworkBuilder) -> Network {
    let mut steps = [windows::STEPS, arithmetic::STEPS, movement::STEPS].concat();
    let n_others = steps.len();
    while steps.len() < 2 * n_others {
        steps.extend(truth::STEPS);
    }
    graph_of(&steps, ODD, choices, builder)
}

fn graph_of(steps: &[Step], dims: Dims, choices: &mut Choices, builder: NetworkBuilder) -> Network {
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
        // A second input now and then; and always where nothing suits what is there.
        if graph.choices.between(1, 8) == 1 {
            graph.input();
        }
        let step = graph.choices.of(steps);
        let operand = graph.operand();
        if let Some(output) = step(&mut graph, operand) {
            graph.values.push(output);
        }
    }
    graph.finish()
}

impl Graph<'_> {
    fn name(&mut self, kind: &str) -> String {
        self.n_named += 1;
        format!("{kind}_{}", self.n_named)
    }

    /// Mostly an image, else rows of features.
    fn input(&mut self) {
        let shape = loop {
            let channels = self.choices.of(self.dims.channels);
            let [height, width] = [(); 2].map(|()| self.choices.of(self.dims.sides));
            let shape = match self.choices.of(&[4, 4, 4, 3, 2]) {
                4 => vec![1, height, width, channels],
                3 => vec![1, width, channels],
                _ => vec![1, channels],
            };
            if n_values(&shape) <= MAX_VALUES {
                break shape;
            }
        };
        let name = self.name("input");
        let input = self.builder.input(&name, &shape);
        self.values.push(input);
    }

    /// One of the values, the newest with half of the chance.
    fn operand(&mut self) -> TensorIdx {
        match self.choices.coin() {
            true => *self.values.last().expect("a graph has an input"),
            false => self.choices.of(&self.values),
        }
    }

    fn shape(&self, tensor: TensorIdx) -> Vec<i32> {
        self.builder.shape(tensor).to_vec()
    }

    fn rank(&self, tensor: TensorIdx) -> usize {
        self.builder.shape(tensor).len()
    }

    fn is_image(&self, tensor: TensorIdx) -> bool {
        self.rank(tensor) == 4 && self.shape(tensor)[0] == 1
    }

    /// Another value of the same shape.
    fn alike(&self, tensor: TensorIdx) -> Option<TensorIdx> {
        let shape = self.builder.shape(tensor);
        let is_alike = |&other: &TensorIdx| other != tensor && self.builder.shape(other) == shape;
        self.values.iter().copied().find(is_alike)
    }

    /// Another value of the same shape, or learned values that broadcast to it.
    fn partner(&mut self, tensor: TensorIdx) -> TensorIdx {
        if let Some(other) = self.alike(tensor) {
            return other;
        }
        let name = self.name("parameters");
        let shape = match self.choices.coin() {
            true => vec![self.builder.channels(tensor)],
            false => self.shape(tensor),
        };
        self.builder.parameters(&name, &shape, 1.0)
    }

    /// Whether an output of this shape keeps the graph cheap.
    fn is_small(shape: &[i32]) -> bool {
        n_values(shape) <= MAX_VALUES
    }

    /// What nothing reads comes out; an input that nothing read goes through one operator.
    fn finish(mut self) -> Network {
        let inputs = self.builder.inputs().to_vec();
        for input in inputs
            .into_iter()
            .filter(|&x| self.builder.is_unread(x))
            .collect::<Vec<_>>()
        {
            let name = self.name("logistic");
            let output = self.builder.logistic(&name, input);
            self.values.push(output);
        }
        let mut outputs = [self.results, self.values].concat();
        outputs.retain(|&tensor| self.builder.is_unread(tensor));
        self.builder.finish(&outputs)
    }
}

/// Values of a tensor. Drawn dimensions multiplied can pass 32 bits.
fn n_values(shape: &[i32]) -> i64 {
    shape.iter().map(|&dim| i64::from(dim)).product()
}
