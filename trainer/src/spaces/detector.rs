//! Detectors: SSDLite and feature-pyramid heads on an inverted-residual backbone (Liu et al. 2016,
//! Lin et al. 2017), and YOLO-like networks with cross-stage blocks (Redmon et al. 2016, Wang et al.
//! 2020). Boxes come out undecoded, as deployed files for NPUs have it.

use super::Choices;
use super::blocks::InvertedResidual;
use super::layers::{Layers, Nonlinearity, Nonlinearity as N, width};
use crate::writer::{NetworkBuilder, TensorIdx, WriterNetwork};

const SIDES: [i32; 5] = [96, 128, 160, 192, 256];
const WIDTH_PERCENT: [i32; 4] = [25, 35, 50, 75];
const CLASSES: [i32; 4] = [1, 2, 20, 90];
/// Numbers that place a box.
const BOX: i32 = 4;

pub fn ssd(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let percent = layers.choices.pick(&WIDTH_PERCENT);
    let side = layers.choices.pick(&SIDES);
    let image = layers.rgb(side);
    let mut x = layers.conv(image, width(32, percent), 3, 2, N::Relu6);
    let mut maps = Vec::new();
    for channels in [24, 40, 80, 160, 256] {
        x = inverted(x, width(channels, percent), 2, &mut layers);
        for _ in 0..layers.choices.between(0, 2) {
            x = inverted(x, width(channels, percent), 1, &mut layers);
        }
        maps.push(x);
    }
    let mut maps = maps.split_off(layers.choices.between(1, 3));
    if layers.choices.coin() {
        maps = pyramid(&maps, width(128, percent), &mut layers);
    }
    let anchors = layers.choices.pick(&[3, 6]);
    let classes = layers.choices.pick(&CLASSES);
    let boxes = predictions(&maps, anchors, BOX, &mut layers);
    let scores = predictions(&maps, anchors, classes + 1, &mut layers);
    let name = layers.name("scores");
    let scores = layers.builder.logistic(&name, scores);
    layers.finish(&[boxes, scores])
}

fn inverted(x: TensorIdx, channels: i32, stride: i32, layers: &mut Layers) -> TensorIdx {
    let expanded = 4 * layers.channels(x);
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

/// Coarse maps, enlarged and added to finer ones.
fn pyramid(maps: &[TensorIdx], channels: i32, layers: &mut Layers) -> Vec<TensorIdx> {
    let bilinear = layers.choices.coin();
    let mut merged: Vec<TensorIdx> = Vec::new();
    for &map in maps.iter().rev() {
        let mut x = layers.pointwise(map, channels, N::None);
        if let Some(&coarse) = merged.last() {
            let doubled = layers.size(coarse).map(|side| 2 * side);
            if doubled == layers.size(x) {
                let up = layers.upsample(coarse, 2, bilinear);
                x = layers.add(x, up);
            }
        }
        merged.push(layers.separable(x, channels, 3, 1, N::Relu6));
    }
    merged
}

/// One row for each anchor of each pixel of all maps: `[1, rows, values]`.
fn predictions(maps: &[TensorIdx], anchors: i32, values: i32, layers: &mut Layers) -> TensorIdx {
    let mut rows = Vec::new();
    for &map in maps {
        let y = layers.depthwise(map, 3, 1, N::Relu6);
        let y = layers.pointwise(y, anchors * values, N::None);
        rows.push(layers.anchor_rows(y, anchors, values));
    }
    layers.concat_rows(&rows)
}

pub fn yolo(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let n = layers
        .choices
        .pick(&[N::Relu, N::LeakyRelu, N::Swish, N::HardSwish]);
    let percent = layers.choices.pick(&WIDTH_PERCENT);
    let depth = layers.choices.between(1, 2);
    let side = layers.choices.pick(&SIDES);
    let image = layers.rgb(side);
    let mut x = if layers.choices.coin() {
        let focused = layers.builder.focus("focus", image);
        layers.conv(focused, width(32, percent), 3, 1, n)
    } else {
        layers.conv(image, width(32, percent), 3, 2, n)
    };
    let mut maps = Vec::new();
    for channels in [64, 128, 256, 512] {
        x = layers.conv(x, width(channels, percent), 3, 2, n);
        x = cross_stage(x, depth, n, &mut layers);
        maps.push(x);
    }
    x = pooled_context(x, n, &mut layers);
    let outputs_of = layers.choices.between(1, 2);
    let classes = layers.choices.pick(&CLASSES);
    let mut outputs = vec![head(x, classes, &mut layers)];
    for &finer in maps.iter().rev().skip(1).take(outputs_of) {
        let channels = layers.channels(finer);
        let y = layers.pointwise(x, channels, n);
        let up = layers.upsample(y, 2, false);
        let joined = layers.concat(&[finer, up]);
        x = cross_stage(joined, depth, n, &mut layers);
        outputs.push(head(x, classes, &mut layers));
    }
    layers.finish(&outputs)
}

/// One half of the channels runs through residual bottlenecks, the other half past them.
fn cross_stage(
    x: TensorIdx,
    depth: usize,
    nonlinearity: Nonlinearity,
    layers: &mut Layers,
) -> TensorIdx {
    let channels = layers.channels(x);
    let past = layers.pointwise(x, channels / 2, nonlinearity);
    let mut y = layers.pointwise(x, channels / 2, nonlinearity);
    for _ in 0..depth {
        let z = layers.pointwise(y, channels / 2, nonlinearity);
        let z = layers.conv(z, channels / 2, 3, 1, nonlinearity);
        y = layers.add(y, z);
    }
    let joined = layers.concat(&[y, past]);
    layers.pointwise(joined, channels, nonlinearity)
}

/// Spatial pyramid pooling, the fast form: one pool three times over.
fn pooled_context(x: TensorIdx, nonlinearity: Nonlinearity, layers: &mut Layers) -> TensorIdx {
    let channels = layers.channels(x);
    let mut pools = vec![layers.pointwise(x, channels / 2, nonlinearity)];
    for idx in 0..3 {
        pools.push(layers.max_pool(pools[idx], 5, 1));
    }
    let joined = layers.concat(&pools);
    layers.pointwise(joined, channels, nonlinearity)
}

/// Box, objectness and classes of three anchors for each pixel.
fn head(x: TensorIdx, classes: i32, layers: &mut Layers) -> TensorIdx {
    let values = BOX + 1 + classes;
    let scores = layers.pointwise(x, 3 * values, N::None);
    let name = layers.name("scores");
    let shares = layers.builder.logistic(&name, scores);
    layers.anchor_rows(shares, 3, values)
}
