//! What is learned from labels: the feature table, graphs packed for one run of the network, the
//! network itself, and how wide its intervals are.

pub mod familiarity;
pub mod features;
pub mod manifest;
pub mod packed;
pub mod predictor;
