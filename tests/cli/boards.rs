//! `boards`: a verdict is "yes" only where the model runs and has room.

use litecast_needs::shared;
use serde_json::Value;

use crate::{examples, json_lines, litecast, path, stdout};

fn on_boards(args: &[&str]) -> Value {
    json_lines(&litecast(&[&["boards", "--json"], args].concat())).remove(0)
}

fn boards(fits: &Value) -> &Vec<Value> {
    fits["boards"].as_array().unwrap()
}

fn count(fits: &Value, verdict: &str) -> usize {
    let on_boards = boards(fits).iter();
    on_boards.filter(|on| on["fits"] == verdict).count()
}

#[test]
fn the_size_of_a_quantised_file_is_that_before() {
    let Some(floats) = shared("models/tiny__vww_96_float.tflite") else {
        return;
    };
    for (args, is_before) in [(&["facts", "--int8"][..], true), (&["facts"], false)] {
        let text = stdout(&litecast(&[args, &[path(&floats)]].concat()));
        println!("{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(
            words.contains("846 KiB file before it is quantised"),
            is_before
        );
        assert!(words.contains("846 KiB file"), "{words}");
    }
}

/// MLPerf Tiny has both a file of floats and the int8 file that its submitters made of it.
#[test]
fn a_float_file_as_int8_needs_what_its_int8_file_needs() {
    for (floats, int8, n_precise) in [
        (
            "models/tiny__ad01_fp32.tflite",
            "models-mcu/tiny__ad01_int8.tflite",
            40,
        ),
        (
            "models/tiny__vww_96_float.tflite",
            "models/tiny__vww_96_int8.tflite",
            10,
        ),
    ] {
        let (Some(floats), Some(int8)) = (shared(floats), shared(int8)) else {
            return;
        };
        let converted = on_boards(&["--int8", path(&floats)]);
        let real = on_boards(&[path(&int8)]);
        let bytes = |fits: &Value, field: &str| fits["need"][field].as_u64().unwrap();
        let number = |field: &str| [&converted, &real].map(|fits| bytes(fits, field));
        let [arena, real_arena] = number("arena_bytes");
        let [file, real_file] = number("file_bytes");
        let most = bytes(&converted, "max_file_bytes");
        println!(
            "arena {arena} beside {real_arena}, file {file} (at most {most}) beside {real_file}"
        );
        assert!(arena.abs_diff(real_arena) <= 2048.max(real_arena * 6 / 100));
        assert!(file.abs_diff(real_file) <= most - file);
        assert!(real["need"]["max_file_bytes"].is_null());
        assert!(count(&converted, "yes") >= n_precise, "{converted}");
        let words = stdout(&litecast(&["boards", "--int8", path(&floats)]));
        assert!(words.contains("which has yet to be written"), "{words}");
    }
}

/// The arena of this file may be larger than the RAM of three boards by the interval that its estimate states.
#[test]
fn a_verdict_is_close_where_the_largest_arena_or_a_stack_has_no_room() {
    let Some(file) = shared("cases/deconv_s3_int8.tflite") else {
        return;
    };
    let fits = on_boards(&[path(&file)]);
    let need = |field: &str| fits["need"][field].as_u64().unwrap();
    let most = need("max_arena_bytes") + need("stack_bytes");
    let mut n_close = 0;
    for on in boards(&fits) {
        let Some(left_bytes) = on["ram"]["left_bytes"].as_u64() else {
            continue;
        };
        if need("arena_bytes") + left_bytes < most {
            assert_eq!(on["fits"], "close", "{on}");
            n_close += 1;
        }
    }
    println!("close on {n_close} boards");
    assert!(n_close > 0);
}

#[test]
fn a_file_that_does_not_run_has_no_arena_rooms_or_kernels() {
    for name in ["small_uint8", "tile_int8"] {
        let Some(file) = shared(&format!("cases/{name}.tflite")) else {
            return;
        };
        let fits = on_boards(&[path(&file)]);
        let need = &fits["need"];
        assert!(
            need["obstacle"].is_string() && need["arena_bytes"].is_null(),
            "{need}"
        );
        assert_eq!(need["kernels"].as_array().unwrap().len(), 0);
        for on in boards(&fits) {
            assert!(
                on["ram"].is_null() && on["flash"].is_null() && on["latency"].is_null(),
                "{on}"
            );
            assert!(on["reason"].is_string() && on["fits"] == "no", "{on}");
        }
        let words = stdout(&litecast(&["boards", path(&file)]));
        for absent in [" arena", "MicroMutableOpResolver", " KiB short"] {
            assert!(!words.contains(absent), "{absent}: {words}");
        }
    }
}

