//! EfficientDet-Lite (Tan, Pang and Le 2020; the Lite variants of github google/automl): a backbone
//! without squeeze-and-excite, weightless BiFPN cells, and heads that all levels share.

use crate::spaces::blocks::InvertedResidual;
use crate::spaces::layers::{Layers, Nonlinearity as N};
use crate::writer::{Sampling, TensorIdx};

/// One size of the family.
pub struct Lite {
    /// Height and width of the input.
    pub side: i32,
    /// Of the backbone's stages, after rounding to multiples of 8.
    channels: [i32; 7],
    layers: [usize; 7],
    /// Channels of the feature pyramid and the heads.
    pyramid_channels: i32,
    n_cells: usize,
    /// Separable convolutions of a head before the one that predicts.
    head_layers: usize,
}

/// On EfficientNet-Lite0 to -Lite4, whose widths are 1.0, 1.0, 1.1, 1.2 and 1.4 and whose depths are 1.0, 1.1, 1.2, 1.4
/// and 1.8.
pub const LITE: [Lite; 5] = [
    Lite {
        side: 320,
        channels: [16, 24, 40, 80, 112, 192, 320],
        layers: [1, 2, 2, 3, 3, 4, 1],
        pyramid_channels: 64,
        n_cells: 3,
        head_layers: 3,
    },
    Lite {
        side: 384,
        channels: [16, 24, 40, 80, 112, 192, 320],
        layers: [1, 3, 3, 4, 4, 5, 1],
        pyramid_channels: 88,
        n_cells: 4,
        head_layers: 3,
    },
    Lite {
        side: 448,
        channels: [16, 24, 48, 88, 120, 208, 352],
        layers: [1, 3, 3, 4, 4, 5, 1],
        pyramid_channels: 112,
        n_cells: 5,
        head_layers: 3,
    },
    Lite {
        side: 512,
        channels: [24, 32, 48, 96, 136, 232, 384],
        layers: [1, 3, 3, 5, 5, 6, 1],
        pyramid_channels: 160,
        n_cells: 6,
        head_layers: 4,
    },
    Lite {
        side: 640,
        channels: [24, 32, 56, 112, 160, 272, 448],
        layers: [1, 4, 4, 6, 6, 8, 1],
        pyramid_channels: 224,
        n_cells: 7,
        head_layers: 4,
    },
];

/// Kernel, stride of the first layer, expansion of each stage.
const STAGES: [(i32, i32, i32); 7] = [
    (3, 1, 1),
    (3, 2, 6),
    (5, 2, 6),
    (3, 2, 6),
    (5, 1, 6),
    (5, 2, 6),
    (3, 1, 6),
];
/// Stages whose outputs are the pyramid's levels 3, 4 and 5.
const LEVEL_STAGES: [usize; 3] = [2, 4, 6];
const N_LEVELS: usize = 5;
/// Three scales of three aspect ratios.
const ANCHORS: i32 = 9;
const CLASSES: i32 = 90;
const BOX: i32 = 4;

/// Boxes and scores of all anchors, before boxes are decoded: `[1, anchors, 4]` and `[1, anchors, 90]`, the scores before
/// LOGISTIC.
pub fn outputs(layers: &mut Layers, image: TensorIdx, size: &Lite) -> Vec<TensorIdx> {
    let backbone = backbone(size, image, layers);
    let levels = pyramid(size, &backbone, layers);
    [BOX, CLASSES]
        .map(|values| head(size, &levels, values, layers))
        .into()
}

fn backbone(size: &Lite, image: TensorIdx, layers: &mut Layers) -> Vec<TensorIdx> {
    let mut x = layers.conv(image, 32, 3, 2, N::Relu6);
    let mut levels = Vec::new();
    for (stage, (kernel, stride, expansion)) in STAGES.into_iter().enumerate() {
        for layer in 0..size.layers[stage] {
            let block = InvertedResidual {
                channels: size.channels[stage],
                expanded: layers.channels(x) * expansion,
                kernel,
                stride: if layer == 0 { stride } else { 1 },
                nonlinearity: N::Relu6,
                squeezed: None,
            };
            x = layers.inverted_residual(x, block);
        }
        if LEVEL_STAGES.contains(&stage) {
            levels.push(x);
        }
    }
    levels
}

/// Levels 3 to 7.
fn pyramid(size: &Lite, backbone: &[TensorIdx], layers: &mut Layers) -> Vec<TensorIdx> {
    let mut levels = backbone.to_vec();
    let coarsest = levels[levels.len() - 1];
    let narrowed = layers.pointwise(coarsest, size.pyramid_channels, N::None);
    levels.push(layers.max_pool(narrowed, 3, 2));
    levels.push(layers.max_pool(levels[levels.len() - 1], 3, 2));
    for _ in 0..size.n_cells {
        levels = cell(size.pyramid_channels, &levels, layers);
    }
    levels
}

/// From coarse to fine and back. Every edge narrows its own copy of a wider level.
fn cell(channels: i32, levels: &[TensorIdx], layers: &mut Layers) -> Vec<TensorIdx> {
    let mut down = levels.to_vec();
    for level in (0..N_LEVELS - 1).rev() {
        let finer = narrow(channels, levels[level], layers);
        let coarser = narrow(channels, down[level + 1], layers);
        let size = layers.size(finer);
        let name = layers.name("resize");
        let enlarged = (layers.builder).resize_nearest(&name, coarser, size, Sampling::Plain);
        down[level] = fuse(channels, &[finer, enlarged], layers);
    }
    let mut up = down.clone();
    for level in 1..N_LEVELS {
        let shrunk = layers.max_pool(up[level - 1], 3, 2);
        let input = narrow(channels, levels[level], layers);
        up[level] = if level == N_LEVELS - 1 {
            fuse(channels, &[input, shrunk], layers)
        } else {
            fuse(channels, &[input, down[level], shrunk], layers)
        };
    }
    up
}

fn narrow(channels: i32, x: TensorIdx, layers: &mut Layers) -> TensorIdx {
    if layers.channels(x) == channels {
        x
    } else {
        layers.pointwise(x, channels, N::None)
    }
}

fn fuse(channels: i32, inputs: &[TensorIdx], layers: &mut Layers) -> TensorIdx {
    let (&last, others) = inputs.split_last().expect("a node has inputs");
    let first = others[0];
    let sum = others[1..].iter().fold(first, |sum, &x| layers.add(sum, x));
    // RELU6 costs what the RELU costs that the writer fuses.
    let active = layers.add_relu(sum, last);
    layers.separable(active, channels, 3, 1, N::None)
}

/// One row for each anchor of each pixel of all levels: `[1, rows, values]`.
fn head(size: &Lite, levels: &[TensorIdx], values: i32, layers: &mut Layers) -> TensorIdx {
    let mut rows = Vec::new();
    for &level in levels {
        let mut x = level;
        for _ in 0..size.head_layers {
            let y = layers.depthwise(x, 3, 1, N::None);
            x = layers.pointwise(y, size.pyramid_channels, N::Relu6);
        }
        let y = layers.depthwise(x, 3, 1, N::None);
        let y = layers.pointwise(y, ANCHORS * values, N::None);
        rows.push(layers.anchor_rows(y, ANCHORS, values));
    }
    layers.concat_rows(&rows)
}
