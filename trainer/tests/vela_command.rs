//! Labels made in process compared with what Vela's own command line writes for the same file.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::common::{python, shared_model, shared_models};
use litecast::formats::tflite;
use litecast_trainer::labels::record::{Label, Outcome};
use litecast_trainer::labels::target::{Configuration, Target};
use litecast_trainer::labels::vela::{Vela, VelaLabel, default_targets};
use litecast_trainer::labels::worker::Worker;

const FILES: [&str; 3] = [
    "tiny__kws_ref_model.tflite",
    "tiny__vww_96_int8.tflite",
    "coral__mobilenet_v1_0.25_128_quant.tflite",
];

/// What the command wrote.
struct Reference {
    summary: HashMap<String, String>,
    /// Rows of the table by layer.
    layers: Vec<HashMap<String, String>>,
}

impl Reference {
    fn number(&self, column: &str) -> f64 {
        self.summary[column].parse().unwrap()
    }

    fn sum(&self, column: &str) -> u64 {
        self.layers
            .iter()
            .map(|layer| layer[column].parse::<u64>().unwrap())
            .sum()
    }
}

/// Runs `vela FILE --verbose-performance` in a folder of its own.
fn vela(python: &Path, file: &str, target: &Target) -> Reference {
    let Configuration::EthosU {
        accelerator,
        system_config,
        memory_mode,
        ..
    } = &target.configuration
    else {
        panic!("{} is no Ethos-U", target.id)
    };
    let out = tempfile::tempdir().unwrap();
    let status = Command::new(python)
        .args([
            "-m",
            "ethosu.vela",
            "--verbose-performance",
            "--config",
            "Arm/vela.ini",
        ])
        .arg(shared_models().join(file))
        .args(["--accelerator-config", accelerator])
        .args(["--system-config", system_config])
        .args(["--memory-mode", memory_mode])
        .arg("--output-dir")
        .arg(out.path())
        .output()
        .unwrap();
    assert!(
        status.status.success(),
        "{}",
        String::from_utf8_lossy(&status.stderr)
    );
    let name = file.strip_suffix(".tflite").unwrap();
    let summary = format!("{name}_summary_{system_config}.csv");
    Reference {
        summary: read_csv(&out.path().join(summary)).remove(0),
        layers: read_csv(&out.path().join(format!("{name}_per-layer.csv"))),
    }
}

/// Vela quotes nothing; the last column is a tensor's name.
fn read_csv(path: &Path) -> Vec<HashMap<String, String>> {
    let text = fs::read_to_string(path).unwrap();
    let mut lines = text.lines();
    let header: Vec<_> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let cells = line.splitn(header.len(), ',').map(str::to_string);
        header
            .iter()
            .map(|name| name.to_string())
            .zip(cells)
            .collect()
    };
    lines.map(row).collect()
}

fn label(worker: &mut Worker, target_idx: usize, model: &[u8]) -> Box<VelaLabel> {
    match worker
        .label(target_idx, model, Duration::from_secs(120))
        .outcome
    {
        Outcome::Ok(Label::Vela(label)) => label,
        other => panic!("expected a label, found {other:?}"),
    }
}

/// Each file on each target, with what the command says of it.
fn each_file(check: impl Fn(&str, &[u8], &VelaLabel, &Reference)) {
    let Some(python) = python() else { return };
    let targets = default_targets();
    let mut worker = Worker::start(
        &Vela {
            python: python.clone(),
        },
        &targets,
    )
    .unwrap();
    for file in FILES {
        let Some(model) = shared_model(file) else {
            return;
        };
        for (target_idx, target) in targets.iter().enumerate() {
            let label = label(&mut worker, target_idx, &model);
            let name = format!("{file} on {}", target.id);
            check(&name, &model, &label, &vela(&python, file, target));
        }
    }
}

