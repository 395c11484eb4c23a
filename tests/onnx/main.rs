//! ONNX files: the TFLite operators that nodes become, computed shapes, and refusals.
#![cfg(not(target_arch = "wasm32"))]

mod as_the_runtime;
mod contradictions;
mod conversion;
mod file;
mod forms;
mod functions;
mod fused_operators;
mod loops;
mod node_cases;
mod quantized_operators;
mod refusals;
mod shapes;

use std::fs;

use litecast::formats::onnx::{self, Dimensions};
use litecast::formats::tflite::Model;
use litecast::report::Report;
use litecast::{Metric, ModelFile, Outcome, estimate};
use litecast_needs::shared;
use prost::Message;
use tract_onnx::pb::ModelProto;
use tract_onnx::pb::tensor_shape_proto::dimension;
use tract_onnx::pb::type_proto::Value;

use file::File;

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
    let summary = |operator: &litecast::formats::tflite::Operator| {
        let output = &subgraph.tensors[operator.outputs[0]];
        (operator.code.name().to_owned(), output.shape.clone())
    };
    subgraph.operators.iter().map(summary).collect()
}

fn check(file: &[u8], expected: &[(&str, &[i32])]) {
    let actual = operators(&read(file));
    let actual: Vec<(&str, &[i32])> = actual
        .iter()
        .map(|(kind, shape)| (kind.as_str(), shape.as_slice()))
        .collect();
    assert_eq!(actual, expected);
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
    let file = classifier();
    let report = estimate(ModelFile::new("net.onnx", &file), None).unwrap();
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
        let Some(Value::TensorType(of_type)) = input
            .r#type
            .as_ref()
            .and_then(|value_type| value_type.value.as_ref())
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
    let written: Vec<&str> = (theirs.output.iter())
        .map(|output| output.name.as_str())
        .collect();
    let outputs = model.subgraphs[0]
        .outputs
        .iter()
        .map(|&t| &*model.subgraphs[0].tensors[t].name);
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
