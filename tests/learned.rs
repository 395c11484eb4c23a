//! Phones and NPU boards: amounts of work by hand, and what an estimate says and refuses.

use litecast::estimate::{ModelFile, estimate_on};
use litecast::formats::graph_json;
use litecast::graph::{analysis::analyze, build};
use litecast::report::Report;
use litecast::target::TargetOption;
use litecast::targets::choice::{Choice, ChoiceError};
use litecast::targets::learned_accelerators::devices::{DEVICES, Runtime};
use litecast::targets::learned_accelerators::work::{
    BEYOND, ENDS, Group, NAMES, ONCE, OPERATORS, VALUES, WEIGHTS, WINDOWS, network_work,
};
use litecast::targets::{Outcome, Target, known};
use serde_json::{Value, json};

const CONVOLUTION: [&str; 2] = ["x", "y"];

fn tensor(name: &str, shape: &[u32], kind: &str, is_constant: bool) -> Value {
    json!({"name": name, "shape": shape, "type": kind, "constant": is_constant})
}

fn graph([input, output]: [&str; 2], tensors: Value, operators: Value) -> String {
    json!({
        "format": "litecast-graph", "version": 1, "name": "test", "inputs": [input], "outputs": [output],
        "tensors": tensors, "operators": operators,
    })
    .to_string()
}

/// A convolution of 3 × 3 with stride 2, and what follows it.
fn convolution(kind: &str, after: Value, shape_after: &[u32]) -> String {
    let bias = if kind == "float32" { kind } else { "int32" };
    let tensors = json!([
        tensor("x", &[1, 32, 32, 3], kind, false),
        tensor("w", &[16, 3, 3, 3], kind, true),
        tensor("b", &[16], bias, true),
        tensor("c", &[1, 16, 16, 16], kind, false),
        tensor("y", shape_after, kind, false),
    ]);
    let first = json!({
        "kind": "CONV_2D", "inputs": ["x", "w", "b"], "outputs": ["c"],
        "attributes": {"stride": [2, 2], "padding": "SAME"},
    });
    graph(CONVOLUTION, tensors, json!([first, after]))
}

fn relu() -> Value {
    json!({"kind": "RELU", "inputs": ["c"], "outputs": ["y"]})
}

fn pooling(kind: &str, filter: u32, stride: u32) -> Value {
    json!({
        "kind": kind, "inputs": ["c"], "outputs": ["y"],
        "attributes": {"filter": [filter, filter], "stride": [stride, stride], "padding": "SAME"},
    })
}

fn report(text: &str, target: &str) -> Report {
    let choice = Choice {
        target: Some(target.to_owned()),
        ..Choice::default()
    };
    let file = ModelFile::new("test.json", text.as_bytes());
    let mut reports = estimate_on(&[file], None, &[choice.target().unwrap()]).unwrap();
    reports.remove(0).unwrap()
}

fn report_beside(text: &str, target: &str, [on, ms]: [&str; 2]) -> Report {
    let json =
        json!({"target": target, "measured_on": on, "measured_ms": ms.parse::<f64>().unwrap()});
    let choice: Choice = serde_json::from_value(json).unwrap();
    let file = ModelFile::new("test.json", text.as_bytes());
    let mut reports = estimate_on(&[file], None, &[choice.target().unwrap()]).unwrap();
    reports.remove(0).unwrap()
}

/// Value and both ends.
fn latency(report: &Report) -> [f64; 3] {
    match &report.results[0].outcome {
        Outcome::Estimate { value, lo, hi, .. } => [*value, lo.unwrap(), hi.unwrap()],
        Outcome::Unavailable { .. } => panic!("{}", words(report)),
    }
}

fn words(report: &Report) -> String {
    match &report.results[0].outcome {
        Outcome::Estimate { provenance, .. } => provenance.configuration.clone(),
        Outcome::Unavailable {
            unavailable,
            reason,
        } => format!("{reason}: {unavailable}"),
    }
}

/// By hand: 16 × 16 × 16 × 27 multiplications, with 3 channels rounded up to 16 and 16 to 32; images with 32 channels.
#[test]
fn amounts_are_those_by_hand() {
    let text = convolution("float32", pooling("MAX_POOL_2D", 2, 2), &[1, 8, 8, 16]);
    let model = graph_json::parse(text.as_bytes()).unwrap();
    let graph = build(&model, 0).unwrap();
    let work = network_work(&graph, &analyze(&graph));
    assert_eq!(work.nodes[0].group, Group::Window);
    let amounts = work.amounts(Runtime::Qnn);
    let at = |name: &str| NAMES.iter().position(|known| *known == name).unwrap();
    assert_eq!(
        [
            at("weights"),
            at("values-multiplied"),
            at("windows"),
            at("values-beyond"),
            at("values-ends"),
            at("n-multiplied"),
            at("once")
        ],
        [WEIGHTS, VALUES, WINDOWS, BEYOND, ENDS, OPERATORS, ONCE]
    );
    for (name, expected) in [
        ("macs-window", 110_592.0 * 16.0 / 3.0 * 2.0 / 1e6),
        ("weights", 448.0 / 1e6),
        ("weights-convolution", 448.0 / 1e6),
        (
            "values-multiplied",
            (32.0 * 32.0 + 16.0 * 16.0) * 32.0 / 1e6,
        ),
        ("values-strided", (32.0 * 32.0 + 16.0 * 16.0) * 32.0 / 1e6),
        ("values-pooling", (16.0 * 16.0 + 8.0 * 8.0) * 32.0 / 1e6),
        ("windows", 8.0 * 8.0 * 32.0 * 4.0 / 1e6),
        ("values-ends", (32.0 * 32.0 + 8.0 * 8.0) * 32.0 / 1e6),
        ("n-multiplied", 1.0),
        ("n-pooling", 1.0),
        ("once", 1.0),
    ] {
        let value = amounts[at(name)];
        assert!(
            (value - expected).abs() < 1e-9,
            "{name}: {value}, expected {expected}"
        );
    }
    let n_others = amounts.iter().filter(|amount| **amount != 0.0).count();
    assert_eq!(n_others, 11, "{amounts:?}");
}

