//! Convolutions and pooling: layers whose windows move over an image.

use super::super::message::Attribute::{self, Integer, Integers, Text};
use super::super::network::Blob;
use super::{ABSENT, Converter, SAME_LOWER, SAME_UPPER, product, rounded_up};

/// The parameters that convolutions have in common, by side from the outermost.
struct Window {
    n_out: i64,
    n_weights: i64,
    n_groups: i64,
    kernel: Vec<i64>,
    strides: Vec<i64>,
    dilations: Vec<i64>,
    /// Before all sides, then behind them.
    pads: Vec<i64>,
}

impl Window {
    /// Padding of one side, before and behind together.
    fn padding(&self, at: usize) -> Option<i64> {
        let behind = at.checked_add(self.kernel.len())?;
        self.pads.get(at)?.checked_add(*self.pads.get(behind)?)
    }

    /// Values of one side between the first and the last one that the window reads.
    fn reach(&self, at: usize) -> Option<i64> {
        let steps = self.kernel.get(at)?.checked_sub(1)?;
        steps.checked_mul(*self.dilations.get(at)?)
    }

    /// Positions of the window on a side of this size.
    fn n_positions(&self, at: usize, size: i64, is_rounded_up: bool) -> Option<i64> {
        let stride = *self.strides.get(at)?;
        if is_rounded_up {
            return rounded_up(size, stride);
        }
        let extent = self.reach(at)?.checked_add(1)?;
        let free = size.checked_add(self.padding(at)?)?.checked_sub(extent)?;
        free.checked_div(stride)?.checked_add(1)
    }
}

impl Converter<'_, '_> {
    /// The window of a convolution or deconvolution.
    fn window(&self, n_sides: usize) -> Window {
        let layer = self.layer;
        Window {
            n_out: layer.whole(0, 0),
            n_weights: layer.whole(6, 0),
            n_groups: if layer.kind.contains("DepthWise") {
                layer.whole(7, 1)
            } else {
                1
            },
            kernel: self.by_side([21, 11, 1], n_sides, 0),
            strides: self.by_side([23, 13, 3], n_sides, 1),
            dilations: self.by_side([22, 12, 2], n_sides, 1),
            pads: self.paddings([24, 14, 4], [17, 16, 15], n_sides),
        }
    }

    /// A node with weights, and with a bias where the layer has one.
    fn node_with_weights(
        &mut self,
        op_type: &str,
        [source, weights]: [&str; 2],
        n_out: i64,
        attributes: &[(&str, Attribute)],
    ) -> String {
        let bias = (self.layer.whole(5, 0) != 0).then(|| self.weights(&[n_out]));
        let mut inputs = vec![source, weights];
        inputs.extend(bias.as_deref());
        self.node(op_type, &inputs, attributes)
    }

    pub(super) fn convolution(&mut self, x: &Blob, n_sides: usize) -> Option<Blob> {
        let layer = self.layer;
        let window = self.window(n_sides);
        let (n_out, kernel) = (window.n_out, &window.kernel);
        if layer.whole(19, 0) != 0 || layer.n_inputs != 1 {
            // Weights that are computed.
            return None;
        }
        if x.rank() == Some(1) {
            // Every value is a channel of its own.
            (kernel.iter().all(|&side| side == 1) && window.n_groups == 1).then_some(())?;
            let blob = self.inner_product(x, n_out, window.n_weights, 5)?;
            return self.activated(blob);
        }
        let n_in = (window.n_weights).checked_div(product(&[n_out, product(kernel)?])?)?;
        (n_in > 0 && window.n_groups > 0).then_some(())?;
        let auto = match window.pads.first() {
            Some(&SAME_UPPER) => Some("SAME_UPPER"),
            Some(&SAME_LOWER) => Some("SAME_LOWER"),
            _ => None,
        };
        let attributes = [
            ("kernel_shape", Integers(kernel)),
            ("strides", Integers(&window.strides)),
            ("dilations", Integers(&window.dilations)),
            ("group", Integer(window.n_groups)),
            match auto {
                Some(auto) => ("auto_pad", Text(auto)),
                None => ("pads", Integers(&window.pads)),
            },
        ];
        let source = self.through_int8(x.value.clone());
        let weights = self.stored_weights(&[&[n_out, n_in], &**kernel].concat());
        let value = self.node_with_weights("Conv", [&source, &weights], n_out, &attributes);
        let mut sides = vec![n_out];
        for at in 0..n_sides {
            let size = x.side(at.saturating_add(1));
            let side = size.and_then(|size| window.n_positions(at, size, auto.is_some()));
            sides.push(side.unwrap_or(0));
        }
        let blob = self.activated(Blob::new(value, Some(sides)))?;
        Some(Blob {
            value: self.through_int8(blob.value),
            sides: blob.sides,
        })
    }

