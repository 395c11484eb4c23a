//! From a seed to a trained, exported and measured predictor. The modules are the stages of the
//! data, in order; `main.rs` names one command for each.

pub mod spaces;
pub mod writer;

pub mod dataset;
pub mod feature_columns;
pub mod labels;
pub mod targets;

pub mod bench;
pub mod bench_predictor;
pub mod checkpoint;
pub mod curve;
pub mod error_table;
pub mod errors;
mod estimate_errors;
pub mod forest;
pub mod gnn;
pub mod json;
pub mod settings;
pub mod split;
pub mod train;
pub mod training_data;

pub mod baselines;
mod cholesky;
pub mod evaluate;
pub mod export;
pub mod least_squares;
pub mod markdown;
pub mod metrics;
mod newton;
pub mod onnx;
mod priors;
pub mod probes;
