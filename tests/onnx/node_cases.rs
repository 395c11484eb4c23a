//! Shapes by our rules against the results of ONNX's own test cases of single operators.

use std::collections::BTreeMap;
use std::fs;

use litecast::formats::onnx;
use litecast::formats::tflite::Model;
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
    let (mut n_known, mut n_skipped, mut n_refused) = (0, 0, 0);
    let mut unknown: BTreeMap<String, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for line in &lines {
        let case: Value = serde_json::from_str(line).unwrap();
        let Some(name) = case["file"].as_str() else {
            n_skipped += 1;
            continue;
        };
        let read = |suffix: &str| fs::read(folder.path().join(format!("{name}{suffix}"))).unwrap();
        let (open, declared) = (read(".onnx"), read(".declared.onnx"));
        // Optional values are not tensors, and some cases leave sizes open.
        let Ok(model) = onnx::parse(&open, &ALONE) else {
            n_refused += 1;
            continue;
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
        for one in &model.diagnostics {
            if one.code == "declared-shapes" {
                wrong.push(format!("{name}: {}", one.message));
            }
        }
    }
    println!(
        "{n_known} cases with the shapes of the reference; {} without a shape, after {unknown:?}; {n_refused} refused; {n_skipped} \
         without tensors alone",
        unknown.values().sum::<usize>(),
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(n_known > 1_000, "{n_known}");
}
