//! YOLOX (Ge et al. 2021): a backbone of cross-stage blocks, a path aggregation pyramid, and heads of their own for
//! classes and boxes.

use crate::spaces::layers::{Layers, Nonlinearity as N};
use crate::writer::TensorIdx;

const CLASSES: i32 = 80;

/// One size of the family.
pub struct Size {
    /// Of the stem; the other layers have multiples of it.
    channels: i32,
    /// Whether 3×3 convolutions are separable.
    is_separable: bool,
}

pub const NANO: Size = Size {
    channels: 16,
    is_separable: true,
};
pub const TINY: Size = Size {
    channels: 24,
    is_separable: false,
};

/// One row for each pixel of three levels, before boxes are decoded: `[1, rows, 85]`.
pub fn outputs(layers: &mut Layers, image: TensorIdx, size: &Size) -> Vec<TensorIdx> {
    let mut model = Model { layers, size };
    let backbone = model.backbone(image);
    let levels = model.pyramid(backbone);
    let rows: Vec<TensorIdx> = levels.into_iter().map(|level| model.head(level)).collect();
    vec![model.layers.concat_rows(&rows)]
}

struct Model<'l, 'c> {
    layers: &'l mut Layers<'c>,
    size: &'l Size,
}

impl Model<'_, '_> {
    fn conv(&mut self, x: TensorIdx, channels: i32, stride: i32) -> TensorIdx {
        if self.size.is_separable {
            self.layers.separable(x, channels, 3, stride, N::Swish)
        } else {
            self.layers.conv(x, channels, 3, stride, N::Swish)
        }
    }

    fn pointwise(&mut self, x: TensorIdx, channels: i32) -> TensorIdx {
        self.layers.pointwise(x, channels, N::Swish)
    }

    /// Feature maps at an eighth, a sixteenth and a thirty-second of the image's side.
    fn backbone(&mut self, image: TensorIdx) -> [TensorIdx; 3] {
        let base = self.size.channels;
        let name = self.layers.name("focus");
        let phases = self.layers.builder.focus(&name, image);
        let mut x = self.layers.conv(phases, base, 3, 1, N::Swish);
        x = self.conv(x, 2 * base, 2);
        x = self.stage(x, 2 * base, 1, true);
        x = self.conv(x, 4 * base, 2);
        let fine = self.stage(x, 4 * base, 3, true);
        x = self.conv(fine, 8 * base, 2);
        let middle = self.stage(x, 8 * base, 3, true);
        x = self.conv(middle, 16 * base, 2);
        x = self.pooled(x);
        [fine, middle, self.stage(x, 16 * base, 1, false)]
    }

    /// The cross-stage block: half of the channels take the long way.
    fn stage(&mut self, x: TensorIdx, channels: i32, n_blocks: usize, skips: bool) -> TensorIdx {
        let half = channels / 2;
        let mut long = self.pointwise(x, half);
        let short = self.pointwise(x, half);
        for _ in 0..n_blocks {
            let y = self.pointwise(long, half);
            let y = self.conv(y, half, 1);
            long = if skips { self.layers.add(y, long) } else { y };
        }
        let both = self.layers.concat(&[long, short]);
        self.pointwise(both, channels)
    }

    /// Spatial pyramid pooling.
    fn pooled(&mut self, x: TensorIdx) -> TensorIdx {
        let channels = self.layers.channels(x);
        let y = self.pointwise(x, channels / 2);
        let mut all = vec![y];
        for kernel in [5, 9, 13] {
            all.push(self.layers.max_pool(y, kernel, 1));
        }
        let all = self.layers.concat(&all);
        self.pointwise(all, channels)
    }

    /// From coarse to fine and back.
    fn pyramid(&mut self, [fine, middle, coarse]: [TensorIdx; 3]) -> [TensorIdx; 3] {
        let base = self.size.channels;
        let narrow_coarse = self.pointwise(coarse, 8 * base);
        let joined = self.joined_below(narrow_coarse, middle);
        let middle = self.stage(joined, 8 * base, 1, false);
        let narrow_middle = self.pointwise(middle, 4 * base);
        let joined = self.joined_below(narrow_middle, fine);
        let fine = self.stage(joined, 4 * base, 1, false);
        let shrunk = self.conv(fine, 4 * base, 2);
        let joined = self.layers.concat(&[shrunk, narrow_middle]);
        let middle = self.stage(joined, 8 * base, 1, false);
        let shrunk = self.conv(middle, 8 * base, 2);
        let joined = self.layers.concat(&[shrunk, narrow_coarse]);
        [fine, middle, self.stage(joined, 16 * base, 1, false)]
    }

    fn joined_below(&mut self, coarse: TensorIdx, finer: TensorIdx) -> TensorIdx {
        let enlarged = self.layers.upsample(coarse, 2, false);
        self.layers.concat(&[enlarged, finer])
    }

    fn head(&mut self, level: TensorIdx) -> TensorIdx {
        let channels = 4 * self.size.channels;
        let stem = self.pointwise(level, channels);
        let [of_classes, of_boxes] = [0, 1].map(|_| {
            let y = self.conv(stem, channels, 1);
            self.conv(y, channels, 1)
        });
        let classes = self.layers.pointwise(of_classes, CLASSES, N::None);
        let boxes = self.layers.pointwise(of_boxes, 4, N::None);
        let objectness = self.layers.pointwise(of_boxes, 1, N::None);
        let [objectness, classes] = [objectness, classes].map(|scores| {
            let name = self.layers.name("scores");
            self.layers.builder.logistic(&name, scores)
        });
        let all = self.layers.concat(&[boxes, objectness, classes]);
        self.layers.anchor_rows(all, 1, 4 + 1 + CLASSES)
    }
}
