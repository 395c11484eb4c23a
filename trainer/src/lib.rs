//! From a seed to labels, and from labels to fitted and checked constants. The modules are the stages of the
//! data, in order; `main.rs` names one command for each.

pub mod spaces;
pub mod writer;

pub mod dataset;
pub mod labels;
pub mod targets;

pub mod bench_predictor;
pub mod commit;
mod estimate_errors;
pub mod json;
pub mod split;

mod cholesky;
pub mod evaluate;
pub mod least_squares;
pub mod markdown;
pub mod metrics;
mod newton;
pub mod onnx;
mod priors;
pub mod probes;
