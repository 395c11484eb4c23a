//! Graphs without weights against the TFLite files that they describe, and graphs that are refused.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use litecast::formats::onnx::Dimensions;
use litecast::formats::tflite::{self, BuiltinOptions, Model, OpKind, TensorType};
use litecast::formats::{distribution, graph_json};
use litecast::graph::shapes::inference;
use litecast::graph::{self, analysis};
use litecast::report::Report;
use litecast::{Metric, ModelFile, Outcome, estimate};
use litecast_needs::shared;
use serde_json::{Map, Value, json};

/// The document of a file with one subgraph. `described` says whether constants carry the statistics of the
/// file's weights.
fn document(model: &Model, described: bool) -> Value {
    let graph = graph::build(model, 0).unwrap();
    let subgraph = graph.subgraph;
    let name = |t: usize| format!("{t}");
    let tensors = subgraph.tensors.iter().enumerate().map(|(idx, tensor)| {
        let mut entry = json!({
            "name": name(idx), "shape": tensor.shape, "type": tensor.tensor_type.name().to_lowercase(),
        });
        if let Some(quantization) = &tensor.quantization {
            entry["scale"] = quantization.scale[0].into();
            entry["zero_point"] = quantization.zero_point[0].into();
        }
        if tensor.is_variable {
            entry["variable"] = true.into();
        }
        let is_list = tensor.tensor_type == TensorType::Int32 && tensor.quantization.is_none();
        let bytes = graph.constant(idx);
        if is_list && !bytes.is_empty() && bytes.len() <= 256 {
            entry["values"] = tflite::integers(bytes).collect::<Vec<i32>>().into();
        } else if graph.is_constant(idx) {
            entry["constant"] = true.into();
            let stats = analysis::weights::weight_stats(graph.buffer(idx), tensor);
            if let Some(stats) = stats.filter(|_| described) {
                entry["zero_share"] = stats.spread().zero_share.into();
                entry["entropy_bits"] = stats.spread().entropy_bits.into();
            }
        }
        entry
    });
    let operators = subgraph.operators.iter().map(|operator| {
        let inputs: Vec<Option<String>> = operator.inputs.iter().map(|t| t.map(name)).collect();
        let outputs: Vec<String> = operator.outputs.iter().map(|t| name(*t)).collect();
        json!({
            "kind": operator.code.name(), "inputs": inputs, "outputs": outputs,
            "attributes": attributes(&operator.options),
        })
    });
    let ends = |ends: &[usize]| ends.iter().map(|t| name(*t)).collect::<Vec<String>>();
    json!({
        "format": "litecast-graph", "version": 1, "name": "described",
        "inputs": ends(&subgraph.inputs), "outputs": ends(&subgraph.outputs),
        "tensors": tensors.collect::<Vec<Value>>(), "operators": operators.collect::<Vec<Value>>(),
    })
}

/// Options as a graph spells them: numbers for each dimension as one list.
fn attributes(options: &BuiltinOptions) -> Map<String, Value> {
    let Ok(Value::Object(fields)) = serde_json::to_value(options) else {
        return Map::new();
    };
    let derived = [
        "num_splits",
        "values_count",
        "num",
        "new_shape",
        "diagonal_recurrent_tensors",
    ];
    let mut attributes = Map::new();
    for (name, value) in fields {
        match name.rsplit_once('_') {
            _ if derived.contains(&name.as_str()) => {}
            Some((whole, "d" | "h" | "w")) => {
                let list = attributes.entry(whole).or_insert_with(|| json!([]));
                list.as_array_mut().unwrap().push(value);
            }
            _ => drop(attributes.insert(name, value)),
        }
    }
    attributes
}

/// Whether more than the batch is known only at run time.
fn is_shapeless(tensor: &tflite::Tensor) -> bool {
    let signature = tensor.shape_signature.iter().flatten();
    signature.skip(1).any(|&side| side < 0)
}

