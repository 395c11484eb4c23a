//! In the browser, in the module that the page loads: `make test` runs this file in headless
//! Chromium.
#![cfg(target_arch = "wasm32")]

use litecast::formats::tflite;
use wasm_bindgen_test::{wasm_bindgen_test, wasm_bindgen_test_configure};

wasm_bindgen_test_configure!(run_in_browser);

/// A file with one empty subgraph.
fn smallest_file() -> Vec<u8> {
    use tflite::schema::*;
    let mut builder = flatbuffers::FlatBufferBuilder::new();
    let name = builder.create_string("main");
    let subgraph = SubGraph::create(
        &mut builder,
        &SubGraphArgs {
            name: Some(name),
            ..Default::default()
        },
    );
    let subgraphs = builder.create_vector(&[subgraph]);
    let buffer = Buffer::create(&mut builder, &BufferArgs::default());
    let buffers = builder.create_vector(&[buffer]);
    let arguments = ModelArgs {
        version: 3,
        subgraphs: Some(subgraphs),
        buffers: Some(buffers),
        ..Default::default()
    };
    let model = Model::create(&mut builder, &arguments);
    finish_model_buffer(&mut builder, model);
    builder.finished_data().to_vec()
}

#[wasm_bindgen_test]
fn a_file_is_read() {
    let file = smallest_file();
    let model = tflite::parse(&file).unwrap();
    assert_eq!(model.subgraphs.len(), 1);
    assert_eq!(model.subgraphs[0].name, "main");
    assert_eq!(model.file_bytes, file.len());
}

#[wasm_bindgen_test]
fn every_truncation_of_a_file_is_refused() {
    let file = smallest_file();
    // The file ends in a string's zero and its padding, four bytes that the reader does not need.
    for length in 0..file.len() - 4 {
        assert!(
            tflite::parse(&file[..length]).is_err(),
            "accepted {length} of {} bytes",
            file.len()
        );
    }
}

/// The bundle and the example models, as the page serves them.
mod bundle {
    pub const NETWORK: &[u8] = include_bytes!("../bundle/predictor.onnx");
    pub const MANIFEST: &str = include_str!("../bundle/manifest.json");
    pub const REFERENCE: &str = include_str!("../bundle/reference.json");
    pub const EXAMPLES: [(&str, &[u8]); 3] = [
        (
            "cnn-cifar10-s7-i9.tflite",
            include_bytes!("../www/examples/cnn-cifar10-s7-i9.tflite"),
        ),
        (
            "cnn-kws-s7-i43.tflite",
            include_bytes!("../www/examples/cnn-kws-s7-i43.tflite"),
        ),
        (
            "vit-cifar100-s7-i39.tflite",
            include_bytes!("../www/examples/vit-cifar100-s7-i39.tflite"),
        ),
    ];
}

/// Largest relative difference between two ways to run the same network.
const TOLERANCE: f32 = 1e-4;

#[wasm_bindgen_test]
fn tract_gives_what_the_training_forward_pass_gave() {
    use litecast::{
        graph::{self, analysis},
        learned::predictor::Predictor,
        targets::ethos_u,
    };
    let predictor = Predictor::load(bundle::NETWORK, bundle::MANIFEST).unwrap();
    let reference: std::collections::BTreeMap<String, Vec<f32>> =
        serde_json::from_str(bundle::REFERENCE).unwrap();
    for (file, bytes) in bundle::EXAMPLES {
        let model = tflite::parse(bytes).unwrap();
        let graph = graph::build(&model, 0).unwrap();
        let features = ethos_u::features(&graph, &analysis::analyze(&graph));
        let found = predictor.predict(&features).unwrap().graph;
        let pairs = found.iter().zip(&reference[file]);
        let difference = pairs
            .map(|(f, e)| (f - e).abs() / e.abs())
            .fold(0.0, f32::max);
        wasm_bindgen_test::console_log!("{file}: largest relative difference {difference:.1e}");
        assert!(
            difference <= TOLERANCE,
            "{file}: {found:?}, expected {:?}",
            reference[file]
        );
    }
}
