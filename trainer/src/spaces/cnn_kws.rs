//! CNN-KWS: depthwise-separable networks on 49×10 MFCC features, after MicroNets, with kernels that
//! need not be square.

use litecast::formats::tflite::{Activation, Padding};

use super::Choices;
use super::mobile_cnn::classifier;
use crate::writer::{NetworkBuilder, TensorIdx, Window, WriterNetwork};

const FRAMES: i32 = 49;
const COEFFICIENTS: i32 = 10;
const CLASSES: i32 = 12;
/// MicroNets' widths among them; most are no multiple of 16, which hardware pads to.
const CHANNELS: [i32; 8] = [40, 64, 84, 112, 140, 172, 208, 276];
const STEM_KERNELS: [[i32; 2]; 5] = [[10, 4], [10, 8], [7, 3], [5, 5], [3, 3]];
const STEM_STRIDES: [[i32; 2]; 3] = [[1, 1], [2, 1], [2, 2]];
const KERNELS: [[i32; 2]; 6] = [[3, 3], [5, 5], [3, 1], [1, 3], [5, 1], [7, 5]];
const BLOCK_STRIDES: [[i32; 2]; 4] = [[1, 1], [1, 1], [2, 1], [2, 2]];
const MIN_BLOCKS: usize = 2;
const MAX_BLOCKS: usize = 8;

pub fn network(choices: &mut Choices, mut builder: NetworkBuilder) -> WriterNetwork {
    let activation = choices.pick(&[Activation::Relu, Activation::Relu6]);
    let input = features(choices, &mut builder);
    let window = Window::rect(
        choices.pick(&STEM_KERNELS),
        choices.pick(&STEM_STRIDES),
        choices.pick(&[Padding::Same, Padding::Valid]),
    );
    let mut tensor = builder.conv2d("stem", input, choices.pick(&CHANNELS), window, activation);
    let n_blocks = choices.between(MIN_BLOCKS, MAX_BLOCKS);
    let strided_block = choices.between(1, n_blocks);
    for idx in 1..=n_blocks {
        // One block may reduce the resolution, as in MicroNets.
        let stride = if idx == strided_block {
            choices.pick(&BLOCK_STRIDES)
        } else {
            [1, 1]
        };
        tensor = block(
            &format!("block{idx}"),
            tensor,
            stride,
            activation,
            choices,
            &mut builder,
        );
    }
    let logits = classifier(&mut builder, tensor, CLASSES, choices.coin());
    builder.finish(&[logits])
}

/// The input as an image of frames by coefficients, or flat with a RESHAPE before the network.
fn features(choices: &mut Choices, builder: &mut NetworkBuilder) -> TensorIdx {
    let image = [1, FRAMES, COEFFICIENTS, 1];
    if choices.coin() {
        return builder.input("mfcc", &image);
    }
    let flat = builder.input("mfcc", &[1, FRAMES * COEFFICIENTS]);
    builder.reshape("image", flat, &image)
}

/// A depthwise-separable convolution, or a plain one: the paper's largest networks need both.
fn block(
    name: &str,
    input: TensorIdx,
    stride: [i32; 2],
    activation: Activation,
    choices: &mut Choices,
    builder: &mut NetworkBuilder,
) -> TensorIdx {
    let separable = choices.coin();
    let channels = choices.pick(&CHANNELS);
    let window = Window::rect(choices.pick(&KERNELS), stride, Padding::Same);
    if !separable {
        return builder.conv2d(&format!("{name}/conv"), input, channels, window, activation);
    }
    let filtered =
        builder.depthwise_conv2d(&format!("{name}/depthwise"), input, window, activation);
    builder.conv2d(
        &format!("{name}/pointwise"),
        filtered,
        channels,
        Window::point(),
        activation,
    )
}
