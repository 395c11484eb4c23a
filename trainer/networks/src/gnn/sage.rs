//! GraphSAGE networks with additional features of the whole graph: DIPPM (Euro-Par 2023) and NNLP of NNLQP (ICPP 2022),
//! after their published code, <https://github.com/karthickai/dippm> and <https://github.com/ModelTC/NNLQP>.
//!
//! Operator kind and features → rounds of mean aggregation, after each of which rows are normalised to length 1 → sum
//! over nodes ‖ features of the graph → dense layers → one value per output. As in the originals: rounds, directions,
//! readout and dense layers. The differences, so that networks are compared and not their inputs: the feature table,
//! the standardised log outputs and the loss are those of the other networks, and there is no dropout.

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::activation::relu;
use burn::tensor::{Device, Tensor};

use super::aggregate::{Neighbours, concat_neighbour_sums, max_per_graph, sum_per_graph};
use super::batch::Batch;
use super::encoder::linear;
use super::shape::Shape;

/// Added to the square of a row's length before the row is divided by it, so that a row of zeros stays zero.
pub const LENGTH_EPSILON: f32 = 1e-12;

/// Shape of a network of this kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SagePlan {
    /// Number of GraphSAGE layers.
    pub n_convolutions: usize,
    /// Number of linear layers before the output.
    pub n_head_layers: usize,
    /// Which neighbours a layer sums.
    pub neighbours: Neighbours,
}

/// Three modules of two convolutions along the edges, three dense layers.
pub const DIPPM: SagePlan = SagePlan {
    n_convolutions: 6,
    n_head_layers: 3,
    neighbours: Neighbours::Predecessors,
};

/// Two convolutions over neighbours on either side, two dense layers.
pub const NNLP: SagePlan = SagePlan {
    n_convolutions: 2,
    n_head_layers: 2,
    neighbours: Neighbours::Together,
};

/// All weights.
#[derive(Module, Debug)]
pub struct Sage {
    /// Own row ‖ mean of the neighbours' rows → hidden.
    pub convolutions: Vec<Linear>,
    /// Hidden layers after the convolutions.
    pub head: Vec<Linear>,
    /// Last linear layer.
    pub output: Linear,
}

impl Sage {
    /// Random weights; [`Device::seed`] beforehand makes them repeatable.
    pub fn new(shape: &Shape, plan: SagePlan, device: &Device) -> Self {
        let Shape { hidden, head, .. } = *shape;
        let n_inputs = shape.n_columns + shape.n_categories;
        let row = |k| if k == 0 { n_inputs } else { hidden };
        let read_out = |k| if k == 0 { hidden + n_inputs } else { head };
        let gain = 2f64.sqrt();
        Self {
            convolutions: (0..plan.n_convolutions)
                .map(|k| linear(2 * row(k), hidden, gain, device))
                .collect(),
            head: (0..plan.n_head_layers)
                .map(|k| linear(read_out(k), head, gain, device))
                .collect(),
            output: linear(head, shape.n_outputs, 0.1, device),
        }
    }

    /// `[n_graphs, n_outputs]`: standardised logarithms of the estimates.
    pub fn forward(&self, batch: &Batch, plan: SagePlan) -> Tensor<2> {
        let n_inputs = self.convolutions[0].weight.dims()[0] / 2;
        let features = batch.features();
        let [_, n_columns] = features.dims();
        let kinds = batch.kinds(n_inputs - n_columns);
        let topology = &batch.topology;
        let n_neighbours = plan.neighbours.n_summed(topology, &features.device());
        let mut hidden = Tensor::cat(vec![features.clone(), kinds.clone()], 1);
        for layer in &self.convolutions {
            let [_, width] = hidden.dims();
            let own_and_sum = concat_neighbour_sums(hidden, topology, plan.neighbours);
            let own_features = own_and_sum.clone().narrow(1, 0, width);
            let mean = own_and_sum.narrow(1, width, width) / n_neighbours.clone();
            let rows = layer.forward(Tensor::cat(vec![own_features, mean], 1));
            hidden = relu(unit_length(rows));
        }
        let parts = vec![
            sum_per_graph(hidden, topology),
            // The maxima of the running sums are the graph's totals, which DIPPM and NNLP use as features of the whole
            // graph.
            max_per_graph(features, topology),
            (sum_per_graph(kinds, topology) + 1.0).log(),
        ];
        let mut graph = Tensor::cat(parts, 1);
        for layer in &self.head {
            graph = relu(layer.forward(graph));
        }
        self.output.forward(graph)
    }
}

fn unit_length(rows: Tensor<2>) -> Tensor<2> {
    let squares = rows.clone().square().sum_dim(1) + LENGTH_EPSILON;
    rows / squares.sqrt()
}
