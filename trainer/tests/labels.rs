//! Labels compared with Vela's own command line, with published figures, and with themselves.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::Duration;

use crate::common::{python, shared_model};
use litecast::formats::tflite::{Model, parse};
use litecast::graph::analysis::analyze;
use litecast::learned::features::{COLUMNS, N_COLUMNS};
use litecast::targets::ethos_u;
use litecast_trainer::labels::plan::{Shard, SpaceCount, sampled};
use litecast_trainer::labels::record::{Label, Origin, Outcome, Record, form_of_id};
use litecast_trainer::labels::store::{LabelFile, Labels};
use litecast_trainer::labels::target::{Configuration, Target, VelaOptions};
use litecast_trainer::labels::vela::{Vela, VelaLabel, default_targets};
use litecast_trainer::labels::worker::Worker;
use litecast_trainer::labels::{LabelArgs, ToolChoice, bytes_of, run, weight_distribution};
use litecast_trainer::spaces::{SampleForm, Space, Weights};
use litecast_trainer::writer::Precision;

const LIMIT: Duration = Duration::from_secs(120);

fn target(accelerator: &str, system_config: &str, memory_mode: &str) -> Target {
    Target {
        id: accelerator.into(),
        configuration: Configuration::EthosU {
            accelerator: accelerator.into(),
            system_config: system_config.into(),
            memory_mode: memory_mode.into(),
            options: VelaOptions::default(),
        },
    }
}

fn vela(python: &Path) -> Vela {
    Vela {
        python: python.to_owned(),
    }
}

fn ok(outcome: Outcome) -> Box<VelaLabel> {
    match outcome {
        Outcome::Ok(Label::Vela(label)) => label,
        other => panic!("expected a label, found {other:?}"),
    }
}

/// Figures of Vela 5.2.0 that were published by others or measured with its command line.
#[test]
fn labels_are_the_reference_figures() {
    let (Some(python), Some(vww), Some(mobilenet)) = (
        python(),
        shared_model("tiny__vww_96_int8.tflite"),
        shared_model("coral__mobilenet_v1_0.25_128_quant.tflite"),
    ) else {
        return;
    };
    let targets = [
        target(
            "ethos-u55-128",
            "Ethos_U55_High_End_Embedded",
            "Shared_Sram",
        ),
        target(
            "ethos-u85-256",
            "Ethos_U85_SYS_DRAM_Mid",
            "Dedicated_Sram_384KB",
        ),
    ];
    let mut worker = Worker::start(&vela(&python), &targets).unwrap();
    for (model, target_idx, latency_ms, sram_kib) in [
        (&vww, 0, 0.442, 72.7),
        (&vww, 1, 0.212, 72.7),
        (&mobilenet, 0, 1.344, 128.6),
        (&mobilenet, 1, 0.439, 128.6),
    ] {
        let label = ok(worker.label(target_idx, model, LIMIT).outcome);
        let found_kib = label.sram_peak_bytes as f64 / 1024.0;
        println!(
            "{}: {:.4} ms, expected {latency_ms}; {found_kib:.2} KiB, expected {sram_kib}",
            targets[target_idx].id, label.latency_ms
        );
        assert!((label.latency_ms - latency_ms).abs() < 0.0005);
        assert!((found_kib - sram_kib).abs() < 0.05);
    }
}

/// In whatever order and in whichever process, one file has one label.
#[test]
fn labels_are_the_same_in_another_process_and_order() {
    let Some(python) = python() else { return };
    let origins = one_of_each_space();
    let first = labels_of_each_space(&python);
    let reversed: Vec<Origin> = origins.iter().rev().cloned().collect();
    let second: Vec<_> = label_all(&python, &reversed).into_iter().rev().collect();
    assert_eq!(*first, second);
    println!("{} graphs: same labels twice, difference 0", origins.len());
}

fn one_of_each_space() -> Vec<Origin> {
    let origin = |space: &Space| Origin::Sampled {
        space: space.id().into(),
        seed: 7,
        index: 1,
        form: SampleForm::default(),
    };
    Space::PAPER.iter().map(origin).collect()
}

