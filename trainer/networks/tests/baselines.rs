//! The baselines: forests on functions that are known, sums that add up, the network's own split.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::LazyLock;

use litecast::learned::features::{Features, N_COLUMNS};
use litecast::learned::manifest::{ALL, Manifest};
use litecast_networks::baselines::forests::KernelForests;
use litecast_networks::baselines::kernels::Kernel;
use litecast_networks::baselines::problem::{Graph, Problem};
use litecast_networks::baselines::{Method, leave_one_out, network_errors};
use litecast_networks::feature_columns::column;
use litecast_networks::forest::{Columns, Forest, Growth};
use litecast_networks::gnn::prepare::Example;
use litecast_networks::gnn::whole_graph::WholeGraph;
use litecast_networks::settings::{Settings, network_settings};
use litecast_networks::training_data::Data;
use litecast_trainer::dataset::{self, Dataset, LabelledGraph};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const GROWTH: Growth = Growth {
    columns: Columns::NnMeter,
    n_trees: 20,
    seed: 1,
};

/// Features of all their graphs would be made for a minute, and forests of them be grown for two.
const N_EACH: usize = 120;
const SPACES: [&str; 3] = ["autoencoder", "lstm", "resnext"];
static DATASET: LazyLock<Dataset> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    dataset::load_spaces(&folder, &SPACES, N_EACH).expect("a dataset")
});

/// All graphs, without their operators.
static LABELS: LazyLock<Dataset> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data");
    dataset::load_labels(&folder).expect("a dataset")
});

/// What is read of a few graphs alone is what the whole tables have of them.
#[test]
fn some_graphs_have_the_labels_of_the_whole_tables() {
    assert_eq!(DATASET.label_keys, LABELS.label_keys);
    let mut n_each = [0; SPACES.len()];
    let is_first = |graph: &&LabelledGraph| {
        let idx = SPACES.iter().position(|&space| space == graph.space);
        idx.is_some_and(|idx| {
            n_each[idx] += 1;
            n_each[idx] <= N_EACH
        })
    };
    let expected: Vec<_> = LABELS.graphs.iter().filter(is_first).collect();
    assert_eq!(DATASET.graphs.len(), expected.len());
    for (actual, expected) in DATASET.graphs.iter().zip(expected) {
        assert_eq!(actual.graph_id, expected.graph_id);
        assert_eq!(actual.structure_hash, expected.structure_hash);
        assert_eq!(actual.labels, expected.labels, "{}", actual.graph_id);
        let n_operators = actual.features.n_nodes();
        let mut of_operators = actual.operator_labels.iter().flatten();
        assert!(of_operators.all(|labels| labels.len() == n_operators));
    }
}

const ADD: i32 = 0;
const CONV_2D: i32 = 3;
const SOFTMAX: i32 = 25;

/// Random points and a product of two of their coordinates, the third of no effect.
fn products(n: usize, rng: &mut impl Rng) -> (Vec<Vec<f64>>, Vec<f64>) {
    let mut point = || (0..3).map(|_| rng.random_range(1.0..2.0)).collect();
    let rows: Vec<Vec<f64>> = (0..n).map(|_| point()).collect();
    let costs = rows.iter().map(|row| row[0] * row[1]).collect();
    (rows, costs)
}

#[test]
fn forest_learns_a_known_function() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let (rows, costs) = products(2000, &mut rng);
    let forest = Forest::fit(&rows, costs, GROWTH).unwrap();
    let (rows, costs) = products(500, &mut rng);
    let actual = forest.predict(rows.clone()).unwrap();
    let worst = actual
        .iter()
        .zip(&costs)
        .map(|(actual, cost)| (actual / cost - 1.0).abs());
    let worst = worst.fold(0.0, f64::max);
    println!("off by {worst} at most; values differ by a factor of 4");
    assert!(worst < 0.1, "{worst}");

    let again = Forest::fit(&rows, costs.clone(), GROWTH).unwrap();
    let same = Forest::fit(&rows, costs.clone(), GROWTH).unwrap();
    let other = Forest::fit(&rows, costs, Growth { seed: 2, ..GROWTH }).unwrap();
    let predict = |forest: &Forest| forest.predict(rows.clone()).unwrap();
    assert_eq!(predict(&again), predict(&same));
    assert_ne!(predict(&again), predict(&other));
}

