//! Inception V4 (Szegedy et al. 2016, Figures 3 to 9).

use litecast::formats::tflite::Padding;

use crate::spaces::layers::{Layers, Nonlinearity as N};
use crate::writer::{TensorIdx, Window};

const ROW_OF_7: [i32; 2] = [1, 7];
const COLUMN_OF_7: [i32; 2] = [7, 1];
const ROW_OF_3: [i32; 2] = [1, 3];
const COLUMN_OF_3: [i32; 2] = [3, 1];

pub fn logits(layers: &mut Layers, image: TensorIdx) -> TensorIdx {
    let mut x = stem(layers, image);
    for _ in 0..4 {
        x = module_a(layers, x);
    }
    x = reduction_a(layers, x);
    for _ in 0..7 {
        x = module_b(layers, x);
    }
    x = reduction_b(layers, x);
    for _ in 0..3 {
        x = module_c(layers, x);
    }
    layers.classify(x, 1001)
}

fn stem(layers: &mut Layers, image: TensorIdx) -> TensorIdx {
    let x = valid(layers, image, 32, 2);
    let x = valid(layers, x, 32, 1);
    let x = layers.conv(x, 64, 3, 1, N::Relu);
    let pooled = pool(layers, x);
    let strided = valid(layers, x, 96, 2);
    let x = layers.concat(&[pooled, strided]);
    let short = layers.pointwise(x, 64, N::Relu);
    let short = valid(layers, short, 96, 1);
    let long = layers.pointwise(x, 64, N::Relu);
    let long = line(layers, long, 64, ROW_OF_7);
    let long = line(layers, long, 64, COLUMN_OF_7);
    let long = valid(layers, long, 96, 1);
    let x = layers.concat(&[short, long]);
    let strided = valid(layers, x, 192, 2);
    let pooled = pool(layers, x);
    layers.concat(&[strided, pooled])
}

fn module_a(layers: &mut Layers, x: TensorIdx) -> TensorIdx {
    let point = layers.pointwise(x, 96, N::Relu);
    let one = layers.pointwise(x, 64, N::Relu);
    let one = layers.conv(one, 96, 3, 1, N::Relu);
    let two = layers.pointwise(x, 64, N::Relu);
    let two = layers.conv(two, 96, 3, 1, N::Relu);
    let two = layers.conv(two, 96, 3, 1, N::Relu);
    let pooled = pooled_point(layers, x, 96);
    layers.concat(&[point, one, two, pooled])
}

fn reduction_a(layers: &mut Layers, x: TensorIdx) -> TensorIdx {
    let short = valid(layers, x, 384, 2);
    let long = layers.pointwise(x, 192, N::Relu);
    let long = layers.conv(long, 224, 3, 1, N::Relu);
    let long = valid(layers, long, 256, 2);
    let pooled = pool(layers, x);
    layers.concat(&[short, long, pooled])
}

fn module_b(layers: &mut Layers, x: TensorIdx) -> TensorIdx {
    let point = layers.pointwise(x, 384, N::Relu);
    let short = layers.pointwise(x, 192, N::Relu);
    let short = line(layers, short, 224, ROW_OF_7);
    let short = line(layers, short, 256, COLUMN_OF_7);
    let long = layers.pointwise(x, 192, N::Relu);
    let long = line(layers, long, 192, COLUMN_OF_7);
    let long = line(layers, long, 224, ROW_OF_7);
    let long = line(layers, long, 224, COLUMN_OF_7);
    let long = line(layers, long, 256, ROW_OF_7);
    let pooled = pooled_point(layers, x, 128);
    layers.concat(&[point, short, long, pooled])
}

fn reduction_b(layers: &mut Layers, x: TensorIdx) -> TensorIdx {
    let short = layers.pointwise(x, 192, N::Relu);
    let short = valid(layers, short, 192, 2);
    let long = layers.pointwise(x, 256, N::Relu);
    let long = line(layers, long, 256, ROW_OF_7);
    let long = line(layers, long, 320, COLUMN_OF_7);
    let long = valid(layers, long, 320, 2);
    let pooled = pool(layers, x);
    layers.concat(&[short, long, pooled])
}

fn module_c(layers: &mut Layers, x: TensorIdx) -> TensorIdx {
    let point = layers.pointwise(x, 256, N::Relu);
    let short = layers.pointwise(x, 384, N::Relu);
    let short_row = line(layers, short, 256, ROW_OF_3);
    let short_column = line(layers, short, 256, COLUMN_OF_3);
    let long = layers.pointwise(x, 384, N::Relu);
    let long = line(layers, long, 448, COLUMN_OF_3);
    let long = line(layers, long, 512, ROW_OF_3);
    let long_row = line(layers, long, 256, ROW_OF_3);
    let long_column = line(layers, long, 256, COLUMN_OF_3);
    let pooled = pooled_point(layers, x, 256);
    layers.concat(&[
        point,
        short_row,
        short_column,
        long_row,
        long_column,
        pooled,
    ])
}

/// A 3×3 convolution without padding.
pub(super) fn valid(layers: &mut Layers, x: TensorIdx, filters: i32, stride: i32) -> TensorIdx {
    layers.conv_with_window(
        x,
        filters,
        Window::square(3, stride, Padding::Valid),
        N::Relu,
    )
}

/// A convolution along one side.
pub(super) fn line(layers: &mut Layers, x: TensorIdx, filters: i32, kernel: [i32; 2]) -> TensorIdx {
    layers.conv_with_window(
        x,
        filters,
        Window::rect(kernel, [1, 1], Padding::Same),
        N::Relu,
    )
}

/// Half the height and width, without padding.
pub(super) fn pool(layers: &mut Layers, x: TensorIdx) -> TensorIdx {
    let name = layers.name("max_pool");
    layers
        .builder
        .max_pool2d(&name, x, Window::square(3, 2, Padding::Valid))
}

fn pooled_point(layers: &mut Layers, x: TensorIdx, filters: i32) -> TensorIdx {
    let pooled = layers.average_pool(x, 3, 1);
    layers.pointwise(pooled, filters, N::Relu)
}
