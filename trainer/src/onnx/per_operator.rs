//! The nodes of [`PerOperator`].

use burn::nn::Linear;

use super::builder::{GraphBuilder, int};
use super::{EdgeSums, Inputs, encode, linear, linear_relu, natural_units};
use crate::gnn::per_operator::{Corrections, MAX_LOG_DEVIATIONS, N_LAYERS, N_TERMS, PerOperator};
use crate::gnn::prepare::{Readout, Scaling};

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
    let n_hidden = width - N_TERMS * n_outputs;
    let hidden = columns(graph, &encoded, 0, n_hidden);
    let power_laws = columns(graph, &encoded, n_hidden, width);
    let mut hidden = graph.op("Relu", &[&hidden]);
    let predecessors = EdgeSums::new(graph, &inputs.edge_src, &inputs.edge_dst);
    let successors = EdgeSums::new(graph, &inputs.edge_dst, &inputs.edge_src);
    let sums = [predecessors, successors];
    let (first_layers, second_layers) = network.layers.split_at(N_LAYERS[0]);
    hidden = exchange(graph, hidden, "first", first_layers, &sums);
    let first = corrected(graph, "first", &network.first, &hidden, &power_laws);
    let rows = [hidden.as_str(), &first];
    let rows = graph.op_with("Concat", &rows, vec![int("axis", 1)]);
    let change = linear_relu(graph, "second_look", &network.second_look, &rows);
    hidden = graph.op("Add", &[&hidden, &change]);
    hidden = exchange(graph, hidden, "second", second_layers, &sums);
    let deviations = corrected(graph, "second", &network.second, &hidden, &first);
    let logs = &scaling.operator_logs;
    let terms: Vec<String> = (0..N_TERMS)
        .map(|k| {
            let term = columns(graph, &deviations, k * n_outputs, (k + 1) * n_outputs);
            natural_units(graph, &format!("term_{k}"), logs, &term)
        })
        .collect();
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

/// Standardised logarithms after a pass, within bounds.
fn corrected(
    graph: &mut GraphBuilder,
    name: &str,
    corrections: &Corrections,
    hidden: &str,
    before: &str,
) -> String {
    let rows = linear_relu(graph, &format!("{name}.head"), &corrections.head, hidden);
    let change = linear(graph, &format!("{name}.output"), &corrections.output, &rows);
    let deviations = graph.op("Add", &[before, &change]);
    let low = graph.constant_f32(&format!("{name}.low"), &[], &[-MAX_LOG_DEVIATIONS]);
    let high = graph.constant_f32(&format!("{name}.high"), &[], &[MAX_LOG_DEVIATIONS]);
    graph.op("Clip", &[&deviations, &low, &high])
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