fn real_files() -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = fs::read_dir("www/examples")
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    if let Some(folder) = shared("models") {
        for folder in [folder.with_file_name("models-mcu"), folder] {
            files.extend(
                fs::read_dir(folder)
                    .unwrap()
                    .map(|entry| entry.unwrap().path()),
            );
        }
    }
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "tflite")
    });
    files.sort();
    files
}

/// By target and metric.
fn values(report: &Report) -> BTreeMap<(String, Metric), f64> {
    let value = |result: &litecast::report::TargetResult| match &result.outcome {
        Outcome::Estimate { value, .. } => Some(((result.target.clone(), result.metric), *value)),
        Outcome::Unavailable { .. } => None,
    };
    report.results.iter().filter_map(value).collect()
}

/// Median, 95th percentile and largest.
fn spread(mut errors: Vec<f64>) -> [f64; 3] {
    errors.sort_by(f64::total_cmp);
    let at = |share: f64| errors[((errors.len() - 1) as f64 * share) as usize];
    [at(0.5), at(0.95), at(1.0)]
}

#[test]
fn a_described_file_costs_what_the_file_costs() {
    let mut differences: BTreeMap<(bool, String), Vec<f64>> = BTreeMap::new();
    let (mut n_files, mut left_out) = (0, BTreeMap::<&str, usize>::new());
    for path in real_files() {
        let bytes = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let Ok(mut model) = tflite::parse(&bytes) else {
            *left_out.entry("not readable").or_default() += 1;
            continue;
        };
        inference::fill(&mut model);
        let subgraph = &model.subgraphs[0];
        let reason = match () {
            _ if model.subgraphs.len() > 1 => Some("several subgraphs"),
            _ if subgraph.tensors.iter().any(|t| t.sparsity.is_some()) => Some("sparse weights"),
            _ if subgraph.tensors.iter().any(is_shapeless) => Some("shapes of run time"),
            _ if subgraph
                .operators
                .iter()
                .any(|o| o.code.kind == OpKind::Custom) =>
            {
                Some("custom operators")
            }
            _ if model
                .metadata
                .iter()
                .any(|m| m.name == "OfflineMemoryAllocation") =>
            {
                Some("offsets of a compiler")
            }
            _ => None,
        };
        if let Some(reason) = reason {
            *left_out.entry(reason).or_default() += 1;
            continue;
        }
        n_files += 1;
        let of_file = estimate(ModelFile::new(&name, &bytes), None).unwrap();
        for described in [true, false] {
            let text = serde_json::to_vec(&document(&model, described)).unwrap();
            let of_graph = estimate(ModelFile::new(&name, &text), None);
            let of_graph = of_graph.unwrap_or_else(|error| panic!("{name}: {error}"));
            // A graph has no way to say that tensors share a buffer.
            let shares = subgraph
                .tensors
                .iter()
                .map(|t| t.buffer_idx)
                .filter(|&idx| idx > 0);
            let (shared_by, mut buffers) = (shares.clone().count(), BTreeSet::new());
            buffers.extend(shares);
            let has_own_buffers = shared_by == buffers.len();
            let facts = |report: &Report| {
                let model = &report.model;
                let weight_bytes = has_own_buffers.then_some(model.weight_bytes);
                (
                    model.macs,
                    model.arena_bytes,
                    model.parameters,
                    weight_bytes,
                    model.n_operators,
                )
            };
            assert_eq!(facts(&of_graph), facts(&of_file), "{name}");
            let (expected, actual) = (values(&of_file), values(&of_graph));
            // A graph of floats is estimated as int8 where the file has no estimate at all.
            let missing = expected.keys().find(|key| !actual.contains_key(key));
            assert_eq!(missing, None, "{name}");
            for (key, expected) in expected {
                let difference = (actual[&key] / expected - 1.0).abs() * 100.0;
                let difference = if expected == 0.0 { 0.0 } else { difference };
                if described && difference > 3.0 && key.1 == Metric::Latency {
                    println!("{name} {}: {difference:.1} %", key.0);
                }
                let row = (described, format!("{} {:?}", key.0, key.1));
                differences.entry(row).or_default().push(difference);
            }
        }
    }
    println!("{n_files} files; left out: {left_out:?}");
    println!("differences in percent: median, 95th percentile, largest");
    for ((described, row), differences) in differences {
        let whose = if described {
            "statistics given"
        } else {
            "defaults"
        };
        let n = differences.len();
        let [median, most, largest] = spread(differences);
        println!("{whose:17} {row:45} {median:6.2} {most:6.2} {largest:6.2} of {n}");
        let limit = if described {
            MAX_DESCRIBED_PERCENT
        } else {
            MAX_DEFAULT_PERCENT
        };
        assert!(median <= limit, "{row}: {median} %");
    }
}

