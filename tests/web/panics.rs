//! A panic, which is always a defect, is reported as a readable line of the console.

use js_sys::{Array, Function, Reflect};
use litecast::wasm::report_panics;
use wasm_bindgen::prelude::*;
use wasm_bindgen_test::wasm_bindgen_test;

#[wasm_bindgen_test]
fn a_panic_is_reported_on_the_console() {
    // The runner's own hook is not put back: a thread that panicked may not change the hook. Failures of other tests
    // are written to the console then too.
    report_panics();
    let console = Reflect::get(&js_sys::global(), &"console".into()).unwrap();
    let console_error = Reflect::get(&console, &"error".into()).unwrap();
    let collect = Function::new_no_args(
        "const lines = []; console.error = (...words) => { lines.push(words.join(' ')); }; return lines;",
    );
    let lines: Array = collect.call0(&JsValue::NULL).unwrap().unchecked_into();
    let panics = Closure::<dyn Fn()>::new(|| panic!("a defect for a test"));
    let attempt = Function::new_with_args(
        "panics",
        "try { panics(); return false; } catch { return true; }",
    );
    let is_thrown = attempt.call1(&JsValue::NULL, panics.as_ref()).unwrap();
    panics.forget();
    Reflect::set(&console, &"error".into(), &console_error).unwrap();
    assert!(is_thrown.is_truthy(), "the panic ended the call");
    let reported = String::from(lines.join("\n"));
    assert!(reported.contains("a defect for a test"), "{reported}");
    assert!(
        reported.contains("panics.rs"),
        "without its place: {reported}"
    );
}
