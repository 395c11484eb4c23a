//! Microcontrollers, over real files (`../shared/models-mcu`). Where they are absent, a test says that it
//! is skipped.
#![cfg(not(target_arch = "wasm32"))]

use std::path::PathBuf;

use litecast::boards::{Application, BoardLatency, Room, Verdict};
use litecast::estimate::{ModelFile, estimate, estimate_on};
use litecast::formats::tflite;
use litecast::graph::analysis::analyze;
use litecast::graph::{self, Graph};
use litecast::targets::cortex_m::{
    Constants, Refusal, activation_ram_bytes, latency, st_code_flash_bytes, weights_flash_bytes,
};
use litecast::targets::tflite_micro::{Kernels, Pointers, arena_bytes};
use litecast::targets::{Metric, Outcome, boards, cortex_m};
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

/// What ST publishes of networks of its model zoo and, for 4.0, what `mcufit` published of a run of ST
/// Edge AI Core: release, the beginning of the file's name, KiB of activations, weights and code.
#[rustfmt::skip]
const ST_EDGE_AI: &[(&str, &str, f64, f64, Option<f64>)] = &[
    ("10.0", "20e7d641e48d", 56.16, 128.32, Some(58.16)),
    ("10.0", "4a005dfd5516", 832.64, 406.86, Some(108.4)),
    ("10.0", "4ae8ea1e43ef", 74.23, 144.93, Some(60.12)),
    ("10.0", "5b9fa3371ed3", 237.32, 406.86, Some(108.29)),
    ("10.0", "6fad83ce1825", 449.58, 812.61, Some(81.46)),
    ("10.0", "73d4cafac064", 59.89, 123.98, Some(61.57)),
    ("10.0", "a19fbb09ec23", 52.8, 214.55, Some(70.27)),
    ("10.0", "aa80534fb01d", 272.96, 214.69, Some(68.05)),
    ("10.0", "dd21f007f3fb", 59.89, 431.98, Some(69.86)),
    ("10.0", "e9d41223041f", 66.96, 214.69, Some(68.0)),
    ("4.0", "mcufit_ad", 2.0, 264.53, None),
    ("4.0", "mcufit_ic_resnet", 42.41, 76.9, None),
    ("4.0", "mcufit_kws", 17.82, 23.8, None),
    ("4.0", "mcufit_person_detect", 40.19, 213.79, None),
    ("7.3", "023125a7022f", 59.6, 432.0, Some(63.2)),
    ("7.3", "0c285277f1af", 404.28, 812.61, None),
    ("7.3", "0f88fbf95c46", 686.5, 406.86, None),
    ("7.3", "257cdf850836", 240.25, 716.7, None),
    ("7.3", "5a4713ea02cd", 59.6, 127.8, Some(48.8)),
    ("7.3", "5c65c0e77a73", 38.64, 214.55, None),
    ("7.3", "6729c550a11c", 59.6, 451.8, Some(58.0)),
    ("7.3", "7d7618ce0c3e", 756.25, 716.71, None),
    ("7.3", "84c621f9bd20", 450.0, 535.69, None),
    ("7.3", "97d8359742e3", 59.6, 123.9, Some(53.6)),
    ("7.3", "991a93a5f225", 14.13, 10.08, None),
    ("7.3", "ab6819a7b6b4", 202.14, 214.69, None),
    ("7.3", "ac713b2af219", 224.5, 406.86, None),
    ("7.3", "af0fc23f13b5", 39.56, 219.84, None),
    ("7.3", "c84e2d5244eb", 109.5, 135.9, Some(52.6)),
    ("8.1", "0bb3704e9c72", 272.06, 276.72, None),
    ("8.1", "0d048bab6d46", 439.34, 470.13, None),
    ("8.1", "13a2c7e3fb07", 45.41, 76.9, Some(52.78)),
    ("8.1", "13f9495af67d", 158.73, 276.72, None),
    ("8.1", "206791e414f6", 1.63, 3.11, Some(33.42)),
    ("8.1", "20e7d641e48d", 51.18, 128.32, None),
    ("8.1", "28a04f8a794f", 45.41, 464.38, Some(78.65)),
    ("8.1", "4a005dfd5516", 686.5, 406.86, Some(115.26)),
    ("8.1", "4ae8ea1e43ef", 70.75, 144.93, None),
    ("8.1", "57a28e3d7f0d", 210.81, 276.72, None),
    ("8.1", "5b9fa3371ed3", 225.17, 406.86, Some(115.14)),
    ("8.1", "5feeb838d0e6", 4.73, 1.53, Some(37.86)),
    ("8.1", "6fad83ce1825", 404.66, 812.61, Some(89.36)),
    ("8.1", "73d4cafac064", 59.89, 123.98, Some(63.73)),
    ("8.1", "7896043c14d3", 2.33, 9.86, Some(33.45)),
    ("8.1", "7fc992b34c2a", 249.54, 438.28, Some(108.23)),
    ("8.1", "9c40b93b5582", 6.98, 1.53, Some(37.86)),
    ("8.1", "a19fbb09ec23", 41.21, 214.55, Some(75.95)),
    ("8.1", "a36a89d48285", 366.15, 471.16, None),
    ("8.1", "aa80534fb01d", 202.33, 214.69, Some(73.79)),
    ("8.1", "ab692fae141d", 14.12, 10.08, Some(51.38)),
    ("8.1", "c3b57eba7f37", 842.06, 716.71, Some(78.27)),
    ("8.1", "c5f31cccb051", 242.19, 716.71, Some(78.24)),
    ("8.1", "d6ca468843ef", 59.89, 123.6, Some(58.35)),
    ("8.1", "d957c5c2ea16", 59.89, 431.1, Some(65.11)),
    ("8.1", "dd21f007f3fb", 59.89, 431.98, Some(71.8)),
    ("8.1", "e9d41223041f", 50.2, 214.69, Some(73.88)),
];

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Errors in percent by release, printed with what is behind them.
fn beside_st(
    what: &str,
    ours_and_st_kib: impl Fn(&Graph, usize) -> Option<(f64, f64)>,
) -> Vec<(&'static str, f64)> {
    let Some(files) = files() else {
        return Vec::new();
    };
    let mut errors = Vec::new();
    for (row, (release, name, ..)) in ST_EDGE_AI.iter().enumerate() {
        let is_named = |path: &&PathBuf| {
            path.file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .starts_with(name)
        };
        let path = files
            .iter()
            .find(is_named)
            .unwrap_or_else(|| panic!("{name}"));
        let bytes = std::fs::read(path).unwrap();
        let Some((ours, st)) = with_graph(&bytes, |graph| ours_and_st_kib(graph, row)) else {
            continue;
        };
        let off = 100.0 * (ours / st - 1.0);
        let stem = path.file_stem().unwrap().to_str().unwrap();
        println!("{what} {release:4} {stem:58} {ours:8.2} KiB, ST {st:8.2}: {off:+7.2} %");
        errors.push((*release, off.abs()));
    }
    for release in ["7.3", "8.1", "10.0", "4.0"] {
        let own: Vec<f64> = errors
            .iter()
            .filter(|(of, _)| *of == release)
            .map(|(_, off)| *off)
            .collect();
        let (n, worst) = (own.len(), own.iter().copied().fold(0.0, f64::max));
        if n > 0 {
            println!(
                "{what} {release:4} {n} networks, median {:.2} %, worst {worst:.2} %",
                median(own)
            );
        }
    }
    errors
}