/// Median difference of any target's metric where a graph gives the statistics of its weights, and where it
/// gives none.
const MAX_DESCRIBED_PERCENT: f64 = 1.0;
const MAX_DEFAULT_PERCENT: f64 = 3.0;

#[test]
fn defaults_are_the_medians_of_real_weights() {
    let (mut shares, mut entropies) = (Vec::new(), Vec::new());
    for path in real_files() {
        let bytes = fs::read(&path).unwrap();
        let Ok(model) = tflite::parse(&bytes) else {
            continue;
        };
        let graph = graph::build(&model, 0).unwrap();
        for node in graph.nodes.iter() {
            if !["CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"]
                .contains(&node.operator.code.name())
            {
                continue;
            }
            let Some(&Some(weights)) = node.operator.inputs.get(1) else {
                continue;
            };
            let tensor = graph.tensor(weights);
            if tensor.tensor_type == TensorType::Int8
                && let Some(stats) = analysis::weights::weight_stats(graph.buffer(weights), tensor)
            {
                shares.push(f64::from(stats.spread().zero_share));
                entropies.push(f64::from(stats.spread().entropy_bits));
            }
        }
    }
    let n = shares.len();
    let ([share, ..], [entropy, ..]) = (spread(shares), spread(entropies));
    println!("medians of {n} constants: share of zeros {share:.3}, entropy {entropy:.2} bits");
    if n > 500 {
        assert!((share - f64::from(distribution::DEFAULT_ZERO_SHARE)).abs() < 0.001);
        assert!((entropy - f64::from(distribution::DEFAULT_ENTROPY_BITS)).abs() < 0.01);
    }
}

/// A convolution, as `docs/guide/graph-json.md` shows it.
fn example() -> Value {
    json!({
        "format": "litecast-graph", "version": 1, "name": "one convolution",
        "inputs": ["x"], "outputs": ["y"],
        "tensors": [
            { "name": "x", "shape": [1, 32, 32, 3], "type": "int8" },
            { "name": "w", "shape": [16, 3, 3, 3], "type": "int8", "constant": true, "zero_share": 0.4 },
            { "name": "b", "shape": [16], "type": "int32", "constant": true },
            { "name": "y", "shape": [1, 16, 16, 16], "type": "int8" },
        ],
        "operators": [{
            "kind": "CONV_2D", "inputs": ["x", "w", "b"], "outputs": ["y"],
            "attributes": { "stride": [2, 2], "padding": "SAME", "activation": "RELU6" },
        }],
    })
}

#[test]
fn an_example_is_read_as_its_operators_say() {
    let text = example().to_string();
    let report = estimate(ModelFile::new("graph", text.as_bytes()), None).unwrap();
    assert_eq!(report.model.macs, 16 * 16 * 16 * 27);
    assert_eq!(report.model.weight_bytes, 16 * 27 + 64);
    assert_eq!(report.operators[0].name, "CONV_2D");
    assert!(report.tensors[1].constant && !report.tensors[0].constant);
}