/// By hand: an image of 8 × 8 × 32 becomes a sequence, which moves; two heads of it are a product of 2 matrices, which
/// transposes what it reads, and what is transposed behind it is written as any shape.
#[test]
fn attention_moves_its_values_once() {
    let shapes: [&[u32]; 9] = [
        &[1, 8, 8, 32],
        &[1, 64, 32],
        &[1, 64, 2, 16],
        &[1, 2, 64, 16],
        &[1, 2, 16, 64],
        &[1, 2, 64, 64],
        &[1, 64, 2, 64],
        &[1, 64, 128],
        &[1, 64, 128],
    ];
    let name = |idx: usize| format!("t{idx}");
    let tensors = shapes.iter().enumerate();
    let mut tensors: Vec<Value> = tensors
        .map(|(idx, shape)| tensor(&name(idx), shape, "float32", false))
        .collect();
    tensors.push(tensor("order", &[4], "int32", true));
    let operator = |kind: &str, inputs: &[usize], output: usize, order: &[&str]| {
        let inputs = inputs.iter().map(|&idx| name(idx));
        let inputs: Vec<String> = inputs
            .chain(order.iter().map(ToString::to_string))
            .collect();
        json!({"kind": kind, "inputs": inputs, "outputs": [name(output)]})
    };
    let operators = json!([
        operator("RESHAPE", &[0], 1, &[]),
        operator("RESHAPE", &[1], 2, &[]),
        operator("TRANSPOSE", &[2], 3, &["order"]),
        operator("TRANSPOSE", &[2], 4, &["order"]),
        operator("BATCH_MATMUL", &[3, 4], 5, &[]),
        operator("TRANSPOSE", &[5], 6, &["order"]),
        operator("RESHAPE", &[6], 7, &[]),
        operator("LOGISTIC", &[7], 8, &[]),
    ]);
    let text = graph(["t0", "t8"], json!(tensors), operators);
    let model = graph_json::parse(text.as_bytes()).unwrap();
    let graph = build(&model, 0).unwrap();
    let work = network_work(&graph, &analyze(&graph));
    let groups: Vec<Group> = work.nodes.iter().map(|work| work.group).collect();
    assert_eq!(
        groups,
        [
            Group::Layout,
            Group::Reshape,
            Group::Fused,
            Group::Fused,
            Group::Product,
            Group::Layout,
            Group::Fused,
            Group::Curve,
        ]
    );
    let amounts = work.amounts(Runtime::Qnn);
    let at = |name: &str| amounts[NAMES.iter().position(|known| *known == name).unwrap()];
    for (name, expected) in [
        ("values-flattened", 2.0 * 2048.0 / 1e6),
        ("values-layout", (2.0 * 2048.0 + 2.0 * 8192.0) / 1e6),
        ("values-reshape", 2.0 * 2048.0 / 1e6),
        ("n-matrices", 2.0),
        ("weights-convolution", 0.0),
        ("values-strided", 0.0),
    ] {
        let difference = (at(name) - expected).abs();
        assert!(
            difference < 1e-9,
            "{name}: {}, expected {expected}",
            at(name)
        );
    }
}

