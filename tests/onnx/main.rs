//! ONNX files: what becomes of their operators, which sizes have to be told, and what is refused.
#![cfg(not(target_arch = "wasm32"))]

mod contradictions;
mod file;

use std::fs;

use litecast::formats::max_operators;
use litecast::formats::onnx::{self, Dimensions};
use litecast::formats::tflite::{Folded, Model, OpKind};
use litecast::report::Report;
use litecast::{Metric, ModelFile, Outcome, Predictor, estimate};
use litecast_needs::shared;
use prost::Message;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_shape_proto::dimension;
use tract_onnx::pb::type_proto::Value;
use tract_onnx::pb::{AttributeProto, ModelProto};

use file::{FLOAT, File, INT8, INT64, Size};

const ALONE: Dimensions = Dimensions {
    batch: 1,
    named: &[],
};

fn read(file: &[u8]) -> Model<'_> {
    onnx::parse(file, &ALONE).unwrap_or_else(|error| panic!("{error}"))
}

/// Kinds of operators, each with the shape of what it writes.
fn operators(model: &Model) -> Vec<(String, Vec<i32>)> {
    let subgraph = &model.subgraphs[0];
    let of = |operator: &litecast::formats::tflite::Operator| {
        let output = &subgraph.tensors[operator.outputs[0]];
        (operator.code.name().to_owned(), output.shape.clone())
    };
    subgraph.operators.iter().map(of).collect()
}

fn check(file: &[u8], expected: &[(&str, &[i32])]) {
    let found = operators(&read(file));
    let found: Vec<(&str, &[i32])> = found
        .iter()
        .map(|(kind, shape)| (kind.as_str(), shape.as_slice()))
        .collect();
    assert_eq!(found, expected);
}

/// A small classifier as exporters write it.
fn classifier() -> Vec<u8> {
    File::default()
        .image([1, 3, 32, 32])
        .weights("w0", &[8, 3, 3, 3])
        .weights("scale", &[8])
        .weights("bias", &[8])
        .weights("w1", &[8, 1, 3, 3])
        .weights("w2", &[10, 8])
        .weights("b2", &[10])
        .node(
            "Conv",
            &["x", "w0"],
            "a",
            &[
                ("strides", &[2, 2]),
                ("pads", &[0, 0, 1, 1]),
                ("kernel_shape", &[3, 3]),
            ],
        )
        .node(
            "BatchNormalization",
            &["a", "scale", "bias", "scale", "bias"],
            "b",
            &[],
        )
        .node("Relu", &["b"], "c", &[])
        .node(
            "Conv",
            &["c", "w1"],
            "d",
            &[("group", &[8]), ("pads", &[1, 1, 1, 1])],
        )
        .node("GlobalAveragePool", &["d"], "e", &[])
        .node("Flatten", &["e"], "f", &[])
        .node("Gemm", &["f", "w2", "b2"], "y", &[("transB", &[1])])
        .output("y")
}

#[test]
fn a_classifier_becomes_what_a_converter_makes_of_it() {
    check(
        &classifier(),
        &[
            ("CONV_2D", &[1, 16, 16, 8]),
            ("DEPTHWISE_CONV_2D", &[1, 16, 16, 8]),
            ("MEAN", &[1, 8]),
            ("FULLY_CONNECTED", &[1, 10]),
        ],
    );
    let file = classifier();
    let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
    assert_eq!(report.model.macs, 16 * 16 * 8 * 27 + 16 * 16 * 8 * 9 + 80);
    let attributes = serde_json::to_value(&report.operators[0].attributes).unwrap();
    assert_eq!(
        (&attributes["padding"], &attributes["activation"]),
        (&"SAME".into(), &"RELU".into())
    );
    assert_eq!(
        report.operators[0].inputs.len(),
        3,
        "the batch normalisation's bias"
    );
}

