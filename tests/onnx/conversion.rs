//! The TFLite operators that ONNX nodes become.

use litecast::formats::onnx::limits::MAX_BODY_DEPTH;
use litecast::formats::onnx::{self, Dimensions};
use litecast::formats::tflite::{Folded, OpKind};
use litecast::graph::{as_int8, build};
use litecast::targets::gpu::kernels::{Kind, kernels};
use litecast::{ModelFile, estimate};
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::{AttributeProto, SparseTensorProto};

use super::file::{BOOL, File, INT8, Size};
use super::{check, classifier, operators, read};

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

/// TensorFlow 2.21's converter writes `x / 4.0` as `MUL` where it quantises, and `x / y` as `DIV`. Compilers that read the file
/// itself have a quotient.
#[test]
fn quotients_by_constants_are_products_of_integers() {
    let file = File::default()
        .image([1, 4, 4, 4])
        .number("four", 4.0)
        .node("Div", &["x", "four"], "a", &[])
        .node("Sqrt", &["a"], "b", &[])
        .node("Div", &["a", "b"], "y", &[])
        .output("y");
    let mut network = read(&file);
    let kinds = |network: &_| -> Vec<String> {
        operators(network)
            .into_iter()
            .map(|(kind, _)| kind)
            .collect()
    };
    assert_eq!(kinds(&network), ["DIV", "SQRT", "DIV"]);
    let replaced = as_int8::convert(&mut network);
    assert_eq!(kinds(&network), ["MUL", "SQRT", "DIV"]);
    replaced.restore(&mut network);
    assert_eq!(kinds(&network), ["DIV", "SQRT", "DIV"]);
}

/// As Keras's converter writes them: the row becomes an image and back, and the convolution has bias and activation.
#[test]
fn what_follows_a_convolution_of_rows_is_fused_with_it() {
    let file = File::default()
        .input("x", &[1, 8, 64].map(Size::Of))
        .weights("w", &[16, 8, 3])
        .weights("scale", &[16])
        .node("Conv", &["x", "w"], "a", &[])
        .node(
            "BatchNormalization",
            &["a", "scale", "scale", "scale", "scale"],
            "b",
            &[],
        )
        .node("Relu", &["b"], "y", &[])
        .output("y");
    check(
        &file,
        &[
            ("RESHAPE", &[1, 1, 64, 8]),
            ("CONV_2D", &[1, 1, 62, 16]),
            ("RESHAPE", &[1, 62, 16]),
        ],
    );
}

/// `...` stands for the dimensions that no letter names, and a result that is not told has every label that occurs once.
#[test]
fn norms_are_sums_of_products() {
    let norm = |op_type: &str| {
        File::default()
            .input("x", &[2, 8].map(Size::Of))
            .node(op_type, &["x"], "y", &[("axes", &[1]), ("keepdims", &[0])])
            .output("y")
    };
    let (all, one): (&[i32], &[i32]) = (&[2, 8], &[2]);
    check(
        &norm("ReduceL2"),
        &[("MUL", all), ("SUM", one), ("SQRT", one)],
    );
    check(&norm("ReduceSumSquare"), &[("MUL", all), ("SUM", one)]);
    check(&norm("ReduceL1"), &[("ABS", all), ("SUM", one)]);
    check(&norm("ReduceLogSum"), &[("SUM", one), ("LOG", one)]);
    check(
        &norm("ReduceLogSumExp"),
        &[("EXP", all), ("SUM", one), ("LOG", one)],
    );
}

