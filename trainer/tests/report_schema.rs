//! What is published of a report's types against the types that are written.

use std::fs;
use std::path::Path;

/// `UPDATE_GOLDENS=1` writes the file anew.
fn assert_published(file: &str, derived: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(file);
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(&path, derived).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    assert!(
        published == derived,
        "{file}: expected what the types say: run this test with UPDATE_GOLDENS=1, and look at what changed"
    );
    println!("{file}: {} bytes", derived.len());
}

#[test]
fn the_published_schema_is_what_the_types_say() {
    let schema = serde_json::to_string_pretty(&litecast::report::derived_schema()).unwrap() + "\n";
    assert_published("src/report/report.schema.json", &schema);
}

#[test]
fn the_published_schema_of_a_device_is_what_its_types_say() {
    let schema = litecast::calibration::derived_device_schema();
    let schema = serde_json::to_string_pretty(&schema).unwrap() + "\n";
    assert_published("src/calibration/device.schema.json", &schema);
}

#[test]
fn the_types_of_the_package_are_those_of_the_crate() {
    let types = litecast::report::derived_types();
    assert_published("www/package/types/report.d.ts", &types);
}
