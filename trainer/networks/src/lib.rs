//! From labelled networks to trained, measured and exported graph networks. The modules are the stages of the data, in
//! order; `main.rs` names one command for each.
//!
//! No target that ships asks a network for its estimates: what labels, fits constants and checks them is
//! `litecast_trainer`, which compiles without this crate and without the library that trains.

pub mod feature_columns;
pub mod settings;
pub mod sizes;
pub mod training_data;

pub mod epoch_order;
pub mod gnn;
pub mod train;

pub mod bench;
pub mod checkpoint;
pub mod curve;

pub mod baselines;
pub mod error_table;
pub mod errors;
pub mod evaluate;
pub mod forest;
pub mod gpu;

pub mod export;
pub mod onnx;
