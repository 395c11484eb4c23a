//! Fully connected autoencoders, as MLPerf Tiny detects anomalies with, and multilayer perceptrons.

use super::Choices;
use super::layers::{Layers, Nonlinearity as N};
use crate::writer::{NetworkBuilder, WriterNetwork};

const INPUTS: [i32; 6] = [16, 64, 257, 392, 640, 784];
const HIDDEN: [i32; 6] = [32, 48, 64, 128, 256, 512];
const CODES: [i32; 4] = [4, 8, 16, 32];

pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let n = layers
        .choices
        .pick(&[N::Relu, N::Relu, N::Relu6, N::LeakyRelu, N::Elu]);
    let inputs = layers.choices.pick(&INPUTS);
    let hidden = layers.choices.pick(&HIDDEN);
    let depth = layers.choices.between(1, 5);
    let tapers = layers.choices.coin();
    let units = |layer: usize| {
        if tapers {
            (hidden >> layer).max(8)
        } else {
            hidden
        }
    };
    let mut x = layers.builder.input("features", &[1, inputs]);
    for layer in 0..depth {
        x = layers.dense(x, units(layer), n);
    }
    let output = if layers.choices.pick(&[true, true, false]) {
        let code = layers.choices.pick(&CODES);
        x = layers.dense(x, code, n);
        for layer in (0..depth).rev() {
            x = layers.dense(x, units(layer), n);
        }
        layers.dense(x, inputs, N::None)
    } else {
        let classes = layers.choices.pick(&[2, 10, 100]);
        let logits = layers.dense(x, classes, N::None);
        layers.builder.softmax("probabilities", logits)
    };
    layers.finish(&[output])
}