/// By hand: the logistic function of what a convolution writes is its activation, both times each other are a gate, and a hard
/// swish after it is a curve of no convolution. What a gate reads of two images is one. A sequence of 8 × 40 values is read and
/// written as one of 8 × 64; what is done to it runs beside the rest on Hexagon, and counts 0.4 times there.
#[test]
fn activations_and_gates_are_told_from_other_work() {
    let image: &[u32] = &[1, 16, 16, 16];
    let sequence: &[u32] = &[1, 8, 40];
    let mut tensors = vec![
        tensor("x", &[1, 16, 16, 8], "float32", false),
        tensor("w", &[16, 1, 1, 8], "float32", true),
        tensor("b", &[16], "float32", true),
    ];
    tensors.extend(["c", "l", "m", "y"].map(|name| tensor(name, image, "float32", false)));
    tensors.extend(["s", "z"].map(|name| tensor(name, sequence, "float32", false)));
    let one = |kind: &str, inputs: &[&str], output: &str| json!({"kind": kind, "inputs": inputs, "outputs": [output]});
    let operators = json!([
        one("CONV_2D", &["x", "w", "b"], "c"),
        one("LOGISTIC", &["c"], "l"),
        one("MUL", &["c", "l"], "m"),
        one("HARD_SWISH", &["m"], "y"),
        one("TANH", &["s"], "z"),
    ]);
    let text = json!({
        "format": "litecast-graph", "version": 1, "name": "test", "inputs": ["x", "s"], "outputs": ["y", "z"],
        "tensors": tensors, "operators": operators,
    });
    let model = graph_json::parse(text.to_string().as_bytes()).unwrap();
    let graph = build(&model, 0).unwrap();
    let work = network_work(&graph, &analyze(&graph));
    let groups: Vec<Group> = work.nodes.iter().map(|work| work.group).collect();
    let expected = [
        Group::Pointwise,
        Group::Activation,
        Group::Gate,
        Group::Curve,
        Group::Curve,
    ];
    assert_eq!(groups, expected);
    for (runtime, beside) in [(Runtime::Qnn, 0.4), (Runtime::TensorRt, 1.0)] {
        let amounts = work.amounts(runtime);
        let at = |name: &str| amounts[NAMES.iter().position(|known| *known == name).unwrap()];
        for (name, expected) in [
            ("values-activation", 2.0 * 8192.0 / 1e6),
            ("values-curve", (2.0 * 8192.0 + beside * 2.0 * 512.0) / 1e6),
            ("values-gate", 2.0 * 8192.0 / 1e6),
            ("values-elementwise", 0.0),
            ("n-activation", 1.0),
            ("n-gate", 1.0),
            ("n-curve", 1.0 + beside),
            ("values-ends", (2.0 * 8192.0 + 2.0 * 320.0) / 1e6),
        ] {
            let difference = (at(name) - expected).abs();
            assert!(
                difference < 1e-9,
                "{name}: {}, expected {expected}",
                at(name)
            );
        }
    }
}

/// By hand: a sum with what a convolution writes is an activation of it, which reads one image more, whose 32 channels are whole
/// blocks. A sum with a constant of 8192 values counts four times, and one with 32 values once, but for that of a normalisation of
/// batches, which its product computes. Of a sequence it counts 1.6 times, with 32 values rounded up to 64.
#[test]
fn sums_are_told_by_what_they_add() {
    let image: &[u32] = &[1, 16, 16, 32];
    let mut tensors = vec![
        tensor("w", &[32, 1, 1, 32], "float32", true),
        tensor("k", image, "float32", true),
        tensor("b", &[32], "float32", true),
    ];
    let images = ["x", "c", "r", "p", "q", "m", "n"];
    tensors.extend(images.map(|name| tensor(name, image, "float32", false)));
    tensors.extend(["s", "y"].map(|name| tensor(name, &[1, 256, 32], "float32", false)));
    let one = |kind: &str, inputs: &[&str], output: &str| json!({"kind": kind, "inputs": inputs, "outputs": [output]});
    let operators = json!([
        one("CONV_2D", &["x", "w"], "c"),
        one("ADD", &["x", "c"], "r"),
        one("ADD", &["r", "k"], "p"),
        one("ADD", &["p", "b"], "q"),
        one("MUL", &["q", "b"], "m"),
        one("ADD", &["m", "b"], "n"),
        one("RESHAPE", &["n"], "s"),
        one("ADD", &["s", "b"], "y"),
    ]);
    let model = graph_json::parse(graph(["x", "y"], json!(tensors), operators).as_bytes()).unwrap();
    let graph = build(&model, 0).unwrap();
    let work = network_work(&graph, &analyze(&graph));
    let found: Vec<(Group, f64)> = work
        .nodes
        .iter()
        .map(|work| (work.group, work.values))
        .collect();
    let values = 2.0 * 8192.0 / 1e6;
    let expected = [
        (Group::Pointwise, values),
        (Group::Activation, values / 2.0),
        (Group::Elementwise, 4.0 * values),
        (Group::Elementwise, values),
        (Group::Elementwise, values),
        (Group::Fused, 0.0),
        (Group::Layout, values),
        (Group::Elementwise, 1.6 * 2.0 * values),
    ];
    for ((group, values), (expected_group, expected)) in found.iter().zip(expected) {
        assert_eq!(*group, expected_group);
        let difference = (values - expected).abs();
        assert!(
            difference < 1e-9,
            "{group:?}: {values}, expected {expected}"
        );
    }
    assert_eq!(found.len(), expected.len());
}

/// By hand: of two branches that are added, the longer one and the sum are the longest chain, whichever is listed first.
#[test]
fn branches_run_beside_the_longest_chain() {
    let one = |kind: &str, inputs: &[&str], output: &str| json!({"kind": kind, "inputs": inputs, "outputs": [output]});
    for order in [["l", "r"], ["r", "l"]] {
        let names = ["x", "l", "r", "r2", "y"];
        let tensors = names.map(|name| tensor(name, &[1, 8, 8, 32], "float32", false));
        let [first, second] = order.map(|name| one("LOGISTIC", &["x"], name));
        let operators = json!([
            first,
            second,
            one("TANH", &["r"], "r2"),
            one("ADD", &["l", "r2"], "y"),
        ]);
        let text = graph(["x", "y"], json!(tensors), operators);
        let model = graph_json::parse(text.as_bytes()).unwrap();
        let graph = build(&model, 0).unwrap();
        let work = network_work(&graph, &analyze(&graph));
        let at = NAMES.iter().position(|name| *name == "n-curve").unwrap();
        let curves = work.nodes.iter().map(|node| {
            let mut amounts = [0.0; NAMES.len()];
            node.add_to(&mut amounts, Runtime::OnnxRuntime);
            amounts[at]
        });
        let curves: Vec<f64> = curves.collect();
        let is_left = order.map(|name| name == "l");
        let [first, second] = is_left.map(|is_left| if is_left { 0.4 } else { 1.0 });
        assert_eq!(curves, [first, second, 1.0, 0.0]);
        assert!((work.amounts(Runtime::Rknn)[at] - 3.0).abs() < 1e-9);
    }
}

