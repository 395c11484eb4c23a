//! Layers with generated names, which all families use.

use litecast::formats::tflite::{Activation, Padding};

use super::Choices;
use crate::writer::{NetworkBuilder, Reduction, Sampling, TensorIdx, Window, WriterNetwork};

/// A network under construction, with the choices of style for all of its layers.
pub struct Layers<'a> {
    pub choices: &'a mut Choices,
    pub builder: NetworkBuilder,
    /// Whether strided layers are written as PAD and VALID padding, as in Keras and PyTorch, instead of SAME.
    explicit_padding: bool,
    /// Whether global pooling is written as MEAN, as in Keras, instead of AVERAGE_POOL_2D.
    pools_by_mean: bool,
    n_named: usize,
}

/// The activation after a layer. It is fused into the layer if TFLite supports that, and a separate operator otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nonlinearity {
    None,
    Relu,
    Relu6,
    HardSwish,
    /// LOGISTIC and MUL.
    Swish,
    LeakyRelu,
    Prelu,
    Elu,
    Gelu,
}

use Nonlinearity as N;

impl Nonlinearity {
    fn fused(self) -> Activation {
        match self {
            N::Relu => Activation::Relu,
            N::Relu6 => Activation::Relu6,
            _ => Activation::None,
        }
    }
}

/// `base` channels, scaled and rounded to a multiple of 8, as in MobileNets.
pub fn width(base: i32, percent: i32) -> i32 {
    ((base * percent + 400) / 800 * 8).max(8)
}

impl<'a> Layers<'a> {
    pub fn new(choices: &'a mut Choices, builder: NetworkBuilder) -> Self {
        Layers {
            explicit_padding: choices.coin(),
            pools_by_mean: choices.coin(),
            choices,
            builder,
            n_named: 0,
        }
    }

    /// Draws no style: SAME padding and AVERAGE_POOL_2D, as in TensorFlow-Slim.
    pub fn plain(choices: &'a mut Choices, builder: NetworkBuilder) -> Self {
        Layers {
            explicit_padding: false,
            pools_by_mean: false,
            choices,
            builder,
            n_named: 0,
        }
    }

    /// `kind_1`, `kind_2`, ...: one counter for all kinds.
    pub fn name(&mut self, kind: &str) -> String {
        self.n_named += 1;
        format!("{kind}_{}", self.n_named)
    }

    /// A square RGB image.
    pub fn rgb(&mut self, side: i32) -> TensorIdx {
        self.builder.input("image", &[1, side, side, 3])
    }

    pub fn channels(&self, tensor: TensorIdx) -> i32 {
        self.builder.channels(tensor)
    }

    /// Height and width.
    pub fn size(&self, image: TensorIdx) -> [i32; 2] {
        let [_, height, width, _] = self.builder.image(image);
        [height, width]
    }

    /// A convolution with a square kernel, padded in the style of this network.
    pub fn conv(
        &mut self,
        x: TensorIdx,
        filters: i32,
        kernel: i32,
        stride: i32,
        nonlinearity: Nonlinearity,
    ) -> TensorIdx {
        let (x, window) = self.strided(x, kernel, stride);
        self.conv_with_window(x, filters, window, nonlinearity)
    }

    pub fn pointwise(
        &mut self,
        x: TensorIdx,
        filters: i32,
        nonlinearity: Nonlinearity,
    ) -> TensorIdx {
        self.conv_with_window(x, filters, Window::point(), nonlinearity)
    }

    pub fn conv_with_window(
        &mut self,
        x: TensorIdx,
        filters: i32,
        window: Window,
        nonlinearity: Nonlinearity,
    ) -> TensorIdx {
        let name = self.name("conv");
        let y = self
            .builder
            .conv2d(&name, x, filters, window, nonlinearity.fused());
        self.unfused(y, nonlinearity)
    }

    pub fn dilated_conv(
        &mut self,
        x: TensorIdx,
        filters: i32,
        dilation: i32,
        nonlinearity: Nonlinearity,
    ) -> TensorIdx {
        let window = Window::square(3, 1, Padding::Same).dilated(dilation);
        self.conv_with_window(x, filters, window, nonlinearity)
    }

