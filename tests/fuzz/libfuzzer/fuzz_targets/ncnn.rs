//! Any bytes as a network of ncnn: an error with a kind, or a model that makes graphs.

#![no_main]

use litecast::formats::ncnn::parse;
use litecast::formats::onnx::Dimensions;

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    let dimensions = Dimensions {
        batch: 1,
        named: &[],
    };
    match parse(file, &dimensions) {
        Ok(model) => {
            for subgraph_idx in 0..model.subgraphs.len() {
                let _ = litecast::graph::build(&model, subgraph_idx);
            }
        }
        Err(error) => assert!(!error.kind().is_empty()),
    }
});
