//! GPUs: decompositions of the same network give the same kernels, counts by hand, hostile graphs, and
//! measured networks.

use std::num::NonZeroU32;
use std::path::Path;

use litecast::batch_sweep::sweep_batch;
use litecast::estimate::{ModelFile, Request, estimate_on};
use litecast::formats::graph_json;
use litecast::formats::tflite::OpKind;
use litecast::formats::tflite::op_row::Work;
use litecast::graph::analysis::analyze;
use litecast::graph::build;
use litecast::model_variants::Changes;
use litecast::provenance::{Evidence, ProvenanceKind};
use litecast::report::Report;
use litecast::targets::gpu::bundle::{Bundle, Correction, Mode};
use litecast::targets::gpu::costs::NAMES;
use litecast::targets::gpu::estimate::{sum_amounts, time};
use litecast::targets::gpu::kernels::{Function, Kernel, Kind, is_compiled_channels_last, kernels};
use litecast::targets::gpu::memory::{BASE_BYTES, GpuMemory, Optimiser, kept_bytes, peak_bytes};
use litecast::targets::gpu::specifications::{ComputePrecision, Gpu};
use litecast::targets::{Metric, Outcome, gpu};
use litecast_needs::shared;
use serde_json::{Value, json};

/// A graph in the making: every tensor is `[1, 49, 64]` unless its operator says otherwise.
#[derive(Default)]
struct Graph {
    tensors: Vec<Value>,
    operators: Vec<Value>,
}

impl Graph {
    fn new(shape: &[u32]) -> Self {
        let mut graph = Self::default();
        graph.tensor("x", shape);
        graph
    }

    fn tensor(&mut self, name: &str, shape: &[u32]) {
        self.tensors
            .push(json!({"name": name, "shape": shape, "type": "float32"}));
    }

    fn constant(&mut self, shape: &[u32]) -> String {
        let name = format!("c{}", self.tensors.len());
        self.tensors
            .push(json!({"name": name, "shape": shape, "type": "float32", "constant": true}));
        name
    }

    /// The output's name.
    fn add(&mut self, kind: &str, inputs: &[&str], shape: &[u32]) -> String {
        let name = format!("t{}", self.tensors.len());
        self.tensor(&name, shape);
        self.operators
            .push(json!({"kind": kind, "inputs": inputs, "outputs": [name]}));
        name
    }

    fn text(&self, output: &str) -> String {
        json!({
            "format": "litecast-graph", "version": 1, "name": "test", "inputs": ["x"], "outputs": [output],
            "tensors": self.tensors, "operators": self.operators,
        })
        .to_string()
    }
}

/// The amount of a cost that a batch of ten has for each input, without its unit of 10⁶.
fn counted(name: &str, kernels: &[Kernel], gpu: &str, mode: Mode) -> f64 {
    let idx = NAMES
        .iter()
        .position(|one| *one == name)
        .expect("the name of a cost");
    let gpu = Gpu::by_id(gpu).expect("the id of a GPU");
    1e6 * sum_amounts(kernels, 10.0, gpu, mode)[idx]
}

fn kernels_of(text: &str) -> Vec<Kernel> {
    let model = graph_json::parse(text.as_bytes()).expect("the test's graph is one");
    kernels(&build(&model, 0).expect("its operators have an order"))
}

/// What does not depend on where a kernel stands in its graph.
fn shown(kernels: &[Kernel]) -> Vec<(Kind, f64, f64, f64, bool)> {
    let shown = |k: &Kernel| (k.kind, k.macs, k.inputs, k.outputs, k.has_bias);
    kernels.iter().map(shown).collect()
}

const TOKENS: &[u32] = &[1, 49, 64];

#[test]
fn a_layer_normalisation_in_parts_is_one() {
    let mut whole = Graph::new(TOKENS);
    let (scale, shift) = (whole.constant(&[64]), whole.constant(&[64]));
    let out = whole.add("LAYER_NORMALIZATION", &["x", &scale, &shift], TOKENS);
    let whole = kernels_of(&whole.text(&out));

    let mut parts = Graph::new(TOKENS);
    let [epsilon, two, scale, shift] =
        [&[][..], &[], &[64], &[64]].map(|shape| parts.constant(shape));
    let row: &[u32] = &[1, 49, 1];
    let mean = parts.add("MEAN", &["x"], row);
    let difference = parts.add("SUB", &["x", &mean], TOKENS);
    let square = parts.add("POW", &[&difference, &two], TOKENS);
    let variance = parts.add("MEAN", &[&square], row);
    let shifted = parts.add("ADD", &[&variance, &epsilon], row);
    let root = parts.add("SQRT", &[&shifted], row);
    let normal = parts.add("DIV", &[&difference, &root], TOKENS);
    let scaled = parts.add("MUL", &[&normal, &scale], TOKENS);
    let out = parts.add("ADD", &[&scaled, &shift], TOKENS);
    let parts = kernels_of(&parts.text(&out));

    assert_eq!(shown(&parts), shown(&whole));
    assert_eq!(whole.len(), 1);
    assert_eq!((parts[0].rows, parts[0].columns), (49.0, 64.0));
}

/// Two normalisations after each other are two, however they are written: the first is not the difference to the mean
/// of the second.
#[test]
fn normalisations_after_each_other_are_two() {
    let mut whole = Graph::new(TOKENS);
    let weights = whole.constant(&[64]);
    let first = whole.add("LAYER_NORMALIZATION", &["x", &weights, &weights], TOKENS);
    let out = whole.add("LAYER_NORMALIZATION", &[&first, &weights, &weights], TOKENS);
    let whole = kernels_of(&whole.text(&out));

    let mut parts = Graph::new(TOKENS);
    let (number, weights) = (parts.constant(&[]), parts.constant(&[64]));
    let row: &[u32] = &[1, 49, 1];
    let mut x = "x".to_owned();
    for _ in 0..2 {
        let mean = parts.add("MEAN", &[&x], row);
        let difference = parts.add("SUB", &[&x, &mean], TOKENS);
        let square = parts.add("POW", &[&difference, &number], TOKENS);
        let variance = parts.add("MEAN", &[&square], row);
        let shifted = parts.add("ADD", &[&variance, &number], row);
        let root = parts.add("SQRT", &[&shifted], row);
        let normal = parts.add("DIV", &[&difference, &root], TOKENS);
        let scaled = parts.add("MUL", &[&normal, &weights], TOKENS);
        x = parts.add("ADD", &[&scaled, &weights], TOKENS);
    }
    let parts = kernels_of(&parts.text(&x));
    assert_eq!(shown(&parts), shown(&whole));
    assert_eq!(whole.len(), 2);
}

