//! The network against independent views of what it computes.

mod naive;
mod pcgrad;
mod whole_graph;

use std::sync::{Mutex, MutexGuard, PoisonError};

use burn::grad_clipping::GradientClippingConfig;
use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer, Optimizer};
use burn::tensor::{Device, Distribution, Tensor};
use litecast::learned::features::Features;
use litecast_networks::gnn::adam::{Adam, Moments};
use litecast_networks::gnn::aggregate::{
    Neighbours, concat_neighbour_sums, concat_neighbour_sums_portable, max_per_graph,
    max_per_graph_portable,
};
use litecast_networks::gnn::batch::Batch;
use litecast_networks::gnn::loss::Objective;
use litecast_networks::gnn::network::GraphNetwork;
use litecast_networks::gnn::prepare::{Example, Labels, OutputRules, Readout, Scaling};
use litecast_networks::gnn::shape::{Architecture, Shape};
use litecast_networks::gnn::synthetic;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

const N_COLUMNS: usize = 6;
const N_OUTPUTS: usize = 3;
const ARCHITECTURES: [Architecture; 6] = [
    Architecture::Perfsage,
    Architecture::PerOperator,
    Architecture::Dippm,
    Architecture::Nnlp,
    Architecture::Seernet,
    Architecture::Eagle,
];
const OBJECTIVE: Objective = Objective {
    alpha: Some(0.5),
    operator_weight: 1.0,
};

/// The random generator belongs to the process, and tests run beside each other.
fn alone_with_generator() -> MutexGuard<'static, ()> {
    static GENERATOR: Mutex<()> = Mutex::new(());
    GENERATOR.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Fixture {
    graphs: Vec<Features>,
    scaling: Scaling,
    examples: Vec<Example>,
}

impl Fixture {
    fn new(sizes: &[usize]) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let graph = |&n| synthetic::features(n, N_COLUMNS, 4, &mut rng);
        let graphs: Vec<Features> = sizes.iter().map(graph).collect();
        let label = |g: &Features| synthetic::labels(g, N_COLUMNS, N_OUTPUTS);
        let labels: Vec<Labels> = graphs.iter().map(label).collect();
        let pairs: Vec<_> = graphs.iter().zip(&labels).collect();
        let readouts = vec![Readout::Sum, Readout::Max, Readout::Sum];
        let ceilings = vec![f32::MAX; N_OUTPUTS];
        let rules = OutputRules {
            readouts,
            ceilings,
            planned_columns: (0..N_OUTPUTS).map(|k| (k > 0).then_some(k)).collect(),
        };
        let scaling = Scaling::fit(synthetic::columns(N_COLUMNS), rules, &pairs);
        let examples = pairs.iter().map(|(g, l)| scaling.example(g, l)).collect();
        Self {
            graphs,
            scaling,
            examples,
        }
    }

    fn batch(&self, device: &Device) -> Batch {
        Batch::new(&self.examples.iter().collect::<Vec<_>>(), N_COLUMNS, device)
    }

    fn network(&self, architecture: Architecture, device: &Device) -> GraphNetwork {
        let _alone = alone_with_generator();
        device.seed(11);
        let shape = Shape {
            architecture,
            n_columns: N_COLUMNS,
            n_categories: self.scaling.vocabulary.len(),
            n_encoders: self.scaling.vocabulary.len(),
            n_outputs: N_OUTPUTS,
            embedding: 3,
            hidden: 8,
            head: 16,
            blocks: 2,
        };
        let network = GraphNetwork::new(&shape, device);
        // A weight is drawn when it is first looked at.
        network.visit(&mut Look);
        network
    }
}

struct Look;

impl ModuleVisitor for Look {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        param.val();
    }
}

fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_to_vec().expect("f32")
}

fn forward(network: &GraphNetwork, batch: &Batch, fixture: &Fixture) -> Vec<f32> {
    floats(network.forward(batch, &fixture.scaling).standardised)
}

fn max_difference(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    a.iter()
        .zip(b)
        .map(|(a, b)| (a - b).abs())
        .fold(0.0, f32::max)
}

