//! A network described operator by operator → the bytes of a full-int8 or float32 `.tflite` file.
//!
//! [`NetworkBuilder`] adds operators, infers shapes and plans legal quantisation; [`Network`] is the
//! plain description; [`to_tflite`] draws the weight values and writes the file.

mod builder;
mod elementwise;
mod layout;
mod network;
mod options;
mod precision;
mod quantization;
mod random;
mod serialize;
mod weights;

pub use builder::{NetworkBuilder, Window};
pub use network::{
    Content, ElementType, Network, Operator, OperatorKind, Quantization, Tensor, TensorIdx,
};
pub use precision::Precision;
pub use random::SplitMix64;
pub use serialize::to_tflite;
pub use weights::{LayerDistribution, WeightDistribution};
