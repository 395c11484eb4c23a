//! SSDLite on MobileNet V2 (Sandler et al. 2018, section 6.2), by the layers that TensorFlow's object detection API
//! gives the model `ssdlite_mobilenet_v2_coco`.

use super::mobile::{MobileNetV2, mobilenet_v2_features};
use crate::spaces::layers::{Layers, Nonlinearity as N};
use crate::writer::TensorIdx;

/// 90 classes and the background.
const CLASSES: i32 = 91;
const BOX: i32 = 4;
/// Channels before and after the stride of the four levels behind the backbone.
const FURTHER_LEVELS: [[i32; 2]; 4] = [[256, 512], [128, 256], [128, 256], [64, 128]];

/// Boxes and scores of all anchors, before boxes are decoded: `[1, anchors, 4]` and `[1, anchors, 91]`.
pub fn outputs(layers: &mut Layers, image: TensorIdx) -> Vec<TensorIdx> {
    let MobileNetV2 { widened, last } = mobilenet_v2_features(layers, image);
    let mut levels = vec![widened, last];
    let mut x = last;
    for [narrow, wide] in FURTHER_LEVELS {
        let y = layers.pointwise(x, narrow, N::Relu6);
        x = layers.separable(y, wide, 3, 2, N::Relu6);
        levels.push(x);
    }
    [BOX, CLASSES]
        .map(|values| predictions(layers, &levels, values))
        .into()
}

fn predictions(layers: &mut Layers, levels: &[TensorIdx], values: i32) -> TensorIdx {
    let mut rows = Vec::new();
    for (level, &x) in levels.iter().enumerate() {
        let n_anchors = if level == 0 { 3 } else { 6 };
        let y = layers.depthwise(x, 3, 1, N::Relu6);
        let y = layers.pointwise(y, n_anchors * values, N::None);
        let [height, width] = layers.size(y);
        rows.push(layers.reshape(y, &[1, height * width * n_anchors, values]));
    }
    layers.concat_rows(&rows)
}
