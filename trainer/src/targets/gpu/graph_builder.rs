//! Networks and single operators that others measured → graphs without weights → kernels.

use anyhow::Result;
use litecast::formats::graph_json;
use litecast::graph;
use litecast::targets::gpu::kernels::Kernel;
use serde_json::{Value, json};

use super::graphs::KernelNetwork;

/// A graph while it is built. Tensors are named by strings; feature maps are NHWC.
#[derive(Default)]
pub struct Document {
    tensors: Vec<Value>,
    operators: Vec<Value>,
    pub n_parameters: i64,
}

impl Document {
    /// The kernels of the whole graph.
    pub fn kernels(self, inputs: &[&str], outputs: &[&str]) -> Result<Vec<Kernel>> {
        Ok(self.network(inputs, outputs)?.kernels)
    }

    /// The whole graph.
    pub fn network(self, inputs: &[&str], outputs: &[&str]) -> Result<KernelNetwork> {
        let document = json!({
            "format": "litecast-graph", "version": 1, "name": "measured", "inputs": inputs, "outputs": outputs,
            "tensors": self.tensors, "operators": self.operators,
        });
        let model = graph_json::parse(&serde_json::to_vec(&document)?)?;
        let graph = graph::build(&model, 0)?;
        Ok(KernelNetwork::new(&graph, self.n_parameters as f64))
    }

    pub fn activation(&mut self, name: &str, shape: &[i64]) {
        self.tensors
            .push(json!({"name": name, "shape": shape, "type": "float32"}));
    }

    pub fn constant(&mut self, shape: &[i64]) -> String {
        let name = format!("c{}", self.tensors.len());
        self.n_parameters += shape.iter().product::<i64>();
        self.tensors
            .push(json!({"name": name, "shape": shape, "type": "float32", "constant": true}));
        name
    }

    pub fn operator(
        &mut self,
        kind: &str,
        inputs: Value,
        shape: &[i64],
        attributes: Value,
    ) -> String {
        let name = format!("t{}", self.tensors.len());
        self.activation(&name, shape);
        self.operators.push(
            json!({"kind": kind, "inputs": inputs, "outputs": [name], "attributes": attributes}),
        );
        name
    }

    /// A convolution with a folded batch norm, which has two parameters per channel; one of them is the folded bias.
    #[expect(clippy::too_many_arguments, reason = "a convolution has as many")]
    pub fn convolution(
        &mut self,
        x: &str,
        channels: i64,
        out: i64,
        window: i64,
        stride: i64,
        side: i64,
        is_activated: bool,
    ) -> String {
        let weights = self.constant(&[out, window, window, channels]);
        self.normalised("CONV_2D", x, &weights, out, stride, side, is_activated)
    }

    pub fn depthwise(
        &mut self,
        x: &str,
        channels: i64,
        window: i64,
        stride: i64,
        side: i64,
    ) -> String {
        let weights = self.constant(&[1, window, window, channels]);
        self.normalised(
            "DEPTHWISE_CONV_2D",
            x,
            &weights,
            channels,
            stride,
            side,
            true,
        )
    }

    #[expect(clippy::too_many_arguments, reason = "a convolution has as many")]
    fn normalised(
        &mut self,
        kind: &str,
        x: &str,
        weights: &str,
        out: i64,
        stride: i64,
        side: i64,
        is_activated: bool,
    ) -> String {
        let bias = self.constant(&[out]);
        self.n_parameters += out;
        let next = side / stride;
        let activation = if is_activated { "RELU" } else { "NONE" };
        let attributes =
            json!({"stride": [stride, stride], "padding": "SAME", "activation": activation});
        self.operator(
            kind,
            json!([x, weights, bias]),
            &[1, next, next, out],
            attributes,
        )
    }

    pub fn squeeze(&mut self, x: &str, channels: i64, reduced: i64, side: i64) -> String {
        let axes = json!({"axes": [1, 2], "keep_dims": true});
        let mean = self.operator("MEAN", json!([x]), &[1, 1, 1, channels], axes);
        let (down, down_bias) = (
            self.constant(&[reduced, 1, 1, channels]),
            self.constant(&[reduced]),
        );
        let relu = json!({"activation": "RELU"});
        let less = self.operator(
            "CONV_2D",
            json!([mean, down, down_bias]),
            &[1, 1, 1, reduced],
            relu,
        );
        let (up, up_bias) = (
            self.constant(&[channels, 1, 1, reduced]),
            self.constant(&[channels]),
        );
        let gate = self.operator(
            "CONV_2D",
            json!([less, up, up_bias]),
            &[1, 1, 1, channels],
            json!({}),
        );
        let gate = self.operator("LOGISTIC", json!([gate]), &[1, 1, 1, channels], json!({}));
        self.operator(
            "MUL",
            json!([x, gate]),
            &[1, side, side, channels],
            json!({}),
        )
    }
}
