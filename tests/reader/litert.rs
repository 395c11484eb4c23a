//! The reader against LiteRT's own (its generated Python module): names, shapes, types, options,
//! quantisation and buffers of the shared models, and of a file with every kind of options.

use std::path::{Path, PathBuf};
use std::process::Command;

use litecast::formats::tflite::{
    BuiltinOptions, CustomOptions, Model, Operator, Subgraph, Tensor, parse,
};
use serde_json::{Value, json};

/// Values that were compared.
#[derive(Default, Debug)]
struct Compared {
    subgraphs: usize,
    tensors: usize,
    operators: usize,
    typed_options: usize,
    option_fields: usize,
    custom_options: usize,
    buffers: usize,
}

/// What LiteRT reads in `files`, or nothing where there is no Python with it.
fn dump(arguments: &[&str], files: &[PathBuf]) -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(python) = litecast_needs::python("ai_edge_litert") else {
        return Vec::new();
    };
    let script = root.join("tests/reader/dump_with_litert.py");
    let output = Command::new(python)
        .arg(script)
        .args(arguments)
        .args(files)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let lines = String::from_utf8(output.stdout).unwrap();
    lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn shared_models_are_read_as_litert_reads_them() {
    let files = crate::shared_models();
    if files.is_empty() {
        return;
    }
    let mut compared = Compared::default();
    for expected in dump(&[], &files) {
        let path = expected["file"].as_str().unwrap();
        let file = std::fs::read(path).unwrap();
        compared.model(&parse(&file).unwrap(), &expected, path);
    }
    println!("{} shared models: {compared:?}", files.len());
}

#[test]
fn every_kind_of_options_is_read_as_litert_writes_it() {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("every_kind_of_options.tflite");
    let mut compared = Compared::default();
    for expected in dump(&["--write-options"], std::slice::from_ref(&path)) {
        let file = std::fs::read(&path).unwrap();
        compared.model(&parse(&file).unwrap(), &expected, "every kind of options");
        // All members of both unions that `BuiltinOptions` has fields for.
        assert_eq!(compared.typed_options, 59, "{compared:?}");
    }
    println!("{compared:?}");
}

/// Another way to count what a sparse tensor stores: the length of its buffer.
#[test]
fn sparse_tensors_store_as_many_values_as_their_buffers_hold() {
    let (mut n_sparse, mut n_values) = (0, 0);
    for path in crate::shared_models() {
        let file = std::fs::read(&path).unwrap();
        let model = parse(&file).unwrap();
        for tensor in model
            .subgraphs
            .iter()
            .flat_map(|subgraph| &subgraph.tensors)
        {
            let Some(sparsity) = &tensor.sparsity else {
                continue;
            };
            let stored_values = sparsity.stored_values.unwrap();
            let bits = stored_values * u64::from(tensor.tensor_type.bits_per_value().unwrap());
            assert_eq!(
                bits.div_ceil(8),
                model.buffers[tensor.buffer_idx].n_bytes(),
                "{}",
                tensor.name
            );
            n_sparse += 1;
            n_values += stored_values;
        }
    }
    println!("{n_sparse} sparse tensors with {n_values} values");
}

impl Compared {
    fn model(&mut self, model: &Model, expected: &Value, file: &str) {
        assert_eq!(expected["version"], model.version, "{file}");
        assert_eq!(expected["description"], model.description, "{file}");
        let metadata: Vec<Value> = model
            .metadata
            .iter()
            .map(|m| json!([m.name, m.buffer_idx]))
            .collect();
        assert_eq!(expected["metadata"], Value::Array(metadata), "{file}");
        let signatures: Vec<Value> = model
            .signatures
            .iter()
            .map(|s| json!([s.key, s.subgraph_idx]))
            .collect();
        assert_eq!(expected["signatures"], Value::Array(signatures), "{file}");
        let buffers: Vec<usize> = model
            .buffers
            .iter()
            .map(|contents| contents.bytes().len())
            .collect();
        assert_eq!(expected["buffers"], json!(buffers), "{file}");
        self.buffers += buffers.len();
        let subgraphs = expected["subgraphs"].as_array().unwrap();
        assert_eq!(subgraphs.len(), model.subgraphs.len(), "{file}");
        for (idx, (subgraph, expected)) in model.subgraphs.iter().zip(subgraphs).enumerate() {
            self.subgraph(subgraph, expected, &format!("{file}, subgraph {idx}"));
        }
    }

    fn subgraph(&mut self, subgraph: &Subgraph, expected: &Value, place: &str) {
        self.subgraphs += 1;
        assert_eq!(expected["name"], subgraph.name, "{place}");
        assert_eq!(expected["inputs"], json!(subgraph.inputs), "{place}");
        assert_eq!(expected["outputs"], json!(subgraph.outputs), "{place}");
        let tensors = expected["tensors"].as_array().unwrap();
        assert_eq!(tensors.len(), subgraph.tensors.len(), "{place}");
        for (idx, (tensor, expected)) in subgraph.tensors.iter().zip(tensors).enumerate() {
            self.tensors += 1;
            assert_tensor(tensor, expected, &format!("{place}, tensor {idx}"));
        }
        let operators = expected["operators"].as_array().unwrap();
        assert_eq!(operators.len(), subgraph.operators.len(), "{place}");
        for (idx, (operator, expected)) in subgraph.operators.iter().zip(operators).enumerate() {
            self.operators += 1;
            assert_operator(operator, expected, &format!("{place}, operator {idx}"));
            if let BuiltinOptions::Custom(CustomOptions(bytes)) = &operator.options {
                self.custom_options += 1;
                assert_eq!(expected["custom_options"], json!(bytes), "{place}");
                continue;
            }
            let options = format!("{:?}", operator.options);
            self.options(
                &options,
                &expected["options"],
                &format!("{place}, operator {idx}"),
            );
        }
    }