/// Our passes over memory, and their gradients, against the library's own operations.
#[test]
fn cpu_kernels_agree_with_portable_operations() {
    let device = Device::flex().autodiff();
    let batch = Fixture::new(&[5, 1, 40, 17]).batch(&device);
    let topology = &batch.topology;
    let _alone = alone_with_generator();
    let values = Tensor::<2>::random([63, 12], Distribution::Normal(0.0, 1.0), &device);
    let run = |ours: bool, neighbours| {
        let input = Tensor::<2>::from_data(values.to_data(), &device).require_grad();
        let positive = input.clone().abs();
        let (sums, maxima) = if ours {
            (
                concat_neighbour_sums(positive.clone(), topology, neighbours),
                max_per_graph(input.clone(), topology),
            )
        } else {
            let maxima = max_per_graph_portable(input.clone(), topology);
            let sums = concat_neighbour_sums_portable(positive, topology, neighbours);
            (sums, maxima)
        };
        // Weights that tell the sums apart.
        let [_, width] = sums.dims();
        let weights: Vec<f32> = (0..width).map(|k| 1.0 + k as f32).collect();
        let weights = Tensor::<1>::from_floats(weights.as_slice(), &device).unsqueeze::<2>();
        let loss = (sums.clone() * weights).square().sum() * 1e-2 + maxima.clone().square().sum();
        let gradients = loss.backward();
        let gradient = input
            .grad(&gradients)
            .expect("the loss depends on the input");
        [floats(sums), floats(maxima), floats(gradient)]
    };
    let all = [
        Neighbours::Together,
        Neighbours::Apart,
        Neighbours::Predecessors,
        Neighbours::Successors,
    ];
    for neighbours in all {
        let (ours, portable) = (run(true, neighbours), run(false, neighbours));
        for (name, k) in [("neighbour sums", 0), ("maxima", 1), ("gradients", 2)] {
            let largest = portable[k].iter().fold(0f32, |a, v| a.max(v.abs()));
            let difference = max_difference(&ours[k], &portable[k]) / largest;
            println!("{neighbours:?} {name}: largest difference {difference:e} of the largest");
            assert!(difference < 1e-5);
        }
    }
}

/// Adds `step` times a fixed random direction to the `index`-th weight tensor.
struct Nudge {
    index: usize,
    step: f32,
    n_batches: usize,
    /// Whether the result is to have a gradient.
    is_tracked: bool,
}

fn direction<const D: usize>(like: &Tensor<D>, index: usize) -> Tensor<D> {
    use rand::Rng;
    let mut rng = ChaCha8Rng::seed_from_u64(index as u64);
    let n = like.shape().num_elements();
    let values: Vec<f32> = (0..n).map(|_| rng.random_range(-1.0..1.0)).collect();
    let data = burn::tensor::TensorData::new(values, like.shape());
    Tensor::from_data(data, &like.device())
}

impl ModuleMapper for Nudge {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        self.n_batches += 1;
        if self.n_batches - 1 != self.index {
            return param;
        }
        let (index, step) = (self.index, self.step);
        param.map(|weights| {
            let nudge = direction(&weights, index) * step;
            let nudged = (weights + nudge).detach();
            if self.is_tracked {
                nudged.require_grad()
            } else {
                nudged
            }
        })
    }
}

/// Slope of the loss along each tensor's direction, from the gradients.
struct Slopes<'g> {
    gradients: &'g GradientsParams,
    slopes: Vec<f32>,
}

impl ModuleVisitor for Slopes<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let slope = self.gradients.get::<D>(param.id).map_or(0.0, |gradient| {
            let along = gradient.clone() * direction(&gradient, self.slopes.len());
            along.sum().into_scalar()
        });
        self.slopes.push(slope);
    }
}

#[test]
fn gradients_agree_with_finite_differences() {
    ARCHITECTURES.into_iter().for_each(check_gradients);
}

/// Away from biases of 0, where a unit whose inputs are all 0 sits on its activation's kink.
fn jittered(mut model: GraphNetwork) -> GraphNetwork {
    for index in 0..100 {
        model = model.map(&mut Nudge {
            index,
            step: 0.05,
            n_batches: 0,
            is_tracked: true,
        });
    }
    model
}

