//! Any bytes as a graph in JSON: an error with a kind, or a model that makes graphs.

#![no_main]

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    match litecast::formats::graph_json::parse(file) {
        Ok(model) => {
            for subgraph_idx in 0..model.subgraphs.len() {
                let _ = litecast::graph::build(&model, subgraph_idx);
            }
        }
        Err(error) => assert!(!error.kind().is_empty()),
    }
});
