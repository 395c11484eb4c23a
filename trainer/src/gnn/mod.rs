//! PerfSAGE (Chai et al. 2023, §4): a graph network from operators to estimates.
//!
//! [`prepare`] features → scaled graphs, [`batch`] graphs → tensors, [`aggregate`] the two
//! operations over graphs, [`model`] the network. One network estimates every target and metric,
//! where the paper trains one for each: the browser downloads it once.

pub mod adam;
pub mod aggregate;
pub mod batch;
pub mod loss;
pub mod model;
pub mod prepare;
pub mod synthetic;
