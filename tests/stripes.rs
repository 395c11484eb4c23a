//! Less SRAM for an Ethos-U, and the smallest Ethos-U, as a command line asks for them.

use std::process::{Command, Output};

use litecast::targets::ethos_u::configuration::{Configuration, Product};
use serde_json::Value;

const FILE: &str = "www/examples/cnn-kws-s7-i43.tflite";

fn run(verb: &str, options: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_litecast"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env("COLUMNS", "80")
        .arg(verb)
        .args(options)
        .output()
        .expect("the command runs")
}

/// Less SRAM costs time: with a small arena cache, or when size is asked for, the compiler computes by stripes.
#[test]
fn stripes_need_less_sram_and_more_time() {
    let u55 = ["--target", "ethos-u55-128"];
    let value_of = |options: &[&str]| {
        let output = run("predict", &[&u55[..], options, &["--json", FILE]].concat());
        let report: Value = serde_json::from_slice(&output.stdout).expect("one report");
        let results = report["results"].as_array().expect("results");
        ["sram_peak", "latency"].map(|metric| {
            let mut matching = results.iter().filter(|result| result["metric"] == metric);
            let value = matching.next().and_then(|result| result["value"].as_f64());
            value.expect("an estimate")
        })
    };
    let free = value_of(&[]);
    let roomy = value_of(&[&format!("--arena-cache-size={}", free[0] + 1.0)]);
    let half = value_of(&[&format!("--arena-cache-size={}", (free[0] / 2.0).floor())]);
    let size = value_of(&["--optimise", "Size"]);
    println!("free {free:?}, roomy {roomy:?}, half {half:?}, size {size:?}");
    assert_eq!(roomy, free);
    for [sram_bytes, latency_ms] in [half, size] {
        assert!(sram_bytes < free[0] && latency_ms > free[1]);
    }
    assert!(half[0] <= free[0] / 2.0 && size[0] <= half[0]);
}

/// What needs more than the arena cache even by stripes is estimated, with a warning.
#[test]
fn an_arena_cache_that_no_stripes_fit_is_a_warning() {
    let options = ["--target", "ethos-u55-128", "--arena-cache-size=1024"];
    let output = run("predict", &[&options[..], &["--json", FILE]].concat());
    let report: Value = serde_json::from_slice(&output.stdout).expect("one report");
    let diagnostics = report["diagnostics"].as_array().expect("diagnostics");
    println!("{diagnostics:?}");
    let mut codes = diagnostics.iter().map(|diagnostic| &diagnostic["code"]);
    assert!(codes.any(|code| code == "exceeds-arena-cache"));
}

/// The smallest accelerator that `sweep` names is that of a naive search over reports of all of them.
#[test]
fn the_sweep_finds_the_smallest_that_meets_a_limit() {
    const LIMIT_MS: f64 = 0.2;
    let npus = Product::ALL.map(Product::name);
    let chosen = npus.map(|npu| format!("--target={npu}"));
    let mut options: Vec<&str> = chosen.iter().map(String::as_str).collect();
    options.extend(["--json", FILE]);
    let report: Value =
        serde_json::from_slice(&run("predict", &options).stdout).expect("one report");
    let results = report["results"].as_array().expect("results");
    let meets = |product: &&Product| {
        let is_its =
            |result: &&Value| result["target"] == product.name() && result["metric"] == "latency";
        let latency = results.iter().find(is_its).expect("a latency");
        let upper_ms = latency["hi"]
            .as_f64()
            .or(latency["value"].as_f64())
            .expect("a number");
        let clock_mhz = Configuration::new(**product).system.clock_hz / 1e6;
        clock_mhz * upper_ms / LIMIT_MS <= 1000.0
    };
    let mut by_size = Product::ALL;
    by_size.sort_by_key(|product| product.macs_per_cycle());
    let naive = by_size.iter().find(meets).map(|product| product.name());
    let options = ["--max-latency", "200us", "--json", FILE];
    let output = run("sweep", &options);
    let swept: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let points = swept["points"].as_array().expect("points");
    assert_eq!(points.len(), npus.len());
    let smallest = swept["smallest"]
        .as_u64()
        .map(|idx| &points[idx as usize]["target"]);
    println!("naive {naive:?}, swept {smallest:?}");
    assert_eq!(smallest.and_then(Value::as_str), naive);
    assert!(naive.is_some() && output.status.success());
    let none = run("sweep", &["--max-latency", "1ns", FILE]);
    let text = String::from_utf8_lossy(&none.stdout);
    println!("{text}");
    assert_eq!(none.status.code(), Some(1));
    assert!(
        text.contains("none meets 1.00 ns at 1,000 MHz or less"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
    let csv = run("sweep", &["--csv", "--clock", "250", FILE]);
    let csv = String::from_utf8_lossy(&csv.stdout);
    assert_eq!(csv.lines().count(), 1 + npus.len(), "{csv}");
}