/// An activation in parts behind a normalisation in parts is one kernel as well, and reads what the normalisation wrote.
#[test]
fn activations_follow_normalisations() {
    let mut parts = Graph::new(TOKENS);
    let number = parts.constant(&[]);
    let row: &[u32] = &[1, 49, 1];
    let square = parts.add("SQUARE", &["x"], TOKENS);
    let mean = parts.add("MEAN", &[&square], row);
    let root = parts.add("RSQRT", &[&mean], row);
    let normal = parts.add("MUL", &["x", &root], TOKENS);
    // GELU by tanh.
    let square = parts.add("MUL", &[&normal, &normal], TOKENS);
    let cube = parts.add("MUL", &[&normal, &square], TOKENS);
    let scaled = parts.add("MUL", &[&cube, &number], TOKENS);
    let sum = parts.add("ADD", &[&normal, &scaled], TOKENS);
    let scaled = parts.add("MUL", &[&sum, &number], TOKENS);
    let tanh = parts.add("TANH", &[&scaled], TOKENS);
    let shifted = parts.add("ADD", &[&tanh, &number], TOKENS);
    let product = parts.add("MUL", &[&normal, &shifted], TOKENS);
    let out = parts.add("MUL", &[&product, &number], TOKENS);
    let kernels = kernels_of(&parts.text(&out));
    let kinds: Vec<Kind> = kernels.iter().map(|kernel| kernel.kind).collect();
    assert_eq!(kinds, [Kind::Normalisation, Kind::Activation]);
    assert_eq!(kernels[1].function, Some(Function::Gelu));
    assert_eq!(kernels[1].sources, [kernels[0].output]);
}

/// `relu6(x + 3) / 6`, with the ReLU6 fused into the sum or not.
#[test]
fn a_hard_sigmoid_in_parts_is_one() {
    let mut whole = Graph::new(TOKENS);
    let out = whole.add("HARD_SIGMOID", &["x"], TOKENS);
    let whole = kernels_of(&whole.text(&out));

    let mut parts = Graph::new(TOKENS);
    let number = parts.constant(&[]);
    let sum = parts.add("ADD", &["x", &number], TOKENS);
    let bounded = parts.add("RELU6", &[&sum], TOKENS);
    let out = parts.add("MUL", &[&bounded, &number], TOKENS);
    let parts = kernels_of(&parts.text(&out));

    assert_eq!(shown(&parts), shown(&whole));
    assert_eq!(parts[0].function, whole[0].function);
    assert_eq!(whole.len(), 1);
}

/// By ERF, by a sigmoid, and by HARD_SWISH's parts: one kernel that reads once and writes once.
#[test]
fn activations_in_parts_are_one() {
    let once = |text: &str| {
        let kernels = kernels_of(text);
        assert_eq!(kernels.len(), 1, "{:?}", shown(&kernels));
        assert_eq!(kernels[0].kind, Kind::Activation);
        assert_eq!((kernels[0].inputs, kernels[0].outputs), (3136.0, 3136.0));
    };
    let mut gelu = Graph::new(TOKENS);
    let [root, one, half] = [&[][..]; 3].map(|shape| gelu.constant(shape));
    let scaled = gelu.add("DIV", &["x", &root], TOKENS);
    let erf = gelu.add("ERF", &[&scaled], TOKENS);
    let shifted = gelu.add("ADD", &[&erf, &one], TOKENS);
    let product = gelu.add("MUL", &["x", &shifted], TOKENS);
    let out = gelu.add("MUL", &[&product, &half], TOKENS);
    once(&gelu.text(&out));

    let mut silu = Graph::new(TOKENS);
    let gate = silu.add("LOGISTIC", &["x"], TOKENS);
    let out = silu.add("MUL", &["x", &gate], TOKENS);
    once(&silu.text(&out));

    let mut hard = Graph::new(TOKENS);
    let [three, zero, six] = [&[][..]; 3].map(|shape| hard.constant(shape));
    let shifted = hard.add("ADD", &["x", &three], TOKENS);
    let above = hard.add("MAXIMUM", &[&shifted, &zero], TOKENS);
    let below = hard.add("MINIMUM", &[&above, &six], TOKENS);
    let divided = hard.add("DIV", &[&below, &six], TOKENS);
    let out = hard.add("MUL", &["x", &divided], TOKENS);
    once(&hard.text(&out));
}

/// Queries times keys, a scale, a softmax, times values: 2 × 49 × 49 × 64 multiply-accumulates, and no
/// scores written. With a scale for each head no fused kernel takes it.
#[test]
fn attention_is_one_kernel() {
    let attention = |scale_shape: &[u32]| {
        let mut graph = Graph::new(TOKENS);
        let scores: &[u32] = &[1, 49, 49];
        let scale = graph.constant(scale_shape);
        let turned = graph.add("TRANSPOSE", &["x"], &[1, 64, 49]);
        let product = graph.add("BATCH_MATMUL", &["x", &turned], scores);
        let scaled = graph.add("MUL", &[&product, &scale], scores);
        let shares = graph.add("SOFTMAX", &[&scaled], scores);
        let out = graph.add("BATCH_MATMUL", &[&shares, "x"], TOKENS);
        kernels_of(&graph.text(&out))
    };
    let fused = attention(&[]);
    assert_eq!(fused.len(), 1, "{:?}", shown(&fused));
    assert_eq!(fused[0].kind, Kind::Attention);
    assert_eq!(fused[0].macs, 2.0 * 49.0 * 49.0 * 64.0);
    assert_eq!(fused[0].scores, 49.0 * 49.0);
    let kinds: Vec<Kind> = attention(&[1, 49]).iter().map(|k| k.kind).collect();
    let expected = [
        Kind::MatrixProduct,
        Kind::Scale,
        Kind::Softmax,
        Kind::MatrixProduct,
    ];
    assert_eq!(kinds, expected);
}

/// PyTorch has no fused attention for scores of five dimensions.
#[test]
fn attention_of_blocks_is_several_kernels() {
    let blocks: &[u32] = &[1, 2, 4, 49, 16];
    let scores: &[u32] = &[1, 2, 4, 49, 49];
    let mut graph = Graph::new(blocks);
    let turned = graph.add("TRANSPOSE", &["x"], &[1, 2, 4, 16, 49]);
    let product = graph.add("BATCH_MATMUL", &["x", &turned], scores);
    let shares = graph.add("SOFTMAX", &[&product], scores);
    let out = graph.add("BATCH_MATMUL", &[&shares, "x"], blocks);
    let kernels = kernels_of(&graph.text(&out));
    let kinds: Vec<Kind> = kernels.iter().map(|k| k.kind).collect();
    let expected = [Kind::MatrixProduct, Kind::Softmax, Kind::MatrixProduct];
    assert_eq!(kinds, expected);
}

