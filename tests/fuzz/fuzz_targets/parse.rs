//! Any bytes: an error, or a model that keeps the reader's promises and makes graphs.

#![no_main]

#[path = "../../reader/sound.rs"]
mod sound;

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    if let Ok(model) = litecast::tflite::parse(file) {
        sound::assert_sound(&model);
        for subgraph_idx in 0..model.subgraphs.len() {
            let _ = litecast::graph::build(&model, subgraph_idx);
        }
    }
});
