//! Configurations of the Ethos-U that a command line chooses.

use std::fs;
use std::path::Path;
use std::process::Command;

use litecast::Outcome;
use litecast::estimate::{ModelFile, estimate};
use serde_json::{Value, json};

const FILE: &str = "www/examples/cnn-kws-s7-i43.tflite";

/// The results of the only report, by metric.
fn predict(options: &[&str]) -> impl Fn(&str) -> Value + use<> {
    predict_file(options, Path::new(FILE))
}

fn predict_file(options: &[&str], file: &Path) -> impl Fn(&str) -> Value + use<> {
    let output = Command::new(env!("CARGO_BIN_EXE_litecast"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["predict", "--json"])
        .args(options)
        .arg(file)
        .output()
        .expect("the command runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{options:?}: {errors}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("one report");
    move |metric| {
        let results = report["results"].as_array().expect("results").iter();
        let mut matching = results.filter(|result| result["metric"] == metric);
        matching.next().cloned().unwrap_or_default()
    }
}

/// Under the name of a board stands the estimate for the board; without a board, the compiler has its own.
#[test]
fn a_measured_board_has_a_latency_of_its_own() {
    let board = predict(&["--board", "imx93"]);
    let [measured, compiler] = ["latency", "npu_latency"].map(&board);
    println!("{compiler}\n{measured}");
    let ms = |result: &Value, end: &str| result[end].as_f64().expect("a number");
    assert!(ms(&measured, "value") > ms(&compiler, "value"));
    let width = |result: &Value| ms(result, "hi") / ms(result, "lo");
    assert!(width(&measured) > width(&compiler));
    assert_eq!(measured["evidence"], "measured");
    assert_eq!(compiler["evidence"], "compiler");
    // Nine networks do not tell nine in ten.
    assert_eq!(measured["provenance"]["interval_percent"], Value::Null);
    assert_eq!(compiler["provenance"]["interval_percent"], 90);
    assert!(
        measured["device"]
            .as_str()
            .unwrap()
            .starts_with("NXP i.MX 93")
    );
    // The same NPU without a board has the compiler's alone.
    let value_of = predict(&["--target", "ethos-u65-256"]);
    assert_eq!(value_of("npu_latency"), Value::Null);
    assert_eq!(value_of("latency")["evidence"], "compiler");
    // Where nothing was measured, the board's latency is assumed between those of the boards that were.
    for board in ["renesas-ra8p1", "alif-e8-kit"] {
        let value_of = predict(&["--board", board]);
        let [npu, latency] = ["npu_latency", "latency"].map(&value_of);
        assert_eq!(npu["evidence"], "compiler", "{board}");
        assert_eq!(latency["evidence"], "assumed", "{board}");
        assert_eq!(latency["expected_error_percent"], Value::Null, "{board}");
        let rules_ms = ms(&npu, "value");
        assert!(ms(&latency, "lo") < rules_ms, "{board}");
        assert!(ms(&latency, "value") > rules_ms, "{board}");
        assert!(ms(&latency, "hi") > 1.729 * rules_ms, "{board}");
    }
    // The board's latency is what a budget is held against, and not the compiler's.
    let limit_ms = (ms(&measured, "value") * ms(&compiler, "value")).sqrt();
    let check = |choice: [&str; 2]| {
        let output = Command::new(env!("CARGO_BIN_EXE_litecast"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["check", &format!("--max-latency={limit_ms}ms"), FILE])
            .args(choice)
            .output()
            .expect("the command runs");
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stdout).into_owned(),
        )
    };
    assert!(!check(["--board", "imx93"]).0);
    let (_, words) = check(["--board", "alif-e8-kit"]);
    assert!(
        words.contains("no measured networks to fit to on Alif"),
        "{words}"
    );
}

/// Two convolutions with an operator between them that no Ethos-U runs.
fn with_floor_between() -> Value {
    let map = |name: &str| json!({ "name": name, "shape": [1, 32, 32, 16], "type": "int8" });
    let weights = |name: &str| json!({ "name": name, "shape": [16, 3, 3, 16], "type": "int8", "constant": true });
    let bias =
        |name: &str| json!({ "name": name, "shape": [16], "type": "int32", "constant": true });
    let floats = |name: &str| json!({ "name": name, "shape": [1, 32, 32, 16], "type": "float32" });
    let convolution = |from: &str, to: &str, n: &str| {
        json!({
            "kind": "CONV_2D",
            "inputs": [from, format!("w{n}"), format!("b{n}")],
            "outputs": [to],
            "attributes": { "padding": "SAME" }
        })
    };
    let alone = |kind: &str, from: &str, to: &str| json!({ "kind": kind, "inputs": [from], "outputs": [to] });
    json!({
        "format": "litecast-graph",
        "version": 1,
        "inputs": ["x"],
        "outputs": ["y"],
        "tensors": [
            map("x"), weights("w1"), bias("b1"), map("a"), floats("b"), floats("c"), map("d"),
            weights("w2"), bias("b2"), map("y")
        ],
        "operators": [
            convolution("x", "a", "1"),
            alone("DEQUANTIZE", "a", "b"),
            alone("FLOOR", "b", "c"),
            alone("QUANTIZE", "c", "d"),
            convolution("d", "y", "2")
        ]
    })
}

/// A network in three parts: the accelerator's, the processor's and the accelerator's again.
#[test]
fn what_stays_on_the_cpu_is_part_of_the_latency() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parts.json");
    fs::write(&file, with_floor_between().to_string()).unwrap();
    let value = |result: &Value, field: &str| result[field].as_f64().expect("a number");
    let parts = |options: &[&str]| {
        let value_of = predict_file(options, &file);
        let [npu, both] = ["npu_latency", "latency"].map(&value_of);
        let operators: Vec<f64> = (both["operators"].as_array().expect("parts").iter())
            .map(|ms| ms.as_f64().expect("a number"))
            .collect();
        let sum: f64 = operators.iter().sum();
        println!("{options:?}: {npu} {both}");
        assert!((sum / value(&both, "value") - 1.0).abs() < 1e-9);
        assert!(
            value(&both, "lo") < value(&both, "value")
                && value(&both, "value") < value(&both, "hi")
        );
        assert_eq!(both["provenance"]["kind"], "modelled");
        let on_host: f64 = operators[1..4].iter().sum();
        assert!((value(&npu, "value") + on_host - value(&both, "value")).abs() < 1e-9);
        on_host
    };
    let usual = parts(&["--target", "ethos-u55-128"]);
    // The latency of an inference is that of all parts.
    let value_of = predict_file(&["--target", "ethos-u55-128"], &file);
    let [npu, both] = ["npu_latency", "latency"].map(|metric| value(&value_of(metric), "value"));
    for (limit, is_within) in [((npu * both).sqrt(), false), (2.0 * both, true)] {
        let limit = format!("--max-latency={limit}ms");
        let mut check = Command::new(env!("CARGO_BIN_EXE_litecast"));
        check.args([
            "check",
            "--target",
            "ethos-u55-128",
            "--against",
            "value",
            &limit,
        ]);
        let passed = check
            .arg(&file)
            .output()
            .expect("the command")
            .status
            .success();
        println!("{limit}: {passed}");
        assert_eq!(passed, is_within);
    }
    let slow = parts(&["--target", "ethos-u55-128", "--host", "cortex-m0plus-tflm"]);
    let fast = parts(&["--target", "ethos-u55-128", "--host", "cortex-a76-rpi5"]);
    assert!(fast < usual && usual < slow, "{fast} {usual} {slow}");
    // The processor's estimate of the same operators.
    let of_host = predict_file(&["--target", "cortex-a76-rpi5"], &file)("latency");
    let same: f64 = (1..4)
        .map(|at| of_host["operators"][at].as_f64().unwrap())
        .sum();
    println!("{fast} ms beside the accelerator, {same} ms of the whole network");
    assert!((fast / same - 1.0).abs() < 0.2);
    // On the board where networks were measured, one latency has all parts.
    let board = predict_file(&["--board", "imx93"], &file);
    let [npu, all] = ["npu_latency", "latency"].map(&board);
    assert!(value(&all, "value") > value(&npu, "value"));
    // A network that the accelerator runs alone has no such latency.
    assert_eq!(
        predict(&["--target", "ethos-u55-128"])("npu_latency"),
        Value::Null
    );
}

