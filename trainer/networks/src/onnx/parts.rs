//! Parts that the networks' files have in common.

use std::ops::Range;

use burn::nn::Linear;
use burn::tensor::Tensor;
use litecast_trainer::onnx::{GraphBuilder, float_tensor, int, string};

use crate::gnn::encoder::CategoryEncoder;
use crate::gnn::prepare::{ColumnScaling, MAX_DEVIATIONS};
use crate::gnn::whole_graph::MAX_LOG_AMOUNT;

/// Names of a network's inputs.
pub struct Inputs {
    /// Standardised features.
    pub features: String,
    /// Raw features.
    pub raw: String,
    pub category: String,
    pub edge_src: String,
    pub edge_dst: String,
    pub groups: Groups,
    pub graphs: Graphs,
}

/// Names of nodes by category, see [`litecast::learned::batch`].
pub struct Groups {
    pub category: String,
    pub nodes: String,
    pub place_of_node: String,
}

pub fn standardise(
    graph: &mut GraphBuilder,
    name: &str,
    values: &str,
    by: &ColumnScaling,
) -> String {
    let n = [by.mean.len()];
    let mean = graph.constant_f32(&format!("{name}.mean"), &n, &by.mean);
    let factor = graph.constant_f32(&format!("{name}.inverse_std"), &n, &by.inverse_std());
    let low = graph.constant_f32(&format!("{name}.low"), &[], &[-MAX_DEVIATIONS]);
    let high = graph.constant_f32(&format!("{name}.high"), &[], &[MAX_DEVIATIONS]);
    let centred = graph.op("Sub", &[values, &mean]);
    let scaled = graph.op("Mul", &[&centred, &factor]);
    graph.op("Clip", &[&scaled, &low, &high])
}

/// Eq. 1, `[n_nodes, hidden]`.
pub fn encode(graph: &mut GraphBuilder, encoder: &CategoryEncoder, inputs: &Inputs) -> String {
    let [_, n_outputs] = encoder.layers[0].weight.dims();
    encode_columns(graph, "first", encoder, inputs, 0..n_outputs)
}

/// Some columns of eq. 1, `[n_nodes, n]`: one product for each group of nodes with the weights of their category. The
/// embedding's part of the layer is the same for all nodes of a category, so it is added to the bias.
pub fn encode_columns(
    graph: &mut GraphBuilder,
    name: &str,
    encoder: &CategoryEncoder,
    inputs: &Inputs,
    columns: Range<usize>,
) -> String {
    let [n_categories, _] = encoder.embedding.dims();
    let n_columns = n_columns(encoder);
    let n = columns.len();
    let of_columns = |rows: Tensor<2>| floats(rows.narrow(1, columns.start, n));
    let weights: Vec<f32> = (0..n_categories)
        .map(|category| encoder.layer(category).weight.val())
        .flat_map(|weight| of_columns(weight.narrow(0, 0, n_columns)))
        .collect();
    let biases: Vec<f32> = (0..n_categories)
        .flat_map(|category| of_columns(category_bias(encoder, n_columns, category)))
        .collect();
    let dims = [n_categories, n_columns, n];
    let weights = graph.stored_weights(&format!("{name}.weight"), &dims, &weights);
    let biases = graph.constant_f32(&format!("{name}.bias"), &[n_categories, n], &biases);
    let flat = graph.constant_i64(&format!("{name}.flat_shape"), &[-1, n as i64]);

    let groups = &inputs.groups;
    let features = rows_at(graph, &inputs.features, &groups.nodes);
    let weights = rows_at(graph, &weights, &groups.category);
    let bias = rows_at(graph, &biases, &inputs.category);
    let products = graph.op("MatMul", &[&features, &weights]);
    let products = graph.op("Reshape", &[&products, &flat]);
    let products = rows_at(graph, &products, &groups.place_of_node);
    graph.op("Add", &[&products, &bias])
}

pub fn n_columns(encoder: &CategoryEncoder) -> usize {
    let [_, embedding] = encoder.embedding.dims();
    encoder.layers[0].weight.dims()[0] - embedding
}

