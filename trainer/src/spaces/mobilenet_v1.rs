//! MobileNet V1 (Howard et al. 2017): a stack of depthwise-separable convolutions.

use super::Choices;
use super::layers::{Layers, Nonlinearity, width};
use crate::writer::{NetworkBuilder, WriterNetwork};

const SIDES: [i32; 6] = [96, 128, 160, 192, 224, 256];
const WIDTH_PERCENT: [i32; 6] = [25, 35, 50, 75, 100, 130];
const CLASSES: [i32; 4] = [2, 10, 100, 1001];

pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let n = layers
        .choices
        .pick(&[Nonlinearity::Relu, Nonlinearity::Relu6]);
    let percent = layers.choices.pick(&WIDTH_PERCENT);
    let side = layers.choices.pick(&SIDES);
    let image = layers.rgb(side);
    let mut x = layers.conv(image, width(32, percent), 3, 2, n);
    // The paper's stages: channels, and the separable layers of which the first is strided.
    let repeats = [1, 2, 2, layers.choices.between(2, 6), 2];
    for (stage, (channels, n_layers)) in [64, 128, 256, 512, 1024]
        .into_iter()
        .zip(repeats)
        .enumerate()
    {
        for layer in 0..n_layers {
            let stride = if layer == 0 && stage > 0 { 2 } else { 1 };
            let kernel = layers.choices.pick(&[3, 3, 3, 5]);
            x = layers.separable(x, width(channels, percent), kernel, stride, n);
        }
    }
    let classes = layers.choices.pick(&CLASSES);
    let logits = layers.classify(x, classes);
    let output = if layers.choices.coin() {
        layers.builder.softmax("probabilities", logits)
    } else {
        logits
    };
    layers.finish(&[output])
}
