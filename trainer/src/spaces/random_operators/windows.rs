//! Operators with weights, pools and resizes.

use litecast::formats::tflite::{Activation, Padding};

use super::graph::{Graph, Step};
use crate::writer::{Sampling, TensorIdx, Window};

pub const STEPS: &[Step] = &[
    conv2d,
    conv2d,
    dilated_conv2d,
    grouped_conv2d,
    depthwise_conv2d,
    fully_connected,
    transpose_conv,
    average_pool2d,
    max_pool2d,
    resize_bilinear,
    resize_nearest,
    batch_matmul,
];

const ACTIVATIONS: [Activation; 4] = [
    Activation::None,
    Activation::Relu,
    Activation::Relu6,
    Activation::ReluN1To1,
];
/// Maximum number of a convolution's products, so that a graph is not too expensive.
const MAX_MACS: i64 = 1 << 27;

impl Graph<'_> {
    /// A window that fits into the image. Its stride may exceed its size.
    fn window(&mut self, x: TensorIdx, sides: &[i32]) -> Window {
        let [_, height, width, _] = self.builder.image(x);
        let kernel = [height, width].map(|side| self.choices.pick(sides).min(side));
        let stride = self.choices.pick(&[1, 1, 2, 3]);
        let padding = self.choices.pick(&[Padding::Same, Padding::Valid]);
        Window::rect(kernel, [stride; 2], padding)
    }

    fn activation(&mut self) -> Activation {
        self.choices.pick(&ACTIVATIONS)
    }

    fn is_affordable(&self, x: TensorIdx, filters: i32, kernel: [i32; 2]) -> bool {
        let values: i64 = self.shape(x).iter().map(|&dim| i64::from(dim)).product();
        values * i64::from(filters * kernel[0] * kernel[1]) <= MAX_MACS
    }
}

fn conv2d(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    if !graph.is_image(x) {
        return None;
    }
    let mut window = graph.window(x, &[1, 1, 2, 3, 3, 4, 5, 7]);
    if graph.choices.coin() {
        window.stride[1] = graph.choices.pick(&[1, 2, 3]);
    }
    conv2d_of(graph, x, window)
}

fn conv2d_of(graph: &mut Graph, x: TensorIdx, window: Window) -> Option<TensorIdx> {
    let filters = graph.choices.pick(graph.dims.channels);
    let activation = graph.activation();
    if !graph.is_affordable(x, filters, window.kernel) {
        return None;
    }
    let name = graph.name("conv");
    Some(graph.builder.conv2d(&name, x, filters, window, activation))
}

fn dilated_conv2d(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    if !graph.is_image(x) {
        return None;
    }
    let dilation = graph.choices.pick(&[2, 3, 4]);
    let window = Window::square(3, 1, Padding::Same).dilated(dilation);
    conv2d_of(graph, x, window)
}

fn grouped_conv2d(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let groups = graph.choices.pick(&[2, 4, 8]);
    if !graph.is_image(x) || graph.builder.channels(x) % groups != 0 {
        return None;
    }
    let window = graph.window(x, &[1, 3, 5]);
    let filters = groups * graph.choices.pick(&[1, 3, 8, 16]);
    let activation = graph.activation();
    if !graph.is_affordable(x, filters, window.kernel) {
        return None;
    }
    let name = graph.name("grouped_conv");
    let builder = &mut graph.builder;
    Some(builder.grouped_conv2d(&name, x, filters, groups, window, activation))
}

fn depthwise_conv2d(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    if !graph.is_image(x) {
        return None;
    }
    let mut window = graph.window(x, &[1, 2, 3, 3, 5, 7]);
    if window.stride == [1, 1] && graph.choices.pick(&[true, false, false, false]) {
        window = Window::square(3, 1, Padding::Same).dilated(2);
    }
    let activation = graph.activation();
    let multiplier = graph.choices.pick(&[1, 1, 1, 2]);
    let name = graph.name("depthwise");
    let builder = &mut graph.builder;
    Some(builder.depthwise_conv2d_multiplied(&name, x, multiplier, window, activation))
}

fn fully_connected(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let units = graph.choices.pick(graph.dims.channels);
    let activation = graph.activation();
    if !graph.is_affordable(x, units, [1, 1]) {
        return None;
    }
    let name = graph.name("dense");
    let builder = &mut graph.builder;
    Some(builder.fully_connected(&name, x, units, activation))
}

/// With the strides that Ethos-U supports.
fn transpose_conv(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    if !graph.is_image(x) {
        return None;
    }
    let kernel = graph.choices.pick(&[2, 3, 4, 5]);
    let padding = graph.choices.pick(&[Padding::Same, Padding::Valid]);
    let window = Window::square(kernel, 2, padding);
    let filters = graph.choices.pick(graph.dims.channels);
    let [_, height, width, _] = graph.builder.image(x);
    let output = [(2 * height + kernel) * (2 * width + kernel) * filters];
    if !Graph::is_small(&output) || !graph.is_affordable(x, filters, [kernel; 2]) {
        return None;
    }
    let name = graph.name("transpose_conv");
    Some(graph.builder.transpose_conv(&name, x, filters, window))
}

fn average_pool2d(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    if !graph.is_image(x) {
        return None;
    }
    let window = graph.window(x, &[1, 2, 3, 5, 8]);
    let name = graph.name("average_pool");
    Some(graph.builder.average_pool2d(&name, x, window))
}

fn max_pool2d(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    if !graph.is_image(x) {
        return None;
    }
    let window = graph.window(x, &[1, 2, 3, 5, 8]);
    let name = graph.name("max_pool");
    Some(graph.builder.max_pool2d(&name, x, window))
}

fn resize_bilinear(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let (size, sampling) = resized(graph, x)?;
    let name = graph.name("resize_bilinear");
    Some(graph.builder.resize_bilinear(&name, x, size, sampling))
}

fn resize_nearest(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    let (size, sampling) = resized(graph, x)?;
    let name = graph.name("resize_nearest");
    Some(graph.builder.resize_nearest(&name, x, size, sampling))
}

/// A factor of two, four or eight, which Ethos-U supports.
fn resized(graph: &mut Graph, x: TensorIdx) -> Option<([i32; 2], Sampling)> {
    if !graph.is_image(x) {
        return None;
    }
    let [_, height, width, channels] = graph.builder.image(x);
    let factor = graph.choices.pick(&[2, 2, 4, 8]);
    let sampling = match factor {
        2 => graph
            .choices
            .pick(&[Sampling::Plain, Sampling::HalfPixelCenters]),
        _ => Sampling::Plain,
    };
    let size = [height * factor, width * factor];
    let fits = height * width > 1 && Graph::is_small(&[size[0], size[1], channels]);
    fits.then_some((size, sampling))
}

fn batch_matmul(graph: &mut Graph, x: TensorIdx) -> Option<TensorIdx> {
    if graph.rank(x) != 3 {
        return None;
    }
    let rows = graph.shape(x)[1];
    let name = graph.name("batch_matmul");
    (rows <= 512).then(|| graph.builder.batch_matmul(&name, x, x, true))
}
