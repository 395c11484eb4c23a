//! What training makes small.

use burn::tensor::{Device, Tensor};

use super::batch::Batch;
use super::prepare::Scaling;

/// Beyond this many standard deviations of the logarithm an error counts linearly.
const HUBER_DELTA: f32 = 0.1;

/// Eq. 4: relative error plus `alpha` times the absolute error in units of each output's mean
/// label, so that both terms weigh alike at `alpha` 1. Mean over the labels of the batch.
pub fn hybrid(standardised: Tensor<2>, batch: &Batch, scaling: &Scaling, alpha: f32) -> Tensor<1> {
    let device = standardised.device();
    let std = row(&scaling.log_labels.std, &device);
    let mean = row(&scaling.log_labels.mean, &device);
    let estimates = (standardised * std + mean).exp();
    let absolute = (estimates - batch.labels.clone()).abs();
    let units = batch.labels.clone().recip() + row(&scaling.mean_label, &device).recip() * alpha;
    mean_over_labels(absolute * units, batch)
}

/// Huber's loss of the standardised logarithms: the gradient of an estimate that is off by a
/// factor of 100 is no larger than that of one off by 2. For the first epochs.
pub fn log_huber(standardised: Tensor<2>, batch: &Batch, scaling: &Scaling) -> Tensor<1> {
    let device = standardised.device();
    let std = row(&scaling.log_labels.std, &device);
    let mean = row(&scaling.log_labels.mean, &device);
    let error = (standardised - (batch.labels.clone().log() - mean) / std).abs();
    let near = error.clone().clamp_max(HUBER_DELTA);
    let losses = near.clone() * (error - near * 0.5) / HUBER_DELTA;
    mean_over_labels(losses, batch)
}

fn mean_over_labels(losses: Tensor<2>, batch: &Batch) -> Tensor<1> {
    (losses * batch.has_label.clone()).sum() / batch.has_label.clone().sum()
}

fn row(values: &[f32], device: &Device) -> Tensor<2> {
    Tensor::<1>::from_floats(values, device).unsqueeze()
}