/// A product along tokens reads rows that a transposition put one after another; one along channels reads them as they
/// lie, in whatever order the tokens are.
#[test]
fn tokens_are_copied_for_a_product_along_them() {
    let mixed = |order: &[u32], length: u32| {
        let mut graph = Graph::new(TOKENS);
        let of_order: Vec<u32> = order.iter().map(|&axis| TOKENS[axis as usize]).collect();
        let turned = graph.add("TRANSPOSE", &["x"], &of_order);
        graph.operators[0]["attributes"] = json!({"perm": order});
        let weights = graph.constant(&[length, length]);
        let out = graph.add("FULLY_CONNECTED", &[&turned, &weights], &of_order);
        let kernels = kernels_of(&graph.text(&out));
        kernels.iter().map(|k| k.kind).collect::<Vec<_>>()
    };
    assert_eq!(mixed(&[0, 2, 1], 49), [Kind::Copy, Kind::Dense]);
    assert_eq!(mixed(&[1, 0, 2], 64), [Kind::Dense]);
}

/// A convolution has its channels where those of its input lie: a layer normalisation writes them last, a convolution, an
/// activation or a group normalisation does not. Convolutions with channels first move their maps once more, unless the
/// run makes all of them channels last.
#[test]
fn a_normalisation_of_channels_tells_their_place() {
    let map: &[u32] = &[1, 14, 14, 64];
    let after = |before: &str| {
        let mut graph = Graph::new(map);
        let [weights, window] =
            [&[64, 1, 1, 64], &[1, 7, 7, 64]].map(|shape| graph.constant(shape));
        let scale = graph.constant(&[64]);
        let mut x = graph.add("CONV_2D", &["x", &weights], map);
        x = match before {
            "RELU" => graph.add(before, &[&x], map),
            _ => graph.add(before, &[&x, &scale, &scale], map),
        };
        for (kind, weights) in [("DEPTHWISE_CONV_2D", &window), ("CONV_2D", &weights)] {
            x = graph.add(kind, &[&x, weights], map);
        }
        kernels_of(&graph.text(&x))
    };
    let last = after("LAYER_NORMALIZATION");
    let is_permuted = |kernels: &[Kernel]| -> Vec<bool> {
        kernels.iter().map(|kernel| kernel.is_permuted).collect()
    };
    assert_eq!(is_permuted(&last), [false, false, true, true]);
    for before in ["RELU", "GROUP_NORMALIZATION"] {
        assert_eq!(is_permuted(&after(before)), [false; 4], "{before}");
    }
    // The first convolution reads and writes a map; the second has 49 products for each value.
    let counted = |gpu: &str| {
        let names = [
            "first_values",
            "depthwise_macs",
            "depthwise_permuted_huge_macs",
        ];
        names.map(|name| {
            (1e3 * counted(name, &last, gpu, Mode::Inference) / (14.0 * 14.0 * 64.0)).round()
        })
    };
    assert_eq!(counted("rtx-3090"), [2e3, 0.0, 49.0]);
    assert_eq!(counted("rtx-3090-channels-last"), [0.0, 0.0, 49.0]);
}

/// PyTorch expects convolutions of two groups to take 1.358 times as long with channels last, and others 0.823 times:
/// `torch.compile` leaves a network as it is from a share of grouped ones of 0.177 / (0.358 + 0.177) on.
#[test]
fn compilation_makes_convolutions_channels_last_unless_grouped() {
    let is_last = |n_grouped: usize, n_others: usize| {
        let convolution = kernels_of(&{
            let mut graph = Graph::new(&[1, 14, 14, 128]);
            let weights = graph.constant(&[128, 3, 3, 128]);
            let out = graph.add("CONV_2D", &["x", &weights], &[1, 14, 14, 128]);
            graph.text(&out)
        })
        .remove(0);
        let grouped = Kernel {
            kind: Kind::Grouped,
            groups: 2.0,
            depth: convolution.depth / 2.0,
            ..convolution.clone()
        };
        let mut kernels = vec![grouped; n_grouped];
        kernels.extend(vec![convolution; n_others]);
        is_compiled_channels_last(&kernels)
    };
    assert!(is_last(32, 68));
    assert!(!is_last(34, 66));
}

/// Autocast by PyTorch's list of operators: a layer normalisation writes float32, both products cast to float16 what they
/// read in it, the activation between them stays in float16, a scale by weights is float32, and so is the sum with the
/// network's input. Values of float32 count twice in inference, each cast once, and weights once for each batch.
#[test]
fn values_of_float32_are_told_and_counted() {
    let mut block = Graph::new(TOKENS);
    let [scale, shift, gamma] = [&[64][..], &[64], &[64]].map(|shape| block.constant(shape));
    let [wide, narrow] = [&[128, 64][..], &[64, 128]].map(|shape| block.constant(shape));
    let x = block.add("LAYER_NORMALIZATION", &["x", &scale, &shift], TOKENS);
    let x = block.add("FULLY_CONNECTED", &[&x, &wide], &[1, 49, 128]);
    let x = block.add("GELU", &[&x], &[1, 49, 128]);
    let x = block.add("FULLY_CONNECTED", &[&x, &narrow], TOKENS);
    let x = block.add("MUL", &[&x, &gamma], TOKENS);
    let out = block.add("ADD", &["x", &x], TOKENS);
    let kernels = kernels_of(&block.text(&out));
    let n = 49.0 * 64.0;
    let told: Vec<_> = kernels
        .iter()
        .map(|kernel| (kernel.kind, kernel.float32_inputs, kernel.writes_float32))
        .collect();
    let expected = [
        (Kind::Normalisation, n, true),
        (Kind::Dense, n, false),
        (Kind::Activation, 0.0, false),
        (Kind::Dense, 0.0, false),
        (Kind::Scale, 0.0, true),
        (Kind::Addition, 2.0 * n, true),
    ];
    assert_eq!(told, expected);
    let values = |gpu, mode| {
        let names = [
            "normalisation_elements",
            "gelu_elements",
            "scale_elements",
            "addition_elements",
        ];
        names.map(|name| (counted(name, &kernels, gpu, mode) / n).round())
    };
    assert_eq!(values("rtx-3090", Mode::Inference), [4.0, 4.0, 3.0, 6.0]);
    assert_eq!(values("rtx-3090", Mode::Training), [2.0, 4.0, 2.0, 3.0]);
    assert_eq!(
        values("v100-float32", Mode::Inference),
        [2.0, 4.0, 2.0, 3.0]
    );
    let weights = 2.0 * 64.0 * 128.0 / 10.0;
    for mode in [Mode::Inference, Mode::Training] {
        assert!((counted("casts", &kernels, "rtx-3090", mode) - weights - n).abs() < 1e-6);
        assert!((counted("casts", &kernels, "rtx-4090-compiled", mode) - weights).abs() < 1e-6);
    }
}