/// The interpreter reads the shapes that the file stores, not those of the command line.
#[test]
fn given_sizes_do_not_make_a_file_run() {
    let Some(file) = shared("cases/dynamic_batch_space_to_batch_float.tflite") else {
        return;
    };
    for sizes in [&[][..], &["--dim", "0.0=2"]] {
        let fits = on_boards(&[sizes, &[path(&file)]].concat());
        let words = fits["need"]["obstacle"].as_str().unwrap();
        assert!(
            words.ends_with("stores the shape of every tensor"),
            "{words}"
        );
        assert_eq!(count(&fits, "yes"), 0);
    }
}

#[test]
fn every_board_that_runs_a_model_has_a_latency_or_says_why_not() {
    let file = examples().remove(0);
    let fits = on_boards(&[path(&file)]);
    let mut reasons: Vec<&str> = Vec::new();
    for on in boards(&fits) {
        let reason = on["no_latency"]["reason"].as_str();
        assert_ne!(on["latency"].is_null(), reason.is_none(), "{on}");
        reasons.extend(reason);
    }
    println!("{reasons:?}");
    assert!(reasons.contains(&"core-never-measured"));
    let words = stdout(&litecast(&["boards", path(&file)]));
    assert!(
        words.contains("? on ") && words.contains(" was measured"),
        "{words}"
    );
}

/// Weights are weights under each runtime, and the file has a name of its own.
#[test]
fn flash_of_weights_and_of_the_file_are_two_numbers() {
    let file = examples().remove(0);
    let targets = [
        "--target",
        "cortex-m7-tflm",
        "--target",
        "cortex-m7-stm32h747",
    ];
    let report = litecast(&[&["predict", "--json"], &targets[..], &[path(&file)]].concat());
    let report = json_lines(&report).remove(0);
    let value = |target: &str, metric: &str| {
        let mut results = report["results"].as_array().unwrap().iter();
        results
            .find(|one| one["target"] == target && one["metric"] == metric)
            .map(|one| one["value"].clone())
    };
    let weights = value("cortex-m7-tflm", "weights_flash");
    assert_eq!(weights, Some(report["model"]["weight_bytes"].clone()));
    assert_eq!(weights, value("cortex-m7-stm32h747", "weights_flash"));
    let whole = value("cortex-m7-tflm", "file_flash");
    assert_eq!(whole, Some(report["model"]["file_bytes"].clone()));
    assert_eq!(value("cortex-m7-stm32h747", "file_flash"), None);
    let limits = ["--max-weights-flash", "1GiB", "--max-file-flash", "1KiB"];
    let check = litecast(&[&["check"], &targets[..2], &limits[..], &[path(&file)]].concat());
    let words = stdout(&check);
    assert!(
        words.contains("file flash") && words.contains("OVER"),
        "{words}"
    );
}

/// A core that nobody measured has no latency, and every other board has its own.
#[test]
fn an_unmeasured_board_has_its_memory_and_a_reason() {
    let file = examples().remove(0);
    let chosen = [
        "predict", "--json", "--board", "ek-ra6m4", "--board", "ek-ra8m1",
    ];
    let report = json_lines(&litecast(&[&chosen[..], &[path(&file)]].concat())).remove(0);
    let result = |target: &str, metric: &str| {
        let results = report["results"].as_array().unwrap().iter();
        let mut results = results.filter(|result| result["metric"] == metric);
        results
            .find(|result| result["target"] == target)
            .unwrap()
            .clone()
    };
    assert!(result("ek-ra6m4/cortex-m33-tflm", "latency")["value"].is_number());
    let unmeasured = "ek-ra8m1/tflite-micro";
    let latency = result(unmeasured, "latency");
    assert_eq!(latency["reason"], "core-never-measured", "{latency}");
    for metric in ["arena", "file_flash", "weights_flash"] {
        let other = result("ek-ra6m4/cortex-m33-tflm", metric);
        assert_eq!(
            result(unmeasured, metric)["value"],
            other["value"],
            "{metric}"
        );
    }
    let release = ["predict", "--board", "ek-ra8m1", "--release", "9"];
    let refused = litecast(&[&release[..], &[path(&file)]].concat());
    assert_eq!(refused.status.code(), Some(2), "{}", stdout(&refused));
}