#[test]
fn paddings_that_tflite_has_no_word_for_are_operators() {
    let file = File::default()
        .image([1, 3, 32, 32])
        .weights("w", &[8, 3, 3, 3])
        .node(
            "Conv",
            &["x", "w"],
            "y",
            &[("strides", &[2, 2]), ("pads", &[1, 1, 1, 1])],
        )
        .output("y");
    check(
        &file,
        &[("PAD", &[1, 33, 33, 3]), ("CONV_2D", &[1, 16, 16, 8])],
    );
}

#[test]
fn transposes_are_carried_out_only_where_values_have_to_move() {
    // To tokens and a matrix product over channels: the image lies right already.
    let file = File::default()
        .image([1, 8, 4, 4])
        .weights("w", &[8, 8, 1, 1])
        .weights("v", &[8, 5])
        .integers("shape", &[1, 8, 16])
        .node("Conv", &["x", "w"], "a", &[])
        .node("Reshape", &["a", "shape"], "b", &[])
        .node("Transpose", &["b"], "c", &[("perm", &[0, 2, 1])])
        .node("MatMul", &["c", "v"], "y", &[])
        .output("y");
    check(
        &file,
        &[
            ("CONV_2D", &[1, 4, 4, 8]),
            ("RESHAPE", &[1, 16, 8]),
            ("FULLY_CONNECTED", &[1, 16, 5]),
        ],
    );
    // Flattened in ONNX's order, values move.
    let file = File::default()
        .image([1, 8, 4, 4])
        .weights("w", &[8, 8, 1, 1])
        .node("Conv", &["x", "w"], "a", &[])
        .node("Flatten", &["a"], "y", &[])
        .output("y");
    check(
        &file,
        &[
            ("CONV_2D", &[1, 4, 4, 8]),
            ("TRANSPOSE", &[1, 8, 4, 4]),
            ("RESHAPE", &[1, 128]),
        ],
    );
}

#[test]
fn activations_of_several_nodes_are_one_operator() {
    let file = File::default()
        .image([1, 4, 4, 4])
        .number("root", std::f32::consts::SQRT_2)
        .number("one", 1.0)
        .number("half", 0.5)
        .node("Div", &["x", "root"], "a", &[])
        .node("Erf", &["a"], "b", &[])
        .node("Add", &["b", "one"], "c", &[])
        .node("Mul", &["x", "c"], "d", &[])
        .node("Mul", &["d", "half"], "e", &[])
        .node("HardSigmoid", &["e"], "f", &[])
        .node("Mul", &["e", "f"], "y", &[])
        .output("y");
    check(
        &file,
        &[("GELU", &[1, 4, 4, 4]), ("HARD_SWISH", &[1, 4, 4, 4])],
    );
}

/// `...` stands for the dimensions that no letter names, and a result that is not told has every label that occurs once.
#[test]
fn einsum_counts_every_product() {
    let einsum = |equation: &str| {
        let mut file = File::default()
            .input("x", &[2, 3, 5, 7].map(Size::Of))
            .weights("w", &[7, 11])
            .node("Einsum", &["x", "w"], "y", &[]);
        file.0.node[0].attribute.push(AttributeProto {
            name: "equation".into(),
            s: equation.into(),
            r#type: AttributeType::String.into(),
            ..AttributeProto::default()
        });
        estimate(ModelFile::new("net.onnx", &file.output("y")), None).unwrap()
    };
    let named = [
        "abcd,de->abce",
        "...d,de->...e",
        "abcd,de",
        "a...d,de->a...e",
        "... d, d e",
    ];
    for equation in named {
        let report = einsum(equation);
        assert_eq!(report.model.macs, 2 * 3 * 5 * 7 * 11, "{equation}");
        assert!(
            report
                .diagnostics
                .iter()
                .all(|d| d.diagnostic.code != "unknown-shape"),
            "{equation}"
        );
    }
    // One label for two dimensions of other sizes is none of ONNX's equations: what it costs is not told.
    assert_eq!(einsum("abc,de->abe").model.macs, 0);
}

