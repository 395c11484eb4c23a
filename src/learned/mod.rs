//! What is learned from labels: the feature table, graphs packed for one run of the network, the
//! network itself, and how wide its intervals are.

pub mod features;
pub mod intervals;
pub mod manifest;
pub mod network;
pub mod out_of_distribution;
pub mod packed;
pub mod predictor;
