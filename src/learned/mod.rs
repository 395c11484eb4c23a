//! The learned predictor: the feature table, graphs packed into a batch for one run of the network, the network itself,
//! and the widths of its intervals.

pub mod batch;
pub mod features;
pub mod intervals;
pub mod manifest;
#[cfg(feature = "tract")]
pub mod network;
#[cfg(not(feature = "tract"))]
#[path = "no_network.rs"]
pub mod network;
pub mod out_of_distribution;
pub mod predictor;
