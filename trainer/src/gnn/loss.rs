//! The losses of the training.

use burn::tensor::Tensor;

use super::batch::Batch;
use super::network::Outputs;
use super::prepare::{Readout, Scaling, row};

/// Errors beyond this number of standard deviations of the logarithm count linearly.
const HUBER_DELTA: f32 = 0.1;

/// For outputs that are sums, an operator whose share of the sum is smaller than this counts with this share.
const SUM_FLOOR: f32 = 0.005;
/// The same for outputs that are maxima, because an operator far below the maximum never becomes it.
const MAX_FLOOR: f32 = 0.05;

/// PerfSAGE's eq. 4: relative error plus `alpha` times the absolute error in units of each output's mean label, so that
/// both terms have the same weight if `alpha` is 1. Weighted mean over the labels of the batch.
pub fn hybrid(standardised: Tensor<2>, batch: &Batch, scaling: &Scaling, alpha: f32) -> Tensor<1> {
    let device = standardised.device();
    let estimates = scaling.log_labels.restore(standardised).exp();
    let absolute = (estimates - batch.labels.clone()).abs();
    let units = batch.labels.clone().recip() + row(&scaling.mean_label, &device).recip() * alpha;
    mean_over(absolute * units, label_weights(batch, scaling))
}

/// Huber's loss of the standardised logarithms, so that the gradient of an estimate that is off by a factor of 100 is
/// not larger than that of one off by 2.
pub fn log_huber(standardised: Tensor<2>, batch: &Batch, scaling: &Scaling) -> Tensor<1> {
    let labels = scaling.log_labels.standardise(batch.labels.clone().log());
    mean_over(
        huber((standardised - labels).abs()),
        label_weights(batch, scaling),
    )
}

/// Huber's loss of the logarithms of the operators' estimates, each with a floor that is a share of its graph's label.
/// Mean over the operators that have a label, for outputs whose labels have a weight.
pub fn operators(estimates: Tensor<2>, batch: &Batch, scaling: &Scaling) -> Tensor<1> {
    let floor = |readout: &Readout| match readout {
        Readout::Sum => SUM_FLOOR,
        Readout::Max => MAX_FLOOR,
    };
    let floors: Vec<f32> = scaling.readouts.iter().map(floor).collect();
    let floors = batch.graph_label_of_node.clone() * row(&floors, &estimates.device());
    let found = (estimates + floors.clone()).log();
    let expected = (batch.operator_labels.clone() + floors).log();
    let counts = |&weight: &f32| f32::from(u8::from(weight > 0.0));
    let counts: Vec<f32> = scaling.label_weights.iter().map(counts).collect();
    let counts = row(&counts, &found.device());
    mean_over(
        huber((found - expected).abs()),
        batch.has_operator_label.clone() * counts,
    )
}

fn huber(error: Tensor<2>) -> Tensor<2> {
    let near = error.clone().clamp_max(HUBER_DELTA);
    near.clone() * (error - near * 0.5) / HUBER_DELTA
}

/// Weight of the operator loss of the first pass relative to the second: enough to make its results estimates.
const FIRST_PASS_WEIGHT: f32 = 0.5;

/// The loss of a network's training.
pub struct Objective {
    /// The weight in [`hybrid`]; `None` for [`log_huber`] instead.
    pub alpha: Option<f32>,
    /// Weight of [`operators`] relative to the graphs' loss.
    pub operator_weight: f32,
}

impl Objective {
    pub fn loss(&self, outputs: Outputs, batch: &Batch, scaling: &Scaling) -> Tensor<1> {
        let graphs = match self.alpha {
            Some(alpha) => hybrid(outputs.standardised, batch, scaling, alpha),
            None => log_huber(outputs.standardised, batch, scaling),
        };
        let passes = [
            (outputs.operators, self.operator_weight),
            (
                outputs.first_operators,
                self.operator_weight * FIRST_PASS_WEIGHT,
            ),
        ];
        let passes = passes
            .into_iter()
            .filter_map(|(o, weight)| Some((o?, weight)));
        passes.fold(graphs, |sum, (estimates, weight)| {
            sum + operators(estimates, batch, scaling) * weight
        })
    }
}

/// Weights of labels; 0 without a label.
fn label_weights(batch: &Batch, scaling: &Scaling) -> Tensor<2> {
    batch.has_label.clone() * row(&scaling.label_weights, &batch.has_label.device())
}

/// Weighted mean of the losses; 0 if all weights are 0.
fn mean_over(losses: Tensor<2>, weights: Tensor<2>) -> Tensor<1> {
    (losses * weights.clone()).sum() / weights.sum().clamp_min(1.0)
}