#[test]
fn weights_are_those_that_st_edge_ai_reports() {
    let errors = beside_st("weights", |graph, row| {
        let ours = weights_flash_bytes(&analyze(graph)) as f64 / 1024.0;
        Some((ours, ST_EDGE_AI[row].3))
    });
    if errors.is_empty() {
        return;
    }
    let all: Vec<f64> = errors.iter().map(|(_, off)| *off).collect();
    println!(
        "weights: {} figures, median {:.3} %",
        all.len(),
        median(all.clone())
    );
    assert!(median(all) < 0.1);
}

#[test]
fn activations_are_those_that_st_edge_ai_reports() {
    let held = std::cell::Cell::new(0);
    let errors = beside_st("activations", |graph, row| {
        let ours = activation_ram_bytes(graph, &analyze(graph)).unwrap();
        let st_kib = ST_EDGE_AI[row].2;
        let range = ours.lo as f64 / 1024.0..=ours.hi as f64 / 1024.0;
        held.set(held.get() + usize::from(range.contains(&st_kib)));
        Some((ours.value as f64 / 1024.0, st_kib))
    });
    if errors.is_empty() {
        return;
    }
    let all: Vec<f64> = errors.iter().map(|(_, off)| *off).collect();
    let percent = 100.0 * held.get() as f64 / all.len() as f64;
    println!(
        "activations: {} figures, median {:.2} %, {percent:.0} % in the interval",
        all.len(),
        median(all.clone())
    );
    assert!(median(all) <= 3.0);
    assert!(percent >= 90.0, "{percent}");
}

#[test]
fn code_is_near_what_st_edge_ai_reports() {
    let errors = beside_st("code", |graph, row| {
        Some((
            st_code_flash_bytes(graph).value as f64 / 1024.0,
            ST_EDGE_AI[row].4?,
        ))
    });
    if errors.is_empty() {
        return;
    }
    let all: Vec<f64> = errors.iter().map(|(_, off)| *off).collect();
    println!(
        "code: {} figures, median {:.1} %",
        all.len(),
        median(all.clone())
    );
    assert!(median(all) < 15.0);
}

/// A board that `../shared` has arenas of: an nRF52840, with CMSIS-NN.
const MEASURED_BOARD: &str = "nano33ble";

