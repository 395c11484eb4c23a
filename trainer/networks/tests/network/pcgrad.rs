//! PCGrad against a version on plain numbers.

use std::path::Path;

use burn::module::{Module, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Tensor};
use litecast_networks::gnn::gradients::{gradient_of_loss, pcgrad, without_conflicts};
use litecast_networks::gnn::network::GraphNetwork;
use litecast_networks::gnn::prepare::Scaling;
use litecast_networks::gnn::shape::Architecture;
use litecast_networks::settings::Settings;
use litecast_networks::training_data::{Data, METRICS};
use litecast_trainer::dataset;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{ARCHITECTURES, Fixture, N_OUTPUTS, OBJECTIVE, floats, jittered, max_difference};

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Algorithm 1 of Yu et al. (2020), and how many projections it took.
fn naive(tasks: &[Vec<f64>], rng: &mut impl Rng) -> (Vec<f64>, usize) {
    let mut mean = vec![0.0; tasks[0].len()];
    let mut n_projections = 0;
    for i in 0..tasks.len() {
        let mut gradient = tasks[i].clone();
        let mut others: Vec<usize> = (0..tasks.len()).filter(|&j| j != i).collect();
        others.shuffle(rng);
        for j in others {
            let along = dot(&gradient, &tasks[j]);
            if along < 0.0 {
                let share = along / dot(&tasks[j], &tasks[j]);
                let pairs = gradient.iter_mut().zip(&tasks[j]);
                pairs.for_each(|(g, other)| *g -= share * other);
                n_projections += 1;
            }
        }
        let pairs = mean.iter_mut().zip(gradient);
        pairs.for_each(|(mean, g)| *mean += g / tasks.len() as f64);
    }
    (mean, n_projections)
}

fn ours(tasks: &[Vec<f64>], rng: &mut impl Rng) -> Vec<f32> {
    let device = Device::flex();
    let tensor = |task: &Vec<f64>| {
        let values: Vec<f32> = task.iter().map(|&value| value as f32).collect();
        Tensor::<1>::from_floats(values.as_slice(), &device)
    };
    let tasks: Vec<Tensor<1>> = tasks.iter().map(tensor).collect();
    floats(without_conflicts(&tasks, rng))
}

fn rng(seed: u64) -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(seed)
}

#[test]
fn two_gradients_are_projected_as_by_hand() {
    let actual = |tasks: [[f64; 2]; 2]| ours(&tasks.map(|task| task.to_vec()), &mut rng(1));
    // (1, 0) loses what is along (-1, 1) and becomes (½, ½); (-1, 1) becomes (0, 1).
    assert_eq!(actual([[1.0, 0.0], [-1.0, 1.0]]), [0.25, 0.75]);
    assert_eq!(actual([[1.0, 0.0], [1.0, 1.0]]), [1.0, 0.5]);
    assert_eq!(actual([[1.0, 0.0], [0.0, 0.0]]), [0.5, 0.0]);
    // Opposed ones leave nothing.
    assert_eq!(actual([[1.0, 2.0], [-2.0, -4.0]]), [0.0, 0.0]);
}

#[test]
fn many_gradients_are_projected_as_naively() {
    for seed in 0..20 {
        let mut draw = rng(100 + seed);
        let task = |_| (0..6).map(|_| draw.random_range(-1.0..1.0)).collect();
        let tasks: Vec<Vec<f64>> = (0..5).map(task).collect();
        let (expected, n_projections) = naive(&tasks, &mut rng(seed));
        let expected: Vec<f32> = expected.iter().map(|&value| value as f32).collect();
        let difference = max_difference(&expected, &ours(&tasks, &mut rng(seed)));
        println!("{n_projections} projections: largest difference {difference:e}");
        assert!(n_projections > 0 && difference < 1e-5);
    }
}

/// Gradients of the weights that tasks share and of the heads, 0 where there is none.
struct Collect<'g> {
    model: &'g GraphNetwork,
    gradients: &'g GradientsParams,
    shared: Vec<f64>,
    heads: Vec<f64>,
}

impl ModuleVisitor for Collect<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let n = param.shape().num_elements();
        let gradient = self.gradients.get::<D>(param.id);
        let values = gradient.map_or_else(|| vec![0.0; n], floats);
        let values = values.into_iter().map(f64::from);
        if self.model.heads().contains(&param.id) {
            self.heads.extend(values)
        } else {
            self.shared.extend(values)
        }
    }
}

