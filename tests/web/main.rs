//! In the browser, in the module that the page loads: `wasm-pack test --headless --chrome` and `make test` run this in
//! headless Chromium.
#![cfg(target_arch = "wasm32")]

mod engine;
mod network;
mod panics;
mod printed;
mod reader;

use wasm_bindgen_test::wasm_bindgen_test_configure;

wasm_bindgen_test_configure!(run_in_browser);

/// The bundle and the example models, as the page serves them.
mod bundle {
    pub const NETWORK: &[u8] = include_bytes!("../../bundle/predictor.onnx");
    pub const MANIFEST: &str = include_str!("../../bundle/manifest.json");
    pub const REFERENCE: &str = include_str!("../../bundle/reference.json");
    pub const GPUS: &[u8] = include_bytes!("../../bundle/gpu.json");
    pub const EXAMPLES: [(&str, &[u8]); 3] = [
        (
            "cnn-cifar10-s7-i9.tflite",
            include_bytes!("../../www/examples/cnn-cifar10-s7-i9.tflite"),
        ),
        (
            "cnn-kws-s7-i43.tflite",
            include_bytes!("../../www/examples/cnn-kws-s7-i43.tflite"),
        ),
        (
            "vit-cifar100-s7-i39.tflite",
            include_bytes!("../../www/examples/vit-cifar100-s7-i39.tflite"),
        ),
    ];
}
