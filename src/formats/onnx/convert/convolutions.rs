//! Convolutions and pooling, on images with the channels last.

use super::Converter;
use super::reductions::Reduction;
use super::value::{Value, channels_last, identity, product};
use crate::formats::onnx::names::Name;
use crate::formats::onnx::proto::Node;
use crate::formats::tflite::{Activation, BuiltinOptions, OpKind, Padding, TensorType};

/// A window along one dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Side {
    size: i64,
    /// Values from its first to its last, gaps included.
    extent: i64,
    stride: i64,
    dilation: i64,
    before: i64,
    pub out: i64,
}

impl Side {
    /// With as many windows as strides in the input, and half of what they miss before it.
    fn with_same_padding(mut self, is_rounded_down: bool) -> Option<Self> {
        self.out = self.strides_in(self.size)?;
        let missing = self.n_padding_values().max(0);
        self.before = if is_rounded_down {
            missing / 2
        } else {
            missing.saturating_sub(missing / 2)
        };
        Some(self)
    }

    /// With given paddings.
    fn padded(mut self, before: i64, after: i64, rounds_up: bool) -> Option<Self> {
        let padded = self.size.checked_add(before)?;
        let free = padded.checked_add(after)?.checked_sub(self.extent)?;
        (before >= 0 && free >= 0).then_some(())?;
        self.before = before;
        let n_steps = if rounds_up {
            self.strides_in(free)?
        } else {
            free.div_euclid(self.stride)
        };
        self.out = n_steps.checked_add(1)?;
        // No window starts in the padding behind.
        if rounds_up && n_steps.checked_mul(self.stride)? >= padded {
            self.out = n_steps;
        }
        Some(self)
    }

    /// Strides that cover so many values.
    fn strides_in(&self, n: i64) -> Option<i64> {
        let sum = n.checked_add(self.stride)?.checked_sub(1)?;
        Some(sum.div_euclid(self.stride))
    }

    /// Whether TFLite's `VALID` puts the windows at the same places.
    fn is_valid(&self) -> bool {
        let free = self.size.saturating_sub(self.extent);
        let n = free.checked_div(self.stride).map(|n| n.saturating_add(1));
        self.before == 0 && free >= 0 && n == Some(self.out)
    }

    /// Whether `SAME` does, which adds half of what is missing in front, rounded down.
    fn is_same(&self) -> bool {
        let n = self
            .size
            .saturating_add(self.stride)
            .saturating_sub(1)
            .checked_div(self.stride);
        n == Some(self.out) && self.before == self.n_padding_values().max(0) / 2
    }

    /// Values beyond the input that all windows together see.
    fn n_padding_values(&self) -> i64 {
        let last = self.out.saturating_sub(1).saturating_mul(self.stride);
        last.saturating_add(self.extent).saturating_sub(self.size)
    }

    fn paddings(&self) -> [i64; 2] {
        [
            self.before,
            self.n_padding_values().saturating_sub(self.before).max(0),
        ]
    }
}

/// Windows of a node over an image's sides, their sizes given.
pub(super) fn sides(node: &Node, sizes: &[i64], kernel: &[i64]) -> Option<Vec<Side>> {
    let n = sizes.len();
    let or = |name: &str, default: i64, n: usize| {
        let values = node.integers(name).unwrap_or_else(|| vec![default; n]);
        (values.len() == n).then_some(values)
    };
    let strides = or("strides", 1, n)?;
    let dilations = or("dilations", 1, n)?;
    let pads = or("pads", 0, n.checked_mul(2)?)?;
    let auto_pad = node.text("auto_pad").unwrap_or("NOTSET");
    let rounds_up = node.integer("ceil_mode") == Some(1);
    let side = |at: usize| {
        let (size, stride, dilation) = (*sizes.get(at)?, *strides.get(at)?, *dilations.get(at)?);
        let kernel = *kernel.get(at)?;
        (size >= 1 && stride >= 1 && dilation >= 1 && kernel >= 1).then_some(())?;
        let extent = kernel
            .checked_sub(1)?
            .checked_mul(dilation)?
            .checked_add(1)?;
        let side = Side {
            size,
            extent,
            stride,
            dilation,
            before: 0,
            out: 0,
        };
        let side = match auto_pad {
            "SAME_UPPER" | "SAME_LOWER" => side.with_same_padding(auto_pad == "SAME_UPPER")?,
            "VALID" => side.padded(0, 0, rounds_up)?,
            _ => {
                let after = pads.get(at.checked_add(n)?)?;
                side.padded(*pads.get(at)?, *after, rounds_up)?
            }
        };
        (side.out >= 1).then_some(side)
    };
    (0..n).map(side).collect()
}

