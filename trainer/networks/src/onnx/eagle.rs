//! The nodes of [`Eagle`].

use litecast_trainer::onnx::{GraphBuilder, int};

use super::parts::{EdgeSums, Inputs, floats, kinds, linear, natural_units};
use crate::gnn::eagle::{Convolution, Eagle, NORM_EPSILON};
use crate::gnn::prepare::Scaling;

/// Returns the name of the estimates.
pub fn export(
    graph: &mut GraphBuilder,
    network: &Eagle,
    inputs: &Inputs,
    scaling: &Scaling,
) -> String {
    let n_kinds = scaling.vocabulary.len() + 1;
    let mut nodes = kinds(graph, inputs, n_kinds);
    let last: Vec<f32> = (1..=n_kinds)
        .map(|kind| f32::from(u8::from(kind == n_kinds)))
        .collect();
    // `[1, n_kinds]`, the same for every graph, before the first layer, and `[n_graphs, hidden]` after it.
    let mut above = graph.constant_f32("above", &[1, n_kinds], &last);
    let successors = EdgeSums::new(graph, &inputs.edge_dst, &inputs.edge_src);
    for (k, layer) in network.layers.iter().enumerate() {
        let name = format!("layers.{k}");
        let dims = layer.weight.dims();
        let weight = floats(layer.weight.val());
        let weight = graph.stored_weights(&format!("{name}.weight"), &dims, &weight);
        let activation = Activation::new(graph, &name, layer);
        let rows = graph.op("MatMul", &[&nodes, &weight]);
        let of_all = inputs.graphs.sum(graph, &rows);
        let own_features = graph.op("MatMul", &[&above, &weight]);
        let sum = graph.op("Add", &[&own_features, &of_all]);
        above = activation.append(graph, &sum);
        let sums = successors.append(graph, &rows);
        let sums = graph.op("Add", &[&rows, &sums]);
        nodes = activation.append(graph, &sums);
    }
    let outputs = linear(graph, "output", &network.output, &above);
    natural_units(graph, "log_labels", &scaling.log_labels, &outputs)
}

/// Names of a layer's weights, except for those of its product.
struct Activation {
    bias: String,
    gamma: String,
    beta: String,
    /// The reciprocal of the rows' width.
    inverse_width: String,
    epsilon: String,
}

impl Activation {
    fn new(graph: &mut GraphBuilder, name: &str, layer: &Convolution) -> Self {
        let beta = layer.norm.beta.as_ref();
        let mut weights = |part: &str, values: Vec<f32>| {
            graph.stored_weights(&format!("{name}.{part}"), &[values.len()], &values)
        };
        let gamma = floats(layer.norm.gamma.val());
        let inverse_width = 1.0 / gamma.len() as f32;
        let (bias, gamma, beta) = (
            weights("bias", floats(layer.bias.val())),
            weights("gamma", gamma),
            weights("beta", floats(beta.expect("the norm has one").val())),
        );
        let mut scalar =
            |part: &str, value| graph.constant_f32(&format!("{name}.{part}"), &[], &[value]);
        Self {
            bias,
            gamma,
            beta,
            inverse_width: scalar("inverse_width", inverse_width),
            epsilon: scalar("epsilon", NORM_EPSILON as f32),
        }
    }

    fn append(&self, graph: &mut GraphBuilder, sums: &str) -> String {
        let sums = graph.op("Add", &[sums, &self.bias]);
        let mean = self.mean(graph, &sums);
        let centred = graph.op("Sub", &[&sums, &mean]);
        let squares = graph.op("Mul", &[&centred, &centred]);
        let variance = self.mean(graph, &squares);
        let variance = graph.op("Add", &[&variance, &self.epsilon]);
        let deviation = graph.op("Sqrt", &[&variance]);
        let rows = graph.op("Div", &[&centred, &deviation]);
        let rows = graph.op("Mul", &[&rows, &self.gamma]);
        let rows = graph.op("Add", &[&rows, &self.beta]);
        graph.op("Relu", &[&rows])
    }

    /// `[n, width]` → `[n, 1]`.
    fn mean(&self, graph: &mut GraphBuilder, rows: &str) -> String {
        let axis = graph.axis(1);
        let sums = graph.op_with("ReduceSum", &[rows, &axis], vec![int("keepdims", 1)]);
        graph.op("Mul", &[&sums, &self.inverse_width])
    }
}