/// What follows a product is float16 until StarReLU's square, which autocast's list has among powers.
#[test]
fn powers_are_float32() {
    let mut graph = Graph::new(TOKENS);
    let [weights, number] = [&[64, 64][..], &[1]].map(|shape| graph.constant(shape));
    let mut x = graph.add("FULLY_CONNECTED", &["x", &weights], TOKENS);
    x = graph.add("RELU", &[&x], TOKENS);
    x = graph.add("SQUARE", &[&x], TOKENS);
    x = graph.add("MUL", &[&x, &number], TOKENS);
    let kernels = kernels_of(&graph.text(&x));
    let float32: Vec<bool> = kernels.iter().map(|kernel| kernel.writes_float32).collect();
    assert_eq!(float32, [false, false, true, true]);
}

/// 12 × 20 values are padded to 16 × 24 for tensor cores.
#[test]
fn operands_are_padded_to_multiples_of_eight() {
    let mut graph = Graph::new(&[1, 49, 12]);
    let weights = graph.constant(&[20, 12]);
    let out = graph.add("FULLY_CONNECTED", &["x", &weights], &[1, 49, 20]);
    let kernels = kernels_of(&graph.text(&out));
    let macs = |name| counted(name, &kernels, "rtx-3090", Mode::Inference);
    let padded = macs("dense_unaligned_macs") / macs("dense_macs");
    assert!(
        (padded - (16.0 * 24.0 / (12.0 * 20.0) - 1.0)).abs() < 1e-9,
        "{padded}"
    );
}

/// What decides the kernel of a grouped convolution with channels last, on 10 × 10 positions: in training, values count by the
/// share of 32 channels that a group has where it is wide, one of few channels, or reads fewer than it writes; in both modes,
/// all values count where the channels of a group are no power of two, and where it reads fewer than four.
#[test]
fn groups_count_by_their_kernels_with_channels_last() {
    // Groups, channels that each reads, and that each writes; then values in training, and odd and narrow ones.
    for (groups, reads, writes, slow, is_odd, is_narrow) in [
        (32, 4, 4, 0.0, false, false),
        (32, 2, 2, 0.0, false, true),
        (32, 4, 8, 0.25, false, false),
        (4, 16, 16, 0.5, false, false),
        (16, 24, 24, 0.0, true, false),
        (4, 64, 64, 1.0, false, false),
    ] {
        let [inputs, outputs] = [groups * reads, groups * writes];
        let mut graph = Graph::new(&[1, 10, 10, inputs]);
        let weights = graph.constant(&[outputs, 3, 3, reads]);
        let out = graph.add("CONV_2D", &["x", &weights], &[1, 10, 10, outputs]);
        let kernels = kernels_of(&graph.text(&out));
        let count = |name, mode| counted(name, &kernels, "rtx-3090-channels-last", mode).round();
        let values = f64::from(100 * (inputs + outputs));
        let expected = [
            values * slow,
            if is_odd { values } else { 0.0 },
            if is_narrow { values } else { 0.0 },
        ];
        let training = [
            count("grouped_slow_values", Mode::Training),
            count("grouped_odd_values", Mode::Training),
            count("grouped_narrow_values", Mode::Training),
        ];
        let shape = format!("{groups} groups of {reads} and {writes}");
        assert_eq!(training, expected, "{shape}");
        let inference = [
            count("grouped_slow_values", Mode::Inference),
            count("grouped_odd_values", Mode::Inference),
            count("grouped_narrow_values", Mode::Inference),
        ];
        assert_eq!(inference, [0.0, expected[1], expected[2]], "{shape}");
    }
}

/// What the intervals held of the final families is no less, and no more, than chance allows for intervals of 90 %.
/// Networks of a family are wrong together, so that families count.
#[test]
fn intervals_hold_what_they_promise_on_final_families() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("trainer/results/final/gpu.json");
    let text = std::fs::read_to_string(path).expect("the repository has the results");
    let results: serde_json::Value = serde_json::from_str(&text).expect("the results are JSON");
    let mut n = 0;
    for run in results["runs"].as_array().expect("a list of runs") {
        let number = |value: &serde_json::Value| value.as_f64().expect("a number");
        let [n_networks, n_families] =
            [&run["n_networks"], &run["n_families"]].map(|count| number(count) as u32);
        if n_networks < 30 {
            continue;
        }
        let share = number(&run["errors"]["coverage_percent"]) / 100.0;
        let held = (share * f64::from(n_families)).round() as u32;
        let chance = |counts: std::ops::RangeInclusive<u32>| -> f64 {
            counts.map(|held| binomial(n_families, held, 0.9)).sum()
        };
        let (few, many) = (chance(0..=held), chance(held..=n_families));
        println!(
            "{} {}: {:.1} % of {n_networks} networks, {n_families} families; chance of so few {few:.3}, of so many {many:.3}",
            run["target"],
            run["mode"],
            100.0 * share
        );
        assert!(
            few > 0.005 && many > 0.005,
            "{} {}",
            run["target"],
            run["mode"]
        );
        n += 1;
    }
    assert!(n >= 10, "{n} runs");
}

/// Chance of `held` of `n` where each has the chance `p`.
fn binomial(n: u32, held: u32, p: f64) -> f64 {
    let ways = |acc: f64, i: u32| acc * f64::from(n - i) / f64::from(i + 1);
    (0..held).fold(1.0, ways) * p.powi(held as i32) * (1.0 - p).powi((n - held) as i32)
}

/// Windows of 7 × 7 are copied out of a map of 14 × 14, for no strides describe them as a list; channels split into heads
/// are read as they lie.
#[test]
fn windows_are_copied_and_heads_are_not() {
    let turned = |shape: &[u32], order: &[u32], then: &[u32]| {
        let mut graph = Graph::new(&[1, 196, 64]);
        let parts = graph.add("RESHAPE", &["x"], shape);
        let of_order: Vec<u32> = order.iter().map(|&axis| shape[axis as usize]).collect();
        let turned = graph.add("TRANSPOSE", &[&parts], &of_order);
        graph.operators[1]["attributes"] = json!({"perm": order});
        let listed = graph.add("RESHAPE", &[&turned], then);
        let out = graph.add("SOFTMAX", &[&listed], then);
        kernels_of(&graph.text(&out))
    };
    let windows = turned(&[1, 2, 7, 2, 7, 64], &[0, 1, 3, 2, 4, 5], &[4, 49, 64]);
    assert_eq!(windows[0].kind, Kind::Copy, "{:?}", shown(&windows));
    assert_eq!(windows[0].inputs, 196.0 * 64.0);
    assert_eq!(windows.len(), 2);
    let heads = turned(&[1, 1, 196, 4, 16], &[0, 1, 3, 2, 4], &[1, 4, 196, 16]);
    assert_eq!(heads.len(), 1, "{:?}", shown(&heads));
}