fn narrow(value: i64) -> Option<i32> {
    i32::try_from(value).ok()
}

/// A node's input as an image of four or five dimensions, channels last.
struct Image {
    tensor_idx: usize,
    of_type: TensorType,
    /// Batch, channels and sides.
    shape: Vec<i64>,
    /// Whether the file has three dimensions, to which one of 1 was added.
    is_row: bool,
}

impl<'a> Converter<'a> {
    pub(super) fn convolution(&mut self, node: &'a Node<'a>) -> Option<()> {
        match node.text.op_type {
            "Conv" => {
                let [x, w] = [self.input(node, 0)?, self.input(node, 1)?];
                let bias = self.input(node, 2);
                self.conv(node, &x, &w, bias)
            }
            "QLinearConv" => {
                let [x, w] = [self.input(node, 0)?, self.input(node, 3)?];
                let bias = self.input(node, 8);
                self.conv(node, &x, &w, bias)
            }
            "ConvInteger" => {
                let [x, w] = [self.input(node, 0)?, self.input(node, 1)?];
                self.conv(node, &x, &w, None)
            }
            "ConvTranspose" => self.conv_transpose(node),
            "MaxPool" | "AveragePool" => self.pool(node),
            "GlobalAveragePool" | "GlobalMaxPool" => self.global_pool(node),
            _ => None,
        }
    }

    fn image(&mut self, value: &Value<'a>) -> Option<Image> {
        let mut shape = value.shape.clone()?;
        let rank = shape.len();
        let mut tensor_idx = match rank {
            3..=5 => self.tensor_in_order(value, &channels_last(rank))?,
            _ => return None,
        };
        let of_type = self.network.builder.tensors.get(tensor_idx)?.tensor_type;
        if rank == 3 {
            shape.insert(2, 1);
            let &[n, c, h, w] = shape.as_slice() else {
                return None;
            };
            tensor_idx = self.reshaped_tensor(
                tensor_idx,
                &format!("{}/row", value.name),
                of_type,
                &[n, h, w, c],
            )?;
        }
        Some(Image {
            tensor_idx,
            of_type,
            shape,
            is_row: rank == 3,
        })
    }

    /// Attributes of a window over a row, for the image that stands for it.
    fn row_sides(node: &Node, image: &Image, kernel: &[i64]) -> Option<Vec<Side>> {
        let sizes = image.shape.get(2..)?;
        if !image.is_row {
            return sides(node, sizes, kernel);
        }
        let mut windows = sides(node, sizes.get(1..)?, kernel)?;
        windows.insert(
            0,
            Side {
                size: 1,
                extent: 1,
                stride: 1,
                dilation: 1,
                before: 0,
                out: 1,
            },
        );
        Some(windows)
    }

    /// The padding of windows, by an operator of its own where TFLite has no word for it.
    fn padded(&mut self, image: &mut Image, windows: &[Side], name: &str) -> Option<Padding> {
        if windows.iter().all(Side::is_valid) {
            return Some(Padding::Valid);
        }
        if windows.iter().all(Side::is_same) {
            return Some(Padding::Same);
        }
        let mut pairs = vec![[0, 0]];
        for (window, size) in windows.iter().zip(image.shape.iter_mut().skip(2)) {
            let [before, after] = window.paddings();
            pairs.push([narrow(before)?, narrow(after)?]);
            *size = size.checked_add(before)?.checked_add(after)?;
        }
        pairs.push([0, 0]);
        let paddings = self.pairs("paddings", &pairs);
        let inputs = vec![Some(image.tensor_idx), Some(paddings)];
        let perm = channels_last(image.shape.len());
        let padded = self.intermediate(
            OpKind::Pad,
            inputs,
            &format!("{name}/padded"),
            image.of_type,
            &image.shape,
            &perm,
            BuiltinOptions::Absent,
        )?;
        self.copy_quantization(image.tensor_idx, padded);
        image.tensor_idx = padded;
        Some(Padding::Valid)
    }

