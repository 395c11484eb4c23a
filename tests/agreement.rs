//! The exported network in tract against the network as it was trained.
#![cfg(not(target_arch = "wasm32"))]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use litecast::estimate::{ModelFile, estimate, estimate_many};
use litecast::learned::features::Features;
use litecast::learned::predictor::Predictor;
use litecast::targets::ethos_u;
use litecast::{
    formats::tflite,
    graph::{self, analysis},
};

/// Largest relative difference between two ways to run the same network.
const TOLERANCE: f32 = 1e-4;

fn read_artifact(name: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::read(root.join("bundle").join(name)).unwrap()
}

fn predictor() -> Predictor {
    let manifest = String::from_utf8(read_artifact("manifest.json")).unwrap();
    Predictor::load(&read_artifact("predictor.onnx"), &manifest).unwrap()
}

fn example(file: &str) -> Vec<u8> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::read(root.join("www/examples").join(file)).unwrap()
}

/// Example file → estimates of the training forward pass.
fn reference() -> BTreeMap<String, Vec<f32>> {
    let reference: BTreeMap<_, _> =
        serde_json::from_slice(&read_artifact("reference.json")).unwrap();
    assert_eq!(reference.len(), 3, "three example models");
    reference
}

#[test]
fn tract_gives_what_the_training_forward_pass_gave() {
    let predictor = predictor();
    for (file, expected) in &reference() {
        let bytes = example(file);
        let actual = estimates(&predictor, &bytes);
        let difference = largest_difference(&actual, expected);
        println!("{file}: largest relative difference {difference:.1e}");
        assert!(
            difference <= TOLERANCE,
            "{file}: {actual:?}, expected {expected:?}"
        );
    }
}

#[test]
fn graphs_at_once_have_the_estimates_that_each_has_alone() {
    let predictor = predictor();
    let read = |file: &String| features_of(&example(file));
    let mut graphs: Vec<Features> = reference().keys().map(read).collect();
    graphs.insert(1, Features::default());
    // More than one run of the network takes.
    let graphs: Vec<&Features> = graphs.iter().cycle().take(40).collect();
    let at_once = predictor.predict_many(&graphs).unwrap();
    assert_eq!(at_once.len(), graphs.len());
    for (graph, actual) in graphs.iter().zip(&at_once) {
        let alone = predictor.predict(graph).unwrap();
        assert!(largest_difference(&actual.graph, &alone.graph) <= TOLERANCE);
        let [actual, alone] = [actual, &alone].map(|estimates| estimates.operators.as_deref());
        let [actual, alone] = [actual, alone].map(Option::unwrap_or_default);
        assert!(largest_difference(actual, alone) <= TOLERANCE);
    }
}

#[test]
fn a_checked_bundle_estimates_as_one_that_was_loaded() {
    let loaded = predictor();
    let manifest = String::from_utf8(read_artifact("manifest.json")).unwrap();
    let checked = |onnx: Vec<u8>, manifest: &str| {
        Predictor::from_checked(onnx, manifest.to_owned(), loaded.id().to_owned())
    };
    let unread = checked(read_artifact("predictor.onnx"), &manifest);
    assert_eq!(unread.id(), loaded.id());
    for file in reference().keys() {
        let bytes = example(file);
        assert_eq!(estimates(&unread, &bytes), estimates(&loaded, &bytes));
    }
    assert_eq!(unread.manifest().unwrap(), loaded.manifest().unwrap());
    // Damage shows when the network is asked, as an error.
    let graph = features_of(&example(reference().keys().next().unwrap()));
    for (bundle, kind) in [
        (
            checked(b"no network".into(), &manifest),
            "predictor-network",
        ),
        (
            checked(read_artifact("predictor.onnx"), "{"),
            "predictor-manifest",
        ),
    ] {
        assert_eq!(bundle.predict(&graph).unwrap_err().kind(), kind);
    }
}

#[test]
fn a_file_without_a_report_leaves_the_others_theirs() {
    let predictor = predictor();
    let names: Vec<String> = reference().into_keys().collect();
    let mut contents: Vec<Vec<u8>> = names.iter().map(|name| example(name)).collect();
    contents[1].truncate(100);
    let named = names.iter().zip(&contents);
    let files: Vec<_> = named
        .map(|(name, bytes)| ModelFile::new(name, bytes))
        .collect();
    let reports = estimate_many(&files, Some(&predictor)).unwrap();
    for (file, actual) in files.iter().zip(reports) {
        let alone = estimate(*file, Some(&predictor));
        match (actual, alone) {
            (Ok(actual), Ok(alone)) => {
                assert_eq!(actual.file, file.name);
                assert_eq!(actual.operators.len(), alone.operators.len());
            }
            (Err(actual), Err(alone)) => assert_eq!(actual.to_string(), alone.to_string()),
            (actual, _) => panic!("{}: {actual:?}", file.name),
        }
    }
}

fn estimates(predictor: &Predictor, bytes: &[u8]) -> Vec<f32> {
    predictor.predict(&features_of(bytes)).unwrap().graph
}

fn features_of(bytes: &[u8]) -> Features {
    let model = tflite::parse(bytes).unwrap();
    let graph = graph::build(&model, 0).unwrap();
    ethos_u::features(&graph, &analysis::analyze(&graph))
}

fn largest_difference(actual: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(actual.len(), expected.len());
    let differences = actual
        .iter()
        .zip(expected)
        .map(|(f, e)| (f - e).abs() / e.abs().max(f32::MIN_POSITIVE));
    differences.fold(0.0, f32::max)
}
