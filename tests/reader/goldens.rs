//! Each case of `cases.rs` against its golden; `UPDATE_GOLDENS=1` rewrites them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cases::{CASES, Case};
use crate::render::render;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/reader/goldens")
}

fn check(file_name: &str, actual: &str) -> Option<String> {
    let path = folder().join(file_name);
    if std::env::var_os("UPDATE_GOLDENS").is_some() {
        std::fs::write(path, actual).unwrap();
        return None;
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    (expected != actual).then(|| format!("{file_name}\nexpected:\n{expected}found:\n{actual}"))
}

fn index() -> String {
    let mut index = String::from(
        "Goldens of the reader, one a case of `../cases.rs`; `UPDATE_GOLDENS=1 cargo test --test \
         reader` rewrites them.\n\n",
    );
    for Case { id, why, .. } in CASES {
        index += &format!("- `{id}` {why}\n");
    }
    index
}

#[test]
fn cases_give_their_goldens() {
    let mut different = Vec::new();
    different.extend(check("README.md", &index()));
    for Case { id, file, .. } in CASES {
        let bytes = file();
        let text = render(&litecast::formats::tflite::parse(&bytes));
        let is_refused = text.starts_with("error ");
        assert_eq!(is_refused, id.starts_with("REFUSE"), "{id}: {text}");
        different.extend(check(&format!("{id}.txt"), &text));
    }
    assert!(different.is_empty(), "{}", different.join("\n"));
    println!("{} cases agree", CASES.len());
}

/// A golden that no case writes any more would never be looked at.
#[test]
fn every_golden_has_a_case() {
    let expected: BTreeSet<String> = CASES
        .iter()
        .map(|case| format!("{}.txt", case.id))
        .collect();
    assert_eq!(expected.len(), CASES.len(), "two cases of one name");
    let entries = std::fs::read_dir(folder()).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let actual: BTreeSet<String> = names.filter(|name| name != "README.md").collect();
    assert_eq!(expected, actual);
}