/// What a compiler sees as one operator is one: as converters of PyTorch and of Keras write it, and of groups of channels.
#[test]
fn a_normalisation_in_parts_is_one() {
    let of_torch = [
        ("MEAN", "x", "m"),
        ("SUB", "x m", "d"),
        ("SQUARED_DIFFERENCE", "x m", "q"),
        ("MEAN", "q", "v"),
        ("ADD", "v number", "w"),
        ("RSQRT", "w", "r"),
        ("MUL", "d r", "n"),
        ("MUL", "n scale", "s"),
        ("ADD", "s scale", "y"),
    ];
    let of_keras = [
        ("MEAN", "x", "m"),
        ("SQUARED_DIFFERENCE", "x m", "q"),
        ("MEAN", "q", "v"),
        ("ADD", "v number", "w"),
        ("RSQRT", "w", "r"),
        ("MUL", "r scale", "scaled"),
        ("MUL", "x scaled", "s"),
        ("MUL", "m scaled", "shift"),
        ("SUB", "scale shift", "rest"),
        ("ADD", "s rest", "y"),
    ];
    let of_groups = [
        ("RESHAPE", "x", "g"),
        ("MEAN", "g", "m"),
        ("SUB", "g m", "d"),
        ("SQUARED_DIFFERENCE", "g m", "q"),
        ("MEAN", "q", "v"),
        ("ADD", "v number", "w"),
        ("SQRT", "w", "r"),
        ("DIV", "d r", "n"),
        ("RESHAPE", "n", "y"),
    ];
    let steps: [&[(&str, &str, &str)]; 3] = [&of_torch, &of_keras, &of_groups];
    for steps in steps {
        let groups = |outputs: &[&str]| -> Vec<Group> {
            let is_split = steps[0].0 == "RESHAPE";
            let shape = |name: &str| match name {
                "x" | "y" => vec![1, 49, 64],
                "number" => vec![],
                "scale" => vec![64],
                "m" | "v" | "w" | "r" if is_split => vec![1, 1, 8, 1],
                "m" | "v" | "w" | "r" => vec![1, 49, 1],
                _ if is_split => vec![1, 49, 8, 8],
                _ => vec![1, 49, 64],
            };
            let names = ["x", "number", "scale"];
            let names = names.into_iter().chain(steps.iter().map(|step| step.2));
            let is_constant = |name: &str| matches!(name, "number" | "scale");
            let tensors =
                names.map(|name| tensor(name, &shape(name), "float32", is_constant(name)));
            let operators = steps.iter().map(|(kind, inputs, output)| {
                let inputs: Vec<&str> = inputs.split(' ').collect();
                json!({"kind": kind, "inputs": inputs, "outputs": [output]})
            });
            let text = json!({
                "format": "litecast-graph", "version": 1, "inputs": ["x"], "outputs": outputs,
                "tensors": tensors.collect::<Vec<_>>(), "operators": operators.collect::<Vec<_>>(),
            });
            let text = text.to_string();
            let model = graph_json::parse(text.as_bytes()).unwrap();
            let graph = build(&model, 0).unwrap();
            let nodes = network_work(&graph, &analyze(&graph)).nodes;
            nodes.iter().map(|work| work.group).collect()
        };
        let one = groups(&["y"]);
        assert_eq!(one[0], Group::Norm, "{one:?}");
        assert!(
            one[1..].iter().all(|group| *group == Group::Fused),
            "{one:?}"
        );
        // Whoever reads the root needs it to be computed.
        assert!(!groups(&["y", "r"]).contains(&Group::Norm));
    }
}

/// By hand: 1,024 × 1,024 positions of 32 channels are read and written, 67.1 million values; the fast memory holds 6 million.
/// Where they become a sequence, they count 1.4 times.
#[test]
fn the_fast_memory_holds_values() {
    let image: &[u32] = &[1, 1024, 1024, 32];
    let sequence: &[u32] = &[1, 1024 * 1024, 32];
    for (kind, written, times) in [("LOGISTIC", image, 1.0), ("RESHAPE", sequence, 1.4)] {
        let tensors = json!([
            tensor("x", image, "float32", false),
            tensor("y", written, "float32", false)
        ]);
        let operator = json!({"kind": kind, "inputs": ["x"], "outputs": ["y"]});
        let text = graph(CONVOLUTION, tensors, json!([operator]));
        let model = graph_json::parse(text.as_bytes()).unwrap();
        let graph = build(&model, 0).unwrap();
        let work = network_work(&graph, &analyze(&graph));
        let beyond = work.amounts(Runtime::Qnn)[BEYOND];
        let expected = times * 67.108_864 - 6.0;
        assert!(
            (beyond - expected).abs() < 1e-9,
            "{kind}: {beyond}, expected {expected}"
        );
    }
}

