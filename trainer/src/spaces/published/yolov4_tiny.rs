//! YOLOv4-tiny (Wang, Bochkovskiy and Liao 2020), as NXP's model zoo writes it for TensorFlow Lite.

use litecast::formats::tflite::Padding;

use crate::spaces::layers::{Layers, Nonlinearity as N};
use crate::writer::{TensorIdx, Window};

/// Three anchors of 80 classes, an objectness and a box.
const OUTPUT_CHANNELS: i32 = 3 * (80 + 1 + 4);

/// The two outputs, from fine to coarse, before boxes are decoded.
pub fn outputs(layers: &mut Layers, image: TensorIdx) -> Vec<TensorIdx> {
    let x = strided(layers, image, 32);
    let x = strided(layers, x, 64);
    let (x, _) = stage(layers, x, 64);
    let (x, _) = stage(layers, x, 128);
    let (x, fine) = stage(layers, x, 256);
    let x = layers.conv(x, 512, 3, 1, N::LeakyRelu);
    let shared = layers.pointwise(x, 256, N::LeakyRelu);
    let coarse_output = head(layers, shared, 512);
    let narrowed = layers.pointwise(shared, 128, N::LeakyRelu);
    let enlarged = layers.upsample(narrowed, 2, true);
    let both = layers.concat(&[enlarged, fine]);
    vec![head(layers, both, 256), coarse_output]
}

/// Halves height and width. Darknet pads above and to the left.
fn strided(layers: &mut Layers, x: TensorIdx, channels: i32) -> TensorIdx {
    let name = layers.name("pad");
    let padded = (layers.builder).pad(&name, x, &[[0, 0], [1, 0], [1, 0], [0, 0]]);
    let window = Window::square(3, 2, Padding::Valid);
    layers.conv_with_window(padded, channels, window, N::LeakyRelu)
}

/// The cross-stage block, of which half of the channels take the long way. Returns the pooled output, and the last
/// convolution, which the finer head reads.
fn stage(layers: &mut Layers, x: TensorIdx, channels: i32) -> (TensorIdx, TensorIdx) {
    let all = layers.conv(x, channels, 3, 1, N::LeakyRelu);
    let name = layers.name("split");
    let half = layers.builder.split(&name, all, 3, 2)[1];
    let first = layers.conv(half, channels / 2, 3, 1, N::LeakyRelu);
    let second = layers.conv(first, channels / 2, 3, 1, N::LeakyRelu);
    let both = layers.concat(&[second, first]);
    let last = layers.pointwise(both, channels, N::LeakyRelu);
    let joined = layers.concat(&[all, last]);
    (layers.max_pool(joined, 2, 2), last)
}

fn head(layers: &mut Layers, x: TensorIdx, channels: i32) -> TensorIdx {
    let x = layers.conv(x, channels, 3, 1, N::LeakyRelu);
    layers.pointwise(x, OUTPUT_CHANNELS, N::None)
}