/// The smallest accelerator is that for the whole network: the clock of the NPU changes its part alone.
#[test]
fn the_smallest_counts_what_stays_on_the_cpu() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("parts.json");
    fs::write(&file, with_floor_between().to_string()).unwrap();
    let sweep = |limit_ms: f64| -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_litecast"))
            .args(["sweep", "--json", "--clock=250"])
            .arg(format!("--max-latency={limit_ms}ms"))
            .arg(&file)
            .output()
            .expect("the command runs");
        serde_json::from_slice(&output.stdout).expect("one document")
    };
    let first_point = |swept: &Value| swept["points"].as_array().unwrap()[0].clone();
    let loose = first_point(&sweep(1e6));
    let ms = |estimate: &Value| estimate["value"].as_f64().unwrap();
    let [whole, npu] = ["latency_ms", "npu_latency_ms"].map(|field| ms(&loose[field]));
    let of_target = predict_file(&["--target", loose["target"].as_str().unwrap()], &file);
    assert_eq!(ms(&of_target("latency")), whole);
    let at_250 = ms(&loose["latencies_ms"][0]);
    let expected = (whole - npu) + npu * loose["clock_mhz"].as_f64().unwrap() / 250.0;
    println!("{whole} ms, {npu} on the NPU, {at_250} at 250 MHz");
    assert!((at_250 / expected - 1.0).abs() < 1e-9);
    // Less than any processor alone takes is met at no clock.
    let swept = sweep(1e6);
    let points = swept["points"].as_array().unwrap();
    let on_processor = |point: &Value| ms(&point["latency_ms"]) - ms(&point["npu_latency_ms"]);
    let least = points.iter().map(on_processor).fold(f64::MAX, f64::min);
    let hopeless = sweep(0.5 * least);
    assert_eq!(first_point(&hopeless)["needed_mhz"], Value::Null);
    assert_eq!(hopeless["smallest"], Value::Null);
}