#[test]
fn shapes_that_are_computed_are_known() {
    let file = File::default()
        .input("x", &[Size::Named("batch"), Size::Of(6), Size::Of(8)])
        .integers("zero", &[0])
        .integers("rest", &[-1, 4])
        .weights("v", &[4, 3])
        .node("Shape", &["x"], "shape", &[])
        .node("Gather", &["shape", "zero"], "n", &[("axis", &[0])])
        .node("Concat", &["n", "rest"], "to", &[("axis", &[0])])
        .node("Reshape", &["x", "to"], "a", &[])
        .node("MatMul", &["a", "v"], "y", &[])
        .output("y");
    let model = onnx::parse(
        &file,
        &Dimensions {
            batch: 2,
            named: &[],
        },
    )
    .unwrap();
    assert_eq!(
        operators(&model),
        [
            ("RESHAPE".to_owned(), vec![2, 12, 4]),
            ("FULLY_CONNECTED".to_owned(), vec![2, 12, 3])
        ]
    );
}

/// Exporters compute `SAME` padding from the input's shape, in floats and with a bound at 0 alone. By hand:
/// `max((ceil(33 / 2) − 1) × 2 + 3 − 33, 0)` is 2, `max((ceil(32 / 2) − 1) × 2 + 1 − 32, 0)` is 0 rather than −1.
#[test]
fn paddings_that_are_computed_are_known() {
    let file = |side: i64, window: i64| {
        File::default()
            .image([1, 4, side, side])
            .weights("w", &[8, 4, window, window])
            .integers("row", &[2])
            .constant("ends", FLOAT, &[2], vec![0; 8])
            .number("one", 1.0)
            .number("two", 2.0)
            .number("least", 0.0)
            .number("window", window as f32)
            .node("Shape", &["x"], "shape", &[])
            .node("Gather", &["shape", "row"], "size", &[("axis", &[0])])
            .node("Cast", &["size"], "side", &[("to", &[FLOAT.into()])])
            .node("Div", &["side", "two"], "steps", &[])
            .node("Ceil", &["steps"], "outputs", &[])
            .node("Sub", &["outputs", "one"], "gaps", &[])
            .node("Mul", &["gaps", "two"], "reach", &[])
            .node("Add", &["reach", "window"], "needed", &[])
            .node("Sub", &["needed", "side"], "missing", &[])
            .node("Clip", &["missing", "least", ""], "added", &[])
            .node("Div", &["added", "two"], "half", &[])
            .node("Floor", &["half"], "before", &[])
            .node("Sub", &["added", "before"], "behind", &[])
            .node(
                "Concat",
                &["ends", "before", "before", "ends", "behind", "behind"],
                "sizes",
                &[("axis", &[0])],
            )
            .node("Cast", &["sizes"], "pads", &[("to", &[INT64.into()])])
            .node("Pad", &["x", "pads"], "padded", &[])
            .node("Conv", &["padded", "w"], "y", &[("strides", &[2, 2])])
            .output("y")
    };
    for (side, window, outputs) in [(33, 3, 17), (32, 1, 16)] {
        let file = file(side, window);
        let found = operators(&read(&file));
        let expected = ("CONV_2D".to_owned(), vec![1, outputs, outputs, 8]);
        assert_eq!(found.last(), Some(&expected), "{found:?}");
        assert!(
            found
                .iter()
                .all(|(kind, _)| ["PAD", "CONV_2D"].contains(&kind.as_str())),
            "{found:?}"
        );
    }
}

