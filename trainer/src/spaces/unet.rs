//! U-Net (Ronneberger et al. 2015): an encoder, and a decoder that reads each of its stages again.

use litecast::formats::tflite::Padding;

use super::Choices;
use super::layers::{Layers, Nonlinearity, Nonlinearity as N};
use crate::writer::{NetworkBuilder, TensorIdx, Window, WriterNetwork};

const SIDES: [i32; 4] = [64, 96, 128, 160];
const CHANNELS: [i32; 5] = [8, 12, 16, 24, 32];

/// How the decoder doubles the resolution.
#[derive(Clone, Copy, PartialEq)]
enum Enlargement {
    /// TRANSPOSE_CONV with this kernel.
    Learned(i32),
    Bilinear,
    Nearest,
}

pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let n = layers
        .choices
        .pick(&[N::Relu, N::Relu, N::Relu6, N::LeakyRelu]);
    let separable = layers.choices.coin();
    let enlargement = layers.choices.pick(&[
        Enlargement::Learned(2),
        Enlargement::Learned(3),
        Enlargement::Learned(4),
        Enlargement::Bilinear,
        Enlargement::Nearest,
    ]);
    let adds = layers.choices.pick(&[true, false, false]);
    let channels = layers.choices.pick(&CHANNELS);
    let side = layers.choices.pick(&SIDES);
    let mut x = layers.rgb(side);
    let depth = layers.choices.between(2, 4);
    let mut skips = Vec::new();
    for level in 0..depth {
        x = pair(x, channels << level, separable && level > 0, n, &mut layers);
        skips.push(x);
        x = layers.max_pool(x, 2, 2);
    }
    x = pair(x, channels << depth, separable, n, &mut layers);
    for (level, skip) in skips.into_iter().enumerate().rev() {
        let up = enlarge(x, channels << level, enlargement, n, &mut layers);
        let joined = if adds {
            layers.add(skip, up)
        } else {
            layers.concat(&[skip, up])
        };
        x = pair(joined, channels << level, separable, n, &mut layers);
    }
    let classes = layers.choices.pick(&[1, 2, 3, 21]);
    let scores = layers.pointwise(x, classes, N::None);
    let output = match classes {
        1 => layers.builder.logistic("mask", scores),
        _ => scores,
    };
    layers.finish(&[output])
}

fn pair(
    x: TensorIdx,
    channels: i32,
    separable: bool,
    nonlinearity: Nonlinearity,
    layers: &mut Layers,
) -> TensorIdx {
    (0..2).fold(x, |x, _| {
        if separable {
            layers.separable(x, channels, 3, 1, nonlinearity)
        } else {
            layers.conv(x, channels, 3, 1, nonlinearity)
        }
    })
}

fn enlarge(
    x: TensorIdx,
    channels: i32,
    enlargement: Enlargement,
    nonlinearity: Nonlinearity,
    layers: &mut Layers,
) -> TensorIdx {
    if let Enlargement::Learned(kernel) = enlargement {
        let name = layers.name("transpose_conv");
        let window = Window::square(kernel, 2, Padding::Same);
        return layers.builder.transpose_conv(&name, x, channels, window);
    }
    let up = layers.upsample(x, 2, enlargement == Enlargement::Bilinear);
    layers.conv(up, channels, 3, 1, nonlinearity)
}
