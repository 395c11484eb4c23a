//! SSD with a feature pyramid (Lin et al. 2017) of 256 channels and heads of four convolutions, as TensorFlow's object
//! detection API gives the models `ssd_*_fpn_shared_box_predictor_640x640_coco`.

use super::ssd::{BOX, CLASSES};
use crate::spaces::layers::{Layers, Nonlinearity as N};
use crate::writer::TensorIdx;

const CHANNELS: i32 = 256;
const HEAD_LAYERS: usize = 4;
/// Two scales of three aspect ratios.
const ANCHORS: i32 = 6;

/// Boxes and scores before boxes are decoded. `backbone`: feature maps at an eighth, a sixteenth and a thirty-second of
/// the image's side.
pub fn outputs(layers: &mut Layers, backbone: [TensorIdx; 3]) -> Vec<TensorIdx> {
    let levels = pyramid(layers, backbone);
    // Levels share the weights of their convolutions, but not the batch norms that are folded into them.
    [BOX, CLASSES]
        .map(|values| {
            let rows: Vec<TensorIdx> = (levels.iter())
                .map(|&level| predictions(layers, level, values))
                .collect();
            layers.concat_rows(&rows)
        })
        .into()
}

/// Levels 3 to 7.
fn pyramid(layers: &mut Layers, [fine, middle, coarse]: [TensorIdx; 3]) -> Vec<TensorIdx> {
    let mut sum = layers.pointwise(coarse, CHANNELS, N::None);
    let mut levels = vec![sum];
    for finer in [middle, fine] {
        let enlarged = layers.upsample(sum, 2, false);
        let narrowed = layers.pointwise(finer, CHANNELS, N::None);
        sum = layers.add(enlarged, narrowed);
        levels.insert(0, layers.conv(sum, CHANNELS, 3, 1, N::Relu6));
    }
    for _ in 0..2 {
        let coarsest = levels[levels.len() - 1];
        levels.push(layers.conv(coarsest, CHANNELS, 3, 2, N::Relu6));
    }
    levels
}

fn predictions(layers: &mut Layers, mut x: TensorIdx, values: i32) -> TensorIdx {
    for _ in 0..HEAD_LAYERS {
        x = layers.conv(x, CHANNELS, 3, 1, N::Relu6);
    }
    let y = layers.conv(x, ANCHORS * values, 3, 1, N::None);
    layers.anchor_rows(y, ANCHORS, values)
}
