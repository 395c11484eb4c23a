//! The nodes of [`Sage`].

use litecast_trainer::onnx::{GraphBuilder, int};

use super::parts::{EdgeSums, Inputs, kinds, linear, linear_relu, natural_units, ones};
use crate::gnn::aggregate::Neighbours;
use crate::gnn::prepare::Scaling;
use crate::gnn::sage::{LENGTH_EPSILON, Sage, SagePlan};

/// Returns the name of the estimates.
pub fn export(
    graph: &mut GraphBuilder,
    network: &Sage,
    plan: SagePlan,
    inputs: &Inputs,
    scaling: &Scaling,
) -> String {
    let features = &inputs.features;
    let kinds = kinds(graph, inputs, scaling.vocabulary.len());
    let sums = edge_sums(graph, inputs, plan.neighbours);
    let ones = ones(graph, &kinds);
    let n_neighbours = sums.n_summed(graph, &ones);
    let columns = || vec![int("axis", 1)];
    let mut hidden = graph.op_with("Concat", &[features, &kinds], columns());
    let epsilon = graph.constant_f32("length_epsilon", &[], &[LENGTH_EPSILON]);
    let last = graph.axis(1);
    for (k, layer) in network.convolutions.iter().enumerate() {
        let sum = sums.append(graph, &hidden);
        let mean = graph.op("Div", &[&sum, &n_neighbours]);
        let rows = graph.op_with("Concat", &[&hidden, &mean], columns());
        let rows = linear(graph, &format!("convolutions.{k}"), layer, &rows);
        let squares = graph.op("Mul", &[&rows, &rows]);
        let squares = graph.op_with("ReduceSum", &[&squares, &last], vec![int("keepdims", 1)]);
        let squares = graph.op("Add", &[&squares, &epsilon]);
        let length = graph.op("Sqrt", &[&squares]);
        let rows = graph.op("Div", &[&rows, &length]);
        hidden = graph.op("Relu", &[&rows]);
    }
    let sum = inputs.graphs.sum(graph, &hidden);
    let largest = inputs.graphs.max(graph, features);
    let counts = inputs.graphs.sum(graph, &kinds);
    let one = graph.constant_f32("one", &[], &[1.0]);
    let counts = graph.op("Add", &[&counts, &one]);
    let counts = graph.op("Log", &[&counts]);
    let mut readout = graph.op_with("Concat", &[&sum, &largest, &counts], columns());
    for (k, layer) in network.head.iter().enumerate() {
        readout = linear_relu(graph, &format!("head.{k}"), layer, &readout);
    }
    let outputs = linear(graph, "output", &network.output, &readout);
    natural_units(graph, "log_labels", &scaling.log_labels, &outputs)
}

fn edge_sums(graph: &mut GraphBuilder, inputs: &Inputs, neighbours: Neighbours) -> EdgeSums {
    let (src, dst) = (&inputs.edge_src, &inputs.edge_dst);
    match neighbours {
        Neighbours::Predecessors => EdgeSums::new(graph, src, dst),
        Neighbours::Successors => EdgeSums::new(graph, dst, src),
        Neighbours::Together => {
            let from = graph.op_with("Concat", &[src, dst], vec![int("axis", 0)]);
            let to = graph.op_with("Concat", &[dst, src], vec![int("axis", 0)]);
            EdgeSums::new(graph, &from, &to)
        }
        Neighbours::Apart => unreachable!("one mean is taken over one kind of neighbours"),
    }
}
