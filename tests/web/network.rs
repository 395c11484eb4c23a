//! The shipped network in tract, compiled for browsers.

use litecast::formats::tflite;
use wasm_bindgen_test::wasm_bindgen_test;

use crate::bundle;

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
        let actual = predictor.predict(&features).unwrap().graph;
        let pairs = actual.iter().zip(&reference[file]);
        let difference = pairs
            .map(|(f, e)| (f - e).abs() / e.abs())
            .fold(0.0, f32::max);
        wasm_bindgen_test::console_log!("{file}: largest relative difference {difference:.1e}");
        assert!(
            difference <= TOLERANCE,
            "{file}: {actual:?}, expected {:?}",
            reference[file]
        );
    }
}
