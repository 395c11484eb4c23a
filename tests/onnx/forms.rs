//! Forms of one network that exporters, optimisers and quantisers write: its time on hardware is the same.

use litecast::estimate::estimate_on;
use litecast::targets::gpu::bundle::Bundle;
use litecast::targets::{gpu, learned_accelerators};
use litecast::{Metric, ModelFile, Outcome};

use super::file::{File, Size};
use super::{operators, read};

const INT8: i32 = 3;
const FLOAT16: &[(&str, &[i64])] = &[("to", &[10])];
const FLOAT32: &[(&str, &[i64])] = &[("to", &[1])];
const TO_LAST: &[(&str, &[i64])] = &[("perm", &[0, 2, 3, 1])];
const TO_FIRST: &[(&str, &[i64])] = &[("perm", &[0, 3, 1, 2])];

fn kinds(file: &File) -> Vec<String> {
    let file = file.clone().output("y");
    let operators = operators(&read(&file)).into_iter();
    operators.map(|(kind, _)| kind).collect()
}

/// Latencies on phones, boards and GPUs, by target; some have none of any network like these.
fn latencies(file: &File) -> Vec<(String, Option<f64>)> {
    let mut targets = learned_accelerators::shipped_targets();
    targets.extend(gpu::targets(Bundle::shipped()));
    let file = file.clone().output("y");
    let file = ModelFile::new("net.onnx", &file);
    let mut reports = estimate_on(&[file], None, &targets).unwrap();
    let report = reports.remove(0).unwrap();
    let of_latency = report
        .results
        .iter()
        .filter(|one| one.metric == Metric::Latency);
    let value = |outcome: &Outcome| match *outcome {
        Outcome::Estimate { value, .. } => Some(value),
        _ => None,
    };
    of_latency
        .map(|one| (one.target.clone(), value(&one.outcome)))
        .collect()
}

fn assert_same_times(one: &File, other: &File) {
    let (one, other) = (latencies(one), latencies(other));
    assert!(
        one.iter().filter(|one| one.1.is_some()).count() > 30,
        "{one:?}"
    );
    for ((target, one), (_, other)) in one.iter().zip(&other) {
        assert_eq!(one.is_some(), other.is_some(), "{target}");
        let ratio = one.unwrap_or(1.0) / other.unwrap_or(1.0);
        assert!(
            (ratio - 1.0).abs() < 0.01,
            "{target}: {one:?} and {other:?}"
        );
    }
}

fn tokens() -> File {
    File::default()
        .input("x", &[1, 196, 192].map(Size::Of))
        .weights("scale", &[192])
        .weights("bias", &[192])
}

fn image() -> File {
    File::default()
        .image([1, 32, 28, 28])
        .weights("w", &[32, 32, 3, 3])
        .integers("groups", &[0, 8, -1])
        .integers("whole", &[1, 32, 28, 28])
        .weights("each", &[32, 1, 1])
}

fn over_deviation(file: File, x: &str) -> File {
    file.number("two", 2.0)
        .number("epsilon", 1e-5)
        .node("ReduceMean", &[x], "mean", &[("axes", &[-1])])
        .node("Sub", &[x, "mean"], "centred", &[])
        .node("Pow", &["centred", "two"], "squares", &[])
        .node("ReduceMean", &["squares"], "variance", &[("axes", &[-1])])
        .node("Add", &["variance", "epsilon"], "sum", &[])
        .node("Sqrt", &["sum"], "root", &[])
        .node("Div", &["centred", "root"], "normalised", &[])
}

/// Opset 17 has an operator for it.
#[test]
fn a_normalisation_of_several_nodes_is_one() {
    let scaled = |file: File, normalised: &str| {
        file.node("Mul", &[normalised, "scale"], "scaled", &[])
            .node("Add", &["scaled", "bias"], "y", &[])
    };
    let whole = tokens().node("LayerNormalization", &["x", "scale", "bias"], "y", &[]);
    let nodes = scaled(over_deviation(tokens(), "x"), "normalised");
    assert_eq!(kinds(&nodes), kinds(&whole));
    assert_same_times(&nodes, &whole);
    // In float32 between values of float16.
    let file =
        tokens()
            .node("Cast", &["x"], "half", FLOAT16)
            .node("Cast", &["half"], "wide", FLOAT32);
    let file = over_deviation(file, "wide").node("Cast", &["normalised"], "narrow", FLOAT16);
    assert_same_times(
        &scaled(file.node("Cast", &["narrow"], "again", FLOAT32), "again"),
        &whole,
    );
}

