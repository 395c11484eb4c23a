//! A trained [`PerfSage`] → an ONNX file that takes raw features and gives natural units.

mod builder;
mod proto;

use burn::nn::Linear;
use burn::tensor::Tensor;
use litecast::manifest::tensor_names;

use self::builder::{Dim, GraphBuilder, float_tensor, int, string};
use crate::gnn::model::PerfSage;
use crate::gnn::prepare::{MAX_DEVIATIONS, Scaling};

const N_NODES: Dim = Dim::Symbol("n_nodes");
const N_EDGES: Dim = Dim::Symbol("n_edges");

/// Metadata key under which the file carries the id of the features it expects.
pub const SCHEMA_ID_KEY: &str = "feature_schema_id";

/// The file's bytes. Weights are stored in half precision: round the network first
/// ([`PerfSage::rounded_to_f16`]) to measure what the file will estimate.
pub fn export(model: &PerfSage, scaling: &Scaling, feature_schema_id: &str) -> Vec<u8> {
    let mut graph = GraphBuilder::new("perfsage");
    let features = [N_NODES, Dim::Fixed(scaling.n_columns())];
    let features = graph.input_f32(tensor_names::NODE_FEATURES, &features);
    let category = graph.input_i64(tensor_names::CATEGORY, &[N_NODES]);
    let edge_src = graph.input_i64(tensor_names::EDGE_SRC, &[N_EDGES]);
    let edge_dst = graph.input_i64(tensor_names::EDGE_DST, &[N_EDGES]);

    let standardised = standardise(&mut graph, &features, scaling);
    let mut hidden = encode(
        &mut graph,
        model,
        scaling.n_columns(),
        &standardised,
        &category,
    );
    let edges = Edges::new(&mut graph, &edge_src, &edge_dst);
    for (k, layer) in model.layers.iter().enumerate() {
        let sums = edges.neighbour_sum(&mut graph, &hidden);
        let inputs = graph.op_with("Concat", &[&hidden, &sums], vec![int("axis", 1)]);
        let name = format!("layers.{k}");
        hidden = linear_relu(&mut graph, &name, layer, &inputs);
    }
    let axis = graph.constant_i64("node_axis", &[0]);
    let mut readout = graph.op_with("ReduceMax", &[&hidden, &axis], vec![int("keepdims", 1)]);
    for (k, layer) in model.head.iter().enumerate() {
        readout = linear_relu(&mut graph, &format!("head.{k}"), layer, &readout);
    }
    let outputs = linear(&mut graph, "output", &model.output, &readout);
    let estimates = natural_units(&mut graph, &outputs, scaling);
    let dims = [Dim::Fixed(1), Dim::Fixed(scaling.n_outputs())];
    graph.output_f32(tensor_names::ESTIMATES, &estimates, &dims);
    graph.encode(&[(SCHEMA_ID_KEY, feature_schema_id)])
}

fn standardise(graph: &mut GraphBuilder, features: &str, scaling: &Scaling) -> String {
    let n = [scaling.n_columns()];
    let mean = graph.constant_f32("features.mean", &n, &scaling.features.mean);
    let factor = graph.constant_f32("features.inverse_std", &n, &scaling.features.inverse_std());
    let low = graph.constant_f32("features.low", &[], &[-MAX_DEVIATIONS]);
    let high = graph.constant_f32("features.high", &[], &[MAX_DEVIATIONS]);
    let centred = graph.op("Sub", &[features, &mean]);
    let scaled = graph.op("Mul", &[&centred, &factor]);
    graph.op("Clip", &[&scaled, &low, &high])
}

