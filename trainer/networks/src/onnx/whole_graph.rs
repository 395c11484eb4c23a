//! The nodes of [`whole_graph`](crate::gnn::whole_graph), computed from raw features for each graph.

use litecast_trainer::onnx::{GraphBuilder, int};
use tract_onnx::pb::tensor_proto::DataType;

use super::parts::{EdgeSums, Graphs, Inputs, natural_amounts, rows_at, side_by_side, standardise};
use crate::gnn::prepare::Scaling;
use crate::gnn::whole_graph::N_AMOUNTS;

/// Names of the features of whole graphs.
pub struct WholeGraph {
    /// `[n_nodes, N_AMOUNTS]`.
    pub shares: String,
    /// `[n_graphs, N_GLOBALS]`, standardised.
    pub globals: String,
    /// `[n_graphs, 1]`.
    pub n_nodes: String,
}

/// Rows: multiply-accumulates, bytes of weights, bytes read, bytes written. Columns: the amounts to which each of them
/// contributes.
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
        let graphs = &inputs.graphs;
        let totals = graphs.sum(graph, &amounts);
        let n_nodes = graphs.sum(graph, ones);
        let readers = EdgeSums::new(graph, &inputs.edge_dst, &inputs.edge_src);
        let n_readers = readers.append(graph, ones);
        let n_edges = graphs.sum(graph, &n_readers);
        let written = column(graph, &read, WRITTEN);
        let edge_bytes = graph.op("Mul", &[&written, &n_readers]);
        let edge_bytes = graphs.sum(graph, &edge_bytes);

        let others = graph.op("Sub", &[&n_nodes, &one]);
        let pairs = graph.op("Mul", &[&n_nodes, &others]);
        let density = ratio(graph, &n_edges, &pairs, &one);
        let told = [
            totals.clone(),
            graph.op("Div", &[&totals, &n_nodes]),
            medians(graph, &amounts, graphs, [&n_nodes, &others]),
            graphs.max(graph, &amounts),
            ratio(graph, &edge_bytes, &n_edges, &one),
            intensity(graph, &totals, &one),
        ];
        let told = side_by_side(graph, &told.each_ref().map(String::as_str));
        let told = graph.op("Add", &[&told, &one]);
        let told = graph.op("Log", &[&told]);
        let globals = side_by_side(graph, &[&n_nodes, &n_edges, &density, &told]);
        let totals = graphs.broadcast_to_nodes(graph, &totals);
        Self {
            shares: ratio(graph, &amounts, &totals, &one),
            globals: standardise(graph, "globals", &globals, &scaling.globals),
            n_nodes,
        }
    }
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

/// `[n_graphs, w]`: medians; for an even number, the smaller of the two middle values. Each column is sorted twice, by
/// value and then by graph; the second sort keeps the order of the first.
fn medians(
    graph: &mut GraphBuilder,
    values: &str,
    graphs: &Graphs,
    [n_nodes, others]: [&str; 2],
) -> String {
    // Not the shape of a tensor, because tract's TopK does not accept it as a number.
    let axis = graph.axis(0);
    let n_of_all = graph.op_with("ReduceSum", &[n_nodes, &axis], vec![int("keepdims", 0)]);
    let n_of_all = integers(graph, &n_of_all);
    let sorted = |graph: &mut GraphBuilder, values: &str| {
        let ascending = vec![int("axis", 0), int("largest", 0)];
        graph.op_of_two("TopK", &[values, &n_of_all], ascending)
    };
    let [values, nodes] = sorted(graph, values);
    let graph_of_value = rows_at(graph, &graphs.of_node, &nodes);
    let [_, places] = sorted(graph, &graph_of_value);
    let middle = middle(graph, graphs, others);
    let places = rows_at(graph, &places, &middle);
    let inputs = [values.as_str(), &places];
    graph.op_with("GatherElements", &inputs, vec![int("axis", 0)])
}

/// `[n_graphs]`: position of each graph's median among all nodes, graph after graph.
fn middle(graph: &mut GraphBuilder, graphs: &Graphs, others: &str) -> String {
    let half = graph.constant_f32("whole.half", &[], &[0.5]);
    let flat = graph.constant_i64("whole.flat", &[-1]);
    let before = graph.op("Mul", &[others, &half]);
    let before = graph.op("Floor", &[&before]);
    let before = graph.op("Reshape", &[&before, &flat]);
    let before = integers(graph, &before);
    graph.op("Add", &[&graphs.first_node, &before])
}

fn integers(graph: &mut GraphBuilder, values: &str) -> String {
    let to = vec![int("to", DataType::Int64 as i64)];
    graph.op_with("Cast", &[values], to)
}

fn column(graph: &mut GraphBuilder, values: &str, column: usize) -> String {
    let column = graph.constant_i64(&format!("{values}.column.{column}"), &[column as i64]);
    graph.op_with("Gather", &[values, &column], vec![int("axis", 1)])
}
