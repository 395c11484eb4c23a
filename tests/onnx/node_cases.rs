//! Shapes by our rules against the results of ONNX's own test cases of single operators.

use std::collections::BTreeMap;
use std::fs;

use litecast::formats::onnx;
use litecast::formats::tflite::Model;
use litecast::graph::analysis::contradictions::contradictions;
use litecast::graph::build;
use serde_json::Value;

use super::ALONE;

/// Operators whose results depend on values, work on strings, are used in training only, or are drafts. The first input
/// of a case is no constant, so operators whose first input is a size or a condition are among them.
const WITHOUT_RULE: &[&str] = &[
    "Adagrad",
    "Adam",
    "ArrayFeatureExtractor",
    "Binarizer",
    "BlackmanWindow",
    "CausalConvWithState",
    "ConstantOfShape",
    "FlexAttention",
    "HammingWindow",
    "HannWindow",
    "If",
    "ImageDecoder",
    "LabelEncoder",
    "LinearAttention",
    "Loop",
    "MelWeightMatrix",
    "Momentum",
    "NegativeLogLikelihoodLoss",
    "OptionalGetElement",
    "OptionalHasElement",
    "Range",
    "RegexFullMatch",
    "Scan",
    "SoftmaxCrossEntropyLoss",
    "StringConcat",
    "StringNormalizer",
    "StringSplit",
    "TfIdfVectorizer",
    "TreeEnsemble",
];

fn has(model: &Model, code: &str) -> bool {
    model.diagnostics.iter().any(|one| one.code == code)
}

#[test]
fn shapes_are_those_of_onnx_s_test_cases() {
    let Some(python) = litecast_needs::python("onnx") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let lines = litecast_needs::json_lines(&python, "onnx/node_cases.py", [folder.path()]);
    let (package, lines) = lines.split_first().unwrap();
    let package: Value = serde_json::from_str(package).unwrap();
    let (mut n_known, mut n_skipped) = (0, 0);
    let mut refused = Vec::new();
    let mut unknown: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in lines {
        let case: Value = serde_json::from_str(line).unwrap();
        let Some(name) = case["file"].as_str() else {
            n_skipped += 1;
            continue;
        };
        let read = |suffix: &str| fs::read(folder.path().join(format!("{name}{suffix}"))).unwrap();
        let (open, declared) = (read(".onnx"), read(".declared.onnx"));
        // Optional values are not tensors, and some cases leave sizes open.
        let model = match onnx::parse(&open, &ALONE) {
            Ok(model) => model,
            Err(error) => {
                refused.push(format!("{name}: {error}"));
                continue;
            }
        };
        let operators: Vec<&str> = (case["operators"].as_array().unwrap().iter())
            .map(|operator| operator.as_str().unwrap())
            .collect();
        if has(&model, "unknown-shape") {
            if !operators.iter().any(|name| WITHOUT_RULE.contains(name)) {
                wrong.push(format!("{name}: no shape after {operators:?}"));
            }
            let first = operators.iter().find(|name| WITHOUT_RULE.contains(name));
            *unknown
                .entry(first.unwrap_or(&"others").to_string())
                .or_default() += 1;
            continue;
        }
        n_known += 1;
        let model = onnx::parse(&declared, &ALONE).unwrap();
        let graph = build(&model, 0);
        for one in graph.iter().flat_map(contradictions) {
            wrong.push(format!("{name}: {}", one.why));
        }
        for one in &model.diagnostics {
            if one.code == "declared-shapes" {
                wrong.push(format!("{name}: {}", one.message));
            }
        }
    }
    let n_unknown: usize = unknown.values().sum();
    println!("after which no shape is known: {unknown:?}; refused: {refused:#?}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let counts = format!(
        "(package `onnx` {}) without the shapes of their results and compares the shapes with those of the reference's \
         results: {} are equal and none differs. {n_unknown} have no shape, because it depends on values or because the operator \
         is a draft or is used in training alone; {} have an input without a shape and are refused; {n_skipped} \
         cases are not of tensors alone.",
        package["onnx"].as_str().unwrap(),
        thousands(n_known),
        refused.len(),
    );
    let document = include_str!("../../docs/guide/onnx.md");
    let words: Vec<&str> = document.split_whitespace().collect();
    assert!(words.join(" ").contains(&counts), "{counts}");
}

fn thousands(n: usize) -> String {
    format!("{},{:03}", n / 1000, n % 1000)
}
