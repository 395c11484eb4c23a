//! MobileNet V3 (Howard et al. 2019): hard-swish, and squeeze-and-excite in some blocks.

use super::Choices;
use super::blocks::InvertedResidual;
use super::layers::{Layers, Nonlinearity, width};
use crate::writer::{NetworkBuilder, WriterNetwork};

const SIDES: [i32; 5] = [96, 128, 160, 192, 224];
const WIDTH_PERCENT: [i32; 4] = [35, 50, 75, 100];
/// Channels and most layers; all but the fourth stage halve the resolution.
const STAGES: [(i32, usize); 5] = [(16, 1), (24, 3), (40, 3), (80, 4), (112, 3)];
const CLASSES: [i32; 4] = [2, 10, 100, 1001];

pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let percent = layers.choices.pick(&WIDTH_PERCENT);
    let side = layers.choices.pick(&SIDES);
    let image = layers.rgb(side);
    let mut x = layers.conv(image, width(16, percent), 3, 2, Nonlinearity::HardSwish);
    for (stage, (channels, most_layers)) in STAGES.into_iter().enumerate() {
        // The paper draws both per stage: late stages have hard-swish.
        let late = stage >= 2 + usize::from(layers.choices.coin());
        let excited = layers.choices.coin();
        for layer in 0..layers.choices.between(1, most_layers) {
            let input = layers.channels(x);
            let expanded = width(input * layers.choices.pick(&[2, 3, 4, 6]), 100);
            let block = InvertedResidual {
                channels: width(channels, percent),
                expanded,
                kernel: layers.choices.pick(&[3, 5]),
                stride: if layer == 0 && stage != 3 { 2 } else { 1 },
                nonlinearity: if late {
                    Nonlinearity::HardSwish
                } else {
                    Nonlinearity::Relu
                },
                squeezed: excited.then(|| width(expanded / 4, 100)),
            };
            x = layers.inverted_residual(x, block);
        }
    }
    let channels = 6 * layers.channels(x);
    x = layers.pointwise(x, channels, Nonlinearity::HardSwish);
    let pooled = layers.global_pool(x);
    let features = layers.choices.pick(&[256, 512, 1024, 1280]);
    let head = layers.pointwise(pooled, features, Nonlinearity::HardSwish);
    let classes = layers.choices.pick(&CLASSES);
    let scores = layers.pointwise(head, classes, Nonlinearity::None);
    let logits = layers.reshape(scores, &[1, classes]);
    layers.finish(&[logits])
}