/// `b_c` plus the embedding's part of `w_c`.
pub fn category_bias(encoder: &CategoryEncoder, n_columns: usize, category: usize) -> Tensor<2> {
    let layer = encoder.layer(category);
    let embedding = encoder.embedding.val().narrow(0, category, 1);
    let [_, width] = embedding.dims();
    let constant = embedding.matmul(layer.weight.val().narrow(0, n_columns, width));
    constant + bias(layer).unsqueeze()
}

/// Sums of rows over edges: the row at one end of each edge is added to the other end.
pub struct EdgeSums {
    pub from: String,
    pub to: String,
}

impl EdgeSums {
    /// Built from the names of two index tensors `[n]`.
    pub fn new(graph: &mut GraphBuilder, from: &str, to: &str) -> Self {
        let axis = graph.constant_i64(&format!("{to}.axis"), &[1]);
        Self {
            from: from.to_owned(),
            to: graph.op("Unsqueeze", &[to, &axis]),
        }
    }

    /// Sums of rows of nodes.
    pub fn append(&self, graph: &mut GraphBuilder, hidden: &str) -> String {
        let zeros = zeros_like(graph, hidden);
        self.plus_neighbour_sums(graph, &zeros, hidden)
    }

    /// `rows` plus the sums of `hidden`.
    pub fn plus_neighbour_sums(
        &self,
        graph: &mut GraphBuilder,
        rows: &str,
        hidden: &str,
    ) -> String {
        let messages = rows_at(graph, hidden, &self.from);
        self.scatter_add(graph, rows, &messages)
    }

    /// Sums of rows of edges, in the shape of `nodes`.
    pub fn append_edges(&self, graph: &mut GraphBuilder, messages: &str, nodes: &str) -> String {
        let zeros = zeros_like(graph, nodes);
        self.scatter_add(graph, &zeros, messages)
    }

    pub fn scatter_add(&self, graph: &mut GraphBuilder, rows: &str, messages: &str) -> String {
        let inputs = [rows, &self.to, messages];
        graph.op_with("ScatterND", &inputs, vec![string("reduction", "add")])
    }

    /// `[n_nodes, 1]`: number of rows in each node's sum, at least 1. `ones` is `[n_nodes, 1]`.
    pub fn n_summed(&self, graph: &mut GraphBuilder, ones: &str) -> String {
        let counts = self.append(graph, ones);
        graph.op("Max", &[&counts, ones])
    }
}

/// `[n_nodes, n_kinds]`: 1 in the column of each node's category, all of which are below `n_kinds`.
pub fn kinds(graph: &mut GraphBuilder, inputs: &Inputs, n_kinds: usize) -> String {
    let identity: Vec<f32> = (0..n_kinds * n_kinds)
        .map(|i| f32::from(i % n_kinds == i / n_kinds))
        .collect();
    let identity = graph.constant_f32("kinds", &[n_kinds, n_kinds], &identity);
    rows_at(graph, &identity, &inputs.category)
}

/// `[n_nodes, 1]`: ones, because every node has one kind.
pub fn ones(graph: &mut GraphBuilder, kinds: &str) -> String {
    let axis = graph.axis(1);
    graph.op_with("ReduceSum", &[kinds, &axis], vec![int("keepdims", 1)])
}

/// Columns of raw features that are ln(1 + x) → x.
pub fn natural_amounts(graph: &mut GraphBuilder, name: &str, raw: &str, columns: &[i64]) -> String {
    let columns = graph.constant_i64(&format!("{name}.columns"), columns);
    let low = graph.constant_f32(&format!("{name}.low"), &[], &[0.0]);
    let high = graph.constant_f32(&format!("{name}.high"), &[], &[MAX_LOG_AMOUNT]);
    let one = graph.constant_f32(&format!("{name}.one"), &[1, 1], &[1.0]);
    let logs = graph.op_with("Gather", &[raw, &columns], vec![int("axis", 1)]);
    let logs = graph.op("Clip", &[&logs, &low, &high]);
    let more = graph.op("Exp", &[&logs]);
    graph.op("Sub", &[&more, &one])
}

pub fn side_by_side(graph: &mut GraphBuilder, parts: &[&str]) -> String {
    graph.op_with("Concat", parts, vec![int("axis", 1)])
}

