//! The tables: read back by this project and by pyarrow, features remade where they have changed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::common::python;
use litecast::learned::features::{COLUMNS, N_COLUMNS};
use litecast::{
    formats::tflite,
    graph::{self, analysis},
    targets::ethos_u,
};
use litecast_trainer::dataset::{
    self, BuildArgs, Dataset, DatasetCommand, LabelledGraph, Samples, operator_column,
    structure_hash,
};
use litecast_trainer::labels::plan::{Shard, SpaceCount};
use litecast_trainer::labels::record::{Label, Labelled, Outcome};
use litecast_trainer::labels::store::Labels;
use litecast_trainer::labels::{LabelArgs, ToolChoice, bytes_of};
use litecast_trainer::spaces::{Space, Weights};
use litecast_trainer::writer::Precision;
use serde_json::Value;

const SEED: u64 = 11;
const PER_SPACE: u64 = 2;

/// What Vela says of a few graphs of every space, as the files of a folder: the name and the text of each.
static LABELS: OnceLock<Option<Vec<(OsString, String)>>> = OnceLock::new();

fn label() -> Option<Vec<(OsString, String)>> {
    let python = python()?;
    let folder = tempfile::tempdir().unwrap();
    litecast_trainer::labels::run(&LabelArgs {
        tool: ToolChoice::Vela,
        targets: Vec::new(),
        spaces: Space::PAPER
            .map(|space| SpaceCount {
                space,
                n: PER_SPACE,
            })
            .to_vec(),
        seed: SEED,
        precision: Precision::Int8,
        weights: Weights::Drawn,
        batches: vec![1],
        files: Vec::new(),
        jobs: 2,
        shard: Shard { index: 0, n: 1 },
        time_limit_s: 300.0,
        python,
        emulator: PathBuf::new(),
        out: folder.path().to_owned(),
    })
    .unwrap();
    let entries = std::fs::read_dir(folder.path()).unwrap();
    let file = |entry: std::io::Result<std::fs::DirEntry>| {
        let entry = entry.unwrap();
        let text = std::fs::read_to_string(entry.path()).unwrap();
        (entry.file_name(), text)
    };
    Some(entries.map(file).collect())
}

/// Labels and tables of a few graphs of every space.
struct Fixture {
    folder: tempfile::TempDir,
    python: PathBuf,
}

impl Fixture {
    fn make() -> Option<Self> {
        let labels = LABELS.get_or_init(label).as_ref()?;
        let fixture = Self {
            folder: tempfile::tempdir().unwrap(),
            python: python()?,
        };
        std::fs::create_dir(fixture.labels()).unwrap();
        for (name, text) in labels {
            std::fs::write(fixture.labels().join(name), text).unwrap();
        }
        fixture.build();
        Some(fixture)
    }

    fn build(&self) {
        let command = DatasetCommand::Build(BuildArgs {
            labels: Some(self.labels()),
            out: self.tables(),
            ..BuildArgs::default()
        });
        dataset::run(&command).unwrap();
    }

    fn labels(&self) -> PathBuf {
        self.folder.path().join("labels")
    }

    fn tables(&self) -> PathBuf {
        self.folder.path().join("tables")
    }

    /// Runs lines of Python that know `folder`, and reads the JSON that they print.
    fn ask_python(&self, lines: &str) -> Value {
        let program = format!(
            "import hashlib, json, sys\nimport pyarrow\nimport pyarrow.parquet as parquet\nfolder = sys.argv[1]\n{lines}"
        );
        let mut command = Command::new(&self.python);
        let output = command
            .args(["-c", &program])
            .arg(self.tables())
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        serde_json::from_slice(&output.stdout).unwrap_or(Value::Null)
    }
}

/// Values of the label files, which the tables must repeat.
fn label_of<'l>(labels: &'l Labels, graph_id: &str, target: &str) -> &'l Labelled {
    labels
        .labelled
        .iter()
        .find(|label| label.graph_id == graph_id && label.target == target)
        .unwrap()
}

