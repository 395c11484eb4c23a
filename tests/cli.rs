//! The native command, run as its users run it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

fn litecast(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_litecast"))
        .args(args)
        .output()
        .expect("the command runs")
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("stdout is UTF-8")
}

fn examples() -> Vec<PathBuf> {
    tflite_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("www/examples"))
}

fn tflite_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "tflite")
    });
    files.sort();
    files
}

#[test]
fn json_has_one_document_a_line_with_the_promised_names() {
    let files = examples();
    assert_eq!(files.len(), 3, "three example models");
    let mut args = vec!["predict", "--json"];
    args.extend(files.iter().map(|path| path.to_str().unwrap()));
    let output = litecast(&args);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = stdout(&output);
    assert_eq!(text.lines().count(), files.len());
    for (line, file) in text.lines().zip(&files) {
        let report: Value = serde_json::from_str(line).unwrap();
        assert_eq!(report["file"], file.to_str().unwrap());
        check_results(&report);
    }
}

/// Work grows with the batch on processors; NPUs take one input at a time.
#[test]
fn a_batch_multiplies_the_work() {
    let file = examples()[1].to_str().unwrap().to_owned();
    let report = |batch: &str| -> Value {
        let output = litecast(&["predict", "--json", "--batch", batch, &file]);
        serde_json::from_str(&stdout(&output)).unwrap()
    };
    let [one, four] = [report("1"), report("4")];
    assert_eq!([&one["batch"], &four["batch"]], [1, 4]);
    let macs = |report: &Value| report["model"]["macs"].as_u64().unwrap();
    assert_eq!(macs(&four), 4 * macs(&one));
    let of = |report: &Value, target: &str| {
        let results = report["results"].as_array().unwrap();
        let mut latencies = results.iter().filter(|r| r["metric"] == "latency");
        latencies.find(|r| r["target"] == target).unwrap().clone()
    };
    let ms = |report| of(report, "cortex-a76-rpi5")["value"].as_f64().unwrap();
    let ratio = ms(&four) / ms(&one);
    println!("four inputs take {ratio:.2} times as long as one");
    assert!((3.0..4.0).contains(&ratio), "{ratio}");
    let npu = of(&four, "ethos-u55-256");
    assert!(
        npu["unavailable"]
            .as_str()
            .unwrap()
            .ends_with("at a time, found 4")
    );
    let output = litecast(&["predict", "--batch", "5000", &file]);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        error.contains("expected a batch of at most 1024, found 5000"),
        "{error}"
    );
}

/// Every NPU has latency, SRAM and traffic with a unit and a provenance; the arena is exact.
fn check_results(report: &Value) {
    let results = report["results"].as_array().unwrap();
    for target in ["ethos-u55-256", "ethos-u65-512", "ethos-u85-256"] {
        for (metric, unit) in [
            ("latency", "ms"),
            ("sram_peak", "bytes"),
            ("offchip_traffic", "bytes"),
            ("sram_traffic", "bytes"),
            ("energy", "mJ"),
        ] {
            let found = results
                .iter()
                .find(|r| r["target"] == target && r["metric"] == metric);
            let result = found.unwrap_or_else(|| panic!("{target} {metric} is missing"));
            assert_eq!(result["unit"], unit);
            assert!(result["value"].as_f64().unwrap() > 0.0, "{result}");
            let (kind, tool) = match metric {
                "energy" => ("modelled", "litecast"),
                _ => ("learned from compiler estimate", "ethos-u-vela"),
            };
            assert_eq!(result["provenance"]["kind"], kind);
            assert_eq!(result["provenance"]["tool"], tool);
            match metric {
                // How far off the published energies are is not known.
                "energy" => assert!(result.get("lo").is_none(), "{result}"),
                _ => check_interval(result),
            }
            check_parts(result, report["operators"].as_array().unwrap().len());
        }
    }
    check_processors(results, report["operators"].as_array().unwrap().len());
    check_edge_tpu(report);
    let arena = results.iter().find(|r| r["metric"] == "arena").unwrap();
    assert_eq!(arena["target"], "tflite-micro");
    assert_eq!(
        arena["value"],
        report["model"]["arena_bytes"].as_f64().unwrap()
    );
}

