//! [`NetworkBuilder`]: the core, and the operators that have weights.

use std::collections::BTreeMap;

use litecast::tflite::{Activation, Padding};

use super::network::{
    Content, ElementType, Network, Operator, OperatorKind, Quantization, Tensor, TensorIdx,
};
use super::quantization::{Spread, channel_scales};
use super::random::SplitMix64;
use super::weights::{LayerDistribution, WeightDistribution};

/// Builds a [`Network`] operator by operator, in execution order. A method adds one operator and
/// returns its output.
///
/// Names, shapes and indices come from the samplers, never from a file: a wrong one is a mistake in
/// the program, and panics.
pub struct NetworkBuilder {
    pub(super) network: Network,
    /// Of each tensor, where it has one.
    spreads: Vec<Option<Spread>>,
    distribution: WeightDistribution,
    pub(super) random: SplitMix64,
    /// By shape and values.
    int32_constants: BTreeMap<(Vec<i32>, Vec<i32>), TensorIdx>,
    /// By the bits of the value.
    scalars: BTreeMap<u64, TensorIdx>,
}

/// What convolution and pooling share; pairs are `[height, width]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub kernel: [i32; 2],
    pub stride: [i32; 2],
    pub padding: Padding,
}

impl Window {
    /// A square kernel of side `kernel`.
    pub fn square(kernel: i32, stride: i32, padding: Padding) -> Self {
        Window {
            kernel: [kernel; 2],
            stride: [stride; 2],
            padding,
        }
    }

    /// 1×1 with stride 1.
    pub fn point() -> Self {
        Window::square(1, 1, Padding::Same)
    }

    /// Output height or width.
    fn output_side(&self, axis: usize, input_side: i32) -> i32 {
        let covered = match self.padding {
            Padding::Same => input_side,
            Padding::Valid => input_side - self.kernel[axis] + 1,
        };
        assert!(
            covered > 0,
            "window {self:?} does not fit into a side of {input_side}"
        );
        (covered + self.stride[axis] - 1) / self.stride[axis]
    }

    fn output_shape(&self, input: &[i32], channels: i32) -> Vec<i32> {
        vec![
            input[0],
            self.output_side(0, input[1]),
            self.output_side(1, input[2]),
            channels,
        ]
    }
}