    /// `options` is what `Debug` writes: `Name { field: value, … }`, or `Name(Name { … })` of boxed ones.
    fn options(&mut self, options: &str, expected: &Value, place: &str) {
        let boxed = options
            .split_once('(')
            .filter(|(name, written)| written.starts_with(name));
        let options = boxed.map_or(options, |(_, written)| {
            written.strip_suffix(')').expect("its end")
        });
        let (name, fields) = options.split_once(" { ").unwrap_or((options, ""));
        match name {
            "Absent" => return assert!(expected.is_null(), "{place}: {options}, but {expected}"),
            "Other" => return assert!(expected.is_object(), "{place}: {options}, but {expected}"),
            _ => self.typed_options += 1,
        }
        let kind = plain(
            expected["kind"]
                .as_str()
                .unwrap()
                .trim_end_matches("Options"),
        );
        let is_kind = kind == plain(name) || kind == format!("stablehlo{}", plain(name));
        assert!(
            is_kind || name == "StablehloBody",
            "{place}: {options}, but {expected}"
        );
        for field in split(fields.trim_end_matches(" }")) {
            self.option_fields += 1;
            let (field, actual) = field.split_once(": ").unwrap();
            if field == "has_unknown_weights" {
                // A number where the schema names no such order.
                let order = expected["fields"]["weights_format"].as_str().unwrap();
                let is_known = order.parse::<i64>().is_err();
                assert_eq!(actual, (!is_known).to_string(), "{place}");
                continue;
            }
            let expected = option_field(&expected["fields"], field, place);
            assert!(
                same(actual, expected),
                "{place}: {field} {actual}, but {expected}"
            );
        }
    }
}

fn assert_tensor(tensor: &Tensor, expected: &Value, place: &str) {
    assert_eq!(expected["name"], *tensor.name, "{place}");
    assert_eq!(expected["type"], tensor.tensor_type.name(), "{place}");
    assert_eq!(expected["shape"], json!(tensor.shape), "{place}");
    assert_eq!(
        expected["shape_signature"],
        json!(tensor.shape_signature),
        "{place}"
    );
    assert_eq!(expected["buffer"], tensor.buffer_idx, "{place}");
    assert_eq!(expected["is_variable"], tensor.is_variable, "{place}");
    assert_quantization(tensor, &expected["quantization"], place);
    let sparsity = tensor.sparsity.as_ref();
    let sparsity =
        sparsity.map(|s| json!({"traversal_order": s.traversal_order, "block_map": s.block_map}));
    assert_eq!(expected["sparsity"], json!(sparsity), "{place}");
}

/// JSON keeps floats to the last bit or the one before it: they are compared as the 32 bits that
/// the file has.
fn assert_quantization(tensor: &Tensor, expected: &Value, place: &str) {
    let Some(quantization) = &tensor.quantization else {
        return assert!(expected.is_null(), "{place}: none, but {expected}");
    };
    let scale: Vec<f32> = expected["scale"]
        .as_array()
        .unwrap()
        .iter()
        .map(|x| x.as_f64().unwrap() as f32)
        .collect();
    assert_eq!(scale, quantization.scale, "{place}");
    assert_eq!(
        expected["zero_point"],
        json!(quantization.zero_point),
        "{place}"
    );
    assert_eq!(
        expected["quantized_dimension"], quantization.quantized_dimension,
        "{place}"
    );
}

fn assert_operator(operator: &Operator, expected: &Value, place: &str) {
    assert_eq!(expected["name"], operator.code.name(), "{place}");
    assert_eq!(expected["version"], operator.code.version, "{place}");
    let inputs: Vec<i64> = operator
        .inputs
        .iter()
        .map(|input| input.map_or(-1, |idx| idx as i64))
        .collect();
    assert_eq!(expected["inputs"], json!(inputs), "{place}");
    assert_eq!(expected["outputs"], json!(operator.outputs), "{place}");
    assert_eq!(
        expected["intermediates"],
        json!(operator.intermediates),
        "{place}"
    );
}

/// Parts between commas that stand outside brackets.
fn split(fields: &str) -> Vec<&str> {
    let mut depth = 0;
    let mut parts = fields.split(|c| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    });
    parts
        .by_ref()
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .collect()
}

/// The schema's name of a field that this crate names in its own words.
fn option_field<'v>(fields: &'v Value, field: &str, place: &str) -> &'v Value {
    let index = field.replace("_idxs", "_indices").replace("_idx", "_index");
    let words: &[&str] = match field {
        "activation" => &["fused_activation_function"],
        "filter_h" => &["filter_height"],
        "filter_w" => &["filter_width"],
        "subgraph_idx" => &["subgraph"],
        "body_subgraph_idx" => &[
            "update_computation_subgraph_index",
            "comparator_subgraph_index",
        ],
        _ => &[],
    };
    let factor = format!("{field}_factor");
    let mut names = [field, &index, &factor]
        .into_iter()
        .chain(words.iter().copied());
    names
        .find_map(|name| fields.get(name))
        .unwrap_or_else(|| panic!("{place}: no {field} in {fields}"))
}

fn plain(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

/// `found` as `Debug` writes it, a float with the precision of its 32 bits.
fn same(actual: &str, expected: &Value) -> bool {
    match expected {
        Value::Number(number) => actual.parse::<f32>().ok() == number.as_f64().map(|x| x as f32),
        Value::String(text) => plain(actual.trim_matches('"')) == plain(text),
        other => {
            let expected = other.to_string();
            actual.replace(' ', "") == expected
        }
    }
}
