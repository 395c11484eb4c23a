//! The deliberate absences of this codebase: what a file must not name, so that each outside
//! library stays behind one door.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Files below `folder` with one of the extensions, as paths relative to the repository.
fn files_below(folder: &str, extensions: &[&str]) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pending = vec![root.join(folder)];
    let mut files = Vec::new();
    while let Some(folder) = pending.pop() {
        for entry in
            fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path
                .extension()
                .is_some_and(|extension| extensions.iter().any(|wanted| extension == *wanted))
            {
                files.push(path.strip_prefix(root).unwrap().to_owned());
            }
        }
    }
    files
}

fn read(file: &Path) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap()
}

/// The code of a line, without a `//` comment.
fn code(line: &str) -> &str {
    line.split("//").next().unwrap_or_default()
}

fn is_word_char(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Whether `text` has `word` at the start of an identifier: `tract` is in `tract_onnx::prelude`,
/// not in `subtract`.
fn names(text: &str, word: &str) -> bool {
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(is_word_char))
}

/// Files below `folder` whose code names one of `words`.
fn files_naming(folder: &str, extensions: &[&str], words: &[&str]) -> BTreeSet<String> {
    files_below(folder, extensions)
        .into_iter()
        .filter(|file| {
            read(file)
                .lines()
                .any(|line| words.iter().any(|word| names(code(line), word)))
        })
        .map(|file| file.to_string_lossy().into_owned())
        .collect()
}

/// Only `allowed` (files, or folders that end in `/`) may be among the files that name a word.
fn check_only(allowed: &[&str], folder: &str, extensions: &[&str], words: &[&str]) {
    let is_allowed = |file: &String| {
        allowed.iter().any(|door| {
            if door.ends_with('/') {
                file.starts_with(door)
            } else {
                file == door
            }
        })
    };
    let naming = files_naming(folder, extensions, words);
    let strangers: Vec<_> = naming.iter().filter(|file| !is_allowed(file)).collect();
    assert!(
        strangers.is_empty(),
        "expected {words:?} only in {allowed:?}, found it in {strangers:?}"
    );
    for door in allowed
        .iter()
        .filter(|door| Path::new(env!("CARGO_MANIFEST_DIR")).join(door).exists())
    {
        assert!(
            naming.iter().any(|file| file.starts_with(door)),
            "expected {words:?} in {door}, found it in {naming:?}: the words this test looks for are out of date"
        );
    }
}

#[test]
fn only_the_border_names_javascript() {
    let words = [
        "wasm_bindgen",
        "js_sys",
        "web_sys",
        "serde_wasm_bindgen",
        "console_error_panic_hook",
    ];
    check_only(
        &["src/wasm.rs", "src/wasm_profiles.rs"],
        "src",
        &["rs"],
        &words,
    );
}

#[test]
fn only_the_network_names_tract() {
    // Its crates: the feature of that name is asked for beside it.
    check_only(&["src/learned/network/"], "src", &["rs"], &["tract_"]);
}

#[test]
fn only_the_border_names_python() {
    check_only(&[], "src", &["rs"], &["pyo3"]);
    check_only(&["python/src/lib.rs"], "python/src", &["rs"], &["pyo3"]);
}

#[test]
fn only_the_reader_and_the_writer_know_flatbuffers() {
    check_only(
        &["src/formats/tflite/"],
        "src",
        &["rs"],
        &["flatbuffers", "schema_generated"],
    );
    check_only(&["trainer/tflite/"], "trainer", &["rs"], &["flatbuffers"]);
}

#[test]
fn the_page_writes_text_and_never_markup() {
    let words = ["innerHTML", "insertAdjacentHTML", "document.write", "eval"];
    check_only(&[], "www/src", &["ts"], &words);
    // Read there, to write a document that was built as nodes into a file.
    check_only(
        &["www/src/export/html.ts"],
        "www/src",
        &["ts"],
        &["outerHTML"],
    );
}

#[test]
fn the_page_names_no_other_machine() {
    // The name of a language, never fetched.
    let svg_namespace = "http://www.w3.org/2000/svg";
    let naming: Vec<_> = files_below("www", &["html", "css"])
        .into_iter()
        .filter(|file| !file.starts_with("www/dist"))
        .filter(|file| read(file).replace(svg_namespace, "").contains("://"))
        .collect();
    assert!(
        naming.is_empty(),
        "expected no address of another machine, found one in {naming:?}"
    );
}