#[test]
fn tables_hold_the_labels_and_the_features_of_today() {
    let Some(fixture) = Fixture::make() else {
        return;
    };
    let dataset = dataset::load(&fixture.tables()).unwrap();
    assert_eq!(dataset.graphs.len() as u64, 4 * PER_SPACE);
    check_labels(&dataset, &Labels::read(&fixture.labels()).unwrap());
    check_features(&dataset, &Labels::read(&fixture.labels()).unwrap());
    check_with_pyarrow(&fixture, &dataset);
    check_features_are_remade(&fixture, &dataset);
    check_graphs_and_tools_go(&fixture);
}

fn check_labels(dataset: &Dataset, labels: &Labels) {
    for graph in &dataset.graphs {
        for target in &dataset.targets {
            let Outcome::Ok(Label::Vela(label)) =
                &label_of(labels, &graph.graph_id, target).outcome
            else {
                panic!("{} has no label", graph.graph_id)
            };
            let value = |metric| graph.labels[dataset.label_idx(target, metric).unwrap()];
            assert_eq!(value("latency"), Some(label.latency_ms as f32));
            assert_eq!(value("sram_peak"), Some(label.sram_peak_bytes as f32));
            assert_eq!(
                value("offchip_traffic"),
                Some(label.offchip_traffic_bytes as f32)
            );
            assert_eq!(value("cycles"), Some(label.total_cycles as f32));
            let sum = |metric| {
                let values = operator_values(dataset, graph, target, metric).iter();
                values.map(|value| f64::from(*value)).sum::<f64>()
            };
            // Each value is rounded to f32.
            let close = |actual: f64, expected: u64| {
                let expected = expected as f64;
                assert!(
                    (actual - expected).abs() <= 1e-6 * expected,
                    "{actual} {expected}"
                );
            };
            close(sum("cycles"), label.total_cycles);
            close(sum("offchip_traffic_bytes"), label.offchip_traffic_bytes);
        }
    }
}

/// One of the figures of a graph's operators.
fn operator_values<'d>(
    dataset: &Dataset,
    graph: &'d LabelledGraph,
    target: &str,
    metric: &str,
) -> &'d [f32] {
    let idx = dataset
        .operator_keys
        .iter()
        .position(|key| key.target == target && key.metric == metric)
        .unwrap();
    graph.operator_labels[idx].as_ref().unwrap()
}

fn check_features(dataset: &Dataset, labels: &Labels) {
    for graph in &dataset.graphs {
        let bytes =
            bytes_of(&label_of(labels, &graph.graph_id, &dataset.targets[0]).origin).unwrap();
        let model = tflite::parse(&bytes).unwrap();
        let built = graph::build(&model, 0).unwrap();
        let analysis = analysis::analyze(&built);
        assert_eq!(
            graph.features,
            ethos_u::features(&built, &analysis),
            "{}",
            graph.graph_id
        );
        assert_eq!(graph.structure_hash, structure_hash(&built));
    }
}