/// What another node reads has to be computed.
#[test]
fn a_normalisation_whose_variance_is_read_keeps_its_nodes() {
    let read = over_deviation(tokens(), "x").node("Add", &["normalised", "variance"], "y", &[]);
    let expected = ["MEAN", "SUB", "MUL", "MEAN", "ADD", "SQRT", "DIV", "ADD"];
    assert_eq!(kinds(&read), expected);
}

/// Where shapes do not fit, each node is converted: here the second mean is along another axis.
#[test]
fn a_pattern_that_does_not_fit_keeps_its_nodes() {
    let mut other = over_deviation(tokens(), "x").node("Identity", &["normalised"], "y", &[]);
    let mean = other
        .0
        .node
        .iter_mut()
        .rfind(|node| node.op_type == "ReduceMean");
    mean.unwrap().attribute[0].ints = vec![1];
    let expected = ["MEAN", "SUB", "MUL", "MEAN", "ADD", "SQRT", "DIV"];
    assert_eq!(kinds(&other), expected);
}

/// As PyTorch writes it, and as opset 21 has it.
#[test]
fn a_normalisation_of_groups_moves_nothing() {
    let convolved = || {
        let pads: &[(&str, &[i64])] = &[("pads", &[1, 1, 1, 1])];
        image().node("Conv", &["x", "w"], "a", pads)
    };
    let of_ones = |n: usize, value: f32| [value.to_le_bytes()].repeat(n).concat();
    let nodes = convolved()
        .constant("ones", 1, &[8], of_ones(8, 1.0))
        .constant("zeros", 1, &[8], of_ones(8, 0.0))
        .node("Reshape", &["a", "groups"], "b", &[])
        .node("InstanceNormalization", &["b", "ones", "zeros"], "c", &[])
        .node("Reshape", &["c", "whole"], "d", &[])
        .node("Mul", &["d", "each"], "e", &[])
        .node("Add", &["e", "each"], "y", &[]);
    assert!(!kinds(&nodes).contains(&"TRANSPOSE".to_owned()));
    let whole = convolved().weights("of_channels", &[32]).node(
        "GroupNormalization",
        &["a", "of_channels", "of_channels"],
        "y",
        &[("num_groups", &[8])],
    );
    assert_eq!(kinds(&nodes), kinds(&whole));
    assert_same_times(&nodes, &whole);
}

/// Between quantisations, as ONNX Runtime's quantiser leaves what it does not know.
#[test]
fn a_quantised_hard_swish_is_one_operator() {
    let quantised = |file: File, from: &str, to: &str| {
        let packed = format!("{to}/packed");
        file.node("QuantizeLinear", &[from, "s", "z"], &packed, &[])
            .node("DequantizeLinear", &[&packed, "s", "z"], to, &[])
    };
    let file = image().number("s", 0.1).constant("z", INT8, &[], vec![0]);
    let file = quantised(file, "x", "a").node("Conv", &["a", "w"], "b", &[]);
    let file = quantised(file, "b", "c").node("HardSigmoid", &["c"], "d", &[]);
    let file = quantised(file, "d", "e").node("Mul", &["c", "e"], "f", &[]);
    let file = quantised(file, "f", "y");
    assert_eq!(
        kinds(&file),
        ["QUANTIZE", "CONV_2D", "HARD_SWISH", "DEQUANTIZE"]
    );
}

/// The image that a row is for a convolution is quantised with it.
#[test]
fn a_quantised_convolution_of_rows_is_of_integers() {
    let file = File::default()
        .input("x", &[1, 80, 300].map(Size::Of))
        .weights("w", &[64, 80, 3])
        .number("s", 0.1)
        .constant("z", INT8, &[], vec![0])
        .node("QuantizeLinear", &["x", "s", "z"], "a", &[])
        .node("DequantizeLinear", &["a", "s", "z"], "b", &[])
        .node("Conv", &["b", "w"], "c", &[])
        .node("QuantizeLinear", &["c", "s", "z"], "d", &[])
        .node("DequantizeLinear", &["d", "s", "z"], "y", &[]);
    let expected = ["QUANTIZE", "RESHAPE", "CONV_2D", "RESHAPE", "DEQUANTIZE"];
    assert_eq!(kinds(&file), expected);
}

