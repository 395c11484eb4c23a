//! The networks that are handed out to be measured, as TFLite. They run under TensorFlow Lite Micro too.

use litecast::formats::tflite::{Activation, Padding};

use crate::writer::{
    LayerDistribution, NetworkBuilder, Precision, Sampling, TensorIdx, WeightDistribution, Window,
    WriterNetwork, to_tflite,
};

/// Few different values, so that the files are small once they are compressed; kernels take the same time for all values.
const WEIGHTS: WeightDistribution =
    WeightDistribution::SameInEveryLayer(LayerDistribution::Clustered {
        levels: 3,
        sigma: 40.0,
    });
const WEIGHT_SEED: u64 = 1;
const SIDE: i32 = 48;

/// The file of the network with this name; `None` for another name.
pub fn to_bytes(name: &str, precision: Precision) -> Option<Vec<u8>> {
    Some(to_tflite(&network(name)?, WEIGHT_SEED, precision))
}

fn network(name: &str) -> Option<WriterNetwork> {
    let layers: fn(&mut NetworkBuilder) -> TensorIdx = match name {
        "convolutions" => convolutions,
        "convolutions-3x3" => convolutions_3x3,
        "pointwise" => pointwise,
        "depthwise" => depthwise,
        "matrix-products" => matrix_products,
        "elementwise" => elementwise,
        "pooling" => pooling,
        "softmax" => softmax,
        "movement" => movement,
        "small-network" => small_network,
        _ => return None,
    };
    let mut builder = NetworkBuilder::new(name, WEIGHTS, WEIGHT_SEED);
    let output = layers(&mut builder);
    Some(builder.finish(&[output]))
}

fn same(kernel: i32, stride: i32) -> Window {
    Window::square(kernel, stride, Padding::Same)
}

/// A stack of convolutions with a rectifier: kernel, stride and filters of each.
fn stack(builder: &mut NetworkBuilder, mut x: TensorIdx, layers: &[(i32, i32, i32)]) -> TensorIdx {
    for (idx, &(kernel, stride, filters)) in layers.iter().enumerate() {
        let name = format!("conv{idx}");
        x = builder.conv2d(&name, x, filters, same(kernel, stride), Activation::Relu);
    }
    x
}

fn convolutions(builder: &mut NetworkBuilder) -> TensorIdx {
    let image = builder.input("image", &[1, 2 * SIDE, 2 * SIDE, 3]);
    stack(
        builder,
        image,
        &[(3, 2, 16), (5, 2, 24), (5, 1, 24), (3, 2, 32)],
    )
}

fn convolutions_3x3(builder: &mut NetworkBuilder) -> TensorIdx {
    let image = builder.input("image", &[1, SIDE, SIDE, 16]);
    stack(
        builder,
        image,
        &[(3, 1, 16), (3, 1, 32), (3, 1, 32), (3, 1, 16)],
    )
}

fn pointwise(builder: &mut NetworkBuilder) -> TensorIdx {
    let image = builder.input("image", &[1, SIDE, SIDE, 16]);
    stack(
        builder,
        image,
        &[(1, 1, 64), (1, 1, 32), (1, 1, 64), (1, 1, 16)],
    )
}

fn depthwise(builder: &mut NetworkBuilder) -> TensorIdx {
    let mut x = builder.input("image", &[1, SIDE, SIDE, 32]);
    for (idx, (kernel, stride)) in [(3, 1), (5, 1), (3, 2), (5, 1), (3, 1)]
        .into_iter()
        .enumerate()
    {
        let name = format!("depthwise{idx}");
        x = builder.depthwise_conv2d(&name, x, same(kernel, stride), Activation::Relu);
    }
    x
}

fn matrix_products(builder: &mut NetworkBuilder) -> TensorIdx {
    let tokens = builder.input("tokens", &[1, 64, 64]);
    let query = builder.fully_connected("query", tokens, 64, Activation::None);
    let key = builder.fully_connected("key", tokens, 64, Activation::None);
    let scores = builder.batch_matmul("scores", query, key, true);
    let mixed = builder.batch_matmul("mixed", scores, tokens, false);
    let wide = builder.fully_connected("wide", mixed, 128, Activation::Relu);
    builder.fully_connected("narrow", wide, 64, Activation::None)
}

fn elementwise(builder: &mut NetworkBuilder) -> TensorIdx {
    let x = builder.input("image", &[1, SIDE, SIDE, 16]);
    let curved = builder.hard_swish("hard_swish", x);
    let sum = builder.add("sum", x, curved);
    let gate = builder.logistic("gate", sum);
    let product = builder.mul("product", sum, gate);
    let difference = builder.sub("difference", product, x);
    builder.relu("rectified", difference)
}

fn pooling(builder: &mut NetworkBuilder) -> TensorIdx {
    let x = builder.input("image", &[1, SIDE, SIDE, 32]);
    let x = builder.max_pool2d("max", x, same(3, 1));
    let x = builder.average_pool2d("average", x, same(3, 1));
    let x = builder.max_pool2d("halved", x, same(2, 2));
    let x = builder.average_pool2d("wide", x, same(5, 1));
    builder.mean_of_pixels("mean", x)
}

fn softmax(builder: &mut NetworkBuilder) -> TensorIdx {
    let x = builder.input("scores", &[256, 64]);
    let x = builder.softmax("first", x);
    builder.softmax("second", x)
}

fn movement(builder: &mut NetworkBuilder) -> TensorIdx {
    let x = builder.input("image", &[1, SIDE, SIDE, 16]);
    let padded = builder.pad("padded", x, &[[0, 0], [2, 2], [2, 2], [0, 0]]);
    let cut = builder.slice("cut", padded, &[0, 1, 1, 0], &[1, SIDE, SIDE, 16]);
    let both = builder.concatenation("both", &[x, cut], 3);
    let turned = builder.transpose("turned", both, &[0, 2, 1, 3]);
    let rows = builder.reshape("rows", turned, &[1, SIDE / 2, SIDE * 2, 32]);
    builder.resize_nearest(
        "resized",
        rows,
        [SIDE, SIDE * 2],
        Sampling::HalfPixelCenters,
    )
}

/// A classifier: several classes and the time of an inference.
fn small_network(builder: &mut NetworkBuilder) -> TensorIdx {
    let image = builder.input("image", &[1, 2 * SIDE, 2 * SIDE, 3]);
    let mut x = builder.conv2d("stem", image, 16, same(3, 2), Activation::Relu6);
    for (idx, (stride, filters)) in [(1, 24), (2, 48), (1, 48), (2, 64)].into_iter().enumerate() {
        let window = same(3, stride);
        x = builder.depthwise_conv2d(&format!("depthwise{idx}"), x, window, Activation::Relu6);
        x = builder.conv2d(
            &format!("pointwise{idx}"),
            x,
            filters,
            Window::point(),
            Activation::Relu6,
        );
    }
    let mean = builder.mean_of_pixels("mean", x);
    let logits = builder.fully_connected("logits", mean, 10, Activation::None);
    builder.softmax("probabilities", logits)
}
