//! Microcontrollers, over real files (`../shared/models-mcu`). Where they are absent, a test says that it
//! is skipped.
#![cfg(not(target_arch = "wasm32"))]

use std::path::PathBuf;

use litecast::boards::{Application, boards};
use litecast::estimate::{ModelFile, estimate, estimate_on, on_boards};
use litecast::formats::tflite;
use litecast::graph::analysis::analyze;
use litecast::graph::{self, Graph};
use litecast::targets::cortex_m::{Constants, Refusal, latency, weights_flash_bytes};
use litecast::targets::tflite_micro::{Kernels, Pointers, arena_bytes};
use litecast::targets::{Metric, Outcome, cortex_m};
use litecast_needs::shared;

fn folder() -> Option<PathBuf> {
    shared("models-mcu")
}

fn files() -> Option<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder()?).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "tflite")
    });
    files.sort();
    Some(files)
}

fn with_graph<T>(bytes: &[u8], of: impl FnOnce(&Graph) -> T) -> T {
    let model = tflite::parse(bytes).unwrap();
    of(&graph::build(&model, 0).unwrap())
}

/// Every file there is int8.
#[test]
fn every_file_has_an_estimate_on_every_target() {
    let Some(files) = files() else { return };
    let targets = cortex_m::targets();
    let n_targets = targets.len();
    for path in &files {
        let bytes = std::fs::read(path).unwrap();
        let file = ModelFile::new("file", &bytes);
        let report = estimate_on(&[file], None, &targets)
            .unwrap()
            .remove(0)
            .unwrap();
        let latencies: Vec<_> = report
            .results
            .iter()
            .filter(|result| result.metric == Metric::Latency)
            .collect();
        assert_eq!(latencies.len(), n_targets, "{}", path.display());
        for result in latencies {
            let Outcome::Estimate {
                value,
                lo: Some(lo),
                hi: Some(hi),
                operators: Some(parts),
                ..
            } = &result.outcome
            else {
                panic!(
                    "{} on {}: {:?}",
                    path.display(),
                    result.target,
                    result.outcome
                );
            };
            assert!(0.0 < *lo && lo <= value && value <= hi, "{}", result.target);
            let sum: f64 = parts.iter().sum();
            assert!((sum / value - 1.0).abs() < 1e-9, "parts add up");
        }
    }
    println!("{} files on {} targets", files.len(), n_targets);
    assert!(files.len() >= 50);
}

#[test]
fn reports_without_a_choice_show_no_microcontroller() {
    let Some(files) = files() else { return };
    let bytes = std::fs::read(&files[0]).unwrap();
    let report = estimate(ModelFile::new("file", &bytes), None).unwrap();
    let is_micro = |target: &str| Constants::shipped().target(target).is_some();
    assert!(!report.results.iter().any(|result| is_micro(&result.target)));
}

/// Twice the clock, half the time; a clock that no microcontroller has is refused.
#[test]
fn latency_follows_the_clock() {
    let Some(files) = files() else { return };
    let bytes = std::fs::read(&files[0]).unwrap();
    with_graph(&bytes, |graph| {
        let analysis = analyze(graph);
        let target = Constants::shipped().target("cortex-m4-stm32l4r5").unwrap();
        let at = |clock_mhz| latency(graph, &analysis, target, Some(clock_mhz));
        let (slow, fast) = (at(60.0).unwrap(), at(120.0).unwrap());
        assert!((slow.value_ms / fast.value_ms - 2.0).abs() < 1e-9);
        for clock_mhz in [0.0, -1.0, f64::NAN, 1e9] {
            assert!(
                matches!(at(clock_mhz), Err(Refusal::Clock { .. })),
                "{clock_mhz}"
            );
        }
        let npu = Constants::shipped().target("stm32n6").unwrap();
        let refused = latency(graph, &analysis, npu, Some(500.0));
        assert!(
            matches!(refused, Err(Refusal::OtherClock { .. })),
            "{refused:?}"
        );
    });
}

#[test]
fn other_numbers_than_int8_are_refused_in_words() {
    let Some(folder) = folder() else { return };
    let float = folder.join("../models/tiny__vww_96_float.tflite");
    let bytes = std::fs::read(float).unwrap();
    with_graph(&bytes, |graph| {
        let analysis = analyze(graph);
        for target in &Constants::shipped().targets {
            let refusal = latency(graph, &analysis, target, None).unwrap_err();
            assert_eq!(refusal.kind(), "precision");
            println!("{}: {refusal}", target.target);
        }
    });
}

/// Weight bytes that ST Edge AI Core 4.0.1 reports of these files, in KiB to two digits, and arenas that
/// were measured on boards: file, weights, arena on an nRF52840 with CMSIS-NN.
const MEASURED: &[(&str, f64, u64)] = &[
    ("mcufit_person_detect.tflite", 213.79, 82_740),
    ("mcufit_kws.tflite", 23.8, 24_164),
    ("mcufit_ic_resnet.tflite", 76.9, 55_188),
    ("mcufit_ad.tflite", 264.53, 2_596),
];

#[test]
fn weights_are_those_that_st_edge_ai_reports() {
    let Some(folder) = folder() else { return };
    for (file, st_kib, _) in MEASURED {
        let bytes = std::fs::read(folder.join(file)).unwrap();
        let ours = with_graph(&bytes, |graph| weights_flash_bytes(&analyze(graph)));
        let off = 100.0 * (ours as f64 / (st_kib * 1024.0) - 1.0);
        println!("{file:32} {ours:8} bytes, ST {st_kib} KiB: {off:+.2} %");
        assert!(off.abs() < 0.1, "{file}: {off}");
    }
}

/// The release of the interpreter on that board is older than the recorder's.
#[test]
fn arenas_are_near_those_of_a_board() {
    let Some(folder) = folder() else { return };
    for (file, _, measured) in MEASURED {
        let bytes = std::fs::read(folder.join(file)).unwrap();
        let ours = with_graph(&bytes, |graph| {
            arena_bytes(graph, Kernels::CmsisNnDsp, Pointers::Bits32).unwrap()
        });
        let off = 100.0 * (ours as f64 / *measured as f64 - 1.0);
        println!("{file:32} {ours:8} bytes, nRF52840 {measured}: {off:+.2} %");
        let is_near = off.abs() < 5.0 || ours.abs_diff(*measured) < 512;
        assert!(is_near, "{file}: {off}");
    }
}

#[test]
fn a_small_model_fits_where_there_is_room() {
    let Some(folder) = folder() else { return };
    let bytes = std::fs::read(folder.join("mcufit_kws.tflite")).unwrap();
    let placed = on_boards(ModelFile::new("kws", &bytes), &Application::default()).unwrap();
    assert_eq!(placed.boards.len(), boards().len());
    assert!(
        placed.boards.iter().all(|on| on.fit.is_fitting()),
        "24 KiB and 53 KiB"
    );
    let huge = Application {
        ram_bytes: u64::MAX,
        flash_bytes: u64::MAX,
    };
    let placed = on_boards(ModelFile::new("kws", &bytes), &huge).unwrap();
    assert!(!placed.boards.iter().any(|on| on.fit.is_fitting()));
}
