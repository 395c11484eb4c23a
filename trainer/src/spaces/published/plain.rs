//! Networks of plain convolutions.

use litecast::formats::tflite::Padding;

use crate::spaces::layers::{Layers, Nonlinearity as N};
use crate::spaces::squeezenet::fire;
use crate::writer::{TensorIdx, Window};

/// SqueezeNet (Iandola et al. 2016, Table 1: what its authors later called 1.0).
pub fn squeezenet(layers: &mut Layers, image: TensorIdx) -> TensorIdx {
    let mut x = layers.conv(image, 96, 7, 2, N::Relu);
    x = layers.max_pool(x, 3, 2);
    for (module, squeezed) in (2..).zip([16, 16, 32, 32, 48, 48, 64, 64]) {
        x = fire(x, squeezed, layers);
        if [4, 8].contains(&module) {
            x = layers.max_pool(x, 3, 2);
        }
    }
    let scores = layers.pointwise(x, 1000, N::Relu);
    let pooled = layers.global_pool(scores);
    layers.reshape(pooled, &[1, 1000])
}

/// Tiny YOLO V2 (Redmon and Farhadi 2016) for one class and five anchors, the last 3×3 convolution with 512 channels as in
/// ST's model zoo; before boxes are decoded.
pub fn tiny_yolo_v2(layers: &mut Layers, image: TensorIdx) -> TensorIdx {
    let mut x = image;
    for (channels, pool_stride) in [(16, 2), (32, 2), (64, 2), (128, 2), (256, 2), (512, 1)] {
        x = layers.conv(x, channels, 3, 1, N::LeakyRelu);
        x = layers.max_pool(x, 2, pool_stride);
    }
    x = layers.conv(x, 1024, 3, 1, N::LeakyRelu);
    x = layers.conv(x, 512, 3, 1, N::LeakyRelu);
    layers.pointwise(x, 5 * (4 + 1 + 1), N::None)
}

/// VGG16 (Simonyan and Zisserman 2014, configuration D).
pub fn vgg16(layers: &mut Layers, image: TensorIdx) -> TensorIdx {
    let mut x = image;
    for (channels, n_layers) in [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)] {
        for _ in 0..n_layers {
            x = layers.conv(x, channels, 3, 1, N::Relu);
        }
        x = layers.max_pool(x, 2, 2);
    }
    // The first dense layer as a convolution over all pixels, which is the same sum.
    let size = layers.size(x);
    x = layers.conv_with_window(x, 4096, Window::rect(size, [1, 1], Padding::Valid), N::Relu);
    x = layers.pointwise(x, 4096, N::Relu);
    let scores = layers.pointwise(x, 1000, N::None);
    layers.reshape(scores, &[1, 1000])
}

/// ResNet-50 (He et al. 2015, Table 1), strided in the first convolution of a block as there.
pub fn resnet_50(layers: &mut Layers, image: TensorIdx) -> TensorIdx {
    let [_, _, last] = resnet_50_features(layers, image);
    layers.classify(last, 1000)
}

/// ResNet-50's feature maps at an eighth, a sixteenth and a thirty-second of the image's side.
pub fn resnet_50_features(layers: &mut Layers, image: TensorIdx) -> [TensorIdx; 3] {
    let mut levels = Vec::new();
    let mut x = layers.conv(image, 64, 7, 2, N::Relu);
    x = layers.max_pool(x, 3, 2);
    for (stage, (channels, n_blocks)) in [(64, 3), (128, 4), (256, 6), (512, 3)]
        .into_iter()
        .enumerate()
    {
        for block in 0..n_blocks {
            let stride = if block == 0 && stage > 0 { 2 } else { 1 };
            x = bottleneck(layers, x, channels, stride);
        }
        levels.push(x);
    }
    [levels[1], levels[2], levels[3]]
}

fn bottleneck(layers: &mut Layers, x: TensorIdx, channels: i32, stride: i32) -> TensorIdx {
    let y = layers.conv(x, channels, 1, stride, N::Relu);
    let y = layers.conv(y, channels, 3, 1, N::Relu);
    let y = layers.pointwise(y, 4 * channels, N::None);
    let shortcut = if layers.channels(x) == 4 * channels {
        x
    } else {
        layers.conv(x, 4 * channels, 1, stride, N::None)
    };
    layers.add_relu(shortcut, y)
}

/// The emotion classifier of DeepFace (github serengil/deepface), seven classes; its input is gray, of which
/// the first of three channels here stands for all: 0.5 % more products.
pub fn deepface_emotion(layers: &mut Layers, image: TensorIdx) -> TensorIdx {
    let valid = |side| Window::square(side, 1, Padding::Valid);
    let mut x = layers.conv_with_window(image, 64, valid(5), N::Relu);
    let pool = Window::square(5, 2, Padding::Valid);
    let name = layers.name("max_pool");
    x = layers.builder.max_pool2d(&name, x, pool);
    for channels in [64, 128] {
        for _ in 0..2 {
            x = layers.conv_with_window(x, channels, valid(3), N::Relu);
        }
        let name = layers.name("average_pool");
        let pool = Window::square(3, 2, Padding::Valid);
        x = layers.builder.average_pool2d(&name, x, pool);
    }
    let flat = layers.reshape(x, &[1, 128]);
    let hidden = layers.dense(flat, 1024, N::Relu);
    let hidden = layers.dense(hidden, 1024, N::Relu);
    layers.dense(hidden, 7, N::None)
}
