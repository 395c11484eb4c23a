//! Networks of tokens without attention: MLP-Mixer (Tolstikhin et al. 2021), whose dense layers see
//! the tokens and the features in turn, and ConvNeXt (Liu et al. 2022), whose large depthwise
//! kernels take the place of attention.

use super::Choices;
use super::layers::{Layers, Nonlinearity, Nonlinearity as N};
use super::transformer::layer_norm;
use crate::writer::{NetworkBuilder, TensorIdx, WriterNetwork};

pub fn mlp_mixer(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let n = layers.choices.pick(&[N::Gelu, N::Gelu, N::Relu]);
    let patch = layers.choices.pick(&[4, 8, 16]);
    let side = patch * layers.choices.pick(&[4, 6, 8]);
    let features = layers.choices.pick(&[64, 96, 128, 192, 256]);
    let token_units = layers.choices.pick(&[32, 64, 128, 256]);
    let ratio = layers.choices.pick(&[2, 4]);
    let image = layers.rgb(side);
    let patches = layers.patches(image, features, patch);
    let n_tokens = (side / patch).pow(2);
    let mut x = layers.reshape(patches, &[1, n_tokens, features]);
    for _ in 0..layers.choices.between(1, 8) {
        let normed = norm(x, &mut layers);
        let across = layers.transpose(normed, &[0, 2, 1]);
        let mixed = perceptron(across, token_units, n, &mut layers);
        let mixed = layers.transpose(mixed, &[0, 2, 1]);
        x = layers.add(x, mixed);
        let normed = norm(x, &mut layers);
        let mixed = perceptron(normed, ratio * features, n, &mut layers);
        x = layers.add(x, mixed);
    }
    x = norm(x, &mut layers);
    let pooled = layers.builder.mean_of_tokens("pool", x);
    let classes = layers.choices.pick(&[10, 100, 1000]);
    let logits = layers.dense(pooled, classes, N::None);
    layers.finish(&[logits])
}

fn norm(x: TensorIdx, layers: &mut Layers) -> TensorIdx {
    let name = layers.name("norm");
    layer_norm(&name, x, &mut layers.builder)
}

fn perceptron(
    x: TensorIdx,
    hidden: i32,
    nonlinearity: Nonlinearity,
    layers: &mut Layers,
) -> TensorIdx {
    let units = layers.channels(x);
    let y = layers.dense(x, hidden, nonlinearity);
    layers.dense(y, units, N::None)
}

pub fn convnext(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let normed = layers.choices.coin();
    let scaled = layers.choices.coin();
    let kernel = layers.choices.pick(&[3, 5, 7]);
    let base = layers.choices.pick(&[16, 24, 32, 40, 48]);
    let side = layers.choices.pick(&[32, 64, 96, 128]);
    let image = layers.rgb(side);
    let patch = if side <= 32 { 2 } else { 4 };
    let mut x = layers.patches(image, base, patch);
    for stage in 0..layers.choices.between(1, 3) {
        if stage > 0 {
            x = layers.patches(x, base << stage, 2);
        }
        for _ in 0..layers.choices.between(1, 3) {
            x = block(x, kernel, normed, scaled, &mut layers);
        }
    }
    let classes = layers.choices.pick(&[10, 100, 1000]);
    let logits = layers.classify(x, classes);
    layers.finish(&[logits])
}

/// With layer norm, pixels are tokens from the norm on; else the batch norm is folded.
fn block(x: TensorIdx, kernel: i32, normed: bool, scaled: bool, layers: &mut Layers) -> TensorIdx {
    let shape = layers.builder.image(x);
    let [_, height, width, channels] = shape;
    let mut y = layers.depthwise(x, kernel, 1, N::None);
    if normed {
        y = layers.reshape(y, &[1, height * width, channels]);
        y = norm(y, layers);
        y = perceptron(y, 4 * channels, N::Gelu, layers);
        y = layers.reshape(y, &shape);
    } else {
        y = layers.pointwise(y, 4 * channels, N::Gelu);
        y = layers.pointwise(y, channels, N::None);
    }
    if scaled {
        let name = layers.name("layer_scale");
        let factors = layers.builder.parameters(&name, &[channels], 0.3);
        y = layers.mul(y, factors);
    }
    layers.add(x, y)
}
