//! The networks that are handed out to be measured.

use std::path::Path;
use std::process::Command;

use litecast::calibration::{Class, Kernels, PROBES};
use litecast::estimate::estimate_on;
use litecast::profiles::read;
use litecast::{Choice, ModelFile};
use litecast_needs::python;

use crate::calibration::network;

/// The files that are handed out run: TFLite in both interpreters, which agree within what their kernels round, and ONNX in
/// ONNX Runtime.
#[test]
fn they_run() {
    let Some(python) = python("tflite_micro") else {
        return;
    };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = PROBES.iter().flat_map(|probe| probe.files());
    let files: Vec<String> = files
        .map(|(name, _)| format!("src/calibration/probes/{name}"))
        .collect();
    let output = Command::new(python)
        .arg("tests/run_probes.py")
        .args(&files)
        .current_dir(folder)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    println!("{text}{}", String::from_utf8_lossy(&output.stderr));
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let lines: Vec<serde_json::Value> = lines.collect();
    assert_eq!(lines.len(), 30, "every file ran");
    for line in &lines {
        assert!(line["is_finite"] == true, "{line}");
        let difference = line["micro_difference"].as_i64();
        assert_eq!(
            difference.is_some(),
            line["file"].as_str().unwrap().contains("int8")
        );
        assert!(difference.unwrap_or_default() <= 4, "{line}");
        // A softmax of what is nearly uniform is uniform in steps of 1/256.
        assert!(line["varies"] == true || difference.is_some(), "{line}");
    }
}

/// Each spends most of its time in the class that it is handed out for, on a processor and on a microcontroller.
#[test]
fn they_tell_their_class() {
    for probe in &PROBES[1..] {
        for (target, bytes) in [
            ("cortex-a72-rpi4", probe.float32),
            ("cortex-m4-tflm", probe.int8),
            ("cortex-a72-rpi4", probe.onnx),
        ] {
            let choice = Choice {
                target: Some(target.into()),
                ..Choice::default()
            };
            let file = ModelFile::new(probe.name, bytes);
            let reports = estimate_on(&[file], None, &[choice.target().unwrap()]).unwrap();
            let report = reports[0].as_ref().unwrap();
            let plan = network(report).plan(target, Kernels::Base).unwrap();
            let mut base_ms = plan.whole().base_ms;
            // One network has both kinds of elementwise operators.
            base_ms[Class::Elementwise.idx()] += base_ms[Class::Curve.idx()];
            base_ms[Class::Curve.idx()] = 0.0;
            let total: f64 = base_ms.iter().sum();
            let class = Class::ALL
                .into_iter()
                .max_by(|a, b| base_ms[a.idx()].total_cmp(&base_ms[b.idx()]))
                .unwrap();
            let share = base_ms[class.idx()] / total;
            println!(
                "{} on {target}: {total:.3} ms, {share:.2} in {}",
                probe.name,
                class.words()
            );
            let words = if probe.name == "convolutions" {
                "convolutions"
            } else {
                probe.kernels
            };
            assert!(
                class.words().starts_with(words),
                "{}: {}",
                probe.name,
                class.words()
            );
            assert!(share > 0.6, "{}: {share}", probe.name);
        }
    }
}

/// The same layers in both formats: their arithmetic is equal.
#[test]
fn they_are_the_same_as_onnx() {
    let network = |name: &str, bytes| {
        let file = ModelFile::new(name, bytes);
        let reports = estimate_on(&[file], None, &[]).unwrap();
        reports[0].as_ref().unwrap().model.clone()
    };
    for probe in &PROBES {
        let [(name, tflite), _, (onnx_name, onnx)] = probe.files();
        let [of_tflite, of_onnx] = [network(&name, tflite), network(&onnx_name, onnx)];
        println!("{}: {} multiply-accumulates", probe.name, of_onnx.macs);
        assert_eq!(of_onnx.macs, of_tflite.macs, "{}", probe.name);
    }
}

/// ncnn's benchmark is told the sizes that the network's file has, and prints the name that its converter gave the file.
#[test]
fn they_are_known_to_ncnn() {
    for probe in &PROBES {
        let file = ModelFile::new(probe.name, probe.float32);
        let reports = estimate_on(&[file], None, &[]).unwrap();
        let report = reports[0].as_ref().unwrap();
        let mut sizes = report.tensors[report.model.inputs[0]].shape.clone();
        // Height, width, channels; of a matrix, rows and columns.
        if sizes.len() > 2 {
            sizes.remove(0);
        }
        if sizes.len() > 2 {
            sizes.swap(0, 1);
        } else {
            sizes.reverse();
        }
        let sizes: Vec<String> = sizes.iter().map(i32::to_string).collect();
        let file = format!("{}-float32.onnx", probe.name);
        let command = litecast::profiles::command("ncnn", &file, 1, "");
        println!("{command}");
        assert!(command.ends_with(&format!("'shape=[{}]'", sizes.join(","))));
        let converted = file.replace('-', "_").replace(".onnx", ".ncnn.param");
        let printed = format!("{converted}  min = 1.01  max = 1.20  avg = 1.10\n");
        let profile = read(printed.as_bytes(), None).unwrap();
        assert!(profile.inferences[0].is_of(&file), "{profile:?}");
    }
}
