//! Recurrent networks over sequences: LSTM as one operator, as TFLite's converter writes Keras'
//! layer; GRU unrolled step by step, every step with the same weights; and SVDF, which remembers
//! frames (Nakkiran et al. 2015).

use super::Choices;
use super::layers::{Layers, Nonlinearity as N};
use crate::writer::{NetworkBuilder, TensorIdx, WriterNetwork};

const UNITS: [i32; 10] = [8, 12, 16, 20, 24, 32, 48, 64, 96, 128];
const CLASSES: [i32; 4] = [2, 10, 12, 35];

pub fn lstm(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let steps = layers.choices.pick(&[4, 8, 16, 28, 49]);
    let mut x = sequence(steps, &mut layers);
    for _ in 0..layers.choices.between(1, 2) {
        let units = layers.choices.pick(&UNITS);
        let name = layers.name("lstm");
        x = layers.builder.lstm(&name, x, units);
    }
    let features = layers.channels(x);
    let flat = if layers.choices.coin() {
        layers.reshape(x, &[1, steps * features])
    } else {
        let begin = [0, steps - 1, 0];
        let last = layers.builder.slice("last", x, &begin, &[1, 1, features]);
        layers.reshape(last, &[1, features])
    };
    finish(flat, layers)
}

/// Frames one at a time through filter banks with a memory, which Ethos-U leaves to the CPU.
pub fn svdf(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let features = layers.choices.pick(&[10, 20, 40, 64, 80]);
    let mut x = layers.builder.input("frame", &[1, features]);
    for _ in 0..layers.choices.between(1, 6) {
        let units = layers.choices.pick(&UNITS);
        let rank = layers.choices.pick(&[1, 1, 2, 4]);
        let memory = layers.choices.pick(&[4, 8, 10, 16, 32]);
        let name = layers.name("svdf");
        x = layers.builder.svdf(&name, x, [units, rank, memory]);
        if layers.choices.coin() {
            let units = layers.choices.pick(&UNITS);
            x = layers.dense(x, units, N::Relu);
        }
    }
    finish(x, layers)
}

pub fn gru(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let steps = layers.choices.between(2, 16) as i32;
    let units = layers.choices.pick(&UNITS);
    let x = sequence(steps, &mut layers);
    let state = layers.builder.input("state", &[1, units]);
    let inputs = layers.builder.unpack("steps", x, 1);
    let mut gru = Gru {
        units,
        first: None,
        state,
    };
    for input in inputs {
        gru.step(input, &mut layers);
    }
    finish(gru.state, layers)
}

fn sequence(steps: i32, layers: &mut Layers) -> TensorIdx {
    let features = layers.choices.pick(&[3, 6, 10, 13, 20, 28, 40, 64]);
    layers.builder.input("sequence", &[1, steps, features])
}

fn finish(x: TensorIdx, mut layers: Layers) -> WriterNetwork {
    let classes = layers.choices.pick(&CLASSES);
    let logits = layers.dense(x, classes, N::None);
    let output = layers.builder.softmax("probabilities", logits);
    layers.finish(&[output])
}

struct Gru {
    units: i32,
    /// Of the first step: the products of the input and of the state.
    first: Option<[TensorIdx; 2]>,
    state: TensorIdx,
}

impl Gru {
    /// `h ← z·h + (1 − z)·tanh(x₃ + r·h₃)`, with `z = σ(x₁ + h₁)` and `r = σ(x₂ + h₂)`.
    fn step(&mut self, input: TensorIdx, layers: &mut Layers) {
        let products = self.products(input, layers);
        let name = layers.name("split");
        let x = layers
            .builder
            .split(&format!("{name}/input"), products[0], 1, 3);
        let h = layers
            .builder
            .split(&format!("{name}/state"), products[1], 1, 3);
        let [update, reset] = [0, 1].map(|gate| {
            let sum = layers.add(x[gate], h[gate]);
            let name = layers.name("gate");
            layers.builder.logistic(&name, sum)
        });
        let remembered = layers.mul(reset, h[2]);
        let sum = layers.add(x[2], remembered);
        let name = layers.name("tanh");
        let candidate = layers.builder.tanh(&name, sum);
        let kept = layers.mul(update, self.state);
        let one = layers.builder.scalar("one", 1.0);
        let name = layers.name("sub");
        let rest = layers.builder.sub(&name, one, update);
        let new = layers.mul(rest, candidate);
        self.state = layers.add(kept, new);
    }

    fn products(&mut self, input: TensorIdx, layers: &mut Layers) -> [TensorIdx; 2] {
        let Some([of_input, of_state]) = self.first else {
            let products = [input, self.state].map(|x| layers.dense(x, 3 * self.units, N::None));
            self.first = Some(products);
            return products;
        };
        let name = layers.name("dense");
        let builder = &mut layers.builder;
        [
            builder.fully_connected_again(&format!("{name}/input"), input, of_input),
            builder.fully_connected_again(&format!("{name}/state"), self.state, of_state),
        ]
    }
}
