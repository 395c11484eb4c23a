//! EfficientNet-Lite (Google 2020) and, in a part of the samples, EfficientNet with swish and
//! squeeze-and-excite (Tan and Le 2019): MBConv stages scaled in width, depth and resolution.

use super::Choices;
use super::blocks::InvertedResidual;
use super::layers::{Layers, Nonlinearity, width};
use crate::writer::{NetworkBuilder, WriterNetwork};

const SIDES: [i32; 6] = [128, 160, 192, 224, 240, 260];
const WIDTH_PERCENT: [i32; 5] = [35, 50, 75, 100, 110];
const DEPTH_PERCENT: [usize; 4] = [50, 100, 120, 140];
/// Channels, layers, kernel, stride of the first layer, expansion.
const STAGES: [(i32, usize, i32, i32, i32); 7] = [
    (16, 1, 3, 1, 1),
    (24, 2, 3, 2, 6),
    (40, 2, 5, 2, 6),
    (80, 3, 3, 2, 6),
    (112, 3, 5, 1, 6),
    (192, 4, 5, 2, 6),
    (320, 1, 3, 1, 6),
];

pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let lite = layers.choices.pick(&[true, true, false]);
    let nonlinearity = if lite {
        Nonlinearity::Relu6
    } else {
        Nonlinearity::Swish
    };
    let percent = layers.choices.pick(&WIDTH_PERCENT);
    let depth_percent = layers.choices.pick(&DEPTH_PERCENT);
    let side = layers.choices.pick(&SIDES);
    let image = layers.rgb(side);
    let mut x = layers.conv(image, width(32, percent), 3, 2, nonlinearity);
    for (channels, n_layers, kernel, stride, expansion) in STAGES {
        for layer in 0..(n_layers * depth_percent).div_ceil(100) {
            let input = layers.channels(x);
            let block = InvertedResidual {
                channels: width(channels, percent),
                expanded: input * expansion,
                kernel,
                stride: if layer == 0 { stride } else { 1 },
                nonlinearity,
                squeezed: (!lite).then_some((input / 4).max(4)),
            };
            x = layers.inverted_residual(x, block);
        }
    }
    let head = layers.pointwise(x, width(1280, percent), nonlinearity);
    let classes = layers.choices.pick(&[10, 100, 1000]);
    let logits = layers.classify(head, classes);
    let probabilities = layers.builder.softmax("probabilities", logits);
    layers.finish(&[probabilities])
}