fn check_gradients(architecture: Architecture) {
    // Small ones are noisy in f32, large ones step over the kinks of activations and maxima: a right
    // slope agrees with one of them.
    const STEPS: [f32; 4] = [1e-2, 3e-3, 1e-3, 3e-4];
    // Many graphs, so that no single unit on its kink decides a slope.
    let fixture = Fixture::new(&(1..=12).cycle().take(60).collect::<Vec<_>>());
    let device = Device::flex().autodiff();
    let model = jittered(fixture.network(architecture, &device));
    let loss_of = |model: &GraphNetwork, batch: &Batch| {
        let outputs = model.forward(batch, &fixture.scaling);
        OBJECTIVE.loss(outputs, batch, &fixture.scaling)
    };
    let batch = fixture.batch(&device);
    let gradients = GradientsParams::from_grads(loss_of(&model, &batch).backward(), &model);
    let mut slopes = Slopes {
        gradients: &gradients,
        slopes: Vec::new(),
    };
    model.visit(&mut slopes);
    let plain = Device::flex();
    let batch = fixture.batch(&plain);
    let value_of = |model: &GraphNetwork| -> f32 { loss_of(model, &batch).into_scalar() };
    let largest = slopes.slopes.iter().fold(0f32, |a, s| a.max(s.abs()));
    let mut worst = 0f32;
    for (index, &slope) in slopes.slopes.iter().enumerate() {
        let at = |step| {
            value_of(&model.valid().map(&mut Nudge {
                index,
                step,
                n_batches: 0,
                is_tracked: false,
            }))
        };
        let difference = |step: f32| {
            let measured = (at(step) - at(-step)) / (2.0 * step);
            (slope - measured).abs() / (slope.abs() + 0.05 * largest)
        };
        let difference = STEPS.map(difference).into_iter().fold(f32::MAX, f32::min);
        if difference > 0.01 {
            println!("tensor {index}: slope {slope}, difference {difference}");
        }
        worst = worst.max(difference);
    }
    println!(
        "{architecture:?}: {} weight tensors, largest relative difference {worst:.4}",
        slopes.slopes.len()
    );
    assert!(slopes.slopes.len() >= 10 && largest > 0.01);
    assert!(worst < 0.05, "expected gradients within 5 %, found {worst}");
}

/// The order in which a file lists its operators carries no meaning.
#[test]
fn order_of_nodes_does_not_matter() {
    let device = Device::flex();
    let fixture = Fixture::new(&[30]);
    for architecture in ARCHITECTURES {
        let model = fixture.network(architecture, &device);
        let straight = forward(&model, &fixture.batch(&device), &fixture);
        let permuted = permute(&fixture.graphs[0]);
        let labels = Labels::none(permuted.n_nodes(), N_OUTPUTS);
        let example = fixture.scaling.example(&permuted, &labels);
        let batch = Batch::new(&[&example], N_COLUMNS, &device);
        let difference = max_difference(&straight, &forward(&model, &batch, &fixture));
        println!("{architecture:?}: largest difference {difference:e}");
        assert!(difference < 1e-5);
    }
}

fn permute(graph: &Features) -> Features {
    let mut order: Vec<usize> = (0..graph.n_nodes()).collect();
    order.shuffle(&mut ChaCha8Rng::seed_from_u64(5));
    let mut place = vec![0u32; order.len()];
    order
        .iter()
        .zip(0..)
        .for_each(|(&node, at)| place[node] = at);
    let rows: Vec<&[f32]> = graph.nodes.chunks_exact(N_COLUMNS).collect();
    Features {
        categories: order.iter().map(|&node| graph.categories[node]).collect(),
        nodes: order.iter().flat_map(|&node| rows[node].to_vec()).collect(),
        edge_src: graph.edge_src.iter().map(|&n| place[n as usize]).collect(),
        edge_dst: graph.edge_dst.iter().map(|&n| place[n as usize]).collect(),
    }
}

/// A graph's estimate is the same alone and among others.
#[test]
fn graphs_of_a_batch_do_not_touch() {
    let device = Device::flex();
    let fixture = Fixture::new(&[3, 25, 1, 9]);
    for architecture in ARCHITECTURES {
        let model = fixture.network(architecture, &device);
        let together = forward(&model, &fixture.batch(&device), &fixture);
        for (k, example) in fixture.examples.iter().enumerate() {
            let batch = Batch::new(&[example], N_COLUMNS, &device);
            let expected = &together[k * N_OUTPUTS..(k + 1) * N_OUTPUTS];
            let difference = max_difference(&forward(&model, &batch, &fixture), expected);
            println!("{architecture:?}, graph {k}: largest difference {difference:e}");
            assert!(difference < 1e-5);
        }
    }
}

const ADAM: Adam = Adam {
    beta_1: 0.9,
    beta_2: 0.999,
    epsilon: 1e-8,
    max_norm: 1.0,
    weight_decay: 0.0,
};

