//! A trained [`Network`] → an ONNX file that takes raw features and gives natural units.

mod builder;
mod eagle;
mod per_operator;
mod perfsage;
mod sage;
mod seernet;
mod whole_graph;

use std::ops::Range;

use burn::nn::Linear;
use burn::tensor::Tensor;
use litecast::learned::manifest::{self, tensor_names};
use litecast::learned::network::{NetworkError, check_operators};

use prost::Message;

use self::builder::{Dim, GraphBuilder, float_tensor, int, string};
use crate::gnn::encoder::CategoryEncoder;
use crate::gnn::network::Network;
use crate::gnn::prepare::{MAX_DEVIATIONS, Scaling, Standard};
use crate::gnn::sage::{DIPPM, NNLP};
use crate::gnn::whole_graph::MAX_LOG_AMOUNT;

const N_NODES: Dim = Dim::Symbol(manifest::N_NODES);
const N_EDGES: Dim = Dim::Symbol("n_edges");
const N_GRAPHS: Dim = Dim::Symbol("n_graphs");
const N_GROUPS: Dim = Dim::Symbol("n_groups");
const GROUP_SIZE: Dim = Dim::Symbol("group_size");

/// Metadata key under which the file carries the id of the features it expects.
pub const SCHEMA_ID_KEY: &str = "feature_schema_id";

/// The file's bytes. Weights are stored with few bits: round the network first
/// ([`Network::as_stored`]) to measure what the file will estimate. Refuses a network with an
/// operator that the predictor does not run.
pub fn export(
    network: &Network,
    scaling: &Scaling,
    feature_schema_id: &str,
) -> Result<Vec<u8>, NetworkError> {
    let mut graph = GraphBuilder::new("litecast");
    let features = [N_NODES, Dim::Fixed(scaling.n_columns())];
    let features = graph.input_f32(tensor_names::NODE_FEATURES, &features);
    let category = graph.input_i64(tensor_names::CATEGORY, &[N_NODES]);
    let edge_src = graph.input_i64(tensor_names::EDGE_SRC, &[N_EDGES]);
    let edge_dst = graph.input_i64(tensor_names::EDGE_DST, &[N_EDGES]);
    let groups = Groups {
        category: graph.input_i64(tensor_names::GROUP_CATEGORY, &[N_GROUPS]),
        nodes: graph.input_i64(tensor_names::GROUP_NODES, &[N_GROUPS, GROUP_SIZE]),
        place_of_node: graph.input_i64(tensor_names::PLACE_OF_NODE, &[N_NODES]),
    };
    let of_node = graph.input_i64(tensor_names::GRAPH_OF_NODE, &[N_NODES]);
    let first_node = graph.input_i64(tensor_names::FIRST_NODE, &[N_GRAPHS]);
    let inputs = Inputs {
        features: standardise(&mut graph, "features", &features, &scaling.features),
        raw: features,
        category,
        edge_src,
        edge_dst,
        groups,
        graphs: Graphs::new(&mut graph, of_node, first_node),
    };
    let (estimates, operators) = match network {
        Network::PerfSage(network) => {
            let estimates = perfsage::export(&mut graph, network, &inputs, scaling);
            (estimates, None)
        }
        Network::Dippm(network) => {
            let estimates = sage::export(&mut graph, network, DIPPM, &inputs, scaling);
            (estimates, None)
        }
        Network::Nnlp(network) => {
            let estimates = sage::export(&mut graph, network, NNLP, &inputs, scaling);
            (estimates, None)
        }
        Network::SeerNet(network) => {
            let estimates = seernet::export(&mut graph, network, &inputs, scaling);
            (estimates, None)
        }
        Network::Eagle(network) => {
            let estimates = eagle::export(&mut graph, network, &inputs, scaling);
            (estimates, None)
        }
        Network::PerOperator(network) => {
            let outputs = per_operator::export(&mut graph, network, &inputs, scaling);
            (outputs.estimates, Some(outputs.operators))
        }
    };
    let n_outputs = Dim::Fixed(scaling.n_outputs());
    graph.output_f32(tensor_names::ESTIMATES, &estimates, &[N_GRAPHS, n_outputs]);
    if let Some(operators) = operators {
        let name = tensor_names::OPERATOR_ESTIMATES;
        graph.output_f32(name, &operators, &[N_NODES, n_outputs]);
    }
    to_file(graph, feature_schema_id)
}

fn to_file(graph: GraphBuilder, feature_schema_id: &str) -> Result<Vec<u8>, NetworkError> {
    let file = graph.finish(&[(SCHEMA_ID_KEY, feature_schema_id)]);
    check_operators(&file)?;
    Ok(file.encode_to_vec())
}

/// Names of what a network reads.
struct Inputs {
    /// Standardised.
    features: String,
    /// As they come.
    raw: String,
    category: String,
    edge_src: String,
    edge_dst: String,
    groups: Groups,
    graphs: Graphs,
}

