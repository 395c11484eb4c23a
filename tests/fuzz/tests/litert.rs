//! Mutants that LiteRT's interpreter takes are read here as there: tensors, operators and inputs.

use std::path::{Path, PathBuf};
use std::process::Command;

use litecast::formats::tflite::{MAIN_SUBGRAPH, Operator, Subgraph, parse};
use litecast_fuzz::campaign::Mutants;
use litecast_fuzz::check::Target;
use serde_json::{Value, json};

const N_CALLS: u64 = 40;
/// Reasons to refuse a file that LiteRT takes: it looks at options when it allocates tensors, and never at operators
/// that cannot run.
const STRICTER: [&str; 5] = [
    "index-out-of-range",
    "invalid-option",
    "limit-exceeded",
    "malformed",
    // In bits, where LiteRT counts bytes.
    "shape-overflow",
];

#[test]
fn mutants_that_litert_takes_are_read_as_it_reads_them() {
    let Some(python) = litecast_needs::python("ai_edge_litert, numpy") else {
        return;
    };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mutants");
    std::fs::create_dir_all(&folder).unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../www/examples");
    let mutants = Mutants::new(23, &[examples]);
    let files = (0..N_CALLS).flat_map(|call| mutants.of_call(Target::Reader, call));
    let write = |(idx, bytes): (usize, Vec<u8>)| -> PathBuf {
        let path = folder.join(format!("{idx}.tflite"));
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let paths: Vec<PathBuf> = files.enumerate().map(write).collect();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read_with_litert.py");
    let output = Command::new(python)
        .arg(script)
        .args(&paths)
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words}");
    let mut tally = Tally::default();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        tally.compare(&serde_json::from_str(line).unwrap());
    }
    println!("{} mutants: {tally:?}", paths.len());
    assert!(tally.compared > paths.len() / 10 && tally.refused < tally.compared / 4);
}

#[derive(Debug, Default)]
struct Tally {
    /// By both readers.
    compared: usize,
    /// By this reader alone.
    refused: usize,
    not_taken: usize,
    ended_the_process: usize,
}

impl Tally {
    fn compare(&mut self, expected: &Value) {
        let path = expected["file"].as_str().unwrap();
        if expected["signal"].is_number() {
            self.ended_the_process += 1;
            return;
        }
        if expected["error"].is_string() {
            self.not_taken += 1;
            return;
        }
        let bytes = std::fs::read(path).unwrap();
        match parse(&bytes) {
            Ok(model) => {
                compare(&model.subgraphs[MAIN_SUBGRAPH], expected, path);
                self.compared += 1;
            }
            Err(error) => {
                println!("{path}: {error}");
                assert!(STRICTER.contains(&error.kind()), "{path}: {error}");
                self.refused += 1;
            }
        }
    }
}

fn compare(subgraph: &Subgraph, expected: &Value, path: &str) {
    for tensor in expected["tensors"].as_array().unwrap() {
        let idx = tensor["index"].as_u64().unwrap() as usize;
        // Behind those of the file are the kernels' own.
        let Some(actual) = subgraph.tensors.get(idx) else {
            continue;
        };
        let shape = tensor["shape"].as_array().unwrap();
        // A size below 0 is not known before the network runs, and counts as 1 here; LiteRT keeps it.
        let sizes = shape.iter().map(|size| match size.as_i64().unwrap() {
            size if size < 0 => 1,
            size => size,
        });
        let sizes: Vec<i64> = sizes.collect();
        assert_eq!(json!(actual.shape), json!(sizes), "{path}: tensor {idx}");
        let name = actual.tensor_type.name().to_ascii_lowercase();
        let numpy = tensor["type"].as_str().unwrap();
        assert!(
            is_same_type(&name, numpy),
            "{path}: tensor {idx}: {name}, but {numpy}"
        );
    }
    // LiteRT leaves out operators that can never run, and numbers the others anew. Outputs that name no tensor are kept
    // by it alone.
    let mut operators = subgraph.operators.iter();
    for expected in expected["operators"].as_array().unwrap() {
        let outputs = expected["outputs"].as_array().unwrap().iter();
        let outputs: Vec<usize> = outputs
            .filter_map(|idx| usize::try_from(idx.as_i64()?).ok())
            .collect();
        let is_same = |actual: &Operator| {
            let inputs = actual.inputs.iter();
            let inputs: Vec<i64> = inputs
                .map(|input| input.map_or(-1, |idx| idx as i64))
                .collect();
            expected["name"] == actual.code.name()
                && expected["inputs"] == json!(inputs)
                && outputs == actual.outputs
        };
        assert!(operators.any(is_same), "{path}: {expected}");
    }
    assert_eq!(json!(subgraph.inputs), expected["inputs"], "{path}");
}

/// NumPy has no types of less than a byte, no floats of 8 bits, and others for letters, resources and handles.
fn is_same_type(name: &str, numpy: &str) -> bool {
    name == numpy
        || matches!(numpy, "object" | "bytes" | "void")
        || name.contains("int4")
        || name.contains("int2")
        || name.starts_with("float8")
}