    /// Adds the operator, and brings its result back to a row where the input was one.
    #[allow(clippy::too_many_arguments)]
    fn image_operator(
        &mut self,
        kind: OpKind,
        inputs: Vec<Option<usize>>,
        output: Name<'a>,
        of_type: TensorType,
        shape: Vec<i64>,
        is_row: bool,
        options: BuiltinOptions,
    ) -> Option<()> {
        let perm = channels_last(shape.len());
        if !is_row {
            return self.operator(kind, inputs, output, of_type, shape, perm, options);
        }
        let image = self.intermediate(
            kind,
            inputs,
            &format!("{output}/row"),
            of_type,
            &shape,
            &perm,
            options,
        )?;
        let &[n, c, _, w] = shape.as_slice() else {
            return None;
        };
        let row = self.reshaped_tensor(image, &output, of_type, &[n, w, c])?;
        self.define(output, of_type, vec![n, c, w], row, channels_last(3));
        Some(())
    }

    fn conv(
        &mut self,
        node: &'a Node<'a>,
        x: &Value<'a>,
        w: &Value<'a>,
        bias: Option<Value<'a>>,
    ) -> Option<()> {
        let output = self.output(node)?;
        let weights = w.shape.clone()?;
        let (&[units, depth], kernel) = weights.split_first_chunk::<2>()?;
        let groups = node.integer("group").unwrap_or(1);
        let x_shape = x.shape.as_ref()?;
        let channels = *x_shape.get(1)?;
        let is_consistent =
            weights.len() == x_shape.len() && groups >= 1 && depth.checked_mul(groups)? == channels;
        (is_consistent && units.checked_rem(groups)? == 0).then_some(())?;
        let mut image = self.image(x)?;
        let windows = Self::row_sides(node, &image, kernel)?;
        let is_depthwise = groups > 1 && depth == 1 && image.shape.len() == 4;
        let mut kernel = kernel.to_vec();
        if image.is_row {
            kernel.insert(0, 1);
        }
        let filter = self.filter(w, &kernel, [units, depth], is_depthwise, image.is_row)?;
        let padding = self.padded(&mut image, &windows, &output)?;
        let mut inputs = vec![Some(image.tensor_idx), Some(filter)];
        if let Some(bias) = bias {
            inputs.push(Some(self.tensor_in_order(&bias, &identity(1))?));
        }
        let mut shape = vec![*image.shape.first()?, units];
        shape.extend(windows.iter().map(|side| side.out));
        let depth_multiplier = if is_depthwise {
            Some(narrow(units.checked_div(groups)?)?)
        } else {
            None
        };
        let (kind, options) = convolution_options(&windows, padding, depth_multiplier)?;
        self.image_operator(
            kind,
            inputs,
            output,
            x.tensor_type,
            shape,
            image.is_row,
            options,
        )
    }

    /// Weights `[out, in / groups, ...]` as TFLite has them.
    fn filter(
        &mut self,
        w: &Value<'a>,
        kernel: &[i64],
        [units, depth]: [i64; 2],
        is_depthwise: bool,
        is_row: bool,
    ) -> Option<usize> {
        if !w.is_constant() {
            // Computed ones keep their own number of dimensions, and stay in one group.
            (!is_depthwise && !is_row && kernel.len() == 2).then_some(())?;
            return self.tensor_in_order(w, &[0, 2, 3, 1]);
        }
        let sides: Vec<i64> = match (is_depthwise, kernel.len()) {
            (true, _) => [1]
                .into_iter()
                .chain(kernel.iter().copied())
                .chain([units])
                .collect(),
            (false, 2) => [units]
                .into_iter()
                .chain(kernel.iter().copied())
                .chain([depth])
                .collect(),
            _ => kernel.iter().copied().chain([depth, units]).collect(),
        };
        self.constant_tensor(w, &sides)
    }