    pub fn dilated_depthwise(
        &mut self,
        x: TensorIdx,
        dilation: i32,
        nonlinearity: Nonlinearity,
    ) -> TensorIdx {
        let window = Window::square(3, 1, Padding::Same).dilated(dilation);
        self.depthwise_window(x, window, nonlinearity)
    }

    /// A grouped convolution as one operator.
    pub fn grouped_conv(
        &mut self,
        x: TensorIdx,
        filters: i32,
        stride: i32,
        groups: i32,
        nonlinearity: Nonlinearity,
    ) -> TensorIdx {
        let (x, window) = self.strided(x, 3, stride);
        let name = self.name("grouped_conv");
        let builder = &mut self.builder;
        let y = builder.grouped_conv2d(&name, x, filters, groups, window, nonlinearity.fused());
        self.unfused(y, nonlinearity)
    }

    /// Each square of `side` pixels becomes one position with `features` features.
    pub fn patches(&mut self, x: TensorIdx, features: i32, side: i32) -> TensorIdx {
        let window = Window::square(side, side, Padding::Valid);
        self.conv_with_window(x, features, window, N::None)
    }

    pub fn depthwise(
        &mut self,
        x: TensorIdx,
        kernel: i32,
        stride: i32,
        nonlinearity: Nonlinearity,
    ) -> TensorIdx {
        let (x, window) = self.strided(x, kernel, stride);
        self.depthwise_window(x, window, nonlinearity)
    }

    pub fn depthwise_window(
        &mut self,
        x: TensorIdx,
        window: Window,
        nonlinearity: Nonlinearity,
    ) -> TensorIdx {
        let name = self.name("depthwise");
        let y = self
            .builder
            .depthwise_conv2d(&name, x, window, nonlinearity.fused());
        self.unfused(y, nonlinearity)
    }

    /// A depthwise and a 1×1 convolution.
    pub fn separable(
        &mut self,
        x: TensorIdx,
        filters: i32,
        kernel: i32,
        stride: i32,
        nonlinearity: Nonlinearity,
    ) -> TensorIdx {
        let y = self.depthwise(x, kernel, stride, nonlinearity);
        self.pointwise(y, filters, nonlinearity)
    }

    pub fn dense(&mut self, x: TensorIdx, units: i32, nonlinearity: Nonlinearity) -> TensorIdx {
        let name = self.name("dense");
        let y = self
            .builder
            .fully_connected(&name, x, units, nonlinearity.fused());
        self.unfused(y, nonlinearity)
    }

    fn unfused(&mut self, x: TensorIdx, nonlinearity: Nonlinearity) -> TensorIdx {
        match nonlinearity {
            N::None | N::Relu | N::Relu6 => x,
            _ => self.nonlinear(x, nonlinearity),
        }
    }

    /// The activation as separate operators.
    pub fn nonlinear(&mut self, x: TensorIdx, nonlinearity: Nonlinearity) -> TensorIdx {
        let name = self.name("activation");
        let builder = &mut self.builder;
        match nonlinearity {
            N::None => x,
            N::Relu => builder.relu(&name, x),
            N::Relu6 => builder.relu6(&name, x),
            N::HardSwish => builder.hard_swish(&name, x),
            N::LeakyRelu => builder.leaky_relu(&name, x, 100),
            N::Prelu => builder.prelu(&name, x),
            N::Elu => builder.elu(&name, x),
            N::Gelu => builder.gelu(&name, x, true),
            N::Swish => {
                let gate = builder.logistic(&format!("{name}/logistic"), x);
                builder.mul(&name, x, gate)
            }
        }
    }

    pub fn add(&mut self, left: TensorIdx, right: TensorIdx) -> TensorIdx {
        let name = self.name("add");
        self.builder.add(&name, left, right)
    }

    pub fn add_relu(&mut self, left: TensorIdx, right: TensorIdx) -> TensorIdx {
        let name = self.name("add");
        self.builder.add_relu(&name, left, right)
    }

    pub fn mul(&mut self, left: TensorIdx, right: TensorIdx) -> TensorIdx {
        let name = self.name("mul");
        self.builder.mul(&name, left, right)
    }