/// A rotation as exports write it: the two parts of a tensor, joined the other way round.
#[test]
fn a_rotation_is_a_copy() {
    let joined = |second: &str| {
        let mut graph = Graph::new(TOKENS);
        let other = graph.add("TANH", &["x"], TOKENS);
        let first = graph.add("STRIDED_SLICE", &["x"], &[1, 46, 64]);
        let operand = if second == "x" { "x" } else { other.as_str() };
        let rest = graph.add("STRIDED_SLICE", &[operand], &[1, 3, 64]);
        let out = graph.add("CONCATENATION", &[&first, &rest], TOKENS);
        kernels_of(&graph.text(&out))
            .last()
            .map(|kernel| kernel.kind)
    };
    assert_eq!(joined("x"), Some(Kind::Copy));
    assert_eq!(joined("other"), Some(Kind::Concatenation));
}

/// PyTorch resizes bilinearly with a thread for each position, which waits for memory once for each channel of each
/// input: 1,024 channels of 14 × 14 take longer than their bytes do.
#[test]
fn a_bilinear_resize_of_many_channels_is_slow() {
    let run = Bundle::shipped().run("rtx-3090", Mode::Inference);
    let run = run.expect("the shipped constants have it");
    let gpu = Gpu::by_id("rtx-3090").expect("a GPU");
    let time = |kind: &str| {
        let mut graph = Graph::new(&[1, 7, 7, 1024]);
        let out = graph.add(kind, &["x"], &[1, 14, 14, 1024]);
        time(run, &kernels_of(&graph.text(&out)), 256.0, gpu).map(|time| time.value_ms / 256.0)
    };
    let bilinear = time("RESIZE_BILINEAR").expect("it was measured");
    println!(
        "bilinear {bilinear:.3} ms, nearest {:?} ms",
        time("RESIZE_NEAREST_NEIGHBOR")
    );
    assert!(
        (0.2..0.5).contains(&bilinear),
        "{bilinear} ms for 1,024 reads of 300 ns"
    );
}

/// Formats have words for some paddings only: a `PAD` before a convolution is inside of the framework's kernel, and one
/// that something else reads too is a copy.
#[test]
fn padding_is_part_of_its_convolution() {
    let convolution = |is_padded: bool, is_shared: bool| {
        let mut graph = Graph::new(&[1, 32, 32, 8]);
        let weights = graph.constant(&[16, 3, 3, 8]);
        let source = if is_padded {
            graph.add("PAD", &["x"], &[1, 33, 33, 8])
        } else {
            "x".to_owned()
        };
        let mut out = graph.add("CONV_2D", &[&source, &weights], &[1, 16, 16, 16]);
        if is_shared {
            let mean = graph.add("MEAN", &[&source], &[1, 1, 1, 1]);
            out = graph.add("ADD", &[&out, &mean], &[1, 16, 16, 16]);
        }
        kernels_of(&graph.text(&out))
    };
    assert_eq!(
        shown(&convolution(true, false)),
        shown(&convolution(false, false))
    );
    let shared: Vec<Kind> = convolution(true, true).iter().map(|k| k.kind).collect();
    assert_eq!(shared[0], Kind::Copy, "{shared:?}");
}

/// Kinds that multiply, with the shapes of their inputs, `x` before the one that is read, and of their result.
const MULTIPLYING: &[&str] = &[
    "CONV_2D x1,8,8,8 16,3,3,4 1,8,8,16",
    "DEPTHWISE_CONV_2D x1,8,8,4 1,5,3,8 1,4,4,8",
    "TRANSPOSE_CONV 4 6,2,2,3 x1,5,5,3 1,10,10,6",
    "CONV_3D x1,4,6,8,4 3,2,1,2,6 1,2,5,8,6",
    "CONV_3D_TRANSPOSE 5 2,3,4,5,3 x1,2,2,2,3 1,4,6,8,5",
    "FULLY_CONNECTED x1,7,10 30,10 1,7,30",
    "BATCH_MATMUL x1,5,6 1,6,7 1,5,7",
    "RNN x1,3 5,3 5,5 5 1,5 1,5",
    "UNIDIRECTIONAL_SEQUENCE_RNN x1,7,3 5,3 5,5 5 1,5 1,7,5",
    "BIDIRECTIONAL_SEQUENCE_RNN x1,7,3 5,3 5,5 5 1,5 6,3 6,6 6 1,6 1,7,11",
    "SVDF x1,3 8,3 8,10 4 1,80 1,4",
    "LSTM x1,3 5,3 5,3 5,3 5,3 5,5 5,5 5,5 5,5 5 5 5 5 5 5 5 1,5",
    "UNIDIRECTIONAL_SEQUENCE_LSTM x1,7,3 5,3 5,3 5,3 5,3 5,5 5,5 5,5 5,5 5 5 5 5 5 5 5 1,7,5",
    "BIDIRECTIONAL_SEQUENCE_LSTM x1,7,3 5,3 5,3 5,3 5,3 5,5 5,5 5,5 5,5 5 5 5 5 5 5 5 5,5 5 \
     5,3 5,3 5,3 5,3 5,5 5,5 5,5 5,5 5 5 5 5 5 5 5 1,7,10",
];

