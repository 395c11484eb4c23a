//! What a TensorFlow Lite model costs on edge hardware, estimated before any deployment.
//!
//! The modules are the stages of the data, in order:
//! [`tflite`] bytes → model, [`batch_size`] the same for several inputs at a time,
//! [`graph`] model → operators and tensors, [`analysis`] exact facts,
//! [`ethos_u`] what a compiler for Arm's NPUs makes of it, [`features`] the predictor's input,
//! [`batch`] several graphs' at once, [`predictor`] estimates, [`familiarity`] how sure they are, [`energy`] what follows from them,
//! [`cortex_a`] what their milliseconds on processors rest on,
//! [`edge_tpu`] a target modelled without the predictor, [`report`] what a person or a program reads,
//! [`calibration`] a device of one's own beside the known targets.

pub mod analysis;
pub mod batch;
pub mod batch_size;
pub mod calibration;
pub mod cortex_a;
pub mod diagnostic;
pub mod edge_tpu;
pub mod energy;
pub mod estimate;
pub mod ethos_u;
pub mod familiarity;
pub mod features;
pub mod graph;
pub mod manifest;
pub mod predictor;
pub mod report;
pub mod support;
pub mod tflite;

#[cfg(target_arch = "wasm32")]
mod constructors;
#[cfg(target_arch = "wasm32")]
mod wasm;
