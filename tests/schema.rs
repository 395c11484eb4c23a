//! The committed FlatBuffers code against its `schema.fbs`, and that against independent sources.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use litecast_needs::{Need, python, skip};

const SCHEMA: &str = include_str!("../src/formats/tflite/schema.fbs");
const GENERATED: &str = include_str!("../src/formats/tflite/schema_generated.rs");
/// The version that `Cargo.toml` asks of the crate `flatbuffers`; generated code must match it.
const FLATC_VERSION: &str = "25.12.19";

/// Name → number, for one enum or for the vtable offsets of one table.
type Numbers = BTreeMap<String, i64>;

#[derive(Default, Debug, PartialEq)]
struct Declared {
    /// Enums and unions.
    enums: BTreeMap<String, Numbers>,
    tables: BTreeMap<String, Numbers>,
}

/// The declarations of a `.fbs` file in the form that `tools/schema_from_litert.py` writes.
fn declared_in_schema(text: &str) -> Declared {
    let mut declared = Declared::default();
    let unions: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("union ")?.split(' ').next())
        .collect();
    for (head, body) in text
        .split("}\n")
        .filter_map(|block| block.rsplit_once("{\n"))
    {
        let mut words = head.lines().last().unwrap().split(' ');
        let (kind, name) = (words.next().unwrap(), words.next().unwrap().to_owned());
        match kind {
            "table" => declared.tables.insert(name, vtable_offsets(body, &unions)),
            _ => declared.enums.insert(name, members(kind, body)),
        };
    }
    declared
}

fn members(kind: &str, body: &str) -> Numbers {
    let none = (kind == "union").then(|| ("NONE".to_owned(), 0));
    let written = body.lines().map(|line| {
        let (name, number) = line.trim().trim_end_matches(',').split_once(" = ").unwrap();
        (name.to_owned(), number.parse().unwrap())
    });
    none.into_iter().chain(written).collect()
}

/// The first field has offset 4, each later one 2 more; a union takes two, its type first.
fn vtable_offsets(body: &str, unions: &[&str]) -> Numbers {
    let mut offsets = Numbers::new();
    let mut next = 4;
    for line in body.lines() {
        let (field, rest) = line.trim().split_once(':').unwrap();
        let type_name = rest.split([' ', ';']).next().unwrap();
        if unions.contains(&type_name) {
            offsets.insert(format!("{field}_type"), next);
            next += 2;
        }
        if !rest.contains("(deprecated)") {
            offsets.insert(field.to_owned(), next);
        }
        next += 2;
    }
    offsets
}

/// The declarations of the Rust that `flatc` wrote. It appends `_` to Rust's own words (`type_`).
fn declared_in_generated(text: &str) -> Declared {
    let mut declared = Declared::default();
    let mut owner = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = owner_of(line, "pub struct ", '(') {
            owner = name;
            declared.enums.insert(owner.clone(), Numbers::new());
        } else if let Some(name) = owner_of(line, "impl<'a> ::flatbuffers::Follow<'a> for ", '<') {
            owner = name;
            declared.tables.insert(owner.clone(), Numbers::new());
        } else if let Some((name, number)) = constant(line, ": Self = Self(", ");") {
            declared.enums.get_mut(&owner).unwrap().insert(name, number);
        } else if let Some((name, number)) = constant(line, ": ::flatbuffers::VOffsetT = ", ";") {
            let field = name
                .strip_prefix("VT_")
                .unwrap()
                .trim_end_matches('_')
                .to_lowercase();
            declared
                .tables
                .get_mut(&owner)
                .unwrap()
                .insert(field, number);
        }
    }
    declared
}

/// The name between `start` and `end`, where the line has both.
fn owner_of(line: &str, start: &str, end: char) -> Option<String> {
    let name = line.strip_prefix(start)?.split_once(end)?.0;
    name.chars()
        .all(char::is_alphanumeric)
        .then(|| name.to_owned())
}

/// `pub const NAME<middle>NUMBER<end>`.
fn constant(line: &str, middle: &str, end: &str) -> Option<(String, i64)> {
    let (name, number) = line
        .strip_prefix("pub const ")?
        .strip_suffix(end)?
        .split_once(middle)?;
    Some((name.to_owned(), number.parse().ok()?))
}

