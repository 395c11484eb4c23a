//! DenseNet (Huang et al. 2017): every layer of a block reads all layers before it. Batch norms
//! after a concatenation cannot be folded and stay as MUL and ADD.

use super::Choices;
use super::layers::{Layers, Nonlinearity as N};
use crate::writer::{NetworkBuilder, TensorIdx, WriterNetwork};

const SIDES: [i32; 4] = [32, 64, 96, 128];
const GROWTHS: [i32; 5] = [8, 12, 16, 24, 32];

pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let growth = layers.choices.pick(&GROWTHS);
    let unfolded_norms = layers.choices.coin();
    let side = layers.choices.pick(&SIDES);
    let image = layers.rgb(side);
    let stride = if side > 64 { 2 } else { 1 };
    let mut x = layers.conv(image, 2 * growth, 3, stride, N::Relu);
    let n_blocks = layers.choices.between(2, 4);
    for block in 0..n_blocks {
        for _ in 0..layers.choices.between(2, 6) {
            let features = dense_layer(x, growth, unfolded_norms, &mut layers);
            x = layers.concat(&[x, features]);
        }
        if block + 1 < n_blocks {
            let halved = layers.channels(x) / 2;
            x = layers.pointwise(x, halved, N::Relu);
            x = layers.average_pool(x, 2, 2);
        }
    }
    let classes = layers.choices.pick(&[10, 100]);
    let logits = layers.classify(x, classes);
    layers.finish(&[logits])
}

pub(super) fn dense_layer(
    x: TensorIdx,
    growth: i32,
    unfolded_norm: bool,
    layers: &mut Layers,
) -> TensorIdx {
    let mut y = x;
    if unfolded_norm {
        y = norm(y, layers);
    }
    y = layers.pointwise(y, 4 * growth, N::Relu);
    layers.conv(y, growth, 3, 1, N::None)
}

/// A batch norm and its rectifier as MUL and ADD.
pub(super) fn norm(x: TensorIdx, layers: &mut Layers) -> TensorIdx {
    let channels = layers.channels(x);
    let name = layers.name("norm");
    let builder = &mut layers.builder;
    let gain = builder.parameters(&format!("{name}/gain"), &[channels], 1.0);
    let scaled = builder.mul(&format!("{name}/scaled"), x, gain);
    let offset = builder.parameters(&format!("{name}/offset"), &[channels], 0.3);
    builder.add_relu(&name, scaled, offset)
}
