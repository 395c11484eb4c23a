//! Models a second in the loop of a search: `make bench`. No two models of a run are the same.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use litecast::estimate::{Detail, ModelFile, estimate_in};
use litecast::learned::predictor::Predictor;
use litecast::targets::choice::Choice;
use litecast::targets::{Target, registered};
use serde_json::{Value, json};

/// As the command has it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const N_MODELS: usize = 64;
const N_BLOCKS: usize = 22;

/// A residual network of 70 operators in int8, as a graph without weights: inverted bottlenecks whose widths follow
/// from `seed`.
fn network(seed: usize) -> Vec<u8> {
    let mut graph = Graph::default();
    let width = 8 * (1 + seed % 4);
    let mut x = graph.activation([1, 32, 32, 3]);
    let input = graph.name(x);
    x = graph.convolution(x, width, 3);
    for block in 0..N_BLOCKS {
        let before = x;
        let hidden = 8 * (2 + (seed / 4 + 5 * block) % 23);
        x = graph.convolution(x, hidden, 1);
        x = graph.depthwise(x, 3);
        x = graph.convolution(x, width, 1);
        if graph.operators.len() + 3 * (N_BLOCKS - block - 1) < 70 {
            x = graph.operator("ADD", &[before, x], [1, 32, 32, width], json!({}));
        }
    }
    let output = graph.name(x);
    let document = json!({
        "format": "litecast-graph", "version": 1, "inputs": [input], "outputs": [output],
        "tensors": graph.tensors, "operators": graph.operators,
    });
    document.to_string().into_bytes()
}

#[derive(Default)]
struct Graph {
    tensors: Vec<Value>,
    operators: Vec<Value>,
    channels: Vec<usize>,
}

impl Graph {
    fn name(&self, tensor: usize) -> String {
        format!("t{tensor}")
    }

    fn tensor(&mut self, shape: &[usize], of: &str, constant: bool) -> usize {
        let name = self.name(self.tensors.len());
        self.tensors.push(json!({"name": name, "shape": shape, "type": of, "constant": constant}));
        self.channels.push(shape.last().copied().unwrap_or(1));
        self.tensors.len() - 1
    }

    fn activation(&mut self, shape: [usize; 4]) -> usize {
        self.tensor(&shape, "int8", false)
    }

    fn operator(&mut self, kind: &str, inputs: &[usize], shape: [usize; 4], attributes: Value) -> usize {
        let inputs: Vec<String> = inputs.iter().map(|&input| self.name(input)).collect();
        let output = self.activation(shape);
        let outputs = [self.name(output)];
        self.operators
            .push(json!({"kind": kind, "inputs": inputs, "outputs": outputs, "attributes": attributes}));
        output
    }

    fn convolution(&mut self, x: usize, channels: usize, kernel: usize) -> usize {
        let weights = self.tensor(&[channels, kernel, kernel, self.channels[x]], "int8", true);
        let bias = self.tensor(&[channels], "int32", true);
        let attributes = json!({"padding": "SAME", "activation": "RELU6"});
        self.operator("CONV_2D", &[x, weights, bias], [1, 32, 32, channels], attributes)
    }

    fn depthwise(&mut self, x: usize, kernel: usize) -> usize {
        let channels = self.channels[x];
        let weights = self.tensor(&[1, kernel, kernel, channels], "int8", true);
        let bias = self.tensor(&[channels], "int32", true);
        let attributes = json!({"padding": "SAME", "activation": "RELU6"});
        self.operator("DEPTHWISE_CONV_2D", &[x, weights, bias], [1, 32, 32, channels], attributes)
    }
}

fn target(id: &str) -> Vec<Box<dyn Target>> {
    let choice = Choice {
        target: Some(id.to_owned()),
        ..Choice::default()
    };
    vec![choice.target().expect("a target")]
}

fn search(criterion: &mut Criterion) {
    let predictor = Predictor::shipped().expect("the bundle is sound");
    let models: Vec<Vec<u8>> = (0..N_MODELS).map(network).collect();
    let files: Vec<ModelFile> = models.iter().map(|model| ModelFile::new("", model)).collect();
    let mut group = criterion.benchmark_group("search, 70 operators without weights");
    group.throughput(Throughput::Elements(N_MODELS as u64));
    group.sample_size(10);
    let lists = [
        ("all targets", registered()),
        ("ethos-u55-256 (learned)", target("ethos-u55-256")),
        ("ethos-u55-128 (rules)", target("ethos-u55-128")),
        ("cortex-a76-rpi5 (modelled)", target("cortex-a76-rpi5")),
        ("cortex-m4-tflm (modelled)", target("cortex-m4-tflm")),
    ];
    for (name, targets) in &lists {
        for (detail, word) in [(Detail::Full, "full"), (Detail::Summary, "summary")] {
            group.bench_function(format!("{name}, {word}"), |bencher| {
                bencher.iter(|| estimate_in(black_box(&files), Some(&predictor), targets, detail));
            });
        }
    }
    group.finish();
}

criterion_group!(benches, search);
criterion_main!(benches);