/// An independent reader finds the same values under the same names.
fn check_with_pyarrow(fixture: &Fixture, dataset: &Dataset) {
    let actual = fixture.ask_python(
        "graphs = parquet.read_table(f'{folder}/graphs.parquet')\n\
         operators = parquet.read_table(f'{folder}/operators.parquet')\n\
         features = parquet.read_table(f'{folder}/features.parquet')\n\
         labels = parquet.read_table(f'{folder}/labels.parquet')\n\
         def side(graph):\n\
         \x20   digest = hashlib.sha256(f\"1 {graph['structure_hash']}\".encode()).digest()\n\
         \x20   position = int.from_bytes(digest[:8], 'little') / (2**64 - 1)\n\
         \x20   return 'test' if position < 0.2 else 'validation' if position < 0.28 else 'training'\n\
         sides = [side(graph) for graph in graphs.to_pylist()]\n\
         latency = [row for row in labels.to_pylist() if row['metric'] == 'latency']\n\
         runs = json.loads(graphs.schema.metadata[b'litecast.label_runs'])\n\
         print(json.dumps({'graphs': graphs.to_pylist(), 'operators': operators.to_pydict(),\n\
             'features': features.to_pydict(),\n\
             'sides': sides, 'latency': latency, 'version': runs[0]['tool']['version']}))",
    );
    assert_eq!(actual["version"], "5.2.0");
    assert_eq!(
        actual["graphs"].as_array().unwrap().len(),
        dataset.graphs.len()
    );
    // By what the documentation says of the split; no graph of the fixture is a file.
    for (row, side) in actual["graphs"]
        .as_array()
        .unwrap()
        .iter()
        .zip(actual["sides"].as_array().unwrap())
    {
        assert_eq!(row["split"], *side, "{}", row["graph_id"]);
        assert_eq!(
            (&row["precision"], &row["batch"]),
            (&"int8".into(), &1.into())
        );
        assert!(row.get("path").is_none() && row["seed"].is_u64());
    }
    check_features_columns(&actual["features"], dataset);
    assert_eq!(
        actual["features"]["graph_id"],
        actual["operators"]["graph_id"]
    );
    for target in &dataset.targets {
        assert!(actual["operators"][operator_column("cycles", target)].is_array());
    }
    for row in actual["latency"].as_array().unwrap() {
        let graph = dataset
            .graphs
            .iter()
            .find(|graph| row["graph_id"] == graph.graph_id.as_str())
            .unwrap();
        let key_idx = dataset
            .label_idx(row["target"].as_str().unwrap(), "latency")
            .unwrap();
        assert_eq!(
            row["value"].as_f64().map(|value| value as f32),
            graph.labels[key_idx]
        );
        assert_eq!((&row["unit"], &row["status"]), (&"ms".into(), &"ok".into()));
    }
    let edges: usize = dataset
        .graphs
        .iter()
        .map(|graph| graph.features.edge_src.len())
        .sum();
    let found_edges: usize = actual["graphs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["edge_src"].as_array().unwrap().len())
        .sum();
    assert_eq!(found_edges, edges);
}

fn check_features_columns(features: &Value, dataset: &Dataset) {
    let mut n_values = 0;
    for (column_idx, column) in COLUMNS.iter().enumerate() {
        let actual = features[column.name]
            .as_array()
            .unwrap_or_else(|| panic!("no column {}", column.name));
        let expected = dataset.graphs.iter().flat_map(|graph| {
            graph
                .features
                .nodes
                .chunks_exact(N_COLUMNS)
                .map(|node| node[column_idx])
        });
        let expected: Vec<f32> = expected.collect();
        let actual: Vec<f32> = actual
            .iter()
            .map(|value| value.as_f64().unwrap() as f32)
            .collect();
        assert_eq!(actual, expected, "{}", column.name);
        n_values += actual.len();
    }
    println!("pyarrow reads the same {n_values} feature values, difference 0");
}

/// Features of another schema, other code or other graphs, or none, are made anew.
fn check_features_are_remade(fixture: &Fixture, dataset: &Dataset) {
    for (key, value) in [
        ("feature_schema_id", "0123456789abcdef"),
        ("graphs_sha256", "0"),
        ("featurizer_sha256", "0"),
    ] {
        fixture.ask_python(&format!(
            "path = f'{{folder}}/features.parquet'\n\
             table = parquet.read_table(path)\n\
             metadata = {{**table.schema.metadata, b'litecast.{key}': b'{value}'}}\n\
             field = table.field(2)\n\
             zeros = pyarrow.array([0.0] * table.num_rows, field.type)\n\
             table = table.set_column(2, field, zeros)\n\
             parquet.write_table(table.replace_schema_metadata(metadata), path)\n"
        ));
        assert_same(&dataset::load(&fixture.tables()).unwrap(), dataset);
    }
    std::fs::remove_file(fixture.tables().join("features.parquet")).unwrap();
    assert_same(&dataset::load(&fixture.tables()).unwrap(), dataset);
    dataset::run(&DatasetCommand::Remake {
        folder: fixture.tables(),
    })
    .unwrap();
    assert_same(&dataset::load(&fixture.tables()).unwrap(), dataset);
    dataset::run(&DatasetCommand::Info {
        folder: fixture.tables(),
    })
    .unwrap();
}

/// Tables that stay beside new ones lose what they are told to: samples, a tool's labels.
fn check_graphs_and_tools_go(fixture: &Fixture) {
    let rest = fixture.folder.path().join("rest");
    let build = |without: &[&str], without_tool: &[&str]| {
        let without = without.iter().map(|samples| samples.parse().unwrap());
        let tools = without_tool.iter().map(|tool| tool.to_string());
        dataset::run(&DatasetCommand::Build(BuildArgs {
            labels: Some(fixture.folder.path().join("none")),
            onto: Some(fixture.tables()),
            without: without.collect(),
            without_tool: tools.collect(),
            out: rest.clone(),
        }))
    };
    let kws = format!("cnn-kws/{SEED}");
    let vit = format!("vit-cifar100/{SEED}/1..");
    build(&[&kws, &vit, "cnn-imagenet/12345"], &[]).unwrap();
    let actual = dataset::load(&rest).unwrap();
    assert_eq!(actual.graphs.len() as u64, 2 * PER_SPACE + 1);
    assert!(actual.graphs.iter().all(|graph| graph.space != "cnn-kws"));
    let error = build(&[], &["another"]).unwrap_err().to_string();
    assert!(error.contains("labels of another, found none"), "{error}");
    let error = build(&[], &["ethos-u-vela"]).unwrap_err().to_string();
    assert!(
        error.contains("expected labelled graphs, found none"),
        "{error}"
    );
    for wrong in ["cnn-kws", "cnn-kws/a", "cnn-kws/1/2"] {
        let error = wrong.parse::<Samples>().unwrap_err().to_string();
        assert!(error.contains("expected SPACE/SEED"), "{error}");
    }
}

fn assert_same(actual: &Dataset, expected: &Dataset) {
    assert_eq!(actual.provenance, expected.provenance);
    assert_eq!(actual.label_keys, expected.label_keys);
    assert_eq!(actual.graphs.len(), expected.graphs.len());
    for (actual, expected) in actual.graphs.iter().zip(&expected.graphs) {
        assert_eq!(actual.graph_id, expected.graph_id);
        assert_eq!(actual.features, expected.features);
        assert_eq!(actual.labels, expected.labels);
        assert_eq!(actual.operator_labels, expected.operator_labels);
    }
}

/// Graphs whose bytes are no longer made by their seed are left out, never given wrong features.
#[test]
fn stale_labels_are_left_out() {
    let Some(fixture) = Fixture::make() else {
        return;
    };
    replace_in_labels(&fixture.labels(), SEED, SEED + 1);
    fixture.build_expecting_nothing();
}

fn replace_in_labels(folder: &Path, seed: u64, other: u64) {
    let path = folder.join("vela-0-of-1.jsonl");
    let text = std::fs::read_to_string(&path).unwrap();
    let (from, to) = (format!("\"seed\":{seed}"), format!("\"seed\":{other}"));
    std::fs::write(&path, text.replace(&from, &to)).unwrap();
}

impl Fixture {
    fn build_expecting_nothing(&self) {
        let command = DatasetCommand::Build(BuildArgs {
            labels: Some(self.labels()),
            out: self.tables(),
            ..BuildArgs::default()
        });
        let error = dataset::run(&command).unwrap_err().to_string();
        assert!(error.contains("8 left out: Stale"), "{error}");
    }
}
