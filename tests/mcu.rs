//! Microcontrollers, over real files (`../shared/models-mcu`), and what intervals of processors hold. Where files are
//! absent, a test says that it is skipped.

use std::path::PathBuf;

use litecast::boards::{Application, BoardLatency, Room, Verdict};
use litecast::estimate::{EstimateAs, ModelFile, Request, estimate, estimate_on, left_out};
use litecast::formats::tflite;
use litecast::graph::analysis::analyze;
use litecast::graph::{self, Graph};
use litecast::model_variants::Changes;
use litecast::targets::choice::Choice;
use litecast::targets::cortex_m::{
    Constants, Refusal, StDevice, StRelease, StTool, activation_ram_bytes, latency,
    weights_flash_bytes,
};
use litecast::targets::tflite_micro::{Kernels, Pointers, arena_bytes};
use litecast::targets::{Metric, Outcome, Target, boards, cortex_a, cortex_m};
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

fn with_graph<T>(bytes: &[u8], measure: impl FnOnce(&Graph) -> T) -> T {
    let model = tflite::parse(bytes).unwrap();
    measure(&graph::build(&model, 0).unwrap())
}

/// Every file there is int8.
#[test]
fn every_file_has_an_estimate_on_every_target() {
    let Some(files) = files() else { return };
    let targets = cortex_m::targets();
    let n_targets = targets.len();
    let mut n_refused = 0;
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
        let need = report.fits.as_ref().map(|fits| &fits.need);
        let is_refused = need.is_some_and(|need| need.obstacle.is_some());
        for result in latencies {
            let Outcome::Estimate {
                value,
                lo: Some(lo),
                hi: Some(hi),
                operators: Some(parts),
                ..
            } = &result.outcome
            else {
                let is_micro = result.device.contains("TensorFlow Lite Micro");
                assert!(
                    is_refused && is_micro,
                    "{} on {}: {:?}",
                    path.display(),
                    result.target,
                    result.outcome
                );
                n_refused += 1;
                continue;
            };
            assert!(0.0 < *lo && lo <= value && value <= hi, "{}", result.target);
            let sum: f64 = parts.iter().sum();
            assert!((sum / value - 1.0).abs() < 1e-9, "parts add up");
        }
    }
    println!("{n_refused} results are refused, because the interpreter does not run the file");
    assert!(n_refused < files.len(), "{n_refused} refusals");
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

/// What the intervals held of latencies with their family left out is no less, and no more, than chance allows for
/// intervals of 90 %. Latencies of one network are wrong together, so that networks count.
#[test]
fn intervals_hold_what_they_promise() {
    let targets = Constants::shipped().targets.iter();
    let mut n = 0;
    for target in targets.filter(|one| one.n_latencies >= 20 && one.core_conversion.is_none()) {
        let n_networks = target.n_networks as i32;
        let held = (target.coverage_percent / 100.0 * f64::from(n_networks)).round() as i32;
        let chance = |counts: std::ops::RangeInclusive<i32>| -> f64 {
            counts.map(|held| binomial(n_networks, held, 0.9)).sum()
        };
        let (few, many) = (chance(0..=held), chance(held..=n_networks));
        println!(
            "{}: {:.1} % of {} latencies, {n_networks} networks, times and over {:.2}; chance of so few {few:.3}, of so many \
             {many:.3}",
            target.target, target.coverage_percent, target.n_latencies, target.interval_factor
        );
        assert!(few > 0.005 && many > 0.005, "{}", target.target);
        n += 1;
    }
    assert!(n >= 3, "{n} targets");
}

/// The same for processors, where kinds of networks count, each of which was left out as a whole.
#[test]
fn intervals_of_processors_hold_what_they_promise() {
    let boards = &cortex_a::Constants::shipped().boards;
    let fits = boards.iter().flat_map(|board| {
        let fits = [&board.float32, &board.int8].into_iter().flatten();
        fits.map(|fit| (board.target.as_str(), fit))
    });
    let mut n_boards = 0;
    for (target, fit) in fits.filter(|(_, fit)| fit.measured.len() > 3) {
        let n = fit.measured.len() as i32;
        let held = (fit.coverage_percent / 100.0 * f64::from(n)).round() as i32;
        let few: f64 = (0..=held).map(|held| binomial(n, held, 0.9)).sum();
        println!(
            "{target}: {:.0} % of {} networks of {n} kinds, times and over {:.2}; chance of so few {few:.3}",
            fit.coverage_percent, fit.left_out.n, fit.interval_factor
        );
        assert!(few > 0.005, "{target}");
        n_boards += 1;
    }
    assert!(n_boards >= 4, "{n_boards} fits");
}

