//! The nodes of [`whole_graph`](crate::gnn::whole_graph): the same from raw features, of one graph.

use super::builder::{GraphBuilder, int};
use super::proto::data_type;
use super::{Inputs, natural_amounts, over_nodes, side_by_side, standardise};
use crate::gnn::prepare::Scaling;
use crate::gnn::whole_graph::N_AMOUNTS;

/// Names of what is told.
pub struct WholeGraph {
    /// `[n_nodes, N_AMOUNTS]`.
    pub shares: String,
    /// `[1, N_GLOBALS]`, standardised.
    pub globals: String,
}

/// Rows: multiply-accumulates, bytes of weights, bytes read, bytes written. Columns: the amounts that each
/// is a part of.
const PARTS: [[f32; N_AMOUNTS]; 4] = [
    [1.0, 0.0, 0.0],
    [0.0, 1.0, 1.0],
    [0.0, 1.0, 0.0],
    [0.0, 1.0, 0.0],
];
/// Row of the bytes written.
const WRITTEN: usize = 3;

impl WholeGraph {
    /// `ones` is `[n_nodes, 1]`.
    pub fn new(graph: &mut GraphBuilder, inputs: &Inputs, ones: &str, scaling: &Scaling) -> Self {
        let columns = &scaling.columns;
        let read = [
            columns.macs,
            columns.weight_bytes,
            columns.input_bytes,
            columns.output_bytes,
        ];
        let read = read.map(|column| column as i64);
        let read = natural_amounts(graph, "whole", &inputs.raw, &read);
        let dims = [PARTS.len(), N_AMOUNTS];
        let parts = graph.constant_f32("whole.parts", &dims, PARTS.as_flattened());
        let amounts = graph.op("MatMul", &[&read, &parts]);
        let one = graph.constant_f32("one", &[], &[1.0]);
        let totals = over_nodes(graph, "ReduceSum", &amounts);
        let n_nodes = over_nodes(graph, "ReduceSum", ones);
        let n_edges = over_edges(graph, ones, inputs);
        let written = column(graph, &read, WRITTEN);
        let edge_bytes = over_edges(graph, &written, inputs);

        let others = graph.op("Sub", &[&n_nodes, &one]);
        let pairs = graph.op("Mul", &[&n_nodes, &others]);
        let density = ratio(graph, &n_edges, &pairs, &one);
        let told = [
            totals.clone(),
            graph.op("Div", &[&totals, &n_nodes]),
            medians(graph, &amounts, &n_nodes, &one),
            over_nodes(graph, "ReduceMax", &amounts),
            ratio(graph, &edge_bytes, &n_edges, &one),
            intensity(graph, &totals, &one),
        ];
        let told = side_by_side(graph, &told.each_ref().map(String::as_str));
        let told = graph.op("Add", &[&told, &one]);
        let told = graph.op("Log", &[&told]);
        let globals = side_by_side(graph, &[&n_nodes, &n_edges, &density, &told]);
        Self {
            shares: ratio(graph, &amounts, &totals, &one),
            globals: standardise(graph, "globals", &globals, &scaling.globals),
        }
    }
}

/// `[1, 1]`: sum of `[n_nodes, 1]` over the writers of all edges.
fn over_edges(graph: &mut GraphBuilder, values: &str, inputs: &Inputs) -> String {
    let of_edges = [values, &inputs.edge_src];
    let of_edges = graph.op_with("Gather", &of_edges, vec![int("axis", 0)]);
    over_nodes(graph, "ReduceSum", &of_edges)
}

/// `part / max(whole, 1)`.
fn ratio(graph: &mut GraphBuilder, part: &str, whole: &str, one: &str) -> String {
    let whole = graph.op("Max", &[whole, one]);
    graph.op("Div", &[part, &whole])
}

/// Multiply-accumulates for each byte moved.
fn intensity(graph: &mut GraphBuilder, totals: &str, one: &str) -> String {
    let [macs, moved] = [0, 1].map(|amount| column(graph, totals, amount));
    ratio(graph, &macs, &moved, one)
}

/// `[1, w]`: of an even number, the smaller of the two in the middle.
fn medians(graph: &mut GraphBuilder, values: &str, n_nodes: &str, one: &str) -> String {
    let half = graph.constant_f32("whole.half", &[], &[0.5]);
    let shape = graph.axis(1);
    let n_smallest = graph.op("Add", &[n_nodes, one]);
    let n_smallest = graph.op("Mul", &[&n_smallest, &half]);
    let n_smallest = graph.op("Floor", &[&n_smallest]);
    let integer = vec![int("to", data_type::INT64.into())];
    let n_smallest = graph.op_with("Cast", &[&n_smallest], integer);
    let n_smallest = graph.op("Reshape", &[&n_smallest, &shape]);
    let of_columns = vec![int("axis", 0), int("largest", 0)];
    let smallest = graph.op_of_two("TopK", &[values, &n_smallest], of_columns);
    over_nodes(graph, "ReduceMax", &smallest)
}

fn column(graph: &mut GraphBuilder, values: &str, column: usize) -> String {
    let column = graph.constant_i64(&format!("{values}.column.{column}"), &[column as i64]);
    graph.op_with("Gather", &[values, &column], vec![int("axis", 1)])
}
