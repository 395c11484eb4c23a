//! [`Graph`] → [`Kernel`]s: what a framework launches on a GPU for one input of the network.
//!
//! The same network reaches this crate in several decompositions: layer normalisation as one operator or as
//! means, differences and roots; GELU as one operator or as a chain around `ERF`; attention as products
//! around a softmax. A framework runs each of them as one fused kernel, so they become one [`Kernel`] here:
//!
//! - Operators that only reinterpret values (`RESHAPE`, slices) are not kernels. The padding of a convolution or pool
//!   is not a kernel either, because the framework's kernel pads by itself.
//! - A transposition is a copy if no strides can describe the shape that is read after it, as with windows of attention
//!   and shuffled channels, or if it puts another dimension last for a product with weights. A rotation is a copy as well.
//! - Elementwise operators and reductions between a tensor and the operator where all paths from it meet again form one
//!   activation, or one normalisation if one of them reduces.
//! - A scale followed by a shift, both by constants, is one affine kernel. After a normalisation, they are part of the
//!   normalisation. A constant that is added after a product without bias is the bias of the product.
//! - A product, a scale by one number, masks, a softmax and a second product are one attention kernel. With a different
//!   scale for each head they stay separate, because no fused kernel supports this.
//! - An activation that is fused into an operator is a kernel of its own, as in PyTorch.

mod autocast;
mod builder;
mod elementwise;
mod kernel;
mod layout;
mod operators;
mod products;
mod views;

pub use kernel::{Function, Kernel, Kind};
pub use layout::is_compiled_channels_last;

use self::builder::Builder;
use crate::graph::Graph;

/// Batch size of the graph: the first dimension of its first input, or 1 if that input is a vector.
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
    let mut kernels: Vec<Kernel> = drafts.map(|draft| draft.kernel.per_input(batch)).collect();
    let n_tensors = graph.subgraph.tensors.len();
    autocast::mark_float32(&mut kernels, n_tensors);
    layout::mark_permuted(&mut kernels, n_tensors);
    kernels
}
