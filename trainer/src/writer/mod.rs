//! A network described operator by operator → the bytes of a full-int8 or float32 `.tflite` file.
//!
//! [`NetworkBuilder`] adds operators, infers shapes and plans legal quantisation; [`WriterNetwork`] is the
//! plain description; [`to_tflite`] draws the weight values and writes the file.

mod activations;
mod arrange;
mod batch;
mod builder;
mod codes;
mod elementwise;
mod images;
mod layers;
mod layout;
mod logic;
mod network;
mod operator_kind;
mod options;
mod precision;
mod quantization;
mod random;
mod recurrent;
mod reductions;
mod serialize;
mod weights;
mod window;

pub use builder::NetworkBuilder;
pub use network::{Content, ElementType, Operator, Quantization, Tensor, TensorIdx, WriterNetwork};
pub use operator_kind::{Comparison, Logic, OperatorKind, Sampling};
pub use precision::Precision;
pub use random::SplitMix64;
pub use reductions::Reduction;
pub use serialize::to_tflite;
pub use weights::{LayerDistribution, WeightDistribution};
pub use window::Window;
