//! The builder's operators that have weights and a bias.

use litecast::formats::tflite::Activation;

use super::builder::NetworkBuilder;
use super::network::{Content, ElementType, Quantization, TensorIdx};
use super::operator_kind::OperatorKind;
use super::quantization::{Spread, channel_scales};
use super::weights::LayerDistribution;
use super::window::Window;

impl NetworkBuilder {
    /// Adds CONV_2D with weights and a bias of its own.
    pub fn conv2d(
        &mut self,
        name: &str,
        input: TensorIdx,
        filters: i32,
        window: Window,
        activation: Activation,
    ) -> TensorIdx {
        let kind = OperatorKind::Conv2D {
            stride: window.stride,
            padding: window.padding,
            dilation: window.dilation,
            activation,
        };
        self.convolution(name, input, kind, [filters, 1], window, activation)
    }

    /// A convolution whose channels are divided into `groups` independent groups, as one operator.
    pub fn grouped_conv2d(
        &mut self,
        name: &str,
        input: TensorIdx,
        filters: i32,
        groups: i32,
        window: Window,
        activation: Activation,
    ) -> TensorIdx {
        let kind = OperatorKind::GroupedConv2D {
            stride: window.stride,
            padding: window.padding,
            activation,
        };
        self.convolution(name, input, kind, [filters, groups], window, activation)
    }

    fn convolution(
        &mut self,
        name: &str,
        input: TensorIdx,
        kind: OperatorKind,
        [filters, groups]: [i32; 2],
        window: Window,
        activation: Activation,
    ) -> TensorIdx {
        let channels = self.channels(input) / groups;
        let [height, width] = window.kernel;
        let fan_in = height * width * channels;
        let shape = window.output_shape(self.shape(input), filters);
        let layer = self.layer_quantization(input, fan_in, filters, 0, activation);
        let weights = vec![filters, height, width, channels];
        self.layer(name, input, kind, weights, shape, layer)
    }

    /// One filter per channel.
    pub fn depthwise_conv2d(
        &mut self,
        name: &str,
        input: TensorIdx,
        window: Window,
        activation: Activation,
    ) -> TensorIdx {
        self.depthwise_conv2d_multiplied(name, input, 1, window, activation)
    }

    /// `multiplier` filters per channel.
    pub fn depthwise_conv2d_multiplied(
        &mut self,
        name: &str,
        input: TensorIdx,
        multiplier: i32,
        window: Window,
        activation: Activation,
    ) -> TensorIdx {
        let channels = self.channels(input) * multiplier;
        let [height, width] = window.kernel;
        let shape = window.output_shape(self.shape(input), channels);
        let kind = OperatorKind::DepthwiseConv2D {
            stride: window.stride,
            padding: window.padding,
            dilation: window.dilation,
            multiplier,
            activation,
        };
        let layer = self.layer_quantization(input, height * width, channels, 3, activation);
        let weights = vec![1, height, width, channels];
        self.layer(name, input, kind, weights, shape, layer)
    }

    /// Over the last dimension; the others are kept.
    pub fn fully_connected(
        &mut self,
        name: &str,
        input: TensorIdx,
        units: i32,
        activation: Activation,
    ) -> TensorIdx {
        let channels = self.channels(input);
        let mut shape = self.shape(input).to_vec();
        *shape.last_mut().expect("a dense layer's input has a shape") = units;
        let kind = OperatorKind::FullyConnected {
            keep_num_dims: shape.len() > 2,
            activation,
        };
        let layer = self.layer_quantization(input, channels, units, 0, activation);
        self.layer(name, input, kind, vec![units, channels], shape, layer)
    }

    fn layer(
        &mut self,
        name: &str,
        input: TensorIdx,
        kind: OperatorKind,
        weights_shape: Vec<i32>,
        output_shape: Vec<i32>,
        layer: LayerQuantization,
    ) -> TensorIdx {
        let [weights, bias] = self.layer_constants(name, weights_shape, &layer);
        let inputs = [input, weights, bias];
        self.operator(name, kind, &inputs, output_shape, layer.output)
    }

    /// Scales that keep the layer's output in range. `fan_in` is the number of products that are summed for one output
    /// value; `axis` is the weights' dimension of output channels.
    pub(super) fn layer_quantization(
        &mut self,
        input: TensorIdx,
        fan_in: i32,
        channels: i32,
        axis: usize,
        activation: Activation,
    ) -> LayerQuantization {
        let drawn = self.layer_distribution();
        let before = self.spread(input);
        let (output, sigma_steps) = Spread::after_layer(activation, &mut self.random);
        let accumulator_rms =
            before.rms_steps * drawn.root_mean_square() * f64::from(fan_in).sqrt();
        let weight_scale = sigma_steps / accumulator_rms * output.scale / before.scale;
        let scales = channel_scales(weight_scale, channels as usize, &mut self.random);
        LayerQuantization {
            drawn,
            scales,
            axis,
            input_scale: before.scale,
            accumulator_rms,
            output,
        }
    }

    /// Weights and bias.
    pub(super) fn layer_constants(
        &mut self,
        name: &str,
        weights_shape: Vec<i32>,
        layer: &LayerQuantization,
    ) -> [TensorIdx; 2] {
        let scales = layer.scales.iter();
        let bias_scales = scales
            .map(|&scale| (f64::from(scale) * layer.input_scale) as f32)
            .collect();
        let weights_content = Content::Weights(layer.drawn);
        let weights = format!("{name}/weights");
        let weights = self.tensor(&weights, weights_shape, ElementType::Int8, weights_content);
        self.set_quantization(weights, per_channel(layer.scales.clone(), layer.axis));
        let bias_content = Content::Bias {
            standard_deviation: 0.3 * layer.accumulator_rms,
        };
        let shape = vec![layer.scales.len() as i32];
        let bias = format!("{name}/bias");
        let bias = self.tensor(&bias, shape, ElementType::Int32, bias_content);
        self.set_quantization(bias, per_channel(bias_scales, 0));
        [weights, bias]
    }
}

fn per_channel(scales: Vec<f32>, axis: usize) -> Quantization {
    Quantization {
        scales,
        zero_point: 0,
        axis,
    }
}

/// The quantisation of a layer with weights.
pub(super) struct LayerQuantization {
    drawn: LayerDistribution,
    /// Scales of the weights by output channel.
    scales: Vec<f32>,
    axis: usize,
    input_scale: f64,
    /// Root mean square of the sum of products, in accumulator steps.
    accumulator_rms: f64,
    pub(super) output: Spread,
}
