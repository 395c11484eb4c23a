//! Graph networks from operators to estimates.
//!
//! [`prepare`] features → scaled graphs, [`batch`] graphs → tensors, [`aggregate`] operations over
//! graphs, [`perfsage`] and [`per_operator`] the architectures (both begin with [`encoder`]), [`sage`],
//! [`seernet`] and [`eagle`] those of peers to compare with, [`network`] what they have in common,
//! [`gradients`] what a batch asks of their weights. One network estimates every target and metric, where
//! PerfSAGE's paper trains one for each: the browser downloads it once.

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
