//! SqueezeNet (Iandola et al. 2016): fire modules, which squeeze to few channels and expand by 1×1
//! and 3×3 convolutions side by side.

use super::Choices;
use super::layers::{Layers, Nonlinearity as N, width};
use crate::writer::{NetworkBuilder, TensorIdx, WriterNetwork};

const SIDES: [i32; 5] = [64, 96, 128, 192, 224];
const WIDTH_PERCENT: [i32; 4] = [25, 50, 75, 100];

pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let percent = layers.choices.pick(&WIDTH_PERCENT);
    let bypasses = layers.choices.coin();
    let side = layers.choices.pick(&SIDES);
    let image = layers.rgb(side);
    let (filters, kernel) = layers.choices.pick(&[(64, 3), (96, 7)]);
    let mut x = layers.conv(image, width(filters, percent), kernel, 2, N::Relu);
    x = layers.max_pool(x, 3, 2);
    let n_modules = layers.choices.between(3, 8);
    for idx in 0..n_modules {
        let squeezed = width(16 * (idx as i32 / 2 + 1), percent);
        let y = fire(x, squeezed, &mut layers);
        let same_shape = layers.channels(x) == layers.channels(y);
        x = if bypasses && same_shape {
            layers.add(x, y)
        } else {
            y
        };
        if idx == 1 || idx == 3 {
            x = layers.max_pool(x, 3, 2);
        }
    }
    let classes = layers.choices.pick(&[10, 100, 1000]);
    let scores = layers.pointwise(x, classes, N::Relu);
    let pooled = layers.global_pool(scores);
    let logits = layers.reshape(pooled, &[1, classes]);
    let probabilities = layers.builder.softmax("probabilities", logits);
    layers.finish(&[probabilities])
}

pub(super) fn fire(x: TensorIdx, squeezed: i32, layers: &mut Layers) -> TensorIdx {
    let small = layers.pointwise(x, squeezed, N::Relu);
    let narrow = layers.pointwise(small, 4 * squeezed, N::Relu);
    let wide = layers.conv(small, 4 * squeezed, 3, 1, N::Relu);
    layers.concat(&[narrow, wide])
}