/// Detectors scale their image by the shorter and the longer side: 30 and 40 become 60 and 70.
#[test]
fn sizes_of_the_shorter_and_longer_side_are_known() {
    let file = File::default()
        .image([1, 3, 30, 40])
        .integers("sides", &[2, 3])
        .integers("ends", &[1, 3])
        .node("Shape", &["x"], "shape", &[])
        .node("Gather", &["shape", "sides"], "size", &[("axis", &[0])])
        .node("ReduceMin", &["size"], "least", &[("keepdims", &[1])])
        .node("ReduceMax", &["size"], "most", &[("keepdims", &[1])])
        .node("Add", &["least", "least"], "height", &[])
        .node("Add", &["least", "most"], "width", &[])
        .node(
            "Concat",
            &["ends", "height", "width"],
            "to",
            &[("axis", &[0])],
        )
        .node("Resize", &["x", "", "", "to"], "y", &[])
        .output("y");
    check(&file, &[("RESIZE_NEAREST_NEIGHBOR", &[1, 60, 70, 3])]);
}

#[test]
fn open_dimensions_are_asked_for_by_name() {
    let file = File::default()
        .input(
            "x",
            &[Size::Named("batch"), Size::Named("sequence"), Size::Of(8)],
        )
        .weights("v", &[8, 3])
        .node("MatMul", &["x", "v"], "y", &[])
        .output("y");
    let error = onnx::parse(&file, &ALONE).unwrap_err();
    assert_eq!(error.kind(), "unknown-dimension");
    assert!(
        error.to_string().contains("sequence") && !error.to_string().contains("batch"),
        "{error}"
    );
    let named = [("sequence".to_owned(), 128)];
    let file = ModelFile {
        dimensions: &named,
        ..ModelFile::new("net.onnx", &file)
    };
    let report = estimate(file, None).unwrap();
    assert_eq!(report.model.macs, 128 * 8 * 3);
    assert!(
        report
            .diagnostics
            .iter()
            .any(|doubt| doubt.diagnostic.code == "dynamic-batch")
    );
}

#[test]
fn quantised_networks_have_tensors_of_eight_bits() {
    let file = File::default()
        .image([1, 3, 8, 8])
        .number("scale", 0.5)
        .constant("zero", INT8, &[], vec![0])
        .constant("w", INT8, &[4, 3, 1, 1], (0..12).collect())
        .node("QuantizeLinear", &["x", "scale", "zero"], "q", &[])
        .node("DequantizeLinear", &["q", "scale", "zero"], "d", &[])
        .node("DequantizeLinear", &["w", "scale", "zero"], "v", &[])
        .node("Conv", &["d", "v"], "a", &[])
        .node("Relu", &["a"], "b", &[])
        .node("QuantizeLinear", &["b", "scale", "zero"], "c", &[])
        .node("DequantizeLinear", &["c", "scale", "zero"], "y", &[])
        .output("y");
    check(
        &file,
        &[
            ("QUANTIZE", &[1, 8, 8, 3]),
            ("CONV_2D", &[1, 8, 8, 4]),
            ("DEQUANTIZE", &[1, 8, 8, 4]),
        ],
    );
    let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
    let precision = serde_json::to_value(report.model.precision).unwrap();
    assert_eq!((report.model.weight_bytes, precision), (12, "int8".into()));
}

fn latencies(report: &Report) -> Vec<(&str, bool)> {
    let results = report
        .results
        .iter()
        .filter(|result| result.metric == Metric::Latency);
    results
        .map(|result| {
            (
                result.target.as_str(),
                matches!(result.outcome, Outcome::Estimate { .. }),
            )
        })
        .collect()
}

#[test]
fn processors_run_the_floats_and_npus_the_converted_network() {
    let predictor = Predictor::shipped().unwrap();
    let file = classifier();
    let report = estimate(ModelFile::new("net.onnx", &file), Some(&predictor)).unwrap();
    let latencies = latencies(&report);
    println!("{latencies:?}");
    assert!(latencies.iter().filter(|(_, has_one)| *has_one).count() > 5);
    assert!(
        latencies.contains(&("ethos-u55-256", true))
            && latencies.contains(&("cortex-a76-rpi5", true))
    );
    let note = report
        .diagnostics
        .iter()
        .find(|doubt| doubt.diagnostic.code == "as-int8-tflite")
        .unwrap();
    let is_named = |id: &str| {
        (
            note.targets.iter().any(|target| target == id),
            note.diagnostic.message.contains(id),
        )
    };
    assert_eq!(is_named("ethos-u55-256"), (true, true), "{note:?}");
    assert_eq!(is_named("cortex-a76-rpi5"), (false, false), "{note:?}");
}

