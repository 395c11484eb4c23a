//! The exported network in tract against the network as it was trained.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use litecast::predictor::Predictor;
use litecast::{analysis, features, graph, tflite};

/// Largest relative difference between two ways to run the same network.
const TOLERANCE: f32 = 1e-4;

#[test]
fn tract_gives_what_the_training_forward_pass_gave() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let artifact = |name: &str| root.join("trainer/artifact").join(name);
    let onnx = fs::read(artifact("predictor.onnx")).unwrap();
    let manifest = fs::read_to_string(artifact("manifest.json")).unwrap();
    let predictor = Predictor::load(&onnx, &manifest).unwrap();
    let reference = fs::read_to_string(artifact("reference.json")).unwrap();
    let reference: BTreeMap<String, Vec<f32>> = serde_json::from_str(&reference).unwrap();
    assert_eq!(reference.len(), 3, "three example models");
    for (file, expected) in &reference {
        let bytes = fs::read(root.join("www/examples").join(file)).unwrap();
        let found = estimates(&predictor, &bytes);
        let difference = largest_difference(&found, expected);
        println!("{file}: largest relative difference {difference:.1e}");
        assert!(
            difference <= TOLERANCE,
            "{file}: {found:?}, expected {expected:?}"
        );
    }
}

fn estimates(predictor: &Predictor, bytes: &[u8]) -> Vec<f32> {
    let model = tflite::parse(bytes).unwrap();
    let graph = graph::build(&model, 0).unwrap();
    let features = features::extract(&graph, &analysis::analyze(&graph));
    predictor.predict(&features).unwrap().graph
}

fn largest_difference(found: &[f32], expected: &[f32]) -> f32 {
    assert_eq!(found.len(), expected.len());
    let differences = found
        .iter()
        .zip(expected)
        .map(|(f, e)| (f - e).abs() / e.abs());
    differences.fold(0.0, f32::max)
}
