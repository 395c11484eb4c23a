//! MobileNet V2 (Sandler et al. 2018): inverted residuals with linear bottlenecks.

use super::Choices;
use super::blocks::InvertedResidual;
use super::layers::{Layers, Nonlinearity, width};
use crate::writer::{NetworkBuilder, WriterNetwork};

const SIDES: [i32; 6] = [96, 128, 160, 192, 224, 256];
const WIDTH_PERCENT: [i32; 6] = [25, 35, 50, 75, 100, 140];
/// Channels, most layers, stride of the first.
const STAGES: [(i32, usize, i32); 7] = [
    (16, 1, 1),
    (24, 2, 2),
    (32, 3, 2),
    (64, 4, 2),
    (96, 3, 1),
    (160, 3, 2),
    (320, 1, 1),
];
const CLASSES: [i32; 4] = [2, 10, 100, 1001];

pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let nonlinearity = layers
        .choices
        .pick(&[Nonlinearity::Relu, Nonlinearity::Relu6]);
    let percent = layers.choices.pick(&WIDTH_PERCENT);
    let expansion = layers.choices.pick(&[3, 4, 6, 6]);
    let side = layers.choices.pick(&SIDES);
    let image = layers.rgb(side);
    let mut x = layers.conv(image, width(32, percent), 3, 2, nonlinearity);
    for (stage, (channels, most_layers, stride)) in STAGES.into_iter().enumerate() {
        for layer in 0..layers.choices.between(1, most_layers) {
            let input = layers.channels(x);
            let block = InvertedResidual {
                channels: width(channels, percent),
                expanded: if stage == 0 { input } else { input * expansion },
                kernel: layers.choices.pick(&[3, 3, 3, 5, 7]),
                stride: if layer == 0 { stride } else { 1 },
                nonlinearity,
                squeezed: None,
            };
            x = layers.inverted_residual(x, block);
        }
    }
    let head = layers.pointwise(x, width(1280, percent.max(100)), nonlinearity);
    let classes = layers.choices.pick(&CLASSES);
    let logits = layers.classify(head, classes);
    layers.finish(&[logits])
}
