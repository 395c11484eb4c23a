//! ResNet (He et al. 2015) and ResNeXt (Xie et al. 2017): residual blocks of plain or grouped
//! convolutions, with a 1×1 convolution in the shortcut where the shape changes.

use super::Choices;
use super::layers::{Layers, Nonlinearity, Nonlinearity as N, width};
use crate::writer::{NetworkBuilder, TensorIdx, WriterNetwork};

const SIDES: [i32; 6] = [32, 64, 96, 128, 160, 224];
const WIDTH_PERCENT: [i32; 4] = [25, 50, 75, 100];

/// The choices that all blocks share.
struct Block {
    /// Two 1×1 convolutions around the 3×3 one, rather than two 3×3 ones.
    bottleneck: bool,
    /// Of the 3×3 convolution.
    groups: i32,
    /// Groups as one CONV_2D, rather than as SPLIT, one CONV_2D each and CONCATENATION.
    grouped_operator: bool,
    nonlinearity: Nonlinearity,
}

pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let block = Block {
        bottleneck: choices.coin(),
        groups: 1,
        grouped_operator: false,
        nonlinearity: choices.pick(&[N::Relu, N::Relu, N::Relu, N::LeakyRelu, N::Prelu, N::Elu]),
    };
    stack(&block, choices, builder)
}

pub fn resnext(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let block = Block {
        bottleneck: true,
        groups: choices.pick(&[2, 4, 8, 16]),
        grouped_operator: choices.coin(),
        nonlinearity: N::Relu,
    };
    stack(&block, choices, builder)
}

fn stack(block: &Block, choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let mut layers = Layers::new(choices, builder);
    let percent = layers.choices.pick(&WIDTH_PERCENT);
    let side = layers.choices.pick(&SIDES);
    let image = layers.rgb(side);
    let mut x = if side <= 64 {
        layers.conv(image, width(64, percent), 3, 1, block.nonlinearity)
    } else {
        let stem = layers.conv(image, width(64, percent), 7, 2, block.nonlinearity);
        layers.max_pool(stem, 3, 2)
    };
    let n_stages = layers.choices.between(2, 4);
    for (stage, base) in [64, 128, 256, 512].into_iter().take(n_stages).enumerate() {
        let channels = width(base, percent);
        for idx in 0..layers.choices.between(1, 3) {
            let stride = if idx == 0 && stage > 0 { 2 } else { 1 };
            x = block.build(x, channels, stride, &mut layers);
        }
    }
    let classes = layers.choices.pick(&[10, 100, 1000]);
    let logits = layers.classify(x, classes);
    layers.finish(&[logits])
}

impl Block {
    fn build(&self, x: TensorIdx, channels: i32, stride: i32, layers: &mut Layers) -> TensorIdx {
        let n = self.nonlinearity;
        let output = if self.bottleneck {
            4 * channels
        } else {
            channels
        };
        let mut y = x;
        if self.bottleneck {
            y = layers.pointwise(y, channels, n);
            y = self.grouped(y, channels, stride, layers);
            y = layers.pointwise(y, output, N::None);
        } else {
            y = layers.conv(y, channels, 3, stride, n);
            y = layers.conv(y, output, 3, 1, N::None);
        }
        let shortcut = if stride == 1 && layers.channels(x) == output {
            x
        } else {
            layers.conv(x, output, 1, stride, N::None)
        };
        if n == N::Relu {
            return layers.add_relu(shortcut, y);
        }
        let sum = layers.add(shortcut, y);
        layers.nonlinear(sum, n)
    }

    fn grouped(&self, x: TensorIdx, channels: i32, stride: i32, layers: &mut Layers) -> TensorIdx {
        let groups = self.groups.min(channels / 4);
        if groups <= 1 {
            return layers.conv(x, channels, 3, stride, self.nonlinearity);
        }
        if self.grouped_operator {
            return layers.grouped_conv(x, channels, stride, groups, self.nonlinearity);
        }
        let name = layers.name("split");
        let parts = layers.builder.split(&name, x, 3, groups as usize);
        let convolved: Vec<_> = parts
            .into_iter()
            .map(|part| layers.conv(part, channels / groups, 3, stride, self.nonlinearity))
            .collect();
        layers.concat(&convolved)
    }
}
