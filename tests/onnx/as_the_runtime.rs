//! Files that ONNX Runtime runs although they are unusual, and what does not exist.

use litecast::formats::onnx;
use litecast::{Metric, ModelFile, Outcome, Request, estimate};

use super::file::{File, INT64, Size};
use super::{ALONE, check, latencies, operators, read};

const IMAGE: [i64; 4] = [1, 4, 8, 8];

#[test]
fn nodes_may_come_in_any_order() {
    let body = File::default()
        .input("step", &[])
        .input("goes_on", &[])
        .input("state", &[])
        .node("Relu", &["inner"], "next", &[])
        .node("Add", &["state", "b"], "inner", &[])
        .result("goes_on")
        .result("next");
    let file = File::default()
        .image(IMAGE)
        .weights("w", &[4, 4, 1, 1])
        .constant("two", INT64, &[], 2i64.to_le_bytes().to_vec())
        .node("Sigmoid", &["last"], "y", &[])
        .repeated("Loop", &["two", "", "a"], body, &["last"], &[])
        .node("Exp", &["a"], "b", &[])
        .node("Conv", &["x", "w"], "a", &[])
        .output("y");
    let kinds: Vec<String> = (operators(&read(&file)).into_iter())
        .map(|(kind, _)| kind)
        .collect();
    let expected = ["CONV_2D", "EXP", "ADD", "RELU", "ADD", "RELU", "LOGISTIC"];
    let fused = ["CONV_2D", "EXP", "ADD", "ADD", "LOGISTIC"];
    assert!(kinds == expected || kinds == fused, "{kinds:?}");
}

#[test]
fn nodes_in_a_circle_are_refused() {
    let file = File::default()
        .image(IMAGE)
        .node("Add", &["x", "b"], "a", &[])
        .node("Relu", &["a"], "b", &[])
        .output("b");
    let error = onnx::parse(&file, &ALONE).unwrap_err();
    assert_eq!(error.kind(), "undefined-value");
}

/// The cache of a decoder before its first token.
#[test]
fn a_dimension_may_be_0() {
    let file = |past: Size| {
        File::default()
            .input("past", &[Size::Of(1), Size::Of(4), past, Size::Of(16)])
            .input("k", &[1, 4, 1, 16].map(Size::Of))
            .node("Concat", &["past", "k"], "all", &[("axis", &[2])])
            .node("MatMul", &["k", "all"], "unused", &[])
            .node("Relu", &["all"], "y", &[])
            .output("y")
    };
    let kinds = |file: &[u8], named: &[(String, u32)]| {
        let dimensions = onnx::Dimensions { batch: 1, named };
        let model = onnx::parse(file, &dimensions).unwrap();
        let file = ModelFile {
            request: Request {
                dimensions: named,
                ..Request::default()
            },
            ..ModelFile::new("net.onnx", file)
        };
        let report = estimate(file, None);
        assert_eq!(report.unwrap().model.macs, 0);
        operators(&model)
    };
    let expected = kinds(&file(Size::Of(0)), &[]);
    assert_eq!(expected.last().unwrap().1, [1, 4, 1, 16]);
    let named = [("past.2".to_owned(), 0)];
    assert_eq!(kinds(&file(Size::Named("length")), &named), expected);
}

/// ONNX Runtime: 32 parameters of the convolution; what is filled or joined has none of its own.
#[test]
fn what_a_file_only_says_how_to_fill_has_no_parameters() {
    let file = File::default()
        .image(IMAGE)
        .weights("w", &[8, 4, 1, 1])
        .integers("shape", &[1, 32, 8, 8])
        .node("ConstantOfShape", &["shape"], "zeros", &[])
        .node("Conv", &["x", "w"], "a", &[])
        .node("Concat", &["a", "zeros"], "y", &[("axis", &[1])])
        .output("y");
    let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
    assert_eq!(report.model.parameters, 32);
    // A token that is learned is one, however it is widened; the shape is none.
    let file = File::default()
        .input("x", &[2, 3, 64].map(Size::Of))
        .weights("token", &[1, 1, 64])
        .integers("shape", &[2, 6, 64])
        .node("Expand", &["token", "shape"], "tokens", &[])
        .node("Concat", &["tokens", "x"], "y", &[("axis", &[1])])
        .output("y");
    let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
    assert_eq!(report.model.parameters, 64);
}

