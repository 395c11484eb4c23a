//! The networks that are handed out to be measured, as ONNX: the layers of those in TFLite, with channels first.

use prost::Message;

use crate::onnx::{AttributeProto, Dim, GraphBuilder, int, ints, string};
use crate::writer::SplitMix64;

const WEIGHT_SEED: u64 = 1;
const SIDE: i64 = 48;

/// The file of the network with this name, in float32; `None` for another name.
pub fn to_bytes(name: &str) -> Option<Vec<u8>> {
    let layers: fn(&mut Network) -> Value = match name {
        "convolutions" => convolutions,
        "convolutions-3x3" => convolutions_3x3,
        "pointwise" => pointwise,
        "depthwise" => depthwise,
        "matrix-products" => matrix_products,
        "elementwise" => elementwise,
        "pooling" => pooling,
        "softmax" => softmax,
        "movement" => movement,
        "small-network" => small_network,
        _ => return None,
    };
    let mut network = Network {
        graph: GraphBuilder::new(name),
        random: SplitMix64::new(WEIGHT_SEED),
    };
    let output = layers(&mut network);
    network.graph.returns(&output.name, &dims(&output.shape));
    Some(network.graph.finish(&[]).encode_to_vec())
}

/// What an operator writes.
#[derive(Clone)]
struct Value {
    name: String,
    shape: Vec<i64>,
}

struct Network {
    graph: GraphBuilder,
    random: SplitMix64,
}

fn dims(shape: &[i64]) -> Vec<Dim> {
    let sizes = shape.iter().map(|&size| Dim::Fixed(size as usize));
    sizes.collect()
}

/// Kernel and stride of a convolution or a pooling; borders are padded so that stride 1 keeps the size.
struct Window {
    kernel: i64,
    stride: i64,
}

impl Window {
    fn attributes(&self) -> Vec<AttributeProto> {
        vec![
            ints("kernel_shape", &[self.kernel; 2]),
            ints("strides", &[self.stride; 2]),
            ints("pads", &[(self.kernel - 1) / 2; 4]),
        ]
    }

    fn output_size(&self, size: i64) -> i64 {
        let padded = size + (self.kernel - 1) / 2 * 2;
        (padded - self.kernel) / self.stride + 1
    }
}

impl Network {
    fn input(&mut self, name: &str, shape: &[i64]) -> Value {
        Value {
            name: self.graph.input_f32(name, &dims(shape)),
            shape: shape.to_vec(),
        }
    }

    /// Three different values, as in TFLite: kernels take the same time for all. They have no mean, and keep the size of what
    /// `fan_in` inputs give.
    fn weights(&mut self, name: &str, shape: &[i64], fan_in: i64) -> String {
        let step = 1.5 / (fan_in as f32).sqrt();
        let n: i64 = shape.iter().product();
        let levels = (0..n).map(|_| self.random.below(3) as f32 - 1.0);
        let values: Vec<f32> = levels.map(|level| level * step).collect();
        let sizes: Vec<usize> = shape.iter().map(|&size| size as usize).collect();
        self.graph.constant_f32(name, &sizes, &values)
    }

    fn op(&mut self, op_type: &str, inputs: &[&str], shape: &[i64]) -> Value {
        self.op_with(op_type, inputs, shape, Vec::new())
    }

    fn op_with(
        &mut self,
        op_type: &str,
        inputs: &[&str],
        shape: &[i64],
        attributes: Vec<AttributeProto>,
    ) -> Value {
        Value {
            name: self.graph.op_with(op_type, inputs, attributes),
            shape: shape.to_vec(),
        }
    }

    fn relu(&mut self, x: &Value) -> Value {
        self.op("Relu", &[&x.name], &x.shape)
    }

    /// A rectifier that ends at 6.
    fn relu6(&mut self, x: &Value) -> Value {
        let [low, high] = [("zero", 0.0), ("six", 6.0)].map(|(name, value)| {
            let name = format!("{name}.{}", x.name);
            self.graph.constant_f32(&name, &[], &[value])
        });
        self.op("Clip", &[&x.name, &low, &high], &x.shape)
    }