/// Converters of channels-last frameworks leave some of them.
#[test]
fn an_image_that_is_turned_and_turned_back_stays_one() {
    let straight = image().node("Conv", &["x", "w"], "y", &[]);
    let turned = image()
        .node("Transpose", &["x"], "a", TO_LAST)
        .node("Transpose", &["a"], "b", TO_FIRST)
        .node("Conv", &["b", "w"], "y", &[]);
    assert_eq!(kinds(&turned), kinds(&straight));
    assert_same_times(&turned, &straight);
}

/// TFLite has no operator for it, and it works in any order of dimensions.
#[test]
fn an_error_function_between_convolutions_moves_nothing() {
    let file = image()
        .node("Conv", &["x", "w"], "a", &[])
        .node("Erf", &["a"], "b", &[])
        .node("Conv", &["b", "w"], "y", &[]);
    assert_eq!(kinds(&file), ["CONV_2D", "ONNX:Erf", "CONV_2D"]);
}

/// Floats of phones are of float16, whatever the file calls them.
#[test]
fn types_at_the_ends_take_no_time() {
    let plain = image().node("Conv", &["x", "w"], "y", &[]);
    let halves = vec![0; 2 * 32 * 32 * 3 * 3];
    let cast = image()
        .constant("h", 10, &[32, 32, 3, 3], halves)
        .node("Cast", &["x"], "a", FLOAT16)
        .node("Conv", &["a", "h"], "b", &[])
        .node("Cast", &["b"], "y", FLOAT32);
    assert_same_times(&cast, &plain);
}

/// Its five operators take the time of one, which reads and writes each value once.
#[test]
fn a_mish_of_several_operators_is_one() {
    let of_one = image().node("Erf", &["x"], "y", &[]);
    let mish = image().node("Mish", &["x"], "y", &[]);
    assert_eq!(kinds(&mish), ["EXP", "ADD", "LOG", "TANH", "MUL"]);
    let [mish, of_one] = [&mish, &of_one].map(latencies);
    for ((target, mish), (_, of_one)) in mish.iter().zip(&of_one).take(26) {
        let (Some(mish), Some(of_one)) = (mish, of_one) else {
            continue;
        };
        assert!(*mish < 1.5 * of_one, "{target}: {mish} and {of_one}");
    }
}

/// ONNX Runtime's optimisers put the projections of queries, keys and values into one matrix of weights.
#[test]
fn an_attention_is_the_operators_that_it_was_made_of() {
    let tokens = || File::default().input("x", &[1, 196, 192].map(Size::Of));
    let mut nodes = tokens()
        .integers("split", &[1, 196, 3, 64])
        .integers("joined", &[1, 196, 192])
        .number("scale", 0.125);
    for (name, perm) in [
        ("q", [0, 2, 1, 3]),
        ("k", [0, 2, 3, 1]),
        ("v", [0, 2, 1, 3]),
    ] {
        let [of, bias, projected, sum, split] =
            ["w", "b", "p", "s", "h"].map(|part| format!("{name}{part}"));
        nodes = (nodes.weights(&of, &[192, 192]).weights(&bias, &[192]))
            .node("MatMul", &["x", &of], &projected, &[])
            .node("Add", &[&projected, &bias], &sum, &[])
            .node("Reshape", &[&sum, "split"], &split, &[])
            .node("Transpose", &[&split], name, &[("perm", &perm)]);
    }
    let nodes = nodes
        .node("MatMul", &["q", "k"], "scores", &[])
        .node("Mul", &["scores", "scale"], "scaled", &[])
        .node("Softmax", &["scaled"], "shares", &[("axis", &[-1])])
        .node("MatMul", &["shares", "v"], "mixed", &[])
        .node(
            "Transpose",
            &["mixed"],
            "turned",
            &[("perm", &[0, 2, 1, 3])],
        )
        .node("Reshape", &["turned", "joined"], "y", &[]);
    let whole = tokens().weights("w", &[192, 576]).weights("b", &[576]);
    let heads: &[(&str, &[i64])] = &[("num_heads", &[3]), ("qkv_hidden_sizes", &[192; 3])];
    let whole = whole
        .node("Attention", &["x", "w", "b"], "y", heads)
        .domain("com.microsoft");
    let counts = |file: &File| {
        let mut kinds = kinds(file);
        kinds.sort();
        kinds
    };
    assert_eq!(counts(&whole), counts(&nodes));
    assert_same_times(&whole, &nodes);
}
