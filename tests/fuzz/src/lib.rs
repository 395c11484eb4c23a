//! Files that nobody would write, and what every stage promises about them.

pub mod attacks;
pub mod attacks_json;
#[cfg(feature = "bundle")]
pub mod campaign;
pub mod case;
#[cfg(feature = "bundle")]
pub mod check;
pub mod clock;
pub mod growth;
pub mod hostile;
pub mod hostile_graph;
pub mod hostile_ncnn;
pub mod hostile_onnx;
pub mod hostile_texts;
pub mod hostile_tflite;
pub mod kinds;
pub mod memory;
pub mod mutate;
pub mod protobuf;
pub mod random;
pub mod seeds;
pub mod shapes;
pub mod texts;