/// Kernels multiply as often as the analysis counts, for every kind of operator that multiplies.
#[test]
fn no_products_are_left_out() {
    let shape = |text: &str| -> Vec<u32> {
        let sides = text.trim_start_matches('x').split(',');
        sides.map(|side| side.parse().unwrap()).collect()
    };
    for case in MULTIPLYING {
        let words: Vec<&str> = case.split(' ').collect();
        let [kind, inputs @ .., output] = &words[..] else {
            panic!("{case}");
        };
        let read = inputs.iter().find(|text| text.starts_with('x')).unwrap();
        let mut graph = Graph::new(&shape(read));
        let mut name = |text: &&str| match text == read {
            true => "x".to_owned(),
            false => graph.constant(&shape(text)),
        };
        let names: Vec<String> = inputs.iter().map(&mut name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let out = graph.add(kind, &names, &shape(output));
        let text = graph.text(&out);
        let model = graph_json::parse(text.as_bytes()).unwrap();
        let counted = analyze(&build(&model, 0).unwrap()).totals.macs as f64;
        let of_kernels: f64 = kernels_of(&text).iter().map(|kernel| kernel.macs).sum();
        println!("{kind}: {counted}");
        assert!(
            counted > 0.0 && of_kernels == counted,
            "{kind}: {of_kernels}, not {counted}"
        );
    }
    for kind in OpKind::ALL {
        // A sparse look-up adds rows that it reads.
        use Work::{Nothing, SparseLookup, Unknown};
        let multiplies = !matches!(kind.row().work, Nothing | Unknown | SparseLookup);
        let mut kinds = MULTIPLYING.iter().map(|case| case.split(' ').next());
        let is_case = kinds.any(|one| one == Some(kind.name()));
        assert_eq!(multiplies, is_case, "{kind}");
    }
}

/// A volume one position deep is an image, and its convolution takes as long, which nobody measured.
#[test]
fn a_convolution_of_a_flat_volume_is_that_of_an_image() {
    let convolution = |kind: &str, depth: &[u32]| {
        let shape = |sides: [u32; 3]| [&[1], depth, &sides].concat();
        let mut graph = Graph::new(&shape([64, 64, 64]));
        let weights = match depth {
            [] => graph.constant(&[64, 3, 3, 64]),
            _ => graph.constant(&[1, 3, 3, 64, 64]),
        };
        let out = graph.add(kind, &["x", &weights], &shape([62, 62, 64]));
        let text = graph.text(&out);
        let file = ModelFile::new("test", text.as_bytes());
        let target = gpu::target("rtx-4090", Bundle::shipped()).unwrap();
        let reports = estimate_on(&[file], None, &[target]).unwrap();
        let diagnostics = &reports[0].as_ref().unwrap().diagnostics;
        let is_doubted = diagnostics
            .iter()
            .any(|one| one.diagnostic.code == "gpu-volumes");
        let kernels = kernels_of(&text);
        let macs = counted("convolution_macs", &kernels, "rtx-4090", Mode::Inference);
        (macs, is_doubted)
    };
    // This cost has a unit of 10⁹.
    let macs = 62.0 * 62.0 * 64.0 * 576.0 / 1e3;
    assert_eq!(convolution("CONV_2D", &[]), (macs, false));
    assert_eq!(convolution("CONV_3D", &[1]), (macs, true));
}

/// A product without bias and a sum are a product with bias, as exports write it.
#[test]
fn a_bias_is_part_of_its_product() {
    let mut graph = Graph::new(TOKENS);
    let (weights, bias) = (graph.constant(&[32, 64]), graph.constant(&[32]));
    let product = graph.add("FULLY_CONNECTED", &["x", &weights], &[1, 49, 32]);
    let out = graph.add("ADD", &[&product, &bias], &[1, 49, 32]);
    let kernels = kernels_of(&graph.text(&out));
    let expected = (Kind::Dense, 49.0 * 64.0 * 32.0, 3136.0, 1568.0, true);
    assert_eq!(shown(&kernels), [expected]);
}

/// Two products and a ReLU: at the peak, the network's input in float32 and the ReLU's input and output are alive; the
/// backward pass reads the first product's operand in float16, and the ReLU's output, which is the second product's.
#[test]
fn memory_is_as_by_hand() {
    let mut graph = Graph::new(&[1, 100]);
    let (wide, narrow) = (graph.constant(&[400, 100]), graph.constant(&[50, 400]));
    let hidden = graph.add("FULLY_CONNECTED", &["x", &wide], &[1, 400]);
    let positive = graph.add("RELU", &[&hidden], &[1, 400]);
    let out = graph.add("FULLY_CONNECTED", &[&positive, &narrow], &[1, 50]);
    let kernels = kernels_of(&graph.text(&out));
    let amp = ComputePrecision::Amp;
    assert_eq!(peak_bytes(&kernels, amp), 4.0 * 100.0 + 2.0 * 800.0);
    assert_eq!(kept_bytes(&kernels, amp), 2.0 * 100.0 + 2.0 * 400.0);
}

/// Training runs the forward pass too: a mean, of which the backward pass reads nothing, takes as much as in inference.
#[test]
fn training_takes_no_less_than_inference() {
    let mut graph = Graph::new(&[1, 100]);
    let out = graph.add("MEAN", &["x"], &[1, 1]);
    let kernels = kernels_of(&graph.text(&out));
    let amp = ComputePrecision::Amp;
    assert_eq!(kept_bytes(&kernels, amp), 0.0);
    let training = GpuMemory::training(&kernels, 0.0, 8.0, Optimiser::Sgd, amp);
    assert_eq!(training, GpuMemory::inference(&kernels, 0.0, 8.0, amp));
    assert!(training.activation_bytes > 8.0 * 4.0 * 100.0);
}

/// Chains as long as the reader takes, sizes of nothing and of more than anything.
#[test]
fn hostile_graphs_take_linear_time_and_make_no_numbers_up() {
    let run = Bundle::shipped()
        .run("rtx-3090", Mode::Inference)
        .expect("the shipped constants have it");
    let gpu = Gpu::by_id("rtx-3090").expect("a GPU");
    let mut chain = Graph::new(TOKENS);
    let mut last = "x".to_owned();
    for idx in 0..20_000 {
        let (kind, inputs) = match idx % 3 {
            0 => ("LOGISTIC", vec![last.as_str()]),
            1 => ("MUL", vec![last.as_str(), "x"]),
            _ => ("MEAN", vec![last.as_str()]),
        };
        last = chain.add(kind, &inputs, TOKENS);
    }
    assert!(!kernels_of(&chain.text(&last)).is_empty());

    for shape in [&[1, 0, 0][..], &[1, 2_000_000_000, 2_000_000_000], &[0, 3]] {
        let mut graph = Graph::new(shape);
        let weights = graph.constant(&[2_000_000_000, 2_000_000_000]);
        let product = graph.add("FULLY_CONNECTED", &["x", &weights], shape);
        let out = graph.add("SOFTMAX", &[&product], shape);
        let Ok(model) = graph_json::parse(graph.text(&out).as_bytes()) else {
            continue;
        };
        let kernels = kernels(&build(&model, 0).unwrap());
        if let Some(time) = time(run, &kernels, 1024.0, gpu) {
            assert!(time.value_ms.is_finite() && time.value_ms > 0.0, "{time:?}");
            assert!(
                time.lo_ms <= time.value_ms && time.value_ms <= time.hi_ms,
                "{time:?}"
            );
        }
    }
}

fn report(path: &Path, target: &str, batch: u32) -> Report {
    let bytes = std::fs::read(path).expect("the test's file is there");
    let file = ModelFile {
        request: Request {
            batch: NonZeroU32::new(batch).unwrap(),
            ..Request::default()
        },
        ..ModelFile::new("test", &bytes)
    };
    let target = gpu::target(target, Bundle::shipped()).expect("the shipped constants have it");
    let mut reports = estimate_on(&[file], None, &[target]).expect("no network runs");
    reports.remove(0).expect("the file is a graph")
}

fn interval(report: &Report, metric: Metric) -> [f64; 3] {
    let result = report.results.iter().find(|result| result.metric == metric);
    match &result.expect("the target has this metric").outcome {
        Outcome::Estimate {
            value,
            lo: Some(lo),
            hi: Some(hi),
            ..
        } => [*lo, *value, *hi],
        other => panic!("{metric}: {other:?}"),
    }
}

/// Four networks of the tables that the constants were fitted to, as their graphs come from the exporter:
/// the path from a file to a time. (Errors on networks that were left out: `litecast-trainer fit-gpu`.)
#[test]
fn measured_networks_lie_in_their_intervals() {
    let Some(tables) = shared("data/gpu/timm") else {
        return;
    };
    let runs = [
        (
            "benchmark-infer-amp-nchw-pt240-cu124-rtx3090.csv",
            "infer",
            Metric::Latency,
        ),
        (
            "benchmark-train-amp-nchw-pt112-cu113-rtx3090.csv",
            "train",
            Metric::TrainingStep,
        ),
    ];
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gpu");
    let mut n = 0;
    for (table, run, metric) in runs {
        let text = std::fs::read_to_string(tables.join(table)).expect("the table is there");
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = lines.next().expect("a table has a header");
        let column = |name: &str| {
            let name = format!("{run}_{name}");
            header
                .iter()
                .position(|one| *one == name)
                .expect("a column")
        };
        let [speed, batch, size] = ["samples_per_sec", "batch_size", "img_size"].map(column);
        for line in lines {
            let path = folder.join(format!("{}-{}.graph.json", line[0], line[size]));
            if !path.is_file() {
                continue;
            }
            let inputs: f64 = line[batch].parse().unwrap();
            let measured_ms = 1e3 * inputs / line[speed].parse::<f64>().unwrap();
            let report = report(&path, "rtx-3090", inputs as u32);
            let [lo, value, hi] = interval(&report, metric);
            println!(
                "{} {metric}, batch {inputs}: measured {measured_ms:.1} ms, estimated {value:.1} ({lo:.1} to \
                 {hi:.1}), {:+.1} %",
                line[0],
                100.0 * (value / measured_ms - 1.0)
            );
            assert!(lo <= measured_ms && measured_ms <= hi, "{}", line[0]);
            n += 1;
        }
    }
    assert!(n >= 6, "found {n} of the networks in the tables");
}

/// Twice the batch takes twice the time where the GPU is busy, and its parts are those of its operators.
#[test]
fn estimates_hang_together() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gpu");
    let path = folder.join("resnet50-224.graph.json");
    let [small, large] = [256, 512].map(|batch| report(&path, "rtx-3090", batch));
    let ratio = interval(&large, Metric::Latency)[1] / interval(&small, Metric::Latency)[1];
    assert!((1.9..=2.0).contains(&ratio), "{ratio}");
    let [_, latency, _] = interval(&small, Metric::Latency);
    let [_, throughput, _] = interval(&small, Metric::Throughput);
    assert!((throughput * latency / 256e3 - 1.0).abs() < 1e-9);
    let parts = small
        .results
        .iter()
        .find_map(|result| match &result.outcome {
            Outcome::Estimate {
                operators: Some(parts),
                ..
            } if result.metric == Metric::Latency => Some(parts.iter().sum::<f64>()),
            _ => None,
        });
    assert!((parts.expect("parts by operator") / latency - 1.0).abs() < 1e-9);
    let [_, inference, _] = interval(&small, Metric::Memory);
    let [_, training, _] = interval(&small, Metric::TrainingMemory);
    assert!(inference < training, "{inference} {training}");
    let codes: Vec<&str> = small
        .diagnostics
        .iter()
        .map(|doubt| doubt.diagnostic.code)
        .collect();
    assert!(codes.contains(&"mig-profile"), "{codes:?}");
}