#[test]
fn computed_bounds_scales_and_slopes_are_operands() {
    let clip = File::default()
        .image(IMAGE)
        .input("high", &[])
        .number("low", 0.0)
        .node("Clip", &["x", "low", "high"], "y", &[])
        .output("y");
    check(
        &clip,
        &[("MAXIMUM", &[1, 4, 8, 8]), ("MINIMUM", &[1, 4, 8, 8])],
    );
    let clip = File::default()
        .image(IMAGE)
        .input("high", &[])
        .node("Clip", &["x", "", "high"], "y", &[])
        .output("y");
    check(&clip, &[("MINIMUM", &[1, 4, 8, 8])]);
    let image: &[i32] = &[1, 8, 8, 4];
    let norm = File::default()
        .image(IMAGE)
        .input("scale", &[Size::Of(4)])
        .weights("w", &[4, 4, 1, 1])
        .weights("b", &[4])
        .node("Conv", &["x", "w"], "a", &[])
        .node(
            "BatchNormalization",
            &["a", "scale", "b", "b", "b"],
            "y",
            &[],
        )
        .output("y");
    let kinds = operators(&read(&norm));
    let count = |kind: &str| {
        kinds
            .iter()
            .find(|(other, _)| other == kind)
            .map(|(_, shape)| shape.as_slice())
    };
    assert_eq!(
        (count("CONV_2D"), count("MUL"), count("ADD")),
        (Some(image), Some(image), Some(image)),
        "{kinds:?}"
    );
    let slopes = File::default()
        .image(IMAGE)
        .input("slope", &[4, 1, 1].map(Size::Of))
        .weights("w", &[4, 4, 1, 1])
        .node("Conv", &["x", "w"], "a", &[])
        .node("PRelu", &["a", "slope"], "y", &[])
        .output("y");
    let kinds = operators(&read(&slopes));
    assert_eq!(
        kinds.last().unwrap(),
        &("PRELU".to_owned(), image.to_vec()),
        "{kinds:?}"
    );
    let layer = File::default()
        .input("x", &[1, 6, 16].map(Size::Of))
        .input("scale", &[Size::Of(16)])
        .node("LayerNormalization", &["x", "scale"], "y", &[])
        .output("y");
    let kinds = operators(&read(&layer));
    assert!(
        kinds.iter().all(|(kind, _)| !kind.starts_with("ONNX:")),
        "{kinds:?}"
    );
}

/// The bodies have equally many bytes, and read weights of the graph.
#[test]
fn of_two_bodies_the_one_with_more_weights_counts() {
    let body = |weights: &str, output: &str| {
        File::default()
            .node("MatMul", &["x", weights], output, &[])
            .result(output)
    };
    for (sides, macs) in [(["few", "all"], 64 * 128), (["all", "few"], 64 * 128)] {
        let [first, second] = sides;
        let file = File::default()
            .input("x", &[1, 64].map(Size::Of))
            .input("holds", &[])
            .weights("few", &[64, 8])
            .weights("all", &[64, 128])
            .branches("holds", [body(first, "a"), body(second, "b")], "y")
            .output("y");
        let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
        assert_eq!(report.model.macs, macs, "{sides:?}");
    }
}