#[test]
fn activations_without_an_operator_are_their_formulas() {
    for (op_type, expected) in [
        ("Softplus", ["EXP", "ADD", "LOG"].as_slice()),
        ("Mish", &["EXP", "ADD", "LOG", "TANH", "MUL"]),
        ("Swish", &["LOGISTIC", "MUL"]),
        ("Softsign", &["ABS", "ADD", "DIV"]),
        ("HardSigmoid", &["ADD", "MUL"]),
        ("Reciprocal", &["DIV"]),
    ] {
        let file = File::default()
            .image([1, 4, 8, 8])
            .node(op_type, &["x"], "y", &[])
            .output("y");
        let shape: &[i32] = &[1, 4, 8, 8];
        let expected: Vec<(&str, &[i32])> = expected.iter().map(|&kind| (kind, shape)).collect();
        check(&file, &expected);
    }
}

/// Exporters that write type-independent functions cast constants to the type of a value, and read its shape.
#[test]
fn reading_a_type_or_a_shape_reads_no_values() {
    let file = File::default()
        .image([1, 4, 8, 8])
        .weights("w", &[4, 4, 1, 1])
        .constant_node("one", 1.0)
        .node("Conv", &["x", "w"], "a", &[])
        .node("CastLike", &["one", "a"], "as_a", &[])
        .node("Shape", &["a"], "sides", &[])
        .node("Expand", &["as_a", "sides"], "ones", &[])
        .node("Relu", &["a"], "b", &[])
        .node("CastLike", &["b", "x"], "y", &[])
        .output("y");
    check(&file, &[("CONV_2D", &[1, 8, 8, 4])]);
    let other = File::default()
        .input("x", &[1, 4].map(Size::Of))
        .constant("like", INT8, &[1], vec![0])
        .node("CastLike", &["x", "like"], "y", &[])
        .output("y");
    check(&other, &[("CAST", &[1, 4])]);
}

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

