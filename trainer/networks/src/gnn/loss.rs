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

/// Ratio of estimate and label from which on [`hybrid`] grows linearly with the estimate's logarithm.
const MAX_RATIO: f32 = 10.0;

/// PerfSAGE's eq. 4: relative error plus `alpha` times the absolute error in units of each output's mean label, so that
/// both terms have the same weight if `alpha` is 1. Weighted mean over the labels of the batch.
pub fn hybrid(standardised: Tensor<2>, batch: &Batch, scaling: &Scaling, alpha: f32) -> Tensor<1> {
    let device = standardised.device();
    let logs = scaling.log_labels.restore(standardised);
    let absolute = (bounded_exp(logs, &batch.labels) - batch.labels.clone()).abs();
    let units = batch.labels.clone().recip() + row(&scaling.mean_label, &device).recip() * alpha;
    mean_over(absolute * units, label_weights(batch, scaling))
}

/// Estimates from their logarithms. Gradients of exponentials grow with the estimate, and overflow for a few graphs that
/// are far off; beyond [`MAX_RATIO`] times the label, the slope is therefore the one at that ratio.
fn bounded_exp(logs: Tensor<2>, labels: &Tensor<2>) -> Tensor<2> {
    let bounds = labels.clone().log() + MAX_RATIO.ln();
    let beyond = (logs.clone() - bounds).clamp_min(0.0);
    (logs - beyond.clone()).exp() * (beyond + 1.0)
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
    let logs_of_estimates = (estimates + floors.clone()).log();
    let expected = (batch.operator_labels.clone() + floors).log();
    let counts = |&weight: &f32| f32::from(u8::from(weight > 0.0));
    let counts: Vec<f32> = scaling.label_weights.iter().map(counts).collect();
    let counts = row(&counts, &logs_of_estimates.device());
    mean_over(
        huber((logs_of_estimates - expected).abs()),
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
    /// Mean loss of a batch, as a scalar. Labels that are missing count nothing.
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

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    /// Estimate and slope of one estimate's logarithm.
    fn at(log: f32, label: f32) -> [f32; 2] {
        let device = Device::flex().autodiff();
        let logs = Tensor::<2>::from_floats([[log]], &device).require_grad();
        let actual = bounded_exp(logs.clone(), &Tensor::from_floats([[label]], &device));
        let gradients = actual.clone().sum().backward();
        let slope = logs.grad(&gradients).expect("the estimate has a slope");
        [actual.into_scalar(), slope.into_scalar()]
    }

    #[test]
    fn estimates_are_exponentials_up_to_a_ratio_and_lines_beyond() {
        for log in [-3.0f32, 0.0, 4.0] {
            let [estimate, slope] = at(log, 20.0);
            println!("{log}: {estimate}, slope {slope}");
            assert!((estimate / log.exp() - 1.0).abs() < 1e-5);
            assert!((slope / log.exp() - 1.0).abs() < 1e-5);
        }
        let most = 20.0 * MAX_RATIO;
        for beyond in [0.5f32, 3.0, 200.0] {
            let [estimate, slope] = at(most.ln() + beyond, 20.0);
            println!("{beyond} beyond: {estimate}, slope {slope}");
            assert!((estimate / (most * (1.0 + beyond)) - 1.0).abs() < 1e-4);
            assert!((slope / most - 1.0).abs() < 1e-4);
        }
    }
}