/// By hand: sides rounded up to whole blocks, twice as many for a window with gaps; a window of a video that is one position
/// wide along time, or one in both directions of the image, is that of an image.
#[test]
fn multiplications_are_those_of_whole_blocks() {
    let same = |dilation: u32| json!({"padding": "SAME", "dilation": [dilation, dilation]});
    let image = [1, 8, 8, 32];
    let small = [1, 2, 4, 32];
    let video = [1, 4, 8, 8, 32];
    let in_image = 64.0 * 32.0 * 32.0;
    for (kind, attributes, read, weights, written, expected) in [
        (
            "CONV_2D",
            same(1),
            &image[..],
            &[32, 3, 3, 32][..],
            &image[..],
            (Group::Window, 9.0 * in_image),
        ),
        (
            "CONV_2D",
            same(2),
            &image,
            &[32, 3, 3, 32],
            &image,
            (Group::Window, 2.0 * 9.0 * in_image),
        ),
        (
            "CONV_2D",
            json!({"padding": "SAME", "dilation": [1, 2]}),
            &image,
            &[32, 1, 3, 32],
            &image,
            (Group::Window, 2.0 * 3.0 * in_image),
        ),
        (
            "CONV_2D",
            same(1),
            &image,
            &[32, 1, 1, 32],
            &image,
            (Group::Pointwise, in_image),
        ),
        (
            "CONV_2D",
            same(1),
            &small,
            &[32, 1, 1, 32],
            &small,
            (Group::Pointwise, 4.0 * 8.0 * 32.0 * 32.0),
        ),
        (
            "CONV_3D",
            json!({"padding": "SAME"}),
            &video,
            &[1, 3, 3, 32, 32],
            &video,
            (Group::Window, 4.0 * 9.0 * in_image),
        ),
        (
            "CONV_3D",
            json!({"padding": "SAME"}),
            &video,
            &[3, 1, 1, 32, 32],
            &video,
            (Group::Window, 4.0 * 3.0 * in_image),
        ),
        (
            "CONV_3D",
            json!({"padding": "SAME"}),
            &video,
            &[3, 3, 3, 32, 32],
            &video,
            (Group::Volume, 4.0 * 27.0 * in_image),
        ),
        // Three channels of a video are read as 4.
        (
            "CONV_3D",
            json!({"padding": "SAME"}),
            &[1, 4, 8, 8, 3],
            &[3, 3, 3, 3, 32],
            &video,
            (Group::Volume, 4.0 * 27.0 * in_image / 8.0),
        ),
        (
            "CONV_3D",
            json!({"padding": "SAME", "dilation": [2, 1, 1]}),
            &video,
            &[3, 3, 3, 32, 32],
            &video,
            (Group::Volume, 2.0 * 4.0 * 27.0 * in_image),
        ),
        (
            "FULLY_CONNECTED",
            json!({"keep_num_dims": true}),
            &[1, 49, 32],
            &[32, 32],
            &[1, 49, 32],
            (Group::Matrix, 64.0 * 32.0 * 32.0),
        ),
        // A sequence whose first axis is the time, as PyTorch has it, is as many vectors.
        (
            "FULLY_CONNECTED",
            json!({"keep_num_dims": true}),
            &[49, 1, 32],
            &[32, 32],
            &[49, 1, 32],
            (Group::Matrix, 64.0 * 32.0 * 32.0),
        ),
    ] {
        let tensors = json!([
            tensor("x", read, "float32", false),
            tensor("w", weights, "float32", true),
            tensor("b", &[32], "float32", true),
            tensor("y", written, "float32", false),
        ]);
        let operator = json!({"kind": kind, "inputs": ["x", "w", "b"], "outputs": ["y"], "attributes": attributes});
        let text = graph(CONVOLUTION, tensors, json!([operator]));
        let model = graph_json::parse(text.as_bytes()).unwrap();
        let graph = build(&model, 0).unwrap();
        let work = network_work(&graph, &analyze(&graph)).nodes[0];
        let difference = (work.macs - expected.1 / 1e6).abs();
        assert!(
            work.group == expected.0 && difference < 1e-9,
            "{kind} {weights:?}: {work:?}, expected {expected:?}"
        );
    }
}

/// Activations after convolutions, scalings by one number, reshapes that keep the last axis and make no image of a sequence,
/// and channels that are put together in whole blocks take no time of their own; others do.
#[test]
fn what_moves_nothing_takes_no_time() {
    use Group::{Curve, Elementwise, Fused, Layout, Reshape};
    const IMAGE: &[u32] = &[1, 8, 8, 32];
    let tensors = |read: &[u32], written: &[u32]| {
        json!([
            tensor("x", read, "float32", false),
            tensor("one", &[1], "float32", true),
            tensor("y", written, "float32", false),
        ])
    };
    let join = json!({"kind": "CONCATENATION", "inputs": ["x", "x"], "outputs": ["y"], "attributes": {"axis": 3}});
    let one =
        |kind: &str, inputs: &[&str]| json!({"kind": kind, "inputs": inputs, "outputs": ["y"]});
    for (operator, read, written, expected) in [
        (one("RELU6", &["x"]), IMAGE, IMAGE, Fused),
        (one("LEAKY_RELU", &["x"]), IMAGE, IMAGE, Fused),
        (one("MINIMUM", &["x", "one"]), IMAGE, IMAGE, Fused),
        (one("MINIMUM", &["x", "x"]), IMAGE, IMAGE, Elementwise),
        (one("MUL", &["x", "one"]), IMAGE, IMAGE, Fused),
        (one("DIV", &["x", "one"]), IMAGE, IMAGE, Fused),
        (one("DIV", &["one", "x"]), IMAGE, IMAGE, Curve),
        (one("RESHAPE", &["x"]), &[1, 64, 32], &[64, 32], Fused),
        (one("RESHAPE", &["x"]), IMAGE, &[1, 64, 32], Layout),
        (one("RESHAPE", &["x"]), IMAGE, &[1, 64, 4, 8], Reshape),
        (join.clone(), IMAGE, &[1, 8, 8, 64], Fused),
        (join, &[1, 8, 8, 24], &[1, 8, 8, 48], Layout),
    ] {
        let text = graph(CONVOLUTION, tensors(read, written), json!([operator]));
        let model = graph_json::parse(text.as_bytes()).unwrap();
        let graph = build(&model, 0).unwrap();
        let work = network_work(&graph, &analyze(&graph));
        assert_eq!(work.nodes[0].group, expected, "{operator} {read:?}");
    }
}

