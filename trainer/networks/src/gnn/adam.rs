//! Adam (Kingma and Ba 2015) with gradient clipping, in one pass over memory on the CPU.
//!
//! The library's optimiser takes about fifteen passes, which for 3.7 million weights is a third of a training step.

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::optim::{Optimizer, RecordState, StateSink, StateSource};
use burn::tensor::{Device, Tensor};
use rayon::prelude::*;

/// Weights per parallel task.
const TASK: usize = 1 << 15;

/// The Adam optimiser (Kingma and Ba, 2015) with a moment for each parameter.
#[derive(Clone, Debug)]
pub struct Adam {
    /// Decay of the mean of gradients.
    pub beta_1: f32,
    /// Decay of the mean of squared gradients.
    pub beta_2: f32,
    /// Added to the divisor.
    pub epsilon: f32,
    /// The gradient of each weight tensor is scaled down to this norm.
    pub max_norm: f32,
    /// Share of each matrix by which a step at learning rate 1 decays it (Loshchilov and Hutter 2019).
    pub weight_decay: f64,
}

/// Decaying means of the gradient of one weight tensor, and of its square.
#[derive(Clone, Debug)]
pub struct Moments<const D: usize> {
    /// Number of updates so far.
    pub step: u32,
    /// Moving mean of gradients.
    pub mean: Tensor<D>,
    /// Moving mean of squared gradients.
    pub square: Tensor<D>,
}

impl<const D: usize> RecordState for Moments<D> {
    fn state_flatten(&self, prefix: &str, out: &mut StateSink) {
        out.push_scalar(prefix, "step", self.step.into());
        out.push_tensor(prefix, "mean", self.mean.to_data());
        out.push_tensor(prefix, "square", self.square.to_data());
    }

    fn state_unflatten(prefix: &str, source: &mut StateSource, device: &Device) -> Option<Self> {
        Some(Self {
            step: source.take_scalar(prefix, "step")?.try_into().ok()?,
            mean: Tensor::from_data(source.take_tensor(prefix, "mean")?, device),
            square: Tensor::from_data(source.take_tensor(prefix, "square")?, device),
        })
    }
}

impl Optimizer for Adam {
    type State<const D: usize> = Moments<D>;

    fn step<const D: usize>(
        &self,
        learning_rate: f64,
        weights: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<Moments<D>>,
    ) -> (Tensor<D>, Option<Moments<D>>) {
        let mut moments = state.unwrap_or_else(|| Moments {
            step: 0,
            mean: gradient.zeros_like(),
            square: gradient.zeros_like(),
        });
        moments.step += 1;
        let weights = if D > 1 && self.weight_decay > 0.0 {
            weights * (1.0 - learning_rate * self.weight_decay)
        } else {
            weights
        };
        let on_cpu = gradient.clone().try_into_primitive::<Flex>().is_ok();
        let update = if on_cpu {
            Self::step_on_cpu
        } else {
            Self::step_portable
        };
        let (weights, moments) = update(self, learning_rate as f32, weights, gradient, moments);
        (weights, Some(moments))
    }

    fn to_device<const D: usize>(state: Moments<D>, device: &Device) -> Moments<D> {
        Moments {
            step: state.step,
            mean: state.mean.to_device(device),
            square: state.square.to_device(device),
        }
    }
}

/// Factors of one step, which are the same for all weights.
#[derive(Clone, Copy)]
struct Factors {
    gradient: f32,
    learning_rate: f32,
    mean_correction: f32,
    square_correction: f32,
}

impl Adam {
    fn factors(&self, step: u32, learning_rate: f32, norm: f32) -> Factors {
        let corrected = |beta: f32| 1.0 / (1.0 - beta.powi(step as i32));
        Factors {
            gradient: if norm > self.max_norm {
                self.max_norm / norm
            } else {
                1.0
            },
            learning_rate,
            mean_correction: corrected(self.beta_1),
            square_correction: corrected(self.beta_2),
        }
    }

