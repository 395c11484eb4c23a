//! Inception V2 (Ioffe and Szegedy 2015), with the channels of its published files
//! (`inception_v2.py` of github tensorflow/models, research/slim).

use litecast::formats::tflite::{Activation, Padding};

use crate::spaces::layers::{Layers, Nonlinearity as N};
use crate::writer::{TensorIdx, Window};

/// Channels of one module's four branches: 1×1; 1×1 and 3×3; 1×1 and two 3×3; pool and 1×1.
struct Module {
    point: i32,
    one: [i32; 2],
    two: [i32; 2],
    pooled: i32,
}

const fn module(point: i32, one: [i32; 2], two: [i32; 2], pooled: i32) -> Module {
    Module {
        point,
        one,
        two,
        pooled,
    }
}

const STAGE_3: [Module; 2] = [
    module(64, [64, 64], [64, 96], 32),
    module(64, [64, 96], [64, 96], 64),
];
const STAGE_4: [Module; 4] = [
    module(224, [64, 96], [96, 128], 128),
    module(192, [96, 128], [96, 128], 128),
    module(160, [128, 160], [128, 160], 96),
    module(96, [128, 192], [160, 192], 96),
];
const STAGE_5: [Module; 2] = [
    module(352, [192, 320], [160, 224], 128),
    module(352, [192, 320], [192, 224], 128),
];

pub fn logits(layers: &mut Layers, image: TensorIdx) -> TensorIdx {
    let window = Window::square(7, 2, Padding::Same);
    let name = layers.name("depthwise");
    let builder = &mut layers.builder;
    let x = builder.depthwise_conv2d_multiplied(&name, image, 8, window, Activation::None);
    let x = layers.pointwise(x, 64, N::Relu);
    let x = layers.max_pool(x, 3, 2);
    let x = layers.pointwise(x, 64, N::Relu);
    let x = layers.conv(x, 192, 3, 1, N::Relu);
    let mut x = layers.max_pool(x, 3, 2);
    x = STAGE_3.iter().fold(x, |x, module| module.build(layers, x));
    x = reduction(layers, x, [128, 160], [64, 96]);
    x = STAGE_4.iter().fold(x, |x, module| module.build(layers, x));
    x = reduction(layers, x, [128, 192], [192, 256]);
    x = STAGE_5.iter().fold(x, |x, module| module.build(layers, x));
    layers.classify(x, 1001)
}

impl Module {
    fn build(&self, layers: &mut Layers, x: TensorIdx) -> TensorIdx {
        let point = layers.pointwise(x, self.point, N::Relu);
        let one = layers.pointwise(x, self.one[0], N::Relu);
        let one = layers.conv(one, self.one[1], 3, 1, N::Relu);
        let two = layers.pointwise(x, self.two[0], N::Relu);
        let two = layers.conv(two, self.two[1], 3, 1, N::Relu);
        let two = layers.conv(two, self.two[1], 3, 1, N::Relu);
        let pooled = layers.average_pool(x, 3, 1);
        let pooled = layers.pointwise(pooled, self.pooled, N::Relu);
        layers.concat(&[point, one, two, pooled])
    }
}

/// Half the height and width, by a 3×3, two 3×3 and a pool.
fn reduction(layers: &mut Layers, x: TensorIdx, one: [i32; 2], two: [i32; 2]) -> TensorIdx {
    let short = layers.pointwise(x, one[0], N::Relu);
    let short = layers.conv(short, one[1], 3, 2, N::Relu);
    let long = layers.pointwise(x, two[0], N::Relu);
    let long = layers.conv(long, two[1], 3, 1, N::Relu);
    let long = layers.conv(long, two[1], 3, 2, N::Relu);
    let pooled = layers.max_pool(x, 3, 2);
    layers.concat(&[short, long, pooled])
}
