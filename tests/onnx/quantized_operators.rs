//! A network as ONNX Runtime's quantiser writes it, against the network that it quantised.

use std::collections::BTreeSet;
use std::fs;

use litecast::{ModelFile, estimate};
use serde_json::Value;

/// Multiply-accumulates, precision, and kinds of operators without those at the ends.
fn facts(file: &[u8], name: &str) -> (u64, String, BTreeSet<String>) {
    let report = estimate(ModelFile::new(name, file), None).unwrap();
    let codes = report.diagnostics.iter().map(|one| one.diagnostic.code);
    let codes: Vec<&str> = codes.collect();
    assert!(!codes.contains(&"unknown-shape"), "{name}: {codes:?}");
    let kinds = report
        .operators
        .iter()
        .map(|operator| operator.name.to_string());
    let at_ends = ["QUANTIZE", "DEQUANTIZE"];
    let kinds = kinds.filter(|kind| !at_ends.contains(&kind.as_str()));
    let precision = serde_json::to_value(report.model.precision).unwrap();
    (
        report.model.macs,
        precision.as_str().unwrap().to_owned(),
        kinds.collect(),
    )
}

/// ReLU is fused in both, and scales are part of the tensors.
#[test]
fn operators_in_8_bits_are_those_of_the_quantised_network() {
    let Some(python) = litecast_needs::python("onnxruntime") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let lines = litecast_needs::json_lines(&python, "onnx/quantized_operators.py", [folder.path()]);
    let read = |name: &str| facts(&fs::read(folder.path().join(name)).unwrap(), name);
    let (macs, _, kinds) = read("float32.onnx");
    // By hand: 16 × 16 × 8 × (27 + 72 + 9) and 16 × 10.
    assert_eq!(macs, 221_344);
    for line in &lines {
        let described: Value = serde_json::from_str(line).unwrap();
        let name = described["file"].as_str().unwrap();
        let actual = read(name);
        println!("{name}: {}\n    {actual:?}", described["operators"]);
        let precision = match name {
            "float32.onnx" => "float32",
            "dynamic.onnx" => "dynamic-range",
            other => other.trim_end_matches(".onnx"),
        };
        assert_eq!(
            actual,
            (macs, precision.to_owned(), kinds.clone()),
            "{name}"
        );
    }
    assert_eq!(lines.len(), 4);
}
