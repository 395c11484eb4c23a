//! The network of §4.1: categories and features → 8 rounds of neighbour sums → maximum over
//! nodes → 4 wide layers → one value per output.

use burn::module::{Initializer, Module, ModuleMapper, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::activation::relu;
use burn::tensor::{DType, Device, Distribution, Tensor};
use serde::{Deserialize, Serialize};

use super::aggregate::{concat_neighbour_sum, max_per_graph};
use super::batch::Batch;

/// Rounds of message passing, as in the paper.
pub const N_LAYERS: usize = 8;
/// Wide layers after the readout, as in the paper.
pub const N_HEAD_LAYERS: usize = 4;
/// Their width, as in the paper.
pub const HEAD_WIDTH: usize = 1024;

/// Initial weights of the neighbours' half are this much smaller than those of the node's own:
/// a node has about two neighbours, whose sum would otherwise grow with every layer.
const NEIGHBOUR_GAIN: f64 = 0.5;

/// Sizes of the network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shape {
    pub n_columns: usize,
    pub n_categories: usize,
    pub n_outputs: usize,
    pub embedding: usize,
    pub hidden: usize,
    pub head: usize,
}

/// All weights.
#[derive(Module, Debug)]
pub struct PerfSage {
    /// `E_cat` of eq. 1: `[n_categories, embedding]`.
    pub embedding: Param<Tensor<2>>,
    /// `w_c` and `b_c` of eq. 1, one layer per category: features ‖ embedding → hidden.
    pub first: Vec<Linear>,
    /// `w^k` and `b^k` of eq. 2: own ‖ neighbour sum → hidden.
    pub layers: Vec<Linear>,
    pub head: Vec<Linear>,
    pub output: Linear,
}

impl PerfSage {
    /// Random weights; [`Device::seed`] beforehand makes them repeatable.
    pub fn new(shape: &Shape, device: &Device) -> Self {
        let scores = Distribution::Normal(0.0, 1.0);
        let embedding = Tensor::random([shape.n_categories, shape.embedding], scores, device);
        let head_input = |k| if k == 0 { shape.hidden } else { shape.head };
        let first_input = shape.n_columns + shape.embedding;
        Self {
            embedding: Param::from_tensor(embedding),
            first: (0..shape.n_categories)
                .map(|_| linear(first_input, shape.hidden, 2f64.sqrt(), device))
                .collect(),
            layers: (0..N_LAYERS)
                .map(|_| message_layer(shape.hidden, device))
                .collect(),
            head: (0..N_HEAD_LAYERS)
                .map(|k| linear(head_input(k), shape.head, 2f64.sqrt(), device))
                .collect(),
            output: linear(shape.head, shape.n_outputs, 0.1, device),
        }
    }

    /// `[n_graphs, n_outputs]`: standardised logarithms of the estimates.
    pub fn forward(&self, batch: &Batch) -> Tensor<2> {
        let mut hidden = self.encode(batch);
        for layer in &self.layers {
            hidden = relu(layer.forward(concat_neighbour_sum(hidden, &batch.topology)));
        }
        let mut graph = max_per_graph(hidden, &batch.topology);
        for layer in &self.head {
            graph = relu(layer.forward(graph));
        }
        self.output.forward(graph)
    }

    /// Every weight rounded to the nearest half-precision number, as the exported file keeps it.
    pub fn rounded_to_f16(self) -> Self {
        self.map(&mut RoundToHalf)
    }

    /// Eq. 1: each node through the layer of its category.
    fn encode(&self, batch: &Batch) -> Tensor<2> {
        let encoded = batch.categories.iter().map(|rows| {
            let [n, _] = rows.features.dims();
            let embedding = self.embedding.val().narrow(0, rows.category, 1);
            let [_, width] = embedding.dims();
            let inputs = vec![rows.features.clone(), embedding.expand([n, width])];
            self.first[rows.category].forward(Tensor::cat(inputs, 1))
        });
        let by_category = relu(Tensor::cat(encoded.collect(), 0));
        by_category.select(0, batch.row_of_node.clone())
    }
}

/// Normal weights of deviation `gain / sqrt(n_inputs)`, zero bias.
fn linear(n_inputs: usize, n_outputs: usize, gain: f64, device: &Device) -> Linear {
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

fn message_layer(hidden: usize, device: &Device) -> Linear {
    let own = linear(hidden, hidden, 1.0, device);
    let neighbours = linear(hidden, hidden, NEIGHBOUR_GAIN, device);
    let weight = Tensor::cat(vec![own.weight.val(), neighbours.weight.val()], 0);
    Linear {
        weight: Param::from_tensor(weight.detach()),
        bias: own.bias,
    }
}

struct RoundToHalf;

impl ModuleMapper for RoundToHalf {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        param.map(|weights| weights.cast(DType::F16).cast(DType::F32))
    }
}
