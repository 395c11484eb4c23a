//! Detectors of TensorFlow's object detection API: SSD (Liu et al. 2016), and SSDLite with separable convolutions
//! (Sandler et al. 2018, section 6.2). Boxes and scores of all anchors are `[1, anchors, 4]` and `[1, anchors, 91]`.

use super::mobile::Features;
use crate::spaces::layers::{Layers, Nonlinearity as N};
use crate::writer::TensorIdx;

/// 90 classes and the background.
pub const CLASSES: i32 = 91;
pub const BOX: i32 = 4;
/// Channels before and after the stride of the four levels behind the backbone.
const FURTHER_LEVELS: [[i32; 2]; 4] = [[256, 512], [128, 256], [128, 256], [64, 128]];

/// The convolutions behind the backbone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Head {
    Full,
    Separable,
}

/// Boxes and scores before boxes are decoded.
pub fn outputs(layers: &mut Layers, features: Features, head: Head) -> Vec<TensorIdx> {
    let mut levels = vec![features.widened, features.last];
    let mut x = features.last;
    for [narrow, wide] in FURTHER_LEVELS {
        let y = layers.pointwise(x, narrow, N::Relu6);
        x = match head {
            Head::Full => layers.conv(y, wide, 3, 2, N::Relu6),
            Head::Separable => layers.separable(y, wide, 3, 2, N::Relu6),
        };
        levels.push(x);
    }
    [BOX, CLASSES]
        .map(|values| predictions(layers, &levels, values, head))
        .into()
}

fn predictions(layers: &mut Layers, levels: &[TensorIdx], values: i32, head: Head) -> TensorIdx {
    let mut rows = Vec::new();
    for (level, &x) in levels.iter().enumerate() {
        let n_anchors = if level == 0 { 3 } else { 6 };
        let y = match head {
            Head::Full => layers.conv(x, n_anchors * values, 3, 1, N::None),
            Head::Separable => {
                let y = layers.depthwise(x, 3, 1, N::Relu6);
                layers.pointwise(y, n_anchors * values, N::None)
            }
        };
        rows.push(layers.anchor_rows(y, n_anchors, values));
    }
    layers.concat_rows(&rows)
}
