//! Networks for phones and for the Edge TPU.

use crate::spaces::blocks::InvertedResidual;
use crate::spaces::layers::{Layers, Nonlinearity as N, width};
use crate::writer::TensorIdx;

/// MobileNet V1 (Howard et al. 2017, Table 1), its width in percent; 1001 classes, as published files have.
pub fn mobilenet_v1(layers: &mut Layers, image: TensorIdx, percent: i32) -> TensorIdx {
    let [_, _, last] = mobilenet_v1_features(layers, image, percent);
    layers.classify(last, 1001)
}

/// MobileNet V1's feature maps at an eighth, a sixteenth and a thirty-second of the image's side.
pub fn mobilenet_v1_features(
    layers: &mut Layers,
    image: TensorIdx,
    percent: i32,
) -> [TensorIdx; 3] {
    let mut x = layers.conv(image, width(32, percent), 3, 2, N::Relu6);
    let mut levels = Vec::new();
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
        if stride == 2 {
            levels.push(x);
        }
        for _ in 0..n_layers {
            x = layers.separable(x, width(channels, percent), 3, stride, N::Relu6);
        }
    }
    // The first is at a quarter of the side.
    [levels[2], levels[3], x]
}

/// MobileNet V2 (Sandler et al. 2018, Table 2), its width in percent; 1001 classes.
pub fn mobilenet_v2(layers: &mut Layers, image: TensorIdx, percent: i32) -> TensorIdx {
    let features = mobilenet_v2_of_width(layers, image, percent);
    layers.classify(features.last, 1001)
}

/// Feature maps that the heads of detectors read.
pub struct Features {
    /// At a sixteenth of the image's side: in MobileNets what the first strided block makes of its input before its
    /// stride.
    pub widened: TensorIdx,
    /// The last convolution's output, at a thirty-second.
    pub last: TensorIdx,
}

/// MobileNet V2 of width 1.0 without its classifier.
pub fn mobilenet_v2_features(layers: &mut Layers, image: TensorIdx) -> Features {
    mobilenet_v2_of_width(layers, image, 100)
}

fn mobilenet_v2_of_width(layers: &mut Layers, image: TensorIdx, percent: i32) -> Features {
    let width = |channels| v2_width(channels, percent);
    let mut x = layers.conv(image, width(32), 3, 2, N::Relu6);
    for (expansion, channels, n_layers, stride) in [
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
    ] {
        let sizes = [expansion, width(channels), 3, stride];
        x = stage(layers, x, sizes, n_layers, false);
    }
    let widened = layers.pointwise(x, 6 * width(96), N::Relu6);
    let y = layers.depthwise(widened, 3, 2, N::Relu6);
    x = layers.pointwise(y, width(160), N::None);
    x = stage(layers, x, [6, width(160), 3, 1], 2, false);
    x = stage(layers, x, [6, width(320), 3, 1], 1, false);
    let last = layers.pointwise(x, v2_width(1280, percent.max(100)), N::Relu6);
    Features { widened, last }
}

/// The nearest multiple of 8 that is not below nine tenths of the channels, as in the published files.
fn v2_width(channels: i32, percent: i32) -> i32 {
    let nearest = width(channels, percent);
    if 1000 * nearest < 9 * channels * percent {
        nearest + 8
    } else {
        nearest
    }
}

/// MnasNet-A1 (Tan et al. 2019, Figure 7) of width 0.75; 1001 classes.
pub fn mnasnet_a1_75(layers: &mut Layers, image: TensorIdx) -> TensorIdx {
    let mut x = layers.conv(image, width(32, 75), 3, 2, N::Relu);
    x = layers.separable(x, width(16, 75), 3, 1, N::Relu);
    for (expansion, channels, kernel, stride, n_layers, excited) in [
        (6, 24, 3, 2, 2, false),
        (3, 40, 5, 2, 3, true),
        (6, 80, 3, 2, 4, false),
        (6, 112, 3, 1, 2, true),
        (6, 160, 5, 2, 3, true),
        (6, 320, 3, 1, 1, false),
    ] {
        let shape = [expansion, width(channels, 75), kernel, stride];
        x = stage(layers, x, shape, n_layers, excited);
    }
    let x = layers.pointwise(x, 1280, N::Relu);
    layers.classify(x, 1001)
}

/// Inverted residuals, the first with a stride; `excited`: with a squeeze to a quarter of the input.
fn stage(
    layers: &mut Layers,
    mut x: TensorIdx,
    [expansion, channels, kernel, stride]: [i32; 4],
    n_layers: usize,
    excited: bool,
) -> TensorIdx {
    for layer in 0..n_layers {
        let input = layers.channels(x);
        let block = InvertedResidual {
            channels,
            expanded: input * expansion,
            kernel,
            stride: if layer == 0 { stride } else { 1 },
            nonlinearity: N::Relu6,
            squeezed: excited.then_some((input / 4).max(1)),
        };
        x = layers.inverted_residual(x, block);
    }
    x
}