/// NVIDIA's DeepLearningExamples measured ResNet-50 in float32 under PyTorch (container 21.03, batch size 128). No fit
/// uses these numbers.
#[test]
fn networks_of_another_laboratory_lie_in_their_intervals() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gpu/resnet50-224.graph.json");
    for (target, measured_ms) in [("v100-float32", 109.26), ("t4-float32", 309.26)] {
        let report = report(&path, target, 128);
        let [lo, value, hi] = interval(&report, Metric::Latency);
        println!(
            "{target}: measured {measured_ms} ms, estimated {value:.1} ({lo:.1} to {hi:.1}), {:+.1} %",
            100.0 * (value / measured_ms - 1.0)
        );
        assert!(lo <= measured_ms && measured_ms <= hi, "{target}");
        let codes: Vec<&str> = report
            .diagnostics
            .iter()
            .map(|one| one.diagnostic.code)
            .collect();
        assert!(codes.contains(&"gpu-far-from-measured"), "{codes:?}");
    }
}

/// Single operators and images of 32×32 were measured on these GPUs, none of which takes as long as a network. Its interval is
/// that of networks all the same, which were measured on another board, and does not grow with what one of them takes.
#[test]
fn float32_intervals_are_those_of_networks() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gpu");
    let targets = gpu::shipped_targets();
    let ids = targets.iter().map(|target| target.id().to_owned());
    let ids: Vec<String> = ids.filter(|id| id.ends_with("-float32")).collect();
    for id in &ids {
        let widths = |batch: u32| {
            ["convnext_tiny", "resnet50", "vit_tiny_patch16_224"].map(|name| {
                let path = folder.join(format!("{name}-224.graph.json"));
                let [lo, value, hi] = interval(&report(&path, id, batch), Metric::Latency);
                [value / lo, hi / value]
            })
        };
        let [many, one] = [256, 1].map(widths);
        println!("{id}: {many:.2?}, one at a time {one:.2?}");
        // Networks of any kind ask for as much, and for no more.
        assert!(
            many.as_flattened()
                .iter()
                .all(|width| (1.3..2.2).contains(width)),
            "{id}"
        );
        // The host sets the pace of one input, in the range that hosts have.
        assert!(
            one.as_flattened()
                .iter()
                .all(|width| (1.4..2.6).contains(width)),
            "{id}"
        );
    }
    assert_eq!(ids.len(), 9);
}

/// One network at four batch sizes on the H100: the fit used the largest one's time. Smaller batches wait for the host,
/// and the share of the time in which kernels run falls with the batch size.
#[test]
fn small_batches_lie_in_their_intervals() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let table = std::fs::read_to_string(root.join("trainer/data/gpu/h100.csv"));
    let table = table.expect("the repository has the measurements");
    let path = root.join("tests/gpu/cspdarknet53-256.graph.json");
    let mut lines = table
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().expect("a table has a header");
    let column = |name: &str| header.iter().position(|one| *one == name);
    let [batch, ms, reserved, kernel_ms] =
        ["batch", "ms", "reserved_bytes", "kernel_ms"].map(|name| column(name).expect("a column"));
    let is_inference = |line: &Vec<&str>| line[..5].contains(&"infer");
    let rows = lines.filter(|line| line[0] == "cspdarknet53" && is_inference(line));
    let mut n = 0;
    for line in rows {
        let number = |column: usize| line[column].parse::<f64>().expect("a number");
        let report = report(&path, "h100-80gb", number(batch) as u32);
        let share = 100.0 * number(kernel_ms) / number(ms);
        let bytes = number(reserved) + BASE_BYTES;
        let measured = [
            (Metric::Latency, number(ms)),
            (Metric::Memory, bytes),
            (Metric::SmUtilization, share),
        ];
        for (metric, measured) in measured {
            let [lo, value, hi] = interval(&report, metric);
            println!(
                "batch {}, {metric}: measured {measured:.4}, estimated {value:.4} ({lo:.4} to {hi:.4})",
                line[batch]
            );
            assert!(lo <= measured && measured <= hi, "{metric}");
        }
        n += 1;
    }
    assert_eq!(n, 4, "batch sizes of the network in the table");
}

