//! Eq. 1 of PerfSAGE: the first layer of each network, whose weights depend on the operator category.

use burn::module::{Initializer, Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Distribution, Tensor};

use super::batch::Batch;
use super::shape::Shape;

/// Applies the layer of its operator category to each node.
#[derive(Module, Debug)]
pub struct CategoryEncoder {
    /// `E_cat` of eq. 1: `[n_categories, embedding]`.
    pub embedding: Param<Tensor<2>>,
    /// `w_c` and `b_c` of eq. 1, one layer per category or one for all: features ‖ embedding → outputs.
    pub layers: Vec<Linear>,
}

impl CategoryEncoder {
    /// Draws the weights.
    pub fn new(shape: &Shape, n_outputs: usize, device: &Device) -> Self {
        let n_inputs = shape.n_columns + shape.embedding;
        let scores = Distribution::Normal(0.0, 1.0);
        let table = Tensor::random([shape.n_categories, shape.embedding], scores, device);
        let layer = |_| linear(n_inputs, n_outputs, 2f64.sqrt(), device);
        Self {
            embedding: Param::from_tensor(table),
            layers: (0..shape.n_encoders).map(layer).collect(),
        }
    }

    /// The layer of a category.
    pub fn layer(&self, category: usize) -> &Linear {
        &self.layers[category.min(self.layers.len() - 1)]
    }

    /// `[n_nodes, n_outputs]`, before any activation.
    pub fn forward(&self, batch: &Batch) -> Tensor<2> {
        let encoded = batch.categories.iter().map(|rows| {
            let [n, _] = rows.features.dims();
            let embedding = self.embedding.val().narrow(0, rows.category, 1);
            let [_, width] = embedding.dims();
            let inputs = vec![rows.features.clone(), embedding.expand([n, width])];
            self.layer(rows.category).forward(Tensor::cat(inputs, 1))
        });
        Tensor::cat(encoded.collect(), 0).select(0, batch.row_of_node.clone())
    }
}

/// Normal weights of deviation `gain / sqrt(n_inputs)`, zero bias.
pub fn linear(n_inputs: usize, n_outputs: usize, gain: f64, device: &Device) -> Linear {
    let initializer = Initializer::KaimingNormal {
        gain,
        fan_out_only: false,
    };
    let mut layer = LinearConfig::new(n_inputs, n_outputs)
        .with_initializer(initializer)
        .init(device);
    layer.bias = Some(Param::from_tensor(Tensor::zeros([n_outputs], device)));
    layer
}

/// A layer over a node's own row, followed by sums of neighbours' rows, all `hidden` wide: one gain
/// ([`linear`]) for each part.
pub fn message_layer(hidden: usize, gains: &[f64], device: &Device) -> Linear {
    let part = |&gain: &f64| linear(hidden, hidden, gain, device).weight.val();
    let weight = Tensor::cat(gains.iter().map(part).collect(), 0);
    Linear {
        weight: Param::from_tensor(weight.detach()),
        bias: Some(Param::from_tensor(Tensor::zeros([hidden], device))),
    }
}

impl Shape {
    /// The first layer of a network of this shape.
    pub(super) fn encoder(&self, n_outputs: usize, device: &Device) -> CategoryEncoder {
        CategoryEncoder::new(self, n_outputs, device)
    }
}
