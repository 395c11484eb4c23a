//! Graph networks from operators to estimates.
//!
//! [`prepare`] scales features into graphs, [`batch`] turns graphs into tensors, [`aggregate`] contains operations over
//! graphs, [`perfsage`] and [`per_operator`] are the architectures, which both begin with [`encoder`], [`sage`],
//! [`seernet`] and [`eagle`] are published architectures for comparison, [`network`] is their common interface, and
//! [`gradients`] computes gradients of a batch. One network estimates all targets and metrics, so that the browser
//! downloads it once; PerfSAGE's paper trains one network for each.

pub mod adam;
pub mod aggregate;
pub mod batch;
pub mod eagle;
pub mod encoder;
pub mod gradients;
pub mod loss;
pub mod network;
pub mod per_operator;
pub mod perfsage;
pub mod prepare;
pub mod sage;
pub mod seernet;
pub mod shape;
pub mod synthetic;
pub mod whole_graph;
