//! NAS-Bench-201 (Dong and Yang 2020): one cell of six edges, each with one of five operations, is stacked fifteen
//! times. Published measurements of these 15,625 networks on boards connect sampled and measured networks.
//!
//! Batch norms are folded into convolutions, and edges without readers or inputs are left out, as in the deployed files
//! that were measured. The measured latencies show what remains of nodes without inputs in those files: a convolution
//! of such a node is computed from a constant feature map of zeros, and an average pool of such a node becomes such a
//! feature map, which is added.

mod cell;

use litecast::formats::tflite::{Activation, Padding};

pub use self::cell::Cell;
use self::cell::{NODES, Operation};
use super::Choices;
use crate::writer::{NetworkBuilder, TensorIdx, Window, WriterNetwork};

/// Channels of the cells of each stage.
const STAGES: [i32; 3] = [16, 32, 64];
const CELLS_PER_STAGE: usize = 5;
/// `[height, width]`; the last three are those of the measured tables.
const SIZES: [[i32; 2]; 6] = [[16, 16], [32, 32], [48, 64], [64, 64], [52, 16], [88, 88]];
const CLASSES: [i32; 4] = [10, 18, 100, 120];

/// The properties of the benchmark's data set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Task {
    /// Height, width and channels; height and width are multiples of 4.
    pub input: [i32; 3],
    /// Number of classes.
    pub classes: i32,
}

/// The form of average pools of the same tensor on several edges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TwinPools {
    /// One operator, as written by today's converters.
    Merged,
    /// One for each edge.
    Kept,
}

/// Draws a network of the space.
pub fn network(choices: &mut Choices, builder: NetworkBuilder) -> WriterNetwork {
    let [height, width] = choices.pick(&SIZES);
    let task = Task {
        input: [height, width, choices.pick(&[1, 3])],
        classes: choices.pick(&CLASSES),
    };
    network_of(&Cell::draw(choices), &task, TwinPools::Merged, builder)
}

/// The whole network around a cell.
pub fn network_of(
    cell: &Cell,
    task: &Task,
    twin_pools: TwinPools,
    builder: NetworkBuilder,
) -> WriterNetwork {
    let mut stack = Stack {
        cell,
        twin_pools,
        builder,
    };
    let [height, width, channels] = task.input;
    let image = stack.builder.input("image", &[1, height, width, channels]);
    let window = Window::square(3, 1, Padding::Same);
    let stem = stack.builder.conv2d(
        "stem",
        image,
        STAGES[0],
        window,
        stack.activation_before_cell(),
    );
    let mut value = Value::new(stem, cell.is_read_by_convolutions_only(0));
    for (idx, channels) in STAGES.into_iter().enumerate() {
        if idx > 0 {
            value = stack.reduction(&format!("stage{idx}/reduction"), value, channels);
        }
        for cell in 0..CELLS_PER_STAGE {
            let is_last = cell + 1 == CELLS_PER_STAGE;
            let rectified = !is_last && stack.cell.is_read_by_convolutions_only(0);
            value = stack.cell(&format!("stage{idx}/cell{cell}"), value, rectified);
        }
    }
    stack.head(value, task.classes)
}

/// A tensor, with results that its readers share.
#[derive(Clone, Copy)]
struct Value {
    tensor: TensorIdx,
    rectified: Option<TensorIdx>,
    pooled: Option<TensorIdx>,
}

impl Value {
    fn new(tensor: TensorIdx, is_rectified: bool) -> Self {
        Value {
            tensor,
            rectified: is_rectified.then_some(tensor),
            pooled: None,
        }
    }
}

/// The value of a node of a cell.
#[derive(Clone, Copy)]
enum NodeValue {
    Nothing,
    /// Zeros that are known before the network runs.
    Zeros,
    Computed(Value),
}

struct Stack<'a> {
    cell: &'a Cell,
    twin_pools: TwinPools,
    builder: NetworkBuilder,
}