pub fn zeros_like(graph: &mut GraphBuilder, values: &str) -> String {
    let shape = graph.op("Shape", &[values]);
    // ONNX's default is the same zero, but tract reads it as a double.
    let zero = vec![float_tensor("value", 0.0)];
    graph.op_with("ConstantOfShape", &[&shape], zero)
}

/// The rows of a table at `places`, which may contain a row several times.
pub fn rows_at(graph: &mut GraphBuilder, table: &str, places: &str) -> String {
    graph.op_with("Gather", &[table, places], vec![int("axis", 0)])
}

/// Reductions of nodes' rows to their graphs, and graphs' rows at their nodes.
pub struct Graphs {
    /// `[n_nodes]`.
    pub of_node: String,
    /// The same as `[n_nodes, 1]`: the row to which a node's row is added.
    pub places: String,
    /// `[n_graphs]`.
    pub first_node: String,
}

impl Graphs {
    /// Built from the names of two index tensors, `[n_nodes]` and `[n_graphs]`.
    pub fn new(graph: &mut GraphBuilder, of_node: String, first_node: String) -> Self {
        let axis = graph.axis(1);
        Self {
            places: graph.op("Unsqueeze", &[&of_node, &axis]),
            of_node,
            first_node,
        }
    }

    /// `[n_graphs, width]` → `[n_nodes, width]`: the row of each node's graph.
    pub fn broadcast_to_nodes(&self, graph: &mut GraphBuilder, rows: &str) -> String {
        rows_at(graph, rows, &self.of_node)
    }

    /// `[n_graphs, width]`.
    pub fn sum(&self, graph: &mut GraphBuilder, rows: &str) -> String {
        let first = rows_at(graph, rows, &self.first_node);
        let zeros = zeros_like(graph, &first);
        self.scatter_reduce(graph, &zeros, rows, "add")
    }

    /// `[n_graphs, width]`.
    pub fn max(&self, graph: &mut GraphBuilder, rows: &str) -> String {
        let first = rows_at(graph, rows, &self.first_node);
        self.scatter_reduce(graph, &first, rows, "max")
    }

    pub fn scatter_reduce(
        &self,
        graph: &mut GraphBuilder,
        start: &str,
        rows: &str,
        how: &str,
    ) -> String {
        let inputs = [start, &self.places, rows];
        graph.op_with("ScatterND", &inputs, vec![string("reduction", how)])
    }
}

pub fn linear(graph: &mut GraphBuilder, name: &str, layer: &Linear, input: &str) -> String {
    let product = product(graph, name, layer.weight.val(), input);
    with_bias(graph, name, layer, &product)
}

pub fn product(graph: &mut GraphBuilder, name: &str, weights: Tensor<2>, input: &str) -> String {
    let name = format!("{name}.weight");
    let weights = graph.stored_weights(&name, &weights.dims(), &floats(weights));
    graph.op("MatMul", &[input, &weights])
}

pub fn with_bias(graph: &mut GraphBuilder, name: &str, layer: &Linear, product: &str) -> String {
    let bias = floats(bias(layer));
    let bias = graph.stored_weights(&format!("{name}.bias"), &[bias.len()], &bias);
    graph.op("Add", &[product, &bias])
}

pub fn linear_relu(graph: &mut GraphBuilder, name: &str, layer: &Linear, input: &str) -> String {
    let sum = linear(graph, name, layer, input);
    graph.op("Relu", &[&sum])
}

/// Standardised logarithms → natural units.
pub fn natural_units(
    graph: &mut GraphBuilder,
    name: &str,
    logs: &ColumnScaling,
    values: &str,
) -> String {
    let dims = [1, logs.mean.len()];
    let mean = graph.constant_f32(&format!("{name}.mean"), &dims, &logs.mean);
    let std = graph.constant_f32(&format!("{name}.std"), &dims, &logs.std);
    let scaled = graph.op("Mul", &[values, &std]);
    let logarithm = graph.op("Add", &[&scaled, &mean]);
    graph.op("Exp", &[&logarithm])
}

pub fn bias(layer: &Linear) -> Tensor<1> {
    layer
        .bias
        .as_ref()
        .expect("every layer of the network has a bias")
        .val()
}

pub fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor
        .into_data()
        .try_to_vec()
        .expect("the network's weights are f32")
}
