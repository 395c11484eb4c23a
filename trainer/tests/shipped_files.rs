//! Files of fitted constants that the library contains, against the form in which the trainer writes them.

use std::fs;
use std::path::Path;

use anyhow::Result;
use litecast::calibration::PROBES;
use litecast_trainer::evaluate::vela_comparison;
use litecast_trainer::probes;
use litecast_trainer::targets::{cortex_a, cortex_m};
use serde::de::DeserializeOwned;

use crate::examples::contents;

/// `UPDATE_GOLDENS=1` writes the file anew, with the same values.
fn assert_form<T: DeserializeOwned>(file: &str, write: impl Fn(&T) -> Result<String>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../src/targets")
        .join(file);
    let text = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    let written = write(&serde_json::from_str(&text).unwrap()).unwrap();
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(&path, &written).unwrap();
    }
    let text = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    assert!(
        text == written,
        "{file}: expected the form that the trainer writes: run this test with UPDATE_GOLDENS=1"
    );
    println!("{file}: {} bytes", text.len());
}

#[test]
fn networks_to_measure_are_what_the_trainer_writes() {
    for probe in PROBES {
        let written = probes::files(probe.name).unwrap();
        assert_eq!(written.len(), probe.files().len());
        for ((end, written), (name, shipped)) in written.into_iter().zip(probe.files()) {
            assert_eq!(name, format!("{}-{end}", probe.name));
            let is_same = match name.ends_with(".tflite") {
                true => contents(&written) == contents(shipped),
                false => written == shipped,
            };
            assert!(is_same, "{name}: run `litecast-trainer probes`");
            println!("{name}: {} bytes", shipped.len());
        }
    }
}

#[test]
fn constants_have_the_form_that_the_trainer_writes() {
    assert_form("ethos_u/errors.json", vela_comparison::json);
    assert_form("cortex_a/costs.json", cortex_a::json);
    assert_form(
        "cortex_a/single_operators.json",
        cortex_a::single_operators::json,
    );
    assert_form("cortex_a/constants.json", cortex_a::boards::json);
    assert_form("cortex_m/constants.json", cortex_m::json);
}