/// Both processors have a modelled latency; where power was measured, energy is in proportion.
fn check_processors(results: &[Value], n_operators: usize) {
    let find = |target: &str, metric: &str| {
        let mut found = results.iter().filter(|r| r["target"] == target);
        found.find(|r| r["metric"] == metric)
    };
    for target in ["cortex-a76-rpi5", "cortex-a72-rpi4"] {
        let latency = find(target, "latency").unwrap_or_else(|| panic!("no latency of {target}"));
        assert_eq!(latency["unit"], "ms");
        assert_eq!(latency["provenance"]["kind"], "modelled");
        let words = latency["provenance"]["configuration"].as_str().unwrap();
        assert!(words.contains("with each kind left out"), "{words}");
        check_interval(latency);
        check_parts(latency, n_operators);
    }
    let value = |metric| {
        find("cortex-a76-rpi5", metric).unwrap()["value"]
            .as_f64()
            .unwrap()
    };
    let watts = value("energy") / value("latency");
    println!("{watts} W");
    assert!((1.0..3.0).contains(&watts));
    assert!(find("cortex-a72-rpi4", "energy").is_none());
}

/// The Edge TPU has a modelled latency with the error of the fit, or says what it does not run.
fn check_edge_tpu(report: &Value) {
    let results = report["results"].as_array().unwrap();
    let found = results
        .iter()
        .find(|r| r["target"] == "edgetpu-coral-dev-board");
    let result = found.expect("the Edge TPU is missing");
    assert_eq!(result["metric"], "latency");
    if report["file"].as_str().unwrap().contains("vit") {
        let words = result["unavailable"].as_str().unwrap();
        assert!(words.contains("do not run on the Edge TPU"), "{words}");
        return;
    }
    assert_eq!(result["unit"], "ms");
    assert_eq!(result["provenance"]["kind"], "modelled");
    let words = result["provenance"]["configuration"].as_str().unwrap();
    assert!(words.contains("left out in turn"), "{words}");
    assert!(result["expected_error_percent"].as_f64().unwrap() > 0.0);
    let [lo, hi] = ["lo", "hi"].map(|end| result[end].as_f64());
    assert!(lo.is_some() && hi.is_some(), "{result}");
    check_interval(result);
    check_parts(result, report["operators"].as_array().unwrap().len());
}

/// An interval has the value inside, wherever there is one.
fn check_interval(result: &Value) {
    let [lo, value, hi] = ["lo", "value", "hi"].map(|end| result[end].as_f64());
    if let (Some(lo), Some(hi)) = (lo, hi) {
        assert!(lo < value.unwrap() && value.unwrap() < hi, "{result}");
    }
}

/// The parts of a latency or a traffic add up to it, the largest of a peak is the peak.
fn check_parts(result: &Value, n_operators: usize) {
    let parts = result["operators"].as_array().unwrap();
    let parts: Vec<f64> = parts.iter().map(|part| part.as_f64().unwrap()).collect();
    assert_eq!(parts.len(), n_operators);
    let whole = match result["metric"].as_str() {
        Some("sram_peak") => parts.iter().copied().fold(0.0, f64::max),
        _ => parts.iter().sum(),
    };
    let difference = (whole / result["value"].as_f64().unwrap() - 1.0).abs();
    println!(
        "{} {}: {difference:.1e}",
        result["target"], result["metric"]
    );
    assert!(difference < 1e-4, "{result}");
}