    pub(super) fn deconvolution(&mut self, x: &Blob, n_sides: usize) -> Option<Blob> {
        let layer = self.layer;
        let window = self.window(n_sides);
        let (n_out, kernel) = (window.n_out, &window.kernel);
        let n_out_by_group = n_out.checked_div(window.n_groups)?;
        let n_by_input = product(&[n_out_by_group, product(kernel)?])?;
        let n_in = window.n_weights.checked_div(n_by_input)?;
        (n_in > 0 && layer.whole(20, 0) == 0 && layer.n_inputs == 1).then_some(())?;
        let further = self.by_side([0, 19, 18], n_sides, 0);
        let weights = self.weights(&[&[n_in, n_out_by_group], &**kernel].concat());
        let attributes = [
            ("kernel_shape", Integers(kernel)),
            ("strides", Integers(&window.strides)),
            ("dilations", Integers(&window.dilations)),
            ("pads", Integers(&window.pads)),
            ("output_padding", Integers(&further)),
            ("group", Integer(window.n_groups)),
        ];
        let value =
            self.node_with_weights("ConvTranspose", [&x.value, &weights], n_out, &attributes);
        let mut sides = vec![n_out];
        for at in 0..n_sides {
            let side = || {
                let steps = x.side(at.checked_add(1)?)?.checked_sub(1)?;
                let start = steps.checked_mul(*window.strides.get(at)?)?;
                let end = start.checked_add(window.reach(at)?)?.checked_add(1)?;
                end.checked_add(*further.get(at)?)?
                    .checked_sub(window.padding(at)?)
            };
            sides.push(side().unwrap_or(0));
        }
        self.activated(Blob::new(value, Some(sides)))
    }

    pub(super) fn pooling(&mut self, x: &Blob, n_sides: usize) -> Option<Blob> {
        let layer = self.layer;
        let is_max = layer.whole(0, 0) == 0;
        let channels = x.side(0).unwrap_or(0);
        let (global, windows) = if is_max {
            ("GlobalMaxPool", "MaxPool")
        } else {
            ("GlobalAveragePool", "AveragePool")
        };
        if layer.whole(4, 0) != 0 {
            let value = self.node(global, &[&x.value], &[]);
            let value = self.node("Flatten", &[&value], &[("axis", Integer(1))]);
            return Some(Blob::new(value, Some(vec![channels])));
        }
        let sizes: Vec<Option<i64>> = (0..n_sides)
            .map(|at| x.side(at.saturating_add(1)))
            .collect();
        if layer.whole(7, 0) != 0 {
            return self.adaptive_pooling(x, channels, &sizes, [global, windows]);
        }
        let kernel = self.by_side([21, 11, 1], n_sides, 0);
        let strides = self.by_side([22, 12, 2], n_sides, 1);
        let mut pads = self.paddings([23, 13, 3], [16, 15, 14], n_sides);
        let mode = layer.whole(5, 0);
        let mut sides = vec![channels];
        for (at, size) in sizes.into_iter().enumerate() {
            let (stride, kernel) = (*strides.get(at)?, *kernel.get(at)?);
            let mut out = || {
                let size = size?;
                if mode == 2 || mode == 3 {
                    return rounded_up(size, stride);
                }
                let end = at.checked_add(n_sides)?;
                let before = *pads.get(at)?;
                let behind = pads.get_mut(end)?;
                let padded = size.checked_add(before)?.checked_add(*behind)?;
                let free = padded.checked_sub(kernel)?;
                let rest = free.checked_rem(stride)?;
                // Windows that do not end with the input get padding behind.
                if mode == 0 && rest > 0 {
                    *behind = behind.checked_add(stride)?.checked_sub(rest)?;
                    return free.checked_div(stride)?.checked_add(2);
                }
                free.checked_div(stride)?.checked_add(1)
            };
            sides.push(out().unwrap_or(0));
        }
        let is_open = sides.iter().skip(1).any(|&side| side == 0);
        let mut attributes = vec![
            ("kernel_shape", Integers(&kernel)),
            ("strides", Integers(&strides)),
            ("ceil_mode", Integer(i64::from(is_open && mode == 0))),
        ];
        attributes.push(match mode {
            2 => ("auto_pad", Text("SAME_UPPER")),
            3 => ("auto_pad", Text("SAME_LOWER")),
            _ => ("pads", Integers(&pads)),
        });
        let value = self.node(windows, &[&x.value], &attributes);
        Some(Blob::new(value, Some(sides)))
    }

    /// Pooling into a number of windows for each side.
    fn adaptive_pooling(
        &mut self,
        x: &Blob,
        channels: i64,
        sizes: &[Option<i64>],
        [global, windows]: [&str; 2],
    ) -> Option<Blob> {
        let outs = self.by_side([28, 18, 8], sizes.len(), 0);
        let sides = [&[channels], &*outs].concat();
        if outs.iter().all(|&out| out == 1) {
            let value = self.node(global, &[&x.value], &[]);
            return Some(Blob::new(value, Some(sides)));
        }
        let mut windowed = Vec::new();
        for (size, &out) in sizes.iter().zip(&outs) {
            let size = (*size)?;
            let out = if out == ABSENT { size } else { out };
            let stride = size.checked_div(out)?;
            let others = out.checked_sub(1)?.checked_mul(stride)?;
            windowed.push((stride, size.checked_sub(others)?, out));
        }
        let strides: Vec<i64> = windowed.iter().map(|(stride, ..)| *stride).collect();
        let kernel: Vec<i64> = windowed.iter().map(|(_, kernel, _)| *kernel).collect();
        let outs: Vec<i64> = windowed.iter().map(|(.., out)| *out).collect();
        let attributes = [
            ("kernel_shape", Integers(&kernel)),
            ("strides", Integers(&strides)),
        ];
        let value = self.node(windows, &[&x.value], &attributes);
        Some(Blob::new(value, Some([&[channels], &*outs].concat())))
    }
}
