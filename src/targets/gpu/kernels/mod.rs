//! [`Graph`] → [`Kernel`]s: what a framework launches on a GPU for one input of the network.
//!
//! The same network reaches this crate in several decompositions: layer normalisation as one operator or as
//! means, differences and roots; GELU as one operator or as a chain around `ERF`; attention as products
//! around a softmax. A framework runs each of them as one fused kernel, so they become one [`Kernel`] here:
//!
//! - Operators that only rename values (`RESHAPE`, slices) are no kernels, nor is the padding of a convolution or
//!   pool, which a framework's kernel has inside.
//! - A transposition after which no strides describe the next shape is a copy, as a rotation is: windows of
//!   attention, shuffled channels.
//! - Elementwise operators and reductions between a tensor and the operator where all paths from it meet
//!   again are one activation, or one normalisation if one of them reduces.
//! - A scale and a shift by constants after each other are one affine kernel; after a normalisation they
//!   are part of it; a constant added after a product without bias is its bias.
//! - Product, scale by one number and masks, softmax, product is one attention kernel; with a scale for each
//!   head it is not, for no fused kernel takes that.
//! - An activation that is fused into an operator is a kernel of its own, as in PyTorch.

mod builder;
mod elementwise;
mod kernel;
mod operators;
mod products;
mod views;

pub use kernel::{Function, Kernel, Kind};

use self::builder::Builder;
use crate::graph::Graph;

/// Inputs that the graph as it is takes at a time: the first dimension of its first input, 1 for a vector.
pub fn graph_batch(graph: &Graph) -> u32 {
    let first = graph.subgraph.inputs.first();
    let shape = first.map_or(&[][..], |&tensor_idx| &graph.tensor(tensor_idx).shape);
    match shape {
        [first, _, ..] => u32::try_from(*first).unwrap_or(1).max(1),
        _ => 1,
    }
}

/// The kernels of one inference of one input, in the order of the graph. Linear in operators and their inputs.
pub fn kernels(graph: &Graph) -> Vec<Kernel> {
    let mut builder = Builder::new(graph);
    for (node_idx, node) in graph.nodes.iter().enumerate() {
        builder.add(node_idx, node);
    }
    let batch = f64::from(graph_batch(graph));
    let drafts = builder.drafts.into_iter().filter(|draft| !draft.is_merged);
    drafts.map(|draft| draft.kernel.per_input(batch)).collect()
}