#[test]
fn operators_that_tflite_does_not_have_keep_their_names() {
    let file = File::default()
        .image([1, 3, 8, 8])
        .node("Mish", &["x"], "y", &[])
        .output("y");
    check(&file, &[("ONNX:Mish", &[1, 3, 8, 8])]);
}

#[test]
fn contradictions_are_refused_with_their_place() {
    let undefined = File::default()
        .image([1, 3, 8, 8])
        .node("Relu", &["z"], "y", &[])
        .output("y");
    let error = onnx::parse(&undefined, &ALONE).unwrap_err();
    assert_eq!(
        (error.kind(), error.to_string().contains("node 0 (Relu)")),
        ("undefined-value", true)
    );
    let twice = File::default()
        .image([1, 3, 8, 8])
        .node("Relu", &["x"], "x", &[])
        .output("x");
    assert_eq!(
        onnx::parse(&twice, &ALONE).unwrap_err().kind(),
        "duplicate-value"
    );
    let large = File::default()
        .image([1 << 30; 4])
        .node("Relu", &["x"], "y", &[])
        .output("y");
    assert_eq!(
        onnx::parse(&large, &ALONE).unwrap_err().kind(),
        "shape-overflow"
    );
    assert_eq!(onnx::parse(&[8, 8], &ALONE).unwrap_err().kind(), "no-graph");
}

#[test]
fn ranks_beyond_the_limit_are_told() {
    let refusal = |file: Vec<u8>| {
        let error = onnx::parse(&file, &ALONE).unwrap_err();
        assert_eq!(error.kind(), "limit-exceeded");
        error.to_string()
    };
    let ones = || (0..33).map(|_| Size::Of(1)).collect::<Vec<_>>();
    let input = File::default().input("x", &ones()).output("x");
    assert_eq!(
        refusal(input),
        "input `x`: expected at most 32 dimensions, found 33"
    );
    let mut described = File::default().image([1, 3, 8, 8]);
    let file = File::default().input("v", &ones());
    described.0.value_info = file.0.input;
    assert_eq!(
        refusal(described.output("x")),
        "value info `v`: expected at most 32 dimensions, found 33"
    );
    let initializer = File::default()
        .image([1, 3, 8, 8])
        .weights("w", &[1; 400])
        .output("x");
    assert_eq!(
        refusal(initializer),
        "initializer 0: expected at most 32 dimensions, found 400"
    );
}

#[test]
fn constants_that_are_computed_have_no_rank_beyond_the_limit() {
    let many: Vec<i64> = (0..20).collect();
    for (op_type, operands) in [
        ("Unsqueeze", ["known", "many"]),
        ("Unsqueeze", ["long", "many"]),
        ("Reshape", ["known", "ones"]),
        ("Expand", ["known", "ones"]),
        ("ConstantOfShape", ["ones", ""]),
    ] {
        let mut file = File::default()
            .image([1, 3, 8, 8])
            .number("known", 1.0)
            .weights("long", &[300])
            .integers("many", &many)
            .integers("ones", &[1; 40]);
        let mut from = operands[0].to_owned();
        for turn in 0..4 {
            let to = format!("v{turn}");
            let second = Some(operands[1]).filter(|name| !name.is_empty());
            let operands: Vec<&str> = [from.as_str()].into_iter().chain(second).collect();
            file = file.node(op_type, &operands, &to, &[]);
            from = to;
        }
        let file = file.node("Relu", &["x"], "y", &[]).output(&from);
        let model = read(&file);
        let tensors = &model.subgraphs[0].tensors;
        assert!(
            tensors.iter().all(|tensor| tensor.shape.len() <= 32),
            "{op_type}"
        );
        let found: Vec<String> = operators(&model)
            .into_iter()
            .map(|(name, _)| name)
            .collect();
        assert!(
            found.contains(&format!("ONNX:{op_type}")) || op_type == "ConstantOfShape",
            "{found:?}"
        );
    }
}