/// Eq. 1 without a choice of weights by category, which runtimes do slowly: each row of features
/// is placed in its category's columns of a row that is otherwise zero, so that one product with
/// all categories' weights picks the right ones. The embedding's part of the layer is the same
/// for all nodes of a category and is added to its bias.
fn encode(
    graph: &mut GraphBuilder,
    model: &PerfSage,
    n_columns: usize,
    features: &str,
    category: &str,
) -> String {
    let n_categories = model.first.len();
    let identity: Vec<f32> = (0..n_categories * n_categories)
        .map(|i| f32::from(i % n_categories == i / n_categories))
        .collect();
    let weights: Vec<f32> = model
        .first
        .iter()
        .flat_map(|l| floats(l.weight.val().narrow(0, 0, n_columns)))
        .collect();
    let biases: Vec<f32> = (0..n_categories)
        .flat_map(|c| category_bias(model, n_columns, c))
        .collect();
    let hidden = biases.len() / n_categories;

    let identity = graph.constant_f32("categories", &[n_categories, n_categories], &identity);
    let weights = graph.weights_f16(
        "first.weight",
        &[n_categories * n_columns, hidden],
        &weights,
    );
    let biases = graph.constant_f32("first.bias", &[n_categories, hidden], &biases);
    let last = graph.constant_i64("last_axis", &[2]);
    let middle = graph.constant_i64("middle_axis", &[1]);
    let flat = graph.constant_i64("flat_shape", &[-1, (n_categories * n_columns) as i64]);

    let one_hot = graph.op_with("Gather", &[&identity, category], vec![int("axis", 0)]);
    let one_hot = graph.op("Unsqueeze", &[&one_hot, &last]);
    let row = graph.op("Unsqueeze", &[features, &middle]);
    let placed = graph.op("Mul", &[&one_hot, &row]);
    let placed = graph.op("Reshape", &[&placed, &flat]);
    let product = graph.op("MatMul", &[&placed, &weights]);
    let bias = graph.op_with("Gather", &[&biases, category], vec![int("axis", 0)]);
    let sum = graph.op("Add", &[&product, &bias]);
    graph.op("Relu", &[&sum])
}

/// `b_c` plus the embedding's part of `w_c`.
fn category_bias(model: &PerfSage, n_columns: usize, category: usize) -> Vec<f32> {
    let layer = &model.first[category];
    let embedding = model.embedding.val().narrow(0, category, 1);
    let [_, width] = embedding.dims();
    let constant = embedding.matmul(layer.weight.val().narrow(0, n_columns, width));
    floats(constant + bias(layer).unsqueeze())
}

/// Both ends of every edge, as the messages of both directions need them.
struct Edges {
    from: String,
    to: String,
}

impl Edges {
    fn new(graph: &mut GraphBuilder, src: &str, dst: &str) -> Self {
        let from = graph.op_with("Concat", &[src, dst], vec![int("axis", 0)]);
        let to = graph.op_with("Concat", &[dst, src], vec![int("axis", 0)]);
        let axis = graph.constant_i64("index_axis", &[1]);
        let to = graph.op("Unsqueeze", &[&to, &axis]);
        Self { from, to }
    }

    fn neighbour_sum(&self, graph: &mut GraphBuilder, hidden: &str) -> String {
        let messages = graph.op_with("Gather", &[hidden, &self.from], vec![int("axis", 0)]);
        let shape = graph.op("Shape", &[hidden]);
        // ONNX's default is this very zero, but tract takes it for one in double precision.
        let zero = vec![float_tensor("value", 0.0)];
        let zeros = graph.op_with("ConstantOfShape", &[&shape], zero);
        let inputs = [zeros.as_str(), &self.to, &messages];
        graph.op_with("ScatterND", &inputs, vec![string("reduction", "add")])
    }
}

fn linear(graph: &mut GraphBuilder, name: &str, layer: &Linear, input: &str) -> String {
    let dims = layer.weight.dims();
    let weight = graph.weights_f16(
        &format!("{name}.weight"),
        &dims,
        &floats(layer.weight.val()),
    );
    let bias = graph.weights_f16(&format!("{name}.bias"), &[dims[1]], &floats(bias(layer)));
    let product = graph.op("MatMul", &[input, &weight]);
    graph.op("Add", &[&product, &bias])
}

fn linear_relu(graph: &mut GraphBuilder, name: &str, layer: &Linear, input: &str) -> String {
    let sum = linear(graph, name, layer, input);
    graph.op("Relu", &[&sum])
}

fn natural_units(graph: &mut GraphBuilder, outputs: &str, scaling: &Scaling) -> String {
    let dims = [1, scaling.n_outputs()];
    let mean = graph.constant_f32("log_labels.mean", &dims, &scaling.log_labels.mean);
    let std = graph.constant_f32("log_labels.std", &dims, &scaling.log_labels.std);
    let scaled = graph.op("Mul", &[outputs, &std]);
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
