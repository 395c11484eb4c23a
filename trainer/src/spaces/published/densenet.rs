//! DenseNet-121 (Huang et al. 2017, Table 1): the smallest of the paper's networks for ImageNet.

use crate::spaces::densenet::{dense_layer, norm};
use crate::spaces::layers::{Layers, Nonlinearity as N};
use crate::writer::TensorIdx;

const GROWTH: i32 = 32;
const BLOCKS: [usize; 4] = [6, 12, 24, 16];

pub fn logits(layers: &mut Layers, image: TensorIdx) -> TensorIdx {
    let mut x = layers.conv(image, 2 * GROWTH, 7, 2, N::Relu);
    x = layers.max_pool(x, 3, 2);
    for (block, n_layers) in BLOCKS.into_iter().enumerate() {
        for _ in 0..n_layers {
            let features = dense_layer(x, GROWTH, true, layers);
            x = layers.concat(&[x, features]);
        }
        x = norm(x, layers);
        if block + 1 < BLOCKS.len() {
            let halved = layers.channels(x) / 2;
            x = layers.pointwise(x, halved, N::None);
            x = layers.average_pool(x, 2, 2);
        }
    }
    layers.classify(x, 1000)
}
