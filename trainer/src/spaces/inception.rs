//! Inception-like networks (Szegedy et al. 2015, 2016): branches of different kernels side by side,
//! among them factorised ones (1×7 and 7×1) and pooling.

use litecast::formats::tflite::Padding;

use super::Choices;
use super::layers::{Layers, Nonlinearity as N, width};
use crate::writer::{NetworkBuilder, TensorIdx, Window, WriterNetwork};

const SIDES: [i32; 5] = [75, 96, 128, 149, 192];
const WIDTH_PERCENT: [i32; 4] = [25, 50, 75, 100];

pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let percent = layers.choices.pick(&WIDTH_PERCENT);
    let side = layers.choices.pick(&SIDES);
    let image = layers.rgb(side);
    let mut x = layers.conv(image, width(32, percent), 3, 2, N::Relu);
    x = layers.conv_with_window(
        x,
        width(64, percent),
        Window::square(3, 1, Padding::Valid),
        N::Relu,
    );
    x = layers.max_pool(x, 3, 2);
    for (stage, base) in [64, 96, 128].into_iter().enumerate() {
        for _ in 0..layers.choices.between(1, 3) {
            x = module(x, width(base, percent), &mut layers);
        }
        if stage < 2 {
            x = reduction(x, width(base, percent), &mut layers);
        }
    }
    let classes = layers.choices.pick(&[10, 100, 1000]);
    let logits = layers.classify(x, classes);
    layers.finish(&[logits])
}

fn module(x: TensorIdx, channels: i32, layers: &mut Layers) -> TensorIdx {
    let mut branches = vec![layers.pointwise(x, channels, N::Relu)];
    for _ in 0..layers.choices.between(1, 2) {
        let y = layers.pointwise(x, channels / 2, N::Relu);
        let branch = match layers.choices.pick(&[3, 5, 7]) {
            7 => factorised(y, channels, 7, layers),
            5 => {
                let y = layers.conv(y, channels, 3, 1, N::Relu);
                layers.conv(y, channels, 3, 1, N::Relu)
            }
            kernel => layers.conv(y, channels, kernel, 1, N::Relu),
        };
        branches.push(branch);
    }
    let pooled = if layers.choices.coin() {
        layers.average_pool(x, 3, 1)
    } else {
        layers.max_pool(x, 3, 1)
    };
    branches.push(layers.pointwise(pooled, channels / 2, N::Relu));
    layers.concat(&branches)
}

fn factorised(x: TensorIdx, channels: i32, kernel: i32, layers: &mut Layers) -> TensorIdx {
    let wide = Window::rect([1, kernel], [1, 1], Padding::Same);
    let tall = Window::rect([kernel, 1], [1, 1], Padding::Same);
    let y = layers.conv_with_window(x, channels, wide, N::Relu);
    layers.conv_with_window(y, channels, tall, N::Relu)
}

fn reduction(x: TensorIdx, channels: i32, layers: &mut Layers) -> TensorIdx {
    let strided = Window::square(3, 2, Padding::Valid);
    let convolved = layers.conv_with_window(x, channels, strided, N::Relu);
    let name = layers.name("max_pool");
    let pooled = layers.builder.max_pool2d(&name, x, strided);
    layers.concat(&[convolved, pooled])
}