/// Outcomes by target of [`one_of_each_space`], made once for all tests.
fn labels_of_each_space(python: &Path) -> &'static Vec<Vec<Outcome>> {
    static LABELS: OnceLock<Vec<Vec<Outcome>>> = OnceLock::new();
    LABELS.get_or_init(|| label_all(python, &one_of_each_space()))
}

fn label_all(python: &Path, origins: &[Origin]) -> Vec<Vec<Outcome>> {
    let targets = default_targets();
    let mut worker = Worker::start(&vela(python), &targets).unwrap();
    let mut label = |origin: &Origin| {
        let bytes = bytes_of(origin).unwrap();
        (0..targets.len())
            .map(|idx| worker.label(idx, &bytes, LIMIT).outcome)
            .collect()
    };
    origins.iter().map(&mut label).collect()
}

/// Samples run wholly on the NPU, and their operators' cycles add up to the network's.
#[test]
fn cycles_of_operators_add_up() {
    let Some(python) = python() else { return };
    let labels = labels_of_each_space(&python);
    for (origin, outcomes) in one_of_each_space().iter().zip(labels) {
        for (target, outcome) in default_targets().iter().zip(outcomes) {
            let label = ok(outcome.clone());
            let operators = label.operators.expect("figures of each operator");
            let sum: u64 = operators.cycles.iter().sum();
            println!(
                "{} on {}: {} operators, sum {sum}, unattributed {}, total {}",
                origin.graph_id(),
                target.id,
                operators.cycles.len(),
                label.unattributed_cycles,
                label.total_cycles
            );
            assert_eq!(sum + label.unattributed_cycles, label.total_cycles);
            assert_eq!(label.unattributed_cycles, 0);
            assert_eq!(operators.npu_cycles.iter().sum::<u64>(), label.npu_cycles);
            assert_eq!(operators.macs.iter().sum::<u64>(), label.macs);
            assert_eq!(
                operators.offchip_traffic_bytes.iter().sum::<u64>(),
                label.offchip_traffic_bytes
            );
            // The allocator may leave gaps.
            let live = operators.sram_live_bytes.iter().max().copied().unwrap_or(0);
            let ratio = live as f64 / label.sram_peak_bytes as f64;
            println!("  most alive over the peak: {ratio:.3}");
            assert!((0.9..=1.0).contains(&ratio));
            assert_eq!(label.n_cpu_operators, 0);
            assert!(label.sram_peak_bytes > 0 && label.offchip_traffic_bytes > 0);
        }
    }
}

/// What Vela keeps in SRAM are the feature maps that the featurizer finds alive, and weights. (On an
/// NPU whose SRAM holds all feature maps; the memory of the others overflows. Operators of a cascade
/// keep stripes of theirs, and some results of transformers lie over inputs that are views.)
#[test]
fn feature_maps_alive_are_those_of_the_compiler() {
    let Some(python) = python() else { return };
    let column = COLUMNS
        .iter()
        .position(|column| column.name == "log1p_feature_map_bytes_alive")
        .unwrap();
    let labels = labels_of_each_space(&python);
    for (origin, outcomes) in one_of_each_space().iter().zip(labels) {
        let actual = ok(outcomes[0].clone()).operators.unwrap();
        let bytes = bytes_of(origin).unwrap();
        let model = litecast::formats::tflite::parse(&bytes).unwrap();
        let graph = litecast::graph::build(&model, 0).unwrap();
        let features = ethos_u::features(&graph, &analyze(&graph));
        let rows = graph
            .nodes
            .iter()
            .zip(features.nodes.chunks_exact(N_COLUMNS));
        let mut n_over = 0;
        for (node, row) in rows {
            let live = actual.sram_live_bytes[node.operator_idx] as f64;
            let feature_maps = f64::from(row[column]).exp_m1();
            // An operator fused into another has nothing of its own.
            if live > 0.0 && feature_maps > live * 1.001 {
                n_over += 1;
                println!(
                    "  operator {}: {feature_maps:.0} of {live}",
                    node.operator_idx
                );
            }
        }
        let n = graph.nodes.len();
        println!(
            "{}: {n_over} of {n} operators hold less in Vela's table",
            origin.graph_id()
        );
        assert!(n_over * 4 <= n);
    }
}