/// The long dimensions of tensors without values are not walked along.
#[test]
fn constants_without_values_are_not_cut() {
    let file = File::default()
        .image([1, 3, 8, 8])
        .constant("empty", INT64, &[0, 0x7fff_ffff], Vec::new())
        .integers("zero", &[0])
        .integers("one", &[1])
        .integers("end", &[1 << 40])
        .integers("sizes", &[0, 0x7fff_ffff])
        .node("ConstantOfShape", &["sizes"], "computed", &[])
        .node("Gather", &["empty", "zero"], "a", &[("axis", &[1])])
        .node("Gather", &["computed", "zero"], "b", &[("axis", &[1])])
        .node("Slice", &["empty", "zero", "end", "one"], "c", &[])
        .node("Transpose", &["empty"], "d", &[("perm", &[1, 0])])
        .constant("nothing", INT64, &[0], Vec::new())
        .node(
            "Reshape",
            &["nothing"],
            "renamed",
            &[("shape", &[0, 0x7fff_ffff])],
        )
        .node("Gather", &["renamed", "zero"], "e", &[("axis", &[1])])
        .node("Relu", &["x"], "y", &[])
        .output("y");
    check(&file, &[("RELU", &[1, 3, 8, 8])]);
}

#[test]
fn cuts_along_an_axis_twice_are_not_carried_out() {
    for axes in [&[0i64, 0][..], &[0, -1], &[0; 256]] {
        let n = axes.len();
        let file = File::default()
            .image([1, 3, 8, 8])
            .integers("list", &[1, 3, 8, 8])
            .integers("starts", &vec![0; n])
            .integers("ends", &vec![1; n])
            .integers("axes", axes)
            .node("Slice", &["list", "starts", "ends", "axes"], "y", &[])
            .output("y");
        check(&file, &[("ONNX:Slice", &[])]);
    }
}

#[test]
fn bounds_that_constant_nodes_hold_are_known() {
    let file = File::default()
        .image([1, 3, 8, 8])
        .number("three", 3.0)
        .constant_node("none", 0.0)
        .constant_node("six", 6.0)
        .node("Add", &["x", "three"], "sum", &[])
        .node("Clip", &["sum", "none", "six"], "gate", &[])
        .node("Mul", &["x", "gate"], "product", &[])
        .node("Div", &["product", "six"], "y", &[])
        .output("y");
    check(&file, &[("HARD_SWISH", &[1, 3, 8, 8])]);
}

/// Layers' scales become part of the weights, as in a converted network; that they were there is kept for those who run
/// the network as it was.
#[test]
fn scales_that_become_weights_are_told() {
    let file = File::default()
        .image([1, 3, 8, 8])
        .weights("w", &[4, 3, 1, 1])
        .weights("bias", &[4, 1, 1])
        .weights("scale", &[4, 1, 1])
        .node("Conv", &["x", "w"], "product", &[])
        .node("Add", &["product", "bias"], "sum", &[])
        .node("Mul", &["sum", "scale"], "y", &[])
        .output("y");
    check(&file, &[("CONV_2D", &[1, 8, 8, 4])]);
    let model = read(&file);
    let scale = Folded {
        kind: OpKind::Mul,
        is_scalar: false,
    };
    assert_eq!(model.subgraphs[0].operators[0].folded, [scale]);
}

/// A length that is kept from being 0 is not a ReLU.
#[test]
fn small_bounds_are_no_relu() {
    let file = File::default()
        .image([1, 3, 8, 8])
        .number("least", 1e-12)
        .node("Clip", &["x", "least"], "y", &[])
        .output("y");
    check(&file, &[("MAXIMUM", &[1, 3, 8, 8])]);
}

