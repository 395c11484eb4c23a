//! The network of PerfSAGE §4.1: categories and features → 8 rounds of neighbour sums → maximum
//! over nodes → 4 wide layers → one value per output.

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};

use super::aggregate::{Neighbours, concat_neighbour_sums, max_per_graph};
use super::batch::Batch;
use super::encoder::{CategoryEncoder, linear, message_layer};
use super::shape::Shape;

/// Rounds of message passing, as in the paper.
pub const N_LAYERS: usize = 8;
/// Wide layers after the readout, as in the paper.
pub const N_HEAD_LAYERS: usize = 4;

/// Gains of a node's own row and of the sum of its neighbours. A node has about two neighbours, whose sum would
/// otherwise grow with every layer.
const GAINS: [f64; 2] = [1.0, 0.5];

/// All weights.
#[derive(Module, Debug)]
pub struct PerfSage {
    /// Encoder of the nodes' features.
    pub encoder: CategoryEncoder,
    /// `w^k` and `b^k` of eq. 2: own ‖ neighbour sum → hidden.
    pub layers: Vec<Linear>,
    /// Hidden layers after the convolutions.
    pub head: Vec<Linear>,
    /// Last linear layer.
    pub output: Linear,
}

impl PerfSage {
    /// Random weights; [`Device::seed`] beforehand makes them repeatable.
    pub fn new(shape: &Shape, device: &Device) -> Self {
        let Shape { hidden, head, .. } = *shape;
        let head_input = |k| if k == 0 { hidden } else { head };
        Self {
            encoder: shape.encoder(hidden, device),
            layers: (0..N_LAYERS)
                .map(|_| message_layer(hidden, &GAINS, device))
                .collect(),
            head: (0..N_HEAD_LAYERS)
                .map(|k| linear(head_input(k), head, 2f64.sqrt(), device))
                .collect(),
            output: linear(head, shape.n_outputs, 0.1, device),
        }
    }

    /// `[n_graphs, n_outputs]`: standardised logarithms of the estimates.
    pub fn forward(&self, batch: &Batch) -> Tensor<2> {
        let mut hidden = relu(self.encoder.forward(batch));
        for layer in &self.layers {
            let inputs = concat_neighbour_sums(hidden, &batch.topology, Neighbours::Together);
            hidden = relu(layer.forward(inputs));
        }
        let mut graph = max_per_graph(hidden, &batch.topology);
        for layer in &self.head {
            graph = relu(layer.forward(graph));
        }
        self.output.forward(graph)
    }
}
