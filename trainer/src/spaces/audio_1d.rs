//! One-dimensional convolutions over samples or frames of audio and sensors, as converters write
//! them: height 1 around CONV_2D, plain stacks, dilated residual blocks (WaveNet-like), and
//! streaming keyword spotting, where the past comes in as an input and goes out again.

use litecast::formats::tflite::Padding;

use super::Choices;
use super::layers::{Layers, Nonlinearity as N};
use crate::writer::{NetworkBuilder, TensorIdx, Window, WriterNetwork};

const CHANNELS: [i32; 6] = [8, 16, 24, 32, 48, 64];

fn row(kernel: i32, stride: i32, padding: Padding) -> Window {
    Window::rect([1, kernel], [1, stride], padding)
}

pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let n = layers
        .choices
        .pick(&[N::Relu, N::Relu6, N::LeakyRelu, N::Elu]);
    let samples = layers.choices.pick(&[128, 256, 1000, 2000, 4000]);
    let sensors = layers.choices.pick(&[1, 1, 3, 6, 9]);
    let signal = layers.builder.input("signal", &[1, samples, sensors]);
    let name = layers.name("expand");
    let mut x = layers.builder.expand_dims(&name, signal, 1);
    let n_layers = layers.choices.between(2, 6);
    for idx in 0..n_layers {
        let filters = layers.choices.pick(&CHANNELS) << (idx / 3);
        let kernel = layers.choices.pick(&[3, 5, 9, 16]);
        let stride = layers.choices.pick(&[1, 2, 3]);
        let window = row(kernel, stride, Padding::Same);
        let separable = idx > 0 && layers.choices.coin();
        if separable {
            // Depthwise kernels with unequal strides are refused by integer kernels of LiteRT.
            x = layers.depthwise_window(x, row(kernel, 1, Padding::Same), n);
            x = layers.conv_with_window(x, filters, row(1, stride, Padding::Same), n);
        } else {
            x = layers.conv_with_window(x, filters, window, n);
        }
        if layers.choices.coin() {
            let name = layers.name("max_pool");
            x = layers
                .builder
                .max_pool2d(&name, x, row(2, 2, Padding::Same));
        }
    }
    let classes = layers.choices.pick(&[2, 6, 10, 35]);
    let logits = layers.classify(x, classes);
    layers.finish(&[logits])
}

/// Residual blocks whose dilation doubles, over frames.
pub fn temporal(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let frames = layers.choices.pick(&[49, 98, 160, 200]);
    let bands = layers.choices.pick(&[10, 20, 40, 64, 80]);
    let channels = layers.choices.pick(&CHANNELS);
    let gated = layers.choices.pick(&[true, false, false]);
    let features = layers.builder.input("features", &[1, 1, frames, bands]);
    let mut x = layers.conv_with_window(features, channels, row(3, 1, Padding::Same), N::Relu);
    for block in 0..layers.choices.between(2, 6) {
        let window = Window {
            dilation: [1, 1 << (block % 4)],
            ..row(layers.choices.pick(&[2, 3, 5]), 1, Padding::Same)
        };
        let y = if gated {
            gate(x, channels, window, &mut layers)
        } else {
            layers.conv_with_window(x, channels, window, N::Relu)
        };
        let y = layers.pointwise(y, channels, N::None);
        x = layers.add_relu(x, y);
    }
    let classes = layers.choices.pick(&[2, 12, 35]);
    let logits = layers.classify(x, classes);
    layers.finish(&[logits])
}

/// WaveNet's unit: `tanh(a) · σ(b)`.
fn gate(x: TensorIdx, channels: i32, window: Window, layers: &mut Layers) -> TensorIdx {
    let value = layers.conv_with_window(x, channels, window, N::None);
    let name = layers.name("tanh");
    let value = layers.builder.tanh(&name, value);
    let share = layers.conv_with_window(x, channels, window, N::None);
    let name = layers.name("logistic");
    let share = layers.builder.logistic(&name, share);
    layers.mul(value, share)
}

/// Each convolution reads its past frames from an input and hands the newest ones out.
pub fn streaming(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let bands = layers.choices.pick(&[10, 20, 40]);
    let new_frames = layers.choices.pick(&[1, 2, 4]);
    let mut x = layers.builder.input("frames", &[1, 1, new_frames, bands]);
    let mut outputs = Vec::new();
    for _ in 0..layers.choices.between(2, 6) {
        let kernel = layers.choices.pick(&[3, 5, 7, 9]);
        let (window, state) = with_past_frames(x, kernel, &mut layers);
        outputs.push(state);
        let filters = layers.choices.pick(&CHANNELS);
        x = if layers.choices.coin() {
            let y = layers.depthwise_window(window, row(kernel, 1, Padding::Valid), N::Relu);
            layers.pointwise(y, filters, N::Relu)
        } else {
            layers.conv_with_window(window, filters, row(kernel, 1, Padding::Valid), N::Relu)
        };
    }
    let flat = [1, layers.channels(x) * new_frames];
    let x = layers.reshape(x, &flat);
    let scores = layers.dense(x, 12, N::None);
    outputs.insert(0, layers.builder.softmax("probabilities", scores));
    layers.finish(&outputs)
}

/// The past `kernel − 1` frames and the new ones; and the newest `kernel − 1` of them.
fn with_past_frames(x: TensorIdx, kernel: i32, layers: &mut Layers) -> (TensorIdx, TensorIdx) {
    let channels = layers.channels(x);
    let [_, new_frames] = layers.size(x);
    let past = kernel - 1;
    let name = layers.name("state");
    let shape = [1, 1, past, channels];
    let state = layers.builder.input_like(&name, &shape, x);
    let name = layers.name("concat");
    let frames = layers.builder.concatenation(&name, &[state, x], 2);
    let name = layers.name("state_out");
    let newest = layers.builder.slice(
        &name,
        frames,
        &[0, 0, new_frames, 0],
        &[1, 1, past, channels],
    );
    (frames, newest)
}
