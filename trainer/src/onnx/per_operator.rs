//! The nodes of [`PerOperator`].

use burn::nn::Linear;

use super::builder::{GraphBuilder, int};
use super::{EdgeSums, Inputs, encode, linear, linear_relu, natural_amounts, natural_units};
use crate::gnn::per_operator::{
    Corrections, MAX_LOG_DEVIATIONS, N_LAYERS, N_TERMS, PerOperator, n_scores,
};
use crate::gnn::prepare::{Plan, Readout, Scaling};

/// Names of the results.
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
    let encoded = encode(graph, &network.encoder, inputs);
    let width = network.encoder.layers[0].weight.dims()[1];
    let n_outputs = scaling.n_outputs();
    let n_hidden = width - n_scores(n_outputs);
    let hidden = columns(graph, &encoded, 0, n_hidden);
    let scores = columns(graph, &encoded, n_hidden, width);
    let mut hidden = graph.op("Relu", &[&hidden]);
    let predecessors = EdgeSums::new(graph, &inputs.edge_src, &inputs.edge_dst);
    let successors = EdgeSums::new(graph, &inputs.edge_dst, &inputs.edge_src);
    let sums = [predecessors, successors];
    let (first_layers, second_layers) = network.layers.split_at(N_LAYERS[0]);
    hidden = exchange(graph, hidden, "first", first_layers, &sums);
    let first = corrected(graph, "first", &network.first, &hidden, &scores);
    let rows = [hidden.as_str(), &first];
    let rows = graph.op_with("Concat", &rows, vec![int("axis", 1)]);
    let change = linear_relu(graph, "second_look", &network.second_look, &rows);
    hidden = graph.op("Add", &[&hidden, &change]);
    hidden = exchange(graph, hidden, "second", second_layers, &sums);
    let scores = corrected(graph, "second", &network.second, &hidden, &first);
    let logs = &scaling.operator_logs;
    let mut part = |k| columns(graph, &scores, k * n_outputs, (k + 1) * n_outputs);
    let parts: Vec<String> = (0..=N_TERMS).map(&mut part).collect();
    let (gates, terms) = parts.split_last().expect("there is a gate");
    let mut terms: Vec<String> = (terms.iter().enumerate())
        .map(|(k, term)| natural_units(graph, &format!("term_{k}"), logs, term))
        .collect();
    let gates = graph.op("Sigmoid", &[gates]);
    let planned = planned(graph, &inputs.raw, scaling);
    terms.push(graph.op("Mul", &[&gates, &planned]));
    let terms: Vec<&str> = terms.iter().map(String::as_str).collect();
    let operators = graph.op("Sum", &terms);
    let ceilings = graph.constant_f32("ceilings", &[1, n_outputs], &scaling.ceilings);
    let operators = graph.op("Min", &[&operators, &ceilings]);
    let estimates = read_out(graph, &operators, &scaling.readouts);
    Outputs {
        operators,
        estimates,
    }
}

/// `[n_nodes, n_outputs]`, natural units: what rules say, 0 where they do not.
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

/// Rounds of message passing.
fn exchange(
    graph: &mut GraphBuilder,
    mut hidden: String,
    name: &str,
    layers: &[Linear],
    sums: &[EdgeSums; 2],
) -> String {
    for (k, layer) in layers.iter().enumerate() {
        let [before, after] = sums.each_ref().map(|sums| sums.of(graph, &hidden));
        let rows = [hidden.as_str(), &before, &after];
        let rows = graph.op_with("Concat", &rows, vec![int("axis", 1)]);
        let change = linear_relu(graph, &format!("{name}.layers.{k}"), layer, &rows);
        hidden = graph.op("Add", &[&hidden, &change]);
    }
    hidden
}

/// Scores after a pass, within bounds.
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

/// Columns `start..end` of `[n, width]`.
fn columns(graph: &mut GraphBuilder, values: &str, start: usize, end: usize) -> String {
    let from = graph.constant_i64(&format!("columns.{start}.{end}.start"), &[start as i64]);
    let to = graph.constant_i64(&format!("columns.{start}.{end}.end"), &[end as i64]);
    let axis = graph.constant_i64(&format!("columns.{start}.{end}.axis"), &[1]);
    graph.op("Slice", &[values, &from, &to, &axis])
}

/// `[1, n_outputs]`: the sum or the maximum over operators, as each output asks.
fn read_out(graph: &mut GraphBuilder, operators: &str, readouts: &[Readout]) -> String {
    let axis = graph.constant_i64("node_axis", &[0]);
    let keep = || vec![int("keepdims", 1)];
    let sums = graph.op_with("ReduceSum", &[operators, &axis], keep());
    let maxima = graph.op_with("ReduceMax", &[operators, &axis], keep());
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
