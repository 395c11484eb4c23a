//! What holds of every report, whatever the file: facts do not depend on names and order, more work takes no less
//! time, and nothing is faster than the hardware.

use litecast::estimate::{EstimateError, ModelFile, estimate};
use litecast::learned::predictor::Predictor;
use litecast::report::Report;
use litecast::targets::{Metric, Outcome};
use litecast_fuzz::hostile::CASES;
use litecast_fuzz::mutate::mutate;
use litecast_fuzz::random::Random;
use litecast_fuzz::shapes::{Network, Shape};
use litecast_tflite_files::File;

fn report(file: &File) -> Result<Report, EstimateError> {
    estimate(ModelFile::new("file.tflite", &file.write()), None)
}

/// Where operators become more operations than are planned, or have more parts, the report says so.
#[test]
fn a_plan_that_is_cut_has_a_diagnostic() {
    let predictor = Predictor::shipped().unwrap();
    for (name, is_cut) in [
        ("LSTMs", true),
        ("CONCATENATION of 100,000", true),
        ("a chain of 8,000", false),
    ] {
        let case = CASES.iter().find(|case| case.name.contains(name));
        let bytes = (case.expect("a case").file)().write();
        let report = estimate(ModelFile::new("file", &bytes), Some(&predictor)).unwrap();
        let codes: Vec<_> = report
            .diagnostics
            .iter()
            .map(|doubt| doubt.diagnostic.code)
            .collect();
        assert_eq!(codes.contains(&"plan-limit"), is_cut, "{name}: {codes:?}");
    }
}

/// Everything that is counted of a file, whatever its parts are called and wherever they lie.
fn facts(report: &Report) -> serde_json::Value {
    let mut value = serde_json::to_value(report).expect("a report is JSON");
    for tensor in value["tensors"].as_array_mut().into_iter().flatten() {
        tensor["name"] = "".into();
    }
    value["model"]["file_bytes"] = 0.into();
    value["sha256"] = "".into();
    // How much flash is left follows from the size of the file.
    value["fits"] = "".into();
    value
}

/// Each network with its buffers apart, then with names, the order of buffers and that of codes changed.
#[test]
fn facts_do_not_depend_on_names_or_the_order_of_tables() {
    for shape in Shape::ALL {
        let file = shape.file(60);
        let whole = facts(&report(&file).unwrap());
        let mut renamed = file.clone();
        for tensor in renamed.subgraphs.iter_mut().flat_map(|s| &mut s.tensors) {
            tensor.name = format!("another name of {}", tensor.name);
        }
        assert_eq!(
            facts(&report(&renamed).unwrap()),
            whole,
            "{shape:?} renamed"
        );

        let mut reordered = file.clone();
        let n_buffers = reordered.buffers.len();
        reordered.buffers[1..].reverse();
        for tensor in reordered.subgraphs.iter_mut().flat_map(|s| &mut s.tensors) {
            if tensor.buffer > 0 {
                tensor.buffer = n_buffers as u32 - tensor.buffer;
            }
        }
        let n_codes = reordered.codes.len();
        reordered.codes.reverse();
        for operator in reordered
            .subgraphs
            .iter_mut()
            .flat_map(|s| &mut s.operators)
        {
            operator.code = n_codes as u32 - 1 - operator.code;
        }
        assert_eq!(
            facts(&report(&reordered).unwrap()),
            whole,
            "{shape:?} reordered"
        );

        let mut shared = file.clone();
        shared.shares_vectors = true;
        assert_eq!(
            facts(&report(&shared).unwrap()),
            whole,
            "{shape:?} with shared vectors"
        );
    }
}