impl Stack<'_> {
    fn activation_before_cell(&self) -> Activation {
        activation(self.cell.is_read_by_convolutions_only(0))
    }

    /// `output_rectified` tells whether all readers of the cell's output apply a ReLU.
    fn cell(&mut self, name: &str, input: Value, output_rectified: bool) -> Value {
        let carries = self.cell.reaches_output();
        let mut nodes = [NodeValue::Nothing; NODES];
        nodes[0] = NodeValue::Computed(input);
        let like = input.tensor;
        for to in (1..NODES).filter(|&to| carries[to]) {
            let rectified = if to + 1 == NODES {
                output_rectified
            } else {
                self.cell.is_read_by_convolutions_only(to)
            };
            nodes[to] = self.node(&format!("{name}/node{to}"), to, &mut nodes, like, rectified);
        }
        match nodes[NODES - 1] {
            NodeValue::Computed(output) => output,
            _ => unreachable!("the input reaches the output"),
        }
    }

    /// The sum of the values on the node's edges, which have the shape of `like`.
    fn node(
        &mut self,
        name: &str,
        to: usize,
        nodes: &mut [NodeValue; NODES],
        like: TensorIdx,
        rectified: bool,
    ) -> NodeValue {
        let cell = self.cell;
        let inputs: Vec<_> = cell
            .inputs(to)
            .filter(|&(from, operation)| {
                operation != Operation::SkipConnect || !matches!(nodes[from], NodeValue::Nothing)
            })
            .collect();
        let fused = activation(rectified && inputs.len() == 1);
        let mut terms = Vec::new();
        for &(from, operation) in &inputs {
            let name = format!("{name}/edge{from}");
            terms.push(self.operation(&name, operation, &mut nodes[from], like, fused));
        }
        if terms.is_empty() {
            return NodeValue::Nothing;
        }
        if terms.iter().all(Option::is_none) {
            return NodeValue::Zeros;
        }
        let mut sum = None;
        for (idx, (term, &(from, _))) in terms.iter().zip(&inputs).enumerate() {
            let term = term.unwrap_or_else(|| self.zeros(like));
            sum = Some(match sum {
                None => term,
                Some(sum) => {
                    let is_last = idx + 1 == terms.len();
                    self.sum(
                        &format!("{name}/add{from}"),
                        sum,
                        term,
                        rectified && is_last,
                    )
                }
            });
        }
        let tensor = sum.expect("a node with terms has a sum");
        let is_rectified = rectified && (inputs.len() > 1 || inputs[0].1.kernel().is_some());
        NodeValue::Computed(Value::new(tensor, is_rectified))
    }

    /// `None` if the result is zeros.
    fn operation(
        &mut self,
        name: &str,
        operation: Operation,
        source: &mut NodeValue,
        like: TensorIdx,
        fused: Activation,
    ) -> Option<TensorIdx> {
        if let Some(kernel) = operation.kernel() {
            let input = match source {
                NodeValue::Computed(value) => self.rectified(name, value),
                NodeValue::Nothing | NodeValue::Zeros => self.zeros(like),
            };
            let filters = self.builder.channels(input);
            let window = Window::square(kernel, 1, Padding::Same);
            return Some(self.builder.conv2d(name, input, filters, window, fused));
        }
        let NodeValue::Computed(value) = source else {
            return None;
        };
        match operation {
            Operation::AveragePool3x3 => Some(self.pooled(name, value)),
            _ => Some(value.tensor),
        }
    }

    fn zeros(&mut self, like: TensorIdx) -> TensorIdx {
        let shape = self.builder.shape(like).to_vec();
        self.builder.zeros("zeros", &shape)
    }

    /// The tensor after a ReLU, which is added once for all convolutions that read it.
    fn rectified(&mut self, name: &str, value: &mut Value) -> TensorIdx {
        let builder = &mut self.builder;
        *value
            .rectified
            .get_or_insert_with(|| builder.relu(&format!("{name}/relu"), value.tensor))
    }

    fn pooled(&mut self, name: &str, value: &mut Value) -> TensorIdx {
        let known = value
            .pooled
            .filter(|_| self.twin_pools == TwinPools::Merged);
        let window = Window::square(3, 1, Padding::Same);
        let pooled =
            known.unwrap_or_else(|| self.builder.average_pool2d(name, value.tensor, window));
        value.pooled = Some(pooled);
        pooled
    }

    fn sum(&mut self, name: &str, left: TensorIdx, right: TensorIdx, rectify: bool) -> TensorIdx {
        if rectify {
            self.builder.add_relu(name, left, right)
        } else {
            self.builder.add(name, left, right)
        }
    }

    /// The residual block between stages: half the resolution, `channels` channels.
    fn reduction(&mut self, name: &str, mut input: Value, channels: i32) -> Value {
        let rectified = self.rectified(name, &mut input);
        let sides = [[0, 0], [1, 1], [1, 1], [0, 0]];
        let padded = self.builder.pad(&format!("{name}/pad"), rectified, &sides);
        let strided = Window::square(3, 2, Padding::Valid);
        let first = format!("{name}/conv1");
        let hidden = self
            .builder
            .conv2d(&first, padded, channels, strided, Activation::Relu);
        let window = Window::square(3, 1, Padding::Same);
        let second = format!("{name}/conv2");
        let output = self
            .builder
            .conv2d(&second, hidden, channels, window, Activation::None);
        let halved = Window::square(2, 2, Padding::Valid);
        let pool = format!("{name}/shortcut_pool");
        let pooled = self.builder.average_pool2d(&pool, input.tensor, halved);
        let shortcut = format!("{name}/shortcut");
        let shortcut = self.builder.conv2d(
            &shortcut,
            pooled,
            channels,
            Window::point(),
            Activation::None,
        );
        let rectify = self.cell.is_read_by_convolutions_only(0);
        let sum = self.sum(&format!("{name}/add"), shortcut, output, rectify);
        Value::new(sum, rectify)
    }

    /// The last batch norm follows a sum, so it cannot be folded. It is followed by a pool and a dense layer.
    fn head(mut self, value: Value, classes: i32) -> WriterNetwork {
        let builder = &mut self.builder;
        let channels = builder.channels(value.tensor);
        let gain = builder.parameters("norm/gain", &[channels], 1.0);
        let scaled = builder.mul("norm/scaled", value.tensor, gain);
        let offset = builder.parameters("norm/offset", &[channels], 0.3);
        let features = builder.add_relu("norm/normed", scaled, offset);
        let pooled = builder.mean_of_pixels("pool", features);
        let logits = builder.fully_connected("logits", pooled, classes, Activation::None);
        self.builder.finish(&[logits])
    }
}