    /// The update, composed of operations that every device supports.
    pub fn step_portable<const D: usize>(
        &self,
        learning_rate: f32,
        weights: Tensor<D>,
        gradient: Tensor<D>,
        moments: Moments<D>,
    ) -> (Tensor<D>, Moments<D>) {
        let norm = gradient.clone().square().sum().sqrt();
        let scale = (norm.recip() * self.max_norm).clamp_max(1.0);
        let gradient = gradient * scale.reshape([1; D]);
        let factors = self.factors(moments.step, learning_rate, 0.0);
        let mean = moments.mean * self.beta_1 + gradient.clone() * (1.0 - self.beta_1);
        let square = moments.square * self.beta_2 + gradient.square() * (1.0 - self.beta_2);
        let spread = (square.clone() * factors.square_correction).sqrt() + self.epsilon;
        let change = mean.clone() * factors.mean_correction / spread * learning_rate;
        (
            weights - change,
            Moments {
                step: moments.step,
                mean,
                square,
            },
        )
    }

    fn step_on_cpu<const D: usize>(
        &self,
        learning_rate: f32,
        weights: Tensor<D>,
        gradient: Tensor<D>,
        moments: Moments<D>,
    ) -> (Tensor<D>, Moments<D>) {
        let gradient = flex(gradient);
        let slope: &[f32] = gradient.storage();
        let sum: f64 = slope.par_chunks(TASK).map(square_sum).sum();
        let factors = self.factors(moments.step, learning_rate, sum.sqrt() as f32);
        let (mut weights, mut mean, mut square) =
            (flex(weights), flex(moments.mean), flex(moments.square));
        let tasks = weights.storage_mut::<f32>().par_chunks_mut(TASK);
        let tasks = tasks.zip(mean.storage_mut::<f32>().par_chunks_mut(TASK));
        let tasks = tasks.zip(square.storage_mut::<f32>().par_chunks_mut(TASK));
        tasks
            .zip(slope.par_chunks(TASK))
            .for_each(|(((weights, mean), square), slope)| {
                self.update(factors, weights, mean, square, slope)
            });
        let moments = Moments {
            step: moments.step,
            mean: tensor(mean),
            square: tensor(square),
        };
        (tensor(weights), moments)
    }

    fn update(
        &self,
        f: Factors,
        weights: &mut [f32],
        mean: &mut [f32],
        square: &mut [f32],
        slope: &[f32],
    ) {
        let rows = weights.iter_mut().zip(mean).zip(square).zip(slope);
        for (((weight, mean), square), slope) in rows {
            let slope = slope * f.gradient;
            *mean = self.beta_1 * *mean + (1.0 - self.beta_1) * slope;
            *square = self.beta_2 * *square + (1.0 - self.beta_2) * slope * slope;
            let spread = (*square * f.square_correction).sqrt() + self.epsilon;
            *weight -= f.learning_rate * *mean * f.mean_correction / spread;
        }
    }
}

/// Sixteen independent sums, which the compiler can put into vector registers.
fn square_sum(values: &[f32]) -> f64 {
    let mut sums = [0f32; 16];
    let chunks = values.chunks_exact(sums.len());
    let rest: f32 = chunks.remainder().iter().map(|v| v * v).sum();
    for chunk in chunks {
        sums.iter_mut()
            .zip(chunk)
            .for_each(|(sum, v)| *sum += v * v);
    }
    sums.iter().map(|&s| f64::from(s)).sum::<f64>() + f64::from(rest)
}

/// A tensor whose storage contains exactly its values, in order.
fn flex<const D: usize>(tensor: Tensor<D>) -> FlexTensor {
    let primitive = tensor.try_into_primitive::<Flex>();
    let primitive = primitive.expect("weights, moments and gradients share a device");
    // A part of a longer tensor has the storage of the whole.
    let n_stored = primitive.bytes().len() / size_of::<f32>();
    if primitive.is_contiguous() && n_stored == primitive.layout().num_elements() {
        primitive
    } else {
        primitive.to_contiguous()
    }
}

fn tensor<const D: usize>(primitive: FlexTensor) -> Tensor<D> {
    Tensor::from_primitive::<Flex>(primitive)
}