#[test]
fn operators_that_tflite_does_not_have_keep_their_names() {
    let file = File::default()
        .image([1, 3, 8, 8])
        .node("Celu", &["x"], "y", &[])
        .output("y");
    check(&file, &[("ONNX:Celu", &[1, 3, 8, 8])]);
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
    assert_eq!(model.subgraphs[0].operators[0].folded[..], [scale]);
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

/// A body of an `If`, which reads the graph's input. The weights of both bodies of a test have one name.
fn convolution_of(units: i64) -> File {
    let output = format!("of_{units}");
    File::default()
        .weights("w", &[units, 4, 1, 1])
        .node("Conv", &["x", "w"], &output, &[])
        .result(&output)
}

#[test]
fn an_if_is_the_body_that_its_condition_chooses() {
    for (condition, units) in [(1, 8), (0, 16)] {
        let file = File::default()
            .image([1, 4, 6, 6])
            .constant("condition", BOOL, &[], vec![condition])
            .branches("condition", [convolution_of(8), convolution_of(16)], "y")
            .node("Relu", &["y"], "z", &[])
            .output("z");
        check(&file, &[("CONV_2D", &[1, 6, 6, units])]);
    }
}

/// The condition is an input. The second body is the larger one, and the condition of its own `If` is a constant.
#[test]
fn of_an_if_with_an_unknown_condition_the_larger_body_counts() {
    let second = File::default()
        .constant("inner", BOOL, &[], vec![1])
        .branches("inner", [convolution_of(32), convolution_of(64)], "of_both")
        .result("of_both");
    let file = File::default()
        .image([1, 4, 6, 6])
        .input("condition", &[])
        .branches("condition", [convolution_of(8), second], "y")
        .output("y");
    check(&file, &[("CONV_2D", &[1, 6, 6, 32])]);
    let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
    assert_eq!(report.model.macs, 6 * 6 * 4 * 32);
    let has = |code: &str| (report.diagnostics.iter()).any(|one| one.diagnostic.code == code);
    assert!(has("costlier-branch-counted"), "{:?}", report.diagnostics);
}

/// What a body defines has its name there alone, also where the other body or another `If` has the same.
#[test]
fn bodies_may_give_the_same_names() {
    let convolution = |units| {
        File::default()
            .weights("w", &[units, 4, 1, 1])
            .node("Conv", &["x", "w"], "inside", &[])
            .node("Relu", &["inside"], "y", &[])
            .result("y")
    };
    let nested = File::default()
        .branches("condition", [convolution(32), convolution(64)], "inside")
        .result("inside");
    let file = File::default()
        .image([1, 4, 6, 6])
        .input("condition", &[])
        .branches("condition", [convolution(8), convolution(16)], "first")
        .branches("condition", [convolution(8), nested], "second")
        .node("Concat", &["first", "second"], "y", &[("axis", &[1])])
        .output("y");
    check(
        &file,
        &[
            ("CONV_2D", &[1, 6, 6, 16]),
            ("CONV_2D", &[1, 6, 6, 64]),
            ("CONCATENATION", &[1, 6, 6, 80]),
        ],
    );
}

/// As ONNX Runtime makes them when it loads the file.
#[test]
fn sparse_weights_count_as_dense_ones() {
    let mut file =
        File::default()
            .input("x", &[1, 32].map(Size::Of))
            .node("MatMul", &["x", "w"], "y", &[]);
    let values = File::default().weights("w", &[2]).0.initializer;
    let indices = File::default().integers("", &[3, 200]).0.initializer;
    file.0.sparse_initializer.push(SparseTensorProto {
        values: values.into_iter().next(),
        indices: indices.into_iter().next(),
        dims: vec![32, 8],
    });
    let report = estimate(ModelFile::new("net.onnx", &file.output("y")), None).unwrap();
    let model = &report.model;
    assert_eq!((model.macs, model.parameters), (32 * 8, 32 * 8));
}

/// Whichever body runs, what computes the condition runs before it.
#[test]
fn what_computes_the_condition_of_an_if_counts() {
    let file = File::default()
        .image([1, 4, 6, 6])
        .weights("of_condition", &[1, 4, 6, 6])
        .node("Conv", &["x", "of_condition"], "score", &[])
        .node("Sigmoid", &["score"], "condition", &[])
        .branches("condition", [convolution_of(8), convolution_of(16)], "y")
        .output("y");
    let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
    assert_eq!(report.model.macs, 6 * 6 * 4 + 6 * 6 * 4 * 16);
}

/// Beyond the limit an `If` keeps its name.
#[test]
fn bodies_in_bodies_are_read_to_a_depth() {
    let nested = |depth: usize| {
        let wrapped = |body: File, level: usize| {
            let (condition, output) = (format!("condition{level}"), format!("y{level}"));
            File::default()
                .constant(&condition, BOOL, &[], vec![1])
                .branches(&condition, [body, convolution_of(4)], &output)
                .result(&output)
        };
        let body = (1..depth).fold(convolution_of(8), wrapped);
        File::default()
            .image([1, 4, 6, 6])
            .constant("condition", BOOL, &[], vec![1])
            .branches("condition", [body, convolution_of(4)], "y")
            .output("y")
    };
    let kinds = |depth| {
        let actual = operators(&read(&nested(depth)));
        actual.into_iter().map(|(kind, _)| kind).collect::<Vec<_>>()
    };
    assert_eq!(kinds(MAX_BODY_DEPTH), ["CONV_2D"]);
    assert_eq!(kinds(100), ["ONNX:If"]);
}

/// Backwards from the last value to the first, as exporters write a flip.
#[test]
fn a_slice_that_goes_backwards_has_all_values() {
    let file = File::default()
        .input("x", &[Size::Of(4), Size::Of(9)])
        .integers("starts", &[-1])
        .integers("ends", &[i64::MIN])
        .integers("axes", &[1])
        .integers("steps", &[-1])
        .node("Slice", &["x", "starts", "ends", "axes", "steps"], "y", &[])
        .output("y");
    check(&file, &[("STRIDED_SLICE", &[4, 9])]);
    let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
    let codes = report.diagnostics.iter().map(|one| one.diagnostic.code);
    let codes: Vec<&str> = codes.collect();
    assert!(!codes.contains(&"contradicting-shapes"), "{codes:?}");
}

/// The only operand with the rank of the result is a constant, whose dimension of 1 stays then.
#[test]
fn a_constant_keeps_the_dimensions_that_no_other_operand_has() {
    let file = File::default()
        .input("x", &[Size::Of(4)])
        .weights("one", &[1])
        .node("ReduceMax", &["x"], "largest", &[("keepdims", &[0])])
        .node("Add", &["largest", "one"], "y", &[])
        .output("y");
    check(&file, &[("REDUCE_MAX", &[]), ("ADD", &[1])]);
    let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
    let codes = report.diagnostics.iter().map(|one| one.diagnostic.code);
    assert!(codes.into_iter().all(|code| code != "contradicting-shapes"));
}

/// Where a converter folds the scale of scores into the weights before it, a GPU runs it in place: product, scale and
/// softmax, and the search for what a softmax belongs to ends.
#[test]
fn a_folded_scale_before_a_softmax_is_a_kernel_of_its_own_on_gpus() {
    let file = File::default()
        .input("x", &[Size::Of(8), Size::Of(32)])
        .weights("w", &[32, 16])
        .weights("half", &[])
        .node("MatMul", &["x", "w"], "scores", &[])
        .node("Mul", &["scores", "half"], "scaled", &[])
        .node("Softmax", &["scaled"], "y", &[("axis", &[-1])])
        .output("y");
    let model = read(&file);
    let kernels = kernels(&build(&model, 0).unwrap());
    let kinds: Vec<Kind> = kernels.iter().map(|kernel| kernel.kind).collect();
    assert_eq!(kinds, [Kind::Dense, Kind::Scale, Kind::Softmax]);
}

/// PyTorch's exporter writes an `Identity` for each layer that shares weights with another.
#[test]
fn shared_weights_count_once() {
    let file = File::default()
        .input("x", &[Size::Of(2), Size::Of(64)])
        .weights("w", &[64, 64])
        .node("Identity", &["w"], "same", &[])
        .node("MatMul", &["x", "w"], "first", &[])
        .node("Relu", &["first"], "between", &[])
        .node("MatMul", &["between", "same"], "y", &[])
        .output("y");
    let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
    assert_eq!(report.model.parameters, 64 * 64);
    assert_eq!(report.model.macs, 2 * 2 * 64 * 64);
}

/// What a dynamic quantisation of ONNX Runtime makes of an LSTM: both matrices transposed, of 8 bits.
#[test]
fn a_dynamically_quantised_lstm_is_an_lstm() {
    let bytes = |n: usize| vec![1; n];
    let file = File::default()
        .input("x", &[Size::Of(7), Size::Of(1), Size::Of(16)])
        .constant("w", INT8, &[1, 16, 128], bytes(16 * 128))
        .constant("r", INT8, &[1, 32, 128], bytes(32 * 128))
        .node("DynamicQuantizeLSTM", &["x", "w", "r"], "y", &[])
        .domain("com.microsoft")
        .output("y");
    check(&file, &[("ONNX:LSTM", &[7, 1, 1, 32])]);
    let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
    assert_eq!(report.model.macs, 7 * 128 * (16 + 32));
}

/// The same name stands for the batch where a state has it behind its layers.
#[test]
fn the_batch_of_one_input_is_that_of_all() {
    let file = File::default()
        .input("x", &[Size::Named("batch"), Size::Of(8)])
        .input("state", &[Size::Of(2), Size::Named("batch"), Size::Of(8)])
        .node("Add", &["x", "state"], "y", &[])
        .output("y");
    check(&file, &[("ADD", &[2, 1, 8])]);
    let by_number = [("1.1".to_owned(), 1), ("0.0".to_owned(), 5)];
    let dimensions = Dimensions {
        batch: 1,
        named: &by_number,
    };
    let model = onnx::parse(&file, &dimensions).unwrap();
    assert_eq!(model.subgraphs[0].tensors[0].shape, [5, 8]);
}
