//! The exported file against the network it came from: in native tract and in ONNX Runtime.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::{env, fs};

use burn::tensor::{Device, Tensor as BurnTensor};
use half::f16;
use litecast::formats::tflite;
use litecast::graph::{self, analysis};
use litecast::learned::batch::Batch;
use litecast::learned::features::Features;
use litecast::learned::manifest::{Manifest, tensor_names};
use litecast::learned::network as predictor;
use litecast::targets::ethos_u;
use litecast_networks::gnn::batch::Batch as TrainingBatch;
use litecast_networks::gnn::network::GraphNetwork;
use litecast_networks::gnn::prepare::{Labels, OutputRules, Readout, Scaling};
use litecast_networks::gnn::shape::{Architecture, Shape};
use litecast_networks::gnn::synthetic;
use litecast_networks::onnx;
use litecast_trainer::onnx::stored;
use prost::Message;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::{ModelProto, TensorProto};
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
    model: GraphNetwork,
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
    let model = GraphNetwork::new(&shape, &device).as_stored();
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

fn largest_relative_difference(expected: &[f32], actual: &[f32]) -> f32 {
    assert_eq!(expected.len(), actual.len());
    let relative = |(e, f): (&f32, &f32)| (f / e - 1.0).abs();
    expected
        .iter()
        .zip(actual)
        .map(relative)
        .fold(0.0, f32::max)
}

fn check(runtime: &str, fixture: &Fixture, estimates: &[Vec<f32>]) {
    let batches = fixture.batches();
    assert_eq!(batches.len(), estimates.len());
    for (graphs, actual) in batches.iter().zip(estimates) {
        let difference = largest_relative_difference(&fixture.trained(graphs), actual);
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
        let network = predictor::PredictorNetwork::load(&fixture.file).unwrap();
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

/// The bundle that ships, without the network as it was trained: ONNX Runtime runs its file, and has to
/// give the estimates that tract is compared with elsewhere. `UPDATE_GOLDENS=1` writes them.
#[test]
fn onnx_runtime_gives_the_bundle_s_reference() {
    let Some(python) = litecast_needs::python("onnx, onnxruntime") else {
        return;
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let network = fs::read(root.join("bundle/predictor.onnx")).unwrap();
    let manifest = fs::read_to_string(root.join("bundle/manifest.json")).unwrap();
    let manifest: Manifest = serde_json::from_str(&manifest).unwrap();
    let mut actual = BTreeMap::new();
    for (name, features) in examples(&root.join("www/examples")) {
        let batch = Batch::new(&[&features], |code| manifest.category_index(code));
        let mut values = run_onnx_runtime(&python, &network, &[feeds(&batch)]).remove(0);
        values.truncate(manifest.outputs.len());
        actual.insert(name, values);
    }
    let path = root.join("bundle/reference.json");
    if env::var_os("UPDATE_GOLDENS").is_some() {
        let text = serde_json::to_string_pretty(&actual).unwrap() + "\n";
        fs::write(&path, text).unwrap();
    }
    let reference: BTreeMap<String, Vec<f32>> =
        serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    assert!(reference.keys().eq(actual.keys()), "other examples");
    for (name, expected) in &reference {
        let difference = largest_relative_difference(expected, &actual[name]);
        println!("{name}: largest relative difference {difference:.1e}");
        assert!(difference <= TOLERANCE);
    }
}

fn examples(folder: &Path) -> Vec<(String, Features)> {
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "tflite"));
    files
        .map(|path| {
            let bytes = fs::read(&path).unwrap();
            let model = tflite::parse(&bytes).unwrap();
            let graph = graph::build(&model, 0).unwrap();
            let features = ethos_u::features(&graph, &analysis::analyze(&graph));
            (
                path.file_name().unwrap().to_string_lossy().into_owned(),
                features,
            )
        })
        .collect()
}

/// Every weight of the bundle that ships is rounded as an export rounds it.
#[test]
fn the_bundle_s_weights_are_as_stored() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../bundle/predictor.onnx");
    let file = ModelProto::decode(fs::read(path).unwrap().as_slice()).unwrap();
    let tensors = file.graph.unwrap().initializer;
    let is_half = |tensor: &&TensorProto| tensor.data_type == DataType::Float16 as i32;
    let mut n_weights = 0;
    for tensor in tensors.iter().filter(is_half) {
        for bytes in tensor.raw_data.chunks_exact(2) {
            let weight = f16::from_le_bytes([bytes[0], bytes[1]]);
            let rounded = stored(weight.to_f32());
            assert_eq!(
                rounded.to_bits(),
                weight.to_bits(),
                "{}: {weight}",
                tensor.name
            );
            n_weights += 1;
        }
    }
    println!("{n_weights} weights");
    assert!(n_weights > 0);
}

fn feeds(batch: &Batch) -> Value {
    let value = |shape: &[usize], values: Value| json!({"shape": shape, "values": values});
    let n_columns = batch.nodes.len() / batch.n_nodes();
    let rows = value(&[batch.n_nodes(), n_columns], json!(batch.nodes));
    let mut feeds = json!({ tensor_names::NODE_FEATURES: rows });
    for indices in batch.indices() {
        feeds[indices.name] = value(&indices.shape, json!(indices.values));
    }
    feeds
}

fn check_onnx_runtime(python: &Path, network: (Architecture, Encoders)) {
    let fixture = fixture(network);
    let batches = fixture.batches().into_iter();
    let batches: Vec<_> = batches
        .map(|graphs| feeds(&fixture.inputs(&graphs)))
        .collect();
    let estimates = run_onnx_runtime(python, &fixture.file, &batches);
    check("ONNX Runtime", &fixture, &estimates);
}

/// The outputs of each batch, one after the other.
fn run_onnx_runtime(python: &Path, network: &[u8], batches: &[Value]) -> Vec<Vec<f32>> {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("network.onnx"), network).unwrap();
    fs::write(
        path("batches.json"),
        serde_json::to_string(batches).unwrap(),
    )
    .unwrap();
    let output = Command::new(python)
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/python/run_onnx.py"))
        .args([path("network.onnx"), path("batches.json")])
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}