#[test]
fn the_page_forbids_requests_elsewhere() {
    let page = read(Path::new("www/index.html"));
    assert!(page.contains(r#"Content-Security-Policy" content="{{policy}}""#));
    let policy = read(Path::new("www/headers.mjs"));
    for rule in [r#""default-src": "'none'""#, r#""connect-src": "'self'""#] {
        assert!(
            policy.contains(rule),
            "expected {rule} in the policy of www/headers.mjs"
        );
    }
}

#[test]
fn every_test_file_is_in_a_program() {
    for folder in ["tests", "trainer/tests"] {
        let main = read(&Path::new(folder).join("main.rs"));
        for file in files_below(folder, &["rs"]) {
            let stem = file.file_stem().unwrap().to_str().unwrap();
            if file.parent() == Some(Path::new(folder)) && stem != "main" {
                let module = format!("\nmod {stem};\n");
                assert!(
                    main.contains(&module),
                    "{} is in no program",
                    file.display()
                );
            }
        }
    }
}

#[test]
fn no_test_is_ignored() {
    // Written in two parts, so that this file does not name it.
    let attribute = concat!("#[", "ignore");
    let ignoring: Vec<_> = ["src", "trainer/src", "trainer/networks", "tests"]
        .into_iter()
        .flat_map(|folder| files_below(folder, &["rs"]))
        .filter(|file| read(file).contains(attribute))
        .collect();
    assert!(
        ignoring.is_empty(),
        "expected every test to run, found {attribute}] in {ignoring:?}"
    );
}

/// Where the compiler's checks of memory are given up, outside of what `flatc` generated, and why.
const UNSAFE: &[(&str, &str)] = &[
    (
        "src/constructors.rs",
        "the linker's function that runs what tract registers before a program; it has no safe name",
    ),
    (
        "trainer/tflite/src/write.rs",
        "a trait of the crate flatbuffers that writes into a buffer is unsafe to implement",
    ),
    (
        "tests/reader/memory.rs",
        "an allocator that counts; a global allocator is unsafe to implement",
    ),
    ("tests/fuzz/src/memory.rs", "the same for the whole path"),
    (
        "tests/fuzz/benches/work.rs",
        "functions that the compiler's instrumentation calls, and their counts",
    ),
    (
        "trainer/tflite/src/options.rs",
        "reads fields of tables by number, after the verifier has gone over them",
    ),
];

#[test]
fn unsafe_code_is_where_it_is_listed_with_its_reason() {
    let mut names: BTreeSet<String> = BTreeSet::new();
    for folder in [
        "src",
        "trainer/src",
        "trainer/tests",
        "trainer/networks",
        "trainer/tflite",
        "tests",
    ] {
        names.extend(files_naming(folder, &["rs"], &["unsafe "]));
    }
    names.remove("src/formats/tflite/schema_generated.rs");
    // Names the word in this list.
    names.remove("tests/invariants.rs");
    names.retain(|file| !file.contains("/target/"));
    let listed: BTreeSet<String> = UNSAFE.iter().map(|(file, _)| (*file).to_owned()).collect();
    assert_eq!(names, listed);
    for (file, reason) in UNSAFE {
        println!("{file}: {reason}");
    }
}

/// Names under the headers of dependencies of a `Cargo.toml`.
fn crates_of(manifest: &str) -> Vec<String> {
    let mut is_listed = false;
    let mut crates = Vec::new();
    for line in read(Path::new(manifest)).lines() {
        if line.starts_with('[') {
            is_listed = line.ends_with("dependencies]") && line != "[workspace.dependencies]";
        } else if let Some((name, _)) = line.split_once(['.', ' ', '=']).filter(|_| is_listed) {
            crates.push(name.to_owned());
        }
    }
    // The workspace's own.
    crates.retain(|name| !name.is_empty() && !name.starts_with(['#', '"', '}', ']']));
    crates.retain(|name| !name.starts_with("litecast"));
    crates
}

#[test]
fn every_library_is_listed_with_its_reason() {
    let manifests = [
        "Cargo.toml",
        "benches/Cargo.toml",
        "python/Cargo.toml",
        "tests/fuzz/Cargo.toml",
        "tests/fuzz/libfuzzer/Cargo.toml",
        "tests/needs/Cargo.toml",
        "trainer/Cargo.toml",
        "trainer/networks/Cargo.toml",
        "trainer/tflite/Cargo.toml",
    ];
    let mut used: BTreeSet<String> = manifests.into_iter().flat_map(crates_of).collect();
    let packages: serde_json::Value =
        serde_json::from_str(&read(Path::new("package.json"))).expect("package.json is JSON");
    for kind in ["dependencies", "devDependencies"] {
        let of_kind = packages[kind].as_object().into_iter().flatten();
        used.extend(of_kind.map(|(name, _)| name.clone()));
    }
    let requirements = read(Path::new("trainer/python/requirements.txt"));
    let requirements = requirements
        .lines()
        .filter_map(|line| line.split_once("=="));
    used.extend(requirements.map(|(name, _)| name.to_owned()));
    assert!(used.len() > 60, "{used:?}");
    let document = read(Path::new("docs/method/performance.md"));
    let (_, table) = document.split_once("## Libraries").expect("the table");
    let names = table
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
    let listed: BTreeSet<String> = names
        .flat_map(|names| names.split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect();
    assert_eq!(used, listed);
}

/// A tag may be moved to another commit by whoever owns the action.
#[test]
fn actions_of_others_are_pinned_by_commit() {
    let mut n_pinned = 0;
    for file in [
        ".github/workflows/ci.yml",
        ".github/workflows/release.yml",
        "action.yml",
        "examples/ci/workflow.yml",
    ] {
        for line in read(Path::new(file)).lines() {
            let uses = line.trim_start().trim_start_matches("- ");
            let Some(action) = uses.strip_prefix("uses: ") else {
                continue;
            };
            // A placeholder for this repository.
            if action.starts_with("OWNER/") {
                continue;
            }
            let (_, version) = action.split_once('@').expect("a version");
            let (commit, comment) = version.split_once(" # ").unwrap_or((version, ""));
            let is_commit = commit.len() == 40 && commit.bytes().all(|b| b.is_ascii_hexdigit());
            assert!(
                is_commit && comment.starts_with('v'),
                "{file}: expected a commit of 40 digits and its version behind `#`, found {action}"
            );
            n_pinned += 1;
        }
    }
    assert!(n_pinned >= 20, "{n_pinned}");
    let workflow = read(Path::new(".github/workflows/ci.yml"));
    assert!(workflow.contains("tools/reproduce-wasm.sh"));
}
