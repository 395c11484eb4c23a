//! The nodes of [`SeerNet`].

use litecast_trainer::onnx::{GraphBuilder, int};

use super::parts::{
    EdgeSums, Graphs, Inputs, floats, kinds, linear, linear_relu, natural_units, ones, rows_at,
    side_by_side,
};
use super::whole_graph::WholeGraph;
use crate::gnn::prepare::Scaling;
use crate::gnn::seernet::{Attention, Block, Mlp, SeerNet};

/// Returns the name of the estimates.
pub fn export(
    graph: &mut GraphBuilder,
    network: &SeerNet,
    inputs: &Inputs,
    scaling: &Scaling,
) -> String {
    let kinds = kinds(graph, inputs, scaling.vocabulary.len());
    let incoming = EdgeSums::new(graph, &inputs.edge_src, &inputs.edge_dst);
    let ones = ones(graph, &kinds);
    let edges = Edges {
        writers: &inputs.edge_src,
        readers: &inputs.edge_dst,
        graphs: rows_at(graph, &inputs.graphs.of_node, &inputs.edge_src),
        n_incoming: incoming.n_summed(graph, &ones),
        incoming,
    };
    let whole = WholeGraph::new(graph, inputs, &ones, scaling);
    let graphs = &inputs.graphs;
    let told = [inputs.features.as_str(), &kinds, &whole.shares];
    let told = side_by_side(graph, &told);
    let nodes = linear(graph, "nodes", &network.nodes, &told);
    let of_edges = scaling.columns.edge_columns().map(|column| column as i64);
    let of_edges = graph.constant_i64("edges.columns", &of_edges);
    let of_edges = [inputs.features.as_str(), &of_edges];
    let of_edges = graph.op_with("Gather", &of_edges, vec![int("axis", 1)]);
    let of_edges = rows_at(graph, &of_edges, edges.writers);
    let mut rows = Rows {
        edges: linear(graph, "edges", &network.edges, &of_edges),
        graphs: linear(graph, "graph", &network.graph, &whole.globals),
        pooled: pool(graph, "attention", &network.attention, &nodes, graphs),
        nodes,
    };
    let topology = Topology {
        graphs,
        n_nodes: whole.n_nodes,
        edges,
    };
    for (k, block) in network.blocks.iter().enumerate() {
        rows = message_round(graph, &format!("blocks.{k}"), block, &rows, &topology);
    }
    let head = linear_relu(graph, "head", &network.head, &rows.graphs);
    let outputs = linear(graph, "output", &network.output, &head);
    natural_units(graph, "log_labels", &scaling.log_labels, &outputs)
}

/// Names of tensors that describe the edges and nodes of graphs.
struct Topology<'i> {
    graphs: &'i Graphs,
    /// `[n_graphs, 1]`.
    n_nodes: String,
    edges: Edges<'i>,
}

/// Names of the edges' ends and graphs, and of sums over edges.
struct Edges<'i> {
    writers: &'i str,
    readers: &'i str,
    /// `[n_edges]`.
    graphs: String,
    /// Sums of edges' rows at their readers.
    incoming: EdgeSums,
    /// `[n_nodes, 1]`, at least 1.
    n_incoming: String,
}

/// Names of the rows between blocks, each `hidden` wide.
struct Rows {
    nodes: String,
    edges: String,
    /// Rows of graphs.
    graphs: String,
    /// The result of the attention for each graph.
    pooled: String,
}

fn message_round(
    graph: &mut GraphBuilder,
    name: &str,
    block: &Block,
    rows: &Rows,
    topology: &Topology,
) -> Rows {
    let Topology {
        graphs,
        n_nodes,
        edges,
    } = topology;
    let part = |part: &str| format!("{name}.{part}");
    let told = [
        rows.edges.clone(),
        rows_at(graph, &rows.nodes, edges.writers),
        rows_at(graph, &rows.nodes, edges.readers),
        rows_at(graph, &rows.graphs, &edges.graphs),
    ];
    let new_edges = mlp(graph, &part("edges"), &block.edges, &told);
    let sums = edges.incoming.append_edges(graph, &new_edges, &rows.nodes);
    let pooled = graphs.broadcast_to_nodes(graph, &rows.pooled);
    let told = [
        graph.op("Div", &[&sums, &edges.n_incoming]),
        graph.op("Add", &[&rows.nodes, &pooled]),
        graphs.broadcast_to_nodes(graph, &rows.graphs),
    ];
    let nodes = mlp(graph, &part("nodes"), &block.nodes, &told);
    let pooled = pool(graph, &part("attention"), &block.attention, &nodes, graphs);
    let pooled = graph.op("Add", &[&pooled, &rows.pooled]);
    let pooled = mlp(graph, &part("pooled"), &block.pooled, &[pooled]);
    let maximum = graphs.max(graph, &nodes);
    let sum = graphs.sum(graph, &nodes);
    let mean = graph.op("Div", &[&sum, n_nodes]);
    let both = side_by_side(graph, &[&maximum, &mean]);
    let both = linear(graph, &part("max_and_mean"), &block.max_and_mean, &both);
    let told = [both, pooled.clone(), rows.graphs.clone()];
    let of_graphs = mlp(graph, &part("graph"), &block.graph, &told);
    Rows {
        nodes: graph.op("Add", &[&rows.nodes, &nodes]),
        edges: graph.op("Add", &[&rows.edges, &new_edges]),
        graphs: graph.op("Add", &[&rows.graphs, &of_graphs]),
        pooled: graph.op("Add", &[&rows.pooled, &pooled]),
    }
}

fn mlp(graph: &mut GraphBuilder, name: &str, mlp: &Mlp, parts: &[String]) -> String {
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let mut rows = side_by_side(graph, &parts);
    for (k, layer) in mlp.layers.iter().enumerate() {
        if k > 0 {
            rows = graph.op("Relu", &[&rows]);
        }
        rows = linear(graph, &format!("{name}.{k}"), layer, &rows);
    }
    rows
}

/// `[n_graphs, hidden]`.
fn pool(
    graph: &mut GraphBuilder,
    name: &str,
    attention: &Attention,
    nodes: &str,
    graphs: &Graphs,
) -> String {
    let dims = attention.score.dims();
    let score = graph.stored_weights(name, &dims, &floats(attention.score.val()));
    let scores = graph.op("MatMul", &[nodes, &score]);
    let largest = graphs.max(graph, &scores);
    let largest = graphs.broadcast_to_nodes(graph, &largest);
    let scores = graph.op("Sub", &[&scores, &largest]);
    let weights = graph.op("Exp", &[&scores]);
    let weighted = graph.op("Mul", &[nodes, &weights]);
    let weighted = graphs.sum(graph, &weighted);
    let weights = graphs.sum(graph, &weights);
    graph.op("Div", &[&weighted, &weights])
}
