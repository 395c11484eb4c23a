//! The published schema of a report against the types that are written.

use std::fs;
use std::path::Path;

/// `UPDATE_GOLDENS=1` writes the schema anew.
#[test]
fn the_published_schema_is_what_the_types_say() {
    let derived = serde_json::to_string_pretty(&litecast::report::derived_schema()).unwrap() + "\n";
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../src/report/report.schema.json");
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        fs::write(&path, &derived).unwrap();
    }
    let published = fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    assert!(
        published == derived,
        "expected the schema of the types: run this test with UPDATE_GOLDENS=1, and look at what changed"
    );
    println!("{} bytes", derived.len());
}