/// What the models of those runs are called in `../shared/models-mcu`.
const MEASURED_MODELS: [(&str, &str); 4] = [
    ("person_detect.tflite", "mcufit_person_detect.tflite"),
    ("kws_ref_model.tflite", "mcufit_kws.tflite"),
    ("pretrainedResnet_quant.tflite", "mcufit_ic_resnet.tflite"),
    ("ad01_int8.tflite", "mcufit_ad.tflite"),
];

/// The release of the interpreter on that board is older than the recorder's.
#[test]
fn arenas_are_near_those_of_a_board() {
    let (Some(folder), Some(runs)) = (folder(), shared("data/mcu/mcufit_results.jsonl")) else {
        return;
    };
    let text = std::fs::read_to_string(runs).unwrap();
    let runs = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let mut n_compared = 0;
    for run in runs.filter(|run| run["target"] == MEASURED_BOARD) {
        let named = MEASURED_MODELS
            .iter()
            .find(|(model, _)| run["model"] == *model);
        let (_, file) = named.expect("a known model");
        let measured = run["arena_used_bytes"].as_u64().unwrap();
        let bytes = std::fs::read(folder.join(file)).unwrap();
        let ours = with_graph(&bytes, |graph| {
            arena_bytes(graph, Kernels::CmsisNnDsp, Pointers::Bits32).unwrap()
        });
        let off = 100.0 * (ours as f64 / measured as f64 - 1.0);
        println!("{file:32} {ours:8} bytes, nRF52840 {measured}: {off:+.2} %");
        let is_near = off.abs() < 5.0 || ours.abs_diff(measured) < 512;
        assert!(is_near, "{file}: {off}");
        n_compared += 1;
    }
    assert!(n_compared >= 4, "{n_compared} runs");
}

#[test]
fn a_small_model_fits_where_there_is_room() {
    let Some(folder) = folder() else { return };
    let bytes = std::fs::read(folder.join("mcufit_kws.tflite")).unwrap();
    let placed = |ram_bytes, flash_bytes| {
        let file = ModelFile {
            application: Application {
                ram_bytes,
                flash_bytes,
            },
            ..ModelFile::new("kws", &bytes)
        };
        estimate(file, None).unwrap().fits.unwrap()
    };
    let fits = placed(0, 0);
    let known = boards::shipped()
        .iter()
        .filter(|board| board.memory.is_some());
    assert_eq!(fits.boards.len(), known.count());
    for on in &fits.boards {
        assert_eq!(
            on.fits,
            Verdict::Yes,
            "{}: an arena of 24 KiB, a file of 53 KiB",
            on.id
        );
        if let Some(latency) = &on.latency {
            let BoardLatency {
                lo_ms,
                value_ms,
                hi_ms,
                ..
            } = *latency;
            assert!(
                0.0 < lo_ms && lo_ms < value_ms && value_ms < hi_ms && hi_ms < 60e3,
                "{latency:?}"
            );
        }
    }
    let huge = placed(u64::MAX, u64::MAX);
    assert!(huge.boards.iter().all(|on| on.fits == Verdict::No));
}

/// What no microcontroller holds, and operators that none was measured with, on every target and board.
#[test]
fn hostile_and_huge_files_have_no_absurd_estimate() {
    let Some(mut files) = files() else { return };
    let folder = folder().unwrap().join("../models");
    let entries = std::fs::read_dir(folder).unwrap();
    files.extend(entries.map(|entry| entry.unwrap().path()));
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "tflite")
    });
    let targets = cortex_m::targets();
    let (mut n_estimates, mut n_refused, mut n_unread) = (0, 0, 0);
    for path in &files {
        let bytes = std::fs::read(path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        let file = ModelFile::new(name, &bytes);
        let Ok(report) = estimate_on(&[file], None, &targets).unwrap().remove(0) else {
            n_unread += 1;
            continue;
        };
        for result in &report.results {
            match &result.outcome {
                Outcome::Estimate { value, lo, hi, .. } => {
                    n_estimates += 1;
                    let place = format!("{name}, {} of {}", result.metric, result.target);
                    assert!(value.is_finite() && *value >= 0.0, "{place}: {value}");
                    assert!(result.metric != Metric::Latency || *value > 0.0, "{place}");
                    assert!(lo.is_none_or(|lo| lo <= *value), "{place}: {lo:?} {value}");
                    assert!(hi.is_none_or(|hi| hi >= *value), "{place}: {value} {hi:?}");
                }
                _ => n_refused += 1,
            }
        }
        for on in report.fits.iter().flat_map(|fits| &fits.boards) {
            let is_short =
                |room: &Room| matches!(room, Room::Short { missing_bytes } if *missing_bytes > 0);
            let any_short = is_short(&on.ram) || is_short(&on.flash);
            assert_eq!(on.fits == Verdict::No, any_short, "{name} on {}", on.id);
        }
    }
    println!(
        "{} files: {n_estimates} estimates, {n_refused} refused, {n_unread} unread",
        files.len()
    );
    assert!(n_estimates > 1000);
}