#[test]
fn operators_of_other_frameworks_keep_their_names_and_macs() {
    let mut graph = example();
    graph["operators"][0] = json!({
        "kind": "aten::scaled_dot_product_attention", "inputs": ["x", "w"], "outputs": ["y"],
        "attributes": { "scale": 0.125, "is_causal": false }, "macs": 4096,
    });
    let report = |graph: &Value| {
        estimate(ModelFile::new("graph", graph.to_string().as_bytes()), None).unwrap()
    };
    let known = report(&graph);
    assert_eq!((known.model.macs, known.operators[0].custom), (4096, true));
    assert_eq!(
        known.operators[0].name,
        "aten::scaled_dot_product_attention"
    );
    graph["operators"][0]
        .as_object_mut()
        .unwrap()
        .remove("macs");
    let unknown = report(&graph);
    assert!(
        unknown
            .diagnostics
            .iter()
            .any(|doubt| doubt.diagnostic.code == "uncounted-operator")
    );
}

/// As some editors begin a text in UTF-8.
#[test]
fn a_byte_order_mark_is_read_over() {
    let text = example().to_string();
    let marked = format!("\u{feff}{text}");
    let plain = graph_json::parse(text.as_bytes()).unwrap();
    assert!(graph_json::is_graph(marked.as_bytes()));
    let read = graph_json::parse(marked.as_bytes()).unwrap();
    assert_eq!(
        format!("{:?}", read.subgraphs),
        format!("{:?}", plain.subgraphs)
    );
}

