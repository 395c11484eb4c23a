//! The nodes of [`SeerNet`].

use super::builder::{GraphBuilder, int};
use super::whole_graph::WholeGraph;
use super::{
    EdgeSums, Inputs, floats, kinds, linear, linear_relu, natural_units, over_nodes, side_by_side,
};
use crate::gnn::prepare::Scaling;
use crate::gnn::seernet::{Attention, Block, Mlp, SeerNet};

/// Name of the estimates.
pub fn export(
    graph: &mut GraphBuilder,
    network: &SeerNet,
    inputs: &Inputs,
    scaling: &Scaling,
) -> String {
    let kinds = kinds(graph, inputs, scaling.vocabulary.len());
    let incoming = EdgeSums::new(graph, &inputs.edge_src, &inputs.edge_dst);
    let ones = super::ones(graph, &kinds);
    let edges = Edges {
        writers: &inputs.edge_src,
        readers: &inputs.edge_dst,
        n_incoming: incoming.n_summed(graph, &ones),
        incoming,
    };
    let whole = WholeGraph::new(graph, inputs, &ones, scaling);
    let told = [inputs.features.as_str(), &kinds, &whole.shares];
    let told = side_by_side(graph, &told);
    let nodes = linear(graph, "nodes", &network.nodes, &told);
    let of_edges = scaling.columns.of_edges().map(|column| column as i64);
    let of_edges = graph.constant_i64("edges.columns", &of_edges);
    let of_edges = [inputs.features.as_str(), &of_edges];
    let of_edges = graph.op_with("Gather", &of_edges, vec![int("axis", 1)]);
    let of_edges = at(graph, &of_edges, edges.writers);
    let mut rows = Rows {
        edges: linear(graph, "edges", &network.edges, &of_edges),
        graph: linear(graph, "graph", &network.graph, &whole.globals),
        pooled: pool(graph, "attention", &network.attention, &nodes),
        nodes,
    };
    for (k, block) in network.blocks.iter().enumerate() {
        rows = exchange(graph, &format!("blocks.{k}"), block, &rows, &edges);
    }
    let head = linear_relu(graph, "head", &network.head, &rows.graph);
    let outputs = linear(graph, "output", &network.output, &head);
    natural_units(graph, "log_labels", &scaling.log_labels, &outputs)
}

/// Names of the edges' ends, and of what is summed over them.
struct Edges<'i> {
    writers: &'i str,
    readers: &'i str,
    /// From rows of edges to rows of their readers.
    incoming: EdgeSums,
    n_incoming: String,
}

/// Names of the rows between blocks.
struct Rows {
    nodes: String,
    edges: String,
    graph: String,
    pooled: String,
}

fn exchange(
    graph: &mut GraphBuilder,
    name: &str,
    block: &Block,
    rows: &Rows,
    edges: &Edges,
) -> Rows {
    let part = |part: &str| format!("{name}.{part}");
    let told = [
        rows.edges.clone(),
        at(graph, &rows.nodes, edges.writers),
        at(graph, &rows.nodes, edges.readers),
        repeated(graph, &rows.graph, &rows.edges),
    ];
    let new_edges = mlp(graph, &part("edges"), &block.edges, &told);
    let sums = edges.incoming.of_edges(graph, &new_edges, &rows.nodes);
    let told = [
        graph.op("Div", &[&sums, &edges.n_incoming]),
        graph.op("Add", &[&rows.nodes, &rows.pooled]),
        repeated(graph, &rows.graph, &rows.nodes),
    ];
    let nodes = mlp(graph, &part("nodes"), &block.nodes, &told);
    let pooled = pool(graph, &part("attention"), &block.attention, &nodes);
    let pooled = graph.op("Add", &[&pooled, &rows.pooled]);
    let pooled = mlp(graph, &part("pooled"), &block.pooled, &[pooled]);
    let maximum = over_nodes(graph, "ReduceMax", &nodes);
    let mean = over_nodes(graph, "ReduceMean", &nodes);
    let both = side_by_side(graph, &[&maximum, &mean]);
    let both = linear(graph, &part("max_and_mean"), &block.max_and_mean, &both);
    let told = [both, pooled.clone(), rows.graph.clone()];
    let of_graph = mlp(graph, &part("graph"), &block.graph, &told);
    Rows {
        nodes: graph.op("Add", &[&rows.nodes, &nodes]),
        edges: graph.op("Add", &[&rows.edges, &new_edges]),
        graph: graph.op("Add", &[&rows.graph, &of_graph]),
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

/// `[1, hidden]`.
fn pool(graph: &mut GraphBuilder, name: &str, attention: &Attention, nodes: &str) -> String {
    let dims = attention.score.dims();
    let score = graph.weights_f16(name, &dims, &floats(attention.score.val()));
    let scores = graph.op("MatMul", &[nodes, &score]);
    let weights = graph.op_with("Softmax", &[&scores], vec![int("axis", 0)]);
    let weighted = graph.op("Mul", &[nodes, &weights]);
    over_nodes(graph, "ReduceSum", &weighted)
}

/// Rows of nodes at the ends of edges.
fn at(graph: &mut GraphBuilder, nodes: &str, ends: &str) -> String {
    graph.op_with("Gather", &[nodes, ends], vec![int("axis", 0)])
}

/// The one row `of`, as often as `like` has rows of that width.
fn repeated(graph: &mut GraphBuilder, of: &str, like: &str) -> String {
    let shape = graph.op("Shape", &[like]);
    graph.op("Expand", &[of, &shape])
}
