//! The reader: goldens, hostile bytes, and a comparison with LiteRT's own reader.
#![cfg(not(target_arch = "wasm32"))]

mod cases;
mod files;
mod goldens;
mod hostile;
mod litert;
mod margins;
mod memory;
mod render;
mod sound;
mod write;

use std::path::{Path, PathBuf};

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// Files that nobody here wrote; empty where they are absent.
fn shared_models() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/models");
    let Ok(entries) = std::fs::read_dir(folder) else {
        println!("skipped: no ../shared/models");
        return Vec::new();
    };
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "tflite")
    });
    files.sort();
    files
}