/// Boards by their names in the table of measured boards: none of them is estimated as one that nobody measured.
#[test]
fn measured_boards_are_not_transferred() {
    let names = [
        ("B-U585I-IOT02A", "b-u585i-iot02a"),
        ("NUCLEO-L4R5ZI", "nucleo-l4r5zi"),
        ("NUCLEO-U385RG-Q", "nucleo-u385rg-q"),
        ("STM32F769I-DISCO", "stm32f769i-disco"),
        ("STM32H747I-DISCO", "stm32h747i-disco"),
        ("Arduino Nano 33 BLE", "arduino-nano-33-ble"),
        ("EK-RA6M4", "ek-ra6m4"),
        ("MCX N947", "frdm-mcxn947"),
        ("i.MX RT1050", "mimxrt1050-evkb"),
        ("i.MX RT1170", "mimxrt1170-evk"),
        ("ESP32 DevKit", "esp32-devkitc"),
        ("STM32N6 Nucleo", "nucleo-n657x0-q"),
        ("STM32N6570-DK", "stm32n6570-dk"),
    ];
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let results = std::fs::read_to_string(root.join("trainer/results/mcu.md")).unwrap();
    let (_, table) = results.split_once("## By board\n").unwrap();
    let (table, _) = table.split_once("\n## ").unwrap();
    let file = examples().remove(0);
    let mut n_boards = 0;
    for row in table.lines().filter(|row| row.starts_with("| ")).skip(2) {
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        let (runtime, board) = (cells[1], cells[2]);
        let id = names.iter().find(|(name, _)| *name == board);
        let (_, id) = id.unwrap_or_else(|| panic!("{board} has no id here"));
        let runtime = match runtime {
            "st-edge-ai" | "neural-art" => "st-edge-ai",
            _ => "tflite-micro",
        };
        let chosen = ["predict", "--json", "--board", id, "--runtime", runtime];
        let report = json_lines(&litecast(&[&chosen[..], &[path(&file)]].concat())).remove(0);
        let result = &report["results"][0];
        let device = result["device"].as_str().unwrap();
        println!("{board}, {runtime}: {device}");
        assert!(!device.contains("transferred"), "{result}");
        n_boards += 1;
    }
    assert!(n_boards >= 14, "{n_boards}");
}

/// An arena is one array. The sizes are those of ST's reference manuals: AXI SRAM of an STM32H743 (RM0433) and of an
/// STM32H723 with what its instruction TCM can share (RM0468), SRAM1 of an STM32L476 (RM0351).
#[test]
fn an_arena_needs_ram_in_one_piece() {
    let Some(large) = shared("models-mcu/62cabd436aa6__mobilenet_v1_0.5_224_fft_int8.tflite")
    else {
        return;
    };
    let Some(small) = shared("models/tiny__vww_96_int8.tflite") else {
        return;
    };
    for (file, id, piece_kib, verdict) in [
        (&large, "nucleo-h743zi", 512, "no"),
        (&large, "nucleo-h723zg", 320, "no"),
        (&large, "nucleo-h7a3zi-q", 1024, "yes"),
        (&small, "nucleo-l476rg", 96, "no"),
        (&small, "nucleo-h743zi", 512, "yes"),
        (&large, "portenta-h7", 512, "yes"),
    ] {
        let fits = on_boards(&[path(file)]);
        let arena_bytes = fits["need"]["arena_bytes"].as_u64().unwrap();
        let on = boards(&fits).iter().find(|on| on["id"] == id).unwrap();
        println!("{id}: arena {arena_bytes}, {on}");
        assert_eq!(on["contiguous_ram_bytes"], piece_kib << 10);
        assert_eq!(on["fits"], verdict);
        match on["ram"]["room"].as_str().unwrap() {
            "short" => {
                let missing_bytes = on["ram"]["missing_bytes"].as_u64().unwrap();
                let largest = piece_kib << 10;
                assert_eq!(missing_bytes, arena_bytes - largest);
            }
            "external" => assert!(arena_bytes > piece_kib << 10),
            _ => assert!(arena_bytes <= piece_kib << 10),
        }
    }
    let text = stdout(&litecast(&["boards", path(&large)]));
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let named = "ST NUCLEO-H743ZI2 (512 KiB of 1.03 MiB)";
    assert!(
        words.contains("the arena needs RAM in one piece") && words.contains(named),
        "{text}"
    );
    let limited = [
        "check",
        "--json",
        "--board=nucleo-h743zi",
        "--runtime=tflite-micro",
    ];
    let limit = ["--max-arena=2MiB", path(&large)];
    let output = litecast(&[&limited[..], &limit].concat());
    let checked = json_lines(&output).remove(0);
    let limits = checked["limits"].as_array().unwrap();
    let piece = limits
        .iter()
        .find(|limit| limit["metric"] == "board_ram_piece");
    println!("{checked}");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(piece.unwrap()["limit"].as_f64(), Some(524_288.0));
}
