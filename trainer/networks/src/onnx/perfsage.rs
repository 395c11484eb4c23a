//! The nodes of [`PerfSage`].

use litecast_trainer::onnx::{GraphBuilder, int};

use super::parts::{EdgeSums, Inputs, encode, linear, linear_relu, natural_units};
use crate::gnn::perfsage::PerfSage;
use crate::gnn::prepare::Scaling;

/// Returns the name of the estimates.
pub fn export(
    graph: &mut GraphBuilder,
    network: &PerfSage,
    inputs: &Inputs,
    scaling: &Scaling,
) -> String {
    let encoded = encode(graph, &network.encoder, inputs);
    let mut hidden = graph.op("Relu", &[&encoded]);
    let (src, dst) = (&inputs.edge_src, &inputs.edge_dst);
    let from = graph.op_with("Concat", &[src, dst], vec![int("axis", 0)]);
    let to = graph.op_with("Concat", &[dst, src], vec![int("axis", 0)]);
    let neighbours = EdgeSums::new(graph, &from, &to);
    for (k, layer) in network.layers.iter().enumerate() {
        let sums = neighbours.append(graph, &hidden);
        let inputs = graph.op_with("Concat", &[&hidden, &sums], vec![int("axis", 1)]);
        hidden = linear_relu(graph, &format!("layers.{k}"), layer, &inputs);
    }
    let mut readout = inputs.graphs.max(graph, &hidden);
    for (k, layer) in network.head.iter().enumerate() {
        readout = linear_relu(graph, &format!("head.{k}"), layer, &readout);
    }
    let outputs = linear(graph, "output", &network.output, &readout);
    natural_units(graph, "log_labels", &scaling.log_labels, &outputs)
}
