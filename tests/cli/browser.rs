//! What the command prints, for the browser's tests to compare with: a browser cannot run the command.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::{json_lines, litecast};

#[path = "../web/printed.rs"]
mod printed;

/// One file of each format, and what is estimated of it: by target and metric the value and the interval as printed.
const PRINTED: &str = "tests/web/printed.json";

type Printed = BTreeMap<String, BTreeMap<String, String>>;

/// `tests/web/engine.rs` has the module print the same.
#[test]
fn the_browser_is_compared_with_what_the_command_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let recorded = fs::read_to_string(root.join(PRINTED)).expect("the recorded numbers");
    let recorded: Printed = serde_json::from_str(&recorded).expect("a table by file");
    let printed: Printed = recorded
        .keys()
        .map(|file| (file.clone(), printed_of(&root.join(file))))
        .collect();
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        let text = serde_json::to_string_pretty(&printed).expect("a table is JSON");
        fs::write(root.join(PRINTED), text + "\n").expect("the table is written");
        return;
    }
    for (file, numbers) in &printed {
        assert!(numbers.len() > 10, "{file}: only {numbers:?}");
        assert_eq!(
            *numbers, recorded[file],
            "{file}: UPDATE_GOLDENS=1 records these anew"
        );
    }
}

fn printed_of(file: &Path) -> BTreeMap<String, String> {
    let output = litecast(&["predict", "--json", super::path(file)]);
    let reports = json_lines(&output);
    let results = reports[0]["results"].as_array().expect("results");
    results.iter().filter_map(printed::estimate).collect()
}
