//! The nodes of [`Sage`].

use super::builder::{GraphBuilder, int};
use super::{EdgeSums, Inputs, linear, linear_relu, natural_units};
use crate::gnn::aggregate::Neighbours;
use crate::gnn::prepare::Scaling;
use crate::gnn::sage::{LENGTH_EPSILON, Sage, SagePlan};

/// Name of the estimates.
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
    let n_neighbours = n_neighbours(graph, &kinds, &sums);
    let columns = || vec![int("axis", 1)];
    let mut hidden = graph.op_with("Concat", &[features, &kinds], columns());
    let epsilon = graph.constant_f32("length_epsilon", &[], &[LENGTH_EPSILON]);
    let last = graph.constant_i64("columns_axis", &[1]);
    for (k, layer) in network.convolutions.iter().enumerate() {
        let sum = sums.of(graph, &hidden);
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

/// `[n_nodes, n_categories]`: 1 in the column of each node's category.
fn kinds(graph: &mut GraphBuilder, inputs: &Inputs, n_categories: usize) -> String {
    let identity: Vec<f32> = (0..n_categories * n_categories)
        .map(|i| f32::from(i % n_categories == i / n_categories))
        .collect();
    let identity = graph.constant_f32("categories", &[n_categories, n_categories], &identity);
    let rows = [identity.as_str(), &inputs.category];
    graph.op_with("Gather", &rows, vec![int("axis", 0)])
}

fn edge_sums(graph: &mut GraphBuilder, inputs: &Inputs, neighbours: Neighbours) -> EdgeSums {
    let (src, dst) = (&inputs.edge_src, &inputs.edge_dst);
    match neighbours {
        Neighbours::Predecessors => EdgeSums::new(graph, src, dst),
        Neighbours::Together => {
            let from = graph.op_with("Concat", &[src, dst], vec![int("axis", 0)]);
            let to = graph.op_with("Concat", &[dst, src], vec![int("axis", 0)]);
            EdgeSums::new(graph, &from, &to)
        }
        Neighbours::Apart => unreachable!("one mean is taken over one kind of neighbours"),
    }
}

/// `[n_nodes, 1]`: neighbours of each node, 1 at least.
fn n_neighbours(graph: &mut GraphBuilder, kinds: &str, sums: &EdgeSums) -> String {
    let axis = graph.constant_i64("kinds_axis", &[1]);
    // Every node is of one kind.
    let ones = graph.op_with("ReduceSum", &[kinds, &axis], vec![int("keepdims", 1)]);
    let counts = sums.of(graph, &ones);
    graph.op("Max", &[&counts, &ones])
}