/// Names of nodes by category, see [`litecast::learned::packed`].
struct Groups {
    category: String,
    nodes: String,
    place_of_node: String,
}

fn standardise(graph: &mut GraphBuilder, name: &str, values: &str, by: &Standard) -> String {
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
fn encode(graph: &mut GraphBuilder, encoder: &CategoryEncoder, inputs: &Inputs) -> String {
    let [_, n_outputs] = encoder.layers[0].weight.dims();
    encode_columns(graph, "first", encoder, inputs, 0..n_outputs)
}

/// Some columns of eq. 1, `[n_nodes, n]`: a product for each group of nodes with the weights of their
/// category. The embedding's part of the layer is the same for all nodes of a category and is added
/// to its bias.
fn encode_columns(
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

fn n_columns(encoder: &CategoryEncoder) -> usize {
    let [_, embedding] = encoder.embedding.dims();
    encoder.layers[0].weight.dims()[0] - embedding
}

/// `b_c` plus the embedding's part of `w_c`.
fn category_bias(encoder: &CategoryEncoder, n_columns: usize, category: usize) -> Tensor<2> {
    let layer = encoder.layer(category);
    let embedding = encoder.embedding.val().narrow(0, category, 1);
    let [_, width] = embedding.dims();
    let constant = embedding.matmul(layer.weight.val().narrow(0, n_columns, width));
    constant + bias(layer).unsqueeze()
}

/// Sums of rows over edges, each edge read at one end and added to the other.
struct EdgeSums {
    from: String,
    to: String,
}

impl EdgeSums {
    /// From names of index tensors `[n]`.
    fn new(graph: &mut GraphBuilder, from: &str, to: &str) -> Self {
        let axis = graph.constant_i64(&format!("{to}.axis"), &[1]);
        Self {
            from: from.to_owned(),
            to: graph.op("Unsqueeze", &[to, &axis]),
        }
    }

    /// Of rows of nodes.
    fn of(&self, graph: &mut GraphBuilder, hidden: &str) -> String {
        let zeros = zeros_like(graph, hidden);
        self.added_to(graph, &zeros, hidden)
    }

    /// `rows` and, of `hidden`, the sums.
    fn added_to(&self, graph: &mut GraphBuilder, rows: &str, hidden: &str) -> String {
        let messages = rows_at(graph, hidden, &self.from);
        self.scattered(graph, rows, &messages)
    }

    /// Of rows of edges, in the shape of `nodes`.
    fn of_edges(&self, graph: &mut GraphBuilder, messages: &str, nodes: &str) -> String {
        let zeros = zeros_like(graph, nodes);
        self.scattered(graph, &zeros, messages)
    }

    fn scattered(&self, graph: &mut GraphBuilder, rows: &str, messages: &str) -> String {
        let inputs = [rows, &self.to, messages];
        graph.op_with("ScatterND", &inputs, vec![string("reduction", "add")])
    }

    /// `[n_nodes, 1]`: how many rows each node's sum adds up, 1 at least. `ones` is `[n_nodes, 1]`.
    fn n_summed(&self, graph: &mut GraphBuilder, ones: &str) -> String {
        let counts = self.of(graph, ones);
        graph.op("Max", &[&counts, ones])
    }
}

/// `[n_nodes, n_kinds]`: 1 in the column of each node's category, all of which are below `n_kinds`.
fn kinds(graph: &mut GraphBuilder, inputs: &Inputs, n_kinds: usize) -> String {
    let identity: Vec<f32> = (0..n_kinds * n_kinds)
        .map(|i| f32::from(i % n_kinds == i / n_kinds))
        .collect();
    let identity = graph.constant_f32("kinds", &[n_kinds, n_kinds], &identity);
    rows_at(graph, &identity, &inputs.category)
}

/// `[n_nodes, 1]`: every node is of one kind.
fn ones(graph: &mut GraphBuilder, kinds: &str) -> String {
    let axis = graph.axis(1);
    graph.op_with("ReduceSum", &[kinds, &axis], vec![int("keepdims", 1)])
}

/// Columns of raw features that are logarithms of 1 more than an amount → the amounts.
fn natural_amounts(graph: &mut GraphBuilder, name: &str, raw: &str, columns: &[i64]) -> String {
    let columns = graph.constant_i64(&format!("{name}.columns"), columns);
    let low = graph.constant_f32(&format!("{name}.low"), &[], &[0.0]);
    let high = graph.constant_f32(&format!("{name}.high"), &[], &[MAX_LOG_AMOUNT]);
    let one = graph.constant_f32(&format!("{name}.one"), &[1, 1], &[1.0]);
    let logs = graph.op_with("Gather", &[raw, &columns], vec![int("axis", 1)]);
    let logs = graph.op("Clip", &[&logs, &low, &high]);
    let more = graph.op("Exp", &[&logs]);
    graph.op("Sub", &[&more, &one])
}

fn side_by_side(graph: &mut GraphBuilder, parts: &[&str]) -> String {
    graph.op_with("Concat", parts, vec![int("axis", 1)])
}

fn zeros_like(graph: &mut GraphBuilder, values: &str) -> String {
    let shape = graph.op("Shape", &[values]);
    // ONNX's default is this very zero, but tract takes it for one in double precision.
    let zero = vec![float_tensor("value", 0.0)];
    graph.op_with("ConstantOfShape", &[&shape], zero)
}

/// The parts of a table along its first axis that stand at `places`, which may come more than once.
fn rows_at(graph: &mut GraphBuilder, table: &str, places: &str) -> String {
    graph.op_with("Gather", &[table, places], vec![int("axis", 0)])
}

/// Rows of nodes over each graph, and rows of graphs for their nodes.
struct Graphs {
    /// `[n_nodes]`.
    of_node: String,
    /// The same, `[n_nodes, 1]`: where a row is added to.
    places: String,
    /// `[n_graphs]`.
    first_node: String,
}

impl Graphs {
    /// From names of index tensors, `[n_nodes]` and `[n_graphs]`.
    fn new(graph: &mut GraphBuilder, of_node: String, first_node: String) -> Self {
        let axis = graph.axis(1);
        Self {
            places: graph.op("Unsqueeze", &[&of_node, &axis]),
            of_node,
            first_node,
        }
    }

    /// `[n_graphs, width]` → `[n_nodes, width]`: each graph's row for every node of it.
    fn at_nodes(&self, graph: &mut GraphBuilder, rows: &str) -> String {
        rows_at(graph, rows, &self.of_node)
    }

    /// `[n_graphs, width]`.
    fn sum(&self, graph: &mut GraphBuilder, rows: &str) -> String {
        let first = rows_at(graph, rows, &self.first_node);
        let zeros = zeros_like(graph, &first);
        self.reduced(graph, &zeros, rows, "add")
    }

    /// `[n_graphs, width]`.
    fn max(&self, graph: &mut GraphBuilder, rows: &str) -> String {
        let first = rows_at(graph, rows, &self.first_node);
        self.reduced(graph, &first, rows, "max")
    }

    fn reduced(&self, graph: &mut GraphBuilder, start: &str, rows: &str, how: &str) -> String {
        let inputs = [start, &self.places, rows];
        graph.op_with("ScatterND", &inputs, vec![string("reduction", how)])
    }
}

fn linear(graph: &mut GraphBuilder, name: &str, layer: &Linear, input: &str) -> String {
    let product = product(graph, name, layer.weight.val(), input);
    with_bias(graph, name, layer, &product)
}

fn product(graph: &mut GraphBuilder, name: &str, weights: Tensor<2>, input: &str) -> String {
    let name = format!("{name}.weight");
    let weights = graph.stored_weights(&name, &weights.dims(), &floats(weights));
    graph.op("MatMul", &[input, &weights])
}

fn with_bias(graph: &mut GraphBuilder, name: &str, layer: &Linear, product: &str) -> String {
    let bias = floats(bias(layer));
    let bias = graph.stored_weights(&format!("{name}.bias"), &[bias.len()], &bias);
    graph.op("Add", &[product, &bias])
}

fn linear_relu(graph: &mut GraphBuilder, name: &str, layer: &Linear, input: &str) -> String {
    let sum = linear(graph, name, layer, input);
    graph.op("Relu", &[&sum])
}

/// Standardised logarithms → natural units.
fn natural_units(graph: &mut GraphBuilder, name: &str, logs: &Standard, values: &str) -> String {
    let dims = [1, logs.mean.len()];
    let mean = graph.constant_f32(&format!("{name}.mean"), &dims, &logs.mean);
    let std = graph.constant_f32(&format!("{name}.std"), &dims, &logs.std);
    let scaled = graph.op("Mul", &[values, &std]);
    let logarithm = graph.op("Add", &[&scaled, &mean]);
    graph.op("Exp", &[&logarithm])
}

fn bias(layer: &Linear) -> Tensor<1> {
    layer
        .bias
        .as_ref()
        .expect("every layer of the network has a bias")
        .val()
}

fn floats<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor
        .into_data()
        .try_to_vec()
        .expect("the network's weights are f32")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_that_the_predictor_does_not_run_is_refused() {
        let mut graph = GraphBuilder::new("test");
        let input = graph.input_f32(tensor_names::NODE_FEATURES, &[N_NODES]);
        let rows = graph.op("Relu", &[&input]);
        graph.op("Erf", &[&rows]);
        let error = to_file(graph, "test").unwrap_err().to_string();
        assert!(
            error.starts_with("node `erf_1`: operator Erf, expected one of Add, Cast,"),
            "{error}"
        );
    }
}