    fn conv(&mut self, name: &str, x: &Value, filters: i64, groups: i64, window: &Window) -> Value {
        let [_, channels, height, width] = x.shape[..] else {
            unreachable!("images have four dimensions");
        };
        let fan_in = channels / groups * window.kernel * window.kernel;
        let shape = [filters, channels / groups, window.kernel, window.kernel];
        let weights = self.weights(&format!("{name}.weights"), &shape, fan_in);
        let bias = self.weights(&format!("{name}.bias"), &[filters], filters);
        let mut attributes = window.attributes();
        attributes.push(int("group", groups));
        let size = |size| window.output_size(size);
        let shape = [1, filters, size(height), size(width)];
        self.op_with("Conv", &[&x.name, &weights, &bias], &shape, attributes)
    }

    fn pool(&mut self, op_type: &str, x: &Value, window: &Window) -> Value {
        let size = |size| window.output_size(size);
        let shape = [1, x.shape[1], size(x.shape[2]), size(x.shape[3])];
        self.op_with(op_type, &[&x.name], &shape, window.attributes())
    }

    fn dense(&mut self, name: &str, x: &Value, outputs: i64) -> Value {
        let inputs = x.shape.last().copied().unwrap_or(1);
        let weights = self.weights(&format!("{name}.weights"), &[inputs, outputs], inputs);
        let bias = self.weights(&format!("{name}.bias"), &[outputs], outputs);
        let mut shape = x.shape.clone();
        shape.pop();
        shape.push(outputs);
        let product = self.op("MatMul", &[&x.name, &weights], &shape);
        self.op("Add", &[&product.name, &bias], &shape)
    }

    fn transpose(&mut self, x: &Value, order: &[i64]) -> Value {
        let shape: Vec<i64> = order.iter().map(|&axis| x.shape[axis as usize]).collect();
        let attributes = vec![ints("perm", order)];
        self.op_with("Transpose", &[&x.name], &shape, attributes)
    }
}

/// A stack of convolutions with a rectifier: kernel, stride and filters of each.
fn stack(network: &mut Network, mut x: Value, layers: &[(i64, i64, i64)]) -> Value {
    for (idx, &(kernel, stride, filters)) in layers.iter().enumerate() {
        let window = Window { kernel, stride };
        let made = network.conv(&format!("conv{idx}"), &x, filters, 1, &window);
        x = network.relu(&made);
    }
    x
}

fn convolutions(network: &mut Network) -> Value {
    let image = network.input("image", &[1, 3, 2 * SIDE, 2 * SIDE]);
    let layers = [(3, 2, 16), (5, 2, 24), (5, 1, 24), (3, 2, 32)];
    stack(network, image, &layers)
}

fn convolutions_3x3(network: &mut Network) -> Value {
    let image = network.input("image", &[1, 16, SIDE, SIDE]);
    let layers = [(3, 1, 16), (3, 1, 32), (3, 1, 32), (3, 1, 16)];
    stack(network, image, &layers)
}

fn pointwise(network: &mut Network) -> Value {
    let image = network.input("image", &[1, 16, SIDE, SIDE]);
    let layers = [(1, 1, 64), (1, 1, 32), (1, 1, 64), (1, 1, 16)];
    stack(network, image, &layers)
}

fn depthwise(network: &mut Network) -> Value {
    let mut x = network.input("image", &[1, 32, SIDE, SIDE]);
    let layers = [(3, 1), (5, 1), (3, 2), (5, 1), (3, 1)];
    for (idx, (kernel, stride)) in layers.into_iter().enumerate() {
        let window = Window { kernel, stride };
        let made = network.conv(&format!("depthwise{idx}"), &x, 32, 32, &window);
        x = network.relu(&made);
    }
    x
}

fn matrix_products(network: &mut Network) -> Value {
    let tokens = network.input("tokens", &[1, 64, 64]);
    let query = network.dense("query", &tokens, 64);
    let key = network.dense("key", &tokens, 64);
    let turned = network.transpose(&key, &[0, 2, 1]);
    let square = [1, 64, 64];
    let scores = network.op("MatMul", &[&query.name, &turned.name], &square);
    let mixed = network.op("MatMul", &[&scores.name, &tokens.name], &square);
    let wide = network.dense("wide", &mixed, 128);
    let wide = network.relu(&wide);
    network.dense("narrow", &wide, 64)
}

