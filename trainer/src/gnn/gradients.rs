//! What a batch asks of the weights: the gradient of its loss, or that of PCGrad (Yu et al. 2020), where
//! tasks do not pull against each other.

use burn::module::{Module, ModuleVisitor, Param, ParamId};
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use rand::Rng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::batch::Batch;
use super::loss::Objective;
use super::network::Network;
use super::prepare::Scaling;

/// How the outputs' demands on the weights that they share become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Gradients {
    /// The gradient of the loss over all outputs.
    Summed,
    /// A gradient for each metric, without what is against another's: a pass over the batch for each.
    Pcgrad,
}

/// Of one batch.
pub struct Demand {
    pub loss: f32,
    pub gradients: GradientsParams,
}

/// The gradient of the loss.
pub fn summed(model: &Network, batch: &Batch, objective: &Objective, scaling: &Scaling) -> Demand {
    let outputs = model.forward(batch, scaling);
    let loss = objective.loss(outputs, batch, scaling);
    Demand {
        loss: loss.clone().inner().into_scalar(),
        gradients: GradientsParams::from_grads(loss.backward(), model),
    }
}

/// The mean over `tasks`, each a scaling in which the task's labels alone count
/// ([`Scaling::of_outputs`]): of their gradients in [`Network::heads`], of those
/// [without conflicts](without_conflicts) in all weights that they share. Where nothing conflicts, tasks
/// have as many outputs each and graphs all their labels, that is the gradient of the loss. A forward and a
/// backward pass for each task.
pub fn pcgrad(
    model: &Network,
    batch: &Batch,
    objective: &Objective,
    tasks: &[Scaling],
    rng: &mut impl Rng,
) -> Demand {
    let heads = model.heads();
    let demands = tasks
        .iter()
        .map(|task| summed(model, batch, objective, task));
    let (losses, tasks): (Vec<f32>, Vec<GradientsParams>) = demands
        .map(|demand| (demand.loss, demand.gradients))
        .unzip();
    let shared: Vec<Tensor<1>> = tasks
        .iter()
        .map(|task| joined(model, task, &heads))
        .collect();
    let mut means = Means {
        tasks: &tasks,
        heads: &heads,
        shared: without_conflicts(&shared, rng),
        n_read: 0,
        gradients: GradientsParams::new(),
    };
    model.visit(&mut means);
    Demand {
        loss: losses.iter().sum::<f32>() / losses.len() as f32,
        gradients: means.gradients,
    }
}

/// Algorithm 1 of the paper, over one vector for each task: from each, in random order, its part against
/// another's is taken. The mean of what is left.
pub fn without_conflicts(tasks: &[Tensor<1>], rng: &mut impl Rng) -> Tensor<1> {
    let squares: Vec<f32> = tasks.iter().map(|task| product(task, task)).collect();
    let mut left = |own: usize| {
        let mut others: Vec<usize> = (0..tasks.len()).filter(|&other| other != own).collect();
        others.shuffle(rng);
        others.into_iter().fold(tasks[own].clone(), |left, other| {
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

/// The gradients of all weights but the heads', one after another; 0 for a weight without one.
fn joined(model: &Network, gradients: &GradientsParams, heads: &[ParamId]) -> Tensor<1> {
    let mut join = Join {
        gradients,
        heads,
        parts: Vec::new(),
    };
    model.visit(&mut join);
    Tensor::cat(join.parts, 0)
}

struct Join<'g> {
    gradients: &'g GradientsParams,
    heads: &'g [ParamId],
    parts: Vec<Tensor<1>>,
}

impl ModuleVisitor for Join<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        if self.heads.contains(&param.id) {
            return;
        }
        let gradient = self.gradients.get::<D>(param.id);
        let gradient = gradient.unwrap_or_else(|| param.val().inner().zeros_like());
        self.parts.push(gradient.flatten(0, D - 1));
    }
}

/// Makes one gradient of the tasks' for every weight that any of them has one of.
struct Means<'g> {
    tasks: &'g [GradientsParams],
    heads: &'g [ParamId],
    /// Of all weights but the heads'.
    shared: Tensor<1>,
    /// How much of `shared` belongs to weights that were visited.
    n_read: usize,
    gradients: GradientsParams,
}

impl ModuleVisitor for Means<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let of_tasks = self.tasks.iter().filter_map(|task| task.get::<D>(param.id));
        let sum = of_tasks.reduce(|sum, gradient| sum + gradient);
        let mean = if self.heads.contains(&param.id) {
            sum.map(|sum| sum / self.tasks.len() as f32)
        } else {
            let shape = param.shape();
            let n = shape.num_elements();
            self.n_read += n;
            let own = self.shared.clone().narrow(0, self.n_read - n, n);
            sum.map(|_| own.reshape(shape))
        };
        if let Some(mean) = mean {
            self.gradients.register(param.id, mean);
        }
    }
}
