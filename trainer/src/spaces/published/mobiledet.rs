//! MobileDet (Xiong et al. 2021): the backbone that was searched for processors, with the layers that TensorFlow's object
//! detection API gives it.

use super::mobile::Features;
use crate::spaces::layers::{Layers, Nonlinearity as N, width};
use crate::writer::TensorIdx;

/// Channels, kernel, expansion, stride, whether there is a shortcut.
type Block = (i32, i32, i32, i32, bool);

#[rustfmt::skip]
const TO_A_SIXTEENTH: [Block; 13] = [
    (16, 3, 4, 2, false),
    (32, 3, 8, 2, false), (32, 3, 4, 1, true), (32, 3, 4, 1, true), (32, 3, 4, 1, true),
    (72, 5, 8, 2, false), (72, 3, 8, 1, true), (72, 5, 4, 1, true), (72, 3, 4, 1, true),
    (72, 3, 8, 1, false), (72, 3, 8, 1, true), (72, 3, 8, 1, true), (72, 3, 8, 1, true),
];
#[rustfmt::skip]
const TO_A_THIRTY_SECOND: [Block; 5] = [
    (104, 5, 8, 2, false), (104, 5, 4, 1, true), (104, 5, 4, 1, true), (104, 3, 4, 1, true),
    (144, 3, 8, 1, false),
];

/// MobileDet-CPU's feature maps.
pub fn features_of_cpu(layers: &mut Layers, image: TensorIdx) -> Features {
    let x = layers.conv(image, 16, 3, 2, N::HardSwish);
    let x = excited_depthwise(layers, x, 3, 1);
    let mut x = layers.pointwise(x, 8, N::None);
    for settings in TO_A_SIXTEENTH {
        x = block(layers, x, settings);
    }
    let widened = x;
    for settings in TO_A_THIRTY_SECOND {
        x = block(layers, x, settings);
    }
    Features { widened, last: x }
}

fn block(
    layers: &mut Layers,
    x: TensorIdx,
    (channels, kernel, expansion, stride, has_shortcut): Block,
) -> TensorIdx {
    let expanded = layers.channels(x) * expansion;
    let y = layers.pointwise(x, expanded, N::HardSwish);
    let y = excited_depthwise(layers, y, kernel, stride);
    let y = layers.pointwise(y, channels, N::None);
    if has_shortcut { layers.add(y, x) } else { y }
}

/// A depthwise convolution, and a squeeze to a quarter of its channels.
fn excited_depthwise(layers: &mut Layers, x: TensorIdx, kernel: i32, stride: i32) -> TensorIdx {
    let y = layers.depthwise(x, kernel, stride, N::HardSwish);
    let squeezed = width(layers.channels(y), 25);
    layers.squeeze_excite(y, squeezed, false)
}