impl NetworkBuilder {
    /// `values_seed` decides scales, zero points and, with the distribution, all weight values.
    pub fn new(name: &str, distribution: WeightDistribution, values_seed: u64) -> Self {
        let network = Network {
            name: name.to_owned(),
            tensors: Vec::new(),
            operators: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        NetworkBuilder {
            network,
            spreads: Vec::new(),
            distribution,
            random: SplitMix64::new(values_seed),
            int32_constants: BTreeMap::new(),
            scalars: BTreeMap::new(),
        }
    }

    /// The finished network with its outputs.
    pub fn finish(mut self, outputs: &[TensorIdx]) -> Network {
        self.network.outputs = outputs.to_vec();
        self.network
    }

    /// A network input of values in −1..1.
    pub fn input(&mut self, name: &str, shape: &[i32]) -> TensorIdx {
        let spread = Spread {
            scale: 1.0 / 128.0,
            zero_point: 0,
            rms_steps: 64.0,
        };
        let input = self.activation(name, shape.to_vec(), spread);
        self.network.inputs.push(input);
        input
    }

    pub fn shape(&self, tensor: TensorIdx) -> &[i32] {
        &self.network.tensors[tensor].shape
    }

    /// The last dimension: channels of an image, features of a token.
    pub fn channels(&self, tensor: TensorIdx) -> i32 {
        *self
            .shape(tensor)
            .last()
            .expect("a tensor with channels has a shape")
    }

    pub fn conv2d(
        &mut self,
        name: &str,
        input: TensorIdx,
        filters: i32,
        window: Window,
        activation: Activation,
    ) -> TensorIdx {
        let channels = self.channels(input);
        let [height, width] = window.kernel;
        let layer = Layer {
            fan_in: height * width * channels,
            channels: filters,
            axis: 0,
            activation,
        };
        let shape = window.output_shape(self.shape(input), filters);
        let kind = OperatorKind::Conv2D {
            stride: window.stride,
            padding: window.padding,
            activation,
        };
        self.layer(
            name,
            input,
            kind,
            vec![filters, height, width, channels],
            shape,
            layer,
        )
    }

    /// One filter per channel (depth multiplier 1).
    pub fn depthwise_conv2d(
        &mut self,
        name: &str,
        input: TensorIdx,
        window: Window,
        activation: Activation,
    ) -> TensorIdx {
        let channels = self.channels(input);
        let [height, width] = window.kernel;
        let layer = Layer {
            fan_in: height * width,
            channels,
            axis: 3,
            activation,
        };
        let shape = window.output_shape(self.shape(input), channels);
        let kind = OperatorKind::DepthwiseConv2D {
            stride: window.stride,
            padding: window.padding,
            activation,
        };
        self.layer(
            name,
            input,
            kind,
            vec![1, height, width, channels],
            shape,
            layer,
        )
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
        let layer = Layer {
            fan_in: channels,
            channels: units,
            axis: 0,
            activation,
        };
        let mut shape = self.shape(input).to_vec();
        *shape.last_mut().expect("a dense layer's input has a shape") = units;
        let kind = OperatorKind::FullyConnected {
            keep_num_dims: shape.len() > 2,
            activation,
        };
        self.layer(name, input, kind, vec![units, channels], shape, layer)
    }

    pub fn average_pool2d(&mut self, name: &str, input: TensorIdx, window: Window) -> TensorIdx {
        let shape = window.output_shape(self.shape(input), self.channels(input));
        let kind = OperatorKind::AveragePool2D {
            filter: window.kernel,
            stride: window.stride,
            padding: window.padding,
        };
        self.operator(name, kind, &[input], shape, self.spread(input))
    }

    /// An operator with weights and a bias.
    fn layer(
        &mut self,
        name: &str,
        input: TensorIdx,
        kind: OperatorKind,
        weights_shape: Vec<i32>,
        output_shape: Vec<i32>,
        layer: Layer,
    ) -> TensorIdx {
        let drawn = self.layer_distribution();
        let before = self.spread(input);
        let (after, sigma_steps) = Spread::of_layer(layer.activation, &mut self.random);
        let accumulator_rms =
            before.rms_steps * drawn.root_mean_square() * f64::from(layer.fan_in).sqrt();
        let weight_scale = sigma_steps / accumulator_rms * after.scale / before.scale;
        let scales = channel_scales(weight_scale, layer.channels as usize, &mut self.random);
        let bias_scales = scales
            .iter()
            .map(|&scale| (f64::from(scale) * before.scale) as f32)
            .collect();

        let weights = self.tensor(
            &format!("{name}/weights"),
            weights_shape,
            ElementType::Int8,
            Content::Weights(drawn),
        );
        self.quantize(
            weights,
            Quantization {
                scales,
                zero_point: 0,
                axis: layer.axis,
            },
        );
        let bias_content = Content::Bias {
            standard_deviation: 0.3 * accumulator_rms,
        };
        let bias = self.tensor(
            &format!("{name}/bias"),
            vec![layer.channels],
            ElementType::Int32,
            bias_content,
        );
        self.quantize(
            bias,
            Quantization {
                scales: bias_scales,
                zero_point: 0,
                axis: 0,
            },
        );
        self.operator(name, kind, &[input, weights, bias], output_shape, after)
    }

    pub(super) fn layer_distribution(&mut self) -> LayerDistribution {
        self.distribution.for_layer(&mut self.random)
    }

    /// Adds an operator of one output.
    pub(super) fn operator(
        &mut self,
        name: &str,
        kind: OperatorKind,
        inputs: &[TensorIdx],
        output_shape: Vec<i32>,
        output_spread: Spread,
    ) -> TensorIdx {
        let output = self.activation(name, output_shape, output_spread);
        let operator = Operator {
            kind,
            inputs: inputs.to_vec(),
            outputs: vec![output],
        };
        self.network.operators.push(operator);
        output
    }

    pub(super) fn activation(&mut self, name: &str, shape: Vec<i32>, spread: Spread) -> TensorIdx {
        let tensor = self.tensor(name, shape, ElementType::Int8, Content::Activation);
        self.set_spread(tensor, spread);
        tensor
    }

    pub(super) fn tensor(
        &mut self,
        name: &str,
        shape: Vec<i32>,
        element: ElementType,
        content: Content,
    ) -> TensorIdx {
        let name = name.to_owned();
        self.network.tensors.push(Tensor {
            name,
            shape,
            element,
            quantization: None,
            content,
        });
        self.spreads.push(None);
        self.network.tensors.len() - 1
    }

    /// A constant that shapes an operator: paddings, axes, a permutation. Equal ones are one tensor,
    /// as converters write them.
    pub(super) fn int32_constant(
        &mut self,
        name: &str,
        shape: &[i32],
        values: Vec<i32>,
    ) -> TensorIdx {
        let key = (shape.to_vec(), values.clone());
        if let Some(&known) = self.int32_constants.get(&key) {
            return known;
        }
        let tensor = self.tensor(
            name,
            shape.to_vec(),
            ElementType::Int32,
            Content::Int32(values),
        );
        self.int32_constants.insert(key, tensor);
        tensor
    }

    /// A constant of one value, stored as 127; equal ones are one tensor.
    pub fn scalar(&mut self, name: &str, value: f64) -> TensorIdx {
        if let Some(&known) = self.scalars.get(&value.to_bits()) {
            return known;
        }
        let tensor = self.tensor(name, vec![1], ElementType::Int8, Content::Int8(vec![127]));
        self.set_spread(
            tensor,
            Spread {
                scale: value / 127.0,
                zero_point: 0,
                rms_steps: 127.0,
            },
        );
        self.scalars.insert(value.to_bits(), tensor);
        tensor
    }

    pub(super) fn set_spread(&mut self, tensor: TensorIdx, spread: Spread) {
        self.spreads[tensor] = Some(spread);
        self.quantize(tensor, spread.quantization());
    }

    pub(super) fn spread(&self, tensor: TensorIdx) -> Spread {
        self.spreads[tensor].expect("an operand is quantised with one scale")
    }

    fn quantize(&mut self, tensor: TensorIdx, quantization: Quantization) {
        self.network.tensors[tensor].quantization = Some(quantization);
    }
}

/// Of a layer with weights.
struct Layer {
    /// Products summed for one output value.
    fan_in: i32,
    /// Output channels, and the axis of the weights that counts them.
    channels: i32,
    axis: usize,
    activation: Activation,
}