    fn conv_transpose(&mut self, node: &'a Node<'a>) -> Option<()> {
        let (output, x, w) = (
            self.output(node)?,
            self.input(node, 0)?,
            self.input(node, 1)?,
        );
        let weights = w.shape.clone()?;
        let (&[depth, units], kernel) = weights.split_first_chunk::<2>()?;
        let dilations = node.integers("dilations").unwrap_or_default();
        let is_plain = node.integer("group").unwrap_or(1) == 1
            && dilations.iter().all(|&dilation| dilation == 1);
        let x_shape = x.shape.clone()?;
        (is_plain
            && w.is_constant()
            && x_shape.len() == 4
            && weights.len() == 4
            && *x_shape.get(1)? == depth)
            .then_some(())?;
        let image = self.image(&x)?;
        let sizes = x_shape.get(2..)?;
        let strides = node.integers("strides").unwrap_or_else(|| vec![1; 2]);
        let area: [i64; 2] = transposed_sides(node, sizes, kernel, &strides)?
            .try_into()
            .ok()?;
        let pads = node.integers("pads").unwrap_or_default();
        let begin = [0, 1].map(|at| pads.get(at).copied().unwrap_or(0));
        let (padding, computed) = transposed_padding(area, begin, sizes, kernel, &strides)?;
        let n = *x_shape.first()?;
        let [h, w_side] = computed;
        let out_shape = [n, h, w_side, units].map(narrow);
        let out_shape: Vec<i32> = out_shape.into_iter().collect::<Option<_>>()?;
        let out_shape = self.integers("output_shape", &out_shape);
        let filter = self.transposed_filter(&w, kernel, [depth, units])?;
        let mut inputs = vec![Some(out_shape), Some(filter), Some(image.tensor_idx)];
        if let Some(bias) = self.input(node, 2) {
            inputs.push(Some(self.tensor_in_order(&bias, &identity(1))?));
        }
        let options = BuiltinOptions::TransposeConv {
            padding,
            stride_h: narrow(*strides.first()?)?,
            stride_w: narrow(*strides.get(1)?)?,
            activation: Activation::None,
        };
        let shape = vec![n, units, h, w_side];
        let kind = OpKind::TransposeConv;
        let perm = channels_last(4);
        let of_type = x.tensor_type;
        if computed == area {
            return self.operator(kind, inputs, output, of_type, shape, perm, options);
        }
        let name = format!("{output}/whole");
        let uncut = self.intermediate(kind, inputs, &name, of_type, &shape, &perm, options)?;
        let inputs = self.bounds_of_area(begin, uncut, [n, area[0], area[1], units])?;
        let shape = vec![n, units, area[0], area[1]];
        let options = BuiltinOptions::Absent;
        self.operator(OpKind::Slice, inputs, output, of_type, shape, perm, options)
    }

    /// The filter `[units, height, width, depth]`.
    fn transposed_filter(
        &mut self,
        weights: &Value<'a>,
        kernel: &[i64],
        [depth, units]: [i64; 2],
    ) -> Option<usize> {
        let mut shape = vec![units];
        shape.extend(kernel);
        shape.push(depth);
        self.constant_tensor(weights, &shape)
    }

    /// Inputs of the SLICE that cuts the paddings from a transposed convolution's result, to `size` `[n, h, w, c]`.
    fn bounds_of_area(
        &mut self,
        [row, column]: [i64; 2],
        uncut: usize,
        size: [i64; 4],
    ) -> Option<Vec<Option<usize>>> {
        let begin = self.integers("begin", &[0, narrow(row)?, narrow(column)?, 0]);
        let size: Vec<i32> = size.into_iter().map(narrow).collect::<Option<_>>()?;
        let size = self.integers("size", &size);
        Some(vec![Some(uncut), Some(begin), Some(size)])
    }

    fn pool(&mut self, node: &'a Node<'a>) -> Option<()> {
        let (output, x) = (self.output(node)?, self.input(node, 0)?);
        let kernel = node.integers("kernel_shape")?;
        let mut image = self.image(&x)?;
        (image.shape.len() == 4).then_some(())?;
        let windows = Self::row_sides(node, &image, &kernel)?;
        (windows.iter().all(|side| side.dilation == 1)).then_some(())?;
        let padding = self.padded(&mut image, &windows, &output)?;
        let &[rows, columns] = windows.as_slice() else {
            return None;
        };
        let options = BuiltinOptions::Pool2D {
            padding,
            stride_h: narrow(rows.stride)?,
            stride_w: narrow(columns.stride)?,
            filter_h: narrow(rows.extent)?,
            filter_w: narrow(columns.extent)?,
            activation: Activation::None,
        };
        let kind = match node.text.op_type {
            "MaxPool" => OpKind::MaxPool2d,
            _ => OpKind::AveragePool2d,
        };
        let shape = vec![
            *image.shape.first()?,
            *image.shape.get(1)?,
            rows.out,
            columns.out,
        ];
        self.image_operator(
            kind,
            vec![Some(image.tensor_idx)],
            output,
            x.tensor_type,
            shape,
            image.is_row,
            options,
        )
    }

    fn global_pool(&mut self, node: &'a Node<'a>) -> Option<()> {
        let (output, (x, shape)) = (self.output(node)?, self.input_with_shape(node, 0)?);
        let kind = match node.text.op_type {
            "GlobalMaxPool" => OpKind::ReduceMax,
            _ => OpKind::Mean,
        };
        let axes: Vec<usize> = (2..shape.len()).collect();
        self.reduce(Reduction::plain(kind), &x, output, &axes, true)
    }
}

