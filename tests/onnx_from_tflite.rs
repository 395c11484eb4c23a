//! Networks of which there are both forms: TFLite files, and what tf2onnx makes of them.

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;

use litecast::report::{Report, TargetResult};
use litecast::{Metric, ModelFile, Outcome, estimate};
use litecast_needs::{Need, python_for, shared};
use serde_json::Value;

/// Latency of both forms may differ so much, in percent.
const MAX_DIFFERENCE_PERCENT: f64 = 3.0;

fn latencies(report: &Report) -> BTreeMap<String, f64> {
    let value = |result: &TargetResult| match &result.outcome {
        Outcome::Estimate { value, .. } if result.metric == Metric::Latency => {
            Some((result.target.clone(), *value))
        }
        _ => None,
    };
    report.results.iter().filter_map(value).collect()
}

fn kinds(report: &Report) -> BTreeMap<&str, usize> {
    let mut kinds = BTreeMap::new();
    for operator in &report.operators {
        *kinds.entry(&*operator.name).or_default() += 1;
    }
    kinds
}

#[test]
fn both_forms_of_a_network_cost_the_same() {
    let (Some(python), Some(folder)) = (
        python_for(Need::Tf2Onnx, "tf2onnx,tensorflow"),
        shared("models-mcu"),
    ) else {
        return;
    };
    let mut files = Vec::new();
    for folder in [
        folder.with_file_name("models"),
        folder,
        "www/examples".into(),
    ] {
        let entries = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        files.extend(entries.filter(|path| {
            path.extension()
                .is_some_and(|extension| extension == "tflite")
        }));
    }
    files.sort();
    let to = tempfile::tempdir().unwrap();
    let mut command = Command::new(python);
    command
        .arg("tests/onnx_from_tflite.py")
        .arg(to.path())
        .args(&files);
    let output = command.output().unwrap();
    let lines = String::from_utf8(output.stdout).unwrap();
    let (mut n_equal, mut n_unequal, mut n_unconverted) = (0, 0, 0);
    let mut differences: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for line in lines.lines() {
        let pair: Value = serde_json::from_str(line).unwrap();
        let name = pair["file"].as_str().unwrap();
        let Some(onnx) = pair["onnx"].as_str() else {
            n_unconverted += 1;
            continue;
        };
        let report = |path: &str| {
            let bytes = fs::read(path).unwrap();
            estimate(ModelFile::new(path, &bytes), None)
        };
        let (Ok(of_tflite), of_onnx) = (report(name), report(onnx)) else {
            continue;
        };
        let of_onnx = of_onnx.unwrap_or_else(|error| panic!("{name}: {error}"));
        let is_equal = of_tflite.model.macs == of_onnx.model.macs;
        if is_equal {
            n_equal += 1;
        } else {
            n_unequal += 1;
            println!(
                "{name}: MACs {} and {}",
                of_tflite.model.macs, of_onnx.model.macs
            );
        }
        let (expected, actual) = (latencies(&of_tflite), latencies(&of_onnx));
        let mut is_off = false;
        for (target, expected) in expected {
            let Some(actual) = actual.get(&target) else {
                continue;
            };
            let difference = (actual / expected - 1.0).abs() * 100.0;
            is_off |= difference > MAX_DIFFERENCE_PERCENT;
            differences.entry(target).or_default().push(difference);
        }
        if is_off || !is_equal {
            println!(
                "{name}: {:?}\n    and {:?}",
                kinds(&of_tflite),
                kinds(&of_onnx)
            );
        }
    }
    println!(
        "{n_equal} pairs with equal MACs, {n_unequal} with others; {n_unconverted} files that tf2onnx does not convert"
    );
    println!(
        "differences of latency in percent: median, largest, share within {MAX_DIFFERENCE_PERCENT}"
    );
    for (target, mut differences) in differences {
        differences.sort_by(f64::total_cmp);
        let n = differences.len();
        let within = differences
            .iter()
            .filter(|difference| **difference <= MAX_DIFFERENCE_PERCENT)
            .count();
        println!(
            "{target:25} {:.2} {:.2} {within} of {n}",
            differences[n / 2],
            differences[n - 1]
        );
    }
    assert!(n_equal >= 30 && n_equal > 9 * n_unequal);
}
