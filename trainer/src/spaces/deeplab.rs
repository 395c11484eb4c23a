//! DeepLab V3+ (Chen et al. 2018): an inverted-residual backbone, dilated convolutions side by side,
//! an image-wide branch, and a decoder of bilinear enlargements.

use super::Choices;
use super::blocks::InvertedResidual;
use super::layers::{Layers, Nonlinearity as N, width};
use crate::writer::{NetworkBuilder, Sampling, TensorIdx, WriterNetwork};

const SIDES: [i32; 4] = [96, 128, 160, 192];
const WIDTH_PERCENT: [i32; 3] = [35, 50, 75];

pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let percent = layers.choices.pick(&WIDTH_PERCENT);
    let side = layers.choices.pick(&SIDES);
    let image = layers.rgb(side);
    let mut x = layers.conv(image, width(32, percent), 3, 2, N::Relu6);
    x = block(x, width(24, percent), 2, &mut layers);
    let low_level = x;
    for channels in [32, 64, 96] {
        let stride = if channels == 96 { 1 } else { 2 };
        x = block(x, width(channels, percent), stride, &mut layers);
        for _ in 0..layers.choices.between(0, 2) {
            x = block(x, width(channels, percent), 1, &mut layers);
        }
    }
    let features = width(layers.choices.pick(&[64, 128, 256]), percent);
    let context = pyramid(x, features, &mut layers);
    let mut y = layers.upsample(context, 4, true);
    if layers.choices.coin() {
        let low = layers.pointwise(low_level, width(48, percent), N::Relu);
        y = layers.concat(&[low, y]);
        y = layers.separable(y, features, 3, 1, N::Relu);
    }
    let classes = layers.choices.pick(&[2, 19, 21]);
    let scores = layers.pointwise(y, classes, N::None);
    let map = layers.upsample(scores, 4, true);
    let output = if layers.choices.coin() {
        layers.builder.arg_max("classes", map)
    } else {
        map
    };
    layers.finish(&[output])
}

fn block(x: TensorIdx, channels: i32, stride: i32, layers: &mut Layers) -> TensorIdx {
    let expanded = 6 * layers.channels(x);
    layers.inverted_residual(
        x,
        InvertedResidual {
            channels,
            expanded,
            kernel: 3,
            stride,
            nonlinearity: N::Relu6,
            squeezed: None,
        },
    )
}

/// Atrous spatial pyramid pooling: branches of several dilations, and one of the whole image.
fn pyramid(x: TensorIdx, features: i32, layers: &mut Layers) -> TensorIdx {
    let mut branches = vec![layers.pointwise(x, features, N::Relu)];
    let separable = layers.choices.coin();
    for _ in 0..layers.choices.between(1, 2) {
        let dilation = layers.choices.pick(&[2, 3, 4, 6]);
        branches.push(if separable {
            let y = layers.dilated_depthwise(x, dilation, N::Relu);
            layers.pointwise(y, features, N::Relu)
        } else {
            layers.dilated_conv(x, features, dilation, N::Relu)
        });
    }
    if layers.choices.coin() {
        let size = layers.size(x);
        let pooled = layers.global_pool(x);
        let projected = layers.pointwise(pooled, features, N::Relu);
        let name = layers.name("resize");
        let builder = &mut layers.builder;
        let wide = builder.resize_bilinear(&name, projected, size, Sampling::Plain);
        branches.push(wide);
    }
    let joined = layers.concat(&branches);
    layers.pointwise(joined, features, N::Relu)
}