/// A buffer that several tensors share counts once in the file; what each operator computes does not change
/// when each gets its own.
#[test]
fn macs_and_arena_do_not_depend_on_shared_buffers() {
    for shape in Shape::ALL {
        let file = shape.file(60);
        let mut split = file.clone();
        let mut is_used = vec![false; split.buffers.len()];
        for tensor in split.subgraphs.iter_mut().flat_map(|s| &mut s.tensors) {
            let buffer = tensor.buffer as usize;
            if buffer > 0 && std::mem::replace(&mut is_used[buffer], true) {
                split.buffers.push(split.buffers[buffer].clone());
                tensor.buffer = split.buffers.len() as u32 - 1;
            }
        }
        let [one, other] = [&file, &split].map(|file| report(file).unwrap().model);
        assert_eq!(one.macs, other.macs, "{shape:?}");
        assert_eq!(one.arena_bytes, other.arena_bytes, "{shape:?}");
        assert!(one.weight_bytes <= other.weight_bytes, "{shape:?}");
    }
}

/// A convolution of 1×1 on a map of 32×32.
fn convolution(channels: i32) -> File {
    let shape = [1, 32, 32, channels];
    let mut network = Network::new(&shape);
    let output = network.convolution(0, &shape);
    network.finish(&[output])
}

/// More channels in whole blocks are more work, and take no less time where the model is a formula.
#[test]
fn modelled_latencies_grow_with_channels() {
    let mut before = std::collections::BTreeMap::new();
    for channels in [64, 128, 192, 256, 320, 384] {
        let report = report(&convolution(channels)).unwrap();
        for result in &report.results {
            let Outcome::Estimate { value, .. } = &result.outcome else {
                continue;
            };
            // Weights that no longer fit beside the maps are read from memory instead: Vela states 2.75 MB of SRAM's
            // traffic on an Ethos-U65 for 384 channels, and 3.58 MB for 320.
            if result.metric == Metric::SramTraffic {
                continue;
            }
            let estimated = (result.target.clone(), result.metric);
            let less = before.insert(estimated.clone(), *value).unwrap_or(0.0);
            assert!(
                *value >= less,
                "{estimated:?}: {value} at {channels} channels, {less} before"
            );
        }
    }
    println!("{} results grew", before.len());
    assert!(before.len() >= 3, "{before:?}");
}

/// No mutant gets a latency below its MACs at the peak rate, by rates that stand here once more.
#[test]
fn no_estimate_beats_the_peak() {
    let peaks = [
        ("cortex-a76-rpi5", 32.0 * 2.4e9),
        ("cortex-a72-rpi4", 16.0 * 1.8e9),
        ("edgetpu-coral-dev-board", 4096.0 * 480e6),
        ("ethos-u55-256", 256.0 * 500e6),
        ("ethos-u65-512", 512.0 * 1e9),
        ("ethos-u85-256", 256.0 * 1e9),
    ];
    let predictor = Predictor::shipped().unwrap();
    let mut random = Random::new(7);
    let (mut n_checked, mut least) = (0, f64::INFINITY);
    for idx in 0..1500 {
        let mut file = Shape::ALL[idx % Shape::ALL.len()].file(8);
        mutate(&mut file, &mut random);
        let bytes = file.write();
        let Ok(report) = estimate(ModelFile::new("file", &bytes), Some(&predictor)) else {
            continue;
        };
        // Some of its operators may stay on the CPU, whose time is not in the estimate.
        if report
            .diagnostics
            .iter()
            .any(|doubt| doubt.diagnostic.code == "cpu-fallback")
        {
            continue;
        }
        for result in report.results.iter().filter(|r| r.metric.id() == "latency") {
            let Outcome::Estimate { value, .. } = &result.outcome else {
                continue;
            };
            let peak = peaks.iter().find(|(target, _)| *target == result.target);
            if let Some((_, macs_per_s)) = peak.filter(|_| report.model.macs > 0) {
                let floor_ms = 1e3 * report.model.macs as f64 / macs_per_s;
                n_checked += 1;
                least = least.min(value / floor_ms);
                assert!(
                    *value >= 0.99999 * floor_ms,
                    "{}: {value} < {floor_ms}",
                    result.target
                );
            }
        }
    }
    println!("{n_checked} latencies, the fastest {least:.2} times as long as the peak rate allows");
    assert!(n_checked > 500);
}