    /// Concatenates the last dimension.
    pub fn concat(&mut self, inputs: &[TensorIdx]) -> TensorIdx {
        let axis = self.builder.shape(inputs[0]).len() - 1;
        let name = self.name("concat");
        self.builder.concatenation(&name, inputs, axis)
    }

    /// Concatenates the rows of inputs `[1, rows, values]`.
    pub fn concat_rows(&mut self, inputs: &[TensorIdx]) -> TensorIdx {
        let name = self.name("concat");
        self.builder.concatenation(&name, inputs, 1)
    }

    pub fn reshape(&mut self, x: TensorIdx, shape: &[i32]) -> TensorIdx {
        let name = self.name("reshape");
        self.builder.reshape(&name, x, shape)
    }

    /// `[1, height, width, n · values]` as `[1, height · width · n, values]`: a row for each of `n` anchors of each pixel.
    pub fn anchor_rows(&mut self, x: TensorIdx, n: i32, values: i32) -> TensorIdx {
        let [height, width] = self.size(x);
        self.reshape(x, &[1, height * width * n, values])
    }

    pub fn transpose(&mut self, x: TensorIdx, permutation: &[i32]) -> TensorIdx {
        let name = self.name("transpose");
        self.builder.transpose(&name, x, permutation)
    }

    pub fn max_pool(&mut self, x: TensorIdx, kernel: i32, stride: i32) -> TensorIdx {
        let name = self.name("max_pool");
        let window = Window::square(kernel, stride, Padding::Same);
        self.builder.max_pool2d(&name, x, window)
    }

    pub fn average_pool(&mut self, x: TensorIdx, kernel: i32, stride: i32) -> TensorIdx {
        let name = self.name("average_pool");
        let window = Window::square(kernel, stride, Padding::Same);
        self.builder.average_pool2d(&name, x, window)
    }

    /// Multiplies height and width by `factor`, with one of two operators.
    pub fn upsample(&mut self, x: TensorIdx, factor: i32, bilinear: bool) -> TensorIdx {
        let size = self.size(x).map(|side| side * factor);
        let name = self.name("resize");
        if !bilinear {
            return self.builder.resize_nearest(&name, x, size, Sampling::Plain);
        }
        // Half-pixel centres are supported by all targets only for doubling.
        let sampling = if factor == 2 {
            Sampling::HalfPixelCenters
        } else {
            Sampling::Plain
        };
        self.builder.resize_bilinear(&name, x, size, sampling)
    }

    /// Mean of all pixels, as `[1, 1, 1, channels]`.
    pub fn global_pool(&mut self, x: TensorIdx) -> TensorIdx {
        let name = self.name("pool");
        let kernel = self.size(x);
        if self.pools_by_mean {
            let builder = &mut self.builder;
            return builder.reduce(&name, Reduction::Mean, x, &[1, 2], true);
        }
        let window = Window::rect(kernel, kernel, Padding::Valid);
        self.builder.average_pool2d(&name, x, window)
    }

    /// Global pool and dense layer: `[1, classes]`.
    pub fn classify(&mut self, x: TensorIdx, classes: i32) -> TensorIdx {
        let pooled = self.global_pool(x);
        let features = self.channels(pooled);
        let flat = self.reshape(pooled, &[1, features]);
        self.dense(flat, classes, N::None)
    }

    pub fn finish(self, outputs: &[TensorIdx]) -> WriterNetwork {
        self.builder.finish(outputs)
    }

    /// The input and window of a layer with `kernel` and `stride`.
    fn strided(&mut self, x: TensorIdx, kernel: i32, stride: i32) -> (TensorIdx, Window) {
        if stride == 1 || kernel == 1 || !self.explicit_padding {
            return (x, Window::square(kernel, stride, Padding::Same));
        }
        let name = self.name("pad");
        let sides = [kernel / 2, kernel / 2];
        let x = self.builder.pad(&name, x, &[[0, 0], sides, sides, [0, 0]]);
        (x, Window::square(kernel, stride, Padding::Valid))
    }
}