/// NASNet shifts its maps by a padding below 0: a row and a column go, others come.
#[test]
fn paddings_below_0_cut() {
    let file = File::default()
        .image([1, 3, 9, 9])
        .weights("w", &[4, 3, 1, 1])
        .integers("pads", &[0, 0, -1, -1, 0, 0, 1, 1])
        .node("Pad", &["x", "pads"], "shifted", &[])
        .node("Conv", &["shifted", "w"], "y", &[])
        .output("y");
    let expected: &[(&str, &[i32])] = &[
        ("STRIDED_SLICE", &[1, 8, 8, 3]),
        ("PAD", &[1, 9, 9, 3]),
        ("CONV_2D", &[1, 9, 9, 4]),
    ];
    check(&file, expected);
}

/// Queries of a detector are computed from its weights: what is cut from them is a constant too.
#[test]
fn parts_of_constants_are_constants() {
    let file = File::default()
        .image([1, 3, 8, 8])
        .weights("w", &[3, 1, 2])
        .node("Sigmoid", &["w"], "computed", &[])
        .node("Split", &["computed"], "scale", &[("axis", &[2])]);
    let mut file = file;
    file.0.node[1].output.push("shift".into());
    let file = file
        .node("Mul", &["x", "scale"], "scaled", &[])
        .node("Add", &["scaled", "shift"], "y", &[])
        .output("y");
    let found = operators(&read(&file));
    let kinds: Vec<&str> = found.iter().map(|(kind, _)| kind.as_str()).collect();
    assert_eq!(kinds, ["MUL", "ADD"]);
}

/// A node that reads a name many times is looked at once.
#[test]
fn images_are_found_behind_nodes_with_many_operands() {
    const N: usize = 150;
    let mut file = File::default()
        .image([1, 3, 8, 8])
        .weights("w", &[4, 1, 3, 3])
        .node("Split", &["x"; N], "part0", &[("axis", &[1])]);
    let outputs = &mut file.0.node[0].output;
    outputs.extend((1..N).map(|at| format!("part{at}")));
    for at in 0..N {
        let name = if at == 0 { "Conv" } else { "Sigmoid" };
        let part = format!("part{at}");
        let operands = [part.as_str(), "w"];
        let operands = if at == 0 {
            &operands[..]
        } else {
            &operands[..1]
        };
        file = file.node(name, operands, &format!("result{at}"), &[]);
    }
    let file = file.output("x");
    let model = read(&file);
    let input = model.subgraphs[0].inputs[0];
    assert_eq!(model.subgraphs[0].tensors[input].shape, [1, 8, 8, 3]);
}

#[test]
fn sums_of_constants_are_constants() {
    let constants = vec!["c"; 4000];
    let file = File::default()
        .image([1, 3, 8, 8])
        .weights("c", &[8])
        .node("Sum", &constants, "sum", &[])
        .node("Max", &constants, "largest", &[])
        .node("Sum", &["x", "sum", "largest"], "y", &[])
        .output("y");
    check(&file, &[("ADD", &[1, 3, 8, 8]), ("ADD", &[1, 3, 8, 8])]);
}