fn activation(rectified: bool) -> Activation {
    if rectified {
        Activation::Relu
    } else {
        Activation::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::{LayerDistribution, WeightDistribution};

    fn network_of_arch(arch: &str, task: Task) -> WriterNetwork {
        let weights = WeightDistribution::SameInEveryLayer(LayerDistribution::Uniform);
        let builder = NetworkBuilder::new("test", weights, 1);
        network_of(&arch.parse().unwrap(), &task, TwinPools::Merged, builder)
    }

    fn names(network: &WriterNetwork) -> Vec<&str> {
        let operators = network.operators.iter();
        operators.map(|operator| operator.kind.name()).collect()
    }

    const CIFAR10: Task = Task {
        input: [32, 32, 3],
        classes: 10,
    };

    /// Calculated by hand from the benchmark's description: 0.44 million products in the stem, 70.78 in each stage's
    /// cells, 3.67 in each block between them.
    #[test]
    fn the_largest_network_has_the_work_of_its_description() {
        let arch = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|\
                    +|nor_conv_3x3~0|nor_conv_3x3~1|nor_conv_3x3~2|";
        let network = network_of_arch(arch, CIFAR10);
        let macs: i64 = network
            .operators
            .iter()
            .filter(|operator| operator.kind.name() == "CONV_2D")
            .map(|operator| {
                let values = |tensor: usize| -> i64 {
                    let shape = &network.tensors[tensor].shape;
                    shape.iter().map(|&dim| i64::from(dim)).product()
                };
                let filters = i64::from(network.tensors[operator.inputs[1]].shape[0]);
                values(operator.outputs[0]) * values(operator.inputs[1]) / filters
            })
            .sum();
        assert_eq!((macs + 5_000) / 10_000, 22_012, "{macs}");
    }

    /// Edges to nodes without readers are not in the network, and neither are skip connections of nodes without inputs.
    #[test]
    fn dead_edges_are_dropped() {
        let plain = "|none~0|+|none~0|none~1|+|nor_conv_1x1~0|none~1|none~2|";
        let unread = "|nor_conv_3x3~0|+|none~0|avg_pool_3x3~1|+|nor_conv_1x1~0|none~1|none~2|";
        let unfed = "|none~0|+|none~0|skip_connect~1|+|nor_conv_1x1~0|skip_connect~1|none~2|";
        let expected = network_of_arch(plain, CIFAR10);
        for arch in [unread, unfed] {
            assert_eq!(
                names(&network_of_arch(arch, CIFAR10)),
                names(&expected),
                "{arch}"
            );
        }
    }

    /// As in the measured files: a convolution of zeros takes as long as any other one, and an average pool of zeros as
    /// long as an addition.
    #[test]
    fn what_nothing_feeds_is_computed_as_in_measured_files() {
        let count = |arch, name| {
            let network = network_of_arch(arch, CIFAR10);
            let n = names(&network)
                .iter()
                .filter(|&&other| other == name)
                .count();
            n as isize
        };
        let more = |arch, name| {
            let plain = "|none~0|+|none~0|none~1|+|nor_conv_1x1~0|none~1|none~2|";
            count(arch, name) - count(plain, name)
        };
        let convolved = "|none~0|+|none~0|none~1|+|nor_conv_1x1~0|nor_conv_3x3~1|none~2|";
        assert_eq!(
            (more(convolved, "CONV_2D"), more(convolved, "ADD")),
            (15, 15)
        );
        let pooled = "|none~0|+|none~0|none~1|+|nor_conv_1x1~0|avg_pool_3x3~1|none~2|";
        assert_eq!(more(pooled, "AVERAGE_POOL_2D"), 0);
        assert_eq!(more(pooled, "ADD"), 15);
        let twins = "|avg_pool_3x3~0|+|avg_pool_3x3~0|none~1|+|nor_conv_1x1~0|skip_connect~1|skip_connect~2|";
        assert_eq!(more(twins, "AVERAGE_POOL_2D"), 15);
        assert_eq!(more(twins, "ADD"), 30);
    }

    /// A ReLU is fused if all readers are convolutions; otherwise it is one operator for all of them.
    #[test]
    fn rectifiers_are_shared_or_fused() {
        let count = |arch, name| {
            let network = network_of_arch(arch, CIFAR10);
            names(&network)
                .iter()
                .filter(|&&other| other == name)
                .count()
        };
        let chain = "|nor_conv_3x3~0|+|none~0|nor_conv_3x3~1|+|none~0|none~1|nor_conv_3x3~2|";
        // Before the two residual blocks, whose shortcuts read unrectified values.
        assert_eq!(count(chain, "RELU"), 2);
        let mixed =
            "|nor_conv_3x3~0|+|nor_conv_1x1~0|none~1|+|skip_connect~0|none~1|nor_conv_3x3~2|";
        assert_eq!(count(mixed, "RELU"), 2 + 15);
    }
}