/// A file that the NPU cannot run is told apart from a tool that failed.
#[test]
fn a_float_model_is_rejected_with_its_reason() {
    let (Some(python), Some(model)) = (python(), shared_model("tiny__vww_96_float.tflite")) else {
        return;
    };
    let mut worker = Worker::start(&vela(&python), &default_targets()).unwrap();
    let outcome = worker.label(0, &model, LIMIT).outcome;
    let reason = "expected operators for the npu, found none".to_string();
    assert_eq!(outcome, Outcome::Rejected { reason });
    let garbage = worker.label(0, b"not a flatbuffer at all", LIMIT).outcome;
    assert_eq!(garbage.status(), "rejected", "{garbage:?}");
}

/// The operators that a compiler leaves to the CPU are counted and named.
#[test]
fn operators_left_to_the_cpu_are_named() {
    let (Some(python), Some(model)) = (python(), shared_model("tinyengine__vww.tflite")) else {
        return;
    };
    let mut worker = Worker::start(&vela(&python), &default_targets()).unwrap();
    let label = ok(worker.label(0, &model, LIMIT).outcome);
    let cpu = label.cpu_operators.expect("names of operators");
    let named: Vec<_> = cpu
        .iter()
        .map(|left| (left.operator_idx, left.name.as_str()))
        .collect();
    println!("{named:?}");
    assert_eq!(named.len() as u64, label.n_cpu_operators);
    assert_eq!(named.len(), 3);
    assert_eq!(named[0], (0, "Quantize"));
}

/// A stand-in for the tool: a greeting, then `and_then`.
fn broken_tool(folder: &Path, and_then: &str) -> PathBuf {
    use std::os::unix::fs::PermissionsExt;
    let greeting = r#"{"tool":"broken","version":"0","python":"0","vela_ini_sha256":"00000000","optimise":"","tensor_allocator":"","targets":[]}"#;
    let path = folder.join("tool");
    fs::write(&path, format!("#!/bin/sh\necho '{greeting}'\n{and_then}\n")).unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    path
}

#[test]
fn a_tool_that_ends_is_a_crash() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker = Worker::start(&vela(&broken_tool(folder.path(), "exit 3")), &[]).unwrap();
    let answer = worker.label(0, b"bytes", LIMIT);
    assert_eq!(
        answer.outcome.reason(),
        "the labelling tool ended with exit status: 3"
    );
    assert!(!answer.leaves_worker_alive());
}

#[test]
fn a_tool_that_hangs_is_a_time_out() {
    let folder = tempfile::tempdir().unwrap();
    let mut worker =
        Worker::start(&vela(&broken_tool(folder.path(), "exec sleep 60")), &[]).unwrap();
    let answer = worker.label(0, b"bytes", Duration::from_millis(50));
    assert_eq!(answer.outcome, Outcome::TimedOut { limit_s: 0.05 });
    assert!(!answer.leaves_worker_alive());
}

#[test]
fn a_missing_interpreter_is_named() {
    let error = Worker::start(&vela(Path::new("/nowhere/python3")), &[])
        .err()
        .unwrap();
    assert!(
        format!("{error:#}").contains("/nowhere/python3"),
        "{error:#}"
    );
}

fn arguments(python: &Path, out: &Path) -> LabelArgs {
    LabelArgs {
        tool: ToolChoice::Vela,
        targets: Vec::new(),
        spaces: vec![SpaceCount {
            space: Space::CNN_KWS,
            n: 3,
        }],
        seed: 5,
        precision: Precision::Int8,
        weights: Weights::Drawn,
        batches: vec![1],
        files: Vec::new(),
        jobs: 2,
        shard: Shard { index: 0, n: 1 },
        time_limit_s: 120.0,
        python: python.to_owned(),
        emulator: PathBuf::new(),
        out: out.to_owned(),
    }
}

