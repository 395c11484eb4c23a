//! Configurations of the Ethos-U that a command line chooses.

use std::process::Command;

use serde_json::Value;

const FILE: &str = "www/examples/cnn-kws-s7-i43.tflite";

/// The results of the only report, by metric.
fn predict(options: &[&str]) -> impl Fn(&str) -> Value + use<> {
    let output = Command::new(env!("CARGO_BIN_EXE_litecast"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["predict", "--json"])
        .args(options)
        .arg(FILE)
        .output()
        .expect("the command runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{options:?}: {errors}");
    let report: Value = serde_json::from_slice(&output.stdout).expect("one report");
    move |metric| {
        let results = report["results"].as_array().expect("results").iter();
        let mut found = results.filter(|result| result["metric"] == metric);
        found.next().cloned().unwrap_or_default()
    }
}

/// A board on which networks were measured says what they took beyond the compiler's estimate.
#[test]
fn a_measured_board_has_a_latency_of_its_own() {
    let board = predict(&["--board", "imx93"]);
    let [compiler, measured] = ["latency", "board_latency"].map(&board);
    println!("{compiler}\n{measured}");
    let ms = |result: &Value, end: &str| result[end].as_f64().expect("a number");
    assert!(ms(&measured, "value") > ms(&compiler, "value"));
    let width = |result: &Value| ms(result, "hi") / ms(result, "lo");
    assert!(width(&measured) > width(&compiler));
    assert_eq!(measured["provenance"]["kind"], "modelled");
    // The same NPU without a board, and a board that nobody measured, have none.
    for options in [["--target", "ethos-u65-256"], ["--board", "renesas-ra8p1"]] {
        assert_eq!(
            predict(&options)("board_latency"),
            Value::Null,
            "{options:?}"
        );
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