/// Chance of `held` of `n` where each has the chance `p`.
fn binomial(n: i32, held: i32, p: f64) -> f64 {
    let ways = |acc: f64, i: i32| acc * f64::from(n - i) / f64::from(i + 1);
    (0..held).fold(1.0, ways) * p.powi(held) * (1.0 - p).powi(n - held)
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

/// By its documentation ST Edge AI takes float32, int8 and uint8. A type that it does not take is named with its place, for
/// every metric; a type that it takes and nobody measured has another reason, and for the latency alone.
#[test]
fn types_that_st_edge_ai_does_not_take_are_named() {
    let graph = |activations: &str, weights: &str| {
        let tensor = |name: &str, shape: &str, tensor_type: &str, is_constant: bool| {
            format!(
                r#"{{"name":"{name}","shape":{shape},"type":"{tensor_type}","constant":{is_constant}}}"#
            )
        };
        let tensors = [
            tensor("x", "[1,8,8,4]", activations, false),
            tensor("w", "[8,3,3,4]", weights, true),
            tensor("y", "[1,8,8,8]", activations, false),
        ];
        format!(
            r#"{{"format":"litecast-graph","version":1,"inputs":["x"],"outputs":["y"],"tensors":[{}],"operators":
               [{{"kind":"CONV_2D","inputs":["x","w"],"outputs":["y"],"attributes":{{"stride":[1,1],"padding":"SAME"}}}}]}}"#,
            tensors.join(",")
        )
    };
    let st = || vec![cortex_m::target("cortex-m7-stm32h747", None).unwrap()];
    let reasons = |text: &str| -> Vec<(Metric, Option<String>)> {
        let request = Request {
            estimate_as: EstimateAs::AsIs,
            ..Request::default()
        };
        let file = ModelFile {
            request,
            ..ModelFile::new("graph", text.as_bytes())
        };
        let report = estimate_on(&[file], None, &st())
            .unwrap()
            .remove(0)
            .unwrap();
        let reason = |outcome: &Outcome| match outcome {
            Outcome::Unavailable { unavailable, .. } => Some(unavailable.to_string()),
            _ => None,
        };
        let results = report.results.iter();
        results
            .map(|result| (result.metric, reason(&result.outcome)))
            .collect()
    };
    for (activations, weights, actual) in [
        ("int16", "int8", "INT16 (input 0)"),
        ("float32", "float16", "FLOAT16 (input 1)"),
        ("int8", "int4", "INT4 (input 1)"),
    ] {
        let reasons = reasons(&graph(activations, weights));
        assert!(reasons.len() >= 3);
        for (metric, reason) in reasons {
            let reason = reason.unwrap_or_else(|| panic!("{metric} of {activations}"));
            println!("{metric}: {reason}");
            let expected = format!("CONV_2D, operator 0, has {actual}");
            assert!(reason.contains(&expected), "{reason}");
        }
    }
    for activations in ["float32", "uint8"] {
        for (metric, reason) in reasons(&graph(activations, activations)) {
            match (metric, reason) {
                (Metric::Latency, Some(reason)) => {
                    assert!(
                        reason.starts_with("only int8 models were measured"),
                        "{reason}"
                    );
                }
                (_, reason) => assert_eq!(reason, None, "{metric} of {activations}"),
            }
        }
    }
    assert!(
        reasons(&graph("int8", "int8"))
            .iter()
            .all(|(_, reason)| reason.is_none())
    );
}

/// What an Ethos-U leaves to a processor, alone and in the report, of every real file that is estimated as int8.
#[test]
fn what_is_left_out_of_floats_is_that_of_the_report() {
    let Some(folder) = folder() else { return };
    let targets = || {
        let choice = |id: &str| Choice {
            target: Some(id.to_owned()),
            ..Choice::default()
        };
        ["ethos-u55-128", "ethos-u85-512"]
            .map(|id| choice(id).target().unwrap())
            .into()
    };
    let targets: Vec<Box<dyn Target>> = targets();
    let mut n_compared = 0;
    for entry in std::fs::read_dir(folder.join("../models")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if !name.ends_with(".tflite") {
            continue;
        }
        let bytes = std::fs::read(&path).unwrap();
        let file = ModelFile::new(&name, &bytes);
        let Ok(report) = estimate_on(&[file], None, &targets).unwrap().remove(0) else {
            continue;
        };
        let alone = left_out(file, &Changes::default(), &targets).unwrap();
        for (target, alone) in targets.iter().zip(alone) {
            let is_estimated = report
                .results
                .iter()
                .any(|result| result.target == target.id() && result.estimated_as.is_some());
            if !is_estimated {
                continue;
            }
            n_compared += 1;
            let of_target =
                |left: &&litecast::report::LeftOut| left.targets.iter().any(|id| id == target.id());
            let in_report = report.left_out.iter().find(of_target);
            let in_report = in_report.map_or(&[][..], |left| &left.operators);
            let words = |operators: &[litecast::report::LeftOperator]| {
                serde_json::to_string(operators).unwrap()
            };
            assert_eq!(words(&alone), words(in_report), "{name} on {}", target.id());
        }
    }
    println!("{n_compared} lists compared");
    assert!(n_compared >= 4, "{n_compared}");
}