#[test]
fn hosts_are_processors_beside_an_ethos_u() {
    let error = |options: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_litecast"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["predict", FILE])
            .args(options)
            .output()
            .expect("the command runs");
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        String::from_utf8(output.stderr).expect("text")
    };
    let unknown = error(&["--target", "ethos-u55-128", "--host", "stm32n6"]);
    assert!(unknown.contains("cortex-m33-tflm"), "{unknown}");
    for options in [
        &["--host", "cortex-m33-tflm"][..],
        &["--target", "cortex-a76-rpi5", "--host", "cortex-m33-tflm"],
    ] {
        let text = error(options);
        assert!(text.contains("host"), "{options:?}: {text}");
    }
}

/// An option that no chosen target takes is refused, and a clock is the accelerator's.
#[test]
fn options_are_for_the_targets_that_take_them() {
    let latency_ms = |options: &[&str]| predict(options)("latency")["value"].as_f64().unwrap();
    let u55 = ["--target", "ethos-u55-128"];
    let at_half = latency_ms(&[&u55[..], &["--clock", "250"]].concat());
    let whole = latency_ms(&u55);
    println!("{whole} ms at 500 MHz, {at_half} ms at 250 MHz");
    assert!((at_half / whole - 2.0).abs() < 1e-6);
    let output = Command::new(env!("CARGO_BIN_EXE_litecast"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["predict", "--target", "cortex-a76-rpi5", "--clock", "250"])
        .arg(FILE)
        .output()
        .expect("the command runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{errors}");
    assert!(errors.contains("`clock_mhz` is an option of"), "{errors}");
}

const DEFAULTS: [&str; 3] = ["ethos-u55-256", "ethos-u65-512", "ethos-u85-256"];

#[test]
fn every_default_accelerator_has_an_interval_for_each_metric() {
    let bytes = fs::read(FILE).unwrap();
    let results = estimate(ModelFile::new(FILE, &bytes), None)
        .unwrap()
        .results;
    let intervals = results.iter().filter(|one| {
        let has_interval = matches!(one.outcome, Outcome::Estimate { lo: Some(_), .. });
        has_interval && DEFAULTS.contains(&one.target.as_str())
    });
    assert_eq!(intervals.count(), 12, "four metrics on three accelerators");
}