const FILE: &str = "vela-0-of-1.jsonl";

/// Writes the file of a run that was not cut, which is made once for all tests, into `folder`.
fn write_whole_run(python: &Path, folder: &Path) {
    static WHOLE: OnceLock<Vec<u8>> = OnceLock::new();
    let whole = WHOLE.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        run(&arguments(python, folder.path())).unwrap();
        fs::read(folder.path().join(FILE)).unwrap()
    });
    fs::write(folder.join(FILE), whole).unwrap();
}

/// Labels sorted, without the processor time, which differs from run to run.
fn labels_in(folder: &Path) -> Vec<(String, String, Outcome)> {
    let labelled = Labels::read(folder).unwrap().labelled;
    let mut labels: Vec<_> = labelled
        .into_iter()
        .map(|label| (label.graph_id, label.target, label.outcome))
        .collect();
    labels.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    labels
}

/// Cut anywhere, a run goes on where it was and ends with the labels of a run that was not cut.
#[test]
fn an_interrupted_run_resumes() {
    let Some(python) = python() else { return };
    let (whole, cut) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write_whole_run(&python, whole.path());
    let expected = labels_in(whole.path());
    assert_eq!(expected.len(), 9);

    let content = fs::read(whole.path().join(FILE)).unwrap();
    let torn = content.len() / 2;
    assert_ne!(content[torn - 1], b'\n', "the cut falls inside a line");
    fs::write(cut.path().join(FILE), &content[..torn]).unwrap();
    run(&arguments(&python, cut.path())).unwrap();
    assert_eq!(labels_in(cut.path()), expected);

    run(&arguments(&python, cut.path())).unwrap();
    assert_eq!(
        labels_in(cut.path()),
        expected,
        "a finished run adds no label"
    );
}

/// Labels of other bytes under the same name (a sampler has changed) are made anew.
#[test]
fn labels_of_other_bytes_do_not_count_as_done() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    write_whole_run(&python, folder.path());
    let path = folder.path().join(FILE);
    let labelled = Labels::read(folder.path()).unwrap();
    fs::remove_file(&path).unwrap();
    let mut file = LabelFile::open(&path).unwrap();
    file.append(&Record::Run(Box::new(labelled.runs[0].clone())))
        .unwrap();
    for mut label in labelled.labelled {
        if label.graph_id == "cnn-kws/5/1" {
            label.sha256 = "0".repeat(64);
        }
        file.append(&Record::Label(Box::new(label))).unwrap();
    }
    run(&arguments(&python, folder.path())).unwrap();
    let labels = Labels::read(folder.path()).unwrap().labelled;
    assert_eq!(labels.len(), 9 + 3);
    assert!(
        labels[9..]
            .iter()
            .all(|label| label.graph_id == "cnn-kws/5/1")
    );
}

#[test]
fn labels_of_different_tools_are_not_mixed() {
    let Some(python) = python() else { return };
    let folder = tempfile::tempdir().unwrap();
    write_whole_run(&python, folder.path());
    let path = folder.path().join(FILE);
    let other = fs::read_to_string(&path)
        .unwrap()
        .replace("\"5.2.0\"", "\"5.1.0\"");
    fs::write(&path, other).unwrap();
    let error = run(&arguments(&python, folder.path()))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("5.1.0") && error.contains("5.2.0"),
        "{error}"
    );
}

fn counts() -> Vec<SpaceCount> {
    [
        (Space::CNN_IMAGENET, 200),
        (Space::CNN_KWS, 120),
        (Space::VIT_CIFAR100, 31),
    ]
    .map(|(space, n)| SpaceCount { space, n })
    .to_vec()
}