#[test]
fn every_device_has_a_latency_whose_parts_add_up() {
    let text = convolution("float32", relu(), &[1, 16, 16, 16]);
    let mut n = 0;
    for target in known().filter(|one| one.description().family.id == "phones-and-boards") {
        let id = target.id().to_owned();
        for way in target.description().releases {
            let report = report(&text, &format!("{id}@{way}"));
            let Outcome::Estimate {
                value,
                lo: Some(lo),
                hi: Some(hi),
                operators: Some(operators),
                ..
            } = &report.results[0].outcome
            else {
                panic!("{id}@{way}: {:?}", report.results[0].outcome);
            };
            let sum: f64 = operators.iter().sum();
            assert!(
                (sum - value).abs() < 1e-9 * value,
                "{id}@{way}: {sum}, {value}"
            );
            assert!(*lo < *value && *value < *hi && *lo > 0.0, "{id}@{way}");
            n += 1;
        }
    }
    println!("{n} ways");
    assert!(n > 20, "{n}");
}

#[test]
fn numbers_are_those_of_the_file_or_of_the_way() {
    let floats = convolution("float32", relu(), &[1, 16, 16, 16]);
    let integers = convolution("int8", relu(), &[1, 16, 16, 16]);
    for (text, target, expected) in [
        (&floats, "galaxy-s24", "float16 under LiteRT"),
        (&integers, "galaxy-s24", "w8a8"),
        (&floats, "galaxy-s24@qnn-w8a16", "w8a16"),
        (&integers, "galaxy-s24@onnxruntime", "ONNX Runtime"),
        // Floats were not measured there.
        (&floats, "rb3-gen-2", "w8a8"),
        (&floats, "rk3588", "w8a8"),
        (&integers, "rdk-x5", "D-Robotics"),
        (&floats, "jetson-orin-nano", "float16 under TensorRT"),
    ] {
        let words = words(&report(text, target));
        println!("{target}: {words}");
        assert!(words.contains(expected), "{target}: {words}");
    }
}

#[test]
fn slow_operators_are_refused_by_name() {
    for (kind, after, expected) in [
        (
            "int8",
            pooling("AVERAGE_POOL_2D", 5, 1),
            Some("AVERAGE_POOL_2D of operator 1"),
        ),
        ("float32", pooling("AVERAGE_POOL_2D", 5, 1), None),
        ("int8", pooling("AVERAGE_POOL_2D", 3, 1), None),
        (
            "float32",
            json!({"kind": "Foreign", "inputs": ["c"], "outputs": ["y"], "macs": 1000}),
            Some("Foreign of operator 1: no network with such an operator was measured"),
        ),
    ] {
        let text = convolution(kind, after, &[1, 16, 16, 16]);
        let report = report(&text, "galaxy-s24");
        let words = words(&report);
        println!("{words}");
        match expected {
            Some(expected) => assert!(words.contains(expected), "{words}"),
            None => assert!(report.results[0].outcome.is_estimate(), "{words}"),
        }
    }
}

/// A matrix product of a sequence of so many vectors.
fn sequence(kind: &str, length: u32) -> String {
    let tensors = json!([
        tensor("x", &[1, length, 64], kind, false),
        tensor("w", &[96, 64], kind, true),
        tensor("y", &[1, length, 96], kind, false),
    ]);
    let product = json!({
        "kind": "FULLY_CONNECTED", "inputs": ["x", "w"], "outputs": ["y"], "attributes": {"keep_num_dims": true},
    });
    graph(CONVOLUTION, tensors, json!([product]))
}

/// A convolution in three dimensions with windows of 2 × 4 × 4.
fn volume(strides: [u32; 3]) -> String {
    let [depth, height, width] = strides;
    let tensors = json!([
        tensor("x", &[1, 8, 16, 16, 3], "float32", false),
        tensor("w", &[2, 4, 4, 3, 32], "float32", true),
        tensor(
            "y",
            &[1, 8 / depth, 16 / height, 16 / width, 32],
            "float32",
            false
        ),
    ]);
    let convolution = json!({
        "kind": "CONV_3D", "inputs": ["x", "w"], "outputs": ["y"],
        "attributes": {"stride": strides, "padding": "SAME"},
    });
    graph(CONVOLUTION, tensors, json!([convolution]))
}

/// A softmax of the hundred channels of an image.
fn softmax(kind: &str, side: u32) -> String {
    let softmax = json!({"kind": "SOFTMAX", "inputs": ["c"], "outputs": ["y"]});
    of_channels(kind, side, 100, softmax)
}