fn elementwise(network: &mut Network) -> Value {
    let x = network.input("image", &[1, 16, SIDE, SIDE]);
    let shape = x.shape.clone();
    let mut same_shape = |op_type: &str, inputs: &[&Value]| {
        let names: Vec<&str> = inputs.iter().map(|one| one.name.as_str()).collect();
        network.op(op_type, &names, &shape)
    };
    let curved = same_shape("HardSwish", &[&x]);
    let sum = same_shape("Add", &[&x, &curved]);
    let gate = same_shape("Sigmoid", &[&sum]);
    let product = same_shape("Mul", &[&sum, &gate]);
    let difference = same_shape("Sub", &[&product, &x]);
    same_shape("Relu", &[&difference])
}

fn pooling(network: &mut Network) -> Value {
    let mut x = network.input("image", &[1, 32, SIDE, SIDE]);
    for (op_type, kernel, stride) in [
        ("MaxPool", 3, 1),
        ("AveragePool", 3, 1),
        ("MaxPool", 2, 2),
        ("AveragePool", 5, 1),
    ] {
        x = network.pool(op_type, &x, &Window { kernel, stride });
    }
    network.op("GlobalAveragePool", &[&x.name], &[1, 32, 1, 1])
}

fn softmax(network: &mut Network) -> Value {
    let scores = network.input("scores", &[256, 64]);
    let first = network.op("Softmax", &[&scores.name], &scores.shape);
    network.op("Softmax", &[&first.name], &scores.shape)
}

fn movement(network: &mut Network) -> Value {
    let x = network.input("image", &[1, 16, SIDE, SIDE]);
    let mut list = |name: &str, values: &[i64]| network.graph.constant_i64(name, values);
    let borders = list("borders", &[0, 0, 2, 2, 0, 0, 2, 2]);
    let starts = list("starts", &[1, 1]);
    let ends = list("ends", &[1 + SIDE, 1 + SIDE]);
    let axes = list("axes", &[2, 3]);
    let rows_shape = [1, 32, SIDE / 2, 2 * SIDE];
    let rows_list = list("rows", &rows_shape);
    let resized_shape = [1, 32, SIDE, 2 * SIDE];
    let sizes = list("sizes", &resized_shape);
    let wide = [1, 16, SIDE + 4, SIDE + 4];
    let padded = network.op("Pad", &[&x.name, &borders], &wide);
    let cut = network.op("Slice", &[&padded.name, &starts, &ends, &axes], &x.shape);
    let both_shape = [1, 32, SIDE, SIDE];
    let attributes = vec![int("axis", 1)];
    let both = network.op_with("Concat", &[&x.name, &cut.name], &both_shape, attributes);
    let turned = network.transpose(&both, &[0, 1, 3, 2]);
    let rows = network.op("Reshape", &[&turned.name, &rows_list], &rows_shape);
    let attributes = vec![string("mode", "nearest")];
    network.op_with(
        "Resize",
        &[&rows.name, "", "", &sizes],
        &resized_shape,
        attributes,
    )
}

/// A classifier: several classes and the time of an inference.
fn small_network(network: &mut Network) -> Value {
    let image = network.input("image", &[1, 3, 2 * SIDE, 2 * SIDE]);
    let [stem, point] = [(3, 2), (1, 1)].map(|(kernel, stride)| Window { kernel, stride });
    let mut x = network.conv("stem", &image, 16, 1, &stem);
    x = network.relu6(&x);
    for (idx, (stride, filters)) in [(1, 24), (2, 48), (1, 48), (2, 64)].into_iter().enumerate() {
        let channels = x.shape[1];
        let window = Window { kernel: 3, stride };
        x = network.conv(&format!("depthwise{idx}"), &x, channels, channels, &window);
        x = network.relu6(&x);
        x = network.conv(&format!("pointwise{idx}"), &x, filters, 1, &point);
        x = network.relu6(&x);
    }
    let mean = network.op("GlobalAveragePool", &[&x.name], &[1, 64, 1, 1]);
    let flat = network.op("Flatten", &[&mean.name], &[1, 64]);
    let logits = network.dense("logits", &flat, 10);
    network.op("Softmax", &[&logits.name], &[1, 10])
}
