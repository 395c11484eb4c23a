//! [`NetworkBuilder`]: tensors, constants, spreads, and how an operator is added.

use std::collections::BTreeMap;

use super::network::{
    Content, ElementType, Operator, Quantization, Tensor, TensorIdx, WriterNetwork,
};
use super::operator_kind::OperatorKind;
use super::quantization::Spread;
use super::random::SplitMix64;
use super::weights::{LayerDistribution, WeightDistribution};

/// Builds a [`WriterNetwork`] operator by operator, in execution order. A method adds one operator and returns its output.
///
/// Names, shapes and indices come from the samplers, never from a file. A wrong one is a programming error, and panics.
pub struct NetworkBuilder {
    pub(super) network: WriterNetwork,
    /// By tensor, its spread if it has one.
    spreads: Vec<Option<Spread>>,
    distribution: WeightDistribution,
    pub(super) random: SplitMix64,
    /// By shape and values.
    int32_constants: BTreeMap<(Vec<i32>, Vec<i32>), TensorIdx>,
    /// By the bits of the value.
    scalars: BTreeMap<u64, TensorIdx>,
    /// By shape.
    zeros: BTreeMap<Vec<i32>, TensorIdx>,
}

/// Values in −1..1.
const INPUT_SPREAD: Spread = Spread {
    scale: 1.0 / 128.0,
    zero_point: 0,
    rms_steps: 64.0,
};

impl NetworkBuilder {
    /// `values_seed` determines scales, zero points and, with the distribution, all weight values.
    pub fn new(name: &str, distribution: WeightDistribution, values_seed: u64) -> Self {
        let network = WriterNetwork {
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
            zeros: BTreeMap::new(),
        }
    }

    /// The finished network with its outputs.
    pub fn finish(mut self, outputs: &[TensorIdx]) -> WriterNetwork {
        self.network.outputs = outputs.to_vec();
        self.network
    }

    /// A network input of values in −1..1.
    pub fn input(&mut self, name: &str, shape: &[i32]) -> TensorIdx {
        let input = self.activation(name, shape.to_vec(), INPUT_SPREAD);
        self.network.inputs.push(input);
        input
    }

    /// A network input with values like those of `like`: a state that is passed back in.
    pub fn input_like(&mut self, name: &str, shape: &[i32], like: TensorIdx) -> TensorIdx {
        let input = self.activation(name, shape.to_vec(), self.spread(like));
        self.network.inputs.push(input);
        input
    }

    /// Sizes of a tensor.
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
        self.add_operator(kind, inputs, &[output]);
        output
    }

    pub(super) fn add_operator(
        &mut self,
        kind: OperatorKind,
        inputs: &[TensorIdx],
        outputs: &[TensorIdx],
    ) {
        self.network.operators.push(Operator {
            kind,
            inputs: inputs.to_vec(),
            outputs: outputs.to_vec(),
            intermediates: Vec::new(),
        });
    }

    /// The inputs of the network so far.
    pub fn inputs(&self) -> &[TensorIdx] {
        &self.network.inputs
    }

    /// Number of operators so far.
    pub fn n_operators(&self) -> usize {
        self.network.operators.len()
    }

    /// Whether the tensor is one of several outputs of an operator.
    pub fn is_part(&self, tensor: TensorIdx) -> bool {
        let mut operators = self.network.operators.iter();
        operators.any(|o| o.outputs.len() > 1 && o.outputs.contains(&tensor))
    }

    /// Whether no operator reads the tensor yet.
    pub fn is_unread(&self, tensor: TensorIdx) -> bool {
        let mut operators = self.network.operators.iter();
        operators.all(|operator| !operator.inputs.contains(&tensor))
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

    /// A constant that controls an operator: paddings, axes, a permutation. Equal ones are one tensor, as in files of
    /// converters.
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

    /// A constant with one value, stored as 127. Equal ones are one tensor.
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

    /// A feature map of constant zeros with the scale of a network's input. Those with the same shape are one tensor.
    pub fn zeros(&mut self, name: &str, shape: &[i32]) -> TensorIdx {
        if let Some(&known) = self.zeros.get(shape) {
            return known;
        }
        let n_values: i32 = shape.iter().product();
        let content = Content::Int8(vec![0; n_values as usize]);
        let tensor = self.tensor(name, shape.to_vec(), ElementType::Int8, content);
        self.set_spread(tensor, INPUT_SPREAD);
        self.zeros.insert(shape.to_vec(), tensor);
        tensor
    }

    pub(super) fn set_spread(&mut self, tensor: TensorIdx, spread: Spread) {
        self.spreads[tensor] = Some(spread);
        self.set_quantization(tensor, spread.quantization());
    }

    pub(super) fn spread(&self, tensor: TensorIdx) -> Spread {
        self.spreads[tensor].expect("an operand is quantised with one scale")
    }

    pub(super) fn set_quantization(&mut self, tensor: TensorIdx, quantization: Quantization) {
        self.network.tensors[tensor].quantization = Some(quantization);
    }
}
