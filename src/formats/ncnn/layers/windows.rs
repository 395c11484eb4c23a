//! Convolutions and pooling: layers whose windows move over an image.

use super::*;

impl Converter<'_, '_> {
    pub(super) fn convolution(&mut self, x: &Blob, n: usize) -> Option<Blob> {
        let layer = self.layer;
        let (n_out, n_weights) = (layer.whole(0, 0), layer.whole(6, 0));
        let kernel = self.by_side([21, 11, 1], n, 0);
        let group = if layer.kind.contains("DepthWise") {
            layer.whole(7, 1)
        } else {
            1
        };
        if layer.whole(19, 0) != 0 || layer.inputs.len() != 1 {
            // Weights that are computed.
            return None;
        }
        if x.rank() == Some(1) {
            // Every value is a channel of its own.
            (kernel.iter().all(|&side| side == 1) && group == 1).then_some(())?;
            let blob = self.inner_product(x, n_out, n_weights, 5)?;
            return self.activated(blob);
        }
        let n_in = n_weights.checked_div(product(&[n_out, product(&kernel)?])?)?;
        (n_in > 0 && group > 0).then_some(())?;
        let strides = self.by_side([23, 13, 3], n, 1);
        let dilations = self.by_side([22, 12, 2], n, 1);
        let mut attributes = vec![
            ("kernel_shape", Integers(&kernel)),
            ("strides", Integers(&strides)),
            ("dilations", Integers(&dilations)),
            ("group", Integer(group)),
        ];
        let pads = self.paddings([24, 14, 4], [17, 16, 15], n);
        let auto = match pads.first() {
            Some(&SAME_UPPER) => Some("SAME_UPPER"),
            Some(&SAME_LOWER) => Some("SAME_LOWER"),
            _ => None,
        };
        attributes.push(match auto {
            Some(auto) => ("auto_pad", Text(auto)),
            None => ("pads", Integers(&pads)),
        });
        let source = self.through_int8(x.value.clone());
        let weights = self.stored_weights(&[&[n_out, n_in], &*kernel].concat());
        let bias = (layer.whole(5, 0) != 0).then(|| self.weights(&[n_out]));
        let mut inputs = vec![&*source, &*weights];
        inputs.extend(bias.as_deref());
        let value = self.node("Conv", &inputs, &attributes);
        let mut sides = vec![n_out];
        for at in 0..n {
            let out = || {
                let size = x.side(at.checked_add(1)?)?;
                let stride = *strides.get(at)?;
                if auto.is_some() {
                    return rounded_up(size, stride);
                }
                let extent = kernel.get(at)?.checked_sub(1)?;
                let extent = extent.checked_mul(*dilations.get(at)?)?.checked_add(1)?;
                let pads = pads.get(at)?.checked_add(*pads.get(at.checked_add(n)?)?)?;
                let free = size.checked_add(pads)?.checked_sub(extent)?;
                free.checked_div(stride)?.checked_add(1)
            };
            sides.push(out().unwrap_or(0));
        }
        let blob = self.activated(Blob::new(value, Some(sides)))?;
        Some(Blob {
            value: self.through_int8(blob.value),
            sides: blob.sides,
        })
    }

    pub(super) fn deconvolution(&mut self, x: &Blob, n: usize) -> Option<Blob> {
        let layer = self.layer;
        let (n_out, n_weights) = (layer.whole(0, 0), layer.whole(6, 0));
        let kernel = self.by_side([21, 11, 1], n, 0);
        let group = if layer.kind.contains("DepthWise") {
            layer.whole(7, 1)
        } else {
            1
        };
        let of_group = n_out.checked_div(group)?;
        let n_in = n_weights.checked_div(product(&[of_group, product(&kernel)?])?)?;
        (n_in > 0 && layer.whole(20, 0) == 0 && layer.inputs.len() == 1).then_some(())?;
        let strides = self.by_side([23, 13, 3], n, 1);
        let dilations = self.by_side([22, 12, 2], n, 1);
        let pads = self.paddings([24, 14, 4], [17, 16, 15], n);
        let further = self.by_side([0, 19, 18], n, 0);
        let weights = self.weights(&[&[n_in, of_group], &*kernel].concat());
        let bias = (layer.whole(5, 0) != 0).then(|| self.weights(&[n_out]));
        let mut inputs = vec![&*x.value, &*weights];
        inputs.extend(bias.as_deref());
        let attributes = [
            ("kernel_shape", Integers(&kernel)),
            ("strides", Integers(&strides)),
            ("dilations", Integers(&dilations)),
            ("pads", Integers(&pads)),
            ("output_padding", Integers(&further)),
            ("group", Integer(group)),
        ];
        let value = self.node("ConvTranspose", &inputs, &attributes);
        let mut sides = vec![n_out];
        for at in 0..n {
            let out = || {
                let size = x.side(at.checked_add(1)?)?.checked_sub(1)?;
                let extent = kernel.get(at)?.checked_sub(1)?;
                let extent = extent.checked_mul(*dilations.get(at)?)?;
                let pads = pads.get(at)?.checked_add(*pads.get(at.checked_add(n)?)?)?;
                let out = size.checked_mul(*strides.get(at)?)?.checked_add(extent)?;
                out.checked_add(1)?
                    .checked_add(*further.get(at)?)?
                    .checked_sub(pads)
            };
            sides.push(out().unwrap_or(0));
        }
        self.activated(Blob::new(value, Some(sides)))
    }

    pub(super) fn pooling(&mut self, x: &Blob, n: usize) -> Option<Blob> {
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
        let sizes: Vec<Option<i64>> = (0..n).map(|at| x.side(at.saturating_add(1))).collect();
        if layer.whole(7, 0) != 0 {
            let outs = self.by_side([28, 18, 8], n, 0);
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
            return Some(Blob::new(value, Some([&[channels], &*outs].concat())));
        }
        let kernel = self.by_side([21, 11, 1], n, 0);
        let strides = self.by_side([22, 12, 2], n, 1);
        let mut pads = self.paddings([23, 13, 3], [16, 15, 14], n);
        let mode = layer.whole(5, 0);
        let mut sides = vec![channels];
        for (at, size) in sizes.into_iter().enumerate() {
            let (stride, kernel) = (*strides.get(at)?, *kernel.get(at)?);
            let mut out = || {
                let size = size?;
                if mode == 2 || mode == 3 {
                    return rounded_up(size, stride);
                }
                let end = at.checked_add(n)?;
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
}
