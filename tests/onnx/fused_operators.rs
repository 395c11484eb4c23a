//! Operators that ONNX Runtime's optimisers write: the network is the one that they were made from.

use litecast::formats::onnx;
use litecast::{ModelFile, estimate};
use prost::Message;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::{AttributeProto, ModelProto};

use super::file::{File, INT32, Size};
use super::{ALONE, operators, read};

const UINT8: i32 = 2;

/// A node of ONNX Runtime with whole numbers and a text as attributes, and all its results.
fn fused(
    file: File,
    op_type: &str,
    inputs: &[&str],
    outputs: &[&str],
    attributes: &[(&str, i64)],
    activation: &str,
) -> File {
    let mut file = file
        .node(op_type, inputs, outputs[0], &[])
        .domain("com.microsoft");
    let node = file.0.node.last_mut().unwrap();
    node.output = outputs.iter().map(|name| (*name).into()).collect();
    let numbers = attributes.iter().map(|&(name, i)| AttributeProto {
        name: name.into(),
        i,
        r#type: AttributeType::Int.into(),
        ..AttributeProto::default()
    });
    node.attribute = numbers.collect();
    if !activation.is_empty() {
        node.attribute.push(AttributeProto {
            name: "activation".into(),
            s: activation.into(),
            r#type: AttributeType::String.into(),
            ..AttributeProto::default()
        });
    }
    file
}

fn tokens() -> File {
    (File::default().input("x", &[1, 10, 64].map(Size::Of)))
        .weights("w", &[64, 64])
        .weights("v", &[64])
}

#[test]
fn fused_nodes_are_the_nodes_that_they_were_made_of() {
    let image = || {
        (File::default().image([1, 8, 6, 6]))
            .weights("w", &[8, 8, 1, 1])
            .weights("v", &[8])
    };
    let heads = || {
        (File::default().input("x", &[1, 4, 10, 16].map(Size::Of)))
            .input("k", &[1, 4, 12, 16].map(Size::Of))
    };
    let steps = || {
        (File::default().input("x", &[10, 4, 16].map(Size::Of)))
            .input("k", &[12, 4, 16].map(Size::Of))
    };
    let words = || {
        (File::default().input("x", &[1, 16].map(Size::Of)))
            .of_type(INT32)
            .weights("words", &[100, 64])
            .weights("places", &[32, 64])
            .weights("v", &[64])
    };
    let turned = |perm: &'static [i64]| [("perm", perm)];
    let pairs: &[(&str, File, File)] = &[
        (
            "an activation that TFLite does not fuse",
            fused(
                image(),
                "FusedConv",
                &["x", "w", "v"],
                &["y"],
                &[],
                "LeakyRelu",
            ),
            image()
                .node("Conv", &["x", "w", "v"], "a", &[])
                .node("LeakyRelu", &["a"], "y", &[]),
        ),
        (
            "a sum and an activation",
            fused(
                image(),
                "FusedConv",
                &["x", "w", "v", "x"],
                &["y"],
                &[],
                "Relu",
            ),
            image()
                .node("Conv", &["x", "w", "v"], "a", &[])
                .node("Add", &["a", "x"], "b", &[])
                .node("Relu", &["b"], "y", &[]),
        ),
        (
            "a transposition in heads",
            fused(
                heads(),
                "FusedMatMul",
                &["x", "k"],
                &["y"],
                &[("transB", 1)],
                "",
            ),
            heads()
                .node("Transpose", &["k"], "a", &turned(&[0, 1, 3, 2]))
                .node("MatMul", &["x", "a"], "y", &[]),
        ),
        (
            "transpositions of steps and heads",
            fused(
                steps(),
                "FusedMatMul",
                &["x", "k"],
                &["y"],
                &[("transBatchA", 1), ("transBatchB", 1), ("transB", 1)],
                "",
            ),
            steps()
                .node("Transpose", &["x"], "a", &turned(&[1, 0, 2]))
                .node("Transpose", &["k"], "b", &turned(&[1, 2, 0]))
                .node("MatMul", &["a", "b"], "y", &[]),
        ),
        (
            "a sum that is a result, too, with a bias",
            fused(
                tokens().node("MatMul", &["x", "w"], "a", &[]),
                "SkipLayerNormalization",
                &["a", "x", "v", "v", "v"],
                &["b", "", "", "c"],
                &[],
                "",
            )
            .node("Add", &["b", "c"], "y", &[]),
            tokens()
                .node("MatMul", &["x", "w"], "a", &[])
                .node("Add", &["a", "v"], "d", &[])
                .node("Add", &["d", "x"], "c", &[])
                .node("LayerNormalization", &["c", "v", "v"], "b", &[])
                .node("Add", &["b", "c"], "y", &[]),
        ),
        (
            "a bias before an activation",
            fused(
                tokens().node("MatMul", &["x", "w"], "a", &[]),
                "BiasGelu",
                &["a", "v"],
                &["y"],
                &[],
                "",
            ),
            tokens()
                .node("MatMul", &["x", "w"], "a", &[])
                .node("Add", &["a", "v"], "b", &[])
                .node("Gelu", &["b"], "y", &[]),
        ),
        (
            "words and their places, without segments",
            fused(
                words(),
                "EmbedLayerNormalization",
                &["x", "", "words", "places", "", "v", "v"],
                &["y", ""],
                &[],
                "",
            ),
            words()
                .node("Gather", &["places", "x"], "a", &[])
                .node("Gather", &["words", "x"], "b", &[])
                .node("Add", &["b", "a"], "c", &[])
                .node("LayerNormalization", &["c", "v", "v"], "y", &[]),
        ),
    ];
    for (what, fused, plain) in pairs {
        let file = |file: &File| {
            let mut model = ModelProto::decode(&*File::default().output("y")).unwrap();
            let mut graph = file.0.clone();
            graph.output = model.graph.take().unwrap().output;
            model.graph = Some(graph);
            model.encode_to_vec()
        };
        let [fused, plain] = [file(fused), file(plain)];
        assert_eq!(operators(&read(&fused)), operators(&read(&plain)), "{what}");
        let macs = [&fused, &plain].map(|file| {
            let report = estimate(ModelFile::new("net.onnx", file), None).unwrap();
            let codes = report.diagnostics.iter().map(|doubt| doubt.diagnostic.code);
            let codes: Vec<_> = codes.collect();
            assert!(!codes.contains(&"unknown-shape"), "{what}: {codes:?}");
            (report.model.macs, report.model.parameters)
        });
        assert_eq!(macs[0], macs[1], "{what}");
    }
}

