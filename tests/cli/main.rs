//! The native command, run as its users run it.
#![cfg(not(target_arch = "wasm32"))]

mod boards;
mod bounds;
mod browser;
mod calibration;
mod comparisons;
mod formats;
mod isolation;
mod names;
mod reports;
mod terminal;
mod verdicts;

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

/// One document a line.
fn json_lines(output: &Output) -> Vec<Value> {
    let text = stdout(output);
    let parsed = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"));
    parsed.collect()
}

/// As in a terminal of so many columns.
fn in_columns(columns: usize, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_litecast"))
        .args(args)
        .env("COLUMNS", columns.to_string())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the command runs")
}

fn path(file: &Path) -> &str {
    file.to_str().expect("paths of tests are UTF-8")
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

/// The estimate of a target and metric in a report.
fn estimate(report: &Value, target: &str, metric: &str, field: &str) -> f64 {
    let results = report["results"].as_array().unwrap();
    let mut matching = results.iter().filter(|r| r["target"] == target);
    let result = matching
        .find(|r| r["metric"] == metric)
        .expect("the metric is estimated");
    result[field].as_f64().unwrap()
}

const NPU: &str = "ethos-u55-256";