/// Kernel, widened channels, channels, squeeze-and-excite, hard-swish instead of ReLU, stride.
type V3Block = (i32, i32, i32, bool, bool, i32);

/// Table 1 of MobileNet V3's paper.
#[rustfmt::skip]
const V3_LARGE: [V3Block; 15] = [
    (3, 16, 16, false, false, 1),
    (3, 64, 24, false, false, 2), (3, 72, 24, false, false, 1),
    (5, 72, 40, true, false, 2), (5, 120, 40, true, false, 1), (5, 120, 40, true, false, 1),
    (3, 240, 80, false, true, 2), (3, 200, 80, false, true, 1), (3, 184, 80, false, true, 1),
    (3, 184, 80, false, true, 1),
    (3, 480, 112, true, true, 1), (3, 672, 112, true, true, 1),
    (5, 672, 160, true, true, 2), (5, 960, 160, true, true, 1), (5, 960, 160, true, true, 1),
];

/// Table 2.
#[rustfmt::skip]
const V3_SMALL: [V3Block; 11] = [
    (3, 16, 16, true, false, 2),
    (3, 72, 24, false, false, 2), (3, 88, 24, false, false, 1),
    (5, 96, 40, true, true, 2), (5, 240, 40, true, true, 1), (5, 240, 40, true, true, 1),
    (5, 120, 48, true, true, 1), (5, 144, 48, true, true, 1),
    (5, 288, 96, true, true, 2), (5, 576, 96, true, true, 1), (5, 576, 96, true, true, 1),
];

/// What [`v3_features`] has in place of the last blocks: expanded channels of the strided block, those of the two
/// further ones, their channels and those of the last convolution. All but the first are half of the classifier's.
const V3_LARGE_TAIL: [i32; 4] = [672, 480, 80, 480];
const V3_SMALL_TAIL: [i32; 4] = [288, 288, 48, 288];

/// MobileNet V3 (Howard et al. 2019), large; 1001 classes.
pub fn mobilenet_v3_large(layers: &mut Layers, image: TensorIdx) -> TensorIdx {
    mobilenet_v3(layers, image, &V3_LARGE, [960, 1280])
}

/// MobileNet V3, small; 1001 classes.
pub fn mobilenet_v3_small(layers: &mut Layers, image: TensorIdx) -> TensorIdx {
    mobilenet_v3(layers, image, &V3_SMALL, [576, 1024])
}

fn mobilenet_v3(
    layers: &mut Layers,
    image: TensorIdx,
    blocks: &[V3Block],
    head: [i32; 2],
) -> TensorIdx {
    let x = v3_blocks(layers, image, blocks);
    let x = layers.pointwise(x, head[0], N::HardSwish);
    let pooled = layers.global_pool(x);
    let x = layers.pointwise(pooled, head[1], N::HardSwish);
    let x = layers.pointwise(x, 1001, N::None);
    layers.reshape(x, &[1, 1001])
}

fn v3_blocks(layers: &mut Layers, image: TensorIdx, blocks: &[V3Block]) -> TensorIdx {
    let mut x = layers.conv(image, 16, 3, 2, N::HardSwish);
    for &block in blocks {
        x = v3_block(layers, x, block);
    }
    x
}

fn v3_block(
    layers: &mut Layers,
    x: TensorIdx,
    (kernel, expanded, channels, excited, hard, stride): V3Block,
) -> TensorIdx {
    let block = InvertedResidual {
        channels,
        expanded,
        kernel,
        stride,
        nonlinearity: if hard { N::HardSwish } else { N::Relu },
        squeezed: excited.then(|| width(expanded / 4, 100)),
    };
    layers.inverted_residual(x, block)
}

/// MobileNet V3 large for detectors (section 6.3 of its paper), without a classifier.
pub fn mobilenet_v3_large_features(layers: &mut Layers, image: TensorIdx) -> Features {
    v3_features(layers, image, &V3_LARGE[..12], V3_LARGE_TAIL)
}

/// MobileNet V3 small for detectors.
pub fn mobilenet_v3_small_features(layers: &mut Layers, image: TensorIdx) -> Features {
    v3_features(layers, image, &V3_SMALL[..8], V3_SMALL_TAIL)
}

fn v3_features(
    layers: &mut Layers,
    image: TensorIdx,
    blocks: &[V3Block],
    [first_expanded, expanded, channels, last]: [i32; 4],
) -> Features {
    let x = v3_blocks(layers, image, blocks);
    let widened = layers.pointwise(x, first_expanded, N::HardSwish);
    let block = |expanded, stride| (5, expanded, channels, true, true, stride);
    let mut x = v3_block(layers, widened, block(first_expanded, 2));
    for _ in 0..2 {
        x = v3_block(layers, x, block(expanded, 1));
    }
    let last = layers.pointwise(x, last, N::HardSwish);
    Features { widened, last }
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
            x = if skips && keeps_shape {
                layers.add(x, y)
            } else {
                y
            };
            stated_input = channels;
        }
    }
    let x = layers.pointwise(x, 1280, N::Relu);
    layers.classify(x, 1001)
}
