//! Tests of the engine in one program, because each program links the whole engine: `cargo test --test engine MODULE::`.
#![cfg(not(target_arch = "wasm32"))]

mod agreement;
mod analysis;
mod batch_size;
mod calibration;
mod catalogue;
mod choices;
mod circles;
mod contradictions;
mod edge_tpu;
mod ethos_u;
mod gpu;
mod graph;
mod graph_json;
mod invariants;
mod learned;
mod mcu;
mod ncnn;
mod networks_to_measure;
mod onnx_from_tflite;
mod peak_rates;
mod profile_formats;
mod schema;
mod shape_inference;
mod stripes;