/// Kind and options of a convolution with these windows, a depthwise one where there is a `depth_multiplier`.
fn convolution_options(
    windows: &[Side],
    padding: Padding,
    depth_multiplier: Option<i32>,
) -> Option<(OpKind, BuiltinOptions)> {
    let strides = windows.iter().map(|side| narrow(side.stride));
    let strides: Vec<i32> = strides.collect::<Option<_>>()?;
    let dilations = windows.iter().map(|side| narrow(side.dilation));
    let dilations: Vec<i32> = dilations.collect::<Option<_>>()?;
    let activation = Activation::None;
    match (strides.as_slice(), dilations.as_slice(), depth_multiplier) {
        (&[stride_h, stride_w], &[dilation_h, dilation_w], Some(depth_multiplier)) => Some((
            OpKind::DepthwiseConv2d,
            BuiltinOptions::DepthwiseConv2D {
                padding,
                stride_h,
                stride_w,
                dilation_h,
                dilation_w,
                depth_multiplier,
                activation,
            },
        )),
        (&[stride_h, stride_w], &[dilation_h, dilation_w], None) => Some((
            OpKind::Conv2d,
            BuiltinOptions::Conv2D {
                padding,
                stride_h,
                stride_w,
                dilation_h,
                dilation_w,
                activation,
            },
        )),
        (&[stride_d, stride_h, stride_w], &[dilation_d, dilation_h, dilation_w], None) => Some((
            OpKind::Conv3d,
            BuiltinOptions::Conv3D {
                padding,
                stride_d,
                stride_h,
                stride_w,
                dilation_d,
                dilation_h,
                dilation_w,
                activation,
            },
        )),
        _ => None,
    }
}

/// The padding by which TFLite's TRANSPOSE_CONV computes `area` `[h, w]`, and the area that it computes: the same or,
/// where neither padding gives `area`, the larger one of VALID, from which `area` is cut from `begin` on.
fn transposed_padding(
    area: [i64; 2],
    begin: [i64; 2],
    sizes: &[i64],
    kernel: &[i64],
    strides: &[i64],
) -> Option<(Padding, [i64; 2])> {
    let side = |at: usize| {
        let (size, stride, kernel) = (*sizes.get(at)?, *strides.get(at)?, *kernel.get(at)?);
        let same = size.checked_mul(stride)?;
        let valid = same.checked_add(kernel.checked_sub(stride)?.max(0))?;
        Some((same, valid))
    };
    let (rows, columns) = (side(0)?, side(1)?);
    if area == [rows.0, columns.0] {
        return Some((Padding::Same, area));
    }
    let ([height, width], [row, column]) = (area, begin);
    let computed = [
        rows.1.max(row.checked_add(height)?),
        columns.1.max(column.checked_add(width)?),
    ];
    Some((Padding::Valid, computed))
}

/// Sizes of a transposed convolution's result.
pub(super) fn transposed_sides(
    node: &Node,
    sizes: &[i64],
    kernel: &[i64],
    strides: &[i64],
) -> Option<Vec<i64>> {
    if let Some(shape) = node.integers("output_shape") {
        return shape
            .get(shape.len().checked_sub(sizes.len())?..)
            .map(<[i64]>::to_vec);
    }
    let pads = node.integers("pads").unwrap_or_default();
    let extra = node.integers("output_padding").unwrap_or_default();
    let dilations = node.integers("dilations").unwrap_or_default();
    let is_same = node
        .text("auto_pad")
        .is_some_and(|auto_pad| auto_pad.starts_with("SAME"));
    let side = |at: usize| {
        let (size, stride, kernel) = (*sizes.get(at)?, *strides.get(at)?, *kernel.get(at)?);
        if is_same {
            return size.checked_mul(stride);
        }
        let pad = |at: usize| pads.get(at).copied().unwrap_or(0);
        let dilation = dilations.get(at).copied().unwrap_or(1);
        let extent = kernel.checked_sub(1)?.checked_mul(dilation)?;
        let full = size
            .checked_sub(1)?
            .checked_mul(stride)?
            .checked_add(extent)?
            .checked_add(1)?;
        let cut = pad(at).checked_add(pad(at.checked_add(sizes.len())?))?;
        full.checked_sub(cut)?
            .checked_add(extra.get(at).copied().unwrap_or(0))
            .filter(|&side| side >= 1)
    };
    let sides: Vec<i64> = (0..sizes.len()).map(side).collect::<Option<_>>()?;
    product(&sides)?;
    Some(sides)
}
