//! A network that estimates the cost of each operator and adds these costs up, so that an estimate can be attributed to
//! operators.
//!
//! The cost of an operator is the cost by the compiler's rules, multiplied by a gate, plus a sum of power laws of its
//! features, as for multiply-accumulates, bytes moved and buffers; each category has its own set. Message passing
//! corrects gates and laws by the operator's surroundings. A gate that is fully open or closed adds no error, so that
//! estimates are exact where the rules are. This happens twice: the decision of a compiler about one operator depends
//! on the costs of others, so the second pass has the estimates of the first as input. Totals are sums over operators,
//! or their maximum if the metric is a peak.

use burn::module::{Module, Param};
use burn::nn::Linear;
use burn::tensor::activation::{relu, sigmoid};
use burn::tensor::{Device, Tensor};

use super::aggregate::{Neighbours, concat_neighbour_sums, max_per_graph, sum_per_graph};
use super::batch::Batch;
use super::encoder::{CategoryEncoder, linear, message_layer};
use super::prepare::{Readout, Scaling, row};
use super::shape::Shape;

/// Rounds of message passing in the two passes. The cost of an operator depends on operators near by, whose weights are
/// fetched at the same time or with which it is fused.
pub const N_LAYERS: [usize; 2] = [4, 3];

/// Power laws of each output. Memory in use, for example, consists of feature maps, the operator's own weights and
/// those fetched for its successor.
pub const N_TERMS: usize = 3;

/// Initially the gates are nearly open, and power laws add little.
const FIRST_GATE: f32 = 3.0;
const FIRST_LAW: f32 = -1.5;

/// Gains of a node's own row, of the sum over its predecessors, and of that over its successors. Each round adds to the
/// rows instead of replacing them, so it starts with small values.
const GAINS: [f64; 3] = [0.5, 0.25, 0.25];

/// Limit of standardised logarithms: e to the power of more is not a realistic cost.
pub const MAX_LOG_DEVIATIONS: f32 = 12.0;

/// All weights.
#[derive(Module, Debug)]
pub struct PerOperator {
    /// Features → the first rows, and each output's power laws, term by term, and gate.
    pub encoder: CategoryEncoder,
    /// own ‖ sum over predecessors ‖ sum over successors → what the round adds.
    pub layers: Vec<Linear>,
    /// Additions of the first pass.
    pub first: Corrections,
    /// Rows ‖ the first pass's estimates → an addition to the rows.
    pub second_look: Linear,
    /// Additions of the second pass, which knows the estimates of the first.
    pub second: Corrections,
}

/// A node's row → additions to the logarithms of its power laws and to its gates.
#[derive(Module, Debug)]
pub struct Corrections {
    /// Hidden layer.
    pub head: Linear,
    /// Last linear layer.
    pub output: Linear,
}

impl Corrections {
    fn new(hidden: usize, n_scores: usize, device: &Device) -> Self {
        Self {
            head: linear(hidden, hidden, 2f64.sqrt(), device),
            output: linear(hidden, n_scores, 0.1, device),
        }
    }

    fn forward(&self, hidden: Tensor<2>) -> Tensor<2> {
        self.output.forward(relu(self.head.forward(hidden)))
    }
}

/// The outputs of the network for a batch.
pub struct PerOperatorOutputs {
    /// `[n_nodes, n_outputs]` in natural units, positive. Ceilings are not applied, because an estimate above a ceiling
    /// would have no gradient.
    pub operators: Tensor<2>,
    /// The same after the first pass.
    pub first_operators: Tensor<2>,
    /// `[n_graphs, n_outputs]` in natural units, positive, with operators limited to the ceilings.
    pub graphs: Tensor<2>,
}

impl PerOperator {
    /// Random weights; [`Device::seed`] beforehand makes them repeatable.
    pub fn new(shape: &Shape, device: &Device) -> Self {
        let hidden = shape.hidden;
        let n_scores = n_scores(shape.n_outputs);
        let mut encoder = shape.encoder(hidden + n_scores, device);
        for layer in &mut encoder.layers {
            layer.bias = Some(Param::from_tensor(initial_bias(shape, device)));
        }
        Self {
            encoder,
            layers: (0..N_LAYERS.iter().sum())
                .map(|_| message_layer(hidden, &GAINS, device))
                .collect(),
            first: Corrections::new(hidden, n_scores, device),
            second_look: linear(hidden + n_scores, hidden, 0.5, device),
            second: Corrections::new(hidden, n_scores, device),
        }
    }

