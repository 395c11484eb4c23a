//! CNN-ImageNet: six blocks of five nodes on 224×224×3, after EfficientNet-EdgeTPU.

use super::Choices;
use super::mobile_cnn::{self, Block, MobileCnn};
use crate::writer::{NetworkBuilder, WriterNetwork};

/// Channel options are half to twice of a middle width; strides are those of EfficientNet-EdgeTPU.
const SPACE: MobileCnn = MobileCnn {
    image_side: 224,
    n_classes: 1000,
    stem_channels: &[16, 24, 32],
    stem_stride: 2,
    blocks: &[
        Block {
            channels: [12, 16, 24, 28, 36, 48],
            stride: 1,
        },
        Block {
            channels: [16, 24, 32, 40, 48, 64],
            stride: 2,
        },
        Block {
            channels: [24, 36, 48, 60, 72, 96],
            stride: 2,
        },
        Block {
            channels: [36, 56, 72, 88, 108, 144],
            stride: 2,
        },
        Block {
            channels: [48, 72, 96, 120, 144, 192],
            stride: 1,
        },
        Block {
            channels: [56, 80, 112, 136, 168, 216],
            stride: 2,
        },
    ],
    head_channels: 1280,
    least_depth: 0,
    node_shortcuts: false,
};

pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    mobile_cnn::network(&SPACE, choices, builder)
}
