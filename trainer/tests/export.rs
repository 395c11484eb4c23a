//! The exported file against the network it came from: in native tract and in ONNX Runtime.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::{env, fs};

use burn::tensor::{Device, Tensor as BurnTensor};
use litecast::learned::features::Features;
use litecast::learned::manifest::tensor_names;
use litecast::learned::network as predictor;
use litecast::learned::packed::Batch;
use litecast_trainer::gnn::batch::Batch as TrainingBatch;
use litecast_trainer::gnn::network::Network;
use litecast_trainer::gnn::prepare::{Labels, OutputRules, Readout, Scaling};
use litecast_trainer::gnn::shape::{Architecture, Shape};
use litecast_trainer::gnn::synthetic;
use litecast_trainer::onnx;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tract_onnx::prelude::*;

const N_COLUMNS: usize = 46;
const N_CATEGORIES: usize = 12;
const N_OUTPUTS: usize = 9;
/// One node without edges, small, of MobileNet's size, and PerfSAGE's largest graph.
const SIZES: [usize; 5] = [1, 2, 7, 70, 994];
/// Largest relative difference between two runtimes.
const TOLERANCE: f32 = 1e-4;

struct Fixture {
    graphs: Vec<Features>,
    scaling: Scaling,
    architecture: Architecture,
    model: Network,
    file: Vec<u8>,
}

/// A first layer for each category, or one for all.
#[derive(Clone, Copy)]
enum Encoders {
    Own,
    Shared,
}

const NETWORKS: [(Architecture, Encoders); 7] = [
    (Architecture::Perfsage, Encoders::Own),
    (Architecture::Perfsage, Encoders::Shared),
    (Architecture::PerOperator, Encoders::Own),
    (Architecture::Dippm, Encoders::Own),
    (Architecture::Nnlp, Encoders::Own),
    (Architecture::Seernet, Encoders::Own),
    (Architecture::Eagle, Encoders::Own),
];

fn fixture((architecture, encoders): (Architecture, Encoders)) -> Fixture {
    let mut rng = ChaCha8Rng::seed_from_u64(17);
    let sizes = SIZES.iter().chain(&[30; 20]);
    let graphs: Vec<Features> = sizes
        .map(|&n| synthetic::features(n, N_COLUMNS, N_CATEGORIES, &mut rng))
        .collect();
    let label = |graph: &Features| synthetic::labels(graph, N_COLUMNS, N_OUTPUTS);
    let labels: Vec<Labels> = graphs.iter().map(label).collect();
    let readout = |k| [Readout::Sum, Readout::Max][k % 2];
    let readouts = (0..N_OUTPUTS).map(readout).collect();
    let pairs: Vec<_> = graphs.iter().zip(&labels).collect();
    // One that cuts off, the others out of reach.
    let ceilings = (0..N_OUTPUTS).map(|k| [f32::MAX, 2.0][k % 2]).collect();
    let rules = OutputRules {
        readouts,
        ceilings,
        planned_columns: (0..N_OUTPUTS).map(|k| (k > 0).then_some(k)).collect(),
    };
    let scaling = Scaling::fit(synthetic::columns(N_COLUMNS), rules, &pairs);
    let shape = Shape {
        architecture,
        n_columns: N_COLUMNS,
        n_categories: scaling.vocabulary.len(),
        n_encoders: match encoders {
            Encoders::Own => scaling.vocabulary.len(),
            Encoders::Shared => 1,
        },
        n_outputs: N_OUTPUTS,
        embedding: 16,
        hidden: 64,
        head: 256,
        blocks: 2,
    };
    let device = Device::flex();
    // The generator belongs to the process, and tests run beside each other.
    static GENERATOR: Mutex<()> = Mutex::new(());
    let _alone = GENERATOR.lock().unwrap();
    device.seed(23);
    let model = Network::new(&shape, &device).rounded_to_f16();
    let file = onnx::export(&model, &scaling, "test").unwrap();
    Fixture {
        graphs: graphs[..SIZES.len()].to_vec(),
        scaling,
        architecture,
        model,
        file,
    }
}

impl Fixture {
    /// Each graph alone, and all at once.
    fn batches(&self) -> Vec<Vec<&Features>> {
        let alone = self.graphs.iter().map(|graph| vec![graph]);
        alone.chain([self.graphs.iter().collect()]).collect()
    }

    fn inputs(&self, graphs: &[&Features]) -> Batch {
        Batch::new(graphs, |code| self.scaling.vocabulary.index(code) as i64)
    }