/// Two weights of 4 bits are one byte. Counted by hand: 10 steps × 64 × 48.
#[test]
fn products_by_packed_weights_are_matrix_products() {
    let file = tokens().constant("packed", UINT8, &[48, 2, 16], vec![1; 48 * 32]);
    let sizes = [("K", 64), ("N", 48), ("bits", 4), ("block_size", 32)];
    let inputs = ["x", "packed", "scales"];
    let file = fused(
        file.weights("scales", &[96]),
        "MatMulNBits",
        &inputs,
        &["y"],
        &sizes,
        "",
    );
    let file = file.output("y");
    let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
    let names: Vec<&str> = report
        .operators
        .iter()
        .map(|operator| &*operator.name)
        .collect();
    assert_eq!(names, ["FULLY_CONNECTED"]);
    let model = &report.model;
    assert_eq!(
        (model.macs, model.parameters, model.weight_bytes),
        (10 * 64 * 48, 64 * 48, 64 * 48 / 2)
    );
    assert!(super::latencies(&report).contains(&("ethos-u55-256", true)));
}

/// By hand: the scores of each query and position, and as many products with the values.
#[test]
fn attention_of_onnx_runtime_is_counted() {
    let with = |name: &str, sizes: &[i64]| {
        let sizes: Vec<Size> = sizes.iter().copied().map(Size::Of).collect();
        File::default().input(name, &sizes)
    };
    let both = |mut file: File, other: File| {
        file.0.input.extend(other.0.input);
        file
    };
    let grouped = [("num_heads", 8), ("kv_num_heads", 2)];
    let past = || both(with("past", &[1, 2, 31, 16]), with("n", &[1]));
    let one = both(
        both(with("q", &[1, 1, 128]), with("k", &[1, 1, 32])),
        past(),
    );
    let packed = both(with("q", &[1, 4, 192]), past());
    // What is read, attributes, multiply-accumulates, and the shapes of the result and of all keys.
    type Case<'c> = (
        &'c str,
        File,
        &'c [&'c str],
        &'c [(&'c str, i64)],
        u64,
        [&'c [i32]; 2],
    );
    let cases: &[Case] = &[
        (
            "GroupQueryAttention",
            one,
            &["q", "k", "k", "past", "past", "n", "n"],
            &grouped,
            8 * 32 * (16 + 16),
            [&[1, 1, 128], &[1, 2, 32, 16]],
        ),
        (
            "GroupQueryAttention",
            packed,
            &["q", "", "", "past", "past", "n", "n"],
            &grouped,
            8 * 4 * 35 * (16 + 16),
            [&[1, 4, 128], &[1, 2, 35, 16]],
        ),
        (
            "MultiHeadAttention",
            with("q", &[1, 10, 4, 3, 16]),
            &["q"],
            &[("num_heads", 4)],
            4 * 10 * 10 * (16 + 16),
            [&[1, 10, 64], &[1, 4, 10, 16]],
        ),
    ];
    for (op_type, file, inputs, attributes, macs, shapes) in cases {
        let file = fused(
            File(file.0.clone()),
            op_type,
            inputs,
            &["y", "key", "value"],
            attributes,
            "",
        );
        let file = file.output("y");
        let model = onnx::parse(&file, &ALONE).unwrap();
        let subgraph = &model.subgraphs[0];
        let shape = |name: &str| {
            let tensor = subgraph.tensors.iter().find(|tensor| &*tensor.name == name);
            tensor.unwrap().shape.clone()
        };
        assert_eq!(
            [shape("y"), shape("key")],
            shapes.map(<[i32]>::to_vec),
            "{inputs:?}"
        );
        let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
        assert_eq!(report.model.macs, *macs, "{op_type} {inputs:?}");
    }
}