/// What a run of ST Edge AI Core 4.0 reports of one network.
struct StReport {
    file: &'static str,
    activations_kib: f64,
    weights_kib: f64,
}

/// Reports of ST's tool in `../shared/data/mcu`. Those of its model zoo are compared by `litecast-trainer
/// evaluate-st-memory`.
fn st_reports() -> Option<Vec<StReport>> {
    let text = std::fs::read_to_string(shared("data/mcu/mcufit_st_analyze.jsonl")?).unwrap();
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    // The first line says where the others come from.
    let reports = lines.filter_map(|line| {
        let model = line["model"].as_str()?.to_owned();
        let (_, file) = MEASURED_MODELS
            .iter()
            .find(|(name, file)| *name == model || *file == format!("mcufit_{model}"))
            .expect("a known model");
        let kib = |key: &str| line[format!("{key}_kib")].as_f64();
        let bytes = |key: &str| Some(line[format!("{key}_bytes")].as_f64()? / 1024.0);
        let either = |key: &str| kib(key).or_else(|| bytes(key)).expect("a size");
        Some(StReport {
            file,
            activations_kib: either("activations"),
            weights_kib: either("weights"),
        })
    });
    Some(reports.collect())
}

/// Three of the four are exact in both; the keyword network takes 7 % more RAM there.
#[test]
fn activations_and_weights_are_those_that_st_edge_ai_reports() {
    let (Some(folder), Some(reports)) = (folder(), st_reports()) else {
        return;
    };
    let kib = |bytes: u64| bytes as f64 / 1024.0;
    for report in &reports {
        let bytes = std::fs::read(folder.join(report.file)).unwrap();
        let (activations, weights) = with_graph(&bytes, |graph| {
            let analysis = analyze(graph);
            let activations = activation_ram_bytes(graph, &analysis, StTool::default()).unwrap();
            (activations, weights_flash_bytes(&analysis))
        });
        println!(
            "{:28} activations {:8.2} KiB, ST {:8.2}; weights {:8.2} KiB, ST {:8.2}",
            report.file,
            kib(activations.value),
            report.activations_kib,
            kib(weights),
            report.weights_kib
        );
        let range = kib(activations.lo)..=kib(activations.hi);
        assert!(range.contains(&report.activations_kib), "{}", report.file);
        let off = kib(weights) / report.weights_kib - 1.0;
        assert!(off.abs() < 0.001, "{}: {off}", report.file);
    }
    assert_eq!(reports.len(), 4);
}

/// Networks of ST's model zoo, by the first digits of a file's name in `../shared/models-mcu`, and their activation RAM
/// on an STM32H7 under 8.1 and under 10.0 by the rules of `docs/method/microcontrollers.md`, in bytes. How far these are from
/// ST's own figures `litecast-trainer evaluate-st-memory` prints, because those are not in this repository.
const ZOO_ON_STM32H7: [(&str, [u64; 2]); 6] = [
    ("4ae8ea1e43ef", [72_452, 77_181]),
    ("0bb3704e9c72", [278_592, 286_365]),
    ("a19fbb09ec23", [42_200, 53_753]),
    ("ab692fae141d", [14_464, 17_732]),
    ("7fc992b34c2a", [255_532, 266_725]),
    ("4a005dfd5516", [702_976, 841_912]),
];

/// The newest release is held to ST's reports above.
#[test]
fn older_releases_have_plans_of_their_own() {
    let Some(files) = files() else { return };
    for (digits, expected) in ZOO_ON_STM32H7 {
        let has_digits = |path: &&PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(digits)
        };
        let bytes = std::fs::read(files.iter().find(has_digits).unwrap()).unwrap();
        let releases = [StRelease::V8_1, StRelease::V10_0];
        let estimates = releases.map(|release| {
            let device = StDevice::Stm32H7;
            let tool = StTool { release, device };
            let ram_bytes = |graph: &Graph| activation_ram_bytes(graph, &analyze(graph), tool);
            with_graph(&bytes, ram_bytes).unwrap().value
        });
        println!("{digits}: {estimates:?} bytes");
        assert_eq!(estimates, expected, "{digits}");
    }
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
            request: Request {
                application: Application {
                    ram_bytes,
                    flash_bytes,
                },
                ..Request::default()
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
            let is_short = |room: &Option<Room>| matches!(room, Some(Room::Short { missing_bytes }) if *missing_bytes > 0);
            let is_refused = on.reason.is_some();
            let any_short = is_short(&on.ram) || is_short(&on.flash);
            let is_no = any_short || is_refused;
            assert_eq!(on.fits == Verdict::No, is_no, "{name} on {}", on.id);
        }
    }
    println!(
        "{} files: {n_estimates} estimates, {n_refused} refused, {n_unread} unread",
        files.len()
    );
    assert!(n_estimates > 1000);
}