/// Our pass over memory against the library's optimiser and against tensor operations.
#[test]
fn adam_agrees_with_the_library() {
    let device = Device::flex();
    let theirs = AdamConfig::new().with_epsilon(1e-8).build();
    let clipping = GradientClippingConfig::Norm(1.0).init();
    let _alone = alone_with_generator();
    let start = Tensor::<2>::random([300, 200], Distribution::Normal(0.0, 1.0), &device);
    let (mut a, mut b, mut c) = (start.clone(), start.clone(), start);
    let (mut state_a, mut state_b) = (None, None);
    let mut moments = Moments {
        step: 0,
        mean: a.zeros_like(),
        square: a.zeros_like(),
    };
    for step in 0..5 {
        let size = 0.003 * 2f64.powi(step);
        let slope = Tensor::<2>::random([300, 200], Distribution::Normal(0.1, size), &device);
        (a, state_a) = ADAM.step(1e-2, a, slope.clone(), state_a);
        (b, state_b) = theirs.step(1e-2, b, clipping.clip_gradient(slope.clone()), state_b);
        moments.step += 1;
        (c, moments) = ADAM.step_portable(1e-2, c, slope, moments);
    }
    let library = max_difference(&floats(a.clone()), &floats(b));
    let portable = max_difference(&floats(a), &floats(c));
    println!("largest difference: library {library:e}, tensor operations {portable:e}");
    assert!(library < 1e-5 && portable < 1e-5);
}

/// A gradient that is a part of a longer tensor is that part, not the longer one's beginning.
#[test]
fn adam_takes_parts_of_tensors() {
    let device = Device::flex();
    let _alone = alone_with_generator();
    let weights = Tensor::<1>::random([40], Distribution::Normal(0.0, 1.0), &device);
    let slopes = Tensor::<1>::random([100], Distribution::Normal(0.0, 1.0), &device);
    let part = slopes.narrow(0, 50, 40);
    let copy = Tensor::from_data(part.to_data(), &device);
    let stepped = |slope| floats(ADAM.step(1e-2, weights.clone(), slope, None).0);
    assert_eq!(stepped(part), stepped(copy));
}

/// Losses of the first steps on a fixed small set. A change here changes every training run:
/// rewrite the numbers only when that is meant.
#[test]
fn loss_trace_is_as_frozen() {
    const FROZEN: [[f32; 8]; 6] = [
        [
            0.8351682, 0.83255917, 0.8281999, 0.82120544, 2.5254898, 2.5059092, 2.4704118,
            2.4664848,
        ],
        [
            1.6455979, 1.5343907, 1.4545078, 1.3813848, 2.5606532, 2.363568, 2.1755242, 2.0089166,
        ],
        [
            0.8590071, 0.8398437, 0.82382417, 0.8090285, 2.4173274, 2.370466, 2.3144445, 2.2549322,
        ],
        [
            0.8709465, 0.8305192, 0.79224354, 0.7571287, 2.4794688, 2.4499412, 2.4236836, 2.384677,
        ],
        [
            0.8043496, 0.7848989, 0.7595009, 0.72617966, 1.8287112, 1.6484114, 1.4373956, 1.2108058,
        ],
        [
            0.8467281, 0.84323895, 0.83993024, 0.836684, 2.5735407, 2.560033, 2.5390577, 2.5143666,
        ],
    ];
    for (architecture, frozen) in ARCHITECTURES.into_iter().zip(FROZEN) {
        let trace = loss_trace(architecture, frozen.len());
        println!("{architecture:?}: {trace:?}");
        let is_close = |(actual, frozen): (&f32, f32)| (actual - frozen).abs() < 2e-3 * frozen;
        assert!(
            trace.iter().zip(frozen).all(is_close),
            "{architecture:?}: expected {frozen:?}, found {trace:?}"
        );
    }
}

fn loss_trace(architecture: Architecture, n_steps: usize) -> Vec<f32> {
    let device = Device::flex().autodiff();
    let fixture = Fixture::new(&[6, 11, 3, 20, 8, 1]);
    let mut model = fixture.network(architecture, &device);
    let mut optimiser = ModuleOptimizer::from(ADAM);
    let mut trace = Vec::new();
    for step in 0..n_steps {
        let batch = fixture.batch(&device);
        let objective = Objective {
            alpha: (step >= 4).then_some(1.0),
            ..OBJECTIVE
        };
        let outputs = model.forward(&batch, &fixture.scaling);
        let loss = objective.loss(outputs, &batch, &fixture.scaling);
        trace.push(loss.clone().inner().into_scalar::<f32>());
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimiser.step(3e-3, model, gradients);
    }
    trace
}