#[test]
fn what_contradicts_the_format_is_refused_with_its_place() {
    let set = |pointer: &str, value: Value| {
        let mut graph = example();
        *graph.pointer_mut(pointer).unwrap() = value;
        graph.to_string()
    };
    let cases = [
        (
            "{\"format\":\"litecast-graph\"".to_owned(),
            "malformed",
            "column 26",
        ),
        (
            set("/format", json!("other; not litecast-graph")),
            "not-a-graph",
            "other",
        ),
        (set("/version", json!(2)), "unsupported-version", "found 2"),
        (set("/inputs", json!(["z"])), "unknown-tensor", "`z`"),
        (
            set("/operators/0/inputs", json!(["x", "v"])),
            "unknown-tensor",
            "operator CONV_2D (0)",
        ),
        (
            set("/tensors/1/name", json!("x")),
            "duplicate-tensor",
            "tensor 1",
        ),
        (
            set("/tensors/0/shape", json!([1, -2])),
            "invalid-value",
            "tensor `x` (0)",
        ),
        (
            set("/tensors/0/shape", json!(vec![1i64 << 30; 4])),
            "invalid-value",
            "2^64",
        ),
        (
            set("/tensors/0/type", json!("int7")),
            "invalid-value",
            "int7",
        ),
        (
            set("/tensors/1/zero_share", json!(1.5)),
            "invalid-value",
            "1.5",
        ),
        (
            set(
                "/tensors/0",
                json!({ "name": "x", "shape": [1], "type": "int8", "scale": 1, "zero_point": 300 }),
            ),
            "invalid-value",
            "from -128 to 127, found 300",
        ),
        (
            set("/operators/0/outputs", json!(["y", "y"])),
            "invalid-value",
            "nothing else writes, found `y`",
        ),
        (
            set("/operators/0/attributes/stride", json!([0, 1])),
            "invalid-value",
            "`stride`",
        ),
        (
            set("/operators/0/attributes/padding", json!("FULL")),
            "invalid-value",
            "SAME or VALID",
        ),
        (
            set("/operators/0/attributes", json!({ "strides": 2 })),
            "unknown-attribute",
            "`strides`",
        ),
        (
            set("/operators/0/attributes/stride", json!(vec![1; 65])),
            "malformed",
            "64 numbers",
        ),
        (
            format!(
                "{{\"format\":\"litecast-graph\",\"x\":{}",
                "[".repeat(100_000)
            ),
            "malformed",
            "line 1",
        ),
    ];
    for (text, kind, part) in cases {
        let error = graph_json::parse(text.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), kind, "{error}");
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn constants_that_fit_no_operand_are_contradictions() {
    // As LiteRT prepares or runs these operators: a constant or an attribute that it takes, and one that it refuses.
    let image = json!([1, 4, 4, 4]);
    let cases = [
        ("CUMSUM", &image, [json!([3]), json!([4])], None),
        ("REVERSE_V2", &image, [json!([-4]), json!([-5])], None),
        (
            "MIRROR_PAD",
            &json!([1, 10, 4, 4]),
            [
                json!([0, 0, 3, 3, 0, 0, 0, 0]),
                json!([0, 0, 4, 2, 0, 0, 0, 0]),
            ],
            Some(json!({ "mode": "REFLECT" })),
        ),
        (
            "GATHER",
            &json!([1, 2, 4, 4]),
            [json!([0, 3]), json!([0, 4])],
            Some(json!({ "axis": 1 })),
        ),
        (
            "GATHER",
            &json!([2, 4, 4, 4]),
            [json!([0, 0]), json!([0, 1])],
            None,
        ),
    ];
    for (kind, output, values, attributes) in cases {
        let n_found = values.map(|values| {
            let shape = match kind {
                "MIRROR_PAD" => json!([4, 2]),
                _ => json!([values.as_array().unwrap().len()]),
            };
            n_contradictions(json!({
                "format": "litecast-graph",
                "version": 1,
                "name": kind,
                "inputs": ["x"],
                "outputs": ["y"],
                "tensors": [
                    { "name": "x", "shape": image, "type": "float32" },
                    { "name": "c", "shape": shape, "type": "int32", "constant": true, "values": values },
                    { "name": "y", "shape": output, "type": "float32" },
                ],
                "operators": [{ "kind": kind, "inputs": ["x", "c"], "outputs": ["y"], "attributes": attributes.clone().unwrap_or(json!({})) }],
            }))
        });
        assert_eq!(n_found, [0, 1], "{kind}");
    }
    for (kind, attributes, shapes, n_found) in [
        (
            "CONCATENATION",
            json!({ "axis": 1 }),
            [&image, &image, &json!([1, 8, 4, 4])],
            0,
        ),
        // The axis of an exporter that leaves it out.
        (
            "CONCATENATION",
            json!({ "axis": 0 }),
            [&image, &image, &json!([1, 8, 4, 4])],
            0,
        ),
        (
            "CONCATENATION",
            json!({ "axis": 9 }),
            [&image, &image, &json!([1, 8, 4, 4])],
            1,
        ),
        (
            "PACK",
            json!({ "axis": 5 }),
            [&image, &image, &json!([2, 1, 4, 4, 4])],
            1,
        ),
        ("ADD_N", json!({}), [&image, &image, &image], 0),
        ("ADD_N", json!({}), [&image, &json!([1, 4]), &image], 1),
    ] {
        let [one, other, output] = shapes;
        let found = n_contradictions(json!({
            "format": "litecast-graph",
            "version": 1,
            "name": kind,
            "inputs": ["x", "z"],
            "outputs": ["y"],
            "tensors": [
                { "name": "x", "shape": one, "type": "float32" },
                { "name": "z", "shape": other, "type": "float32" },
                { "name": "y", "shape": output, "type": "float32" },
            ],
            "operators": [{ "kind": kind, "inputs": ["x", "z"], "outputs": ["y"], "attributes": attributes }],
        }));
        assert_eq!(found, n_found, "{kind} {attributes}");
    }
}

/// Of a graph as JSON.
fn n_contradictions(graph: Value) -> usize {
    let document = graph.to_string();
    let dimensions = Dimensions {
        batch: 1,
        named: &[],
    };
    let model = litecast::formats::read(document.as_bytes(), &dimensions).unwrap();
    let graph = graph::build(&model, 0).unwrap();
    analysis::contradictions::contradictions(&graph).len()
}