#[test]
fn totals_are_those_of_the_command() {
    each_file(|name, _, label, reference| {
        let offchip =
            reference.number("dram_total_bytes") + reference.number("off_chip_flash_total_bytes");
        let mut largest: f64 = 0.0;
        for (actual, expected) in [
            (label.total_cycles as f64, reference.number("cycles_total")),
            (label.npu_cycles as f64, reference.number("cycles_npu")),
            (label.latency_ms, 1e3 * reference.number("inference_time")),
            (label.macs as f64, reference.number("nn_macs")),
            (
                label.sram_peak_bytes as f64,
                1024.0 * reference.number("sram_memory_used"),
            ),
            (label.offchip_traffic_bytes as f64, offchip),
            (
                label.weight_bytes as f64,
                reference.number("total_original_weights"),
            ),
            (
                label.encoded_weight_bytes as f64,
                reference.number("total_npu_encoded_weights"),
            ),
        ] {
            largest = largest.max((actual - expected).abs() / expected);
        }
        println!("{name}: largest relative difference of eight totals {largest:e}");
        // The last digits of seconds against milliseconds.
        assert!(largest < 1e-12, "{name}: {largest}");
    });
}

/// Figures by layer: in total, by kind of operator, and for each operator whose layer carries the
/// name of the operator's own output.
#[test]
fn operators_have_the_figures_of_their_layers() {
    each_file(|name, model, label, reference| {
        let operators = label.operators.as_ref().expect("figures of each operator");
        assert_eq!(
            operators.cycles.iter().sum::<u64>(),
            reference.sum("Op Cycles"),
            "{name}"
        );
        assert_eq!(
            operators.npu_cycles.iter().sum::<u64>(),
            reference.sum("NPU"),
            "{name}"
        );
        assert_eq!(
            operators.macs.iter().sum::<u64>(),
            reference.sum("MAC Count"),
            "{name}"
        );
        assert_eq!(
            operators.sram_access_cycles.iter().sum::<u64>(),
            reference.sum("SRAM AC"),
            "{name}"
        );

        let model = tflite::parse(model).unwrap();
        assert_eq!(
            cycles_by_kind(&model, &operators.cycles),
            cycles_by_original(reference),
            "{name}"
        );
        let n_named = compare_by_name(&model, &operators.cycles, reference);
        println!(
            "{name}: {n_named} of {} operators found by name, difference 0",
            operators.cycles.len()
        );
        assert!(2 * n_named > operators.cycles.len(), "{name}: {n_named}");
    });
}

/// Vela's name of an operator of the files here.
fn vela_name(operator: &str) -> &str {
    match operator {
        "CONV_2D" => "Conv2D",
        "DEPTHWISE_CONV_2D" => "DepthwiseConv2D",
        "AVERAGE_POOL_2D" => "AvgPool",
        "FULLY_CONNECTED" => "FullyConnected",
        "RESHAPE" => "Reshape",
        "SOFTMAX" => "Softmax",
        other => panic!("no name for {other}"),
    }
}

fn cycles_by_kind(model: &tflite::Model, cycles: &[u64]) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (operator, cycles) in model.subgraphs[0].operators.iter().zip(cycles) {
        *sums
            .entry(vela_name(operator.code.name()).to_string())
            .or_default() += cycles;
    }
    sums.retain(|_, sum| *sum > 0);
    sums
}

fn cycles_by_original(reference: &Reference) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for layer in &reference.layers {
        let cycles: u64 = layer["Op Cycles"].parse().unwrap();
        *sums.entry(layer["Original Operator"].clone()).or_default() += cycles;
    }
    sums.retain(|_, sum| *sum > 0);
    sums
}

/// Number of operators that were found by the name of their output.
fn compare_by_name(model: &tflite::Model, cycles: &[u64], reference: &Reference) -> usize {
    let subgraph = &model.subgraphs[0];
    let mut n_named = 0;
    for (operator, cycles) in subgraph.operators.iter().zip(cycles) {
        let name = &subgraph.tensors[operator.outputs[0]].name;
        // One operator's layers: the name, and Vela's own name of the operator.
        let is_layer = |layer: &&HashMap<String, String>| {
            *layer["Name"] == **name
                && layer["Original Operator"] == vela_name(operator.code.name())
        };
        let layers: Vec<_> = reference.layers.iter().filter(is_layer).collect();
        if layers.is_empty() || vela_name(operator.code.name()) == "Softmax" {
            continue;
        }
        let expected: u64 = layers
            .iter()
            .map(|layer| layer["Op Cycles"].parse::<u64>().unwrap())
            .sum();
        assert_eq!(*cycles, expected, "{name}");
        n_named += 1;
    }
    n_named
}