fn assert_same(
    what: &str,
    schema: &BTreeMap<String, Numbers>,
    generated: &BTreeMap<String, Numbers>,
) {
    for (name, numbers) in schema {
        assert_eq!(Some(numbers), generated.get(name), "{what} `{name}`");
    }
    let (left, right) = (
        schema.keys().collect::<Vec<_>>(),
        generated.keys().collect::<Vec<_>>(),
    );
    assert_eq!(left, right, "names of {what}s");
    let entries: usize = schema.values().map(BTreeMap::len).sum();
    println!("{} {what}s with {entries} entries agree", schema.len());
}

#[test]
fn generated_code_has_the_numbers_of_the_schema() {
    let (schema, generated) = (declared_in_schema(SCHEMA), declared_in_generated(GENERATED));
    assert_eq!(SCHEMA.matches("\ntable ").count(), schema.tables.len());
    assert_same("enum", &schema.enums, &generated.enums);
    assert_same("table", &schema.tables, &generated.tables);
}

/// A renumbered slot or member must not pass.
#[test]
fn a_changed_number_is_noticed() {
    let slot = "pub const VT_SHAPE: ::flatbuffers::VOffsetT = 4;";
    let moved = GENERATED.replacen(slot, &slot.replace('4', "6"), 1);
    assert_ne!(
        declared_in_generated(&moved),
        declared_in_generated(GENERATED)
    );
    let renumbered = SCHEMA.replacen("CONV_2D = 3,", "CONV_2D = 4,", 1);
    assert_ne!(declared_in_schema(&renumbered), declared_in_schema(SCHEMA));
}

#[test]
fn flatc_writes_the_committed_code() {
    let Ok(version) = Command::new("flatc").arg("--version").output() else {
        return skip(Need::Flatc, "no flatc on PATH");
    };
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    if !version.ends_with(FLATC_VERSION) {
        let reason = format!("expected flatc {FLATC_VERSION}, found {version}");
        return skip(Need::Flatc, reason);
    }
    let out = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/formats/tflite/schema.fbs");
    let status = Command::new("flatc")
        .arg("--rust")
        .arg("-o")
        .arg(&out)
        .arg(schema)
        .status();
    assert!(status.unwrap().success());
    let fresh = std::fs::read_to_string(out.join("schema_generated.rs")).unwrap();
    let fresh = of_any_alignment(&fresh);
    assert!(
        fresh == GENERATED,
        "flatc writes other code than src/formats/tflite/schema_generated.rs"
    );
    println!(
        "flatc {FLATC_VERSION} writes the same {} bytes",
        GENERATED.len()
    );
}

#[test]
fn the_litert_package_gives_the_committed_schema() {
    let Some(python) = python("ai_edge_litert") else {
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/schema_from_litert.py");
    let output = Command::new(python).arg(script).output().unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(
        output.stdout == SCHEMA.as_bytes(),
        "tools/schema_from_litert.py writes another schema.fbs"
    );
    println!("ai-edge-litert gives the same {} bytes", SCHEMA.len());
}

/// The crate that reads must be of the version that the code was generated for.
#[test]
fn lock_file_has_the_version_of_the_generated_code() {
    let lock = include_str!("../Cargo.lock").replace("\r\n", "\n");
    let entry = format!("name = \"flatbuffers\"\nversion = \"{FLATC_VERSION}\"");
    assert!(lock.contains(&entry), "expected {entry} in Cargo.lock");
}

/// The verifiers with vectors of 64-bit elements at any address, see `src/formats/tflite/unaligned.rs`.
fn of_any_alignment(generated: &str) -> String {
    let vector = "visit_field::<::flatbuffers::ForwardsUOffset<::flatbuffers::Vector<'_, ";
    let bytes = "crate::formats::tflite::unaligned::Bytes8>>>";
    let mut changed = generated.to_owned();
    for element in ["i64>>>", "u64>>>"] {
        changed = changed.replace(&format!("{vector}{element}"), &format!("{vector}{bytes}"));
    }
    changed
}
