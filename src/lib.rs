//! What a TensorFlow Lite model costs on edge hardware, estimated before any deployment.
//!
//! The modules are the stages of the data, in order:
//! [`formats`] bytes → model, [`graph`] model → operators and tensors, their batch size and exact
//! facts, [`learned`] features → estimates of a trained network, [`targets`] one folder for each kind
//! of hardware, [`estimate`] the whole path, [`report`] what a person or a program reads,
//! [`calibration`] a device of one's own beside the known targets.

pub mod calibration;
pub mod diagnostic;
pub mod estimate;
pub mod formats;
pub mod graph;
pub mod learned;
pub mod provenance;
pub mod report;
pub mod targets;

#[cfg(target_arch = "wasm32")]
mod constructors;
#[cfg(target_arch = "wasm32")]
mod wasm;