#[test]
fn forest_of_one_cost_says_it() {
    let rows = vec![vec![1.0, 2.0], vec![3.0, 4.0]];
    let forest = Forest::fit(&rows, vec![7.0, 7.0], GROWTH).unwrap();
    assert_eq!(forest.predict(vec![vec![9.0, 9.0]]).unwrap(), [7.0]);
    // Two costs of the same features: nothing to split by.
    let rows = vec![vec![1.0], vec![1.0]];
    let forest = Forest::fit(&rows, vec![2.0, 4.0], GROWTH).unwrap();
    assert_eq!(forest.predict(vec![vec![5.0]]).unwrap(), [3.0]);
}

/// A chain of convolutions, each with an addition that costs nothing, of which some take longer.
fn chain(n_convolutions: usize, rng: &mut impl Rng) -> (Features, Example) {
    let n_nodes = 2 * n_convolutions;
    let mut nodes = vec![0.0; n_nodes * N_COLUMNS];
    let mut costs = vec![0.0; n_nodes];
    for convolution in 0..n_convolutions {
        let log1p_macs = rng.random_range(5.0..9.0f32);
        nodes[2 * convolution * N_COLUMNS + column("log1p_macs")] = log1p_macs;
        costs[2 * convolution] = log1p_macs.exp_m1();
    }
    let features = Features {
        categories: [CONV_2D, ADD].repeat(n_convolutions),
        nodes,
        edge_src: (0..n_nodes as u32 - 1).collect(),
        edge_dst: (1..n_nodes as u32).collect(),
    };
    let example = Example {
        categories: vec![0; n_nodes],
        nodes: Vec::new(),
        whole: WholeGraph::default(),
        planned: Vec::new(),
        edge_src: features.edge_src.clone(),
        edge_dst: features.edge_dst.clone(),
        labels: vec![costs.iter().sum()],
        operator_labels: costs,
    };
    (features, example)
}

#[test]
fn graph_is_the_sum_of_its_kernels() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    let chains: Vec<_> = (1..100).map(|n| chain(1 + n % 7, &mut rng)).collect();
    let graphs: Vec<Graph> = chains
        .iter()
        .map(|(features, example)| Graph { features, example })
        .collect();
    let (training, test) = graphs.split_at(80);
    let forests = KernelForests::fit(training, 0, GROWTH, |_| true).unwrap();
    let features: Vec<&Features> = test.iter().map(|graph| graph.features).collect();
    let estimates = forests.estimates(&features).unwrap();
    let kernels = forests.kernels(&features).unwrap();
    let mut errors = Vec::new();
    for ((graph, kernels), estimate) in test.iter().zip(&kernels).zip(&estimates) {
        let sum: f64 = kernels.iter().map(|(_, cost)| cost).sum();
        assert_eq!(sum as f32, *estimate);
        // Each convolution with its addition, and every operator in one kernel.
        let operators: Vec<&[usize]> = kernels
            .iter()
            .map(|(k, _)| k.operators.as_slice())
            .collect();
        let pairs: Vec<Vec<usize>> = (0..graph.features.n_nodes() / 2)
            .map(|k| vec![2 * k, 2 * k + 1])
            .collect();
        assert_eq!(operators, pairs);
        errors.push(f64::from(*estimate) / graph.label(0).unwrap() - 1.0);
    }
    let mean = errors.iter().map(|e| e.abs()).sum::<f64>() / errors.len() as f64;
    println!("mean error {:.2} %", 100.0 * mean);
    assert!(mean < 0.05);
}

#[test]
fn unknown_kernels_cost_nothing() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (features, example) = chain(4, &mut rng);
    let graph = Graph {
        features: &features,
        example: &example,
    };
    let forests = KernelForests::fit(&[graph], 0, GROWTH, |_| true).unwrap();
    let mut unknown = features.clone();
    unknown.categories[4] = SOFTMAX;
    let kernels = forests.kernels(&[&unknown]).unwrap().remove(0);
    let cost_of = |node: usize| {
        let has_it = |(kernel, _): &&(Kernel, f64)| kernel.operators.contains(&node);
        kernels.iter().find(has_it).unwrap().1
    };
    assert_eq!(cost_of(4), 0.0);
    assert!(cost_of(0) > 0.0 && cost_of(6) > 0.0);
}

