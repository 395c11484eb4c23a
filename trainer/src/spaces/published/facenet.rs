//! FaceNet's Inception-ResNet V1 (Szegedy et al. 2016) with 512 features, as DeepFace has it.

use super::inception_v4::{line, pool, valid};
use crate::spaces::layers::{Layers, Nonlinearity, Nonlinearity as N};
use crate::writer::TensorIdx;

/// Features of a face.
pub fn features(layers: &mut Layers, image: TensorIdx) -> TensorIdx {
    let mut x = stem(layers, image);
    for _ in 0..5 {
        x = block_35(layers, x);
    }
    x = reduction_a(layers, x);
    for _ in 0..10 {
        x = block_of_lines(layers, x, 128, 7, N::Relu);
    }
    x = reduction_b(layers, x);
    for _ in 0..5 {
        x = block_of_lines(layers, x, 192, 3, N::Relu);
    }
    x = block_of_lines(layers, x, 192, 3, N::None);
    layers.classify(x, 512)
}

fn stem(layers: &mut Layers, image: TensorIdx) -> TensorIdx {
    let x = valid(layers, image, 32, 2);
    let x = valid(layers, x, 32, 1);
    let x = layers.conv(x, 64, 3, 1, N::Relu);
    let x = pool(layers, x);
    let x = layers.pointwise(x, 80, N::Relu);
    let x = valid(layers, x, 192, 1);
    valid(layers, x, 256, 2)
}

fn block_35(layers: &mut Layers, x: TensorIdx) -> TensorIdx {
    let point = layers.pointwise(x, 32, N::Relu);
    let one = layers.pointwise(x, 32, N::Relu);
    let one = layers.conv(one, 32, 3, 1, N::Relu);
    let two = layers.pointwise(x, 32, N::Relu);
    let two = layers.conv(two, 32, 3, 1, N::Relu);
    let two = layers.conv(two, 32, 3, 1, N::Relu);
    residual(layers, x, &[point, one, two], N::Relu)
}

/// Blocks whose second branch is a row and a column of `length` pixels.
fn block_of_lines(
    layers: &mut Layers,
    x: TensorIdx,
    channels: i32,
    length: i32,
    nonlinearity: Nonlinearity,
) -> TensorIdx {
    let point = layers.pointwise(x, channels, N::Relu);
    let both = layers.pointwise(x, channels, N::Relu);
    let both = line(layers, both, channels, [1, length]);
    let both = line(layers, both, channels, [length, 1]);
    residual(layers, x, &[point, both], nonlinearity)
}

/// Adds what the branches make of `x` to it. Their scale is folded into the weights.
fn residual(
    layers: &mut Layers,
    x: TensorIdx,
    branches: &[TensorIdx],
    nonlinearity: Nonlinearity,
) -> TensorIdx {
    let joined = layers.concat(branches);
    let channels = layers.channels(x);
    let y = layers.pointwise(joined, channels, N::None);
    match nonlinearity {
        N::Relu => layers.add_relu(x, y),
        _ => layers.add(x, y),
    }
}

fn reduction_a(layers: &mut Layers, x: TensorIdx) -> TensorIdx {
    let short = valid(layers, x, 384, 2);
    let long = layers.pointwise(x, 192, N::Relu);
    let long = layers.conv(long, 192, 3, 1, N::Relu);
    let long = valid(layers, long, 256, 2);
    let pooled = pool(layers, x);
    layers.concat(&[short, long, pooled])
}

fn reduction_b(layers: &mut Layers, x: TensorIdx) -> TensorIdx {
    let one = layers.pointwise(x, 256, N::Relu);
    let one = valid(layers, one, 384, 2);
    let two = layers.pointwise(x, 256, N::Relu);
    let two = valid(layers, two, 256, 2);
    let three = layers.pointwise(x, 256, N::Relu);
    let three = layers.conv(three, 256, 3, 1, N::Relu);
    let three = valid(layers, three, 256, 2);
    let pooled = pool(layers, x);
    layers.concat(&[one, two, three, pooled])
}