#[test]
fn opsets_that_do_not_exist_are_refused() {
    let opset = |version: i64| {
        let file = File::default().image(IMAGE).node("Relu", &["x"], "y", &[]);
        let mut file = file.output("y");
        // The last field of the file is the version of the only opset.
        let at = file.iter().rposition(|&byte| byte == 17).unwrap();
        let mut rest = file.split_off(at);
        rest.remove(0);
        let mut version = version.cast_unsigned();
        let mut bytes = Vec::new();
        while version >= 0x80 {
            bytes.push(version.to_le_bytes()[0] | 0x80);
            version >>= 7;
        }
        bytes.push(version.to_le_bytes()[0]);
        let length = file
            .last_mut()
            .map(|_| ())
            .and(file.iter().rposition(|&byte| byte == 0x10));
        let length = length.unwrap() - 1;
        file[length] = u8::try_from(1 + bytes.len()).unwrap();
        [file, bytes, rest].concat()
    };
    let parsed = |version| onnx::parse(&opset(version), &ALONE);
    for version in [-5, 0, 51, 999, 1 << 62] {
        assert_eq!(
            parsed(version).unwrap_err().kind(),
            "unsupported-opset",
            "{version}"
        );
    }
    for version in [7, 28] {
        assert!(parsed(version).unwrap().diagnostics.is_empty(), "{version}");
    }
    assert_eq!(parsed(29).unwrap().diagnostics[0].code, "newer-opset");
}

/// Of several versions of ONNX's operator set, under either of its names, the last one holds: ONNX Runtime 1.31 takes a
/// softmax from opset 13 on along one axis, and before that along all from there on, and follows the last in each of these.
#[test]
fn the_last_version_of_an_operator_set_holds() {
    let file = || {
        let file = File::default().input("x", &[2, 3, 4, 5].map(Size::Of));
        file.node("Softmax", &["x"], "y", &[("axis", &[1])])
            .output("y")
    };
    let import = |domain: &str, version: u8| {
        let n_bytes = u8::try_from(domain.len()).unwrap();
        let head = [0x42, n_bytes + 4, 0x0a, n_bytes];
        [&head, domain.as_bytes(), &[0x10, version]].concat()
    };
    let with = |imports: &[(&str, u8)]| {
        let imports = imports.iter();
        let imports = imports.flat_map(|(domain, version)| import(domain, *version));
        onnx::parse(
            &file().into_iter().chain(imports).collect::<Vec<_>>(),
            &ALONE,
        )
    };
    let kinds = |imports: &[(&str, u8)]| operators(&with(imports).unwrap());
    let (along_one, along_all) = (kinds(&[]), kinds(&[("", 11)]));
    assert_ne!(along_one, along_all);
    for [first, second] in [["", ""], ["", "ai.onnx"], ["ai.onnx", ""], ["ai.onnx"; 2]] {
        assert_eq!(
            kinds(&[(first, 13), (second, 11)]),
            along_all,
            "{first:?}, {second:?}"
        );
        assert_eq!(
            kinds(&[(first, 11), (second, 13)]),
            along_one,
            "{first:?}, {second:?}"
        );
        let beyond = with(&[(first, 13), (second, 99)]);
        assert_eq!(beyond.unwrap_err().kind(), "unsupported-opset");
    }
    // Those of others are theirs.
    assert_eq!(
        kinds(&[("com.microsoft", 1), ("com.microsoft", 2)]),
        along_one
    );
    // ONNX Runtime 1.31 refuses newer versions of domains that it knows, and takes any of another one.
    let doubted = |domain, version| !with(&[(domain, version)]).unwrap().diagnostics.is_empty();
    for (domain, last) in [("ai.onnx.ml", 5), ("com.microsoft", 1)] {
        assert!(
            !doubted(domain, last) && doubted(domain, last + 1),
            "{domain}"
        );
        assert!(doubted(domain, 0), "{domain}");
    }
    assert!(!doubted("mine", 99));
}

