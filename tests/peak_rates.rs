//! Latencies on every target against what its memory and its arithmetic take at least, by hand.

use litecast::estimate::{ModelFile, estimate_on};
use litecast::report::Report;
use litecast::targets::gpu::bundle::Bundle;
use litecast::targets::known;
use litecast::targets::{Metric, Outcome, gpu, learned_accelerators};
use serde_json::{Value, json};

/// Bytes that a GPU moves and multiply-accumulates that it does in a second, at most: the H100's data sheet; of all
/// others, the RTX 5090's and the A100's.
fn max_per_s(gpu: &str) -> [f64; 2] {
    match gpu {
        "h100-80gb" => [3350e9, 494.7e12],
        _ => [1792e9, 156e12],
    }
}

/// No NPU, processor or microcontroller here multiplies more: U85-2048 at 1 GHz, and the Edge TPU.
const MAX_NPU_MACS_PER_S: f64 = 2.048e12;
/// No NPU of a phone or laptop here multiplies more: 80 trillion operations a second in 8 bits, as sold.
const MAX_PHONE_MACS_PER_S: f64 = 40e12;
/// Weights and feature maps that caches may hold, at most.
const MAX_CACHED_BYTES: f64 = 128e6;

/// One operator from `x` to `y`, with weights where `weights` has a shape.
fn graph(kind: &str, [x, y]: [&[u32]; 2], weights: Option<&[u32]>, attributes: Value) -> String {
    let mut tensors = vec![
        json!({"name": "x", "shape": x, "type": "int8"}),
        json!({"name": "y", "shape": y, "type": "int8"}),
    ];
    let mut inputs = vec!["x"];
    if let Some(shape) = weights {
        tensors.push(json!({"name": "w", "shape": shape, "type": "int8", "constant": true}));
        inputs.push("w");
    }
    json!({
        "format": "litecast-graph", "version": 1, "inputs": ["x"], "outputs": ["y"], "tensors": tensors,
        "operators": [{"kind": kind, "inputs": inputs, "outputs": ["y"], "attributes": attributes}],
    })
    .to_string()
}

fn report(text: &str) -> Report {
    let file = ModelFile::new("made", text.as_bytes());
    estimate_on(&[file], None, &known().collect::<Vec<_>>())
        .unwrap()
        .remove(0)
        .unwrap()
}

/// Latencies by target.
fn latencies(report: &Report) -> Vec<(&str, [f64; 3])> {
    let of_latency = report
        .results
        .iter()
        .filter(|one| one.metric == Metric::Latency);
    let estimates = of_latency.filter_map(|one| match &one.outcome {
        &Outcome::Estimate {
            value,
            lo: Some(lo),
            hi: Some(hi),
            ..
        } => Some((one.target.as_str(), [lo, value, hi])),
        _ => None,
    });
    estimates.collect()
}

fn is_gpu(target: &str) -> bool {
    gpu::targets(Bundle::shipped())
        .iter()
        .any(|gpu| gpu.id() == target)
}

fn is_phone(target: &str) -> bool {
    learned_accelerators::shipped_targets()
        .iter()
        .any(|phone| phone.id() == target)
}

#[test]
fn no_latency_is_shorter_than_memory_and_arithmetic_allow() {
    let same = |side: u32, channels: u32| [1, side, side, channels];
    let pool = json!({"padding": "SAME", "stride": [1, 1], "filter": [200, 200]});
    let mut n_compared = 0;
    for (text, bytes, macs) in [
        // 268 million weights, of two bytes on a GPU.
        (
            graph(
                "FULLY_CONNECTED",
                [&[1, 16384], &[1, 16384]],
                Some(&[16384, 16384]),
                json!({}),
            ),
            2.0 * 16384.0 * 16384.0,
            16384.0 * 16384.0,
        ),
        (
            graph("RELU", [&same(16384, 4), &same(16384, 4)], None, json!({})),
            2.0 * 2.0 * 16384.0 * 16384.0 * 4.0,
            0.0,
        ),
        (
            graph(
                "PAD",
                [&same(500, 64), &same(2000, 64)],
                None,
                json!({"paddings": [[0, 0], [750, 750], [750, 750], [0, 0]]}),
            ),
            2.0 * 2000.0 * 2000.0 * 64.0,
            0.0,
        ),
        // Windows at an edge see a half.
        (
            graph("MAX_POOL_2D", [&same(512, 16), &same(512, 16)], None, pool),
            0.0,
            512.0 * 512.0 * 16.0 * 100.0 * 100.0,
        ),
        (
            graph(
                "CONV_2D",
                [&same(112, 64), &same(112, 128)],
                Some(&[128, 3, 3, 64]),
                json!({"padding": "SAME", "stride": [1, 1]}),
            ),
            0.0,
            112.0 * 112.0 * 128.0 * 9.0 * 64.0,
        ),
    ] {
        let report = report(&text);
        for (target, [lo, value, _]) in latencies(&report) {
            let floor_s = if is_gpu(target) {
                let [bytes_per_s, macs_per_s] = max_per_s(target);
                ((bytes - MAX_CACHED_BYTES) / bytes_per_s).max(macs / macs_per_s)
            } else if is_phone(target) {
                macs / MAX_PHONE_MACS_PER_S
            } else {
                macs / MAX_NPU_MACS_PER_S
            };
            assert!(
                lo >= 0.999e3 * floor_s,
                "{target}: {lo} of {value} ms, {floor_s} s by hand: {text}"
            );
            n_compared += 1;
        }
    }
    println!("{n_compared} latencies compared");
    assert!(n_compared > 60, "{n_compared}");
}

/// Far above and below all that was measured, on every target that has constants of measurements.
#[test]
fn latencies_beyond_those_measured_are_told() {
    let convolution = |side: u32, channels: u32| {
        let weights = [channels, 3, 3, channels];
        let shape = [1, side, side, channels];
        graph(
            "CONV_2D",
            [&shape, &shape],
            Some(&weights),
            json!({"padding": "SAME", "stride": [1, 1]}),
        )
    };
    let ordinary = report(&convolution(112, 64));
    let huge = report(&convolution(8192, 1024));
    let widths = |report: &Report| -> Vec<(String, f64)> {
        let latencies = latencies(report).into_iter();
        latencies
            .map(|(target, [lo, value, hi])| (target.to_owned(), (hi / value).max(value / lo)))
            .collect()
    };
    let told: Vec<&String> = (huge.diagnostics.iter())
        .filter(|doubt| doubt.diagnostic.code == "beyond-measured")
        .flat_map(|doubt| &doubt.targets)
        .collect();
    let (before, after) = (widths(&ordinary), widths(&huge));
    assert!(after.len() > 10, "{after:?}");
    for (target, width) in after {
        assert!(told.contains(&&target), "{target}");
        if let Some((_, ordinary)) = before.iter().find(|(known, _)| *known == target) {
            println!("{target}: times and over {ordinary:.2}, {width:.2} beyond");
        }
    }
}