/// A node of forty bytes becomes nine operators, and a result of a node takes five: the size of the file decides how
/// many there may be.
#[test]
fn short_files_become_no_large_networks() {
    let image = || File::default().image([1, 3, 8, 8]);
    let normalisations = |n: usize| {
        let mut file = image().weights("scale", &[8]).weights("bias", &[8]);
        let mut from = "x".to_owned();
        for at in 0..n {
            let to = format!("n{at}");
            file = file.node("LayerNormalization", &[&from, "scale", "bias"], &to, &[]);
            from = to;
        }
        file.output(&from)
    };
    let results = |op_type: &str| {
        let mut file = image();
        for _ in 0..8 {
            file = file.node(op_type, &["x"], "", &[]);
        }
        for node in &mut file.0.node {
            node.output = vec![String::new(); 4000];
        }
        file.output("x")
    };
    assert_eq!(operators(&read(&normalisations(1500))).len(), 13_500);
    for file in [normalisations(3000), results("Split"), results("Einsum")] {
        let limit = max_operators(file.len());
        let error = onnx::parse(&file, &ALONE).unwrap_err();
        let found = "results of operators after the conversion, found more";
        assert_eq!(
            (error.kind(), error.to_string()),
            (
                "limit-exceeded",
                format!("graph: expected at most {limit} {found}")
            )
        );
    }
}

/// Every prefix, and every byte changed: a model or an error with a kind, and never a panic.
#[test]
fn damaged_files_are_read_or_refused() {
    let file = classifier();
    let (mut n_read, mut n_refused) = (0, 0);
    let mut try_to_read = |bytes: &[u8]| match onnx::parse(bytes, &ALONE) {
        Ok(_) => n_read += 1,
        Err(error) => {
            assert!(
                !error.kind().is_empty() && !error.to_string().ends_with('.'),
                "{error}"
            );
            n_refused += 1;
        }
    };
    for end in 0..file.len() {
        try_to_read(&file[..end]);
    }
    for at in (0..file.len()).step_by(3) {
        for change in [0x01, 0x80, 0xff] {
            let mut damaged = file.clone();
            damaged[at] ^= change;
            try_to_read(&damaged);
        }
    }
    println!("{n_read} read, {n_refused} refused");
    assert!(n_read > 100 && n_refused > 100);
}

/// Nodes, names, shapes and attributes against the types that prost generates.
#[test]
fn the_shipped_predictor_is_read_as_prost_reads_it() {
    let file = fs::read("bundle/predictor.onnx").unwrap();
    let theirs = ModelProto::decode(&file[..]).unwrap().graph.unwrap();
    let error = onnx::parse(&file, &ALONE).err();
    let names: Vec<(String, u32)> = ["nodes", "edges", "graphs"]
        .iter()
        .map(|name| ((*name).to_owned(), 4))
        .collect();
    println!(
        "{} nodes, {} initializers; {error:?}",
        theirs.node.len(),
        theirs.initializer.len()
    );
    let open = theirs.input.iter().flat_map(|input| {
        let Some(Value::TensorType(of_type)) =
            input.r#type.as_ref().and_then(|of| of.value.as_ref())
        else {
            panic!("a tensor")
        };
        of_type
            .shape
            .as_ref()
            .unwrap()
            .dim
            .iter()
            .filter_map(|dim| match &dim.value {
                Some(dimension::Value::DimParam(name)) => Some((name.clone(), 4)),
                _ => None,
            })
    });
    let named: Vec<(String, u32)> = open.chain(names).collect();
    let model = onnx::parse(
        &file,
        &Dimensions {
            batch: 4,
            named: &named,
        },
    )
    .unwrap();
    assert!(!model.subgraphs[0].operators.is_empty());
    let written: Vec<&String> = theirs.output.iter().map(|output| &output.name).collect();
    let outputs = model.subgraphs[0]
        .outputs
        .iter()
        .map(|&t| &model.subgraphs[0].tensors[t].name);
    assert_eq!(outputs.collect::<Vec<_>>(), written);
}

#[test]
fn shared_files_are_read() {
    let Some(folder) = shared("models-mcu") else {
        return;
    };
    let mut n_files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "onnx")
        {
            let file = fs::read(&path).unwrap();
            let report = estimate(ModelFile::new("net.onnx", &file), None);
            let report = report.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let names: Vec<&str> = report
                .operators
                .iter()
                .map(|operator| &*operator.name)
                .collect();
            println!("{}: {names:?}", path.display());
            n_files += 1;
        }
    }
    println!("{n_files} files");
}