/// A space that is left out is measured on whole, and by nothing that was fitted to it.
#[test]
fn left_out_spaces_are_measured_whole() {
    let families = SPACES.map(str::to_owned);
    let left_out = leave_one_out(&DATASET, &families, &Settings::default(), 5, None).unwrap();
    let spaces: Vec<&str> = left_out.iter().map(|left| left.space.as_str()).collect();
    assert_eq!(spaces, SPACES);
    let latency = DATASET.label_idx("ethos-u55-256", "latency").unwrap();
    for left in &left_out {
        let graphs = DATASET
            .graphs
            .iter()
            .filter(|graph| graph.space == left.space);
        let n_labelled = graphs
            .filter(|graph| graph.labels[latency].is_some())
            .count();
        for measured in &left.measured {
            let of_target = measured.errors.iter();
            for e in of_target.filter(|e| e.target == "ethos-u55-256" && e.metric == "latency") {
                println!("{} on {}: {:?}", measured.method.id(), left.space, e.error);
                assert_eq!((e.space.as_str(), e.error.n), (ALL, n_labelled));
            }
        }
    }
    // No kernel of an LSTM is known from elsewhere: nearly all of its cost is missed.
    let method = Method::KernelForests(Columns::NnMeter);
    let mut of_lstm = left_out[1].measured.iter();
    let forests = of_lstm.find(|measured| measured.method == method);
    let forests = forests.expect("a method");
    assert!(forests.errors.iter().all(|e| e.error.median_ape > 50.0));
}

/// The dataset of the repository on the split of the network that ships.
#[test]
fn split_is_the_networks() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = File::open(root.join("../../bundle/manifest.json")).unwrap();
    let manifest: Manifest = serde_json::from_reader(std::io::BufReader::new(file)).unwrap();
    let settings = network_settings(&manifest).unwrap();
    let dataset = &*LABELS;
    let data = Data::new(dataset, &settings).unwrap();
    let network = network_errors(&manifest, &data).unwrap();
    let problem = Problem::new(dataset, &data).unwrap();
    assert_eq!(problem.training.len(), data.training.examples.len());

    // As many graphs under every error, and nothing seen on both sides.
    for (output, key) in data.outputs.iter().enumerate() {
        let labelled = problem
            .test
            .iter()
            .filter(|g| g.label(output).is_some())
            .count();
        let is_it = |e: &&litecast::learned::manifest::OutputError| {
            e.target == key.target && e.metric == key.metric && e.space == ALL
        };
        assert_eq!(network.iter().find(is_it).unwrap().error.n, labelled);
    }
    let ids = |ids: &[String]| ids.iter().cloned().collect::<BTreeSet<_>>();
    assert!(ids(&data.training.graph_ids).is_disjoint(&ids(&data.test.graph_ids)));

    let other = Settings {
        seed: settings.seed + 1,
        ..settings
    };
    let error = network_errors(&manifest, &Data::new(dataset, &other).unwrap()).unwrap_err();
    assert!(error.to_string().contains("trained and measured on"));
}

/// A floor has an answer for the latency of each target that it knows the peaks of, positive on every
/// held-out graph.
#[test]
fn roofline_estimates_the_latency_of_npus() {
    let data = Data::new(&DATASET, &Settings::default()).unwrap();
    let problem = Problem::new(&DATASET, &data).unwrap();
    for (output, key) in data.outputs.iter().enumerate() {
        let actual = Method::Roofline
            .estimates(&problem, &data, output, 1, 1)
            .unwrap();
        let is_known = key.metric == "latency" && key.target.starts_with("ethos-u");
        assert_eq!(actual.is_some(), is_known, "{key:?}");
        if let Some(actual) = actual {
            println!("{} {}: {}", key.target, key.metric, actual.fitted);
            assert_eq!(actual.values.len(), problem.test.len());
            assert!(actual.values.iter().all(|e| e.is_finite() && *e > 0.0));
        }
    }
}
