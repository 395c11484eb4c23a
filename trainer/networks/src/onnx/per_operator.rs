//! The nodes of [`PerOperator`].

use std::ops::Range;

use burn::nn::Linear;
use litecast_trainer::onnx::{GraphBuilder, int};

use super::parts::{
    EdgeSums, Graphs, Inputs, encode_columns, linear, linear_relu, natural_amounts, natural_units,
    product, with_bias,
};
use crate::gnn::per_operator::{
    Corrections, MAX_LOG_DEVIATIONS, N_LAYERS, N_TERMS, PerOperator, n_scores,
};
use crate::gnn::prepare::{ColumnScaling, Plan, Readout, Scaling};

/// Names of the outputs.
pub struct Outputs {
    pub operators: String,
    pub estimates: String,
}

pub fn export(
    graph: &mut GraphBuilder,
    network: &PerOperator,
    inputs: &Inputs,
    scaling: &Scaling,
) -> Outputs {
    let encoder = &network.encoder;
    let width = encoder.layers[0].weight.dims()[1];
    let n_outputs = scaling.n_outputs();
    let n_hidden = width - n_scores(n_outputs);
    let hidden = encode_columns(graph, "first.rows", encoder, inputs, 0..n_hidden);
    let scores = encode_columns(graph, "first.scores", encoder, inputs, n_hidden..width);
    let mut hidden = graph.op("Relu", &[&hidden]);
    let predecessors = EdgeSums::new(graph, &inputs.edge_src, &inputs.edge_dst);
    let successors = EdgeSums::new(graph, &inputs.edge_dst, &inputs.edge_src);
    let sums = [predecessors, successors];
    let (first_layers, second_layers) = network.layers.split_at(N_LAYERS[0]);
    hidden = message_round(graph, hidden, "first", first_layers, &sums);
    let first = corrected(graph, "first", &network.first, &hidden, &scores);
    let rows = [hidden.as_str(), &first];
    let rows = graph.op_with("Concat", &rows, vec![int("axis", 1)]);
    let change = linear_relu(graph, "second_look", &network.second_look, &rows);
    hidden = graph.op("Add", &[&hidden, &change]);
    hidden = message_round(graph, hidden, "second", second_layers, &sums);
    let scores = corrected(graph, "second", &network.second, &hidden, &first);
    let laws = power_law_sums(graph, &scores, &scaling.operator_logs);
    let gates = columns(graph, &scores, N_TERMS * n_outputs..n_scores(n_outputs));
    let gates = graph.op("Sigmoid", &[&gates]);
    let planned = planned(graph, &inputs.raw, scaling);
    let planned = graph.op("Mul", &[&gates, &planned]);
    let operators = graph.op("Add", &[&planned, &laws]);
    let ceilings = graph.constant_f32("ceilings", &[1, n_outputs], &scaling.ceilings);
    let operators = graph.op("Min", &[&operators, &ceilings]);
    let estimates = read_out(graph, &operators, &inputs.graphs, &scaling.readouts);
    Outputs {
        operators,
        estimates,
    }
}

/// `[n_nodes, n_outputs]`, natural units: the sum of the power laws.
fn power_law_sums(graph: &mut GraphBuilder, scores: &str, logs: &ColumnScaling) -> String {
    let n_outputs = logs.mean.len();
    let of_terms = ColumnScaling {
        mean: logs.mean.repeat(N_TERMS),
        std: logs.std.repeat(N_TERMS),
    };
    let terms = columns(graph, scores, 0..N_TERMS * n_outputs);
    let terms = natural_units(graph, "laws", &of_terms, &terms);
    let by_term = graph.constant_i64("laws.by_term", &[-1, N_TERMS as i64, n_outputs as i64]);
    let terms = graph.op("Reshape", &[&terms, &by_term]);
    let axis = graph.constant_i64("laws.term_axis", &[1]);
    graph.op_with("ReduceSum", &[&terms, &axis], vec![int("keepdims", 0)])
}