    /// The outputs for a batch, with those of operators.
    pub fn forward(&self, batch: &Batch, scaling: &Scaling) -> PerOperatorOutputs {
        let encoded = self.encoder.forward(batch);
        let n_scores = n_scores(scaling.n_outputs());
        let [_, width] = encoded.dims();
        let mut hidden = relu(encoded.clone().narrow(1, 0, width - n_scores));
        let scores = encoded.narrow(1, width - n_scores, n_scores);
        let (first_layers, second_layers) = self.layers.split_at(N_LAYERS[0]);
        hidden = message_round(hidden, first_layers, batch);
        let first = bounded(scores + self.first.forward(hidden.clone()));
        let look = Tensor::cat(vec![hidden.clone(), first.clone()], 1);
        hidden = hidden + relu(self.second_look.forward(look));
        hidden = message_round(hidden, second_layers, batch);
        let second = bounded(first.clone() + self.second.forward(hidden));
        let operators = costs_from_scores(second, batch, scaling);
        let ceilings = row(&scaling.ceilings, &operators.device());
        let capped = operators
            .clone()
            .min_pair(ceilings.expand(operators.dims()));
        let graphs = read_out(capped, batch, &scaling.readouts);
        PerOperatorOutputs {
            first_operators: costs_from_scores(first, batch, scaling),
            operators,
            graphs,
        }
    }
}

/// Rounds of message passing.
fn message_round(mut hidden: Tensor<2>, layers: &[Linear], batch: &Batch) -> Tensor<2> {
    for layer in layers {
        let inputs = concat_neighbour_sums(hidden.clone(), &batch.topology, Neighbours::Apart);
        hidden = hidden + relu(layer.forward(inputs));
    }
    hidden
}

/// Scores of a node: standardised logarithms of its power laws, term by term, and its gates.
pub fn n_scores(n_outputs: usize) -> usize {
    (N_TERMS + 1) * n_outputs
}

fn initial_bias(shape: &Shape, device: &Device) -> Tensor<1> {
    let column = |n, value: f32| Tensor::<1>::zeros([n], device).add_scalar(value);
    let laws = column(N_TERMS * shape.n_outputs, FIRST_LAW);
    let gates = column(shape.n_outputs, FIRST_GATE);
    Tensor::cat(vec![column(shape.hidden, 0.0), laws, gates], 0)
}

fn bounded(scores: Tensor<2>) -> Tensor<2> {
    scores.clamp(-MAX_LOG_DEVIATIONS, MAX_LOG_DEVIATIONS)
}

/// Scores → each output's cost, in natural units.
fn costs_from_scores(scores: Tensor<2>, batch: &Batch, scaling: &Scaling) -> Tensor<2> {
    let n_outputs = scaling.n_outputs();
    let part = |k| scores.clone().narrow(1, k * n_outputs, n_outputs);
    let term = |k| scaling.operator_logs.restore(part(k)).exp();
    let planned = sigmoid(part(N_TERMS)) * batch.planned.clone();
    (0..N_TERMS).fold(planned, |sum, k| sum + term(k))
}

/// The sum or the maximum over each graph's operators, depending on the output.
fn read_out(operators: Tensor<2>, batch: &Batch, readouts: &[Readout]) -> Tensor<2> {
    let device = operators.device();
    let sums = sum_per_graph(operators.clone(), &batch.topology);
    let maxima = max_per_graph(operators, &batch.topology);
    let is_sum: Vec<f32> = readouts
        .iter()
        .map(|readout| f32::from(u8::from(*readout == Readout::Sum)))
        .collect();
    let is_sum = Tensor::<1>::from_floats(is_sum.as_slice(), &device).unsqueeze::<2>();
    sums * is_sum.clone() + maxima * (is_sum.neg() + 1.0)
}