/// Their sum.
fn sum(kind: &str, side: u32) -> String {
    let attributes = json!({"axes": [3], "keep_dims": true});
    let sum = json!({"kind": "SUM", "inputs": ["c"], "outputs": ["y"], "attributes": attributes});
    of_channels(kind, side, 1, sum)
}

/// The product of eight vectors and as many columns.
fn product_of_eight(kind: &str, n_columns: u32) -> String {
    let tensors = json!([
        tensor("x", &[1, 8, 16], kind, false),
        tensor("c", &[1, 16, n_columns], kind, false),
        tensor("y", &[1, 8, n_columns], kind, false),
    ]);
    let product = json!({"kind": "BATCH_MATMUL", "inputs": ["x", "c"], "outputs": ["y"]});
    json!({
        "format": "litecast-graph", "version": 1, "name": "test", "inputs": ["x", "c"], "outputs": ["y"],
        "tensors": tensors, "operators": [product],
    })
    .to_string()
}

/// What another operator makes of the hundred channels of an image.
fn of_channels(kind: &str, side: u32, n_written: u32, operator: Value) -> String {
    let shape = [1, side, side, 100];
    let tensors = json!([
        tensor("x", &[1, side, side, 3], kind, false),
        tensor("w", &[100, 1, 1, 3], kind, true),
        tensor("c", &shape, kind, false),
        tensor("y", &[1, side, side, n_written], kind, false),
    ]);
    let convolution = json!({
        "kind": "CONV_2D", "inputs": ["x", "w"], "outputs": ["c"],
        "attributes": {"stride": [1, 1], "padding": "SAME"},
    });
    graph(CONVOLUTION, tensors, json!([convolution, operator]))
}

/// What is slow is so in some numbers, under some runtimes, and from some size on.
#[test]
fn slow_operators_are_those_that_were_measured_as_slow() {
    let product = "FULLY_CONNECTED of operator 0";
    for (text, target, expected) in [
        (sequence("int8", 197), "galaxy-s24", Some(product)),
        (sequence("int8", 197), "galaxy-s24@qnn", Some(product)),
        (sequence("float32", 197), "galaxy-s24", None),
        (sequence("float32", 197), "galaxy-s24@qnn-w8a16", None),
        // Floats were not measured there.
        (sequence("float32", 197), "rb3-gen-2", Some(product)),
        (sequence("int8", 1), "galaxy-s24", None),
        (sequence("int8", 197), "rk3588", None),
        (
            volume([1, 2, 2]),
            "galaxy-s24",
            Some("CONV_3D of operator 0"),
        ),
        (volume([1, 2, 2]), "galaxy-s24@qnn", None),
        (volume([2, 4, 4]), "galaxy-s24", None),
        (softmax("float32", 450), "galaxy-s24", None),
        (
            softmax("float32", 450),
            "galaxy-s24@qnn",
            Some("SOFTMAX of operator 1"),
        ),
        (
            softmax("float32", 640),
            "galaxy-s24",
            Some("SOFTMAX of operator 1"),
        ),
        (softmax("int8", 640), "galaxy-s24", None),
        (sum("int8", 300), "galaxy-s24", Some("SUM of operator 1")),
        (sum("int8", 200), "galaxy-s24", None),
        (sum("float32", 300), "galaxy-s24", None),
        (
            product_of_eight("int8", 4096),
            "galaxy-s24",
            Some("BATCH_MATMUL of operator 0"),
        ),
        (product_of_eight("int8", 4096), "galaxy-s24@qnn", None),
        (product_of_eight("int8", 4095), "galaxy-s24", None),
        (product_of_eight("float32", 4096), "galaxy-s24", None),
    ] {
        let report = report(&text, target);
        let words = words(&report);
        println!("{target}: {words}");
        match expected {
            Some(expected) => assert!(words.contains(expected), "{target}: {words}"),
            None => assert!(report.results[0].outcome.is_estimate(), "{target}: {words}"),
        }
    }
}

/// What makes Hexagon slow need not make others slow.
#[test]
fn only_hexagon_refuses_its_slow_operators() {
    let text = convolution("int8", pooling("AVERAGE_POOL_2D", 5, 1), &[1, 16, 16, 16]);
    let report = report(&text, "rk3588");
    assert!(
        report.results[0].outcome.is_estimate(),
        "{}",
        words(&report)
    );
}

#[test]
fn a_name_is_that_of_one_device() {
    let mut names = std::collections::BTreeMap::new();
    for device in DEVICES {
        for name in device.aliases.iter().copied().chain([device.id]) {
            let joined = name.to_lowercase().replace(['-', '_'], " ");
            let other = names
                .insert(joined, device.id)
                .filter(|id| *id != device.id);
            assert_eq!(other, None, "{name} of {}", device.id);
        }
    }
    println!("{} names", names.len());
    assert!(names.len() > 50, "{}", names.len());
}