fn collected(model: &GraphNetwork, gradients: &GradientsParams) -> (Vec<f64>, Vec<f64>) {
    let mut collect = Collect {
        model,
        gradients,
        shared: Vec::new(),
        heads: Vec::new(),
    };
    model.visit(&mut collect);
    (collect.shared, collect.heads)
}

/// Relative to the largest.
fn difference(expected: &[f64], actual: &[f64]) -> f64 {
    assert_eq!(expected.len(), actual.len());
    let largest = expected.iter().fold(0f64, |a, v| a.max(v.abs()));
    let pairs = expected.iter().zip(actual);
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max) / largest
}

#[test]
fn networks_learn_by_projected_gradients() {
    let device = Device::flex().autodiff();
    let fixture = Fixture::new(&[6, 11, 3, 20, 8, 1]);
    let batch = fixture.batch(&device);
    let tasks = [0, 1, 2].map(|output| fixture.scaling.with_outputs(&[output]));
    assert_eq!(tasks.len(), N_OUTPUTS);
    let mut n_projections = 0;
    for architecture in ARCHITECTURES {
        let model = jittered(fixture.network(architecture, &device));
        let demands = tasks
            .each_ref()
            .map(|task| gradient_of_loss(&model, &batch, &OBJECTIVE, task));
        let separate = demands.each_ref().map(|d| collected(&model, &d.gradients));
        let shared = separate.each_ref().map(|(shared, _)| shared.clone());
        let (expected, n) = naive(&shared, &mut rng(9));
        n_projections += n;
        let demand = pcgrad(&model, &batch, &OBJECTIVE, &tasks, &mut rng(9));
        let (shared, heads) = collected(&model, &demand.gradients);
        let of_shared = difference(&expected, &shared);
        println!("{architecture:?}: {n} projections, largest difference {of_shared:.1e}");
        assert!(of_shared < 1e-4);
        // Every graph has every label, so that the mean of the tasks' losses is the loss of all.
        let whole = gradient_of_loss(&model, &batch, &OBJECTIVE, &fixture.scaling);
        assert!((whole.loss - demand.loss).abs() < 1e-5 * whole.loss);
        if architecture != Architecture::PerOperator {
            let (_, expected) = collected(&model, &whole.gradients);
            assert!(!heads.is_empty() && difference(&expected, &heads) < 1e-4);
        }
    }
    assert!(n_projections > 0);
}

/// Each output is taught by the task of its metric alone.
#[test]
fn tasks_are_the_metrics() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    let dataset = dataset::load_labels(&folder).unwrap();
    let data = Data::new(&dataset, &Settings::default()).unwrap();
    let metrics_of = |task: &Scaling| -> Vec<&str> {
        let weights = data.outputs.iter().zip(&task.label_weights);
        let taught = weights.filter(|&(_, &weight)| weight > 0.0);
        taught.map(|(key, _)| key.metric.as_str()).collect()
    };
    let tasks = data.tasks();
    let metrics: Vec<Vec<&str>> = tasks.iter().map(metrics_of).collect();
    let expected = METRICS.map(|metric| vec![metric.id; 3]);
    assert_eq!(metrics, expected);
}

/// Tasks that agree leave the gradient of the loss as it is.
#[test]
fn tasks_that_agree_change_nothing() {
    let device = Device::flex().autodiff();
    let fixture = Fixture::new(&[6, 11, 3]);
    let batch = fixture.batch(&device);
    let model = fixture.network(Architecture::Seernet, &device);
    let tasks = [fixture.scaling.clone(), fixture.scaling.clone()];
    let projected = pcgrad(&model, &batch, &OBJECTIVE, &tasks, &mut rng(2));
    let plain = gradient_of_loss(&model, &batch, &OBJECTIVE, &fixture.scaling);
    let (projected, plain) = (
        collected(&model, &projected.gradients),
        collected(&model, &plain.gradients),
    );
    let shared = difference(&plain.0, &projected.0);
    let heads = difference(&plain.1, &projected.1);
    println!("largest difference: shared {shared:.1e}, heads {heads:.1e}");
    assert!(shared < 1e-6 && heads < 1e-6);
}
