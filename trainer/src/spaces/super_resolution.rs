//! Super-resolution (Shi et al. 2016, Dong et al. 2016): features at the input's resolution, then
//! an enlargement, which files write as a transposed convolution, a resize, or a shuffle of channels
//! into pixels.

use litecast::formats::tflite::Padding;

use super::Choices;
use super::layers::{Layers, Nonlinearity as N};
use crate::writer::{NetworkBuilder, TensorIdx, Window, WriterNetwork};

const SIZES: [[i32; 2]; 5] = [[32, 32], [48, 64], [64, 64], [90, 160], [96, 96]];
const FEATURES: [i32; 5] = [8, 16, 28, 32, 48];

#[derive(Clone, Copy)]
enum Enlargement {
    DepthToSpace,
    /// The same as RESHAPE, TRANSPOSE and RESHAPE, as exports of PyTorch write it.
    Shuffle,
    Learned,
    Nearest,
}

pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let enlargements = [
        Enlargement::Shuffle,
        Enlargement::Learned,
        Enlargement::Nearest,
    ];
    let enlargement = choices.pick(&enlargements);
    network_with(enlargement, choices, builder)
}

/// With DEPTH_TO_SPACE, which Ethos-U leaves to the CPU.
pub fn depth_to_space(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    network_with(Enlargement::DepthToSpace, choices, builder)
}

fn network_with(
    enlargement: Enlargement,
    choices: &mut Choices,
    builder: NetworkBuilder,
) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let n = layers
        .choices
        .pick(&[N::Relu, N::Relu6, N::Prelu, N::LeakyRelu]);
    let residual = layers.choices.coin();
    let features = layers.choices.pick(&FEATURES);
    let factor = layers.choices.pick(&[2, 2, 3, 4]);
    let channels = layers.choices.pick(&[1, 3]);
    let [height, width] = layers.choices.pick(&SIZES);
    let image = layers.builder.input("image", &[1, height, width, channels]);
    let kernel = layers.choices.pick(&[3, 5]);
    let first = layers.conv(image, features, kernel, 1, n);
    let mut x = first;
    for _ in 0..layers.choices.between(1, 6) {
        let y = layers.conv(x, features, 3, 1, n);
        x = if residual { layers.add(x, y) } else { y };
    }
    let output = enlarge(x, channels, factor, enlargement, &mut layers);
    layers.finish(&[output])
}

fn enlarge(
    x: TensorIdx,
    channels: i32,
    factor: i32,
    enlargement: Enlargement,
    layers: &mut Layers,
) -> TensorIdx {
    let pixels = factor * factor * channels;
    match enlargement {
        Enlargement::DepthToSpace => {
            let y = layers.conv(x, pixels, 3, 1, N::None);
            layers.builder.depth_to_space("image", y, factor)
        }
        Enlargement::Shuffle => {
            let y = layers.conv(x, pixels, 3, 1, N::None);
            shuffle(y, channels, factor, layers)
        }
        // Ethos-U has transposed convolutions of stride 2 alone.
        Enlargement::Learned => {
            let name = layers.name("transpose_conv");
            let window = Window::square(4, 2, Padding::Same);
            layers.builder.transpose_conv(&name, x, channels, window)
        }
        Enlargement::Nearest => {
            let up = layers.upsample(x, if factor == 4 { 4 } else { 2 }, false);
            layers.conv(up, channels, 3, 1, N::None)
        }
    }
}

fn shuffle(x: TensorIdx, channels: i32, factor: i32, layers: &mut Layers) -> TensorIdx {
    let [height, width] = layers.size(x);
    let rows = layers.reshape(x, &[height, width, factor, factor * channels]);
    let rows = layers.transpose(rows, &[0, 2, 1, 3]);
    layers.reshape(rows, &[1, height * factor, width * factor, channels])
}