/// Trees, and what was compiled for an accelerator: no processor's latency is that of nothing.
#[test]
fn unknown_work_has_no_estimate() {
    let nodes = [
        ("ai.onnx.ml", "TreeEnsembleRegressor"),
        ("com.microsoft", "EPContext"),
        ("vendor.npu", "Program"),
    ];
    for (domain, op_type) in nodes {
        let file = File::default()
            .input("x", &[1, 16].map(Size::Of))
            .node(op_type, &["x"], "y", &[])
            .domain(domain)
            .output("y");
        let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
        let latencies = latencies(&report);
        let with_value: Vec<_> = latencies.iter().filter(|(_, has_one)| *has_one).collect();
        assert!(with_value.is_empty(), "{op_type}: {with_value:?}");
    }
    let behind_a_convolution = |op_type: &str, domain: &str, words: &[i64]| {
        let file = File::default()
            .image(IMAGE)
            .weights("w", &[4, 4, 1, 1])
            .node("Conv", &["x", "w"], "a", &[])
            .node(op_type, &["a"], "y", &[("words", words)])
            .domain(domain)
            .output("y");
        estimate(ModelFile::new("net.onnx", &file), None).unwrap()
    };
    let n_latencies = |report: &_| latencies(report).iter().filter(|(_, has)| *has).count();
    // A detail of a network: accelerators are estimated without it, and processors say what the others take. TensorRT's
    // plugins have no domain.
    for (op_type, domain) in [("Rotated", "mmdeploy"), ("EfficientNMS_TRT", "")] {
        let detail = behind_a_convolution(op_type, domain, &[1]);
        let is_uncounted = |one: &str| one == "uncounted-operator";
        assert!((detail.diagnostics.iter()).any(|one| is_uncounted(one.diagnostic.code)));
        assert_eq!(n_latencies(&detail), 0, "{op_type}");
        let parts = detail
            .results
            .iter()
            .filter(|one| one.metric == Metric::NpuLatency);
        assert!(parts.clone().count() > 0);
        assert!(
            parts
                .into_iter()
                .all(|one| matches!(one.outcome, Outcome::Estimate { .. }))
        );
        let of_processor = (detail.results.iter()).find(|one| one.target == "cortex-a76-rpi5");
        let Some(Outcome::Unavailable {
            unavailable,
            reason,
        }) = of_processor.map(|one| &one.outcome)
        else {
            panic!("{op_type}: expected a reason");
        };
        let words = unavailable.to_string();
        println!("{words}");
        assert_eq!(*reason, "unknown-work");
        assert!(words.contains("2 other operators take"), "{words}");
    }
    // Where the others take most of the time, the bound of such a node tells enough.
    let file = File::default()
        .image(IMAGE)
        .weights("expand", &[256, 4, 5, 5])
        .weights("reduce", &[4, 256, 5, 5])
        .node("Conv", &["x", "expand"], "a", &[("pads", &[2; 4])])
        .node("Conv", &["a", "reduce"], "b", &[("pads", &[2; 4])])
        .node("Rotated", &["b"], "y", &[])
        .domain("mmdeploy")
        .output("y");
    let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
    let of_processor = (report.results.iter()).find(|one| one.target == "cortex-a76-rpi5");
    let outcome = of_processor.map(|one| &one.outcome);
    let Some(Outcome::Estimate {
        value,
        hi: Some(hi),
        ..
    }) = outcome
    else {
        panic!("expected an estimate, found {outcome:?}");
    };
    println!("{value} ms, at most {hi}");
    assert!(*hi < 4.0 * value);
    for domain in ["vendor.npu", "com.microsoft", ""] {
        let program = behind_a_convolution("Program", domain, &[1; 1024]);
        assert_eq!(n_latencies(&program), 0, "{domain}");
    }
    // Programs that are in another file, or stay with the provider.
    let names = [
        ("EPContext", ""),
        ("TRTKernel_graph_torch_jit_123_0", "com.microsoft"),
        ("QNNExecutionProvider_QNN_1_0", "com.microsoft"),
        ("TIDL_0", ""),
        ("DPU", "com.xilinx"),
        // Of images whose channels are in blocks.
        ("GlobalAveragePool", "com.microsoft.nchwc"),
    ];
    for (op_type, domain) in names {
        let program = behind_a_convolution(op_type, domain, &[1]);
        assert_eq!(n_latencies(&program), 0, "{op_type}");
    }
}