    /// Estimates of the graphs, followed by those of their operators where there are any.
    fn trained(&self, graphs: &[&Features]) -> Vec<f32> {
        let example = |graph: &&Features| {
            let labels = Labels::none(graph.n_nodes(), N_OUTPUTS);
            self.scaling.example(graph, &labels)
        };
        let examples: Vec<_> = graphs.iter().map(example).collect();
        let examples: Vec<_> = examples.iter().collect();
        let batch = TrainingBatch::new(&examples, N_COLUMNS, &Device::flex());
        let outputs = self.model.forward(&batch, &self.scaling);
        let floats = |tensor: BurnTensor<2>| tensor.into_data().try_to_vec::<f32>().expect("f32");
        let mut estimates: Vec<f32> = floats(outputs.standardised)
            .iter()
            .enumerate()
            .map(|(k, &o)| self.scaling.estimate(k % N_OUTPUTS, o))
            .collect();
        let ceilings = self.scaling.ceilings.iter().cycle();
        let operators = outputs.operators.into_iter().flat_map(floats);
        estimates.extend(
            operators
                .zip(ceilings)
                .map(|(value, &most)| value.min(most)),
        );
        estimates
    }
}

fn largest_relative_difference(expected: &[f32], found: &[f32]) -> f32 {
    assert_eq!(expected.len(), found.len());
    let relative = |(e, f): (&f32, &f32)| (f / e - 1.0).abs();
    expected.iter().zip(found).map(relative).fold(0.0, f32::max)
}

fn check(runtime: &str, fixture: &Fixture, estimates: &[Vec<f32>]) {
    let batches = fixture.batches();
    assert_eq!(batches.len(), estimates.len());
    for (graphs, found) in batches.iter().zip(estimates) {
        let difference = largest_relative_difference(&fixture.trained(graphs), found);
        let n: usize = graphs.iter().map(|graph| graph.n_nodes()).sum();
        println!(
            "{:?} in {runtime}, {} graphs, {n} nodes: largest relative difference {difference:.1e}",
            fixture.architecture,
            graphs.len()
        );
        assert!(difference <= TOLERANCE);
    }
}

/// What the predictor runs: the file as our own reader gives it to tract.
#[test]
fn the_predictor_agrees() {
    for network in NETWORKS {
        let fixture = fixture(network);
        let network = predictor::Network::load(&fixture.file).unwrap();
        let estimates = |graphs: Vec<&Features>| {
            let outputs = network.run(&fixture.inputs(&graphs)).unwrap();
            outputs.concat()
        };
        let estimates: Vec<_> = fixture.batches().into_iter().map(estimates).collect();
        check("the predictor", &fixture, &estimates);
    }
}

#[test]
fn tract_onnx_agrees() -> TractResult<()> {
    NETWORKS.into_iter().try_for_each(check_tract)
}

fn check_tract(network: (Architecture, Encoders)) -> TractResult<()> {
    let fixture = fixture(network);
    let plan = tract_onnx::onnx()
        .model_for_read(&mut fixture.file.as_slice())?
        .into_optimized()?
        .into_runnable()?;
    let mut estimates = Vec::new();
    for graphs in fixture.batches() {
        let batch = fixture.inputs(&graphs);
        let rows = Tensor::from_shape(&[batch.n_nodes(), N_COLUMNS], &batch.nodes)?;
        let mut inputs = tvec![rows.into_tvalue()];
        for indices in batch.indices() {
            inputs.push(Tensor::from_shape(&indices.shape, indices.values)?.into_tvalue());
        }
        let mut values: Vec<f32> = Vec::new();
        for output in &plan.run(inputs)? {
            values.extend(output.to_plain_array_view::<f32>()?.iter());
        }
        estimates.push(values);
    }
    check("tract-onnx", &fixture, &estimates);
    Ok(())
}

#[test]
fn onnx_runtime_agrees() {
    let Some(python) = litecast_needs::python("onnx, onnxruntime") else {
        return;
    };
    for network in NETWORKS {
        check_onnx_runtime(&python, network);
    }
}

fn check_onnx_runtime(python: &Path, network: (Architecture, Encoders)) {
    let fixture = fixture(network);
    let folder = env::temp_dir().join(format!("litecast-export-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("network.onnx"), &fixture.file).unwrap();
    let feeds = |graphs: Vec<&Features>| {
        let batch = fixture.inputs(&graphs);
        let value = |shape: &[usize], values: Value| json!({"shape": shape, "values": values});
        let rows = value(&[batch.n_nodes(), N_COLUMNS], json!(batch.nodes));
        let mut feeds = json!({ tensor_names::NODE_FEATURES: rows });
        for indices in batch.indices() {
            feeds[indices.name] = value(&indices.shape, json!(indices.values));
        }
        feeds
    };
    let batches: Vec<_> = fixture.batches().into_iter().map(feeds).collect();
    let batches = serde_json::to_string(&batches).unwrap();
    fs::write(folder.join("batches.json"), batches).unwrap();
    let output = Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/python/run_onnx.py"))
        .args([folder.join("network.onnx"), folder.join("batches.json")])
        .output()
        .unwrap();
    fs::remove_dir_all(&folder).unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let estimates: Vec<Vec<f32>> = serde_json::from_slice(&output.stdout).unwrap();
    check("ONNX Runtime", &fixture, &estimates);
}