/// `[n_nodes, n_outputs]` in natural units: costs by the compiler's rules, 0 without rules.
fn planned(graph: &mut GraphBuilder, raw: &str, scaling: &Scaling) -> String {
    let of_each = |value: fn(&Plan) -> f32| -> Vec<f32> {
        let plans = scaling.plans.iter();
        plans.map(|plan| plan.as_ref().map_or(0.0, value)).collect()
    };
    let columns = of_each(|plan| plan.column as f32);
    let columns: Vec<i64> = columns.iter().map(|&column| column as i64).collect();
    let units = of_each(|plan| plan.unit);
    let units = graph.constant_f32("planned.units", &[1, units.len()], &units);
    let amounts = natural_amounts(graph, "planned", raw, &columns);
    graph.op("Mul", &[&amounts, &units])
}

/// Rounds of message passing. A linear layer of a sum of neighbours' rows equals the sum of the layer of each row. So
/// products are computed of the nodes' own rows, and are summed along the edges afterwards.
fn message_round(
    graph: &mut GraphBuilder,
    mut hidden: String,
    name: &str,
    layers: &[Linear],
    sums: &[EdgeSums; 2],
) -> String {
    for (k, layer) in layers.iter().enumerate() {
        let name = format!("{name}.layers.{k}");
        let [_, width] = layer.weight.dims();
        let mut part = |k: usize, part: &str| {
            let weights = layer.weight.val().narrow(0, k * width, width);
            product(graph, &format!("{name}.{part}"), weights, &hidden)
        };
        let own_features = part(0, "own");
        let [before, after] = [part(1, "before"), part(2, "after")];
        let own_features = with_bias(graph, &name, layer, &own_features);
        let change = sums[0].plus_neighbour_sums(graph, &own_features, &before);
        let change = sums[1].plus_neighbour_sums(graph, &change, &after);
        let change = graph.op("Relu", &[&change]);
        hidden = graph.op("Add", &[&hidden, &change]);
    }
    hidden
}

/// Scores after a pass, clamped.
fn corrected(
    graph: &mut GraphBuilder,
    name: &str,
    corrections: &Corrections,
    hidden: &str,
    before: &str,
) -> String {
    let rows = linear_relu(graph, &format!("{name}.head"), &corrections.head, hidden);
    let change = linear(graph, &format!("{name}.output"), &corrections.output, &rows);
    let scores = graph.op("Add", &[before, &change]);
    let low = graph.constant_f32(&format!("{name}.low"), &[], &[-MAX_LOG_DEVIATIONS]);
    let high = graph.constant_f32(&format!("{name}.high"), &[], &[MAX_LOG_DEVIATIONS]);
    graph.op("Clip", &[&scores, &low, &high])
}

/// Some columns of `[n, width]`. A slice is not used, because tract would compute a separate product for each slice of
/// a product, which takes as long as one with many more columns.
fn columns(graph: &mut GraphBuilder, values: &str, columns: Range<usize>) -> String {
    let name = format!("columns.{}.{}", columns.start, columns.end);
    let columns: Vec<i64> = columns.map(|column| column as i64).collect();
    let columns = graph.constant_i64(&name, &columns);
    graph.op_with("Gather", &[values, &columns], vec![int("axis", 1)])
}

/// `[n_graphs, n_outputs]`: the sum or the maximum over operators, depending on the output.
fn read_out(
    graph: &mut GraphBuilder,
    operators: &str,
    graphs: &Graphs,
    readouts: &[Readout],
) -> String {
    let sums = graphs.sum(graph, operators);
    let maxima = graphs.max(graph, operators);
    let mask = |wanted: Readout| -> Vec<f32> {
        let is_it = |readout: &Readout| f32::from(u8::from(*readout == wanted));
        readouts.iter().map(is_it).collect()
    };
    let dims = [1, readouts.len()];
    let is_sum = graph.constant_f32("readout.is_sum", &dims, &mask(Readout::Sum));
    let is_max = graph.constant_f32("readout.is_max", &dims, &mask(Readout::Max));
    let sums = graph.op("Mul", &[&sums, &is_sum]);
    let maxima = graph.op("Mul", &[&maxima, &is_max]);
    graph.op("Add", &[&sums, &maxima])
}
