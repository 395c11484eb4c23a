//! The graph convolutions of Eagle, the latency predictor of BRP-NAS (NeurIPS 2020), after its published code,
//! <https://github.com/SamsungLabs/eagle>.
//!
//! The only input is the operator kind. In each round, a node adds its successors' rows to its own, and a global node
//! adds the rows of the whole graph. The row of the global node gives one value per output. As in the original: rounds,
//! layer norm, directions and readout. The differences: kinds are TFLite's, the graph's inputs and outputs are not
//! nodes, one network gives all outputs, and there is no dropout.

use burn::module::{Module, Param};
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};

use super::aggregate::{Neighbours, concat_neighbour_sums, sum_per_graph};
use super::batch::Batch;
use super::encoder::linear;
use super::shape::Shape;

/// Graph convolutions, as in the released configuration.
pub const N_LAYERS: usize = 4;

/// Added to the variance of a row before its square root is taken.
pub const NORM_EPSILON: f64 = 1e-5;

/// All weights.
#[derive(Module, Debug)]
pub struct Eagle {
    /// Graph convolutions, in order.
    pub layers: Vec<Convolution>,
    /// Last linear layer.
    pub output: Linear,
}

/// relu(norm(A X W + b)). A is 1 from a node to itself and to its successors, and from the global node to all nodes.
#[derive(Module, Debug)]
pub struct Convolution {
    /// `[w, hidden]`.
    pub weight: Param<Tensor<2>>,
    /// `[hidden]`: added once, independent of the number of summed rows.
    pub bias: Param<Tensor<1>>,
    /// Normalisation after the convolution.
    pub norm: LayerNorm,
}

impl Convolution {
    fn new(n_inputs: usize, hidden: usize, device: &Device) -> Self {
        let norm = LayerNormConfig::new(hidden).with_epsilon(NORM_EPSILON);
        Self {
            weight: linear(n_inputs, hidden, 2f64.sqrt(), device).weight,
            bias: Param::from_tensor(Tensor::zeros([hidden], device)),
            norm: norm.init(device),
        }
    }

    fn activate(&self, sums: Tensor<2>) -> Tensor<2> {
        relu(self.norm.forward(sums + self.bias.val().unsqueeze()))
    }
}

impl Eagle {
    /// Random weights; [`Device::seed`] beforehand makes them repeatable.
    pub fn new(shape: &Shape, device: &Device) -> Self {
        let n_inputs = |k| {
            if k == 0 {
                shape.n_categories + 1
            } else {
                shape.hidden
            }
        };
        Self {
            layers: (0..N_LAYERS)
                .map(|k| Convolution::new(n_inputs(k), shape.hidden, device))
                .collect(),
            output: linear(shape.hidden, shape.n_outputs, 0.1, device),
        }
    }

    /// `[n_graphs, n_outputs]`: standardised logarithms of the estimates.
    pub fn forward(&self, batch: &Batch) -> Tensor<2> {
        let topology = &batch.topology;
        let [n_kinds, _] = self.layers[0].weight.dims();
        // The last kind is that of the global node.
        let mut nodes = batch.kinds(n_kinds);
        let device = nodes.device();
        let others = Tensor::zeros([topology.n_graphs(), n_kinds - 1], &device);
        let above = Tensor::ones([topology.n_graphs(), 1], &device);
        let mut above = Tensor::cat(vec![others, above], 1);
        for layer in &self.layers {
            let rows = nodes.matmul(layer.weight.val());
            let [_, width] = rows.dims();
            let of_all = sum_per_graph(rows.clone(), topology);
            above = layer.activate(above.matmul(layer.weight.val()) + of_all);
            let sums = concat_neighbour_sums(rows, topology, Neighbours::Successors);
            let own_features = sums.clone().narrow(1, 0, width);
            nodes = layer.activate(own_features + sums.narrow(1, width, width));
        }
        self.output.forward(above)
    }
}
