//! Nodes that call functions of the file, against the network that ONNX's own inliner makes of it.

use std::fs;

use litecast::formats::max_operators;
use litecast::formats::tflite::Model;
use litecast::{ModelFile, estimate};
use prost::Message;
use serde_json::Value;

use super::file::{File, Size};
use super::{operators, read};

/// `FunctionProto`, which tract's types lack.
#[derive(Clone, PartialEq, Message)]
struct FunctionProto {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, repeated, tag = "4")]
    input: Vec<String>,
    #[prost(string, repeated, tag = "5")]
    output: Vec<String>,
    #[prost(message, repeated, tag = "7")]
    node: Vec<tract_onnx::pb::NodeProto>,
    #[prost(string, tag = "10")]
    domain: String,
}

#[derive(Clone, PartialEq, Message)]
struct ModelProto {
    #[prost(message, repeated, tag = "25")]
    functions: Vec<FunctionProto>,
}

fn node(op_type: &str, domain: &str, input: &str, output: &str) -> tract_onnx::pb::NodeProto {
    tract_onnx::pb::NodeProto {
        op_type: op_type.into(),
        domain: domain.into(),
        input: vec![input.into()],
        output: vec![output.into()],
        ..Default::default()
    }
}

fn function(name: &str, node: Vec<tract_onnx::pb::NodeProto>, result: &str) -> FunctionProto {
    FunctionProto {
        name: name.into(),
        input: vec!["a".into()],
        output: vec![result.into()],
        node,
        domain: "own".into(),
    }
}

/// A call of the first of these functions.
fn calling(functions: Vec<FunctionProto>) -> Vec<u8> {
    let mut file = File::default().input("x", &[1, 8].map(Size::Of));
    let name = functions[0].name.clone();
    file.0.node.push(node(&name, "own", "x", "y"));
    let mut bytes = file.output("y");
    bytes.extend(ModelProto { functions }.encode_to_vec());
    bytes
}

fn warns(model: &Model) -> bool {
    model.diagnostics.iter().any(|one| one.code == "functions")
}

#[test]
fn calls_are_the_nodes_of_their_functions() {
    let Some(python) = litecast_needs::python("onnx") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let lines = litecast_needs::json_lines(&python, "onnx/functions.py", [folder.path()]);
    for line in &lines {
        let described: Value = serde_json::from_str(line).unwrap();
        let [called, inlined] = ["file", "inlined"].map(|key| {
            let path = folder.path().join(described[key].as_str().unwrap());
            fs::read(path).unwrap()
        });
        let model = read(&called);
        assert!(!warns(&model));
        let actual = operators(&model);
        assert_eq!(actual, operators(&read(&inlined)), "{line}");
        let macs = |file: &[u8]| {
            let report = estimate(ModelFile::new("net.onnx", file), None).unwrap();
            (report.model.macs, report.model.parameters)
        };
        println!("{line}: {} operators, {:?}", actual.len(), macs(&called));
        assert_eq!(macs(&called), macs(&inlined), "{line}");
        assert!(
            actual.iter().all(|(name, _)| !name.starts_with("ONNX:")),
            "{actual:?}"
        );
        let outputs: Vec<Vec<i32>> = serde_json::from_value(described["outputs"].clone()).unwrap();
        // Images have their channels last.
        let channels_last = |shape: &Vec<i32>| vec![shape[0], shape[2], shape[3], shape[1]];
        let (_, last) = actual.last().unwrap();
        assert!(
            outputs.contains(last)
                || outputs
                    .iter()
                    .map(channels_last)
                    .any(|channels| channels == *last)
        );
    }
    assert_eq!(lines.len(), 5);
}

#[test]
fn a_result_may_be_an_operand() {
    let file = calling(vec![function("Same", Vec::new(), "a")]);
    let model = read(&file);
    assert!(!warns(&model));
    assert_eq!(model.subgraphs[0].outputs.len(), 1);
}

/// ONNX's own operators stay what they are, and calls that never end stay calls.
#[test]
fn functions_cannot_replace_operators_or_call_themselves() {
    let relu = FunctionProto {
        domain: String::new(),
        ..function("Relu", vec![node("Abs", "", "a", "b")], "b")
    };
    let uses_relu = function("Used", vec![node("Relu", "", "a", "b")], "b");
    let actual = operators(&read(&calling(vec![uses_relu, relu])));
    assert_eq!(actual, [("RELU".to_owned(), vec![1, 8])]);

    let endless = function("Endless", vec![node("Endless", "own", "a", "b")], "b");
    let file = calling(vec![endless]);
    let model = read(&file);
    println!("{:?}", model.diagnostics);
    assert!(warns(&model));
    assert_eq!(operators(&model)[0].0, "ONNX:own.Endless");
}

/// Each function calls the next one twice: 2^30 nodes from 2 kB.
#[test]
fn calls_do_not_multiply_without_limit() {
    let name = |depth: usize| format!("f{depth}");
    let functions = (0..30).map(|depth| {
        let called = name(depth + 1);
        let calls = vec![
            node(&called, "own", "a", "b"),
            node(&called, "own", "b", "c"),
        ];
        function(&name(depth), calls, "c")
    });
    let file = calling(functions.collect());
    let model = read(&file);
    let n_operators = model.subgraphs[0].operators.len();
    println!("{} bytes, {n_operators} operators", file.len());
    assert!(warns(&model) && n_operators <= max_operators(file.len()));
}