#[test]
fn shards_split_the_whole_without_overlap() {
    let whole = sampled(
        &counts(),
        1,
        (Precision::Int8, Weights::Drawn),
        &[1],
        Shard { index: 0, n: 1 },
    );
    assert_eq!(whole.len(), 351);
    let mut parts: Vec<Origin> = (0..16)
        .flat_map(|index| {
            sampled(
                &counts(),
                1,
                (Precision::Int8, Weights::Drawn),
                &[1],
                Shard { index, n: 16 },
            )
        })
        .collect();
    let mut expected = whole;
    parts.sort_by_key(Origin::graph_id);
    expected.sort_by_key(Origin::graph_id);
    assert_eq!(parts, expected);
}

/// A run that is stopped early has every space in its share, to one graph.
#[test]
fn spaces_are_mixed_evenly() {
    let origins = sampled(
        &counts(),
        1,
        (Precision::Int8, Weights::Drawn),
        &[1],
        Shard { index: 0, n: 1 },
    );
    for stopped_at in 1..=origins.len() {
        for count in counts() {
            let actual = origins[..stopped_at]
                .iter()
                .filter(|o| o.space() == count.space.id())
                .count();
            let share = stopped_at as f64 * count.n as f64 / origins.len() as f64;
            assert!(
                (actual as f64 - share).abs() <= 1.5,
                "{actual} of {} at {stopped_at}",
                count.space.id()
            );
        }
    }
}

#[test]
fn requests_are_read_or_refused_in_words() {
    let count: SpaceCount = "cnn-kws:12".parse().unwrap();
    assert_eq!(
        count,
        SpaceCount {
            space: Space::CNN_KWS,
            n: 12
        }
    );
    for wrong in ["cnn-kws", "cnn-kws:many", "cnn-nothing:3"] {
        println!("{wrong}: {:#}", wrong.parse::<SpaceCount>().unwrap_err());
    }
    assert_eq!("3/16".parse::<Shard>().unwrap(), Shard { index: 3, n: 16 });
    for wrong in ["16/16", "1", "a/b"] {
        println!("{wrong}: {:#}", wrong.parse::<Shard>().unwrap_err());
    }
}

/// Of the same network, weights before any training are uniform, and the id says so; ids and lines of labels are read as they were
/// written.
#[test]
fn weights_before_training_are_part_of_an_id() {
    let form = SampleForm {
        weights: Weights::Initial,
        ..SampleForm::default()
    };
    let sample = |form| Origin::Sampled {
        space: "cnn-kws".into(),
        seed: 1,
        index: 0,
        form,
    };
    let [drawn, initial] = [sample(SampleForm::default()), sample(form)];
    assert_eq!(drawn.graph_id(), "cnn-kws/1/0");
    assert_eq!(initial.graph_id(), "cnn-kws/1/0/initial");
    assert_eq!(form_of_id(&initial.graph_id()), form);
    let line = r#"{"sampled":{"space":"cnn-kws","seed":1,"index":0}}"#;
    assert_eq!(serde_json::to_string(&drawn).unwrap(), line);
    for origin in [&drawn, &initial] {
        let text = serde_json::to_string(origin).unwrap();
        assert_eq!(serde_json::from_str::<Origin>(&text).unwrap(), *origin);
    }
    let distributions = [&drawn, &initial].map(|origin| weight_distribution(origin).unwrap());
    println!("{distributions:?}");
    assert_ne!(distributions[0], "uniform");
    assert_eq!(distributions[1], "uniform");
    let [one, other] = [&drawn, &initial].map(|origin| bytes_of(origin).unwrap());
    let [one, other] = [parse(&one).unwrap(), parse(&other).unwrap()];
    let shapes = |model: &Model| -> Vec<_> {
        let tensors = &model.subgraphs[0].tensors;
        tensors.iter().map(|tensor| tensor.shape.clone()).collect()
    };
    assert_eq!(shapes(&one), shapes(&other));
    assert_ne!(one.buffers, other.buffers);
}
