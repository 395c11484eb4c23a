//! CNN-CIFAR10: the nodes of CNN-ImageNet in three blocks on 32×32×3.

use super::Choices;
use super::mobile_cnn::{self, Block, MobileCnn};
use crate::writer::{NetworkBuilder, WriterNetwork};

/// Head and stem are a third of CNN-ImageNet's, as in the paper. A third of the blocks' channels
/// would stay below 2 MB, far from the paper's 18 MB, so these are wider; and nodes have shortcuts
/// too, because fifteen nodes reach the paper's 70 operators only with additions and paddings.
const SPACE: MobileCnn = MobileCnn {
    image_side: 32,
    n_classes: 10,
    stem_channels: &[8, 12, 16],
    stem_stride: 1,
    blocks: &[
        Block {
            channels: [16, 24, 32, 40, 48, 64],
            stride: 1,
        },
        Block {
            channels: [32, 48, 64, 80, 96, 128],
            stride: 2,
        },
        Block {
            channels: [56, 80, 112, 136, 168, 208],
            stride: 2,
        },
    ],
    head_channels: 424,
    least_depth: 1,
    node_shortcuts: true,
};

pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    mobile_cnn::network(&SPACE, choices, builder)
}