/// Memory of the same network in the precisions of targets: float32 has neither float16 activations nor copies of
/// weights, bfloat16 has half of its bytes.
#[test]
fn memory_follows_the_precision() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gpu/resnet50-224.graph.json");
    let parameters = report(&path, "rtx-3090", 1).model.parameters as f64;
    let text = std::fs::read_to_string(&path).expect("the test's file is there");
    let kernels = kernels_of(&text);
    let memory = |precision| GpuMemory::inference(&kernels, parameters, 8.0, precision);
    let single = memory(ComputePrecision::Float32);
    let half = memory(ComputePrecision::Bfloat16);
    assert_eq!(single.weight_bytes, 4.0 * parameters);
    assert_eq!(half.weight_bytes, 2.0 * parameters);
    assert_eq!(single.activation_bytes, 2.0 * half.activation_bytes);
    let amp = memory(ComputePrecision::Amp);
    assert!(amp.weight_bytes > 5.9 * parameters && amp.weight_bytes < 6.0 * parameters);
    // ResNet-50 has no kernel that writes float32 under AMP; only the images are float32.
    let images = 8.0 * 3.0 * 224.0 * 224.0 * 2.0;
    let more = amp.activation_bytes - half.activation_bytes;
    assert!(more >= images && more < 2.0 * images, "{more}");
}

/// The A100's constants are the RTX 3090's, scaled: no network is faster than by the data sheets' ratio of products, or
/// slower than on the RTX 3090, and the report says that most kinds of networks were not measured.
#[test]
fn scaled_constants_stay_near_their_source() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/gpu");
    let [of_3090, of_a100] =
        ["rtx-3090", "a100-40gb"].map(|id| Gpu::by_id(id).expect("a known GPU"));
    let least = of_3090.board.macs_per_s / of_a100.board.macs_per_s;
    for name in [
        "convnext_tiny",
        "mobilenetv3_large_100",
        "resnet50",
        "vit_tiny_patch16_224",
    ] {
        let path = folder.join(format!("{name}-224.graph.json"));
        let [a, b] = [of_a100.id, of_3090.id].map(|id| report(&path, id, 256));
        let ratio = interval(&a, Metric::Latency)[1] / interval(&b, Metric::Latency)[1];
        println!("{name}: {ratio:.2} of the RTX 3090's time");
        assert!((least..1.0).contains(&ratio), "{name}: {ratio}");
        let [lo, value, hi] = interval(&a, Metric::Latency);
        assert!(
            lo < 0.85 * value && hi > 1.15 * value,
            "{name}: {lo} to {hi} around {value}"
        );
        let result = a
            .results
            .iter()
            .find(|result| result.metric == Metric::Latency)
            .expect("a latency");
        let Outcome::Estimate {
            provenance,
            expected_error_percent,
            ..
        } = &result.outcome
        else {
            panic!("{name}: no estimate");
        };
        assert_eq!(provenance.kind, ProvenanceKind::Modelled);
        assert_eq!(
            (result.evidence, *expected_error_percent),
            (Some(Evidence::Assumed), None)
        );
        assert!(
            provenance.configuration.contains("on other GPUs"),
            "{provenance:?}"
        );
        let (graph, bytes) = (
            path.to_string_lossy(),
            std::fs::read(&path).expect("a graph"),
        );
        let of = |gpu: &Gpu| {
            let file = ModelFile::new(&graph, &bytes);
            let swept = sweep_batch(file, &Changes::default(), gpu, Bundle::shipped());
            let swept = swept.expect("a network").expect("a time");
            (swept.evidence, swept.expected_error_percent.is_some())
        };
        assert_eq!(of(of_a100), (Evidence::Assumed, false));
        assert_eq!(of(of_3090), (Evidence::Measured, true));
    }
}

/// The error of a target is that of families that nothing was fitted to. Where all measured networks are of one family, those
/// that were left out have relatives in the fit, and their error is no one else's.
#[test]
fn a_single_family_states_no_error() {
    let shipped = include_str!("../bundle/gpu.json");
    let bundle: Value = serde_json::from_str(shipped).expect("the constants are JSON");
    let targets = gpu::shipped_targets();
    let (mut n_stated, mut n_silent) = (0, 0);
    for run in bundle["runs"].as_array().expect("a list of runs") {
        let (target, n_families) = (&run["target"], &run["n_families"]);
        let mode = run["mode"].as_str().expect("a mode");
        let metric = match mode {
            "inference" => "latency",
            _ => "training_step",
        };
        let mut infos = targets.iter().filter_map(|target| target.info(None));
        let info = infos.find(|info| *target == *info.id).expect("a target");
        let metric = info.metrics.iter().find(|one| one.metric.id() == metric);
        let stated = metric.and_then(|metric| metric.expected_error_percent);
        println!("{target} {mode}: {n_families} families, {stated:?}");
        match n_families.as_u64() {
            Some(0 | 1) => {
                assert_eq!(stated, None, "{target}");
                n_silent += 1;
            }
            _ => {
                assert_eq!(stated, run["errors"]["mean_percent"].as_f64(), "{target}");
                n_stated += 1;
            }
        }
    }
    assert!(n_stated >= 10 && n_silent >= 10, "{n_stated}, {n_silent}");
}

/// Positions of measured networks are digits in files, and nothing else.
#[test]
fn positions_are_two_digits_a_byte() {
    let correction = Correction {
        positions: vec![0, 255, 0x7f],
        ..Correction::default()
    };
    let mut file = serde_json::to_value(&correction).unwrap();
    assert_eq!(file["positions"], "00ff7f");
    let read: Correction = serde_json::from_value(file.clone()).unwrap();
    assert_eq!(read.positions, correction.positions);
    for wrong in ["0g", "é", "00f"] {
        file["positions"] = json!(wrong);
        let error = serde_json::from_value::<Correction>(file.clone()).unwrap_err();
        assert!(error.to_string().contains("hexadecimal"), "{error}");
    }
}
