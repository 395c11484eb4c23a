//! The gradient of a batch: that of its loss, or that of PCGrad (Yu et al. 2020), which removes conflicts between
//! tasks.

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use rand::Rng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::batch::Batch;
use super::loss::Objective;
use super::network::GraphNetwork;
use super::prepare::Scaling;

/// The way in which the gradients of the outputs are combined for weights that they share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gradients {
    /// The gradient of the loss over all outputs.
    Summed,
    /// A gradient for each metric, without the components that conflict with another metric's. It takes one pass over
    /// the batch for each metric.
    Pcgrad,
}

/// The gradient of one batch.
pub struct BatchGradient {
    /// Value of the loss.
    pub loss: f32,
    /// Gradients of the loss by parameter.
    pub gradients: GradientsParams,
}

/// The gradient of the loss.
pub fn gradient_of_loss(
    model: &GraphNetwork,
    batch: &Batch,
    objective: &Objective,
    scaling: &Scaling,
) -> BatchGradient {
    let outputs = model.forward(batch, scaling);
    let loss = objective.loss(outputs, batch, scaling);
    BatchGradient {
        loss: loss.clone().inner().into_scalar(),
        gradients: GradientsParams::from_grads(loss.backward(), model),
    }
}

/// The mean over `tasks`, each a scaling in which only the task's labels count ([`Scaling::with_outputs`]). For weights
/// in [`GraphNetwork::heads`] it is the mean of their gradients, for all shared weights the mean of their gradients [without
/// conflicts](without_conflicts). It equals the gradient of the loss if nothing conflicts, all tasks have the same
/// number of outputs, and graphs have all labels. It takes a forward and a backward pass for each task.
pub fn pcgrad(
    model: &GraphNetwork,
    batch: &Batch,
    objective: &Objective,
    tasks: &[Scaling],
    rng: &mut impl Rng,
) -> BatchGradient {
    let heads = model.heads();
    let demands = tasks
        .iter()
        .map(|task| gradient_of_loss(model, batch, objective, task));
    let (losses, tasks): (Vec<f32>, Vec<GradientsParams>) = demands
        .map(|demand| (demand.loss, demand.gradients))
        .unzip();
    let shared: Vec<Tensor<1>> = tasks
        .iter()
        .map(|task| concatenated_gradients(model, task, &heads))
        .collect();
    let mut means = TaskMeans {
        tasks: &tasks,
        heads: &heads,
        shared: without_conflicts(&shared, rng),
        n_read: 0,
        gradients: GradientsParams::new(),
    };
    model.visit(&mut means);
    BatchGradient {
        loss: losses.iter().sum::<f32>() / losses.len() as f32,
        gradients: means.gradients,
    }
}

/// Algorithm 1 of the paper, with one vector for each task: removes from each vector, in random order, the components
/// that oppose another one, and returns the mean.
pub fn without_conflicts(tasks: &[Tensor<1>], rng: &mut impl Rng) -> Tensor<1> {
    let squares: Vec<f32> = tasks.iter().map(|task| product(task, task)).collect();
    let mut left = |task: usize| {
        let mut others: Vec<usize> = (0..tasks.len()).filter(|&other| other != task).collect();
        others.shuffle(rng);
        others.into_iter().fold(tasks[task].clone(), |left, other| {
            let along = product(&left, &tasks[other]);
            if along < 0.0 {
                left - tasks[other].clone() * (along / squares[other])
            } else {
                left
            }
        })
    };
    let sum = (0..tasks.len()).map(&mut left).reduce(|a, b| a + b);
    sum.expect("there is a task") / tasks.len() as f32
}

fn product(a: &Tensor<1>, b: &Tensor<1>) -> f32 {
    (a.clone() * b.clone()).sum().into_scalar()
}

/// The gradients of all weights except the heads, concatenated; 0 for a weight without a gradient.
fn concatenated_gradients(
    model: &GraphNetwork,
    gradients: &GradientsParams,
    heads: &[ParamId],
) -> Tensor<1> {
    let mut join = GradientConcatenation {
        gradients,
        heads,
        parts: Vec::new(),
    };
    model.visit(&mut join);
    Tensor::cat(join.parts, 0)
}

struct GradientConcatenation<'g> {
    gradients: &'g GradientsParams,
    heads: &'g [ParamId],
    parts: Vec<Tensor<1>>,
}

impl ModuleVisitor for GradientConcatenation<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.heads.contains(&param.id) {
            return;
        }
        let gradient = self.gradients.get::<D>(param.id);
        let gradient = gradient.unwrap_or_else(|| param.val().inner().zeros_like());
        self.parts.push(gradient.flatten(0, D - 1));
    }
}

/// Combines the gradients of the tasks into one for each weight that has a gradient in any of them.
struct TaskMeans<'g> {
    tasks: &'g [GradientsParams],
    heads: &'g [ParamId],
    /// Mean gradient of all weights except the heads.
    shared: Tensor<1>,
    /// Number of values of `shared` whose weights were visited.
    n_read: usize,
    gradients: GradientsParams,
}

impl ModuleVisitor for TaskMeans<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let of_tasks = self.tasks.iter().filter_map(|task| task.get::<D>(param.id));
        let sum = of_tasks.reduce(|sum, gradient| sum + gradient);
        let mean = if self.heads.contains(&param.id) {
            sum.map(|sum| sum / self.tasks.len() as f32)
        } else {
            let shape = param.shape();
            let n = shape.num_elements();
            self.n_read += n;
            let shared_part = self.shared.clone().narrow(0, self.n_read - n, n);
            sum.map(|_| shared_part.reshape(shape))
        };
        if let Some(mean) = mean {
            self.gradients.register(param.id, mean);
        }
    }
}