#[test]
fn a_bad_file_fails_the_command_and_leaves_the_others_reported() {
    let folder = tempfile::tempdir().unwrap();
    let bad = folder.path().join("bad.tflite");
    std::fs::write(&bad, b"not a model at all").unwrap();
    let good = examples().remove(0);
    let output = litecast(&[
        "predict",
        "--json",
        bad.to_str().unwrap(),
        good.to_str().unwrap(),
        "/nowhere",
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output).lines().count(), 1);
    let errors = String::from_utf8(output.stderr).unwrap();
    assert!(errors.contains("bad.tflite"), "{errors}");
    assert!(errors.contains("/nowhere"), "{errors}");
}

#[test]
fn tables_name_every_target_and_operator() {
    let good = examples().remove(0);
    let text = stdout(&litecast(&[
        "predict",
        "--operators",
        good.to_str().unwrap(),
    ]));
    for word in [
        "ethos-u55-256",
        "ethos-u65-512",
        "ethos-u85-256",
        "edgetpu-coral-dev-board",
        "tflite-micro",
        "CONV_2D",
    ] {
        assert!(text.contains(word), "{word} is missing in\n{text}");
    }
    let targets = stdout(&litecast(&["targets"]));
    assert!(targets.contains("ethos-u85-256"), "{targets}");
    assert!(targets.contains("edgetpu-coral-dev-board"), "{targets}");
}

#[test]
fn real_files_give_a_report_or_a_clear_error() {
    let Some(files) = litecast_needs::shared_models() else {
        return;
    };
    for file in &files {
        let output = litecast(&["predict", "--json", file.to_str().unwrap()]);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0) => assert_eq!(stdout(&output).lines().count(), 1, "{}", file.display()),
            Some(1) => assert!(
                errors.starts_with("litecast: "),
                "{}: {errors}",
                file.display()
            ),
            code => panic!("{}: exit code {code:?}: {errors}", file.display()),
        }
        println!("{}: {}", file.file_name().unwrap().display(), errors.trim());
    }
}

/// The file has no bytes on the disk, and none of it is read.
#[test]
fn a_file_beyond_the_limit_is_refused_by_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large.tflite");
    fs::File::create(&large).unwrap().set_len(3 << 30).unwrap();
    let good = examples().remove(0);
    let output = litecast(&[
        "predict",
        "--json",
        large.to_str().unwrap(),
        good.to_str().unwrap(),
    ]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output).lines().count(), 1);
    let errors = String::from_utf8(output.stderr).unwrap();
    println!("{errors}");
    assert!(errors.contains("found 3221225472 bytes"), "{errors}");
}

/// With less memory than the large file has bytes, the other one still has its report.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_memory_does_not_hold_costs_no_other_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let large = folder.path().join("large.tflite");
    fs::File::create(&large)
        .unwrap()
        .set_len(2_000_000_000)
        .unwrap();
    let good = examples().remove(0);
    let command = format!(
        "ulimit -v 1500000; exec {} predict --json {} {}",
        env!("CARGO_BIN_EXE_litecast"),
        large.display(),
        good.display()
    );
    let output = Command::new("sh").args(["-c", &command]).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    println!("{errors}");
    assert_eq!(stdout(&output).lines().count(), 1, "{errors}");
    assert!(errors.contains("large.tflite"), "{errors}");
}

/// A pipe that nobody writes to never ends.
#[cfg(target_os = "linux")]
#[test]
fn a_file_that_takes_too_long_costs_no_other_its_report() {
    let folder = tempfile::tempdir().unwrap();
    let endless = folder.path().join("endless.tflite");
    let made = Command::new("mkfifo").arg(&endless).status().unwrap();
    assert!(made.success());
    let examples = examples();
    let output = litecast(&[
        "predict",
        "--json",
        "--time-limit=8",
        examples[0].to_str().unwrap(),
        endless.to_str().unwrap(),
        examples[1].to_str().unwrap(),
    ]);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    println!("{errors}");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(stdout(&output).lines().count(), 2, "{errors}");
    assert!(
        errors.contains("endless.tflite: took longer than 8 s"),
        "{errors}"
    );
}
