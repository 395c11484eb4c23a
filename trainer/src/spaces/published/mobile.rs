//! Networks for phones and for the Edge TPU.

use crate::spaces::layers::{Layers, Nonlinearity as N, width};
use crate::writer::TensorIdx;

/// MobileNet V1 (Howard et al. 2017, Table 1), its width in percent; 1001 classes, as published files have.
pub fn mobilenet_v1(layers: &mut Layers, image: TensorIdx, percent: i32) -> TensorIdx {
    let mut x = layers.conv(image, width(32, percent), 3, 2, N::Relu6);
    for (channels, stride, n_layers) in [
        (64, 1, 1),
        (128, 2, 1),
        (128, 1, 1),
        (256, 2, 1),
        (256, 1, 1),
        (512, 2, 1),
        (512, 1, 5),
        (1024, 2, 1),
        (1024, 1, 1),
    ] {
        for _ in 0..n_layers {
            x = layers.separable(x, width(channels, percent), 3, stride, N::Relu6);
        }
    }
    layers.classify(x, 1001)
}

/// Channels, layers, kernel, stride of the first layer, expansion, whether the widening convolution is
/// also the spatial one, whether there are shortcuts.
const EDGETPU_STAGES: [(i32, usize, i32, i32, i32, bool, bool); 6] = [
    (24, 1, 3, 1, 4, true, false),
    (32, 2, 3, 2, 8, true, true),
    (48, 4, 3, 2, 8, true, true),
    (96, 5, 5, 2, 8, false, true),
    (144, 4, 5, 1, 8, false, true),
    (192, 2, 5, 2, 8, false, true),
];

/// EfficientNet-EdgeTPU-S (Gupta and Akin 2020), by the block strings of its reference
/// implementation (`efficientnet_edgetpu_builder.py` of github tensorflow/tpu); 1001 classes.
pub fn efficientnet_edgetpu_s(layers: &mut Layers, image: TensorIdx) -> TensorIdx {
    let mut x = layers.conv(image, 32, 3, 2, N::Relu);
    // The expansion of the first block is told of 24 channels, though the stem has 32.
    let mut stated_input = 24;
    for (channels, n_layers, kernel, stride, expansion, fused, skips) in EDGETPU_STAGES {
        for layer in 0..n_layers {
            let stride = if layer == 0 { stride } else { 1 };
            let expanded = stated_input * expansion;
            let mut y = x;
            if fused {
                y = layers.conv(y, expanded, kernel, stride, N::Relu);
            } else {
                y = layers.pointwise(y, expanded, N::Relu);
                y = layers.depthwise(y, kernel, stride, N::Relu);
            }
            y = layers.pointwise(y, channels, N::None);
            let keeps_shape = stride == 1 && layers.channels(x) == channels;
            x = match skips && keeps_shape {
                true => layers.add(x, y),
                false => y,
            };
            stated_input = channels;
        }
    }
    let x = layers.pointwise(x, 1280, N::Relu);
    layers.classify(x, 1001)
}
