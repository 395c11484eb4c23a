//! Any bytes: an error, or a model that keeps the reader's promises, for several inputs at a time too,
//! and makes graphs.

#![no_main]

use std::num::NonZeroU32;

use litecast::graph::shapes::batch_size::set_batch;

#[path = "../../../reader/sound.rs"]
mod sound;

libfuzzer_sys::fuzz_target!(|file: &[u8]| {
    if let Ok(mut model) = litecast::formats::tflite::parse(file) {
        sound::assert_sound(&model);
        for subgraph_idx in 0..model.subgraphs.len() {
            let _ = litecast::graph::build(&model, subgraph_idx);
        }
        let batch = file.last().and_then(|&byte| NonZeroU32::new(byte.into()));
        if set_batch(&mut model, batch.unwrap_or(NonZeroU32::MIN)).is_ok() {
            sound::assert_sound(&model);
        }
    }
});
