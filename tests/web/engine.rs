//! What JavaScript calls, as the page and the npm package call it: numbers, errors, memory.

use std::collections::BTreeMap;

use js_sys::{Array, Object, Reflect, Uint8Array};
use litecast::wasm::Engine;
use serde_json::Value;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::{console_log, wasm_bindgen_test};

use crate::{bundle, printed};

/// A file of each format, as `printed.json` names them.
const FILES: [(&str, &[u8]); 3] = [
    (
        "www/examples/cnn-kws-s7-i43.tflite",
        include_bytes!("../../www/examples/cnn-kws-s7-i43.tflite"),
    ),
    (
        "tests/web/convolutions.onnx",
        include_bytes!("convolutions.onnx"),
    ),
    (
        "tests/web/convolution.json",
        include_bytes!("convolution.json"),
    ),
];

/// Of the native command, which `tests/cli/browser.rs` writes.
const PRINTED: &str = include_str!("printed.json");

fn field(object: &JsValue, name: &str) -> JsValue {
    Reflect::get(object, &name.into()).unwrap()
}

fn text(object: &JsValue, name: &str) -> String {
    field(object, name).as_string().unwrap_or_default()
}

/// The list of one file that an estimate takes.
fn files(name: &str, bytes: &[u8]) -> Array {
    let file = Object::new();
    let fields: [(&str, JsValue); 4] = [
        ("name", name.into()),
        ("bytes", Uint8Array::from(bytes).into()),
        ("batch", 1.into()),
        ("threads", 1.into()),
    ];
    for (name, value) in fields {
        Reflect::set(&file, &name.into(), &value).unwrap();
    }
    Array::of1(&file)
}

/// With the shipped bundle.
fn engine() -> Engine {
    let mut engine = Engine::new();
    let network = bundle::NETWORK.to_vec();
    let is_loaded = engine.load_predictor(network, bundle::MANIFEST.to_owned());
    is_loaded.expect("the module loads the shipped network");
    engine
}

/// A report, or the error in its place.
fn estimate(engine: &Engine, name: &str, bytes: &[u8]) -> JsValue {
    let reports = engine.estimate_many(files(name, bytes), None, true, false);
    reports.unwrap().get(0)
}

#[wasm_bindgen_test]
fn numbers_are_those_of_the_command_to_the_last_printed_digit() {
    let expected: BTreeMap<String, BTreeMap<String, String>> =
        serde_json::from_str(PRINTED).unwrap();
    assert_eq!(expected.len(), FILES.len());
    let engine = engine();
    for (name, bytes) in FILES {
        let report = estimate(&engine, name, bytes);
        let report = js_sys::JSON::stringify(&report).unwrap();
        let report: Value = serde_json::from_str(&String::from(report)).unwrap();
        let results = report["results"].as_array().unwrap();
        let numbers: BTreeMap<String, String> =
            results.iter().filter_map(printed::estimate).collect();
        console_log!("{name}: {} numbers", numbers.len());
        assert_eq!(numbers, expected[name], "{name}");
    }
}

#[wasm_bindgen_test]
fn constants_of_gpus_are_loaded_on_request() {
    let mut engine = engine();
    let choice = || js_sys::JSON::parse(r#"[{"target": "rtx-3090"}]"#).unwrap();
    let refused = engine.choose(choice()).unwrap_err();
    assert_eq!(text(&refused, "kind"), "unknown-target");
    let gpus: Array = engine.load_gpus(bundle::GPUS).unwrap().unchecked_into();
    assert!(gpus.length() > 0);
    let chosen = engine.choose(choice()).unwrap();
    let (name, bytes) = FILES[1];
    let reports = engine.estimate_many(files(name, bytes), Some(chosen), false, true);
    let report = reports.unwrap().get(0);
    let results: Array = field(&report, "results").unchecked_into();
    assert!(results.length() > 0, "{report:?}");
}

#[wasm_bindgen_test]
fn errors_have_a_kind() {
    let mut engine = Engine::new();
    let wrong_network = engine.load_predictor(vec![0; 64], bundle::MANIFEST.to_owned());
    let wrong_manifest = engine.load_predictor(bundle::NETWORK.to_vec(), "{}".to_owned());
    let no_file = engine.estimate_many(Array::of1(&JsValue::NULL), None, false, false);
    let cases = [
        (wrong_network.unwrap_err(), "predictor-network"),
        (wrong_manifest.unwrap_err(), "predictor-manifest"),
        (no_file.unwrap_err(), "wrong-argument"),
        (estimate(&engine, "x.tflite", b"no model"), "not-tflite"),
        (
            estimate(&engine, "x.tflite", &FILES[0].1[..1000]),
            "truncated",
        ),
    ];
    for (error, kind) in cases {
        assert!(error.is_instance_of::<js_sys::Error>(), "{kind}: {error:?}");
        assert_eq!(text(&error, "kind"), kind, "{error:?}");
        assert!(!text(&error, "message").is_empty(), "{kind}");
    }
}

/// Bytes of the module's memory, which never shrinks.
fn memory_bytes() -> u32 {
    let memory: js_sys::WebAssembly::Memory = wasm_bindgen::memory().unchecked_into();
    memory
        .buffer()
        .unchecked_into::<js_sys::ArrayBuffer>()
        .byte_length()
}

/// What a report, an engine and a refused file took serves the next ones.
#[wasm_bindgen_test]
fn memory_is_released() {
    let use_once = || {
        let engine = engine();
        for (name, bytes) in FILES {
            estimate(&engine, name, bytes);
            estimate(&engine, name, &bytes[..bytes.len() / 2]);
        }
    };
    for _ in 0..3 {
        use_once();
    }
    let before = memory_bytes();
    for _ in 0..10 {
        use_once();
    }
    let after = memory_bytes();
    console_log!("{before} bytes of memory, {after} after ten more uses");
    assert!(after <= before + before / 10, "{before} to {after} bytes");
}