#[test]
fn devices_are_found_by_what_people_type() {
    let chosen = |id: &str| {
        let choice = Choice {
            target: Some(id.to_owned()),
            ..Choice::default()
        };
        choice
            .target()
            .map(|target: Box<dyn Target>| target.id().to_owned())
    };
    for (typed, expected) in [
        ("Snapdragon 8 Gen 3", "galaxy-s24"),
        ("snapdragon 8 gen 3@qnn", "galaxy-s24@qnn"),
        ("Galaxy S25", "galaxy-s25"),
        ("QCS6490", "rb3-gen-2"),
        ("Orange Pi 5", "rk3588"),
        ("rock-5b", "rk3588"),
        ("rk3566", "rk3568"),
        ("Sunrise-5", "rdk-x5"),
        ("RDK X5", "rdk-x5"),
        ("orin_nano", "jetson-orin-nano"),
        ("Jetson AGX Orin@tensorrt", "jetson-agx-orin@tensorrt"),
    ] {
        assert_eq!(chosen(typed).unwrap(), expected);
    }
    let wrong = chosen("galaxy-s24@tensorrt").unwrap_err();
    println!("{wrong}");
    assert!(matches!(wrong, ChoiceError::UnknownRelease { .. }));
    let similar = chosen("galaxy s23 ultra").unwrap_err().to_string();
    println!("{similar}");
    assert!(similar.contains("did you mean"), "{similar}");
}

/// A measurement that is twice the estimate there makes the estimate here larger by a little less, and one that is the estimate
/// narrows its interval alone.
/// The page and other programs ask for a measurement where the description says that it is worth something.
#[test]
fn a_description_says_whether_a_measurement_elsewhere_tells_anything() {
    let text = convolution("float32", relu(), &[1, 16, 16, 16]);
    for (target, on, expected) in [
        ("galaxy-s25", "galaxy-s24", true),
        ("snapdragon-x-elite", "galaxy-s24", true),
        ("jetson-orin-nano", "jetson-orin-nx", false),
    ] {
        let described = known().into_iter().find(|one| one.id() == target).unwrap();
        let options = described.description().options;
        let is_told = options.contains(&TargetOption::MeasuredElsewhere);
        let report = report_beside(&text, target, [on, "5"]);
        let mut diagnostics = report.diagnostics.iter();
        let is_unused = diagnostics.any(|one| one.diagnostic.code == "learned-measurement-unused");
        assert_eq!([is_told, !is_unused], [expected; 2], "{target}");
    }
}

#[test]
fn a_measurement_elsewhere_tells_the_time_here() {
    let text = convolution("float32", relu(), &[1, 16, 16, 16]);
    let [here, lo, hi] = latency(&report(&text, "galaxy-s25"));
    let [there, ..] = latency(&report(&text, "galaxy-s24"));
    let beside = |factor: f64, on: &str| {
        report_beside(&text, "galaxy-s25", [on, &(factor * there).to_string()])
    };
    let same = beside(1.0, "galaxy-s24");
    let [value, narrow_lo, narrow_hi] = latency(&same);
    assert!((value / here - 1.0).abs() < 1e-9, "{value}, {here}");
    assert!(narrow_hi / narrow_lo < hi / lo, "{narrow_hi}, {hi}");
    assert!(words(&same).contains("measured on Samsung Galaxy S24"));
    let settings = same.results[0].settings.as_ref().expect("settings");
    assert_eq!(settings.measured_on.as_deref(), Some("galaxy-s24"));
    assert_eq!(settings.measured_ms, Some(there));
    let [value, ..] = latency(&beside(2.0, "Snapdragon 8 Gen 3"));
    assert!(
        (value / here - 2_f64.powf(0.9)).abs() < 1e-9,
        "{value}, {here}"
    );
    let operators: f64 = match &beside(2.0, "galaxy-s24").results[0].outcome {
        Outcome::Estimate { operators, .. } => operators.as_ref().unwrap().iter().sum(),
        Outcome::Unavailable { .. } => 0.0,
    };
    assert!(
        (operators / value - 1.0).abs() < 1e-6,
        "{operators}, {value}"
    );
}

/// Other numbers, the device itself, and other makers' devices tell nothing; what was not learned takes no measurement.
#[test]
fn a_measurement_that_tells_nothing_is_said() {
    let text = convolution("float32", relu(), &[1, 16, 16, 16]);
    let [here, lo, hi] = latency(&report(&text, "galaxy-s25"));
    for on in ["galaxy-s24@qnn-w8a16", "galaxy-s25@qnn", "jetson-agx-orin"] {
        let unused = report_beside(&text, "galaxy-s25", [on, "12"]);
        assert_eq!(latency(&unused), [here, lo, hi]);
        let codes: Vec<&str> = unused
            .diagnostics
            .iter()
            .map(|one| one.diagnostic.code)
            .collect();
        assert!(codes.contains(&"learned-measurement-unused"), "{codes:?}");
    }
    let error = |json: Value| {
        let choice: Choice = serde_json::from_value(json).unwrap();
        choice.target().err().unwrap().kind()
    };
    let on = |target: &str, on: &str, ms: f64| json!({"target": target, "measured_on": on, "measured_ms": ms});
    assert_eq!(
        error(on("ethos-u55-128", "galaxy-s24", 1.0)),
        "wrong-argument"
    );
    assert_eq!(
        error(on("galaxy-s25", "galaxy-s24", -1.0)),
        "wrong-argument"
    );
    assert_eq!(
        error(on("galaxy-s25", "ethos-u55-128", 1.0)),
        "unknown-target"
    );
    assert_eq!(
        error(json!({"target": "galaxy-s25", "measured_on": "galaxy-s24"})),
        "wrong-argument"
    );
}
