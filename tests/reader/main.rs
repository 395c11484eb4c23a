//! The reader: goldens, hostile bytes, and a comparison with LiteRT's own reader.
#![cfg(not(target_arch = "wasm32"))]

mod cases;
mod files;
mod goldens;
mod hostile;
mod litert;
mod margins;
mod memory;
mod options;
mod render;
mod sound;

use std::path::PathBuf;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// Files that nobody here wrote; empty where they are absent.
fn shared_models() -> Vec<PathBuf> {
    litecast_needs::shared_models().unwrap_or_default()
}
